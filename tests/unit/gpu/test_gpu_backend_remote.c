/* The two processes of the CUDA backend, with a device process that only pretends to use a device:
 * it dies, fails and talks nonsense where it is told to. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/mem.h"
#include "gpu/gpu_backend_wire.h"
#include "gpu/gpu_process.h"
#include "gpu/random_shape.h"
#include "groth16/params_out.h"
#include "unit/gpu/pretended_device.h"

static void assert_ok(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s", cuzk_code_name(st.code), st.msg);
}

static void assert_code(cuzk_status st, cuzk_code code, const char *when)
{
    if (st.code != code)
        fail_msg("%s: expected %s, found %s: %s", when, cuzk_code_name(code),
                 cuzk_code_name(st.code), st.msg);
}

typedef struct circuit {
    r1cs_shape *shape;
    witness w[2];
    void *handle;
} circuit;

static g16_backend *cuda;
static circuit a, b;
static const run_ctx plain;
static const g16_toxic no_toxic;

static void circuit_make(circuit *c, uint64_t seed)
{
    assert_ok(random_shape_make(&c->shape, seed, 20));
    for (int i = 0; i < 2; i++)
        assert_ok(random_shape_witness(&c->w[i], c->shape, seed + 10 + (uint64_t)i));
}

/* Of that many field elements and bits, each in some row. */
static void circuit_of(circuit *c, int n_nums, int n_bits)
{
    cs x;
    *c = (circuit){0};
    assert_ok(cs_init_shape(&x, "sized"));
    r1cs_var in = cs_alloc_input(&x, &FR_ZERO);
    for (int i = 0; i < n_nums + n_bits; i++) {
        r1cs_var v = i < n_nums ? cs_alloc_num(&x, &FR_ZERO) : cs_alloc_bit(&x, false);
        cs_term(&x, (cs_side)0, &FR_ONE, v);
        cs_term(&x, (cs_side)1, &FR_ONE, in);
        cs_term(&x, (cs_side)2, &FR_ONE, v);
        cs_end_row(&x);
    }
    assert_ok(cs_finish_shape(&x, &c->shape));
    cs_fini(&x);
    for (uint64_t i = 0; i < 2; i++)
        assert_ok(random_shape_witness(&c->w[i], c->shape, 5 + i));
}

static void circuit_free(circuit *c)
{
    witness_fini(&c->w[0]);
    witness_fini(&c->w[1]);
    r1cs_shape_destroy(c->shape);
    *c = (circuit){0};
}

static cuzk_status circuit_load(circuit *c, const run_ctx *rc)
{
    g16_vk vk;
    cuzk_status st = g16_cuda_load_development(cuda, c->shape, &no_toxic, &vk, rc, &c->handle);
    if (st.code == CUZK_OK)
        assert_int_equal(vk.n_ic, r1cs_shape_counts(c->shape)->n_inputs);
    g16_vk_fini(&vk);
    return st;
}

static void circuit_unload(circuit *c)
{
    cuda->ops->unload(cuda, c->handle);
    c->handle = NULL;
}

static bool claim_all(void *ctx, size_t k)
{
    ++*(unsigned *)ctx;
    return k < 2;
}

/* Two proofs, compared. */
static cuzk_status prove(circuit *c, const run_ctx *rc)
{
    const witness *const w[] = {&c->w[0], &c->w[1]};
    g16_blinding rs[2];
    g16_proof out[2], want;
    unsigned n_claims = 0;
    memset(rs, 0x5a, sizeof rs);
    const g16_batch batch = {
        .n = 2, .w = w, .rs = rs, .out = out, .claim = claim_all, .ctx = &n_claims};
    cuzk_status st = cuda->ops->prove(cuda, c->handle, &batch, NULL, rc);
    if (st.code != CUZK_OK)
        return st;
    assert_int_equal(n_claims, 2);
    for (int i = 0; i < 2; i++) {
        sum_up(&want, w[i], &rs[i]);
        assert_memory_equal(&out[i], &want, sizeof want);
    }
    return st;
}

static void prove_both(void)
{
    assert_ok(prove(&a, &plain));
    assert_ok(prove(&b, &plain));
    assert_false(ctl->old_handle);
}

static void tell(event at, fault what) { ctl->at = at, ctl->what = what; }

static int set_up(void **state)
{
    (void)state;
    memset(ctl, 0, sizeof *ctl);
    assert_ok(g16_cuda_create(&cuda, &(g16_cuda_config){.device = "2"}));
    circuit_make(&a, 1);
    circuit_make(&b, 2);
    assert_ok(circuit_load(&a, &plain));
    assert_ok(circuit_load(&b, &plain));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    circuit_unload(&a);
    circuit_unload(&b);
    cuda->ops->destroy(cuda);
    circuit_free(&a);
    circuit_free(&b);
    return 0;
}

static void lose_process(void)
{
    tell(AT_PROVE, DIE);
    assert_code(prove(&a, &plain), CUZK_E_DEVICE_LOST, "death in a proof");
}

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

static cuzk_status to_file(void *ctx, const void *p, size_t n)
{
    return fwrite(p, 1, n, ctx) == n ? cuzk_ok() : cuzk_fail(CUZK_E_IO, "write");
}

static void write_key(const char *path, const r1cs_shape *s, uint64_t seed)
{
    g16_toxic t;
    for (size_t i = 0; i < sizeof t / sizeof(fr); i++)
        ((fr *)(void *)&t)[i] = random_shape_fr(&seed);
    (void)unlink(path);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_ok(g16_setup_stream(s, &t, (g16_sink){.ctx = f, .write = to_file}, &plain));
    assert_int_equal(fclose(f), 0);
}

/* Another key of the same sizes has taken the file's name when the device process starts again. */
static void test_replaced_key_file(void **state)
{
    (void)state;
    char path[] = "/tmp/test_gpu_backend_remote_XXXXXX";
    int fd = mkstemp(path);
    g16_key *key;
    circuit c;
    assert_true(fd >= 0);
    close(fd);
    circuit_of(&c, 20, 20);
    write_key(path, c.shape, 1);
    assert_ok(g16_key_open(&key, path));
    assert_ok(cuda->ops->load(cuda, c.shape, key, &plain, &c.handle));
    lose_process();
    assert_ok(prove(&c, &plain)); /* the same file still */
    write_key(path, c.shape, 2);
    lose_process();
    assert_code(prove(&c, &plain), CUZK_E_INPUT, "another file");
    prove_both();
    assert_code(prove(&c, &plain), CUZK_E_INPUT, "another file");
    circuit_unload(&c);
    g16_key_close(key);
    circuit_free(&c);
    unlink(path);
}

/* About the key of a 32 GiB PoRep: 45,179 MiB of points. docs/gpu.md has its plan: 92,640 MiB with ten
 * witnesses and two windows of h at once. */
static const g16_key_info porep_32g = {.n_ic = 26,
                                       .n = {[G16_H] = 134217727,
                                             [G16_L] = 130278869,
                                             [G16_A] = 127000000,
                                             [G16_B_G1] = 34000000,
                                             [G16_B_G2] = 34000000}};

/* Without the device process: there is none, or it is lost. */
static void test_plan_needs_no_device(void **state)
{
    (void)state;
    const uint64_t gib = (uint64_t)1 << 30;
    uint64_t need, available, again, limit;
    g16_key_info more = porep_32g;
    unsigned n = ctl->n_started;
    lose_process();
    cuda->ops->plan(cuda, &need, &available, &porep_32g);
    assert_int_equal(available, 80 * gib - ((uint64_t)768 << 20));
    assert_in_range(need, 60 * gib, 92640 * ((uint64_t)1 << 20));
    assert_int_equal(ctl->n_started, n);
    for (int s = 0; s < G16_N_SECTIONS; s++) { /* a point costs its size at least */
        more.n[s]++;
        cuda->ops->plan(cuda, &again, &available, &more);
        assert_true(again >= need + (s == G16_B_G2 ? 192 : 96));
        need = again;
    }
    g16_backend *small;
    memset(ctl, 0, sizeof *ctl);
    assert_ok(g16_cuda_create(&small, &(g16_cuda_config){.device = "2", .memory_bytes = 24 * gib}));
    small->ops->plan(small, &again, &limit, &more);
    assert_int_equal(again, need);
    assert_int_equal(limit, 24 * gib);
    small->ops->destroy(small);
    prove_both();
}

typedef struct loading {
    g16_backend *b;
    const r1cs_shape *shape;
    const g16_key *key;
    void *handle;
    cuzk_status st;
} loading;

static void *load_main(void *arg)
{
    loading *l = arg;
    l->st = l->b->ops->load(l->b, l->shape, l->key, &plain, &l->handle);
    return NULL;
}

static uint64_t points_bytes(const g16_key *key)
{
    uint64_t bytes = 0;
    for (int s = 0; s < G16_N_SECTIONS; s++)
        bytes += (uint64_t)g16_key_get_info(key)->n[s] * (s == G16_B_G2 ? 192 : 96);
    return bytes;
}

/* On two devices at the same time; one may be told to fail. Then both load again. */
static void load_on_two(g16_backend *two, const r1cs_shape *shape, const g16_key *key,
                        cuzk_code one_fails)
{
    pthread_t thread;
    loading l[2] = {{.b = cuda, .shape = shape, .key = key},
                    {.b = two, .shape = shape, .key = key}};
    ctl->n_together = one_fails == CUZK_OK ? UINT32_MAX : 1;
    ctl->n_pieces = 0;
    assert_int_equal(pthread_create(&thread, NULL, load_main, &l[1]), 0);
    load_main(&l[0]);
    pthread_join(thread, NULL);
    ctl->n_together = 0;
    unsigned n_ok = 0;
    for (int i = 0; i < 2; i++) {
        n_ok += l[i].st.code == CUZK_OK;
        if (l[i].st.code != CUZK_OK)
            assert_code(l[i].st, one_fails, "the one that was told to");
        l[i].b->ops->unload(l[i].b, l[i].handle);
    }
    assert_int_equal(n_ok, one_fails == CUZK_OK ? 2 : 1);
    assert_int_equal(ctl->what, NOTHING);
}

/* The devices' processes know of each other's reading; what becomes of one does not touch the
 * other. */
static void test_two_devices_read_one_file(void **state)
{
    (void)state;
    char path[] = "/tmp/test_gpu_backend_remote_XXXXXX";
    int fd = mkstemp(path);
    g16_key *key;
    g16_backend *two;
    circuit c;
    assert_true(fd >= 0);
    close(fd);
    circuit_of(&c, 40, 40);
    write_key(path, c.shape, 1);
    assert_ok(g16_key_open(&key, path));
    assert_ok(g16_cuda_create(&two, &(g16_cuda_config){.device = card.uuid}));
    gpu_read_counts c0 = gpu_read_group_counts(gpu_read_group_here());
    load_on_two(two, c.shape, key, CUZK_OK);
    gpu_read_counts c1 = gpu_read_group_counts(gpu_read_group_here());
    uint64_t first = c1.first_bytes - c0.first_bytes, shared = c1.shared_bytes - c0.shared_bytes;
    assert_int_equal(first + shared, 2 * points_bytes(key));
    assert_true(shared >= points_bytes(key) - 1000); /* one may leave before the other's last */
    tell(AT_PIECE, DIE);
    load_on_two(two, c.shape, key, CUZK_E_DEVICE_LOST);
    tell(AT_PIECE, FAIL);
    ctl->code = CUZK_E_INPUT;
    load_on_two(two, c.shape, key, CUZK_E_INPUT);
    load_on_two(two, c.shape, key, CUZK_OK);
    two->ops->destroy(two);
    g16_key_close(key);
    circuit_free(&c);
    unlink(path);
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
        cmocka_unit_test_setup_teardown(test_replaced_key_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_devices_read_one_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_plan_needs_no_device, set_up, tear_down),
    };
    ctl = mmap(NULL, sizeof *ctl, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (ctl == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
