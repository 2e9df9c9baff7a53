/* C1 outputs, bare or wrapped, from hostile bytes: decoding and the full check must end in a
 * status. */
#include "fil/porep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena a = {0};
    fil_porep p;
    cuzk_status st = fil_porep_decode(&p, &a, data, size);
    if (st.code == CUZK_OK) {
        const fil_porep_context ctx = {
            .has_miner = true, .has_sector = true, .miner = 1000, .sector = p.sector_num};
        st = fil_porep_check(&p, NULL, NULL);
        if (st.code == CUZK_OK)
            st = fil_porep_check(&p, &ctx, NULL);
    }
    arena_fini(&a);
    return 0;
}
