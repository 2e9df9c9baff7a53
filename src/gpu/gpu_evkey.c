/* Making evaluation-form keys on a device: memory, points in and out, and the job. What is made is
 * encoded there and written as it comes. */
#include "gpu/gpu_evkey.h"
#include "base/mem.h"
#include "base/span_names.h"
#include "gpu/gpu_evkey_int.h"
#include "gpu/gpu_key.h"
#include "gpu/gpu_msm_points.h"
#include <string.h>

/* Variables, list elements and products of a piece: 1.4 GB of the sum's workspace, and large enough
 * for its shared inversions (gpu_tree.cu). */
static const gpu_ev_limits large = {(uint64_t)1 << 21, (uint64_t)1 << 23, (uint64_t)1 << 19};
#define FEED_BYTES ((size_t)1 << 24)
/* Points that go through the pinned memory at a time. */
#define PIN_POINTS (GPU_MSM_PIN_BYTES / sizeof(g1_aff))

static uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void place_parts(gpu_ev_plan *p, const r1cs_shape *s)
{
    size_t n_coeffs;
    (void)r1cs_shape_coeffs(s, &n_coeffs);
    struct {
        size_t *at, bytes;
    } parts[] = {{&p->at_bases, p->bases.n * sizeof(g1_aff)},
                 {&p->at_theta_u, sizeof(fr) << r1cs_shape_counts(s)->lg_m},
                 {&p->at_rows, gpu_ev_rows_bytes(r1cs_shape_counts(s)->lg_m)},
                 {&p->at_stage, p->max.n_vars * sizeof(g1_aff)},
                 {&p->at_coeffs, n_coeffs * sizeof(fr)},
                 {&p->at_items, p->max.n_products * sizeof(gpu_g1_item)},
                 {&p->at_status, sizeof(uint64_t)},
                 {&p->at_work, p->work_bytes},
                 {&p->at_tree, p->tree_bytes}};
    p->bytes = 0;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        *parts[i].at = p->bytes;
        p->bytes += (parts[i].bytes + 255) / 256 * 256;
    }
}

cuzk_status gpu_ev_plan_make(gpu_ev_plan *p, const r1cs_shape *s, const gpu_ev_limits *max)
{
    const r1cs_counts *c = r1cs_shape_counts(s);
    const uint64_t n_vars = c->n_inputs + c->n_aux, n_terms = c->nnz_b + c->nnz_c;
    const gpu_ev_limits most = max ? *max : large;
    memset(p, 0, sizeof *p);
    /* no more than the circuit has; a list holds l and the terms */
    p->max.n_vars = min_u64(most.n_vars, n_vars);
    p->max.n_list = min_u64(most.n_list, max_u64(n_vars + n_terms, 2));
    p->max.n_products = min_u64(most.n_products, max_u64(n_terms, 1));
    p->bases = gpu_ev_bases_of(c->lg_m, &p->max);
    if (p->bases.n > GPU_REF_INDEX)
        return cuzk_fail(CUZK_E_UNSUPPORTED, "domain 2^%u: expected 2^28 or less on a device",
                         c->lg_m);
    p->tree = (gpu_tree_size){.group = GPU_MSM_G1,
                              .n_list = (size_t)p->max.n_list,
                              .n_segments = (size_t)p->max.n_vars,
                              .n_dense = (size_t)p->max.n_vars};
    p->work_bytes = gpu_g1_work_bytes(max_u64((uint64_t)1 << c->lg_m, p->max.n_products));
    p->tree_bytes = gpu_tree_bytes(&p->tree);
    if (p->work_bytes == 0 || p->tree_bytes == 0)
        return cuzk_fail(CUZK_E_DEVICE, "evaluation form of %s: no device answers",
                         r1cs_shape_name(s));
    place_parts(p, s);
    return cuzk_ok();
}

void gpu_ev_advance(gpu_ev_job *j, uint64_t n)
{
    j->n_done += n;
    run_progress(j->rc, "evkey", (double)j->n_done / (double)j->n_total);
}

static void advance(void *ctx, uint64_t n_products) { gpu_ev_advance(ctx, n_products); }

gpu_g1_work gpu_ev_work(gpu_ev_job *j)
{
    return (gpu_g1_work){.d_ws = gpu_ev_at(j, j->plan.at_work),
                         .bytes = j->plan.work_bytes,
                         .run = j->run,
                         .advance = advance,
                         .ctx = j};
}

/* ---- points in and out ---- */

static cuzk_status decode_pieces(gpu_ev_job *j, const gpu_ev_points *p, uint64_t *d_status)
{
    const uint8_t *from = g16_key_section(j->key, p->section) + p->first * sizeof(g1_aff);
    uint8_t *to = (uint8_t *)gpu_ev_at(j, j->plan.at_bases) + p->base * sizeof(g1_aff);
    for (uint64_t at = 0; at < p->n;) {
        void *pin;
        uint64_t n = min_u64(p->n - at, FEED_BYTES / sizeof(g1_aff));
        gpu_points piece = {.d_records = to + at * sizeof(g1_aff),
                            .d_bytes = to + at * sizeof(g1_aff),
                            .first_index = p->base + at,
                            .n = n,
                            .prepared = p->prepared};
        CUZK_TRY(gpu_feed_next(&j->feed, &pin));
        gpu_feed_read(pin, from + at * sizeof(g1_aff), n * sizeof(g1_aff), j->rc);
        CUZK_TRY(gpu_feed_send(&j->feed, piece.d_bytes, n * sizeof(g1_aff)));
        CUZK_TRY(gpu_points_decode_g1(&piece, GPU_POINTS_RANGE, d_status, j->run));
        CUZK_TRY(gpu_run_slice(j->run));
        at += n;
    }
    return cuzk_ok();
}

cuzk_status gpu_ev_load(gpu_ev_job *j, const gpu_ev_points *p)
{
    uint64_t *d_status = gpu_ev_at(j, j->plan.at_status), status;
    gpu_stream *stream = gpu_lane_stream(j->lane);
    if (p->n == 0)
        return cuzk_ok();
    gpu_run_group(j->run, SPAN_KEY_DECODE);
    CUZK_TRY(gpu_fill(d_status, 0xff, sizeof status, stream));
    CUZK_TRY(decode_pieces(j, p, d_status));
    CUZK_TRY(gpu_copy_out(j->pin.p, d_status, sizeof status, stream));
    CUZK_TRY(gpu_lane_wait_sync(j->lane));
    memcpy(&status, j->pin.p, sizeof status);
    if (status == UINT64_MAX)
        return cuzk_ok();
    return gpu_key_bad_point(j->key, NULL, p->section, p->first + (status >> 8) - p->base, j->rc);
}

/* n encoded points of the stage, to the host and on. */
static cuzk_status write_stage(gpu_ev_job *j, uint64_t n)
{
    const uint8_t *d = gpu_ev_at(j, j->plan.at_stage);
    for (uint64_t at = 0; at < n;) {
        uint64_t len = min_u64(n - at, PIN_POINTS);
        CUZK_TRY(gpu_copy_out(j->pin.p, d + at * G1_UNCOMPRESSED_BYTES, len * G1_UNCOMPRESSED_BYTES,
                              gpu_lane_stream(j->lane)));
        CUZK_TRY(gpu_stream_wait_sync(gpu_lane_stream(j->lane)));
        CUZK_TRY(g16_evkey_out_write(&j->out, j->pin.p, len));
        CUZK_TRY(gpu_run_slice(j->run));
        at += len;
    }
    return cuzk_ok();
}

cuzk_status gpu_ev_emit(gpu_ev_job *j, uint64_t n)
{
    void *d = gpu_ev_at(j, j->plan.at_stage);
    gpu_points points = {.d_records = d, .d_bytes = d, .n = n};
    gpu_run_group(j->run, SPAN_ENCODE);
    CUZK_TRY(gpu_points_encode_g1(&points, j->run));
    gpu_run_group(j->run, NULL);
    CUZK_TRY(gpu_lane_wait_sync(j->lane));
    span_id s = span_begin(j->rc->spans, j->rc->parent, SPAN_KEY_WRITE);
    cuzk_status st = write_stage(j, n);
    span_note(j->rc->spans, s, -1, n * G1_UNCOMPRESSED_BYTES);
    span_end(j->rc->spans, s);
    return st;
}

static cuzk_status make_points(gpu_ev_job *j)
{
    const uint64_t m = (uint64_t)1 << j->c->lg_m;
    /* four transforms, and three products more a point */
    j->n_total = 2 * j->c->lg_m * m + 3 * m + j->c->n_inputs + j->c->n_aux;
    CUZK_TRY(gpu_ev_map(j));
    CUZK_TRY(gpu_ev_fold(j));
    return gpu_lane_wait_sync(j->lane);
}

/* ---- the job ---- */

static cuzk_status take_memory(gpu_ev_job *j, const gpu_ev_limits *max)
{
    CUZK_TRY(gpu_ev_plan_make(&j->plan, j->shape, max));
    CUZK_TRY(gpu_lane_create(&j->lane, j->ordinal, NULL));
    j->run = gpu_lane_run(j->lane);
    CUZK_TRY(gpu_mem_take(&j->mem, j->plan.bytes, "evaluation form"));
    CUZK_TRY(gpu_pin_take(&j->pin, GPU_MSM_PIN_BYTES, "evaluation form"));
    return gpu_feed_init(&j->feed, FEED_BYTES, gpu_lane_stream(j->lane));
}

static void give_memory(gpu_ev_job *j)
{
    span_id s = span_begin(j->rc->spans, j->rc->parent, SPAN_FREE);
    gpu_feed_fini(&j->feed);
    gpu_pin_return(&j->pin);
    gpu_mem_return(&j->mem);
    gpu_lane_destroy(j->lane);
    span_end(j->rc->spans, s);
}

/* The lane is open and the file, too. */
static cuzk_status make_file(gpu_ev_job *j, const char *path)
{
    CUZK_TRY(g16_evkey_out_create(&j->out, path, j->key, j->shape, j->rc));
    cuzk_status st = make_points(j);
    if (st.code == CUZK_OK)
        return g16_evkey_out_commit(&j->out);
    g16_evkey_out_abandon(&j->out);
    return st;
}

static cuzk_status run_job(gpu_ev_job *j, const char *path, const gpu_ev_limits *max)
{
    span_id s = span_begin(j->rc->spans, j->rc->parent, SPAN_ALLOC);
    cuzk_status st = take_memory(j, max);
    span_note(j->rc->spans, s, -1, j->plan.bytes);
    span_end(j->rc->spans, s);
    CUZK_TRY(st);
    CUZK_TRY(gpu_lane_open(j->lane, j->rc));
    st = make_file(j, path);
    gpu_lane_close(j->lane);
    return st;
}

cuzk_status gpu_evkey_file_within(const char *device, const char *path, const g16_key *k,
                                  const r1cs_shape *s, const gpu_ev_limits *max, const run_ctx *rc)
{
    gpu_device_info info;
    CUZK_TRY(g16_key_match(k, s));
    CUZK_TRY(gpu_device_find(&info, device));
    CUZK_TRY(gpu_ctx_enter(info.ordinal));
    span_id span = span_begin(rc->spans, rc->parent, SPAN_SETUP);
    run_ctx under = run_ctx_under(rc, span);
    gpu_ev_job j = {
        .key = k, .shape = s, .c = r1cs_shape_counts(s), .rc = &under, .ordinal = info.ordinal};
    cuzk_status st = run_job(&j, path, max);
    give_memory(&j);
    span_end(rc->spans, span);
    return st;
}

cuzk_status gpu_evkey_file(const char *device, const char *path, const g16_key *k,
                           const r1cs_shape *s, const run_ctx *rc)
{
    return gpu_evkey_file_within(device, path, k, s, NULL, rc);
}
