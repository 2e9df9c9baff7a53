#include "base_test.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/span_int.h"
#include "base/span_names.h"
#include <yajl/yajl_tree.h>

#define MS 1000000u

static span_id add(span_rec *r, span_id parent, const char *name, uint64_t from_ms, uint64_t to_ms)
{
    span_id s = span_begin_at(r, parent, name, from_ms * MS);
    span_end_at(r, s, to_ms * MS);
    return s;
}

/* Root [100, 200) with up to four children, given as start and end in ms. */
static const struct {
    const char *what;
    unsigned n, at[4][2], unaccounted_ms;
} unions[] = {
    {"a leaf has none", 0, {{0}}, 0},
    {"one child covers all", 1, {{100, 200}}, 0},
    {"gap in front and behind", 1, {{110, 190}}, 20},
    {"two apart", 2, {{100, 120}, {150, 200}}, 30},
    {"two overlapping count once", 2, {{100, 150}, {120, 180}}, 20},
    {"one inside the other", 2, {{100, 180}, {120, 130}}, 20},
    {"touching", 2, {{100, 150}, {150, 200}}, 0},
    {"same start, long one last", 3, {{110, 120}, {110, 130}, {110, 190}}, 20},
    {"long one hides later short ones", 4, {{100, 170}, {110, 120}, {130, 140}, {180, 190}}, 20},
    {"an empty child explains nothing", 1, {{150, 150}}, 100},
    {"child outlives its parent", 1, {{150, 300}}, 50},
    {"child after its parent", 1, {{250, 300}}, 100},
};

static void test_unaccounted_is_own_time_minus_union_of_children(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(unions); i++) {
        span_rec *r;
        span_view *all;
        uint32_t n;
        assert_ok(span_rec_create(&r, 16));
        span_id root = add(r, 0, SPAN_PROVE, 100, 200);
        for (unsigned k = 0; k < unions[i].n; k++) {
            span_id child = add(r, root, SPAN_NTT, unions[i].at[k][0], unions[i].at[k][1]);
            add(r, child, SPAN_MSM_H, unions[i].at[k][0], unions[i].at[k][1]); /* not the root's */
        }
        span_view v = span_get(r, 0);
        if (v.unaccounted_ns != (uint64_t)unions[i].unaccounted_ms * MS)
            fail_msg("%s: %u ns", unions[i].what, (unsigned)v.unaccounted_ns);
        assert_int_equal(v.n_children, unions[i].n);
        assert_ok(span_snapshot(r, &all, &n));
        assert_int_equal(n, 1 + 2 * unions[i].n);
        for (uint32_t k = 0; k < n; k++) {
            v = span_get(r, k);
            assert_string_equal(all[k].name, v.name);
            assert_true(all[k].unaccounted_ns == v.unaccounted_ns &&
                        all[k].start_ns == v.start_ns && all[k].end_ns == v.end_ns &&
                        all[k].n_children == v.n_children && all[k].id == k + 1 &&
                        all[k].parent == v.parent);
        }
        mem_free(all);
        span_rec_destroy(r);
    }
}

static void test_fields_come_back(void **state)
{
    (void)state;
    span_rec *r;
    assert_ok(span_rec_create(&r, 4));
    uint64_t before = clock_now_ns();
    span_id a = span_begin(r, 0, SPAN_PROVE), b = span_begin(r, a, SPAN_PARTITION);
    span_note(r, b, 3, 12345);
    span_end(r, b);
    span_end(r, a);
    uint64_t after = clock_now_ns();
    span_view v = span_get(r, 1);
    assert_string_equal(v.name, "partition");
    assert_int_equal(v.id, b);
    assert_int_equal(v.parent, a);
    assert_int_equal(v.partition, 3);
    assert_true(v.bytes == 12345);
    assert_true(before <= v.start_ns && v.start_ns <= v.end_ns && v.end_ns <= after);
    assert_int_equal(span_get(r, 0).partition, -1);
    assert_int_equal(span_get(r, 0).parent, 0);
    uint64_t end_ns = v.end_ns;
    span_end(r, b); /* ignored */
    assert_true(span_get(r, 1).end_ns == end_ns);
    assert_null(span_get(r, 2).name); /* out of range */
    span_rec_destroy(r);
}

static void test_open_spans_end_now(void **state)
{
    (void)state;
    span_rec *r;
    assert_ok(span_rec_create(&r, 4));
    uint64_t start = clock_now_ns();
    span_begin(r, 0, SPAN_PROVE);
    span_view v1 = span_get(r, 0), v2 = span_get(r, 0);
    assert_true(v1.end_ns >= start && v2.end_ns >= v1.end_ns && v2.end_ns <= clock_now_ns());
    span_rec_destroy(r);
}

static void test_full_recorder_counts_what_it_drops(void **state)
{
    (void)state;
    span_rec *r;
    assert_ok(span_rec_create(&r, 2));
    span_id a = span_begin(r, 0, SPAN_PROVE);
    assert_true(span_begin(r, a, SPAN_EVAL) != 0);
    for (int i = 0; i < 3; i++) {
        span_id dropped = span_begin(r, a, SPAN_NTT);
        assert_int_equal(dropped, 0);
        span_note(r, dropped, 1, 1);
        span_end(r, dropped);
    }
    assert_int_equal(span_count(r), 2);
    assert_int_equal(span_dropped(r), 3);
    span_rec_destroy(r);
}

static void test_no_recorder_is_a_no_op(void **state)
{
    (void)state;
    span_id s = span_begin(NULL, 7, SPAN_PROVE);
    assert_int_equal(s, 0);
    span_note(NULL, 1, 0, 0);
    span_end(NULL, 1);
    assert_int_equal(span_count(NULL), 0);
    assert_int_equal(span_dropped(NULL), 0);
    assert_null(span_get(NULL, 0).name);
    span_rec_destroy(NULL);
}

/* Device spans come in late and in any order: all orders of four children give one result. */
static void test_late_spans_count_as_if_in_time(void **state)
{
    (void)state;
    static const unsigned at[4][2] = {{110, 120}, {115, 150}, {130, 140}, {160, 210}};
    for (unsigned order = 0; order < 256; order++) {
        unsigned seen = 0;
        span_rec *r;
        assert_ok(span_rec_create(&r, 8));
        span_id root = add(r, 0, SPAN_PROVE, 100, 200);
        for (unsigned k = 0; k < 4; k++) {
            unsigned c = order >> 2 * k & 3;
            seen |= 1u << c;
            span_id s =
                span_record(r, root, SPAN_NTT, (uint64_t)at[c][0] * MS, (uint64_t)at[c][1] * MS);
            assert_true(span_get(r, s - 1).start_ns == (uint64_t)at[c][0] * MS);
            assert_true(span_get(r, s - 1).end_ns == (uint64_t)at[c][1] * MS);
        }
        if (seen == 15 && span_get(r, 0).unaccounted_ns != 20 * (uint64_t)MS)
            fail_msg("order %x: %u ns", order, (unsigned)span_get(r, 0).unaccounted_ns);
        span_view *all;
        uint32_t n;
        assert_ok(span_snapshot(r, &all, &n));
        assert_true(all[0].unaccounted_ns == span_get(r, 0).unaccounted_ns);
        mem_free(all);
        span_rec_destroy(r);
    }
    assert_int_equal(span_record(NULL, 0, SPAN_NTT, 1, 2), 0);
}

static void test_ids_from_nowhere_are_harmless(void **state)
{
    (void)state;
    span_rec *r;
    assert_ok(span_rec_create(&r, 4));
    span_end(r, 99);
    span_note(r, 99, 1, 1);
    span_id s = span_begin(r, 99, SPAN_PROVE); /* no such parent: a root */
    assert_int_equal(span_get(r, 0).parent, 0);
    span_id child = span_begin_at(r, s, SPAN_EVAL, 1); /* start before its parent's is moved up */
    assert_true(span_get(r, child - 1).start_ns >= span_get(r, s - 1).start_ns);
    span_end_at(r, child, 1);
    assert_true(span_get(r, child - 1).end_ns == span_get(r, child - 1).start_ns);
    span_rec_destroy(r);
    assert_int_equal(span_rec_create(&r, 0).code, CUZK_E_RANGE);
    assert_null(r);
}

static void test_create_fails_cleanly(void **state)
{
    (void)state;
    uint64_t live = mem_get_stats().live_bytes;
    span_rec *r;
    for (uint64_t n = 1; n <= 2; n++) {
        mem_fail_nth(n);
        assert_int_equal(span_rec_create(&r, 8).code, CUZK_E_NOMEM);
        assert_null(r);
    }
    assert_ok(span_rec_create(&r, 8));
    add(r, 0, SPAN_PROVE, 1, 2);
    FILE *f = tmpfile();
    assert_non_null(f);
    for (uint64_t n = 1; n <= 4; n++) {
        mem_fail_nth(n);
        assert_int_equal(span_write_table(r, f).code, CUZK_E_NOMEM);
    }
    mem_fail_nth(0);
    assert_ok(span_write_table(r, f));
    fclose(f);
    span_rec_destroy(r);
    assert_int_equal(mem_get_stats().live_bytes, live);
}

static void one_span(void *ctx, size_t chunk_idx, unsigned thread_idx)
{
    (void)thread_idx;
    span_id s = span_begin(ctx, 1, SPAN_MSM_L);
    span_note(ctx, s, (int32_t)chunk_idx, chunk_idx);
    span_end(ctx, s);
}

static void test_threads_record_side_by_side(void **state)
{
    (void)state;
    span_rec *r;
    pool *p;
    bool seen[500] = {false};
    assert_ok(span_rec_create(&r, 1000));
    assert_ok(pool_create(&p, 4));
    span_id root = span_begin(r, 0, SPAN_PROVE);
    pool_for(p, 500, one_span, r);
    span_end(r, root);
    assert_int_equal(span_count(r), 501);
    for (uint32_t i = 1; i <= 500; i++) {
        span_view v = span_get(r, i);
        assert_in_range(v.partition, 0, 499);
        assert_false(seen[v.partition]);
        seen[v.partition] = true;
        assert_true(v.bytes == (uint64_t)v.partition);
        assert_true(v.start_ns >= span_get(r, i - 1).start_ns);
    }
    assert_true(span_get(r, 0).unaccounted_ns <= span_get(r, 0).end_ns - span_get(r, 0).start_ns);
    pool_destroy(p);
    span_rec_destroy(r);
}

static char *write_text(const span_rec *r, cuzk_status (*write)(const span_rec *, FILE *))
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    assert_non_null(f);
    assert_ok(write(r, f));
    fclose(f);
    return text;
}

static double number(yajl_val v, const char *a, const char *b)
{
    const char *path[] = {a, b, NULL};
    yajl_val n = yajl_tree_get(v, path, yajl_t_number);
    if (!n)
        fail_msg("no number at %s/%s", a, b ? b : "");
    return YAJL_GET_DOUBLE(n);
}

static void test_chrome_trace_is_json_with_the_right_numbers(void **state)
{
    (void)state;
    span_rec *r;
    assert_ok(span_rec_create(&r, 3));
    span_id a = add(r, 0, SPAN_PROVE, 1000, 1100), b = add(r, a, SPAN_QUOTIENT, 1010, 1090);
    span_note(r, b, 2, 77);
    add(r, b, SPAN_NTT, 1020, 1080);
    span_begin(r, 0, SPAN_VERIFY); /* dropped */
    char *text = write_text(r, span_write_chrome), err[200];
    yajl_val v = yajl_tree_parse(text, err, sizeof err);
    if (!v)
        fail_msg("%s in %s", err, text);
    yajl_val events = yajl_tree_get(v, (const char *[]){"traceEvents", NULL}, yajl_t_array);
    assert_non_null(events);
    assert_int_equal(YAJL_GET_ARRAY(events)->len, 3);
    yajl_val e = YAJL_GET_ARRAY(events)->values[1];
    assert_string_equal(
        YAJL_GET_STRING(yajl_tree_get(e, (const char *[]){"name", NULL}, yajl_t_string)),
        "quotient");
    assert_string_equal(
        YAJL_GET_STRING(yajl_tree_get(e, (const char *[]){"ph", NULL}, yajl_t_string)), "X");
    assert_true(number(e, "ts", NULL) == 10000.0 && number(e, "dur", NULL) == 80000.0);
    assert_true(number(e, "args", "unaccounted_ms") == 20.0 && number(e, "args", "partition") == 2);
    assert_true(number(e, "args", "bytes") == 77 && number(e, "args", "parent") == a);
    e = YAJL_GET_ARRAY(events)->values[2];
    assert_null(yajl_tree_get(e, (const char *[]){"args", "unaccounted_ms", NULL}, yajl_t_any));
    assert_null(yajl_tree_get(e, (const char *[]){"args", "partition", NULL}, yajl_t_any));
    assert_true(number(v, "otherData", "dropped_spans") == 1);
    yajl_tree_free(v);
    free(text);
    span_rec_destroy(r);
}

static void test_table_indents_and_marks_gaps(void **state)
{
    (void)state;
    span_rec *r;
    assert_ok(span_rec_create(&r, 16));
    span_id root = add(r, 0, SPAN_PROVE, 0, 2000), part = add(r, root, SPAN_PARTITION, 0, 1000);
    span_note(r, part, 0, 0);
    add(r, part, SPAN_EVAL, 0, 989); /* 11 ms and 1.1 % missing: a gap */
    part = add(r, root, SPAN_PARTITION, 1000, 2000);
    span_note(r, part, 1, 0);
    add(r, part, SPAN_NTT, 1000, 1991); /* 9 ms: not a gap */
    root = add(r, 0, SPAN_VERIFY, 3000, 3005);
    add(r, root, SPAN_CHECK, 3000, 3001); /* 80 %, but only 4 ms: not a gap */
    root = add(r, 0, SPAN_SETUP, 4000, 8000);
    add(r, root, SPAN_WRITE, 4000, 7975); /* 25 ms, but under 1 %: not a gap */
    char *text = write_text(r, span_write_table), *save = NULL;
    static const char *const want[] = {
        "span ",    "prove ",  "  partition [0] ", "    eval ", "  partition [1] ",
        "    ntt ", "verify ", "  check ",         "setup ",    "  write "};
    size_t i = 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save), i++) {
        assert_true(i < ARRAY_LEN(want));
        if (strncmp(line, want[i], strlen(want[i])) != 0)
            fail_msg("line %zu is \"%s\"", i, line);
        assert_int_equal(strstr(line, "GAP") != NULL, i == 2);
        if (i == 2) {
            assert_non_null(strstr(line, " 50.0%"));
            assert_non_null(strstr(line, " 11.000"));
        }
    }
    assert_int_equal(i, ARRAY_LEN(want));
    free(text);
    span_rec_destroy(r);
}

static void test_empty_recorder_writes_valid_files(void **state)
{
    (void)state;
    span_rec *r;
    char err[200];
    assert_ok(span_rec_create(&r, 1));
    char *text = write_text(r, span_write_chrome);
    yajl_val v = yajl_tree_parse(text, err, sizeof err);
    assert_non_null(v);
    yajl_tree_free(v);
    free(text);
    free(write_text(r, span_write_table));
    span_rec_destroy(r);
}

static void test_full_disk_is_an_error(void **state)
{
    (void)state;
    span_rec *r;
    assert_ok(span_rec_create(&r, 4));
    add(r, 0, SPAN_PROVE, 1, 2);
    FILE *f = fopen("/dev/full", "w");
    if (!f)
        skip();
    assert_int_equal(span_write_chrome(r, f).code, CUZK_E_IO);
    assert_int_equal(span_write_table(r, f).code, CUZK_E_IO);
    fclose(f);
    span_rec_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unaccounted_is_own_time_minus_union_of_children),
        cmocka_unit_test(test_fields_come_back),
        cmocka_unit_test(test_open_spans_end_now),
        cmocka_unit_test(test_full_recorder_counts_what_it_drops),
        cmocka_unit_test(test_no_recorder_is_a_no_op),
        cmocka_unit_test(test_late_spans_count_as_if_in_time),
        cmocka_unit_test(test_ids_from_nowhere_are_harmless),
        cmocka_unit_test(test_create_fails_cleanly),
        cmocka_unit_test(test_threads_record_side_by_side),
        cmocka_unit_test(test_chrome_trace_is_json_with_the_right_numbers),
        cmocka_unit_test(test_table_indents_and_marks_gaps),
        cmocka_unit_test(test_empty_recorder_writes_valid_files),
        cmocka_unit_test(test_full_disk_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
