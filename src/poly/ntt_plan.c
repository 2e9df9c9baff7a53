/* Twiddle tables and the choice of kernels. */
#include "base/mem.h"
#include "ff/limb.h"
#include "poly/ntt_int.h"

#define TABLE_CHUNK ((size_t)1 << 12)

const ntt_kernels *ntt_kernels_get(void)
{
#if defined(__x86_64__)
    if (ff_use_adx())
        return &NTT_KERNELS_ADX;
#endif
    return &NTT_KERNELS_PORTABLE;
}

/* -1/r mod 2^256. */
static const uint64_t neg_r_inv[4] = {0xfffffffeffffffffu, 0x53ba5bfffffe5bfdu, 0x181b2c170004ec06u,
                                      0x3d443ab0d7bf2839u};

/* w 2^256 = v r + (w in Montgomery form), so v = (Montgomery form) * (-1/r) mod 2^256. */
void ntt_twiddle_set(ntt_twiddle *t, const fr *w)
{
    uint64_t v[4] = {0, 0, 0, 0};
    for (int i = 0; i < 4; i++) {
        limb2 c = 0;
        for (int j = 0; i + j < 4; j++) {
            c += (limb2)w->l[i] * neg_r_inv[j] + v[i + j];
            v[i + j] = (uint64_t)c;
            c >>= 64;
        }
    }
    fr_to_int(&t->w, w);
    for (int i = 0; i < 4; i++)
        t->v.l[i] = v[i];
}

typedef struct table_job {
    ntt_twiddle *tw;
    size_t half; /* tw[half + i] = tw[i] * step */
    fr step;
} table_job;

static void table_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    table_job *j = ctx;
    size_t lo = chunk * TABLE_CHUNK;
    size_t hi = lo + TABLE_CHUNK < j->half ? lo + TABLE_CHUNK : j->half;
    for (size_t i = lo; i < hi; i++) {
        fr w;
        fr_from_int(&w, &j->tw[i].w);
        fr_mul(&w, &w, &j->step);
        ntt_twiddle_set(&j->tw[j->half + i], &w);
    }
}

static cuzk_status plan_build(ntt_plan *p, uint32_t lg_n, const run_ctx *rc)
{
    size_t n_tw = lg_n ? (size_t)1 << (lg_n - 1) : 1;
    p->lg_n = lg_n;
    p->tw = mem_alloc(n_tw * sizeof *p->tw, 64);
    if (!p->tw)
        return cuzk_fail(CUZK_E_NOMEM, "%zu twiddles of %zu bytes", n_tw, sizeof *p->tw);
    ntt_twiddle_set(&p->tw[0], &FR_ONE);
    table_job j = {.tw = p->tw, .half = 1};
    /* Bit b of k adds 1/2^(b+2) of the circle to the exponent. */
    for (uint32_t b = 0; j.half < n_tw; b++, j.half *= 2) {
        if (run_cancelled(rc))
            return cuzk_fail(CUZK_E_CANCELLED, "twiddle table cancelled");
        fr_root_of_unity(&j.step, b + 2);
        pool_for(rc->pool, (j.half + TABLE_CHUNK - 1) / TABLE_CHUNK, table_chunk, &j);
    }
    return cuzk_ok();
}

cuzk_status ntt_plan_create(ntt_plan **out, uint32_t lg_n, const run_ctx *rc)
{
    *out = NULL;
    if (lg_n > NTT_LG_N_MAX)
        return cuzk_fail(CUZK_E_RANGE, "lg_n: expected 0 to %u, found %u", NTT_LG_N_MAX, lg_n);
    ntt_plan *p = mem_zalloc(sizeof *p, 64);
    if (!p)
        return cuzk_fail(CUZK_E_NOMEM, "NTT plan");
    cuzk_status st = plan_build(p, lg_n, rc);
    if (st.code != CUZK_OK)
        ntt_plan_destroy(p);
    else
        *out = p;
    return st;
}

void ntt_plan_destroy(ntt_plan *p)
{
    if (!p)
        return;
    mem_free(p->tw);
    mem_free(p);
}
