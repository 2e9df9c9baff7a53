/* What the tests of the set-up share: a stream with slices and timed groups, and a key in device
 * memory. */
#ifndef SETUP_FIXTURE_H
#define SETUP_FIXTURE_H
#include "gpu/gpu_setup.h"
#include <stdbool.h>
#include <stdio.h>

#define SETUP_GROUPS_MAX 64
/* Everything of one device; {0} before setup_device_open. */
typedef struct setup_device {
    gpu_run run;
    gpu_msm_ws ws; /* its memory is the key's */
    void *events[2 * SETUP_GROUPS_MAX], *slice[2];
    const char *names[SETUP_GROUPS_MAX];
    unsigned n_groups;
    uint64_t n_slices, fail_at;             /* the slice to fail, from 1; 0: none */
    double last_slice_ms, longest_slice_ms; /* between two slices; each waits for the one before */
} setup_device;
bool setup_device_open(setup_device *d);
void setup_device_close(setup_device *d);
double setup_clock_ms(void);
void setup_device_reset(setup_device *d); /* slices and groups */
/* Milliseconds of all groups of that name, once the stream is empty. */
double setup_group_ms(setup_device *d, const char *name);

typedef struct setup_key {
    gpu_key_mem mem;
    g16_vk vk;
    size_t scratch_bytes;
    double wall_ms;
} setup_key;
/* Take memory, fill it with 0xa5 and make the key. CUZK_E_NOMEM when the device's does not suffice.
 * setup_key_free in any case. */
CUZK_MUST_CHECK cuzk_status setup_key_make(setup_key *k, setup_device *d, const r1cs_shape *s,
                                           const g16_toxic *t);
/* The bytes of its .params file; the key's points are used up. */
CUZK_MUST_CHECK cuzk_status setup_key_bytes(uint8_t *out, size_t len, setup_key *k,
                                            setup_device *d);
void setup_key_free(setup_key *k, setup_device *d);
#endif
