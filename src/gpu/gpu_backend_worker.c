/* The device process: a fork of the one that wants proofs, and the only one of the two that ever
 * uses the driver. It ends when a fault ends its context, or when the other side is gone. */
#define _GNU_SOURCE
#include "base/mem.h"
#include "gpu/gpu_backend_int.h"
#include "gpu/gpu_backend_wire.h"
#include "gpu/gpu_process.h"
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Copies from shared to page-locked memory do not get faster with more threads than this. */
#define THREADS_MAX 8u
#define SPANS_MAX 16384u

typedef struct worker {
    int fd;
    g16_backend *backend;
    pool *threads;
} worker;

/* The other side is gone, or ended: so are its proofs. */
static _Noreturn void leave(void) { _exit(0); }

static void say(const worker *w, const gpu_msg *m)
{
    if (!gpu_msg_send(w->fd, m))
        leave();
}

static gpu_msg serve_until(worker *w, gpu_msg_kind answer);

/* A question; commands may come before the answer: an urgent proof inside a yield. */
static gpu_msg ask(worker *w, const gpu_msg *m)
{
    say(w, m);
    return serve_until(w, GPU_MSG_GO_ON);
}

/* One poll does for both: the starting process yields, then says whether to go on. */
static bool on_cancelled(void *ctx) { return ask(ctx, &(gpu_msg){.kind = GPU_MSG_POLL}).yes; }

static void on_progress(void *ctx, const char *stage, double fraction)
{
    say(ctx, &(gpu_msg){.kind = GPU_MSG_PROGRESS, .p = stage, .x = fraction});
}

static bool on_claim(void *ctx, size_t k)
{
    return ask(ctx, &(gpu_msg){.kind = GPU_MSG_CLAIM, .n = k}).yes;
}

static g16_ready on_ready(void *ctx, size_t k)
{
    return (g16_ready)ask(ctx, &(gpu_msg){.kind = GPU_MSG_READY, .n = k}).n;
}

static void on_proof(void *ctx, size_t k) { say(ctx, &(gpu_msg){.kind = GPU_MSG_PROOF, .n = k}); }

static run_ctx context(worker *w, span_rec *spans)
{
    return (run_ctx){.pool = w->threads,
                     .spans = spans,
                     .progress = on_progress,
                     .progress_ctx = w,
                     .cancelled = on_cancelled,
                     .cancel_ctx = w};
}

static void send_spans(worker *w, span_rec *spans)
{
    for (uint32_t i = 0; i < span_count(spans); i++)
        say(w, &(gpu_msg){.kind = GPU_MSG_SPAN, .span = span_get(spans, i)});
}

/* A file put in the place of the other may have its sizes; its keys are others. */
static cuzk_status same_key(const gpu_wire_circuit *c)
{
    const g16_vk *vk = g16_key_vk(c->opened);
    bool same = memcmp(g16_key_get_info(c->opened), &c->info, sizeof c->info) == 0 &&
                g16_vk_bytes(vk) == c->vk_len;
    uint8_t *bytes = mem_alloc(c->vk_len, 64);
    if (!bytes)
        return cuzk_fail(CUZK_E_NOMEM, "verifying key of %zu bytes", c->vk_len);
    if (same) {
        g16_vk_encode(bytes, vk);
        same = memcmp(bytes, c->vk_bytes, c->vk_len) == 0;
    }
    mem_free(bytes);
    return same ? cuzk_ok()
                : cuzk_fail(CUZK_E_INPUT, "key %s: another file than the one opened before",
                            c->key_path);
}

static cuzk_status open_key(gpu_wire_circuit *c)
{
    if (!c->key_path)
        return g16_key_from_memory(&c->opened, c->key, c->key_len);
    CUZK_TRY(g16_key_open(&c->opened, c->key_path));
    return same_key(c);
}

static cuzk_status load_development(worker *w, gpu_wire_circuit *c, const run_ctx *rc)
{
    g16_vk vk;
    CUZK_TRY(gpu_direct_load_development(w->backend, c->shape, &c->toxic, &vk, rc, &c->handle));
    memcpy(c->ic, vk.ic, vk.n_ic * sizeof *c->ic);
    c->vk = vk;
    c->vk.ic = c->ic;
    g16_vk_fini(&vk);
    return cuzk_ok();
}

static cuzk_status do_load(worker *w, gpu_wire_circuit *c, const run_ctx *rc)
{
    cuzk_status st;
    c->handle = NULL;
    c->opened = NULL;
    if (!c->key_path && !c->key) {
        st = load_development(w, c, rc);
    } else {
        st = open_key(c);
        if (st.code == CUZK_OK)
            st = w->backend->ops->load(w->backend, c->shape, c->opened, rc, &c->handle);
        if (st.code != CUZK_OK) {
            g16_key_close(c->opened);
            c->opened = NULL;
        }
    }
    if (st.code == CUZK_OK)
        gpu_direct_describe_plan(c->handle, c->plan, sizeof c->plan);
    return st;
}

static void do_unload(worker *w, gpu_wire_circuit *c)
{
    if (!c->handle)
        return;
    w->backend->ops->unload(w->backend, c->handle);
    g16_key_close(c->opened);
    c->handle = NULL;
    c->opened = NULL;
}

static cuzk_status do_prove(worker *w, gpu_wire_batch *b, const run_ctx *rc)
{
    if (!b->circuit->handle)
        return cuzk_fail(CUZK_E_INTERNAL, "device process: a proof of a circuit it has not loaded");
    const witness **ws = mem_alloc(b->n * sizeof *ws, 8);
    if (!ws)
        return cuzk_fail(CUZK_E_NOMEM, "%zu witnesses", b->n);
    for (size_t k = 0; k < b->n; k++)
        ws[k] = &b->w[k];
    const g16_batch batch = {.n = b->n,
                             .w = ws,
                             .rs = b->rs,
                             .out = b->out,
                             .partition = b->partition,
                             .claim = b->claim ? on_claim : NULL,
                             .done = on_proof,
                             .ready = b->ready ? on_ready : NULL,
                             .ctx = w};
    cuzk_status st =
        w->backend->ops->prove(w->backend, b->circuit->handle, &batch, &b->timings, rc);
    mem_free(ws);
    return st;
}

static void command(worker *w, const gpu_msg *m)
{
    span_rec *spans = NULL;
    void *p = (void *)(uintptr_t)m->p; /* shared memory, ours to fill */
    cuzk_status st = m->yes ? span_rec_create(&spans, SPANS_MAX) : cuzk_ok();
    run_ctx rc = context(w, spans);
    if (st.code == CUZK_OK && m->kind == GPU_MSG_LOAD)
        st = do_load(w, p, &rc);
    else if (st.code == CUZK_OK && m->kind == GPU_MSG_PROVE)
        st = do_prove(w, p, &rc);
    else if (m->kind == GPU_MSG_UNLOAD)
        do_unload(w, p);
    else if (m->kind != GPU_MSG_LOAD && m->kind != GPU_MSG_PROVE)
        leave(); /* out of step: nothing said from here on could be relied on */
    if (spans)
        send_spans(w, spans);
    span_rec_destroy(spans);
    say(w, &(gpu_msg){.kind = GPU_MSG_DONE, .st = st, .memory = gpu_direct_memory()});
}

/* Do what comes until an answer of that kind does. */
static gpu_msg serve_until(worker *w, gpu_msg_kind answer)
{
    for (;;) {
        gpu_msg m;
        if (!gpu_msg_receive(w->fd, &m))
            leave();
        if (m.kind == answer)
            return m;
        command(w, &m);
    }
}

/* Keep what this process needs of what it inherited: not the other's sockets, locks and signals. */
static void settle(int *fd)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2};
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    sigset_t none;
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        signal(ignored[i], SIG_IGN); /* the other side ends us by closing */
    for (size_t i = 0; i < ARRAY_LEN(deadly); i++)
        signal(deadly[i], SIG_DFL); /* a handler of the other's would go on in its code */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (!gpu_process_keep(fd))
        leave();
    prctl(PR_SET_NAME, "cuzk-device", 0, 0, 0);
}

_Noreturn void gpu_worker_run(int fd, const g16_cuda_config *cfg)
{
    worker w = {.fd = fd};
    settle(&w.fd);
    unsigned cpus = pool_usable_cpus();
    gpu_hello hello = {.st = pool_create(&w.threads, cpus < THREADS_MAX ? cpus : THREADS_MAX)};
    if (hello.st.code == CUZK_OK)
        hello.st = gpu_direct_create(&w.backend, cfg);
    if (hello.st.code == CUZK_OK)
        hello.device = *gpu_direct_device(w.backend);
    if (write(w.fd, &hello, sizeof hello) != (ssize_t)sizeof hello || hello.st.code != CUZK_OK)
        leave();
    (void)serve_until(&w, (gpu_msg_kind)-1);
    leave();
}
