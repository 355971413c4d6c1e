/* The way from the SMs to the L2 and to memory: times and counts, computed by hand. */
#include "l2_setup.h"

static uint64_t add_atomic(struct fixture *fixture, uint32_t sm, uint64_t line, uint32_t sectors,
                           uint64_t now)
{
    const struct fth_timed_line part = {.line = line, .sectors = sectors};
    const struct fth_timed_request request = {.sm = sm, .line = &part};
    return fth_timed_l2_atomic(fixture->l2, &request, now) - now;
}

static const struct fth_l2_counts *counts_of(const struct fixture *fixture)
{
    return fth_timed_l2_counts(fixture->l2);
}

static void expect_reads(const struct fixture *fixture, uint64_t requests, uint64_t sectors,
                         uint64_t hits, uint64_t merges)
{
    const struct fth_model_counts *counts = &counts_of(fixture)->counts;
    assert_int_equal(counts->requests[FTH_TRACE_READ], requests);
    assert_int_equal(counts->sectors[FTH_TRACE_READ], sectors);
    assert_int_equal(counts->hits[FTH_TRACE_READ], hits);
    assert_int_equal(counts->merges[FTH_TRACE_READ], merges);
}

static void reads_come_from_memory_and_then_from_the_l2(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, &costs);
    assert_int_equal(read_line(&fixture, 0, NEAR_LINE, 1, 0), MISS);
    assert_int_equal(counts_of(&fixture)->dram_reads, 1);
    assert_int_equal(read_line(&fixture, 0, NEAR_LINE, 1, LATER), HIT);
    assert_int_equal(read_line(&fixture, 0, NEAR_LINE, 2, 2 * LATER), MISS); /* another sector */
    assert_int_equal(counts_of(&fixture)->dram_reads, 2);
    expect_reads(&fixture, 3, 3, 1, 0);
    fth_timed_l2_reset_counts(fixture.l2);
    expect_reads(&fixture, 0, 0, 0, 0);
    end(&fixture);
}

/* The port of an SM is busy for 10 ticks with each request, that of another SM is not. */
/* In an order other than the plain one, the latency of the L2 differs from line to line. */
static void latencies_deviate_by_line(void **state)
{
    (void)state;
    struct fth_timing timing = costs;
    timing.l2_deviation = 40;
    timing.order = 1;
    struct fixture fixture = begin(none, &timing);
    uint64_t low = UINT64_MAX, high = 0;
    for (uint64_t i = 0; i < 64; i++) {
        const uint64_t line = NEAR_LINE + 256 * i;
        const uint64_t time = read_line(&fixture, 0, line, 1, LATER * (i + 1));
        low = time < low ? time : low;
        high = time > high ? time : high;
        /* The line keeps its latency: a hit takes 400 less, which is the time to memory. */
        assert_int_equal(read_line(&fixture, 0, line, 1, LATER * (i + 1) + LATER / 2), time - 400);
    }
    assert_true(low >= MISS - 40 && low < MISS - 20);
    assert_true(high < MISS + 40 && high > MISS + 20);
    end(&fixture);
}

static void requests_wait_for_the_port(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, &costs);
    for (uint64_t i = 0; i < 4; i++)
        read_line(&fixture, 0, 256 * i, 1, 0);
    read_line(&fixture, 2, 1024, 1, 0);
    assert_int_equal(read_line(&fixture, 0, 0, 1, LATER), HIT);
    assert_int_equal(read_line(&fixture, 0, 256, 1, LATER), 10 + HIT);
    assert_int_equal(read_line(&fixture, 0, 512, 1, LATER + 5), 15 + HIT);
    assert_int_equal(read_line(&fixture, 2, 1024, 1, LATER + 25), HIT);
    /* A write takes the port, too. */
    write_line(&fixture, 2, 2048, 1, 1, LATER + 200);
    assert_int_equal(read_line(&fixture, 2, 1024, 1, LATER + 201), 9 + HIT);
    end(&fixture);
}

/* The first read is back at the join unit at 600. */
static void reads_of_a_group_are_joined(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, &costs);
    assert_int_equal(read_line(&fixture, 0, NEAR_LINE, 1, 0), MISS);
    assert_int_equal(read_line(&fixture, 1, NEAR_LINE, 1, 499), MISS - 499);
    expect_reads(&fixture, 1, 1, 0, 0);
    end(&fixture);
    /* At 600, it is too late: SM 1 reads in its own side, to which the line is far. */
    fixture = begin(none, &costs);
    read_line(&fixture, 0, NEAR_LINE, 1, 0);
    assert_int_equal(read_line(&fixture, 1, NEAR_LINE, 1, 500), FAR_HIT);
    expect_reads(&fixture, 2, 2, 0, 0);
    assert_int_equal(counts_of(&fixture)->far_hits, 1);
    end(&fixture);
}

static void reads_are_joined_up_to_a_limit(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, &costs);
    read_line(&fixture, 0, NEAR_LINE, 1, 0);
    assert_int_equal(read_line(&fixture, 1, NEAR_LINE, 1, 20), MISS - 20);
    assert_int_equal(read_line(&fixture, 0, NEAR_LINE, 1, 40), MISS - 40);
    expect_reads(&fixture, 1, 1, 0, 0);
    /* The fourth one is a request of its own, with which others are joined. */
    assert_int_equal(read_line(&fixture, 0, NEAR_LINE, 1, 60), MISS - 60);
    expect_reads(&fixture, 2, 2, 1, 1);
    read_line(&fixture, 0, NEAR_LINE, 1, 80);
    expect_reads(&fixture, 2, 2, 1, 1);
    end(&fixture);
}

/* The L2 has the data of a hit 100 ticks after the read arrived at the join unit. That the side
 * must send other data before does not make this longer. */
static void a_busy_side_does_not_extend_joins(void **state)
{
    (void)state;
    struct fth_timing slow = costs;
    slow.port = 0;
    slow.l2_sector = 500;
    struct fixture fixture = begin(none, &slow);
    read_line(&fixture, 0, NEAR_LINE, 1, 0);
    read_line(&fixture, 0, NEAR_LINE + 256, 1, 0);
    read_line(&fixture, 0, NEAR_LINE, 1, LATER);
    assert_int_equal(read_line(&fixture, 0, NEAR_LINE + 256, 1, LATER), 500 + HIT);
    expect_reads(&fixture, 4, 4, 2, 0);
    assert_int_equal(read_line(&fixture, 0, NEAR_LINE + 256, 1, LATER + 99), 401 + HIT);
    expect_reads(&fixture, 4, 4, 2, 0);
    read_line(&fixture, 0, NEAR_LINE + 256, 1, LATER + 100);
    expect_reads(&fixture, 5, 5, 3, 0);
    end(&fixture);
}

/* The port of SM 0 is busy for 50 or 100 ticks, so that its read of the line arrives after that of
 * SM 1, which is issued later. The data of a hit is there after 100 ticks. */
static void reads_that_arrive_much_later_are_not_joined(void **state)
{
    (void)state;
    for (uint64_t delay = 5; delay <= 10; delay += 5) {
        struct fixture fixture = begin(none, &costs);
        read_line(&fixture, 0, NEAR_LINE, 1, 0);
        read_line(&fixture, 1, NEAR_LINE, 1, LATER);
        expect_reads(&fixture, 2, 2, 0, 0);
        for (uint64_t i = 1; i <= delay; i++)
            write_line(&fixture, 0, NEAR_LINE + 256 * i, 1, 1, 2 * LATER);
        read_line(&fixture, 0, NEAR_LINE, 1, 2 * LATER);
        expect_reads(&fixture, 3, 3, 1, 0);
        read_line(&fixture, 1, NEAR_LINE, 1, 2 * LATER);
        expect_reads(&fixture, delay == 5 ? 3 : 4, delay == 5 ? 3 : 4, delay == 5 ? 1 : 2, 0);
        end(&fixture);
    }
}

static void other_reads_are_not_joined(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, &costs);
    read_line(&fixture, 0, NEAR_LINE, 1, 0);
    read_line(&fixture, 2, NEAR_LINE, 1, 0); /* another group */
    expect_reads(&fixture, 2, 2, 1, 1);
    read_line(&fixture, 0, NEAR_LINE, 3, 20); /* other sectors */
    expect_reads(&fixture, 3, 4, 2, 2);
    read_line(&fixture, 1, NEAR_LINE + 256, 1, 40); /* another line */
    expect_reads(&fixture, 4, 5, 2, 2);
    /* The first read would be joined, but that of other sectors has ended joins with it. */
    read_line(&fixture, 0, NEAR_LINE, 1, 60);
    expect_reads(&fixture, 5, 6, 3, 3);
    read_line(&fixture, 0, NEAR_LINE, 1, 80);
    expect_reads(&fixture, 5, 6, 3, 3);
    end(&fixture);
    static const char *const no_joins[] = {"l2.joins", "none", NULL};
    fixture = begin(no_joins, &costs);
    read_line(&fixture, 0, NEAR_LINE, 1, 0);
    read_line(&fixture, 0, NEAR_LINE, 1, 20);
    expect_reads(&fixture, 2, 2, 1, 1);
    end(&fixture);
}

/* A sector on its way counts as a hit or, with l2.merged=miss, as a miss, and arrives no earlier.
 */
static void sectors_in_flight_are_merged(void **state)
{
    (void)state;
    static const char *const sets[][5] = {{"l2.joins", "none", "l2.merged", "hit", NULL},
                                          {"l2.joins", "none", "l2.merged", "miss", NULL}};
    for (int counted = 0; counted < 2; counted++) {
        struct fixture fixture = begin(sets[counted], &costs);
        read_line(&fixture, 0, NEAR_LINE, 1, 0); /* arrives in the side at 550 */
        assert_int_equal(read_line(&fixture, 2, NEAR_LINE, 1, 399), MISS - 399);
        expect_reads(&fixture, 2, 2, counted ? 0 : 1, 1);
        assert_int_equal(read_line(&fixture, 2, NEAR_LINE, 1, 410), HIT);
        expect_reads(&fixture, 3, 3, counted ? 1 : 2, 1);
        assert_int_equal(counts_of(&fixture)->dram_reads, 1);
        end(&fixture);
    }
}

static void far_lines_come_from_their_home(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, &costs);
    assert_int_equal(read_line(&fixture, 0, FAR_LINE, 1, 0), FAR_MISS);
    assert_int_equal(counts_of(&fixture)->far_hits, 0);
    assert_int_equal(counts_of(&fixture)->dram_reads, 1);
    /* Both sides have the sector now. */
    assert_int_equal(read_line(&fixture, 0, FAR_LINE, 1, LATER), HIT);
    assert_int_equal(read_line(&fixture, 1, FAR_LINE, 1, 2 * LATER), HIT);
    /* Of two sectors, the home side has one. */
    assert_int_equal(read_line(&fixture, 1, FAR_LINE, 2, 3 * LATER), MISS);
    assert_int_equal(read_line(&fixture, 0, FAR_LINE, 6, 4 * LATER), FAR_MISS);
    assert_int_equal(counts_of(&fixture)->far_hits, 1);
    assert_int_equal(counts_of(&fixture)->dram_reads, 3);
    expect_reads(&fixture, 5, 6, 2, 0);
    end(&fixture);
}

/* A read of SM 0 arrives in the home side of a line at 170. One of SM 3, whose side this is, is
 * handled later. If it arrives there at 160, it is the first one and misses, but only once. */
static void reads_that_overtake_one_from_the_other_side_miss(void **state)
{
    (void)state;
    static const char *const no_joins[] = {"l2.joins", "none", NULL};
    for (uint64_t now = 10; now <= 20; now += 10) {
        struct fixture fixture = begin(no_joins, &costs);
        read_line(&fixture, 0, FAR_LINE, 1, 0);
        assert_int_equal(read_line(&fixture, 3, FAR_LINE, 1, now), 720 - now);
        expect_reads(&fixture, 2, 2, now == 10 ? 0 : 1, now == 10 ? 0 : 1);
        read_line(&fixture, 1, FAR_LINE, 1, now);
        expect_reads(&fixture, 3, 3, now == 10 ? 1 : 2, now == 10 ? 1 : 2);
        assert_int_equal(counts_of(&fixture)->dram_reads, 1);
        end(&fixture);
    }
}

/* SM 1 reads a line of its own side: it arrives there at 550. SM 0 looks it up there at 420 + 20.
 */
static void far_reads_wait_for_sectors_in_flight(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, &costs);
    read_line(&fixture, 1, FAR_LINE, 1, 0);
    /* Group 1, so that the reads are not joined. */
    assert_int_equal(read_line(&fixture, 2, FAR_LINE, 1, 270), 550 + 20 + 150 - 270);
    assert_int_equal(counts_of(&fixture)->far_hits, 1);
    assert_int_equal(counts_of(&fixture)->dram_reads, 1);
    /* A hit in the home side, looked up after the arrival, leaves the flight as it is: a read of
     * the home side that begins before the arrival is still merged. */
    fth_timed_l2_reset_counts(fixture.l2);
    read_line(&fixture, 3, FAR_LINE + 256, 1, LATER);       /* arrives at LATER + 550 */
    read_line(&fixture, 0, FAR_LINE + 256, 1, LATER + 390); /* looked up at LATER + 560 */
    expect_reads(&fixture, 2, 2, 0, 0);
    read_line(&fixture, 1, FAR_LINE + 256, 3, LATER + 395); /* begins at LATER + 545 */
    expect_reads(&fixture, 3, 4, 1, 1);
    end(&fixture);
}

/* A side is busy with each sector of a request, memory with each sector that it reads. */
static void sides_and_memory_have_bandwidths(void **state)
{
    (void)state;
    struct fth_timing slow = costs;
    slow.port = 0;
    slow.l2_sector = 30;
    struct fixture fixture = begin(none, &slow);
    read_line(&fixture, 0, 0, 15, 0);
    read_line(&fixture, 0, 256, 15, 0);
    read_line(&fixture, 1, 128, 15, 0);
    assert_int_equal(read_line(&fixture, 0, 0, 15, LATER), HIT);
    assert_int_equal(read_line(&fixture, 0, 256, 1, LATER), 4 * 30 + HIT);
    assert_int_equal(read_line(&fixture, 1, 128, 1, LATER), HIT); /* the other side */
    /* What a side receives does not occupy it. */
    write_line(&fixture, 1, 0, 7, 7, 2 * LATER);
    assert_int_equal(read_line(&fixture, 0, 256, 1, 2 * LATER), HIT);
    end(&fixture);
    slow.l2_sector = 0;
    slow.mem_sector = 40;
    fixture = begin(none, &slow);
    assert_int_equal(read_line(&fixture, 0, 0, 7, 0), MISS);
    assert_int_equal(read_line(&fixture, 1, 128, 1, 0), 3 * 40 + MISS);
    assert_int_equal(read_line(&fixture, 0, 256, 1, 0), 4 * 40 + MISS);
    end(&fixture);
}

/* A read of other sectors ends joins with the one before, and is not joined itself. */
static void a_read_of_other_sectors_ends_joins(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, &costs);
    read_line(&fixture, 0, NEAR_LINE, 1, 0);
    read_line(&fixture, 0, NEAR_LINE, 2, 20);
    expect_reads(&fixture, 2, 2, 0, 0);
    read_line(&fixture, 1, NEAR_LINE, 2, 40);
    expect_reads(&fixture, 3, 3, 0, 0);
    read_line(&fixture, 0, NEAR_LINE, 2, 60); /* with the third one */
    expect_reads(&fixture, 3, 3, 0, 0);
    end(&fixture);
}

/* A read with two parts is joined with one of the sectors of its first part, or of both. */
static void parts_are_joined(void **state)
{
    (void)state;
    for (uint32_t sectors = 1; sectors <= 3; sectors++) {
        struct fixture fixture = begin(none, &costs);
        struct fth_sent_read first = {.line = NEAR_LINE}, second = first;
        read_part(&fixture, 0, NEAR_LINE, 1, 0, &first);
        read_part(&fixture, 0, NEAR_LINE, 2, 10, &first);
        expect_reads(&fixture, 2, 2, 0, 0);
        read_part(&fixture, 1, NEAR_LINE, sectors, 20, &second);
        const bool joined = sectors != 2;
        assert_int_equal(second.joined, joined);
        assert_int_equal(counts_of(&fixture)->counts.requests[FTH_TRACE_READ], joined ? 2 : 3);
        /* So is a further part of it, but not one with other sectors. */
        if (joined) {
            /* Memory and the side have sent part 1 first. */
            assert_int_equal(read_part(&fixture, 1, NEAR_LINE, 2, 30, &second), MISS + 2 - 30);
            assert_int_equal(counts_of(&fixture)->counts.requests[FTH_TRACE_READ], 2);
            read_part(&fixture, 1, NEAR_LINE, 4, 40, &second);
            assert_int_equal(counts_of(&fixture)->counts.requests[FTH_TRACE_READ], 3);
        }
        end(&fixture);
    }
}

/* Fills of 64 bytes: two sectors. Sectors that are present are not fetched again. */
static void misses_fetch_whole_fills(void **state)
{
    (void)state;
    static const char *const fills[] = {"l2.fill_bytes", "64", NULL};
    struct fixture fixture = begin(fills, &costs);
    read_line(&fixture, 0, NEAR_LINE, 1, 0);
    assert_int_equal(counts_of(&fixture)->dram_reads, 2);
    assert_int_equal(read_line(&fixture, 0, NEAR_LINE, 2, LATER), HIT);
    write_line(&fixture, 0, NEAR_LINE, 4, 4, 2 * LATER);
    read_line(&fixture, 0, NEAR_LINE, 8, 3 * LATER);
    assert_int_equal(counts_of(&fixture)->dram_reads, 3);
    /* A hint of 128 bytes: number 3 of 16 << number. */
    const struct fth_timed_line hinted = {
        .line = 256, .sectors = 1, .flags = 3 << FTH_LINE_REQUEST_FILL_SHIFT};
    const struct fth_timed_request request = {.sm = 0, .line = &hinted};
    struct fth_sent_read sent = {.line = 256};
    fth_timed_l2_read(fixture.l2, &request, 1, 4 * LATER, &sent);
    assert_int_equal(sent.fetched, 15);
    assert_int_equal(counts_of(&fixture)->dram_reads, 7);
    end(&fixture);
}

/* The second part of a request finds a sector that was fetched for the first one. It counts as a
 * miss and is not merged, but arrives with the first one. */
static void parts_of_a_request_miss_together(void **state)
{
    (void)state;
    static const char *const fills[] = {"l2.fill_bytes", "64", NULL};
    struct fixture fixture = begin(fills, &costs);
    struct fth_sent_read sent = {.line = NEAR_LINE};
    read_part(&fixture, 0, NEAR_LINE, 1, 0, &sent);
    assert_int_equal(sent.fetched, 3);
    assert_int_equal(read_part(&fixture, 0, NEAR_LINE, 2, 10, &sent),
                     MISS + 1 - 10); /* the side sends part 1 first */
    expect_reads(&fixture, 2, 2, 0, 0);
    assert_int_equal(counts_of(&fixture)->dram_reads, 2);
    read_line(&fixture, 0, NEAR_LINE, 3, 20); /* is joined with both parts */
    expect_reads(&fixture, 2, 2, 0, 0);
    read_line(&fixture, 0, NEAR_LINE, 3, LATER); /* another request */
    expect_reads(&fixture, 3, 4, 2, 0);
    end(&fixture);
}

/* SM 0 holds a copy of a far line. A write to one sector makes only this sector absent there. */
static void writes_invalidate_written_sectors_elsewhere(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, &costs);
    read_line(&fixture, 0, FAR_LINE, 15, 0);
    write_line(&fixture, 1, FAR_LINE, 2, 2, LATER); /* the home side is near SM 1 */
    fth_timed_l2_reset_counts(fixture.l2);
    assert_int_equal(read_line(&fixture, 0, FAR_LINE, 13, 2 * LATER), HIT);
    assert_int_equal(read_line(&fixture, 0, FAR_LINE, 15, 3 * LATER), FAR_HIT);
    expect_reads(&fixture, 2, 7, 6, 0);
    assert_int_equal(counts_of(&fixture)->far_hits, 1);
    assert_int_equal(counts_of(&fixture)->dram_reads, 0);
    /* A partly written sector is fetched when it is read. */
    const struct fth_timed_line part = {.line = 256, .sectors = 1, .run_count = 1};
    const struct fth_cache_run run = {4, 8};
    const struct fth_timed_request request = {.sm = 0, .line = &part, .runs = &run};
    fth_timed_l2_write(fixture.l2, &request, 1, 4 * LATER);
    assert_int_equal(read_line(&fixture, 0, 256, 1, 5 * LATER), MISS);
    end(&fixture);
}

/* SM 0 writes a far line: complete sectors are also present in its near side. */
static void writes_leave_a_copy_in_the_near_side(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, &costs);
    write_line(&fixture, 0, FAR_LINE, 6, 6, 0);
    assert_int_equal(read_line(&fixture, 0, FAR_LINE, 6, LATER), HIT);
    assert_int_equal(read_line(&fixture, 1, FAR_LINE, 6, 2 * LATER), HIT);
    /* A sector that is written in part is left as it is: present or absent. */
    write_bytes(&fixture, 0, FAR_LINE, 32, 8);
    write_bytes(&fixture, 0, FAR_LINE, 96, 8);
    assert_int_equal(read_line(&fixture, 0, FAR_LINE, 2, 3 * LATER), HIT);
    assert_int_equal(read_line(&fixture, 0, FAR_LINE, 8, 4 * LATER), FAR_MISS);
    /* Other sectors of the line are in flight; the written one is not. */
    fth_timed_l2_reset_counts(fixture.l2);
    read_line(&fixture, 0, FAR_LINE + 256, 1, 5 * LATER);
    write_line(&fixture, 0, FAR_LINE + 256, 2, 2, 5 * LATER + 20);
    assert_int_equal(read_line(&fixture, 0, FAR_LINE + 256, 2, 5 * LATER + 40), HIT);
    expect_reads(&fixture, 2, 2, 1, 0);
    end(&fixture);
}

/* What a launch reads in addition if the L2 is empty. */
static void launches_read_sectors_of_their_own(void **state)
{
    (void)state;
    static const char *const sets[] = {"time.launch_sectors", "80", NULL};
    struct fixture fixture = begin(sets, &costs);
    assert_int_equal(counts_of(&fixture)[0].dram_reads, 0);
    assert_int_equal(counts_of(&fixture)[1].dram_reads, 80);
    assert_int_equal(read_line(&fixture, 0, NEAR_LINE, 1, 0), MISS);
    fth_timed_l2_begin(fixture.l2, &costs, false);
    assert_int_equal(counts_of(&fixture)[1].dram_reads, 80);
    fth_timed_l2_begin(fixture.l2, &costs, true);
    assert_int_equal(counts_of(&fixture)[1].dram_reads, 160);
    end(&fixture);
}

static void counted_sectors_of_writes_are_hits(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, &costs);
    const struct fth_model_counts *counts = &counts_of(&fixture)->counts;
    write_line(&fixture, 0, NEAR_LINE, 7, 7, 0);
    assert_int_equal(counts->requests[FTH_TRACE_WRITE], 1);
    assert_int_equal(counts->sectors[FTH_TRACE_WRITE], 3);
    assert_int_equal(counts->hits[FTH_TRACE_WRITE], 3);
    write_line(&fixture, 0, NEAR_LINE, 15, 8, 0);
    assert_int_equal(counts->requests[FTH_TRACE_WRITE], 2);
    assert_int_equal(counts->hits[FTH_TRACE_WRITE], 4);
    write_line(&fixture, 0, NEAR_LINE, 15, 0, 0); /* none of them is counted */
    assert_int_equal(counts->requests[FTH_TRACE_WRITE], 2);
    /* Written sectors are present, and nothing of the line is in flight. */
    assert_int_equal(read_line(&fixture, 0, NEAR_LINE, 15, 100), HIT);
    assert_int_equal(counts_of(&fixture)->dram_reads, 0);
    end(&fixture);
}

/* An L2 with one line per side. */
static void evicted_changes_are_written_to_memory(void **state)
{
    (void)state;
    static const char *const tiny[] = {"l2.size_bytes", "256", "l2.ways", "1", NULL};
    struct fth_timing slow = costs;
    slow.port = 0;
    slow.l2_sector = 0;
    slow.mem_sector = 40;
    struct fixture fixture = begin(tiny, &slow);
    write_line(&fixture, 0, 0, 7, 7, 0);
    read_line(&fixture, 0, 256, 1, LATER);
    assert_int_equal(counts_of(&fixture)[1].dram_writes, 3);
    assert_int_equal(counts_of(&fixture)[0].dram_writes, 0);
    /* Memory is busy for three sectors longer. */
    assert_int_equal(read_line(&fixture, 0, 512, 1, LATER), 4 * 40 + MISS);
    assert_int_equal(counts_of(&fixture)[1].dram_writes, 3);
    end(&fixture);
}

/* Sets of four ways in which at most one line may be written in part. */
static void partly_written_lines_are_completed(void **state)
{
    (void)state;
    static const char *const few[] = {"l2.size_bytes",   "1024", "l2.ways", "4", "l2.index", "mod",
                                      "l2.partial_ways", "1",    NULL};
    struct fixture fixture = begin(few, &costs);
    const struct fth_l2_counts *others = &counts_of(&fixture)[1];
    write_bytes(&fixture, 0, 0, 0, 12);   /* sector 0 */
    write_bytes(&fixture, 0, 0, 32, 12);  /* sector 1 of the same line */
    write_bytes(&fixture, 0, 256, 0, 32); /* a complete sector */
    assert_int_equal(others->dram_reads + others->dram_writes, 0);
    write_bytes(&fixture, 0, 512, 0, 8); /* the second line: the first one is completed */
    assert_int_equal(others->dram_reads, 2);
    assert_int_equal(others->dram_writes, 2);
    assert_int_equal(read_line(&fixture, 0, 0, 3, LATER), HIT);
    /* A read completes line 512, so line 0 can be written in part again. */
    read_line(&fixture, 0, 512, 1, 2 * LATER);
    write_bytes(&fixture, 0, 0, 64, 12);
    assert_int_equal(others->dram_reads, 2);
    /* All three lines are evicted. Line 0 is completed, too. One sector of each has changed. */
    for (uint64_t i = 3; i < 7; i++)
        read_line(&fixture, 0, 256 * i, 1, i * LATER);
    assert_int_equal(others->dram_reads, 3);
    assert_int_equal(others->dram_writes, 2 + 3);
    end(&fixture);
}

/* Completing a line occupies memory: two sectors are read, and two are written. */
static void completing_a_line_takes_time(void **state)
{
    (void)state;
    static const char *const few[] = {"l2.index", "mod", "l2.partial_ways", "1", NULL};
    struct fth_timing slow = costs;
    slow.mem_sector = 40;
    slow.port = 0;
    struct fixture fixture = begin(few, &slow);
    read_line(&fixture, 0, 512, 1, 0);
    write_bytes(&fixture, 0, 0, 0, 12);
    write_bytes(&fixture, 0, 0, 32, 12);
    write_bytes(&fixture, 0, 32768, 0, 12); /* in the same set of 16 */
    assert_int_equal(counts_of(&fixture)[1].dram_reads, 2);
    assert_int_equal(read_line(&fixture, 0, 1024, 1, 10), (1 + 2 + 2) * 40 - 10 + MISS);
    end(&fixture);
}

static void partly_written_lines_can_be_unlimited(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, &costs);
    const struct fth_l2_counts *others = &counts_of(&fixture)[1];
    for (uint64_t i = 0; i < 8; i++)
        write_bytes(&fixture, 0, 65536 * i, 0, 4);
    assert_int_equal(others->dram_reads + others->dram_writes, 0);
    end(&fixture);
}

static void atomics_are_executed_in_the_home_side(void **state)
{
    (void)state;
    struct fixture fixture = begin(none, &costs);
    const struct fth_model_counts *counts = &counts_of(&fixture)->counts;
    assert_int_equal(add_atomic(&fixture, 0, FAR_LINE, 1, 0), MISS);
    assert_int_equal(add_atomic(&fixture, 0, FAR_LINE, 1, LATER), HIT);
    assert_int_equal(counts->requests[FTH_TRACE_ATOMIC], 2);
    assert_int_equal(counts->hits[FTH_TRACE_ATOMIC], 1);
    assert_int_equal(counts_of(&fixture)->dram_reads, 1);
    /* Two at the same time are not joined. */
    add_atomic(&fixture, 0, FAR_LINE + 256, 1, 2 * LATER);
    add_atomic(&fixture, 1, FAR_LINE + 256, 1, 2 * LATER);
    assert_int_equal(counts->requests[FTH_TRACE_ATOMIC], 4);
    assert_int_equal(counts->merges[FTH_TRACE_ATOMIC], 1);
    /* Copies in other sides become absent. */
    read_line(&fixture, 0, FAR_LINE, 1, 3 * LATER);
    add_atomic(&fixture, 1, FAR_LINE, 1, 4 * LATER);
    assert_int_equal(read_line(&fixture, 0, FAR_LINE, 1, 5 * LATER), FAR_HIT);
    end(&fixture);
}

/* A launch begins with an idle GPU. A warm L2 keeps its lines, but nothing is in flight. */
static void launches_begin_at_time_0(void **state)
{
    (void)state;
    struct fth_timing slow = costs;
    slow.l2_sector = 5000;
    slow.mem_sector = 5000;
    struct fixture fixture = begin(none, &slow);
    for (int i = 0; i < 4; i++)
        read_line(&fixture, 0, NEAR_LINE, 15, LATER);
    fth_timed_l2_begin(fixture.l2, &costs, false);
    fth_timed_l2_reset_counts(fixture.l2);
    assert_int_equal(read_line(&fixture, 0, NEAR_LINE, 15, 0), HIT);
    expect_reads(&fixture, 1, 4, 4, 0);
    fth_timed_l2_begin(fixture.l2, &costs, true);
    assert_int_equal(read_line(&fixture, 0, NEAR_LINE, 15, 0), MISS);
    end(&fixture);
}

/* More than two sides: the home side is the number of address bits of the mask that are set,
 * modulo the number of sides. */
static void lines_have_homes_in_several_sides(void **state)
{
    (void)state;
    static const char *const three[] = {"gpu.sms",
                                        "3",
                                        "l2.sides",
                                        "3",
                                        "l2.side_of_sm",
                                        "alternate",
                                        "l2.home_mask",
                                        "896",
                                        "l2.joins",
                                        "none",
                                        "l2.size_bytes",
                                        "96K",
                                        NULL};
    static const struct {
        uint64_t line;
        uint32_t home;
    } rows[] = {{0, 0}, {128, 1}, {256, 1}, {384, 2}, {896, 0}, {1024 + 512, 1}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (uint32_t sm = 0; sm < 3; sm++) {
            struct fixture fixture = begin(three, &costs);
            assert_int_equal(read_line(&fixture, sm, rows[i].line, 1, 0),
                             sm == rows[i].home ? MISS : FAR_MISS);
            end(&fixture);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_come_from_memory_and_then_from_the_l2),
        cmocka_unit_test(latencies_deviate_by_line),
        cmocka_unit_test(requests_wait_for_the_port),
        cmocka_unit_test(reads_of_a_group_are_joined),
        cmocka_unit_test(reads_are_joined_up_to_a_limit),
        cmocka_unit_test(a_busy_side_does_not_extend_joins),
        cmocka_unit_test(reads_that_arrive_much_later_are_not_joined),
        cmocka_unit_test(other_reads_are_not_joined),
        cmocka_unit_test(a_read_of_other_sectors_ends_joins),
        cmocka_unit_test(parts_are_joined),
        cmocka_unit_test(sectors_in_flight_are_merged),
        cmocka_unit_test(far_lines_come_from_their_home),
        cmocka_unit_test(reads_that_overtake_one_from_the_other_side_miss),
        cmocka_unit_test(far_reads_wait_for_sectors_in_flight),
        cmocka_unit_test(sides_and_memory_have_bandwidths),
        cmocka_unit_test(misses_fetch_whole_fills),
        cmocka_unit_test(parts_of_a_request_miss_together),
        cmocka_unit_test(writes_invalidate_written_sectors_elsewhere),
        cmocka_unit_test(writes_leave_a_copy_in_the_near_side),
        cmocka_unit_test(launches_read_sectors_of_their_own),
        cmocka_unit_test(counted_sectors_of_writes_are_hits),
        cmocka_unit_test(evicted_changes_are_written_to_memory),
        cmocka_unit_test(partly_written_lines_are_completed),
        cmocka_unit_test(completing_a_line_takes_time),
        cmocka_unit_test(partly_written_lines_can_be_unlimited),
        cmocka_unit_test(atomics_are_executed_in_the_home_side),
        cmocka_unit_test(launches_begin_at_time_0),
        cmocka_unit_test(lines_have_homes_in_several_sides),
    };
    return cmocka_run_group_tests_name("timed L2", tests, NULL, NULL);
}
