/* Generate, write, read back and check: the way every generated input goes in the tests. */
#ifndef TESTS_FIL_GEN_TEST_H
#define TESTS_FIL_GEN_TEST_H
#include "golden.h"

#include "base/span.h"
#include "base/mem.h"
#include "fil/gen.h"
#include "hash/sha256.h"

static const fil_gen_id GEN_ID = {.seed = 7, .miner = 1234, .sector = 42};

/* Digest of all bytes written, to compare runs. */
typedef struct gen_digest {
    uint8_t b[32];
} gen_digest;

static inline double since_s(uint64_t t0) { return (double)(clock_now_ns() - t0) / 1e9; }

static inline gen_digest check_gen_porep(const fil_gen_id *id, const fil_sector *s,
                                         fil_seal_version v, bool wrapped, const run_ctx *rc)
{
    arena a = {0};
    fil_porep made, read;
    uint8_t *text;
    size_t len;
    gen_digest d;
    uint64_t t0 = clock_now_ns();
    assert_ok(fil_gen_porep(&made, &a, id, s, v, rc));
    double made_s = since_s(t0);
    made.wrapped = wrapped;
    t0 = clock_now_ns();
    assert_ok(fil_porep_encode(&text, &len, &made));
    double encoded_s = since_s(t0);
    assert_int_equal(text[len], 0);
    assert_ok(fil_porep_decode(&read, &a, text, len));
    assert_int_equal(read.wrapped, wrapped);
    assert_int_equal(read.version, v);
    assert_ptr_equal(read.sector, s);
    assert_ptr_equal(read.registered, made.registered);
    assert_memory_equal(read.porep_id, made.porep_id, 32);
    const fil_porep_context ctx = {
        .has_miner = true, .has_sector = true, .miner = id->miner, .sector = id->sector};
    t0 = clock_now_ns();
    assert_ok(fil_porep_check(&made, &ctx, rc));
    double checked_s = since_s(t0);
    assert_ok(fil_porep_check(&read, &ctx, rc));
    const fil_porep_context other = {
        .has_miner = true, .has_sector = true, .miner = id->miner + 1, .sector = id->sector};
    assert_int_equal(fil_porep_check(&read, &other, rc).code, CUZK_E_INPUT);
    print_message("PoRep %s %s: made in %.3f s, %zu bytes written in %.3f s, checked in %.3f s\n",
                  s->name, FIL_SEAL_SUFFIX[v], made_s, len, encoded_s, checked_s);
    sha256(d.b, text, len);
    mem_free(text);
    arena_fini(&a);
    return d;
}

static inline gen_digest check_gen_post(const fil_gen_id *id, const fil_post_proof *proof,
                                        uint32_t n, const run_ctx *rc)
{
    arena a = {0};
    fil_post made, read;
    gen_digest d;
    sha256_ctx all;
    size_t total = 0;
    uint64_t t0 = clock_now_ns();
    assert_ok(fil_gen_post(&made, &a, id, proof, n, rc));
    double made_s = since_s(t0);
    uint8_t **files = calloc(n, sizeof *files);
    size_t *lens = calloc(n, sizeof *lens);
    uint64_t *ids = calloc(n, sizeof *ids);
    assert_true(files && lens && ids);
    sha256_init(&all);
    sha256_update(&all, made.randomness, 32);
    for (uint32_t i = 0; i < n; i++) {
        assert_ok(fil_post_encode(&files[i], &lens[i], &made, i));
        sha256_update(&all, files[i], lens[i]);
        total += lens[i];
        ids[i] = id->sector + i;
    }
    sha256_final(&all, d.b);
    assert_ok(fil_post_decode(&read, &a, proof, (const uint8_t *const *)files, lens, n));
    fil_post_context ctx = {.sector_ids = ids, .n_claims = n};
    memcpy(ctx.randomness, made.randomness, 32);
    memcpy(ctx.prover_id, made.prover_id, 32);
    assert_ok(fil_post_check(&read, &ctx, rc));
    assert_int_equal(read.n_partitions, made.n_partitions);
    assert_int_equal(read.sectors_per_partition, made.sectors_per_partition);
    for (uint32_t i = 1; i < n; i++)
        assert_false(fr_eq(&read.sectors[i].comm_r, &read.sectors[i - 1].comm_r));
    print_message("%s, %u sectors: made in %.3f s, %zu bytes\n",
                  proof->name ? proof->name : "development PoSt", n, made_s, total);
    for (uint32_t i = 0; i < n; i++)
        mem_free(files[i]);
    free(files);
    free(lens);
    free(ids);
    arena_fini(&a);
    return d;
}

static inline gen_digest check_gen_update(const fil_gen_id *id, const fil_update_config *c,
                                          const run_ctx *rc)
{
    arena a = {0};
    fil_update made, read;
    gen_digest d;
    sha256_ctx all;
    uint8_t *files[16];
    size_t lens[16], total = 0;
    uint64_t t0 = clock_now_ns();
    assert_ok(fil_gen_update(&made, &a, id, c, rc));
    double made_s = since_s(t0);
    sha256_init(&all);
    for (uint32_t k = 0; k < made.n_partitions; k++) {
        assert_ok(fil_update_encode(&files[k], &lens[k], &made, k));
        sha256_update(&all, files[k], lens[k]);
        total += lens[k];
    }
    sha256_final(&all, d.b);
    assert_ok(
        fil_update_decode(&read, &a, c, (const uint8_t *const *)files, lens, made.n_partitions));
    const fil_update_context ctx = {made.comm_r_old, made.comm_d_new, made.comm_r_new, 0};
    assert_ok(fil_update_check(&read, &ctx, rc));
    assert_int_equal(read.h, made.h);
    print_message("SnapDeals %s: made in %.3f s, %zu bytes in %u partitions\n", c->name, made_s,
                  total, made.n_partitions);
    for (uint32_t k = 0; k < made.n_partitions; k++)
        mem_free(files[k]);
    arena_fini(&a);
    return d;
}

static inline bool digest_eq(gen_digest a, gen_digest b) { return memcmp(a.b, b.b, 32) == 0; }
#endif
