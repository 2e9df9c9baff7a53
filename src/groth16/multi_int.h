/* Between multi_backend.c (the table of functions), multi_load.c (keys) and multi_prove.c (sharing one
 * batch). */
#ifndef GROTH16_MULTI_INT_H
#define GROTH16_MULTI_INT_H
#include "groth16/multi_backend.h"
#include <pthread.h>

typedef struct multi_member {
    g16_backend *backend;
    g16_multi_stats stats;
    uint32_t n_left_out; /* batches in a row that it got nothing in, though healthy */
    bool is_cold;        /* has made nothing since it failed */
} multi_member;

typedef struct multi {
    g16_backend base; /* first: a multi is a backend */
    uint32_t n;
    bool busy;
    multi_member members[SHARE_DEVICES_MAX];
    /* guards busy, members' stats and a running batch's share and state */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a proof was finished or given back, or the batch ends */
    /* held around the caller's callbacks; never taken while holding lock */
    pthread_mutex_t callback_lock;
} multi;

typedef struct multi_handle {
    char unused; /* a structure needs a member before the array */
    void *of[];
} multi_handle;

/* Fill h->of; on failure some entries are, the others NULL. Blocks: for the slowest device. */
CUZK_MUST_CHECK cuzk_status multi_load(multi *m, multi_handle *h, const r1cs_shape *s,
                                       const g16_key *k, const run_ctx *rc);
CUZK_MUST_CHECK cuzk_status multi_prove(multi *m, multi_handle *h, const g16_batch *batch,
                                        g16_timings *t, const run_ctx *rc);
#endif
