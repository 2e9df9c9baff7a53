/* Looking at jobs and stopping them. What is live is in memory, what has ended in the journal. */
#include "engine/engine_int.h"
#include <string.h>

cuzk_status engine_get_job(engine *e, const char *job_id, job_view *out)
{
    store_job stored;
    engine_lock(e);
    job *j = job_table_find(&e->jobs, job_id);
    if (j)
        job_fill_view(e, j, out);
    engine_unlock(e);
    if (j)
        return cuzk_ok();
    CUZK_TRY(e->store->ops->get(e->store, job_id, &stored));
    *out = stored.view;
    return cuzk_ok();
}

cuzk_status engine_get_proof(engine *e, const char *job_id, uint8_t **proof, size_t *len)
{
    return e->store->ops->get_proof(e->store, job_id, proof, len);
}

/* What is live is in memory, newest first. */
static cuzk_status list_live(engine *e, job_state state, uint32_t limit, job_view **out,
                             uint32_t *n)
{
    uint32_t most = 0;
    engine_lock(e);
    for (const job *j = e->jobs.first; j; j = j->next)
        most += j->view.state == state;
    most = limit && limit < most ? limit : most;
    job_view *v = mem_alloc((most + 1) * sizeof *v, 8);
    for (job *j = e->jobs.first; v && j && *n < most; j = j->next)
        if (j->view.state == state)
            job_fill_view(e, j, &v[(*n)++]);
    engine_unlock(e);
    *out = v;
    return v ? cuzk_ok() : cuzk_fail(CUZK_E_NOMEM, "%u jobs", most);
}

/* Live jobs by what memory knows of them: the journal has no progress. */
cuzk_status engine_list_jobs(engine *e, int state, uint32_t limit, job_view **out, uint32_t *n)
{
    store_job *stored;
    uint32_t n_stored, kept = 0;
    *out = NULL;
    *n = 0;
    if (state >= 0 && !job_state_is_final((job_state)state))
        return list_live(e, (job_state)state, limit, out, n);
    CUZK_TRY(e->store->ops->list(e->store, state, limit ? limit : INT32_MAX, &stored, &n_stored));
    job_view *v = mem_alloc((n_stored + 1) * sizeof *v, 8);
    if (!v) {
        mem_free(stored);
        return cuzk_fail(CUZK_E_NOMEM, "%u jobs", n_stored);
    }
    engine_lock(e);
    for (uint32_t i = 0; i < n_stored; i++) {
        v[kept] = stored[i].view;
        job *j =
            job_state_is_final(v[kept].state) ? NULL : job_table_find(&e->jobs, v[kept].job_id);
        if (j)
            job_fill_view(e, j, &v[kept]);
        if (state < 0 || v[kept].state == (job_state)state)
            kept++;
    }
    engine_unlock(e);
    mem_free(stored);
    *out = v;
    *n = kept;
    return cuzk_ok();
}

cuzk_status engine_cancel(engine *e, const char *job_id, bool *was_live)
{
    store_job stored;
    *was_live = false;
    engine_lock(e);
    job *j = job_table_find(&e->jobs, job_id);
    if (j && !j->is_ending) {
        *was_live = true;
        job_end(e, j, JOB_CANCELLED, cuzk_fail(CUZK_E_CANCELLED, "cancelled by request"));
        devices_kick(e);
    }
    if (!j && submission_cancel(e, job_id))
        *was_live = true;
    engine_unlock(e);
    if (j || *was_live)
        return cuzk_ok();
    return e->store->ops->get(e->store, job_id, &stored);
}
