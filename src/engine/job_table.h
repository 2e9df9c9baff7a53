/* A job inside the engine: what belongs to it, its partitions and its phase. */
#ifndef ENGINE_JOB_TABLE_H
#define ENGINE_JOB_TABLE_H
#include "base/arena.h"
#include "engine/host_task.h"
#include "engine/key_cache.h"
#include "engine/sched.h"
#include <stdatomic.h>

/* A decoded and checked request. Immutable; owned by its job. */
typedef struct decoded_task {
    arena mem;
    proof_task task;
} decoded_task;
void decoded_task_destroy(decoded_task *d);

typedef enum part_phase {
    PART_IDLE,    /* no witness */
    PART_WITNESS, /* one is being made */
    PART_READY,   /* waits for a device or is on one: share says which */
    PART_CHECK,   /* a proof is there and is being verified */
    PART_DONE
} part_phase;

typedef struct job_part {
    part_phase phase;
    uint32_t n_attempts; /* failed ones */
    uint32_t n_readers;  /* batches that hold the witness */
    double fraction;     /* how far a device came with it; falls only when it is proven again */
    uint64_t ready_ns, proven_ns;
    /* Of the latest attempt, 0: none in this run of the daemon. The device's ends at proven_ns. */
    uint64_t witness_start_ns, witness_end_ns, device_start_ns;
    witness w;
    bool has_witness;
    g16_proof proof;
} job_part;

/* Where the time of a job went, monotonic ns; 0: not reached. The phases follow each other. */
typedef struct job_clock {
    uint64_t received_ns, admitted_ns, body_ns; /* in the transport; the job's time begins here */
    uint64_t submit_ns, decode_ns, check_ns, journal_start_ns, queued_ns; /* of the submission */
    uint64_t start_ns;                                                    /* left the queue */
    uint64_t blocked_ns;               /* first refused for want of memory */
    uint64_t key_loaded_ns;            /* the key is resident */
    uint64_t key_ns;                   /* and the request decoded */
    uint64_t device_ns, device_end_ns; /* first batch starts, last proof out */
    uint64_t verified_ns;
    uint64_t end_ns;       /* the end goes to the journal: what it keeps is what all are told */
    uint64_t journaled_ns; /* and is there */
    uint64_t journal_ns, verify_busy_ns; /* spent in the journal, in verifying: for histograms */
} job_clock;

/* Host memory a job needs: its key (when not resident) and one witness; 0: not known. */
typedef struct job_demand {
    uint64_t key_bytes, witness_bytes, key_file_bytes;
} job_demand;

struct engine_watch;
typedef struct job job;
struct job {
    job_view view;      /* what the outside sees; changed by job_move and with the lock held */
    uint8_t digest[32]; /* of the request */
    job_clock at;
    uint64_t seq;
    circuit_id circuit;
    decoded_task *decoded; /* NULL: decoded again from the journal when it starts */
    uint64_t decoded_bytes;
    job_part *parts; /* n_parts */
    uint8_t *result; /* n_parts * G16_PROOF_BYTES */
    share share;
    uint32_t n_parts, n_done;
    uint32_t n_slots, n_slots_used; /* witnesses that may exist at once */
    uint32_t n_promised;            /* unused slots that cover a spare witness of the key */
    uint64_t slot_bytes;
    job_demand demand;
    key_entry *key; /* pinned while set */
    bool is_queued, is_active, has_reservation, has_key, has_parts;
    bool is_impossible;        /* needs more memory than there is in all */
    bool is_alone;             /* a batch with it failed: it gets batches of its own */
    bool is_passed;            /* of batch_pick: faster devices make it */
    uint64_t batch;            /* that it left the queue in; 0: alone */
    bool is_recovered;         /* partitions may be in the journal */
    bool is_moving, has_moved; /* the journal is being told, knows, that it is proven */
    bool is_ending;            /* the end is decided; end_state and st say which */
    bool is_cleaning;
    bool is_unrecorded; /* the journal could not be told of the end: memory remembers it */
    uint64_t record_ns; /* when it is told again; 0: not to be */
    job_state end_state;
    cuzk_status st;
    /* Set once when nothing more should be computed; polled without the lock. */
    atomic_bool stop;
    uint32_t n_busy;      /* host tasks and batches that use it */
    uint32_t n_refs;      /* table, watches being told */
    uint64_t progress_ns; /* last time a progress was told */
    span_rec *spans;
    span_id root;
    struct engine_watch *watches;
    uint32_t n_to_tell;             /* watches that have not heard of the end */
    host_task end_task, clean_task; /* here, so that ending needs no memory */
    job *next, *prev;
};

typedef struct ended_parts ended_parts; /* part_view.c */
/* Live jobs and those just ended, newest first. */
typedef struct job_table {
    job *first;
    uint32_t n;
    ended_parts *ended; /* what is still shown of jobs that left the table */
} job_table;

CUZK_MUST_CHECK cuzk_status job_create(job **out);
void job_destroy(job *j); /* releases everything it still owns */
void job_table_add(job_table *t, job *j);
void job_table_remove(job_table *t, job *j);
job *job_table_find(const job_table *t, const char *job_id);
/* The job that was asked for with this request id and digest; NULL when there is none or the id is
 * empty. */
job *job_table_find_request(const job_table *t, const char *request_id, const uint8_t digest[32]);

/* The one way a state changes. False: not a legal move, nothing happened. */
bool job_move(job *j, job_state to);
/* Partitions, once the number is known. Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status job_make_parts(job *j, uint32_t n);
/* job_times of a job that ended now, or that runs. */
void job_set_times(job *j, uint64_t now_ns);
sched_rank job_rank(const job *j);
/* Done, in percent of one. */
double job_progress(const job *j);
#endif
