/* The lists of a tree sum with integers in the points' place: what the tiles of k_pairs write, and
 * what is left over, adds up to each segment's sum, for any lengths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/mem.h"
#include "gpu/gpu_tree_list.h"

static const uint64_t seed = 0x51ab3c4d5e6full;

static uint64_t next_u64(uint64_t *s) /* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
{
    uint64_t z = *s += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

typedef struct tree {
    uint32_t n_seg, n, n_pairs;
    uint32_t *len, *at, *pair_at, *left, *refs, *pairs; /* pairs: two references each */
    uint64_t *base, *pool;
    uint32_t pool_first, pool_end; /* of the level before */
} tree;

static void *take(size_t bytes)
{
    void *p = mem_zalloc(bytes + 64, 64);
    assert_non_null(p);
    return p;
}

static void tree_fini(tree *t)
{
    void *all[] = {t->len, t->at, t->pair_at, t->left, t->refs, t->pairs, t->base, t->pool};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        mem_free(all[i]);
}

static void tree_init(tree *t, const uint32_t *len, uint32_t n_seg)
{
    uint64_t s = seed;
    *t = (tree){.n_seg = n_seg, .len = take(n_seg * 4 + 4), .at = take(n_seg * 4 + 4)};
    for (uint32_t i = 0; i < n_seg; i++) {
        t->len[i] = len[i];
        t->at[i] = t->n;
        t->n += len[i];
    }
    t->pair_at = take(n_seg * 4 + 4);
    t->left = take(n_seg * 4 + 4);
    t->refs = take(t->n * 4);
    t->pairs = take(t->n * 4 + 8);
    t->base = take(t->n * 8);
    t->pool = take(t->n * 8);
    for (uint32_t i = 0; i < t->n; i++) {
        t->refs[i] = t->n - 1 - i;
        t->base[i] = next_u64(&s);
    }
}

static uint64_t value(const tree *t, uint32_t ref)
{
    uint32_t i = ref & GPU_REF_INDEX;
    assert_true(ref & GPU_REF_POOL ? i < t->pool_end : i < t->n);
    return ref & GPU_REF_POOL ? t->pool[i] : t->base[i];
}

/* As block `tile` of k_pairs; the order of segments and pairs within it must not matter. */
static void one_tile(tree *t, const gpu_tree_list *l, uint32_t tile, bool pairs_first)
{
    uint32_t total = t->n_seg + t->n_pairs, d0 = tile * GPU_TREE_TILE;
    uint32_t d1 = d0 + GPU_TREE_TILE < total ? d0 + GPU_TREE_TILE : total;
    uint32_t s0 = gpu_tree_split(t->pair_at, t->n_seg, d0);
    uint32_t s1 = gpu_tree_split(t->pair_at, t->n_seg, d1);
    uint32_t from = s0 > 0 ? s0 - 1 : 0, m = s1 - from;
    assert_true(m <= GPU_TREE_TILE + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t s = s0; s < s1 && pairs_first == (pass == 1); s++)
            if (gpu_tree_leaves(t->len[s], l->level))
                t->left[s] =
                    gpu_tree_element(l, s, t->len[s], gpu_tree_len_at(t->len[s], l->level) - 1);
        for (uint32_t j = d0 - s0; j < d1 - s1 && pairs_first == (pass == 0); j++) {
            uint32_t k = gpu_tree_owner(t->pair_at + from, m, j), s = from + k;
            uint32_t i = 2 * (j - t->pair_at[s]);
            assert_true(i + 1 < gpu_tree_len_at(t->len[s], l->level));
            t->pairs[2 * j] = gpu_tree_element(l, s, t->len[s], i);
            t->pairs[2 * j + 1] = gpu_tree_element(l, s, t->len[s], i + 1);
        }
    }
}

static gpu_tree_list list_at(const tree *t, uint32_t level)
{
    return (gpu_tree_list){t->refs, t->at, t->len, t->left, t->pool_first, level};
}

static void one_level(tree *t, uint32_t level)
{
    t->n_pairs = 0;
    for (uint32_t s = 0; s <= t->n_seg; s++) {
        t->pair_at[s] = t->n_pairs;
        t->n_pairs += s < t->n_seg ? gpu_tree_pairs_at(t->len[s], level) : 0;
    }
    size_t n_max = gpu_tree_pairs_max(t->n, t->n_seg, level);
    assert_true(t->n_pairs <= n_max);
    gpu_tree_list l = list_at(t, level);
    for (uint32_t tile = 0; tile < gpu_tree_tiles(n_max, t->n_seg); tile++)
        if (tile * GPU_TREE_TILE < t->n_seg + t->n_pairs)
            one_tile(t, &l, tile, tile % 2 == 0);
    for (uint32_t j = 0; j < t->n_pairs; j++)
        t->pool[t->pool_end + j] = value(t, t->pairs[2 * j]) + value(t, t->pairs[2 * j + 1]);
    t->pool_first = t->pool_end;
    t->pool_end += t->n_pairs;
    uint32_t *at = t->at;
    t->at = t->pair_at;
    t->pair_at = at;
}

static void check(const uint32_t *len, uint32_t n_seg, const char *what)
{
    tree t;
    tree_init(&t, len, n_seg);
    uint64_t *want = take(n_seg * 8), longest = 0;
    for (uint32_t s = 0; s < n_seg; s++) {
        longest = len[s] > longest ? len[s] : longest;
        for (uint32_t j = 0; j < len[s]; j++)
            want[s] += t.base[t.refs[t.at[s] + j]];
    }
    uint32_t level = 0;
    for (uint64_t l = longest; l > 1; l = (l + 1) / 2)
        one_level(&t, level++);
    gpu_tree_list l = list_at(&t, level);
    for (uint32_t s = 0; s < n_seg; s++)
        if (len[s] > 0 && value(&t, gpu_tree_element(&l, s, len[s], 0)) != want[s])
            fail_msg("%s: segment %u of %u, length %u", what, s, n_seg, len[s]);
    mem_free(want);
    tree_fini(&t);
}

static void test_every_length_adds_up(void **state)
{
    (void)state;
    for (uint32_t len = 0; len <= 70; len++) {
        uint32_t two[] = {len, 70 - len};
        check(&len, 1, "one segment");
        check(two, 2, "two segments");
    }
    static const uint32_t borders[] = {
        GPU_TREE_TILE - 1,     GPU_TREE_TILE,     GPU_TREE_TILE + 1,     2 * GPU_TREE_TILE - 2,
        2 * GPU_TREE_TILE - 1, 2 * GPU_TREE_TILE, 2 * GPU_TREE_TILE + 1, 4 * GPU_TREE_TILE + 1};
    for (size_t i = 0; i < ARRAY_LEN(borders); i++)
        check(&borders[i], 1, "a segment about a tile");
}

static void test_any_mixture_adds_up(void **state)
{
    (void)state;
    enum { N_SEG = 3 * GPU_TREE_TILE + 5 };
    static const char *const names[] = {"short",    "mostly empty", "one long among empty ones",
                                        "one each", "all sizes",    "empty ones at both ends"};
    static uint32_t len[N_SEG];
    uint64_t s = seed;
    for (size_t kind = 0; kind < ARRAY_LEN(names); kind++) {
        for (uint32_t i = 0; i < N_SEG; i++) {
            uint32_t r = (uint32_t)next_u64(&s);
            len[i] = kind == 0   ? r % 40
                     : kind == 1 ? (r % 17 == 0) * (r >> 8) % 5
                     : kind == 2 ? (i == N_SEG / 2) * 20001
                     : kind == 3 ? 1
                     : kind == 4 ? r >> (20 + (r & 3) + (r >> 2 & 7))
                                 : (i > GPU_TREE_TILE + 9 && i < N_SEG - GPU_TREE_TILE) * r % 9;
        }
        check(len, N_SEG, names[kind]);
        check(len, GPU_TREE_TILE, names[kind]);
        check(len, GPU_TREE_TILE + 1, names[kind]);
    }
}

static void test_counts_survive_the_longest_list(void **state)
{
    (void)state;
    assert_int_equal(gpu_tree_len_at(GPU_REF_INDEX, 29), 2);
    assert_int_equal(gpu_tree_pairs_at(GPU_REF_INDEX, 29), 1);
    assert_int_equal(gpu_tree_len_at(GPU_REF_INDEX, 30), 1);
    assert_int_equal(gpu_tree_len_at(0, 31), 0);
    assert_int_equal(gpu_tree_pairs_max(100, 5, 0), 50);
    assert_int_equal(gpu_tree_pairs_max(100, 5, 3), 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_length_adds_up),
                                       cmocka_unit_test(test_any_mixture_adds_up),
                                       cmocka_unit_test(test_counts_survive_the_longest_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
