/* cuzk params: make, inspect, check and locate proving keys. */
#include "base/mem.h"
#include "base/span_names.h"
#include "circuit/circuit.h"
#include "cli/cli.h"
#include "gpu/gpu_evkey.h"
#include "gpu/gpu_setup_write.h"
#include "groth16/evkey.h"
#include <errno.h>
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

/* On a device when asked: by default the CPU, whose keys need none. *sel: gpu_device_find's. */
static cuzk_status parse_device(bool *is_gpu, const char **sel, const params_args *a)
{
    const char *d = a->device;
    *sel = NULL;
    *is_gpu = d && strcmp(d, "cpu") != 0;
    if (!*is_gpu || strcmp(d, "cuda") == 0)
        return cuzk_ok();
    if (strncmp(d, "cuda:", 5) != 0)
        return cuzk_fail(CUZK_E_USAGE, "--device: expected cpu, cuda or cuda:ID, found \"%.40s\"",
                         d);
    *sel = d + 5;
    return cuzk_ok();
}

static cuzk_status make_key(const params_args *a, const r1cs_shape *s, const g16_toxic *t,
                            const run_ctx *rc)
{
    bool is_gpu;
    const char *sel;
    CUZK_TRY(parse_device(&is_gpu, &sel, a));
    return is_gpu ? gpu_setup_file(sel, a->out, s, t, rc) : g16_setup(s, t, a->out, rc);
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

/* What check has looked at, for its last line. */
typedef struct checked {
    const g16_published *pub;
    bool circuit, full, evkey;
} checked;

/* The evaluation form beside the key: with --full all of it, else its head. Without --circuit, its
 * own word for what it is of. */
static cuzk_status check_evkey(cli_env *e, const params_args *a, const g16_key *key,
                               const char *path, checked *done)
{
    g16_evkey *ev;
    r1cs_shape *s = NULL;
    cuzk_status st = g16_evkey_open(&ev, path);
    if (st.code == CUZK_E_NOT_FOUND)
        return cuzk_ok();
    CUZK_TRY(st);
    st = circuit_shape(&s, a->circuit ? a->circuit : g16_evkey_get_info(ev)->circuit);
    if (st.code == CUZK_OK)
        st = a->full ? g16_evkey_check(ev, key, s, &e->rc) : g16_evkey_match(ev, key, s);
    r1cs_shape_destroy(s);
    g16_evkey_close(ev);
    done->evkey = true;
    return cuzk_wrap(st, "%s", path);
}

static cuzk_status check_shape(const g16_key *key, const char *circuit)
{
    r1cs_shape *s;
    CUZK_TRY(circuit_shape(&s, circuit));
    cuzk_status st = g16_key_match(key, s);
    r1cs_shape_destroy(s);
    return st;
}

static cuzk_status check_published(cli_env *e, const params_args *a, const g16_key *key,
                                   checked *done)
{
    char digest[33], stem[512];
    done->pub = g16_published_find(file_stem(stem, sizeof stem, a->pos[1]));
    if (!done->pub)
        return cuzk_ok();
    CUZK_TRY(g16_key_digest(key, digest, &e->rc));
    if (strcmp(done->pub->params_digest, digest) != 0)
        return cuzk_bad_input("digest", done->pub->params_digest, "%s", digest);
    return cuzk_ok();
}

static cuzk_status check_all(cli_env *e, const params_args *a, const g16_key *key, checked *done)
{
    char path[4096];
    if (a->circuit)
        CUZK_TRY(check_shape(key, a->circuit));
    CUZK_TRY(check_published(e, a, key, done));
    if (a->full)
        CUZK_TRY(g16_key_check_points(key, &e->rc));
    g16_evkey_path(path, sizeof path, a->pos[1]);
    return check_evkey(e, a, key, path, done);
}

static cuzk_status check(cli_env *e, const params_args *a)
{
    checked done = {0};
    g16_key *key;
    CUZK_TRY(g16_key_open(&key, a->pos[1]));
    cuzk_status st = check_all(e, a, key, &done);
    g16_key_close(key);
    if (st.code == CUZK_OK)
        st = cli_env_finish(e, st);
    if (st.code == CUZK_OK)
        printf("ok: lengths%s%s%s%s\n", a->circuit ? ", circuit" : "",
               done.pub ? ", published digest" : "",
               a->full ? ", every point (curve, subgroup, not the identity)" : "",
               !done.evkey ? ""
               : a->full   ? ", evaluation form (digests, every point, equation)"
                           : ", evaluation form (head)");
    return st;
}

/* ---- transform ---- */

typedef struct transform_times {
    uint64_t make_ns, check_ns;
} transform_times;

static cuzk_status check_made(cli_env *e, const char *path, const g16_key *key, const r1cs_shape *s)
{
    g16_evkey *ev;
    CUZK_TRY(g16_evkey_open(&ev, path));
    cuzk_status st = g16_evkey_check(ev, key, s, &e->rc);
    g16_evkey_close(ev);
    return st;
}

#define UNCHECKED ".unchecked"

static cuzk_status make_evkey(const params_args *a, const char *path, const g16_key *key,
                              const r1cs_shape *s, const run_ctx *rc)
{
    bool is_gpu;
    const char *sel;
    CUZK_TRY(parse_device(&is_gpu, &sel, a));
    return is_gpu ? gpu_evkey_file(sel, path, key, s, rc) : g16_evkey_make(path, key, s, rc);
}

/* What `transform` works with. */
typedef struct transform_in {
    const params_args *args;
    const char *path;
    const g16_key *key;
    const r1cs_shape *shape;
} transform_in;

/* Under another name until it is checked: provers take what lies beside the key. */
static cuzk_status transform_key(cli_env *e, const transform_in *in, transform_times *t)
{
    char made[4096 + sizeof UNCHECKED];
    snprintf(made, sizeof made, "%s" UNCHECKED, in->path);
    uint64_t t0 = clock_now_ns();
    CUZK_TRY(make_evkey(in->args, made, in->key, in->shape, &e->rc));
    t->make_ns = clock_now_ns() - t0;
    t0 = clock_now_ns();
    cuzk_status st = check_made(e, made, in->key, in->shape);
    t->check_ns = clock_now_ns() - t0;
    if (st.code == CUZK_OK && rename(made, in->path) != 0)
        st = cuzk_fail(CUZK_E_IO, "rename %s to %s: %s", made, in->path, strerror(errno));
    if (st.code != CUZK_OK)
        remove(made);
    return st;
}

static cuzk_status report_transform(cli_env *e, const params_args *a, const char *path,
                                    const r1cs_shape *s, const transform_times *t)
{
    const double make_s = (double)t->make_ns / 1e9, check_s = (double)t->check_ns / 1e9;
    CUZK_TRY(cli_env_finish(e, cuzk_ok()));
    if (!a->common.json) {
        printf("%s: %llu bytes, made in %.1f s, checked in %.1f s\n", path,
               (unsigned long long)g16_evkey_bytes(s), make_s, check_s);
        return cuzk_ok();
    }
    json_writer w;
    json_write_init(&w, stdout, true);
    json_begin_object(&w);
    json_kv_str(&w, "file", path);
    json_kv_u64(&w, "bytes", g16_evkey_bytes(s));
    json_kv_str(&w, "circuit", r1cs_shape_name(s));
    json_kv_u64(&w, "log2_domain", r1cs_shape_counts(s)->lg_m);
    json_kv_f64(&w, "make_seconds", make_s);
    json_kv_f64(&w, "check_seconds", check_s);
    json_end_object(&w);
    return json_write_finish(&w);
}

static cuzk_status transform(cli_env *e, const params_args *a)
{
    char path[4096];
    g16_key *key;
    r1cs_shape *s = NULL;
    transform_times t = {0};
    if (!a->circuit)
        return cuzk_fail(CUZK_E_USAGE, "transform: expected --circuit");
    g16_evkey_path(path, sizeof path, a->pos[1]);
    if (a->out)
        snprintf(path, sizeof path, "%s", a->out);
    CUZK_TRY(g16_key_open(&key, a->pos[1]));
    cuzk_status st = circuit_shape(&s, a->circuit);
    if (st.code == CUZK_OK)
        st = transform_key(e, &(transform_in){a, path, key, s}, &t);
    if (st.code == CUZK_OK)
        st = report_transform(e, a, path, s, &t);
    r1cs_shape_destroy(s);
    g16_key_close(key);
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
    bool wants_file = strcmp(what, "inspect") == 0 || strcmp(what, "check") == 0 ||
                      strcmp(what, "transform") == 0;
    if (a->n_pos != (wants_file ? 2u : 1u))
        return cuzk_fail(CUZK_E_USAGE, "%.20s: expected %s", what,
                         wants_file ? "one .params file" : "no further argument");
    if (strcmp(what, "generate") == 0)
        return generate(e, a);
    if (strcmp(what, "inspect") == 0)
        return inspect(e, a);
    if (strcmp(what, "check") == 0)
        return check(e, a);
    if (strcmp(what, "transform") == 0)
        return transform(e, a);
    if (strcmp(what, "path") == 0)
        return path(a);
    return cuzk_fail(CUZK_E_USAGE,
                     "expected generate, inspect, check, transform or path, found \"%.20s\"", what);
}

static int run(int argc, char **argv)
{
    params_args a = {0};
    const cli_opt opts[] = {
        {"circuit", "NAME", "circuit, as `cuzk circuits` names it", &a.circuit, NULL},
        {"out", "FILE", "generate, transform: file to write (short: -o)", &a.out, NULL},
        {"vk", "FILE", "generate: verifying key file (default: --out with .vk)", &a.vk_out, NULL},
        {"device", "NAME",
         "generate, transform: cpu, cuda or cuda:ID (default: cpu; see `cuzk devices`)", &a.device,
         NULL},
        {"full", NULL, "check: also every point, curve and subgroup, and the evaluation form", NULL,
         &a.full},
        {"test-toxic", "A,B,G,D,T", "generate: fixed alpha,beta,gamma,delta,tau, test builds only",
         &a.toxic, NULL},
    };
    int code;
    if (cli_parse(&cli_cmd_params, opts, ARRAY_LEN(opts), &a.common, argc, argv,
                  &(cli_pos){a.pos, 2, &a.n_pos, &code}) != 0)
        return code;
    if (a.n_pos == 0)
        return cli_usage(&cli_cmd_params, "expected generate, inspect, check, transform or path");
    cli_env e;
    cuzk_status st = cli_env_init(&e, &a.common);
    if (st.code == CUZK_OK) {
        st = cli_env_finish(&e, dispatch(&e, &a));
        cli_env_fini(&e);
    }
    return cli_report(&cli_cmd_params, st);
}

const cli_cmd cli_cmd_params = {
    "params", "generate|inspect|check|transform|path [FILE]",
    "Make, inspect, check, transform and locate proving keys.",
    "  generate --circuit NAME -o FILE   development key from random toxic waste (not for "
    "mainnet)\n"
    "  inspect FILE                      counts, digest, and whether it is a published key\n"
    "  check FILE [--circuit NAME] [--full]\n"
    "  transform FILE --circuit NAME     the key's evaluation form, with which proofs take two "
    "transforms\n"
    "                                    less; written beside it as FILE.evkey and used from then "
    "on\n"
    "  path [--circuit NAME]             where the published file is looked for",
    run};
