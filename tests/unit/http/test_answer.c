/* From request to answer, without sockets. */
#define _GNU_SOURCE /* memmem */
#include "unit/engine/prom_check.h"
#include "unit/http/fake_engine.h"
#include "base/json_read.h"
#include "http/answer.h"
#include "http/assets.h"

static engine fake;
static http_service service = {.e = &fake, .max_jobs_listed = 1000};

static int set_up(void **state)
{
    (void)state;
    fake = fake_engine_make(true);
    service = (http_service){.e = &fake, .max_jobs_listed = 1000};
    return 0;
}

static http_answer ask(const char *method, const char *target)
{
    http_answer a;
    http_request r = {.method = method, .target = target};
    http_answer_make(&a, &service, &r);
    return a;
}

static unsigned status_of(const char *method, const char *target)
{
    http_answer a = ask(method, target);
    unsigned status = a.status;
    assert_non_null(a.media_type);
    assert_non_null(a.body);
    http_answer_fini(&a);
    return status;
}

static void test_paths_methods_and_queries_get_their_status(void **state)
{
    static const struct {
        const char *method, *target;
        unsigned status;
    } cases[] = {
        {"GET", "/", 200},
        {"GET", "/index.html", 200},
        {"GET", "/app.js", 200},
        {"HEAD", "/style.css", 200},
        {"GET", "/metrics", 200},
        {"HEAD", "/metrics", 200},
        {"GET", "/status", 200},
        {"GET", "/status?x", 200},
        {"GET", "/healthz", 200},
        {"GET", "/readyz", 200},
        {"GET", "/api/jobs", 200},
        {"GET", "/api/jobs?state=done&limit=5", 200},
        {"GET", "/api/jobs/" FAKE_DONE_ID, 200},
        {"GET", "/api/jobs/" FAKE_DONE_ID "/timeline", 200},
        {"GET", "/api/jobs/" FAKE_DONE_ID "/timeline?format=spans", 200},
        {"GET", "/api/jobs/" FAKE_DONE_ID "/timeline?format=perfetto", 200},
        {"GET", "/api/jobs/a%2Fb%3Fc=%C3%A9&d%252F", 200},
        {"GET", "/statusfoo", 404},
        {"GET", "/status/", 404},
        {"GET", "/nope", 404},
        {"GET", "//", 404},
        {"GET", "/../answer.c", 404},
        {"GET", "/%2e%2e/answer.c", 404},
        {"GET", "/api", 404},
        {"GET", "/api/jobs/", 404},
        {"GET", "/api/jobs/unknown", 404},
        {"GET", "/api/jobs/unknown/timeline", 404},
        {"GET", "/api/jobs/" FAKE_DONE_ID "/", 404},
        {"GET", "/api/jobs/" FAKE_DONE_ID "/proof", 404},
        {"GET", "/api/jobs/" FAKE_DONE_ID "/timeline/x", 404},
        {"GET", "/1/2/3/4/5/6/7/8/9", 404},
        {"POST", "/nope", 404},
        {"POST", "/status", 405},
        {"PUT", "/", 405},
        {"DELETE", "/api/jobs/" FAKE_DONE_ID, 405},
        {"OPTIONS", "/metrics", 405},
        {"get", "/", 405},
        {"GET", "nope", 400},
        {"GET", "/%zz", 400},
        {"GET", "/api/jobs/%00", 400},
        {"GET", "/api/jobs?state=nope", 400},
        {"GET", "/api/jobs?state=", 400},
        {"GET", "/api/jobs?limit=0", 400},
        {"GET", "/api/jobs?limit=1001", 400},
        {"GET", "/api/jobs?limit=-1", 400},
        {"GET", "/api/jobs?limit=99999999999999999999999", 400},
        {"GET", "/api/jobs?limit=1e3", 400},
        {"GET", "/api/jobs?limit=", 400},
        {"GET", "/api/jobs?page=2", 400},
        {"GET", "/api/jobs/" FAKE_DONE_ID "/timeline?format=xml", 400},
        {"GET", "/api/jobs/" FAKE_DONE_ID "/timeline?fmt=perfetto", 400},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        unsigned got = status_of(cases[i].method, cases[i].target);
        if (got != cases[i].status)
            fail_msg("%s %s: %u, want %u", cases[i].method, cases[i].target, got, cases[i].status);
    }
    static char too_long[4000];
    memset(too_long, 'x', sizeof too_long - 1);
    too_long[0] = '/';
    assert_int_equal(status_of("GET", too_long), 414);
}

static void test_405_says_what_is_allowed(void **state)
{
    (void)state;
    http_answer a = ask("POST", "/status");
    assert_string_equal(a.allow, "GET, HEAD");
    http_answer_fini(&a);
}

/* ---- contents ---- */

static void test_metrics_are_well_formed(void **state)
{
    (void)state;
    static prom_text t;
    http_answer a = ask("GET", "/metrics");
    assert_string_equal(a.media_type, "text/plain; version=0.0.4; charset=utf-8");
    prom_parse(&t, a.body, a.len);
    assert_true(prom_value(&t, "cuzk_proofs_completed_total") == 4699);
    prom_fini(&t);
    http_answer_fini(&a);
}

static json_doc doc;

static http_answer ask_json(const char *target)
{
    http_answer a = ask("GET", target);
    assert_string_equal(a.media_type, "application/json");
    assert_ok(json_parse(&doc, a.body, a.len));
    return a;
}

static json_val member(json_val v, const char *name)
{
    json_val m;
    if (!json_member(&m, v, name))
        fail_msg("no member %s", name);
    return m;
}

static void test_status_is_readable_by_pages_elsewhere(void **state)
{
    (void)state;
    http_answer a = ask_json("/status");
    assert_true(a.allows_any_site);
    json_val v = member(json_root(&doc), "ready");
    assert_int_equal(json_val_kind(v), JSON_TRUE);
    json_fini(&doc);
    http_answer_fini(&a);
    service.bearer_token = "t";
    a = ask("GET", "/status");
    assert_false(a.allows_any_site);
    http_answer_fini(&a);
    a = ask("GET", "/api/jobs");
    assert_false(a.allows_any_site);
    http_answer_fini(&a);
}

static size_t count_jobs(const char *target, const char *state_name)
{
    http_answer a = ask_json(target);
    json_iter it;
    json_val v;
    size_t n = 0;
    uint64_t last = UINT64_MAX, created;
    assert_ok(json_array(&it, member(json_root(&doc), "jobs")));
    for (; json_next(&it, &v); n++) {
        if (state_name)
            assert_true(json_string_is(member(v, "state"), state_name));
        if (strstr(target, "state=") && !strstr(target, "=queued")) {
            assert_ok(json_get_u64(&created, member(v, "created_unix_ms"), UINT64_MAX));
            assert_true(created <= last);
            last = created;
        }
    }
    json_fini(&doc);
    http_answer_fini(&a);
    return n;
}

static void test_lists_are_filtered_and_limited(void **state)
{
    (void)state;
    assert_int_equal(count_jobs("/api/jobs", NULL), FAKE_N_JOBS);
    assert_int_equal(count_jobs("/api/jobs?limit=3", NULL), 3);
    assert_int_equal(count_jobs("/api/jobs?state=queued", "queued"), FAKE_N_QUEUED);
    assert_int_equal(count_jobs("/api/jobs?state=failed&limit=1000", "failed"), 1);
    assert_int_equal(count_jobs("/api/jobs?state=live", NULL), FAKE_N_QUEUED + 1);
    assert_int_equal(count_jobs("/api/jobs?limit=2&state=live", NULL), 2);
    assert_int_equal(count_jobs("/api/jobs?state=running", NULL), 1);
    assert_int_equal(count_jobs("/api/jobs?state=final", NULL), FAKE_N_JOBS - FAKE_N_QUEUED - 1);
    assert_int_equal(count_jobs("/api/jobs?state=verifying", NULL), 0);
    fake.n_hidden = 3; /* the search for the rest ends */
    assert_int_equal(count_jobs("/api/jobs?state=live", NULL), FAKE_N_QUEUED + 1);
    assert_int_equal(count_jobs("/api/jobs?state=queued&limit=2", "queued"), 2);
    service.max_jobs_listed = 7;
    assert_int_equal(count_jobs("/api/jobs", NULL), 7);
    assert_int_equal(status_of("GET", "/api/jobs?limit=8"), 400);
}

static void test_a_long_queue_shows_whose_turn_is_next(void **state)
{
    (void)state;
    fake.scene = FAKE_CROWD;
    http_answer a = ask_json("/api/jobs?state=queued&limit=3");
    json_iter it;
    json_val v;
    uint64_t at, n = 0;
    assert_ok(json_array(&it, member(json_root(&doc), "jobs")));
    for (; json_next(&it, &v); n++) {
        assert_ok(json_get_u64(&at, member(v, "queue_position"), UINT64_MAX));
        assert_int_equal(at, n + 1); /* the made-up queue begins with 1 */
    }
    assert_int_equal(n, 3);
    json_fini(&doc);
    http_answer_fini(&a);
}

static void test_an_engine_without_anything_answers(void **state)
{
    (void)state;
    fake.scene = FAKE_EMPTY;
    assert_int_equal(count_jobs("/api/jobs", NULL), 0);
    assert_int_equal(count_jobs("/api/jobs?state=queued", NULL), 0);
    assert_int_equal(status_of("GET", "/status"), 200);
    assert_int_equal(status_of("GET", "/metrics"), 200);
}

static void test_a_job_is_found_by_any_id(void **state)
{
    static const struct {
        const char *target, *id;
    } cases[] = {
        {"/api/jobs/" FAKE_RUNNING_ID, FAKE_RUNNING_ID},
        {"/api/jobs/snap-1000-%3Cb%3E77%3C%2Fb%3E", FAKE_FAILED_ID},
        {"/api/jobs/wdpost-1000-0-%5B12%207%20200%209%201%2088%203%2041%5D", FAKE_ODD_ID},
        {"/api/jobs/a%2Fb%3Fc%3D%C3%A9%26d%252F", FAKE_SLASH_ID},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        http_answer a = ask_json(cases[i].target);
        assert_int_equal(a.status, 200);
        assert_true(json_string_is(member(json_root(&doc), "job_id"), cases[i].id));
        json_fini(&doc);
        http_answer_fini(&a);
    }
}

static void test_errors_are_json_and_name_the_cause(void **state)
{
    (void)state;
    http_answer a = ask_json("/api/jobs/%3Cscript%3E");
    assert_int_equal(a.status, 404);
    assert_true(json_string_is(member(json_root(&doc), "error"), "job <script> is not known"));
    json_fini(&doc);
    http_answer_fini(&a);
}

static void test_trace_is_a_download_with_a_safe_name(void **state)
{
    (void)state;
    http_answer a =
        ask_json("/api/jobs/wdpost-1000-0-%5B12%207%20200%209%201%2088%203%2041%5D/timeline?"
                 "format=perfetto");
    json_iter it;
    json_val v;
    size_t n_spans = 0;
    assert_int_equal(a.status, 200);
    assert_string_equal(a.download, "cuzk-wdpost-1000-0-_12_7_200_9_1_88_3_41_.json");
    assert_ok(json_array(&it, member(json_root(&doc), "traceEvents")));
    while (json_next(&it, &v))
        n_spans += json_string_is(member(v, "ph"), "X");
    assert_int_equal(n_spans, 6 + FAKE_PARTITIONS * 14);
    json_fini(&doc);
    http_answer_fini(&a);

    char id[400] = "/api/jobs/", *p = id + strlen(id);
    memset(p, 'x', 310);
    strcpy(p + 310, "/timeline?format=perfetto");
    a = ask("GET", id); /* not known; the name must not matter */
    assert_int_equal(a.status, 404);
    http_answer_fini(&a);
}

static void test_ready_only_when_warm_and_not_draining(void **state)
{
    (void)state;
    fake.is_ready = false;
    assert_int_equal(status_of("GET", "/readyz"), 503);
    assert_int_equal(status_of("GET", "/healthz"), 200);
    fake.is_ready = true;
    assert_int_equal(status_of("GET", "/readyz"), 200);
    fake.is_draining = true;
    http_answer a = ask("GET", "/readyz");
    assert_int_equal(a.status, 503);
    assert_string_equal(a.body, "draining\n");
    http_answer_fini(&a);
}

static void test_engine_failures_become_statuses(void **state)
{
    static const struct {
        cuzk_code code;
        unsigned status;
    } cases[] = {{CUZK_E_IO, 500},   {CUZK_E_INTERNAL, 500},  {CUZK_E_NOMEM, 503},
                 {CUZK_E_BUSY, 503}, {CUZK_E_NOT_FOUND, 404}, {CUZK_E_INPUT, 400}};
    static const char *const targets[] = {"/metrics", "/status", "/api/jobs", "/api/jobs/x",
                                          "/api/jobs/x/timeline"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t k = 0; k < ARRAY_LEN(targets); k++) {
            fake.fails_with = cases[i].code;
            http_answer a = ask("GET", targets[k]);
            assert_int_equal(a.status, cases[i].status);
            assert_true(a.is_retry_later == (a.status == 503));
            http_answer_fini(&a);
        }
}

/* ---- token, caching ---- */

static unsigned with_token(const char *target, const char *authorization)
{
    http_answer a;
    http_request r = {.method = "GET", .target = target, .authorization = authorization};
    http_answer_make(&a, &service, &r);
    unsigned status = a.status;
    assert_true(a.asks_token == (status == 401));
    http_answer_fini(&a);
    return status;
}

static void test_token_guards_all_data(void **state)
{
    static const char *const guarded[] = {"/metrics", "/status", "/api/jobs",
                                          "/api/jobs/" FAKE_DONE_ID,
                                          "/api/jobs/" FAKE_DONE_ID "/timeline"};
    static const char *const open[] = {"/", "/app.js", "/healthz", "/readyz"};
    static const char *const wrong[] = {NULL,
                                        "",
                                        "Bearer",
                                        "Bearer ",
                                        "Bearer s3cre",
                                        "Bearer s3crett",
                                        "Bearer S3cret",
                                        "Basic s3cret",
                                        "s3cret",
                                        "Bearer s3cret ",
                                        "Bearer  s3cret"};
    (void)state;
    service.bearer_token = "s3cret";
    for (size_t i = 0; i < ARRAY_LEN(guarded); i++) {
        for (size_t k = 0; k < ARRAY_LEN(wrong); k++)
            if (with_token(guarded[i], wrong[k]) != 401)
                fail_msg("%s with \"%s\"", guarded[i], wrong[k] ? wrong[k] : "(none)");
        assert_int_equal(with_token(guarded[i], "Bearer s3cret"), 200);
        assert_int_equal(with_token(guarded[i], "bearer s3cret"), 200);
    }
    for (size_t i = 0; i < ARRAY_LEN(open); i++)
        assert_int_equal(with_token(open[i], NULL), 200);
    assert_int_equal(with_token("/nope", NULL), 404);
}

static unsigned with_etag(const char *target, const char *if_none_match, size_t *len)
{
    http_answer a;
    http_request r = {.method = "GET", .target = target, .if_none_match = if_none_match};
    http_answer_make(&a, &service, &r);
    unsigned status = a.status;
    *len = a.len;
    http_answer_fini(&a);
    return status;
}

static void test_assets_are_sent_once(void **state)
{
    (void)state;
    const http_asset *page = http_find_asset("");
    char list[128];
    size_t len;
    assert_int_equal(with_etag("/", NULL, &len), 200);
    assert_int_equal(len, page->len);
    assert_int_equal(with_etag("/", page->etag, &len), 304);
    assert_int_equal(len, 0);
    snprintf(list, sizeof list, "\"other\", W/%s", page->etag);
    assert_int_equal(with_etag("/", list, &len), 304);
    assert_int_equal(with_etag("/", "*", &len), 304);
    assert_int_equal(with_etag("/", "\"0123456789abcdef\"", &len), 200);
    assert_int_equal(with_etag("/status", "*", &len), 200); /* data is never cached */
    http_answer a = ask("GET", "/status");
    assert_null(a.etag);
    http_answer_fini(&a);
}

static bool contains(const http_asset *a, const char *word)
{
    return memmem(a->bytes, a->len, word, strlen(word)) != NULL;
}

/* Everything a page names is there, nothing is fetched from elsewhere, no text can become HTML. */
static void test_assets_stand_alone(void **state)
{
    static const char *const banned[] = {
        "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",      "https://",
        "//cdn",     "@import",   "style=\"",           "onclick=\"",     "javascript:"};
    static const char *const marks[] = {"from \"./", "src=\"", "href=\"", "url("};
    (void)state;
    for (size_t i = 0; i < HTTP_N_ASSETS; i++) {
        const http_asset *a = &HTTP_ASSETS[i];
        assert_true(a->len > 0);
        for (size_t k = 0; k < ARRAY_LEN(banned); k++)
            if (contains(a, banned[k]))
                fail_msg("%s holds %s", a->name, banned[k]);
        if (contains(a, "http://") && strcmp(a->name, "icon.svg") != 0)
            fail_msg("%s names another host", a->name);
        const char *text = (const char *)a->bytes, *end = text + a->len;
        for (size_t k = 0; k < ARRAY_LEN(marks); k++)
            for (const char *p = text;
                 (p = memmem(p, (size_t)(end - p), marks[k], strlen(marks[k]))) != NULL;) {
                char target[64] = "/";
                p += strlen(marks[k]);
                size_t n = strcspn(p, "\")?");
                if (*p == '#' || n > 60)
                    continue;
                memcpy(target + 1, p, n);
                if (status_of("GET", target) != 200)
                    fail_msg("%s names %s, which is not served", a->name, target);
            }
    }
}

static void test_every_failed_allocation_is_answered(void **state)
{
    static const char *const targets[] = {"/metrics",
                                          "/status",
                                          "/api/jobs?state=final",
                                          "/api/jobs",
                                          "/api/jobs/" FAKE_DONE_ID,
                                          "/api/jobs/unknown",
                                          "/api/jobs?limit=0",
                                          "/api/jobs/" FAKE_DONE_ID "/timeline",
                                          "/api/jobs/" FAKE_DONE_ID "/timeline?format=perfetto"};
    (void)state;
    uint64_t before = mem_get_stats().live_bytes;
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        unsigned want = status_of("GET", targets[i]), got = 0;
        for (uint64_t n = 1; got != want && n < 2000; n++) {
            mem_fail_nth(n);
            http_answer a = ask("GET", targets[i]);
            mem_fail_nth(0);
            got = a.status;
            if (got != want && got != 503)
                fail_msg("%s, allocation %llu: %u", targets[i], (unsigned long long)n, got);
            http_answer_fini(&a);
        }
        assert_int_equal(got, want);
    }
    assert_int_equal(mem_get_stats().live_bytes, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_paths_methods_and_queries_get_their_status, set_up),
        cmocka_unit_test_setup(test_405_says_what_is_allowed, set_up),
        cmocka_unit_test_setup(test_metrics_are_well_formed, set_up),
        cmocka_unit_test_setup(test_status_is_readable_by_pages_elsewhere, set_up),
        cmocka_unit_test_setup(test_lists_are_filtered_and_limited, set_up),
        cmocka_unit_test_setup(test_a_long_queue_shows_whose_turn_is_next, set_up),
        cmocka_unit_test_setup(test_an_engine_without_anything_answers, set_up),
        cmocka_unit_test_setup(test_a_job_is_found_by_any_id, set_up),
        cmocka_unit_test_setup(test_errors_are_json_and_name_the_cause, set_up),
        cmocka_unit_test_setup(test_trace_is_a_download_with_a_safe_name, set_up),
        cmocka_unit_test_setup(test_ready_only_when_warm_and_not_draining, set_up),
        cmocka_unit_test_setup(test_engine_failures_become_statuses, set_up),
        cmocka_unit_test_setup(test_token_guards_all_data, set_up),
        cmocka_unit_test_setup(test_assets_are_sent_once, set_up),
        cmocka_unit_test_setup(test_assets_stand_alone, set_up),
        cmocka_unit_test_setup(test_every_failed_allocation_is_answered, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
