/* Lagrange bases of the domains. */
#include "base/mem.h"
#include "poly/ntt_run.h"

/* L_k(tau) = w^k (tau^m - 1) / (m (tau - w^k)). */
#define LAG_CHUNK ((size_t)1 << 12)
typedef struct lagrange_job {
    fr *lag;
    const power_table *w;
    const fr *tau, *c; /* c = (tau^m - 1)/m */
    size_t n;
    fr *scratch; /* LAG_CHUNK elements per thread */
    unsigned n_threads;
    const run_ctx *rc;
    atomic_bool stop; /* as in ntt_run */
} lagrange_job;

static void lagrange_chunk(void *ctx, size_t chunk, unsigned thread)
{
    lagrange_job *j = ctx;
    size_t lo = chunk * LAG_CHUNK, n = j->n - lo < LAG_CHUNK ? j->n - lo : LAG_CHUNK;
    fr *lag = j->lag + lo, x;
    fr *scratch = j->scratch + (thread % j->n_threads) * LAG_CHUNK;
    size_t mask = ((size_t)1 << j->w->lg_lo) - 1;
    if (thread == 0 && run_cancelled(j->rc))
        atomic_store_explicit(&j->stop, true, memory_order_relaxed);
    if (atomic_load_explicit(&j->stop, memory_order_relaxed))
        return;
    for (size_t i = 0; i < n; i++) {
        fr_mul(&x, &j->w->hi[(lo + i) >> j->w->lg_lo], &j->w->lo[(lo + i) & mask]);
        fr_sub(&lag[i], j->tau, &x);
    }
    fr_batch_inv(lag, n, scratch);
    for (size_t i = 0; i < n; i++) {
        fr_mul(&x, &j->w->hi[(lo + i) >> j->w->lg_lo], &j->w->lo[(lo + i) & mask]);
        fr_mul(&x, &x, j->c);
        fr_mul(&lag[i], &lag[i], &x);
    }
}

/* tau = w^k: the basis is 1 at k and 0 elsewhere. */
static void lagrange_in_domain(fr *lag, const power_table *w, const fr *tau, size_t m)
{
    size_t mask = ((size_t)1 << w->lg_lo) - 1;
    for (size_t k = 0; k < m; k++) {
        fr x;
        fr_mul(&x, &w->hi[k >> w->lg_lo], &w->lo[k & mask]);
        lag[k] = fr_eq(&x, tau) ? FR_ONE : FR_ZERO;
    }
}

/* tau is not in the domain: z = (tau^m - 1)/m is not 0. */
static cuzk_status lagrange_outside(fr *lag, const power_table *w, const fr *tau, const fr *z,
                                    size_t m, const run_ctx *rc)
{
    unsigned n_threads = pool_threads(rc->pool);
    lagrange_job j = {
        .lag = lag, .w = w, .tau = tau, .c = z, .n = m, .n_threads = n_threads, .rc = rc};
    j.scratch = mem_alloc(n_threads * LAG_CHUNK * sizeof *j.scratch, 64);
    if (!j.scratch)
        return cuzk_fail(CUZK_E_NOMEM, "Lagrange scratch for %u threads", n_threads);
    pool_for(rc->pool, (m + LAG_CHUNK - 1) / LAG_CHUNK, lagrange_chunk, &j);
    mem_free(j.scratch);
    if (atomic_load_explicit(&j.stop, memory_order_relaxed) || run_cancelled(rc))
        return cuzk_fail(CUZK_E_CANCELLED, "Lagrange basis cancelled");
    return cuzk_ok();
}

cuzk_status ntt_lagrange_at(fr *lag, const fr *tau, uint32_t lg_m, const run_ctx *rc)
{
    fr w, z = *tau, m_inv;
    power_table t;
    if (lg_m > NTT_LG_N_MAX)
        return cuzk_fail(CUZK_E_RANGE, "lg_m: expected 0 to %u, found %u", NTT_LG_N_MAX, lg_m);
    size_t m = (size_t)1 << lg_m;
    fr_root_of_unity(&w, lg_m);
    CUZK_TRY(power_table_init(&t, lg_m, &w, false));
    for (uint32_t i = 0; i < lg_m; i++)
        fr_sqr(&z, &z);
    fr_sub(&z, &z, &FR_ONE);
    fr_from_u64(&m_inv, m);
    fr_inv(&m_inv, &m_inv);
    fr_mul(&z, &z, &m_inv);
    cuzk_status st = cuzk_ok();
    if (fr_is_zero(&z))
        lagrange_in_domain(lag, &t, tau, m);
    else
        st = lagrange_outside(lag, &t, tau, &z, m, rc);
    power_table_fini(&t);
    return st;
}
