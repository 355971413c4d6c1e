/* Random GPU descriptions for the closure tests; see random_gpu.h. */
#include "closure/random_gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The limit of simulated GPUs (device/sim/sim_limits.c). */
#define MAX_SIMULATED_L2_BYTES 536870912.0

static void fail(const char *what)
{
    fprintf(stderr, "random_gpu: %s\n", what);
    exit(1);
}

/* Returns the section of that name, which is added if necessary. */
static struct fth_gpu_section *get_section(struct fth_gpu *gpu, const char *name)
{
    if (!fth_gpu_section(gpu, name) && fth_gpu_add_element(gpu, name, NULL) != FTH_OK)
        fail(name);
    return fth_gpu_section(gpu, name);
}

static void set_attribute(struct fth_gpu *gpu, const char *name, struct fth_attribute attribute)
{
    struct fth_error error = FTH_NO_ERROR;
    if (fth_gpu_set(gpu, get_section(gpu, name), &attribute, &error) != FTH_OK)
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

static uint64_t one_of(struct fth_rng *rng, const uint64_t *values, size_t count)
{
    return values[fth_rng_below(rng, count)];
}

/* Returns a number of cycles between `low` and `high`, sometimes with one decimal place (which can
 * exceed `high`). */
static double random_cycles(struct fth_rng *rng, uint64_t low, uint64_t high)
{
    return (double)between(rng, low, high) +
           (fth_rng_below(rng, 2) ? (double)fth_rng_below(rng, 10) / 10 : 0);
}

/* Returns true with probability 1 / of. */
static bool one_in(struct fth_rng *rng, uint64_t of)
{
    return fth_rng_below(rng, of) == 0;
}

static void set_texts(struct fth_gpu *gpu, const char *name, const char *attribute,
                      const char *const *values, size_t count)
{
    struct fth_attribute made = fth_attribute_make(attribute, FTH_TEXTS);
    made.texts = values;
    made.count = count;
    set_attribute(gpu, name, made);
}

/* Returns a number between `low` and `high` whose logarithm is distributed uniformly. */
static uint64_t log_between(struct fth_rng *rng, uint64_t low, uint64_t high)
{
    const double value = (double)low * exp(fth_rng_unit(rng) * log((double)high / (double)low));
    return value < (double)high ? (uint64_t)value : high;
}

/* ---- ranges ---- */

/* The ranges of random descriptions. The first ones are those of is_realistic(), and descriptions
 * of the two kinds are equally frequent. Latencies are in cycles. */
static const struct ranges {
    uint64_t max_sms;
    uint64_t max_line_bytes; /* of data caches, constant L1s and the L2 */
    uint64_t min_l2_bytes, max_l2_bytes;
    uint64_t min_l15_ratio, max_l15_ratio; /* size of the constant L1.5 relative to its L1 */
    double l2_factor;                      /* L2 latency: at least this times that of SM caches, */
    uint64_t min_l2_extra, max_l2_extra;   /* and this much longer */
    uint64_t min_memory_extra, max_memory_extra; /* memory latency beyond that of the L2 */
    uint64_t max_tlbs;
} realistic_ranges = {.max_sms = 144,
                      .max_line_bytes = 128,
                      .min_l2_bytes = 512 << 10,
                      .max_l2_bytes = 64 << 20,
                      .min_l15_ratio = 8,
                      .max_l15_ratio = 40,
                      .l2_factor = 1.4,
                      .min_l2_extra = 60,
                      .max_l2_extra = 200,
                      .min_memory_extra = 80,
                      .max_memory_extra = 400,
                      .max_tlbs = 2},
  wide_ranges = {.max_sms = 256,
                 .max_line_bytes = 256,
                 .min_l2_bytes = 64 << 10,
                 .max_l2_bytes = 256 << 20,
                 .min_l15_ratio = 2,
                 .max_l15_ratio = 64,
                 .l2_factor = 1.2,
                 .min_l2_extra = 10,
                 .max_l2_extra = 600,
                 .min_memory_extra = 40,
                 .max_memory_extra = 1200,
                 .max_tlbs = 3};

/* Returns 32, 64, … up to the longest line of the ranges. */
static uint64_t random_line(struct fth_rng *rng, const struct ranges *ranges)
{
    uint64_t lines = 1;
    while (32u << lines <= ranges->max_line_bytes)
        lines++;
    return 32u << fth_rng_below(rng, lines);
}

/* ---- structure of caches ---- */

/* Sets of different sizes with `lines` ways in total. */
static void set_unequal_sets(struct fth_rng *rng, struct fth_gpu *gpu, const char *name,
                             uint64_t lines)
{
    enum { MAX = 12 };
    double ways[MAX];
    uint64_t sets = between(rng, 2, MAX), left = lines;
    for (uint64_t i = 0; i + 1 < sets; i++) {
        uint64_t max = left - (sets - 1 - i), share = lines / sets;
        uint64_t own = between(rng, share / 2 + 1, share + share / 2);
        ways[i] = (double)(own < max ? own : max);
        left -= (uint64_t)ways[i];
    }
    ways[sets - 1] = (double)left;
    struct fth_attribute made = fth_attribute_make("set_ways", FTH_NUMBERS);
    made.numbers = ways;
    made.count = sets;
    set_attribute(gpu, name, made);
    set_number(gpu, name, "sets", (double)sets);
    set_text(gpu, name, "index", "mod");
}

/* Selects one of the first `kinds` policies. `ways` is only used with "weighted". */
static void set_policy(struct fth_rng *rng, struct fth_gpu *gpu, const char *name, uint64_t ways,
                       size_t kinds)
{
    static const char *const policies[] = {"lru", "fifo", "random", "lfu", "weighted"};
    size_t chosen = fth_rng_below(rng, kinds);
    set_text(gpu, name, "policy", policies[chosen]);
    if (chosen != 4)
        return;
    double weights[16];
    for (size_t i = 0; i < ways; i++)
        weights[i] = (double)between(rng, 1, 4);
    struct fth_attribute made = fth_attribute_make("way_weights", FTH_NUMBERS);
    made.numbers = weights;
    made.count = ways;
    set_attribute(gpu, name, made);
}

/* Returns how many of the policies of set_policy() are used for a cache with this many ways. */
static size_t policy_count(uint64_t ways)
{
    return ways <= 16 ? 5 : ways <= 64 ? 4 : 3;
}

/* Sets size, sets, ways, index function and policy of a cache with lines of `line` bytes and a size
 * of about `min` to `max` bytes. */
static void set_structure(struct fth_rng *rng, struct fth_gpu *gpu, const char *name, uint64_t line,
                          uint64_t min, uint64_t max)
{
    static const uint64_t powers[] = {1, 2, 4, 8, 16, 32, 64}, primes[] = {3, 5, 7, 13, 31};
    set_number(gpu, name, "line_bytes", (double)line);
    unsigned kind = (unsigned)fth_rng_below(rng, 6);
    if (kind == 5) {
        uint64_t lines = between(rng, min / line, max / line);
        set_number(gpu, name, "size_bytes", (double)(lines * line));
        set_unequal_sets(rng, gpu, name, lines);
        set_policy(rng, gpu, name, 0, 3);
        return;
    }
    uint64_t sets =
        kind == 3 ? one_of(rng, primes, FTH_COUNT(primes)) : one_of(rng, powers, FTH_COUNT(powers));
    unsigned shift = kind == 4 ? (unsigned)between(rng, 1, 3) : 0;
    uint64_t low = (min + sets * line - 1) / (sets * line), high = max / (sets * line);
    uint64_t ways = between(rng, low, high > low ? high : low);
    ways = ((ways - 1) / (1u << shift) + 1) << shift;
    char index[16] = "mod";
    if (kind == 2 && sets > 1)
        snprintf(index, sizeof index, "xor");
    if (kind == 3)
        snprintf(index, sizeof index, "prime");
    if (kind == 4)
        snprintf(index, sizeof index, "shift:%u", shift);
    set_number(gpu, name, "size_bytes", (double)(sets * ways * line));
    set_number(gpu, name, "sets", (double)sets);
    set_number(gpu, name, "ways", (double)ways);
    set_text(gpu, name, "index", index);
    set_policy(rng, gpu, name, ways, policy_count(ways));
}

/* Sets the structure of a cache of `kib` KiB whose sets divide 1 KiB evenly: 1 KiB more data is the
 * same number of lines in each set. fathom measures instruction caches, and caches that constants
 * share with them, in steps of 64 instructions, which are 1 KiB. */
static void set_even_structure(struct fth_rng *rng, struct fth_gpu *gpu, const char *name,
                               uint64_t kib, uint64_t min_line, uint64_t max_line)
{
    uint64_t line = min_line, sets = 1;
    while (line < max_line && fth_rng_below(rng, 2))
        line *= 2;
    while (sets * line < 1024 && fth_rng_below(rng, 2))
        sets *= 2;
    uint64_t ways = kib * 1024 / line / sets;
    set_text(gpu, name, "scope", "sm");
    set_number(gpu, name, "size_bytes", (double)kib * 1024);
    set_number(gpu, name, "line_bytes", (double)line);
    set_number(gpu, name, "sets", (double)sets);
    set_number(gpu, name, "ways", (double)ways);
}

/* ---- elements ---- */

/* Which of the L1, texture and read-only caches share storage. */
enum sharing { ALL_ONE, TEXTURE_READONLY, L1_READONLY, NONE_ONE, SHARINGS };

static void add_data_cache(struct fth_rng *rng, const struct ranges *ranges, struct fth_gpu *gpu,
                           const char *name)
{
    uint64_t line = random_line(rng, ranges);
    set_text(gpu, name, "scope", "sm");
    /* Most are small: large caches take longer and test nothing else. */
    set_structure(rng, gpu, name, line, 5 << 10, one_in(rng, 24) ? 160 << 10 : 14 << 10);
    if (line > 32 && fth_rng_below(rng, 2))
        set_number(gpu, name, "sector_bytes", 32);
    set_number(gpu, name, "per_sm", one_in(rng, 3) ? (double)(2u << fth_rng_below(rng, 2)) : 1);
}

/* Makes `name` another path to the cache `of`: copies everything but the latency. */
static void add_path(struct fth_gpu *gpu, const char *name, const char *of)
{
    static const char *const copied[] = {"scope", "size_bytes", "line_bytes", "sector_bytes",
                                         "per_sm"};
    for (size_t i = 0; i < FTH_COUNT(copied); i++) {
        const struct fth_attribute *attribute = fth_gpu_attribute(gpu, of, copied[i]);
        if (attribute)
            set_attribute(gpu, name, *attribute);
    }
}

/* Declares that the elements share storage. */
static void set_sharing(struct fth_gpu *gpu, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *others[3];
        size_t other = 0;
        for (size_t k = 0; k < count; k++)
            if (k != i)
                others[other++] = names[k];
        set_texts(gpu, names[i], "shared_with", others, other);
    }
}

/* Makes the L1 share storage with shared memory: sets its size with the largest carve-out, and the
 * total. Does nothing if the L1 has too few ways. */
static void set_carveout(struct fth_rng *rng, struct fth_gpu *gpu)
{
    const double size = fth_gpu_number(gpu, "l1", "size_bytes", 0);
    const double step =
        fth_gpu_number(gpu, "l1", "sets", 1) * fth_gpu_number(gpu, "l1", "line_bytes", 1);
    const double ways = fth_gpu_number(gpu, "l1", "ways", 0), shift = 8;
    if (!(ways > 2 * shift) || fth_gpu_attribute(gpu, "l1", "way_weights"))
        return;
    double left =
        shift * floor((double)between(rng, (uint64_t)ways / 3, (uint64_t)ways - 1) / shift);
    left = left < shift ? shift : left;
    if (left * step < 4096 || left >= ways)
        return;
    set_number(gpu, "l1", "default_size_bytes", left * step);
    set_number(gpu, "l1", "unified_bytes", size + (double)between(rng, 16, 32) * 1024);
}

/* *max_latency: the highest latency of the caches so far. */
static void add_data_caches(struct fth_rng *rng, const struct ranges *ranges, struct fth_gpu *gpu,
                            double *max_latency)
{
    static const char *const all[] = {"l1", "texture", "readonly"};
    enum sharing sharing = (enum sharing)fth_rng_below(rng, SHARINGS);
    bool l1_caches_no_global = sharing != ALL_ONE && sharing != L1_READONLY && one_in(rng, 4);
    if (l1_caches_no_global) {
        set_text(gpu, "l1", "scope", "sm");
        set_texts(gpu, "l1", "caches", (const char *const[]){"local"}, 1);
        set_number(gpu, "l1", "size_bytes", 16384);
    } else {
        add_data_cache(rng, ranges, gpu, "l1");
        if (one_in(rng, 2))
            set_carveout(rng, gpu);
    }
    if (sharing == ALL_ONE) {
        add_path(gpu, "texture", "l1");
        add_path(gpu, "readonly", "l1");
        set_sharing(gpu, all, 3);
    } else {
        add_data_cache(rng, ranges, gpu, "texture");
        if (sharing == NONE_ONE)
            add_data_cache(rng, ranges, gpu, "readonly");
        else
            add_path(gpu, "readonly", sharing == TEXTURE_READONLY ? "texture" : "l1");
        if (sharing == TEXTURE_READONLY)
            set_sharing(gpu, all + 1, 2);
        if (sharing == L1_READONLY)
            set_sharing(gpu, (const char *const[]){"l1", "readonly"}, 2);
    }
    for (size_t i = l1_caches_no_global; i < FTH_COUNT(all); i++) {
        double latency = random_cycles(rng, 20, 110);
        set_number(gpu, all[i], "latency_cycles", latency);
        *max_latency = latency > *max_latency ? latency : *max_latency;
    }
}

/* Adds up to three levels of instruction caches, the L0 first. If there is only one, it is the L1.
 * Returns the name of the outermost level, or NULL if there is none. */
static const char *add_code_caches(struct fth_rng *rng, struct fth_gpu *gpu)
{
    static const char *const names[] = {"instruction_l0", "instruction_l1", "instruction_l15"};
    size_t count = fth_rng_below(rng, 4);
    uint64_t kib = between(rng, 6, 20);
    double cycles_per_instruction = 1 + (double)fth_rng_below(rng, 10) / 10;
    for (size_t i = 0; i < count && i < FTH_COUNT(names); i++) {
        const char *name = names[count == 1 ? 1 : i];
        set_even_structure(rng, gpu, name, kib, 32, 256);
        set_number(gpu, name, "cycles_per_instruction", cycles_per_instruction);
        kib += between(rng, kib / 2 + 1, kib + kib / 2);
        cycles_per_instruction =
            round(cycles_per_instruction * (1.25 + fth_rng_unit(rng)) * 10) / 10;
    }
    return count ? names[count == 1 ? 1 : count - 1] : NULL;
}

/* Adds the constant L1.5. It may share storage with `code`, the outermost instruction cache, if
 * that has `code_bytes` of at least `min_bytes`. */
static void add_constant_l15(struct fth_rng *rng, const struct ranges *ranges, struct fth_gpu *gpu,
                             const char *code, double latency)
{
    const uint64_t line = (uint64_t)fth_gpu_number(gpu, "constant_l1", "line_bytes", 32);
    const uint64_t kib = (uint64_t)fth_gpu_number(gpu, "constant_l1", "size_bytes", 0) / 1024;
    const double bytes = code ? fth_gpu_number(gpu, code, "size_bytes", 0) : 0;
    if (bytes >= (double)(ranges->min_l15_ratio * kib * 1024) && fth_rng_below(rng, 2)) {
        set_even_structure(rng, gpu, "constant_l15", (uint64_t)bytes / 1024, line, 512);
        static const char *const shape[] = {"line_bytes", "sets", "ways"};
        for (size_t i = 0; i < FTH_COUNT(shape); i++)
            set_attribute(gpu, code, *fth_gpu_attribute(gpu, "constant_l15", shape[i]));
        set_sharing(gpu, (const char *const[]){"constant_l15", code}, 2);
    } else {
        const uint64_t ratio = log_between(rng, ranges->min_l15_ratio, ranges->max_l15_ratio);
        set_even_structure(rng, gpu, "constant_l15", kib * ratio, line, 512);
        set_policy(rng, gpu, "constant_l15", 0, 3);
    }
    set_number(gpu, "constant_l15", "latency_cycles", latency);
}

static void add_constant_caches(struct fth_rng *rng, const struct ranges *ranges,
                                struct fth_gpu *gpu, const char *code, double *max_latency)
{
    double latency = random_cycles(rng, 12, 45);
    set_even_structure(rng, gpu, "constant_l1", between(rng, 1, 4), 32, ranges->max_line_bytes);
    set_policy(rng, gpu, "constant_l1", 0, 3);
    set_number(gpu, "constant_l1", "latency_cycles", latency);
    set_number(gpu, "constant_l1", "per_sm", one_in(rng, 4) ? 2 : 1);
    if (!one_in(rng, 6)) {
        latency = round(latency) + random_cycles(rng, 25, 80);
        add_constant_l15(rng, ranges, gpu, code, latency);
    }
    *max_latency = latency > *max_latency ? latency : *max_latency;
}

static void add_shared_memory(struct fth_rng *rng, struct fth_gpu *gpu, bool clusters)
{
    set_number(gpu, "shared", "size_bytes", (double)between(rng, 24, 96) * 1024);
    set_text(gpu, "shared", "scope", "sm");
    set_number(gpu, "shared", "latency_cycles", random_cycles(rng, 18, 60));
    set_number(gpu, "shared", "banks", 32);
    set_number(gpu, "shared", "bank_bytes", 4);
    const double unified = fth_gpu_number(gpu, "l1", "unified_bytes", 0);
    if (unified > 0) {
        set_number(gpu, "shared", "unified_bytes", unified);
        set_number(gpu, "shared", "size_bytes",
                   unified - fth_gpu_number(gpu, "l1", "default_size_bytes", 0));
    }
    if (!clusters)
        return;
    double near = random_cycles(rng, 150, 220);
    set_text(gpu, "cluster_shared", "scope", "gpc");
    set_number(gpu, "cluster_shared", "latency_cycles", near);
    if (fth_rng_below(rng, 2))
        set_number(gpu, "cluster_shared", "far_latency_cycles",
                   round(near) + random_cycles(rng, 12, 60));
}

/* Returns the size of the largest data cache of an SM. */
static uint64_t max_data_bytes(const struct fth_gpu *gpu)
{
    static const char *const names[] = {"l1", "texture", "readonly"};
    double bytes = 0;
    for (size_t i = 0; i < FTH_COUNT(names); i++)
        bytes = fmax(bytes, fth_gpu_number(gpu, names[i], "size_bytes", 0));
    return (uint64_t)bytes;
}

/* Sets line, size and structure of the L2. It is at least as large as the data caches; in realistic
 * ranges, twice as large. Most are small: large ones take longer and test nothing else. */
static void set_l2_structure(struct fth_rng *rng, const struct ranges *ranges, struct fth_gpu *gpu)
{
    const uint64_t data = max_data_bytes(gpu) << (ranges == &realistic_ranges);
    const uint64_t min = ranges->min_l2_bytes > data ? ranges->min_l2_bytes : data;
    const uint64_t small = 4 * min < ranges->max_l2_bytes ? 4 * min : ranges->max_l2_bytes;
    const uint64_t bytes = log_between(rng, min, one_in(rng, 4) ? ranges->max_l2_bytes : small);
    set_structure(rng, gpu, "l2", random_line(rng, ranges), bytes, bytes + bytes / 2);
}

static void add_l2_and_memory(struct fth_rng *rng, const struct ranges *ranges, struct fth_gpu *gpu,
                              double max_latency)
{
    double latency = round(max_latency * ranges->l2_factor) +
                     random_cycles(rng, ranges->min_l2_extra, ranges->max_l2_extra);
    set_text(gpu, "l2", "scope", "gpu");
    set_l2_structure(rng, ranges, gpu);
    set_number(gpu, "l2", "latency_cycles", latency);
    double memory =
        round(latency) + random_cycles(rng, ranges->min_memory_extra, ranges->max_memory_extra);
    set_text(gpu, "memory", "scope", "gpu");
    set_number(gpu, "memory", "size_bytes", (double)between(rng, 1, 32) * 1073741824);
    set_number(gpu, "memory", "latency_cycles", memory);
    const double l2_bytes = fth_gpu_number(gpu, "l2", "size_bytes", 0);
    if (!one_in(rng, 4) || 2 * l2_bytes > MAX_SIMULATED_L2_BYTES)
        return;
    /* Sets and ways now describe one of two partitions, so the total size doubles. */
    set_number(gpu, "l2", "size_bytes", 2 * l2_bytes);
    set_number(gpu, "l2", "partitions", 2);
    set_number(gpu, "l2", "far_latency_cycles", round(latency) + random_cycles(rng, 40, 70));
    set_number(gpu, "memory", "far_latency_cycles", round(memory) + random_cycles(rng, 60, 200));
}

static void add_tlbs(struct fth_rng *rng, const struct ranges *ranges, struct fth_gpu *gpu)
{
    static const char *const names[] = {"tlb_l1", "tlb_l2", "tlb_l3"};
    size_t count = fth_rng_below(rng, ranges->max_tlbs + 1);
    uint64_t page = (uint64_t)131072 << fth_rng_below(rng, 5), entries = between(rng, 16, 48);
    for (size_t i = 0; i < count && i < FTH_COUNT(names); i++) {
        set_text(gpu, names[i], "scope", "gpu");
        set_number(gpu, names[i], "page_bytes", (double)page);
        set_number(gpu, names[i], "entries", (double)entries);
        set_number(gpu, names[i], "reach_bytes", (double)(entries * page));
        set_text(gpu, names[i], "policy", "lru");
        if (one_in(rng, 3))
            set_unequal_sets(rng, gpu, names[i], entries);
        set_number(gpu, names[i], "miss_penalty_cycles",
                   i ? random_cycles(rng, 60, 150) : random_cycles(rng, 15, 100));
        entries *= between(rng, 3, 5);
    }
}

struct fth_gpu *random_gpu(uint64_t seed)
{
    struct fth_rng rng;
    fth_rng_init(&rng, seed);
    struct fth_gpu *gpu = NULL;
    if (fth_gpu_create(&gpu, NULL) != FTH_OK)
        fail("out of memory");
    char name[32];
    const struct ranges *ranges = fth_rng_below(&rng, 2) ? &realistic_ranges : &wide_ranges;
    bool clusters = one_in(&rng, 3);
    snprintf(name, sizeof name, "Random %llu", (unsigned long long)seed);
    set_text(gpu, "device", "name", name);
    set_text(gpu, "device", "compute_capability", clusters ? "9.0" : "7.0");
    set_number(gpu, "device", "sms", (double)log_between(&rng, clusters ? 4 : 1, ranges->max_sms));
    set_number(gpu, "device", "warp_size", 32);
    set_number(gpu, "device", "clock_mhz", (double)between(&rng, 800, 2000));
    double max_latency = 0;
    add_data_caches(&rng, ranges, gpu, &max_latency);
    const char *code = add_code_caches(&rng, gpu);
    add_constant_caches(&rng, ranges, gpu, code, &max_latency);
    add_shared_memory(&rng, gpu, clusters);
    add_l2_and_memory(&rng, ranges, gpu, max_latency);
    add_tlbs(&rng, ranges, gpu);
    return gpu;
}

/* Whether the number is between the limits, or not known. */
static bool is_within(const struct fth_gpu *gpu, const char *section, const char *attribute,
                      double low, double high)
{
    const double value = fth_gpu_number(gpu, section, attribute, low);
    return value >= low && value <= high;
}

bool is_realistic(const struct fth_gpu *gpu)
{
    static const char *const lines[] = {"l1", "texture", "readonly", "constant_l1", "l2"};
    static const char *const caches[] = {"l1", "texture", "readonly", "constant_l1",
                                         "constant_l15"};
    const struct ranges *ranges = &realistic_ranges;
    const double line = (double)ranges->max_line_bytes;
    const double l2 = fth_gpu_number(gpu, "l2", "latency_cycles", 0);
    double sm = 0;
    bool realistic = true;
    for (size_t i = 0; i < FTH_COUNT(lines); i++)
        realistic = realistic && is_within(gpu, lines[i], "line_bytes", 0, line);
    for (size_t i = 0; i < FTH_COUNT(caches); i++)
        sm = fmax(sm, fth_gpu_number(gpu, caches[i], "latency_cycles", 0));
    return realistic && is_within(gpu, "device", "sms", 1, (double)ranges->max_sms) &&
           is_within(gpu, "l2", "size_bytes",
                     fmax((double)ranges->min_l2_bytes, 2 * (double)max_data_bytes(gpu)),
                     3 * (double)ranges->max_l2_bytes) &&
           is_within(gpu, "constant_l15", "size_bytes",
                     (double)ranges->min_l15_ratio *
                         fth_gpu_number(gpu, "constant_l1", "size_bytes", 0),
                     INFINITY) &&
           is_within(gpu, "l2", "latency_cycles", ranges->l2_factor * sm, INFINITY) &&
           is_within(gpu, "memory", "latency_cycles", l2 + (double)ranges->min_memory_extra,
                     l2 + (double)ranges->max_memory_extra) &&
           fth_gpu_attribute_count(gpu, "tlb_l3") == 0;
}

/* Sets the noise of the simulated GPU. To empty a large L2 takes long, so that a neighbour runs
 * less often then. */
static void set_noise(struct fth_gpu *gpu, uint64_t seed, double outlier_rate,
                      double neighbour_rate)
{
    const double l2_mib = fth_gpu_number(gpu, "l2", "size_bytes", 0) / 1048576;
    set_number(gpu, "noise", "seed", (double)seed);
    set_number(gpu, "noise", "jitter_cycles", 2);
    set_number(gpu, "noise", "outlier_rate", outlier_rate);
    set_number(gpu, "noise", "neighbour_rate", neighbour_rate / fmax(1, l2_mib));
}

void make_noisy(struct fth_gpu *gpu, uint64_t seed)
{
    static const double neighbour_rates[] = {0, 0, 1e-5, 5e-5};
    set_noise(gpu, seed, seed % 4 ? 0.01 : 0.001, neighbour_rates[seed / 4 % 4]);
}

void make_disturbed(struct fth_gpu *gpu, uint64_t seed)
{
    static const double neighbour_rates[] = {1e-5, 5e-5, 2e-4, 1e-3};
    set_noise(gpu, seed, 0.001, neighbour_rates[seed % FTH_COUNT(neighbour_rates)]);
}
