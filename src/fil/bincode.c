#include "fil/bincode.h"
#include "base/bytes.h"
#include <stdarg.h>
#include <stdio.h>

bincode bincode_make(const uint8_t *p, size_t len, const char *name, size_t idx)
{
    bincode r = {.p = p, .len = len};
    bincode_enter(&r, name, idx);
    return r;
}

void bincode_enter(bincode *r, const char *name, size_t idx)
{
    CUZK_ASSERT(r->depth < BINCODE_MAX_DEPTH);
    r->at[r->depth++] = (struct bincode_level){name, idx};
}

void bincode_leave(bincode *r)
{
    CUZK_ASSERT(r->depth > 0);
    r->depth--;
}

static void path_format(char *out, size_t size, const bincode *r, const char *field)
{
    size_t n = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < r->depth && n < size; i++) {
        n += (size_t)snprintf(out + n, size - n, i ? ".%s" : "%s", r->at[i].name);
        if (r->at[i].idx != BINCODE_NO_IDX && n < size)
            n += (size_t)snprintf(out + n, size - n, "[%zu]", r->at[i].idx);
    }
    if (field && n < size)
        snprintf(out + n, size - n, ".%s", field);
}

cuzk_status bincode_bad(const bincode *r, const char *field, const char *expected,
                        const char *found_fmt, ...)
{
    char path[128], found[100];
    va_list ap;
    va_start(ap, found_fmt);
    vsnprintf(found, sizeof found, found_fmt, ap);
    va_end(ap);
    path_format(path, sizeof path, r, field);
    return cuzk_bad_input(path, expected, "%s", found);
}

/* The next n bytes, or NULL. */
static const uint8_t *take(bincode *r, size_t n)
{
    if (r->len - r->pos < n)
        return NULL;
    const uint8_t *p = r->p + r->pos;
    r->pos += n;
    return p;
}

static cuzk_status cut_short(const bincode *r, const char *field, size_t n)
{
    char expected[64];
    snprintf(expected, sizeof expected, "%zu bytes at offset %zu", n, r->pos);
    return bincode_bad(r, field, expected, "the end after %zu", r->len - r->pos);
}

cuzk_status bincode_u32(uint32_t *out, bincode *r, const char *field)
{
    const uint8_t *p = take(r, 4);
    if (!p)
        return cut_short(r, field, 4);
    *out = load_le32(p);
    return cuzk_ok();
}

cuzk_status bincode_u64(uint64_t *out, bincode *r, const char *field, uint64_t max)
{
    const uint8_t *p = take(r, 8);
    if (!p)
        return cut_short(r, field, 8);
    *out = load_le64(p);
    if (*out <= max)
        return cuzk_ok();
    char expected[48];
    snprintf(expected, sizeof expected, "integer 0..%llu", (unsigned long long)max);
    return bincode_bad(r, field, expected, "%llu", (unsigned long long)*out);
}

static cuzk_status not_canonical(const bincode *r, const char *field, const uint8_t bytes[32])
{
    char hex[65];
    hex_encode(hex, bytes, 32);
    return bincode_bad(r, field, "a field element below r", "%s (little-endian)", hex);
}

cuzk_status bincode_fr(fr *out, bincode *r, const char *field)
{
    const uint8_t *p = take(r, 32);
    if (!p)
        return cut_short(r, field, 32);
    return fr_from_le(out, p) ? cuzk_ok() : not_canonical(r, field, p);
}

cuzk_status bincode_frs(fr *out, bincode *r, const char *field, size_t n)
{
    const uint8_t *p = (r->len - r->pos) / 32 < n ? NULL : take(r, n * 32);
    if (!p)
        return cut_short(r, field, n * 32);
    for (size_t i = 0; i < n; i++)
        if (!fr_from_le(&out[i], p + 32 * i)) {
            bincode_enter(r, field, i);
            return not_canonical(r, NULL, p + 32 * i);
        }
    return cuzk_ok();
}

cuzk_status bincode_count(bincode *r, const char *field, uint64_t n, size_t min_bytes)
{
    uint64_t found = 0;
    char expected[48];
    CUZK_TRY(bincode_u64(&found, r, field, UINT64_MAX));
    snprintf(expected, sizeof expected, "%llu elements", (unsigned long long)n);
    if (found != n)
        return bincode_bad(r, field, expected, "%llu", (unsigned long long)found);
    if ((r->len - r->pos) / min_bytes < n)
        return bincode_bad(r, field, expected, "only %zu more bytes", r->len - r->pos);
    return cuzk_ok();
}

size_t fil_tree_siblings(fil_tree t)
{
    return (size_t)t.base_levels * (t.base - 1) + (t.sub ? t.sub - 1 : 0) + (t.top ? t.top - 1 : 0);
}

size_t bincode_path_bytes(fil_tree t)
{
    size_t n_levels = t.base_levels + (t.sub ? 1 : 0) + (t.top ? 1 : 0);
    return 4 + 64 + 8 + n_levels * 16 + 32 * fil_tree_siblings(t);
}

/* Append the levels of {path: [{hashes, index}, ...]} to p. */
static cuzk_status get_levels(fil_path *p, fr *sib, bincode *r, const char *field, uint32_t arity,
                              uint32_t n_levels)
{
    CUZK_TRY(bincode_count(r, field, n_levels, 16 + 32 * (arity ? arity - 1 : 0)));
    for (uint32_t k = 0; k < n_levels; k++) {
        uint64_t idx = 0;
        bincode_enter(r, field, k);
        CUZK_TRY(bincode_count(r, "hashes", arity - 1, 32));
        CUZK_TRY(bincode_frs(sib + p->n_sib, r, "hashes", arity - 1));
        CUZK_TRY(bincode_u64(&idx, r, "index", arity - 1));
        bincode_leave(r);
        p->n_sib += arity - 1;
        p->arity[p->n_levels] = (uint8_t)arity;
        p->idx[p->n_levels++] = (uint8_t)idx;
    }
    return cuzk_ok();
}

cuzk_status bincode_path(fil_path *out, fr *sib, bincode *r, fil_tree t)
{
    enum { SINGLE, SUB, TOP };
    uint32_t tag = 0, least = t.top ? TOP : t.sub ? SUB : SINGLE;
    *out = (fil_path){.sib = sib};
    CUZK_VERIFY(t.base_levels + 2 <= FIL_PATH_MAX_LEVELS);
    CUZK_TRY(bincode_u32(&tag, r, "variant"));
    if (tag < least || tag > TOP) {
        static const char *const expected[] = {"0 (Single), 1 (Sub) or 2 (Top)",
                                               "1 (Sub) or 2 (Top)", "2 (Top)"};
        return bincode_bad(r, "variant", expected[least], "%u", tag);
    }
    if (tag == SINGLE) { /* the one variant whose ends come first */
        CUZK_TRY(bincode_fr(&out->root, r, "root"));
        CUZK_TRY(bincode_fr(&out->leaf, r, "leaf"));
        return get_levels(out, sib, r, "path", t.base, t.base_levels);
    }
    CUZK_TRY(get_levels(out, sib, r, "base_proof", t.base, t.base_levels));
    CUZK_TRY(get_levels(out, sib, r, "sub_proof", t.sub, t.sub ? 1 : 0));
    if (tag == TOP)
        CUZK_TRY(get_levels(out, sib, r, "top_proof", t.top, t.top ? 1 : 0));
    CUZK_TRY(bincode_fr(&out->root, r, "root"));
    return bincode_fr(&out->leaf, r, "leaf");
}
