/* The set-up for a key that does not stay in device memory. Private to the set-up. */
#ifndef GPU_SETUP_EMIT_H
#define GPU_SETUP_EMIT_H
#include "gpu/gpu_setup.h"

/* Points [first, first + n) of a section: g1_aff (g2_aff) records, to be used up. */
typedef struct gpu_setup_piece_out {
    g16_section sec;
    void *d_records;
    uint64_t first, n;
} gpu_setup_piece_out;

/* The verifying key comes first, then the sections in order, from first to last; an empty one as a
 * piece of no points. */
typedef struct gpu_setup_sink {
    void *ctx;
    cuzk_status (*vk)(void *ctx, const g16_vk *vk);
    cuzk_status (*points)(void *ctx, const gpu_setup_piece_out *p);
} gpu_setup_sink;

/* Workspace of gpu_setup_emit. Errors: CUZK_E_NOMEM, CUZK_E_UNSUPPORTED (too long a circuit),
 * CUZK_E_DEVICE. */
CUZK_MUST_CHECK cuzk_status gpu_setup_emit_bytes(size_t *bytes, const r1cs_shape *s);
/* As gpu_setup. Errors: also the sink's. */
CUZK_MUST_CHECK cuzk_status gpu_setup_emit(const gpu_setup_sink *sink, const r1cs_shape *s,
                                           const g16_toxic *t, const gpu_msm_ws *ws);
#endif
