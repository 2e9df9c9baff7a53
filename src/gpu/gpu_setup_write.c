/* Pieces of a key are encoded where they are made and come to the host through pinned memory: the
 * disk is far slower than either. */
#include "gpu/gpu_setup_write.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/span_names.h"
#include "gpu/gpu_mem.h"
#include "gpu/gpu_msm_points.h"
#include "gpu/gpu_setup_emit.h"
#include "gpu/gpu_setup_steps.h"
#include "gpu/gpu_span.h"

typedef struct writer {
    const gpu_msm_ws *ws;
    const run_ctx *rc;
    gpu_lane *lane; /* may be NULL */
    g16_sink sink;
    uint32_t n[G16_N_SECTIONS];
    uint64_t written, total;
} writer;

static cuzk_status put(writer *w, const void *p, size_t n)
{
    if (run_cancelled(w->rc))
        return cuzk_fail(CUZK_E_CANCELLED, "set-up cancelled at byte %llu of %llu",
                         (unsigned long long)w->written, (unsigned long long)w->total);
    CUZK_TRY(w->sink.write(w->sink.ctx, p, n));
    w->written += n;
    run_progress(w->rc, "setup", (double)w->written / (double)w->total);
    return cuzk_ok();
}

static cuzk_status put_vk(void *ctx, const g16_vk *vk)
{
    size_t n = g16_vk_bytes(vk);
    uint8_t *b = mem_alloc(n, 64);
    if (!b)
        return cuzk_fail(CUZK_E_NOMEM, "%zu bytes of a verifying key", n);
    g16_vk_encode(b, vk);
    cuzk_status st = put(ctx, b, n);
    mem_free(b);
    return st;
}

/* n encoded bytes, to the host and on. */
static cuzk_status put_encoded(writer *w, const char *d_bytes, size_t n)
{
    for (size_t at = 0; at < n; at += GPU_MSM_PIN_BYTES) {
        size_t piece = n - at < GPU_MSM_PIN_BYTES ? n - at : GPU_MSM_PIN_BYTES;
        CUZK_TRY(gpu_setup_copy_out_sync(w->ws->pin, d_bytes + at, piece, w->ws->run));
        CUZK_TRY(put(w, w->ws->pin, piece));
    }
    return cuzk_ok();
}

static cuzk_status put_points(void *ctx, const gpu_setup_piece_out *p)
{
    writer *w = ctx;
    bool g2 = p->sec == G16_B_G2;
    gpu_points points = {p->d_records, p->d_records, 0, p->n, false};
    if (p->first == 0) {
        uint8_t count[4];
        store_be32(count, w->n[p->sec]);
        CUZK_TRY(put(w, count, sizeof count));
    }
    if (p->n == 0)
        return cuzk_ok();
    gpu_run_group(w->ws->run, SPAN_ENCODE);
    CUZK_TRY(g2 ? gpu_points_encode_g2(&points, w->ws->run)
                : gpu_points_encode_g1(&points, w->ws->run));
    gpu_run_group(w->ws->run, NULL);
    span_id span = span_begin(w->rc->spans, w->rc->parent, SPAN_KEY_WRITE);
    size_t bytes = p->n * (g2 ? G2_UNCOMPRESSED_BYTES : G1_UNCOMPRESSED_BYTES);
    cuzk_status st = put_encoded(w, p->d_records, bytes);
    span_note(w->rc->spans, span, -1, bytes);
    span_end(w->rc->spans, span);
    CUZK_TRY(st);
    /* Nothing is queued: a good moment to take the groups' times. */
    return w->lane ? gpu_lane_wait_sync(w->lane) : cuzk_ok();
}

cuzk_status gpu_setup_stream_bytes(size_t *bytes, const r1cs_shape *s)
{
    return gpu_setup_emit_bytes(bytes, s);
}

static cuzk_status stream(writer *w, const r1cs_shape *s, const g16_toxic *t)
{
    gpu_setup_sink points = {.ctx = w, .vk = put_vk, .points = put_points};
    w->total = g16_params_bytes(s);
    gpu_setup_counts(w->n, s, false);
    CUZK_TRY(gpu_setup_emit(&points, s, t, w->ws));
    CUZK_VERIFY(w->written == w->total);
    return cuzk_ok();
}

cuzk_status gpu_setup_stream(g16_sink sink, const r1cs_shape *s, const g16_toxic *t,
                             const gpu_msm_ws *ws, const run_ctx *rc)
{
    writer w = {.ws = ws, .rc = rc, .sink = sink};
    return stream(&w, s, t);
}

/* What gpu_setup_file takes while it runs. */
typedef struct file_setup {
    gpu_block scratch, pin;
    gpu_lane *lane;
    int ordinal;
} file_setup;

static void file_setup_fini(file_setup *f)
{
    gpu_lane_destroy(f->lane);
    gpu_mem_return(&f->scratch);
    gpu_pin_return(&f->pin);
}

static cuzk_status take_memory(file_setup *f, const r1cs_shape *s, const run_ctx *rc)
{
    span_id span = span_begin(rc->spans, rc->parent, SPAN_ALLOC);
    size_t bytes;
    cuzk_status st = gpu_setup_stream_bytes(&bytes, s);
    if (st.code == CUZK_OK)
        st = gpu_lane_create(&f->lane, f->ordinal, NULL);
    if (st.code == CUZK_OK)
        st = gpu_mem_take(&f->scratch, bytes, "set-up");
    if (st.code == CUZK_OK)
        st = gpu_pin_take(&f->pin, GPU_MSM_PIN_BYTES, "set-up");
    span_note(rc->spans, span, -1, bytes);
    span_end(rc->spans, span);
    return st;
}

static cuzk_status run_file_setup(file_setup *f, writer *w, const r1cs_shape *s, const g16_toxic *t)
{
    CUZK_TRY(take_memory(f, s, w->rc));
    CUZK_TRY(gpu_lane_open(f->lane, w->rc));
    gpu_msm_ws ws = {.d_ws = f->scratch.p,
                     .bytes = f->scratch.bytes,
                     .pin = f->pin.p,
                     .run = gpu_lane_run(f->lane)};
    w->ws = &ws;
    w->lane = f->lane;
    cuzk_status st = stream(w, s, t);
    if (st.code == CUZK_OK)
        st = gpu_lane_wait_sync(f->lane);
    gpu_lane_close(f->lane);
    return st;
}

static cuzk_status write_out(void *ctx, const void *p, size_t n)
{
    g16_out *o = ctx;
    g16_out_write(o, p, n);
    return o->st;
}

cuzk_status gpu_setup_file(const char *device, const char *path, const r1cs_shape *s,
                           const g16_toxic *t, const run_ctx *rc)
{
    gpu_device_info info;
    g16_out out;
    CUZK_TRY(gpu_device_find(&info, device));
    CUZK_TRY(gpu_ctx_enter(info.ordinal));
    CUZK_TRY(g16_out_create(&out, path, g16_params_bytes(s)));
    file_setup f = {.ordinal = info.ordinal};
    writer w = {.rc = rc, .sink = {&out, write_out}};
    cuzk_status st = run_file_setup(&f, &w, s, t);
    span_id span = span_begin(rc->spans, rc->parent, SPAN_FREE);
    file_setup_fini(&f);
    span_end(rc->spans, span);
    if (st.code == CUZK_OK)
        return g16_out_commit(&out);
    g16_out_abandon(&out);
    return st;
}
