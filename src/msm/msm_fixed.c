/* Fixed-base multiplication: a table of j 2^(c w) P for every window w and 0 < j <= 2^(c-1), and
 * for a block of scalars at a time one batch of affine additions per window. */
#include "base/mem.h"
#include "msm/msm.h"
#include "msm/msm_int.h"

#define C_MIN 4u
#define C_MAX \
    16u /* 16 windows; the G1 table is 48 MiB. 20 bits would save 3 additions of 16 for 650 MB. */
#define BLOCK MSM_BATCH

struct msm_fixed {
    msm_recode rec;
    const msm_group *g1, *g2;
    /* n_win << (c-1) affine points, window by window; NULL if not asked for */
    void *table_g1, *table_g2;
};

typedef struct fixed_scratch {
    msm_op ops[2][MSM_BATCH];
    uint64_t recoded[BLOCK][4];
    _Alignas(64) unsigned char field[2 * MSM_BATCH * MSM_FIELD_BYTES_MAX];
} fixed_scratch;

static unsigned choose_c(size_t n)
{
    unsigned best = C_MIN;
    double best_cost = 0;
    for (unsigned c = C_MIN; c <= C_MAX; c++) {
        double cost = (double)((255 + c) / c) * ((double)n + (double)(1u << (c - 1)));
        if (best_cost == 0 || cost < best_cost) {
            best_cost = cost;
            best = c;
        }
    }
    return best;
}

/* ---- table ---- */

/* One doubling step of the table: entries 1..have become 1..2 have, as entry[have + i] =
 * entry[have] + entry[i]. */
typedef struct grow_job {
    const msm_group *g;
    const msm_recode *rec;
    void *table;
    size_t have, per_window; /* tasks per window */
    fixed_scratch *scratch;
} grow_job;

static void grow_task(void *ctx, size_t task, unsigned thread_idx)
{
    const grow_job *j = ctx;
    fixed_scratch *s = &j->scratch[thread_idx];
    /* entry i is at i - 1 */
    char *win = msm_at(j->table, (task / j->per_window) << (j->rec->c - 1), j->g);
    size_t first = task % j->per_window * MSM_BATCH,
           n = j->have - first < MSM_BATCH ? j->have - first : MSM_BATCH;
    const void *top = msm_at(win, j->have - 1, j->g);
    for (size_t k = 0; k < n; k++)
        s->ops[0][k] = (msm_op){.a = top,
                                .b = msm_at(win, first + k, j->g),
                                .out = msm_at(win, j->have + first + k, j->g)};
    j->g->batch_add(&(msm_batch){.ops = s->ops[0], .n = n}, s->field);
}

static cuzk_status table_fill(const msm_group *g, const msm_recode *rec, void *table,
                              const void *base, fixed_scratch *scratch, const run_ctx *rc)
{
    union {
        g1_jac g1;
        g2_jac g2;
    } p, zero = {.g2 = {.z = {{{0}}, {{0}}}}};
    g->from_aff(&p, base);
    for (unsigned w = 0; w < rec->n_win; w++) {
        g->to_aff(msm_at(table, (size_t)w << (rec->c - 1), g), &p);
        g->shift_add(&p, rec->c, &zero);
    }
    grow_job j = {.g = g, .rec = rec, .table = table, .scratch = scratch};
    for (j.have = 1; j.have < (size_t)1 << (rec->c - 1); j.have *= 2) {
        j.per_window = (j.have + MSM_BATCH - 1) / MSM_BATCH;
        CUZK_TRY(msm_run(rc, rec->n_win * j.per_window, grow_task, &j));
    }
    return cuzk_ok();
}

static cuzk_status table_build(void **table, const msm_group *g, const msm_recode *rec,
                               const void *base, const run_ctx *rc)
{
    size_t n_points = (size_t)rec->n_win << (rec->c - 1);
    *table = mem_alloc(n_points * g->aff_bytes, 64);
    fixed_scratch *scratch = mem_alloc(pool_threads(rc->pool) * sizeof *scratch, 64);
    cuzk_status st = *table && scratch
                         ? table_fill(g, rec, *table, base, scratch, rc)
                         : cuzk_fail(CUZK_E_NOMEM, "msm: table of %zu points", n_points);
    mem_free(scratch);
    return st;
}

void msm_fixed_destroy(msm_fixed *t)
{
    if (!t)
        return;
    mem_free(t->table_g1);
    mem_free(t->table_g2);
    mem_free(t);
}

cuzk_status msm_fixed_create(msm_fixed **out, const g1_aff *base_g1, const g2_aff *base_g2,
                             size_t n_expected, const run_ctx *rc)
{
    *out = NULL;
    msm_fixed *t = mem_alloc(sizeof *t, 64);
    if (!t)
        return cuzk_fail(CUZK_E_NOMEM, "msm: fixed-base table");
    *t = (msm_fixed){
        .rec = msm_recode_init(choose_c(n_expected)), .g1 = msm_group_g1(), .g2 = msm_group_g2()};
    cuzk_status st = cuzk_ok();
    if (base_g1)
        st = table_build(&t->table_g1, t->g1, &t->rec, base_g1, rc);
    if (base_g2 && st.code == CUZK_OK)
        st = table_build(&t->table_g2, t->g2, &t->rec, base_g2, rc);
    if (st.code != CUZK_OK)
        msm_fixed_destroy(t);
    else
        *out = t;
    return st;
}

/* ---- multiplication ---- */

typedef struct mul_job {
    const msm_group *g;
    const msm_recode *rec;
    const void *table;
    void *out;
    const fr_int *scalars;
    size_t n;
    fixed_scratch *scratch;
} mul_job;

/* The ops that add the entries of window w to the accumulators (which are the outputs); the first
 * window sets them instead. */
static size_t window_ops(const mul_job *j, const fixed_scratch *s, msm_op *ops, void *acc, size_t n,
                         unsigned w)
{
    const void *win = msm_at_c(j->table, (size_t)w << (j->rec->c - 1), j->g);
    size_t n_ops = 0;
    for (size_t k = 0; k < n; k++) {
        int32_t d = msm_recode_digit(s->recoded[k], j->rec, w);
        if (d == 0)
            continue;
        void *a = msm_at(acc, k, j->g);
        const void *entry = msm_at_c(win, (size_t)(d < 0 ? -d : d) - 1, j->g);
        uint8_t neg = d < 0;
        if (w == 0)
            ops[n_ops++] = (msm_op){.a = entry, .out = a, .neg = neg ? MSM_NEG_A : 0};
        else
            ops[n_ops++] = (msm_op){.a = a, .b = entry, .out = a, .neg = neg ? MSM_NEG_B : 0};
    }
    return n_ops;
}

static void mul_block(void *ctx, size_t block, unsigned thread_idx)
{
    const mul_job *j = ctx;
    fixed_scratch *s = &j->scratch[thread_idx];
    size_t i0 = block * BLOCK, n = j->n - i0 < BLOCK ? j->n - i0 : BLOCK;
    void *acc = msm_at(j->out, i0, j->g);
    memset(acc, 0, n * j->g->aff_bytes);
    for (size_t k = 0; k < n; k++)
        msm_recode_apply(s->recoded[k], j->rec, &j->scalars[i0 + k]);
    size_t n_ops = window_ops(j, s, s->ops[0], acc, n, 0);
    for (unsigned w = 0; w < j->rec->n_win; w++) {
        msm_op *ops = s->ops[w & 1], *next = s->ops[~w & 1];
        size_t n_next = w + 1 < j->rec->n_win ? window_ops(j, s, next, acc, n, w + 1) : 0;
        if (n_ops > 0)
            j->g->batch_add(
                &(msm_batch){
                    .ops = ops, .n = n_ops, .with_signs = true, .next = next, .n_next = n_next},
                s->field);
        n_ops = n_next;
    }
}

static cuzk_status fixed_mul(mul_job j, const run_ctx *rc)
{
    size_t n_blocks = (j.n + BLOCK - 1) / BLOCK;
    for (size_t i = 0; i < j.n; i++)
        if (j.scalars[i].l[3] >> 63)
            return cuzk_fail(CUZK_E_RANGE, "msm: scalar %zu is 2^255 or more", i);
    j.scratch = mem_alloc(pool_threads(rc->pool) * sizeof *j.scratch, 64);
    cuzk_status st = j.scratch ? msm_run(rc, n_blocks, mul_block, &j)
                               : cuzk_fail(CUZK_E_NOMEM, "msm: fixed-base scratch");
    mem_free(j.scratch);
    if (st.code != CUZK_OK)
        memset(j.out, 0, j.n * j.g->aff_bytes);
    return st;
}

cuzk_status msm_fixed_mul_g1(const msm_fixed *t, g1_aff *out, const fr_int *scalars, size_t n,
                             const run_ctx *rc)
{
    CUZK_ASSERT(t->table_g1);
    return fixed_mul((mul_job){.g = t->g1,
                               .rec = &t->rec,
                               .table = t->table_g1,
                               .out = out,
                               .scalars = scalars,
                               .n = n},
                     rc);
}

cuzk_status msm_fixed_mul_g2(const msm_fixed *t, g2_aff *out, const fr_int *scalars, size_t n,
                             const run_ctx *rc)
{
    CUZK_ASSERT(t->table_g2);
    return fixed_mul((mul_job){.g = t->g2,
                               .rec = &t->rec,
                               .table = t->table_g2,
                               .out = out,
                               .scalars = scalars,
                               .n = n},
                     rc);
}

cuzk_status msm_fixed_g1(g1_aff *out, const g1_aff *base, const fr_int *scalars, size_t n,
                         const run_ctx *rc)
{
    msm_fixed *t;
    CUZK_TRY(msm_fixed_create(&t, base, NULL, n, rc));
    cuzk_status st = msm_fixed_mul_g1(t, out, scalars, n, rc);
    msm_fixed_destroy(t);
    return st;
}

cuzk_status msm_fixed_g2(g2_aff *out, const g2_aff *base, const fr_int *scalars, size_t n,
                         const run_ctx *rc)
{
    msm_fixed *t;
    CUZK_TRY(msm_fixed_create(&t, NULL, base, n, rc));
    cuzk_status st = msm_fixed_mul_g2(t, out, scalars, n, rc);
    msm_fixed_destroy(t);
    return st;
}
