/* Gadgets: truth tables over every kind of operand, values against native code, and that rows pin
 * the values down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gadget/merkle_gadget.h"
#include "hash/sha256.h"
#include "r1cs/eval.h"

static const run_ctx no_rc = {0};

static void check(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s", st.msg);
}

typedef void circuit_fn(cs *c, void *args);

/* Shape, then witness in the given mode; the circuit must be satisfied. Returns the witness for
 * inspection. */
static r1cs_shape *build(witness *w, circuit_fn *fn, void *args, cs_mode mode)
{
    cs c;
    r1cs_shape *s;
    check(cs_init_shape(&c, "test"));
    fn(&c, args);
    check(cs_finish_shape(&c, &s));
    cs_fini(&c);
    check(witness_init(w, s));
    cs_init_witness(&c, s, w, mode);
    fn(&c, args);
    check(cs_finish_witness(&c));
    cs_fini(&c);
    check(r1cs_satisfied(s, w, NULL, &no_rc));
    return s;
}

/* Every auxiliary bit flipped (and every field element moved) must break a row: nothing is left
 * free. */
static void assert_pinned(const r1cs_shape *s, witness *w, uint64_t from)
{
    for (uint64_t j = from; j < w->n_aux; j++) {
        if (witness_is_dense(w, j)) {
            fr *v = &w->dense[witness_dense_idx(w, j)], old = *v;
            fr_add(v, v, &FR_ONE);
            assert_int_equal(r1cs_satisfied(s, w, NULL, &no_rc).code, CUZK_E_VERIFY);
            *v = old;
        } else {
            w->bits[j >> 6] ^= 1ull << (j & 63);
            if (r1cs_satisfied(s, w, NULL, &no_rc).code != CUZK_E_VERIFY)
                fail_msg("aux %llu is free", (unsigned long long)j);
            w->bits[j >> 6] ^= 1ull << (j & 63);
        }
    }
}

/* ---- booleans ---- */

typedef struct bool_case {
    int op;                  /* 0 xor, 1 and, 2 ch, 3 maj */
    uint8_t kind[3], val[3]; /* kind 0 const, 1 Is, 2 Not; val logical */
    boolean out;
} bool_case;

static void bool_circuit(cs *c, void *p)
{
    bool_case *k = p;
    boolean in[3];
    for (int i = 0; i < 3; i++) {
        if (k->kind[i] == 0)
            in[i] = boolean_const(k->val[i]);
        else if (k->kind[i] == 1)
            in[i] = boolean_alloc(c, k->val[i]);
        else
            in[i] = boolean_not(boolean_alloc(c, !k->val[i]));
    }
    switch (k->op) {
    case 0:
        k->out = boolean_xor(c, in[0], in[1], BOOL_NO_TAG);
        break;
    case 1:
        k->out = boolean_and(c, in[0], in[1], BOOL_NO_TAG);
        break;
    case 2:
        k->out = boolean_ch(c, in[0], in[1], in[2], BOOL_NO_TAG);
        break;
    default:
        k->out = boolean_maj(c, in[0], in[1], in[2], BOOL_NO_TAG, BOOL_NO_TAG);
        break;
    }
}

static bool truth(const bool_case *k)
{
    bool a = k->val[0], b = k->val[1], c = k->val[2];
    switch (k->op) {
    case 0:
        return a ^ b;
    case 1:
        return a && b;
    case 2:
        return a ? b : c;
    default:
        return a + b + c >= 2;
    }
}

static void test_boolean_truth_tables(void **state)
{
    (void)state;
    for (int op = 0; op < 4; op++)
        for (int kinds = 0; kinds < 27; kinds++)
            for (int vals = 0; vals < 8; vals++) {
                bool_case k = {.op = op};
                for (int i = 0, t = kinds; i < 3; i++, t /= 3) {
                    k.kind[i] = (uint8_t)(t % 3);
                    k.val[i] = vals >> i & 1;
                }
                witness w;
                r1cs_shape *s = build(&w, bool_circuit, &k, CS_WITNESS_SLOW);
                /* The logical value read back through the result's own variable. */
                bool got = k.out.val;
                if (k.out.kind != BOOL_CONST)
                    assert_int_equal((w.bits[0] >> k.out.var & 1) ^ (k.out.kind == BOOL_NOT), got);
                if (got != truth(&k))
                    fail_msg("op %d kinds %d vals %d", op, kinds, vals);
                uint64_t n_in = (k.kind[0] != 0) + (k.kind[1] != 0) + (k.kind[2] != 0);
                assert_pinned(s, &w, n_in);
                witness_fini(&w);
                r1cs_shape_destroy(s);
            }
}

/* ---- nums ---- */

typedef struct insert_case {
    uint32_t n, pos;
    num out[16];
} insert_case;

static void insert_circuit(cs *c, void *p)
{
    insert_case *k = p;
    num els[16], el;
    boolean bits[4];
    fr v;
    for (uint32_t i = 0; i + 1 < k->n; i++) {
        fr_from_u64(&v, 100 + i);
        els[i] = num_alloc(c, &v);
    }
    fr_from_u64(&v, 7);
    el = num_alloc(c, &v);
    boolean_alloc_u64(c, bits, (uint32_t)__builtin_ctz(k->n), k->pos);
    num_insert(c, k->out, k->n, &el, bits, els);
}

static void test_insert_puts_the_element_at_its_position(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 16; n *= 2)
        for (uint32_t pos = 0; pos < n; pos++) {
            insert_case k = {.n = n, .pos = pos};
            witness w;
            r1cs_shape *s = build(&w, insert_circuit, &k, CS_WITNESS_SLOW);
            for (uint32_t i = 0; i < n; i++) {
                fr want, got;
                fr_from_u64(&want, i == pos ? 7 : 100 + (i < pos ? i : i - 1));
                witness_var(&got, &w, k.out[i].var);
                assert_true(fr_eq(&got, &want) && fr_eq(&k.out[i].val, &want));
            }
            assert_pinned(s, &w, n + (uint32_t)__builtin_ctz(n));
            witness_fini(&w);
            r1cs_shape_destroy(s);
        }
}

typedef struct bits_case {
    fr v;
    boolean bits[NUM_BITS];
    num packed;
} bits_case;

static void bits_circuit(cs *c, void *p)
{
    bits_case *k = p;
    num n = num_alloc(c, &k->v);
    num_to_bits_le(c, k->bits, &n);
    k->packed = num_pack_bits(c, k->bits, NUM_BITS);
    num_pack_into_inputs(c, k->bits, NUM_BITS);
}

static void test_bits_are_the_canonical_ones(void **state)
{
    (void)state;
    fr values[4] = {FR_ZERO, FR_ONE, FR_GENERATOR, FR_ZERO};
    fr_neg(&values[3], &FR_ONE); /* r - 1 */
    for (int i = 0; i < 4; i++)
        for (cs_mode mode = CS_WITNESS_FAST; mode <= CS_WITNESS_SLOW; mode++) {
            bits_case k = {.v = values[i]};
            witness w;
            r1cs_shape *s = build(&w, bits_circuit, &k, mode);
            fr_int want;
            fr got;
            fr_to_int(&want, &k.v);
            for (uint32_t b = 0; b < NUM_BITS; b++)
                assert_int_equal(k.bits[b].val, want.l[b / 64] >> (b & 63) & 1);
            /* 254 bits are packed, the 255th starts a second input */
            want.l[3] &= 0x3fffffffffffffffu;
            fr low;
            fr_from_int(&low, &want);
            witness_var(&got, &w, k.packed.var);
            assert_true(fr_eq(&got, &low) && fr_eq(&w.inputs[1], &low));
            assert_int_equal(w.n_inputs, 3);
            witness_fini(&w);
            r1cs_shape_destroy(s);
        }
}

/* ---- hashes ---- */

typedef struct sha_case {
    uint8_t msg[160];
    uint32_t n_bytes;
    boolean out[256];
} sha_case;

static void sha_circuit(cs *c, void *p)
{
    sha_case *k = p;
    boolean bits[160 * 8];
    for (uint32_t i = 0; i < 8 * k->n_bytes; i++)
        bits[i] = boolean_alloc(c, k->msg[i / 8] >> (7 - i % 8) & 1);
    sha256_gadget(c, k->out, bits, 8 * k->n_bytes);
}

static void test_sha256_equals_native_fast_and_slow(void **state)
{
    (void)state;
    static const uint32_t lens[] = {0, 1, 31, 55, 56, 64, 119, 120, 160};
    for (size_t l = 0; l < ARRAY_LEN(lens); l++) {
        uint8_t want[32], digest[2][32];
        sha_case k = {.n_bytes = lens[l]};
        for (uint32_t i = 0; i < sizeof k.msg; i++)
            k.msg[i] = (uint8_t)(i * 37 + l);
        sha256(want, k.msg, k.n_bytes);
        for (int m = 0; m < 2; m++) {
            witness w;
            r1cs_shape *s = build(&w, sha_circuit, &k, m ? CS_WITNESS_SLOW : CS_WITNESS_FAST);
            for (uint32_t i = 0; i < 256; i++)
                assert_int_equal(k.out[i].val, want[i / 8] >> (7 - i % 8) & 1);
            check(witness_digest(&w, digest[m]));
            witness_fini(&w);
            r1cs_shape_destroy(s);
        }
        assert_memory_equal(digest[0], digest[1], 32);
    }
}

/* A flipped bit anywhere in a compression is noticed (every 97th, to stay quick). */
static void test_sha256_bits_are_pinned(void **state)
{
    (void)state;
    sha_case k = {.n_bytes = 64};
    witness w;
    r1cs_shape *s = build(&w, sha_circuit, &k, CS_WITNESS_FAST);
    for (uint64_t j = 512; j < w.n_aux; j += 97) {
        w.bits[j >> 6] ^= 1ull << (j & 63);
        assert_int_equal(r1cs_satisfied(s, &w, NULL, &no_rc).code, CUZK_E_VERIFY);
        w.bits[j >> 6] ^= 1ull << (j & 63);
    }
    witness_fini(&w);
    r1cs_shape_destroy(s);
}

typedef struct pos_case {
    uint32_t arity;
    num out;
} pos_case;

static void pos_circuit(cs *c, void *p)
{
    pos_case *k = p;
    num in[POSEIDON_MAX_ARITY];
    fr v;
    for (uint32_t i = 0; i < k->arity; i++) {
        fr_from_u64(&v, i);
        in[i] = num_alloc(c, &v);
    }
    k->out = poseidon_gadget_merkle(c, k->arity, in);
}

static void test_poseidon_equals_native_fast_and_slow(void **state)
{
    (void)state;
    static const uint32_t arities[] = {2, 4, 8, 11, 36};
    for (size_t a = 0; a < ARRAY_LEN(arities); a++) {
        uint8_t digest[2][32];
        for (int m = 0; m < 2; m++) {
            pos_case k = {.arity = arities[a]};
            fr in[POSEIDON_MAX_ARITY], want;
            witness w;
            r1cs_shape *s = build(&w, pos_circuit, &k, m ? CS_WITNESS_SLOW : CS_WITNESS_FAST);
            for (uint32_t i = 0; i < k.arity; i++)
                fr_from_u64(&in[i], i);
            poseidon_hash_merkle(&want, k.arity, in);
            assert_true(fr_eq(&k.out.val, &want));
            check(witness_digest(&w, digest[m]));
            if (k.arity == 2)
                assert_pinned(s, &w, 2);
            witness_fini(&w);
            r1cs_shape_destroy(s);
        }
        assert_memory_equal(digest[0], digest[1], 32);
    }
}

/* ---- Merkle paths ---- */

typedef struct por_case {
    merkle_shape shape;
    uint8_t idx[MERKLE_MAX_LEVELS];
    fr sib[MERKLE_MAX_LEVELS * 7], root;
    bool given_root;
} por_case;

static void por_circuit(cs *c, void *p)
{
    por_case *k = p;
    merkle_values v = {k->idx, k->sib};
    fr leaf;
    fr_from_u64(&leaf, 3);
    num l = num_alloc(c, &leaf), root = {0};
    if (k->given_root)
        root = num_alloc(c, &k->root);
    merkle_por(c, &k->shape, &v, &l, k->given_root ? &root : NULL, true);
}

static void test_por_packs_the_index_and_finds_the_root(void **state)
{
    (void)state;
    por_case k = {.given_root = false};
    witness w;
    merkle_shape_set(&k.shape, MERKLE_POSEIDON, 8, 2, 4, 2);
    const uint8_t idx[] = {5, 2, 3, 1};
    memcpy(k.idx, idx, sizeof idx);
    for (uint32_t i = 0; i < ARRAY_LEN(k.sib); i++)
        fr_from_u64(&k.sib[i], 1000 + i);
    /* Root by hand. */
    fr cur, in[8];
    const fr *sib = k.sib;
    fr_from_u64(&cur, 3);
    for (uint32_t l = 0; l < k.shape.n_levels; l++) {
        for (uint32_t i = 0; i < k.shape.arity[l]; i++)
            in[i] = i == idx[l] ? cur : *sib++;
        poseidon_hash_merkle(&cur, k.shape.arity[l], in);
    }
    r1cs_shape *s = build(&w, por_circuit, &k, CS_WITNESS_FAST);
    fr want;
    fr_from_u64(&want, 5 + 2 * 8 + 3 * 64 + 1 * 256);
    assert_true(fr_eq(&w.inputs[1], &want));
    assert_true(fr_eq(&w.inputs[2], &cur));
    witness_fini(&w);
    r1cs_shape_destroy(s);
    k.given_root = true;
    k.root = cur;
    s = build(&w, por_circuit, &k, CS_WITNESS_SLOW);
    fr_add(&w.dense[1], &w.dense[1], &FR_ONE); /* another root */
    cuzk_status st = r1cs_satisfied(s, &w, NULL, &no_rc);
    assert_int_equal(st.code, CUZK_E_VERIFY);
    assert_non_null(strstr(st.msg, "root"));
    witness_fini(&w);
    r1cs_shape_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boolean_truth_tables),
        cmocka_unit_test(test_insert_puts_the_element_at_its_position),
        cmocka_unit_test(test_bits_are_the_canonical_ones),
        cmocka_unit_test(test_sha256_equals_native_fast_and_slow),
        cmocka_unit_test(test_sha256_bits_are_pinned),
        cmocka_unit_test(test_poseidon_equals_native_fast_and_slow),
        cmocka_unit_test(test_por_packs_the_index_and_finds_the_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
