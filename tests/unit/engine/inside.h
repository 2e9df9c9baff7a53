/* Waiting for what only the inside of an engine tells. */
#ifndef TESTS_INSIDE_H
#define TESTS_INSIDE_H
#include "engine/engine_int.h"
#include "unit/engine/engine_fixture.h"

static inline uint64_t memory_used(engine *e)
{
    engine_snapshot s;
    assert_ok(engine_get_snapshot(e, &s));
    uint64_t used = s.memory_used;
    engine_snapshot_fini(&s);
    return used;
}

/* Only what stays with keys: jobs give theirs back a while after their end is visible. */
static inline uint64_t idle_memory(engine *e)
{
    bool is_idle = false;
    for (int i = 0; i < 20000 && !is_idle; i++) {
        engine_lock(e);
        is_idle = !e->jobs.first && !e->budget.used[BUDGET_WORK];
        engine_unlock(e);
        sleep_ms(1);
    }
    assert_true(is_idle);
    return memory_used(e);
}

/* All partitions of a job have their witness. */
static inline void until_witnesses(engine *e, const char *job_id)
{
    bool all = false;
    for (int i = 0; i < 20000 && !all; i++, sleep_ms(1)) {
        engine_lock(e);
        const job *j = job_table_find(&e->jobs, job_id);
        all = j && j->n_slots;
        for (uint32_t k = 0; all && k < j->n_parts; k++)
            all = j->parts[k].has_witness;
        engine_unlock(e);
    }
    assert_true(all);
}

/* A job has ended a moment before its device is free, and a device is tested before it is. */
static inline void until_idle(engine *e, uint32_t dev)
{
    bool is_idle = false;
    for (int i = 0; i < 20000 && !is_idle; i++, sleep_ms(1)) {
        engine_lock(e);
        const device *d = &e->devices[dev];
        is_idle = d->is_healthy && !d->needs_test && !d->is_testing && !d->inside && !d->running;
        engine_unlock(e);
    }
    assert_true(is_idle);
}
#endif
