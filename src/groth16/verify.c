/* Groth16 verification: e(A,B) = e(alpha,beta) e(acc,gamma) e(C,delta), acc = ic[0] + sum x_i ic[i]
 * (circuits.md A.9). */
#include "base/mem.h"
#include "base/random.h"
#include "groth16/vk.h"
#include "msm/msm.h"
#include <string.h>

struct g16_pvk {
    const g16_vk *vk;
    g2_prepared beta, gamma, delta;
};

cuzk_status g16_pvk_create(g16_pvk **out, const g16_vk *vk)
{
    *out = NULL;
    if (vk->n_ic < 1)
        return cuzk_fail(CUZK_E_INPUT, "empty verifying key");
    g16_pvk *p = mem_alloc(sizeof *p, 64);
    if (!p)
        return cuzk_fail(CUZK_E_NOMEM, "prepared verifying key");
    p->vk = vk;
    g2_prepare(&p->beta, &vk->beta_g2);
    g2_prepare(&p->gamma, &vk->gamma_g2);
    g2_prepare(&p->delta, &vk->delta_g2);
    *out = p;
    return cuzk_ok();
}

void g16_pvk_destroy(g16_pvk *p) { mem_free(p); }

/* Proofs checked by one product: bounds the prepared B points (20 KB each). */
#define VERIFY_BATCH_MAX 256u

typedef struct verify_work {
    fr *coeff;         /* n_ic: weight of each ic point */
    fr_int *coeff_int; /* n_ic */
    g2_prepared *b;    /* n_proofs */
    g1_aff *a;         /* n_proofs weighted A, then -alpha, -acc, -C */
    const g1_aff **p;  /* n_proofs + 3 */
    const g2_prepared **q;
} verify_work;

static void work_fini(verify_work *w)
{
    mem_free(w->coeff);
    mem_free(w->coeff_int);
    mem_free(w->b);
    mem_free(w->a);
    mem_free(w->p);
    mem_free(w->q);
    *w = (verify_work){0};
}

static cuzk_status work_init(verify_work *w, size_t n_ic, size_t n_proofs)
{
    *w = (verify_work){
        .coeff = mem_zalloc(n_ic * sizeof *w->coeff, 64),
        .coeff_int = mem_alloc(n_ic * sizeof *w->coeff_int, 64),
        .b = mem_alloc(n_proofs * sizeof *w->b, 64),
        .a = mem_alloc((n_proofs + 3) * sizeof *w->a, 64),
        .p = mem_alloc((n_proofs + 3) * sizeof *w->p, 64),
        .q = mem_alloc((n_proofs + 3) * sizeof *w->q, 64),
    };
    if (w->coeff && w->coeff_int && w->b && w->a && w->p && w->q)
        return cuzk_ok();
    work_fini(w);
    return cuzk_fail(CUZK_E_NOMEM, "verification of %zu proofs", n_proofs);
}

static void set_neg(g1_aff *o, const g1_jac *a)
{
    g1_jac_to_aff(o, a);
    g1_aff_neg(o, o);
}

/* The product of the z-th powers of the equations of n proofs; z = NULL means weight 1 (one
 * proof). */
static cuzk_status check_product(verify_work *w, const g16_pvk *pvk, const fr *const *inputs,
                                 const g16_proof *proofs, size_t n_proofs, const fr *z)
{
    const g16_vk *vk = pvk->vk;
    g1_jac c_sum, t;
    g1_jac_from_aff(&c_sum, &(g1_aff){0});
    for (size_t k = 0; k < n_proofs; k++) {
        const fr *zk = z ? &z[k] : &FR_ONE;
        fr_int zk_int;
        fr_to_int(&zk_int, zk);
        fr_add(&w->coeff[0], &w->coeff[0], zk);
        for (uint32_t i = 1; i < vk->n_ic; i++) {
            fr x;
            fr_mul(&x, &inputs[k][i - 1], zk);
            fr_add(&w->coeff[i], &w->coeff[i], &x);
        }
        g1_jac_from_aff(&t, &proofs[k].a);
        if (z)
            g1_mul(&t, &t, &zk_int);
        g1_jac_to_aff(&w->a[k], &t);
        g1_jac_from_aff(&t, &proofs[k].c);
        if (z)
            g1_mul(&t, &t, &zk_int);
        g1_jac_add(&c_sum, &c_sum, &t);
        g2_prepare(&w->b[k], &proofs[k].b);
        w->p[k] = &w->a[k];
        w->q[k] = &w->b[k];
    }
    for (uint32_t i = 0; i < vk->n_ic; i++)
        fr_to_int(&w->coeff_int[i], &w->coeff[i]);
    g1_jac acc, alpha;
    CUZK_TRY(msm_g1(&acc, vk->ic, w->coeff_int, vk->n_ic, &(run_ctx){0}));
    g1_jac_from_aff(&alpha, &vk->alpha_g1);
    g1_mul(&alpha, &alpha, &w->coeff_int[0]); /* coeff[0] is the sum of the weights */
    const g1_jac *fixed_p[3] = {&alpha, &acc, &c_sum};
    const g2_prepared *fixed_q[3] = {&pvk->beta, &pvk->gamma, &pvk->delta};
    for (size_t i = 0; i < 3; i++) {
        set_neg(&w->a[n_proofs + i], fixed_p[i]);
        w->p[n_proofs + i] = &w->a[n_proofs + i];
        w->q[n_proofs + i] = fixed_q[i];
    }
    if (!pairing_product_is_one(w->p, w->q, n_proofs + 3))
        return cuzk_fail(CUZK_E_VERIFY, "the pairing equation%s does not hold",
                         n_proofs == 1 ? "" : " of some proof");
    return cuzk_ok();
}

static cuzk_status check_n_inputs(const g16_pvk *pvk, size_t n)
{
    if (n != pvk->vk->n_ic - 1)
        return cuzk_bad_input("public inputs", "as many as the key has", "%zu, key has %u", n,
                              pvk->vk->n_ic - 1);
    return cuzk_ok();
}

cuzk_status g16_verify(const g16_pvk *pvk, const fr *inputs, size_t n, const g16_proof *proof)
{
    CUZK_TRY(check_n_inputs(pvk, n));
    verify_work w;
    CUZK_TRY(work_init(&w, pvk->vk->n_ic, 1));
    cuzk_status st = check_product(&w, pvk, &inputs, proof, 1, NULL);
    work_fini(&w);
    return st;
}

/* 128-bit weights: a false batch passes with probability 2^-128 (Bellare, Garay, Rabin, EUROCRYPT
 * 98, small exponents test). */
static cuzk_status draw_weights(fr *z, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        uint8_t b[32] = {0};
        CUZK_TRY(random_bytes(b, 16));
        fr_from_le_reduce(&z[k], b);
    }
    return cuzk_ok();
}

cuzk_status g16_verify_batch(const g16_pvk *pvk, const fr *const *inputs, size_t n,
                             const g16_proof *proofs, size_t n_proofs)
{
    CUZK_TRY(check_n_inputs(pvk, n));
    if (n_proofs == 0)
        return cuzk_bad_input("proofs", "at least one", "0");
    for (size_t at = 0; at < n_proofs; at += VERIFY_BATCH_MAX) {
        size_t k = n_proofs - at < VERIFY_BATCH_MAX ? n_proofs - at : VERIFY_BATCH_MAX;
        fr z[VERIFY_BATCH_MAX];
        CUZK_TRY(draw_weights(z, k));
        verify_work w;
        CUZK_TRY(work_init(&w, pvk->vk->n_ic, k));
        cuzk_status st = check_product(&w, pvk, inputs + at, proofs + at, k, z);
        work_fini(&w);
        CUZK_TRY(st);
    }
    return cuzk_ok();
}
