/* The points of a key, piece by piece, at the pace of others that read the same file
 * (gpu_read_group.h). */
#ifndef GPU_READ_H
#define GPU_READ_H
#include "gpu/gpu_read_group.h"
#include "groth16/key.h"

/* Points [first, first + n) of a section, in file form in the key's mapping. */
typedef struct gpu_read_piece {
    g16_section section;
    uint64_t first, n;
    const uint8_t *bytes;
    size_t n_bytes;
} gpu_read_piece;

typedef struct gpu_read_in {
    const g16_key *key;
    size_t piece_bytes;    /* at most that much at a time; at least one point of G2 */
    gpu_read_group *group; /* NULL: alone, as is a key in memory */
    const run_ctx *rc;     /* progress is told as SPAN_LOAD */
} gpu_read_in;

/* Every point once, in the order of the file from some place in it on, then what lies before that
 * place. take: what it returns, if not OK, ends the reading.
 * Blocks: on the disk; on others as gpu_reader_pace. Errors: CUZK_E_CANCELLED; take's. */
CUZK_MUST_CHECK cuzk_status gpu_read_points(const gpu_read_in *in,
                                            cuzk_status (*take)(void *ctx, const gpu_read_piece *p),
                                            void *ctx);
#endif
