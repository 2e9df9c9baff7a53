/* Jobs as the outside sees them: requests, states, views. No wire type and no backend appears
 * here. */
#ifndef ENGINE_JOB_H
#define ENGINE_JOB_H
#include "base/status.h"
#include "circuit/proof_task.h"

#define JOB_ID_MAX 320u         /* with the final 0 */
#define JOB_REQUEST_ID_MAX 256u /* with the final 0 */
#define JOB_ERROR_MAX 512u
#define JOB_PARTITIONS_MAX 256u /* NI-PoRep has 126 */

typedef enum job_priority {
    JOB_LOW,
    JOB_NORMAL,
    JOB_HIGH,
    JOB_CRITICAL,
    JOB_N_PRIORITIES
} job_priority;

/* queued, decoding, proving, verifying are live; the rest is final. */
typedef enum job_state {
    JOB_QUEUED,
    JOB_DECODING,
    JOB_PROVING,
    JOB_VERIFYING,
    JOB_DONE,
    JOB_FAILED,
    JOB_CANCELLED,
    JOB_N_STATES
} job_state;
extern const char *const JOB_STATE_NAMES[JOB_N_STATES]; /* "queued", ... */
extern const char *const JOB_PRIORITY_NAMES[JOB_N_PRIORITIES];
static inline bool job_state_is_final(job_state s) { return s >= JOB_DONE; }
/* The table of legal moves: final states have none, live ones may repeat. */
bool job_state_may_move(job_state from, job_state to);
/* UTF-8 without control characters: what ids may consist of. */
bool job_is_text(const char *s, size_t n);

typedef struct job_bytes {
    const uint8_t *p;
    size_t len;
} job_bytes;

/* A request as received, fields as upstream-daemon.md section 2 (which kind reads what). All pointers
 * lie in `owned` or in static storage. {0} is empty. */
typedef struct job_request {
    char request_id[JOB_REQUEST_ID_MAX]; /* "" when the client gave none; UTF-8, checked */
    proof_kind kind;
    job_priority priority;
    uint64_t sector_size, registered_proof, sector_number, miner_id;
    uint32_t partition_index;
    job_bytes vanilla_proof;
    const job_bytes *vanilla_proofs;
    size_t n_vanilla_proofs;
    job_bytes randomness, comm_r_old, comm_r_new, comm_d_new;
    uint64_t deadline_unix_ms; /* 0: none; the scheduler prefers earlier ones inside a class */
    /* What the transport knows, monotonic ns, each 0 or not before the one in front; 0: when it is
     * submitted. The call came, its body's turn came, the body was there. */
    uint64_t received_ns, admitted_ns, body_ns;
    void *owned;
    void (*release)(void *owned);
} job_request;
void job_request_fini(job_request *r); /* calls release once */
/* BLAKE2b (512 bits cut to 256) over kind, all scalar fields but priority and deadline, and all bytes:
 * with the request id, which it leaves out, it identifies a job. */
void job_request_digest(uint8_t out[32], const job_request *r);
/* One block of bytes (the journal stores it). Memory: gives (mem_free). Errors: CUZK_E_INPUT,
 * CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status job_request_encode(uint8_t **out, size_t *len, const job_request *r);
/* Back again; the fields point into b. Memory: takes b on success only: job_request_fini calls
 * release(b), where release NULL leaves b to the caller. Errors: CUZK_E_INPUT (names the field),
 * CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status job_request_decode(job_request *out, uint8_t *b, size_t len,
                                               void (*release)(void *));

/* True wall times in ms; each ends where the next begins, so that with verify and journal they add
 * up to total (docs/daemon.md). Sums of several partitions are never reported as times. */
typedef struct job_times {
    uint64_t queue_wait_ms, key_load_ms, witness_ms, device_ms, verify_ms, total_ms;
} job_times;

typedef struct job_view {
    char job_id[JOB_ID_MAX];
    char request_id[JOB_REQUEST_ID_MAX];
    proof_kind kind;
    job_priority priority;
    job_state state;
    uint64_t sector_size, sector_number, miner_id;
    char circuit_id[32]; /* "porep-32g" */
    uint32_t n_partitions, n_partitions_done;
    uint32_t n_retries;      /* partitions proven again after a failed check or device */
    uint32_t queue_position; /* jobs that will be taken before, while queued */
    double progress;         /* 0 to 1 */
    uint64_t created_unix_ms, started_unix_ms, finished_unix_ms; /* 0: not yet */
    uint64_t deadline_unix_ms;
    job_times times;
    size_t proof_bytes;
    char device[64]; /* last one used */
    cuzk_code error_code;
    char error[JOB_ERROR_MAX];
} job_view;
#endif
