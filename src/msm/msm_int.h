/* Private to src/msm: the group table behind which G1 and G2 (and each instruction set) look the
 * same, tree sums, recoding, sort. */
#ifndef MSM_MSM_INT_H
#define MSM_MSM_INT_H
#include <string.h>
#include "base/run_ctx.h"
#include "ff/fr.h"

/* One affine addition *out = (-1)^(neg & 1) a + (-1)^(neg >> 1) b; b == NULL asks for a (signed)
 * copy of a. out may be a or b.
 * An op may also overwrite the inputs of earlier ops of its batch, never those of later ones:
 * results are written in order. */
typedef struct msm_op {
    const void *a, *b;
    void *out;
    uint8_t neg, kind; /* kind is the kernel's */
} msm_op;

#define MSM_NEG_A 1u
#define MSM_NEG_B 2u

/* Up to MSM_BATCH additions that share an inversion. */
typedef struct msm_batch {
    msm_op *ops;
    size_t n;
    bool with_signs; /* are any neg set? */
    /* n_next ops whose operands are far and will be needed soon: they are fetched meanwhile */
    const msm_op *next;
    size_t n_next;
} msm_batch;

/* The operations of one group on one instruction set. Points are passed as void pointers to g1_aff
 * / g2_aff and g1_jac / g2_jac. */
typedef struct msm_group {
    size_t aff_bytes, jac_bytes, field_bytes;
    size_t piece; /* points summed by one thread at a time: its working set should stay in L2 */
    /* Run a batch; scratch: 2 MSM_BATCH field_bytes, 64-byte aligned. Handles P+P, P-P and
     * infinities. */
    void (*batch_add)(const msm_batch *batch, void *scratch);
    /* *out = sum (i + first) * pts[i]; first is 0 or 1. */
    void (*weighted)(void *out, const void *pts, size_t n, unsigned first);
    /* *acc = 2^k * acc + add. */
    void (*shift_add)(void *acc, unsigned k, const void *add);
    void (*add_aff)(void *acc, const void *aff);
    void (*mul_add)(void *acc, const void *aff, const fr_int *k); /* *acc += k * aff */
    void (*to_aff)(void *aff, const void *jac);
    void (*from_aff)(void *jac, const void *aff);
} msm_group;

extern const msm_group MSM_GROUP_G1_PORTABLE, MSM_GROUP_G2_PORTABLE;
#if defined(__x86_64__)
extern const msm_group MSM_GROUP_G1_ADX, MSM_GROUP_G2_ADX;
#endif
const msm_group *msm_group_g1(void);
const msm_group *msm_group_g2(void);

/* Additions per inversion, which takes about as long as 80 scalar or 160 lane multiplications: 5 %
 * of the 6 * 512 lane ones.
 * The operands and running products of 512 additions are about 230 KiB. Batches of 256 measured the
 * same within noise. */
#define MSM_BATCH 512u
#define MSM_FIELD_BYTES_MAX 104u /* of any group */

static inline void *msm_at(void *pts, size_t i, const msm_group *g)
{
    return (char *)pts + i * g->aff_bytes;
}
static inline const void *msm_at_c(const void *pts, size_t i, const msm_group *g)
{
    return (const char *)pts + i * g->aff_bytes;
}

static inline void msm_copy(void *o, const void *p, const msm_group *g)
{
    memcpy(o, p, g->aff_bytes);
}
static inline void msm_set_inf(void *o, const msm_group *g) { memset(o, 0, g->aff_bytes); }

/* ---- tree sums ---- */

#define MSM_REF_NEG 0x80000000u /* reference = index of a point, with this bit to subtract it */

/* What one thread needs to sum up to g->piece points. */
typedef struct msm_scratch {
    void *pts;         /* piece points */
    uint32_t *refs;    /* piece */
    uint32_t *seg_len; /* piece; consumed by msm_tree_sum */
    uint32_t *seg_dst; /* piece; the caller's, for where results go */
    uint32_t *counts;  /* MSM_PART_KEYS_MAX */
    msm_op *ops;       /* 2 MSM_BATCH: one batch runs while the next is collected */
    void *field;       /* 2 * MSM_BATCH field elements */
} msm_scratch;

/* Memory: gives one block for n_threads scratches (about 0.7 MiB each for G1, 0.8 MiB for G2);
 * release with mem_free. NULL when out of memory. */
msm_scratch *msm_scratch_create(const msm_group *g, unsigned n_threads);
/* Sum n_segs segments of references into base; s->seg_len holds their lengths (each >= 1, in all <=
 * g->piece). s->pts[i] is then the affine sum of segment i. */
void msm_tree_sum(const msm_group *g, msm_scratch *s, const void *base, const uint32_t *refs,
                  size_t n_segs);

/* ---- parallel loop with cancel polling ---- */

/* pool_for in slices between which cancel is polled, on the caller's thread. Errors:
 * CUZK_E_CANCELLED. */
CUZK_MUST_CHECK cuzk_status msm_run(const run_ctx *rc, size_t n_chunks, pool_fn *fn, void *ctx);

/* ---- signed digits ---- */

/* s = sum d_w 2^(c w) with |d_w| <= 2^(c-1): add 2^(c-1) to every window but the last once, then
 * read plain bit fields and take 2^(c-1) away again. c * n_win >= 256 leaves room for the carry
 * into the last window. */
typedef struct msm_recode {
    unsigned c, n_win;
    uint64_t offset[4];
} msm_recode;

msm_recode msm_recode_init(unsigned c);

static inline void msm_recode_apply(uint64_t t[4], const msm_recode *r, const fr_int *s)
{
    unsigned __int128 acc = 0;
    for (int i = 0; i < 4; i++) {
        acc += (unsigned __int128)s->l[i] + r->offset[i];
        t[i] = (uint64_t)acc;
        acc >>= 64;
    }
}

static inline int32_t msm_recode_digit(const uint64_t t[4], const msm_recode *r, unsigned w)
{
    unsigned bit = w * r->c, limb = bit >> 6, sh = bit & 63;
    uint64_t v = t[limb] >> sh;
    if (sh + r->c > 64 && limb < 3)
        v |= t[limb + 1] << (64 - sh);
    int32_t d = (int32_t)(v & ((1u << r->c) - 1));
    return w + 1 < r->n_win ? d - (int32_t)(1u << (r->c - 1)) : d;
}

/* ---- sort of (bucket, point) by bucket ---- */

#define MSM_PART_KEYS_MAX 4096u
#define MSM_PARTS_MAX 512u

typedef struct msm_entry {
    uint32_t key, ref;
} msm_entry;

/* Two-pass counting sort of the digits of a group of windows. key = window_in_group * 2^(c-1) + |d|
 * - 1; zero digits are left out. */
typedef struct msm_sort {
    const fr_int *scalars;
    const uint32_t *list; /* which scalars take part, or NULL for all */
    size_t m;             /* how many */
    msm_recode rec;
    unsigned group; /* windows per group, at most */
    /* set by msm_sort_window_group: */
    unsigned w0, n_win;
    size_t n_keys, n_parts;
    uint32_t *sorted; /* references, by key */
    uint32_t *off;    /* n_keys + 1: where each key starts in sorted */
    /* internal: */
    unsigned shift;
    size_t chunk, n_chunks, max_keys;
    uint32_t *hist, *part_off;
    msm_entry *entries;
    msm_scratch *scratch;
} msm_sort;

/* Fill in sizes and allocate; scalars, list, m, rec, group and scratch are set. Errors:
 * CUZK_E_NOMEM (fini is still due). */
CUZK_MUST_CHECK cuzk_status msm_sort_init(msm_sort *s);
void msm_sort_fini(msm_sort *s);
CUZK_MUST_CHECK cuzk_status msm_sort_window_group(msm_sort *s, unsigned w0, const run_ctx *rc);

/* ---- the window method ---- */

typedef struct msm_scalars {
    const fr_int *scalars; /* each < 2^255 */
    /* the m that take part (with the bases of the same index), or NULL for the first m */
    const uint32_t *list;
    size_t m;
} msm_scalars;

/* *out_jac += sum. Errors: CUZK_E_NOMEM, CUZK_E_CANCELLED (then *out_jac is undefined). */
CUZK_MUST_CHECK cuzk_status msm_windows(const msm_group *g, void *out_jac, const void *bases,
                                        msm_scalars in, const run_ctx *rc);
#endif
