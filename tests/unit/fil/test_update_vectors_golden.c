/* Update challenges, phi and rho, names, parameters and public inputs against
 * tests/golden/vectors.json.gz. */
#include "golden.h"

#include "fil/update.h"
#include "hash/sha256.h"

static json_doc vectors;

static json_val group(const char *name) { return get(json_root(&vectors), name); }

static uint64_t val_u64(json_val v)
{
    uint64_t out;
    assert_ok(json_get_u64(&out, v, UINT64_MAX));
    return out;
}

static fr val_fr(json_val v)
{
    uint8_t b[32];
    fr x;
    val_hex32(b, v);
    assert_true(fr_from_le(&x, b));
    return x;
}

static void test_challenges(void **state)
{
    (void)state;
    json_val v, part, x;
    unsigned n = 0;
    for (json_iter it = items(group("d_update_challenges")); json_next(&it, &v); n++) {
        const fil_update_config *c = fil_update_config_by_bytes(32 * get_u64(v, "nodes"));
        assert_non_null(c);
        assert_int_equal(c->n_nodes, get_u64(v, "nodes"));
        assert_int_equal(c->n_nodes, (uint64_t)1 << c->lg_nodes);
        assert_int_equal(1u << c->lg_partitions, get_u64(v, "partition_count"));
        fr comm_r_new = get_fr(v, "comm_r_new");
        uint64_t challenges[86];
        for (json_iter parts = items(get(v, "challenges")); json_next(&parts, &part);) {
            json_iter list = items(get(part, "c"));
            assert_int_equal(list.n, c->challenges);
            assert_ok(
                fil_update_challenges(challenges, c, (uint32_t)get_u64(part, "k"), &comm_r_new));
            for (uint32_t i = 0; json_next(&list, &x); i++)
                assert_int_equal(challenges[i], val_u64(x));
        }
        sha256_ctx h;
        uint8_t want[32], got[32], b[8];
        sha256_init(&h);
        for (uint32_t k = 0; k < 1u << c->lg_partitions; k++) {
            assert_ok(fil_update_challenges(challenges, c, k, &comm_r_new));
            for (uint32_t i = 0; i < c->challenges; i++) {
                store_le64(b, challenges[i]);
                sha256_update(&h, b, 8);
            }
        }
        sha256_final(&h, got);
        get_hex32(want, v, "sha256_all_u64le");
        assert_memory_equal(got, want, 32);
    }
    assert_int_equal(n, FIL_N_UPDATE_CONFIGS);
}

static void test_phi_and_rho(void **state)
{
    (void)state;
    json_val v, pair, x;
    unsigned n = 0;
    for (json_iter it = items(get(group("g_primitives"), "phi_rho")); json_next(&it, &v); n++) {
        fr comm_d_new = get_fr(v, "comm_d_new"), comm_r_old = get_fr(v, "comm_r_old"),
           want = get_fr(v, "phi"), phi, rho;
        fil_update_phi(&phi, &comm_d_new, &comm_r_old);
        assert_true(fr_eq(&phi, &want));
        for (json_iter rhos = items(get(v, "rho_of_high")); json_next(&rhos, &pair);) {
            json_iter p = items(pair);
            assert_true(json_next(&p, &x));
            fil_update_rho(&rho, &phi, val_u64(x));
            assert_true(json_next(&p, &x));
            want = val_fr(x);
            assert_true(fr_eq(&rho, &want));
        }
        fr old_leaf = get_fr(v, "old_leaf"), data = get_fr(v, "data_leaf"), leaf;
        fil_update_rho(&rho, &phi, 512);
        fr_mul(&leaf, &data, &rho);
        fr_add(&leaf, &leaf, &old_leaf);
        want = get_fr(v, "new_leaf_high512");
        assert_true(fr_eq(&leaf, &want));
    }
    assert_int_equal(n, 4);
}

/* "PublicParams { sector_nodes: 32, challenge_count: 10, ... }" */
static void check_params(const fil_update_config *c, json_val v)
{
    char text[300], want[300];
    get_str(text, sizeof text, v, "params_struct");
    snprintf(want, sizeof want,
             "PublicParams { sector_nodes: %llu, challenge_count: %u, challenge_bit_len: %u, "
             "partition_count: %u, partition_bit_len: %u, "
             "apex_leaf_count: %u, apex_leaf_bit_len: %u }",
             (unsigned long long)c->n_nodes, c->challenges, c->lg_nodes, 1u << c->lg_partitions,
             c->lg_partitions, 1u << c->lg_apex, c->lg_apex);
    assert_string_equal(text, want);
    assert_int_equal(c->h_default, get_u64(v, "h_default"));
    assert_int_equal(fil_update_h_select(c, c->h_default), get_u64(v, "h_select"));
    json_iter hs = items(get(v, "hs"));
    json_val x;
    assert_int_equal(hs.n, ARRAY_LEN(c->hs));
    for (unsigned i = 0; json_next(&hs, &x); i++)
        assert_int_equal(c->hs[i], val_u64(x));
}

static void test_parameters_and_key_file_names(void **state)
{
    (void)state;
    static const char *const groups[] = {"update", "update_poseidon"};
    char stem[200], want[200];
    json_val v;
    for (unsigned poseidon = 0; poseidon < 2; poseidon++) {
        unsigned n = 0;
        for (json_iter it = items(get(group("f_identifiers"), groups[poseidon]));
             json_next(&it, &v); n++) {
            const fil_update_config *c = fil_update_config_by_bytes(get_u64(v, "sector_size"));
            assert_non_null(c);
            fil_update_param_stem(stem, c, poseidon == 1);
            get_str(want, sizeof want, v, "params");
            assert_memory_equal(want, stem, strlen(stem));
            assert_string_equal(want + strlen(stem), ".params");
            if (!poseidon)
                check_params(c, v);
        }
        assert_int_equal(n, FIL_N_UPDATE_CONFIGS);
    }
    assert_null(fil_update_config_by_bytes(1024 * 1024));
    assert_int_equal(fil_update_h_select(fil_update_config_by_bytes(2048), 2), 0);
}

/* Trees of all sizes are full and agree with the sector table where that has the size. */
static void test_tree_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIL_N_UPDATE_CONFIGS; i++) {
        const fil_update_config *c = &FIL_UPDATE_CONFIGS[i];
        uint64_t leaves = (uint64_t)(c->sub ? c->sub : 1) * (c->top ? c->top : 1);
        for (uint32_t k = 0; k < c->base_levels; k++)
            leaves *= c->base;
        assert_int_equal(leaves, c->n_nodes);
        assert_int_equal(c->sector_bytes, 32 * c->n_nodes);
        const fil_sector *s = fil_sector_by_bytes(c->sector_bytes);
        if (!s)
            continue;
        assert_string_equal(s->name, c->name);
        assert_int_equal(s->base, c->base);
        assert_int_equal(s->sub, c->sub);
        assert_int_equal(s->top, c->top);
        assert_int_equal(s->base_levels, c->base_levels);
    }
}

static void test_registered_proofs(void **state)
{
    (void)state;
    json_val v;
    uint32_t n = 0;
    for (json_iter it = items(get(group("f_identifiers"), "registered_update")); json_next(&it, &v);
         n++) {
        char name[64];
        get_str(name, sizeof name, v, "name");
        const fil_update_proof *p = fil_update_proof_by_name(name);
        assert_non_null(p);
        assert_ptr_equal(fil_update_proof_by_id((uint32_t)get_u64(v, "number")), p);
        assert_int_equal(p->id, get_u64(v, "number"));
        const fil_update_config *c = fil_update_config_by_bytes(p->sector_bytes);
        char want[64];
        snprintf(want, sizeof want, "StackedDrg%sV1", c->name);
        assert_string_equal(name, want);
    }
    assert_int_equal(n, 5);
    assert_null(fil_update_proof_by_id(n));
    assert_null(fil_update_proof_by_name("StackedDrg4KiBV1"));
}

static void test_public_inputs(void **state)
{
    (void)state;
    json_val v, h, x;
    unsigned n = 0;
    for (json_iter it = items(group("h_update_inputs")); json_next(&it, &v); n++) {
        const fil_update_config *c = fil_update_config_by_bytes(get_u64(v, "sector_size"));
        fil_update_context s = {get_fr(v, "comm_r_old"), get_fr(v, "comm_d_new"),
                                get_fr(v, "comm_r_new"), 0};
        for (json_iter hs = items(get(v, "by_h")); json_next(&hs, &h);) {
            json_iter firsts = items(get(h, "input0_per_partition"));
            fr in[FIL_UPDATE_N_PUBLIC], want;
            s.h = (uint32_t)get_u64(h, "h");
            assert_int_equal(fil_update_h_select(c, s.h), get_u64(h, "h_select"));
            for (uint32_t k = 0; json_next(&firsts, &x); k++) {
                fil_update_statement_inputs(in, c, &s, k);
                fr_from_u64(&want, val_u64(x));
                assert_true(fr_eq(&in[0], &want));
                json_iter others = items(get(h, "others"));
                for (unsigned i = 1; json_next(&others, &x); i++) {
                    want = val_fr(x);
                    assert_true(fr_eq(&in[i], &want));
                }
            }
        }
    }
    assert_int_equal(n, FIL_N_UPDATE_CONFIGS);
}

static int setup(void **state)
{
    (void)state;
    vectors = golden_json("vectors.json.gz");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    golden_json_free(&vectors);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_challenges),
        cmocka_unit_test(test_phi_and_rho),
        cmocka_unit_test(test_parameters_and_key_file_names),
        cmocka_unit_test(test_tree_shapes),
        cmocka_unit_test(test_registered_proofs),
        cmocka_unit_test(test_public_inputs),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
