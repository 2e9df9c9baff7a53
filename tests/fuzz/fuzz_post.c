/* PoSt vanilla proofs from hostile bytes: decoding and the full check must end in a status, and
 * what is accepted has inputs.
 * Input: which proof (1), randomness (32), length of the first file (4, little-endian), the bytes
 * of one or two files. */
#include "base/bytes.h"
#include "fil/post.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* The registered proofs, then the development sizes. */
static fil_post_proof proof_of(uint8_t which)
{
    const fil_post_proof *p = fil_post_proof_by_id(which);
    if (p)
        return *p;
    static const uint64_t sizes[] = {4096, 16384, 32768};
    return fil_post_proof_unregistered(which & 1 ? FIL_POST_WINNING : FIL_POST_WINDOW,
                                       sizes[which / 4 % ARRAY_LEN(sizes)], which & 2);
}

/* What both ways of getting public inputs say must agree once the check has passed. */
static void compare_inputs(const fil_post *p)
{
    uint64_t ids[2];
    fr comm_r[2];
    size_t n = fil_post_n_public(p);
    fr *in = calloc(2 * n, sizeof *in);
    require(in);
    for (uint32_t i = 0; i < p->n_sectors; i++) {
        ids[i] = p->sectors[i].sector_id;
        comm_r[i] = p->sectors[i].comm_r;
    }
    fil_post_statement s = {
        .proof = p->proof, .sector_ids = ids, .comm_r = comm_r, .n_sectors = p->n_sectors};
    memcpy(s.randomness, p->randomness, 32);
    for (uint32_t k = 0; k < p->n_partitions; k++) {
        fil_post_public_inputs(p, k, in);
        fil_post_statement_inputs(in + n, &s, k);
        require(memcmp(in, in + n, n * sizeof *in) == 0);
    }
    free(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 37)
        return 0;
    fil_post_proof proof = proof_of(data[0]);
    fil_post_context ctx = {0};
    memcpy(ctx.randomness, data + 1, 32);
    size_t rest = size - 37, first = load_le32(data + 33);
    first = first < rest ? first : rest;
    const uint8_t *files[2] = {data + 37, data + 37 + first};
    const size_t lens[2] = {first, rest - first};
    arena a = {0};
    fil_post p;
    cuzk_status st = fil_post_decode(&p, &a, &proof, files, lens, lens[1] ? 2 : 1);
    if (st.code == CUZK_OK)
        st = fil_post_check(&p, &ctx, NULL);
    if (st.code == CUZK_OK)
        compare_inputs(&p);
    arena_fini(&a);
    return 0;
}
