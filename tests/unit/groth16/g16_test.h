/* Shared by the groth16 tests: golden files, and shape + witness + key of a circuit held
 * together. */
#ifndef TESTS_G16_TEST_H
#define TESTS_G16_TEST_H
#include "unit/hash/golden_scan.h"

#include "base/mem.h"
#include "groth16/backend.h"
#include "groth16/groth16_int.h"

static inline void assert_ok(cuzk_status st)
{
    if (st.code != CUZK_OK)
        fail_msg("%s: %s", cuzk_code_name(st.code), st.msg);
}

/* A refusal whose message holds `want`. */
static inline void assert_refused(cuzk_status st, cuzk_code code, const char *want)
{
    if (st.code != code || (want && !strstr(st.msg, want)))
        fail_msg("expected %s with \"%s\", got %s: %s", cuzk_code_name(code), want ? want : "",
                 cuzk_code_name(st.code), st.msg);
}

/* A whole file under tests/golden; release with free. */
static inline uint8_t *golden_file(const char *name, size_t *len)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", CUZK_GOLDEN_DIR, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *len = (size_t)ftell(f);
    rewind(f);
    uint8_t *b = malloc(*len + 1);
    assert_non_null(b);
    assert_int_equal(fread(b, 1, *len, f), *len);
    fclose(f);
    return b;
}

typedef struct byte_sink {
    uint8_t *b;
    size_t len, cap;
} byte_sink;

static inline cuzk_status sink_write(void *ctx, const void *p, size_t n)
{
    byte_sink *s = ctx;
    if (n > s->cap - s->len)
        return cuzk_fail(CUZK_E_INTERNAL, "set-up wrote more than g16_params_bytes");
    memcpy(s->b + s->len, p, n);
    s->len += n;
    return cuzk_ok();
}

/* Set-up into memory; release b with free. */
static inline cuzk_status setup_bytes(byte_sink *s, const r1cs_shape *shape, const g16_toxic *t,
                                      const run_ctx *rc)
{
    s->len = 0;
    s->cap = g16_params_bytes(shape);
    s->b = malloc(s->cap + 1);
    assert_non_null(s->b);
    return g16_setup_stream(shape, t, (g16_sink){s, sink_write}, rc);
}

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t next_u64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline void next_fr(fr *o, uint64_t *state)
{
    fr_int v;
    for (int i = 0; i < 4; i++)
        v.l[i] = next_u64(state);
    fr_from_int(o, &v);
}
#endif
