/* An engine on devices that prove by trapdoor: the test's own key pairs are drawn with known
 * exponents, so a "device" makes valid proofs of any statement in a millisecond, as slowly, as badly
 * and as often as a test wants. Requests are real ones, generated without sealing. */
#ifndef ENGINE_FIXTURE_H
#define ENGINE_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"
#include "circuit/circuit_id.h"
#include "engine/engine.h"
#include "fil/gen.h"
#include "fil/graph.h"

static inline void assert_ok(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s", cuzk_code_name(st.code), st.msg);
}

static inline void sleep_ms(uint32_t ms)
{
    struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&ts, NULL);
}

/* ---- keys with a trapdoor ---- */

/* Exponents of the verifying key: fixed small numbers, u_i = 1000 + i for the inputs. */
#define TRAP_ALPHA 5u
#define TRAP_BETA 7u
#define TRAP_GAMMA 11u
#define TRAP_DELTA 13u

static inline void trap_u(fr *out, uint64_t i) { fr_from_u64(out, 1000 + i); }

static inline void trap_g1(g1_aff *out, const fr *k)
{
    fr_int v;
    g1_jac g, r;
    fr_to_int(&v, k);
    g1_jac_from_aff(&g, &G1_GENERATOR);
    g1_mul(&r, &g, &v);
    g1_jac_to_aff(out, &r);
}

static inline void trap_g2(g2_aff *out, const fr *k)
{
    fr_int v;
    g2_jac g, r;
    fr_to_int(&v, k);
    g2_jac_from_aff(&g, &G2_GENERATOR);
    g2_mul(&r, &g, &v);
    g2_jac_to_aff(out, &r);
}

/* A proof of the statement that verifies under the trapdoor key. */
static inline void trap_prove(g16_proof *out, const fr *inputs, uint64_t n_inputs)
{
    fr a, b, c, x = FR_ZERO, t, ab, k;
    uint64_t r[2];
    assert_ok(random_bytes(r, sizeof r));
    fr_from_u64(&a, r[0] | 1);
    fr_from_u64(&b, r[1] | 1);
    for (uint64_t i = 0; i < n_inputs; i++) {
        trap_u(&t, i);
        fr_mul(&t, &t, &inputs[i]);
        fr_add(&x, &x, &t);
    }
    fr_mul(&ab, &a, &b);
    fr_from_u64(&k, TRAP_ALPHA * TRAP_BETA);
    fr_sub(&c, &ab, &k);
    fr_from_u64(&k, TRAP_GAMMA);
    fr_mul(&t, &x, &k);
    fr_sub(&c, &c, &t);
    fr_from_u64(&k, TRAP_DELTA);
    fr_inv(&k, &k);
    fr_mul(&c, &c, &k);
    trap_g1(&out->a, &a);
    trap_g2(&out->b, &b);
    trap_g1(&out->c, &c);
}

static inline void put_g1(FILE *f, uint64_t k)
{
    fr v;
    g1_aff p;
    uint8_t b[96];
    fr_from_u64(&v, k);
    trap_g1(&p, &v);
    g1_encode_uncompressed(b, &p);
    assert_int_equal(fwrite(b, 1, sizeof b, f), sizeof b);
}

static inline void put_g2(FILE *f, uint64_t k)
{
    fr v;
    g2_aff p;
    uint8_t b[192];
    fr_from_u64(&v, k);
    trap_g2(&p, &v);
    g2_encode_uncompressed(b, &p);
    assert_int_equal(fwrite(b, 1, sizeof b, f), sizeof b);
}

static inline void put_count(FILE *f, uint64_t n, long skip)
{
    uint8_t b[4];
    store_be32(b, (uint32_t)n);
    assert_int_equal(fwrite(b, 1, 4, f), 4);
    assert_int_equal(fseek(f, skip, SEEK_CUR), 0);
}

/* <dir>/<stem>.params with a real head and holes for points, which nobody here reads. */
static inline void trap_key(const char *dir, const char *circuit)
{
    circuit_id id;
    char stem[PROOF_STEM_MAX], path[4096];
    r1cs_shape *s;
    assert_ok(circuit_id_parse(&id, circuit));
    circuit_id_param_stem(stem, &id);
    assert_ok(circuit_id_shape(&s, &id));
    const r1cs_counts *c = r1cs_shape_counts(s);
    snprintf(path, sizeof path, "%s/%s.params", dir, stem);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    put_g1(f, TRAP_ALPHA);
    put_g1(f, TRAP_BETA);
    put_g2(f, TRAP_BETA);
    put_g2(f, TRAP_GAMMA);
    put_g1(f, TRAP_DELTA);
    put_g2(f, TRAP_DELTA);
    put_count(f, c->n_inputs, 0);
    for (uint64_t i = 0; i < c->n_inputs; i++)
        put_g1(f, 1000 + i);
    uint64_t n_a = c->n_inputs + c->a_aux, n_b = c->b_inputs + c->b_aux;
    uint64_t n_h = ((uint64_t)1 << c->lg_m) - 1;
    put_count(f, n_h, (long)(n_h * 96));
    put_count(f, c->n_aux, (long)(c->n_aux * 96));
    put_count(f, n_a, (long)(n_a * 96));
    put_count(f, n_b, (long)(n_b * 96));
    put_count(f, n_b, (long)(n_b * 192) - 1);
    assert_int_equal(fputc(0, f), 0);
    assert_int_equal(fclose(f), 0);
    r1cs_shape_destroy(s);
}

/* ---- the device ---- */

typedef struct fake_device {
    g16_backend base;
    /* settings, changed at any time */
    atomic_uint slice_ms, n_slices; /* per partition */
    atomic_bool winning_is_short;   /* a WinningPoSt takes one slice of a millisecond */
    atomic_uint n_wrong;            /* proofs that will be wrong */
    atomic_uint n_fail;             /* batches that will fail with fail_code */
    atomic_uint n_bad_tests;        /* self-tests that will fail */
    atomic_int fail_code;
    atomic_bool hang;                     /* no sign of life until cleared */
    atomic_bool hang_load, hang_test;     /* the same inside a load, inside a self-test */
    atomic_uint max_handles;              /* loads beyond it fail with NOMEM; 0: any number */
    atomic_int nested_prove, nested_load; /* codes that calls inside another prove get; 0: served */
    atomic_uint n_bad_loads;              /* loads that will fail with fail_code */
    atomic_bool batch_load_waits;         /* a load for a batch only ends by being cancelled */
    atomic_uint slow_load_ms;             /* a load of a WindowPoSt key takes that long, */
    atomic_bool winning_is_slow;          /* or one of a WinningPoSt key; */
    atomic_uint give_up_ms;               /* cancelled, it ends so much later */
    atomic_int test_code;                 /* of bad self-tests; 0: CUZK_E_VERIFY */
    /* Device memory: for each point of h; what there is (0: any amount). */
    atomic_ullong bytes_per_point, bytes_available;
    /* what happened */
    atomic_uint n_loads, n_unloads, n_handles, n_batches, n_proofs, n_tests, n_left_out, largest,
        n_late, n_began_early, n_yields, n_refused, n_waiting_loads, n_hung, n_slow_begun,
        n_slow_cancelled;
    atomic_int n_inside; /* proofs that one device is in the middle of */
} fake_device;

typedef struct fake_handle {
    const r1cs_shape *shape;
    atomic_flag busy;
} fake_handle;

static inline bool fake_take_one(atomic_uint *n)
{
    unsigned v = atomic_load(n);
    while (v)
        if (atomic_compare_exchange_weak(n, &v, v - 1))
            return true;
    return false;
}

static inline void fake_hang(fake_device *d, atomic_bool *flag)
{
    if (atomic_load(flag))
        atomic_fetch_add(&d->n_hung, 1);
    while (atomic_load(flag))
        sleep_ms(1);
}

static inline cuzk_status fake_load(g16_backend *b, const r1cs_shape *s, const g16_key *k,
                                    const run_ctx *rc, void **handle)
{
    fake_device *d = (fake_device *)b;
    *handle = NULL;
    if (atomic_load(&d->n_inside) && atomic_load(&d->nested_load)) {
        atomic_fetch_add(&d->n_refused, 1);
        return cuzk_fail((cuzk_code)atomic_load(&d->nested_load), "a load inside a proof");
    }
    fake_hang(d, &d->hang_load);
    if (fake_take_one(&d->n_bad_loads))
        return cuzk_fail((cuzk_code)atomic_load(&d->fail_code), "made to fail");
    if (rc->spans && atomic_load(&d->batch_load_waits)) {
        atomic_fetch_add(&d->n_waiting_loads, 1);
        while (!run_cancelled(rc))
            sleep_ms(1);
        return cuzk_fail(CUZK_E_CANCELLED, "cancelled");
    }
    const char *slow = atomic_load(&d->winning_is_slow) ? "WinningPoSt" : "WindowPoSt";
    if (strncmp(r1cs_shape_name(s), slow, strlen(slow)) == 0 && atomic_load(&d->slow_load_ms)) {
        atomic_fetch_add(&d->n_slow_begun, 1);
        for (unsigned ms = 0; ms < atomic_load(&d->slow_load_ms); ms++, sleep_ms(1))
            if (run_cancelled(rc)) {
                atomic_fetch_add(&d->n_slow_cancelled, 1);
                sleep_ms(atomic_load(&d->give_up_ms));
                return cuzk_fail(CUZK_E_CANCELLED, "cancelled");
            }
    }
    if (atomic_load(&d->max_handles) && atomic_load(&d->n_handles) >= atomic_load(&d->max_handles))
        return cuzk_fail(CUZK_E_NOMEM, "no room on the device");
    cuzk_status st = g16_key_match(k, s);
    if (st.code != CUZK_OK)
        return st;
    fake_handle *h = calloc(1, sizeof *h);
    h->shape = s;
    atomic_flag_clear(&h->busy);
    atomic_fetch_add(&d->n_loads, 1);
    atomic_fetch_add(&d->n_handles, 1);
    *handle = h;
    return cuzk_ok();
}

static inline void fake_unload(g16_backend *b, void *handle)
{
    fake_device *d = (fake_device *)b;
    atomic_fetch_add(&d->n_unloads, 1);
    atomic_fetch_sub(&d->n_handles, 1);
    free(handle);
}

static inline cuzk_status fake_partition(fake_device *d, const r1cs_shape *shape,
                                         const g16_batch *b, size_t k, const run_ctx *rc)
{
    bool is_short = atomic_load(&d->winning_is_short) &&
                    strncmp(r1cs_shape_name(shape), "WinningPoSt", 11) == 0;
    unsigned slices = is_short ? 1 : atomic_load(&d->n_slices);
    for (unsigned i = 0; i < slices; i++) {
        sleep_ms(is_short ? 1 : atomic_load(&d->slice_ms));
        while (atomic_load(&d->hang))
            sleep_ms(1);
        if (run_cancelled(rc))
            return cuzk_fail(CUZK_E_CANCELLED, "cancelled");
        atomic_fetch_add(&d->n_yields, 1);
        run_yield(rc);
        run_progress(rc, "msm_h", (double)(i + 1) / slices);
    }
    trap_prove(&b->out[k], b->w[k]->inputs, b->w[k]->n_inputs);
    if (fake_take_one(&d->n_wrong))
        fp_neg(&b->out[k].c.y, &b->out[k].c.y);
    atomic_fetch_add(&d->n_proofs, 1);
    return cuzk_ok();
}

/* As a device that has nothing else to do. */
static inline cuzk_status fake_wait(fake_device *d, g16_ready *there, const g16_batch *batch,
                                    size_t k, const run_ctx *rc)
{
    *there = batch->ready ? batch->ready(batch->ctx, k) : G16_READY;
    if (*there != G16_LATER)
        return cuzk_ok();
    atomic_fetch_add(&d->n_late, 1);
    span_id s = span_begin(rc->spans, rc->parent, "wait");
    bool cancelled = false;
    while (*there == G16_LATER && !(cancelled = run_cancelled(rc))) {
        run_yield(rc);
        sleep_ms(1);
        *there = batch->ready(batch->ctx, k);
    }
    span_end(rc->spans, s);
    return cancelled ? cuzk_fail(CUZK_E_CANCELLED, "cancelled while waiting") : cuzk_ok();
}

static inline cuzk_status fake_prove(g16_backend *b, void *handle, const g16_batch *batch,
                                     g16_timings *t, const run_ctx *rc)
{
    fake_device *d = (fake_device *)b;
    fake_handle *h = handle;
    (void)t;
    if (atomic_load(&d->n_inside) && atomic_load(&d->nested_prove)) {
        atomic_fetch_add(&d->n_refused, 1);
        return cuzk_fail((cuzk_code)atomic_load(&d->nested_prove), "a proof inside another one");
    }
    if (atomic_flag_test_and_set(&h->busy))
        return cuzk_fail(CUZK_E_USAGE, "two proofs at once on one handle");
    atomic_fetch_add(&d->n_inside, 1);
    atomic_fetch_add(&d->n_batches, 1);
    if (batch->n > atomic_load(&d->largest))
        atomic_store(&d->largest, (unsigned)batch->n);
    for (size_t k = 0; k < batch->n; k++)
        if (batch->ready && batch->ready(batch->ctx, k) == G16_LATER) {
            atomic_fetch_add(&d->n_began_early, 1);
            break;
        }
    cuzk_status st = cuzk_ok();
    bool fails = fake_take_one(&d->n_fail);
    span_end(rc->spans, span_begin(rc->spans, rc->parent, "mask")); /* for all of them */
    for (size_t k = 0; k < batch->n && st.code == CUZK_OK; k++) {
        g16_ready there;
        st = fake_wait(d, &there, batch, k, rc);
        if (st.code != CUZK_OK)
            break;
        if (there == G16_NEVER || (batch->claim && !batch->claim(batch->ctx, k))) {
            atomic_fetch_add(&d->n_left_out, 1);
            continue;
        }
        span_id s = span_begin(rc->spans, rc->parent, "msm_h");
        span_note(rc->spans, s, g16_batch_partition(batch, k), 0);
        if (fails)
            st = cuzk_fail((cuzk_code)atomic_load(&d->fail_code), "made to fail");
        else
            st = fake_partition(d, h->shape, batch, k, rc);
        span_end(rc->spans, s);
        if (st.code == CUZK_OK && batch->done)
            batch->done(batch->ctx, k);
    }
    atomic_fetch_sub(&d->n_inside, 1);
    atomic_flag_clear(&h->busy);
    return st;
}

static inline void fake_describe(g16_backend *b, char *buf, size_t len)
{
    (void)b;
    snprintf(buf, len, "proves by trapdoor");
}

static inline cuzk_status fake_self_test(g16_backend *b, const run_ctx *rc)
{
    fake_device *d = (fake_device *)b;
    (void)rc;
    atomic_fetch_add(&d->n_tests, 1);
    fake_hang(d, &d->hang_test);
    int code = atomic_load(&d->test_code);
    return fake_take_one(&d->n_bad_tests)
               ? cuzk_fail(code ? (cuzk_code)code : CUZK_E_VERIFY, "self-test")
               : cuzk_ok();
}

static inline void fake_plan(g16_backend *b, uint64_t *need, uint64_t *available,
                             const g16_key_info *k)
{
    fake_device *d = (fake_device *)b;
    uint64_t has = atomic_load(&d->bytes_available);
    *need = k->n[G16_H] * (uint64_t)atomic_load(&d->bytes_per_point);
    *available = has ? has : UINT64_MAX;
}

static const g16_backend_ops fake_ops = {.name = "fake",
                                         .load = fake_load,
                                         .unload = fake_unload,
                                         .prove = fake_prove,
                                         .describe = fake_describe,
                                         .self_test = fake_self_test,
                                         .plan = fake_plan};

/* ---- requests ---- */

typedef struct owned_request {
    uint8_t *files[64];
    job_bytes bytes[64];
    uint8_t randomness[32];
    size_t n;
} owned_request;

static inline void owned_release(void *p)
{
    owned_request *o = p;
    for (size_t i = 0; i < o->n; i++)
        mem_free(o->files[i]);
    free(o);
}

/* A generated PoSt of 2 KiB sectors: kind winning, or window with two sectors per partition. */
static inline void post_request(job_request *r, proof_kind kind, uint64_t seed,
                                uint32_t n_partitions)
{
    arena a = {0};
    fil_post p;
    const fil_post_proof *proof = fil_post_proof_by_id(kind == PROOF_WINNING ? 0 : 10);
    uint32_t n = kind == PROOF_WINNING ? 1 : 2 * n_partitions;
    fil_gen_id id = {.seed = seed, .miner = 1000, .sector = 1 + 100 * seed};
    assert_ok(fil_gen_post(&p, &a, &id, proof, n, NULL));
    owned_request *o = calloc(1, sizeof *o);
    o->n = n;
    for (uint32_t i = 0; i < n; i++) {
        assert_ok(fil_post_encode(&o->files[i], &o->bytes[i].len, &p, i));
        o->bytes[i].p = o->files[i];
    }
    memcpy(o->randomness, p.randomness, 32);
    arena_fini(&a);
    *r = (job_request){.kind = kind,
                       .priority = kind == PROOF_WINNING ? JOB_CRITICAL : JOB_NORMAL,
                       .registered_proof = proof->id,
                       .miner_id = 1000,
                       .vanilla_proofs = o->bytes,
                       .n_vanilla_proofs = n,
                       .randomness = {o->randomness, 32},
                       .owned = o,
                       .release = owned_release};
    snprintf(r->request_id, sizeof r->request_id, "%s-%llu", PROOF_KIND_NAMES[kind],
             (unsigned long long)seed);
}

/* ---- waiting for answers ---- */

typedef struct answer {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool is_there;
    engine_submitted r;
} answer;

static inline void on_answer(void *ctx, const engine_submitted *r)
{
    answer *a = ctx;
    pthread_mutex_lock(&a->lock);
    a->r = *r;
    a->is_there = true;
    pthread_cond_broadcast(&a->cond);
    pthread_mutex_unlock(&a->lock);
}

static inline engine_submitted submit_and_wait(engine *e, job_request *r)
{
    answer a = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    engine_submit(e, r, on_answer, &a);
    pthread_mutex_lock(&a.lock);
    while (!a.is_there)
        pthread_cond_wait(&a.cond, &a.lock);
    pthread_mutex_unlock(&a.lock);
    return a.r;
}

typedef struct ended {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    unsigned n_calls;
    bool is_final;
    job_view v;
} ended;
#define ENDED_INIT                                                          \
    {                                                                       \
        .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER \
    }

static inline void on_view(void *ctx, const job_view *v)
{
    ended *w = ctx;
    pthread_mutex_lock(&w->lock);
    w->n_calls++;
    w->v = *v;
    w->is_final = job_state_is_final(v->state);
    pthread_cond_broadcast(&w->cond);
    pthread_mutex_unlock(&w->lock);
}

/* The final view; fails the test after 20 s. */
static inline job_view wait_end(engine *e, const char *job_id)
{
    ended w = ENDED_INIT;
    engine_watch *watch;
    struct timespec until;
    assert_ok(engine_watch_job(e, job_id, true, on_view, &w, &watch));
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    pthread_mutex_lock(&w.lock);
    int rc = 0;
    while (!w.is_final && rc == 0)
        rc = pthread_cond_timedwait(&w.cond, &w.lock, &until);
    pthread_mutex_unlock(&w.lock);
    engine_unwatch(e, watch);
    if (!w.is_final)
        fail_msg("job %s did not end", job_id);
    return w.v;
}

/* ---- the whole ---- */

typedef struct fixture {
    char dir[64], store[96];
    fake_device dev[4];
    engine_device cfg_dev[4];
    engine_config cfg;
    engine *e;
} fixture;

/* Keys of the 2 KiB PoSt circuits in a new folder; n_devices fakes that need 1 ms per partition. Not
 * started. */
static inline void fixture_init(fixture *f, uint32_t n_devices)
{
    memset(f, 0, sizeof *f);
    if (!getenv("CUZK_TEST_LOG"))
        log_set((log_level)-1, 0);
    snprintf(f->dir, sizeof f->dir, "/tmp/cuzk-engine-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    trap_key(f->dir, "winning-2k");
    trap_key(f->dir, "wpost-2k");
    for (uint32_t i = 0; i < n_devices; i++) {
        f->dev[i].base.ops = &fake_ops;
        atomic_store(&f->dev[i].n_slices, 1);
        atomic_store(&f->dev[i].slice_ms, 1);
        f->cfg_dev[i] = (engine_device){
            .backend = &f->dev[i].base, .memory_bytes = (uint64_t)1 << 30, .batch_max = 16};
        snprintf(f->cfg_dev[i].name, sizeof f->cfg_dev[i].name, "fake:%u", i);
    }
    f->cfg = (engine_config){.param_dir = f->dir,
                             .store_path = "",
                             .devices = f->cfg_dev,
                             .n_devices = n_devices,
                             .n_threads = 2,
                             .memory_budget_bytes = (uint64_t)1 << 30,
                             .device_timeout_ms = 10000,
                             .timeline_jobs = 100};
}

static inline void fixture_start(fixture *f) { assert_ok(engine_create(&f->e, &f->cfg)); }

static inline void fixture_stop(fixture *f)
{
    engine_destroy(f->e);
    f->e = NULL;
}

static inline void fixture_fini(fixture *f)
{
    fixture_stop(f);
    DIR *d = opendir(f->dir);
    for (struct dirent *x = readdir(d); x; x = readdir(d)) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", f->dir, x->d_name);
        if (x->d_name[0] != '.')
            unlink(path);
    }
    closedir(d);
    rmdir(f->dir);
}

/* Submit one; the job id comes back in the view. */
static inline job_view submit_post(fixture *f, proof_kind kind, uint64_t seed,
                                   uint32_t n_partitions)
{
    job_request r;
    post_request(&r, kind, seed, n_partitions);
    engine_submitted s = submit_and_wait(f->e, &r);
    assert_ok(s.st);
    return s.view;
}
#endif
