/* Whose loops go first in the thread pool: what a device is told. */
#include "unit/engine/engine_fixture.h"

/* Calls with a context that is urgent, and with one that is not. */
typedef struct calls {
    atomic_uint urgent, others;
} calls;
static calls proofs, loads, tests;

static void count_call(calls *c, const run_ctx *rc)
{
    atomic_fetch_add(rc->is_urgent ? &c->urgent : &c->others, 1);
}

static cuzk_status counted_load(g16_backend *b, const r1cs_shape *s, const g16_key *k,
                                const run_ctx *rc, void **handle)
{
    /* Only loads for a batch have spans: one in advance would take its place. */
    if (!rc->spans)
        return cuzk_fail(CUZK_E_NOMEM, "no load in advance");
    count_call(&loads, rc);
    return fake_load(b, s, k, rc, handle);
}

static cuzk_status counted_prove(g16_backend *b, void *handle, const g16_batch *batch,
                                 g16_timings *t, const run_ctx *rc)
{
    count_call(&proofs, rc);
    return fake_prove(b, handle, batch, t, rc);
}

static cuzk_status counted_self_test(g16_backend *b, const run_ctx *rc)
{
    count_call(&tests, rc);
    return fake_self_test(b, rc);
}

static void check_calls(const char *what, calls *c, unsigned urgent, unsigned others)
{
    unsigned u = atomic_exchange(&c->urgent, 0), o = atomic_exchange(&c->others, 0);
    if (u != urgent || o != others)
        fail_msg("%s: %u urgent and %u others, want %u and %u", what, u, o, urgent, others);
}

static void test_a_batch_is_as_urgent_as_its_job(void **state)
{
    (void)state;
    static const struct {
        proof_kind kind;
        job_priority priority;
        bool is_urgent;
    } cases[] = {
        {PROOF_WINDOW, JOB_LOW, false},
        {PROOF_WINDOW, JOB_NORMAL, false},
        {PROOF_WINDOW, JOB_HIGH, true},
        {PROOF_WINNING, JOB_CRITICAL, true},
    };
    g16_backend_ops ops = fake_ops;
    ops.load = counted_load;
    ops.prove = counted_prove;
    ops.self_test = counted_self_test;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        job_request r;
        unsigned u = cases[i].is_urgent;
        fixture_init(&f, 1);
        f.dev[0].base.ops = &ops;
        fixture_start(&f);
        check_calls("self-tests", &tests, 1, 0);
        post_request(&r, cases[i].kind, 1, 1);
        r.priority = cases[i].priority;
        engine_submitted s = submit_and_wait(f.e, &r);
        assert_ok(s.st);
        assert_int_equal(wait_end(f.e, s.view.job_id).state, JOB_DONE);
        check_calls(JOB_PRIORITY_NAMES[cases[i].priority], &proofs, u, 1 - u);
        check_calls("its loads", &loads, u, 1 - u);
        fixture_fini(&f);
    }
}

/* The one after a fault too. */
static void test_self_tests_are_urgent(void **state)
{
    (void)state;
    fixture f;
    g16_backend_ops ops = fake_ops;
    ops.self_test = counted_self_test;
    fixture_init(&f, 1);
    f.dev[0].base.ops = &ops;
    fixture_start(&f);
    atomic_store(&f.dev[0].fail_code, CUZK_E_DEVICE);
    atomic_store(&f.dev[0].n_fail, 1);
    job_view v = submit_post(&f, PROOF_WINDOW, 1, 1);
    assert_int_equal(wait_end(f.e, v.job_id).state, JOB_DONE);
    check_calls("self-tests", &tests, 2, 0);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest list[] = {
        cmocka_unit_test(test_a_batch_is_as_urgent_as_its_job),
        cmocka_unit_test(test_self_tests_are_urgent),
    };
    return cmocka_run_group_tests(list, NULL, NULL);
}
