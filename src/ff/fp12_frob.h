/* Frobenius constants, private to this folder. */
#ifndef FF_FP12_FROB_H
#define FF_FP12_FROB_H
#include "ff/fp2.h"
/* [k - 1][i - 1] = (1 + u)^(i (p^k - 1)/6), Montgomery form. */
extern const fp2 fp12_frob_table[3][5];
#endif
