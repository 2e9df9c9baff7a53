/* Scalars of a key on the device: Lagrange values, sums by variable, lists of members. */
extern "C" {
#include "base/mem.h"
#include "base/status.h"
}
#include "gpu/gpu_common.h"
#include "gpu/gpu_quotient.h"
#include "gpu/gpu_setup_steps.h"
#include "gpu/gpu_sort.h"
#include <string.h>

#define THREADS 256
/* Elements that share an inversion of some 400 products. */
#define LG_LAG_K 8u
#define LG_LAG_THREADS_MIN 12u
/* Columns of Poseidon's rows have up to 60 entries: 15 ms (H200). */
#define OWN_PER_SLICE (1u << 25)

static gpu_fr to_device_form(const fr *a)
{
    gpu_fr o;
    static_assert(sizeof o == sizeof *a, "same layout");
    memcpy(&o, a, sizeof o);
    return o;
}

static cudaStream_t stream_of(const gpu_run *run) { return (cudaStream_t)run->stream; }

static uint32_t blocks_for(size_t n) { return (uint32_t)((n + THREADS - 1) / THREADS); }

/* o = 1/a = a^(r-2). */
static __device__ __noinline__ void fr_invert(gpu_fr *o, const gpu_fr *a, const gpu_fr *one)
{
    uint32_t e[GPU_FR_WORDS], two[GPU_FR_WORDS] = {2};
    gpu_fr base = *a, r = *one;
    (void)gpu_words_sub(e, GPU_FR_R, two, GPU_FR_WORDS);
#pragma unroll 1
    for (int i = 254; i >= 0; i--) {
        uint32_t word = 0;
#pragma unroll
        for (int k = 0; k < GPU_FR_WORDS; k++)
            word = k == i / 32 ? e[k] : word;
        gpu_fr_mul(&r, &r, &r);
        if (word >> (i % 32) & 1)
            gpu_fr_mul(&r, &r, &base);
    }
    *o = r;
}

/* y q (first - second q) for the elements y of the domain and q = 1 / (tau - y). */
struct lag_args {
    gpu_fr *out;
    gpu_fr one, tau, first, second;
    gpu_fr w_pow[32];      /* w^(2^i) */
    gpu_fr step, step_inv; /* w^T, w^-T for T threads */
    uint32_t lg_threads, n_each, lg_m;
    bool has_second, reversed; /* reversed: element j at the place with the bits of j reversed */
};

static __device__ __forceinline__ uint32_t reversed_bits(uint32_t i, uint32_t lg_m)
{
    return lg_m ? __brev(i) >> (32 - lg_m) : 0;
}

static __device__ __forceinline__ gpu_fr *lag_place(const lag_args &a, uint32_t j)
{
    return a.out + (a.reversed ? reversed_bits(j, a.lg_m) : j);
}

/* Thread t of T: elements t + j T. The products of the elements before go to the output's own
 * places; then backwards with one inverse (Montgomery's trick). 256 threads, about 60 registers. */
static __global__ void __launch_bounds__(THREADS) k_lagrange(lag_args a)
{
    uint32_t t = blockIdx.x * THREADS + threadIdx.x, n_threads = 1u << a.lg_threads;
    if (t >= n_threads)
        return;
    gpu_fr w = a.one, run = a.one, d;
    for (uint32_t b = 0; b < a.lg_threads; b++)
        if (t >> b & 1)
            gpu_fr_mul(&w, &w, &a.w_pow[b]);
    for (uint32_t j = 0; j < a.n_each; j++) {
        *lag_place(a, t + j * n_threads) = run;
        gpu_fr_sub(&d, &a.tau, &w);
        gpu_fr_mul(&run, &run, &d);
        gpu_fr_mul(&w, &w, &a.step);
    }
    fr_invert(&run, &run, &a.one);
    for (uint32_t j = a.n_each; j-- > 0;) {
        gpu_fr *p = lag_place(a, t + j * n_threads);
        gpu_fr_mul(&w, &w, &a.step_inv);
        gpu_fr before = *p, l, q, f = a.first;
        gpu_fr_mul(&q, &before, &run);
        gpu_fr_mul(&l, &q, &w);
        if (a.has_second) {
            gpu_fr_mul(&q, &q, &a.second);
            gpu_fr_sub(&f, &f, &q);
        }
        gpu_fr_mul(&l, &l, &f);
        *p = l;
        gpu_fr_sub(&d, &a.tau, &w);
        gpu_fr_mul(&run, &run, &d);
    }
}

/* a has out, first, second and the flags. */
static cuzk_status lagrange(lag_args *a, const fr *tau, uint32_t lg_m, const gpu_run *run)
{
    fr w, x;
    CUZK_ASSERT(lg_m <= 31);
    a->lg_m = a->lg_threads = lg_m;
    if (lg_m > LG_LAG_THREADS_MIN)
        a->lg_threads = lg_m > LG_LAG_THREADS_MIN + LG_LAG_K ? lg_m - LG_LAG_K : LG_LAG_THREADS_MIN;
    a->n_each = 1u << (lg_m - a->lg_threads);
    a->one = to_device_form(&FR_ONE);
    a->tau = to_device_form(tau);
    fr_root_of_unity(&w, lg_m);
    for (uint32_t i = 0; i <= a->lg_threads; i++) {
        a->w_pow[i] = to_device_form(&w);
        if (i == a->lg_threads) {
            a->step = a->w_pow[i];
            fr_inv(&x, &w);
            a->step_inv = to_device_form(&x);
        }
        fr_sqr(&w, &w);
    }
    k_lagrange<<<blocks_for((size_t)1 << a->lg_threads), THREADS, 0, stream_of(run)>>>(*a);
    mem_wipe(a, sizeof *a);
    return gpu_check_launch("k_lagrange");
}

/* o = 1/m, m = 2^lg_m. */
static void size_inverse(fr *o, uint32_t lg_m)
{
    fr_from_u64(o, (uint64_t)1 << lg_m);
    fr_inv(o, o);
}

extern "C" cuzk_status gpu_setup_lagrange(void *d_lag, const fr *tau, uint32_t lg_m,
                                          const gpu_run *run)
{
    lag_args a;
    fr m_inv, x;
    memset(&a, 0, sizeof a);
    a.out = (gpu_fr *)d_lag;
    fr_pow_u64(&x, tau, (uint64_t)1 << lg_m);
    fr_sub(&x, &x, &FR_ONE);
    size_inverse(&m_inv, lg_m);
    fr_mul(&x, &x, &m_inv);
    a.first = to_device_form(&x);
    mem_wipe(&x, sizeof x);
    return lagrange(&a, tau, lg_m, run);
}

/* o = tau^m - 1. */
static void z_at(fr *o, const fr *tau, uint32_t lg_m)
{
    fr_pow_u64(o, tau, (uint64_t)1 << lg_m);
    fr_sub(o, o, &FR_ONE);
}

extern "C" cuzk_status gpu_setup_h_factors(void *d_out, const fr *tau, const fr *delta_inv,
                                           uint32_t lg_m, const gpu_run *run)
{
    lag_args a;
    fr x;
    memset(&a, 0, sizeof a);
    a.out = (gpu_fr *)d_out;
    a.reversed = true;
    z_at(&x, tau, lg_m); /* m L_j(tau) = z y q */
    fr_sqr(&x, &x);
    fr_mul(&x, &x, delta_inv);
    a.first = to_device_form(&x);
    mem_wipe(&x, sizeof x);
    return lagrange(&a, tau, lg_m, run);
}

/* (theta L_j)(tau) = y q (tau^m - (z tau / m) q). */
extern "C" cuzk_status gpu_setup_g_factors(void *d_out, const fr *tau, const fr *delta_inv,
                                           uint32_t lg_m, const gpu_run *run)
{
    lag_args a;
    fr m_inv, z, x;
    memset(&a, 0, sizeof a);
    a.out = (gpu_fr *)d_out;
    a.has_second = true;
    size_inverse(&m_inv, lg_m);
    z_at(&z, tau, lg_m);
    fr_mul(&x, &z, delta_inv);
    fr_mul(&x, &x, &m_inv); /* z / (m delta) */
    fr_mul(&m_inv, &m_inv, &z);
    fr_mul(&m_inv, &m_inv, tau);
    fr_mul(&m_inv, &m_inv, &x);
    a.second = to_device_form(&m_inv);
    fr_add(&z, &z, &FR_ONE);
    fr_mul(&x, &x, &z);
    a.first = to_device_form(&x);
    mem_wipe(&x, sizeof x);
    mem_wipe(&z, sizeof z);
    mem_wipe(&m_inv, sizeof m_inv);
    return lagrange(&a, tau, lg_m, run);
}

/* Place i: u of its row times h, or times 1 when h is NULL. */
static __global__ void __launch_bounds__(THREADS)
    k_ones(gpu_fr *out, const gpu_fr *h, const uint64_t *u, uint32_t n_rows, uint32_t lg_m,
           gpu_fr one)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x, row = reversed_bits(i, lg_m);
    gpu_fr x = {{0}};
    if (i >> lg_m)
        return;
    if (row < n_rows && (u[row / 64] >> (row % 64) & 1))
        x = h ? h[i] : one;
    out[i] = x;
}

/* out[row of place i] = scale (d[i] h[i] + e[i]). */
static __global__ void __launch_bounds__(THREADS)
    k_d_factors(gpu_fr *out, const gpu_fr *d, const gpu_fr *h, const gpu_fr *e, gpu_fr scale,
                uint32_t lg_m)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >> lg_m)
        return;
    gpu_fr x = d[i], y = h[i];
    gpu_fr_mul(&x, &x, &y);
    y = e[i];
    gpu_fr_add(&x, &x, &y);
    gpu_fr_mul(&x, &x, &scale);
    out[reversed_bits(i, lg_m)] = x;
}

/* In place, from values in reversed places to values of theta times the polynomial, less 2^32; with
 * `back`, of the transposed map instead: sum_k x_k (theta L_j)(w^k). */
static cuzk_status derive(void *d_x, const gpu_setup_d_args *a, bool back, const gpu_run *run)
{
    CUZK_TRY(gpu_ntt_inverse(a->ntt, d_x, a->lg_m, run->stream));
    CUZK_TRY(gpu_theta(d_x, a->lg_m, back, run));
    CUZK_TRY(gpu_ntt_forward(a->ntt, d_x, a->lg_m, run->stream));
    return gpu_run_slice(run);
}

extern "C" cuzk_status gpu_setup_theta_u(void *d_out, const gpu_setup_d_args *a, const gpu_run *run)
{
    k_ones<<<blocks_for((size_t)1 << a->lg_m), THREADS, 0, stream_of(run)>>>(
        (gpu_fr *)d_out, NULL, a->d_u, (uint32_t)a->n_rows, a->lg_m, to_device_form(&FR_ONE));
    CUZK_TRY(gpu_check_launch("k_ones"));
    return derive(d_out, a, false, run);
}

extern "C" cuzk_status gpu_setup_d_factors(void *d_out, const gpu_setup_d_args *a, const fr *tau,
                                           const fr *delta_inv, const gpu_run *run)
{
    size_t m = (size_t)1 << a->lg_m;
    gpu_fr *h = (gpu_fr *)a->d_scratch, *theta_u = h + m, *e = theta_u + m;
    gpu_fr one = to_device_form(&FR_ONE);
    fr scale, two32;
    CUZK_TRY(gpu_setup_h_factors(h, tau, delta_inv, a->lg_m, run));
    CUZK_TRY(gpu_setup_theta_u(theta_u, a, run));
    k_ones<<<blocks_for(m), THREADS, 0, stream_of(run)>>>(e, h, a->d_u, (uint32_t)a->n_rows,
                                                          a->lg_m, one);
    CUZK_TRY(gpu_check_launch("k_ones"));
    CUZK_TRY(derive(e, a, true, run));
    size_inverse(&scale, a->lg_m); /* 2^32 / m^2 */
    fr_sqr(&scale, &scale);
    fr_from_u64(&two32, (uint64_t)1 << 32);
    fr_mul(&scale, &scale, &two32);
    k_d_factors<<<blocks_for(m), THREADS, 0, stream_of(run)>>>((gpu_fr *)d_out, theta_u, h, e,
                                                               to_device_form(&scale), a->lg_m);
    return gpu_check_launch("k_d_factors");
}

static __global__ void __launch_bounds__(THREADS)
    k_fold(gpu_fr *l, const gpu_fr *f, uint32_t n, bool minus)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;
    gpu_fr x = l[i], y = f[i];
    if (minus)
        gpu_fr_sub(&x, &x, &y);
    else
        gpu_fr_add(&x, &x, &y);
    l[i] = x;
}

extern "C" cuzk_status gpu_setup_fold_in(void *d_l, const void *d_f, size_t n, bool minus,
                                         const gpu_run *run)
{
    if (n == 0)
        return cuzk_ok();
    k_fold<<<blocks_for(n), THREADS, 0, stream_of(run)>>>((gpu_fr *)d_l, (const gpu_fr *)d_f,
                                                          (uint32_t)n, minus);
    return gpu_check_launch("k_fold");
}

/* Own variables [from, to) of all instances, one a thread. The block's instances are found once. */
static __global__ void __launch_bounds__(THREADS)
    k_own(gpu_fr *q, gpu_setup_view v, int side, uint32_t from, uint32_t to, const gpu_fr *lag)
{
    __shared__ uint32_t range[2];
    uint32_t first = from + blockIdx.x * THREADS, x = first + threadIdx.x;
    if (threadIdx.x < 2) {
        uint32_t end = threadIdx.x == 0 ? first : min(first + THREADS, to) - 1;
        range[threadIdx.x] = gpu_setup_find(&v.insts->own_at, 0, v.n_insts, end);
    }
    __syncthreads();
    if (x < to)
        gpu_setup_own(q, &v, side, range[0], range[1] + 1, x, lag);
}

/* Thread x: element x of the list. */
static __global__ void __launch_bounds__(THREADS)
    k_slots(uint32_t *keys, uint32_t *slots, gpu_fr *vals, gpu_setup_view v, int side, uint32_t n,
            const gpu_fr *lag)
{
    uint32_t x = blockIdx.x * THREADS + threadIdx.x, key;
    gpu_fr val;
    if (x >= n)
        return;
    gpu_setup_slot(&key, &val, &v, side, x, lag);
    keys[x] = key;
    slots[x] = x;
    vals[x] = val;
}

/* Thread t: run t of the list. */
static __global__ void __launch_bounds__(THREADS)
    k_fold(gpu_fr *q, uint32_t *keys_out, gpu_fr *vals_out, gpu_setup_list a)
{
    uint32_t t = blockIdx.x * THREADS + threadIdx.x;
    if (t * GPU_SETUP_RUN < a.n)
        gpu_setup_fold(q, keys_out, vals_out, &a, t);
}

/* Scratch of a list of n elements, from base (NULL: only counted). */
struct list_mem {
    gpu_pairs pairs;
    gpu_fr *vals, *fold_vals[2];
    uint32_t *fold_keys[2];
    void *temp;
    size_t temp_bytes;
};

static size_t carve_list(list_mem *l, char *base, size_t n)
{
    size_t at = 0, folded[2] = {gpu_setup_folded(n), gpu_setup_folded(gpu_setup_folded(n))};
#define TAKE(field, type, bytes)                   \
    do {                                           \
        (field) = (type)(void *)(base + at);       \
        at += ((size_t)(bytes) + 255) / 256 * 256; \
    } while (0)
    TAKE(l->pairs.keys, uint32_t *, n * 4);
    TAKE(l->pairs.keys_alt, uint32_t *, n * 4);
    TAKE(l->pairs.vals, uint32_t *, n * 4);
    TAKE(l->pairs.vals_alt, uint32_t *, n * 4);
    TAKE(l->vals, gpu_fr *, n * sizeof(gpu_fr));
    for (int i = 0; i < 2; i++) {
        TAKE(l->fold_keys[i], uint32_t *, folded[i] * 4);
        TAKE(l->fold_vals[i], gpu_fr *, folded[i] * sizeof(gpu_fr));
    }
    l->temp_bytes = gpu_sort_temp_bytes(n, 1);
    TAKE(l->temp, void *, l->temp_bytes);
#undef TAKE
    return at;
}

extern "C" size_t gpu_setup_query_bytes(size_t n_list)
{
    list_mem l;
    return carve_list(&l, NULL, n_list > 0 ? n_list : 1);
}

static cuzk_status fold_list(gpu_fr *q, list_mem *l, uint32_t n, const gpu_run *run)
{
    gpu_setup_list a = {l->pairs.keys, l->pairs.vals, l->vals, n};
    for (int i = 0; a.n > 0; i ^= 1) {
        size_t next = gpu_setup_folded(a.n);
        k_fold<<<blocks_for((a.n + GPU_SETUP_RUN - 1) / GPU_SETUP_RUN), THREADS, 0,
                 stream_of(run)>>>(q, next ? l->fold_keys[i] : NULL, l->fold_vals[i], a);
        CUZK_TRY(gpu_check_launch("k_fold"));
        a.keys = l->fold_keys[i];
        a.slots = NULL;
        a.vals = l->fold_vals[i];
        a.n = (uint32_t)next;
    }
    return cuzk_ok();
}

extern "C" cuzk_status gpu_setup_query(void *d_q, int side, const gpu_setup_query_args *a,
                                       const gpu_run *run)
{
    gpu_setup_view v = gpu_setup_view_at(a->im, a->d_image);
    const gpu_fr *lag = (const gpu_fr *)a->d_lag;
    uint32_t n_list = (uint32_t)gpu_setup_n_list(a->im, side), n_own = (uint32_t)a->im->n_own;
    gpu_fr *q = (gpu_fr *)d_q;
    GPU_TRY(cudaMemsetAsync(q, 0, a->n_vars * sizeof *q, stream_of(run)));
    for (uint32_t from = 0, to; from < n_own; from = to) {
        to = n_own - from < OWN_PER_SLICE ? n_own : from + OWN_PER_SLICE;
        k_own<<<blocks_for(to - from), THREADS, 0, stream_of(run)>>>(q, v, side, from, to, lag);
        CUZK_TRY(gpu_check_launch("k_own"));
        CUZK_TRY(gpu_run_slice(run));
    }
    if (n_list == 0)
        return cuzk_ok();
    list_mem l;
    unsigned bits = 1;
    (void)carve_list(&l, (char *)a->d_scratch, n_list);
    while (bits < 32 && a->n_vars >> bits)
        bits++;
    k_slots<<<blocks_for(n_list), THREADS, 0, stream_of(run)>>>(l.pairs.keys, l.pairs.vals, l.vals,
                                                                v, side, n_list, lag);
    CUZK_TRY(gpu_check_launch("k_slots"));
    CUZK_TRY(gpu_sort_pairs(&l.pairs, n_list, bits, l.temp, l.temp_bytes, run->stream));
    return fold_list(q, &l, n_list, run);
}

/* Thread i: input i. */
static __global__ void __launch_bounds__(THREADS)
    k_input_rows(gpu_fr *u, const gpu_fr *lag, uint32_t n)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        gpu_fr l = lag[i], x = u[i];
        gpu_fr_add(&x, &x, &l);
        u[i] = x;
    }
}

extern "C" cuzk_status gpu_setup_input_rows(void *d_u, const void *d_lag, size_t n_rows,
                                            size_t n_inputs, const gpu_run *run)
{
    k_input_rows<<<blocks_for(n_inputs), THREADS, 0, stream_of(run)>>>(
        (gpu_fr *)d_u, (const gpu_fr *)d_lag + n_rows, (uint32_t)n_inputs);
    return gpu_check_launch("k_input_rows");
}

struct combine_args {
    gpu_fr *w;
    const gpu_fr *u, *v;
    gpu_fr alpha, beta, gamma_inv, delta_inv;
    uint32_t n_inputs, n_vars;
    uint32_t *zero;
};

static __device__ __forceinline__ bool fr_is_zero_word(const gpu_fr *a)
{
    uint32_t any = 0;
#pragma unroll
    for (int i = 0; i < GPU_FR_WORDS; i++)
        any |= a->l[i];
    return any == 0;
}

/* Thread i: variable i. */
static __global__ void __launch_bounds__(THREADS) k_combine(combine_args a)
{
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.n_vars)
        return;
    gpu_fr u = a.u[i], v = a.v[i], w = a.w[i];
    gpu_fr_mul(&u, &u, &a.beta);
    gpu_fr_mul(&v, &v, &a.alpha);
    gpu_fr_add(&w, &w, &u);
    gpu_fr_add(&w, &w, &v);
    if (i < a.n_inputs)
        gpu_fr_mul(&w, &w, &a.gamma_inv);
    else
        gpu_fr_mul(&w, &w, &a.delta_inv);
    a.w[i] = w;
    if (fr_is_zero_word(&w))
        atomicMin(a.zero, i);
}

extern "C" cuzk_status gpu_setup_combine(void *d_w, const void *d_u, const void *d_v,
                                         const gpu_setup_weights *c, uint32_t *d_zero,
                                         const gpu_run *run)
{
    combine_args a = {(gpu_fr *)d_w,
                      (const gpu_fr *)d_u,
                      (const gpu_fr *)d_v,
                      to_device_form(&c->alpha),
                      to_device_form(&c->beta),
                      to_device_form(&c->gamma_inv),
                      to_device_form(&c->delta_inv),
                      (uint32_t)c->n_inputs,
                      (uint32_t)c->n_vars,
                      d_zero};
    k_combine<<<blocks_for(c->n_vars), THREADS, 0, stream_of(run)>>>(a);
    return gpu_check_launch("k_combine");
}

/* Thread j: aux variable j. */
static __global__ void __launch_bounds__(THREADS)
    k_members(uint32_t *idx, const uint64_t *map, const uint32_t *rank, uint32_t n,
              uint32_t n_inputs)
{
    uint32_t j = blockIdx.x * THREADS + threadIdx.x;
    if (j >= n)
        return;
    uint64_t word = map[j >> 6];
    if (word >> (j & 63) & 1)
        idx[rank[j >> 6] + __popcll(word & (((uint64_t)1 << (j & 63)) - 1))] = n_inputs + j;
}

extern "C" cuzk_status gpu_setup_members(uint32_t *d_idx, const gpu_setup_density *d,
                                         const gpu_run *run)
{
    if (d->n_aux == 0)
        return cuzk_ok();
    k_members<<<blocks_for(d->n_aux), THREADS, 0, stream_of(run)>>>(
        d_idx, d->d_map, d->d_rank, (uint32_t)d->n_aux, (uint32_t)d->n_inputs);
    return gpu_check_launch("k_members");
}

extern "C" cuzk_status gpu_setup_copy_in_sync(void *d_to, const void *from, size_t n,
                                              const gpu_run *run)
{
    GPU_TRY(cudaMemcpyAsync(d_to, from, n, cudaMemcpyHostToDevice, stream_of(run)));
    GPU_TRY(cudaStreamSynchronize(stream_of(run)));
    return cuzk_ok();
}

extern "C" cuzk_status gpu_setup_copy_out_sync(void *to, const void *d_from, size_t n,
                                               const gpu_run *run)
{
    GPU_TRY(cudaMemcpyAsync(to, d_from, n, cudaMemcpyDeviceToHost, stream_of(run)));
    GPU_TRY(cudaStreamSynchronize(stream_of(run)));
    return cuzk_ok();
}

extern "C" cuzk_status gpu_setup_fill(void *d_to, int byte, size_t n, const gpu_run *run)
{
    GPU_TRY(cudaMemsetAsync(d_to, byte, n, stream_of(run)));
    return cuzk_ok();
}
