/* cuzk verify: Groth16 proofs against a verifying key. */
#include "base/bytes.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/span_names.h"
#include "cli/cli.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VK_MAX_BYTES ((size_t)64 << 20)
#define INPUTS_MAX_BYTES ((size_t)256 << 20)
#define PROOF_MAX_BYTES ((size_t)1 << 20)

typedef struct verify_args {
    const char *proof, *vk, *params, *inputs, *c1;
    cli_common common;
    cli_input input;
} verify_args;

typedef struct verify_job {
    cli_env env;
    uint8_t *proof;
    size_t proof_len;
    g16_vk vk;
    g16_key *key;
    g16_pvk *pvk;
    fr *inputs; /* n_sets * n_inputs, in the arena */
    size_t n_sets, n_inputs;
} verify_job;

/* Hex digits with white space around them to bytes; false when it is not that. */
static bool hex_text(uint8_t **out, size_t *out_len, const char *s, size_t len)
{
    while (len && isspace((unsigned char)s[len - 1]))
        len--;
    while (len && isspace((unsigned char)*s)) {
        s++;
        len--;
    }
    if (len == 0 || len % 2)
        return false;
    *out = mem_alloc(len / 2, 8);
    *out_len = len / 2;
    if (*out && hex_decode(*out, len / 2, s, len))
        return true;
    mem_free(*out);
    *out = NULL;
    return false;
}

/* --proof: a file (raw bytes or hex text), or the hex itself. */
static cuzk_status load_proof(verify_job *j, const char *arg)
{
    if (strcmp(arg, "-") != 0 && access(arg, F_OK) != 0) {
        if (hex_text(&j->proof, &j->proof_len, arg, strlen(arg)))
            return cuzk_ok();
        return cuzk_bad_input("--proof", "a file or hexadecimal text", "\"%.60s\"", arg);
    }
    uint8_t *raw, *decoded;
    size_t len, decoded_len;
    CUZK_TRY(cli_read_file(&raw, &len, arg, PROOF_MAX_BYTES));
    if (hex_text(&decoded, &decoded_len, (const char *)raw, len)) {
        mem_free(raw);
        raw = decoded;
        len = decoded_len;
    }
    j->proof = raw;
    j->proof_len = len;
    return cuzk_ok();
}

static cuzk_status read_set(verify_job *j, json_val set, size_t k)
{
    json_iter it;
    json_val v;
    CUZK_TRY(json_array_n(&it, set, j->n_inputs));
    for (size_t i = 0; json_next(&it, &v); i++) {
        const char *s;
        size_t len;
        uint8_t b[32];
        CUZK_TRY(json_get_string(&s, &len, v));
        if (len != 64 || !hex_decode(b, 32, s, len))
            return json_bad(v, "64 hexadecimal digits", NULL);
        if (!fr_from_le(&j->inputs[k * j->n_inputs + i], b))
            return json_bad(v, "a field element below r (32 bytes, little-endian)", NULL);
    }
    return cuzk_ok();
}

/* {"public_inputs": [[hex, ...], ...]} as prove and inspect print it, the list of lists alone, or
 * one flat list. */
static cuzk_status parse_inputs(verify_job *j, json_val v)
{
    json_val list = v, first;
    json_iter it, inner;
    if (json_val_kind(v) == JSON_OBJECT && !json_member(&list, v, "public_inputs"))
        return json_bad(v, "a member public_inputs", "none");
    CUZK_TRY(json_array(&it, list));
    json_iter peek = it;
    bool nested = json_next(&peek, &first) && json_val_kind(first) == JSON_ARRAY;
    j->n_sets = nested ? it.n : 1;
    j->n_inputs = it.n;
    if (nested) {
        CUZK_TRY(json_array(&inner, first));
        j->n_inputs = inner.n;
    }
    j->inputs = arena_alloc(&j->env.arena, (j->n_sets * j->n_inputs + 1) * sizeof(fr), 64);
    if (!j->inputs)
        return cuzk_fail(CUZK_E_NOMEM, "public inputs");
    if (!nested)
        return read_set(j, list, 0);
    for (size_t k = 0; json_next(&it, &v); k++)
        CUZK_TRY(read_set(j, v, k));
    return cuzk_ok();
}

static cuzk_status load_inputs(verify_job *j, const char *path)
{
    uint8_t *text;
    size_t len;
    json_doc doc;
    CUZK_TRY(cli_read_file(&text, &len, path, INPUTS_MAX_BYTES));
    cuzk_status st = json_parse(&doc, text, len);
    if (st.code == CUZK_OK) {
        st = parse_inputs(j, json_root(&doc));
        json_fini(&doc);
    }
    mem_free(text);
    return cuzk_wrap(st, "--inputs");
}

/* Public inputs from the vanilla input itself, and the published key's place when no key was
 * named. */
static cuzk_status inputs_from_task(verify_job *j, const verify_args *a)
{
    bool decoded;
    proof_task *t = arena_alloc(&j->env.arena, sizeof *t, 64);
    if (!t)
        return cuzk_fail(CUZK_E_NOMEM, "proof task");
    CUZK_TRY(cli_load_task(&j->env, t, &a->input, true, &decoded));
    j->n_sets = proof_task_partitions(t);
    j->n_inputs = proof_task_n_public(t);
    j->inputs = arena_alloc(&j->env.arena, j->n_sets * j->n_inputs * sizeof(fr), 64);
    if (!j->inputs)
        return cuzk_fail(CUZK_E_NOMEM, "public inputs");
    for (uint32_t k = 0; k < j->n_sets; k++)
        proof_task_public_inputs(t, k, j->inputs + k * j->n_inputs);
    if (a->vk || a->params)
        return cuzk_ok();
    char path[4096];
    cli_key_path(path, sizeof path, t, "vk");
    return g16_vk_load(&j->vk, path);
}

static cuzk_status load_vk(verify_job *j, const verify_args *a)
{
    if (a->vk) {
        CUZK_TRY(g16_vk_load(&j->vk, a->vk));
    } else if (a->params) {
        CUZK_TRY(g16_key_open(&j->key, a->params));
    }
    return g16_pvk_create(&j->pvk, j->key ? g16_key_vk(j->key) : &j->vk);
}

static cuzk_status check_proofs(verify_job *j)
{
    if (j->proof_len != j->n_sets * G16_PROOF_BYTES)
        return cuzk_fail(CUZK_E_INPUT,
                         "proof: expected %zu bytes (192 for each of %zu partitions), found %zu",
                         j->n_sets * G16_PROOF_BYTES, j->n_sets, j->proof_len);
    span_id s = span_begin(j->env.spans, j->env.root, SPAN_VERIFY);
    cuzk_status st = cuzk_ok();
    for (size_t k = 0; k < j->n_sets && st.code == CUZK_OK; k++) {
        g16_proof p;
        st = g16_proof_decode(&p, j->proof + k * G16_PROOF_BYTES, G16_PROOF_BYTES);
        if (st.code == CUZK_OK)
            st = g16_verify(j->pvk, j->inputs + k * j->n_inputs, j->n_inputs, &p);
        st = cuzk_wrap(st, "proof %zu", k);
    }
    span_end(j->env.spans, s);
    return st;
}

static cuzk_status verify(verify_job *j, const verify_args *a)
{
    CUZK_TRY(load_proof(j, a->proof));
    CUZK_TRY(a->inputs ? load_inputs(j, a->inputs) : inputs_from_task(j, a));
    CUZK_TRY(load_vk(j, a));
    return check_proofs(j);
}

static cuzk_status print_result(const verify_job *j, bool json, cuzk_status st)
{
    if (!json) {
        if (st.code == CUZK_OK)
            printf("valid: %zu proof%s with %zu public inputs each\n", j->n_sets,
                   j->n_sets == 1 ? "" : "s", j->n_inputs);
        return cuzk_ok();
    }
    json_writer w;
    json_write_init(&w, stdout, true);
    json_begin_object(&w);
    json_kv_bool(&w, "valid", st.code == CUZK_OK);
    json_kv_u64(&w, "proofs", j->n_sets);
    json_kv_str(&w, "error", st.code == CUZK_OK ? NULL : st.msg);
    json_end_object(&w);
    return json_write_finish(&w);
}

static void job_fini(verify_job *j)
{
    g16_pvk_destroy(j->pvk);
    g16_key_close(j->key);
    g16_vk_fini(&j->vk);
    mem_free(j->proof);
    cli_env_fini(&j->env);
}

static int check_args(verify_args *a)
{
    if (a->c1 && a->input.n_files)
        return cli_usage(&cli_cmd_verify, "expected input files or --c1, found both");
    if (a->c1) {
        a->input.files = &a->c1;
        a->input.n_files = 1;
    }
    bool has_input = a->input.n_files || a->input.request;
    if (!a->proof || has_input == (a->inputs != NULL))
        return cli_usage(&cli_cmd_verify,
                         "expected --proof and one of --inputs, --c1, input files");
    if (a->vk && a->params)
        return cli_usage(&cli_cmd_verify, "expected one of --vk, --params, found both");
    if (a->inputs && !a->vk && !a->params)
        return cli_usage(&cli_cmd_verify, "expected --vk or --params with --inputs");
    return 0;
}

static int verify_command(const verify_args *a)
{
    verify_job j = {0};
    cuzk_status st = cli_env_init(&j.env, &a->common);
    if (st.code == CUZK_OK) {
        st = cli_env_finish(&j.env, verify(&j, a));
        cuzk_status out = print_result(&j, a->common.json, st);
        st = st.code == CUZK_OK ? out : st;
        job_fini(&j);
    }
    return cli_report(&cli_cmd_verify, st);
}

static int run(int argc, char **argv)
{
    verify_args a = {0};
    cli_opt opts[CLI_N_INPUT_OPTS + 5] = {
        {"proof", "FILE|HEX", "192 bytes per partition, raw or hexadecimal", &a.proof, NULL},
        {"vk", "FILE", "verifying key", &a.vk, NULL},
        {"params", "FILE", "take the verifying key from this .params file", &a.params, NULL},
        {"inputs", "FILE", "public inputs: JSON as `prove --json` and `inspect --json` print it",
         &a.inputs, NULL},
        {"c1", "FILE", "take the public inputs from this C1 output (checked in full)", &a.c1, NULL},
    };
    cli_input_opts(opts + 5, &a.input);
    const char **files = mem_alloc((size_t)argc * sizeof *files, 8);
    int code = CLI_RESOURCES;
    if (files && cli_parse(&cli_cmd_verify, opts, ARRAY_LEN(opts), &a.common, argc, argv,
                           &(cli_pos){files, CLI_MAX_FILES, &a.input.n_files, &code}) == 0) {
        a.input.files = files;
        code = check_args(&a);
        if (code == 0)
            code = verify_command(&a);
    }
    mem_free(files);
    return code;
}

const cli_cmd cli_cmd_verify = {"verify", "[FILE...]",
                                "Verify Groth16 proofs against a verifying key.",
                                "Public inputs come from --inputs, or from the vanilla input "
                                "(--c1, or FILE... with the options `prove` takes).\n"
                                "Exit code 0 when every proof verifies, 3 when one does not, 2 "
                                "when an encoding or a count is wrong.",
                                run};
