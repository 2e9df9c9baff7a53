#include "fil/gen_int.h"
#include "hash/poseidon.h"
#include <stdatomic.h>
#include <string.h>

typedef struct maker {
    fil_post *p;
    const fil_gen_id *id;
    const run_ctx *rc;
    size_t n_sib;   /* of one path */
    fr *sib;        /* of all paths, sector by sector */
    atomic_int bad; /* the first failure's code; relaxed, read after pool_for */
} maker;

/* The tree of one sector: challenged leaves drawn from the seed. */
static cuzk_status make_tree(gen_tree *t, arena *scratch, const maker *m, uint64_t sector_id,
                             const uint64_t *leaves, uint32_t n)
{
    static const run_ctx
        alone; /* sectors are shared out among the threads, not the hashes of one */
    void *idx, *val;
    CUZK_TRY(gen_alloc(&idx, scratch, n, sizeof(uint64_t)));
    CUZK_TRY(gen_alloc(&val, scratch, n, sizeof(fr)));
    uint64_t *nodes = idx;
    gen_row row = {.idx = nodes, .val = val};
    memcpy(nodes, leaves, n * sizeof *leaves);
    row.n = gen_sort_unique(nodes, n);
    for (size_t i = 0; i < row.n; i++)
        gen_fr(&row.val[i], m->id->seed, "replica", sector_id, nodes[i]);
    gen_fr(&row.other, m->id->seed, "unopened replica", sector_id, 0);
    return gen_tree_sparse(t, scratch, gen_tree_r_shape(m->p->sector), &row, &alone);
}

static cuzk_status make_sector(maker *m, arena *scratch, uint32_t i)
{
    const fil_post *p = m->p;
    fil_post_sector *s = &p->sectors[i];
    fr *next = m->sib + (size_t)i * s->n_inclusion * m->n_sib;
    gen_tree t;
    void *mem;
    CUZK_TRY(gen_alloc(&mem, scratch, s->n_inclusion, sizeof(uint64_t)));
    uint64_t *leaves = mem;
    for (uint32_t k = 0; k < s->n_inclusion; k++)
        leaves[k] =
            fil_post_challenge(p->randomness, s->sector_id,
                               fil_post_challenge_index(&p->proof, i, k), p->sector->n_nodes);
    CUZK_TRY(make_tree(&t, scratch, m, s->sector_id, leaves, s->n_inclusion));
    for (uint32_t k = 0; k < s->n_inclusion; k++)
        gen_tree_open(&s->inclusion[k], &next, &t, leaves[k]);
    gen_fr(&s->comm_c, m->id->seed, "comm_c", s->sector_id, 0);
    s->comm_r_last = *gen_tree_root(&t);
    gen_comm_r(&s->comm_r, &s->comm_c, &s->comm_r_last);
    return cuzk_ok();
}

static void make_chunk(void *arg, size_t chunk, unsigned thread)
{
    maker *m = arg;
    arena scratch = {0};
    (void)thread;
    if (atomic_load_explicit(&m->bad, memory_order_relaxed) != CUZK_OK)
        return;
    cuzk_status st = make_sector(m, &scratch, (uint32_t)chunk);
    if (st.code == CUZK_OK && run_cancelled(m->rc))
        st.code = CUZK_E_CANCELLED;
    if (st.code != CUZK_OK)
        atomic_store_explicit(&m->bad, (int)st.code, memory_order_relaxed);
    arena_fini(&scratch);
}

static cuzk_status make_all(maker *m, arena *a)
{
    fil_post *p = m->p;
    fil_tree shape = gen_tree_r_shape(p->sector);
    size_t n_paths = fil_post_n_inclusion(p);
    void *mem;
    if (!poseidon_constants_get(2))
        return cuzk_fail(CUZK_E_NOMEM, "Poseidon constants");
    m->n_sib = fil_tree_siblings(shape);
    CUZK_TRY(gen_alloc(&mem, a, p->n_sectors, sizeof *p->sectors));
    p->sectors = mem;
    CUZK_TRY(gen_alloc(&mem, a, p->n_sectors, n_paths * sizeof *p->sectors->inclusion));
    fil_path *paths = mem;
    CUZK_TRY(gen_alloc(&mem, a, p->n_sectors, n_paths * m->n_sib * sizeof(fr)));
    m->sib = mem;
    for (uint32_t i = 0; i < p->n_sectors; i++)
        p->sectors[i] = (fil_post_sector){.sector_id = m->id->sector + i,
                                          .n_inclusion = (uint32_t)n_paths,
                                          .inclusion = paths + i * n_paths};
    pool_for(m->rc->pool, p->n_sectors, make_chunk, m);
    int code = atomic_load_explicit(&m->bad, memory_order_relaxed);
    return code == CUZK_OK ? cuzk_ok()
                           : cuzk_fail((cuzk_code)code, "generating %u sectors", p->n_sectors);
}

static cuzk_status check_count(const fil_gen_id *id, const fil_post_proof *proof, uint32_t n)
{
    if (n == 0 || (proof->kind == FIL_POST_WINNING && n != 1))
        return cuzk_bad_input("sectors",
                              proof->kind == FIL_POST_WINNING ? "1 for WinningPoSt" : "at least 1",
                              "%u", n);
    if (id->sector > UINT64_MAX - (n - 1))
        return cuzk_bad_input("sector", "a number that leaves room for all sectors", "%llu",
                              (unsigned long long)id->sector);
    return cuzk_ok();
}

cuzk_status fil_gen_post(fil_post *out, arena *a, const fil_gen_id *id, const fil_post_proof *proof,
                         uint32_t n_sectors, const run_ctx *rc)
{
    static const run_ctx no_rc;
    *out = (fil_post){0};
    CUZK_TRY(check_count(id, proof, n_sectors));
    maker m = {.p = out, .id = id, .rc = rc ? rc : &no_rc};
    *out = (fil_post){.proof = *proof,
                      .sector = fil_sector_by_bytes(proof->sector_bytes),
                      .n_sectors = n_sectors};
    CUZK_VERIFY(out->sector);
    fil_post_layout(proof, &out->sectors_per_partition, &out->challenges);
    out->n_partitions = (n_sectors - 1) / out->sectors_per_partition + 1;
    gen_bytes(out->randomness, id->seed, "randomness", 0, 0);
    out->randomness[31] &= 0x3f;
    fil_prover_id(out->prover_id, id->miner);
    cuzk_status st = make_all(&m, a);
    if (st.code != CUZK_OK)
        *out = (fil_post){0};
    return st;
}
