/* Evaluation-form keys: against the closed form at tau, same proofs, refusals, faults. */
#include "g16_test.h"

#include <unistd.h>

#include "groth16/cpu_int.h"
#include "groth16/evkey_int.h"
#include "groth16/evkey_out.h"
#include "hash/blake2.h"
#include "poly/ntt.h"
#include "r1cs/cs.h"
#include "r1cs/eval.h"

static const run_ctx no_ctx = {0};

/* ---- circuits with all kinds of C terms ---- */

typedef struct rich_params {
    uint64_t seed;
    size_t n_rows, n_inputs;
} rich_params;

#define VARS_MAX 2000u

typedef struct rich {
    cs *c;
    uint64_t rnd, values;
    size_t n;
    r1cs_var var[VARS_MAX];
    fr val[VARS_MAX];
} rich;

static void known(rich *x, r1cs_var v, const fr *val)
{
    assert_true(x->n < VARS_MAX);
    x->var[x->n] = v;
    x->val[x->n++] = *val;
}

/* 1, -1, a power of two, anything. */
static void pick_coeff(rich *x, fr *k)
{
    uint64_t how = next_u64(&x->rnd);
    *k = FR_ONE;
    if (how % 4 == 1)
        fr_neg(k, k);
    for (uint64_t i = 0; how % 4 == 2 && i < 1 + (how >> 8) % 250; i++)
        fr_dbl(k, k);
    if (how % 4 == 3)
        next_fr(k, &x->rnd);
}

/* n random terms on one side; their value is added to *sum. */
static void put_terms(rich *x, cs_side side, size_t n, fr *sum)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = next_u64(&x->rnd) % x->n;
        fr k, t;
        pick_coeff(x, &k);
        cs_term(x->c, side, &k, x->var[at]);
        fr_mul(&t, &k, &x->val[at]);
        fr_add(sum, sum, &t);
    }
}

/* A new variable makes the row hold. */
static void put_row(rich *x)
{
    fr a = FR_ZERO, b = FR_ZERO, c = FR_ZERO, k, v;
    put_terms(x, CS_A, 2, &a);
    put_terms(x, CS_B, 2, &b);
    put_terms(x, CS_C, next_u64(&x->rnd) % 5, &c);
    pick_coeff(x, &k);
    fr_mul(&v, &a, &b);
    fr_sub(&v, &v, &c);
    fr_inv(&c, &k);
    fr_mul(&v, &v, &c);
    r1cs_var var = cs_alloc_num(x->c, &v);
    cs_term(x->c, CS_C, &k, var);
    cs_end_row(x->c);
    known(x, var, &v);
}

/* Bits, their rows, and one row that packs them on both sides. */
static void put_bits(rich *x, size_t n)
{
    r1cs_var bits[32];
    fr k = FR_ONE, v;
    assert_true(n <= ARRAY_LEN(bits));
    for (size_t i = 0; i < n; i++) {
        bool bit = next_u64(&x->values) & 1;
        bits[i] = cs_alloc_bit(x->c, bit);
        cs_term_one(x->c, CS_A, bits[i]);
        cs_term_one(x->c, CS_B, R1CS_ONE);
        cs_term_minus(x->c, CS_B, bits[i]);
        cs_end_row(x->c);
        fr_from_u64(&v, bit);
        known(x, bits[i], &v);
    }
    for (size_t i = 0; i < n; i++, fr_dbl(&k, &k)) {
        cs_term(x->c, CS_A, &k, bits[i]);
        cs_term(x->c, CS_C, &k, bits[i]);
    }
    cs_term_one(x->c, CS_B, R1CS_ONE);
    cs_end_row(x->c);
}

static void rich_synthesize(cs *c, const rich_params *p, uint64_t value_seed)
{
    rich *x = calloc(1, sizeof *x);
    assert_non_null(x);
    *x = (rich){.c = c, .rnd = p->seed, .values = value_seed};
    known(x, R1CS_ONE, &FR_ONE);
    for (size_t i = 0; i < p->n_inputs; i++) {
        fr v;
        next_fr(&v, &x->values);
        known(x, cs_alloc_input(c, &v), &v);
    }
    for (size_t i = 0; i < p->n_rows; i++)
        if (i % 40 == 3)
            put_bits(x, 1 + next_u64(&x->rnd) % 30);
        else
            put_row(x);
    free(x);
}

typedef struct circuit {
    r1cs_shape *shape;
    witness w[2];
    g16_toxic toxic;
    char dir[32], params[64], evkey[64];
    g16_key *key;
} circuit;

static void open_circuit(circuit *b)
{
    snprintf(b->dir, sizeof b->dir, "/tmp/evkey-XXXXXX");
    assert_non_null(mkdtemp(b->dir));
    snprintf(b->params, sizeof b->params, "%s/k.params", b->dir);
    g16_evkey_path(b->evkey, sizeof b->evkey, b->params);
    assert_ok(g16_setup(b->shape, &b->toxic, b->params, &no_ctx));
    assert_ok(g16_key_open(&b->key, b->params));
}

static void load_rich(circuit *b, const rich_params *p)
{
    *b = (circuit){0};
    cs c;
    print_message("seed %llu, %zu rows, %zu inputs\n", (unsigned long long)p->seed, p->n_rows,
                  p->n_inputs);
    assert_ok(cs_init_shape(&c, "rich"));
    rich_synthesize(&c, p, 0);
    assert_ok(cs_finish_shape(&c, &b->shape));
    cs_fini(&c);
    for (uint64_t i = 0; i < 2; i++) {
        assert_ok(witness_init(&b->w[i], b->shape));
        cs_init_witness(&c, b->shape, &b->w[i], CS_WITNESS_SLOW);
        rich_synthesize(&c, p, p->seed + 1 + i);
        assert_ok(cs_finish_witness(&c));
        cs_fini(&c);
        assert_ok(r1cs_satisfied(b->shape, &b->w[i], NULL, &no_ctx));
    }
    assert_ok(g16_toxic_random(&b->toxic));
    open_circuit(b);
}

static void load_tiny(circuit *b)
{
    *b = (circuit){0};
    g16_tiny_toxic(&b->toxic);
    assert_ok(g16_tiny_shape(&b->shape));
    for (int i = 0; i < 2; i++)
        assert_ok(g16_tiny_witness(&b->w[i], b->shape));
    open_circuit(b);
}

static void free_circuit(circuit *b)
{
    g16_key_close(b->key);
    unlink(b->params);
    unlink(b->evkey);
    assert_int_equal(rmdir(b->dir), 0); /* no temporary file is left */
    witness_fini(&b->w[0]);
    witness_fini(&b->w[1]);
    r1cs_shape_destroy(b->shape);
}

static void make(const circuit *b)
{
    assert_ok(g16_evkey_make(b->evkey, b->key, b->shape, &no_ctx));
}

static uint8_t *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *len = (size_t)ftell(f);
    rewind(f);
    uint8_t *p = malloc(*len + 1);
    assert_non_null(p);
    assert_int_equal(fread(p, 1, *len, f), *len);
    fclose(f);
    return p;
}

static void write_file(const char *path, const uint8_t *p, size_t len)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

/* Domains of 4 points to 2^10; one with more inputs than rows. */
static const rich_params sizes[] = {{1, 1, 0}, {2, 4, 2}, {3, 5, 40}, {4, 120, 3}, {5, 500, 7}};

/* ---- the closed form ---- */

/* z / (delta (g^m - 1)) (L_j(t) - (t w^-j)^(m-1) / m) for all j, t = tau / shift: the whole sum
 * over i < m would be the Lagrange basis at t, and H_{m-1} is not in it. */
static fr *closed_form(const circuit *b, const fr *shift_inv, uint32_t lg_m)
{
    uint64_t m = (uint64_t)1 << lg_m;
    fr *h = calloc(m, sizeof *h), t, z, f, w_inv, q, m_inv;
    assert_non_null(h);
    fr_mul(&t, &b->toxic.tau, shift_inv);
    assert_ok(ntt_lagrange_at(h, &t, lg_m, &no_ctx));
    fr_pow_u64(&z, &b->toxic.tau, m);
    fr_sub(&z, &z, &FR_ONE);
    fr_pow_u64(&f, &FR_GENERATOR, m);
    fr_sub(&f, &f, &FR_ONE);
    fr_mul(&f, &f, &b->toxic.delta);
    fr_inv(&f, &f);
    fr_mul(&f, &f, &z);
    fr_from_u64(&m_inv, m);
    fr_inv(&m_inv, &m_inv);
    fr_root_of_unity(&w_inv, lg_m);
    fr_inv(&w_inv, &w_inv);
    for (uint64_t j = 0; j < m; j++) {
        fr_pow_u64(&q, &t, m - 1);
        fr_mul(&q, &q, &m_inv);
        fr_sub(&h[j], &h[j], &q);
        fr_mul(&h[j], &h[j], &f);
        fr_mul(&t, &t, &w_inv);
    }
    return h;
}

static void times_generator(g1_jac *o, const fr *k)
{
    fr_int e;
    fr_to_int(&e, k);
    g1_jac_from_aff(o, &G1_GENERATOR);
    g1_mul(o, o, &e);
}

typedef struct column_sums {
    const fr *h, *coeffs;
    fr *cols;
    uint64_t n_inputs;
} column_sums;

static void add_row(void *ctx, uint64_t row, const r1cs_row *r)
{
    const column_sums *x = ctx;
    for (uint32_t i = 0; i < r->n[2]; i++) {
        r1cs_var v = r->t[2][i].var;
        fr t;
        fr_mul(&t, &x->coeffs[r->t[2][i].coeff], &x->h[row]);
        fr *to = &x->cols[v & R1CS_INPUT ? v & ~R1CS_INPUT : x->n_inputs + v];
        fr_add(to, to, &t);
    }
}

static void check_points(const circuit *b, const g16_evkey *e)
{
    const r1cs_counts *c = r1cs_shape_counts(b->shape);
    uint64_t m = (uint64_t)1 << c->lg_m, n = c->n_inputs + c->n_aux;
    g1_aff *p = malloc((m + n) * sizeof *p), *l = malloc(c->n_aux * sizeof *l);
    fr *h1 = closed_form(b, &FR_GENERATOR_INV, c->lg_m), *h2 = closed_form(b, &FR_ONE, c->lg_m);
    fr *cols = calloc(n, sizeof *cols);
    assert_true(p && l && cols);
    assert_ok(g16_evkey_points(e, G16_EV_H, 0, m, true, p, &no_ctx));
    g1_jac want, got;
    for (uint64_t j = 0; j < m; j++) {
        times_generator(&want, &h1[j]);
        g1_jac_from_aff(&got, &p[j]);
        if (!g1_jac_eq(&want, &got))
            fail_msg("h[%llu] differs", (unsigned long long)j);
    }
    size_t n_coeffs;
    column_sums x = {h2, r1cs_shape_coeffs(b->shape, &n_coeffs), cols, c->n_inputs};
    assert_ok(r1cs_shape_visit(b->shape, 0, c->n_rows, true, add_row, &x));
    assert_ok(g16_evkey_points(e, G16_EV_L_INPUTS, 0, c->n_inputs, true, p, &no_ctx));
    assert_ok(g16_evkey_points(e, G16_EV_L_AUX, 0, c->n_aux, true, p + c->n_inputs, &no_ctx));
    assert_ok(g16_key_g1(b->key, G16_L, 0, c->n_aux, true, l, &no_ctx));
    for (uint64_t v = 0; v < n; v++) {
        fr_neg(&cols[v], &cols[v]);
        times_generator(&want, &cols[v]);
        if (v >= c->n_inputs)
            g1_jac_add_aff(&want, &want, &l[v - c->n_inputs]);
        g1_jac_from_aff(&got, &p[v]);
        if (!g1_jac_eq(&want, &got))
            fail_msg("l of variable %llu differs", (unsigned long long)v);
    }
    free(p);
    free(l);
    free(h1);
    free(h2);
    free(cols);
}

static void test_points_have_the_closed_form(void **state)
{
    (void)state;
    for (size_t i = 0; i <= ARRAY_LEN(sizes); i++) {
        circuit b;
        g16_evkey *e;
        if (i == 0)
            load_tiny(&b);
        else
            load_rich(&b, &sizes[i - 1]);
        make(&b);
        assert_ok(g16_evkey_open(&e, b.evkey));
        check_points(&b, e);
        g16_evkey_close(e);
        free_circuit(&b);
    }
}

static void test_bytes_do_not_depend_on_threads_or_instruction_set(void **state)
{
    (void)state;
    circuit b;
    pool *threads;
    load_rich(&b, &sizes[3]);
    make(&b);
    size_t len, len2;
    uint8_t *want = read_file(b.evkey, &len);
    assert_ok(pool_create(&threads, 3));
    for (int i = 0; i < 2; i++) {
        assert_true(ff_force_isa(i ? NULL : "portable"));
        assert_ok(g16_evkey_make(b.evkey, b.key, b.shape, &(run_ctx){.pool = threads}));
        uint8_t *got = read_file(b.evkey, &len2);
        assert_int_equal(len, len2);
        assert_int_equal(len, g16_evkey_bytes(b.shape));
        assert_memory_equal(want, got, len);
        free(got);
    }
    pool_destroy(threads);
    free(want);
    free_circuit(&b);
}

/* ---- proofs ---- */

static void prove_both(const circuit *b, g16_backend *cpu, const g16_blinding rs[3],
                       uint8_t out[3][G16_PROOF_BYTES], bool *has_evkey)
{
    const witness *w[3] = {&b->w[0], &b->w[1], &b->w[0]};
    g16_proof p[3];
    void *handle;
    pool *threads;
    assert_ok(pool_create(&threads, 3));
    run_ctx rc = {.pool = threads};
    assert_ok(cpu->ops->load(cpu, b->shape, b->key, &rc, &handle));
    *has_evkey = ((const cpu_handle *)handle)->ev;
    assert_ok(g16_prove(cpu, handle, w, rs, 3, p, NULL, &rc));
    cpu->ops->unload(cpu, handle);
    pool_destroy(threads);
    for (size_t k = 0; k < 3; k++)
        g16_proof_encode(out[k], &p[k]);
}

static void test_proofs_have_the_plain_keys_bytes(void **state)
{
    (void)state;
    g16_backend *cpu;
    assert_ok(g16_cpu_create(&cpu));
    for (size_t i = 0; i <= ARRAY_LEN(sizes); i++) {
        circuit b;
        bool before, after;
        g16_blinding rs[3];
        uint8_t want[3][G16_PROOF_BYTES], got[3][G16_PROOF_BYTES];
        if (i == 0)
            load_tiny(&b);
        else
            load_rich(&b, &sizes[i - 1]);
        for (size_t k = 0; k < 3; k++)
            assert_ok(g16_blinding_random(&rs[k]));
        g16_tiny_blinding(&rs[2]);
        prove_both(&b, cpu, rs, want, &before);
        make(&b);
        prove_both(&b, cpu, rs, got, &after);
        assert_true(!before && after);
        assert_memory_equal(want, got, sizeof want);
        if (i == 0)
            assert_memory_equal(got[2], g16_tiny_proof, sizeof got[2]);
        free_circuit(&b);
    }
    cpu->ops->destroy(cpu);
}

static void test_broken_witness_makes_no_valid_proof(void **state)
{
    (void)state;
    circuit b;
    g16_backend *cpu;
    void *handle;
    g16_pvk *pvk;
    g16_proof p;
    g16_blinding rs;
    load_rich(&b, &sizes[3]);
    make(&b);
    assert_ok(g16_blinding_random(&rs));
    assert_ok(g16_pvk_create(&pvk, g16_key_vk(b.key)));
    assert_ok(g16_cpu_create(&cpu));
    assert_ok(cpu->ops->load(cpu, b.shape, b.key, &no_ctx, &handle));
    for (int broken = 0; broken < 2; broken++) {
        const witness *w = &b.w[0];
        if (broken)
            fr_add(&b.w[0].dense[5], &b.w[0].dense[5], &FR_ONE);
        assert_ok(g16_prove(cpu, handle, &w, &rs, 1, &p, NULL, &no_ctx));
        assert_int_equal(g16_verify(pvk, w->inputs + 1, sizes[3].n_inputs, &p).code,
                         broken ? CUZK_E_VERIFY : CUZK_OK);
    }
    cpu->ops->unload(cpu, handle);
    cpu->ops->destroy(cpu);
    g16_pvk_destroy(pvk);
    free_circuit(&b);
}

/* ---- checking ---- */

/* Digests as a writer of these bytes would have put them. */
static void renew_digests(uint8_t *p, size_t len)
{
    blake2 *h;
    blake2b_512(p + 192, p, 192);
    assert_ok(blake2_create(&h, BLAKE2B_512, NULL, 0));
    blake2_update(h, p, len - 64);
    assert_ok(blake2_final(h, p + len - 64));
    blake2_destroy(h);
}

static cuzk_status check_bytes(const circuit *b, const uint8_t *p, size_t len)
{
    g16_evkey *e;
    CUZK_TRY(g16_evkey_from_memory(&e, p, len));
    cuzk_status st = g16_evkey_check(e, b->key, b->shape, &no_ctx);
    g16_evkey_close(e);
    return st;
}

static void test_check_finds_every_wrong_point(void **state)
{
    (void)state;
    circuit b;
    size_t len;
    load_tiny(&b);
    make(&b);
    uint8_t *good = read_file(b.evkey, &len), *bad = malloc(len), other[96];
    assert_non_null(bad);
    g1_encode_uncompressed(other, &G1_GENERATOR);
    assert_ok(check_bytes(&b, good, len));
    for (size_t at = 256; at < len - 64; at += 96) {
        memcpy(bad, good, len);
        memcpy(bad + at, other, 96);
        renew_digests(bad, len);
        assert_refused(check_bytes(&b, bad, len), CUZK_E_VERIFY, "transform");
    }
    /* two points of a section change places */
    memcpy(bad, good, len);
    memcpy(bad + 256, good + 352, 96);
    memcpy(bad + 352, good + 256, 96);
    renew_digests(bad, len);
    assert_refused(check_bytes(&b, bad, len), CUZK_E_VERIFY, "transform");
    free(good);
    free(bad);
    free_circuit(&b);
}

/* (0, 2) is on the curve and has order 3: errors of such points can cancel by chance. */
static void test_check_wants_points_of_the_subgroup(void **state)
{
    (void)state;
    circuit b;
    size_t len;
    load_tiny(&b);
    make(&b);
    uint8_t *p = read_file(b.evkey, &len);
    memset(p + 256, 0, 96);
    p[256 + 95] = 2;
    renew_digests(p, len);
    assert_refused(check_bytes(&b, p, len), CUZK_E_INPUT, "section h[0]");
    free(p);
    free_circuit(&b);
}

static void test_check_compares_digests(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        bool renew;
        const char *want;
    } cases[] = {{300, false, "digest: expected that of the file"},
                 {40, true, "key digest"},
                 {56, true, "verifying key"},
                 {88, true, "circuit digest"},
                 {120, true, "circuit: expected"},
                 {23, true, "rows"},
                 {31, true, "terms of C"}};
    circuit b;
    size_t len;
    load_tiny(&b);
    make(&b);
    uint8_t *p = read_file(b.evkey, &len);
    assert_ok(check_bytes(&b, p, len));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        p[cases[i].at] ^= 1;
        if (cases[i].renew)
            renew_digests(p, len);
        assert_refused(check_bytes(&b, p, len), CUZK_E_INPUT, cases[i].want);
        p[cases[i].at] ^= 1;
        renew_digests(p, len);
    }
    free(p);
    free_circuit(&b);
}

/* ---- malformed files ---- */

static void test_head_is_checked(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t xor_with;
        bool renew;
        const char *want;
    } cases[] = {{0, 1, true, "magic"},      {11, 3, true, "version"}, {12, 0x80, true, "lg_m"},
                 {184, 1, true, "byte 184"}, {100, 1, false, "head"},  {192, 1, false, "head"},
                 {15, 1, true, "length"},    {35, 1, true, "length"},  {36, 0x80, true, "length"},
                 {39, 1, true, "length"}};
    circuit b;
    size_t len;
    g16_evkey *e;
    load_tiny(&b);
    make(&b);
    uint8_t *p = read_file(b.evkey, &len);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        p[cases[i].at] ^= cases[i].xor_with;
        if (cases[i].renew)
            renew_digests(p, len);
        assert_refused(g16_evkey_from_memory(&e, p, len), CUZK_E_INPUT, cases[i].want);
        assert_null(e);
        p[cases[i].at] ^= cases[i].xor_with;
        renew_digests(p, len);
    }
    memset(p + 120, 'a', 64);
    renew_digests(p, len);
    assert_refused(g16_evkey_from_memory(&e, p, len), CUZK_E_INPUT, "circuit name");
    free(p);
    free_circuit(&b);
}

static void test_every_cut_is_refused(void **state)
{
    (void)state;
    circuit b;
    size_t len;
    g16_evkey *e;
    load_tiny(&b);
    make(&b);
    uint8_t *p = read_file(b.evkey, &len);
    for (size_t n = 0; n < len; n++) {
        uint8_t *cut = malloc(n + 1); /* its own block, so that a sanitizer sees reads past it */
        assert_non_null(cut);
        memcpy(cut, p, n);
        assert_refused(g16_evkey_from_memory(&e, cut, n), CUZK_E_INPUT, NULL);
        free(cut);
    }
    assert_ok(g16_evkey_from_memory(&e, p, len));
    g1_aff pts[16];
    assert_int_equal(g16_evkey_points(e, G16_EV_H, 1, 8, false, pts, &no_ctx).code, CUZK_E_RANGE);
    assert_int_equal(g16_evkey_points(e, G16_EV_H, 9, 0, false, pts, &no_ctx).code, CUZK_E_RANGE);
    g16_evkey_close(e);
    /* infinity: in the inputs' section only */
    memset(p + 256, 0, 96);
    p[256] = 0x40;
    memcpy(p + 256 + 8 * 96, p + 256, 96);
    assert_ok(g16_evkey_from_memory(&e, p, len));
    assert_refused(g16_evkey_points(e, G16_EV_H, 0, 8, false, pts, &no_ctx), CUZK_E_INPUT,
                   "section h[0]");
    assert_ok(g16_evkey_points(e, G16_EV_L_INPUTS, 0, 1, true, pts, &no_ctx));
    assert_true(g1_aff_is_inf(&pts[0]));
    g16_evkey_close(e);
    free(p);
    free_circuit(&b);
}

static void test_file_of_another_key_is_refused(void **state)
{
    (void)state;
    circuit a, b;
    g16_backend *cpu;
    void *handle;
    size_t len;
    load_rich(&a, &sizes[1]);
    load_rich(&b, &sizes[1]);
    make(&a);
    uint8_t *p = read_file(a.evkey, &len);
    write_file(b.evkey, p, len);
    assert_ok(g16_cpu_create(&cpu));
    assert_refused(cpu->ops->load(cpu, b.shape, b.key, &no_ctx, &handle), CUZK_E_INPUT,
                   "verifying key");
    write_file(b.evkey, p, len - 1);
    assert_refused(cpu->ops->load(cpu, b.shape, b.key, &no_ctx, &handle), CUZK_E_INPUT, "length");
    assert_null(handle);
    unlink(b.evkey);
    assert_ok(cpu->ops->load(cpu, b.shape, b.key, &no_ctx, &handle));
    cpu->ops->unload(cpu, handle);
    cpu->ops->destroy(cpu);
    free(p);
    free_circuit(&a);
    free_circuit(&b);
}

static void test_key_of_another_circuit_is_refused(void **state)
{
    (void)state;
    circuit a, b;
    load_rich(&a, &sizes[1]);
    load_tiny(&b);
    assert_refused(g16_evkey_make(a.evkey, a.key, b.shape, &no_ctx), CUZK_E_INPUT, "ic");
    free_circuit(&a);
    free_circuit(&b);
}

/* H_{m-2} chosen so that H'_0 = 0. */
static void test_points_that_vanish_are_refused(void **state)
{
    (void)state;
    circuit b;
    size_t len;
    load_tiny(&b);
    uint8_t *p = read_file(b.params, &len);
    uint64_t at = g16_key_get_info(b.key)->offset[G16_H];
    g1_aff h[7];
    g1_jac sum = {0}, t;
    fr k = FR_ONE;
    fr_int e;
    assert_ok(g16_key_g1(b.key, G16_H, 0, 7, true, h, &no_ctx));
    for (size_t i = 0; i < 6; i++) {
        fr_pow_u64(&k, &FR_GENERATOR, 6 - i); /* g^6 g^-i */
        fr_to_int(&e, &k);
        g1_jac_from_aff(&t, &h[i]);
        g1_mul(&t, &t, &e);
        g1_jac_add(&sum, &sum, &t);
    }
    g1_jac_neg(&sum, &sum);
    g1_jac_to_aff(&h[6], &sum);
    g1_encode_uncompressed(p + at + 6 * 96, &h[6]);
    g16_key *key;
    assert_ok(g16_key_from_memory(&key, p, len));
    assert_refused(g16_evkey_make(b.evkey, key, b.shape, &no_ctx), CUZK_E_INPUT, "infinity");
    g16_key_close(key);
    free(p);
    free_circuit(&b); /* and no file is left */
}

static void test_writer_wants_all_points_and_no_more(void **state)
{
    (void)state;
    static const struct {
        uint64_t n;
        bool too_many;
    } cases[] = {{14, true}, {13, false}, {12, false}};
    circuit b;
    g16_evkey_out o;
    size_t len, len2;
    load_tiny(&b); /* 8 + 2 + 3 points */
    make(&b);
    uint8_t *p = read_file(b.evkey, &len);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        unlink(b.evkey);
        assert_ok(g16_evkey_out_create(&o, b.evkey, b.key, b.shape, &no_ctx));
        cuzk_status st = g16_evkey_out_write(&o, p + 256, cases[i].n);
        if (cases[i].too_many) {
            assert_int_equal(st.code, CUZK_E_INTERNAL);
            g16_evkey_out_abandon(&o);
        } else {
            assert_ok(st);
            st = g16_evkey_out_commit(&o);
            assert_int_equal(st.code, cases[i].n == 13 ? CUZK_OK : CUZK_E_INTERNAL);
        }
        assert_int_equal(access(b.evkey, F_OK), cases[i].n == 13 ? 0 : -1);
        if (cases[i].n == 13) {
            uint8_t *again = read_file(b.evkey, &len2);
            assert_int_equal(len, len2);
            assert_memory_equal(p, again, len);
            free(again);
        }
    }
    free(p);
    free_circuit(&b);
}

/* ---- faults ---- */

static bool countdown(void *ctx)
{
    unsigned *left = ctx;
    return *left == 0 || --*left == 0;
}

static void test_cancel_at_every_poll(void **state)
{
    (void)state;
    circuit b;
    load_rich(&b, &sizes[1]);
    for (int what = 0; what < 2; what++) {
        g16_evkey *e = NULL;
        unsigned polls = 1;
        if (what == 1)
            assert_ok(g16_evkey_open(&e, b.evkey));
        for (;; polls++) {
            unsigned left = polls;
            run_ctx rc = {.cancelled = countdown, .cancel_ctx = &left};
            cuzk_status st = what == 0 ? g16_evkey_make(b.evkey, b.key, b.shape, &rc)
                                       : g16_evkey_check(e, b.key, b.shape, &rc);
            if (st.code == CUZK_OK)
                break;
            assert_int_equal(st.code, CUZK_E_CANCELLED);
            assert_true(what == 1 || access(b.evkey, F_OK) != 0);
        }
        assert_true(polls > 15);
        g16_evkey_close(e);
    }
    free_circuit(&b);
}

static void test_failing_allocations_leave_nothing(void **state)
{
    (void)state;
    circuit b;
    load_rich(&b, &sizes[1]);
    uint64_t live = mem_get_stats().live_bytes;
    for (int what = 0; what < 3; what++) {
        g16_evkey *e = NULL;
        uint64_t n = 1;
        if (what == 1)
            assert_ok(g16_evkey_open(&e, b.evkey));
        for (;; n++) {
            mem_fail_nth(n);
            cuzk_status st = what == 0   ? g16_evkey_make(b.evkey, b.key, b.shape, &no_ctx)
                             : what == 1 ? g16_evkey_check(e, b.key, b.shape, &no_ctx)
                                         : g16_evkey_open(&e, b.evkey);
            mem_fail_nth(0);
            if (st.code == CUZK_OK)
                break;
            assert_int_equal(st.code, CUZK_E_NOMEM);
        }
        assert_true(n > (what == 2 ? 1 : 10));
        g16_evkey_close(e);
        assert_int_equal(mem_get_stats().live_bytes, live);
    }
    free_circuit(&b);
}

static void test_paths(void **state)
{
    (void)state;
    char p[32];
    g16_evkey_path(p, sizeof p, "/a/b.params");
    assert_string_equal(p, "/a/b.evkey");
    g16_evkey_path(p, sizeof p, "b.par");
    assert_string_equal(p, "b.par.evkey");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_have_the_closed_form),
        cmocka_unit_test(test_bytes_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(test_proofs_have_the_plain_keys_bytes),
        cmocka_unit_test(test_broken_witness_makes_no_valid_proof),
        cmocka_unit_test(test_check_finds_every_wrong_point),
        cmocka_unit_test(test_check_wants_points_of_the_subgroup),
        cmocka_unit_test(test_check_compares_digests),
        cmocka_unit_test(test_head_is_checked),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_file_of_another_key_is_refused),
        cmocka_unit_test(test_key_of_another_circuit_is_refused),
        cmocka_unit_test(test_points_that_vanish_are_refused),
        cmocka_unit_test(test_writer_wants_all_points_and_no_more),
        cmocka_unit_test(test_cancel_at_every_poll),
        cmocka_unit_test(test_failing_allocations_leave_nothing),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
