/* What a device process has instead of a device: it loads and proves nothing, but dies, fails and
 * talks nonsense where it is told to. For one program each. */
#ifndef TESTS_PRETENDED_DEVICE_H
#define TESTS_PRETENDED_DEVICE_H
#include "base/mem.h"
#include "gpu/gpu_backend_wire.h"
#include "gpu/gpu_read.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where the pretended device does what it is told. */
typedef enum event {
    AT_START,
    AT_LOAD,
    AT_UNLOAD,
    AT_PROVE,
    AT_POLLED,
    AT_PROOF,
    N_EVENTS,
    AT_PIECE /* of a key file */
} event;
static const char *const event_name[N_EVENTS] = {"start", "load",   "unload",
                                                 "prove", "polled", "proof"};
typedef enum fault { NOTHING, DIE, FAIL, WRONG_PROOF, WRONG_CLAIM, WRONG_READY, WRONG_KIND } fault;

/* Shared with the device processes. */
static struct control {
    event at;
    fault what; /* once */
    cuzk_code code;
    unsigned n_started, n_loads, n_unloads;
    uint64_t polls_in_load;
    const uint8_t *secret; /* values of the last batch, in shared memory */
    size_t secret_bytes;
    bool left_over, old_handle;
    unsigned n_together; /* pieces in which two devices wait for each other */
    _Atomic unsigned n_pieces;
} * ctl;

typedef struct fake_handle {
    pid_t pid;
    const r1cs_shape *shape;
} fake_handle;

static cuzk_status happen(event at)
{
    fault what = ctl->at == at ? ctl->what : NOTHING;
    if (what == NOTHING)
        return cuzk_ok();
    ctl->what = NOTHING;
    gpu_msg m = {.kind = what == WRONG_PROOF   ? GPU_MSG_PROOF
                         : what == WRONG_CLAIM ? GPU_MSG_CLAIM
                         : what == WRONG_READY ? GPU_MSG_READY
                                               : (gpu_msg_kind)77,
                 .n = 1000};
    if (what == DIE)
        _exit(3);
    if (what == FAIL)
        return cuzk_fail(ctl->code, "as told");
    (void)gpu_msg_send(3, &m); /* where gpu_worker_run has its socket */
    return cuzk_ok();
}

static cuzk_status fake_take(void *ctx, const gpu_read_piece *p)
{
    unsigned *mine = ctx;
    (void)p;
    ctl->n_pieces++;
    if (++*mine <= ctl->n_together)
        while (ctl->n_pieces < 2 * *mine)
            usleep(100);
    return happen(AT_PIECE);
}

static cuzk_status read_key(const g16_key *k, const run_ctx *rc)
{
    const gpu_read_file file = gpu_read_file_of_key(k, false);
    const gpu_read_in in = {
        .file = &file, .piece_bytes = 1000, .group = gpu_read_group_here(), .rc = rc};
    unsigned mine = 0;
    return gpu_read_points(&in, fake_take, &mine);
}

static cuzk_status fake_load(g16_backend *b, const r1cs_shape *s, const g16_key *k,
                             const run_ctx *rc, void **handle)
{
    (void)b;
    ctl->n_loads++;
    CUZK_TRY(happen(AT_LOAD));
    if (k)
        CUZK_TRY(read_key(k, rc));
    for (int i = 0; i < 3; i++)
        if (run_cancelled(rc))
            return cuzk_fail(CUZK_E_CANCELLED, "cancelled in a load");
    fake_handle *h = mem_zalloc(sizeof *h, 64);
    if (!h)
        return cuzk_fail(CUZK_E_NOMEM, "handle");
    *h = (fake_handle){getpid(), s};
    *handle = h;
    return cuzk_ok();
}

static void fake_unload(g16_backend *b, void *handle)
{
    (void)b;
    ctl->n_unloads++;
    ctl->old_handle |= ((fake_handle *)handle)->pid != getpid();
    cuzk_status st = happen(AT_UNLOAD);
    (void)st;
    mem_free(handle);
}

/* A proof that tells its witness: all of it has to have come over. */
static void sum_up(g16_proof *o, const witness *w, const g16_blinding *rs)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < w->n_dense * 4; i++)
        sum = sum * 31 + ((const uint64_t *)(const void *)w->dense)[i];
    for (uint64_t i = 0; i < w->n_inputs * 4; i++)
        sum = sum * 31 + ((const uint64_t *)(const void *)w->inputs)[i];
    for (uint64_t i = 0; i < (w->n_aux + 63) / 64; i++)
        sum = sum * 31 + w->bits[i];
    memset(o, 0, sizeof *o);
    memcpy(&o->a, &sum, sizeof sum);
    memcpy(&o->c, rs, sizeof *rs);
}

static void look_for_secrets(void)
{
    for (size_t i = 0; i < ctl->secret_bytes; i++)
        ctl->left_over |= ctl->secret[i] != 0;
}

static void note_secrets(const witness *w)
{
    ctl->secret = (const uint8_t *)w->dense;
    ctl->secret_bytes = w->n_dense * sizeof(fr);
}

/* Wait for witness k as a device does that has nothing else to do. */
static cuzk_status fake_wait(g16_ready *there, const g16_batch *batch, size_t k,
                             const r1cs_shape *s, const run_ctx *rc)
{
    const r1cs_counts *n = r1cs_shape_counts(s);
    *there = G16_READY;
    while (batch->ready && (*there = batch->ready(batch->ctx, k)) == G16_LATER)
        if (run_cancelled(rc))
            return cuzk_fail(CUZK_E_CANCELLED, "cancelled while waiting");
    const witness *w = batch->w[k];
    if (*there == G16_READY &&
        (w->n_aux != n->n_aux || w->n_dense != n->n_dense || w->n_inputs != n->n_inputs))
        return cuzk_fail(CUZK_E_INPUT, "witness %zu: another shape", k);
    if (*there == G16_READY && k == 0)
        note_secrets(w);
    return cuzk_ok();
}

static cuzk_status fake_prove(g16_backend *b, void *handle, const g16_batch *batch, g16_timings *t,
                              const run_ctx *rc)
{
    (void)b;
    (void)t;
    ctl->old_handle |= ((fake_handle *)handle)->pid != getpid();
    look_for_secrets();
    if (!batch->ready)
        note_secrets(batch->w[0]);
    CUZK_TRY(happen(AT_PROVE));
    for (size_t k = 0; k < batch->n; k++) {
        g16_ready there;
        if (run_cancelled(rc))
            return cuzk_fail(CUZK_E_CANCELLED, "cancelled in a proof");
        CUZK_TRY(happen(AT_POLLED));
        CUZK_TRY(fake_wait(&there, batch, k, ((fake_handle *)handle)->shape, rc));
        if (there == G16_NEVER || (batch->claim && !batch->claim(batch->ctx, k)))
            continue;
        span_id s = span_begin(rc->spans, rc->parent, "msm_h");
        span_note(rc->spans, s, g16_batch_partition(batch, k), 0);
        sum_up(&batch->out[k], batch->w[k], &batch->rs[k]);
        span_end(rc->spans, s);
        batch->done(batch->ctx, k);
        CUZK_TRY(happen(AT_PROOF));
    }
    return cuzk_ok();
}

static const g16_backend_ops fake_ops = {
    .name = "fake", .load = fake_load, .unload = fake_unload, .prove = fake_prove};
static g16_backend fake = {&fake_ops};
static const gpu_device_info card = {.ordinal = 2,
                                     .name = "Pretence",
                                     .uuid = "GPU-12345678-aaaa",
                                     .pci = "0000:17:00.0",
                                     .total_bytes = (uint64_t)80 << 30};

cuzk_status gpu_direct_create(g16_backend **out, const g16_cuda_config *cfg)
{
    *out = &fake;
    CUZK_TRY(happen(AT_START));
    /* the second time the same card is meant, whatever its place in the list is then */
    if (ctl->n_started++ > 0 && (!cfg->device || strcmp(cfg->device, card.uuid) != 0))
        return cuzk_fail(CUZK_E_NOT_FOUND, "asked for %s", cfg->device ? cfg->device : "any");
    return cuzk_ok();
}

cuzk_status gpu_direct_load_development(g16_backend *b, const r1cs_shape *s, const g16_toxic *t,
                                        g16_vk *vk_out, const run_ctx *rc, void **handle)
{
    (void)t;
    *vk_out = (g16_vk){.n_ic = r1cs_shape_counts(s)->n_inputs};
    vk_out->ic = mem_zalloc(vk_out->n_ic * sizeof *vk_out->ic, 64);
    if (!vk_out->ic)
        return cuzk_fail(CUZK_E_NOMEM, "vk");
    cuzk_status st = fake_load(b, s, NULL, rc, handle);
    if (st.code != CUZK_OK)
        g16_vk_fini(vk_out);
    return st;
}

void gpu_direct_describe_plan(const void *handle, char *buf, size_t len)
{
    (void)handle;
    snprintf(buf, len, "no plan");
}

const gpu_device_info *gpu_direct_device(const g16_backend *b)
{
    (void)b;
    return &card;
}

g16_cuda_memory gpu_direct_memory(void) { return (g16_cuda_memory){.device_bytes = 5}; }
#endif
