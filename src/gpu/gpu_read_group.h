/* Who reads which key file at the moment: devices that read the same file go through it together, so
 * that its pages come from the disk once and are still in the page cache for all of them.
 *
 * Only the pace is shared. Each device reads, checks and uploads for itself, in its own process: one
 * that dies, stops or reads something else costs the others at most some waiting, never their key.
 *
 * A file is a ring of total bytes. Whoever joins starts where the last of the others is, unless that
 * one has just begun, and reads what it missed at the end. A reader waits before it gets more than
 * the window ahead of another that is close behind it, but not for one that stands still, nor in all
 * longer than it reads.
 *
 * Threads, processes: locked; the group lies in memory shared with processes forked later. */
#ifndef GPU_READ_GROUP_H
#define GPU_READ_GROUP_H
#include "base/run_ctx.h"
#include "base/status.h"

typedef struct gpu_read_limits {
    uint64_t window_bytes; /* a reader is at most that far ahead; what the page cache has to keep */
    uint64_t stall_ns;     /* one without progress for that long is left behind */
    uint64_t grace_ns;     /* waiting in all: that, and as long as the reader has been reading */
} gpu_read_limits;

typedef struct gpu_read_group gpu_read_group;
/* limits NULL: as measured. Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status gpu_read_group_create(gpu_read_group **out,
                                                  const gpu_read_limits *limits);
/* Of processes that share it, each destroys its own view. */
void gpu_read_group_destroy(gpu_read_group *g);
/* The one of this process and the device processes it forks from then on; NULL when there is no
 * memory for it: everybody reads alone then. */
gpu_read_group *gpu_read_group_here(void);

/* One reader's place. {0} reads alone. */
typedef struct gpu_reader {
    gpu_read_group *group;
    unsigned slot;
    uint64_t owner; /* of the slot; 0: alone */
    uint64_t total, at, left;
    uint64_t start_ns, waited_ns;
} gpu_reader;

/* Begin to read a file of total bytes; file: any number that stands for it. r->at says where. */
void gpu_reader_join(gpu_reader *r, gpu_read_group *g, uint64_t file, uint64_t total);
/* Wait until n more bytes keep the pace. Blocks: as the limits say. Errors: CUZK_E_CANCELLED. */
CUZK_MUST_CHECK cuzk_status gpu_reader_pace(gpu_reader *r, uint64_t n, const run_ctx *rc);
/* n bytes were read, up to the end of the ring at most. */
void gpu_reader_step(gpu_reader *r, uint64_t n);
void gpu_reader_leave(gpu_reader *r); /* also in the middle */

/* Tests: bytes that were the first of their place, and bytes close behind another reader. */
typedef struct gpu_read_counts {
    uint64_t first_bytes, shared_bytes;
} gpu_read_counts;
gpu_read_counts gpu_read_group_counts(gpu_read_group *g);
#endif
