#include "base_test.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/random.h"

static void test_stores_undo_loads(void **state)
{
    (void)state;
    static const uint8_t b[8] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    uint8_t out[8];
    assert_int_equal(load_be32(b), 0x01234567);
    assert_int_equal(load_le32(b), 0x67452301);
    assert_true(load_be64(b) == 0x0123456789abcdefULL);
    assert_true(load_le64(b) == 0xefcdab8967452301ULL);
    store_be64(out, load_be64(b));
    assert_memory_equal(out, b, 8);
    store_le64(out, load_le64(b));
    assert_memory_equal(out, b, 8);
    store_be32(out, load_be32(b));
    store_le32(out + 4, load_le32(b + 4));
    assert_memory_equal(out, b, 8);
}

/* Reads one of each kind: 1 + 4 + 4 + 8 + 3 bytes. */
static void read_all_kinds(reader *r, bool check)
{
    uint8_t u8 = reader_u8(r);
    uint32_t le32 = reader_le32(r), be32 = reader_be32(r);
    uint64_t le64 = reader_le64(r);
    const uint8_t *p = reader_bytes(r, 3);
    if (!check)
        return;
    assert_int_equal(u8, 0);
    assert_int_equal(le32, 0x04030201);
    assert_int_equal(be32, 0x05060708);
    assert_true(le64 == 0x100f0e0d0c0b0a09ULL);
    assert_non_null(p);
    assert_memory_equal(p, "\x11\x12\x13", 3);
}

static void test_reader_fails_when_cut_at_any_byte(void **state)
{
    (void)state;
    enum { FULL = 20 };
    for (size_t cut = 0; cut <= FULL; cut++) {
        /* A block of exactly `cut` bytes, so that a sanitizer sees a read past the end. */
        uint8_t *p = mem_alloc(cut, 8);
        assert_non_null(p);
        for (size_t i = 0; i < cut; i++)
            p[i] = (uint8_t)i;
        reader r = reader_make(p, cut, "header");
        read_all_kinds(&r, cut == FULL);
        cuzk_status st = reader_finish(&r);
        assert_int_equal(st.code, cut == FULL ? CUZK_OK : CUZK_E_INPUT);
        assert_int_equal(reader_left(&r), 0);
        if (cut < FULL) {
            assert_non_null(strstr(st.msg, "header"));
            assert_int_equal(reader_u8(&r), 0);
            assert_null(reader_bytes(&r, 0)); /* failed stays failed */
        }
        mem_free(p);
    }
}

static void test_reader_edges(void **state)
{
    (void)state;
    reader r = reader_make(NULL, 0, "empty");
    assert_non_null(reader_bytes(&r, 0));
    assert_ok(reader_finish(&r));
    assert_null(reader_bytes(&r, SIZE_MAX));
    assert_int_equal(reader_finish(&r).code, CUZK_E_INPUT);

    uint8_t b[4] = {1, 2, 3, 4};
    r = reader_make(b, 4, "four");
    assert_int_equal(reader_u8(&r), 1);
    assert_int_equal(reader_left(&r), 3);
    assert_null(reader_bytes(&r, SIZE_MAX)); /* pos + n would wrap */
    cuzk_status st = reader_finish(&r);
    assert_string_equal(st.msg, "four: expected more bytes, found the end at offset 1 of 4 bytes");
}

static void test_hex_round_trip_and_strictness(void **state)
{
    (void)state;
    uint8_t all[256], back[256];
    char hex[513];
    for (int i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    hex_encode(hex, all, 256);
    assert_memory_equal(hex, "000102", 6);
    assert_memory_equal(hex + 506, "fdfeff", 7);
    assert_true(hex_decode(back, 256, hex, 512));
    assert_memory_equal(back, all, 256);
    assert_true(hex_decode(back, 3, "aBcDeF", 6));
    assert_memory_equal(back, "\xab\xcd\xef", 3);
    assert_true(hex_decode(back, 0, "", 0));
    hex_encode(hex, all, 0);
    assert_string_equal(hex, "");

    assert_false(hex_decode(back, 1, "a", 1));
    assert_false(hex_decode(back, 1, "abc", 3));
    assert_false(hex_decode(back, 1, "abcd", 4));
    assert_false(hex_decode(back, 2, "ab", 2));
    assert_false(hex_decode(back, 2, "0xab", 4));
    /* Every byte in every digit position: only the 22 digits pass. */
    for (int pos = 0; pos < 2; pos++) {
        int n_good = 0;
        for (int c = 0; c < 256; c++) {
            char pair[2] = {'0', '0'};
            pair[pos] = (char)c;
            n_good += hex_decode(back, 1, pair, 2);
        }
        assert_int_equal(n_good, 22);
    }
}

static const struct {
    const char *text, *plain; /* plain NULL: malformed */
} base64_cases[] = {
    /* RFC 4648 section 10 */
    {"", ""},
    {"Zg==", "f"},
    {"Zm8=", "fo"},
    {"Zm9v", "foo"},
    {"Zm9vYg==", "foob"},
    {"Zm9vYmE=", "fooba"},
    {"Zm9vYmFy", "foobar"},
    {"+/+/", "\xfb\xff\xbf"},
    /* padding missing, short, too long, in the wrong place */
    {"Zg", NULL},
    {"Zg=", NULL},
    {"Zm8", NULL},
    {"Z", NULL},
    {"=", NULL},
    {"==", NULL},
    {"====", NULL},
    {"Z===", NULL},
    {"Zg===", NULL},
    {"Zg====", NULL},
    {"Zg==Zg==", NULL},
    {"Zm8=Zm9v", NULL},
    {"Z=g=", NULL},
    {"=Zg=", NULL},
    {"Zm9v=", NULL},
    /* bits after the last byte */
    {"Zh==", NULL},
    {"Zm9=", NULL},
    /* other alphabets, blanks, line ends */
    {"-_-_", NULL},
    {"Zm 9", NULL},
    {"Zm9v\n", NULL},
    {"Zm9v\r\n", NULL},
    {" Zm9", NULL},
    {"Zm9\x80", NULL},
};

static void test_base64_follows_rfc_4648_strictly(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(base64_cases); i++) {
        const char *text = base64_cases[i].text, *plain = base64_cases[i].plain;
        uint8_t out[64];
        size_t len = 99;
        assert_true(base64_max(strlen(text)) <= sizeof out);
        cuzk_status st = base64_decode(out, &len, text, strlen(text), "field");
        if ((st.code == CUZK_OK) != (plain != NULL))
            fail_msg("\"%s\": %s", text, st.msg);
        if (plain) {
            assert_int_equal(len, strlen(plain));
            assert_memory_equal(out, plain, len);
        } else {
            assert_int_equal(st.code, CUZK_E_INPUT);
            assert_int_equal(len, 0);
            assert_non_null(strstr(st.msg, "field"));
            assert_non_null(strstr(st.msg, "offset"));
        }
    }
}

static void test_base64_names_offset_and_character(void **state)
{
    (void)state;
    uint8_t out[16];
    size_t len;
    cuzk_status st = base64_decode(out, &len, "Zm9vY*Fy", 8, "vanilla");
    assert_string_equal(st.msg,
                        "vanilla: expected a base64 character, found byte 0x2a at offset 5");
}

/* Exactly one text in 2^24 stands for each value: every digit pair of a "xx==" quad, one by one. */
static void test_base64_has_one_spelling_per_value(void **state)
{
    (void)state;
    unsigned seen[256] = {0};
    for (int a = 0; a < 256; a++) {
        for (int b = 0; b < 256; b++) {
            char text[4] = {(char)a, (char)b, '=', '='};
            uint8_t out[8];
            size_t len;
            if (base64_decode(out, &len, text, 4, "t").code == CUZK_OK) {
                assert_int_equal(len, 1);
                seen[out[0]]++;
            }
        }
    }
    for (int v = 0; v < 256; v++)
        assert_int_equal(seen[v], 1);
}

static void test_base64_decodes_every_length(void **state)
{
    (void)state;
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t n = 0; n < 100; n++) {
        uint8_t in[102] = {0}, *out = mem_alloc(base64_max((n + 2) / 3 * 4), 8);
        char text[140];
        size_t n_text = 0, len;
        assert_non_null(out);
        for (size_t i = 0; i < n; i++)
            in[i] = (uint8_t)(i * 89 + n * 31 + 5);
        for (size_t i = 0; i < n; i += 3) {
            uint32_t v = (uint32_t)in[i] << 16 | (uint32_t)in[i + 1] << 8 | in[i + 2];
            text[n_text++] = digits[v >> 18];
            text[n_text++] = digits[v >> 12 & 63];
            text[n_text++] = i + 1 < n ? digits[v >> 6 & 63] : '=';
            text[n_text++] = i + 2 < n ? digits[v & 63] : '=';
        }
        assert_ok(base64_decode(out, &len, text, n_text, "t"));
        assert_int_equal(len, n);
        assert_memory_equal(out, in, n);
        mem_free(out);
    }
}

static void test_random_fills_and_differs(void **state)
{
    (void)state;
    uint8_t a[1000] = {0}, b[1000] = {0};
    unsigned ones = 0;
    assert_ok(random_bytes(a, sizeof a));
    assert_ok(random_bytes(b, sizeof b));
    assert_ok(random_bytes(NULL, 0));
    assert_memory_not_equal(a, b, sizeof a);
    for (size_t i = 0; i < sizeof a; i++)
        ones += (unsigned)__builtin_popcount(a[i]);
    assert_in_range(ones, 3600, 4400); /* 4000 +- 9 standard deviations */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stores_undo_loads),
        cmocka_unit_test(test_reader_fails_when_cut_at_any_byte),
        cmocka_unit_test(test_reader_edges),
        cmocka_unit_test(test_hex_round_trip_and_strictness),
        cmocka_unit_test(test_base64_follows_rfc_4648_strictly),
        cmocka_unit_test(test_base64_names_offset_and_character),
        cmocka_unit_test(test_base64_has_one_spelling_per_value),
        cmocka_unit_test(test_base64_decodes_every_length),
        cmocka_unit_test(test_random_fills_and_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
