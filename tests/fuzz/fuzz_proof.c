/* Proof bytes: decoding never crashes, and what it accepts is canonical (encodes to the same
 * bytes). */
#include "groth16/vk.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    g16_proof p;
    if (g16_proof_decode(&p, data, len).code != CUZK_OK)
        return 0;
    uint8_t again[G16_PROOF_BYTES];
    g16_proof_encode(again, &p);
    if (len != sizeof again || memcmp(again, data, len) != 0)
        abort();
    return 0;
}
