/* Tests the probe of a CPU's instruction cache (probe/hierarchy/hierarchy_code.c) with a device
 * that plays the front end of a CPU: an instruction cache, prefetchers, a cache of decoded
 * instructions, a memory for the targets of branches, a TLB, and other programs. */
#include "check.h"
#include "probe/hierarchy/probe_hierarchy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The limits of the structures; 0: there is none. */
struct front_end {
    double cache_bytes;
    double straight_rise;  /* of straight-line code beyond the cache, as a fraction */
    double branch_cycles;  /* that a branch takes longer beyond the cache */
    double decoded;        /* entries of 64 bytes of code and at most 8 instructions */
    double decoded_cycles; /* that 64 bytes of code take longer beyond them */
    double targets;        /* branches, whatever their distance */
    double target_span;    /* bytes of code with branches whose targets are known */
    double tlb_pages;
    double noise;      /* a pass takes up to this fraction longer, at random, in all repeats */
    double theft;      /* another program takes up to this part of the cache, at random */
    double pause_rate; /* passes that are interrupted */
    struct fth_rng rng;
};

/* The part of the accesses that miss in a cache whose misses begin at a size: none up to it, all of
 * them from 1.15 times the size on. */
static double missed(double used, double size)
{
    return size > 0 ? fmin(fmax((used / size - 1) / 0.15, 0), 1) : 0;
}

static double random_part(struct front_end *cpu)
{
    return fth_rng_unit(&cpu->rng);
}

/* Cycles of one pass. */
static double play(struct front_end *cpu, const struct fth_fetch *fetch)
{
    const double count = (double)fetch->instructions, stride = (double)fetch->stride_bytes;
    const double bytes = count * (stride > 0 ? stride : 4),
                 lines = stride > 64 ? count : bytes / 64;
    const double size = cpu->cache_bytes * (1 - cpu->theft * random_part(cpu));
    const double pages = stride > 4096 ? count : ceil(bytes / 4096);
    double cycles = stride > 0 ? 2 * count : count / 4;
    if (stride > 0)
        cycles += count * (missed(lines * 64, size) * cpu->branch_cycles +
                           missed(count, cpu->targets) * 5 + missed(bytes, cpu->target_span) * 5);
    else /* the edge of sequential misses is sharp */
        cycles *= bytes > size && size > 0 ? 1 + cpu->straight_rise : 1;
    cycles += lines * missed(lines * (stride > 0 ? 1 : 2), cpu->decoded) * cpu->decoded_cycles;
    cycles += (stride > 0 ? count : lines) * missed(pages, cpu->tlb_pages) * 3;
    cycles *= 1 + cpu->noise * random_part(cpu);
    if (random_part(cpu) < cpu->pause_rate)
        cycles += 100000 * random_part(cpu);
    return cycles;
}

static enum fth_status measure(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const struct fth_fetch *fetch = &requests[i].fetch;
        assert_int_equal(requests[i].family, FTH_FAMILY_FETCH);
        samples[i] = (struct fth_samples){.count = (size_t)fetch->passes, .clock_mhz = 3000};
        samples[i].cycles = calloc(samples[i].count, sizeof *samples[i].cycles);
        if (!samples[i].cycles)
            return fth_no_memory(error, "measure", NULL);
        for (size_t k = 0; k < samples[i].count; k++)
            samples[i].cycles[k] = (uint32_t)lround(play(state, fetch));
    }
    return FTH_OK;
}

static enum fth_status describe(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    (void)state, (void)gpu, (void)error;
    return FTH_OK;
}

static void close_device(void *state)
{
    (void)state;
}

/* Measures the cache. Returns its size; 0: it is unknown, and `error` has the reason. */
static uint64_t find(struct front_end cpu, uint64_t seed, struct fth_code_cache *cache,
                     struct fth_error *error)
{
    static const struct fth_device_ops ops = {
        .describe = describe, .measure = measure, .close = close_device};
    struct fth_device *device = NULL;
    fth_rng_init(&cpu.rng, seed);
    assert_int_equal(fth_device_create("played", &ops, &cpu, &device, NULL), FTH_OK);
    const struct fth_prober prober = {.device = device, .sms = 1};
    const enum fth_status status = fth_probe_code_cache(&prober, cache, error);
    fth_device_close(device);
    assert_true(status == FTH_OK || status == FTH_INCONCLUSIVE);
    return status == FTH_OK ? cache->bytes : 0;
}

#define KIB UINT64_C(1024)

#define NOTHING "do not become slower at the same length"
static const struct {
    const char *name;
    struct front_end cpu;
    uint64_t bytes;     /* 0: unknown */
    const char *reason; /* a part of the reason */
} rows[] = {
    {"16 KiB", {.cache_bytes = 16 * KIB, .straight_rise = 0.006, .branch_cycles = 2}, 16 * KIB, ""},
    {"32 KiB", {.cache_bytes = 32 * KIB, .straight_rise = 0.006, .branch_cycles = 2}, 32 * KIB, ""},
    {"48 KiB", {.cache_bytes = 48 * KIB, .straight_rise = 0.2, .branch_cycles = 1}, 48 * KIB, ""},
    {"64 KiB", {.cache_bytes = 64 * KIB, .straight_rise = 2, .branch_cycles = 10}, 64 * KIB, ""},
    {"96 KiB", {.cache_bytes = 96 * KIB, .straight_rise = 0.01, .branch_cycles = 2}, 96 * KIB, ""},
    {"192 KiB",
     {.cache_bytes = 192 * KIB, .straight_rise = 0.01, .branch_cycles = 2},
     192 * KIB,
     ""},
    {"no cache", {.noise = 0}, 0, NOTHING},
    {"a size that no cache has",
     {.cache_bytes = 40 * KIB, .straight_rise = 0.01, .branch_cycles = 2},
     0,
     NOTHING},
    {"all misses of straight-line code are hidden",
     {.cache_bytes = 32 * KIB, .branch_cycles = 2},
     0,
     NOTHING},
    {"all misses of branches are hidden",
     {.cache_bytes = 32 * KIB, .straight_rise = 0.01},
     0,
     NOTHING},
    {"decoded instructions: 48 KiB of branches, 24 KiB of straight-line code",
     {.decoded = 768, .decoded_cycles = 2},
     0,
     NOTHING},
    {"decoded instructions before the cache",
     {.cache_bytes = 32 * KIB,
      .straight_rise = 0.01,
      .branch_cycles = 2,
      .decoded = 256,
      .decoded_cycles = 0.5},
     32 * KIB,
     ""},
    {"targets of 1024 branches", {.targets = 1024}, 0, NOTHING},
    {"targets of branches in 128 KiB", {.target_span = 128 * KIB}, 0, NOTHING},
    {"targets of branches in 128 KiB, and a cache",
     {.cache_bytes = 32 * KIB,
      .straight_rise = 0.006,
      .branch_cycles = 2,
      .target_span = 128 * KIB},
     32 * KIB,
     ""},
    {"a TLB of 16 pages", {.tlb_pages = 16}, 0, "it may be the TLB"},
    {"a TLB of 48 pages, and a cache",
     {.cache_bytes = 64 * KIB, .straight_rise = 0.02, .branch_cycles = 2, .tlb_pages = 48},
     64 * KIB,
     ""},
    {"interruptions",
     {.cache_bytes = 32 * KIB, .straight_rise = 0.01, .branch_cycles = 2, .pause_rate = 0.2},
     32 * KIB,
     ""},
};

static void a_size_is_found_or_unknown(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = FTH_NO_ERROR;
        struct fth_code_cache cache;
        const uint64_t found = find(rows[i].cpu, i + 1, &cache, &error);
        if (found != rows[i].bytes || (!found && !strstr(error.cause, rows[i].reason)))
            fail_msg("%s: found %llu (%s)", rows[i].name, (unsigned long long)found,
                     found ? "" : error.cause);
        if (found) {
            assert_int_equal(cache.evidence.repeats, 4);
            assert_int_equal(cache.evidence.agree, 4);
            assert_true(cache.samples > 9000);
        }
    }
}

/* With noise, and with another program that uses a part of the cache, the size is right or unknown.
 */
static void disturbed_sizes_are_not_wrong(void **state)
{
    (void)state;
    static const double noises[] = {0.001, 0.01, 0.1, 0.5}, thefts[] = {0, 0.05, 0.3, 0.6};
    unsigned right = 0, all = 0;
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (size_t i = 0; i < FTH_COUNT(noises); i++)
            for (size_t k = 0; k < FTH_COUNT(thefts); k++) {
                const struct front_end cpu = {.cache_bytes = 32 * KIB,
                                              .straight_rise = 0.05,
                                              .branch_cycles = 3,
                                              .noise = noises[i],
                                              .theft = thefts[k]};
                struct fth_error error = FTH_NO_ERROR;
                struct fth_code_cache cache;
                const uint64_t found = find(cpu, seed, &cache, &error);
                if (found && found != 32 * KIB)
                    fail_msg("noise %g, theft %g, seed %llu: found %llu", noises[i], thefts[k],
                             (unsigned long long)seed, (unsigned long long)found);
                right += found != 0;
                all++;
            }
    print_message("# %u of %u sizes are known\n", right, all);
    assert_true(right >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_is_found_or_unknown),
        cmocka_unit_test(disturbed_sizes_are_not_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
