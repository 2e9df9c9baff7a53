/* cuzk prove: a vanilla proof in, verified Groth16 proofs out. */
#include "base/bytes.h"
#include "base/mem.h"
#include "base/span_names.h"
#include "build_facts.h"
#include "circuit/porep_circuit.h"
#include "cli/cli.h"
#include <stdio.h>
#include <string.h>

typedef struct prove_args {
    const char *params, *partition, *miner, *sector, *device, *out, *test_r, *test_s;
    cli_common common;
    const char *file;
} prove_args;

/* Everything the command owns, released by job_fini. */
typedef struct prove_job {
    cli_env env;
    fil_porep porep;
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
    j->n = j->porep.n_partitions;
    if (text) {
        CUZK_TRY(cli_parse_u64(&k, "--partition", text, j->porep.n_partitions - 1));
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
            return cuzk_fail(CUZK_E_USAGE, "--test-r, --test-s: fixed blinding makes proofs linkable; only builds with test hooks have it");
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
    cuzk_status st = porep_sector_shape(&j->shape, j->porep.sector, j->porep.layers, j->porep.n_challenges);
    span_end(j->env.spans, s);
    return st;
}

static cuzk_status open_key(prove_job *j, const char *params)
{
    if (params) {
        snprintf(j->params_path, sizeof j->params_path, "%s", params);
    } else {
        char stem[256];
        fil_porep_param_stem(stem, j->porep.sector);
        snprintf(j->params_path, sizeof j->params_path, "%s/%s.params", cli_param_cache(), stem);
    }
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
        cuzk_status st = witness_init(&j->witnesses[k], j->shape);
        if (st.code == CUZK_OK)
            st = porep_circuit_witness(&j->witnesses[k], j->shape, &j->porep, j->first + k, CS_WITNESS_FAST);
        j->inputs[k] = mem_alloc(fil_porep_n_public(&j->porep) * sizeof(fr), 64);
        if (st.code == CUZK_OK && !j->inputs[k])
            st = cuzk_fail(CUZK_E_NOMEM, "public inputs");
        if (st.code == CUZK_OK)
            fil_porep_public_inputs(&j->porep, j->first + k, j->inputs[k]);
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
    cuzk_status st = j->backend->ops->prove(j->backend, j->loaded, w, j->blinding, j->n, j->proofs, &j->timings, &rc);
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
        st = cuzk_wrap(g16_verify(j->pvk, j->inputs[k], fil_porep_n_public(&j->porep), &j->proofs[k]), "partition %u", j->first + k);
    span_end(j->env.spans, s);
    j->verify_ns = clock_now_ns() - t0;
    return st;
}

static cuzk_status run_job(prove_job *j, const prove_args *a)
{
    fil_porep_context ctx;
    uint64_t t0 = clock_now_ns();
    if (a->device && strcmp(a->device, "cpu") != 0 && strcmp(a->device, "auto") != 0)
        return cuzk_fail(CUZK_E_USAGE, "--device: expected cpu or auto, found \"%.40s\"", a->device);
    CUZK_TRY(cli_context(&ctx, a->miner, a->sector));
    CUZK_TRY(cli_load_porep(&j->env, &j->porep, a->file, &ctx, true));
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
    const struct { const char *name; uint64_t ns; } rows[] = {
        {"witness", j->witness_ns}, {"eval", t->eval_ns},   {"quotient", t->quotient_ns}, {"msm_h", t->msm_h_ns},
        {"msm_l", t->msm_l_ns},     {"msm_a", t->msm_a_ns}, {"msm_b_g1", t->msm_b1_ns},   {"msm_b_g2", t->msm_b2_ns},
        {"assemble", t->assemble_ns}, {"prove", t->total_ns}, {"verify", j->verify_ns},   {"total", j->total_ns}};
    json_key(w, "timings_ms");
    json_begin_object(w);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        json_kv_f64(w, rows[i].name, (double)rows[i].ns / 1e6);
    json_end_object(w);
}

static cuzk_status print_json(const prove_job *j)
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
    json_kv_str(&w, "kind", "porep");
    json_kv_str(&w, "registered_proof", j->porep.registered ? j->porep.registered->name : NULL);
    json_kv_u64(&w, "sector_size", j->porep.sector->sector_bytes);
    json_kv_u64(&w, "first_partition", j->first);
    json_kv_u64(&w, "partitions", j->n);
    json_kv_str(&w, "proof", hex);
    json_key(&w, "public_inputs");
    json_begin_array(&w);
    for (uint32_t k = 0; k < j->n; k++) {
        json_begin_array(&w);
        for (size_t i = 0; i < fil_porep_n_public(&j->porep); i++)
            cli_json_fr(&w, &j->inputs[k][i]);
        json_end_array(&w);
    }
    json_end_array(&w);
    json_kv_bool(&w, "verified", true);
    json_kv_str(&w, "device", "cpu");
    json_kv_str(&w, "code_path", ff_isa());
    json_kv_u64(&w, "threads", pool_threads(j->env.pool));
    json_kv_str(&w, "params", j->params_path);
    json_timings(&w, j);
    json_end_object(&w);
    mem_free(hex);
    return json_write_finish(&w);
}

static cuzk_status print_text(const prove_job *j)
{
    char hex[2 * G16_PROOF_BYTES + 1];
    uint8_t b[G16_PROOF_BYTES];
    printf("PoRep %s%s%s, partition%s %u%s of %u, device cpu (%s, %u threads)\n", j->porep.sector->name,
           j->porep.registered ? ", " : "", j->porep.registered ? j->porep.registered->name : "", j->n > 1 ? "s" : "", j->first,
           j->n > 1 ? " and up" : "", j->porep.n_partitions, ff_isa(), pool_threads(j->env.pool));
    for (uint32_t k = 0; k < j->n; k++) {
        proof_bytes(j, k, b);
        hex_encode(hex, b, sizeof b);
        printf("proof %u: %s\n", j->first + k, hex);
    }
    printf("verified: yes\n\n");
    return span_write_table(j->env.spans, stdout);
}

static int run(int argc, char **argv)
{
    prove_args a = {0};
    const cli_opt opts[] = {
        {"params", "FILE", "proving key (default: the published file in the parameter cache)", &a.params, NULL},
        {"partition", "K", "only this partition (default: all)", &a.partition, NULL},
        {"out", "FILE", "also write the raw proof bytes, 192 per partition", &a.out, NULL},
        {"miner", "ID", "check the replica id against this miner (with --sector)", &a.miner, NULL},
        {"sector", "NUMBER", "sector number for --miner", &a.sector, NULL},
        {"device", "NAME", "cpu or auto (this build has no GPU backend)", &a.device, NULL},
        {"test-r", "NUMBER", "fixed r, test builds only", &a.test_r, NULL},
        {"test-s", "NUMBER", "fixed s, test builds only", &a.test_s, NULL},
    };
    size_t n_pos;
    int code;
    if (cli_parse(&cli_cmd_prove, opts, ARRAY_LEN(opts), &a.common, argc, argv, &a.file, 1, &n_pos, &code) != 0)
        return code;
    if (n_pos != 1)
        return cli_usage(&cli_cmd_prove, "expected one input file (or - for standard input)");
    prove_job *j = mem_zalloc(sizeof *j, 64);
    if (!j)
        return CLI_RESOURCES;
    cuzk_status st = cli_env_init(&j->env, &a.common);
    if (st.code == CUZK_OK) {
        st = cli_env_finish(&j->env, run_job(j, &a));
        if (st.code == CUZK_OK && a.out)
            st = write_proof_file(j, a.out);
        if (st.code == CUZK_OK)
            st = a.common.json ? print_json(j) : print_text(j);
    }
    job_fini(j);
    mem_free(j);
    return cli_report(&cli_cmd_prove, st);
}

const cli_cmd cli_cmd_prove = {
    "prove", "FILE", "Prove a C1 output (vanilla PoRep proof); every proof is verified before it is printed.",
    "FILE is the C1 JSON of the Filecoin proofs API, or the {SectorNum, Phase1Out, SectorSize} wrapper around it; - reads standard\n"
    "input. All lengths, paths, labels and commitments are checked first: a wrong input is refused by name (exit code 2).",
    run};
