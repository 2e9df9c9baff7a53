/* How the partitions of one proof set are shared between devices: pure logic, no clock, no lock.
 * A device takes some partitions (it has their witnesses), then claims each before its costly part
 * begins. A device with nothing left takes over what others took but have not claimed; what a failed
 * device had goes back. */
#ifndef GROTH16_SHARE_H
#define GROTH16_SHARE_H
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

#define SHARE_DEVICES_MAX 32u

typedef enum share_state { SHARE_FREE, SHARE_TAKEN, SHARE_CLAIMED, SHARE_DONE } share_state;

typedef struct share_part {
    uint8_t state; /* share_state */
    uint8_t owner; /* device, while taken or claimed; the one that made it, when done */
    uint8_t
        is_stolen;  /* taken over once: not again, or two idle devices could pass it on for ever */
    uint32_t avoid; /* bit d: device d failed on it */
} share_part;

/* {0} is empty. Threads: confined. Invariant: exactly one device may claim a partition, and only
 * the claimer can finish it. */
typedef struct share {
    share_part *parts;
    uint32_t n;
} share;

/* Errors: CUZK_E_NOMEM. */
CUZK_MUST_CHECK cuzk_status share_init(share *s, uint32_t n);
void share_fini(share *s);

/* How many of `left` partitions device dev should take now. speed[d]: measured partitions per second
 * (0: not yet known, counts as the mean of the known ones); free[d]: the device is healthy and has
 * nothing else to do (dev's own entry is taken as true). At least 1 when left > 0; at most max. */
uint32_t share_quota(const double *speed, const bool *free, uint32_t n_devices, uint32_t dev,
                     uint32_t left, uint32_t max);

/* May dev have partition k: it is free, and either dev did not fail on it or every device in the
 * mask `usable` did. */
bool share_may_take(const share *s, uint32_t dev, uint32_t k, uint32_t usable);
/* Free -> taken; false when not free. */
bool share_take(share *s, uint32_t dev, uint32_t k);
/* Taken or claimed by dev -> free; blame: dev is to be avoided for it. False when dev does not have
 * it. */
bool share_give_back(share *s, uint32_t dev, uint32_t k, bool blame);
/* Take over up to max partitions that another took and did not claim: its last ones, since owners claim
 * in ascending order, never more than half of what it has unclaimed, rounded up, and none a second
 * time. Returns how many; idx has room for max and gets them in ascending order. */
uint32_t share_steal(share *s, uint32_t dev, uint32_t *idx, uint32_t max);
/* Taken or claimed by dev. */
bool share_has(const share *s, uint32_t dev, uint32_t k);
/* Taken by dev -> claimed; false when dev does not have it any more. */
bool share_claim(share *s, uint32_t dev, uint32_t k);
/* Claimed (or taken) by dev -> done; false, and nothing changes, when dev does not have it. */
bool share_finish(share *s, uint32_t dev, uint32_t k);
/* Made outside of any device (a finished partition from an earlier run). */
void share_set_done(share *s, uint32_t k);
/* A finished partition turned out wrong: free again, its maker is to be avoided. */
void share_redo(share *s, uint32_t k);
/* share_give_back for all that dev has. Returns how many. */
uint32_t share_fail_device(share *s, uint32_t dev, bool blame);
uint32_t share_count(const share *s, share_state st);
#endif
