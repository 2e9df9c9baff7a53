/* What a job needs in host memory, known before anything is loaded. */
#include "engine/engine_int.h"
#include <stdio.h>

/* Field-typed variables and shape bytes per variable, at most. PoSt circuits are Poseidon: nearly
 * every variable is a field element. The others are SHA-256: one in a hundred is. */
#define DENSE_PART_SHA 32u
#define SHAPE_BYTES_PER_AUX_SHA 2u
#define SHAPE_BYTES_PER_AUX_POST 4u

void key_path(char *out, size_t len, const engine *e, const circuit_id *id, const char *ext)
{
    char stem[PROOF_STEM_MAX];
    circuit_id_param_stem(stem, id);
    snprintf(out, len, "%s/%s.%s", e->param_dir, stem, ext);
}

cuzk_status demand_on_devices(uint32_t *too_small, const engine *e, const g16_key_info *key,
                              const char *circuit)
{
    uint64_t need = 0, available = 0;
    const device *largest = NULL;
    bool any_can = false;
    *too_small = 0;
    for (uint32_t i = 0; i < e->n_devices; i++) {
        const device *d = &e->devices[i];
        g16_backend *b = d->cfg.backend;
        uint64_t n = 0, a = 0;
        if (b->ops->plan)
            b->ops->plan(b, &n, &a, key);
        if (n <= a) {
            any_can = true;
            continue;
        }
        *too_small |= 1u << i;
        if (!largest || a > available) {
            largest = d;
            need = n;
            available = a;
        }
    }
    if (any_can || !largest)
        return cuzk_ok();
    return cuzk_fail(CUZK_E_IMPOSSIBLE,
                     "%s needs at least %llu bytes of device memory, %s has %llu available and no "
                     "device has more",
                     circuit, (unsigned long long)need, largest->cfg.name,
                     (unsigned long long)available);
}

static cuzk_status from_file(job_demand *out, const engine *e, const circuit_id *id)
{
    char path[4096], name[CIRCUIT_ID_MAX];
    circuit_id_format(name, id);
    key_path(path, sizeof path, e, id, "params");
    g16_key *key;
    cuzk_status st = g16_key_open(&key, path);
    if (st.code != CUZK_OK)
        return cuzk_fail(CUZK_E_IMPOSSIBLE, "no usable key for %s: %s", name, st.msg);
    const g16_key_info *i = g16_key_get_info(key);
    bool is_post = id->kind == PROOF_WINNING || id->kind == PROOF_WINDOW;
    uint64_t n_aux = i->n[G16_L];
    uint64_t n_dense = is_post ? n_aux : n_aux / DENSE_PART_SHA;
    uint64_t shape = n_aux * (is_post ? SHAPE_BYTES_PER_AUX_POST : SHAPE_BYTES_PER_AUX_SHA);
    out->key_bytes = key_host_bytes(shape, (uint64_t)i->n[G16_H] + 1, e->n_host_devices);
    out->witness_bytes = key_witness_bytes(i->n_ic, n_aux, n_dense);
    out->key_file_bytes = i->file_bytes;
    uint32_t too_small;
    st = demand_on_devices(&too_small, e, i, name);
    g16_key_close(key);
    return st;
}

cuzk_status demand_of(job_demand *out, engine *e, const circuit_id *id)
{
    char name[CIRCUIT_ID_MAX];
    circuit_id_format(name, id);
    engine_lock(e);
    const key_entry *k = key_cache_find(&e->keys, name);
    bool known = k && k->state == KEY_READY;
    if (known)
        *out = (job_demand){k->host_bytes, k->witness_bytes, k->file_bytes};
    engine_unlock(e);
    return known ? cuzk_ok() : from_file(out, e, id);
}

cuzk_status demand_check(engine *e, const job_demand *d, uint64_t decoded_bytes,
                         const char *circuit)
{
    engine_lock(e);
    uint64_t available = e->budget.total;
    engine_unlock(e);
    uint64_t needed = d->key_bytes + d->witness_bytes + decoded_bytes;
    if (needed <= available)
        return cuzk_ok();
    return cuzk_fail(
        CUZK_E_IMPOSSIBLE,
        "%s needs %llu MiB of host memory (key %llu, witness %llu, request %llu), the "
        "budget is %llu MiB",
        circuit, (unsigned long long)(needed >> 20), (unsigned long long)(d->key_bytes >> 20),
        (unsigned long long)(d->witness_bytes >> 20), (unsigned long long)(decoded_bytes >> 20),
        (unsigned long long)(available >> 20));
}
