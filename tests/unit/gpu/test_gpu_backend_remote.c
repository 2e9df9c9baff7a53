/* The two processes of the CUDA backend: the device process dies, fails and talks nonsense where it is
 * told to. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/mem.h"
#include "gpu/gpu_backend_wire.h"
#include "gpu/gpu_process.h"
#include "unit/gpu/remote_fixture.h"

static void test_proofs_and_description(void **state)
{
    (void)state;
    char text[256];
    prove_both();
    cuda->ops->describe(cuda, text, sizeof text);
    assert_non_null(strstr(text, "cuda:2 (Pretence"));
    assert_int_equal(g16_cuda_get_memory(cuda).device_bytes, 5);
    assert_int_equal(ctl->n_started, 1);
}

/* More values than one piece of a copy holds, in no multiple of it. */
static void test_spans_have_the_batchs_numbers(void **state)
{
    (void)state;
    static const int32_t names[2] = {9, 4};
    const witness *const w[] = {&a.w[0], &a.w[1]};
    g16_blinding rs[2] = {0};
    g16_proof out[2];
    span_rec *spans;
    assert_ok(span_rec_create(&spans, 100));
    const run_ctx rc = {.spans = spans};
    const g16_batch batch = {.n = 2, .w = w, .rs = rs, .out = out, .partition = names};
    assert_ok(cuda->ops->prove(cuda, a.handle, &batch, NULL, &rc));
    unsigned n = 0;
    for (uint32_t i = 0; i < span_count(spans); i++) {
        span_view v = span_get(spans, i);
        if (strcmp(v.name, "msm_h") == 0)
            assert_int_equal(v.partition, names[n++]);
    }
    assert_int_equal(n, 2);
    span_rec_destroy(spans);
}

static void test_large_witness(void **state)
{
    (void)state;
    circuit c;
    circuit_of(&c, 300001, 5001);
    assert_ok(circuit_load(&c, &plain));
    assert_ok(prove(&c, &plain));
    circuit_unload(&c);
    circuit_free(&c);
}

static void test_death_at_each_command(void **state)
{
    (void)state;
    for (event at = AT_LOAD; at < N_EVENTS; at++) {
        unsigned n = ctl->n_started;
        circuit c = {0};
        circuit_make(&c, 3);
        if (at == AT_UNLOAD)
            assert_ok(circuit_load(&c, &plain));
        tell(at, DIE);
        if (at == AT_LOAD)
            assert_code(circuit_load(&c, &plain), CUZK_E_DEVICE_LOST, event_name[at]);
        else if (at == AT_UNLOAD)
            circuit_unload(&c);
        else
            assert_code(prove(&a, &plain), CUZK_E_DEVICE_LOST, event_name[at]);
        assert_int_equal(ctl->what, NOTHING);
        prove_both();
        assert_int_equal(ctl->n_started, n + 1);
        circuit_free(&c);
    }
    assert_int_equal(g16_cuda_device(cuda)->ordinal, 2);
}

static void test_death_while_starting_again(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        lose_process();
        tell(i ? AT_LOAD : AT_START, DIE);
        assert_code(prove(&b, &plain), CUZK_E_DEVICE_LOST, "death in recovery");
        prove_both();
    }
    lose_process();
    circuit_unload(&a); /* nothing is there to unload it */
    assert_int_equal(ctl->n_unloads, 0);
    assert_ok(circuit_load(&a, &plain));
    prove_both();
}

typedef struct inside {
    unsigned n, die_at; /* yields from 1 on; 0: never */
    cuzk_status st, again;
} inside;

static void prove_inside(void *ctx)
{
    inside *i = ctx;
    if (++i->n == i->die_at)
        tell(AT_PROVE, DIE);
    else if (i->die_at && i->n > i->die_at)
        return;
    i->st = prove(&b, &plain);
    if (i->n == i->die_at)
        i->again = prove(&b, &plain);
}

static bool after_some(void *ctx)
{
    unsigned *left = ctx;
    return *left == 0 || --*left == 0;
}

/* Whichever load the cancel hits, all circuits prove afterwards. */
static void test_cancel_in_recovery(void **state)
{
    (void)state;
    for (unsigned k = 1; k <= 6; k++) {
        unsigned left = k;
        run_ctx rc = {.cancelled = after_some, .cancel_ctx = &left};
        lose_process();
        assert_code(prove(&a, &rc), CUZK_E_CANCELLED, "cancelled recovery");
        inside i = {.st = cuzk_ok()};
        rc = (run_ctx){.yield = prove_inside, .yield_ctx = &i};
        assert_ok(prove(&a, &rc)); /* which has b brought back, too */
        assert_ok(i.st);
        prove_both();
    }
}

static void test_failed_loads_are_tried_again(void **state)
{
    (void)state;
    ctl->code = CUZK_E_NOMEM;
    lose_process(); /* b is the first to come back: loaded last */
    tell(AT_LOAD, FAIL);
    assert_ok(prove(&a, &plain));
    unsigned n_loads = ctl->n_loads;
    assert_ok(prove(&a, &plain)); /* without another try for b */
    assert_int_equal(ctl->n_loads, n_loads);
    tell(AT_LOAD, FAIL);
    assert_code(prove(&b, &plain), CUZK_E_NOMEM, "b itself");
    prove_both();
}

/* What runs inside finds its circuit there, or does not run. */
static void test_yield_in_recovery_and_loads(void **state)
{
    (void)state;
    inside i = {.st = cuzk_ok()};
    run_ctx rc = {.yield = prove_inside, .yield_ctx = &i};
    circuit c = {0};
    circuit_make(&c, 3);
    assert_ok(circuit_load(&c, &rc));
    assert_int_equal(i.n, 0);
    lose_process();
    assert_ok(prove(&a, &rc));
    assert_true(i.n > 0);
    assert_ok(i.st);
    prove_both();
    circuit_unload(&c);
    circuit_free(&c);
}

/* While the batch is copied, and in the command: no other process starts below the proof. */
static void test_death_inside_another_proof(void **state)
{
    (void)state;
    for (unsigned at = 1; at <= 2; at++) {
        inside i = {.die_at = at, .st = cuzk_ok(), .again = cuzk_ok()};
        run_ctx rc = {.yield = prove_inside, .yield_ctx = &i};
        unsigned n = ctl->n_started;
        assert_code(prove(&a, &rc), CUZK_E_DEVICE_LOST, "the proof further up");
        assert_code(i.st, CUZK_E_DEVICE_LOST, "the one inside");
        assert_code(i.again, CUZK_E_DEVICE_LOST, "the next one inside");
        assert_int_equal(ctl->n_started, n);
        prove_both();
        assert_int_equal(ctl->n_started, n + 1);
    }
}

static void unload_b(void *ctx)
{
    inside *i = ctx;
    if (i->n++ == 1)
        circuit_unload(&b);
}

static void test_unload_inside_a_proof(void **state)
{
    (void)state;
    inside i = {.st = cuzk_ok()};
    run_ctx rc = {.yield = unload_b, .yield_ctx = &i};
    assert_ok(prove(&a, &rc));
    assert_null(b.handle);
    assert_int_equal(ctl->n_unloads, 1);
    assert_ok(circuit_load(&b, &plain));
    prove_both();
}

static void test_nonsense_is_refused(void **state)
{
    (void)state;
    for (fault what = WRONG_PROOF; what <= WRONG_KIND; what++) {
        tell(AT_PROVE, what);
        assert_code(prove(&a, &plain), CUZK_E_DEVICE_LOST, "in a proof");
        prove_both();
        circuit c = {0};
        circuit_make(&c, 3);
        tell(AT_LOAD, what);
        assert_code(circuit_load(&c, &plain), CUZK_E_DEVICE_LOST, "in a load");
        prove_both();
        circuit_free(&c);
    }
}

/* The device process ends when it is out of step. */
static void test_worker_refuses_nonsense(void **state)
{
    (void)state;
    const gpu_msg m[] = {{.kind = GPU_MSG_GO_ON, .yes = true}, {.kind = (gpu_msg_kind)99}};
    for (size_t i = 0; i < ARRAY_LEN(m); i++) {
        int fd[2];
        gpu_hello hello;
        gpu_msg got;
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
        pid_t pid = fork();
        if (pid == 0)
            gpu_worker_run(fd[1], &(g16_cuda_config){.device = card.uuid});
        close(fd[1]);
        assert_int_equal(recv(fd[0], &hello, sizeof hello, 0), sizeof hello);
        assert_ok(hello.st);
        assert_true(gpu_msg_send(fd[0], &m[i]));
        assert_false(gpu_msg_receive(fd[0], &got));
        close(fd[0]);
        assert_true(gpu_process_end(pid));
    }
}

/* Nothing of a batch stays in shared memory, however it ended. Circuits in turn: each proof looks
 * at where the one before had its values. */
static void test_batches_are_cleared(void **state)
{
    (void)state;
    unsigned left = 2; /* in the proof */
    run_ctx rc = {.cancelled = after_some, .cancel_ctx = &left};
    assert_ok(prove(&a, &plain));
    assert_true(ctl->secret_bytes > 0);
    assert_ok(prove(&b, &plain));
    assert_code(prove(&a, &rc), CUZK_E_CANCELLED, "cancelled");
    assert_ok(prove(&b, &plain));
    left = 1; /* in the copy */
    assert_code(prove(&b, &rc), CUZK_E_CANCELLED, "cancelled copy");
    assert_ok(prove(&a, &plain));
    assert_ok(prove(&b, &plain));
    lose_process(); /* with a's */
    assert_ok(prove(&b, &plain));
    assert_false(ctl->left_over);
}

static void test_failed_self_test_takes_another_process(void **state)
{
    (void)state;
    unsigned n = ctl->n_started;
    ctl->code = CUZK_E_DEVICE;
    tell(AT_LOAD, FAIL);
    assert_code(cuda->ops->self_test(cuda, &plain), CUZK_E_DEVICE_LOST, "self test");
    prove_both();
    assert_int_equal(ctl->n_started, n + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_proofs_and_description, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spans_have_the_batchs_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large_witness, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_death_at_each_command, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_death_while_starting_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cancel_in_recovery, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failed_loads_are_tried_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_yield_in_recovery_and_loads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_death_inside_another_proof, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unload_inside_a_proof, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nonsense_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_worker_refuses_nonsense, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_batches_are_cleared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failed_self_test_takes_another_process, set_up,
                                        tear_down),
    };
    return map_control() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
