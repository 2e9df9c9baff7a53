/* The memory of an engine that has nothing to do. */
#ifndef TESTS_IDLE_H
#define TESTS_IDLE_H
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
#endif
