/* One batch over several devices: a thread for each, a common share table. */
#include "base/mem.h"
#include "base/span_names.h"
#include "groth16/multi_int.h"
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* Most proofs of one call of a member's prove: the 0/1 sums of ten share a pass over the key. */
#define TAKE_MAX 10u
/* Weight of the newest speed in the running mean. */
#define SPEED_WEIGHT 0.5
/* How often a device with nothing to do looks whether others have fallen behind. */
#define LOOK_NS 20000000u

typedef struct multi_run {
    multi *m;
    multi_handle *h;
    const g16_batch *batch;
    const run_ctx *rc;
    struct device_run *devices; /* m->n */
    share share;
    uint32_t usable;   /* bit d: device d has not failed in this batch */
    double fraction;   /* told last; of the caller's thread */
    cuzk_status st;    /* the first failure that ends the batch */
    g16_timings times; /* of the slowest device */
} multi_run;

/* What one device makes at the moment. */
typedef struct device_run {
    multi_run *run;
    uint32_t dev;
    uint32_t idx[TAKE_MAX], n, n_done;
    uint64_t start_ns; /* of its call of prove; 0: in none */
    bool had_some;
    int32_t partition[TAKE_MAX];
    const witness *w[TAKE_MAX];
    g16_blinding rs[TAKE_MAX];
    g16_proof out[TAKE_MAX];
} device_run;

/* A proof that counts as made, though it is not. */
static void leave_out(device_run *d, uint32_t k)
{
    multi_run *r = d->run;
    pthread_mutex_lock(&r->m->lock);
    share_finish(&r->share, d->dev, k);
    pthread_cond_broadcast(&r->m->changed);
    pthread_mutex_unlock(&r->m->lock);
}

static bool on_claim(void *ctx, size_t i)
{
    device_run *d = ctx;
    multi_run *r = d->run;
    uint32_t k = d->idx[i];
    pthread_mutex_lock(&r->m->lock);
    bool ours = r->st.code == CUZK_OK && share_claim(&r->share, d->dev, k);
    pthread_mutex_unlock(&r->m->lock);
    if (!ours || !r->batch->claim)
        return ours;
    pthread_mutex_lock(&r->m->callback_lock);
    bool wanted = r->batch->claim(r->batch->ctx, k);
    pthread_mutex_unlock(&r->m->callback_lock);
    if (!wanted)
        leave_out(d, k); /* made outside: nothing to do here any more */
    return wanted;
}

static void on_done(void *ctx, size_t i)
{
    device_run *d = ctx;
    multi_run *r = d->run;
    uint32_t k = d->idx[i];
    /* Only the claimer writes out[k], and it does so before the proof counts as done. */
    r->batch->out[k] = d->out[i];
    if (r->batch->done) {
        pthread_mutex_lock(&r->m->callback_lock);
        r->batch->done(r->batch->ctx, k);
        pthread_mutex_unlock(&r->m->callback_lock);
    }
    pthread_mutex_lock(&r->m->lock);
    d->n_done++;
    share_finish(&r->share, d->dev, k);
    pthread_cond_broadcast(&r->m->changed);
    pthread_mutex_unlock(&r->m->lock);
}

/* Nobody waits for the witness of a proof that is not, or no longer, to be made here. */
static g16_ready on_ready(void *ctx, size_t i)
{
    device_run *d = ctx;
    multi_run *r = d->run;
    uint32_t k = d->idx[i];
    pthread_mutex_lock(&r->m->lock);
    bool ours = r->st.code == CUZK_OK && share_has(&r->share, d->dev, k);
    pthread_mutex_unlock(&r->m->lock);
    if (!ours)
        return G16_NEVER;
    pthread_mutex_lock(&r->m->callback_lock);
    g16_ready there = r->batch->ready(r->batch->ctx, k);
    pthread_mutex_unlock(&r->m->callback_lock);
    if (there == G16_NEVER)
        leave_out(d, k);
    return there;
}

static bool on_cancelled(void *ctx)
{
    multi_run *r = ctx;
    pthread_mutex_lock(&r->m->callback_lock);
    bool yes = run_cancelled(r->rc);
    pthread_mutex_unlock(&r->m->callback_lock);
    return yes;
}

/* A member's fraction is that of what it took at a time. */
static void on_progress(void *ctx, const char *stage, double fraction)
{
    device_run *d = ctx;
    multi_run *r = d->run;
    pthread_mutex_lock(&r->m->lock);
    double done = share_count(&r->share, SHARE_DONE) + fraction * (d->n - d->n_done);
    pthread_mutex_unlock(&r->m->lock);
    done /= (double)r->batch->n;
    if (done <= r->fraction)
        return;
    r->fraction = done < 1 ? done : 1;
    run_progress(r->rc, stage, r->fraction);
}

/* Under lock. */
static void survey(const multi_run *r, share_devices *all)
{
    uint64_t now = clock_now_ns();
    all->n = r->m->n;
    for (uint32_t i = 0; i < all->n; i++) {
        const multi_member *m = &r->m->members[i];
        const device_run *d = &r->devices[i];
        double seconds = d->start_ns && now > d->start_ns ? (double)(now - d->start_ns) / 1e9 : 0;
        all->d[i] = (share_device){.speed = share_hoped_speed(m->stats.speed, m->n_left_out),
                                   .at_most = seconds > 0 ? d->n / seconds : 0,
                                   .backlog = share_backlog(&r->share, i),
                                   .is_open = r->usable >> i & 1,
                                   .n_may = share_count_for(&r->share, i, r->usable)};
    }
}

/* Under lock. One of each stride free proofs that d may have, until it has want. */
static void take_free(device_run *d, uint32_t want, uint32_t stride, bool only_avoided)
{
    multi_run *r = d->run;
    uint32_t n_seen = 0;
    for (uint32_t k = 0; k < r->share.n && d->n < want; k++)
        if ((!only_avoided || r->share.parts[k].avoid) &&
            share_may_take(&r->share, d->dev, k, r->usable) && n_seen++ % stride == 0 &&
            share_take(&r->share, d->dev, k))
            d->idx[d->n++] = k;
}

/* Under lock. Free proofs first, then unclaimed ones of others. */
static void take(device_run *d)
{
    multi_run *r = d->run;
    share_devices all;
    survey(r, &all);
    uint32_t left = share_count(&r->share, SHARE_FREE);
    uint32_t want = share_quota(&all, d->dev, left, TAKE_MAX);
    d->n = d->n_done = 0;
    /* Those first that others may not take. */
    take_free(d, want, 1, true);
    /* Witnesses that are being made come one by one: with every so-manieth of them no device waits
     * long for its first. */
    uint32_t more = want - d->n, n_may = all.d[d->dev].n_may - d->n;
    take_free(d, want, r->batch->ready && more ? n_may / more : 1, false);
    if (d->n == 0) {
        d->n = share_steal(&r->share, &all, d->dev, d->idx, TAKE_MAX);
        r->m->members[d->dev].stats.n_stolen += d->n;
    }
    d->had_some |= d->n > 0;
    for (uint32_t i = 0; i < d->n; i++) {
        d->partition[i] = g16_batch_partition(r->batch, d->idx[i]);
        d->w[i] = r->batch->w[d->idx[i]];
        d->rs[i] = r->batch->rs[d->idx[i]];
    }
}

/* A fault of the device, not of the request: others may do better. */
static bool is_device_fault(cuzk_code c)
{
    return c != CUZK_OK && c != CUZK_E_CANCELLED && c != CUZK_E_INPUT && c != CUZK_E_USAGE;
}

/* Under lock. */
static void measure(multi_member *m, uint32_t n_done, double seconds)
{
    double now = n_done / seconds, *speed = &m->stats.speed;
    if (!m->is_cold)
        *speed = *speed > 0 ? *speed + SPEED_WEIGHT * (now - *speed) : now;
    m->is_cold = false; /* it took the time to recover, which is no measure of it */
    m->n_left_out = 0;
}

/* Under lock. */
static void account(device_run *d, cuzk_status st, const g16_timings *t, uint64_t ns)
{
    bool kept = false;
    multi_run *r = d->run;
    g16_multi_stats *s = &r->m->members[d->dev].stats;
    double seconds = (double)ns / 1e9;
    s->busy_seconds += seconds;
    s->n_proofs += d->n_done;
    if (st.code == CUZK_OK && d->n_done > 0 && seconds > 0)
        measure(&r->m->members[d->dev], d->n_done, seconds);
    if (t->total_ns > r->times.total_ns)
        r->times = *t;
    for (uint32_t i = 0; i < d->n; i++)
        kept |= share_give_back(&r->share, d->dev, d->idx[i], is_device_fault(st.code));
    /* Not when the batch ended meanwhile: then claims were refused. */
    if (st.code == CUZK_OK && kept && r->st.code == CUZK_OK)
        st = cuzk_fail(CUZK_E_INTERNAL, "a proof was claimed and not made");
    if (st.code == CUZK_OK)
        return;
    if (is_device_fault(st.code)) {
        s->n_faults++;
        r->m->members[d->dev].is_cold = true;
        r->usable &= ~(1u << d->dev);
    }
    /* The last device's failure, or one that no other device can mend, ends the batch. */
    if (r->st.code == CUZK_OK && (!is_device_fault(st.code) || r->usable == 0))
        r->st = cuzk_wrap(st, "%s", s->name);
}

static cuzk_status prove_taken(device_run *d)
{
    multi_run *r = d->run;
    multi_member *w = &r->m->members[d->dev];
    g16_timings t = {0};
    const g16_batch b = {.n = d->n,
                         .w = d->w,
                         .rs = d->rs,
                         .out = d->out,
                         .partition = d->partition,
                         .claim = on_claim,
                         .done = on_done,
                         .ready = r->batch->ready ? on_ready : NULL,
                         .ctx = d};
    run_ctx rc = *r->rc;
    rc.yield = NULL;
    rc.cancelled = on_cancelled;
    rc.cancel_ctx = r;
    rc.progress = d->dev == 0 && r->rc->progress ? on_progress : NULL;
    rc.progress_ctx = d;
    span_id s = span_begin(rc.spans, rc.parent, SPAN_DEVICE);
    rc.parent = s;
    cuzk_status st = w->backend->ops->prove(w->backend, r->h->of[d->dev], &b, &t, &rc);
    span_end(rc.spans, s);
    pthread_mutex_lock(&r->m->lock);
    account(d, st, &t, clock_now_ns() - d->start_ns);
    d->start_ns = 0;
    pthread_cond_broadcast(&r->m->changed);
    pthread_mutex_unlock(&r->m->lock);
    return st;
}

/* Under lock; released meanwhile. */
static void wait_a_little(multi *m)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&m->changed, &m->lock, &until);
}

/* Under lock; released meanwhile. The first device tells progress, also that of the others while it has
 * nothing to do. */
static void tell_waiting(device_run *d)
{
    if (d->dev != 0 || !d->run->rc->progress)
        return;
    pthread_mutex_unlock(&d->run->m->lock);
    on_progress(d, SPAN_WAIT, 0);
    pthread_mutex_lock(&d->run->m->lock);
}

static void *device_main(void *arg)
{
    device_run *d = arg;
    multi_run *r = d->run;
    pthread_mutex_lock(&r->m->lock);
    while (r->st.code == CUZK_OK && (r->usable >> d->dev & 1) &&
           share_count(&r->share, SHARE_DONE) < r->share.n) {
        take(d);
        if (d->n == 0) {
            /* Until a proof is finished, one comes back from a device that failed, or another device
             * turns out to be slow. */
            wait_a_little(r->m);
            tell_waiting(d);
            continue;
        }
        d->start_ns = clock_now_ns();
        pthread_mutex_unlock(&r->m->lock);
        (void)prove_taken(d); /* recorded in r->st when it counts */
        pthread_mutex_lock(&r->m->lock);
    }
    pthread_cond_broadcast(&r->m->changed);
    pthread_mutex_unlock(&r->m->lock);
    mem_wipe(d->rs, sizeof d->rs);
    return NULL;
}

/* Own threads, not the pool's: a device's host work runs loops on the pool itself. The caller is the
 * first device's thread. */
static cuzk_status run_devices(multi_run *r)
{
    device_run *d = r->devices;
    pthread_t threads[SHARE_DEVICES_MAX];
    uint32_t started = 1;
    for (; started < r->m->n; started++) {
        int err = pthread_create(&threads[started], NULL, device_main, &d[started]);
        if (err == 0)
            continue;
        pthread_mutex_lock(&r->m->lock);
        r->st = cuzk_fail(CUZK_E_NOMEM, "thread of %s: %s", r->m->members[started].stats.name,
                          strerror(err));
        pthread_cond_broadcast(&r->m->changed);
        pthread_mutex_unlock(&r->m->lock);
        break;
    }
    device_main(&d[0]);
    for (uint32_t i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
    return r->st;
}

/* Healthy devices that got nothing have another chance some day. */
static void count_left_out(multi_run *r)
{
    pthread_mutex_lock(&r->m->lock);
    for (uint32_t i = 0; i < r->m->n; i++)
        if ((r->usable >> i & 1) && !r->devices[i].had_some)
            r->m->members[i].n_left_out++;
    pthread_mutex_unlock(&r->m->lock);
}

static cuzk_status prove_with(multi_run *r)
{
    CUZK_TRY(share_init(&r->share, (uint32_t)r->batch->n));
    device_run *d = r->devices = mem_zalloc(r->m->n * sizeof *d, 64);
    if (!d)
        return cuzk_fail(CUZK_E_NOMEM, "%u devices", r->m->n);
    for (uint32_t i = 0; i < r->m->n; i++) {
        d[i].run = r;
        d[i].dev = i;
    }
    cuzk_status st = run_devices(r);
    if (st.code == CUZK_OK)
        count_left_out(r);
    mem_free(d);
    if (st.code == CUZK_OK && r->fraction < 1)
        run_progress(r->rc, SPAN_ASSEMBLE, 1.0);
    if (st.code == CUZK_OK)
        CUZK_VERIFY(share_count(&r->share, SHARE_DONE) == r->share.n);
    return st;
}

cuzk_status multi_prove(multi *m, multi_handle *h, const g16_batch *batch, g16_timings *t,
                        const run_ctx *rc)
{
    memset(batch->out, 0, batch->n * sizeof *batch->out);
    if (t)
        *t = (g16_timings){0};
    pthread_mutex_lock(&m->lock);
    bool was_busy = m->busy;
    m->busy = true;
    pthread_mutex_unlock(&m->lock);
    if (was_busy)
        return cuzk_fail(CUZK_E_USAGE, "several devices: two proofs at once on one backend");
    uint64_t start = clock_now_ns();
    multi_run r = {.m = m, .h = h, .batch = batch, .rc = rc, .usable = UINT32_MAX};
    r.usable >>= 32 - m->n;
    cuzk_status st = prove_with(&r);
    share_fini(&r.share);
    if (st.code != CUZK_OK)
        memset(batch->out, 0, batch->n * sizeof *batch->out);
    if (t) {
        *t = r.times;
        t->total_ns = clock_now_ns() - start;
    }
    pthread_mutex_lock(&m->lock);
    m->busy = false;
    pthread_mutex_unlock(&m->lock);
    return st;
}
