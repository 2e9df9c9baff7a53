/* The ledger of memory and the limits of the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/budget.h"

static void test_reserving_is_all_or_nothing(void **state)
{
    (void)state;
    budget b;
    budget_init(&b, 100);
    assert_true(budget_reserve(&b, BUDGET_KEYS, 60));
    assert_false(budget_reserve(&b, BUDGET_WORK, 41));
    assert_int_equal(budget_used(&b), 60);
    assert_true(budget_reserve(&b, BUDGET_WORK, 40));
    assert_int_equal(budget_left(&b), 0);
    assert_true(budget_reserve(&b, BUDGET_WORK, 0));
    assert_false(budget_reserve(&b, BUDGET_WORK, UINT64_MAX));
    budget_release(&b, BUDGET_KEYS, 60);
    assert_int_equal(b.used[BUDGET_WORK], 40);
    assert_int_equal(budget_left(&b), 60);
}

static void test_more_than_all_leaves_nothing_and_recovers(void **state)
{
    (void)state;
    budget b;
    budget_init(&b, 100);
    budget_force(&b, BUDGET_DECODED, 150);
    assert_int_equal(budget_left(&b), 0);
    assert_false(budget_reserve(&b, BUDGET_KEYS, 1));
    budget_release(&b, BUDGET_DECODED, 100);
    assert_true(budget_reserve(&b, BUDGET_KEYS, 50));
}

static void put(const char *root, const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(path, 0700);
            *p = '/';
        }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

#define MEMINFO "MemFree: 5 kB\nMemTotal: 1000 kB\nSwapTotal: 9 kB\n"
static const struct {
    const char *what, *cgroup; /* of /proc/self/cgroup */
    const char *file[2], *text[2];
    uint64_t want;
} hosts[] = {
    {"no limits", "0::/\n", {NULL}, {NULL}, 1024000},
    {"v2, own", "0::/a/b\n", {"cg/a/b/memory.max"}, {"500000\n"}, 500000},
    {"v2, max", "0::/a/b\n", {"cg/a/b/memory.max"}, {"max\n"}, 1024000},
    {"v2, parent",
     "0::/a/b\n",
     {"cg/a/b/memory.max", "cg/a/memory.max"},
     {"max\n", "400000\n"},
     400000},
    {"v2, root of a container", "0::/\n", {"cg/memory.max"}, {"300000\n"}, 300000},
    {"v1", "3:cpu:/x\n4:memory:/y\n", {"cg/memory/y/memory.limit_in_bytes"}, {"200000\n"}, 200000},
    {"v1, no limit",
     "4:memory:/y\n",
     {"cg/memory/y/memory.limit_in_bytes"},
     {"9223372036854771712\n"},
     1024000},
    {"larger than the machine", "0::/a\n", {"cg/a/memory.max"}, {"99999999999\n"}, 1024000},
};

static void test_the_smallest_limit_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        char root[] = "/tmp/cuzk-budget-XXXXXX", proc[64], cg[64], cmd[128];
        assert_non_null(mkdtemp(root));
        put(root, "proc/meminfo", MEMINFO);
        put(root, "proc/self/cgroup", hosts[i].cgroup);
        put(root, "cg/x", "");
        for (int k = 0; k < 2 && hosts[i].file[k]; k++)
            put(root, hosts[i].file[k], hosts[i].text[k]);
        snprintf(proc, sizeof proc, "%s/proc", root);
        snprintf(cg, sizeof cg, "%s/cg", root);
        uint64_t got = budget_host_limit(proc, cg);
        snprintf(cmd, sizeof cmd, "rm -r %s", root);
        assert_int_equal(system(cmd), 0);
        if (got != hosts[i].want)
            fail_msg("%s: %llu, want %llu", hosts[i].what, (unsigned long long)got,
                     (unsigned long long)hosts[i].want);
    }
}

static void test_unknown_hosts_have_no_limit(void **state)
{
    (void)state;
    assert_int_equal(budget_host_limit("/nonexistent", "/nonexistent"), 0);
    assert_true(budget_host_limit("/proc", "/sys/fs/cgroup") > 0);
}

static void test_the_total_is_never_above_the_limit(void **state)
{
    (void)state;
    assert_int_equal(budget_choose_total(0, 1000), 900);
    assert_int_equal(budget_choose_total(500, 1000), 500);
    assert_int_equal(budget_choose_total(5000, 1000), 1000);
    assert_int_equal(budget_choose_total(5000, 0), 5000);
    assert_true(budget_choose_total(0, 0) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reserving_is_all_or_nothing),
        cmocka_unit_test(test_more_than_all_leaves_nothing_and_recovers),
        cmocka_unit_test(test_the_smallest_limit_counts),
        cmocka_unit_test(test_unknown_hosts_have_no_limit),
        cmocka_unit_test(test_the_total_is_never_above_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
