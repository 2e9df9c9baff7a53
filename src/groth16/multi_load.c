/* A circuit on all devices at once: those that read a key file from the disk read it together, and
 * others have nothing to wait for. */
#include "base/span_names.h"
#include "groth16/multi_int.h"

typedef struct multi_loading {
    multi *m;
    const r1cs_shape *s;
    const g16_key *k;
    const run_ctx *rc;
    bool failed; /* guarded by m->lock: the others need not go on */
} multi_loading;

typedef struct device_load {
    multi_loading *of;
    uint32_t dev;
    void *handle;
    cuzk_status st;
} device_load;

static bool on_cancelled(void *ctx)
{
    multi_loading *l = ctx;
    pthread_mutex_lock(&l->m->lock);
    bool yes = l->failed;
    pthread_mutex_unlock(&l->m->lock);
    if (yes)
        return true;
    pthread_mutex_lock(&l->m->callback_lock);
    yes = run_cancelled(l->rc);
    pthread_mutex_unlock(&l->m->callback_lock);
    return yes;
}

static void load_one(device_load *d)
{
    multi_loading *l = d->of;
    multi_member *w = &l->m->members[d->dev];
    run_ctx rc = *l->rc;
    rc.yield = NULL;
    rc.cancelled = on_cancelled;
    rc.cancel_ctx = l;
    if (d->dev != 0)
        rc.progress = NULL;
    span_id s = span_begin(rc.spans, rc.parent, SPAN_DEVICE);
    span_note(rc.spans, s, (int32_t)d->dev, 0);
    rc.parent = s;
    d->st = cuzk_wrap(w->backend->ops->load(w->backend, l->s, l->k, &rc, &d->handle), "%s",
                      w->stats.name);
    span_end(rc.spans, s);
}

static void *load_main(void *arg)
{
    device_load *d = arg;
    load_one(d);
    if (d->st.code != CUZK_OK && d->st.code != CUZK_E_NOMEM) {
        pthread_mutex_lock(&d->of->m->lock);
        d->of->failed = true;
        pthread_mutex_unlock(&d->of->m->lock);
    }
    return NULL;
}

/* The caller is the first device's thread. */
static void load_at_once(device_load *d, uint32_t n)
{
    pthread_t threads[SHARE_DEVICES_MAX];
    bool started[SHARE_DEVICES_MAX] = {false};
    for (uint32_t i = 1; i < n; i++)
        started[i] = pthread_create(&threads[i], NULL, load_main, &d[i]) == 0;
    load_main(&d[0]);
    for (uint32_t i = 1; i < n; i++) {
        if (started[i])
            pthread_join(threads[i], NULL);
        else
            load_main(&d[i]);
    }
}

/* Two backends on one card each planned with all of its free memory: whoever found none plans again
 * with what the others have left. */
static void load_again(device_load *d, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (d[i].st.code == CUZK_E_NOMEM)
            load_main(&d[i]);
}

/* The failure to tell: not a device's that ended because of another's. */
static cuzk_status first_failure(const device_load *d, uint32_t n)
{
    cuzk_status st = cuzk_ok();
    for (uint32_t i = 0; i < n; i++)
        if (d[i].st.code != CUZK_OK && (st.code == CUZK_OK || st.code == CUZK_E_CANCELLED))
            st = d[i].st;
    return st;
}

cuzk_status multi_load(multi *m, multi_handle *h, const r1cs_shape *s, const g16_key *k,
                       const run_ctx *rc)
{
    multi_loading l = {.m = m, .s = s, .k = k, .rc = rc};
    device_load d[SHARE_DEVICES_MAX];
    for (uint32_t i = 0; i < SHARE_DEVICES_MAX; i++)
        d[i] = (device_load){.of = &l, .dev = i};
    load_at_once(d, m->n);
    if (!l.failed)
        load_again(d, m->n);
    for (uint32_t i = 0; i < m->n; i++)
        h->of[i] = d[i].st.code == CUZK_OK ? d[i].handle : NULL;
    return first_failure(d, m->n);
}
