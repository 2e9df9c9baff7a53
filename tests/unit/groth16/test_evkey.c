/* Evaluation-form keys: against the closed form at tau, and the same proofs. */
#include "evkey_fixture.h"

/* ---- the closed form ---- */

/* z / (-2 delta) (L_j(t) - (t w^-j)^(m-1) / m) for all j, t = tau / shift: the whole sum
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
    fr_from_u64(&f, 2);
    fr_neg(&f, &f);
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
    fr g_inv;
    fr_root_of_unity(&g_inv, c->lg_m + 1);
    fr_inv(&g_inv, &g_inv);
    fr *h1 = closed_form(b, &g_inv, c->lg_m), *h2 = closed_form(b, &FR_ONE, c->lg_m);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_have_the_closed_form),
        cmocka_unit_test(test_bytes_do_not_depend_on_threads_or_instruction_set),
        cmocka_unit_test(test_proofs_have_the_plain_keys_bytes),
        cmocka_unit_test(test_broken_witness_makes_no_valid_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
