/* cuzk inspect: what an input is, and whether it is right. */
#include "base/mem.h"
#include "base/span_names.h"
#include "cli/cli.h"
#include "r1cs/eval.h"
#include <stdio.h>
#include <string.h>

static void json_node(json_writer *w, const char *key, const fr *v)
{
    json_key(w, key);
    cli_json_fr(w, v);
}

static void json_kind_members(json_writer *w, const proof_task *t, bool checked)
{
    if (t->kind == PROOF_POREP) {
        json_node(w, "comm_r", &t->in.porep.comm_r);
        json_node(w, "comm_d", &t->in.porep.comm_d);
        json_node(w, "replica_id", &t->in.porep.replica_id);
    } else if (t->kind == PROOF_SNAP) {
        json_node(w, "comm_c", &t->in.update.partitions[0].comm_c);
        if (checked) {
            json_kv_u64(w, "h", t->in.update.h);
            json_node(w, "comm_r_old", &t->in.update.comm_r_old);
            json_node(w, "comm_d_new", &t->in.update.comm_d_new);
            json_node(w, "comm_r_new", &t->in.update.comm_r_new);
        }
    } else {
        json_key(w, "sectors");
        json_begin_array(w);
        for (uint32_t i = 0; i < t->in.post.n_sectors; i++) {
            json_begin_object(w);
            json_kv_u64(w, "id", t->in.post.sectors[i].sector_id);
            json_node(w, "comm_r", &t->in.post.sectors[i].comm_r);
            json_end_object(w);
        }
        json_end_array(w);
    }
}

static cuzk_status print_json(cli_env *e, const proof_task *t, bool decoded, cuzk_status st)
{
    json_writer w;
    cuzk_status inputs = cuzk_ok();
    bool valid = st.code == CUZK_OK;
    json_write_init(&w, stdout, true);
    json_begin_object(&w);
    json_kv_str(&w, "kind", PROOF_KIND_NAMES[t->kind]);
    if (decoded) {
        json_kv_str(&w, "registered_proof", proof_task_registered(t));
        json_kv_u64(&w, "sector_size", proof_task_sector_bytes(t));
        json_kv_u64(&w, "partitions", proof_task_partitions(t));
        json_kind_members(&w, t, valid);
        /* Those of PoSt and SnapDeals follow from request values that only a finished check has. */
        if (valid || t->kind == PROOF_POREP)
            inputs = cli_json_inputs(e, &w, t, 0, proof_task_partitions(t));
    }
    json_kv_bool(&w, "valid", valid);
    json_kv_str(&w, "error", valid ? NULL : st.msg);
    json_end_object(&w);
    cuzk_status end = json_write_finish(&w);
    return inputs.code == CUZK_OK ? end : inputs;
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

static void print_kind_lines(const proof_task *t, bool checked)
{
    if (t->kind == PROOF_POREP) {
        const fil_porep *p = &t->in.porep;
        printf("partitions        %u, %u challenges each, %u layers\n", p->n_partitions,
               p->n_challenges, p->layers);
        print_node("comm_r", &p->comm_r);
        print_node("comm_d", &p->comm_d);
        print_node("replica_id", &p->replica_id);
    } else if (t->kind == PROOF_SNAP) {
        const fil_update *p = &t->in.update;
        printf("partitions        %u, %u challenges each\n", p->n_partitions,
               p->config->challenges);
        if (checked) {
            print_node("comm_r old", &p->comm_r_old);
            print_node("comm_d new", &p->comm_d_new);
            print_node("comm_r new", &p->comm_r_new);
        }
    } else {
        const fil_post *p = &t->in.post;
        printf("partitions        %u, %u sectors of %u challenges each\n", p->n_partitions,
               p->sectors_per_partition, p->challenges);
        printf("sectors given     %u\n", p->n_sectors);
    }
}

static void print_text(const proof_task *t, bool decoded, cuzk_status st)
{
    printf("kind              %s\n", PROOF_KIND_NAMES[t->kind]);
    if (decoded) {
        char name[64];
        const char *registered = proof_task_registered(t);
        proof_task_circuit_name(name, t);
        printf("circuit           %s\n", name);
        printf("registered proof  %s\n", registered ? registered : "none (development size)");
        print_kind_lines(t, st.code == CUZK_OK);
    }
    printf("valid             %s\n",
           st.code == CUZK_OK ? "yes (every path, leaf and commitment checked)" : "no");
    if (st.code != CUZK_OK)
        printf("first error       %s\n", st.msg);
}

/* Failures of the machine or of the command line are no statement about the input. */
static bool is_verdict(cuzk_code code)
{
    return code == CUZK_OK || code == CUZK_E_INPUT || code == CUZK_E_RANGE ||
           code == CUZK_E_UNSUPPORTED;
}

/* Every row of every partition's circuit, which goes beyond the vanilla check: it is what the
 * prover relies on. */
static cuzk_status check_rows(cli_env *e, const proof_task *t)
{
    r1cs_shape *shape;
    span_id s = span_begin(e->spans, e->root, SPAN_SHAPE);
    cuzk_status st = proof_task_shape(&shape, t);
    span_end(e->spans, s);
    CUZK_TRY(st);
    for (uint32_t k = 0; k < proof_task_partitions(t) && st.code == CUZK_OK; k++) {
        witness w;
        s = span_begin(e->spans, e->root, SPAN_WITNESS);
        span_note(e->spans, s, (int32_t)k, 0);
        st = witness_init(&w, shape);
        if (st.code == CUZK_OK)
            st = proof_task_witness(&w, shape, t, k, CS_WITNESS_FAST, &e->rc);
        span_end(e->spans, s);
        s = span_begin(e->spans, e->root, SPAN_SATISFY);
        span_note(e->spans, s, (int32_t)k, 0);
        if (st.code == CUZK_OK)
            st = r1cs_satisfied(shape, &w, NULL, &e->rc);
        span_end(e->spans, s);
        witness_fini(&w);
        st = cuzk_wrap(st, "partition %u", k);
    }
    r1cs_shape_destroy(shape);
    /* An input whose rows fail is a wrong input. */
    if (st.code == CUZK_E_VERIFY)
        st.code = CUZK_E_INPUT;
    return st;
}

typedef struct inspect_args {
    cli_input input;
    cli_common common;
    bool rows;
} inspect_args;

static cuzk_status inspect(cli_env *e, const inspect_args *a)
{
    bool decoded;
    proof_task *t = arena_alloc(&e->arena, sizeof *t, 64);
    if (!t)
        return cuzk_fail(CUZK_E_NOMEM, "proof task");
    cuzk_status st = cli_load_task(e, t, &a->input, true, &decoded);
    if (st.code == CUZK_OK && a->rows)
        st = check_rows(e, t);
    if (!is_verdict(st.code))
        return st;
    if (a->common.json)
        CUZK_TRY(print_json(e, t, decoded, st));
    else
        print_text(t, decoded, st);
    return st;
}

static int inspect_command(const inspect_args *a)
{
    cli_env e;
    cuzk_status st = cli_env_init(&e, &a->common);
    if (st.code == CUZK_OK) {
        st = cli_env_finish(&e, inspect(&e, a));
        if (st.code == CUZK_OK && a->rows && !a->common.json)
            st = span_write_table(e.spans, stdout);
        cli_env_fini(&e);
    }
    return cli_report(&cli_cmd_inspect, st);
}

static int run(int argc, char **argv)
{
    inspect_args a = {.rows = false};
    cli_opt opts[CLI_N_INPUT_OPTS + 1] = {
        {"rows", NULL, "also fill the circuit and check every row of every partition", NULL,
         &a.rows},
    };
    int code = CLI_RESOURCES;
    cli_input_opts(opts + 1, &a.input);
    const char **files = mem_alloc((size_t)argc * sizeof *files, 8);
    if (files && cli_parse(&cli_cmd_inspect, opts, ARRAY_LEN(opts), &a.common, argc, argv,
                           &(cli_pos){files, CLI_MAX_FILES, &a.input.n_files, &code}) == 0) {
        a.input.files = files;
        code = inspect_command(&a);
    }
    mem_free(files);
    return code;
}

const cli_cmd cli_cmd_inspect = {"inspect", "FILE...",
                                 "Say what an input is and check all of it, without proving.",
                                 "Exit code 0 when the input is right, 2 when it is not (the first "
                                 "wrong thing is named). Files and options as for `prove`.",
                                 run};
