/* Which device proves: --device cpu|cuda[:ID]|auto. */
#include "base/mem.h"
#include "cli/cli.h"
#include "groth16/params_out.h"
#include <stdio.h>
#include <string.h>

#define EXPECTED "cpu, cuda, cuda:ID (index, UUID or PCI address) or auto"

static cuzk_status open_cpu(cli_device *d)
{
    CUZK_TRY(g16_cpu_create(&d->backend));
    snprintf(d->name, sizeof d->name, "cpu");
    snprintf(d->model, sizeof d->model, "%s", ff_isa());
    return cuzk_ok();
}

static cuzk_status open_cuda(cli_device *d, const char *id)
{
    /* A command ends with its proof: nothing to outlive a fault. */
    const g16_cuda_config cfg = {.device = id, .in_process = true};
    cuzk_status st = g16_cuda_create(&d->backend, &cfg);
    if (st.code == CUZK_E_NOT_FOUND)
        return cuzk_fail(CUZK_E_USAGE, "--device: %s", st.msg);
    CUZK_TRY(st);
    const gpu_device_info *info = g16_cuda_device(d->backend);
    d->is_cuda = true;
    snprintf(d->name, sizeof d->name, "cuda:%d", info->ordinal);
    snprintf(d->model, sizeof d->model, "%s", info->name);
    return cuzk_ok();
}

/* A CUDA device where there is one. A device that is there but does not work is an error: it is for
 * the user to decide what then. */
static cuzk_status open_auto(cli_device *d)
{
    gpu_device_info first;
    cuzk_status st = gpu_device_find(&first, NULL);
    if (st.code == CUZK_OK)
        return open_cuda(d, NULL);
    if (st.code != CUZK_E_NOT_FOUND && st.code != CUZK_E_UNSUPPORTED)
        return st;
    snprintf(d->why, sizeof d->why, "%s", st.msg);
    return open_cpu(d);
}

cuzk_status cli_device_open(cli_device *d, const char *option, bool quiet)
{
    *d = (cli_device){0};
    cuzk_status st;
    if (option && strcmp(option, "cpu") == 0)
        return open_cpu(d);
    if (option && strcmp(option, "cuda") == 0)
        return open_cuda(d, NULL);
    if (option && strncmp(option, "cuda:", 5) == 0)
        return open_cuda(d, option + 5);
    if (option && strcmp(option, "auto") != 0)
        return cuzk_fail(CUZK_E_USAGE, "--device: expected " EXPECTED ", found \"%.40s\"", option);
    st = open_auto(d);
    if (st.code == CUZK_OK && !quiet && (option || d->is_cuda))
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
    return d->backend->ops->load(d->backend, s, d->key, rc, &d->loaded);
}

cuzk_status cli_device_load_development(cli_device *d, const r1cs_shape *s, const g16_toxic *t,
                                        const run_ctx *rc)
{
    if (!d->is_cuda)
        return development_on_host(d, s, t, rc);
    CUZK_TRY(g16_cuda_load_development(d->backend, s, t, &d->dev_vk, rc, &d->loaded));
    d->vk = &d->dev_vk;
    return cuzk_ok();
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
    g16_key_close(d->key);
    mem_free(d->dev_key);
    g16_vk_fini(&d->dev_vk);
    *d = (cli_device){0};
}

void cli_device_json(json_writer *w, const cli_device *d)
{
    json_kv_str(w, "device", d->name);
    json_kv_str(w, "device_model", d->model);
    if (!d->is_cuda)
        return;
    g16_cuda_memory m = g16_cuda_get_memory(d->backend);
    json_key(w, "device_memory");
    json_begin_object(w);
    json_kv_u64(w, "total_bytes", g16_cuda_device(d->backend)->total_bytes);
    json_kv_u64(w, "taken_bytes", m.device_bytes);
    json_kv_u64(w, "peak_bytes", m.device_peak_bytes);
    json_kv_u64(w, "pinned_host_bytes", m.pinned_bytes);
    json_end_object(w);
}
