/* Shape-mode state of the builder. */
#ifndef R1CS_CS_INT_H
#define R1CS_CS_INT_H
#include "r1cs/shape_int.h"

typedef struct pending_term {
    r1cs_var var;
    fr coeff;
} pending_term;

/* A template being recorded: rows hold global ids until the end. */
typedef struct recording {
    bool active;
    uint64_t aux_base;
    row_store rows;
    vec tags;  /* uint32_t per own aux */
    vec dense; /* uint32_t own-aux offsets */
    vec marks; /* ns_mark, rows relative */
} recording;

typedef struct cs_builder {
    r1cs_shape *shape;
    vec side[3]; /* pending_term: the row under construction */
    uint64_t n_rows;
    uint32_t *dict; /* hash table of coefficient index + 1 */
    size_t dict_cap;
    recording rec;
    uint32_t ns; /* current namespace node */
    uint32_t last_mark_ns;
} cs_builder;

void cs_builder_destroy(cs_builder *b);
void cs_shape_check_input(cs *c);
/* Index of a coefficient in the dictionary, added when new; UINT32_MAX after out-of-memory. */
uint32_t cs_coeff(cs *c, const fr *coeff);
/* The current namespace holds from `row` on. */
void cs_mark(cs *c, vec *marks, uint64_t row, uint32_t *last);
bool cs_oom(cs *c);
void r1cs_templates_fini(vec *v);
#endif
