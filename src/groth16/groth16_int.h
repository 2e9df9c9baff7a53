/* What the files of groth16 share: mapped input, points in file form, set-up into any sink. */
#ifndef GROTH16_INT_H
#define GROTH16_INT_H
#include "groth16/backend_parts.h"
#include "groth16/params_out.h"
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

/* Points [first, first + n) of what, at bytes, into g1 or g2 (both NULL: check only). The identity
 * is refused unless allow_inf; full also checks curve and subgroup. */
typedef struct g16_points {
    const char *what;
    const uint8_t *bytes;
    uint64_t first, n;
    g1_aff *g1;
    g2_aff *g2;
    bool is_g2, full, allow_inf;
} g16_points;
/* Errors: CUZK_E_INPUT names what and the first bad index, CUZK_E_CANCELLED. */
CUZK_MUST_CHECK cuzk_status g16_decode_points(const g16_points *p, const run_ctx *rc);

/* The known-answer circuit: a = 3, b = a a, c = b (a + 2), x = b + 5 - 3a + c, with its toxic
 * values, r, s and the reference's proof. */
CUZK_MUST_CHECK cuzk_status g16_tiny_shape(r1cs_shape **out);
CUZK_MUST_CHECK cuzk_status g16_tiny_witness(witness *w, const r1cs_shape *s);
void g16_tiny_toxic(g16_toxic *t);
void g16_tiny_blinding(g16_blinding *rs);
extern const uint8_t g16_tiny_proof[G16_PROOF_BYTES];
#endif
