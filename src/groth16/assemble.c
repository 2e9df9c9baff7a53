/* From the five sums to a proof (circuits.md A.5), and the blinding factors. */
#include "base/mem.h"
#include "groth16/backend_parts.h"

cuzk_status g16_blinding_random(g16_blinding *b)
{
    cuzk_status st = fr_random(&b->r);
    if (st.code == CUZK_OK)
        st = fr_random(&b->s);
    if (st.code != CUZK_OK)
        mem_wipe(b, sizeof *b);
    return st;
}

/* r and s hide the witness, so every product by them takes the constant-time path, and they are
 * wiped after. The conversions at the end invert Z in variable time: they run once per element on
 * values that an observer would have to time to a few bits of a random projective scaling, and the
 * affine results are public.
 * C = h + l + s A + r (beta + b1): s A already contains r s delta. */
cuzk_status g16_assemble(g16_proof *out, const g16_vk *vk, const g16_sums *sums,
                         const g16_blinding *rs)
{
    *out = (g16_proof){0};
    if (g1_aff_is_inf(&vk->delta_g1) || g2_aff_is_inf(&vk->delta_g2))
        return cuzk_bad_input("key delta", "a point other than the identity", "the identity");
    struct {
        fr_int r, s;
        g1_jac a, c, t;
        g2_jac b, t2;
    } x;
    fr_to_int(&x.r, &rs->r);
    fr_to_int(&x.s, &rs->s);

    g1_jac_from_aff(&x.t, &vk->delta_g1);
    g1_mul_ct(&x.a, &x.t, &x.r);
    g1_jac_add(&x.a, &x.a, &sums->a);
    g1_jac_add_aff(&x.a, &x.a, &vk->alpha_g1);

    g2_jac_from_aff(&x.t2, &vk->delta_g2);
    g2_mul_ct(&x.b, &x.t2, &x.s);
    g2_jac_add(&x.b, &x.b, &sums->b2);
    g2_jac_add_aff(&x.b, &x.b, &vk->beta_g2);

    g1_jac_add(&x.c, &sums->h, &sums->l);
    g1_mul_ct(&x.t, &x.a, &x.s);
    g1_jac_add(&x.c, &x.c, &x.t);
    g1_jac_add_aff(&x.t, &sums->b1, &vk->beta_g1);
    g1_mul_ct(&x.t, &x.t, &x.r);
    g1_jac_add(&x.c, &x.c, &x.t);

    g1_jac_to_aff(&out->a, &x.a);
    g2_jac_to_aff(&out->b, &x.b);
    g1_jac_to_aff(&out->c, &x.c);
    mem_wipe(&x, sizeof x);
    return cuzk_ok();
}
