/* The CUDA backend as others see it: a device process does the work, and is started again when a
 * fault ends it.
 *
 * Why a process: once a kernel has written to a bad address, the driver (580) refuses this process
 * every further use of the device, also after cudaDeviceReset; another process has it at once. */
#define _GNU_SOURCE
#include "base/mem.h"
#include "base/span_names.h"
#include "gpu/gpu_backend_plan.h"
#include "gpu/gpu_backend_wire.h"
#include "gpu/gpu_process.h"
#include "gpu/gpu_read_group.h"
#include "groth16/backend_parts.h"
#include "r1cs/copy.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
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
    void *shape, *key, *vk; /* shared blocks behind it */
    char *path;             /* shared */
    const r1cs_shape *orig;
    gpu_batch_room room;
    bool busy;
    bool loaded;      /* the device process at hand has it */
    cuzk_status last; /* of loading it into that process; OK before the first try */
};

typedef struct remote {
    g16_backend base;
    g16_cuda_config cfg;
    char *device_sel;
    /* The first device process's; the same one is asked for again by its UUID, so this does not
     * change. */
    gpu_device_info device;
    gpu_shared *shared;
    /* One command at a time; again by the same thread from inside a yield. Guards all below. */
    pthread_mutex_t lock;
    remote_handle *handles;
    int fd;
    pid_t pid;       /* 0: no device process */
    pid_t not_ended; /* one that was killed, but the kernel still has it; 0: none */
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

/* Trying again cannot help while the key file or the request is what it is. */
static bool is_permanent(cuzk_status st)
{
    return st.code == CUZK_E_INPUT || st.code == CUZK_E_NOT_FOUND || st.code == CUZK_E_UNSUPPORTED;
}

/* The device process is gone, or is to go. */
static void bury(remote *r)
{
    if (!r->pid)
        return;
    close(r->fd);
    if (!gpu_process_end(r->pid)) /* it holds no state that a clean end would save */
        r->not_ended = r->pid;
    r->pid = 0;
    r->memory = (g16_cuda_memory){0};
    for (remote_handle *h = r->handles; h; h = h->next) {
        h->loaded = false;
        h->wire->handle = NULL;
        h->wire->opened = NULL;
        if (!is_permanent(h->last))
            h->last = cuzk_ok();
    }
}

static cuzk_status receive_hello(remote *r)
{
    gpu_hello hello;
    ssize_t n;
    do {
        n = recv(r->fd, &hello, sizeof hello, 0);
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof hello)
        return cuzk_fail(CUZK_E_DEVICE_LOST, "the device process ended at its start");
    if (hello.st.code == CUZK_OK && r->n_started == 1) {
        r->device = hello.device;
        r->cfg.device = r->device.uuid;
    }
    return hello.st;
}

static cuzk_status start(remote *r)
{
    int fd[2];
    if (r->not_ended && !gpu_process_has_ended(r->not_ended))
        return cuzk_fail(CUZK_E_DEVICE_LOST,
                         "%s: the last device process (%d) does not end: the driver holds it",
                         r->device.name, (int)r->not_ended);
    r->not_ended = 0;
    (void)gpu_read_group_here(); /* before the fork: devices share it */
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
    cuzk_status st = receive_hello(r);
    if (st.code != CUZK_OK)
        bury(r);
    return st;
}

/* A command under way: who gets its calls. */
typedef struct call {
    remote *r;
    const run_ctx *rc;
    const g16_batch *batch;
    gpu_wire_batch *shared; /* the same in shared memory */
    span_id *ids;           /* of the device process's spans */
    uint32_t n_ids, cap_ids;
    uint32_t process; /* n_started when it began */
} call;

/* False: the command's device process was lost to what ran inside a callback. */
static bool still_there(const call *c) { return c->r->pid && c->r->n_started == c->process; }

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

/* Answer what the device process asks on the way; false: it is gone, or talks nonsense. */
static bool serve(call *c, const gpu_msg *m)
{
    gpu_msg answer = {.kind = GPU_MSG_GO_ON};
    const g16_batch *b = c->batch;
    switch (m->kind) {
    case GPU_MSG_POLL:
        run_yield(c->rc);
        if (b && still_there(c))
            gpu_batch_bring_ahead(c->shared, b, c->rc);
        answer.yes = run_cancelled(c->rc);
        return still_there(c) && gpu_msg_send(c->r->fd, &answer);
    case GPU_MSG_CLAIM:
        if (!b || !b->claim || m->n >= b->n)
            return false;
        answer.yes = b->claim(b->ctx, m->n);
        return still_there(c) && gpu_msg_send(c->r->fd, &answer);
    case GPU_MSG_READY:
        if (!b || m->n >= b->n)
            return false;
        answer.n = (uint64_t)gpu_batch_bring(c->shared, b, m->n, c->rc);
        return still_there(c) && gpu_msg_send(c->r->fd, &answer);
    case GPU_MSG_PROOF:
        if (!b || m->n >= b->n)
            return false;
        b->out[m->n] = c->shared->out[m->n];
        if (b->done)
            b->done(b->ctx, m->n);
        return still_there(c);
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
    c->process = r->n_started;
    bool alive = r->pid && gpu_msg_send(r->fd, &m);
    while (alive && (alive = gpu_msg_receive(r->fd, &m)) && m.kind != GPU_MSG_DONE)
        alive = serve(c, &m);
    mem_free(c->ids);
    if (!alive) {
        if (still_there(c))
            bury(r);
        return cuzk_fail(CUZK_E_DEVICE_LOST, "%s: the device process is gone, or hung",
                         r->device.name);
    }
    r->memory = m.memory;
    if (m.st.code == CUZK_E_DEVICE_LOST)
        bury(r);
    return m.st;
}

/* Without yields: a load holds what loads and unloads share, and what ran inside could wait for it
 * or take circuits from the list being worked on. */
static cuzk_status load_wire(remote *r, remote_handle *h, const run_ctx *rc)
{
    run_ctx alone = *rc;
    alone.yield = NULL;
    call c = {.r = r, .rc = &alone};
    r->depth++;
    h->last = command(&c, GPU_MSG_LOAD, h->wire);
    r->depth--;
    h->loaded = h->last.code == CUZK_OK;
    return h->last;
}

/* Is it worth a try? One that failed for want of memory and the like is tried again for its own
 * sake only, or others would wait for it again and again. */
static bool is_missing(const remote_handle *h, const remote_handle *want)
{
    return !h->loaded && !is_permanent(h->last) && (h == want || h->last.code == CUZK_OK);
}

static cuzk_status load_missing(remote *r, const remote_handle *want, const run_ctx *rc)
{
    for (remote_handle *h = r->handles; h; h = h->next) {
        if (!is_missing(h, want))
            continue;
        cuzk_status st = load_wire(r, h, rc);
        if (r->pid && st.code != CUZK_E_CANCELLED)
            continue;
        h->last = cuzk_ok(); /* this says nothing of the circuit */
        return st;
    }
    return cuzk_ok();
}

/* Lock held. A device process that has all circuits it can have. want: the one that matters, or
 * NULL. */
static cuzk_status ensure(remote *r, const remote_handle *want, const run_ctx *rc)
{
    bool complete = r->pid != 0;
    if (r->depth > 0)
        return r->pid ? cuzk_ok()
                      : cuzk_fail(CUZK_E_DEVICE_LOST, "the proof further up has to return first");
    for (const remote_handle *h = r->handles; h; h = h->next)
        complete = complete && !is_missing(h, want);
    if (complete)
        return cuzk_ok();
    span_id s = span_begin(rc->spans, rc->parent, SPAN_RECOVER);
    run_ctx under = run_ctx_under(rc, s);
    under.progress = NULL; /* the caller's is that of a proof */
    cuzk_status st = r->pid ? cuzk_ok() : start(r);
    if (st.code == CUZK_OK)
        st = load_missing(r, want, &under);
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
    gpu_shared_free(r->shared, h->vk);
    gpu_shared_free(r->shared, h->room.block);
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
    h->wire->vk_len = g16_vk_bytes(g16_key_vk(k));
    h->vk = gpu_shared_alloc(r->shared, h->wire->vk_len);
    if (h->vk)
        g16_vk_encode(h->vk, g16_key_vk(k));
    h->wire->vk_bytes = h->vk;
    return h->vk && (h->path || h->key)
               ? cuzk_ok()
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
    CUZK_TRY(ensure(r, NULL, rc));
    cuzk_status st = load_wire(r, h, rc);
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
    h->room.shared = r->shared;
    h->last = cuzk_ok();
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

static void op_unload(g16_backend *b, void *handle)
{
    const run_ctx no_ctx = {0};
    remote *r = self(b);
    remote_handle *h = handle;
    if (!h || lock(r, &no_ctx).code != CUZK_OK)
        return;
    remote_handle **at = &r->handles;
    while (*at && *at != h)
        at = &(*at)->next;
    if (*at)
        *at = h->next;
    call c = {.r = r, .rc = &no_ctx};
    if (r->pid && h->loaded) {
        cuzk_status st = command(&c, GPU_MSG_UNLOAD, h->wire);
        (void)st; /* a lost process has unloaded everything */
    }
    handle_free(r, h);
    pthread_mutex_unlock(&r->lock);
}

/* Lock held; h is busy. */
static cuzk_status prove_shared(remote *r, remote_handle *h, const g16_batch *batch, g16_timings *t,
                                const run_ctx *rc)
{
    gpu_wire_batch *b;
    CUZK_TRY(gpu_batch_share(&b, &h->room, h->wire, batch, rc));
    call c = {.r = r, .rc = rc, .batch = batch, .shared = b};
    cuzk_status st = command(&c, GPU_MSG_PROVE, b);
    *t = b->timings;
    return st;
}

/* Lock held. */
static cuzk_status prove_locked(remote *r, remote_handle *h, const g16_batch *batch, g16_timings *t,
                                const run_ctx *rc)
{
    if (h->busy)
        return cuzk_fail(CUZK_E_USAGE, "cuda backend: two proofs at once on one handle");
    CUZK_TRY(ensure(r, h, rc));
    CUZK_TRY(h->last);
    if (!h->loaded) /* inside another proof, after a recovery that was cancelled */
        return cuzk_fail(CUZK_E_DEVICE_LOST, "%s: the circuit is not back yet", r->device.name);
    h->busy = true;
    r->depth++;
    cuzk_status st = prove_shared(r, h, batch, t, rc);
    r->depth--;
    gpu_batch_clear(&h->room);
    h->busy = false;
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
    const gpu_device_info *d = &r->device;
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

/* A device that cannot pass it in this process may pass it in the next. */
static cuzk_status op_self_test(g16_backend *base, const run_ctx *rc)
{
    remote *r = self(base);
    cuzk_status st = g16_known_answer_test(base, rc);
    if (st.code != CUZK_E_DEVICE || lock(r, rc).code != CUZK_OK)
        return st;
    if (r->depth == 0)
        bury(r);
    pthread_mutex_unlock(&r->lock);
    st.code = CUZK_E_DEVICE_LOST;
    return st;
}

static void op_plan(g16_backend *base, uint64_t *need, uint64_t *available, const g16_key_info *k)
{
    const remote *r = self(base); /* without the lock: what is read here does not change */
    gpu_plan_bound(need, available, k, &r->device, r->cfg.memory_bytes);
}

static const g16_backend_ops remote_ops = {
    .name = "cuda",
    .load = op_load,
    .unload = op_unload,
    .prove = op_prove,
    .describe = op_describe,
    .self_test = op_self_test,
    .destroy = op_destroy,
    .plan = op_plan,
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
    CUZK_VERIFY(*handle != NULL);
    cuzk_status st = g16_vk_copy(vk_out, &((remote_handle *)*handle)->wire->vk);
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
    return b->ops == &remote_ops ? &self(b)->device : gpu_direct_device(b);
}

g16_cuda_memory g16_cuda_get_memory(g16_backend *b)
{
    return b->ops == &remote_ops ? self(b)->memory : gpu_direct_memory();
}
