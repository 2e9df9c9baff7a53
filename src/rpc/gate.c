/* Admission in order of arrival; see gate.h. */
#include "rpc/gate.h"
#include "base/run_ctx.h"
#include "rpc/call_int.h"

void rpc_gate_init(rpc_gate *g) { pthread_mutex_init(&g->mu, NULL); }
void rpc_gate_fini(rpc_gate *g) { pthread_mutex_destroy(&g->mu); }

static void append(rpc_call **first, rpc_call **last, rpc_call *c)
{
    c->gate_prev = *last;
    c->gate_next = NULL;
    *(*last ? &(*last)->gate_next : first) = c;
    *last = c;
}

static void take_out(rpc_call **first, rpc_call **last, rpc_call *c)
{
    *(c->gate_prev ? &c->gate_prev->gate_next : first) = c->gate_next;
    *(c->gate_next ? &c->gate_next->gate_prev : last) = c->gate_prev;
    c->gate_prev = c->gate_next = NULL;
}

static void remove_locked(rpc_gate *g, rpc_call *c)
{
    if (c->gate_state == CALL_INSIDE) {
        take_out(&g->first_inside, &g->last_inside, c);
        g->n_inside--;
    } else if (c->gate_state == CALL_WAITING) {
        take_out(&g->first_waiting, &g->last_waiting, c);
        g->n_waiting--;
    }
    c->gate_state = CALL_OUTSIDE;
}

static uint64_t age_ms(const rpc_call *c) { return (clock_now_ns() - c->gate_since_ns) / 1000000u; }

static uint64_t left_ms(uint64_t limit, uint64_t age) { return age < limit ? limit - age : 0; }

/* Enough for a big message on a busy machine, however many wait. */
#define GRACE_MIN_MS 1000u

/* Shorter the more wait and the longer the first of them has, so that many rounds of slow clients
 * do not add up. */
static uint64_t grace_locked(const rpc_gate *g)
{
    uint64_t ms = g->grace_ms / (1 + g->n_waiting / g->max_inside);
    uint64_t left = g->first_waiting ? left_ms(g->grace_ms, age_ms(g->first_waiting)) : ms;
    ms = left < ms ? left : ms;
    return ms < GRACE_MIN_MS ? GRACE_MIN_MS : ms;
}

/* As many of the oldest as wait outside have their grace only. */
static void press_locked(rpc_gate *g)
{
    uint32_t n = g->n_waiting;
    for (rpc_call *c = g->first_inside; c && n; c = c->gate_next, n--)
        (void)rpc_timer_hasten(g->timers, &c->body_timer, left_ms(grace_locked(g), age_ms(c)));
}

/* Let in who fits. A loop, not a recursion, because each may be refused by its method at once. */
static void run(rpc_gate *g)
{
    for (;;) {
        pthread_mutex_lock(&g->mu);
        rpc_call *c = g->n_inside < g->max_inside ? g->first_waiting : NULL;
        if (!c) {
            press_locked(g);
            pthread_mutex_unlock(&g->mu);
            return;
        }
        remove_locked(g, c);
        append(&g->first_inside, &g->last_inside, c);
        g->n_inside++;
        c->gate_state = CALL_INSIDE;
        c->gate_since_ns = clock_now_ns();
        rpc_call_activate(c); /* it is in a list, so its end waits for this lock */
        pthread_mutex_unlock(&g->mu);
        bool is_in = rpc_call_admit(c);
        if (is_in) {
            (void)rpc_timer_hasten(g->timers, &c->body_timer, g->limit_ms);
        } else {
            pthread_mutex_lock(&g->mu);
            remove_locked(g, c);
            pthread_mutex_unlock(&g->mu);
        }
        rpc_call_deactivate(c);
    }
}

bool rpc_gate_enter(rpc_gate *g, rpc_call *c)
{
    pthread_mutex_lock(&g->mu);
    bool ok = g->n_waiting < g->max_waiting;
    if (ok) {
        append(&g->first_waiting, &g->last_waiting, c);
        g->n_waiting++;
        c->gate_state = CALL_WAITING;
        c->gate_since_ns = clock_now_ns();
    }
    pthread_mutex_unlock(&g->mu);
    if (ok)
        run(g);
    return ok;
}

void rpc_gate_leave(rpc_gate *g, rpc_call *c)
{
    pthread_mutex_lock(&g->mu);
    bool was_inside = c->gate_state == CALL_INSIDE;
    remove_locked(g, c);
    pthread_mutex_unlock(&g->mu);
    if (was_inside)
        run(g);
}

rpc_overdue rpc_gate_check(rpc_gate *g, rpc_call *c)
{
    rpc_overdue out = RPC_IN_TIME;
    pthread_mutex_lock(&g->mu);
    if (c->gate_state == CALL_INSIDE) {
        uint64_t age = age_ms(c);
        if (age >= g->limit_ms)
            out = RPC_OVER_LIMIT;
        else if (g->n_waiting && age >= grace_locked(g))
            out = RPC_TOO_SLOW;
        else
            (void)rpc_timer_hasten(g->timers, &c->body_timer, left_ms(g->limit_ms, age));
    }
    pthread_mutex_unlock(&g->mu);
    return out;
}

void rpc_gate_count(rpc_gate *g, uint64_t *n_inside, uint64_t *n_waiting)
{
    pthread_mutex_lock(&g->mu);
    *n_inside += g->n_inside;
    *n_waiting += g->n_waiting;
    pthread_mutex_unlock(&g->mu);
}
