/* Points of key files in file form, decoded and checked in parallel. */
#include "groth16/groth16_int.h"
#include <stdatomic.h>

/* Points per chunk: 100 ns (trusted) to 50 us (full) each, so a chunk is long against its dispatch
 * and short against a cancel. */
#define DECODE_CHUNK 2048u
/* Points between two looks at the caller's cancel flag. */
#define CHECK_SLICE ((uint64_t)1 << 20)

typedef struct decode_job {
    g16_points in;
    _Atomic uint64_t first_bad; /* smallest failing index, n when none */
} decode_job;

static cuzk_status decode_one(const g16_points *j, uint64_t i, g1_aff *t1, g2_aff *t2)
{
    ec_decode_opts o = {
        .allow_inf = j->allow_inf, .check_subgroup = j->full, .check_curve = j->full};
    if (j->is_g2)
        return g2_decode_uncompressed(j->g2 ? &j->g2[i] : t2, j->bytes + i * G2_UNCOMPRESSED_BYTES,
                                      o);
    return g1_decode_uncompressed(j->g1 ? &j->g1[i] : t1, j->bytes + i * G1_UNCOMPRESSED_BYTES, o);
}

static void decode_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    decode_job *j = ctx;
    uint64_t lo = (uint64_t)chunk * DECODE_CHUNK, hi = lo + DECODE_CHUNK;
    g1_aff t1;
    g2_aff t2;
    for (uint64_t i = lo; i < hi && i < j->in.n; i++) {
        if (decode_one(&j->in, i, &t1, &t2).code == CUZK_OK)
            continue;
        /* Relaxed: pool_for's return orders it before the read. The minimum makes the message
         * independent of threads. */
        uint64_t seen = atomic_load_explicit(&j->first_bad, memory_order_relaxed);
        while (i < seen && !atomic_compare_exchange_weak_explicit(
                               &j->first_bad, &seen, i, memory_order_relaxed, memory_order_relaxed))
            ;
        return;
    }
}

/* One slice, in parallel; on failure the first bad point is decoded again for its message. */
static cuzk_status decode_slice(const g16_points *p, const run_ctx *rc)
{
    decode_job j = {.in = *p};
    atomic_init(&j.first_bad, p->n);
    CUZK_TRY(run_for(rc, (size_t)((p->n + DECODE_CHUNK - 1) / DECODE_CHUNK), decode_chunk, &j));
    uint64_t bad = atomic_load_explicit(&j.first_bad, memory_order_relaxed);
    if (bad == p->n)
        return cuzk_ok();
    g1_aff t1;
    g2_aff t2;
    return cuzk_wrap(decode_one(p, bad, &t1, &t2), "%s[%llu]", p->what,
                     (unsigned long long)(p->first + bad));
}

cuzk_status g16_decode_points(const g16_points *p, const run_ctx *rc)
{
    size_t bytes = p->is_g2 ? G2_UNCOMPRESSED_BYTES : G1_UNCOMPRESSED_BYTES;
    for (uint64_t at = 0; at < p->n; at += CHECK_SLICE) {
        if (run_cancelled(rc))
            return cuzk_fail(CUZK_E_CANCELLED, "cancelled while decoding %s", p->what);
        g16_points s = *p;
        s.bytes += at * bytes;
        s.first += at;
        s.n = p->n - at < CHECK_SLICE ? p->n - at : CHECK_SLICE;
        s.g1 = p->g1 ? p->g1 + at : NULL;
        s.g2 = p->g2 ? p->g2 + at : NULL;
        CUZK_TRY(decode_slice(&s, rc));
    }
    return cuzk_ok();
}
