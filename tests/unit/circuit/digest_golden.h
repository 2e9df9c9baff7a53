/* Every circuit of golden/r1cs.json against ours: counts, densities, nnz, digest, chunk digests. */
#ifndef DIGEST_GOLDEN_H
#define DIGEST_GOLDEN_H
#include "unit/fil/golden.h"

#include "base/bytes.h"
#include "circuit/circuit.h"
#include "r1cs/eval.h"

typedef struct chunk_check {
    json_iter it;
    const char *name;
} chunk_check;

static void check_chunk(void *ctx, uint64_t first_row, const char *path, const uint8_t digest[32])
{
    chunk_check *c = ctx;
    json_val chunk, v;
    uint64_t want_row;
    const char *hex;
    size_t len;
    char got[17];
    (void)path; /* ours are shorter than the reference's */
    assert_true(json_next(&c->it, &chunk));
    json_iter f = items(chunk);
    assert_true(json_next(&f, &v));
    assert_ok(json_get_u64(&want_row, v, UINT64_MAX));
    assert_int_equal(first_row, want_row);
    assert_true(json_next(&f, &v) && json_next(&f, &v));
    assert_ok(json_get_string(&hex, &len, v));
    hex_encode(got, digest, 8);
    if (len != 16 || memcmp(hex, got, 16) != 0)
        fail_msg("%s: chunk from row %llu differs", c->name, (unsigned long long)first_row);
}

static void check_circuit(json_val want)
{
    char name[128];
    uint8_t digest[32], expected[32];
    r1cs_shape *s;
    run_ctx rc = {0};
    get_str(name, sizeof name, want, "name");
    assert_ok(circuit_shape(&s, name));
    const r1cs_counts *n = r1cs_shape_counts(s);
    json_val nnz = get(want, "nnz"), density = get(want, "density");
    const struct {
        const char *what;
        uint64_t got, want;
    } rows[] = {
        {"inputs", n->n_inputs, get_u64(want, "num_inputs")},
        {"aux", n->n_aux, get_u64(want, "num_aux")},
        {"rows", n->n_rows, get_u64(want, "num_constraints")},
        {"lg_m", n->lg_m, get_u64(want, "log2_domain")},
        {"nnz a", n->nnz_a, get_u64(nnz, "a")},
        {"nnz b", n->nnz_b, get_u64(nnz, "b")},
        {"nnz c", n->nnz_c, get_u64(nnz, "c")},
        {"a_aux", n->a_aux, get_u64(density, "a_aux")},
        {"b_aux", n->b_aux, get_u64(density, "b_aux")},
        {"b_inputs", n->b_inputs, get_u64(density, "b_inputs")},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].got != rows[i].want)
            fail_msg("%s: %s is %llu, want %llu", name, rows[i].what,
                     (unsigned long long)rows[i].got, (unsigned long long)rows[i].want);
    chunk_check c = {.it = items(get(want, "chunks")), .name = name};
    assert_ok(r1cs_digest(s, digest, get_u64(want, "chunk_rows"), check_chunk, &c, &rc));
    get_hex32(expected, want, "digest");
    if (memcmp(digest, expected, 32) != 0)
        fail_msg("%s: digest differs", name);
    json_val left;
    assert_false(json_next(&c.it, &left));
    r1cs_shape_destroy(s);
}

/* All circuits with lo <= rows < hi; returns how many. */
static int check_circuits(uint64_t lo, uint64_t hi)
{
    json_doc doc = golden_json("r1cs.json.gz");
    json_iter it = items(get(json_root(&doc), "circuits"));
    json_val c;
    int n = 0;
    while (json_next(&it, &c)) {
        uint64_t rows = get_u64(c, "num_constraints");
        if (rows < lo || rows >= hi)
            continue;
        check_circuit(c);
        n++;
    }
    golden_json_free(&doc);
    return n;
}
#endif
