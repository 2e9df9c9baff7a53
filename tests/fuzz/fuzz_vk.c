/* Verifying-key bytes: decoding never crashes, and what it accepts is canonical. */
#include "groth16/vk.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    g16_vk vk;
    size_t used = 0;
    bool prefix = g16_vk_decode(&vk, data, len, &used).code == CUZK_OK;
    g16_vk_fini(&vk);
    bool whole = g16_vk_decode(&vk, data, len, NULL).code == CUZK_OK;
    if (whole != (prefix && used == len))
        abort();
    if (whole) {
        uint8_t *again = malloc(len);
        if (!again || g16_vk_bytes(&vk) != len)
            abort();
        g16_vk_encode(again, &vk);
        if (memcmp(again, data, len) != 0)
            abort();
        free(again);
    }
    g16_vk_fini(&vk);
    return 0;
}
