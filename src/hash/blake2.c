#include "hash/blake2.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

/* Exactly one of md and mac is set. `failed` keeps the first failed update until blake2_final. */
struct blake2 {
    EVP_MD_CTX *md;
    EVP_MAC_CTX *mac;
    size_t out_bytes;
    bool failed;
};

static cuzk_status init_plain(blake2 *b, blake2_kind kind)
{
    const bool is_s = kind == BLAKE2S_256;
    b->out_bytes = is_s ? 32 : 64;
    b->md = EVP_MD_CTX_new();
    if (!b->md)
        return cuzk_fail(CUZK_E_NOMEM, "BLAKE2 digest context");
    EVP_MD *md = EVP_MD_fetch(NULL, is_s ? "BLAKE2S-256" : "BLAKE2B-512", NULL);
    int ok = md && EVP_DigestInit_ex2(b->md, md, NULL) == 1;
    EVP_MD_free(md); /* the context holds its own reference */
    if (!ok)
        return cuzk_fail(CUZK_E_INTERNAL, "OpenSSL offers no usable %s",
                         is_s ? "BLAKE2s-256" : "BLAKE2b-512");
    return cuzk_ok();
}

static cuzk_status init_keyed(blake2 *b, const void *key, size_t key_len)
{
    b->out_bytes = 32;
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "BLAKE2BMAC", NULL);
    if (!mac)
        return cuzk_fail(CUZK_E_INTERNAL, "OpenSSL offers no BLAKE2BMAC");
    b->mac = EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac); /* the context holds its own reference */
    if (!b->mac)
        return cuzk_fail(CUZK_E_NOMEM, "BLAKE2 MAC context");
    size_t size = b->out_bytes;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &size),
        OSSL_PARAM_construct_end(),
    };
    if (EVP_MAC_init(b->mac, key, key_len, params) != 1)
        return cuzk_fail(CUZK_E_INTERNAL, "BLAKE2BMAC refused a key of %zu bytes", key_len);
    return cuzk_ok();
}

cuzk_status blake2_create(blake2 **out, blake2_kind kind, const void *key, size_t key_len)
{
    *out = NULL;
    const bool keyed = kind == BLAKE2B_256_KEYED;
    if (keyed ? !key || key_len < 1 || key_len > 64 : key || key_len != 0)
        return cuzk_fail(CUZK_E_INTERNAL, "BLAKE2 kind %d with a key of %zu bytes, want %s",
                         (int)kind, key_len, keyed ? "1 to 64" : "none");
    blake2 *b = mem_zalloc(sizeof *b, 16);
    if (!b)
        return cuzk_fail(CUZK_E_NOMEM, "BLAKE2 state of %zu bytes", sizeof *b);
    cuzk_status st = keyed ? init_keyed(b, key, key_len) : init_plain(b, kind);
    if (st.code != CUZK_OK) {
        blake2_destroy(b);
        return st;
    }
    *out = b;
    return st;
}

void blake2_update(blake2 *b, const void *p, size_t n)
{
    if (n == 0 || b->failed)
        return;
    int ok = b->md ? EVP_DigestUpdate(b->md, p, n) : EVP_MAC_update(b->mac, p, n);
    b->failed = ok != 1;
}

cuzk_status blake2_final(blake2 *b, uint8_t *out)
{
    memset(out, 0, b->out_bytes);
    if (!b->failed) {
        size_t n_mac = 0;
        unsigned n_md = 0;
        int ok = b->md ? EVP_DigestFinal_ex(b->md, out, &n_md)
                       : EVP_MAC_final(b->mac, out, &n_mac, b->out_bytes);
        b->failed = ok != 1 || n_md + n_mac != b->out_bytes;
    }
    if (b->failed) {
        memset(out, 0, b->out_bytes);
        return cuzk_fail(CUZK_E_INTERNAL, "OpenSSL failed a BLAKE2 update or final");
    }
    b->failed = true; /* one digest per object: anything after this is reported */
    return cuzk_ok();
}

void blake2_destroy(blake2 *b)
{
    if (!b)
        return;
    EVP_MD_CTX_free(b->md);
    EVP_MAC_CTX_free(b->mac);
    mem_free(b);
}
