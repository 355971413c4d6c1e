/* The L1s of the model with time: which requests reach the L2, and when their data arrives. */
#include "timed_setup.h"

#include <stdlib.h>

/* Two SMs. The L2 fetches 64 bytes from memory. */
static const char *const two_sms[] = {
    "gpu.sms",         "2", "l2.joins", "none", "l2.fill_bytes", "64", "time.launch_sectors", "0",
    "l2.partial_ways", "0", NULL};
static const char *const none[] = {NULL};

#define LATER (100 * CYCLE) /* all earlier requests are complete */

enum { L1_HIT = 30, L2_HIT = 300, MISS = 700, ALL_SECTORS = 15 };

/* In ticks. */
static const struct fth_timing costs = {.l1_hit = L1_HIT,
                                        .l1_cycle = 4,
                                        .to_join = 100,
                                        .to_l2 = 50,
                                        .to_memory = 400,
                                        .l2_sector = 1,
                                        .mem_sector = 1};

struct fixture {
    struct fth_model_params *params;
    struct fth_setting setting;
    struct fth_timing timing;
    struct fth_timed_l2 *l2;
    struct fth_timed_l1s *l1s;
    uint32_t sent[2]; /* of the schedulers */
};

static void begin_launch(struct fixture *fixture, bool cold)
{
    fth_timed_l2_begin(fixture->l2, &fixture->timing, cold);
    assert_int_equal(
        fth_timed_l1s_begin(fixture->l1s, &fixture->setting, &fixture->timing, fixture->l2, NULL),
        FTH_OK);
}

static struct fixture begin(const char *const *sets, struct fth_timing timing)
{
    struct fixture fixture = {.params = make_params(two_sms, sets), .timing = timing};
    fixture.setting = make_setting(fixture.params, 1, 1);
    assert_int_equal(fth_timed_l2_create(fixture.params, &fixture.setting, 1, &fixture.l2, NULL),
                     FTH_OK);
    assert_int_equal(fth_timed_l1s_create(2, 1, &fixture.l1s, NULL), FTH_OK);
    begin_launch(&fixture, true);
    return fixture;
}

static void end(struct fixture *fixture)
{
    fth_timed_l1s_destroy(fixture->l1s);
    fth_timed_l2_destroy(fixture->l2);
    fth_model_params_destroy(fixture->params);
}

/* An access to sectors of consecutive lines. */
struct access {
    enum fth_trace_access_kind kind;
    uint32_t sm, scheduler;
    uint64_t line;
    uint32_t sectors, lines; /* lines 0: one */
    uint32_t cycles;         /* that the L1 is busy; 0: one per line */
    uint8_t flags;
    struct fth_cache_run run; /* bytes 0: all bytes of the sectors */
};

/* Performs an access. Returns when its data arrives, and sets when its lookup begins; both from
 * `now` on. */
static uint64_t perform(struct fixture *fixture, struct access access, uint64_t now,
                        uint64_t *begun)
{
    const uint32_t lines = access.lines ? access.lines : 1;
    struct fth_timed_access *timed =
        calloc(1, sizeof *timed + lines * (sizeof *timed->lines + sizeof access.run));
    struct fth_l1_times times = {0};
    assert_non_null(timed);
    timed->line_count = (uint16_t)lines;
    timed->cycles = (uint16_t)(access.cycles ? access.cycles : lines);
    for (uint32_t i = 0; i < lines; i++)
        timed->lines[i] = (struct fth_timed_line){.line = access.line + 128 * (uint64_t)i,
                                                  .sectors = access.sectors,
                                                  .run = (uint16_t)i,
                                                  .run_count = access.run.bytes != 0,
                                                  .flags = access.flags};
    for (uint32_t i = 0; i < lines; i++)
        memcpy((char *)(timed->lines + lines) + i * sizeof access.run, &access.run,
               sizeof access.run);
    assert_true(fth_timed_l1s_access(fixture->l1s, access.sm, timed, access.kind, now,
                                     &fixture->sent[access.scheduler], &times));
    *begun = times.begun - now;
    free(timed);
    return times.done - now;
}

static uint64_t run(struct fixture *fixture, struct access access, uint64_t now)
{
    uint64_t accepted;
    return perform(fixture, access, now, &accepted);
}

static const struct fth_model_counts *l1_counts(const struct fixture *fixture)
{
    return fth_timed_l1s_counts(fixture->l1s);
}

static const struct fth_model_counts *l2_counts(const struct fixture *fixture)
{
    return &fth_timed_l2_counts(fixture->l2)->counts;
}

/* Hits in the L1, and sectors that reach the L2. */
static void expect_reads(const struct fixture *fixture, uint64_t hits, uint64_t merges,
                         uint64_t l2_sectors)
{
    assert_int_equal(l1_counts(fixture)->hits[FTH_TRACE_READ], hits);
    assert_int_equal(l1_counts(fixture)->merges[FTH_TRACE_READ], merges);
    assert_int_equal(l2_counts(fixture)->sectors[FTH_TRACE_READ], l2_sectors);
}

static void reads_miss_and_then_hit(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, costs);
    assert_int_equal(run(&fixture, (struct access){.sectors = 3}, 0), MISS);
    assert_int_equal(run(&fixture, (struct access){.sectors = 3}, LATER), L1_HIT);
    /* Sector 2 is missed; the two others are present. */
    assert_int_equal(run(&fixture, (struct access){.sectors = 7}, 2 * LATER), MISS);
    expect_reads(&fixture, 2 + 2, 0, 2 + 1);
    assert_int_equal(l1_counts(&fixture)->requests[FTH_TRACE_READ], 3);
    assert_int_equal(l1_counts(&fixture)->sectors[FTH_TRACE_READ], 7);
    /* Another SM has its own L1. Sector 3 came with sector 2. */
    assert_int_equal(run(&fixture, (struct access){.sm = 1, .sectors = 8}, 3 * LATER), L2_HIT);
    end(&fixture);
}

/* Data of the first read arrives at 700. */
static void sectors_in_flight_are_merged(void **state)
{
    (void)state;
    static const char *const misses[] = {"l1.merged", "miss", NULL};
    for (int counted = 0; counted < 2; counted++) {
        struct fixture fixture = begin(counted ? misses : none, costs);
        run(&fixture, (struct access){.sectors = 1}, 0);
        assert_int_equal(run(&fixture, (struct access){.sectors = 1}, 600), MISS - 600);
        expect_reads(&fixture, counted ? 0 : 1, 1, 1);
        /* A hit takes until 700 anyway. */
        assert_int_equal(run(&fixture, (struct access){.sectors = 1}, MISS - L1_HIT), L1_HIT);
        expect_reads(&fixture, counted ? 1 : 2, 1, 1);
        end(&fixture);
    }
}

/* Sectors that are fetched later extend the flight of their line. */
static void a_line_arrives_as_a_whole(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, costs);
    run(&fixture, (struct access){.sectors = 1}, 0);
    run(&fixture, (struct access){.sectors = 4}, 300); /* arrives at 1000 */
    assert_int_equal(run(&fixture, (struct access){.sectors = 1}, 800), 200);
    end(&fixture);
}

static void an_l1_processes_lines_one_after_the_other(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, costs);
    uint64_t accepted = UINT64_MAX;
    run(&fixture, (struct access){.sectors = 1, .lines = 4}, 0);
    assert_int_equal(perform(&fixture, (struct access){.sectors = 1, .lines = 4}, LATER, &accepted),
                     3 * 4 + L1_HIT);
    assert_int_equal(accepted, 0);
    assert_int_equal(perform(&fixture, (struct access){.sectors = 1}, LATER, &accepted),
                     4 * 4 + L1_HIT);
    assert_int_equal(accepted, 4); /* the lines of the access before are looked up in a cycle */
    assert_int_equal(perform(&fixture, (struct access){.sm = 1, .sectors = 1}, LATER, &accepted),
                     L2_HIT);
    assert_int_equal(accepted, 0);
    end(&fixture);
}

/* The lines of an access are spread over the cycles in which the L1 is busy with it. */
static void an_access_occupies_the_l1_for_its_cycles(void **state)
{
    (void)state;
    static const struct {
        uint32_t lines, cycles;
        uint32_t last, next; /* when the last hit is delivered, and the next lookup, in ticks */
    } rows[] = {{4, 1, 3, 4},
                {4, 2, 6, 4},
                {1, 5, 0, 4},
                {2, 10, 20, 4},
                {8, 2, 7, 2 * 4},
                {9, 9, 8 * 4, 3 * 4},
                {1, 100, 0, (100 - 64) * 4}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fixture fixture = begin(none, costs);
        const struct access access = {
            .sectors = 1, .lines = rows[i].lines, .cycles = rows[i].cycles};
        uint64_t begun = UINT64_MAX;
        run(&fixture, access, 0);
        assert_int_equal(perform(&fixture, access, LATER, &begun), rows[i].last + L1_HIT);
        assert_int_equal(begun, 0);
        perform(&fixture, access, LATER, &begun);
        assert_int_equal(begun, rows[i].next);
        end(&fixture);
    }
}

/* Data that comes from the L2 waits for that of earlier accesses, and does not delay hits. */
static void data_from_the_l2_waits_for_hits(void **state)
{
    (void)state;
    const struct access hit = {.sectors = 1, .cycles = 60};
    const struct access miss = {.line = 4096, .sectors = 1, .cycles = 50};
    struct access other = miss;
    struct fixture fixture = begin(none, costs);
    run(&fixture, hit, 0);
    other.sm = 1;
    run(&fixture, other, 0); /* the L2 has the line */
    assert_int_equal(run(&fixture, hit, LATER), L1_HIT);
    assert_int_equal(run(&fixture, miss, LATER), 60 * 4 + L2_HIT);
    assert_int_equal(run(&fixture, hit, LATER), 60 * 4 + L1_HIT);
    const struct access bypassing = {
        .sectors = 1, .flags = FTH_LINE_REQUEST_BYPASS_L1 | FTH_LINE_REQUEST_NO_ALLOCATE};
    /* Until 120 cycles, hits are delivered, and the miss takes 50. */
    assert_int_equal(run(&fixture, bypassing, LATER), (60 + 50 + 60) * 4 + L2_HIT);
    end(&fixture);
}

static void shared_requests_occupy_the_l1(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, costs);
    for (uint64_t now = 0; now < 2 * LATER; now += LATER) {
        fth_timed_l1s_add_shared(fixture.l1s, 0, 5, now);
        assert_int_equal(run(&fixture, (struct access){.sectors = 1}, now),
                         5 * 4 + (now ? L1_HIT : MISS));
    }
    end(&fixture);
}

/* Two misses occupy the port for 1,200 ticks. The next read is looked up 256 cycles before that. */
static void reads_wait_while_the_port_is_behind(void **state)
{
    (void)state;
    struct fth_timing timing = costs;
    timing.port = 600;
    struct fixture fixture = begin(none, timing);
    const struct access hit = {.sectors = 1};
    run(&fixture, hit, 0);
    run(&fixture, (struct access){.line = 4096, .sectors = 1}, LATER);
    assert_int_equal(run(&fixture, hit, LATER + 10), L1_HIT);
    run(&fixture, (struct access){.line = 8192, .sectors = 1}, LATER + 20);
    assert_int_equal(run(&fixture, hit, LATER + 30), 1200 - 256 * 4 - 30 + L1_HIT);
    end(&fixture);
}

/* Each L1 is empty at the start of a launch, and idle. */
static void launches_begin_with_empty_l1s(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, costs);
    run(&fixture, (struct access){.sectors = 1}, LATER);
    fth_timed_l1s_add_shared(fixture.l1s, 0, 1000, LATER);
    fth_timed_l1s_add_shared(fixture.l1s, 1, 1000, LATER);
    begin_launch(&fixture, false);
    assert_int_equal(run(&fixture, (struct access){.sectors = 1}, 0), L2_HIT);
    assert_int_equal(run(&fixture, (struct access){.sm = 1, .sectors = 1}, 9), L2_HIT);
    expect_reads(&fixture, 0, 0, 3);
    fth_timed_l1s_reset_counts(fixture.l1s);
    assert_int_equal(l1_counts(&fixture)->requests[FTH_TRACE_READ], 0);
    end(&fixture);
}

/* The sizes of the L1 of two launches differ. */
static void l1s_can_change_their_size(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, costs);
    run(&fixture, (struct access){.sectors = 1, .lines = 64}, 0);
    assert_int_equal(fth_model_set(fixture.params, "l1.size_bytes", "2048", NULL), FTH_OK);
    fixture.setting = make_setting(fixture.params, 1, 1);
    begin_launch(&fixture, true);
    fth_timed_l1s_reset_counts(fixture.l1s);
    for (uint64_t now = 0; now < 2 * LATER; now += LATER)
        run(&fixture, (struct access){.sectors = 1, .lines = 64}, now);
    assert_int_equal(l1_counts(&fixture)->hits[FTH_TRACE_READ], 0);
    end(&fixture);
}

/* ---- stores ---- */

static const struct access store = {.kind = FTH_TRACE_WRITE, .sectors = 1};

static void expect_stores(const struct fixture *fixture, uint64_t requests, uint64_t sectors)
{
    assert_int_equal(l2_counts(fixture)->requests[FTH_TRACE_WRITE], requests);
    assert_int_equal(l2_counts(fixture)->sectors[FTH_TRACE_WRITE], sectors);
}

static void stores_leave_their_data_in_the_l1(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, costs);
    assert_int_equal(run(&fixture, store, 0), 0); /* nothing waits for it */
    assert_int_equal(l1_counts(&fixture)->hits[FTH_TRACE_WRITE], 0);
    assert_int_equal(run(&fixture, (struct access){.sectors = 1}, 100), L1_HIT);
    run(&fixture, store, LATER);
    assert_int_equal(l1_counts(&fixture)->hits[FTH_TRACE_WRITE], 1);
    /* Written bytes of a sector that is written in part are present. */
    const struct access part = {.kind = FTH_TRACE_WRITE, .sectors = 2, .run = {40, 8}};
    run(&fixture, part, 2 * LATER);
    assert_int_equal(run(&fixture, (struct access){.sectors = 2, .run = {44, 4}}, 3 * LATER),
                     L1_HIT);
    assert_int_equal(run(&fixture, (struct access){.sectors = 2, .run = {36, 8}}, 4 * LATER), MISS);
    end(&fixture);
}

/* A store within 100 ticks of the last one to the same line counts only sectors that are new. */
static void stores_merge(void **state)
{
    (void)state;
    struct fth_timing timing = costs;
    timing.store_merge = 100;
    struct fixture fixture = begin(none, timing);
    run(&fixture, store, 0);
    expect_stores(&fixture, 1, 1);
    run(&fixture, store, 99); /* no request */
    expect_stores(&fixture, 1, 1);
    struct access more = store;
    more.sectors = 7;
    run(&fixture, more, 190); /* the time begins again with each store */
    expect_stores(&fixture, 2, 3);
    run(&fixture, more, 280);
    expect_stores(&fixture, 2, 3);
    run(&fixture, more, 380); /* too late */
    expect_stores(&fixture, 3, 6);
    /* A store to another line in between, or one of another SM. */
    struct access other = store;
    other.line = 4096;
    run(&fixture, other, 390);
    expect_stores(&fixture, 4, 7);
    run(&fixture, more, 400);
    expect_stores(&fixture, 5, 10);
    more.sm = 1;
    run(&fixture, more, 410);
    expect_stores(&fixture, 6, 13);
    /* In the L1, all of them count. */
    assert_int_equal(l1_counts(&fixture)->requests[FTH_TRACE_WRITE], 8);
    assert_int_equal(l1_counts(&fixture)->sectors[FTH_TRACE_WRITE], 1 + 1 + 3 * 5 + 1);
    end(&fixture);
}

/* GPUs before Volta: stores evict the line. */
static void stores_can_evict_lines(void **state)
{
    (void)state;
    static const char *const evict[] = {"l1.bypass", "won", NULL};
    struct fixture fixture = begin(evict, costs);
    run(&fixture, (struct access){.sectors = ALL_SECTORS}, 0);
    run(&fixture, store, LATER);
    assert_int_equal(l1_counts(&fixture)->hits[FTH_TRACE_WRITE], 1);
    assert_int_equal(run(&fixture, (struct access){.sectors = 2}, 2 * LATER), L2_HIT);
    run(&fixture, store, 3 * LATER);
    assert_int_equal(run(&fixture, (struct access){.sectors = 1}, 4 * LATER), L2_HIT);
    expect_stores(&fixture, 2, 2);
    end(&fixture);
}

/* ---- merging of reads ---- */

/* Sectors of fills of 64 bytes of which another sector was read before in the same request miss in
 * the L2, the others hit. */
static void expect_l2_hits(struct fixture *fixture, uint64_t hits)
{
    assert_int_equal(l2_counts(fixture)->hits[FTH_TRACE_READ], hits);
}

/* Reads sectors 0 and 1 of line 0 at 0 and `lag`, and in between what `other` says. Returns the
 * hits of the second read in the L2: 0 if the reads merge. */
static uint64_t hits_after(const struct access *other, struct access second, uint64_t lag)
{
    struct fth_timing timing = costs;
    timing.read_merge = 100;
    struct fixture fixture = begin(none, timing);
    if (other) /* a line that hits */
        run(&fixture, (struct access){.line = 1280, .sectors = 1}, 0);
    fth_timed_l2_reset_counts(fixture.l2);
    run(&fixture, (struct access){.sectors = 1}, LATER);
    if (other)
        run(&fixture, *other, LATER + 8);
    run(&fixture, second, LATER + lag);
    const uint64_t hits = l2_counts(&fixture)->hits[FTH_TRACE_READ];
    end(&fixture);
    return hits;
}

static void reads_of_accesses_that_follow_each_other_miss_together(void **state)
{
    (void)state;
    const struct access second = {.sectors = 2}, elsewhere = {.scheduler = 1, .sectors = 2};
    assert_int_equal(hits_after(NULL, second, 99), 0);
    assert_int_equal(hits_after(NULL, second, 100), 1); /* too late */
    assert_int_equal(hits_after(NULL, elsewhere, 99), 0);
    /* A hit between them changes nothing. */
    const struct access hit = {.line = 1280, .sectors = 1};
    assert_int_equal(hits_after(&hit, second, 99), 0);
    /* After a miss in another line, the accesses do not follow each other in the L1; with a miss of
     * another scheduler, they do for their own one. */
    const struct access miss = {.line = 4096, .sectors = 1};
    assert_int_equal(hits_after(&miss, second, 99), 1);
    const struct access others = {.scheduler = 1, .line = 4096, .sectors = 1};
    assert_int_equal(hits_after(&others, second, 99), 0);
    assert_int_equal(hits_after(&others, elsewhere, 99), 1);
    /* So with a store, and with a read that bypasses the L1. */
    const struct access write = {.kind = FTH_TRACE_WRITE, .line = 4096, .sectors = 1};
    assert_int_equal(hits_after(&write, second, 99), 1);
    const struct access bypass = {.line = 4096, .sectors = 1, .flags = FTH_LINE_REQUEST_BYPASS_L1};
    assert_int_equal(hits_after(&bypass, second, 99), 1);
    /* Another SM has requests of its own. */
    assert_int_equal(hits_after(NULL, (struct access){.sm = 1, .sectors = 2}, 8), 1);
}

/* A request stays open if its lines are among the last 24 requests. */
static void accesses_with_many_lines_do_not_merge(void **state)
{
    (void)state;
    struct fth_timing timing = costs;
    timing.read_merge = LATER;
    for (uint32_t lines = 24; lines <= 25; lines++) {
        struct fixture fixture = begin(none, timing);
        run(&fixture, (struct access){.sectors = 1, .lines = lines}, 0);
        run(&fixture, (struct access){.sectors = 2, .lines = lines}, 200);
        expect_l2_hits(&fixture, lines == 24 ? 0 : 25);
        end(&fixture);
    }
}

/* The port takes 12 ticks per request. A request behind 30 others, not one behind 5, waits for more
 * than 55 cycles of 4 ticks, so that it can still change. */
static void reads_merge_while_they_wait_for_the_port(void **state)
{
    (void)state;
    struct fth_timing timing = costs;
    timing.port = 12;
    for (int late = 0; late < 2; late++) {
        struct fixture fixture = begin(none, timing);
        run(&fixture, (struct access){.line = 1 << 20, .sectors = 1, .lines = late ? 30 : 5}, 0);
        run(&fixture, (struct access){.sectors = 1}, 0);
        run(&fixture, (struct access){.line = 4096, .sectors = 1}, 0);
        run(&fixture, (struct access){.sectors = 2}, 0);
        expect_l2_hits(&fixture, !late);
        end(&fixture);
    }
}

/* ---- operators and hints ---- */

static void bypassing_reads_are_not_looked_up(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, costs);
    run(&fixture, (struct access){.sectors = 1}, 0);
    struct access access = {.sectors = 1, .flags = FTH_LINE_REQUEST_BYPASS_L1};
    assert_int_equal(run(&fixture, access, LATER), L2_HIT);
    expect_reads(&fixture, 0, 0, 2);
    assert_int_equal(run(&fixture, (struct access){.sectors = 1}, 2 * LATER), L1_HIT);
    access.flags |= FTH_LINE_REQUEST_EVICT;
    run(&fixture, access, 3 * LATER);
    assert_int_equal(run(&fixture, (struct access){.sectors = 1}, 4 * LATER), L2_HIT);
    end(&fixture);
}

static void reads_can_leave_nothing(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, costs);
    const struct access access = {.sectors = 3, .flags = FTH_LINE_REQUEST_NO_ALLOCATE};
    assert_int_equal(run(&fixture, access, 0), MISS);
    assert_int_equal(run(&fixture, access, LATER), L2_HIT);
    expect_reads(&fixture, 0, 0, 4);
    /* What is present is used. */
    run(&fixture, (struct access){.sectors = 1}, 2 * LATER);
    assert_int_equal(run(&fixture, access, 3 * LATER), L2_HIT);
    expect_reads(&fixture, 1, 0, 4 + 1 + 1);
    assert_int_equal(run(&fixture, (struct access){.sectors = 1}, 4 * LATER), L1_HIT);
    end(&fixture);
}

/* A read that leaves nothing does not delay what is in flight: sector 0 arrives at 700, and sector
 * 2 at 1000. */
static void reads_that_leave_nothing_are_not_in_flight(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, costs);
    run(&fixture, (struct access){.sectors = 1}, 0);
    const struct access access = {.sectors = 5, .flags = FTH_LINE_REQUEST_NO_ALLOCATE};
    assert_int_equal(run(&fixture, access, 300), MISS);
    assert_int_equal(run(&fixture, (struct access){.sectors = 1}, 800), L1_HIT);
    end(&fixture);
}

static void stores_can_leave_nothing(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, costs);
    struct access access = store;
    access.flags = FTH_LINE_REQUEST_NO_ALLOCATE;
    run(&fixture, access, 0);
    assert_int_equal(run(&fixture, (struct access){.sectors = 1}, LATER), L2_HIT);
    /* The line is present now: it is updated. */
    access.sectors = 4;
    run(&fixture, access, 2 * LATER);
    assert_int_equal(run(&fixture, (struct access){.sectors = 4}, 3 * LATER), L1_HIT);
    /* A store that bypasses the L1 evicts the line. */
    access.flags = FTH_LINE_REQUEST_BYPASS_L1;
    run(&fixture, access, 4 * LATER);
    assert_int_equal(run(&fixture, (struct access){.sectors = 1}, 5 * LATER), L2_HIT);
    end(&fixture);
}

static void atomics_bypass_the_l1(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, costs);
    run(&fixture, (struct access){.sectors = 1}, 0);
    const struct access atomic = {.kind = FTH_TRACE_ATOMIC, .sectors = 1};
    assert_int_equal(run(&fixture, atomic, LATER), L2_HIT);
    assert_int_equal(l1_counts(&fixture)->hits[FTH_TRACE_ATOMIC], 0);
    assert_int_equal(l2_counts(&fixture)->hits[FTH_TRACE_ATOMIC], 1);
    assert_int_equal(run(&fixture, (struct access){.sectors = 1}, 2 * LATER), L2_HIT);
    end(&fixture);
}

static void everything_can_bypass_the_l1(void **state)
{
    (void)state;
    static const char *const bypass[] = {"l1.bypass", "rwon", NULL};
    struct fixture fixture = begin(bypass, costs);
    run(&fixture, (struct access){.sectors = 1}, 0);
    run(&fixture, store, LATER);
    assert_int_equal(run(&fixture, (struct access){.sectors = 1}, 2 * LATER), L2_HIT);
    expect_reads(&fixture, 0, 0, 2);
    expect_stores(&fixture, 1, 1);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_miss_and_then_hit),
        cmocka_unit_test(sectors_in_flight_are_merged),
        cmocka_unit_test(a_line_arrives_as_a_whole),
        cmocka_unit_test(an_l1_processes_lines_one_after_the_other),
        cmocka_unit_test(an_access_occupies_the_l1_for_its_cycles),
        cmocka_unit_test(data_from_the_l2_waits_for_hits),
        cmocka_unit_test(shared_requests_occupy_the_l1),
        cmocka_unit_test(reads_wait_while_the_port_is_behind),
        cmocka_unit_test(launches_begin_with_empty_l1s),
        cmocka_unit_test(l1s_can_change_their_size),
        cmocka_unit_test(stores_leave_their_data_in_the_l1),
        cmocka_unit_test(stores_merge),
        cmocka_unit_test(stores_can_evict_lines),
        cmocka_unit_test(reads_of_accesses_that_follow_each_other_miss_together),
        cmocka_unit_test(accesses_with_many_lines_do_not_merge),
        cmocka_unit_test(reads_merge_while_they_wait_for_the_port),
        cmocka_unit_test(bypassing_reads_are_not_looked_up),
        cmocka_unit_test(reads_can_leave_nothing),
        cmocka_unit_test(reads_that_leave_nothing_are_not_in_flight),
        cmocka_unit_test(stores_can_leave_nothing),
        cmocka_unit_test(atomics_bypass_the_l1),
        cmocka_unit_test(everything_can_bypass_the_l1),
    };
    return cmocka_run_group_tests_name("timed L1", tests, NULL, NULL);
}
