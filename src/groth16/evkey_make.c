/* Making evaluation-form keys: four transforms from section h, and B and C folded into section l. */
#include "base/mem.h"
#include "base/span_names.h"
#include "groth16/evkey_int.h"
#include "groth16/evkey_out.h"
#include "poly/ntt.h"

/* Points per write. */
#define WRITE_CHUNK ((uint64_t)1 << 16)
#define ENCODE_CHUNK 2048u
#define ROWS_CHUNK 4096u

typedef struct maker {
    const g16_key *key;
    const r1cs_shape *shape;
    const g16_evkey_info *info;
    g16_evkey_out out;
    uint64_t m;
    fr m_inv2;         /* 1/m^2 */
    uint64_t *boolean; /* u */
    g1_aff *h;         /* m points: section h, made H' or G in place */
    g1_aff *d;         /* m points: D */
    fr *du;            /* m: (1/m^2) (theta U)(w^j) */
    uint8_t *bytes;
    g16_ev_progress progress;
} maker;

typedef struct encode_job {
    uint8_t *bytes;
    const g1_aff *p;
    uint64_t first, n;
    uint32_t lg_reversed; /* p is in bit-reversed order; 0: it starts with point `first` */
} encode_job;

static void encode_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const encode_job *j = ctx;
    uint64_t lo = (uint64_t)chunk * ENCODE_CHUNK, hi = lo + ENCODE_CHUNK;
    for (uint64_t i = lo; i < hi && i < j->n; i++) {
        const g1_aff *p =
            j->lg_reversed ? &j->p[g16_reverse_bits(j->first + i, j->lg_reversed)] : &j->p[i];
        g1_encode_uncompressed(j->bytes + i * G1_UNCOMPRESSED_BYTES, p);
    }
}

static cuzk_status emit_points(maker *k, encode_job j, const run_ctx *rc)
{
    span_id s = span_begin(rc->spans, rc->parent, SPAN_KEY_WRITE);
    j.bytes = k->bytes;
    cuzk_status st =
        run_for(rc, (size_t)((j.n + ENCODE_CHUNK - 1) / ENCODE_CHUNK), encode_chunk, &j);
    if (st.code == CUZK_OK)
        st = g16_evkey_out_write(&k->out, k->bytes, j.n);
    span_note(rc->spans, s, -1, j.n * G1_UNCOMPRESSED_BYTES);
    span_end(rc->spans, s);
    return st;
}

/* k->h <- section h, infinity at the end. */
static cuzk_status load_h(maker *k, const run_ctx *rc)
{
    span_id s = span_begin(rc->spans, rc->parent, SPAN_KEY_DECODE);
    run_ctx under = run_ctx_under(rc, s);
    cuzk_status st = g16_key_g1(k->key, G16_H, 0, k->m - 1, false, k->h, &under);
    span_end(rc->spans, s);
    CUZK_TRY(st);
    k->h[k->m - 1] = (g1_aff){0};
    return cuzk_ok();
}

/* a <- its transform, in bit-reversed order, of the points times index times by_index, if any. */
static cuzk_status transform(maker *k, g1_aff *a, const fr *by_index, const run_ctx *rc)
{
    uint32_t lg_m = k->info->lg_m;
    span_id s = span_begin(rc->spans, rc->parent, SPAN_NTT);
    span_note(rc->spans, s, -1, k->m * sizeof *a);
    run_ctx under = run_ctx_under(rc, s);
    cuzk_status st = cuzk_ok();
    if (by_index)
        st = g16_g1_times_index(a, lg_m, by_index, &k->progress, &under);
    if (st.code == CUZK_OK)
        st = g16_g1_transform(a, lg_m, &k->progress, &under);
    span_end(rc->spans, s);
    return st;
}

static bool is_boolean(const maker *k, uint64_t row)
{
    return k->boolean[row / 64] >> row % 64 & 1;
}

/* d[-j] <- u_j H'_j: so the transform is that with the root itself instead of its inverse. */
static void mask_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const maker *k = ctx;
    uint64_t lo = (uint64_t)chunk * ROWS_CHUNK, hi = lo + ROWS_CHUNK;
    for (uint64_t j = lo; j < hi && j < k->m; j++)
        k->d[-j & (k->m - 1)] =
            is_boolean(k, j) ? k->h[g16_reverse_bits(j, k->info->lg_m)] : (g1_aff){0};
}

static void rows_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const maker *k = ctx;
    uint64_t lo = (uint64_t)chunk * ROWS_CHUNK, hi = lo + ROWS_CHUNK;
    for (uint64_t j = lo; j < hi && j < k->m; j++)
        k->du[j] = is_boolean(k, j) ? FR_ONE : FR_ZERO;
}

static cuzk_status over_rows(maker *k, pool_fn *fn, const run_ctx *rc)
{
    return run_for(rc, (size_t)((k->m + ROWS_CHUNK - 1) / ROWS_CHUNK), fn, k);
}

static cuzk_status make_du(maker *k, const run_ctx *rc)
{
    ntt_plan *plan;
    k->du = mem_alloc(k->m * sizeof *k->du, 64);
    if (!k->du)
        return cuzk_fail(CUZK_E_NOMEM, "%llu values of theta U", (unsigned long long)k->m);
    CUZK_TRY(over_rows(k, rows_chunk, rc));
    CUZK_TRY(ntt_plan_create(&plan, k->info->lg_m, rc));
    cuzk_status st = ntt_derivative(plan, k->du, &k->m_inv2, k->info->lg_m, rc);
    ntt_plan_destroy(plan);
    return st;
}

/* k->d <- D; h has H', which is destroyed. */
static cuzk_status make_d(maker *k, const run_ctx *rc)
{
    fr m_inv3;
    CUZK_TRY(make_du(k, rc));
    k->d = mem_alloc(k->m * sizeof *k->d, 64);
    if (!k->d)
        return cuzk_fail(CUZK_E_NOMEM, "%llu points for B", (unsigned long long)k->m);
    CUZK_TRY(over_rows(k, mask_chunk, rc));
    CUZK_TRY(transform(k, k->d, NULL, rc));
    CUZK_TRY(g16_g1_reverse(k->d, k->info->lg_m, rc));
    fr_from_u64(&m_inv3, k->m);
    fr_inv(&m_inv3, &m_inv3);
    fr_mul(&m_inv3, &m_inv3, &k->m_inv2);
    CUZK_TRY(transform(k, k->d, &m_inv3, rc));
    CUZK_TRY(g16_g1_add_products(k->d, k->h, k->du, k->info->lg_m, &k->progress, rc));
    mem_free(k->du);
    k->du = NULL;
    return cuzk_ok();
}

static cuzk_status emit_h(maker *k, const run_ctx *rc)
{
    uint64_t m = k->info->n[G16_EV_H];
    for (uint64_t at = 0; at < m; at += WRITE_CHUNK)
        CUZK_TRY(emit_points(k,
                             (encode_job){.p = k->h,
                                          .first = at,
                                          .n = m - at < WRITE_CHUNK ? m - at : WRITE_CHUNK,
                                          .lg_reversed = k->info->lg_m},
                             rc));
    return cuzk_ok();
}

/* Inputs, then aux, in pieces of WRITE_CHUNK. */
static cuzk_status emit_l(maker *k, g16_ev_fold *f, g1_aff *pts, const run_ctx *rc)
{
    for (int sec = G16_EV_L_INPUTS; sec <= G16_EV_L_AUX; sec++) {
        uint64_t n = k->info->n[sec];
        for (uint64_t at = 0; at < n; at += WRITE_CHUNK) {
            uint64_t len = n - at < WRITE_CHUNK ? n - at : WRITE_CHUNK;
            bool is_aux = sec == G16_EV_L_AUX;
            if (is_aux)
                CUZK_TRY(g16_key_g1(k->key, G16_L, at, len, false, pts + WRITE_CHUNK, rc));
            span_id s = span_begin(rc->spans, rc->parent, SPAN_SUM);
            run_ctx under = run_ctx_under(rc, s);
            cuzk_status st = g16_ev_fold_run(f, pts, is_aux ? pts + WRITE_CHUNK : NULL,
                                             (is_aux ? k->info->n_inputs : 0) + at, len, &under);
            span_end(rc->spans, s);
            CUZK_TRY(st);
            CUZK_TRY(emit_points(k, (encode_job){.p = pts, .first = at, .n = len}, rc));
            g16_ev_advance(&k->progress, len, rc);
        }
    }
    return cuzk_ok();
}

static cuzk_status make_l(maker *k, const run_ctx *rc)
{
    g16_ev_fold *f;
    CUZK_TRY(g16_ev_fold_create(&f, k->shape, k->d, k->h, rc));
    g1_aff *pts = mem_alloc(2 * WRITE_CHUNK * sizeof *pts, 64);
    cuzk_status st = pts ? emit_l(k, f, pts, rc) : cuzk_fail(CUZK_E_NOMEM, "points of section l");
    mem_free(pts);
    g16_ev_fold_destroy(f);
    return st;
}

static cuzk_status make_build(maker *k, const run_ctx *rc)
{
    uint64_t n_products = 3 * k->m + 4 * g16_g1_transform_products(k->info->lg_m);
    k->progress.total = n_products + k->info->n_inputs + k->info->n_aux;
    fr_from_u64(&k->m_inv2, k->m);
    fr_inv(&k->m_inv2, &k->m_inv2);
    fr_sqr(&k->m_inv2, &k->m_inv2);
    k->h = mem_alloc(k->m * sizeof *k->h, 64);
    k->bytes = mem_alloc(WRITE_CHUNK * G1_UNCOMPRESSED_BYTES, 64);
    k->boolean = g16_evkey_boolean_rows(k->shape);
    if (!k->h || !k->bytes || !k->boolean)
        return cuzk_fail(CUZK_E_NOMEM, "%llu points of section h", (unsigned long long)k->m);
    CUZK_TRY(load_h(k, rc));
    CUZK_TRY(transform(k, k->h, NULL, rc));
    CUZK_TRY(emit_h(k, rc));
    span_id s = span_begin(rc->spans, rc->parent, SPAN_NTT);
    run_ctx under = run_ctx_under(rc, s);
    cuzk_status st = make_d(k, &under);
    span_end(rc->spans, s);
    CUZK_TRY(st);
    CUZK_TRY(load_h(k, rc));
    CUZK_TRY(transform(k, k->h, &k->m_inv2, rc));
    return make_l(k, rc);
}

/* The file is open. */
static cuzk_status make_points(maker *k, const run_ctx *rc)
{
    cuzk_status st = make_build(k, rc);
    span_id f = span_begin(rc->spans, rc->parent, SPAN_FREE);
    mem_free(k->h);
    mem_free(k->d);
    mem_free(k->du);
    mem_free(k->bytes);
    mem_free(k->boolean);
    span_end(rc->spans, f);
    if (st.code == CUZK_OK)
        return g16_evkey_out_commit(&k->out);
    g16_evkey_out_abandon(&k->out);
    return st;
}

cuzk_status g16_evkey_make(const char *path, const g16_key *key, const r1cs_shape *s,
                           const run_ctx *rc)
{
    maker k = {.key = key, .shape = s, .info = &k.out.info};
    span_id span = span_begin(rc->spans, rc->parent, SPAN_SETUP);
    run_ctx under = run_ctx_under(rc, span);
    cuzk_status st = g16_evkey_out_create(&k.out, path, key, s, &under);
    if (st.code == CUZK_OK) {
        k.m = k.info->n[G16_EV_H];
        st = make_points(&k, &under);
    }
    span_end(rc->spans, span);
    return st;
}
