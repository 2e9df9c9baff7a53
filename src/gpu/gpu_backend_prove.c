/* Proving a batch: witnesses up, the sums of all proofs section by section, then quotient and h sum
 * proof by proof. While witnesses are still being made or on their way, quotients and h sums of those
 * that are there come first. */
#include "base/mem.h"
#include "base/span_names.h"
#include "gpu/gpu_backend_int.h"
#include "gpu/gpu_quotient.h"
#include <string.h>

/* How far a proof with a slot is. */
typedef enum slot_state { SLOT_UP, SLOT_H_SUMMED, SLOT_LEFT_OUT } slot_state;

/* One group of proofs whose witnesses are resident together. */
typedef struct group_job {
    gpu_backend *b;
    gpu_handle *h;
    gpu_area *area;
    const gpu_plan *p;
    const gpu_run *run;
    const g16_batch *batch;
    size_t k0;                          /* first proof of the group */
    unsigned n_proofs;                  /* up to plan.n_slots */
    bool is_decided[GPU_MSM_MASKS_MAX]; /* of them: has a slot, or will have none */
    unsigned n_decided;
    unsigned n;                   /* slots filled; below, per slot: */
    unsigned n_up;                /* of them: whose witness is on its way, or there */
    bool upload_failed;           /* beside the work on another proof; the status names its own */
    size_t at[GPU_MSM_MASKS_MAX]; /* which proof it has */
    slot_state state[GPU_MSM_MASKS_MAX];
    g16_sums *sums;
    g16_timings *t;
    const run_ctx *rc;
    uint64_t done, total; /* progress, in about equal costs */
} group_job;

static uint8_t *work_at(const group_job *j, size_t offset)
{
    return (uint8_t *)j->area->mem.p + offset;
}

static uint8_t *values_of(const group_job *j, unsigned k)
{
    return work_at(j, j->p->values_at + k * j->p->value_bytes);
}

static int32_t partition_of(const group_job *j, unsigned k)
{
    return g16_batch_partition(j->batch, j->at[k]);
}

/* A stage: its span, and where its kernel groups hang. */
typedef struct stage {
    span_id span;
    uint64_t start_ns;
    run_ctx rc;
} stage;

static stage stage_begin(const group_job *j, const run_ctx *rc, const char *name, int32_t partition)
{
    stage s = {.start_ns = clock_now_ns(), .span = span_begin(rc->spans, rc->parent, name)};
    s.rc = run_ctx_under(rc, s.span);
    span_note(rc->spans, s.span, partition, 0);
    gpu_lane_under(j->area->lane, s.span, partition);
    return s;
}

/* Wait for the stage's work, so that its time is its own. */
static cuzk_status stage_end(group_job *j, const stage *s, uint64_t *total_ns, cuzk_status st)
{
    cuzk_status drained = gpu_lane_wait_sync(j->area->lane);
    span_end(s->rc.spans, s->span);
    if (total_ns)
        *total_ns += clock_now_ns() - s->start_ns;
    return st.code != CUZK_OK ? st : drained;
}

static void advance(group_job *j, const char *name, uint64_t cost, const run_ctx *rc)
{
    j->done += cost;
    run_progress(rc, name, j->total ? (double)j->done / (double)j->total : 1.0);
}

/* At most that much goes up between two polls: the threads that copy it set the pace. */
#define UPLOAD_SLICE ((size_t)256 << 20)

static cuzk_status upload_array(group_job *j, uint8_t *d_to, const void *from, size_t n,
                                const run_ctx *rc)
{
    for (size_t at = 0; at < n;) {
        size_t len = n - at < UPLOAD_SLICE ? n - at : UPLOAD_SLICE;
        CUZK_TRY(gpu_feed_copy(&j->area->feed, d_to + at, (const uint8_t *)from + at, len, rc));
        at += len;
        if (at < n)
            CUZK_TRY(gpu_run_slice(j->run));
    }
    return cuzk_ok();
}

static cuzk_status check_witness(const gpu_plan *p, const witness *w, size_t k)
{
    if (w->n_inputs != p->n_inputs || w->n_aux != p->n_aux || w->n_dense != p->n_dense)
        return cuzk_fail(
            CUZK_E_INPUT,
            "witness %zu: expected %llu inputs, %llu aux, %llu dense, found %llu, %llu, %llu", k,
            (unsigned long long)p->n_inputs, (unsigned long long)p->n_aux,
            (unsigned long long)p->n_dense, (unsigned long long)w->n_inputs,
            (unsigned long long)w->n_aux, (unsigned long long)w->n_dense);
    return cuzk_ok();
}

static cuzk_status upload_one(group_job *j, unsigned k, const run_ctx *rc)
{
    const witness *w = j->batch->w[j->at[k]];
    CUZK_TRY(check_witness(j->p, w, j->at[k]));
    uint8_t *d_values = values_of(j, k);
    CUZK_TRY(upload_array(j, work_at(j, j->p->mask_at[QUERY_L] + k * j->p->mask_bytes[QUERY_L]),
                          w->bits, j->p->mask_bytes[QUERY_L], rc));
    CUZK_TRY(upload_array(j, d_values, w->dense, w->n_dense * sizeof(fr), rc));
    CUZK_TRY(upload_array(j, d_values + w->n_dense * sizeof(fr), w->inputs,
                          w->n_inputs * sizeof(fr), rc));
    /* what the lane does from here on comes after it */
    CUZK_TRY(gpu_event_record(j->area->up_done, j->area->up));
    return gpu_stream_after(gpu_lane_stream(j->area->lane), j->area->up_done);
}

static size_t witness_bytes(const group_job *j)
{
    return j->p->value_bytes + j->p->mask_bytes[QUERY_L];
}

/* The witness of the next slot that has none yet. */
static cuzk_status upload(group_job *j, const run_ctx *rc)
{
    stage s = stage_begin(j, rc, SPAN_UPLOAD, partition_of(j, j->n_up));
    gpu_run_group(j->run, SPAN_UPLOAD);
    span_note(rc->spans, s.span, partition_of(j, j->n_up), witness_bytes(j));
    cuzk_status st = upload_one(j, j->n_up++, &s.rc);
    if (st.code == CUZK_OK)
        st = gpu_run_slice(j->run);
    gpu_run_group(j->run, NULL);
    return stage_end(j, &s, NULL, st);
}

/* The bits of all proofs in the order of A's and B's entries; L's order is the witness's own. */
static cuzk_status masks(group_job *j, const run_ctx *rc)
{
    stage s = stage_begin(j, rc, SPAN_MASK, -1);
    cuzk_status st = cuzk_ok();
    const gpu_key *key = &j->h->dev;
    for (unsigned k = 0; k < j->n; k++) {
        const void *d_bits = work_at(j, j->p->mask_at[QUERY_L] + k * j->p->mask_bytes[QUERY_L]);
        for (g16_query_id q = QUERY_A; q < N_QUERIES && st.code == CUZK_OK; q++)
            st = gpu_query_mask(work_at(j, j->p->mask_at[q] + k * j->p->mask_bytes[q]),
                                j->h->query[q].n, (uint32_t)j->h->query[q].n_in, d_bits,
                                j->p->n_aux, gpu_key_at(key, key->at.density[q]),
                                (const uint32_t *)gpu_key_at(key, key->at.rank[q]), j->run);
    }
    return stage_end(j, &s, NULL, st);
}

/* One section of the key, for all proofs of the group. */
typedef struct section {
    g16_section sec;
    g16_query_id q;
    const char *name;
    uint64_t *ns;
} section;

/* The section's total of proof k. */
static void add_sum(group_job *j, const section *x, unsigned k, const g1_jac *p1, const g2_jac *p2)
{
    g16_sums *s = &j->sums[k];
    if (x->sec == G16_B_G2) {
        g2_jac_add(&s->b2, &s->b2, p2);
        return;
    }
    g1_jac *to = x->sec == G16_L ? &s->l : x->sec == G16_A ? &s->a : &s->b1;
    g1_jac_add(to, to, p1);
}

static gpu_msm_ws workspace(const group_job *j, size_t at, size_t bytes)
{
    return (gpu_msm_ws){
        .d_ws = work_at(j, at), .bytes = bytes, .pin = j->area->pin.p, .run = j->run};
}

/* Entries that are bits: all proofs at once, each base under its pattern of bits. */
static cuzk_status sum_bits(group_job *j, const section *x)
{
    union {
        g1_jac g1[GPU_MSM_MASKS_MAX];
        g2_jac g2[GPU_MSM_MASKS_MAX];
    } out;
    const gpu_msm_ws ws = workspace(j, j->p->sum_ws_at, j->p->sum_ws_bytes);
    const uint64_t *d_masks = (const uint64_t *)(const void *)work_at(j, j->p->mask_at[x->q]);
    const void *d_bases = j->h->dev.section[x->sec].p;
    size_t n = j->p->n_masked[x->q];
    gpu_run_group(j->run, SPAN_SUM);
    cuzk_status st = x->sec == G16_B_G2
                         ? gpu_msm_g2_sums_sync(out.g2, d_bases, d_masks, n, j->n, &ws)
                         : gpu_msm_g1_sums_sync(out.g1, d_bases, d_masks, n, j->n, &ws);
    gpu_run_group(j->run, NULL);
    for (unsigned k = 0; k < j->n && st.code == CUZK_OK; k++)
        add_sum(j, x, k, &out.g1[k], &out.g2[k]);
    return st;
}

/* Scalars of the entries that are field elements, as integers in the order of the section. */
static cuzk_status tail_scalars(group_job *j, const section *x, unsigned k, void *d_out)
{
    const gpu_key *key = &j->h->dev;
    size_t n = j->p->n_tail[x->q];
    if (x->q == QUERY_L) /* all dense values, in their order; then the inputs that have points */
        return gpu_scalars_canonical(d_out, values_of(j, k), n, j->run);
    return gpu_scalars_gather(d_out, values_of(j, k),
                              (const uint32_t *)gpu_key_at(key, key->at.source[x->q]), n, j->run);
}

/* Tails of proofs [k, k + n). */
static cuzk_status sum_tails(group_job *j, const section *x, unsigned k, unsigned n)
{
    union {
        g1_jac g1[GPU_MSM_MASKS_MAX];
        g2_jac g2[GPU_MSM_MASKS_MAX];
    } out;
    const void *d_scalars[GPU_MSM_MASKS_MAX];
    size_t bytes = j->p->n_tail[x->q] * sizeof(fr_int);
    const gpu_msm_ws ws = workspace(j, j->p->sum_ws_at, j->p->sum_ws_bytes);
    const gpu_msm_tails tails = {
        .d_idx = (const uint32_t *)gpu_key_at(&j->h->dev, j->h->dev.at.position[x->q]),
        .n_idx = j->p->n_tail[x->q],
        .d_scalars = d_scalars,
        .n_batch = n};
    cuzk_status st = cuzk_ok();
    gpu_run_group(j->run, SPAN_SCALARS);
    for (unsigned i = 0; i < n && st.code == CUZK_OK; i++) {
        d_scalars[i] = work_at(j, j->p->scalars_at + i * bytes);
        st = tail_scalars(j, x, k + i, work_at(j, j->p->scalars_at + i * bytes));
    }
    gpu_run_group(j->run, SPAN_TAIL);
    const void *d_bases = j->h->dev.section[x->sec].p;
    if (st.code == CUZK_OK)
        st = x->sec == G16_B_G2 ? gpu_msm_g2_tails_sync(out.g2, d_bases, &tails, &ws)
                                : gpu_msm_g1_tails_sync(out.g1, d_bases, &tails, &ws);
    gpu_run_group(j->run, NULL);
    for (unsigned i = 0; i < n && st.code == CUZK_OK; i++)
        add_sum(j, x, k + i, &out.g1[i], &out.g2[i]);
    return st;
}

static cuzk_status sum_section(group_job *j, const section *x, const run_ctx *rc)
{
    uint64_t n = j->p->n[x->sec], n_tail = j->p->n_tail[x->q];
    unsigned step = j->p->tail_batch[x->q];
    stage s = stage_begin(j, rc, x->name, -1);
    span_note(rc->spans, s.span, -1, n * (x->sec == G16_B_G2 ? sizeof(g2_aff) : sizeof(g1_aff)));
    cuzk_status st = j->p->n_masked[x->q] > 0 ? sum_bits(j, x) : cuzk_ok();
    for (unsigned k = 0; k < j->n && n_tail > 0 && st.code == CUZK_OK; k += step)
        st = sum_tails(j, x, k, j->n - k < step ? j->n - k : step);
    st = stage_end(j, &s, x->ns, st);
    advance(j, x->name, n, rc);
    return cuzk_wrap(st, "section %s", g16_section_name(x->sec));
}

static cuzk_status sum_sections(group_job *j, const run_ctx *rc)
{
    g16_timings *t = j->t;
    const section sections[] = {{G16_L, QUERY_L, SPAN_MSM_L, &t->msm_l_ns},
                                {G16_A, QUERY_A, SPAN_MSM_A, &t->msm_a_ns},
                                {G16_B_G1, QUERY_B, SPAN_MSM_B1, &t->msm_b1_ns},
                                {G16_B_G2, QUERY_B, SPAN_MSM_B2, &t->msm_b2_ns}};
    for (size_t i = 0; i < ARRAY_LEN(sections); i++)
        CUZK_TRY(sum_section(j, &sections[i], rc));
    return cuzk_ok();
}

/* a and b of proof k by row. */
static cuzk_status evaluate(group_job *j, unsigned k, const run_ctx *rc)
{
    const uint8_t *d_values = values_of(j, k);
    const gpu_witness w = {.d_dense = d_values,
                           .d_inputs = d_values + j->p->n_dense * sizeof(fr),
                           .d_bits =
                               work_at(j, j->p->mask_at[QUERY_L] + k * j->p->mask_bytes[QUERY_L])};
    stage s = stage_begin(j, rc, SPAN_EVAL, partition_of(j, k));
    cuzk_status st = gpu_shape_eval(j->h->image, work_at(j, j->p->a_at), work_at(j, j->p->b_at), &w,
                                    j->p->lg_m, j->run);
    return stage_end(j, &s, &j->t->eval_ns, st);
}

static cuzk_status quotient(group_job *j, unsigned k, const run_ctx *rc)
{
    stage s = stage_begin(j, rc, SPAN_QUOTIENT, partition_of(j, k));
    cuzk_status st = (j->p->is_evaluation ? gpu_derivative_product : gpu_quotient)(
        &j->b->ntt, work_at(j, j->p->a_at), work_at(j, j->p->b_at), work_at(j, j->p->c_at),
        j->p->lg_m, j->run);
    st = stage_end(j, &s, &j->t->quotient_ns, st);
    advance(j, SPAN_QUOTIENT, j->p->m, rc);
    return st;
}

static cuzk_status sum_h(group_job *j, unsigned k, const run_ctx *rc)
{
    const gpu_msm_ws ws = workspace(j, j->p->b_at, j->p->h_ws_bytes);
    stage s = stage_begin(j, rc, SPAN_MSM_H, partition_of(j, k));
    gpu_run_group(j->run, SPAN_SUM);
    cuzk_status st = gpu_msm_g1_sync(&j->sums[k].h, j->h->dev.section[G16_H].p,
                                     work_at(j, j->p->a_at), j->p->n[G16_H], &ws);
    gpu_run_group(j->run, NULL);
    st = stage_end(j, &s, &j->t->msm_h_ns, st);
    advance(j, SPAN_MSM_H, 4 * j->p->m, rc);
    return cuzk_wrap(st, "section h");
}

static cuzk_status assemble(group_job *j, unsigned k, const run_ctx *rc)
{
    size_t at = j->at[k];
    const g16_vk *vk = j->h->key ? g16_key_vk(j->h->key) : &j->h->own_vk;
    stage s = stage_begin(j, rc, SPAN_ASSEMBLE, partition_of(j, k));
    cuzk_status st = g16_assemble(&j->batch->out[at], vk, &j->sums[k], &j->batch->rs[at]);
    span_end(rc->spans, s.span);
    j->t->assemble_ns += clock_now_ns() - s.start_ns;
    if (st.code == CUZK_OK && j->batch->done)
        j->batch->done(j->batch->ctx, at);
    return st;
}

/* What a proof takes besides the sums that all of the group share. */
static cuzk_status prove_alone(group_job *j, unsigned k, const run_ctx *rc)
{
    if (j->batch->claim && !j->batch->claim(j->batch->ctx, j->at[k])) {
        j->state[k] = SLOT_LEFT_OUT; /* another device makes it */
        return cuzk_ok();
    }
    CUZK_TRY(evaluate(j, k, rc));
    CUZK_TRY(quotient(j, k, rc));
    CUZK_TRY(sum_h(j, k, rc));
    j->state[k] = SLOT_H_SUMMED;
    return cuzk_ok();
}

/* Slots for the witnesses that have come. */
static void give_slots(group_job *j)
{
    for (unsigned i = 0; i < j->n_proofs; i++) {
        g16_ready there = j->is_decided[i] ? G16_LATER : g16_batch_ready(j->batch, j->k0 + i);
        if (there == G16_LATER)
            continue;
        j->is_decided[i] = true;
        j->n_decided++;
        if (there == G16_NEVER)
            continue;
        j->state[j->n] = SLOT_UP;
        j->at[j->n++] = j->k0 + i;
    }
}

/* The device has nothing to do before another witness is there. */
static cuzk_status wait_for_witness(group_job *j, const run_ctx *rc)
{
    stage s = stage_begin(j, rc, SPAN_WAIT, -1);
    unsigned before = j->n_decided;
    cuzk_status st = cuzk_ok();
    while (st.code == CUZK_OK && j->n_decided == before) {
        g16_batch_nap();
        give_slots(j);
        st = gpu_run_slice(j->run);
    }
    return stage_end(j, &s, NULL, st);
}

/* A witness that has come goes up while the device works on another proof, unless it is so long that the
 * device would wait for it. */
static cuzk_status upload_beside(void *ctx)
{
    group_job *j = ctx;
    if (witness_bytes(j) > UPLOAD_SLICE)
        return cuzk_ok();
    /* Who gives late witnesses up is to know that this device works. */
    advance(j, SPAN_MSM_H, 0, j->rc);
    give_slots(j);
    if (j->n_up == j->n)
        return cuzk_ok();
    span_id s = span_begin(j->rc->spans, j->rc->parent, SPAN_UPLOAD);
    span_note(j->rc->spans, s, -1, witness_bytes(j));
    cuzk_status st = upload_one(j, j->n_up++, j->rc);
    span_end(j->rc->spans, s);
    j->upload_failed = st.code != CUZK_OK;
    return cuzk_wrap(st, "proof %zu", j->at[j->n_up - 1]);
}

static cuzk_status prove_beside_uploads(group_job *j, unsigned k, const run_ctx *rc)
{
    gpu_lane_set_background(j->area->lane, upload_beside, j);
    cuzk_status st = prove_alone(j, k, rc);
    gpu_lane_set_background(j->area->lane, NULL, NULL);
    return j->upload_failed ? st : cuzk_wrap(st, "proof %zu", j->at[k]);
}

/* Witnesses go up as they come; until the last is there the device makes what it can of the others. */
static cuzk_status collect(group_job *j, const run_ctx *rc)
{
    unsigned n_begun = 0;
    cuzk_status st = cuzk_ok();
    give_slots(j);
    while (st.code == CUZK_OK && (j->n_up < j->n || j->n_decided < j->n_proofs)) {
        if (n_begun < j->n_up)
            st = prove_beside_uploads(j, n_begun++, rc);
        else if (j->n_up < j->n)
            st = upload(j, rc);
        else
            st = wait_for_witness(j, rc);
        give_slots(j);
    }
    return st;
}

/* Other devices may have taken all of them meanwhile. */
static bool has_work(const group_job *j)
{
    for (unsigned k = 0; k < j->n; k++)
        if (j->state[k] != SLOT_LEFT_OUT)
            return true;
    return false;
}

/* A proof of a group whose shared sums are there. */
static cuzk_status finish(group_job *j, unsigned k, const run_ctx *rc)
{
    if (j->state[k] == SLOT_UP)
        CUZK_TRY(prove_alone(j, k, rc));
    return j->state[k] == SLOT_H_SUMMED ? assemble(j, k, rc) : cuzk_ok();
}

static cuzk_status prove_group(group_job *j, const run_ctx *rc)
{
    memset(j->sums, 0, j->n_proofs * sizeof *j->sums); /* z = 0 is infinity */
    memset(j->is_decided, 0, sizeof j->is_decided);
    j->n = j->n_up = j->n_decided = 0;
    CUZK_TRY(collect(j, rc));
    if (!has_work(j))
        return cuzk_ok();
    CUZK_TRY(masks(j, rc));
    CUZK_TRY(sum_sections(j, rc));
    for (unsigned k = 0; k < j->n; k++)
        CUZK_TRY(cuzk_wrap(finish(j, k, rc), "proof %zu", j->at[k]));
    return cuzk_ok();
}

/* Groups of about equal size: ten masks cost little more than one. */
static cuzk_status prove_groups(group_job *j, const run_ctx *rc)
{
    size_t n = j->batch->n, slots = j->p->n_slots, n_groups = (n + slots - 1) / slots;
    uint64_t sections = j->p->n[G16_L] + j->p->n[G16_A] + 2 * j->p->n[G16_B_G1];
    j->total = n_groups * sections + n * 5 * j->p->m;
    for (size_t i = 0; i < n_groups; i++) {
        j->k0 = n * i / n_groups;
        j->n_proofs = (unsigned)(n * (i + 1) / n_groups - j->k0);
        CUZK_TRY(prove_group(j, rc));
    }
    return cuzk_ok();
}

static cuzk_status run_in_area(group_job *j, const run_ctx *rc)
{
    gpu_area *a = j->area;
    CUZK_TRY(gpu_ctx_enter(j->b->device.ordinal));
    CUZK_TRY(gpu_lane_open(a->lane, rc));
    a->feed.stream = a->up;
    j->rc = rc;
    cuzk_status st = prove_groups(j, rc);
    cuzk_status sent = gpu_stream_wait_sync(a->up); /* also when the proof ended before */
    a->feed.stream = gpu_lane_stream(a->lane);
    gpu_lane_close(a->lane);
    return st.code != CUZK_OK ? st : sent;
}

cuzk_status gpu_prove(gpu_backend *b, gpu_handle *h, const g16_batch *batch, g16_timings *t,
                      const run_ctx *rc)
{
    if (b->lost)
        return cuzk_fail(CUZK_E_DEVICE_LOST, "device %d was lost by a fault in this process",
                         b->device.ordinal);
    for (size_t k = 0; k < batch->n && !batch->ready; k++)
        CUZK_TRY(check_witness(&h->plan, batch->w[k], k));
    if (batch->n == 0)
        return cuzk_ok();
    group_job j = {.b = b, .h = h, .p = &h->plan, .batch = batch, .t = t};
    g16_sums sums[GPU_MSM_MASKS_MAX];
    j.sums = sums;
    span_id s = span_begin(rc->spans, rc->parent, SPAN_WAIT);
    cuzk_status st = gpu_area_take(&j.area, b, h->plan.work_bytes, rc);
    span_end(rc->spans, s);
    CUZK_TRY(st);
    j.run = gpu_lane_run(j.area->lane);
    st = gpu_note_lost(b, run_in_area(&j, rc));
    gpu_area_return(b, j.area);
    mem_wipe(sums, sizeof sums);
    return st;
}
