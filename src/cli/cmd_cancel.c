/* cuzk cancel: ask jobs to stop. */
#include "cli/client.h"
#include <stdio.h>

#define CANCEL_MAX 1024u

typedef struct cancel_args {
    const char *jobs[CANCEL_MAX];
    size_t n_jobs;
    cli_common common;
    cli_server server;
} cancel_args;

static cuzk_status cancel(void *ctx, cli_env *e, rpc_client *c, int *exit_code)
{
    const cancel_args *a = ctx;
    json_writer w;
    (void)e;
    (void)exit_code;
    json_write_init(&w, stdout, true);
    if (a->common.json)
        json_begin_array(&w);
    for (size_t i = 0; i < a->n_jobs; i++) {
        bool was_live;
        CUZK_TRY(rpc_client_cancel(c, a->jobs[i], &was_live));
        if (a->common.json) {
            json_begin_object(&w);
            json_kv_str(&w, "job_id", a->jobs[i]);
            json_kv_bool(&w, "was_running", was_live);
            json_end_object(&w);
        } else {
            printf("job %s: %s\n", a->jobs[i], was_live ? "being cancelled" : "had ended already");
        }
    }
    if (!a->common.json)
        return cuzk_ok();
    json_end_array(&w);
    return json_write_finish(&w);
}

static int run(int argc, char **argv)
{
    cancel_args a = {.n_jobs = 0};
    return cli_client_run(&(cli_client_cmd){.cmd = &cli_cmd_cancel,
                                            .common = &a.common,
                                            .server = &a.server,
                                            .args = a.jobs,
                                            .n_args = &a.n_jobs,
                                            .max_args = CANCEL_MAX,
                                            .min_args = 1},
                          argc, argv, cancel, &a);
}

const cli_cmd cli_cmd_cancel = {"cancel", "JOB...", "Cancel jobs of a daemon, queued or running.",
                                "A running job stops at its next check, within a fraction of a "
                                "second.",
                                run};
