/* cuzk submit: a vanilla proof to a daemon. */
#include "base/mem.h"
#include "cli/client.h"
#include "engine/metrics.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct submit_args {
    const char *request_id, *priority, *deadline, *timeout, *out;
    bool wait;
    cli_common common;
    cli_input input;
    cli_server server;
} submit_args;

static uint64_t unix_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

static cuzk_status add_options(job_request *r, const submit_args *a)
{
    uint64_t ms;
    if (a->request_id && strlen(a->request_id) >= sizeof r->request_id)
        return cuzk_fail(CUZK_E_USAGE, "--request-id: expected at most %zu bytes",
                         sizeof r->request_id - 1);
    if (a->request_id)
        snprintf(r->request_id, sizeof r->request_id, "%s", a->request_id);
    if (a->priority)
        CUZK_TRY(cli_parse_priority(&r->priority, a->priority, r->kind));
    if (a->deadline) {
        CUZK_TRY(cli_parse_duration(&ms, "--deadline", a->deadline));
        r->deadline_unix_ms = unix_ms() + ms;
    }
    return cuzk_ok();
}

static cuzk_status print_submitted(const rpc_submitted *s, bool json)
{
    json_writer w;
    char id[JOB_ID_MAX];
    if (!json) {
        cli_format_text(id, sizeof id, s->job_id);
        printf("job %s: %s%s", id, s->existing ? "known already, " : "",
               JOB_STATE_NAMES[s->view.state]);
        printf(s->view.state == JOB_QUEUED ? ", %u before it\n" : "\n", s->queue_position);
        return cuzk_ok();
    }
    json_write_init(&w, stdout, true);
    json_begin_object(&w);
    json_kv_str(&w, "job_id", s->job_id);
    json_kv_bool(&w, "existing", s->existing);
    json_kv_u64(&w, "queue_position", s->queue_position);
    json_key(&w, "job");
    engine_job_json(&w, &s->view);
    json_end_object(&w);
    return json_write_finish(&w);
}

static cuzk_status wait_and_print(const submit_args *a, cli_env *e, rpc_client *c,
                                  const char *job_id, int *exit_code)
{
    rpc_result r;
    uint64_t timeout_ms = 0;
    if (a->timeout)
        CUZK_TRY(cli_parse_duration(&timeout_ms, "--timeout", a->timeout));
    cuzk_status st = cli_await(e, c, job_id, timeout_ms, &r);
    if (st.code == CUZK_OK)
        st = cli_print_result(&r, a->common.json, a->out, exit_code);
    rpc_result_fini(&r);
    return st;
}

static cuzk_status submit(void *ctx, cli_env *e, rpc_client *c, int *exit_code)
{
    const submit_args *a = ctx;
    job_request r;
    rpc_submitted s;
    if ((a->out || a->timeout) && !a->wait)
        return cuzk_fail(CUZK_E_USAGE, "--out, --timeout: expected --wait with it");
    CUZK_TRY(cli_make_request(e, &a->input, &r));
    cuzk_status st = add_options(&r, a);
    if (st.code == CUZK_OK)
        st = rpc_client_submit(c, &r, &s);
    job_request_fini(&r);
    CUZK_TRY(st);
    return a->wait ? wait_and_print(a, e, c, s.job_id, exit_code)
                   : print_submitted(&s, a->common.json);
}

static int run(int argc, char **argv)
{
    submit_args a = {0};
    cli_opt opts[CLI_N_INPUT_OPTS + 6] = {
        {"request-id", "ID", "name of the job; the same id and input again is the same job",
         &a.request_id, NULL},
        {"priority", "P", "low, normal, high or critical (default: by kind)", &a.priority, NULL},
        {"deadline", "TIME", "of use for this long, e.g. 25s; earlier ones go first", &a.deadline,
         NULL},
        {"wait", NULL, "wait for the proof and print it, as `cuzk await` does", NULL, &a.wait},
        {"timeout", "TIME", "with --wait: no longer than this (the job goes on)", &a.timeout, NULL},
        {"out", "FILE", "with --wait: also write the raw proof bytes", &a.out, NULL},
    };
    cli_input_opts(opts + 6, &a.input);
    const char **files = mem_alloc((size_t)argc * sizeof *files, 8);
    if (!files)
        return CLI_RESOURCES;
    a.input.files = files;
    int code = cli_client_run(&(cli_client_cmd){.cmd = &cli_cmd_submit,
                                                .opts = opts,
                                                .n_opts = ARRAY_LEN(opts),
                                                .common = &a.common,
                                                .server = &a.server,
                                                .args = files,
                                                .n_args = &a.input.n_files,
                                                .max_args = CLI_MAX_FILES},
                              argc, argv, submit, &a);
    mem_free(files);
    return code;
}

const cli_cmd cli_cmd_submit = {
    "submit", "FILE...", "Give a vanilla proof to a daemon and print the job's id.",
    "Files and options are those of `cuzk prove`. The daemon checks the proof before it answers: a "
    "wrong input is refused by name\n(exit code 2). What was accepted survives a crash of the "
    "daemon.",
    run};
