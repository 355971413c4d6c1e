/* The accesses of each warp, as the model with time reads them from a trace. */
#include "timed_setup.h"

#include <stdlib.h>

static const char *const none[] = {NULL};
static const struct short_instruction loads[] = {{FTH_TRACE_READ, UINT32_MAX},
                                                 {FTH_TRACE_WRITE, UINT32_MAX}};

struct fixture {
    struct fth_model_params *params;
    struct fth_setting setting;
    struct fth_trace *trace;
    struct fth_streams *streams;
    struct fth_slab_pool pool;
    /* The next accesses of the warps that a test has looked at. */
    struct {
        struct fth_warp_stream *warp;
        uint64_t block;
        const struct fth_timed_access *access;
    } positions[4];
};

/* Writes a trace without a pace. */
static struct fixture begin(uint32_t blocks, uint32_t warps, const struct short_access *accesses,
                            size_t count)
{
    const struct short_launch launch = {.blocks = blocks,
                                        .warps = warps,
                                        .instructions = loads,
                                        .instruction_count = 2,
                                        .accesses = accesses,
                                        .access_count = count};
    struct fixture fixture = {.params = make_params(simple_gpu, none),
                              .trace = make_trace(&launch)};
    fixture.setting = make_setting(fixture.params, blocks, warps);
    return fixture;
}

static enum fth_status create(struct fixture *fixture, uint64_t resident, struct fth_error *error)
{
    return fth_streams_create(fixture->trace, 0, &fixture->setting, resident, &fixture->pool,
                              &fixture->streams, error);
}

static void end(struct fixture *fixture)
{
    fth_streams_destroy(fixture->streams);
    fth_slab_pool_fini(&fixture->pool);
    fth_trace_close(fixture->trace);
    fth_model_params_destroy(fixture->params);
}

static struct fth_warp_stream *open_block(struct fixture *fixture, uint64_t block)
{
    struct fth_warp_stream *warps = NULL;
    assert_int_equal(fth_streams_open_block(fixture->streams, block, &warps, NULL), FTH_OK);
    return warps;
}

/* Returns where the next access of a warp is kept. */
static const struct fth_timed_access **position(struct fixture *fixture, uint64_t block,
                                                struct fth_warp_stream *warp)
{
    size_t i = 0;
    while (fixture->positions[i].warp &&
           (fixture->positions[i].warp != warp || fixture->positions[i].block != block))
        assert_true(++i < FTH_COUNT(fixture->positions));
    if (!fixture->positions[i].warp) {
        fixture->positions[i].warp = warp;
        fixture->positions[i].block = block;
        assert_int_equal(fth_streams_next(fixture->streams, block, warp, NULL,
                                          &fixture->positions[i].access, NULL),
                         FTH_OK);
    }
    return &fixture->positions[i].access;
}

/* Returns the next access of a warp, or NULL. */
static const struct fth_timed_access *peek(struct fixture *fixture, uint64_t block,
                                           struct fth_warp_stream *warp)
{
    return *position(fixture, block, warp);
}

/* Takes the next access of a warp, which must be to this line. */
static void expect_line(struct fixture *fixture, uint64_t block, struct fth_warp_stream *warp,
                        uint64_t line)
{
    const struct fth_timed_access **next = position(fixture, block, warp), *access = *next;
    assert_non_null(access);
    assert_int_equal(access->line_count, 1);
    assert_int_equal(access->lines[0].line, line);
    assert_int_equal(fth_streams_next(fixture->streams, block, warp, access, next, NULL), FTH_OK);
    fth_streams_drop(access);
}

static void accesses_belong_to_their_warps(void **state)
{
    (void)state;
    static const struct short_access accesses[] = {{0, 0, 0, 1024},     {1, 1, 1, 2048},
                                                   {0, 1, 0, 4096 + 8}, {0, 0, 1, 8192 + 32},
                                                   {1, 1, 0, 128},      {0, 1, 0, 256}};
    struct fixture fixture = begin(2, 2, accesses, FTH_COUNT(accesses));
    assert_int_equal(create(&fixture, 2, NULL), FTH_OK);
    struct fth_warp_stream *first = open_block(&fixture, 0), *second = open_block(&fixture, 1);
    expect_line(&fixture, 0, &first[1], 4096);
    expect_line(&fixture, 0, &first[0], 1024);
    const struct fth_timed_access *access = peek(&fixture, 0, &first[0]);
    assert_int_equal(access->instruction, 1);
    assert_int_equal(access->gap, 8);
    assert_int_equal(access->latency, 0);
    assert_int_equal(access->shared, 0);
    assert_false(access->barrier);
    assert_int_equal(access->lines[0].sectors, 2); /* the second sector of its line */
    assert_int_equal(access->lines[0].run_count, 1);
    assert_int_equal(fth_streams_runs(access)->from, 32);
    assert_int_equal(fth_streams_runs(access)->bytes, 4);
    expect_line(&fixture, 0, &first[0], 8192);
    expect_line(&fixture, 0, &first[1], 256);
    assert_null(peek(&fixture, 0, &first[0]));
    assert_null(peek(&fixture, 0, &first[1]));
    fth_streams_close_block(fixture.streams, 0);
    assert_null(peek(&fixture, 1, &second[0])); /* a warp without accesses */
    expect_line(&fixture, 1, &second[1], 2048);
    expect_line(&fixture, 1, &second[1], 128);
    assert_null(peek(&fixture, 1, &second[1]));
    fth_streams_close_block(fixture.streams, 1);
    assert_int_equal(fth_streams_loaded(fixture.streams), 6);
    assert_int_equal(fth_streams_warps(fixture.streams)[0 * 3 + FTH_TRACE_READ], 4);
    assert_int_equal(fth_streams_warps(fixture.streams)[1 * 3 + FTH_TRACE_WRITE], 2);
    end(&fixture);
}

/* Accesses that were read and not taken are freed (tests/leaks checks that). */
static void streams_can_be_left_early(void **state)
{
    (void)state;
    static const struct short_access accesses[] = {{0, 0, 0, 1024}, {1, 0, 1, 2048}};
    struct fixture fixture = begin(2, 1, accesses, FTH_COUNT(accesses));
    assert_int_equal(create(&fixture, 1, NULL), FTH_OK);
    assert_non_null(peek(&fixture, 0, open_block(&fixture, 0)));
    end(&fixture);
}

/* Three blocks with many accesses each, whose warps progress at the same speed. Two blocks are read
 * together, as much of them as is needed. */
static void long_blocks_are_read_on_demand(void **state)
{
    (void)state;
    enum { EACH = 140000, BLOCKS = 3, MAX_AHEAD = 1000 };
    struct short_access *accesses = calloc((size_t)BLOCKS * EACH, sizeof *accesses);
    assert_non_null(accesses);
    for (uint32_t i = 0; i < BLOCKS * EACH; i++)
        accesses[i] = (struct short_access){i % BLOCKS, 0, 0, 128 * (uint64_t)i};
    struct fixture fixture = begin(BLOCKS, 1, accesses, (size_t)BLOCKS * EACH);
    assert_int_equal(create(&fixture, 1, NULL), FTH_OK);
    struct fth_warp_stream *first = open_block(&fixture, 0), *second = open_block(&fixture, 1);
    assert_int_equal(fth_streams_loaded(fixture.streams), 0);
    uint64_t ahead = 0;
    for (uint64_t i = 0; i < EACH; i++) {
        expect_line(&fixture, 0, first, 128 * (BLOCKS * i));
        expect_line(&fixture, 1, second, 128 * (BLOCKS * i + 1));
        const uint64_t here = fth_streams_loaded(fixture.streams) - 2 * (i + 1);
        ahead = here > ahead ? here : ahead;
    }
    assert_true(ahead <= MAX_AHEAD);
    assert_null(peek(&fixture, 0, first));
    assert_null(peek(&fixture, 1, second));
    fth_streams_close_block(fixture.streams, 0);
    fth_streams_close_block(fixture.streams, 1);
    assert_int_equal(fth_streams_loaded(fixture.streams), 2 * EACH);
    struct fth_warp_stream *third = open_block(&fixture, 2);
    for (uint64_t i = 0; i < EACH; i++)
        expect_line(&fixture, 2, third, 128 * (BLOCKS * i + 2));
    assert_null(peek(&fixture, 2, third));
    fth_streams_close_block(fixture.streams, 2);
    assert_int_equal(fth_streams_loaded(fixture.streams), BLOCKS * EACH);
    end(&fixture);
    free(accesses);
}

/* 4,000,000,000 blocks, three of them with accesses. Blocks of the first wave are always run. */
static void blocks_without_accesses_are_left_out(void **state)
{
    (void)state;
    static const struct short_access accesses[] = {
        {3999999999, 0, 0, 1024}, {7, 0, 0, 2048}, {1000000000, 0, 0, 4096}, {7, 0, 0, 8192}};
    struct fixture fixture = begin(4000000000, 1, accesses, FTH_COUNT(accesses));
    assert_int_equal(create(&fixture, 4, NULL), FTH_OK);
    assert_int_equal(fth_streams_next_block(fixture.streams, 4), 7);
    struct fth_warp_stream *warps = open_block(&fixture, 7);
    expect_line(&fixture, 7, warps, 2048);
    expect_line(&fixture, 7, warps, 8192);
    assert_null(peek(&fixture, 7, warps));
    fth_streams_close_block(fixture.streams, 7);
    assert_int_equal(fth_streams_next_block(fixture.streams, 8), 1000000000);
    expect_line(&fixture, 1000000000, open_block(&fixture, 1000000000), 4096);
    assert_int_equal(fth_streams_next_block(fixture.streams, 1000000001), 3999999999);
    expect_line(&fixture, 3999999999, open_block(&fixture, 3999999999), 1024);
    assert_int_equal(fth_streams_next_block(fixture.streams, 4000000000), 4000000000);
    end(&fixture);
}

/* With at least one access per 17 blocks, all blocks are run. */
static void dense_grids_keep_all_blocks(void **state)
{
    (void)state;
    static const struct short_access accesses[] = {{20, 0, 0, 1024}};
    struct fixture fixture = begin(31, 1, accesses, 1);
    assert_int_equal(create(&fixture, 4, NULL), FTH_OK);
    assert_int_equal(fth_streams_next_block(fixture.streams, 4), 4);
    end(&fixture);
    fixture = begin(32, 1, accesses, 1);
    assert_int_equal(create(&fixture, 4, NULL), FTH_OK);
    assert_int_equal(fth_streams_next_block(fixture.streams, 4), 20);
    assert_int_equal(fth_streams_next_block(fixture.streams, 21), 32);
    end(&fixture);
    /* A grid that is resident as a whole has no next block. */
    fixture = begin(32, 1, accesses, 1);
    assert_int_equal(create(&fixture, 32, NULL), FTH_OK);
    assert_int_equal(fth_streams_next_block(fixture.streams, 4), 4);
    end(&fixture);
}

static void invalid_accesses_are_refused(void **state)
{
    (void)state;
    static const struct short_access wrong_warp[] = {{0, 2, 0, 1024}};
    struct fixture fixture = begin(1, 3, wrong_warp, 1);
    fixture.setting.warps_per_block = 2;
    struct fth_error error = NO_ERROR;
    const struct fth_timed_access *access = NULL;
    assert_int_equal(create(&fixture, 1, NULL), FTH_OK);
    struct fth_warp_stream *warps = open_block(&fixture, 0);
    assert_int_equal(fth_streams_next(fixture.streams, 0, warps, NULL, &access, &error),
                     FTH_INVALID);
    assert_contains(error.cause, "invalid access: warp 2 of block 0, where blocks have 2 warps");
    end(&fixture);

    static const struct short_access wrong_block[] = {{99, 0, 0, 1024}, {2, 0, 0, 4096}};
    fixture = begin(100, 1, wrong_block, 2);
    fixture.setting.blocks = 99;
    error = (struct fth_error)NO_ERROR;
    assert_int_equal(create(&fixture, 2, &error), FTH_INVALID);
    assert_contains(error.cause, "an access of block 99, but the grid has 99 blocks");
    assert_null(fixture.streams);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_belong_to_their_warps),
        cmocka_unit_test(streams_can_be_left_early),
        cmocka_unit_test(long_blocks_are_read_on_demand),
        cmocka_unit_test(blocks_without_accesses_are_left_out),
        cmocka_unit_test(dense_grids_keep_all_blocks),
        cmocka_unit_test(invalid_accesses_are_refused),
    };
    return cmocka_run_group_tests_name("streams", tests, enter_folder, leave_folder);
}
