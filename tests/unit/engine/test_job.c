/* Requests as bytes, their digest, the table of moves. */
#include "store_test.h"
#include "base/bytes.h"
#include "engine/job_table.h"

#define N_PROOFS 3u

/* A request with every field set; static storage throughout. */
static void fill(job_request *r)
{
    static const uint8_t bytes[64] = "0123456789abcdefghijklmnopqrstuvwxyz";
    static const job_bytes list[N_PROOFS] = {{bytes, 5}, {bytes + 7, 0}, {bytes + 9, 11}};
    *r = (job_request){.request_id = "ps-42 \xc3\xa9",
                       .kind = PROOF_SNAP,
                       .priority = JOB_HIGH,
                       .sector_size = 1ull << 35,
                       .registered_proof = 3,
                       .sector_number = UINT64_MAX,
                       .miner_id = 1000,
                       .partition_index = 7,
                       .vanilla_proof = {bytes, 36},
                       .vanilla_proofs = list,
                       .n_vanilla_proofs = N_PROOFS,
                       .randomness = {bytes + 1, 32},
                       .comm_r_old = {bytes + 2, 32},
                       .comm_r_new = {bytes + 3, 31},
                       .comm_d_new = {bytes + 4, 0},
                       .deadline_unix_ms = 1234567};
}

static void assert_bytes(job_bytes a, job_bytes b)
{
    assert_int_equal(a.len, b.len);
    if (a.len)
        assert_memory_equal(a.p, b.p, a.len);
}

static void assert_same_request(const job_request *a, const job_request *b)
{
    assert_string_equal(a->request_id, b->request_id);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->priority, b->priority);
    assert_true(a->sector_size == b->sector_size && a->registered_proof == b->registered_proof &&
                a->sector_number == b->sector_number && a->miner_id == b->miner_id &&
                a->partition_index == b->partition_index &&
                a->deadline_unix_ms == b->deadline_unix_ms);
    assert_bytes(a->vanilla_proof, b->vanilla_proof);
    assert_bytes(a->randomness, b->randomness);
    assert_bytes(a->comm_r_old, b->comm_r_old);
    assert_bytes(a->comm_r_new, b->comm_r_new);
    assert_bytes(a->comm_d_new, b->comm_d_new);
    assert_int_equal(a->n_vanilla_proofs, b->n_vanilla_proofs);
    for (size_t i = 0; i < a->n_vanilla_proofs; i++)
        assert_bytes(a->vanilla_proofs[i], b->vanilla_proofs[i]);
}

static void test_request_survives_encoding(void **state)
{
    (void)state;
    job_request full, empty = {0}, back;
    fill(&full);
    const job_request *const requests[] = {&full, &empty};
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        uint8_t *b, a[32], c[32];
        size_t len;
        uint64_t live = mem_get_stats().live_bytes;
        assert_ok(job_request_encode(&b, &len, requests[i]));
        assert_ok(job_request_decode(&back, b, len, mem_free));
        assert_same_request(requests[i], &back);
        job_request_digest(a, requests[i]);
        job_request_digest(c, &back);
        assert_memory_equal(a, c, 32);
        job_request_fini(&back);
        job_request_fini(&back);
        assert_true(mem_get_stats().live_bytes == live);
    }
    job_request borrowed;
    uint8_t *b;
    size_t len;
    assert_ok(job_request_encode(&b, &len, &full));
    assert_ok(job_request_decode(&borrowed, b, len, NULL));
    job_request_fini(&borrowed);
    mem_free(b);
}

static void test_layout_is_the_documented_one(void **state)
{
    (void)state;
    job_request r;
    uint8_t *b;
    size_t len;
    fill(&r);
    assert_ok(job_request_encode(&b, &len, &r));
    size_t id = strlen(r.request_id);
    assert_int_equal(len, 64 + id + 8 * (5 + N_PROOFS) + 36 + 32 + 32 + 31 + 0 + 5 + 0 + 11);
    assert_memory_equal(b, "CZJ1", 4);
    assert_int_equal(load_le32(b + 4), PROOF_SNAP);
    assert_int_equal(load_le32(b + 12), 7);
    assert_true(load_le64(b + 32) == UINT64_MAX);
    assert_memory_equal(b + 64, r.request_id, id);
    assert_int_equal(load_le64(b + 64 + id), 36);
    mem_free(b);
}

static void test_blocks_cut_at_every_byte_are_refused(void **state)
{
    (void)state;
    job_request r, back;
    uint8_t *b;
    size_t len;
    fill(&r);
    assert_ok(job_request_encode(&b, &len, &r));
    for (size_t n = 0; n < len; n++) {
        uint8_t *cut = mem_alloc(n, 8); /* exact, so that a sanitizer sees one byte too many */
        memcpy(cut, b, n);
        assert_code(job_request_decode(&back, cut, n, mem_free), CUZK_E_INPUT);
        assert_null(back.owned); /* cut stays ours */
        mem_free(cut);
    }
    uint8_t *longer = mem_zalloc(len + 1, 8);
    memcpy(longer, b, len);
    assert_code(job_request_decode(&back, longer, len + 1, NULL), CUZK_E_INPUT);
    mem_free(longer);
    mem_free(b);
}

static void test_hostile_numbers_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at, width;
        uint64_t v;
        const char *complaint;
    } cases[] = {
        {0, 4, 0x324a5a43, "magic"},
        {4, 4, PROOF_N_KINDS, "kind"},
        {4, 4, UINT32_MAX, "kind"},
        {8, 4, JOB_N_PRIORITIES, "prio"},
        {56, 4, UINT32_MAX, "vanilla_proofs"},
        {56, 4, N_PROOFS + 1, ""},
        {56, 4, N_PROOFS - 1, ""},
        {60, 4, UINT32_MAX, ""},
        {60, 4, 256, ""},
        {64, 1, 0, "request_id"},
        {64, 1, 0xff, "request_id"},
        {72, 8, UINT64_MAX, ""},
        {72, 8, UINT64_MAX - 7, ""},
        {72, 8, 1ull << 63, ""},
    };
    job_request r, back;
    uint8_t *b;
    size_t len;
    fill(&r);
    assert_int_equal(strlen(r.request_id), 8); /* offset 72 is the first length */
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_ok(job_request_encode(&b, &len, &r));
        uint8_t le[8];
        store_le64(le, cases[i].v);
        memcpy(b + cases[i].at, le, cases[i].width);
        cuzk_status st = job_request_decode(&back, b, len, NULL);
        assert_code(st, CUZK_E_INPUT);
        if (!strstr(st.msg, cases[i].complaint))
            fail_msg("case %zu: %s", i, st.msg);
        mem_free(b);
    }
}

static void test_digest_covers_what_is_proven(void **state)
{
    (void)state;
    job_request r;
    uint8_t base[32], other[32], seen[32][32];
    size_t n_seen = 0;
    fill(&r);
    job_request_digest(base, &r);
    /* not the request's identity: id, urgency */
    r.request_id[0] = 'X';
    r.priority = JOB_LOW;
    r.deadline_unix_ms = 0;
    job_request_digest(other, &r);
    assert_memory_equal(base, other, 32);

    static const uint8_t other_bytes[] = "0123456789abcdefghijklmnopqrstuvwxyZ";
    const job_bytes moved[N_PROOFS] = {
        {other_bytes, 4}, {other_bytes + 4, 1}, {other_bytes + 9, 11}};
    for (int change = 0; change < 15; change++) {
        fill(&r);
        switch (change) {
        case 0:
            r.kind = PROOF_POREP;
            break;
        case 1:
            r.sector_size++;
            break;
        case 2:
            r.registered_proof++;
            break;
        case 3:
            r.sector_number--;
            break;
        case 4:
            r.miner_id++;
            break;
        case 5:
            r.partition_index++;
            break;
        case 6:
            r.vanilla_proof.p = other_bytes;
            break;
        case 7:
            r.vanilla_proof.len--;
            break;
        case 8:
            r.randomness.p++;
            break;
        case 9:
            r.comm_r_old.p++;
            break;
        case 10:
            r.comm_r_new.p++;
            break;
        case 11:
            r.comm_d_new.len++;
            break;
        case 12:
            r.n_vanilla_proofs--;
            break;
        case 13:
            r.vanilla_proofs = moved;
            break; /* a byte moves over a border */
        default:   /* a field moves into the next */
            r.comm_d_new = r.comm_r_new;
            r.comm_r_new.len = 0;
            break;
        }
        job_request_digest(other, &r);
        assert_memory_not_equal(base, other, 32);
        for (size_t i = 0; i < n_seen; i++)
            assert_memory_not_equal(seen[i], other, 32);
        memcpy(seen[n_seen++], other, 32);
    }
}

static void test_nth_allocation_may_fail(void **state)
{
    (void)state;
    job_request r, back;
    uint8_t *b;
    size_t len;
    fill(&r);
    mem_fail_nth(1);
    assert_code(job_request_encode(&b, &len, &r), CUZK_E_NOMEM);
    assert_null(b);
    mem_fail_nth(0);
    assert_ok(job_request_encode(&b, &len, &r));
    mem_fail_nth(1);
    assert_code(job_request_decode(&back, b, len, mem_free), CUZK_E_NOMEM);
    mem_fail_nth(0);
    mem_free(b); /* a failed decode took nothing */
}

static void test_ids_that_are_too_long_are_refused(void **state)
{
    (void)state;
    job_request r;
    uint8_t *b;
    size_t len;
    fill(&r);
    memset(r.request_id, 'x', sizeof r.request_id); /* no final 0 */
    assert_code(job_request_encode(&b, &len, &r), CUZK_E_INPUT);
}

static void test_text_is_utf8_without_controls(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        bool is_text;
    } cases[] = {
        {"", true},
        {"a~Z 9", true},
        {"\xc3\xa9", true},
        {"\xe2\x82\xac", true},
        {"\xf0\x9f\x98\x80", true},
        {"\xf4\x8f\xbf\xbf", true},
        {"\n", false},
        {"a\x7f", false},
        {"\x80", false},
        {"\xc0\x80", false},
        {"\xc3", false},
        {"\xc3(", false},
        {"\xe0\x80\x80", false},
        {"\xed\xa0\x80", false},
        {"\xf4\x90\x80\x80", false},
        {"\xf0\x80\x80\x80", false},
        {"\xff", false},
        {"\xe2\x82", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (job_is_text(cases[i].s, strlen(cases[i].s)) != cases[i].is_text)
            fail_msg("case %zu", i);
    assert_false(job_is_text("a\0b", 3));
}

static void test_final_states_have_no_moves(void **state)
{
    (void)state;
    for (int from = 0; from < JOB_N_STATES; from++) {
        for (int to = 0; to < JOB_N_STATES; to++) {
            bool may = job_state_may_move((job_state)from, (job_state)to);
            if (job_state_is_final((job_state)from))
                assert_false(may);
            else if (to == JOB_FAILED || to == JOB_CANCELLED || to == from || to == JOB_QUEUED)
                assert_true(may);
        }
        assert_non_null(JOB_STATE_NAMES[from]);
        assert_false(job_state_may_move((job_state)from, JOB_N_STATES));
        assert_false(job_state_may_move(JOB_N_STATES, (job_state)from));
    }
    assert_false(job_state_may_move(JOB_QUEUED, JOB_DONE));
    assert_false(job_state_may_move(JOB_DECODING, JOB_DONE));
    assert_true(job_state_may_move(JOB_VERIFYING, JOB_PROVING)); /* a check failed: again */
}

/* Proofs and checks come in one by one; a phase ends with the last of them. */
static void test_phases_end_with_the_last_partition(void **state)
{
    (void)state;
    const uint64_t ms = 1000000;
    job *j;
    assert_int_equal(job_create(&j).code, CUZK_OK);
    assert_int_equal(job_make_parts(j, 2).code, CUZK_OK);
    j->at = (job_clock){.received_ns = 1 * ms,
                        .start_ns = 2 * ms,
                        .key_ns = 4 * ms,
                        .device_ns = 10 * ms,
                        .device_end_ns = 30 * ms,
                        .verified_ns = 35 * ms};
    share_set_done(&j->share, 0);
    j->n_done = 1;
    job_set_times(j, 100 * ms);
    assert_int_equal(j->view.times.device_ms, 90);
    assert_int_equal(j->view.times.verify_ms, 0);
    share_set_done(&j->share, 1);
    j->at.device_end_ns = 110 * ms;
    job_set_times(j, 115 * ms);
    assert_int_equal(j->view.times.device_ms, 100);
    assert_int_equal(j->view.times.verify_ms, 5);
    j->n_done = 2;
    j->at.verified_ns = 118 * ms;
    job_set_times(j, 130 * ms);
    assert_int_equal(j->view.times.queue_wait_ms, 1);
    assert_int_equal(j->view.times.key_load_ms, 2);
    assert_int_equal(j->view.times.witness_ms, 6);
    assert_int_equal(j->view.times.device_ms, 100);
    assert_int_equal(j->view.times.verify_ms, 8);
    assert_int_equal(j->view.times.total_ms, 129);
    job_destroy(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases_end_with_the_last_partition),
        cmocka_unit_test(test_request_survives_encoding),
        cmocka_unit_test(test_layout_is_the_documented_one),
        cmocka_unit_test(test_blocks_cut_at_every_byte_are_refused),
        cmocka_unit_test(test_hostile_numbers_are_refused),
        cmocka_unit_test(test_digest_covers_what_is_proven),
        cmocka_unit_test(test_nth_allocation_may_fail),
        cmocka_unit_test(test_ids_that_are_too_long_are_refused),
        cmocka_unit_test(test_text_is_utf8_without_controls),
        cmocka_unit_test(test_final_states_have_no_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
