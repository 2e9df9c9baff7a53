/* Batches as jobs see them: progress, what is proven together, whose spans are whose. */
#include "unit/engine/engine_fixture.h"
#include "engine/timeline.h"
#include <fcntl.h>

/* ---- TIMELINE lines ---- */

/* What goes to stderr from here on. */
static int redirect_stderr(const char *path)
{
    int old = dup(STDERR_FILENO), fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(old >= 0 && fd >= 0);
    assert_true(dup2(fd, STDERR_FILENO) >= 0);
    close(fd);
    return old;
}

static void restore_stderr(int old)
{
    assert_true(dup2(old, STDERR_FILENO) >= 0);
    close(old);
}

/* The lines of one partition: "EVENT,detail;" for each. Numbers of milliseconds are left out. */
static void lines_of(char *out, size_t size, const char *path, const char *job,
                     const char *partition)
{
    char line[2000];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = 0;
    out[0] = 0;
    while (fgets(line, sizeof line, file)) {
        char *save, *head = strtok_r(line, ",", &save), *ms = strtok_r(NULL, ",", &save);
        char *event = strtok_r(NULL, ",", &save), *id = strtok_r(NULL, ",", &save);
        char *detail = strtok_r(NULL, "\n", &save);
        if (strcmp(head, "TIMELINE") != 0)
            continue;
        assert_true(ms && event && id && detail);
        if (strcmp(id, job) != 0 || (partition && !strstr(detail, partition)))
            continue;
        char *took = strstr(detail, "_ms=");
        if (took)
            took[4] = 0;
        n += (size_t)snprintf(out + n, size - n, "%s,%s;", event, detail);
    }
    fclose(file);
}

static void test_all_six_lines_come_in_order(void **state)
{
    (void)state;
    fixture f;
    char path[128], got[1000];
    fixture_init(&f, 1);
    f.cfg.timeline_lines = true;
    fixture_start(&f);
    snprintf(path, sizeof path, "%s/lines", f.dir);
    int old = redirect_stderr(path);
    submit_post(&f, PROOF_WINDOW, 1, 2);
    submit_post(&f, PROOF_WINNING, 2, 1);
    job_state ends[2] = {wait_end(f.e, "window-1").state, wait_end(f.e, "winning-2").state};
    fixture_stop(&f);
    restore_stderr(old);
    assert_int_equal(ends[0], JOB_DONE);
    assert_int_equal(ends[1], JOB_DONE);
    lines_of(got, sizeof got, path, "window-1", "partition=1");
    assert_string_equal(got,
                        "SYNTH_START,partition=1;SYNTH_END,partition=1,synth_ms=;"
                        "GPU_QUEUE,partition=1;GPU_PICKUP,worker=0,partition=1;"
                        "GPU_START,worker=0,partition=1;GPU_END,worker=0,partition=1,gpu_ms=;");
    lines_of(got, sizeof got, path, "winning-2", NULL);
    assert_string_equal(got, "SYNTH_START,kind=winning-post;SYNTH_END,synth_ms=;"
                             "GPU_QUEUE,monolithic;GPU_PICKUP,worker=0;GPU_START,worker=0;"
                             "GPU_END,worker=0,gpu_ms=;");
    fixture_fini(&f);
}

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
        atomic_store(&f.dev[d].n_slices, 12);
        atomic_store(&f.dev[d].slice_ms, 25);
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

/* ---- shared batches ---- */

/* Two jobs that leave the queue at one moment. */
static void two_jobs_together(fixture *f, uint32_t n_first, uint32_t n_second)
{
    f->cfg.max_batch_size = 2;
    f->cfg.max_batch_wait_ms = 60000;
    fixture_start(f);
    submit_post(f, PROOF_WINDOW, 1, n_first);
    submit_post(f, PROOF_WINDOW, 2, n_second);
    assert_int_equal(wait_end(f->e, "window-1").state, JOB_DONE);
    assert_int_equal(wait_end(f->e, "window-2").state, JOB_DONE);
}

/* The device is idle when the first witness is there, and waits for those of both jobs. */
static void test_jobs_released_together_are_proven_together(void **state)
{
    (void)state;
    for (uint32_t n_threads = 1; n_threads <= 3; n_threads++) {
        fixture f;
        fixture_init(&f, 1);
        f.cfg.n_threads = n_threads;
        two_jobs_together(&f, 2, 2);
        assert_int_equal(atomic_load(&f.dev[0].n_batches), 1);
        assert_int_equal(atomic_load(&f.dev[0].largest), 4);
        fixture_fini(&f);
    }
}

/* Partitions of one number are not those of the other job. */
static void test_jobs_of_different_size_share_a_batch(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    two_jobs_together(&f, 1, 5);
    assert_int_equal(atomic_load(&f.dev[0].n_batches), 1);
    assert_int_equal(atomic_load(&f.dev[0].largest), 6);
    fixture_fini(&f);
}

static unsigned last_line(const char *path, const char *what)
{
    char line[2000];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    unsigned at = 0;
    for (unsigned n = 1; fgets(line, sizeof line, file); n++)
        at = strstr(line, what) ? n : at;
    fclose(file);
    assert_true(at > 0);
    return at;
}

/* A job that fills the device's batch does not wait for another one. */
static void test_a_full_batch_waits_for_nobody(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    char path[128];
    f.cfg_dev[0].batch_max = 2;
    f.cfg.n_threads = 1; /* the second job's witnesses come last */
    f.cfg.timeline_lines = true;
    snprintf(path, sizeof path, "%s/lines", f.dir);
    int old = redirect_stderr(path);
    two_jobs_together(&f, 2, 8);
    fixture_stop(&f);
    restore_stderr(old);
    assert_true(last_line(path, "GPU_START,window-1,") < last_line(path, "SYNTH_END,window-2,"));
    fixture_fini(&f);
}

/* ---- whose spans are whose ---- */

static bool is_idle(engine *e)
{
    engine_snapshot s;
    assert_ok(engine_get_snapshot(e, &s));
    bool idle = s.devices[0].job_id[0] == '\0';
    engine_snapshot_fini(&s);
    return idle;
}

/* A job may end before the batch that it shares, which has its spans until then. */
static timeline read_timeline(engine *e, const char *job_id)
{
    char *json = NULL;
    timeline t;
    for (int i = 0; i < 5000 && !is_idle(e); i++)
        sleep_ms(1);
    assert_ok(engine_get_timeline(e, job_id, &json));
    assert_ok(timeline_parse(&t, json, strlen(json)));
    mem_free(json);
    return t;
}

static uint32_t device_of(const timeline *t, const timeline_span *s)
{
    while (s->parent && strcmp(s->name, "device") != 0)
        s = &t->spans[s->parent - 1];
    return strcmp(s->name, "device") == 0 ? s->id : 0;
}

/* Each partition's proof is under a `device` once, nothing else has a number. Returns that of the
 * device spans. */
static uint32_t check_device_spans(const timeline *t, uint32_t n_parts)
{
    uint32_t n_of[8] = {0}, n_shared = 0, n_devices = 0;
    for (uint32_t i = 0; i < t->n_spans; i++) {
        const timeline_span *s = &t->spans[i];
        n_devices += strcmp(s->name, "device") == 0;
        if (!device_of(t, s))
            continue;
        n_shared += strcmp(s->name, "mask") == 0;
        if (s->partition >= (int32_t)n_parts)
            fail_msg("%s: span %s of partition %d", t->job_id, s->name, s->partition);
        if (s->partition >= 0)
            n_of[s->partition] += strcmp(s->name, "msm_h") == 0;
        else
            assert_string_not_equal(s->name, "msm_h");
    }
    for (uint32_t k = 0; k < n_parts; k++)
        if (n_of[k] != 1)
            fail_msg("%s: %u proofs of partition %u", t->job_id, n_of[k], k);
    assert_int_equal(n_shared, n_devices);
    return n_devices;
}

static void test_each_job_has_its_own_partitions(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    atomic_store(&f.dev[0].slice_ms, 100);
    two_jobs_together(&f, 2, 2);
    assert_int_equal(atomic_load(&f.dev[0].n_batches), 1);
    for (int i = 0; i < 2; i++) {
        timeline t = read_timeline(f.e, i ? "window-2" : "window-1");
        assert_int_equal(check_device_spans(&t, 2), 1);
        uint32_t n_companion = 0;
        for (uint32_t k = 0; k < t.n_spans; k++) {
            n_companion += strcmp(t.spans[k].name, "companion") == 0;
            if (strcmp(t.spans[k].name, "device") == 0)
                assert_string_equal(t.spans[k].device, "fake:0");
            /* the other job's proof takes 200 ms */
            if (strcmp(t.spans[k].name, "device") == 0 &&
                t.spans[k].unaccounted_ns > 100 * 1000000u) {
                assert_ok(timeline_write_table(&t, stderr));
                fail_msg("the other job's time is missing");
            }
        }
        assert_in_range(n_companion, 1, 2); /* 2 proofs, one after the other */
        timeline_fini(&t);
    }
    fixture_fini(&f);
}

static void test_later_batches_have_the_right_numbers(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    f.cfg_dev[0].batch_max = 2;
    fixture_start(&f);
    submit_post(&f, PROOF_WINDOW, 1, 5);
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_DONE);
    timeline t = read_timeline(f.e, "window-1");
    assert_int_equal(check_device_spans(&t, 5), 3);
    timeline_fini(&t);
    fixture_fini(&f);
}

/* ---- who proves how much ---- */

static cuzk_code prove_post(fixture *f, uint64_t seed, uint32_t n)
{
    char id[32];
    submit_post(f, PROOF_WINDOW, seed, n);
    snprintf(id, sizeof id, "window-%llu", (unsigned long long)seed);
    return wait_end(f->e, id).state == JOB_DONE ? CUZK_OK : CUZK_E_INTERNAL;
}

/* 300 ms for a partition against 20. */
static void test_a_slow_device_leaves_work_to_a_fast_one(void **state)
{
    (void)state;
    fixture f;
    uint64_t seed = 1;
    fixture_init(&f, 2);
    fixture_start(&f);
    atomic_store(&f.dev[0].n_slices, 2);
    atomic_store(&f.dev[0].slice_ms, 10);
    atomic_store(&f.dev[1].n_slices, 30);
    atomic_store(&f.dev[1].slice_ms, 10);
    while (atomic_load(&f.dev[1].n_proofs) == 0 && seed <= 20) /* until it is measured */
        assert_int_equal(prove_post(&f, seed++, 5), CUZK_OK);
    unsigned before = atomic_load(&f.dev[1].n_proofs);
    assert_true(before > 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(prove_post(&f, seed++, 5), CUZK_OK);
    /* one more if this machine kept the fast one for so long */
    assert_true(atomic_load(&f.dev[1].n_proofs) <= before + 1);
    /* of many it has its part */
    before = atomic_load(&f.dev[1].n_proofs);
    assert_int_equal(prove_post(&f, seed++, 30), CUZK_OK);
    assert_true(atomic_load(&f.dev[1].n_proofs) > before);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_six_lines_come_in_order),
        cmocka_unit_test(test_progress_never_falls),
        cmocka_unit_test(test_jobs_released_together_are_proven_together),
        cmocka_unit_test(test_jobs_of_different_size_share_a_batch),
        cmocka_unit_test(test_a_full_batch_waits_for_nobody),
        cmocka_unit_test(test_each_job_has_its_own_partitions),
        cmocka_unit_test(test_later_batches_have_the_right_numbers),
        cmocka_unit_test(test_a_slow_device_leaves_work_to_a_fast_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
