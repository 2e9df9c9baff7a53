/* Round constants from the Grain LFSR in self-shrinking mode (Poseidon paper, appendix E). */
#include <string.h>

#include "hash/poseidon_int.h"

typedef struct grain {
    uint8_t bit[80]; /* ring; bit[pos] is the oldest */
    unsigned pos;
} grain;

static unsigned grain_step(grain *g)
{
    static const uint8_t taps[6] = {62, 51, 38, 23, 13, 0};
    unsigned b = 0;
    for (unsigned i = 0; i < 6; i++) {
        unsigned at = g->pos + taps[i];
        b ^= g->bit[at < 80 ? at : at - 80];
    }
    g->bit[g->pos] = (uint8_t)b;
    g->pos = g->pos == 79 ? 0 : g->pos + 1;
    return b;
}

static void put_field(grain *g, unsigned *at, uint32_t value, unsigned n_bits)
{
    for (unsigned i = n_bits; i-- > 0;)
        g->bit[(*at)++] = (value >> i) & 1;
}

static void grain_init(grain *g, uint32_t t, uint32_t r_f, uint32_t r_p)
{
    unsigned at = 0;
    g->pos = 0;
    put_field(g, &at, 1, 2); /* prime field */
    put_field(g, &at, 1, 4); /* s-box code used by the published constants */
    put_field(g, &at, FR_BITS, 12);
    put_field(g, &at, t, 12);
    put_field(g, &at, r_f, 10);
    put_field(g, &at, r_p, 10);
    put_field(g, &at, 0x3fffffff, 30);
    for (unsigned i = 0; i < 160; i++)
        grain_step(g);
}

static unsigned grain_bit(grain *g)
{
    for (;;) {
        unsigned u = grain_step(g), v = grain_step(g);
        if (u)
            return v;
    }
}

void poseidon_round_constants(fr *rk, uint32_t t, uint32_t r_f, uint32_t r_p)
{
    grain g;
    grain_init(&g, t, r_f, r_p);
    for (size_t i = 0; i < (size_t)(r_f + r_p) * t;) {
        uint8_t le[32] = {0};
        for (unsigned b = FR_BITS; b-- > 0;)
            le[b / 8] |= (uint8_t)(grain_bit(&g) << (b % 8));
        if (fr_from_le(&rk[i], le))
            i++;
    }
}
