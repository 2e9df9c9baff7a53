#include "groth16/share.h"
#include "base/mem.h"

/* What a device that takes partitions over makes again of what their owner had made for all of its own
 * at once (0/1 sums over the key), in partitions. */
#define STEAL_COST 0.25
#define HOPE_FACTOR 1.02
#define HOPES_MAX 500u /* a factor of 20000: no two devices differ by more */

cuzk_status share_init(share *s, uint32_t n)
{
    *s = (share){0};
    s->parts = mem_zalloc((n ? n : 1) * sizeof *s->parts, 8);
    if (!s->parts)
        return cuzk_fail(CUZK_E_NOMEM, "shares of %u partitions", n);
    s->n = n;
    return cuzk_ok();
}

void share_fini(share *s)
{
    mem_free(s->parts);
    *s = (share){0};
}

double share_hoped_speed(double speed, uint32_t n_left_out)
{
    for (uint32_t i = 0; i < n_left_out && i < HOPES_MAX; i++)
        speed *= HOPE_FACTOR;
    return speed;
}

static double mean_speed(const share_devices *all)
{
    double sum = 0;
    uint32_t n_known = 0;
    for (uint32_t d = 0; d < all->n; d++)
        if (all->d[d].speed > 0) {
            sum += all->d[d].speed;
            n_known++;
        }
    return n_known ? sum / n_known : 1;
}

static double speed_of(const share_device *d, double mean)
{
    double speed = d->speed > 0 ? d->speed : mean;
    return d->at_most > 0 && d->at_most < speed ? d->at_most : speed;
}

uint32_t share_quota(const share_devices *all, uint32_t dev, uint32_t left, uint32_t max)
{
    double mean = mean_speed(all);
    uint32_t n[SHARE_DEVICES_MAX] = {0};
    for (; left > 0 && n[dev] < max; left--) {
        uint32_t first = all->n;
        double first_at = 0;
        for (uint32_t i = 0; i < all->n; i++) {
            const share_device *d = &all->d[i];
            if ((!d->is_open && i != dev) || n[i] >= d->n_may)
                continue;
            double at = (d->backlog + n[i] + 1) / speed_of(d, mean);
            if (first == all->n || at < first_at) {
                first = i;
                first_at = at;
            }
        }
        if (first == all->n)
            break;
        n[first]++;
    }
    return n[dev];
}

double share_backlog(const share *s, uint32_t dev)
{
    double n = 0;
    for (uint32_t k = 0; k < s->n; k++)
        if (s->parts[k].owner == dev)
            n += s->parts[k].state == SHARE_TAKEN     ? 1
                 : s->parts[k].state == SHARE_CLAIMED ? 0.5
                                                      : 0;
    return n;
}

bool share_may_take(const share *s, uint32_t dev, uint32_t k, uint32_t usable)
{
    const share_part *p = &s->parts[k];
    return p->state == SHARE_FREE && ((p->avoid >> dev & 1) == 0 || (usable & ~p->avoid) == 0);
}

uint32_t share_count_for(const share *s, uint32_t dev, uint32_t usable)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < s->n; k++)
        n += share_may_take(s, dev, k, usable);
    return n;
}

bool share_take(share *s, uint32_t dev, uint32_t k)
{
    if (s->parts[k].state != SHARE_FREE)
        return false;
    s->parts[k].state = SHARE_TAKEN;
    s->parts[k].owner = (uint8_t)dev;
    return true;
}

static bool is_of(const share_part *p, uint32_t dev, share_state st)
{
    return p->state == st && p->owner == dev;
}

static bool has(const share_part *p, uint32_t dev)
{
    return is_of(p, dev, SHARE_TAKEN) || is_of(p, dev, SHARE_CLAIMED);
}

bool share_give_back(share *s, uint32_t dev, uint32_t k, bool blame)
{
    share_part *p = &s->parts[k];
    if (!has(p, dev))
        return false;
    p->state = SHARE_FREE;
    p->is_stolen = false;
    if (blame)
        p->avoid |= 1u << dev;
    return true;
}

/* Could dev take partition p over from its owner? Once in its life only: with two idle devices whose
 * way to the claim is equally long, the partition would go back and forth. */
static bool can_steal(const share_part *p, uint32_t dev)
{
    return p->state == SHARE_TAKEN && p->owner != dev && !p->is_stolen &&
           (p->avoid >> dev & 1) == 0;
}

/* Of those with partitions that dev may have, the device that would be busy longest. */
static uint32_t victim(const share *s, const share_devices *all, uint32_t dev,
                       uint32_t *n_unclaimed)
{
    uint32_t count[SHARE_DEVICES_MAX] = {0}, best = dev;
    double mean = mean_speed(all), longest = 0;
    for (uint32_t k = 0; k < s->n; k++)
        if (can_steal(&s->parts[k], dev))
            count[s->parts[k].owner]++;
    for (uint32_t i = 0; i < all->n; i++) {
        double busy = all->d[i].backlog / speed_of(&all->d[i], mean);
        if (count[i] > 0 && busy > longest) {
            best = i;
            longest = busy;
        }
    }
    *n_unclaimed = count[best];
    return best;
}

/* Of n that `from` would give, as many as dev makes sooner. */
static uint32_t worth_taking(const share_devices *all, uint32_t dev, uint32_t from, uint32_t n)
{
    double mean = mean_speed(all), own = speed_of(&all->d[dev], mean);
    double theirs = speed_of(&all->d[from], mean), backlog = all->d[from].backlog;
    uint32_t got = 0;
    while (got < n && (got + 1 + STEAL_COST) / own < (backlog - got) / theirs)
        got++;
    return got;
}

uint32_t share_steal(share *s, const share_devices *all, uint32_t dev, uint32_t *idx, uint32_t max)
{
    uint32_t n_unclaimed, owner = victim(s, all, dev, &n_unclaimed);
    uint32_t n = worth_taking(all, dev, owner, n_unclaimed < max ? n_unclaimed : max);
    for (uint32_t k = s->n, left = n; k-- > 0 && left > 0;) {
        share_part *p = &s->parts[k];
        if (p->owner != owner || !can_steal(p, dev))
            continue;
        p->owner = (uint8_t)dev;
        p->is_stolen = true;
        idx[--left] = k;
    }
    return n;
}

bool share_has(const share *s, uint32_t dev, uint32_t k) { return has(&s->parts[k], dev); }

bool share_claim(share *s, uint32_t dev, uint32_t k)
{
    if (!is_of(&s->parts[k], dev, SHARE_TAKEN))
        return false;
    s->parts[k].state = SHARE_CLAIMED;
    return true;
}

bool share_finish(share *s, uint32_t dev, uint32_t k)
{
    share_part *p = &s->parts[k];
    if (!has(p, dev))
        return false;
    p->state = SHARE_DONE;
    return true;
}

void share_set_done(share *s, uint32_t k) { s->parts[k].state = SHARE_DONE; }

void share_redo(share *s, uint32_t k)
{
    share_part *p = &s->parts[k];
    if (p->state != SHARE_DONE)
        return;
    p->state = SHARE_FREE;
    p->is_stolen = false;
    p->avoid |= 1u << p->owner;
}

uint32_t share_fail_device(share *s, uint32_t dev, bool blame)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < s->n; k++)
        n += share_give_back(s, dev, k, blame);
    return n;
}

uint32_t share_count(const share *s, share_state st)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < s->n; k++)
        n += s->parts[k].state == st;
    return n;
}
