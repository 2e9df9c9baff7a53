#include "groth16/share.h"
#include "base/mem.h"

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

uint32_t share_quota(const double *speed, const bool *free, uint32_t n_devices, uint32_t dev,
                     uint32_t left, uint32_t max)
{
    double known = 0, total = 0;
    uint32_t n_known = 0;
    for (uint32_t d = 0; d < n_devices; d++)
        if (speed[d] > 0) {
            known += speed[d];
            n_known++;
        }
    double mean = n_known ? known / n_known : 1;
    for (uint32_t d = 0; d < n_devices; d++)
        if (free[d] || d == dev)
            total += speed[d] > 0 ? speed[d] : mean;
    double own = speed[dev] > 0 ? speed[dev] : mean;
    double exact = (double)left * own / total;
    uint32_t n = (uint32_t)exact;
    /* Rounded up: of equal devices the first ones take one more, the last take what is left. */
    if ((double)n < exact - 1e-9)
        n++;
    n = n > left ? left : n;
    n = n == 0 && left > 0 ? 1 : n;
    return n > max ? max : n;
}

bool share_may_take(const share *s, uint32_t dev, uint32_t k, uint32_t usable)
{
    const share_part *p = &s->parts[k];
    return p->state == SHARE_FREE && ((p->avoid >> dev & 1) == 0 || (usable & ~p->avoid) == 0);
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

/* The device with most unclaimed partitions that dev may have. */
static uint32_t victim(const share *s, uint32_t dev, uint32_t *n_unclaimed)
{
    uint32_t count[SHARE_DEVICES_MAX] = {0}, best = 0;
    for (uint32_t k = 0; k < s->n; k++)
        if (can_steal(&s->parts[k], dev))
            count[s->parts[k].owner]++;
    for (uint32_t d = 1; d < SHARE_DEVICES_MAX; d++)
        best = count[d] > count[best] ? d : best;
    *n_unclaimed = count[best];
    return best;
}

uint32_t share_steal(share *s, uint32_t dev, uint32_t *idx, uint32_t max)
{
    uint32_t n_unclaimed, owner = victim(s, dev, &n_unclaimed), n = (n_unclaimed + 1) / 2;
    n = n > max ? max : n;
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
