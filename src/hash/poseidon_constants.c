/* Builds and caches the Poseidon constants of each arity. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "hash/poseidon_int.h"

/* 2^40 in Montgomery form: 2^40 * 2^256 mod r. */
const fr POSEIDON_TAG_UPDATE = {
    {0x5094ebc8af6b1202u, 0x9ae3f86fa709a833u, 0xf5c24e473da414adu, 0x64a13769dc58603fu}};

/* r_p is what the published round number search gives at 128 bits with its 7.5 % margin. block_len
 * is near sqrt(2(t - 1)), where the reductions saved stop paying for the extra products; the
 * optimum is flat. */
static const struct {
    uint32_t arity, r_p, block_len;
} params[] = {
    {1, 55, 1},  {2, 55, 3},  {4, 56, 4},  {8, 57, 5},
    {11, 57, 5}, {16, 59, 6}, {24, 59, 6}, {36, 60, 8},
};

/* Everything of one arity in one block of memory: the constants, then n_fr elements. */
typedef struct entry {
    poseidon_constants c;
    poseidon_fast fast;
    fr *keys, *mds, *pre_sparse, *sparse, *partial, *pre_sparse_cols;
} entry;

/* Storage that only the build needs. */
typedef struct work {
    /* rk: (r_f + r_p) t; others up to t*t; scratch t*(t + 1) */
    fr *rk, *m_inv, *cur, *next, *m_hat, *scratch;
    fr w[POSEIDON_MAX_T], acc[POSEIDON_MAX_T], tmp[POSEIDON_MAX_T];
} work;

static size_t partial_len(uint32_t t, uint32_t r_p, uint32_t block_len)
{
    size_t n = 0;
    for (uint32_t r = 0; r < r_p; r++)
        n += t + r % block_len + (t - 1);
    return n;
}

static void build_mds(fr *m, uint32_t t)
{
    for (uint32_t i = 0; i < t; i++) {
        for (uint32_t j = 0; j < t; j++) {
            fr sum;
            fr_from_u64(&sum, (uint64_t)i + t + j);
            fr_inv(&m[i * t + j], &sum);
        }
    }
}

static void build_keys(entry *e, work *k)
{
    const uint32_t t = e->c.t, h = e->c.r_f / 2, r_p = e->c.r_p;
    fr *out = e->keys;
    memcpy(out, k->rk, t * sizeof *out);
    for (uint32_t i = 1; i < h; i++)
        poseidon_mat_row_mul(out + (size_t)i * t, k->rk + (size_t)i * t, k->m_inv, t);
    /* The partial rounds' constants are moved backwards through the matrix; only element 0's stays
     * behind. */
    fr *acc_out = out + (size_t)h * t, *scalars = acc_out + t;
    memcpy(k->acc, k->rk + (size_t)(h + r_p) * t, t * sizeof *k->acc);
    for (uint32_t i = 0; i < r_p; i++) {
        poseidon_mat_row_mul(k->tmp, k->acc, k->m_inv, t);
        scalars[r_p - 1 - i] = k->tmp[0];
        k->tmp[0] = FR_ZERO;
        for (uint32_t j = 0; j < t; j++)
            fr_add(&k->acc[j], &k->tmp[j], &k->rk[(size_t)(h + r_p - i - 1) * t + j]);
    }
    poseidon_mat_row_mul(acc_out, k->acc, k->m_inv, t);
    for (uint32_t i = 1; i < h; i++)
        poseidon_mat_row_mul(scalars + r_p + (size_t)(i - 1) * t, k->rk + (size_t)(h + r_p + i) * t,
                             k->m_inv, t);
}

/* next = mds * m', where m' is the identity with m_hat as its lower right block. */
static void times_m_prime(fr *next, const fr *mds, const fr *m_hat, size_t t)
{
    const size_t n = t - 1;
    for (size_t i = 0; i < t; i++) {
        next[i * t] = mds[i * t];
        poseidon_mat_row_mul(next + i * t + 1, mds + i * t + 1, m_hat, n);
    }
}

static bool build_sparse(entry *e, work *k)
{
    const size_t t = e->c.t, n = t - 1, r_p = e->c.r_p;
    memcpy(k->cur, e->mds, t * t * sizeof(fr));
    for (size_t r = r_p; r-- > 0;) {
        fr *w_hat = e->sparse + r * (2 * t - 1), *v_rest = w_hat + t;
        for (size_t i = 0; i < n; i++) {
            k->w[i] = k->cur[(i + 1) * t];
            v_rest[i] = k->cur[i + 1];
            memcpy(k->m_hat + i * n, k->cur + (i + 1) * t + 1, n * sizeof(fr));
        }
        w_hat[0] = k->cur[0];
        if (!poseidon_mat_solve_left(w_hat + 1, k->m_hat, k->w, n, k->scratch))
            return false;
        times_m_prime(k->next, e->mds, k->m_hat, t);
        fr *old = k->cur;
        k->cur = k->next;
        k->next = old;
    }
    memcpy(e->pre_sparse, k->cur, t * t * sizeof(fr));
    for (size_t i = 0; i < t; i++)
        for (size_t j = 0; j < t; j++)
            e->pre_sparse_cols[j * t + i] = e->pre_sparse[i * t + j];
    return true;
}

static void build_partial(entry *e)
{
    const size_t t = e->c.t, stride = 2 * t - 1, r_p = e->c.r_p, block_len = e->fast.block_len;
    fr *out = e->partial;
    for (size_t r0 = 0; r0 < r_p; r0 += block_len) {
        const size_t len = r_p - r0 < block_len ? r_p - r0 : block_len;
        const fr *block = e->sparse + r0 * stride;
        for (size_t q = 0; q < len; q++) {
            const fr *w = block + q * stride;
            memcpy(out, w + 1, (t - 1) * sizeof *out);
            out += t - 1;
            for (size_t i = 0; i < q; i++, out++)
                poseidon_dot_portable(out, w + 1, block + i * stride + t, t - 1);
            *out++ = w[0];
        }
        for (size_t j = 0; j < t - 1; j++)
            for (size_t i = 0; i < len; i++)
                *out++ = block[i * stride + t + j];
    }
}

static bool build(entry *e)
{
    const size_t t = e->c.t, n_rk = (size_t)(e->c.r_f + e->c.r_p) * t;
    fr *p = mem_alloc((n_rk + 4 * t * t + t * (t + 1)) * sizeof *p, 64);
    if (!p)
        return false;
    work k = {.rk = p, .m_inv = p + n_rk, .cur = p + n_rk + t * t};
    k.next = k.cur + t * t;
    k.m_hat = k.next + t * t;
    k.scratch = k.m_hat + t * t;
    poseidon_round_constants(k.rk, e->c.t, e->c.r_f, e->c.r_p);
    build_mds(e->mds, e->c.t);
    bool ok = poseidon_mat_inv(k.m_inv, e->mds, t, k.scratch);
    if (ok) {
        build_keys(e, &k);
        ok = build_sparse(e, &k);
    }
    if (ok)
        build_partial(e);
    mem_free(p);
    return ok;
}

static entry *entry_create(size_t row)
{
    const uint32_t t = params[row].arity + 1, r_p = params[row].r_p;
    const size_t n_keys = (size_t)t * POSEIDON_FULL_ROUNDS + r_p,
                 n_sparse = (size_t)r_p * (2 * t - 1);
    const size_t n_partial = partial_len(t, r_p, params[row].block_len), n_mat = (size_t)t * t;
    const size_t head = (sizeof(entry) + 63) / 64 * 64;
    entry *e = mem_alloc(head + (n_keys + 3 * n_mat + n_sparse + n_partial) * sizeof(fr), 64);
    if (!e)
        return NULL;
    fr *p = (fr *)(void *)((uint8_t *)e + head);
    *e = (entry){.keys = p,
                 .mds = p + n_keys,
                 .pre_sparse = p + n_keys + n_mat,
                 .pre_sparse_cols = p + n_keys + 2 * n_mat,
                 .sparse = p + n_keys + 3 * n_mat,
                 .partial = p + n_keys + 3 * n_mat + n_sparse};
    e->c = (poseidon_constants){.arity = params[row].arity,
                                .t = t,
                                .r_f = POSEIDON_FULL_ROUNDS,
                                .r_p = r_p,
                                .n_keys = (uint32_t)n_keys,
                                .compressed_keys = e->keys,
                                .mds = e->mds,
                                .pre_sparse = e->pre_sparse,
                                .sparse = e->sparse,
                                .fast = &e->fast};
    fr_from_u64(&e->c.tag_merkle, ((uint64_t)1 << params[row].arity) - 1);
    /* The Cauchy matrix is symmetric, so its rows are its columns. */
    e->fast = (poseidon_fast){.block_len = params[row].block_len,
                              .partial = e->partial,
                              .mds_cols = e->mds,
                              .pre_sparse_cols = e->pre_sparse_cols};
    if (!build(e)) {
        mem_free(e);
        return NULL;
    }
    return e;
}

const poseidon_constants *poseidon_constants_get(uint32_t arity)
{
    static _Atomic(entry *) cache[ARRAY_LEN(params)];
    /* guards the building of cache entries */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    size_t row = 0;
    while (row < ARRAY_LEN(params) && params[row].arity != arity)
        row++;
    if (row == ARRAY_LEN(params))
        return NULL;
    /* pairs with the release below */
    entry *e = atomic_load_explicit(&cache[row], memory_order_acquire);
    if (!e) {
        pthread_mutex_lock(&lock);
        e = atomic_load_explicit(&cache[row], memory_order_relaxed);
        if (!e) {
            e = entry_create(row);
            atomic_store_explicit(&cache[row], e, memory_order_release);
        }
        pthread_mutex_unlock(&lock);
    }
    return e ? &e->c : NULL;
}
