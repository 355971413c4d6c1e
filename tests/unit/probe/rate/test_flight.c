/* Loads in flight (probe/rate/loads_in_flight.c): the decisions, and simulated GPUs with random
 * limits, without and with noise, whose figures must be right or unknown. */
#include "check.h"
#include "folder.h"
#include "probe/rate/probe_rate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- decisions ---- */

enum { LOADS = 16 };

/* Cycles until 1 to 16 loads are issued: 4 per load, and `wait` after `limit` of them. */
static void fill_cycles(double *cycles, size_t limit, double wait)
{
    for (size_t n = 1; n <= LOADS; n++)
        cycles[n - 1] = 4 * (double)n + (n > limit ? wait : 0);
}

static void the_jump_is_the_limit(void **state)
{
    (void)state;
    double cycles[LOADS];
    uint32_t limit;
    for (size_t at = 1; at < LOADS; at++) {
        fill_cycles(cycles, at, 500);
        assert_true(fth_decide_warp_loads(cycles, LOADS, 520, &limit));
        assert_int_equal(limit, at);
    }
    /* No jump; one that is too small; one that the latency of a load does not explain. */
    fill_cycles(cycles, LOADS, 0);
    assert_false(fth_decide_warp_loads(cycles, LOADS, 520, &limit));
    fill_cycles(cycles, 9, 50);
    assert_false(fth_decide_warp_loads(cycles, LOADS, 90, &limit));
    fill_cycles(cycles, 9, 200);
    assert_false(fth_decide_warp_loads(cycles, LOADS, 520, &limit));
    fill_cycles(cycles, 9, 1500);
    assert_false(fth_decide_warp_loads(cycles, LOADS, 520, &limit));
    /* A number of loads before the jump takes long, or one after it does not. */
    fill_cycles(cycles, 9, 500);
    cycles[3] += 300;
    assert_false(fth_decide_warp_loads(cycles, LOADS, 520, &limit));
    fill_cycles(cycles, 9, 500);
    cycles[12] -= 400;
    assert_false(fth_decide_warp_loads(cycles, LOADS, 520, &limit));
}

/* Load 2 L + 1 waits for load L + 1. Its wait may be the longest one, but the first one counts. */
static void the_first_jump_is_the_limit(void **state)
{
    (void)state;
    double cycles[LOADS];
    uint32_t limit;
    for (size_t at = 2; at < LOADS / 2; at++) {
        fill_cycles(cycles, at, 500);
        for (size_t n = 2 * at; n < LOADS; n++)
            cycles[n] += 501;
        assert_true(fth_decide_warp_loads(cycles, LOADS, 520, &limit));
        assert_int_equal(limit, at);
    }
}

static void both_latencies_give_the_same_number(void **state)
{
    (void)state;
    static const struct {
        double memory[2], l2[2]; /* cycles per sector, latency */
        double sectors;          /* 0: unknown */
        const char *cause;
    } rows[] = {
        {{8, 800}, {2.5, 250}, 100, NULL},
        {{8, 800}, {2.3, 250}, 104, NULL},
        {{1.1, 800}, {1, 250}, 0, "at least 727 sectors"}, /* an H200 */
        {{2, 800}, {1, 250}, 0, "400 sectors are in flight from memory, and 250 from the L2"},
        {{0, 800}, {1, 250}, 0, "more sectors do not take longer"},
        {{8, 800}, {-1, 250}, 0, "more sectors do not take longer"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_sm_sectors found = {.sectors = 0};
        struct fth_error error = FTH_NO_ERROR;
        const enum fth_status status =
            fth_decide_sm_sectors(rows[i].memory, rows[i].l2, &found, &error);
        assert_int_equal(status, rows[i].cause ? FTH_INCONCLUSIVE : FTH_OK);
        assert_true(fabs(found.sectors - rows[i].sectors) < 0.5);
        assert_true(rows[i].cause ? strstr(error.cause, rows[i].cause) != NULL
                                  : found.low <= found.sectors && found.sectors <= found.high);
    }
}

/* ---- simulated GPUs ---- */

struct truth {
    unsigned loads, sectors; /* 0: not in the description */
    unsigned l2_cycles, memory_cycles;
};

static struct fth_prober open_gpu(const struct truth *truth, const char *noise)
{
    char text[1024], limits[128] = "";
    struct fth_prober prober = {.sms = 2};
    struct fth_error error = FTH_NO_ERROR;
    if (truth->loads)
        snprintf(limits, sizeof limits, ", \"loads_per_scoreboard\": %u", truth->loads);
    if (truth->sectors)
        snprintf(strchr(limits, 0), 64, ", \"sectors_in_flight_per_sm\": %u", truth->sectors);
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Small\", "
             "\"compute_capability\": \"9.0\", \"sms\": 2, \"clock_mhz\": 1000%s}, \"noise\": "
             "{\"seed\": 3%s}, \"elements\": {\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, "
             "\"latency_cycles\": 30}, \"l2\": {\"size_bytes\": 4194304, \"line_bytes\": 128, "
             "\"sector_bytes\": 32, \"latency_cycles\": %u}, \"memory\": {\"latency_cycles\": %u}, "
             "\"tlb_l1\": {\"page_bytes\": 2097152, \"entries\": 64, \"miss_penalty_cycles\": 0}}}",
             limits, noise, truth->l2_cycles, truth->memory_cycles);
    write_plain("gpu.json", text, strlen(text));
    if (fth_device_open("sim:./gpu.json", NULL, &prober.device, &error) != FTH_OK)
        fail_msg("%s: %s\n%s", error.argument, error.cause, text);
    return prober;
}

static struct truth draw_truth(struct fth_rng *rng)
{
    struct truth truth = {.l2_cycles = 180 + (unsigned)fth_rng_below(rng, 200)};
    truth.memory_cycles = 2 * truth.l2_cycles + (unsigned)fth_rng_below(rng, 300);
    if (fth_rng_below(rng, 5))
        truth.loads = 2 + (unsigned)fth_rng_below(rng, FTH_FLIGHT_LOADS - 2);
    if (fth_rng_below(rng, 3) == 0)
        truth.sectors = 16 + (unsigned)fth_rng_below(rng, 300);
    return truth;
}

/* Both limits at the same time; the number of loads of an SM with few sectors in flight is not
 * measured, because their rate is limited as well. */
static void random_limits_are_right_or_unknown(void **state)
{
    (void)state;
    struct fth_rng rng;
    unsigned right = 0, drawn = 0, right_sectors = 0;
    fth_rng_init(&rng, 17);
    for (unsigned i = 0; i < 24; i++) {
        const bool quiet = i < 18;
        const struct truth truth = draw_truth(&rng);
        const struct fth_prober prober =
            open_gpu(&truth, quiet ? "" : ", \"jitter_cycles\": 2, \"outlier_rate\": 0.005");
        struct fth_error error = FTH_NO_ERROR;
        struct fth_warp_loads found;
        struct fth_sm_sectors sectors;
        drawn += quiet && truth.loads && !truth.sectors;
        const enum fth_status status = fth_probe_warp_loads(&prober, &found, &error);
        if (status == FTH_OK) {
            if (found.loads != truth.loads && fth_confidence(found.evidence) >= 0.95)
                fail_msg("%u loads of a warp can be in flight, but %u were found", truth.loads,
                         found.loads);
            right += quiet && found.loads == truth.loads && !truth.sectors;
        }
        if (fth_probe_sm_sectors(&prober, found.loads, &sectors, &error) == FTH_OK) {
            if (truth.sectors == 0 || fabs(sectors.sectors / truth.sectors - 1) > 0.15)
                fail_msg("%u sectors can be in flight, but %.0f were found (%u %u)", truth.sectors,
                         sectors.sectors, truth.loads, found.loads);
            right_sectors++;
        }
        fth_device_close(prober.device);
    }
    assert_true(drawn >= 6);
    assert_int_equal(right, drawn);
    assert_true(right_sectors >= 2);
}

/* A GPU without limits: both figures are unknown, with the reason. */
static void without_limits_nothing_is_found(void **state)
{
    (void)state;
    const struct truth truth = {.l2_cycles = 250, .memory_cycles = 700};
    const struct fth_prober prober = open_gpu(&truth, "");
    struct fth_warp_loads found;
    struct fth_sm_sectors sectors;
    struct fth_error error = FTH_NO_ERROR;
    assert_int_equal(fth_probe_warp_loads(&prober, &found, &error), FTH_INCONCLUSIVE);
    assert_string_equal(error.cause, "a warp can have at least 128 loads in flight");
    error = FTH_NO_ERROR;
    assert_int_equal(fth_probe_sm_sectors(&prober, found.loads, &sectors, &error),
                     FTH_INCONCLUSIVE);
    assert_non_null(strstr(error.cause, "does not limit the rate"));
    fth_device_close(prober.device);
}

/* The text of 'fathom dissect' has the figures, or why they are unknown. */
static void the_report_has_the_figures(void **state)
{
    (void)state;
    static const char text[] =
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\", \"loads_per_scoreboard\": "
        "54, "
        "\"unknown\": {\"sectors_in_flight_per_sm\": \"not limited\"}}, \"elements\": {\"l1\": "
        "{\"sets\": 4}}}";
    struct fth_gpu *gpu = NULL;
    struct fth_error error = FTH_NO_ERROR;
    char *report = NULL;
    size_t size = 0;
    if (fth_gpu_read_text("test", text, sizeof text - 1, NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(fth_report_dissection(gpu, NULL, &report, &size, NULL), FTH_OK);
    assert_non_null(strstr(report, "\nIn flight\nLoads of a warp with the same scoreboard: at most "
                                   "54\n"));
    assert_non_null(strstr(report, "device: sectors_in_flight_per_sm not known: not limited\n"));
    free(report);
    fth_gpu_destroy(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_jump_is_the_limit),
        cmocka_unit_test(the_first_jump_is_the_limit),
        cmocka_unit_test(both_latencies_give_the_same_number),
        cmocka_unit_test(random_limits_are_right_or_unknown),
        cmocka_unit_test(without_limits_nothing_is_found),
        cmocka_unit_test(the_report_has_the_figures),
    };
    return cmocka_run_group_tests_name("loads in flight", tests, enter_folder, leave_folder);
}
