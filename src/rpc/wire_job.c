/* Jobs as messages, and back. */
#include "base/utf8.h"
#include "rpc/wire.h"
#include <stdio.h>
#include <string.h>

static const Cuzk__V1__ProofKind kinds[PROOF_N_KINDS] = {
    [PROOF_POREP] = CUZK__V1__PROOF_KIND__POREP_SEAL_COMMIT,
    [PROOF_WINNING] = CUZK__V1__PROOF_KIND__WINNING_POST,
    [PROOF_WINDOW] = CUZK__V1__PROOF_KIND__WINDOW_POST_PARTITION,
    [PROOF_SNAP] = CUZK__V1__PROOF_KIND__SNAP_DEALS_UPDATE};

Cuzk__V1__ProofKind wire_kind(proof_kind k) { return kinds[k]; }

bool wire_kind_back(proof_kind *out, uint64_t wire)
{
    for (int k = 0; k < PROOF_N_KINDS; k++)
        if ((uint64_t)kinds[k] == wire) {
            *out = (proof_kind)k;
            return true;
        }
    return false;
}

Cuzk__V1__Priority wire_priority(job_priority p) { return (Cuzk__V1__Priority)(p + 1); }

job_priority wire_priority_back(uint64_t wire, proof_kind kind)
{
    if (wire == CUZK__V1__PRIORITY__PRIORITY_UNSPECIFIED)
        return kind == PROOF_WINNING ? JOB_CRITICAL : kind == PROOF_WINDOW ? JOB_HIGH : JOB_NORMAL;
    return wire <= CUZK__V1__PRIORITY__CRITICAL ? (job_priority)(wire - 1) : JOB_NORMAL;
}

Cuzk__V1__JobState wire_state(job_state s) { return (Cuzk__V1__JobState)(s + 1); }

int wire_state_back(uint64_t wire)
{
    return wire >= 1 && wire <= JOB_N_STATES ? (int)wire - 1 : -1;
}

static char *clean(char *s)
{
    utf8_repair(s);
    return s;
}

void wire_job_info(Cuzk__V1__JobInfo *out, job_view *v)
{
    cuzk__v1__job_info__init(out);
    out->job_id = clean(v->job_id);
    out->request_id = clean(v->request_id);
    out->proof_kind = wire_kind(v->kind);
    out->priority = wire_priority(v->priority);
    out->state = wire_state(v->state);
    out->sector_size = v->sector_size;
    out->sector_number = v->sector_number;
    out->miner_id = v->miner_id;
    out->circuit_id = clean(v->circuit_id);
    out->partitions = v->n_partitions;
    out->partitions_done = v->n_partitions_done;
    out->retries = v->n_retries;
    out->queue_position = v->queue_position;
    out->progress = v->progress;
    out->created_unix_ms = v->created_unix_ms;
    out->started_unix_ms = v->started_unix_ms;
    out->finished_unix_ms = v->finished_unix_ms;
    out->deadline_unix_ms = v->deadline_unix_ms;
    out->queue_wait_ms = v->times.queue_wait_ms;
    out->key_load_ms = v->times.key_load_ms;
    out->witness_ms = v->times.witness_ms;
    out->device_ms = v->times.device_ms;
    out->verify_ms = v->times.verify_ms;
    out->total_ms = v->times.total_ms;
    out->proof_bytes = v->proof_bytes;
    out->device = clean(v->device);
    out->error_code =
        (char *)(uintptr_t)(v->error_code == CUZK_OK ? "" : cuzk_code_name(v->error_code));
    out->error_message = clean(v->error);
}

static cuzk_code code_by_name(const char *name)
{
    if (name[0] == 0)
        return CUZK_OK;
#define CODE_MATCH(id, value, text, grpc) \
    if (strcmp(name, #id) == 0)           \
        return id;
    CUZK_CODES(CODE_MATCH)
#undef CODE_MATCH
    return CUZK_E_INTERNAL;
}

#define COPY(to, from) snprintf((to), sizeof(to), "%s", (from))

void wire_job_view(job_view *out, const Cuzk__V1__JobInfo *in)
{
    int state = wire_state_back((uint64_t)in->state);
    *out = (job_view){.state = state < 0 ? JOB_QUEUED : (job_state)state};
    COPY(out->job_id, in->job_id);
    COPY(out->request_id, in->request_id);
    (void)wire_kind_back(&out->kind, (uint64_t)in->proof_kind);
    out->priority = wire_priority_back((uint64_t)in->priority, out->kind);
    out->sector_size = in->sector_size;
    out->sector_number = in->sector_number;
    out->miner_id = in->miner_id;
    COPY(out->circuit_id, in->circuit_id);
    out->n_partitions = in->partitions;
    out->n_partitions_done = in->partitions_done;
    out->n_retries = in->retries;
    out->queue_position = in->queue_position;
    out->progress = in->progress;
    out->created_unix_ms = in->created_unix_ms;
    out->started_unix_ms = in->started_unix_ms;
    out->finished_unix_ms = in->finished_unix_ms;
    out->deadline_unix_ms = in->deadline_unix_ms;
    out->times = (job_times){.queue_wait_ms = in->queue_wait_ms,
                             .key_load_ms = in->key_load_ms,
                             .witness_ms = in->witness_ms,
                             .device_ms = in->device_ms,
                             .verify_ms = in->verify_ms,
                             .total_ms = in->total_ms};
    out->proof_bytes = in->proof_bytes;
    COPY(out->device, in->device);
    out->error_code = code_by_name(in->error_code);
    COPY(out->error, in->error_message);
}
