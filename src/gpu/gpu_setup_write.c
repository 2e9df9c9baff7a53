/* Encode a chunk on the device, then take it to the host through pinned memory, piece by piece: the
 * disk is far slower than either. */
#include "gpu/gpu_setup_write.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/span_names.h"
#include "gpu/gpu_msm_points.h"
#include "gpu/gpu_setup_steps.h"

#define CHUNK_BYTES ((size_t)1 << 26)

typedef struct writer {
    const gpu_msm_ws *ws;
    const run_ctx *rc;
    g16_sink sink;
    uint64_t written, total;
} writer;

static cuzk_status put(writer *w, const void *p, size_t n)
{
    if (run_cancelled(w->rc))
        return cuzk_fail(CUZK_E_CANCELLED, "writing a key cancelled at byte %llu",
                         (unsigned long long)w->written);
    CUZK_TRY(w->sink.write(w->sink.ctx, p, n));
    w->written += n;
    run_progress(w->rc, "write", (double)w->written / (double)w->total);
    return cuzk_ok();
}

static cuzk_status put_vk(writer *w, const g16_vk *vk)
{
    size_t n = g16_vk_bytes(vk);
    uint8_t *b = mem_alloc(n, 64);
    if (!b)
        return cuzk_fail(CUZK_E_NOMEM, "%zu bytes of a verifying key", n);
    g16_vk_encode(b, vk);
    cuzk_status st = put(w, b, n);
    mem_free(b);
    return st;
}

/* n points that lie at d_records. */
static cuzk_status put_chunk(writer *w, void *d_records, size_t n, bool g2)
{
    const gpu_run *run = w->ws->run;
    size_t bytes = n * (g2 ? G2_UNCOMPRESSED_BYTES : G1_UNCOMPRESSED_BYTES);
    gpu_points p = {d_records, w->ws->d_ws, 0, n, false};
    CUZK_TRY(g2 ? gpu_points_encode_g2(&p, run) : gpu_points_encode_g1(&p, run));
    for (size_t at = 0; at < bytes; at += GPU_MSM_PIN_BYTES) {
        size_t piece = bytes - at < GPU_MSM_PIN_BYTES ? bytes - at : GPU_MSM_PIN_BYTES;
        CUZK_TRY(gpu_setup_copy_out_sync(w->ws->pin, (char *)w->ws->d_ws + at, piece, run));
        CUZK_TRY(put(w, w->ws->pin, piece));
    }
    return gpu_run_slice(run);
}

static cuzk_status put_section(writer *w, void *d_records, uint32_t n, bool g2)
{
    size_t rec = g2 ? sizeof(g2_aff) : sizeof(g1_aff), max = CHUNK_BYTES / rec;
    uint8_t count[4];
    store_be32(count, n);
    CUZK_TRY(put(w, count, sizeof count));
    for (size_t at = 0; at < n; at += max)
        CUZK_TRY(put_chunk(w, (char *)d_records + at * rec, n - at < max ? n - at : max, g2));
    return cuzk_ok();
}

static uint64_t file_bytes(const gpu_key_mem *mem, const g16_vk *vk)
{
    uint64_t n = g16_vk_bytes(vk);
    for (int i = 0; i < G16_N_SECTIONS; i++)
        n += 4 +
             (uint64_t)mem->n[i] * (i == G16_B_G2 ? G2_UNCOMPRESSED_BYTES : G1_UNCOMPRESSED_BYTES);
    return n;
}

cuzk_status gpu_setup_stream(const gpu_key_mem *mem, const g16_vk *vk, g16_sink sink,
                             const gpu_msm_ws *ws, const run_ctx *rc)
{
    writer w = {.ws = ws, .rc = rc, .sink = sink, .total = file_bytes(mem, vk)};
    if (ws->bytes < CHUNK_BYTES)
        return cuzk_fail(CUZK_E_RANGE, "writing a key in a workspace of %zu bytes, want %zu",
                         ws->bytes, CHUNK_BYTES);
    CUZK_TRY(put_vk(&w, vk));
    for (int i = 0; i < G16_N_SECTIONS; i++)
        CUZK_TRY(put_section(&w, mem->d[i], mem->n[i], i == G16_B_G2));
    CUZK_VERIFY(w.written == w.total);
    return cuzk_ok();
}

static cuzk_status write_out(void *ctx, const void *p, size_t n)
{
    g16_out *o = ctx;
    g16_out_write(o, p, n);
    return o->st;
}

cuzk_status gpu_setup_write(const gpu_key_mem *mem, const g16_vk *vk, const char *path,
                            const gpu_msm_ws *ws, const run_ctx *rc)
{
    g16_out out;
    CUZK_TRY(g16_out_create(&out, path, file_bytes(mem, vk)));
    span_id span = span_begin(rc->spans, rc->parent, SPAN_KEY_WRITE);
    span_note(rc->spans, span, -1, out.want_len);
    cuzk_status st = gpu_setup_stream(mem, vk, (g16_sink){.ctx = &out, .write = write_out}, ws, rc);
    if (st.code == CUZK_OK)
        st = g16_out_commit(&out);
    else
        g16_out_abandon(&out);
    span_end(rc->spans, span);
    return st;
}
