/* .params files: mapping, lengths, decoding of points, digest (circuits.md A.7). */
#include "groth16/key.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "base/span_names.h"
#include "groth16/groth16_int.h"
#include "hash/blake2.h"
#include <stdio.h>
#include <sys/mman.h>

struct g16_key {
    g16_map map; /* empty over memory */
    char *path;  /* NULL over memory */
    const uint8_t *p;
    size_t len;
    g16_vk vk;
    g16_key_info info;
};

const char *g16_section_name(g16_section s)
{
    static const char *const names[G16_N_SECTIONS] = {"h", "l", "a", "b_g1", "b_g2"};
    return names[s];
}

static size_t point_bytes(g16_section s)
{
    return s == G16_B_G2 ? G2_UNCOMPRESSED_BYTES : G1_UNCOMPRESSED_BYTES;
}

static cuzk_status parse_sections(g16_key *k, size_t pos)
{
    for (int s = 0; s < G16_N_SECTIONS; s++) {
        const char *name = g16_section_name((g16_section)s);
        if (k->len - pos < 4)
            return cuzk_fail(CUZK_E_INPUT,
                             "key section %s: length at byte %zu: expected 4 bytes, found %zu",
                             name, pos, k->len - pos);
        uint32_t n = load_be32(k->p + pos);
        pos += 4;
        size_t room = (k->len - pos) / point_bytes((g16_section)s);
        if (n > room)
            return cuzk_fail(CUZK_E_INPUT,
                             "key section %s at byte %zu: expected %u points, found room for %zu",
                             name, pos, n, room);
        k->info.n[s] = n;
        k->info.offset[s] = pos;
        pos += (size_t)n * point_bytes((g16_section)s);
    }
    if (pos != k->len)
        return cuzk_fail(CUZK_E_INPUT, "key: expected the end at byte %zu, found %zu more bytes",
                         pos, k->len - pos);
    return cuzk_ok();
}

static cuzk_status key_build(g16_key *k)
{
    size_t used;
    CUZK_TRY(cuzk_wrap(g16_vk_decode(&k->vk, k->p, k->len, &used), "key"));
    k->info.file_bytes = k->len;
    k->info.n_ic = k->vk.n_ic;
    return parse_sections(k, used);
}

cuzk_status g16_key_from_memory(g16_key **out, const void *b, size_t len)
{
    *out = NULL;
    g16_key *k = mem_zalloc(sizeof *k, 64);
    if (!k)
        return cuzk_fail(CUZK_E_NOMEM, "key");
    k->p = b;
    k->len = len;
    cuzk_status st = key_build(k);
    if (st.code != CUZK_OK) {
        g16_key_close(k);
        return st;
    }
    *out = k;
    return cuzk_ok();
}

cuzk_status g16_key_open(g16_key **out, const char *path)
{
    *out = NULL;
    g16_map map;
    CUZK_TRY(g16_map_open(&map, path));
    cuzk_status st = g16_key_from_memory(out, map.p, map.len);
    if (st.code != CUZK_OK) {
        g16_map_close(&map);
        return cuzk_wrap(st, "%s", path);
    }
    (*out)->map = map;
    (*out)->path = mem_strdup(path);
    if (!(*out)->path) {
        g16_key_close(*out);
        *out = NULL;
        return cuzk_fail(CUZK_E_NOMEM, "key");
    }
    return cuzk_ok();
}

void g16_key_close(g16_key *k)
{
    if (!k)
        return;
    g16_vk_fini(&k->vk);
    g16_map_close(&k->map);
    mem_free(k->path);
    mem_free(k);
}

const char *g16_key_path(const g16_key *k) { return k->path; }

const g16_vk *g16_key_vk(const g16_key *k) { return &k->vk; }

const g16_key_info *g16_key_get_info(const g16_key *k) { return &k->info; }

const uint8_t *g16_key_section(const g16_key *k, g16_section s) { return k->p + k->info.offset[s]; }

cuzk_status g16_key_match(const g16_key *k, const r1cs_shape *s)
{
    const r1cs_counts *c = r1cs_shape_counts(s);
    const struct {
        const char *name;
        uint64_t want, found;
    } lists[] = {
        {"ic", c->n_inputs, k->info.n_ic},
        {"h", ((uint64_t)1 << c->lg_m) - 1, k->info.n[G16_H]},
        {"l", c->n_aux, k->info.n[G16_L]},
        {"a", c->n_inputs + c->a_aux, k->info.n[G16_A]},
        {"b_g1", c->b_inputs + c->b_aux, k->info.n[G16_B_G1]},
        {"b_g2", c->b_inputs + c->b_aux, k->info.n[G16_B_G2]},
    };
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (lists[i].want != lists[i].found)
            return cuzk_fail(CUZK_E_INPUT,
                             "key section %s: circuit %s expects %llu points, found %llu",
                             lists[i].name, r1cs_shape_name(s), (unsigned long long)lists[i].want,
                             (unsigned long long)lists[i].found);
    return cuzk_ok();
}

static cuzk_status decode_range(const g16_key *k, g16_section s, uint64_t first, uint64_t n,
                                g16_points job, const run_ctx *rc)
{
    char what[32];
    if (first > k->info.n[s] || n > k->info.n[s] - first)
        return cuzk_fail(CUZK_E_RANGE, "key section %s has %u points, asked for %llu from %llu",
                         g16_section_name(s), k->info.n[s], (unsigned long long)n,
                         (unsigned long long)first);
    snprintf(what, sizeof what, "key section %s", g16_section_name(s));
    job.what = what;
    job.bytes = g16_key_section(k, s) + first * point_bytes(s);
    job.first = first;
    job.n = n;
    return g16_decode_points(&job, rc);
}

cuzk_status g16_key_g1(const g16_key *k, g16_section s, uint64_t first, uint64_t n, bool full,
                       g1_aff *out, const run_ctx *rc)
{
    CUZK_ASSERT(s != G16_B_G2);
    return decode_range(k, s, first, n, (g16_points){.g1 = out, .full = full}, rc);
}

cuzk_status g16_key_g2(const g16_key *k, g16_section s, uint64_t first, uint64_t n, bool full,
                       g2_aff *out, const run_ctx *rc)
{
    CUZK_ASSERT(s == G16_B_G2);
    return decode_range(k, s, first, n, (g16_points){.g2 = out, .is_g2 = true, .full = full}, rc);
}

/* Hand read pages of a mapped file back: they stay in the page cache but not in our resident
 * set. */
static void drop_pages(const g16_key *k, uint64_t offset, uint64_t n)
{
    if (!k->map.p)
        return;
    uint64_t lo = offset & ~(uint64_t)4095, hi = (offset + n) & ~(uint64_t)4095;
    if (hi > lo)
        /* advice: failure changes nothing */
        (void)madvise((void *)(uintptr_t)(k->p + lo), hi - lo, MADV_DONTNEED);
}

cuzk_status g16_key_check_points(const g16_key *k, const run_ctx *rc)
{
    span_id span = span_begin(rc->spans, rc->parent, SPAN_KEY_CHECK);
    span_note(rc->spans, span, -1, k->len);
    cuzk_status st = cuzk_ok();
    const uint64_t slice = (uint64_t)1 << 16;
    for (int s = 0; s < G16_N_SECTIONS && st.code == CUZK_OK; s++) {
        g16_section sec = (g16_section)s;
        for (uint64_t at = 0; at < k->info.n[s] && st.code == CUZK_OK; at += slice) {
            uint64_t n = k->info.n[s] - at < slice ? k->info.n[s] - at : slice;
            st = decode_range(k, sec, at, n, (g16_points){.is_g2 = sec == G16_B_G2, .full = true},
                              rc);
            uint64_t offset = k->info.offset[s] + at * point_bytes(sec);
            drop_pages(k, offset, n * point_bytes(sec));
            run_progress(rc, "key_check", (double)(offset + n * point_bytes(sec)) / (double)k->len);
        }
    }
    span_end(rc->spans, span);
    return st;
}

static cuzk_status digest_build(const g16_key *k, blake2 *h, char hex[33], const run_ctx *rc)
{
    const size_t slice = (size_t)8 << 20;
    for (size_t at = 0; at < k->len; at += slice) {
        if (run_cancelled(rc))
            return cuzk_fail(CUZK_E_CANCELLED, "cancelled while hashing the key");
        size_t n = k->len - at < slice ? k->len - at : slice;
        blake2_update(h, k->p + at, n);
        drop_pages(k, at, n);
        run_progress(rc, "key_digest", (double)(at + n) / (double)k->len);
    }
    uint8_t out[64];
    CUZK_TRY(blake2_final(h, out));
    hex_encode(hex, out, 16);
    return cuzk_ok();
}

cuzk_status g16_key_digest(const g16_key *k, char hex[33], const run_ctx *rc)
{
    hex[0] = 0;
    blake2 *h;
    CUZK_TRY(blake2_create(&h, BLAKE2B_512, NULL, 0));
    span_id span = span_begin(rc->spans, rc->parent, SPAN_DIGEST);
    span_note(rc->spans, span, -1, k->len);
    if (k->map.p)
        /* doubles the read-ahead window */
        (void)madvise((void *)(uintptr_t)k->p, k->len, MADV_SEQUENTIAL);
    cuzk_status st = digest_build(k, h, hex, rc);
    if (k->map.p)
        (void)madvise((void *)(uintptr_t)k->p, k->len, MADV_NORMAL);
    span_end(rc->spans, span);
    blake2_destroy(h);
    return st;
}
