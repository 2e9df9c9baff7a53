/* WindowPoSt proofs of any size and number of sectors, decoded and checked. */
#ifndef TESTS_FIL_LARGE_WINDOW_H
#define TESTS_FIL_LARGE_WINDOW_H
#include "golden.h"
#include "uniform_tree.h"

#include "base/span.h"
#include "fil/post.h"

static inline fil_tree tree_r(const fil_sector *s)
{
    return (fil_tree){s->base, s->base_levels, s->sub, s->top};
}

typedef struct window {
    fil_post_proof proof;
    fil_post_context ctx;
    uint32_t n;
    uint8_t **files;
    size_t *lens;
} window;

static inline void make_file(window *w, uint32_t i, const uniform_tree *u, const fr *comm_c)
{
    fil_tree t = tree_r(fil_sector_by_bytes(w->proof.sector_bytes));
    const fr pair[2] = {*comm_c, u->node[u->n_levels]};
    uint64_t id = 1000 + 3 * (uint64_t)i;
    fr comm_r;
    uint8_t *p = malloc(200 + 10 * (bincode_path_bytes(t) + 16));
    assert_non_null(p);
    w->files[i] = p;
    poseidon_hash_merkle(&comm_r, 2, pair);
    p = put_fr(put_u64(p, id), &comm_r);
    p = put_u64(put_u64(p, 1), 10);
    for (uint32_t k = 0; k < 10; k++) {
        uint64_t index = fil_post_challenge_index(&w->proof, i, k);
        p = put_path(p, u, t,
                     fil_post_challenge(w->ctx.randomness, id, index, w->proof.sector_bytes / 32));
    }
    p = put_fr(put_fr(p, comm_c), &u->node[u->n_levels]);
    w->lens[i] = (size_t)(p - w->files[i]);
}

static inline window make_window(const char *name, uint32_t n)
{
    window w = {.proof = *fil_post_proof_by_name(name), .n = n};
    fr leaf, comm_c;
    memset(w.ctx.randomness, 0x2a, 32);
    w.files = calloc(n, sizeof *w.files);
    w.lens = calloc(n, sizeof *w.lens);
    assert_true(w.files && w.lens);
    fr_from_u64(&leaf, 7);
    fr_from_u64(&comm_c, 8);
    uniform_tree u =
        uniform_tree_make(&leaf, tree_r(fil_sector_by_bytes(w.proof.sector_bytes)), true);
    for (uint32_t i = 0; i < n; i++)
        make_file(&w, i, &u, &comm_c);
    return w;
}

static inline void window_free(window *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        free(w->files[i]);
    free(w->files);
    free(w->lens);
}

static inline void check_window(const char *name, uint32_t n, uint32_t n_partitions, pool *threads)
{
    window w = make_window(name, n);
    arena a = {0};
    fil_post p;
    const run_ctx rc = {.pool = threads};
    uint64_t t0 = clock_now_ns();
    assert_ok(fil_post_decode(&p, &a, &w.proof, (const uint8_t *const *)w.files, w.lens, n));
    uint64_t t1 = clock_now_ns();
    assert_ok(fil_post_check(&p, &w.ctx, &rc));
    uint64_t t2 = clock_now_ns();
    print_message("%s, %u sectors: decoded in %.1f ms, checked in %.1f ms\n", name, n,
                  (double)(t1 - t0) / 1e6, (double)(t2 - t1) / 1e6);
    assert_int_equal(p.n_partitions, n_partitions);
    assert_int_equal(p.sectors[0].inclusion[0].n_levels, strstr(name, "64GiB") ? 11 : 10);
    assert_ptr_equal(fil_post_slot(&p, n_partitions - 1, p.sectors_per_partition - 1),
                     &p.sectors[n - 1]);
    /* One bad value in the last path is found. */
    fil_path *last = &p.sectors[n - 1].inclusion[9];
    fr_add(&last->leaf, &last->leaf, &FR_ONE);
    cuzk_status st = fil_post_check(&p, &w.ctx, &rc);
    char want[64];
    snprintf(want, sizeof want, "vanilla_proofs[%u].sectors[0].inclusion_proofs[9].path[].hashes",
             n - 1);
    assert_int_equal(st.code, CUZK_E_INPUT);
    assert_non_null(strstr(st.msg, want));
    arena_fini(&a);
    window_free(&w);
}
#endif
