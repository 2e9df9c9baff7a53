/* Keys in evaluation form: what the h and l sections of a proving key become under a linear map, so
 * that a proof needs four transforms instead of six, C is never evaluated, and about a third of the
 * scalars of section h are zero.
 *
 * With m = 2^lg_m, w = fr_root_of_unity(lg_m), H_{m-1} = infinity, theta = X d/dX (coefficient i
 * times i), u_j = 1 on the rows (1 - x) x that r1cs_shape_boolean_rows names and 0 on all others, U
 * the polynomial of degree < m with U(w^j) = u_j:
 *     H'_j = sum_i w^-ij H_i
 *     G_j  = (1/m^2) sum_i i w^-ij H_i
 *     D_j  = (1/m^2) ((theta U)(w^j) H'_j + (1/m) sum_i i w^-ij sum_k w^ik u_k H'_k)
 *     L'_v = L_v + sum_j B_jv D_j - sum_j C_jv G_j   for every variable v; for inputs L_v = infinity.
 * The scalars of a proof, with A, B of degree < m that have the row evaluations a, b on the domain:
 *     s_j  = (1/m^2) ((a_j - u_j) (theta B)(w^j) + b_j (theta (A - U))(w^j)).
 * Then the sum of s_j H'_j plus that over L' is the sum over H plus that over L when the rows hold:
 * the same element C of the proof, the same bytes for the same r and s. For h(w^j) = (1/m)
 * theta(A B - C)(w^j) by l'Hopital's rule, and A = U + W: theta(U B - C) is linear in the witness and
 * is in L', theta(W B) = W theta B + B theta W, which is what s has. Why U: where a boolean row's x is
 * 0, so are w_j = -x and b_j = x, and s_j; so are a_j, b_j and s_j in gates of two bits that are 0, and
 * on padding. (H_{m-1} belongs to the top coefficient of h, which is 0. It is not looked at, in either
 * form: verification tells.)
 *
 * File, big-endian:
 *     0 magic "cuzk-evk", 8 version u32 = 2, 12 lg_m u32, 16 n_rows u64, 24 nnz_c u64,
 *     32 n_inputs u32, 36 n_aux u32,
 *     40 digest of the .params file (16 bytes, as g16_key_digest),
 *     56 digest of its verifying key (BLAKE2b-512 of the file's bytes before section h, cut to 32),
 *     88 digest of the circuit (r1cs_digest), 120 its name, 64 bytes, zero padded,
 *     184 eight zero bytes, 192 BLAKE2b-512 of bytes 0 to 191,
 *     256 H': m points; L' of inputs: n_inputs points; L' of aux: n_aux points; 96 bytes each,
 *         uncompressed as in .params, infinity allowed in the second section only,
 *     then BLAKE2b-512 over the BLAKE2b-512 of each 16 MiB chunk of everything before (chunk c begins at
 *     byte c 2^24, the last one may be short).
 * Opening checks the head and the length, g16_evkey_check_bytes the points' digest. A file is written
 * under a temporary name and renamed, so there are no torn ones. Another version is refused: the file
 * can be made again. */
#ifndef GROTH16_EVKEY_H
#define GROTH16_EVKEY_H
#include "groth16/key.h"

/* Immutable once open; points stay in file form in the mapping. */
typedef struct g16_evkey g16_evkey;
typedef enum g16_ev_section {
    G16_EV_H,
    G16_EV_L_INPUTS,
    G16_EV_L_AUX,
    G16_EV_N_SECTIONS
} g16_ev_section;
typedef struct g16_evkey_info {
    uint32_t lg_m, n_inputs, n_aux;
    uint64_t n_rows, nnz_c;
    uint8_t key_digest[16], vk_digest[32], circuit_digest[32];
    char circuit[64];
    /* derived: */
    uint64_t file_bytes, n[G16_EV_N_SECTIONS], offset[G16_EV_N_SECTIONS];
} g16_evkey_info;

/* Where the evaluation form of a key is looked for: FILE.params -> FILE.evkey, other names get
 * .evkey appended. */
void g16_evkey_path(char *out, size_t len, const char *params_path);
/* Map and parse. Errors: CUZK_E_NOT_FOUND, CUZK_E_IO, CUZK_E_INPUT (field, expected, found). */
CUZK_MUST_CHECK cuzk_status g16_evkey_open(g16_evkey **out, const char *path);
/* The same over memory (tests, fuzzers); borrows b. */
CUZK_MUST_CHECK cuzk_status g16_evkey_from_memory(g16_evkey **out, const void *b, size_t len);
/* The one that lies beside k's file, matched with k and s; *out is NULL when there is none, or k
 * has no file. One that is there but does not fit is an error. */
CUZK_MUST_CHECK cuzk_status g16_evkey_open_beside(g16_evkey **out, const g16_key *k,
                                                  const r1cs_shape *s);
void g16_evkey_close(g16_evkey *e); /* NULL is allowed */
const g16_evkey_info *g16_evkey_get_info(const g16_evkey *e);
/* The encoded points of a section (a device decodes them itself). */
const uint8_t *g16_evkey_section(const g16_evkey *e, g16_ev_section s);
/* Was it made from a key with k's verifying key, for a circuit with the shape's name and counts? A
 * key and its circuit are tied by the verifying key, so this is cheap and enough for who verifies
 * what is proven; the digests of whole files are g16_evkey_check's. Errors: CUZK_E_INPUT. */
CUZK_MUST_CHECK cuzk_status g16_evkey_match(const g16_evkey *e, const g16_key *k,
                                            const r1cs_shape *s);
/* The digest at the file's end; reads all of it, on all threads of rc's pool. Who proves with damaged
 * points makes wrong proofs. Errors: CUZK_E_INPUT, CUZK_E_NOMEM, CUZK_E_CANCELLED. */
CUZK_MUST_CHECK cuzk_status g16_evkey_check_bytes(const g16_evkey *e, const run_ctx *rc);
/* Decode points [first, first + n) of a section; full also checks curve and subgroup. Errors:
 * CUZK_E_INPUT with section and index, CUZK_E_RANGE, CUZK_E_CANCELLED. */
CUZK_MUST_CHECK cuzk_status g16_evkey_points(const g16_evkey *e, g16_ev_section s, uint64_t first,
                                             uint64_t n, bool full, g1_aff *out, const run_ctx *rc);

/* u as bits, bit j of word j/64, j < m (one word or more); release with mem_free. NULL: out of
 * memory. */
uint64_t *g16_evkey_boolean_rows(const r1cs_shape *s);

/* Make the file. The points of k must be in the subgroup (`params check --full`); g16_evkey_check
 * would tell.
 * Memory: 192 bytes per domain point, and the larger of 32 per domain point, and 8 per term of B and
 * C with 16 per variable; file: see g16_evkey_bytes.
 * Cost: 2 lg_m + 3 products of a point by a scalar per domain point.
 * Errors: CUZK_E_INPUT (k of another circuit, a bad point, a point that becomes infinity),
 * CUZK_E_UNSUPPORTED (domain), CUZK_E_NOMEM, CUZK_E_IO, CUZK_E_CANCELLED; no file is left then. */
CUZK_MUST_CHECK cuzk_status g16_evkey_make(const char *path, const g16_key *k, const r1cs_shape *s,
                                           const run_ctx *rc);
uint64_t g16_evkey_bytes(const r1cs_shape *s);

/* Everything: the match, all digests, every point on the curve and in the subgroup, and the linear
 * map by one equation with independent random 128-bit factors x, y,
 *     sum x_j H'_j + sum y_v L'_v = sum y_v L_v + sum_i (coefficients of x and y through it) H_i.
 * If any point is wrong, it holds with a probability of 2^-128 at most (given that k's own points
 * are in the subgroup). Shares no code with the making but fields and their transforms, curve, shapes
 * and digests.
 * Memory: 96 bytes per domain point, 16 per variable. Errors: CUZK_E_INPUT, CUZK_E_VERIFY (the
 * equation), CUZK_E_NOMEM, CUZK_E_IO, CUZK_E_CANCELLED. */
CUZK_MUST_CHECK cuzk_status g16_evkey_check(const g16_evkey *e, const g16_key *k,
                                            const r1cs_shape *s, const run_ctx *rc);
#endif
