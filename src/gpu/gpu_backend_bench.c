/* Timing device operations. Points are first base^i G, made on the device, so that every sum has a
 * logarithm that the host can compute. */
#include "gpu/gpu_backend_bench.h"
#include "base/mem.h"
#include "base/random.h"
#include "gpu/gpu_backend_int.h"
#include "gpu/gpu_backend_wire.h"
#include "gpu/gpu_fixed.h"
#include "gpu/gpu_shape_int.h"
#include <string.h>

#define FEED_BYTES ((size_t)1 << 22)
#define SEED_LG 8u /* random values that a transform spreads over a vector */
#define N_MASKS GPU_MSM_MASKS_MAX
/* Beyond this many points the host computes the first mask's sum only: 25 ns a point. */
#define ALL_MASKS_MAX ((size_t)1 << 20)

/* What a bench works with; released in any state. */
typedef struct bench_dev {
    gpu_lane *lane;
    gpu_feed feed;
    gpu_block vec, bases, ws, table, pin, masks;
    gpu_event *from, *to;
    gpu_ntt_table ntt;
    run_ctx rc;
} bench_dev;

static void bench_fini(bench_dev *d)
{
    gpu_block *blocks[] = {&d->vec, &d->bases, &d->ws, &d->table, &d->masks};
    for (size_t i = 0; i < ARRAY_LEN(blocks); i++)
        gpu_mem_return(blocks[i]);
    gpu_pin_return(&d->pin);
    gpu_feed_fini(&d->feed);
    gpu_event_destroy(d->from);
    gpu_event_destroy(d->to);
    gpu_lane_destroy(d->lane);
}

static cuzk_status lane_init(bench_dev *d, g16_backend *b)
{
    int ordinal = gpu_direct_device(b)->ordinal;
    CUZK_TRY(gpu_ctx_enter(ordinal));
    CUZK_TRY(gpu_lane_create(&d->lane, ordinal, NULL));
    CUZK_TRY(gpu_feed_init(&d->feed, FEED_BYTES, gpu_lane_stream(d->lane)));
    CUZK_TRY(gpu_event_create(&d->from, true));
    return gpu_event_create(&d->to, true);
}

static cuzk_status bench_init(bench_dev *d, uint32_t lg_n, g16_backend *b)
{
    if (lg_n < SEED_LG || lg_n > GPU_NTT_LG_N_MAX)
        return cuzk_fail(CUZK_E_RANGE, "device bench of 2^%u: want 2^%u to 2^%u", lg_n, SEED_LG,
                         GPU_NTT_LG_N_MAX);
    CUZK_TRY(lane_init(d, b));
    CUZK_TRY(gpu_pin_take(&d->pin, GPU_MSM_PIN_BYTES, "results of sums"));
    CUZK_TRY(gpu_mem_take(&d->vec, sizeof(fr) << lg_n, "bench vector"));
    CUZK_TRY(gpu_mem_take(&d->table, gpu_ntt_table_bytes(lg_n), "transform table"));
    return gpu_ntt_table_build(&d->ntt, d->table.p, lg_n, gpu_lane_stream(d->lane));
}

/* A vector whose transform is random at every place: random values in front, zeros behind. */
static cuzk_status seed_vector(bench_dev *d, fr seed[1u << SEED_LG])
{
    for (size_t i = 0; i < (size_t)1 << SEED_LG; i++)
        CUZK_TRY(fr_random(&seed[i]));
    CUZK_TRY(gpu_fill(d->vec.p, 0, d->vec.bytes, gpu_lane_stream(d->lane)));
    return gpu_feed_copy(&d->feed, d->vec.p, seed, sizeof(fr) << SEED_LG, &d->rc);
}

/* Time from d->from, recorded before, to here. */
static cuzk_status time_to_here(double *ms, bench_dev *d)
{
    uint64_t ns;
    CUZK_TRY(gpu_event_record(d->to, gpu_lane_stream(d->lane)));
    CUZK_TRY(gpu_event_wait_sync(d->to));
    CUZK_TRY(gpu_event_ns(&ns, d->from, d->to));
    *ms = (double)ns / 1e6;
    return cuzk_ok();
}

static cuzk_status timed_ntt(double *ms, bench_dev *d, uint32_t lg_n, bool inverse)
{
    gpu_stream *s = gpu_lane_stream(d->lane);
    CUZK_TRY(gpu_event_record(d->from, s));
    CUZK_TRY(inverse ? gpu_ntt_inverse(&d->ntt, d->vec.p, lg_n, s)
                     : gpu_ntt_forward(&d->ntt, d->vec.p, lg_n, s));
    return time_to_here(ms, d);
}

/* n bytes of device memory in the feed's first buffer. */
static cuzk_status fetch(const void **out, bench_dev *d, const void *d_from, size_t n)
{
    void *pin;
    CUZK_TRY(gpu_feed_next(&d->feed, &pin));
    CUZK_TRY(gpu_copy_out(pin, d_from, n, gpu_lane_stream(d->lane)));
    *out = pin;
    return gpu_stream_wait_sync(gpu_lane_stream(d->lane));
}

static cuzk_status run_ntt(double *forward_ms, double *inverse_ms, unsigned n_samples,
                           uint32_t lg_n, bench_dev *d)
{
    static const size_t seed_bytes = sizeof(fr) << SEED_LG;
    fr seed[1u << SEED_LG];
    const void *got;
    CUZK_TRY(seed_vector(d, seed));
    for (unsigned i = 0; i <= n_samples; i++) { /* the first one warms up */
        CUZK_TRY(timed_ntt(&forward_ms[i ? i - 1 : 0], d, lg_n, false));
        CUZK_TRY(timed_ntt(&inverse_ms[i ? i - 1 : 0], d, lg_n, true));
    }
    CUZK_TRY(fetch(&got, d, d->vec.p, seed_bytes));
    if (memcmp(got, seed, seed_bytes) != 0)
        return cuzk_fail(CUZK_E_INTERNAL, "device transforms of 2^%u do not undo each other", lg_n);
    return cuzk_ok();
}

cuzk_status gpu_bench_ntt(double *forward_ms, double *inverse_ms, unsigned n_samples, uint32_t lg_n,
                          g16_backend *b)
{
    bench_dev d = {0};
    cuzk_status st = bench_init(&d, lg_n, b);
    if (st.code == CUZK_OK)
        st = run_ntt(forward_ms, inverse_ms, n_samples, lg_n, &d);
    bench_fini(&d);
    return st;
}

/* Sums to time: what they run over, and the logarithms they must have. */
typedef struct sums_bench {
    bench_dev *d;
    size_t n;
    bool g2;
    gpu_msm_ws ws;
    fr first, base;
    unsigned n_checked; /* masks */
    fr want[GPU_BENCH_N_SUMS][N_MASKS];
} sums_bench;

static cuzk_status make_bases(sums_bench *s)
{
    gpu_fixed f;
    gpu_fixed_src src = {.first = s->first, .base = s->base};
    uint32_t *d_zero = s->d->masks.p; /* not used yet */
    gpu_msm_group g = s->g2 ? GPU_MSM_G2 : GPU_MSM_G1;
    CUZK_TRY(gpu_fixed_init(&f, g, s->n, &s->ws));
    CUZK_TRY(gpu_fixed_mul(s->d->bases.p, &f, &src, s->n, d_zero));
    CUZK_TRY((s->g2 ? gpu_msm_prepare_bases_g2 : gpu_msm_prepare_bases_g1)(s->d->bases.p, 0, s->n,
                                                                           s->ws.run));
    return gpu_lane_wait_sync(s->d->lane);
}

/* Random masks to the device, and the sums of the logarithms they select. */
static cuzk_status make_masks(sums_bench *s)
{
    size_t words = s->n / 64;
    for (unsigned m = 0; m < N_MASKS; m++) {
        fr power = s->first, sum = FR_ZERO;
        for (size_t at = 0; at < words;) {
            void *pin;
            size_t cap = s->d->feed.pin[0].bytes / 8, len = words - at < cap ? words - at : cap;
            CUZK_TRY(gpu_feed_next(&s->d->feed, &pin));
            CUZK_TRY(random_bytes(pin, len * 8));
            for (size_t i = 0; m < s->n_checked && i < len * 64;
                 i++, fr_mul(&power, &power, &s->base))
                if (((const uint64_t *)pin)[i / 64] >> (i % 64) & 1)
                    fr_add(&sum, &sum, &power);
            CUZK_TRY(gpu_feed_send(&s->d->feed, (uint8_t *)s->d->masks.p + (m * words + at) * 8,
                                   len * 8));
            at += len;
        }
        s->want[GPU_BENCH_TEN_BITS][m] = sum;
    }
    s->want[GPU_BENCH_BITS][0] = s->want[GPU_BENCH_TEN_BITS][0];
    return cuzk_ok();
}

/* Random scalars: the transform of a random vector, as integers. */
static cuzk_status make_scalars(sums_bench *s, uint32_t lg_n)
{
    fr seed[1u << SEED_LG], power = s->first, sum = FR_ZERO, t;
    gpu_stream *stream = gpu_lane_stream(s->d->lane);
    size_t cap = s->d->feed.pin[0].bytes / sizeof(fr);
    CUZK_TRY(seed_vector(s->d, seed));
    CUZK_TRY(gpu_ntt_forward(&s->d->ntt, s->d->vec.p, lg_n, stream));
    for (size_t at = 0; at < s->n;) {
        const void *v;
        size_t len = s->n - at < cap ? s->n - at : cap;
        CUZK_TRY(fetch(&v, s->d, (const fr *)s->d->vec.p + at, len * sizeof(fr)));
        for (size_t i = 0; i < len; i++, fr_mul(&power, &power, &s->base)) {
            fr_mul(&t, (const fr *)v + i, &power);
            fr_add(&sum, &sum, &t);
        }
        at += len;
    }
    s->want[GPU_BENCH_UNIFORM][0] = sum;
    return gpu_scalars_canonical(s->d->vec.p, s->d->vec.p, s->n, s->ws.run);
}

static bool is_multiple_g1(const g1_jac *got, const fr *log)
{
    fr_int k;
    g1_jac g, want;
    fr_to_int(&k, log);
    g1_jac_from_aff(&g, &G1_GENERATOR);
    g1_mul(&want, &g, &k);
    return g1_jac_eq(&want, got);
}

static bool is_multiple_g2(const g2_jac *got, const fr *log)
{
    fr_int k;
    g2_jac g, want;
    fr_to_int(&k, log);
    g2_jac_from_aff(&g, &G2_GENERATOR);
    g2_mul(&want, &g, &k);
    return g2_jac_eq(&want, got);
}

static cuzk_status one_sum(const sums_bench *s, gpu_bench_sum what, double *ms)
{
    g1_jac g1[N_MASKS];
    g2_jac g2[N_MASKS];
    unsigned n_out = what == GPU_BENCH_TEN_BITS ? N_MASKS : 1;
    const bench_dev *d = s->d;
    uint64_t t0 = clock_now_ns();
    if (what == GPU_BENCH_UNIFORM)
        CUZK_TRY(s->g2 ? gpu_msm_g2_sync(g2, d->bases.p, d->vec.p, s->n, &s->ws)
                       : gpu_msm_g1_sync(g1, d->bases.p, d->vec.p, s->n, &s->ws));
    else
        CUZK_TRY(s->g2 ? gpu_msm_g2_sums_sync(g2, d->bases.p, d->masks.p, s->n, n_out, &s->ws)
                       : gpu_msm_g1_sums_sync(g1, d->bases.p, d->masks.p, s->n, n_out, &s->ws));
    *ms = (double)(clock_now_ns() - t0) / 1e6;
    for (unsigned k = 0; k < n_out && k < s->n_checked; k++)
        if (!(s->g2 ? is_multiple_g2(&g2[k], &s->want[what][k])
                    : is_multiple_g1(&g1[k], &s->want[what][k])))
            return cuzk_fail(CUZK_E_INTERNAL, "a device sum of %zu points is wrong", s->n);
    return cuzk_ok();
}

static size_t workspace_bytes(size_t n, bool g2, uint64_t free_bytes)
{
    gpu_msm_group g = g2 ? GPU_MSM_G2 : GPU_MSM_G1;
    size_t max = (size_t)(free_bytes / 10 * 9);
    size_t need[] = {gpu_msm_workspace_bytes(g, n, 1, max), gpu_msm_sums_workspace_bytes(g, n, 1),
                     gpu_msm_sums_workspace_bytes(g, n, N_MASKS), gpu_fixed_bytes(g, n)};
    size_t most = 0;
    for (size_t i = 0; i < ARRAY_LEN(need); i++)
        most = need[i] > most ? need[i] : most;
    return most;
}

static cuzk_status run_msm(double *ms[GPU_BENCH_N_SUMS], unsigned n_samples, uint32_t lg_n,
                           sums_bench *s)
{
    uint64_t free_bytes, total_bytes;
    bench_dev *d = s->d;
    CUZK_TRY(gpu_mem_take(&d->bases, s->n * (s->g2 ? sizeof(g2_aff) : sizeof(g1_aff)), "points"));
    CUZK_TRY(gpu_mem_take(&d->masks, N_MASKS * s->n / 8, "masks"));
    CUZK_TRY(gpu_ctx_memory(&free_bytes, &total_bytes));
    CUZK_TRY(gpu_mem_take(&d->ws, workspace_bytes(s->n, s->g2, free_bytes), "workspace"));
    s->ws = (gpu_msm_ws){
        .d_ws = d->ws.p, .bytes = d->ws.bytes, .pin = d->pin.p, .run = gpu_lane_run(d->lane)};
    fr_from_u64(&s->first, 0x5eed);
    fr_from_u64(&s->base, 7);
    CUZK_TRY(make_bases(s));
    CUZK_TRY(make_masks(s));
    CUZK_TRY(make_scalars(s, lg_n));
    for (int what = 0; what < GPU_BENCH_N_SUMS; what++)
        for (unsigned i = 0; i <= n_samples; i++) /* the first one warms up */
            CUZK_TRY(one_sum(s, (gpu_bench_sum)what, &ms[what][i ? i - 1 : 0]));
    return cuzk_ok();
}

cuzk_status gpu_bench_msm(double *ms[GPU_BENCH_N_SUMS], unsigned n_samples, uint32_t lg_n, bool g2,
                          g16_backend *b)
{
    bench_dev d = {0};
    sums_bench s = {.d = &d, .n = (size_t)1 << lg_n, .g2 = g2};
    s.n_checked = s.n <= ALL_MASKS_MAX ? N_MASKS : 1;
    cuzk_status st = bench_init(&d, lg_n, b);
    if (st.code == CUZK_OK)
        st = run_msm(ms, n_samples, lg_n, &s);
    bench_fini(&d);
    return st;
}

/* The shape, the witness and the two vectors on the device. */
typedef struct rows_bench {
    bench_dev *d;
    const gpu_bench_rows *in;
    const r1cs_counts *n;
    gpu_shape *image;
    gpu_block image_mem, values;
    gpu_witness w;
} rows_bench;

static cuzk_status rows_upload(rows_bench *r)
{
    bench_dev *d = r->d;
    const witness *w = r->in->w;
    size_t dense = w->n_dense * sizeof(fr), inputs = w->n_inputs * sizeof(fr);
    size_t bits = words_of(w->n_aux) * 8;
    CUZK_TRY(gpu_shape_create(&r->image, r->in->shape, false));
    CUZK_TRY(gpu_mem_take(&r->image_mem, gpu_shape_bytes(r->image), "circuit"));
    CUZK_TRY(gpu_mem_take(&r->values, dense + inputs + bits, "witness"));
    CUZK_TRY(gpu_mem_take(&d->vec, 2 * sizeof(fr) << r->n->lg_m, "products"));
    CUZK_TRY(gpu_feed_copy(&d->feed, r->image_mem.p, gpu_shape_image(r->image), r->image_mem.bytes,
                           r->in->rc));
    gpu_shape_bind(r->image, r->image_mem.p);
    uint8_t *p = r->values.p;
    r->w = (gpu_witness){.d_dense = p, .d_inputs = p + dense, .d_bits = p + dense + inputs};
    CUZK_TRY(gpu_feed_copy(&d->feed, p, w->dense, dense, r->in->rc));
    CUZK_TRY(gpu_feed_copy(&d->feed, p + dense, w->inputs, inputs, r->in->rc));
    CUZK_TRY(gpu_feed_copy(&d->feed, p + dense + inputs, w->bits, bits, r->in->rc));
    return gpu_lane_wait_sync(d->lane);
}

/* n values of the device, from place `at` on, against the host's in their reversed places. */
typedef struct rows_check {
    const fr *got, *want;
    size_t at, n;
    uint32_t lg_m;
    bool *differs; /* by piece */
} rows_check;
#define CHECK_PIECE ((size_t)4096)

static void check_piece(void *ctx, size_t piece, unsigned thread)
{
    (void)thread;
    const rows_check *c = ctx;
    size_t end = (piece + 1) * CHECK_PIECE < c->n ? (piece + 1) * CHECK_PIECE : c->n;
    bool differs = false;
    for (size_t i = piece * CHECK_PIECE; i < end; i++) {
        size_t row = gpu_shape_reverse((uint32_t)(c->at + i), c->lg_m);
        differs |= memcmp(&c->got[i], &c->want[row], sizeof(fr)) != 0;
    }
    c->differs[piece] = differs;
}

static cuzk_status check_side(rows_bench *r, unsigned side)
{
    size_t m = (size_t)1 << r->n->lg_m, cap = r->d->feed.pin[0].bytes / sizeof(fr);
    bool differs[FEED_BYTES / sizeof(fr) / CHECK_PIECE];
    const fr *d_from = (const fr *)r->d->vec.p + side * m;
    for (size_t at = 0; at < m;) {
        const void *got;
        size_t len = m - at < cap ? m - at : cap, n_pieces = (len + CHECK_PIECE - 1) / CHECK_PIECE;
        CUZK_VERIFY(n_pieces <= ARRAY_LEN(differs));
        CUZK_TRY(fetch(&got, r->d, d_from + at, len * sizeof(fr)));
        rows_check c = {got, side ? r->in->b : r->in->a, at, len, r->n->lg_m, differs};
        pool_for(r->in->rc->pool, n_pieces, check_piece, &c);
        for (size_t i = 0; i < n_pieces; i++)
            if (differs[i])
                return cuzk_fail(CUZK_E_INTERNAL,
                                 "device product %s.w of %s differs from the CPU's",
                                 side ? "B" : "A", r1cs_shape_name(r->in->shape));
        at += len;
    }
    return cuzk_ok();
}

static cuzk_status run_rows(double *ms, unsigned n_samples, rows_bench *r)
{
    bench_dev *d = r->d;
    CUZK_TRY(rows_upload(r));
    fr *d_a = d->vec.p, *d_b = d_a + ((size_t)1 << r->n->lg_m);
    for (unsigned i = 0; i <= n_samples; i++) { /* the first one warms up */
        CUZK_TRY(gpu_event_record(d->from, gpu_lane_stream(d->lane)));
        CUZK_TRY(gpu_shape_eval(r->image, d_a, d_b, &r->w, r->n->lg_m, gpu_lane_run(d->lane)));
        CUZK_TRY(time_to_here(&ms[i ? i - 1 : 0], d));
    }
    for (unsigned side = 0; side < 2; side++)
        CUZK_TRY(check_side(r, side));
    return cuzk_ok();
}

cuzk_status gpu_bench_spmv(double *ms, unsigned n_samples, const gpu_bench_rows *in, g16_backend *b)
{
    bench_dev d = {0};
    rows_bench r = {.d = &d, .in = in, .n = r1cs_shape_counts(in->shape)};
    cuzk_status st = lane_init(&d, b);
    if (st.code == CUZK_OK)
        st = run_rows(ms, n_samples, &r);
    gpu_mem_return(&r.image_mem);
    gpu_mem_return(&r.values);
    gpu_shape_destroy(r.image);
    bench_fini(&d);
    return st;
}
