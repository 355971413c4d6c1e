/* Closure test of the benches that describe a GPU: measures small simulated GPUs with random banks,
 * copy engines, memory refreshes and host links, and compares each figure with the description that
 * the GPU was made from. A figure must be right or unknown, and must have a confidence or an
 * interval.
 *
 *   test_bench_closure [noisy] [FIRST LAST]      the range of seeds; 1 to 12 by default
 *
 * The output has a line for each figure that is not right, and a table of the results by figure. */
#include "check.h"
#include "closure/discovered.h"
#include "described_device.h"
#include "fathom/benches.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- random descriptions ---- */

static uint64_t between(struct fth_rng *rng, uint64_t low, uint64_t high)
{
    return low + fth_rng_below(rng, high - low + 1);
}

static void add_number(struct fth_buffer *text, const char *name, uint64_t value)
{
    fth_buffer_format(text, ", \"%s\": %llu", name, (unsigned long long)value);
}

/* Returns a bandwidth in bytes per second. */
static uint64_t random_rate(struct fth_rng *rng)
{
    return between(rng, 8, 60) * 1000000000;
}

static struct fth_buffer random_description(uint64_t seed, bool noisy)
{
    struct fth_rng rng;
    struct fth_buffer text = {0};
    fth_rng_init(&rng, seed);
    fth_buffer_text(&text, "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Random\", "
                           "\"compute_capability\": \"9.0\", \"managed_memory\": \"yes\"");
    add_number(&text, "sms", between(&rng, 2, 8));
    add_number(&text, "clock_mhz", between(&rng, 900, 2000));
    add_number(&text, "link_to_device_bytes_per_s", random_rate(&rng));
    add_number(&text, "link_load_latency_ns", between(&rng, 500, 1500));
    add_number(&text, "link_load_bytes_per_s", random_rate(&rng));
    add_number(&text, "link_store_bytes_per_s", random_rate(&rng));
    add_number(&text, "managed_fault_ns", between(&rng, 10000, 60000));
    add_number(&text, "managed_page_bytes", UINT64_C(4096) << fth_rng_below(&rng, 6));
    fth_buffer_format(&text, "}, \"noise\": {\"seed\": %llu%s}, \"elements\": {",
                      (unsigned long long)seed, noisy ? ", \"jitter_cycles\": 2" : "");
    fth_buffer_text(&text, "\"l1\": {\"size_bytes\": 32768, \"line_bytes\": 128, \"sector_bytes\": "
                           "32, \"latency_cycles\": 32}, \"shared\": {\"size_bytes\": 65536, "
                           "\"max_block_bytes\": 65536");
    const bool wide = fth_rng_below(&rng, 4) == 0; /* as on Kepler */
    add_number(&text, "latency_cycles", between(&rng, 18, 60));
    add_number(&text, "banks", wide ? 32 : UINT64_C(16) << fth_rng_below(&rng, 2));
    add_number(&text, "bank_bytes", wide ? 8 : 4);
    add_number(&text, "conflict_cycles", between(&rng, 1, 6));
    const uint64_t l2 = between(&rng, 180, 300);
    fth_buffer_text(&text, "}, \"tma\": {\"scope\": \"sm\"");
    add_number(&text, "latency_cycles", l2 + between(&rng, 100, 400));
    add_number(&text, "store_latency_cycles", between(&rng, 300, 700));
    add_number(&text, "bytes_per_cycle", between(&rng, 16, 64));
    add_number(&text, "store_bytes_per_cycle", between(&rng, 16, 64));
    add_number(&text, "copy_cycles", between(&rng, 5, 60));
    fth_buffer_text(&text, "}, \"l2\": {\"size_bytes\": 1048576, \"line_bytes\": 128, "
                           "\"sector_bytes\": 32, \"ways\": 16, \"sets\": 512");
    add_number(&text, "latency_cycles", l2);
    fth_buffer_text(&text, "}, \"memory\": {\"size_bytes\": 2147483648");
    add_number(&text, "latency_cycles", l2 + between(&rng, 200, 500));
    add_number(&text, "refresh_period_ns", between(&rng, 3000, 9000));
    add_number(&text, "refresh_cycles", between(&rng, 200, 600));
    fth_buffer_text(&text, "}}}");
    return text;
}

/* ---- comparison ---- */

enum result { RIGHT, UNKNOWN, DOUBTED, WRONG, RESULTS };

/* A figure is right if it is between `low` and `high` times the true one, or if it differs by at
 * most 1 cycle or nanosecond and the factors are not both 1. */
static struct row {
    const char *element, *attribute;
    double low, high;
    unsigned results[RESULTS];
} rows[] = {
    {"shared", "banks", 1, 1, {0}},
    {"shared", "bank_bytes", 1, 1, {0}},
    {"shared", "conflict_cycles", 0.97, 1.03, {0}},
    {"shared", "latency_cycles", 0.99, 1.01, {0}},
    {"tma", "latency_cycles", 0.99, 1.01, {0}},
    {"tma", "store_latency_cycles", 0.99, 1.01, {0}},
    /* The highest rate of the numbers of copies that are tried, of which there are few on a
     * simulated GPU: a lower bound. */
    {"tma", "bytes_per_cycle", 0.75, 1.01, {0}},
    {"tma", "store_bytes_per_cycle", 0.75, 1.01, {0}},
    {"tma", "copy_cycles", 0.97, 1.03, {0}},
    {"memory", "refresh_period_ns", 0.99, 1.01, {0}},
    /* A lower bound (src/probe/rate/memory_refresh.c). */
    {"memory", "refresh_cycles", 0.5, 1.01, {0}},
    {"device", "link_load_latency_ns", 0.99, 1.01, {0}},
    {"device", "link_load_bytes_per_s", 0.95, 1.01, {0}}, /* of min_link_rate() */
    {"device", "link_store_bytes_per_s", 0.95, 1.01, {0}},
    {"device", "managed_page_bytes", 1, 1, {0}},
    {"device", "managed_fault_ns", 1, 1, {0}},
};

/* A fault also moves up to 2 MiB over the link. */
static double max_fault_ns(const struct fth_gpu *truth, double fault_ns)
{
    const double rate = fth_gpu_number(truth, "device", "link_to_device_bytes_per_s", 1);
    const double load_ns = fth_gpu_number(truth, "device", "link_load_latency_ns", 0);
    return fault_ns + (2 << 20) / rate * 1e9 + load_ns;
}

/* Bytes that are moved over the link on a simulated GPU (src/bench/bench_zero_copy.c). They are so
 * few that the latencies of the first and of the last ones count. */
static const double link_bytes = 262144;

/* Returns the lowest bandwidth of the link that can be measured. */
static double min_link_rate(const struct fth_gpu *truth, double rate)
{
    const double latency_ns = fth_gpu_number(truth, "device", "link_load_latency_ns", 0);
    return link_bytes / (link_bytes / rate + 2 * latency_ns / 1e9);
}

static bool is_right(const struct row *row, const struct fth_gpu *truth, double found)
{
    const double want = fth_gpu_number(truth, row->element, row->attribute, NAN);
    if (strcmp(row->attribute, "managed_fault_ns") == 0)
        return found >= want && found <= max_fault_ns(truth, want);
    if (strncmp(row->attribute, "link_load_bytes", 15) == 0 ||
        strncmp(row->attribute, "link_store_bytes", 16) == 0)
        return found >= row->low * min_link_rate(truth, want) && found <= row->high * want;
    return (found >= row->low * want && found <= row->high * want) ||
           (row->low < 1 && fabs(found - want) <= 1);
}

static void compare(uint64_t seed, const struct fth_gpu *truth, const struct fth_gpu *found)
{
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct row *const row = &rows[i];
        const struct fth_attribute *have = fth_gpu_attribute(found, row->element, row->attribute);
        const char *reason = fth_gpu_unknown(found, row->element, row->attribute);
        const enum result result = !have                                ? (reason ? UNKNOWN : WRONG)
                                   : is_right(row, truth, have->number) ? RIGHT
                                   : have->confidence < 0.95            ? DOUBTED
                                                                        : WRONG;
        row->results[result]++;
        if (result != RIGHT)
            print_message("# seed %llu: %s.%s is %g, found %g, confidence %g: %s\n",
                          (unsigned long long)seed, row->element, row->attribute,
                          fth_gpu_number(truth, row->element, row->attribute, NAN),
                          have ? have->number : NAN, have ? have->confidence : NAN,
                          reason ? reason : "");
    }
}

/* ---- the test ---- */

static uint64_t first_seed = 1, last_seed = 12;
static bool noise;
static size_t bare_figures;

static void measure(uint64_t seed)
{
    static const char *const names[] = {"banks", "copies", "memory", "link"};
    struct fth_buffer text = random_description(seed, noise);
    struct fth_gpu *truth = NULL;
    struct fth_bench *bench = NULL;
    struct fth_error error = NO_ERROR;
    const struct fth_bench_options options =
        FTH_BENCH_OPTIONS(.names = names, .count = FTH_COUNT(names));
    if (fth_gpu_read_text("random", text.data, text.size, NULL, &truth, &error) != FTH_OK)
        fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, error.cause, text.data);
    struct fth_device *device = open_described(truth);
    if (fth_bench_create(device, &options, &bench, &error) != FTH_OK)
        fail_msg("seed %llu: %s: %s", (unsigned long long)seed, error.argument, error.cause);
    compare(seed, truth, fth_bench_gpu(bench));
    bare_figures += count_bare_figures(fth_bench_gpu(bench));
    fth_bench_destroy(bench);
    fth_gpu_destroy(truth);
    fth_device_close(device);
    fth_buffer_fini(&text);
}

static void benches_describe_random_gpus_correctly(void **state)
{
    (void)state;
    unsigned all[RESULTS] = {0};
    for (uint64_t seed = first_seed; seed <= last_seed; seed++)
        measure(seed);
    print_message("# %-43s right unknown doubted wrong\n", "figure");
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const unsigned *results = rows[i].results;
        print_message("# %-16s%-26s %6u %7u %7u %5u\n", rows[i].element, rows[i].attribute,
                      results[RIGHT], results[UNKNOWN], results[DOUBTED], results[WRONG]);
        for (size_t k = 0; k < RESULTS; k++)
            all[k] += results[k];
    }
    print_message("# %u right, %u unknown, %u doubted, %u wrong\n", all[RIGHT], all[UNKNOWN],
                  all[DOUBTED], all[WRONG]);
    assert_int_equal(all[WRONG], 0);
    assert_int_equal(bare_figures, 0);
    /* Most refreshes are found, and everything else. */
    assert_true(10 * all[RIGHT] >= 9 * (all[RIGHT] + all[UNKNOWN] + all[DOUBTED]));
}

int main(int count, char *words[])
{
    noise = count > 1 && strcmp(words[1], "noisy") == 0;
    if (count > 2 + noise) {
        first_seed = strtoull(words[1 + noise], NULL, 10);
        last_seed = strtoull(words[2 + noise], NULL, 10);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(benches_describe_random_gpus_correctly)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
