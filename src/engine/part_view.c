/* Partitions as the outside sees them. Those of a job that ended are remembered for a short while,
 * because the job itself leaves memory at once. */
#include "engine/engine_int.h"
#include "engine/part_view.h"
#include <string.h>

#define ENDED_MAX 64u

struct ended_parts {
    char job_id[JOB_ID_MAX];
    uint64_t end_ns;
    uint32_t n;
    ended_parts *next;
    engine_part_view parts[];
};

static uint64_t ms_between(uint64_t from_ns, uint64_t to_ns)
{
    return from_ns && to_ns >= from_ns ? (to_ns - from_ns) / ENGINE_MS : ENGINE_NO_TIME;
}

static engine_part_state state_of(const job *j, uint32_t k)
{
    const job_part *p = &j->parts[k];
    if (p->phase == PART_DONE)
        return ENGINE_PART_DONE;
    if (job_state_is_final(j->view.state))
        return ENGINE_PART_FAILED;
    if (p->phase == PART_READY && j->share.parts[k].state != SHARE_CLAIMED)
        return ENGINE_PART_READY;
    static const engine_part_state of[] = {[PART_IDLE] = ENGINE_PART_PENDING,
                                           [PART_WITNESS] = ENGINE_PART_WITNESS,
                                           [PART_READY] = ENGINE_PART_DEVICE,
                                           [PART_CHECK] = ENGINE_PART_DEVICE};
    return of[p->phase];
}

/* Lock held. */
static engine_part_view view_part(const job *j, uint32_t k, uint64_t now_ns)
{
    const job_part *p = &j->parts[k];
    engine_part_view v = {.state = state_of(j, k)};
    bool is_proven = p->phase == PART_CHECK || p->phase == PART_DONE;
    bool is_proving = v.state == ENGINE_PART_DEVICE && !is_proven;
    v.witness_ms = ms_between(p->witness_start_ns,
                              v.state == ENGINE_PART_WITNESS ? now_ns : p->witness_end_ns);
    v.device_ms = ENGINE_NO_TIME;
    if (is_proven || is_proving)
        v.device_ms = ms_between(p->device_start_ns, is_proving ? now_ns : p->proven_ns);
    return v;
}

/* Lock held: forget those that ended long ago, and the oldest beyond `most`. */
static void forget(engine *e, uint64_t now_ns, uint32_t most)
{
    ended_parts **at = &e->jobs.ended;
    for (uint32_t n = 0; *at && n < most; n++) {
        if (now_ns - (*at)->end_ns > ENGINE_ENDED_SHOWN_MS * (uint64_t)ENGINE_MS)
            break; /* the rest is older */
        at = &(*at)->next;
    }
    while (*at) {
        ended_parts *old = *at;
        *at = old->next;
        mem_free(old);
    }
}

void part_view_keep(engine *e, const job *j)
{
    uint64_t now = clock_now_ns();
    forget(e, now, ENDED_MAX - 1);
    if (!j->has_parts)
        return;
    ended_parts *p = mem_alloc(sizeof *p + j->n_parts * sizeof p->parts[0], 8);
    if (!p)
        return; /* only a view is poorer */
    *p = (ended_parts){.end_ns = now, .n = j->n_parts, .next = e->jobs.ended};
    memcpy(p->job_id, j->view.job_id, sizeof p->job_id);
    for (uint32_t k = 0; k < j->n_parts; k++)
        p->parts[k] = view_part(j, k, now);
    e->jobs.ended = p;
}

void part_view_fini(engine *e) { forget(e, 0, 0); }

static void add_job(engine_snapshot *s, const char job_id[JOB_ID_MAX], uint32_t n)
{
    engine_job_parts *jp = &s->job_parts[s->n_job_parts];
    uint32_t first = s->n_job_parts ? jp[-1].first + jp[-1].n : 0;
    *jp = (engine_job_parts){.first = first, .n = n};
    memcpy(jp->job_id, job_id, JOB_ID_MAX);
    s->n_job_parts++;
}

cuzk_status part_view_take(engine *e, engine_snapshot *s)
{
    uint64_t now = clock_now_ns();
    uint32_t n_jobs = 0, n_parts = 0;
    forget(e, now, ENDED_MAX);
    for (const job *j = e->jobs.first; j; j = j->next) {
        n_jobs += j->has_parts;
        n_parts += j->has_parts ? j->n_parts : 0;
    }
    for (const ended_parts *p = e->jobs.ended; p; p = p->next) {
        n_jobs++;
        n_parts += p->n;
    }
    s->job_parts = mem_alloc((n_jobs + 1) * sizeof *s->job_parts, 8);
    s->parts = mem_alloc((n_parts + 1) * sizeof *s->parts, 8);
    if (!s->job_parts || !s->parts)
        return cuzk_fail(CUZK_E_NOMEM, "a snapshot");
    engine_part_view *out = s->parts;
    for (const job *j = e->jobs.first; j; j = j->next)
        if (j->has_parts) {
            add_job(s, j->view.job_id, j->n_parts);
            for (uint32_t k = 0; k < j->n_parts; k++)
                *out++ = view_part(j, k, now);
        }
    for (const ended_parts *p = e->jobs.ended; p; p = p->next) {
        add_job(s, p->job_id, p->n);
        memcpy(out, p->parts, p->n * sizeof *out);
        out += p->n;
    }
    return cuzk_ok();
}
