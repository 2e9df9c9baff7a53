#include "circuit/circuit.h"
#include "circuit/circuit_int.h"
#include "circuit/porep_circuit.h"
#include "circuit/post_circuit.h"
#include "circuit/update_circuit.h"
#include <string.h>

static cuzk_status porep_by_bytes(r1cs_shape **out, const circuit_row *row)
{
    const fil_sector *s = fil_sector_by_bytes(row->info.sector_bytes);
    CUZK_VERIFY(s);
    porep_circuit p;
    porep_circuit_set(&p, s);
    if (row->arg[0])
        p.challenges = row->arg[0];
    return porep_circuit_shape(out, &p, row->info.name);
}

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)
#define POREP(text, bytes, ...)                                                         \
    {                                                                                   \
        {"PoRep " text, CIRCUIT_PROOF, "porep", bytes}, porep_by_bytes, { __VA_ARGS__ } \
    }
static const circuit_row porep_rows[] = {
    POREP("2KiB", KIB(2), 0),
    POREP("4KiB", KIB(4), 0),
    POREP("16KiB", KIB(16), 0),
    POREP("32KiB", KIB(32), 0),
    POREP("8MiB", MIB(8), 0),
    POREP("16MiB", MIB(16), 0),
    POREP("512MiB", MIB(512), 0),
    POREP("1GiB", GIB(1), 0),
    POREP("32GiB", GIB(32), 0),
    POREP("64GiB", GIB(64), 0),
    {{"PoRep 32GiB shape, 11 layers, only 1 challenge", CIRCUIT_GADGET, "gadget", GIB(32)},
     porep_by_bytes,
     {1}},
    {{"PoRep 64GiB shape, 11 layers, only 1 challenge", CIRCUIT_GADGET, "gadget", GIB(64)},
     porep_by_bytes,
     {1}},
    /* The api versions differ outside the circuit only; golden data has a digest of each to show
     * it. */
    {{"PoRep 2KiB variant V1_0_0", CIRCUIT_GADGET, "gadget", KIB(2)}, porep_by_bytes, {0}},
    {{"PoRep 2KiB variant V1_1_0", CIRCUIT_GADGET, "gadget", KIB(2)}, porep_by_bytes, {0}},
    {{"PoRep 2KiB variant V1_2_0", CIRCUIT_GADGET, "gadget", KIB(2)}, porep_by_bytes, {0}},
    {{"PoRep 2KiB variant V1_2_0+Synthetic", CIRCUIT_GADGET, "gadget", KIB(2)},
     porep_by_bytes,
     {0}},
    {{"PoRep 2KiB variant V1_2_0+NonInteractive", CIRCUIT_GADGET, "gadget", KIB(2)},
     porep_by_bytes,
     {0}},
};

/* arg: kind, then sectors when not the real number. */
static cuzk_status post_by_bytes(r1cs_shape **out, const circuit_row *row)
{
    fil_post_proof proof =
        fil_post_proof_unregistered((fil_post_kind)row->arg[0], row->info.sector_bytes, true);
    post_circuit p;
    CUZK_TRY(post_circuit_set(&p, &proof));
    if (row->arg[1])
        p.sectors = row->arg[1];
    return post_circuit_shape(out, &p, row->info.name);
}

/* arg: Poseidon variant? */
static cuzk_status update_by_bytes(r1cs_shape **out, const circuit_row *row)
{
    const fil_update_config *c = fil_update_config_by_bytes(row->info.sector_bytes);
    CUZK_VERIFY(c);
    return update_circuit_shape(out, c, row->arg[0]);
}

#define WINNING(text, bytes)                                                   \
    {                                                                          \
        {"WinningPoSt " text, CIRCUIT_PROOF, "winning", bytes}, post_by_bytes, \
        {                                                                      \
            FIL_POST_WINNING                                                   \
        }                                                                      \
    }
#define WINDOW(text, bytes)                                                                      \
    {                                                                                            \
        {"WindowPoSt " text, CIRCUIT_PROOF, "window", bytes}, post_by_bytes, { FIL_POST_WINDOW } \
    }
#define UPDATE(text, bytes)                                                               \
    {                                                                                     \
        {"EmptySectorUpdate " text, CIRCUIT_PROOF, "snap", bytes}, update_by_bytes, { 0 } \
    }
#define UPDATE_POS(text, bytes)                                                      \
    {                                                                                \
        {"EmptySectorUpdate-Poseidon " text, CIRCUIT_PROOF, "snap-poseidon", bytes}, \
            update_by_bytes,                                                         \
        {                                                                            \
            1                                                                        \
        }                                                                            \
    }
static const circuit_row post_rows[] = {
    WINNING("2KiB", KIB(2)),
    WINNING("4KiB", KIB(4)),
    WINNING("16KiB", KIB(16)),
    WINNING("32KiB", KIB(32)),
    WINNING("8MiB", MIB(8)),
    WINNING("16MiB", MIB(16)),
    WINNING("512MiB", MIB(512)),
    WINNING("1GiB", GIB(1)),
    WINNING("32GiB", GIB(32)),
    WINNING("64GiB", GIB(64)),
    WINDOW("2KiB", KIB(2)),
    WINDOW("4KiB", KIB(4)),
    WINDOW("16KiB", KIB(16)),
    WINDOW("32KiB", KIB(32)),
    WINDOW("8MiB", MIB(8)),
    WINDOW("16MiB", MIB(16)),
    WINDOW("512MiB", MIB(512)),
    WINDOW("1GiB", GIB(1)),
    WINDOW("32GiB", GIB(32)),
    WINDOW("64GiB", GIB(64)),
    {{"WindowPoSt 32GiB shape, only 2 sectors x10", CIRCUIT_GADGET, "gadget", GIB(32)},
     post_by_bytes,
     {FIL_POST_WINDOW, 2}},
    {{"WindowPoSt 64GiB shape, only 2 sectors x10", CIRCUIT_GADGET, "gadget", GIB(64)},
     post_by_bytes,
     {FIL_POST_WINDOW, 2}},
};
static const circuit_row update_rows[] = {
    UPDATE("1KiB", KIB(1)),         UPDATE("2KiB", KIB(2)),       UPDATE("4KiB", KIB(4)),
    UPDATE("8KiB", KIB(8)),         UPDATE("16KiB", KIB(16)),     UPDATE("32KiB", KIB(32)),
    UPDATE("8MiB", MIB(8)),         UPDATE("16MiB", MIB(16)),     UPDATE("512MiB", MIB(512)),
    UPDATE("32GiB", GIB(32)),       UPDATE("64GiB", GIB(64)),     UPDATE_POS("1KiB", KIB(1)),
    UPDATE_POS("2KiB", KIB(2)),     UPDATE_POS("4KiB", KIB(4)),   UPDATE_POS("8KiB", KIB(8)),
    UPDATE_POS("16KiB", KIB(16)),   UPDATE_POS("32KiB", KIB(32)), UPDATE_POS("8MiB", MIB(8)),
    UPDATE_POS("512MiB", MIB(512)), UPDATE_POS("32GiB", GIB(32)), UPDATE_POS("64GiB", GIB(64)),
};

typedef struct circuit_table {
    const circuit_row *rows;
    const size_t *n;
} circuit_table;
static const size_t n_porep_rows = ARRAY_LEN(porep_rows), n_post_rows = ARRAY_LEN(post_rows),
                    n_update_rows = ARRAY_LEN(update_rows);
static const circuit_table tables[] = {
    {porep_rows, &n_porep_rows},
    {post_rows, &n_post_rows},
    {update_rows, &n_update_rows},
    {circuit_gadget_rows, &circuit_n_gadget_rows},
};

size_t circuit_count(void)
{
    size_t n = 0;
    for (size_t t = 0; t < ARRAY_LEN(tables); t++)
        n += *tables[t].n;
    return n;
}

static const circuit_row *row_at(size_t i)
{
    for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
        if (i < *tables[t].n)
            return &tables[t].rows[i];
        i -= *tables[t].n;
    }
    return NULL;
}

circuit_info circuit_get(size_t i) { return row_at(i)->info; }

cuzk_status circuit_shape(r1cs_shape **out, const char *name)
{
    *out = NULL;
    size_t best = 0, best_len = 0, n = circuit_count();
    for (size_t i = 0; i < n; i++) {
        const circuit_row *row = row_at(i);
        if (strcmp(row->info.name, name) == 0)
            return row->build(out, row);
        size_t common = 0;
        while (name[common] && name[common] == row->info.name[common])
            common++;
        if (common > best_len) {
            best_len = common;
            best = i;
        }
    }
    return cuzk_fail(
        CUZK_E_NOT_FOUND,
        "circuit: expected a name listed by `cuzk circuits`, such as \"%s\", found \"%.60s\"",
        row_at(best)->info.name, name);
}
