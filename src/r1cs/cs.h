/* Building a constraint system: one gadget code, two modes.
 * Shape mode emits rows (values are ignored); witness mode emits values (rows are ignored). The
 * allocation order is the same by construction. Builder style: the first failure is kept, later
 * calls are harmless, cs_finish returns it. Threads: confined. */
#ifndef R1CS_CS_H
#define R1CS_CS_H
#include "r1cs/witness.h"

/* An allocated field element and, in witness mode, its value. */
typedef struct num {
    r1cs_var var;
    fr val;
} num;

typedef enum cs_side { CS_A = 0, CS_B = 1, CS_C = 2 } cs_side;
/* FAST lets SHA-256 and Poseidon write their values from native code; SLOW runs the gadgets (the
 * reference for FAST). */
typedef enum cs_mode { CS_SHAPE, CS_WITNESS_FAST, CS_WITNESS_SLOW } cs_mode;

struct cs_builder;
/* Members are private to r1cs; they are visible only so that witness allocation inlines. */
typedef struct cs {
    cs_mode mode;
    cuzk_status st;
    uint64_t n_aux, n_inputs, n_dense;
    witness *w;              /* witness modes */
    const r1cs_shape *shape; /* witness modes: limits, templates */
    struct cs_builder *b;    /* shape mode */
} cs;

/* Start a shape; name is copied. Release with cs_fini whether or not finished. Input(0) = ONE
 * exists from the start. */
CUZK_MUST_CHECK cuzk_status cs_init_shape(cs *c, const char *name);
/* Start filling w (initialised from the same shape). */
void cs_init_witness(cs *c, const r1cs_shape *shape, witness *w, cs_mode mode);
/* A stretch of a witness: aux [aux, aux + n_aux) and inputs [input, input + n_inputs). */
typedef struct cs_range {
    uint64_t aux, n_aux, input, n_inputs;
} cs_range;
/* One thread's share of a witness. Members are private to r1cs. Neighbours meet inside a word of
 * bits, so a part fills words of its own and adds them to the whole at its end. */
typedef struct cs_part {
    witness own, *whole;
    uint64_t first_word; /* of whole->bits */
} cs_part;
/* Start filling a stretch of w (initialised from the same shape, nothing written there yet). Parts
 * that do not overlap may be filled by several threads at once. Variable numbers that gadgets
 * return in a part mean nothing outside of it.
 * Memory:  n_aux / 8 bytes until cs_finish_witness_part, which must follow also when this fails.
 * Errors:  kept for cs_finish_witness_part: CUZK_E_INTERNAL (outside of w), CUZK_E_NOMEM. */
void cs_init_witness_part(cs *c, cs_part *part, const r1cs_shape *shape, witness *w, cs_mode mode,
                          const cs_range *range);
/* The stretch was filled exactly; it is part of w from here on. After a failure w is not to be
 * used. Errors: the first failure. */
CUZK_MUST_CHECK cuzk_status cs_finish_witness_part(cs *c, cs_part *part);
/* Shape mode: gives the immutable shape. Errors: the first failure of any call. */
CUZK_MUST_CHECK cuzk_status cs_finish_shape(cs *c, r1cs_shape **out);
/* Witness modes: every variable of the shape was assigned, and with the type the shape has. */
CUZK_MUST_CHECK cuzk_status cs_finish_witness(cs *c);
void cs_fini(cs *c);
/* Keep st as the failure unless one is kept already. */
void cs_set_failure(cs *c, cuzk_status st);

static inline bool cs_is_shape(const cs *c) { return c->mode == CS_SHAPE; }
static inline bool cs_is_fast(const cs *c) { return c->mode == CS_WITNESS_FAST; }

r1cs_var cs_shape_alloc(cs *c, bool dense, uint32_t tag);
void cs_witness_overrun(cs *c);

/* Allocate the next aux as a bit; no booleanity row (boolean.h adds it). tag: see
 * cs_alloc_bit_tagged. */
static inline r1cs_var cs_alloc_bit(cs *c, bool val)
{
    if (c->mode == CS_SHAPE)
        return cs_shape_alloc(c, false, UINT32_MAX);
    uint64_t j = c->n_aux++;
    if (j >= c->w->n_aux) {
        cs_witness_overrun(c);
        return 0;
    }
    c->w->bits[j >> 6] |= (uint64_t)val << (j & 63);
    return (r1cs_var)j;
}
/* The same inside a template with a native fast path: tag = (bit address in the native trace) << 1
 * | inverted. Templates keep the tags as runs (r1cs_template_runs), so that the fast path copies
 * bits instead of evaluating gadgets. */
static inline r1cs_var cs_alloc_bit_tagged(cs *c, bool val, uint32_t tag)
{
    return c->mode == CS_SHAPE ? cs_shape_alloc(c, false, tag) : cs_alloc_bit(c, val);
}
/* Allocate the next aux as a field element. */
static inline r1cs_var cs_alloc_num(cs *c, const fr *val)
{
    if (c->mode == CS_SHAPE)
        return cs_shape_alloc(c, true, UINT32_MAX);
    uint64_t j = c->n_aux++;
    if (j >= c->w->n_aux || c->n_dense >= c->w->n_dense) {
        cs_witness_overrun(c);
        return 0;
    }
    c->w->dense[c->n_dense++] = *val;
    return (r1cs_var)j;
}
/* Allocate the next input. */
r1cs_var cs_alloc_input(cs *c, const fr *val);

/* Add coeff * var to one side of the row under construction (terms of one variable merge); no-op in
 * witness modes. */
void cs_term(cs *c, cs_side side, const fr *coeff, r1cs_var var);
void cs_term_one(cs *c, cs_side side, r1cs_var var);   /* coefficient 1 */
void cs_term_minus(cs *c, cs_side side, r1cs_var var); /* coefficient -1 */
void cs_end_row(cs *c);

/* Namespace of the rows that follow, for messages only. */
void cs_ns_push(cs *c, const char *fmt, ...) CUZK_PRINTF(2, 3);
void cs_ns_pop(cs *c);

/* Run `body` as a template: recorded on first use of `key` (bytes that name everything that shapes
 * its rows besides the wires), replayed as an instance afterwards without running body. Wires: the
 * distinct outside variables body's rows may use (ONE and own aux need not be listed). body must
 * write its result variables to outs; on replay they are filled in here. Nested templates are
 * flattened.
 * In witness modes body just runs. body must allocate no inputs. */
typedef void cs_body_fn(cs *c, void *args);
typedef struct cs_template_call {
    const void *key;
    size_t key_len;
    const r1cs_var *wires;
    uint32_t n_wires;
    cs_body_fn *body;
    void *args;
    r1cs_var *outs;
    uint32_t n_outs;
} cs_template_call;
void cs_template(cs *c, const cs_template_call *call);

/* Fast path: copy `len` bits from bit address `bit` of the native trace, inverted or not. */
typedef struct r1cs_run {
    uint32_t bit;
    uint16_t len;
    uint16_t invert;
} r1cs_run;
typedef struct r1cs_template_runs {
    const r1cs_run *runs;
    uint32_t n_runs, n_aux;
    const uint32_t *outs; /* own-aux offsets of the outputs */
    uint32_t n_outs;
} r1cs_template_runs;
/* Runs of a recorded template by key; false when unknown or when some own aux has no tag. */
bool r1cs_shape_template_runs(const r1cs_shape *s, const void *key, size_t key_len,
                              r1cs_template_runs *out);
/* Witness modes: append a template's bits from the trace. */
void cs_write_runs(cs *c, const r1cs_template_runs *t, const void *trace);
/* Witness modes: append n bits (little-endian words) or n field elements. */
void cs_write_bits(cs *c, const uint64_t *words, uint32_t n);
void cs_write_nums(cs *c, const fr *vals, uint32_t n);
/* Witness modes: allocate n field elements for the caller to fill in place; NULL after an overrun, which is then the failure. */
fr *cs_take_nums(cs *c, uint32_t n);
#endif
