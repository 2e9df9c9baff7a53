/* Witnesses filled in parts, by one thread and by many. */
#include "unit/circuit/golden_task.h"

#include "base/mem.h"
#include "circuit/post_circuit.h"

static void assert_same_witness(const witness *a, const witness *b)
{
    assert_memory_equal(a->inputs, b->inputs, a->n_inputs * sizeof *a->inputs);
    assert_memory_equal(a->bits, b->bits, (a->n_aux / 64 + 2) * sizeof *a->bits);
    assert_memory_equal(a->dense, b->dense, a->n_dense * sizeof *a->dense);
}

/* ---- parts of a toy: bits and field elements in no order, then inputs ---- */

#define TOY_AUX 1000u

typedef struct rng {
    uint64_t s;
} rng;

static uint64_t next(rng *r)
{
    r->s = r->s * 6364136223846793005u + 1442695040888963407u;
    return r->s >> 33;
}

/* Type and value of aux j depend on j alone, so any stretch can be made. */
static bool toy_is_dense(uint64_t j) { return (j * 2654435761u >> 7 & 7) == 0; }

static void toy_stretch(cs *c, const cs_range *r)
{
    for (uint64_t j = r->aux; j < r->aux + r->n_aux; j++) {
        fr v;
        fr_from_u64(&v, j * j + 3);
        if (toy_is_dense(j))
            cs_alloc_num(c, &v);
        else
            cs_alloc_bit(c, j * 40503u >> 5 & 1);
    }
    for (uint64_t i = r->input; i < r->input + r->n_inputs; i++) {
        fr v;
        fr_from_u64(&v, 7 * i);
        cs_alloc_input(c, &v);
    }
}

static r1cs_shape *toy_shape(uint64_t n_aux)
{
    cs c;
    r1cs_shape *s;
    const cs_range all = {0, n_aux, 1, 20};
    assert_ok(cs_init_shape(&c, "toy"));
    toy_stretch(&c, &all);
    assert_ok(cs_finish_shape(&c, &s));
    cs_fini(&c);
    return s;
}

static cuzk_status toy_part(witness *w, const r1cs_shape *s, const cs_range *r)
{
    cs c;
    cs_part part;
    cs_init_witness_part(&c, &part, s, w, CS_WITNESS_FAST, r);
    toy_stretch(&c, r);
    cuzk_status st = cs_finish_witness_part(&c, &part);
    cs_fini(&c);
    return st;
}

/* Cut into parts whose lengths are those that meet words in every way; parts are filled last to
 * first. */
static void check_cuts(uint64_t n_aux, uint64_t seed)
{
    static const uint64_t lens[] = {0, 1, 2, 31, 63, 64, 65, 127, 128, 129, 200};
    r1cs_shape *s = toy_shape(n_aux);
    witness whole, w;
    cs c;
    cs_range parts[2 * TOY_AUX];
    size_t n = 0;
    rng r = {seed};
    const cs_range all = {0, n_aux, 1, 20};
    assert_ok(witness_init(&whole, s));
    cs_init_witness(&c, s, &whole, CS_WITNESS_FAST);
    toy_stretch(&c, &all);
    assert_ok(cs_finish_witness(&c));
    for (uint64_t at = 0, input = 1; at < n_aux || input < 21; n++) {
        uint64_t len = lens[next(&r) % ARRAY_LEN(lens)], n_in = next(&r) % 4;
        assert_true(n < ARRAY_LEN(parts));
        parts[n] = (cs_range){at, len < n_aux - at ? len : n_aux - at, input,
                              n_in < 21 - input ? n_in : 21 - input};
        at += parts[n].n_aux;
        input += parts[n].n_inputs;
    }
    assert_ok(witness_init(&w, s));
    for (size_t i = n; i-- > 0;)
        assert_ok(toy_part(&w, s, &parts[i]));
    assert_same_witness(&whole, &w);
    witness_fini(&whole);
    witness_fini(&w);
    r1cs_shape_destroy(s);
}

static void test_parts_make_the_whole_wherever_they_are_cut(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 63, 64, 65, 128, 777, TOY_AUX};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        for (uint64_t seed = 1; seed <= 50; seed++) {
            if (seed == 1)
                print_message("%u variables, seeds 1 to 50\n", (unsigned)sizes[i]);
            check_cuts(sizes[i], seed);
        }
}

static void test_a_part_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const struct {
        cs_range claimed, filled;
    } cases[] = {
        {{TOY_AUX - 5, 6, 1, 0}, {0, 0, 1, 0}}, {{TOY_AUX + 1, 0, 1, 0}, {0, 0, 1, 0}},
        {{0, UINT64_MAX, 1, 0}, {0, 0, 1, 0}},  {{0, 0, 20, 2}, {0, 0, 20, 2}},
        {{0, 0, 22, 0}, {0, 0, 22, 0}},         {{10, 50, 1, 1}, {10, 49, 1, 1}},
        {{10, 50, 1, 1}, {10, 51, 1, 1}},       {{10, 50, 1, 1}, {10, 50, 1, 0}},
        {{10, 50, 1, 1}, {10, 50, 1, 2}},       {{0, TOY_AUX, 1, 20}, {0, TOY_AUX + 200, 1, 20}},
    };
    r1cs_shape *s = toy_shape(TOY_AUX);
    uint64_t live = mem_get_stats().live_bytes;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        witness w;
        cs c;
        cs_part part;
        assert_ok(witness_init(&w, s));
        cs_init_witness_part(&c, &part, s, &w, CS_WITNESS_FAST, &cases[i].claimed);
        toy_stretch(&c, &cases[i].filled);
        cuzk_status st = cs_finish_witness_part(&c, &part);
        if (st.code != CUZK_E_INTERNAL)
            fail_msg("case %zu: %s", i, cuzk_code_name(st.code));
        witness_fini(&w);
        assert_int_equal(mem_get_stats().live_bytes, live);
    }
    r1cs_shape_destroy(s);
}

/* ---- PoSt ---- */

static const char *const post_cases[] = {"post-winning-2KiB", "post-winning-32KiB",
                                         "post-window-2KiB-V1_2-3sectors",
                                         "post-window-8MiB-V1_1-2sectors"};

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

static void test_thread_count_does_not_show(void **state)
{
    (void)state;
    static const unsigned threads[] = {1, 2, 3, 7};
    for (size_t i = 0; i < ARRAY_LEN(post_cases); i++) {
        loaded l = load(post_cases[i]);
        for (uint32_t k = 0; k < proof_task_partitions(l.t); k++)
            for (size_t n = 0; n < ARRAY_LEN(threads); n++) {
                witness a, b;
                run_ctx rc = {0};
                print_message("%s, partition %u, %u threads\n", post_cases[i], k, threads[n]);
                assert_ok(pool_create(&rc.pool, threads[n]));
                assert_ok(witness_init(&a, l.s));
                assert_ok(witness_init(&b, l.s));
                assert_ok(post_circuit_witness(&a, l.s, &l.t->in.post, k, CS_WITNESS_SLOW, NULL));
                assert_ok(post_circuit_witness(&b, l.s, &l.t->in.post, k, CS_WITNESS_FAST, &rc));
                assert_same_witness(&a, &b);
                witness_fini(&a);
                witness_fini(&b);
                pool_destroy(rc.pool);
            }
        unload(&l);
    }
}

static bool cancelled_after(void *ctx)
{
    int *left = ctx;
    return (*left)-- <= 0;
}

static void test_cancel_stops_between_slots(void **state)
{
    (void)state;
    loaded l = load("post-winning-2KiB");
    for (int left = 0; left < 66; left += 13) {
        witness w;
        int n = left;
        run_ctx rc = {.cancelled = cancelled_after, .cancel_ctx = &n};
        assert_ok(witness_init(&w, l.s));
        assert_int_equal(post_circuit_witness(&w, l.s, &l.t->in.post, 0, CS_WITNESS_FAST, &rc).code,
                         CUZK_E_CANCELLED);
        witness_fini(&w);
    }
    unload(&l);
}

static void test_every_failing_allocation_is_reported(void **state)
{
    (void)state;
    loaded l = load("post-window-2KiB-V1_2-3sectors");
    uint64_t live = mem_get_stats().live_bytes;
    bool done = false;
    int failed = 0;
    for (uint64_t n = 1; n < 100 && !done; n++) {
        witness w;
        assert_ok(witness_init(&w, l.s));
        mem_fail_nth(n);
        cuzk_status st = post_circuit_witness(&w, l.s, &l.t->in.post, 0, CS_WITNESS_FAST, NULL);
        mem_fail_nth(0);
        done = st.code == CUZK_OK;
        failed += !done;
        if (!done)
            assert_int_equal(st.code, CUZK_E_NOMEM);
        witness_fini(&w);
        assert_int_equal(mem_get_stats().live_bytes, live);
    }
    assert_true(done);
    assert_int_equal(failed, 3); /* slot states and the words of two slots */
    unload(&l);
}

static void test_shape_of_another_size_is_refused(void **state)
{
    (void)state;
    loaded l = load("post-window-2KiB-V1_2-3sectors");
    r1cs_shape *other;
    witness w;
    fil_post_proof winning = fil_post_proof_unregistered(FIL_POST_WINNING, 2048, true);
    fil_post_proof bigger = fil_post_proof_unregistered(FIL_POST_WINDOW, 4096, true);
    const fil_post_proof *const proofs[] = {&winning, &bigger};
    for (size_t i = 0; i < ARRAY_LEN(proofs); i++) {
        assert_ok(post_proof_shape(&other, proofs[i]));
        assert_ok(witness_init(&w, other));
        assert_int_equal(
            post_circuit_witness(&w, other, &l.t->in.post, 0, CS_WITNESS_FAST, NULL).code,
            CUZK_E_INTERNAL);
        witness_fini(&w);
        r1cs_shape_destroy(other);
    }
    assert_ok(witness_init(&w, l.s));
    assert_int_equal(post_circuit_witness(&w, l.s, &l.t->in.post, 2, CS_WITNESS_FAST, NULL).code,
                     CUZK_E_RANGE);
    witness_fini(&w);
    unload(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_make_the_whole_wherever_they_are_cut),
        cmocka_unit_test(test_a_part_that_does_not_fit_is_refused),
        cmocka_unit_test(test_thread_count_does_not_show),
        cmocka_unit_test(test_cancel_stops_between_slots),
        cmocka_unit_test(test_every_failing_allocation_is_reported),
        cmocka_unit_test(test_shape_of_another_size_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
