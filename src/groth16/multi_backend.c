#include "groth16/multi_backend.h"
#include "base/mem.h"
#include "base/span_names.h"
#include "groth16/multi_int.h"
#include <stdio.h>
#include <string.h>

static multi *of(g16_backend *b) { return (multi *)(void *)b; }

static cuzk_status new_handle(multi *m, multi_handle **out)
{
    *out = mem_zalloc(sizeof **out + m->n * sizeof(void *), 64);
    return *out ? cuzk_ok() : cuzk_fail(CUZK_E_NOMEM, "handle of %u devices", m->n);
}

static void op_unload(g16_backend *b, void *handle)
{
    multi *m = of(b);
    multi_handle *h = handle;
    if (!h)
        return;
    for (uint32_t i = 0; i < m->n; i++)
        if (h->of[i])
            m->members[i].backend->ops->unload(m->members[i].backend, h->of[i]);
    mem_free(h);
}

static cuzk_status op_load(g16_backend *b, const r1cs_shape *s, const g16_key *k, const run_ctx *rc,
                           void **handle)
{
    multi *m = of(b);
    multi_handle *h;
    *handle = NULL;
    CUZK_TRY(new_handle(m, &h));
    cuzk_status st = multi_load(m, h, s, k, rc);
    if (st.code != CUZK_OK) {
        op_unload(b, h);
        return st;
    }
    *handle = h;
    return cuzk_ok();
}

cuzk_status g16_multi_join(g16_backend *multi_b, void *const *handles, void **handle)
{
    multi *m = of(multi_b);
    multi_handle *h;
    *handle = NULL;
    cuzk_status st = new_handle(m, &h);
    if (st.code != CUZK_OK) {
        for (uint32_t i = 0; i < m->n; i++)
            m->members[i].backend->ops->unload(m->members[i].backend, handles[i]);
        return st;
    }
    memcpy(h->of, handles, m->n * sizeof h->of[0]);
    *handle = h;
    return cuzk_ok();
}

static cuzk_status op_prove(g16_backend *b, void *handle, const g16_batch *batch, g16_timings *t,
                            const run_ctx *rc)
{
    return multi_prove(of(b), handle, batch, t, rc);
}

static void op_describe(g16_backend *b, char *buf, size_t len)
{
    multi *m = of(b);
    size_t used = 0;
    for (uint32_t i = 0; i < m->n && used < len; i++) {
        char one[160];
        m->members[i].backend->ops->describe(m->members[i].backend, one, sizeof one);
        int n = snprintf(buf + used, len - used, "%s%s: %s", i ? "; " : "",
                         m->members[i].stats.name, one);
        used += n > 0 ? (size_t)n : 0;
    }
}

static cuzk_status op_self_test(g16_backend *b, const run_ctx *rc)
{
    multi *m = of(b);
    for (uint32_t i = 0; i < m->n; i++)
        CUZK_TRY(cuzk_wrap(m->members[i].backend->ops->self_test(m->members[i].backend, rc), "%s",
                           m->members[i].stats.name));
    return cuzk_ok();
}

static void op_destroy(g16_backend *b)
{
    multi *m = of(b);
    for (uint32_t i = 0; i < m->n; i++)
        m->members[i].backend->ops->destroy(m->members[i].backend);
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    pthread_mutex_destroy(&m->callback_lock);
    mem_free(m);
}

/* Each member has all of the key: the answer of the one that lacks most. */
static void op_plan(g16_backend *b, uint64_t *need, uint64_t *available, const g16_key_info *k)
{
    multi *m = of(b);
    *need = *available = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        g16_backend *w = m->members[i].backend;
        uint64_t n = 0, a = 0;
        if (!w->ops->plan)
            continue;
        w->ops->plan(w, &n, &a, k);
        if ((n > a ? n - a : 0) >= (*need > *available ? *need - *available : 0)) {
            *need = n;
            *available = a;
        }
    }
}

static const g16_backend_ops multi_ops = {
    .name = "multi",
    .load = op_load,
    .unload = op_unload,
    .prove = op_prove,
    .describe = op_describe,
    .self_test = op_self_test,
    .destroy = op_destroy,
    .plan = op_plan,
};

cuzk_status g16_multi_create(g16_backend **out, g16_backend *const *members,
                             const char *const *names, uint32_t n)
{
    *out = NULL;
    bool fits = n > 0 && n <= SHARE_DEVICES_MAX;
    multi *m = fits ? mem_zalloc(sizeof *m, 64) : NULL;
    if (!m) {
        for (uint32_t i = 0; i < n; i++)
            members[i]->ops->destroy(members[i]);
        return fits ? cuzk_fail(CUZK_E_NOMEM, "%u devices", n)
                    : cuzk_fail(CUZK_E_RANGE, "devices: expected 1 to %u, found %u",
                                SHARE_DEVICES_MAX, n);
    }
    pthread_condattr_t attr;
    m->base.ops = &multi_ops;
    m->n = n;
    pthread_mutex_init(&m->lock, NULL);
    pthread_mutex_init(&m->callback_lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&m->changed, &attr);
    pthread_condattr_destroy(&attr);
    for (uint32_t i = 0; i < n; i++) {
        m->members[i].backend = members[i];
        snprintf(m->members[i].stats.name, sizeof m->members[i].stats.name, "%s", names[i]);
    }
    *out = &m->base;
    return cuzk_ok();
}

g16_multi_stats g16_multi_get_stats(g16_backend *multi_b, uint32_t idx)
{
    multi *m = of(multi_b);
    g16_multi_stats s = {0};
    if (idx >= m->n)
        return s;
    pthread_mutex_lock(&m->lock);
    s = m->members[idx].stats;
    pthread_mutex_unlock(&m->lock);
    return s;
}
