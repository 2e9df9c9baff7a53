#include "engine/sched.h"
#include "base/mem.h"
#include <string.h>

#define CLASS_HIGH ((uint32_t)(JOB_CRITICAL - JOB_HIGH))

bool sched_rank_before(const sched_rank *a, const sched_rank *b)
{
    if (a->cls != b->cls)
        return a->cls < b->cls;
    if (a->deadline_unix_ms != b->deadline_unix_ms)
        return a->deadline_unix_ms < b->deadline_unix_ms;
    return a->seq < b->seq;
}

void sched_init(sched *s, const sched_limits *l) { *s = (sched){.limits = *l, .next_seq = 1}; }

void sched_fini(sched *s)
{
    mem_free(s->e);
    *s = (sched){0};
}

cuzk_status sched_ensure(sched *s, uint32_t n_more)
{
    uint32_t cap = s->cap ? s->cap : 64;
    while (cap - s->n < n_more)
        cap *= 2;
    if (cap == s->cap)
        return cuzk_ok();
    sched_entry *p = mem_realloc(s->e, s->cap * sizeof *p, cap * sizeof *p);
    if (!p)
        return cuzk_fail(CUZK_E_NOMEM, "queue of %u jobs", cap);
    s->e = p;
    s->cap = cap;
    return cuzk_ok();
}

void sched_push(sched *s, const sched_entry *e)
{
    CUZK_ASSERT(s->n < s->cap);
    s->e[s->n] = *e;
    if (e->seq == 0)
        s->e[s->n].seq = s->next_seq++;
    else if (e->seq >= s->next_seq)
        s->next_seq = e->seq + 1;
    s->n++;
}

cuzk_status sched_add(sched *s, const sched_entry *e)
{
    CUZK_TRY(sched_ensure(s, 1));
    sched_push(s, e);
    return cuzk_ok();
}

static uint32_t find(const sched *s, const void *job)
{
    uint32_t i = 0;
    while (i < s->n && s->e[i].job != job)
        i++;
    return i;
}

static void remove_at(sched *s, uint32_t i)
{
    memmove(&s->e[i], &s->e[i + 1], (s->n - i - 1) * sizeof *s->e);
    s->n--;
}

bool sched_remove(sched *s, const void *job)
{
    uint32_t i = find(s, job);
    if (i == s->n)
        return false;
    remove_at(s, i);
    return true;
}

/* An hour's clock step cannot make this negative: the clock is monotonic. */
static uint64_t waited_ms(const sched_entry *e, uint64_t now_ms)
{
    return now_ms > e->queued_ms ? now_ms - e->queued_ms : 0;
}

sched_rank sched_entry_rank(const sched *s, const sched_entry *e, uint64_t now_ms)
{
    uint32_t cls = (uint32_t)(JOB_CRITICAL - e->priority);
    if (s->limits.ageing_ms && cls > CLASS_HIGH) {
        uint64_t older = waited_ms(e, now_ms) / s->limits.ageing_ms;
        cls = older >= cls - CLASS_HIGH ? CLASS_HIGH : cls - (uint32_t)older;
    }
    return (sched_rank){.cls = cls,
                        .deadline_unix_ms = e->deadline_unix_ms ? e->deadline_unix_ms : UINT64_MAX,
                        .seq = e->seq};
}

static bool waits_for_batch(const sched *s, const sched_entry *e, uint64_t now_ms)
{
    if (s->limits.max_batch_size <= 1 || e->is_released || e->priority >= JOB_HIGH ||
        waited_ms(e, now_ms) >= s->limits.max_batch_wait_ms)
        return false;
    uint32_t same = 0;
    for (uint32_t i = 0; i < s->n; i++)
        same += strcmp(s->e[i].circuit, e->circuit) == 0;
    return same < s->limits.max_batch_size;
}

/* The first max_batch_size of a circuit, in order of rank, go together: once one of them may go, the
 * others do not wait either. */
static void release_batch(sched *s, const char *circuit)
{
    uint32_t left = s->limits.max_batch_size;
    s->n_batches++;
    for (uint32_t i = 0; i < s->n && left > 0; i++)
        if (strcmp(s->e[i].circuit, circuit) == 0) {
            s->e[i].is_released = true;
            s->e[i].batch = s->n_batches;
            left--;
        }
}

static bool is_in_limit(const sched *s, proof_kind kind)
{
    return s->limits.max_active[kind] == 0 || s->n_active[kind] < s->limits.max_active[kind];
}

/* The most urgent entry after `after` (NULL: of all). */
static uint32_t next_by_rank(const sched *s, const sched_rank *after, uint64_t now_ms)
{
    uint32_t best = s->n;
    sched_rank best_rank = {0};
    for (uint32_t i = 0; i < s->n; i++) {
        sched_rank r = sched_entry_rank(s, &s->e[i], now_ms);
        if (after && !sched_rank_before(after, &r))
            continue;
        if (best == s->n || sched_rank_before(&r, &best_rank)) {
            best = i;
            best_rank = r;
        }
    }
    return best;
}

void *sched_take(sched *s, uint64_t now_ms, sched_fit_fn *fit, void *ctx)
{
    sched_rank after;
    const sched_rank *from = NULL;
    bool is_full = false;
    for (;;) {
        uint32_t i = next_by_rank(s, from, now_ms);
        if (i == s->n)
            return NULL;
        sched_entry *e = &s->e[i];
        after = sched_entry_rank(s, e, now_ms);
        from = &after;
        if (is_full && e->priority < JOB_HIGH)
            continue;
        if (!is_in_limit(s, e->kind) || waits_for_batch(s, e, now_ms))
            continue;
        if (s->limits.max_batch_size > 1 && !e->is_released && e->priority < JOB_HIGH)
            release_batch(s, e->circuit);
        sched_fit f = fit(ctx, e);
        if (f == SCHED_FITS) {
            void *job = e->job;
            s->n_active[e->kind]++;
            remove_at(s, i);
            return job;
        }
        if (f == SCHED_NO_DEVICE)
            continue;
        if (f == SCHED_NO_SLOT) {
            is_full = true; /* old bulk work may stand before what needs no slot */
            continue;
        }
        if (!e->blocked_since_ms)
            e->blocked_since_ms = now_ms ? now_ms : 1;
        if (now_ms - e->blocked_since_ms >= s->limits.patience_ms)
            return NULL;
    }
}

void sched_done(sched *s, proof_kind kind)
{
    CUZK_ASSERT(s->n_active[kind] > 0);
    s->n_active[kind]--;
}

static void earliest(uint64_t *at, uint64_t t, uint64_t now_ms)
{
    if (t > now_ms && t < *at)
        *at = t;
}

uint64_t sched_next_event_ms(const sched *s, uint64_t now_ms)
{
    uint64_t at = UINT64_MAX;
    for (uint32_t i = 0; i < s->n; i++) {
        const sched_entry *e = &s->e[i];
        if (s->limits.max_batch_size > 1 && !e->is_released)
            earliest(&at, e->queued_ms + s->limits.max_batch_wait_ms, now_ms);
        if (e->blocked_since_ms)
            earliest(&at, e->blocked_since_ms + s->limits.patience_ms, now_ms);
        if (s->limits.ageing_ms)
            earliest(&at,
                     e->queued_ms +
                         (waited_ms(e, now_ms) / s->limits.ageing_ms + 1) * s->limits.ageing_ms,
                     now_ms);
    }
    return at;
}

uint32_t sched_position(const sched *s, const void *job, uint64_t now_ms)
{
    uint32_t at = find(s, job), before = 0;
    if (at == s->n)
        return UINT32_MAX;
    sched_rank own = sched_entry_rank(s, &s->e[at], now_ms);
    for (uint32_t i = 0; i < s->n; i++) {
        sched_rank r = sched_entry_rank(s, &s->e[i], now_ms);
        before += sched_rank_before(&r, &own);
    }
    return before;
}
