/* Keys of the 32 GiB circuits, made on the device and sampled: points of every section against
 * scalars that the CPU sums over the circuit's rows. Times go to the file that CUZK_SETUP_JSON
 * names. Skipped when the device's memory does not suffice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include <sys/resource.h>
#include "base/mem.h"
#include "base/span_names.h"
#include "circuit/circuit.h"
#include "gpu/gpu_setup_write.h"
#include "r1cs/layout.h"
#include "device_test.h"
#include "setup_fixture.h"

#define N_VARS_MAX 600u
#define N_POWERS 200u
#define ROWS_PER_CHUNK ((uint64_t)1 << 17)

static const uint64_t seed = 0x1a59e5e7u;
static setup_device dev;
static pool *threads;
static FILE *json;

static void assert_ok(cuzk_status st, const char *what)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s: %s", what, cuzk_code_name(st.code), st.msg);
}

/* The sampled variables and what the rows say of them. */
typedef struct sample {
    const r1cs_shape *s;
    const r1cs_counts *c;
    const g16_toxic *t;
    const fr *coeffs;
    fr w, w_over_m; /* root of unity; (tau^m - 1) / m */
    r1cs_var var[N_VARS_MAX];
    unsigned n;
    uint64_t *aux_map; /* bit per aux variable: sampled */
    fr q[3][N_VARS_MAX];
    pthread_mutex_t lock; /* q */
} sample;

/* Sorted by aux number, inputs in front. */
static int by_var(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a ^ R1CS_INPUT, y = *(const uint32_t *)b ^ R1CS_INPUT;
    return (x > y) - (x < y);
}

static int find_var(const sample *p, r1cs_var v)
{
    r1cs_var *at = bsearch(&v, p->var, p->n, sizeof v, by_var);
    return at ? (int)(at - p->var) : -1;
}

/* Inputs other than ONE (its sum runs over half of all rows), first and last aux, some at random,
 * and wires of instances: variables that several segments use. */
static void choose_vars(sample *p)
{
    uint64_t s = seed;
    size_t n_wires;
    const r1cs_var *wires = r1cs_shape_wires(p->s, &n_wires);
    r1cs_var v[N_VARS_MAX];
    unsigned n = 0;
    for (uint32_t i = 1; i < p->c->n_inputs && n < 20; i++)
        v[n++] = R1CS_INPUT | i;
    v[n++] = 0;
    v[n++] = (r1cs_var)(p->c->n_aux - 1);
    while (n < 350)
        v[n++] = (r1cs_var)(gpu_test_u64(&s) % p->c->n_aux);
    while (n < N_VARS_MAX) {
        r1cs_var x = wires[gpu_test_u64(&s) % n_wires];
        v[n++] = x == R1CS_ONE ? (r1cs_var)(gpu_test_u64(&s) % p->c->n_aux) : x;
    }
    qsort(v, n, sizeof *v, by_var);
    for (unsigned i = 0; i < n; i++)
        if (i == 0 || v[i] != v[i - 1])
            p->var[p->n++] = v[i];
    p->aux_map = mem_zalloc((p->c->n_aux / 64 + 1) * 8, 64);
    assert_non_null(p->aux_map);
    for (unsigned i = 0; i < p->n; i++)
        if (!(p->var[i] & R1CS_INPUT))
            p->aux_map[p->var[i] / 64] |= (uint64_t)1 << (p->var[i] % 64);
}

/* L_k(tau) by its definition. */
static void lagrange(fr *o, const sample *p, uint64_t k)
{
    fr wk, d;
    fr_pow_u64(&wk, &p->w, k);
    fr_sub(&d, &p->t->tau, &wk);
    fr_inv(&d, &d);
    fr_mul(o, &wk, &d);
    fr_mul(o, o, &p->w_over_m);
}

static void sample_row(void *ctx, uint64_t row, const r1cs_row *r)
{
    sample *p = ctx;
    for (int side = 0; side < 3; side++)
        for (uint32_t i = 0; i < r->n[side]; i++) {
            r1cs_var v = r->t[side][i].var;
            if (v == R1CS_ONE || (!(v & R1CS_INPUT) && !(p->aux_map[v / 64] >> (v % 64) & 1)))
                continue;
            int at = find_var(p, v);
            if (at < 0)
                continue;
            fr l;
            lagrange(&l, p, row);
            fr_mul(&l, &l, &p->coeffs[r->t[side][i].coeff]);
            pthread_mutex_lock(&p->lock);
            fr_add(&p->q[side][at], &p->q[side][at], &l);
            pthread_mutex_unlock(&p->lock);
        }
}

static void sample_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    sample *p = ctx;
    uint64_t lo = chunk * ROWS_PER_CHUNK, hi = lo + ROWS_PER_CHUNK;
    cuzk_status st =
        r1cs_shape_visit(p->s, lo, hi < p->c->n_rows ? hi : p->c->n_rows, false, sample_row, p);
    if (st.code != CUZK_OK)
        print_message("rows from %llu: %s\n", (unsigned long long)lo, st.msg);
}

static void sample_init(sample *p, const r1cs_shape *s, const g16_toxic *t)
{
    memset(p, 0, sizeof *p);
    p->s = s;
    p->c = r1cs_shape_counts(s);
    p->t = t;
    size_t n;
    p->coeffs = r1cs_shape_coeffs(s, &n);
    fr_root_of_unity(&p->w, p->c->lg_m);
    fr z, m;
    fr_pow_u64(&z, &t->tau, (uint64_t)1 << p->c->lg_m);
    fr_sub(&z, &z, &FR_ONE);
    fr_from_u64(&m, (uint64_t)1 << p->c->lg_m);
    fr_inv(&m, &m);
    fr_mul(&p->w_over_m, &z, &m);
    assert_int_equal(pthread_mutex_init(&p->lock, NULL), 0);
    choose_vars(p);
    pool_for(threads, (size_t)((p->c->n_rows + ROWS_PER_CHUNK - 1) / ROWS_PER_CHUNK), sample_chunk,
             p);
    for (unsigned i = 0; i < p->n; i++)
        if (p->var[i] & R1CS_INPUT) { /* the appended rows */
            fr l;
            lagrange(&l, p, p->c->n_rows + (p->var[i] & ~R1CS_INPUT));
            fr_add(&p->q[0][i], &p->q[0][i], &l);
        }
}

static void sample_fini(sample *p)
{
    mem_free(p->aux_map);
    pthread_mutex_destroy(&p->lock);
}

static void expect_g1(const setup_key *k, g16_section sec, uint64_t i, const fr *scalar)
{
    g1_aff got, want;
    g1_jac j;
    fr_int x;
    fr_to_int(&x, scalar);
    g1_jac_from_aff(&j, &G1_GENERATOR);
    g1_mul(&j, &j, &x);
    g1_jac_to_aff(&want, &j);
    assert_true(i < k->mem.n[sec]);
    assert_int_equal(cudaMemcpy(&got, (char *)k->mem.d[sec] + i * sizeof got, sizeof got,
                                cudaMemcpyDeviceToHost),
                     cudaSuccess);
    if (memcmp(&got, &want, sizeof got) != 0)
        fail_msg("section %d, point %llu, seed %llx", sec, (unsigned long long)i,
                 (unsigned long long)seed);
}

static void expect_g2(const setup_key *k, uint64_t i, const fr *scalar)
{
    g2_aff got, want;
    g2_jac j;
    fr_int x;
    fr_to_int(&x, scalar);
    g2_jac_from_aff(&j, &G2_GENERATOR);
    g2_mul(&j, &j, &x);
    g2_jac_to_aff(&want, &j);
    assert_int_equal(cudaMemcpy(&got, (char *)k->mem.d[G16_B_G2] + i * sizeof got, sizeof got,
                                cudaMemcpyDeviceToHost),
                     cudaSuccess);
    if (memcmp(&got, &want, sizeof got) != 0)
        fail_msg("section b_g2, point %llu, seed %llx", (unsigned long long)i,
                 (unsigned long long)seed);
}

/* Set bits of the map before bit j. */
static uint64_t rank_of(const uint64_t *map, uint64_t j)
{
    uint64_t n = 0;
    for (uint64_t k = 0; k < j / 64; k++)
        n += (uint64_t)__builtin_popcountll(map[k]);
    return n + (uint64_t)__builtin_popcountll(map[j / 64] & (((uint64_t)1 << (j % 64)) - 1));
}

static void check_powers(const setup_key *k, const sample *p)
{
    uint64_t s = seed, n = k->mem.n[G16_H];
    for (unsigned i = 0; i < N_POWERS; i++) {
        uint64_t e = i == 0 ? 0 : i == 1 ? n - 1 : gpu_test_u64(&s) % n;
        fr x, d, m;
        fr_pow_u64(&x, &p->t->tau, e);
        fr_inv(&d, &p->t->delta);
        fr_mul(&x, &x, &d);
        fr_from_u64(&m, (uint64_t)1 << p->c->lg_m);
        fr_mul(&m, &m, &p->w_over_m);
        fr_mul(&x, &x, &m);
        expect_g1(k, G16_H, e, &x);
    }
}

/* (beta u + alpha v + w) / gamma or delta. */
static void weighted(fr *o, const sample *p, unsigned i)
{
    fr x, d;
    fr_mul(o, &p->q[0][i], &p->t->beta);
    fr_mul(&x, &p->q[1][i], &p->t->alpha);
    fr_add(o, o, &x);
    fr_add(o, o, &p->q[2][i]);
    fr_inv(&d, p->var[i] & R1CS_INPUT ? &p->t->gamma : &p->t->delta);
    fr_mul(o, o, &d);
}

static void check_var(const setup_key *k, const sample *p, unsigned i)
{
    r1cs_var v = p->var[i];
    uint64_t b_in = p->c->b_inputs;
    const uint64_t *da = r1cs_shape_a_density(p->s), *db = r1cs_shape_b_density(p->s);
    fr x;
    weighted(&x, p, i);
    if (v & R1CS_INPUT) {
        g1_aff want;
        g1_jac j;
        fr_int e;
        fr_to_int(&e, &x);
        g1_jac_from_aff(&j, &G1_GENERATOR);
        g1_mul(&j, &j, &e);
        g1_jac_to_aff(&want, &j);
        assert_true(g1_aff_eq(&k->vk.ic[v & ~R1CS_INPUT], &want));
        expect_g1(k, G16_A, v & ~R1CS_INPUT, &p->q[0][i]);
        return;
    }
    expect_g1(k, G16_L, v, &x);
    bool in_a = da[v / 64] >> (v % 64) & 1, in_b = db[v / 64] >> (v % 64) & 1;
    assert_int_equal(in_a, !fr_is_zero(&p->q[0][i]));
    assert_int_equal(in_b, !fr_is_zero(&p->q[1][i]));
    if (in_a)
        expect_g1(k, G16_A, p->c->n_inputs + rank_of(da, v), &p->q[0][i]);
    if (in_b) {
        expect_g1(k, G16_B_G1, b_in + rank_of(db, v), &p->q[1][i]);
        expect_g2(k, b_in + rank_of(db, v), &p->q[1][i]);
    }
}

static cuzk_status count_bytes(void *ctx, const void *p, size_t n)
{
    (void)p;
    *(uint64_t *)ctx += n;
    return cuzk_ok();
}

/* A line of results, without its end. */
typedef struct line {
    char text[2048];
    size_t n;
} line;

static void __attribute__((format(printf, 2, 3))) add(line *l, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(l->text + l->n, sizeof l->text - l->n, fmt, ap);
    va_end(ap);
    assert_true(n >= 0 && (size_t)n < sizeof l->text - l->n);
    l->n += (size_t)n;
}

static void add_key(line *l, const setup_key *k)
{
    static const char *const groups[] = {SPAN_UPLOAD, SPAN_SETUP_LAGRANGE, SPAN_SETUP_QUERIES,
                                         SPAN_SETUP_POWERS, SPAN_SETUP_MUL};
    static const char *const sections[] = {"ic", "h", "l", "a", "b_g1", "b_g2"};
    double key_bytes = 0;
    for (int i = 0; i < G16_N_SECTIONS; i++)
        key_bytes += (double)k->mem.n[i] * (i == G16_B_G2 ? 192 : 96);
    add(l, ", \"setup_ms\": %.1f, \"key_bytes\": %.0f, \"scratch_bytes\": %zu", k->wall_ms,
        key_bytes, k->scratch_bytes);
    add(l, ", \"slices\": %llu, \"longest_slice_ms\": %.1f", (unsigned long long)dev.n_slices,
        dev.longest_slice_ms);
    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        add(l, ", \"%s_ms\": %.1f", groups[i], setup_group_ms(&dev, groups[i]));
    unsigned sec = 0;
    for (unsigned i = 0; i < dev.n_groups && sec < ARRAY_LEN(sections); i++) {
        float ms;
        if (strcmp(dev.names[i], SPAN_SETUP_MUL) == 0 &&
            cudaEventElapsedTime(&ms, dev.events[2 * i], dev.events[2 * i + 1]) == cudaSuccess)
            add(l, ", \"%s_ms\": %.1f", sections[sec++], (double)ms);
    }
}

/* The bytes of the key file, dropped. */
static void add_stream(line *l, const r1cs_shape *s, const g16_toxic *t)
{
    gpu_msm_ws ws = dev.ws;
    uint64_t n = 0;
    struct rusage ru;
    assert_ok(gpu_setup_stream_bytes(&ws.bytes, s), "workspace");
    assert_int_equal(cudaMalloc(&ws.d_ws, ws.bytes), cudaSuccess);
    double start = setup_clock_ms();
    assert_ok(gpu_setup_stream((g16_sink){&n, count_bytes}, s, t, &ws, &(run_ctx){0}), "stream");
    add(l, ", \"to_bytes_ms\": %.1f, \"to_bytes_device_bytes\": %zu", setup_clock_ms() - start,
        ws.bytes);
    assert_int_equal(n, g16_params_bytes(s));
    assert_int_equal(cudaFree(ws.d_ws), cudaSuccess);
    getrusage(RUSAGE_SELF, &ru);
    struct cudaDeviceProp prop;
    int ordinal;
    assert_int_equal(cudaGetDevice(&ordinal), cudaSuccess);
    assert_int_equal(cudaGetDeviceProperties(&prop, ordinal), cudaSuccess);
    add(l, ", \"host_peak_rss_bytes\": %lld, \"device\": \"%s\"", (long long)ru.ru_maxrss * 1024,
        prop.name);
}

static void sample_key(const setup_key *k, const r1cs_shape *s, const g16_toxic *t)
{
    sample *p = mem_alloc(sizeof *p, 64);
    assert_non_null(p);
    sample_init(p, s, t);
    check_powers(k, p);
    for (unsigned i = 0; i < p->n; i++)
        check_var(k, p, i);
    print_message("%u variables and %u powers agree\n", p->n, N_POWERS);
    sample_fini(p);
    mem_free(p);
}

static void check_circuit(const char *name)
{
    g16_toxic t;
    r1cs_shape *s;
    setup_key k;
    line l = {.n = 0};
    double start = setup_clock_ms();
    assert_ok(circuit_shape(&s, name), name);
    add(&l, "  {\"circuit\": \"%s\", \"shape_ms\": %.1f", name, setup_clock_ms() - start);
    assert_ok(g16_toxic_random(&t), "toxic");
    setup_device_reset(&dev);
    cuzk_status st = setup_key_make(&k, &dev, s, &t);
    if (st.code == CUZK_E_NOMEM) {
        print_message("%s: %s\n", name, st.msg);
        setup_key_free(&k, &dev);
        r1cs_shape_destroy(s);
        skip();
    }
    assert_ok(st, name);
    assert_true(dev.longest_slice_ms < 100); /* urgent work waits no longer (gpu_run.h) */
    add_key(&l, &k);
    sample_key(&k, s, &t);
    setup_key_free(&k, &dev);
    add_stream(&l, s, &t);
    print_message("%s}\n", l.text);
    if (json)
        fprintf(json, "%s%s}", ftell(json) > 2 ? ",\n" : "", l.text);
    r1cs_shape_destroy(s);
}

static void test_porep_32gib(void **state)
{
    (void)state;
    check_circuit("PoRep 32GiB");
}

static void test_window_post_32gib(void **state)
{
    (void)state;
    check_circuit("WindowPoSt 32GiB");
}

static void test_update_32gib(void **state)
{
    (void)state;
    check_circuit("EmptySectorUpdate 32GiB");
}

static int open_all(void **state)
{
    (void)state;
    const char *path = getenv("CUZK_SETUP_JSON");
    if (path && !(json = fopen(path, "w")))
        return -1;
    if (json)
        fputs("[\n", json);
    return setup_device_open(&dev) && pool_create(&threads, 0).code == CUZK_OK ? 0 : -1;
}

static int close_all(void **state)
{
    (void)state;
    setup_device_close(&dev);
    pool_destroy(threads);
    if (json) {
        fputs("\n]\n", json);
        return fclose(json);
    }
    return 0;
}

int main(void)
{
    if (!gpu_test_has_device())
        return GPU_TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_porep_32gib),
        cmocka_unit_test(test_window_post_32gib),
        cmocka_unit_test(test_update_32gib),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
