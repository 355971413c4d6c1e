/* Coalesced accesses that are remembered by their pattern: they must be those that coalescing each
 * access gives. */
#include "timed_setup.h"

#include <string.h>

static const char *const none[] = {NULL};

/* Compares the lines of an access with those that fth_coalesce() gives. */
static void compare(const struct fth_shape *shape, struct fth_patterns *patterns,
                    const struct fth_compact_access *access,
                    const struct fth_trace_instruction *instruction)
{
    struct fth_line_requests requests = {0};
    size_t bytes = 0;
    uint64_t shift = 0;
    const struct fth_timed_access *found =
        fth_patterns_find(patterns, access, instruction, &bytes, &shift);
    fth_coalesce(&requests, shape, access, instruction);
    assert_non_null(found);
    assert_int_equal(found->instruction, access->instruction);
    assert_int_equal(found->kind, instruction->kind);
    assert_int_equal(found->line_count, requests.count);
    const struct fth_cache_run *runs = fth_streams_runs(found);
    for (size_t i = 0; i < requests.count; i++) {
        const struct fth_line_request *request = &requests.items[i];
        const struct fth_timed_line *line = &found->lines[i];
        uint64_t covered = 0;
        assert_int_equal(line->line + shift, request->line);
        assert_int_equal(line->sectors, request->sectors);
        assert_int_equal(line->flags, request->flags);
        for (uint32_t k = 0; k < request->run_count; k++)
            covered += requests.runs[request->run + k].bytes;
        if (covered == 32 * (uint64_t)__builtin_popcountll(request->sectors)) {
            assert_int_equal(line->run_count, 0);
            continue;
        }
        assert_int_equal(line->run_count, request->run_count);
        assert_memory_equal(runs + line->run, requests.runs + request->run,
                            request->run_count * sizeof *runs);
    }
    fth_line_requests_fini(&requests);
}

/* Makes an access with a random pattern, of few kinds, so that many are repeated. */
static struct fth_compact_access random_access(struct fth_rng *rng, uint64_t steps[31])
{
    struct fth_compact_access access = {.instruction = (uint32_t)fth_rng_below(rng, 3),
                                        .threads = fth_rng_below(rng, 4) ? 32 : 5,
                                        .first = fth_rng_below(rng, 64) * 4 +
                                                 fth_rng_below(rng, 1000) * 128,
                                        .steps = steps};
    const uint64_t kinds[] = {0, 4, 128, 36, (uint64_t)-4};
    const uint64_t step = kinds[fth_rng_below(rng, FTH_COUNT(kinds))];
    if (fth_rng_below(rng, 16) == 0) /* lines that wrap around */
        access.first = fth_rng_below(rng, 2) ? UINT64_MAX - 255 : fth_rng_below(rng, 64);
    access.affine = fth_rng_below(rng, 2);
    for (uint32_t i = 0; i < 31; i++) {
        steps[i] = step;
        if (!access.affine && i && i % 7 == 0) {
            steps[i] = 4 * (1 + fth_rng_below(rng, 2) * 500);
            access.breaks |= (uint32_t)(steps[i] != step) << i;
        }
    }
    access.breaks &= ((uint32_t)1 << (access.threads - 1)) - 1;
    access.affine = access.affine || !access.breaks;
    return access;
}

static void remembered_accesses_are_those_of_coalescing(void **state)
{
    (void)state;
    struct fth_model_params *params = make_params(simple_gpu, none);
    const struct fth_setting setting = make_setting(params, 1, 1);
    struct fth_patterns *patterns = fth_patterns_create(&setting.l1);
    const struct fth_trace_instruction instructions[] = {{.kind = FTH_TRACE_READ, .bytes = 4},
                                                         {.kind = FTH_TRACE_WRITE, .bytes = 8},
                                                         {.kind = FTH_TRACE_ATOMIC, .bytes = 4}};
    struct fth_rng rng;
    assert_non_null(patterns);
    fth_rng_init(&rng, 1);
    for (int i = 0; i < 50000; i++) {
        uint64_t steps[31];
        const struct fth_compact_access access = random_access(&rng, steps);
        compare(&setting.l1, patterns, &access, &instructions[access.instruction]);
    }
    fth_patterns_destroy(patterns);
    fth_model_params_destroy(params);
}

/* The second access has the lines of the first one, and only the difference of the addresses. */
static void accesses_of_a_pattern_share_a_result(void **state)
{
    (void)state;
    struct fth_model_params *params = make_params(simple_gpu, none);
    const struct fth_setting setting = make_setting(params, 1, 1);
    struct fth_patterns *patterns = fth_patterns_create(&setting.l1);
    const struct fth_trace_instruction load = {.kind = FTH_TRACE_READ, .bytes = 4};
    const uint64_t steps[31] = {4};
    struct fth_compact_access access = {
        .threads = 32, .first = 4096 + 64, .steps = steps, .affine = true};
    size_t bytes;
    uint64_t shift;
    assert_non_null(patterns);
    const struct fth_timed_access *first =
        fth_patterns_find(patterns, &access, &load, &bytes, &shift);
    assert_int_equal(shift, 0);
    assert_int_equal(first->lines[0].line, 4096);
    access.first += 1280;
    assert_ptr_equal(fth_patterns_find(patterns, &access, &load, &bytes, &shift), first);
    assert_int_equal(shift, 1280);
    assert_int_equal(first->lines[0].line, 4096);
    fth_patterns_destroy(patterns);
    fth_model_params_destroy(params);
}

/* The L1 looks up four lines per cycle, and each of its 32 banks delivers a word of 4 bytes per
 * cycle. */
static void reads_take_as_long_as_their_tags_and_banks(void **state)
{
    (void)state;
    static const struct {
        uint64_t first, step;
        uint32_t threads, bytes;
        enum fth_trace_access_kind kind;
        uint32_t cycles;
    } rows[] = {
        {0, 4, 32, 4, FTH_TRACE_READ, 1},     {64, 4, 32, 4, FTH_TRACE_READ, 1},
        {0, 0, 32, 4, FTH_TRACE_READ, 1},     {0, 128, 32, 4, FTH_TRACE_READ, 33},
        {0, 132, 32, 4, FTH_TRACE_READ, 8},   {0, 128, 2, 4, FTH_TRACE_READ, 3},
        {0, 128, 32, 16, FTH_TRACE_READ, 32}, {0, 144, 32, 16, FTH_TRACE_READ, 8},
        {0, 16, 32, 16, FTH_TRACE_READ, 4},   {0, 8, 32, 4, FTH_TRACE_READ, 3},
        {0, 2, 32, 1, FTH_TRACE_READ, 1},     {0, 128, 32, 4, FTH_TRACE_WRITE, 32},
        {0, 132, 32, 4, FTH_TRACE_WRITE, 32},
    };
    struct fth_model_params *params = make_params(simple_gpu, none);
    const struct fth_setting setting = make_setting(params, 1, 1);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_patterns *patterns = fth_patterns_create(&setting.l1);
        const struct fth_trace_instruction instruction = {.kind = rows[i].kind,
                                                          .bytes = rows[i].bytes};
        const struct fth_compact_access access = {.threads = rows[i].threads,
                                                  .first = rows[i].first,
                                                  .affine = true,
                                                  .steps = &rows[i].step};
        size_t bytes;
        uint64_t shift;
        const struct fth_timed_access *found =
            fth_patterns_find(patterns, &access, &instruction, &bytes, &shift);
        assert_non_null(found);
        if (found->cycles != rows[i].cycles)
            fail_msg("row %zu: %u cycles instead of %u", i, found->cycles, rows[i].cycles);
        fth_patterns_destroy(patterns);
    }
    fth_model_params_destroy(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remembered_accesses_are_those_of_coalescing),
        cmocka_unit_test(accesses_of_a_pattern_share_a_result),
        cmocka_unit_test(reads_take_as_long_as_their_tags_and_banks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
