/* The points of a key's files, piece by piece, at the pace of others that read the same file
 * (gpu_read_group.h). */
#ifndef GPU_READ_H
#define GPU_READ_H
#include "gpu/gpu_read_group.h"
#include "groth16/evkey.h"

/* A section's points as a mapped file has them, 96 bytes each, 192 of section b_g2. */
typedef struct gpu_read_part {
    g16_section section;
    uint64_t n;
    const uint8_t *bytes;
} gpu_read_part;

/* What is read of a file: borrowed from a key. */
typedef struct gpu_read_file {
    const char *path; /* NULL: a key in memory, which is read alone */
    const uint8_t *map;
    uint64_t file_bytes;
    unsigned n_parts;
    gpu_read_part parts[G16_N_SECTIONS];
} gpu_read_file;

/* All sections of a key file, or those that its evaluation form does not replace. */
gpu_read_file gpu_read_file_of_key(const g16_key *k, bool is_evaluation);
/* Sections h and l (of aux) of an evaluation form. path: of its file. */
gpu_read_file gpu_read_file_of_evkey(const g16_evkey *e, const char *path);
uint64_t gpu_read_file_points_bytes(const gpu_read_file *f);

/* Points [first, first + n) of a section, in file form in the file's mapping. */
typedef struct gpu_read_piece {
    g16_section section;
    uint64_t first, n;
    const uint8_t *bytes;
    size_t n_bytes;
} gpu_read_piece;

typedef struct gpu_read_in {
    const gpu_read_file *file;
    size_t piece_bytes;    /* at most that much at a time; at least one point of G2 */
    gpu_read_group *group; /* NULL: alone, as is a key in memory */
    uint64_t before, all;  /* progress is told as SPAN_LOAD: bytes of other files before this one's,
                              and of all; all 0: this one's alone */
    const run_ctx *rc;
} gpu_read_in;

/* Every point once, in the order of the file from some place in it on, then what lies before that
 * place. take: what it returns, if not OK, ends the reading.
 * Blocks: on the disk; on others as gpu_reader_pace. Errors: CUZK_E_CANCELLED; take's. */
CUZK_MUST_CHECK cuzk_status gpu_read_points(const gpu_read_in *in,
                                            cuzk_status (*take)(void *ctx, const gpu_read_piece *p),
                                            void *ctx);
#endif
