/* Which evaluation-form keys backends use. */
#include "base/log.h"
#include "base/span_names.h"
#include "groth16/backend_parts.h"

cuzk_status g16_evkey_open_to_use(g16_evkey **out, const g16_key *k, const r1cs_shape *s,
                                  const run_ctx *rc)
{
    cuzk_status st = g16_evkey_open_beside(out, k, s);
    if (st.code == CUZK_OK && *out) {
        span_id span = span_begin(rc->spans, rc->parent, SPAN_DIGEST);
        run_ctx under = run_ctx_under(rc, span);
        st = cuzk_wrap(g16_evkey_check_bytes(*out, &under), "evaluation form of %s",
                       g16_key_path(k));
        span_end(rc->spans, span);
    }
    if (st.code == CUZK_OK)
        return st;
    g16_evkey_close(*out);
    *out = NULL;
    if (st.code != CUZK_E_INPUT && st.code != CUZK_E_IO)
        return st;
    log_warn("evaluation_form_ignored", LOG_STR("why", st.msg));
    return cuzk_ok();
}
