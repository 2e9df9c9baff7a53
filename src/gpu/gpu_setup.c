/* The set-up on the device, step by step; what each section holds is in circuits' terms in
 * groth16/setup.c. Variable time, as there: who knows tau can forge proofs. The secrets are wiped. */
#include "gpu/gpu_setup_emit.h"
#include "base/mem.h"
#include "base/span_names.h"
#include "gpu/gpu_fixed.h"
#include "gpu/gpu_setup_steps.h"
#include "groth16/evkey.h"
#include "groth16/params_out.h"
#include <string.h>

/* Bytes of points that a sink gets at a time: a chunk of fixed-base products. */
#define STAGE_BYTES ((size_t)96 << 21)

/* Parts of the workspace: offsets. The Lagrange values and lists of the first steps share their
 * place with the tables and sums of the last. */
typedef struct scratch_plan {
    size_t image, q[3], idx, map, rank, ic, fold, fold_inputs, rows, flags, stage, lag, lists, rest,
        bytes;
} scratch_plan;

typedef struct setup {
    const gpu_key_mem *mem; /* NULL: the points go to sink */
    const gpu_setup_sink *sink;
    bool is_ev; /* evaluation form */
    const r1cs_shape *s;
    const r1cs_counts *c;
    const g16_toxic *t;
    const gpu_msm_ws *ws;
    const gpu_run *run;
    gpu_setup_image im;
    scratch_plan p;
    gpu_setup_weights weights;
    fr h_first; /* (tau^m - 1) / delta */
    size_t n_vars, n_g1;
    uint32_t n[G16_N_SECTIONS];
} setup;

/* Words of the device where kernels report the lowest zero. */
enum { FLAG_UNBOUND, FLAG_A, FLAG_B, FLAG_NEVER, N_FLAGS };

void gpu_setup_counts(uint32_t n[G16_N_SECTIONS], const r1cs_shape *s, bool is_evaluation)
{
    const r1cs_counts *c = r1cs_shape_counts(s);
    n[G16_H] = (uint32_t)(((uint64_t)1 << c->lg_m) - (is_evaluation ? 0 : 1));
    n[G16_L] = (uint32_t)(c->n_aux + (is_evaluation ? c->n_inputs : 0));
    n[G16_A] = (uint32_t)(c->n_inputs + c->a_aux);
    n[G16_B_G1] = n[G16_B_G2] = (uint32_t)(c->b_inputs + c->b_aux);
}

static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

static size_t row_words(const setup *su) { return (size_t)(su->c->n_rows + 63) / 64; }

static cuzk_status plan_scratch(setup *su)
{
    const r1cs_counts *c = su->c;
    const uint32_t *n = su->n;
    scratch_plan *p = &su->p;
    size_t words = (c->n_aux + 63) / 64, at = 0, lists = 0;
    size_t n_h = su->is_ev ? (size_t)1 << c->lg_m : 0; /* its factors come where those of l were */
    gpu_setup_counts(su->n, su->s, su->is_ev);
    su->n_vars = c->n_inputs + c->n_aux;
    su->n_g1 = c->n_inputs + (size_t)n[G16_H] + n[G16_L] + n[G16_A] + n[G16_B_G1];
    size_t g1 = gpu_fixed_bytes(GPU_MSM_G1, su->n_g1);
    size_t g2 = gpu_fixed_bytes(GPU_MSM_G2, n[G16_B_G2]);
    for (int side = 0; side < 3; side++)
        lists = max_size(lists, gpu_setup_query_bytes(gpu_setup_n_list(&su->im, side)));
    struct {
        size_t *at, bytes;
    } parts[] = {{&p->image, su->im.bytes},
                 {&p->q[0], su->n_vars * sizeof(fr)},
                 {&p->q[1], su->n_vars * sizeof(fr)},
                 {&p->q[2], max_size(su->n_vars, n_h) * sizeof(fr)},
                 {&p->idx, (size_t)(n[G16_A] > n[G16_B_G1] ? n[G16_A] : n[G16_B_G1]) * 4},
                 {&p->map, words * 8},
                 {&p->rank, words * 4},
                 {&p->ic, c->n_inputs * sizeof(g1_aff)},
                 {&p->fold, su->is_ev ? su->n_vars * sizeof(fr) : 0},
                 {&p->fold_inputs, su->is_ev ? c->n_inputs * sizeof(fr) : 0},
                 {&p->rows, su->is_ev ? row_words(su) * 8 : 0},
                 {&p->flags, N_FLAGS * sizeof(uint32_t)},
                 {&p->stage, su->mem ? 0 : STAGE_BYTES}};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        *parts[i].at = at;
        at += (parts[i].bytes + 255) / 256 * 256;
    }
    p->rest = p->lag = at;
    p->lists = at + ((sizeof(fr) << c->lg_m) + 255) / 256 * 256;
    p->bytes = max_size(p->lists + lists, at + max_size(g1, g2));
    return g1 > 0 && g2 > 0 && lists > 0
               ? cuzk_ok()
               : cuzk_fail(CUZK_E_DEVICE, "set-up of %s: no device answers",
                           r1cs_shape_name(su->s));
}

static cuzk_status scratch_bytes(size_t *bytes, const r1cs_shape *s, const gpu_key_mem *mem)
{
    setup su = {.mem = mem, .is_ev = mem && mem->is_evaluation, .s = s, .c = r1cs_shape_counts(s)};
    *bytes = 0;
    CUZK_TRY(gpu_setup_measure(&su.im, s));
    CUZK_TRY(plan_scratch(&su));
    *bytes = su.p.bytes;
    return cuzk_ok();
}

size_t gpu_setup_scratch_bytes(const r1cs_shape *s, bool is_evaluation)
{
    const gpu_key_mem resident = {.is_evaluation = is_evaluation};
    size_t bytes;
    return scratch_bytes(&bytes, s, &resident).code == CUZK_OK ? bytes : 0;
}

cuzk_status gpu_setup_emit_bytes(size_t *bytes, const r1cs_shape *s)
{
    return scratch_bytes(bytes, s, NULL);
}

static void *part(const setup *su, size_t at) { return (char *)su->ws->d_ws + at; }

static uint32_t *flag(const setup *su, unsigned i) { return (uint32_t *)part(su, su->p.flags) + i; }

static cuzk_status check_toxic(setup *su)
{
    const struct {
        const char *name;
        const fr *v;
    } vals[] = {{"alpha", &su->t->alpha},
                {"beta", &su->t->beta},
                {"gamma", &su->t->gamma},
                {"delta", &su->t->delta},
                {"tau", &su->t->tau}};
    fr z;
    for (size_t i = 0; i < ARRAY_LEN(vals); i++)
        if (fr_is_zero(vals[i].v))
            return cuzk_bad_input(vals[i].name, "a nonzero toxic value", "0");
    fr_pow_u64(&z, &su->t->tau, (uint64_t)1 << su->c->lg_m);
    fr_sub(&z, &z, &FR_ONE);
    if (fr_is_zero(&z))
        return cuzk_bad_input("tau", "a value outside the domain",
                              "a root of unity of order 2^%u or less", su->c->lg_m);
    gpu_setup_weights *w = &su->weights;
    *w = (gpu_setup_weights){.alpha = su->t->alpha,
                             .beta = su->t->beta,
                             .n_inputs = su->c->n_inputs,
                             .n_vars = su->c->n_inputs + su->c->n_aux};
    fr_inv(&w->gamma_inv, &su->t->gamma);
    fr_inv(&w->delta_inv, &su->t->delta);
    fr_mul(&su->h_first, &z, &w->delta_inv);
    mem_wipe(&z, sizeof z);
    return cuzk_ok();
}

static cuzk_status check_memory(setup *su)
{
    CUZK_TRY(plan_scratch(su));
    for (int i = 0; su->mem && i < G16_N_SECTIONS; i++)
        if (su->mem->n[i] != su->n[i])
            return cuzk_fail(CUZK_E_RANGE, "key section %d: expected %u points, found %u", i,
                             su->n[i], su->mem->n[i]);
    if (su->p.bytes > su->ws->bytes)
        return cuzk_fail(CUZK_E_RANGE, "set-up of %s in a workspace of %zu bytes, want %zu",
                         r1cs_shape_name(su->s), su->ws->bytes, su->p.bytes);
    return cuzk_ok();
}

static cuzk_status read_flags(uint32_t f[N_FLAGS], const setup *su)
{
    return gpu_setup_copy_out_sync(f, flag(su, 0), N_FLAGS * sizeof *f, su->run);
}

/* u, v, w and the weighted sum of the three. */
static cuzk_status sum_queries(setup *su)
{
    gpu_setup_query_args a = {&su->im, part(su, su->p.image), part(su, su->p.lag),
                              part(su, su->p.lists), su->n_vars};
    uint32_t f[N_FLAGS];
    gpu_run_group(su->run, SPAN_SETUP_QUERIES);
    for (int side = 0; side < 3; side++) {
        CUZK_TRY(gpu_run_slice(su->run));
        CUZK_TRY(gpu_setup_query(part(su, su->p.q[side]), side, &a, su->run));
    }
    CUZK_TRY(gpu_setup_input_rows(part(su, su->p.q[0]), a.d_lag, su->c->n_rows, su->c->n_inputs,
                                  su->run));
    CUZK_TRY(gpu_run_slice(su->run));
    CUZK_TRY(gpu_setup_combine(part(su, su->p.q[2]), part(su, su->p.q[0]), part(su, su->p.q[1]),
                               &su->weights, flag(su, FLAG_UNBOUND), su->run));
    gpu_run_group(su->run, NULL);
    CUZK_TRY(read_flags(f, su));
    if (f[FLAG_UNBOUND] == UINT32_MAX)
        return cuzk_ok();
    bool in = f[FLAG_UNBOUND] < su->c->n_inputs;
    return cuzk_bad_input(in ? "input variable" : "aux variable", "every variable in some row",
                          "unconstrained %s %u", in ? "input" : "aux",
                          f[FLAG_UNBOUND] - (in ? 0 : (uint32_t)su->c->n_inputs));
}

/* Side B's (C's) sums of what is in lag, added to (subtracted from) the factors of l; of the inputs to
 * those of their points. */
static cuzk_status fold_side(setup *su, int side)
{
    gpu_setup_query_args a = {&su->im, part(su, su->p.image), part(su, su->p.lag),
                              part(su, su->p.lists), su->n_vars};
    size_t n_inputs = su->c->n_inputs;
    char *f = part(su, su->p.fold), *l = part(su, su->p.q[2]);
    CUZK_TRY(gpu_run_slice(su->run));
    CUZK_TRY(gpu_setup_query(f, side, &a, su->run));
    CUZK_TRY(gpu_setup_fold_in(part(su, su->p.fold_inputs), f, n_inputs, side == 2, su->run));
    return gpu_setup_fold_in(l + n_inputs * sizeof(fr), f + n_inputs * sizeof(fr), su->c->n_aux,
                             side == 2, su->run);
}

static cuzk_status send_boolean_rows(const setup *su)
{
    uint64_t *bits = g16_evkey_boolean_rows(su->s);
    if (!bits)
        return cuzk_fail(CUZK_E_NOMEM, "boolean rows for domain 2^%u", su->c->lg_m);
    cuzk_status st = gpu_setup_copy_in_sync(part(su, su->p.rows), bits, row_words(su) * 8, su->run);
    mem_free(bits);
    return st;
}

/* From section l's factors to those of its evaluation form. Section h's place is free yet, and has
 * room for three vectors of the domain. */
static cuzk_status fold_quotient(setup *su)
{
    gpu_setup_d_args d = {su->mem->ntt, part(su, su->p.rows), su->mem->d[G16_H], su->c->n_rows,
                          su->c->lg_m};
    void *d_lag = part(su, su->p.lag);
    const fr *tau = &su->t->tau, *delta_inv = &su->weights.delta_inv;
    static_assert(sizeof(g1_aff) == 3 * sizeof(fr), "three vectors in section h");
    CUZK_TRY(send_boolean_rows(su));
    gpu_run_group(su->run, SPAN_SETUP_LAGRANGE);
    CUZK_TRY(gpu_setup_fill(part(su, su->p.fold_inputs), 0, su->c->n_inputs * sizeof(fr), su->run));
    CUZK_TRY(gpu_setup_g_factors(d_lag, tau, delta_inv, su->c->lg_m, su->run));
    CUZK_TRY(fold_side(su, 2));
    CUZK_TRY(gpu_setup_d_factors(d_lag, &d, tau, delta_inv, su->run));
    CUZK_TRY(fold_side(su, 1));
    gpu_run_group(su->run, NULL);
    return gpu_run_slice(su->run);
}

/* All up to the scalars. */
static cuzk_status make_scalars(setup *su)
{
    gpu_run_group(su->run, SPAN_UPLOAD);
    CUZK_TRY(gpu_setup_fill(flag(su, 0), 0xff, N_FLAGS * sizeof(uint32_t), su->run));
    CUZK_TRY(gpu_setup_copy_in_sync(part(su, su->p.image), su->im.p, su->im.bytes, su->run));
    gpu_run_group(su->run, NULL);
    CUZK_TRY(gpu_run_slice(su->run));
    gpu_run_group(su->run, SPAN_SETUP_LAGRANGE);
    CUZK_TRY(gpu_setup_lagrange(part(su, su->p.lag), &su->t->tau, su->c->lg_m, su->run));
    gpu_run_group(su->run, NULL);
    CUZK_TRY(sum_queries(su));
    return su->is_ev ? fold_quotient(su) : cuzk_ok();
}

/* The host's parts of a query's list of members: inputs, and ranks of the density map. */
typedef struct member_lists {
    uint32_t *inputs, *rank;
    size_t n_in, words;
    const uint64_t *map;
} member_lists;

static void list_members(member_lists *l, const setup *su, bool b)
{
    uint32_t rank = 0;
    l->map = b ? r1cs_shape_b_density(su->s) : r1cs_shape_a_density(su->s);
    l->n_in = 0;
    for (uint32_t i = 0; i < su->c->n_inputs; i++)
        if (!b || r1cs_shape_b_input(su->s, i))
            l->inputs[l->n_in++] = i;
    for (size_t k = 0; k < l->words; k++) {
        l->rank[k] = rank;
        rank += (uint32_t)__builtin_popcountll(l->map[k]);
    }
}

static cuzk_status send_members(const member_lists *l, const setup *su)
{
    uint32_t *d_idx = part(su, su->p.idx);
    gpu_setup_density d = {part(su, su->p.map), part(su, su->p.rank), su->c->n_aux,
                           su->c->n_inputs};
    CUZK_TRY(gpu_setup_copy_in_sync(d_idx, l->inputs, l->n_in * 4, su->run));
    CUZK_TRY(gpu_setup_copy_in_sync(part(su, su->p.map), l->map, l->words * 8, su->run));
    CUZK_TRY(gpu_setup_copy_in_sync(part(su, su->p.rank), l->rank, l->words * 4, su->run));
    return gpu_setup_members(d_idx + l->n_in, &d, su->run);
}

/* The variables of query a or b, in key order, to the device. */
static cuzk_status make_members(const setup *su, bool b)
{
    size_t words = (su->c->n_aux + 63) / 64;
    member_lists l = {.inputs = mem_alloc(su->c->n_inputs * 4, 64),
                      .rank = mem_alloc(words * 4, 64),
                      .words = words};
    cuzk_status st = cuzk_fail(CUZK_E_NOMEM, "%zu ranks of query %s", words, b ? "b" : "a");
    if (l.inputs && l.rank) {
        list_members(&l, su, b);
        st = send_members(&l, su);
    }
    mem_free(l.inputs);
    mem_free(l.rank);
    return st;
}

static cuzk_status check_query(const setup *su, unsigned i, const char *name)
{
    uint32_t f[N_FLAGS];
    CUZK_TRY(read_flags(f, su));
    if (f[i] == UINT32_MAX)
        return cuzk_ok();
    return cuzk_fail(CUZK_E_INPUT, "tau: element %u of query %s vanishes: choose another", f[i],
                     name);
}

static cuzk_status new_table(gpu_fixed *f, gpu_msm_group group, const setup *su)
{
    gpu_msm_ws ws = *su->ws;
    ws.d_ws = part(su, su->p.rest);
    ws.bytes = su->ws->bytes - su->p.rest;
    gpu_run_group(su->run, SPAN_SETUP_POWERS);
    CUZK_TRY(gpu_fixed_init(f, group, group == GPU_MSM_G2 ? su->n[G16_B_G2] : su->n_g1, &ws));
    gpu_run_group(su->run, NULL);
    return gpu_run_slice(su->run);
}

static cuzk_status fill_vk(g16_vk *vk, const setup *su)
{
    vk->n_ic = (uint32_t)su->c->n_inputs;
    vk->ic = mem_alloc(vk->n_ic * sizeof *vk->ic, 64);
    if (!vk->ic)
        return cuzk_fail(CUZK_E_NOMEM, "%u points of the verifying key", vk->n_ic);
    g16_toxic_vk(vk, su->t);
    return gpu_setup_copy_out_sync(vk->ic, part(su, su->p.ic), vk->n_ic * sizeof *vk->ic, su->run);
}

/* The points of the inputs, which the verifying key has. */
static cuzk_status make_vk(g16_vk *vk, gpu_fixed *f, const setup *su)
{
    gpu_fixed_src ic = {.d_vals = part(su, su->p.q[2])};
    gpu_run_group(su->run, SPAN_SETUP_MUL);
    CUZK_TRY(gpu_fixed_mul(part(su, su->p.ic), f, &ic, su->c->n_inputs, flag(su, FLAG_NEVER)));
    gpu_run_group(su->run, NULL);
    CUZK_TRY(fill_vk(vk, su));
    return su->sink ? su->sink->vk(su->sink->ctx, vk) : cuzk_ok();
}

/* A section, piece by piece through the stage. */
static cuzk_status emit_section(const setup *su, gpu_fixed *f, g16_section sec, gpu_fixed_src *src,
                                uint32_t *d_zero)
{
    uint64_t max = STAGE_BYTES / (sec == G16_B_G2 ? sizeof(g2_aff) : sizeof(g1_aff)), at = 0;
    do {
        uint64_t n = su->n[sec] - at < max ? su->n[sec] - at : max;
        gpu_setup_piece_out out = {sec, part(su, su->p.stage), at, n};
        gpu_run_group(su->run, SPAN_SETUP_MUL);
        CUZK_TRY(gpu_fixed_mul(out.d_records, f, src, n, d_zero));
        gpu_run_group(su->run, NULL);
        CUZK_TRY(su->sink->points(su->sink->ctx, &out));
        CUZK_TRY(gpu_run_slice(su->run));
        at += n;
    } while (at < su->n[sec]);
    return cuzk_ok();
}

/* n points of a section in memory, from its point `first` on. */
static cuzk_status make_points(const setup *su, gpu_fixed *f, g16_section sec, size_t first,
                               gpu_fixed_src *src, size_t n, uint32_t *d_zero)
{
    size_t size = sec == G16_B_G2 ? sizeof(g2_aff) : sizeof(g1_aff);
    gpu_run_group(su->run, SPAN_SETUP_MUL);
    CUZK_TRY(gpu_fixed_mul((char *)su->mem->d[sec] + first * size, f, src, n, d_zero));
    gpu_run_group(su->run, NULL);
    return gpu_run_slice(su->run);
}

static cuzk_status make_section(const setup *su, gpu_fixed *f, g16_section sec, gpu_fixed_src *src,
                                uint32_t *d_zero)
{
    return su->sink ? emit_section(su, f, sec, src, d_zero)
                    : make_points(su, f, sec, 0, src, su->n[sec], d_zero);
}

static cuzk_status make_h_l(const setup *su, gpu_fixed *f, uint32_t *d_never)
{
    gpu_fixed_src h = {.first = su->h_first, .base = su->t->tau};
    gpu_fixed_src l = {.d_vals = part(su, su->p.q[2]), .at = su->c->n_inputs};
    cuzk_status st = make_section(su, f, G16_H, &h, d_never);
    mem_wipe(&h, sizeof h);
    CUZK_TRY(st);
    return make_section(su, f, G16_L, &l, d_never);
}

/* In evaluation form. Points of inputs that neither B nor C has are infinity. */
static cuzk_status make_h_l_evaluations(const setup *su, gpu_fixed *f, uint32_t *d_never)
{
    size_t n_aux = su->c->n_aux, n_inputs = su->c->n_inputs;
    gpu_fixed_src h = {.d_vals = part(su, su->p.q[2])};
    gpu_fixed_src l = {.d_vals = part(su, su->p.q[2]), .at = n_inputs};
    gpu_fixed_src l_inputs = {.d_vals = part(su, su->p.fold_inputs)};
    CUZK_TRY(make_points(su, f, G16_L, 0, &l, n_aux, d_never));
    CUZK_TRY(make_points(su, f, G16_L, n_aux, &l_inputs, n_inputs, d_never));
    gpu_run_group(su->run, SPAN_SETUP_LAGRANGE);
    CUZK_TRY(gpu_setup_h_factors(part(su, su->p.q[2]), &su->t->tau, &su->weights.delta_inv,
                                 su->c->lg_m, su->run));
    gpu_run_group(su->run, NULL);
    return make_points(su, f, G16_H, 0, &h, su->n[G16_H], d_never);
}

static cuzk_status make_g1(const setup *su, gpu_fixed *f)
{
    uint32_t *never = flag(su, FLAG_NEVER); /* combine has looked for zeros */
    gpu_fixed_src a = {.d_vals = part(su, su->p.q[0]), .d_idx = part(su, su->p.idx)};
    gpu_fixed_src b = {.d_vals = part(su, su->p.q[1]), .d_idx = part(su, su->p.idx)};
    CUZK_TRY((su->is_ev ? make_h_l_evaluations : make_h_l)(su, f, never));
    CUZK_TRY(make_members(su, false));
    CUZK_TRY(make_section(su, f, G16_A, &a, flag(su, FLAG_A)));
    CUZK_TRY(check_query(su, FLAG_A, "a"));
    CUZK_TRY(make_members(su, true));
    CUZK_TRY(make_section(su, f, G16_B_G1, &b, flag(su, FLAG_B)));
    return check_query(su, FLAG_B, "b");
}

static cuzk_status make_key(setup *su, g16_vk *vk)
{
    gpu_fixed f;
    gpu_fixed_src b = {.d_vals = part(su, su->p.q[1]), .d_idx = part(su, su->p.idx)};
    CUZK_TRY(make_scalars(su));
    CUZK_TRY(new_table(&f, GPU_MSM_G1, su));
    CUZK_TRY(make_vk(vk, &f, su));
    CUZK_TRY(make_g1(su, &f));
    CUZK_TRY(new_table(&f, GPU_MSM_G2, su));
    return make_section(su, &f, G16_B_G2, &b, flag(su, FLAG_NEVER));
}

static cuzk_status setup_run(setup *su, g16_vk *vk)
{
    CUZK_TRY(check_toxic(su));
    CUZK_TRY(gpu_setup_build(&su->im, su->s));
    CUZK_TRY(check_memory(su));
    cuzk_status st = make_key(su, vk);
    gpu_run_group(su->run, NULL);
    /* Scalars tell the toxic values. A device that is lost has forgotten them. */
    cuzk_status wiped = gpu_setup_fill(su->ws->d_ws, 0, su->p.bytes, su->run);
    /* Section h may still be scratch. */
    if (st.code != CUZK_OK && su->is_ev && wiped.code == CUZK_OK)
        wiped = gpu_setup_fill(su->mem->d[G16_H], 0, su->n[G16_H] * sizeof(g1_aff), su->run);
    return st.code != CUZK_OK ? st : wiped;
}

static cuzk_status setup_and_wipe(setup *su, g16_vk *vk)
{
    memset(vk, 0, sizeof *vk);
    cuzk_status st = setup_run(su, vk);
    if (st.code != CUZK_OK)
        g16_vk_fini(vk);
    gpu_setup_image_fini(&su->im);
    mem_wipe(su, sizeof *su);
    return st;
}

cuzk_status gpu_setup(const gpu_key_mem *mem, g16_vk *vk, const r1cs_shape *s, const g16_toxic *t,
                      const gpu_msm_ws *ws)
{
    setup su = {.mem = mem,
                .is_ev = mem->is_evaluation,
                .s = s,
                .c = r1cs_shape_counts(s),
                .t = t,
                .ws = ws,
                .run = ws->run};
    return setup_and_wipe(&su, vk);
}

cuzk_status gpu_setup_emit(const gpu_setup_sink *sink, const r1cs_shape *s, const g16_toxic *t,
                           const gpu_msm_ws *ws)
{
    setup su = {.sink = sink, .s = s, .c = r1cs_shape_counts(s), .t = t, .ws = ws, .run = ws->run};
    g16_vk vk;
    cuzk_status st = setup_and_wipe(&su, &vk);
    g16_vk_fini(&vk);
    return st;
}
