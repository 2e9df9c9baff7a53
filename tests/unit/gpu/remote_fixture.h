/* Two circuits loaded in the CUDA backend of two processes, whose device process only pretends to use
 * a device. */
#ifndef TESTS_REMOTE_FIXTURE_H
#define TESTS_REMOTE_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>
#include "gpu/random_shape.h"
#include "unit/gpu/pretended_device.h"

static inline void assert_ok(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s", cuzk_code_name(st.code), st.msg);
}

static inline void assert_code(cuzk_status st, cuzk_code code, const char *when)
{
    if (st.code != code)
        fail_msg("%s: expected %s, found %s: %s", when, cuzk_code_name(code),
                 cuzk_code_name(st.code), st.msg);
}

typedef struct circuit {
    r1cs_shape *shape;
    witness w[2];
    void *handle;
} circuit;

static g16_backend *cuda;
static circuit a, b;
static const run_ctx plain;
static const g16_toxic no_toxic;

static inline void circuit_make(circuit *c, uint64_t seed)
{
    assert_ok(random_shape_make(&c->shape, seed, 20));
    for (int i = 0; i < 2; i++)
        assert_ok(random_shape_witness(&c->w[i], c->shape, seed + 10 + (uint64_t)i));
}

/* Of that many field elements and bits, each in some row. */
static inline void circuit_of(circuit *c, int n_nums, int n_bits)
{
    cs x;
    *c = (circuit){0};
    assert_ok(cs_init_shape(&x, "sized"));
    r1cs_var in = cs_alloc_input(&x, &FR_ZERO);
    for (int i = 0; i < n_nums + n_bits; i++) {
        r1cs_var v = i < n_nums ? cs_alloc_num(&x, &FR_ZERO) : cs_alloc_bit(&x, false);
        cs_term(&x, (cs_side)0, &FR_ONE, v);
        cs_term(&x, (cs_side)1, &FR_ONE, in);
        cs_term(&x, (cs_side)2, &FR_ONE, v);
        cs_end_row(&x);
    }
    assert_ok(cs_finish_shape(&x, &c->shape));
    cs_fini(&x);
    for (uint64_t i = 0; i < 2; i++)
        assert_ok(random_shape_witness(&c->w[i], c->shape, 5 + i));
}

static inline void circuit_free(circuit *c)
{
    witness_fini(&c->w[0]);
    witness_fini(&c->w[1]);
    r1cs_shape_destroy(c->shape);
    *c = (circuit){0};
}

static inline cuzk_status circuit_load(circuit *c, const run_ctx *rc)
{
    g16_vk vk;
    cuzk_status st = g16_cuda_load_development(cuda, c->shape, &no_toxic, &vk, rc, &c->handle);
    if (st.code == CUZK_OK)
        assert_int_equal(vk.n_ic, r1cs_shape_counts(c->shape)->n_inputs);
    g16_vk_fini(&vk);
    return st;
}

static inline void circuit_unload(circuit *c)
{
    cuda->ops->unload(cuda, c->handle);
    c->handle = NULL;
}

static inline bool claim_all(void *ctx, size_t k)
{
    ++*(unsigned *)ctx;
    return k < 2;
}

/* Two proofs, compared. */
static inline cuzk_status prove(circuit *c, const run_ctx *rc)
{
    const witness *const w[] = {&c->w[0], &c->w[1]};
    g16_blinding rs[2];
    g16_proof out[2], want;
    unsigned n_claims = 0;
    memset(rs, 0x5a, sizeof rs);
    const g16_batch batch = {
        .n = 2, .w = w, .rs = rs, .out = out, .claim = claim_all, .ctx = &n_claims};
    cuzk_status st = cuda->ops->prove(cuda, c->handle, &batch, NULL, rc);
    if (st.code != CUZK_OK)
        return st;
    assert_int_equal(n_claims, 2);
    for (int i = 0; i < 2; i++) {
        sum_up(&want, w[i], &rs[i]);
        assert_memory_equal(&out[i], &want, sizeof want);
    }
    return st;
}

static inline void prove_both(void)
{
    assert_ok(prove(&a, &plain));
    assert_ok(prove(&b, &plain));
    assert_false(ctl->old_handle);
}

static inline void tell(event at, fault what) { ctl->at = at, ctl->what = what; }

/* What the test tells the device process; before all tests. */
static inline bool map_control(void)
{
    void *p = mmap(NULL, sizeof *ctl, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ctl = p != MAP_FAILED ? p : NULL;
    return ctl;
}

static inline int set_up(void **state)
{
    (void)state;
    memset(ctl, 0, sizeof *ctl);
    assert_ok(g16_cuda_create(&cuda, &(g16_cuda_config){.device = "2"}));
    circuit_make(&a, 1);
    circuit_make(&b, 2);
    assert_ok(circuit_load(&a, &plain));
    assert_ok(circuit_load(&b, &plain));
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    circuit_unload(&a);
    circuit_unload(&b);
    cuda->ops->destroy(cuda);
    circuit_free(&a);
    circuit_free(&b);
    return 0;
}

static inline void lose_process(void)
{
    tell(AT_PROVE, DIE);
    assert_code(prove(&a, &plain), CUZK_E_DEVICE_LOST, "death in a proof");
}
#endif
