/* The equal parts of a witness, by one thread and by many: of a toy, of PoRep and of SnapDeals (PoSt
 * has test_post_parts). */
#include "circuit/circuit_parts.h"
#include "base/mem.h"
#include "unit/circuit/golden_task.h"

static void assert_same_witness(const witness *a, const witness *b)
{
    assert_memory_equal(a->inputs, b->inputs, a->n_inputs * sizeof *a->inputs);
    assert_memory_equal(a->bits, b->bits, (a->n_aux / 64 + 2) * sizeof *a->bits);
    assert_memory_equal(a->dense, b->dense, a->n_dense * sizeof *a->dense);
}

/* ---- a toy: a beginning, then parts of bits, a number and an input each ---- */

#define TOY_N 9u
#define TOY_BITS 77u /* parts meet inside of words */

/* What a toy does otherwise than the shape says. */
typedef struct toy {
    uint32_t beginning; /* bits before the parts, behind a number */
    uint32_t failing;   /* parts from here on fail; TOY_N: none */
} toy;
static const toy good = {10, TOY_N};

static void toy_beginning(cs *c, const toy *t)
{
    cs_alloc_num(c, &FR_ONE);
    for (uint32_t i = 0; i < t->beginning; i++)
        cs_alloc_bit(c, i & 1);
    cs_alloc_input(c, &FR_ONE);
}

static void toy_part(void *ctx, cs *c, uint32_t k)
{
    const toy *t = ctx;
    fr v;
    fr_from_u64(&v, 100 + k);
    for (uint32_t i = 0; i < TOY_BITS; i++)
        cs_alloc_bit(c, (k * 31 + i) * 2654435761u >> 9 & 1);
    cs_alloc_num(c, &v);
    cs_alloc_input(c, &v);
    if (k >= t->failing)
        cs_set_failure(c, cuzk_fail(CUZK_E_INPUT, "part %u", k));
}

static r1cs_shape *toy_shape(void)
{
    cs c;
    r1cs_shape *s;
    assert_ok(cs_init_shape(&c, "toy"));
    toy_beginning(&c, &good);
    for (uint32_t k = 0; k < TOY_N; k++)
        toy_part((void *)(uintptr_t)&good, &c, k);
    assert_ok(cs_finish_shape(&c, &s));
    cs_fini(&c);
    return s;
}

static cuzk_status toy_fill(witness *w, const r1cs_shape *s, const toy *t, uint32_t n,
                            const run_ctx *rc)
{
    cs c;
    const circuit_parts parts = {.n = n, .fill = toy_part, .ctx = (void *)(uintptr_t)t};
    cs_init_witness(&c, s, w, CS_WITNESS_FAST);
    toy_beginning(&c, t);
    return circuit_fill_parts(&c, &parts, rc);
}

static void test_parts_follow_the_beginning(void **state)
{
    (void)state;
    r1cs_shape *s = toy_shape();
    witness w, whole;
    cs c;
    assert_ok(witness_init(&w, s));
    assert_ok(witness_init(&whole, s));
    cs_init_witness(&c, s, &whole, CS_WITNESS_FAST);
    toy_beginning(&c, &good);
    for (uint32_t k = 0; k < TOY_N; k++)
        toy_part((void *)(uintptr_t)&good, &c, k);
    assert_ok(cs_finish_witness(&c));
    assert_ok(toy_fill(&w, s, &good, TOY_N, NULL));
    assert_same_witness(&whole, &w);
    witness_fini(&whole);
    witness_fini(&w);
    r1cs_shape_destroy(s);
}

static void test_what_does_not_fit_the_shape_is_refused(void **state)
{
    (void)state;
    static const struct {
        toy t;
        uint32_t n;
        cuzk_code code;
        const char *says;
    } cases[] = {
        {{10, TOY_N}, TOY_N, CUZK_OK, ""},
        {{10, TOY_N}, 0, CUZK_E_INTERNAL, "0 equal parts"},
        {{10, TOY_N}, TOY_N - 1, CUZK_E_INTERNAL, "8 equal parts"},
        {{10, TOY_N}, 1, CUZK_E_INTERNAL, ""}, /* one part that is as long as nine */
        {{9, TOY_N}, TOY_N, CUZK_E_INTERNAL, "9 equal parts"},
        {{0, TOY_N}, TOY_N, CUZK_E_INTERNAL, "9 equal parts"},
        {{10000, TOY_N}, TOY_N, CUZK_E_INTERNAL, "more variables"},
        {{10, 4}, TOY_N, CUZK_E_INPUT, "part 4"}, /* the first, not the last */
    };
    r1cs_shape *s = toy_shape();
    uint64_t live = mem_get_stats().live_bytes;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        witness w;
        assert_ok(witness_init(&w, s));
        cuzk_status st = toy_fill(&w, s, &cases[i].t, cases[i].n, NULL);
        if (st.code != cases[i].code || !strstr(st.msg, cases[i].says))
            fail_msg("case %zu: %s \"%s\"", i, cuzk_code_name(st.code), st.msg);
        witness_fini(&w);
        assert_int_equal(mem_get_stats().live_bytes, live);
    }
    r1cs_shape_destroy(s);
}

/* A beginning of the right length with a bit where the shape has a number. */
static void test_a_beginning_of_other_types_is_refused(void **state)
{
    (void)state;
    r1cs_shape *s = toy_shape();
    witness w;
    cs c;
    const circuit_parts parts = {.n = TOY_N, .fill = toy_part, .ctx = (void *)(uintptr_t)&good};
    assert_ok(witness_init(&w, s));
    cs_init_witness(&c, s, &w, CS_WITNESS_FAST);
    for (uint32_t i = 0; i < 11; i++)
        cs_alloc_bit(&c, true);
    cs_alloc_input(&c, &FR_ONE);
    assert_int_equal(circuit_fill_parts(&c, &parts, NULL).code, CUZK_E_INTERNAL);
    witness_fini(&w);
    r1cs_shape_destroy(s);
}

/* ---- the circuits ---- */

typedef struct loaded {
    arena a;
    proof_task *t;
    r1cs_shape *s;
} loaded;

static loaded load(const char *name)
{
    loaded l = {.t = mem_zalloc(sizeof *l.t, 64)};
    assert_non_null(l.t);
    golden_task(l.t, &l.a, name);
    assert_ok(proof_task_shape(&l.s, l.t));
    return l;
}

static void unload(loaded *l)
{
    r1cs_shape_destroy(l->s);
    mem_free(l->t);
    arena_fini(&l->a);
}

static const char *const names[] = {"porep-2KiB-V1_1", "porep-16KiB-11layers", "update-2KiB-snap",
                                    "update-8MiB-snap"};

static void test_thread_count_does_not_show(void **state)
{
    (void)state;
    static const unsigned threads[] = {1, 2, 3, 7};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        loaded l = load(names[i]);
        witness a, b;
        assert_ok(witness_init(&a, l.s));
        assert_ok(proof_task_witness(&a, l.s, l.t, 0, CS_WITNESS_SLOW, NULL));
        for (size_t n = 0; n < ARRAY_LEN(threads); n++) {
            run_ctx rc = {0};
            print_message("%s, %u threads\n", names[i], threads[n]);
            assert_ok(pool_create(&rc.pool, threads[n]));
            assert_ok(witness_init(&b, l.s));
            assert_ok(proof_task_witness(&b, l.s, l.t, 0, CS_WITNESS_FAST, &rc));
            assert_same_witness(&a, &b);
            witness_fini(&b);
            pool_destroy(rc.pool);
        }
        witness_fini(&a);
        unload(&l);
    }
}

/* A witness made again in the same memory, as repeated proofs do. */
static void test_a_second_filling_changes_nothing(void **state)
{
    (void)state;
    loaded l = load("porep-2KiB-V1_1");
    witness a, b;
    assert_ok(witness_init(&a, l.s));
    assert_ok(witness_init(&b, l.s));
    assert_ok(proof_task_witness(&a, l.s, l.t, 0, CS_WITNESS_FAST, NULL));
    for (int i = 0; i < 2; i++)
        assert_ok(proof_task_witness(&b, l.s, l.t, 0, CS_WITNESS_FAST, NULL));
    assert_same_witness(&a, &b);
    witness_fini(&a);
    witness_fini(&b);
    unload(&l);
}

static bool cancelled_after(void *ctx)
{
    int *left = ctx;
    return (*left)-- <= 0;
}

static void test_cancel_stops_between_challenges(void **state)
{
    (void)state;
    static const char *const small[] = {"porep-2KiB-V1_1", "update-2KiB-snap"};
    for (size_t i = 0; i < ARRAY_LEN(small); i++) {
        loaded l = load(small[i]);
        for (int polls = 0; polls < 3; polls++) {
            witness w;
            int left = polls;
            run_ctx rc = {.cancelled = cancelled_after, .cancel_ctx = &left};
            assert_ok(witness_init(&w, l.s));
            assert_int_equal(proof_task_witness(&w, l.s, l.t, 0, CS_WITNESS_FAST, &rc).code,
                             CUZK_E_CANCELLED);
            witness_fini(&w);
        }
        unload(&l);
    }
}

static void test_every_failing_allocation_is_reported(void **state)
{
    (void)state;
    static const char *const small[] = {"porep-2KiB-V1_1", "update-2KiB-snap"};
    for (size_t i = 0; i < ARRAY_LEN(small); i++) {
        loaded l = load(small[i]);
        uint64_t live = mem_get_stats().live_bytes;
        bool done = false;
        int failed = 0;
        for (uint64_t n = 1; n < 1000 && !done; n++) {
            witness w;
            assert_ok(witness_init(&w, l.s));
            mem_fail_nth(n);
            cuzk_status st = proof_task_witness(&w, l.s, l.t, 0, CS_WITNESS_FAST, NULL);
            mem_fail_nth(0);
            done = st.code == CUZK_OK;
            failed += !done;
            if (!done)
                assert_int_equal(st.code, CUZK_E_NOMEM);
            witness_fini(&w);
            assert_int_equal(mem_get_stats().live_bytes, live);
        }
        assert_true(done);
        assert_true(failed >= 5); /* states; words and scratch of two challenges */
        unload(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_follow_the_beginning),
        cmocka_unit_test(test_what_does_not_fit_the_shape_is_refused),
        cmocka_unit_test(test_a_beginning_of_other_types_is_refused),
        cmocka_unit_test(test_thread_count_does_not_show),
        cmocka_unit_test(test_a_second_filling_changes_nothing),
        cmocka_unit_test(test_cancel_stops_between_challenges),
        cmocka_unit_test(test_every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
