/* Every golden C1 is accepted with the right contents; every broken one ends as
 * tests/golden/bad/expect.tsv says. */
#include "golden.h"

#include "fil/porep.h"

static const char *const names[] = {
    "2KiB-V1",        "2KiB-V1_1",           "2KiB-V1_1-b",    "2KiB-V1_1-dup",
    "2KiB-Synthetic", "2KiB-NonInteractive", "4KiB-V1_1",      "16KiB-V1_1",
    "16KiB-11layers", "32KiB-V1_1",          "32KiB-11layers", "8MiB-V1",
    "8MiB-V1_1",      "8MiB-Synthetic",
};

static void assert_same_fr(json_val meta, const char *field, const fr *got)
{
    fr want = get_fr(meta, field);
    if (!fr_eq(&want, got))
        fail_msg("%s differs", field);
}

static void check_inputs(const fil_porep *p, json_val meta)
{
    json_iter parts = items(get(meta, "public_inputs")),
              challenges = items(get(meta, "challenges"));
    json_val list, v;
    fr *in = calloc(fil_porep_n_public(p), sizeof *in);
    assert_non_null(in);
    assert_int_equal(parts.n, p->n_partitions);
    for (uint32_t k = 0; json_next(&parts, &list); k++) {
        json_iter it = items(list);
        assert_int_equal(it.n, fil_porep_n_public(p));
        fil_porep_public_inputs(p, k, in);
        for (size_t i = 0; json_next(&it, &v); i++) {
            uint8_t want[32], got[32];
            val_hex32(want, v);
            fr_to_le(got, &in[i]);
            assert_memory_equal(got, want, 32);
        }
        assert_true(json_next(&challenges, &list));
        it = items(list);
        for (uint32_t i = 0; json_next(&it, &v); i++) {
            uint64_t want;
            assert_ok(json_get_u64(&want, v, UINT64_MAX));
            assert_int_equal(p->partitions[k][i].challenge, want);
        }
    }
    free(in);
}

static void check_one(const char *name, bool wrapped)
{
    char path[128];
    size_t n;
    arena a = {0};
    fil_porep p;
    uint8_t id[32];
    snprintf(path, sizeof path, "porep/%s.meta.json", name);
    json_doc doc = golden_json(path);
    json_val meta = json_root(&doc);
    snprintf(path, sizeof path, "porep/%s.%s.json.gz", name, wrapped ? "wrapped" : "c1");
    char *text = golden_read(path, &n);
    print_message("%s\n", path);
    assert_ok(fil_porep_decode(&p, &a, text, n));
    get_hex32(id, meta, "porep_id");
    assert_memory_equal(p.porep_id, id, 32);
    assert_int_equal(p.layers, get_u64(meta, "layers"));
    assert_int_equal(p.n_partitions, get_u64(meta, "partitions"));
    assert_int_equal(p.n_challenges, get_u64(meta, "challenges_per_partition"));
    assert_int_equal(p.sector->sector_bytes, get_u64(meta, "sector_size"));
    assert_int_equal(p.wrapped, wrapped);
    if (wrapped) {
        assert_int_equal(p.sector_num, get_u64(meta, "sector_id"));
        assert_int_equal(p.wrapper_sector_size, get_u64(meta, "sector_size"));
    }
    fil_porep_context ctx = {.has_miner = true, .has_sector = true};
    ctx.miner = get_u64(meta, "miner_id");
    ctx.sector = get_u64(meta, "sector_id");
    assert_ok(fil_porep_check(&p, &ctx, NULL));
    assert_same_fr(meta, "replica_id", &p.replica_id);
    assert_same_fr(meta, "comm_r", &p.comm_r);
    assert_same_fr(meta, "comm_d", &p.comm_d);
    assert_same_fr(meta, "comm_c", &p.comm_c);
    assert_same_fr(meta, "comm_r_last", &p.comm_r_last);
    check_inputs(&p, meta);
    /* The context decides over the name. */
    ctx.has_porep_id = true;
    memset(ctx.porep_id, 0x7f, 32);
    assert_int_equal(fil_porep_check(&p, &ctx, NULL).code, CUZK_E_INPUT);
    memcpy(ctx.porep_id, id, 32);
    assert_ok(fil_porep_check(&p, &ctx, NULL));
    ctx.sector++;
    assert_int_equal(fil_porep_check(&p, &ctx, NULL).code, CUZK_E_INPUT);
    free(text);
    arena_fini(&a);
    golden_json_free(&doc);
}

static void test_every_golden_c1_is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        check_one(names[i], false);
        check_one(names[i], true);
    }
}

static cuzk_status decode_and_check(const char *text, size_t n, const fil_porep_context *ctx)
{
    arena a = {0};
    fil_porep p;
    /* An exact copy, so that an address sanitizer sees a read past the end. */
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    cuzk_status st = fil_porep_decode(&p, &a, copy, n);
    free(copy);
    if (st.code == CUZK_OK)
        st = fil_porep_check(&p, ctx, NULL);
    arena_fini(&a);
    return st;
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
    for (char *save, *line = strtok_r(list, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        char *tab = strchr(line, '\t'), path[128];
        if (!tab || (strncmp(line, "c1-", 3) != 0 && strncmp(line, "wrapped-", 8) != 0))
            continue;
        *tab = 0;
        bool accept = strstr(tab + 1, "accept") != NULL;
        size_t n;
        snprintf(path, sizeof path, "bad/%s", line);
        char *text = golden_read(path, &n);
        cuzk_status st = decode_and_check(text, n, NULL);
        print_message("%-36s %s %s\n", line, st.code == CUZK_OK ? "accept" : "refuse", st.msg);
        if (st.code != (accept ? CUZK_OK : CUZK_E_INPUT))
            fail_msg("%s: want %s, got %s: %s", line, tab + 1, cuzk_code_name(st.code), st.msg);
        if (strncmp(line, "c1-40", 5) == 0) {
            fil_porep_context ctx = {.has_miner = true, .has_sector = true};
            json_doc doc = golden_json("porep/2KiB-V1_1.meta.json");
            ctx.miner = get_u64(json_root(&doc), "miner_id");
            ctx.sector = get_u64(json_root(&doc), "sector_id");
            golden_json_free(&doc);
            st = decode_and_check(text, n, &ctx);
            assert_int_equal(st.code, CUZK_E_INPUT);
            assert_non_null(strstr(st.msg, "replica_id"));
        }
        free(text);
        n_cases++;
    }
    assert_int_equal(n_cases, 122);
    free(list);
}

/* Messages name the field, what was wanted and what was found. */
static void test_messages_name_the_field(void **state)
{
    (void)state;
    static const struct {
        const char *file, *part;
    } cases[] = {
        {"c1-13-missing-seed", "field \"seed\""},
        {"c1-08-dup-field", "comm_d: expected the field once"},
        {"c1-16-missing-h", ".column: expected field \"_h\""},
        {"c1-17-h-nonnull", ".column._h: expected null, found 5"},
        {"c1-21-byte256", "expected integer 0..255, found 256"},
        {"c1-23-byte-float", "expected integer 0..255, found 1.0"},
        {"c1-98-minus0", "expected integer 0..255, found -0"},
        {"c1-19-comm31", "comm_r: expected an array of 32 elements, found 31"},
        {"c1-26-comm_r-noncanonical", "comm_r: expected a field element below r"},
        {"c1-33-flip-label", "c_x"},
        {"c1-36-flip-path", "comm_r_last_proof"},
        {"c1-39-flip-seed", "vanilla_proofs[0][0].labeling_proofs[0].node: expected challenge"},
        {"c1-41-flip-root", "comm_r_last_proof.root"},
        {"c1-42-flip-parent-root", "exp_parents["},
        {"c1-45-flip-labelparents", "labeling_proofs[0].parents[3]"},
        {"c1-46-flip-encparents", "encoding_proof.parents[3]"},
        {"c1-49-five-drg", "drg_parents: expected an array of 6 elements, found 5"},
        {"c1-69-index8", ".index: expected integer 0..7, found 8"},
        {"c1-75-reg-unknown",
         "registered_proof: expected a registered seal proof, found \"StackedDrg2KiBV9\""},
        {"c1-87-seed-zero", "seed: expected a seed that is not all zero"},
        {"c1-92-colindex", "c_x.column.index"},
        {"c1-104-parent-index-field", "drg_parents[0].column.index"},
        {"wrapped-09-case", "Phase1Out"},
        {"wrapped-15-u64over",
         "SectorNum: expected integer 0..18446744073709551615, found 18446744073709551616"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char path[128];
        size_t n;
        snprintf(path, sizeof path, "bad/%s.json.gz", cases[i].file);
        char *text = golden_read(path, &n);
        cuzk_status st = decode_and_check(text, n, NULL);
        if (!strstr(st.msg, cases[i].part))
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].file, st.msg, cases[i].part);
        free(text);
    }
}

static void test_truncated_c1_is_refused(void **state)
{
    (void)state;
    static const char *const files[] = {"porep/2KiB-V1_1.c1.json.gz",
                                        "porep/2KiB-V1_1.wrapped.json.gz"};
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        size_t n;
        char *text = golden_read(files[f], &n);
        while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
            n--;
        for (size_t cut = 0; cut < n; cut += cut < 300 || n - cut < 300 ? 1 : 1009) {
            cuzk_status st = decode_and_check(text, cut, NULL);
            if (st.code != CUZK_E_INPUT)
                fail_msg("%s cut at %zu: %s", files[f], cut, cuzk_code_name(st.code));
        }
        free(text);
    }
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

/* A flipped bit that is accepted must have left every value as it was: only the ticket (which a C1
 * alone cannot prove), the name of the API version when graph and challenges are the same, or the
 * wrapper's informative numbers may differ. */
static void test_flipped_bits_are_refused_or_harmless(void **state)
{
    (void)state;
    uint64_t seed = 0x9e3779b97f4a7c15u, rng = seed;
    size_t n;
    char *text = golden_read("porep/2KiB-V1_1.c1.json.gz", &n);
    arena a = {0}, b = {0};
    fil_porep good;
    unsigned n_ok = 0;
    assert_ok(fil_porep_decode(&good, &a, text, n));
    fr want[FIL_POREP_INPUTS(2)], got[FIL_POREP_INPUTS(2)];
    fil_porep_public_inputs(&good, 0, want);
    for (unsigned i = 0; i < 1500; i++) {
        size_t pos = next_random(&rng) % n;
        unsigned bit = next_random(&rng) % 8;
        text[pos] = (char)(text[pos] ^ 1 << bit);
        fil_porep p;
        cuzk_status st = fil_porep_decode(&p, &b, text, n);
        if (st.code == CUZK_OK)
            st = fil_porep_check(&p, NULL, NULL);
        if (st.code == CUZK_OK) {
            n_ok++;
            fil_porep_public_inputs(&p, 0, got);
            if (memcmp(want, got, sizeof want) != 0 || memcmp(good.seed, p.seed, 32) != 0 ||
                memcmp(good.porep_id, p.porep_id, 32) != 0)
                fail_msg("seed %lx: byte %zu bit %u changes the meaning", seed, pos, bit);
        } else if (st.code != CUZK_E_INPUT) {
            fail_msg("seed %lx: byte %zu bit %u: %s", seed, pos, bit, st.msg);
        }
        text[pos] = (char)(text[pos] ^ 1 << bit);
        arena_reset(&b);
    }
    print_message("%u of 1500 flips were harmless\n", n_ok);
    assert_true(n_ok < 100);
    arena_fini(&a);
    arena_fini(&b);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_golden_c1_is_accepted),
        cmocka_unit_test(test_bad_inputs_end_as_expected),
        cmocka_unit_test(test_messages_name_the_field),
        cmocka_unit_test(test_truncated_c1_is_refused),
        cmocka_unit_test(test_flipped_bits_are_refused_or_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
