/* Key points between their file form (uncompressed, big-endian, ZCash encoding: circuits.md A.7;
 * twins of the codecs in src/ec) and the records gpu_msm.h reads. Asynchronous. */
#ifndef GPU_MSM_POINTS_H
#define GPU_MSM_POINTS_H
#include "base/status.h"
#include "gpu/gpu_run.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef enum gpu_points_check {
    GPU_POINTS_RANGE,   /* flags, coordinates below p; infinity and (0, 0) are refused */
    GPU_POINTS_CURVE,   /* and the curve's equation */
    GPU_POINTS_SUBGROUP /* and the order */
} gpu_points_check;

/* A piece of an array: n points from number first_index on. d_records and d_bytes name the piece
 * itself, 16-byte aligned; one address for both is allowed. Records are 96 (192) bytes as a point
 * in a file is. prepared: as gpu_msm_prepare_bases leaves them, else g1_aff (g2_aff). */
typedef struct gpu_points {
    void *d_records;
    void *d_bytes;
    size_t first_index, n;
    bool prepared;
} gpu_points;

/* Bytes to records. *d_status, 8-byte aligned in device memory, gathers the lowest bad point of
 * any number of calls: fill it with ones before the first, copy it to the host after the last and
 * ask gpu_points_verdict. The record of a bad point is an infinity. */
CUZK_MUST_CHECK cuzk_status gpu_points_decode_g1(const gpu_points *p, gpu_points_check check,
                                                 uint64_t *d_status, const gpu_run *run);
CUZK_MUST_CHECK cuzk_status gpu_points_decode_g2(const gpu_points *p, gpu_points_check check,
                                                 uint64_t *d_status, const gpu_run *run);
/* CUZK_OK, or CUZK_E_INPUT with number and fault of the lowest bad point. */
CUZK_MUST_CHECK cuzk_status gpu_points_verdict(uint64_t status);

/* Prepared G1 records to the places with the lg_n bits of their numbers reversed, in place. */
CUZK_MUST_CHECK cuzk_status gpu_points_bit_reverse(void *d_bases, uint32_t lg_n,
                                                   const gpu_run *run);

/* Records to bytes. */
CUZK_MUST_CHECK cuzk_status gpu_points_encode_g1(const gpu_points *p, const gpu_run *run);
CUZK_MUST_CHECK cuzk_status gpu_points_encode_g2(const gpu_points *p, const gpu_run *run);
#ifdef __cplusplus
}
#endif
#endif
