/* The CUDA backend's state, shared by gpu_backend.c (table of functions, describe),
 * gpu_backend_area.c (who works where), gpu_backend_load.c (load, unload) and
 * gpu_backend_prove.c. */
#ifndef GPU_BACKEND_INT_H
#define GPU_BACKEND_INT_H
#include "gpu/gpu_backend.h"
#include "gpu/gpu_key.h"
#include "groth16/evkey.h"
#include <pthread.h>

typedef enum gpu_area_id { GPU_AREA_MAIN, GPU_AREA_URGENT, GPU_N_AREAS } gpu_area_id;

/* What one proof (or load) works with. `mem` is the area's part of the plan; the rest is made with
 * the backend. */
typedef struct gpu_area {
    gpu_block mem, pin; /* pin: results of sums */
    gpu_lane *lane;
    gpu_feed feed;
    gpu_stream *up; /* witnesses go up on it, beside the lane's work */
    gpu_event *up_done;
    /* guarded by gpu_backend.lock */
    bool busy;
    pthread_t holder; /* while busy */
} gpu_area;

typedef struct gpu_handle gpu_handle;
struct gpu_handle {
    gpu_handle *next; /* guarded by gpu_backend.lock */
    const r1cs_shape *shape;
    const g16_key *key; /* NULL: a development key */
    bool is_evaluation; /* sections h and l in evaluation form */
    g16_evkey *ev;      /* the file that has it; NULL: none, or a development key */
    g16_toxic toxic;    /* of a development key; wiped */
    g16_vk own_vk;      /* of a development key */
    g16_query query[N_QUERIES];
    gpu_shape *image;
    gpu_plan plan;
    gpu_key dev;
    bool busy; /* in prove; guarded by gpu_backend.lock */
};

typedef struct gpu_backend {
    g16_backend base;
    gpu_device_info device;
    g16_cuda_config cfg; /* without the device's name */
    pthread_mutex_t
        lock;            /* guards handles, each area's and handle's busy; taken for moments only */
    pthread_cond_t idle; /* an area or handle was given back */
    pthread_mutex_t load_lock; /* one load or unload at a time; taken before lock */
    gpu_handle *handles;
    gpu_area area[GPU_N_AREAS];
    /* Written while both areas are held. */
    gpu_block ntt_mem;
    gpu_ntt_table ntt;
    /* The context is dead, and with it this process's use of the device: set by whoever sees it.
     * Read without lock: a lane that misses it once sees its own call fail. */
    volatile bool lost;
} gpu_backend;

/* Below: gpu_backend_area.c. Lanes, buffers; no work memory yet. */
CUZK_MUST_CHECK cuzk_status gpu_areas_make(gpu_backend *b);
void gpu_areas_destroy(gpu_backend *b);
/* The area's holder. Wipe its work memory and give it back. */
void gpu_area_drop_mem(gpu_area *a);
/* Borrow an area with at least bytes of work memory: the main one, or, when that is taken and they
 * suffice, the urgent one. Waits for other threads' proofs, not for one further up this thread's
 * stack (a call from inside yield): that is CUZK_E_USAGE. Errors: CUZK_E_CANCELLED too. */
CUZK_MUST_CHECK cuzk_status gpu_area_take(gpu_area **out, gpu_backend *b, uint64_t bytes,
                                          const run_ctx *rc);
void gpu_area_return(gpu_backend *b, const gpu_area *a);
/* Certain areas, as bits 1 << id, whatever their size. */
#define GPU_AREAS_ALL ((1u << GPU_N_AREAS) - 1)
CUZK_MUST_CHECK cuzk_status gpu_area_take_these(gpu_backend *b, unsigned areas, const run_ctx *rc);
void gpu_area_return_these(gpu_backend *b, unsigned areas);

/* Below: gpu_backend_load.c. */
CUZK_MUST_CHECK cuzk_status gpu_load(gpu_backend *b, gpu_handle *h, const run_ctx *rc);
void gpu_unload(gpu_backend *b, gpu_handle *h);
/* Note a failure that ended the context; returns st. */
cuzk_status gpu_note_lost(gpu_backend *b, cuzk_status st);

/* Below: gpu_backend_prove.c. */
CUZK_MUST_CHECK cuzk_status gpu_prove(gpu_backend *b, gpu_handle *h, const g16_batch *batch,
                                      g16_timings *t, const run_ctx *rc);
#endif
