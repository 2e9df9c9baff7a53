/* Parents, challenges, replica ids, names and public inputs against vectors.json and real
 * sectors. */
#include "golden.h"

#include "fil/porep.h"
#include "hash/sha256.h"

static fil_seal_version version_of(const char *kind)
{
    if (strcmp(kind, "interactive") == 0)
        return FIL_SEAL_V1_1;
    if (strcmp(kind, "ni") == 0)
        return FIL_SEAL_NI;
    assert_string_equal(kind, "synthetic");
    return FIL_SEAL_SYNTHETIC;
}

static void test_parents_are_golden(void **state)
{
    (void)state;
    json_doc doc = golden_json("vectors.json.gz");
    json_iter it = items(get(json_root(&doc), "a_parents"));
    json_val e, pair;
    size_t n = 0;
    while (json_next(&it, &e)) {
        fil_graph g;
        uint8_t id[32];
        char api[16];
        uint64_t size = get_u64(e, "sector_size");
        get_hex32(id, e, "porep_id");
        get_str(api, sizeof api, e, "api_version");
        fil_graph_init(&g, size / 32, id, strcmp(api, "1.0.0") == 0);
        json_iter nodes = items(get(e, "node_parents"));
        while (json_next(&nodes, &pair)) {
            json_iter two = items(pair), list;
            json_val node_val, parents_val, p;
            uint64_t node, want;
            uint32_t got[14];
            assert_true(json_next(&two, &node_val) && json_next(&two, &parents_val));
            assert_ok(json_get_u64(&node, node_val, UINT32_MAX));
            fil_graph_drg_parents(&g, got, node);
            fil_graph_exp_parents(&g, got + 6, node);
            list = items(parents_val);
            for (unsigned i = 0; i < 14; i++) {
                assert_true(json_next(&list, &p));
                assert_ok(json_get_u64(&want, p, UINT32_MAX));
                if (got[i] != want)
                    fail_msg("size %lu api %s node %lu parent %u: %u, want %lu", size, api, node, i,
                             got[i], want);
            }
            n++;
        }
    }
    assert_int_equal(n, 40 * 66);
    golden_json_free(&doc);
}

static void test_challenges_are_golden(void **state)
{
    (void)state;
    json_doc doc = golden_json("vectors.json.gz");
    json_iter it = items(get(json_root(&doc), "b_porep_challenges"));
    json_val e, part, c;
    while (json_next(&it, &e)) {
        uint64_t out[18], want;
        uint8_t seed[32] = {0}, all[32], sum[32];
        char kind[16];
        get_str(kind, sizeof kind, e, "kind");
        fil_seal_version v = version_of(kind);
        fr replica = get_fr(e, "replica_id"), comm_r = get_fr(e, "comm_r");
        if (v != FIL_SEAL_NI)
            get_hex32(seed, e, "seed");
        uint64_t nodes = get_u64(e, "sector_size") / 32;
        uint32_t per = (uint32_t)get_u64(e, "per_partition"),
                 parts = (uint32_t)get_u64(e, "partitions");
        const fil_sector *s = fil_sector_by_bytes(nodes * 32);
        assert_int_equal(per, s->challenges);
        assert_int_equal(parts, fil_seal_partitions(s, v));
        json_iter list = items(get(e, "challenges"));
        while (json_next(&list, &part)) {
            assert_ok(fil_challenges(out, per, (uint32_t)get_u64(part, "k"), v, nodes, &replica,
                                     &comm_r, seed));
            json_iter cs = items(get(part, "c"));
            for (uint32_t i = 0; json_next(&cs, &c); i++) {
                assert_ok(json_get_u64(&want, c, UINT64_MAX));
                assert_int_equal(out[i], want);
            }
        }
        sha256_ctx h;
        sha256_init(&h);
        for (uint32_t k = 0; k < parts; k++) {
            assert_ok(fil_challenges(out, per, k, v, nodes, &replica, &comm_r, seed));
            for (uint32_t i = 0; i < per; i++) {
                uint8_t le[8];
                store_le64(le, out[i]);
                sha256_update(&h, le, sizeof le);
            }
        }
        sha256_final(&h, sum);
        get_hex32(all, e, "sha256_all_u64le");
        assert_memory_equal(sum, all, 32);
    }
    golden_json_free(&doc);
}

static void test_replica_ids_are_golden(void **state)
{
    (void)state;
    json_doc doc = golden_json("vectors.json.gz");
    json_iter it = items(get(json_root(&doc), "e_replica_id"));
    json_val e;
    while (json_next(&it, &e)) {
        uint8_t prover[32], ticket[32], id[32];
        fr got, want = get_fr(e, "replica_id"), comm_d = get_fr(e, "comm_d");
        get_hex32(prover, e, "prover_id");
        get_hex32(ticket, e, "ticket");
        get_hex32(id, e, "porep_id");
        fil_replica_id(&got, prover, get_u64(e, "sector_id"), ticket, &comm_d, id);
        assert_true(fr_eq(&got, &want));
    }
    golden_json_free(&doc);
}

static void test_names_and_stems_are_golden(void **state)
{
    (void)state;
    json_doc doc = golden_json("vectors.json.gz");
    json_val ids = get(json_root(&doc), "f_identifiers"), e;
    json_iter it = items(get(ids, "porep"));
    while (json_next(&it, &e)) {
        char want[256], stem[256];
        get_str(want, sizeof want, e, "params");
        fil_porep_param_stem(stem, fil_sector_by_bytes(get_u64(e, "sector_size")));
        strcat(stem, ".params");
        assert_string_equal(stem, want);
    }
    it = items(get(ids, "registered_seal"));
    unsigned n = 0;
    while (json_next(&it, &e)) {
        char name[80];
        uint8_t want[32], got[32];
        get_str(name, sizeof name, e, "json_name");
        const fil_seal_proof *p = fil_seal_proof_by_name(name);
        assert_non_null(p);
        assert_int_equal(p->id, get_u64(e, "number"));
        assert_ptr_equal(p, fil_seal_proof_by_id(p->id));
        assert_int_equal(p->sector_bytes, get_u64(e, "sector_size"));
        assert_int_equal(fil_seal_partitions(fil_sector_by_bytes(p->sector_bytes), p->version),
                         get_u64(e, "partitions"));
        fil_porep_id(got, p);
        get_hex32(want, e, "porep_id");
        assert_memory_equal(got, want, 32);
        n++;
    }
    assert_int_equal(n, FIL_N_SEAL_PROOFS);
    assert_null(fil_seal_proof_by_id(FIL_N_SEAL_PROOFS));
    assert_null(fil_seal_proof_by_name("StackedDrg2KiBV9"));
    golden_json_free(&doc);
}

static void test_sector_table_is_consistent(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIL_N_SECTORS; i++) {
        const fil_sector *s = &FIL_SECTORS[i];
        assert_int_equal(s->n_nodes * 32, s->sector_bytes);
        assert_int_equal((uint64_t)1 << s->lg_nodes, s->n_nodes);
        uint64_t leaves = (uint64_t)(s->sub ? s->sub : 1) * (s->top ? s->top : 1);
        for (uint32_t k = 0; k < s->base_levels; k++)
            leaves *= s->base;
        assert_int_equal(leaves, s->n_nodes);
        assert_ptr_equal(s, fil_sector_by_name(s->name));
        assert_ptr_equal(s, fil_sector_by_bytes(s->sector_bytes));
    }
    assert_null(fil_sector_by_bytes(1024));
}

static void test_prover_id_is_leb128(void **state)
{
    (void)state;
    static const struct {
        uint64_t miner;
        const char *hex;
    } cases[] = {
        {0, "00"},
        {1, "01"},
        {127, "7f"},
        {128, "8001"},
        {1000, "e807"},
        {3172995, "83d5c101"},
        {UINT64_MAX, "ffffffffffffffffff01"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t got[32], want[32] = {0};
        fil_prover_id(got, cases[i].miner);
        assert_true(hex_decode(want, strlen(cases[i].hex) / 2, cases[i].hex, strlen(cases[i].hex)));
        assert_memory_equal(got, want, 32);
    }
}

static void hash_inputs(uint8_t out[32], const fil_porep_statement *s, uint32_t k)
{
    fr in[FIL_POREP_INPUTS(18)];
    size_t n = FIL_POREP_INPUTS(s->sector->challenges);
    sha256_ctx h;
    assert_ok(fil_porep_statement_inputs(in, s, k));
    sha256_init(&h);
    for (size_t i = 0; i < n; i++) {
        uint8_t b[32];
        fr_to_le(b, &in[i]);
        sha256_update(&h, b, sizeof b);
    }
    sha256_final(&h, out);
}

static void check_input_hashes(const fil_porep_statement *s, json_val hashes)
{
    json_iter it = items(hashes);
    json_val v;
    assert_int_equal(it.n, fil_seal_partitions(s->sector, s->version));
    for (uint32_t k = 0; json_next(&it, &v); k++) {
        uint8_t got[32], want[32];
        val_hex32(want, v);
        hash_inputs(got, s, k);
        assert_memory_equal(got, want, 32);
    }
}

static void test_public_inputs_of_every_registered_proof(void **state)
{
    (void)state;
    json_doc doc = golden_json("vectors.json.gz");
    json_iter it = items(get(json_root(&doc), "h_porep_inputs"));
    json_val e;
    while (json_next(&it, &e)) {
        char name[80];
        uint8_t seed[32] = {0}, prover[32], ticket[32];
        fr replica;
        get_str(name, sizeof name, e, "registered");
        const fil_seal_proof *p = fil_seal_proof_by_name(name);
        assert_non_null(p);
        fil_porep_statement s = {
            .sector = fil_sector_by_bytes(p->sector_bytes), .version = p->version, .seed = seed};
        s.replica_id = get_fr(e, "replica_id");
        s.comm_d = get_fr(e, "comm_d");
        s.comm_r = get_fr(e, "comm_r");
        fil_porep_id(s.porep_id, p);
        get_hex32(seed, e, "seed");
        get_hex32(prover, e, "prover_id");
        get_hex32(ticket, e, "ticket");
        fil_replica_id(&replica, prover, get_u64(e, "sector_id"), ticket, &s.comm_d, s.porep_id);
        assert_true(fr_eq(&replica, &s.replica_id));
        assert_int_equal(FIL_POREP_INPUTS(s.sector->challenges),
                         get_u64(e, "inputs_per_partition"));
        check_input_hashes(&s, get(e, "sha256_per_partition"));
    }
    golden_json_free(&doc);
}

/* Sectors whose proofs the reference's own regression suite keeps, all sizes up to 64 GiB. */
static void test_public_inputs_of_real_sectors(void **state)
{
    (void)state;
    json_doc doc = golden_json("seal-regression-v16.json.gz");
    json_iter it = items(json_root(&doc));
    json_val e;
    assert_int_equal(it.n, 448);
    while (json_next(&it, &e)) {
        char api[16];
        uint8_t seed[32], prover[32], ticket[32];
        fr replica;
        fil_porep_statement s = {.sector = fil_sector_by_bytes(get_u64(e, "sector_size")),
                                 .seed = seed};
        get_str(api, sizeof api, e, "api_version");
        s.version = items(get(e, "api_features")).n ? FIL_SEAL_SYNTHETIC
                    : strcmp(api, "V1_0_0") == 0    ? FIL_SEAL_V1
                                                    : FIL_SEAL_V1_1;
        s.replica_id = get_fr(e, "replica_id");
        s.comm_d = get_fr(e, "comm_d");
        s.comm_r = get_fr(e, "comm_r");
        get_hex32(s.porep_id, e, "porep_id");
        get_hex32(seed, e, "seed");
        get_hex32(prover, e, "prover_id");
        get_hex32(ticket, e, "ticket");
        fil_replica_id(&replica, prover, get_u64(e, "sector_id"), ticket, &s.comm_d, s.porep_id);
        assert_true(fr_eq(&replica, &s.replica_id));
        check_input_hashes(&s, get(e, "inputs_sha256"));
    }
    golden_json_free(&doc);
}

static void test_label_and_encode_are_golden(void **state)
{
    (void)state;
    json_doc doc = golden_json("vectors.json.gz");
    json_iter it = items(get(get(json_root(&doc), "g_primitives"), "labels_and_encode"));
    json_val e, v;
    while (json_next(&it, &e)) {
        fr given[14], parents[FIL_LABEL_PARENTS], label,
            want = get_fr(e, "label"), data = get_fr(e, "data"), enc = get_fr(e, "encoded");
        fr replica = get_fr(e, "replica_id");
        uint32_t layer = (uint32_t)get_u64(e, "layer"), n = 0;
        json_iter ps = items(get(e, "parents"));
        while (json_next(&ps, &v)) {
            uint8_t b[32];
            val_hex32(b, v);
            assert_true(n < 14 && fr_from_le(&given[n], b));
            n++;
        }
        assert_int_equal(n, layer == 1 ? 6 : 14);
        for (uint32_t k = 0; k < FIL_LABEL_PARENTS; k++)
            parents[k] = given[fil_label_parent(layer, k)];
        fil_label(&label, &replica, layer, get_u64(e, "node"), parents, FIL_LABEL_PARENTS);
        assert_true(fr_eq(&label, &want));
        fr_add(&label, &label, &data);
        assert_true(fr_eq(&label, &enc));
    }
    golden_json_free(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sector_table_is_consistent),
        cmocka_unit_test(test_prover_id_is_leb128),
        cmocka_unit_test(test_parents_are_golden),
        cmocka_unit_test(test_challenges_are_golden),
        cmocka_unit_test(test_replica_ids_are_golden),
        cmocka_unit_test(test_names_and_stems_are_golden),
        cmocka_unit_test(test_label_and_encode_are_golden),
        cmocka_unit_test(test_public_inputs_of_every_registered_proof),
        cmocka_unit_test(test_public_inputs_of_real_sectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
