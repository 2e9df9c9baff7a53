/* Poseidon with portable field code. */
#define POSEIDON_FN(name) name##_portable
#include "hash/poseidon_template.h"
