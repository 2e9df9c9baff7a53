/* What a proving device offers. The prover never names a circuit; a backend never names the
 * prover's caller. */
#ifndef GROTH16_BACKEND_H
#define GROTH16_BACKEND_H
#include "groth16/key.h"
#include "r1cs/witness.h"

typedef struct g16_blinding {
    fr r, s;
} g16_blinding; /* secret: wipe after use */
/* Wall time per stage, ns, of the last prove (spans have the details). */
typedef struct g16_timings {
    uint64_t eval_ns, quotient_ns, msm_h_ns, msm_l_ns, msm_a_ns, msm_b1_ns, msm_b2_ns, assemble_ns,
        total_ns;
} g16_timings;

/* Is a witness there? LATER is the only answer that may change. */
typedef enum g16_ready { G16_LATER, G16_READY, G16_NEVER } g16_ready;

/* What one call of prove makes: proof k from w[k] and rs[k] into out[k], k < n. */
typedef struct g16_batch {
    size_t n;
    const witness *const *w;
    const g16_blinding *rs;
    g16_proof *out;
    const int32_t *partition; /* n: what spans call proof k; NULL: k */
    /* Called on prove's thread, each may be NULL. claim: the costly part of proof k is about to
     * start; false leaves it out (another device makes it; out[k] stays zeroed). done: out[k] is
     * there, not yet verified. */
    bool (*claim)(void *ctx, size_t k);
    void (*done)(void *ctx, size_t k);
    /* On prove's thread as well; NULL: all witnesses are there. Asked, in any order and as often as it
     * takes, before *w[k] is read, whose members may change until the answer is READY; answers at
     * once. Meanwhile the proofs whose witnesses are there are made as far as they go alone. NEVER
     * leaves proof k out like a refused claim, and no other. While the device has nothing to do,
     * cancel is polled and yield called. */
    g16_ready (*ready)(void *ctx, size_t k);
    void *ctx;
} g16_batch;

static inline int32_t g16_batch_partition(const g16_batch *b, size_t k)
{
    return b->partition ? b->partition[k] : (int32_t)k;
}

typedef struct g16_backend g16_backend;
typedef struct g16_backend_ops {
    const char *name; /* "cpu", "cuda" */
    /* Make the shape and key resident. Both must outlive the handle. */
    cuzk_status (*load)(g16_backend *b, const r1cs_shape *s, const g16_key *k, const run_ctx *rc,
                        void **handle);
    void (*unload)(g16_backend *b, void *handle);
    /* All proofs of the batch; t may be NULL. One call at a time per handle; a call on another
     * handle may come from inside rc->yield. On failure out is zeroed (what `done` announced before stays good: copy it there).
     * Errors: CUZK_E_INPUT (a witness of another shape), CUZK_E_NOMEM, CUZK_E_CANCELLED,
     * CUZK_E_USAGE (two at once), CUZK_E_DEVICE, CUZK_E_DEVICE_LOST. */
    cuzk_status (*prove)(g16_backend *b, void *handle, const g16_batch *batch, g16_timings *t,
                         const run_ctx *rc);
    void (*describe)(g16_backend *b, char *buf, size_t len);
    cuzk_status (*self_test)(g16_backend *b, const run_ctx *rc);
    void (*destroy)(g16_backend *b);
    /* May a circuit with this key ever be loaded? What it takes at the least, alone on the device, and
     * what the device has at the most: never when *need > *available. From the key file's header and
     * what is known of the device since the start: quick, also while the device hangs. NULL: the
     * backend takes host memory only. */
    void (*plan)(g16_backend *b, uint64_t *need, uint64_t *available, const g16_key_info *k);
} g16_backend_ops;
struct g16_backend {
    const g16_backend_ops *ops;
};

CUZK_MUST_CHECK cuzk_status g16_cpu_create(g16_backend **out);
/* ops->prove without callbacks. */
static inline cuzk_status g16_prove(g16_backend *b, void *handle, const witness *const *w,
                                    const g16_blinding *rs, size_t n, g16_proof *out,
                                    g16_timings *t, const run_ctx *rc)
{
    const g16_batch batch = {.n = n, .w = w, .rs = rs, .out = out};
    return b->ops->prove(b, handle, &batch, t, rc);
}
/* Random r, s from the OS. */
CUZK_MUST_CHECK cuzk_status g16_blinding_random(g16_blinding *b);
#endif
