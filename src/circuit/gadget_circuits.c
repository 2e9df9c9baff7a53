/* Single gadgets as circuits of their own, laid out as golden data names them. */
#include "base/mem.h"
#include "circuit/circuit_int.h"
#include "circuit/porep_circuit.h"
#include <string.h>

typedef void gadget_fn(cs *c, const uint32_t arg[4]);

static cuzk_status run(r1cs_shape **out, const circuit_row *row, gadget_fn *fn)
{
    cs c;
    CUZK_TRY(cs_init_shape(&c, row->info.name));
    fn(&c, row->arg);
    cuzk_status st = cs_finish_shape(&c, out);
    cs_fini(&c);
    return st;
}

static void alloc_nums(cs *c, num *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = num_alloc(c, &FR_ZERO);
}

static void alloc_bits(cs *c, boolean *out, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = boolean_alloc(c, false);
}

static void poseidon_merkle(cs *c, const uint32_t arg[4])
{
    num in[POSEIDON_MAX_ARITY];
    alloc_nums(c, in, arg[0]);
    poseidon_gadget_merkle(c, arg[0], in);
}

static void poseidon_update(cs *c, const uint32_t arg[4])
{
    num in[POSEIDON_MAX_ARITY];
    alloc_nums(c, in, arg[0]);
    poseidon_gadget(c, arg[0], &POSEIDON_TAG_UPDATE, in);
}

static void insert(cs *c, const uint32_t arg[4])
{
    num els[16], el, out[16];
    boolean bits[4];
    alloc_nums(c, els, arg[0] - 1);
    alloc_nums(c, &el, 1);
    alloc_bits(c, bits, (uint32_t)__builtin_ctz(arg[0]));
    num_insert(c, out, arg[0], &el, bits, els);
}

static void to_bits(cs *c, const uint32_t arg[4])
{
    (void)arg;
    num n;
    boolean bits[NUM_BITS];
    alloc_nums(c, &n, 1);
    num_to_bits_le(c, bits, &n);
}

static void sha_compress(cs *c, const uint32_t arg[4])
{
    (void)arg;
    boolean bits[512];
    word32 state[8], block[16];
    static const uint32_t iv[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    alloc_bits(c, bits, 512);
    for (uint32_t k = 0; k < 24; k++)
        for (uint32_t i = 0; i < 32; i++) {
            if (k < 8)
                state[k].b[i] = boolean_const(iv[k] >> i & 1);
            else
                block[k - 8].b[i] = bits[32 * (k - 8) + 31 - i];
        }
    sha256_gadget_compress(c, state, state, block);
}

static void sha_512(cs *c, const uint32_t arg[4])
{
    (void)arg;
    boolean bits[512], out[256];
    alloc_bits(c, bits, 512);
    sha256_gadget(c, out, bits, 512);
}

static void sha_hash2(cs *c, const uint32_t arg[4])
{
    (void)arg;
    num in[2];
    alloc_nums(c, in, 2);
    sha256_gadget_hash2(c, &in[0], &in[1]);
}

/* arg: hash, base | levels << 8, sub | top << 8, public root. */
static void por(cs *c, const uint32_t arg[4])
{
    merkle_shape s;
    merkle_values v = {0};
    num leaf;
    merkle_shape_set(&s, (merkle_hash)arg[0], arg[1] & 255, arg[1] >> 8, arg[2] & 255, arg[2] >> 8);
    alloc_nums(c, &leaf, 1);
    merkle_por(c, &s, &v, &leaf, NULL, arg[3]);
}

static void label(cs *c, const uint32_t arg[4])
{
    boolean *bits =
                mem_alloc((FIL_LABEL_PARENTS * 256 + 256 + POREP_LABEL_BITS) * sizeof *bits, 64),
            node[64];
    const boolean *parents[FIL_LABEL_PARENTS];
    if (!bits) {
        cs_set_failure(c, cuzk_fail(CUZK_E_NOMEM, "label gadget"));
        return;
    }
    alloc_bits(c, bits, FIL_LABEL_PARENTS * 256 + 256);
    for (uint32_t k = 0; k < FIL_LABEL_PARENTS; k++)
        parents[k] = bits + 256 * k;
    for (uint32_t i = 0; i < 64; i++)
        node[i] = boolean_const((uint64_t)arg[1] >> (63 - i) & 1);
    porep_label_args a = {.id = bits + FIL_LABEL_PARENTS * 256,
                          .node = node,
                          .parents = parents,
                          .layer = arg[0],
                          .msg = bits + FIL_LABEL_PARENTS * 256 + 256};
    porep_create_label(c, &a);
    mem_free(bits);
}

/* One adapter per gadget keeps the table's function type. */
static cuzk_status build_poseidon(r1cs_shape **o, const circuit_row *r)
{
    return run(o, r, poseidon_merkle);
}
static cuzk_status build_update(r1cs_shape **o, const circuit_row *r)
{
    return run(o, r, poseidon_update);
}
static cuzk_status build_insert(r1cs_shape **o, const circuit_row *r) { return run(o, r, insert); }
static cuzk_status build_bits(r1cs_shape **o, const circuit_row *r) { return run(o, r, to_bits); }
static cuzk_status build_compress(r1cs_shape **o, const circuit_row *r)
{
    return run(o, r, sha_compress);
}
static cuzk_status build_sha(r1cs_shape **o, const circuit_row *r) { return run(o, r, sha_512); }
static cuzk_status build_hash2(r1cs_shape **o, const circuit_row *r)
{
    return run(o, r, sha_hash2);
}
static cuzk_status build_por(r1cs_shape **o, const circuit_row *r) { return run(o, r, por); }
static cuzk_status build_label(r1cs_shape **o, const circuit_row *r) { return run(o, r, label); }

/* arg: lg nodes, base | levels << 8, sub | top << 8. */
static cuzk_status build_stacked(r1cs_shape **out, const circuit_row *row)
{
    porep_circuit p = {.layers = 2, .challenges = 1};
    merkle_shape_set(&p.tree_d, MERKLE_SHA256, 2, row->arg[0], 0, 0);
    merkle_shape_set(&p.tree_rc, MERKLE_POSEIDON, row->arg[1] & 255, row->arg[1] >> 8,
                     row->arg[2] & 255, row->arg[2] >> 8);
    return porep_circuit_shape(out, &p, row->info.name);
}

#define G(name, build, ...)                                         \
    {                                                               \
        {name, CIRCUIT_GADGET, "gadget", 0}, build, { __VA_ARGS__ } \
    }
#define POS(n) G("poseidon MerkleTree arity " #n " (preimage allocated first)", build_poseidon, n)
#define INS(n) G("insert size " #n " (elements, then element, then index bits)", build_insert, n)
#define TREE(base, levels) ((base) | (levels) << 8)
#define POR(text, hash, base, sub)                                 \
    G("PoR " text ", public root", build_por, hash, base, sub, 1), \
        G("PoR " text ", private root", build_por, hash, base, sub, 0)

const circuit_row circuit_gadget_rows[] = {
    POS(2),
    POS(4),
    POS(8),
    POS(11),
    POS(16),
    POS(24),
    POS(36),
    G("poseidon arity 2, tag 2^40 (update randomness)", build_update, 2),
    INS(2),
    INS(4),
    INS(8),
    INS(16),
    G("num + to_bits_le", build_bits, 0),
    G("sha256 compression, 512 alloc bits, constant IV", build_compress, 0),
    G("sha256 of 512 alloc bits (2 blocks)", build_sha, 0),
    G("Sha256Hasher hash2/hash_multi_leaf of 2 nums", build_hash2, 0),
    G("Sha256Hasher hash_multi_leaf of 2 nums", build_hash2, 0),
    POR("sha256 2-0-0, 64*1 leaves", MERKLE_SHA256, TREE(2, 6), 0),
    POR("poseidon 2-0-0, 64*1 leaves", MERKLE_POSEIDON, TREE(2, 6), 0),
    POR("poseidon 4-0-0, 64*1 leaves", MERKLE_POSEIDON, TREE(4, 3), 0),
    POR("poseidon 8-0-0, 64*1 leaves", MERKLE_POSEIDON, TREE(8, 2), 0),
    POR("poseidon 8-2-0, 64*2 leaves", MERKLE_POSEIDON, TREE(8, 2), TREE(2, 0)),
    POR("poseidon 8-8-0, 64*8 leaves", MERKLE_POSEIDON, TREE(8, 2), TREE(8, 0)),
    POR("poseidon 8-4-2, 64*8 leaves", MERKLE_POSEIDON, TREE(8, 2), TREE(4, 2)),
    POR("poseidon 8-8-2, 64*16 leaves", MERKLE_POSEIDON, TREE(8, 2), TREE(8, 2)),
    G("create_label test layout (37x256 parent bits, 256 id bits, layer 3, node const 22)",
      build_label, 3, 22),
    G("stacked test 2-0-0, 8 nodes, 2 layers, 1 challenge", build_stacked, 3, TREE(2, 3), 0),
    G("stacked test 8-0-0, 8 nodes, 2 layers, 1 challenge", build_stacked, 3, TREE(8, 1), 0),
    G("stacked test 8-4-0, 32 nodes, 2 layers, 1 challenge", build_stacked, 5, TREE(8, 1),
      TREE(4, 0)),
    G("stacked test 8-4-2, 64 nodes, 2 layers, 1 challenge", build_stacked, 6, TREE(8, 1),
      TREE(4, 2)),
};
const size_t circuit_n_gadget_rows = ARRAY_LEN(circuit_gadget_rows);
