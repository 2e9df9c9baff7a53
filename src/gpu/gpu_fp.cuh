/* Fp on the device and its host twin: Montgomery form, R = 2^384, the layout of ff/fp.h in 32-bit
 * words, so buffers are shared with the CPU as they are. Outputs may alias inputs. */
#ifndef GPU_FP_CUH
#define GPU_FP_CUH
#include "gpu/gpu_chain.cuh"
#include <stdbool.h>
#define GPU_FP_WORDS 12

/* Reduced (< p) unless a function says otherwise. 16-byte aligned for vector loads. */
typedef struct gpu_fp {
    uint32_t l[GPU_FP_WORDS];
} __attribute__((aligned(16))) gpu_fp;

#define GPU_FP_P_WORDS                                                                  \
    0xffffaaab, 0xb9feffff, 0xb153ffff, 0x1eabfffe, 0xf6b0f624, 0x6730d2a0, 0xf38512bf, \
        0x64774b84, 0x434bacd7, 0x4b1ba7b6, 0x397fe69a, 0x1a0111ea
#define GPU_FP_NINV 0xfffcfffdu /* -1/p mod 2^32 */
GPU_CONST_TABLE(uint32_t, GPU_FP_P, GPU_FP_WORDS, GPU_FP_P_WORDS);
/* 2^384 mod p, the Montgomery form of 1. */
GPU_CONST_TABLE(uint32_t, GPU_FP_R, GPU_FP_WORDS, 0x0002fffd, 0x76090000, 0xc40c0002, 0xebf4000b,
                0x53c758ba, 0x5f489857, 0x70525745, 0x77ce5853, 0xa256ec6d, 0x5c071a97, 0xfa80e493,
                0x15f65ec3);

CUZK_HD void gpu_fp_set_zero(gpu_fp *o)
{
    GPU_UNROLL
    for (int i = 0; i < GPU_FP_WORDS; i++)
        o->l[i] = 0;
}

CUZK_HD void gpu_fp_set_one(gpu_fp *o)
{
    GPU_UNROLL
    for (int i = 0; i < GPU_FP_WORDS; i++)
        o->l[i] = GPU_CONST(GPU_FP_R)[i];
}

CUZK_HD bool gpu_fp_is_zero(const gpu_fp *a)
{
    uint32_t any = 0;
    GPU_UNROLL
    for (int i = 0; i < GPU_FP_WORDS; i++)
        any |= a->l[i];
    return any == 0;
}

CUZK_HD bool gpu_fp_eq(const gpu_fp *a, const gpu_fp *b)
{
    uint32_t any = 0;
    GPU_UNROLL
    for (int i = 0; i < GPU_FP_WORDS; i++)
        any |= a->l[i] ^ b->l[i];
    return any == 0;
}

CUZK_HD void gpu_fp_add(gpu_fp *o, const gpu_fp *a, const gpu_fp *b)
{
    uint32_t t[GPU_FP_WORDS]; /* < 2p < 2^382 */
    (void)gpu_words_add(t, a->l, b->l, GPU_FP_WORDS);
    gpu_words_reduce_once(o->l, t, GPU_CONST(GPU_FP_P), GPU_FP_WORDS);
}

CUZK_HD void gpu_fp_dbl(gpu_fp *o, const gpu_fp *a) { gpu_fp_add(o, a, a); }

CUZK_HD void gpu_fp_sub(gpu_fp *o, const gpu_fp *a, const gpu_fp *b)
{
    uint32_t below = gpu_words_sub(o->l, a->l, b->l, GPU_FP_WORDS);
    gpu_words_add_masked(o->l, GPU_CONST(GPU_FP_P), below, GPU_FP_WORDS);
}

CUZK_HD void gpu_fp_neg(gpu_fp *o, const gpu_fp *a)
{
    uint32_t keep = gpu_fp_is_zero(a) ? 0 : ~0u;
    (void)gpu_words_sub(o->l, GPU_CONST(GPU_FP_P), a->l, GPU_FP_WORDS);
    GPU_UNROLL
    for (int i = 0; i < GPU_FP_WORDS; i++)
        o->l[i] &= keep;
}

/* No final subtraction: a, b < 2p give a result < 1.2p, a, b < 8p one < 8p (p < 2^384 / 9.8, and
 * a b / 2^384 + p bounds it). */
CUZK_HD void gpu_fp_mul_lazy(gpu_fp *o, const gpu_fp *a, const gpu_fp *b)
{
    gpu_mont_mul(o->l, a->l, b->l, GPU_CONST(GPU_FP_P), GPU_FP_NINV, GPU_FP_WORDS);
}

/* [0, 2p) to [0, p). */
CUZK_HD void gpu_fp_reduce(gpu_fp *o, const gpu_fp *a)
{
    gpu_words_reduce_once(o->l, a->l, GPU_CONST(GPU_FP_P), GPU_FP_WORDS);
}

CUZK_HD void gpu_fp_mul(gpu_fp *o, const gpu_fp *a, const gpu_fp *b)
{
    gpu_fp_mul_lazy(o, a, b);
    gpu_fp_reduce(o, o);
}

CUZK_HD void gpu_fp_sqr_lazy(gpu_fp *o, const gpu_fp *a) { gpu_fp_mul_lazy(o, a, a); }

CUZK_HD void gpu_fp_sqr(gpu_fp *o, const gpu_fp *a)
{
    gpu_fp_sqr_lazy(o, a);
    gpu_fp_reduce(o, o);
}

/* 1/a, 0 for 0: a^(p-2), about 570 products; meant for one inversion per batch. */
CUZK_HD void gpu_fp_inv(gpu_fp *o, const gpu_fp *a)
{
    gpu_fp base = *a, r;
    gpu_fp_set_one(&r);
    for (int i = 32 * GPU_FP_WORDS - 1; i >= 0; i--) {
        /* only the lowest word of p - 2 differs from p's, and it does not borrow */
        uint32_t word = GPU_CONST(GPU_FP_P)[i / 32] - (i < 32 ? 2u : 0u);
        gpu_fp_sqr(&r, &r);
        if (word >> (i % 32) & 1)
            gpu_fp_mul(&r, &r, &base);
    }
    *o = r;
}
#endif
