/* Addresses: what configurations and command lines write. */
#include "rpc/address.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void test_accepted_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text, *target, *format;
    } cases[] = {
        {"unix:///run/curio/cuzk.sock", "unix:/run/curio/cuzk.sock", "unix:///run/curio/cuzk.sock"},
        {"unix:/run/cuzk.sock", "unix:/run/cuzk.sock", "unix:///run/cuzk.sock"},
        {"unix:cuzk.sock", "unix:cuzk.sock", "unix://cuzk.sock"},
        {"127.0.0.1:9820", "dns:///127.0.0.1:9820", "127.0.0.1:9820"},
        {"host.example:1", "dns:///host.example:1", "host.example:1"},
        {"dns:///host:65535", "dns:///host:65535", "host:65535"},
        {"[::1]:9820", "dns:///[::1]:9820", "[::1]:9820"},
        {":9820", "dns:///localhost:9820", "localhost:9820"},
        {"0.0.0.0:0", "dns:///0.0.0.0:0", "0.0.0.0:0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        rpc_address a;
        char text[RPC_TARGET_MAX];
        print_message("%s\n", cases[i].text);
        assert_int_equal(rpc_address_parse(&a, cases[i].text).code, CUZK_OK);
        rpc_address_target(text, &a);
        assert_string_equal(text, cases[i].target);
        rpc_address_format(text, &a);
        assert_string_equal(text, cases[i].format);
    }
}

static void test_refused_forms(void **state)
{
    (void)state;
    char long_path[160] = "unix://";
    memset(long_path + 7, 'x', 108);
    const char *cases[] = {
        "",        "host",     "host:",         "host:x",   "host:65536",
        "host:-1", "::1:80",   "http://host:1", "host/x:1", "unix:",
        "unix://", "host: 80", "[::1]",         long_path,  "host:999999999999999999999"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        rpc_address a;
        print_message("\"%s\"\n", cases[i]);
        cuzk_status st = rpc_address_parse(&a, cases[i]);
        assert_int_equal(st.code, CUZK_E_INPUT);
        assert_non_null(strstr(st.msg, "address: expected"));
    }
    long_path[7 + 107] = 0; /* the longest that fits */
    rpc_address a;
    assert_int_equal(rpc_address_parse(&a, long_path).code, CUZK_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted_forms),
        cmocka_unit_test(test_refused_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
