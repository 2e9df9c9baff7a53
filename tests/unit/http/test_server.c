/* The server over real sockets: transport, misbehaving clients, start and stop. */
#define _GNU_SOURCE /* strcasestr */
#include "unit/base/base_test.h"
#include "unit/http/fake_engine.h"
#include "base/span.h"
#include "http/server.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define WAIT_MS 10000 /* more than any answer takes, on a loaded machine too */

static engine fake;
static http_server *server;
static char reply[1 << 18];
static size_t reply_len;

static void start(const char *address, const char *token, uint32_t max_connections)
{
    fake = fake_engine_make(true);
    http_config cfg = {
        .listen = address, .bearer_token = token, .max_connections = max_connections};
    assert_ok(http_server_start(&server, &cfg, &fake));
}

static int set_up(void **state)
{
    (void)state;
    start("127.0.0.1:0", NULL, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    http_server_stop(server);
    server = NULL;
    return 0;
}

static int dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(http_server_port(server))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void tell_n(int fd, const void *data, size_t n)
{
    /* A server that has had enough may have closed already. */
    ssize_t rc = send(fd, data, n, MSG_NOSIGNAL);
    (void)rc;
}

static void tell(int fd, const char *text) { tell_n(fd, text, strlen(text)); }

/* Read to the end of the stream; false when it does not come. */
static bool hear(int fd)
{
    for (reply_len = 0; reply_len < sizeof reply - 1;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, WAIT_MS) != 1)
            return false;
        ssize_t n = recv(fd, reply + reply_len, sizeof reply - 1 - reply_len, 0);
        if (n <= 0)
            break;
        reply_len += (size_t)n;
    }
    reply[reply_len] = 0;
    return true;
}

static unsigned reply_status(void)
{
    unsigned status = 0;
    sscanf(reply, "HTTP/1.1 %u", &status);
    return status;
}

/* One request on its own connection. */
static unsigned get_with(const char *method, const char *target, const char *headers)
{
    char request[2048];
    int fd = dial();
    snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n",
             method, target, headers);
    tell(fd, request);
    assert_true(hear(fd));
    close(fd);
    return reply_status();
}

static unsigned get(const char *target) { return get_with("GET", target, ""); }

static const char *body(void)
{
    const char *p = strstr(reply, "\r\n\r\n");
    assert_non_null(p);
    return p + 4;
}

static bool has_header(const char *line) { return strcasestr(reply, line) != NULL; }

static void test_answers_carry_the_safety_headers(void **state)
{
    (void)state;
    assert_int_equal(get("/"), 200);
    assert_true(has_header("\r\nContent-Security-Policy: default-src 'none'; script-src 'self'"));
    assert_true(has_header("\r\nX-Content-Type-Options: nosniff\r\n"));
    assert_true(has_header("\r\nETag: \""));
    assert_true(has_header("\r\nCache-Control: no-cache\r\n"));
    assert_true(has_header("\r\nCross-Origin-Resource-Policy: same-origin\r\n"));
    assert_false(has_header("Access-Control-Allow-Origin"));
    assert_non_null(strstr(body(), "<!doctype html>"));
    assert_int_equal(get("/status"), 200);
    assert_true(has_header("\r\nAccess-Control-Allow-Origin: *\r\n"));
    assert_true(has_header("\r\nCache-Control: no-store\r\n"));
    assert_int_equal(get("/api/jobs/" FAKE_DONE_ID "/timeline?format=perfetto"), 200);
    assert_true(has_header("\r\nContent-Disposition: attachment; filename=\"cuzk-porep-1000-4212"
                           ".json\"\r\n"));
    assert_int_equal(get_with("POST", "/status", "Content-Length: 0\r\n"), 405);
    assert_true(has_header("\r\nAllow: GET, HEAD\r\n"));
}

static void test_head_has_the_length_and_no_body(void **state)
{
    (void)state;
    size_t want;
    char line[64];
    assert_int_equal(get("/app.js"), 200);
    want = strlen(body());
    assert_int_equal(get_with("HEAD", "/app.js", ""), 200);
    assert_string_equal(body(), "");
    snprintf(line, sizeof line, "\r\nContent-Length: %zu\r\n", want);
    assert_true(has_header(line));
}

static void test_known_assets_are_not_sent_again(void **state)
{
    (void)state;
    char headers[128], etag[64];
    assert_int_equal(get("/style.css"), 200);
    assert_int_equal(sscanf(strcasestr(reply, "\r\nETag: "), "\r\n%*s %60s", etag), 1);
    snprintf(headers, sizeof headers, "If-None-Match: %s\r\n", etag);
    assert_int_equal(get_with("GET", "/style.css", headers), 304);
    assert_string_equal(body(), "");
}

static void test_token_is_asked_for(void **state)
{
    (void)state;
    tear_down(NULL);
    start("127.0.0.1:0", "s3cret", 0);
    assert_int_equal(get("/status"), 401);
    assert_true(has_header("\r\nWWW-Authenticate: Bearer"));
    assert_int_equal(get("/healthz"), 200);
    assert_int_equal(get_with("GET", "/status", "Authorization: Bearer s3cret\r\n"), 200);
}

static void test_requests_of_one_connection_are_answered_in_order(void **state)
{
    (void)state;
    int fd = dial();
    tell(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"
             "GET /nope HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_true(hear(fd));
    close(fd);
    const char *a = strstr(reply, "\r\n\r\nok\n"), *b = strstr(reply, "\r\n\r\nready\n");
    const char *c = strstr(reply, "404 Not Found\n");
    assert_true(a && b && c && a < b && b < c);
}

/* ---- clients that misbehave ---- */

static void test_malformed_requests_do_no_harm(void **state)
{
    static const char *const requests[] = {
        "",
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET /status HTTP/1.0\r\n\r\n",
        "G\x01T / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nHost x\r\n\r\n",
        "GET / HTTP/1.1\r\n: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST /status HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        int fd = dial();
        tell(fd, requests[i]);
        shutdown(fd, SHUT_WR);
        if (!hear(fd))
            fail_msg("request %zu: no end", i);
        if (reply_len > 0)
            assert_true(strncmp(reply, "HTTP/1.", 7) == 0);
        close(fd);
        assert_int_equal(get("/healthz"), 200);
    }
}

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

static void test_mutated_requests_do_no_harm(void **state)
{
    static const char *const seeds[] = {
        "GET /api/jobs?state=done&limit=5 HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"a\"\r\n\r\n",
        "GET /api/jobs/porep-1000-4212/timeline?format=perfetto HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /status HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
        "GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
        "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    };
    (void)state;
    uint64_t seed = 0x853c49e6748fea9bu;
    print_message("seed %llx\n", (unsigned long long)seed);
    for (int round = 0; round < 400; round++) {
        char request[512];
        const char *from = seeds[next_random(&seed) % ARRAY_LEN(seeds)];
        size_t n = strlen(from);
        memcpy(request, from, n);
        for (uint64_t k = 1 + next_random(&seed) % 6; k > 0; k--) {
            size_t at = next_random(&seed) % n;
            switch (next_random(&seed) % 3) {
            case 0:
                request[at] = (char)next_random(&seed);
                break;
            case 1: /* cut out */
                memmove(request + at, request + at + 1, n - at - 1);
                n -= n > 1;
                break;
            default: /* double */
                memmove(request + at + 1, request + at, n - at);
                n += n < sizeof request - 8;
            }
        }
        int fd = dial();
        tell_n(fd, request, n);
        shutdown(fd, SHUT_WR);
        if (!hear(fd))
            fail_msg("round %d: no end", round);
        close(fd);
    }
    assert_int_equal(get("/healthz"), 200);
}

static void test_large_headers_and_bodies_are_refused(void **state)
{
    (void)state;
    static char big[1 << 17];
    memset(big, 'a', sizeof big);
    int fd = dial();
    tell(fd, "GET / HTTP/1.1\r\nHost: x\r\nX: ");
    tell_n(fd, big, sizeof big);
    shutdown(fd, SHUT_WR);
    assert_true(hear(fd));
    close(fd);
    if (reply_len > 0)
        assert_true(reply_status() >= 400);

    fd = dial();
    tell(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 131072\r\n\r\n");
    tell_n(fd, big, sizeof big);
    shutdown(fd, SHUT_WR);
    assert_true(hear(fd));
    close(fd);
    assert_true(reply_status() != 200);
    assert_int_equal(get("/healthz"), 200);
}

/* More silent and half-told connections than there is room for; each new one still gets through. */
static void test_silent_clients_lock_nobody_out(void **state)
{
    (void)state;
    int silent[40];
    tear_down(NULL);
    start("127.0.0.1:0", NULL, 8);
    for (size_t i = 0; i < ARRAY_LEN(silent); i++) {
        silent[i] = dial();
        if (i % 2)
            tell(silent[i], "GET /status HTTP/1.1\r\nHos");
        if (i % 10 == 9)
            assert_int_equal(get("/healthz"), 200);
    }
    assert_int_equal(get("/healthz"), 200);
    for (size_t i = 0; i < ARRAY_LEN(silent); i++)
        close(silent[i]);
}

/* Clients that ask for much and read nothing hold up neither others nor memory. */
static void test_slow_readers_hold_up_nobody(void **state)
{
    (void)state;
    int slow[16], small = 4096;
    for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
        slow[i] = dial();
        setsockopt(slow[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        for (int k = 0; k < 8; k++)
            tell(slow[i], "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    uint64_t start_ns = clock_now_ns();
    assert_int_equal(get("/metrics"), 200);
    assert_true(clock_now_ns() - start_ns < (uint64_t)WAIT_MS * 1000000 / 2);
    for (size_t i = 0; i < ARRAY_LEN(slow); i++)
        close(slow[i]);
}

static void test_memory_is_flat_under_bad_requests(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        get("/nope");
    uint64_t before = mem_get_stats().live_bytes;
    for (int i = 0; i < 300; i++) {
        get("/%zz");
        get("/api/jobs?limit=x");
        get("/status");
    }
    tear_down(NULL); /* all answers are given back, whatever the state of their connections */
    assert_true(mem_get_stats().live_bytes < before);
    start("127.0.0.1:0", NULL, 0);
}

/* ---- start and stop ---- */

static cuzk_code try_start(const char *address, const char *token)
{
    http_server *s;
    http_config cfg = {.listen = address, .bearer_token = token};
    cuzk_status st = http_server_start(&s, &cfg, &fake);
    if (st.code == CUZK_OK)
        http_server_stop(s);
    else
        assert_true(!s && st.msg[0]);
    return st.code;
}

static void test_bad_addresses_are_named(void **state)
{
    static const struct {
        const char *address;
        cuzk_code code;
    } cases[] = {
        {"", CUZK_E_USAGE},
        {"localhost", CUZK_E_USAGE},
        {":80", CUZK_E_USAGE},
        {"127.0.0.1:", CUZK_E_USAGE},
        {"127.0.0.1:x", CUZK_E_USAGE},
        {"127.0.0.1:80x", CUZK_E_USAGE},
        {"127.0.0.1:123456", CUZK_E_USAGE},
        {"::1:80", CUZK_E_USAGE},
        {"[::1]", CUZK_E_USAGE},
        {"unix://relative", CUZK_E_USAGE},
        {"unix:///nowhere/at/all.sock", CUZK_E_IO},
        {"192.0.2.1:0", CUZK_E_IO}, /* an address of documentation, never ours */
        {"127.0.0.1:0", CUZK_OK},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (try_start(cases[i].address, NULL) != cases[i].code)
            fail_msg("%s", cases[i].address);
    assert_int_equal(try_start("127.0.0.1:0", "two words"), CUZK_E_USAGE);
    assert_int_equal(try_start("127.0.0.1:0", "caf\xc3\xa9"), CUZK_E_USAGE);
}

static void test_a_port_in_use_is_an_error(void **state)
{
    (void)state;
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%u", http_server_port(server));
    assert_int_equal(try_start(address, NULL), CUZK_E_IO);
    tear_down(NULL);
    start(address, NULL, 0); /* free again at once */
    assert_int_equal(get("/healthz"), 200);
}

static void test_unix_sockets(void **state)
{
    (void)state;
    char dir[] = "/tmp/cuzk-http-XXXXXX", path[64], address[80];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/s.sock", dir);
    snprintf(address, sizeof address, "unix://%s", path);
    tear_down(NULL);

    /* A socket that a dead process left is replaced. */
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    strcpy(at.sun_path, path);
    int dead = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(dead, (struct sockaddr *)&at, sizeof at), 0);
    close(dead);
    start(address, NULL, 0);
    assert_int_equal(http_server_port(server), 0);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0660);
    assert_int_equal(try_start(address, NULL), CUZK_E_IO); /* in use */

    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    tell(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_true(hear(fd));
    close(fd);
    assert_int_equal(reply_status(), 200);

    tear_down(NULL);
    assert_int_equal(stat(path, &info), -1);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(try_start(address, NULL), CUZK_E_IO); /* a file is not ours to remove */
    assert_int_equal(stat(path, &info), 0);
    unlink(path);
    rmdir(dir);
}

static void test_stop_ends_open_connections(void **state)
{
    (void)state;
    int fd = dial();
    tell(fd, "GET /status HTTP/1.1\r\nHo");
    uint64_t start_ns = clock_now_ns();
    tear_down(NULL);
    assert_true(clock_now_ns() - start_ns < (uint64_t)5000 * 1000000);
    assert_true(hear(fd));
    assert_int_equal(reply_len, 0);
    close(fd);
    http_server_stop(NULL);
}

static void test_start_survives_failed_allocations(void **state)
{
    (void)state;
    tear_down(NULL);
    uint64_t before = mem_get_stats().live_bytes;
    for (uint64_t n = 1;; n++) {
        mem_fail_nth(n);
        cuzk_code code = try_start("127.0.0.1:0", "token");
        mem_fail_nth(0);
        if (code == CUZK_OK) {
            assert_true(n > 3);
            break;
        }
        assert_int_equal(code, CUZK_E_NOMEM);
    }
    assert_int_equal(mem_get_stats().live_bytes, before);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_answers_carry_the_safety_headers),
        CASE(test_head_has_the_length_and_no_body),
        CASE(test_known_assets_are_not_sent_again),
        CASE(test_token_is_asked_for),
        CASE(test_requests_of_one_connection_are_answered_in_order),
        CASE(test_malformed_requests_do_no_harm),
        CASE(test_mutated_requests_do_no_harm),
        CASE(test_large_headers_and_bodies_are_refused),
        CASE(test_silent_clients_lock_nobody_out),
        CASE(test_slow_readers_hold_up_nobody),
        CASE(test_memory_is_flat_under_bad_requests),
        CASE(test_bad_addresses_are_named),
        CASE(test_a_port_in_use_is_an_error),
        CASE(test_unix_sockets),
        CASE(test_stop_ends_open_connections),
        CASE(test_start_survives_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
