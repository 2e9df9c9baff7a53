/* cuzk prove: a vanilla proof in, verified Groth16 proofs out. */
#include "base/bytes.h"
#include "base/mem.h"
#include "base/span_names.h"
#include "build_facts.h"
#include "cli/cli.h"
#include "cli/witness_maker.h"
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

typedef struct prove_args {
    const char *params, *partition, *device, *out, *vk_out, *repeat, *test_r, *test_s, *toxic;
    bool dev_key, plain_key, plan;
    cli_common common;
    cli_input input;
} prove_args;

#define MAX_REPEAT 64u
/* Times of one run from the checked input to verified proofs; with several partitions, witnesses are
 * made while others are being proven. */
typedef struct run_times {
    g16_timings stages;
    uint64_t witness_ns, prove_ns, verify_ns, total_ns;
} run_times;

/* Everything the command owns, released by job_fini. */
typedef struct prove_job {
    cli_env env;
    proof_task task;
    r1cs_shape *shape;
    cli_device device;
    pool *witness_pool; /* NULL: the environment's */
    g16_pvk *pvk;
    uint32_t first, n; /* partitions */
    witness *witnesses;
    g16_blinding *blinding;
    g16_proof *proofs;
    run_times times[MAX_REPEAT];
    uint32_t n_runs;
    uint64_t input_ns, shape_ns, load_ns, total_ns;
    char params_path[4096]; /* empty: a development key */
} prove_job;

static void job_fini(prove_job *j)
{
    g16_pvk_destroy(j->pvk);
    cli_device_close(&j->device);
    pool_destroy(j->witness_pool);
    for (uint32_t k = 0; k < j->n && j->witnesses; k++)
        witness_fini(&j->witnesses[k]);
    if (j->blinding)
        mem_wipe(j->blinding, j->n * sizeof *j->blinding);
    mem_free(j->blinding);
    mem_free(j->witnesses);
    mem_free(j->proofs);
    r1cs_shape_destroy(j->shape);
    cli_env_fini(&j->env);
}

static cuzk_status select_partitions(prove_job *j, const char *text)
{
    uint64_t k = 0;
    j->first = 0;
    j->n = proof_task_partitions(&j->task);
    if (text) {
        CUZK_TRY(cli_parse_u64(&k, "--partition", text, proof_task_partitions(&j->task) - 1));
        j->first = (uint32_t)k;
        j->n = 1;
    }
    j->witnesses = mem_zalloc(j->n * sizeof *j->witnesses, 64);
    j->blinding = mem_zalloc(j->n * sizeof *j->blinding, 64);
    j->proofs = mem_zalloc(j->n * sizeof *j->proofs, 64);
    if (!j->witnesses || !j->blinding || !j->proofs)
        return cuzk_fail(CUZK_E_NOMEM, "%u partitions", j->n);
    return cuzk_ok();
}

static cuzk_status make_blinding(prove_job *j, const prove_args *a)
{
    g16_blinding fixed = {FR_ZERO, FR_ZERO};
    if ((a->test_r == NULL) != (a->test_s == NULL))
        return cuzk_fail(CUZK_E_USAGE, "--test-r and --test-s: expected both or none");
    if (a->test_r) {
        if (!CUZK_HAS_TEST_HOOKS)
            return cuzk_fail(CUZK_E_USAGE, "--test-r, --test-s: fixed blinding makes proofs "
                                           "linkable; only builds with test hooks have it");
        CUZK_TRY(cli_parse_fr(&fixed.r, "--test-r", a->test_r));
        CUZK_TRY(cli_parse_fr(&fixed.s, "--test-s", a->test_s));
    }
    for (uint32_t k = 0; k < j->n; k++) {
        j->blinding[k] = fixed;
        if (!a->test_r)
            CUZK_TRY(g16_blinding_random(&j->blinding[k]));
    }
    return cuzk_ok();
}

static cuzk_status build_shape(prove_job *j)
{
    span_id s = span_begin(j->env.spans, j->env.root, SPAN_SHAPE);
    cuzk_status st = proof_task_shape(&j->shape, &j->task);
    span_end(j->env.spans, s);
    return st;
}

/* A key that anybody could make again is for development only: its holder can forge proofs. */
static cuzk_status load_development(prove_job *j, const prove_args *a, const run_ctx *rc)
{
    g16_toxic t;
    CUZK_TRY(a->toxic ? cli_parse_toxic(&t, a->toxic) : g16_toxic_random(&t));
    cuzk_status st = cli_device_load_development(&j->device, j->shape, &t, rc);
    mem_wipe(&t, sizeof t);
    if (st.code == CUZK_OK && !a->common.quiet)
        fprintf(stderr, "\r\033[Kproving with a DEVELOPMENT key made now, not for mainnet\n");
    return st;
}

static cuzk_status load_file(prove_job *j, const prove_args *a, const run_ctx *rc)
{
    if (a->params)
        snprintf(j->params_path, sizeof j->params_path, "%s", a->params);
    else
        cli_key_path(j->params_path, sizeof j->params_path, &j->task, "params");
    cuzk_status st = cli_device_load_key(&j->device, j->shape, j->params_path, rc);
    if (st.code == CUZK_E_NOT_FOUND && !a->params && !j->device.key)
        return cuzk_wrap(st, "no parameter file (give --params or --dev-key, or fetch the "
                             "published set)");
    return st;
}

static void print_plan(const prove_job *j)
{
    char text[2048];
    if (!j->device.is_cuda)
        return;
    g16_cuda_describe_plan(j->device.backend, j->device.loaded, text, sizeof text);
    fprintf(stderr, "\r\033[Kdevice memory on %s:\n%s", j->device.name, text);
}

static cuzk_status open_key(prove_job *j, const prove_args *a)
{
    span_id s = span_begin(j->env.spans, j->env.root, SPAN_KEY_OPEN);
    run_ctx rc = run_ctx_under(&j->env.rc, s);
    uint64_t t0 = clock_now_ns();
    cuzk_status st = cli_device_open(&j->device, a->device, a->plain_key, a->common.quiet);
    if (st.code == CUZK_OK)
        st = a->dev_key ? load_development(j, a, &rc) : load_file(j, a, &rc);
    if (st.code == CUZK_OK)
        st = g16_pvk_create(&j->pvk, j->device.vk);
    span_end(j->env.spans, s);
    j->load_ns = clock_now_ns() - t0;
    CUZK_TRY(st);
    if (a->plan)
        print_plan(j);
    return a->vk_out ? g16_vk_write(j->device.vk, a->vk_out) : cuzk_ok();
}

/* Work on all partitions: the first failure by partition counts. */
typedef struct partition_job {
    prove_job *j;
    run_ctx rc;
    cuzk_status *st;
} partition_job;

static cuzk_status for_partitions(prove_job *j, pool_fn *fn, const run_ctx *rc)
{
    partition_job p = {.j = j, .rc = *rc, .st = mem_zalloc(j->n * sizeof(cuzk_status), 8)};
    if (!p.st)
        return cuzk_fail(CUZK_E_NOMEM, "%u partitions", j->n);
    if (j->n == 1)
        fn(&p, 0, 0); /* its own loops may then use the threads */
    else
        pool_for(rc->pool, j->n, fn, &p);
    cuzk_status st = cuzk_ok();
    for (uint32_t k = 0; k < j->n && st.code == CUZK_OK; k++)
        st = cuzk_wrap(p.st[k], "partition %u", j->first + k);
    mem_free(p.st);
    return st;
}

static cuzk_status prove_batch(prove_job *j, witness_maker *m, run_times *t)
{
    const witness **w = mem_alloc(j->n * sizeof *w, 8);
    if (!w)
        return cuzk_fail(CUZK_E_NOMEM, "%u witnesses", j->n);
    for (uint32_t k = 0; k < j->n; k++)
        w[k] = &j->witnesses[k];
    const g16_batch batch = {.n = j->n,
                             .w = w,
                             .rs = j->blinding,
                             .out = j->proofs,
                             .ready = m ? witness_maker_ready : NULL,
                             .ctx = m};
    uint64_t t0 = clock_now_ns();
    span_id s = span_begin(j->env.spans, j->env.root, SPAN_PROVE);
    run_ctx rc = run_ctx_under(&j->env.rc, s);
    cuzk_status st =
        j->device.backend->ops->prove(j->device.backend, j->device.loaded, &batch, &t->stages, &rc);
    span_end(j->env.spans, s);
    mem_free(w);
    t->prove_ns = clock_now_ns() - t0;
    return st;
}

/* A GPU takes the environment's pool for short copies, which are not to wait for a witness. */
static cuzk_status make_witness_pool(prove_job *j)
{
    for (uint32_t i = 0; i < j->device.n && !j->witness_pool; i++)
        if (j->device.members[i].is_cuda && j->n > 1)
            CUZK_TRY(pool_create(&j->witness_pool, pool_threads(j->env.pool)));
    return cuzk_ok();
}

/* A device works on the first partitions while the witnesses of the others are being made. */
static cuzk_status prove_all(prove_job *j, run_times *t)
{
    witness_maker *m;
    witness_order order = {.task = &j->task,
                           .shape = j->shape,
                           .first = j->first,
                           .n = j->n,
                           .w = j->witnesses,
                           .rc = run_ctx_under(&j->env.rc, j->env.root)};
    CUZK_TRY(make_witness_pool(j));
    if (j->witness_pool)
        order.rc.pool = j->witness_pool;
    CUZK_TRY(witness_maker_start(&m, &order));
    if (j->n == 1) {
        CUZK_TRY(witness_maker_finish(m, false, &t->witness_ns));
        return prove_batch(j, NULL, t);
    }
    cuzk_status st = prove_batch(j, m, t);
    cuzk_status made = witness_maker_finish(m, st.code != CUZK_OK, &t->witness_ns);
    return st.code != CUZK_OK ? st : made;
}

static void verify_one(void *ctx, size_t k, unsigned thread)
{
    (void)thread;
    partition_job *p = ctx;
    prove_job *j = p->j;
    size_t n = proof_task_n_public(&j->task);
    fr *in = mem_alloc((n ? n : 1) * sizeof *in, 64);
    if (!in) {
        p->st[k] = cuzk_fail(CUZK_E_NOMEM, "%zu public inputs", n);
        return;
    }
    proof_task_public_inputs(&j->task, j->first + (uint32_t)k, in);
    p->st[k] = g16_verify(j->pvk, in, n, &j->proofs[k]);
    mem_free(in);
}

/* No proof leaves unverified. */
static cuzk_status verify_all(prove_job *j, run_times *t)
{
    uint64_t t0 = clock_now_ns();
    span_id s = span_begin(j->env.spans, j->env.root, SPAN_VERIFY);
    run_ctx rc = run_ctx_under(&j->env.rc, s);
    cuzk_status st = for_partitions(j, verify_one, &rc);
    span_end(j->env.spans, s);
    t->verify_ns = clock_now_ns() - t0;
    return st;
}

static cuzk_status run_once(prove_job *j, const prove_args *a, run_times *t)
{
    uint64_t t0 = clock_now_ns();
    CUZK_TRY(make_blinding(j, a));
    CUZK_TRY(prove_all(j, t));
    CUZK_TRY(verify_all(j, t));
    t->total_ns = clock_now_ns() - t0;
    return cuzk_ok();
}

static cuzk_status run_job(prove_job *j, const prove_args *a)
{
    bool decoded;
    uint64_t repeat = 1, t0 = clock_now_ns();
    if (a->repeat)
        CUZK_TRY(cli_parse_u64(&repeat, "--repeat", a->repeat, MAX_REPEAT));
    if (repeat == 0)
        return cuzk_fail(CUZK_E_USAGE, "--repeat: expected 1 to %u, found 0", MAX_REPEAT);
    if (a->dev_key && a->params)
        return cuzk_fail(CUZK_E_USAGE, "--dev-key and --params: expected one of them");
    if (a->toxic && !a->dev_key)
        return cuzk_fail(CUZK_E_USAGE, "--test-toxic: expected --dev-key with it");
    CUZK_TRY(cli_load_task(&j->env, &j->task, &a->input, true, &decoded));
    j->input_ns = clock_now_ns() - t0;
    CUZK_TRY(select_partitions(j, a->partition));
    CUZK_TRY(make_blinding(j, a)); /* wrong options are said before minutes of work */
    uint64_t t1 = clock_now_ns();
    CUZK_TRY(build_shape(j));
    j->shape_ns = clock_now_ns() - t1;
    CUZK_TRY(open_key(j, a));
    for (; j->n_runs < repeat; j->n_runs++)
        CUZK_TRY(cuzk_wrap(run_once(j, a, &j->times[j->n_runs]), "run %u", j->n_runs));
    j->total_ns = clock_now_ns() - t0;
    return cuzk_ok();
}

static void proof_bytes(const prove_job *j, uint32_t k, uint8_t b[G16_PROOF_BYTES])
{
    g16_proof_encode(b, &j->proofs[k]);
}

static cuzk_status write_proof_file(const prove_job *j, const char *path)
{
    uint8_t *all = mem_alloc((size_t)j->n * G16_PROOF_BYTES, 8);
    if (!all)
        return cuzk_fail(CUZK_E_NOMEM, "proof bytes");
    for (uint32_t k = 0; k < j->n; k++)
        proof_bytes(j, k, all + (size_t)k * G16_PROOF_BYTES);
    cuzk_status st = cli_write_file(path, all, (size_t)j->n * G16_PROOF_BYTES);
    mem_free(all);
    return st;
}

/* Names and ns of a run's stages. */
typedef struct time_row {
    const char *name;
    uint64_t ns;
} time_row;
#define N_TIMES 11

static void run_rows(time_row rows[N_TIMES], const run_times *r)
{
    const g16_timings *t = &r->stages;
    const time_row all[N_TIMES] = {
        {"witness", r->witness_ns}, {"eval", t->eval_ns},       {"quotient", t->quotient_ns},
        {"msm_h", t->msm_h_ns},     {"msm_l", t->msm_l_ns},     {"msm_a", t->msm_a_ns},
        {"msm_b_g1", t->msm_b1_ns}, {"msm_b_g2", t->msm_b2_ns}, {"assemble", t->assemble_ns},
        {"prove", r->prove_ns},     {"verify", r->verify_ns}};
    memcpy(rows, all, sizeof all);
}

static void json_run(json_writer *w, const run_times *r)
{
    time_row rows[N_TIMES];
    run_rows(rows, r);
    for (size_t i = 0; i < N_TIMES; i++)
        json_kv_f64(w, rows[i].name, (double)rows[i].ns / 1e6);
}

/* timings_ms: the last run, and the whole command; runs_ms: each run from the checked input on. */
static void json_timings(json_writer *w, const prove_job *j)
{
    json_key(w, "timings_ms");
    json_begin_object(w);
    json_run(w, &j->times[j->n_runs - 1]);
    json_kv_f64(w, "input", (double)j->input_ns / 1e6);
    json_kv_f64(w, "shape", (double)j->shape_ns / 1e6);
    json_kv_f64(w, "load", (double)j->load_ns / 1e6);
    json_kv_f64(w, "total", (double)j->total_ns / 1e6);
    json_end_object(w);
    json_key(w, "runs_ms");
    json_begin_array(w);
    for (uint32_t i = 0; i < j->n_runs; i++) {
        json_begin_object(w);
        json_run(w, &j->times[i]);
        json_kv_f64(w, "total", (double)j->times[i].total_ns / 1e6);
        json_end_object(w);
    }
    json_end_array(w);
}

static uint64_t peak_rss_bytes(void)
{
    struct rusage ru;
    getrusage(RUSAGE_SELF, &ru);
    return (uint64_t)ru.ru_maxrss * 1024;
}

static cuzk_status print_json(prove_job *j)
{
    json_writer w;
    uint8_t b[G16_PROOF_BYTES];
    char *hex = mem_zalloc((size_t)j->n * 2 * G16_PROOF_BYTES + 1, 8);
    if (!hex)
        return cuzk_fail(CUZK_E_NOMEM, "proof text");
    for (uint32_t k = 0; k < j->n; k++) {
        proof_bytes(j, k, b);
        hex_encode(hex + (size_t)k * 2 * G16_PROOF_BYTES, b, sizeof b);
    }
    json_write_init(&w, stdout, true);
    json_begin_object(&w);
    json_kv_str(&w, "kind", PROOF_KIND_NAMES[j->task.kind]);
    json_kv_str(&w, "registered_proof", proof_task_registered(&j->task));
    json_kv_u64(&w, "sector_size", proof_task_sector_bytes(&j->task));
    json_kv_u64(&w, "first_partition", j->first);
    json_kv_u64(&w, "partitions", j->n);
    json_kv_str(&w, "proof", hex);
    cuzk_status st = cli_json_inputs(&j->env, &w, &j->task, j->first, j->n);
    json_kv_bool(&w, "verified", true);
    cli_device_json(&w, &j->device);
    json_kv_str(&w, "code_path", ff_isa());
    json_kv_u64(&w, "threads", pool_threads(j->env.pool));
    json_kv_str(&w, "params", j->params_path);
    json_kv_bool(&w, "development_key", j->params_path[0] == 0);
    json_kv_u64(&w, "peak_rss_bytes", peak_rss_bytes());
    json_timings(&w, j);
    json_end_object(&w);
    mem_free(hex);
    cuzk_status end = json_write_finish(&w);
    return st.code == CUZK_OK ? end : st;
}

static void print_runs(const prove_job *j)
{
    time_row rows[N_TIMES];
    printf("%-10s", "ms");
    run_rows(rows, &j->times[0]);
    for (size_t i = 0; i < N_TIMES; i++)
        printf(" %9s", rows[i].name);
    printf(" %9s\n", "total");
    for (uint32_t r = 0; r < j->n_runs; r++) {
        run_rows(rows, &j->times[r]);
        printf("run %-6u", r);
        for (size_t i = 0; i < N_TIMES; i++)
            printf(" %9.1f", (double)rows[i].ns / 1e6);
        printf(" %9.1f\n", (double)j->times[r].total_ns / 1e6);
    }
    printf("peak resident set %.1f MiB", (double)peak_rss_bytes() / 1048576.0);
    if (j->device.is_cuda)
        printf(", device memory %.1f MiB",
               (double)g16_cuda_get_memory(j->device.backend).device_peak_bytes / 1048576.0);
    printf("\n\n");
}

static cuzk_status print_text(const prove_job *j)
{
    char hex[2 * G16_PROOF_BYTES + 1], name[64];
    uint8_t b[G16_PROOF_BYTES];
    const char *registered = proof_task_registered(&j->task);
    proof_task_circuit_name(name, &j->task);
    printf("%s%s%s, partition%s %u%s of %u, device %s (%s, %u threads)\n", name,
           registered ? ", " : "", registered ? registered : "", j->n > 1 ? "s" : "", j->first,
           j->n > 1 ? " and up" : "", proof_task_partitions(&j->task), j->device.name,
           j->device.model, pool_threads(j->env.pool));
    for (uint32_t k = 0; k < j->n; k++) {
        proof_bytes(j, k, b);
        hex_encode(hex, b, sizeof b);
        printf("proof %u: %s\n", j->first + k, hex);
    }
    printf("verified: yes\n\n");
    print_runs(j);
    return span_write_table(j->env.spans, stdout);
}

static int prove(const prove_args *a)
{
    prove_job *j = mem_zalloc(sizeof *j, 64);
    if (!j)
        return CLI_RESOURCES;
    cuzk_status st = cli_env_init(&j->env, &a->common);
    if (st.code == CUZK_OK) {
        st = cli_env_finish(&j->env, run_job(j, a));
        if (st.code == CUZK_OK && a->out)
            st = write_proof_file(j, a->out);
        if (st.code == CUZK_OK)
            st = a->common.json ? print_json(j) : print_text(j);
    }
    job_fini(j);
    mem_free(j);
    return cli_report(&cli_cmd_prove, st);
}

#define N_OPTS 12

static int run(int argc, char **argv)
{
    prove_args a = {0};
    cli_opt opts[CLI_N_INPUT_OPTS + N_OPTS] = {
        {"params", "FILE", "proving key (default: the published file in the parameter cache)",
         &a.params, NULL},
        {"partition", "K", "only this partition (default: all)", &a.partition, NULL},
        {"out", "FILE", "also write the raw proof bytes, 192 per partition", &a.out, NULL},
        {"device", "NAME",
         "cpu, cuda, cuda:ID, several with commas, or auto (default; see `cuzk devices`)",
         &a.device, NULL},
        {"dev-key", NULL, "prove with a development key made now (not for mainnet)", NULL,
         &a.dev_key},
        {"plain-key", NULL, "CUDA: without the key's evaluation form, to compare", NULL,
         &a.plain_key},
        {"vk-out", "FILE", "also write the verifying key", &a.vk_out, NULL},
        {"repeat", "N", "prove N times, for warm times (default 1)", &a.repeat, NULL},
        {"plan", NULL, "print the device memory plan on stderr", NULL, &a.plan},
        {"test-r", "NUMBER", "fixed r, test builds only", &a.test_r, NULL},
        {"test-s", "NUMBER", "fixed s, test builds only", &a.test_s, NULL},
        {"test-toxic", "A,B,G,D,T", "with --dev-key: fixed toxic values, test builds only",
         &a.toxic, NULL},
    };
    cli_input_opts(opts + N_OPTS, &a.input);
    const char **files = mem_alloc((size_t)argc * sizeof *files, 8);
    int code = CLI_RESOURCES;
    if (files && cli_parse(&cli_cmd_prove, opts, ARRAY_LEN(opts), &a.common, argc, argv,
                           &(cli_pos){files, CLI_MAX_FILES, &a.input.n_files, &code}) == 0) {
        a.input.files = files;
        code = prove(&a);
    }
    mem_free(files);
    return code;
}

const cli_cmd cli_cmd_prove = {
    "prove", "FILE...",
    "Prove a vanilla proof of any kind; every proof is verified before it is printed.",
    "porep: FILE is the C1 JSON of the Filecoin proofs API, or the {SectorNum, Phase1Out, "
    "SectorSize} wrapper around it; - reads\n"
    "standard input. winning, window: one bincode file per sector, in request order. snap: one "
    "bincode file per partition.\n"
    "All lengths, paths, labels and commitments are checked first: a wrong input is refused by "
    "name (exit code 2).",
    run};
