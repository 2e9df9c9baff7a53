/* The CPU prover: row evaluations, quotient, and the five sums, one key section at a time for all
 * proofs of a batch. */
#include "base/mem.h"
#include "groth16/cpu_int.h"
#include "groth16/fault.h"
#include "msm/msm.h"
#include "r1cs/eval.h"
#include <string.h>

#define TO_INT_CHUNK 4096u
#define U_CHUNK 4096u

typedef struct prove_job {
    cpu_handle *h;
    const g16_batch *batch;
    const witness *const *w;
    size_t n;
    g16_sums *sums; /* n */
    bool *left_out; /* n: claimed by another device, or without a witness */
    g16_timings *t;
    const run_ctx *rc;    /* the caller's: progress is told to it */
    uint64_t done, total; /* progress, in about equal costs */
} prove_job;

/* A stage: its span, its share of the timings, and the context of what runs below it. */
typedef struct stage {
    span_id span;
    uint64_t start_ns;
    run_ctx rc;
} stage;

static stage stage_begin(const run_ctx *rc, const char *name, int32_t partition, uint64_t bytes)
{
    stage s = {.start_ns = clock_now_ns(), .span = span_begin(rc->spans, rc->parent, name)};
    span_note(rc->spans, s.span, partition, bytes);
    s.rc = run_ctx_under(rc, s.span);
    s.rc.progress = NULL; /* what runs below knows its own part only */
    return s;
}

static void stage_end(const stage *s, uint64_t *total_ns)
{
    span_end(s->rc.spans, s->span);
    if (total_ns)
        *total_ns += clock_now_ns() - s->start_ns;
}

static cuzk_status step(prove_job *j, const char *name, uint64_t cost, const run_ctx *rc)
{
    j->done += cost;
    run_progress(j->rc, name, j->total ? (double)j->done / (double)j->total : 1.0);
    if (run_cancelled(rc))
        return cuzk_fail(CUZK_E_CANCELLED, "proof cancelled after stage %s", name);
    return cuzk_ok();
}

/* Spares the known-answer circuit: the fault is to be found in a proof, not by the self-test. */
static bool fault_hits(const cpu_handle *h, g16_fault f)
{
    return h->c->lg_m > 10 && g16_fault_hits(f);
}

typedef struct to_int_job {
    fr_int *out;
    const fr *in;     /* plain vector, or */
    const witness *w; /* values picked by src */
    const uint32_t *src;
    size_t n;
} to_int_job;

static void to_int_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const to_int_job *j = ctx;
    size_t lo = chunk * TO_INT_CHUNK, hi = lo + TO_INT_CHUNK < j->n ? lo + TO_INT_CHUNK : j->n;
    if (j->in) {
        fr_vec_to_int(j->out + lo, j->in + lo, hi - lo);
        return;
    }
    for (size_t i = lo; i < hi; i++) {
        uint32_t s = j->src[i];
        fr_to_int(&j->out[i], s & R1CS_INPUT ? &j->w->inputs[s & ~R1CS_INPUT] : &j->w->dense[s]);
    }
}

static cuzk_status to_int(const to_int_job *j, const run_ctx *rc)
{
    return run_for(rc, (j->n + TO_INT_CHUNK - 1) / TO_INT_CHUNK, to_int_chunk,
                   (void *)(uintptr_t)j);
}

/* a <- a - u (groth16/evkey.h). */
static void less_u_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const cpu_handle *h = ctx;
    uint64_t lo = (uint64_t)chunk * U_CHUNK, hi = lo + U_CHUNK < h->m ? lo + U_CHUNK : h->m;
    for (uint64_t at = lo; at < hi; at += 64)
        for (uint64_t bits = h->boolean[at / 64]; bits; bits &= bits - 1) {
            fr *a = &h->ab[at + (uint64_t)__builtin_ctzll(bits)];
            fr_sub(a, a, &FR_ONE);
        }
}

/* The scalars of section h from the row evaluations, as plain integers into slot. */
static cuzk_status quotient_scalars(cpu_handle *h, fr_int *slot, int32_t partition,
                                    const run_ctx *rc)
{
    fr *a = h->ab, *b = h->ab + h->m;
    if (h->ev) {
        CUZK_TRY(run_for(rc, (size_t)((h->m + U_CHUNK - 1) / U_CHUNK), less_u_chunk, h));
        return ntt_derivative_product(h->plan, slot, a, b, h->c->lg_m, rc);
    }
    /* slot is the scratch, then the result */
    CUZK_TRY(ntt_quotient(h->plan, a, b, (fr *)(void *)slot, h->c->lg_m, rc));
    stage c = stage_begin(rc, SPAN_SCALARS, partition, h->m * sizeof(fr_int));
    cuzk_status st = to_int(&(to_int_job){.out = slot, .in = a, .n = h->m}, rc);
    stage_end(&c, NULL);
    return st;
}

/* The quotient of proof k into slot. */
static cuzk_status make_quotient(prove_job *j, size_t k, fr_int *slot, const run_ctx *rc)
{
    cpu_handle *h = j->h;
    fr *a = h->ab, *b = h->ab + h->m;
    int32_t partition = g16_batch_partition(j->batch, k);
    stage s = stage_begin(rc, SPAN_EVAL, partition, 2 * h->m * sizeof(fr));
    cuzk_status st = r1cs_eval(h->shape, j->w[k], a, b, NULL, h->m, &s.rc);
    stage_end(&s, &j->t->eval_ns);
    CUZK_TRY(st);
    CUZK_TRY(step(j, SPAN_EVAL, 0, rc));

    s = stage_begin(rc, SPAN_QUOTIENT, partition, h->m * sizeof(fr));
    st = quotient_scalars(h, slot, partition, &s.rc);
    if (st.code == CUZK_OK && fault_hits(h, G16_FAULT_QUOTIENT))
        slot[0].l[0] ^= 1;
    stage_end(&s, &j->t->quotient_ns);
    CUZK_TRY(st);
    return step(j, SPAN_QUOTIENT, h->m, rc);
}

uint64_t cpu_chunk_points(const cpu_handle *h, uint64_t n, bool g2)
{
    uint64_t max = g2 ? h->chunk_max / 2 : h->chunk_max;
    uint64_t n_chunks = (n + max - 1) / max;
    return n_chunks <= 1 ? max : ((n + n_chunks - 1) / n_chunks + 63) / 64 * 64;
}

/* Points of a G1 section; of h and l the evaluation form, where there is one. */
static cuzk_status read_g1(const cpu_handle *h, g16_section sec, uint64_t first, uint64_t n,
                           const run_ctx *rc)
{
    g1_aff *out = (g1_aff *)(void *)h->ab;
    if (h->ev && (sec == G16_H || sec == G16_L))
        return g16_evkey_points(h->ev, sec == G16_H ? G16_EV_H : G16_EV_L_AUX, first, n, false, out,
                                rc);
    return g16_key_g1(h->key, sec, first, n, false, out, rc);
}

static cuzk_status decode(cpu_handle *h, g16_section sec, uint64_t first, uint64_t n,
                          const run_ctx *rc)
{
    bool g2 = sec == G16_B_G2;
    stage s = stage_begin(rc, SPAN_KEY_DECODE, -1,
                          n * (g2 ? G2_UNCOMPRESSED_BYTES : G1_UNCOMPRESSED_BYTES));
    cuzk_status st = g2 ? g16_key_g2(h->key, sec, first, n, false, (g2_aff *)(void *)h->ab, &s.rc)
                        : read_g1(h, sec, first, n, &s.rc);
    stage_end(&s, NULL);
    if (st.code == CUZK_OK && !g2 && fault_hits(h, G16_FAULT_POINT))
        ((g1_aff *)(void *)h->ab)[0].x.l[0] ^= 1;
    return st;
}

/* h sums of proofs [k0, k0 + n). */
static cuzk_status sum_h(prove_job *j, size_t k0, size_t n, const run_ctx *rc)
{
    cpu_handle *h = j->h;
    uint64_t n_h = h->ev ? h->m : h->m - 1, step_n = cpu_chunk_points(h, n_h, false);
    for (uint64_t first = 0; first < n_h; first += step_n) {
        uint64_t len = n_h - first < step_n ? n_h - first : step_n;
        CUZK_TRY(decode(h, G16_H, first, len, rc));
        for (size_t k = 0; k < n; k++) {
            if (j->left_out[k0 + k])
                continue;
            g1_jac t;
            stage s = stage_begin(rc, SPAN_TAIL, g16_batch_partition(j->batch, k0 + k),
                                  len * sizeof(g1_aff));
            cuzk_status st = msm_g1(&t, (const g1_aff *)(const void *)h->ab,
                                    (const fr_int *)h->hv + k * h->m + first, len, &s.rc);
            stage_end(&s, NULL);
            CUZK_TRY(st);
            if (fault_hits(h, G16_FAULT_BUCKET)) /* one point too many in some bucket */
                g1_jac_add_aff(&t, &t, (const g1_aff *)(const void *)h->ab);
            g1_jac_add(&j->sums[k0 + k].h, &j->sums[k0 + k].h, &t);
            CUZK_TRY(step(j, SPAN_MSM_H, 6 * len, rc));
        }
    }
    return cuzk_ok();
}

static cuzk_status check_witness(const cpu_handle *h, const witness *w, size_t k)
{
    if (w->n_inputs != h->c->n_inputs || w->n_aux != h->c->n_aux || w->n_dense != h->c->n_dense)
        return cuzk_fail(
            CUZK_E_INPUT,
            "witness %zu: expected %llu inputs, %llu aux, %llu dense, found %llu, %llu, %llu", k,
            (unsigned long long)h->c->n_inputs, (unsigned long long)h->c->n_aux,
            (unsigned long long)h->c->n_dense, (unsigned long long)w->n_inputs,
            (unsigned long long)w->n_aux, (unsigned long long)w->n_dense);
    return cuzk_ok();
}

/* Wait for the witness of proof k; is the proof to be made here? */
static cuzk_status start_proof(prove_job *j, size_t k, const run_ctx *rc)
{
    g16_ready there;
    CUZK_TRY(g16_batch_wait(&there, j->batch, k, rc));
    j->left_out[k] = there == G16_NEVER || (j->batch->claim && !j->batch->claim(j->batch->ctx, k));
    return j->left_out[k] ? cuzk_ok() : check_witness(j->h, j->w[k], k);
}

/* Quotients of the proofs [k0, k0 + n) that nobody else makes. */
static cuzk_status make_quotients(prove_job *j, size_t k0, size_t n, const run_ctx *rc)
{
    cpu_handle *h = j->h;
    for (size_t k = 0; k < n; k++) {
        CUZK_TRY(start_proof(j, k0 + k, rc));
        if (j->left_out[k0 + k])
            continue;
        CUZK_TRY(cuzk_wrap(make_quotient(j, k0 + k, (fr_int *)h->hv + k * h->m, rc), "proof %zu",
                           k0 + k));
    }
    return cuzk_ok();
}

static cuzk_status prove_h(prove_job *j, const run_ctx *rc)
{
    cpu_handle *h = j->h;
    for (size_t k0 = 0; k0 < j->n; k0 += h->h_group) {
        size_t n = j->n - k0 < h->h_group ? j->n - k0 : h->h_group;
        CUZK_TRY(make_quotients(j, k0, n, rc));
        stage s = stage_begin(rc, SPAN_MSM_H, -1, h->m * n * sizeof(fr_int));
        cuzk_status st = sum_h(j, k0, n, &s.rc);
        stage_end(&s, &j->t->msm_h_ns);
        CUZK_TRY(cuzk_wrap(st, "section h"));
    }
    return cuzk_ok();
}

/* One section being summed. */
typedef struct section_sum {
    const g16_query *q;
    g16_section sec;
    const char *name;
    uint64_t ordinal, next_dense; /* cursors of g16_query_sources */
} section_sum;

static void add_to(prove_job *j, g16_section sec, size_t k, const g1_jac *t1, const g2_jac *t2)
{
    g16_sums *s = &j->sums[k];
    if (sec == G16_B_G2) {
        g2_jac_add(&s->b2, &s->b2, t2);
        return;
    }
    g1_jac *to = sec == G16_L ? &s->l : sec == G16_A ? &s->a : &s->b1;
    g1_jac_add(to, to, t1);
}

static const uint64_t *mask_of(const prove_job *j, const section_sum *x, size_t k)
{
    const cpu_handle *h = j->h;
    if (x->sec == G16_L)
        return j->w[k]->bits;
    return h->masks + k * cpu_masks_words(h) +
           (x->sec == G16_A ? 0 : words_of(h->query[QUERY_A].n) + 1);
}

/* Keep only the dense entries of the decoded chunk, moved to the front. In place: an entry never
 * moves up. */
static size_t gather(cpu_handle *h, const section_sum *x, uint64_t first, uint64_t n)
{
    g1_aff *p1 = (g1_aff *)(void *)h->ab;
    g2_aff *p2 = (g2_aff *)(void *)h->ab;
    const uint64_t *d = x->q->dense + first / 64;
    size_t kept = 0;
    for (uint64_t k = 0; k * 64 < n; k++) {
        uint64_t left = n - k * 64, bits = left < 64 ? d[k] & (((uint64_t)1 << left) - 1) : d[k];
        for (; bits; bits &= bits - 1, kept++) {
            size_t i = k * 64 + (size_t)__builtin_ctzll(bits);
            if (i == kept)
                continue;
            if (x->sec == G16_B_G2)
                p2[kept] = p2[i];
            else
                p1[kept] = p1[i];
        }
    }
    return kept;
}

static cuzk_status add_bits(prove_job *j, const section_sum *x, uint64_t first, uint64_t n,
                            const run_ctx *rc)
{
    for (size_t k = 0; k < j->n; k++) {
        if (j->left_out[k])
            continue;
        const uint64_t *mask = mask_of(j, x, k) + first / 64;
        g1_jac t1;
        g2_jac t2;
        stage s = stage_begin(rc, SPAN_SUM, g16_batch_partition(j->batch, k), n / 8);
        cuzk_status st =
            x->sec == G16_B_G2
                ? msm_g2_sum(&t2, (const g2_aff *)(const void *)j->h->ab, mask, n, &s.rc)
                : msm_g1_sum(&t1, (const g1_aff *)(const void *)j->h->ab, mask, n, &s.rc);
        stage_end(&s, NULL);
        CUZK_TRY(st);
        add_to(j, x->sec, k, &t1, &t2);
        CUZK_TRY(step(j, x->name, x->sec == G16_B_G2 ? 3 * n : n, rc));
    }
    return cuzk_ok();
}

/* hv is free by now: the quotients are summed. */
static cuzk_status add_tail(prove_job *j, const section_sum *x, size_t n, const run_ctx *rc)
{
    cpu_handle *h = j->h;
    for (size_t k = 0; k < j->n; k++) {
        if (j->left_out[k])
            continue;
        stage s = stage_begin(rc, SPAN_TAIL, g16_batch_partition(j->batch, k), n * sizeof(fr_int));
        g1_jac t1;
        g2_jac t2;
        cuzk_status st =
            to_int(&(to_int_job){.out = h->hv, .w = j->w[k], .src = h->src, .n = n}, &s.rc);
        if (st.code == CUZK_OK)
            st = x->sec == G16_B_G2
                     ? msm_g2(&t2, (const g2_aff *)(const void *)h->ab, h->hv, n, &s.rc)
                     : msm_g1(&t1, (const g1_aff *)(const void *)h->ab, h->hv, n, &s.rc);
        stage_end(&s, NULL);
        CUZK_TRY(st);
        add_to(j, x->sec, k, &t1, &t2);
        CUZK_TRY(step(j, x->name, 0, rc));
    }
    return cuzk_ok();
}

static cuzk_status sum_chunk(prove_job *j, section_sum *x, uint64_t first, uint64_t n,
                             const run_ctx *rc)
{
    CUZK_TRY(decode(j->h, x->sec, first, n, rc));
    uint64_t n_dense = g16_query_count(x->q, first, n);
    if (n_dense < n)
        CUZK_TRY(add_bits(j, x, first, n, rc));
    if (n_dense == 0)
        return cuzk_ok();
    CUZK_VERIFY(n_dense <= j->h->n_src && n_dense * sizeof(fr_int) <= j->h->hv_bytes);
    stage s = stage_begin(rc, SPAN_GATHER, -1, n_dense * sizeof(g1_aff));
    size_t kept = gather(j->h, x, first, n);
    g16_query_sources(j->h->src, x->q, kept, &x->ordinal, &x->next_dense);
    stage_end(&s, NULL);
    return add_tail(j, x, kept, rc);
}

static cuzk_status sum_section(prove_job *j, g16_section sec, g16_query_id id,
                               const char *span_name, uint64_t *ns, const run_ctx *rc)
{
    section_sum x = {.q = &j->h->query[id], .sec = sec, .name = span_name};
    uint64_t n = x.q->n, step_n = cpu_chunk_points(j->h, n, sec == G16_B_G2);
    stage s = stage_begin(rc, span_name, -1, n);
    cuzk_status st = cuzk_ok();
    for (uint64_t first = 0; first < n && st.code == CUZK_OK; first += step_n)
        st = sum_chunk(j, &x, first, n - first < step_n ? n - first : step_n, &s.rc);
    stage_end(&s, ns);
    return cuzk_wrap(st, "section %s", g16_section_name(sec));
}

/* In evaluation form the inputs, too, have points in section l. */
static cuzk_status add_inputs(prove_job *j, const run_ctx *rc)
{
    cpu_handle *h = j->h;
    uint64_t n = h->c->n_inputs, step_n = cpu_chunk_points(h, n, false);
    for (uint64_t first = 0; first < n; first += step_n) {
        uint64_t len = n - first < step_n ? n - first : step_n;
        CUZK_TRY(g16_evkey_points(h->ev, G16_EV_L_INPUTS, first, len, false,
                                  (g1_aff *)(void *)h->ab, rc));
        for (size_t k = 0; k < j->n; k++) {
            if (j->left_out[k])
                continue;
            g1_jac t;
            CUZK_TRY(
                to_int(&(to_int_job){.out = h->hv, .in = j->w[k]->inputs + first, .n = len}, rc));
            CUZK_TRY(msm_g1(&t, (const g1_aff *)(const void *)h->ab, h->hv, len, rc));
            add_to(j, G16_L, k, &t, NULL);
        }
    }
    return cuzk_ok();
}

static cuzk_status sum_inputs(prove_job *j, const run_ctx *rc)
{
    if (!j->h->ev)
        return cuzk_ok();
    stage s = stage_begin(rc, SPAN_MSM_L, -1, j->h->c->n_inputs);
    cuzk_status st = add_inputs(j, &s.rc);
    stage_end(&s, &j->t->msm_l_ns);
    return cuzk_wrap(st, "section l of inputs");
}

static void mask_chunk(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const prove_job *j = ctx;
    if (j->left_out[chunk / 2])
        return;
    const section_sum x = {.sec = chunk & 1 ? G16_B_G1 : G16_A};
    g16_query_mask((uint64_t *)(uintptr_t)mask_of(j, &x, chunk / 2),
                   &j->h->query[chunk & 1 ? QUERY_B : QUERY_A], j->w[chunk / 2]);
}

static cuzk_status make_masks(prove_job *j, const run_ctx *rc)
{
    stage s = stage_begin(rc, SPAN_MASK, -1, 0);
    cuzk_status st = run_for(rc, 2 * j->n, mask_chunk, j);
    stage_end(&s, NULL);
    return st;
}

static cuzk_status prove_all(prove_job *j, const run_ctx *rc)
{
    const g16_query *q = j->h->query;
    j->total = j->n * (j->h->m + 6 * (j->h->m - (j->h->ev ? 0 : 1)) + q[QUERY_L].n + q[QUERY_A].n +
                       4 * q[QUERY_B].n);
    CUZK_TRY(prove_h(j, rc));
    CUZK_TRY(make_masks(j, rc));
    CUZK_TRY(sum_inputs(j, rc));
    CUZK_TRY(sum_section(j, G16_L, QUERY_L, SPAN_MSM_L, &j->t->msm_l_ns, rc));
    CUZK_TRY(sum_section(j, G16_A, QUERY_A, SPAN_MSM_A, &j->t->msm_a_ns, rc));
    CUZK_TRY(sum_section(j, G16_B_G1, QUERY_B, SPAN_MSM_B1, &j->t->msm_b1_ns, rc));
    return sum_section(j, G16_B_G2, QUERY_B, SPAN_MSM_B2, &j->t->msm_b2_ns, rc);
}

static cuzk_status prove_build(prove_job *j, const run_ctx *rc)
{
    for (size_t k = 0; k < j->n && !j->batch->ready; k++)
        CUZK_TRY(check_witness(j->h, j->w[k], k));
    CUZK_TRY(cpu_reserve(j->h, j->n, rc));
    memset(j->sums, 0, j->n * sizeof *j->sums); /* z = 0 is infinity */
    CUZK_TRY(prove_all(j, rc));
    stage s = stage_begin(rc, SPAN_ASSEMBLE, -1, 0);
    cuzk_status st = cuzk_ok();
    run_progress(j->rc, SPAN_ASSEMBLE, 1.0); /* with what was left out */
    for (size_t k = 0; k < j->n && st.code == CUZK_OK; k++) {
        if (j->left_out[k])
            continue;
        st = g16_assemble(&j->batch->out[k], g16_key_vk(j->h->key), &j->sums[k], &j->batch->rs[k]);
        if (st.code == CUZK_OK && j->batch->done)
            j->batch->done(j->batch->ctx, k);
    }
    stage_end(&s, &j->t->assemble_ns);
    return st;
}

static cuzk_status prove_alloc(prove_job *j)
{
    j->sums = mem_alloc(j->n * sizeof *j->sums, 64);
    j->left_out = mem_zalloc(j->n, 8);
    return j->sums && j->left_out ? cuzk_ok() : cuzk_fail(CUZK_E_NOMEM, "sums of %zu proofs", j->n);
}

cuzk_status cpu_prove(cpu_handle *h, const g16_batch *batch, g16_timings *t, const run_ctx *rc)
{
    g16_timings local;
    t = t ? t : &local;
    *t = (g16_timings){0};
    memset(batch->out, 0, batch->n * sizeof *batch->out);
    /* Acquire pairs with the release below: the work space is ours between them. */
    if (atomic_flag_test_and_set_explicit(&h->busy, memory_order_acquire))
        return cuzk_fail(CUZK_E_USAGE, "cpu backend: two proofs at once on one handle");
    stage s = stage_begin(rc, SPAN_PROVE, -1, 0);
    prove_job j = {.h = h, .batch = batch, .w = batch->w, .n = batch->n, .t = t, .rc = rc};
    cuzk_status st = prove_alloc(&j);
    if (st.code == CUZK_OK)
        st = prove_build(&j, &s.rc);
    if (j.sums)
        mem_wipe(j.sums, j.n * sizeof *j.sums);
    mem_free(j.sums);
    mem_free(j.left_out);
    if (st.code != CUZK_OK)
        memset(batch->out, 0, batch->n * sizeof *batch->out);
    stage_end(&s, &t->total_ns);
    atomic_flag_clear_explicit(&h->busy, memory_order_release);
    return st;
}
