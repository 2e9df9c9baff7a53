/* A table of readers under one lock. */
#define _GNU_SOURCE
#include "gpu/gpu_read_group.h"
#include "base/mem.h"
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#define N_SLOTS 64u
#define LOCK_MAX_NS 2000000000u
#define LOCK_LOOK_NS 20000
/* Eight pieces of a load: enough for devices that take turns on one disk. */
static const gpu_read_limits default_limits = {
    .window_bytes = (uint64_t)256 << 20, .stall_ns = 2000000000u, .grace_ns = 2000000000u};
#define LOOK_NS 1000000         /* between two looks at the others: far below a piece's time */
#define POLL_LOOKS 5u           /* looks between two at the caller's cancel flag */
#define FORGET_NS 120000000000u /* a slot of a process that ended is taken again after that */

typedef struct read_slot {
    uint64_t owner; /* 0: free */
    uint64_t file, total, at, left, moved_ns;
} read_slot;

struct gpu_read_group {
    pthread_mutex_t lock; /* process-shared, robust; guards all below */
    gpu_read_limits limits;
    uint64_t n_owners;
    gpu_read_counts counts;
    read_slot slots[N_SLOTS];
};

cuzk_status gpu_read_group_create(gpu_read_group **out, const gpu_read_limits *limits)
{
    pthread_mutexattr_t attr;
    *out = NULL;
    gpu_read_group *g =
        mmap(NULL, sizeof *g, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (g == MAP_FAILED)
        return cuzk_fail(CUZK_E_NOMEM, "shared memory for the readers of key files");
    g->limits = limits ? *limits : default_limits;
    pthread_mutexattr_init(&attr);
    int err = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    if (err == 0)
        err = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    if (err == 0)
        err = pthread_mutex_init(&g->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    if (err != 0) {
        munmap(g, sizeof *g);
        return cuzk_fail(CUZK_E_NOMEM, "lock of the readers of key files: error %d", err);
    }
    *out = g;
    return cuzk_ok();
}

void gpu_read_group_destroy(gpu_read_group *g)
{
    if (g)
        munmap(g, sizeof *g);
}

static gpu_read_group *of_process;

static void make_for_process(void)
{
    cuzk_status st = gpu_read_group_create(&of_process, NULL);
    (void)st; /* without it everybody reads alone */
}

gpu_read_group *gpu_read_group_here(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_for_process);
    return of_process;
}

/* A holder that died left at worst one slot half written: its own, which stands still from then. It
 * is held for microseconds: whoever waits LOCK_MAX_NS for it is on a kernel that does not tell of dead
 * holders, and reads alone. */
static bool lock(gpu_read_group *g)
{
    uint64_t until = clock_now_ns() + LOCK_MAX_NS;
    int err = pthread_mutex_trylock(&g->lock);
    while (err == EBUSY && clock_now_ns() < until) {
        nanosleep(&(struct timespec){.tv_nsec = LOCK_LOOK_NS}, NULL);
        err = pthread_mutex_trylock(&g->lock);
    }
    if (err == EOWNERDEAD)
        err = pthread_mutex_consistent(&g->lock);
    return err == 0;
}

static bool lock_for(gpu_reader *r)
{
    bool ok = lock(r->group);
    if (!ok)
        r->owner = 0;
    return ok;
}

static void unlock(gpu_read_group *g) { pthread_mutex_unlock(&g->lock); }

/* Lock held from here on, where there is a group. NULL: somebody else has the slot by now. */
static read_slot *slot_of(const gpu_reader *r)
{
    read_slot *s = &r->group->slots[r->slot];
    return s->owner == r->owner ? s : NULL;
}

static bool is_moving(const gpu_read_group *g, const read_slot *s, uint64_t now)
{
    return s->owner && (s->moved_ns > now || now - s->moved_ns < g->limits.stall_ns);
}

static bool reads_same(const gpu_read_group *g, const read_slot *a, const read_slot *b,
                       uint64_t now)
{
    return a != b && is_moving(g, b, now) && a->file == b->file && a->total == b->total;
}

/* How far a is ahead of b on the ring. */
static uint64_t ahead(const read_slot *a, const read_slot *b)
{
    return a->at >= b->at ? a->at - b->at : a->at + (a->total - b->at);
}

static read_slot *free_slot(gpu_read_group *g, uint64_t now)
{
    for (unsigned i = 0; i < N_SLOTS; i++) {
        read_slot *s = &g->slots[i];
        if (!s->owner || (now > s->moved_ns && now - s->moved_ns > FORGET_NS))
            return s;
    }
    return NULL;
}

/* Where the others' last one is: what follows will be read by all of them. Or where it began, if what
 * it has read since is still in the page cache. */
static uint64_t place_to_start(const gpu_read_group *g, const read_slot *own, uint64_t now)
{
    const read_slot *last = NULL;
    for (unsigned i = 0; i < N_SLOTS; i++) {
        const read_slot *s = &g->slots[i];
        if (reads_same(g, own, s, now) && s->left > 0 && (!last || s->left > last->left))
            last = s;
    }
    if (!last)
        return 0;
    uint64_t n_read = last->total - last->left;
    if (n_read > g->limits.window_bytes)
        return last->at;
    return last->at >= n_read ? last->at - n_read : last->at + (last->total - n_read);
}

void gpu_reader_join(gpu_reader *r, gpu_read_group *g, uint64_t file, uint64_t total)
{
    uint64_t now = clock_now_ns();
    *r = (gpu_reader){.group = g, .total = total, .left = total, .start_ns = now};
    if (!g || total == 0 || !lock(g))
        return;
    read_slot *s = free_slot(g, now);
    if (s) {
        *s = (read_slot){
            .owner = ++g->n_owners, .file = file, .total = total, .left = total, .moved_ns = now};
        s->at = place_to_start(g, s, now);
        r->at = s->at < total ? s->at : 0;
        r->slot = (unsigned)(s - g->slots);
        r->owner = s->owner;
    }
    unlock(g);
}

/* Would n more bytes leave one behind that is close and still needs them? Waiting for each other in a
 * ring needs as many windows as readers to reach around the file: shorter files are not waited in. */
static bool leaves_behind(const gpu_read_group *g, const read_slot *s, uint64_t n, uint64_t now)
{
    uint64_t window = g->limits.window_bytes, n_readers = 1;
    bool found = false;
    for (unsigned i = 0; i < N_SLOTS; i++) {
        const read_slot *o = &g->slots[i];
        if (!reads_same(g, s, o, now))
            continue;
        uint64_t a = ahead(s, o);
        n_readers++;
        found |= a <= window && a + n > window && o->left > a;
    }
    return found && s->total > n_readers * window;
}

/* One look: may the reader go on? */
static bool may_go_on(gpu_reader *r, uint64_t n)
{
    bool yes = true;
    uint64_t now = clock_now_ns();
    if (!lock_for(r))
        return true;
    read_slot *s = slot_of(r);
    if (s) {
        yes = !leaves_behind(r->group, s, n, now);
        s->moved_ns = now; /* one that waits is not one that stands still */
    }
    unlock(r->group);
    return yes;
}

cuzk_status gpu_reader_pace(gpu_reader *r, uint64_t n, const run_ctx *rc)
{
    if (!r->owner)
        return cuzk_ok();
    uint64_t began = clock_now_ns(), now = began;
    uint64_t worked = began - r->start_ns - r->waited_ns;
    uint64_t may_wait = r->group->limits.grace_ns + worked;
    cuzk_status st = cuzk_ok();
    for (unsigned look = 1; st.code == CUZK_OK && r->waited_ns + (now - began) < may_wait; look++) {
        if (may_go_on(r, n))
            break;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
        if (look % POLL_LOOKS == 0 && run_cancelled(rc))
            st = cuzk_fail(CUZK_E_CANCELLED, "cancelled while others read the same key file");
        now = clock_now_ns();
    }
    r->waited_ns += now - began;
    return st;
}

/* Has another one been here, and not long ago? */
static bool is_behind_another(const gpu_read_group *g, const read_slot *s, uint64_t n, uint64_t now)
{
    for (unsigned i = 0; i < N_SLOTS; i++) {
        const read_slot *o = &g->slots[i];
        uint64_t a = o->owner ? ahead(o, s) : 0;
        if (reads_same(g, s, o, now) && a >= n && a <= g->limits.window_bytes + n &&
            o->total - o->left >= a)
            return true;
    }
    return false;
}

void gpu_reader_step(gpu_reader *r, uint64_t n)
{
    r->left -= n;
    r->at = r->at + n < r->total ? r->at + n : 0;
    if (!r->owner || !lock_for(r))
        return;
    read_slot *s = slot_of(r);
    uint64_t now = clock_now_ns();
    if (s) {
        *(is_behind_another(r->group, s, n, now) ? &r->group->counts.shared_bytes
                                                 : &r->group->counts.first_bytes) += n;
        s->at = r->at;
        s->left = r->left;
        s->moved_ns = now;
    }
    unlock(r->group);
}

void gpu_reader_leave(gpu_reader *r)
{
    if (r->owner && lock(r->group)) {
        read_slot *s = slot_of(r);
        if (s)
            *s = (read_slot){0};
        unlock(r->group);
    }
    *r = (gpu_reader){0};
}

gpu_read_counts gpu_read_group_counts(gpu_read_group *g)
{
    gpu_read_counts c = {0};
    if (lock(g)) {
        c = g->counts;
        unlock(g);
    }
    return c;
}
