/* The CUDA backend beside the CPU's: same bytes on random circuits, flat memory, cancel, urgent
 * proofs inside others, refusals, spans. All in this process: test_gpu_backend_fault.c has the rest. */
#include "backend_fixture.h"
#include "base/span_names.h"
#include "gpu/gpu_mem.h"
#include "late_fixture.h"
#include <unistd.h>

static pool *threads;
static run_ctx rc;
static g16_backend *cuda, *cpu;

/* A mix with its key on both backends. */
typedef struct circuit {
    r1cs_shape *shape;
    witness w[3];
    fx_key key;
    void *on_cuda, *on_cpu;
} circuit;

static void circuit_load(circuit *c, const fx_mix *m)
{
    g16_toxic t;
    *c = (circuit){.shape = fx_shape(m)};
    for (uint64_t i = 0; i < ARRAY_LEN(c->w); i++)
        fx_witness(&c->w[i], c->shape, m, m->seed + 1 + i);
    assert_ok(g16_toxic_random(&t));
    fx_key_make(&c->key, c->shape, &t, &rc);
    assert_ok(cuda->ops->load(cuda, c->shape, c->key.key, &rc, &c->on_cuda));
    assert_ok(cpu->ops->load(cpu, c->shape, c->key.key, &rc, &c->on_cpu));
}

static void circuit_free(circuit *c)
{
    cuda->ops->unload(cuda, c->on_cuda);
    cpu->ops->unload(cpu, c->on_cpu);
    fx_key_free(&c->key);
    for (size_t i = 0; i < ARRAY_LEN(c->w); i++)
        witness_fini(&c->w[i]);
    r1cs_shape_destroy(c->shape);
}

#define N_BATCH 23 /* three groups */

/* n proofs of the circuit's witnesses in turn; on both when both, else verified only. */
static void prove_both(const circuit *c, size_t n)
{
    const witness *ws[N_BATCH];
    g16_blinding rs[N_BATCH];
    g16_proof got[N_BATCH], want[N_BATCH];
    for (size_t k = 0; k < n; k++) {
        ws[k] = &c->w[k % ARRAY_LEN(c->w)];
        assert_ok(g16_blinding_random(&rs[k]));
    }
    assert_ok(g16_prove(cuda, c->on_cuda, ws, rs, n, got, NULL, &rc));
    assert_ok(g16_prove(cpu, c->on_cpu, ws, rs, n, want, NULL, &rc));
    for (size_t k = 0; k < n; k++) {
        uint8_t a[G16_PROOF_BYTES], b[G16_PROOF_BYTES];
        g16_proof_encode(a, &got[k]);
        g16_proof_encode(b, &want[k]);
        assert_memory_equal(a, b, sizeof a);
        assert_ok(g16_verify(c->key.pvk, ws[k]->inputs + 1, 3, &got[k]));
    }
}

/* Bits only, field elements only, both; around word and block sizes. */
static const fx_mix mixes[] = {{1, 1, 0},     {2, 1, 16},    {3, 62, 0},   {4, 64, 8},
                               {5, 65, 16},   {6, 200, 1},   {7, 1500, 0}, {8, 3000, 8},
                               {9, 70000, 1}, {10, 9000, 16}};

static void test_cpu_and_cuda_give_the_same_bytes(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 10, 11, N_BATCH};
    for (size_t i = 0; i < ARRAY_LEN(mixes); i++) {
        print_message("seed %llu n %zu dense %u/16\n", (unsigned long long)mixes[i].seed,
                      mixes[i].n, mixes[i].dense_of_16);
        circuit c;
        circuit_load(&c, &mixes[i]);
        for (size_t k = 0; k < (i < 8 ? ARRAY_LEN(sizes) : 2); k++)
            prove_both(&c, sizes[k]);
        circuit_free(&c);
    }
}

static uint64_t resident_kib(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*u %lu", &pages), 1);
    fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

static void prove_one(const circuit *c, size_t k, const run_ctx *with, cuzk_status *st)
{
    const witness *w = &c->w[k % ARRAY_LEN(c->w)];
    g16_blinding rs;
    g16_proof p;
    assert_ok(g16_blinding_random(&rs));
    *st = g16_prove(cuda, c->on_cuda, &w, &rs, 1, &p, NULL, with);
    if (st->code == CUZK_OK)
        assert_ok(g16_verify(c->key.pvk, w->inputs + 1, 3, &p));
    else
        assert_true(g1_aff_is_inf(&p.a));
}

static void test_memory_stays_flat_over_100_proofs(void **state)
{
    (void)state;
    circuit c;
    cuzk_status st;
    circuit_load(&c, &mixes[7]);
    for (size_t k = 0; k < 3; k++) {
        prove_one(&c, k, &rc, &st);
        assert_ok(st);
    }
    gpu_mem_stats d0 = gpu_mem_get_stats();
    mem_stats h0 = mem_get_stats();
    uint64_t rss0 = resident_kib(), free0, free1, total;
    assert_ok(gpu_ctx_memory(&free0, &total));
    for (size_t k = 0; k < 100; k++) {
        prove_one(&c, k, &rc, &st);
        assert_ok(st);
    }
    gpu_mem_stats d1 = gpu_mem_get_stats();
    assert_ok(gpu_ctx_memory(&free1, &total));
    assert_int_equal(d1.n_takes, d0.n_takes); /* none taken, none returned on the way */
    assert_int_equal(d1.n_returns, d0.n_returns);
    assert_int_equal(d1.device_bytes, d0.device_bytes);
    assert_int_equal(mem_get_stats().live_bytes, h0.live_bytes);
    assert_int_equal(free1, free0);
    if (resident_kib() > rss0 + 2048)
        fail_msg("resident set grew from %llu to %llu KiB", (unsigned long long)rss0,
                 (unsigned long long)resident_kib());
    circuit_free(&c);
}

static void test_unload_gives_everything_back(void **state)
{
    (void)state;
    gpu_mem_stats before = gpu_mem_get_stats();
    circuit a, b;
    circuit_load(&a, &mixes[3]);
    uint64_t one = gpu_mem_get_stats().device_bytes;
    circuit_load(&b, &mixes[8]);
    assert_true(gpu_mem_get_stats().device_bytes > one);
    prove_both(&a, 2); /* both stay usable */
    prove_both(&b, 1);
    circuit_free(&b);
    assert_int_equal(gpu_mem_get_stats().device_bytes, one);
    prove_both(&a, 2);
    circuit_free(&a);
    assert_int_equal(gpu_mem_get_stats().device_bytes, before.device_bytes);
    assert_int_equal(gpu_mem_get_stats().pinned_bytes, before.pinned_bytes);
}

typedef struct countdown {
    unsigned left, n;
} countdown;

static bool count_and_cancel(void *ctx)
{
    countdown *c = ctx;
    c->n++;
    return c->left == 0 || --c->left == 0;
}

static void test_cancel_at_every_poll(void **state)
{
    (void)state;
    circuit c;
    cuzk_status st;
    circuit_load(&c, &mixes[7]);
    countdown all = {.left = UINT32_MAX};
    run_ctx with = rc;
    with.cancelled = count_and_cancel;
    with.cancel_ctx = &all;
    prove_one(&c, 0, &with, &st);
    assert_ok(st);
    print_message("%u polls\n", all.n);
    assert_true(all.n >= 10);
    for (unsigned k = 1; k <= all.n; k++) {
        countdown one = {.left = k};
        with.cancel_ctx = &one;
        prove_one(&c, k, &with, &st);
        assert_int_equal(st.code, CUZK_E_CANCELLED);
        if (k % 7 == 0)
            prove_both(&c, 2); /* nothing was left behind */
    }
    circuit_free(&c);
}

typedef struct urgent {
    const circuit *c;
    unsigned n, every;
    cuzk_status st;
} urgent;

static void prove_urgent(void *ctx)
{
    urgent *u = ctx;
    if (u->n++ % u->every == 0 && u->st.code == CUZK_OK)
        prove_one(u->c, u->n, &rc, &u->st);
}

static void test_an_urgent_proof_runs_inside_another(void **state)
{
    (void)state;
    circuit big, small;
    cuzk_status st;
    circuit_load(&big, &mixes[8]);
    circuit_load(&small, &mixes[3]);
    urgent u = {.c = &small, .every = 3, .st = cuzk_ok()};
    run_ctx with = rc;
    with.yield = prove_urgent;
    with.yield_ctx = &u;
    prove_one(&big, 0, &with, &st);
    assert_ok(st);
    assert_ok(u.st);
    print_message("%u yields\n", u.n);
    assert_true(u.n >= 6);
    /* The same circuit again inside itself, or one for which there is no room, is refused. */
    u = (urgent){.c = &big, .every = 1, .st = cuzk_ok()};
    prove_one(&big, 0, &with, &st);
    assert_ok(st);
    assert_refused(u.st, CUZK_E_USAGE, "two proofs at once on one handle");
    circuit_free(&small);
    circuit_free(&big);
}

/* Alone, and with urgent proofs inside: also while the device waits for a witness. */
static void test_witnesses_may_come_late(void **state)
{
    (void)state;
    circuit a, b;
    circuit_load(&a, &mixes[7]);
    circuit_load(&b, &mixes[3]);
    late_prove(cuda, a.on_cuda, cpu, a.on_cpu, a.w, &rc);
    urgent u = {.c = &b, .every = 3, .st = cuzk_ok()};
    run_ctx with = rc;
    with.yield = prove_urgent;
    with.yield_ctx = &u;
    late_prove(cuda, a.on_cuda, cpu, a.on_cpu, a.w, &with);
    assert_ok(u.st);
    assert_true(u.n >= 6);
    circuit_free(&b);
    circuit_free(&a);
}

static void test_what_does_not_fit_is_refused_before_it_is_taken(void **state)
{
    (void)state;
    g16_backend *small;
    r1cs_shape *s = fx_shape(&mixes[8]);
    g16_toxic t;
    fx_key key;
    void *handle;
    assert_ok(g16_toxic_random(&t));
    fx_key_make(&key, s, &t, &rc);
    const g16_cuda_config cfg = {.memory_bytes = 16 << 20, .in_process = true};
    assert_ok(g16_cuda_create(&small, &cfg));
    gpu_mem_stats before = gpu_mem_get_stats();
    cuzk_status st = small->ops->load(small, s, key.key, &rc, &handle);
    print_message("%s\n", st.msg);
    assert_refused(st, CUZK_E_NOMEM, "needed");
    assert_refused(st, CUZK_E_NOMEM, "free");
    assert_null(handle);
    assert_int_equal(gpu_mem_get_stats().n_takes, before.n_takes);
    small->ops->destroy(small);
    fx_key_free(&key);
    r1cs_shape_destroy(s);
}

/* The least memory that a circuit can be loaded into, found by trying, gives the same bytes: fewer
 * windows at once, fewer proofs per batch. */
static void test_tight_plans_still_prove(void **state)
{
    (void)state;
    circuit c;
    g16_backend *keep = cuda;
    circuit_load(&c, &mixes[8]);
    void *wide = c.on_cuda;
    bool tight = false;
    for (uint64_t limit = (uint64_t)64 << 20; !tight; limit += limit / 8) {
        const g16_cuda_config cfg = {.memory_bytes = limit, .in_process = true};
        assert_ok(g16_cuda_create(&cuda, &cfg));
        uint64_t before = gpu_mem_get_stats().device_bytes;
        cuzk_status st = cuda->ops->load(cuda, c.shape, c.key.key, &rc, &c.on_cuda);
        if (st.code == CUZK_OK) {
            char plan[2048];
            tight = true;
            g16_cuda_describe_plan(cuda, c.on_cuda, plan, sizeof plan);
            print_message("with %llu MiB:\n%s", (unsigned long long)(limit >> 20), plan);
            assert_true(gpu_mem_get_stats().device_bytes - before <= limit);
            prove_both(&c, 5);
            cuda->ops->unload(cuda, c.on_cuda);
        } else {
            assert_int_equal(st.code, CUZK_E_NOMEM);
        }
        cuda->ops->destroy(cuda);
    }
    cuda = keep;
    c.on_cuda = wide;
    circuit_free(&c);
}

static void test_every_failing_allocation_leaves_the_backend_whole(void **state)
{
    (void)state;
    circuit keep;
    circuit_load(&keep, &mixes[3]);
    r1cs_shape *s = fx_shape(&mixes[7]);
    g16_toxic t;
    fx_key key;
    void *handle = NULL;
    assert_ok(g16_toxic_random(&t));
    fx_key_make(&key, s, &t, &rc);
    gpu_mem_stats before = gpu_mem_get_stats();
    unsigned n = 0;
    for (cuzk_status st = cuzk_fail(CUZK_E_NOMEM, "first"); st.code != CUZK_OK;) {
        gpu_mem_fail_nth(++n);
        st = cuda->ops->load(cuda, s, key.key, &rc, &handle);
        gpu_mem_fail_nth(0);
        if (st.code == CUZK_OK)
            break;
        assert_int_equal(st.code, CUZK_E_NOMEM);
        assert_null(handle);
        assert_int_equal(gpu_mem_get_stats().device_bytes, before.device_bytes);
        prove_both(&keep, 1);
    }
    print_message("%u allocations\n", n - 1);
    assert_true(n > 8);
    cuda->ops->unload(cuda, handle);
    assert_int_equal(gpu_mem_get_stats().device_bytes, before.device_bytes);
    fx_key_free(&key);
    r1cs_shape_destroy(s);
    circuit_free(&keep);
}

/* A point with a flag too many, in each section: the CPU's message. */
static void test_bad_points_get_the_cpu_message(void **state)
{
    (void)state;
    r1cs_shape *s = fx_shape(&mixes[7]);
    g16_toxic t;
    fx_key key;
    assert_ok(g16_toxic_random(&t));
    fx_key_make(&key, s, &t, &rc);
    for (int sec = 0; sec < G16_N_SECTIONS; sec++) {
        const g16_key_info *info = g16_key_get_info(key.key);
        uint32_t at = info->n[sec] / 2 + 1;
        size_t size = sec == G16_B_G2 ? 192 : 96;
        uint8_t *p = key.b + info->offset[sec] + at * size, keep = *p;
        void *handle;
        g1_aff p1;
        g2_aff p2;
        *p |= 0x80;
        cuzk_status want = sec == G16_B_G2
                               ? g16_key_g2(key.key, G16_B_G2, at, 1, false, &p2, &rc)
                               : g16_key_g1(key.key, (g16_section)sec, at, 1, false, &p1, &rc);
        assert_int_equal(want.code, CUZK_E_INPUT);
        assert_refused(cuda->ops->load(cuda, s, key.key, &rc, &handle), CUZK_E_INPUT, want.msg);
        assert_null(handle);
        *p = keep;
    }
    fx_key_free(&key);
    r1cs_shape_destroy(s);
}

static void test_wrong_witness_and_key_are_refused(void **state)
{
    (void)state;
    circuit a, b;
    circuit_load(&a, &mixes[3]);
    circuit_load(&b, &mixes[6]);
    const witness *w = &b.w[0];
    g16_blinding rs;
    g16_proof p;
    void *handle;
    assert_ok(g16_blinding_random(&rs));
    assert_refused(g16_prove(cuda, a.on_cuda, &w, &rs, 1, &p, NULL, &rc), CUZK_E_INPUT,
                   "witness 0");
    assert_refused(cuda->ops->load(cuda, b.shape, a.key.key, &rc, &handle), CUZK_E_INPUT,
                   "key section");
    assert_null(handle);
    circuit_free(&b);
    circuit_free(&a);
}

typedef struct sharing {
    bool mine[N_BATCH], done[N_BATCH];
} sharing;

static bool claim_some(void *ctx, size_t k) { return ((sharing *)ctx)->mine[k]; }
static void note_done(void *ctx, size_t k) { ((sharing *)ctx)->done[k] = true; }

static void test_a_batch_can_be_shared(void **state)
{
    (void)state;
    circuit c;
    circuit_load(&c, &mixes[6]);
    sharing s = {0};
    const witness *ws[N_BATCH];
    g16_blinding rs[N_BATCH];
    g16_proof out[N_BATCH];
    for (size_t k = 0; k < N_BATCH; k++) {
        s.mine[k] = k % 3 != 1;
        ws[k] = &c.w[k % 3];
        assert_ok(g16_blinding_random(&rs[k]));
    }
    const g16_batch batch = {.n = N_BATCH,
                             .w = ws,
                             .rs = rs,
                             .out = out,
                             .claim = claim_some,
                             .done = note_done,
                             .ctx = &s};
    assert_ok(cuda->ops->prove(cuda, c.on_cuda, &batch, NULL, &rc));
    for (size_t k = 0; k < N_BATCH; k++) {
        assert_int_equal(s.done[k], s.mine[k]);
        if (s.mine[k])
            assert_ok(g16_verify(c.key.pvk, ws[k]->inputs + 1, 3, &out[k]));
        else
            assert_true(g1_aff_is_inf(&out[k].a));
    }
    circuit_free(&c);
}

/* Spans below prove, device groups included, explain all but 3 % of it. */
static void test_time_is_accounted_for(void **state)
{
    (void)state;
    circuit c;
    cuzk_status st;
    span_rec *spans;
    circuit_load(&c, &(fx_mix){11, 400000, 1});
    prove_one(&c, 0, &rc, &st); /* warm */
    assert_ok(span_rec_create(&spans, 4096));
    run_ctx with = rc;
    with.spans = spans;
    with.parent = span_begin(spans, 0, SPAN_RUN);
    prove_one(&c, 1, &with, &st);
    assert_ok(st);
    span_end(spans, with.parent);
    uint64_t prove_ns = 0, gap_ns = 0;
    for (uint32_t i = 0; i < span_count(spans); i++) {
        span_view v = span_get(spans, i);
        if (strcmp(v.name, SPAN_PROVE) == 0)
            prove_ns = v.end_ns - v.start_ns;
        if (v.parent > with.parent || strcmp(v.name, SPAN_PROVE) == 0)
            gap_ns += v.unaccounted_ns;
    }
    assert_ok(span_write_table(spans, stdout));
    print_message("prove %.2f ms, unaccounted %.2f ms\n", (double)prove_ns / 1e6,
                  (double)gap_ns / 1e6);
    assert_true(prove_ns > 0 && gap_ns * 100 <= prove_ns * 3);
    span_rec_destroy(spans);
    circuit_free(&c);
}

static int set_up(void **state)
{
    (void)state;
    assert_ok(pool_create(&threads, 0));
    rc = (run_ctx){.pool = threads};
    assert_ok(g16_cuda_create(&cuda, &(g16_cuda_config){.in_process = true}));
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
    gpu_mem_stats s = gpu_mem_get_stats();
    return s.device_bytes == 0 && s.pinned_bytes == 0 ? 0 : 1;
}

int main(void)
{
    gpu_device_info first;
    if (gpu_device_find(&first, NULL).code != CUZK_OK)
        return 77; /* no device */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu_and_cuda_give_the_same_bytes),
        cmocka_unit_test(test_memory_stays_flat_over_100_proofs),
        cmocka_unit_test(test_unload_gives_everything_back),
        cmocka_unit_test(test_cancel_at_every_poll),
        cmocka_unit_test(test_an_urgent_proof_runs_inside_another),
        cmocka_unit_test(test_witnesses_may_come_late),
        cmocka_unit_test(test_what_does_not_fit_is_refused_before_it_is_taken),
        cmocka_unit_test(test_tight_plans_still_prove),
        cmocka_unit_test(test_every_failing_allocation_leaves_the_backend_whole),
        cmocka_unit_test(test_bad_points_get_the_cpu_message),
        cmocka_unit_test(test_wrong_witness_and_key_are_refused),
        cmocka_unit_test(test_a_batch_can_be_shared),
        cmocka_unit_test(test_time_is_accounted_for),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
