#include "base/mem.h"
#include "fil/bincode.h"
#include "fil/post.h"
#include <string.h>

static cuzk_status alloc(void **out, arena *a, size_t n, size_t size)
{
    size_t bytes;
    *out = mem_mul(&bytes, n, size) ? arena_alloc(a, bytes, 64) : NULL;
    return *out ? cuzk_ok()
                : cuzk_fail(CUZK_E_NOMEM, "decoding a PoSt: %zu elements of %zu bytes", n, size);
}

/* {inclusion_proofs, comm_c, comm_r_last}: the one sector of a file. */
static cuzk_status get_sector(fil_post_sector *s, arena *a, bincode *r, fil_tree t,
                              uint32_t n_inclusion)
{
    void *paths, *siblings;
    size_t n_sib = fil_tree_siblings(t);
    CUZK_TRY(bincode_count(r, "inclusion_proofs", n_inclusion, bincode_path_bytes(t)));
    CUZK_TRY(alloc(&paths, a, n_inclusion, sizeof *s->inclusion));
    CUZK_TRY(alloc(&siblings, a, n_inclusion * n_sib, sizeof(fr)));
    s->inclusion = paths;
    s->n_inclusion = n_inclusion;
    for (uint32_t i = 0; i < n_inclusion; i++) {
        bincode_enter(r, "inclusion_proofs", i);
        CUZK_TRY(bincode_path(&s->inclusion[i], (fr *)siblings + i * n_sib, r, t));
        bincode_leave(r);
    }
    CUZK_TRY(bincode_fr(&s->comm_c, r, "comm_c"));
    return bincode_fr(&s->comm_r_last, r, "comm_r_last");
}

/* A file holds a list of sectors because the reference uses the type for whole partitions too.
 * Clients send one; the reference also takes the same one several times, and mixes sectors up when
 * they differ. */
static cuzk_status get_file(fil_post_sector *s, arena *a, bincode *r, fil_tree t,
                            uint32_t n_inclusion)
{
    uint64_t n;
    CUZK_TRY(bincode_u64(&s->sector_id, r, "sector_id", UINT64_MAX));
    CUZK_TRY(bincode_fr(&s->comm_r, r, "comm_r"));
    CUZK_TRY(bincode_u64(&n, r, "sectors", UINT64_MAX));
    if (n == 0)
        return bincode_bad(r, "sectors", "1 element", "0");
    size_t start = r->pos;
    bincode_enter(r, "sectors", 0);
    CUZK_TRY(get_sector(s, a, r, t, n_inclusion));
    bincode_leave(r);
    size_t bytes = r->pos - start;
    if ((r->len - r->pos) / bytes < n - 1)
        return bincode_bad(r, "sectors", "1 element", "%llu, and %zu more bytes",
                           (unsigned long long)n, r->len - r->pos);
    for (uint64_t i = 1; i < n; i++, r->pos += bytes)
        if (memcmp(r->p + r->pos, r->p + start, bytes) != 0) {
            bincode_enter(r, "sectors", (size_t)i);
            return bincode_bad(r, NULL, "the same as sectors[0]", "another sector");
        }
    return cuzk_ok();
}

static cuzk_status get_files(fil_post *p, arena *a, const uint8_t *const *files, const size_t *lens)
{
    const fil_sector *s = p->sector;
    fil_tree t = {s->base, s->base_levels, s->sub, s->top};
    uint32_t n_inclusion = fil_post_n_inclusion(p);
    void *mem;
    CUZK_TRY(alloc(&mem, a, p->n_sectors, sizeof *p->sectors));
    p->sectors = mem;
    for (uint32_t i = 0; i < p->n_sectors; i++) {
        bincode r = bincode_make(files[i], lens[i], "vanilla_proofs", i);
        CUZK_TRY(get_file(&p->sectors[i], a, &r, t, n_inclusion));
    }
    return cuzk_ok();
}

cuzk_status fil_post_decode(fil_post *out, arena *a, const fil_post_proof *proof,
                            const uint8_t *const *files, const size_t *lens, uint32_t n_files)
{
    *out = (fil_post){0};
    const fil_sector *sector = fil_sector_by_bytes(proof->sector_bytes);
    if (!sector)
        return cuzk_bad_input("sector_size", "the size of a sector", "%llu",
                              (unsigned long long)proof->sector_bytes);
    if (n_files == 0)
        return cuzk_bad_input("vanilla_proofs", "at least one", "none");
    if (proof->kind == FIL_POST_WINNING && n_files != 1)
        return cuzk_bad_input("vanilla_proofs", "one for a WinningPoSt", "%u", n_files);
    fil_post p = {.proof = *proof, .sector = sector, .n_sectors = n_files};
    fil_post_layout(proof, &p.sectors_per_partition, &p.challenges);
    p.n_partitions =
        (uint32_t)(((uint64_t)n_files + p.sectors_per_partition - 1) / p.sectors_per_partition);
    CUZK_TRY(get_files(&p, a, files, lens));
    *out = p;
    return cuzk_ok();
}
