/* cuzk params: make, inspect, check and locate proving keys. */
#include "base/mem.h"
#include "base/span_names.h"
#include "circuit/circuit.h"
#include "cli/cli.h"
#include "gpu/gpu_setup_write.h"
#include <stdio.h>
#include <string.h>

typedef struct params_args {
    const char *device, *circuit, *toxic, *out, *vk_out;
    bool full;
    cli_common common;
    const char *pos[2];
    size_t n_pos;
} params_args;

/* FILE.params -> FILE.vk; other names get .vk appended. */
static void vk_path_of(char *out, size_t len, const char *params)
{
    size_t n = strlen(params);
    int stem = n > 7 && strcmp(params + n - 7, ".params") == 0 ? (int)(n - 7) : (int)n;
    snprintf(out, len, "%.*s.vk", stem, params);
}

static cuzk_status write_vk(const params_args *a)
{
    char path[4096];
    g16_key *key;
    CUZK_TRY(g16_key_open(&key, a->out));
    vk_path_of(path, sizeof path, a->out);
    cuzk_status st = g16_vk_write(g16_key_vk(key), a->vk_out ? a->vk_out : path);
    g16_key_close(key);
    return st;
}

/* On a device when asked: by default the CPU, whose keys need none. */
static cuzk_status make_key(const params_args *a, const r1cs_shape *s, const g16_toxic *t,
                            const run_ctx *rc)
{
    const char *d = a->device;
    if (!d || strcmp(d, "cpu") == 0)
        return g16_setup(s, t, a->out, rc);
    if (strcmp(d, "cuda") == 0)
        return gpu_setup_file(NULL, a->out, s, t, rc);
    if (strncmp(d, "cuda:", 5) == 0)
        return gpu_setup_file(d + 5, a->out, s, t, rc);
    return cuzk_fail(CUZK_E_USAGE, "--device: expected cpu, cuda or cuda:ID, found \"%.40s\"", d);
}

static cuzk_status generate(cli_env *e, const params_args *a)
{
    g16_toxic t;
    r1cs_shape *s;
    if (!a->circuit || !a->out)
        return cuzk_fail(CUZK_E_USAGE, "generate: expected --circuit and -o/--out");
    CUZK_TRY(a->toxic ? cli_parse_toxic(&t, a->toxic) : g16_toxic_random(&t));
    span_id sp = span_begin(e->spans, e->root, SPAN_SHAPE);
    cuzk_status st = circuit_shape(&s, a->circuit);
    span_end(e->spans, sp);
    if (st.code == CUZK_OK) {
        sp = span_begin(e->spans, e->root, SPAN_SETUP);
        run_ctx rc = run_ctx_under(&e->rc, sp);
        st = make_key(a, s, &t, &rc);
        span_end(e->spans, sp);
        r1cs_shape_destroy(s);
    }
    mem_wipe(&t, sizeof t);
    CUZK_TRY(st);
    CUZK_TRY(write_vk(a));
    if (!a->common.quiet)
        fprintf(stderr,
                "\r\033[Kwrote %s: a DEVELOPMENT key, not for mainnet (whoever made it could forge "
                "proofs)\n",
                a->out);
    return cuzk_ok();
}

static const char *const section_names[G16_N_SECTIONS] = {"h", "l", "a", "b_g1", "b_g2"};

static const char *file_stem(char *buf, size_t len, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(buf, len, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(buf, '.');
    if (dot)
        *dot = 0;
    return buf;
}

static cuzk_status inspect(cli_env *e, const params_args *a)
{
    char digest[33], stem[512];
    g16_key *key;
    CUZK_TRY(g16_key_open(&key, a->pos[1]));
    cuzk_status st = g16_key_digest(key, digest, &e->rc);
    const g16_key_info *info = g16_key_get_info(key);
    const g16_published *pub = g16_published_find(file_stem(stem, sizeof stem, a->pos[1]));
    const char *origin = !pub ? "unknown name: development key, not for mainnet"
                         : strcmp(pub->params_digest, digest) == 0
                             ? "published key, digest equal"
                             : "NOT the published key of this name (digest differs)";
    if (st.code == CUZK_OK && a->common.json) {
        json_writer w;
        json_write_init(&w, stdout, true);
        json_begin_object(&w);
        json_kv_str(&w, "file", a->pos[1]);
        json_kv_u64(&w, "bytes", info->file_bytes);
        json_kv_u64(&w, "ic", info->n_ic);
        for (int i = 0; i < G16_N_SECTIONS; i++)
            json_kv_u64(&w, section_names[i], info->n[i]);
        json_kv_str(&w, "digest", digest);
        json_kv_bool(&w, "published", pub && strcmp(pub->params_digest, digest) == 0);
        json_kv_str(&w, "origin", origin);
        json_end_object(&w);
        st = json_write_finish(&w);
    } else if (st.code == CUZK_OK) {
        printf("file     %s\nbytes    %llu\nic       %u\n", a->pos[1],
               (unsigned long long)info->file_bytes, info->n_ic);
        for (int i = 0; i < G16_N_SECTIONS; i++)
            printf("%-8s %u\n", section_names[i], info->n[i]);
        printf("digest   %s\norigin   %s\n", digest, origin);
    }
    g16_key_close(key);
    return st;
}

static cuzk_status check_shape(const g16_key *key, const char *circuit)
{
    r1cs_shape *s;
    CUZK_TRY(circuit_shape(&s, circuit));
    cuzk_status st = g16_key_match(key, s);
    r1cs_shape_destroy(s);
    return st;
}

static cuzk_status check(cli_env *e, const params_args *a)
{
    char digest[33], stem[512];
    g16_key *key;
    CUZK_TRY(g16_key_open(&key, a->pos[1]));
    cuzk_status st = a->circuit ? check_shape(key, a->circuit) : cuzk_ok();
    const g16_published *pub = g16_published_find(file_stem(stem, sizeof stem, a->pos[1]));
    if (st.code == CUZK_OK && pub) {
        st = g16_key_digest(key, digest, &e->rc);
        if (st.code == CUZK_OK && strcmp(pub->params_digest, digest) != 0)
            st = cuzk_bad_input("digest", pub->params_digest, "%s", digest);
    }
    if (st.code == CUZK_OK && a->full)
        st = g16_key_check_points(key, &e->rc);
    g16_key_close(key);
    if (st.code == CUZK_OK)
        st = cli_env_finish(e, st);
    if (st.code == CUZK_OK)
        printf("ok: lengths%s%s%s\n", a->circuit ? ", circuit" : "",
               pub ? ", published digest" : "",
               a->full ? ", every point (curve, subgroup, not the identity)" : "");
    return st;
}

static void key_stem(char *out, const circuit_info *info)
{
    uint64_t bytes = info->sector_bytes;
    if (strcmp(info->kind, "porep") == 0) {
        fil_porep_param_stem(out, fil_sector_by_bytes(bytes));
    } else if (strcmp(info->kind, "winning") == 0 || strcmp(info->kind, "window") == 0) {
        fil_post_proof p = fil_post_proof_unregistered(
            strcmp(info->kind, "winning") == 0 ? FIL_POST_WINNING : FIL_POST_WINDOW, bytes, true);
        fil_post_param_stem(out, &p);
    } else {
        fil_update_param_stem(out, fil_update_config_by_bytes(bytes),
                              strcmp(info->kind, "snap-poseidon") == 0);
    }
}

static cuzk_status path(const params_args *a)
{
    char stem[256];
    for (size_t i = 0; i < circuit_count(); i++) {
        circuit_info info = circuit_get(i);
        if (info.group != CIRCUIT_PROOF || (a->circuit && strcmp(info.name, a->circuit) != 0))
            continue;
        key_stem(stem, &info);
        if (a->circuit) {
            printf("%s/%s.params\n", cli_param_cache(), stem);
            return cuzk_ok();
        }
        printf("%-35s %s/%s.params\n", info.name, cli_param_cache(), stem);
    }
    if (a->circuit)
        return cuzk_fail(CUZK_E_INPUT,
                         "--circuit: expected a proof circuit of `cuzk circuits`, found \"%.60s\"",
                         a->circuit);
    return cuzk_ok();
}

static cuzk_status dispatch(cli_env *e, const params_args *a)
{
    const char *what = a->pos[0];
    bool wants_file = strcmp(what, "inspect") == 0 || strcmp(what, "check") == 0;
    if (a->n_pos != (wants_file ? 2u : 1u))
        return cuzk_fail(CUZK_E_USAGE, "%.20s: expected %s", what,
                         wants_file ? "one .params file" : "no further argument");
    if (strcmp(what, "generate") == 0)
        return generate(e, a);
    if (strcmp(what, "inspect") == 0)
        return inspect(e, a);
    if (strcmp(what, "check") == 0)
        return check(e, a);
    if (strcmp(what, "path") == 0)
        return path(a);
    return cuzk_fail(CUZK_E_USAGE, "expected generate, inspect, check or path, found \"%.20s\"",
                     what);
}

static int run(int argc, char **argv)
{
    params_args a = {0};
    const cli_opt opts[] = {
        {"circuit", "NAME", "circuit, as `cuzk circuits` names it", &a.circuit, NULL},
        {"out", "FILE", "generate: file to write (short: -o)", &a.out, NULL},
        {"vk", "FILE", "generate: verifying key file (default: --out with .vk)", &a.vk_out, NULL},
        {"device", "NAME", "generate: cpu, cuda or cuda:ID (default: cpu; see `cuzk devices`)",
         &a.device, NULL},
        {"full", NULL, "check: also every point, curve and subgroup", NULL, &a.full},
        {"test-toxic", "A,B,G,D,T", "generate: fixed alpha,beta,gamma,delta,tau, test builds only",
         &a.toxic, NULL},
    };
    int code;
    if (cli_parse(&cli_cmd_params, opts, ARRAY_LEN(opts), &a.common, argc, argv,
                  &(cli_pos){a.pos, 2, &a.n_pos, &code}) != 0)
        return code;
    if (a.n_pos == 0)
        return cli_usage(&cli_cmd_params, "expected generate, inspect, check or path");
    cli_env e;
    cuzk_status st = cli_env_init(&e, &a.common);
    if (st.code == CUZK_OK) {
        st = cli_env_finish(&e, dispatch(&e, &a));
        cli_env_fini(&e);
    }
    return cli_report(&cli_cmd_params, st);
}

const cli_cmd cli_cmd_params = {
    "params", "generate|inspect|check|path [FILE]", "Make, inspect, check and locate proving keys.",
    "  generate --circuit NAME -o FILE   development key from random toxic waste (not for "
    "mainnet)\n"
    "  inspect FILE                      counts, digest, and whether it is a published key\n"
    "  check FILE [--circuit NAME] [--full]\n"
    "  path [--circuit NAME]             where the published file is looked for",
    run};
