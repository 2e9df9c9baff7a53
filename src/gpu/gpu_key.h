/* A circuit in device memory: its key's points, its shape, and how the key's queries read a
 * witness. */
#ifndef GPU_KEY_H
#define GPU_KEY_H
#include "gpu/gpu_backend_plan.h"
#include "gpu/gpu_mem_feed.h"
#include "gpu/gpu_msm.h"
#include "gpu/gpu_ntt.h"
#include "gpu/gpu_setup.h"
#include "gpu/gpu_shape.h"
#include "gpu/gpu_span.h"
#include "groth16/evkey.h"

/* {0} before gpu_key_take; immutable once loaded. */
typedef struct gpu_key {
    gpu_block section[G16_N_SECTIONS]; /* as gpu_msm_prepare_bases leaves points */
    gpu_block image, index;
    gpu_index_layout at; /* in index */
} gpu_key;

/* What loading works with. */
typedef struct gpu_key_in {
    const gpu_plan *plan;
    const g16_query *query; /* N_QUERIES */
    const r1cs_shape *shape;
    gpu_shape *image;
    gpu_lane *lane;           /* open */
    gpu_feed *feed;           /* on the lane's stream */
    const gpu_ntt_table *ntt; /* of the plan's size; to make a development key */
    const run_ctx *rc;
} gpu_key_in;

/* All memory of the plan's resident part. Errors: CUZK_E_NOMEM, CUZK_E_DEVICE; nothing is then
 * held. */
CUZK_MUST_CHECK cuzk_status gpu_key_take(gpu_key *k, const gpu_plan *p);
void gpu_key_return(gpu_key *k);
/* Everything but the points. Blocks. */
CUZK_MUST_CHECK cuzk_status gpu_key_load_index(gpu_key *k, const gpu_key_in *in);
/* The points of a key file, decoded on the device while the next ones are read, together with other
 * devices that read the same file (gpu_read_group.h). ev: NULL, or the evaluation form that the plan
 * is for. A bad point gives the message g16_key_g1 (g16_key_g2, g16_evkey_points) has for it. Blocks. */
CUZK_MUST_CHECK cuzk_status gpu_key_load_points(gpu_key *k, const gpu_key_in *in,
                                                const g16_key *from, const g16_evkey *ev);
/* What is wrong with a point that the device refuses, of ev for its sections unless that is NULL: the
 * host decodes it again, for its message. */
CUZK_MUST_CHECK cuzk_status gpu_key_bad_point(const g16_key *from, const g16_evkey *ev,
                                              g16_section s, uint64_t index, const run_ctx *rc);
/* The points of a development key, made in place. vk: give back with g16_vk_fini. Blocks. */
CUZK_MUST_CHECK cuzk_status gpu_key_make_points(gpu_key *k, g16_vk *vk, const gpu_key_in *in,
                                                const g16_toxic *t, const gpu_msm_ws *ws);
static inline const void *gpu_key_at(const gpu_key *k, size_t offset)
{
    return (const uint8_t *)k->index.p + offset;
}
#endif
