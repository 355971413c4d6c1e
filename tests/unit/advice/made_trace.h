/* Makes traces of chosen accesses, for tests of edits and hints. */
#ifndef FTH_TEST_MADE_TRACE_H
#define FTH_TEST_MADE_TRACE_H

#include "advice/advice_parts.h"
#include "check.h"

#include <stdlib.h>
#include <unistd.h>

enum { MADE_WARPS = 1 << 16 };

/* A trace that is being made, of one launch of the kernel "k". */
struct made {
    struct fth_trace_writer *writer;
    struct fth_records records;
    int fd;
    uint64_t warps_per_block;
    uint64_t *numbers; /* of the next access of each warp */
    struct fth_pace pace;
    struct fth_shared_table shared;
    struct fth_trace_launch totals;
};

static inline struct made make(const uint32_t grid[3], uint32_t threads)
{
    struct made made = {.warps_per_block = (threads + 31) / 32, .totals = {.shared = 7}};
    made.numbers = calloc(MADE_WARPS, sizeof *made.numbers);
    assert_non_null(made.numbers);
    assert_int_equal(fth_temporary_open(&made.fd, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_attach(made.fd, "made", &made.writer, NULL), FTH_OK);
    assert_int_equal(
        fth_trace_writer_begin(made.writer, "k", grid, (uint32_t[]){threads, 1, 1}, NULL), FTH_OK);
    return made;
}

/* Adds an instruction on a line of the PTX and on a line of the file /src/k.cu. */
static inline uint32_t made_on_line(struct made *made, uint32_t line, uint32_t source_line,
                                    enum fth_trace_access_kind kind, uint32_t bytes,
                                    uint32_t cache_op)
{
    const struct fth_source_position source = {.file = "/src/k.cu", .line = source_line};
    const struct fth_trace_instruction instruction = {.line = line,
                                                      .source_line = source_line,
                                                      .kind = kind,
                                                      .bytes = bytes,
                                                      .cache_op = cache_op,
                                                      .source = &source,
                                                      .wait = UINT32_MAX};
    const size_t number = fth_trace_writer_instruction(made->writer, &instruction);
    assert_true(number != SIZE_MAX);
    return (uint32_t)number;
}

/* The same on line `line` + 100 of the file. */
static inline uint32_t made_operator(struct made *made, uint32_t line,
                                     enum fth_trace_access_kind kind, uint32_t bytes,
                                     uint32_t cache_op)
{
    return made_on_line(made, line, line + 100, kind, bytes, cache_op);
}

static inline uint32_t made_instruction(struct made *made, uint32_t line,
                                        enum fth_trace_access_kind kind, uint32_t bytes)
{
    return made_operator(made, line, kind, bytes, 0);
}

/* Adds an access of the lanes in `mask`, which are `stride` bytes apart. */
static inline void made_lanes(struct made *made, uint64_t block, uint32_t warp,
                              uint32_t instruction, uint32_t mask, uint64_t address,
                              uint64_t stride)
{
    uint64_t addresses[32], *number = &made->numbers[block * made->warps_per_block + warp];
    size_t count = 0;
    assert_true(block * made->warps_per_block + warp < MADE_WARPS);
    for (uint32_t lane = 0; lane < 32; lane++)
        if (mask >> lane & 1)
            addresses[count++] = address + lane * stride;
    const struct fth_record record = {.number = (*number)++,
                                      .block = block,
                                      .warp = warp,
                                      .instruction = instruction,
                                      .mask = mask};
    assert_true(fth_records_add(&made->records, &record, addresses));
}

/* The same for all lanes. */
static inline void made_access(struct made *made, uint64_t block, uint32_t warp,
                               uint32_t instruction, uint64_t address, uint64_t stride)
{
    made_lanes(made, block, warp, instruction, UINT32_MAX, address, stride);
}

/* Adds ten accesses to shared memory. */
static inline void made_shared(struct made *made, uint32_t line, uint32_t bytes,
                               uint64_t wavefronts, uint64_t padded_wavefronts)
{
    const struct fth_trace_instruction instruction = {
        .line = line, .bytes = bytes, .hints = FTH_TRACE_SHARED, .wait = UINT32_MAX};
    const size_t number = fth_trace_writer_instruction(made->writer, &instruction);
    struct fth_trace_shared *row = fth_shared_row(&made->shared, number);
    assert_non_null(row);
    *row = (struct fth_trace_shared){.requests = 10,
                                     .threads = 320,
                                     .wavefronts = wavefronts,
                                     .ideal_wavefronts = 10,
                                     .padded_wavefronts = padded_wavefronts};
}

static inline struct fth_trace *made_open(struct made *made)
{
    struct fth_trace *trace = NULL;
    assert_int_equal(fth_trace_writer_add(made->writer, &made->records, NULL), FTH_OK);
    fth_trace_writer_set_pace(made->writer, &made->pace);
    fth_trace_writer_set_shared(made->writer, &made->shared);
    assert_int_equal(fth_trace_writer_end(made->writer, &made->totals, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_commit(made->writer, NULL), FTH_OK);
    assert_int_equal(fth_trace_attach(made->fd, "made", &trace, NULL), FTH_OK);
    close(made->fd);
    fth_records_fini(&made->records);
    fth_pace_fini(&made->pace);
    fth_shared_table_fini(&made->shared);
    free(made->numbers);
    return trace;
}

#endif
