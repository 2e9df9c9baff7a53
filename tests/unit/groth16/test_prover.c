/* The CPU prover against the reference's bytes, and on random circuits of bits and field
 * elements. */
#include "g16_test.h"

#include "groth16/cpu_int.h"
#include "r1cs/cs.h"
#include "r1cs/eval.h"

static const run_ctx no_ctx = {0};

/* A circuit with its key loaded into a CPU backend. */
typedef struct bench_circuit {
    r1cs_shape *shape;
    witness w[2];
    byte_sink key_bytes;
    g16_key *key;
    g16_pvk *pvk;
    g16_backend *cpu;
    void *handle;
} bench_circuit;

static void load_circuit(bench_circuit *b, const g16_toxic *t, const run_ctx *rc)
{
    assert_ok(setup_bytes(&b->key_bytes, b->shape, t, rc));
    assert_ok(g16_key_from_memory(&b->key, b->key_bytes.b, b->key_bytes.len));
    assert_ok(g16_pvk_create(&b->pvk, g16_key_vk(b->key)));
    assert_ok(g16_cpu_create(&b->cpu));
    assert_ok(b->cpu->ops->load(b->cpu, b->shape, b->key, rc, &b->handle));
}

static void free_circuit(bench_circuit *b)
{
    b->cpu->ops->unload(b->cpu, b->handle);
    b->cpu->ops->destroy(b->cpu);
    g16_pvk_destroy(b->pvk);
    g16_key_close(b->key);
    free(b->key_bytes.b);
    witness_fini(&b->w[0]);
    witness_fini(&b->w[1]);
    r1cs_shape_destroy(b->shape);
}

static void load_tiny(bench_circuit *b)
{
    *b = (bench_circuit){0};
    g16_toxic t;
    g16_tiny_toxic(&t);
    assert_ok(g16_tiny_shape(&b->shape));
    assert_ok(g16_tiny_witness(&b->w[0], b->shape));
    load_circuit(b, &t, &no_ctx);
}

static void prove_one(bench_circuit *b, const witness *w, const g16_blinding *rs,
                      uint8_t out[G16_PROOF_BYTES])
{
    g16_proof p;
    g16_timings t;
    assert_ok(g16_prove(b->cpu, b->handle, &w, rs, 1, &p, &t, &no_ctx));
    assert_true(t.total_ns >= t.eval_ns + t.quotient_ns + t.msm_h_ns + t.msm_l_ns + t.msm_a_ns +
                                  t.msm_b1_ns + t.msm_b2_ns + t.assemble_ns);
    g16_proof_encode(out, &p);
}

static void test_tiny_proof_has_the_reference_bytes(void **state)
{
    (void)state;
    bench_circuit b;
    load_tiny(&b);
    g16_blinding rs;
    g16_tiny_blinding(&rs);
    uint8_t got[G16_PROOF_BYTES], want[G16_PROOF_BYTES];
    char *text = golden_load("proofs.json.gz");
    const char *p = golden_key(text, NULL, "proof");
    golden_hex(&p, want, sizeof want);
    prove_one(&b, &b.w[0], &rs, got);
    assert_memory_equal(got, want, sizeof want);
    assert_memory_equal(g16_tiny_proof, want, sizeof want);
    free(text);
    free_circuit(&b);
}

/* With r = s = 0: A = alpha + a, B = beta + b_g2, C = h + l. */
static void test_sums_are_the_reference_ones(void **state)
{
    (void)state;
    bench_circuit b;
    load_tiny(&b);
    g16_blinding zero = {FR_ZERO, FR_ZERO};
    const witness *w = &b.w[0];
    g16_proof proof;
    assert_ok(g16_prove(b.cpu, b.handle, &w, &zero, 1, &proof, NULL, &no_ctx));
    assert_ok(g16_verify(b.pvk, w->inputs + 1, 1, &proof));
    char *text = golden_load("proofs.json.gz");
    const char *msm = golden_key(text, NULL, "msm");
    static const char *const names[] = {"a", "h", "l"};
    g1_aff sum[3];
    for (size_t i = 0; i < 3; i++) {
        uint8_t enc[48];
        const char *p = golden_key(msm, NULL, names[i]);
        golden_hex(&p, enc, sizeof enc);
        assert_ok(g1_decode_compressed(&sum[i], enc, (ec_decode_opts){.check_curve = true}));
    }
    const g16_vk *vk = g16_key_vk(b.key);
    g1_jac j;
    g1_aff got;
    g1_jac_from_aff(&j, &sum[0]);
    g1_jac_add_aff(&j, &j, &vk->alpha_g1);
    g1_jac_to_aff(&got, &j);
    assert_true(g1_aff_eq(&got, &proof.a));
    g1_jac_from_aff(&j, &sum[1]);
    g1_jac_add_aff(&j, &j, &sum[2]);
    g1_jac_to_aff(&got, &j);
    assert_true(g1_aff_eq(&got, &proof.c));
    uint8_t enc[96];
    g2_aff b2;
    g2_jac j2;
    const char *p = golden_key(msm, NULL, "b_g2");
    golden_hex(&p, enc, sizeof enc);
    assert_ok(g2_decode_compressed(&b2, enc, (ec_decode_opts){.check_curve = true}));
    g2_jac_from_aff(&j2, &b2);
    g2_jac_add_aff(&j2, &j2, &vk->beta_g2);
    g2_jac_to_aff(&b2, &j2);
    assert_true(g2_aff_eq(&b2, &proof.b));
    free(text);
    free_circuit(&b);
}

static void test_quotient_is_the_reference_one(void **state)
{
    (void)state;
    bench_circuit b;
    load_tiny(&b);
    fr v[3][8];
    assert_ok(r1cs_eval(b.shape, &b.w[0], v[0], v[1], NULL, 8, &no_ctx));
    ntt_plan *plan;
    assert_ok(ntt_plan_create(&plan, 3, &no_ctx));
    assert_ok(ntt_quotient(plan, v[0], v[1], v[2], 3, &no_ctx));
    ntt_plan_destroy(plan);
    char *text = golden_load("proofs.json.gz");
    const char *p = golden_key(text, NULL, "h_full");
    for (size_t i = 0; i < 7; i++) {
        uint8_t want[32], got[32];
        golden_hex(&p, want, sizeof want);
        fr_to_le(got, &v[0][i]);
        assert_memory_equal(got, want, 32);
    }
    assert_true(fr_is_zero(&v[0][7]));
    free(text);
    free_circuit(&b);
}

/* n random booleans and field elements, each bound by a row of its own or a linear mix; variables
 * outside A and outside B occur. */
typedef struct mix_params {
    uint64_t seed;
    size_t n;
    unsigned dense_of_16; /* share of field elements */
} mix_params;

static void mix_synthesize(cs *c, const mix_params *m, uint64_t value_seed)
{
    uint64_t rnd = m->seed, vals = value_seed;
    fr x = FR_ZERO;
    r1cs_var in[3];
    for (int i = 0; i < 3; i++) {
        next_fr(&x, &vals);
        in[i] = cs_alloc_input(c, &x);
    }
    for (size_t i = 0; i < m->n; i++) {
        uint64_t pick = next_u64(&rnd);
        if (pick % 16 < m->dense_of_16) {
            fr sq, y;
            if (pick >> 8 & 1)
                fr_from_u64(&x, pick >> 9 & 1); /* dense variables that hold 0 or 1 */
            else
                next_fr(&x, &vals);
            fr_sqr(&sq, &x);
            r1cs_var v = cs_alloc_num(c, &x), s = cs_alloc_num(c, &sq);
            cs_term_one(c, CS_A, v); /* s only in C, then perhaps in A of the next row */
            cs_term_one(c, CS_B, v);
            cs_term_one(c, CS_C, s);
            cs_end_row(c);
            if (pick >> 10 & 1) {
                fr_add(&y, &sq, &sq);
                r1cs_var d = cs_alloc_num(c, &y);
                fr two;
                fr_from_u64(&two, 2);
                cs_term(c, CS_A, &two, s);
                cs_term_one(c, CS_B, R1CS_ONE);
                cs_term_one(c, CS_C, d);
                cs_end_row(c);
            }
        } else {
            r1cs_var v = cs_alloc_bit(c, next_u64(&vals) & 1);
            cs_term_one(c, CS_A, R1CS_ONE);
            cs_term_minus(c, CS_A, v);
            cs_term_one(c, pick >> 11 & 1 ? CS_B : CS_A, R1CS_ONE);
            if (pick >> 11 & 1) { /* (1 - v) (1 + v) = 1 - v */
                cs_term_one(c, CS_B, v);
            } else { /* (2 - v) 1 = 2 - v */
                cs_term_one(c, CS_B, R1CS_ONE);
                cs_term_one(c, CS_C, R1CS_ONE);
            }
            cs_term_one(c, CS_C, R1CS_ONE);
            cs_term_minus(c, CS_C, v);
            cs_end_row(c);
        }
    }
    cs_term_one(c, CS_A, in[0]); /* an input with a B coefficient besides ONE */
    cs_term_one(c, CS_B, in[1]);
    fr prod;
    next_fr(&prod, &vals);
    if (!cs_is_shape(c))
        fr_mul(&prod, &c->w->inputs[1], &c->w->inputs[2]);
    r1cs_var p = cs_alloc_num(c, &prod);
    cs_term_one(c, CS_C, p);
    cs_end_row(c);
}

static void load_mix(bench_circuit *b, const mix_params *m, const run_ctx *rc)
{
    *b = (bench_circuit){0};
    cs c;
    assert_ok(cs_init_shape(&c, "mix"));
    mix_synthesize(&c, m, 0);
    assert_ok(cs_finish_shape(&c, &b->shape));
    cs_fini(&c);
    for (uint64_t i = 0; i < 2; i++) {
        assert_ok(witness_init(&b->w[i], b->shape));
        cs_init_witness(&c, b->shape, &b->w[i], CS_WITNESS_SLOW);
        mix_synthesize(&c, m, m->seed + 1 + i);
        assert_ok(cs_finish_witness(&c));
        cs_fini(&c);
        assert_ok(r1cs_satisfied(b->shape, &b->w[i], NULL, rc));
    }
    g16_toxic t;
    assert_ok(g16_toxic_random(&t));
    load_circuit(b, &t, rc);
}

/* Sizes around the 64-bit words and, from 600 on, of several chunks per section. */
static const mix_params mixes[] = {{1, 1, 0},   {2, 1, 16},  {3, 62, 0},   {4, 64, 8},
                                   {5, 65, 16}, {6, 200, 1}, {7, 1500, 0}, {8, 3000, 8}};

static void test_random_circuits_prove_and_batches_agree(void **state)
{
    (void)state;
    pool *threads;
    assert_ok(pool_create(&threads, 3));
    run_ctx three = {.pool = threads};
    for (size_t i = 0; i < ARRAY_LEN(mixes); i++) {
        print_message("seed %llu n %zu dense %u/16\n", (unsigned long long)mixes[i].seed,
                      mixes[i].n, mixes[i].dense_of_16);
        bench_circuit b;
        load_mix(&b, &mixes[i], &three);
        const witness *ws[3] = {&b.w[0], &b.w[1], &b.w[0]};
        g16_blinding rs[3];
        for (size_t k = 0; k < 3; k++)
            assert_ok(g16_blinding_random(&rs[k]));
        g16_proof proofs[3];
        assert_ok(g16_prove(b.cpu, b.handle, ws, rs, 3, proofs, NULL, &three));
        for (size_t k = 0; k < 3; k++) {
            uint8_t batch[G16_PROOF_BYTES], alone[G16_PROOF_BYTES];
            assert_ok(g16_verify(b.pvk, ws[k]->inputs + 1, 3, &proofs[k]));
            g16_proof_encode(batch, &proofs[k]);
            prove_one(&b, ws[k], &rs[k], alone); /* one thread, one at a time */
            assert_memory_equal(batch, alone, sizeof batch);
        }
        assert_int_equal(g16_verify(b.pvk, ws[1]->inputs + 1, 3, &proofs[0]).code, CUZK_E_VERIFY);
        free_circuit(&b);
    }
    pool_destroy(threads);
}

typedef struct told {
    unsigned n;
    double last;
} told;

static void on_progress(void *ctx, const char *stage, double fraction)
{
    told *t = ctx;
    if (fraction < t->last || fraction > 1)
        fail_msg("%s: progress %.4f after %.4f", stage, fraction, t->last);
    t->last = fraction;
    t->n++;
}

static void test_progress_rises_to_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(mixes); i++) {
        bench_circuit b;
        load_mix(&b, &mixes[i], &no_ctx);
        const witness *ws[2] = {&b.w[0], &b.w[1]};
        g16_blinding rs[2];
        g16_proof p[2];
        assert_ok(g16_blinding_random(&rs[0]));
        assert_ok(g16_blinding_random(&rs[1]));
        for (size_t n = 1; n <= 2; n++) {
            told t = {0};
            const run_ctx rc = {.progress = on_progress, .progress_ctx = &t};
            assert_ok(g16_prove(b.cpu, b.handle, ws, rs, n, p, NULL, &rc));
            assert_true(t.n >= 5);
            assert_true(t.last == 1);
        }
        free_circuit(&b);
    }
}

/* Spans call a proof what the batch calls it, and by its place when it says nothing. */
static void test_spans_have_the_batchs_numbers(void **state)
{
    (void)state;
    static const int32_t names[2] = {7, 3}, places[2] = {0, 1};
    bench_circuit b;
    load_mix(&b, &mixes[4], &no_ctx);
    const witness *ws[2] = {&b.w[0], &b.w[1]};
    g16_blinding rs[2];
    g16_proof p[2];
    assert_ok(g16_blinding_random(&rs[0]));
    assert_ok(g16_blinding_random(&rs[1]));
    for (int named = 0; named <= 1; named++) {
        const int32_t *want = named ? names : places;
        unsigned n_of[2] = {0};
        span_rec *spans;
        assert_ok(span_rec_create(&spans, 1000));
        const run_ctx rc = {.spans = spans};
        const g16_batch batch = {
            .n = 2, .w = ws, .rs = rs, .out = p, .partition = named ? names : NULL};
        assert_ok(b.cpu->ops->prove(b.cpu, b.handle, &batch, NULL, &rc));
        for (uint32_t i = 0; i < span_count(spans); i++) {
            int32_t k = span_get(spans, i).partition;
            assert_true(k == -1 || k == want[0] || k == want[1]);
            n_of[0] += k == want[0];
            n_of[1] += k == want[1];
        }
        assert_true(n_of[0] > 3);
        assert_int_equal(n_of[0], n_of[1]);
        span_rec_destroy(spans);
    }
    free_circuit(&b);
}

static void test_sections_were_split(void **state)
{
    (void)state;
    bench_circuit b;
    load_mix(&b, &mixes[ARRAY_LEN(mixes) - 1], &no_ctx);
    const cpu_handle *h = b.handle;
    assert_true(h->m - 1 > cpu_chunk_points(h, h->m - 1, false));
    assert_true(h->query[QUERY_L].n > cpu_chunk_points(h, h->query[QUERY_L].n, false));
    assert_true(h->query[QUERY_B].n > cpu_chunk_points(h, h->query[QUERY_B].n, true));
    assert_int_equal(h->query[QUERY_B].n_in, 2);
    free_circuit(&b);
}

static void test_wrong_witness_and_key_are_refused(void **state)
{
    (void)state;
    bench_circuit tiny, mix;
    load_tiny(&tiny);
    load_mix(&mix, &mixes[3], &no_ctx);
    const witness *w = &mix.w[0];
    g16_blinding rs;
    g16_proof p;
    assert_ok(g16_blinding_random(&rs));
    assert_refused(g16_prove(tiny.cpu, tiny.handle, &w, &rs, 1, &p, NULL, &no_ctx), CUZK_E_INPUT,
                   "witness 0");
    assert_true(g1_aff_is_inf(&p.a));
    void *handle;
    assert_refused(tiny.cpu->ops->load(tiny.cpu, mix.shape, tiny.key, &no_ctx, &handle),
                   CUZK_E_INPUT, "ic");
    assert_null(handle);
    free_circuit(&tiny);
    free_circuit(&mix);
}

static void test_broken_witness_makes_no_valid_proof(void **state)
{
    (void)state;
    bench_circuit b;
    load_tiny(&b);
    fr_add(&b.w[0].dense[1], &b.w[0].dense[1], &FR_ONE);
    const witness *w = &b.w[0];
    g16_blinding rs;
    g16_proof p;
    assert_ok(g16_blinding_random(&rs));
    assert_ok(g16_prove(b.cpu, b.handle, &w, &rs, 1, &p, NULL, &no_ctx));
    assert_int_equal(g16_verify(b.pvk, w->inputs + 1, 1, &p).code, CUZK_E_VERIFY);
    free_circuit(&b);
}

static bool countdown(void *ctx)
{
    unsigned *left = ctx;
    return *left == 0 || --*left == 0;
}

static void test_cancel_at_every_poll(void **state)
{
    (void)state;
    bench_circuit b;
    load_mix(&b, &mixes[4], &no_ctx);
    const witness *w = &b.w[0];
    g16_blinding rs;
    g16_proof p;
    assert_ok(g16_blinding_random(&rs));
    unsigned polls = 1;
    for (;; polls++) {
        unsigned left = polls;
        run_ctx rc = {.cancelled = countdown, .cancel_ctx = &left};
        cuzk_status st = g16_prove(b.cpu, b.handle, &w, &rs, 1, &p, NULL, &rc);
        if (st.code == CUZK_OK)
            break;
        assert_int_equal(st.code, CUZK_E_CANCELLED);
        assert_true(g1_aff_is_inf(&p.a) && g1_aff_is_inf(&p.c));
    }
    assert_true(polls > 8);
    assert_ok(g16_verify(b.pvk, w->inputs + 1, 3, &p)); /* the handle works on after cancels */
    free_circuit(&b);
}

static void test_failing_allocations_leave_the_handle_usable(void **state)
{
    (void)state;
    bench_circuit b;
    load_mix(&b, &mixes[5], &no_ctx);
    const witness *ws[2] = {&b.w[0], &b.w[1]};
    g16_blinding rs[2];
    g16_proof p[2];
    assert_ok(g16_blinding_random(&rs[0]));
    assert_ok(g16_blinding_random(&rs[1]));
    uint64_t n = 1;
    for (;; n++) {
        mem_fail_nth(n);
        cuzk_status st = g16_prove(b.cpu, b.handle, ws, rs, 2, p, NULL, &no_ctx);
        mem_fail_nth(0);
        if (st.code == CUZK_OK)
            break;
        assert_int_equal(st.code, CUZK_E_NOMEM);
    }
    assert_true(n > 3);
    assert_ok(g16_verify(b.pvk, ws[1]->inputs + 1, 3, &p[1]));
    uint64_t live = mem_get_stats().live_bytes;
    for (n = 1;; n++) {
        void *handle;
        mem_fail_nth(n);
        cuzk_status st = b.cpu->ops->load(b.cpu, b.shape, b.key, &no_ctx, &handle);
        mem_fail_nth(0);
        if (st.code == CUZK_OK) {
            b.cpu->ops->unload(b.cpu, handle);
            break;
        }
        assert_int_equal(st.code, CUZK_E_NOMEM);
    }
    assert_int_equal(mem_get_stats().live_bytes, live);
    free_circuit(&b);
}

static void test_assembly_refuses_identity_delta(void **state)
{
    (void)state;
    bench_circuit b;
    load_tiny(&b);
    g16_sums sums = {0};
    g16_blinding rs;
    g16_tiny_blinding(&rs);
    g16_proof p;
    g16_vk vk = *g16_key_vk(b.key);
    vk.delta_g1 = (g1_aff){0};
    assert_refused(g16_assemble(&p, &vk, &sums, &rs), CUZK_E_INPUT, "delta");
    vk = *g16_key_vk(b.key);
    vk.delta_g2 = (g2_aff){0};
    assert_refused(g16_assemble(&p, &vk, &sums, &rs), CUZK_E_INPUT, "delta");
    free_circuit(&b);
}

static void test_self_test_and_description(void **state)
{
    (void)state;
    g16_backend *cpu;
    char text[128];
    assert_ok(g16_cpu_create(&cpu));
    assert_ok(cpu->ops->self_test(cpu, &no_ctx));
    assert_string_equal(cpu->ops->name, "cpu");
    cpu->ops->describe(cpu, text, sizeof text);
    assert_non_null(strstr(text, "cpu ("));
    cpu->ops->destroy(cpu);
}

static void test_blinding_is_fresh(void **state)
{
    (void)state;
    g16_blinding a, b;
    assert_ok(g16_blinding_random(&a));
    assert_ok(g16_blinding_random(&b));
    assert_false(fr_eq(&a.r, &b.r) || fr_eq(&a.s, &b.s) || fr_eq(&a.r, &a.s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_proof_has_the_reference_bytes),
        cmocka_unit_test(test_sums_are_the_reference_ones),
        cmocka_unit_test(test_quotient_is_the_reference_one),
        cmocka_unit_test(test_random_circuits_prove_and_batches_agree),
        cmocka_unit_test(test_progress_rises_to_one),
        cmocka_unit_test(test_spans_have_the_batchs_numbers),
        cmocka_unit_test(test_sections_were_split),
        cmocka_unit_test(test_wrong_witness_and_key_are_refused),
        cmocka_unit_test(test_broken_witness_makes_no_valid_proof),
        cmocka_unit_test(test_cancel_at_every_poll),
        cmocka_unit_test(test_failing_allocations_leave_the_handle_usable),
        cmocka_unit_test(test_assembly_refuses_identity_delta),
        cmocka_unit_test(test_self_test_and_description),
        cmocka_unit_test(test_blinding_is_fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
