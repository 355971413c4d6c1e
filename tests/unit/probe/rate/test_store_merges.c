/* Merged stores (probe/rate/store_merges.c): the decision, and simulated GPUs with random windows,
 * whose figures must be right or unknown. */
#include "check.h"
#include "folder.h"
#include "probe/rate/probe_rate.h"

#include <stdio.h>
#include <stdlib.h>

static void the_window_lies_between_two_lags(void **state)
{
    (void)state;
    static const double lags[] = {4, 12, 20, 28, 36, 44};
    static const struct {
        double parts[6];
        double low, high;  /* 0, 0: unknown */
        const char *cause; /* NULL: known */
    } rows[] = {
        {{0, 0, 0.1, 1, 1, 0.9}, 20, 28, NULL},
        {{0.6, 1, 1, 1, 1, 1}, 0, 4, NULL},
        {{0, 0, 0, 0, 0, 0.7}, 36, 44, NULL},
        {{0, 0.6, 0.4, 1, 1, 1}, 4, 12, NULL}, /* one exception */
        {{0, 0, 0, 0, 0, 0.3}, 0, 0, "the longest that was tried"},
        {{0, 1, 0, 1, 0, 1}, 4, 12, NULL},
        {{1, 1, 1, 0, 0, 0}, 0, 0, "3 of 6 lags contradict the others"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_store_merges found = {.window_cycles = 0};
        struct fth_error error = FTH_NO_ERROR;
        const enum fth_status status =
            fth_decide_store_merges(lags, rows[i].parts, FTH_COUNT(lags), &found, &error);
        assert_int_equal(status, rows[i].cause ? FTH_INCONCLUSIVE : FTH_OK);
        if (rows[i].cause && !strstr(error.cause, rows[i].cause))
            fail_msg("row %zu: %s", i, error.cause);
        if (!rows[i].cause && (found.low != rows[i].low || found.high != rows[i].high))
            fail_msg("row %zu: %g to %g", i, found.low, found.high);
    }
}

/* Opens a GPU with this window in cycles (0: none) and this bandwidth of the L2 in bytes per cycle
 * of each SM (0: unlimited). */
static struct fth_prober open_gpu(unsigned window, unsigned rate, const char *noise)
{
    char text[1024], merges[64] = "", rates[96] = "";
    struct fth_prober prober = {.sms = 2};
    struct fth_error error = FTH_NO_ERROR;
    if (window)
        snprintf(merges, sizeof merges, ", \"store_merge_cycles\": %u", window);
    if (rate)
        snprintf(rates, sizeof rates, ", \"write_bytes_per_s\": %u000000000", 2 * rate);
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Small\", "
             "\"compute_capability\": \"9.0\", \"sms\": 2, \"clock_mhz\": 1000}, \"noise\": "
             "{\"seed\": 3%s}, \"elements\": {\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, "
             "\"latency_cycles\": 30%s}, \"l2\": {\"size_bytes\": 4194304, \"line_bytes\": 128, "
             "\"latency_cycles\": 250%s}, \"memory\": {\"latency_cycles\": 700}}}",
             noise, merges, rates);
    write_plain("gpu.json", text, strlen(text));
    if (fth_device_open("sim:./gpu.json", NULL, &prober.device, &error) != FTH_OK)
        fail_msg("%s: %s\n%s", error.argument, error.cause, text);
    return prober;
}

static void random_windows_are_right_or_unknown(void **state)
{
    (void)state;
    struct fth_rng rng;
    unsigned right = 0;
    fth_rng_init(&rng, 23);
    for (unsigned i = 0; i < 24; i++) {
        const unsigned window =
            (unsigned)fth_rng_below(&rng, 4) ? 6 + (unsigned)fth_rng_below(&rng, 120) : 0;
        const unsigned rate = 4 + (unsigned)fth_rng_below(&rng, 40);
        const struct fth_prober prober =
            open_gpu(window, rate, i < 16 ? "" : ", \"jitter_cycles\": 2, \"outlier_rate\": 0.005");
        struct fth_store_merges found;
        struct fth_error error = FTH_NO_ERROR;
        if (fth_probe_store_merges(&prober, &found, &error) == FTH_OK) {
            /* A lag is known to about two cycles: the second warp issues after the first one. */
            if (window == 0 || window + 2 < found.low || window > found.high + 2)
                fail_msg("stores are merged within %u cycles, but %g to %g were found (%u bytes "
                         "per cycle)",
                         window, found.low, found.high, rate);
            right++;
        }
        fth_device_close(prober.device);
    }
    assert_true(right >= 8);
}

/* Without a limit of the bandwidth, or without merging, both kinds of stores take equally long. */
static void without_a_difference_nothing_is_found(void **state)
{
    (void)state;
    static const unsigned cases[][2] = {{0, 16}, {40, 0}};
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        const struct fth_prober prober = open_gpu(cases[i][0], cases[i][1], "");
        struct fth_store_merges found;
        struct fth_error error = FTH_NO_ERROR;
        assert_int_equal(fth_probe_store_merges(&prober, &found, &error), FTH_INCONCLUSIVE);
        assert_non_null(strstr(error.cause, "take as long as stores to different lines"));
        fth_device_close(prober.device);
    }
}

/* A device with a window for each even number of warps up to 8; 0: merging makes no difference. */
static enum fth_status measure_windows(void *state, const struct fth_request *requests,
                                       size_t count, struct fth_samples *samples,
                                       struct fth_error *error)
{
    const unsigned *windows = state;
    (void)error;
    for (size_t i = 0; i < count; i++) {
        const struct fth_merge_stores *merge = &requests[i].merge;
        const unsigned window = windows[merge->warps / 2 - 1], lag = 4 * merge->lag;
        const bool merged = merge->shared && window && lag < window;
        samples[i] = (struct fth_samples){
            .clock_mhz = 1000,
            .count = (size_t)3 * merge->repeats,
            .cycles = calloc((size_t)3 * merge->repeats, sizeof *samples[i].cycles)};
        for (size_t k = 0; k < samples[i].count; k += 3) {
            samples[i].cycles[k + 1] = lag;
            samples[i].cycles[k + 2] = lag + (merged ? 1000 : 2000);
        }
    }
    return FTH_OK;
}

/* Windows with two numbers of warps can agree by chance, so that a third one must, too. */
static void three_windows_must_agree(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.measure = measure_windows};
    static const struct {
        unsigned windows[4];
        const char *cause; /* NULL: known */
    } rows[] = {
        {{0, 60, 60, 60}, NULL},
        {{60, 60, 60, 0}, NULL},
        {{0, 66, 60, 40}, "but 36 with 8"},
        {{60, 60, 90, 60}, "but 92 with 6"},
        {{0, 60, 60, 0}, "only with 4 and 6 warps"},
        {{0, 0, 60, 60}, "only with 6 warps"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        unsigned windows[4];
        memcpy(windows, rows[i].windows, sizeof windows);
        struct fth_device device = {.ops = &ops, .state = windows, .id = "fake"};
        const struct fth_prober prober = {.device = &device, .sms = 1};
        struct fth_store_merges found;
        struct fth_error error = FTH_NO_ERROR;
        const enum fth_status status = fth_probe_store_merges(&prober, &found, &error);
        assert_int_equal(status, rows[i].cause ? FTH_INCONCLUSIVE : FTH_OK);
        if (rows[i].cause && !strstr(error.cause, rows[i].cause))
            fail_msg("row %zu: %s", i, error.cause);
        assert_true(rows[i].cause || (found.low <= 60 && found.high >= 60));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_windows_must_agree),
        cmocka_unit_test(the_window_lies_between_two_lags),
        cmocka_unit_test(random_windows_are_right_or_unknown),
        cmocka_unit_test(without_a_difference_nothing_is_found),
    };
    return cmocka_run_group_tests_name("merged stores", tests, enter_folder, leave_folder);
}
