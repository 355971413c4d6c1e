/* The digest of contents: 128 bits, made for speed.
 *
 * Contents are read in stripes of 64 bytes, which are four pairs of 64-bit words. Each pair has two
 * states of 64 bits. The first one adds the folded product of the two words, the second one is
 * linear in them:
 *
 *     folded = fold((first ^ constant) * (second ^ folded)) + folded
 *     linear = (rotate(linear, 27) ^ first) * prime + second
 *
 * fold() is the exclusive or of the two halves of a product of 128 bits. A folded product can be
 * the same for different pairs by accident, but then the linear state differs. Two contents that
 * differ in one pair only therefore have digests that are equal with a probability of 2^-128, as
 * others have. The four states of each kind are then combined by functions that can be reversed,
 * with the size of the contents, so contents that end with different numbers of zeros differ. */
#include "capsule/capsule.h"

#include <string.h>

enum { STRIPE_BYTES = 64, PAIRS = 4 };

__extension__ typedef unsigned __int128 u128;

/* The fractions of the square roots of the first eight primes, as in SHA-512, and an odd number:
 * the fraction of the golden ratio. */
static const uint64_t constants[2 * PAIRS] = {
    UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b), UINT64_C(0x3c6ef372fe94f82b),
    UINT64_C(0xa54ff53a5f1d36f1), UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
    UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179)};
#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

struct state {
    uint64_t folded[PAIRS], linear[PAIRS];
};

static FTH_INLINE uint64_t rotate(uint64_t number, unsigned bits)
{
    return number << bits | number >> (64 - bits);
}

static FTH_INLINE void add_stripe(struct state *state, const unsigned char *data)
{
    for (size_t i = 0; i < PAIRS; i++) {
        uint64_t words[2];
        memcpy(words, data + 16 * i, sizeof words);
        const u128 product = (u128)(words[0] ^ constants[i]) * (words[1] ^ state->folded[i]);
        state->folded[i] += (uint64_t)product ^ (uint64_t)(product >> 64);
        state->linear[i] = (rotate(state->linear[i], 27) ^ words[0]) * MULTIPLIER + words[1];
    }
}

/* Spreads each bit of a number over all of its bits; can be reversed. */
static uint64_t mix(uint64_t number)
{
    number = (number ^ number >> 32) * MULTIPLIER;
    number = (number ^ number >> 29) * MULTIPLIER;
    return number ^ number >> 32;
}

struct fth_digest fth_digest(const void *data, size_t size)
{
    const unsigned char *at = data;
    size_t left = size;
    struct state state;
    for (size_t i = 0; i < PAIRS; i++) {
        state.folded[i] = constants[PAIRS + i];
        state.linear[i] = constants[i];
    }
    for (; left >= STRIPE_BYTES; at += STRIPE_BYTES, left -= STRIPE_BYTES)
        add_stripe(&state, at);
    if (left > 0) {
        unsigned char last[STRIPE_BYTES] = {0};
        memcpy(last, at, left);
        add_stripe(&state, last);
    }
    struct fth_digest digest = {{size, ~(uint64_t)size}};
    for (size_t i = 0; i < PAIRS; i++) {
        digest.words[0] = mix(digest.words[0] ^ state.folded[i]);
        digest.words[1] = mix(digest.words[1] ^ state.linear[i]);
    }
    digest.words[0] = mix(digest.words[0] + digest.words[1]);
    digest.words[1] = mix(digest.words[1] + digest.words[0]);
    return digest;
}
