/* Tests the rules by which accesses count as sectors and wavefronts, with patterns of addresses
 * whose counts an H200 has confirmed (docs/results/counters-h200.md). */
#include "check.h"
#include "trace/counters/counters.h"

enum { LANES = 32 };
static const uint32_t all = UINT32_MAX;

/* The addresses of the lanes: `distance` bytes from one group of `share` lanes to the next. */
static const uint64_t *strided(uint64_t *addresses, unsigned share, uint64_t distance)
{
    for (unsigned i = 0; i < LANES; i++)
        addresses[i] = i / share * distance;
    return addresses;
}

static void lanes_share_sectors(void **state)
{
    static const struct {
        unsigned bytes, share, distance;
        uint32_t mask;
        enum fth_ptx_access_kind kind;
        unsigned sectors;
    } cases[] = {
        {4, 1, 4, UINT32_MAX, FTH_ACCESS_READ, 4},
        {4, 1, 0, UINT32_MAX, FTH_ACCESS_READ, 1},
        {4, 1, 128, UINT32_MAX, FTH_ACCESS_WRITE, 32},
        {16, 1, 16, UINT32_MAX, FTH_ACCESS_READ, 16},
        {4, 1, 4, 0xffff, FTH_ACCESS_READ, 2},
        {4, 1, 4, UINT32_MAX, FTH_ACCESS_ATOMIC, 4},
        {4, 1, 0, UINT32_MAX, FTH_ACCESS_ATOMIC, 32},
        {4, 4, 4, UINT32_MAX, FTH_ACCESS_ATOMIC, 4},
        {16, 1, 16, UINT32_MAX, FTH_ACCESS_ATOMIC, 16},
        {4, 2, 32, 0xf, FTH_ACCESS_ATOMIC, 4},
    };
    uint64_t addresses[LANES];
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        const struct fth_ptx_access access = {
            .kind = cases[i].kind,
            .mask = cases[i].mask,
            .bytes = cases[i].bytes,
            .addresses = strided(addresses, cases[i].share, cases[i].distance)};
        assert_int_equal(fth_access_sectors(&access), cases[i].sectors);
    }
}

/* Lanes of cp.async.cg share a sector only if they do at both ends, at the same distance. */
static void copies_share_sectors_at_both_ends(void **state)
{
    static const struct {
        unsigned from, to; /* bytes from lane to lane */
        uint32_t mask;
        unsigned sectors;
    } cases[] = {{16, 16, UINT32_MAX, 16}, {32, 16, UINT32_MAX, 32}, {16, 32, UINT32_MAX, 32},
                 {0, 16, UINT32_MAX, 32},  {16, 0, UINT32_MAX, 1},   {16, 16, 0xffff, 8}};
    uint64_t from[LANES], to[LANES];
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        const struct fth_ptx_access access = {.mask = cases[i].mask,
                                              .bytes = 16,
                                              .addresses = strided(from, 1, cases[i].from),
                                              .destinations = strided(to, 1, cases[i].to)};
        assert_int_equal(fth_bypass_sectors(&access), cases[i].sectors);
    }
}

static void ranges_are_split_at_lines_of_shared_memory(void **state)
{
    static const struct {
        struct fth_ptx_range range;
        uint64_t sectors;
    } cases[] = {{{.address = 0, .bytes = 4096, .shared = 0}, 128},
                 {{.address = 32, .bytes = 512, .shared = 0}, 16},
                 {{.address = 16, .bytes = 48, .shared = 0}, 2},
                 {{.address = 48, .bytes = 2000, .shared = 1024}, 78},
                 {{.address = 16, .bytes = 128, .shared = 16}, 5},
                 {{.address = 0, .bytes = 128, .shared = 16}, 5}};
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(cases); i++)
        assert_int_equal(fth_range_sectors(&cases[i].range), cases[i].sectors);
}

static void banks_deliver_one_word_per_wavefront(void **state)
{
    static const struct {
        enum fth_ptx_access_kind kind;
        enum fth_ptx_unit unit;
        unsigned bytes, share, distance, wavefronts, conflicts;
    } cases[] = {
        {FTH_ACCESS_READ, FTH_UNIT_LANES, 4, 1, 4, 1, 0},
        {FTH_ACCESS_READ, FTH_UNIT_LANES, 4, 1, 8, 2, 1},
        {FTH_ACCESS_READ, FTH_UNIT_LANES, 4, 1, 0, 1, 0},
        {FTH_ACCESS_WRITE, FTH_UNIT_LANES, 4, 1, 128, 32, 31},
        {FTH_ACCESS_READ, FTH_UNIT_LANES, 8, 1, 8, 2, 0},
        {FTH_ACCESS_READ, FTH_UNIT_LANES, 8, 4, 16, 1, 0},
        {FTH_ACCESS_WRITE, FTH_UNIT_LANES, 8, 1, 8, 2, 0},
        {FTH_ACCESS_WRITE, FTH_UNIT_LANES, 8, 4, 16, 2, 0},
        {FTH_ACCESS_READ, FTH_UNIT_LANES, 16, 1, 16, 4, 0},
        {FTH_ACCESS_READ, FTH_UNIT_LANES, 16, 1, 0, 2, 0},
        {FTH_ACCESS_READ, FTH_UNIT_LANES, 16, 2, 32, 4, 2},
        {FTH_ACCESS_READ, FTH_UNIT_LANES, 16, 1, 32, 8, 4},
        {FTH_ACCESS_WRITE, FTH_UNIT_LANES, 16, 1, 0, 4, 0},
        {FTH_ACCESS_READ, FTH_UNIT_MATRIX, 16, 1, 16, 4, 0},
        {FTH_ACCESS_READ, FTH_UNIT_MATRIX, 16, 1, 0, 4, 0},
        {FTH_ACCESS_WRITE, FTH_UNIT_MATRIX, 16, 1, 128, 32, 28},
        {FTH_ACCESS_ATOMIC, FTH_UNIT_LANES, 4, 1, 4, 1, 0},
        {FTH_ACCESS_ATOMIC, FTH_UNIT_LANES, 4, 1, 0, 32, 31},
    };
    uint64_t addresses[LANES];
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        const struct fth_ptx_access access = {
            .kind = cases[i].kind,
            .unit = cases[i].unit,
            .mask = all,
            .bytes = cases[i].bytes,
            .addresses = strided(addresses, cases[i].share, cases[i].distance)};
        const struct fth_wavefronts counted = fth_access_wavefronts(&access);
        if (counted.count != cases[i].wavefronts || counted.conflicts != cases[i].conflicts)
            fail_msg("case %zu: %u wavefronts, %u conflicts", i, counted.count, counted.conflicts);
    }
}

static void compare_and_swap_needs_two_wavefronts(void **state)
{
    uint64_t addresses[LANES];
    const struct fth_ptx_access access = {.kind = FTH_ACCESS_ATOMIC,
                                          .compares = true,
                                          .mask = all,
                                          .bytes = 4,
                                          .addresses = strided(addresses, 1, 8)};
    (void)state;
    assert_int_equal(fth_access_wavefronts(&access).count, 4);
    assert_int_equal(fth_access_wavefronts(&access).conflicts, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_share_sectors),
        cmocka_unit_test(copies_share_sectors_at_both_ends),
        cmocka_unit_test(ranges_are_split_at_lines_of_shared_memory),
        cmocka_unit_test(banks_deliver_one_word_per_wavefront),
        cmocka_unit_test(compare_and_swap_needs_two_wavefronts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
