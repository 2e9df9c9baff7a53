/* Where a server listens, and whom it lets in. */
#include "unit/rpc/rpc_fixture.h"

static cuzk_code metrics_with(const char *address, const char *token)
{
    rpc_client *c;
    char *text = NULL;
    assert_code(rpc_client_open(&c, &(rpc_client_config){.address = address, .token = token}),
                CUZK_OK);
    cuzk_code code = rpc_client_metrics(c, &text).code;
    mem_free(text);
    rpc_client_close(c);
    return code;
}

static void test_token_is_asked_on_tcp_only(void **state)
{
    fixture *f = *state;
    const char *tcp = rpc_server_address(f->s, 1);
    assert_int_equal(metrics_with(f->address, NULL), CUZK_OK);
    assert_int_equal(metrics_with(tcp, TOKEN), CUZK_OK);
    static const char *const wrong[] = {NULL,
                                        "",
                                        "correct",
                                        TOKEN "x",
                                        "correct horse battery staplf",
                                        "Correct horse battery staple"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_int_equal(metrics_with(tcp, wrong[i]), CUZK_E_USAGE);
    assert_int_equal(rpc_server_get_stats(f->s).refused_token, ARRAY_LEN(wrong));
    engine_snapshot snap;
    assert_code(engine_get_snapshot(f->e, &snap), CUZK_OK); /* what metrics are made of */
    assert_int_equal(snap.transport.refused_token, ARRAY_LEN(wrong));
    engine_snapshot_fini(&snap);
}

static void test_socket_has_its_mode_and_its_owner(void **state)
{
    fixture *f = *state;
    struct stat st;
    rpc_server *thief;
    const char *listen[] = {f->address};
    assert_int_equal(stat(f->address + strlen("unix://"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    cuzk_status s =
        rpc_server_start(&thief, &(rpc_server_config){.listen = listen, .n_listen = 1}, f->e);
    assert_code(s, CUZK_E_IO);
    assert_non_null(strstr(s.msg, "in use by another process"));
    assert_int_equal(metrics_with(f->address, NULL), CUZK_OK);
}

/* `listen` is a variable where it is called. */
static int listen_on(int fd) { return listen(fd, 1); }

static void test_stale_socket_is_replaced_and_other_files_are_not(void **state)
{
    (void)state;
    char path[] = "/tmp/cuzk-rpc-stale-XXXXXX", address[64], lock[64];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(address, sizeof address, "unix:%s", path);
    snprintf(lock, sizeof lock, "%s.lock", path);
    const char *listen[] = {address};
    rpc_server_config cfg = {.listen = listen, .n_listen = 1};
    engine *e = fake_engine_create(&(fake_options){0});
    rpc_server *s;
    cuzk_status st = rpc_server_start(&s, &cfg, e);
    assert_code(st, CUZK_E_IO);
    assert_non_null(strstr(st.msg, "another kind of file"));
    unlink(path);
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    snprintf(sa.sun_path, sizeof sa.sun_path, "%s", path);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
    assert_int_equal(listen_on(fd), 0); /* of a program that takes no lock */
    st = rpc_server_start(&s, &cfg, e);
    assert_code(st, CUZK_E_IO);
    assert_non_null(strstr(st.msg, "in use by another process"));
    assert_int_equal(access(path, F_OK), 0);
    close(fd); /* as a killed daemon leaves it */
    assert_code(rpc_server_start(&s, &cfg, e), CUZK_OK);
    assert_int_equal(metrics_with(address, NULL), CUZK_OK);
    rpc_server_stop(s);
    fake_engine_destroy(e);
    assert_int_not_equal(access(path, F_OK), 0);
    unlink(lock);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

#define PEM(label, body) "-----BEGIN " label "-----\n" body "\n-----END " label "-----\n"

/* Whatever is wrong with the files, the message says which it is, and not that a port is taken. */
static void test_wrong_pem_files_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *cert, *key, *ca;
        const char *text;
    } cases[] = {
        {PEM("CERTIFICATE", "bm90IGE="), PEM("PRIVATE KEY", "MAA="), NULL, "/cert"},
        {PEM("CERTIFICATE", "junk!"), PEM("PRIVATE KEY", "MAA="), NULL, "/cert"},
        {PEM("CERTIFICATE", "MAEA"), "-----BEGIN PRIVATE KEY-----\n", NULL, "/key"},
        {PEM("CERTIFICATE", "MAA="), PEM("CERTIFICATE", "MAA="), NULL, "/key"},
        {PEM("PRIVATE KEY", "MAA="), PEM("PRIVATE KEY", "MAA="), NULL, "/cert"},
        {PEM("CERTIFICATE", "MAA="), PEM("PRIVATE KEY", "MAA="), "-----BEGIN junk", "/ca"},
        {PEM("CERTIFICATE", "MAA="), PEM("PRIVATE KEY", "MAA="), NULL, "do not belong together"},
    };
    char folder[] = "/tmp/cuzk-pem-XXXXXX", cert[64], key[64], ca[64];
    assert_non_null(mkdtemp(folder));
    snprintf(cert, sizeof cert, "%s/cert", folder);
    snprintf(key, sizeof key, "%s/key", folder);
    snprintf(ca, sizeof ca, "%s/ca", folder);
    engine *e = fake_engine_create(&(fake_options){0});
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        rpc_server *s;
        write_text(folder, "cert", cases[i].cert);
        write_text(folder, "key", cases[i].key);
        write_text(folder, "ca", cases[i].ca ? cases[i].ca : "");
        const rpc_server_config cfg = {.tls_listen = "127.0.0.1:0",
                                       .tls_cert = cert,
                                       .tls_key = key,
                                       .tls_client_ca = cases[i].ca ? ca : NULL};
        cuzk_status st = rpc_server_start(&s, &cfg, e);
        print_message("%s\n", st.msg);
        assert_code(st, CUZK_E_INPUT);
        assert_non_null(strstr(st.msg, cases[i].text));
        assert_null(strstr(st.msg, "cannot listen"));
    }
    fake_engine_destroy(e);
    unlink(cert);
    unlink(key);
    unlink(ca);
    rmdir(folder);
}

static void test_wrong_configurations_are_named(void **state)
{
    (void)state;
    const char *bad[] = {"nonsense"}, *good[] = {"127.0.0.1:0"}, *nowhere[] = {"192.0.2.1:1"};
    const struct {
        rpc_server_config cfg;
        cuzk_code code;
        const char *text;
    } cases[] = {
        {{.n_listen = 0}, CUZK_E_INPUT, "at least one address"},
        {{.listen = bad, .n_listen = 1}, CUZK_E_INPUT, "host:port"},
        {{.listen = nowhere, .n_listen = 1}, CUZK_E_IO, "192.0.2.1:1: cannot listen"},
        {{.listen = good, .n_listen = 1, .token = ""}, CUZK_E_INPUT, "token"},
        {{.listen = good, .n_listen = 1, .max_message_bytes = (uint64_t)4 << 30},
         CUZK_E_INPUT,
         "max_message"},
        {{.tls_listen = "127.0.0.1:0"}, CUZK_E_INPUT, "tls_cert"},
        {{.tls_listen = "127.0.0.1:0", .tls_cert = "/nonexistent", .tls_key = "/nonexistent"},
         CUZK_E_INPUT,
         "/nonexistent"},
        {{.tls_listen = "127.0.0.1:0", .tls_cert = "/etc/hostname", .tls_key = "/etc/hostname"},
         CUZK_E_INPUT,
         "expected a PEM file"},
    };
    engine *e = fake_engine_create(&(fake_options){0});
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        rpc_server *s;
        cuzk_status st = rpc_server_start(&s, &cases[i].cfg, e);
        print_message("%s\n", st.msg);
        assert_code(st, cases[i].code);
        assert_non_null(strstr(st.msg, cases[i].text));
        assert_null(s);
    }
    fake_engine_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_token_is_asked_on_tcp_only),
        WITH_SERVER(test_socket_has_its_mode_and_its_owner),
        cmocka_unit_test(test_stale_socket_is_replaced_and_other_files_are_not),
        cmocka_unit_test(test_wrong_configurations_are_named),
        cmocka_unit_test(test_wrong_pem_files_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
