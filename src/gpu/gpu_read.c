/* A key's sections as one stretch of bytes, which readers go around. */
#define _GNU_SOURCE /* madvise */
#include "gpu/gpu_read.h"
#include "base/span_names.h"
#include "groth16/backend_parts.h"
#include <stdint.h>
#include <sys/mman.h>

static size_t point_bytes(int s) { return s == G16_B_G2 ? sizeof(g2_aff) : sizeof(g1_aff); }

static uint64_t section_bytes(const g16_key_info *k, int s)
{
    return (uint64_t)k->n[s] * point_bytes(s);
}

static uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The section in which a place lies; *at counts from its start then. */
static int section_at(const g16_key_info *info, uint64_t *at)
{
    int s = 0;
    while (s + 1 < G16_N_SECTIONS && *at >= section_bytes(info, s)) {
        *at -= section_bytes(info, s);
        s++;
    }
    return s;
}

/* FNV-1a over name and size: a mistaken identity costs some waiting (gpu_read_group.h). */
static uint64_t file_number(const g16_key *k)
{
    uint64_t h = 0xcbf29ce484222325u ^ g16_key_get_info(k)->file_bytes;
    for (const char *c = g16_key_path(k); *c; c++)
        h = (h ^ (uint8_t)*c) * 0x100000001b3u;
    return h;
}

/* The next piece: of one section, and not past where the reader began. */
static gpu_read_piece piece_of(const gpu_read_in *in, const gpu_reader *r)
{
    const g16_key_info *info = g16_key_get_info(in->key);
    uint64_t at = r->at;
    int s = section_at(info, &at);
    size_t size = point_bytes(s);
    gpu_read_piece p = {.section = (g16_section)s, .first = at / size, .n = in->piece_bytes / size};
    p.n = min_u64(p.n, min_u64(info->n[s] - p.first, r->left / size));
    p.n_bytes = (size_t)p.n * size;
    p.bytes = g16_key_section(in->key, p.section) + p.first * size;
    return p;
}

/* Where another reader was said to be need not be the start of a point of this file. */
static bool is_a_start(const g16_key_info *info, uint64_t at)
{
    int s = section_at(info, &at);
    return at < section_bytes(info, s) && at % point_bytes(s) == 0;
}

/* How the key's pages are used: those of a sequential reader are given up in their order, not kept
 * because they were just looked at. Measured with 0.5 GB for a file of 1.9 GB and two readers. */
static void advise(const g16_key *k, int advice)
{
    const g16_key_info *info = g16_key_get_info(k);
    if (g16_key_path(k))
        (void)madvise((void *)(uintptr_t)(g16_key_section(k, G16_H) - info->offset[G16_H]),
                      info->file_bytes, advice); /* only a hint */
}

static cuzk_status read_around(const gpu_read_in *in, gpu_reader *r,
                               cuzk_status (*take)(void *ctx, const gpu_read_piece *p), void *ctx)
{
    while (r->left > 0) {
        gpu_read_piece p = piece_of(in, r);
        CUZK_TRY(gpu_reader_pace(r, p.n_bytes, in->rc));
        CUZK_TRY(take(ctx, &p));
        gpu_reader_step(r, p.n_bytes);
        run_progress(in->rc, SPAN_LOAD, (double)(r->total - r->left) / (double)r->total);
        if (run_cancelled(in->rc))
            return cuzk_fail(CUZK_E_CANCELLED, "cancelled while loading key section %s",
                             g16_section_name(p.section));
    }
    return cuzk_ok();
}

cuzk_status gpu_read_points(const gpu_read_in *in,
                            cuzk_status (*take)(void *ctx, const gpu_read_piece *p), void *ctx)
{
    const g16_key_info *info = g16_key_get_info(in->key);
    const char *path = g16_key_path(in->key);
    gpu_reader r;
    uint64_t total = 0;
    for (int s = 0; s < G16_N_SECTIONS; s++)
        total += section_bytes(info, s);
    CUZK_VERIFY(in->piece_bytes >= sizeof(g2_aff));
    gpu_reader_join(&r, path ? in->group : NULL, path ? file_number(in->key) : 0, total);
    if (total > 0 && !is_a_start(info, r.at)) {
        gpu_reader_leave(&r);
        gpu_reader_join(&r, NULL, 0, total);
    }
    advise(in->key, MADV_SEQUENTIAL);
    cuzk_status st = read_around(in, &r, take, ctx);
    advise(in->key, MADV_NORMAL);
    gpu_reader_leave(&r);
    return st;
}
