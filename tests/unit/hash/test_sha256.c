/* SHA-256: FIPS vectors, golden node hashes and labels, both compressions, streaming, and the trace
 * against a second, word-by-word walk through circuits' grouping of additions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "golden_scan.h"
#include "hash/sha256.h"
#include "hash/sha256_int.h"

#define SEED 0x9e3779b97f4a7c15u

/* splitmix64 */
static uint64_t next_rand(uint64_t *s)
{
    uint64_t z = (*s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void fill_rand(uint64_t *s, void *p, size_t n)
{
    uint8_t *b = p;
    for (size_t i = 0; i < n; i++)
        b[i] = (uint8_t)next_rand(s);
}

/* FIPS 180-4 examples and the NIST SHAVS byte vectors. */
static const struct {
    const char *text;
    size_t n_times;
    const char *digest_hex;
} fips_cases[] = {
    {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnop"
     "qrs"
     "mnopqrstnopqrstu",
     1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
};

static void test_fips_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fips_cases); i++) {
        sha256_ctx c;
        sha256_init(&c);
        for (size_t k = 0; k < fips_cases[i].n_times; k++)
            sha256_update(&c, fips_cases[i].text, strlen(fips_cases[i].text));
        uint8_t out[32];
        char hex[65];
        sha256_final(&c, out);
        hex_encode(hex, out, 32);
        print_message("case %zu\n", i);
        assert_string_equal(hex, fips_cases[i].digest_hex);
    }
}

static void test_golden_node_hashes(void **state)
{
    (void)state;
    char *text = golden_load("vectors.json.gz");
    const char *p = golden_key(text, NULL, "sha256_hash2");
    assert_non_null(p);
    const char *end = golden_close(p);
    size_t n = 0;
    for (const char *a; (a = golden_key(p, end, "a")) != NULL; n++) {
        uint8_t in[64], want[32], got[32];
        const char *b = golden_key(a, end, "b");
        const char *h = golden_key(a, end, "hash2");
        assert_non_null(b);
        assert_non_null(h);
        golden_hex(&a, in, 32);
        golden_hex(&b, in + 32, 32);
        golden_hex(&h, want, 32);
        sha256(got, in, sizeof in);
        got[31] &= 0x3f;
        assert_memory_equal(got, want, 32);
        p = h;
    }
    assert_int_equal(n, 4);
    free(text);
}

/* One label: 64 bytes of head, then 37 parents; the rows given are repeated as the graph says. */
static void check_label(const uint8_t replica_id[32], uint32_t layer, uint64_t node,
                        const uint8_t parents[][32], size_t n_parents, const uint8_t want[32])
{
    uint8_t head[64] = {0}, got[32];
    memcpy(head, replica_id, 32);
    store_be32(head + 32, layer);
    store_be64(head + 36, node);
    sha256_ctx c;
    sha256_init(&c);
    sha256_update(&c, head, sizeof head);
    for (size_t i = 0; i < 37; i++)
        sha256_update(&c, parents[i % n_parents], 32);
    sha256_final(&c, got);
    got[31] &= 0x3f;
    assert_memory_equal(got, want, 32);
}

static void test_golden_labels(void **state)
{
    (void)state;
    char *text = golden_load("vectors.json.gz");
    const char *p = golden_key(text, NULL, "labels_and_encode");
    assert_non_null(p);
    const char *end = golden_close(p);
    size_t n = 0;
    for (const char *l; (l = golden_key(p, end, "label")) != NULL; n++) {
        uint8_t want[32], replica_id[32], parents[37][32];
        const char *layer = golden_key(l, end, "layer"), *node = golden_key(l, end, "node");
        const char *par = golden_key(l, end, "parents"), *rep = golden_key(l, end, "replica_id");
        assert_true(layer && node && par && rep);
        const char *par_end = golden_close(par);
        size_t n_parents = 0;
        for (const char *q; n_parents < 37 && (q = strchr(par, '"')) != NULL && q < par_end;)
            golden_hex(&par, parents[n_parents++], 32);
        golden_hex(&l, want, 32);
        golden_hex(&rep, replica_id, 32);
        assert_true(n_parents > 0);
        check_label(replica_id, (uint32_t)strtoul(layer, NULL, 10), strtoull(node, NULL, 10),
                    (const uint8_t(*)[32])parents, n_parents, want);
        p = rep;
    }
    assert_int_equal(n, 5);
    free(text);
}

static void test_portable_equals_ni(void **state)
{
    (void)state;
    if (!sha256_has_ni()) {
        print_message("no SHA extensions here\n");
        skip();
    }
    uint64_t s = SEED;
    static uint8_t data[64 * 40];
    print_message("seed %llx, impl %s\n", (unsigned long long)s, sha256_impl());
    for (unsigned k = 0; k < 200; k++) {
        uint32_t a[8], b[8];
        size_t n = next_rand(&s) % 40;
        fill_rand(&s, data, 64 * n);
        fill_rand(&s, a, sizeof a);
        memcpy(b, a, sizeof a);
        sha256_compress_portable(a, data, n);
        sha256_compress_ni(b, data, n);
        assert_memory_equal(a, b, sizeof a);
    }
}

static void test_every_length_and_odd_pieces(void **state)
{
    (void)state;
    uint64_t s = SEED + 1;
    uint8_t data[400], padded[512], whole[32], pieces[32];
    fill_rand(&s, data, sizeof data);
    for (size_t n = 0; n <= sizeof data; n++) {
        /* Padding done here, over the portable compression. */
        size_t n_padded = (n + 9 + 63) / 64 * 64;
        memset(padded, 0, sizeof padded);
        memcpy(padded, data, n);
        padded[n] = 0x80;
        store_be64(padded + n_padded - 8, 8 * n);
        uint32_t h[8];
        memcpy(h, SHA256_IV, sizeof h);
        sha256_compress_portable(h, padded, n_padded / 64);
        sha256(whole, data, n);
        for (unsigned i = 0; i < 8; i++)
            assert_int_equal(load_be32(whole + 4 * i), h[i]);
        sha256_ctx c;
        sha256_init(&c);
        for (size_t pos = 0; pos < n;) {
            size_t step = next_rand(&s) % 150;
            step = step < n - pos ? step : n - pos;
            sha256_update(&c, data + pos, step);
            pos += step;
        }
        sha256_final(&c, pieces);
        assert_memory_equal(whole, pieces, 32);
    }
}

static uint32_t rotr(uint32_t x, unsigned n) { return (x >> n) | (x << (32 - n)); }

/* Walks the compression as the circuit does, with the deferred operand lists written out. */
static void check_trace(const sha256_trace *t, const uint32_t cur[8], const uint32_t block[16])
{
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(t->w[i], block[i]);
    for (unsigned i = 16; i < 64; i++) {
        uint32_t x = t->w[i - 15], y = t->w[i - 2];
        assert_int_equal(t->s0w_t[i], rotr(x, 7) ^ rotr(x, 18));
        assert_int_equal(t->s0w[i], t->s0w_t[i] ^ (x >> 3));
        assert_int_equal(t->s1w_t[i], rotr(y, 17) ^ rotr(y, 19));
        assert_int_equal(t->s1w[i], t->s1w_t[i] ^ (y >> 10));
        assert_true(t->w_sum[i] == (uint64_t)t->w[i - 16] + t->s0w[i] + t->w[i - 7] + t->s1w[i]);
        assert_int_equal(t->w[i], (uint32_t)t->w_sum[i]);
    }
    uint32_t b = cur[1], c = cur[2], d = cur[3], f = cur[5], g = cur[6], h = cur[7];
    uint64_t e_list = cur[4], a_list = cur[0];
    for (unsigned i = 0; i < 64; i++) {
        uint32_t e = (uint32_t)e_list, a = (uint32_t)a_list;
        assert_int_equal(t->e[i], e);
        assert_int_equal(t->a[i], a);
        if (i > 0) {
            assert_true(t->e_sum[i] == e_list);
            assert_true(t->a_sum[i] == a_list);
        }
        assert_int_equal(t->S1_t[i], rotr(e, 6) ^ rotr(e, 11));
        assert_int_equal(t->S1[i], rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25));
        assert_int_equal(t->ch[i], (e & f) ^ (~e & g));
        assert_int_equal(t->S0_t[i], rotr(a, 2) ^ rotr(a, 13));
        assert_int_equal(t->S0[i], rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22));
        assert_int_equal(t->maj_bc[i], b & c);
        assert_int_equal(t->maj[i], (a & b) ^ (a & c) ^ (b & c));
        uint64_t t1 = (uint64_t)h + t->S1[i] + t->ch[i] + SHA256_K[i] + t->w[i];
        h = g, g = f, f = e;
        e_list = t1 + d;
        d = c, c = b, b = a;
        a_list = t1 + t->S0[i] + t->maj[i];
    }
    const uint64_t want[8] = {a_list + cur[0],      (uint64_t)cur[1] + b, (uint64_t)cur[2] + c,
                              (uint64_t)cur[3] + d, e_list + cur[4],      (uint64_t)cur[5] + f,
                              (uint64_t)cur[6] + g, (uint64_t)cur[7] + h};
    for (unsigned k = 0; k < 8; k++) {
        assert_true(t->out_sum[k] == want[k]);
        assert_int_equal(t->out[k], (uint32_t)want[k]);
    }
}

static void test_trace_is_the_compression(void **state)
{
    (void)state;
    uint64_t s = SEED + 2;
    print_message("seed %llx\n", (unsigned long long)s);
    for (unsigned k = 0; k < 300; k++) {
        static sha256_trace t;
        uint32_t h[8], block[16];
        uint8_t bytes[64];
        memset(&t, 0xa5, sizeof t);
        fill_rand(&s, h, sizeof h);
        fill_rand(&s, block, sizeof block);
        if (k == 0) { /* the largest sums */
            memset(h, 0xff, sizeof h);
            memset(block, 0xff, sizeof block);
        } else if (k == 1) {
            memset(h, 0, sizeof h);
            memset(block, 0, sizeof block);
        }
        sha256_compress_trace(&t, h, block);
        check_trace(&t, h, block);
        for (unsigned i = 0; i < 16; i++)
            store_be32(bytes + 4 * i, block[i]);
        sha256_compress(h, bytes, 1);
        assert_memory_equal(t.out, h, sizeof h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fips_vectors),
        cmocka_unit_test(test_golden_node_hashes),
        cmocka_unit_test(test_golden_labels),
        cmocka_unit_test(test_portable_equals_ni),
        cmocka_unit_test(test_every_length_and_odd_pieces),
        cmocka_unit_test(test_trace_is_the_compression),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
