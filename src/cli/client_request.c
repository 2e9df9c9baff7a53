/* From files and options to the request that goes over the wire: bytes as they are, registered
 * proofs as numbers. Nothing is decoded here; the daemon checks. */
#include "base/bytes.h"
#include "base/mem.h"
#include "base/span_names.h"
#include "cli/client.h"
#include "fil/graph.h"
#include <stdio.h>
#include <string.h>

#define FILE_MAX_BYTES ((size_t)256 << 20)

/* What the views of a request stand on. */
typedef struct request_files {
    uint8_t **data;
    job_bytes *views;
    size_t n;
    uint8_t small[4][32]; /* randomness, comm_r_old, comm_r_new, comm_d_new */
} request_files;

static void release(void *owned)
{
    request_files *f = owned;
    for (size_t i = 0; f->data && i < f->n; i++)
        mem_free(f->data[i]);
    mem_free(f->data);
    mem_free(f->views);
    mem_free(f);
}

static cuzk_status read_files(cli_env *e, request_files *f, const cli_input *in)
{
    if (in->n_files == 0)
        return cuzk_fail(CUZK_E_USAGE, "expected an input file (or - for standard input)");
    f->data = mem_zalloc((in->n_files + 1) * sizeof *f->data, 8);
    f->views = mem_zalloc((in->n_files + 1) * sizeof *f->views, 8);
    if (!f->data || !f->views)
        return cuzk_fail(CUZK_E_NOMEM, "%zu files", in->n_files);
    span_id s = span_begin(e->spans, e->root, SPAN_READ);
    cuzk_status st = cuzk_ok();
    for (; f->n < in->n_files && st.code == CUZK_OK; f->n++) {
        st = cli_read_file(&f->data[f->n], &f->views[f->n].len, in->files[f->n], FILE_MAX_BYTES);
        f->views[f->n].p = f->data[f->n];
    }
    span_end(e->spans, s);
    return st;
}

static cuzk_status take_kind(job_request *r, const char *text)
{
    r->kind = PROOF_POREP;
    for (int k = 0; text && k < PROOF_N_KINDS; k++)
        if (strcmp(text, PROOF_KIND_NAMES[k]) == 0) {
            r->kind = (proof_kind)k;
            return cuzk_ok();
        }
    return text
               ? cuzk_fail(CUZK_E_USAGE,
                           "--kind: expected porep, winning, window or snap, found \"%.40s\"", text)
               : cuzk_ok();
}

static cuzk_status take_hex(job_bytes *out, uint8_t place[32], const char *option, const char *text)
{
    if (!text)
        return cuzk_fail(CUZK_E_USAGE, "%s: expected 64 hexadecimal digits, found nothing", option);
    if (!hex_decode(place, 32, text, strlen(text)))
        return cuzk_fail(CUZK_E_INPUT, "%s: expected 64 hexadecimal digits, found \"%.70s\"",
                         option, text);
    *out = (job_bytes){place, 32};
    return cuzk_ok();
}

/* A prover id is the miner's number in LEB128; the wire has the number. */
static cuzk_status miner_of_prover(uint64_t *miner, const char *text)
{
    uint8_t id[32], again[32];
    job_bytes unused;
    CUZK_TRY(take_hex(&unused, id, "--prover-id", text));
    *miner = 0;
    for (unsigned i = 0; i < 10; i++) {
        *miner |= (uint64_t)(id[i] & 0x7f) << (7 * i);
        if (!(id[i] & 0x80))
            break;
    }
    fil_prover_id(again, *miner);
    return memcmp(id, again, sizeof id) == 0
               ? cuzk_ok()
               : cuzk_fail(CUZK_E_USAGE,
                           "--prover-id: a daemon takes only those that are a miner's number");
}

static cuzk_status take_miner(job_request *r, const cli_input *in, bool is_post)
{
    if (in->sector)
        CUZK_TRY(cli_parse_u64(&r->sector_number, "--sector", in->sector, UINT64_MAX));
    if (in->miner)
        return cli_parse_u64(&r->miner_id, "--miner", in->miner, UINT64_MAX);
    if (in->prover_id)
        return miner_of_prover(&r->miner_id, in->prover_id);
    return is_post ? cuzk_fail(CUZK_E_USAGE, "expected one of --miner, --prover-id") : cuzk_ok();
}

static const char *unregistered = "a daemon takes registered proofs only: expected "
                                  "--registered-proof, or a --sector-size that has "
                                  "one";

static bool is_number(uint32_t *id, const char *text)
{
    uint64_t v;
    if (cli_parse_u64(&v, "", text, UINT32_MAX).code != CUZK_OK)
        return false;
    *id = (uint32_t)v;
    return true;
}

/* The registered proof of a size; window proofs of V1_2 unless told otherwise. */
static const fil_post_proof *post_of_size(const cli_input *in, fil_post_kind kind)
{
    const fil_sector *s = in->sector_size ? fil_sector_by_name(in->sector_size) : NULL;
    bool v1_2 =
        kind == FIL_POST_WINDOW && (!in->api_version || strcmp(in->api_version, "1.1.0") != 0);
    const fil_post_proof *p;
    for (uint32_t id = 0; s && (p = fil_post_proof_by_id(id)) != NULL; id++)
        if (p->kind == kind && p->sector_bytes == s->sector_bytes && p->v1_2 == v1_2)
            return p;
    return NULL;
}

static cuzk_status take_post(job_request *r, request_files *f, const cli_input *in)
{
    const fil_post_kind kind = r->kind == PROOF_WINNING ? FIL_POST_WINNING : FIL_POST_WINDOW;
    const fil_post_proof *p;
    uint32_t id;
    if (in->registered)
        p = is_number(&id, in->registered) ? fil_post_proof_by_id(id)
                                           : fil_post_proof_by_name(in->registered);
    else
        p = post_of_size(in, kind);
    if (!p)
        return cuzk_fail(CUZK_E_USAGE, "%s", unregistered);
    r->registered_proof = p->id;
    r->sector_size = p->sector_bytes;
    CUZK_TRY(take_hex(&r->randomness, f->small[0], "--randomness", in->randomness));
    return take_miner(r, in, true);
}

static cuzk_status take_snap(job_request *r, request_files *f, const cli_input *in)
{
    const fil_update_proof *p = NULL;
    uint32_t id;
    uint64_t h;
    if (in->registered)
        p = is_number(&id, in->registered) ? fil_update_proof_by_id(id)
                                           : fil_update_proof_by_name(in->registered);
    const fil_sector *s = in->sector_size ? fil_sector_by_name(in->sector_size) : NULL;
    for (uint32_t i = 0; !p && !in->registered && s && fil_update_proof_by_id(i); i++)
        if (fil_update_proof_by_id(i)->sector_bytes == s->sector_bytes)
            p = fil_update_proof_by_id(i);
    if (!p)
        return cuzk_fail(CUZK_E_USAGE, "%s", unregistered);
    if (in->h) {
        CUZK_TRY(cli_parse_u64(&h, "--h", in->h, 255));
        if (h != fil_update_config_by_bytes(p->sector_bytes)->h_default)
            return cuzk_fail(CUZK_E_USAGE, "--h: a daemon takes the network's value only");
    }
    r->registered_proof = p->id;
    r->sector_size = p->sector_bytes;
    CUZK_TRY(take_hex(&r->comm_r_old, f->small[1], "--comm-r-old", in->comm_r_old));
    CUZK_TRY(take_hex(&r->comm_r_new, f->small[2], "--comm-r-new", in->comm_r_new));
    CUZK_TRY(take_hex(&r->comm_d_new, f->small[3], "--comm-d-new", in->comm_d_new));
    return take_miner(r, in, false);
}

static cuzk_status take_porep(job_request *r, const request_files *f, const cli_input *in)
{
    if (in->porep_id)
        return cuzk_fail(CUZK_E_USAGE, "%s", unregistered);
    if (f->n != 1)
        return cuzk_fail(CUZK_E_USAGE, "porep: expected one C1 file, found %zu", f->n);
    if ((in->miner == NULL) != (in->sector == NULL))
        return cuzk_fail(CUZK_E_USAGE, "--miner and --sector: expected both or none");
    r->vanilla_proof = f->views[0];
    return take_miner(r, in, false);
}

static cuzk_status build(cli_env *e, job_request *r, request_files *f, const cli_input *in)
{
    CUZK_TRY(take_kind(r, in->kind));
    CUZK_TRY(read_files(e, f, in));
    if (r->kind == PROOF_POREP)
        return take_porep(r, f, in);
    r->vanilla_proofs = f->views;
    r->n_vanilla_proofs = f->n;
    return r->kind == PROOF_SNAP ? take_snap(r, f, in) : take_post(r, f, in);
}

cuzk_status cli_parse_priority(job_priority *out, const char *text, proof_kind kind)
{
    *out = kind == PROOF_WINNING ? JOB_CRITICAL : kind == PROOF_WINDOW ? JOB_HIGH : JOB_NORMAL;
    for (int p = 0; text && p < JOB_N_PRIORITIES; p++)
        if (strcmp(text, JOB_PRIORITY_NAMES[p]) == 0) {
            *out = (job_priority)p;
            return cuzk_ok();
        }
    return text ? cuzk_fail(CUZK_E_USAGE,
                            "--priority: expected low, normal, high or critical, found \"%.20s\"",
                            text)
                : cuzk_ok();
}

cuzk_status cli_make_request(cli_env *e, const cli_input *in, job_request *out)
{
    cli_input all = *in;
    *out = (job_request){.kind = PROOF_POREP};
    if (in->request)
        CUZK_TRY(cli_read_request(e, &all, in->request));
    request_files *f = mem_zalloc(sizeof *f, 16);
    if (!f)
        return cuzk_fail(CUZK_E_NOMEM, "a request");
    out->owned = f;
    out->release = release;
    cuzk_status st = build(e, out, f, &all);
    if (st.code == CUZK_OK)
        st = cli_parse_priority(&out->priority, NULL, out->kind);
    if (st.code != CUZK_OK) {
        job_request_fini(out);
        *out = (job_request){.kind = PROOF_POREP};
    }
    return st;
}
