/* SnapDeals proofs of 32 and 64 GiB, made from sectors whose nodes are all the same. */
#include "golden.h"
#include "uniform_tree.h"

#include "base/span.h"
#include "fil/update.h"

static uint8_t *make_update(size_t *len, const fil_update_config *c, uint32_t k,
                            const uniform_tree *r, const uniform_tree *d, const fr *comm_c,
                            const fr *comm_r)
{
    fil_tree t = {c->base, c->base_levels, c->sub, c->top}, td = {2, c->lg_nodes, 0, 0};
    uint32_t n_apex = 1u << c->lg_apex, apex_row = c->lg_nodes - c->lg_partitions - c->lg_apex;
    uint64_t challenges[86];
    uint8_t *file =
                malloc(100 + 32 * (size_t)n_apex +
                       c->challenges * (2 * bincode_path_bytes(t) + bincode_path_bytes(td) + 48)),
            *p = file;
    assert_non_null(file);
    assert_ok(fil_update_challenges(challenges, c, k, comm_r));
    p = put_u64(put_fr(p, comm_c), n_apex);
    for (uint32_t i = 0; i < n_apex; i++)
        p = put_fr(p, &d->node[apex_row]);
    p = put_u64(p, c->challenges);
    for (uint32_t i = 0; i < c->challenges; i++) {
        p = put_path(p, r, t, challenges[i]);
        p = put_path(p, d, td, challenges[i]);
        p = put_path(p, r, t, challenges[i]);
    }
    *len = (size_t)(p - file);
    return file;
}

/* Zero data changes no leaf, so that the old replica is the new one. */
static void check_update(uint64_t sector_bytes)
{
    const fil_update_config *c = fil_update_config_by_bytes(sector_bytes);
    fil_tree t = {c->base, c->base_levels, c->sub, c->top};
    fr leaf, comm_c;
    fr_from_u64(&leaf, 9);
    fr_from_u64(&comm_c, 10);
    uniform_tree r = uniform_tree_make(&leaf, t, true),
                 d = uniform_tree_make(&FR_ZERO, (fil_tree){2, c->lg_nodes, 0, 0}, false);
    const fr pair[2] = {comm_c, r.node[r.n_levels]};
    fil_update_context ctx = {.comm_d_new = d.node[d.n_levels]};
    poseidon_hash_merkle(&ctx.comm_r_old, 2, pair);
    ctx.comm_r_new = ctx.comm_r_old;
    uint8_t *files[16];
    size_t lens[16];
    for (uint32_t k = 0; k < 1u << c->lg_partitions; k++)
        files[k] = make_update(&lens[k], c, k, &r, &d, &comm_c, &ctx.comm_r_new);
    arena a = {0};
    fil_update u;
    uint64_t t0 = clock_now_ns();
    assert_ok(
        fil_update_decode(&u, &a, c, (const uint8_t *const *)files, lens, 1u << c->lg_partitions));
    uint64_t t1 = clock_now_ns();
    assert_ok(fil_update_check(&u, &ctx, NULL));
    uint64_t t2 = clock_now_ns();
    print_message("update %s: decoded in %.1f ms, checked in %.1f ms\n", c->name,
                  (double)(t1 - t0) / 1e6, (double)(t2 - t1) / 1e6);
    fil_path *last = &u.partitions[15].challenges[85].r_new;
    fr_add(&last->leaf, &last->leaf, &FR_ONE);
    assert_non_null(strstr(fil_update_check(&u, &ctx, NULL).msg,
                           "partition_proofs[15].challenge_proofs[85].proof_r_new.leaf"));
    for (uint32_t k = 0; k < 1u << c->lg_partitions; k++)
        free(files[k]);
    arena_fini(&a);
}

static void test_update_of_32_gib(void **state)
{
    (void)state;
    check_update((uint64_t)32 << 30);
}

static void test_update_of_64_gib(void **state)
{
    (void)state;
    check_update((uint64_t)64 << 30);
}

/* The TreeD of zeros is the reference's comm_d of an empty sector. */
static void test_zero_data_has_the_golden_commitment(void **state)
{
    (void)state;
    json_doc doc = golden_json("vectors.json.gz");
    json_val v;
    unsigned n = 0;
    for (json_iter it = items(get(get(json_root(&doc), "g_primitives"), "comm_d_zero"));
         json_next(&it, &v); n++) {
        const fil_sector *s = fil_sector_by_bytes(get_u64(v, "sector_size"));
        fr want = get_fr(v, "comm_d");
        uniform_tree d = uniform_tree_make(&FR_ZERO, (fil_tree){2, s->lg_nodes, 0, 0}, false);
        assert_true(fr_eq(&d.node[s->lg_nodes], &want));
    }
    assert_int_equal(n, FIL_N_SECTORS);
    golden_json_free(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zero_data_has_the_golden_commitment),
        cmocka_unit_test(test_update_of_32_gib),
        cmocka_unit_test(test_update_of_64_gib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
