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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(compact_addresses_give_the_same_file),
                                       cmocka_unit_test(launches_have_valid_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
