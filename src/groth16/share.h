/* How the partitions of one proof set are shared between devices: pure logic, no clock, no lock.
 * A device takes some partitions (it has their witnesses), then claims each before its costly part
 * begins. A device with nothing left takes over what others took but have not claimed, as far as that
 * ends sooner; what a failed device had goes back. */
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

/* What is known of a device when work is shared. */
typedef struct share_device {
    double
        speed; /* measured partitions per second; 0: not known, counts as the mean of the known */
    double at_most; /* it has worked for too long to be faster than this; 0: that says nothing */
    double
        backlog; /* partitions it has to make first, those under way as half of one (share_backlog) */
    bool is_open;   /* healthy, and has nothing to do but its backlog */
    uint32_t n_may; /* how many of the free partitions it may take */
} share_device;
typedef struct share_devices {
    uint32_t n;
    share_device d[SHARE_DEVICES_MAX];
} share_devices;

/* What a measured speed counts for after so many batches in a row in which a healthy device got nothing:
 * 2 % more for each. A speed that was low by accident, as with other work on the device, would otherwise
 * keep it out for ever. Of 13 partitions, a device of 0.58 per second beside one of 18 gets one after 44
 * such batches. */
double share_hoped_speed(double speed, uint32_t n_left_out);
/* How many of `left` free partitions device dev should take now, at most max: each goes to the open
 * device that would have made it first, of equals to the lower one. For partitions that cost the same
 * that is the least time until all are made. A device that is too slow gets 0 and has to ask again when
 * something changed. Where left > 0, the numbers are the same for all who ask and each partition is in
 * some open device's n_may, one of them gets at least one. dev counts as open. */
uint32_t share_quota(const share_devices *all, uint32_t dev, uint32_t left, uint32_t max);
/* Partitions that dev has, claimed ones as half of one. */
double share_backlog(const share *s, uint32_t dev);

/* May dev have partition k: it is free, and either dev did not fail on it or every device in the
 * mask `usable` did. */
bool share_may_take(const share *s, uint32_t dev, uint32_t k, uint32_t usable);
/* How many it may have. */
uint32_t share_count_for(const share *s, uint32_t dev, uint32_t usable);
/* Free -> taken; false when not free. */
bool share_take(share *s, uint32_t dev, uint32_t k);
/* Taken or claimed by dev -> free; blame: dev is to be avoided for it. False when dev does not have
 * it. */
bool share_give_back(share *s, uint32_t dev, uint32_t k, bool blame);
/* Take over up to max partitions that another took and did not claim: of the device that would be busy
 * longest, its last ones, since owners claim in ascending order, each only if dev will have made it
 * before its owner would, and none a second time. dev begins with nothing to do. Returns how many; idx
 * has room for max and gets them in ascending order. */
uint32_t share_steal(share *s, const share_devices *all, uint32_t dev, uint32_t *idx, uint32_t max);
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
