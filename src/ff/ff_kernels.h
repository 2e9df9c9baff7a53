/* The functions of src/ff that exist once per instruction set; private to this folder. */
#ifndef FF_KERNELS_H
#define FF_KERNELS_H
#include "ff/fp2.h"
#include "ff/fr.h"

typedef struct ff_kernels {
    const char *name;
    void (*fr_mul)(fr *o, const fr *a, const fr *b);
    void (*fr_sqr)(fr *o, const fr *a);
    void (*fr_vec_mul)(fr *o, const fr *a, const fr *b, size_t n);
    void (*fr_vec_to_int)(fr_int *o, const fr *a, size_t n);
    void (*fp_mul)(fp *o, const fp *a, const fp *b);
    void (*fp_sqr)(fp *o, const fp *a);
    void (*fp_sqr_n)(fp *o, const fp *a, size_t n); /* a^(2^n) */
    void (*fp2_mul)(fp2 *o, const fp2 *a, const fp2 *b);
    void (*fp2_sqr)(fp2 *o, const fp2 *a);
} ff_kernels;

extern const ff_kernels ff_kernels_portable, ff_kernels_adx;

/* The set in use. Written by the constructor in ff_isa.c before main, and by ff_force_isa. */
extern const ff_kernels *ff_active;
#endif
