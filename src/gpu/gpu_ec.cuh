/* G1 on the device and its host twin: affine points with lazily reduced coordinates, a complete
 * addition for the rare cases, and the two layouts of points in device memory. */
#ifndef GPU_EC_CUH
#define GPU_EC_CUH
#include "gpu/gpu_fp_lazy.cuh"

/* Infinity: bit 31 of x's top word; the rest is then void. Coordinates are below 2^382 otherwise. */
typedef struct gpu_g1 {
    gpu_fp x, y;
} gpu_g1;
#define GPU_G1_INF_BIT 0x80000000u

CUZK_HD bool gpu_g1_is_inf(const gpu_g1 *a)
{
    return (a->x.l[GPU_FP_WORDS - 1] & GPU_G1_INF_BIT) != 0;
}

CUZK_HD void gpu_g1_set_inf(gpu_g1 *o)
{
    GPU_UNROLL
    for (int i = 0; i < GPU_FP_WORDS; i++)
        o->x.l[i] = o->y.l[i] = 0;
    o->x.l[GPU_FP_WORDS - 1] = GPU_G1_INF_BIT;
}

/* o = a + b for x_a != x_b and neither infinite, given dinv = 1/(x_b - x_a): 2 products, 1 square. */
CUZK_HD void gpu_g1_add_given_inv(gpu_g1 *o, const gpu_g1 *a, const gpu_g1 *b, const gpu_fp *dinv)
{
    gpu_fp lam, t;
    gpu_lz_sub(&t, &b->y, &a->y);
    gpu_lz_mul(&lam, &t, dinv);
    gpu_lz_mul(&t, &lam, &lam);
    gpu_lz_sub(&t, &t, &a->x);
    gpu_lz_sub(&t, &t, &b->x);
    gpu_fp dx;
    gpu_lz_sub(&dx, &a->x, &t);
    gpu_lz_mul(&lam, &lam, &dx);
    gpu_lz_sub(&o->y, &lam, &a->y);
    o->x = t;
}

/* o = a + b, all cases, with an inversion of its own. o may alias a or b. The tangent's slope is
 * 3 x^2 / 2 y; y = 0 does not occur, the order of the curve being odd. */
CUZK_HD void gpu_g1_add(gpu_g1 *o, const gpu_g1 *a, const gpu_g1 *b)
{
    if (gpu_g1_is_inf(a) || gpu_g1_is_inf(b)) {
        gpu_g1 r = gpu_g1_is_inf(a) ? *b : *a;
        *o = r;
        return;
    }
    gpu_fp num, den, t;
    gpu_lz_sub(&den, &b->x, &a->x);
    gpu_lz_sub(&num, &b->y, &a->y);
    if (gpu_lz_is_zero(&den)) {
        if (!gpu_lz_is_zero(&num)) {
            gpu_g1_set_inf(o);
            return;
        }
        gpu_lz_mul(&t, &a->x, &a->x);
        gpu_lz_add(&num, &t, &t);
        gpu_lz_add(&num, &num, &t);
        gpu_lz_add(&den, &a->y, &a->y);
    }
    gpu_lz_inv(&t, &den);
    gpu_fp lam, x3;
    gpu_lz_mul(&lam, &num, &t);
    gpu_lz_mul(&x3, &lam, &lam);
    gpu_lz_sub(&x3, &x3, &a->x);
    gpu_lz_sub(&x3, &x3, &b->x);
    gpu_lz_sub(&t, &a->x, &x3);
    gpu_lz_mul(&t, &lam, &t);
    gpu_lz_sub(&o->y, &t, &a->y);
    o->x = x3;
}
#endif
