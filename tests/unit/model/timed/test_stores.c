/* How long stores occupy the port of an SM and the input of the L2, computed by hand. */
#include "l2_setup.h"

/* The port of an SM is busy with the sectors of a store that did not merge with an earlier one, and
 * with a byte mask if it writes a part of a sector. */
static void stores_occupy_the_port(void **state)
{
    (void)state;
    struct fth_timing slow = costs;
    slow.store = 30;
    struct fixture fixture = begin(none, &slow);
    assert_int_equal(write_line(&fixture, 0, 0, 7, 7, 0), 3 * 30);
    assert_int_equal(write_line(&fixture, 0, 256, 7, 1, 0), 4 * 30);
    assert_int_equal(write_line(&fixture, 0, 256, 7, 0, 0), 0);
    assert_int_equal(write_bytes(&fixture, 0, 512, 4, 8), 6 * 30);
    assert_int_equal(write_bytes(&fixture, 0, 768, 32, 32), 7 * 30);
    assert_int_equal(fth_timed_l2_port(fixture.l2, 0), 7 * 30);
    assert_int_equal(write_line(&fixture, 1, 0, 7, 7, 0), 3 * 30); /* the port of another SM */
    end(&fixture);
    slow.store = 1; /* less than a request */
    fixture = begin(none, &slow);
    assert_int_equal(write_line(&fixture, 0, 0, 7, 7, 0), costs.port);
    end(&fixture);
}

static void reads_wait_for_stores(void **state)
{
    (void)state;
    struct fth_timing slow = costs;
    slow.store = 30;
    struct fixture fixture = begin(none, &slow);
    write_line(&fixture, 0, 0, 7, 7, 0);
    assert_int_equal(read_line(&fixture, 0, 1024, 1, 0), 3 * 30 + MISS);
    end(&fixture);
}

/* All SMs wait while the L2 needs more than 256 cycles for what they have sent. */
static void stores_wait_for_the_input_of_the_l2(void **state)
{
    (void)state;
    const uint64_t cycle = FTH_TICKS_PER_CYCLE;
    struct fth_timing slow = costs;
    slow.l2_write = 100 * cycle;
    struct fixture fixture = begin(none, &slow);
    assert_int_equal(write_line(&fixture, 0, 0, 3, 3, 0), costs.port);
    assert_int_equal(write_line(&fixture, 1, 128, 3, 3, 0), costs.port); /* it needs 200 cycles */
    assert_int_equal(write_line(&fixture, 0, 256, 1, 1, 0), (400 - 256) * cycle + costs.port);
    assert_int_equal(write_line(&fixture, 1, 384, 1, 1, 300 * cycle), 300 * cycle + costs.port);
    assert_int_equal(write_line(&fixture, 1, 384, 1, 1, 300 * cycle),
                     (600 - 256) * cycle + costs.port);
    end(&fixture);
}

/* Data from memory enters the L2 after stores and other data from memory. Stores wait for stores
 * only. */
static void data_from_memory_enters_the_l2_as_stores_do(void **state)
{
    (void)state;
    struct fth_timing slow = costs;
    slow.l2_write = 1000;
    struct fixture fixture = begin(none, &slow);
    write_line(&fixture, 0, 0, 7, 7, 0);
    assert_int_equal(read_line(&fixture, 2, NEAR_LINE + 1024, 1, 0), 3 * 1000 - 150 + MISS);
    assert_int_equal(read_line(&fixture, 1, FAR_LINE + 2048, 15, 0), 4 * 1000 - 150 + MISS);
    slow.l2_write = UINT64_C(100) * FTH_TICKS_PER_CYCLE;
    end(&fixture);
    fixture = begin(none, &slow);
    read_line(&fixture, 0, NEAR_LINE, 15, 0);
    read_line(&fixture, 1, FAR_LINE, 15, 0); /* 800 cycles */
    assert_int_equal(write_line(&fixture, 2, 1024, 1, 1, 0), costs.port);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_occupy_the_port),
        cmocka_unit_test(reads_wait_for_stores),
        cmocka_unit_test(stores_wait_for_the_input_of_the_l2),
        cmocka_unit_test(data_from_memory_enters_the_l2_as_stores_do),
    };
    return cmocka_run_group_tests_name("stores", tests, NULL, NULL);
}
