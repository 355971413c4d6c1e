/* Edits of traces: which accesses they change, and what they keep. */
#include "made_trace.h"

#include <stdio.h>

static const uint32_t one_block[3] = {1, 1, 1}, two_blocks[3] = {2, 1, 1};

static struct fth_trace *edit(struct fth_trace *trace, const char *text)
{
    struct fth_trace *edited = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_trace_edit(trace, &text, 1, NULL, &edited, &error) != FTH_OK)
        fail_msg("%s: %s: %s", text, error.argument, error.cause);
    fth_trace_close(trace);
    return edited;
}

/* Returns the row of the instruction on a line of the PTX. */
static struct fth_trace_row row_of(const struct fth_trace *trace, uint32_t line)
{
    struct fth_trace_stats *stats = NULL;
    const struct fth_trace_row *row;
    struct fth_trace_row found = {0};
    assert_int_equal(fth_trace_stats_create(trace, NULL, &stats, NULL), FTH_OK);
    for (size_t i = 0; (row = fth_trace_stats_row(stats, i)); i++)
        if (row->instruction && row->instruction->line == line)
            found = *row;
    fth_trace_stats_destroy(stats);
    return found;
}

static double sectors_per_request(const struct fth_trace *trace, uint32_t line)
{
    const struct fth_trace_row row = row_of(trace, line);
    const uint64_t requests = row.requests[0] + row.requests[1] + row.requests[2];
    return (double)(row.sectors[0] + row.sectors[1] + row.sectors[2]) / (double)requests;
}

/* Copies the index-th access of a trace. */
static struct fth_trace_access access_at(const struct fth_trace *trace, size_t index)
{
    struct fth_trace_cursor *cursor = NULL;
    const struct fth_trace_access *access = NULL;
    assert_int_equal(fth_trace_cursor_open(trace, 0, 0, UINT64_MAX, &cursor, NULL), FTH_OK);
    for (size_t i = 0; i <= index; i++)
        assert_int_equal(fth_trace_next(cursor, &access, NULL), FTH_OK);
    assert_non_null(access);
    const struct fth_trace_access copy = *access;
    fth_trace_cursor_close(cursor);
    return copy;
}

static uint32_t line_of(const struct fth_trace *trace, const struct fth_trace_access *access)
{
    return fth_trace_instruction_at(trace, access->instruction)->line;
}

/* ---- layout ---- */

/* Two blocks of two warps read two members of structs of 16 bytes, and write the first one. */
static struct fth_trace *make_structs(void)
{
    struct made made = make(two_blocks, 64);
    const uint32_t x = made_instruction(&made, 10, FTH_TRACE_READ, 4);
    const uint32_t y = made_instruction(&made, 11, FTH_TRACE_READ, 4);
    const uint32_t store = made_instruction(&made, 12, FTH_TRACE_WRITE, 4);
    for (uint32_t warp = 0; warp < 4; warp++) {
        const uint64_t first = 0x10000 + warp * 32 * 16;
        made_access(&made, warp / 2, warp % 2, x, first, 16);
        made_access(&made, warp / 2, warp % 2, y, first + 8, 16);
        made_access(&made, warp / 2, warp % 2, store, first, 16);
    }
    return made_open(&made);
}

static void layout_makes_an_array_of_each_member(void **state)
{
    (void)state;
    struct fth_trace *trace = make_structs();
    assert_true(sectors_per_request(trace, 10) == 16);
    trace = edit(trace, "layout=10,11");
    for (uint32_t line = 10; line <= 12; line++)
        assert_true(sectors_per_request(trace, line) == 4);
    /* Every element has a place of its own, and the two arrays are compact. */
    assert_int_equal(row_of(trace, 10).footprint_bytes[FTH_TRACE_READ], 128 * 4);
    assert_int_equal(row_of(trace, 11).footprint_bytes[FTH_TRACE_READ], 128 * 4);
    for (size_t i = 0; i < 4; i++) {
        const struct fth_trace_access x = access_at(trace, i), y = access_at(trace, 4 + i),
                                      store = access_at(trace, 8 + i);
        assert_int_equal(line_of(trace, &x), 10);
        assert_int_equal(line_of(trace, &y), 11);
        assert_true(x.addresses[0] >= 0x10000 + 128 * 16);
        assert_true(x.addresses[0] % 128 == 0);
        assert_true(y.addresses[0] >= x.addresses[0] + 512 - i * 128);
        /* The store, which was not chosen, follows the elements. */
        assert_memory_equal(store.addresses, x.addresses, sizeof x.addresses);
    }
    fth_trace_close(trace);
}

/* A matrix of 64 x 64 words: lanes write words that are a row apart, as in a naive transposition.
 */
static void layout_makes_strided_stores_adjacent(void **state)
{
    (void)state;
    struct made made = make((uint32_t[]){2, 2, 1}, 256);
    const uint32_t load = made_instruction(&made, 5, FTH_TRACE_READ, 4);
    const uint32_t store = made_instruction(&made, 6, FTH_TRACE_WRITE, 4);
    for (uint32_t block = 0; block < 4; block++)
        for (uint32_t row = 0; row < 32; row++) {
            const uint64_t x = UINT64_C(32) * (block % 2), y = UINT64_C(32) * (block / 2) + row;
            made_access(&made, block, row % 8, load, 0x10000 + (y * 64 + x) * 4, 4);
            made_access(&made, block, row % 8, store, 0x20000 + (x * 64 + y) * 4, 256);
        }
    struct fth_trace *trace = made_open(&made);
    assert_true(sectors_per_request(trace, 6) == 32);
    trace = edit(trace, "layout=k.cu:106");
    assert_true(sectors_per_request(trace, 6) == 4);
    assert_true(sectors_per_request(trace, 5) == 4);
    assert_int_equal(row_of(trace, 6).footprint_bytes[FTH_TRACE_WRITE], 64 * 64 * 4);
    assert_int_equal(access_at(trace, 0).addresses[0], 0x10000); /* not moved */
    fth_trace_close(trace);
}

/* The first warp has 31 active lanes. Without the rounding, the others would touch five sectors. */
static void layout_keeps_requests_in_their_sectors(void **state)
{
    (void)state;
    struct made made = make(one_block, 128);
    const uint32_t load = made_instruction(&made, 5, FTH_TRACE_READ, 4);
    for (uint32_t warp = 0; warp < 4; warp++)
        made_lanes(&made, 0, warp, load, warp ? UINT32_MAX : UINT32_MAX - 1,
                   0x10000 + warp * 32 * 64, 64);
    struct fth_trace *trace = edit(made_open(&made), "layout=all");
    assert_int_equal(row_of(trace, 5).sectors[FTH_TRACE_READ], 16);
    fth_trace_close(trace);
}

/* The load of 8 bytes comes first and keeps its two words together; a byte stays in its word. */
static void layout_keeps_the_parts_of_elements_together(void **state)
{
    (void)state;
    struct made made = make(one_block, 32);
    const uint32_t pair = made_instruction(&made, 5, FTH_TRACE_READ, 8);
    const uint32_t word = made_instruction(&made, 6, FTH_TRACE_READ, 4);
    const uint32_t byte = made_instruction(&made, 7, FTH_TRACE_WRITE, 1);
    made_access(&made, 0, 0, pair, 0x10000, 32);
    made_access(&made, 0, 0, word, 0x10004, 32);
    made_access(&made, 0, 0, byte, 0x10006, 32);
    struct fth_trace *trace = edit(made_open(&made), "layout=5");
    const struct fth_trace_access pairs = access_at(trace, 0), words = access_at(trace, 1),
                                  bytes = access_at(trace, 2);
    for (size_t i = 0; i < 32; i++) {
        assert_int_equal(pairs.addresses[i], pairs.addresses[0] + 8 * i);
        assert_int_equal(words.addresses[i], pairs.addresses[i] + 4);
        assert_int_equal(bytes.addresses[i], pairs.addresses[i] + 6);
    }
    fth_trace_close(trace);
}

/* ---- merge ---- */

static void merge_reads_each_sector_once_per_block(void **state)
{
    (void)state;
    struct made made = make(two_blocks, 64);
    const uint32_t load = made_instruction(&made, 5, FTH_TRACE_READ, 4);
    const uint32_t store = made_instruction(&made, 6, FTH_TRACE_WRITE, 4);
    for (uint32_t warp = 0; warp < 4; warp++) {
        made_access(&made, warp / 2, warp % 2, load, 0x10000, 4);
        made_access(&made, warp / 2, warp % 2, load, 0x10040, 4); /* half of it is new */
        made_access(&made, warp / 2, warp % 2, store, 0x20000, 4);
    }
    struct fth_trace *trace = edit(made_open(&made), "merge=5");
    const struct fth_trace_row loads = row_of(trace, 5), stores = row_of(trace, 6);
    /* In each block, the first warp reads 32 lanes, then 16. */
    assert_int_equal(loads.requests[FTH_TRACE_READ], 4);
    assert_int_equal(loads.accesses[FTH_TRACE_READ], 2 * 48);
    assert_int_equal(loads.sectors[FTH_TRACE_READ], 2 * 6);
    assert_int_equal(stores.requests[FTH_TRACE_WRITE], 4);
    const struct fth_trace_launch *launch = fth_trace_launch_at(trace, 0);
    assert_int_equal(launch->accesses, 8);
    assert_int_equal(launch->shared, 7 + 4); /* removed loads read shared memory */
    /* The store of the second warp is now its first access. */
    bool found = false;
    for (size_t i = 0; i < 8; i++) {
        const struct fth_trace_access access = access_at(trace, i);
        if (access.warp == 1) {
            assert_int_equal(access.number, 0);
            assert_int_equal(line_of(trace, &access), 6);
            found = true;
        } else if (access.number == 1) {
            assert_int_equal(access.mask, 0xffff0000);
            assert_int_equal(access.addresses[0], 0x10080);
        }
    }
    assert_true(found);
    fth_trace_close(trace);
}

static void merge_updates_each_address_once_per_block(void **state)
{
    (void)state;
    struct made made = make(two_blocks, 64);
    const uint32_t atomic = made_instruction(&made, 5, FTH_TRACE_ATOMIC, 4);
    for (uint32_t warp = 0; warp < 4; warp++) {
        made_access(&made, warp / 2, warp % 2, atomic, 0x10000, 0);
        made_access(&made, warp / 2, warp % 2, atomic, 0x10000 + warp % 2 * 4, 0);
    }
    struct fth_trace *trace = edit(made_open(&made), "merge=all");
    /* Each block: the first warp updates word 0, the second one word 1, with one lane each. */
    assert_int_equal(row_of(trace, 5).requests[FTH_TRACE_ATOMIC], 4);
    assert_int_equal(row_of(trace, 5).accesses[FTH_TRACE_ATOMIC], 4);
    fth_trace_close(trace);
}

/* Adds a step to the pace of a trace that is being made. */
static void add_step(struct made *made, uint32_t from, uint32_t to, uint64_t count,
                     uint64_t instructions)
{
    struct fth_pace_step *step = fth_pace_step(&made->pace, from, to);
    assert_non_null(step);
    *step = (struct fth_pace_step){from,  to, count,    instructions, 2 * instructions,
                                   count, 0,  3 * count};
}

/* Two warps: load, load (the same sectors), store. */
static struct fth_trace *make_pace(void)
{
    struct made made = make(one_block, 64);
    const uint32_t load = made_instruction(&made, 5, FTH_TRACE_READ, 4);
    const uint32_t store = made_instruction(&made, 6, FTH_TRACE_WRITE, 4);
    for (uint32_t warp = 0; warp < 2; warp++) {
        made_access(&made, 0, warp, load, 0x10000, 4);
        made_access(&made, 0, warp, load, 0x10000, 4);
        made_access(&made, 0, warp, store, 0x20000, 4);
    }
    add_step(&made, FTH_PACE_START, load, 2, 20);
    add_step(&made, load, load, 2, 6);
    add_step(&made, load, store, 2, 10);
    add_step(&made, store, FTH_PACE_END, 2, 4);
    return made_open(&made);
}

static void merge_adds_the_steps_of_removed_accesses(void **state)
{
    (void)state;
    struct fth_trace *trace = edit(make_pace(), "merge=5");
    const struct fth_pace *pace = fth_trace_pace(trace, 0);
    uint32_t load = 0, store = 0;
    for (uint32_t i = 0; i < 2; i++)
        *(fth_trace_instruction_at(trace, i)->line == 5 ? &load : &store) = i;
    /* The first warp: load, store. The second one: store only, after all steps before it. */
    const struct fth_pace_step expected[] = {
        {FTH_PACE_START, load, 1, 10, 20, 1, 0, 3},
        {load, store, 1, 3 + 5, 16, 2, 1, 6},
        {FTH_PACE_START, store, 1, 10 + 3 + 5, 36, 3, 2, 9},
        {store, FTH_PACE_END, 2, 4, 8, 2, 0, 6},
    };
    assert_int_equal(fth_trace_launch_at(trace, 0)->accesses, 3);
    assert_int_equal(pace->count, FTH_COUNT(expected));
    for (size_t i = 0; i < FTH_COUNT(expected); i++) {
        const struct fth_pace_step *step = fth_pace_find(pace, expected[i].from, expected[i].to);
        assert_non_null(step);
        assert_memory_equal(step, &expected[i], sizeof *step);
    }
    fth_trace_close(trace);
}

static void other_edits_keep_the_pace(void **state)
{
    (void)state;
    struct fth_trace *before = make_pace(), *trace = edit(make_pace(), "hint=5:nc");
    const struct fth_pace *pace = fth_trace_pace(trace, 0), *old = fth_trace_pace(before, 0);
    assert_int_equal(pace->count, old->count);
    assert_memory_equal(pace->steps, old->steps, old->count * sizeof *old->steps);
    assert_int_equal(fth_trace_launch_at(trace, 0)->shared, 7);
    assert_string_equal(fth_trace_instruction_at(trace, 0)->source->file, "/src/k.cu");
    fth_trace_close(trace);
    fth_trace_close(before);
}

/* ---- hint, blocks ---- */

static void hint_changes_the_operator_of_loads(void **state)
{
    (void)state;
    static const struct {
        const char *edit;
        uint32_t before, after, hints;
    } rows[] = {
        {"hint=5:nc", 9, 8, 0},
        {"hint=5:cg", 0, 2, 0},
        {"hint=5:evict_first", 8, 8, 3},
        {"hint=k.cu:105:evict_last", 2, 0, 4},
        {"hint=all:no_allocate", 0, 0, 5},
        {"hint=7:nc", 9, 9, 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct made made = make(one_block, 32);
        const uint32_t load = made_operator(&made, 5, FTH_TRACE_READ, 4, rows[i].before);
        const uint32_t store = made_instruction(&made, 6, FTH_TRACE_WRITE, 4);
        const uint32_t other = made_operator(&made, 7, FTH_TRACE_READ, 4, 8);
        made_access(&made, 0, 0, load, 0x10000, 4);
        made_access(&made, 0, 0, store, 0x20000, 4);
        made_access(&made, 0, 0, other, 0x30000, 4);
        struct fth_trace *trace = edit(made_open(&made), rows[i].edit);
        assert_int_equal(fth_trace_instruction_at(trace, 0)->cache_op, rows[i].after);
        assert_int_equal(fth_trace_instruction_at(trace, 0)->hints, rows[i].hints);
        assert_int_equal(fth_trace_instruction_at(trace, 1)->cache_op, 0);
        assert_int_equal(fth_trace_instruction_at(trace, 1)->hints, 0);
        assert_int_equal(fth_trace_instruction_at(trace, 2)->cache_op, 8);
        fth_trace_close(trace);
    }
}

/* Blocks of a grid of 5 x 3 x 2 in the new order, by their old numbers. */
static void blocks_are_numbered_in_another_order(void **state)
{
    (void)state;
    static const struct {
        const char *edit;
        uint32_t width, height;
        uint64_t order[15]; /* those with z = 0 */
    } rows[] = {
        {"blocks=swap", 3, 5, {0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13, 4, 9, 14}},
        {"blocks=tile2", 5, 3, {0, 1, 5, 6, 2, 3, 7, 8, 4, 9, 10, 11, 12, 13, 14}},
        {"blocks=tile8", 5, 3, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct made made = make((uint32_t[]){5, 3, 2}, 32);
        const uint32_t load = made_instruction(&made, 5, FTH_TRACE_READ, 4);
        for (uint64_t block = 0; block < 30; block++)
            made_access(&made, block, 0, load, 0x10000 + block * 128, 4);
        struct fth_trace *trace = edit(made_open(&made), rows[i].edit);
        const struct fth_trace_launch *launch = fth_trace_launch_at(trace, 0);
        assert_int_equal(launch->grid[0], rows[i].width);
        assert_int_equal(launch->grid[1], rows[i].height);
        assert_int_equal(launch->grid[2], 2);
        for (uint64_t block = 0; block < 30; block++) {
            const struct fth_trace_access access = access_at(trace, block);
            const uint64_t old = rows[i].order[block % 15] + block / 15 * 15;
            assert_int_equal(access.block, block);
            assert_int_equal(access.addresses[0], 0x10000 + old * 128);
        }
        fth_trace_close(trace);
    }
}

/* ---- shared memory ---- */

/* Two instructions of which one has bank conflicts; a step has all their wavefronts. */
static struct fth_trace *make_conflicts(void)
{
    struct made made = make(one_block, 32);
    const uint32_t load = made_instruction(&made, 5, FTH_TRACE_READ, 4);
    made_access(&made, 0, 0, load, 0x10000, 4);
    made_shared(&made, 20, 4, 320, 10);
    made_shared(&made, 21, 4, 20, 10);
    struct fth_pace_step *step = fth_pace_step(&made.pace, load, FTH_PACE_END);
    assert_non_null(step);
    *step = (struct fth_pace_step){load, FTH_PACE_END, 1, 100, 100, 0, 340, 0};
    return made_open(&made);
}

static void pad_removes_bank_conflicts(void **state)
{
    (void)state;
    static const struct {
        const char *edit;
        uint64_t wavefronts[2], step;
    } rows[] = {
        {"pad=20", {10, 20}, 30},
        {"pad=all", {10, 10}, 20},
        {"hint=5:nc", {320, 20}, 340},
        {"merge=5", {320, 20}, 340},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_trace *trace = edit(make_conflicts(), rows[i].edit);
        for (size_t k = 0; k < 2; k++) {
            const struct fth_trace_shared *shared = fth_trace_shared_at(trace, 0, k);
            assert_non_null(shared);
            assert_int_equal(fth_trace_instruction_at(trace, shared->instruction)->line, 20 + k);
            assert_int_equal(shared->requests, 10);
            assert_int_equal(shared->threads, 320);
            assert_int_equal(shared->ideal_wavefronts, 10);
            assert_int_equal(shared->wavefronts, rows[i].wavefronts[k]);
        }
        assert_null(fth_trace_shared_at(trace, 0, 2));
        const struct fth_pace *pace = fth_trace_pace(trace, 0);
        const uint32_t load = access_at(trace, 0).instruction;
        assert_int_equal(fth_pace_find(pace, load, FTH_PACE_END)->shared, rows[i].step);
        fth_trace_close(trace);
    }
}

/* ---- several edits, errors ---- */

static void edits_are_applied_one_after_the_other(void **state)
{
    (void)state;
    static const char *const edits[] = {"merge=10,11", "hint=10:cg"};
    struct fth_trace *trace = make_structs(), *edited = NULL;
    assert_int_equal(fth_trace_edit(trace, edits, 2, NULL, &edited, NULL), FTH_OK);
    assert_int_equal(row_of(edited, 11).requests[FTH_TRACE_READ], 0); /* merged into line 10 */
    assert_int_equal(row_of(edited, 10).instruction->cache_op, 2);
    fth_trace_close(edited);
    fth_trace_close(trace);
}

static void malformed_edits_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *edit;
        enum fth_status status;
        const char *cause;
    } rows[] = {
        {"lay=5", FTH_INVALID, "expected layout="},
        {"layout=", FTH_INVALID, "this is not a line"},
        {"layout=x", FTH_INVALID, "this is not a line"},
        {"layout=10,,11", FTH_INVALID, "this is not a line"},
        {"layout=:5", FTH_INVALID, "this is not a line"},
        {"layout=99", FTH_NOT_FOUND, "no access to memory on this line"},
        {"layout=other.cu:110", FTH_NOT_FOUND, "no access to memory on this line"},
        {"merge=12", FTH_INVALID, "no load from global memory and no atomic"},
        {"hint=12:nc", FTH_INVALID, "no load from global memory"},
        {"hint=10", FTH_INVALID, "expected LINES:OPERATOR"},
        {"hint=10:xx", FTH_INVALID, "expected LINES:OPERATOR"},
        {"pad=10", FTH_INVALID, "no access to shared memory"},
        {"blocks=swap", FTH_INVALID, "no launch has a grid"},
        {"blocks=tile1", FTH_INVALID, "not an order of blocks"},
        {"blocks=spiral", FTH_INVALID, "not an order of blocks"},
    };
    struct fth_trace *trace = make_structs(), *edited = NULL;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_trace_edit(trace, &rows[i].edit, 1, NULL, &edited, &error),
                         rows[i].status);
        assert_null(edited);
        assert_contains(error.cause, rows[i].cause);
    }
    assert_int_equal(fth_trace_edit(trace, NULL, 0, NULL, &edited, NULL), FTH_INVALID);
    assert_true(fth_trace_edit_known("blocks=x") && !fth_trace_edit_known("l1.size_bytes=1K"));
    fth_trace_close(trace);
}

/* Pages of the table that are far apart: the limit of memory is reached, and nothing remains. */
static void layouts_that_are_too_large_are_refused(void **state)
{
    (void)state;
    struct made made = make((uint32_t[]){1024, 1, 1}, 1024);
    const uint32_t load = made_instruction(&made, 5, FTH_TRACE_READ, 4);
    for (uint32_t block = 0; block < 1024; block++)
        for (uint32_t warp = 0; warp < 32; warp++)
            for (uint64_t k = 0; k < 2; k++)
                made_access(&made, block, warp, load,
                            UINT64_C(1) << 33 | ((block * 32ull + warp) * 2 + k) << 13, 256);
    struct fth_trace *trace = made_open(&made), *edited = NULL;
    struct fth_error error = NO_ERROR;
    const char *text = "layout=5";
    assert_int_equal(fth_trace_edit(trace, &text, 1, NULL, &edited, &error), FTH_INVALID);
    assert_contains(error.cause, "too many elements; the limit is 512 MiB");
    fth_trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_makes_an_array_of_each_member),
        cmocka_unit_test(layout_makes_strided_stores_adjacent),
        cmocka_unit_test(layout_keeps_requests_in_their_sectors),
        cmocka_unit_test(layout_keeps_the_parts_of_elements_together),
        cmocka_unit_test(merge_reads_each_sector_once_per_block),
        cmocka_unit_test(merge_updates_each_address_once_per_block),
        cmocka_unit_test(merge_adds_the_steps_of_removed_accesses),
        cmocka_unit_test(other_edits_keep_the_pace),
        cmocka_unit_test(hint_changes_the_operator_of_loads),
        cmocka_unit_test(blocks_are_numbered_in_another_order),
        cmocka_unit_test(pad_removes_bank_conflicts),
        cmocka_unit_test(edits_are_applied_one_after_the_other),
        cmocka_unit_test(malformed_edits_are_refused),
        cmocka_unit_test(layouts_that_are_too_large_are_refused),
    };
    return cmocka_run_group_tests_name("trace edits", tests, NULL, NULL);
}
