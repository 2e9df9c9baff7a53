#include "setup_fixture.h"
#include "base/bytes.h"
#include "gpu/gpu_msm_points.h"
#include <cuda_runtime_api.h>
#include <string.h>
#include <time.h>

double setup_clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static cuzk_status on_slice(void *ctx)
{
    setup_device *d = ctx;
    (void)cudaEventRecord(d->slice[d->n_slices & 1], d->run.stream);
    if (d->n_slices > 0)
        (void)cudaEventSynchronize(d->slice[~d->n_slices & 1]);
    double now = setup_clock_ms();
    if (d->last_slice_ms > 0 && now - d->last_slice_ms > d->longest_slice_ms)
        d->longest_slice_ms = now - d->last_slice_ms;
    d->last_slice_ms = now;
    d->n_slices++;
    return d->n_slices == d->fail_at
               ? cuzk_fail(CUZK_E_CANCELLED, "slice %llu", (unsigned long long)d->n_slices)
               : cuzk_ok();
}

static void on_group(void *ctx, const char *name)
{
    setup_device *d = ctx;
    cudaStream_t s = d->run.stream;
    if (name && d->n_groups < SETUP_GROUPS_MAX) {
        d->names[d->n_groups] = name;
        (void)cudaEventRecord(d->events[2 * d->n_groups], s);
        (void)cudaEventRecord(d->events[2 * d->n_groups + 1], s);
        d->n_groups++;
    } else if (!name && d->n_groups > 0) {
        (void)cudaEventRecord(d->events[2 * d->n_groups - 1], s);
    }
}

bool setup_device_open(setup_device *d)
{
    memset(d, 0, sizeof *d);
    cudaStream_t s;
    if (cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) != cudaSuccess ||
        cudaHostAlloc(&d->ws.pin, GPU_MSM_PIN_BYTES, cudaHostAllocDefault) != cudaSuccess)
        return false;
    for (int i = 0; i < 2 * SETUP_GROUPS_MAX; i++)
        if (cudaEventCreate((cudaEvent_t *)&d->events[i]) != cudaSuccess)
            return false;
    for (int i = 0; i < 2; i++)
        if (cudaEventCreate((cudaEvent_t *)&d->slice[i]) != cudaSuccess)
            return false;
    d->run = (gpu_run){.stream = s, .slice = on_slice, .group = on_group, .ctx = d};
    d->ws.run = &d->run;
    return true;
}

void setup_device_close(setup_device *d)
{
    for (int i = 0; i < 2 * SETUP_GROUPS_MAX; i++)
        if (d->events[i])
            (void)cudaEventDestroy(d->events[i]);
    for (int i = 0; i < 2; i++)
        if (d->slice[i])
            (void)cudaEventDestroy(d->slice[i]);
    (void)cudaFreeHost(d->ws.pin);
    if (d->run.stream)
        (void)cudaStreamDestroy(d->run.stream);
    memset(d, 0, sizeof *d);
}

void setup_device_reset(setup_device *d)
{
    d->n_groups = 0;
    d->n_slices = d->fail_at = 0;
    d->last_slice_ms = d->longest_slice_ms = 0;
}

double setup_group_ms(setup_device *d, const char *name)
{
    double sum = 0;
    for (unsigned i = 0; i < d->n_groups; i++) {
        float ms = 0;
        /* A group that another one follows at once was not ended by NULL. */
        if (strcmp(d->names[i], name) == 0 &&
            cudaEventElapsedTime(&ms, d->events[2 * i], d->events[2 * i + 1]) == cudaSuccess)
            sum += ms;
    }
    return sum;
}

static cuzk_status take(void **p, size_t bytes)
{
    if (cudaMalloc(p, bytes > 0 ? bytes : 1) == cudaSuccess)
        return cudaMemset(*p, 0xa5, bytes) == cudaSuccess
                   ? cuzk_ok()
                   : cuzk_fail(CUZK_E_DEVICE, "cudaMemset of %zu bytes", bytes);
    *p = NULL;
    (void)cudaGetLastError();
    return cuzk_fail(CUZK_E_NOMEM, "%zu bytes of device memory", bytes);
}

cuzk_status setup_key_make(setup_key *k, setup_device *d, const r1cs_shape *s, const g16_toxic *t)
{
    memset(k, 0, sizeof *k);
    gpu_setup_counts(k->mem.n, s, false);
    for (int i = 0; i < G16_N_SECTIONS; i++)
        CUZK_TRY(take(&k->mem.d[i], (size_t)k->mem.n[i] * (i == G16_B_G2 ? 192 : 96)));
    k->scratch_bytes = gpu_setup_scratch_bytes(s, false);
    d->ws.bytes = k->scratch_bytes;
    CUZK_TRY(take(&d->ws.d_ws, d->ws.bytes));
    if (cudaDeviceSynchronize() != cudaSuccess)
        return cuzk_fail(CUZK_E_DEVICE, "before the set-up");
    double start = setup_clock_ms();
    cuzk_status st = gpu_setup(&k->mem, &k->vk, s, t, &d->ws);
    if (st.code == CUZK_OK && cudaStreamSynchronize(d->run.stream) != cudaSuccess)
        st = cuzk_fail(CUZK_E_DEVICE, "after the set-up");
    k->wall_ms = setup_clock_ms() - start;
    return st;
}

cuzk_status setup_key_bytes(uint8_t *out, size_t len, setup_key *k, setup_device *d)
{
    size_t at = g16_vk_bytes(&k->vk);
    if (at > len)
        return cuzk_fail(CUZK_E_RANGE, "%zu bytes", len);
    g16_vk_encode(out, &k->vk);
    for (int i = 0; i < G16_N_SECTIONS; i++) {
        size_t bytes = (size_t)k->mem.n[i] * (i == G16_B_G2 ? 192 : 96);
        gpu_points p = {k->mem.d[i], k->mem.d[i], 0, k->mem.n[i], false};
        if (bytes + 4 > len - at)
            return cuzk_fail(CUZK_E_RANGE, "%zu bytes", len);
        store_be32(out + at, k->mem.n[i]);
        at += 4;
        if (bytes > 0)
            CUZK_TRY(i == G16_B_G2 ? gpu_points_encode_g2(&p, &d->run)
                                   : gpu_points_encode_g1(&p, &d->run));
        if (cudaStreamSynchronize(d->run.stream) != cudaSuccess ||
            cudaMemcpy(out + at, k->mem.d[i], bytes, cudaMemcpyDeviceToHost) != cudaSuccess)
            return cuzk_fail(CUZK_E_DEVICE, "section %d", i);
        at += bytes;
    }
    return at == len ? cuzk_ok() : cuzk_fail(CUZK_E_RANGE, "%zu bytes, not %zu", at, len);
}

void setup_key_free(setup_key *k, setup_device *d)
{
    (void)cudaStreamSynchronize(d->run.stream);
    for (int i = 0; i < G16_N_SECTIONS; i++)
        (void)cudaFree(k->mem.d[i]);
    (void)cudaFree(d->ws.d_ws);
    d->ws.d_ws = NULL;
    d->ws.bytes = 0;
    g16_vk_fini(&k->vk);
    memset(k, 0, sizeof *k);
}
