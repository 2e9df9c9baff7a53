/* Loading keys and giving them up: the files and the shape on host workers. Handles on devices are
 * made and released by the device's own thread. */
#include "engine/engine_int.h"
#include <stdio.h>
#include <string.h>

/* While an entry loads or closes, its shape, key and verifying key belong to the worker at it. */
static void release(key_entry *k)
{
    g16_pvk_destroy(k->pvk);
    g16_vk_fini(&k->vk);
    g16_key_close(k->key);
    r1cs_shape_destroy(k->shape);
    k->pvk = NULL;
    k->key = NULL;
    k->shape = NULL;
}

static bool same_vk(const g16_vk *a, const g16_vk *b)
{
    size_t n = g16_vk_bytes(a);
    if (a->n_ic != b->n_ic || g16_vk_bytes(b) != n)
        return false;
    uint8_t *x = mem_alloc(n, 8), *y = mem_alloc(n, 8);
    bool same = x && y;
    if (same) {
        g16_vk_encode(x, a);
        g16_vk_encode(y, b);
        same = memcmp(x, y, n) == 0;
    }
    mem_free(x);
    mem_free(y);
    return same;
}

/* Proofs are verified with the .vk file when there is one: it is what the chain uses. */
static cuzk_status open_vk(key_entry *k, const char *path)
{
    cuzk_status st = g16_vk_load(&k->vk, path);
    if (st.code == CUZK_E_NOT_FOUND)
        return g16_pvk_create(&k->pvk, g16_key_vk(k->key));
    CUZK_TRY(st);
    if (!same_vk(&k->vk, g16_key_vk(k->key)))
        return cuzk_fail(CUZK_E_INPUT, "%.160s does not belong to the .params file beside it",
                         path);
    return g16_pvk_create(&k->pvk, &k->vk);
}

/* *too_small: for the entry, once the lock is held. */
static cuzk_status load(key_entry *k, uint32_t *too_small, const engine *e)
{
    char path[4096];
    CUZK_TRY(circuit_id_shape(&k->shape, &k->id));
    key_path(path, sizeof path, e, &k->id, "params");
    CUZK_TRY(g16_key_open(&k->key, path));
    CUZK_TRY(cuzk_wrap(g16_key_match(k->key, k->shape), "%.120s", path));
    CUZK_TRY(demand_on_devices(too_small, e, g16_key_get_info(k->key), k->name));
    key_path(path, sizeof path, e, &k->id, "vk");
    return open_vk(k, path);
}

/* The file against the published digest, in the background and once per load: reading 44 GiB takes
 * a minute. A key of other digest is a development key (or damaged): proofs made with it verify here
 * and nowhere else. */
typedef struct digest_ctx {
    engine *e;
    key_entry *k;
} digest_ctx;

static bool digest_is_stopped(void *ctx)
{
    const digest_ctx *c = ctx;
    return atomic_load_explicit(&c->k->is_unwanted, memory_order_relaxed) ||
           atomic_load_explicit(&c->e->stop_work, memory_order_relaxed);
}

static void next_digest(engine *e);

static void digest_run(engine *e, host_task *t)
{
    key_entry *k = t->arg;
    char stem[PROOF_STEM_MAX], hex[33];
    digest_ctx ctx = {e, k};
    circuit_id_param_stem(stem, &k->id);
    const g16_published *p = g16_published_find(stem);
    cuzk_status st =
        g16_key_digest(k->key, hex, &(run_ctx){.cancelled = digest_is_stopped, .cancel_ctx = &ctx});
    if (st.code == CUZK_E_CANCELLED)
        log_debug("key_digest_stopped", LOG_STR("circuit", k->name));
    else if (st.code != CUZK_OK)
        log_error("key_digest", LOG_STR("circuit", k->name), LOG_STR("error", st.msg));
    else if (p && strcmp(p->params_digest, hex) != 0)
        log_warn("key_not_published", LOG_STR("circuit", k->name), LOG_STR("digest", hex),
                 LOG_STR("published", p->params_digest));
    else
        log_info("key_digest_ok", LOG_STR("circuit", k->name));
    engine_lock(e);
    k->n_checks--;
    e->is_digesting = false;
    next_digest(e);
    key_maybe_close(e, k);
    dispatch_kick(e);
    host_task_done(e, t);
    engine_unlock(e);
}

/* One at a time: more would take the host workers from jobs, and read no faster. Lock held. */
static void next_digest(engine *e)
{
    key_entry *k = e->keys.first;
    while (k && !(k->wants_check && k->state == KEY_READY))
        k = k->next;
    host_task *t = k && !e->is_digesting && !e->is_draining ? host_task_new(digest_run, k) : NULL;
    if (!t)
        return;
    k->wants_check = false;
    k->n_checks++;
    e->is_digesting = true;
    host_push(e, t, &(sched_rank){.cls = JOB_CRITICAL - JOB_LOW});
}

/* Lock held. */
static void start_digest(engine *e, key_entry *k)
{
    char stem[PROOF_STEM_MAX];
    circuit_id_param_stem(stem, &k->id);
    k->wants_check = g16_published_find(stem) != NULL;
    next_digest(e);
}

/* Lock held. The estimate in the budget becomes the truth. */
static void adopt(engine *e, key_entry *k)
{
    const r1cs_counts *c = r1cs_shape_counts(k->shape);
    uint64_t bytes = key_host_bytes(c->shape_bytes, (uint64_t)1 << c->lg_m, e->n_host_devices);
    budget_release(&e->budget, BUDGET_KEYS, k->host_bytes);
    budget_force(&e->budget, BUDGET_KEYS, bytes);
    k->host_bytes = bytes;
    k->file_bytes = g16_key_get_info(k->key)->file_bytes;
    k->witness_bytes = key_witness_bytes(c->n_inputs, c->n_aux, c->n_dense);
    k->state = KEY_READY;
    for (uint32_t d = 0; d < e->n_devices; d++)
        k->slots[d].is_wanted = true;
}

/* Lock held. */
static void tell_jobs(engine *e, key_entry *k)
{
    for (job *j = e->jobs.first, *next; j; j = next) {
        next = j->next;
        if (j->key == k && !j->has_key)
            pipeline_key_ready(e, j);
    }
}

static void load_run(engine *e, host_task *t)
{
    key_entry *k = t->arg;
    uint64_t t0 = clock_now_ns();
    uint32_t too_small = 0;
    cuzk_status st = load(k, &too_small, e);
    if (st.code != CUZK_OK)
        release(k);
    uint64_t ms = (clock_now_ns() - t0) / ENGINE_MS;
    engine_lock(e);
    k->load_ms = ms;
    k->st = st;
    k->too_small = too_small;
    if (st.code == CUZK_OK) {
        adopt(e, k);
        start_digest(e, k);
    } else {
        k->state = KEY_FAILED;
        budget_release(&e->budget, BUDGET_KEYS, k->host_bytes);
        k->host_bytes = 0;
    }
    tell_jobs(e, k);
    key_tell_preloads(e, k);
    devices_kick(e);
    dispatch_kick(e);
    char name[CIRCUIT_ID_MAX];
    memcpy(name, k->name, sizeof name);
    key_release(e, k); /* the load itself */
    host_task_done(e, t);
    engine_unlock(e);
    if (st.code == CUZK_OK)
        log_info("key_loaded", LOG_STR("circuit", name), LOG_U64("ms", ms));
    else
        log_error("key_load", LOG_STR("circuit", name), LOG_STR("error", st.msg));
}

bool key_start_load(engine *e, key_entry *k, const sched_rank *rank)
{
    host_task *t = host_task_new(load_run, k);
    if (!t)
        return false;
    k->n_users++;
    host_push(e, t, rank);
    return true;
}

/* ---- giving up ---- */

static void close_run(engine *e, host_task *t)
{
    key_entry *k = t->arg;
    uint64_t bytes = k->host_bytes + k->file_bytes;
    log_info("key_evicted", LOG_STR("circuit", k->name), LOG_U64("bytes", bytes));
    release(k);
    engine_lock(e);
    key_tell(e, &k->evictions, cuzk_ok(), bytes);
    budget_release(&e->budget, BUDGET_KEYS, k->host_bytes);
    e->keys.n_evictions++;
    key_cache_remove(&e->keys, k);
    dispatch_kick(e);
    engine_unlock(e);
}

void key_maybe_close(engine *e, key_entry *k)
{
    if (k->state != KEY_CLOSING || key_entry_has_handles(k) || k->n_users || k->n_checks)
        return;
    k->n_users++; /* nobody starts a second close */
    k->close_task = (host_task){.run = close_run, .arg = k, .is_part = true};
    host_push(e, &k->close_task, &(sched_rank){.cls = JOB_CRITICAL - JOB_HIGH});
}

void key_start_close(engine *e, key_entry *k)
{
    k->state = KEY_CLOSING;
    witness_drop(e, k, NULL);
    atomic_store_explicit(&k->is_unwanted, true, memory_order_relaxed);
    for (uint32_t d = 0; d < e->n_devices; d++) {
        k->slots[d].is_wanted = false;
        k->slots[d].is_dropped = k->slots[d].handle != NULL;
    }
    devices_kick(e);
    key_maybe_close(e, k);
}

void key_release(engine *e, key_entry *k)
{
    key_cache_unpin(k, now_ms(), engine_unix_ms());
    if (k->n_users == 0)
        witness_drop(e, k, NULL);
    if (k->state == KEY_FAILED && k->n_users == 0)
        key_cache_remove(&e->keys, k);
}
