/* Host memory to the device at the speed of the bus: through two page-locked buffers, one filled
 * while the other is sent.
 * Threads: confined. */
#ifndef GPU_MEM_FEED_H
#define GPU_MEM_FEED_H
#include "base/run_ctx.h"
#include "gpu/gpu_device.h"
#include "gpu/gpu_mem.h"

typedef struct gpu_feed {
    gpu_block pin[2];
    gpu_event *sent[2];
    unsigned turn;
    gpu_stream *stream; /* borrowed */
} gpu_feed;

/* {0} before. Errors: CUZK_E_NOMEM, CUZK_E_DEVICE. */
CUZK_MUST_CHECK cuzk_status gpu_feed_init(gpu_feed *f, size_t buffer_bytes, gpu_stream *stream);
/* The stream is empty. What the buffers held is wiped. */
void gpu_feed_fini(gpu_feed *f);
/* The next buffer of f->pin[0].bytes, free to be written. Blocks until its last content is sent. */
CUZK_MUST_CHECK cuzk_status gpu_feed_next(gpu_feed *f, void **pin);
/* Send the first n bytes of that buffer. Asynchronous. */
CUZK_MUST_CHECK cuzk_status gpu_feed_send(gpu_feed *f, void *d_to, size_t n);
/* n bytes from ordinary memory, copied by the threads of rc->pool. Returns when the last piece is on
 * its way: from may change then. */
CUZK_MUST_CHECK cuzk_status gpu_feed_copy(gpu_feed *f, void *d_to, const void *from, size_t n,
                                          const run_ctx *rc);
/* The same, to one buffer that the caller sends. */
void gpu_feed_read(void *pin, const void *from, size_t n, const run_ctx *rc);
#endif
