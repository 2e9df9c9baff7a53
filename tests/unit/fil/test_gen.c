/* Generated inputs of the small sizes pass the vanilla checks, are a function of the seed, and bad
 * requests are refused. */
#include "gen_test.h"

static const run_ctx alone;

static const fil_sector *sector(const char *name)
{
    const fil_sector *s = fil_sector_by_name(name);
    assert_non_null(s);
    return s;
}

static bool is_small(uint64_t bytes) { return bytes <= 32 << 10; }

static void test_small_porep_of_every_version_is_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIL_N_SECTORS; i++)
        for (unsigned v = 0; is_small(FIL_SECTORS[i].sector_bytes) && v < FIL_N_SEAL_VERSIONS; v++)
            check_gen_porep(&GEN_ID, &FIL_SECTORS[i], (fil_seal_version)v, i % 2 == v % 2, &alone);
}

/* Few nodes and many challenges: nodes are challenged twice, are parents of each other, and node 0
 * is a parent. */
static void test_porep_is_right_for_many_seeds(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        const fil_gen_id id = {.seed = seed, .miner = seed * 1000, .sector = UINT64_MAX - seed};
        for (unsigned v = 0; v < FIL_N_SEAL_VERSIONS; v++)
            check_gen_porep(&id, sector("2KiB"), (fil_seal_version)v, false, &alone);
    }
}

static void test_small_post_of_every_kind_is_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIL_N_SECTORS; i++) {
        uint64_t bytes = FIL_SECTORS[i].sector_bytes;
        if (!is_small(bytes))
            continue;
        const fil_post_proof dev[] = {fil_post_proof_unregistered(FIL_POST_WINNING, bytes, false),
                                      fil_post_proof_unregistered(FIL_POST_WINDOW, bytes, false),
                                      fil_post_proof_unregistered(FIL_POST_WINDOW, bytes, true)};
        check_gen_post(&GEN_ID, &dev[0], 1, &alone);
        for (uint32_t n = 1; n <= 5; n++)
            for (size_t k = 1; k < ARRAY_LEN(dev); k++)
                check_gen_post(&GEN_ID, &dev[k], n, &alone);
    }
    check_gen_post(&GEN_ID, fil_post_proof_by_name("StackedDrgWinning2KiBV1"), 1, &alone);
    check_gen_post(&GEN_ID, fil_post_proof_by_name("StackedDrgWindow2KiBV1_2"), 3, &alone);
}

static void test_small_update_is_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIL_N_UPDATE_CONFIGS; i++)
        if (is_small(FIL_UPDATE_CONFIGS[i].sector_bytes))
            check_gen_update(&GEN_ID, &FIL_UPDATE_CONFIGS[i], &alone);
}

/* Same seed, same bytes, whatever the threads; any other seed, miner or sector number: other
 * bytes. */
static void test_bytes_follow_from_the_seed(void **state)
{
    (void)state;
    const fil_gen_id changed[] = {{8, 1234, 42}, {7, 1235, 42}, {7, 1234, 43}};
    const fil_post_proof *window = fil_post_proof_by_name("StackedDrgWindow2KiBV1_2");
    const fil_update_config *c = fil_update_config_by_bytes(2 << 10);
    run_ctx three = {0};
    assert_ok(pool_create(&three.pool, 3));
    gen_digest porep = check_gen_porep(&GEN_ID, sector("2KiB"), FIL_SEAL_V1_1, false, &alone);
    gen_digest ni = check_gen_porep(&GEN_ID, sector("2KiB"), FIL_SEAL_NI, false, &alone);
    gen_digest post = check_gen_post(&GEN_ID, window, 5, &alone);
    gen_digest update = check_gen_update(&GEN_ID, c, &alone);
    assert_true(
        digest_eq(porep, check_gen_porep(&GEN_ID, sector("2KiB"), FIL_SEAL_V1_1, false, &three)));
    assert_true(
        digest_eq(ni, check_gen_porep(&GEN_ID, sector("2KiB"), FIL_SEAL_NI, false, &three)));
    assert_true(digest_eq(post, check_gen_post(&GEN_ID, window, 5, &three)));
    assert_true(digest_eq(update, check_gen_update(&GEN_ID, c, &three)));
    for (size_t i = 0; i < ARRAY_LEN(changed); i++) {
        const fil_gen_id *id = &changed[i];
        bool other_miner_only = id->seed == GEN_ID.seed && id->sector == GEN_ID.sector;
        assert_false(
            digest_eq(porep, check_gen_porep(id, sector("2KiB"), FIL_SEAL_V1_1, false, &alone)));
        /* The miner is in no PoSt or SnapDeals proof. */
        assert_int_equal(digest_eq(post, check_gen_post(id, window, 5, &alone)), other_miner_only);
        assert_int_equal(digest_eq(update, check_gen_update(id, c, &alone)), other_miner_only);
    }
    pool_destroy(three.pool);
}

static void test_sealed_columns_of_an_opened_node_agree(void **state)
{
    (void)state;
    arena a = {0};
    fil_porep p;
    size_t n_shared = 0;
    assert_ok(fil_gen_porep(&p, &a, &GEN_ID, sector("2KiB"), FIL_SEAL_NI, NULL));
    /* Really sealed: wherever a challenged node is also a parent, its column is the same. 26
     * challenges of 64 nodes make that sure. */
    for (uint32_t i = 0; i < p.n_partitions * p.n_challenges; i++) {
        const fil_column *own = &p.partitions[i / p.n_challenges][i % p.n_challenges].c_x;
        for (uint32_t j = 0; j < p.n_partitions * p.n_challenges; j++) {
            const fil_porep_challenge *ch = &p.partitions[j / p.n_challenges][j % p.n_challenges];
            for (uint32_t k = 0; k < FIL_EXP_DEGREE; k++)
                if (ch->exp[k].node == own->node) {
                    assert_memory_equal(ch->exp[k].rows, own->rows, p.layers * sizeof(fr));
                    n_shared++;
                }
        }
    }
    assert_true(n_shared > 0);
    arena_fini(&a);
}

static void test_bad_requests_are_refused_with_the_reason(void **state)
{
    (void)state;
    arena a = {0};
    fil_porep porep;
    fil_post post;
    for (size_t i = 0; i < FIL_N_SECTORS; i++)
        for (unsigned v = FIL_SEAL_SYNTHETIC;
             v <= FIL_SEAL_NI && FIL_SECTORS[i].sector_bytes > FIL_GEN_SEAL_MAX_BYTES; v++) {
            cuzk_status st =
                fil_gen_porep(&porep, &a, &GEN_ID, &FIL_SECTORS[i], (fil_seal_version)v, NULL);
            assert_int_equal(st.code, CUZK_E_INPUT);
            assert_non_null(strstr(st.msg, "comm_r"));
            assert_null(porep.sector);
        }
    const fil_post_proof *winning = fil_post_proof_by_name("StackedDrgWinning2KiBV1");
    const fil_post_proof *window = fil_post_proof_by_name("StackedDrgWindow2KiBV1_2");
    assert_int_equal(fil_gen_post(&post, &a, &GEN_ID, winning, 2, NULL).code, CUZK_E_INPUT);
    assert_int_equal(fil_gen_post(&post, &a, &GEN_ID, winning, 0, NULL).code, CUZK_E_INPUT);
    assert_int_equal(fil_gen_post(&post, &a, &GEN_ID, window, 0, NULL).code, CUZK_E_INPUT);
    fil_gen_id last = GEN_ID;
    last.sector = UINT64_MAX;
    assert_int_equal(fil_gen_post(&post, &a, &last, window, 2, NULL).code, CUZK_E_INPUT);
    assert_ok(fil_gen_post(&post, &a, &last, window, 1, NULL));
    arena_fini(&a);
}

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

static void test_cancel_is_heard(void **state)
{
    (void)state;
    arena a = {0};
    fil_porep porep;
    fil_post post;
    fil_update update;
    const run_ctx rc = {.cancelled = always};
    assert_int_equal(fil_gen_porep(&porep, &a, &GEN_ID, sector("2KiB"), FIL_SEAL_V1_1, &rc).code,
                     CUZK_E_CANCELLED);
    assert_int_equal(fil_gen_post(&post, &a, &GEN_ID, fil_post_proof_by_id(10), 2, &rc).code,
                     CUZK_E_CANCELLED);
    assert_int_equal(
        fil_gen_update(&update, &a, &GEN_ID, fil_update_config_by_bytes(2 << 10), &rc).code,
        CUZK_E_CANCELLED);
    arena_fini(&a);
}

static cuzk_status make_one(int kind)
{
    arena a = {0};
    fil_porep porep;
    fil_post post;
    fil_update update;
    uint8_t *bytes = NULL;
    size_t len;
    cuzk_status st;
    if (kind < 2) {
        st = fil_gen_porep(&porep, &a, &GEN_ID, sector("2KiB"),
                           kind == 0 ? FIL_SEAL_V1_1 : FIL_SEAL_SYNTHETIC, NULL);
        porep.wrapped = true;
        if (st.code == CUZK_OK)
            st = fil_porep_encode(&bytes, &len, &porep);
    } else if (kind == 2) {
        st = fil_gen_post(&post, &a, &GEN_ID, fil_post_proof_by_id(10), 2, NULL);
        if (st.code == CUZK_OK)
            st = fil_post_encode(&bytes, &len, &post, 1);
    } else {
        st = fil_gen_update(&update, &a, &GEN_ID, fil_update_config_by_bytes(2 << 10), NULL);
        if (st.code == CUZK_OK)
            st = fil_update_encode(&bytes, &len, &update, 0);
    }
    mem_free(bytes);
    arena_fini(&a);
    return st;
}

static void test_every_failed_allocation_is_reported(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        assert_ok(make_one(kind)); /* constants are there from now on */
        uint64_t live = mem_get_stats().live_bytes;
        for (uint64_t n = 1;; n++) {
            mem_fail_nth(n);
            cuzk_status st = make_one(kind);
            mem_fail_nth(0);
            assert_int_equal(mem_get_stats().live_bytes, live);
            if (st.code == CUZK_OK) {
                assert_true(n > 3);
                break;
            }
            assert_int_equal(st.code, CUZK_E_NOMEM);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_porep_of_every_version_is_right),
        cmocka_unit_test(test_porep_is_right_for_many_seeds),
        cmocka_unit_test(test_small_post_of_every_kind_is_right),
        cmocka_unit_test(test_small_update_is_right),
        cmocka_unit_test(test_bytes_follow_from_the_seed),
        cmocka_unit_test(test_sealed_columns_of_an_opened_node_agree),
        cmocka_unit_test(test_bad_requests_are_refused_with_the_reason),
        cmocka_unit_test(test_cancel_is_heard),
        cmocka_unit_test(test_every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
