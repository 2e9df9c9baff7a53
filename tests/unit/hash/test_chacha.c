/* ChaCha: RFC 8439 vectors, ChaCha8 against the published zero-key stream, and piecewise
 * reading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/bytes.h"
#include "hash/chacha.h"

static void assert_hex(const uint8_t *got, size_t n, const char *hex)
{
    char text[2 * 256 + 1];
    assert_true(n <= 256);
    hex_encode(text, got, n);
    assert_string_equal(text, hex);
}

/* RFC 8439 section 2.3.2 and appendix A.1 (vectors 1 to 5). */
static const struct {
    uint8_t key_byte, key_pos; /* key is zero but for this byte */
    bool key_counts;           /* key is 00 01 .. 1f */
    uint32_t counter;
    const char *nonce_hex, *out_hex;
} rfc_cases[] = {
    {0, 0, true, 1, "000000090000004a00000000",
     "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
     "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"},
    {0, 0, false, 0, "000000000000000000000000",
     "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
     "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"},
    {0, 0, false, 1, "000000000000000000000000",
     "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
     "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"},
    {1, 31, false, 1, "000000000000000000000000",
     "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
     "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0"},
    {0xff, 1, false, 2, "000000000000000000000000",
     "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
     "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096"},
    {0, 0, false, 0, "000000000000000000000002",
     "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
     "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d"},
};

static void test_rfc8439_blocks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rfc_cases); i++) {
        uint8_t key[32] = {0}, nonce[12], out[64];
        for (unsigned k = 0; k < 32 && rfc_cases[i].key_counts; k++)
            key[k] = (uint8_t)k;
        if (!rfc_cases[i].key_counts)
            key[rfc_cases[i].key_pos] = rfc_cases[i].key_byte;
        assert_true(hex_decode(nonce, 12, rfc_cases[i].nonce_hex, 24));
        chacha c;
        chacha_init_ietf(&c, key, rfc_cases[i].counter, nonce, 20);
        chacha_keystream(&c, out, sizeof out);
        print_message("case %zu\n", i);
        assert_hex(out, sizeof out, rfc_cases[i].out_hex);
    }
}

/* draft-strombergson-chacha-test-vectors, TC1: 256-bit zero key, 64-bit zero nonce, first block. */
static void test_chacha8_zero_key(void **state)
{
    (void)state;
    uint8_t key[32] = {0}, out[64];
    chacha c;
    chacha_init_rand(&c, key, 0, 8);
    chacha_keystream(&c, out, sizeof out);
    assert_hex(out, sizeof out,
               "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e"
               "984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e0cfe42");
}

static void test_pieces_equal_whole(void **state)
{
    (void)state;
    uint8_t key[32], whole[1000], pieces[1000];
    for (unsigned i = 0; i < 32; i++)
        key[i] = (uint8_t)(7 * i + 1);
    chacha a, b;
    chacha_init_rand(&a, key, 0x1122334455667788u, 8);
    b = a;
    chacha_keystream(&a, whole, sizeof whole);
    size_t pos = 0;
    for (size_t step = 0; pos < sizeof pieces; step = (step * 5 + 3) % 131) {
        size_t n = step < sizeof pieces - pos ? step : sizeof pieces - pos;
        chacha_keystream(&b, pieces + pos, n);
        pos += n;
    }
    assert_memory_equal(whole, pieces, sizeof whole);
    chacha_init_rand(&b, key, 0x1122334455667788u, 8);
    assert_int_equal(chacha_next_u32(&b), load_le32(whole));
    assert_true(chacha_next_u64(&b) == load_le64(whole + 4));
    chacha_seek_block(&b, 3);
    assert_true(chacha_next_u64(&b) == load_le64(whole + 192));
}

static void test_counter_carries_only_in_64_bit_form(void **state)
{
    (void)state;
    uint8_t key[32] = {9}, nonce[12] = {0}, a[128], b[64];
    chacha c;
    chacha_init_rand(&c, key, 0, 20);
    chacha_seek_block(&c, 0xffffffffu);
    chacha_keystream(&c, a, 128);
    chacha_seek_block(&c, 0x100000000u);
    chacha_keystream(&c, b, 64);
    assert_memory_equal(a + 64, b, 64);
    chacha_init_ietf(&c, key, 0xffffffffu, nonce, 20);
    chacha_keystream(&c, a, 128);
    chacha_seek_block(&c, 0);
    chacha_keystream(&c, b, 64);
    assert_memory_equal(a + 64, b, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rfc8439_blocks),
        cmocka_unit_test(test_chacha8_zero_key),
        cmocka_unit_test(test_pieces_equal_whole),
        cmocka_unit_test(test_counter_carries_only_in_64_bit_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
