/* What the store's tests share: a scratch folder, jobs made from a number, a random source. */
#ifndef STORE_TEST_H
#define STORE_TEST_H
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <time.h>
#include <cmocka.h>
#include "base/mem.h"
#include "engine/store_int.h"

static inline void assert_ok_(cuzk_status st, const char *file, int line)
{
    if (st.code != CUZK_OK) {
        print_error("%s:%d: %s: %s\n", file, line, cuzk_code_name(st.code), st.msg);
        _fail(file, line);
    }
}
#define assert_ok(st) assert_ok_((st), __FILE__, __LINE__)

static inline void assert_code_(cuzk_status st, cuzk_code code, const char *file, int line)
{
    if (st.code != code) {
        print_error("%s:%d: got %s (%s), want %s\n", file, line, cuzk_code_name(st.code), st.msg,
                    cuzk_code_name(code));
        _fail(file, line);
    }
}
#define assert_code(st, code) assert_code_((st), (code), __FILE__, __LINE__)

static inline uint64_t next_random(uint64_t *state)
{
    uint64_t x = (*state += 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t test_seed(void)
{
    const char *given = getenv("CUZK_TEST_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)now.tv_nsec;
    print_message("CUZK_TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

typedef struct scratch {
    char dir[256], db[300];
} scratch;

static inline void scratch_make(scratch *t)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(t->dir, sizeof t->dir, "%s/cuzk-store-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(t->dir));
    snprintf(t->db, sizeof t->db, "%s/jobs.db", t->dir);
}

static inline void scratch_remove(const scratch *t)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal", ".lock"};
    char name[340];
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        snprintf(name, sizeof name, "%s%s", t->db, suffixes[i]);
        unlink(name);
    }
    assert_int_equal(rmdir(t->dir), 0);
}

/* Whole file; *len 0 when it is not there. malloc'ed. */
static inline uint8_t *slurp(const char *name, size_t *len)
{
    *len = 0;
    struct stat info;
    FILE *f = fopen(name, "rb");
    uint8_t *p = malloc(f && fstat(fileno(f), &info) == 0 ? (size_t)info.st_size + 1 : 1);
    if (f && p)
        *len = fread(p, 1, (size_t)info.st_size, f);
    if (f)
        fclose(f);
    return p;
}

static inline void spill(const char *name, const uint8_t *p, size_t len)
{
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

/* Job number i: request id "req-<i>", digest and blob from i. */
static inline store_job make_job(uint64_t i)
{
    store_job j = {0};
    snprintf(j.view.request_id, sizeof j.view.request_id, "req-%llu", (unsigned long long)i);
    memset(j.digest, (int)(i * 7 + 1), sizeof j.digest);
    memcpy(j.digest, &i, sizeof i);
    j.view.kind = (proof_kind)(i % PROOF_N_KINDS);
    j.view.priority = (job_priority)(i % JOB_N_PRIORITIES);
    j.view.sector_size = 2048;
    j.view.sector_number = i;
    j.view.miner_id = UINT64_MAX - i;
    j.view.n_partitions = 1 + (uint32_t)(i % 10);
    snprintf(j.view.circuit_id, sizeof j.view.circuit_id, "porep-2k");
    j.view.created_unix_ms = 1000000 + i;
    j.view.deadline_unix_ms = i % 3 ? 0 : 2000000 + i;
    return j;
}

/* len bytes that do not compress. malloc'ed. */
static inline uint8_t *make_blob(uint64_t i, size_t len)
{
    uint8_t *p = malloc(len + 8);
    assert_non_null(p);
    uint64_t state = i;
    for (size_t k = 0; k < len; k += 8) {
        uint64_t x = next_random(&state);
        memcpy(p + k, &x, 8);
    }
    return p;
}

static inline void make_proof(uint8_t out[192], uint64_t i, uint32_t k)
{
    uint8_t *p = make_blob(i * 1000 + k, 192);
    memcpy(out, p, 192);
    free(p);
}

static inline cuzk_status submit_blob(store *s, store_job *j, uint64_t i, size_t len,
                                      bool *existing)
{
    uint8_t *blob = make_blob(i, len);
    cuzk_status st = s->ops->submit(s, j, blob, len, existing);
    free(blob);
    return st;
}

static inline store_job submit_new(store *s, uint64_t i)
{
    store_job j = make_job(i);
    bool existing = true;
    assert_ok(submit_blob(s, &j, i, 1000, &existing));
    assert_false(existing);
    return j;
}

static inline cuzk_status move_to(store *s, store_job *j, job_state to)
{
    j->view.state = to;
    return s->ops->move(s, &j->view);
}

static inline cuzk_status finish_job_of(store *s, store_job *j, uint64_t i)
{
    uint8_t proof[192];
    make_proof(proof, i, 99);
    return s->ops->finish(s, &j->view, proof, sizeof proof);
}
#endif
