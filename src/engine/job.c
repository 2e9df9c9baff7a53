#include "engine/job.h"

const char *const JOB_STATE_NAMES[JOB_N_STATES] = {
    [JOB_QUEUED] = "queued",       [JOB_DECODING] = "decoding", [JOB_PROVING] = "proving",
    [JOB_VERIFYING] = "verifying", [JOB_DONE] = "done",         [JOB_FAILED] = "failed",
    [JOB_CANCELLED] = "cancelled",
};

const char *const JOB_PRIORITY_NAMES[JOB_N_PRIORITIES] = {
    [JOB_LOW] = "low",
    [JOB_NORMAL] = "normal",
    [JOB_HIGH] = "high",
    [JOB_CRITICAL] = "critical",
};

bool job_state_may_move(job_state from, job_state to)
{
    /* Live states may repeat (new counters) and fall back to queued (drain, restart). Proving may end
     * without a verifying phase, as partitions can be verified one by one; verifying may return to
     * proving when a check failed. Final states stay. */
    enum { Q = 1 << JOB_QUEUED, D = 1 << JOB_DECODING, P = 1 << JOB_PROVING };
    enum { V = 1 << JOB_VERIFYING, DONE = 1 << JOB_DONE };
    enum { END = 1 << JOB_FAILED | 1 << JOB_CANCELLED };
    static const uint8_t may[JOB_N_STATES] = {
        [JOB_QUEUED] = Q | D | P | END,
        [JOB_DECODING] = Q | D | P | END,
        [JOB_PROVING] = Q | P | V | DONE | END,
        [JOB_VERIFYING] = Q | P | V | DONE | END,
    };
    return (unsigned)from < JOB_N_STATES && (unsigned)to < JOB_N_STATES && (may[from] >> to & 1);
}

void job_request_fini(job_request *r)
{
    if (r->release)
        r->release(r->owned);
    *r = (job_request){0};
}
