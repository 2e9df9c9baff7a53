/* Vanilla inputs of every kind from files and options. */
#include "base/bytes.h"
#include "base/mem.h"
#include "base/span_names.h"
#include "circuit/proof_request.h"
#include "cli/cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX_BYTES ((size_t)256 << 20)

void cli_input_opts(cli_opt *out, cli_input *in)
{
    const cli_opt rows[CLI_N_INPUT_OPTS] = {
        {"kind", "KIND", "porep (default), winning, window or snap", &in->kind, NULL},
        {"registered-proof", "NAME", "winning, window, snap: registered proof, by name or number",
         &in->registered, NULL},
        {"sector-size", "SIZE", "instead of --registered-proof for sizes that have none, e.g. 4KiB",
         &in->sector_size, NULL},
        {"api-version", "V", "window with --sector-size: 1.1.0 or 1.2.0 (default 1.2.0)",
         &in->api_version, NULL},
        {"randomness", "HEX", "winning, window: 32 bytes", &in->randomness, NULL},
        {"miner", "ID", "miner actor id; porep: checks the replica id (with --sector)", &in->miner,
         NULL},
        {"prover-id", "HEX", "winning, window: instead of --miner", &in->prover_id, NULL},
        {"sector", "NUMBER", "porep: sector number for --miner", &in->sector, NULL},
        {"porep-id", "HEX", "porep: 32 bytes, for sizes without a registered proof", &in->porep_id,
         NULL},
        {"comm-r-old", "HEX", "snap: replica commitment before the update", &in->comm_r_old, NULL},
        {"comm-d-new", "HEX", "snap: data commitment of the new data", &in->comm_d_new, NULL},
        {"comm-r-new", "HEX", "snap: replica commitment after the update", &in->comm_r_new, NULL},
        {"h", "N", "snap: number of high bits for rho (default: the network's)", &in->h, NULL},
        {"request", "FILE", "take the values above from a request.json as `cuzk gen` writes it",
         &in->request, NULL},
    };
    memcpy(out, rows, sizeof rows);
}

static cuzk_status parse_kind(proof_kind *out, const char *text)
{
    *out = PROOF_POREP;
    if (!text)
        return cuzk_ok();
    for (int k = 0; k < PROOF_N_KINDS; k++)
        if (strcmp(text, PROOF_KIND_NAMES[k]) == 0) {
            *out = (proof_kind)k;
            return cuzk_ok();
        }
    return cuzk_fail(CUZK_E_USAGE,
                     "--kind: expected porep, winning, window or snap, found \"%.40s\"", text);
}

static cuzk_status parse_bytes32(uint8_t out[32], const char *option, const char *text)
{
    if (!text)
        return cuzk_fail(CUZK_E_USAGE, "%s: expected 64 hexadecimal digits, found nothing", option);
    if (!hex_decode(out, 32, text, strlen(text)))
        return cuzk_fail(CUZK_E_INPUT, "%s: expected 64 hexadecimal digits, found \"%.70s\"",
                         option, text);
    return cuzk_ok();
}

static cuzk_status parse_node(fr *out, const char *option, const char *text)
{
    uint8_t b[32];
    CUZK_TRY(parse_bytes32(b, option, text));
    if (!fr_from_le(out, b))
        return cuzk_fail(CUZK_E_INPUT,
                         "%s: expected a field element below r (little-endian), found %.64s",
                         option, text);
    return cuzk_ok();
}

/* Number when the text is one. */
static bool as_number(uint32_t *id, const char *text)
{
    uint64_t v;
    if (cli_parse_u64(&v, "", text, UINT32_MAX).code != CUZK_OK)
        return false;
    *id = (uint32_t)v;
    return true;
}

/* ---- porep ---- */

static cuzk_status porep_context(fil_porep_context *out, const cli_input *in)
{
    *out = (fil_porep_context){.has_miner = in->miner != NULL,
                               .has_sector = in->sector != NULL,
                               .has_porep_id = in->porep_id != NULL};
    if ((in->miner == NULL) != (in->sector == NULL))
        return cuzk_fail(CUZK_E_USAGE, "--miner and --sector: expected both or none");
    if (in->miner)
        CUZK_TRY(cli_parse_u64(&out->miner, "--miner", in->miner, UINT64_MAX));
    if (in->sector)
        CUZK_TRY(cli_parse_u64(&out->sector, "--sector", in->sector, UINT64_MAX));
    if (in->porep_id)
        CUZK_TRY(parse_bytes32(out->porep_id, "--porep-id", in->porep_id));
    return cuzk_ok();
}

typedef struct file_set {
    uint8_t **data;
    size_t *lens;
    uint32_t n;
} file_set;

static void files_fini(file_set *f)
{
    for (uint32_t i = 0; f->data && i < f->n; i++)
        mem_free(f->data[i]);
    mem_free(f->data);
    mem_free(f->lens);
    *f = (file_set){0};
}

static cuzk_status files_read(cli_env *e, file_set *f, const cli_input *in)
{
    span_id s = span_begin(e->spans, e->root, SPAN_READ);
    uint64_t total = 0;
    f->n = (uint32_t)in->n_files;
    f->data = mem_zalloc((in->n_files + 1) * sizeof *f->data, 8);
    f->lens = mem_zalloc((in->n_files + 1) * sizeof *f->lens, 8);
    cuzk_status st =
        f->data && f->lens ? cuzk_ok() : cuzk_fail(CUZK_E_NOMEM, "%zu files", in->n_files);
    for (uint32_t i = 0; i < f->n && st.code == CUZK_OK; i++) {
        st = cli_read_file(&f->data[i], &f->lens[i], in->files[i], INPUT_MAX_BYTES);
        total += f->lens[i];
    }
    span_note(e->spans, s, -1, total);
    span_end(e->spans, s);
    return st;
}

/* ---- PoSt ---- */

static cuzk_status post_proof(fil_post_proof *out, const cli_input *in, fil_post_kind kind)
{
    uint32_t id;
    if (in->registered) {
        const fil_post_proof *p = as_number(&id, in->registered)
                                      ? fil_post_proof_by_id(id)
                                      : fil_post_proof_by_name(in->registered);
        if (!p || p->kind != kind)
            return cuzk_fail(
                CUZK_E_INPUT, "--registered-proof: expected a registered %s proof, found \"%.60s\"",
                kind == FIL_POST_WINNING ? "WinningPoSt" : "WindowPoSt", in->registered);
        *out = *p;
        return cuzk_ok();
    }
    const fil_sector *s = in->sector_size ? fil_sector_by_name(in->sector_size) : NULL;
    if (!s)
        return cuzk_fail(
            CUZK_E_USAGE,
            "expected --registered-proof, or --sector-size with a known size such as 32GiB");
    if (in->api_version && strcmp(in->api_version, "1.1.0") != 0 &&
        strcmp(in->api_version, "1.2.0") != 0)
        return cuzk_fail(CUZK_E_USAGE, "--api-version: expected 1.1.0 or 1.2.0, found \"%.20s\"",
                         in->api_version);
    bool v1_2 =
        kind == FIL_POST_WINDOW && (!in->api_version || strcmp(in->api_version, "1.2.0") == 0);
    *out = fil_post_proof_unregistered(kind, s->sector_bytes, v1_2);
    return cuzk_ok();
}

static cuzk_status post_context(fil_post_context *out, const cli_input *in)
{
    uint64_t miner = 0;
    CUZK_TRY(parse_bytes32(out->randomness, "--randomness", in->randomness));
    if ((in->prover_id == NULL) == (in->miner == NULL))
        return cuzk_fail(CUZK_E_USAGE, "expected one of --miner, --prover-id");
    if (!in->miner)
        return parse_bytes32(out->prover_id, "--prover-id", in->prover_id);
    CUZK_TRY(cli_parse_u64(&miner, "--miner", in->miner, UINT64_MAX));
    fil_prover_id(out->prover_id, miner);
    return cuzk_ok();
}

/* ---- SnapDeals ---- */

static const char *const update_size_names =
    "1KiB, 2KiB, 4KiB, 8KiB, 16KiB, 32KiB, 8MiB, 16MiB, 512MiB, 32GiB or 64GiB";

static cuzk_status update_config(const fil_update_config **out, const cli_input *in)
{
    const fil_update_config *c = NULL;
    uint32_t id;
    if (in->registered) {
        const fil_update_proof *p = as_number(&id, in->registered)
                                        ? fil_update_proof_by_id(id)
                                        : fil_update_proof_by_name(in->registered);
        if (!p)
            return cuzk_fail(
                CUZK_E_INPUT,
                "--registered-proof: expected a registered update proof, found \"%.60s\"",
                in->registered);
        c = fil_update_config_by_bytes(p->sector_bytes);
    }
    for (size_t i = 0; !c && in->sector_size && i < FIL_N_UPDATE_CONFIGS; i++)
        if (strcmp(FIL_UPDATE_CONFIGS[i].name, in->sector_size) == 0)
            c = &FIL_UPDATE_CONFIGS[i];
    if (!c)
        return cuzk_fail(CUZK_E_USAGE, "expected --registered-proof, or --sector-size of %s",
                         update_size_names);
    *out = c;
    return cuzk_ok();
}

static cuzk_status update_context(fil_update_context *out, const cli_input *in)
{
    uint64_t h = 0;
    CUZK_TRY(parse_node(&out->comm_r_old, "--comm-r-old", in->comm_r_old));
    CUZK_TRY(parse_node(&out->comm_d_new, "--comm-d-new", in->comm_d_new));
    CUZK_TRY(parse_node(&out->comm_r_new, "--comm-r-new", in->comm_r_new));
    if (in->h)
        CUZK_TRY(cli_parse_u64(&h, "--h", in->h, 255));
    out->h = (uint32_t)h;
    return cuzk_ok();
}

/* What decoding depends on. */
static cuzk_status request_shape(proof_request *q, const cli_input *in)
{
    if (q->kind == PROOF_POREP)
        return cuzk_ok();
    if (q->kind == PROOF_SNAP)
        return update_config(&q->update, in);
    return post_proof(&q->post, in, q->kind == PROOF_WINNING ? FIL_POST_WINNING : FIL_POST_WINDOW);
}

/* What checking depends on. */
static cuzk_status request_context(proof_request *q, const cli_input *in)
{
    if (q->kind == PROOF_POREP)
        return porep_context(&q->porep, in);
    if (q->kind == PROOF_SNAP)
        return update_context(&q->update_context, in);
    return post_context(&q->post_context, in);
}

static cuzk_status decode(cli_env *e, proof_task *t, proof_request *q, const cli_input *in)
{
    span_id s = span_begin(e->spans, e->root, SPAN_DECODE);
    cuzk_status st = request_shape(q, in);
    if (st.code == CUZK_OK)
        st = proof_task_decode(t, &e->arena, q);
    span_end(e->spans, s);
    return st;
}

static cuzk_status check_task(cli_env *e, proof_task *t, proof_request *q, const cli_input *in)
{
    span_id s = span_begin(e->spans, e->root, SPAN_CHECK);
    run_ctx rc = run_ctx_under(&e->rc, s);
    cuzk_status st = request_context(q, in);
    if (st.code == CUZK_OK)
        st = proof_task_check(t, q, &rc);
    span_end(e->spans, s);
    return st;
}

cuzk_status cli_load_task(cli_env *e, proof_task *t, const cli_input *in, bool check, bool *decoded)
{
    file_set f = {0};
    fil_porep_context ctx;
    cli_input all = *in;
    *decoded = false;
    *t = (proof_task){.kind = PROOF_POREP};
    if (in->request)
        CUZK_TRY(cli_read_request(e, &all, in->request));
    CUZK_TRY(parse_kind(&t->kind, all.kind));
    if (t->kind == PROOF_POREP)
        CUZK_TRY(porep_context(&ctx, &all)); /* wrong options are said before a long file is read */
    if (t->kind == PROOF_POREP && all.n_files > 1)
        return cuzk_fail(CUZK_E_USAGE, "porep: expected one C1 file, found %zu", all.n_files);
    if (all.n_files == 0)
        return cuzk_fail(CUZK_E_USAGE, "expected an input file (or - for standard input)");
    cuzk_status st = files_read(e, &f, &all);
    proof_request q = {
        .kind = t->kind, .files = (const uint8_t *const *)f.data, .lens = f.lens, .n_files = f.n};
    if (st.code == CUZK_OK)
        st = decode(e, t, &q, &all);
    files_fini(&f);
    CUZK_TRY(st);
    *decoded = true;
    return check ? check_task(e, t, &q, &all) : cuzk_ok();
}

void cli_key_path(char *out, size_t len, const proof_task *t, const char *ext)
{
    char stem[PROOF_STEM_MAX];
    proof_task_param_stem(stem, t);
    snprintf(out, len, "%s/%s.%s", cli_param_cache(), stem, ext);
}

cuzk_status cli_json_inputs(cli_env *e, json_writer *w, const proof_task *t, uint32_t first,
                            uint32_t n)
{
    size_t n_public = proof_task_n_public(t);
    fr *v = arena_alloc(&e->arena, n_public * sizeof *v, 64);
    if (!v)
        return cuzk_fail(CUZK_E_NOMEM, "public inputs");
    json_key(w, "public_inputs");
    json_begin_array(w);
    for (uint32_t k = first; k < first + n; k++) {
        proof_task_public_inputs(t, k, v);
        json_begin_array(w);
        for (size_t i = 0; i < n_public; i++)
            cli_json_fr(w, &v[i]);
        json_end_array(w);
    }
    json_end_array(w);
    return cuzk_ok();
}
