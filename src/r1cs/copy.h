/* A shape in memory that the caller gives, such as memory shared between processes. */
#ifndef R1CS_COPY_H
#define R1CS_COPY_H
#include "r1cs/shape.h"

size_t r1cs_shape_copy_bytes(const r1cs_shape *s);
/* A copy of s in one block of that size at to, 64-byte aligned: valid wherever the block has this
 * address.
 * It proves, evaluates and explains rows as s does, but has no owner: never destroy it, release the
 * block. */
const r1cs_shape *r1cs_shape_copy(void *to, const r1cs_shape *s);
#endif
