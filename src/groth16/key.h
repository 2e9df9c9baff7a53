/* Proving keys: bellperson .params files, mapped (circuits.md A.7). */
#ifndef GROTH16_KEY_H
#define GROTH16_KEY_H
#include "groth16/vk.h"
#include "r1cs/shape.h"

/* Points stay in file form (uncompressed big-endian) in the mapping; decode what you need, chunk by
 * chunk. Immutable once open. */
typedef struct g16_key g16_key;
typedef enum g16_section { G16_H, G16_L, G16_A, G16_B_G1, G16_B_G2, G16_N_SECTIONS } g16_section;
typedef struct g16_key_info {
    uint64_t file_bytes;
    uint32_t n_ic;
    uint32_t n[G16_N_SECTIONS];
    uint64_t offset[G16_N_SECTIONS];
} g16_key_info;

/* Map and parse; every length is checked against the file size. The file must not be cut short in
 * place while open (SIGBUS, as with any mapping): replace key files by rename. Errors:
 * CUZK_E_NOT_FOUND, CUZK_E_IO, CUZK_E_INPUT (field, expected, found). */
CUZK_MUST_CHECK cuzk_status g16_key_open(g16_key **out, const char *path);
/* The same over memory (tests, fuzzers); borrows b. */
CUZK_MUST_CHECK cuzk_status g16_key_from_memory(g16_key **out, const void *b, size_t len);
void g16_key_close(g16_key *k);
/* The file's name as given to open; NULL over memory. */
const char *g16_key_path(const g16_key *k);
const g16_vk *g16_key_vk(const g16_key *k);
const g16_key_info *g16_key_get_info(const g16_key *k);
/* The encoded points of a section (a device decodes them itself); n * 96 or n * 192 bytes, lives as
 * long as k. */
const uint8_t *g16_key_section(const g16_key *k, g16_section s);
/* Do the lengths fit the shape (ic, l, h, a, b as circuits.md A.7)? Errors: CUZK_E_INPUT names
 * section, expected, found. */
CUZK_MUST_CHECK cuzk_status g16_key_match(const g16_key *k, const r1cs_shape *s);
/* Decode points [first, first + n) of a G1 (G2) section; identity is refused; full also checks
 * curve and subgroup.
 * Errors: CUZK_E_INPUT with section and index. */
CUZK_MUST_CHECK cuzk_status g16_key_g1(const g16_key *k, g16_section s, uint64_t first, uint64_t n,
                                       bool full, g1_aff *out, const run_ctx *rc);
CUZK_MUST_CHECK cuzk_status g16_key_g2(const g16_key *k, g16_section s, uint64_t first, uint64_t n,
                                       bool full, g2_aff *out, const run_ctx *rc);
/* Check every point (curve, subgroup, not the identity). */
CUZK_MUST_CHECK cuzk_status g16_key_check_points(const g16_key *k, const run_ctx *rc);
/* BLAKE2b-512 of the file, first 16 bytes as 32 hex digits (the form of parameters.json). */
CUZK_MUST_CHECK cuzk_status g16_key_digest(const g16_key *k, char hex[33], const run_ctx *rc);

/* The published key sets (circuits.md A.10, parameters.json). */
typedef struct g16_published {
    const char *file_stem;
    const char *params_digest, *vk_digest;
    uint64_t sector_size;
} g16_published;
/* By file name without directory and extension, e.g. "v28-stacked-proof-of-replication-...". NULL
 * when not published. */
const g16_published *g16_published_find(const char *file_stem);

/* Development set-up. toxic all nonzero. Generators are the standard ones. Writes <path>
 * (atomically: temporary file + rename).
 * Errors: CUZK_E_INPUT (zero toxic value, tau in the domain, unconstrained variable named),
 * CUZK_E_IO, CUZK_E_NOMEM. */
typedef struct g16_toxic {
    fr alpha, beta, gamma, delta, tau;
} g16_toxic;
CUZK_MUST_CHECK cuzk_status g16_toxic_random(g16_toxic *t);
CUZK_MUST_CHECK cuzk_status g16_setup(const r1cs_shape *s, const g16_toxic *t,
                                      const char *params_path, const run_ctx *rc);
CUZK_MUST_CHECK cuzk_status g16_vk_write(const g16_vk *vk, const char *path);
#endif
