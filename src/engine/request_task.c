/* From the fields of a request to a checked proof task: which kind reads which field. */
#include "circuit/proof_request.h"
#include "engine/engine_int.h"
#include "fil/graph.h"
#include <string.h>

static cuzk_status bytes32(uint8_t out[32], const char *field, const job_bytes *b)
{
    if (b->len != 32)
        return cuzk_bad_input(field, "exactly 32 bytes", "%zu", b->len);
    memcpy(out, b->p, 32);
    return cuzk_ok();
}

static cuzk_status node(fr *out, const char *field, const job_bytes *b)
{
    uint8_t v[32];
    CUZK_TRY(bytes32(v, field, b));
    if (!fr_from_le(out, v))
        return cuzk_bad_input(field, "a field element below r (little-endian)", "a larger number");
    return cuzk_ok();
}

static cuzk_status set_files(proof_request *q, arena *a, const job_bytes *b, size_t n,
                             const char *field)
{
    if (n == 0 || n > UINT32_MAX / 64)
        return cuzk_bad_input(field, "at least one proof", "%zu", n);
    const uint8_t **files = arena_alloc(a, n * sizeof *files, 8);
    size_t *lens = arena_alloc(a, n * sizeof *lens, 8);
    if (!files || !lens)
        return cuzk_fail(CUZK_E_NOMEM, "%zu proofs", n);
    for (size_t i = 0; i < n; i++) {
        files[i] = b[i].p;
        lens[i] = b[i].len;
    }
    q->files = files;
    q->lens = lens;
    q->n_files = (uint32_t)n;
    return cuzk_ok();
}

static cuzk_status porep_request(proof_request *q, arena *a, const job_request *r)
{
    if (r->vanilla_proof.len == 0)
        return cuzk_bad_input("vanilla_proof", "a C1 document", "nothing");
    /* Actor 0 is the system's and mines nothing: a client that leaves the numbers out does not want
     * the replica id checked against them. */
    q->porep = (fil_porep_context){.has_miner = r->miner_id != 0,
                                   .has_sector = r->miner_id != 0,
                                   .miner = r->miner_id,
                                   .sector = r->sector_number};
    return set_files(q, a, &r->vanilla_proof, 1, "vanilla_proof");
}

static cuzk_status post_request(proof_request *q, arena *a, const job_request *r)
{
    const fil_post_kind kind = r->kind == PROOF_WINNING ? FIL_POST_WINNING : FIL_POST_WINDOW;
    const fil_post_proof *p = r->registered_proof <= UINT32_MAX
                                  ? fil_post_proof_by_id((uint32_t)r->registered_proof)
                                  : NULL;
    if (!p || p->kind != kind)
        return cuzk_bad_input("registered_proof",
                              kind == FIL_POST_WINNING ? "a registered WinningPoSt proof"
                                                       : "a registered WindowPoSt proof",
                              "%llu%s%s", (unsigned long long)r->registered_proof, p ? ", " : "",
                              p ? p->name : "");
    q->post = *p;
    CUZK_TRY(bytes32(q->post_context.randomness, "randomness", &r->randomness));
    fil_prover_id(q->post_context.prover_id, r->miner_id);
    return set_files(q, a, r->vanilla_proofs, r->n_vanilla_proofs, "vanilla_proofs");
}

static cuzk_status snap_request(proof_request *q, arena *a, const job_request *r)
{
    const fil_update_proof *p = r->registered_proof <= UINT32_MAX
                                    ? fil_update_proof_by_id((uint32_t)r->registered_proof)
                                    : NULL;
    if (!p)
        return cuzk_bad_input("registered_proof", "a registered update proof", "%llu",
                              (unsigned long long)r->registered_proof);
    q->update = fil_update_config_by_bytes(p->sector_bytes);
    CUZK_TRY(node(&q->update_context.comm_r_old, "comm_r_old", &r->comm_r_old));
    CUZK_TRY(node(&q->update_context.comm_r_new, "comm_r_new", &r->comm_r_new));
    CUZK_TRY(node(&q->update_context.comm_d_new, "comm_d_new", &r->comm_d_new));
    return set_files(q, a, r->vanilla_proofs, r->n_vanilla_proofs, "vanilla_proofs");
}

/* The decoder of a C1 names what is wrong inside it; this says in which field of the request it is. */
static cuzk_status in_field(const job_request *r, cuzk_status st)
{
    return r->kind == PROOF_POREP ? cuzk_wrap(st, "vanilla_proof") : st;
}

static cuzk_status build(decoded_task *d, uint64_t *check_ns, const job_request *r,
                         const run_ctx *rc)
{
    proof_request q = {.kind = r->kind};
    CUZK_TRY(r->kind == PROOF_POREP  ? porep_request(&q, &d->mem, r)
             : r->kind == PROOF_SNAP ? snap_request(&q, &d->mem, r)
                                     : post_request(&q, &d->mem, r));
    span_id s = span_begin(rc->spans, rc->parent, SPAN_DECODE);
    cuzk_status st = in_field(r, proof_task_decode(&d->task, &d->mem, &q));
    span_end(rc->spans, s);
    CUZK_TRY(st);
    if (run_cancelled(rc))
        return cuzk_fail(CUZK_E_CANCELLED, "cancelled after decoding");
    if (check_ns)
        *check_ns = clock_now_ns();
    s = span_begin(rc->spans, rc->parent, SPAN_CHECK);
    run_ctx under = run_ctx_under(rc, s);
    st = in_field(r, proof_task_check(&d->task, &q, &under));
    span_end(rc->spans, s);
    return st;
}

cuzk_status request_to_task(decoded_task **out, uint64_t *check_ns, const job_request *r,
                            const run_ctx *rc)
{
    *out = NULL;
    if ((unsigned)r->kind >= PROOF_N_KINDS)
        return cuzk_bad_input("proof_kind", "a kind of proof", "%u", (unsigned)r->kind);
    decoded_task *d = mem_zalloc(sizeof *d, 64);
    if (!d)
        return cuzk_fail(CUZK_E_NOMEM, "a decoded request");
    cuzk_status st = build(d, check_ns, r, rc);
    if (st.code != CUZK_OK) {
        decoded_task_destroy(d);
        return st;
    }
    *out = d;
    return cuzk_ok();
}
