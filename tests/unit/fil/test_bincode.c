/* The bincode reader: bounds, counts, error paths, and every variant of a MerkleProof. */
#include "golden.h"
#include "uniform_tree.h"

static void test_numbers_and_bounds(void **state)
{
    (void)state;
    const uint8_t bytes[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    uint32_t a;
    uint64_t b;
    fr x;
    bincode r = bincode_make(bytes, sizeof bytes, "doc", BINCODE_NO_IDX);
    assert_ok(bincode_u32(&a, &r, "a"));
    assert_int_equal(a, 0x04030201);
    assert_ok(bincode_u64(&b, &r, "b", UINT64_MAX));
    assert_int_equal(b, 0x0c0b0a0908070605);
    assert_string_equal(bincode_u32(&a, &r, "c").msg,
                        "doc.c: expected 4 bytes at offset 12, found the end after 0");
    assert_string_equal(bincode_u64(&b, &r, "c", 1).msg,
                        "doc.c: expected 8 bytes at offset 12, found the end after 0");
    assert_string_equal(bincode_fr(&x, &r, "c").msg,
                        "doc.c: expected 32 bytes at offset 12, found the end after 0");
    assert_ok(bincode_frs(&x, &r, "c", 0));
    r = bincode_make(NULL, 0, "doc", 3);
    assert_string_equal(bincode_u32(&a, &r, "a").msg,
                        "doc[3].a: expected 4 bytes at offset 0, found the end after 0");
    r = bincode_make(bytes, sizeof bytes, "doc", BINCODE_NO_IDX);
    assert_string_equal(bincode_u64(&b, &r, "b", 7).msg,
                        "doc.b: expected integer 0..7, found 578437695752307201");
}

static void test_counts(void **state)
{
    (void)state;
    uint8_t bytes[8 + 20] = {0};
    static const struct {
        uint64_t stored, want;
        size_t min_bytes;
        const char *msg;
    } cases[] = {
        {5, 5, 4, ""},
        {0, 0, 4, ""},
        {5, 5, 5, "doc.list: expected 5 elements, found only 20 more bytes"},
        {6, 5, 4, "doc.list: expected 5 elements, found 6"},
        {UINT64_MAX, 5, 4, "doc.list: expected 5 elements, found 18446744073709551615"},
        {(uint64_t)1 << 61, (uint64_t)1 << 61, 32,
         "doc.list: expected 2305843009213693952 elements, found only 20 more bytes"},
        {UINT64_MAX, UINT64_MAX, 1,
         "doc.list: expected 18446744073709551615 elements, found only 20 more bytes"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        store_le64(bytes, cases[i].stored);
        bincode r = bincode_make(bytes, sizeof bytes, "doc", BINCODE_NO_IDX);
        cuzk_status st = bincode_count(&r, "list", cases[i].want, cases[i].min_bytes);
        assert_string_equal(st.msg, cases[i].msg);
        assert_int_equal(st.code, cases[i].msg[0] ? CUZK_E_INPUT : CUZK_OK);
    }
}

static void test_field_elements(void **state)
{
    (void)state;
    uint8_t bytes[96] = {0};
    fr x[3], one;
    fr_from_u64(&one, 1);
    bytes[0] = 1;
    bytes[32] = 1;
    memset(bytes + 64, 0xff, 32);
    bincode r = bincode_make(bytes, sizeof bytes, "doc", BINCODE_NO_IDX);
    bincode_enter(&r, "list", 4);
    assert_ok(bincode_frs(x, &r, "x", 2));
    assert_true(fr_eq(&x[0], &one) && fr_eq(&x[1], &one));
    bincode again = r;
    assert_non_null(strstr(bincode_fr(x, &r, "y").msg,
                           "doc.list[4].y: expected a field element below r, found ffffffff"));
    assert_non_null(strstr(bincode_frs(x, &again, "y", 1).msg,
                           "doc.list[4].y[0]: expected a field element below r"));
    r = bincode_make(bytes, sizeof bytes, "doc", BINCODE_NO_IDX);
    /* 32 n wraps around */
    assert_int_equal(bincode_frs(x, &r, "x", SIZE_MAX / 32 + 2).code, CUZK_E_INPUT);
}

static const fil_tree trees[] = {{8, 2, 0, 0}, {8, 2, 4, 0}, {8, 3, 8, 2}, {2, 31, 0, 0}};

static uniform_tree tree_of(fil_tree t)
{
    fr leaf;
    fr_from_u64(&leaf, 5);
    return uniform_tree_make(&leaf, t, t.base != 2);
}

static void test_paths_come_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
        fil_tree t = trees[i];
        uniform_tree u = tree_of(t);
        uint8_t bytes[4096];
        fr sib[64], root;
        fil_path p;
        uint64_t node = 0x5a5a5a5a & ((1u << (t.base == 2 ? 31 : 8)) - 1);
        if (!t.sub && t.base == 8)
            node &= 63;
        size_t n = (size_t)(put_path(bytes, &u, t, node) - bytes);
        assert_in_range(n, bincode_path_bytes(t), bincode_path_bytes(t) + 16);
        bincode r = bincode_make(bytes, n, "path", BINCODE_NO_IDX);
        assert_ok(bincode_path(&p, sib, &r, t));
        assert_int_equal(r.pos, n);
        assert_int_equal(p.n_sib, fil_tree_siblings(t));
        assert_int_equal(p.n_levels, u.n_levels);
        assert_memory_equal(p.arity, u.arity, u.n_levels);
        assert_int_equal(fil_path_index(&p), node);
        assert_true(fr_eq(&p.leaf, &u.node[0]) && fr_eq(&p.root, &u.node[u.n_levels]));
        if (t.base == 2)
            fil_path_root_sha256(&root, &p, &p.leaf);
        else
            fil_path_root_poseidon(&root, &p, &p.leaf);
        assert_true(fr_eq(&root, &p.root));
        for (size_t cut = 0; cut < n; cut++) {
            r = bincode_make(bytes, cut, "path", BINCODE_NO_IDX);
            assert_int_equal(bincode_path(&p, sib, &r, t).code, CUZK_E_INPUT);
        }
    }
}

/* Rewrite a Single as a Sub or Top with empty upper paths: n_upper lists of zero levels. */
static size_t as_variant(uint8_t *out, const uint8_t *single, size_t n, unsigned n_upper)
{
    uint8_t *p = out;
    store_le32(p, n_upper);
    memcpy(p + 4, single + 68, n - 68);
    p += 4 + n - 68;
    memset(p, 0, 8 * n_upper);
    p += 8 * n_upper;
    memcpy(p, single + 4, 64);
    return (size_t)(p + 64 - out);
}

static void test_variants_with_empty_upper_paths(void **state)
{
    (void)state;
    fil_tree t = trees[0];
    uniform_tree u = tree_of(t);
    uint8_t single[2048], other[2048];
    fr sib[64], sib2[64];
    fil_path p, q;
    size_t n = (size_t)(put_path(single, &u, t, 42) - single);
    bincode r = bincode_make(single, n, "path", BINCODE_NO_IDX);
    assert_ok(bincode_path(&p, sib, &r, t));
    for (unsigned n_upper = 1; n_upper <= 2; n_upper++) {
        size_t m = as_variant(other, single, n, n_upper);
        r = bincode_make(other, m, "path", BINCODE_NO_IDX);
        assert_ok(bincode_path(&q, sib2, &r, t));
        assert_int_equal(r.pos, m);
        q.sib = p.sib;
        assert_memory_equal(&p, &q, sizeof p);
        /* An upper path that is not empty has no place in this tree. */
        store_le64(other + m - 64 - 8, 1);
        r = bincode_make(other, m, "path", BINCODE_NO_IDX);
        cuzk_status st = bincode_path(&q, sib2, &r, t);
        assert_non_null(strstr(st.msg, n_upper == 2
                                           ? "path.top_proof: expected 0 elements, found 1"
                                           : "path.sub_proof: expected 0 elements, found 1"));
    }
    /* Too few levels for the tree. */
    r = bincode_make(single, n, "path", BINCODE_NO_IDX);
    assert_string_equal(bincode_path(&q, sib2, &r, trees[1]).msg,
                        "path.variant: expected 1 (Sub) or 2 (Top), found 0");
    r = bincode_make(single, n, "path", BINCODE_NO_IDX);
    assert_string_equal(bincode_path(&q, sib2, &r, trees[2]).msg,
                        "path.variant: expected 2 (Top), found 0");
    store_le32(single, 3);
    r = bincode_make(single, n, "path", BINCODE_NO_IDX);
    assert_string_equal(bincode_path(&q, sib2, &r, t).msg,
                        "path.variant: expected 0 (Single), 1 (Sub) or 2 (Top), found 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_and_bounds),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_field_elements),
        cmocka_unit_test(test_paths_come_back),
        cmocka_unit_test(test_variants_with_empty_upper_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
