#include "circuit/post_circuit.h"
#include "circuit/circuit_parts.h"
#include <stdio.h>

cuzk_status post_circuit_set(post_circuit *p, const fil_post_proof *proof)
{
    const fil_sector *s = fil_sector_by_bytes(proof->sector_bytes);
    if (!s)
        return cuzk_fail(CUZK_E_RANGE, "sector size: expected a known one, found %llu bytes",
                         (unsigned long long)proof->sector_bytes);
    merkle_shape_set(&p->tree_r, MERKLE_POSEIDON, s->base, s->base_levels, s->sub, s->top);
    fil_post_layout(proof, &p->sectors, &p->challenges);
    return cuzk_ok();
}

/* One sector: comm_r is public and binds comm_c and comm_r_last; each challenged leaf lies under
 * comm_r_last. */
static void sector(cs *c, const post_circuit *p, const fil_post *v, uint32_t partition,
                   uint32_t slot)
{
    const fil_post_sector *s = v ? fil_post_slot(v, partition, slot) : NULL;
    num comm_r_last = num_alloc(c, s ? &s->comm_r_last : &FR_ZERO);
    num comm_c = num_alloc(c, s ? &s->comm_c : &FR_ZERO);
    num comm_r = num_alloc(c, s ? &s->comm_r : &FR_ZERO);
    cs_ns_push(c, "comm_r");
    num_inputize(c, &comm_r);
    num pair[2] = {comm_c, comm_r_last};
    num h = poseidon_gadget_merkle(c, 2, pair);
    num_enforce_equal(c, &comm_r, &h);
    cs_ns_pop(c);
    for (uint32_t k = 0; k < p->challenges; k++) {
        const fil_path *path = v ? fil_post_slot_path(v, partition, slot, k) : NULL;
        merkle_values values = {path ? path->idx : NULL, path ? path->sib : NULL};
        num leaf = num_alloc(c, path ? &path->leaf : &FR_ZERO);
        cs_ns_push(c, "challenge_inclusion_%u", k);
        merkle_por(c, &p->tree_r, &values, &leaf, &comm_r_last, false);
        cs_ns_pop(c);
    }
}

static void synthesize(cs *c, const post_circuit *p)
{
    for (uint32_t s = 0; s < p->sectors && c->st.code == CUZK_OK; s++) {
        cs_ns_push(c, "sector_%u", s);
        sector(c, p, NULL, 0, s);
        cs_ns_pop(c);
    }
}

cuzk_status post_circuit_shape(r1cs_shape **out, const post_circuit *p, const char *name)
{
    cs c;
    *out = NULL;
    CUZK_TRY(cs_init_shape(&c, name));
    synthesize(&c, p);
    cuzk_status st = cs_finish_shape(&c, out);
    cs_fini(&c);
    return st;
}

cuzk_status post_proof_shape(r1cs_shape **out, const fil_post_proof *proof)
{
    post_circuit p;
    char name[64];
    *out = NULL;
    CUZK_TRY(post_circuit_set(&p, proof));
    snprintf(name, sizeof name, "%sPoSt %s", proof->kind == FIL_POST_WINNING ? "Winning" : "Window",
             fil_sector_by_bytes(proof->sector_bytes)->name);
    return post_circuit_shape(out, &p, name);
}

typedef struct fill {
    const post_circuit *p;
    const fil_post *proof;
    uint32_t partition;
} fill;

static void fill_slot(void *ctx, cs *c, uint32_t slot)
{
    const fill *f = ctx;
    sector(c, f->p, f->proof, f->partition, slot);
}

cuzk_status post_circuit_witness(witness *w, const r1cs_shape *shape, const fil_post *proof,
                                 uint32_t partition, cs_mode mode, const run_ctx *rc)
{
    const r1cs_counts *n = r1cs_shape_counts(shape);
    post_circuit p;
    cs c;
    if (partition >= proof->n_partitions)
        return cuzk_fail(CUZK_E_RANGE, "partition: expected below %u, found %u",
                         proof->n_partitions, partition);
    CUZK_TRY(post_circuit_set(&p, &proof->proof));
    if (n->n_inputs != 1 + FIL_POST_INPUTS(p.sectors, p.challenges))
        return cuzk_fail(CUZK_E_INTERNAL, "%s: not the shape of %u sectors with %u challenges",
                         r1cs_shape_name(shape), p.sectors, p.challenges);
    cs_init_witness(&c, shape, w, mode);
    fill f = {&p, proof, partition};
    const circuit_parts parts = {.n = p.sectors, .fill = fill_slot, .ctx = &f};
    return circuit_fill_parts(&c, &parts, rc);
}
