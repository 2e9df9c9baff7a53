/* Batches in memory that the device process sees. */
#define _GNU_SOURCE
#include "base/mem.h"
#include "base/span_names.h"
#include "gpu/gpu_backend_wire.h"
#include "groth16/backend_parts.h"
#include "r1cs/shape.h"
#include <string.h>

/* One chunk of a copy: some milliseconds with its page faults, short against a poll. */
#define PIECE ((size_t)4 << 20)
/* Witnesses up to this size are copied by one thread when they come one by one: some 20 ms, while the
 * pool is busy with making the next ones. */
#define ALONE_MAX ((size_t)96 << 20)

/* Parts of a block, and of one proof's values in it. */
typedef struct batch_layout {
    size_t w, rs, out, partition, values, per_proof, inputs, bits, bytes;
} batch_layout;

static batch_layout lay_out(const r1cs_counts *c, size_t n)
{
    batch_layout l = {.w = 4096};
    l.rs = l.w + n * sizeof(witness);
    l.out = (l.rs + n * sizeof(g16_blinding) + 63) & ~(size_t)63;
    l.partition = l.out + n * sizeof(g16_proof);
    l.values = (l.partition + n * sizeof(int32_t) + 4095) & ~(size_t)4095;
    l.inputs = c->n_dense * sizeof(fr);
    l.bits = l.inputs + c->n_inputs * sizeof(fr);
    l.per_proof = (l.bits + words_of(c->n_aux) * 8 + 63) & ~(size_t)63;
    l.bytes = l.values + n * l.per_proof;
    return l;
}

typedef struct copy_job {
    const g16_batch *batch;
    const batch_layout *l;
    const witness *w; /* shared */
    size_t first;     /* proof */
    size_t n_pieces;  /* of one proof */
} copy_job;

/* What of an array of n bytes, that starts `at` bytes into a proof's values, lies in a piece. */
static void copy_part(void *to, const void *from, size_t n, size_t at, size_t piece)
{
    size_t lo = piece * PIECE, hi = lo + PIECE;
    size_t first = lo > at ? lo - at : 0, end = hi > at ? hi - at : 0;
    end = end < n ? end : n;
    if (first < end)
        memcpy((uint8_t *)to + first, (const uint8_t *)from + first, end - first);
}

static void copy_piece(void *ctx, size_t chunk, unsigned thread)
{
    (void)thread;
    const copy_job *j = ctx;
    size_t k = j->first + chunk / j->n_pieces, piece = chunk % j->n_pieces;
    const witness *from = j->batch->w[k], *to = &j->w[k];
    copy_part(to->dense, from->dense, from->n_dense * sizeof(fr), 0, piece);
    copy_part(to->inputs, from->inputs, from->n_inputs * sizeof(fr), j->l->inputs, piece);
    copy_part(to->bits, from->bits, words_of(from->n_aux) * 8, j->l->bits, piece);
}

static cuzk_status check_witness(const r1cs_counts *c, const witness *w, size_t k)
{
    if (w->n_inputs == c->n_inputs && w->n_aux == c->n_aux && w->n_dense == c->n_dense)
        return cuzk_ok();
    return cuzk_fail(CUZK_E_INPUT,
                     "witness %zu: expected %llu inputs, %llu aux, %llu dense, found %llu, %llu, "
                     "%llu",
                     k, (unsigned long long)c->n_inputs, (unsigned long long)c->n_aux,
                     (unsigned long long)c->n_dense, (unsigned long long)w->n_inputs,
                     (unsigned long long)w->n_aux, (unsigned long long)w->n_dense);
}

static void set_counts(witness *to, const witness *from)
{
    to->n_inputs = from->n_inputs;
    to->n_aux = from->n_aux;
    to->n_dense = from->n_dense;
}

static cuzk_status make_room(gpu_batch_room *room, size_t bytes, size_t n)
{
    if (room->bytes >= bytes)
        return cuzk_ok();
    gpu_shared_free(room->shared, room->block);
    room->block = gpu_shared_alloc(room->shared, bytes);
    room->bytes = room->block ? bytes : 0;
    return room->block ? cuzk_ok()
                       : cuzk_fail(CUZK_E_NOMEM, "%zu witnesses for the device process", n);
}

static gpu_wire_batch *place(const gpu_batch_room *room, const batch_layout *l,
                             const gpu_wire_circuit *circuit, const g16_batch *batch)
{
    uint8_t *base = room->block;
    gpu_wire_batch *b = room->block;
    *b = (gpu_wire_batch){.circuit = circuit,
                          .n = batch->n,
                          .claim = batch->claim != NULL,
                          .ready = batch->ready != NULL,
                          .w = (witness *)(void *)(base + l->w),
                          .rs = (g16_blinding *)(void *)(base + l->rs),
                          .out = (g16_proof *)(void *)(base + l->out),
                          .partition = (int32_t *)(void *)(base + l->partition)};
    memcpy(b->rs, batch->rs, batch->n * sizeof *b->rs);
    for (size_t k = 0; k < batch->n; k++) {
        uint8_t *to = base + l->values + k * l->per_proof;
        b->partition[k] = g16_batch_partition(batch, k);
        b->w[k] = (witness){0};
        b->w[k].dense_map = r1cs_shape_dense_map(circuit->shape);
        b->w[k].dense_rank = r1cs_shape_dense_rank(circuit->shape);
        b->w[k].dense = (fr *)(void *)to;
        b->w[k].inputs = (fr *)(void *)(to + l->inputs);
        b->w[k].bits = (uint64_t *)(void *)(to + l->bits);
    }
    return b;
}

/* Witnesses [first, first + n), which are there. */
static cuzk_status copy(gpu_wire_batch *b, const g16_batch *batch, size_t first, size_t n,
                        const run_ctx *rc)
{
    batch_layout l = lay_out(r1cs_shape_counts(b->circuit->shape), b->n);
    copy_job j = {batch, &l, b->w, first, (l.per_proof + PIECE - 1) / PIECE};
    span_id s = span_begin(rc->spans, rc->parent, SPAN_GATHER);
    cuzk_status st = run_for(rc, n * j.n_pieces, copy_piece, &j);
    span_note(rc->spans, s, n == 1 ? g16_batch_partition(batch, first) : -1, n * l.per_proof);
    span_end(rc->spans, s);
    for (size_t k = first; k < first + n && st.code == CUZK_OK; k++)
        set_counts(&b->w[k], batch->w[k]);
    return st;
}

cuzk_status gpu_batch_share(gpu_wire_batch **out, gpu_batch_room *room,
                            const gpu_wire_circuit *circuit, const g16_batch *batch,
                            const run_ctx *rc)
{
    const r1cs_counts *c = r1cs_shape_counts(circuit->shape);
    *out = NULL;
    for (size_t k = 0; k < batch->n && !batch->ready; k++)
        CUZK_TRY(check_witness(c, batch->w[k], k));
    batch_layout l = lay_out(c, batch->n);
    CUZK_TRY(make_room(room, l.bytes, batch->n));
    gpu_wire_batch *b = place(room, &l, circuit, batch);
    if (!batch->ready)
        CUZK_TRY(copy(b, batch, 0, batch->n, rc));
    *out = b;
    return cuzk_ok();
}

static bool is_here(const gpu_wire_batch *b, size_t k) { return b->w[k].n_inputs != 0; }

static size_t bytes_of_one(const gpu_wire_batch *b)
{
    return lay_out(r1cs_shape_counts(b->circuit->shape), b->n).per_proof;
}

g16_ready gpu_batch_bring(gpu_wire_batch *b, const g16_batch *batch, size_t k, const run_ctx *rc)
{
    if (!batch->ready || is_here(b, k))
        return G16_READY;
    g16_ready there = batch->ready(batch->ctx, k);
    if (there != G16_READY)
        return there;
    if (check_witness(r1cs_shape_counts(b->circuit->shape), batch->w[k], k).code != CUZK_OK) {
        set_counts(&b->w[k], batch->w[k]);
        return G16_READY;
    }
    run_ctx how = *rc;
    if (bytes_of_one(b) <= ALONE_MAX)
        how.pool = NULL;
    return copy(b, batch, k, 1, &how).code == CUZK_OK ? G16_READY : G16_LATER;
}

void gpu_batch_bring_ahead(gpu_wire_batch *b, const g16_batch *batch, const run_ctx *rc)
{
    run_ctx quiet = *rc; /* this is called from where it yields */
    quiet.yield = NULL;
    if (!batch->ready || bytes_of_one(b) > ALONE_MAX)
        return;
    for (size_t k = 0; k < b->n; k++)
        if (!is_here(b, k) && gpu_batch_bring(b, batch, k, &quiet) == G16_READY)
            return;
}

void gpu_batch_clear(const gpu_batch_room *room)
{
    if (room->block)
        gpu_shared_clear(room->block, room->bytes);
}
