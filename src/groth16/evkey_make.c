/* Making evaluation-form keys: two transforms of section h, and C folded into section l. */
#include "base/mem.h"
#include "base/span_names.h"
#include "groth16/evkey_int.h"
#include "groth16/evkey_out.h"

/* Points per write. */
#define WRITE_CHUNK ((uint64_t)1 << 16)
#define ENCODE_CHUNK 2048u

typedef struct maker {
    const g16_key *key;
    const r1cs_shape *shape;
    const g16_evkey_info *info;
    g16_evkey_out out;
    g1_aff *h; /* m points: section h, transformed in place */
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

/* k->h <- c = -1/(2m) times section h, infinity at the end, transformed. */
static cuzk_status transform_h(maker *k, const fr *shift, const run_ctx *rc)
{
    uint64_t m = k->info->n[G16_EV_H];
    fr c;
    fr_from_u64(&c, 2 * m);
    fr_neg(&c, &c);
    fr_inv(&c, &c);
    span_id s = span_begin(rc->spans, rc->parent, SPAN_KEY_DECODE);
    run_ctx under = run_ctx_under(rc, s);
    cuzk_status st = g16_key_g1(k->key, G16_H, 0, m - 1, false, k->h, &under);
    span_end(rc->spans, s);
    CUZK_TRY(st);
    k->h[m - 1] = (g1_aff){0};
    s = span_begin(rc->spans, rc->parent, SPAN_NTT);
    span_note(rc->spans, s, -1, m * sizeof *k->h);
    under = run_ctx_under(rc, s);
    st = g16_g1_scale(k->h, m, &c, &k->progress, &under);
    if (st.code == CUZK_OK)
        st = g16_g1_transform(k->h, k->info->lg_m, shift, &k->progress, &under);
    span_end(rc->spans, s);
    return st;
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
    CUZK_TRY(g16_ev_fold_create(&f, k->shape, k->h, rc));
    g1_aff *pts = mem_alloc(2 * WRITE_CHUNK * sizeof *pts, 64);
    cuzk_status st = pts ? emit_l(k, f, pts, rc) : cuzk_fail(CUZK_E_NOMEM, "points of section l");
    mem_free(pts);
    g16_ev_fold_destroy(f);
    return st;
}

static cuzk_status make_build(maker *k, const run_ctx *rc)
{
    uint64_t m = k->info->n[G16_EV_H];
    fr g_inv;
    fr_root_of_unity(&g_inv, k->info->lg_m + 1);
    fr_inv(&g_inv, &g_inv);
    k->progress.total =
        2 * (m + g16_g1_transform_products(k->info->lg_m)) + k->info->n_inputs + k->info->n_aux;
    k->h = mem_alloc(m * sizeof *k->h, 64);
    k->bytes = mem_alloc(WRITE_CHUNK * G1_UNCOMPRESSED_BYTES, 64);
    if (!k->h || !k->bytes)
        return cuzk_fail(CUZK_E_NOMEM, "%llu points of section h", (unsigned long long)m);
    CUZK_TRY(transform_h(k, &g_inv, rc));
    CUZK_TRY(emit_h(k, rc));
    CUZK_TRY(transform_h(k, NULL, rc));
    return make_l(k, rc);
}

/* The file is open. */
static cuzk_status make_points(maker *k, const run_ctx *rc)
{
    cuzk_status st = make_build(k, rc);
    span_id f = span_begin(rc->spans, rc->parent, SPAN_FREE);
    mem_free(k->h);
    mem_free(k->bytes);
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
    if (st.code == CUZK_OK)
        st = make_points(&k, &under);
    span_end(rc->spans, span);
    return st;
}
