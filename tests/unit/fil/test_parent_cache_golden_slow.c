/* Whole parent caches against the digests the reference publishes; slow under sanitizers (half a
 * million nodes). */
#include "golden.h"

#include "fil/graph.h"
#include "hash/sha256.h"

/* SHA-256 over the 14 parents (u32 LE) of every node of a 2 KiB and an 8 MiB graph, legacy and
 * not. */
static void test_whole_parent_caches_are_golden(void **state)
{
    (void)state;
    static const struct {
        uint32_t id;
        uint64_t bytes;
    } cases[] = {{0, 2048}, {5, 2048}, {1, 8388608}, {6, 8388608}};
    json_doc doc = golden_json("parent_cache.json");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fil_graph g;
        uint8_t id[32], digest[32], want[32];
        fil_porep_id(id, fil_seal_proof_by_id(cases[i].id));
        fil_graph_init(&g, cases[i].bytes / 32, id, cases[i].id < 5);
        sha256_ctx h;
        sha256_init(&h);
        for (uint64_t node = 0; node < g.n_nodes; node++) {
            uint32_t p[14];
            fil_graph_drg_parents(&g, p, node);
            fil_graph_exp_parents(&g, p + 6, node);
            sha256_update(&h, p, sizeof p);
        }
        sha256_final(&h, digest);
        json_iter it;
        assert_ok(json_object(&it, json_root(&doc)));
        const char *key;
        size_t key_len;
        json_val v;
        bool found = false;
        while (json_next_member(&it, &key, &key_len, &v)) {
            get_hex32(want, v, "digest");
            found = found ||
                    (get_u64(v, "sector_size") == cases[i].bytes && memcmp(digest, want, 32) == 0);
        }
        if (!found)
            fail_msg("no cache of %lu bytes has the digest found for id %u", cases[i].bytes,
                     cases[i].id);
    }
    golden_json_free(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole_parent_caches_are_golden)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
