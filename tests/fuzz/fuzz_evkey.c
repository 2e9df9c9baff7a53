/* Bytes of evaluation-form keys: opening, decoding, matching and checking never crash or read
 * outside, and the check accepts the one right file only. The digests are renewed first, or nothing
 * would get past them. */
#include "base/bytes.h"
#include "groth16/evkey_int.h"
#include "hash/blake2_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const run_ctx rc = {0};
static r1cs_shape *shape;
static g16_key *key;
static uint8_t *right;
static size_t right_len;

static void must(cuzk_status st)
{
    if (st.code != CUZK_OK) {
        fprintf(stderr, "%s\n", st.msg);
        abort();
    }
}

static void *must_have(void *p)
{
    if (!p)
        abort();
    return p;
}

/* The known-answer circuit's key and its evaluation form. */
static void start(void)
{
    char dir[] = "/tmp/fuzz-evkey-XXXXXX", params[64], path[64];
    g16_toxic t;
    g16_evkey *e;
    must_have(mkdtemp(dir));
    snprintf(params, sizeof params, "%s/k.params", dir);
    g16_evkey_path(path, sizeof path, params);
    g16_tiny_toxic(&t);
    must(g16_tiny_shape(&shape));
    must(g16_setup(shape, &t, params, &rc));
    must(g16_key_open(&key, params));
    must(g16_evkey_make(path, key, shape, &rc));
    must(g16_evkey_open(&e, path));
    right_len = (size_t)g16_evkey_get_info(e)->file_bytes;
    right = must_have(malloc(right_len));
    memcpy(right, g16_evkey_section(e, G16_EV_H) - g16_evkey_get_info(e)->offset[G16_EV_H],
           right_len);
    g16_evkey_close(e);
    unlink(params);
    unlink(path);
    rmdir(dir);
}

static void renew_digests(uint8_t *p, size_t len)
{
    if (len < G16_EVKEY_HEAD_BYTES + G16_EVKEY_DIGEST_BYTES)
        return;
    blake2_tree t;
    blake2b_512(p + 192, p, 192);
    must(blake2_tree_init(&t, G16_EVKEY_CHUNK_BYTES));
    blake2_tree_update(&t, p, len - G16_EVKEY_DIGEST_BYTES);
    must(blake2_tree_final(&t, p + len - G16_EVKEY_DIGEST_BYTES));
    blake2_tree_fini(&t);
}

static void decode_all(const g16_evkey *e)
{
    for (int s = 0; s < G16_EV_N_SECTIONS; s++) {
        size_t n = (size_t)g16_evkey_get_info(e)->n[s];
        g1_aff *out = must_have(malloc(n * sizeof *out + 1));
        bool trusted =
            g16_evkey_points(e, (g16_ev_section)s, 0, n, false, out, &rc).code == CUZK_OK;
        bool full = g16_evkey_points(e, (g16_ev_section)s, 0, n, true, out, &rc).code == CUZK_OK;
        if (full && !trusted)
            abort();
        free(out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (!shape)
        start();
    uint8_t *p = must_have(malloc(len + 1));
    memcpy(p, data, len);
    renew_digests(p, len);
    g16_evkey *e;
    if (g16_evkey_from_memory(&e, p, len).code == CUZK_OK) {
        decode_all(e);
        bool fits = g16_evkey_match(e, key, shape).code == CUZK_OK;
        bool good = g16_evkey_check(e, key, shape, &rc).code == CUZK_OK;
        if (good && (!fits || len != right_len || memcmp(p, right, len) != 0))
            abort();
        g16_evkey_close(e);
    }
    free(p);
    return 0;
}
