/* Pippenger's bucket method over signed digits, a group of windows at a time: sort by bucket,
 * affine tree sums of the buckets, then of their rows and columns, and two short running sums per
 * window.
 *
 * With B = 2^(c-1) = H * L buckets of a window and b = h L + l,
 *     sum_b (b + 1) S_b = L sum_h h R_h + sum_l (l + 1) C_l,   R_h = sum_l S_b,  C_l = sum_h S_b,
 * so that all but H + L of the work is plain sums again. */
#include "base/mem.h"
#include "msm/msm_int.h"

#define NO_HEAD UINT32_MAX
#define GROUP_ENTRIES \
    ((size_t)1        \
     << 20) /* windows are taken together up to this many digits: enough pieces for many threads */
#define GROUP_KEYS ((size_t)1 << 20)
#define C_MIN 2u
#define C_MAX 20u

typedef struct windows {
    const msm_group *g;
    const void *bases;
    msm_sort sort;
    msm_scratch *scratch;
    unsigned lg_l, lg_h;
    size_t n_pieces, rows_per_task, cols_per_task;
    /* n_keys points, then one head per piece; only non-empty buckets are set */
    void *buckets;
    uint32_t *head_key;      /* the bucket a piece continues, or NO_HEAD */
    void *rows, *cols;       /* all windows: H and L points each */
    void *row_sum, *col_sum; /* one Jacobian point per window */
} windows;

/* Work in affine additions: filled buckets are summed twice more, and a running-sum step costs
 * about 5 of the cheap additions. */
static unsigned choose_c(size_t m)
{
    unsigned best = C_MIN;
    double best_cost = 0;
    for (unsigned c = C_MIN; c <= C_MAX; c++) {
        double n_win = (255 + c) / c, b = (double)((size_t)1 << (c - 1));
        double filled = (double)m < b ? (double)m : b;
        double short_sums = (double)((size_t)1 << ((c - 1) / 2)) + (double)((size_t)1 << (c / 2));
        double cost = n_win * ((double)m + filled + 0.05 * b + 5 * short_sums);
        if (best_cost == 0 || cost < best_cost) {
            best_cost = cost;
            best = c;
        }
    }
    return best;
}

/* ---- buckets ---- */

/* The key whose entries cover position pos: the last with off[key] <= pos. */
static size_t key_at(const msm_sort *s, uint32_t pos)
{
    size_t lo = 0, hi = s->n_keys; /* off[lo] <= pos < off[hi] */
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->off[mid] <= pos)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Sum the buckets of one piece of the sorted references. */
static void bucket_piece(void *ctx, size_t piece, unsigned thread_idx)
{
    const windows *w = ctx;
    const msm_sort *so = &w->sort;
    msm_scratch *s = &w->scratch[thread_idx];
    uint32_t total = so->off[so->n_keys];
    uint32_t e0 = (uint32_t)(piece * w->g->piece);
    uint32_t e1 = total - e0 < w->g->piece ? total : e0 + (uint32_t)w->g->piece;
    size_t n_segs = 0, key = key_at(so, e0);
    w->head_key[piece] = so->off[key] < e0 ? (uint32_t)key : NO_HEAD;
    for (uint32_t pos = e0; pos < e1; key++) {
        uint32_t end = so->off[key + 1] < e1 ? so->off[key + 1] : e1;
        if (end > pos) {
            s->seg_len[n_segs] = end - pos;
            s->seg_dst[n_segs++] = (uint32_t)key;
            pos = end;
        }
    }
    if (w->head_key[piece] != NO_HEAD)
        s->seg_dst[0] = (uint32_t)(so->n_keys + piece);
    msm_tree_sum(w->g, s, w->bases, so->sorted + e0, n_segs);
    for (size_t i = 0; i < n_segs; i++)
        msm_copy(msm_at(w->buckets, s->seg_dst[i], w->g), msm_at(s->pts, i, w->g), w->g);
}

/* Add the heads to the buckets they continue. There is one per piece at most: serial, but a few
 * thousand additions at 2^26. */
static void join_heads(windows *w)
{
    msm_scratch *s = &w->scratch[0];
    size_t n_refs = 0, n_segs = 0;
    for (size_t p = 0; p <= w->n_pieces; p++) {
        uint32_t key = p < w->n_pieces ? w->head_key[p] : NO_HEAD;
        bool is_full = n_refs + 2 > w->g->piece;
        if (n_segs > 0 && (p == w->n_pieces || is_full)) {
            msm_tree_sum(w->g, s, w->buckets, s->refs, n_segs);
            for (size_t i = 0; i < n_segs; i++)
                msm_copy(msm_at(w->buckets, s->seg_dst[i], w->g), msm_at(s->pts, i, w->g), w->g);
            n_refs = n_segs = 0;
        }
        if (key == NO_HEAD)
            continue;
        if (n_segs == 0 || s->seg_dst[n_segs - 1] != key) {
            s->seg_dst[n_segs] = key;
            s->seg_len[n_segs++] = 1;
            s->refs[n_refs++] = key;
        }
        s->seg_len[n_segs - 1]++;
        s->refs[n_refs++] = (uint32_t)(w->sort.n_keys + p);
    }
}

/* ---- rows and columns ---- */

/* n sums of count buckets each: sum i takes buckets first + i * step_sum + k * step. */
typedef struct lines {
    size_t first, step_sum, step, n, count;
} lines;

static void sum_lines(const windows *w, msm_scratch *s, void *out, lines ln)
{
    size_t n_refs = 0, n_segs = 0;
    for (size_t i = 0; i < ln.n; i++) {
        size_t before = n_refs;
        for (size_t k = 0; k < ln.count; k++) {
            size_t key = ln.first + i * ln.step_sum + k * ln.step;
            if (w->sort.off[key] < w->sort.off[key + 1])
                s->refs[n_refs++] = (uint32_t)key;
        }
        if (n_refs > before) {
            s->seg_len[n_segs] = (uint32_t)(n_refs - before);
            s->seg_dst[n_segs++] = (uint32_t)i;
        } else {
            msm_set_inf(msm_at(out, i, w->g), w->g);
        }
    }
    if (n_segs == 0)
        return;
    msm_tree_sum(w->g, s, w->buckets, s->refs, n_segs);
    for (size_t i = 0; i < n_segs; i++)
        msm_copy(msm_at(out, s->seg_dst[i], w->g), msm_at(s->pts, i, w->g), w->g);
}

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

static void line_task(void *ctx, size_t task, unsigned thread_idx)
{
    const windows *w = ctx;
    msm_scratch *s = &w->scratch[thread_idx];
    size_t n_rows = (size_t)1 << w->lg_h, n_cols = (size_t)1 << w->lg_l;
    size_t row_tasks = (n_rows + w->rows_per_task - 1) / w->rows_per_task;
    size_t col_tasks = (n_cols + w->cols_per_task - 1) / w->cols_per_task;
    size_t win = task / (row_tasks + col_tasks), t = task % (row_tasks + col_tasks);
    size_t key0 = win << (w->lg_h + w->lg_l), win_abs = w->sort.w0 + win;
    if (t < row_tasks) {
        size_t h = t * w->rows_per_task;
        lines ln = {.first = key0 + (h << w->lg_l),
                    .step_sum = n_cols,
                    .step = 1,
                    .n = min_size(w->rows_per_task, n_rows - h),
                    .count = n_cols};
        sum_lines(w, s, msm_at(w->rows, win_abs * n_rows + h, w->g), ln);
    } else {
        size_t l = (t - row_tasks) * w->cols_per_task;
        lines ln = {.first = key0 + l,
                    .step_sum = 1,
                    .step = n_cols,
                    .n = min_size(w->cols_per_task, n_cols - l),
                    .count = n_rows};
        sum_lines(w, s, msm_at(w->cols, win_abs * n_cols + l, w->g), ln);
    }
}

static void weigh_window(void *ctx, size_t task, unsigned thread_idx)
{
    (void)thread_idx;
    const windows *w = ctx;
    size_t win = task / 2, n_rows = (size_t)1 << w->lg_h, n_cols = (size_t)1 << w->lg_l;
    if (task % 2 == 0)
        w->g->weighted((char *)w->row_sum + win * w->g->jac_bytes,
                       msm_at_c(w->rows, win * n_rows, w->g), n_rows, 0);
    else
        w->g->weighted((char *)w->col_sum + win * w->g->jac_bytes,
                       msm_at_c(w->cols, win * n_cols, w->g), n_cols, 1);
}

/* ---- all windows ---- */

static cuzk_status windows_alloc(windows *w, const run_ctx *rc)
{
    const msm_group *g = w->g;
    unsigned c = w->sort.rec.c, n_win = w->sort.rec.n_win;
    w->lg_l = (c - 1) / 2;
    w->lg_h = c - 1 - w->lg_l;
    size_t n_rows = (size_t)1 << w->lg_h, n_cols = (size_t)1 << w->lg_l;
    w->rows_per_task = n_cols < g->piece ? g->piece / n_cols : 1;
    w->cols_per_task = n_rows < g->piece ? g->piece / n_rows : 1;
    w->scratch = msm_scratch_create(g, pool_threads(rc->pool));
    w->sort.scratch = w->scratch;
    CUZK_TRY(msm_sort_init(&w->sort));
    size_t max_pieces = (w->sort.group * w->sort.m + g->piece - 1) / g->piece;
    w->buckets = mem_alloc((w->sort.max_keys + max_pieces) * g->aff_bytes, 64);
    w->head_key = mem_alloc(max_pieces * sizeof *w->head_key, 64);
    w->rows = mem_alloc(n_win * n_rows * g->aff_bytes, 64);
    w->cols = mem_alloc(n_win * n_cols * g->aff_bytes, 64);
    w->row_sum = mem_alloc(n_win * g->jac_bytes, 64);
    w->col_sum = mem_alloc(n_win * g->jac_bytes, 64);
    if (!w->scratch || !w->buckets || !w->head_key || !w->rows || !w->cols || !w->row_sum ||
        !w->col_sum)
        return cuzk_fail(CUZK_E_NOMEM, "msm: buckets for %zu scalars", w->sort.m);
    return cuzk_ok();
}

static void windows_fini(windows *w)
{
    msm_sort_fini(&w->sort);
    mem_free(w->scratch);
    mem_free(w->buckets);
    mem_free(w->head_key);
    mem_free(w->rows);
    mem_free(w->cols);
    mem_free(w->row_sum);
    mem_free(w->col_sum);
}

static cuzk_status window_group(windows *w, unsigned w0, const run_ctx *rc)
{
    CUZK_TRY(msm_sort_window_group(&w->sort, w0, rc));
    w->n_pieces = (w->sort.off[w->sort.n_keys] + w->g->piece - 1) / w->g->piece;
    CUZK_TRY(msm_run(rc, w->n_pieces, bucket_piece, w));
    join_heads(w);
    size_t n_rows = (size_t)1 << w->lg_h, n_cols = (size_t)1 << w->lg_l;
    size_t per_window = (n_rows + w->rows_per_task - 1) / w->rows_per_task +
                        (n_cols + w->cols_per_task - 1) / w->cols_per_task;
    return msm_run(rc, w->sort.n_win * per_window, line_task, w);
}

static cuzk_status windows_run(windows *w, void *out_jac, const run_ctx *rc)
{
    unsigned n_win = w->sort.rec.n_win;
    CUZK_TRY(windows_alloc(w, rc));
    for (unsigned w0 = 0; w0 < n_win; w0 += w->sort.group) {
        CUZK_TRY(window_group(w, w0, rc));
        run_progress(rc, "msm", (double)(w0 + w->sort.n_win) / n_win);
    }
    CUZK_TRY(msm_run(rc, 2 * (size_t)n_win, weigh_window, w));
    for (unsigned win = n_win; win-- > 0;) {
        char *row = (char *)w->row_sum + win * w->g->jac_bytes,
             *col = (char *)w->col_sum + win * w->g->jac_bytes;
        w->g->shift_add(row, w->lg_l, col);
        w->g->shift_add(out_jac, w->sort.rec.c, row);
    }
    return cuzk_ok();
}

cuzk_status msm_windows(const msm_group *g, void *out_jac, const void *bases, msm_scalars in,
                        const run_ctx *rc)
{
    windows w = {.g = g, .bases = bases};
    w.sort.scalars = in.scalars;
    w.sort.list = in.list;
    w.sort.m = in.m;
    w.sort.rec = msm_recode_init(choose_c(in.m));
    size_t by_entries = GROUP_ENTRIES / in.m, by_keys = GROUP_KEYS >> (w.sort.rec.c - 1);
    size_t group = min_size(min_size(by_entries, by_keys), w.sort.rec.n_win);
    w.sort.group = group > 0 ? (unsigned)group : 1;
    cuzk_status st = windows_run(&w, out_jac, rc);
    windows_fini(&w);
    return st;
}
