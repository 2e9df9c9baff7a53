#include "engine/job_table.h"
#include "base/mem.h"
#include <string.h>

void decoded_task_destroy(decoded_task *d)
{
    if (!d)
        return;
    arena_fini(&d->mem);
    mem_free(d);
}

cuzk_status job_create(job **out)
{
    job *j = mem_zalloc(sizeof *j, 64);
    *out = j;
    if (!j)
        return cuzk_fail(CUZK_E_NOMEM, "a job");
    j->n_refs = 1;
    return cuzk_ok();
}

void job_destroy(job *j)
{
    if (!j)
        return;
    for (uint32_t k = 0; j->parts && k < j->n_parts; k++)
        if (j->parts[k].has_witness)
            witness_fini(&j->parts[k].w);
    mem_free(j->parts);
    mem_free(j->result);
    share_fini(&j->share);
    decoded_task_destroy(j->decoded);
    span_rec_destroy(j->spans);
    mem_free(j);
}

void job_table_add(job_table *t, job *j)
{
    j->next = t->first;
    if (t->first)
        t->first->prev = j;
    t->first = j;
    t->n++;
}

void job_table_remove(job_table *t, job *j)
{
    *(j->prev ? &j->prev->next : &t->first) = j->next;
    if (j->next)
        j->next->prev = j->prev;
    j->next = j->prev = NULL;
    t->n--;
}

job *job_table_find(const job_table *t, const char *job_id)
{
    for (job *j = t->first; j; j = j->next)
        if (strcmp(j->view.job_id, job_id) == 0)
            return j;
    return NULL;
}

job *job_table_find_request(const job_table *t, const char *request_id, const uint8_t digest[32])
{
    if (!*request_id)
        return NULL;
    for (job *j = t->first; j; j = j->next)
        if (memcmp(j->digest, digest, 32) == 0 && strcmp(j->view.request_id, request_id) == 0)
            return j;
    return NULL;
}

bool job_move(job *j, job_state to)
{
    if (!job_state_may_move(j->view.state, to))
        return false;
    j->view.state = to;
    return true;
}

cuzk_status job_make_parts(job *j, uint32_t n)
{
    if (j->parts) {
        CUZK_VERIFY(j->n_parts == n);
        return cuzk_ok();
    }
    if (n == 0 || n > JOB_PARTITIONS_MAX)
        return cuzk_fail(CUZK_E_UNSUPPORTED, "%u partitions, at most %u are handled", n,
                         JOB_PARTITIONS_MAX);
    CUZK_TRY(share_init(&j->share, n));
    j->parts = mem_zalloc(n * sizeof *j->parts, 64);
    j->result = mem_zalloc((size_t)n * G16_PROOF_BYTES, 8);
    if (!j->parts || !j->result)
        return cuzk_fail(CUZK_E_NOMEM, "%u partitions", n);
    j->n_parts = n;
    j->view.n_partitions = n;
    return cuzk_ok();
}

/* Milliseconds between two moments, both optional: an unreached one ends at `now`. */
static uint64_t phase_ms(uint64_t from_ns, uint64_t to_ns, uint64_t now_ns)
{
    if (!from_ns)
        return 0;
    to_ns = to_ns ? to_ns : now_ns;
    return to_ns > from_ns ? (to_ns - from_ns) / 1000000 : 0;
}

void job_set_times(job *j, uint64_t now_ns)
{
    const job_clock *c = &j->at;
    job_times *t = &j->view.times;
    uint64_t end = c->end_ns ? c->end_ns : now_ns;
    /* The clock has the newest proof; a phase ends with the last one. */
    bool all_proven = share_count(&j->share, SHARE_DONE) == j->n_parts;
    uint64_t device_end = all_proven ? c->device_end_ns : 0;
    uint64_t verified = j->n_done == j->n_parts ? c->verified_ns : 0;
    t->queue_wait_ms = phase_ms(c->received_ns, c->start_ns, end);
    t->key_load_ms = phase_ms(c->start_ns, c->key_ns, end);
    t->witness_ms = phase_ms(c->key_ns, c->device_ns, end);
    t->device_ms = phase_ms(c->device_ns, device_end, end);
    t->verify_ms = phase_ms(device_end, verified, end);
    t->total_ms = phase_ms(c->received_ns, end, end);
}

sched_rank job_rank(const job *j)
{
    return (sched_rank){.cls = (uint32_t)(JOB_CRITICAL - j->view.priority),
                        .deadline_unix_ms =
                            j->view.deadline_unix_ms ? j->view.deadline_unix_ms : UINT64_MAX,
                        .seq = j->seq};
}

double job_progress(const job *j)
{
    if (j->view.state == JOB_DONE)
        return 1;
    if (!j->n_parts)
        return 0;
    double p = 0;
    for (uint32_t k = 0; k < j->n_parts; k++)
        p += j->parts[k].phase == PART_DONE ? 1 : j->parts[k].fraction;
    p /= j->n_parts;
    return p > 0.99 ? 0.99 : p;
}
