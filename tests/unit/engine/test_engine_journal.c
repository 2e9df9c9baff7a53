/* Jobs between the journal and memory: failures and stops in the middle of a submit or of an end. */
#include "engine/engine_int.h"
#include "unit/engine/engine_fixture.h"

/* The journal, with calls that wait, fail or are counted. */
static struct {
    const store_ops *real;
    store_ops ops;
    atomic_bool hold_submit, hold_move_end; /* wait while set */
    atomic_uint n_held;
    atomic_uint n_bad_starts, n_bad_ends; /* moves that will fail */
    atomic_uint n_lists, n_finishes, finish_ms;
    bool fail_memory; /* after the next submit every allocation fails */
} spy;

static cuzk_status spy_submit(store *s, store_job *j, const uint8_t *blob, size_t len,
                              bool *existing)
{
    cuzk_status st = spy.real->submit(s, j, blob, len, existing);
    atomic_fetch_add(&spy.n_held, 1);
    while (atomic_load(&spy.hold_submit))
        sleep_ms(1);
    if (spy.fail_memory)
        mem_fail_nth(1);
    return st;
}

static cuzk_status spy_move(store *s, const job_view *v)
{
    bool is_end = job_state_is_final(v->state);
    if (is_end) {
        atomic_fetch_add(&spy.n_held, 1);
        while (atomic_load(&spy.hold_move_end))
            sleep_ms(1);
    }
    if (fake_take_one(is_end ? &spy.n_bad_ends : &spy.n_bad_starts))
        return cuzk_fail(CUZK_E_IO, "made to fail");
    return spy.real->move(s, v);
}

static cuzk_status spy_finish(store *s, const job_view *v, const uint8_t *proof, size_t len)
{
    atomic_fetch_add(&spy.n_finishes, 1);
    sleep_ms(atomic_load(&spy.finish_ms));
    return spy.real->finish(s, v, proof, len);
}

static cuzk_status spy_list(store *s, int state, uint32_t limit, store_job **out, uint32_t *n)
{
    atomic_fetch_add(&spy.n_lists, 1);
    return spy.real->list(s, state, limit, out, n);
}

static void spy_on(fixture *f)
{
    memset(&spy, 0, sizeof spy);
    spy.real = f->e->store->ops;
    spy.ops = *spy.real;
    spy.ops.submit = spy_submit;
    spy.ops.move = spy_move;
    spy.ops.finish = spy_finish;
    spy.ops.list = spy_list;
    f->e->store->ops = &spy.ops;
}

static void on_disk(fixture *f)
{
    snprintf(f->store, sizeof f->store, "%s/journal.db", f->dir);
    f->cfg.store_path = f->store;
}

static void wait_held(unsigned n)
{
    for (int i = 0; i < 10000 && atomic_load(&spy.n_held) < n; i++)
        sleep_ms(1);
    assert_true(atomic_load(&spy.n_held) >= n);
}

static engine_submitted wait_answer(answer *a)
{
    pthread_mutex_lock(&a->lock);
    while (!a->is_there)
        pthread_cond_wait(&a->cond, &a->lock);
    pthread_mutex_unlock(&a->lock);
    return a->r;
}

#define ANSWER_INIT                                                         \
    {                                                                       \
        .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER \
    }

/* What is in the journal is in the queue, too, whatever memory there is. */
static void test_a_journaled_job_needs_no_memory_to_be_queued(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg.max_active[PROOF_WINDOW] = 1;
    fixture_start(&f);
    spy_on(&f);
    atomic_store(&f.dev[0].n_slices, 100000);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    job_view v = {.state = JOB_QUEUED};
    while (v.state != JOB_PROVING)
        assert_ok(engine_get_job(f.e, "window-1", &v));
    spy.fail_memory = true;
    job_request r;
    post_request(&r, PROOF_WINDOW, 2, 1);
    engine_submitted s = submit_and_wait(f.e, &r);
    mem_fail_nth(0);
    assert_ok(s.st);
    assert_false(s.existing);
    assert_ok(engine_get_job(f.e, "window-2", &v));
    assert_int_equal(v.state, JOB_QUEUED);
    spy.fail_memory = false;
    atomic_store(&f.dev[0].n_slices, 1);
    bool was_live;
    assert_ok(engine_cancel(f.e, "window-1", &was_live));
    assert_int_equal(wait_end(f.e, "window-2").state, JOB_DONE);
    fixture_fini(&f);
}

/* The deadline of a drain passes while a submit is being journaled: accepted, so it is run later. */
static void test_stopping_does_not_cancel_an_accepted_job(void **state)
{
    (void)state;
    fixture f;
    answer a = ANSWER_INIT;
    fixture_init(&f, 1);
    on_disk(&f);
    fixture_start(&f);
    spy_on(&f);
    atomic_store(&spy.hold_submit, true);
    job_request r;
    post_request(&r, PROOF_WINDOW, 1, 1);
    engine_submit(f.e, &r, on_answer, &a);
    wait_held(1);
    engine_drain(f.e, 1);
    atomic_store(&spy.hold_submit, false);
    assert_ok(wait_answer(&a).st);
    fixture_stop(&f);
    fixture_start(&f);
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_DONE);
    fixture_fini(&f);
}

static void test_a_cancel_while_journaling_counts(void **state)
{
    (void)state;
    fixture f;
    answer a = ANSWER_INIT;
    bool was_live;
    fixture_init(&f, 1);
    fixture_start(&f);
    spy_on(&f);
    atomic_store(&spy.hold_submit, true);
    job_request r;
    post_request(&r, PROOF_WINDOW, 1, 1);
    engine_submit(f.e, &r, on_answer, &a);
    wait_held(1);
    assert_ok(engine_cancel(f.e, "window-1", &was_live));
    assert_true(was_live);
    atomic_store(&spy.hold_submit, false);
    assert_ok(wait_answer(&a).st);
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_CANCELLED);
    fixture_fini(&f);
}

/* The request sent again while its cancelled job is still live in the journal. */
static void test_a_dying_job_is_not_joined(void **state)
{
    (void)state;
    fixture f;
    bool was_live;
    fixture_init(&f, 1);
    fixture_start(&f);
    spy_on(&f);
    atomic_store(&f.dev[0].n_slices, 100000);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    unsigned held = atomic_load(&spy.n_held);
    atomic_store(&spy.hold_move_end, true);
    assert_ok(engine_cancel(f.e, "window-1", &was_live));
    wait_held(held + 1);
    job_request r;
    post_request(&r, PROOF_WINDOW, 1, 1);
    engine_submitted s = submit_and_wait(f.e, &r);
    assert_int_equal(s.st.code, CUZK_E_BUSY);
    assert_int_equal(s.retry_after_ms, 1000);
    atomic_store(&spy.hold_move_end, false);
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_CANCELLED);
    atomic_store(&f.dev[0].n_slices, 1);
    post_request(&r, PROOF_WINDOW, 1, 1);
    s = submit_and_wait(f.e, &r);
    assert_ok(s.st);
    assert_false(s.existing);
    assert_int_equal(wait_end(f.e, s.view.job_id).state, JOB_DONE);
    fixture_fini(&f);
}

/* A full disk for a moment when the proof begins costs nothing; neither does one at its end. */
static void test_a_lost_start_record_does_not_lose_the_proof(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    spy_on(&f);
    for (unsigned n = 1; n <= 4; n++) {
        char id[32];
        atomic_store(&spy.n_bad_starts, n);
        submit_post(&f, PROOF_WINNING, n, 1);
        snprintf(id, sizeof id, "winning-%u", n);
        job_view v = wait_end(f.e, id);
        if (v.state != JOB_DONE)
            fail_msg("%u failed starts: %s", n, v.error);
        assert_int_equal(atomic_load(&spy.n_bad_starts), 0);
    }
    assert_int_equal(atomic_load(&spy.n_finishes), 4);
    fixture_fini(&f);
}

/* The journal takes no end for a while: the job is final at once, and in the journal later. */
static void test_an_end_is_recorded_when_the_journal_can(void **state)
{
    (void)state;
    fixture f;
    bool was_live;
    store_job stored;
    fixture_init(&f, 1);
    fixture_start(&f);
    spy_on(&f);
    atomic_store(&f.dev[0].n_slices, 100000);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    atomic_store(&spy.n_bad_ends, 3); /* both tries, and the first one later */
    assert_ok(engine_cancel(f.e, "window-1", &was_live));
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_CANCELLED);
    assert_ok(spy.real->get(f.e->store, "window-1", &stored));
    assert_false(job_state_is_final(stored.view.state));
    for (int i = 0; i < 500 && !job_state_is_final(stored.view.state); i++) {
        sleep_ms(10);
        assert_ok(spy.real->get(f.e->store, "window-1", &stored));
    }
    assert_int_equal(stored.view.state, JOB_CANCELLED);
    assert_int_equal(stored.view.error_code, CUZK_E_CANCELLED);
    uint32_t n = 1;
    for (int i = 0; i < 2000 && n; i++) {
        sleep_ms(1);
        pthread_mutex_lock(&f.e->lock);
        n = f.e->jobs.n;
        pthread_mutex_unlock(&f.e->lock);
    }
    assert_int_equal(n, 0);
    atomic_store(&f.dev[0].n_slices, 1);
    job_request r;
    post_request(&r, PROOF_WINDOW, 1, 1);
    engine_submitted s = submit_and_wait(f.e, &r);
    assert_ok(s.st);
    assert_false(s.existing);
    assert_int_equal(wait_end(f.e, s.view.job_id).state, JOB_DONE);
    fixture_fini(&f);
}

static void test_live_jobs_are_listed_without_the_journal(void **state)
{
    (void)state;
    fixture f;
    job_view *v;
    uint32_t n;
    fixture_init(&f, 1);
    f.cfg.max_active[PROOF_WINDOW] = 1;
    fixture_start(&f);
    spy_on(&f);
    atomic_store(&f.dev[0].n_slices, 100000);
    submit_post(&f, PROOF_WINDOW, 1, 1);
    job_view first = {.state = JOB_QUEUED};
    while (first.state != JOB_PROVING)
        assert_ok(engine_get_job(f.e, "window-1", &first));
    for (uint64_t i = 2; i <= 4; i++)
        submit_post(&f, PROOF_WINDOW, i, 1);
    assert_ok(engine_list_jobs(f.e, JOB_QUEUED, 0, &v, &n));
    assert_int_equal(n, 3);
    assert_string_equal(v[0].job_id, "window-4");
    assert_string_equal(v[2].job_id, "window-2");
    mem_free(v);
    assert_ok(engine_list_jobs(f.e, JOB_QUEUED, 2, &v, &n));
    assert_int_equal(n, 2);
    assert_string_equal(v[1].job_id, "window-3");
    assert_int_equal(v[1].queue_position, 1);
    mem_free(v);
    assert_ok(engine_list_jobs(f.e, JOB_VERIFYING, 0, &v, &n));
    assert_int_equal(n, 0);
    mem_free(v);
    assert_int_equal(atomic_load(&spy.n_lists), 0);
    fixture_fini(&f);
}

/* However slow the journal was with it, and whoever is asked. */
static void test_the_times_of_a_job_are_the_same_for_all(void **state)
{
    (void)state;
    fixture f;
    job_view after;
    fixture_init(&f, 1);
    on_disk(&f);
    fixture_start(&f);
    spy_on(&f);
    atomic_store(&spy.finish_ms, 30);
    job_view v = submit_post(&f, PROOF_WINDOW, 1, 2);
    job_view told = wait_end(f.e, v.job_id);
    assert_int_equal(told.state, JOB_DONE);
    fixture_stop(&f);
    fixture_start(&f);
    assert_ok(engine_get_job(f.e, v.job_id, &after));
    assert_int_equal(after.times.total_ms, told.times.total_ms);
    assert_memory_equal(&after.times, &told.times, sizeof after.times);
    assert_int_equal(after.finished_unix_ms, told.finished_unix_ms);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_journaled_job_needs_no_memory_to_be_queued),
        cmocka_unit_test(test_stopping_does_not_cancel_an_accepted_job),
        cmocka_unit_test(test_a_cancel_while_journaling_counts),
        cmocka_unit_test(test_a_dying_job_is_not_joined),
        cmocka_unit_test(test_a_lost_start_record_does_not_lose_the_proof),
        cmocka_unit_test(test_an_end_is_recorded_when_the_journal_can),
        cmocka_unit_test(test_live_jobs_are_listed_without_the_journal),
        cmocka_unit_test(test_the_times_of_a_job_are_the_same_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
