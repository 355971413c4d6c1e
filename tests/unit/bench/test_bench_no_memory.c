/* Tests that each bench without memory fails with FTH_NO_MEMORY, and that nothing is left
 * (tests/leaks checks that). The probes do not measure; each of them counts as an allocation. One
 * allocation fails: the first one, then the second one, and so on, until the bench is complete.
 * The same for probes that fail for another reason. */
#include "bench/bench.h"
#include "check.h"
#include "failing.h"
#include "probe/rate/probe_rate.h"

#include <math.h>
#include <stdlib.h>

/* ---- probes with given results ---- */

enum fth_status __wrap_fth_ask(const struct fth_prober *prober, const struct fth_request *requests,
                               size_t count, struct fth_answers *answers, struct fth_error *error);
enum fth_status __wrap_fth_probe_bandwidth(const struct fth_prober *prober,
                                           const struct fth_gpu *known,
                                           enum fth_bandwidth_target target, bool thorough,
                                           struct fth_bandwidth *bandwidth,
                                           struct fth_error *error);
enum fth_status __wrap_fth_probe_durations(const struct fth_prober *prober,
                                           const struct fth_request *request,
                                           struct fth_durations *durations,
                                           struct fth_error *error);
enum fth_status __wrap_fth_probe_interleaved(const struct fth_prober *prober,
                                             const struct fth_request *requests, size_t count,
                                             size_t rounds, struct fth_durations *durations,
                                             struct fth_error *error);
enum fth_status __wrap_fth_probe_operate(const struct fth_prober *prober,
                                         const struct fth_operate_plan *plan,
                                         struct fth_figure *cycles, struct fth_error *error);
enum fth_status __wrap_fth_probe_banks(const struct fth_prober *prober, struct fth_banks *banks,
                                       struct fth_error *error);

/* The probe that fails, by its number from 1 on (0: none), and with which status. */
static struct {
    size_t count, fails_at;
    enum fth_status status;
} probes;

static bool alternation_fails; /* probes with two requests */

static enum fth_status probe(struct fth_error *error)
{
    if (++probes.count == probes.fails_at)
        return fth_fail(error, probes.status, "probe", NULL, "it fails");
    return fails() ? fth_no_memory(error, "probe", NULL) : FTH_OK;
}

enum fth_status __wrap_fth_ask(const struct fth_prober *prober, const struct fth_request *requests,
                               size_t count, struct fth_answers *answers, struct fth_error *error)
{
    enum { SAMPLES = 8 };
    (void)prober;
    FTH_TRY(probe(error));
    answers->items = __real_calloc(count, sizeof *answers->items);
    assert_non_null(answers->items);
    answers->count = count;
    for (size_t i = 0; i < count; i++) {
        struct fth_samples *samples = &answers->items[i];
        samples->clock_mhz = 1000;
        /* The probe of visits reads one sample per visit; the others take what there is. */
        samples->count =
            requests[i].family == FTH_FAMILY_VISIT ? fth_request_samples(&requests[i]) : SAMPLES;
        samples->cycles = __real_calloc(samples->count, sizeof *samples->cycles);
        assert_non_null(samples->cycles);
        for (uint32_t k = 0; k < samples->count; k++)
            samples->cycles[k] = 1000 * ((uint32_t)i % 2 + 1) + k;
    }
    return FTH_OK;
}

enum fth_status __wrap_fth_probe_bandwidth(const struct fth_prober *prober,
                                           const struct fth_gpu *known,
                                           enum fth_bandwidth_target target, bool thorough,
                                           struct fth_bandwidth *bandwidth, struct fth_error *error)
{
    (void)prober;
    (void)known;
    (void)target;
    (void)thorough;
    *bandwidth = (struct fth_bandwidth){.bytes_per_s = 1e9};
    return probe(error);
}

enum fth_status __wrap_fth_probe_durations(const struct fth_prober *prober,
                                           const struct fth_request *request,
                                           struct fth_durations *durations, struct fth_error *error)
{
    return __wrap_fth_probe_interleaved(prober, request, 1, 1, durations, error);
}

enum fth_status __wrap_fth_probe_interleaved(const struct fth_prober *prober,
                                             const struct fth_request *requests, size_t count,
                                             size_t rounds, struct fth_durations *durations,
                                             struct fth_error *error)
{
    (void)prober;
    (void)requests;
    if (count == 2 && alternation_fails)
        return fth_fail(error, FTH_INCONCLUSIVE, "probe", NULL, "it fails");
    for (size_t i = 0; i < count; i++)
        durations[i] = (struct fth_durations){
            .best_ns = 1e8, .median_ns = 1.1e8, .worst_ns = 1.2e8, .count = rounds};
    return probe(error);
}

enum fth_status __wrap_fth_probe_operate(const struct fth_prober *prober,
                                         const struct fth_operate_plan *plan,
                                         struct fth_figure *cycles, struct fth_error *error)
{
    (void)prober;
    (void)plan;
    *cycles = (struct fth_figure){.value = 20, .low = 19, .high = 21, .samples = 5};
    return probe(error);
}

enum fth_status __wrap_fth_probe_banks(const struct fth_prober *prober, struct fth_banks *banks,
                                       struct fth_error *error)
{
    (void)prober;
    *banks = (struct fth_banks){
        .banks = 32, .bank_bytes = 4, .first_cycles = 20, .conflict_cycles = 2, .samples = 9};
    return probe(error);
}

/* ---- benches ---- */

static void benches_need_memory(void **state)
{
    (void)state;
    struct fth_device *device = NULL;
    assert_int_equal(fth_device_open("sim:h200", NULL, &device, NULL), FTH_OK);
    const char *name;
    for (size_t i = 0; (name = fth_bench_name(i, NULL)); i++) {
        const struct fth_bench_options options = FTH_BENCH_OPTIONS(.names = &name, .count = 1);
        bool failed = true;
        size_t number = 1;
        for (; failed; number++) {
            struct fth_bench *bench = NULL;
            struct fth_error error = NO_ERROR;
            fail_from(number, false);
            const enum fth_status status = fth_bench_create(device, &options, &bench, &error);
            failed = has_failed();
            fail_from(0, false);
            if (status != (failed ? FTH_NO_MEMORY : FTH_OK) || error.status != status ||
                (failed && !error.operation[0]))
                fail_msg("%s, allocation %zu: status %d: %s", name, number, (int)status,
                         error.cause);
            assert_int_equal(bench != NULL, status == FTH_OK);
            fth_bench_destroy(bench);
        }
        assert_true(number > 20);
    }
    fth_device_close(device);
}

/* Runs a bench whose probe number `probes.fails_at` fails. A bench that ends early keeps what it
 * has and says so. Returns the status. */
static enum fth_status run_with_failure(struct fth_device *device, const char *name)
{
    const struct fth_bench_options options = FTH_BENCH_OPTIONS(.names = &name, .count = 1);
    struct fth_bench *bench = NULL;
    struct fth_error error = NO_ERROR;
    probes.count = 0;
    const enum fth_status status = fth_bench_create(device, &options, &bench, &error);
    const bool early = status == FTH_INTERRUPTED || status == FTH_UNAVAILABLE;
    assert_int_equal(error.status, status);
    assert_int_equal(bench != NULL, status == FTH_OK || early);
    if (bench && fth_bench_series_count(bench) > 0) {
        const struct fth_bench_series *last =
            fth_bench_series_at(bench, fth_bench_series_count(bench) - 1);
        const char *remark = last->missing_count ? last->missing[last->missing_count - 1] : "";
        const char *expected = status == FTH_INTERRUPTED
                                   ? "interrupted: points are missing"
                                   : "the device failed: it fails: points are missing";
        assert_int_equal(strcmp(remark, expected) == 0, early);
    }
    fth_bench_destroy(bench);
    return status;
}

/* If a probe is interrupted or fails, the bench ends. If a result is inconclusive, the bench goes
 * on without it, except for results that others need: the overhead of four paths, the size of the
 * L1. */
static void benches_end_early(void **state)
{
    (void)state;
    static const enum fth_status statuses[] = {FTH_INTERRUPTED, FTH_UNAVAILABLE, FTH_IO,
                                               FTH_INCONCLUSIVE};
    struct fth_device *device = NULL;
    assert_int_equal(fth_device_open("sim:h200", NULL, &device, NULL), FTH_OK);
    const char *name;
    for (size_t i = 0; (name = fth_bench_name(i, NULL)); i++)
        for (size_t k = 0; k < FTH_COUNT(statuses); k++) {
            size_t ended = 0;
            probes.status = statuses[k];
            for (probes.fails_at = 1;; probes.fails_at++) {
                const enum fth_status status = run_with_failure(device, name);
                if (probes.count < probes.fails_at) { /* there is no such probe */
                    assert_int_equal(status, FTH_OK);
                    break;
                }
                ended += status != FTH_OK;
                assert_true(status == probes.status || status == FTH_OK);
            }
            const size_t inconclusive = strcmp(name, "latency") == 0   ? 4
                                        : strcmp(name, "scaling") == 0 ? 1
                                                                       : 0;
            assert_int_equal(ended, probes.status == FTH_INCONCLUSIVE ? inconclusive
                                                                      : probes.fails_at - 1);
        }
    probes.fails_at = 0;
    fth_device_close(device);
}

/* Each copy of n bytes takes 0.1 s and moves 2 * n bytes. The largest have more than 4 GiB. */
static void copies_have_the_rates_of_their_sizes(void **state)
{
    (void)state;
    const char *name = "stream";
    const struct fth_bench_options options =
        FTH_BENCH_OPTIONS(.names = &name, .count = 1, .thorough = true);
    for (int way = 0; way < 2; way++) { /* measured alternately, or one after the other */
        struct fth_device *device = NULL;
        struct fth_bench *bench = NULL;
        const struct fth_bench_series *driver = NULL;
        alternation_fails = way == 1;
        assert_int_equal(fth_device_open("sim:h200", NULL, &device, NULL), FTH_OK);
        assert_int_equal(fth_bench_create(device, &options, &bench, NULL), FTH_OK);
        alternation_fails = false;
        for (size_t i = 0; i < fth_bench_series_count(bench); i++)
            if (strcmp(fth_bench_series_at(bench, i)->name, "stream.driver") == 0)
                driver = fth_bench_series_at(bench, i);
        assert_non_null(driver);
        double mib = 1;
        for (size_t row = 0; row < driver->table.row_count; row++, mib *= 2) {
            const struct fth_cell *cells = &driver->table.cells[row * driver->table.column_count];
            const double rate = round(2 * mib * (1 << 20) / 0.1 / 1e9 * 10) / 10; /* GB/s */
            assert_true(cells[0].number == mib);
            assert_true(cells[1].number == rate);
            assert_true(cells[2].number == rate);
            assert_true(cells[3].number == 100 && cells[4].number == 100); /* percent */
        }
        assert_true(mib > 4096);
        fth_bench_destroy(bench);
        fth_device_close(device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(benches_need_memory),
        cmocka_unit_test(benches_end_early),
        cmocka_unit_test(copies_have_the_rates_of_their_sizes),
    };
    return cmocka_run_group_tests_name("bench-no-memory", tests, NULL, NULL);
}
