/* The device memory of one circuit, computed before any of it is taken.
 *
 * Resident as long as the circuit is loaded: key sections, the shape's image, and how the key's
 * queries read a witness. Shared by all circuits of a backend: the transform table, of the
 * largest domain, and the work area, of the largest need, which holds one batch:
 *
 *   bits | masks of A | masks of B | field values |  sums: tail scalars, workspace
 *                                                 |  then h: a, [b, c] or [workspace]
 *
 * The two phases do not overlap, nor do transforms and the sum of h, so they share memory. */
#ifndef GPU_BACKEND_PLAN_H
#define GPU_BACKEND_PLAN_H
#include "gpu/gpu_device.h"
#include "groth16/backend_parts.h"
#include <stddef.h>

/* Work areas up to this size also get a place in the urgent area, so that a small proof can run in
 * the middle of a large one. WinningPoSt of 32 GiB sectors needs about 1 GiB. */
#define GPU_URGENT_MAX ((uint64_t)2 << 30)

/* Left to the driver: local memory of kernels, modules. */
#define GPU_RESERVE_BYTES ((uint64_t)768 << 20)

typedef struct gpu_plan {
    uint32_t lg_m;
    uint64_t m;
    uint64_t n_aux, n_dense, n_inputs;
    bool is_evaluation;             /* sections h and l are in evaluation form (groth16/evkey.h) */
    uint64_t n[G16_N_SECTIONS];     /* points; of l in evaluation form: aux, then inputs */
    uint64_t n_masked[N_QUERIES];   /* of them, from the first on: have a place in masks; 0 when no
                                       value is a bit */
    uint64_t n_tail[N_QUERIES];     /* of them multiplied, not masked */
    unsigned tail_batch[N_QUERIES]; /* proofs whose tails are summed in one call */
    unsigned n_slots;               /* proofs whose witnesses are resident at once */
    /* resident */
    size_t section_bytes[G16_N_SECTIONS], image_bytes, index_bytes;
    size_t resident_bytes;
    /* shared */
    uint32_t ntt_lg; /* of the table: a plain key's coset needs twice the domain */
    size_t ntt_bytes, work_bytes;
    /* offsets in the work area, 256-byte aligned; sizes of its workspaces */
    size_t mask_at[N_QUERIES], mask_bytes[N_QUERIES]; /* per proof; L's are the bits themselves */
    size_t values_at, value_bytes;                    /* per proof: dense, then inputs */
    size_t scalars_at, sum_ws_at, sum_ws_bytes;
    size_t a_at, b_at, c_at, h_ws_bytes; /* h's workspace begins at b */
    size_t setup_bytes;                  /* scratch to make a development key, 0 when not wanted */
} gpu_plan;

typedef struct gpu_plan_in {
    const r1cs_shape *shape;
    const g16_query *query; /* N_QUERIES */
    size_t image_bytes;     /* gpu_shape_bytes */
    bool development;       /* the key is made on the device */
    bool is_evaluation;     /* the key's evaluation form is used */
    unsigned n_slots_max;   /* 0: as many as pay */
} gpu_plan_in;

/* What a backend may use, and has. */
typedef struct gpu_plan_room {
    uint64_t limit_bytes;    /* for all below and the new circuit */
    uint64_t resident_bytes; /* other circuits */
    uint64_t ntt_bytes, work_bytes, urgent_bytes;
    uint64_t free_bytes, total_bytes; /* for the message */
} gpu_plan_room;

/* Errors: CUZK_E_NOMEM (needed, free and total bytes), CUZK_E_UNSUPPORTED (domain), CUZK_E_DEVICE
 * (the device does not answer). */
CUZK_MUST_CHECK cuzk_status gpu_plan_make(gpu_plan *p, const gpu_plan_in *in,
                                          const gpu_plan_room *room);
/* ops->plan of a backend on d that may use limit_bytes (0: all): no more than what gpu_plan_make
 * would need, without a shape and without the device. */
void gpu_plan_bound(uint64_t *need, uint64_t *available, const g16_key_info *k,
                    const gpu_device_info *d, uint64_t limit_bytes);
/* As lines of text: name, MiB. */
void gpu_plan_print(char *buf, size_t len, const gpu_plan *p);
/* Layout of the index block: density bitmap and ranks of A and B, tail positions and sources. */
typedef struct gpu_index_layout {
    size_t density[N_QUERIES], rank[N_QUERIES], position[N_QUERIES], source[N_QUERIES], bytes;
} gpu_index_layout;
gpu_index_layout gpu_plan_index(const gpu_plan *p);
static inline size_t gpu_align(size_t n) { return (n + 255) & ~(size_t)255; }
#endif
