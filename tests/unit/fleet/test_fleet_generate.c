/* Generated fleets: spread, noise, rounding, and which figures a fault changes. */
#include "check.h"
#include "fleet/fleet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Options as an expression. */
#define OPTIONS(...) ((struct fth_fleet_generate_options)FTH_FLEET_GENERATE_OPTIONS(__VA_ARGS__))

enum { CARDS = 4, RUNS = 10 };

static const char *const names[] = {
    "memory.read_bytes_per_s", "memory.latency_cycles", "l2.latency_cycles", "l2.read_bytes_per_s",
    "l1.read_bytes_per_s",     "l1.latency_ns",         "device.sms",        "device.pcie_lanes",
    "memory.ecc_uncorrectable"};
enum { READ, LATENCY, L2_LATENCY, L2_READ, L1_READ, L1_NS, SMS, LANES, ECC, FIGURES };

/* A number of a real GPU: two of them vary from run to run, by the same factor in opposite
 * directions; one varies from card to card. */
static double number_of(size_t figure, size_t card, size_t run)
{
    const double noise = ((double)((run * 7) % RUNS) - 4.5) * 0.002;
    switch (figure) {
    case READ: return round(4600 * exp(noise)) * 1e9;
    case LATENCY: return round(6000 * exp(-noise)) / 10;
    case L2_LATENCY: return round(10 * (300 + 3 * (double)card)) / 10;
    case L2_READ: return 8e12;
    case L1_READ: return 33e12;
    case L1_NS: return 16.2;
    case SMS: return 132;
    case LANES: return 16;
    default: return 0;
    }
}

static struct fth_fleet *make_base(size_t cards, size_t runs, const char *last_model)
{
    struct fth_fleet *fleet = NULL;
    assert_int_equal(fth_fleet_create(&fleet, NULL), FTH_OK);
    for (size_t card = 0; card < cards; card++)
        for (size_t run = 0; run < runs; run++) {
            struct fth_fleet_value values[FIGURES];
            double fingerprint[4];
            char uuid[32], file[64];
            snprintf(uuid, sizeof uuid, "GPU-%zu", card);
            snprintf(file, sizeof file, "%zu-%zu.json", card, run);
            for (size_t i = 0; i < FIGURES; i++)
                values[i] =
                    (struct fth_fleet_value){.figure = fth_fleet_figure_index(fleet, names[i]),
                                             .confidence = NAN,
                                             .number = number_of(i, card, run)};
            for (size_t i = 0; i < 4; i++)
                fingerprint[i] = 270 + (double)(i + card);
            const struct fth_fleet_draft draft = {
                .gpu = {.name = uuid,
                        .uuid = uuid,
                        .model = card + 1 == cards ? last_model : "NVIDIA H200",
                        .driver = "580",
                        .backend = "cuda"},
                .file = file,
                .values = values,
                .value_count = FIGURES,
                .fingerprint = fingerprint,
                .fingerprint_count = 4};
            assert_int_equal(fth_fleet_add(fleet, &draft, NULL), FTH_OK);
        }
    return fleet;
}

static struct fth_fleet *generate(const struct fth_fleet_generate_options *options, char **truth)
{
    struct fth_fleet *base = make_base(CARDS, RUNS, "NVIDIA H200"), *fleet = NULL;
    struct fth_error error = FTH_NO_ERROR;
    if (fth_fleet_generate(base, options, &fleet, truth, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_fleet_destroy(base);
    return fleet;
}

static double value_at(struct fth_fleet *fleet, size_t measurement, size_t figure)
{
    const struct fth_fleet_value *value = fth_fleet_find(
        &fleet->measurements[measurement], fth_fleet_figure_index(fleet, names[figure]));
    assert_non_null(value);
    return value->number;
}

/* Standard deviation of the logarithm of a figure, and the correlation with another one. */
static double deviation(struct fth_fleet *fleet, size_t figure, size_t other, double *correlation)
{
    double sum[2] = {0}, square[2] = {0}, product = 0;
    const double count = (double)fleet->measurement_count;
    for (size_t i = 0; i < fleet->measurement_count; i++) {
        const double x = log(value_at(fleet, i, figure)), y = log(value_at(fleet, i, other));
        sum[0] += x;
        sum[1] += y;
    }
    for (size_t i = 0; i < fleet->measurement_count; i++) {
        const double x = log(value_at(fleet, i, figure)) - sum[0] / count,
                     y = log(value_at(fleet, i, other)) - sum[1] / count;
        square[0] += x * x;
        square[1] += y * y;
        product += x * y;
    }
    if (correlation)
        *correlation = product / sqrt(square[0] * square[1]);
    return sqrt(square[0] / (count - 1));
}

static void test_spread_and_noise(void **unused)
{
    (void)unused;
    double correlation;
    struct fth_fleet *fleet = generate(&OPTIONS(.gpus = 2000, .seed = 3), NULL);
    assert_int_equal(fth_fleet_gpu_count(fleet, NULL), 2000);
    /* The runs: 0.002 times the standard deviation of 0 to 9 with nine degrees of freedom, 3.03. */
    assert_true(fabs(deviation(fleet, READ, LATENCY, &correlation) - 0.00606) < 0.0003);
    assert_true(correlation < -0.99);
    /* The cards: 300, 303, 306, 309 have a standard deviation of 1.27 % in logarithms. */
    assert_true(fabs(deviation(fleet, L2_LATENCY, READ, &correlation) - 0.0127) < 0.0007);
    assert_true(fabs(correlation) < 0.1);
    for (size_t i = 0; i < fleet->measurement_count; i++) {
        assert_true(fmod(value_at(fleet, i, READ), 1e9) == 0);
        const double tenths = 10 * value_at(fleet, i, LATENCY);
        assert_true(fabs(tenths - round(tenths)) < 1e-9);
        assert_true(value_at(fleet, i, L2_READ) == 8e12);
        assert_int_equal(fleet->measurements[i].fingerprint_count, 4);
    }
    fth_fleet_destroy(fleet);
}

static void test_spread_options(void **unused)
{
    (void)unused;
    struct fth_fleet *wide = generate(&OPTIONS(.gpus = 2000, .spread = 3, .seed = 3), NULL);
    assert_true(fabs(deviation(wide, L2_LATENCY, READ, NULL) - 3 * 0.0127) < 0.002);
    fth_fleet_destroy(wide);
    /* One of the three figures that vary is spread by 22 % between the whiskers, one by 4 %. */
    struct fth_fleet *published = generate(&OPTIONS(.gpus = 2000, .published_spread = true), NULL);
    double low = 1, high = 0;
    const size_t figures[] = {READ, LATENCY, L2_LATENCY};
    for (size_t i = 0; i < 3; i++) {
        const double width = 5.396 * deviation(published, figures[i], READ, NULL);
        low = fmin(low, width);
        high = fmax(high, width);
    }
    assert_true(high > 0.20 && high < 0.24);
    assert_true(low > 0.035 && low < 0.065);
    fth_fleet_destroy(published);
    /* With heavy tails, more cards are far out. */
    struct fth_fleet *tails[2];
    size_t far[2] = {0};
    for (unsigned t = 0; t < 2; t++) {
        tails[t] = generate(&OPTIONS(.gpus = 4000, .tail = t ? 3 : 0), NULL);
        for (size_t i = 0; i < 4000; i++)
            far[t] += fabs(log(value_at(tails[t], i, L2_LATENCY) / 304.5)) > 4 * 0.0127;
        fth_fleet_destroy(tails[t]);
    }
    assert_true(far[0] < 5 && far[1] > 40);
}

static void test_seeds_and_places(void **unused)
{
    (void)unused;
    struct fth_fleet *fleets[3];
    const uint64_t seeds[] = {7, 7, 8};
    size_t measurements, differing[3] = {0};
    for (size_t f = 0; f < 3; f++)
        fleets[f] =
            generate(&OPTIONS(.gpus = 20, .measurements = 3, .seed = seeds[f], .racks = 2), NULL);
    for (size_t f = 1; f < 3; f++)
        for (size_t i = 0; i < 60; i++)
            differing[f] +=
                value_at(fleets[f], i, L2_LATENCY) != value_at(fleets[0], i, L2_LATENCY);
    assert_int_equal(differing[1], 0);
    assert_true(differing[2] > 40);
    assert_int_equal(fth_fleet_gpu_count(fleets[0], &measurements), 20);
    assert_int_equal(measurements, 60);
    const struct fth_fleet_gpu *gpus = fleets[0]->gpus;
    assert_string_equal(gpus[0].host, "node0001");
    assert_string_equal(gpus[7].host, "node0001");
    assert_string_equal(gpus[8].host, "node0002");
    assert_string_equal(gpus[0].group, "rack01");
    assert_string_equal(gpus[19].group, "rack02");
    assert_string_equal(gpus[9].slot, "0000:20:00.0");
    assert_string_not_equal(gpus[0].uuid, fleets[2]->gpus[0].uuid);
    assert_int_equal(fleets[0]->measurements[1].time - fleets[0]->measurements[0].time, 86400);
    for (size_t f = 0; f < 3; f++)
        fth_fleet_destroy(fleets[f]);
}

/* Factors of the figures under a fault; 0: the number itself is `numbers`. */
static const struct {
    const char *fault;
    double factors[FIGURES];
} effects[] = {
    {"memory-bandwidth:-5:1", {0.95, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"l2-partition:10:1", {1, 1.05, 1.05, 1 / 1.05, 1, 1, 1, 1, 1}},
    {"sms:-2:1", {1, 1, 1, 1, 130 / 132.0, 1, 130 / 132.0, 1, 1}},
    {"latency:5:1", {1, 1.05, 1.05, 1, 1, 1, 1, 1, 1}},
    {"clock:-5:1", {1, 0.975, 1, 0.95, 0.95, 1 / 0.95, 1, 1, 1}},
    {"link:half:1", {1, 1, 1, 1, 1, 1, 1, 0.5, 1}},
    {"ecc:3:1", {1, 1, 1, 1, 1, 1, 1, 1, 3}},
};

static void test_faults(void **unused)
{
    (void)unused;
    struct fth_fleet *healthy = generate(&OPTIONS(.gpus = 30, .seed = 5), NULL);
    for (size_t e = 0; e < FTH_COUNT(effects); e++) {
        char *truth = NULL;
        size_t faulty = 0;
        struct fth_fleet *fleet = generate(
            &OPTIONS(.gpus = 30, .seed = 5, .faults = &effects[e].fault, .fault_count = 1), &truth);
        const char *line = strchr(truth, '\n') + 1;
        for (size_t i = 0; i < 30; i++) {
            const bool is_faulty = strncmp(fleet->gpus[i].uuid, line, 40) == 0;
            faulty += is_faulty;
            for (size_t k = 0; k < FIGURES; k++) {
                const double before = value_at(healthy, i, k), after = value_at(fleet, i, k);
                /* On GPUs with an odd index, the far partition is slower. */
                const bool near = i % 2 == 0 || k != LATENCY || !strstr(line, "l2-partition");
                const double factor = is_faulty && near ? effects[e].factors[k] : 1;
                const double expected = k == ECC && factor > 1 ? factor : before * factor;
                /* Beside rounding to tenths, the share of the L2 in the latency of memory is half
                 * only on average. */
                if (fabs(after - expected) > (factor == 1 ? 0 : 0.004 * expected))
                    fail_msg("%s: %s is %g, expected %g", effects[e].fault, names[k], after,
                             expected);
            }
        }
        assert_int_equal(faulty, 1);
        assert_non_null(strstr(line, effects[e].fault));
        fth_free(truth);
        fth_fleet_destroy(fleet);
    }
    fth_fleet_destroy(healthy);
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static void test_fault_counts(void **unused)
{
    (void)unused;
    const char *const faults[] = {"memory-bandwidth:-20:5:20%", "no-gpu:2", "link:0.25:10%"};
    char *truth = NULL;
    size_t slow = 0, simulated = 0, narrow = 0;
    struct fth_fleet *fleet = generate(
        &OPTIONS(.gpus = 1000, .measurements = 5, .faults = faults, .fault_count = 3), &truth);
    for (size_t i = 0; i < fleet->measurement_count; i++) {
        slow += value_at(fleet, i, READ) < 4e12;
        narrow += value_at(fleet, i, LANES) == 4;
    }
    for (size_t i = 0; i < fleet->gpu_count; i++)
        simulated += fleet->gpus[i].simulated;
    assert_int_equal(slow, 5);
    assert_int_equal(simulated, 2);
    assert_int_equal(narrow % 5, 0);
    assert_true(narrow / 5 > 70 && narrow / 5 < 130);
    assert_int_equal(count_lines(truth), 1 + 5 + 2 + narrow / 5);
    assert_non_null(strstr(truth, ",memory-bandwidth:-20:5:20%,1,5\n"));
    assert_non_null(strstr(truth, ",no-gpu:2,5,5\n"));
    fth_free(truth);
    fth_fleet_destroy(fleet);
}

static void expect_refused(struct fth_fleet *base, struct fth_fleet_generate_options options,
                           const char *text)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_fleet *fleet = NULL;
    char *truth = NULL;
    assert_int_equal(fth_fleet_generate(base, &options, &fleet, &truth, &error), FTH_INVALID);
    assert_null(fleet);
    assert_null(truth);
    if (!strstr(error.cause, text))
        fail_msg("'%s' is not in '%s'", text, error.cause);
}

static void test_refused(void **unused)
{
    (void)unused;
    static const char *const wrong[][2] = {
        {"memory:-5", "kinds of faults"},
        {"memory-bandwidth", "percent"},
        {"memory-bandwidth:-100", "percent"},
        {"memory-bandwidth:x", "percent"},
        {"memory-bandwidth:-5:0", "number of GPUs"},
        {"memory-bandwidth:-5:1.5", "number of GPUs"},
        {"memory-bandwidth:-5:101%", "number of GPUs"},
        {"memory-bandwidth:-5:1:1", "share"},
        {"memory-bandwidth:-5:1:101%", "share"},
        {"memory-bandwidth:-5:1:1%:1", "share"},
        {"link:2", "half"},
        {"ecc:0", "number of errors"},
        {"memory-bandwidth:-5:11", "only 10 healthy"},
    };
    struct fth_fleet *base = make_base(CARDS, RUNS, "NVIDIA H200");
    for (size_t i = 0; i < FTH_COUNT(wrong); i++)
        expect_refused(base, OPTIONS(.gpus = 10, .faults = &wrong[i][0], .fault_count = 1),
                       wrong[i][1]);
    expect_refused(base, OPTIONS(.gpus = 0), "1 to 1000000 GPUs");
    expect_refused(base, OPTIONS(.gpus = 1000001), "1 to 1000000 GPUs");
    expect_refused(base, OPTIONS(.gpus = 1, .measurements = 10001), "at most");
    expect_refused(base, OPTIONS(.gpus = 1, .spread = -1), "factor");
    fth_fleet_destroy(base);
    base = make_base(1, RUNS, "NVIDIA H200");
    expect_refused(base, OPTIONS(.gpus = 1), "it has 1");
    fth_fleet_destroy(base);
    base = make_base(CARDS, 1, "NVIDIA H200");
    expect_refused(base, OPTIONS(.gpus = 1), "it has 0");
    fth_fleet_destroy(base);
    base = make_base(CARDS, RUNS, "NVIDIA H100");
    expect_refused(base, OPTIONS(.gpus = 1), "of one model");
    fth_fleet_destroy(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread_and_noise), cmocka_unit_test(test_spread_options),
        cmocka_unit_test(test_seeds_and_places), cmocka_unit_test(test_faults),
        cmocka_unit_test(test_fault_counts),     cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
