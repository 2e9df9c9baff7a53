/* The span tree of a job in all its forms. */
#include "store_test.h"
#include "base/json_read.h"
#include "base/span_int.h" /* span_end_at */
#include "base/span_names.h"
#include "engine/timeline.h"

#define MS 1000000u

static span_id add(span_rec *r, span_id parent, const char *name, double from_ms, double to_ms)
{
    span_id s = span_begin_at(r, parent, name, (uint64_t)((from_ms + 5000) * MS));
    span_end_at(r, s, (uint64_t)((to_ms + 5000) * MS));
    return s;
}

static const char *device_of(void *ctx, const span_view *v)
{
    (void)ctx;
    return strncmp(v->name, "msm", 3) == 0 ? "cuda:0" : v->partition == 7 ? "cuda:1" : NULL;
}

/* Two partitions; the second hides 200 ms between its witness and its first sum. */
static void make_timeline(timeline *t)
{
    span_rec *r;
    assert_ok(span_rec_create(&r, 64));
    span_id root = add(r, 0, SPAN_PROVE, 0, 1000);
    span_id decode = add(r, root, SPAN_DECODE, 0, 100);
    span_note(r, decode, -1, 51000000);
    for (int k = 0; k < 2; k++) {
        span_id part = add(r, root, SPAN_PARTITION, 100 + 400 * k, 500 + 500 * k);
        span_note(r, part, k, 0);
        add(r, part, SPAN_WITNESS, 100 + 400 * k, 200 + 400 * k);
        span_id h = add(r, part, SPAN_MSM_H, 200 + 600 * k, 450 + 550 * k);
        span_note(r, h, k, 123);
        add(r, part, SPAN_ASSEMBLE, 450 + 550 * k, 500.125 + 500 * k);
    }
    assert_ok(timeline_from_spans(t, "job \"1\"", r, device_of, NULL));
    span_rec_destroy(r);
}

static void assert_same(const timeline *a, const timeline *b)
{
    assert_string_equal(a->job_id, b->job_id);
    assert_int_equal(a->n_spans, b->n_spans);
    assert_int_equal(a->n_dropped, b->n_dropped);
    for (uint32_t i = 0; i < a->n_spans; i++) {
        const timeline_span *x = &a->spans[i], *y = &b->spans[i];
        assert_string_equal(x->name, y->name);
        assert_string_equal(x->device, y->device);
        assert_true(x->id == y->id && x->parent == y->parent && x->partition == y->partition &&
                    x->thread == y->thread && x->n_children == y->n_children &&
                    x->bytes == y->bytes && x->start_ns == y->start_ns && x->end_ns == y->end_ns &&
                    x->unaccounted_ns == y->unaccounted_ns);
    }
}

static void test_spans_and_unaccounted_time_agree_with_the_recorder(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (int round = 0; round < 50; round++) {
        span_rec *r;
        assert_ok(span_rec_create(&r, 40));
        for (uint32_t i = 0; i < 44; i++) { /* more than fit */
            span_id parent = i ? (span_id)(next_random(&seed) % (i + 1)) : 0;
            uint64_t from = 1000 + next_random(&seed) % 5000;
            span_id s = span_record(r, parent, SPAN_NTT, from, from + next_random(&seed) % 3000);
            span_note(r, s, (int32_t)(next_random(&seed) % 5) - 1, next_random(&seed));
        }
        timeline t, back;
        assert_ok(timeline_from_spans(&t, "j", r, device_of, NULL));
        assert_int_equal(t.n_spans, 40);
        assert_int_equal(t.n_dropped, 4);
        for (uint32_t i = 0; i < t.n_spans; i++) {
            span_view v = span_get(r, i);
            assert_int_equal(t.spans[i].id, v.id);
            assert_int_equal(t.spans[i].parent, v.parent);
            assert_int_equal(t.spans[i].n_children, v.n_children);
            assert_true(t.spans[i].unaccounted_ns == v.unaccounted_ns);
            assert_true(t.spans[i].end_ns - t.spans[i].start_ns == v.end_ns - v.start_ns);
        }
        char *json;
        assert_ok(timeline_format(&json, &t));
        assert_ok(timeline_parse(&back, json, strlen(json)));
        assert_same(&t, &back);
        mem_free(json);
        timeline_fini(&back);
        timeline_fini(&t);
        span_rec_destroy(r);
    }
}

static void test_parents_do_not_end_before_open_children(void **state)
{
    (void)state;
    span_rec *r;
    timeline t;
    assert_ok(span_rec_create(&r, 8));
    span_id root = span_begin(r, 0, SPAN_PROVE);
    span_begin(r, root, SPAN_WITNESS);
    assert_ok(timeline_from_spans(&t, "running", r, NULL, NULL));
    assert_true(t.spans[0].end_ns >= t.spans[1].end_ns);
    timeline_fini(&t);
    timeline_fini(&t);
    assert_ok(timeline_from_spans(&t, "none", NULL, NULL, NULL));
    assert_int_equal(t.n_spans, 0);
    timeline_fini(&t);
    span_rec_destroy(r);
}

static void test_json_has_the_documented_members(void **state)
{
    (void)state;
    timeline t;
    char *json;
    make_timeline(&t);
    assert_ok(timeline_format(&json, &t));
    json_doc doc;
    json_val v, span;
    json_iter it;
    assert_ok(json_parse(&doc, json, strlen(json)));
    assert_true(json_member(&v, json_root(&doc), "job_id"));
    assert_true(json_string_is(v, "job \"1\""));
    assert_true(json_member(&v, json_root(&doc), "spans"));
    assert_ok(json_array_n(&it, v, 10));
    static const char *const members[] = {"id",     "parent",        "name",     "partition",
                                          "device", "thread",        "start_ms", "end_ms",
                                          "bytes",  "unaccounted_ms"};
    while (json_next(&it, &span))
        for (size_t i = 0; i < ARRAY_LEN(members); i++)
            if (!json_member(&v, span, members[i]))
                fail_msg("no %s", members[i]);
    double ms;
    assert_true(json_member(&v, span, "end_ms"));
    assert_ok(json_get_double(&ms, v));
    assert_true(ms == 1000.125);
    json_fini(&doc);
    mem_free(json);
    timeline_fini(&t);
}

#define SPAN_TEXT(id, parent, more) \
    "{\"id\":" id ",\"parent\":" parent ",\"name\":\"x\",\"start_ms\":0,\"end_ms\":1" more "}"
#define DOC(spans) "{\"job_id\":\"j\",\"spans\":[" spans "]}"

static const struct {
    const char *json, *complaint; /* NULL: fine */
} texts[] = {
    {DOC(""), NULL},
    {DOC(SPAN_TEXT("1", "0", "")), NULL},
    {DOC(SPAN_TEXT("1", "0", ",\"later\":{\"a\":[1]}")), NULL},
    {DOC(SPAN_TEXT("1", "0", "") "," SPAN_TEXT("2", "1", ",\"partition\":-1")), NULL},
    {"", ""},
    {"[]", "object"},
    {"{\"spans\":[]}", "job_id"},
    {"{\"job_id\":\"j\"}", "spans"},
    {"{\"job_id\":7,\"spans\":[]}", "job_id"},
    {"{\"job_id\":\"a\\u0007\",\"spans\":[]}", "job_id"},
    {"{\"job_id\":\"j\",\"spans\":{}}", "spans"},
    {DOC("1"), "spans[0]"},
    {DOC(SPAN_TEXT("2", "0", "")), "order"},
    {DOC(SPAN_TEXT("1", "1", "")), "parent"},
    {DOC(SPAN_TEXT("1", "0", "") "," SPAN_TEXT("2", "3", "")), "spans[1].parent"},
    {DOC(SPAN_TEXT("1", "-1", "")), "parent"},
    {DOC(SPAN_TEXT("1", "0", ",\"partition\":0.5")), "partition"},
    {DOC(SPAN_TEXT("1", "0", ",\"partition\":-2")), "partition"},
    {DOC(SPAN_TEXT("1", "0", ",\"partition\":3e9")), "partition"},
    {DOC(SPAN_TEXT("1", "0", ",\"bytes\":-1")), "bytes"},
    {DOC(SPAN_TEXT("1", "0", ",\"device\":\"\\n\"")), "device"},
    {DOC("{\"id\":1,\"parent\":0,\"start_ms\":0,\"end_ms\":1}"), "name"},
    {DOC("{\"id\":1,\"parent\":0,\"name\":\"x\",\"start_ms\":2,\"end_ms\":1}"), "end"},
    {DOC("{\"id\":1,\"parent\":0,\"name\":\"x\",\"start_ms\":-2,\"end_ms\":1}"), "start_ms"},
    {DOC("{\"id\":1,\"parent\":0,\"name\":\"x\",\"start_ms\":0,\"end_ms\":1e300}"), "end_ms"},
};

static void test_hostile_texts_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        timeline t;
        cuzk_status st = timeline_parse(&t, texts[i].json, strlen(texts[i].json));
        if ((st.code == CUZK_OK) != !texts[i].complaint)
            fail_msg("%s: %s", texts[i].json, st.msg);
        if (texts[i].complaint) {
            assert_code(st, CUZK_E_INPUT);
            if (!strstr(st.msg, texts[i].complaint))
                fail_msg("%s: %s", texts[i].json, st.msg);
            assert_null(t.spans);
        }
        timeline_fini(&t);
    }
}

static void test_texts_cut_at_every_byte_are_refused(void **state)
{
    (void)state;
    timeline t, back;
    char *json;
    make_timeline(&t);
    assert_ok(timeline_format(&json, &t));
    for (size_t n = 0; n < strlen(json); n++) {
        assert_code(timeline_parse(&back, json, n), CUZK_E_INPUT);
        timeline_fini(&back);
    }
    mem_free(json);
    timeline_fini(&t);
}

typedef cuzk_status writer(const timeline *t, FILE *f);

static char *written(writer *w, const timeline *t)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    assert_non_null(f);
    assert_ok(w(t, f));
    fclose(f);
    return text;
}

static void test_table_shows_tree_devices_and_gaps(void **state)
{
    (void)state;
    timeline t;
    make_timeline(&t);
    char *text = written(timeline_write_table, &t);
    print_message("%s", text);
    static const char *const lines[] = {
        "job job \"1\"\n",
        "\nprove ",
        "\n  decode ",
        "\n  partition [0] ",
        "\n    msm_h [0]                            cuda:0          200.000      250.000   25.0%\n",
        "\n  partition [1]                                          500.000      500.000   50.0% "
        "     200.000  <- GAP\n",
    };
    const char *at = text;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        const char *found = strstr(at, lines[i]);
        if (!found)
            fail_msg("no \"%s\" in order", lines[i]);
        at = found + strlen(lines[i]) - 1;
    }
    free(text);
    timeline_fini(&t);
}

static void test_gaps_say_where_the_time_went(void **state)
{
    (void)state;
    timeline t;
    make_timeline(&t);
    assert_true(timeline_gap_ns(&t) == 200u * MS);
    char *text = written(timeline_write_gaps, &t);
    print_message("%s", text);
    assert_non_null(strstr(text, "1 gaps, 200.000 ms unaccounted"));
    assert_non_null(strstr(text, "partition [1]: 200.000 of 500.000 ms (40.0%) are in no child"));
    assert_non_null(strstr(text, "200.000 ms from 600.000 to 800.000: between witness and msm_h"));
    free(text);
    timeline_fini(&t);
}

/* The n-th longest stretches, longest first, also when there are more than are shown. */
static void test_longest_stretches_come_first(void **state)
{
    (void)state;
    span_rec *r;
    timeline t;
    assert_ok(span_rec_create(&r, 32));
    span_id root = add(r, 0, SPAN_PROVE, 0, 1000);
    static const unsigned holes[] = {20, 50, 10, 70, 30, 60, 40}; /* before each child */
    unsigned at = 0;
    for (size_t i = 0; i < ARRAY_LEN(holes); i++) {
        add(r, root, SPAN_NTT, at + holes[i], at + holes[i] + 10);
        at += holes[i] + 10;
    }
    add(r, root, SPAN_WAIT, at, 995);
    assert_ok(timeline_from_spans(&t, "j", r, NULL, NULL));
    char *text = written(timeline_write_gaps, &t), *p = text;
    static const char *const want[] = {"70.000 ms from", "60.000 ms from", "50.000 ms from",
                                       "40.000 ms from", "30.000 ms from"};
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        p = strstr(p, want[i]);
        assert_non_null(p);
    }
    assert_null(strstr(text, "20.000 ms from"));
    free(text);
    timeline_fini(&t);
    span_rec_destroy(r);
}

/* Chrome's rule: on one row, two events are apart or one holds the other. */
static void test_trace_rows_nest(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    for (int round = 0; round < 30; round++) {
        span_rec *r;
        timeline t;
        assert_ok(span_rec_create(&r, 40));
        for (uint32_t i = 0; i < 40; i++) {
            uint64_t from = 1000 + next_random(&seed) % 50;
            span_id s = span_record(r, i ? (span_id)(next_random(&seed) % (i + 1)) : 0,
                                    i % 3 ? SPAN_NTT : SPAN_MSM_H, from * MS,
                                    (from + next_random(&seed) % 30) * MS);
            span_note(r, s, i % 5 ? -1 : 7, 0);
        }
        assert_ok(timeline_from_spans(&t, "j", r, device_of, NULL));
        char *text = written(timeline_write_chrome, &t);
        json_doc doc;
        json_val v, e;
        json_iter it;
        uint64_t row[40];
        double from[40], to[40];
        uint32_t n = 0;
        assert_ok(json_parse(&doc, text, strlen(text)));
        assert_true(json_member(&v, json_root(&doc), "traceEvents"));
        assert_ok(json_array(&it, v));
        while (json_next(&it, &e)) {
            assert_true(json_member(&v, e, "ph"));
            if (json_string_is(v, "M"))
                continue;
            assert_true(json_member(&v, e, "tid"));
            assert_ok(json_get_u64(&row[n], v, 1000));
            assert_true(json_member(&v, e, "ts"));
            assert_ok(json_get_double(&from[n], v));
            assert_true(json_member(&v, e, "dur"));
            assert_ok(json_get_double(&to[n], v));
            to[n] += from[n];
            n++;
        }
        assert_int_equal(n, 40);
        for (uint32_t a = 0; a < n; a++) {
            for (uint32_t b = 0; b < n; b++) {
                bool apart = to[a] <= from[b] || to[b] <= from[a];
                bool nested = (from[a] <= from[b] && to[b] <= to[a]) ||
                              (from[b] <= from[a] && to[a] <= to[b]);
                assert_true(row[a] != row[b] || apart || nested);
                if (row[a] == row[b]) /* a row has one owner */
                    assert_string_equal(t.spans[a].device, t.spans[b].device);
            }
        }
        json_fini(&doc);
        free(text);
        timeline_fini(&t);
        span_rec_destroy(r);
    }
}

static void test_full_file_is_reported(void **state)
{
    (void)state;
    static writer *const writers[] = {timeline_write_table, timeline_write_gaps,
                                      timeline_write_chrome};
    timeline t;
    make_timeline(&t);
    for (size_t i = 0; i < ARRAY_LEN(writers); i++) {
        FILE *f = fopen("/dev/full", "w");
        assert_non_null(f);
        assert_code(writers[i](&t, f), CUZK_E_IO);
        fclose(f);
    }
    timeline_fini(&t);
}

static void test_nth_allocation_may_fail(void **state)
{
    (void)state;
    timeline t, made, back;
    char *json, *again;
    make_timeline(&t);
    assert_ok(timeline_format(&json, &t));
    FILE *sink = fopen("/dev/null", "w");
    span_rec *r;
    assert_ok(span_rec_create(&r, 4));
    span_record(r, 0, SPAN_MSM_H, 1, 2);
    for (int what = 0; what < 6; what++) {
        uint64_t n = 0;
        cuzk_status st = cuzk_fail(CUZK_E_NOMEM, "start");
        while (st.code != CUZK_OK) {
            uint64_t live = mem_get_stats().live_bytes;
            made = back = (timeline){0};
            again = NULL;
            mem_fail_nth(++n);
            st = what == 0   ? timeline_from_spans(&made, "j", r, device_of, NULL)
                 : what == 1 ? timeline_format(&again, &t)
                 : what == 2 ? timeline_parse(&back, json, strlen(json))
                 : what == 3 ? timeline_write_table(&t, sink)
                 : what == 4 ? timeline_write_gaps(&t, sink)
                             : timeline_write_chrome(&t, sink);
            mem_fail_nth(0);
            assert_true(st.code == CUZK_OK || st.code == CUZK_E_NOMEM);
            timeline_fini(&made);
            timeline_fini(&back);
            mem_free(again);
            assert_true(mem_get_stats().live_bytes == live);
            assert_true(n < 100);
        }
        assert_true(n > 1);
    }
    fclose(sink);
    span_rec_destroy(r);
    mem_free(json);
    timeline_fini(&t);
}

static void test_lines_are_those_of_the_existing_daemon(void **state)
{
    (void)state;
    static const struct {
        timeline_line l;
        const char *want;
    } cases[] = {
        {{TIMELINE_SYNTH_START, 12, "a", 3, PROOF_POREP, 0, 0},
         "TIMELINE,12,SYNTH_START,a,partition=3\n"},
        {{TIMELINE_SYNTH_START, 0, "a", -1, PROOF_WINNING, 0, 0},
         "TIMELINE,0,SYNTH_START,a,kind=winning-post\n"},
        {{TIMELINE_SYNTH_START, 0, "a", -1, PROOF_WINDOW, 0, 0},
         "TIMELINE,0,SYNTH_START,a,kind=window-post\n"},
        {{TIMELINE_SYNTH_END, 9, "a", 0, PROOF_POREP, 0, 77},
         "TIMELINE,9,SYNTH_END,a,partition=0,synth_ms=77\n"},
        {{TIMELINE_SYNTH_END, 9, "a", -1, PROOF_POREP, 0, 77},
         "TIMELINE,9,SYNTH_END,a,synth_ms=77\n"},
        {{TIMELINE_GPU_QUEUE, 9, "a", 5, PROOF_POREP, 0, 0},
         "TIMELINE,9,GPU_QUEUE,a,partition=5\n"},
        {{TIMELINE_GPU_QUEUE, 9, "a", -1, PROOF_POREP, 0, 0},
         "TIMELINE,9,GPU_QUEUE,a,monolithic\n"},
        {{TIMELINE_GPU_PICKUP, 9, "a", 5, PROOF_POREP, 1, 0},
         "TIMELINE,9,GPU_PICKUP,a,worker=1,partition=5\n"},
        {{TIMELINE_GPU_START, 9, "a", -1, PROOF_POREP, 2, 0}, "TIMELINE,9,GPU_START,a,worker=2\n"},
        {{TIMELINE_GPU_END, UINT64_MAX, "a", 5, PROOF_POREP, 1, 1800},
         "TIMELINE,18446744073709551615,GPU_END,a,worker=1,partition=5,gpu_ms=1800\n"},
        {{TIMELINE_GPU_END, 9, "a,b%c\nd", -1, PROOF_POREP, 1, 1},
         "TIMELINE,9,GPU_END,a%2Cb%25c%0Ad,worker=1,gpu_ms=1\n"},
    };
    char line[TIMELINE_LINE_MAX];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n = timeline_format_line(line, &cases[i].l);
        assert_int_equal(n, strlen(cases[i].want));
        assert_string_equal(line, cases[i].want);
    }
    char id[JOB_ID_MAX]; /* the longest, all escaped, still ends in a whole line */
    memset(id, ',', sizeof id - 1);
    id[sizeof id - 1] = 0;
    timeline_line l = {TIMELINE_GPU_END, UINT64_MAX, id, 255, PROOF_POREP, UINT32_MAX, UINT64_MAX};
    size_t n = timeline_format_line(line, &l);
    assert_true(n > 950 && line[n - 1] == '\n' && strstr(line, "gpu_ms="));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans_and_unaccounted_time_agree_with_the_recorder),
        cmocka_unit_test(test_parents_do_not_end_before_open_children),
        cmocka_unit_test(test_json_has_the_documented_members),
        cmocka_unit_test(test_hostile_texts_are_refused),
        cmocka_unit_test(test_texts_cut_at_every_byte_are_refused),
        cmocka_unit_test(test_table_shows_tree_devices_and_gaps),
        cmocka_unit_test(test_gaps_say_where_the_time_went),
        cmocka_unit_test(test_longest_stretches_come_first),
        cmocka_unit_test(test_trace_rows_nest),
        cmocka_unit_test(test_full_file_is_reported),
        cmocka_unit_test(test_nth_allocation_may_fail),
        cmocka_unit_test(test_lines_are_those_of_the_existing_daemon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
