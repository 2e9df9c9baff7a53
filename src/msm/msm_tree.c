/* Segmented affine tree sums: every level adds the points of every segment in pairs, so its cost
 * depends on the number of points only, not on how they fall into segments, and there is no serial
 * chain for a skewed input. */
#include "base/mem.h"
#include "ff/fr.h"
#include "msm/msm_int.h"

const msm_group *msm_group_g1(void)
{
#if defined(__x86_64__)
    if (ff_use_adx() && __builtin_cpu_supports("avx2"))
        return &MSM_GROUP_G1_ADX;
#endif
    return &MSM_GROUP_G1_PORTABLE;
}

const msm_group *msm_group_g2(void)
{
#if defined(__x86_64__)
    if (ff_use_adx())
        return &MSM_GROUP_G2_ADX;
#endif
    return &MSM_GROUP_G2_PORTABLE;
}

static size_t round_up_64(size_t n) { return (n + 63) & ~(size_t)63; }

msm_scratch *msm_scratch_create(const msm_group *g, unsigned n_threads)
{
    size_t words = round_up_64(g->piece * sizeof(uint32_t));
    size_t pts = round_up_64(g->piece * g->aff_bytes),
           ops = round_up_64(2 * (size_t)MSM_BATCH * sizeof(msm_op));
    size_t field = round_up_64(2 * (size_t)MSM_BATCH * g->field_bytes);
    size_t counts = MSM_PART_KEYS_MAX * sizeof(uint32_t);
    size_t head = round_up_64(n_threads * sizeof(msm_scratch));
    size_t each = pts + 3 * words + ops + field + counts;
    char *block = mem_alloc(head + n_threads * each, 64);
    if (!block)
        return NULL;
    msm_scratch *all = (msm_scratch *)block;
    char *p = block + head;
    for (unsigned t = 0; t < n_threads; t++) {
        all[t] = (msm_scratch){
            .pts = p,
            .refs = (uint32_t *)(p + pts),
            .seg_len = (uint32_t *)(p + pts + words),
            .seg_dst = (uint32_t *)(p + pts + 2 * words),
            .ops = (msm_op *)(p + pts + 3 * words),
            .field = p + pts + 3 * words + ops,
            .counts = (uint32_t *)(p + pts + 3 * words + ops + field),
        };
        p += each;
    }
    return all;
}

/* Collects the ops of one level and runs them in batches. Far operands are fetched a batch
 * ahead. */
typedef struct batcher {
    const msm_group *g;
    msm_scratch *s;
    bool is_far;
    size_t n, n_ready; /* collected; complete, in the other half of s->ops, and not run yet */
    msm_op *ops, *ready;
} batcher;

static batcher batcher_init(const msm_group *g, msm_scratch *s, bool is_far)
{
    return (batcher){.g = g, .s = s, .is_far = is_far, .ops = s->ops, .ready = s->ops + MSM_BATCH};
}

/* Run the batch that is ready; the one just collected becomes ready. */
static void batcher_turn(batcher *b)
{
    msm_op *ops = b->ready;
    if (b->n_ready > 0) {
        msm_batch run = {
            .ops = ops, .n = b->n_ready, .with_signs = b->is_far, .next = b->ops, .n_next = b->n};
        b->g->batch_add(&run, b->s->field);
    }
    b->ready = b->ops;
    b->n_ready = b->n;
    b->ops = ops;
    b->n = 0;
}

static void batcher_near(batcher *b)
{
    if (b->n > 0)
        b->g->batch_add(&(msm_batch){.ops = b->ops, .n = b->n}, b->s->field);
    b->n = 0;
}

static void batcher_flush(batcher *b)
{
    if (!b->is_far) {
        batcher_near(b);
        return;
    }
    batcher_turn(b);
    batcher_turn(b);
}

static inline void batcher_push(batcher *b, const void *pa, const void *pb, void *out, unsigned neg)
{
    b->ops[b->n] = (msm_op){.a = pa, .b = pb, .out = out, .neg = (uint8_t)neg};
    if (++b->n < MSM_BATCH)
        return;
    if (b->is_far)
        batcher_turn(b);
    else
        batcher_near(b);
}

static void first_level(const msm_group *g, msm_scratch *s, const void *base, const uint32_t *refs,
                        size_t n_segs)
{
    batcher b = batcher_init(g, s, true);
    size_t o = 0;
    for (size_t i = 0; i < n_segs; i++) {
        uint32_t len = s->seg_len[i], k = 0;
        for (; k + 1 < len; k += 2) {
            uint32_t ra = refs[k], rb = refs[k + 1];
            batcher_push(&b, msm_at_c(base, ra & ~MSM_REF_NEG, g),
                         msm_at_c(base, rb & ~MSM_REF_NEG, g), msm_at(s->pts, o++, g),
                         (ra >> 31) | (rb >> 31) << 1);
        }
        if (k < len)
            batcher_push(&b, msm_at_c(base, refs[k] & ~MSM_REF_NEG, g), NULL,
                         msm_at(s->pts, o++, g), refs[k] >> 31);
        refs += len;
        s->seg_len[i] = (len + 1) / 2;
    }
    batcher_flush(&b);
}

/* In place: results go to positions not above those of their operands. Returns the number of points
 * left. */
static size_t next_level(const msm_group *g, msm_scratch *s, size_t n_segs)
{
    batcher b = batcher_init(g, s, false);
    size_t o = 0, in = 0;
    for (size_t i = 0; i < n_segs; i++) {
        uint32_t len = s->seg_len[i], k = 0;
        for (; k + 1 < len; k += 2, o++)
            batcher_push(&b, msm_at(s->pts, in + k, g), msm_at(s->pts, in + k + 1, g),
                         msm_at(s->pts, o, g), 0);
        if (k < len) {
            if (o != in + k)
                batcher_push(&b, msm_at(s->pts, in + k, g), NULL, msm_at(s->pts, o, g), 0);
            o++;
        }
        in += len;
        s->seg_len[i] = (len + 1) / 2;
    }
    batcher_flush(&b);
    return o;
}

void msm_tree_sum(const msm_group *g, msm_scratch *s, const void *base, const uint32_t *refs,
                  size_t n_segs)
{
    first_level(g, s, base, refs, n_segs);
    size_t n_left = 0;
    for (size_t i = 0; i < n_segs; i++)
        n_left += s->seg_len[i];
    while (n_left > n_segs)
        n_left = next_level(g, s, n_segs);
}

cuzk_status msm_run(const run_ctx *rc, size_t n_chunks, pool_fn *fn, void *ctx)
{
    return cuzk_wrap(run_for(rc, n_chunks, fn, ctx), "msm");
}
