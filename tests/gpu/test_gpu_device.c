/* Devices by index, UUID and address; memory counted and refused; streams, events, transfers. */
#include "backend_fixture.h"
#include "gpu/gpu_device.h"
#include "gpu/gpu_mem.h"
#include "gpu/gpu_mem_feed.h"

static gpu_device_info all[GPU_DEVICES_MAX];
static uint32_t n_devices;

static void test_devices_are_described(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < n_devices; i++) {
        const gpu_device_info *d = &all[i];
        uint64_t free_bytes, total_bytes;
        assert_ok(gpu_ctx_enter(d->ordinal));
        assert_ok(gpu_ctx_memory(&free_bytes, &total_bytes));
        print_message("%d %s %s %s %.1f of %.1f GiB free\n", d->ordinal, d->name, d->uuid, d->pci,
                      (double)free_bytes / 1073741824.0, (double)d->total_bytes / 1073741824.0);
        assert_int_equal(d->ordinal, (int)i);
        assert_int_equal(strlen(d->uuid), 40);
        assert_true(d->total_bytes >= total_bytes && total_bytes >= free_bytes && free_bytes > 0);
        assert_true(d->cc_major >= 8 && d->n_multiprocessors > 0);
    }
}

static void test_every_name_of_a_device_finds_it(void **state)
{
    (void)state;
    gpu_device_info got;
    for (uint32_t i = 0; i < n_devices; i++) {
        char index[8];
        snprintf(index, sizeof index, "%u", i);
        const char *names[] = {index, all[i].uuid, all[i].uuid + 4, all[i].pci, all[i].pci + 5};
        for (size_t k = 0; k < ARRAY_LEN(names); k++) {
            assert_ok(gpu_device_find(&got, names[k]));
            assert_string_equal(got.uuid, all[i].uuid);
        }
    }
    assert_ok(gpu_device_find(&got, NULL));
    assert_int_equal(got.ordinal, 0);
}

static void test_unknown_devices_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"63",           "",   "GPU-", "GPU-ffffffff-ffff",
                                        "9999:17:00.0", "-1", "cuda", "0x0"};
    gpu_device_info got;
    for (size_t k = 0; k < ARRAY_LEN(names); k++) {
        assert_refused(gpu_device_find(&got, names[k]), CUZK_E_NOT_FOUND, all[0].pci);
        g16_backend *b;
        const g16_cuda_config cfg = {.device = names[k], .in_process = k % 2 == 0};
        assert_refused(g16_cuda_create(&b, &cfg), CUZK_E_NOT_FOUND, all[0].pci);
        assert_null(b);
    }
}

static void test_a_start_of_two_uuids_is_refused(void **state)
{
    (void)state;
    gpu_device_info two[2] = {{.ordinal = 0, .uuid = "GPU-12345678-aaaa", .pci = "0000:17:00.0"},
                              {.ordinal = 1, .uuid = "GPU-12345678-bbbb", .pci = "0000:65:00.0"}};
    gpu_device_info got;
    assert_refused(gpu_device_pick(&got, two, 2, "GPU-1234"), CUZK_E_NOT_FOUND, "several");
    assert_ok(gpu_device_pick(&got, two, 2, "gpu-12345678-B"));
    assert_int_equal(got.ordinal, 1);
    assert_ok(gpu_device_pick(&got, two, 2, "65:00.0"));
    assert_int_equal(got.ordinal, 1);
    assert_refused(gpu_device_pick(&got, two, 0, NULL), CUZK_E_NOT_FOUND, "no CUDA device");
}

/* One backend per device, all at once. */
static void test_every_device_passes_the_known_answer_test(void **state)
{
    (void)state;
    const run_ctx rc = {0};
    g16_backend *b[GPU_DEVICES_MAX];
    for (uint32_t i = 0; i < n_devices; i++) {
        const g16_cuda_config cfg = {.device = all[i].uuid, .in_process = true};
        assert_ok(g16_cuda_create(&b[i], &cfg));
        assert_int_equal(g16_cuda_device(b[i])->ordinal, (int)i);
    }
    for (uint32_t i = 0; i < n_devices; i++)
        assert_ok(b[i]->ops->self_test(b[i], &rc));
    for (uint32_t i = 0; i < n_devices; i++)
        b[i]->ops->destroy(b[i]);
}

static void test_memory_is_counted_and_can_fail(void **state)
{
    (void)state;
    gpu_block a, b;
    gpu_mem_stats s0 = gpu_mem_get_stats();
    assert_ok(gpu_mem_take(&a, 1000, "a"));
    assert_ok(gpu_pin_take(&b, 5000, "b"));
    gpu_mem_stats s1 = gpu_mem_get_stats();
    assert_int_equal(s1.device_bytes - s0.device_bytes, 1000);
    assert_int_equal(s1.pinned_bytes - s0.pinned_bytes, 5000);
    gpu_mem_return(&a);
    gpu_mem_return(&a);
    gpu_pin_return(&b);
    gpu_mem_fail_nth(2);
    assert_ok(gpu_mem_take(&a, 16, "a"));
    assert_refused(gpu_mem_take(&b, 16, "the block"), CUZK_E_NOMEM, "the block: needed 16 bytes");
    assert_null(b.p);
    gpu_mem_return(&a);
    assert_refused(gpu_mem_take(&b, (size_t)1 << 50, "too much"), CUZK_E_NOMEM, "free");
    gpu_mem_stats s2 = gpu_mem_get_stats();
    assert_int_equal(s2.device_bytes, s0.device_bytes);
    assert_int_equal(s2.pinned_bytes, s0.pinned_bytes);
}

/* Lengths around one and several buffers come back as they went. */
static void test_transfers_bring_every_byte(void **state)
{
    (void)state;
    static const size_t lens[] = {1, 63, 64, 65, 128, 129, 1000};
    const run_ctx rc = {0};
    gpu_stream *s;
    gpu_feed f;
    gpu_block d, back;
    assert_ok(gpu_stream_create(&s));
    assert_ok(gpu_feed_init(&f, 64, s));
    assert_ok(gpu_mem_take(&d, 1024, "target"));
    assert_ok(gpu_pin_take(&back, 1024, "back"));
    uint8_t want[1024];
    uint64_t seed = 7;
    for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
        for (size_t k = 0; k < lens[i]; k++)
            want[k] = (uint8_t)fx_u64(&seed);
        assert_ok(gpu_fill(d.p, 0xa5, 1024, s));
        assert_ok(gpu_feed_copy(&f, d.p, want, lens[i], &rc));
        assert_ok(gpu_copy_out(back.p, d.p, 1024, s));
        assert_ok(gpu_stream_wait_sync(s));
        assert_memory_equal(back.p, want, lens[i]);
        assert_int_equal(((uint8_t *)back.p)[lens[i]], 0xa5);
    }
    gpu_feed_fini(&f);
    gpu_pin_return(&back);
    gpu_mem_return(&d);
    gpu_stream_destroy(s);
}

int main(void)
{
    cuzk_status st = gpu_devices(all, &n_devices, GPU_DEVICES_MAX);
    if (st.code != CUZK_OK || n_devices == 0)
        return 77; /* no device */
    st = gpu_ctx_enter(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices_are_described),
        cmocka_unit_test(test_every_name_of_a_device_finds_it),
        cmocka_unit_test(test_unknown_devices_are_refused),
        cmocka_unit_test(test_a_start_of_two_uuids_is_refused),
        cmocka_unit_test(test_every_device_passes_the_known_answer_test),
        cmocka_unit_test(test_memory_is_counted_and_can_fail),
        cmocka_unit_test(test_transfers_bring_every_byte),
    };
    return st.code == CUZK_OK ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
