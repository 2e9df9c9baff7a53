/* A server on a unix socket and a TCP port around the pretending engine, and a client. */
#ifndef TESTS_RPC_FIXTURE_H
#define TESTS_RPC_FIXTURE_H
#include "rpc/server.h"
#include "base/mem.h"
#include "base/run_ctx.h"
#include "rpc/client.h"
#include "rpc/fake_engine.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define TOKEN "correct horse battery staple"

typedef struct fixture {
    engine *e;
    rpc_server *s;
    rpc_client *c; /* over the unix socket */
    char folder[32], address[64];
} fixture;

static inline void assert_code(cuzk_status st, cuzk_code code)
{
    if (st.code != code)
        fail_msg("%s: %s", cuzk_code_name(st.code), st.msg);
}

static inline void start(fixture *f, rpc_server_config cfg, const fake_options *o)
{
    snprintf(f->folder, sizeof f->folder, "/tmp/cuzk-rpc-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->address, sizeof f->address, "unix://%s/a/b.sock", f->folder);
    const char *listen[] = {f->address, "127.0.0.1:0"};
    cfg.listen = listen;
    cfg.n_listen = 2;
    f->e = fake_engine_create(o);
    assert_code(rpc_server_start(&f->s, &cfg, f->e), CUZK_OK);
    rpc_server_set_serving(f->s, true);
    assert_code(rpc_client_open(&f->c, &(rpc_client_config){.address = f->address}), CUZK_OK);
}

static inline int set_up(void **state)
{
    fixture *f = mem_zalloc(sizeof *f, 16);
    if (!f)
        return -1;
    *state = f;
    start(f, (rpc_server_config){.token = TOKEN, .socket_mode = 0600}, &(fake_options){0});
    return 0;
}

static inline int tear_down(void **state)
{
    fixture *f = *state;
    char path[64];
    rpc_client_close(f->c);
    rpc_server_stop(f->s);
    fake_engine_destroy(f->e); /* aborts when a watch or a reservation was leaked */
    snprintf(path, sizeof path, "%s/a/b.sock", f->folder);
    int left = access(path, F_OK) == 0;
    snprintf(path, sizeof path, "%s/a/b.sock.lock", f->folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/a", f->folder);
    rmdir(path);
    rmdir(f->folder);
    mem_free(f);
    return left ? -1 : 0;
}

static inline job_request request(const char *id, const char *script)
{
    job_request r = {.kind = PROOF_POREP, .priority = JOB_NORMAL};
    snprintf(r.request_id, sizeof r.request_id, "%s", id);
    r.vanilla_proof = (job_bytes){(const uint8_t *)script, strlen(script)};
    return r;
}

static inline void until(bool (*true_yet)(fixture *f), fixture *f)
{
    uint64_t end = clock_now_ns() + 20000000000u;
    const struct timespec step = {.tv_nsec = 2000000};
    while (!true_yet(f) && clock_now_ns() < end)
        nanosleep(&step, NULL);
    assert_true(true_yet(f));
}

static inline bool is_quiet(fixture *f)
{
    return rpc_server_get_stats(f->s).calls_live == 0 && fake_engine_look(f->e).n_watches == 0 &&
           fake_engine_look(f->e).reserved == 0;
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#endif
