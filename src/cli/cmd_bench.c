/* cuzk bench: medians of several checked runs, as JSON or a table. */
#include "base/mem.h"
#include "build_facts.h"
#include "cli/bench.h"
#include "cli/client.h"
#include "ff/fp.h"
#include "msm/msm.h"
#include "poly/ntt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

bench_row *bench_add_row(bench *b, const char *name, uint64_t n, const char *unit)
{
    CUZK_ASSERT(b->n_rows < MAX_ROWS);
    bench_row *r = &b->rows[b->n_rows++];
    *r = (bench_row){.n = n, .unit = unit};
    snprintf(r->name, sizeof r->name, "%s", name);
    return r;
}

static int cmp_double(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

uint64_t bench_next_rand(uint64_t *s)
{
    *s += 0x9e3779b97f4a7c15u;
    uint64_t z = *s;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void bench_fill_fr(fr *a, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        fr_int v;
        for (int k = 0; k < 4; k++)
            v.l[k] = bench_next_rand(&seed);
        fr_from_int(&a[i], &v);
    }
}

static cuzk_status bench_field(bench *b)
{
    enum { N = 1 << 16, REPEAT = 16 };
    fr *v = mem_alloc(3 * N * sizeof *v, 64);
    if (!v)
        return cuzk_fail(CUZK_E_NOMEM, "bench vectors");
    bench_fill_fr(v, 2 * N, 1);
    fp x, y;
    fp_from_u64(&x, 3);
    fp_from_u64(&y, 5);
    fp_inv(&y, &y);
    bench_row *rm = bench_add_row(b, "fr_vec_mul", N, "ns"),
              *pm = bench_add_row(b, "fp_mul_chain", N, "ns"),
              *ps = bench_add_row(b, "fp_sqr_chain", N, "ns"),
              *pi = bench_add_row(b, "fp_inv", 256, "ns");
    for (uint32_t s = 0; s < b->n_samples; s++) {
        uint64_t t0 = clock_now_ns();
        for (int k = 0; k < REPEAT; k++)
            fr_vec_mul(v + 2 * N, v, v + N, N);
        rm->samples[rm->n_samples++] = (double)(clock_now_ns() - t0) / (N * REPEAT);
        t0 = clock_now_ns();
        for (int k = 0; k < N; k++)
            fp_mul(&x, &x, &y);
        pm->samples[pm->n_samples++] = (double)(clock_now_ns() - t0) / N;
        t0 = clock_now_ns();
        for (int k = 0; k < N; k++)
            fp_sqr(&x, &x);
        ps->samples[ps->n_samples++] = (double)(clock_now_ns() - t0) / N;
        t0 = clock_now_ns();
        for (int k = 0; k < 256; k++)
            fp_inv(&x, &x);
        pi->samples[pi->n_samples++] = (double)(clock_now_ns() - t0) / 256;
    }
    mem_free(v);
    return fp_is_zero(&x) ? cuzk_fail(CUZK_E_INTERNAL, "field bench went wrong") : cuzk_ok();
}

static cuzk_status bench_ntt_size(bench *b, const ntt_plan *plan, fr *v, const fr *ref, uint32_t lg)
{
    char name[48];
    size_t n = (size_t)1 << lg;
    snprintf(name, sizeof name, "ntt_forward_2^%u", lg);
    bench_row *f = bench_add_row(b, name, n, "ms");
    snprintf(name, sizeof name, "ntt_inverse_2^%u", lg);
    bench_row *i = bench_add_row(b, name, n, "ms");
    memcpy(v, ref, n * sizeof *v);
    for (uint32_t s = 0; s <= b->n_samples; s++) {
        uint64_t t0 = clock_now_ns();
        CUZK_TRY(ntt_forward(plan, v, lg, &b->env.rc));
        uint64_t t1 = clock_now_ns();
        CUZK_TRY(ntt_inverse(plan, v, lg, &b->env.rc));
        uint64_t t2 = clock_now_ns();
        if (s == 0) /* warm-up */
            continue;
        f->samples[f->n_samples++] = (double)(t1 - t0) / 1e6;
        i->samples[i->n_samples++] = (double)(t2 - t1) / 1e6;
    }
    return memcmp(v, ref, n * sizeof *v) == 0
               ? cuzk_ok()
               : cuzk_fail(CUZK_E_INTERNAL, "NTT round trip differs at 2^%u", lg);
}

static cuzk_status bench_ntt(bench *b)
{
    ntt_plan *plan;
    size_t n = (size_t)1 << b->lg_hi;
    CUZK_TRY(ntt_plan_create(&plan, b->lg_hi, &b->env.rc));
    fr *v = mem_alloc(2 * n * sizeof *v, 64);
    cuzk_status st = v ? cuzk_ok() : cuzk_fail(CUZK_E_NOMEM, "2^%u elements", b->lg_hi);
    if (v)
        bench_fill_fr(v + n, n, 2);
    for (uint32_t lg = b->lg_lo; lg <= b->lg_hi && st.code == CUZK_OK; lg += 2)
        st = bench_ntt_size(b, plan, v, v + n, lg);
    mem_free(v);
    ntt_plan_destroy(plan);
    return st;
}

typedef struct msm_bufs {
    g1_aff *bases;
    g2_aff *bases2;
    fr_int *scalars;
    fr *logs; /* bases[i] = logs[i] * G */
    uint64_t *mask;
} msm_bufs;

/* sum logs[i] * scalars[i] tells what the MSM must give: every result is checked. */
static cuzk_status check_msm(const msm_bufs *m, const g1_jac *got, size_t n)
{
    fr sum = FR_ZERO, t;
    fr_int k;
    g1_jac want, g;
    for (size_t i = 0; i < n; i++) {
        fr_from_int(&t, &m->scalars[i]);
        fr_mul(&t, &t, &m->logs[i]);
        fr_add(&sum, &sum, &t);
    }
    fr_to_int(&k, &sum);
    g1_jac_from_aff(&g, &G1_GENERATOR);
    g1_mul(&want, &g, &k);
    return g1_jac_eq(&want, got) ? cuzk_ok()
                                 : cuzk_fail(CUZK_E_INTERNAL, "MSM of %zu points is wrong", n);
}

static cuzk_status bench_msm_size(bench *b, const msm_bufs *m, uint32_t lg)
{
    char name[48];
    g1_jac out;
    g2_jac out2;
    size_t n = (size_t)1 << lg, n2 = lg > 18 ? (size_t)1 << 18 : n;
    snprintf(name, sizeof name, "msm_g1_uniform_2^%u", lg);
    bench_row *u = bench_add_row(b, name, n, "ms");
    snprintf(name, sizeof name, "msm_g1_bits_2^%u", lg);
    bench_row *s = bench_add_row(b, name, n, "ms");
    snprintf(name, sizeof name, "msm_g2_uniform_2^%u", lg > 18 ? 18 : lg);
    bench_row *g = bench_add_row(b, name, n2, "ms");
    for (uint32_t k = 0; k < b->n_samples; k++) {
        uint64_t t0 = clock_now_ns();
        CUZK_TRY(msm_g1(&out, m->bases, m->scalars, n, &b->env.rc));
        u->samples[u->n_samples++] = (double)(clock_now_ns() - t0) / 1e6;
        if (k == 0)
            CUZK_TRY(check_msm(m, &out, n));
        t0 = clock_now_ns();
        CUZK_TRY(msm_g1_sum(&out, m->bases, m->mask, n, &b->env.rc));
        s->samples[s->n_samples++] = (double)(clock_now_ns() - t0) / 1e6;
        t0 = clock_now_ns();
        CUZK_TRY(msm_g2(&out2, m->bases2, m->scalars, n2, &b->env.rc));
        g->samples[g->n_samples++] = (double)(clock_now_ns() - t0) / 1e6;
    }
    return cuzk_ok();
}

static cuzk_status bench_msm(bench *b)
{
    size_t n = (size_t)1 << b->lg_hi, n2 = b->lg_hi > 18 ? (size_t)1 << 18 : n;
    msm_bufs m = {.bases = mem_alloc(n * sizeof(g1_aff), 64),
                  .bases2 = mem_alloc(n2 * sizeof(g2_aff), 64),
                  .scalars = mem_alloc(n * sizeof(fr_int), 64),
                  .logs = mem_alloc(n * sizeof(fr), 64),
                  .mask = mem_alloc((n / 64 + 1) * 8, 64)};
    cuzk_status st = cuzk_fail(CUZK_E_NOMEM, "2^%u points", b->lg_hi);
    if (m.bases && m.bases2 && m.scalars && m.logs && m.mask) {
        uint64_t seed = 5;
        bench_fill_fr(m.logs, n, 3);
        fr_vec_to_int(m.scalars, m.logs, n);
        st = msm_fixed_g1(m.bases, &G1_GENERATOR, m.scalars, n, &b->env.rc);
        if (st.code == CUZK_OK)
            st = msm_fixed_g2(m.bases2, &G2_GENERATOR, m.scalars, n2, &b->env.rc);
        fr *s = (fr *)m.scalars;
        bench_fill_fr(s, n, 4);
        fr_vec_to_int(m.scalars, s, n);
        for (size_t i = 0; i <= n / 64; i++)
            m.mask[i] = bench_next_rand(&seed);
    }
    for (uint32_t lg = b->lg_lo; lg <= b->lg_hi && st.code == CUZK_OK; lg += 2)
        st = bench_msm_size(b, &m, lg);
    mem_free(m.bases);
    mem_free(m.bases2);
    mem_free(m.scalars);
    mem_free(m.logs);
    mem_free(m.mask);
    return st;
}

/* Rows of a whole proof: times the backend tells, then what the caller sees. */
#define N_STAGES 8
static const char *const stage_names[N_STAGES] = {
    "prove_eval",  "prove_quotient", "prove_msm_h",    "prove_msm_l",
    "prove_msm_a", "prove_msm_b_g1", "prove_msm_b_g2", "prove_assemble"};
enum { ROW_WITNESS = N_STAGES, ROW_PROVE, ROW_TOTAL, N_PROVE_ROWS };

static void add_prove_rows(bench *b, uint64_t n, bench_row *rows[N_PROVE_ROWS])
{
    static const char *const names[] = {"prove_witness", "prove_groth16", "prove_total"};
    for (int i = 0; i < N_PROVE_ROWS; i++)
        rows[i] = bench_add_row(b, i < N_STAGES ? stage_names[i] : names[i - N_STAGES], n, "ms");
}

static void add_sample(bench_row *rows[N_PROVE_ROWS], const g16_timings *t, const uint64_t at[3])
{
    const uint64_t ns[N_PROVE_ROWS] = {t->eval_ns,    t->quotient_ns, t->msm_h_ns,  t->msm_l_ns,
                                       t->msm_a_ns,   t->msm_b1_ns,   t->msm_b2_ns, t->assemble_ns,
                                       at[1] - at[0], at[2] - at[1],  at[2] - at[0]};
    for (int i = 0; i < N_PROVE_ROWS; i++)
        rows[i]->samples[rows[i]->n_samples++] = (double)ns[i] / 1e6;
}

/* One whole proof, verified; rows NULL: a warm-up. */
static cuzk_status prove_once(bench *b, const proof_task *p, const r1cs_shape *s,
                              const g16_pvk *pvk, bench_row *rows[N_PROVE_ROWS])
{
    witness w;
    g16_blinding rs;
    g16_proof proof;
    g16_timings t;
    uint64_t at[3] = {clock_now_ns()};
    fr *inputs = arena_alloc(&b->env.arena, proof_task_n_public(p) * sizeof *inputs, 64);
    if (!inputs)
        return cuzk_fail(CUZK_E_NOMEM, "public inputs");
    CUZK_TRY(witness_init(&w, s));
    cuzk_status st = proof_task_witness(&w, s, p, 0, CS_WITNESS_FAST, &b->env.rc);
    at[1] = clock_now_ns();
    const witness *ws[1] = {&w};
    if (st.code == CUZK_OK)
        st = g16_blinding_random(&rs);
    if (st.code == CUZK_OK)
        st = g16_prove(b->device.backend, b->device.loaded, ws, &rs, 1, &proof, &t, &b->env.rc);
    at[2] = clock_now_ns();
    proof_task_public_inputs(p, 0, inputs);
    if (st.code == CUZK_OK)
        st = g16_verify(pvk, inputs, proof_task_n_public(p), &proof);
    witness_fini(&w);
    if (st.code == CUZK_OK && rows)
        add_sample(rows, &t, at);
    return st;
}

static cuzk_status prove_loop(bench *b, const proof_task *p, const r1cs_shape *s)
{
    g16_toxic t;
    g16_pvk *pvk;
    bench_row *rows[N_PROVE_ROWS];
    if (b->a.dev_key) {
        CUZK_TRY(g16_toxic_random(&t));
        cuzk_status made = cli_device_load_development(&b->device, s, &t, &b->env.rc);
        mem_wipe(&t, sizeof t);
        CUZK_TRY(made);
    } else {
        CUZK_TRY(cli_device_load_key(&b->device, s, b->a.params, &b->env.rc));
    }
    CUZK_TRY(g16_pvk_create(&pvk, b->device.vk));
    add_prove_rows(b, r1cs_shape_counts(s)->n_rows, rows);
    /* A CUDA device is warmed up: its first proof loads kernels. */
    cuzk_status st = b->device.is_cuda ? prove_once(b, p, s, pvk, NULL) : cuzk_ok();
    for (uint32_t k = 0; k < b->n_samples && st.code == CUZK_OK; k++)
        st = prove_once(b, p, s, pvk, rows);
    g16_pvk_destroy(pvk);
    return st;
}

static cuzk_status bench_prove(bench *b)
{
    r1cs_shape *s;
    bool decoded;
    proof_task *p = arena_alloc(&b->env.arena, sizeof *p, 64);
    if (!p)
        return cuzk_fail(CUZK_E_NOMEM, "proof task");
    if (!b->a.params == !b->a.dev_key)
        return cuzk_fail(CUZK_E_USAGE, "prove: expected one of --params, --dev-key");
    CUZK_TRY(cli_load_task(&b->env, p, &b->a.input, true, &decoded));
    CUZK_TRY(proof_task_shape(&s, p));
    proof_task_circuit_name(b->circuit, p);
    cuzk_status st = prove_loop(b, p, s);
    cli_device_unload(&b->device); /* it reads the shape */
    r1cs_shape_destroy(s);
    return st;
}

static void cpu_model(char *out, size_t len)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[256];
    snprintf(out, len, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon) {
            colon[strcspn(colon, "\n")] = 0;
            snprintf(out, len, "%s", colon + 2);
            break;
        }
    }
    if (f)
        fclose(f);
}

static void json_row(json_writer *w, bench_row *r)
{
    double raw[MAX_SAMPLES];
    memcpy(raw, r->samples, sizeof raw);
    qsort(raw, r->n_samples, sizeof *raw, cmp_double);
    json_begin_object(w);
    json_kv_str(w, "name", r->name);
    json_kv_u64(w, "n", r->n);
    json_kv_str(w, "unit", r->unit);
    json_kv_f64(w, "min", raw[0]);
    json_kv_f64(w, "median", raw[r->n_samples / 2]);
    json_kv_f64(w, "max", raw[r->n_samples - 1]);
    json_key(w, "samples");
    json_begin_array(w);
    for (uint32_t i = 0; i < r->n_samples; i++)
        json_f64(w, r->samples[i]);
    json_end_array(w);
    json_end_object(w);
}

static cuzk_status print_json(bench *b)
{
    json_writer w;
    char cpu[128], date[32];
    time_t now = time(NULL);
    struct tm tm;
    struct rusage ru;
    cpu_model(cpu, sizeof cpu);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &tm));
    getrusage(RUSAGE_SELF, &ru);
    json_write_init(&w, stdout, true);
    json_begin_object(&w);
    json_kv_str(&w, "bench", b->a.what);
    if (b->circuit[0])
        json_kv_str(&w, "circuit", b->circuit);
    json_kv_str(&w, "date", date);
    cli_device_json(&w, &b->device);
    json_kv_str(&w, "cpu", cpu);
    json_kv_u64(&w, "cpus", pool_usable_cpus());
    json_kv_u64(&w, "threads", pool_threads(b->env.pool));
    json_kv_str(&w, "code_path", ff_isa());
    json_kv_str(&w, "commit", CUZK_GIT_COMMIT);
    json_kv_str(&w, "compiler", CUZK_COMPILER);
    json_kv_str(&w, "flags", CUZK_BUILD_FLAGS);
    json_kv_u64(&w, "peak_rss_kib", (uint64_t)ru.ru_maxrss);
    json_kv_u64(&w, "peak_allocated_kib", mem_get_stats().peak_bytes / 1024);
    json_key(&w, "rows");
    json_begin_array(&w);
    for (size_t i = 0; i < b->n_rows; i++)
        json_row(&w, &b->rows[i]);
    json_end_array(&w);
    json_end_object(&w);
    return json_write_finish(&w);
}

static cuzk_status print_text(bench *b)
{
    printf("device %s (%s), %u threads\n%-26s %12s %12s %12s %12s\n", b->device.name,
           b->device.model, pool_threads(b->env.pool), "what", "n", "min", "median", "max");
    for (size_t i = 0; i < b->n_rows; i++) {
        bench_row *r = &b->rows[i];
        qsort(r->samples, r->n_samples, sizeof(double), cmp_double);
        printf("%-26s %12llu %12.2f %12.2f %12.2f %s\n", r->name, (unsigned long long)r->n,
               r->samples[0], r->samples[r->n_samples / 2], r->samples[r->n_samples - 1], r->unit);
    }
    return cuzk_ok();
}

static cuzk_status run_bench(bench *b)
{
    uint64_t samples = 5, lg = 18;
    if (b->a.samples)
        CUZK_TRY(cli_parse_u64(&samples, "--samples", b->a.samples, MAX_SAMPLES));
    if (b->a.lg)
        CUZK_TRY(cli_parse_u64(&lg, "--lg", b->a.lg, 28));
    if (samples == 0)
        return cuzk_fail(CUZK_E_USAGE, "--samples: expected 1 to %d, found 0", MAX_SAMPLES);
    if (b->a.c1) {
        b->a.input.files = &b->a.c1;
        b->a.input.n_files = 1;
    }
    b->n_samples = (uint32_t)samples;
    b->lg_hi = (uint32_t)lg;
    b->lg_lo = lg < 14 ? (uint32_t)lg : 14 + (uint32_t)lg % 2;
    b->rows = arena_alloc(&b->env.arena, MAX_ROWS * sizeof *b->rows, 64);
    if (!b->rows)
        return cuzk_fail(CUZK_E_NOMEM, "bench rows");
    /* The CPU unless asked: all but prove measure one device, the one named. */
    bool proves = strcmp(b->a.what, "prove") == 0;
    CUZK_TRY(cli_device_open(&b->device, b->a.device || proves ? b->a.device : "cpu",
                             b->a.plain_key, b->a.common.quiet));
    if (!proves && b->device.n > 1)
        return cuzk_fail(CUZK_E_USAGE, "%s: expected one device, found %s", b->a.what,
                         b->device.name);
    if (strcmp(b->a.what, "field") == 0)
        return b->device.is_cuda
                   ? cuzk_fail(CUZK_E_USAGE, "field: expected cpu, found %s", b->device.name)
                   : bench_field(b);
    if (strcmp(b->a.what, "ntt") == 0)
        return b->device.is_cuda ? bench_device_ntt(b) : bench_ntt(b);
    if (strcmp(b->a.what, "msm") == 0)
        return b->device.is_cuda ? bench_device_msm(b) : bench_msm(b);
    if (strcmp(b->a.what, "spmv") == 0)
        return bench_spmv(b);
    if (strcmp(b->a.what, "prove") == 0)
        return bench_prove(b);
    return cuzk_fail(CUZK_E_USAGE, "expected field, ntt, msm, spmv or prove, found \"%.20s\"",
                     b->a.what);
}

static int bench_command(bench *b)
{
    cuzk_status st = cli_env_init(&b->env, &b->a.common);
    if (st.code == CUZK_OK) {
        st = cli_env_finish(&b->env, run_bench(b));
        if (st.code == CUZK_OK)
            st = b->a.common.json ? print_json(b) : print_text(b);
        cli_device_close(&b->device);
        cli_env_fini(&b->env);
    }
    return cli_report(&cli_cmd_bench, st);
}

static int run(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "e2e") == 0)
        return cli_bench_e2e(argc - 1, argv + 1);
    bench b = {0};
    cli_opt opts[CLI_N_INPUT_OPTS + 8] = {
        {"lg", "K", "ntt, msm: largest size 2^K (default 18)", &b.a.lg, NULL},
        {"samples", "N", "counted runs (default 5)", &b.a.samples, NULL},
        {"c1", "FILE", "prove, spmv: the C1 output (or FILE... with the options `prove` takes)",
         &b.a.c1, NULL},
        {"circuit", "NAME", "spmv: a circuit of `cuzk circuits`, with random values", &b.a.circuit,
         NULL},
        {"params", "FILE", "prove: the proving key", &b.a.params, NULL},
        {"dev-key", NULL, "prove: with a development key made now", NULL, &b.a.dev_key},
        {"plain-key", NULL, "prove on CUDA: without the key's evaluation form", NULL,
         &b.a.plain_key},
        {"device", "NAME",
         "cpu, cuda, cuda:ID, several with commas, or auto (default: cpu; prove: auto)",
         &b.a.device, NULL},
    };
    size_t n_pos;
    int code = CLI_RESOURCES;
    cli_input_opts(opts + 8, &b.a.input);
    const char **pos = mem_alloc((size_t)argc * sizeof *pos, 8);
    if (pos && cli_parse(&cli_cmd_bench, opts, ARRAY_LEN(opts), &b.a.common, argc, argv,
                         &(cli_pos){pos, CLI_MAX_FILES, &n_pos, &code}) == 0) {
        b.a.what = n_pos ? pos[0] : NULL;
        b.a.input.files = pos + 1;
        b.a.input.n_files = n_pos ? n_pos - 1 : 0;
        code = b.a.what ? bench_command(&b)
                        : cli_usage(&cli_cmd_bench, "expected field, ntt, msm, spmv or prove");
    }
    mem_free(pos);
    return code;
}

const cli_cmd cli_cmd_bench = {
    "bench", "field|ntt|msm|spmv|prove|e2e [FILE...]",
    "Measure this machine; every result is checked.",
    "spmv times A.w and B.w of partition 0. prove times whole proofs of it, witness included, key "
    "opening left out. e2e goes through a daemon and has options of its own: `cuzk bench "
    "e2e --help`. Quote medians; compare only runs of one machine.",
    run};
