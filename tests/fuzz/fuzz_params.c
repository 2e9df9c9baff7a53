/* Key-file bytes: opening, full decoding of every section and the match with a shape never crash or
 * read outside. */
#include "groth16/groth16_int.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void decode_all(const g16_key *k)
{
    const run_ctx rc = {0};
    const g16_key_info *info = g16_key_get_info(k);
    bool all_good = true;
    for (int s = 0; s < G16_N_SECTIONS; s++) {
        size_t n = info->n[s], size = s == G16_B_G2 ? sizeof(g2_aff) : sizeof(g1_aff);
        void *out = malloc(n * size + 1);
        if (!out)
            abort();
        for (int full = 0; full < 2; full++) {
            cuzk_status st = s == G16_B_G2 ? g16_key_g2(k, (g16_section)s, 0, n, full, out, &rc)
                                           : g16_key_g1(k, (g16_section)s, 0, n, full, out, &rc);
            all_good = all_good && st.code == CUZK_OK;
        }
        free(out);
    }
    if (all_good != (g16_key_check_points(k, &rc).code == CUZK_OK))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static r1cs_shape *shape;
    if (!shape && g16_tiny_shape(&shape).code != CUZK_OK)
        abort();
    g16_key *k;
    if (g16_key_from_memory(&k, data, len).code != CUZK_OK)
        return 0;
    const run_ctx rc = {0};
    char hex[33];
    decode_all(k);
    /* matching counts fix the size */
    if (g16_key_match(k, shape).code == CUZK_OK && len != g16_params_bytes(shape))
        abort();
    if (g16_key_digest(k, hex, &rc).code != CUZK_OK)
        abort();
    g16_key_close(k);
    return 0;
}
