/* cuzk jobs: what a daemon has done and has to do. */
#include "base/mem.h"
#include "cli/client.h"
#include "engine/metrics.h"
#include <stdio.h>
#include <string.h>

typedef struct jobs_args {
    const char *state, *limit, *job[1];
    size_t n_jobs;
    cli_common common;
    cli_server server;
} jobs_args;

static cuzk_status parse_state(int *out, const char *text)
{
    *out = -1;
    for (int s = 0; text && s < JOB_N_STATES; s++)
        if (strcmp(text, JOB_STATE_NAMES[s]) == 0) {
            *out = s;
            return cuzk_ok();
        }
    return text ? cuzk_fail(
                      CUZK_E_USAGE,
                      "--state: expected queued, decoding, proving, verifying, done, failed or "
                      "cancelled, found \"%.20s\"",
                      text)
                : cuzk_ok();
}

static cuzk_status print_json(const job_view *v, uint32_t n)
{
    json_writer w;
    json_write_init(&w, stdout, true);
    json_begin_array(&w);
    for (uint32_t i = 0; i < n; i++)
        engine_job_json(&w, &v[i]);
    json_end_array(&w);
    return json_write_finish(&w);
}

static void print_row(const job_view *v)
{
    char id[JOB_ID_MAX], error[JOB_ERROR_MAX], total[CLI_SHORT_MAX] = "-", parts[24];
    cli_format_text(id, sizeof id, v->job_id);
    cli_format_text(error, sizeof error, v->error);
    if (v->times.total_ms)
        cli_format_ms(total, v->times.total_ms);
    snprintf(parts, sizeof parts, "%u/%u", v->n_partitions_done, v->n_partitions);
    printf("%-36s %-12s %-8s %-10s %7s %14s  %s\n", id, v->circuit_id,
           JOB_PRIORITY_NAMES[v->priority], JOB_STATE_NAMES[v->state], parts, total, error);
}

static cuzk_status fetch(rpc_client *c, const jobs_args *a, job_view **v, uint32_t *n)
{
    int state;
    uint64_t limit = 100;
    CUZK_TRY(parse_state(&state, a->state));
    if (a->limit)
        CUZK_TRY(cli_parse_u64(&limit, "--limit", a->limit, 10000));
    if (limit == 0)
        return cuzk_fail(CUZK_E_USAGE, "--limit: expected 1 to 10000, found 0");
    if (a->n_jobs == 0)
        return rpc_client_list(c, state, (uint32_t)limit, v, n);
    *v = mem_alloc(sizeof **v, 16);
    if (!*v)
        return cuzk_fail(CUZK_E_NOMEM, "a job");
    *n = 1;
    return rpc_client_get_job(c, a->job[0], *v);
}

static cuzk_status jobs(void *ctx, cli_env *e, rpc_client *c, int *exit_code)
{
    const jobs_args *a = ctx;
    job_view *v = NULL;
    uint32_t n = 0;
    (void)e;
    (void)exit_code;
    cuzk_status st = fetch(c, a, &v, &n);
    if (st.code == CUZK_OK && a->common.json)
        st = print_json(v, n);
    if (st.code == CUZK_OK && !a->common.json) {
        printf("%-36s %-12s %-8s %-10s %7s %14s  %s\n", "job", "circuit", "priority", "state",
               "parts", "total", "error");
        for (uint32_t i = 0; i < n; i++)
            print_row(&v[i]);
    }
    mem_free(v);
    return st;
}

static int run(int argc, char **argv)
{
    jobs_args a = {0};
    const cli_opt opts[] = {
        {"state", "STATE", "only jobs in this state", &a.state, NULL},
        {"limit", "N", "at most so many, newest first (default 100)", &a.limit, NULL},
    };
    return cli_client_run(&(cli_client_cmd){.cmd = &cli_cmd_jobs,
                                            .opts = opts,
                                            .n_opts = ARRAY_LEN(opts),
                                            .common = &a.common,
                                            .server = &a.server,
                                            .args = a.job,
                                            .n_args = &a.n_jobs,
                                            .max_args = 1},
                          argc, argv, jobs, &a);
}

const cli_cmd cli_cmd_jobs = {"jobs", "[JOB]", "List the jobs of a daemon, newest first.",
                              "With --json an array of objects, complete; the table leaves out "
                              "what does not fit a line.",
                              run};
