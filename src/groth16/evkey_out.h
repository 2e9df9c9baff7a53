/* Writing evaluation-form keys (groth16/evkey.h), whoever makes the points: the CPU, a device. */
#ifndef GROTH16_EVKEY_OUT_H
#define GROTH16_EVKEY_OUT_H
#include "groth16/evkey.h"
#include "groth16/params_out.h"
#include "hash/blake2_tree.h"

/* A file that appears under its name only when complete. */
typedef struct g16_evkey_out {
    g16_out out;
    g16_evkey_info info;
    blake2_tree hash; /* of all that is written */
    uint64_t n_points;
} g16_evkey_out;
/* Match k with s, take both digests, reserve the file's bytes and write its head. Errors:
 * CUZK_E_INPUT (k of another circuit), CUZK_E_UNSUPPORTED (domain), CUZK_E_NOMEM, CUZK_E_IO,
 * CUZK_E_CANCELLED; then *o needs no further call. */
CUZK_MUST_CHECK cuzk_status g16_evkey_out_create(g16_evkey_out *o, const char *path,
                                                 const g16_key *k, const r1cs_shape *s,
                                                 const run_ctx *rc);
/* The next n points of the file, encoded. Errors: CUZK_E_INPUT (infinity where there is to be none;
 * honest keys have no sums that vanish, but by a chance of 2^-255, and provers need not deal with
 * them), CUZK_E_IO; abandon is still due. */
CUZK_MUST_CHECK cuzk_status g16_evkey_out_write(g16_evkey_out *o, const uint8_t *bytes, uint64_t n);
/* As g16_out_commit: releases o, also on failure. Errors: CUZK_E_INTERNAL (points are missing),
 * CUZK_E_IO. */
CUZK_MUST_CHECK cuzk_status g16_evkey_out_commit(g16_evkey_out *o);
void g16_evkey_out_abandon(g16_evkey_out *o);
#endif
