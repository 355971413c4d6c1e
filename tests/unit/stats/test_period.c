/* Tests the search for the period of events (stats/period.c) with events whose period is known. */
#include "check.h"
#include "stats/stats.h"

#include <math.h>

enum { EVENTS = 400 };

/* Writes the times of events: one per period, of which the fraction `missing` does not show, each
 * up to `spread` periods late. */
static size_t make_events(double period, double missing, double spread, double times[EVENTS])
{
    struct fth_rng rng;
    size_t count = 0;
    fth_rng_init(&rng, 5);
    for (size_t i = 0; i < EVENTS; i++) {
        const double late = spread * (double)fth_rng_below(&rng, 1000) / 1000;
        if ((double)fth_rng_below(&rng, 1000) >= 1000 * missing)
            times[count++] = period * ((double)i + late);
    }
    return count;
}

static void periods_are_found(void **state)
{
    (void)state;
    static const struct {
        double period, missing, spread, min_coherence;
    } rows[] = {
        {3888.1, 0, 0, 0.999},     {3888.1, 0.7, 0, 0.999},  {3888.1, 0, 0.2, 0.9},
        {3888.1, 0.7, 0.25, 0.85}, {1001.7, 0.5, 0.1, 0.95}, {49000, 0.3, 0.1, 0.95},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        double times[EVENTS];
        struct fth_period found;
        const size_t count = make_events(rows[i].period, rows[i].missing, rows[i].spread, times);
        assert_int_equal(fth_find_period(times, count, 900, 50000, &found, NULL), FTH_OK);
        if (!(fabs(found.period / rows[i].period - 1) < 1e-3) ||
            found.coherence < rows[i].min_coherence || found.coherence > 1 + 1e-9)
            fail_msg("row %zu: period %g, coherence %g", i, found.period, found.coherence);
    }
}

/* Events at random times have no period: the coherence is low. */
static void random_events_have_no_period(void **state)
{
    (void)state;
    double times[EVENTS];
    struct fth_rng rng;
    struct fth_period found;
    fth_rng_init(&rng, 7);
    double now = 0;
    for (size_t i = 0; i < EVENTS; i++)
        times[i] = now += (double)fth_rng_below(&rng, 8000);
    assert_int_equal(fth_find_period(times, EVENTS, 900, 50000, &found, NULL), FTH_OK);
    assert_true(found.coherence < 0.35);
}

static void too_few_events_are_refused(void **state)
{
    (void)state;
    static const double times[] = {1, 2, 2};
    struct fth_period found;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_find_period(times, 1, 1, 2, &found, &error), FTH_INCONCLUSIVE);
    assert_string_equal(error.cause, "there are too few events");
    assert_int_equal(fth_find_period(times + 1, 2, 1, 2, &found, NULL), FTH_INCONCLUSIVE);
    assert_int_equal(fth_find_period(times, 3, 2, 2, &found, NULL), FTH_INCONCLUSIVE);
    assert_true(isnan(found.period));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(periods_are_found),
        cmocka_unit_test(random_events_have_no_period),
        cmocka_unit_test(too_few_events_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
