/* Terms are collected, those with a scalar multiplied in step, and all sums of a piece added as
 * trees at once. A sum that is longer than a piece goes on in the next one with what it has. */
#include "msm/msm_sums.h"
#include "base/mem.h"
#include "msm/msm_int.h"

#define PIECE 4096u /* terms; no more than the group's piece */

struct msm_sums {
    const msm_group *g;
    msm_scratch *scratch;
    msm_each *each;
    g1_aff *out; /* of the first sum of this piece */
    size_t n_terms, n_closed, n_products;
    uint32_t open_len; /* terms of the sum that is not closed */
    uint32_t lens[PIECE], refs[PIECE];
    uint16_t places[MSM_EACH_MAX]; /* of the products among the terms */
    msm_product products[MSM_EACH_MAX];
    g1_aff results[MSM_EACH_MAX];
    g1_aff terms[PIECE];
};

msm_sums *msm_sums_create(void)
{
    msm_sums *s = mem_alloc(sizeof *s, 64);
    if (!s)
        return NULL;
    s->g = msm_group_g1();
    s->scratch = msm_scratch_create(s->g, 1);
    s->each = msm_each_create(1);
    if (s->scratch && s->each)
        return s;
    msm_sums_destroy(s);
    return NULL;
}

void msm_sums_destroy(msm_sums *s)
{
    if (!s)
        return;
    mem_free(s->scratch);
    msm_each_destroy(s->each);
    mem_free(s);
}

static void reset(msm_sums *s)
{
    s->n_terms = s->n_closed = s->n_products = 0;
    s->open_len = 0;
}

void msm_sums_begin(msm_sums *s, g1_aff *out)
{
    CUZK_ASSERT(PIECE <= s->g->piece);
    reset(s);
    s->out = out;
}

static void multiply(msm_sums *s)
{
    msm_each_mul(s->each, 0, s->results, s->products, s->n_products);
    for (size_t i = 0; i < s->n_products; i++)
        s->terms[s->places[i]] = s->results[i];
    s->n_products = 0;
}

/* Add up the piece. Sums without terms are infinity and take no part in the trees. */
static void add_up(msm_sums *s)
{
    multiply(s);
    size_t n_segs = 0, i = 0;
    for (size_t k = 0; k < s->n_closed; k++)
        if (s->lens[k] > 0)
            s->scratch->seg_len[n_segs++] = s->lens[k];
    if (s->open_len > 0)
        s->scratch->seg_len[n_segs++] = s->open_len;
    for (size_t k = 0; k < s->n_terms; k++)
        s->refs[k] = (uint32_t)k;
    if (n_segs > 0)
        msm_tree_sum(s->g, s->scratch, s->terms, s->refs, n_segs);
    const g1_aff *sums = s->scratch->pts;
    for (size_t k = 0; k < s->n_closed; k++)
        s->out[k] = s->lens[k] > 0 ? sums[i++] : (g1_aff){0};
    s->out += s->n_closed;
    bool goes_on = s->open_len > 0;
    if (goes_on)
        s->terms[0] = sums[i];
    reset(s);
    s->n_terms = s->open_len = goes_on;
}

static g1_aff *next_term(msm_sums *s)
{
    if (s->n_terms == PIECE)
        add_up(s);
    s->open_len++;
    return &s->terms[s->n_terms++];
}

void msm_sums_add(msm_sums *s, const g1_aff *p, bool negate)
{
    g1_aff *t = next_term(s);
    if (negate)
        g1_aff_neg(t, p);
    else
        *t = *p;
}

void msm_sums_add_product(msm_sums *s, const g1_aff *p, const msm_factor *f)
{
    g1_aff *t = next_term(s);
    if (s->n_products == MSM_EACH_MAX)
        multiply(s);
    s->places[s->n_products] = (uint16_t)(t - s->terms);
    s->products[s->n_products++] = (msm_product){p, f};
}

void msm_sums_close(msm_sums *s)
{
    if (s->n_closed == PIECE)
        add_up(s);
    s->lens[s->n_closed++] = s->open_len;
    s->open_len = 0;
}

void msm_sums_finish(msm_sums *s)
{
    CUZK_ASSERT(s->open_len == 0);
    add_up(s);
}
