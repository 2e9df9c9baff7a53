/* Points times scalars in step: every batch does the same step of all points, so that an inversion
 * serves hundreds of affine additions. Windows have a fixed place, not one that depends on the
 * digits: batches stay full. */
#include "msm/msm_each.h"
#include "base/mem.h"
#include "ec/g1_endo.h"
#include "msm/msm_int.h"

#define WINDOW 4u
#define N_WINDOWS 32u
#define N_TABLE 8u /* P to 8 P */

typedef struct each_scratch {
    g1_aff table[N_TABLE][MSM_EACH_MAX]; /* table[d - 1][i] = d P_i */
    g1_aff turned[MSM_EACH_MAX];         /* phi of table entries */
    g1_aff prod[MSM_EACH_MAX];           /* f y of butterflies */
    msm_product in[MSM_EACH_MAX];
    msm_op ops[MSM_BATCH];
    _Alignas(64) unsigned char field[2 * MSM_BATCH * MSM_FIELD_BYTES_MAX];
} each_scratch;

struct msm_each {
    const msm_group *g;
    unsigned n_threads;
    each_scratch *s;
};

msm_each *msm_each_create(unsigned n_threads)
{
    msm_each *e = mem_alloc(sizeof *e, 64);
    if (!e)
        return NULL;
    *e = (msm_each){.g = msm_group_g1(), .n_threads = n_threads};
    e->s = mem_alloc(n_threads * sizeof *e->s, 64);
    if (e->s)
        return e;
    mem_free(e);
    return NULL;
}

void msm_each_destroy(msm_each *e)
{
    if (!e)
        return;
    mem_free(e->s);
    mem_free(e);
}

/* Low digits first, carrying into the next: with |k| < 2^127 the last one is at most 8. */
void msm_factor_set(msm_factor *f, const fr_int *k)
{
    g1_split s;
    g1_split_scalar(&s, k);
    for (int part = 0; part < 2; part++) {
        int carry = 0;
        for (unsigned w = 0; w < N_WINDOWS; w++) {
            int d = (int)(s.k[part][w / 16] >> (WINDOW * (w % 16)) & 15) + carry;
            carry = d > 8;
            if (carry)
                d -= 16;
            f->d[part][w] = (int8_t)(s.neg[part] ? -d : d);
        }
        CUZK_ASSERT(carry == 0);
    }
}

static void add_batch(const msm_each *e, each_scratch *s, size_t n, bool with_signs)
{
    if (n > 0)
        e->g->batch_add(&(msm_batch){.ops = s->ops, .n = n, .with_signs = with_signs}, s->field);
}

/* Entry d from those of a and b, a + b = d. */
typedef struct table_step {
    uint8_t d, a, b;
} table_step;

static void table_entries(const msm_each *e, each_scratch *s, const table_step *steps,
                          size_t n_steps, size_t n)
{
    CUZK_ASSERT(n_steps * n <= MSM_BATCH);
    size_t n_ops = 0;
    for (size_t k = 0; k < n_steps; k++)
        for (size_t i = 0; i < n; i++)
            s->ops[n_ops++] = (msm_op){.a = &s->table[steps[k].a - 1][i],
                                       .b = &s->table[steps[k].b - 1][i],
                                       .out = &s->table[steps[k].d - 1][i]};
    add_batch(e, s, n_ops, false);
}

static void make_table(const msm_each *e, each_scratch *s, const msm_product *in, size_t n)
{
    /* A batch may not read what it writes. */
    static const table_step two[] = {{2, 1, 1}}, to_four[] = {{3, 2, 1}, {4, 2, 2}},
                            to_six[] = {{5, 4, 1}, {6, 3, 3}}, to_eight[] = {{7, 4, 3}, {8, 4, 4}};
    for (size_t i = 0; i < n; i++)
        s->table[0][i] = *in[i].p;
    table_entries(e, s, two, 1, n);
    table_entries(e, s, to_four, 2, n);
    table_entries(e, s, to_six, 2, n);
    table_entries(e, s, to_eight, 2, n);
}

static void double_all(const msm_each *e, each_scratch *s, g1_aff *acc, size_t n)
{
    for (unsigned k = 0; k < WINDOW; k++) {
        for (size_t i = 0; i < n; i++)
            s->ops[i] = (msm_op){.a = &acc[i], .b = &acc[i], .out = &acc[i]};
        add_batch(e, s, n, false);
    }
}

/* acc += digit w of one part; of part 1 the table entries are turned first. */
static void add_digits(const msm_each *e, each_scratch *s, g1_aff *acc, const msm_product *in,
                       size_t n, unsigned part, unsigned w)
{
    size_t n_ops = 0;
    for (size_t i = 0; i < n; i++) {
        int d = in[i].f->d[part][w];
        if (d == 0)
            continue;
        const g1_aff *p = &s->table[(d < 0 ? -d : d) - 1][i];
        if (part == 1) {
            g1_aff_phi(&s->turned[i], p);
            p = &s->turned[i];
        }
        s->ops[n_ops++] =
            (msm_op){.a = &acc[i], .b = p, .out = &acc[i], .neg = d < 0 ? MSM_NEG_B : 0};
    }
    add_batch(e, s, n_ops, true);
}

void msm_each_mul(msm_each *e, unsigned thread, g1_aff *out, const msm_product *in, size_t n)
{
    CUZK_ASSERT(n <= MSM_EACH_MAX && thread < e->n_threads);
    each_scratch *s = &e->s[thread];
    make_table(e, s, in, n);
    memset(out, 0, n * sizeof *out);
    for (unsigned w = N_WINDOWS; w-- > 0;) {
        if (w + 1 < N_WINDOWS)
            double_all(e, s, out, n);
        add_digits(e, s, out, in, n, 0, w);
        add_digits(e, s, out, in, n, 1, w);
    }
}

void msm_each_butterfly(msm_each *e, unsigned thread, const msm_butterfly *b, size_t n)
{
    CUZK_ASSERT(n <= MSM_EACH_MAX && thread < e->n_threads);
    each_scratch *s = &e->s[thread];
    for (size_t i = 0; i < n; i++) {
        s->in[i] = (msm_product){b[i].y, b[i].f};
        s->prod[i] = *b[i].y;
    }
    if (n > 0 && b[0].f)
        msm_each_mul(e, thread, s->prod, s->in, n);
    for (unsigned plus = 0; plus < 2; plus++) {
        for (size_t i = 0; i < n; i++)
            s->ops[i] = (msm_op){.a = b[i].x,
                                 .b = &s->prod[i],
                                 .out = plus ? b[i].x : b[i].y,
                                 .neg = plus ? 0 : MSM_NEG_B};
        add_batch(e, s, n, !plus);
    }
}
