/* Where the time goes: spans, times that add up, the ghost; and that no wrong proof gets out. */
#include "unit/engine/inside.h"
#include "engine/fault.h"
#include "engine/timeline.h"
#include "groth16/vk.h"

static timeline read_timeline(engine *e, const char *job_id)
{
    char *json = NULL;
    timeline t;
    assert_ok(engine_get_timeline(e, job_id, &json)); /* at any time after the start */
    assert_ok(timeline_parse(&t, json, strlen(json)));
    mem_free(json);
    return t;
}

static const timeline_span *find(const timeline *t, const char *name)
{
    for (uint32_t i = 0; i < t->n_spans; i++)
        if (strcmp(t->spans[i].name, name) == 0)
            return &t->spans[i];
    return NULL;
}

static void test_the_tree_has_every_stage(void **state)
{
    (void)state;
    static const char *const names[] = {"job",    "request", "decode",      "check",
                                        "queue",  "witness", "device_wait", "device",
                                        "verify", "journal", "host_wait"};
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    submit_post(&f, PROOF_WINDOW, 1, 3);
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_DONE);
    timeline t = read_timeline(f.e, "window-1");
    assert_string_equal(t.job_id, "window-1");
    assert_string_equal(t.spans[0].name, "job");
    assert_int_equal(t.spans[0].parent, 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!find(&t, names[i]))
            fail_msg("no span %s", names[i]);
    assert_string_equal(find(&t, "device")->device, "fake:0");
    assert_string_equal(find(&t, "witness")->device, "");
    timeline_fini(&t);
    fixture_fini(&f);
}

static void test_times_add_up_to_the_total(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    atomic_store(&f.dev[0].n_slices, 5);
    atomic_store(&f.dev[0].slice_ms, 10);
    submit_post(&f, PROOF_WINDOW, 1, 3);
    job_view v = wait_end(f.e, "window-1");
    const job_times *t = &v.times;
    uint64_t sum = t->queue_wait_ms + t->key_load_ms + t->witness_ms + t->device_ms + t->verify_ms;
    assert_true(t->device_ms >= 150); /* one after the other, as it was */
    assert_true(sum <= t->total_ms);
    /* What is left is the journal's and what rounding takes. */
    if (t->total_ms - sum > 100)
        fail_msg("total %llu, sum %llu", (unsigned long long)t->total_ms, (unsigned long long)sum);
    engine_snapshot s;
    assert_ok(engine_get_snapshot(f.e, &s));
    for (int g = 0; g < ENGINE_N_STAGES; g++) {
        uint64_t n = 0;
        for (uint32_t i = 0; i <= ENGINE_HIST_BUCKETS; i++)
            n += s.stages[PROOF_WINDOW][g].count[i];
        if (n == 0)
            fail_msg("nothing observed for stage %s", ENGINE_STAGE_NAMES[g]);
    }
    engine_snapshot_fini(&s);
    fixture_fini(&f);
}

static double unaccounted(engine *e)
{
    engine_snapshot s;
    assert_ok(engine_get_snapshot(e, &s));
    double v = s.unaccounted_seconds;
    engine_snapshot_fini(&s);
    return v;
}

#ifdef CUZK_TEST_HOOKS
/* Never too little of it; false: too much, the machine took time away elsewhere. */
static bool ghost_is_measured(fixture *f, uint64_t seed)
{
    char id[32];
    idle_memory(f->e); /* and what went before is counted */
    double before = unaccounted(f->e), slept0 = (double)fault_slept_ns() / 1e9;
    fault_set(&(fault_plan){.ghost_ms = 200});
    submit_post(f, PROOF_WINNING, seed, 1);
    snprintf(id, sizeof id, "winning-%llu", (unsigned long long)seed);
    assert_int_equal(wait_end(f->e, id).state, JOB_DONE);
    fault_set(&(fault_plan){0});
    double slept = (double)fault_slept_ns() / 1e9 - slept0, gap = 0;
    for (int i = 0; i < 5000 && gap < 0.95 * slept; i++, sleep_ms(1))
        gap = unaccounted(f->e) - before;
    timeline t = read_timeline(f->e, id);
    assert_true(timeline_is_gap(&t.spans[0]));
    timeline_fini(&t);
    if (slept < 0.2 || gap < 0.95 * slept)
        fail_msg("the ghost is %.3f s, it slept %.3f", gap, slept);
    bool is_near = gap <= 1.05 * slept + 0.005;
    if (!is_near)
        printf("the ghost is %.3f s, it slept %.3f\n", gap, slept);
    return is_near;
}

/* 200 ms that no span covers are found, to 5 %; on a busy machine in one of a few attempts. */
static void test_the_ghost_is_seen(void **state)
{
    (void)state;
    fixture f;
    bool is_measured = false;
    fixture_init(&f, 1);
    fixture_start(&f);
    submit_post(&f, PROOF_WINNING, 1, 1);
    wait_end(f.e, "winning-1");
    for (uint64_t seed = 2; seed < 7 && !is_measured; seed++)
        is_measured = ghost_is_measured(&f, seed);
    assert_true(is_measured);
    fixture_fini(&f);
}

/* The delivered proof against the statement, made anew. */
static void check_delivered(fixture *f, const char *job_id, uint64_t seed, const g16_pvk *pvk)
{
    job_request r;
    uint8_t *bytes;
    size_t len;
    arena a = {0};
    fil_post p;
    g16_proof proof;
    post_request(&r, PROOF_WINDOW, seed, 1);
    const uint8_t *files[2] = {r.vanilla_proofs[0].p, r.vanilla_proofs[1].p};
    const size_t lens[2] = {r.vanilla_proofs[0].len, r.vanilla_proofs[1].len};
    fil_post_context ctx = {0};
    memcpy(ctx.randomness, r.randomness.p, 32);
    fil_prover_id(ctx.prover_id, r.miner_id);
    assert_ok(fil_post_decode(&p, &a, fil_post_proof_by_id(10), files, lens, 2));
    assert_ok(fil_post_check(&p, &ctx, NULL));
    fr *in = calloc(fil_post_n_public(&p), sizeof *in);
    fil_post_public_inputs(&p, 0, in);
    assert_ok(engine_get_proof(f->e, job_id, &bytes, &len));
    assert_ok(g16_proof_decode(&proof, bytes, len));
    assert_ok(g16_verify(pvk, in, fil_post_n_public(&p), &proof));
    free(in);
    mem_free(bytes);
    arena_fini(&a);
    job_request_fini(&r);
}

/* One proof in five leaves its device with a flipped bit: each is caught, none is delivered. */
static void test_no_flipped_proof_is_delivered(void **state)
{
    (void)state;
    enum { N = 100 };
    fixture f;
    g16_key *key;
    g16_pvk *pvk;
    char path[400], stem[PROOF_STEM_MAX];
    circuit_id id;
    fixture_init(&f, 2);
    atomic_store(&f.dev[0].n_slices, 0);
    atomic_store(&f.dev[1].n_slices, 0);
    fixture_start(&f);
    assert_ok(circuit_id_parse(&id, "wpost-2k"));
    circuit_id_param_stem(stem, &id);
    snprintf(path, sizeof path, "%s/%s.params", f.dir, stem);
    assert_ok(g16_key_open(&key, path));
    assert_ok(g16_pvk_create(&pvk, g16_key_vk(key)));
    uint64_t hits = fault_hits();
    fault_set(&(fault_plan){.proof_percent = 20});
    unsigned n_done = 0, n_failed = 0;
    for (uint64_t i = 1; i <= N; i++) {
        submit_post(&f, PROOF_WINDOW, i, 1);
        char job_id[32];
        snprintf(job_id, sizeof job_id, "window-%llu", (unsigned long long)i);
        job_view v = wait_end(f.e, job_id);
        n_failed += v.state == JOB_FAILED;
        if (v.state != JOB_DONE)
            continue;
        n_done++;
        check_delivered(&f, job_id, i, pvk);
    }
    fault_set(&(fault_plan){0});
    hits = fault_hits() - hits;
    engine_snapshot s;
    assert_ok(engine_get_snapshot(f.e, &s));
    assert_int_equal(s.self_check_failures, hits);
    assert_true(hits > 0);
    assert_int_equal(n_done + n_failed, N);
    assert_true(n_done > N / 2);
    engine_snapshot_fini(&s);
    g16_pvk_destroy(pvk);
    g16_key_close(key);
    fixture_fini(&f);
}
#endif

static void test_a_clean_job_has_no_gap(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, 1);
    fixture_start(&f);
    submit_post(&f, PROOF_WINDOW, 1, 4);
    assert_int_equal(wait_end(f.e, "window-1").state, JOB_DONE);
    timeline t = read_timeline(f.e, "window-1");
    assert_int_equal(t.n_dropped, 0);
    for (uint32_t i = 0; i < t.n_spans; i++)
        if (timeline_is_gap(&t.spans[i])) {
            assert_ok(timeline_write_gaps(&t, stderr));
            assert_ok(timeline_write_table(&t, stderr));
            fail_msg("span %s has %.1f ms unaccounted", t.spans[i].name,
                     (double)t.spans[i].unaccounted_ns / 1e6);
        }
    timeline_fini(&t);
    fixture_fini(&f);
}

static void set_times(job_request *r, uint64_t ago_ms, uint64_t gate_ms, uint64_t receive_ms)
{
    r->received_ns = clock_now_ns() - ago_ms * 1000000u;
    r->admitted_ns = r->received_ns + gate_ms * 1000000u;
    r->body_ns = r->admitted_ns + receive_ms * 1000000u;
}

/* The job's time begins when the call came, and the same request sent again does not change it. */
static void test_the_way_through_the_transport_is_in_the_job(void **state)
{
    static const struct {
        const char *name;
        uint64_t ms;
    } want[] = {{"gate", 200}, {"receive", 400}, {"read", 100}};
    (void)state;
    fixture f;
    job_request r;
    fixture_init(&f, 1);
    fixture_start(&f);
    post_request(&r, PROOF_WINDOW, 1, 1);
    set_times(&r, 700, 200, 400);
    engine_submitted first = submit_and_wait(f.e, &r);
    assert_ok(first.st);
    post_request(&r, PROOF_WINDOW, 1, 1);
    set_times(&r, 600000, 1000, 1000);
    engine_submitted again = submit_and_wait(f.e, &r);
    assert_ok(again.st);
    assert_true(again.existing);
    assert_true(again.view.created_unix_ms == first.view.created_unix_ms);
    job_view v = wait_end(f.e, "window-1");
    assert_true(v.times.queue_wait_ms >= 700 && v.times.total_ms >= v.times.queue_wait_ms);
    assert_true(v.times.total_ms < 300000);
    timeline t = read_timeline(f.e, "window-1");
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const timeline_span *s = find(&t, want[i].name);
        assert_non_null(s);
        assert_int_equal(s->parent, 1);
        uint64_t ms = (s->end_ns - s->start_ns) / 1000000u;
        if (ms < want[i].ms || (i < 2 && ms != want[i].ms))
            fail_msg("%s has %llu ms", s->name, (unsigned long long)ms);
    }
    assert_true(find(&t, "gate")->start_ns == 0);
    assert_true(find(&t, "request")->start_ns == find(&t, "read")->end_ns);
    assert_false(timeline_is_gap(&t.spans[0]));
    timeline_fini(&t);
    submit_post(&f, PROOF_WINDOW, 2, 1); /* without a transport: none of these spans */
    wait_end(f.e, "window-2");
    t = read_timeline(f.e, "window-2");
    assert_null(find(&t, "gate"));
    timeline_fini(&t);
    fixture_fini(&f);
}

static void test_the_newest_timelines_are_kept(void **state)
{
    (void)state;
    fixture f;
    char *json;
    fixture_init(&f, 1);
    f.cfg.timeline_jobs = 2;
    fixture_start(&f);
    for (uint64_t i = 1; i <= 4; i++) {
        char id[32];
        submit_post(&f, PROOF_WINNING, i, 1);
        snprintf(id, sizeof id, "winning-%llu", (unsigned long long)i);
        wait_end(f.e, id);
        timeline t = read_timeline(f.e, id);
        timeline_fini(&t);
        sleep_ms(20);
    }
    assert_int_equal(engine_get_timeline(f.e, "winning-1", &json).code, CUZK_E_NOT_FOUND);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_tree_has_every_stage),
        cmocka_unit_test(test_times_add_up_to_the_total),
#ifdef CUZK_TEST_HOOKS
        cmocka_unit_test(test_the_ghost_is_seen),
        cmocka_unit_test(test_no_flipped_proof_is_delivered),
#endif
        cmocka_unit_test(test_a_clean_job_has_no_gap),
        cmocka_unit_test(test_the_way_through_the_transport_is_in_the_job),
        cmocka_unit_test(test_the_newest_timelines_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
