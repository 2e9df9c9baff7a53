/* cuzk circuits: what there is to prove, in numbers. */
#include "base/bytes.h"
#include "base/mem.h"
#include "circuit/circuit.h"
#include "cli/cli.h"
#include "r1cs/eval.h"
#include <stdio.h>
#include <string.h>

/* Size of the .params file (circuits.md A.7). */
static uint64_t key_bytes(const r1cs_counts *n)
{
    uint64_t m = 1ull << n->lg_m, b = n->b_inputs + n->b_aux;
    return G16_VK_HEAD_BYTES + 96 * n->n_inputs + 20 + 96 * (m - 1) + 96 * n->n_aux +
           96 * (n->n_inputs + n->a_aux) + 288 * b;
}

static void json_counts(json_writer *w, const circuit_info *info, const r1cs_counts *n)
{
    json_kv_str(w, "name", info->name);
    json_kv_str(w, "kind", info->kind);
    json_kv_u64(w, "sector_size", info->sector_bytes);
    json_kv_u64(w, "num_inputs", n->n_inputs);
    json_kv_u64(w, "num_aux", n->n_aux);
    json_kv_u64(w, "num_constraints", n->n_rows);
    json_kv_u64(w, "log2_domain", n->lg_m);
    json_key(w, "nnz");
    json_begin_object(w);
    json_kv_u64(w, "a", n->nnz_a);
    json_kv_u64(w, "b", n->nnz_b);
    json_kv_u64(w, "c", n->nnz_c);
    json_end_object(w);
    json_key(w, "density");
    json_begin_object(w);
    json_kv_u64(w, "a_aux", n->a_aux);
    json_kv_u64(w, "b_inputs", n->b_inputs);
    json_kv_u64(w, "b_aux", n->b_aux);
    json_end_object(w);
    json_kv_u64(w, "dense_aux", n->n_dense);
    json_kv_u64(w, "params_bytes", key_bytes(n));
    json_kv_u64(w, "shape_bytes", n->shape_bytes);
}

static void print_row(const circuit_info *info, const r1cs_counts *n)
{
    printf("%-35s %7llu %12llu %12llu %6u %12llu %12llu %9.2f %8.1f\n", info->name,
           (unsigned long long)n->n_inputs, (unsigned long long)n->n_aux,
           (unsigned long long)n->n_rows, n->lg_m, (unsigned long long)n->a_aux,
           (unsigned long long)n->b_aux, (double)key_bytes(n) / (1u << 30),
           (double)n->shape_bytes / (1u << 20));
}

static cuzk_status list(bool json, bool gadgets)
{
    json_writer w;
    json_write_init(&w, stdout, true);
    if (json)
        json_begin_array(&w);
    else
        printf("%-35s %7s %12s %12s %6s %12s %12s %9s %8s\n", "circuit", "inputs", "aux", "rows",
               "lg m", "a density", "b density", "key GiB", "shape MiB");
    for (size_t i = 0; i < circuit_count(); i++) {
        circuit_info info = circuit_get(i);
        r1cs_shape *s;
        if (info.group == CIRCUIT_GADGET && !gadgets)
            continue;
        CUZK_TRY(circuit_shape(&s, info.name));
        if (json) {
            json_begin_object(&w);
            json_counts(&w, &info, r1cs_shape_counts(s));
            json_end_object(&w);
        } else {
            print_row(&info, r1cs_shape_counts(s));
        }
        r1cs_shape_destroy(s);
    }
    if (!json)
        return cuzk_ok();
    json_end_array(&w);
    return json_write_finish(&w);
}

static void chunk_json(void *ctx, uint64_t first_row, const char *path, const uint8_t digest[32])
{
    json_writer *w = ctx;
    json_begin_array(w);
    json_u64(w, first_row);
    json_str(w, path);
    json_hex(w, digest, 8);
    json_end_array(w);
}

static cuzk_status digest_json(const cli_env *e, const r1cs_shape *s, const circuit_info *info,
                               uint64_t chunk_rows)
{
    json_writer w;
    uint8_t d[32];
    json_write_init(&w, stdout, true);
    json_begin_object(&w);
    json_counts(&w, info, r1cs_shape_counts(s));
    json_kv_u64(&w, "chunk_rows", chunk_rows);
    json_key(&w, "chunks");
    json_begin_array(&w);
    CUZK_TRY(r1cs_digest(s, d, chunk_rows, chunk_json, &w, &e->rc));
    json_end_array(&w);
    json_kv_hex(&w, "digest", d, sizeof d);
    json_end_object(&w);
    return json_write_finish(&w);
}

static cuzk_status digest(cli_env *e, const char *name, const char *chunk_text, bool json)
{
    r1cs_shape *s;
    uint64_t chunk_rows = 0;
    if (chunk_text)
        CUZK_TRY(cli_parse_u64(&chunk_rows, "--chunk-rows", chunk_text, UINT32_MAX));
    CUZK_TRY(circuit_shape(&s, name));
    circuit_info info = {.name = name};
    for (size_t i = 0; i < circuit_count(); i++)
        if (strcmp(circuit_get(i).name, name) == 0)
            info = circuit_get(i);
    cuzk_status st;
    if (json) {
        st = digest_json(e, s, &info, chunk_rows);
    } else {
        uint8_t d[32];
        char hex[65];
        st = r1cs_digest(s, d, 0, NULL, NULL, &e->rc);
        hex_encode(hex, d, 32);
        if (st.code == CUZK_OK) {
            cuzk_status done = cli_env_finish(e, st);
            st = done;
            printf("%s  %s\n", hex, name);
        }
    }
    r1cs_shape_destroy(s);
    return st;
}

static int run(int argc, char **argv)
{
    const char *name = NULL, *chunk = NULL, *pos[1];
    bool gadgets = false;
    cli_common common;
    const cli_opt opts[] = {
        {"digest", "NAME", "BLAKE2s digest of one circuit's rows (names as listed; gadgets too)",
         &name, NULL},
        {"chunk-rows", "N", "with --digest --json: also a digest for every N rows", &chunk, NULL},
        {"gadgets", NULL, "list single gadgets as well", NULL, &gadgets},
    };
    size_t n_pos;
    int code;
    if (cli_parse(&cli_cmd_circuits, opts, ARRAY_LEN(opts), &common, argc, argv,
                  &(cli_pos){pos, 0, &n_pos, &code}) != 0)
        return code;
    cli_env e;
    cuzk_status st = cli_env_init(&e, &common);
    if (st.code == CUZK_OK) {
        st = name ? digest(&e, name, chunk, common.json) : list(common.json, gadgets);
        st = cli_env_finish(&e, st);
        cli_env_fini(&e);
    }
    return cli_report(&cli_cmd_circuits, st);
}

const cli_cmd cli_cmd_circuits = {
    "circuits", "", "List the circuits with their sizes, or digest one.",
    "Counts leave out the input rows that prover and generator append; ONE is counted as an input.",
    run};
