#include "base/json_write.h"
#include "base/mem.h"
#include "fil/gen_int.h"
#include <stdio.h>
#include <string.h>

/* The writing twin of porep_decode.c: fields in serde's order, no spaces (circuits.md E.7). */

static void put_bytes(json_writer *w, const uint8_t *b, size_t n)
{
    json_begin_array(w);
    for (size_t i = 0; i < n; i++)
        json_u64(w, b[i]);
    json_end_array(w);
}

static void put_fr(json_writer *w, const fr *v)
{
    uint8_t b[32];
    fr_to_le(b, v);
    put_bytes(w, b, sizeof b);
}

static void kv_fr(json_writer *w, const char *key, const fr *v)
{
    json_key(w, key);
    put_fr(w, v);
}

static void kv_bytes(json_writer *w, const char *key, const uint8_t b[32])
{
    json_key(w, key);
    put_bytes(w, b, 32);
}

/* "key": {"path": [...]} of levels [first, first + n); returns the siblings behind them. */
static const fr *kv_levels(json_writer *w, const char *key, const fil_path *p, const fr *sib,
                           uint32_t first, uint32_t n)
{
    json_key(w, key);
    json_begin_object(w);
    json_key(w, "path");
    json_begin_array(w);
    for (uint32_t k = first; k < first + n; k++) {
        json_begin_object(w);
        json_key(w, "hashes");
        json_begin_array(w);
        for (uint32_t i = 1; i < p->arity[k]; i++)
            put_fr(w, sib++);
        json_end_array(w);
        json_kv_u64(w, "index", p->idx[k]);
        json_end_object(w);
    }
    json_end_array(w);
    json_end_object(w);
    return sib;
}

static void put_path(json_writer *w, const fil_path *p, fil_tree t)
{
    json_begin_object(w);
    json_key(w, "data");
    json_begin_object(w);
    json_key(w, t.top ? "Top" : t.sub ? "Sub" : "Single");
    json_begin_object(w);
    if (t.sub) {
        const fr *sib = kv_levels(w, "base_proof", p, p->sib, 0, t.base_levels);
        sib = kv_levels(w, "sub_proof", p, sib, t.base_levels, 1);
        if (t.top)
            kv_levels(w, "top_proof", p, sib, t.base_levels + 1, 1);
    }
    kv_fr(w, "root", &p->root);
    kv_fr(w, "leaf", &p->leaf);
    if (!t.sub)
        kv_levels(w, "path", p, p->sib, 0, t.base_levels);
    json_end_object(w);
    json_end_object(w);
    json_end_object(w);
}

static void put_column(json_writer *w, const fil_column *c, fil_tree t)
{
    json_begin_object(w);
    json_key(w, "column");
    json_begin_object(w);
    json_kv_u64(w, "index", c->node);
    json_key(w, "rows");
    json_begin_array(w);
    for (uint32_t i = 0; i < c->n_rows; i++)
        put_fr(w, &c->rows[i]);
    json_end_array(w);
    json_key(w, "_h");
    json_null(w);
    json_end_object(w);
    json_key(w, "inclusion_proof");
    put_path(w, &c->path, t);
    json_end_object(w);
}

static void kv_columns(json_writer *w, const char *key, const fil_column *c, uint32_t n, fil_tree t)
{
    json_key(w, key);
    json_begin_array(w);
    for (uint32_t i = 0; i < n; i++)
        put_column(w, &c[i], t);
    json_end_array(w);
}

static void put_labeling(json_writer *w, const fil_labeling *l)
{
    json_begin_object(w);
    json_key(w, "parents");
    json_begin_array(w);
    for (uint32_t i = 0; i < l->n_parents; i++)
        put_fr(w, &l->parents[i]);
    json_end_array(w);
    json_kv_u64(w, "layer_index", l->layer_idx);
    json_kv_u64(w, "node", l->node);
    json_end_object(w);
}

static void put_challenge(json_writer *w, const fil_porep_challenge *ch, const fil_sector *s)
{
    fil_tree t = gen_tree_r_shape(s);
    json_begin_object(w);
    json_key(w, "comm_d_proofs");
    put_path(w, &ch->comm_d, gen_tree_d_shape(s->lg_nodes));
    json_key(w, "comm_r_last_proof");
    put_path(w, &ch->comm_r_last, t);
    json_key(w, "replica_column_proofs");
    json_begin_object(w);
    json_key(w, "c_x");
    put_column(w, &ch->c_x, t);
    kv_columns(w, "drg_parents", ch->drg, FIL_DRG_DEGREE, t);
    kv_columns(w, "exp_parents", ch->exp, FIL_EXP_DEGREE, t);
    json_end_object(w);
    json_key(w, "labeling_proofs");
    json_begin_array(w);
    for (uint32_t i = 0; i < ch->n_labeling; i++)
        put_labeling(w, &ch->labeling[i]);
    json_end_array(w);
    json_key(w, "encoding_proof");
    put_labeling(w, &ch->encoding);
    json_end_object(w);
}

static void put_c1(json_writer *w, const fil_porep *p)
{
    char name[80];
    json_begin_object(w);
    snprintf(name, sizeof name, "StackedDrg%s%s", p->sector->name, FIL_SEAL_SUFFIX[p->version]);
    json_kv_str(w, "registered_proof", name);
    json_key(w, "vanilla_proofs");
    json_begin_object(w);
    snprintf(name, sizeof name, "StackedDrg%sV1", p->sector->name);
    json_key(w, name);
    json_begin_array(w);
    for (uint32_t k = 0; k < p->n_partitions; k++) {
        json_begin_array(w);
        for (uint32_t i = 0; i < p->n_challenges; i++)
            put_challenge(w, &p->partitions[k][i], p->sector);
        json_end_array(w);
    }
    json_end_array(w);
    json_end_object(w);
    kv_fr(w, "comm_r", &p->comm_r);
    kv_fr(w, "comm_d", &p->comm_d);
    kv_fr(w, "replica_id", &p->replica_id);
    kv_bytes(w, "seed", p->seed);
    kv_bytes(w, "ticket", p->ticket);
    json_end_object(w);
}

/* RFC 4648 with padding; out has room for 4 * ceil(n / 3) characters. Returns how many. */
static size_t base64_encode(char *out, const uint8_t *in, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *o = out;
    for (size_t i = 0; i < n; i += 3) {
        size_t k = n - i < 3 ? n - i : 3;
        uint32_t v = (uint32_t)in[i] << 16 | (uint32_t)(k > 1 ? in[i + 1] : 0) << 8 |
                     (k > 2 ? in[i + 2] : 0);
        *o++ = digits[v >> 18];
        *o++ = digits[v >> 12 & 63];
        *o++ = k > 1 ? digits[v >> 6 & 63] : '=';
        *o++ = k > 2 ? digits[v & 63] : '=';
    }
    return (size_t)(o - out);
}

/* The wrapper around the text in inner, which is replaced. */
static cuzk_status wrap(json_writer *inner, const fil_porep *p)
{
    char *b64 = mem_alloc(inner->len / 3 * 4 + 4, 16);
    if (!b64)
        return cuzk_fail(CUZK_E_NOMEM, "wrapping %zu bytes", inner->len);
    size_t n = base64_encode(b64, (const uint8_t *)inner->buf, inner->len);
    json_write_fini(inner);
    json_write_init(inner, NULL, false);
    json_begin_object(inner);
    json_kv_u64(inner, "SectorNum", p->sector_num);
    json_key(inner, "Phase1Out");
    json_strn(inner, b64, n);
    json_kv_u64(inner, "SectorSize", p->wrapper_sector_size);
    json_end_object(inner);
    mem_free(b64);
    return json_write_finish(inner);
}

cuzk_status fil_porep_encode(uint8_t **bytes, size_t *len, const fil_porep *p)
{
    json_writer w;
    *bytes = NULL;
    *len = 0;
    json_write_init(&w, NULL, false);
    put_c1(&w, p);
    cuzk_status st = json_write_finish(&w);
    if (st.code == CUZK_OK && p->wrapped)
        st = wrap(&w, p);
    if (st.code == CUZK_OK) {
        *bytes = (uint8_t *)w.buf;
        *len = w.len;
        w.buf = NULL;
    }
    json_write_fini(&w);
    return st;
}
