/* Scalars of products in G1, split by the endomorphism and cut into signed digits; and the factors
 * of a transform of points. Compiles for host and device.
 *
 * phi(x, y) = (beta x, y) is -M on the subgroup, M = x^2 with x the curve's parameter, and
 * r = M^2 - M + 1 (src/ec/g1_endo.h has the CPU's). For k = q M + s: k P = s P - q phi(P). With
 * |k| < r/2 and |s| <= M/2 both parts have at most 127 bits (Gallant, Lambert, Vanstone, CRYPTO
 * 2001). */
#ifndef GPU_GLV_CUH
#define GPU_GLV_CUH
#include "gpu/gpu_fr.cuh"
#define GPU_GLV_WORDS 4

GPU_CONST_TABLE(uint32_t, GPU_GLV_M, 5, 0x00000000, 0x00000001, 0x0001a402, 0xac45a401, 0);
GPU_CONST_TABLE(uint32_t, GPU_GLV_M_HALF, 5, 0x80000000, 0x00000000, 0x8000d201, 0x5622d200, 0);
/* floor(2^255 / M) */
GPU_CONST_TABLE(uint32_t, GPU_GLV_V, GPU_GLV_WORDS, 0x7b67f717, 0xb1fb7291, 0xf00fd56e, 0xbe35f678);

/* k P = sum of (neg[i] ? -k[i] : k[i]) phi^i(P), k[i] < 2^127. neg: all ones or 0. */
typedef struct gpu_glv {
    uint32_t k[2][GPU_GLV_WORDS], neg[2];
} gpu_glv;

/* o[0..8) = a b */
CUZK_HD void gpu_glv_mul(uint32_t *o, const uint32_t *a, const uint32_t *b)
{
    for (int i = 0; i < 2 * GPU_GLV_WORDS; i++)
        o[i] = 0;
    for (int i = 0; i < GPU_GLV_WORDS; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < GPU_GLV_WORDS; j++) {
            carry += (uint64_t)a[i] * b[j] + o[i + j];
            o[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        o[i + GPU_GLV_WORDS] = (uint32_t)carry;
    }
}

/* k: plain form, below r. The quotient estimated from k's upper half is at most two too small. */
CUZK_HD void gpu_glv_split(gpu_glv *o, const gpu_fr *k)
{
    uint32_t a[GPU_FR_WORDS], t[GPU_FR_WORDS], hi[GPU_GLV_WORDS], s[5], d[5];
    uint32_t *q = o->k[1];
    (void)gpu_words_sub(a, GPU_CONST(GPU_FR_R), k->l, GPU_FR_WORDS);
    const uint32_t neg = gpu_words_sub(t, a, k->l, GPU_FR_WORDS); /* r - k < k */
    for (int i = 0; i < GPU_FR_WORDS; i++)
        a[i] = neg ? a[i] : k->l[i];
    for (int i = 0; i < GPU_GLV_WORDS; i++) /* a >> 127 */
        hi[i] = a[i + 3] >> 31 | a[i + 4] << 1;
    gpu_glv_mul(t, hi, GPU_CONST(GPU_GLV_V));
    for (int i = 0; i < GPU_GLV_WORDS; i++)
        q[i] = t[GPU_GLV_WORDS + i];
    gpu_glv_mul(t, q, GPU_CONST(GPU_GLV_M));
    (void)gpu_words_sub(s, a, t, 5); /* below 4 M: five words hold it */
    for (int n = 0; n < 2; n++) {
        uint32_t below = gpu_words_sub(d, s, GPU_CONST(GPU_GLV_M), 5);
        for (int i = 0; i < 5; i++)
            s[i] = below ? s[i] : d[i];
        for (int i = 0; i < GPU_GLV_WORDS && !below; i++)
            if (++q[i] != 0)
                break;
    }
    const uint32_t over = gpu_words_sub(d, GPU_CONST(GPU_GLV_M_HALF), s, 5);
    if (over) { /* M - s, and one M more */
        (void)gpu_words_sub(s, GPU_CONST(GPU_GLV_M), s, 5);
        for (int i = 0; i < GPU_GLV_WORDS; i++)
            if (++q[i] != 0)
                break;
    }
    for (int i = 0; i < GPU_GLV_WORDS; i++)
        o->k[0][i] = s[i];
    o->neg[0] = over ^ neg;
    o->neg[1] = ~neg;
}

/* Two ways to cut a part into digits, digit i weighing 2^(i GPU_GLV_STEP(way)): odd ones of up to 15
 * with four zeros behind each, for threads that share the scalar; and one of up to 8 in each place,
 * for threads with scalars of their own that are to add in step. */
typedef enum gpu_glv_way { GPU_GLV_SPARSE, GPU_GLV_DENSE } gpu_glv_way;
#define GPU_GLV_N_TABLE 8u /* multiples that digits ask for: odd ones to 15, all to 8 */

CUZK_HD uint32_t gpu_glv_step(gpu_glv_way way) { return way == GPU_GLV_SPARSE ? 1 : 4; }
CUZK_HD uint32_t gpu_glv_n_digits(gpu_glv_way way) { return 128 / gpu_glv_step(way); }
/* Where a digit's multiple is in the table; digit not 0. */
CUZK_HD uint32_t gpu_glv_entry(int32_t digit, gpu_glv_way way)
{
    uint32_t abs = (uint32_t)(digit < 0 ? -digit : digit);
    return way == GPU_GLV_SPARSE ? abs >> 1 : abs - 1;
}

/* A part whose digits are taken, lowest first. */
typedef struct gpu_glv_reader {
    uint32_t k[GPU_GLV_WORDS], neg, carry, n_zeros;
} gpu_glv_reader;

CUZK_HD void gpu_glv_read(gpu_glv_reader *o, const gpu_glv *s, int part)
{
    for (int i = 0; i < GPU_GLV_WORDS; i++)
        o->k[i] = s->k[part][i];
    o->neg = s->neg[part];
    o->carry = o->n_zeros = 0;
}

/* With k < 2^127 nothing is carried out of the last digit: a sparse one in bit 127 is a carry alone,
 * a dense one at most 7 and a carry. */
CUZK_HD int32_t gpu_glv_next(gpu_glv_reader *o, gpu_glv_way way)
{
    const uint32_t step = gpu_glv_step(way);
    uint32_t digit = 0;
    if (way == GPU_GLV_DENSE) {
        digit = (o->k[0] & 15) + o->carry;
        o->carry = digit > 8;
        digit -= o->carry << 4;
    } else if (o->n_zeros > 0) {
        o->n_zeros--;
    } else if ((o->k[0] & 1) != o->carry) {
        digit = (o->k[0] & 31) + o->carry;
        o->carry = digit >> 4;
        digit -= o->carry << 5;
        o->n_zeros = 4;
    }
    for (int i = 0; i < GPU_GLV_WORDS; i++)
        o->k[i] =
            o->k[i] >> step | (i + 1 < GPU_GLV_WORDS ? o->k[i + 1] << (32 - step) : (uint32_t)0);
    return o->neg ? -(int32_t)digit : (int32_t)digit;
}

/* Of the tree in groth16/g1_transform.c: node k of any level multiplies by w^-rev(k), rev over
 * lg_n - 1 bits. */
typedef struct gpu_glv_roots {
    gpu_fr one;          /* Montgomery form, as are the others */
    gpu_fr root_pow[32]; /* w^-(2^i), i < lg_n */
    uint32_t lg_n;
} gpu_glv_roots;

/* In plain form. Bit b of the node weighs 2^(lg_n - 2 - b). */
CUZK_HD void gpu_glv_node_factor(gpu_fr *o, const gpu_glv_roots *r, uint32_t node)
{
    gpu_fr f = r->one, plain_one;
    for (int i = 0; i < GPU_FR_WORDS; i++)
        plain_one.l[i] = i == 0;
    for (uint32_t b = 0; node >> b; b++)
        if (node >> b & 1)
            gpu_fr_mul(&f, &f, &r->root_pow[r->lg_n - 2 - b]);
    gpu_fr_mul(o, &f, &plain_one);
}
#endif
