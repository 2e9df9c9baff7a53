/* Column passes and block passes of a transform, and the reordering. */
#include "poly/ntt_run.h"
#include <string.h>
#include "base/mem.h"

/* A block (256 KiB) and a tile (128 KiB) fit the 512 KiB of L2 that cores of today have at least.
 * */
#define LG_BLOCK_MAX 13u
#define LG_BLOCK_MIN 10u
#define LG_TILE 12u
/* At most 9 levels in a pass, so that the rows of a tile are 8 elements or longer. */
#define LG_Q_MAX 9u

/* Blocks shrink until there are four for every thread. The layout does not change the values. */
static uint32_t lg_block_for(uint32_t lg_n, unsigned threads)
{
    uint32_t lg = lg_n < LG_BLOCK_MAX ? lg_n : LG_BLOCK_MAX;
    while (threads > 1 && lg > LG_BLOCK_MIN && ((size_t)1 << (lg_n - lg)) < 4 * (size_t)threads)
        lg--;
    return lg;
}

cuzk_status ntt_run_init(ntt_run *r, const ntt_plan *p, uint32_t lg_n, const run_ctx *rc)
{
    *r = (ntt_run){.plan = p, .k = ntt_kernels_get(), .rc = rc, .lg_n = lg_n};
    if (lg_n > p->lg_n)
        return cuzk_fail(CUZK_E_RANGE, "transform of 2^%u points with a plan for 2^%u", lg_n,
                         p->lg_n);
    r->n_threads = pool_threads(rc->pool);
    r->lg_block = lg_block_for(lg_n, r->n_threads);
    r->lg_tile = lg_n < LG_TILE ? lg_n : LG_TILE;
    uint32_t above = lg_n - r->lg_block, len = lg_n;
    r->n_cols = (above + LG_Q_MAX - 1) / LG_Q_MAX;
    for (uint32_t i = 0; i < r->n_cols; i++) {
        r->lg_len[i] = len;
        r->lg_q[i] = (above + r->n_cols - 1 - i) / r->n_cols;
        len -= r->lg_q[i];
    }
    r->tiles = mem_alloc((size_t)r->n_threads * NTT_TILES * sizeof(fr) << r->lg_tile, 64);
    if (!r->tiles)
        return cuzk_fail(CUZK_E_NOMEM, "NTT tiles for %u threads", r->n_threads);
    return cuzk_ok();
}

void ntt_run_fini(ntt_run *r)
{
    mem_free(r->tiles);
    r->tiles = NULL;
}

static bool stopped(ntt_run *r, unsigned thread)
{
    if (thread == 0 && run_cancelled(r->rc))
        atomic_store_explicit(&r->stop, true, memory_order_relaxed);
    return atomic_load_explicit(&r->stop, memory_order_relaxed);
}

static cuzk_status pass(ntt_run *r, size_t n_chunks, pool_fn *fn, void *ctx)
{
    if (run_cancelled(r->rc))
        atomic_store_explicit(&r->stop, true, memory_order_relaxed);
    if (!atomic_load_explicit(&r->stop, memory_order_relaxed))
        CUZK_TRY(cuzk_wrap(run_for(r->rc, n_chunks, fn, ctx), "transform"));
    if (atomic_load_explicit(&r->stop, memory_order_relaxed))
        return cuzk_fail(CUZK_E_CANCELLED, "transform cancelled");
    return cuzk_ok();
}

/* Inside a chunk of another pool, a loop stays on one thread under that pool's index, which may be
 * past ours: any tile will do then. */
static fr *thread_tile(const ntt_run *r, unsigned thread, unsigned idx)
{
    return r->tiles + (((size_t)(thread % r->n_threads) * NTT_TILES + idx) << r->lg_tile);
}

/* ---- columns ---- */

typedef enum col_op { COL_DOWN, COL_UP, COL_OPEN, COL_PRODUCT, COL_MULTIPLY, COL_MULADD } col_op;

typedef struct col_pass {
    ntt_run *r;
    col_op op;
    uint32_t lg_len, q, lg_w; /* 2^q rows and 2^lg_w columns in a tile */
    bool inverse, reduce;
    fr *a;          /* result, but of COL_MULADD: that is c */
    const fr *from; /* COL_DOWN: instead of a; NULL: a */
    fr *b, *c;
    const fr *times; /* COL_MULTIPLY, COL_MULADD */
} col_pass;

/* Where a tile lies: its first element, and the distance of its rows. */
typedef struct tile_place {
    size_t first, stride, node;
} tile_place;

static tile_place place_of(const col_pass *p, size_t chunk)
{
    uint32_t lg_tiles = p->lg_len - p->q - p->lg_w; /* tiles in a node */
    size_t node = chunk >> lg_tiles, tile = chunk & (((size_t)1 << lg_tiles) - 1);
    return (tile_place){(node << p->lg_len) + (tile << p->lg_w), (size_t)1 << (p->lg_len - p->q),
                        node};
}

static void gather(const col_pass *p, fr *t, const fr *a, const tile_place *at)
{
    size_t w = (size_t)1 << p->lg_w;
    CUZK_ASSERT(t && a);
    for (size_t i = 0; i < (size_t)1 << p->q; i++)
        memcpy(t + i * w, a + at->first + i * at->stride, w * sizeof *t);
}

static void scatter(const col_pass *p, fr *a, const fr *t, const tile_place *at)
{
    size_t w = (size_t)1 << p->lg_w;
    CUZK_ASSERT(t && a);
    for (size_t i = 0; i < (size_t)1 << p->q; i++)
        memcpy(a + at->first + i * at->stride, t + i * w, w * sizeof *t);
}

static void tile_down(const col_pass *p, fr *t, const tile_place *at)
{
    p->r->k->down(p->r->plan->tw, t, p->r->lg_tile, at->node, p->q, p->inverse);
}

static void tile_up(const col_pass *p, fr *t, const tile_place *at)
{
    p->r->k->up(p->r->plan->tw, t, p->r->lg_tile, at->node, p->q);
}

/* Up, and what a product by values on the domain makes of it. */
static void multiply_tile(const col_pass *p, unsigned thread, const tile_place *at)
{
    size_t n = (size_t)1 << p->r->lg_tile;
    fr *ta = thread_tile(p->r, thread, 0), *tb = thread_tile(p->r, thread, 1);
    fr *tc = thread_tile(p->r, thread, 2);
    tile_up(p, ta, at);
    gather(p, tb, p->times, at);
    if (p->op == COL_MULTIPLY) {
        p->r->k->mul(ta, ta, tb, n);
        scatter(p, p->a, ta, at);
        return;
    }
    gather(p, tc, p->c, at);
    p->r->k->muladd(tc, ta, tb, n);
    scatter(p, p->c, tc, at);
}

static void col_chunk(void *ctx, size_t chunk, unsigned thread)
{
    const col_pass *p = ctx;
    if (stopped(p->r, thread))
        return;
    size_t n = (size_t)1 << p->r->lg_tile;
    tile_place at = place_of(p, chunk);
    fr *ta = thread_tile(p->r, thread, 0), *tb = thread_tile(p->r, thread, 1);
    fr *tc = thread_tile(p->r, thread, 2);
    gather(p, ta, p->from ? p->from : p->a, &at);
    if (p->op == COL_MULTIPLY || p->op == COL_MULADD) {
        multiply_tile(p, thread, &at);
        return;
    }
    if (p->b)
        gather(p, tb, p->b, &at);
    if (p->op == COL_OPEN) {
        p->r->k->mul(tc, ta, tb, n);
        tile_down(p, tb, &at);
        tile_down(p, tc, &at);
        scatter(p, p->b, tb, &at);
        scatter(p, p->c, tc, &at);
    }
    if (p->op == COL_PRODUCT) {
        tile_up(p, ta, &at);
        tile_up(p, tb, &at);
        p->r->k->mul(ta, ta, tb, n);
    }
    if (p->op == COL_UP)
        tile_up(p, ta, &at);
    else
        tile_down(p, ta, &at);
    if (p->reduce)
        p->r->k->reduce(ta, n);
    scatter(p, p->a, ta, &at);
}

/* Column pass number idx; with no column passes at all, 0 stands for one of no levels. */
static cuzk_status col_run(col_pass p, uint32_t idx)
{
    p.lg_len = p.r->n_cols ? p.r->lg_len[idx] : p.r->lg_n;
    p.q = p.r->n_cols ? p.r->lg_q[idx] : 0;
    p.lg_w = p.r->lg_tile - p.q;
    return pass(p.r, (size_t)1 << (p.r->lg_n - p.r->lg_tile), col_chunk, &p);
}

static cuzk_status inner_down(ntt_run *r, fr *a, bool inverse)
{
    for (uint32_t i = 1; i < r->n_cols; i++)
        CUZK_TRY(col_run((col_pass){.r = r, .op = COL_DOWN, .inverse = inverse, .a = a}, i));
    return cuzk_ok();
}

static cuzk_status inner_up(ntt_run *r, fr *a)
{
    for (uint32_t i = r->n_cols; i-- > 1;)
        CUZK_TRY(col_run((col_pass){.r = r, .op = COL_UP, .a = a}, i));
    return cuzk_ok();
}

cuzk_status ntt_cols_down(ntt_run *r, fr *a, bool inverse)
{
    if (r->n_cols)
        CUZK_TRY(col_run((col_pass){.r = r, .op = COL_DOWN, .inverse = inverse, .a = a}, 0));
    return inner_down(r, a, inverse);
}

cuzk_status ntt_cols_down_to(ntt_run *r, fr *o, const fr *a)
{
    CUZK_TRY(col_run((col_pass){.r = r, .op = COL_DOWN, .inverse = true, .a = o, .from = a}, 0));
    return inner_down(r, o, true);
}

cuzk_status ntt_cols_up(ntt_run *r, fr *a)
{
    CUZK_TRY(inner_up(r, a));
    if (r->n_cols)
        CUZK_TRY(col_run((col_pass){.r = r, .op = COL_UP, .reduce = true, .a = a}, 0));
    return cuzk_ok();
}

cuzk_status ntt_cols_open(ntt_run *r, fr *a, fr *b, fr *c)
{
    CUZK_TRY(
        col_run((col_pass){.r = r, .op = COL_OPEN, .inverse = true, .a = a, .b = b, .c = c}, 0));
    CUZK_TRY(inner_down(r, a, true));
    CUZK_TRY(inner_down(r, b, true));
    return inner_down(r, c, true);
}

cuzk_status ntt_cols_product(ntt_run *r, fr *a, fr *b)
{
    CUZK_TRY(inner_up(r, a));
    CUZK_TRY(inner_up(r, b));
    CUZK_TRY(col_run((col_pass){.r = r, .op = COL_PRODUCT, .inverse = true, .a = a, .b = b}, 0));
    return inner_down(r, a, true);
}

cuzk_status ntt_cols_multiply(ntt_run *r, fr *a, const fr *b)
{
    CUZK_TRY(inner_up(r, a));
    return col_run((col_pass){.r = r, .op = COL_MULTIPLY, .a = a, .times = b}, 0);
}

cuzk_status ntt_cols_muladd(ntt_run *r, fr *o, fr *a, const fr *b)
{
    CUZK_TRY(inner_up(r, a));
    return col_run((col_pass){.r = r, .op = COL_MULADD, .a = a, .c = o, .times = b}, 0);
}

/* ---- blocks ---- */

typedef struct block_pass {
    ntt_run *r;
    fr *a;
    const block_op *op;
} block_pass;

static void block_scale(const ntt_run *r, fr *a, size_t block, const block_op *op)
{
    const power_table *t = op->powers;
    uint32_t lg_piece = t ? t->lg_lo : r->lg_block;
    size_t pieces = (size_t)1 << (r->lg_block - lg_piece);
    for (size_t i = 0; i < pieces; i++) {
        ntt_twiddle f;
        fr c = *op->factor;
        if (t)
            fr_mul(&c, &c, &t->hi[block * pieces + i]);
        ntt_twiddle_set(&f, &c);
        r->k->scale(a + (i << lg_piece), (size_t)1 << lg_piece, &f, t ? t->lo_fixed : NULL);
    }
}

static size_t reverse_bits(size_t x, uint32_t n)
{
    size_t y = 0;
    for (uint32_t i = 0; i < n; i++)
        y |= (x >> i & 1) << (n - 1 - i);
    return y;
}

static void block_ramp(const ntt_run *r, fr *a, size_t block, const ramp_table *t)
{
    size_t pieces = (size_t)1 << (r->lg_block - t->lg_lo);
    for (size_t i = 0; i < pieces; i++) {
        fr c;
        fr_from_u64(&c, reverse_bits(block * pieces + i, t->lg_n - t->lg_lo));
        fr_mul(&c, &c, &t->step);
        r->k->ramp(a + (i << t->lg_lo), (size_t)1 << t->lg_lo, &c, t->lo);
    }
}

static void block_chunk(void *ctx, size_t block, unsigned thread)
{
    const block_pass *p = ctx;
    const block_op *op = p->op;
    ntt_run *r = p->r;
    if (stopped(r, thread))
        return;
    const ntt_twiddle *tw = r->plan->tw;
    uint32_t lg = r->lg_block;
    fr *a = p->a + (block << lg);
    if (op->down)
        r->k->down(tw, a, lg, block, lg, op->inverse);
    if (op->factor)
        block_scale(r, a, block, op);
    if (op->ramp)
        block_ramp(r, a, block, op->ramp);
    if (op->minus) {
        fr *b = op->minus + (block << lg);
        ntt_twiddle f;
        ntt_twiddle_set(&f, op->minus_factor);
        r->k->down(tw, b, lg, block, lg, true);
        r->k->submul(a, b, (size_t)1 << lg, &f);
    }
    if (op->up)
        r->k->up(tw, a, lg, block, lg);
    if (!op->up || r->n_cols == 0)
        r->k->reduce(a, (size_t)1 << lg);
}

cuzk_status ntt_blocks(ntt_run *r, fr *a, const block_op *op)
{
    block_pass p = {r, a, op};
    return pass(r, (size_t)1 << (r->lg_n - r->lg_block), block_chunk, &p);
}

/* ---- bit reversal ---- */

/* By squares of 2^REV_T x 2^REV_T elements, so that reads and writes stay on whole cache lines. */
#define REV_T 4u
#define REV_N ((size_t)1 << REV_T)
typedef struct rev_pass {
    ntt_run *r;
    fr *a;
} rev_pass;

static void square_load(fr *t, const fr *a, size_t stride)
{
    for (size_t i = 0; i < REV_N; i++)
        memcpy(t + i * REV_N, a + i * stride, REV_N * sizeof *t);
}

/* Row i, column j of a becomes t's row rev j, column rev i. */
static void square_store(fr *a, const fr *t, size_t stride, const uint8_t rev[REV_N])
{
    for (size_t i = 0; i < REV_N; i++)
        for (size_t j = 0; j < REV_N; j++)
            a[i * stride + j] = t[rev[j] * REV_N + rev[i]];
}

/* Index = (high T bits, middle, low T bits) -> (rev low, rev middle, rev high): a middle and its
 * reverse are one task. */
static void rev_chunk(void *ctx, size_t mid, unsigned thread)
{
    const rev_pass *p = ctx;
    uint32_t lg_n = p->r->lg_n;
    size_t rmid = reverse_bits(mid, lg_n - 2 * REV_T), stride = (size_t)1 << (lg_n - REV_T);
    if (rmid < mid || stopped(p->r, thread))
        return;
    uint8_t rev[REV_N];
    for (size_t i = 0; i < REV_N; i++)
        rev[i] = (uint8_t)reverse_bits(i, REV_T);
    fr *x = thread_tile(p->r, thread, 0), *y = thread_tile(p->r, thread, 1);
    square_load(x, p->a + (mid << REV_T), stride);
    square_load(y, p->a + (rmid << REV_T), stride);
    square_store(p->a + (rmid << REV_T), x, stride, rev);
    if (mid != rmid)
        square_store(p->a + (mid << REV_T), y, stride, rev);
}

cuzk_status ntt_bit_reverse(ntt_run *r, fr *a)
{
    size_t n = (size_t)1 << r->lg_n;
    rev_pass p = {r, a};
    if (r->lg_n > 2 * REV_T)
        return pass(r, n >> (2 * REV_T), rev_chunk, &p);
    for (size_t i = 0; i < n; i++) {
        size_t y = reverse_bits(i, r->lg_n);
        if (i < y) {
            fr t = a[i];
            a[i] = a[y];
            a[y] = t;
        }
    }
    return cuzk_ok();
}
