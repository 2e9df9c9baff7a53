/* Who makes how much of a batch, over several batches: slow devices, late ones, ones that failed. */
#include "g16_test.h"
#include "groth16/multi_backend.h"
#include <stdatomic.h>
#include <time.h>

#define N 13u

/* A device that takes its time and makes nothing else. */
typedef struct fake {
    g16_backend base;
    long proof_ms;
    long pause_ms; /* once, at the begin of the next call: as to recover, or with other work */
    int fail_at;   /* the n-th proof of the batch fails; -1: none */
    int n_made;    /* of the batch */
} fake;

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static cuzk_status fake_load(g16_backend *b, const r1cs_shape *s, const g16_key *k,
                             const run_ctx *rc, void **handle)
{
    (void)s;
    (void)k;
    (void)rc;
    *handle = b;
    return cuzk_ok();
}

static void fake_unload(g16_backend *b, void *handle) { assert_ptr_equal(handle, b); }
static void fake_destroy(g16_backend *b) { (void)b; }

static cuzk_status fake_prove(g16_backend *b, void *handle, const g16_batch *batch, g16_timings *t,
                              const run_ctx *rc)
{
    fake *f = (fake *)(void *)b;
    (void)handle;
    (void)rc;
    *t = (g16_timings){0};
    sleep_ms(f->pause_ms);
    f->pause_ms = 0;
    for (size_t k = 0; k < batch->n; k++) {
        if (!batch->claim(batch->ctx, k))
            continue;
        if (f->n_made == f->fail_at)
            return cuzk_fail(CUZK_E_DEVICE_LOST, "made to fail");
        sleep_ms(f->proof_ms);
        f->n_made++;
        batch->done(batch->ctx, k);
    }
    return cuzk_ok();
}

static const g16_backend_ops fake_ops = {.name = "fake",
                                         .load = fake_load,
                                         .unload = fake_unload,
                                         .prove = fake_prove,
                                         .destroy = fake_destroy};

static fake f[2];
static g16_backend *multi;
static void *handle;

static void begin(long ms_of_0, long ms_of_1)
{
    static const char *const names[2] = {"one", "two"};
    g16_backend *members[2] = {&f[0].base, &f[1].base};
    f[0] = (fake){.base.ops = &fake_ops, .proof_ms = ms_of_0, .fail_at = -1};
    f[1] = (fake){.base.ops = &fake_ops, .proof_ms = ms_of_1, .fail_at = -1};
    assert_ok(g16_multi_create(&multi, members, names, 2));
    assert_ok(multi->ops->load(multi, NULL, NULL, &(run_ctx){0}, &handle));
}

static void end(void)
{
    multi->ops->unload(multi, handle);
    multi->ops->destroy(multi);
}

static void prove(uint32_t n)
{
    const witness *w[N] = {NULL};
    const g16_blinding rs[N] = {0};
    g16_proof out[N];
    const g16_batch b = {.n = n, .w = w, .rs = rs, .out = out};
    f[0].n_made = f[1].n_made = 0;
    assert_ok(multi->ops->prove(multi, handle, &b, NULL, &(run_ctx){0}));
    assert_int_equal(f[0].n_made + f[1].n_made, n);
}

static double speed(uint32_t i) { return g16_multi_get_stats(multi, i).speed; }

/* It is measured once. Then it waits, though the other cannot take all at once, until it has been left
 * out often enough. */
static void test_slow_device_is_left_out_but_not_for_ever(void **state)
{
    (void)state;
    begin(1, 100);
    prove(N);
    assert_true(f[1].n_made >= 1 && f[1].n_made < 4);
    double measured = speed(1);
    int n_batches = 0;
    for (prove(N); f[1].n_made == 0 && n_batches < 400; n_batches++)
        prove(4);
    print_message("left out of %d batches\n", n_batches);
    /* 4 proofs at 1 ms and at 100: 1.02^163 = 100 / 4; the times are not exact */
    assert_true(n_batches >= 10 && n_batches < 400);
    assert_true(speed(1) < 2 * measured);
    prove(4);
    assert_int_equal(f[1].n_made, 0);
    end();
}

/* The device that was left out makes what the other had. */
static void test_the_slow_device_steps_in_for_one_that_fails(void **state)
{
    (void)state;
    for (int at = 0; at <= 8; at += 4) {
        begin(1, 30);
        prove(N);
        f[0].fail_at = at;
        prove(N);
        assert_int_equal(f[0].n_made, at);
        assert_int_equal(g16_multi_get_stats(multi, 0).n_faults, 1);
        f[0].fail_at = -1;
        prove(N);
        assert_true(f[0].n_made >= 7);
        end();
    }
}

/* The slow one waits at first, then sees that the other has been at it for too long. */
static void test_the_slow_device_steps_in_for_one_that_stalls(void **state)
{
    (void)state;
    begin(1, 50);
    prove(N);
    prove(4);
    assert_int_equal(f[1].n_made, 0);
    f[0].pause_ms = 1000;
    prove(N);
    assert_true(f[1].n_made > 6);
    end();
}

/* The time that a device takes to come back is no measure of it, nor is it lost for that. */
static void test_recovery_does_not_count_as_speed(void **state)
{
    (void)state;
    begin(5, 5);
    prove(N);
    double before = speed(1);
    assert_true(before > 0);
    f[1].fail_at = 0;
    prove(N);
    f[1].fail_at = -1;
    f[1].pause_ms = 200;
    for (int i = 0; i < 100 && f[1].n_made == 0; i++)
        prove(N);
    assert_true(f[1].n_made > 0);
    prove(N);
    assert_true(f[1].n_made >= 3);
    assert_true(speed(1) > before / 3);
    end();
}

/* Equal devices make equally much, and nothing is taken over at the end. */
static void test_equal_devices_share_equally(void **state)
{
    (void)state;
    begin(30, 32);
    prove(10);
    prove(10);
    assert_in_range(f[0].n_made, 4, 6);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_device_is_left_out_but_not_for_ever),
        cmocka_unit_test(test_the_slow_device_steps_in_for_one_that_fails),
        cmocka_unit_test(test_the_slow_device_steps_in_for_one_that_stalls),
        cmocka_unit_test(test_recovery_does_not_count_as_speed),
        cmocka_unit_test(test_equal_devices_share_equally),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
