/* PoSt challenges, names, layouts and public inputs of all registered proofs against
 * tests/golden/vectors.json.gz. */
#include "golden.h"

#include "fil/post.h"
#include "hash/sha256.h"

static json_doc vectors;

static json_val group(const char *name) { return get(json_root(&vectors), name); }

static uint64_t val_u64(json_val v)
{
    uint64_t out;
    assert_ok(json_get_u64(&out, v, UINT64_MAX));
    return out;
}

static void check_sector_challenges(const fil_post_proof *p, const uint8_t randomness[32],
                                    uint32_t idx, uint64_t id, json_val challenges)
{
    json_iter it = items(challenges);
    json_val v;
    for (uint32_t k = 0; json_next(&it, &v); k++) {
        uint64_t n = fil_post_challenge_index(p, idx, k);
        assert_int_equal(fil_post_challenge(randomness, id, n, p->sector_bytes / 32), val_u64(v));
    }
}

static void test_leaf_challenges(void **state)
{
    (void)state;
    json_val v, s;
    unsigned n = 0;
    for (json_iter it = items(get(group("c_post_challenges"), "leaf")); json_next(&it, &v); n++) {
        char kind[32];
        uint8_t randomness[32];
        get_str(kind, sizeof kind, v, "kind");
        get_hex32(randomness, v, "randomness");
        fil_post_proof p = fil_post_proof_unregistered(
            strncmp(kind, "winning", 7) == 0 ? FIL_POST_WINNING : FIL_POST_WINDOW,
            get_u64(v, "sector_size"), strstr(kind, "V1_2") != NULL);
        json_iter sectors = items(get(v, "sectors"));
        for (uint32_t i = 0; json_next(&sectors, &s); i++)
            check_sector_challenges(&p, randomness, i, get_u64(s, "id"), get(s, "challenges"));
        json_val by_index;
        if (!json_member(&by_index, v, "by_index"))
            continue;
        for (sectors = items(by_index); json_next(&sectors, &s);)
            check_sector_challenges(&p, randomness, (uint32_t)get_u64(s, "global_sector_index"),
                                    get_u64(s, "sector_id"), get(s, "challenges"));
    }
    assert_int_equal(n, 30);
}

static void test_winning_sector(void **state)
{
    (void)state;
    json_val v, x;
    unsigned n = 0;
    for (json_iter it = items(get(group("c_post_challenges"), "winning_sector"));
         json_next(&it, &v); n++) {
        uint8_t randomness[32], prover_id[32];
        get_hex32(randomness, v, "randomness");
        get_hex32(prover_id, v, "prover_id");
        json_iter results = items(get(v, "result"));
        for (uint64_t i = 0; json_next(&results, &x); i++)
            assert_int_equal(
                fil_winning_sector(prover_id, randomness, i, get_u64(v, "sector_set_len")),
                val_u64(x));
    }
    assert_int_equal(n, 35);
}

static void test_registered_proofs(void **state)
{
    (void)state;
    json_val v;
    uint32_t n = 0;
    for (json_iter it = items(get(group("f_identifiers"), "registered_post")); json_next(&it, &v);
         n++) {
        char name[64], version[16];
        uint32_t sectors, challenges;
        get_str(name, sizeof name, v, "name");
        get_str(version, sizeof version, v, "api_version");
        const fil_post_proof *p = fil_post_proof_by_name(name);
        assert_non_null(p);
        assert_ptr_equal(fil_post_proof_by_id((uint32_t)get_u64(v, "number")), p);
        assert_int_equal(p->id, get_u64(v, "number"));
        assert_int_equal(p->sector_bytes, get_u64(v, "sector_size"));
        assert_int_equal(p->kind, strstr(name, "Winning") ? FIL_POST_WINNING : FIL_POST_WINDOW);
        assert_int_equal(p->v1_2, strcmp(version, "1.2.0") == 0);
        fil_post_layout(p, &sectors, &challenges);
        /* The API counts a WinningPoSt as one sector with 66 challenges. */
        bool winning = p->kind == FIL_POST_WINNING;
        assert_int_equal(get_u64(v, "sector_count"), winning ? 1 : sectors);
        assert_int_equal(get_u64(v, "challenge_count"),
                         winning ? sectors * challenges : challenges);
    }
    assert_int_equal(n, 15);
    assert_null(fil_post_proof_by_id(n));
    assert_null(fil_post_proof_by_name("StackedDrgWindow2KiB"));
    fil_post_proof p = fil_post_proof_unregistered(FIL_POST_WINDOW, 4096, true);
    assert_int_equal(p.id, FIL_POST_UNREGISTERED);
}

static void test_key_file_names(void **state)
{
    (void)state;
    json_val v;
    unsigned n = 0;
    char stem[200], want[200], kind[16];
    for (json_iter it = items(get(group("f_identifiers"), "post")); json_next(&it, &v); n++) {
        get_str(want, sizeof want, v, "params");
        get_str(kind, sizeof kind, v, "kind");
        fil_post_proof p = fil_post_proof_unregistered(
            strcmp(kind, "winning") == 0 ? FIL_POST_WINNING : FIL_POST_WINDOW,
            get_u64(v, "sector_size"), false);
        fil_post_param_stem(stem, &p);
        assert_memory_equal(want, stem, strlen(stem));
        assert_string_equal(want + strlen(stem), ".params");
    }
    assert_int_equal(n, 20);
    fil_post_proof p = fil_post_proof_unregistered(FIL_POST_WINDOW, 12345, false);
    fil_post_param_stem(stem, &p);
    assert_string_equal(stem, "");
}

/* The set of sectors of a vector: their ids follow a rule; their comm_r are only known where a head
 * or tail shows them. */
typedef struct sector_set {
    uint32_t n;
    uint64_t *ids;
    fr *comm_r;
    bool *known;
} sector_set;

/* Visit the values shown at in[first..]; take commitments from them or compare all. in NULL:
 * take. */
static void visit(sector_set *s, const fil_post_proof *p, uint32_t k, size_t first, json_val values,
                  const fr *in)
{
    uint32_t sectors, challenges;
    json_iter it = items(values);
    json_val v;
    fil_post_layout(p, &sectors, &challenges);
    for (size_t i = first; json_next(&it, &v); i++) {
        fr want;
        if (json_val_kind(v) == JSON_STRING) {
            uint8_t b[32];
            val_hex32(b, v);
            assert_true(fr_from_le(&want, b));
            size_t at =
                p->kind == FIL_POST_WINNING ? 0 : (size_t)k * sectors + i / (1 + challenges);
            assert_int_equal(i % (1 + challenges), 0);
            at = at < s->n ? at : s->n - 1;
            s->comm_r[at] = want;
            s->known[at] = true;
        } else {
            fr_from_u64(&want, val_u64(v));
        }
        if (in)
            assert_true(fr_eq(&in[i], &want));
    }
}

static bool all_known(const sector_set *s, const fil_post_proof *p, uint32_t k)
{
    uint32_t sectors, challenges;
    fil_post_layout(p, &sectors, &challenges);
    for (size_t i = (size_t)k * sectors; i < s->n && i < ((size_t)k + 1) * sectors; i++)
        if (!s->known[i])
            return false;
    return true;
}

static unsigned check_case(json_val v)
{
    char name[64];
    get_str(name, sizeof name, v, "registered");
    fil_post_statement s = {.proof = *fil_post_proof_by_name(name),
                            .n_sectors = (uint32_t)get_u64(v, "sector_count")};
    get_hex32(s.randomness, v, "randomness");
    size_t n = get_u64(v, "inputs_per_partition");
    uint32_t sectors, challenges, n_parts = (uint32_t)get_u64(v, "partitions");
    fil_post_layout(&s.proof, &sectors, &challenges);
    assert_int_equal(n, FIL_POST_INPUTS(sectors, challenges));
    assert_int_equal(n_parts, (s.n_sectors + sectors - 1) / sectors);
    sector_set set = {s.n_sectors, calloc(s.n_sectors, sizeof *set.ids),
                      calloc(s.n_sectors, sizeof *set.comm_r),
                      calloc(s.n_sectors, sizeof *set.known)};
    fr *in = calloc(n, sizeof *in);
    assert_true(set.ids && set.comm_r && set.known && in);
    for (uint32_t i = 0; i < set.n; i++)
        set.ids[i] = 1000 + 3 * (uint64_t)i;
    s.sector_ids = set.ids;
    s.comm_r = set.comm_r;
    unsigned n_hashed = 0;
    for (int compare = 0; compare < 2; compare++) {
        json_iter heads = items(get(v, "head")), tails = items(get(v, "tail")),
                  digests = items(get(v, "sha256_per_partition"));
        json_val head, tail, digest;
        for (uint32_t k = 0; k < n_parts; k++) {
            assert_true(json_next(&heads, &head) && json_next(&tails, &tail) &&
                        json_next(&digests, &digest));
            if (compare)
                fil_post_statement_inputs(in, &s, k);
            visit(&set, &s.proof, k, 0, head, compare ? in : NULL);
            visit(&set, &s.proof, k, n - items(tail).n, tail, compare ? in : NULL);
            if (!compare || !all_known(&set, &s.proof, k))
                continue;
            uint8_t want[32], got[32], b[32];
            sha256_ctx c;
            sha256_init(&c);
            for (size_t i = 0; i < n; i++) {
                fr_to_le(b, &in[i]);
                sha256_update(&c, b, 32);
            }
            sha256_final(&c, got);
            val_hex32(want, digest);
            assert_memory_equal(got, want, 32);
            n_hashed++;
        }
    }
    free(in);
    free(set.known);
    free(set.comm_r);
    free(set.ids);
    return n_hashed;
}

static void test_public_inputs(void **state)
{
    (void)state;
    json_val v;
    unsigned n = 0, n_hashed = 0;
    for (json_iter it = items(get(group("h_post_inputs"), "cases")); json_next(&it, &v); n++)
        n_hashed += check_case(v);
    print_message("%u cases, %u whole partitions\n", n, n_hashed);
    assert_int_equal(n, 53);
    assert_in_range(n_hashed, 50, 70);
}

static int setup(void **state)
{
    (void)state;
    vectors = golden_json("vectors.json.gz");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    golden_json_free(&vectors);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaf_challenges),   cmocka_unit_test(test_winning_sector),
        cmocka_unit_test(test_registered_proofs), cmocka_unit_test(test_key_file_names),
        cmocka_unit_test(test_public_inputs),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
