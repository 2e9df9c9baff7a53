/* Evaluation-form keys: the file's head, mapping, matching, points. */
#include "groth16/evkey.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "groth16/evkey_int.h"
#include "hash/blake2_tree.h"
#include "r1cs/layout.h"
#include <stdio.h>
#include <string.h>

struct g16_evkey {
    g16_map map; /* empty over memory */
    const uint8_t *p;
    g16_evkey_info info;
};

static const char magic[8] = {'c', 'u', 'z', 'k', '-', 'e', 'v', 'k'};

enum {
    AT_VERSION = 8,
    AT_LG_M = 12,
    AT_N_ROWS = 16,
    AT_NNZ_C = 24,
    AT_N_INPUTS = 32,
    AT_N_AUX = 36,
    AT_KEY = 40,
    AT_VK = 56,
    AT_CIRCUIT = 88,
    AT_NAME = 120,
    AT_ZERO = 184,
    AT_HEAD_DIGEST = 192
};

const char *g16_ev_section_name(g16_ev_section s)
{
    static const char *const names[G16_EV_N_SECTIONS] = {"h", "l of inputs", "l of aux"};
    return names[s];
}

void g16_evkey_layout(g16_evkey_info *info)
{
    const uint64_t n[G16_EV_N_SECTIONS] = {(uint64_t)1 << info->lg_m, info->n_inputs, info->n_aux};
    uint64_t at = G16_EVKEY_HEAD_BYTES;
    for (int s = 0; s < G16_EV_N_SECTIONS; s++) {
        info->n[s] = n[s];
        info->offset[s] = at;
        at += n[s] * G1_UNCOMPRESSED_BYTES;
    }
    info->file_bytes = at + G16_EVKEY_DIGEST_BYTES;
}

void g16_evkey_of_shape(g16_evkey_info *info, const r1cs_shape *s)
{
    const r1cs_counts *c = r1cs_shape_counts(s);
    *info = (g16_evkey_info){.lg_m = c->lg_m,
                             .n_inputs = (uint32_t)c->n_inputs,
                             .n_aux = (uint32_t)c->n_aux,
                             .n_rows = c->n_rows,
                             .nnz_c = c->nnz_c};
    snprintf(info->circuit, sizeof info->circuit, "%s", r1cs_shape_name(s));
    g16_evkey_layout(info);
}

uint64_t g16_evkey_bytes(const r1cs_shape *s)
{
    g16_evkey_info info;
    g16_evkey_of_shape(&info, s);
    return info.file_bytes;
}

uint64_t *g16_evkey_boolean_rows(const r1cs_shape *s)
{
    uint64_t m = (uint64_t)1 << r1cs_shape_counts(s)->lg_m;
    uint64_t *bits = mem_zalloc((size_t)((m + 63) / 64) * sizeof *bits, 64);
    if (bits)
        r1cs_shape_boolean_rows(bits, s);
    return bits;
}

void g16_evkey_vk_digest(uint8_t out[32], const g16_key *k)
{
    const uint64_t at = g16_key_get_info(k)->offset[G16_H];
    uint8_t d[64];
    /* the section's four bytes of length are not part of the verifying key */
    blake2b_512(d, g16_key_section(k, G16_H) - at, (size_t)at - 4);
    memcpy(out, d, 32);
}

void g16_evkey_encode_head(uint8_t b[G16_EVKEY_HEAD_BYTES], const g16_evkey_info *info)
{
    memset(b, 0, G16_EVKEY_HEAD_BYTES);
    memcpy(b, magic, sizeof magic);
    store_be32(b + AT_VERSION, G16_EVKEY_VERSION);
    store_be32(b + AT_LG_M, info->lg_m);
    store_be64(b + AT_N_ROWS, info->n_rows);
    store_be64(b + AT_NNZ_C, info->nnz_c);
    store_be32(b + AT_N_INPUTS, info->n_inputs);
    store_be32(b + AT_N_AUX, info->n_aux);
    memcpy(b + AT_KEY, info->key_digest, sizeof info->key_digest);
    memcpy(b + AT_VK, info->vk_digest, sizeof info->vk_digest);
    memcpy(b + AT_CIRCUIT, info->circuit_digest, sizeof info->circuit_digest);
    memcpy(b + AT_NAME, info->circuit, sizeof info->circuit);
    blake2b_512(b + AT_HEAD_DIGEST, b, AT_HEAD_DIGEST);
}

static cuzk_status check_head(const uint8_t *b, size_t len)
{
    static const uint8_t zero[8];
    uint8_t d[64];
    if (len < G16_EVKEY_HEAD_BYTES + G16_EVKEY_DIGEST_BYTES)
        return cuzk_bad_input("length", "320 bytes or more", "%zu", len);
    if (memcmp(b, magic, sizeof magic) != 0)
        return cuzk_bad_input("magic", "\"cuzk-evk\"", "0x%08x%08x", load_be32(b),
                              load_be32(b + 4));
    if (load_be32(b + AT_VERSION) != G16_EVKEY_VERSION)
        return cuzk_bad_input("version", "2 (make the file again)", "%u",
                              load_be32(b + AT_VERSION));
    blake2b_512(d, b, AT_HEAD_DIGEST);
    if (memcmp(d, b + AT_HEAD_DIGEST, sizeof d) != 0)
        return cuzk_bad_input("head", "bytes that fit its digest", "others");
    if (memcmp(b + AT_ZERO, zero, sizeof zero) != 0)
        return cuzk_bad_input("byte 184", "eight zero bytes", "others");
    return cuzk_ok();
}

static cuzk_status check_name(const char *name, size_t size)
{
    size_t n = strnlen(name, size);
    if (n == size)
        return cuzk_bad_input("circuit name", "63 bytes and a zero", "64 bytes");
    for (; n < size; n++)
        if (name[n])
            return cuzk_bad_input("circuit name", "zeros up to 64 bytes", "another byte");
    return cuzk_ok();
}

static cuzk_status decode_head(g16_evkey_info *info, const uint8_t *b, size_t len)
{
    CUZK_TRY(check_head(b, len));
    info->lg_m = load_be32(b + AT_LG_M);
    info->n_rows = load_be64(b + AT_N_ROWS);
    info->nnz_c = load_be64(b + AT_NNZ_C);
    info->n_inputs = load_be32(b + AT_N_INPUTS);
    info->n_aux = load_be32(b + AT_N_AUX);
    memcpy(info->key_digest, b + AT_KEY, sizeof info->key_digest);
    memcpy(info->vk_digest, b + AT_VK, sizeof info->vk_digest);
    memcpy(info->circuit_digest, b + AT_CIRCUIT, sizeof info->circuit_digest);
    memcpy(info->circuit, b + AT_NAME, sizeof info->circuit);
    CUZK_TRY(check_name(info->circuit, sizeof info->circuit));
    if (info->lg_m > G16_EVKEY_LG_M_MAX)
        return cuzk_bad_input("lg_m", "32 or less", "%u", info->lg_m);
    g16_evkey_layout(info); /* less than 2^34 points: no overflow */
    if (info->file_bytes != len)
        return cuzk_fail(CUZK_E_INPUT, "length: expected %llu bytes, found %zu",
                         (unsigned long long)info->file_bytes, len);
    return cuzk_ok();
}

cuzk_status g16_evkey_from_memory(g16_evkey **out, const void *b, size_t len)
{
    *out = NULL;
    g16_evkey *e = mem_zalloc(sizeof *e, 64);
    if (!e)
        return cuzk_fail(CUZK_E_NOMEM, "evaluation-form key");
    e->p = b;
    cuzk_status st = cuzk_wrap(decode_head(&e->info, b, len), "evaluation-form key");
    if (st.code != CUZK_OK) {
        g16_evkey_close(e);
        return st;
    }
    *out = e;
    return cuzk_ok();
}

cuzk_status g16_evkey_open(g16_evkey **out, const char *path)
{
    *out = NULL;
    g16_map map;
    CUZK_TRY(g16_map_open(&map, path));
    cuzk_status st = g16_evkey_from_memory(out, map.p, map.len);
    if (st.code != CUZK_OK) {
        g16_map_close(&map);
        return cuzk_wrap(st, "%s", path);
    }
    (*out)->map = map;
    return cuzk_ok();
}

void g16_evkey_close(g16_evkey *e)
{
    if (!e)
        return;
    g16_map_close(&e->map);
    mem_free(e);
}

void g16_evkey_path(char *out, size_t len, const char *params_path)
{
    size_t n = strlen(params_path);
    int stem = n > 7 && strcmp(params_path + n - 7, ".params") == 0 ? (int)(n - 7) : (int)n;
    snprintf(out, len, "%.*s.evkey", stem, params_path);
}

cuzk_status g16_evkey_open_beside(g16_evkey **out, const g16_key *k, const r1cs_shape *s)
{
    char path[4096];
    *out = NULL;
    if (!g16_key_path(k))
        return cuzk_ok();
    g16_evkey_path(path, sizeof path, g16_key_path(k));
    cuzk_status st = g16_evkey_open(out, path);
    if (st.code == CUZK_E_NOT_FOUND)
        return cuzk_ok();
    CUZK_TRY(st);
    st = g16_evkey_match(*out, k, s);
    if (st.code != CUZK_OK) {
        g16_evkey_close(*out);
        *out = NULL;
    }
    return cuzk_wrap(st, "%s (remove it or make it again)", path);
}

/* A chunk for each thread at a time, so that progress is told and others have the pool in between. */
static cuzk_status hash_bytes(blake2_tree *t, const uint8_t *p, size_t len, const run_ctx *rc)
{
    size_t step = pool_threads(rc->pool) * G16_EVKEY_CHUNK_BYTES;
    for (size_t at = 0; at < len; at += step) {
        if (run_cancelled(rc))
            return cuzk_fail(CUZK_E_CANCELLED, "cancelled while hashing the evaluation-form key");
        blake2_tree_update_on_pool(t, p + at, len - at < step ? len - at : step, rc);
        run_progress(rc, "evkey_digest", (double)at / (double)len);
    }
    return cuzk_ok();
}

cuzk_status g16_evkey_check_bytes(const g16_evkey *e, const run_ctx *rc)
{
    size_t len = (size_t)e->info.file_bytes - G16_EVKEY_DIGEST_BYTES;
    uint8_t d[G16_EVKEY_DIGEST_BYTES];
    blake2_tree t;
    CUZK_TRY(blake2_tree_init(&t, G16_EVKEY_CHUNK_BYTES));
    cuzk_status st = hash_bytes(&t, e->p, len, rc);
    if (st.code == CUZK_OK)
        st = blake2_tree_final(&t, d);
    blake2_tree_fini(&t);
    if (st.code == CUZK_OK && memcmp(d, e->p + len, sizeof d) != 0)
        st = cuzk_bad_input("digest", "that of the file's bytes", "another: the file is damaged");
    return st;
}

const g16_evkey_info *g16_evkey_get_info(const g16_evkey *e) { return &e->info; }

const uint8_t *g16_evkey_section(const g16_evkey *e, g16_ev_section s)
{
    return e->p + e->info.offset[s];
}

cuzk_status g16_evkey_match(const g16_evkey *e, const g16_key *k, const r1cs_shape *s)
{
    g16_evkey_info want;
    g16_evkey_of_shape(&want, s);
    const struct {
        const char *name;
        uint64_t want, found;
    } counts[] = {{"lg_m", want.lg_m, e->info.lg_m},
                  {"inputs", want.n_inputs, e->info.n_inputs},
                  {"aux variables", want.n_aux, e->info.n_aux},
                  {"rows", want.n_rows, e->info.n_rows},
                  {"terms of C", want.nnz_c, e->info.nnz_c}};
    if (strcmp(want.circuit, e->info.circuit) != 0)
        return cuzk_bad_input("circuit", want.circuit, "%s", e->info.circuit);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        if (counts[i].want != counts[i].found)
            return cuzk_fail(CUZK_E_INPUT, "%s: circuit %s has %llu, found %llu", counts[i].name,
                             want.circuit, (unsigned long long)counts[i].want,
                             (unsigned long long)counts[i].found);
    g16_evkey_vk_digest(want.vk_digest, k);
    if (memcmp(want.vk_digest, e->info.vk_digest, sizeof want.vk_digest) != 0)
        return cuzk_bad_input("verifying key", "that of the .params file", "another key's");
    return cuzk_ok();
}

cuzk_status g16_evkey_points(const g16_evkey *e, g16_ev_section s, uint64_t first, uint64_t n,
                             bool full, g1_aff *out, const run_ctx *rc)
{
    char what[64];
    if (first > e->info.n[s] || n > e->info.n[s] - first)
        return cuzk_fail(CUZK_E_RANGE,
                         "evaluation-form key section %s has %llu points, asked for %llu from %llu",
                         g16_ev_section_name(s), (unsigned long long)e->info.n[s],
                         (unsigned long long)n, (unsigned long long)first);
    snprintf(what, sizeof what, "evaluation-form key section %s", g16_ev_section_name(s));
    return g16_decode_points(
        &(g16_points){.what = what,
                      .bytes = g16_evkey_section(e, s) + first * G1_UNCOMPRESSED_BYTES,
                      .first = first,
                      .n = n,
                      .g1 = out,
                      .full = full,
                      .allow_inf = s == G16_EV_L_INPUTS},
        rc);
}
