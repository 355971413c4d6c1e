/* Tests the rules by which accesses count as sectors and wavefronts, with patterns of addresses
 * whose counts an H200 has confirmed (docs/results/counters-h200.md). */
#include "check.h"
#include "trace/counters/counters.h"

#include <string.h>

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
                 {{.address = 0, .bytes = 128, .shared = 16}, 5},
                 {{.address = 0, .bytes = 0, .shared = 0}, 0},
                 /* With multicast, each line counts as two sectors at least. */
                 {{.address = 0, .bytes = 32, .multicast = true}, 2},
                 {{.address = 0, .bytes = 64, .multicast = true}, 2},
                 {{.address = 0, .bytes = 96, .multicast = true}, 3},
                 {{.address = 96, .bytes = 64, .multicast = true}, 4},
                 {{.address = 96, .bytes = 64}, 2}};
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

/* Ideal wavefronts move 128 bytes each, for the lanes that take part; an access never takes fewer.
 * Padded wavefronts are those of word w at w + w / 32; of larger elements at e + e / 32, or with an
 * element of padding per 128 bytes, whichever is less. */
static void costs_without_conflicts_and_with_padding(void **state)
{
    static const struct {
        enum fth_ptx_access_kind kind;
        unsigned bytes, share, distance;
        uint32_t mask;
        struct fth_shared_cost cost;
    } cases[] = {
        {FTH_ACCESS_READ, 4, 1, 4, UINT32_MAX, {1, 1, 1}},
        {FTH_ACCESS_READ, 4, 1, 128, UINT32_MAX, {32, 1, 1}},
        {FTH_ACCESS_WRITE, 4, 1, 128, 0xff, {8, 1, 1}},
        {FTH_ACCESS_READ, 4, 1, 8, UINT32_MAX, {2, 1, 1}},
        {FTH_ACCESS_READ, 4, 1, 132, UINT32_MAX, {1, 1, 2}},
        {FTH_ACCESS_READ, 4, 1, 0, UINT32_MAX, {1, 1, 1}},
        {FTH_ACCESS_READ, 2, 1, 64, UINT32_MAX, {16, 1, 1}},
        {FTH_ACCESS_READ, 8, 1, 8, UINT32_MAX, {2, 2, 2}},
        {FTH_ACCESS_READ, 8, 1, 0, UINT32_MAX, {1, 1, 1}},      /* lanes share the word */
        {FTH_ACCESS_READ, 8, 4, 64, UINT32_MAX, {4, 2, 1}},     /* and have conflicts */
        {FTH_ACCESS_READ, 16, 1, 16, 0x01010101, {4, 1, 2}},    /* groups with a lane each */
        {FTH_ACCESS_WRITE, 16, 1, 16, 0x0000fffe, {2, 2, 2}},   /* 240 bytes */
        {FTH_ACCESS_WRITE, 16, 1, 128, UINT32_MAX, {32, 4, 4}}, /* a column of [32][8] */
        {FTH_ACCESS_WRITE, 16, 1, 512, UINT32_MAX, {32, 4, 4}}, /* a column of [32][32] */
        {FTH_ACCESS_WRITE, 8, 1, 256, UINT32_MAX, {32, 2, 2}},
        {FTH_ACCESS_WRITE, 8, 1, 128, UINT32_MAX, {32, 2, 2}}, /* [32][16] */
        {FTH_ACCESS_WRITE, 8, 1, 512, UINT32_MAX, {32, 2, 4}}, /* [32][64] gets two paddings */
        {FTH_ACCESS_WRITE, 8, 1, 264, UINT32_MAX, {2, 2, 2}},  /* [32][33] is padded already */
        {FTH_ACCESS_ATOMIC, 4, 1, 0, UINT32_MAX, {32, 1, 32}},
        {FTH_ACCESS_ATOMIC, 4, 1, 128, UINT32_MAX, {32, 1, 1}},
        {FTH_ACCESS_READ, 4, 1, 4, 0, {0, 0, 0}},
    };
    uint64_t addresses[LANES];
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_ptx_access access = {.kind = cases[i].kind,
                                        .mask = cases[i].mask,
                                        .bytes = cases[i].bytes,
                                        .path = FTH_PTX_PATH_SHARED,
                                        .addresses =
                                            strided(addresses, cases[i].share, cases[i].distance)};
        const struct fth_shared_cost cost = fth_access_shared_cost(&access);
        if (memcmp(&cost, &cases[i].cost, sizeof cost) != 0)
            fail_msg("case %zu: %u, %u, %u", i, cost.wavefronts, cost.ideal, cost.padded);
        access.path = FTH_PTX_PATH_CLUSTER;
        const unsigned counted = cases[i].kind == FTH_ACCESS_ATOMIC;
        const struct fth_shared_cost remote = fth_access_shared_cost(&access);
        assert_int_equal(remote.wavefronts, counted);
        assert_int_equal(remote.ideal, counted);
        assert_int_equal(remote.padded, counted);
    }
    const struct fth_ptx_access swap = {.kind = FTH_ACCESS_ATOMIC,
                                        .compares = true,
                                        .mask = all,
                                        .bytes = 4,
                                        .path = FTH_PTX_PATH_SHARED,
                                        .addresses = strided(addresses, 1, 8)};
    assert_int_equal(fth_access_shared_cost(&swap).wavefronts, 4);
    assert_int_equal(fth_access_shared_cost(&swap).ideal, 2);
}

static void constants_cost_as_many_addresses_as_differ(void **state)
{
    static const struct {
        unsigned share, distance;
        uint32_t mask;
        unsigned addresses, cycles;
    } cases[] = {
        {32, 4, UINT32_MAX, 0, 0},
        {1, 4, 1, 0, 0},
        {1, 4, 0, 0, 0},
        {16, 4, UINT32_MAX, 2, 11},
        {1, 4, UINT32_MAX, 32, 341},
        {1, 16, UINT32_MAX, 32, 341},
        {4, 4, 0xff00, 2, 11},
        {4, 4, 0xf000, 0, 0},
    };
    uint64_t addresses[LANES];
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        const struct fth_ptx_access access = {
            .mask = cases[i].mask,
            .bytes = 4,
            .addresses = strided(addresses, cases[i].share, cases[i].distance)};
        const struct fth_constant_cost cost = fth_access_constant_cost(&access);
        assert_int_equal(cost.addresses, cases[i].addresses);
        assert_int_equal(cost.cycles, cases[i].cycles);
    }
    /* The same addresses in another order. */
    for (unsigned i = 0; i < LANES; i++)
        addresses[i] = i * 7 % 5;
    const struct fth_ptx_access mixed = {.mask = all, .bytes = 4, .addresses = addresses};
    assert_int_equal(fth_access_constant_cost(&mixed).addresses, 5);
}

/* The cache returns what the function returns, in any order of many different patterns, for listed
 * and for linear addresses. */
static void the_cache_does_not_change_costs(void **state)
{
    static struct fth_shared_cache cache;
    static const unsigned widths[] = {1, 4, 8, 16};
    uint64_t random = 1, addresses[LANES];
    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const unsigned bytes = widths[random >> 33 & 3];
        const struct fth_ptx_linear linear = {.base = bytes * (random >> 35 & 63),
                                              .step = bytes * (random >> 41 & 15),
                                              .row_step = random >> 45 & 1 ? 0 : 256};
        struct fth_ptx_access access = {.kind = (enum fth_ptx_access_kind)(random >> 46 & 1),
                                        .bytes = bytes,
                                        .path = FTH_PTX_PATH_SHARED,
                                        .mask = random >> 47 & 1 ? all : (uint32_t)(random >> 48),
                                        .row_lanes = random >> 50 & 1 ? 32 : 8,
                                        .addresses = addresses};
        for (uint32_t lane = 0; lane < LANES; lane++)
            addresses[lane] = linear.base + lane % access.row_lanes * linear.step +
                              lane / access.row_lanes * linear.row_step;
        const struct fth_shared_cost cost = fth_access_shared_cost(&access);
        const struct fth_shared_cost listed = fth_shared_cache_find(&cache, &access);
        access.addresses = NULL;
        access.linear = &linear;
        const struct fth_shared_cost found = fth_shared_cache_find(&cache, &access);
        assert_memory_equal(&listed, &cost, sizeof cost);
        assert_memory_equal(&found, &cost, sizeof cost);
    }
}

/* ---- counters ---- */

/* What an access of 32 lanes with 4 bytes each counts. All other counters must stay 0. */
static const struct counted {
    struct fth_ptx_access access;
    unsigned distance; /* bytes from lane to lane */
    struct {
        enum fth_counter counter;
        uint64_t value;
    } counts[4];
} counted[] = {
    {{.space = FTH_SPACE_GLOBAL, .kind = FTH_ACCESS_READ, .returns = true},
     8,
     {{FTH_COUNTER_GLOBAL_LD_REQUESTS, 1}, {FTH_COUNTER_GLOBAL_LD_SECTORS, 8}}},
    {{.space = FTH_SPACE_GLOBAL, .kind = FTH_ACCESS_WRITE, .path = FTH_PTX_PATH_L2},
     4,
     {{FTH_COUNTER_GLOBAL_ST_REQUESTS, 1}, {FTH_COUNTER_GLOBAL_ST_SECTORS, 4}}},
    {{.space = FTH_SPACE_GLOBAL, .kind = FTH_ACCESS_ATOMIC, .path = FTH_PTX_PATH_L2},
     0,
     {{FTH_COUNTER_GLOBAL_RED_REQUESTS, 1}, {FTH_COUNTER_GLOBAL_RED_SECTORS, 32}}},
    {{.space = FTH_SPACE_GLOBAL,
      .kind = FTH_ACCESS_ATOMIC,
      .path = FTH_PTX_PATH_L2,
      .returns = true},
     8,
     {{FTH_COUNTER_GLOBAL_ATOM_REQUESTS, 1}, {FTH_COUNTER_GLOBAL_ATOM_SECTORS, 8}}},
    /* cp.async: the source, and the destination */
    {{.space = FTH_SPACE_GLOBAL, .kind = FTH_ACCESS_READ, .unit = FTH_UNIT_LANE_COPY},
     4,
     {{FTH_COUNTER_GLOBAL_LD_REQUESTS, 1},
      {FTH_COUNTER_GLOBAL_LD_SECTORS, 4},
      {FTH_COUNTER_LDGSTS_ACCESS_SECTORS, 4}}},
    {{.space = FTH_SPACE_GLOBAL,
      .kind = FTH_ACCESS_READ,
      .unit = FTH_UNIT_LANE_COPY,
      .path = FTH_PTX_PATH_L2},
     16,
     {{FTH_COUNTER_GLOBAL_LD_REQUESTS, 1},
      {FTH_COUNTER_GLOBAL_LD_SECTORS, 16},
      {FTH_COUNTER_LDGSTS_BYPASS_REQUESTS, 1},
      {FTH_COUNTER_LDGSTS_BYPASS_SECTORS, 32}}}, /* the destinations are 128 bytes apart */
    {{.kind = FTH_ACCESS_WRITE,
      .unit = FTH_UNIT_LANE_COPY,
      .space = FTH_SPACE_SHARED,
      .path = FTH_PTX_PATH_SHARED,
      .cache_op = FTH_CACHE_CA},
     4,
     {{FTH_COUNTER_LDGSTS_ACCESS_REQUESTS, 1}}},
    {{.kind = FTH_ACCESS_WRITE,
      .unit = FTH_UNIT_LANE_COPY,
      .space = FTH_SPACE_SHARED,
      .path = FTH_PTX_PATH_SHARED,
      .cache_op = FTH_CACHE_CG},
     4,
     {{0, 0}}},
    /* shared memory of the block */
    {{.kind = FTH_ACCESS_READ, .space = FTH_SPACE_SHARED, .path = FTH_PTX_PATH_SHARED},
     8,
     {{FTH_COUNTER_SHARED_LD_WAVEFRONTS, 2}, {FTH_COUNTER_SHARED_LD_CONFLICTS, 1}}},
    {{.kind = FTH_ACCESS_WRITE, .space = FTH_SPACE_SHARED, .path = FTH_PTX_PATH_SHARED},
     16,
     {{FTH_COUNTER_SHARED_ST_WAVEFRONTS, 4}, {FTH_COUNTER_SHARED_ST_CONFLICTS, 3}}},
    {{.kind = FTH_ACCESS_ATOMIC, .space = FTH_SPACE_SHARED, .path = FTH_PTX_PATH_SHARED},
     8,
     {{FTH_COUNTER_SHARED_ATOM_WAVEFRONTS, 2}, {FTH_COUNTER_SHARED_ATOM_CONFLICTS, 1}}},
    /* shared memory of another block */
    {{.kind = FTH_ACCESS_READ, .space = FTH_SPACE_SHARED, .path = FTH_PTX_PATH_CLUSTER},
     8,
     {{FTH_COUNTER_DSHARED_LD_REQUESTS, 1}, {FTH_COUNTER_DSHARED_LD_SECTORS, 8}}},
    {{.kind = FTH_ACCESS_WRITE, .space = FTH_SPACE_SHARED, .path = FTH_PTX_PATH_CLUSTER},
     8,
     {{FTH_COUNTER_DSHARED_ST_REQUESTS, 1}, {FTH_COUNTER_DSHARED_ST_SECTORS, 8}}},
    {{.kind = FTH_ACCESS_ATOMIC, .space = FTH_SPACE_SHARED, .path = FTH_PTX_PATH_CLUSTER},
     8,
     {{FTH_COUNTER_DSHARED_ATOM_REQUESTS, 1},
      {FTH_COUNTER_DSHARED_ATOM_SECTORS, 8},
      {FTH_COUNTER_SHARED_ATOM_WAVEFRONTS, 1}}},
    /* neither lanes nor matrices */
    {{.space = FTH_SPACE_GLOBAL,
      .kind = FTH_ACCESS_READ,
      .unit = FTH_UNIT_COPY_ENGINE,
      .path = FTH_PTX_PATH_L2},
     4,
     {{0, 0}}},
    {{.kind = FTH_ACCESS_READ,
      .unit = FTH_UNIT_TENSOR_CORE,
      .space = FTH_SPACE_SHARED,
      .path = FTH_PTX_PATH_SHARED},
     4,
     {{0, 0}}},
    {{.kind = FTH_ACCESS_READ, .space = FTH_SPACE_LOCAL}, 4, {{0, 0}}},
};

static void expect_counters(size_t row, const struct fth_counters *found,
                            const struct fth_counters *expected)
{
    for (size_t i = 0; i < FTH_COUNTER_COUNT; i++)
        if (found->values[i] != expected->values[i])
            fail_msg("row %zu, %s: %llu, expected %llu", row, fth_counter_name(i),
                     (unsigned long long)found->values[i], (unsigned long long)expected->values[i]);
}

static void accesses_change_their_counters(void **state)
{
    (void)state;
    for (size_t r = 0; r < FTH_COUNT(counted); r++) {
        uint64_t addresses[LANES], destinations[LANES];
        struct fth_counters found = {{0}}, expected = {{0}};
        struct fth_ptx_access access = counted[r].access;
        access.mask = all;
        access.bytes = 4;
        access.addresses = strided(addresses, 1, counted[r].distance);
        access.destinations = strided(destinations, 1, 128);
        for (size_t i = 0; i < FTH_COUNT(counted[r].counts); i++)
            expected.values[counted[r].counts[i].counter] += 2 * counted[r].counts[i].value;
        fth_counters_add(&found, &access);
        fth_counters_add(&found, &access);
        expect_counters(r, &found, &expected);
    }
}

/* The rows of a matrix have 16 bytes. They count as shared accesses, and on their own. */
static void matrices_have_counters_of_their_own(void **state)
{
    (void)state;
    uint64_t addresses[LANES];
    struct fth_ptx_access access = {.space = FTH_SPACE_SHARED,
                                    .path = FTH_PTX_PATH_SHARED,
                                    .unit = FTH_UNIT_MATRIX,
                                    .kind = FTH_ACCESS_READ,
                                    .mask = all,
                                    .bytes = 16,
                                    .addresses = strided(addresses, 1, 128)};
    struct fth_counters found = {{0}}, expected = {{0}};
    fth_counters_add(&found, &access);
    expected.values[FTH_COUNTER_SHARED_LD_WAVEFRONTS] = 32;
    expected.values[FTH_COUNTER_SHARED_LD_CONFLICTS] = 28;
    expected.values[FTH_COUNTER_LDSM_WAVEFRONTS] = 32;
    expected.values[FTH_COUNTER_LDSM_CONFLICTS] = 28;
    expect_counters(0, &found, &expected);
    access.kind = FTH_ACCESS_WRITE;
    fth_counters_add(&found, &access);
    expected.values[FTH_COUNTER_SHARED_ST_WAVEFRONTS] = 32;
    expected.values[FTH_COUNTER_SHARED_ST_CONFLICTS] = 28;
    expected.values[FTH_COUNTER_STSM_WAVEFRONTS] = 32;
    expected.values[FTH_COUNTER_STSM_CONFLICTS] = 28;
    expect_counters(1, &found, &expected);
}

static void ranges_count_by_kind(void **state)
{
    (void)state;
    static const struct {
        enum fth_ptx_access_kind kind;
        enum fth_counter counter;
    } rows[] = {{FTH_ACCESS_READ, FTH_COUNTER_TMA_LD_SECTORS},
                {FTH_ACCESS_WRITE, FTH_COUNTER_TMA_ST_SECTORS},
                {FTH_ACCESS_ATOMIC, FTH_COUNTER_TMA_RED_SECTORS}};
    for (size_t r = 0; r < FTH_COUNT(rows); r++) {
        const struct fth_ptx_range range = {.kind = rows[r].kind, .address = 64, .bytes = 160};
        struct fth_counters found = {{0}}, expected = {{0}};
        fth_counters_add_range(&found, &range);
        expected.values[rows[r].counter] = 5;
        expect_counters(r, &found, &expected);
    }
}

static void counters_have_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNTER_COUNT; i++)
        assert_non_null(fth_counter_name(i));
    assert_null(fth_counter_name(FTH_COUNTER_COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_share_sectors),
        cmocka_unit_test(copies_share_sectors_at_both_ends),
        cmocka_unit_test(ranges_are_split_at_lines_of_shared_memory),
        cmocka_unit_test(banks_deliver_one_word_per_wavefront),
        cmocka_unit_test(compare_and_swap_needs_two_wavefronts),
        cmocka_unit_test(costs_without_conflicts_and_with_padding),
        cmocka_unit_test(constants_cost_as_many_addresses_as_differ),
        cmocka_unit_test(the_cache_does_not_change_costs),
        cmocka_unit_test(accesses_change_their_counters),
        cmocka_unit_test(matrices_have_counters_of_their_own),
        cmocka_unit_test(ranges_count_by_kind),
        cmocka_unit_test(counters_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
