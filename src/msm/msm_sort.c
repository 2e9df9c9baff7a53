/* Signed digits and the sort of point references by bucket: one pass scatters to at most 512
 * partitions of keys, chunk by chunk; the second sorts each partition by counting. Both run in
 * parallel over fixed pieces, so the order does not depend on threads. */
#include "base/mem.h"
#include "msm/msm_int.h"

#define CHUNK_MIN 2048u
#define CHUNKS_MAX 256u

msm_recode msm_recode_init(unsigned c)
{
    msm_recode r = {.c = c, .n_win = (255 + c) / c};
    for (unsigned w = 0; w + 1 < r.n_win; w++) {
        unsigned bit = w * c + c - 1;
        r.offset[bit >> 6] |= (uint64_t)1 << (bit & 63);
    }
    return r;
}

cuzk_status msm_sort_init(msm_sort *s)
{
    size_t n_keys = (size_t)s->group << (s->rec.c - 1);
    for (s->shift = 0; (n_keys >> s->shift) > MSM_PARTS_MAX - 1; s->shift++)
        ;
    CUZK_VERIFY(1u << s->shift <= MSM_PART_KEYS_MAX);
    s->max_keys = n_keys;
    s->chunk = (s->m + CHUNKS_MAX - 1) / CHUNKS_MAX;
    if (s->chunk < CHUNK_MIN)
        s->chunk = CHUNK_MIN;
    s->n_chunks = (s->m + s->chunk - 1) / s->chunk;
    size_t n_entries = s->group * s->m;
    s->hist = mem_alloc(s->n_chunks * MSM_PARTS_MAX * sizeof *s->hist, 64);
    s->part_off = mem_alloc((MSM_PARTS_MAX + 1) * sizeof *s->part_off, 64);
    s->entries = mem_alloc(n_entries * sizeof *s->entries, 64);
    s->sorted = mem_alloc(n_entries * sizeof *s->sorted, 64);
    s->off = mem_alloc((n_keys + 1) * sizeof *s->off, 64);
    if (!s->hist || !s->part_off || !s->entries || !s->sorted || !s->off)
        return cuzk_fail(CUZK_E_NOMEM, "msm: sort of %zu entries", n_entries);
    return cuzk_ok();
}

void msm_sort_fini(msm_sort *s)
{
    mem_free(s->hist);
    mem_free(s->part_off);
    mem_free(s->entries);
    mem_free(s->sorted);
    mem_free(s->off);
    *s = (msm_sort){0};
}

#define NO_KEY UINT32_MAX

static inline uint32_t digit_key(const msm_sort *s, const uint64_t t[4], unsigned i, uint32_t *neg)
{
    int32_t d = msm_recode_digit(t, &s->rec, s->w0 + i);
    if (d == 0)
        return NO_KEY;
    *neg = d < 0 ? MSM_REF_NEG : 0;
    uint32_t mag = (uint32_t)(d < 0 ? -d : d);
    return (i << (s->rec.c - 1)) + mag - 1;
}

static size_t chunk_end(const msm_sort *s, size_t chunk_idx)
{
    size_t end = (chunk_idx + 1) * s->chunk;
    return end < s->m ? end : s->m;
}

static void count_chunk(void *ctx, size_t chunk_idx, unsigned thread_idx)
{
    (void)thread_idx;
    const msm_sort *s = ctx;
    uint32_t *hist = s->hist + chunk_idx * s->n_parts, neg;
    for (size_t p = 0; p < s->n_parts; p++)
        hist[p] = 0;
    for (size_t k = chunk_idx * s->chunk, end = chunk_end(s, chunk_idx); k < end; k++) {
        uint64_t t[4];
        msm_recode_apply(t, &s->rec, &s->scalars[s->list ? s->list[k] : k]);
        for (unsigned i = 0; i < s->n_win; i++) {
            uint32_t key = digit_key(s, t, i, &neg);
            if (key != NO_KEY)
                hist[key >> s->shift]++;
        }
    }
}

static void scatter_chunk(void *ctx, size_t chunk_idx, unsigned thread_idx)
{
    (void)thread_idx;
    const msm_sort *s = ctx;
    uint32_t *pos = s->hist + chunk_idx * s->n_parts, neg;
    for (size_t k = chunk_idx * s->chunk, end = chunk_end(s, chunk_idx); k < end; k++) {
        uint32_t idx = s->list ? s->list[k] : (uint32_t)k;
        uint64_t t[4];
        msm_recode_apply(t, &s->rec, &s->scalars[idx]);
        for (unsigned i = 0; i < s->n_win; i++) {
            uint32_t key = digit_key(s, t, i, &neg);
            if (key != NO_KEY)
                s->entries[pos[key >> s->shift]++] = (msm_entry){.key = key, .ref = idx | neg};
        }
    }
}

/* Counts become the places where each chunk writes into each partition. */
static void place_chunks(msm_sort *s)
{
    uint32_t sum = 0;
    for (size_t p = 0; p < s->n_parts; p++) {
        s->part_off[p] = sum;
        for (size_t c = 0; c < s->n_chunks; c++) {
            uint32_t *h = &s->hist[c * s->n_parts + p], n = *h;
            *h = sum;
            sum += n;
        }
    }
    s->part_off[s->n_parts] = sum;
    s->off[s->n_keys] = sum;
}

static void sort_part(void *ctx, size_t part, unsigned thread_idx)
{
    const msm_sort *s = ctx;
    uint32_t *counts = s->scratch[thread_idx].counts;
    size_t key0 = part << s->shift, n = (size_t)1 << s->shift;
    if (n > s->n_keys - key0)
        n = s->n_keys - key0;
    const msm_entry *e = s->entries + s->part_off[part], *end = s->entries + s->part_off[part + 1];
    for (size_t i = 0; i < n; i++)
        counts[i] = 0;
    for (const msm_entry *p = e; p < end; p++)
        counts[p->key - key0]++;
    uint32_t sum = s->part_off[part];
    for (size_t i = 0; i < n; i++) {
        uint32_t c = counts[i];
        counts[i] = s->off[key0 + i] = sum;
        sum += c;
    }
    for (const msm_entry *p = e; p < end; p++)
        s->sorted[counts[p->key - key0]++] = p->ref;
}

cuzk_status msm_sort_window_group(msm_sort *s, unsigned w0, const run_ctx *rc)
{
    s->w0 = w0;
    s->n_win = s->rec.n_win - w0 < s->group ? s->rec.n_win - w0 : s->group;
    s->n_keys = (size_t)s->n_win << (s->rec.c - 1);
    s->n_parts = (s->n_keys + ((size_t)1 << s->shift) - 1) >> s->shift;
    CUZK_TRY(msm_run(rc, s->n_chunks, count_chunk, s));
    place_chunks(s);
    CUZK_TRY(msm_run(rc, s->n_chunks, scatter_chunk, s));
    return msm_run(rc, s->n_parts, sort_part, s);
}
