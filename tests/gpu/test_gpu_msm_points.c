/* Key points in bytes and records against the codecs of src/ec. Run on a machine with a device;
 * exit status 0 means that all cases passed. Argument: [seed] (default 1). */
#include "base/mem.h"
#include "gpu/gpu_msm_points.h"
#include "device_test.h"
#include "msm_fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LG_N 12u
#define N ((size_t)1 << LG_N)

static unsigned n_cases, n_failed;
static gpu_run run;

static void check(bool same, cuzk_status st, const char *what, const char *group)
{
    n_cases++;
    if (st.code == CUZK_OK && same)
        return;
    n_failed++;
    printf("FAILED: %s %s: %s\n", group, what, st.code == CUZK_OK ? "wrong" : st.msg);
}

static cuzk_status decode(bool g2, const gpu_points *p, gpu_points_check c, uint64_t *d_status)
{
    return g2 ? gpu_points_decode_g2(p, c, d_status, &run)
              : gpu_points_decode_g1(p, c, d_status, &run);
}

static cuzk_status encode(bool g2, const gpu_points *p)
{
    return g2 ? gpu_points_encode_g2(p, &run) : gpu_points_encode_g1(p, &run);
}

static void encode_cpu(bool g2, uint8_t *b, const void *a)
{
    if (g2)
        g2_encode_uncompressed(b, a);
    else
        g1_encode_uncompressed(b, a);
}

static cuzk_status decode_cpu(bool g2, const uint8_t *b, gpu_points_check c)
{
    ec_decode_opts o = {.check_curve = c != GPU_POINTS_RANGE,
                        .check_subgroup = c == GPU_POINTS_SUBGROUP};
    g1_aff a1;
    g2_aff a2;
    return g2 ? g2_decode_uncompressed(&a2, b, o) : g1_decode_uncompressed(&a1, b, o);
}

/* Host and device buffers of one group. */
typedef struct buffers {
    const fixture_group *g;
    bool g2;
    size_t bytes; /* a record's, or an encoding's */
    uint8_t *records, *prepared, *encoded, *got;
    void *d_a, *d_b;
    uint64_t *d_status;
} buffers;

static void fetch(const buffers *b, void *out, const void *d, size_t bytes)
{
    (void)b;
    FIXTURE_NEED(cudaStreamSynchronize((cudaStream_t)run.stream));
    FIXTURE_NEED(cudaMemcpy(out, d, bytes, cudaMemcpyDeviceToHost));
}

static uint64_t status_of(const buffers *b)
{
    uint64_t v;
    fetch(b, &v, b->d_status, sizeof v);
    return v;
}

/* Two pieces of odd length, so that the second starts at an odd number. */
static void good_points(const buffers *b, gpu_points_check c, bool prepared, bool in_place)
{
    size_t n1 = 1001, n2 = N - n1;
    const uint8_t *want = prepared ? b->prepared : b->records;
    void *d_out = in_place ? b->d_a : b->d_b;
    fixture_fill(b->d_status, 0xff, 8);
    fixture_put(b->d_a, b->encoded, N * b->bytes);
    gpu_points p1 = {d_out, b->d_a, 0, n1, prepared};
    gpu_points p2 = {(char *)d_out + n1 * b->bytes, (char *)b->d_a + n1 * b->bytes, n1, n2,
                     prepared};
    cuzk_status st = decode(b->g2, &p1, c, b->d_status);
    if (st.code == CUZK_OK)
        st = decode(b->g2, &p2, c, b->d_status);
    fetch(b, b->got, d_out, N * b->bytes);
    check(memcmp(b->got, want, N * b->bytes) == 0, st, "decoding", b->g->name);
    check(true, gpu_points_verdict(status_of(b)), "verdict on good points", b->g->name);
    gpu_points back = {d_out, in_place ? d_out : b->d_a, 0, N, prepared};
    fixture_fill(in_place ? b->d_b : b->d_a, 0, N * b->bytes);
    st = encode(b->g2, &back);
    fetch(b, b->got, back.d_bytes, N * b->bytes);
    check(memcmp(b->got, b->encoded, N * b->bytes) == 0, st, "encoding", b->g->name);
}

static void infinity_encoded(const buffers *b, bool prepared)
{
    uint8_t *r = b->got, want[192], out[2 * 192];
    memcpy(r, b->records, 2 * b->bytes);
    memset(r + b->bytes, 0, b->bytes);
    encode_cpu(b->g2, want, r + b->bytes);
    fixture_put(b->d_a, r, 2 * b->bytes);
    if (prepared)
        fixture_need_ok(b->g->prepare(b->d_a, 0, 2, &run));
    gpu_points p = {b->d_a, b->d_b, 0, 2, prepared};
    cuzk_status st = encode(b->g2, &p);
    fetch(b, out, b->d_b, 2 * b->bytes);
    check(memcmp(out, b->encoded, b->bytes) == 0 && memcmp(out + b->bytes, want, b->bytes) == 0, st,
          "encoding an infinity", b->g->name);
}

/* The bytes of point `at`, changed: device and CPU agree on whether to take it, and the record
 * becomes an infinity. */
static void bad_point(const buffers *b, const uint8_t *bytes, size_t at, gpu_points_check c,
                      const char *what)
{
    fixture_fill(b->d_status, 0xff, 8);
    fixture_put(b->d_a, b->encoded, N * b->bytes);
    fixture_put((char *)b->d_a + at * b->bytes, bytes, b->bytes);
    gpu_points p = {b->d_a, b->d_a, 0, N, false};
    fixture_need_ok(decode(b->g2, &p, c, b->d_status));
    fetch(b, b->got, b->d_a, N * b->bytes);
    cuzk_status st = gpu_points_verdict(status_of(b)), cpu = decode_cpu(b->g2, bytes, c);
    check(st.code == cpu.code, cuzk_ok(), what, b->g->name);
    if (st.code != CUZK_OK) {
        char name[32];
        (void)snprintf(name, sizeof name, "point %zu:", at);
        static const uint8_t zero[192];
        check(st.code == CUZK_E_INPUT && strstr(st.msg, name) &&
                  memcmp(b->got + at * b->bytes, zero, b->bytes) == 0,
              cuzk_ok(), what, b->g->name);
        memcpy(b->got + at * b->bytes, b->records + at * b->bytes, b->bytes);
    }
    if (cpu.code != CUZK_OK)
        check(memcmp(b->got, b->records, N * b->bytes) == 0, cuzk_ok(), "the other records", what);
}

/* A point on the curve that is not in the subgroup: x = 0, 1, 2, ... until one has a y. */
static void outside_subgroup(const buffers *b, uint8_t *bytes)
{
    ec_decode_opts o = {.check_curve = true};
    for (uint8_t x = 1;; x++) {
        uint8_t be[96] = {0x80};
        g1_aff a1;
        g2_aff a2;
        be[b->bytes / 2 - 1] = x;
        cuzk_status st =
            b->g2 ? g2_decode_compressed(&a2, be, o) : g1_decode_compressed(&a1, be, o);
        if (st.code != CUZK_OK)
            continue;
        encode_cpu(b->g2, bytes, b->g2 ? (const void *)&a2 : (const void *)&a1);
        fixture_need(b->g2 ? !g2_aff_is_in_subgroup(&a2) : !g1_aff_is_in_subgroup(&a1), "outside");
        return;
    }
}

static void bad_points(const buffers *b)
{
    static const uint8_t p_be[48] = {0x1a, 0x01, 0x11, 0xea, 0x39, 0x7f, 0xe6, 0x9a, 0x4b, 0x1b,
                                     0xa7, 0xb6, 0x43, 0x4b, 0xac, 0xd7, 0x64, 0x77, 0x4b, 0x84,
                                     0xf3, 0x85, 0x12, 0xbf, 0x67, 0x30, 0xd2, 0xa0, 0xf6, 0xb0,
                                     0xf6, 0x24, 0x1e, 0xab, 0xff, 0xfe, 0xb1, 0x53, 0xff, 0xff,
                                     0xb9, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xaa, 0xab};
    static const gpu_points_check checks[] = {GPU_POINTS_RANGE, GPU_POINTS_CURVE,
                                              GPU_POINTS_SUBGROUP};
    uint8_t bytes[192];
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        gpu_points_check c = checks[i];
        for (unsigned flags = 0x20; flags <= 0xe0; flags += 0x20) {
            memcpy(bytes, b->encoded + 7 * b->bytes, b->bytes);
            bytes[0] |= (uint8_t)flags;
            bad_point(b, bytes, 7, c, "flags");
            memset(bytes, 0, b->bytes);
            bytes[0] = (uint8_t)flags;
            bad_point(b, bytes, 8, c, "flags alone");
        }
        for (size_t at = 0; at < b->bytes; at += 48) {
            memcpy(bytes, b->encoded + 9 * b->bytes, b->bytes);
            memcpy(bytes + at, p_be, 48);
            bad_point(b, bytes, 9, c, "a coordinate of p");
            bytes[at + 47]--;
            bad_point(b, bytes, N - 1, c, "a coordinate of p - 1");
            memset(bytes + at, 0xff, 48);
            bytes[at] = 0x1f;
            bad_point(b, bytes, 0, c, "a large coordinate");
            memset(bytes + at, 0, 48);
            bad_point(b, bytes, 1, c, "a coordinate of 0");
        }
        memset(bytes, 0, b->bytes);
        bad_point(b, bytes, 3, c, "zeros");
        outside_subgroup(b, bytes);
        bad_point(b, bytes, 4, c, "outside the subgroup");
    }
}

/* Of several bad points the lowest is named, with its number in the whole array. */
static void lowest_bad(const buffers *b)
{
    fixture_fill(b->d_status, 0xff, 8);
    fixture_put(b->d_a, b->encoded, N * b->bytes);
    for (size_t at = 100; at < N; at += 100)
        fixture_fill((char *)b->d_a + at * b->bytes, 0xff, 1);
    gpu_points p = {b->d_b, b->d_a, (size_t)1 << 33, N, true};
    fixture_need_ok(decode(b->g2, &p, GPU_POINTS_RANGE, b->d_status));
    p.first_index += N;
    fixture_need_ok(decode(b->g2, &p, GPU_POINTS_RANGE, b->d_status));
    cuzk_status st = gpu_points_verdict(status_of(b));
    check(st.code == CUZK_E_INPUT && strstr(st.msg, "point 8589934692:"), cuzk_ok(), "lowest",
          b->g->name);
}

static void test_group(const fixture_group *g)
{
    buffers b = {.g = g, .g2 = g->id == GPU_MSM_G2, .bytes = g->aff_bytes};
    size_t all = N * b.bytes;
    b.records = mem_alloc(all, 64);
    b.prepared = mem_alloc(all, 64);
    b.encoded = mem_alloc(all, 64);
    b.got = mem_alloc(all, 64);
    fixture_need(b.records && b.prepared && b.encoded && b.got, "memory");
    FIXTURE_NEED(cudaMalloc(&b.d_a, all));
    FIXTURE_NEED(cudaMalloc(&b.d_b, all));
    FIXTURE_NEED(cudaMalloc((void **)&b.d_status, 8));
    fixture_multiples(g, b.d_a, LG_N);
    fetch(&b, b.records, b.d_a, all);
    fixture_need_ok(g->prepare(b.d_a, 0, N, &run));
    fetch(&b, b.prepared, b.d_a, all);
    for (size_t i = 0; i < N; i++)
        encode_cpu(b.g2, b.encoded + i * b.bytes, b.records + i * b.bytes);
    for (int i = 0; i < 4; i++)
        good_points(&b, GPU_POINTS_RANGE, i & 1, i & 2);
    good_points(&b, GPU_POINTS_CURVE, true, true);
    good_points(&b, GPU_POINTS_SUBGROUP, true, false);
    infinity_encoded(&b, false);
    infinity_encoded(&b, true);
    bad_points(&b);
    lowest_bad(&b);
    FIXTURE_NEED(cudaFree(b.d_a));
    FIXTURE_NEED(cudaFree(b.d_b));
    FIXTURE_NEED(cudaFree(b.d_status));
    mem_free(b.records);
    mem_free(b.prepared);
    mem_free(b.encoded);
    mem_free(b.got);
}

int main(int argc, char **argv)
{
    if (!gpu_test_has_device())
        return GPU_TEST_SKIPPED;
    unsigned long long seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    fixture_seed(seed);
    fixture_run(&run);
    printf("seed %llu\n", seed);
    for (int i = 0; i < GPU_MSM_N_GROUPS; i++)
        test_group(&FIXTURE_GROUPS[i]);
    printf("%u cases, %u failed\n", n_cases, n_failed);
    return n_failed > 0;
}
