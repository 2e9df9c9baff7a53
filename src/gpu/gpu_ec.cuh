/* G1 on the device and its host twin: affine points with lazily reduced coordinates, a complete
 * addition for the rare cases, and the two layouts of points in device memory. */
#ifndef GPU_EC_CUH
#define GPU_EC_CUH
#include "gpu/gpu_fp_lazy.cuh"

/* Infinity: bit 31 of x's top word; the rest is then void. Coordinates are below 2^382
 * otherwise. */
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

/* o = the negative of the third point on the line of that slope through a and one with
 * x-coordinate bx: a + b. o may alias a, o->x bx. */
CUZK_HD void gpu_g1_on_line(gpu_g1 *o, const gpu_g1 *a, const gpu_fp *bx, const gpu_fp *slope)
{
    gpu_fp x3, t;
    gpu_lz_sqr(&x3, slope);
    gpu_lz_sub(&x3, &x3, &a->x);
    gpu_lz_sub(&x3, &x3, bx);
    gpu_lz_sub_wide(&t, &a->x, &x3);
    gpu_lz_mul(&t, &t, slope);
    gpu_lz_sub(&o->y, &t, &a->y);
    o->x = x3;
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
        gpu_lz_sqr(&t, &a->x);
        gpu_lz_add(&num, &t, &t);
        gpu_lz_add(&num, &num, &t);
        gpu_lz_add(&den, &a->y, &a->y);
    }
    gpu_lz_inv(&t, &den);
    gpu_lz_mul(&t, &t, &num);
    gpu_g1_on_line(o, a, &b->x, &t);
}
#endif
