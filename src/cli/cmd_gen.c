/* cuzk gen: satisfying inputs of every kind and size, without sealing. */
#include "base/mem.h"
#include "base/span_names.h"
#include "cli/cli.h"
#include "fil/gen.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct gen_args {
    const char *kind, *size, *version, *sectors, *seed, *miner, *sector, *out;
    bool wrapped;
    cli_common common;
} gen_args;

typedef enum gen_kind { GEN_POREP, GEN_WINNING, GEN_WINDOW, GEN_SNAP, GEN_N_KINDS } gen_kind;
static const char *const kind_names[GEN_N_KINDS] = {"porep", "winning", "window", "snap"};

/* The request, understood. */
typedef struct gen_request {
    gen_kind kind;
    fil_gen_id id;
    const fil_sector *sector;        /* porep and PoSt */
    const fil_update_config *update; /* snap */
    fil_seal_version version;        /* porep */
    fil_post_proof post;
    uint32_t n_sectors;
    const char *out;
    bool wrapped;
} gen_request;

/* What was written, for the summary. */
typedef struct gen_tally {
    uint64_t n_files, n_bytes;
} gen_tally;

static cuzk_status parse_kind(gen_kind *out, const char *text)
{
    for (int k = 0; k < GEN_N_KINDS; k++)
        if (strcmp(text, kind_names[k]) == 0) {
            *out = (gen_kind)k;
            return cuzk_ok();
        }
    return cuzk_fail(CUZK_E_USAGE,
                     "--kind: expected porep, winning, window or snap, found \"%.40s\"", text);
}

static const fil_update_config *update_by_name(const char *name)
{
    for (size_t i = 0; i < FIL_N_UPDATE_CONFIGS; i++)
        if (strcmp(FIL_UPDATE_CONFIGS[i].name, name) == 0)
            return &FIL_UPDATE_CONFIGS[i];
    return NULL;
}

static cuzk_status parse_size(gen_request *r, const char *text)
{
    r->update = update_by_name(text);
    r->sector = fil_sector_by_name(text);
    if (r->kind == GEN_SNAP ? r->update != NULL : r->sector != NULL)
        return cuzk_ok();
    if (r->update)
        return cuzk_fail(CUZK_E_USAGE, "--size: %s exists for snap only", text);
    return cuzk_fail(CUZK_E_USAGE,
                     "--size: expected 2KiB, 4KiB, 16KiB, 32KiB, 8MiB, 16MiB, 512MiB, 1GiB, 32GiB, "
                     "64GiB%s, found \"%.40s\"",
                     r->kind == GEN_SNAP ? " (but 1GiB; also 1KiB, 8KiB)" : "", text);
}

static cuzk_status parse_seal_version(fil_seal_version *out, const char *text)
{
    static const char *const names[FIL_N_SEAL_VERSIONS] = {[FIL_SEAL_V1] = "v1",
                                                           [FIL_SEAL_V1_1] = "v1_1",
                                                           [FIL_SEAL_SYNTHETIC] = "synthetic",
                                                           [FIL_SEAL_NI] = "ni"};
    for (int v = 0; v < FIL_N_SEAL_VERSIONS; v++)
        if (strcmp(text, names[v]) == 0) {
            *out = (fil_seal_version)v;
            return cuzk_ok();
        }
    return cuzk_fail(CUZK_E_USAGE,
                     "--version: expected v1, v1_1, synthetic or ni for porep, found \"%.40s\"",
                     text);
}

/* The registered proof of kind, size and version, or a development one. */
static cuzk_status find_post(gen_request *r, const char *version)
{
    fil_post_kind kind = r->kind == GEN_WINNING ? FIL_POST_WINNING : FIL_POST_WINDOW;
    bool v1_2 = version ? strcmp(version, "v1_2") == 0 : kind == FIL_POST_WINDOW;
    if (kind == FIL_POST_WINNING && v1_2)
        return cuzk_fail(CUZK_E_USAGE,
                         "--version: expected v1 for winning (v1_2 would challenge one leaf 66 "
                         "times), found \"%.40s\"",
                         version);
    if (version && !v1_2 && strcmp(version, "v1") != 0)
        return cuzk_fail(CUZK_E_USAGE, "--version: expected v1%s for %s, found \"%.40s\"",
                         kind == FIL_POST_WINDOW ? " or v1_2" : "", kind_names[r->kind], version);
    r->post = fil_post_proof_unregistered(kind, r->sector->sector_bytes, v1_2);
    const fil_post_proof *p;
    for (uint32_t i = 0; (p = fil_post_proof_by_id(i)) != NULL; i++)
        if (p->kind == kind && p->sector_bytes == r->sector->sector_bytes && p->v1_2 == v1_2)
            r->post = *p;
    return cuzk_ok();
}

static cuzk_status parse_version(gen_request *r, const char *text)
{
    switch (r->kind) {
    case GEN_POREP:
        r->version = FIL_SEAL_V1_1;
        return text ? parse_seal_version(&r->version, text) : cuzk_ok();
    case GEN_SNAP:
        return text ? cuzk_fail(CUZK_E_USAGE,
                                "--version: snap has one version only, found \"%.40s\"", text)
                    : cuzk_ok();
    default:
        return find_post(r, text);
    }
}

static cuzk_status parse_sectors(gen_request *r, const char *text)
{
    uint64_t n = 1;
    if (text && r->kind != GEN_WINDOW)
        return cuzk_fail(CUZK_E_USAGE,
                         "--sectors: only a window proves several sectors, found it with --kind %s",
                         kind_names[r->kind]);
    if (text)
        CUZK_TRY(cli_parse_u64(&n, "--sectors", text, UINT32_MAX));
    if (n == 0)
        return cuzk_fail(CUZK_E_USAGE, "--sectors: expected at least 1, found 0");
    r->n_sectors = (uint32_t)n;
    return cuzk_ok();
}

static cuzk_status parse_request(gen_request *r, const gen_args *a)
{
    *r = (gen_request){
        .id = {.seed = 0, .miner = 1000, .sector = 1}, .out = a->out, .wrapped = a->wrapped};
    if (!a->kind || !a->size || !a->out)
        return cuzk_fail(CUZK_E_USAGE, "expected --kind, --size and --out");
    CUZK_TRY(parse_kind(&r->kind, a->kind));
    CUZK_TRY(parse_size(r, a->size));
    CUZK_TRY(parse_version(r, a->version));
    CUZK_TRY(parse_sectors(r, a->sectors));
    if (a->wrapped && r->kind != GEN_POREP)
        return cuzk_fail(CUZK_E_USAGE,
                         "--wrapped: only a porep has a wrapped form, found it with --kind %s",
                         kind_names[r->kind]);
    if (a->seed)
        CUZK_TRY(cli_parse_u64(&r->id.seed, "--seed", a->seed, UINT64_MAX));
    if (a->miner)
        CUZK_TRY(cli_parse_u64(&r->id.miner, "--miner", a->miner, UINT64_MAX));
    if (a->sector)
        CUZK_TRY(cli_parse_u64(&r->id.sector, "--sector", a->sector, UINT64_MAX));
    return cuzk_ok();
}

static cuzk_status make_folder(const char *path)
{
    struct stat s;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &s) == 0 && S_ISDIR(s.st_mode)))
        return cuzk_ok();
    return cuzk_fail(CUZK_E_IO, "%.120s: %s", path, strerror(errno));
}

static cuzk_status write_bytes(gen_tally *t, const char *path, const void *bytes, size_t len)
{
    t->n_files++;
    t->n_bytes += len;
    return cli_write_file(path, bytes, len);
}

static cuzk_status path_in(char *out, size_t size, const char *folder, const char *name)
{
    if ((size_t)snprintf(out, size, "%s/%s", folder, name) < size)
        return cuzk_ok();
    return cuzk_fail(CUZK_E_USAGE, "--out: expected a shorter name than %zu characters",
                     strlen(folder));
}

/* ---- porep: one file ---- */

static cuzk_status write_porep(cli_env *e, const gen_request *r, gen_tally *t, const run_ctx *rc)
{
    fil_porep p;
    uint8_t *text;
    size_t len;
    CUZK_TRY(fil_gen_porep(&p, &e->arena, &r->id, r->sector, r->version, rc));
    p.wrapped = r->wrapped;
    CUZK_TRY(fil_porep_encode(&text, &len, &p));
    cuzk_status st = write_bytes(t, r->out, text, len);
    mem_free(text);
    return st;
}

/* ---- PoSt and SnapDeals: a folder of bincode files and request.json ---- */

typedef cuzk_status encode_fn(uint8_t **out, size_t *len, const void *proof, uint32_t i);

static cuzk_status encode_post(uint8_t **out, size_t *len, const void *proof, uint32_t i)
{
    return fil_post_encode(out, len, proof, i);
}

static cuzk_status encode_update(uint8_t **out, size_t *len, const void *proof, uint32_t i)
{
    return fil_update_encode(out, len, proof, i);
}

static void file_name(char out[40], const gen_request *r, uint32_t i)
{
    snprintf(out, 40, "%s%u.vanilla.bin", r->kind == GEN_SNAP ? "part" : "sector", i);
}

static cuzk_status write_files(const gen_request *r, gen_tally *t, encode_fn *encode,
                               const void *proof, uint32_t n)
{
    char name[40], path[4096];
    CUZK_TRY(make_folder(r->out));
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *bytes;
        size_t len;
        file_name(name, r, i);
        CUZK_TRY(path_in(path, sizeof path, r->out, name));
        CUZK_TRY(encode(&bytes, &len, proof, i));
        cuzk_status st = write_bytes(t, path, bytes, len);
        mem_free(bytes);
        CUZK_TRY(st);
    }
    return cuzk_ok();
}

static void json_files(json_writer *w, const gen_request *r, uint32_t n)
{
    char name[40];
    json_key(w, "files");
    json_begin_array(w);
    for (uint32_t i = 0; i < n; i++) {
        file_name(name, r, i);
        json_str(w, name);
    }
    json_end_array(w);
}

/* request.json has the members that `cuzk prove` and `cuzk inspect` take as options, and files
 * relative to its folder. */
static cuzk_status write_request(const gen_request *r, gen_tally *t, json_writer *w)
{
    char path[4096];
    json_end_object(w);
    cuzk_status st = json_write_finish(w);
    if (st.code == CUZK_OK)
        st = path_in(path, sizeof path, r->out, "request.json");
    if (st.code == CUZK_OK) {
        w->buf[w->len++] = '\n'; /* in the place of the NUL */
        st = write_bytes(t, path, w->buf, w->len);
    }
    json_write_fini(w);
    return st;
}

static void json_head(json_writer *w, const gen_request *r, const char *registered)
{
    json_write_init(w, NULL, true);
    json_begin_object(w);
    json_kv_str(w, "kind", kind_names[r->kind]);
    if (registered)
        json_kv_str(w, "registered_proof", registered);
    json_kv_str(w, "sector_size", r->kind == GEN_SNAP ? r->update->name : r->sector->name);
}

static void json_node(json_writer *w, const char *key, const fr *v)
{
    json_key(w, key);
    cli_json_fr(w, v);
}

static cuzk_status write_post(cli_env *e, const gen_request *r, gen_tally *t, const run_ctx *rc)
{
    fil_post p;
    json_writer w;
    CUZK_TRY(fil_gen_post(&p, &e->arena, &r->id, &r->post, r->n_sectors, rc));
    CUZK_TRY(write_files(r, t, encode_post, &p, p.n_sectors));
    json_head(&w, r, r->post.name);
    if (r->kind == GEN_WINDOW)
        json_kv_str(&w, "api_version", r->post.v1_2 ? "1.2.0" : "1.1.0");
    json_kv_u64(&w, "miner", r->id.miner);
    json_kv_hex(&w, "prover_id", p.prover_id, sizeof p.prover_id);
    json_kv_hex(&w, "randomness", p.randomness, sizeof p.randomness);
    json_kv_u64(&w, "partitions", p.n_partitions);
    json_files(&w, r, p.n_sectors);
    json_key(&w, "sectors");
    json_begin_array(&w);
    for (uint32_t i = 0; i < p.n_sectors; i++) {
        json_begin_object(&w);
        json_kv_u64(&w, "sector_id", p.sectors[i].sector_id);
        json_node(&w, "comm_r", &p.sectors[i].comm_r);
        json_end_object(&w);
    }
    json_end_array(&w);
    return write_request(r, t, &w);
}

static cuzk_status write_update(cli_env *e, const gen_request *r, gen_tally *t, const run_ctx *rc)
{
    fil_update u;
    json_writer w;
    const char *registered = NULL;
    const fil_update_proof *p;
    CUZK_TRY(fil_gen_update(&u, &e->arena, &r->id, r->update, rc));
    CUZK_TRY(write_files(r, t, encode_update, &u, u.n_partitions));
    for (uint32_t i = 0; (p = fil_update_proof_by_id(i)) != NULL; i++)
        if (p->sector_bytes == r->update->sector_bytes)
            registered = p->name;
    json_head(&w, r, registered);
    json_node(&w, "comm_r_old", &u.comm_r_old);
    json_node(&w, "comm_d_new", &u.comm_d_new);
    json_node(&w, "comm_r_new", &u.comm_r_new);
    json_kv_u64(&w, "h", u.h);
    json_kv_u64(&w, "partitions", u.n_partitions);
    json_files(&w, r, u.n_partitions);
    return write_request(r, t, &w);
}

static cuzk_status print_summary(const gen_args *a, const gen_request *r, const gen_tally *t)
{
    json_writer w;
    if (!a->common.json) {
        if (!a->common.quiet)
            printf("%s: %s, %llu file%s, %llu bytes\n", r->out, kind_names[r->kind],
                   (unsigned long long)t->n_files, t->n_files == 1 ? "" : "s",
                   (unsigned long long)t->n_bytes);
        return cuzk_ok();
    }
    json_write_init(&w, stdout, true);
    json_begin_object(&w);
    json_kv_str(&w, "kind", kind_names[r->kind]);
    json_kv_str(&w, "out", r->out);
    json_kv_u64(&w, "files", t->n_files);
    json_kv_u64(&w, "bytes", t->n_bytes);
    json_end_object(&w);
    return json_write_finish(&w);
}

static cuzk_status gen(cli_env *e, const gen_args *a)
{
    gen_request r;
    gen_tally t = {0};
    CUZK_TRY(parse_request(&r, a));
    span_id s = span_begin(e->spans, e->root, SPAN_GEN);
    run_ctx rc = run_ctx_under(&e->rc, s);
    cuzk_status st = r.kind == GEN_POREP  ? write_porep(e, &r, &t, &rc)
                     : r.kind == GEN_SNAP ? write_update(e, &r, &t, &rc)
                                          : write_post(e, &r, &t, &rc);
    span_note(e->spans, s, -1, t.n_bytes);
    span_end(e->spans, s);
    CUZK_TRY(st);
    return print_summary(a, &r, &t);
}

static int run(int argc, char **argv)
{
    gen_args a = {0};
    const cli_opt opts[] = {
        {"kind", "KIND", "porep, winning, window or snap", &a.kind, NULL},
        {"size", "SIZE", "sector size, e.g. 2KiB, 8MiB, 32GiB", &a.size, NULL},
        {"version", "V",
         "porep: v1, v1_1 (default), synthetic, ni; window: v1, v1_2 (default); winning: v1",
         &a.version, NULL},
        {"sectors", "N", "window: how many sectors (default 1)", &a.sectors, NULL},
        {"seed", "N", "everything follows from it (default 0)", &a.seed, NULL},
        {"miner", "ID", "miner actor id (default 1000)", &a.miner, NULL},
        {"sector", "NUMBER", "sector number, the first of several (default 1)", &a.sector, NULL},
        {"wrapped", NULL, "porep: inside {SectorNum, Phase1Out, SectorSize}", NULL, &a.wrapped},
        {"out", "PATH", "porep: file; others: folder (short: -o)", &a.out, NULL},
    };
    size_t n_pos;
    int code;
    if (cli_parse(&cli_cmd_gen, opts, ARRAY_LEN(opts), &a.common, argc, argv,
                  &(cli_pos){NULL, 0, &n_pos, &code}) != 0)
        return code;
    cli_env e;
    cuzk_status st = cli_env_init(&e, &a.common);
    if (st.code == CUZK_OK) {
        st = cli_env_finish(&e, gen(&e, &a));
        cli_env_fini(&e);
    }
    return cli_report(&cli_cmd_gen, st);
}

const cli_cmd cli_cmd_gen = {"gen", "--kind KIND --size SIZE --out PATH",
                             "Make up inputs that satisfy every check, without sealing.",
                             "The bytes are those a client sends. A porep is one C1 file. The "
                             "other kinds are a folder: sectorN.vanilla.bin or\n"
                             "partN.vanilla.bin, and request.json with what the request says "
                             "besides (`cuzk prove --request FOLDER/request.json`).\n"
                             "Synthetic and ni draw their challenges from comm_r, so the sector is "
                             "really sealed: 8MiB at most.",
                             run};
