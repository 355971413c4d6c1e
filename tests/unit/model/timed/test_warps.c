/* When warps issue their accesses: durations of launches of a few accesses, computed by hand. On
 * the simple GPU, an access to memory takes 100 cycles, a hit in the L1 10, an instruction 2. */
#include "timed_setup.h"

enum { START = FTH_PACE_START, END = FTH_PACE_END, NEVER = UINT32_MAX, MAX_ROWS = 20 };

/* A launch with the number of rows of its lists, which end with a row of zeros. */
struct row {
    const char *sets[9];
    uint32_t blocks, warps;
    struct short_instruction instructions[4];
    struct short_access accesses[MAX_ROWS]; /* the end has the address 0 */
    struct short_pace pace[MAX_ROWS];       /* the end has the count 0 */
    double cycles;                          /* expected */
};

/* Runs a launch and returns its row of the result, whose members are numbers only. */
static struct fth_model_row run(const struct row *row)
{
    struct short_launch launch = {.blocks = row->blocks,
                                  .warps = row->warps,
                                  .instructions = row->instructions,
                                  .instruction_count = 4,
                                  .accesses = row->accesses,
                                  .pace = row->pace};
    while (launch.access_count < MAX_ROWS && row->accesses[launch.access_count].address)
        launch.access_count++;
    while (launch.pace_count < MAX_ROWS && row->pace[launch.pace_count].count)
        launch.pace_count++;
    struct fth_model_params *params = make_params(simple_gpu, row->sets);
    struct fth_trace *trace = make_trace(&launch);
    struct fth_model_result *result = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_model_run(trace, params, NULL, &result, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    const struct fth_model_row found = *fth_model_row(result, 0);
    fth_model_result_destroy(result);
    fth_trace_close(trace);
    fth_model_params_destroy(params);
    return found;
}

/* Bandwidths are not infinite: a sector takes one tick. */
static void expect_cycles(const struct row *row)
{
    const double cycles = run(row).seconds * 1e9;
    if (fabs(cycles - row->cycles) > 0.01)
        fail_msg("%.4f cycles instead of %g", cycles, row->cycles);
}

/* Without a pace, an access follows 8 instructions after the last one, and the warp waits for each
 * load at once. */
static void without_a_pace_there_are_eight_instructions(void **state)
{
    (void)state;
    struct row row = {
        .blocks = 1, .warps = 1, .accesses = {{0, 0, 0, 4096}}, .cycles = 8 * 2 + 100};
    expect_cycles(&row);
    row.accesses[1] = (struct short_access){0, 0, 1, 8192};
    row.cycles = 2 * (8 * 2 + 100);
    expect_cycles(&row);
}

/* Load A after 4 instructions, then load B after 3 more. */
static void loads_are_waited_for_where_they_are_needed(void **state)
{
    (void)state;
    static const struct {
        uint32_t wait;
        double cycles;
    } rows[] = {{NEVER, 8 + 6 + 100},   {5, 8 + 6 + 100}, {4, 8 + 6 + 100}, /* needed after B */
                {3, 108 + 100},                                             /* B itself needs it */
                {1, 108 + 2 * 2 + 100}, /* the second instruction before B needs it */
                {0, 108 + 3 * 2 + 100}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct row row = {.blocks = 1,
                                .warps = 1,
                                .instructions = {{0, rows[i].wait}, {0, NEVER}},
                                .accesses = {{0, 0, 0, 4096}, {0, 0, 1, 8192}},
                                .pace = {{START, 0, 1, 4, 0, 0, 0, 0}, {0, 1, 1, 3, 0, 0, 0, 0}},
                                .cycles = rows[i].cycles};
        expect_cycles(&row);
    }
}

/* Load A is needed by the third load only, and is complete then. */
static void several_loads_are_in_flight(void **state)
{
    (void)state;
    const struct row row = {
        .blocks = 1,
        .warps = 1,
        .instructions = {{0, 4}, {0, 100}, {0, NEVER}},
        .accesses = {{0, 0, 0, 4096}, {0, 0, 1, 8192}, {0, 0, 2, 12288}},
        .pace = {{START, 0, 1, 1, 0, 0, 0, 0}, {0, 1, 1, 2, 0, 0, 0, 0}, {1, 2, 1, 3, 0, 0, 0, 0}},
        /* A at 2, needed by instruction 5; B at 6; the third one is instruction 6. */
        .cycles = 102 + 1 * 2 + 100};
    expect_cycles(&row);
}

/* A warp remembers 12 loads. Of 14, the last three are combined: the result of the last one is
 * needed at once, so the warp waits for all three, and for no other. */
static void further_loads_are_combined(void **state)
{
    (void)state;
    struct row row = {.blocks = 1,
                      .warps = 1,
                      .instructions = {{0, 1000}, {0, 0}, {0, NEVER}},
                      .pace = {{START, 0, 1, 1, 0, 0, 0, 0},
                               {0, 0, 1, 1, 0, 0, 0, 0},
                               {0, 1, 1, 1, 0, 0, 0, 0},
                               {1, 2, 1, 1, 0, 0, 0, 0}}};
    for (uint32_t i = 0; i < 15; i++)
        row.accesses[i] =
            (struct short_access){0, 0, i < 13 ? 0 : i - 12, 4096 * (uint64_t)(i + 1)};
    /* Instruction 14, at 28, is needed by itself; instruction 15 follows. */
    row.cycles = 28 + 100 + 2 + 100;
    expect_cycles(&row);
    assert_int_equal(run(&row).l1.requests[FTH_TRACE_READ], 15);
}

/* The thirteenth load reads the line of the first one, whose data arrives at 102. The warp needs it
 * at once, but waits for the twelfth, with which it is combined: issued at 24, it arrives at 124.
 */
static void combined_loads_arrive_with_the_last_one(void **state)
{
    (void)state;
    struct row row = {.blocks = 1,
                      .warps = 1,
                      .instructions = {{0, 1000}, {0, 0}, {0, NEVER}},
                      .pace = {{START, 0, 1, 1, 0, 0, 0, 0},
                               {0, 0, 1, 1, 0, 0, 0, 0},
                               {0, 1, 1, 1, 0, 0, 0, 0},
                               {1, 2, 1, 1, 0, 0, 0, 0}},
                      .cycles = 124 + 2 + 100};
    for (uint32_t i = 0; i < 14; i++)
        row.accesses[i] = (struct short_access){0, 0, i < 12 ? 0 : i - 11,
                                                4096 * (uint64_t)(i == 12 ? 1 : i + 1)};
    expect_cycles(&row);
}

/* Stores and their warps do not wait; the last store is accepted after 2 x 16 cycles. */
static void stores_are_not_waited_for(void **state)
{
    (void)state;
    const struct row row = {.blocks = 1,
                            .warps = 1,
                            .instructions = {{FTH_TRACE_WRITE, 0}},
                            .accesses = {{0, 0, 0, 4096}, {0, 0, 0, 8192}},
                            .cycles = 32};
    expect_cycles(&row);
}

/* Two warps with 200 instructions each, which take 200 cycles. A warp that does not wait for data
 * may be up to 64 cycles ahead of its scheduler. */
static void warps_share_schedulers(void **state)
{
    (void)state;
    struct row row = {.sets = {"time.issue_cycles", "1", "gpu.schedulers", "1", NULL},
                      .blocks = 1,
                      .warps = 2,
                      .instructions = {{0, NEVER}},
                      .accesses = {{0, 0, 0, 4096}, {0, 1, 0, 8192}},
                      .pace = {{START, 0, 1, 200, 0, 0, 0, 0}},
                      .cycles = 400 - 64 + 100};
    expect_cycles(&row);
    row.pace[0].instructions = 60; /* 120 - 64 is before the end of its own instructions */
    row.cycles = 60 + 1 + 100;     /* the L1 processes one line per cycle */
    expect_cycles(&row);
    row.pace[0].instructions = 200;
    row.sets[3] = "2";
    row.cycles = 200 + 1 + 100;
    expect_cycles(&row);
}

/* Both warps load at 30, and then need the result after 1 of 200 instructions. The instructions of
 * warp 1 are issued after those of warp 0: the first 30 until 60, the other 200 from 260 to 460. */
static void warps_that_wait_have_no_lead(void **state)
{
    (void)state;
    struct row row = {
        .sets = {"time.issue_cycles", "1", "gpu.schedulers", "1", NULL},
        .blocks = 1,
        .warps = 2,
        .instructions = {{0, 0}, {0, NEVER}},
        .accesses = {{0, 0, 0, 4096}, {0, 1, 0, 8192}, {0, 0, 1, 12288}, {0, 1, 1, 16384}},
        .pace = {{START, 0, 1, 30, 0, 0, 0, 0}, {0, 1, 1, 200, 0, 0, 0, 0}},
        .cycles = 460 + 100};
    expect_cycles(&row);
    row.instructions[0].wait = NEVER;
    row.cycles = 460 - 64 + 100;
    expect_cycles(&row);
}

/* All eight warps want to issue at 24, and the last of their 24 instructions is issued up to 64
 * cycles ahead of the scheduler: those of warps 0 to 2 at 24, and those of warp 3 at 32. Warp 0
 * wants to read again at 48. It goes before the other five warps, at 56. Its third read needs that
 * data, and follows at 157. With 25 instructions, it would be the last one. */
static void older_warps_issue_few_instructions_first(void **state)
{
    (void)state;
    struct row row = {.sets = {"time.issue_cycles", "1", "gpu.schedulers", "1", NULL},
                      .blocks = 1,
                      .warps = 8,
                      .instructions = {{0, NEVER}, {0, 0}, {0, NEVER}},
                      .accesses = {{0, 0, 0, 4096}, {0, 0, 1, 8192}, {0, 0, 2, 12288}},
                      .pace = {{START, 0, 1, 24, 0, 0, 0, 0},
                               {0, 1, 1, 24, 0, 0, 0, 0},
                               {1, 2, 1, 1, 0, 0, 0, 0}},
                      .cycles = 157 + 100};
    for (uint32_t warp = 1; warp < 8; warp++)
        row.accesses[2 + warp] = (struct short_access){0, warp, 0, (uint64_t)16384 * warp};
    expect_cycles(&row);
    row.pace[0].instructions = row.pace[1].instructions = 25;
    row.cycles = 9 * 25 - 64 + 100 + 1 + 100;
    expect_cycles(&row);
}

/* Warp 0 reads after 50 requests to shared memory, so the L1 begins with its read at 52. Warps 1, 3
 * and 2 want to read at 4, 10 and 20. Warp 2 needs its data, which takes 100 cycles, and reads once
 * more. If the queue has one place, the other warps wait, and the older warps read first: at 53, 54
 * (warp 2) and 55. Without a limit, they read in the order in which they come: warp 2 at 55. */
static void the_oldest_warp_gets_the_next_place_in_the_queue(void **state)
{
    (void)state;
    struct row row = {
        .sets = {"gpu.schedulers", "1", "time.queue_accesses", "1", NULL},
        .blocks = 1,
        .warps = 4,
        .instructions = {{0, NEVER}, {0, NEVER}, {0, 0}, {0, NEVER}},
        .accesses = {{0, 0, 0, 4096},
                     {0, 1, 1, 8192},
                     {0, 2, 2, 12288},
                     {0, 2, 2, 16384},
                     {0, 3, 3, 20480}},
        .pace = {{.from = START, .to = 0, .count = 1, .instructions = 1, .shared = 50},
                 {.from = START, .to = 1, .count = 1, .instructions = 2},
                 {.from = START, .to = 2, .count = 1, .instructions = 10},
                 {.from = START, .to = 3, .count = 1, .instructions = 5},
                 {.from = 2, .to = 2, .count = 1, .instructions = 1}},
        .cycles = 54 + 100 + 2 + 100};
    expect_cycles(&row);
    assert_int_equal(run(&row).simulated_warps, 5); /* three of them have two events each */
    row.sets[3] = "0";
    row.cycles = 55 + 100 + 2 + 100;
    expect_cycles(&row);
    row.sets[3] = "6"; /* warp 0 takes 4 places, and there is room for warps 1 and 3 */
    expect_cycles(&row);
    row.sets[3] = "5"; /* for warp 1 */
    row.cycles = 54 + 100 + 2 + 100;
    expect_cycles(&row);
}

/* The warps of a block start 8 cycles apart. */
static void warps_start_one_after_the_other(void **state)
{
    (void)state;
    const struct row row = {.sets = {"time.warp_cycles", "8", NULL},
                            .blocks = 1,
                            .warps = 3,
                            .accesses = {{0, 0, 0, 4096}, {0, 2, 0, 8192}},
                            .cycles = 2 * 8 + 16 + 100};
    expect_cycles(&row);
}

/* Warp 0 loads at 8 and warp 1 at 100; then both load after a barrier, at 102. */
static void warps_wait_at_barriers(void **state)
{
    (void)state;
    struct row row = {
        .blocks = 1,
        .warps = 2,
        .instructions = {{0, NEVER}, {0, NEVER}, {0, NEVER}},
        .accesses = {{0, 0, 0, 4096}, {0, 1, 1, 8192}, {0, 0, 2, 12288}, {0, 1, 2, 16384}},
        .pace = {{START, 0, 1, 4, 0, 0, 0, 0},
                 {START, 1, 1, 50, 0, 0, 0, 0},
                 {0, 2, 1, 1, 1, 0, 0, 0},
                 {1, 2, 1, 1, 1, 0, 0, 0}},
        .cycles = 102 + 1 + 100};
    expect_cycles(&row);
    /* Several barriers each time count as one. */
    row.pace[2].barriers = 3;
    expect_cycles(&row);
    /* A barrier in less than half of the cases is none. */
    for (size_t i = 2; i < 4; i++)
        row.pace[i] = (struct short_pace){(uint32_t)i - 2, 2, 5, 5, 2, 0, 0, 0};
    row.cycles = 102 + 100;
    expect_cycles(&row);
    for (size_t i = 2; i < 4; i++)
        row.pace[i].barriers = 3;
    row.cycles = 102 + 1 + 100;
    expect_cycles(&row);
}

/* Half of the pairs have a barrier, so each second pair of a warp has one: the one at 102, but not
 * that before the last loads, which warp 0 issues at 104 and warp 1 at 202. */
static void barriers_come_at_their_average_distance(void **state)
{
    (void)state;
    struct row row = {.blocks = 1,
                      .warps = 2,
                      .instructions = {{0, NEVER}, {0, NEVER}, {0, NEVER}},
                      .accesses = {{0, 0, 0, 4096},
                                   {0, 1, 1, 8192},
                                   {0, 0, 2, 12288},
                                   {0, 1, 2, 16384},
                                   {0, 0, 0, 20480},
                                   {0, 1, 1, 24576}},
                      .pace = {{START, 0, 1, 4, 0, 0, 0, 0},
                               {START, 1, 1, 50, 0, 0, 0, 0},
                               {0, 2, 2, 2, 1, 0, 0, 0},
                               {1, 2, 2, 2, 1, 0, 0, 0},
                               {2, 0, 2, 2, 1, 0, 0, 0},
                               {2, 1, 2, 100, 1, 0, 0, 0}},
                      .cycles = 202 + 100};
    expect_cycles(&row);
    /* A barrier in all pairs: both load at 202. */
    for (size_t i = 2; i < 6; i++)
        row.pace[i].barriers = 2;
    row.cycles = 202 + 1 + 100;
    expect_cycles(&row);
}

/* Returns the delay for a line or block and a time or warp: docs/model/time.md. */
static double spread(uint64_t what, uint64_t when, unsigned shift, double cycles)
{
    const uint64_t mixed =
        (what ^ when * UINT64_C(0x2545f4914f6cdd1d)) * UINT64_C(0x9e3779b97f4a7c15);
    return (double)(mixed >> shift & 65535) * cycles / 65536;
}

/* The warp waits longer for data of the L2, but not for the hit that follows. */
static void data_of_the_l2_is_spread(void **state)
{
    (void)state;
    struct row row = {.sets = {"time.spread_cycles", "500", NULL},
                      .blocks = 1,
                      .warps = 1,
                      .accesses = {{0, 0, 0, 4096}},
                      .cycles = 16 + 100 + spread(4096, 16, 32, 500)};
    expect_cycles(&row);
    row.accesses[1] = (struct short_access){0, 0, 0, 4096};
    row.cycles += 16 + 10;
    expect_cycles(&row);
}

/* Two warps store at 8 if each has a scheduler, and later if they share one. */
static void warps_that_share_a_scheduler_start_apart(void **state)
{
    (void)state;
    struct row row = {.sets = {"time.spread_cycles", "500", "time.issue_cycles", "1",
                               "gpu.schedulers", "2", NULL},
                      .blocks = 1,
                      .warps = 2,
                      .instructions = {{FTH_TRACE_WRITE, NEVER}},
                      .accesses = {{0, 0, 0, 4096}, {0, 1, 0, 8192}},
                      .cycles = 8 + 1};
    expect_cycles(&row);
    row.sets[5] = "1";
    row.cycles = 8 + spread(0, 2, 48, 250); /* half of it for the warp before */
    expect_cycles(&row);
    row.warps = 3; /* all of it for two */
    row.accesses[2] = (struct short_access){0, 2, 0, 12288};
    row.cycles = 8 + fmax(spread(0, 2, 48, 250), spread(0, 3, 48, 500));
    expect_cycles(&row);
}

/* Warp 1 ends with its load at 100; warp 0 waits for it at the barrier since 10.
 * The L1 processes one line per cycle. */
static void ended_warps_open_barriers(void **state)
{
    (void)state;
    const struct row row = {.blocks = 1,
                            .warps = 2,
                            .instructions = {{0, NEVER}, {0, NEVER}, {0, NEVER}},
                            .accesses = {{0, 0, 0, 4096}, {0, 1, 1, 8192}, {0, 0, 2, 12288}},
                            .pace = {{START, 0, 1, 4, 0, 0, 0, 0},
                                     {START, 1, 1, 50, 0, 0, 0, 0},
                                     {0, 2, 1, 1, 1, 0, 0, 0}},
                            .cycles = 100 + 1 + 100};
    expect_cycles(&row);
}

/* Barriers of several blocks are independent, and a warp without accesses does not hold one up. */
static void barriers_belong_to_blocks(void **state)
{
    (void)state;
    const struct row row = {
        .sets = {"gpu.sms", "2", NULL},
        .blocks = 2,
        .warps = 2,
        .instructions = {{0, NEVER}, {0, NEVER}, {0, NEVER}},
        .accesses = {{0, 0, 0, 4096}, {1, 1, 1, 8192}, {0, 0, 2, 12288}, {1, 1, 2, 16384}},
        .pace = {{START, 0, 1, 4, 0, 0, 0, 0},
                 {START, 1, 1, 50, 0, 0, 0, 0},
                 {0, 2, 1, 1, 1, 0, 0, 0},
                 {1, 2, 1, 1, 1, 0, 0, 0}},
        .cycles = 102 + 100};
    expect_cycles(&row);
}

/* 20 requests to shared memory occupy the L1 before the access, also if it is the first one. */
static void shared_requests_occupy_the_l1(void **state)
{
    (void)state;
    struct row row = {.blocks = 1,
                      .warps = 1,
                      .instructions = {{0, NEVER}, {0, NEVER}},
                      .accesses = {{0, 0, 0, 4096}},
                      .pace = {{START, 0, 1, 4, 0, 20, 0, 0}},
                      .cycles = 8 + 20 + 100};
    expect_cycles(&row);
    /* The second access is issued 2 cycles after the first was accepted; the sum of 3 requests in 2
     * steps is rounded to 2. */
    row.accesses[1] = (struct short_access){0, 0, 1, 8192};
    row.pace[1] = (struct short_pace){0, 1, 2, 2, 0, 3, 0, 0};
    row.cycles = 28 + 2 + 2 + 100;
    expect_cycles(&row);
}

/* The unit for constants needs 2 cycles for each address from the last access on, and longer than
 * the other instructions. */
static void constants_delay_the_access_after_them(void **state)
{
    (void)state;
    struct row row = {.blocks = 1,
                      .warps = 1,
                      .instructions = {{0, NEVER}, {0, NEVER}},
                      .accesses = {{0, 0, 0, 4096}},
                      .pace = {{START, 0, 1, 4, 0, 0, 0, 20}},
                      .cycles = 40 + 100};
    expect_cycles(&row);
    row.pace[0].latency_cycles = 50;
    row.cycles = 50 + 100;
    expect_cycles(&row);
    row.sets[0] = "time.constant_cycles";
    row.sets[1] = "3";
    row.cycles = 60 + 100;
    expect_cycles(&row);
    /* A long gap; and the sum of 39 addresses in 2 steps is rounded to 20. */
    row.pace[0] = (struct short_pace){START, 0, 2, 50, 0, 0, 0, 39};
    expect_cycles(&row);
    row.sets[1] = "2.5";
    row.cycles = 50 + 100;
    expect_cycles(&row);
    /* The warp does not wait for the data, and reads once more. */
    row.accesses[1] = (struct short_access){0, 0, 1, 8192};
    row.pace[1] = (struct short_pace){0, 1, 1, 3, 0, 0, 0, 8};
    row.cycles = 50 + 20 + 100;
    expect_cycles(&row);
}

/* Warps of an SM wait for each other's constants. Accesses of other warps do not wait: the reads of
 * warp 2 begin at 8 and 110. */
static void an_sm_processes_constants_one_after_the_other(void **state)
{
    (void)state;
    struct row row = {
        .blocks = 1,
        .warps = 3,
        .instructions = {{0, NEVER}, {0, 0}, {0, NEVER}},
        .accesses = {{0, 0, 0, 4096}, {0, 1, 0, 8192}, {0, 2, 1, 12288}, {0, 2, 2, 16384}},
        .pace = {{START, 0, 1, 4, 0, 0, 0, 20},
                 {START, 1, 1, 4, 0, 0, 0, 0},
                 {1, 2, 1, 1, 0, 0, 0, 0}},
        .cycles = 110 + 100};
    expect_cycles(&row);
    row.pace[0].constants = 70;
    row.cycles = 2 * 140 + 100;
    expect_cycles(&row);
    row.sets[0] = "gpu.sms";
    row.sets[1] = "2";
    row.sets[2] = "gpu.max_blocks";
    row.sets[3] = "1";
    row.blocks = 2;
    row.accesses[1].block = 1;
    row.cycles = 140 + 100;
    expect_cycles(&row);
}

/* Sums over several steps: 7 instructions in 2 steps are 4 each, 1 in 3 steps is at least 1. */
static void gaps_are_rounded(void **state)
{
    (void)state;
    struct row row = {.blocks = 1,
                      .warps = 1,
                      .instructions = {{0, NEVER}},
                      .accesses = {{0, 0, 0, 4096}},
                      .pace = {{START, 0, 2, 7, 0, 0, 0, 0}},
                      .cycles = 8 + 100};
    expect_cycles(&row);
    row.pace[0] = (struct short_pace){START, 0, 3, 1, 0, 0, 0, 0};
    row.cycles = 2 + 100;
    expect_cycles(&row);
    /* A pair that the pace does not have: 8 instructions. */
    row.accesses[1] = (struct short_access){0, 0, 0, 8192};
    row.cycles = 2 + 16 + 100;
    expect_cycles(&row);
}

/* Instructions that depend on each other take longer than to issue them: 50 cycles in 4 steps are
 * 13 each. Longer latencies of data are not added to it. */
static void dependent_instructions_take_time(void **state)
{
    (void)state;
    struct row row = {.blocks = 1,
                      .warps = 1,
                      .instructions = {{0, 0}, {0, NEVER}},
                      .accesses = {{0, 0, 0, 4096}},
                      .pace = {{START, 0, 4, 16, 0, 0, 50, 0}, {0, 1, 1, 4, 0, 0, 60, 0}},
                      .cycles = 13 + 100};
    expect_cycles(&row);
    row.accesses[1] = (struct short_access){0, 0, 1, 8192};
    row.cycles = 113 + 8 + 100;
    expect_cycles(&row);
    row.instructions[0].wait = NEVER;
    row.cycles = 13 + 60 + 100;
    expect_cycles(&row);
}

/* What a warp executes after its last access: a load at 2, whose data arrives at 102. */
static void warps_end_after_their_last_instruction(void **state)
{
    (void)state;
    static const struct {
        uint32_t wait;
        struct short_pace tail;
        double cycles;
    } rows[] = {
        {NEVER, {0, END, 2, 20, 0, 0, 0, 0}, 102}, /* ends at 22, before the data arrives */
        {NEVER, {0, END, 1, 200, 0, 0, 0, 0}, 2 + 200 * 2},     /* ends later */
        {20, {0, END, 1, 50, 0, 0, 0, 0}, 102 + (50 - 20) * 2}, /* the rest waits for the data */
        {NEVER, {0, END, 2, 20, 0, 0, 600, 0}, 2 + 300},        /* dependent instructions */
        {NEVER, {0, END, 1, 0, 0, 0, 600, 0}, 102},             /* no instruction */
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct row row = {.blocks = 1,
                                .warps = 1,
                                .instructions = {{0, rows[i].wait}},
                                .accesses = {{0, 0, 0, 4096}},
                                .pace = {{START, 0, 1, 1, 0, 0, 0, 0}, rows[i].tail},
                                .cycles = rows[i].cycles};
        expect_cycles(&row);
    }
}

/* Two warps execute an atomic in the same 512 bytes, at 2 and 3. The first one begins in the L2 at
 * 12, and its data arrives at 102. The second one begins 200 cycles after the first one. */
static void atomics_of_one_unit_wait(void **state)
{
    (void)state;
    struct row row = {.sets = {"time.atomic_cycles", "200", "time.atomic_float_cycles", "0"},
                      .blocks = 1,
                      .warps = 2,
                      .instructions = {{FTH_TRACE_ATOMIC, NEVER}},
                      .accesses = {{0, 0, 0, 4096}, {0, 1, 0, 4096 + 28}},
                      .pace = {{START, 0, 1, 1, 0, 0, 0, 0}},
                      .cycles = 12 + 200 + 10};
    expect_cycles(&row);
    row.accesses[1].address = 4096 + 508; /* another sector, whose data comes from memory */
    row.cycles = 12 + 200 + 90;
    expect_cycles(&row);
    row.accesses[1].address = 4096 + 512; /* another unit */
    row.cycles = 103;
    expect_cycles(&row);
    row.accesses[1].address = 4096;
    row.sets[1] = "0";
    row.cycles = 102;
    expect_cycles(&row);
}

/* The second block takes the slot of the first one when that has executed its last instruction. */
static void slots_wait_for_the_last_instruction(void **state)
{
    (void)state;
    const struct row row = {.sets = {"gpu.sms", "1", "gpu.max_blocks", "1"},
                            .blocks = 2,
                            .warps = 1,
                            .instructions = {{1, NEVER}},
                            .accesses = {{0, 0, 0, 4096}, {1, 0, 0, 8192}},
                            .pace = {{START, 0, 1, 1, 0, 0, 0, 0}, {0, END, 1, 100, 0, 0, 0, 0}},
                            .cycles = 2 * (2 + 200)};
    expect_cycles(&row);
}

/* The first blocks of an SM start 5 cycles apart; a launch takes 1000 ns in addition. */
static void blocks_start_one_after_the_other(void **state)
{
    (void)state;
    const struct row row = {.sets = {"time.block_cycles", "5", "time.launch_ns", "1000", NULL},
                            .blocks = 3,
                            .warps = 1,
                            .accesses = {{0, 0, 0, 4096}, {1, 0, 0, 8192}, {2, 0, 0, 12288}},
                            .cycles = 2 * 5 + 16 + 100 + 1000};
    expect_cycles(&row);
}

/* One block fits. Its load is waited for at the end, the slot is free 30 cycles later, at 146, and
 * with a period of 100 at 200. */
static void slots_are_refilled(void **state)
{
    (void)state;
    struct row row = {.sets = {"gpu.max_blocks", "1", "time.refill_cycles", "30",
                               "time.refill_period_cycles", "0", NULL},
                      .blocks = 2,
                      .warps = 1,
                      .instructions = {{0, 0}},
                      .accesses = {{0, 0, 0, 4096}, {1, 0, 0, 8192}},
                      .pace = {{START, 0, 1, 8, 0, 0, 0, 0}},
                      .cycles = 116 + 30 + 116};
    expect_cycles(&row);
    row.sets[5] = "100";
    row.cycles = 200 + 116;
    expect_cycles(&row);
    /* A load whose result is not needed does not hold up the block, which ends at 16. */
    row.instructions[0].wait = NEVER;
    row.sets[5] = "0";
    row.cycles = 16 + 30 + 116;
    expect_cycles(&row);
}

/* The dispatcher starts a block every 1.19 cycles: both slots become free at the same time. */
static void blocks_are_dispatched_one_after_the_other(void **state)
{
    (void)state;
    struct row row = {
        .sets = {"gpu.sms", "2", "gpu.max_blocks", "1", NULL},
        .blocks = 4,
        .warps = 1,
        .instructions = {{FTH_TRACE_READ, NEVER}, {FTH_TRACE_WRITE, NEVER}},
        .accesses = {{0, 0, 1, 4096}, {1, 0, 1, 8192}, {2, 0, 0, 12288}, {3, 0, 0, 16384}},
        .cycles = 16 + 1.19 + 116};
    expect_cycles(&row);
    row.sets[4] = "time.dispatch_cycles";
    row.sets[5] = "5";
    row.cycles = 16 + 5 + 116;
    expect_cycles(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_pace_there_are_eight_instructions),
        cmocka_unit_test(loads_are_waited_for_where_they_are_needed),
        cmocka_unit_test(several_loads_are_in_flight),
        cmocka_unit_test(further_loads_are_combined),
        cmocka_unit_test(combined_loads_arrive_with_the_last_one),
        cmocka_unit_test(stores_are_not_waited_for),
        cmocka_unit_test(warps_share_schedulers),
        cmocka_unit_test(warps_that_wait_have_no_lead),
        cmocka_unit_test(older_warps_issue_few_instructions_first),
        cmocka_unit_test(the_oldest_warp_gets_the_next_place_in_the_queue),
        cmocka_unit_test(warps_start_one_after_the_other),
        cmocka_unit_test(warps_wait_at_barriers),
        cmocka_unit_test(barriers_come_at_their_average_distance),
        cmocka_unit_test(data_of_the_l2_is_spread),
        cmocka_unit_test(warps_that_share_a_scheduler_start_apart),
        cmocka_unit_test(ended_warps_open_barriers),
        cmocka_unit_test(barriers_belong_to_blocks),
        cmocka_unit_test(shared_requests_occupy_the_l1),
        cmocka_unit_test(constants_delay_the_access_after_them),
        cmocka_unit_test(an_sm_processes_constants_one_after_the_other),
        cmocka_unit_test(gaps_are_rounded),
        cmocka_unit_test(dependent_instructions_take_time),
        cmocka_unit_test(warps_end_after_their_last_instruction),
        cmocka_unit_test(atomics_of_one_unit_wait),
        cmocka_unit_test(slots_wait_for_the_last_instruction),
        cmocka_unit_test(blocks_start_one_after_the_other),
        cmocka_unit_test(slots_are_refilled),
        cmocka_unit_test(blocks_are_dispatched_one_after_the_other),
    };
    return cmocka_run_group_tests_name("warps", tests, enter_folder, leave_folder);
}
