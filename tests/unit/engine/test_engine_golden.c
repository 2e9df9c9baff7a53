/* A real 2 KiB WinningPoSt on the CPU backend, from the reference's vanilla proof to a proof that
 * verifies; with a development key. */
#include "unit/engine/engine_fixture.h"
#define assert_ok golden_assert_ok
#include "unit/fil/golden.h"
#undef assert_ok

static void golden_request(job_request *r)
{
    json_doc meta = golden_json("post/winning-2KiB.meta.json");
    owned_request *o = calloc(1, sizeof *o);
    size_t len;
    char *file = golden_read("post/winning-2KiB.sector0.vanilla.bin", &len);
    o->n = 1;
    o->files[0] = mem_alloc(len, 8);
    memcpy(o->files[0], file, len);
    free(file);
    o->bytes[0] = (job_bytes){o->files[0], len};
    get_hex32(o->randomness, json_root(&meta), "randomness");
    *r = (job_request){.request_id = "winpost-golden",
                       .kind = PROOF_WINNING,
                       .priority = JOB_CRITICAL,
                       .registered_proof = 0,
                       .miner_id = get_u64(json_root(&meta), "miner_id"),
                       .vanilla_proofs = o->bytes,
                       .n_vanilla_proofs = 1,
                       .randomness = {o->randomness, 32},
                       .owned = o,
                       .release = owned_release};
    golden_json_free(&meta);
}

static void make_key(fixture *f)
{
    circuit_id id;
    char stem[PROOF_STEM_MAX], path[400];
    r1cs_shape *s;
    g16_toxic t;
    pool *p;
    assert_ok(circuit_id_parse(&id, "winning-2k"));
    circuit_id_param_stem(stem, &id);
    snprintf(path, sizeof path, "%s/%s.params", f->dir, stem);
    assert_ok(circuit_id_shape(&s, &id));
    assert_ok(g16_toxic_random(&t));
    assert_ok(pool_create(&p, 0));
    assert_ok(g16_setup(s, &t, path, &(run_ctx){.pool = p}));
    pool_destroy(p);
    r1cs_shape_destroy(s);
}

static void test_a_real_winning_post_is_proven(void **state)
{
    (void)state;
    fixture f;
    g16_backend *cpu;
    job_request r;
    fixture_init(&f, 1);
    make_key(&f);
    assert_ok(g16_cpu_create(&cpu));
    f.cfg_dev[0] = (engine_device){.name = "cpu", .backend = cpu, .batch_max = 4};
    f.cfg.memory_budget_bytes = (uint64_t)4 << 30;
    f.cfg.n_threads = 0;
    fixture_start(&f);
    golden_request(&r);
    engine_submitted s = submit_and_wait(f.e, &r);
    assert_ok(s.st);
    engine_watch *w;
    ended end = ENDED_INIT;
    assert_ok(engine_watch_job(f.e, s.view.job_id, true, on_view, &end, &w));
    for (int i = 0; i < 120000; i++) {
        pthread_mutex_lock(&end.lock);
        bool is_final = end.is_final;
        pthread_mutex_unlock(&end.lock);
        if (is_final)
            break;
        sleep_ms(1);
    }
    engine_unwatch(f.e, w);
    if (end.v.state != JOB_DONE)
        fail_msg("state %s: %s", JOB_STATE_NAMES[end.v.state], end.v.error);
    uint8_t *proof;
    size_t len;
    g16_proof p;
    assert_ok(engine_get_proof(f.e, s.view.job_id, &proof, &len));
    assert_int_equal(len, G16_PROOF_BYTES);
    assert_ok(g16_proof_decode(&p, proof, len));
    printf("queue %llu, key %llu, witness %llu, device %llu, verify %llu, total %llu ms\n",
           (unsigned long long)end.v.times.queue_wait_ms,
           (unsigned long long)end.v.times.key_load_ms, (unsigned long long)end.v.times.witness_ms,
           (unsigned long long)end.v.times.device_ms, (unsigned long long)end.v.times.verify_ms,
           (unsigned long long)end.v.times.total_ms);
    mem_free(proof);
    fixture_fini(&f);
    cpu->ops->destroy(cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_real_winning_post_is_proven)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
