/* What the tests of the model with time share: parameters and traces of a few accesses. */
#ifndef FTH_TESTS_TIMED_SETUP_H
#define FTH_TESTS_TIMED_SETUP_H

#include "../../check.h"
#include "../../folder.h"
#include "model/timed/timed.h"

#include <math.h>

#define CYCLE ((uint64_t)FTH_TICKS_PER_CYCLE)

/* Parameters of a small GPU whose costs are simple numbers: a hit in the L1 takes 10 cycles, one in
 * the L2 20, and an access to memory 100. Only latencies cost time, unless a test sets more. */
static const char *const simple_gpu[] = {"gpu.timing",
                                         "on",
                                         "gpu.sms",
                                         "1",
                                         "gpu.clock_hz",
                                         "1e9",
                                         "l1.latency_cycles",
                                         "10",
                                         "l2.latency_cycles",
                                         "20",
                                         "memory.latency_cycles",
                                         "100",
                                         "l2.bytes_per_s",
                                         "1e18",
                                         "memory.bytes_per_s",
                                         "1e18",
                                         "time.issue_cycles",
                                         "2",
                                         "time.port_cycles",
                                         "0",
                                         "time.store_cycles",
                                         "0",
                                         "time.merge_cycles",
                                         "0",
                                         "time.store_merge_cycles",
                                         "0",
                                         "time.block_cycles",
                                         "0",
                                         "time.start_cycles",
                                         "0",
                                         "time.jitter_cycles",
                                         "0",
                                         "time.spread_cycles",
                                         "0",
                                         "time.warp_cycles",
                                         "0",
                                         "l2.partial_ways",
                                         "0",
                                         "time.launch_sectors",
                                         "0",
                                         "time.refill_cycles",
                                         "0",
                                         "time.refill_period_cycles",
                                         "0",
                                         "time.launch_ns",
                                         "0",
                                         NULL};

/* Creates parameters. Both lists have alternating names and values, and end with NULL. */
static inline struct fth_model_params *make_params(const char *const *sets, const char *const *more)
{
    struct fth_model_params *params = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_model_params_create(NULL, &params, NULL), FTH_OK);
    for (int list = 0; list < 2; list++)
        for (const char *const *set = list ? more : sets; *set; set += 2)
            if (fth_model_set(params, set[0], set[1], &error) != FTH_OK)
                fail_msg("%s=%s: %s", set[0], set[1], error.cause);
    return params;
}

/* Resolves the parameters for a launch. */
static inline struct fth_setting make_setting(const struct fth_model_params *params,
                                              uint32_t blocks, uint32_t warps)
{
    const struct fth_trace_launch launch = {
        .kernel = "k", .grid = {blocks, 1, 1}, .block = {32 * warps, 1, 1}};
    struct fth_setting setting;
    struct fth_error error = NO_ERROR;
    if (fth_model_setting(params, &launch, &setting, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return setting;
}

/* An access of one lane of a warp. Accesses of a warp have ascending numbers. */
struct short_access {
    uint64_t block;
    uint32_t warp, instruction;
    uint64_t address;
};

/* A row of a pace; from = FTH_PACE_START: the start of a warp. */
struct short_pace {
    uint32_t from, to;
    uint64_t count, instructions, barriers, shared, latency_cycles, constants;
};

struct short_instruction {
    enum fth_trace_access_kind kind;
    uint32_t wait;
};

/* A launch of a trace. Each instruction accesses 4 bytes per lane. */
struct short_launch {
    uint32_t blocks, warps;
    const struct short_instruction *instructions;
    size_t instruction_count;
    const struct short_access *accesses;
    size_t access_count;
    const struct short_pace *pace;
    size_t pace_count;
};

static inline struct fth_trace *make_trace(const struct short_launch *launch)
{
    const uint32_t grid[3] = {launch->blocks, 1, 1}, block[3] = {32 * launch->warps, 1, 1};
    const struct fth_trace_launch totals = {.shared_bytes = 0};
    struct fth_trace_writer *writer = NULL;
    struct fth_records records = {0};
    struct fth_pace pace = {0};
    struct fth_trace *trace = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_trace_writer_create("t.trace", &writer, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_begin(writer, "k", grid, block, NULL), FTH_OK);
    for (size_t i = 0; i < launch->instruction_count; i++)
        assert_int_equal(
            fth_trace_writer_instruction(
                writer, &(struct fth_trace_instruction){.line = (uint32_t)i + 1,
                                                        .kind = launch->instructions[i].kind,
                                                        .bytes = 4,
                                                        .wait = launch->instructions[i].wait}),
            i);
    for (size_t i = 0; i < launch->access_count; i++) {
        const struct short_access *access = &launch->accesses[i];
        const struct fth_record record = {.number = i,
                                          .block = access->block,
                                          .instruction = access->instruction,
                                          .warp = access->warp,
                                          .mask = 1};
        assert_true(fth_records_add(&records, &record, &access->address));
    }
    for (size_t i = 0; i < launch->pace_count; i++) {
        const struct short_pace *row = &launch->pace[i];
        struct fth_pace_step *step = fth_pace_step(&pace, row->from, row->to);
        *step = (struct fth_pace_step){.from = row->from,
                                       .to = row->to,
                                       .count = row->count,
                                       .instructions = row->instructions,
                                       .barriers = row->barriers,
                                       .shared = row->shared,
                                       .latency_cycles = row->latency_cycles,
                                       .constants = row->constants};
    }
    if (launch->pace_count)
        fth_trace_writer_set_pace(writer, &pace);
    assert_int_equal(fth_trace_writer_add(writer, &records, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_end(writer, &totals, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_commit(writer, NULL), FTH_OK);
    if (fth_trace_open("t.trace", &trace, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_records_fini(&records);
    fth_pace_fini(&pace);
    return trace;
}

#endif
