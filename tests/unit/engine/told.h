/* Who asked for a key to be loaded, and what it was told. */
#ifndef TESTS_TOLD_H
#define TESTS_TOLD_H
#include "unit/engine/engine_fixture.h"

typedef struct told {
    atomic_uint n; /* times */
    cuzk_status st;
    bool was_loaded;
} told;

static inline void on_told(void *ctx, cuzk_status st, bool was_loaded, uint64_t load_ms,
                           uint64_t bytes)
{
    told *t = ctx;
    (void)load_ms;
    (void)bytes;
    t->st = st;
    t->was_loaded = was_loaded;
    atomic_fetch_add(&t->n, 1);
}

static inline void until(const atomic_uint *n, unsigned want)
{
    for (int i = 0; i < 20000 && atomic_load(n) < want; i++)
        sleep_ms(1);
    assert_true(atomic_load(n) >= want);
}

static inline cuzk_status preload_now(fixture *f, const char *circuit)
{
    told t = {0};
    engine_preload(f->e, circuit, on_told, &t);
    until(&t.n, 1);
    return t.st;
}
#endif
