/* Waiting for witnesses that are being made. */
#include "base/span_names.h"
#include "groth16/backend_parts.h"
#include <time.h>

void g16_batch_nap(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

cuzk_status g16_batch_wait(g16_ready *out, const g16_batch *b, size_t k, const run_ctx *rc)
{
    cuzk_status st = cuzk_ok();
    *out = g16_batch_ready(b, k);
    if (*out != G16_LATER)
        return st;
    span_id s = span_begin(rc->spans, rc->parent, SPAN_WAIT);
    span_note(rc->spans, s, g16_batch_partition(b, k), 0);
    while (st.code == CUZK_OK && *out == G16_LATER) {
        run_yield(rc);
        g16_batch_nap();
        if (run_cancelled(rc))
            st = cuzk_fail(CUZK_E_CANCELLED, "cancelled while witness %zu was not there", k);
        else
            *out = g16_batch_ready(b, k);
    }
    span_end(rc->spans, s);
    return st;
}
