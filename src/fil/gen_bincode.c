#include "base/bytes.h"
#include "base/mem.h"
#include "fil/gen_int.h"

/* The writing twin of bincode.h (circuits.md E.8, E.9). */

/* Room for a whole document is set aside at the start, so that writing cannot fail. */
typedef struct out {
    uint8_t *p;
    size_t len;
} out;

static void put_u64(out *o, uint64_t v)
{
    store_le64(o->p + o->len, v);
    o->len += 8;
}

static void put_fr(out *o, const fr *v)
{
    fr_to_le(o->p + o->len, v);
    o->len += 32;
}

/* Levels [first, first + n) as {path: [{hashes, index}, ...]}; returns the siblings behind them. */
static const fr *put_levels(out *o, const fil_path *p, const fr *sib, uint32_t first, uint32_t n)
{
    put_u64(o, n);
    for (uint32_t k = first; k < first + n; k++) {
        put_u64(o, p->arity[k] - 1u);
        for (uint32_t i = 1; i < p->arity[k]; i++)
            put_fr(o, sib++);
        put_u64(o, p->idx[k]);
    }
    return sib;
}

/* The variant is the one of the tree's type: Single, Sub or Top. */
static void put_path(out *o, const fil_path *p, fil_tree t)
{
    store_le32(o->p + o->len, t.top ? 2 : t.sub ? 1 : 0);
    o->len += 4;
    if (!t.sub) {
        put_fr(o, &p->root);
        put_fr(o, &p->leaf);
        put_levels(o, p, p->sib, 0, t.base_levels);
        return;
    }
    const fr *sib = put_levels(o, p, p->sib, 0, t.base_levels);
    sib = put_levels(o, p, sib, t.base_levels, 1);
    if (t.top)
        put_levels(o, p, sib, t.base_levels + 1, 1);
    put_fr(o, &p->root);
    put_fr(o, &p->leaf);
}

/* Enough for any variant: Sub and Top have a level count for each of their lists. */
static size_t path_room(fil_tree t) { return bincode_path_bytes(t) + 16; }

static cuzk_status start(out *o, size_t room)
{
    o->len = 0;
    o->p = mem_alloc(room, 16);
    return o->p ? cuzk_ok() : cuzk_fail(CUZK_E_NOMEM, "encoding %zu bytes", room);
}

cuzk_status fil_post_encode(uint8_t **bytes, size_t *len, const fil_post *p, uint32_t i)
{
    const fil_post_sector *s = &p->sectors[i];
    fil_tree t = gen_tree_r_shape(p->sector);
    out o;
    *bytes = NULL;
    *len = 0;
    CUZK_TRY(start(&o, 120 + s->n_inclusion * path_room(t)));
    put_u64(&o, s->sector_id);
    put_fr(&o, &s->comm_r);
    put_u64(&o, 1); /* inner sectors */
    put_u64(&o, s->n_inclusion);
    for (uint32_t k = 0; k < s->n_inclusion; k++)
        put_path(&o, &s->inclusion[k], t);
    put_fr(&o, &s->comm_c);
    put_fr(&o, &s->comm_r_last);
    *bytes = o.p;
    *len = o.len;
    return cuzk_ok();
}

cuzk_status fil_update_encode(uint8_t **bytes, size_t *len, const fil_update *u, uint32_t k)
{
    const fil_update_config *c = u->config;
    const fil_update_partition *p = &u->partitions[k];
    fil_tree r = {c->base, c->base_levels, c->sub, c->top}, d = {2, c->lg_nodes, 0, 0};
    out o;
    *bytes = NULL;
    *len = 0;
    CUZK_TRY(
        start(&o, 48 + 32 * (size_t)p->n_apex + c->challenges * (2 * path_room(r) + path_room(d))));
    put_fr(&o, &p->comm_c);
    put_u64(&o, p->n_apex);
    for (uint32_t i = 0; i < p->n_apex; i++)
        put_fr(&o, &p->apex[i]);
    put_u64(&o, c->challenges);
    for (uint32_t i = 0; i < c->challenges; i++) {
        put_path(&o, &p->challenges[i].r_old, r);
        put_path(&o, &p->challenges[i].d_new, d);
        put_path(&o, &p->challenges[i].r_new, r);
    }
    *bytes = o.p;
    *len = o.len;
    return cuzk_ok();
}
