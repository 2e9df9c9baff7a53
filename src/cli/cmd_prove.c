/* cuzk prove: a vanilla proof in, verified Groth16 proofs out. */
#include "base/bytes.h"
#include "base/mem.h"
#include "base/span_names.h"
#include "build_facts.h"
#include "cli/cli.h"
#include <stdio.h>
#include <string.h>

typedef struct prove_args {
    const char *params, *partition, *device, *out, *test_r, *test_s;
    cli_common common;
    cli_input input;
} prove_args;

/* Everything the command owns, released by job_fini. */
typedef struct prove_job {
    cli_env env;
    proof_task task;
    r1cs_shape *shape;
    g16_key *key;
    g16_backend *backend;
    void *loaded;
    g16_pvk *pvk;
    uint32_t first, n; /* partitions */
    witness *witnesses;
    g16_blinding *blinding;
    g16_proof *proofs;
    fr **inputs;
    g16_timings timings;
    uint64_t witness_ns, verify_ns, total_ns;
    char params_path[4096];
} prove_job;

static void job_fini(prove_job *j)
{
    if (j->loaded)
        j->backend->ops->unload(j->backend, j->loaded);
    if (j->backend)
        j->backend->ops->destroy(j->backend);
    g16_pvk_destroy(j->pvk);
    g16_key_close(j->key);
    for (uint32_t k = 0; k < j->n; k++) {
        if (j->witnesses)
            witness_fini(&j->witnesses[k]);
        if (j->inputs)
            mem_free(j->inputs[k]);
    }
    if (j->blinding)
        mem_wipe(j->blinding, j->n * sizeof *j->blinding);
    mem_free(j->blinding);
    mem_free(j->witnesses);
    mem_free(j->proofs);
    mem_free(j->inputs);
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
    j->inputs = mem_zalloc(j->n * sizeof *j->inputs, 64);
    if (!j->witnesses || !j->blinding || !j->proofs || !j->inputs)
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

static cuzk_status open_key(prove_job *j, const char *params)
{
    if (params)
        snprintf(j->params_path, sizeof j->params_path, "%s", params);
    else
        cli_key_path(j->params_path, sizeof j->params_path, &j->task, "params");
    span_id s = span_begin(j->env.spans, j->env.root, SPAN_KEY_OPEN);
    cuzk_status st = g16_key_open(&j->key, j->params_path);
    if (st.code == CUZK_OK)
        st = g16_key_match(j->key, j->shape);
    if (st.code == CUZK_OK)
        st = g16_cpu_create(&j->backend);
    if (st.code == CUZK_OK) {
        run_ctx rc = run_ctx_under(&j->env.rc, s);
        st = j->backend->ops->load(j->backend, j->shape, j->key, &rc, &j->loaded);
    }
    if (st.code == CUZK_OK)
        st = g16_pvk_create(&j->pvk, g16_key_vk(j->key));
    span_end(j->env.spans, s);
    if (st.code == CUZK_E_NOT_FOUND && !params)
        return cuzk_wrap(st, "no parameter file (give --params, or fetch the published set)");
    return st;
}

static cuzk_status make_witnesses(prove_job *j)
{
    uint64_t t0 = clock_now_ns();
    for (uint32_t k = 0; k < j->n; k++) {
        span_id s = span_begin(j->env.spans, j->env.root, SPAN_WITNESS);
        span_note(j->env.spans, s, (int32_t)(j->first + k), 0);
        run_ctx rc = run_ctx_under(&j->env.rc, s);
        cuzk_status st = witness_init(&j->witnesses[k], j->shape);
        if (st.code == CUZK_OK)
            st = proof_task_witness(&j->witnesses[k], j->shape, &j->task, j->first + k,
                                    CS_WITNESS_FAST, &rc);
        j->inputs[k] = mem_alloc(proof_task_n_public(&j->task) * sizeof(fr), 64);
        if (st.code == CUZK_OK && !j->inputs[k])
            st = cuzk_fail(CUZK_E_NOMEM, "public inputs");
        if (st.code == CUZK_OK)
            proof_task_public_inputs(&j->task, j->first + k, j->inputs[k]);
        span_end(j->env.spans, s);
        if (st.code != CUZK_OK)
            return cuzk_wrap(st, "partition %u", j->first + k);
    }
    j->witness_ns = clock_now_ns() - t0;
    return cuzk_ok();
}

static cuzk_status prove_all(prove_job *j)
{
    const witness **w = mem_alloc(j->n * sizeof *w, 8);
    if (!w)
        return cuzk_fail(CUZK_E_NOMEM, "%u witnesses", j->n);
    for (uint32_t k = 0; k < j->n; k++)
        w[k] = &j->witnesses[k];
    span_id s = span_begin(j->env.spans, j->env.root, SPAN_PROVE);
    run_ctx rc = run_ctx_under(&j->env.rc, s);
    cuzk_status st =
        g16_prove(j->backend, j->loaded, w, j->blinding, j->n, j->proofs, &j->timings, &rc);
    span_end(j->env.spans, s);
    mem_free(w);
    return st;
}

/* No proof leaves unverified. */
static cuzk_status verify_all(prove_job *j)
{
    uint64_t t0 = clock_now_ns();
    span_id s = span_begin(j->env.spans, j->env.root, SPAN_VERIFY);
    cuzk_status st = cuzk_ok();
    for (uint32_t k = 0; k < j->n && st.code == CUZK_OK; k++)
        st = cuzk_wrap(
            g16_verify(j->pvk, j->inputs[k], proof_task_n_public(&j->task), &j->proofs[k]),
            "partition %u", j->first + k);
    span_end(j->env.spans, s);
    j->verify_ns = clock_now_ns() - t0;
    return st;
}

static cuzk_status run_job(prove_job *j, const prove_args *a)
{
    bool decoded;
    uint64_t t0 = clock_now_ns();
    if (a->device && strcmp(a->device, "cpu") != 0 && strcmp(a->device, "auto") != 0)
        return cuzk_fail(CUZK_E_USAGE, "--device: expected cpu or auto, found \"%.40s\"",
                         a->device);
    CUZK_TRY(cli_load_task(&j->env, &j->task, &a->input, true, &decoded));
    CUZK_TRY(select_partitions(j, a->partition));
    CUZK_TRY(make_blinding(j, a));
    CUZK_TRY(build_shape(j));
    CUZK_TRY(open_key(j, a->params));
    CUZK_TRY(make_witnesses(j));
    CUZK_TRY(prove_all(j));
    CUZK_TRY(verify_all(j));
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

static void json_timings(json_writer *w, const prove_job *j)
{
    const g16_timings *t = &j->timings;
    const struct {
        const char *name;
        uint64_t ns;
    } rows[] = {
        {"witness", j->witness_ns}, {"eval", t->eval_ns},       {"quotient", t->quotient_ns},
        {"msm_h", t->msm_h_ns},     {"msm_l", t->msm_l_ns},     {"msm_a", t->msm_a_ns},
        {"msm_b_g1", t->msm_b1_ns}, {"msm_b_g2", t->msm_b2_ns}, {"assemble", t->assemble_ns},
        {"prove", t->total_ns},     {"verify", j->verify_ns},   {"total", j->total_ns}};
    json_key(w, "timings_ms");
    json_begin_object(w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        json_kv_f64(w, rows[i].name, (double)rows[i].ns / 1e6);
    json_end_object(w);
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
    json_kv_str(&w, "device", "cpu");
    json_kv_str(&w, "code_path", ff_isa());
    json_kv_u64(&w, "threads", pool_threads(j->env.pool));
    json_kv_str(&w, "params", j->params_path);
    json_timings(&w, j);
    json_end_object(&w);
    mem_free(hex);
    cuzk_status end = json_write_finish(&w);
    return st.code == CUZK_OK ? end : st;
}

static cuzk_status print_text(const prove_job *j)
{
    char hex[2 * G16_PROOF_BYTES + 1], name[64];
    uint8_t b[G16_PROOF_BYTES];
    const char *registered = proof_task_registered(&j->task);
    proof_task_circuit_name(name, &j->task);
    printf("%s%s%s, partition%s %u%s of %u, device cpu (%s, %u threads)\n", name,
           registered ? ", " : "", registered ? registered : "", j->n > 1 ? "s" : "", j->first,
           j->n > 1 ? " and up" : "", proof_task_partitions(&j->task), ff_isa(),
           pool_threads(j->env.pool));
    for (uint32_t k = 0; k < j->n; k++) {
        proof_bytes(j, k, b);
        hex_encode(hex, b, sizeof b);
        printf("proof %u: %s\n", j->first + k, hex);
    }
    printf("verified: yes\n\n");
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

static int run(int argc, char **argv)
{
    prove_args a = {0};
    cli_opt opts[CLI_N_INPUT_OPTS + 6] = {
        {"params", "FILE", "proving key (default: the published file in the parameter cache)",
         &a.params, NULL},
        {"partition", "K", "only this partition (default: all)", &a.partition, NULL},
        {"out", "FILE", "also write the raw proof bytes, 192 per partition", &a.out, NULL},
        {"device", "NAME", "cpu or auto (this build has no GPU backend)", &a.device, NULL},
        {"test-r", "NUMBER", "fixed r, test builds only", &a.test_r, NULL},
        {"test-s", "NUMBER", "fixed s, test builds only", &a.test_s, NULL},
    };
    cli_input_opts(opts + 6, &a.input);
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
