/* Development set-up: a .params stream from known toxic waste (circuits.md A.8). Everything here
 * may take variable time: who knows tau can forge proofs, which is why such a key is for
 * development only; the secrets are still wiped. */
#include "base/bytes.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/span_names.h"
#include "groth16/groth16_int.h"
#include "msm/msm.h"
#include "poly/ntt.h"
#include <string.h>

/* Points per fixed-base call and write: 25 MB of G1 points, far above any per-call cost. */
#define SETUP_CHUNK ((size_t)1 << 18)
#define FILL_CHUNK 4096u

typedef struct setup {
    const r1cs_shape *s;
    const r1cs_counts *c;
    const g16_toxic *t;
    g16_sink sink;
    const run_ctx *rc;
    fr z;                             /* tau^m - 1 */
    fr gamma_inv, delta_inv, h_first; /* h_first = z / delta */
    uint64_t m, n_vars;
    size_t chunk;        /* points per call: SETUP_CHUNK or the largest section */
    fr *lag;             /* m: L_k(tau); freed once the queries are summed */
    fr *q[3];            /* u, v, w: n_inputs then n_aux; w later holds the ic and l scalars */
    uint8_t *coeff_kind; /* per dictionary entry */
    fr_int *scalars;     /* chunk */
    void *points;        /* chunk of g1_aff, half as many g2_aff */
    uint8_t *bytes;      /* the same encoded */
    msm_fixed *table;
    uint64_t written;
} setup;

enum { COEFF_ANY, COEFF_ONE, COEFF_MINUS_ONE };

uint64_t g16_params_bytes(const r1cs_shape *s)
{
    const r1cs_counts *c = r1cs_shape_counts(s);
    uint64_t b = c->b_inputs + c->b_aux;
    return G16_VK_HEAD_BYTES + 4 * G16_N_SECTIONS + 288 * b +
           96 * (c->n_inputs + ((uint64_t)1 << c->lg_m) - 1 + c->n_aux + c->n_inputs + c->a_aux);
}

cuzk_status g16_toxic_random(g16_toxic *t)
{
    fr *const v[] = {&t->alpha, &t->beta, &t->gamma, &t->delta, &t->tau};
    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        do {
            cuzk_status st = fr_random(v[i]);
            if (st.code != CUZK_OK) {
                mem_wipe(t, sizeof *t);
                return st;
            }
        } while (fr_is_zero(v[i]));
    return cuzk_ok();
}

static cuzk_status check_toxic(setup *su)
{
    const struct {
        const char *name;
        const fr *v;
    } vals[] = {{"alpha", &su->t->alpha},
                {"beta", &su->t->beta},
                {"gamma", &su->t->gamma},
                {"delta", &su->t->delta},
                {"tau", &su->t->tau}};
    for (size_t i = 0; i < ARRAY_LEN(vals); i++)
        if (fr_is_zero(vals[i].v))
            return cuzk_bad_input(vals[i].name, "a nonzero toxic value", "0");
    fr_pow_u64(&su->z, &su->t->tau, su->m);
    fr_sub(&su->z, &su->z, &FR_ONE);
    if (fr_is_zero(&su->z))
        return cuzk_bad_input("tau", "a value outside the domain",
                              "a root of unity of order 2^%u or less", su->c->lg_m);
    fr_inv(&su->gamma_inv, &su->t->gamma);
    fr_inv(&su->delta_inv, &su->t->delta);
    fr_mul(&su->h_first, &su->z, &su->delta_inv);
    return cuzk_ok();
}

static cuzk_status setup_alloc(setup *su)
{
    if (su->c->n_inputs > UINT32_MAX || su->c->n_aux > UINT32_MAX || su->m > (uint64_t)1 << 32)
        return cuzk_fail(CUZK_E_UNSUPPORTED,
                         "circuit %s has lists longer than the file format holds",
                         r1cs_shape_name(su->s));
    size_t n_coeffs;
    (void)r1cs_shape_coeffs(su->s, &n_coeffs);
    su->lag = mem_alloc(su->m * sizeof *su->lag, 64);
    su->coeff_kind = mem_alloc(n_coeffs, 64);
    uint64_t longest = su->m > su->n_vars ? su->m : su->n_vars;
    /* at least 2: G2 halves it */
    su->chunk = longest < SETUP_CHUNK ? (size_t)longest + 1 : SETUP_CHUNK;
    su->scalars = mem_alloc(su->chunk * sizeof *su->scalars, 64);
    su->points = mem_alloc(su->chunk * sizeof(g1_aff), 64);
    su->bytes = mem_alloc(su->chunk * G1_UNCOMPRESSED_BYTES, 64);
    bool ok = su->lag && su->coeff_kind && su->scalars && su->points && su->bytes;
    for (int k = 0; k < 3; k++) {
        su->q[k] = mem_zalloc(su->n_vars * sizeof(fr), 64);
        ok = ok && su->q[k];
    }
    return ok ? cuzk_ok()
              : cuzk_fail(CUZK_E_NOMEM, "set-up of %llu variables, domain 2^%u",
                          (unsigned long long)su->n_vars, su->c->lg_m);
}

static void wipe_free(void *p, size_t bytes)
{
    if (p)
        mem_wipe(p, bytes);
    mem_free(p);
}

static void setup_fini(setup *su)
{
    wipe_free(su->lag, su->m * sizeof(fr));
    for (int k = 0; k < 3; k++)
        wipe_free(su->q[k], su->n_vars * sizeof(fr));
    wipe_free(su->scalars, su->chunk * sizeof *su->scalars);
    mem_free(su->coeff_kind);
    mem_free(su->points);
    mem_free(su->bytes);
    msm_fixed_destroy(su->table);
    mem_wipe(su, sizeof *su);
}

typedef struct side_sum {
    const fr *lag, *coeffs;
    const uint8_t *kind;
    fr *q;
    uint64_t n_inputs;
    int side;
} side_sum;

/* q[var] += coeff * L_row(tau) over one side of the row. */
static void add_row(void *ctx, uint64_t row_idx, const r1cs_row *row)
{
    const side_sum *x = ctx;
    const fr *l = &x->lag[row_idx];
    const r1cs_term *t = row->t[x->side];
    for (uint32_t i = 0; i < row->n[x->side]; i++) {
        r1cs_var v = t[i].var;
        fr *q = &x->q[v & R1CS_INPUT ? (v & ~R1CS_INPUT) : x->n_inputs + v];
        fr p;
        switch (x->kind[t[i].coeff]) {
        case COEFF_ONE:
            fr_add(q, q, l);
            break;
        case COEFF_MINUS_ONE:
            fr_sub(q, q, l);
            break;
        default:
            fr_mul(&p, l, &x->coeffs[t[i].coeff]);
            fr_add(q, q, &p);
        }
    }
}

typedef struct sum_job {
    setup *su;
    const fr *coeffs;
    cuzk_status st[3];
} sum_job;

/* A side per chunk: u, v and w are disjoint, so three threads need no lock; a row range per thread
 * would need private copies. */
static void sum_side(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    sum_job *j = ctx;
    setup *su = j->su;
    side_sum x = {su->lag, j->coeffs, su->coeff_kind, su->q[chunk], su->c->n_inputs, (int)chunk};
    j->st[chunk] = r1cs_shape_visit(su->s, 0, su->c->n_rows, false, add_row, &x);
}

static void combine_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    setup *su = ctx;
    uint64_t lo = (uint64_t)chunk * FILL_CHUNK, hi = lo + FILL_CHUNK;
    for (uint64_t i = lo; i < hi && i < su->n_vars; i++) {
        fr bu, av, *w = &su->q[2][i];
        fr_mul(&bu, &su->q[0][i], &su->t->beta);
        fr_mul(&av, &su->q[1][i], &su->t->alpha);
        fr_add(w, w, &bu);
        fr_add(w, w, &av);
        fr_mul(w, w, i < su->c->n_inputs ? &su->gamma_inv : &su->delta_inv);
    }
}

/* w <- (beta u + alpha v + w) / gamma (inputs) or / delta (aux). A zero is a variable that no row
 * binds. */
static cuzk_status combine(setup *su)
{
    pool_for(su->rc->pool, (size_t)((su->n_vars + FILL_CHUNK - 1) / FILL_CHUNK), combine_chunk, su);
    for (uint64_t i = 0; i < su->n_vars; i++)
        if (fr_is_zero(&su->q[2][i])) {
            bool in = i < su->c->n_inputs;
            return cuzk_bad_input(in ? "input variable" : "aux variable",
                                  "every variable in some row", "unconstrained %s %llu",
                                  in ? "input" : "aux",
                                  (unsigned long long)(in ? i : i - su->c->n_inputs));
        }
    return cuzk_ok();
}

static cuzk_status sum_queries(setup *su)
{
    size_t n_coeffs;
    sum_job j = {.su = su, .coeffs = r1cs_shape_coeffs(su->s, &n_coeffs)};
    fr minus_one;
    fr_neg(&minus_one, &FR_ONE);
    for (size_t i = 0; i < n_coeffs; i++)
        su->coeff_kind[i] = fr_is_one(&j.coeffs[i])           ? COEFF_ONE
                            : fr_eq(&j.coeffs[i], &minus_one) ? COEFF_MINUS_ONE
                                                              : COEFF_ANY;
    pool_for(su->rc->pool, 3, sum_side, &j);
    for (uint64_t i = 0; i < su->c->n_inputs; i++) /* the appended rows Input(i) * 0 = 0 */
        fr_add(&su->q[0][i], &su->q[0][i], &su->lag[su->c->n_rows + i]);
    for (int k = 0; k < 3; k++)
        CUZK_TRY(j.st[k]);
    return combine(su);
}

/* Where the next scalars of a section come from; fill writes n of them and may move the cursor. */
typedef struct scalar_src {
    const char *name;
    const fr *vals;          /* query: u or v; range: w + offset */
    const uint64_t *density; /* query only */
    bool all_inputs;         /* query: the inputs are not filtered */
    uint64_t next_input, next_aux;
    cuzk_status (*fill)(setup *su, struct scalar_src *src, uint64_t first, size_t n);
} scalar_src;

typedef struct fill_job {
    setup *su;
    const fr *vals;
    uint64_t first;
    size_t n;
} fill_job;

static void powers_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const fill_job *j = ctx;
    size_t lo = chunk * FILL_CHUNK, hi = lo + FILL_CHUNK < j->n ? lo + FILL_CHUNK : j->n;
    fr p;
    fr_pow_u64(&p, &j->su->t->tau, j->first + lo);
    fr_mul(&p, &p, &j->su->h_first);
    for (size_t i = lo; i < hi; i++) {
        fr_to_int(&j->su->scalars[i], &p);
        fr_mul(&p, &p, &j->su->t->tau);
    }
}

static cuzk_status fill_powers(setup *su, scalar_src *src, uint64_t first, size_t n)
{
    (void)src;
    fill_job j = {su, NULL, first, n};
    pool_for(su->rc->pool, (n + FILL_CHUNK - 1) / FILL_CHUNK, powers_chunk, &j);
    return cuzk_ok();
}

static void range_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const fill_job *j = ctx;
    size_t lo = chunk * FILL_CHUNK, hi = lo + FILL_CHUNK < j->n ? lo + FILL_CHUNK : j->n;
    fr_vec_to_int(j->su->scalars + lo, j->vals + j->first + lo, hi - lo);
}

static cuzk_status fill_range(setup *su, scalar_src *src, uint64_t first, size_t n)
{
    fill_job j = {su, src->vals, first, n};
    pool_for(su->rc->pool, (n + FILL_CHUNK - 1) / FILL_CHUNK, range_chunk, &j);
    return cuzk_ok();
}

/* Index into the variables of the query's next member. */
static uint64_t query_next(const setup *su, scalar_src *src)
{
    while (src->next_input < su->c->n_inputs) {
        uint64_t i = src->next_input++;
        if (src->all_inputs || r1cs_shape_b_input(su->s, (uint32_t)i))
            return i;
    }
    uint64_t j = src->next_aux;
    while (!(src->density[j >> 6] >> (j & 63)))
        j = (j | 63) + 1;
    j += (uint64_t)__builtin_ctzll(src->density[j >> 6] >> (j & 63));
    src->next_aux = j + 1;
    return su->c->n_inputs + j;
}

/* The members are those with a nonzero coefficient. Upstream drops what vanishes at tau, the same
 * set but for a tau that happens to be a root; such a key would not fit the circuit, so that tau is
 * refused. */
static cuzk_status fill_query(setup *su, scalar_src *src, uint64_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const fr *v = &src->vals[query_next(su, src)];
        if (fr_is_zero(v))
            return cuzk_fail(CUZK_E_INPUT, "tau: element %llu of query %s vanishes: choose another",
                             (unsigned long long)(first + i), src->name);
        fr_to_int(&su->scalars[i], v);
    }
    return cuzk_ok();
}

static cuzk_status emit_bytes(setup *su, const void *p, size_t n)
{
    CUZK_TRY(su->sink.write(su->sink.ctx, p, n));
    su->written += n;
    run_progress(su->rc, "setup", (double)su->written / (double)g16_params_bytes(su->s));
    return cuzk_ok();
}

typedef struct encode_job {
    setup *su;
    size_t n;
    bool g2;
} encode_job;

static void encode_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const encode_job *j = ctx;
    size_t lo = chunk * FILL_CHUNK, hi = lo + FILL_CHUNK < j->n ? lo + FILL_CHUNK : j->n;
    for (size_t i = lo; i < hi; i++) {
        if (j->g2)
            g2_encode_uncompressed(j->su->bytes + i * G2_UNCOMPRESSED_BYTES,
                                   (const g2_aff *)j->su->points + i);
        else
            g1_encode_uncompressed(j->su->bytes + i * G1_UNCOMPRESSED_BYTES,
                                   (const g1_aff *)j->su->points + i);
    }
}

/* One chunk: scalars, points, bytes, sink; each its own span. */
static cuzk_status emit_chunk(setup *su, scalar_src *src, uint64_t first, size_t n, bool g2,
                              const run_ctx *rc)
{
    span_id span = span_begin(rc->spans, rc->parent, SPAN_SCALARS);
    cuzk_status st = src->fill(su, src, first, n);
    span_end(rc->spans, span);
    CUZK_TRY(st);
    span = span_begin(rc->spans, rc->parent, SPAN_FIXED_MUL);
    run_ctx under = run_ctx_under(rc, span);
    st = g2 ? msm_fixed_mul_g2(su->table, su->points, su->scalars, n, &under)
            : msm_fixed_mul_g1(su->table, su->points, su->scalars, n, &under);
    span_end(rc->spans, span);
    CUZK_TRY(st);
    span = span_begin(rc->spans, rc->parent, SPAN_ENCODE);
    encode_job j = {su, n, g2};
    pool_for(rc->pool, (n + FILL_CHUNK - 1) / FILL_CHUNK, encode_chunk, &j);
    span_end(rc->spans, span);
    span = span_begin(rc->spans, rc->parent, SPAN_KEY_WRITE);
    st = emit_bytes(su, su->bytes, n * (g2 ? G2_UNCOMPRESSED_BYTES : G1_UNCOMPRESSED_BYTES));
    span_end(rc->spans, span);
    return st;
}

static cuzk_status emit_points(setup *su, scalar_src *src, uint64_t n, bool g2, const run_ctx *rc)
{
    size_t max = g2 ? su->chunk / 2 : su->chunk;
    for (uint64_t at = 0; at < n; at += max) {
        if (run_cancelled(rc))
            return cuzk_fail(CUZK_E_CANCELLED, "set-up cancelled in section %s", src->name);
        CUZK_TRY(emit_chunk(su, src, at, n - at < max ? (size_t)(n - at) : max, g2, rc));
    }
    return cuzk_ok();
}

static cuzk_status emit_count(setup *su, uint64_t n)
{
    uint8_t b[4];
    store_be32(b, (uint32_t)n);
    return emit_bytes(su, b, sizeof b);
}

static cuzk_status emit_section(setup *su, scalar_src src, uint64_t n, bool g2)
{
    span_id span = span_begin(su->rc->spans, su->rc->parent, SPAN_SETUP_MUL);
    span_note(su->rc->spans, span, -1, n * (g2 ? G2_UNCOMPRESSED_BYTES : G1_UNCOMPRESSED_BYTES));
    run_ctx rc = run_ctx_under(su->rc, span);
    cuzk_status st = emit_points(su, &src, n, g2, &rc);
    span_end(su->rc->spans, span);
    return st;
}

static void mul_gen_g1(g1_aff *o, const fr *k)
{
    fr_int ki;
    g1_jac p;
    fr_to_int(&ki, k);
    g1_jac_from_aff(&p, &G1_GENERATOR);
    g1_mul(&p, &p, &ki);
    g1_jac_to_aff(o, &p);
    mem_wipe(&ki, sizeof ki);
}

static void mul_gen_g2(g2_aff *o, const fr *k)
{
    fr_int ki;
    g2_jac p;
    fr_to_int(&ki, k);
    g2_jac_from_aff(&p, &G2_GENERATOR);
    g2_mul(&p, &p, &ki);
    g2_jac_to_aff(o, &p);
    mem_wipe(&ki, sizeof ki);
}

void g16_toxic_vk(g16_vk *vk, const g16_toxic *t)
{
    mul_gen_g1(&vk->alpha_g1, &t->alpha);
    mul_gen_g1(&vk->beta_g1, &t->beta);
    mul_gen_g2(&vk->beta_g2, &t->beta);
    mul_gen_g2(&vk->gamma_g2, &t->gamma);
    mul_gen_g1(&vk->delta_g1, &t->delta);
    mul_gen_g2(&vk->delta_g2, &t->delta);
}

static cuzk_status emit_vk_head(setup *su)
{
    g16_vk vk = {0};
    g16_toxic_vk(&vk, su->t);
    uint8_t head[G16_VK_HEAD_BYTES];
    g16_vk_encode(head, &vk);
    store_be32(head + G16_VK_HEAD_BYTES - 4, (uint32_t)su->c->n_inputs);
    return emit_bytes(su, head, sizeof head);
}

static cuzk_status new_table(setup *su, bool g2, uint64_t n)
{
    span_id span = span_begin(su->rc->spans, su->rc->parent, SPAN_SETUP_POWERS);
    run_ctx rc = run_ctx_under(su->rc, span);
    msm_fixed_destroy(su->table);
    su->table = NULL;
    cuzk_status st =
        msm_fixed_create(&su->table, g2 ? NULL : &G1_GENERATOR, g2 ? &G2_GENERATOR : NULL, n, &rc);
    span_end(su->rc->spans, span);
    return st;
}

static cuzk_status emit_file(setup *su)
{
    const r1cs_counts *c = su->c;
    uint64_t n_a = c->n_inputs + c->a_aux, n_b = c->b_inputs + c->b_aux;
    scalar_src ic = {.name = "ic", .vals = su->q[2], .fill = fill_range};
    scalar_src h = {.name = "h", .fill = fill_powers};
    scalar_src l = {.name = "l", .vals = su->q[2] + c->n_inputs, .fill = fill_range};
    scalar_src a = {.name = "a",
                    .vals = su->q[0],
                    .density = r1cs_shape_a_density(su->s),
                    .all_inputs = true,
                    .fill = fill_query};
    scalar_src b = {
        .name = "b", .vals = su->q[1], .density = r1cs_shape_b_density(su->s), .fill = fill_query};
    CUZK_TRY(new_table(su, false, c->n_inputs + su->m - 1 + c->n_aux + n_a + n_b));
    CUZK_TRY(emit_vk_head(su));
    CUZK_TRY(emit_section(su, ic, c->n_inputs, false));
    CUZK_TRY(emit_count(su, su->m - 1));
    CUZK_TRY(emit_section(su, h, su->m - 1, false));
    CUZK_TRY(emit_count(su, c->n_aux));
    CUZK_TRY(emit_section(su, l, c->n_aux, false));
    CUZK_TRY(emit_count(su, n_a));
    CUZK_TRY(emit_section(su, a, n_a, false));
    CUZK_TRY(emit_count(su, n_b));
    CUZK_TRY(emit_section(su, b, n_b, false));
    CUZK_TRY(emit_count(su, n_b));
    CUZK_TRY(new_table(su, true, n_b));
    return emit_section(su, b, n_b, true);
}

static cuzk_status setup_run(setup *su)
{
    CUZK_TRY(check_toxic(su));
    span_id span = span_begin(su->rc->spans, su->rc->parent, SPAN_ALLOC);
    cuzk_status st = setup_alloc(su);
    span_end(su->rc->spans, span);
    CUZK_TRY(st);
    span = span_begin(su->rc->spans, su->rc->parent, SPAN_SETUP_LAGRANGE);
    run_ctx rc = run_ctx_under(su->rc, span);
    st = ntt_lagrange_at(su->lag, &su->t->tau, su->c->lg_m, &rc);
    span_end(su->rc->spans, span);
    CUZK_TRY(st);
    span = span_begin(su->rc->spans, su->rc->parent, SPAN_SETUP_QUERIES);
    st = sum_queries(su);
    span_end(su->rc->spans, span);
    CUZK_TRY(st);
    span = span_begin(su->rc->spans, su->rc->parent, SPAN_FREE);
    wipe_free(su->lag, su->m * sizeof(fr));
    su->lag = NULL;
    span_end(su->rc->spans, span);
    CUZK_TRY(emit_file(su));
    CUZK_VERIFY(su->written == g16_params_bytes(su->s));
    return cuzk_ok();
}

cuzk_status g16_setup_stream(const r1cs_shape *s, const g16_toxic *t, g16_sink sink,
                             const run_ctx *rc)
{
    const r1cs_counts *c = r1cs_shape_counts(s);
    span_id span = span_begin(rc->spans, rc->parent, SPAN_SETUP);
    run_ctx under = run_ctx_under(rc, span);
    setup su = {.s = s,
                .c = c,
                .t = t,
                .sink = sink,
                .rc = &under,
                .m = (uint64_t)1 << c->lg_m,
                .n_vars = c->n_inputs + c->n_aux};
    cuzk_status st = setup_run(&su);
    span_id f = span_begin(rc->spans, span, SPAN_FREE);
    setup_fini(&su);
    span_end(rc->spans, f);
    span_end(rc->spans, span);
    return st;
}

static cuzk_status write_out(void *ctx, const void *p, size_t n)
{
    g16_out *o = ctx;
    g16_out_write(o, p, n);
    return o->st;
}

cuzk_status g16_setup(const r1cs_shape *s, const g16_toxic *t, const char *params_path,
                      const run_ctx *rc)
{
    g16_out out;
    CUZK_TRY(g16_out_create(&out, params_path, g16_params_bytes(s)));
    cuzk_status st = g16_setup_stream(s, t, (g16_sink){.ctx = &out, .write = write_out}, rc);
    if (st.code == CUZK_OK)
        return g16_out_commit(&out);
    g16_out_abandon(&out);
    return st;
}
