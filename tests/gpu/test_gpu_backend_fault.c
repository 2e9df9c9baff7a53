/* The device process: the same bytes through it, urgent proofs inside others, cancel, spans, and
 * faults, after which the next proof works with this process. Nothing here uses the driver itself. */
#include "backend_fixture.h"
#include "base/span_names.h"
#include "fault_fixture.h"
#include "late_fixture.h"
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static pool *threads;
static run_ctx rc;
static g16_backend *cuda, *cpu;

/* Seen by the device process too: the slice at which it breaks the device; 0: never. */
static volatile unsigned *break_at;

static void at_slice(void *ctx)
{
    volatile unsigned *at = ctx;
    if (*at > 0 && --*at == 0)
        (void)fixture_fault();
}

typedef struct circuit {
    r1cs_shape *shape;
    witness w[2];
    fx_key key;
    g16_vk vk;
    g16_pvk *pvk;
    void *on_cuda, *on_cpu; /* on_cpu NULL: a key of the device */
} circuit;

static void circuit_load(circuit *c, const fx_mix *m, bool device_key)
{
    g16_toxic t;
    *c = (circuit){.shape = fx_shape(m)};
    for (uint64_t i = 0; i < ARRAY_LEN(c->w); i++)
        fx_witness(&c->w[i], c->shape, m, m->seed + 1 + i);
    assert_ok(g16_toxic_random(&t));
    if (device_key) {
        assert_ok(g16_cuda_load_development(cuda, c->shape, &t, &c->vk, &rc, &c->on_cuda));
        assert_ok(g16_pvk_create(&c->pvk, &c->vk));
        return;
    }
    fx_key_make(&c->key, c->shape, &t, &rc);
    assert_ok(g16_pvk_create(&c->pvk, g16_key_vk(c->key.key)));
    assert_ok(cuda->ops->load(cuda, c->shape, c->key.key, &rc, &c->on_cuda));
    assert_ok(cpu->ops->load(cpu, c->shape, c->key.key, &rc, &c->on_cpu));
}

static void circuit_free(circuit *c)
{
    cuda->ops->unload(cuda, c->on_cuda);
    if (c->on_cpu)
        cpu->ops->unload(cpu, c->on_cpu);
    g16_pvk_destroy(c->pvk);
    g16_vk_fini(&c->vk);
    if (c->key.key)
        fx_key_free(&c->key);
    for (size_t i = 0; i < ARRAY_LEN(c->w); i++)
        witness_fini(&c->w[i]);
    r1cs_shape_destroy(c->shape);
}

static cuzk_status prove_one(const circuit *c, const run_ctx *with)
{
    const witness *w = &c->w[0];
    g16_blinding rs;
    g16_proof p;
    assert_ok(g16_blinding_random(&rs));
    cuzk_status st = g16_prove(cuda, c->on_cuda, &w, &rs, 1, &p, NULL, with);
    if (st.code == CUZK_OK)
        assert_ok(g16_verify(c->pvk, w->inputs + 1, 3, &p));
    else
        assert_true(g1_aff_is_inf(&p.a));
    return st;
}

#define N_BATCH 12

static void prove_both(const circuit *c)
{
    const witness *ws[N_BATCH];
    g16_blinding rs[N_BATCH];
    g16_proof got[N_BATCH], want[N_BATCH];
    for (size_t k = 0; k < N_BATCH; k++) {
        ws[k] = &c->w[k % 2];
        assert_ok(g16_blinding_random(&rs[k]));
    }
    assert_ok(g16_prove(cuda, c->on_cuda, ws, rs, N_BATCH, got, NULL, &rc));
    if (c->on_cpu)
        assert_ok(g16_prove(cpu, c->on_cpu, ws, rs, N_BATCH, want, NULL, &rc));
    for (size_t k = 0; k < N_BATCH; k++) {
        uint8_t a[G16_PROOF_BYTES], b[G16_PROOF_BYTES];
        assert_ok(g16_verify(c->pvk, ws[k]->inputs + 1, 3, &got[k]));
        if (!c->on_cpu)
            continue;
        g16_proof_encode(a, &got[k]);
        g16_proof_encode(b, &want[k]);
        assert_memory_equal(a, b, sizeof a);
    }
}

static const fx_mix big = {8, 3000, 8}, small = {4, 64, 8};

static void test_the_device_process_gives_the_same_bytes(void **state)
{
    (void)state;
    circuit a, b;
    circuit_load(&a, &big, false);
    circuit_load(&b, &small, false);
    prove_both(&a);
    prove_both(&b);
    char plan[2048];
    g16_cuda_describe_plan(cuda, a.on_cuda, plan, sizeof plan);
    assert_non_null(strstr(plan, "work area"));
    assert_true(g16_cuda_get_memory(cuda).device_bytes > 0);
    circuit_free(&b);
    circuit_free(&a);
    assert_int_equal(g16_cuda_get_memory(cuda).device_bytes, 0);
}

static void test_wrong_inputs_are_refused(void **state)
{
    (void)state;
    circuit a, b;
    circuit_load(&a, &big, false);
    circuit_load(&b, &small, false);
    const witness *w = &b.w[0];
    g16_blinding rs;
    g16_proof p;
    void *handle;
    assert_ok(g16_blinding_random(&rs));
    assert_refused(g16_prove(cuda, a.on_cuda, &w, &rs, 1, &p, NULL, &rc), CUZK_E_INPUT,
                   "witness 0");
    assert_refused(cuda->ops->load(cuda, a.shape, b.key.key, &rc, &handle), CUZK_E_INPUT,
                   "key section");
    assert_null(handle);
    circuit_free(&b);
    circuit_free(&a);
}

/* A key file that another one replaced after it was opened. */
static void test_key_files_are_opened_by_the_device_process(void **state)
{
    (void)state;
    char path[] = "/tmp/cuzk-test-key-XXXXXX", other[64];
    circuit c;
    circuit_load(&c, &small, false);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, c.key.b, c.key.len), (ssize_t)c.key.len);
    close(fd);
    g16_key *k;
    void *handle;
    assert_ok(g16_key_open(&k, path));
    assert_string_equal(g16_key_path(k), path);
    assert_ok(cuda->ops->load(cuda, c.shape, k, &rc, &handle));
    cuda->ops->unload(cuda, handle);
    snprintf(other, sizeof other, "%s.moved", path);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(cuda->ops->load(cuda, c.shape, k, &rc, &handle).code, CUZK_E_NOT_FOUND);
    assert_null(handle);
    unlink(other);
    g16_key_close(k);
    circuit_free(&c);
}

typedef struct urgent {
    const circuit *c;
    unsigned n;
    cuzk_status st;
} urgent;

static void prove_urgent(void *ctx)
{
    urgent *u = ctx;
    if (u->n++ % 3 == 0 && u->st.code == CUZK_OK)
        u->st = prove_one(u->c, &rc);
}

static void test_an_urgent_proof_runs_inside_another(void **state)
{
    (void)state;
    circuit a, b;
    circuit_load(&a, &big, false);
    circuit_load(&b, &small, false);
    urgent u = {.c = &b, .st = cuzk_ok()};
    run_ctx with = rc;
    with.yield = prove_urgent;
    with.yield_ctx = &u;
    assert_ok(prove_one(&a, &with));
    assert_ok(u.st);
    assert_true(u.n >= 6);
    u = (urgent){.c = &a, .st = cuzk_ok()};
    assert_ok(prove_one(&a, &with));
    assert_refused(u.st, CUZK_E_USAGE, "two proofs at once on one handle");
    circuit_free(&b);
    circuit_free(&a);
}

/* Alone, and with urgent proofs inside: also while the device waits for a witness. */
static void test_witnesses_may_come_late(void **state)
{
    (void)state;
    circuit a, b;
    circuit_load(&a, &big, false);
    circuit_load(&b, &small, false);
    late_prove(cuda, a.on_cuda, cpu, a.on_cpu, a.w, &rc);
    urgent u = {.c = &b, .st = cuzk_ok()};
    run_ctx with = rc;
    with.yield = prove_urgent;
    with.yield_ctx = &u;
    late_prove(cuda, a.on_cuda, cpu, a.on_cpu, a.w, &with);
    assert_ok(u.st);
    assert_true(u.n >= 6);
    circuit_free(&b);
    circuit_free(&a);
}

static bool count_and_cancel(void *ctx)
{
    unsigned *left = ctx;
    return *left == 0 || --*left == 0;
}

static void test_cancel_in_the_middle(void **state)
{
    (void)state;
    circuit c;
    circuit_load(&c, &big, false);
    for (unsigned k = 1; k <= 10; k += 3) {
        unsigned left = k;
        run_ctx with = rc;
        with.cancelled = count_and_cancel;
        with.cancel_ctx = &left;
        assert_int_equal(prove_one(&c, &with).code, CUZK_E_CANCELLED);
        assert_ok(prove_one(&c, &rc));
    }
    circuit_free(&c);
}

static void test_spans_come_from_the_device_process(void **state)
{
    (void)state;
    circuit c;
    span_rec *spans;
    circuit_load(&c, &big, false);
    assert_ok(span_rec_create(&spans, 4096));
    run_ctx with = rc;
    with.spans = spans;
    with.parent = span_begin(spans, 0, SPAN_RUN);
    assert_ok(prove_one(&c, &with));
    span_end(spans, with.parent);
    unsigned n_h = 0;
    for (uint32_t i = 0; i < span_count(spans); i++) {
        span_view v = span_get(spans, i);
        n_h += strcmp(v.name, SPAN_MSM_H) == 0;
        if (v.parent) {
            span_view p = span_get(spans, v.parent - 1);
            assert_true(v.start_ns >= p.start_ns);
        }
    }
    assert_int_equal(n_h, 1);
    span_rec_destroy(spans);
    circuit_free(&c);
}

/* The device breaks at some slice of a proof; then everything works again, on every circuit, with a
 * key from a file and with one made on the device. */
static void test_the_proof_after_a_fault_works(void **state)
{
    (void)state;
    circuit a, b, d;
    circuit_load(&a, &big, false);
    circuit_load(&b, &small, false);
    circuit_load(&d, &small, true);
    uint64_t taken = g16_cuda_get_memory(cuda).device_bytes;
    for (unsigned at = 1; at <= 9; at += 4) {
        *break_at = at;
        cuzk_status st = prove_one(&a, &rc);
        print_message("%s\n", st.msg);
        assert_int_equal(st.code, CUZK_E_DEVICE_LOST);
        assert_int_equal(*break_at, 0);
        assert_ok(prove_one(&d, &rc));
        prove_both(&b);
        prove_both(&a);
        assert_int_equal(g16_cuda_get_memory(cuda).device_bytes, taken);
    }
    circuit_free(&d);
    circuit_free(&b);
    circuit_free(&a);
}

static void break_inside(void *ctx)
{
    urgent *u = ctx;
    if (u->n++ == 2) {
        *break_at = 2;
        u->st = prove_one(u->c, &rc);
    }
}

/* A fault in an urgent proof ends the one it ran inside, too. */
static void test_a_fault_inside_another_proof_ends_both(void **state)
{
    (void)state;
    circuit a, b;
    circuit_load(&a, &big, false);
    circuit_load(&b, &small, false);
    urgent u = {.c = &b, .st = cuzk_ok()};
    run_ctx with = rc;
    with.yield = break_inside;
    with.yield_ctx = &u;
    assert_int_equal(prove_one(&a, &with).code, CUZK_E_DEVICE_LOST);
    assert_int_equal(u.st.code, CUZK_E_DEVICE_LOST);
    prove_both(&a);
    prove_both(&b);
    circuit_free(&b);
    circuit_free(&a);
}

static int set_up(void **state)
{
    (void)state;
    break_at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(break_at != MAP_FAILED);
    assert_ok(pool_create(&threads, 0));
    rc = (run_ctx){.pool = threads};
    assert_ok(
        g16_cuda_create(&cuda, &(g16_cuda_config){.at_slice = at_slice,
                                                  .at_slice_ctx = (void *)(uintptr_t)break_at}));
    assert_ok(g16_cpu_create(&cpu));
    assert_ok(cuda->ops->self_test(cuda, &rc));
    char text[256];
    cuda->ops->describe(cuda, text, sizeof text);
    print_message("%s\n", text);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cuda->ops->destroy(cuda);
    cpu->ops->destroy(cpu);
    pool_destroy(threads);
    return 0;
}

int main(void)
{
    gpu_device_info first;
    if (gpu_device_find(&first, NULL).code != CUZK_OK)
        return 77; /* no device */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_device_process_gives_the_same_bytes),
        cmocka_unit_test(test_wrong_inputs_are_refused),
        cmocka_unit_test(test_key_files_are_opened_by_the_device_process),
        cmocka_unit_test(test_an_urgent_proof_runs_inside_another),
        cmocka_unit_test(test_cancel_in_the_middle),
        cmocka_unit_test(test_spans_come_from_the_device_process),
        cmocka_unit_test(test_witnesses_may_come_late),
        cmocka_unit_test(test_the_proof_after_a_fault_works),
        cmocka_unit_test(test_a_fault_inside_another_proof_ends_both),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
