/* Keys in evaluation form on the device: made there from toxic waste, and read from a file beside the
 * key's. The proofs are those of the plain key on the CPU, byte for byte. */
#include "backend_fixture.h"
#include <fcntl.h>
#include <unistd.h>

#define N_WITNESSES 3u
static pool *threads;
static run_ctx rc;
static g16_backend *cuda, *plain, *cpu;
static char folder[] = "/tmp/cuzk-evaluation-XXXXXX", key_path[64], ev_path[64];

/* A mix with its key in memory, loaded on the CPU. */
typedef struct circuit {
    r1cs_shape *shape;
    witness w[N_WITNESSES];
    const witness *ws[N_WITNESSES];
    g16_toxic toxic;
    fx_key key;
    g16_blinding rs[N_WITNESSES];
    g16_proof want[N_WITNESSES];
} circuit;

static void circuit_make(circuit *c, const fx_mix *m)
{
    void *on_cpu;
    *c = (circuit){.shape = fx_shape(m)};
    assert_ok(g16_toxic_random(&c->toxic));
    fx_key_make(&c->key, c->shape, &c->toxic, &rc);
    for (size_t i = 0; i < N_WITNESSES; i++) {
        fx_witness(&c->w[i], c->shape, m, m->seed + 1 + i);
        c->ws[i] = &c->w[i];
        assert_ok(g16_blinding_random(&c->rs[i]));
    }
    assert_ok(cpu->ops->load(cpu, c->shape, c->key.key, &rc, &on_cpu));
    assert_ok(g16_prove(cpu, on_cpu, c->ws, c->rs, N_WITNESSES, c->want, NULL, &rc));
    cpu->ops->unload(cpu, on_cpu);
}

static void circuit_free(circuit *c)
{
    fx_key_free(&c->key);
    for (size_t i = 0; i < N_WITNESSES; i++)
        witness_fini(&c->w[i]);
    r1cs_shape_destroy(c->shape);
}

/* The loaded circuit's key has that form, and gives the CPU's bytes. */
static void check(const circuit *c, g16_backend *b, void *loaded, bool is_evaluation)
{
    char text[4096];
    g16_proof got[N_WITNESSES];
    g16_cuda_describe_plan(b, loaded, text, sizeof text);
    if (!strstr(text, is_evaluation ? "evaluation form" : "plain form"))
        fail_msg("key form: %s", text);
    assert_ok(g16_prove(b, loaded, c->ws, c->rs, N_WITNESSES, got, NULL, &rc));
    for (size_t k = 0; k < N_WITNESSES; k++) {
        uint8_t x[G16_PROOF_BYTES], y[G16_PROOF_BYTES];
        g16_proof_encode(x, &got[k]);
        g16_proof_encode(y, &c->want[k]);
        assert_memory_equal(x, y, sizeof x);
    }
}

/* Domains in one block, in two and in three passes; bits only, field elements only, both. */
static const fx_mix mixes[] = {{1, 1, 0},    {2, 1, 16},   {3, 62, 0},    {4, 200, 16},
                               {5, 3000, 8}, {6, 9000, 1}, {7, 70000, 1}, {8, 300000, 1}};

static void test_keys_made_on_the_device(void **state)
{
    (void)state;
    g16_backend *const backends[] = {cuda, plain};
    for (size_t i = 0; i < ARRAY_LEN(mixes); i++) {
        circuit c;
        circuit_make(&c, &mixes[i]);
        for (size_t b = 0; b < ARRAY_LEN(backends); b++) {
            g16_vk vk;
            void *loaded;
            assert_ok(g16_cuda_load_development(backends[b], c.shape, &c.toxic, &vk, &rc, &loaded));
            assert_true(g1_aff_eq(&vk.ic[1], &g16_key_vk(c.key.key)->ic[1]));
            check(&c, backends[b], loaded, backends[b] == cuda);
            backends[b]->ops->unload(backends[b], loaded);
            g16_vk_fini(&vk);
        }
        circuit_free(&c);
    }
}

static void write_key(const circuit *c)
{
    FILE *f = fopen(key_path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(c->key.b, 1, c->key.len, f), c->key.len);
    assert_int_equal(fclose(f), 0);
}

static void flip_byte(off_t at)
{
    uint8_t b;
    int fd = open(ev_path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &b, 1, at), 1);
    b ^= 1;
    assert_int_equal(pwrite(fd, &b, 1, at), 1);
    assert_int_equal(close(fd), 0);
}

/* Load from the files and prove. */
static void check_files(const circuit *c, g16_backend *b, bool is_evaluation)
{
    g16_key *key;
    void *loaded;
    assert_ok(g16_key_open(&key, key_path));
    assert_ok(b->ops->load(b, c->shape, key, &rc, &loaded));
    check(c, b, loaded, is_evaluation);
    b->ops->unload(b, loaded);
    g16_key_close(key);
}

static void test_files_beside_the_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < 6; i++) { /* the CPU takes a millisecond for a point */
        circuit c;
        g16_key *key;
        circuit_make(&c, &mixes[i]);
        write_key(&c);
        check_files(&c, cuda, false); /* there is none */
        assert_ok(g16_key_open(&key, key_path));
        assert_ok(g16_evkey_make(ev_path, key, c.shape, &rc));
        g16_key_close(key);
        check_files(&c, cuda, true);
        check_files(&c, plain, false);
        flip_byte(300); /* damaged: left alone */
        check_files(&c, cuda, false);
        assert_int_equal(unlink(ev_path), 0);
        circuit_free(&c);
    }
}

static int set_up(void **state)
{
    (void)state;
    g16_cuda_config cfg = {.in_process = true};
    if (!mkdtemp(folder))
        return 1;
    snprintf(key_path, sizeof key_path, "%s/k.params", folder);
    snprintf(ev_path, sizeof ev_path, "%s/k.evkey", folder);
    assert_ok(pool_create(&threads, 0));
    rc.pool = threads;
    assert_ok(g16_cuda_create(&cuda, &cfg));
    cfg.plain_keys = true;
    assert_ok(g16_cuda_create(&plain, &cfg));
    assert_ok(g16_cpu_create(&cpu));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(key_path);
    (void)unlink(ev_path);
    (void)rmdir(folder);
    cuda->ops->destroy(cuda);
    plain->ops->destroy(plain);
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
        cmocka_unit_test(test_keys_made_on_the_device),
        cmocka_unit_test(test_files_beside_the_key),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
