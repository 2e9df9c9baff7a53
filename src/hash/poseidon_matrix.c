/* Dense linear algebra over Fr, for matrices of at most 37 rows. */
#include <string.h>

#include "hash/poseidon_int.h"

/* Gauss-Jordan on the n rows of m (n columns) and rhs (n_rhs columns); rhs becomes m^-1 rhs. */
static bool solve(fr *m, fr *rhs, size_t n, size_t n_rhs)
{
    for (size_t c = 0; c < n; c++) {
        size_t p = c;
        while (p < n && fr_is_zero(&m[p * n + c]))
            p++;
        if (p == n)
            return false;
        for (size_t k = 0; p != c && k < n + n_rhs; k++) {
            fr *a = k < n ? &m[p * n + k] : &rhs[p * n_rhs + k - n];
            fr *b = k < n ? &m[c * n + k] : &rhs[c * n_rhs + k - n];
            fr tmp = *a;
            *a = *b;
            *b = tmp;
        }
        fr inv, prod;
        fr_inv(&inv, &m[c * n + c]);
        for (size_t k = c; k < n; k++)
            fr_mul(&m[c * n + k], &m[c * n + k], &inv);
        for (size_t k = 0; k < n_rhs; k++)
            fr_mul(&rhs[c * n_rhs + k], &rhs[c * n_rhs + k], &inv);
        for (size_t i = 0; i < n; i++) {
            if (i == c)
                continue;
            const fr f = m[i * n + c];
            for (size_t k = c; k < n; k++) {
                fr_mul(&prod, &f, &m[c * n + k]);
                fr_sub(&m[i * n + k], &m[i * n + k], &prod);
            }
            for (size_t k = 0; k < n_rhs; k++) {
                fr_mul(&prod, &f, &rhs[c * n_rhs + k]);
                fr_sub(&rhs[i * n_rhs + k], &rhs[i * n_rhs + k], &prod);
            }
        }
    }
    return true;
}

bool poseidon_mat_inv(fr *inv, const fr *m, size_t n, fr *scratch)
{
    memcpy(scratch, m, n * n * sizeof *m);
    for (size_t i = 0; i < n * n; i++)
        inv[i] = i % (n + 1) == 0 ? FR_ONE : FR_ZERO;
    return solve(scratch, inv, n, n);
}

bool poseidon_mat_solve_left(fr *x, const fr *m, const fr *y, size_t n, fr *scratch)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            scratch[j * n + i] = m[i * n + j];
    memcpy(x, y, n * sizeof *y);
    return solve(scratch, x, n, 1);
}

void poseidon_mat_row_mul(fr *o, const fr *v, const fr *m, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        fr sum = FR_ZERO, prod;
        for (size_t i = 0; i < n; i++) {
            fr_mul(&prod, &v[i], &m[i * n + j]);
            fr_add(&sum, &sum, &prod);
        }
        o[j] = sum;
    }
}
