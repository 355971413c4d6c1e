/* Tests of small complete programs: random numbers, SHA-256, the Game of Life, searches. */
#include "kernel_helpers.h"

#include <math.h>

void kernel_rng(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 70, STEPS = 30 };
    const uint64_t seed = 0x0123456789abcdef;
    load_kernel(k, "programs/rng", "rng");
    ADD_ARGUMENT(k, int32_t, COUNT);
    ADD_ARGUMENT(k, int32_t, STEPS);
    ADD_ARGUMENT(k, uint64_t, seed);
    float *units = add_buffer(k, COUNT * sizeof *units), want_units[COUNT];
    uint64_t *words = add_buffer(k, COUNT * sizeof *words), want[COUNT];
    launch(k, 3, 32);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t linear = (uint32_t)seed + i;
        uint64_t shift = seed ^ ((uint64_t)i + 1) * 0x9e3779b97f4a7c15;
        want_units[i] = 0;
        for (int j = 0; j < STEPS; j++) {
            linear = 1664525u * linear + 1013904223u;
            shift ^= shift >> 12;
            shift ^= shift << 25;
            shift ^= shift >> 27;
            want_units[i] = fmaf((float)(linear >> 8), 0x1p-24f, want_units[i]);
        }
        want[i] = shift * 2685821657736338717u;
    }
    check_f32("units", units, want_units, COUNT, 0);
    CHECK_INTEGERS("words", words, want, COUNT);
}

/* The Mersenne twister MT19937 of Matsumoto and Nishimura, one word at a time. */
static void mersenne(uint32_t seed, uint32_t *out)
{
    uint32_t state[624] = {seed};
    for (uint32_t i = 1; i < 624; i++)
        state[i] = 1812433253u * (state[i - 1] ^ state[i - 1] >> 30) + i;
    for (int i = 0; i < 624; i++) {
        uint32_t y = (state[i] & 0x80000000u) | (state[(i + 1) % 624] & 0x7fffffffu);
        state[i] = state[(i + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    for (int i = 0; i < 624; i++) {
        uint32_t y = state[i];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680u;
        y ^= y << 15 & 0xefc60000u;
        out[i] = y ^ y >> 18;
    }
}

void kernel_mersenne(void **state)
{
    struct kernel *k = *state;
    enum { BLOCKS = 2, SEED = 5489 };
    load_kernel(k, "programs/rng", "mersenne");
    ADD_ARGUMENT(k, uint32_t, SEED);
    uint32_t *out = add_buffer(k, BLOCKS * 624 * sizeof *out), want[BLOCKS * 624];
    launch(k, BLOCKS, 96);
    for (uint32_t i = 0; i < BLOCKS; i++)
        mersenne(SEED + i, want + 624 * i);
    assert_int_equal(want[0], 3499211612u); /* first output of the reference implementation */
    CHECK_INTEGERS("out", out, want, BLOCKS * 624);
}

static uint32_t rotate_right(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

/* SHA-256 of one 64-byte block: FIPS 180-4, section 6.2, with the message schedule computed in
 * advance. The round constants are the fractional parts of the cube roots of the first 64 primes; a
 * double is precise enough to compute them. */
static void sha256(const uint8_t *in, uint32_t *out)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)in[4 * i] << 24 | (uint32_t)in[4 * i + 1] << 16 |
               (uint32_t)in[4 * i + 2] << 8 | in[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] +
               (rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3) +
               w[i - 7] +
               (rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(s, start, sizeof s);
    for (int i = 0, prime = 2; i < 64; prime++) {
        bool is_prime = true;
        for (int j = 2; j * j <= prime; j++)
            is_prime = is_prime && prime % j != 0;
        if (!is_prime)
            continue;
        double root = cbrt(prime);
        uint32_t constant = (uint32_t)((root - floor(root)) * 0x1p32);
        uint32_t t1 = s[7] +
                      (rotate_right(s[4], 6) ^ rotate_right(s[4], 11) ^ rotate_right(s[4], 25)) +
                      ((s[4] & s[5]) ^ (~s[4] & s[6])) + constant + w[i++];
        uint32_t t2 = (rotate_right(s[0], 2) ^ rotate_right(s[0], 13) ^ rotate_right(s[0], 22)) +
                      ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        out[i] = start[i] + s[i];
}

void kernel_sha256(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 35 };
    /* The digest of "abc", from FIPS 180-2, B.1. */
    static const uint32_t digest[8] = {0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
                                       0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad};
    static const uint8_t message[4] = {'a', 'b', 'c', 0x80};
    load_kernel(k, "programs/sha256", "sha256");
    ADD_ARGUMENT(k, int32_t, COUNT);
    uint8_t *in = add_buffer(k, 64 * COUNT);
    uint32_t *out = add_buffer(k, 8 * COUNT * sizeof *out), want[8 * COUNT];
    fill_bytes(k, in, 64 * COUNT);
    memset(in, 0, 64);
    memcpy(in, message, sizeof message);
    in[63] = 24;
    launch(k, 2, 32);
    for (int i = 0; i < COUNT; i++)
        sha256(in + 64 * i, want + 8 * i);
    CHECK_INTEGERS("out", out, digest, 8);
    CHECK_INTEGERS("out", out, want, 8 * COUNT);
}

void kernel_life(void **state)
{
    struct kernel *k = *state;
    enum { WIDTH = 21, HEIGHT = 14 };
    load_kernel(k, "programs/life", "life");
    ADD_ARGUMENT(k, uint32_t, WIDTH);
    ADD_ARGUMENT(k, uint32_t, HEIGHT);
    uint8_t *in = add_buffer(k, WIDTH * HEIGHT), *out = add_buffer(k, WIDTH * HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        in[i] = fth_rng_below(&k->rng, 3) == 0;
    launch_3d(k, (uint32_t[3]){3, 4, 1}, (uint32_t[3]){8, 4, 1}, 0);
    uint8_t want[WIDTH * HEIGHT];
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        int count = -in[i];
        for (int d = 0; d < 9; d++)
            count += in[(i / WIDTH + HEIGHT + d / 3 - 1) % HEIGHT * WIDTH +
                        (i % WIDTH + WIDTH + d % 3 - 1) % WIDTH];
        want[i] = count == 3 || (count == 2 && in[i]);
    }
    CHECK_INTEGERS("out", out, want, WIDTH * HEIGHT);
}

void kernel_string_search(void **state)
{
    struct kernel *k = *state;
    static const char text[] = "the cat sat on the mat, that fat rat; a hat is not a bat nor a ha";
    static const char word[] = "?at";
    enum { SIZE = sizeof text - 1 };
    load_kernel(k, "programs/search", "string_search");
    ADD_ARGUMENT(k, int32_t, SIZE);
    memcpy(add_buffer(k, SIZE), text, SIZE);
    memcpy(add_buffer(k, sizeof word), word, sizeof word);
    uint8_t *found = add_buffer(k, SIZE), want[SIZE] = {0};
    int32_t *first = add_buffer(k, sizeof *first), want_first = INT32_MAX;
    *first = INT32_MAX;
    launch(k, 2, 48);
    for (int i = SIZE - 3; i >= 0; i--) {
        want[i] = text[i + 1] == 'a' && text[i + 2] == 't';
        want_first = want[i] ? i : want_first;
    }
    CHECK_INTEGERS("found", found, want, SIZE);
    assert_int_equal(*first, want_first);
}

void kernel_lower_bound(void **state)
{
    struct kernel *k = *state;
    enum { COUNT = 80, SIZE = 123 };
    load_kernel(k, "programs/search", "lower_bound");
    ADD_ARGUMENT(k, int32_t, COUNT);
    ADD_ARGUMENT(k, int32_t, SIZE);
    int16_t *sorted = add_buffer(k, SIZE * sizeof *sorted);
    int16_t *keys = add_buffer(k, COUNT * sizeof *keys);
    int32_t *out = add_buffer(k, COUNT * sizeof *out), want[COUNT];
    for (int i = 0; i < SIZE; i++)
        sorted[i] = (int16_t)(500 * (i / 2) - 30000);
    fill_bytes(k, keys, COUNT * sizeof *keys);
    for (int i = 0; i < COUNT; i += 4)
        keys[i] = sorted[i % SIZE];
    launch(k, 2, 64);
    for (int i = 0; i < COUNT; i++) {
        want[i] = 0;
        while (want[i] < SIZE && sorted[want[i]] < keys[i])
            want[i]++;
    }
    CHECK_INTEGERS("out", out, want, COUNT);
}
