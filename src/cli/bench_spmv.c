/* cuzk bench spmv: A.w and B.w of a circuit, of a real input or of one made up. */
#include "base/mem.h"
#include "circuit/circuit.h"
#include "cli/bench.h"
#include "gpu/gpu_backend_bench.h"
#include "r1cs/eval.h"
#include <stdio.h>

/* Stretches of rows whose values are computed again, term by term. */
#define N_CHECKS 64u
#define CHECK_ROWS 64u

typedef struct spmv {
    r1cs_shape *shape;
    witness w;
    fr *a, *b;    /* 2^lg_m */
    bool is_real; /* the witness satisfies the rows */
} spmv;

/* Values of the right types, of no statement. */
static void make_up(witness *w, uint64_t seed)
{
    bench_fill_fr(w->inputs + 1, w->n_inputs - 1, seed);
    bench_fill_fr(w->dense, w->n_dense, seed + 1);
    for (uint64_t k = 0; k < w->n_aux / 64; k++)
        w->bits[k] = bench_next_rand(&seed) & ~w->dense_map[k];
}

/* Of a file, as `prove` takes it, or of a circuit's name. */
static cuzk_status prepare(spmv *v, bench *b)
{
    bool decoded;
    if (b->a.circuit) {
        CUZK_TRY(circuit_shape(&v->shape, b->a.circuit));
        CUZK_TRY(witness_init(&v->w, v->shape));
        make_up(&v->w, 6);
        return cuzk_ok();
    }
    proof_task *p = arena_alloc(&b->env.arena, sizeof *p, 64);
    if (!p)
        return cuzk_fail(CUZK_E_NOMEM, "proof task");
    CUZK_TRY(cli_load_task(&b->env, p, &b->a.input, true, &decoded));
    CUZK_TRY(proof_task_shape(&v->shape, p));
    CUZK_TRY(witness_init(&v->w, v->shape));
    v->is_real = true;
    return proof_task_witness(&v->w, v->shape, p, 0, CS_WITNESS_FAST, &b->env.rc);
}

/* Sums of single rows against the ones of all. */
typedef struct row_check {
    const spmv *v;
    const fr *coeffs;
    uint64_t n_bad;
} row_check;

static void check_row(void *ctx, uint64_t row_idx, const r1cs_row *row)
{
    row_check *c = ctx;
    const fr *found[2] = {&c->v->a[row_idx], &c->v->b[row_idx]};
    for (int side = 0; side < 2; side++) {
        fr sum = FR_ZERO, x;
        for (uint32_t i = 0; i < row->n[side]; i++) {
            witness_var(&x, &c->v->w, row->t[side][i].var);
            fr_mul(&x, &x, &c->coeffs[row->t[side][i].coeff]);
            fr_add(&sum, &sum, &x);
        }
        c->n_bad += !fr_eq(&sum, found[side]);
    }
}

static cuzk_status check(const spmv *v, const run_ctx *rc)
{
    uint64_t n = r1cs_shape_counts(v->shape)->n_rows;
    size_t n_coeffs;
    row_check c = {.v = v, .coeffs = r1cs_shape_coeffs(v->shape, &n_coeffs)};
    for (uint64_t i = 0; i < N_CHECKS; i++) {
        uint64_t lo = n * i / N_CHECKS, hi = lo + CHECK_ROWS < n ? lo + CHECK_ROWS : n;
        CUZK_TRY(r1cs_shape_visit(v->shape, lo, hi, false, check_row, &c));
    }
    if (c.n_bad)
        return cuzk_fail(CUZK_E_INTERNAL, "%llu values of A.w and B.w are wrong",
                         (unsigned long long)c.n_bad);
    return v->is_real ? r1cs_satisfied(v->shape, &v->w, NULL, rc) : cuzk_ok();
}

/* On the CPU; the device's results are compared with these. */
static cuzk_status on_cpu(spmv *v, bench *b, bench_row *row)
{
    uint64_t m = (uint64_t)1 << r1cs_shape_counts(v->shape)->lg_m;
    v->a = mem_alloc((size_t)m * sizeof *v->a, 64);
    v->b = mem_alloc((size_t)m * sizeof *v->b, 64);
    if (!v->a || !v->b)
        return cuzk_fail(CUZK_E_NOMEM, "2^%u values of A.w and B.w",
                         r1cs_shape_counts(v->shape)->lg_m);
    for (uint32_t s = 0; s <= (b->device.is_cuda ? 0 : b->n_samples); s++) {
        uint64_t t0 = clock_now_ns();
        CUZK_TRY(r1cs_eval(v->shape, &v->w, v->a, v->b, NULL, m, &b->env.rc));
        if (s > 0) /* the first one warms up */
            row->samples[row->n_samples++] = (double)(clock_now_ns() - t0) / 1e6;
    }
    return check(v, &b->env.rc);
}

static cuzk_status run(spmv *v, bench *b)
{
    CUZK_TRY(prepare(v, b));
    snprintf(b->circuit, sizeof b->circuit, "%s", r1cs_shape_name(v->shape));
    bench_row *row = bench_add_row(b, "spmv_a_b", r1cs_shape_counts(v->shape)->n_rows, "ms");
    CUZK_TRY(on_cpu(v, b, row));
    if (!b->device.is_cuda)
        return cuzk_ok();
    const gpu_bench_rows in = {
        .shape = v->shape, .w = &v->w, .a = v->a, .b = v->b, .rc = &b->env.rc};
    row->n_samples = b->n_samples;
    return gpu_bench_spmv(row->samples, b->n_samples, &in, b->device.backend);
}

cuzk_status bench_spmv(bench *b)
{
    spmv v = {0};
    if (!b->a.circuit == (!b->a.input.n_files && !b->a.input.request))
        return cuzk_fail(CUZK_E_USAGE, "spmv: expected one of FILE..., --request, --circuit");
    cuzk_status st = run(&v, b);
    mem_free(v.a);
    mem_free(v.b);
    witness_fini(&v.w);
    r1cs_shape_destroy(v.shape);
    return st;
}
