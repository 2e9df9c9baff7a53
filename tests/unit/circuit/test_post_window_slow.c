/* A whole partition of the largest WindowPoSt sizes: satisfied, and the same with one thread as
 * with many. */
#include "unit/fil/large_window.h"

#include "circuit/post_circuit.h"
#include "hash/sha256.h"
#include "r1cs/eval.h"

static double seconds(uint64_t t0) { return (double)(clock_now_ns() - t0) / 1e9; }

/* Fill a fresh witness and hash all of it: two of 4 GB need not be held at a time. */
static void fill(witness *w, uint8_t digest[32], const r1cs_shape *s, const fil_post *p,
                 pool *threads)
{
    run_ctx rc = {.pool = threads};
    sha256_ctx h;
    assert_ok(witness_init(w, s));
    uint64_t t0 = clock_now_ns();
    assert_ok(post_circuit_witness(w, s, p, 0, CS_WITNESS_FAST, &rc));
    print_message("witness in %.2f s with %u threads\n", seconds(t0), pool_threads(threads));
    sha256_init(&h);
    sha256_update(&h, w->inputs, w->n_inputs * sizeof *w->inputs);
    sha256_update(&h, w->bits, (w->n_aux / 64 + 2) * sizeof *w->bits);
    sha256_update(&h, w->dense, w->n_dense * sizeof *w->dense);
    sha256_final(&h, digest);
}

/* Three sectors; the other slots repeat the last one, which costs as much. */
static void check_partition(const char *name)
{
    window files = make_window(name, 3);
    arena a = {0};
    fil_post p;
    r1cs_shape *s;
    witness w;
    run_ctx rc = {0};
    uint8_t one[32], many[32];
    assert_ok(pool_create(&rc.pool, 0));
    assert_ok(fil_post_decode(&p, &a, &files.proof, (const uint8_t *const *)files.files, files.lens,
                              files.n));
    assert_ok(fil_post_check(&p, &files.ctx, &rc));
    uint64_t t0 = clock_now_ns();
    assert_ok(post_proof_shape(&s, &files.proof));
    print_message("%s: shape of %.1f MB in %.2f s\n", name,
                  (double)r1cs_shape_counts(s)->shape_bytes / 1e6, seconds(t0));
    assert_true(r1cs_shape_counts(s)->shape_bytes < 300000000);
    fill(&w, one, s, &p, NULL);
    witness_fini(&w);
    fill(&w, many, s, &p, rc.pool);
    assert_memory_equal(one, many, sizeof one);
    t0 = clock_now_ns();
    assert_ok(r1cs_satisfied(s, &w, NULL, &rc));
    print_message("satisfied, checked in %.1f s\n", seconds(t0));
    witness_fini(&w);
    r1cs_shape_destroy(s);
    arena_fini(&a);
    window_free(&files);
    pool_destroy(rc.pool);
}

static void test_a_partition_of_32_gib(void **state)
{
    (void)state;
    check_partition("StackedDrgWindow32GiBV1_2");
}

static void test_a_partition_of_64_gib(void **state)
{
    (void)state;
    check_partition("StackedDrgWindow64GiBV1_2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_partition_of_32_gib),
        cmocka_unit_test(test_a_partition_of_64_gib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
