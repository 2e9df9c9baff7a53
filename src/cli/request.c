/* request.json: the values of a proof request beside its vanilla files, as `cuzk gen` writes
 * them. */
#include "base/json_read.h"
#include "base/mem.h"
#include "cli/cli.h"
#include <stdio.h>
#include <string.h>

#define REQUEST_MAX_BYTES ((size_t)4 << 20)

/* A string or number member as text in the arena; absent members leave *out alone. */
static cuzk_status take_text(cli_env *e, const char **out, json_val root, const char *name)
{
    json_val v;
    if (!json_member(&v, root, name) || json_val_kind(v) == JSON_NULL)
        return cuzk_ok();
    const char *s = "";
    char number[24];
    size_t n;
    if (json_val_kind(v) == JSON_NUMBER) {
        uint64_t u;
        CUZK_TRY(json_get_u64(&u, v, UINT64_MAX));
        n = (size_t)snprintf(number, sizeof number, "%llu", (unsigned long long)u);
        s = number;
    } else {
        CUZK_TRY(json_get_string(&s, &n, v));
    }
    char *copy = arena_alloc(&e->arena, n + 1, 1);
    if (!copy)
        return cuzk_fail(CUZK_E_NOMEM, "request text");
    memcpy(copy, s, n);
    *out = copy;
    return cuzk_ok();
}

/* Member `files`: names relative to the request's own folder; used when the command line names
 * none. */
static cuzk_status take_files(cli_env *e, cli_input *in, json_val root, const char *path)
{
    json_val list, v;
    json_iter it;
    if (in->n_files || !json_member(&list, root, "files"))
        return cuzk_ok();
    const char *slash = strrchr(path, '/');
    size_t dir = slash ? (size_t)(slash - path) + 1 : 0;
    CUZK_TRY(json_array(&it, list));
    if (it.n > CLI_MAX_FILES)
        return json_bad(list, "at most 65536 files", NULL);
    const char **files = arena_alloc(&e->arena, (it.n + 1) * sizeof *files, 8);
    if (!files)
        return cuzk_fail(CUZK_E_NOMEM, "file names");
    for (size_t i = 0; json_next(&it, &v); i++) {
        const char *s;
        size_t n;
        CUZK_TRY(json_get_string(&s, &n, v));
        char *full = arena_alloc(&e->arena, dir + n + 1, 1);
        if (!full)
            return cuzk_fail(CUZK_E_NOMEM, "file names");
        memcpy(full, path, dir);
        memcpy(full + dir, s, n);
        files[i] = full;
        in->n_files = i + 1;
    }
    in->files = files;
    return cuzk_ok();
}

static cuzk_status take_members(cli_env *e, cli_input *in, json_val root, const char *path)
{
    const struct {
        const char *name, **at;
    } members[] = {
        {"kind", &in->kind},
        {"registered_proof", &in->registered},
        {"sector_size", &in->sector_size},
        {"api_version", &in->api_version},
        {"randomness", &in->randomness},
        {"prover_id", &in->prover_id},
        {"miner", &in->miner},
        {"sector", &in->sector},
        {"porep_id", &in->porep_id},
        {"comm_r_old", &in->comm_r_old},
        {"comm_d_new", &in->comm_d_new},
        {"comm_r_new", &in->comm_r_new},
        {"h", &in->h},
    };
    if (json_val_kind(root) != JSON_OBJECT)
        return json_bad(root, "an object", NULL);
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (!*members[i].at) /* the command line wins */
            CUZK_TRY(take_text(e, members[i].at, root, members[i].name));
    if (in->prover_id && in->miner && in->kind && strcmp(in->kind, "porep") != 0)
        in->miner = NULL; /* one statement of the prover is enough */
    return take_files(e, in, root, path);
}

cuzk_status cli_read_request(cli_env *e, cli_input *in, const char *path)
{
    uint8_t *text;
    size_t len;
    json_doc doc;
    CUZK_TRY(cli_read_file(&text, &len, path, REQUEST_MAX_BYTES));
    cuzk_status st = json_parse(&doc, text, len);
    if (st.code == CUZK_OK) {
        st = take_members(e, in, json_root(&doc), path);
        json_fini(&doc);
    }
    mem_free(text);
    return cuzk_wrap(st, "--request %.100s", path);
}
