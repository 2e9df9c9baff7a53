/* G2 on the device and its host twin: affine points with lazily reduced coordinates; the twin of
 * gpu_ec.cuh over Fp2. */
#ifndef GPU_EC2_CUH
#define GPU_EC2_CUH
#include "gpu/gpu_ec.cuh"
#include "gpu/gpu_fp2.cuh"

/* Infinity: GPU_G1_INF_BIT in the top word of x.c0; the rest is then void. Coordinates are below
 * 2^382 otherwise. */
typedef struct gpu_g2 {
    gpu_fp2 x, y;
} gpu_g2;

CUZK_HD bool gpu_g2_is_inf(const gpu_g2 *a)
{
    return (a->x.c0.l[GPU_FP_WORDS - 1] & GPU_G1_INF_BIT) != 0;
}

CUZK_HD void gpu_g2_set_inf(gpu_g2 *o)
{
    gpu_lz2_set_zero(&o->x);
    gpu_lz2_set_zero(&o->y);
    o->x.c0.l[GPU_FP_WORDS - 1] = GPU_G1_INF_BIT;
}

/* o = the negative of the third point on the line of that slope through a and one with
 * x-coordinate bx: a + b. o may alias a, o->x bx. */
CUZK_HD void gpu_g2_on_line(gpu_g2 *o, const gpu_g2 *a, const gpu_fp2 *bx, const gpu_fp2 *slope)
{
    gpu_fp2 x3, t;
    gpu_lz2_sqr(&x3, slope);
    gpu_lz2_sub(&x3, &x3, &a->x);
    gpu_lz2_sub(&x3, &x3, bx);
    gpu_lz2_sub(&t, &a->x, &x3);
    gpu_lz2_mul(&t, &t, slope);
    gpu_lz2_sub(&o->y, &t, &a->y);
    o->x = x3;
}

/* o = a + b, all cases, with an inversion of its own. o may alias a or b. The tangent's slope is
 * 3 x^2 / 2 y; y = 0 does not occur, the order of the twist being odd. */
CUZK_HD void gpu_g2_add(gpu_g2 *o, const gpu_g2 *a, const gpu_g2 *b)
{
    if (gpu_g2_is_inf(a) || gpu_g2_is_inf(b)) {
        gpu_g2 r = gpu_g2_is_inf(a) ? *b : *a;
        *o = r;
        return;
    }
    gpu_fp2 num, den, t;
    gpu_lz2_sub(&den, &b->x, &a->x);
    gpu_lz2_sub(&num, &b->y, &a->y);
    if (gpu_lz2_is_zero(&den)) {
        if (!gpu_lz2_is_zero(&num)) {
            gpu_g2_set_inf(o);
            return;
        }
        gpu_lz2_sqr(&t, &a->x);
        gpu_lz2_add(&num, &t, &t);
        gpu_lz2_add(&num, &num, &t);
        gpu_lz2_add(&den, &a->y, &a->y);
    }
    gpu_lz2_inv(&t, &den);
    gpu_lz2_mul(&t, &t, &num);
    gpu_g2_on_line(o, a, &b->x, &t);
}
#endif
