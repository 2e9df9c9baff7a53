/* Sharing a batch between devices: CPU backends for the bytes, a made-up device for speed, faults
 * and cancel. */
#include "g16_test.h"
#include "base/pool.h"
#include "groth16/multi_backend.h"
#include <stdatomic.h>
#include <time.h>

/* ---- a device that writes the proof's number instead of proving ---- */

typedef struct fake {
    g16_backend base;
    long proof_ms;
    long sums_ms; /* before the claims, as a device that sums for the whole batch first */
    int fail_at;  /* the n-th proof of its life fails, from 0; -1: none */
    cuzk_code fail_code;
    bool forgets;     /* claims, and says ok without making the proof */
    bool notes_first; /* r of the first proof it is given, minus 1 */
    uint64_t first;
    uint64_t per_point, available; /* bytes of device memory */
    atomic_int n_made, n_unloaded;
} fake;

static cuzk_status fake_load(g16_backend *b, const r1cs_shape *s, const g16_key *k,
                             const run_ctx *rc, void **handle)
{
    (void)s;
    (void)k;
    (void)rc;
    *handle = b;
    return ((fake *)(void *)b)->fail_at == -2 ? cuzk_fail(CUZK_E_NOMEM, "too small") : cuzk_ok();
}

static void fake_unload(g16_backend *b, void *handle)
{
    (void)handle;
    atomic_fetch_add(&((fake *)(void *)b)->n_unloaded, 1);
}

static cuzk_status fake_prove(g16_backend *b, void *handle, const g16_batch *batch, g16_timings *t,
                              const run_ctx *rc)
{
    fake *f = (fake *)(void *)b;
    assert_ptr_equal(handle, b);
    *t = (g16_timings){.total_ns = 1};
    if (f->notes_first && batch->n > 0) {
        f->first = batch->rs[0].r.l[0] - 1;
        f->notes_first = false;
    }
    nanosleep(&(struct timespec){.tv_nsec = f->sums_ms * 1000000}, NULL);
    for (size_t k = 0; k < batch->n; k++) {
        g16_ready there = G16_READY;
        while (batch->ready && (there = batch->ready(batch->ctx, k)) == G16_LATER)
            if (run_cancelled(rc))
                return cuzk_fail(CUZK_E_CANCELLED, "cancelled while waiting");
        if (there == G16_NEVER || !batch->claim(batch->ctx, k))
            continue;
        /* r is the proof's number from 1 */
        if (g16_batch_partition(batch, k) != 100 + (int32_t)batch->rs[k].r.l[0])
            return cuzk_fail(CUZK_E_INPUT, "proof %llu is called %d",
                             (unsigned long long)batch->rs[k].r.l[0],
                             g16_batch_partition(batch, k));
        nanosleep(&(struct timespec){f->proof_ms / 1000, f->proof_ms % 1000 * 1000000}, NULL);
        if (run_cancelled(rc))
            return cuzk_fail(CUZK_E_CANCELLED, "cancelled");
        if (atomic_load(&f->n_made) == f->fail_at)
            return cuzk_fail(f->fail_code, "made to fail");
        if (f->forgets)
            continue;
        atomic_fetch_add(&f->n_made, 1);
        run_progress(rc, "proof", (double)(k + 1) / (double)batch->n);
        /* r is the proof's number: another one's blinding would show */
        batch->out[k].a.x.l[0] = batch->rs[k].r.l[0];
        batch->done(batch->ctx, k);
    }
    return cuzk_ok();
}

static void fake_describe(g16_backend *b, char *buf, size_t len)
{
    (void)b;
    snprintf(buf, len, "fake");
}
static cuzk_status fake_self_test(g16_backend *b, const run_ctx *rc)
{
    (void)b;
    (void)rc;
    return cuzk_ok();
}
static void fake_destroy(g16_backend *b) { (void)b; }
static void fake_plan(g16_backend *b, uint64_t *need, uint64_t *available, const g16_key_info *k)
{
    const fake *f = (fake *)(void *)b;
    *need = k->n[G16_H] * f->per_point;
    *available = f->available;
}
static const g16_backend_ops fake_ops = {
    "fake",        fake_load,      fake_unload,  fake_prove,
    fake_describe, fake_self_test, fake_destroy, fake_plan,
};

#define N 12u

typedef struct setting {
    fake f[3];
    uint32_t n;
    g16_backend *multi;
    void *handle;
} setting;

static void begin(setting *s, uint32_t n)
{
    g16_backend *members[3];
    static const char *const names[] = {"one", "two", "three"};
    s->n = n;
    for (uint32_t i = 0; i < n; i++) {
        s->f[i].base.ops = &fake_ops;
        members[i] = &s->f[i].base;
    }
    assert_ok(g16_multi_create(&s->multi, members, names, n));
    assert_ok(s->multi->ops->load(s->multi, NULL, NULL, &(run_ctx){0}, &s->handle));
}

static void end(setting *s)
{
    s->multi->ops->unload(s->multi, s->handle);
    for (uint32_t i = 0; i < s->n; i++)
        assert_int_equal(atomic_load(&s->f[i].n_unloaded), 1);
    s->multi->ops->destroy(s->multi);
}

typedef struct seen {
    atomic_int done[N], at_once;
    int n_claims;
    bool refuse[N];
} seen;

static bool seen_claim(void *ctx, size_t k)
{
    seen *s = ctx;
    s->n_claims++;
    return !s->refuse[k];
}

static void seen_done(void *ctx, size_t k)
{
    seen *s = ctx;
    assert_int_equal(atomic_fetch_add(&s->at_once, 1), 0);
    atomic_fetch_add(&s->done[k], 1);
    atomic_fetch_sub(&s->at_once, 1);
}

static cuzk_status prove(setting *s, seen *watch, g16_proof *out, const run_ctx *rc)
{
    const witness *w[N] = {NULL};
    g16_blinding rs[N] = {0};
    int32_t partition[N];
    for (uint32_t k = 0; k < N; k++) {
        rs[k].r.l[0] = k + 1;
        partition[k] = 101 + (int32_t)k;
    }
    const g16_batch b = {.n = N,
                         .w = w,
                         .rs = rs,
                         .out = out,
                         .partition = partition,
                         .claim = watch ? seen_claim : NULL,
                         .done = watch ? seen_done : NULL,
                         .ctx = watch};
    return s->multi->ops->prove(s->multi, s->handle, &b, NULL, rc);
}

static void assert_all_made(const g16_proof *out)
{
    for (uint32_t k = 0; k < N; k++)
        assert_int_equal(out[k].a.x.l[0], k + 1);
}

static const run_ctx no_ctx = {0};

static void test_each_proof_is_made_once(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 3; n++) {
        setting s = {
            .f = {{.fail_at = -1, .proof_ms = 1}, {.fail_at = -1, .proof_ms = 2}, {.fail_at = -1}}};
        seen w = {0};
        g16_proof out[N];
        begin(&s, n);
        assert_ok(prove(&s, &w, out, &no_ctx));
        assert_all_made(out);
        int made = 0;
        for (uint32_t i = 0; i < n; i++)
            made += atomic_load(&s.f[i].n_made);
        assert_int_equal(made, N);
        for (uint32_t k = 0; k < N; k++)
            assert_int_equal(atomic_load(&w.done[k]), 1);
        assert_int_equal(w.n_claims, N);
        end(&s);
    }
}

typedef struct told {
    unsigned n;
    double last;
} told;

static void on_progress(void *ctx, const char *stage, double fraction)
{
    told *t = ctx;
    if (fraction < t->last || fraction > 1)
        fail_msg("%s: progress %.4f after %.4f", stage, fraction, t->last);
    t->last = fraction;
    t->n++;
}

/* The first device proves in several calls, each of which begins at 0 for it. */
static void test_progress_is_that_of_the_batch(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 2; n++) {
        setting s = {.f = {{.fail_at = -1, .proof_ms = 1}, {.fail_at = -1, .proof_ms = 3}}};
        g16_proof out[N];
        told t = {0};
        const run_ctx rc = {.progress = on_progress, .progress_ctx = &t};
        begin(&s, n);
        assert_ok(prove(&s, NULL, out, &rc));
        assert_true(t.n > 1);
        assert_true(t.last == 1);
        end(&s);
    }
}

static void test_slow_device_does_not_hold_up(void **state)
{
    (void)state;
    setting s = {.f = {{.fail_at = -1, .proof_ms = 100}, {.fail_at = -1, .proof_ms = 1}}};
    g16_proof out[N];
    begin(&s, 2);
    assert_ok(prove(&s, NULL, out, &no_ctx));
    assert_all_made(out);
    /* nothing was known of its speed, so it took half: the other took them over */
    assert_true(atomic_load(&s.f[0].n_made) <= 2);
    assert_true(g16_multi_get_stats(s.multi, 1).n_stolen > 0);
    assert_string_equal(g16_multi_get_stats(s.multi, 0).name, "one");
    assert_true(g16_multi_get_stats(s.multi, 0).busy_seconds > 0.09);
    assert_true(g16_multi_get_stats(s.multi, 1).speed > g16_multi_get_stats(s.multi, 0).speed);
    end(&s);
}

static void test_last_partition_does_not_go_back_and_forth(void **state)
{
    (void)state;
    setting s = {.f = {{.fail_at = -1, .proof_ms = 20, .sums_ms = 20},
                       {.fail_at = -1, .proof_ms = 8, .sums_ms = 20}}};
    g16_proof out[N];
    begin(&s, 2);
    uint64_t start = clock_now_ns();
    for (int i = 0; i < 3; i++) {
        assert_ok(prove(&s, NULL, out, &no_ctx));
        assert_all_made(out);
    }
    assert_true(clock_now_ns() - start < 5000000000u);
    /* each proof is taken over at most once */
    assert_true(g16_multi_get_stats(s.multi, 0).n_stolen +
                    g16_multi_get_stats(s.multi, 1).n_stolen <=
                3 * N);
    end(&s);
}

static void test_failed_device_is_made_up_for(void **state)
{
    (void)state;
    for (int at = 0; at < 4; at++) {
        setting s = {.f = {{.fail_at = at, .fail_code = CUZK_E_DEVICE_LOST, .proof_ms = 2},
                           {.fail_at = -1, .proof_ms = 5}}};
        seen w = {0};
        g16_proof out[N];
        begin(&s, 2);
        assert_ok(prove(&s, &w, out, &no_ctx));
        assert_all_made(out);
        for (uint32_t k = 0; k < N; k++)
            assert_int_equal(atomic_load(&w.done[k]), 1);
        assert_int_equal(g16_multi_get_stats(s.multi, 0).n_faults, 1);
        /* the next batch uses it again */
        s.f[0].fail_at = -1;
        assert_ok(prove(&s, NULL, out, &no_ctx));
        assert_true(atomic_load(&s.f[0].n_made) > at);
        end(&s);
    }
}

static void test_the_last_device_gives_the_failure(void **state)
{
    (void)state;
    setting s = {.f = {{.fail_at = 1, .fail_code = CUZK_E_DEVICE},
                       {.fail_at = 2, .fail_code = CUZK_E_DEVICE}}};
    g16_proof out[N], zero[N];
    memset(zero, 0, sizeof zero);
    begin(&s, 2);
    cuzk_status st = prove(&s, NULL, out, &no_ctx);
    assert_int_equal(st.code, CUZK_E_DEVICE);
    assert_non_null(strstr(st.msg, "made to fail"));
    assert_memory_equal(out, zero, sizeof zero);
    end(&s);
}

static void test_bad_request_is_not_tried_elsewhere(void **state)
{
    (void)state;
    setting s = {.f = {{.fail_at = 0, .fail_code = CUZK_E_INPUT}, {.fail_at = -1, .proof_ms = 30}}};
    g16_proof out[N];
    begin(&s, 2);
    assert_int_equal(prove(&s, NULL, out, &no_ctx).code, CUZK_E_INPUT);
    assert_int_equal(g16_multi_get_stats(s.multi, 0).n_faults, 0);
    end(&s);
}

static void test_forgotten_proof_is_noticed(void **state)
{
    (void)state;
    setting s = {.f = {{.fail_at = -1, .forgets = true}, {.fail_at = -1}}};
    g16_proof out[N];
    begin(&s, 2);
    assert_ok(prove(&s, NULL, out, &no_ctx));
    assert_all_made(out);
    end(&s);
    setting only = {.f = {{.fail_at = -1, .forgets = true}}};
    begin(&only, 1);
    assert_int_equal(prove(&only, NULL, out, &no_ctx).code, CUZK_E_INTERNAL);
    end(&only);
}

/* Witnesses made one after the other; some never. */
typedef struct late {
    uint64_t start_ns, each_ns;
    uint32_t missing; /* bit k: never */
    atomic_int at_once, n_clashes, n_done;
} late;

static g16_ready late_ready(void *ctx, size_t k)
{
    late *l = ctx;
    if (atomic_fetch_add(&l->at_once, 1) != 0)
        atomic_fetch_add(&l->n_clashes, 1);
    bool there = clock_now_ns() - l->start_ns >= k * l->each_ns;
    atomic_fetch_sub(&l->at_once, 1);
    return !there ? G16_LATER : l->missing >> k & 1 ? G16_NEVER : G16_READY;
}

static void late_done(void *ctx, size_t k)
{
    (void)k;
    atomic_fetch_add(&((late *)ctx)->n_done, 1);
}

static cuzk_status prove_late(setting *s, late *l, g16_proof *out, const run_ctx *rc)
{
    const witness *w[N] = {NULL};
    g16_blinding rs[N] = {0};
    int32_t partition[N];
    for (uint32_t k = 0; k < N; k++) {
        partition[k] = 101 + (int32_t)k;
        rs[k].r.l[0] = k + 1;
    }
    l->start_ns = clock_now_ns();
    const g16_batch b = {.n = N,
                         .w = w,
                         .rs = rs,
                         .out = out,
                         .partition = partition,
                         .done = late_done,
                         .ready = late_ready,
                         .ctx = l};
    cuzk_status st = s->multi->ops->prove(s->multi, s->handle, &b, NULL, rc);
    assert_int_equal(atomic_load(&l->n_clashes), 0); /* callbacks come one at a time */
    return st;
}

static void test_devices_share_witnesses_as_they_come(void **state)
{
    (void)state;
    static const uint32_t missing[] = {0, 1, 1u << 11, 0x555, 0xfff};
    for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
        setting s = {.f = {{.fail_at = -1, .proof_ms = 3}, {.fail_at = -1, .proof_ms = 3}}};
        late l = {.missing = missing[i], .each_ns = 1000000};
        g16_proof out[N];
        begin(&s, 2);
        assert_ok(prove_late(&s, &l, out, &no_ctx));
        for (uint32_t k = 0; k < N; k++)
            assert_int_equal(out[k].a.x.l[0], missing[i] >> k & 1 ? 0 : k + 1);
        assert_int_equal(atomic_load(&l.n_done), N - (uint32_t)__builtin_popcount(missing[i]));
        end(&s);
    }
}

/* Each device's first witness is among the first, not in the middle. */
static void test_no_device_waits_long_for_its_first_witness(void **state)
{
    (void)state;
    setting s = {.f = {{.fail_at = -1, .notes_first = true},
                       {.fail_at = -1, .notes_first = true},
                       {.fail_at = -1, .notes_first = true}}};
    late l = {.each_ns = 20000000};
    g16_proof out[N];
    begin(&s, 3);
    assert_ok(prove_late(&s, &l, out, &no_ctx));
    for (int i = 0; i < 3; i++)
        assert_true(s.f[i].n_made == 0 || s.f[i].first <= 3);
    end(&s);
}

/* A device that waits for a witness stops when another's failure ends the batch. */
static void test_failure_ends_the_waiting(void **state)
{
    (void)state;
    setting s = {.f = {{.fail_at = 0, .fail_code = CUZK_E_INPUT}, {.fail_at = -1}}};
    late l = {.each_ns = 5000000};
    g16_proof out[N];
    begin(&s, 2);
    assert_int_equal(prove_late(&s, &l, out, &no_ctx).code, CUZK_E_INPUT);
    end(&s);
}

static bool cancel_now(void *ctx)
{
    (void)ctx;
    return true;
}

static void test_cancel_and_outside_claims(void **state)
{
    (void)state;
    setting s = {.f = {{.fail_at = -1}, {.fail_at = -1}}};
    g16_proof out[N];
    seen w = {.refuse = {[3] = true, [11] = true}};
    begin(&s, 2);
    assert_ok(prove(&s, &w, out, &no_ctx));
    assert_int_equal(out[3].a.x.l[0], 0);
    assert_int_equal(atomic_load(&w.done[3]), 0);
    assert_int_equal(out[4].a.x.l[0], 5);
    const run_ctx rc = {.cancelled = cancel_now};
    assert_int_equal(prove(&s, NULL, out, &rc).code, CUZK_E_CANCELLED);
    end(&s);
}

static void test_load_failure_names_the_device(void **state)
{
    (void)state;
    fake f[2] = {{.fail_at = -1}, {.fail_at = -2}};
    f[0].base.ops = f[1].base.ops = &fake_ops;
    g16_backend *members[2] = {&f[0].base, &f[1].base}, *m;
    const char *const names[2] = {"cuda:0", "cuda:1"};
    void *handle;
    assert_ok(g16_multi_create(&m, members, names, 2));
    cuzk_status st = m->ops->load(m, NULL, NULL, &no_ctx, &handle);
    assert_int_equal(st.code, CUZK_E_NOMEM);
    assert_non_null(strstr(st.msg, "cuda:1: too small"));
    assert_null(handle);
    assert_int_equal(atomic_load(&f[0].n_unloaded), 1);
    m->ops->destroy(m);
    assert_int_equal(g16_multi_create(&m, members, names, 0).code, CUZK_E_RANGE);
}

/* ---- real proofs: one device or two give the same bytes ---- */

static void test_two_cpus_give_the_bytes_of_one(void **state)
{
    (void)state;
    r1cs_shape *shape;
    witness w;
    g16_toxic t;
    byte_sink key_bytes = {0};
    g16_key *key;
    g16_backend *cpu, *members[2], *m;
    void *one, *two;
    const char *const names[2] = {"a", "b"};
    g16_tiny_toxic(&t);
    assert_ok(g16_tiny_shape(&shape));
    assert_ok(g16_tiny_witness(&w, shape));
    assert_ok(setup_bytes(&key_bytes, shape, &t, &no_ctx));
    assert_ok(g16_key_from_memory(&key, key_bytes.b, key_bytes.len));
    assert_ok(g16_cpu_create(&cpu));
    assert_ok(g16_cpu_create(&members[0]));
    assert_ok(g16_cpu_create(&members[1]));
    assert_ok(g16_multi_create(&m, members, names, 2));
    pool *p;
    assert_ok(pool_create(&p, 2));
    const run_ctx rc = {.pool = p};
    assert_ok(cpu->ops->load(cpu, shape, key, &rc, &one));
    assert_ok(m->ops->load(m, shape, key, &rc, &two));
    const witness *ws[N];
    g16_blinding rs[N];
    for (uint32_t k = 0; k < N; k++) {
        ws[k] = &w;
        fr_from_u64(&rs[k].r, 100 + k);
        fr_from_u64(&rs[k].s, 1000 + k * k);
    }
    g16_proof a[N], b[N];
    assert_ok(g16_prove(cpu, one, ws, rs, N, a, NULL, &rc));
    assert_ok(g16_prove(m, two, ws, rs, N, b, NULL, &rc));
    for (uint32_t k = 0; k < N; k++) {
        uint8_t x[G16_PROOF_BYTES], y[G16_PROOF_BYTES];
        g16_proof_encode(x, &a[k]);
        g16_proof_encode(y, &b[k]);
        assert_memory_equal(x, y, sizeof x);
    }
    cpu->ops->unload(cpu, one);
    m->ops->unload(m, two);
    cpu->ops->destroy(cpu);
    m->ops->destroy(m);
    pool_destroy(p);
    g16_key_close(key);
    free(key_bytes.b);
    witness_fini(&w);
    r1cs_shape_destroy(shape);
}

/* A key goes to all members, so the one that lacks most decides. */
static void test_the_smallest_member_limits(void **state)
{
    (void)state;
    static const struct {
        uint64_t available[3], need, found;
    } cases[] = {
        {{100, 100, 100}, 100, 100}, {{1000, 99, 1000}, 100, 99}, {{99, 100, 50}, 100, 50}};
    const g16_key_info info = {.n = {[G16_H] = 50}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        setting s = {0};
        uint64_t need, available;
        for (int k = 0; k < 3; k++) {
            s.f[k].fail_at = -1;
            s.f[k].per_point = 2;
            s.f[k].available = cases[i].available[k];
        }
        begin(&s, 3);
        s.multi->ops->plan(s.multi, &need, &available, &info);
        assert_int_equal(need, cases[i].need);
        assert_int_equal(available, cases[i].found);
        end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_smallest_member_limits),
        cmocka_unit_test(test_each_proof_is_made_once),
        cmocka_unit_test(test_progress_is_that_of_the_batch),
        cmocka_unit_test(test_slow_device_does_not_hold_up),
        cmocka_unit_test(test_last_partition_does_not_go_back_and_forth),
        cmocka_unit_test(test_failed_device_is_made_up_for),
        cmocka_unit_test(test_the_last_device_gives_the_failure),
        cmocka_unit_test(test_bad_request_is_not_tried_elsewhere),
        cmocka_unit_test(test_forgotten_proof_is_noticed),
        cmocka_unit_test(test_devices_share_witnesses_as_they_come),
        cmocka_unit_test(test_no_device_waits_long_for_its_first_witness),
        cmocka_unit_test(test_failure_ends_the_waiting),
        cmocka_unit_test(test_cancel_and_outside_claims),
        cmocka_unit_test(test_load_failure_names_the_device),
        cmocka_unit_test(test_two_cpus_give_the_bytes_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
