/* cuzk inspect: what an input is, and whether it is right. */
#include "cli/cli.h"
#include <stdio.h>

static void json_node(json_writer *w, const char *key, const fr *v)
{
    json_key(w, key);
    cli_json_fr(w, v);
}

static void json_inputs(json_writer *w, const fil_porep *p, fr *scratch)
{
    json_key(w, "public_inputs");
    json_begin_array(w);
    for (uint32_t k = 0; k < p->n_partitions; k++) {
        fil_porep_public_inputs(p, k, scratch);
        json_begin_array(w);
        for (size_t i = 0; i < fil_porep_n_public(p); i++)
            cli_json_fr(w, &scratch[i]);
        json_end_array(w);
    }
    json_end_array(w);
}

static cuzk_status print_json(cli_env *e, const fil_porep *p, bool decoded, cuzk_status st)
{
    json_writer w;
    fr *scratch = decoded ? arena_alloc(&e->arena, fil_porep_n_public(p) * sizeof *scratch, 64) : NULL;
    if (decoded && !scratch)
        return cuzk_fail(CUZK_E_NOMEM, "public inputs");
    json_write_init(&w, stdout, true);
    json_begin_object(&w);
    json_kv_str(&w, "kind", "porep");
    if (decoded) {
        json_kv_str(&w, "registered_proof", p->registered ? p->registered->name : NULL);
        json_kv_u64(&w, "sector_size", p->sector->sector_bytes);
        json_kv_u64(&w, "partitions", p->n_partitions);
        json_node(&w, "comm_r", &p->comm_r);
        json_node(&w, "comm_d", &p->comm_d);
        json_node(&w, "replica_id", &p->replica_id);
        json_inputs(&w, p, scratch);
    }
    json_kv_bool(&w, "valid", st.code == CUZK_OK);
    json_kv_str(&w, "error", st.code == CUZK_OK ? NULL : st.msg);
    json_end_object(&w);
    return json_write_finish(&w);
}

static void print_node(const char *name, const fr *v)
{
    uint8_t b[32];
    fr_to_le(b, v);
    printf("%-17s ", name);
    for (size_t i = 0; i < sizeof b; i++)
        printf("%02x", b[i]);
    printf("\n");
}

static void print_text(const fil_porep *p, bool decoded, cuzk_status st)
{
    printf("kind              porep (C1 output)\n");
    if (decoded) {
        printf("registered proof  %s\n", p->registered ? p->registered->name : "none (development size)");
        printf("sector size       %s\n", p->sector->name);
        printf("partitions        %u, %u challenges each, %u layers\n", p->n_partitions, p->n_challenges, p->layers);
        print_node("comm_r", &p->comm_r);
        print_node("comm_d", &p->comm_d);
        print_node("replica_id", &p->replica_id);
    }
    printf("valid             %s\n", st.code == CUZK_OK ? "yes (every path, label, column and commitment checked)" : "no");
    if (st.code != CUZK_OK)
        printf("first error       %s\n", st.msg);
}

typedef struct inspect_args {
    const char *file, *miner, *sector;
    cli_common common;
} inspect_args;

static cuzk_status inspect(cli_env *e, const inspect_args *a)
{
    fil_porep p = {0};
    fil_porep_context ctx;
    CUZK_TRY(cli_context(&ctx, a->miner, a->sector));
    cuzk_status st = cli_load_porep(e, &p, a->file, &ctx, false);
    if (st.code == CUZK_E_NOT_FOUND || st.code == CUZK_E_IO || st.code == CUZK_E_NOMEM)
        return st;
    bool decoded = st.code == CUZK_OK;
    if (decoded)
        st = fil_porep_check(&p, &ctx, &e->rc);
    if (a->common.json)
        CUZK_TRY(print_json(e, &p, decoded, st));
    else
        print_text(&p, decoded, st);
    return st;
}

static int run(int argc, char **argv)
{
    inspect_args a = {0};
    const cli_opt opts[] = {
        {"miner", "ID", "check the replica id against this miner (with --sector)", &a.miner, NULL},
        {"sector", "NUMBER", "sector number for --miner", &a.sector, NULL},
    };
    size_t n_pos;
    int code;
    if (cli_parse(&cli_cmd_inspect, opts, ARRAY_LEN(opts), &a.common, argc, argv, &a.file, 1, &n_pos, &code) != 0)
        return code;
    if (n_pos != 1)
        return cli_usage(&cli_cmd_inspect, "expected one input file (or - for standard input)");
    cli_env e;
    cuzk_status st = cli_env_init(&e, &a.common);
    if (st.code == CUZK_OK) {
        st = cli_env_finish(&e, inspect(&e, &a));
        cli_env_fini(&e);
    }
    return cli_report(&cli_cmd_inspect, st);
}

const cli_cmd cli_cmd_inspect = {
    "inspect", "FILE", "Say what an input is and check all of it, without proving.",
    "Exit code 0 when the input is right, 2 when it is not (the first wrong thing is named).", run};
