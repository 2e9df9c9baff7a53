#include "daemon/daemon.h"
#include "base/mem.h"
#include "daemon/devices.h"
#include "http/server.h"
#include "rpc/server.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

typedef struct server {
    const daemon_options *opts;
    daemon_config cfg;
    char store_path[CONFIG_TEXT_MAX + 16], token[TOKEN_MAX];
    daemon_devices devices;
    const char *preload[CONFIG_LIST_MAX];
    engine *engine;
    rpc_server *rpc;
    http_server *http;
    bool serving;
    bool is_announced; /* to systemd */
    bool is_stuck;     /* a device does not come back */
    uint64_t watchdog_ns, last_ping_ns;
} server;

cuzk_status daemon_load_config(daemon_config *c, config_warnings *w, const daemon_options *o)
{
    cuzk_status st;
    if (o->config_path) {
        st = config_load(c, w, o->config_path, environ);
    } else {
        st = config_load(c, w, CONFIG_DEFAULT_PATH, environ);
        if (st.code == CUZK_E_NOT_FOUND)
            st = config_load(c, w, NULL, environ);
    }
    CUZK_TRY(st);
    if (o->listen)
        CUZK_TRY(config_set(c, w, "daemon.listen", o->listen, "--listen"));
    if (o->status_listen)
        CUZK_TRY(config_set(c, w, "daemon.status_listen", o->status_listen, "--status-listen"));
    if (o->log_level)
        CUZK_TRY(config_set(c, w, "logging.level", o->log_level, "--log-level"));
    if (o->threads)
        CUZK_TRY(config_set(c, w, "synthesis.threads", o->threads, "--threads"));
    return cuzk_ok();
}

static void tell_warnings(const config_warnings *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        log_warn("config", LOG_STR("text", w->text[i]));
    if (w->n_dropped)
        log_warn("config", LOG_U64("more_warnings", w->n_dropped));
}

static void set_log(const daemon_config *c)
{
    log_set(config_log_level(c), strcmp(c->log_format, "json") == 0);
}

/* mkdir -p; folders are ours alone, since requests lie in the journal. */
static cuzk_status make_folders(const char *path)
{
    char at[CONFIG_TEXT_MAX];
    snprintf(at, sizeof at, "%s", path);
    for (char *p = at + 1;; p++) {
        if (*p != '/' && *p != 0)
            continue;
        char kept = *p;
        *p = 0;
        if (mkdir(at, 0750) != 0 && errno != EEXIST)
            return cuzk_fail(CUZK_E_IO, "daemon.state_dir: %s: %s", at, strerror(errno));
        *p = kept;
        if (!kept)
            return cuzk_ok();
    }
}

static engine_config engine_config_of(const server *d)
{
    const daemon_config *c = &d->cfg;
    engine_config e = {
        .param_dir = c->param_cache,
        .store_path = d->store_path,
        .devices = d->devices.items,
        .n_devices = d->devices.n,
        .n_threads = c->threads,
        .n_host_workers = c->host_workers,
        .memory_budget_bytes = config_memory_budget(c),
        .eviction_min_idle_ms = c->eviction_min_idle_ms,
        .max_batch_size = c->max_batch_size,
        .max_batch_wait_ms = (uint32_t)c->max_batch_wait_ms,
        .max_queued_jobs = c->max_queued_jobs,
        .max_queued_bytes = c->max_queued_bytes,
        .ageing_ms = c->ageing_ms,
        .device_timeout_ms = c->slice_timeout_ms,
        .retention_ms = c->retention_ms,
        .retention_jobs = c->max_finished,
        .timeline_jobs = c->timelines,
        .timeline_lines = c->timeline_lines,
        .preload = d->preload,
        .n_preload = c->preload.n,
    };
    memcpy(e.max_active, c->max_active, sizeof e.max_active);
    return e;
}

static cuzk_status start_engine(server *d)
{
    CUZK_TRY(make_folders(d->cfg.state_dir));
    snprintf(d->store_path, sizeof d->store_path, "%s/jobs.db", d->cfg.state_dir);
    CUZK_TRY(daemon_devices_open(&d->devices, &d->cfg.devices, d->cfg.device_memory_bytes));
    for (uint32_t i = 0; i < d->cfg.preload.n; i++)
        d->preload[i] = d->cfg.preload.items[i];
    engine_config e = engine_config_of(d);
    return engine_create(&d->engine, &e);
}

static cuzk_status start_rpc(server *d)
{
    const daemon_config *c = &d->cfg;
    const char *listen[1] = {c->listen};
    rpc_server_config r = {
        .listen = listen,
        .n_listen = c->listen[0] ? 1 : 0,
        .socket_mode = c->socket_mode,
        .socket_group = c->socket_group[0] ? c->socket_group : NULL,
        .tls_listen = c->tls_listen[0] ? c->tls_listen : NULL,
        .tls_cert = c->tls_cert[0] ? c->tls_cert : NULL,
        .tls_key = c->tls_key[0] ? c->tls_key : NULL,
        .tls_client_ca = c->tls_client_ca[0] ? c->tls_client_ca : NULL,
        .token = d->token[0] ? d->token : NULL,
        .max_message_bytes = c->max_message_bytes,
        .max_calls = c->max_requests,
    };
    return cuzk_wrap(rpc_server_start(&d->rpc, &r, d->engine), "gRPC");
}

static cuzk_status start_http(server *d)
{
    if (!d->cfg.status_listen[0])
        return cuzk_ok();
    const http_config h = {.listen = d->cfg.status_listen, .bearer_token = d->token};
    return cuzk_wrap(http_server_start(&d->http, &h, d->engine), "HTTP");
}

/* One line for people and scripts: where we answer. */
static void announce(const server *d)
{
    char text[CONFIG_TEXT_MAX + 64] = "";
    if (d->http && http_server_port(d->http)) {
        const char *colon = strrchr(d->cfg.status_listen, ':');
        int host = colon ? (int)(colon - d->cfg.status_listen) : 0;
        snprintf(text, sizeof text, " http=http://%.*s:%u/", host, d->cfg.status_listen,
                 http_server_port(d->http));
    } else if (d->http) {
        snprintf(text, sizeof text, " http=%s", d->cfg.status_listen);
    }
    printf("cuzk daemon: grpc=%s%s\n", rpc_server_address(d->rpc, 0), text);
    fflush(stdout);
    const char *tls =
        d->cfg.tls_listen[0] ? rpc_server_address(d->rpc, d->cfg.listen[0] != 0) : "off";
    log_info("listening", LOG_STR("grpc", rpc_server_address(d->rpc, 0)), LOG_STR("tls", tls),
             LOG_STR("http", text[0] ? text + 6 : "off"), LOG_U64("devices", d->devices.n),
             LOG_U64("memory_budget_bytes", config_memory_budget(&d->cfg)));
}

static cuzk_status start(server *d)
{
    config_warnings w;
    bool open_to_all; /* config_check warns of it */
    CUZK_TRY(daemon_load_config(&d->cfg, &w, d->opts));
    set_log(&d->cfg);
    cuzk_status st = config_check(&d->cfg, &w);
    tell_warnings(&w);
    CUZK_TRY(st);
    CUZK_TRY(config_read_token(d->token, &open_to_all, &d->cfg));
    CUZK_TRY(start_engine(d));
    CUZK_TRY(start_rpc(d));
    CUZK_TRY(start_http(d));
    uint64_t usec = 0;
    if (sd_watchdog_enabled(0, &usec) > 0)
        d->watchdog_ns = usec * 1000;
    announce(d);
    return cuzk_ok();
}

/* The token is taken at start: clients and the page hold it too. */
static void tell_new_token(const server *d)
{
    char token[TOKEN_MAX];
    bool open_to_all;
    cuzk_status st = config_read_token(token, &open_to_all, &d->cfg);
    if (st.code != CUZK_OK)
        log_warn("token_file", LOG_STR("error", st.msg));
    else if (strcmp(token, d->token) != 0)
        log_warn("config_needs_restart", LOG_STR("keys", "daemon.auth_token_file"),
                 LOG_STR("why", "another token is in it"));
    mem_wipe(token, sizeof token);
}

static void reload(server *d)
{
    static daemon_config next;
    config_warnings w;
    char fixed[512];
    if (d->is_announced)
        sd_notify(0, "RELOADING=1");
    cuzk_status st = daemon_load_config(&next, &w, d->opts);
    if (st.code == CUZK_OK) {
        config_keep_fixed(&next, &d->cfg, fixed, sizeof fixed);
        d->cfg = next;
        set_log(&d->cfg);
        tell_warnings(&w);
        if (fixed[0])
            log_warn("config_needs_restart", LOG_STR("keys", fixed));
        tell_new_token(d);
        engine_config e = engine_config_of(d);
        st = engine_reconfigure(d->engine, &e);
    }
    if (st.code == CUZK_OK)
        log_info("reloaded", LOG_STR("config", d->opts->config_path ? d->opts->config_path : ""));
    else
        log_error("reload_failed", LOG_STR("error", st.msg));
    if (d->is_announced) /* else it is said once the keys are loaded */
        sd_notify(0, "READY=1");
}

/* systemd would start a daemon anew that takes too long to be ready, which brings no key file: it
 * hears READY when every preload was tried, and of those that failed. */
static void tell_systemd(server *d)
{
    d->is_announced = true;
    sd_notify(0, d->serving
                     ? "READY=1\nSTATUS=serving"
                     : "READY=1\nSTATUS=not ready: a circuit of srs.preload cannot be loaded");
}

/* Once a second: become ready, ping the watchdog, notice dead listeners. */
static cuzk_status look_around(server *d)
{
    if (!d->serving && engine_is_ready(d->engine)) {
        d->serving = true;
        rpc_server_set_serving(d->rpc, true);
        log_info("ready", LOG_STR("grpc", rpc_server_address(d->rpc, 0)));
        tell_systemd(d);
    }
    if (!d->is_announced && engine_preloads_tried(d->engine))
        tell_systemd(d);
    if (!rpc_server_is_alive(d->rpc))
        return cuzk_fail(CUZK_E_IO, "a gRPC listener no longer accepts connections");
    uint64_t now = clock_now_ns();
    if (d->watchdog_ns && now - d->last_ping_ns > d->watchdog_ns / 3) {
        engine_snapshot s; /* an engine that is stuck does not come back from this */
        cuzk_status st = engine_get_snapshot(d->engine, &s);
        if (st.code == CUZK_E_NOMEM) /* next time, perhaps */
            return cuzk_ok();
        CUZK_TRY(st);
        engine_snapshot_fini(&s);
        sd_notify(0, "WATCHDOG=1");
        d->last_ping_ns = now;
    }
    return cuzk_ok();
}

static sigset_t our_signals(void)
{
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGTERM);
    sigaddset(&s, SIGINT);
    sigaddset(&s, SIGHUP);
    return s;
}

static cuzk_status serve(server *d)
{
    const sigset_t set = our_signals();
    for (;;) {
        CUZK_TRY(look_around(d));
        const struct timespec wait = {.tv_nsec = d->is_announced ? 999999999 : 50000000};
        int sig = sigtimedwait(&set, NULL, &wait);
        if (sig == SIGHUP)
            reload(d);
        else if (sig == SIGTERM || sig == SIGINT)
            return cuzk_ok();
    }
}

/* A second signal while draining: the default action, at once. What is acknowledged is journaled. */
static void let_signals_through(void)
{
    const sigset_t set = our_signals();
    signal(SIGHUP, SIG_IGN);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void stop(server *d)
{
    if (d->engine && d->rpc) {
        log_info("draining", LOG_U64("timeout_ms", d->cfg.drain_timeout_ms));
        sd_notify(0, "STOPPING=1\nSTATUS=draining");
        rpc_server_set_serving(d->rpc, false);
        let_signals_through();
        engine_drain(d->engine, d->cfg.drain_timeout_ms);
        rpc_server_drain(d->rpc, 2000);
    }
    http_server_stop(d->http);
    if (d->rpc)
        rpc_server_stop(d->rpc);
    d->is_stuck = d->engine && !engine_destroy(d->engine);
    if (!d->is_stuck)
        daemon_devices_close(&d->devices);
    mem_wipe(d->token, sizeof d->token);
}

cuzk_status daemon_run(const daemon_options *o)
{
    const sigset_t set = our_signals();
    signal(SIGPIPE, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    server *d = mem_zalloc(sizeof *d, 64);
    if (!d)
        return cuzk_fail(CUZK_E_NOMEM, "daemon");
    d->opts = o;
    cuzk_status st = start(d);
    if (st.code == CUZK_OK)
        st = serve(d);
    bool started = d->rpc != NULL;
    stop(d);
    if (started)
        log_info("stopped", LOG_STR("status", st.code == CUZK_OK ? "ok" : st.msg));
    if (d->is_stuck) { /* its thread must not meet what exit takes down */
        fflush(NULL);
        _exit(st.code == CUZK_OK ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    mem_free(d);
    return st;
}
