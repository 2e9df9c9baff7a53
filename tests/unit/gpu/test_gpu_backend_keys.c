/* The two processes of the CUDA backend: key files, and what a key needs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "groth16/params_out.h"
#include "unit/gpu/remote_fixture.h"

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
    char path[] = "/tmp/test_gpu_backend_keys_XXXXXX";
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
    char path[] = "/tmp/test_gpu_backend_keys_XXXXXX";
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
        cmocka_unit_test_setup_teardown(test_replaced_key_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_devices_read_one_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_plan_needs_no_device, set_up, tear_down),
    };
    return map_control() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
