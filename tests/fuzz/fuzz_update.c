/* SnapDeals vanilla proofs from hostile bytes: decoding and the full check must end in a status.
 * Input: which sector size (1), h (1), comm_r_old, comm_d_new, comm_r_new (32 each), the
 * partitions' bytes in equal parts. */
#include "fil/update.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 98)
        return 0;
    const fil_update_config *config = &FIL_UPDATE_CONFIGS[data[0] % FIL_N_UPDATE_CONFIGS];
    fil_update_context ctx = {.h = data[1]};
    fr_from_le_reduce(&ctx.comm_r_old, data + 2);
    fr_from_le_reduce(&ctx.comm_d_new, data + 34);
    fr_from_le_reduce(&ctx.comm_r_new, data + 66);
    uint32_t n = 1u << config->lg_partitions;
    const uint8_t *files[16];
    size_t lens[16], part = (size - 98) / n;
    for (uint32_t k = 0; k < n; k++) {
        files[k] = data + 98 + k * part;
        lens[k] = part;
    }
    arena a = {0};
    fil_update u;
    cuzk_status st = fil_update_decode(&u, &a, config, files, lens, n);
    if (st.code == CUZK_OK)
        st = fil_update_check(&u, &ctx, NULL);
    arena_fini(&a);
    return 0;
}
