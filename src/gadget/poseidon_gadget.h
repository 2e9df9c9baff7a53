/* Poseidon as a circuit: the legacy neptune form (circuits.md C.7). */
#ifndef GADGET_POSEIDON_GADGET_H
#define GADGET_POSEIDON_GADGET_H
#include "gadget/num.h"
#include "hash/poseidon.h"

/* Hash of arity nums with the given domain tag; a template per (arity, tag). */
num poseidon_gadget(cs *c, uint32_t arity, const fr *tag, const num *in);
/* MerkleTree tag. */
num poseidon_gadget_merkle(cs *c, uint32_t arity, const num *in);
#endif
