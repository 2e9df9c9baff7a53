/* What a device proves next. */
#include "engine/engine_int.h"

#define KEY_PATIENCE_NS (10000u * (uint64_t)ENGINE_MS)

/* Partitions of a job that a device may take: with a witness, and with one that is being made. */
typedef struct takeable {
    uint32_t n_ready, n_soon;
} takeable;

static takeable count_takeable(const engine *e, const device *d, const job *j)
{
    takeable t = {0};
    uint32_t usable = devices_usable(e, j->key);
    for (uint32_t k = 0; k < j->n_parts; k++) {
        if (!share_may_take(&j->share, d->idx, k, usable))
            continue;
        t.n_ready += j->parts[k].phase == PART_READY;
        t.n_soon += j->parts[k].phase == PART_WITNESS;
    }
    return t;
}

static bool is_eligible(const device *d, const job *j, const device_batch *over)
{
    return j->is_active && j->has_key && j->has_parts && !j->is_ending &&
           !j->key->slots[d->idx].in_use && key_entry_fits(j->key, d->idx) &&
           (!over || (j->view.priority > over->item[0].job->view.priority &&
                      !j->key->slots[d->idx].waits_for));
}

/* What o has of the batches it runs, one inside the other. */
static double backlog(const device *o)
{
    double n = 0;
    for (const device_batch *b = o->running; b; b = b->outer)
        for (uint32_t i = 0; i < b->n; i++) {
            const share *s = &b->item[i].job->share;
            uint32_t k = b->item[i].partition;
            if (share_has(s, o->idx, k))
                n += s->parts[k].state == SHARE_CLAIMED ? 0.5 : 1;
        }
    return n;
}

/* Devices as d sees them, that has nothing to do. One that works with j's key will be there for more of
 * it; one that works with another key, loads or is tested may be away for long. */
static void survey(share_devices *all, const device *d, const job *j, uint32_t n_more)
{
    const engine *e = d->e;
    uint64_t now = clock_now_ns();
    all->n = e->n_devices;
    for (uint32_t i = 0; i < all->n; i++) {
        const device *o = &e->devices[i];
        const device_batch *b = o->running;
        const key_slot *slot = &j->key->slots[i];
        bool is_same = b && b->key == j->key;
        double at_most = 0;
        if (b && is_same && o != d && now > b->start_ns)
            at_most = b->n / ((double)(now - b->start_ns) / 1e9);
        takeable t = count_takeable(e, o, j);
        /* Urgent work does not wait for a key to be loaded elsewhere while d has it. */
        bool loads_first =
            o != d && !slot->handle && j->key->slots[d->idx].handle && j->view.priority >= JOB_HIGH;
        all->d[i] =
            (share_device){.speed = share_hoped_speed(slot->speed, slot->n_left_out),
                           .at_most = at_most,
                           .backlog = o == d ? 0 : backlog(o),
                           .is_open = o->is_healthy && !o->needs_test && !loads_first &&
                                      key_entry_fits(j->key, i) && (b ? is_same : !o->inside),
                           .n_may = t.n_ready + t.n_soon + n_more};
    }
}

/* How many of j's partitions, and of n_more others that anyone may take, are d's part. */
static uint32_t quota(const device *d, const job *j, uint32_t n_more)
{
    share_devices all;
    survey(&all, d, j, n_more);
    uint32_t left = n_more;
    for (uint32_t k = 0; k < j->n_parts; k++)
        left += j->share.parts[k].state == SHARE_FREE &&
                (j->parts[k].phase == PART_READY || j->parts[k].phase == PART_WITNESS);
    return share_quota(&all, d->idx, left, d->cfg.batch_max);
}

/* Jobs that left the queue together are to be proven together. */
static bool is_companion(const job *c, const job *j)
{
    return c != j && c->batch && c->batch == j->batch && c->key == j->key && c->is_active &&
           !c->is_ending && !c->is_alone && !j->is_alone && c->view.priority < JOB_HIGH;
}

/* Partitions proven together share the key's points, so bulk work waits for jobs that were released
 * with it until they are decoded, unless what is there fills a batch. What has partitions comes along,
 * with a witness or while that is being made. */
static bool waits_for_companions(const engine *e, const device *d, const job *j, takeable own)
{
    if (j->view.priority >= JOB_HIGH)
        return false;
    uint32_t n = own.n_ready + own.n_soon, n_unknown = 0;
    for (const job *c = e->jobs.first; c; c = c->next) {
        if (!is_companion(c, j))
            continue;
        takeable more = c->has_parts ? count_takeable(e, d, c) : (takeable){0};
        n += more.n_ready + more.n_soon;
        n_unknown += c->has_parts ? 0 : c->n_slots;
    }
    return n_unknown && n < d->cfg.batch_max &&
           n < quota(d, j, n - own.n_ready - own.n_soon + n_unknown);
}

static void add_item(device_batch *b, job *j, uint32_t k)
{
    b->item[b->n] = (batch_item){.job = j, .partition = k, .is_late = !j->parts[k].has_witness};
    b->has_late |= b->item[b->n].is_late;
    b->w[b->n++] = &j->parts[k].w;
    j->parts[k].n_readers++;
    j->n_busy++;
}

/* Up to want partitions in that phase, one of each stride. Returns how many. */
static uint32_t take_in_phase(device_batch *b, job *j, part_phase phase, uint32_t want,
                              uint32_t stride)
{
    device *d = b->dev;
    uint32_t usable = devices_usable(d->e, j->key), n = 0, n_seen = 0;
    for (uint32_t k = 0; k < j->n_parts && n < want; k++)
        if (j->parts[k].phase == phase && share_may_take(&j->share, d->idx, k, usable) &&
            ++n_seen % stride == 0 && share_take(&j->share, d->idx, k)) {
            add_item(b, j, k);
            n++;
        }
    return n;
}

/* Up to want partitions. Bulk work is also taken while its witnesses are being made, in order, so of
 * these the devices take turns. */
static void take_from(device_batch *b, job *j, uint32_t want)
{
    want -= take_in_phase(b, j, PART_READY, want, 1);
    uint32_t n_soon = count_takeable(b->dev->e, b->dev, j).n_soon;
    if (want && n_soon && !b->outer && j->view.priority < JOB_HIGH)
        take_in_phase(b, j, PART_WITNESS, want, n_soon > want ? n_soon / want : 1);
}

/* Fill up with other jobs of the circuit: they share the key's points too. */
static void take_companions(device_batch *b, const job *lead, const device_batch *over,
                            uint32_t n_max)
{
    device *d = b->dev;
    for (job *j = d->e->jobs.first; j && b->n < n_max; j = j->next)
        if (j != lead && j->key == lead->key && !j->is_alone && !j->is_passed &&
            is_eligible(d, j, over))
            take_from(b, j, n_max - b->n);
}

static device_batch *batch_new(device *d, key_entry *k, device_batch *over)
{
    device_batch *b = mem_zalloc(sizeof *b, 64);
    if (b) {
        b->dev = d;
        b->key = k;
        b->outer = over;
    }
    return b;
}

static device_batch *steal(device *d, device_batch *over)
{
    uint32_t idx[JOB_PARTITIONS_MAX];
    uint32_t max = d->cfg.batch_max < JOB_PARTITIONS_MAX ? d->cfg.batch_max : JOB_PARTITIONS_MAX;
    for (job *j = d->e->jobs.first; j; j = j->next) {
        /* Never load a key only to take a part of someone's work, nor when own work comes soon. */
        if (!is_eligible(d, j, over) || !j->key->slots[d->idx].handle ||
            count_takeable(d->e, d, j).n_soon)
            continue;
        device_batch *b = batch_new(d, j->key, over);
        share_devices all;
        survey(&all, d, j, 0);
        uint32_t n = b ? share_steal(&j->share, &all, d->idx, idx, max) : 0;
        for (uint32_t i = 0; i < n; i++)
            add_item(b, j, idx[i]);
        if (n)
            return b;
        mem_free(b);
    }
    return NULL;
}

/* Changing the key of a device can take many seconds, so a job of the same class whose key is there
 * may go first, but not for long. */
static bool goes_before(const device *d, const job *j, const job *lead, uint64_t now)
{
    sched_rank a = job_rank(j), b = job_rank(lead);
    bool j_has = j->key->slots[d->idx].handle, lead_has = lead->key->slots[d->idx].handle;
    if (a.cls != b.cls || j_has == lead_has || a.cls <= JOB_CRITICAL - JOB_HIGH)
        return sched_rank_before(&a, &b);
    const job *without = j_has ? lead : j;
    bool is_patient = now - without->at.key_ns < KEY_PATIENCE_NS;
    return is_patient ? j_has : sched_rank_before(&a, &b);
}

bool batch_is_urgent_ready(const device *d)
{
    if (!d->is_healthy || d->needs_test)
        return false;
    for (const job *j = d->e->jobs.first; j; j = j->next)
        if (j->view.priority >= JOB_HIGH && is_eligible(d, j, NULL) &&
            count_takeable(d->e, d, j).n_ready)
            return true;
    return false;
}

/* Another device that has nothing to do takes it, or one whose load ends for such work: one job ends
 * one load. */
static bool finds_idle_device(const engine *e, const device *d, const job *j)
{
    for (uint32_t i = 0; i < e->n_devices; i++) {
        const device *o = &e->devices[i];
        bool is_free = o->gives_way || (!o->inside && !o->running);
        const device_batch *over = o->running ? o->running->outer : NULL;
        if (o != d && is_free && o->is_healthy && !o->needs_test && is_eligible(o, j, over) &&
            count_takeable(e, o, j).n_ready)
            return true;
    }
    return false;
}

bool batch_beats_load(const device *d, const key_entry *k)
{
    const engine *e = d->e;
    const device_batch *over = d->running ? d->running->outer : NULL;
    int wanted_by = -1;
    for (const job *j = e->jobs.first; j; j = j->next)
        if (j->key == k && j->is_active && !j->is_ending && (int)j->view.priority > wanted_by)
            wanted_by = (int)j->view.priority;
    for (const job *j = e->jobs.first; j; j = j->next)
        if (j->view.priority >= JOB_HIGH && (int)j->view.priority > wanted_by &&
            is_eligible(d, j, over) && count_takeable(e, d, j).n_ready &&
            !finds_idle_device(e, d, j))
            return true;
    return false;
}

/* The first of the jobs that d may begin with and that were not passed over. */
static job *find_lead(const device *d, const device_batch *over, uint64_t now)
{
    job *lead = NULL;
    for (job *j = d->e->jobs.first; j; j = j->next) {
        if (j->is_passed || !is_eligible(d, j, over))
            continue;
        takeable t = count_takeable(d->e, d, j);
        if (t.n_ready && !waits_for_companions(d->e, d, j, t) &&
            (!lead || goes_before(d, j, lead, now)))
            lead = j;
    }
    return lead;
}

/* Partitions of other jobs that could come along with lead. */
static uint32_t count_companions(const device *d, const job *lead, const device_batch *over)
{
    uint32_t n = 0;
    for (const job *j = d->e->jobs.first; j; j = j->next)
        if (j != lead && j->key == lead->key && !j->is_alone && !j->is_passed &&
            is_eligible(d, j, over)) {
            takeable t = count_takeable(d->e, d, j);
            n += t.n_ready + t.n_soon;
        }
    return n;
}

static device_batch *take_lead(device *d, device_batch *over, job *lead, uint32_t n_ahead)
{
    device_batch *b = batch_new(d, lead->key, over);
    if (!b)
        return NULL;
    uint32_t n_lead = quota(d, lead, n_ahead);
    uint32_t n_all = quota(d, lead, n_ahead + count_companions(d, lead, over));
    take_from(b, lead, n_lead);
    if (!lead->is_alone && lead->view.priority < JOB_HIGH)
        take_companions(b, lead, over, n_all);
    return b;
}

/* A job that faster devices make before d would have made one partition of it is passed over; what
 * comes behind it may be d's. */
device_batch *batch_pick(device *d, device_batch *over)
{
    engine *e = d->e;
    job *lead;
    uint32_t n_ahead = 0;
    if (e->is_draining || !d->is_healthy || d->needs_test)
        return NULL;
    uint64_t now = clock_now_ns();
    for (job *j = e->jobs.first; j; j = j->next)
        j->is_passed = false;
    while ((lead = find_lead(d, over, now)) != NULL && quota(d, lead, n_ahead) == 0) {
        takeable t = count_takeable(e, d, lead);
        n_ahead += t.n_ready + t.n_soon;
        lead->is_passed = true;
    }
    return lead ? take_lead(d, over, lead, n_ahead) : steal(d, over);
}

void batch_release(device_batch *b)
{
    engine *e = b->dev->e;
    for (uint32_t i = 0; i < b->n; i++) {
        job *j = b->item[i].job;
        uint32_t k = b->item[i].partition;
        j->parts[k].n_readers--;
        pipeline_release_witness(e, j, k);
        j->n_busy--;
        job_maybe_clean(e, j);
    }
    mem_wipe(b->rs, sizeof b->rs);
    mem_free(b);
}
