/* Tests of model/shape.c: the caches and the resident blocks that follow from the parameters of the
 * model and the launch of a trace; and of the time floor (model/result.c). */
#include "check.h"
#include "model/level/level.h"

#include <math.h>
#include <stdio.h>

static struct fth_model_params *make_params(const char *const *sets)
{
    struct fth_model_params *params = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_model_params_create(NULL, &params, &error), FTH_OK);
    for (size_t i = 0; sets[i]; i += 2)
        if (fth_model_set(params, sets[i], sets[i + 1], &error) != FTH_OK)
            fail_msg("%s=%s: %s", sets[i], sets[i + 1], error.cause);
    return params;
}

/* ---- caches ---- */

static const char *shape_text(const struct fth_shape *shape, char *text, size_t size)
{
    snprintf(text, size, "%llu: %llux%llu %llu/%llu/%llu %u,%u %llux%llux%llu %llu,%llu",
             (unsigned long long)shape->lines, (unsigned long long)shape->sets,
             (unsigned long long)shape->ways, (unsigned long long)shape->line_bytes,
             (unsigned long long)shape->sector_bytes, (unsigned long long)shape->fill_bytes,
             shape->line_shift, shape->sector_shift, (unsigned long long)shape->partitions,
             (unsigned long long)shape->banks, (unsigned long long)shape->ports,
             (unsigned long long)shape->partition_bytes, (unsigned long long)shape->bank_bytes);
    return text;
}

/* The text has: lines per bank, sets x ways, bytes of a line, sector and fill, their logarithms,
 * partitions x banks x ports, and the bytes of the interleaving. Without a shape, the parameters
 * are refused: `cause` is the reason, `argument` the parameter. */
static const struct {
    const char *sets[9], *l1, *l2, *argument, *cause;
} caches[] = {
    {{NULL},
     "1024: 4x256 128/32/32 7,5 1x1x2 128,128",
     "32768: 2048x16 128/32/64 7,5 1x1x2 128,128",
     NULL,
     NULL},
    {{"l1.sets", "0", "l1.ways", "8"}, "1024: 128x8 128/32/32 7,5 1x1x2 128,128", NULL, NULL, NULL},
    {{"l1.sets", "1024"}, "1024: 1024x1 128/32/32 7,5 1x1x2 128,128", NULL, NULL, NULL},
    {{"l1.sets", "1025"},
     NULL,
     NULL,
     "l1.ways",
     "there are more ways or sets than lines in a bank"},
    {{"l1.sets", "0", "l1.ways", "1024"},
     "1024: 1x1024 128/32/32 7,5 1x1x2 128,128",
     NULL,
     NULL,
     NULL},
    {{"l1.sets", "0", "l1.ways", "1025"},
     NULL,
     NULL,
     "l1.ways",
     "there are more ways or sets than lines in a bank"},
    {{"l1.sets", "0", "l1.ways", "3"},
     NULL,
     NULL,
     "l1.ways",
     "the number of lines in a bank is not a multiple of the ways"},
    {{"l1.sets", "0"}, NULL, NULL, "l1.ways", "ways and sets are both 0; set one of them"},
    {{"l2.ways", "0"}, NULL, NULL, "l2.ways", "ways and sets are both 0; set one of them"},
    {{"l1.size_bytes", "1664"}, "13: 4x4 128/32/32 7,5 1x1x2 128,128", NULL, NULL, NULL},
    {{"l1.size_bytes", "2048"}, "16: 4x4 128/32/32 7,5 1x1x2 128,128", NULL, NULL, NULL},
    {{"l1.size_bytes", "2176"}, "17: 4x5 128/32/32 7,5 1x1x2 128,128", NULL, NULL, NULL},
    {{"l1.size_bytes", "127"}, NULL, NULL, "l1.size_bytes", "a bank must hold 1 to 2^26 lines"},
    {{"l1.size_bytes", "128", "l1.sets", "1"},
     "1: 1x1 128/32/32 7,5 1x1x2 128,128",
     NULL,
     NULL,
     NULL},
    {{"l2.size_bytes", "8G", "l2.ways", "1"},
     NULL,
     "67108864: 67108864x1 128/32/64 7,5 1x1x2 128,128",
     NULL,
     NULL},
    {{"l2.size_bytes", "8589934720", "l2.ways", "1"},
     NULL,
     NULL,
     "l2.size_bytes",
     "a bank must hold 1 to 2^26 lines"},
    {{"l2.sides", "2"}, NULL, "16384: 1024x16 128/32/64 7,5 1x1x2 128,128", NULL, NULL},
    /* lines, sectors and fills */
    {{"l1.line_bytes", "64"}, "2048: 4x512 64/32/32 6,5 1x1x2 64,64", NULL, NULL, NULL},
    {{"l1.line_bytes", "4", "l1.sector_bytes", "0"},
     "32768: 4x8192 4/4/4 2,2 1x1x2 4,4",
     NULL,
     NULL,
     NULL},
    {{"l1.line_bytes", "96"},
     NULL,
     NULL,
     "l1.line_bytes",
     "the line size must be a power of two, at least 4 bytes"},
    {{"l2.line_bytes", "96"},
     NULL,
     NULL,
     "l2.line_bytes",
     "the line size must be a power of two, at least 4 bytes"},
    {{"l1.sector_bytes", "0"}, "1024: 4x256 128/128/128 7,7 1x1x2 128,128", NULL, NULL, NULL},
    {{"l1.sector_bytes", "128"}, "1024: 4x256 128/128/128 7,7 1x1x2 128,128", NULL, NULL, NULL},
    {{"l1.sector_bytes", "2"}, "1024: 4x256 128/2/2 7,1 1x1x2 128,128", NULL, NULL, NULL},
    {{"l1.sector_bytes", "1"},
     NULL,
     NULL,
     "l1.sector_bytes",
     "the sector size must be a power of two that divides the line into at most 64 sectors"},
    {{"l2.sector_bytes", "256"},
     NULL,
     NULL,
     "l2.sector_bytes",
     "the sector size must be a power of two that divides the line into at most 64 sectors"},
    {{"l1.sector_bytes", "48"},
     NULL,
     NULL,
     "l1.sector_bytes",
     "the sector size must be a power of two that divides the line into at most 64 sectors"},
    {{"l1.fill_bytes", "64"}, "1024: 4x256 128/32/64 7,5 1x1x2 128,128", NULL, NULL, NULL},
    {{"l1.fill_bytes", "16"}, "1024: 4x256 128/32/32 7,5 1x1x2 128,128", NULL, NULL, NULL},
    {{"l1.fill_bytes", "256"}, "1024: 4x256 128/32/128 7,5 1x1x2 128,128", NULL, NULL, NULL},
    {{"l1.fill_bytes", "96"}, NULL, NULL, "l1.fill_bytes", "the fill size must be a power of two"},
    {{"l2.fill_bytes", "96"}, NULL, NULL, "l2.fill_bytes", "the fill size must be a power of two"},
    /* partitions and banks */
    {{"l1.partitions", "2", "l1.banks", "4", "l1.ports", "3"},
     "128: 4x32 128/32/32 7,5 2x4x3 128,128",
     NULL,
     NULL,
     NULL},
    {{"l2.partition_bytes", "256", "l2.bank_bytes", "512"},
     NULL,
     "32768: 2048x16 128/32/64 7,5 1x1x2 256,512",
     NULL,
     NULL},
    {{"l1.partition_bytes", "192"},
     NULL,
     NULL,
     "l1.partition_bytes, l1.bank_bytes",
     "must be multiples of the line size"},
    {{"l2.bank_bytes", "192"},
     NULL,
     NULL,
     "l2.partition_bytes, l2.bank_bytes",
     "must be multiples of the line size"},
    {{"l2.partitions", "64", "l2.banks", "64", "l2.ways", "8"},
     NULL,
     "8: 1x8 128/32/64 7,5 64x64x2 128,128",
     NULL,
     NULL},
    {{"l2.partitions", "65", "l2.banks", "64"},
     NULL,
     NULL,
     "l2.banks",
     "partitions x banks must be at most 4096"},
    {{"l1.partitions", "65", "l1.banks", "64"},
     NULL,
     NULL,
     "l1.banks",
     "partitions x banks must be at most 4096"},
    {{"gpu.sms", "4", "l1.size_bytes", "8G", "l1.sets", "1"},
     "67108864: 1x67108864 128/32/32 7,5 1x1x2 128,128",
     NULL,
     NULL,
     NULL},
    {{"gpu.sms", "5", "l1.size_bytes", "8G"},
     NULL,
     NULL,
     "gpu.sms",
     "all L1s together have more than 2^28 lines; use fewer SMs or smaller L1s"},
};

static const struct fth_trace_launch plain_launch = {
    .kernel = "k", .grid = {40, 1, 1}, .block = {64, 1, 1}, .shared_bytes = 0};

static void caches_follow_from_the_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(caches); i++) {
        struct fth_model_params *params = make_params(caches[i].sets);
        struct fth_setting setting;
        struct fth_error error = NO_ERROR;
        char text[200];
        const enum fth_status status = fth_model_setting(params, &plain_launch, &setting, &error);
        if (caches[i].cause) {
            if (status != FTH_INVALID || strcmp(error.cause, caches[i].cause) != 0)
                fail_msg("row %zu: %s: %s", i, error.argument, error.cause);
            assert_string_equal(error.argument, caches[i].argument);
            assert_string_equal(error.operation, "model caches");
        } else if (status != FTH_OK) {
            fail_msg("row %zu: %s", i, error.cause);
        }
        if (caches[i].l1)
            assert_string_equal(shape_text(&setting.l1, text, sizeof text), caches[i].l1);
        if (caches[i].l2)
            assert_string_equal(shape_text(&setting.l2, text, sizeof text), caches[i].l2);
        fth_model_params_destroy(params);
    }
}

static void latencies_have_two_constants(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool valid;
        double fixed, per_busy;
    } rows[] = {
        {"1", true, 1, 0},       {"3.5", true, 3.5, 0},    {"a1", true, 1, 0.125},
        {"A2", true, 2, 0.25},   {"a3", true, 4, 0.5},     {"a4", true, 8, 1},
        {"4,0.5", true, 4, 0.5}, {"4,0", true, 4, 0},      {"1000000,1000000", true, 1e6, 1e6},
        {"0.5", false, 0, 0},    {"1000001", false, 0, 0}, {"1,1000001", false, 0, 0},
        {"4,-1", false, 0, 0},   {"4x", false, 0, 0},      {"4,1x", false, 0, 0},
        {"a0", false, 0, 0},     {"a5", false, 0, 0},      {"a11", false, 0, 0},
        {"b1", false, 0, 0},
    };
    for (int level = 1; level <= 2; level++)
        for (size_t i = 0; i < FTH_COUNT(rows); i++) {
            struct fth_setting setting;
            struct fth_error error = NO_ERROR;
            struct fth_model_params *params = make_params((const char *const[]){
                level == 1 ? "l1.latency" : "l2.latency", rows[i].text, NULL});
            const enum fth_status status =
                fth_model_setting(params, &plain_launch, &setting, &error);
            assert_int_equal(status, rows[i].valid ? FTH_OK : FTH_INVALID);
            fth_model_params_destroy(params);
            if (!rows[i].valid) {
                assert_string_equal(error.argument, level == 1 ? "l1.latency" : "l2.latency");
                assert_string_equal(error.cause,
                                    "must be a number of steps (at least 1), a1 to a4, or K1,K2");
                continue;
            }
            /* That of the L1 is for 16 SMs and the two ports of the L2. */
            const struct fth_shape *shape = level == 1 ? &setting.l1 : &setting.l2;
            assert_true(shape->latency_fixed == rows[i].fixed);
            assert_true(shape->latency_per_busy == rows[i].per_busy * (level == 1 ? 16 / 2 : 1));
        }
    /* Fewer blocks than SMs, and an L2 with more ports. */
    struct fth_setting setting;
    struct fth_trace_launch launch = plain_launch;
    launch.grid[0] = 3;
    struct fth_model_params *params =
        make_params((const char *const[]){"l1.latency", "2,1", "l2.sides", "2", "l2.partitions",
                                          "2", "l2.banks", "2", "l2.ports", "3", NULL});
    assert_int_equal(fth_model_setting(params, &launch, &setting, NULL), FTH_OK);
    assert_true(setting.l1.latency_per_busy == 3.0 / 24);
    fth_model_params_destroy(params);
}

static void writes_follow_the_bypass(void **state)
{
    (void)state;
    static const struct {
        const char *level, *bypass;
        enum fth_write write;
        enum fth_bypass kind;
    } rows[] = {
        {"l1.bypass", "off", FTH_WRITE_THROUGH, FTH_BYPASS_OFF},
        {"l1.bypass", "won", FTH_WRITE_EVICT, FTH_BYPASS_WRITES},
        {"l1.bypass", "rwon", FTH_WRITE_EVICT, FTH_BYPASS_ALL},
        {"l2.bypass", "off", FTH_WRITE_BACK, FTH_BYPASS_OFF},
        {"l2.bypass", "won", FTH_WRITE_EVICT, FTH_BYPASS_WRITES},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_setting setting;
        struct fth_model_params *params = make_params(
            (const char *const[]){rows[i].level, rows[i].bypass, "l1.merged", "miss", NULL});
        assert_int_equal(fth_model_setting(params, &plain_launch, &setting, NULL), FTH_OK);
        const struct fth_shape *shape = rows[i].level[1] == '1' ? &setting.l1 : &setting.l2;
        assert_int_equal(shape->write, rows[i].write);
        assert_int_equal(shape->bypass, rows[i].kind);
        assert_false(setting.l1.merged_hits);
        assert_true(setting.l2.merged_hits);
        fth_model_params_destroy(params);
    }
}

/* ---- blocks ---- */

static const struct {
    const char *sets[9];
    uint32_t grid[3], block[3];
    uint64_t shared_bytes;
    uint64_t blocks, warps, resident; /* 0 resident: refused */
    const char *cause;
} launches[] = {
    {{NULL}, {40, 1, 1}, {64, 1, 1}, 0, 40, 2, 32, NULL},
    {{NULL}, {2, 3, 4}, {5, 3, 3}, 0, 24, 2, 32, NULL},
    {{NULL}, {1, 1, 1}, {32, 1, 1}, 0, 1, 1, 32, NULL},
    {{NULL}, {1, 1, 1}, {33, 1, 1}, 0, 1, 2, 32, NULL},
    {{NULL}, {1, 1, 1}, {1024, 1, 1}, 0, 1, 32, 2, NULL},
    {{"gpu.max_warps", "63"}, {1, 1, 1}, {1024, 1, 1}, 0, 1, 32, 1, NULL},
    {{"gpu.max_warps", "31"},
     {1, 1, 1},
     {1024, 1, 1},
     0,
     1,
     32,
     0,
     "no block fits on an SM: too many warps (gpu.max_warps), registers or shared memory"},
    {{"gpu.max_blocks", "3"}, {1, 1, 1}, {64, 1, 1}, 0, 1, 2, 3, NULL},
    /* 33 registers per thread are 1,056 per warp, rounded up to 1,280 */
    {{"kernel.registers", "33"}, {1, 1, 1}, {64, 1, 1}, 0, 1, 2, 25, NULL},
    {{"kernel.registers", "32"}, {1, 1, 1}, {64, 1, 1}, 0, 1, 2, 32, NULL},
    {{"kernel.registers", "64", "gpu.registers", "4096"}, {1, 1, 1}, {64, 1, 1}, 0, 1, 2, 1, NULL},
    {{"kernel.registers", "64", "gpu.registers", "4095"},
     {1, 1, 1},
     {64, 1, 1},
     0,
     1,
     2,
     0,
     "no block fits on an SM: too many warps (gpu.max_warps), registers or shared memory"},
    /* shared memory */
    {{"gpu.shared_bytes", "10000"}, {1, 1, 1}, {64, 1, 1}, 1000, 1, 2, 10, NULL},
    {{"gpu.shared_bytes", "10000", "gpu.reserved_bytes", "1000"},
     {1, 1, 1},
     {64, 1, 1},
     1000,
     1,
     2,
     5,
     NULL},
    {{"gpu.shared_bytes", "10000", "kernel.shared_bytes", "5000"},
     {1, 1, 1},
     {64, 1, 1},
     UINT64_MAX,
     1,
     2,
     2,
     NULL},
    {{"gpu.shared_bytes", "10000", "kernel.shared_bytes", "5000"},
     {1, 1, 1},
     {64, 1, 1},
     2500,
     1,
     2,
     4,
     NULL},
    {{"gpu.shared_bytes", "999"},
     {1, 1, 1},
     {64, 1, 1},
     1000,
     1,
     2,
     0,
     "no block fits on an SM: too many warps (gpu.max_warps), registers or shared memory"},
    {{NULL}, {1, 1, 1}, {64, 1, 1}, 1000000, 1, 2, 32, NULL},
    {{NULL},
     {0, 1, 1},
     {64, 1, 1},
     0,
     0,
     2,
     0,
     "the grid has no blocks, or its blocks have no threads"},
    {{NULL},
     {1, 1, 1},
     {64, 0, 1},
     0,
     1,
     0,
     0,
     "the grid has no blocks, or its blocks have no threads"},
    {{NULL},
     {UINT32_MAX, UINT32_MAX, 2},
     {64, 1, 1},
     0,
     0,
     2,
     0,
     "the number of blocks in the grid exceeds 64 bits"},
};

static void resident_blocks_are_limited(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(launches); i++) {
        struct fth_model_params *params = make_params(launches[i].sets);
        struct fth_setting setting;
        struct fth_error error = NO_ERROR;
        struct fth_trace_launch launch = {.kernel = "k", .shared_bytes = launches[i].shared_bytes};
        memcpy(launch.grid, launches[i].grid, sizeof launch.grid);
        memcpy(launch.block, launches[i].block, sizeof launch.block);
        const enum fth_status status = fth_model_setting(params, &launch, &setting, &error);
        fth_model_params_destroy(params);
        if (launches[i].cause) {
            if (status != FTH_INVALID || strcmp(error.cause, launches[i].cause) != 0)
                fail_msg("row %zu: %s", i, error.cause);
            assert_string_equal(error.argument, "k");
            continue;
        }
        if (status != FTH_OK || setting.blocks != launches[i].blocks ||
            setting.warps_per_block != launches[i].warps ||
            setting.blocks_at_once != launches[i].resident)
            fail_msg("row %zu: %llu %llu %llu", i, (unsigned long long)setting.blocks,
                     (unsigned long long)setting.warps_per_block,
                     (unsigned long long)setting.blocks_at_once);
    }
}

/* The driver reserves 1,024 bytes per block. A kernel without shared memory of its own gets four
 * times that. Space for blocks that are not resident is limited to 132 KiB. */
static void the_carve_out_depends_on_the_reserved_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *max_blocks;
        uint64_t shared_bytes, carveout_kib;
    } rows[] = {{"1", 0, 8},       {"2", 0, 8},       {"3", 0, 16},       {"8", 0, 32},
                {"16", 0, 32},     {"8", 1, 32},      {"7", 1, 16},       {"2", 33 << 10, 132},
                {"3", 39936, 132}, {"4", 50176, 228}, {"1", 150000, 164}, {"1", 200000, 228}};
    static const uint64_t carveouts[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_setting setting;
        struct fth_trace_launch launch = plain_launch;
        launch.shared_bytes = rows[i].shared_bytes;
        struct fth_model_params *params = make_params(
            (const char *const[]){"gpu.max_blocks", rows[i].max_blocks, "gpu.shared_bytes",
                                  "233472", "gpu.reserved_bytes", "1024", NULL});
        params->carveout_count = FTH_COUNT(carveouts);
        for (size_t k = 0; k < FTH_COUNT(carveouts); k++) {
            params->carveout_bytes[k] = carveouts[k] << 10;
            params->carveout_l1_bytes[k] = (256 - carveouts[k]) << 10;
        }
        assert_int_equal(fth_model_setting(params, &launch, &setting, NULL), FTH_OK);
        if (setting.l1_bytes != (256 - rows[i].carveout_kib) << 10)
            fail_msg("row %zu: %llu", i, (unsigned long long)(256 - (setting.l1_bytes >> 10)));
        fth_model_params_destroy(params);
    }
}

/* The carve-out has space for twice the resident blocks, for at most 32. */
static void the_carve_out_leaves_the_l1(void **state)
{
    (void)state;
    static const struct {
        const char *max_blocks;
        uint64_t shared_bytes, l1_bytes;
    } rows[] = {
        {"32", 0, 220000},    {"32", 1024, 200000}, {"32", 1025, 150000}, {"1", 16384, 200000},
        {"1", 16385, 150000}, {"4", 8192, 150000},  {"4", 8193, 30000},   {"15", 2184, 150000},
        {"15", 2185, 30000},  {"16", 2048, 150000}, {"17", 2048, 150000}, {"17", 2049, 30000},
        {"1", 50000, 30000},  {"1", 100000, 30000},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_setting setting;
        struct fth_trace_launch launch = plain_launch;
        launch.shared_bytes = rows[i].shared_bytes;
        struct fth_model_params *params = make_params((const char *const[]){
            "gpu.max_blocks", rows[i].max_blocks, "gpu.shared_bytes", "100000", NULL});
        const uint64_t carveouts[] = {0, 32768, 65535 + 1, 100000},
                       l1[] = {220000, 200000, 150000, 30000};
        for (size_t k = 0; k < 4; k++) {
            params->carveout_bytes[k] = carveouts[k];
            params->carveout_l1_bytes[k] = l1[k];
        }
        params->carveout_count = 4;
        assert_int_equal(fth_model_setting(params, &launch, &setting, NULL), FTH_OK);
        if (setting.l1_bytes != rows[i].l1_bytes)
            fail_msg("row %zu: %llu", i, (unsigned long long)setting.l1_bytes);
        /* A size that is set replaces that of the carve-out. */
        assert_int_equal(fth_model_set(params, "l1.size_bytes", "4096", NULL), FTH_OK);
        assert_int_equal(fth_model_setting(params, &launch, &setting, NULL), FTH_OK);
        assert_int_equal(setting.l1_bytes, 4096);
        fth_model_params_destroy(params);
    }
}

/* ---- values of parameters ---- */

#define NUMBER "is not a valid number (only a number of cycles may have a fraction)"

static const struct {
    const char *name, *value, *stored, *cause; /* cause NULL: accepted */
} values[] = {
    {"gpu.sms", "1", "1", NULL},
    {"gpu.sms", "65536", "65536", NULL},
    {"gpu.sms", "0x10", "16", NULL},
    {"gpu.sms", "0", NULL, "0 is not between 1 and 65536"},
    {"gpu.sms", "65537", NULL, "65537 is not between 1 and 65536"},
    {"gpu.sms", "", NULL, "'' " NUMBER},
    {"gpu.sms", "4x", NULL, "'4x' " NUMBER},
    {"gpu.sms", "-4", NULL, "'-4' " NUMBER},
    {"gpu.sms", "4.5", NULL, "'4.5' " NUMBER},
    {"gpu.sms", "99999999999999999999", NULL, "'99999999999999999999' " NUMBER},
    {"l1.size_bytes", "32K", "32768", NULL},
    {"l1.size_bytes", "1T", "1099511627776", NULL},
    {"l1.size_bytes", "4", "4", NULL},
    {"l1.size_bytes", "3", NULL, "3 is not between 4 and 1099511627776"},
    {"l1.size_bytes", "1099511627777", NULL, "1099511627777 is not between 4 and 1099511627776"},
    {"l1.size_bytes", "many", NULL, "'many' is not a size, such as 32K"},
    {"l1.latency_cycles", "33.5", "33.5", NULL},
    {"l1.latency_cycles", "", "", NULL},
    {"l1.latency_cycles", "0", "0", NULL},
    {"l1.latency_cycles", "-1", NULL, "'-1' " NUMBER},
    {"l1.latency_cycles", "inf", NULL, "'inf' " NUMBER},
    {"l1.latency_cycles", "1000000001", NULL, "1000000001 is not between 0 and 1000000000"},
    {"l1.policy", "plru", "plru", NULL},
    {"l1.policy", "srrip", "srrip", NULL},
    {"l2.policy", "drrip", "drrip", NULL},
    {"l1.policy", "belady", "belady", NULL},
    {"l1.policy", "random", "random", NULL},
    {"l1.policy", "lru", "lru", NULL},
    {"l1.policy", "ru", NULL,
     "'ru' is not one of: lru, fifo, lfu, plru, random, clock, srrip, drrip, belady"},
    {"l1.policy", "lr", NULL,
     "'lr' is not one of: lru, fifo, lfu, plru, random, clock, srrip, drrip, belady"},
    {"l1.policy", "lru,", NULL,
     "'lru,' is not one of: lru, fifo, lfu, plru, random, clock, srrip, drrip, belady"},
    {"l1.policy", "", NULL,
     "'' is not one of: lru, fifo, lfu, plru, random, clock, srrip, drrip, belady"},
    {"l2.index", "shift:3", "shift:3", NULL},
    {"gpu.mapping", "anything", "anything", NULL}, /* checked when it is used */
    {"l1.wayz", "4", NULL, "no such parameter; did you mean l1.ways?"},
    {"xyzzy.plugh", "4", NULL, "no such parameter; 'fathom model --parameters' lists them"},
};

static void values_are_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(values); i++) {
        struct fth_error error = NO_ERROR;
        struct fth_model_params *params = make_params((const char *const[]){NULL});
        const enum fth_status status =
            fth_model_set(params, values[i].name, values[i].value, &error);
        if ((status == FTH_OK) != !values[i].cause ||
            strcmp(error.cause, values[i].cause ? values[i].cause : "") != 0)
            fail_msg("%s=%s: %s", values[i].name, values[i].value, error.cause);
        struct fth_model_parameter parameter;
        for (size_t key = 0; fth_model_parameter(key, &parameter); key++) {
            enum fth_model_source source;
            const char *value = fth_model_value(params, key, &source);
            const bool changed = values[i].stored && strcmp(parameter.name, values[i].name) == 0;
            assert_int_equal(source, changed ? FTH_MODEL_SET : FTH_MODEL_DEFAULT);
            if (changed)
                assert_string_equal(value, values[i].stored);
        }
        fth_model_params_destroy(params);
    }
    char longer[600];
    struct fth_error error = NO_ERROR;
    struct fth_model_params *params = make_params((const char *const[]){NULL});
    memset(longer, '1', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    longer[sizeof params->values[0].text] = '\0';
    assert_int_equal(fth_model_set(params, "gpu.mapping", longer, &error), FTH_INVALID);
    assert_string_equal(error.cause,
                        "the value is too long; if it is a list, write it to a file and use @FILE");
    longer[sizeof params->values[0].text - 1] = '\0';
    assert_int_equal(fth_model_set(params, "gpu.mapping", longer, NULL), FTH_OK);
    assert_null(fth_model_value(params, FTH_MODEL_KEYS, NULL));
    fth_model_params_destroy(params);
}

/* The one of sets and ways that is set last counts. */
static void sets_and_ways_replace_each_other(void **state)
{
    (void)state;
    static const struct {
        const char *sets[7], *stored[2];
    } rows[] = {
        {{"l2.sets", "64"}, {"64", "0"}},
        {{"l2.ways", "8"}, {"0", "8"}},
        {{"l2.ways", "8", "l2.sets", "64"}, {"64", "0"}},
        {{"l2.sets", "64", "l2.ways", "8"}, {"0", "8"}},
        {{"l2.sets", "64", "l2.ways", "0"}, {"64", "0"}},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_model_params *params = make_params(rows[i].sets);
        const size_t key = fth_model_key(FTH_MODEL_L2, FTH_KEY_SETS);
        assert_string_equal(params->values[key].text, rows[i].stored[0]);
        assert_string_equal(params->values[key + 1].text, rows[i].stored[1]);
        assert_string_equal(params->values[fth_model_key(FTH_MODEL_L1, FTH_KEY_SETS)].text, "4");
        fth_model_params_destroy(params);
    }
}

/* ---- time floor ---- */

/* 1000 read sectors per SM on 10 SMs, 4000 sectors of the L2, and 2000 of memory: 320 KB, 128 KB
 * and 64 KB at full use of the L1s. */
static void the_slowest_level_is_the_floor(void **state)
{
    (void)state;
    static const struct {
        const char *sets[7];
        enum fth_model_limit limit;
        double seconds;
    } cases[] = {
        {{"l1.bytes_per_s", "320e3", "l2.bytes_per_s", "256e3", "memory.bytes_per_s", "128e3"},
         FTH_LIMIT_L1,
         1},
        {{"l1.bytes_per_s", "640e3", "l2.bytes_per_s", "64e3", "memory.bytes_per_s", "64e3"},
         FTH_LIMIT_L2,
         2},
        {{"l1.bytes_per_s", "320e3", "l2.bytes_per_s", "64e3", "memory.bytes_per_s", "16e3"},
         FTH_LIMIT_MEMORY,
         4},
        {{"memory.bytes_per_s", "128e3"}, FTH_LIMIT_MEMORY, 0.5}, /* the others are unknown */
        {{"l2.bytes_per_s", "0"}, FTH_LIMIT_NONE, (double)NAN},
    };
    const struct fth_model_row row = {.l1 = {.sectors = {5000, 1, 1}},
                                      .l2 = {.sectors = {1000, 2500, 500}},
                                      .dram_reads = 1500,
                                      .dram_writes = 500,
                                      .l1_read_sectors_per_sm = 1000};
    const struct fth_trace_instruction instruction = {.line = 1};
    const struct fth_model_row line = {.instruction = &instruction, .dram_reads = 1};
    const struct fth_model_row idle = {.launches = 1};
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_model_params *params = make_params(cases[i].sets);
        enum fth_model_limit limit;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_model_set(params, "gpu.sms", "10", &error), FTH_OK);
        const double seconds = fth_model_floor_s(&row, params, &limit);
        assert_int_equal(limit, cases[i].limit);
        assert_true(isnan(cases[i].seconds) ? isnan(seconds) : seconds == cases[i].seconds);
        assert_true(isnan(fth_model_floor_s(&line, params, &limit)));
        assert_int_equal(limit, FTH_LIMIT_NONE);
        const double nothing = fth_model_floor_s(&idle, params, &limit);
        assert_true(isnan(cases[i].seconds) ? isnan(nothing) : nothing == 0);
        assert_int_equal(limit, FTH_LIMIT_NONE);
        fth_model_params_destroy(params);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caches_follow_from_the_parameters),
        cmocka_unit_test(latencies_have_two_constants),
        cmocka_unit_test(writes_follow_the_bypass),
        cmocka_unit_test(resident_blocks_are_limited),
        cmocka_unit_test(the_carve_out_leaves_the_l1),
        cmocka_unit_test(the_carve_out_depends_on_the_reserved_bytes),
        cmocka_unit_test(values_are_checked),
        cmocka_unit_test(sets_and_ways_replace_each_other),
        cmocka_unit_test(the_slowest_level_is_the_floor),
    };
    return cmocka_run_group_tests_name("model_settings", tests, NULL, NULL);
}
