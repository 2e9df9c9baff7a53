/* The sections of a file as one stretch of bytes, which readers go around. */
#define _GNU_SOURCE /* madvise */
#include "gpu/gpu_read.h"
#include "base/span_names.h"
#include "groth16/backend_parts.h"
#include <stdint.h>
#include <sys/mman.h>

static size_t point_bytes(g16_section s) { return s == G16_B_G2 ? sizeof(g2_aff) : sizeof(g1_aff); }

static uint64_t part_bytes(const gpu_read_part *p) { return p->n * point_bytes(p->section); }

static uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }

uint64_t gpu_read_file_points_bytes(const gpu_read_file *f)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < f->n_parts; i++)
        sum += part_bytes(&f->parts[i]);
    return sum;
}

static void add_part(gpu_read_file *f, g16_section s, uint64_t n, const uint8_t *bytes)
{
    f->parts[f->n_parts++] = (gpu_read_part){s, n, bytes};
}

gpu_read_file gpu_read_file_of_key(const g16_key *k, bool is_evaluation)
{
    const g16_key_info *info = g16_key_get_info(k);
    gpu_read_file f = {.path = g16_key_path(k),
                       .map = g16_key_section(k, G16_H) - info->offset[G16_H],
                       .file_bytes = info->file_bytes};
    for (int s = is_evaluation ? G16_A : 0; s < G16_N_SECTIONS; s++)
        add_part(&f, (g16_section)s, info->n[s], g16_key_section(k, (g16_section)s));
    return f;
}

gpu_read_file gpu_read_file_of_evkey(const g16_evkey *e, const char *path)
{
    const g16_evkey_info *info = g16_evkey_get_info(e);
    gpu_read_file f = {.path = path,
                       .map = g16_evkey_section(e, G16_EV_H) - info->offset[G16_EV_H],
                       .file_bytes = info->file_bytes};
    add_part(&f, G16_H, info->n[G16_EV_H], g16_evkey_section(e, G16_EV_H));
    add_part(&f, G16_L, info->n[G16_EV_L_AUX], g16_evkey_section(e, G16_EV_L_AUX));
    return f;
}

/* The part in which a place lies; *at counts from its start then. */
static const gpu_read_part *part_at(const gpu_read_file *f, uint64_t *at)
{
    unsigned i = 0;
    while (i + 1 < f->n_parts && *at >= part_bytes(&f->parts[i])) {
        *at -= part_bytes(&f->parts[i]);
        i++;
    }
    return &f->parts[i];
}

/* FNV-1a over name, size and number of parts: a mistaken identity costs some waiting
 * (gpu_read_group.h). */
static uint64_t file_number(const gpu_read_file *f)
{
    uint64_t h = 0xcbf29ce484222325u ^ f->file_bytes ^ (uint64_t)f->n_parts << 56;
    for (const char *c = f->path; *c; c++)
        h = (h ^ (uint8_t)*c) * 0x100000001b3u;
    return h;
}

/* The next piece: of one section, and not past where the reader began. */
static gpu_read_piece piece_of(const gpu_read_in *in, const gpu_reader *r)
{
    uint64_t at = r->at;
    const gpu_read_part *part = part_at(in->file, &at);
    size_t size = point_bytes(part->section);
    gpu_read_piece p = {.section = part->section, .first = at / size, .n = in->piece_bytes / size};
    p.n = min_u64(p.n, min_u64(part->n - p.first, r->left / size));
    p.n_bytes = (size_t)p.n * size;
    p.bytes = part->bytes + p.first * size;
    return p;
}

/* Where another reader was said to be need not be the start of a point of this file. */
static bool is_a_start(const gpu_read_file *f, uint64_t at)
{
    const gpu_read_part *part = part_at(f, &at);
    return at < part_bytes(part) && at % point_bytes(part->section) == 0;
}

/* How the key's pages are used: those of a sequential reader are given up in their order, not kept
 * because they were just looked at. Measured with 0.5 GB for a file of 1.9 GB and two readers. */
static void advise(const gpu_read_file *f, int advice)
{
    if (f->path)
        (void)madvise((void *)(uintptr_t)f->map, f->file_bytes, advice); /* only a hint */
}

static void tell(const gpu_read_in *in, const gpu_reader *r)
{
    uint64_t all = in->all ? in->all : r->total;
    run_progress(in->rc, SPAN_LOAD, (double)(in->before + r->total - r->left) / (double)all);
}

static cuzk_status read_around(const gpu_read_in *in, gpu_reader *r,
                               cuzk_status (*take)(void *ctx, const gpu_read_piece *p), void *ctx)
{
    while (r->left > 0) {
        gpu_read_piece p = piece_of(in, r);
        CUZK_TRY(gpu_reader_pace(r, p.n_bytes, in->rc));
        CUZK_TRY(take(ctx, &p));
        gpu_reader_step(r, p.n_bytes);
        tell(in, r);
        if (run_cancelled(in->rc))
            return cuzk_fail(CUZK_E_CANCELLED, "cancelled while loading key section %s",
                             g16_section_name(p.section));
    }
    return cuzk_ok();
}

cuzk_status gpu_read_points(const gpu_read_in *in,
                            cuzk_status (*take)(void *ctx, const gpu_read_piece *p), void *ctx)
{
    const gpu_read_file *f = in->file;
    gpu_reader r;
    uint64_t total = gpu_read_file_points_bytes(f);
    CUZK_VERIFY(in->piece_bytes >= sizeof(g2_aff));
    gpu_reader_join(&r, f->path ? in->group : NULL, f->path ? file_number(f) : 0, total);
    if (total > 0 && !is_a_start(f, r.at)) {
        gpu_reader_leave(&r);
        gpu_reader_join(&r, NULL, 0, total);
    }
    advise(f, MADV_SEQUENTIAL);
    cuzk_status st = read_around(in, &r, take, ctx);
    advise(f, MADV_NORMAL);
    gpu_reader_leave(&r);
    return st;
}
