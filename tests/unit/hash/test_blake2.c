/* BLAKE2: RFC 7693 vectors, keyed digests against the BLAKE2 authors' known answers, pieces, and
 * misuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "hash/blake2.h"

static void digest(uint8_t *out, blake2_kind kind, const void *key, size_t key_len, const void *p,
                   size_t n, size_t step)
{
    blake2 *b;
    cuzk_status st = blake2_create(&b, kind, key, key_len);
    assert_int_equal(st.code, CUZK_OK);
    for (size_t pos = 0; pos < n; pos += step)
        blake2_update(b, (const uint8_t *)p + pos, step < n - pos ? step : n - pos);
    st = blake2_final(b, out);
    assert_int_equal(st.code, CUZK_OK);
    blake2_destroy(b);
}

/* RFC 7693 appendices A and B; the empty strings and the key from Python's hashlib, an independent
 * binding of the authors' reference code: blake2b(b"abc", digest_size=32, key=bytes(range(64))). */
static const struct {
    blake2_kind kind;
    const char *text;
    size_t key_len; /* key bytes 0, 1, 2, .. */
    const char *hex;
} cases[] = {
    {BLAKE2S_256, "abc", 0, "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982"},
    {BLAKE2S_256, "", 0, "69217a3079908094e11121d042354a7c1f55b6482ca1a51e1b250dfd1ed0eef9"},
    {BLAKE2B_512, "abc", 0,
     "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
     "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"},
    {BLAKE2B_512, "", 0,
     "786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419"
     "d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce"},
    {BLAKE2B_256_KEYED, "abc", 64,
     "dff38c978666dff5631db35ca15535520d134f5c8060ea569c6a178ad393719f"},
    {BLAKE2B_256_KEYED, "", 1, "52897a9c27e9781839168d22a76145b07a8a7f8cd85c1d3709e5b09468405099"},
};

static void test_published_vectors(void **state)
{
    (void)state;
    uint8_t key[64], out[64];
    for (unsigned i = 0; i < 64; i++)
        key[i] = (uint8_t)i;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n_out = cases[i].kind == BLAKE2B_512 ? 64 : 32;
        char hex[129];
        digest(out, cases[i].kind, cases[i].key_len ? key : NULL, cases[i].key_len, cases[i].text,
               strlen(cases[i].text), 1);
        hex_encode(hex, out, n_out);
        print_message("case %zu\n", i);
        assert_string_equal(hex, cases[i].hex);
    }
}

static void test_pieces_equal_whole(void **state)
{
    (void)state;
    static uint8_t data[1000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 31 + 7);
    const blake2_kind kinds[] = {BLAKE2S_256, BLAKE2B_512, BLAKE2B_256_KEYED};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        const char *key = kinds[k] == BLAKE2B_256_KEYED ? "key" : NULL;
        for (size_t step = 1; step < 200; step += 17) {
            uint8_t a[64] = {0}, b[64] = {0};
            digest(a, kinds[k], key, key ? 3 : 0, data, sizeof data, sizeof data);
            digest(b, kinds[k], key, key ? 3 : 0, data, sizeof data, step);
            assert_memory_equal(a, b, sizeof a);
        }
    }
}

static void test_one_shot_equals_stream_at_every_length(void **state)
{
    (void)state;
    uint8_t data[520];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * i + 3);
    for (size_t n = 0; n <= sizeof data; n++) {
        uint8_t a[64], b[64];
        blake2b_512(a, data, n);
        digest(b, BLAKE2B_512, NULL, 0, data, n, 64);
        assert_memory_equal(a, b, sizeof a);
    }
}

static void test_misuse_is_reported(void **state)
{
    (void)state;
    uint8_t key[65] = {1}, out[64];
    blake2 *b = NULL;
    assert_int_equal(blake2_create(&b, BLAKE2B_256_KEYED, NULL, 0).code, CUZK_E_INTERNAL);
    assert_int_equal(blake2_create(&b, BLAKE2B_256_KEYED, key, 65).code, CUZK_E_INTERNAL);
    assert_int_equal(blake2_create(&b, BLAKE2S_256, key, 8).code, CUZK_E_INTERNAL);
    assert_null(b);
    mem_fail_nth(1);
    assert_int_equal(blake2_create(&b, BLAKE2S_256, NULL, 0).code, CUZK_E_NOMEM);
    mem_fail_nth(0);
    assert_null(b);
    assert_int_equal(blake2_create(&b, BLAKE2S_256, NULL, 0).code, CUZK_OK);
    assert_int_equal(blake2_final(b, out).code, CUZK_OK);
    assert_int_equal(blake2_final(b, out).code, CUZK_E_INTERNAL);
    blake2_destroy(b);
    blake2_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_vectors),
        cmocka_unit_test(test_pieces_equal_whole),
        cmocka_unit_test(test_one_shot_equals_stream_at_every_length),
        cmocka_unit_test(test_misuse_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
