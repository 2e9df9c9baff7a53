/* r1cs/copy.h: a copied shape is the shape, wherever the original has gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "circuit/circuit.h"
#include "r1cs/copy.h"
#include "r1cs/eval.h"

static void ok(cuzk_status st, const char *name)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s", name, st.msg);
}

static const char *const names[] = {"WinningPoSt 2KiB", "WindowPoSt 2KiB", "EmptySectorUpdate 2KiB",
                                    "PoRep 2KiB"};

static void test_copies_have_the_digest_of_the_original(void **state)
{
    (void)state;
    const run_ctx rc = {0};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        r1cs_shape *s;
        uint8_t want[32], got[32];
        char want_path[512], got_path[512];
        ok(circuit_shape(&s, names[i]), names[i]);
        r1cs_counts counts = *r1cs_shape_counts(s);
        ok(r1cs_digest(s, want, 0, NULL, NULL, &rc), names[i]);
        r1cs_shape_row_path(s, counts.n_rows / 3, want_path, sizeof want_path);
        size_t words = (size_t)(counts.n_aux + 63) / 64, n_bytes = r1cs_shape_copy_bytes(s);
        uint64_t *dense = malloc(words * 8);
        uint32_t rank = r1cs_shape_dense_rank(s)[words];
        assert_non_null(dense);
        memcpy(dense, r1cs_shape_dense_map(s), words * 8);

        uint8_t *block = mem_alloc(n_bytes + 64, 64);
        assert_non_null(block);
        memset(block, 0xa5, n_bytes + 64);
        const r1cs_shape *c = r1cs_shape_copy(block, s);
        for (size_t k = 0; k < 64; k++)
            assert_int_equal(block[n_bytes + k], 0xa5); /* not a byte more than it said */
        r1cs_shape_destroy(s);

        assert_memory_equal(r1cs_shape_counts(c), &counts, sizeof counts);
        ok(r1cs_digest(c, got, 0, NULL, NULL, &rc), names[i]);
        assert_memory_equal(got, want, sizeof got);
        r1cs_shape_row_path(c, counts.n_rows / 3, got_path, sizeof got_path);
        assert_string_equal(got_path, want_path);
        assert_memory_equal(r1cs_shape_dense_map(c), dense, words * 8);
        assert_int_equal(r1cs_shape_dense_rank(c)[words], rank);
        free(dense);
        mem_free(block);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_have_the_digest_of_the_original),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
