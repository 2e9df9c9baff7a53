/* The published key sets, sorted by name. */
#ifndef GROTH16_PUBLISHED_TABLE_H
#define GROTH16_PUBLISHED_TABLE_H
#include "groth16/key.h"
#include <assert.h>
#define G16_N_PUBLISHED 22u
extern const g16_published g16_published_table[G16_N_PUBLISHED];
#endif
