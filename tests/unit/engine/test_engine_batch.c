/* Batches as jobs see them: progress, what is proven together, whose spans are whose. */
#include "unit/engine/engine_fixture.h"

/* ---- progress ---- */

typedef struct progress_seen {
    pthread_mutex_t lock;
    unsigned n_between; /* neither 0 nor 1 */
    double last, fell_to;
    bool has_fallen;
} progress_seen;

static void on_change(void *ctx, const job_view *v)
{
    progress_seen *p = ctx;
    pthread_mutex_lock(&p->lock);
    if (v->progress < p->last && !p->has_fallen) {
        p->has_fallen = true;
        p->fell_to = v->progress;
    } else if (!p->has_fallen) {
        p->last = v->progress;
    }
    p->n_between += v->progress > 0 && v->progress < 1;
    pthread_mutex_unlock(&p->lock);
}

/* The device tells each partition's progress from 0 on, as a prover with parts may. */
static void test_progress_never_falls(void **state)
{
    (void)state;
    fixture f;
    engine_watch *watch;
    progress_seen seen = {.lock = PTHREAD_MUTEX_INITIALIZER};
    fixture_init(&f, 2);
    for (int d = 0; d < 2; d++) {
        atomic_store(&f.dev[d].n_slices, 4);
        atomic_store(&f.dev[d].slice_ms, 30);
    }
    fixture_start(&f);
    job_view v = submit_post(&f, PROOF_WINDOW, 1, 6);
    assert_ok(engine_watch_job(f.e, v.job_id, false, on_change, &seen, &watch));
    assert_int_equal(wait_end(f.e, v.job_id).state, JOB_DONE);
    engine_unwatch(f.e, watch);
    if (seen.has_fallen)
        fail_msg("progress %.3f after %.3f", seen.fell_to, seen.last);
    assert_true(seen.n_between > 3);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_progress_never_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
