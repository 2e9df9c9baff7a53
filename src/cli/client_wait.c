/* Waiting for a job and showing what came of it. */
#include "base/bytes.h"
#include "base/mem.h"
#include "cli/client.h"
#include "engine/metrics.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define RECONNECT_MS 1000u
#define PROOF_BYTES 192u

/* ---- waiting ---- */

typedef struct follow {
    cli_env *e;
    uint64_t until_ns; /* 0: no limit */
    bool was_reached, has_told;
} follow;

static bool is_over(const follow *f) { return f->until_ns && clock_now_ns() >= f->until_ns; }

static bool show(void *ctx, const job_view *v)
{
    follow *f = ctx;
    run_progress(&f->e->rc, JOB_STATE_NAMES[v->state], v->progress);
    return !is_over(f);
}

static void pause_ms(uint64_t ms)
{
    struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * 1000000u)};
    nanosleep(&t, NULL);
}

static uint64_t left_ms(const follow *f)
{
    uint64_t now = clock_now_ns();
    if (!f->until_ns)
        return 0;
    return f->until_ns > now ? (f->until_ns - now) / 1000000u + 1 : 1;
}

/* One try. That the daemon and its job were there is what makes a later failure worth waiting
 * for. */
static cuzk_status try_await(follow *f, rpc_client *c, const char *job_id, rpc_result *out)
{
    job_view v;
    CUZK_TRY(rpc_client_get_job(c, job_id, &v));
    f->was_reached = true;
    f->has_told = false;
    if (f->e->progress_on)
        CUZK_TRY(rpc_client_watch(c, job_id, show, f));
    return rpc_client_await(c, job_id, left_ms(f), out);
}

cuzk_status cli_await(cli_env *e, rpc_client *c, const char *job_id, uint64_t timeout_ms,
                      rpc_result *out)
{
    follow f = {.e = e, .until_ns = timeout_ms ? clock_now_ns() + timeout_ms * 1000000u : 0};
    *out = (rpc_result){.outcome = RPC_OUTCOME_UNKNOWN};
    for (;;) {
        cuzk_status st = try_await(&f, c, job_id, out);
        if (st.code != CUZK_E_IO || !f.was_reached || is_over(&f) || run_cancelled(&e->rc))
            return st;
        if (!e->quiet && !f.has_told)
            fprintf(stderr, "%s; the job is kept, waiting for the daemon\n", st.msg);
        f.has_told = true;
        pause_ms(RECONNECT_MS);
    }
}

/* ---- showing ---- */

static int exit_of(const rpc_result *r)
{
    switch (r->outcome) {
    case RPC_OUTCOME_COMPLETED:
        return CLI_DONE;
    case RPC_OUTCOME_CANCELLED:
        return CLI_INTERRUPTED;
    case RPC_OUTCOME_TIMEOUT:
        return CLI_RESOURCES;
    default: {
        int code = cli_exit_code(r->view.error_code);
        return code == CLI_DONE ? CLI_INTERNAL : code;
    }
    }
}

static char *proof_hex(const rpc_result *r)
{
    char *hex = mem_zalloc(2 * r->proof_len + 1, 8);
    if (hex)
        hex_encode(hex, r->proof, r->proof_len);
    return hex;
}

static cuzk_status print_json(const rpc_result *r)
{
    json_writer w;
    char *hex = proof_hex(r);
    if (!hex)
        return cuzk_fail(CUZK_E_NOMEM, "proof text");
    json_write_init(&w, stdout, true);
    json_begin_object(&w);
    json_kv_str(&w, "job_id", r->view.job_id);
    json_kv_str(&w, "status", RPC_OUTCOME_NAMES[r->outcome]);
    json_kv_str(&w, "proof", r->proof_len ? hex : NULL);
    json_kv_str(&w, "error", r->view.error[0] ? r->view.error : NULL);
    json_key(&w, "job");
    engine_job_json(&w, &r->view);
    json_end_object(&w);
    mem_free(hex);
    return json_write_finish(&w);
}

static void print_times(const job_times *t)
{
    const struct {
        const char *name;
        uint64_t ms;
    } rows[] = {{"queue", t->queue_wait_ms}, {"key load", t->key_load_ms},
                {"witness", t->witness_ms},  {"device", t->device_ms},
                {"verify", t->verify_ms},    {"total", t->total_ms}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        printf("%s%s %llu ms", i ? ", " : "", rows[i].name, (unsigned long long)rows[i].ms);
    printf("\n");
}

static cuzk_status print_text(const rpc_result *r)
{
    char id[JOB_ID_MAX], error[JOB_ERROR_MAX];
    char *hex = proof_hex(r);
    if (!hex)
        return cuzk_fail(CUZK_E_NOMEM, "proof text");
    cli_format_text(id, sizeof id, r->view.job_id);
    cli_format_text(error, sizeof error, r->view.error);
    printf("job %s: %s%s%s\n", id, RPC_OUTCOME_NAMES[r->outcome], error[0] ? ": " : "", error);
    for (size_t k = 0; k * PROOF_BYTES < r->proof_len; k++)
        printf("proof %zu: %.*s\n", k, 2 * (int)PROOF_BYTES, hex + k * 2 * PROOF_BYTES);
    if (r->outcome != RPC_OUTCOME_TIMEOUT)
        print_times(&r->view.times);
    mem_free(hex);
    return cuzk_ok();
}

cuzk_status cli_print_result(const rpc_result *r, bool json, const char *out_path, int *exit_code)
{
    *exit_code = exit_of(r);
    if (out_path && r->outcome == RPC_OUTCOME_COMPLETED)
        CUZK_TRY(cli_write_file(out_path, r->proof, r->proof_len));
    return json ? print_json(r) : print_text(r);
}
