/* Row evaluations and satisfiability. */
#include "r1cs/eval.h"
#include "base/mem.h"
#include "base/bytes.h"
#include "r1cs/shape_int.h"
#include <stdio.h>
#include <string.h>

#define EVAL_CHUNK_ROWS 32768u

typedef struct eval_job {
    const r1cs_shape *s;
    const witness *w;
    const fr *coeffs;
    fr *out[3]; /* may be NULL */
    const run_ctx *rc;
    uint64_t *bad_count; /* satisfied: per thread chunk */
    uint64_t *first_bad;
    cuzk_status *st;
} eval_job;

/* sum coeff * value: bits only add, coefficients 1 and -1 do not multiply. */
static void eval_side(fr *out, const eval_job *j, const r1cs_term *t, uint32_t n)
{
    fr acc = FR_ZERO, v;
    for (uint32_t i = 0; i < n; i++) {
        r1cs_var x = t[i].var;
        const fr *c = &j->coeffs[t[i].coeff];
        bool is_field;
        if (x & R1CS_INPUT) {
            v = j->w->inputs[x & ~R1CS_INPUT];
            is_field = x != R1CS_ONE;
        } else if (witness_is_dense(j->w, x)) {
            v = j->w->dense[witness_dense_idx(j->w, x)];
            is_field = true;
        } else {
            if (!(j->w->bits[x >> 6] >> (x & 63) & 1))
                continue;
            is_field = false;
        }
        if (!is_field) {
            fr_add(&acc, &acc, c);
        } else if (t[i].coeff == R1CS_COEFF_ONE) {
            fr_add(&acc, &acc, &v);
        } else if (t[i].coeff == R1CS_COEFF_MINUS) {
            fr_sub(&acc, &acc, &v);
        } else {
            fr_mul(&v, &v, c);
            fr_add(&acc, &acc, &v);
        }
    }
    *out = acc;
}

static void eval_row(void *ctx, uint64_t row, const r1cs_row *r)
{
    eval_job *j = ctx;
    for (int k = 0; k < 3; k++)
        if (j->out[k])
            eval_side(&j->out[k][row], j, r->t[k], r->n[k]);
}

static uint64_t chunk_end(const r1cs_shape *s, size_t chunk)
{
    uint64_t hi = ((uint64_t)chunk + 1) * EVAL_CHUNK_ROWS;
    return hi < s->counts.n_rows ? hi : s->counts.n_rows;
}

static void eval_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    eval_job *j = ctx;
    if (run_cancelled(j->rc)) {
        j->st[chunk] = cuzk_fail(CUZK_E_CANCELLED, "row evaluation cancelled");
        return;
    }
    j->st[chunk] = r1cs_shape_visit(j->s, (uint64_t)chunk * EVAL_CHUNK_ROWS, chunk_end(j->s, chunk),
                                    false, eval_row, j);
}

static cuzk_status first_failure(const cuzk_status *st, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (st[i].code != CUZK_OK)
            return st[i];
    return cuzk_ok();
}

cuzk_status r1cs_eval(const r1cs_shape *s, const witness *w, fr *a, fr *b, fr *c, uint64_t m,
                      const run_ctx *rc)
{
    const r1cs_counts *n = &s->counts;
    if (m < n->n_rows + n->n_inputs)
        return cuzk_fail(CUZK_E_RANGE, "domain %llu for %llu rows", (unsigned long long)m,
                         (unsigned long long)(n->n_rows + n->n_inputs));
    size_t chunks = (n->n_rows + EVAL_CHUNK_ROWS - 1) / EVAL_CHUNK_ROWS;
    cuzk_status *st = mem_alloc((chunks + 1) * sizeof *st, 64);
    if (!st)
        return cuzk_fail(CUZK_E_NOMEM, "%zu chunk states", chunks);
    eval_job j = {.s = s, .w = w, .coeffs = s->coeffs.p, .out = {a, b, c}, .rc = rc, .st = st};
    cuzk_status res = run_for(rc, chunks, eval_chunk, &j);
    if (res.code == CUZK_OK)
        res = first_failure(st, chunks);
    mem_free(st);
    fr *out[3] = {a, b, c};
    for (int k = 0; k < 3 && res.code == CUZK_OK; k++) {
        if (!out[k])
            continue;
        memset(out[k] + n->n_rows, 0, (m - n->n_rows) * sizeof(fr));
        if (k == 0)
            memcpy(out[k] + n->n_rows, w->inputs, n->n_inputs * sizeof(fr));
    }
    return res;
}

typedef struct sat_state {
    eval_job j;
    uint64_t n_bad, first;
} sat_state;

static void sat_row(void *ctx, uint64_t row, const r1cs_row *r)
{
    sat_state *s = ctx;
    fr v[3], ab;
    for (int k = 0; k < 3; k++)
        eval_side(&v[k], &s->j, r->t[k], r->n[k]);
    fr_mul(&ab, &v[0], &v[1]);
    if (fr_eq(&ab, &v[2]))
        return;
    if (s->n_bad++ == 0)
        s->first = row;
}

static void sat_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    eval_job *j = ctx;
    sat_state s = {.j = *j, .first = UINT64_MAX};
    if (run_cancelled(j->rc))
        j->st[chunk] = cuzk_fail(CUZK_E_CANCELLED, "satisfiability check cancelled");
    else
        j->st[chunk] = r1cs_shape_visit(j->s, (uint64_t)chunk * EVAL_CHUNK_ROWS,
                                        chunk_end(j->s, chunk), false, sat_row, &s);
    j->bad_count[chunk] = s.n_bad;
    j->first_bad[chunk] = s.first;
}

typedef struct row_values {
    const eval_job *j;
    fr v[3];
} row_values;

static void value_row(void *ctx, uint64_t row, const r1cs_row *r)
{
    (void)row;
    row_values *o = ctx;
    for (int k = 0; k < 3; k++)
        eval_side(&o->v[k], o->j, r->t[k], r->n[k]);
}

static cuzk_status describe_failure(const eval_job *j, uint64_t row, uint64_t n_bad)
{
    row_values o = {.j = j};
    CUZK_TRY(r1cs_shape_visit(j->s, row, row + 1, false, value_row, &o));
    char hex[3][65], path[96];
    for (int k = 0; k < 3; k++) {
        uint8_t b[32];
        fr_to_be(b, &o.v[k]);
        hex_encode(hex[k], b, 32);
        /* Short values read better without their leading zeros. */
        size_t z = 0;
        while (z < 63 && hex[k][z] == '0')
            z++;
        memmove(hex[k], hex[k] + z, 65 - z);
        if (strlen(hex[k]) > 20)
            memcpy(hex[k] + 16, "...", 4);
    }
    r1cs_shape_row_path(j->s, row, path, sizeof path);
    return cuzk_fail(CUZK_E_VERIFY, "row %llu (%s) fails: A=0x%s B=0x%s C=0x%s (%llu bad)",
                     (unsigned long long)row, path, hex[0], hex[1], hex[2],
                     (unsigned long long)n_bad);
}

cuzk_status r1cs_satisfied(const r1cs_shape *s, const witness *w, uint64_t *n_bad,
                           const run_ctx *rc)
{
    size_t chunks = (s->counts.n_rows + EVAL_CHUNK_ROWS - 1) / EVAL_CHUNK_ROWS;
    cuzk_status *st = mem_alloc((chunks + 1) * sizeof *st, 64);
    uint64_t *counts = mem_alloc((2 * chunks + 1) * sizeof *counts, 64);
    cuzk_status res = cuzk_fail(CUZK_E_NOMEM, "%zu chunk states", chunks);
    if (st && counts) {
        eval_job j = {.s = s,
                      .w = w,
                      .coeffs = s->coeffs.p,
                      .rc = rc,
                      .st = st,
                      .bad_count = counts,
                      .first_bad = counts + chunks};
        res = run_for(rc, chunks, sat_chunk, &j);
        if (res.code == CUZK_OK)
            res = first_failure(st, chunks);
        uint64_t total = 0, first = UINT64_MAX;
        for (size_t i = 0; i < chunks && res.code == CUZK_OK; i++) {
            total += counts[i];
            if (counts[i] && first == UINT64_MAX)
                first = counts[chunks + i];
        }
        if (n_bad)
            *n_bad = total;
        if (res.code == CUZK_OK && total)
            res = describe_failure(&j, first, total);
    }
    mem_free(st);
    mem_free(counts);
    return res;
}
