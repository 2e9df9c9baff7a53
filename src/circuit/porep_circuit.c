#include "circuit/porep_circuit.h"
#include "base/mem.h"
#include "circuit/circuit_parts.h"
#include <stdio.h>
#include <string.h>

#define N_PARENTS (FIL_DRG_DEGREE + FIL_EXP_DEGREE)

/* Scratch of a challenge: too big for the stack. */
typedef struct work {
    boolean node[64];
    boolean parent_bits[N_PARENTS][256];
    boolean msg[POREP_LABEL_BITS];
    num drg[FIL_DRG_DEGREE][FIL_MAX_LAYERS], exp[FIL_EXP_DEGREE][FIL_MAX_LAYERS],
        labels[FIL_MAX_LAYERS];
} work;

/* Values of one partition; proof NULL in shape mode. Challenges read what comes before c and have a
 * copy with their own c and w. */
typedef struct synth {
    const porep_circuit *p;
    const fil_porep *proof;
    const fil_porep_challenge *challenges;
    num comm_d, comm_r_last, comm_c;
    boolean id[256]; /* the replica id in stream order */
    cs *c;
    work *w;
} synth;

void porep_circuit_set(porep_circuit *p, const fil_sector *s)
{
    merkle_shape_set(&p->tree_d, MERKLE_SHA256, 2, s->lg_nodes, 0, 0);
    merkle_shape_set(&p->tree_rc, MERKLE_POSEIDON, s->base, s->base_levels, s->sub, s->top);
    p->layers = s->layers;
    p->challenges = s->challenges;
}

num porep_create_label(cs *c, const porep_label_args *a)
{
    boolean digest[256], le[256];
    memcpy(a->msg, a->id, 256 * sizeof(boolean));
    sha256_gadget_const_be(a->msg + 256, a->layer);
    memcpy(a->msg + 288, a->node, 64 * sizeof(boolean));
    for (uint32_t i = 352; i < 512; i++)
        a->msg[i] = boolean_const(false);
    for (uint32_t k = 0; k < FIL_LABEL_PARENTS; k++)
        memcpy(a->msg + 512 + 256 * k, a->parents[k], 256 * sizeof(boolean));
    cs_ns_push(c, "create_label/hash");
    sha256_gadget(c, digest, a->msg, POREP_LABEL_BITS);
    sha256_gadget_reverse_bytes(le, digest, 256);
    num label = num_pack_bits(c, le, 256);
    cs_ns_pop(c);
    return label;
}

static num column_hash(const synth *s, const num *rows)
{
    return poseidon_gadget_merkle(s->c, s->p->layers, rows);
}

static void inclusion(const synth *s, const merkle_shape *shape, const fil_path *path,
                      const num *leaf, const num *root, const char *name)
{
    merkle_values v = {path ? path->idx : NULL, path ? path->sib : NULL};
    cs_ns_push(s->c, "%s", name);
    merkle_por(s->c, shape, &v, leaf, root, false);
    cs_ns_pop(s->c);
}

static void parent_column(const synth *s, const fil_column *col, num *rows, const char *kind,
                          uint32_t i)
{
    cs_ns_push(s->c, "%s_parent_%u", kind, i);
    for (uint32_t k = 0; k < s->p->layers; k++)
        rows[k] = num_alloc(s->c, col ? &col->rows[k] : &FR_ZERO);
    num leaf = column_hash(s, rows);
    inclusion(s, &s->p->tree_rc, col ? &col->path : NULL, &leaf, &s->comm_c, "inclusion");
    cs_ns_pop(s->c);
}

static void to_stream_bits(const synth *s, boolean out[256], const num *n)
{
    boolean le[NUM_BITS];
    num_to_bits_le(s->c, le, n);
    sha256_gadget_reverse_bytes(out, le, NUM_BITS);
}

/* The label of one layer from the parents' labels: layer 1 uses the 6 drg parents six times and the
 * first once more; later layers all 14 twice and the first 9 again. */
static num layer_label(const synth *s, uint32_t layer)
{
    work *w = s->w;
    const boolean *parents[FIL_LABEL_PARENTS];
    uint32_t n = layer == 0 ? FIL_DRG_DEGREE : N_PARENTS;
    cs_ns_push(s->c, "labeling_%u", layer + 1);
    for (uint32_t i = 0; i < FIL_DRG_DEGREE; i++)
        to_stream_bits(s, w->parent_bits[i], &w->drg[i][layer]);
    for (uint32_t i = 0; layer > 0 && i < FIL_EXP_DEGREE; i++)
        to_stream_bits(s, w->parent_bits[FIL_DRG_DEGREE + i], &w->exp[i][layer - 1]);
    for (uint32_t k = 0; k < FIL_LABEL_PARENTS; k++)
        parents[k] = w->parent_bits[k % n];
    porep_label_args a = {
        .id = s->id, .node = w->node, .parents = parents, .layer = layer + 1, .msg = w->msg};
    num label = porep_create_label(s->c, &a);
    cs_ns_pop(s->c);
    return label;
}

static void challenge_number(const synth *s, uint64_t challenge)
{
    boolean le[64];
    boolean_alloc_u64(s->c, le, 64, challenge);
    num_pack_into_inputs(s->c, le, 64);
    for (uint32_t i = 0; i < 64; i++)
        s->w->node[i] = le[63 - i];
}

static void challenge_block(const synth *s, const fil_porep_challenge *ch)
{
    const porep_circuit *p = s->p;
    cs *c = s->c;
    work *w = s->w;
    num data_leaf = num_alloc(c, ch ? &ch->comm_d.leaf : &FR_ZERO);
    inclusion(s, &p->tree_d, ch ? &ch->comm_d : NULL, &data_leaf, &s->comm_d, "comm_d_inclusion");
    for (uint32_t i = 0; i < FIL_DRG_DEGREE; i++)
        parent_column(s, ch ? &ch->drg[i] : NULL, w->drg[i], "drg", i);
    for (uint32_t i = 0; i < FIL_EXP_DEGREE; i++)
        parent_column(s, ch ? &ch->exp[i] : NULL, w->exp[i], "exp", i);
    cs_ns_push(c, "challenge_number");
    challenge_number(s, ch ? ch->challenge : 0);
    cs_ns_pop(c);
    for (uint32_t layer = 0; layer < p->layers; layer++)
        w->labels[layer] = layer_label(s, layer);
    cs_ns_push(c, "encode");
    num encoded = num_add(c, &w->labels[p->layers - 1], &data_leaf);
    cs_ns_pop(c);
    inclusion(s, &p->tree_rc, ch ? &ch->comm_r_last : NULL, &encoded, &s->comm_r_last,
              "comm_r_last_inclusion");
    cs_ns_push(c, "column");
    num leaf = column_hash(s, w->labels);
    cs_ns_pop(c);
    inclusion(s, &p->tree_rc, ch ? &ch->c_x.path : NULL, &leaf, &s->comm_c, "c_x_inclusion");
}

static num public_num(cs *c, const fr *val, const char *name)
{
    cs_ns_push(c, "%s", name);
    num n = num_alloc(c, val);
    num_inputize(c, &n);
    cs_ns_pop(c);
    return n;
}

/* What all challenges need. */
static void commitments(synth *s)
{
    cs *c = s->c;
    const fil_porep *v = s->proof;
    num replica_id = public_num(c, v ? &v->replica_id : &FR_ZERO, "replica_id");
    to_stream_bits(s, s->id, &replica_id);
    s->comm_d = public_num(c, v ? &v->comm_d : &FR_ZERO, "comm_d");
    num comm_r = public_num(c, v ? &v->comm_r : &FR_ZERO, "comm_r");
    s->comm_r_last = num_alloc(c, v ? &v->comm_r_last : &FR_ZERO);
    s->comm_c = num_alloc(c, v ? &v->comm_c : &FR_ZERO);
    num pair[2] = {s->comm_c, s->comm_r_last};
    cs_ns_push(c, "comm_r check");
    num h = poseidon_gadget_merkle(c, 2, pair);
    num_enforce_equal(c, &comm_r, &h);
    cs_ns_pop(c);
}

/* Challenge k by way of c. */
static void challenge(void *ctx, cs *c, uint32_t k)
{
    synth s = *(const synth *)ctx;
    s.c = c;
    s.w = mem_zalloc(sizeof *s.w, 64);
    if (!s.w) {
        cs_set_failure(c, cuzk_fail(CUZK_E_NOMEM, "synthesis of challenge %u", k));
        return;
    }
    cs_ns_push(c, "challenge_%u", k);
    challenge_block(&s, s.challenges ? &s.challenges[k] : NULL);
    cs_ns_pop(c);
    mem_wipe(s.w, sizeof *s.w);
    mem_free(s.w);
}

cuzk_status porep_circuit_shape(r1cs_shape **out, const porep_circuit *p, const char *name)
{
    *out = NULL;
    if (p->layers < 1 || p->layers > FIL_MAX_LAYERS)
        return cuzk_fail(CUZK_E_RANGE, "layers: expected 1 to %u, found %u", FIL_MAX_LAYERS,
                         p->layers);
    cs c;
    CUZK_TRY(cs_init_shape(&c, name));
    synth s = {.c = &c, .p = p};
    commitments(&s);
    for (uint32_t k = 0; k < p->challenges && c.st.code == CUZK_OK; k++)
        challenge(&s, &c, k);
    cuzk_status st = cs_finish_shape(&c, out);
    cs_fini(&c);
    return st;
}

cuzk_status porep_sector_shape(r1cs_shape **out, const fil_sector *sector, uint32_t layers,
                               uint32_t challenges)
{
    porep_circuit p;
    char name[64];
    porep_circuit_set(&p, sector);
    p.layers = layers ? layers : p.layers;
    p.challenges = challenges ? challenges : p.challenges;
    snprintf(name, sizeof name, "PoRep %s", sector->name);
    return porep_circuit_shape(out, &p, name);
}

cuzk_status porep_circuit_witness(witness *w, const r1cs_shape *shape, const fil_porep *proof,
                                  uint32_t partition, cs_mode mode, const run_ctx *rc)
{
    porep_circuit p;
    cs c;
    if (partition >= proof->n_partitions)
        return cuzk_fail(CUZK_E_RANGE, "partition: expected below %u, found %u",
                         proof->n_partitions, partition);
    porep_circuit_set(&p, proof->sector);
    p.layers = proof->layers;
    p.challenges = proof->n_challenges;
    cs_init_witness(&c, shape, w, mode);
    synth s = {.c = &c, .p = &p, .proof = proof, .challenges = proof->partitions[partition]};
    commitments(&s);
    const circuit_parts parts = {.n = p.challenges, .fill = challenge, .ctx = &s};
    cuzk_status st = circuit_fill_parts(&c, &parts, rc);
    mem_wipe(&s, sizeof s);
    return st;
}
