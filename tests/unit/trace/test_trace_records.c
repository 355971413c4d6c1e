/* Tests of trace/: accesses with addresses in compact form (fth_records_add_linear) give the same
 * trace as the same accesses with a list of addresses. */
#include "check.h"
#include "ptx/ptx.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <unistd.h>

enum { ACCESSES = 3000, INSTRUCTIONS = 5, WARPS = 4 };

/* A step between addresses: mostly one that an earlier access had, too. */
static uint64_t random_step(struct fth_rng *rng)
{
    static const int64_t steps[] = {0, 4, 4, 4, -4, 64, (int64_t)1 << 33, -((int64_t)1 << 40)};
    return (uint64_t)steps[fth_rng_below(rng, FTH_COUNT(steps))];
}

static uint32_t random_mask(struct fth_rng *rng)
{
    const uint32_t low = (uint32_t)fth_rng_below(rng, 32);
    switch (fth_rng_below(rng, 8)) {
    case 0: return (uint32_t)fth_rng_next(rng) | 1;
    case 1: return UINT32_MAX << low;
    case 2: return UINT32_MAX >> low;
    case 3: return 1u << low;
    case 4: return 0x7ffe7ffe;
    default: return UINT32_MAX;
    }
}

/* Writes random accesses and returns the bytes of the file. `compact`: with addresses in compact
 * form; otherwise, and for each tenth access, with a list. */
static struct fth_buffer write_trace(uint64_t seed, bool compact)
{
    struct fth_records records = {0};
    struct fth_trace_writer *writer;
    struct fth_rng rng;
    int fd;
    fth_rng_init(&rng, seed);
    assert_int_equal(fth_temporary_open(&fd, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_attach(fd, "t", &writer, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_begin(writer, "k", (uint32_t[3]){1, 1, 1},
                                            (uint32_t[3]){32 * WARPS, 1, 1}, NULL),
                     FTH_OK);
    for (uint32_t i = 0; i < ACCESSES; i++) {
        const struct fth_trace_instruction facts = {
            .line = 1 + (uint32_t)fth_rng_below(&rng, INSTRUCTIONS), .bytes = 4};
        const uint32_t row_lanes = 32u >> fth_rng_below(&rng, 4);
        const struct fth_ptx_linear linear = {
            fth_rng_next(&rng), random_step(&rng),
            row_lanes < 32 ? random_step(&rng) * (fth_rng_below(&rng, 2) ? row_lanes : 1) : 0};
        const struct fth_record record = {
            .number = i / WARPS,
            .warp = i % WARPS,
            .instruction = (uint32_t)fth_trace_writer_instruction(writer, &facts),
            .mask = random_mask(&rng)};
        uint64_t addresses[32];
        size_t count = 0;
        for (uint32_t lane = 0; lane < 32; lane++)
            if (record.mask >> lane & 1)
                addresses[count++] = linear.base + lane % row_lanes * linear.step +
                                     lane / row_lanes * linear.row_step;
        assert_true(compact && i % 10
                        ? fth_records_add_linear(&records, &record, &linear, row_lanes)
                        : fth_records_add(&records, &record, addresses));
        if (i % 100 == 99) {
            assert_int_equal(fth_trace_writer_add(writer, &records, NULL), FTH_OK);
            fth_records_clear(&records);
        }
    }
    assert_int_equal(fth_trace_writer_end(writer, &(struct fth_trace_launch){0}, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_commit(writer, NULL), FTH_OK);
    fth_records_fini(&records);
    struct fth_buffer file = {0};
    const off_t size = lseek(fd, 0, SEEK_END);
    assert_true(fth_buffer_reserve(&file, (size_t)size));
    assert_int_equal(pread(fd, file.data, (size_t)size, 0), size);
    file.size = (size_t)size;
    close(fd);
    return file;
}

static void compact_addresses_give_the_same_file(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct fth_buffer listed = write_trace(seed, false), compact = write_trace(seed, true);
        assert_int_equal(compact.size, listed.size);
        assert_memory_equal(compact.data, listed.data, listed.size);
        fth_buffer_fini(&listed);
        fth_buffer_fini(&compact);
    }
}

/* A block has 1 to 1024 threads. The writer does not check this; 0 counts as 1. */
static void launches_have_valid_blocks(void **state)
{
    (void)state;
    static const struct {
        uint32_t block[3];
        enum fth_status status;
    } rows[] = {
        {{1, 1, 1}, FTH_OK},
        {{0, 0, 0}, FTH_OK},
        {{1024, 1, 1}, FTH_OK},
        {{1025, 1, 1}, FTH_INVALID},
        {{1, 1025, 1}, FTH_INVALID},
        {{1, 1, 1025}, FTH_INVALID},
        {{32, 32, 1}, FTH_OK},
        {{33, 32, 1}, FTH_INVALID},
        {{8, 8, 16}, FTH_OK},
        {{16, 8, 16}, FTH_INVALID},
        {{1024, 1, 2}, FTH_INVALID},
        {{65536, 65536, 1}, FTH_INVALID},
        {{1u << 31, 2, 1}, FTH_INVALID},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char path[] = "/tmp/fathom-test-XXXXXX";
        struct fth_trace_writer *writer;
        struct fth_trace *trace = NULL;
        struct fth_error error = NO_ERROR;
        const int fd = mkstemp(path);
        assert_true(fd >= 0);
        unlink(path);
        assert_int_equal(fth_trace_writer_attach(fd, "trace", &writer, NULL), FTH_OK);
        assert_int_equal(
            fth_trace_writer_begin(writer, "k", (uint32_t[]){1, 1, 1}, rows[i].block, NULL),
            FTH_OK);
        assert_int_equal(fth_trace_writer_end(writer, &(struct fth_trace_launch){0}, NULL), FTH_OK);
        assert_int_equal(fth_trace_writer_commit(writer, NULL), FTH_OK);
        assert_int_equal(fth_trace_attach(fd, "trace", &trace, &error), rows[i].status);
        assert_contains(error.cause, rows[i].status == FTH_OK ? "" : "no valid header");
        fth_trace_close(trace);
        close(fd);
    }
}

/* A frame of blocks 2 to 5 with 3 warps, and access numbers 7 to 9. The position of its only access
 * must be in these ranges. */
static void positions_are_in_their_ranges(void **state)
{
    (void)state;
    enum { POSITION_INSTRUCTION_LANES = 7, FRAME_WARPS = 3 };
    const struct fth_frame frame = {
        .first_block = 2, .last_block = 5, .first_number = 7, .last_number = 9, .count = 1};
    /* Differences: from the access number before the first one, and from the first block (or, in
     * the last two rows, from the block of the access before, which is the last block). */
    static const struct {
        uint64_t number, block;
        uint32_t warp;
        bool is_valid;
    } rows[] = {
        {1, 0, 0, true},           {1, 3, 2, true},           {3, 3, 2, true},
        {4, 0, 0, false},          {1, 4, 0, false},          {1, 0, 3, false},
        {1, UINT64_MAX, 0, false}, {UINT64_MAX, 0, 0, false}, {1, UINT64_MAX - 1, 0, false},
        {0, 0, 0, false},          {0, 1, 0, false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_buffer content = {0};
        struct fth_frame_decoder *decoder;
        struct fth_frame header;
        struct fth_compact_access access;
        struct fth_error error = NO_ERROR;
        enum fth_status status;
        const char tag = POSITION_INSTRUCTION_LANES;
        fth_put_frame_header(&frame, &content);
        fth_buffer_append(&content, &tag, 1);
        fth_put_varint(rows[i].number, &content);
        fth_put_varint(rows[i].block, &content);
        fth_put_varint(rows[i].warp, &content);
        fth_put_varint(0, &content); /* the instruction */
        fth_put_varint(1, &content); /* the mask, and that it is affine with this difference */
        fth_put_varint(1, &content);
        fth_put_varint(0, &content);
        assert_int_equal(fth_frame_decoder_create(1, FRAME_WARPS, &decoder, NULL), FTH_OK);
        assert_int_equal(
            fth_frame_decoder_begin(decoder, content.data, content.size, &header, NULL), FTH_OK);
        const size_t count = fth_frame_decoder_take(decoder, &access, 1, &status, &error);
        if (count != rows[i].is_valid || (status == FTH_OK) != rows[i].is_valid)
            fail_msg("row %zu: %zu accesses, status %d", i, count, status);
        if (rows[i].is_valid) {
            assert_int_equal(access.number, 6 + rows[i].number);
            assert_int_equal(access.block, 2 + rows[i].block);
            assert_int_equal(access.warp, rows[i].warp);
        }
        fth_frame_decoder_destroy(decoder);
        fth_buffer_fini(&content);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(compact_addresses_give_the_same_file),
                                       cmocka_unit_test(launches_have_valid_blocks),
                                       cmocka_unit_test(positions_are_in_their_ranges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
