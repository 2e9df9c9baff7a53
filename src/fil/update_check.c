#include "base/mem.h"
#include "fil/check.h"
#include "fil/update.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"
#include <stdio.h>
#include <string.h>

/* The reference's prover checks nothing beforehand and its circuit panics on a wrong new leaf
 * (circuits.md G). Here every value must agree with the rest. What needs no Poseidon path is
 * compared for all challenges first. */

typedef struct checker {
    const fil_update *u;
    fr phi;
    uint64_t *challenges; /* [n_partitions][config->challenges], derived */
} checker;

static check_where where_partition(uint32_t k) { return check_in(NULL, "partition_proofs[%u]", k); }

static check_where where_proof(uint32_t k, uint32_t i, const char *proof)
{
    return check_in(NULL, "partition_proofs[%u].challenge_proofs[%u].%s", k, i, proof);
}

static uint32_t apex_level(const fil_update_config *c)
{
    return c->lg_nodes - c->lg_partitions - c->lg_apex;
}

/* Node of a TreeD path after its first n levels, coming from its leaf. */
static void climb_from_leaf(fr *out, const fil_path *p, uint32_t n)
{
    fil_path low = *p;
    low.n_levels = n;
    fil_path_root_sha256(out, &low, &p->leaf);
}

/* Root over the levels from n on, coming from a node there. */
static void climb_to_root(fr *out, const fil_path *p, uint32_t n, const fr *node)
{
    fil_path high = *p;
    high.n_levels -= n;
    high.sib += n; /* one a level, all arities being 2 */
    memmove(high.arity, p->arity + n, high.n_levels);
    memmove(high.idx, p->idx + n, high.n_levels);
    fil_path_root_sha256(out, &high, node);
}

static void hash_pair(fr *out, const fr *left, const fr *right)
{
    uint8_t block[64], digest[32];
    fr_to_le(block, left);
    fr_to_le(block + 32, right);
    sha256(digest, block, sizeof block);
    digest[31] &= 0x3f;
    fr_from_le_reduce(out, digest);
}

/* Both commitments of the replicas open to comm_c and the roots of the first challenge's proofs. */
static cuzk_status check_commitments(const fil_update *u, uint32_t k)
{
    const fil_update_partition *p = &u->partitions[k];
    const fr olds[2] = {p->comm_c, p->challenges[0].r_old.root},
             news[2] = {p->comm_c, p->challenges[0].r_new.root};
    char what[112];
    fr comm_r;
    poseidon_hash_merkle(&comm_r, 2, olds);
    snprintf(what, sizeof what, "Poseidon(comm_c, root of proof_r_old) of partition %u,", k);
    CUZK_TRY(check_fr(NULL, "comm_r_old", what, &comm_r, &u->comm_r_old));
    poseidon_hash_merkle(&comm_r, 2, news);
    snprintf(what, sizeof what, "Poseidon(comm_c, root of proof_r_new) of partition %u,", k);
    return check_fr(NULL, "comm_r_new", what, &comm_r, &u->comm_r_new);
}

/* The partition path, which the circuit takes from the first challenge's proof_d_new, leads from
 * the apex root to comm_d_new. */
static cuzk_status check_apex(const fil_update *u, uint32_t k)
{
    const fil_update_partition *p = &u->partitions[k];
    const fil_update_config *c = u->config;
    fr row[128], root;
    CUZK_VERIFY(p->n_apex <= ARRAY_LEN(row) && p->n_apex == 1u << c->lg_apex);
    memcpy(row, p->apex, p->n_apex * sizeof *row);
    for (uint32_t n = p->n_apex / 2; n > 0; n /= 2)
        for (uint32_t i = 0; i < n; i++)
            hash_pair(&row[i], &row[2 * i], &row[2 * i + 1]);
    climb_to_root(&root, &p->challenges[0].d_new, apex_level(c) + c->lg_apex, &row[0]);
    if (fr_eq(&root, &u->comm_d_new))
        return cuzk_ok();
    check_where w = where_partition(k);
    return check_fr(&w, "apex_leafs", "leaves whose root, with the partition path, is comm_d_new",
                    &u->comm_d_new, &root);
}

/* Position and stored root of one path. */
static cuzk_status check_position(uint32_t k, uint32_t i, const char *name, const fil_path *p,
                                  uint64_t node, const char *root_name, const fr *root)
{
    uint64_t found = fil_path_index(p);
    if (found == node && fr_eq(&p->root, root))
        return cuzk_ok();
    check_where w = where_proof(k, i, name);
    CUZK_TRY(check_u64(&w, "path[].index", "the digits of challenge", node, found));
    return check_fr(&w, "root", root_name, root, &p->root);
}

static cuzk_status check_positions(const checker *c, uint32_t k)
{
    const fil_update *u = c->u;
    const fil_update_partition *p = &u->partitions[k];
    for (uint32_t i = 0; i < u->config->challenges; i++) {
        const fil_update_challenge *ch = &p->challenges[i];
        uint64_t node = c->challenges[(size_t)k * u->config->challenges + i];
        CUZK_TRY(check_position(k, i, "proof_r_old", &ch->r_old, node,
                                "that of the first challenge", &p->challenges[0].r_old.root));
        CUZK_TRY(
            check_position(k, i, "proof_d_new", &ch->d_new, node, "comm_d_new", &u->comm_d_new));
        CUZK_TRY(check_position(k, i, "proof_r_new", &ch->r_new, node,
                                "that of the first challenge", &p->challenges[0].r_new.root));
    }
    return cuzk_ok();
}

/* TreeD: from the leaf to the apex leaf that the circuit selects, and from there to comm_d_new. */
static cuzk_status check_data_path(const fil_update *u, uint32_t k, uint32_t i)
{
    const fil_update_config *c = u->config;
    const fil_path *p = &u->partitions[k].challenges[i].d_new;
    uint64_t node = fil_path_index(p);
    const fr *apex = &u->partitions[k].apex[node >> apex_level(c) & ((1u << c->lg_apex) - 1)];
    fr found;
    climb_from_leaf(&found, p, apex_level(c));
    if (!fr_eq(&found, apex)) {
        check_where w = where_proof(k, i, "proof_d_new");
        return check_fr(&w, "path[].hashes", "siblings that lead from leaf to apex leaf", apex,
                        &found);
    }
    climb_to_root(&found, p, apex_level(c), apex);
    if (!fr_eq(&found, &p->root)) {
        check_where w = where_proof(k, i, "proof_d_new");
        return check_fr(&w, "path[].hashes", "siblings that lead from apex leaf to root", &p->root,
                        &found);
    }
    return cuzk_ok();
}

static cuzk_status check_new_leaf(const checker *c, uint32_t k, uint32_t i)
{
    const fil_update *u = c->u;
    const fil_update_challenge *ch = &u->partitions[k].challenges[i];
    fr rho, want;
    fil_update_rho(&rho, &c->phi, fil_path_index(&ch->r_old) >> (u->config->lg_nodes - u->h));
    fr_mul(&want, &ch->d_new.leaf, &rho);
    fr_add(&want, &want, &ch->r_old.leaf);
    if (fr_eq(&want, &ch->r_new.leaf))
        return cuzk_ok();
    check_where w = where_proof(k, i, "proof_r_new");
    return check_fr(&w, "leaf", "old leaf + data * rho =", &want, &ch->r_new.leaf);
}

static cuzk_status check_replica_path(uint32_t k, uint32_t i, const char *name, const fil_path *p)
{
    fr root;
    fil_path_root_poseidon(&root, p, &p->leaf);
    if (fr_eq(&root, &p->root))
        return cuzk_ok();
    check_where w = where_proof(k, i, name);
    return check_fr(&w, "path[].hashes", "siblings that lead from leaf to root", &p->root, &root);
}

static cuzk_status check_challenge(const checker *c, uint32_t k, uint32_t i)
{
    const fil_update_challenge *ch = &c->u->partitions[k].challenges[i];
    CUZK_TRY(check_data_path(c->u, k, i));
    CUZK_TRY(check_replica_path(k, i, "proof_r_old", &ch->r_old));
    CUZK_TRY(check_new_leaf(c, k, i));
    return check_replica_path(k, i, "proof_r_new", &ch->r_new);
}

static bool check_item(cuzk_status *st, const void *arg, size_t item)
{
    const checker *c = arg;
    uint32_t n = c->u->config->challenges;
    cuzk_status found = check_challenge(c, (uint32_t)(item / n), (uint32_t)(item % n));
    if (st)
        *st = found;
    return found.code == CUZK_OK;
}

static cuzk_status get_constants(const fil_update_config *c)
{
    const uint32_t arities[] = {2, c->base, c->sub, c->top};
    for (size_t i = 0; i < ARRAY_LEN(arities); i++)
        if (arities[i] && !poseidon_constants_get(arities[i]))
            return cuzk_fail(CUZK_E_NOMEM, "Poseidon constants");
    return cuzk_ok();
}

static cuzk_status set_h(fil_update *u, uint32_t h)
{
    const uint8_t *hs = u->config->hs;
    u->h = h ? h : u->config->h_default;
    if (fil_update_h_select(u->config, u->h))
        return cuzk_ok();
    char expected[64];
    snprintf(expected, sizeof expected, "%u to %u for %s", hs[0], hs[ARRAY_LEN(u->config->hs) - 1],
             u->config->name);
    return cuzk_bad_input("h", expected, "%u", h);
}

static cuzk_status check_all(checker *c, const run_ctx *rc)
{
    const fil_update *u = c->u;
    uint32_t n = u->config->challenges;
    for (uint32_t k = 0; k < u->n_partitions; k++) {
        CUZK_TRY(check_commitments(u, k));
        CUZK_TRY(
            fil_update_challenges(c->challenges + (size_t)k * n, u->config, k, &u->comm_r_new));
        CUZK_TRY(check_positions(c, k));
        CUZK_TRY(check_apex(u, k));
    }
    return check_each(rc, (size_t)u->n_partitions * n, check_item, c, "update check");
}

cuzk_status fil_update_check(fil_update *p, const fil_update_context *ctx, const run_ctx *rc)
{
    checker c = {.u = p};
    p->comm_r_old = ctx->comm_r_old;
    p->comm_d_new = ctx->comm_d_new;
    p->comm_r_new = ctx->comm_r_new;
    CUZK_TRY(set_h(p, ctx->h));
    CUZK_TRY(get_constants(p->config));
    fil_update_phi(&c.phi, &p->comm_d_new, &p->comm_r_old);
    size_t bytes = (size_t)p->n_partitions * p->config->challenges * sizeof *c.challenges;
    c.challenges = mem_alloc(bytes, 8);
    if (!c.challenges)
        return cuzk_fail(CUZK_E_NOMEM, "checking an update: %zu bytes", bytes);
    cuzk_status st = check_all(&c, rc);
    mem_free(c.challenges);
    return st;
}
