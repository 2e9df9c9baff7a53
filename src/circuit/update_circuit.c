#include "circuit/update_circuit.h"
#include "base/mem.h"
#include "circuit/circuit_parts.h"
#include <stdio.h>

#define N_HS 6u
#define MAX_CHALLENGE_BITS 40u
#define MAX_APEX 128u
#define MAX_SIBLINGS (7u * MERKLE_MAX_LEVELS)

/* State of one synthesis; proof and part are NULL in shape mode. Challenges have a copy with their
 * own c and siblings. */
typedef struct synth {
    cs *c;
    const fil_update_config *cfg;
    bool poseidon;
    const fil_update *proof;
    const fil_update_partition *part;
    uint32_t partition;
    merkle_shape tree_r, tree_d, tree_partition;
    boolean partition_bits[8], select_bits[N_HS];
    num partition_num, comm_r_old, comm_d_new, comm_r_new, phi, comm_c, root_r_old, root_r_new;
    num apex[MAX_APEX], apex_row[MAX_APEX], siblings[MAX_SIBLINGS];
    boolean (*digests)[NUM_BITS]; /* n_digests: the bits of the challenges */
} synth;

static uint32_t challenge_bits(const synth *s)
{
    return s->poseidon ? s->cfg->lg_nodes : s->cfg->lg_nodes - s->cfg->lg_partitions;
}

static uint32_t n_challenges(const synth *s)
{
    return s->poseidon ? s->cfg->challenges << s->cfg->lg_partitions : s->cfg->challenges;
}

/* Challenges per digest, and digests. */
static uint32_t per_digest(const synth *s) { return PACK_BITS / challenge_bits(s); }

static uint32_t n_digests(const synth *s)
{
    return (n_challenges(s) + per_digest(s) - 1) / per_digest(s);
}

static num alloc_val(cs *c, const fr *v) { return num_alloc(c, v ? v : &FR_ZERO); }

/* Public input 0: partition index and one-hot h selector in one number, taken apart into bits. */
static void k_and_h_select(synth *s)
{
    cs *c = s->c;
    uint32_t pbits = s->poseidon ? 0 : s->cfg->lg_partitions, n = pbits + N_HS;
    uint64_t value = 0;
    boolean bits[8 + N_HS];
    fr v;
    if (s->proof)
        value = s->partition | (uint64_t)fil_update_h_select(s->cfg, s->proof->h) << pbits;
    fr_from_u64(&v, value);
    num kh = num_alloc(c, &v);
    cs_ns_push(c, "k_and_h_select");
    num_inputize(c, &kh);
    boolean_alloc_u64(c, bits, n, value);
    num_pow2_terms(c, CS_A, bits, n);
    cs_term_one(c, CS_B, R1CS_ONE);
    cs_term_one(c, CS_C, kh.var);
    cs_end_row(c);
    cs_ns_pop(c);
    for (uint32_t i = 0; i < pbits; i++)
        s->partition_bits[i] = bits[i];
    for (uint32_t i = 0; i < N_HS; i++)
        s->select_bits[i] = bits[pbits + i];
    if (!s->poseidon) {
        cs_ns_push(c, "partition");
        s->partition_num = num_pack_bits(c, s->partition_bits, pbits);
        cs_ns_pop(c);
    }
}

static num public_num(cs *c, const fr *v, const char *name)
{
    num n = alloc_val(c, v);
    cs_ns_push(c, "%s", name);
    num_inputize(c, &n);
    cs_ns_pop(c);
    return n;
}

/* computed * ONE = comm_r, with computed = H(comm_c, root). */
static void comm_r_check(synth *s, const num *root, const num *comm_r, const char *name)
{
    num pair[2] = {s->comm_c, *root};
    cs_ns_push(s->c, "%s", name);
    num h = poseidon_gadget_merkle(s->c, 2, pair);
    num_enforce_equal(s->c, &h, comm_r);
    cs_ns_pop(s->c);
}

static void commitments(synth *s)
{
    cs *c = s->c;
    const fil_update *v = s->proof;
    const fil_update_challenge *first = s->part ? &s->part->challenges[0] : NULL;
    s->comm_r_old = public_num(c, v ? &v->comm_r_old : NULL, "comm_r_old");
    s->comm_d_new = public_num(c, v ? &v->comm_d_new : NULL, "comm_d_new");
    s->comm_r_new = public_num(c, v ? &v->comm_r_new : NULL, "comm_r_new");
    num pair[2] = {s->comm_d_new, s->comm_r_old};
    cs_ns_push(c, "phi");
    s->phi = poseidon_gadget(c, 2, &POSEIDON_TAG_UPDATE, pair);
    cs_ns_pop(c);
    s->comm_c = alloc_val(c, s->part ? &s->part->comm_c : NULL);
    s->root_r_old = alloc_val(c, first ? &first->r_old.root : NULL);
    s->root_r_new = alloc_val(c, first ? &first->r_new.root : NULL);
}

/* The partition's apex tree and its place under comm_d_new. Siblings of the partition path: the top
 * levels of challenge 0's data path. */
static void apex(synth *s, const num *partition_siblings)
{
    cs *c = s->c;
    uint32_t n = 1u << s->cfg->lg_apex;
    for (uint32_t i = 0; i < n; i++)
        s->apex_row[i] = s->apex[i];
    for (uint32_t row = 0; n > 1; row++, n /= 2)
        for (uint32_t i = 0; i < n / 2; i++) {
            cs_ns_push(c, "apex tree row %u, node %u", row, i);
            s->apex_row[i] = sha256_gadget_hash2(c, &s->apex_row[2 * i], &s->apex_row[2 * i + 1]);
            cs_ns_pop(c);
        }
    cs_ns_push(c, "partition path");
    merkle_por_given(c, &s->tree_partition, s->partition_bits, partition_siblings, &s->apex_row[0],
                     &s->comm_d_new);
    cs_ns_pop(c);
}

static void apex_alloc(synth *s, num *partition_siblings)
{
    const fil_path *d = s->part ? &s->part->challenges[0].d_new : NULL;
    uint32_t pbits = s->cfg->lg_partitions;
    for (uint32_t i = 0; i < 1u << s->cfg->lg_apex; i++)
        s->apex[i] = alloc_val(s->c, s->part ? &s->part->apex[i] : NULL);
    for (uint32_t i = 0; i < pbits; i++)
        partition_siblings[i] = alloc_val(s->c, d ? &d->sib[s->cfg->lg_nodes - pbits + i] : NULL);
}

/* Digest j of the challenge generator as bits. */
static void challenge_digest(synth *s, boolean bits[NUM_BITS], uint32_t j, uint32_t n)
{
    cs *c = s->c;
    fr nd, jf, v = FR_ZERO;
    fr_from_u64(&nd, n);
    fr_from_u64(&jf, j);
    if (s->proof) {
        fr_mul(&v, &nd, &s->partition_num.val);
        fr_add(&v, &v, &jf);
    }
    num idx = num_alloc(c, &v);
    cs_term(c, CS_A, &nd, s->partition_num.var);
    cs_term(c, CS_A, &jf, R1CS_ONE);
    cs_term_one(c, CS_B, R1CS_ONE);
    cs_term_one(c, CS_C, idx.var);
    cs_end_row(c);
    num pair[2] = {s->comm_r_new, idx};
    num digest = poseidon_gadget(c, 2, &POSEIDON_TAG_UPDATE, pair);
    num_alloc_bits_le(c, bits, &digest.val);
    num_pow2_terms(c, CS_A, bits, NUM_BITS);
    cs_term_one(c, CS_B, R1CS_ONE);
    cs_term_one(c, CS_C, digest.var);
    cs_end_row(c);
}

/* rho of the challenge: its top h bits for each h, the selected one, hashed with phi. */
static num rho(synth *s, const boolean *bits)
{
    cs *c = s->c;
    num z[N_HS];
    fr sum = FR_ZERO;
    uint32_t cbits = s->cfg->lg_nodes;
    cs_ns_push(c, "rho");
    for (uint32_t i = 0; i < N_HS; i++) {
        uint32_t h = s->cfg->hs[i];
        num high = num_pack_bits(c, bits + (cbits - h), h);
        z[i] = num_alloc(c, s->select_bits[i].val ? &high.val : &FR_ZERO);
        cs_term_one(c, CS_A, high.var);
        boolean_term(c, CS_B, &FR_ONE, s->select_bits[i]);
        cs_term_one(c, CS_C, z[i].var);
        cs_end_row(c);
        fr_add(&sum, &sum, &z[i].val);
    }
    num total = num_alloc(c, &sum);
    for (uint32_t i = 0; i < N_HS; i++)
        cs_term_one(c, CS_A, z[i].var);
    cs_term_one(c, CS_B, R1CS_ONE);
    cs_term_one(c, CS_C, total.var);
    cs_end_row(c);
    num pair[2] = {s->phi, total};
    num r = poseidon_gadget(c, 2, &POSEIDON_TAG_UPDATE, pair);
    cs_ns_pop(c);
    return r;
}

static void given_path(synth *s, const merkle_shape *shape, const fil_path *path,
                       const boolean *bits, const num *leaf, const num *root, const char *name)
{
    uint32_t n_sib = 0;
    for (uint32_t k = 0; k < shape->n_levels; k++)
        n_sib += shape->arity[k] - 1u;
    for (uint32_t i = 0; i < n_sib; i++)
        s->siblings[i] = alloc_val(s->c, path ? &path->sib[i] : NULL);
    cs_ns_push(s->c, "%s", name);
    merkle_por_given(s->c, shape, bits, s->siblings, leaf, root);
    cs_ns_pop(s->c);
}

static void challenge_block(synth *s, const boolean *bits, const fil_update_challenge *v)
{
    cs *c = s->c;
    num r = rho(s, bits), scratch[MAX_APEX / 2];
    num leaf_r_old = alloc_val(c, v ? &v->r_old.leaf : NULL);
    num leaf_d_new = alloc_val(c, v ? &v->d_new.leaf : NULL);
    cs_ns_push(c, "new leaf");
    num product = num_mul(c, &leaf_d_new, &r);
    num leaf_r_new = num_add(c, &leaf_r_old, &product);
    cs_ns_pop(c);
    given_path(s, &s->tree_r, v ? &v->r_old : NULL, bits, &leaf_r_old, &s->root_r_old,
               "tree_r_old");
    given_path(s, &s->tree_r, v ? &v->r_new : NULL, bits, &leaf_r_new, &s->root_r_new,
               "tree_r_new");
    if (s->poseidon) {
        given_path(s, &s->tree_r, v ? &v->d_new : NULL, bits, &leaf_d_new, &s->comm_d_new,
                   "tree_d_new");
        return;
    }
    uint32_t w = challenge_bits(s), abits = s->cfg->lg_apex;
    cs_ns_push(c, "apex leaf");
    num apex_leaf = num_select(c, s->apex, abits, bits + (w - abits), scratch);
    cs_ns_pop(c);
    given_path(s, &s->tree_d, v ? &v->d_new : NULL, bits, &leaf_d_new, &apex_leaf, "to_apex_leaf");
}

static void digests(synth *s)
{
    uint32_t n = n_digests(s);
    for (uint32_t j = 0; j < n; j++) {
        cs_ns_push(s->c, "challenge digest %u", j);
        challenge_digest(s, s->digests[j], j, n);
        cs_ns_pop(s->c);
    }
}

/* What all challenges need. */
static void beginning(synth *s)
{
    num partition_siblings[8];
    k_and_h_select(s);
    commitments(s);
    if (!s->poseidon)
        apex_alloc(s, partition_siblings);
    comm_r_check(s, &s->root_r_old, &s->comm_r_old, "comm_r_old check");
    comm_r_check(s, &s->root_r_new, &s->comm_r_new, "comm_r_new check");
    if (s->poseidon)
        s->partition_num = num_alloc(s->c, &FR_ZERO);
    else
        apex(s, partition_siblings);
    digests(s);
}

/* Challenge k, made of the digests' bits, by way of c. */
static void challenge(void *ctx, cs *c, uint32_t k)
{
    boolean bits[MAX_CHALLENGE_BITS];
    synth *s = mem_alloc(sizeof *s, 64);
    if (!s) {
        cs_set_failure(c, cuzk_fail(CUZK_E_NOMEM, "synthesis of challenge %u", k));
        return;
    }
    *s = *(const synth *)ctx;
    s->c = c;
    uint32_t w = challenge_bits(s), per = per_digest(s);
    for (uint32_t i = 0; i < w; i++)
        bits[i] = s->digests[k / per][k % per * w + i];
    for (uint32_t i = w; i < s->cfg->lg_nodes; i++)
        bits[i] = s->partition_bits[i - w];
    cs_ns_push(c, "challenge_%u", k);
    challenge_block(s, bits, s->part ? &s->part->challenges[k] : NULL);
    cs_ns_pop(c);
    mem_wipe(s, sizeof *s);
    mem_free(s);
}

static void synth_destroy(synth *s)
{
    if (!s)
        return;
    mem_free(s->digests);
    mem_wipe(s, sizeof *s);
    mem_free(s);
}

static cuzk_status synth_create(synth **out, cs *c, const fil_update_config *cfg, bool poseidon)
{
    synth *s = mem_zalloc(sizeof *s, 64);
    *out = s;
    if (s) {
        s->c = c;
        s->cfg = cfg;
        s->poseidon = poseidon;
        s->digests = mem_alloc(n_digests(s) * sizeof *s->digests, 64);
    }
    if (!s || !s->digests) {
        synth_destroy(s);
        *out = NULL;
        return cuzk_fail(CUZK_E_NOMEM, "synthesis of EmptySectorUpdate %s", cfg->name);
    }
    merkle_shape_set(&s->tree_r, MERKLE_POSEIDON, cfg->base, cfg->base_levels, cfg->sub, cfg->top);
    merkle_shape_set(&s->tree_d, MERKLE_SHA256, 2,
                     cfg->lg_nodes - cfg->lg_partitions - cfg->lg_apex, 0, 0);
    merkle_shape_set(&s->tree_partition, MERKLE_SHA256, 2, cfg->lg_partitions, 0, 0);
    return cuzk_ok();
}

static void synthesize(synth *s)
{
    uint32_t n = n_challenges(s);
    beginning(s);
    for (uint32_t k = 0; k < n && s->c->st.code == CUZK_OK; k++)
        challenge(s, s->c, k);
}

cuzk_status update_circuit_shape(r1cs_shape **out, const fil_update_config *config, bool poseidon)
{
    cs c;
    char name[64];
    *out = NULL;
    snprintf(name, sizeof name, "EmptySectorUpdate%s %s", poseidon ? "-Poseidon" : "",
             config->name);
    synth *s;
    CUZK_TRY(synth_create(&s, &c, config, poseidon));
    cuzk_status st = cs_init_shape(&c, name);
    if (st.code == CUZK_OK) {
        synthesize(s);
        st = cs_finish_shape(&c, out);
        cs_fini(&c);
    }
    synth_destroy(s);
    return st;
}

cuzk_status update_circuit_witness(witness *w, const r1cs_shape *shape, const fil_update *proof,
                                   uint32_t partition, cs_mode mode, const run_ctx *rc)
{
    cs c;
    synth *s;
    if (partition >= proof->n_partitions)
        return cuzk_fail(CUZK_E_RANGE, "partition: expected below %u, found %u",
                         proof->n_partitions, partition);
    CUZK_TRY(synth_create(&s, &c, proof->config, false));
    s->proof = proof;
    s->part = &proof->partitions[partition];
    s->partition = partition;
    cs_init_witness(&c, shape, w, mode);
    beginning(s);
    const circuit_parts parts = {.n = n_challenges(s), .fill = challenge, .ctx = s};
    cuzk_status st = circuit_fill_parts(&c, &parts, rc);
    synth_destroy(s);
    return st;
}
