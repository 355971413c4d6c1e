/* Seeded random numbers: xoshiro256** (Blackman and Vigna, "Scrambled Linear Pseudorandom Number
 * Generators", 2018). As they recommend, splitmix64 initialises the state. The same seed gives the
 * same numbers on every machine. */
#include "base/base.h"

__extension__ typedef unsigned __int128 u128;

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

void fth_rng_init(struct fth_rng *rng, uint64_t seed)
{
    for (size_t i = 0; i < FTH_COUNT(rng->state); i++)
        rng->state[i] = splitmix64(&seed);
}

static inline uint64_t next(uint64_t s[4])
{
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t fth_rng_next(struct fth_rng *rng)
{
    return next(rng->state);
}

/* Returns a number whose remainder modulo `bound` is uniform. 2^64 is not a multiple of most
 * bounds, so without correction small results would be more likely. Numbers below `reject` = 2^64
 * mod bound are therefore drawn again. Because `reject` is less than the bound, it needs to be
 * computed only for numbers below the bound. */
static inline uint64_t next_below(uint64_t s[4], uint64_t bound)
{
    uint64_t number = next(s);
    if (number < bound)
        for (const uint64_t reject = -bound % bound; number < reject;)
            number = next(s);
    return number;
}

uint64_t fth_rng_below(struct fth_rng *rng, uint64_t bound)
{
    return next_below(rng->state, bound) % bound;
}

/* The division by `bound` takes most of the time of fth_rng_below. Here a multiplication by
 * 2^64 / bound, rounded down, gives the quotient or one less. */
void fth_rng_fill_below(struct fth_rng *rng, uint32_t bound, uint32_t *numbers, size_t count)
{
    const uint64_t inverse = UINT64_MAX / bound;
    uint64_t s[] = {rng->state[0], rng->state[1], rng->state[2], rng->state[3]};
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = next_below(s, bound);
        const uint64_t quotient = (uint64_t)((u128)number * inverse >> 64);
        const uint64_t rest = number - quotient * bound;
        numbers[i] = (uint32_t)(rest >= bound ? rest - bound : rest);
    }
    for (size_t i = 0; i < FTH_COUNT(s); i++)
        rng->state[i] = s[i];
}

double fth_rng_unit(struct fth_rng *rng)
{
    return (double)(fth_rng_next(rng) >> 11) * 0x1p-53;
}
