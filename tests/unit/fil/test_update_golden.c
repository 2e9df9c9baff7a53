/* Every golden SnapDeals proof is accepted with the right contents; every broken one ends as
 * tests/golden/bad/expect.tsv says. */
#include "golden.h"

#include "base/mem.h"
#include "fil/update.h"

static const char *const names[] = {"2KiB-snap",  "2KiB-snap-b", "4KiB-snap",
                                    "16KiB-snap", "32KiB-snap",  "8MiB-snap"};

#define MAX_FILES 4
/* A request: files of exactly their length, so that an address sanitizer sees a read past the
 * end. */
typedef struct request {
    const fil_update_config *config;
    fil_update_context ctx;
    uint8_t *files[MAX_FILES];
    size_t lens[MAX_FILES];
    uint32_t n;
} request;

static void add_file(request *r, const char *name)
{
    size_t n;
    char *text = golden_read(name, &n);
    assert_true(r->n < MAX_FILES);
    r->files[r->n] = malloc(n ? n : 1);
    assert_non_null(r->files[r->n]);
    memcpy(r->files[r->n], text, n);
    r->lens[r->n++] = n;
    free(text);
}

static void request_free(request *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        free(r->files[i]);
    *r = (request){0};
}

static cuzk_status decode_and_check(fil_update *u, arena *a, const request *r, const run_ctx *rc)
{
    cuzk_status st =
        fil_update_decode(u, a, r->config, (const uint8_t *const *)r->files, r->lens, r->n);
    return st.code == CUZK_OK ? fil_update_check(u, &r->ctx, rc) : st;
}

static cuzk_status outcome(const request *r)
{
    arena a = {0};
    fil_update u;
    cuzk_status st = decode_and_check(&u, &a, r, NULL);
    arena_fini(&a);
    return st;
}

static json_doc load(request *r, const char *name)
{
    char path[160];
    json_val v;
    snprintf(path, sizeof path, "update/%s.meta.json", name);
    json_doc doc = golden_json(path);
    json_val meta = json_root(&doc);
    *r = (request){.config = fil_update_config_by_bytes(get_u64(meta, "sector_size"))};
    assert_non_null(r->config);
    r->ctx.comm_r_old = get_fr(meta, "comm_r_old");
    r->ctx.comm_d_new = get_fr(meta, "comm_d_new");
    r->ctx.comm_r_new = get_fr(meta, "comm_r_new");
    for (json_iter it = items(get(meta, "files")); json_next(&it, &v);) {
        get_str(path, sizeof path, v, "file");
        add_file(r, path);
    }
    return doc;
}

static fr val_fr(json_val v)
{
    uint8_t b[32];
    fr x;
    val_hex32(b, v);
    assert_true(fr_from_le(&x, b));
    return x;
}

static void check_config(const fil_update_config *c, json_val meta)
{
    json_iter hs = items(get(meta, "hs"));
    json_val v;
    assert_int_equal(c->n_nodes, get_u64(meta, "nodes"));
    assert_int_equal(c->lg_partitions, get_u64(meta, "partition_bits"));
    assert_int_equal(1u << c->lg_partitions, get_u64(meta, "partitions"));
    assert_int_equal(c->challenges, get_u64(meta, "challenges_per_partition"));
    assert_int_equal(1u << c->lg_apex, get_u64(meta, "apex_leaf_count"));
    assert_int_equal(c->h_default, get_u64(meta, "h"));
    assert_int_equal(fil_update_h_select(c, c->h_default), get_u64(meta, "h_select"));
    for (unsigned i = 0; json_next(&hs, &v); i++) {
        uint64_t h;
        assert_ok(json_get_u64(&h, v, 255));
        assert_int_equal(c->hs[i], h);
    }
}

static void check_partition(const fil_update *u, uint32_t k, json_val challenges, json_val rhos,
                            json_val inputs)
{
    json_iter it = items(challenges), rho_it = items(rhos);
    json_val v;
    uint64_t derived[86];
    fr phi, rho, in[FIL_UPDATE_N_PUBLIC];
    assert_ok(fil_update_challenges(derived, u->config, k, &u->comm_r_new));
    fil_update_phi(&phi, &u->comm_d_new, &u->comm_r_old);
    assert_int_equal(it.n, u->config->challenges);
    for (uint32_t i = 0; json_next(&it, &v); i++) {
        const fil_update_challenge *ch = &u->partitions[k].challenges[i];
        uint64_t want;
        assert_ok(json_get_u64(&want, v, u->config->n_nodes - 1));
        assert_int_equal(derived[i], want);
        assert_int_equal(fil_path_index(&ch->r_old), want);
        assert_int_equal(fil_path_index(&ch->d_new), want);
        assert_int_equal(fil_path_index(&ch->r_new), want);
        fil_update_rho(&rho, &phi, want >> (u->config->lg_nodes - u->h));
        assert_true(json_next(&rho_it, &v));
        fr want_rho = val_fr(v);
        assert_true(fr_eq(&rho, &want_rho));
    }
    fil_update_public_inputs(u, k, in);
    it = items(inputs);
    assert_int_equal(it.n, FIL_UPDATE_N_PUBLIC);
    for (uint32_t i = 0; json_next(&it, &v); i++) {
        fr want = val_fr(v);
        assert_true(fr_eq(&in[i], &want));
    }
}

static void test_every_golden_proof_is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        request r;
        arena a = {0};
        fil_update u;
        json_val challenges, rhos, inputs;
        print_message("%s\n", names[i]);
        json_doc doc = load(&r, names[i]);
        json_val meta = json_root(&doc);
        check_config(r.config, meta);
        assert_ok(decode_and_check(&u, &a, &r, NULL));
        fr phi, want_phi = get_fr(meta, "phi"), comm_c = get_fr(meta, "comm_c"),
                comm_r_last_old = get_fr(meta, "comm_r_last_old"),
                comm_r_last_new = get_fr(meta, "comm_r_last_new");
        fil_update_phi(&phi, &u.comm_d_new, &u.comm_r_old);
        assert_true(fr_eq(&phi, &want_phi));
        json_iter c_it = items(get(meta, "challenges")), r_it = items(get(meta, "rhos")),
                  i_it = items(get(meta, "public_inputs"));
        assert_int_equal(c_it.n, u.n_partitions);
        for (uint32_t k = 0; json_next(&c_it, &challenges); k++) {
            assert_true(json_next(&r_it, &rhos) && json_next(&i_it, &inputs));
            assert_true(fr_eq(&u.partitions[k].comm_c, &comm_c));
            assert_true(fr_eq(&u.partitions[k].challenges[0].r_old.root, &comm_r_last_old));
            assert_true(fr_eq(&u.partitions[k].challenges[0].r_new.root, &comm_r_last_new));
            check_partition(&u, k, challenges, rhos, inputs);
        }
        arena_fini(&a);
        request_free(&r);
        golden_json_free(&doc);
    }
}

/* What the request says in the cases whose fault is not in the file (tests/golden/bad/README).
 * False when it cannot be said, because a commitment has to be a field element. */
static bool set_context(request *r, unsigned number)
{
    uint8_t comm_r_old[32], comm_r_new[32], comm_d_new[32];
    assert_true(hex_decode(comm_r_old, 32,
                           "6a11c7f0fd94b6f8d5c85b560a009faab0b21ff61ee33a4e8efad6f045fb7854", 64));
    assert_true(hex_decode(comm_r_new, 32,
                           "74b004ddd8504443e3e369f1827450d266e64e7b877b823dd1ddb1915ee7f849", 64));
    assert_true(hex_decode(comm_d_new, 32,
                           "230259ff48d12835138100b99bc30f47b411f671489be5945bb9624a6b3f2d33", 64));
    if (number == 15)
        comm_d_new[0] ^= 1;
    if (number == 16)
        assert_true(hex_decode(comm_d_new, 32,
                               "01000000fffffffffe5bfeff02a4bd5305d8a10908d83933487d9d2953a7ed73",
                               64));
    if (number == 17)
        memset(comm_r_old, 0xff, 32);
    if (number == 18)
        memset(comm_r_new, 0, 32);
    r->config = fil_update_config_by_bytes(2048);
    r->ctx.h = 0;
    bool canonical = fr_from_le(number == 14 ? &r->ctx.comm_r_new : &r->ctx.comm_r_old, comm_r_old);
    canonical &= fr_from_le(number == 14 ? &r->ctx.comm_r_old : &r->ctx.comm_r_new, comm_r_new);
    return fr_from_le(&r->ctx.comm_d_new, comm_d_new) && canonical;
}

/* Part of the message of each refused case. */
static const struct {
    unsigned number;
    const char *part;
} messages[] = {
    {2, "partition_proofs[0].challenge_proofs: expected 10 elements, found only"},
    {4, "partition_proofs: expected 1 for 2KiB, found 2"},
    {5, "partition_proofs[0].apex_leafs: expected 8 elements, found 7"},
    {6, "partition_proofs[0].apex_leafs: expected 8 elements, found 9"},
    {7, "partition_proofs[0].apex_leafs: expected 8 elements, found 0"},
    {8, "partition_proofs[0].challenge_proofs: expected 10 elements, found 9"},
    {9, "partition_proofs[0].challenge_proofs: expected 10 elements, found 11"},
    {10, "partition_proofs[0].challenge_proofs: expected 10 elements, found 0"},
    {11, "partition_proofs[0].challenge_proofs: expected 10 elements, found 4611686018427387904"},
    {12, "partition_proofs[0].comm_c: expected a field element below r, found 01000000ffffffff"},
    {13, "partition_proofs[0].apex_leafs[0]: expected a field element below r, found ffffffff"},
    {14, "comm_r_old: expected Poseidon(comm_c, root of proof_r_old)"},
    {15, "partition_proofs[0].challenge_proofs[0].proof_d_new.root: expected comm_d_new"},
    {18, "comm_r_new: expected Poseidon(comm_c, root of proof_r_new) of partition 0, "
         "74b004ddd8504443..., found 0000"},
    {19, "partition_proofs[0].apex_leafs: expected leaves whose root"},
    {20, "partition_proofs[0].challenge_proofs[0].proof_r_old.path[].hashes: expected siblings "
         "that lead from leaf to root"},
    {21, "partition_proofs[0].challenge_proofs[0].proof_r_old.path[].index: expected the digits of "
         "challenge 51, found 10"},
    {22, "partition_proofs[0].challenge_proofs[0].proof_r_old.base_proof: expected 2 elements"},
};

static void check_message(unsigned number, const char *msg)
{
    for (size_t i = 0; i < ARRAY_LEN(messages); i++)
        if (messages[i].number == number) {
            if (!strstr(msg, messages[i].part))
                fail_msg("case %u: \"%s\" does not say \"%s\"", number, msg, messages[i].part);
            return;
        }
    fail_msg("case %u: no message listed for \"%s\"", number, msg);
}

static void test_bad_inputs_end_as_expected(void **state)
{
    (void)state;
    size_t n_list;
    char *list = golden_read("bad/expect.tsv", &n_list);
    list = realloc(list, n_list + 1);
    assert_non_null(list);
    list[n_list] = 0;
    unsigned n_cases = 0;
    request r = {0};
    for (char *save, *line = strtok_r(list, "\n", &save), *next; line; line = next) {
        unsigned number, next_number = 0;
        next = strtok_r(NULL, "\n", &save);
        if (sscanf(line, "update-%u", &number) != 1)
            continue;
        char *tab = strchr(line, '\t'), path[128];
        assert_non_null(tab);
        snprintf(path, sizeof path, "bad/%.*s", (int)(tab - line), line);
        add_file(&r, path);
        if (next && sscanf(next, "update-%u", &next_number) == 1 && next_number == number)
            continue; /* a case of several files */
        n_cases++;
        bool accept = strstr(tab + 1, "accept") != NULL, canonical = set_context(&r, number);
        assert_int_equal(canonical, number != 16 && number != 17);
        if (canonical) {
            cuzk_status st = outcome(&r);
            if (st.code != (accept ? CUZK_OK : CUZK_E_INPUT))
                fail_msg("%s: want %s, got %s: %s", line, tab + 1, cuzk_code_name(st.code), st.msg);
            if (!accept)
                check_message(number, st.msg);
        }
        request_free(&r);
    }
    assert_int_equal(n_cases, 22);
    free(list);
    /* The case without a file. */
    set_context(&r, 1);
    cuzk_status st = outcome(&r);
    assert_int_equal(st.code, CUZK_E_INPUT);
    assert_string_equal(st.msg, "partition_proofs: expected 1 for 2KiB, found 0");
}

static void test_partitions_in_order_and_h(void **state)
{
    (void)state;
    request r;
    json_doc doc = load(&r, "8MiB-snap");
    r.ctx.h = 10;
    assert_ok(outcome(&r));
    r.ctx.h = 9; /* a legal h, but not the one these replicas were encoded with */
    assert_non_null(strstr(outcome(&r).msg, "proof_r_new.leaf: expected old leaf + data * rho ="));
    r.ctx.h = 13;
    assert_string_equal(outcome(&r).msg, "h: expected 7 to 12 for 8MiB, found 13");
    r.ctx.h = 0;
    uint8_t *file = r.files[1];
    r.files[1] = r.files[2];
    r.files[2] = file;
    assert_non_null(strstr(outcome(&r).msg,
                           "partition_proofs[1].challenge_proofs[0].proof_r_old.path[].index"));
    r.n = 3;
    assert_string_equal(outcome(&r).msg, "partition_proofs: expected 4 for 8MiB, found 3");
    r.n = 4;
    request_free(&r);
    golden_json_free(&doc);
}

static void test_truncated_proofs_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t step;
    } files[] = {{"2KiB-snap", 1}, {"16KiB-snap", 11}, {"32KiB-snap", 11}};
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        request r, cut;
        json_doc doc = load(&r, files[f].name);
        uint32_t last = r.n - 1;
        cut = r;
        for (size_t n = 0; n < r.lens[last];
             n += n < 400 || r.lens[last] - n < 400 ? 1 : files[f].step) {
            cut.files[last] = malloc(n ? n : 1);
            assert_non_null(cut.files[last]);
            memcpy(cut.files[last], r.files[last], n);
            cut.lens[last] = n;
            cuzk_status st = outcome(&cut);
            free(cut.files[last]);
            if (st.code != CUZK_E_INPUT || !strstr(st.msg, "partition_proofs["))
                fail_msg("%s cut at %zu: %s: %s", files[f].name, n, cuzk_code_name(st.code),
                         st.msg);
        }
        request_free(&r);
        golden_json_free(&doc);
    }
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

/* Every bit of a proof counts. */
static void test_flipped_bits_are_refused(void **state)
{
    (void)state;
    static const char *const files[] = {"2KiB-snap", "32KiB-snap"};
    uint64_t seed = 0x9e3779b97f4a7c15u, rng = seed;
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        request r;
        json_doc doc = load(&r, files[f]);
        for (unsigned i = 0; i < 300; i++) {
            uint32_t file = (uint32_t)(next_random(&rng) % r.n);
            size_t pos = next_random(&rng) % r.lens[file];
            uint8_t mask = (uint8_t)(1u << next_random(&rng) % 8);
            r.files[file][pos] ^= mask;
            cuzk_status st = outcome(&r);
            r.files[file][pos] ^= mask;
            if (st.code != CUZK_E_INPUT)
                fail_msg("seed %lx: %s.%u byte %zu mask %02x: %s", seed, files[f], file, pos, mask,
                         cuzk_code_name(st.code));
        }
        assert_ok(outcome(&r));
        request_free(&r);
        golden_json_free(&doc);
    }
}

/* Values that are wrong together are found too: what a flip in the file cannot show because another
 * check comes first. */
static void test_each_value_is_checked(void **state)
{
    (void)state;
    request r;
    arena a = {0};
    fil_update u;
    json_doc doc = load(&r, "32KiB-snap");
    assert_ok(decode_and_check(&u, &a, &r, NULL));
    fil_update_challenge *ch = &u.partitions[1].challenges[7];
    fr *const values[] = {&ch->r_old.leaf,
                          &ch->d_new.leaf,
                          &ch->r_new.leaf,
                          &ch->r_old.root,
                          &ch->d_new.root,
                          &ch->r_new.root,
                          &u.partitions[1].apex[127],
                          &u.partitions[1].comm_c};
    static const char *const parts[] = {
        "proof_r_old.path[].hashes",
        "proof_d_new.path[].hashes: expected siblings that lead from leaf to apex leaf",
        "proof_r_new.leaf: expected old leaf + data * rho =",
        "proof_r_old.root: expected that of the first challenge",
        "proof_d_new.root: expected comm_d_new",
        "proof_r_new.root: expected that of the first challenge",
        "partition_proofs[1].apex_leafs",
        "comm_r_old: expected Poseidon(comm_c, root of proof_r_old) of partition 1,",
    };
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        fr good = *values[i];
        fr_add(values[i], values[i], &FR_ONE);
        cuzk_status st = fil_update_check(&u, &r.ctx, NULL);
        if (st.code != CUZK_E_INPUT || !strstr(st.msg, parts[i]))
            fail_msg("value %zu: \"%s\" does not say \"%s\"", i, st.msg, parts[i]);
        *values[i] = good;
    }
    /* Siblings of the partition path and within the apex tree, in other challenges than the
     * first. */
    fr *sib = (fr *)(uintptr_t)ch->d_new.sib;
    for (uint32_t k = 2; k < ch->d_new.n_levels; k++) {
        fr good = sib[k];
        fr_add(&sib[k], &sib[k], &FR_ONE);
        assert_non_null(strstr(fil_update_check(&u, &r.ctx, NULL).msg,
                               "challenge_proofs[7].proof_d_new.path[].hashes: expected siblings"));
        sib[k] = good;
    }
    assert_ok(fil_update_check(&u, &r.ctx, NULL));
    arena_fini(&a);
    request_free(&r);
    golden_json_free(&doc);
}

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

static void test_threads_and_cancel(void **state)
{
    (void)state;
    pool *threads;
    request r;
    arena a = {0};
    fil_update u;
    assert_ok(pool_create(&threads, 5));
    json_doc doc = load(&r, "8MiB-snap");
    run_ctx rc = {.pool = threads};
    assert_ok(decode_and_check(&u, &a, &r, &rc));
    fr *leaf = &u.partitions[3].challenges[1].r_new.leaf;
    fr_add(leaf, leaf, &FR_ONE);
    leaf = &u.partitions[2].challenges[8].r_new.leaf;
    fr_add(leaf, leaf, &FR_ONE);
    for (unsigned i = 0; i < 10; i++)
        assert_non_null(strstr(fil_update_check(&u, &r.ctx, &rc).msg,
                               "partition_proofs[2].challenge_proofs[8].proof_r_new.leaf"));
    rc.cancelled = always;
    assert_int_equal(fil_update_check(&u, &r.ctx, &rc).code, CUZK_E_CANCELLED);
    arena_fini(&a);
    request_free(&r);
    golden_json_free(&doc);
    pool_destroy(threads);
}

static void test_every_failed_allocation_is_reported(void **state)
{
    (void)state;
    request r;
    json_doc doc = load(&r, "16KiB-snap");
    uint64_t n = 1;
    for (; n < 1000; n++) {
        mem_fail_nth(n);
        cuzk_status st = outcome(&r);
        mem_fail_nth(0);
        if (st.code == CUZK_OK)
            break;
        assert_int_equal(st.code, CUZK_E_NOMEM);
    }
    assert_in_range(n, 2, 999);
    request_free(&r);
    golden_json_free(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* first, while Poseidon constants are still to be made */
        cmocka_unit_test(test_every_failed_allocation_is_reported),
        cmocka_unit_test(test_every_golden_proof_is_accepted),
        cmocka_unit_test(test_bad_inputs_end_as_expected),
        cmocka_unit_test(test_partitions_in_order_and_h),
        cmocka_unit_test(test_truncated_proofs_are_refused),
        cmocka_unit_test(test_flipped_bits_are_refused),
        cmocka_unit_test(test_each_value_is_checked),
        cmocka_unit_test(test_threads_and_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
