/* Which devices prove: --device. */
#include "base/mem.h"
#include "cli/cli.h"
#include "groth16/multi_backend.h"
#include "groth16/params_out.h"
#include <stdio.h>
#include <string.h>

#define EXPECTED \
    "auto, or cpu, cuda, cuda:ID (index, UUID or PCI address), several of these with commas"

static cuzk_status add_cpu(cli_device *d)
{
    if (d->plain_keys)
        return cuzk_fail(CUZK_E_USAGE, "--plain-key: expected CUDA devices, found cpu");
    CUZK_TRY(g16_cpu_create(&d->members[d->n].backend));
    snprintf(d->members[d->n].name, sizeof d->members[0].name, "cpu");
    if (d->n == 0)
        snprintf(d->model, sizeof d->model, "%s", ff_isa());
    d->n++;
    return cuzk_ok();
}

static cuzk_status add_cuda(cli_device *d, const char *id)
{
    /* A command ends with its proof: nothing to outlive a fault. */
    const g16_cuda_config cfg = {.device = id, .plain_keys = d->plain_keys, .in_process = true};
    g16_backend *b;
    cuzk_status st = g16_cuda_create(&b, &cfg);
    if (st.code == CUZK_E_NOT_FOUND) /* not a file */
        return cuzk_fail(CUZK_E_USAGE, "--device: %s", st.msg);
    CUZK_TRY(st);
    const gpu_device_info *info = g16_cuda_device(b);
    d->members[d->n].backend = b;
    d->members[d->n].is_cuda = true;
    snprintf(d->members[d->n].name, sizeof d->members[0].name, "cuda:%d", info->ordinal);
    if (d->n == 0)
        snprintf(d->model, sizeof d->model, "%s", info->name);
    d->n++;
    return cuzk_ok();
}

/* A CUDA device where there is one. A device that is there but does not work is an error: it is for
 * the user to decide what then. */
static cuzk_status add_auto(cli_device *d)
{
    gpu_device_info first;
    cuzk_status st = gpu_device_find(&first, NULL);
    if (st.code == CUZK_OK)
        return add_cuda(d, NULL);
    if (st.code != CUZK_E_NOT_FOUND && st.code != CUZK_E_UNSUPPORTED)
        return st;
    snprintf(d->why, sizeof d->why, "%s", st.msg);
    return add_cpu(d);
}

/* In "cuda:0,1" the second item is the ID alone. */
static cuzk_status add_named(cli_device *d, const char *item)
{
    bool id_alone = d->n > 0 && d->members[d->n - 1].is_cuda;
    if (d->n == CLI_DEVICES_MAX)
        return cuzk_fail(CUZK_E_USAGE, "--device: expected at most %u", CLI_DEVICES_MAX);
    if (strcmp(item, "cpu") == 0)
        return add_cpu(d);
    if (strcmp(item, "cuda") == 0)
        return add_cuda(d, NULL);
    if (strncmp(item, "cuda:", 5) == 0)
        return add_cuda(d, item + 5);
    if (id_alone && item[0])
        return add_cuda(d, item);
    return cuzk_fail(CUZK_E_USAGE, "--device: expected " EXPECTED ", found \"%.40s\"", item);
}

static cuzk_status add_list(cli_device *d, const char *option)
{
    char item[128];
    for (const char *p = option;;) {
        size_t n = strcspn(p, ",");
        snprintf(item, sizeof item, "%.*s", n < sizeof item ? (int)n : 0, p);
        CUZK_TRY(add_named(d, item));
        if (!p[n])
            return cuzk_ok();
        p += n + 1;
    }
}

/* The members become one backend, which owns them. */
static cuzk_status unite(cli_device *d)
{
    g16_backend *all[CLI_DEVICES_MAX];
    const char *names[CLI_DEVICES_MAX];
    size_t used = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        all[i] = d->members[i].backend;
        names[i] = d->members[i].name;
        int n = snprintf(d->name + used, sizeof d->name - used, "%s%s", i ? "," : "", names[i]);
        used += n > 0 && (size_t)n < sizeof d->name - used ? (size_t)n : 0;
    }
    if (d->n == 1) {
        d->backend = all[0];
        d->is_cuda = d->members[0].is_cuda;
        return cuzk_ok();
    }
    uint32_t n = d->n;
    d->n = 0; /* the call takes them, also when it fails */
    CUZK_TRY(g16_multi_create(&d->backend, all, names, n));
    d->n = n;
    return cuzk_ok();
}

cuzk_status cli_device_open(cli_device *d, const char *option, bool plain_keys, bool quiet)
{
    *d = (cli_device){.plain_keys = plain_keys};
    bool is_auto = !option || strcmp(option, "auto") == 0;
    cuzk_status st = is_auto ? add_auto(d) : add_list(d, option);
    if (st.code == CUZK_OK)
        st = unite(d);
    if (st.code == CUZK_OK && is_auto && !quiet && (option || d->is_cuda))
        fprintf(stderr, "device: %s (%s)%s%s\n", d->name, d->model, d->why[0] ? ": " : "", d->why);
    return st;
}

/* A key in memory for a backend that wants its bytes. */
static cuzk_status keep(void *ctx, const void *p, size_t n)
{
    cli_device *d = ctx;
    CUZK_VERIFY(n <= d->dev_cap - d->dev_len);
    memcpy(d->dev_key + d->dev_len, p, n);
    d->dev_len += n;
    return cuzk_ok();
}

static cuzk_status development_on_host(cli_device *d, const r1cs_shape *s, const g16_toxic *t,
                                       const run_ctx *rc)
{
    d->dev_len = 0;
    d->dev_cap = (size_t)g16_params_bytes(s);
    d->dev_key = mem_alloc(d->dev_cap, 64);
    if (!d->dev_key)
        return cuzk_fail(CUZK_E_NOMEM, "development key of %zu bytes", d->dev_cap);
    CUZK_TRY(g16_setup_stream(s, t, (g16_sink){.ctx = d, .write = keep}, rc));
    CUZK_TRY(g16_key_from_memory(&d->key, d->dev_key, d->dev_len));
    d->vk = g16_key_vk(d->key);
    return cuzk_ok();
}

/* One device: in device memory, or from a key in host memory. */
static cuzk_status load_development_on(cli_device *d, uint32_t i, const r1cs_shape *s,
                                       const g16_toxic *t, const run_ctx *rc)
{
    g16_backend *b = d->members[i].backend;
    if (!d->members[i].is_cuda) {
        if (!d->key)
            CUZK_TRY(development_on_host(d, s, t, rc));
        return b->ops->load(b, s, d->key, rc, &d->members[i].loaded);
    }
    g16_vk vk;
    CUZK_TRY(g16_cuda_load_development(b, s, t, &vk, rc, &d->members[i].loaded));
    if (d->dev_vk.ic) {
        g16_vk_fini(&vk);
        return cuzk_ok();
    }
    d->dev_vk = vk;
    d->vk = &d->dev_vk;
    return cuzk_ok();
}

static void unload_members(cli_device *d)
{
    for (uint32_t i = 0; i < d->n; i++) {
        if (d->members[i].loaded)
            d->members[i].backend->ops->unload(d->members[i].backend, d->members[i].loaded);
        d->members[i].loaded = NULL;
    }
}

cuzk_status cli_device_load_development(cli_device *d, const r1cs_shape *s, const g16_toxic *t,
                                        const run_ctx *rc)
{
    void *handles[CLI_DEVICES_MAX] = {NULL};
    for (uint32_t i = 0; i < d->n; i++)
        d->members[i].loaded = NULL; /* an earlier circuit's, which g16_multi_join has taken */
    for (uint32_t i = 0; i < d->n; i++) {
        cuzk_status st = cuzk_wrap(load_development_on(d, i, s, t, rc), "%s", d->members[i].name);
        if (st.code != CUZK_OK) {
            unload_members(d);
            return st;
        }
        handles[i] = d->members[i].loaded;
    }
    d->loaded = handles[0];
    return d->n == 1 ? cuzk_ok() : g16_multi_join(d->backend, handles, &d->loaded);
}

cuzk_status cli_device_load_key(cli_device *d, const r1cs_shape *s, const char *path,
                                const run_ctx *rc)
{
    CUZK_TRY(g16_key_open(&d->key, path));
    CUZK_TRY(g16_key_match(d->key, s));
    d->vk = g16_key_vk(d->key);
    return d->backend->ops->load(d->backend, s, d->key, rc, &d->loaded);
}

void cli_device_unload(cli_device *d)
{
    if (d->loaded)
        d->backend->ops->unload(d->backend, d->loaded);
    d->loaded = NULL;
}

void cli_device_close(cli_device *d)
{
    cli_device_unload(d);
    if (d->backend)
        d->backend->ops->destroy(d->backend);
    for (uint32_t i = 0; !d->backend && i < d->n; i++)
        d->members[i].backend->ops->destroy(d->members[i].backend);
    g16_key_close(d->key);
    mem_free(d->dev_key);
    g16_vk_fini(&d->dev_vk);
    *d = (cli_device){0};
}

static void memory_json(json_writer *w, g16_backend *b)
{
    g16_cuda_memory m = g16_cuda_get_memory(b);
    json_key(w, "device_memory");
    json_begin_object(w);
    json_kv_u64(w, "total_bytes", g16_cuda_device(b)->total_bytes);
    json_kv_u64(w, "taken_bytes", m.device_bytes);
    json_kv_u64(w, "peak_bytes", m.device_peak_bytes);
    json_kv_u64(w, "pinned_host_bytes", m.pinned_bytes);
    json_end_object(w);
}

void cli_device_json(json_writer *w, const cli_device *d)
{
    json_kv_str(w, "device", d->name);
    json_kv_str(w, "device_model", d->model);
    if (d->n == 1) {
        if (d->is_cuda)
            memory_json(w, d->backend);
        return;
    }
    json_key(w, "devices");
    json_begin_array(w);
    for (uint32_t i = 0; i < d->n; i++) {
        g16_multi_stats m = g16_multi_get_stats(d->backend, i);
        json_begin_object(w);
        json_kv_str(w, "name", m.name);
        json_kv_f64(w, "busy_seconds", m.busy_seconds);
        json_kv_f64(w, "proofs_per_second", m.speed);
        json_kv_u64(w, "proofs", m.n_proofs);
        json_kv_u64(w, "taken_over", m.n_stolen);
        json_kv_u64(w, "faults", m.n_faults);
        json_end_object(w);
    }
    json_end_array(w);
    /* counted per process: all devices together */
    for (uint32_t i = 0; i < d->n; i++)
        if (d->members[i].is_cuda) {
            memory_json(w, d->members[i].backend);
            return;
        }
}
