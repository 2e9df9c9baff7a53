/* Witness mode of the builder, and what both modes share. Shape mode is in cs_shape.c and
 * cs_template.c. */
#include "r1cs/cs_int.h"
#include "base/mem.h"
#include <string.h>

void cs_set_failure(cs *c, cuzk_status st)
{
    if (c->st.code == CUZK_OK)
        c->st = st;
}

void cs_init_witness(cs *c, const r1cs_shape *shape, witness *w, cs_mode mode)
{
    *c = (cs){.mode = mode, .w = w, .shape = shape, .n_inputs = 1};
    c->st = cuzk_ok();
    CUZK_ASSERT(mode != CS_SHAPE && w->n_aux == shape->counts.n_aux);
}

void cs_witness_overrun(cs *c)
{
    cs_set_failure(
        c, cuzk_fail(CUZK_E_INTERNAL,
                     "%s: the witness has more variables than the shape (%llu aux, %llu dense)",
                     r1cs_shape_name(c->shape), (unsigned long long)c->w->n_aux,
                     (unsigned long long)c->w->n_dense));
}

r1cs_var cs_alloc_input(cs *c, const fr *val)
{
    uint64_t i = c->n_inputs++;
    if (c->mode == CS_SHAPE) {
        cs_shape_check_input(c);
    } else if (i >= c->w->n_inputs) {
        cs_witness_overrun(c);
        return R1CS_ONE;
    } else {
        c->w->inputs[i] = *val;
    }
    return R1CS_INPUT | (r1cs_var)i;
}

/* n <= 64 bits at position j of a bit array whose tail is still zero. */
static inline void put_bits(uint64_t *bits, uint64_t j, uint64_t v, uint32_t n)
{
    uint32_t sh = (uint32_t)(j & 63);
    bits[j >> 6] |= v << sh;
    if (sh && sh + n > 64)
        bits[(j >> 6) + 1] |= v >> (64 - sh);
}

static bool take_aux(cs *c, uint64_t n)
{
    if (c->n_aux + n > c->w->n_aux) {
        cs_witness_overrun(c);
        return false;
    }
    return true;
}

void cs_write_runs(cs *c, const r1cs_template_runs *t, const void *trace)
{
    if (!take_aux(c, t->n_aux))
        return;
    uint64_t j = c->n_aux;
    const uint8_t *base = trace;
    for (uint32_t i = 0; i < t->n_runs; i++) {
        const r1cs_run *r = &t->runs[i];
        /* A run is at most 36 bits, so 8 bytes from its first byte hold it (the trace has 8 bytes
         * to spare at its end). */
        uint64_t v;
        memcpy(&v, base + (r->bit >> 3), sizeof v);
        v >>= r->bit & 7;
        v ^= 0 - (uint64_t)r->invert;
        v &= (1ull << r->len) - 1;
        put_bits(c->w->bits, j, v, r->len);
        j += r->len;
    }
    c->n_aux = j;
}

void cs_write_bits(cs *c, const uint64_t *words, uint32_t n)
{
    if (!take_aux(c, n))
        return;
    for (uint32_t i = 0; i < n; i += 64) {
        uint32_t len = n - i < 64 ? n - i : 64;
        uint64_t v = words[i / 64] & (len == 64 ? UINT64_MAX : (1ull << len) - 1);
        put_bits(c->w->bits, c->n_aux + i, v, len);
    }
    c->n_aux += n;
}

fr *cs_take_nums(cs *c, uint32_t n)
{
    if (!take_aux(c, n) || c->n_dense + n > c->w->n_dense) {
        cs_witness_overrun(c);
        return NULL;
    }
    fr *at = c->w->dense + c->n_dense;
    c->n_dense += n;
    c->n_aux += n;
    return at;
}

void cs_write_nums(cs *c, const fr *vals, uint32_t n)
{
    fr *at = cs_take_nums(c, n);
    if (at)
        memcpy(at, vals, n * sizeof *vals);
}

cuzk_status cs_finish_witness(cs *c)
{
    if (c->st.code != CUZK_OK)
        return c->st;
    const witness *w = c->w;
    if (c->n_aux != w->n_aux || c->n_inputs != w->n_inputs || c->n_dense != w->n_dense)
        return cuzk_fail(
            CUZK_E_INTERNAL,
            "%s: witness has %llu aux, %llu inputs, %llu dense; the shape %llu, %llu, %llu",
            r1cs_shape_name(c->shape), (unsigned long long)c->n_aux,
            (unsigned long long)c->n_inputs, (unsigned long long)c->n_dense,
            (unsigned long long)w->n_aux, (unsigned long long)w->n_inputs,
            (unsigned long long)w->n_dense);
    return cuzk_ok();
}

/* Dense variables before aux j <= n_aux. */
static uint64_t dense_before(const witness *w, uint64_t j)
{
    return j == w->n_aux ? w->n_dense : witness_dense_idx(w, j);
}

static size_t part_words(const witness *own)
{
    return own->n_aux / 64 + 2; /* one spare, as in witness_init */
}

void cs_init_witness_part(cs *c, cs_part *part, const r1cs_shape *shape, witness *w, cs_mode mode,
                          const cs_range *r)
{
    CUZK_ASSERT(mode != CS_SHAPE && w->n_aux == shape->counts.n_aux);
    *part = (cs_part){.whole = w};
    *c = (cs){.mode = mode, .w = &part->own, .shape = shape};
    c->st = cuzk_ok();
    if (r->aux > w->n_aux || r->n_aux > w->n_aux - r->aux || r->input > w->n_inputs ||
        r->n_inputs > w->n_inputs - r->input) {
        cs_set_failure(c, cuzk_fail(CUZK_E_INTERNAL, "%s: a part lies outside of the witness",
                                    r1cs_shape_name(shape)));
        return;
    }
    uint64_t dense = dense_before(w, r->aux);
    witness *own = &part->own;
    /* Counted from the start of the first word, so that own words line up with those of the
     * whole. */
    own->n_aux = r->aux % 64 + r->n_aux;
    own->bits = mem_zalloc(part_words(own) * sizeof *own->bits, 64);
    if (!own->bits) {
        own->n_aux = 0;
        cs_set_failure(c, cuzk_fail(CUZK_E_NOMEM, "part of a witness of %llu variables",
                                    (unsigned long long)r->n_aux));
        return;
    }
    own->n_inputs = r->n_inputs;
    own->n_dense = dense_before(w, r->aux + r->n_aux) - dense;
    own->inputs = w->inputs + r->input;
    own->dense = w->dense + dense;
    part->first_word = r->aux / 64;
    c->n_aux = r->aux % 64;
}

cuzk_status cs_finish_witness_part(cs *c, cs_part *part)
{
    witness *own = &part->own;
    cuzk_status st = cs_finish_witness(c);
    if (own->bits) {
        uint64_t *to = part->whole->bits + part->first_word;
        size_t n = (own->n_aux + 63) / 64;
        /* Inner words are this part's alone. Relaxed: whoever waits for the parts orders these
         * after it. */
        for (size_t i = 0; i < n && st.code == CUZK_OK; i++) {
            if (i == 0 || i + 1 == n)
                __atomic_fetch_or(&to[i], own->bits[i], __ATOMIC_RELAXED);
            else
                to[i] = own->bits[i];
        }
        mem_wipe(own->bits, part_words(own) * sizeof *own->bits);
        mem_free(own->bits);
    }
    *part = (cs_part){0};
    return st;
}

void cs_fini(cs *c)
{
    cs_builder_destroy(c->b);
    c->b = NULL;
}
