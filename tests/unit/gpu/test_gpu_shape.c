/* Device images of shapes, evaluated on the host, against r1cs_eval and r1cs_shape_visit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/mem.h"
#include "gpu/gpu_shape_eval.cuh"
#include "gpu/random_shape.h"
#include "r1cs/eval.h"

#define N_SHAPES 40u
static const uint64_t seed = 0x5ba9e5eedu;

static void must(cuzk_status st, uint64_t s)
{
    if (st.code != CUZK_OK)
        fail_msg("seed %llx: %s", (unsigned long long)s, st.msg);
}

/* A side of a row, its terms dealt to `lanes` sums as a warp would. */
static gpu_fr side_value(const gpu_shape_view *v, const gpu_shape_values *w, uint32_t row,
                         uint32_t side, uint32_t lanes)
{
    gpu_shape_segment g = v->segments[gpu_shape_segment_of(v, row)];
    gpu_row_sum sum, lane;
    gpu_fr x;
    uint32_t from, to;
    gpu_shape_terms_of(v, &g, row, side, &from, &to);
    gpu_row_sum_start(&sum);
    for (uint32_t i = 0; i < lanes; i++) {
        gpu_row_sum_start(&lane);
        gpu_row_sum_terms(&lane, v, &g, w, from + i, to, lanes);
        sum.ints += lane.ints;
        if (lane.has_field)
            gpu_row_sum_field(&sum, &lane.field);
    }
    gpu_row_sum_finish(&x, &sum, v);
    return x;
}

/* Rows marked plain have bits with small coefficients only; their integers are the sums. */
static uint32_t check_plain(const gpu_shape_view *v, const gpu_shape_values *w,
                            const fr *const want[2])
{
    uint32_t n_plain = 0;
    for (uint32_t row = 0; row < v->n_rows; row++) {
        uint32_t chunk = row >> GPU_SHAPE_LG_CHUNK;
        if (!(v->plain[chunk / 32] >> (chunk % 32) & 1))
            continue;
        n_plain++;
        gpu_shape_segment g = v->segments[gpu_shape_segment_of(v, row)];
        for (uint32_t side = 0; side < 2; side++) {
            uint32_t from, to;
            int64_t sum = 0;
            gpu_fr x;
            gpu_shape_terms_of(v, &g, row, side, &from, &to);
            for (uint32_t k = from; k < to; k++) {
                uint32_t at = gpu_shape_at(v, &g, v->terms[k].ref);
                assert_true(gpu_ref_kind(at) == GPU_REF_BIT || at == gpu_ref(GPU_REF_INPUT, 0));
                assert_true(v->small[v->terms[k].coeff] != GPU_SHAPE_LARGE);
                sum += gpu_row_int_term(v, &g, w->bits, v->terms[k]);
            }
            gpu_fr_from_i64(&x, sum);
            assert_memory_equal(&x, &want[side][row], sizeof x);
        }
    }
    return n_plain;
}

/* Every chunk is plain or among the others, once; the last others hold the input rows. */
static void check_chunks(const gpu_shape_view *v)
{
    uint32_t n = gpu_shape_chunks(v->n_rows, v->n_inputs), n_plain = 0;
    uint8_t *seen = mem_zalloc(n + 1, 8);
    assert_int_equal(v->n_chunks, n);
    for (uint32_t i = 0; i < v->n_others; i++) {
        assert_true(v->others[i] < n);
        seen[v->others[i]]++;
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t plain = v->plain[k / 32] >> (k % 32) & 1;
        n_plain += plain;
        assert_int_equal(seen[k] + plain, 1);
        assert_true(!plain || (k + 1) << GPU_SHAPE_LG_CHUNK <= v->n_rows);
    }
    assert_int_equal(n_plain + v->n_others, n);
    mem_free(seen);
}

/* Blocks of a domain cover each chunk once. */
static void test_blocks_cover_the_domain(void **state)
{
    (void)state;
    for (uint32_t lg = 0; lg <= 16; lg++) {
        uint32_t n_blocks = lg > GPU_SHAPE_LG_BLOCK ? 1u << (lg - GPU_SHAPE_LG_BLOCK) : 1;
        uint32_t n = n_blocks << GPU_SHAPE_LG_HIGH;
        uint8_t *seen = mem_zalloc(n, 8);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t k = gpu_shape_chunk_of(lg, i >> GPU_SHAPE_LG_HIGH, i & 7);
            assert_true(k < n);
            assert_int_equal(seen[k]++, 0);
        }
        mem_free(seen);
    }
}

static void check_values(const r1cs_shape *s, const gpu_shape *g, uint64_t sd)
{
    const r1cs_counts *n = r1cs_shape_counts(s);
    gpu_shape_view v = gpu_shape_host_view(g);
    run_ctx rc = {0};
    witness w;
    uint64_t m = n->n_rows + n->n_inputs;
    fr *want[3];
    for (int k = 0; k < 3; k++)
        assert_non_null(want[k] = mem_alloc(m * sizeof(fr), 64));
    must(random_shape_witness(&w, s, sd), sd);
    must(r1cs_eval(s, &w, want[0], want[1], want[2], m, &rc), sd);
    gpu_shape_values val = {(const gpu_fr *)(const void *)w.inputs,
                            (const uint32_t *)(const void *)w.bits,
                            (const gpu_fr *)(const void *)w.dense};
    for (uint32_t row = 0; row < n->n_rows; row++)
        for (uint32_t side = 0; side < 3; side++)
            for (uint32_t lanes = 1; lanes <= 32; lanes += 31) {
                gpu_fr x = side_value(&v, &val, row, side, lanes);
                if (memcmp(&x, &want[side][row], sizeof x) != 0)
                    fail_msg("seed %llx: row %u side %u with %u lanes", (unsigned long long)sd, row,
                             side, lanes);
            }
    uint32_t n_plain = check_plain(&v, &val, (const fr *const *)want);
    if (sd % 4 == 0) /* all but a rest of the last 32 rows */
        assert_true(n_plain >= n->n_rows / 32 * 32);
    for (int k = 0; k < 3; k++)
        mem_free(want[k]);
    witness_fini(&w);
}

typedef struct visit_ctx {
    gpu_shape_view v;
    uint64_t n_rows;
} visit_ctx;

static void compare_row(void *ctx, uint64_t row, const r1cs_row *r)
{
    visit_ctx *c = ctx;
    gpu_shape_segment g = c->v.segments[gpu_shape_segment_of(&c->v, (uint32_t)row)];
    for (uint32_t side = 0; side < 3; side++) {
        uint32_t from, to;
        gpu_shape_terms_of(&c->v, &g, (uint32_t)row, side, &from, &to);
        assert_int_equal(to - from, r->n[side]);
        for (uint32_t i = 0; i < r->n[side]; i++) {
            assert_int_equal(gpu_shape_var(&c->v, &g, c->v.terms[from + i].ref), r->t[side][i].var);
            assert_int_equal(c->v.terms[from + i].coeff, r->t[side][i].coeff);
        }
    }
    c->n_rows++;
}

static void test_image_has_the_values_and_terms_of_the_shape(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < N_SHAPES; i++) {
        r1cs_shape *s;
        gpu_shape *g;
        must(random_shape_make(&s, seed + i, (uint32_t)(1 + i * 3)), seed + i);
        must(gpu_shape_create(&g, s, false), seed + i);
        assert_int_equal((uintptr_t)gpu_shape_image(g) % 64, 0);
        assert_int_equal(gpu_shape_bytes(g) % 256, 0);
        assert_null(gpu_shape_device_view(g).terms);
        visit_ctx c = {gpu_shape_host_view(g), 0};
        must(r1cs_shape_visit(s, 0, r1cs_shape_counts(s)->n_rows, false, compare_row, &c),
             seed + i);
        assert_int_equal(c.n_rows, r1cs_shape_counts(s)->n_rows);
        check_chunks(&c.v);
        check_values(s, g, seed + i);
        gpu_shape_destroy(g);
        r1cs_shape_destroy(s);
    }
}

static void test_empty_shape(void **state)
{
    (void)state;
    cs c;
    r1cs_shape *s;
    gpu_shape *g;
    must(cs_init_shape(&c, "empty"), 0);
    must(cs_finish_shape(&c, &s), 0);
    cs_fini(&c);
    must(gpu_shape_create(&g, s, false), 0);
    assert_int_equal(gpu_shape_host_view(g).n_rows, 0);
    assert_int_equal(gpu_shape_host_view(g).n_inputs, 1);
    gpu_shape_destroy(g);
    gpu_shape_destroy(NULL);
    r1cs_shape_destroy(s);
}

/* n bits v: (1 - v) v = 0, and, not of that kind, (1 - v) 1 = 1 - v. */
static void synthesize_bits(cs *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        r1cs_var v = cs_alloc_bit(c, i % 3 == 0);
        cs_term_one(c, CS_A, R1CS_ONE);
        cs_term_minus(c, CS_A, v);
        cs_term_one(c, CS_B, v);
        cs_end_row(c);
        cs_term_one(c, CS_A, R1CS_ONE);
        cs_term_minus(c, CS_A, v);
        cs_term_one(c, CS_B, R1CS_ONE);
        cs_term_one(c, CS_C, R1CS_ONE);
        cs_term_minus(c, CS_C, v);
        cs_end_row(c);
    }
}

static void test_ones_can_be_left_out(void **state)
{
    (void)state;
    const uint32_t n = 100;
    cs c;
    r1cs_shape *s;
    gpu_shape *g;
    witness w;
    must(cs_init_shape(&c, "bits"), 0);
    synthesize_bits(&c, n);
    must(cs_finish_shape(&c, &s), 0);
    cs_fini(&c);
    must(witness_init(&w, s), 0);
    cs_init_witness(&c, s, &w, CS_WITNESS_SLOW);
    synthesize_bits(&c, n);
    must(cs_finish_witness(&c), 0);
    cs_fini(&c);
    must(gpu_shape_create(&g, s, true), 0);
    gpu_shape_view v = gpu_shape_host_view(g);
    gpu_shape_values val = {(const gpu_fr *)(const void *)w.inputs,
                            (const uint32_t *)(const void *)w.bits,
                            (const gpu_fr *)(const void *)w.dense};
    fr minus;
    fr_neg(&minus, &FR_ONE);
    for (uint32_t row = 0; row < 2 * n; row++) {
        bool bit = row / 2 % 3 == 0;
        const fr *a = row % 2 == 0 ? (bit ? &minus : &FR_ZERO) : (bit ? &FR_ZERO : &FR_ONE);
        const fr *b = row % 2 == 0 && !bit ? &FR_ZERO : &FR_ONE;
        gpu_fr x = side_value(&v, &val, row, 0, 1), y = side_value(&v, &val, row, 1, 1);
        assert_memory_equal(&x, a, sizeof x);
        assert_memory_equal(&y, b, sizeof y);
    }
    gpu_shape_destroy(g);
    witness_fini(&w);
    r1cs_shape_destroy(s);
}

static void test_long_rows_are_refused(void **state)
{
    (void)state;
    for (uint32_t extra = 0; extra < 2; extra++) {
        cs c;
        r1cs_shape *s;
        gpu_shape *g;
        must(cs_init_shape(&c, "long"), 0);
        for (uint32_t i = 0; i < GPU_SHAPE_TERMS_MAX + extra; i++)
            cs_term_one(&c, CS_A, cs_alloc_bit(&c, false));
        cs_end_row(&c);
        must(cs_finish_shape(&c, &s), 0);
        cs_fini(&c);
        assert_int_equal(gpu_shape_create(&g, s, false).code, extra ? CUZK_E_UNSUPPORTED : CUZK_OK);
        assert_int_equal(g == NULL, extra);
        gpu_shape_destroy(g);
        r1cs_shape_destroy(s);
    }
}

static void test_failed_allocations_leak_nothing(void **state)
{
    (void)state;
    r1cs_shape *s;
    gpu_shape *g;
    must(random_shape_make(&s, seed, 20), seed);
    uint64_t live = mem_get_stats().live_bytes, n = 1;
    for (;; n++) {
        mem_fail_nth(n);
        cuzk_status st = gpu_shape_create(&g, s, false);
        mem_fail_nth(0);
        if (st.code == CUZK_OK)
            break;
        assert_int_equal(st.code, CUZK_E_NOMEM);
        assert_null(g);
        assert_int_equal(mem_get_stats().live_bytes, live);
    }
    assert_true(n > 3);
    gpu_shape_destroy(g);
    assert_int_equal(mem_get_stats().live_bytes, live);
    r1cs_shape_destroy(s);
}

/* Sums at the edges of the table of integers and of 64 bits. */
static void test_integers_become_field_elements(void **state)
{
    (void)state;
    static const int64_t cases[] = {0,
                                    1,
                                    -1,
                                    2,
                                    GPU_SHAPE_INTS,
                                    -GPU_SHAPE_INTS,
                                    GPU_SHAPE_INTS + 1,
                                    -GPU_SHAPE_INTS - 1,
                                    INT64_MAX,
                                    INT64_MIN + 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gpu_fr x;
        fr want;
        int64_t c = cases[i];
        gpu_fr_from_i64(&x, c);
        fr_from_u64(&want, c < 0 ? 0 - (uint64_t)c : (uint64_t)c);
        if (c < 0)
            fr_neg(&want, &want);
        assert_memory_equal(&x, &want, sizeof x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_image_has_the_values_and_terms_of_the_shape),
        cmocka_unit_test(test_blocks_cover_the_domain),
        cmocka_unit_test(test_empty_shape),
        cmocka_unit_test(test_long_rows_are_refused),
        cmocka_unit_test(test_ones_can_be_left_out),
        cmocka_unit_test(test_failed_allocations_leak_nothing),
        cmocka_unit_test(test_integers_become_field_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
