/* The rules for hints: each fault of a kernel gives its hint, with the counts as evidence and the
 * figures of the model with the change; kernels without faults have no hints. */
#include "made_trace.h"

#include <math.h>
#include <stdio.h>

/* A GPU with two SMs, small caches, and all that the model with time needs. */
static struct fth_model_params *make_params(bool timed)
{
    static const char *const settings[][2] = {{"gpu.sms", "2"},
                                              {"l1.size_bytes", "16K"},
                                              {"l2.size_bytes", "256K"},
                                              {"l1.sets", "1"},
                                              {"l1.index", "mod"},
                                              {"l2.index", "mod"},
                                              {"l1.latency_cycles", "30"},
                                              {"l2.latency_cycles", "200"},
                                              {"memory.latency_cycles", "600"},
                                              {"l2.bytes_per_s", "1e11"},
                                              {"memory.bytes_per_s", "5e10"},
                                              {"gpu.clock_hz", "1.5e9"},
                                              {"l1.bytes_per_s", "2e11"}};
    struct fth_model_params *params = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_model_params_create(NULL, &params, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(settings); i++)
        if (fth_model_set(params, settings[i][0], settings[i][1], &error) != FTH_OK)
            fail_msg("%s: %s", settings[i][0], error.cause);
    assert_int_equal(fth_model_set(params, "gpu.timing", timed ? "on" : "off", NULL), FTH_OK);
    return params;
}

/* A trace, its result and its hints. */
struct advice {
    struct fth_trace *trace;
    struct fth_model_params *params;
    struct fth_model_result *result;
    struct fth_hints *hints;
};

/* Runs the model for a trace. */
static struct advice start(struct fth_trace *trace, bool timed)
{
    struct advice advice = {.trace = trace, .params = make_params(timed)};
    struct fth_error error = NO_ERROR;
    if (fth_model_run(trace, advice.params,
                      &(struct fth_model_options)FTH_MODEL_OPTIONS(.diagnose = true),
                      &advice.result, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return advice;
}

static void find(struct advice *advice, const struct fth_hints_options *options)
{
    struct fth_error error = NO_ERROR;
    if (fth_hints_create(advice->trace, advice->params, advice->result, options, &advice->hints,
                         &error) != FTH_OK)
        fail_msg("%s", error.cause);
}

static void finish(struct advice *advice)
{
    fth_hints_destroy(advice->hints);
    fth_model_result_destroy(advice->result);
    fth_model_params_destroy(advice->params);
    fth_trace_close(advice->trace);
}

/* Returns the row of the instruction on a line. */
static struct fth_model_row *row_of(const struct advice *advice, uint32_t line)
{
    for (size_t i = 0; i < advice->result->row_count; i++) {
        struct fth_model_row *row = &advice->result->rows[i];
        if (line ? row->instruction && row->instruction->line == line : !row->instruction)
            return row;
    }
    fail();
    return NULL;
}

/* Returns the hint of a rule; NULL: there is none. */
static const struct fth_hint *hint_of(const struct advice *advice, const char *rule)
{
    const struct fth_hint *hint;
    for (size_t i = 0; (hint = fth_hints_at(advice->hints, i)); i++)
        if (strcmp(hint->rule, rule) == 0)
            return hint;
    return NULL;
}

/* Checks the first hint. */
static const struct fth_hint *check_first(const struct advice *advice, const char *rule,
                                          uint32_t line, const char *evidence, const char *what_if)
{
    const struct fth_hint *hint = fth_hints_at(advice->hints, 0);
    if (!hint)
        fail_msg("no hint, expected %s", rule);
    assert_string_equal(hint->kernel, "k");
    assert_string_equal(hint->rule, rule);
    if (line) {
        assert_int_equal(hint->instruction->line, line);
        char place[32];
        snprintf(place, sizeof place, "k.cu:%u", (unsigned)line + 100);
        assert_contains(hint->text, place);
    }
    assert_contains(hint->evidence, evidence);
    assert_string_equal(hint->what_if, what_if);
    assert_true(hint->gain >= 0.03);
    return hint;
}

/* ---- addresses of lanes ---- */

/* 16 blocks of 4 warps read `stride` bytes apart and write adjacent words. The warps of a block
 * begin `shift` bytes apart. */
static struct fth_trace *make_strided(uint64_t stride, uint64_t shift)
{
    struct made made = make((uint32_t[]){16, 1, 1}, 128);
    const uint32_t load = made_instruction(&made, 10, FTH_TRACE_READ, 4);
    const uint32_t store = made_instruction(&made, 11, FTH_TRACE_WRITE, 4);
    for (uint64_t warp = 0; warp < 64; warp++) {
        made_access(&made, warp / 4, (uint32_t)warp % 4, load,
                    0x100000 + warp / 4 * 128 * stride + warp % 4 * shift, stride);
        made_access(&made, warp / 4, (uint32_t)warp % 4, store, 0x4000000 + warp * 128, 4);
    }
    return made_open(&made);
}

static void coalesced_kernels_have_no_hints(void **state)
{
    (void)state;
    for (int timed = 0; timed < 2; timed++) {
        struct advice advice = start(make_strided(4, 128), timed);
        find(&advice, NULL);
        assert_null(fth_hints_at(advice.hints, 0));
        finish(&advice);
    }
}

static void uncoalesced_accesses_are_found(void **state)
{
    (void)state;
    for (int timed = 0; timed < 2; timed++) {
        struct advice advice = start(make_strided(4096, 4), timed);
        find(&advice, NULL);
        const struct fth_hint *hint =
            check_first(&advice, "uncoalesced", 10,
                        "4096 bytes from thread to thread; 32.0 sectors per request; 4.0 would do",
                        "layout=10");
        assert_contains(hint->text, "load at");
        assert_true(hint->before.l1_bytes == 64 * (32 + 4) * 32);
        assert_true(hint->after.l1_bytes == 64 * (4 + 4) * 32);
        assert_true(isnan(hint->before.seconds) == !timed);
        if (timed)
            assert_true(fabs(hint->gain - (1 - hint->after.seconds / hint->before.seconds)) <
                        1e-12);
        finish(&advice);
    }
}

/* Lanes access words at irregular distances. */
static void irregular_accesses_are_found(void **state)
{
    (void)state;
    struct made made = make((uint32_t[]){16, 1, 1}, 32);
    const uint32_t load = made_instruction(&made, 10, FTH_TRACE_READ, 4);
    uint64_t next = 1;
    for (uint32_t block = 0; block < 16; block++) {
        uint64_t addresses[32];
        for (size_t i = 0; i < 32; i++) {
            next = next * UINT64_C(6364136223846793005) + 1442695040888963407;
            addresses[i] = 0x100000 + (next >> 40) % 65536 * 32;
        }
        const struct fth_record record = {.block = block, .instruction = load, .mask = UINT32_MAX};
        assert_true(fth_records_add(&made.records, &record, addresses));
    }
    struct advice advice = start(made_open(&made), true);
    find(&advice, NULL);
    const struct fth_hint *hint = check_first(&advice, "uncoalesced", 10, "would do", "layout=10");
    assert_contains(hint->text, "irregular distances");
    assert_null(strstr(hint->evidence, "from thread to thread"));
    finish(&advice);
}

/* Each thread reads three of eight words of its struct. */
static void arrays_of_structs_are_found(void **state)
{
    (void)state;
    struct made made = make((uint32_t[]){16, 1, 1}, 128);
    uint32_t loads[3];
    for (uint32_t i = 0; i < 3; i++)
        loads[i] = made_instruction(&made, 10 + i, FTH_TRACE_READ, 4);
    for (uint64_t warp = 0; warp < 64; warp++)
        for (uint64_t i = 0; i < 3; i++)
            made_access(&made, warp / 4, (uint32_t)warp % 4, loads[i],
                        0x100000 + warp * 1024 + i * 8, 32);
    struct advice advice = start(made_open(&made), true);
    find(&advice, NULL);
    check_first(&advice, "array_of_structs", 10,
                "32 bytes from thread to thread, 12 used; 32.0 sectors per request; 4.0 would do",
                "layout=10,11,12");
    assert_null(hint_of(&advice, "uncoalesced"));
    finish(&advice);
}

/* A matrix with rows of 32 bytes whose columns are read: the place in a row changes. */
static void small_matrices_are_no_structs(void **state)
{
    (void)state;
    struct made made = make((uint32_t[]){16, 1, 1}, 32);
    const uint32_t load = made_instruction(&made, 10, FTH_TRACE_READ, 4);
    for (uint64_t block = 0; block < 16; block++)
        for (uint64_t k = 0; k < 8; k++)
            made_access(&made, block, 0, load, 0x100000 + block * 1024 + k * 4, 32);
    struct advice advice = start(made_open(&made), true);
    find(&advice, NULL);
    assert_null(hint_of(&advice, "array_of_structs"));
    finish(&advice);
}

/* ---- reuse in blocks ---- */

static void contended_atomics_are_found(void **state)
{
    (void)state;
    struct made made = make((uint32_t[]){16, 1, 1}, 128);
    const uint32_t atomic = made_instruction(&made, 10, FTH_TRACE_ATOMIC, 4);
    for (uint64_t warp = 0; warp < 64; warp++)
        for (uint64_t i = 0; i < 8; i++)
            made_access(&made, warp / 4, (uint32_t)warp % 4, atomic, 0x100000 + i % 4 * 64, 8);
    struct advice advice = start(made_open(&made), true);
    find(&advice, NULL);
    /* 1,024 updates per block; four ranges of 256 bytes, which overlap, with 56 words. */
    const struct fth_hint *hint =
        check_first(&advice, "atomics", 10, "an address 18.3 times on average", "merge=10");
    assert_true(hint->after.l2_bytes < hint->before.l2_bytes / 4);
    finish(&advice);
}

/* Two atomics, each once per block on the same address: neither repeats anything. */
static void atomics_of_different_lines_are_counted_apart(void **state)
{
    (void)state;
    struct made made = make((uint32_t[]){64, 1, 1}, 32);
    const uint32_t first = made_instruction(&made, 10, FTH_TRACE_ATOMIC, 4);
    const uint32_t second = made_instruction(&made, 11, FTH_TRACE_ATOMIC, 4);
    for (uint64_t block = 0; block < 64; block++) {
        made_access(&made, block, 0, first, 0x100000, 4);
        made_access(&made, block, 0, second, 0x100000, 4);
    }
    struct advice advice = start(made_open(&made), true);
    find(&advice, NULL);
    assert_null(hint_of(&advice, "atomics"));
    finish(&advice);
}

static void redundant_loads_are_found(void **state)
{
    (void)state;
    struct made made = make((uint32_t[]){16, 1, 1}, 256);
    const uint32_t load = made_instruction(&made, 10, FTH_TRACE_READ, 4);
    const uint32_t own = made_instruction(&made, 11, FTH_TRACE_READ, 4);
    for (uint64_t warp = 0; warp < 128; warp++) {
        for (uint64_t i = 0; i < 8; i++)
            made_access(&made, warp / 8, (uint32_t)warp % 8, load,
                        0x100000 + (warp / 8 * 8 + i) * 128, 4);
        made_access(&made, warp / 8, (uint32_t)warp % 8, own, 0x800000 + warp * 128, 4);
    }
    struct advice advice = start(made_open(&made), false);
    find(&advice, NULL);
    const struct fth_hint *hint =
        check_first(&advice, "redundant_loads", 10,
                    "another warp of the block has loaded 88 % of the sectors", "merge=10");
    assert_true(hint->after.l1_bytes == 128 * 32 * (4 + 4));
    finish(&advice);
}

/* ---- caches ---- */

/* Blocks read a range of `bytes` of their own twice, and a stream once, if `stream` is true. */
static struct fth_trace *make_reuse(uint64_t blocks, uint64_t bytes, bool stream, uint32_t cache_op)
{
    struct made made = make((uint32_t[]){(uint32_t)blocks, 1, 1}, 32);
    const uint32_t load = made_operator(&made, 10, FTH_TRACE_READ, 4, cache_op);
    const uint32_t other = made_instruction(&made, 11, FTH_TRACE_READ, 4);
    for (uint64_t block = 0; block < blocks; block++)
        for (uint64_t i = 0; i < 4 * bytes / 128; i++) {
            made_access(&made, block, 0, load, 0x100000 + block * 0x10000 + i * 128 % bytes, 4);
            if (stream)
                made_access(&made, block, 0, other, 0x4000000 + (block * 4 * bytes / 128 + i) * 128,
                            4);
        }
    return made_open(&made);
}

/* Sets capacity misses, which the model has only if it diagnoses. */
static void set_misses(const struct advice *advice, uint32_t line, uint64_t capacity)
{
    row_of(advice, line)->l1_misses = (struct fth_model_misses){.capacity = capacity};
}

static void tiles_that_exceed_the_l1_are_found(void **state)
{
    (void)state;
    /* Four resident blocks of 6 KiB do not fit in 16 KiB; two do. */
    struct advice advice = start(make_reuse(32, 6144, false, 0), false);
    assert_int_equal(fth_model_set(advice.params, "gpu.max_blocks", "4", NULL), FTH_OK);
    fth_model_result_destroy(advice.result);
    assert_int_equal(fth_model_run(advice.trace, advice.params, NULL, &advice.result, NULL),
                     FTH_OK);
    const uint64_t sectors = row_of(&advice, 0)->l1.sectors[FTH_TRACE_READ];
    set_misses(&advice, 0, sectors / 20); /* too few */
    find(&advice, NULL);
    assert_null(hint_of(&advice, "l1_capacity"));
    fth_hints_destroy(advice.hints);
    set_misses(&advice, 0, sectors / 2);
    find(&advice, NULL);
    const struct fth_hint *hint = check_first(
        &advice, "l1_capacity", 0, "50 % of the read sectors miss in the L1", "gpu.max_blocks=2");
    assert_null(hint->instruction);
    assert_contains(hint->text, "The 4 blocks that run on an SM at the same time reuse more data "
                                "than its L1 (16 KiB) holds.");
    assert_contains(hint->text, "about 50 % of today's size, or let only 2 blocks run");
    assert_true(hint->after.l2_bytes < hint->before.l2_bytes / 2);
    finish(&advice);
}

static void a_larger_l1_is_named_if_fewer_blocks_do_not_help(void **state)
{
    (void)state;
    /* One block of 20 KiB: 24 KiB suffice, 20 KiB do, too. */
    struct advice advice = start(make_reuse(8, 20480, false, 0), true);
    assert_int_equal(fth_model_set(advice.params, "gpu.max_blocks", "1", NULL), FTH_OK);
    fth_model_result_destroy(advice.result);
    assert_int_equal(fth_model_run(advice.trace, advice.params, NULL, &advice.result, NULL),
                     FTH_OK);
    set_misses(&advice, 0, row_of(&advice, 0)->l1.sectors[FTH_TRACE_READ] / 2);
    find(&advice, NULL);
    const struct fth_hint *hint =
        check_first(&advice, "l1_capacity", 0, "50 %", "l1.size_bytes=20480");
    assert_contains(hint->text, "(16 KiB) holds; 20 KiB would suffice. Use tiles of about 80 %");
    finish(&advice);
}

static void loads_that_bypass_the_l1_are_found(void **state)
{
    (void)state;
    static const uint32_t operators[] = {2, 5, 9}; /* .cg, .cv, .volatile */
    for (size_t i = 0; i < FTH_COUNT(operators); i++) {
        struct advice advice = start(make_reuse(8, 4096, false, operators[i]), true);
        struct fth_gpu *gpu = NULL;
        struct fth_catalogue *catalogue = NULL;
        /* The effects of operators are those of a description. */
        assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
        assert_int_equal(fth_catalogue_read(catalogue, "h200", NULL, &gpu, NULL), FTH_OK);
        fth_model_params_destroy(advice.params);
        fth_model_result_destroy(advice.result);
        assert_int_equal(fth_model_params_create(gpu, &advice.params, NULL), FTH_OK);
        assert_int_equal(fth_model_run(advice.trace, advice.params, NULL, &advice.result, NULL),
                         FTH_OK);
        find(&advice, NULL);
        check_first(&advice, "l1_bypass", 10, "each sector is loaded 4.0 times", "hint=10:nc");
        finish(&advice);
        fth_gpu_destroy(gpu);
        fth_catalogue_close(catalogue);
    }
}

/* Unrolled copies of a load are one hint. A load on another line, and one without reuse, are not
 * part of it. */
static void unrolled_loads_that_bypass_the_l1_are_one_hint(void **state)
{
    (void)state;
    struct made made = make((uint32_t[]){4, 1, 1}, 32);
    const uint32_t loads[] = {made_on_line(&made, 10, 110, FTH_TRACE_READ, 4, 2),
                              made_on_line(&made, 11, 111, FTH_TRACE_READ, 4, 2),
                              made_on_line(&made, 12, 110, FTH_TRACE_READ, 4, 2),
                              made_on_line(&made, 13, 110, FTH_TRACE_READ, 4, 2)};
    for (uint64_t block = 0; block < 4; block++)
        for (uint64_t i = 0; i < 16; i++)
            for (uint64_t k = 0; k < FTH_COUNT(loads); k++) /* the last load has no reuse */
                made_access(&made, block, 0, loads[k],
                            0x100000 + 0x100000 * k + (k == 3 ? block * 16 + i : i % 8) * 128, 4);
    struct advice advice = start(made_open(&made), true);
    find(&advice, &(struct fth_hints_options)FTH_HINTS_OPTIONS(.max_accesses = 1));
    size_t count = 0;
    const struct fth_hint *hint;
    for (size_t i = 0; (hint = fth_hints_at(advice.hints, i)); i++) {
        if (strcmp(hint->rule, "l1_bypass") != 0)
            continue;
        count++;
        assert_string_equal(hint->what_if,
                            hint->instruction->line == 10 ? "hint=10,12:nc" : "hint=11:nc");
        assert_contains(hint->evidence, "each sector is loaded 8.0 times");
    }
    assert_int_equal(count, 2);
    finish(&advice);
}

/* What a kernel also writes must not be loaded with .nc. */
static void loads_of_written_data_keep_their_operator(void **state)
{
    (void)state;
    struct made made = make((uint32_t[]){4, 1, 1}, 32);
    const uint32_t load = made_operator(&made, 10, FTH_TRACE_READ, 4, 9);
    const uint32_t store = made_instruction(&made, 11, FTH_TRACE_WRITE, 4);
    for (uint64_t block = 0; block < 4; block++)
        for (uint64_t i = 0; i < 16; i++)
            made_access(&made, block, 0, i < 15 ? load : store, 0x100000, 4);
    struct advice advice = start(made_open(&made), true);
    find(&advice, &(struct fth_hints_options)FTH_HINTS_OPTIONS(.max_accesses = 1));
    assert_null(hint_of(&advice, "l1_bypass"));
    finish(&advice);
}

static void streams_that_evict_are_found(void **state)
{
    (void)state;
    struct advice advice = start(make_reuse(2, 8192, true, 0), true);
    const uint64_t sectors = row_of(&advice, 0)->l1.sectors[FTH_TRACE_READ];
    struct fth_gpu *gpu = NULL;
    struct fth_catalogue *catalogue = NULL;
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    assert_int_equal(fth_catalogue_read(catalogue, "h200", NULL, &gpu, NULL), FTH_OK);
    fth_model_params_destroy(advice.params);
    assert_int_equal(fth_model_params_create(gpu, &advice.params, NULL), FTH_OK);
    assert_int_equal(fth_model_set(advice.params, "l1.size_bytes", "16K", NULL), FTH_OK);
    fth_model_result_destroy(advice.result);
    assert_int_equal(fth_model_run(advice.trace, advice.params, NULL, &advice.result, NULL),
                     FTH_OK);
    find(&advice, NULL);
    assert_null(hint_of(&advice, "streaming")); /* no capacity misses */
    fth_hints_destroy(advice.hints);
    set_misses(&advice, 10, sectors / 4);
    find(&advice, NULL);
    const struct fth_hint *hint = hint_of(&advice, "streaming");
    assert_non_null(hint);
    assert_int_equal(hint->instruction->line, 11);
    assert_contains(hint->evidence, "2048 sectors are loaded once; other loads miss 1024 sectors");
    assert_contains(hint->what_if, "hint=11:");
    assert_true(hint->after.l2_bytes < hint->before.l2_bytes);
    finish(&advice);
    fth_gpu_destroy(gpu);
    fth_catalogue_close(catalogue);
}

/* 64 x 8 blocks: block (x, y) reads the 8 KiB of signal x, so the 512 KiB of all signals are read
 * for each y, which the L2 of 256 KiB does not hold. */
static struct fth_trace *make_order(void)
{
    struct made made = make((uint32_t[]){64, 8, 1}, 32);
    const uint32_t load = made_instruction(&made, 10, FTH_TRACE_READ, 4);
    for (uint64_t block = 0; block < 512; block++)
        for (uint64_t i = 0; i < 64; i++)
            made_access(&made, block, 0, load, 0x100000 + block % 64 * 8192 + i * 128, 4);
    return made_open(&made);
}

static void orders_of_blocks_are_tried(void **state)
{
    (void)state;
    struct advice advice = start(make_order(), false);
    find(&advice, NULL);
    const struct fth_hint *hint =
        check_first(&advice, "block_order", 0, "8.0 times", "blocks=swap");
    assert_null(hint->instruction);
    assert_true(hint->after.memory_bytes < hint->before.memory_bytes / 4);
    finish(&advice);
}

/* ---- shared memory ---- */

/* One block whose accesses to shared memory have bank conflicts. */
static struct fth_trace *make_conflicts(uint32_t bytes, uint64_t padded_wavefronts)
{
    struct made made = make((uint32_t[]){1, 1, 1}, 32);
    const uint32_t load = made_instruction(&made, 10, FTH_TRACE_READ, 4);
    made_access(&made, 0, 0, load, 0x100000, 4);
    made_access(&made, 0, 0, load, 0x200000, 4);
    made_shared(&made, 20, bytes, 16000, padded_wavefronts);
    made_shared(&made, 21, bytes, 16000, padded_wavefronts);
    made_shared(&made, 22, 4, 10, 10);
    struct fth_pace_step *step = fth_pace_step(&made.pace, load, load);
    assert_non_null(step);
    *step = (struct fth_pace_step){load, load, 1, 100, 100, 0, 32010, 0};
    return made_open(&made);
}

static void bank_conflicts_are_found(void **state)
{
    (void)state;
    for (int timed = 0; timed < 2; timed++) {
        struct advice advice = start(make_conflicts(4, 10), timed);
        find(&advice, NULL);
        const struct fth_hint *hint = fth_hints_at(advice.hints, 0);
        assert_non_null(hint);
        assert_string_equal(hint->rule, "bank_conflicts");
        assert_int_equal(hint->instruction->line, 20);
        assert_contains(hint->text, "PTX line 20");
        assert_contains(hint->evidence,
                        "1600.0 wavefronts per request; 1.0 would do, and 1.0 remain");
        assert_string_equal(hint->what_if, "pad=20");
        assert_true(hint->before.shared_wavefronts == 32010);
        assert_true(hint->after.shared_wavefronts == 16020);
        assert_true(timed ? hint->gain == 1 - hint->after.seconds / hint->before.seconds
                          : hint->gain == 1 - 16020.0 / 32010);
        assert_true(hint->gain > 0.1);
        /* Instructions without a source line are hints of their own. */
        assert_int_equal(fth_hints_at(advice.hints, 1)->instruction->line, 21);
        assert_null(fth_hints_at(advice.hints, 2));
        finish(&advice);
    }
}

static void conflicts_that_padding_does_not_remove_are_no_hint(void **state)
{
    (void)state;
    struct advice advice = start(make_conflicts(4, 8000), true);
    find(&advice, NULL);
    assert_null(hint_of(&advice, "bank_conflicts"));
    finish(&advice);
}

/* The padding has the size of an element, so that the elements stay aligned. */
static void wide_accesses_get_wide_padding(void **state)
{
    (void)state;
    static const struct {
        uint32_t bytes;
        const char *text, *evidence; /* NULL: no hint */
    } rows[] = {
        {2, "one word longer", "remain with one word of padding per row"},
        {4, "one word longer", "remain with one word of padding per row"},
        {8, "one element of 8 bytes longer", "one element of 8 bytes of padding per row"},
        {16, "one element of 16 bytes longer", "one element of 16 bytes of padding per row"},
        {32, NULL, NULL},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct advice advice = start(make_conflicts(rows[i].bytes, 10), true);
        find(&advice, NULL);
        const struct fth_hint *hint = hint_of(&advice, "bank_conflicts");
        assert_int_equal(hint != NULL, rows[i].text != NULL);
        if (hint) {
            assert_contains(hint->text, rows[i].text);
            assert_contains(hint->evidence, rows[i].evidence);
        }
        finish(&advice);
    }
}

/* ---- options ---- */

static void large_traces_have_hints_without_gains(void **state)
{
    (void)state;
    struct advice advice = start(make_strided(4096, 4), true);
    find(&advice, &(struct fth_hints_options)FTH_HINTS_OPTIONS(.max_accesses = 127));
    const struct fth_hint *hint = fth_hints_at(advice.hints, 0);
    assert_non_null(hint);
    assert_string_equal(hint->rule, "uncoalesced");
    assert_string_equal(hint->what_if, "layout=10");
    assert_true(isnan(hint->gain) && isnan(hint->after.seconds) && isnan(hint->after.l1_bytes));
    assert_true(hint->before.seconds > 0);
    fth_hints_destroy(advice.hints);
    find(&advice, &(struct fth_hints_options)FTH_HINTS_OPTIONS(.max_accesses = 128));
    assert_true(fth_hints_at(advice.hints, 0)->gain > 0.03);
    fth_hints_destroy(advice.hints);
    find(&advice, &(struct fth_hints_options)FTH_HINTS_OPTIONS(.kernel = "other"));
    assert_null(fth_hints_at(advice.hints, 0));
    finish(&advice);
}

/* Two faults: the one that costs more comes first; max_hints keeps only that one. */
static void the_best_hint_comes_first(void **state)
{
    (void)state;
    struct made made = make((uint32_t[]){16, 1, 1}, 128);
    const uint32_t load = made_instruction(&made, 10, FTH_TRACE_READ, 4);
    const uint32_t other = made_instruction(&made, 11, FTH_TRACE_READ, 4);
    for (uint64_t warp = 0; warp < 64; warp++) {
        made_access(&made, warp / 4, (uint32_t)warp % 4, load, 0x100000 + warp * 0x4000, 512);
        for (uint64_t i = 0; i < 3; i++)
            made_access(&made, warp / 4, (uint32_t)warp % 4, other,
                        0x1000000 + (3 * warp + i) * 0x20000, 4096);
    }
    struct advice advice = start(made_open(&made), true);
    find(&advice, NULL);
    assert_non_null(fth_hints_at(advice.hints, 1));
    assert_int_equal(fth_hints_at(advice.hints, 0)->instruction->line, 11);
    assert_int_equal(fth_hints_at(advice.hints, 1)->instruction->line, 10);
    assert_true(fth_hints_at(advice.hints, 0)->gain > fth_hints_at(advice.hints, 1)->gain);
    fth_hints_destroy(advice.hints);
    find(&advice, &(struct fth_hints_options)FTH_HINTS_OPTIONS(.max_hints = 1));
    assert_non_null(fth_hints_at(advice.hints, 0));
    assert_null(fth_hints_at(advice.hints, 1));
    finish(&advice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coalesced_kernels_have_no_hints),
        cmocka_unit_test(uncoalesced_accesses_are_found),
        cmocka_unit_test(irregular_accesses_are_found),
        cmocka_unit_test(arrays_of_structs_are_found),
        cmocka_unit_test(small_matrices_are_no_structs),
        cmocka_unit_test(contended_atomics_are_found),
        cmocka_unit_test(atomics_of_different_lines_are_counted_apart),
        cmocka_unit_test(redundant_loads_are_found),
        cmocka_unit_test(tiles_that_exceed_the_l1_are_found),
        cmocka_unit_test(a_larger_l1_is_named_if_fewer_blocks_do_not_help),
        cmocka_unit_test(loads_that_bypass_the_l1_are_found),
        cmocka_unit_test(unrolled_loads_that_bypass_the_l1_are_one_hint),
        cmocka_unit_test(loads_of_written_data_keep_their_operator),
        cmocka_unit_test(streams_that_evict_are_found),
        cmocka_unit_test(orders_of_blocks_are_tried),
        cmocka_unit_test(bank_conflicts_are_found),
        cmocka_unit_test(wide_accesses_get_wide_padding),
        cmocka_unit_test(conflicts_that_padding_does_not_remove_are_no_hint),
        cmocka_unit_test(large_traces_have_hints_without_gains),
        cmocka_unit_test(the_best_hint_comes_first),
    };
    return cmocka_run_group_tests_name("hint rules", tests, NULL, NULL);
}
