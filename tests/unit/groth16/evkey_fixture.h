/* Small circuits with all kinds of terms, their keys and evaluation forms. */
#ifndef TESTS_EVKEY_FIXTURE_H
#define TESTS_EVKEY_FIXTURE_H
#include "g16_test.h"

#include <unistd.h>

#include "groth16/cpu_int.h"
#include "groth16/evkey_int.h"
#include "groth16/evkey_out.h"
#include "hash/blake2.h"
#include "poly/ntt.h"
#include "r1cs/cs.h"
#include "r1cs/eval.h"

static const run_ctx no_ctx = {0};

/* ---- circuits with all kinds of terms ---- */

typedef struct rich_params {
    uint64_t seed;
    size_t n_rows, n_inputs;
} rich_params;

#define VARS_MAX 2000u

typedef struct rich {
    cs *c;
    uint64_t rnd, values;
    size_t n;
    r1cs_var var[VARS_MAX];
    fr val[VARS_MAX];
} rich;

static inline void known(rich *x, r1cs_var v, const fr *val)
{
    assert_true(x->n < VARS_MAX);
    x->var[x->n] = v;
    x->val[x->n++] = *val;
}

/* 1, -1, a power of two, anything. */
static inline void pick_coeff(rich *x, fr *k)
{
    uint64_t how = next_u64(&x->rnd);
    *k = FR_ONE;
    if (how % 4 == 1)
        fr_neg(k, k);
    for (uint64_t i = 0; how % 4 == 2 && i < 1 + (how >> 8) % 250; i++)
        fr_dbl(k, k);
    if (how % 4 == 3)
        next_fr(k, &x->rnd);
}

/* n random terms on one side; their value is added to *sum. */
static inline void put_terms(rich *x, cs_side side, size_t n, fr *sum)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = next_u64(&x->rnd) % x->n;
        fr k, t;
        pick_coeff(x, &k);
        cs_term(x->c, side, &k, x->var[at]);
        fr_mul(&t, &k, &x->val[at]);
        fr_add(sum, sum, &t);
    }
}

/* A new variable makes the row hold. */
static inline void put_row(rich *x)
{
    fr a = FR_ZERO, b = FR_ZERO, c = FR_ZERO, k, v;
    put_terms(x, CS_A, 2, &a);
    put_terms(x, CS_B, 2, &b);
    put_terms(x, CS_C, next_u64(&x->rnd) % 5, &c);
    pick_coeff(x, &k);
    fr_mul(&v, &a, &b);
    fr_sub(&v, &v, &c);
    fr_inv(&c, &k);
    fr_mul(&v, &v, &c);
    r1cs_var var = cs_alloc_num(x->c, &v);
    cs_term(x->c, CS_C, &k, var);
    cs_end_row(x->c);
    known(x, var, &v);
}

/* Bits, their rows, of which every third has its sides exchanged, and so is not what
 * r1cs_shape_boolean_rows looks for, and one row that packs them on both sides. */
static inline void put_bits(rich *x, size_t n)
{
    r1cs_var bits[32];
    fr k = FR_ONE, v;
    assert_true(n <= ARRAY_LEN(bits));
    for (size_t i = 0; i < n; i++) {
        bool bit = next_u64(&x->values) & 1;
        fr_from_u64(&v, bit);
        /* some of field type, so that a witness can break their row */
        bits[i] = i % 5 == 4 ? cs_alloc_num(x->c, &v) : cs_alloc_bit(x->c, bit);
        cs_side one_less = i % 3 == 2 ? CS_B : CS_A;
        cs_term_one(x->c, one_less == CS_B ? CS_A : CS_B, bits[i]);
        cs_term_one(x->c, one_less, R1CS_ONE);
        cs_term_minus(x->c, one_less, bits[i]);
        cs_end_row(x->c);
        known(x, bits[i], &v);
    }
    for (size_t i = 0; i < n; i++, fr_dbl(&k, &k)) {
        cs_term(x->c, CS_A, &k, bits[i]);
        cs_term(x->c, CS_C, &k, bits[i]);
    }
    cs_term_one(x->c, CS_B, R1CS_ONE);
    cs_end_row(x->c);
}

static inline void rich_synthesize(cs *c, const rich_params *p, uint64_t value_seed)
{
    rich *x = calloc(1, sizeof *x);
    assert_non_null(x);
    *x = (rich){.c = c, .rnd = p->seed, .values = value_seed};
    known(x, R1CS_ONE, &FR_ONE);
    for (size_t i = 0; i < p->n_inputs; i++) {
        fr v;
        next_fr(&v, &x->values);
        known(x, cs_alloc_input(c, &v), &v);
    }
    for (size_t i = 0; i < p->n_rows; i++)
        if (i % 40 == 3)
            put_bits(x, 1 + next_u64(&x->rnd) % 30);
        else
            put_row(x);
    free(x);
}

typedef struct circuit {
    r1cs_shape *shape;
    witness w[2];
    g16_toxic toxic;
    char dir[32], params[64], evkey[64];
    g16_key *key;
} circuit;

static inline void open_circuit(circuit *b)
{
    snprintf(b->dir, sizeof b->dir, "/tmp/evkey-XXXXXX");
    assert_non_null(mkdtemp(b->dir));
    snprintf(b->params, sizeof b->params, "%s/k.params", b->dir);
    g16_evkey_path(b->evkey, sizeof b->evkey, b->params);
    assert_ok(g16_setup(b->shape, &b->toxic, b->params, &no_ctx));
    assert_ok(g16_key_open(&b->key, b->params));
}

static inline void load_rich(circuit *b, const rich_params *p)
{
    *b = (circuit){0};
    cs c;
    print_message("seed %llu, %zu rows, %zu inputs\n", (unsigned long long)p->seed, p->n_rows,
                  p->n_inputs);
    assert_ok(cs_init_shape(&c, "rich"));
    rich_synthesize(&c, p, 0);
    assert_ok(cs_finish_shape(&c, &b->shape));
    cs_fini(&c);
    for (uint64_t i = 0; i < 2; i++) {
        assert_ok(witness_init(&b->w[i], b->shape));
        cs_init_witness(&c, b->shape, &b->w[i], CS_WITNESS_SLOW);
        rich_synthesize(&c, p, p->seed + 1 + i);
        assert_ok(cs_finish_witness(&c));
        cs_fini(&c);
        assert_ok(r1cs_satisfied(b->shape, &b->w[i], NULL, &no_ctx));
    }
    assert_ok(g16_toxic_random(&b->toxic));
    open_circuit(b);
}

static inline void load_tiny(circuit *b)
{
    *b = (circuit){0};
    g16_tiny_toxic(&b->toxic);
    assert_ok(g16_tiny_shape(&b->shape));
    for (int i = 0; i < 2; i++)
        assert_ok(g16_tiny_witness(&b->w[i], b->shape));
    open_circuit(b);
}

static inline void free_circuit(circuit *b)
{
    g16_key_close(b->key);
    unlink(b->params);
    unlink(b->evkey);
    assert_int_equal(rmdir(b->dir), 0); /* no temporary file is left */
    witness_fini(&b->w[0]);
    witness_fini(&b->w[1]);
    r1cs_shape_destroy(b->shape);
}

static inline void make(const circuit *b)
{
    assert_ok(g16_evkey_make(b->evkey, b->key, b->shape, &no_ctx));
}

static inline uint8_t *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *len = (size_t)ftell(f);
    rewind(f);
    uint8_t *p = malloc(*len + 1);
    assert_non_null(p);
    assert_int_equal(fread(p, 1, *len, f), *len);
    fclose(f);
    return p;
}

static inline void write_file(const char *path, const uint8_t *p, size_t len)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

/* Domains of 4 points to 2^10; one with more inputs than rows. */
static const rich_params sizes[] = {{1, 1, 0}, {2, 4, 2}, {3, 5, 40}, {4, 120, 3}, {5, 500, 7}};

static inline void hash_of(uint8_t out[64], const uint8_t *p, size_t n)
{
    blake2 *h;
    assert_ok(blake2_create(&h, BLAKE2B_512, NULL, 0));
    blake2_update(h, p, n);
    assert_ok(blake2_final(h, out));
    blake2_destroy(h);
}

/* Digests as a writer of these bytes would have put them. */
static inline void renew_digests(uint8_t *p, size_t len)
{
    const size_t chunk = 16777216;
    uint8_t digests[8][64];
    size_t n = 0;
    blake2b_512(p + 192, p, 192);
    for (size_t at = 0; at < len - 64; at += chunk) {
        assert_true(n < ARRAY_LEN(digests));
        hash_of(digests[n++], p + at, len - 64 - at < chunk ? len - 64 - at : chunk);
    }
    hash_of(p + len - 64, digests[0], n * 64);
}

static inline cuzk_status check_bytes(const circuit *b, const uint8_t *p, size_t len)
{
    g16_evkey *e;
    CUZK_TRY(g16_evkey_from_memory(&e, p, len));
    cuzk_status st = g16_evkey_check(e, b->key, b->shape, &no_ctx);
    g16_evkey_close(e);
    return st;
}
#endif
