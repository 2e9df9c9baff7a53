/* BLAKE2b-512 over the BLAKE2b-512 of each chunk of a long input: whoever has all of it hashes the
 * chunks on many threads. The last chunk may be short; an empty input has none. (Not the tree mode of
 * RFC 7693. An input could be taken for the digests of a longer one's chunks, so the length is to be
 * known from elsewhere.) */
#ifndef HASH_BLAKE2_TREE_H
#define HASH_BLAKE2_TREE_H
#include "base/run_ctx.h"
#include "hash/blake2.h"

/* {0} is empty. Updates keep their first failure; final reports it. Threads: confined. */
typedef struct blake2_tree {
    blake2 *outer, *chunk; /* chunk NULL: at a border */
    size_t chunk_bytes, n_in_chunk;
    cuzk_status st;
} blake2_tree;
/* In: chunk_bytes > 0. Errors: CUZK_E_NOMEM, CUZK_E_INTERNAL; then *t is empty. */
CUZK_MUST_CHECK cuzk_status blake2_tree_init(blake2_tree *t, size_t chunk_bytes);
void blake2_tree_update(blake2_tree *t, const void *p, size_t n);
/* The same on rc's pool, but for what lies outside of whole chunks; all that follows a chunk begun
 * before counts as that. Memory: 64 bytes per chunk. Errors, for final: CUZK_E_NOMEM, CUZK_E_CANCELLED. */
void blake2_tree_update_on_pool(blake2_tree *t, const void *p, size_t n, const run_ctx *rc);
/* Errors: that of an update, CUZK_E_INTERNAL; out is zeroed. */
CUZK_MUST_CHECK cuzk_status blake2_tree_final(blake2_tree *t, uint8_t out[64]);
void blake2_tree_fini(blake2_tree *t);
#endif
