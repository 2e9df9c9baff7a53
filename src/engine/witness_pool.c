/* Witnesses that are used again. One of WindowPoSt has 4 GB, and the kernel clears new pages before
 * they can be filled. Spares are kept as long as the key has users, so that the jobs of a batch follow
 * each other into the same memory, and go when others need the room. */
#include "engine/engine_int.h"

cuzk_status witness_take(engine *e, job *j, witness *w)
{
    key_entry *k = j->key;
    engine_lock(e);
    spare_witness *s = j->n_promised || k->n_charged ? k->spares : NULL;
    if (s) {
        k->spares = s->next;
        if (j->n_promised) {
            j->n_promised--;
        } else { /* this job's slot has it from here on */
            k->n_charged--;
            budget_release(&e->budget, BUDGET_WORK, s->bytes);
        }
    }
    engine_unlock(e);
    if (!s)
        return witness_init(w, k->shape);
    *w = s->w;
    mem_free(s);
    return cuzk_ok();
}

/* Will it be used again soon? Lock held. */
static bool is_wanted_again(const job *j)
{
    if (j->key->n_users > 1)
        return true;
    for (uint32_t k = 0; k < j->n_parts && !j->is_ending; k++)
        if (j->parts[k].phase == PART_IDLE)
            return true;
    return false;
}

void witness_give(engine *e, job *j, witness *w)
{
    engine_lock(e);
    bool keep = is_wanted_again(j);
    engine_unlock(e);
    spare_witness *s = keep ? mem_alloc(sizeof *s, 8) : NULL;
    if (!s) {
        witness_fini(w);
        return;
    }
    witness_reset(w);
    engine_lock(e);
    *s = (spare_witness){.w = *w, .bytes = j->key->witness_bytes, .next = j->key->spares};
    j->key->spares = s;
    j->n_promised++;
    engine_unlock(e);
    *w = (witness){0};
}

uint32_t witness_promise(const key_entry *k, uint32_t n)
{
    return !k ? 0 : n < k->n_charged ? n : k->n_charged;
}

void witness_unpromise(engine *e, job *j)
{
    if (!j->n_promised)
        return;
    budget_force(&e->budget, BUDGET_WORK, j->n_promised * j->key->witness_bytes);
    j->key->n_charged += j->n_promised;
    j->n_promised = 0;
}

/* ---- freeing ---- */

/* One spare: giving 4 GB back to the kernel takes a while, and other tasks come between. */
static void drop_run(engine *e, host_task *t)
{
    spare_witness *s = t->arg;
    witness_free(&s->w);
    engine_lock(e);
    budget_release(&e->budget, BUDGET_WORK, s->bytes);
    e->n_dropping--;
    dispatch_kick(e);
    host_task_done(e, t);
    engine_unlock(e);
    mem_free(s);
}

/* Before bulk work, which waits for the room as a rule, but after what is urgent. */
static const sched_rank drop_rank = {.cls = JOB_CRITICAL - JOB_NORMAL};

/* Those that wait for a host worker already. */
static void hurry(engine *e)
{
    for (host_task **at = &e->tasks[drop_rank.cls]; *at;) {
        host_task *t = *at;
        if (t->run != drop_run) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        host_push(e, t, &(sched_rank){0});
    }
}

bool witness_drop(engine *e, key_entry *k, const job *waits)
{
    bool is_urgent = waits && waits->view.priority >= JOB_HIGH;
    if (is_urgent && e->n_dropping)
        hurry(e);
    if (!k->n_charged)
        return false;
    for (; k->n_charged; k->n_charged--) {
        spare_witness *s = k->spares;
        k->spares = s->next;
        s->drop_task = (host_task){.run = drop_run, .partition = -1, .is_part = true, .arg = s};
        e->n_dropping++;
        host_push(e, &s->drop_task, is_urgent ? &(sched_rank){0} : &drop_rank);
    }
    return true;
}

void witness_drop_all(key_entry *k)
{
    for (spare_witness *s; (s = k->spares) != NULL; mem_free(s)) {
        k->spares = s->next;
        witness_free(&s->w);
    }
}
