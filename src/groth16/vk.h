/* Verifying keys, proofs and verification (circuits.md A.5 to A.9). */
#ifndef GROTH16_VK_H
#define GROTH16_VK_H
#include "base/run_ctx.h"
#include "ec/pairing.h"

typedef struct g16_proof {
    g1_aff a;
    g2_aff b;
    g1_aff c;
} g16_proof;
#define G16_PROOF_BYTES 192
/* Errors of decode: CUZK_E_INPUT: length, encodings (curve, subgroup, infinity) with the element
 * named A, B or C. */
CUZK_MUST_CHECK cuzk_status g16_proof_decode(g16_proof *o, const uint8_t *b, size_t len);
void g16_proof_encode(uint8_t b[G16_PROOF_BYTES], const g16_proof *p);

/* Invariant: all points valid, in the subgroup, delta not the identity; n_ic >= 1. {0} is empty. */
typedef struct g16_vk {
    g1_aff alpha_g1, beta_g1, delta_g1;
    g2_aff beta_g2, gamma_g2, delta_g2;
    g1_aff *ic;
    uint32_t n_ic;
} g16_vk;
#define G16_VK_HEAD_BYTES 868
/* Exactly the bytes of a .vk file (trailing bytes are an error unless used_len is given, which then
 * gets the length used). */
CUZK_MUST_CHECK cuzk_status g16_vk_decode(g16_vk *o, const uint8_t *b, size_t len,
                                          size_t *used_len);
CUZK_MUST_CHECK cuzk_status g16_vk_load(g16_vk *o, const char *path);
size_t g16_vk_bytes(const g16_vk *vk);
void g16_vk_encode(uint8_t *b, const g16_vk *vk);
CUZK_MUST_CHECK cuzk_status g16_vk_copy(g16_vk *to, const g16_vk *from); /* CUZK_E_NOMEM */
void g16_vk_fini(g16_vk *vk);

/* What verification needs again and again; immutable, borrows vk. */
typedef struct g16_pvk g16_pvk;
CUZK_MUST_CHECK cuzk_status g16_pvk_create(g16_pvk **out, const g16_vk *vk);
void g16_pvk_destroy(g16_pvk *p);
/* inputs: n public inputs without ONE. Errors: CUZK_E_INPUT (n + 1 != n_ic), CUZK_E_VERIFY (the
 * equation fails). */
CUZK_MUST_CHECK cuzk_status g16_verify(const g16_pvk *pvk, const fr *inputs, size_t n,
                                       const g16_proof *proof);
/* All n_proofs at once with random 128-bit weights; inputs[k] has n elements. CUZK_E_VERIFY if any
 * fails (not which). */
CUZK_MUST_CHECK cuzk_status g16_verify_batch(const g16_pvk *pvk, const fr *const *inputs, size_t n,
                                             const g16_proof *proofs, size_t n_proofs);
#endif
