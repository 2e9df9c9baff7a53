/* Proof requests on the wire: our decoder against protobuf-c's, and against bytes no client
 * sends. */
#include "base/mem.h"
#include "rpc/request.h"
#include <cuzk/v1/proving.pb-c.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MAX_MESSAGE 4096u

typedef struct message {
    uint8_t b[MAX_MESSAGE];
    size_t n;
} message;

static void put(message *m, const void *p, size_t n)
{
    assert_true(m->n + n <= MAX_MESSAGE);
    memcpy(m->b + m->n, p, n);
    m->n += n;
}

static void put_varint(message *m, uint64_t v)
{
    uint8_t b[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        b[n++] = (uint8_t)(v | 0x80);
    b[n++] = (uint8_t)v;
    put(m, b, n);
}

static void put_tag(message *m, uint32_t field, uint32_t type) { put_varint(m, field << 3 | type); }

static void put_number(message *m, uint32_t field, uint64_t v)
{
    put_tag(m, field, 0);
    put_varint(m, v);
}

static void put_bytes(message *m, uint32_t field, const void *p, size_t n)
{
    put_tag(m, field, 2);
    put_varint(m, n);
    put(m, p, n);
}

static cuzk_status decode(job_request *out, const message *m, bool wrapped)
{
    uint8_t *copy = mem_alloc(m->n, 16); /* exact, so that a sanitizer sees a step beyond */
    if (!copy)
        return cuzk_fail(CUZK_E_NOMEM, "test");
    memcpy(copy, m->b, m->n);
    return request_decode(out, copy, m->n, wrapped);
}

static void assert_same(job_bytes a, ProtobufCBinaryData b)
{
    assert_int_equal(a.len, b.len);
    if (a.len)
        assert_memory_equal(a.p, b.data, a.len);
}

/* What both decoders say of one message must agree. */
static void assert_like_library(const job_request *r, const Cuzk__V1__SubmitProofRequest *m)
{
    assert_string_equal(r->request_id, m->request_id);
    assert_int_equal(r->sector_size, m->sector_size);
    assert_int_equal(r->registered_proof, m->registered_proof);
    assert_int_equal(r->sector_number, m->sector_number);
    assert_int_equal(r->miner_id, m->miner_id);
    assert_int_equal(r->partition_index, m->partition_index);
    assert_int_equal(r->deadline_unix_ms, m->deadline_unix_ms);
    assert_same(r->vanilla_proof, m->vanilla_proof);
    assert_same(r->randomness, m->randomness);
    assert_same(r->comm_r_old, m->comm_r_old);
    assert_same(r->comm_r_new, m->comm_r_new);
    assert_same(r->comm_d_new, m->comm_d_new);
    assert_int_equal(r->n_vanilla_proofs, m->n_vanilla_proofs);
    for (size_t i = 0; i < r->n_vanilla_proofs; i++)
        assert_same(r->vanilla_proofs[i], m->vanilla_proofs[i]);
}

static void full_message(message *out)
{
    Cuzk__V1__SubmitProofRequest m = CUZK__V1__SUBMIT_PROOF_REQUEST__INIT;
    ProtobufCBinaryData list[3] = {{3, (uint8_t *)"abc"}, {0, NULL}, {5, (uint8_t *)"12345"}};
    m.request_id = (char *)"winpost-1000-\xc3\xa9";
    m.proof_kind = CUZK__V1__PROOF_KIND__WINNING_POST;
    m.sector_size = 34359738368u;
    m.registered_proof = 3;
    m.priority = CUZK__V1__PRIORITY__LOW;
    m.vanilla_proof = (ProtobufCBinaryData){6, (uint8_t *)"proof!"};
    m.n_vanilla_proofs = 3;
    m.vanilla_proofs = list;
    m.sector_number = UINT64_MAX;
    m.miner_id = 1000;
    m.randomness = (ProtobufCBinaryData){4, (uint8_t *)"rand"};
    m.partition_index = UINT32_MAX;
    m.comm_r_old = (ProtobufCBinaryData){1, (uint8_t *)"o"};
    m.comm_r_new = (ProtobufCBinaryData){2, (uint8_t *)"nn"};
    m.comm_d_new = (ProtobufCBinaryData){3, (uint8_t *)"ddd"};
    m.deadline_unix_ms = 1795983829289u;
    out->n = cuzk__v1__submit_proof_request__pack(&m, out->b);
}

static void wrap(message *out, const message *inner)
{
    out->n = 0;
    put_bytes(out, 1, inner->b, inner->n);
}

static void test_every_field_is_read(void **state)
{
    (void)state;
    message m, w;
    job_request r;
    full_message(&m);
    wrap(&w, &m);
    for (int wrapped = 0; wrapped < 2; wrapped++) {
        assert_int_equal(decode(&r, wrapped ? &w : &m, wrapped).code, CUZK_OK);
        Cuzk__V1__SubmitProofRequest *like = cuzk__v1__submit_proof_request__unpack(NULL, m.n, m.b);
        assert_non_null(like);
        assert_like_library(&r, like);
        assert_int_equal(r.kind, PROOF_WINNING);
        assert_int_equal(r.priority, JOB_LOW);
        assert_int_equal(request_payload_bytes(&r), 6 + 3 + 0 + 5 + 4 + 1 + 2 + 3);
        cuzk__v1__submit_proof_request__free_unpacked(like, NULL);
        job_request_fini(&r);
    }
}

static void test_encoding_is_read_back(void **state)
{
    (void)state;
    message m, again;
    job_request r;
    full_message(&m);
    assert_int_equal(decode(&r, &m, false).code, CUZK_OK);
    for (int wrapped = 0; wrapped < 2; wrapped++) {
        again.n = request_encoded_bytes(&r, wrapped);
        assert_true(again.n <= MAX_MESSAGE);
        request_encode(again.b, &r, wrapped);
        message want = m;
        if (wrapped)
            wrap(&want, &m);
        assert_int_equal(again.n, want.n);
        assert_memory_equal(again.b, want.b, want.n);
    }
    job_request_fini(&r);
}

static void test_defaults_are_those_of_existing_clients(void **state)
{
    (void)state;
    static const struct {
        uint64_t kind, priority;
        proof_kind want_kind;
        job_priority want;
    } cases[] = {{1, 0, PROOF_POREP, JOB_NORMAL},   {2, 0, PROOF_SNAP, JOB_NORMAL},
                 {3, 0, PROOF_WINDOW, JOB_HIGH},    {4, 0, PROOF_WINNING, JOB_CRITICAL},
                 {1, 1, PROOF_POREP, JOB_LOW},      {1, 2, PROOF_POREP, JOB_NORMAL},
                 {1, 3, PROOF_POREP, JOB_HIGH},     {1, 4, PROOF_POREP, JOB_CRITICAL},
                 {4, 2, PROOF_WINNING, JOB_NORMAL}, {1, 5, PROOF_POREP, JOB_NORMAL},
                 {1, 77, PROOF_POREP, JOB_NORMAL}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        message m = {.n = 0};
        job_request r;
        put_number(&m, 2, cases[i].kind);
        put_number(&m, 5, cases[i].priority);
        print_message("kind %llu, priority %llu\n", (unsigned long long)cases[i].kind,
                      (unsigned long long)cases[i].priority);
        assert_int_equal(decode(&r, &m, false).code, CUZK_OK);
        assert_int_equal(r.kind, cases[i].want_kind);
        assert_int_equal(r.priority, cases[i].want);
        assert_string_equal(r.request_id, "");
        job_request_fini(&r);
    }
}

static void test_unknown_fields_are_skipped(void **state)
{
    (void)state;
    message m = {.n = 0};
    job_request r;
    put_number(&m, 2, 1);
    put_number(&m, 99, 5);
    put_tag(&m, 100, 1); /* fixed64 */
    put(&m, "12345678", 8);
    put_tag(&m, 101, 5); /* fixed32 */
    put(&m, "1234", 4);
    put_bytes(&m, 102, "unknown", 7);
    put_tag(&m, 103, 3); /* group with a group inside */
    put_number(&m, 2, 9);
    put_tag(&m, 104, 3);
    put_tag(&m, 104, 4);
    put_tag(&m, 103, 4);
    put_bytes(&m, 2, "a string where a number belongs", 31);
    put_number(&m, 10, 4); /* a number where bytes belong */
    put_bytes(&m, 10, "proof", 5);
    assert_int_equal(decode(&r, &m, false).code, CUZK_OK);
    assert_int_equal(r.kind, PROOF_POREP);
    assert_int_equal(r.vanilla_proof.len, 5);
    job_request_fini(&r);
}

/* Protobuf: the last scalar counts, lists grow, pieces of a nested message are merged. */
static void test_repeated_fields_are_merged(void **state)
{
    (void)state;
    message a = {.n = 0}, b = {.n = 0}, w = {.n = 0};
    job_request r;
    put_number(&a, 2, 1);
    put_bytes(&a, 11, "one", 3);
    put_number(&a, 21, 5);
    put_number(&b, 2, 3);
    put_bytes(&b, 11, "two", 3);
    put_bytes(&w, 1, a.b, a.n);
    put_number(&w, 7, 1);
    put_bytes(&w, 1, b.b, b.n);
    assert_int_equal(decode(&r, &w, true).code, CUZK_OK);
    assert_int_equal(r.kind, PROOF_WINDOW);
    assert_int_equal(r.miner_id, 5);
    assert_int_equal(r.n_vanilla_proofs, 2);
    assert_memory_equal(r.vanilla_proofs[0].p, "one", 3);
    assert_memory_equal(r.vanilla_proofs[1].p, "two", 3);
    job_request_fini(&r);
}

static void assert_refused(const message *m, bool wrapped, const char *text)
{
    job_request r;
    cuzk_status st = decode(&r, m, wrapped);
    assert_int_equal(st.code, CUZK_E_INPUT);
    if (!strstr(st.msg, text))
        fail_msg("\"%s\" is not in \"%s\"", text, st.msg);
    assert_null(r.owned);
}

static void test_wrong_values_are_named(void **state)
{
    (void)state;
    char long_id[JOB_REQUEST_ID_MAX + 1];
    memset(long_id, 'x', sizeof long_id);
    message m = {.n = 0};
    assert_refused(&m, false, "invalid proof_kind: 0");
    assert_refused(&m, true, "missing submit field");
    put_number(&m, 2, 5);
    assert_refused(&m, false, "invalid proof_kind: 5");
    m.n = 0;
    put_number(&m, 2, UINT64_MAX);
    assert_refused(&m, false, "invalid proof_kind: -1");
    static const struct {
        const char *id;
        size_t len;
        const char *text;
    } ids[] = {{"a\0b", 3, "control"}, {"a\nb", 3, "control"},   {"a\x7f", 2, "control"},
               {"\xff", 1, "UTF-8"},   {"\xc0\x80", 2, "UTF-8"}, {"\xed\xa0\x80", 3, "UTF-8"}};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        m.n = 0;
        put_number(&m, 2, 1);
        put_bytes(&m, 1, ids[i].id, ids[i].len);
        assert_refused(&m, false, ids[i].text);
    }
    m.n = 0;
    put_number(&m, 2, 1);
    put_bytes(&m, 1, long_id, JOB_REQUEST_ID_MAX);
    assert_refused(&m, false, "request_id: expected at most 255 bytes, found 256");
}

static void test_malformed_messages_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *text;
    } cases[] = {
        {"\x80", 1, "cut number"},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "ten bytes"},
        {"\x00", 1, "field number"},
        {"\x02\x00", 2, "field number"},
        {"\xf8\xff\xff\xff\x7f\x00", 6, "field number"},
        {"\x0e", 1, "unknown kind"},
        {"\x0f", 1, "unknown kind"},
        {"\x0c", 1, "unknown kind"}, /* the end of a group that nobody began */
        {"\x0a\x05"
         "abcd",
         6, "past the end"},
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "past the end"},
        {"\x09\x01\x02", 3, "cut number"},
        {"\x0d\x01\x02", 3, "cut number"},
        {"\x0b", 1, "cut number"},
        {"\x0b\x14", 2, "another group"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        message m = {.n = 0};
        put(&m, cases[i].bytes, cases[i].n);
        print_message("case %zu\n", i);
        assert_refused(&m, false, cases[i].text);
    }
    message deep = {.n = 0};
    for (int i = 0; i < 33; i++)
        put_tag(&deep, 9, 3);
    assert_refused(&deep, false, "too deep");
}

/* Cut anywhere, a message is either refused or a shorter message that is itself right. */
static void test_cut_at_every_byte(void **state)
{
    (void)state;
    message m, w;
    full_message(&m);
    wrap(&w, &m);
    for (size_t n = 0; n < m.n; n++) {
        message cut = m;
        job_request r;
        cut.n = n;
        cuzk_status st = decode(&r, &cut, false);
        Cuzk__V1__SubmitProofRequest *like = cuzk__v1__submit_proof_request__unpack(NULL, n, m.b);
        if (st.code == CUZK_OK) {
            assert_non_null(like);
            assert_like_library(&r, like);
            job_request_fini(&r);
        } else {
            assert_int_equal(st.code, CUZK_E_INPUT);
        }
        if (like)
            cuzk__v1__submit_proof_request__free_unpacked(like, NULL);
        if (n < w.n) {
            message cut_wrapped = w;
            cut_wrapped.n = n;
            assert_int_equal(decode(&r, &cut_wrapped, true).code, CUZK_E_INPUT);
        }
    }
}

static void test_too_many_proofs_are_refused(void **state)
{
    (void)state;
    size_t n = 2 * ((size_t)REQUEST_MAX_PROOFS + 1) + 2;
    for (size_t extra = 0; extra < 2; extra++) {
        uint8_t *b = mem_alloc(n, 16);
        job_request r;
        assert_non_null(b);
        b[0] = 2 << 3;
        b[1] = 1;
        for (size_t i = 2; i < n; i += 2) {
            b[i] = 11 << 3 | 2;
            b[i + 1] = 0;
        }
        cuzk_status st = request_decode(&r, b, n - 2 + 2 * extra, false);
        assert_int_equal(st.code, extra ? CUZK_E_INPUT : CUZK_OK);
        if (!extra)
            assert_int_equal(r.n_vanilla_proofs, REQUEST_MAX_PROOFS);
        job_request_fini(&r);
    }
}

static void test_out_of_memory_leaks_nothing(void **state)
{
    (void)state;
    message m;
    job_request r;
    full_message(&m);
    uint64_t before = mem_get_stats().live_bytes;
    for (uint64_t nth = 1;; nth++) {
        uint8_t *copy = mem_alloc(m.n, 16);
        assert_non_null(copy);
        memcpy(copy, m.b, m.n);
        mem_fail_nth(nth);
        cuzk_status st = request_decode(&r, copy, m.n, false);
        mem_fail_nth(0);
        if (st.code == CUZK_OK) {
            assert_true(nth > 2); /* something did fail before */
            job_request_fini(&r);
            break;
        }
        assert_int_equal(st.code, CUZK_E_NOMEM);
        assert_int_equal(mem_get_stats().live_bytes, before);
    }
    assert_int_equal(mem_get_stats().live_bytes, before);
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

/* Messages of random fields, some of them damaged: what both decoders take they read alike. */
static void test_random_messages_agree_with_library(void **state)
{
    (void)state;
    static const uint32_t fields[] = {1,  2,  3,  4,  5,  10, 11, 11, 11,
                                      20, 21, 22, 23, 30, 31, 32, 50, 60};
    uint64_t seed = 0x9e3779b97f4a7c15u, s = seed;
    uint32_t n_both = 0;
    print_message("seed %llx\n", (unsigned long long)seed);
    for (int round = 0; round < 20000; round++) {
        message m = {.n = 0};
        uint8_t text[40];
        put_number(&m, 2, 1 + next_random(&s) % 4);
        for (uint64_t k = next_random(&s) % 12; k; k--) {
            uint32_t f = fields[next_random(&s) % ARRAY_LEN(fields)];
            size_t len = next_random(&s) % sizeof text;
            memset(text, 'a' + (int)(k % 26), sizeof text);
            if (f == 2)
                continue;
            if (f == 1 || (f >= 10 && f <= 11) || f == 22 || (f >= 30 && f <= 32))
                put_bytes(&m, f, text, len);
            else
                put_number(&m, f, next_random(&s) >> (next_random(&s) % 64));
        }
        if (round % 2)
            m.b[next_random(&s) % m.n] ^= (uint8_t)(1u << (next_random(&s) % 8));
        job_request r;
        cuzk_status st = decode(&r, &m, false);
        Cuzk__V1__SubmitProofRequest *like = cuzk__v1__submit_proof_request__unpack(NULL, m.n, m.b);
        if (round % 2 == 0)
            assert_int_equal(st.code, CUZK_OK);
        if (st.code == CUZK_OK && like) {
            assert_like_library(&r, like);
            n_both++;
        }
        if (st.code == CUZK_OK)
            job_request_fini(&r);
        if (like)
            cuzk__v1__submit_proof_request__free_unpacked(like, NULL);
    }
    assert_true(n_both > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_is_read),
        cmocka_unit_test(test_encoding_is_read_back),
        cmocka_unit_test(test_defaults_are_those_of_existing_clients),
        cmocka_unit_test(test_unknown_fields_are_skipped),
        cmocka_unit_test(test_repeated_fields_are_merged),
        cmocka_unit_test(test_wrong_values_are_named),
        cmocka_unit_test(test_malformed_messages_are_refused),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_too_many_proofs_are_refused),
        cmocka_unit_test(test_out_of_memory_leaks_nothing),
        cmocka_unit_test(test_random_messages_agree_with_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
