/* How long stores occupy the port of an SM and the input of the L2, computed by hand. */
#include "timed_setup.h"

static const char *const two_sms[] = {"gpu.sms", "2", "l2.size_bytes", "64K", "l2.fill_bytes",
                                      "32",      NULL};

enum { PORT = 10, MISS = 700 };

/* In ticks. */
static const struct fth_timing costs = {
    .port = PORT, .to_join = 100, .to_l2 = 50, .to_memory = 400, .l2_sector = 1, .mem_sector = 1};

struct fixture {
    struct fth_model_params *params;
    struct fth_setting setting;
    struct fth_timed_l2 *l2;
};

static struct fixture begin(const struct fth_timing *timing)
{
    struct fixture fixture = {.params = make_params(simple_gpu, two_sms)};
    fixture.setting = make_setting(fixture.params, 1, 1);
    assert_int_equal(fth_timed_l2_create(fixture.params, &fixture.setting, 1, &fixture.l2, NULL),
                     FTH_OK);
    fth_timed_l2_begin(fixture.l2, timing, true);
    return fixture;
}

static void end(struct fixture *fixture)
{
    fth_timed_l2_destroy(fixture->l2);
    fth_model_params_destroy(fixture->params);
}

/* Returns when the SM has sent the write. The event of the access is at 0. */
static uint64_t write_line(struct fixture *fixture, uint32_t sm, uint64_t line, uint32_t sectors,
                           uint32_t counted, uint64_t now)
{
    const struct fth_timed_line part = {.line = line, .sectors = sectors};
    const struct fth_timed_request request = {.sm = sm, .line = &part};
    return fth_timed_l2_write(fixture->l2, &request, counted, now);
}

/* The same for bytes of a sector, at 0. */
static uint64_t write_bytes(struct fixture *fixture, uint32_t sm, uint64_t line,
                            struct fth_cache_run run)
{
    const struct fth_timed_line part = {
        .line = line, .sectors = 1u << (run.from / 32), .run_count = 1};
    const struct fth_timed_request request = {.sm = sm, .line = &part, .runs = &run};
    return fth_timed_l2_write(fixture->l2, &request, part.sectors, 0);
}

/* The port of an SM is busy with the sectors of a store that did not merge with an earlier one, and
 * with a byte mask if it writes a part of a sector. */
static void stores_occupy_the_port(void **state)
{
    (void)state;
    struct fth_timing slow = costs;
    slow.store = 30;
    struct fixture fixture = begin(&slow);
    assert_int_equal(write_line(&fixture, 0, 0, 7, 7, 0), 3 * 30);
    assert_int_equal(write_line(&fixture, 0, 256, 7, 1, 0), 4 * 30);
    assert_int_equal(write_line(&fixture, 0, 256, 7, 0, 0), 0);
    assert_int_equal(write_bytes(&fixture, 0, 512, (struct fth_cache_run){4, 8}), 6 * 30);
    assert_int_equal(write_bytes(&fixture, 0, 768, (struct fth_cache_run){32, 32}), 7 * 30);
    assert_int_equal(fth_timed_l2_port(fixture.l2, 0), 7 * 30);
    assert_int_equal(write_line(&fixture, 1, 0, 7, 7, 0), 3 * 30); /* the port of another SM */
    end(&fixture);
    slow.store = 1; /* less than a request */
    fixture = begin(&slow);
    assert_int_equal(write_line(&fixture, 0, 0, 7, 7, 0), PORT);
    end(&fixture);
}

static void reads_wait_for_stores(void **state)
{
    (void)state;
    struct fth_timing slow = costs;
    slow.store = 30;
    struct fixture fixture = begin(&slow);
    const struct fth_timed_line line = {.line = 1024, .sectors = 1};
    const struct fth_timed_request request = {.sm = 0, .line = &line};
    uint32_t fetched = 0;
    write_line(&fixture, 0, 0, 7, 7, 0);
    assert_int_equal(fth_timed_l2_read(fixture.l2, &request, 1, 0, &fetched), 3 * 30 + MISS);
    end(&fixture);
}

/* All SMs wait while the L2 needs more than 256 cycles for what they have sent. */
static void stores_wait_for_the_input_of_the_l2(void **state)
{
    (void)state;
    const uint64_t cycle = FTH_TICKS_PER_CYCLE;
    struct fth_timing slow = costs;
    slow.l2_write = 100 * cycle;
    struct fixture fixture = begin(&slow);
    assert_int_equal(write_line(&fixture, 0, 0, 3, 3, 0), PORT);
    assert_int_equal(write_line(&fixture, 1, 128, 3, 3, 0), PORT); /* it needs 200 cycles */
    assert_int_equal(write_line(&fixture, 0, 256, 1, 1, 0), (400 - 256) * cycle + PORT);
    assert_int_equal(write_line(&fixture, 1, 384, 1, 1, 300 * cycle), 300 * cycle + PORT);
    assert_int_equal(write_line(&fixture, 1, 384, 1, 1, 300 * cycle), (600 - 256) * cycle + PORT);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_occupy_the_port),
        cmocka_unit_test(reads_wait_for_stores),
        cmocka_unit_test(stores_wait_for_the_input_of_the_l2),
    };
    return cmocka_run_group_tests_name("stores", tests, NULL, NULL);
}
