/* Laying a constraint system out as one image for the device. */
#include "gpu/gpu_shape_int.h"
#include "base/mem.h"
#include "r1cs/layout.h"
#include <string.h>

#define N_ROWS_MAX (1u << 28) /* the largest domain */
#define IMAGE_ALIGN 256u

struct gpu_shape {
    gpu_shape_head *image;
    const void *d_image;
};

/* The parts of an image under construction. */
typedef struct builder {
    const r1cs_shape *s;
    bool less_ones;
    gpu_shape_head h;
    char *image;
    gpu_shape_segment *segments;
    uint32_t *steps, *row_off, *wires, *wire_vars, *dense_aux;
    gpu_shape_term *terms;
    /* Filled so far. */
    uint32_t n_rows, n_terms, n_wires, n_dense_aux;
    uint32_t *tmpl_row, *tmpl_dense; /* per template: first row, first entry of dense_aux */
    uint32_t *plain;
    /* Rows of the table before each one that are not plain, and not plain if a wire is a field
     * element: not_plain[0] and [1]. */
    uint32_t *not_plain[2];
} builder;

static cuzk_status too_large(const char *what, uint64_t n, uint64_t max)
{
    return cuzk_fail(CUZK_E_UNSUPPORTED, "%s: %llu, device images hold up to %llu", what,
                     (unsigned long long)n, (unsigned long long)max);
}

static bool is_dense(const r1cs_shape *s, r1cs_var aux)
{
    return r1cs_shape_dense_map(s)[aux >> 6] >> (aux & 63) & 1;
}

/* Dense variables before an aux variable (at most n_aux). */
static uint32_t dense_before(const r1cs_shape *s, uint64_t aux)
{
    uint32_t n = r1cs_shape_dense_rank(s)[aux >> 6];
    if (aux & 63)
        n += (uint32_t)__builtin_popcountll(r1cs_shape_dense_map(s)[aux >> 6] &
                                            ((1ull << (aux & 63)) - 1));
    return n;
}

/* Where a variable's value lies in a witness. */
static uint32_t ref_of_var(const r1cs_shape *s, r1cs_var v)
{
    if (v & R1CS_INPUT)
        return gpu_ref(GPU_REF_INPUT, v & ~R1CS_INPUT);
    return is_dense(s, v) ? gpu_ref(GPU_REF_DENSE, dense_before(s, v)) : gpu_ref(GPU_REF_BIT, v);
}

static cuzk_status rows_count(gpu_shape_head *h, const r1cs_rows *r)
{
    for (uint64_t k = 0; k < 3 * r->n_rows; k++)
        if (r->off[k + 1] - r->off[k] > GPU_SHAPE_TERMS_MAX)
            return too_large("terms of a row", r->off[k + 1] - r->off[k], GPU_SHAPE_TERMS_MAX);
    uint64_t n_rows = h->n_table_rows + r->n_rows;
    uint64_t n_terms = h->n_terms + (r->n_rows ? r->off[3 * r->n_rows] : 0);
    if (n_rows > N_ROWS_MAX)
        return too_large("rows of templates", n_rows, N_ROWS_MAX);
    if (n_terms >= GPU_REF_MAX)
        return too_large("terms of templates", n_terms, GPU_REF_MAX - 1);
    h->n_table_rows = (uint32_t)n_rows;
    h->n_terms = (uint32_t)n_terms;
    return cuzk_ok();
}

static cuzk_status counts_take(builder *b)
{
    const r1cs_counts *n = r1cs_shape_counts(b->s);
    gpu_shape_head *h = &b->h;
    size_t n_coeffs, n_wires, n_segments = r1cs_shape_n_segments(b->s);
    (void)r1cs_shape_coeffs(b->s, &n_coeffs);
    (void)r1cs_shape_wires(b->s, &n_wires);
    if (n->n_rows + n->n_inputs > N_ROWS_MAX)
        return too_large("rows", n->n_rows + n->n_inputs, N_ROWS_MAX);
    if (n->n_aux >= GPU_REF_MAX || n_coeffs >= GPU_REF_MAX || n_segments >= GPU_REF_MAX)
        return too_large("variables", n->n_aux, GPU_REF_MAX - 1);
    for (size_t i = 0; i < r1cs_shape_n_templates(b->s); i++) {
        r1cs_template_view t = r1cs_shape_template(b->s, i);
        CUZK_TRY(rows_count(h, &t.rows));
        h->n_dense_aux += t.n_dense;
    }
    r1cs_rows loose = r1cs_shape_loose(b->s);
    CUZK_TRY(rows_count(h, &loose));
    for (uint64_t i = 0; i < (loose.n_rows ? loose.off[3 * loose.n_rows] : 0); i++)
        n_wires += !(loose.terms[i].var & R1CS_INPUT) && is_dense(b->s, loose.terms[i].var);
    if (n_wires >= GPU_REF_MAX)
        return too_large("wires", n_wires, GPU_REF_MAX - 1);
    h->n_rows = (uint32_t)n->n_rows;
    h->n_inputs = (uint32_t)n->n_inputs;
    h->n_aux = (uint32_t)n->n_aux;
    h->n_dense = (uint32_t)n->n_dense;
    h->n_segments = (uint32_t)n_segments;
    h->n_steps = (h->n_rows + (1u << GPU_SHAPE_LG_STEP) - 1) >> GPU_SHAPE_LG_STEP;
    h->n_wires = (uint32_t)n_wires;
    h->n_coeffs = (uint32_t)n_coeffs;
    return cuzk_ok();
}

static uint64_t section(gpu_shape_head *h, uint64_t n, size_t elem_bytes)
{
    uint64_t at = h->bytes;
    h->bytes += (n * elem_bytes + IMAGE_ALIGN - 1) / IMAGE_ALIGN * IMAGE_ALIGN;
    return at;
}

static cuzk_status image_alloc(builder *b)
{
    gpu_shape_head *h = &b->h;
    (void)section(h, 1, sizeof *h);
    h->segments_at = section(h, h->n_segments, sizeof(gpu_shape_segment));
    h->steps_at = section(h, h->n_steps + 1ull, 4);
    h->row_off_at = section(h, 3ull * h->n_table_rows + 1, 4);
    h->terms_at = section(h, h->n_terms, sizeof(gpu_shape_term));
    h->wires_at = section(h, h->n_wires, 4);
    h->wire_vars_at = section(h, h->n_wires, 4);
    h->dense_aux_at = section(h, h->n_dense_aux, 4);
    h->coeffs_at = section(h, h->n_coeffs, sizeof(fr));
    h->small_at = section(h, h->n_coeffs, 8);
    h->ints_at = section(h, 2 * GPU_SHAPE_INTS + 1, sizeof(fr));
    uint32_t n_chunks = gpu_shape_chunks(h->n_rows, h->n_inputs);
    h->plain_at = section(h, n_chunks / 32 + 1ull, 4);
    h->others_at = section(h, n_chunks, 4); /* the last: cut when it is full */
    b->image = mem_zalloc(h->bytes, IMAGE_ALIGN);
    size_t n_tmpl = r1cs_shape_n_templates(b->s);
    b->tmpl_row = mem_zalloc(2 * (n_tmpl + 1) * sizeof *b->tmpl_row, 64);
    b->not_plain[0] = mem_zalloc(2 * (h->n_table_rows + 1ull) * sizeof(uint32_t), 64);
    if (!b->image || !b->tmpl_row || !b->not_plain[0])
        return cuzk_fail(CUZK_E_NOMEM, "device image of %llu bytes", (unsigned long long)h->bytes);
    b->tmpl_dense = b->tmpl_row + n_tmpl + 1;
    b->not_plain[1] = b->not_plain[0] + h->n_table_rows + 1;
    b->plain = (uint32_t *)(b->image + h->plain_at);
    b->segments = (gpu_shape_segment *)(b->image + h->segments_at);
    b->steps = (uint32_t *)(b->image + h->steps_at);
    b->row_off = (uint32_t *)(b->image + h->row_off_at);
    b->terms = (gpu_shape_term *)(b->image + h->terms_at);
    b->wires = (uint32_t *)(b->image + h->wires_at);
    b->wire_vars = (uint32_t *)(b->image + h->wire_vars_at);
    b->dense_aux = (uint32_t *)(b->image + h->dense_aux_at);
    memcpy(b->image, h, sizeof *h);
    return cuzk_ok();
}

/* The reference of a term's variable. */
typedef uint32_t ref_fn(builder *b, const void *ctx, r1cs_var v);

/* one: what ONE is in the terms. */
static void rows_put(builder *b, const r1cs_rows *r, r1cs_var one, ref_fn *ref, const void *ctx)
{
    for (uint64_t k = 0; k < 3 * r->n_rows; k++) {
        bool less_one = b->less_ones && k % 3 == 0 && r1cs_row_is_boolean(r, k / 3, one);
        for (uint64_t i = r->off[k]; i < r->off[k + 1]; i++)
            if (!less_one || r->terms[i].var != one)
                b->terms[b->n_terms++] =
                    (gpu_shape_term){ref(b, ctx, r->terms[i].var), r->terms[i].coeff};
        b->row_off[3 * b->n_rows + k + 1] = b->n_terms;
    }
    b->n_rows += (uint32_t)r->n_rows;
}

/* A template, and 1 + the number among its own dense variables, 0 for bits, of each of its own. */
typedef struct local_refs {
    const r1cs_template_view *t;
    const uint32_t *rank;
} local_refs;

static uint32_t ref_of_local(builder *b, const void *ctx, r1cs_var local)
{
    const local_refs *l = ctx;
    (void)b;
    if (local == 0)
        return gpu_ref(GPU_REF_INPUT, 0);
    if (local <= l->t->n_wires)
        return gpu_ref(GPU_REF_WIRE, local - 1);
    uint32_t own = local - 1 - l->t->n_wires;
    return l->rank[own] ? gpu_ref(GPU_REF_DENSE, l->rank[own] - 1) : gpu_ref(GPU_REF_BIT, own);
}

static cuzk_status template_put(builder *b, size_t i)
{
    r1cs_template_view t = r1cs_shape_template(b->s, i);
    uint32_t *rank = mem_zalloc((t.n_aux + 1ull) * sizeof *rank, 64);
    if (!rank)
        return cuzk_fail(CUZK_E_NOMEM, "ranks of %u variables", t.n_aux);
    for (uint32_t d = 0; d < t.n_dense; d++)
        rank[t.dense[d]] = d + 1;
    b->tmpl_row[i] = b->n_rows;
    b->tmpl_dense[i] = b->n_dense_aux;
    rows_put(b, &t.rows, 0, ref_of_local, &(local_refs){&t, rank});
    for (uint32_t d = 0; d < t.n_dense; d++)
        b->dense_aux[b->n_dense_aux++] = t.dense[d];
    mem_free(rank);
    return cuzk_ok();
}

static uint32_t wire_put(builder *b, r1cs_var v)
{
    b->wires[b->n_wires] = ref_of_var(b->s, v);
    b->wire_vars[b->n_wires] = v;
    return b->n_wires++;
}

/* Loose rows hold global variables; the dense ones become wires, which know both the variable and
 * the place of its value. */
static uint32_t ref_of_global(builder *b, const void *ctx, r1cs_var v)
{
    uint32_t ref = ref_of_var(b->s, v);
    (void)ctx;
    return gpu_ref_kind(ref) == GPU_REF_DENSE ? gpu_ref(GPU_REF_WIRE, wire_put(b, v)) : ref;
}

static void loose_put(builder *b)
{
    r1cs_rows r = r1cs_shape_loose(b->s);
    b->tmpl_row[r1cs_shape_n_templates(b->s)] = b->n_rows;
    rows_put(b, &r, R1CS_ONE, ref_of_global, NULL);
}

static cuzk_status segments_put(builder *b)
{
    uint64_t row = 0;
    uint32_t step = 0;
    for (uint32_t i = 0; i < b->h.n_segments; i++) {
        r1cs_segment_view g = r1cs_shape_segment(b->s, i);
        gpu_shape_segment *o = &b->segments[i];
        CUZK_VERIFY(g.row_base == row && row + g.n_rows <= b->h.n_rows);
        *o = (gpu_shape_segment){.row_base = (uint32_t)row, .n_rows = (uint32_t)g.n_rows};
        if (g.tmpl == R1CS_SEGMENT_LOOSE) {
            o->row_first = b->tmpl_row[r1cs_shape_n_templates(b->s)] + (uint32_t)g.first;
        } else {
            o->row_first = b->tmpl_row[g.tmpl];
            o->dense_first = b->tmpl_dense[g.tmpl];
            o->aux_base = g.aux_base;
            o->dense_base = dense_before(b->s, g.aux_base);
            o->wires_first = (uint32_t)g.first;
        }
        row += g.n_rows;
        for (; (uint64_t)step << GPU_SHAPE_LG_STEP < row; step++)
            b->steps[step] = i;
    }
    CUZK_VERIFY(row == b->h.n_rows && step == b->h.n_steps);
    b->steps[step] = b->h.n_segments ? b->h.n_segments - 1 : 0;
    return cuzk_ok();
}

/* A coefficient as a small integer. */
static int64_t small_of(const fr *c)
{
    fr neg;
    fr_int v;
    fr_to_int(&v, c);
    if (!(v.l[1] | v.l[2] | v.l[3]) && v.l[0] <= (uint64_t)GPU_SHAPE_SMALL_MAX)
        return (int64_t)v.l[0];
    fr_neg(&neg, c);
    fr_to_int(&v, &neg);
    if (!(v.l[1] | v.l[2] | v.l[3]) && v.l[0] <= (uint64_t)GPU_SHAPE_SMALL_MAX)
        return -(int64_t)v.l[0];
    return GPU_SHAPE_LARGE;
}

static void coeffs_put(builder *b)
{
    size_t n;
    const fr *c = r1cs_shape_coeffs(b->s, &n);
    fr *ints = (fr *)(b->image + b->h.ints_at) + GPU_SHAPE_INTS;
    int64_t *small = (int64_t *)(b->image + b->h.small_at);
    memcpy(b->image + b->h.coeffs_at, c, n * sizeof *c);
    for (size_t i = 0; i < n; i++)
        small[i] = small_of(&c[i]);
    for (uint64_t i = 0; i <= GPU_SHAPE_INTS; i++) {
        fr_from_u64(&ints[i], i);
        fr_neg(ints - i, &ints[i]);
    }
}

/* Counts of rows that are not plain; after terms and coefficients. */
static void not_plain_count(builder *b)
{
    const int64_t *small = (const int64_t *)(b->image + b->h.small_at);
    for (uint32_t row = 0; row < b->n_rows; row++) {
        bool not_plain = false, wires = false;
        for (uint32_t k = b->row_off[3 * row]; k < b->row_off[3 * row + 2]; k++) {
            uint32_t ref = b->terms[k].ref, kind = gpu_ref_kind(ref);
            not_plain |= kind == GPU_REF_DENSE || (kind == GPU_REF_INPUT && gpu_ref_n(ref) != 0) ||
                         small[b->terms[k].coeff] == GPU_SHAPE_LARGE;
            wires |= kind == GPU_REF_WIRE;
        }
        b->not_plain[0][row + 1] = b->not_plain[0][row] + not_plain;
        b->not_plain[1][row + 1] = b->not_plain[1][row] + (not_plain || wires);
    }
}

/* Clear the bits of `plain` of a segment's other rows. */
static void segment_plain(builder *b, const gpu_shape_segment *g, uint32_t n_wires, bool loose)
{
    bool all_bits = !loose; /* only the dense variables of loose rows are wires */
    for (uint32_t i = 0; i < n_wires && all_bits; i++)
        all_bits = gpu_ref_kind(b->wires[g->wires_first + i]) == GPU_REF_BIT;
    const uint32_t *count = b->not_plain[all_bits ? 0 : 1] + g->row_first;
    for (uint64_t row = g->row_base, end = row + g->n_rows; row < end;) {
        uint64_t chunk = row >> GPU_SHAPE_LG_CHUNK, next = (chunk + 1) << GPU_SHAPE_LG_CHUNK;
        next = next < end ? next : end;
        if (count[next - g->row_base] != count[row - g->row_base])
            b->plain[chunk / 32] &= ~(1u << (chunk % 32));
        row = next;
    }
}

static void plain_put(builder *b)
{
    uint32_t n_chunks = gpu_shape_chunks(b->h.n_rows, b->h.n_inputs);
    not_plain_count(b);
    memset(b->plain, 0xff, (n_chunks / 32 + 1) * sizeof *b->plain);
    for (uint32_t i = 0; i < b->h.n_segments; i++) {
        r1cs_segment_view g = r1cs_shape_segment(b->s, i);
        bool loose = g.tmpl == R1CS_SEGMENT_LOOSE;
        segment_plain(b, &b->segments[i], loose ? 0 : r1cs_shape_template(b->s, g.tmpl).n_wires,
                      loose);
    }
    for (uint32_t k = b->h.n_rows >> GPU_SHAPE_LG_CHUNK; k < n_chunks; k++)
        b->plain[k / 32] &= ~(1u << (k % 32));
}

/* The other chunks, in the order of the blocks of the smallest domain. */
static void others_put(builder *b)
{
    uint32_t n_chunks = gpu_shape_chunks(b->h.n_rows, b->h.n_inputs);
    uint32_t lg_m = r1cs_shape_counts(b->s)->lg_m;
    uint32_t *others = (uint32_t *)(b->image + b->h.others_at);
    gpu_shape_head *h = (gpu_shape_head *)(void *)b->image;
    uint64_t n_blocks = 1ull << (lg_m > GPU_SHAPE_LG_BLOCK ? lg_m - GPU_SHAPE_LG_BLOCK : 0);
    for (uint64_t i = 0; i < n_blocks << GPU_SHAPE_LG_HIGH; i++) {
        uint32_t k = gpu_shape_chunk_of(lg_m, (uint32_t)(i >> GPU_SHAPE_LG_HIGH),
                                        i & ((1u << GPU_SHAPE_LG_HIGH) - 1));
        if (k < n_chunks && !(b->plain[k / 32] >> (k % 32) & 1))
            others[b->h.n_others++] = k;
    }
    b->h.bytes = b->h.others_at;
    (void)section(&b->h, b->h.n_others, sizeof *others);
    *h = b->h;
}

static cuzk_status image_build(builder *b)
{
    CUZK_TRY(counts_take(b));
    CUZK_TRY(image_alloc(b));
    size_t n_wires;
    const r1cs_var *wires = r1cs_shape_wires(b->s, &n_wires);
    for (size_t i = 0; i < n_wires; i++)
        (void)wire_put(b, wires[i]);
    for (size_t i = 0; i < r1cs_shape_n_templates(b->s); i++)
        CUZK_TRY(template_put(b, i));
    loose_put(b);
    coeffs_put(b);
    CUZK_TRY(segments_put(b));
    plain_put(b);
    others_put(b);
    return cuzk_ok();
}

cuzk_status gpu_shape_create(gpu_shape **out, const r1cs_shape *s, bool less_ones)
{
    builder b = {.s = s, .less_ones = less_ones};
    *out = NULL;
    cuzk_status st = image_build(&b);
    mem_free(b.tmpl_row);
    mem_free(b.not_plain[0]);
    gpu_shape *g = st.code == CUZK_OK ? mem_zalloc(sizeof *g, 64) : NULL;
    if (!g) {
        mem_free(b.image);
        return st.code == CUZK_OK ? cuzk_fail(CUZK_E_NOMEM, "a device image's handle") : st;
    }
    g->image = (gpu_shape_head *)(void *)b.image;
    *out = g;
    return cuzk_ok();
}

void gpu_shape_destroy(gpu_shape *g)
{
    if (!g)
        return;
    mem_free(g->image);
    mem_free(g);
}

const void *gpu_shape_image(const gpu_shape *g) { return g->image; }
size_t gpu_shape_bytes(const gpu_shape *g) { return g->image->bytes; }
void gpu_shape_bind(gpu_shape *g, const void *d_mem) { g->d_image = d_mem; }
gpu_shape_view gpu_shape_host_view(const gpu_shape *g)
{
    return gpu_shape_view_at(g->image, g->image);
}

gpu_shape_view gpu_shape_device_view(const gpu_shape *g)
{
    gpu_shape_view none = {0};
    return g->d_image ? gpu_shape_view_at(g->image, g->d_image) : none;
}
