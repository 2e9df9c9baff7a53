/* cuzk devices: what can prove here. */
#include "base/mem.h"
#include "cli/cli.h"
#include "ff/fr.h"
#include <stdio.h>

typedef struct devices_out {
    gpu_device_info gpu[GPU_DEVICES_MAX];
    uint64_t free_bytes[GPU_DEVICES_MAX];
    uint32_t n;
    cuzk_status looked; /* why there are none */
} devices_out;

static void look(devices_out *o)
{
    uint64_t total;
    o->looked = gpu_devices(o->gpu, &o->n, GPU_DEVICES_MAX);
    for (uint32_t i = 0; i < o->n; i++) {
        o->free_bytes[i] = 0;
        if (gpu_ctx_enter(o->gpu[i].ordinal).code == CUZK_OK &&
            gpu_ctx_memory(&o->free_bytes[i], &total).code != CUZK_OK)
            o->free_bytes[i] = 0;
    }
}

static cuzk_status print_json(const devices_out *o)
{
    json_writer w;
    char id[32];
    json_write_init(&w, stdout, true);
    json_begin_object(&w);
    json_key(&w, "devices");
    json_begin_array(&w);
    json_begin_object(&w);
    json_kv_str(&w, "device", "cpu");
    json_kv_str(&w, "code_path", ff_isa());
    json_kv_u64(&w, "cpus", pool_usable_cpus());
    json_end_object(&w);
    for (uint32_t i = 0; i < o->n; i++) {
        const gpu_device_info *d = &o->gpu[i];
        snprintf(id, sizeof id, "cuda:%d", d->ordinal);
        json_begin_object(&w);
        json_kv_str(&w, "device", id);
        json_kv_str(&w, "name", d->name);
        json_kv_str(&w, "uuid", d->uuid);
        json_kv_str(&w, "pci", d->pci);
        json_kv_u64(&w, "total_bytes", d->total_bytes);
        json_kv_u64(&w, "free_bytes", o->free_bytes[i]);
        snprintf(id, sizeof id, "%d.%d", d->cc_major, d->cc_minor);
        json_kv_str(&w, "compute_capability", id);
        json_kv_u64(&w, "multiprocessors", (uint64_t)d->n_multiprocessors);
        json_end_object(&w);
    }
    json_end_array(&w);
    if (o->looked.code != CUZK_OK)
        json_kv_str(&w, "note", o->looked.msg);
    json_end_object(&w);
    return json_write_finish(&w);
}

static void print_text(const devices_out *o)
{
    printf("cpu      %u usable CPUs, %s\n", pool_usable_cpus(), ff_isa());
    for (uint32_t i = 0; i < o->n; i++) {
        const gpu_device_info *d = &o->gpu[i];
        printf("cuda:%-3d %s, %.1f of %.1f GiB free, sm_%d%d, %s, %s\n", d->ordinal, d->name,
               (double)o->free_bytes[i] / 1073741824.0, (double)d->total_bytes / 1073741824.0,
               d->cc_major, d->cc_minor, d->pci, d->uuid);
    }
    if (o->looked.code != CUZK_OK)
        printf("no CUDA devices: %s\n", o->looked.msg);
    else if (o->n == 0)
        printf("no CUDA devices: none found, or no driver\n");
}

static int run(int argc, char **argv)
{
    cli_common common;
    size_t n_pos;
    int code;
    if (cli_parse(&cli_cmd_devices, NULL, 0, &common, argc, argv,
                  &(cli_pos){NULL, 0, &n_pos, &code}) != 0)
        return code;
    devices_out *o = mem_zalloc(sizeof *o, 64);
    if (!o)
        return CLI_RESOURCES;
    look(o);
    cuzk_status st = o->looked.code == CUZK_E_UNSUPPORTED ? cuzk_ok() : o->looked;
    if (common.json)
        st = st.code == CUZK_OK ? print_json(o) : st;
    else
        print_text(o);
    mem_free(o);
    return cli_report(&cli_cmd_devices, st);
}

const cli_cmd cli_cmd_devices = {
    "devices", "", "List what can prove here.",
    "The names in the first column are what --device takes; a CUDA device also goes by\n"
    "cuda:UUID, the start of one, or cuda:PCI-ADDRESS.",
    run};
