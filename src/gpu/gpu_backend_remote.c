/* The CUDA backend as others see it: a device process does the work, and is started again when a
 * fault ends it.
 *
 * Why a process: once a kernel has written to a bad address, the driver (580) refuses this process
 * every further use of the device, also after cudaDeviceReset; another process has it at once. */
#define _GNU_SOURCE
#include "base/mem.h"
#include "base/span_names.h"
#include "gpu/gpu_backend_wire.h"
#include "groth16/backend_parts.h"
#include "r1cs/copy.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS 20000000 /* between two looks at the caller's cancel flag */
/* Silence after which a device process counts as hung: it polls after each slice of work and each
 * piece of a key, and longest without one it lays out a circuit (seconds). */
#define SILENCE_MAX_S 180

typedef struct remote_handle remote_handle;
struct remote_handle {
    remote_handle *next;
    gpu_wire_circuit *wire; /* shared */
    void *shape, *key;      /* shared blocks behind it */
    char *path;             /* shared */
    const r1cs_shape *orig;
    void *batch; /* shared: the last batch's values, kept for the next */
    size_t batch_bytes;
    bool busy;
    cuzk_status usable; /* not OK: could not be loaded again after a fault */
};

typedef struct remote {
    g16_backend base;
    g16_cuda_config cfg;
    char *device_sel;
    gpu_hello hello;
    gpu_shared *shared;
    /* One command at a time; again by the same thread from inside a yield. Guards all below. */
    pthread_mutex_t lock;
    remote_handle *handles;
    int fd;
    pid_t pid; /* 0: no device process */
    unsigned depth;
    uint32_t n_started;
    g16_cuda_memory memory;
} remote;

static remote *self(g16_backend *b) { return (remote *)(void *)b; }

static cuzk_status lock(remote *r, const run_ctx *rc)
{
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WAIT_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_mutex_timedlock(&r->lock, &until) == 0)
            return cuzk_ok();
        if (run_cancelled(rc))
            return cuzk_fail(CUZK_E_CANCELLED, "cancelled while waiting for the device");
    }
}

/* The device process is gone, or is to go. */
static void bury(remote *r)
{
    if (!r->pid)
        return;
    close(r->fd);
    (void)kill(r->pid, SIGKILL); /* it holds no state that a clean end would save */
    while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    r->pid = 0;
    r->memory = (g16_cuda_memory){0};
}

static cuzk_status start(remote *r)
{
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) != 0)
        return cuzk_fail(CUZK_E_IO, "socket pair to a device process: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        gpu_worker_run(fd[1], &r->cfg);
    close(fd[1]);
    if (pid < 0) {
        close(fd[0]);
        return cuzk_fail(CUZK_E_NOMEM, "starting a device process: %s", strerror(errno));
    }
    const struct timeval silence = {.tv_sec = SILENCE_MAX_S};
    (void)setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
    r->fd = fd[0];
    r->pid = pid;
    r->n_started++;
    ssize_t n;
    do {
        n = recv(r->fd, &r->hello, sizeof r->hello, 0);
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof r->hello)
        r->hello.st = cuzk_fail(CUZK_E_DEVICE_LOST, "the device process ended at its start");
    cuzk_status st = r->hello.st;
    if (st.code != CUZK_OK)
        bury(r);
    return st;
}

/* A command under way: who gets its calls. */
typedef struct call {
    remote *r;
    const run_ctx *rc;
    const g16_batch *batch;
    g16_proof *proofs; /* shared */
    span_id *ids;      /* of the device process's spans */
    uint32_t n_ids, cap_ids;
} call;

static void note_span(call *c, const span_view *v)
{
    if (c->n_ids == c->cap_ids) {
        uint32_t cap = c->cap_ids ? 2 * c->cap_ids : 256;
        span_id *ids = mem_realloc(c->ids, c->cap_ids * sizeof *ids, cap * sizeof *ids);
        if (!ids)
            return; /* later children hang below the command */
        c->ids = ids;
        c->cap_ids = cap;
    }
    span_id parent = v->parent && v->parent <= c->n_ids ? c->ids[v->parent - 1] : c->rc->parent;
    span_id s = span_record(c->rc->spans, parent, v->name, v->start_ns, v->end_ns);
    span_note(c->rc->spans, s, v->partition, v->bytes);
    c->ids[c->n_ids++] = s;
}

/* Answer what the device process asks on the way; false: it is gone. */
static bool serve(call *c, const gpu_msg *m)
{
    gpu_msg answer = {.kind = GPU_MSG_GO_ON};
    const g16_batch *b = c->batch;
    switch (m->kind) {
    case GPU_MSG_POLL:
        run_yield(c->rc);
        if (!c->r->pid) /* lost to what ran inside */
            return false;
        answer.yes = run_cancelled(c->rc);
        return gpu_msg_send(c->r->fd, &answer);
    case GPU_MSG_CLAIM:
        answer.yes = b->claim(b->ctx, m->n);
        return gpu_msg_send(c->r->fd, &answer);
    case GPU_MSG_PROOF:
        b->out[m->n] = c->proofs[m->n];
        if (b->done)
            b->done(b->ctx, m->n);
        return true;
    case GPU_MSG_PROGRESS:
        run_progress(c->rc, m->p, m->x);
        return true;
    case GPU_MSG_SPAN:
        note_span(c, &m->span);
        return true;
    default:
        return false;
    }
}

/* One command from start to end. Lock held. */
static cuzk_status command(call *c, gpu_msg_kind kind, const void *p)
{
    remote *r = c->r;
    gpu_msg m = {.kind = kind, .p = p, .yes = c->rc->spans != NULL};
    bool alive = r->pid && gpu_msg_send(r->fd, &m);
    while (alive && (alive = gpu_msg_receive(r->fd, &m)) && m.kind != GPU_MSG_DONE)
        alive = serve(c, &m);
    mem_free(c->ids);
    if (!alive) {
        bury(r);
        return cuzk_fail(CUZK_E_DEVICE_LOST, "%s: the device process is gone, or hung",
                         r->hello.device.name);
    }
    r->memory = m.memory;
    if (m.st.code == CUZK_E_DEVICE_LOST)
        bury(r);
    return m.st;
}

static cuzk_status load_wire(remote *r, gpu_wire_circuit *w, const run_ctx *rc)
{
    call c = {.r = r, .rc = rc};
    return command(&c, GPU_MSG_LOAD, w);
}

/* Lock held. A device process that has all circuits. */
static cuzk_status ensure(remote *r, const run_ctx *rc)
{
    if (r->pid)
        return cuzk_ok();
    if (r->depth > 0)
        return cuzk_fail(CUZK_E_DEVICE_LOST, "the proof further up has to return first");
    span_id s = span_begin(rc->spans, rc->parent, SPAN_RECOVER);
    run_ctx under = run_ctx_under(rc, s);
    cuzk_status st = start(r);
    for (remote_handle *h = r->handles; h && st.code == CUZK_OK; h = h->next) {
        h->usable = load_wire(r, h->wire, &under);
        if (!r->pid)
            st = h->usable;
    }
    span_end(rc->spans, s);
    return cuzk_wrap(st, "starting the device process again");
}

static void handle_free(remote *r, remote_handle *h)
{
    if (!h)
        return;
    gpu_shared_free(r->shared, h->wire);
    gpu_shared_free(r->shared, h->shape);
    gpu_shared_free(r->shared, h->key);
    gpu_shared_free(r->shared, h->path);
    gpu_shared_free(r->shared, h->batch);
    mem_free(h);
}

/* The circuit into shared memory. */
static cuzk_status share(remote *r, remote_handle *h, const r1cs_shape *s, const g16_key *k)
{
    const char *path = k ? g16_key_path(k) : NULL;
    h->wire = gpu_shared_alloc(r->shared, sizeof *h->wire + (size_t)r1cs_shape_counts(s)->n_inputs *
                                                                sizeof(g1_aff));
    h->shape = gpu_shared_alloc(r->shared, r1cs_shape_copy_bytes(s));
    if (!h->wire || !h->shape)
        return cuzk_fail(CUZK_E_NOMEM, "circuit %.60s for the device process", r1cs_shape_name(s));
    h->wire->shape = r1cs_shape_copy(h->shape, s);
    if (!k)
        return cuzk_ok();
    h->wire->info = *g16_key_get_info(k);
    h->wire->key_len = h->wire->info.file_bytes;
    if (path) {
        h->path = gpu_shared_alloc(r->shared, strlen(path) + 1);
        if (h->path)
            memcpy(h->path, path, strlen(path) + 1);
        h->wire->key_path = h->path;
    } else {
        h->key = gpu_shared_alloc(r->shared, h->wire->key_len);
        if (h->key)
            memcpy(h->key, g16_key_section(k, G16_H) - h->wire->info.offset[G16_H],
                   h->wire->key_len);
        h->wire->key = h->key;
    }
    return h->path || h->key ? cuzk_ok()
                             : cuzk_fail(CUZK_E_NOMEM, "key of %zu bytes for the device process",
                                         h->wire->key_len);
}

/* Lock held. */
static cuzk_status load_locked(remote *r, remote_handle *h, const g16_key *k, const g16_toxic *t,
                               const run_ctx *rc)
{
    CUZK_TRY(share(r, h, h->orig, k));
    if (t)
        h->wire->toxic = *t;
    CUZK_TRY(ensure(r, rc));
    r->depth++;
    cuzk_status st = load_wire(r, h->wire, rc);
    r->depth--;
    if (st.code == CUZK_OK) {
        h->next = r->handles;
        r->handles = h;
    }
    return st;
}

static cuzk_status load(remote *r, const r1cs_shape *s, const g16_key *k, const g16_toxic *t,
                        const run_ctx *rc, void **handle)
{
    *handle = NULL;
    remote_handle *h = mem_zalloc(sizeof *h, 64);
    if (!h)
        return cuzk_fail(CUZK_E_NOMEM, "cuda backend handle");
    h->orig = s;
    cuzk_status st = k ? g16_key_match(k, s) : cuzk_ok();
    if (st.code == CUZK_OK)
        st = lock(r, rc);
    if (st.code != CUZK_OK) {
        mem_free(h);
        return st;
    }
    st = load_locked(r, h, k, t, rc);
    if (st.code == CUZK_OK)
        *handle = h;
    else
        handle_free(r, h);
    pthread_mutex_unlock(&r->lock);
    return st;
}

static cuzk_status op_load(g16_backend *b, const r1cs_shape *s, const g16_key *k, const run_ctx *rc,
                           void **handle)
{
    return load(self(b), s, k, NULL, rc, handle);
}

static cuzk_status copy_vk(g16_vk *to, const g16_vk *from)
{
    *to = *from;
    to->ic = mem_alloc((size_t)from->n_ic * sizeof *to->ic, 64);
    if (!to->ic) {
        *to = (g16_vk){0};
        return cuzk_fail(CUZK_E_NOMEM, "verifying key of %u points", from->n_ic);
    }
    memcpy(to->ic, from->ic, (size_t)from->n_ic * sizeof *to->ic);
    return cuzk_ok();
}

static void op_unload(g16_backend *b, void *handle)
{
    const run_ctx no_ctx = {0};
    remote *r = self(b);
    remote_handle *h = handle;
    if (!h || lock(r, &no_ctx).code != CUZK_OK)
        return;
    for (remote_handle **at = &r->handles; *at; at = &(*at)->next) {
        if (*at == h) {
            *at = h->next;
            break;
        }
    }
    call c = {.r = r, .rc = &no_ctx};
    if (r->pid && h->usable.code == CUZK_OK) {
        cuzk_status st = command(&c, GPU_MSG_UNLOAD, h->wire);
        (void)st; /* a lost process has unloaded everything */
    }
    handle_free(r, h);
    pthread_mutex_unlock(&r->lock);
}

/* Room for n proofs' values in shared memory, kept from batch to batch. */
typedef struct batch_layout {
    size_t w, rs, out, values, per_proof, inputs, bits, bytes;
} batch_layout;

static batch_layout lay_out(const r1cs_shape *s, size_t n)
{
    const r1cs_counts *c = r1cs_shape_counts(s);
    batch_layout l = {.w = 4096};
    l.rs = l.w + n * sizeof(witness);
    l.out = (l.rs + n * sizeof(g16_blinding) + 63) & ~(size_t)63;
    l.values = (l.out + n * sizeof(g16_proof) + 4095) & ~(size_t)4095;
    l.inputs = c->n_dense * sizeof(fr);
    l.bits = l.inputs + c->n_inputs * sizeof(fr);
    l.per_proof = (l.bits + words_of(c->n_aux) * 8 + 63) & ~(size_t)63;
    l.bytes = l.values + n * l.per_proof;
    return l;
}

typedef struct copy_job {
    const g16_batch *batch;
    const batch_layout *l;
    uint8_t *base;
    witness *w;
    const r1cs_shape *shape; /* shared */
} copy_job;

static void copy_one(void *ctx, size_t k, unsigned thread)
{
    (void)thread;
    const copy_job *j = ctx;
    const witness *from = j->batch->w[k];
    uint8_t *to = j->base + j->l->values + k * j->l->per_proof;
    j->w[k] = *from;
    j->w[k].dense_map = r1cs_shape_dense_map(j->shape);
    j->w[k].dense_rank = r1cs_shape_dense_rank(j->shape);
    j->w[k].dense = (fr *)(void *)to;
    j->w[k].inputs = (fr *)(void *)(to + j->l->inputs);
    j->w[k].bits = (uint64_t *)(void *)(to + j->l->bits);
    memcpy(j->w[k].dense, from->dense, from->n_dense * sizeof(fr));
    memcpy(j->w[k].inputs, from->inputs, from->n_inputs * sizeof(fr));
    memcpy(j->w[k].bits, from->bits, words_of(from->n_aux) * 8);
}

static cuzk_status check_witness(const r1cs_counts *c, const witness *w, size_t k)
{
    if (w->n_inputs == c->n_inputs && w->n_aux == c->n_aux && w->n_dense == c->n_dense)
        return cuzk_ok();
    return cuzk_fail(CUZK_E_INPUT,
                     "witness %zu: expected %llu inputs, %llu aux, %llu dense, found %llu, %llu, "
                     "%llu",
                     k, (unsigned long long)c->n_inputs, (unsigned long long)c->n_aux,
                     (unsigned long long)c->n_dense, (unsigned long long)w->n_inputs,
                     (unsigned long long)w->n_aux, (unsigned long long)w->n_dense);
}

/* The batch into shared memory. */
static cuzk_status share_batch(remote *r, remote_handle *h, const g16_batch *batch,
                               gpu_wire_batch **out, const run_ctx *rc)
{
    batch_layout l = lay_out(h->orig, batch->n);
    if (h->batch_bytes < l.bytes) {
        gpu_shared_free(r->shared, h->batch);
        h->batch = gpu_shared_alloc(r->shared, l.bytes);
        h->batch_bytes = h->batch ? l.bytes : 0;
        if (!h->batch)
            return cuzk_fail(CUZK_E_NOMEM, "%zu witnesses for the device process", batch->n);
    }
    uint8_t *base = h->batch;
    gpu_wire_batch *b = h->batch;
    *b = (gpu_wire_batch){.circuit = h->wire,
                          .n = batch->n,
                          .claim = batch->claim != NULL,
                          .w = (witness *)(void *)(base + l.w),
                          .rs = (g16_blinding *)(void *)(base + l.rs),
                          .out = (g16_proof *)(void *)(base + l.out)};
    memcpy(b->rs, batch->rs, batch->n * sizeof *b->rs);
    copy_job j = {batch, &l, base, b->w, h->wire->shape};
    span_id s = span_begin(rc->spans, rc->parent, SPAN_GATHER);
    pool_for(rc->pool, batch->n, copy_one, &j);
    span_note(rc->spans, s, -1, batch->n * l.per_proof);
    span_end(rc->spans, s);
    *out = b;
    return cuzk_ok();
}

/* Lock held. */
static cuzk_status prove_locked(remote *r, remote_handle *h, const g16_batch *batch, g16_timings *t,
                                const run_ctx *rc)
{
    gpu_wire_batch *b = NULL;
    if (h->busy)
        return cuzk_fail(CUZK_E_USAGE, "cuda backend: two proofs at once on one handle");
    CUZK_TRY(ensure(r, rc));
    CUZK_TRY(h->usable);
    for (size_t k = 0; k < batch->n; k++)
        CUZK_TRY(check_witness(r1cs_shape_counts(h->orig), batch->w[k], k));
    CUZK_TRY(share_batch(r, h, batch, &b, rc));
    call c = {.r = r, .rc = rc, .batch = batch, .proofs = b->out};
    h->busy = true;
    r->depth++;
    cuzk_status st = command(&c, GPU_MSG_PROVE, b);
    r->depth--;
    h->busy = false;
    *t = b->timings;
    mem_wipe(b->rs, batch->n * sizeof *b->rs);
    return st;
}

static cuzk_status op_prove(g16_backend *base, void *handle, const g16_batch *batch, g16_timings *t,
                            const run_ctx *rc)
{
    remote *r = self(base);
    g16_timings local;
    t = t ? t : &local;
    *t = (g16_timings){0};
    memset(batch->out, 0, batch->n * sizeof *batch->out);
    if (batch->n == 0)
        return cuzk_ok();
    uint64_t t0 = clock_now_ns();
    CUZK_TRY(lock(r, rc));
    cuzk_status st = prove_locked(r, handle, batch, t, rc);
    pthread_mutex_unlock(&r->lock);
    if (st.code != CUZK_OK)
        memset(batch->out, 0, batch->n * sizeof *batch->out);
    t->total_ns = clock_now_ns() - t0;
    return st;
}

static void op_describe(g16_backend *base, char *buf, size_t len)
{
    const remote *r = self(base);
    const gpu_device_info *d = &r->hello.device;
    snprintf(buf, len, "cuda:%d (%s, %s, %.1f GiB, %.1f GiB taken)", d->ordinal, d->name, d->pci,
             (double)d->total_bytes / 1073741824.0, (double)r->memory.device_bytes / 1073741824.0);
}

static void op_destroy(g16_backend *base)
{
    remote *r = self(base);
    if (!r)
        return;
    bury(r);
    while (r->handles) {
        remote_handle *h = r->handles;
        r->handles = h->next;
        handle_free(r, h);
    }
    gpu_shared_destroy(r->shared);
    pthread_mutex_destroy(&r->lock);
    mem_free(r->device_sel);
    mem_free(r);
}

static const g16_backend_ops remote_ops = {
    .name = "cuda",
    .load = op_load,
    .unload = op_unload,
    .prove = op_prove,
    .describe = op_describe,
    .self_test = g16_known_answer_test,
    .destroy = op_destroy,
};

static cuzk_status remote_build(remote *r, const g16_cuda_config *cfg)
{
    r->cfg = cfg ? *cfg : (g16_cuda_config){0};
    if (r->cfg.device) {
        r->device_sel = mem_strdup(r->cfg.device);
        if (!r->device_sel)
            return cuzk_fail(CUZK_E_NOMEM, "cuda backend");
        r->cfg.device = r->device_sel;
    }
    CUZK_TRY(gpu_shared_create(&r->shared));
    return start(r);
}

static cuzk_status remote_create(g16_backend **out, const g16_cuda_config *cfg)
{
    pthread_mutexattr_t attr;
    remote *r = mem_zalloc(sizeof *r, 64);
    if (!r)
        return cuzk_fail(CUZK_E_NOMEM, "cuda backend");
    r->base.ops = &remote_ops;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&r->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    cuzk_status st = remote_build(r, cfg);
    if (st.code != CUZK_OK) {
        op_destroy(&r->base);
        return st;
    }
    *out = &r->base;
    return st;
}

cuzk_status g16_cuda_create(g16_backend **out, const g16_cuda_config *cfg)
{
    *out = NULL;
    return cfg && cfg->in_process ? gpu_direct_create(out, cfg) : remote_create(out, cfg);
}

cuzk_status g16_cuda_load_development(g16_backend *b, const r1cs_shape *s, const g16_toxic *t,
                                      g16_vk *vk_out, const run_ctx *rc, void **handle)
{
    if (b->ops != &remote_ops)
        return gpu_direct_load_development(b, s, t, vk_out, rc, handle);
    *vk_out = (g16_vk){0};
    CUZK_TRY(load(self(b), s, NULL, t, rc, handle));
    cuzk_status st = copy_vk(vk_out, &((remote_handle *)*handle)->wire->vk);
    if (st.code != CUZK_OK) {
        op_unload(b, *handle);
        *handle = NULL;
    }
    return st;
}

void g16_cuda_describe_plan(g16_backend *b, const void *handle, char *buf, size_t len)
{
    if (b->ops != &remote_ops)
        gpu_direct_describe_plan(handle, buf, len);
    else
        snprintf(buf, len, "%s", ((const remote_handle *)handle)->wire->plan);
}

const gpu_device_info *g16_cuda_device(g16_backend *b)
{
    return b->ops == &remote_ops ? &self(b)->hello.device : gpu_direct_device(b);
}

g16_cuda_memory g16_cuda_get_memory(g16_backend *b)
{
    return b->ops == &remote_ops ? self(b)->memory : gpu_direct_memory();
}
