/* Rows of the circuit table. A new circuit is one file here and one row. */
#ifndef CIRCUIT_CIRCUIT_INT_H
#define CIRCUIT_CIRCUIT_INT_H
#include "circuit/circuit.h"

typedef struct circuit_row circuit_row;
typedef cuzk_status circuit_build_fn(r1cs_shape **out, const circuit_row *row);
struct circuit_row {
    circuit_info info;
    circuit_build_fn *build;
    uint32_t arg[4];
};
extern const circuit_row circuit_gadget_rows[];
extern const size_t circuit_n_gadget_rows;
#endif
