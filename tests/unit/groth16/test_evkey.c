/* Evaluation-form keys: against their definition with a known tau, the zeros among their scalars, and
 * the same proofs. */
#include "evkey_fixture.h"

/* ---- the definition ---- */

/* o_j = sum_i w^(+-ij) a_i, j < 2^lg. */
static void sum_powers(fr *o, const fr *a, uint32_t lg, bool inverse_root)
{
    uint64_t m = (uint64_t)1 << lg;
    fr *pow = calloc(m, sizeof *pow), w, t;
    assert_non_null(pow);
    fr_root_of_unity(&w, lg);
    if (inverse_root)
        fr_inv(&w, &w);
    pow[0] = FR_ONE;
    for (uint64_t i = 1; i < m; i++)
        fr_mul(&pow[i], &pow[i - 1], &w);
    for (uint64_t j = 0; j < m; j++) {
        o[j] = FR_ZERO;
        for (uint64_t i = 0; i < m; i++) {
            fr_mul(&t, &a[i], &pow[i * j % m]);
            fr_add(&o[j], &o[j], &t);
        }
    }
    free(pow);
}

/* a_i <- i k a_i. */
static void times_index(fr *a, uint64_t m, const fr *k)
{
    for (uint64_t i = 0; i < m; i++) {
        fr t;
        fr_from_u64(&t, i);
        fr_mul(&a[i], &a[i], k);
        fr_mul(&a[i], &a[i], &t);
    }
}

/* Everything as multiples of the generator. */
typedef struct definition {
    fr *h, *d, *g; /* H', D, G */
    fr *u;
    fr m_inv;
} definition;

static void define_d(definition *o, uint32_t lg_m)
{
    uint64_t m = (uint64_t)1 << lg_m;
    fr *t = calloc(2 * m, sizeof *t), *theta_u = t + m, m_inv2;
    assert_non_null(t);
    fr_sqr(&m_inv2, &o->m_inv);
    sum_powers(t, o->u, lg_m, true);
    times_index(t, m, &o->m_inv);
    sum_powers(theta_u, t, lg_m, false);
    for (uint64_t j = 0; j < m; j++)
        fr_mul(&o->d[j], &o->u[j], &o->h[j]);
    sum_powers(t, o->d, lg_m, false);
    times_index(t, m, &o->m_inv);
    sum_powers(o->d, t, lg_m, true);
    for (uint64_t j = 0; j < m; j++) {
        fr_mul(&theta_u[j], &theta_u[j], &o->h[j]);
        fr_add(&o->d[j], &o->d[j], &theta_u[j]);
        fr_mul(&o->d[j], &o->d[j], &m_inv2);
    }
    free(t);
}

/* H_i = tau^i z / delta for i < m - 1. */
static void define(definition *o, const circuit *b)
{
    uint32_t lg_m = r1cs_shape_counts(b->shape)->lg_m;
    uint64_t m = (uint64_t)1 << lg_m;
    fr *h = calloc(4 * m, sizeof *h), *in = calloc(m, sizeof *in), z, m_inv2;
    uint64_t *bits = g16_evkey_boolean_rows(b->shape);
    assert_true(h && in && bits);
    *o = (definition){.h = h, .d = h + m, .g = h + 2 * m, .u = h + 3 * m};
    for (uint64_t j = 0; j < m; j++)
        o->u[j] = bits[j / 64] >> j % 64 & 1 ? FR_ONE : FR_ZERO;
    fr_from_u64(&o->m_inv, m);
    fr_inv(&o->m_inv, &o->m_inv);
    fr_pow_u64(&z, &b->toxic.tau, m);
    fr_sub(&z, &z, &FR_ONE);
    fr_inv(&in[0], &b->toxic.delta);
    fr_mul(&in[0], &in[0], &z);
    for (uint64_t i = 1; i < m; i++)
        fr_mul(&in[i], &in[i - 1], &b->toxic.tau);
    in[m - 1] = FR_ZERO;
    sum_powers(o->h, in, lg_m, true);
    fr_sqr(&m_inv2, &o->m_inv);
    times_index(in, m, &m_inv2);
    sum_powers(o->g, in, lg_m, true);
    define_d(o, lg_m);
    free(in);
    mem_free(bits);
}

static void times_generator(g1_jac *o, const fr *k)
{
    fr_int e;
    fr_to_int(&e, k);
    g1_jac_from_aff(o, &G1_GENERATOR);
    g1_mul(o, o, &e);
}

typedef struct column_sums {
    const definition *def;
    const fr *coeffs;
    fr *cols;
    uint64_t n_inputs;
} column_sums;

static void add_row(void *ctx, uint64_t row, const r1cs_row *r)
{
    const column_sums *x = ctx;
    for (int side = 1; side <= 2; side++)
        for (uint32_t i = 0; i < r->n[side]; i++) {
            r1cs_var v = r->t[side][i].var;
            fr *to = &x->cols[v & R1CS_INPUT ? v & ~R1CS_INPUT : x->n_inputs + v], t;
            fr_mul(&t, &x->coeffs[r->t[side][i].coeff],
                   side == 1 ? &x->def->d[row] : &x->def->g[row]);
            if (side == 2)
                fr_neg(&t, &t);
            fr_add(to, to, &t);
        }
}

static void check_points(const circuit *b, const g16_evkey *e)
{
    const r1cs_counts *c = r1cs_shape_counts(b->shape);
    uint64_t m = (uint64_t)1 << c->lg_m, n = c->n_inputs + c->n_aux;
    g1_aff *p = malloc((m + n) * sizeof *p), *l = malloc(c->n_aux * sizeof *l);
    fr *cols = calloc(n, sizeof *cols);
    definition def;
    define(&def, b);
    assert_true(p && l && cols);
    assert_ok(g16_evkey_points(e, G16_EV_H, 0, m, true, p, &no_ctx));
    g1_jac want, got;
    for (uint64_t j = 0; j < m; j++) {
        times_generator(&want, &def.h[j]);
        g1_jac_from_aff(&got, &p[j]);
        if (!g1_jac_eq(&want, &got))
            fail_msg("h[%llu] differs", (unsigned long long)j);
    }
    size_t n_coeffs;
    column_sums x = {&def, r1cs_shape_coeffs(b->shape, &n_coeffs), cols, c->n_inputs};
    assert_ok(r1cs_shape_visit(b->shape, 0, c->n_rows, true, add_row, &x));
    assert_ok(g16_evkey_points(e, G16_EV_L_INPUTS, 0, c->n_inputs, true, p, &no_ctx));
    assert_ok(g16_evkey_points(e, G16_EV_L_AUX, 0, c->n_aux, true, p + c->n_inputs, &no_ctx));
    assert_ok(g16_key_g1(b->key, G16_L, 0, c->n_aux, true, l, &no_ctx));
    for (uint64_t v = 0; v < n; v++) {
        times_generator(&want, &cols[v]);
        if (v >= c->n_inputs)
            g1_jac_add_aff(&want, &want, &l[v - c->n_inputs]);
        g1_jac_from_aff(&got, &p[v]);
        if (!g1_jac_eq(&want, &got))
            fail_msg("l of variable %llu differs", (unsigned long long)v);
    }
    free(p);
    free(l);
    free(def.h);
    free(cols);
}

static void test_points_are_as_defined(void **state)
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

/* Those of boolean rows with a bit that is 0, and of padding. */
static void test_scalars_of_zero_bits_are_zero(void **state)
{
    (void)state;
    circuit b;
    load_rich(&b, &sizes[4]);
    const r1cs_counts *c = r1cs_shape_counts(b.shape);
    uint64_t m = (uint64_t)1 << c->lg_m, n_boolean = 0, n_zero = 0;
    uint64_t *boolean = g16_evkey_boolean_rows(b.shape);
    fr *va = mem_alloc(2 * m * sizeof *va, 64), *vb = va + m;
    fr_int *s = mem_alloc(m * sizeof *s, 64), zero = {{0}};
    bool *expected = calloc(m, sizeof *expected);
    ntt_plan *plan;
    assert_true(va && s && boolean && expected);
    assert_ok(r1cs_eval(b.shape, &b.w[0], va, vb, NULL, m, &no_ctx));
    for (uint64_t j = 0; j < m; j++) {
        bool is_boolean = boolean[j / 64] >> j % 64 & 1;
        n_boolean += is_boolean;
        expected[j] = is_boolean ? fr_is_zero(&vb[j]) : j >= c->n_rows + c->n_inputs;
        if (is_boolean)
            fr_sub(&va[j], &va[j], &FR_ONE);
    }
    assert_ok(ntt_plan_create(&plan, c->lg_m, &no_ctx));
    assert_ok(ntt_derivative_product(plan, s, va, vb, c->lg_m, &no_ctx));
    for (uint64_t j = 0; j < m; j++) {
        bool is_zero = memcmp(&s[j], &zero, sizeof zero) == 0;
        n_zero += is_zero;
        if (expected[j] && !is_zero)
            fail_msg("scalar %llu is not zero", (unsigned long long)j);
    }
    print_message("%llu rows, %llu boolean, %llu zeros of %llu\n", (unsigned long long)c->n_rows,
                  (unsigned long long)n_boolean, (unsigned long long)n_zero, (unsigned long long)m);
    uint64_t n_padding = m - c->n_rows - c->n_inputs;
    assert_true(n_boolean > 100 && n_boolean < c->n_rows);
    assert_true(n_zero > n_padding + n_boolean / 3 && n_zero < n_padding + n_boolean);
    free(expected);
    ntt_plan_destroy(plan);
    mem_free(va);
    mem_free(s);
    mem_free(boolean);
    free_circuit(&b);
}

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

/* A bit of field type becomes 2. */
static void break_a_bit(witness *w)
{
    size_t i = 0;
    while (i < w->n_dense && !fr_is_zero(&w->dense[i]))
        i++;
    assert_true(i < w->n_dense);
    fr_from_u64(&w->dense[i], 2);
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
    for (int broken = 0; broken < 3; broken++) {
        const witness *w = &b.w[broken / 2];
        if (broken == 1)
            fr_add(&b.w[0].dense[5], &b.w[0].dense[5], &FR_ONE);
        if (broken == 2)
            break_a_bit(&b.w[1]);
        assert_int_equal(r1cs_satisfied(b.shape, w, NULL, &no_ctx).code,
                         broken ? CUZK_E_VERIFY : CUZK_OK);
        assert_ok(g16_prove(cpu, handle, &w, &rs, 1, &p, NULL, &no_ctx));
        assert_int_equal(g16_verify(pvk, w->inputs + 1, sizes[3].n_inputs, &p).code,
                         broken ? CUZK_E_VERIFY : CUZK_OK);
    }
    cpu->ops->unload(cpu, handle);
    cpu->ops->destroy(cpu);
    g16_pvk_destroy(pvk);
    free_circuit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_are_as_defined),
        cmocka_unit_test(test_bytes_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(test_scalars_of_zero_bits_are_zero),
        cmocka_unit_test(test_proofs_have_the_plain_keys_bytes),
        cmocka_unit_test(test_broken_witness_makes_no_valid_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
