/* Witnesses used again from job to job: their memory, and what is left in it. */
#include "unit/engine/inside.h"

static uint64_t work_used(engine *e)
{
    engine_lock(e);
    uint64_t used = e->budget.used[BUDGET_WORK];
    engine_unlock(e);
    return used;
}

typedef struct spares {
    uint32_t n, n_charged;
    uint64_t each;
    const void *first;
} spares;

static spares spares_of(engine *e, const char *circuit)
{
    spares s = {0};
    engine_lock(e);
    const key_entry *k = key_cache_find(&e->keys, circuit);
    if (k) {
        s = (spares){.n_charged = k->n_charged, .each = k->witness_bytes, .first = k->spares};
        for (const spare_witness *w = k->spares; w; w = w->next)
            s.n++;
    }
    engine_unlock(e);
    return s;
}

static void until_work(engine *e, uint64_t want)
{
    for (int i = 0; i < 5000 && work_used(e) != want; i++)
        sleep_ms(1);
    assert_int_equal(work_used(e), want);
}

/* A job on the device for as long as the test wants, which keeps the key in use. */
static void hold(fixture *f)
{
    fixture_init(f, 1);
    f->cfg_dev[0].batch_max = 4;
    fixture_start(f);
    atomic_store(&f->dev[0].n_slices, 1000000);
    job_request r;
    post_request(&r, PROOF_WINDOW, 1, 1);
    r.priority = JOB_LOW;
    assert_ok(submit_and_wait(f->e, &r).st);
    for (int i = 0; i < 20000 && !atomic_load(&f->dev[0].n_inside); i++)
        sleep_ms(1);
    assert_int_equal(atomic_load(&f->dev[0].n_inside), 1);
}

static void let_go(fixture *f)
{
    bool was_live;
    assert_ok(engine_cancel(f->e, "window-1", &was_live));
    assert_int_equal(wait_end(f->e, "window-1").state, JOB_CANCELLED);
}

static void submit_urgent(fixture *f, proof_kind kind, uint64_t seed, uint32_t n_partitions)
{
    job_request r;
    post_request(&r, kind, seed, n_partitions);
    r.priority = JOB_CRITICAL;
    assert_ok(submit_and_wait(f->e, &r).st);
}

/* A job that is cancelled with its witnesses made, as the device is taken. */
static void pass_by(fixture *f, uint64_t seed, uint32_t n_partitions)
{
    char id[32];
    bool was_live;
    job_request r;
    post_request(&r, PROOF_WINDOW, seed, n_partitions);
    r.priority = JOB_LOW;
    assert_ok(submit_and_wait(f->e, &r).st);
    snprintf(id, sizeof id, "window-%llu", (unsigned long long)seed);
    until_witnesses(f->e, id);
    assert_ok(engine_cancel(f->e, id, &was_live));
    assert_int_equal(wait_end(f->e, id).state, JOB_CANCELLED);
    for (bool gone = false; !gone; sleep_ms(1)) {
        engine_lock(f->e);
        gone = !job_table_find(&f->e->jobs, id);
        engine_unlock(f->e);
    }
}

static void test_jobs_follow_each_other_into_the_same_memory(void **state)
{
    (void)state;
    fixture f;
    hold(&f);
    uint64_t held = work_used(f.e), each = spares_of(f.e, "wpost-2k").each;
    pass_by(&f, 2, 2);
    until_work(f.e, held + 2 * each);
    spares s = spares_of(f.e, "wpost-2k");
    assert_int_equal(s.n, 2);
    assert_int_equal(s.n_charged, 2);
    for (uint64_t seed = 3; seed < 8; seed++) { /* never more than that */
        pass_by(&f, seed, 2);
        until_work(f.e, held + 2 * each);
        assert_int_equal(spares_of(f.e, "wpost-2k").n, 2);
    }
    pass_by(&f, 8, 1); /* takes one and leaves one */
    until_work(f.e, held + 2 * each);
    assert_int_equal(spares_of(f.e, "wpost-2k").n, 2);
    /* Nobody uses the key any more. */
    let_go(&f);
    until_work(f.e, 0);
    assert_null(spares_of(f.e, "wpost-2k").first);
    fixture_fini(&f);
}

/* What a job left is gone before another one could read it. */
static void test_spares_are_wiped(void **state)
{
    (void)state;
    fixture f;
    hold(&f);
    uint64_t held = work_used(f.e), each = spares_of(f.e, "wpost-2k").each;
    pass_by(&f, 2, 2);
    until_work(f.e, held + 2 * each);
    engine_lock(f.e);
    unsigned n_set = 0;
    for (const spare_witness *s = key_cache_find(&f.e->keys, "wpost-2k")->spares; s; s = s->next) {
        for (uint64_t i = 0; i < s->w.n_dense; i++)
            n_set += !fr_is_zero(&s->w.dense[i]);
        for (uint64_t i = 0; i < s->w.n_aux / 64 + 2; i++)
            n_set += s->w.bits[i] != 0;
        for (uint64_t i = 1; i < s->w.n_inputs; i++)
            n_set += !fr_is_zero(&s->w.inputs[i]);
        assert_true(fr_eq(&s->w.inputs[0], &FR_ONE));
    }
    engine_unlock(f.e);
    assert_int_equal(n_set, 0);
    let_go(&f);
    fixture_fini(&f);
}

/* Proofs from memory used before are good, in one job and from one to the next. */
static void test_proofs_from_spares_verify(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 2);
    f.cfg_dev[0].batch_max = f.cfg_dev[1].batch_max = 1;
    fixture_start(&f);
    for (uint64_t seed = 1; seed <= 6; seed++)
        submit_post(&f, PROOF_WINDOW, seed, 9);
    for (uint64_t seed = 1; seed <= 6; seed++) {
        char id[32];
        snprintf(id, sizeof id, "window-%llu", (unsigned long long)seed);
        job_view v = wait_end(f.e, id);
        if (v.state != JOB_DONE || v.n_retries)
            fail_msg("%s: %u retries, %s", id, v.n_retries, v.error);
    }
    until_work(f.e, 0);
    fixture_fini(&f);
}

/* A job of another circuit gets the room, though the spares' key is in use. */
static void test_spares_make_room(void **state)
{
    (void)state;
    fixture f;
    hold(&f);
    uint64_t held = work_used(f.e), each = spares_of(f.e, "wpost-2k").each;
    pass_by(&f, 2, 4);
    until_work(f.e, held + 4 * each);
    engine_lock(f.e);
    uint64_t used = budget_used(&f.e->budget);
    engine_unlock(f.e);
    circuit_id id;
    job_demand d;
    assert_ok(circuit_id_parse(&id, "winning-2k"));
    assert_ok(demand_of(&d, f.e, &id));
    /* Not enough left beside the spares. */
    f.cfg.memory_budget_bytes = used + d.key_bytes + d.witness_bytes - 2 * each;
    assert_ok(engine_reconfigure(f.e, &f.cfg));
    atomic_store(&f.dev[0].winning_is_short, true);
    submit_urgent(&f, PROOF_WINNING, 3, 1);
    job_view v = wait_end(f.e, "winning-3");
    if (v.state != JOB_DONE)
        fail_msg("%s", v.error);
    assert_int_equal(spares_of(f.e, "wpost-2k").n, 0);
    let_go(&f);
    until_work(f.e, 0);
    fixture_fini(&f);
}

static uint32_t n_tasks(const engine *e, uint32_t cls)
{
    uint32_t n = 0;
    for (const host_task *t = e->tasks[cls]; t; t = t->next)
        n++;
    return n;
}

/* 4 GB each is a long task for a host worker, so what is urgent goes between, and before them unless it
 * waits for the room itself. */
static void test_spares_go_one_by_one_and_after_what_is_urgent(void **state)
{
    (void)state;
    fixture f;
    hold(&f);
    engine *e = f.e;
    uint64_t held = work_used(e), each = spares_of(e, "wpost-2k").each;
    pass_by(&f, 2, 4);
    until_work(e, held + 4 * each);
    const uint32_t normal = JOB_CRITICAL - JOB_NORMAL;
    engine_lock(e); /* no worker takes a task meanwhile */
    key_entry *k = key_cache_find(&e->keys, "wpost-2k");
    const job bulk = {.view.priority = JOB_NORMAL}, urgent = {.view.priority = JOB_HIGH};
    uint32_t before[2] = {n_tasks(e, 0), n_tasks(e, normal)}, as_bulk[2], as_urgent[2];
    bool first = witness_drop(e, k, &bulk), second = witness_drop(e, k, NULL);
    as_bulk[0] = n_tasks(e, 0);
    as_bulk[1] = n_tasks(e, normal);
    bool third = witness_drop(e, k, &urgent); /* takes along what waits already */
    as_urgent[0] = n_tasks(e, 0);
    as_urgent[1] = n_tasks(e, normal);
    engine_unlock(e);
    assert_true(first);
    assert_false(second || third);
    assert_int_equal(as_bulk[0], before[0]);
    assert_int_equal(as_bulk[1], before[1] + 4);
    assert_int_equal(as_urgent[0], before[0] + 4);
    assert_int_equal(as_urgent[1], before[1]);
    until_work(e, held);
    let_go(&f);
    fixture_fini(&f);
}

/* A task that an urgent-only worker leaves behind when all others have ended is done all the same. */
typedef struct last_task {
    atomic_uint n_running;
    atomic_bool was_run;
} last_task;

static void late_run(engine *e, host_task *t)
{
    last_task *l = t->arg;
    atomic_store(&l->was_run, true);
    engine_lock(e);
    host_task_done(e, t);
    engine_unlock(e);
}

/* All workers run one until the end begins; the urgent-only one's takes longer, and leaves a task. */
static void urgent_run(engine *e, host_task *t)
{
    last_task *l = t->arg;
    atomic_fetch_add(&l->n_running, 1);
    bool stops = false, is_last = pthread_equal(pthread_self(), e->host_threads[e->n_host_workers]);
    while (!stops) {
        sleep_ms(1);
        engine_lock(e);
        stops = e->is_stopping;
        engine_unlock(e);
    }
    host_task *left = is_last ? host_task_new(late_run, t->arg) : NULL;
    if (left)
        sleep_ms(100);
    engine_lock(e);
    if (left)
        host_push(e, left, &(sched_rank){.cls = JOB_CRITICAL - JOB_LOW});
    host_task_done(e, t);
    engine_unlock(e);
}

static void test_the_last_task_is_done_before_the_end(void **state)
{
    (void)state;
    fixture f;
    last_task l = {0};
    fixture_init(&f, 1);
    fixture_start(&f);
    engine_lock(f.e);
    uint32_t n = f.e->n_host_workers + 1;
    for (uint32_t i = 0; i < n; i++) {
        host_task *t = host_task_new(urgent_run, &l);
        assert_non_null(t);
        host_push(f.e, t, &(sched_rank){0});
    }
    engine_unlock(f.e);
    for (unsigned i = 0; i < 20000 && atomic_load(&l.n_running) < n; i++)
        sleep_ms(1); /* or another worker would take the urgent-only one's */
    assert_int_equal(atomic_load(&l.n_running), n);
    fixture_fini(&f);
    assert_true(atomic_load(&l.was_run));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_follow_each_other_into_the_same_memory),
        cmocka_unit_test(test_spares_are_wiped),
        cmocka_unit_test(test_proofs_from_spares_verify),
        cmocka_unit_test(test_spares_make_room),
        cmocka_unit_test(test_spares_go_one_by_one_and_after_what_is_urgent),
        cmocka_unit_test(test_the_last_task_is_done_before_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
