/* Bodies of ff_kernels.h; included by ff_kernels_portable.c and ff_kernels_adx.c, which set
 * FF_KERNELS_TABLE and FF_KERNELS_NAME. */
#include "ff/ff_kernels.h"
#include "ff/fp2_inline.h"
#include "ff/fr_inline.h"

static void k_fr_mul(fr *o, const fr *a, const fr *b) { fri_mul(o, a, b); }

static void k_fr_sqr(fr *o, const fr *a) { fri_sqr(o, a); }

static void k_fr_vec_mul(fr *o, const fr *a, const fr *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fri_mul(&o[i], &a[i], &b[i]);
}

static void k_fr_vec_to_int(fr_int *o, const fr *a, size_t n)
{
    static const fr raw_one = {{1, 0, 0, 0}};
    for (size_t i = 0; i < n; i++) {
        fr t;
        fri_mul(&t, &a[i], &raw_one);
        for (int k = 0; k < 4; k++)
            o[i].l[k] = t.l[k];
    }
}

static void k_fp_mul(fp *o, const fp *a, const fp *b) { fpi_mul(o, a, b); }

static void k_fp_sqr(fp *o, const fp *a) { fpi_sqr(o, a); }

static void k_fp_sqr_n(fp *o, const fp *a, size_t n)
{
    fp t = *a;
    for (size_t i = 0; i < n; i++)
        fpi_sqr(&t, &t);
    *o = t;
}

static void k_fp2_mul(fp2 *o, const fp2 *a, const fp2 *b) { fp2i_mul(o, a, b); }

static void k_fp2_sqr(fp2 *o, const fp2 *a) { fp2i_sqr(o, a); }

const ff_kernels FF_KERNELS_TABLE = {
    .name = FF_KERNELS_NAME,
    .fr_mul = k_fr_mul,
    .fr_sqr = k_fr_sqr,
    .fr_vec_mul = k_fr_vec_mul,
    .fr_vec_to_int = k_fr_vec_to_int,
    .fp_mul = k_fp_mul,
    .fp_sqr = k_fp_sqr,
    .fp_sqr_n = k_fp_sqr_n,
    .fp2_mul = k_fp2_mul,
    .fp2_sqr = k_fp2_sqr,
};
