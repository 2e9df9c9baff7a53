/* A batch whose witnesses come by and by, in an order of their own, while some proofs are refused and
 * one witness never comes; and an urgent proof of another circuit inside. For any backend. */
#ifndef LATE_FIXTURE_H
#define LATE_FIXTURE_H
#include "backend_fixture.h"

#define LATE_N 23    /* more than two groups of slots */
#define LATE_NEVER 4 /* this one's witness fails */

typedef struct late_batch {
    unsigned asked[LATE_N];
    bool done[LATE_N];
} late_batch;

static inline bool late_is_mine(size_t k) { return k % 3 != 1; }

/* The later ones sooner within their five, each after some polls. */
static inline g16_ready late_ready(void *ctx, size_t k)
{
    late_batch *b = ctx;
    if (k == LATE_NEVER)
        return G16_NEVER;
    return ++b->asked[k] > 4 * (5 - k % 5) ? G16_READY : G16_LATER;
}

static inline bool late_claim(void *ctx, size_t k)
{
    (void)ctx;
    return late_is_mine(k);
}

static inline void late_done(void *ctx, size_t k)
{
    late_batch *b = ctx;
    assert_false(b->done[k]);
    b->done[k] = true;
}

/* Proofs of the two witnesses in turn; on_cpu makes the same ones to compare. */
static inline void late_prove(g16_backend *cuda, void *on_cuda, g16_backend *cpu, void *on_cpu,
                              const witness *w, const run_ctx *rc)
{
    late_batch s = {0};
    const witness *ws[LATE_N];
    g16_blinding rs[LATE_N];
    g16_proof got[LATE_N], want[LATE_N];
    for (size_t k = 0; k < LATE_N; k++) {
        ws[k] = &w[k % 2];
        assert_ok(g16_blinding_random(&rs[k]));
    }
    const g16_batch batch = {.n = LATE_N,
                             .w = ws,
                             .rs = rs,
                             .out = got,
                             .claim = late_claim,
                             .done = late_done,
                             .ready = late_ready,
                             .ctx = &s};
    assert_ok(cuda->ops->prove(cuda, on_cuda, &batch, NULL, rc));
    const run_ctx alone = {.pool = rc->pool};
    assert_ok(g16_prove(cpu, on_cpu, ws, rs, LATE_N, want, NULL, &alone));
    for (size_t k = 0; k < LATE_N; k++) {
        uint8_t a[G16_PROOF_BYTES], b[G16_PROOF_BYTES];
        assert_int_equal(s.done[k], late_is_mine(k) && k != LATE_NEVER);
        if (!s.done[k]) {
            assert_true(g1_aff_is_inf(&got[k].a));
            continue;
        }
        g16_proof_encode(a, &got[k]);
        g16_proof_encode(b, &want[k]);
        assert_memory_equal(a, b, sizeof a);
    }
}
#endif
