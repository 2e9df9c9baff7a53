/* Writing key files: atomic output, and where a set-up sends its bytes. */
#ifndef GROTH16_PARAMS_OUT_H
#define GROTH16_PARAMS_OUT_H
#include "base/status.h"
#include "groth16/key.h"
#include <stddef.h>
#include <stdint.h>

/* A file that appears under its name only when complete. Writes keep their first failure; commit
 * reports it. */
typedef struct g16_out {
    int fd;
    char *path, *tmp;
    uint64_t len, want_len;
    cuzk_status st;
} g16_out;
/* Opens <path>.tmp-XXXXXX and reserves len bytes, so that a full disk shows before hours of work.
 * Errors: CUZK_E_IO, CUZK_E_NOMEM; then *o needs no further call. */
CUZK_MUST_CHECK cuzk_status g16_out_create(g16_out *o, const char *path, uint64_t len);
void g16_out_write(g16_out *o, const void *p, size_t n);
/* fsync, rename, fsync of the directory; on any failure the temporary file is removed. Releases
 * o. */
CUZK_MUST_CHECK cuzk_status g16_out_commit(g16_out *o);
void g16_out_abandon(g16_out *o); /* remove the temporary file; releases o */

/* Where the set-up sends the bytes of a .params file, in order. */
typedef struct g16_sink {
    void *ctx;
    cuzk_status (*write)(void *ctx, const void *p, size_t n);
} g16_sink;
/* The six points of vk that depend on the toxic waste alone; ic is left as it is. Variable time. */
void g16_toxic_vk(g16_vk *vk, const g16_toxic *t);
/* Size of the .params file of a shape (circuits.md A.7). */
uint64_t g16_params_bytes(const r1cs_shape *s);
/* g16_setup into a sink. */
CUZK_MUST_CHECK cuzk_status g16_setup_stream(const r1cs_shape *s, const g16_toxic *t, g16_sink sink,
                                             const run_ctx *rc);
#endif
