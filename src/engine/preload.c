/* Circuits that are loaded at start. One that cannot be is tried again from time to time: a key file
 * may appear later, a device come back. */
#include "engine/engine_int.h"
#include <stdio.h>
#include <string.h>

#define RETRY_MS 30000u

struct preload {
    engine *e;
    char circuit[CIRCUIT_ID_MAX];
    engine_preload_state state;
    bool is_tried;     /* loaded or failed at least once */
    uint64_t retry_ns; /* of a failed one */
    cuzk_status st;
};

/* Lock held. */
static bool tell_result(preload *p, const cuzk_status *st)
{
    bool is_news = p->state == ENGINE_PRELOAD_LOADING && st->code == CUZK_OK;
    /* A failure is logged when it begins and when its reason changes. */
    if (st->code != CUZK_OK)
        is_news = p->st.code != st->code || strcmp(p->st.msg, st->msg) != 0;
    p->st = *st;
    p->is_tried = true;
    p->state = st->code == CUZK_OK ? ENGINE_PRELOAD_READY : ENGINE_PRELOAD_FAILED;
    p->retry_ns =
        clock_now_ns() +
        (p->e->cfg.preload_retry_ms ? p->e->cfg.preload_retry_ms : RETRY_MS) * (uint64_t)ENGINE_MS;
    return is_news;
}

static void preload_done(void *ctx, cuzk_status st, bool was_loaded, uint64_t load_ms,
                         uint64_t bytes)
{
    preload *p = ctx;
    (void)was_loaded;
    (void)bytes;
    engine_lock(p->e);
    bool is_news = tell_result(p, &st);
    dispatch_kick(p->e);
    engine_unlock(p->e);
    if (is_news && st.code != CUZK_OK)
        log_error("preload", LOG_STR("circuit", p->circuit), LOG_STR("error", st.msg));
    else if (is_news)
        log_info("preload", LOG_STR("circuit", p->circuit), LOG_U64("ms", load_ms));
}

cuzk_status preloads_init(engine *e, const engine_config *cfg)
{
    if (cfg->n_preload == 0)
        return cuzk_ok();
    if (cfg->n_preload > KEY_CACHE_KEPT_MAX)
        return cuzk_fail(CUZK_E_INPUT, "%u circuits to preload, want at most %u", cfg->n_preload,
                         KEY_CACHE_KEPT_MAX);
    e->preloads = mem_zalloc(cfg->n_preload * sizeof *e->preloads, 8);
    if (!e->preloads)
        return cuzk_fail(CUZK_E_NOMEM, "%u preloads", cfg->n_preload);
    for (uint32_t i = 0; i < cfg->n_preload; i++) {
        circuit_id id;
        CUZK_TRY(circuit_id_parse(&id, cfg->preload[i]));
        e->preloads[i].e = e;
        circuit_id_format(e->preloads[i].circuit, &id);
        key_cache_keep(&e->keys, e->preloads[i].circuit);
    }
    e->n_preloads = cfg->n_preload;
    return cuzk_ok();
}

void preloads_start(engine *e)
{
    for (uint32_t i = 0; i < e->n_preloads; i++)
        engine_preload(e, e->preloads[i].circuit, preload_done, &e->preloads[i]);
}

void preloads_retry(engine *e, uint64_t now)
{
    for (uint32_t i = 0; i < e->n_preloads && !e->is_draining; i++) {
        preload *p = &e->preloads[i];
        if (p->state != ENGINE_PRELOAD_FAILED || now < p->retry_ns)
            continue;
        p->state = ENGINE_PRELOAD_LOADING;
        engine_unlock(e);
        engine_preload(e, p->circuit, preload_done, p);
        engine_lock(e);
    }
}

uint64_t preloads_next_ns(const engine *e)
{
    uint64_t at = UINT64_MAX;
    for (uint32_t i = 0; i < e->n_preloads && !e->is_draining; i++)
        if (e->preloads[i].state == ENGINE_PRELOAD_FAILED && e->preloads[i].retry_ns < at)
            at = e->preloads[i].retry_ns;
    return at;
}

bool preloads_are_ready(const engine *e)
{
    for (uint32_t i = 0; i < e->n_preloads; i++)
        if (e->preloads[i].state != ENGINE_PRELOAD_READY)
            return false;
    return true;
}

bool engine_preloads_tried(const engine *e)
{
    engine *w = (engine *)(uintptr_t)e; /* the lock is not part of its value */
    bool all = true;
    engine_lock(w);
    for (uint32_t i = 0; i < e->n_preloads; i++)
        all = all && e->preloads[i].is_tried;
    engine_unlock(w);
    return all;
}

cuzk_status preloads_view(const engine *e, engine_snapshot *s)
{
    s->preloads = mem_zalloc((e->n_preloads + 1) * sizeof *s->preloads, 8);
    if (!s->preloads)
        return cuzk_fail(CUZK_E_NOMEM, "a snapshot");
    s->n_preloads = e->n_preloads;
    for (uint32_t i = 0; i < e->n_preloads; i++) {
        const preload *p = &e->preloads[i];
        engine_preload_view *v = &s->preloads[i];
        snprintf(v->circuit_id, sizeof v->circuit_id, "%s", p->circuit);
        v->state = p->state;
        /* While it is tried again the last reason still stands. */
        if (p->st.code != CUZK_OK)
            snprintf(v->error, sizeof v->error, "%s", p->st.msg);
    }
    return cuzk_ok();
}
