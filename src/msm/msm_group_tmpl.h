/* The kernels of one group on one instruction set, as a table. A template: included once by each of
 * msm_g{1,2}_{portable,adx}.c.
 *
 * Parameters: MSM_T(t)  a point type, e.g. g1_##t    MSM_CN(f)  inline curve function, e.g. g1i_##f
 * MSM_TABLE name of the table            MSM_PIECE, MSM_FIELD_BYTES  its members piece and
 * field_bytes and batch_add, from msm_batch_tmpl.h or msm_batch_x4.h, which come first. */
typedef MSM_T(jac) jac;
typedef MSM_T(xyzz) xyzz;

/* Running sums from the end: every point is added once and every partial sum once. */
static void weighted(void *out, const void *pts_v, size_t n, unsigned first)
{
    const aff *pts = pts_v;
    xyzz run = {0}, total = {0};
    for (size_t i = n; i-- > 1 - first;) {
        MSM_CN(xyzz_add_aff)(&run, &run, &pts[i]);
        MSM_CN(xyzz_add)(&total, &total, &run);
    }
    MSM_CN(jac_from_xyzz)(out, &total);
}

static void shift_add(void *acc, unsigned k, const void *add)
{
    jac *a = acc;
    for (unsigned i = 0; i < k; i++)
        MSM_CN(jac_dbl)(a, a);
    MSM_CN(jac_add)(a, a, add);
}

static void add_aff(void *acc, const void *p)
{
    jac *a = acc;
    MSM_CN(jac_add_aff)(a, a, p);
}

static void mul_add(void *acc, const void *p, const fr_int *k)
{
    jac base, t;
    MSM_T(jac_from_aff)(&base, p);
    MSM_T(mul)(&t, &base, k);
    MSM_CN(jac_add)(acc, acc, &t);
}

static void to_aff(void *o, const void *p) { MSM_T(jac_to_aff)(o, p); }

static void from_aff(void *o, const void *p) { MSM_T(jac_from_aff)(o, p); }

const msm_group MSM_TABLE = {
    .aff_bytes = sizeof(aff),
    .jac_bytes = sizeof(jac),
    .field_bytes = MSM_FIELD_BYTES,
    .piece = MSM_PIECE,
    .batch_add = batch_add,
    .weighted = weighted,
    .shift_add = shift_add,
    .add_aff = add_aff,
    .mul_add = mul_add,
    .to_aff = to_aff,
    .from_aff = from_aff,
};
