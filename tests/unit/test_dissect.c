/* Hashes over GF(2), mappings from evictions, and what is shown of a series. */
#include "check.h"
#include "probe/structure.h"

#include <stdlib.h>

/* ---- gf2 ---- */

static void spaces(void **state)
{
    (void)state;
    struct fth_gf2 space = {0}, orthogonal, back;
    assert_true(fth_gf2_add(&space, 0x5));
    assert_true(fth_gf2_add(&space, 0xa));
    assert_false(fth_gf2_add(&space, 0xf));
    assert_false(fth_gf2_add(&space, 0));
    assert_int_equal(fth_gf2_rank(&space), 2);
    assert_int_equal(fth_gf2_reduce(&space, 0xf), 0);
    assert_int_equal(fth_gf2_reduce(&space, 0x7), fth_gf2_reduce(&space, 0x2));
    assert_true(fth_gf2_reduce(&space, 0x1) != 0);
    /* Those with as many ones among the bits 0 and 2, and 1 and 3: the space is its own. */
    fth_gf2_orthogonal(&space, 4, &orthogonal);
    assert_true(fth_gf2_equal(&space, &orthogonal));
    /* Of more bits: and the ones that it says nothing of. */
    fth_gf2_orthogonal(&space, 6, &orthogonal);
    assert_int_equal(fth_gf2_rank(&orthogonal), 4);
    fth_gf2_orthogonal(&orthogonal, 6, &back);
    assert_true(fth_gf2_equal(&space, &back));
}

/* Every pair of spaces, by a naive count of the vectors that are orthogonal. */
static void orthogonal_naively(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 7);
    for (int round = 0; round < 200; round++) {
        struct fth_gf2 space = {0}, orthogonal;
        uint64_t vectors[5];
        for (int i = 0; i < 5; i++)
            fth_gf2_add(&space, vectors[i] = fth_rng_below(&rng, 256));
        fth_gf2_orthogonal(&space, 8, &orthogonal);
        for (uint64_t vector = 0; vector < 256; vector++) {
            bool is = true;
            for (int i = 0; i < 5; i++)
                is = is && __builtin_popcountll(vector & vectors[i]) % 2 == 0;
            assert_int_equal(fth_gf2_reduce(&orthogonal, vector) == 0, is);
        }
    }
}

/* ---- mappings ---- */

typedef uint64_t mapping_function(uint64_t line);

static uint64_t modulo_12(uint64_t line)
{
    return line % 12;
}
static uint64_t shifted(uint64_t line)
{
    return (line >> 2) % 6;
}
static uint64_t two_bits(uint64_t line)
{
    return line >> 2 & 3;
}
static uint64_t folded(uint64_t line)
{
    return (line ^ line >> 3 ^ line >> 6 ^ line >> 9 ^ line >> 12) & 7;
}
static uint64_t folded_12(uint64_t line)
{
    return ((line ^ line >> 4 ^ line >> 8 ^ line >> 12) & 15) % 12;
}
/* The hash of an H200's L1, as far as line bit 9 (docs/results/h200.md). */
static uint64_t hashed(uint64_t line)
{
    return (uint64_t)(__builtin_popcountll(line & 0x1da) & 1) |
           (uint64_t)(__builtin_popcountll(line & 0x2b5) & 1) << 1;
}
static uint64_t scrambled(uint64_t line)
{
    uint64_t mixed = line * UINT64_C(0x9e3779b97f4a7c15);
    return mixed >> 61;
}

/* The evictions of a cache of that mapping that replaces the oldest line (`whole`), or one at
 * random.
 */
static struct fth_evictions evict(mapping_function *map, uint64_t fits, bool whole)
{
    struct fth_rng rng;
    struct fth_evictions evictions = {
        .fits = fits, .whole = whole, .items = calloc(64, sizeof *evictions.items)};
    assert_non_null(evictions.items);
    fth_rng_init(&rng, 3);
    for (size_t i = 0; i < 64; i++) {
        uint64_t line = i < 16 ? fits + i : fits + fth_rng_below(&rng, 8192 - fits);
        uint32_t *victims = calloc(fits, sizeof *victims);
        size_t count = 0;
        assert_non_null(victims);
        for (uint32_t other = 0; other < fits; other++)
            if (map(other) == map(line))
                victims[count++] = other;
        assert_true(count > 0);
        if (!whole) {
            victims[0] = victims[fth_rng_below(&rng, count)];
            count = 1;
        }
        evictions.items[evictions.count++] = (struct fth_eviction){line, victims, count};
    }
    return evictions;
}

static void mappings(void **state)
{
    (void)state;
    static const struct {
        mapping_function *map;
        uint64_t fits;
        uint64_t sets;
        bool has_name;
        const char *name;
    } cases[] = {
        {modulo_12, 48, 12, true, "mod"},
        {shifted, 96, 6, true, "shift:2"},
        {two_bits, 64, 4, true, "bits:[7,8]"},
        {folded, 64, 8, true, "xor"},
        {folded_12, 64, 12, true, "xor"},
        {hashed, 512, 4, false, "a6^a8^a9^a11^a12^a13, a5^a7^a9^a10^a12^a14"},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++)
        for (int whole = 0; whole < 2; whole++) {
            struct fth_evictions evictions = evict(cases[i].map, cases[i].fits, whole);
            struct fth_mapping mapping;
            char name[128];
            assert_int_equal(fth_mapping_fit(&evictions, &mapping, NULL), FTH_OK);
            assert_int_equal(fth_mapping_sets(&mapping), cases[i].sets);
            assert_int_equal(fth_mapping_name(&mapping, 32, true, name, sizeof name),
                             cases[i].has_name);
            assert_string_equal(name, cases[i].name);
            for (uint64_t a = 0; a < 300; a++)
                for (uint64_t b = 0; b < a; b++)
                    assert_int_equal(fth_mapping_set(&mapping, a) == fth_mapping_set(&mapping, b),
                                     cases[i].map(a) == cases[i].map(b));
            fth_mapping_fini(&mapping);
            fth_evictions_fini(&evictions);
        }
}

/* A hash that is no XOR and no modulo: with whole sets nothing explains it; with single victims one
 * set does, which the probe then has to refute. */
static void no_mapping(void **state)
{
    (void)state;
    struct fth_mapping mapping;
    struct fth_evictions evictions = evict(scrambled, 128, true);
    struct fth_error error = FTH_NO_ERROR;
    assert_int_equal(fth_mapping_fit(&evictions, &mapping, &error), FTH_INCONCLUSIVE);
    assert_contains(error.cause, "no mapping");
    fth_mapping_fini(&mapping);
    fth_evictions_fini(&evictions);
    evictions = evict(scrambled, 128, false);
    assert_int_equal(fth_mapping_fit(&evictions, &mapping, NULL), FTH_OK);
    assert_int_equal(fth_mapping_sets(&mapping), 1);
    fth_mapping_fini(&mapping);
    fth_evictions_fini(&evictions);
}

/* Chains stay in one set. */
static void strides(void **state)
{
    (void)state;
    struct fth_mapping mod = {.kind = FTH_MAPPING_MOD, .modulus = 12};
    struct fth_mapping fold = {.kind = FTH_MAPPING_FOLD, .shift = 4, .modulus = 12};
    assert_int_equal(fth_mapping_stride(&mod, 5, 9, 4096, 0), 12);
    assert_int_equal(fth_mapping_stride(&mod, 5, 9, 4096, 2), 36);
    assert_int_equal(fth_mapping_stride(&mod, 5, 9, 64, 0), 0);
    uint64_t stride = fth_mapping_stride(&fold, 3, 9, 4096, 0);
    assert_true(stride > 0);
    for (uint64_t i = 0; i < 9; i++)
        assert_int_equal(fth_mapping_set(&fold, 3 + i * stride), fth_mapping_set(&fold, 3));
}

/* ---- what is shown ---- */

static void series(void **state)
{
    (void)state;
    static const uint32_t cycles[] = {200, 200, 200, 200, 200, 200, 30, 200, 30, 30};
    static const uint32_t lines[] = {4, 0, 1, 2};
    static const int ways[] = {1, 1, 3, -1};
    const struct fth_series loads = {.element = "l1",
                                     .stride_bytes = 128,
                                     .lines = 5,
                                     .count = FTH_COUNT(cycles),
                                     .cycles = cycles,
                                     .threshold_cycles = 80,
                                     .ways = 4,
                                     .replay_count = 4,
                                     .replay_lines = lines,
                                     .replay_ways = ways};
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(fth_report_series(&loads, NULL, &text, &size, NULL), FTH_OK);
    assert_contains(text, "l1: misses of 5 lines of 128 bytes, one more than fit\n");
    assert_contains(text, "pass 2  #.#..  2\n");
    assert_contains(text, "line 5      1       5*      3       4    miss\n");
    assert_contains(text, "line 1      1       1*      3       4    miss\n");
    assert_contains(text, "line 3      1       1       3       2    hit\n");
    fth_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces),   cmocka_unit_test(orthogonal_naively),
        cmocka_unit_test(mappings), cmocka_unit_test(no_mapping),
        cmocka_unit_test(strides),  cmocka_unit_test(series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
