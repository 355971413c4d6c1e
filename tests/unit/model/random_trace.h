/* A trace of random accesses, for tests that compare runs of a model. */
#ifndef FTH_TEST_RANDOM_TRACE_H
#define FTH_TEST_RANDOM_TRACE_H

#include "check.h"
#include "trace/trace.h"

/* Adds a launch of reads, writes and atomics of random lines to a trace. */
static inline void write_random_launch(struct fth_trace_writer *writer, struct fth_rng *rng)
{
    enum { BLOCKS = 6, ACCESSES = 301 }; /* the last round of the L2 is not complete */
    const uint32_t grid[3] = {BLOCKS, 1, 1}, warp[3] = {32, 1, 1};
    struct fth_records records = {0};
    assert_int_equal(fth_trace_writer_begin(writer, "k", grid, warp, NULL), FTH_OK);
    for (uint64_t i = 0; i < (uint64_t)BLOCKS * ACCESSES; i++) {
        const uint64_t kind = fth_rng_below(rng, 8); /* mostly reads */
        const struct fth_trace_instruction facts = {.line = (uint32_t)kind + 1,
                                                    .kind = kind < 6    ? FTH_TRACE_READ
                                                            : kind == 6 ? FTH_TRACE_WRITE
                                                                        : FTH_TRACE_ATOMIC,
                                                    .bytes = 4};
        const uint64_t address = 128 * fth_rng_below(rng, 96) + 32 * fth_rng_below(rng, 4);
        const uint64_t addresses[2] = {address, address + 4 * fth_rng_below(rng, 40)};
        const struct fth_record record = {
            .number = i / BLOCKS,
            .block = i % BLOCKS,
            .instruction = (uint32_t)fth_trace_writer_instruction(writer, &facts),
            .mask = 3};
        assert_true(fth_records_add(&records, &record, addresses));
    }
    assert_int_equal(fth_trace_writer_add(writer, &records, NULL), FTH_OK);
    assert_int_equal(
        fth_trace_writer_end(writer, &(struct fth_trace_launch){.shared_bytes = 0}, NULL), FTH_OK);
    fth_records_fini(&records);
}

/* Writes a trace (r.trace) of such launches. */
static inline void write_random_trace(size_t launch_count)
{
    struct fth_trace_writer *writer = NULL;
    struct fth_rng rng;
    fth_rng_init(&rng, 1);
    assert_int_equal(fth_trace_writer_create("r.trace", &writer, NULL), FTH_OK);
    for (size_t i = 0; i < launch_count; i++)
        write_random_launch(writer, &rng);
    assert_int_equal(fth_trace_writer_commit(writer, NULL), FTH_OK);
}

#endif
