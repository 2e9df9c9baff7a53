/* Loading a circuit on several devices: at once, again where memory was short, and not at all when one
 * cannot. */
#include "g16_test.h"
#include "groth16/multi_backend.h"
#include <stdatomic.h>
#include <time.h>

#define MEET_MS 5000 /* a device that waits longer for the others fails the test */

/* What the devices of a test share. */
static struct meeting {
    uint32_t n;
    atomic_uint n_here, n_now;
} all;

typedef struct fake {
    g16_backend base;
    bool lonely;       /* finds no memory while another one loads */
    cuzk_code refuses; /* with that, once all have begun */
    bool waits_for_cancel;
    atomic_uint n_loads, n_unloads, n_progress;
} fake;

static void pause_ms(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

static cuzk_status meet(void)
{
    atomic_fetch_add(&all.n_here, 1);
    for (int ms = 0; atomic_load(&all.n_here) < all.n; ms++) {
        if (ms > MEET_MS)
            return cuzk_fail(CUZK_E_INTERNAL, "the others do not load");
        pause_ms();
    }
    return cuzk_ok();
}

static cuzk_status wait_for_cancel(const run_ctx *rc)
{
    for (int ms = 0; ms < MEET_MS; ms++, pause_ms())
        if (run_cancelled(rc))
            return cuzk_fail(CUZK_E_CANCELLED, "cancelled");
    return cuzk_ok();
}

/* At the first try all are there, however far each has come. */
static bool is_alone(const fake *f)
{
    return atomic_load(&f->n_loads) > 1 && atomic_load(&all.n_now) == 1;
}

static cuzk_status fake_load(g16_backend *b, const r1cs_shape *s, const g16_key *k,
                             const run_ctx *rc, void **handle)
{
    fake *f = (fake *)(void *)b;
    (void)s;
    (void)k;
    *handle = NULL;
    atomic_fetch_add(&f->n_loads, 1);
    atomic_fetch_add(&all.n_now, 1);
    cuzk_status st = meet();
    bool alone = is_alone(f);
    if (rc->progress)
        atomic_fetch_add(&f->n_progress, 1);
    if (st.code == CUZK_OK && f->waits_for_cancel)
        st = wait_for_cancel(rc);
    if (st.code == CUZK_OK && f->lonely && !alone)
        st = cuzk_fail(CUZK_E_NOMEM, "nothing left");
    if (st.code == CUZK_OK && f->refuses)
        st = cuzk_fail(f->refuses, "refused");
    if (st.code == CUZK_OK)
        *handle = b;
    atomic_fetch_sub(&all.n_now, 1);
    return st;
}

static void fake_unload(g16_backend *b, void *handle)
{
    assert_ptr_equal(b, handle);
    atomic_fetch_add(&((fake *)(void *)b)->n_unloads, 1);
}

static void fake_destroy(g16_backend *b) { (void)b; }

static const g16_backend_ops fake_ops = {
    .name = "fake", .load = fake_load, .unload = fake_unload, .destroy = fake_destroy};

#define N 3u
static fake f[N];
static g16_backend *multi;
static void *handle;

static void begin(void)
{
    static const char *const names[N] = {"one", "two", "three"};
    g16_backend *members[N];
    memset(&all, 0, sizeof all);
    memset(f, 0, sizeof f);
    all.n = N;
    for (uint32_t i = 0; i < N; i++) {
        f[i].base.ops = &fake_ops;
        members[i] = &f[i].base;
    }
    assert_ok(g16_multi_create(&multi, members, names, N));
}

static void assert_unloads(unsigned a, unsigned b, unsigned c)
{
    assert_int_equal(atomic_load(&f[0].n_unloads), a);
    assert_int_equal(atomic_load(&f[1].n_unloads), b);
    assert_int_equal(atomic_load(&f[2].n_unloads), c);
}

static void on_progress(void *ctx, const char *stage, double fraction)
{
    (void)ctx;
    (void)stage;
    (void)fraction;
}

static void test_devices_load_at_once(void **state)
{
    (void)state;
    const run_ctx rc = {.progress = on_progress};
    begin();
    assert_ok(multi->ops->load(multi, NULL, NULL, &rc, &handle));
    assert_int_equal(atomic_load(&f[0].n_progress), 1);
    assert_int_equal(atomic_load(&f[1].n_progress) + atomic_load(&f[2].n_progress), 0);
    multi->ops->unload(multi, handle);
    assert_unloads(1, 1, 1);
    multi->ops->destroy(multi);
}

/* As two backends on one card may, which both planned with all of it. */
static void test_short_memory_is_tried_again_alone(void **state)
{
    (void)state;
    begin();
    f[0].lonely = f[2].lonely = true;
    assert_ok(multi->ops->load(multi, NULL, NULL, &(run_ctx){0}, &handle));
    assert_int_equal(atomic_load(&f[1].n_loads), 1);
    assert_int_equal(atomic_load(&f[0].n_loads), 2);
    assert_int_equal(atomic_load(&f[2].n_loads), 2);
    multi->ops->unload(multi, handle);
    assert_unloads(1, 1, 1);
    multi->ops->destroy(multi);
}

/* The failure told is the one that ended it, not the cancels that followed. */
static void test_refusal_ends_the_others(void **state)
{
    (void)state;
    begin();
    f[0].waits_for_cancel = f[1].waits_for_cancel = true;
    f[2].refuses = CUZK_E_INPUT;
    cuzk_status st = multi->ops->load(multi, NULL, NULL, &(run_ctx){0}, &handle);
    assert_int_equal(st.code, CUZK_E_INPUT);
    assert_non_null(strstr(st.msg, "three: refused"));
    assert_null(handle);
    assert_unloads(0, 0, 0);
    multi->ops->destroy(multi);
}

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

static void test_cancel_reaches_all(void **state)
{
    (void)state;
    const run_ctx rc = {.cancelled = always};
    begin();
    f[0].waits_for_cancel = f[1].waits_for_cancel = true; /* the third is done before */
    cuzk_status st = multi->ops->load(multi, NULL, NULL, &rc, &handle);
    assert_int_equal(st.code, CUZK_E_CANCELLED);
    assert_unloads(0, 0, 1);
    multi->ops->destroy(multi);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices_load_at_once),
        cmocka_unit_test(test_short_memory_is_tried_again_alone),
        cmocka_unit_test(test_refusal_ends_the_others),
        cmocka_unit_test(test_cancel_reaches_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
