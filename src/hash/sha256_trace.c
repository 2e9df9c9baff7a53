/* One compression with every word the circuit allocates (FIPS 180-4, 6.2.2, in the circuit's
 * grouping of additions). The chain of A and E is serial; all else is a function of w, a and e
 * alone and is done in separate loops over arrays, which vectorise. */
#include <string.h>

#include "hash/sha256.h"
#include "hash/sha256_round.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
/* Not under the thread sanitizer: the resolver of the clones would run before its set-up. */
#define TRACE_CLONES __attribute__((target_clones("avx2", "default"), optimize("O3")))
#else
#define TRACE_CLONES
#endif

static void schedule(sha256_trace *t, const uint32_t block_words[16])
{
    memcpy(t->w, block_words, sizeof t->w[0] * 16);
    for (unsigned i = 0; i < 16; i++) {
        t->w_sum[i] = t->w[i];
        t->s0w[i] = t->s1w[i] = t->s0w_t[i] = t->s1w_t[i] = 0;
    }
    for (unsigned i = 16; i < 64; i++) {
        uint32_t x = t->w[i - 15], y = t->w[i - 2];
        uint32_t xt = sha256_rotr(x, 7) ^ sha256_rotr(x, 18);
        uint32_t yt = sha256_rotr(y, 17) ^ sha256_rotr(y, 19);
        uint32_t s0 = xt ^ (x >> 3), s1 = yt ^ (y >> 10);
        uint64_t sum = (uint64_t)t->w[i - 16] + s0 + t->w[i - 7] + s1;
        t->s0w_t[i] = xt;
        t->s1w_t[i] = yt;
        t->s0w[i] = s0;
        t->s1w[i] = s1;
        t->w_sum[i] = sum;
        t->w[i] = (uint32_t)sum;
    }
}

/* a and e of every round start, with the three earlier words in front: ext[i + 3] belongs to round
 * i. */
static void rounds(uint32_t a_ext[68], uint32_t e_ext[68], const uint32_t h_in[8],
                   const uint32_t w[64])
{
    for (unsigned i = 0; i < 4; i++) {
        a_ext[i] = h_in[3 - i];
        e_ext[i] = h_in[7 - i];
    }
    uint32_t a = h_in[0], b = h_in[1], c = h_in[2], d = h_in[3];
    uint32_t e = h_in[4], f = h_in[5], g = h_in[6], h = h_in[7];
    for (unsigned i = 0; i < 64; i++) {
        uint32_t s1 = sha256_rotr(e, 6) ^ sha256_rotr(e, 11) ^ sha256_rotr(e, 25);
        uint32_t s0 = sha256_rotr(a, 2) ^ sha256_rotr(a, 13) ^ sha256_rotr(a, 22);
        uint32_t t1 = h + SHA256_K[i] + w[i] + s1 + sha256_ch(e, f, g);
        uint32_t t2 = s0 + sha256_maj(a, b, c);
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
        if (i < 63) {
            a_ext[i + 4] = a;
            e_ext[i + 4] = e;
        }
    }
    a_ext[67] = a;
    e_ext[67] = e;
}

/* sums: e_next[i], a_next[i] are the full sums that round i hands to round i + 1. */
TRACE_CLONES static void derive(sha256_trace *restrict t, uint64_t *restrict e_next,
                                uint64_t *restrict a_next, const uint32_t *restrict a_ext,
                                const uint32_t *restrict e_ext)
{
    for (unsigned i = 0; i < 64; i++) {
        uint32_t e = e_ext[i + 3], f = e_ext[i + 2], g = e_ext[i + 1];
        uint32_t xt = sha256_rotr(e, 6) ^ sha256_rotr(e, 11);
        t->e[i] = e;
        t->S1_t[i] = xt;
        t->S1[i] = xt ^ sha256_rotr(e, 25);
        t->ch[i] = sha256_ch(e, f, g);
    }
    for (unsigned i = 0; i < 64; i++) {
        uint32_t a = a_ext[i + 3], b = a_ext[i + 2], c = a_ext[i + 1];
        uint32_t xt = sha256_rotr(a, 2) ^ sha256_rotr(a, 13);
        t->a[i] = a;
        t->S0_t[i] = xt;
        t->S0[i] = xt ^ sha256_rotr(a, 22);
        t->maj_bc[i] = b & c;
        t->maj[i] = sha256_maj(a, b, c);
    }
    for (unsigned i = 0; i < 64; i++) {
        uint64_t t1 = (uint64_t)e_ext[i] + t->S1[i] + t->ch[i] + SHA256_K[i] + t->w[i];
        e_next[i] = t1 + a_ext[i];
        a_next[i] = t1 + t->S0[i] + t->maj[i];
    }
}

void sha256_compress_trace(sha256_trace *t, const uint32_t h_in[8], const uint32_t block_words[16])
{
    uint32_t a_ext[68], e_ext[68];
    uint64_t e_next[64], a_next[64];
    schedule(t, block_words);
    rounds(a_ext, e_ext, h_in, t->w);
    derive(t, e_next, a_next, a_ext, e_ext);
    t->e_sum[0] = h_in[4];
    t->a_sum[0] = h_in[0];
    memcpy(t->e_sum + 1, e_next, sizeof e_next - sizeof e_next[0]);
    memcpy(t->a_sum + 1, a_next, sizeof a_next - sizeof a_next[0]);
    /* After round 63: b, c, d are A of rounds 63, 62, 61 and f, g, h are E of them. */
    t->out_sum[0] = a_next[63] + h_in[0];
    t->out_sum[4] = e_next[63] + h_in[4];
    for (unsigned k = 1; k < 4; k++) {
        t->out_sum[k] = (uint64_t)h_in[k] + t->a[64 - k];
        t->out_sum[4 + k] = (uint64_t)h_in[4 + k] + t->e[64 - k];
    }
    for (unsigned k = 0; k < 8; k++)
        t->out[k] = (uint32_t)t->out_sum[k];
}
