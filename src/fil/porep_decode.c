#include "base/bytes.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "fil/porep.h"
#include <stdio.h>
#include <string.h>

/* Field order is serde's, which is how a struct written as an array is read (circuits.md E.7). */
#define STRUCT(vals, v, ...)                                 \
    json_struct(vals, v, (const char *const[]){__VA_ARGS__}, \
                ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

typedef struct decoder {
    fil_porep *p;
    arena *a;
} decoder;

/* Levels of a tree: base_levels of arity base, then one each of arity sub and top unless those are
 * 0. */
typedef struct tree_shape {
    uint32_t base, base_levels, sub, top;
} tree_shape;

static cuzk_status alloc(void **out, decoder *d, size_t n, size_t size)
{
    size_t bytes;
    *out = mem_mul(&bytes, n, size) ? arena_alloc(d->a, bytes, 64) : NULL;
    return *out ? cuzk_ok()
                : cuzk_fail(CUZK_E_NOMEM, "decoding a C1: %zu elements of %zu bytes", n, size);
}

static cuzk_status get_fr(fr *out, json_val v)
{
    const uint8_t *bytes;
    CUZK_TRY(json_get_bytes(&bytes, v, 32));
    if (fr_from_le(out, bytes))
        return cuzk_ok();
    char hex[65];
    hex_encode(hex, bytes, 32);
    return json_bad(v, "a field element below r", "%s (little-endian)", hex);
}

static cuzk_status get_raw32(uint8_t out[32], json_val v)
{
    const uint8_t *bytes;
    CUZK_TRY(json_get_bytes(&bytes, v, 32));
    memcpy(out, bytes, 32);
    return cuzk_ok();
}

/* Append the levels of one inclusion path {"path": [{"hashes", "index"}, ...]} to p. */
static cuzk_status get_levels(fil_path *p, fr *sib, json_val v, uint32_t arity, uint32_t n_levels)
{
    json_val path, fields[2], level, hash;
    json_iter levels, hashes;
    CUZK_TRY(STRUCT(&path, v, "path"));
    CUZK_TRY(json_array_n(&levels, path, n_levels));
    while (json_next(&levels, &level)) {
        uint64_t idx;
        CUZK_TRY(STRUCT(fields, level, "hashes", "index"));
        CUZK_TRY(json_array_n(&hashes, fields[0], arity - 1));
        while (json_next(&hashes, &hash))
            CUZK_TRY(get_fr(&sib[p->n_sib++], hash));
        CUZK_TRY(json_get_u64(&idx, fields[1], arity - 1));
        p->arity[p->n_levels] = (uint8_t)arity;
        p->idx[p->n_levels++] = (uint8_t)idx;
    }
    return cuzk_ok();
}

static bool tag_is(const char *tag, size_t n, const char *want)
{
    return n == strlen(want) && memcmp(tag, want, n) == 0;
}

/* A MerkleProof. Which variant is used does not matter as long as its levels are those of the tree:
 * the reference accepts a Sub with an empty sub_proof where it writes a Single itself. */
static cuzk_status get_path(decoder *d, fil_path *p, json_val v, tree_shape s)
{
    json_val data, body, f[5]; /* base, sub, top, root, leaf */
    const char *tag;
    size_t n;
    bool has_sub = false, has_top = false;
    CUZK_TRY(STRUCT(&data, v, "data"));
    CUZK_TRY(json_variant(&tag, &n, &body, data));
    if (tag_is(tag, n, "Single")) {
        json_val t[3];
        CUZK_TRY(STRUCT(t, body, "root", "leaf", "path"));
        f[0] = t[2];
        f[3] = t[0];
        f[4] = t[1];
    } else if (tag_is(tag, n, "Sub")) {
        json_val t[4];
        has_sub = true;
        CUZK_TRY(STRUCT(t, body, "base_proof", "sub_proof", "root", "leaf"));
        memcpy(f, t, 2 * sizeof *f);
        memcpy(f + 3, t + 2, 2 * sizeof *f);
    } else if (tag_is(tag, n, "Top")) {
        has_sub = has_top = true;
        CUZK_TRY(STRUCT(f, body, "base_proof", "sub_proof", "top_proof", "root", "leaf"));
    } else {
        return json_bad(body, "variant Single, Sub or Top", "another");
    }
    if ((s.sub && !has_sub) || (s.top && !has_top))
        return json_bad(body, s.top ? "variant Top" : "variant Sub", "a variant with fewer levels");
    uint32_t n_sib =
        s.base_levels * (s.base - 1) + (s.sub ? s.sub - 1 : 0) + (s.top ? s.top - 1 : 0);
    void *sib;
    CUZK_TRY(alloc(&sib, d, n_sib, sizeof(fr)));
    p->sib = sib;
    CUZK_TRY(get_levels(p, sib, f[0], s.base, s.base_levels));
    if (has_sub)
        CUZK_TRY(get_levels(p, sib, f[1], s.sub, s.sub ? 1 : 0));
    if (has_top)
        CUZK_TRY(get_levels(p, sib, f[2], s.top, s.top ? 1 : 0));
    CUZK_TRY(get_fr(&p->root, f[3]));
    return get_fr(&p->leaf, f[4]);
}

static tree_shape poseidon_shape(const fil_sector *s)
{
    return (tree_shape){s->base, s->base_levels, s->sub, s->top};
}

/* {column: {index, rows, _h: null}, inclusion_proof} */
static cuzk_status get_column(decoder *d, fil_column *c, json_val v)
{
    json_val f[2], col[3], row;
    json_iter rows;
    CUZK_TRY(STRUCT(f, v, "column", "inclusion_proof"));
    CUZK_TRY(STRUCT(col, f[0], "index", "rows", "_h"));
    CUZK_TRY(json_get_u64(&c->node, col[0], UINT32_MAX));
    CUZK_TRY(json_array_n(&rows, col[1], d->p->layers));
    while (json_next(&rows, &row))
        CUZK_TRY(get_fr(&c->rows[c->n_rows++], row));
    CUZK_TRY(json_get_null(col[2]));
    return get_path(d, &c->path, f[1], poseidon_shape(d->p->sector));
}

static cuzk_status get_columns(decoder *d, fil_column *c, json_val v, size_t n)
{
    json_iter it;
    json_val e;
    CUZK_TRY(json_array_n(&it, v, n));
    while (json_next(&it, &e))
        CUZK_TRY(get_column(d, c++, e));
    return cuzk_ok();
}

static cuzk_status get_labeling(decoder *d, fil_labeling *l, json_val v)
{
    json_val f[3], e;
    json_iter it;
    void *mem;
    uint64_t layer;
    CUZK_TRY(STRUCT(f, v, "parents", "layer_index", "node"));
    CUZK_TRY(json_array_n(&it, f[0], FIL_LABEL_PARENTS));
    CUZK_TRY(alloc(&mem, d, FIL_LABEL_PARENTS, sizeof(fr)));
    fr *parents = mem;
    l->parents = parents;
    while (json_next(&it, &e))
        CUZK_TRY(get_fr(&parents[l->n_parents++], e));
    CUZK_TRY(json_get_u64(&layer, f[1], UINT32_MAX));
    l->layer_idx = (uint32_t)layer;
    return json_get_u64(&l->node, f[2], UINT64_MAX);
}

static cuzk_status get_challenge(decoder *d, fil_porep_challenge *c, json_val v)
{
    json_val f[5], cols[3], e;
    json_iter it;
    const fil_sector *s = d->p->sector;
    CUZK_TRY(STRUCT(f, v, "comm_d_proofs", "comm_r_last_proof", "replica_column_proofs",
                    "labeling_proofs", "encoding_proof"));
    CUZK_TRY(get_path(d, &c->comm_d, f[0], (tree_shape){2, s->lg_nodes, 0, 0}));
    CUZK_TRY(get_path(d, &c->comm_r_last, f[1], poseidon_shape(s)));
    CUZK_TRY(STRUCT(cols, f[2], "c_x", "drg_parents", "exp_parents"));
    CUZK_TRY(get_column(d, &c->c_x, cols[0]));
    CUZK_TRY(get_columns(d, c->drg, cols[1], FIL_DRG_DEGREE));
    CUZK_TRY(get_columns(d, c->exp, cols[2], FIL_EXP_DEGREE));
    CUZK_TRY(json_array_n(&it, f[3], d->p->layers));
    while (json_next(&it, &e))
        CUZK_TRY(get_labeling(d, &c->labeling[c->n_labeling++], e));
    c->challenge = c->labeling[0].node; /* this is the number the circuit takes */
    return get_labeling(d, &c->encoding, f[4]);
}

/* Layers of a development size: those of the first labelling list. Anything odd is left for the
 * strict pass to name. */
static uint32_t found_layers(json_val partitions, uint32_t usual)
{
    json_iter it;
    json_val part, proof, list;
    if (json_val_kind(partitions) != JSON_ARRAY || json_array(&it, partitions).code != CUZK_OK ||
        !json_next(&it, &part) || json_val_kind(part) != JSON_ARRAY ||
        json_array(&it, part).code != CUZK_OK || !json_next(&it, &proof) ||
        !json_member(&list, proof, "labeling_proofs") || json_val_kind(list) != JSON_ARRAY ||
        json_array(&it, list).code != CUZK_OK)
        return usual;
    return it.n == FIL_MAX_LAYERS ? FIL_MAX_LAYERS : usual;
}

static cuzk_status get_name(fil_porep *p, json_val v)
{
    const char *name;
    size_t n;
    CUZK_TRY(json_get_string(&name, &n, v));
    if (!fil_seal_name_parse(&p->sector, &p->version, name, n))
        return json_bad(v, "a registered seal proof", NULL);
    char buf[80];
    snprintf(buf, sizeof buf, "%.*s", (int)n, name); /* a parsed name is short */
    p->registered = fil_seal_proof_by_name(buf);
    return cuzk_ok();
}

/* The key of vanilla_proofs is the V1 name of a size whose trees have the same arities (they share
 * one type in the API). */
static cuzk_status get_vanilla(json_val *partitions, const fil_sector *s, json_val v)
{
    const char *tag;
    size_t n;
    const fil_sector *named;
    fil_seal_version version;
    char expected[64];
    CUZK_TRY(json_variant(&tag, &n, partitions, v));
    snprintf(expected, sizeof expected, "key StackedDrg%sV1", s->name);
    if (!fil_seal_name_parse(&named, &version, tag, n) || version != FIL_SEAL_V1)
        return json_bad(v, expected, "\"%.*s\"", n < 40 ? (int)n : 40, tag);
    if (named->base != s->base || named->sub != s->sub || named->top != s->top)
        return json_bad(v, expected, "%.*s, whose trees have other arities", (int)n, tag);
    return cuzk_ok();
}

static void set_porep_id(fil_porep *p)
{
    /* 2 KiB of each version; 32 GiB is three on */
    static const uint32_t first_id[FIL_N_SEAL_VERSIONS] = {0, 5, 10, 15};
    uint32_t id = p->registered ? p->registered->id
                                : first_id[p->version] + (p->layers == FIL_MAX_LAYERS ? 3 : 0);
    fil_porep_id(p->porep_id, fil_seal_proof_by_id(id));
}

static cuzk_status get_partitions(decoder *d, json_val v)
{
    fil_porep *p = d->p;
    json_iter parts, proofs;
    json_val part, proof;
    void *mem;
    CUZK_TRY(json_array_n(&parts, v, p->n_partitions));
    CUZK_TRY(alloc(&mem, d, p->n_partitions, sizeof *p->partitions));
    p->partitions = mem;
    for (uint32_t k = 0; json_next(&parts, &part); k++) {
        CUZK_TRY(json_array_n(&proofs, part, p->n_challenges));
        CUZK_TRY(alloc(&mem, d, p->n_challenges, sizeof **p->partitions));
        p->partitions[k] = mem;
        for (uint32_t i = 0; json_next(&proofs, &proof); i++)
            CUZK_TRY(get_challenge(d, &p->partitions[k][i], proof));
    }
    p->comm_c = p->partitions[0][0].c_x.path.root;
    p->comm_r_last = p->partitions[0][0].comm_r_last.root;
    return cuzk_ok();
}

static cuzk_status decode_inner(decoder *d, json_val root)
{
    fil_porep *p = d->p;
    json_val f[7], partitions;
    CUZK_TRY(STRUCT(f, root, "registered_proof", "vanilla_proofs", "comm_r", "comm_d", "replica_id",
                    "seed", "ticket"));
    CUZK_TRY(get_name(p, f[0]));
    CUZK_TRY(get_fr(&p->comm_r, f[2]));
    CUZK_TRY(get_fr(&p->comm_d, f[3]));
    CUZK_TRY(get_fr(&p->replica_id, f[4]));
    CUZK_TRY(get_raw32(p->seed, f[5]));
    CUZK_TRY(get_raw32(p->ticket, f[6]));
    CUZK_TRY(get_vanilla(&partitions, p->sector, f[1]));
    p->layers = p->registered ? p->sector->layers : found_layers(partitions, p->sector->layers);
    p->n_partitions = fil_seal_partitions(p->sector, p->version);
    p->n_challenges = p->sector->challenges;
    set_porep_id(p);
    return get_partitions(d, partitions);
}

static cuzk_status decode_inner_text(decoder *d, const void *text, size_t len)
{
    json_doc doc;
    CUZK_TRY(json_parse(&doc, text, len));
    cuzk_status st = decode_inner(d, json_root(&doc));
    json_fini(&doc);
    return st;
}

/* Does the document mean to be the wrapper? Only exact key names count when it is read; this just
 * picks the better error. */
static bool looks_wrapped(json_val root)
{
    json_val v;
    json_iter it;
    if (json_val_kind(root) == JSON_ARRAY)
        return json_array(&it, root).code == CUZK_OK && it.n == 3;
    return !json_member(&v, root, "vanilla_proofs") &&
           (json_member(&v, root, "Phase1Out") || json_member(&v, root, "SectorNum") ||
            json_member(&v, root, "SectorSize"));
}

static cuzk_status decode_wrapper(decoder *d, json_val root)
{
    json_val f[3];
    const char *b64;
    size_t n;
    CUZK_TRY(STRUCT(f, root, "SectorNum", "Phase1Out", "SectorSize"));
    CUZK_TRY(json_get_u64(&d->p->sector_num, f[0], UINT64_MAX));
    CUZK_TRY(json_get_string(&b64, &n, f[1]));
    CUZK_TRY(json_get_u64(&d->p->wrapper_sector_size, f[2], UINT64_MAX));
    d->p->wrapped = true;
    uint8_t *inner = mem_alloc(base64_max(n), 16);
    if (!inner)
        return cuzk_fail(CUZK_E_NOMEM, "Phase1Out of %zu characters", n);
    cuzk_status st = base64_decode(inner, &n, b64, n, "Phase1Out");
    if (st.code == CUZK_OK)
        st = cuzk_wrap(decode_inner_text(d, inner, n), "Phase1Out");
    mem_free(inner);
    return st;
}

cuzk_status fil_porep_decode(fil_porep *out, arena *a, const void *json, size_t len)
{
    *out = (fil_porep){0};
    decoder d = {.p = out, .a = a};
    json_doc doc;
    CUZK_TRY(json_parse(&doc, json, len));
    json_val root = json_root(&doc);
    cuzk_status st = looks_wrapped(root) ? decode_wrapper(&d, root) : decode_inner(&d, root);
    json_fini(&doc);
    if (st.code != CUZK_OK)
        *out = (fil_porep){0};
    return st;
}
