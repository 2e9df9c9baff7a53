/* Several devices as one: two logical ones on one card, CPU and card, and a card whose process is
 * killed in the middle of a batch. The bytes are those of the CPU alone. */
#include "backend_fixture.h"
#include "gpu/gpu_read_group.h"
#include "groth16/multi_backend.h"
#include <signal.h>
#include <unistd.h>

#define N_WITNESSES 3u
#define N 20u
/* How long a device process may take to be back; measured: about a second. */
#define BACK_NS (60000000000u)

typedef struct circuit {
    r1cs_shape *shape;
    witness w[N_WITNESSES];
    fx_key memory;
    char path[64];
    g16_key *file; /* device processes open the file themselves */
    const witness *ws[N];
    g16_blinding rs[N];
    g16_proof want[N];
} circuit;

static pool *threads;
static run_ctx rc;
static circuit c;

static void write_key(void)
{
    strcpy(c.path, "/tmp/cuzk-multi-XXXXXX");
    int fd = mkstemp(c.path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, c.memory.b, c.memory.len), c.memory.len);
    close(fd);
    assert_ok(g16_key_open(&c.file, c.path));
}

static void prove_on_cpu(void)
{
    g16_backend *cpu;
    void *loaded;
    assert_ok(g16_cpu_create(&cpu));
    assert_ok(cpu->ops->load(cpu, c.shape, c.memory.key, &rc, &loaded));
    assert_ok(g16_prove(cpu, loaded, c.ws, c.rs, N, c.want, NULL, &rc));
    cpu->ops->unload(cpu, loaded);
    cpu->ops->destroy(cpu);
}

static int set_up(void **state)
{
    const fx_mix mix = {.seed = 20261129, .n = 30000, .dense_of_16 = 3};
    g16_toxic t;
    (void)state;
    assert_ok(pool_create(&threads, 0));
    rc.pool = threads;
    c.shape = fx_shape(&mix);
    for (uint64_t i = 0; i < N_WITNESSES; i++)
        fx_witness(&c.w[i], c.shape, &mix, 100 + i);
    assert_ok(g16_toxic_random(&t));
    fx_key_make(&c.memory, c.shape, &t, &rc);
    write_key();
    for (size_t k = 0; k < N; k++) {
        c.ws[k] = &c.w[k % N_WITNESSES];
        assert_ok(g16_blinding_random(&c.rs[k]));
    }
    prove_on_cpu();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    g16_key_close(c.file);
    unlink(c.path);
    fx_key_free(&c.memory);
    for (size_t i = 0; i < N_WITNESSES; i++)
        witness_fini(&c.w[i]);
    r1cs_shape_destroy(c.shape);
    pool_destroy(threads);
    return 0;
}

static g16_backend *card_of(const char *device, bool in_process)
{
    g16_backend *b;
    /* two on one card must leave each other room */
    const g16_cuda_config cfg = {
        .device = device, .in_process = in_process, .memory_bytes = (uint64_t)8 << 30};
    assert_ok(g16_cuda_create(&b, &cfg));
    return b;
}

static g16_backend *card(bool in_process) { return card_of(NULL, in_process); }

static void assert_as_cpu(const g16_proof *got)
{
    for (size_t k = 0; k < N; k++) {
        uint8_t a[G16_PROOF_BYTES], b[G16_PROOF_BYTES];
        g16_proof_encode(a, &got[k]);
        g16_proof_encode(b, &c.want[k]);
        assert_memory_equal(a, b, sizeof a);
    }
}

static void prove_on(g16_backend *one, g16_backend *two, const char *name)
{
    g16_backend *members[2] = {one, two}, *m;
    const char *const names[2] = {"cuda:0", name};
    g16_proof got[N];
    void *loaded;
    assert_ok(g16_multi_create(&m, members, names, 2));
    assert_ok(m->ops->load(m, c.shape, c.file, &rc, &loaded));
    for (int run = 0; run < 3; run++) {
        assert_ok(g16_prove(m, loaded, c.ws, c.rs, N, got, NULL, &rc));
        assert_as_cpu(got);
    }
    g16_multi_stats a = g16_multi_get_stats(m, 0), b = g16_multi_get_stats(m, 1);
    printf("%s made %llu (%llu taken over), %s %llu (%llu)\n", a.name,
           (unsigned long long)a.n_proofs, (unsigned long long)a.n_stolen, b.name,
           (unsigned long long)b.n_proofs, (unsigned long long)b.n_stolen);
    assert_int_equal(a.n_proofs + b.n_proofs, 3 * N);
    assert_int_equal(a.n_faults + b.n_faults, 0);
    m->ops->unload(m, loaded);
    m->ops->destroy(m);
}

static void test_two_logical_devices_on_one_card(void **state)
{
    (void)state;
    prove_on(card(true), card(true), "cuda:0 again");
}

static uint64_t points_bytes(void)
{
    const g16_key_info *k = g16_key_get_info(c.file);
    uint64_t bytes = (uint64_t)k->n[G16_B_G2] * sizeof(g2_aff);
    for (int s = G16_H; s < G16_B_G2; s++)
        bytes += (uint64_t)k->n[s] * sizeof(g1_aff);
    return bytes;
}

/* Two device processes, on two cards where there are two: both go through the key's file, and know of
 * each other. */
static void test_two_processes_read_one_file(void **state)
{
    (void)state;
    gpu_device_info second;
    bool has_two = gpu_device_find(&second, "1").code == CUZK_OK;
    gpu_read_counts before = gpu_read_group_counts(gpu_read_group_here());
    prove_on(card(false), has_two ? card_of("1", false) : card(false),
             has_two ? "cuda:1" : "cuda:0 again");
    gpu_read_counts after = gpu_read_group_counts(gpu_read_group_here());
    uint64_t first = after.first_bytes - before.first_bytes;
    uint64_t shared = after.shared_bytes - before.shared_bytes;
    printf("read first %llu bytes, behind another %llu\n", (unsigned long long)first,
           (unsigned long long)shared);
    assert_int_equal(first + shared, 2 * points_bytes());
}

static void test_card_and_cpu_together(void **state)
{
    g16_backend *cpu;
    (void)state;
    assert_ok(g16_cpu_create(&cpu));
    prove_on(card(true), cpu, "cpu");
}

/* The last child that was started. */
static pid_t last_child(void)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    bool ok = fgets(text, sizeof text, f) != NULL;
    fclose(f);
    long pid = 0;
    for (char *p = text, *next; ok && *p; p = next) {
        long v = strtol(p, &next, 10);
        if (next == p)
            break;
        pid = v;
    }
    return (pid_t)pid;
}

typedef struct killer {
    pid_t pid;
    unsigned n_done;
} killer;

static void kill_at_third(void *ctx, size_t k)
{
    killer *x = ctx;
    (void)k;
    if (++x->n_done == 3)
        kill(x->pid, SIGKILL);
}

static void test_killed_device_process_is_made_up_for(void **state)
{
    (void)state;
    g16_backend *members[2] = {card(false), card(false)}, *m;
    killer x = {.pid = last_child()};
    const char *const names[2] = {"cuda:0", "cuda:0 again"};
    g16_proof got[N];
    void *loaded;
    if (x.pid == 0) { /* a kernel without /proc/PID/task/PID/children */
        members[0]->ops->destroy(members[0]);
        members[1]->ops->destroy(members[1]);
        skip();
    }
    assert_ok(g16_multi_create(&m, members, names, 2));
    assert_ok(m->ops->load(m, c.shape, c.file, &rc, &loaded));
    const g16_batch b = {
        .n = N, .w = c.ws, .rs = c.rs, .out = got, .done = kill_at_third, .ctx = &x};
    assert_ok(m->ops->prove(m, loaded, &b, NULL, &rc));
    assert_as_cpu(got);
    assert_int_equal(x.n_done, N);
    assert_int_equal(g16_multi_get_stats(m, 0).n_faults + g16_multi_get_stats(m, 1).n_faults, 1);
    /* It takes part again, though the first member may make several batches before it is back. */
    uint64_t before = g16_multi_get_stats(m, 1).n_proofs, start = clock_now_ns();
    while (g16_multi_get_stats(m, 1).n_proofs == before && clock_now_ns() - start < BACK_NS) {
        assert_ok(g16_prove(m, loaded, c.ws, c.rs, N, got, NULL, &rc));
        assert_as_cpu(got);
    }
    assert_true(g16_multi_get_stats(m, 1).n_proofs > before);
    m->ops->unload(m, loaded);
    m->ops->destroy(m);
}

int main(void)
{
    gpu_device_info first;
    if (gpu_device_find(&first, NULL).code != CUZK_OK)
        return 77; /* no device */
    /* Device processes are forked, so they come before the driver is used here. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_device_process_is_made_up_for),
        cmocka_unit_test(test_two_processes_read_one_file),
        cmocka_unit_test(test_two_logical_devices_on_one_card),
        cmocka_unit_test(test_card_and_cpu_together),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
