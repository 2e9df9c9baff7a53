/* Which witness values belong to which entries of a key section. */
#include "base/mem.h"
#include "groth16/backend_parts.h"

/* The bits of x selected by mask, moved together at the low end, order kept.
 * Source: Warren, Hacker's Delight, 2nd ed., section 7-4 ("compress"): parallel suffix in log2(64)
 * steps. */
static uint64_t compress64(uint64_t x, uint64_t mask)
{
    if (mask == UINT64_MAX || x == 0)
        return x & mask;
    x &= mask;
    uint64_t mk = ~mask << 1; /* counts the zeros to the right */
    for (unsigned i = 0; i < 6; i++) {
        uint64_t mp = mk;
        for (unsigned k = 1; k < 64; k <<= 1)
            mp ^= mp << k;
        uint64_t mv = mp & mask; /* bits that move by 2^i */
        mask = (mask ^ mv) | (mv >> (1u << i));
        uint64_t t = x & mv;
        x = (x ^ t) | (t >> (1u << i));
        mk &= ~mp;
    }
    return x;
}

typedef struct bit_writer {
    uint64_t *w;
    uint64_t pos;
} bit_writer;

/* Append the low n bits of v (higher ones zero); the words start zeroed. */
static void put_bits(bit_writer *b, uint64_t v, unsigned n)
{
    if (n == 0)
        return;
    unsigned sh = b->pos & 63;
    b->w[b->pos >> 6] |= v << sh;
    if (sh && sh + n > 64)
        b->w[(b->pos >> 6) + 1] |= v >> (64 - sh);
    b->pos += n;
}

static unsigned popcount(uint64_t v) { return (unsigned)__builtin_popcountll(v); }

static void append_selected(bit_writer *b, const uint64_t *bits, const uint64_t *select,
                            size_t n_words)
{
    for (size_t k = 0; k < n_words; k++)
        put_bits(b, compress64(bits[k], select[k]), popcount(select[k]));
}

void g16_query_mask(uint64_t *mask, const g16_query *q, const witness *w)
{
    size_t n_words = words_of(q->n);
    for (size_t k = 0; k < n_words; k++)
        mask[k] = 0;
    bit_writer b = {mask, q->n_in};
    append_selected(&b, w->bits, q->density, words_of(w->n_aux));
}

static cuzk_status query_build(g16_query *q, const r1cs_shape *s)
{
    const r1cs_counts *c = r1cs_shape_counts(s);
    q->inputs = mem_alloc((size_t)q->n_in * sizeof *q->inputs, 64);
    if (!q->inputs)
        return cuzk_fail(CUZK_E_NOMEM, "%llu input indices", (unsigned long long)q->n_in);
    uint64_t n_in = 0;
    for (uint32_t i = 0; i < c->n_inputs && q->n_in > 0; i++)
        if (q->sec == G16_A || r1cs_shape_b_input(s, i)) {
            CUZK_VERIFY(n_in < q->n_in);
            q->inputs[n_in++] = i;
        }
    CUZK_VERIFY(n_in == q->n_in);
    const uint64_t *dense_map = r1cs_shape_dense_map(s);
    if (!q->density) {
        q->dense = dense_map;
        q->n_dense = c->n_dense;
        return cuzk_ok();
    }
    q->own_dense = mem_zalloc(words_of(q->n) * 8, 64);
    q->member = mem_zalloc(words_of(c->n_dense) * 8, 64);
    if (!q->own_dense || !q->member)
        return cuzk_fail(CUZK_E_NOMEM, "query maps of %llu bits", (unsigned long long)q->n);
    q->dense = q->own_dense;
    bit_writer b = {q->own_dense, 0}, mb = {q->member, 0};
    for (uint64_t i = 0; i < q->n_in; i++)
        put_bits(&b, 1, 1);
    append_selected(&b, dense_map, q->density, words_of(c->n_aux));
    CUZK_VERIFY(b.pos == q->n);
    append_selected(&mb, q->density, dense_map, words_of(c->n_aux));
    CUZK_VERIFY(mb.pos == c->n_dense);
    q->n_dense = g16_query_count(q, 0, q->n);
    return cuzk_ok();
}

cuzk_status g16_query_init(g16_query *q, g16_query_id id, const r1cs_shape *s)
{
    const r1cs_counts *c = r1cs_shape_counts(s);
    switch (id) {
    case QUERY_L:
        *q = (g16_query){.sec = G16_L, .n = c->n_aux};
        break;
    case QUERY_A:
        *q = (g16_query){.sec = G16_A,
                         .n = c->n_inputs + c->a_aux,
                         .n_in = c->n_inputs,
                         .density = r1cs_shape_a_density(s)};
        break;
    default:
        *q = (g16_query){.sec = G16_B_G1,
                         .n = c->b_inputs + c->b_aux,
                         .n_in = c->b_inputs,
                         .density = r1cs_shape_b_density(s)};
    }
    cuzk_status st = query_build(q, s);
    if (st.code != CUZK_OK)
        g16_query_fini(q);
    return st;
}

void g16_query_fini(g16_query *q)
{
    mem_free(q->own_dense);
    mem_free(q->member);
    mem_free(q->inputs);
    *q = (g16_query){0};
}

uint64_t g16_query_count(const g16_query *q, uint64_t first, uint64_t n)
{
    CUZK_ASSERT(first % 64 == 0);
    const uint64_t *d = q->dense + first / 64;
    uint64_t count = 0;
    for (uint64_t k = 0; k < n / 64; k++)
        count += popcount(d[k]);
    if (n % 64)
        count += popcount(d[n / 64] & (((uint64_t)1 << n % 64) - 1));
    return count;
}

void g16_query_sources(uint32_t *src, const g16_query *q, uint64_t n, uint64_t *ordinal,
                       uint64_t *next_dense)
{
    uint64_t i = 0, d = *next_dense;
    for (; i < n && *ordinal + i < q->n_in; i++)
        src[i] = R1CS_INPUT | q->inputs[*ordinal + i];
    for (; i < n; i++) {
        if (q->member) {
            while (!(q->member[d >> 6] >> (d & 63)))
                d = (d | 63) + 1;
            d += (uint64_t)__builtin_ctzll(q->member[d >> 6] >> (d & 63));
        }
        src[i] = (uint32_t)d++;
    }
    *ordinal += n;
    *next_dense = d;
}
