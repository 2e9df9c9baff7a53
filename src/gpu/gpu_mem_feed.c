/* Two page-locked buffers in turn. */
#include "gpu/gpu_mem_feed.h"
#include "base/mem.h"
#include <string.h>

/* One thread's piece of a copy: long against its dispatch. */
#define PIECE ((size_t)1 << 20)

cuzk_status gpu_feed_init(gpu_feed *f, size_t buffer_bytes, gpu_stream *stream)
{
    *f = (gpu_feed){.stream = stream};
    for (int i = 0; i < 2; i++) {
        CUZK_TRY(gpu_pin_take(&f->pin[i], buffer_bytes, "transfer buffer"));
        CUZK_TRY(gpu_event_create(&f->sent[i], false));
    }
    return cuzk_ok();
}

void gpu_feed_fini(gpu_feed *f)
{
    for (int i = 0; i < 2; i++) {
        if (f->pin[i].p)
            mem_wipe(f->pin[i].p, f->pin[i].bytes);
        gpu_pin_return(&f->pin[i]);
        gpu_event_destroy(f->sent[i]);
    }
    *f = (gpu_feed){0};
}

cuzk_status gpu_feed_next(gpu_feed *f, void **pin)
{
    *pin = f->pin[f->turn].p;
    return gpu_event_wait_sync(f->sent[f->turn]); /* never recorded counts as done */
}

cuzk_status gpu_feed_send(gpu_feed *f, void *d_to, size_t n)
{
    unsigned i = f->turn;
    f->turn ^= 1;
    CUZK_TRY(gpu_copy_in(d_to, f->pin[i].p, n, f->stream));
    return gpu_event_record(f->sent[i], f->stream);
}

typedef struct read_job {
    uint8_t *to;
    const uint8_t *from;
    size_t n;
} read_job;

static void read_piece(void *ctx, size_t piece, unsigned thread)
{
    (void)thread;
    const read_job *j = ctx;
    size_t at = piece * PIECE;
    memcpy(j->to + at, j->from + at, j->n - at < PIECE ? j->n - at : PIECE);
}

void gpu_feed_read(void *pin, const void *from, size_t n, const run_ctx *rc)
{
    read_job j = {pin, from, n};
    pool_for(rc->pool, (n + PIECE - 1) / PIECE, read_piece, &j);
}

cuzk_status gpu_feed_copy(gpu_feed *f, void *d_to, const void *from, size_t n, const run_ctx *rc)
{
    for (size_t at = 0; at < n;) {
        void *pin;
        size_t len = n - at < f->pin[0].bytes ? n - at : f->pin[0].bytes;
        CUZK_TRY(gpu_feed_next(f, &pin));
        gpu_feed_read(pin, (const uint8_t *)from + at, len, rc);
        CUZK_TRY(gpu_feed_send(f, (uint8_t *)d_to + at, len));
        at += len;
    }
    return cuzk_ok();
}
