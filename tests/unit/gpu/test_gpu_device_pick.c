/* Which device a selector names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "gpu/gpu_device.h"

static const gpu_device_info devices[] = {
    {.ordinal = 0, .uuid = "GPU-12345678-aaaa-0000-0000-000000000000", .pci = "0000:17:00.0"},
    {.ordinal = 1, .uuid = "GPU-12345678-bbbb-0000-0000-000000000000", .pci = "0000:65:00.0"},
    {.ordinal = 2, .uuid = "GPU-9abcdef0-cccc-0000-0000-000000000000", .pci = "0001:17:00.0"},
};

static const struct {
    const char *sel;
    int ordinal; /* -1: refused */
    const char *says;
} cases[] = {
    {NULL, 0, NULL},
    {"0", 0, NULL},
    {"2", 2, NULL},
    {"3", -1, "none"},
    {"999", -1, "none"},
    {"9abc", 2, NULL}, /* four digits that are no index */
    {"GPU-12345678-aaaa-0000-0000-000000000000", 0, NULL},
    {"gpu-12345678-B", 1, NULL},
    {"12345678-aaaa", 0, NULL},
    {"GPU-12345678", -1, "several"},
    {"GPU-9ab", -1, "none"}, /* too short to be meant */
    {"0000:65:00.0", 1, NULL},
    {"65:00.0", 1, NULL},
    {"17:00.0", -1, "several"},
    {"0001:17:00.0", 2, NULL},
    {"", -1, "none"},
    {"cuda:0", -1, "none"},
    {"-1", -1, "none"},
    {"00000000000000000000000000000000", -1, "none"},
};

static void test_selectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        gpu_device_info got = {.ordinal = -1};
        cuzk_status st = gpu_device_pick(&got, devices, 3, cases[i].sel);
        if (got.ordinal != cases[i].ordinal ||
            st.code != (cases[i].ordinal < 0 ? CUZK_E_NOT_FOUND : CUZK_OK) ||
            (cases[i].says && !strstr(st.msg, cases[i].says)))
            fail_msg("\"%s\": device %d, %s", cases[i].sel ? cases[i].sel : "NULL", got.ordinal,
                     st.msg);
        if (st.code != CUZK_OK)
            assert_non_null(strstr(st.msg, "0000:65:00.0")); /* what there is */
    }
}

static void test_no_device(void **state)
{
    (void)state;
    gpu_device_info got;
    cuzk_status st = gpu_device_pick(&got, devices, 0, NULL);
    assert_int_equal(st.code, CUZK_E_NOT_FOUND);
    assert_non_null(strstr(st.msg, "no CUDA device"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selectors),
        cmocka_unit_test(test_no_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
