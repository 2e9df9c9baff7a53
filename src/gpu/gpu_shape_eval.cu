/* A.w and B.w from the image of a shape, into bit-reversed places. */
#include "gpu/gpu_shape_eval.cuh"
extern "C" {
#include "base/span_names.h"
}

#define N_THREADS 256u
/* Rows of up to SHORT_TERMS terms are summed by a thread, those of up to MEDIUM_TERMS by a group of
 * eight, longer ones by the block. */
#define SHORT_TERMS 6u
#define MEDIUM_TERMS 128u
#define GROUP 8u
#define N_GROUPS (N_THREADS / GROUP)
/* Plain rows: A and B of a row together by a thread, or in parts by groups. */
#define SHORT_INTS 12u
#define LONG_PART 64u
#define INT_BLOCKS 6u
/* Words of 16 bytes between the stages of neighbouring lanes: eight elements and a gap that puts
 * eight lanes into eight bank groups. */
#define STAGE_STRIDE 17u

struct eval {
    gpu_shape_view v;
    gpu_shape_values w;
    gpu_fr *out[2];
    uint32_t lg_m;
};

static __device__ __forceinline__ gpu_shape_segment segment_load(const gpu_shape_view &v,
                                                                 uint32_t row)
{
    const uint4 *p = (const uint4 *)&v.segments[gpu_shape_segment_of(&v, row)];
    uint4 a = __ldg(p), b = __ldg(p + 1);
    gpu_shape_segment g = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    return g;
}

/* Row of thread t: a warp has a chunk. Of a block of k_shape_eval_ints: */
static __device__ __forceinline__ uint32_t row_of(const eval &e, uint32_t t)
{
    return gpu_shape_chunk_of(e.lg_m, blockIdx.x, t / 32) << GPU_SHAPE_LG_CHUNK | (t & 31);
}

/* Of k_shape_eval, which takes eight of the other chunks; past the domain when there are fewer. */
static __device__ __forceinline__ uint32_t other_row_of(const eval &e, uint32_t t)
{
    uint32_t k = (blockIdx.x << GPU_SHAPE_LG_HIGH) + t / 32;
    return k < e.v.n_others ? __ldg(&e.v.others[k]) << GPU_SHAPE_LG_CHUNK | (t & 31) : ~0u;
}

/* Chunks of a block in the order of bit-reversed places. */
static __device__ __forceinline__ uint32_t place_of(uint32_t high)
{
    return gpu_shape_reverse(high, GPU_SHAPE_LG_HIGH);
}

static __device__ __forceinline__ uint32_t stage_of(uint32_t t)
{
    return (t & 31) * STAGE_STRIDE + 2 * place_of(t / 32);
}

static __device__ __forceinline__ void stage_put(uint4 *stage, uint32_t t, const gpu_fr &x)
{
    stage[stage_of(t)] = make_uint4(x.l[0], x.l[1], x.l[2], x.l[3]);
    stage[stage_of(t) + 1] = make_uint4(x.l[4], x.l[5], x.l[6], x.l[7]);
}

/* Sums over the eight lanes of a group, to all of them. All lanes of the warp take part. */
static __device__ __forceinline__ void group_sum(gpu_row_sum &s)
{
#pragma unroll
    for (uint32_t d = GROUP / 2; d > 0; d >>= 1)
        s.ints += __shfl_xor_sync(~0u, s.ints, d);
    if (!__any_sync(~0u, s.has_field))
        return;
    s.has_field = true;
#pragma unroll 1
    for (uint32_t d = GROUP / 2; d > 0; d >>= 1) {
        gpu_fr o;
#pragma unroll
        for (int i = 0; i < GPU_FR_WORDS; i++)
            o.l[i] = __shfl_xor_sync(~0u, s.field.l[i], d);
        gpu_fr_add(&s.field, &s.field, &o);
    }
}

/* Rows that wait for a group or for the block: thread and side of each. */
struct waiting {
    uint16_t medium[2 * N_THREADS], longs[2 * N_THREADS];
    uint32_t n_medium, n_long;
};

/* Terms first, first + step, ... of one side of the row of thread t & 255 (side t >> 8). */
static __device__ __forceinline__ void part_sum(gpu_row_sum &s, const eval &e, uint32_t t,
                                                uint32_t first, uint32_t step)
{
    uint32_t from, to, row = other_row_of(e, t & 255);
    gpu_shape_segment g = segment_load(e.v, row);
    gpu_shape_terms_of(&e.v, &g, row, t >> 8, &from, &to);
    gpu_row_sum_terms(&s, &e.v, &g, &e.w, from + first, to, step);
}

/* Short rows: one per thread. Rows past the last are input rows, then zero. */
static __device__ __forceinline__ void short_rows(const eval &e, uint4 (*stage)[32 * STAGE_STRIDE],
                                                  waiting &wait)
{
    uint32_t t = threadIdx.x, row = other_row_of(e, t);
    gpu_fr x = {{0}};
    if (row >= e.v.n_rows) {
        stage_put(stage[1], t, x);
        if (row - e.v.n_rows < e.v.n_inputs)
            x = e.w.inputs[row - e.v.n_rows];
        stage_put(stage[0], t, x);
        return;
    }
    gpu_shape_segment g = segment_load(e.v, row);
#pragma unroll 1
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t from, to;
        gpu_shape_terms_of(&e.v, &g, row, side, &from, &to);
        if (to - from > MEDIUM_TERMS) {
            wait.longs[atomicAdd(&wait.n_long, 1u)] = (uint16_t)(t | side << 8);
        } else if (to - from > SHORT_TERMS) {
            wait.medium[atomicAdd(&wait.n_medium, 1u)] = (uint16_t)(t | side << 8);
        } else {
            gpu_row_sum s;
            gpu_row_sum_start(&s);
            gpu_row_sum_terms(&s, &e.v, &g, &e.w, from, to, 1);
            gpu_row_sum_finish(&x, &s, &e.v);
            stage_put(stage[side], t, x);
        }
    }
}

static __device__ __forceinline__ void medium_rows(const eval &e, uint4 (*stage)[32 * STAGE_STRIDE],
                                                   const waiting &wait)
{
    uint32_t lane = threadIdx.x % GROUP, n = wait.n_medium;
#pragma unroll 1
    for (uint32_t base = threadIdx.x / 32 * (32 / GROUP); base < n; base += N_GROUPS) {
        uint32_t k = base + threadIdx.x % 32 / GROUP;
        gpu_row_sum s;
        gpu_row_sum_start(&s);
        if (k < n)
            part_sum(s, e, wait.medium[k], lane, GROUP);
        group_sum(s);
        if (k < n && lane == 0) {
            gpu_fr x;
            gpu_row_sum_finish(&x, &s, &e.v);
            stage_put(stage[wait.medium[k] >> 8], wait.medium[k] & 255, x);
        }
    }
}

static __device__ __forceinline__ void long_rows(const eval &e, uint4 (*stage)[32 * STAGE_STRIDE],
                                                 const waiting &wait, gpu_row_sum *part)
{
    uint32_t n = wait.n_long;
#pragma unroll 1
    for (uint32_t k = 0; k < n; k++) {
        gpu_row_sum s;
        gpu_row_sum_start(&s);
        part_sum(s, e, wait.longs[k], threadIdx.x, N_THREADS);
        group_sum(s);
        if (threadIdx.x % GROUP == 0)
            part[threadIdx.x / GROUP] = s;
        __syncthreads();
        if (threadIdx.x == 0) {
            gpu_fr x;
            for (uint32_t i = 1; i < N_GROUPS; i++) {
                s.ints += part[i].ints;
                if (part[i].has_field)
                    gpu_row_sum_field(&s, &part[i].field);
            }
            gpu_row_sum_finish(&x, &s, &e.v);
            stage_put(stage[wait.longs[k] >> 8], wait.longs[k] & 255, x);
        }
        __syncthreads();
    }
}

/* 256 rows of chunks that are not plain: short ones by their threads; the others wait in lists, so that no lane
 * waits for another's long row. Output leaves through shared memory in runs of 256 bytes: 17 KiB, and
 * 3 KiB of lists and partial sums. */
static __global__ __launch_bounds__(N_THREADS, 4) void k_shape_eval(eval e)
{
    __shared__ uint4 stage[2][32 * STAGE_STRIDE];
    __shared__ waiting wait;
    __shared__ gpu_row_sum part[N_GROUPS];
    uint32_t t = threadIdx.x;
    if (t == 0)
        wait.n_medium = wait.n_long = 0;
    __syncthreads();
    short_rows(e, stage, wait);
    __syncthreads();
    medium_rows(e, stage, wait);
    long_rows(e, stage, wait, part);
    __syncthreads();
    /* Half an element a thread: 16 threads write the eight elements of a lane. */
#pragma unroll 1
    for (uint32_t p = t; p < 4 * N_THREADS; p += N_THREADS) {
        uint32_t side = p / (2 * N_THREADS), lane = p / 16 % 32, half = p % 16;
        uint32_t row = other_row_of(e, place_of(half / 2) * 32 + lane);
        if (row >> e.lg_m == 0) {
            uint32_t o = gpu_shape_reverse(row, e.lg_m);
            ((uint4 *)(e.out[side] + o))[half % 2] = stage[side][lane * STAGE_STRIDE + half];
        }
    }
}

/* What k_shape_eval_ints shares: sums of rows by side, in the order of stage_of. */
#define INT_STRIDE 9u
struct int_stage {
    long long sum[2][32 * INT_STRIDE];
    uint16_t waiting[2 * N_THREADS];
    uint32_t n_waiting;
    bool plain[1u << GPU_SHAPE_LG_HIGH];
};

static __device__ __forceinline__ uint32_t int_slot(uint32_t t)
{
    return (t & 31) * INT_STRIDE + place_of(t / 32);
}

/* A and B of a row: their terms follow each other. Four at a time, so that their loads overlap. */
static __device__ __forceinline__ void short_ints(const eval &e, int_stage &st)
{
    uint32_t t = threadIdx.x, row = row_of(e, t), o[3] = {0, 0, 0};
    int64_t sum[2] = {0, 0};
    if (row < e.v.n_rows) {
        gpu_shape_segment g = segment_load(e.v, row);
        uint32_t k = 3 * (g.row_first + (row - g.row_base));
#pragma unroll
        for (int i = 0; i < 3; i++)
            o[i] = __ldg(&e.v.row_off[k + i]);
        if (o[2] - o[0] > SHORT_INTS) {
            uint32_t at = atomicAdd(&st.n_waiting, 2u);
            st.waiting[at] = (uint16_t)t;
            st.waiting[at + 1] = (uint16_t)(t | 256);
            o[2] = o[0];
        }
#pragma unroll 1
        for (k = o[0]; k < o[2]; k += 4) {
            gpu_shape_term term[4];
            int64_t x[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                uint2 w = k + i < o[2] ? __ldg((const uint2 *)&e.v.terms[k + i]) : make_uint2(0, 0);
                term[i].ref = w.x;
                term[i].coeff = w.y;
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
                x[i] = k + i < o[2] ? gpu_row_int_term(&e.v, &g, e.w.bits, term[i]) : 0;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                sum[0] += k + i < o[1] ? x[i] : 0;
                sum[1] += k + i < o[1] ? 0 : x[i];
            }
        }
    }
    st.sum[0][int_slot(t)] = sum[0];
    st.sum[1][int_slot(t)] = sum[1];
}

/* Rows of many terms, each by a group of eight lanes, 64 terms at a time; the parts of longer ones go
 * to the groups in turn. */
static __device__ __forceinline__ void long_ints(const eval &e, int_stage &st)
{
    uint32_t n = st.n_waiting, group = threadIdx.x / GROUP;
#pragma unroll 1
    for (uint32_t k = 0; k < n; k++) {
        uint32_t t = st.waiting[k] & 255, side = st.waiting[k] >> 8, from, to;
        uint32_t row = row_of(e, t);
        gpu_shape_segment g = segment_load(e.v, row);
        gpu_shape_terms_of(&e.v, &g, row, side, &from, &to);
        /* Which groups take part depends on k, so that they share short rows evenly. */
        int64_t sum = 0;
        uint32_t first = from + ((group - k) % N_GROUPS * LONG_PART);
#pragma unroll 1
        for (; first < to; first += N_GROUPS * LONG_PART) {
            uint32_t end = to - first < LONG_PART ? to : first + LONG_PART;
#pragma unroll 1
            for (uint32_t i = first + threadIdx.x % GROUP; i < end; i += GROUP)
                sum += gpu_row_int_term(&e.v, &g, e.w.bits, e.v.terms[i]);
        }
        if (sum)
            atomicAdd((unsigned long long *)&st.sum[side][int_slot(t)], (unsigned long long)sum);
    }
}

/* Rare sums: rolled on purpose, the fast path has few registers. s R mod r by adding doubles. */
static __device__ __noinline__ void int_to_fr(gpu_fr *o, int64_t s, const gpu_fr *one)
{
    gpu_fr x = {{0}};
    uint64_t m = s < 0 ? 0 - (uint64_t)s : (uint64_t)s;
#pragma unroll 1
    for (int i = 63 - __clzll((long long)m); i >= 0; i--) {
        gpu_fr_add(&x, &x, &x);
        if (m >> i & 1)
            gpu_fr_add(&x, &x, one);
    }
    if (s < 0) {
        gpu_fr zero = {{0}};
        gpu_fr_sub(&x, &zero, &x);
    }
    *o = x;
}

/* The plain chunks of a block, and the zeros past the input rows: nothing but integers until the
 * output, which comes from a table. Few registers, so that many loads are under way: the chains of loads
 * (segment, row, terms, bits) take the time. */
static __global__ __launch_bounds__(N_THREADS, INT_BLOCKS) void k_shape_eval_ints(eval e)
{
    __shared__ int_stage st;
    uint32_t t = threadIdx.x, chunk = row_of(e, t) >> GPU_SHAPE_LG_CHUNK;
    bool plain = chunk >= e.v.n_chunks || (__ldg(&e.v.plain[chunk / 32]) >> (chunk % 32) & 1);
    if (t == 0)
        st.n_waiting = 0;
    if (t % 32 == 0)
        st.plain[t / 32] = plain;
    if (!__syncthreads_or(plain))
        return;
    if (plain)
        short_ints(e, st);
    __syncthreads();
    long_ints(e, st);
    __syncthreads();
#pragma unroll 1
    for (uint32_t p = t; p < 4 * N_THREADS; p += N_THREADS) {
        uint32_t side = p / (2 * N_THREADS), lane = p / 16 % 32, half = p % 16;
        uint32_t high = place_of(half / 2), row = row_of(e, high * 32 + lane);
        if (!st.plain[high] || row >> e.lg_m)
            continue;
        int64_t s = st.sum[side][lane * INT_STRIDE + half / 2];
        uint32_t o = gpu_shape_reverse(row, e.lg_m);
        uint4 *out = (uint4 *)(e.out[side] + o) + half % 2;
        if (s >= -GPU_SHAPE_INTS && s <= GPU_SHAPE_INTS) {
            *out = __ldg((const uint4 *)(e.v.ints + (s + GPU_SHAPE_INTS)) + half % 2);
        } else {
            gpu_fr x;
            int_to_fr(&x, s, &e.v.ints[GPU_SHAPE_INTS + 1]);
            *out = ((const uint4 *)&x)[half % 2];
        }
    }
}

extern "C" cuzk_status gpu_shape_eval(const gpu_shape *g, void *d_a, void *d_b,
                                      const gpu_witness *w, uint32_t lg_m, const gpu_run *run)
{
    eval e = {
        gpu_shape_device_view(g),
        {(const gpu_fr *)w->d_inputs, (const uint32_t *)w->d_bits, (const gpu_fr *)w->d_dense},
        {(gpu_fr *)d_a, (gpu_fr *)d_b},
        lg_m};
    if (!e.v.terms)
        return cuzk_fail(CUZK_E_RANGE, "the shape is not in device memory");
    if (lg_m > 28 || (uint64_t)e.v.n_rows + e.v.n_inputs > 1ull << lg_m)
        return cuzk_fail(CUZK_E_RANGE, "domain 2^%u for %llu rows", lg_m,
                         (unsigned long long)e.v.n_rows + e.v.n_inputs);
    gpu_run_group(run, SPAN_EVAL);
    uint32_t n_blocks = 1u << (lg_m > GPU_SHAPE_LG_BLOCK ? lg_m - GPU_SHAPE_LG_BLOCK : 0);
    uint32_t n_other_blocks = (e.v.n_others + 7) / 8;
    k_shape_eval_ints<<<n_blocks, N_THREADS, 0, (cudaStream_t)run->stream>>>(e);
    cuzk_status st = gpu_check_launch("k_shape_eval_ints");
    if (st.code == CUZK_OK && n_other_blocks) {
        k_shape_eval<<<n_other_blocks, N_THREADS, 0, (cudaStream_t)run->stream>>>(e);
        st = gpu_check_launch("k_shape_eval");
    }
    gpu_run_group(run, NULL);
    return st;
}
