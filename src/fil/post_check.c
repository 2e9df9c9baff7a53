#include "fil/check.h"
#include "fil/post.h"
#include "hash/poseidon.h"
#include <stdio.h>
#include <string.h>

/* The reference checks the first of a WinningPoSt's 66 paths only, and neither it nor the circuit
 * agrees with itself on which comm_r_last counts (circuits.md G). Here every value must agree with
 * the rest, so that no proof is begun that a verifier would refuse. What costs no hashing is
 * compared for all sectors before the first path is hashed. */

static check_where where_sector(uint32_t i) { return check_in(NULL, "vanilla_proofs[%u]", i); }

static check_where where_inclusion(uint32_t i, uint32_t k)
{
    return check_in(NULL, "vanilla_proofs[%u].sectors[0].inclusion_proofs[%u]", i, k);
}

static cuzk_status check_claims(const fil_post *p, const fil_post_context *ctx)
{
    if ((ctx->sector_ids || ctx->comm_r) && ctx->n_claims != p->n_sectors) {
        char expected[48];
        snprintf(expected, sizeof expected, "%u, one per sector", ctx->n_claims);
        return cuzk_bad_input("vanilla_proofs", expected, "%u", p->n_sectors);
    }
    for (uint32_t i = 0; i < p->n_sectors; i++) {
        const fil_post_sector *s = &p->sectors[i];
        bool id_ok = !ctx->sector_ids || ctx->sector_ids[i] == s->sector_id,
             r_ok = !ctx->comm_r || fr_eq(&ctx->comm_r[i], &s->comm_r);
        if (id_ok && r_ok)
            continue;
        check_where w = where_sector(i);
        if (!id_ok)
            return check_u64(&w, "sector_id", "the request's", ctx->sector_ids[i], s->sector_id);
        return check_fr(&w, "comm_r", "the request's", &ctx->comm_r[i], &s->comm_r);
    }
    return cuzk_ok();
}

/* One Poseidon hash a sector: in front of the paths, whose indexes depend on the sector id
 * alone. */
static bool check_commitment(cuzk_status *st, const void *arg, size_t i)
{
    const fil_post *p = arg;
    const fil_post_sector *s = &p->sectors[i];
    const fr pair[2] = {s->comm_c, s->comm_r_last};
    fr comm_r;
    poseidon_hash_merkle(&comm_r, 2, pair);
    if (fr_eq(&comm_r, &s->comm_r))
        return true;
    if (st) {
        check_where w = where_sector((uint32_t)i);
        *st = check_fr(&w, "comm_r", "Poseidon(comm_c, comm_r_last) =", &comm_r, &s->comm_r);
    }
    return false;
}

/* Positions and stored roots of one sector. */
static cuzk_status check_positions(const fil_post *p, uint32_t i)
{
    const fil_post_sector *s = &p->sectors[i];
    for (uint32_t k = 0; k < s->n_inclusion; k++) {
        const fil_path *path = &s->inclusion[k];
        uint64_t index = fil_post_challenge_index(&p->proof, i, k);
        uint64_t want = fil_post_challenge(p->randomness, s->sector_id, index, p->sector->n_nodes),
                 found = fil_path_index(path);
        if (want == found && fr_eq(&path->root, &s->comm_r_last))
            continue;
        check_where w = where_inclusion(i, k);
        CUZK_TRY(check_u64(&w, "path[].index", "the digits of challenge", want, found));
        return check_fr(&w, "root", "comm_r_last", &s->comm_r_last, &path->root);
    }
    return cuzk_ok();
}

static bool check_path(cuzk_status *st, const void *arg, size_t item)
{
    const fil_post *p = arg;
    uint32_t n = fil_post_n_inclusion(p), i = (uint32_t)(item / n), k = (uint32_t)(item % n);
    const fil_path *path = &p->sectors[i].inclusion[k];
    fr root;
    fil_path_root_poseidon(&root, path, &path->leaf);
    if (fr_eq(&root, &path->root))
        return true;
    if (st) {
        check_where w = where_inclusion(i, k);
        *st = check_fr(&w, "path[].hashes", "siblings that lead from leaf to root", &path->root,
                       &root);
    }
    return false;
}

static cuzk_status get_constants(const fil_sector *s)
{
    const uint32_t arities[] = {2, s->base, s->sub, s->top};
    for (size_t i = 0; i < ARRAY_LEN(arities); i++)
        if (arities[i] && !poseidon_constants_get(arities[i]))
            return cuzk_fail(CUZK_E_NOMEM, "Poseidon constants");
    return cuzk_ok();
}

cuzk_status fil_post_check(fil_post *p, const fil_post_context *ctx, const run_ctx *rc)
{
    CUZK_TRY(check_canonical("randomness", ctx->randomness));
    CUZK_TRY(check_canonical("prover_id", ctx->prover_id));
    memcpy(p->randomness, ctx->randomness, sizeof p->randomness);
    memcpy(p->prover_id, ctx->prover_id, sizeof p->prover_id);
    CUZK_TRY(check_claims(p, ctx));
    CUZK_TRY(get_constants(p->sector));
    CUZK_TRY(check_each(rc, p->n_sectors, check_commitment, p, "PoSt check"));
    for (uint32_t i = 0; i < p->n_sectors; i++)
        CUZK_TRY(check_positions(p, i));
    return check_each(rc, (size_t)p->n_sectors * fil_post_n_inclusion(p), check_path, p,
                      "PoSt check");
}
