/* Rows of `cuzk bench`, filled by cmd_bench.c (CPU, proofs), bench_spmv.c and bench_device.c. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H
#include "cli/cli.h"

#define MAX_SAMPLES 64
#define MAX_ROWS 64

typedef struct bench_row {
    char name[48];
    uint64_t n;
    const char *unit;
    double samples[MAX_SAMPLES];
    uint32_t n_samples;
} bench_row;

typedef struct bench_args {
    const char *what, *lg, *samples, *c1, *circuit, *params, *device;
    bool dev_key, plain_key;
    cli_common common;
    cli_input input;
} bench_args;

typedef struct bench {
    cli_env env;
    bench_args a;
    cli_device device;
    uint32_t n_samples, lg_lo, lg_hi;
    bench_row *rows;
    size_t n_rows;
    char circuit[64]; /* spmv, prove: what was measured */
} bench;

bench_row *bench_add_row(bench *b, const char *name, uint64_t n, const char *unit);
/* Reproducible inputs (splitmix64); nothing secret is benched. */
uint64_t bench_next_rand(uint64_t *state);
void bench_fill_fr(fr *a, size_t n, uint64_t seed);
/* On b->device. */
CUZK_MUST_CHECK cuzk_status bench_spmv(bench *b);
/* ntt and msm on b->device, a CUDA one. */
CUZK_MUST_CHECK cuzk_status bench_device_ntt(bench *b);
CUZK_MUST_CHECK cuzk_status bench_device_msm(bench *b);
#endif
