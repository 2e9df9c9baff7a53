/* The order in which jobs are taken: pure logic, the clock is an argument.
 * Classes CRITICAL > HIGH > NORMAL > LOW; inside a class the earliest deadline (none is latest), then
 * first come. Waiting counts: each ageing_ms spent in the queue is worth one class, but only up to
 * HIGH, so that ageing never makes bulk work compete with what is CRITICAL. */
#ifndef ENGINE_SCHED_H
#define ENGINE_SCHED_H
#include "engine/job.h"

/* Smaller is more urgent in all three, in this order. */
typedef struct sched_rank {
    uint32_t cls;              /* 0 = CRITICAL */
    uint64_t deadline_unix_ms; /* UINT64_MAX: none */
    uint64_t seq;
} sched_rank;
bool sched_rank_before(const sched_rank *a, const sched_rank *b);

typedef struct sched_limits {
    uint32_t max_active[PROOF_N_KINDS]; /* 0: no limit */
    uint32_t max_batch_size;            /* 0 and 1: no batches */
    uint64_t max_batch_wait_ms, ageing_ms;
    /* A job that does not fit is passed by less urgent ones for this long, then nothing overtakes
     * it any more. */
    uint64_t patience_ms;
} sched_limits;

/* A queued job. Keys and circuits are compared as texts. */
typedef struct sched_entry {
    void *job;
    proof_kind kind;
    job_priority priority;
    uint64_t deadline_unix_ms; /* 0: none */
    uint64_t seq, queued_ms;   /* monotonic */
    char circuit[32];
    uint64_t blocked_since_ms; /* first refusal for want of memory; 0: none */
    bool is_released;          /* its batch is complete or waited long enough: waits no more */
    uint64_t batch;            /* those released together have one number; 0: not released */
} sched_entry;

typedef struct sched {
    sched_limits limits;
    sched_entry *e; /* n entries in order of arrival */
    uint32_t n, cap;
    uint32_t n_active[PROOF_N_KINDS];
    uint64_t next_seq, n_batches;
} sched;

void sched_init(sched *s, const sched_limits *l);
void sched_fini(sched *s);

/* Make room for that many more jobs. Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status sched_ensure(sched *s, uint32_t n_more);
/* Queue a job, with room made before; seq 0 gets the next number, another one keeps its place (a job
 * that goes back). */
void sched_push(sched *s, const sched_entry *e);
/* Both. */
CUZK_MUST_CHECK cuzk_status sched_add(sched *s, const sched_entry *e);
bool sched_remove(sched *s, const void *job);
sched_rank sched_entry_rank(const sched *s, const sched_entry *e, uint64_t now_ms);

typedef enum sched_fit {
    SCHED_FITS,     /* taken: the caller holds what it needs */
    SCHED_NO_ROOM,  /* not now */
    SCHED_NO_SLOT,  /* enough jobs run: nothing of priority below HIGH starts */
    SCHED_NO_DEVICE /* none for this one; says nothing of the others */
} sched_fit;
typedef sched_fit sched_fit_fn(void *ctx, const sched_entry *e);
/* Take the most urgent job that may start: inside its kind's limit, not waiting for its batch, and
 * fit says SCHED_FITS. The job leaves the queue and counts as active until sched_done. NULL: none. */
void *sched_take(sched *s, uint64_t now_ms, sched_fit_fn *fit, void *ctx);
void sched_done(sched *s, proof_kind kind);
/* When something changes by time alone (a batch stops waiting, a job runs out of patience or gets
 * older by a class); UINT64_MAX: never. */
uint64_t sched_next_event_ms(const sched *s, uint64_t now_ms);
/* Jobs in the queue that are more urgent; UINT32_MAX: not queued. */
uint32_t sched_position(const sched *s, const void *job, uint64_t now_ms);
#endif
