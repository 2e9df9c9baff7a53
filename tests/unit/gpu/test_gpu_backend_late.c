/* Witnesses that come while the device process works. */
#define _GNU_SOURCE
#include "unit/gpu/remote_fixture.h"

/* Witnesses that come one by one: by polls, which the device process sends while it waits, too. */
typedef struct late {
    circuit *c;
    witness w[2]; /* empty until it is there */
    unsigned n_polls, there_at[2], n_after, cancel_at;
    g16_ready answer[2];
    bool is_told[2];
} late;

static g16_ready late_ready(void *ctx, size_t k)
{
    late *l = ctx;
    l->n_after += l->is_told[k];
    if (l->n_polls < l->there_at[k])
        return G16_LATER;
    l->is_told[k] = true;
    if (l->answer[k] == G16_READY)
        l->w[k] = l->c->w[k];
    return l->answer[k];
}

static bool late_cancelled(void *ctx)
{
    late *l = ctx;
    return ++l->n_polls == l->cancel_at;
}

static cuzk_status prove_late(late *l, bool made[2])
{
    const witness *const w[] = {&l->w[0], &l->w[1]};
    g16_blinding rs[2];
    g16_proof out[2], want, none;
    const run_ctx rc = {.cancelled = late_cancelled, .cancel_ctx = l};
    memset(rs, 0x5a, sizeof rs);
    memset(&none, 0, sizeof none);
    const g16_batch batch = {.n = 2, .w = w, .rs = rs, .out = out, .ready = late_ready, .ctx = l};
    cuzk_status st = cuda->ops->prove(cuda, l->c->handle, &batch, NULL, &rc);
    for (int k = 0; k < 2; k++) {
        made[k] = memcmp(&out[k], &none, sizeof none) != 0;
        sum_up(&want, &l->c->w[k], &rs[k]);
        if (made[k])
            assert_memory_equal(&out[k], &want, sizeof want);
    }
    return st;
}

static void test_late_witnesses_come_over(void **state)
{
    (void)state;
    static const unsigned at[][2] = {{0, 0}, {3, 0}, {0, 9}, {5, 5}, {0, 4}, {4, 6}, {0, 0}};
    static const g16_ready answer[][2] = {{G16_READY, G16_READY}, {G16_READY, G16_READY},
                                          {G16_READY, G16_READY}, {G16_READY, G16_READY},
                                          {G16_READY, G16_NEVER}, {G16_NEVER, G16_READY},
                                          {G16_NEVER, G16_NEVER}};
    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        late l = {&a, .there_at = {at[i][0], at[i][1]}, .answer = {answer[i][0], answer[i][1]}};
        bool made[2];
        assert_ok(prove_late(&l, made));
        for (int k = 0; k < 2; k++)
            assert_int_equal(made[k], answer[i][k] == G16_READY);
        assert_true(l.n_after == 0 || i >= 4); /* only what never comes is asked for again */
    }
    assert_false(ctl->left_over);
}

static void test_waiting_for_a_witness_can_fail(void **state)
{
    (void)state;
    bool made[2];
    late cancelled = {
        .c = &a, .there_at = {0, UINT32_MAX}, .cancel_at = 20, .answer = {G16_READY, G16_READY}};
    assert_code(prove_late(&cancelled, made), CUZK_E_CANCELLED, "while waiting");
    witness right = a.w[1];
    late wrong = {.c = &a, .there_at = {0, 2}, .answer = {G16_READY, G16_READY}};
    a.w[1] = b.w[1];
    cuzk_status st = prove_late(&wrong, made);
    a.w[1] = right;
    assert_code(st, CUZK_E_INPUT, "of another shape");
    late lost = {.c = &a, .there_at = {0, 5}, .answer = {G16_READY, G16_READY}};
    ctl->at = AT_PROOF, ctl->what = DIE;
    assert_code(prove_late(&lost, made), CUZK_E_DEVICE_LOST, "death while one is missing");
    assert_false(made[0] || made[1]);
    late other = {.c = &b, .answer = {G16_READY, G16_READY}};
    assert_ok(prove_late(&other, made));
    assert_true(made[0] && made[1]);
    assert_false(ctl->left_over);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_late_witnesses_come_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_waiting_for_a_witness_can_fail, set_up, tear_down),
    };
    return map_control() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
