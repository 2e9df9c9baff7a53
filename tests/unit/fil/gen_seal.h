/* Sealing the columns of a golden sector. Labels depend on no data, so its replica id must lead to
 * its comm_c. */
#ifndef TESTS_FIL_GEN_SEAL_H
#define TESTS_FIL_GEN_SEAL_H
#include "gen_test.h"

#include "fil/gen_int.h"

static inline void check_sealed_root(const char *name, uint32_t layers)
{
    char path[80];
    arena a = {0};
    uint8_t porep_id[32];
    run_ctx rc = {0};
    gen_tree t;
    gen_columns c = {.layers = layers};
    fil_graph g;
    size_t n = strlen(name);
    assert_ok(pool_create(&rc.pool, 0));
    snprintf(path, sizeof path, "porep/%s.meta.json", name);
    json_doc doc = golden_json(path);
    json_val root = json_root(&doc);
    const fil_sector *s = fil_sector_by_bytes(get_u64(root, "sector_size"));
    fr replica_id = get_fr(root, "replica_id"), comm_c = get_fr(root, "comm_c");
    get_hex32(porep_id, root, "porep_id");
    fil_graph_init(&g, s->n_nodes, porep_id, n > 3 && strcmp(name + n - 3, "-V1") == 0);
    assert_ok(gen_columns_init(&c, &a, &g, NULL, 0, &rc));
    assert_ok(gen_columns_label(&c, &a, 0, &replica_id, &rc));
    assert_ok(gen_tree_c(&t, &a, s, &c, &FR_ZERO, &rc));
    if (!fr_eq(gen_tree_root(&t), &comm_c))
        fail_msg("%s: comm_c differs", name);
    golden_json_free(&doc);
    pool_destroy(rc.pool);
    arena_fini(&a);
}
#endif
