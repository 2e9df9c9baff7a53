#include "base/bytes.h"
#include "base/mem.h"
#include "fil/gen_int.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"
#include <stdlib.h>
#include <string.h>

/* About 2 ms of Poseidon hashes: coarse enough for the pool, fine enough to share. */
#define CHUNK 64u

void gen_bytes(uint8_t out[32], uint64_t seed, const char *what, uint64_t a, uint64_t b)
{
    uint8_t numbers[24];
    sha256_ctx c;
    store_le64(numbers, seed);
    store_le64(numbers + 8, a);
    store_le64(numbers + 16, b);
    sha256_init(&c);
    sha256_update(&c, "cuzk gen", 8);
    sha256_update(&c, numbers, sizeof numbers);
    sha256_update(&c, what, strlen(what));
    sha256_final(&c, out);
}

void gen_fr(fr *out, uint64_t seed, const char *what, uint64_t a, uint64_t b)
{
    uint8_t bytes[32];
    gen_bytes(bytes, seed, what, a, b);
    bytes[31] &= 0x3f;
    fr_from_le_reduce(out, bytes);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

size_t gen_sort_unique(uint64_t *v, size_t n)
{
    size_t kept = 0;
    qsort(v, n, sizeof *v, by_value);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || v[kept - 1] != v[i])
            v[kept++] = v[i];
    return kept;
}

cuzk_status gen_alloc(void **out, arena *a, size_t n, size_t size)
{
    size_t bytes;
    *out = mem_mul(&bytes, n, size) ? arena_alloc(a, bytes, 64) : NULL;
    return *out ? cuzk_ok()
                : cuzk_fail(CUZK_E_NOMEM, "generating: %zu elements of %zu bytes", n, size);
}

cuzk_status gen_go_on(const run_ctx *rc, const char *stage, double fraction)
{
    if (run_cancelled(rc))
        return cuzk_fail(CUZK_E_CANCELLED, "generating cancelled");
    run_progress(rc, stage, fraction);
    return cuzk_ok();
}

typedef struct items {
    size_t n;
    gen_item_fn *fn;
    void *ctx;
} items;

static void run_items(void *arg, size_t chunk, unsigned thread)
{
    const items *it = arg;
    size_t first = chunk * CHUNK, end = first + CHUNK < it->n ? first + CHUNK : it->n;
    (void)thread;
    for (size_t i = first; i < end; i++)
        it->fn(it->ctx, i);
}

void gen_for_each(const run_ctx *rc, size_t n, gen_item_fn *fn, void *ctx)
{
    items it = {n, fn, ctx};
    pool_for(rc->pool, (n + CHUNK - 1) / CHUNK, run_items, &it);
}

fil_tree gen_tree_r_shape(const fil_sector *s)
{
    return (fil_tree){s->base, s->base_levels, s->sub, s->top};
}

fil_tree gen_tree_d_shape(uint32_t lg_nodes) { return (fil_tree){2, lg_nodes, 0, 0}; }

static cuzk_status set_shape(gen_tree *t, fil_tree s, bool is_sha256)
{
    *t = (gen_tree){.is_sha256 = is_sha256};
    CUZK_VERIFY(s.base_levels + 2 <= FIL_PATH_MAX_LEVELS && s.base <= 8 && s.sub <= 8 &&
                s.top <= 8);
    for (uint32_t k = 0; k < s.base_levels; k++)
        t->arity[t->n_levels++] = (uint8_t)s.base;
    if (s.sub)
        t->arity[t->n_levels++] = (uint8_t)s.sub;
    if (s.top)
        t->arity[t->n_levels++] = (uint8_t)s.top;
    for (uint32_t k = 0; k < t->n_levels && !is_sha256; k++)
        if (!poseidon_constants_get(t->arity[k]))
            return cuzk_fail(CUZK_E_NOMEM, "Poseidon constants");
    return cuzk_ok();
}

/* Where idx, or the first stored node behind it, is. */
static size_t row_find(const gen_row *r, uint64_t idx)
{
    size_t low = 0, high = r->n;
    if (r->n == r->idx[r->n - 1] + 1) /* no gaps */
        return idx < r->n ? (size_t)idx : r->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (r->idx[mid] < idx)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const fr *gen_tree_node(const gen_tree *t, uint32_t row, uint64_t idx)
{
    const gen_row *r = &t->rows[row];
    if (!r->idx)
        return &r->val[(idx >> r->shift) * r->period + (idx & (r->period - 1))];
    size_t i = row_find(r, idx);
    return i < r->n && r->idx[i] == idx ? &r->val[i] : &r->other;
}

const fr *gen_tree_root(const gen_tree *t) { return gen_tree_node(t, t->n_levels, 0); }

static void hash_children(fr *out, const gen_tree *t, uint32_t arity, const fr *in)
{
    if (!t->is_sha256) {
        poseidon_hash_merkle(out, arity, in);
        return;
    }
    fil_path pair = {.n_levels = 1, .arity = {2}, .n_sib = 1, .sib = &in[1]};
    fil_path_root_sha256(out, &pair, &in[0]);
}

typedef struct row_job {
    const gen_tree *t;
    uint32_t row;
} row_job;

static void hash_stored_node(void *arg, size_t i)
{
    const row_job *job = arg;
    const gen_row *r = &job->t->rows[job->row];
    uint32_t arity = job->t->arity[job->row - 1];
    uint64_t idx = r->idx ? r->idx[i] : ((uint64_t)(i / r->period) << r->shift) + i % r->period;
    fr in[8];
    for (uint32_t j = 0; j < arity; j++)
        in[j] = *gen_tree_node(job->t, job->row - 1, idx * arity + j);
    hash_children(&r->val[i], job->t, arity, in);
}

/* Row `row` above one that is complete: which nodes it stores, and the value of the others. */
static cuzk_status sparse_row(gen_tree *t, arena *a, uint32_t row)
{
    const gen_row *below = &t->rows[row - 1];
    gen_row *r = &t->rows[row];
    uint32_t arity = t->arity[row - 1];
    void *idx, *val;
    fr in[8];
    CUZK_TRY(gen_alloc(&idx, a, below->n, sizeof(uint64_t)));
    uint64_t *at = idx;
    for (size_t i = 0; i < below->n; i++)
        if (r->n == 0 || at[r->n - 1] != below->idx[i] / arity)
            at[r->n++] = below->idx[i] / arity;
    CUZK_TRY(gen_alloc(&val, a, r->n, sizeof(fr)));
    r->idx = idx;
    r->val = val;
    for (uint32_t j = 0; j < arity; j++)
        in[j] = below->other;
    hash_children(&r->other, t, arity, in);
    return cuzk_ok();
}

cuzk_status gen_tree_sparse(gen_tree *t, arena *a, fil_tree shape, const gen_row *leaves,
                            const run_ctx *rc)
{
    CUZK_TRY(set_shape(t, shape, false));
    CUZK_VERIFY(leaves->n > 0);
    t->rows[0] = *leaves;
    for (uint32_t k = 1; k <= t->n_levels; k++) {
        CUZK_TRY(sparse_row(t, a, k));
        row_job job = {t, k};
        gen_for_each(rc, t->rows[k].n, hash_stored_node, &job);
        if (run_cancelled(rc))
            return cuzk_fail(CUZK_E_CANCELLED, "generating cancelled");
    }
    return cuzk_ok();
}

/* A node of a row stands for 2^lg_width leaves. Below block size its values repeat as the leaves
 * do, above each is stored. */
static void set_period(gen_row *r, const gen_blocks *b, uint32_t lg_width)
{
    uint32_t lg_block = b->lg_nodes - b->lg_blocks;
    r->period = GEN_PERIOD >> lg_width > 1 ? GEN_PERIOD >> lg_width : 1;
    r->shift = lg_width < lg_block ? lg_block - lg_width : 0;
    r->n = (size_t)r->period << (b->lg_nodes - lg_width - r->shift);
}

cuzk_status gen_tree_blocks(gen_tree *t, arena *a, fil_tree shape, const gen_blocks *b,
                            const run_ctx *rc)
{
    CUZK_TRY(set_shape(t, shape, b->is_sha256));
    CUZK_VERIFY(GEN_PERIOD <= (uint64_t)1 << (b->lg_nodes - b->lg_blocks));
    set_period(&t->rows[0], b, 0);
    t->rows[0].val = b->val;
    uint32_t lg_width = 0;
    for (uint32_t k = 1; k <= t->n_levels; k++) {
        void *val;
        lg_width += (uint32_t)__builtin_ctz(t->arity[k - 1]);
        set_period(&t->rows[k], b, lg_width);
        CUZK_TRY(gen_alloc(&val, a, t->rows[k].n, sizeof(fr)));
        t->rows[k].val = val;
        row_job job = {t, k};
        gen_for_each(rc, t->rows[k].n, hash_stored_node, &job);
    }
    CUZK_VERIFY(lg_width == b->lg_nodes);
    return cuzk_ok();
}

size_t gen_tree_n_sib(const gen_tree *t)
{
    size_t n = 0;
    for (uint32_t k = 0; k < t->n_levels; k++)
        n += t->arity[k] - 1u;
    return n;
}

void gen_tree_open(fil_path *p, fr **sib, const gen_tree *t, uint64_t leaf)
{
    uint64_t idx = leaf;
    *p = (fil_path){.n_levels = t->n_levels,
                    .sib = *sib,
                    .leaf = *gen_tree_node(t, 0, leaf),
                    .root = *gen_tree_root(t)};
    for (uint32_t k = 0; k < t->n_levels; k++) {
        uint32_t arity = t->arity[k], own = (uint32_t)(idx % arity);
        p->arity[k] = (uint8_t)arity;
        p->idx[k] = (uint8_t)own;
        for (uint32_t j = 0; j < arity; j++)
            if (j != own)
                (*sib)[p->n_sib++] = *gen_tree_node(t, k, idx - own + j);
        idx /= arity;
    }
    *sib += p->n_sib;
}

void gen_comm_r(fr *out, const fr *comm_c, const fr *comm_r_last)
{
    const fr pair[2] = {*comm_c, *comm_r_last};
    poseidon_hash_merkle(out, 2, pair);
}
