/* A small L2 with two sides for the tests of timed_l2.c, and single requests to it. */
#ifndef FTH_TESTS_L2_SETUP_H
#define FTH_TESTS_L2_SETUP_H

#include "timed_setup.h"

/* Four SMs. SMs 0 and 2 are near side 0, SMs 1 and 3 near side 1. SMs 0 and 1 join their reads, and
 * SMs 2 and 3. Bit 7 of an address selects the home side, so lines alternate. */
static const char *const two_sides[] = {"gpu.sms",
                                        "4",
                                        "l2.sides",
                                        "2",
                                        "l2.home_mask",
                                        "128",
                                        "l2.side_of_sm",
                                        "0,1,0,1",
                                        "l2.joins",
                                        "0,0,1,1",
                                        "l2.size_bytes",
                                        "64K",
                                        "l2.fill_bytes",
                                        "32",
                                        "time.launch_sectors",
                                        "0",
                                        NULL};
static const char *const none[] = {"l2.partial_ways", "0", NULL};

#define LATER ((uint64_t)100000) /* all earlier requests are complete */

enum {
    NEAR_LINE = 0,  /* its home is the side of SM 0 */
    FAR_LINE = 128, /* its home is the other side */
    MISS = 700,     /* of an idle GPU: 2 x (100 + 50) + 400 */
    HIT = 300,
    FAR_HIT = 340,
    FAR_MISS = 740
};

/* In ticks. */
static const struct fth_timing costs = {.port = 10,
                                        .to_join = 100,
                                        .to_l2 = 50,
                                        .to_far = 20,
                                        .from_far = 20,
                                        .to_memory = 400,
                                        .l2_sector = 1,
                                        .mem_sector = 1,
                                        .join_reads = 3};

struct fixture {
    struct fth_model_params *params;
    struct fth_setting setting;
    struct fth_timed_l2 *l2;
};

static inline struct fixture begin(const char *const *sets, const struct fth_timing *timing)
{
    struct fixture fixture = {.params = make_params(two_sides, sets)};
    fixture.setting = make_setting(fixture.params, 1, 1);
    assert_int_equal(fth_timed_l2_create(fixture.params, &fixture.setting, 1, &fixture.l2, NULL),
                     FTH_OK);
    fth_timed_l2_begin(fixture.l2, timing, true);
    return fixture;
}

static inline void end(struct fixture *fixture)
{
    fth_timed_l2_destroy(fixture->l2);
    fth_model_params_destroy(fixture->params);
}

/* Reads sectors as the next part of a request, and returns how long it takes. */
static inline uint64_t read_part(struct fixture *fixture, uint32_t sm, uint64_t line,
                                 uint32_t sectors, uint64_t now, struct fth_sent_read *sent)
{
    const struct fth_timed_line part = {.line = line, .sectors = sectors};
    const struct fth_timed_request request = {.sm = sm, .line = &part};
    return fth_timed_l2_read(fixture->l2, &request, sectors, now, sent) - now;
}

static inline uint64_t read_line(struct fixture *fixture, uint32_t sm, uint64_t line,
                                 uint32_t sectors, uint64_t now)
{
    struct fth_sent_read sent = {.line = line};
    return read_part(fixture, sm, line, sectors, now, &sent);
}

/* Returns when the SM has sent the write. The event of the access is at 0. */
static inline uint64_t write_line(struct fixture *fixture, uint32_t sm, uint64_t line,
                                  uint32_t sectors, uint32_t counted, uint64_t now)
{
    const struct fth_timed_line part = {.line = line, .sectors = sectors};
    const struct fth_timed_request request = {.sm = sm, .line = &part};
    return fth_timed_l2_write(fixture->l2, &request, counted, now);
}

/* Writes bytes of one sector. */
static inline uint64_t write_bytes(struct fixture *fixture, uint32_t sm, uint64_t line,
                                   uint32_t from, uint32_t bytes)
{
    const struct fth_timed_line part = {.line = line, .sectors = 1u << (from / 32), .run_count = 1};
    const struct fth_cache_run run = {from, bytes};
    const struct fth_timed_request request = {.sm = sm, .line = &part, .runs = &run};
    return fth_timed_l2_write(fixture->l2, &request, part.sectors, 0);
}

#endif
