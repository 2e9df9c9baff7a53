#include "cli/witness_maker.h"
#include "base/mem.h"
#include "base/span_names.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct witness_maker {
    witness_order o;
    run_ctx caller;
    pthread_t thread;
    atomic_bool stop; /* relaxed: a flag only */
    /* Witnesses made (release, pairs with the acquire of readers), or failed at. */
    atomic_uint n_made;
    atomic_bool has_failed; /* release after the last change of n_made */
    cuzk_status st;         /* the maker's until it is joined, like took_ns */
    uint64_t took_ns;
};

static bool is_cancelled(void *ctx)
{
    witness_maker *m = ctx;
    return atomic_load_explicit(&m->stop, memory_order_relaxed) || run_cancelled(&m->caller);
}

static cuzk_status make(witness_maker *m, uint32_t k)
{
    const witness_order *o = &m->o;
    span_id s = span_begin(o->rc.spans, o->rc.parent, SPAN_WITNESS);
    span_note(o->rc.spans, s, (int32_t)(o->first + k), 0);
    run_ctx rc = run_ctx_under(&o->rc, s);
    cuzk_status st = is_cancelled(m) ? cuzk_fail(CUZK_E_CANCELLED, "witness cancelled") : cuzk_ok();
    if (st.code == CUZK_OK && !o->w[k].bits)
        st = witness_init(&o->w[k], o->shape);
    if (st.code == CUZK_OK)
        st = proof_task_witness(&o->w[k], o->shape, o->task, o->first + k, CS_WITNESS_FAST, &rc);
    span_end(o->rc.spans, s);
    return cuzk_wrap(st, "partition %u", o->first + k);
}

static void *maker_main(void *arg)
{
    witness_maker *m = arg;
    uint64_t t0 = clock_now_ns();
    for (uint32_t k = 0; k < m->o.n && m->st.code == CUZK_OK; k++) {
        m->st = make(m, k);
        if (m->st.code == CUZK_OK)
            atomic_store_explicit(&m->n_made, k + 1, memory_order_release);
        else
            atomic_store_explicit(&m->has_failed, true, memory_order_release);
    }
    m->took_ns = clock_now_ns() - t0;
    return NULL;
}

cuzk_status witness_maker_start(witness_maker **out, const witness_order *o)
{
    *out = NULL;
    witness_maker *m = mem_zalloc(sizeof *m, 64);
    if (!m)
        return cuzk_fail(CUZK_E_NOMEM, "making %u witnesses", o->n);
    m->o = *o;
    m->caller = o->rc;
    m->o.rc.cancelled = is_cancelled;
    m->o.rc.cancel_ctx = m;
    m->o.rc.progress = NULL; /* the prover's */
    m->o.rc.yield = NULL;
    m->st = cuzk_ok();
    /* Not a thread of the pool: the loops of a witness run on that. */
    int err = pthread_create(&m->thread, NULL, maker_main, m);
    if (err) {
        mem_free(m);
        return cuzk_fail(CUZK_E_NOMEM, "thread that makes witnesses: %s", strerror(err));
    }
    *out = m;
    return cuzk_ok();
}

g16_ready witness_maker_ready(void *maker, size_t k)
{
    witness_maker *m = maker;
    /* In this order: a failure is the last thing to happen. */
    bool has_failed = atomic_load_explicit(&m->has_failed, memory_order_acquire);
    if (k < atomic_load_explicit(&m->n_made, memory_order_acquire))
        return G16_READY;
    return has_failed ? G16_NEVER : G16_LATER;
}

cuzk_status witness_maker_finish(witness_maker *m, bool stop, uint64_t *took_ns)
{
    atomic_store_explicit(&m->stop, stop, memory_order_relaxed);
    pthread_join(m->thread, NULL);
    cuzk_status st = m->st;
    *took_ns = m->took_ns;
    mem_free(m);
    return st;
}
