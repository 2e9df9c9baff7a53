/* Checking evaluation-form keys: digests, and the linear map by one random equation. */
#include "base/bytes.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/span_names.h"
#include "groth16/evkey_int.h"
#include "hash/chacha.h"
#include "msm/msm.h"
#include "poly/ntt.h"
#include "r1cs/eval.h"
#include <string.h>

#define FILL_CHUNK 4096u
#define VISIT_ROWS 32768u
/* Points per sum, at most. */
#define SUM_CHUNK_MAX ((uint64_t)1 << 20)

/* A random factor, below 2^128. */
typedef struct half_fr {
    uint64_t l[2];
} half_fr;

typedef struct checker {
    const g16_evkey *e;
    const g16_key *key;
    const r1cs_shape *shape;
    const r1cs_counts *c;
    const g16_evkey_info *info;
    uint64_t m, n_vars, sum_chunk;
    uint8_t seed[32];
    half_fr *y;        /* n_vars: factors of L', inputs first */
    uint64_t *boolean; /* u */
    fr *h_side;        /* m: x and p, then what they make of H */
    fr *rows;          /* m: C y, then what it makes of H */
    g1_aff *pts;       /* sum_chunk */
    fr_int *scalars;   /* sum_chunk */
    cuzk_status *visit_st;
    unsigned n_threads;
    uint64_t done, total; /* points */
    g1_jac sum;           /* left side minus right side */
} checker;

/* Factors [first, first + n) of stream 0 (x) or 1 (y): 16 bytes of key stream each. */
typedef struct fill_job {
    const checker *k;
    uint64_t stream, n;
    half_fr *out;
    fr *add_to; /* or added to field elements */
} fill_job;

static void fill_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const fill_job *j = ctx;
    uint64_t lo = (uint64_t)chunk * FILL_CHUNK, hi = lo + FILL_CHUNK;
    chacha g;
    chacha_init_rand(&g, j->k->seed, j->stream, 20);
    chacha_seek_block(&g, lo / 4);
    for (uint64_t i = lo; i < hi && i < j->n; i++) {
        half_fr v = {{chacha_next_u64(&g), 0}};
        v.l[1] = chacha_next_u64(&g);
        if (j->out)
            j->out[i] = v;
        else {
            fr t;
            fr_from_int(&t, &(fr_int){{v.l[0], v.l[1], 0, 0}});
            fr_add(&j->add_to[i], &j->add_to[i], &t);
        }
    }
}

static cuzk_status fill(const fill_job *j, const run_ctx *rc)
{
    return run_for(rc, (size_t)((j->n + FILL_CHUNK - 1) / FILL_CHUNK), fill_chunk,
                   (void *)(uintptr_t)j);
}

/* out = M y, or out += (M y) o times, with M the matrix of a side (1: B, 2: C). */
typedef struct row_sum {
    checker *k;
    unsigned side;
    fr *out;
    const fr *times, *coeffs;
} row_sum;

static void sum_row(void *ctx, uint64_t row_idx, const r1cs_row *row)
{
    const row_sum *x = ctx;
    fr acc = FR_ZERO, t;
    const r1cs_term *terms = row->t[x->side];
    for (uint32_t i = 0; i < row->n[x->side]; i++) {
        r1cs_var v = terms[i].var;
        const half_fr *y = &x->k->y[v & R1CS_INPUT ? v & ~R1CS_INPUT : x->k->c->n_inputs + v];
        fr_from_int(&t, &(fr_int){{y->l[0], y->l[1], 0, 0}});
        fr_mul(&t, &t, &x->coeffs[terms[i].coeff]);
        fr_add(&acc, &acc, &t);
    }
    fr *out = &x->out[row_idx];
    if (!x->times) {
        *out = acc;
        return;
    }
    fr_mul(&acc, &acc, &x->times[row_idx]);
    fr_add(out, out, &acc);
}

static void sum_rows_chunk(void *ctx, size_t chunk, unsigned thread)
{
    const row_sum *x = ctx;
    checker *k = x->k;
    cuzk_status *st = &k->visit_st[thread % k->n_threads];
    uint64_t lo = (uint64_t)chunk * VISIT_ROWS, hi = lo + VISIT_ROWS;
    if (st->code == CUZK_OK)
        *st = r1cs_shape_visit(k->shape, lo, hi < k->c->n_rows ? hi : k->c->n_rows, false, sum_row,
                               (void *)(uintptr_t)x);
}

static cuzk_status sum_rows(row_sum x, const run_ctx *rc)
{
    checker *k = x.k;
    size_t n_coeffs;
    x.coeffs = r1cs_shape_coeffs(k->shape, &n_coeffs);
    if (!x.times)
        memset(x.out, 0, (size_t)k->m * sizeof *x.out);
    for (unsigned t = 0; t < k->n_threads; t++)
        k->visit_st[t] = cuzk_ok();
    CUZK_TRY(
        run_for(rc, (size_t)((k->c->n_rows + VISIT_ROWS - 1) / VISIT_ROWS), sum_rows_chunk, &x));
    for (unsigned t = 0; t < k->n_threads; t++)
        CUZK_TRY(k->visit_st[t]);
    return cuzk_ok();
}

typedef struct scalars_job {
    const checker *k;
    uint64_t first, n;
    const half_fr *halves; /* or m h_side[i] - (i/m) rows[i] */
    fr m, m_inv;
} scalars_job;

static void scalars_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const scalars_job *j = ctx;
    uint64_t lo = (uint64_t)chunk * FILL_CHUNK, hi = lo + FILL_CHUNK;
    for (uint64_t i = lo; i < hi && i < j->n; i++) {
        uint64_t at = j->first + i;
        if (j->halves) {
            j->k->scalars[i] = (fr_int){{j->halves[at].l[0], j->halves[at].l[1], 0, 0}};
            continue;
        }
        fr t, c;
        fr_from_u64(&c, at);
        fr_mul(&c, &c, &j->m_inv);
        fr_mul(&c, &c, &j->k->rows[at]);
        fr_mul(&t, &j->m, &j->k->h_side[at]);
        fr_sub(&t, &t, &c);
        fr_to_int(&j->k->scalars[i], &t);
    }
}

/* k->sum += or -= the sum over the decoded points. */
static cuzk_status add_chunk(checker *k, scalars_job *j, bool negate, const run_ctx *rc)
{
    g1_jac t;
    j->k = k;
    CUZK_TRY(run_for(rc, (size_t)((j->n + FILL_CHUNK - 1) / FILL_CHUNK), scalars_chunk, j));
    CUZK_TRY(msm_g1(&t, k->pts, k->scalars, (size_t)j->n, rc));
    if (negate)
        g1_jac_neg(&t, &t);
    g1_jac_add(&k->sum, &k->sum, &t);
    k->done += j->n;
    run_progress(rc, "evkey_check", (double)k->done / (double)k->total);
    return cuzk_ok();
}

/* The sum over a section of the evaluation form, each point checked. */
static cuzk_status add_section(checker *k, g16_ev_section sec, const half_fr *factors,
                               const run_ctx *rc)
{
    for (uint64_t at = 0; at < k->info->n[sec]; at += k->sum_chunk) {
        uint64_t left = k->info->n[sec] - at;
        scalars_job j = {
            .first = at, .n = left < k->sum_chunk ? left : k->sum_chunk, .halves = factors};
        CUZK_TRY(g16_evkey_points(k->e, sec, at, j.n, true, k->pts, rc));
        CUZK_TRY(add_chunk(k, &j, false, rc));
    }
    return cuzk_ok();
}

/* The same over a section of the key, subtracted. */
static cuzk_status subtract_section(checker *k, g16_section sec, const half_fr *factors,
                                    const run_ctx *rc)
{
    uint64_t n = g16_key_get_info(k->key)->n[sec];
    for (uint64_t at = 0; at < n; at += k->sum_chunk) {
        scalars_job j = {.first = at, .n = n - at < k->sum_chunk ? n - at : k->sum_chunk};
        j.halves = factors;
        fr_from_u64(&j.m, k->m);
        fr_inv(&j.m_inv, &j.m);
        CUZK_TRY(g16_key_g1(k->key, sec, at, j.n, false, k->pts, rc));
        CUZK_TRY(add_chunk(k, &j, true, rc));
    }
    return cuzk_ok();
}

/* h_side <- u o h_side, rows <- u. */
static void mask_rows(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const checker *k = ctx;
    uint64_t lo = (uint64_t)chunk * FILL_CHUNK, hi = lo + FILL_CHUNK;
    for (uint64_t j = lo; j < hi && j < k->m; j++) {
        bool u = k->boolean[j / 64] >> j % 64 & 1;
        k->h_side[j] = u ? k->h_side[j] : FR_ZERO;
        k->rows[j] = u ? FR_ONE : FR_ZERO;
    }
}

/* With b = B y and B^ the polynomial that has these values on the domain,
 *     h_side <- p, p_j = (1/m^2) (u_j (theta B^)(w^j) + b_j (theta U)(w^j)).
 * b is made twice, which spares a vector. */
static cuzk_status make_p(checker *k, const ntt_plan *plan, const run_ctx *rc)
{
    fr m_inv2;
    fr_from_u64(&m_inv2, k->m);
    fr_inv(&m_inv2, &m_inv2);
    fr_sqr(&m_inv2, &m_inv2);
    CUZK_TRY(sum_rows((row_sum){.k = k, .side = 1, .out = k->h_side}, rc));
    CUZK_TRY(ntt_derivative(plan, k->h_side, &m_inv2, k->info->lg_m, rc));
    CUZK_TRY(run_for(rc, (size_t)((k->m + FILL_CHUNK - 1) / FILL_CHUNK), mask_rows, k));
    CUZK_TRY(ntt_derivative(plan, k->rows, &m_inv2, k->info->lg_m, rc));
    return sum_rows((row_sum){.k = k, .side = 1, .out = k->h_side, .times = k->rows}, rc);
}

/* What x and y make of H_i: sum_j (x_j + p_j) w^-ij - (i/m^2) sum_j (C y)_j w^-ij, the sums less
 * their factor m, which the inverse transform takes away. */
static cuzk_status make_factors(checker *k, const run_ctx *rc)
{
    ntt_plan *plan;
    CUZK_TRY(ntt_plan_create(&plan, k->info->lg_m, rc));
    cuzk_status st = make_p(k, plan, rc);
    if (st.code == CUZK_OK)
        st = fill(&(fill_job){.k = k, .stream = 0, .n = k->m, .add_to = k->h_side}, rc);
    if (st.code == CUZK_OK)
        st = ntt_inverse(plan, k->h_side, k->info->lg_m, rc);
    if (st.code == CUZK_OK)
        st = sum_rows((row_sum){.k = k, .side = 2, .out = k->rows}, rc);
    if (st.code == CUZK_OK)
        st = ntt_inverse(plan, k->rows, k->info->lg_m, rc);
    ntt_plan_destroy(plan);
    return st;
}

static cuzk_status check_equation(checker *k, const run_ctx *rc)
{
    /* x as halves only while H' is summed: rows has the room, 32 bytes a point */
    half_fr *x = (half_fr *)(void *)k->rows;
    CUZK_TRY(random_bytes(k->seed, sizeof k->seed));
    CUZK_TRY(fill(&(fill_job){.k = k, .stream = 0, .n = k->m, .out = x}, rc));
    CUZK_TRY(fill(&(fill_job){.k = k, .stream = 1, .n = k->n_vars, .out = k->y}, rc));
    CUZK_TRY(add_section(k, G16_EV_H, x, rc));
    CUZK_TRY(add_section(k, G16_EV_L_INPUTS, k->y, rc));
    CUZK_TRY(add_section(k, G16_EV_L_AUX, k->y + k->c->n_inputs, rc));
    CUZK_TRY(subtract_section(k, G16_L, k->y + k->c->n_inputs, rc));
    CUZK_TRY(make_factors(k, rc));
    CUZK_TRY(subtract_section(k, G16_H, NULL, rc));
    if (!g1_jac_is_inf(&k->sum))
        return cuzk_fail(CUZK_E_VERIFY, "evaluation-form key: the points are not the key's "
                                        "transform (make the file again)");
    return cuzk_ok();
}

static cuzk_status check_digests(const checker *k, const run_ctx *rc)
{
    char hex[33], want[33];
    uint8_t d[32];
    CUZK_TRY(g16_evkey_check_bytes(k->e, rc));
    CUZK_TRY(g16_key_digest(k->key, hex, rc));
    hex_encode(want, k->info->key_digest, sizeof k->info->key_digest);
    if (strcmp(hex, want) != 0)
        return cuzk_bad_input("key digest", want, "%s", hex);
    CUZK_TRY(r1cs_digest(k->shape, d, 0, NULL, NULL, rc));
    if (memcmp(d, k->info->circuit_digest, sizeof d) != 0)
        return cuzk_bad_input("circuit digest", "that of the circuit", "another");
    return cuzk_ok();
}

static cuzk_status check_alloc(checker *k)
{
    uint64_t longest = k->m > k->n_vars ? k->m : k->n_vars;
    k->sum_chunk = longest < SUM_CHUNK_MAX ? longest : SUM_CHUNK_MAX;
    k->y = mem_alloc((size_t)k->n_vars * sizeof *k->y, 64);
    k->boolean = g16_evkey_boolean_rows(k->shape);
    k->h_side = mem_alloc((size_t)k->m * sizeof *k->h_side, 64);
    k->rows = mem_alloc((size_t)k->m * sizeof *k->rows, 64);
    k->pts = mem_alloc((size_t)k->sum_chunk * sizeof *k->pts, 64);
    k->scalars = mem_alloc((size_t)k->sum_chunk * sizeof *k->scalars, 64);
    k->visit_st = mem_alloc(k->n_threads * sizeof *k->visit_st, 64);
    return k->y && k->boolean && k->h_side && k->rows && k->pts && k->scalars && k->visit_st
               ? cuzk_ok()
               : cuzk_fail(CUZK_E_NOMEM, "check of an evaluation-form key for domain 2^%u",
                           k->info->lg_m);
}

static cuzk_status check_build(checker *k, const run_ctx *rc)
{
    CUZK_TRY(g16_key_match(k->key, k->shape));
    CUZK_TRY(g16_evkey_match(k->e, k->key, k->shape));
    k->total = k->m + k->n_vars + k->c->n_aux + k->m - 1;
    span_id s = span_begin(rc->spans, rc->parent, SPAN_DIGEST);
    run_ctx under = run_ctx_under(rc, s);
    cuzk_status st = check_digests(k, &under);
    span_end(rc->spans, s);
    CUZK_TRY(st);
    CUZK_TRY(check_alloc(k));
    return check_equation(k, rc);
}

cuzk_status g16_evkey_check(const g16_evkey *e, const g16_key *key, const r1cs_shape *s,
                            const run_ctx *rc)
{
    const r1cs_counts *c = r1cs_shape_counts(s);
    checker k = {.e = e,
                 .key = key,
                 .shape = s,
                 .c = c,
                 .info = g16_evkey_get_info(e),
                 .m = (uint64_t)1 << c->lg_m,
                 .n_vars = c->n_inputs + c->n_aux,
                 .n_threads = pool_threads(rc->pool)};
    span_id span = span_begin(rc->spans, rc->parent, SPAN_KEY_CHECK);
    run_ctx under = run_ctx_under(rc, span);
    cuzk_status st = check_build(&k, &under);
    mem_free(k.y);
    mem_free(k.boolean);
    mem_free(k.h_side);
    mem_free(k.rows);
    mem_free(k.pts);
    mem_free(k.scalars);
    mem_free(k.visit_st);
    span_end(rc->spans, span);
    return st;
}
