/* The encoders write what the reference writes, and sealing gives its TreeC: tests/golden is read,
 * encoded again and compared byte by byte; comm_c follows from the replica id alone. */
#include "gen_seal.h"
#include <glob.h>

static void for_each_golden(const char *pattern, void fn(const char *path))
{
    char full[1024];
    glob_t g;
    snprintf(full, sizeof full, "%s/%s", CUZK_GOLDEN_DIR, pattern);
    assert_int_equal(glob(full, 0, NULL, &g), 0);
    assert_true(g.gl_pathc > 3);
    for (size_t i = 0; i < g.gl_pathc; i++)
        fn(g.gl_pathv[i] + strlen(CUZK_GOLDEN_DIR) + 1);
    globfree(&g);
}

static void assert_same_bytes(const char *path, const uint8_t *want, size_t n_want,
                              const uint8_t *got, size_t n_got)
{
    size_t n = n_want < n_got ? n_want : n_got, at = 0;
    while (at < n && want[at] == got[at])
        at++;
    if (at < n_want || at < n_got)
        fail_msg("%s: differs at offset %zu of %zu (got %zu)", path, at, n_want, n_got);
}

static void encode_c1_again(const char *path)
{
    arena a = {0};
    fil_porep p;
    size_t len, n;
    uint8_t *bytes;
    char *text = golden_read(path, &len);
    if (len > 0 && text[len - 1] == '\n')
        len--;
    assert_ok(fil_porep_decode(&p, &a, text, len));
    assert_ok(fil_porep_encode(&bytes, &n, &p));
    assert_same_bytes(path, (const uint8_t *)text, len, bytes, n);
    mem_free(bytes);
    free(text);
    arena_fini(&a);
}

static void test_c1_is_written_as_the_reference_writes_it(void **state)
{
    (void)state;
    for_each_golden("porep/*.c1.json.gz", encode_c1_again);
    for_each_golden("porep/*.wrapped.json.gz", encode_c1_again);
}

/* "post/window-8MiB-V1_2-1sector.sector0.vanilla.bin" */
static void encode_post_again(const char *path)
{
    arena a = {0};
    fil_post p;
    size_t len, n;
    uint8_t *bytes;
    const char *size = strchr(path, '-') + 1;
    char name[16];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(size, "-."), size);
    const fil_sector *s = fil_sector_by_name(name);
    assert_non_null(s);
    fil_post_proof proof = fil_post_proof_unregistered(
        strncmp(path, "post/winning", 12) == 0 ? FIL_POST_WINNING : FIL_POST_WINDOW,
        s->sector_bytes, true);
    char *text = golden_read(path, &len);
    const uint8_t *file = (const uint8_t *)text;
    assert_ok(fil_post_decode(&p, &a, &proof, &file, &len, 1));
    assert_ok(fil_post_encode(&bytes, &n, &p, 0));
    assert_same_bytes(path, file, len, bytes, n);
    mem_free(bytes);
    free(text);
    arena_fini(&a);
}

static void test_post_is_written_as_the_reference_writes_it(void **state)
{
    (void)state;
    for_each_golden("post/*.vanilla.bin", encode_post_again);
}

/* "update/8MiB-snap.part3.vanilla.bin": all partitions of the case are read when its first one
 * comes. */
static void encode_update_again(const char *path)
{
    arena a = {0};
    fil_update u;
    size_t lens[4], n;
    char *text[4], name[16], part[128];
    uint8_t *bytes;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(path + 7, "-"), path + 7);
    const fil_sector *s = fil_sector_by_name(name);
    assert_non_null(s);
    const fil_update_config *c = fil_update_config_by_bytes(s->sector_bytes);
    uint32_t n_partitions = 1u << c->lg_partitions;
    assert_true(n_partitions <= 4);
    for (uint32_t k = 0; k < n_partitions; k++) {
        snprintf(part, sizeof part, "%.*s.part%u.vanilla.bin", (int)(strstr(path, ".part") - path),
                 path, k);
        text[k] = golden_read(part, &lens[k]);
    }
    assert_ok(fil_update_decode(&u, &a, c, (const uint8_t *const *)text, lens, n_partitions));
    for (uint32_t k = 0; k < n_partitions; k++) {
        assert_ok(fil_update_encode(&bytes, &n, &u, k));
        assert_same_bytes(path, (const uint8_t *)text[k], lens[k], bytes, n);
        mem_free(bytes);
        free(text[k]);
    }
    arena_fini(&a);
}

static void test_update_is_written_as_the_reference_writes_it(void **state)
{
    (void)state;
    for_each_golden("update/*.part0.vanilla.bin", encode_update_again);
}

/* Labels depend on no data, so sealing under the replica id of a golden sector must end in its
 * comm_c. */
static void test_sealed_columns_have_the_golden_root(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t layers;
    } cases[] = {
        {"2KiB-V1", 2},        {"2KiB-V1_1", 2},  {"2KiB-Synthetic", 2}, {"2KiB-NonInteractive", 2},
        {"4KiB-V1_1", 2},      {"16KiB-V1_1", 2}, {"32KiB-V1_1", 2},     {"16KiB-11layers", 11},
        {"32KiB-11layers", 11}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_sealed_root(cases[i].name, cases[i].layers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c1_is_written_as_the_reference_writes_it),
        cmocka_unit_test(test_post_is_written_as_the_reference_writes_it),
        cmocka_unit_test(test_update_is_written_as_the_reference_writes_it),
        cmocka_unit_test(test_sealed_columns_have_the_golden_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
