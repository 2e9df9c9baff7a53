/* Poseidon: fingerprints of the constants, published hash values, golden hashes, the optimised form
 * against the plain round-by-round definition, both builds against each other, and the trace
 * against the circuit's rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "golden_scan.h"
#include "hash/poseidon.h"
#include "hash/poseidon_int.h"
#include "hash/sha256.h"

#define SEED 0x243f6a8885a308d3u

static const uint32_t arities[] = {1, 2, 4, 8, 11, 16, 24, 36};

static void rand_fr(fr *o, uint64_t *s)
{
    uint8_t b[32];
    for (unsigned i = 0; i < 32; i++) {
        *s = *s * 6364136223846793005u + 1442695040888963407u;
        b[i] = (uint8_t)(*s >> 56);
    }
    fr_from_le_reduce(o, b);
}

/* Limbs of the canonical value, least significant first. */
static void assert_limbs(const fr *got, const uint64_t want[4])
{
    fr_int v;
    fr_to_int(&v, got);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(v.l[i], want[i]);
}

static void update_frs(sha256_ctx *h, const fr *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t le[32];
        fr_to_le(le, &v[i]);
        sha256_update(h, le, 32);
    }
}

/* SHA-256 of compressed keys, mds, pre_sparse, sparse, from a model that reproduces the reference
 * stack's hashes; the model's digests of arities 16, 24 and 1 are known by their ends only. */
static const struct {
    uint32_t arity;
    const char *head, *tail;
} fingerprints[] = {
    {2, "fc71c797c2fd445f511fce65625312bb", "cfd6cd6efb8e6f81d36be0317ed44727"},
    {4, "cfb0245dfc2424697dc1038c47bfe6a9", "826e8777d380787b011ac38878110667"},
    {8, "4a7eacdb40d5de8deea941af668547a3", "b4ad261f47bc3886deba3a0ad0ae8621"},
    {11, "0ec8f8f08d5d2e4721134043c6506446", "ae75ab01b14bcf8b19898ec1d942b150"},
    {36, "cdbefc5772e987247f15b42b2e4f554a", "a64a93b2dcdbe1caf8c386e1bb833ca3"},
    {16, "58946e27", "7e1"},
    {24, "6f0e8f31", "c6d"},
    {1, "a1acd5a8", "a61"},
};

static void test_constants_have_their_fingerprints(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fingerprints); i++) {
        const poseidon_constants *c = poseidon_constants_get(fingerprints[i].arity);
        assert_non_null(c);
        sha256_ctx h;
        uint8_t digest[32];
        char hex[65];
        sha256_init(&h);
        update_frs(&h, c->compressed_keys, c->n_keys);
        update_frs(&h, c->mds, (size_t)c->t * c->t);
        update_frs(&h, c->pre_sparse, (size_t)c->t * c->t);
        update_frs(&h, c->sparse, (size_t)c->r_p * (2 * c->t - 1));
        sha256_final(&h, digest);
        hex_encode(hex, digest, 32);
        print_message("arity %u: %s\n", fingerprints[i].arity, hex);
        assert_memory_equal(hex, fingerprints[i].head, strlen(fingerprints[i].head));
        size_t n_tail = strlen(fingerprints[i].tail);
        assert_memory_equal(hex + 64 - n_tail, fingerprints[i].tail, n_tail);
    }
}

/* First round constant, big-endian. */
static const struct {
    uint32_t t, r_p;
    const char *be_hex;
} first_constants[] = {
    {3, 55, "669f064bfa3ae17a23bd51861dbb4a24501eac92a2758b36a7320a009d6ed3d8"},
    {5, 56, "45c919736a0e5f2ef32c4c7d0a338eb1fed3d9e317b7580921072285c7e215ca"},
    {9, 57, "6ce90d12c4045fe08c3caddb776dd84ac52b4ae7e48cd49443984154f2f4c2f9"},
    {12, 57, "1f6c9576e648b5047399bfc5f38902e0d506f18e0f3ab77de6de096bd089bce4"},
    {37, 60, "29543a1abae8908320d4f4b833e9e74a3d0afbf85328d4b0d4dd43cc6a7f3b4e"},
};

static void test_first_round_constants(void **state)
{
    (void)state;
    static fr rk[68 * 37];
    for (size_t i = 0; i < ARRAY_LEN(first_constants); i++) {
        uint8_t be[32];
        char hex[65];
        poseidon_round_constants(rk, first_constants[i].t, 8, first_constants[i].r_p);
        fr_to_be(be, &rk[0]);
        hex_encode(hex, be, 32);
        assert_string_equal(hex, first_constants[i].be_hex);
    }
}

/* H(0, 1, .., arity - 1) with the MerkleTree tag, from neptune's own tests. */
static const struct {
    uint32_t arity;
    uint64_t limbs[4];
} counting[] = {
    {2, {0x2e203c369a02e7ff, 0xa6fba9339d05a69d, 0x739e0fd902efe161, 0x396508d75e76a56b}},
    {4, {0x019814ff6662075d, 0xfb6b4605bf1327ec, 0x00db3c6579229399, 0x58a54b10a9e5848a}},
    {8, {0x2a9934f56d38a5e6, 0x4b682e9d9cc4aed9, 0x1201004211677077, 0x2394611da3a5de55}},
    {11, {0xcee3bbc32b693163, 0x09f3dcd8ccb08fc1, 0x6ca537e232ebe87a, 0x0c0fc1b2e5227f28}},
    {16, {0x1291c74060266d37, 0x5b8dbc6d30680a6f, 0xc1c2fb5a6f871e63, 0x2d3ae2663381ae8a}},
    {24, {0xd7ef3569f585b321, 0xc3e779f6468815b1, 0x066f39bf783f3d9f, 0x63beb8831f11ae15}},
    {36, {0x4473606dfa4e8140, 0x75cd368df8a8ac3c, 0x540a30e03c10bbaa, 0x699303082a6e5d5f}},
};

static void test_counting_inputs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(counting); i++) {
        fr in[36], out;
        for (uint32_t k = 0; k < counting[i].arity; k++)
            fr_from_u64(&in[k], k);
        poseidon_hash_merkle(&out, counting[i].arity, in);
        print_message("arity %u\n", counting[i].arity);
        assert_limbs(&out, counting[i].limbs);
        poseidon_hash_merkle(&in[0], counting[i].arity, in); /* in place */
        assert_true(fr_eq(&in[0], &out));
    }
}

static void test_md_of_71_ones(void **state)
{
    (void)state;
    static const uint64_t want[4] = {0x351c54133b332c90, 0xc26f6d625f4e8195, 0x5fd9623643ed9622,
                                     0x59f42220e09ff6f7};
    fr in[71], out;
    for (size_t i = 0; i < 71; i++)
        in[i] = FR_ONE;
    poseidon_hash_md(&out, in, 71);
    assert_limbs(&out, want);
    /* Two elements: one block, the rest zero. */
    fr block[36], direct;
    memset(block, 0, sizeof block);
    block[0] = block[1] = FR_ONE;
    poseidon_hash_merkle(&direct, 36, block);
    poseidon_hash_md(&out, in, 2);
    assert_true(fr_eq(&out, &direct));
}

static void golden_fr(const char **p, fr *o)
{
    uint8_t le[32];
    golden_hex(p, le, 32);
    assert_true(fr_from_le(o, le));
}

/* Check each object of a list: `n_in` strings behind in_key hash to the string behind out_key. */
static void check_golden_list(const char *list_key, const char *in_key, const char *out_key,
                              size_t n_want)
{
    char *text = golden_load("vectors.json.gz");
    const char *p = strstr(text, "\"g_primitives\"");
    assert_non_null(p);
    p = golden_key(p, NULL, list_key);
    assert_non_null(p);
    const char *end = golden_close(p);
    size_t n = 0;
    while ((p = strchr(p, '{')) != NULL && p < end) {
        const char *obj_end = golden_close(p);
        const char *in = golden_key(p, obj_end, in_key), *out = golden_key(p, obj_end, out_key);
        assert_true(in && out);
        const char *in_end = golden_close(in);
        fr v[36], want, got;
        uint32_t arity = 0;
        for (const char *q; (q = strchr(in, '"')) != NULL && q < in_end;)
            golden_fr(&in, &v[arity++]);
        golden_fr(&out, &want);
        print_message("%s %zu, arity %u\n", list_key, n, arity);
        poseidon_hash_merkle(&got, arity, v);
        assert_true(fr_eq(&got, &want));
        n++;
        p = obj_end;
    }
    assert_int_equal(n, n_want);
    free(text);
}

static void test_golden_hashes(void **state)
{
    (void)state;
    check_golden_list("poseidon_multi", "in", "out", 9);
    check_golden_list("columns", "rows", "hash", 6);
}

static void test_golden_phi_uses_the_update_tag(void **state)
{
    (void)state;
    char *text = golden_load("vectors.json.gz");
    const char *p = golden_key(text, NULL, "phi_rho");
    assert_non_null(p);
    const char *end = golden_close(p);
    const poseidon_constants *c = poseidon_constants_get(2);
    fr tag;
    fr_from_u64(&tag, (uint64_t)1 << 40);
    assert_true(fr_eq(&tag, &POSEIDON_TAG_UPDATE));
    size_t n = 0;
    for (const char *d; (d = golden_key(p, end, "comm_d_new")) != NULL; n++) {
        const char *r = golden_key(d, end, "comm_r_old"), *phi = golden_key(d, end, "phi");
        const char *rho = golden_key(d, end, "rho_of_high");
        assert_true(r && phi && rho);
        fr in[2], want, got;
        golden_fr(&d, &in[0]);
        golden_fr(&r, &in[1]);
        golden_fr(&phi, &want);
        poseidon_hash(&got, c, &POSEIDON_TAG_UPDATE, in);
        assert_true(fr_eq(&got, &want));
        for (unsigned k = 0; k < 7; k++) {
            const char *num = strchr(rho + 1, '[');
            assert_non_null(num);
            fr rho_in[2] = {got, FR_ZERO}, rho_got;
            fr_from_u64(&rho_in[1], strtoull(num + 1, NULL, 10));
            rho = num;
            golden_fr(&rho, &want);
            poseidon_hash(&rho_got, c, &POSEIDON_TAG_UPDATE, rho_in);
            assert_true(fr_eq(&rho_got, &want));
        }
        p = rho;
    }
    assert_int_equal(n, 4);
    free(text);
}

static void pow5(fr *e) { fr_pow_u64(e, e, 5); }

/* The definition: add round constants, s-boxes, MDS, for every round. */
static void plain_hash(fr *out, const poseidon_constants *c, const fr *tag, const fr *in)
{
    static fr rk[68 * 37];
    fr s[37], o[37];
    const size_t t = c->t;
    poseidon_round_constants(rk, c->t, c->r_f, c->r_p);
    s[0] = *tag;
    memcpy(s + 1, in, c->arity * sizeof *in);
    for (size_t r = 0; r < c->r_f + c->r_p; r++) {
        bool full = r < c->r_f / 2 || r >= c->r_f / 2 + c->r_p;
        for (size_t i = 0; i < t; i++) {
            fr_add(&s[i], &s[i], &rk[r * t + i]);
            if (full || i == 0)
                pow5(&s[i]);
        }
        poseidon_mat_row_mul(o, s, c->mds, t);
        memcpy(s, o, sizeof s);
    }
    *out = s[1];
}

static void test_optimised_equals_plain_in_both_builds(void **state)
{
    (void)state;
    uint64_t seed = SEED;
    print_message("seed %llx, ff %s\n", (unsigned long long)seed, ff_isa());
    for (size_t i = 0; i < ARRAY_LEN(arities); i++) {
        const poseidon_constants *c = poseidon_constants_get(arities[i]);
        for (unsigned k = 0; k < 6; k++) {
            fr in[36], tag, want, got;
            rand_fr(&tag, &seed);
            for (uint32_t j = 0; j < c->arity; j++)
                rand_fr(&in[j], &seed);
            if (k < 3) /* all 0, all 1, all r - 1 */
                for (uint32_t j = 0; j < c->arity; j++)
                    fr_from_u64(&in[j], k);
            if (k == 2)
                for (uint32_t j = 0; j < c->arity; j++)
                    fr_neg(&in[j], &FR_ONE);
            plain_hash(&want, c, &tag, in);
            poseidon_hash_portable(&got, c, &tag, in);
            assert_true(fr_eq(&got, &want));
            if (ff_use_adx()) {
                poseidon_hash_adx(&got, c, &tag, in);
                assert_true(fr_eq(&got, &want));
            }
        }
    }
}

static void test_dot_at_every_length(void **state)
{
    (void)state;
    uint64_t seed = SEED + 1;
    fr a[64], b[64];
    for (unsigned round = 0; round < 6; round++) {
        for (size_t n = 1; n <= 64; n++) {
            fr want = FR_ZERO, prod, got;
            for (size_t i = 0; i < n; i++) {
                rand_fr(&a[i], &seed);
                rand_fr(&b[i], &seed);
                if (round == 0) { /* the largest stored limbs: r - 1 as a representative */
                    a[i] = (fr){
                        {FR_MODULUS.l[0] - 1, FR_MODULUS.l[1], FR_MODULUS.l[2], FR_MODULUS.l[3]}};
                    b[i] = a[i];
                } else if (round == 1) {
                    b[i] = FR_ZERO;
                } else if (round == 2) { /* a result of exactly 0 */
                    fr_neg(&b[i], i % 2 ? &b[i - 1] : &b[i]);
                    a[i] = i % 2 ? a[i - 1] : a[i];
                }
                fr_mul(&prod, &a[i], &b[i]);
                fr_add(&want, &want, &prod);
            }
            poseidon_dot_portable(&got, a, b, n);
            assert_true(fr_eq(&got, &want));
            if (ff_use_adx()) {
                poseidon_dot_adx(&got, a, b, n);
                assert_true(fr_eq(&got, &want));
            }
        }
    }
}

/* Reads the trace as the circuit's rows: state kept as values, s-box inputs taken from the
 * trace. */
typedef struct cursor {
    const fr *v;
    size_t n_used;
} cursor;

static void take_sbox(cursor *k, fr *e, const fr *post, bool has_input)
{
    fr sq;
    if (has_input)
        assert_true(fr_eq(&k->v[k->n_used++], e));
    const fr *l2 = &k->v[k->n_used], *l4 = l2 + 1, *l5 = l2 + 2;
    k->n_used += 3;
    fr_mul(&sq, e, e);
    assert_true(fr_eq(&sq, l2));
    fr_mul(&sq, l2, l2);
    assert_true(fr_eq(&sq, l4));
    fr_mul(&sq, e, l4);
    fr_add(&sq, &sq, post);
    assert_true(fr_eq(&sq, l5));
    *e = sq;
}

static void mul_round(fr *s, const poseidon_constants *c, size_t r)
{
    const size_t t = c->t, h = c->r_f / 2;
    fr o[37];
    if (r >= h && r < h + c->r_p) {
        const fr *w = c->sparse + (r - h) * (2 * t - 1), *v = w + t;
        fr prod, sum = FR_ZERO;
        for (size_t i = 0; i < t; i++) {
            fr_mul(&prod, &s[i], &w[i]);
            fr_add(&sum, &sum, &prod);
        }
        for (size_t j = 1; j < t; j++) {
            fr_mul(&prod, &s[0], &v[j - 1]);
            fr_add(&s[j], &s[j], &prod);
        }
        s[0] = sum;
        return;
    }
    poseidon_mat_row_mul(o, s, r == h - 1 ? c->pre_sparse : c->mds, t);
    memcpy(s, o, sizeof o);
}

static void check_trace(const fr *trace, size_t n, const poseidon_constants *c, const fr *tag,
                        const fr *in)
{
    const size_t t = c->t, n_rounds = c->r_f + c->r_p, h = c->r_f / 2;
    cursor k = {trace, 0};
    const fr *key = c->compressed_keys;
    fr s[37];
    s[0] = *tag;
    memcpy(s + 1, in, c->arity * sizeof *in);
    for (size_t i = 0; i < t; i++) {
        fr_add(&s[i], &s[i], &key[i]);
        if (i > 0) {
            take_sbox(&k, &s[i], &key[t + i], false);
        } else {
            pow5(&s[0]);
            fr_add(&s[0], &s[0], &key[t]);
        }
    }
    key += 2 * t;
    mul_round(s, c, 0);
    for (size_t r = 1; r < n_rounds; r++) {
        size_t n_sbox = r >= h && r < h + c->r_p ? 1 : t;
        for (size_t i = 0; i < n_sbox; i++)
            take_sbox(&k, &s[i], r + 1 == n_rounds ? &FR_ZERO : key++, true);
        mul_round(s, c, r);
    }
    assert_int_equal(key - c->compressed_keys, c->n_keys);
    assert_true(fr_eq(&trace[k.n_used], &s[1]));
    assert_int_equal(k.n_used + 1, n);
}

static const struct {
    uint32_t arity;
    size_t len;
} trace_lens[] = {{2, 311}, {4, 377}, {8, 505}, {11, 598}, {16, 761}, {24, 1009}, {36, 1385}};

static void test_trace_is_what_the_circuit_allocates(void **state)
{
    (void)state;
    uint64_t seed = SEED + 2;
    for (size_t i = 0; i < ARRAY_LEN(trace_lens); i++) {
        const poseidon_constants *c = poseidon_constants_get(trace_lens[i].arity);
        size_t n = poseidon_trace_len(c);
        assert_int_equal(n, trace_lens[i].len);
        static fr trace[1386], trace2[1386];
        fr in[36], tag, h;
        rand_fr(&tag, &seed);
        for (uint32_t j = 0; j < c->arity; j++)
            rand_fr(&in[j], &seed);
        memset(trace, 0xee, sizeof trace);
        poseidon_hash_trace(trace, c, &tag, in);
        check_trace(trace, n, c, &tag, in);
        poseidon_hash(&h, c, &tag, in);
        assert_true(fr_eq(&trace[n - 1], &h));
        for (size_t b = 0; b < sizeof(fr); b++) /* nothing behind the end */
            assert_int_equal(((const uint8_t *)&trace[n])[b], 0xee);
        poseidon_trace_portable(trace2, c, &tag, in);
        assert_memory_equal(trace, trace2, n * sizeof(fr));
    }
}

static void *get_constants(void *arg)
{
    (void)arg;
    return (void *)(uintptr_t)poseidon_constants_get(24);
}

static void test_constants_are_built_once_and_shared(void **state)
{
    (void)state;
    pthread_t th[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&th[i], NULL, get_constants, NULL), 0);
    const void *first = poseidon_constants_get(24);
    assert_non_null(first);
    for (size_t i = 0; i < 4; i++) {
        void *got;
        assert_int_equal(pthread_join(th[i], &got), 0);
        assert_ptr_equal(got, first);
    }
}

/* First in the list of tests: nothing is cached yet. */
static void test_no_memory_and_unknown_arity(void **state)
{
    (void)state;
    for (uint64_t nth = 1; nth <= 2; nth++) {
        mem_fail_nth(nth);
        assert_null(poseidon_constants_get(4));
    }
    mem_fail_nth(0);
    assert_non_null(poseidon_constants_get(4));
    static const uint32_t bad[] = {0, 3, 5, 9, 12, 35, 37, 0xffffffffu};
    fr in[1] = {FR_ONE}, out = FR_ONE;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_null(poseidon_constants_get(bad[i]));
        poseidon_hash_merkle(&out, bad[i], in);
        assert_true(fr_is_zero(&out));
    }
}

static void test_singular_matrix_is_refused(void **state)
{
    (void)state;
    fr m[4], inv[4], scratch[6], x[2], y[2] = {FR_ONE, FR_ONE};
    for (size_t i = 0; i < 4; i++)
        m[i] = FR_ONE;
    assert_false(poseidon_mat_inv(inv, m, 2, scratch));
    assert_false(poseidon_mat_solve_left(x, m, y, 2, scratch));
    m[0] = m[3] = FR_ZERO; /* needs a row exchange */
    assert_true(poseidon_mat_inv(inv, m, 2, scratch));
    assert_memory_equal(inv, m, sizeof m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_memory_and_unknown_arity),
        cmocka_unit_test(test_constants_are_built_once_and_shared),
        cmocka_unit_test(test_constants_have_their_fingerprints),
        cmocka_unit_test(test_first_round_constants),
        cmocka_unit_test(test_counting_inputs),
        cmocka_unit_test(test_md_of_71_ones),
        cmocka_unit_test(test_golden_hashes),
        cmocka_unit_test(test_golden_phi_uses_the_update_tag),
        cmocka_unit_test(test_optimised_equals_plain_in_both_builds),
        cmocka_unit_test(test_dot_at_every_length),
        cmocka_unit_test(test_trace_is_what_the_circuit_allocates),
        cmocka_unit_test(test_singular_matrix_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
