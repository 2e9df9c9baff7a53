/* Binary min-heap of timers, each of which knows its place, so that moving one costs a logarithm. */
#include "rpc/timer.h"
#include "base/mem.h"
#include "base/run_ctx.h"
#include <pthread.h>
#include <time.h>

struct rpc_timers {
    rpc_timer_ops ops;
    pthread_t thread;
    pthread_mutex_t mu; /* guards what follows and every rpc_timer */
    pthread_cond_t wake;
    rpc_timer **heap;
    uint32_t n, cap;
    bool stop;
};

static void place(rpc_timers *t, uint32_t i, rpc_timer *tm)
{
    t->heap[i] = tm;
    tm->pos = i + 1;
}

static void sift_up(rpc_timers *t, uint32_t i, rpc_timer *tm)
{
    for (; i && t->heap[(i - 1) / 2]->due_ns > tm->due_ns; i = (i - 1) / 2)
        place(t, i, t->heap[(i - 1) / 2]);
    place(t, i, tm);
}

static void sift_down(rpc_timers *t, uint32_t i, rpc_timer *tm)
{
    for (uint32_t kid; (kid = 2 * i + 1) < t->n; i = kid) {
        if (kid + 1 < t->n && t->heap[kid + 1]->due_ns < t->heap[kid]->due_ns)
            kid++;
        if (t->heap[kid]->due_ns >= tm->due_ns)
            break;
        place(t, i, t->heap[kid]);
    }
    place(t, i, tm);
}

static void take_out(rpc_timers *t, rpc_timer *tm)
{
    if (!tm->pos)
        return;
    uint32_t i = tm->pos - 1;
    rpc_timer *last = t->heap[--t->n];
    tm->pos = 0;
    if (last == tm)
        return;
    if (i && t->heap[(i - 1) / 2]->due_ns > last->due_ns)
        sift_up(t, i, last);
    else
        sift_down(t, i, last);
}

static bool put_in(rpc_timers *t, rpc_timer *tm)
{
    if (t->n == t->cap) {
        uint32_t cap = t->cap ? 2 * t->cap : 64;
        rpc_timer **heap =
            mem_realloc(t->heap, t->cap * sizeof *t->heap, (size_t)cap * sizeof *t->heap);
        if (!heap)
            return false;
        t->heap = heap;
        t->cap = cap;
    }
    sift_up(t, t->n++, tm);
    return true;
}

static bool arm(rpc_timers *t, rpc_timer *tm, uint64_t ms, bool only_sooner)
{
    uint64_t delta = 0, now = clock_now_ns(), due;
    if (__builtin_mul_overflow(ms, 1000000u, &delta) || __builtin_add_overflow(now, delta, &due))
        due = UINT64_MAX;
    pthread_mutex_lock(&t->mu);
    bool ok = !tm->is_dead;
    if (ok && !(only_sooner && tm->pos && tm->due_ns <= due)) {
        take_out(t, tm);
        tm->due_ns = due;
        ok = put_in(t, tm);
        if (ok && tm->pos == 1)
            pthread_cond_signal(&t->wake);
    }
    pthread_mutex_unlock(&t->mu);
    return ok;
}

bool rpc_timer_set(rpc_timers *t, rpc_timer *tm, uint64_t ms) { return arm(t, tm, ms, false); }
bool rpc_timer_hasten(rpc_timers *t, rpc_timer *tm, uint64_t ms) { return arm(t, tm, ms, true); }

void rpc_timer_clear(rpc_timers *t, rpc_timer *tm)
{
    pthread_mutex_lock(&t->mu);
    take_out(t, tm);
    pthread_mutex_unlock(&t->mu);
}

void rpc_timer_kill(rpc_timers *t, rpc_timer *tm)
{
    pthread_mutex_lock(&t->mu);
    take_out(t, tm);
    tm->is_dead = true;
    pthread_mutex_unlock(&t->mu);
}

static void sleep_until(rpc_timers *t, uint64_t ns)
{
    const uint64_t second = 1000000000u;
    struct timespec ts = {.tv_sec = (time_t)(ns / second), .tv_nsec = (long)(ns % second)};
    pthread_cond_timedwait(&t->wake, &t->mu, &ts);
}

static void *run(void *arg)
{
    rpc_timers *t = arg;
    uint64_t next_tick = clock_now_ns();
    pthread_mutex_lock(&t->mu);
    while (!t->stop) {
        uint64_t now = clock_now_ns();
        if (now >= next_tick) {
            pthread_mutex_unlock(&t->mu);
            t->ops.tick(t->ops.tick_ctx);
            pthread_mutex_lock(&t->mu);
            next_tick = now + t->ops.tick_ms * 1000000u;
        } else if (t->n && t->heap[0]->due_ns <= now) {
            rpc_timer *tm = t->heap[0];
            take_out(t, tm);
            t->ops.keep(tm);
            pthread_mutex_unlock(&t->mu);
            t->ops.fire(tm);
            pthread_mutex_lock(&t->mu);
        } else {
            sleep_until(t, t->n && t->heap[0]->due_ns < next_tick ? t->heap[0]->due_ns : next_tick);
        }
    }
    pthread_mutex_unlock(&t->mu);
    return NULL;
}

cuzk_status rpc_timers_create(rpc_timers **out, const rpc_timer_ops *ops)
{
    *out = NULL;
    rpc_timers *t = mem_zalloc(sizeof *t, 64);
    if (!t)
        return cuzk_fail(CUZK_E_NOMEM, "timers");
    t->ops = *ops;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&t->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&t->mu, NULL);
    if (pthread_create(&t->thread, NULL, run, t) != 0) {
        pthread_cond_destroy(&t->wake);
        pthread_mutex_destroy(&t->mu);
        mem_free(t);
        return cuzk_fail(CUZK_E_NOMEM, "timer thread");
    }
    *out = t;
    return cuzk_ok();
}

void rpc_timers_destroy(rpc_timers *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->mu);
    t->stop = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->mu);
    pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->mu);
    mem_free(t->heap);
    mem_free(t);
}
