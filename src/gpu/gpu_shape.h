/* A constraint system in device memory, as templates and instances: 130 million rows of a 32 GiB
 * PoRep are some megabytes. Rows are evaluated straight from the templates. */
#ifndef GPU_SHAPE_H
#define GPU_SHAPE_H
#ifdef __cplusplus
extern "C" {
#endif
#include "gpu/gpu_run.h"
#include "r1cs/shape.h"
#include <stdbool.h>

/* Immutable once made; the r1cs_shape must outlive it. */
typedef struct gpu_shape gpu_shape;

/* A witness in device memory (r1cs/witness.h): n_inputs fr, n_aux bits in 64-bit words, n_dense fr. */
typedef struct gpu_witness {
    const void *d_inputs;
    const void *d_bits;
    const void *d_dense;
} gpu_witness;

/* Lay the shape out for the device, in host memory. less_ones: without the 1 in A of the rows
 * (1 - x) x (r1cs_shape_boolean_rows), so that a is less u as keys in evaluation form want it
 * (groth16/evkey.h). Errors: CUZK_E_NOMEM; CUZK_E_UNSUPPORTED (more
 * than 2^28 rows, 2^30 variables or 2^16 terms in a row). Cost: 0.3 s and 53 MB for PoRep 32 GiB. */
CUZK_MUST_CHECK cuzk_status gpu_shape_create(gpu_shape **out, const r1cs_shape *s, bool less_ones);
void gpu_shape_destroy(gpu_shape *g); /* not the device memory */
/* The image gpu_shape_upload copies: host address (freed by gpu_shape_destroy) and bytes. */
const void *gpu_shape_image(const gpu_shape *g);
size_t gpu_shape_bytes(const gpu_shape *g);
/* The image was copied to d_mem (256-byte aligned, gpu_shape_bytes long), which outlives g. */
void gpu_shape_bind(gpu_shape *g, const void *d_mem);

/* a[brv(k)] = <A_k, w>, b[brv(k)] = <B_k, w> for all rows k, then the input rows, then zeros up to
 * 2^lg_m (as r1cs_eval, but in bit-reversed places, as gpu_quotient takes them), fr in Montgomery
 * form. Bound shapes only. Asynchronous. Errors: CUZK_E_RANGE (domain), CUZK_E_DEVICE.
 * Cost: 5.6 ms for PoRep 32 GiB, 29 ms for WindowPoSt 32 GiB on an H200. */
CUZK_MUST_CHECK cuzk_status gpu_shape_eval(const gpu_shape *g, void *d_a, void *d_b,
                                           const gpu_witness *w, uint32_t lg_m, const gpu_run *run);

/* Bits of a query (circuits.md A.7) in key order: compaction of the witness bits by a density map.
 * d_density: n_aux bits, NULL for all; d_rank: entries before each 64-bit word of it. n_skip zero
 * bits come first (the inputs of the A and B queries); dense entries are 0. d_mask: n_entries bits
 * in 64-bit words. Asynchronous. */
CUZK_MUST_CHECK cuzk_status gpu_query_mask(void *d_mask, size_t n_entries, uint32_t n_skip,
                                           const void *d_bits, uint64_t n_aux,
                                           const void *d_density, const uint32_t *d_rank,
                                           const gpu_run *run);
#ifdef __cplusplus
}
#endif
#endif
