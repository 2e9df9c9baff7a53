/* Every golden PoSt proof is accepted with the right public inputs; every broken one ends as
 * tests/golden/bad/expect.tsv says. */
#include "golden.h"

#include "base/mem.h"
#include "fil/post.h"

static const char *const names[] = {
    "winning-2KiB",
    "winning-4KiB",
    "winning-16KiB",
    "winning-32KiB",
    "winning-8MiB",
    "window-2KiB-V1_1-1sector",
    "window-2KiB-V1_1-2sectors",
    "window-2KiB-V1_1-3sectors",
    "window-2KiB-V1_2-1sector",
    "window-2KiB-V1_2-2sectors",
    "window-2KiB-V1_2-3sectors",
    "window-8MiB-V1_1-1sector",
    "window-8MiB-V1_1-2sectors",
    "window-8MiB-V1_1-3sectors",
    "window-8MiB-V1_2-1sector",
    "window-8MiB-V1_2-2sectors",
    "window-8MiB-V1_2-3sectors",
    "window-4KiB-V1_2-2sectors",
    "window-16KiB-V1_2-2sectors",
    "window-32KiB-V1_2-2sectors",
};

#define MAX_FILES 3
/* A request: files of exactly their length, so that an address sanitizer sees a read past the
 * end. */
typedef struct request {
    fil_post_proof proof;
    fil_post_context ctx;
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

static cuzk_status decode_and_check(fil_post *p, arena *a, const request *r, const run_ctx *rc)
{
    cuzk_status st =
        fil_post_decode(p, a, &r->proof, (const uint8_t *const *)r->files, r->lens, r->n);
    return st.code == CUZK_OK ? fil_post_check(p, &r->ctx, rc) : st;
}

static cuzk_status outcome(const request *r)
{
    arena a = {0};
    fil_post p;
    cuzk_status st = decode_and_check(&p, &a, r, NULL);
    arena_fini(&a);
    return st;
}

static json_doc load(request *r, const char *name)
{
    char path[160];
    json_val v;
    snprintf(path, sizeof path, "post/%s.meta.json", name);
    json_doc doc = golden_json(path);
    json_val meta = json_root(&doc);
    *r = (request){0};
    r->proof = fil_post_proof_unregistered(
        strncmp(name, "winning", 7) == 0 ? FIL_POST_WINNING : FIL_POST_WINDOW,
        get_u64(meta, "sector_size"), strstr(name, "V1_2") != NULL);
    get_hex32(r->ctx.randomness, meta, "randomness");
    get_hex32(r->ctx.prover_id, meta, "prover_id");
    for (json_iter it = items(get(meta, "sectors")); json_next(&it, &v);) {
        get_str(path, sizeof path, v, "file");
        add_file(r, path);
    }
    return doc;
}

static void check_inputs(const fil_post *p, json_val meta)
{
    json_iter parts = items(get(meta, "public_inputs"));
    json_val list, v;
    size_t n = fil_post_n_public(p);
    fr *in = calloc(n, sizeof *in), *derived = calloc(n, sizeof *in);
    uint64_t ids[MAX_FILES];
    fr comm_r[MAX_FILES];
    assert_non_null(in);
    assert_non_null(derived);
    for (uint32_t i = 0; i < p->n_sectors; i++) {
        ids[i] = p->sectors[i].sector_id;
        comm_r[i] = p->sectors[i].comm_r;
    }
    fil_post_statement s = {
        .proof = p->proof, .sector_ids = ids, .comm_r = comm_r, .n_sectors = p->n_sectors};
    memcpy(s.randomness, p->randomness, 32);
    assert_int_equal(parts.n, p->n_partitions);
    for (uint32_t k = 0; json_next(&parts, &list); k++) {
        json_iter it = items(list);
        assert_int_equal(it.n, n);
        fil_post_public_inputs(p, k, in);
        fil_post_statement_inputs(derived, &s, k);
        assert_memory_equal(in, derived, n * sizeof *in);
        for (size_t i = 0; json_next(&it, &v); i++) {
            uint8_t want[32], got[32];
            val_hex32(want, v);
            fr_to_le(got, &in[i]);
            assert_memory_equal(got, want, 32);
        }
    }
    free(derived);
    free(in);
}

static void check_sectors(const fil_post *p, json_val meta)
{
    json_iter sectors = items(get(meta, "sectors")), aux = {0}, it;
    json_val v, x;
    bool has_aux = json_member(&x, meta, "aux");
    if (has_aux)
        aux = items(x);
    assert_int_equal(sectors.n, p->n_sectors);
    for (uint32_t i = 0; json_next(&sectors, &v); i++) {
        const fil_post_sector *s = &p->sectors[i];
        fr comm_r = get_fr(v, "comm_r");
        assert_int_equal(s->sector_id, get_u64(v, "sector_id"));
        assert_true(fr_eq(&s->comm_r, &comm_r));
        if (has_aux) {
            assert_true(json_next(&aux, &x));
            fr comm_c = get_fr(x, "comm_c"), comm_r_last = get_fr(x, "comm_r_last");
            assert_true(fr_eq(&s->comm_c, &comm_c));
            assert_true(fr_eq(&s->comm_r_last, &comm_r_last));
        }
        it = items(get(v, "challenges"));
        assert_int_equal(it.n, s->n_inclusion);
        for (uint32_t c = 0; json_next(&it, &x); c++) {
            uint64_t want;
            assert_ok(json_get_u64(&want, x, UINT64_MAX));
            assert_int_equal(fil_path_index(&s->inclusion[c]), want);
        }
    }
}

static void check_layout(const fil_post *p, json_val layout)
{
    json_iter parts = items(layout);
    json_val part, slot;
    for (uint32_t k = 0; json_next(&parts, &part); k++) {
        json_iter slots = items(get(part, "slots"));
        assert_int_equal(slots.n, p->sectors_per_partition);
        for (uint32_t j = 0; json_next(&slots, &slot); j++) {
            uint64_t want;
            assert_ok(json_get_u64(&want, slot, p->n_sectors - 1));
            assert_ptr_equal(fil_post_slot(p, k, j), &p->sectors[want]);
        }
    }
}

static void test_every_golden_proof_is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        request r;
        arena a = {0};
        fil_post p;
        json_val layout;
        print_message("%s\n", names[i]);
        json_doc doc = load(&r, names[i]);
        json_val meta = json_root(&doc);
        assert_ok(decode_and_check(&p, &a, &r, NULL));
        assert_int_equal(p.sectors_per_partition, get_u64(meta, "circuit_sectors_per_partition"));
        assert_int_equal(p.challenges, get_u64(meta, "circuit_challenges_per_sector"));
        assert_int_equal(p.n_partitions, get_u64(meta, "partitions"));
        check_sectors(&p, meta);
        check_inputs(&p, meta);
        if (json_member(&layout, meta, "partition_layout"))
            check_layout(&p, layout);
        arena_fini(&a);
        request_free(&r);
        golden_json_free(&doc);
    }
}

/* What the request says in the cases whose fault is not in the file; numbers and values are those
 * of tests/golden/bad/README. */
static void set_context(request *r, unsigned number)
{
    static const char window_randomness[] =
        "e63a5485bd7f7a708dcc808ba02b38e32bbe9fc7f2b6bb644cfad2e9fda9950b",
                      winning_randomness[] =
                          "4e73be9c22a61e09567a1a1ed9f9e79c08cdacf3e94a7f0f9a497ac23d49f021",
                      prover_id[] =
                          "83d5c10100000000000000000000000000000000000000000000000000000000";
    bool winning = number >= 34 && number <= 40;
    assert_true(
        hex_decode(r->ctx.randomness, 32, winning ? winning_randomness : window_randomness, 64));
    assert_true(hex_decode(r->ctx.prover_id, 32, prover_id, 64));
    const char *name =
        winning && number != 40 ? "StackedDrgWinning2KiBV1" : "StackedDrgWindow2KiBV1_2";
    if (number == 33)
        name = "StackedDrgWindow2KiBV1";
    r->proof = *fil_post_proof_by_name(name);
    if (number == 29)
        memset(r->ctx.randomness, 0xff, 32);
    if (number == 30)
        r->ctx.randomness[5] ^= 1;
    if (number == 31)
        memset(r->ctx.prover_id, 0xff, 32);
    if (number == 32)
        r->ctx.prover_id[1] ^= 0x55;
}

/* Part of the message of each refused case. */
static const struct {
    unsigned number;
    const char *part;
} messages[] = {
    {2, "vanilla_proofs[0].sector_id: expected 8 bytes at offset 0, found the end after 0"},
    {3, "vanilla_proofs[0].sectors[0].comm_r_last: expected 32 bytes at offset 5648, found the end "
        "after 31"},
    {5, "vanilla_proofs[0].sectors[0].inclusion_proofs[0].path[].index: expected the digits of "
        "challenge"},
    {6, "vanilla_proofs[0].comm_r: expected Poseidon(comm_c, comm_r_last) ="},
    {7, "vanilla_proofs[0].comm_r: expected a field element below r, found 01000000ffffffff"},
    {8, "vanilla_proofs[0].sectors: expected 1 element, found 0"},
    {10, "vanilla_proofs[0].sectors[0].inclusion_proofs: expected 10 elements, found 9"},
    {11, "vanilla_proofs[0].sectors[0].inclusion_proofs: expected 10 elements, found 11"},
    {12, "vanilla_proofs[0].sectors[0].inclusion_proofs: expected 10 elements, found 0"},
    {13, "inclusion_proofs: expected 10 elements, found 9223372036854775808"},
    {14, "inclusion_proofs: expected 10 elements, found 1099511627776"},
    {15, "inclusion_proofs[0].path[0].hashes: expected 7 elements, found 2305843009213693952"},
    {16, "inclusion_proofs[0].base_proof: expected 2 elements"},
    {17, "inclusion_proofs[0].variant: expected 0 (Single), 1 (Sub) or 2 (Top), found 7"},
    {18, "path[0].index: expected integer 0..7, found 8"},
    {19, "path[0].index: expected integer 0..7, found 18446744073709551615"},
    {20, "inclusion_proofs[0].path[0].hashes[0]: expected a field element below r"},
    {21, ".leaf: expected a field element below r, found ffffffff"},
    {22, "inclusion_proofs[0].path[].hashes: expected siblings that lead from leaf to root"},
    {23, "inclusion_proofs[1].root: expected comm_r_last"},
    {24, "vanilla_proofs[0].comm_r: expected Poseidon(comm_c, comm_r_last) ="},
    {25, "vanilla_proofs[0].comm_r: expected Poseidon(comm_c, comm_r_last) ="},
    {28, "inclusion_proofs[0].path[].index: expected the digits of challenge"},
    {29, "randomness: expected a field element below r"},
    {30, "inclusion_proofs[0].path[].index: expected the digits of challenge"},
    {31, "prover_id: expected a field element below r"},
    {33, "vanilla_proofs[1].sectors[0].inclusion_proofs[0].path[].index: expected the digits of "
         "challenge"},
    {35, "vanilla_proofs: expected one for a WinningPoSt, found 2"},
    {36, "inclusion_proofs: expected 66 elements, found 10"},
    {37, "inclusion_proofs: expected 66 elements, found 10"},
    {38, "inclusion_proofs: expected 66 elements, found 67"},
    {39, "inclusion_proofs[40].path[].hashes: expected siblings that lead from leaf to root"},
    {40, "inclusion_proofs: expected 10 elements, found 66"},
    {41, "inclusion_proofs[3].path: expected 2 elements, found 3"},
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
        if (sscanf(line, "post-%u", &number) != 1)
            continue;
        char *tab = strchr(line, '\t'), path[128];
        assert_non_null(tab);
        snprintf(path, sizeof path, "bad/%.*s", (int)(tab - line), line);
        add_file(&r, path);
        if (next && sscanf(next, "post-%u", &next_number) == 1 && next_number == number)
            continue; /* a case of several files */
        set_context(&r, number);
        bool accept = strstr(tab + 1, "accept") != NULL;
        cuzk_status st = outcome(&r);
        if (st.code != (accept ? CUZK_OK : CUZK_E_INPUT))
            fail_msg("%s: want %s, got %s: %s", line, tab + 1, cuzk_code_name(st.code), st.msg);
        if (!accept)
            check_message(number, st.msg);
        request_free(&r);
        n_cases++;
    }
    assert_int_equal(n_cases, 41);
    free(list);
    /* The case without a file. */
    set_context(&r, 1);
    cuzk_status st = outcome(&r);
    assert_int_equal(st.code, CUZK_E_INPUT);
    assert_string_equal(st.msg, "vanilla_proofs: expected at least one, found none");
}

static void test_claims_are_compared(void **state)
{
    (void)state;
    request r;
    json_doc doc = load(&r, "window-2KiB-V1_1-3sectors");
    uint64_t ids[4] = {0};
    fr comm_r[4];
    json_val v;
    json_iter it = items(get(json_root(&doc), "sectors"));
    for (uint32_t i = 0; json_next(&it, &v); i++) {
        ids[i] = get_u64(v, "sector_id");
        comm_r[i] = get_fr(v, "comm_r");
    }
    r.ctx.sector_ids = ids;
    r.ctx.comm_r = comm_r;
    r.ctx.n_claims = 3;
    assert_ok(outcome(&r));
    ids[1]++;
    assert_string_equal(outcome(&r).msg,
                        "vanilla_proofs[1].sector_id: expected the request's 2335, found 2334");
    ids[1]--;
    comm_r[2] = comm_r[0];
    assert_non_null(
        strstr(outcome(&r).msg,
               "vanilla_proofs[2].comm_r: expected the request's 444832b8c8fd6f5c..., found 243c"));
    r.ctx.comm_r = NULL;
    r.ctx.n_claims = 4;
    assert_string_equal(outcome(&r).msg, "vanilla_proofs: expected 4, one per sector, found 3");
    request_free(&r);
    golden_json_free(&doc);
}

static void cut_everywhere(const char *name, size_t step)
{
    request r, cut;
    json_doc doc = load(&r, name);
    uint32_t last = r.n - 1;
    cut = r;
    for (size_t n = 0; n < r.lens[last]; n += n < 400 || r.lens[last] - n < 400 ? 1 : step) {
        cut.files[last] = malloc(n ? n : 1);
        assert_non_null(cut.files[last]);
        memcpy(cut.files[last], r.files[last], n);
        cut.lens[last] = n;
        cuzk_status st = outcome(&cut);
        free(cut.files[last]);
        if (st.code != CUZK_E_INPUT || !strstr(st.msg, "vanilla_proofs["))
            fail_msg("%s cut at %zu: %s: %s", name, n, cuzk_code_name(st.code), st.msg);
    }
    request_free(&r);
    golden_json_free(&doc);
}

static void test_truncated_proofs_are_refused(void **state)
{
    (void)state;
    cut_everywhere("window-2KiB-V1_2-2sectors", 1);
    cut_everywhere("window-16KiB-V1_2-2sectors", 1); /* Sub */
    cut_everywhere("window-32KiB-V1_2-2sectors", 1); /* Top */
    cut_everywhere("winning-8MiB", 101);
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
    static const char *const files[] = {"window-2KiB-V1_2-2sectors", "window-32KiB-V1_2-2sectors",
                                        "winning-2KiB"};
    uint64_t seed = 0x9e3779b97f4a7c15u, rng = seed;
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        request r;
        json_doc doc = load(&r, files[f]);
        for (unsigned i = 0; i < 500; i++) {
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

/* A count of inner sectors is believed only as far as bytes follow, and they must all be the
 * same. */
static void test_repeated_inner_sectors(void **state)
{
    (void)state;
    request r;
    json_doc doc = load(&r, "window-2KiB-V1_2-1sector");
    size_t head = 8 + 32, one = r.lens[0] - head - 8, n = head + 8 + 3 * one;
    uint8_t *file = malloc(n);
    assert_non_null(file);
    memcpy(file, r.files[0], head + 8);
    for (unsigned i = 0; i < 3; i++)
        memcpy(file + head + 8 + i * one, r.files[0] + head + 8, one);
    free(r.files[0]);
    r.files[0] = file;
    r.lens[0] = n;
    store_le64(file + head, 3);
    assert_ok(outcome(&r));
    store_le64(file + head, 4);
    assert_string_equal(
        outcome(&r).msg,
        "vanilla_proofs[0].sectors: expected 1 element, found 4, and 11264 more bytes");
    store_le64(file + head, UINT64_MAX);
    assert_int_equal(outcome(&r).code, CUZK_E_INPUT);
    store_le64(file + head, 3);
    file[n - 1] ^= 1;
    assert_string_equal(
        outcome(&r).msg,
        "vanilla_proofs[0].sectors[2]: expected the same as sectors[0], found another sector");
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
    fil_post p;
    assert_ok(pool_create(&threads, 5));
    json_doc doc = load(&r, "winning-8MiB");
    run_ctx rc = {.pool = threads};
    assert_ok(decode_and_check(&p, &a, &r, &rc));
    /* Two faults: the first one is told, whoever finds the other first. */
    fr_add(&p.sectors[0].inclusion[50].leaf, &p.sectors[0].inclusion[50].leaf, &FR_ONE);
    fr_add(&p.sectors[0].inclusion[17].leaf, &p.sectors[0].inclusion[17].leaf, &FR_ONE);
    for (unsigned i = 0; i < 20; i++) {
        cuzk_status st = fil_post_check(&p, &r.ctx, &rc);
        assert_int_equal(st.code, CUZK_E_INPUT);
        assert_non_null(strstr(st.msg, "inclusion_proofs[17].path[].hashes"));
    }
    rc.cancelled = always;
    assert_int_equal(fil_post_check(&p, &r.ctx, &rc).code, CUZK_E_CANCELLED);
    arena_fini(&a);
    request_free(&r);
    golden_json_free(&doc);
    pool_destroy(threads);
}

static void test_every_failed_allocation_is_reported(void **state)
{
    (void)state;
    request r;
    json_doc doc = load(&r, "window-2KiB-V1_1-3sectors");
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
        cmocka_unit_test(test_claims_are_compared),
        cmocka_unit_test(test_truncated_proofs_are_refused),
        cmocka_unit_test(test_flipped_bits_are_refused),
        cmocka_unit_test(test_repeated_inner_sectors),
        cmocka_unit_test(test_threads_and_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
