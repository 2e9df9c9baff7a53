/* What --check-config finds without opening anything. */
#include "base/mem.h"
#include "daemon/config.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* cmocka needs the headers above first */
#include <cmocka.h>

static char dir[64];
static daemon_config c;
static config_warnings w;

static void put(const char *key, const char *value)
{
    cuzk_status st = config_set(&c, NULL, key, value, "test");
    if (st.code != CUZK_OK)
        fail_msg("%s = %s: %s", key, value, st.msg);
}

static const char *in_dir(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    FILE *f = fopen(in_dir(name), "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fchmod(fileno(f), mode), 0);
    fclose(f);
}

static void fresh(void)
{
    config_defaults(&c);
    w = (config_warnings){0};
    put("daemon.state_dir", dir);
    put("srs.param_cache", dir);
}

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/cuzk-check-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    write_file("token", "0123456789abcdef\n", 0600);
    write_file("open-token", "0123456789abcdef\n", 0644);
    write_file("short-token", "0123456789\n", 0600);
    write_file("spaced-token", "0123456789 abcdef\n", 0600);
    write_file("pem", "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", 0600);
    write_file("no-pem", "certificate\n", 0600);
    return 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {"token",        "open-token", "short-token",
                                        "spaced-token", "pem",        "no-pem"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        unlink(in_dir(names[i]));
    return rmdir(dir);
}

static void test_what_is_wrong_is_refused(void **state)
{
    static const struct {
        const char *key, *value, *want;
    } cases[] = {
        {"daemon.listen", "9820", "daemon.listen"},
        {"daemon.listen", "host:99999", "a port from 0 to 65535"},
        {"daemon.listen", "unix://", "a socket path of 1 to 107 bytes"},
        {"daemon.status_listen", "127.0.0.1", "daemon.status_listen"},
        {"daemon.status_listen", ":9821", "daemon.status_listen: expected host:port"},
        {"daemon.status_listen", "unix:relative", "daemon.status_listen: expected host:port"},
        {"daemon.tls_listen", "unix:///a", "daemon.tls_listen: expected host:port"},
        {"daemon.socket_group", "no-such-group-here", "daemon.socket_group"},
        {"srs.preload", "porep-32g,porep-3g", "srs.preload: unknown circuit ID: porep-3g"},
        {"gpus.devices", "cpu,gpu0", "gpus.devices"},
        {"gpus.devices", "cuda:", "gpus.devices"},
        {"gpus.devices", "1234:zz", "gpus.devices"},
        {"daemon.auth_token_file", "+none", "daemon.auth_token_file"},
        {"daemon.auth_token_file", "+short-token", "16 to 1022"},
        {"daemon.auth_token_file", "+spaced-token", "without spaces"},
        {"daemon.tls_cert", "+none", "daemon.tls_cert"},
        {"daemon.tls_key", "+no-pem", "expected a PEM file"},
        {"daemon.tls_client_ca", "+no-pem", "daemon.tls_client_ca"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *v = cases[i].value;
        fresh();
        put(cases[i].key, v[0] == '+' ? in_dir(v + 1) : v);
        cuzk_status st = config_check(&c, &w);
        if (st.code == CUZK_OK || !strstr(st.msg, cases[i].want))
            fail_msg("%s = %s: wanted \"%s\", got \"%s\"", cases[i].key, v, cases[i].want, st.msg);
    }
}

static void test_what_may_come_later_is_told(void **state)
{
    static const struct {
        const char *key, *value, *want;
    } cases[] = {
        {"daemon.listen", "127.0.0.1:0", NULL},
        {"daemon.listen", "[::1]:1", NULL},
        {"daemon.listen", "localhost:1", NULL},
        {"daemon.listen", "0.0.0.0:9820", "whoever reaches this address can use the daemon"},
        {"daemon.listen", ":9820", "whoever reaches this address can use the daemon"},
        {"daemon.status_listen", "10.0.0.1:9821", "whoever reaches this address can read it"},
        {"gpus.devices", "cpu,0,cuda:1,GPU-5d5b-1,0000:17:00.0,17:00.0,abcd", NULL},
        {"srs.param_cache", "/nonexistent/keys", "srs.param_cache: /nonexistent/keys: No such"},
        {"srs.preload", "winning-2k", "srs.preload: winning-2k: v28-"},
        {"daemon.state_dir", "/dev/null/deeper", "daemon.state_dir: /dev/null/deeper: Not a dir"},
        {"daemon.state_dir", "+state/deeper", NULL},
        {"daemon.auth_token_file", "+token", NULL},
        {"daemon.auth_token_file", "+open-token", "every user can read the file"},
        {"daemon.tls_cert", "+pem", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *v = cases[i].value;
        fresh();
        put(cases[i].key, v[0] == '+' ? in_dir(v + 1) : v);
        cuzk_status st = config_check(&c, &w);
        if (st.code != CUZK_OK)
            fail_msg("%s = %s: %s", cases[i].key, v, st.msg);
        bool told = w.n == 1 && cases[i].want && strstr(w.text[0], cases[i].want);
        if (cases[i].want ? !told : w.n != 0)
            fail_msg("%s = %s: %u warnings, \"%s\"", cases[i].key, v, w.n, w.text[0]);
    }
}

static void test_a_token_crosses_the_network(void **state)
{
    (void)state;
    fresh();
    put("daemon.listen", "0.0.0.0:9820");
    put("daemon.auth_token_file", in_dir("token"));
    assert_int_equal(config_check(&c, &w).code, CUZK_OK);
    assert_int_equal(w.n, 1);
    assert_non_null(strstr(w.text[0], "in the clear"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_wrong_is_refused),
        cmocka_unit_test(test_what_may_come_later_is_told),
        cmocka_unit_test(test_a_token_crosses_the_network),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
