/* Short names of circuits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "circuit/circuit_id.h"

static const struct {
    const char *name;
    proof_kind kind;
    uint64_t sector_bytes;
    uint32_t layers;
    const char *stem; /* begins with */
} names[] = {
    {"porep-32g", PROOF_POREP, (uint64_t)32 << 30, 11,
     "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-8-0-sha256_hasher-82a357d2"},
    {"porep-64g", PROOF_POREP, (uint64_t)64 << 30, 11,
     "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-8-2-sha256_hasher-96f1b4a0"},
    {"wpost-32g", PROOF_WINDOW, (uint64_t)32 << 30, 0,
     "v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-8-0-0377ded6"},
    {"winning-32g", PROOF_WINNING, (uint64_t)32 << 30, 0,
     "v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-8-0-559e581f"},
    {"snap-32g", PROOF_SNAP, (uint64_t)32 << 30, 0,
     "v28-empty-sector-update-merkletree-poseidon_hasher-8-8-0-3b7f44a9"},
    {"snap-64g", PROOF_SNAP, (uint64_t)64 << 30, 0,
     "v28-empty-sector-update-merkletree-poseidon_hasher-8-8-2-102e1444"},
    {"porep-2k", PROOF_POREP, 2048, 2, "v28-stacked-proof-of-replication-"},
    {"winning-2k", PROOF_WINNING, 2048, 0, "v28-proof-of-spacetime-fallback-"},
    {"snap-8m", PROOF_SNAP, (uint64_t)8 << 20, 0, "v28-empty-sector-update-"},
    {"porep-2k-11l", PROOF_POREP, 2048, 11, "v28-stacked-proof-of-replication-"},
};

static void test_names_are_read_and_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        circuit_id id;
        char name[CIRCUIT_ID_MAX], stem[PROOF_STEM_MAX];
        cuzk_status st = circuit_id_parse(&id, names[i].name);
        if (st.code != CUZK_OK)
            fail_msg("%s: %s", names[i].name, st.msg);
        assert_int_equal(id.kind, names[i].kind);
        assert_int_equal(id.sector_bytes, names[i].sector_bytes);
        assert_int_equal(id.layers, names[i].layers);
        circuit_id_format(name, &id);
        assert_string_equal(name, names[i].name);
        circuit_id_param_stem(stem, &id);
        if (strncmp(stem, names[i].stem, strlen(names[i].stem)) != 0)
            fail_msg("%s: %s", name, stem);
    }
}

static void test_unknown_names_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",         "porep",      "porep-",       "porep-32G",
                                      "porep-1k", "winning-3k", "snap-32g-11l", "porep-32g-2l ",
                                      "post-32g", "PoRep 2KiB"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        circuit_id id;
        cuzk_status st = circuit_id_parse(&id, bad[i]);
        if (st.code != CUZK_E_INPUT || !strstr(st.msg, bad[i]))
            fail_msg("\"%s\": %s", bad[i], st.msg);
    }
}

static void test_a_shape_is_built_by_name(void **state)
{
    (void)state;
    circuit_id id;
    r1cs_shape *s;
    assert_int_equal(circuit_id_parse(&id, "winning-2k").code, CUZK_OK);
    assert_int_equal(circuit_id_shape(&s, &id).code, CUZK_OK);
    assert_string_equal(r1cs_shape_name(s), "WinningPoSt 2KiB");
    r1cs_shape_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_read_and_written),
        cmocka_unit_test(test_unknown_names_are_refused),
        cmocka_unit_test(test_a_shape_is_built_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
