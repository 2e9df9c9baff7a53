/* The point functions that are compiled once per instruction set, as tables; private to src/ec. */
#ifndef EC_EC_OPS_H
#define EC_EC_OPS_H
#include "ec/g1.h"
#include "ec/g2.h"

/* Contracts: the functions of g1.h of the same name. */
typedef struct g1_ops {
    void (*jac_add)(g1_jac *o, const g1_jac *a, const g1_jac *b);
    void (*jac_add_aff)(g1_jac *o, const g1_jac *a, const g1_aff *b);
    void (*jac_dbl)(g1_jac *o, const g1_jac *a);
    void (*xyzz_add_aff)(g1_xyzz *o, const g1_xyzz *a, const g1_aff *b);
    void (*xyzz_add)(g1_xyzz *o, const g1_xyzz *a, const g1_xyzz *b);
    void (*xyzz_dbl)(g1_xyzz *o, const g1_xyzz *a);
    void (*jac_from_xyzz)(g1_jac *o, const g1_xyzz *a);
    void (*mul)(g1_jac *o, const g1_jac *a, const fr_int *k);
    void (*mul_ct)(g1_jac *o, const g1_jac *a, const fr_int *k);
    bool (*is_on_curve)(const g1_aff *a);    /* a not infinity */
    bool (*is_in_subgroup)(const g1_aff *a); /* a not infinity */
} g1_ops;

typedef struct g2_ops {
    void (*jac_add)(g2_jac *o, const g2_jac *a, const g2_jac *b);
    void (*jac_add_aff)(g2_jac *o, const g2_jac *a, const g2_aff *b);
    void (*jac_dbl)(g2_jac *o, const g2_jac *a);
    void (*xyzz_add_aff)(g2_xyzz *o, const g2_xyzz *a, const g2_aff *b);
    void (*xyzz_add)(g2_xyzz *o, const g2_xyzz *a, const g2_xyzz *b);
    void (*xyzz_dbl)(g2_xyzz *o, const g2_xyzz *a);
    void (*jac_from_xyzz)(g2_jac *o, const g2_xyzz *a);
    void (*mul)(g2_jac *o, const g2_jac *a, const fr_int *k);
    void (*mul_ct)(g2_jac *o, const g2_jac *a, const fr_int *k);
    bool (*is_on_curve)(const g2_aff *a);
    bool (*is_in_subgroup)(const g2_aff *a);
} g2_ops;

typedef struct ec_ops {
    g1_ops g1;
    g2_ops g2;
} ec_ops;

extern const ec_ops EC_OPS_PORTABLE, EC_OPS_ADX;
/* The table for the instruction set src/ff runs on; follows ff_force_isa. */
const ec_ops *ec_ops_active(void);
#endif
