/* Between a process and the device process it started: messages over a socket pair, and memory that
 * both see at one address. Both sides are one program image, so pointers to constants (span names)
 * mean the same in both. */
#ifndef GPU_BACKEND_WIRE_H
#define GPU_BACKEND_WIRE_H
#include "base/run_ctx.h"
#include "base/status.h"
#include "gpu/gpu_backend.h"

typedef enum gpu_msg_kind {
    /* to the device process */
    GPU_MSG_LOAD,   /* p: gpu_wire_circuit */
    GPU_MSG_UNLOAD, /* p: the same */
    GPU_MSG_PROVE,  /* p: gpu_wire_batch */
    GPU_MSG_GO_ON,  /* answers POLL, CLAIM (yes: cancelled, claimed) and READY (n: g16_ready) */
    /* from it */
    GPU_MSG_DONE,     /* a command's status */
    GPU_MSG_POLL,     /* between slices: yield, then tell about cancel */
    GPU_MSG_CLAIM,    /* n: proof; may it be made? */
    GPU_MSG_READY,    /* n: proof; is its witness in shared memory? */
    GPU_MSG_PROOF,    /* n: proof that is there */
    GPU_MSG_PROGRESS, /* p: stage, x: fraction */
    GPU_MSG_SPAN      /* span */
} gpu_msg_kind;

typedef struct gpu_msg {
    gpu_msg_kind kind;
    bool yes;
    uint64_t n;
    double x;
    const void *p;
    g16_cuda_memory memory; /* with DONE */
    span_view span;
    cuzk_status st;
} gpu_msg;

/* A circuit as the device process needs it, in shared memory. */
typedef struct gpu_wire_circuit {
    const r1cs_shape *shape; /* r1cs_shape_copy */
    const char *key_path;    /* a key file, or */
    const uint8_t *key;      /* its bytes, or neither: a development key from toxic */
    size_t key_len;
    /* what the starting process saw in the file */
    g16_key_info info;
    const uint8_t *vk_bytes; /* g16_vk_encode */
    size_t vk_len;
    g16_toxic toxic;
    /* filled by the device process */
    char plan[2048];
    g16_vk vk;    /* development; its ic is the array behind */
    void *handle; /* NULL: not loaded */
    g16_key *opened;
    g1_aff ic[];
} gpu_wire_circuit;

typedef struct gpu_wire_batch {
    const gpu_wire_circuit *circuit;
    size_t n;
    bool spans, claim;
    bool ready; /* witnesses come one by one: READY asks for them */
    g16_timings timings;
    witness *w; /* n; values in shared memory; without counts: not there yet */
    g16_blinding *rs;
    g16_proof *out;
    int32_t *partition;
} gpu_wire_batch;

/* False: the other side is gone, or said nothing for as long as the socket's limit. */
bool gpu_msg_send(int fd, const gpu_msg *m);
bool gpu_msg_receive(int fd, gpu_msg *m);

/* Memory seen by both sides, given out and taken back by the starting process only. */
typedef struct gpu_shared gpu_shared;
CUZK_MUST_CHECK cuzk_status gpu_shared_create(gpu_shared **out);
void gpu_shared_destroy(gpu_shared *s);
void *gpu_shared_alloc(gpu_shared *s, size_t bytes); /* 4096-byte aligned, zeroed; NULL: no room */
void gpu_shared_free(gpu_shared *s, void *p);        /* cleared; NULL is allowed */
/* Zero whole blocks by giving their pages back. */
void gpu_shared_clear(void *p, size_t bytes);

/* Where a circuit's batches lie: address space kept from batch to batch, and cleared after each. */
typedef struct gpu_batch_room {
    gpu_shared *shared;
    void *block;
    size_t bytes;
} gpu_batch_room;
/* Copy a batch, under rc's cancel and yield; without the witnesses when batch->ready says that they
 * come one by one. Errors: CUZK_E_INPUT (a witness of another shape), CUZK_E_NOMEM,
 * CUZK_E_CANCELLED. Whatever it returns, gpu_batch_clear afterwards. */
CUZK_MUST_CHECK cuzk_status gpu_batch_share(gpu_wire_batch **out, gpu_batch_room *room,
                                            const gpu_wire_circuit *circuit, const g16_batch *batch,
                                            const run_ctx *rc);
/* Is witness k in shared memory? Copies it first when it is there otherwise; one of another shape
 * comes without its values, for the device process to refuse. LATER also when cancelled meanwhile. */
g16_ready gpu_batch_bring(gpu_wire_batch *b, const g16_batch *batch, size_t k, const run_ctx *rc);
/* The next witness that is there, while the device is busy with others: ahead of the question for it.
 * Only one whose copy takes less than a slice of the device's. */
void gpu_batch_bring_ahead(gpu_wire_batch *b, const g16_batch *batch, const run_ctx *rc);
/* It holds witnesses and blinding values: secrets. */
void gpu_batch_clear(const gpu_batch_room *room);

/* The device process: serves fd until the other side is gone; never returns. */
_Noreturn void gpu_worker_run(int fd, const g16_cuda_config *cfg);
/* The backend in this process; after CUZK_E_DEVICE_LOST it stays lost. */
CUZK_MUST_CHECK cuzk_status gpu_direct_create(g16_backend **out, const g16_cuda_config *cfg);
CUZK_MUST_CHECK cuzk_status gpu_direct_load_development(g16_backend *b, const r1cs_shape *s,
                                                        const g16_toxic *t, g16_vk *vk_out,
                                                        const run_ctx *rc, void **handle);
void gpu_direct_describe_plan(const void *handle, char *buf, size_t len);
const gpu_device_info *gpu_direct_device(const g16_backend *b);
g16_cuda_memory gpu_direct_memory(void);
/* The first message of the device process has its device, behind the status. */
typedef struct gpu_hello {
    cuzk_status st;
    gpu_device_info device;
} gpu_hello;
#endif
