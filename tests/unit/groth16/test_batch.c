/* Batches whose witnesses come while the CPU prover works. */
#include "g16_test.h"
#include "gpu/random_shape.h"

static const run_ctx no_ctx = {0};

typedef struct circuit {
    r1cs_shape *shape;
    witness w[2];
    byte_sink key_bytes;
    g16_key *key;
    g16_backend *cpu;
    void *handle;
} circuit;

/* n variables, every third a field element, each in a row; half of them are in B, too. */
static void shape_make(r1cs_shape **out, uint32_t n)
{
    cs c;
    assert_ok(cs_init_shape(&c, "thirds"));
    r1cs_var in = cs_alloc_input(&c, &FR_ZERO);
    for (uint32_t i = 0; i < n; i++) {
        r1cs_var v = i % 3 ? cs_alloc_bit(&c, false) : cs_alloc_num(&c, &FR_ZERO);
        cs_term_one(&c, CS_A, v);
        cs_term_one(&c, CS_B, i & 1 ? v : in);
        cs_term_one(&c, CS_C, v);
        cs_end_row(&c);
    }
    assert_ok(cs_finish_shape(&c, out));
    cs_fini(&c);
}

static void circuit_make(circuit *c, uint32_t n)
{
    g16_toxic t;
    *c = (circuit){0};
    shape_make(&c->shape, n);
    for (uint64_t i = 0; i < 2; i++)
        assert_ok(random_shape_witness(&c->w[i], c->shape, n + i));
    assert_ok(g16_toxic_random(&t));
    assert_ok(setup_bytes(&c->key_bytes, c->shape, &t, &no_ctx));
    assert_ok(g16_key_from_memory(&c->key, c->key_bytes.b, c->key_bytes.len));
    assert_ok(g16_cpu_create(&c->cpu));
    assert_ok(c->cpu->ops->load(c->cpu, c->shape, c->key, &no_ctx, &c->handle));
}

static void circuit_free(circuit *c)
{
    c->cpu->ops->unload(c->cpu, c->handle);
    c->cpu->ops->destroy(c->cpu);
    g16_key_close(c->key);
    free(c->key_bytes.b);
    witness_fini(&c->w[0]);
    witness_fini(&c->w[1]);
    r1cs_shape_destroy(c->shape);
}

/* Witnesses that come one by one: each after some questions, or never. */
#define N_LATE 5u
typedef struct late {
    const witness *from[N_LATE];
    witness w[N_LATE];         /* empty until it is there */
    unsigned patience[N_LATE]; /* questions before the answer */
    g16_ready answer[N_LATE];
    unsigned n_yields, n_after; /* n_after: questions after the last answer */
    bool is_told[N_LATE], is_done[N_LATE];
} late;

static g16_ready late_ready(void *ctx, size_t k)
{
    late *l = ctx;
    l->n_after += l->is_told[k];
    if (l->patience[k] > 0) {
        l->patience[k]--;
        return G16_LATER;
    }
    l->is_told[k] = true;
    if (l->answer[k] == G16_READY)
        l->w[k] = *l->from[k];
    return l->answer[k];
}

static void late_done(void *ctx, size_t k) { ((late *)ctx)->is_done[k] = true; }
static void late_yield(void *ctx) { ((late *)ctx)->n_yields++; }

static cuzk_status prove_late(circuit *b, late *l, const g16_blinding *rs, g16_proof *out,
                              const run_ctx *rc)
{
    const witness *w[N_LATE];
    for (size_t k = 0; k < N_LATE; k++)
        w[k] = &l->w[k];
    const g16_batch batch = {.n = N_LATE,
                             .w = w,
                             .rs = rs,
                             .out = out,
                             .ready = late_ready,
                             .done = late_done,
                             .ctx = l};
    return b->cpu->ops->prove(b->cpu, b->handle, &batch, NULL, rc);
}

static void test_late_witnesses_change_no_byte(void **state)
{
    (void)state;
    circuit b;
    circuit_make(&b, 500);
    const witness *ws[N_LATE] = {&b.w[0], &b.w[1], &b.w[1], &b.w[0], &b.w[1]};
    g16_blinding rs[N_LATE];
    g16_proof want[N_LATE], got[N_LATE], none;
    memset(&none, 0, sizeof none);
    for (size_t k = 0; k < N_LATE; k++)
        assert_ok(g16_blinding_random(&rs[k]));
    assert_ok(g16_prove(b.cpu, b.handle, ws, rs, N_LATE, want, NULL, &no_ctx));
    /* bit k: proof k never gets its witness */
    for (unsigned missing = 0; missing < 1u << N_LATE; missing++) {
        late l = {.patience = {0, 3, 1, 0, 2}};
        const run_ctx rc = {.yield = late_yield, .yield_ctx = &l};
        for (size_t k = 0; k < N_LATE; k++) {
            l.from[k] = ws[k];
            l.answer[k] = missing >> k & 1 ? G16_NEVER : G16_READY;
        }
        assert_ok(prove_late(&b, &l, rs, got, &rc));
        for (size_t k = 0; k < N_LATE; k++) {
            bool made = !(missing >> k & 1);
            assert_memory_equal(&got[k], made ? &want[k] : &none, sizeof none);
            assert_int_equal(l.is_done[k], made);
        }
        assert_true(l.n_yields >= 6);
        assert_int_equal(l.n_after, 0);
    }
    circuit_free(&b);
}

static bool countdown(void *ctx)
{
    unsigned *left = ctx;
    return *left == 0 || --*left == 0;
}

static void test_waiting_for_a_witness_can_fail(void **state)
{
    (void)state;
    circuit b, other;
    circuit_make(&b, 500);
    circuit_make(&other, 50);
    g16_blinding rs[N_LATE];
    g16_proof out[N_LATE], none[N_LATE];
    memset(none, 0, sizeof none);
    for (size_t k = 0; k < N_LATE; k++)
        assert_ok(g16_blinding_random(&rs[k]));
    late l = {.patience = {[3] = UINT32_MAX}};
    for (size_t k = 0; k < N_LATE; k++) {
        l.from[k] = &b.w[0];
        l.answer[k] = G16_READY;
    }
    unsigned left = 200;
    const run_ctx rc = {.cancelled = countdown, .cancel_ctx = &left};
    assert_refused(prove_late(&b, &l, rs, out, &rc), CUZK_E_CANCELLED, "witness 3");
    assert_memory_equal(out, none, sizeof none);
    l.patience[3] = 1;
    l.from[3] = &other.w[0];
    assert_refused(prove_late(&b, &l, rs, out, &no_ctx), CUZK_E_INPUT, "witness 3");
    assert_memory_equal(out, none, sizeof none);
    l.from[3] = &b.w[0];
    assert_ok(prove_late(&b, &l, rs, out, &no_ctx)); /* the handle works on */
    circuit_free(&other);
    circuit_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_witnesses_change_no_byte),
        cmocka_unit_test(test_waiting_for_a_witness_can_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
