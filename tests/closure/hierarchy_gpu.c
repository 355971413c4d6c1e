/* Random descriptions of devices with a hierarchy of caches; see hierarchy_gpu.h. Caches are small,
 * because the probes walk chains of several times the size of the last one. The first cache of each
 * path has at least 16 KiB: the shortest chains of the probes have 8 KiB. */
#include "closure/hierarchy_gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what)
{
    fprintf(stderr, "hierarchy_gpu: %s\n", what);
    exit(1);
}

static void set_attribute(struct fth_gpu *gpu, const char *name, struct fth_attribute attribute)
{
    struct fth_error error = FTH_NO_ERROR;
    if (!fth_gpu_section(gpu, name) && fth_gpu_add_element(gpu, name, NULL) != FTH_OK)
        fail(name);
    if (fth_gpu_set(gpu, fth_gpu_section(gpu, name), &attribute, &error) != FTH_OK)
        fail(error.cause);
}

static void set_number(struct fth_gpu *gpu, const char *name, const char *attribute, double value)
{
    struct fth_attribute made = fth_attribute_make(attribute, FTH_NUMBER);
    made.number = value;
    set_attribute(gpu, name, made);
}

static void set_text(struct fth_gpu *gpu, const char *name, const char *attribute,
                     const char *value)
{
    struct fth_attribute made = fth_attribute_make(attribute, FTH_TEXT);
    made.text = value;
    set_attribute(gpu, name, made);
}

static uint64_t between(struct fth_rng *rng, uint64_t low, uint64_t high)
{
    return low + fth_rng_below(rng, high - low + 1);
}

static bool one_in(struct fth_rng *rng, uint64_t of)
{
    return fth_rng_below(rng, of) == 0;
}

/* Returns a power of two from 2^low to 2^high. */
static uint64_t power(struct fth_rng *rng, uint64_t low, uint64_t high)
{
    return UINT64_C(1) << between(rng, low, high);
}

/* ---- caches ---- */

/* The ranges of a cache. Sizes are 2^log_min to 2^log_max bytes. */
struct cache_range {
    const char *name;
    uint64_t line, log_min, log_max, log_min_ways, log_max_ways;
    double latency;
    bool any_size; /* also three quarters of a power of two */
};

/* Adds a cache. Its sets are a power of two. */
static void add_cache(struct fth_rng *rng, struct fth_gpu *gpu, const struct cache_range *range,
                      bool regular)
{
    static const char *const policies[] = {"lru", "lru", "fifo", "random"};
    uint64_t ways = power(rng, range->log_min_ways, range->log_max_ways);
    uint64_t size = power(rng, range->log_min, range->log_max);
    uint64_t sets = size / ways / range->line;
    if (range->any_size && one_in(rng, 3)) {
        ways = ways / 4 * 3;
        size = sets * ways * range->line;
    }
    set_number(gpu, range->name, "size_bytes", (double)size);
    set_number(gpu, range->name, "line_bytes", (double)range->line);
    set_number(gpu, range->name, "sets", (double)sets);
    set_number(gpu, range->name, "ways", (double)ways);
    set_number(gpu, range->name, "latency_cycles", range->latency);
    set_text(gpu, range->name, "index", regular || !one_in(rng, 4) ? "mod" : "xor");
    set_text(gpu, range->name, "policy",
             regular ? "lru" : policies[fth_rng_below(rng, FTH_COUNT(policies))]);
}

/* Makes consecutive SMs share an instance of the element. */
static void set_group(struct fth_gpu *gpu, const char *name, uint64_t sms, uint64_t shared_by)
{
    set_text(gpu, name, "scope", "group");
    const uint64_t instances = (sms + shared_by - 1) / shared_by;
    set_number(gpu, name, "instances", (double)instances);
    set_number(gpu, name, "sms_per_instance", (double)shared_by);
}

static void add_scratch(struct fth_rng *rng, struct fth_gpu *gpu, const char *name, double latency)
{
    set_text(gpu, name, "scope", "sm");
    set_number(gpu, name, "size_bytes", (double)power(rng, 14, 16));
    set_number(gpu, name, "latency_cycles", latency);
}

/* Returns a latency that is longer by `low` to `high` cycles, often with a fraction. */
static double longer(struct fth_rng *rng, double latency, uint64_t low, uint64_t high)
{
    return latency + (double)between(rng, low, high) +
           (one_in(rng, 2) ? (double)fth_rng_below(rng, 10) / 10 : 0);
}

/* ---- devices ---- */

static double add_amd(struct fth_rng *rng, struct fth_gpu *gpu, bool graphics, bool regular)
{
    const uint64_t sms = between(rng, 4, 32), line = power(rng, 6, 7);
    const uint64_t l2_line = line == 64 && one_in(rng, 2) ? 128 : line;
    double latency = longer(rng, 0, 90, 130);
    set_text(gpu, "device", "vendor", "AMD");
    set_text(gpu, "device", "kind", "gpu");
    set_number(gpu, "device", "sms", (double)sms);
    set_number(gpu, "device", "warp_size", graphics ? 32 : 64);
    add_cache(rng, gpu, &(struct cache_range){"vector_l1", line, 14, 14, 2, 6, latency, false},
              regular);
    set_text(gpu, "vector_l1", "scope", "sm");
    add_cache(rng, gpu,
              &(struct cache_range){"scalar_l1", 64, 14, 14, 2, 3, longer(rng, 0, 40, 70), false},
              true);
    set_group(gpu, "scalar_l1", sms, between(rng, 1, 3));
    add_scratch(rng, gpu, "lds", longer(rng, 0, 40, 80));
    if (graphics) {
        latency = longer(rng, latency, 50, 90);
        add_cache(rng, gpu, &(struct cache_range){"l1", line, 16, 16, 3, 4, latency, false},
                  regular);
        set_group(gpu, "l1", sms, between(rng, 2, 4));
    }
    latency = longer(rng, latency, 90, 200);
    add_cache(rng, gpu,
              &(struct cache_range){"l2", l2_line, graphics ? 18 : 16, graphics ? 18 : 17, 3, 4,
                                    latency, false},
              regular);
    if (!graphics && one_in(rng, 2))
        set_group(gpu, "l2", sms, between(rng, 2, sms));
    else
        set_text(gpu, "l2", "scope", "gpu");
    if (graphics || one_in(rng, 2)) {
        latency = longer(rng, latency, 150, 300);
        add_cache(rng, gpu,
                  &(struct cache_range){"l3", l2_line, graphics ? 20 : 19, graphics ? 20 : 19, 4, 4,
                                        latency, false},
                  regular);
        set_text(gpu, "l3", "scope", "gpu");
    }
    return longer(rng, latency, 200, 500);
}

/* Adds an instruction cache to an AMD GPU, which up to four compute units share. The caches whose
 * size the code shows at once have LRU. It has random numbers of its own. */
static void add_code(struct fth_gpu *gpu, uint64_t seed, bool regular)
{
    static const uint64_t sizes[] = {16384, 32768, 49152, 65536};
    struct fth_rng rng;
    fth_rng_init(&rng, ~seed);
    const uint64_t size = sizes[fth_rng_below(&rng, FTH_COUNT(sizes))], line = power(&rng, 6, 7);
    const uint64_t ways = size / 4096 % 3 ? 4 : 6, sets = size / line / ways;
    set_number(gpu, "instruction_l1", "size_bytes", (double)size);
    set_number(gpu, "instruction_l1", "line_bytes", (double)line);
    set_number(gpu, "instruction_l1", "sets", (double)sets);
    set_number(gpu, "instruction_l1", "ways", (double)ways);
    set_text(gpu, "instruction_l1", "policy", regular || one_in(&rng, 2) ? "lru" : "random");
    set_number(gpu, "instruction_l1", "cycles_per_instruction", (double)between(&rng, 1, 4));
    set_group(gpu, "instruction_l1", (uint64_t)fth_gpu_number(gpu, "device", "sms", 1),
              between(&rng, 1, 4));
}

static double add_other(struct fth_rng *rng, struct fth_gpu *gpu, bool regular)
{
    const uint64_t sms = between(rng, 2, 32);
    double latency = longer(rng, 0, 30, 80);
    set_text(gpu, "device", "vendor", "Intel");
    set_text(gpu, "device", "kind", "gpu");
    set_number(gpu, "device", "sms", (double)sms);
    set_number(gpu, "device", "warp_size", 16);
    add_cache(rng, gpu, &(struct cache_range){"l1", 64, 14, 15, 2, 4, latency, true}, regular);
    set_text(gpu, "l1", "scope", "sm");
    add_cache(rng, gpu,
              &(struct cache_range){"constant_l1", 64, 14, 14, 2, 3, longer(rng, 0, 20, 50), false},
              true);
    set_text(gpu, "constant_l1", "scope", "sm");
    add_scratch(rng, gpu, "shared", longer(rng, 0, 30, 60));
    latency = longer(rng, latency, 60, 250);
    add_cache(rng, gpu, &(struct cache_range){"l2", power(rng, 6, 7), 17, 18, 3, 4, latency, true},
              regular);
    set_text(gpu, "l2", "scope", "gpu");
    return longer(rng, latency, 200, 500);
}

static double add_cpu(struct fth_rng *rng, struct fth_gpu *gpu, bool regular)
{
    const uint64_t sms = between(rng, 1, 16), line = one_in(rng, 6) ? 128 : 64;
    double latency = longer(rng, 0, 4, 5);
    set_text(gpu, "device", "vendor", one_in(rng, 2) ? "Intel" : "ARM");
    set_text(gpu, "device", "kind", "cpu");
    set_number(gpu, "device", "sms", (double)sms);
    if (one_in(rng, 3))
        set_number(gpu, "device", "clock_resolution_cycles", (double)between(rng, 2, 40));
    add_cache(rng, gpu, &(struct cache_range){"l1", line, 14, 15, 2, 4, latency, true}, regular);
    set_text(gpu, "l1", "scope", "sm");
    latency = longer(rng, latency, 7, 12);
    add_cache(rng, gpu, &(struct cache_range){"l2", line, 17, 17, 3, 4, latency, false}, regular);
    set_text(gpu, "l2", "scope", "sm");
    if (!one_in(rng, 4)) {
        latency = longer(rng, latency, 25, 60);
        add_cache(rng, gpu, &(struct cache_range){"l3", line, 19, 19, 4, 4, latency, false},
                  regular);
        set_text(gpu, "l3", "scope", "gpu");
    }
    return longer(rng, latency, 100, 300);
}

/* Returns the size of memory: at least 8 MiB, and 32 times the last cache. The probes walk chains
 * of up to an eighth of the memory, which is enough to find the latency of memory. */
static double memory_bytes(const struct fth_gpu *gpu)
{
    const double l2 = fth_gpu_number(gpu, "l2", "size_bytes", 0);
    return fmax(32 * fth_gpu_number(gpu, "l3", "size_bytes", l2), 8 << 20);
}

struct fth_gpu *hierarchy_gpu(uint64_t seed)
{
    struct fth_rng rng;
    struct fth_gpu *gpu = NULL;
    char name[32];
    fth_rng_init(&rng, seed);
    if (fth_gpu_create(&gpu, NULL) != FTH_OK)
        fail("out of memory");
    const enum hierarchy_kind kind = (enum hierarchy_kind)(seed % HIERARCHY_KINDS);
    const bool regular = !one_in(&rng, 4);
    snprintf(name, sizeof name, "Random %llu", (unsigned long long)seed);
    set_text(gpu, "device", "name", name);
    set_number(gpu, "device", "clock_mhz", (double)between(&rng, 1000, 3000));
    const double memory = kind == CPU         ? add_cpu(&rng, gpu, regular)
                          : kind == OTHER_GPU ? add_other(&rng, gpu, regular)
                                              : add_amd(&rng, gpu, kind == AMD_GRAPHICS, regular);
    if (kind != CPU && kind != OTHER_GPU)
        add_code(gpu, seed, regular);
    set_text(gpu, "memory", "scope", "gpu");
    set_number(gpu, "memory", "size_bytes", memory_bytes(gpu));
    set_number(gpu, "memory", "latency_cycles", memory);
    return gpu;
}

bool hierarchy_is_regular(const struct fth_gpu *gpu)
{
    static const char *const caches[] = {"vector_l1", "l1", "l2", "l3"};
    bool regular = fth_gpu_number(gpu, "device", "clock_resolution_cycles", 1) <= 1;
    for (size_t i = 0; i < FTH_COUNT(caches); i++) {
        const char *policy = fth_gpu_text(gpu, caches[i], "policy");
        const char *index = fth_gpu_text(gpu, caches[i], "index");
        regular = regular && (!policy || strcmp(policy, "lru") == 0) &&
                  (!index || strcmp(index, "mod") == 0);
    }
    return regular;
}

void make_hierarchy_noisy(struct fth_gpu *gpu, uint64_t seed)
{
    set_number(gpu, "noise", "seed", (double)seed);
    set_number(gpu, "noise", "jitter_cycles", 1);
    set_number(gpu, "noise", "outlier_rate", 0.001);
}
