/* What the files of groth16 share: mapped input, atomic output, set-up into any sink. */
#ifndef GROTH16_INT_H
#define GROTH16_INT_H
#include "groth16/backend_parts.h"
#include <stddef.h>
#include <stdint.h>

/* A file mapped for reading. A file cut short by others while it is mapped raises SIGBUS, as with
 * every mapping: key files are replaced by rename, never in place. */
typedef struct g16_map {
    const uint8_t *p;
    size_t len;
} g16_map;
/* Errors: CUZK_E_NOT_FOUND, CUZK_E_IO, CUZK_E_INPUT (not a regular file, empty). */
CUZK_MUST_CHECK cuzk_status g16_map_open(g16_map *m, const char *path);
void g16_map_close(g16_map *m);

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
/* Size of the .params file of a shape (circuits.md A.7). */
uint64_t g16_params_bytes(const r1cs_shape *s);
CUZK_MUST_CHECK cuzk_status g16_setup_stream(const r1cs_shape *s, const g16_toxic *t, g16_sink sink,
                                             const run_ctx *rc);

/* The known-answer circuit: a = 3, b = a a, c = b (a + 2), x = b + 5 - 3a + c, with its toxic
 * values, r, s and the reference's proof. */
CUZK_MUST_CHECK cuzk_status g16_tiny_shape(r1cs_shape **out);
CUZK_MUST_CHECK cuzk_status g16_tiny_witness(witness *w, const r1cs_shape *s);
void g16_tiny_toxic(g16_toxic *t);
void g16_tiny_blinding(g16_blinding *rs);
extern const uint8_t g16_tiny_proof[G16_PROOF_BYTES];
#endif
