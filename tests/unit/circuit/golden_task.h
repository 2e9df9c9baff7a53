/* Golden vanilla inputs as checked proof tasks. */
#ifndef GOLDEN_TASK_H
#define GOLDEN_TASK_H
#include "circuit/proof_task.h"
#include "unit/fil/golden.h"

#define GOLDEN_MAX_FILES 16

static inline void golden_porep(proof_task *t, arena *a, const char *name)
{
    char file[128];
    size_t len;
    snprintf(file, sizeof file, "porep/%s.c1.json.gz", name);
    char *text = golden_read(file, &len);
    t->kind = PROOF_POREP;
    assert_ok(fil_porep_decode(&t->in.porep, a, text, len));
    assert_ok(fil_porep_check(&t->in.porep, NULL, NULL));
    free(text);
}

/* Files pattern % i for i < n. */
static inline void golden_files(char *data[GOLDEN_MAX_FILES], size_t lens[GOLDEN_MAX_FILES],
                                uint32_t n, const char *dir, const char *name, const char *part)
{
    for (uint32_t i = 0; i < n; i++) {
        char file[160];
        snprintf(file, sizeof file, "%s/%s.%s%u.vanilla.bin", dir, name, part, i);
        data[i] = golden_read(file, &lens[i]);
    }
}

static inline void golden_post(proof_task *t, arena *a, const char *name)
{
    char file[128], typ[16], version[16], *data[GOLDEN_MAX_FILES];
    size_t lens[GOLDEN_MAX_FILES];
    snprintf(file, sizeof file, "post/%s.meta.json", name);
    json_doc meta = golden_json(file);
    json_val root = json_root(&meta);
    get_str(typ, sizeof typ, root, "typ");
    get_str(version, sizeof version, root, "api_version");
    bool winning = strcmp(typ, "Winning") == 0;
    fil_post_proof proof =
        fil_post_proof_unregistered(winning ? FIL_POST_WINNING : FIL_POST_WINDOW,
                                    get_u64(root, "sector_size"), strcmp(version, "1.2.0") == 0);
    fil_post_context ctx = {0};
    get_hex32(ctx.randomness, root, "randomness");
    get_hex32(ctx.prover_id, root, "prover_id");
    uint32_t n = (uint32_t)items(get(root, "sectors")).n;
    golden_files(data, lens, n, "post", name, "sector");
    t->kind = winning ? PROOF_WINNING : PROOF_WINDOW;
    assert_ok(fil_post_decode(&t->in.post, a, &proof, (const uint8_t *const *)data, lens, n));
    assert_ok(fil_post_check(&t->in.post, &ctx, NULL));
    for (uint32_t i = 0; i < n; i++)
        free(data[i]);
    golden_json_free(&meta);
}

static inline void golden_update(proof_task *t, arena *a, const char *name)
{
    char file[128], *data[GOLDEN_MAX_FILES];
    size_t lens[GOLDEN_MAX_FILES];
    snprintf(file, sizeof file, "update/%s.meta.json", name);
    json_doc meta = golden_json(file);
    json_val root = json_root(&meta);
    fil_update_context ctx = {get_fr(root, "comm_r_old"), get_fr(root, "comm_d_new"),
                              get_fr(root, "comm_r_new"), (uint32_t)get_u64(root, "h")};
    uint32_t n = (uint32_t)get_u64(root, "partitions");
    golden_files(data, lens, n, "update", name, "part");
    t->kind = PROOF_SNAP;
    assert_ok(fil_update_decode(&t->in.update, a,
                                fil_update_config_by_bytes(get_u64(root, "sector_size")),
                                (const uint8_t *const *)data, lens, n));
    assert_ok(fil_update_check(&t->in.update, &ctx, NULL));
    for (uint32_t i = 0; i < n; i++)
        free(data[i]);
    golden_json_free(&meta);
}

/* By the name of a file in tests/golden/witness: "porep-2KiB-V1", "post-winning-2KiB",
 * "update-2KiB-snap". */
static inline void golden_task(proof_task *t, arena *a, const char *name)
{
    if (strncmp(name, "porep-", 6) == 0)
        golden_porep(t, a, name + 6);
    else if (strncmp(name, "post-", 5) == 0)
        golden_post(t, a, name + 5);
    else
        golden_update(t, a, name + 7);
}
#endif
