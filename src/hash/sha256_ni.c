/* SHA-256 compression with the x86-64 SHA extensions, chosen at run time.
 * Source: Intel SDM volume 2, SHA256RNDS2, SHA256MSG1, SHA256MSG2: the state is kept as ABEF and
 * CDGH, each SHA256RNDS2 does two rounds, and four message words come from the previous sixteen. */
#include "hash/sha256.h"
#include "hash/sha256_int.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>

#define NI_TARGET __attribute__((target("sha,sse4.1,ssse3")))

bool sha256_has_ni(void)
{
    /* 0 unknown, 1 no, 2 yes; every thread computes the same value, so relaxed order is enough. */
    static atomic_int known;
    int v = atomic_load_explicit(&known, memory_order_relaxed);
    if (v == 0) {
        unsigned a, b, c, d;
        bool has = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_1) && (c & bit_SSSE3) &&
                   __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
        v = has ? 2 : 1;
        atomic_store_explicit(&known, v, memory_order_relaxed);
    }
    return v == 2;
}

/* Four rounds from message words m (K not yet added). */
NI_TARGET static inline void rounds4(__m128i *abef, __m128i *cdgh, __m128i m, unsigned i)
{
    __m128i wk = _mm_add_epi32(m, _mm_loadu_si128((const __m128i *)(const void *)&SHA256_K[i]));
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, wk);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(wk, 0x0e));
}

/* w[i..i+3] from the four vectors before it, oldest first. */
NI_TARGET static inline __m128i schedule4(__m128i m0, __m128i m1, __m128i m2, __m128i m3)
{
    __m128i t = _mm_add_epi32(_mm_sha256msg1_epu32(m0, m1), _mm_alignr_epi8(m3, m2, 4));
    return _mm_sha256msg2_epu32(t, m3);
}

NI_TARGET void sha256_compress_ni(uint32_t h[8], const uint8_t *blocks, size_t n_blocks)
{
    const __m128i be = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i *hv = (__m128i *)(void *)h;
    /* lanes high to low: c d a b */
    __m128i dcba = _mm_shuffle_epi32(_mm_loadu_si128(hv), 0xb1);
    __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(hv + 1), 0x1b); /* e f g h */
    __m128i abef = _mm_alignr_epi8(dcba, hgfe, 8);
    __m128i cdgh = _mm_blend_epi16(hgfe, dcba, 0xf0);

    for (size_t n = 0; n < n_blocks; n++, blocks += 64) {
        const __m128i *src = (const __m128i *)(const void *)blocks;
        const __m128i abef_in = abef, cdgh_in = cdgh;
        __m128i m0 = _mm_shuffle_epi8(_mm_loadu_si128(src), be);
        __m128i m1 = _mm_shuffle_epi8(_mm_loadu_si128(src + 1), be);
        __m128i m2 = _mm_shuffle_epi8(_mm_loadu_si128(src + 2), be);
        __m128i m3 = _mm_shuffle_epi8(_mm_loadu_si128(src + 3), be);
        for (unsigned i = 0; i < 48; i += 16) {
            rounds4(&abef, &cdgh, m0, i);
            m0 = schedule4(m0, m1, m2, m3);
            rounds4(&abef, &cdgh, m1, i + 4);
            m1 = schedule4(m1, m2, m3, m0);
            rounds4(&abef, &cdgh, m2, i + 8);
            m2 = schedule4(m2, m3, m0, m1);
            rounds4(&abef, &cdgh, m3, i + 12);
            m3 = schedule4(m3, m0, m1, m2);
        }
        rounds4(&abef, &cdgh, m0, 48);
        rounds4(&abef, &cdgh, m1, 52);
        rounds4(&abef, &cdgh, m2, 56);
        rounds4(&abef, &cdgh, m3, 60);
        abef = _mm_add_epi32(abef, abef_in);
        cdgh = _mm_add_epi32(cdgh, cdgh_in);
    }

    __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
    __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128(hv, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128(hv + 1, _mm_alignr_epi8(dchg, feba, 8));
}
#else
bool sha256_has_ni(void) { return false; }

void sha256_compress_ni(uint32_t h[8], const uint8_t *blocks, size_t n_blocks)
{
    sha256_compress_portable(h, blocks, n_blocks);
}
#endif
