#include "base/mem.h"
#include "fil/bincode.h"
#include "fil/update.h"
#include <stdio.h>

static cuzk_status alloc(void **out, arena *a, size_t n, size_t size)
{
    size_t bytes;
    *out = mem_mul(&bytes, n, size) ? arena_alloc(a, bytes, 64) : NULL;
    return *out ? cuzk_ok()
                : cuzk_fail(CUZK_E_NOMEM, "decoding an update: %zu elements of %zu bytes", n, size);
}

static cuzk_status get_path(fil_path *p, fr **sib, bincode *r, const char *field, fil_tree t)
{
    bincode_enter(r, field, BINCODE_NO_IDX);
    CUZK_TRY(bincode_path(p, *sib, r, t));
    bincode_leave(r);
    *sib += fil_tree_siblings(t);
    return cuzk_ok();
}

/* {comm_c, apex_leafs, challenge_proofs: [{proof_r_old, proof_d_new, proof_r_new}, ...]} */
static cuzk_status get_partition(fil_update_partition *p, const fil_update_config *c, arena *a,
                                 bincode *r)
{
    fil_tree tree_r = {c->base, c->base_levels, c->sub, c->top}, tree_d = {2, c->lg_nodes, 0, 0};
    size_t n_sib = 2 * fil_tree_siblings(tree_r) + fil_tree_siblings(tree_d);
    void *mem;
    CUZK_TRY(bincode_fr(&p->comm_c, r, "comm_c"));
    p->n_apex = 1u << c->lg_apex;
    CUZK_TRY(bincode_count(r, "apex_leafs", p->n_apex, 32));
    CUZK_TRY(alloc(&mem, a, p->n_apex, sizeof *p->apex));
    p->apex = mem;
    CUZK_TRY(bincode_frs(p->apex, r, "apex_leafs", p->n_apex));
    CUZK_TRY(bincode_count(r, "challenge_proofs", c->challenges,
                           2 * bincode_path_bytes(tree_r) + bincode_path_bytes(tree_d)));
    CUZK_TRY(alloc(&mem, a, c->challenges, sizeof *p->challenges));
    p->challenges = mem;
    CUZK_TRY(alloc(&mem, a, c->challenges * n_sib, sizeof(fr)));
    fr *sib = mem;
    for (uint32_t i = 0; i < c->challenges; i++) {
        fil_update_challenge *ch = &p->challenges[i];
        bincode_enter(r, "challenge_proofs", i);
        CUZK_TRY(get_path(&ch->r_old, &sib, r, "proof_r_old", tree_r));
        CUZK_TRY(get_path(&ch->d_new, &sib, r, "proof_d_new", tree_d));
        CUZK_TRY(get_path(&ch->r_new, &sib, r, "proof_r_new", tree_r));
        bincode_leave(r);
    }
    return cuzk_ok();
}

cuzk_status fil_update_decode(fil_update *out, arena *a, const fil_update_config *config,
                              const uint8_t *const *files, const size_t *lens, uint32_t n_files)
{
    *out = (fil_update){0};
    fil_update u = {
        .config = config, .n_partitions = 1u << config->lg_partitions, .h = config->h_default};
    void *mem;
    if (n_files != u.n_partitions) {
        char expected[48];
        snprintf(expected, sizeof expected, "%u for %s", u.n_partitions, config->name);
        return cuzk_bad_input("partition_proofs", expected, "%u", n_files);
    }
    CUZK_TRY(alloc(&mem, a, n_files, sizeof *u.partitions));
    u.partitions = mem;
    for (uint32_t k = 0; k < n_files; k++) {
        bincode r = bincode_make(files[k], lens[k], "partition_proofs", k);
        CUZK_TRY(get_partition(&u.partitions[k], config, a, &r));
    }
    *out = u;
    return cuzk_ok();
}
