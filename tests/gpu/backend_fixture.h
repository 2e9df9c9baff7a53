/* Circuits with keys and witnesses for the tests of the CUDA backend. */
#ifndef BACKEND_FIXTURE_H
#define BACKEND_FIXTURE_H
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "gpu/gpu_backend.h"
#include "groth16/groth16_int.h"
#include "r1cs/cs.h"
#include "r1cs/eval.h"

#ifndef BACKEND_ASSERT_OK
static inline void assert_ok(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s", cuzk_code_name(st.code), st.msg);
}
#endif

/* A refusal whose message holds `want`. */
static inline void assert_refused(cuzk_status st, cuzk_code code, const char *want)
{
    if (st.code != code || !strstr(st.msg, want))
        fail_msg("expected %s with \"%s\", got %s: %s", cuzk_code_name(code), want,
                 cuzk_code_name(st.code), st.msg);
}

static inline uint64_t fx_u64(uint64_t *state) /* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline void fx_fr(fr *o, uint64_t *state)
{
    fr_int v;
    for (int i = 0; i < 4; i++)
        v.l[i] = fx_u64(state);
    fr_from_int(o, &v);
}

/* n random bits and field elements, each bound by a row: variables outside A and outside B, dense
 * ones that hold 0 or 1, an input in B. */
typedef struct fx_mix {
    uint64_t seed;
    size_t n;
    unsigned dense_of_16;
} fx_mix;

static inline void fx_dense_rows(cs *c, uint64_t pick, uint64_t *vals)
{
    fr x, sq, y, two;
    if (pick >> 8 & 1)
        fr_from_u64(&x, pick >> 9 & 1);
    else
        fx_fr(&x, vals);
    fr_sqr(&sq, &x);
    r1cs_var v = cs_alloc_num(c, &x), s = cs_alloc_num(c, &sq);
    cs_term_one(c, CS_A, v);
    cs_term_one(c, CS_B, v);
    cs_term_one(c, CS_C, s);
    cs_end_row(c);
    if (!(pick >> 10 & 1))
        return;
    fr_add(&y, &sq, &sq);
    fr_from_u64(&two, 2);
    r1cs_var d = cs_alloc_num(c, &y);
    cs_term(c, CS_A, &two, s);
    cs_term_one(c, CS_B, R1CS_ONE);
    cs_term_one(c, CS_C, d);
    cs_end_row(c);
}

/* (1 - v) (1 + v) = 1 - v, or (1 - v) 1 = 1 - v; and (1 - v) v = 0 of half of them. */
static inline void fx_bit_row(cs *c, uint64_t pick, uint64_t *vals)
{
    r1cs_var v = cs_alloc_bit(c, fx_u64(vals) & 1);
    cs_term_one(c, CS_A, R1CS_ONE);
    cs_term_minus(c, CS_A, v);
    cs_term_one(c, CS_B, R1CS_ONE);
    if (pick >> 11 & 1)
        cs_term_one(c, CS_B, v);
    cs_term_one(c, CS_C, R1CS_ONE);
    cs_term_minus(c, CS_C, v);
    cs_end_row(c);
    if (!(pick >> 12 & 1))
        return;
    cs_term_one(c, CS_A, R1CS_ONE);
    cs_term_minus(c, CS_A, v);
    cs_term_one(c, CS_B, v);
    cs_end_row(c);
}

static inline void fx_synthesize(cs *c, const fx_mix *m, uint64_t value_seed)
{
    uint64_t rnd = m->seed, vals = value_seed;
    fr x = FR_ZERO;
    r1cs_var in[3];
    for (int i = 0; i < 3; i++) {
        fx_fr(&x, &vals);
        in[i] = cs_alloc_input(c, &x);
    }
    for (size_t i = 0; i < m->n; i++) {
        uint64_t pick = fx_u64(&rnd);
        if (pick % 16 < m->dense_of_16)
            fx_dense_rows(c, pick, &vals);
        else
            fx_bit_row(c, pick, &vals);
    }
    fr prod = FR_ZERO;
    if (!cs_is_shape(c))
        fr_mul(&prod, &c->w->inputs[1], &c->w->inputs[2]);
    cs_term_one(c, CS_A, in[0]);
    cs_term_one(c, CS_B, in[1]);
    cs_term_one(c, CS_C, cs_alloc_num(c, &prod));
    cs_end_row(c);
}

static inline r1cs_shape *fx_shape(const fx_mix *m)
{
    cs c;
    r1cs_shape *s;
    assert_ok(cs_init_shape(&c, "mix"));
    fx_synthesize(&c, m, 0);
    assert_ok(cs_finish_shape(&c, &s));
    cs_fini(&c);
    return s;
}

static inline void fx_witness(witness *w, const r1cs_shape *s, const fx_mix *m, uint64_t seed)
{
    cs c;
    assert_ok(witness_init(w, s));
    cs_init_witness(&c, s, w, CS_WITNESS_SLOW);
    fx_synthesize(&c, m, seed);
    assert_ok(cs_finish_witness(&c));
    cs_fini(&c);
}

/* A key file in memory. */
typedef struct fx_key {
    uint8_t *b;
    size_t len, cap;
    g16_key *key;
    g16_pvk *pvk;
} fx_key;

static inline cuzk_status fx_write(void *ctx, const void *p, size_t n)
{
    fx_key *k = ctx;
    if (n > k->cap - k->len)
        return cuzk_fail(CUZK_E_INTERNAL, "set-up wrote more than g16_params_bytes");
    memcpy(k->b + k->len, p, n);
    k->len += n;
    return cuzk_ok();
}

static inline void fx_key_make(fx_key *k, const r1cs_shape *s, const g16_toxic *t,
                               const run_ctx *rc)
{
    *k = (fx_key){.cap = g16_params_bytes(s)};
    k->b = malloc(k->cap + 1);
    assert_non_null(k->b);
    assert_ok(g16_setup_stream(s, t, (g16_sink){.ctx = k, .write = fx_write}, rc));
    assert_ok(g16_key_from_memory(&k->key, k->b, k->len));
    assert_ok(g16_pvk_create(&k->pvk, g16_key_vk(k->key)));
}

static inline void fx_key_free(fx_key *k)
{
    g16_pvk_destroy(k->pvk);
    g16_key_close(k->key);
    free(k->b);
    *k = (fx_key){0};
}
#endif
