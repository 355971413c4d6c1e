#include "closure/random_gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void fail(const char *what)
{
    fprintf(stderr, "random_gpu: %s\n", what);
    exit(1);
}

static struct fth_gpu_section *section(struct fth_gpu *gpu, const char *name)
{
    if (!fth_gpu_section(gpu, name) && fth_gpu_add_element(gpu, name, NULL) != FTH_OK)
        fail(name);
    return fth_gpu_section(gpu, name);
}

static void set(struct fth_gpu *gpu, const char *name, struct fth_attribute attribute)
{
    struct fth_error error = FTH_NO_ERROR;
    if (fth_gpu_set(gpu, section(gpu, name), &attribute, &error) != FTH_OK)
        fail(error.cause);
}

static void number(struct fth_gpu *gpu, const char *name, const char *attribute, double value)
{
    struct fth_attribute made = fth_attribute_make(attribute, FTH_NUMBER);
    made.number = value;
    set(gpu, name, made);
}

static void text(struct fth_gpu *gpu, const char *name, const char *attribute, const char *value)
{
    struct fth_attribute made = fth_attribute_make(attribute, FTH_TEXT);
    made.text = value;
    set(gpu, name, made);
}

static uint64_t between(struct fth_rng *rng, uint64_t low, uint64_t high)
{
    return low + fth_rng_below(rng, high - low + 1);
}

static uint64_t one_of(struct fth_rng *rng, const uint64_t *values, size_t count)
{
    return values[fth_rng_below(rng, count)];
}

/* Whole cycles, or with a tenth. */
static double cycles(struct fth_rng *rng, uint64_t low, uint64_t high)
{
    return (double)between(rng, low, high) +
           (fth_rng_below(rng, 2) ? (double)fth_rng_below(rng, 10) / 10 : 0);
}

/* One in so many. */
static bool rarely(struct fth_rng *rng, uint64_t of)
{
    return fth_rng_below(rng, of) == 0;
}

static void texts(struct fth_gpu *gpu, const char *name, const char *attribute,
                  const char *const *values, size_t count)
{
    struct fth_attribute made = fth_attribute_make(attribute, FTH_TEXTS);
    made.texts = values;
    made.count = count;
    set(gpu, name, made);
}

/* ---- arrays ---- */

/* A few sets have a way more or less than the others: their sum is `lines`. */
static void unequal(struct fth_rng *rng, struct fth_gpu *gpu, const char *name, uint64_t lines)
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
    set(gpu, name, made);
    number(gpu, name, "sets", (double)sets);
    text(gpu, name, "index", "mod");
}

/* Of a set of so many ways; 3: all but the last two, which have a limit in src/cache. */
static void policy(struct fth_rng *rng, struct fth_gpu *gpu, const char *name, uint64_t ways,
                   size_t kinds)
{
    static const char *const policies[] = {"lru", "fifo", "random", "lfu", "weighted"};
    size_t chosen = fth_rng_below(rng, kinds);
    text(gpu, name, "policy", policies[chosen]);
    if (chosen != 4)
        return;
    double weights[16];
    for (size_t i = 0; i < ways; i++)
        weights[i] = (double)between(rng, 1, 4);
    struct fth_attribute made = fth_attribute_make("way_weights", FTH_NUMBERS);
    made.numbers = weights;
    made.count = ways;
    set(gpu, name, made);
}

static size_t kinds_of(uint64_t ways)
{
    return ways <= 16 ? 5 : ways <= 64 ? 4 : 3;
}

/* Sets, ways, index and policy for a cache of lines of `line` bytes, between the sizes. */
static void structure(struct fth_rng *rng, struct fth_gpu *gpu, const char *name, uint64_t line,
                      uint64_t min, uint64_t max)
{
    static const uint64_t powers[] = {1, 2, 4, 8, 16, 32, 64}, primes[] = {3, 5, 7, 13, 31};
    number(gpu, name, "line_bytes", (double)line);
    unsigned kind = (unsigned)fth_rng_below(rng, 6);
    if (kind == 5) {
        uint64_t lines = between(rng, min / line, max / line);
        number(gpu, name, "size_bytes", (double)(lines * line));
        unequal(rng, gpu, name, lines);
        policy(rng, gpu, name, 0, 3);
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
    number(gpu, name, "size_bytes", (double)(sets * ways * line));
    number(gpu, name, "sets", (double)sets);
    number(gpu, name, "ways", (double)ways);
    text(gpu, name, "index", index);
    policy(rng, gpu, name, ways, kinds_of(ways));
}

/* Of that size, in KiB: sets such that 1 KiB more is as much in all of them, as code and constants
 * are told in such steps where both lie in one cache. */
static void even(struct fth_rng *rng, struct fth_gpu *gpu, const char *name, uint64_t kib,
                 uint64_t min_line, uint64_t max_line)
{
    uint64_t line = min_line, sets = 1;
    while (line < max_line && fth_rng_below(rng, 2))
        line *= 2;
    while (sets * line < 1024 && fth_rng_below(rng, 2))
        sets *= 2;
    uint64_t ways = kib * 1024 / line / sets;
    text(gpu, name, "scope", "sm");
    number(gpu, name, "size_bytes", (double)kib * 1024);
    number(gpu, name, "line_bytes", (double)line);
    number(gpu, name, "sets", (double)sets);
    number(gpu, name, "ways", (double)ways);
}

/* ---- elements ---- */

/* L1, texture and read-only: which of them are one. */
enum sharing { ALL_ONE, TEXTURE_READONLY, L1_READONLY, NONE_ONE, SHARINGS };

static void data_cache(struct fth_rng *rng, struct fth_gpu *gpu, const char *name)
{
    static const uint64_t lines[] = {32, 64, 128};
    uint64_t line = one_of(rng, lines, FTH_COUNT(lines));
    text(gpu, name, "scope", "sm");
    /* Large ones cost a test time, and are no different. */
    structure(rng, gpu, name, line, 5 << 10, rarely(rng, 24) ? 160 << 10 : 14 << 10);
    if (line > 32 && fth_rng_below(rng, 2))
        number(gpu, name, "sector_bytes", 32);
    number(gpu, name, "per_sm", rarely(rng, 3) ? (double)(2u << fth_rng_below(rng, 2)) : 1);
}

/* Everything but the latency: the same silicon under another name. */
static void alias(struct fth_gpu *gpu, const char *name, const char *of)
{
    static const char *const copied[] = {"scope", "size_bytes", "line_bytes", "sector_bytes",
                                         "per_sm"};
    for (size_t i = 0; i < FTH_COUNT(copied); i++) {
        const struct fth_attribute *attribute = fth_gpu_attribute(gpu, of, copied[i]);
        if (attribute)
            set(gpu, name, *attribute);
    }
}

static void share(struct fth_gpu *gpu, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *others[3];
        size_t other = 0;
        for (size_t k = 0; k < count; k++)
            if (k != i)
                others[other++] = names[k];
        texts(gpu, names[i], "shared_with", others, other);
    }
}

/* Part of L1 is shared memory's: what is left of it under the largest carve-out. */
static void unify(struct fth_rng *rng, struct fth_gpu *gpu)
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
    number(gpu, "l1", "default_size_bytes", left * step);
    number(gpu, "l1", "unified_bytes", size + (double)between(rng, 16, 32) * 1024);
}

static void data_caches(struct fth_rng *rng, struct fth_gpu *gpu, double *slowest)
{
    static const char *const all[] = {"l1", "texture", "readonly"};
    enum sharing sharing = (enum sharing)fth_rng_below(rng, SHARINGS);
    bool no_global = sharing != ALL_ONE && sharing != L1_READONLY && rarely(rng, 4);
    if (no_global) {
        text(gpu, "l1", "scope", "sm");
        texts(gpu, "l1", "caches", (const char *const[]){"local"}, 1);
        number(gpu, "l1", "size_bytes", 16384);
    } else {
        data_cache(rng, gpu, "l1");
        if (rarely(rng, 2))
            unify(rng, gpu);
    }
    if (sharing == ALL_ONE) {
        alias(gpu, "texture", "l1");
        alias(gpu, "readonly", "l1");
        share(gpu, all, 3);
    } else {
        data_cache(rng, gpu, "texture");
        if (sharing == NONE_ONE)
            data_cache(rng, gpu, "readonly");
        else
            alias(gpu, "readonly", sharing == TEXTURE_READONLY ? "texture" : "l1");
        if (sharing == TEXTURE_READONLY)
            share(gpu, all + 1, 2);
        if (sharing == L1_READONLY)
            share(gpu, (const char *const[]){"l1", "readonly"}, 2);
    }
    for (size_t i = no_global; i < FTH_COUNT(all); i++) {
        double latency = cycles(rng, 20, 110);
        number(gpu, all[i], "latency_cycles", latency);
        *slowest = latency > *slowest ? latency : *slowest;
    }
}

/* Code: up to three caches, named from the inside; one alone is the L1. The outermost's name, or
 * NULL. */
static const char *code_caches(struct fth_rng *rng, struct fth_gpu *gpu)
{
    static const char *const names[] = {"instruction_l0", "instruction_l1", "instruction_l15"};
    size_t count = fth_rng_below(rng, 4);
    uint64_t kib = between(rng, 6, 20);
    double pace = 1 + (double)fth_rng_below(rng, 10) / 10;
    for (size_t i = 0; i < count && i < FTH_COUNT(names); i++) {
        const char *name = names[count == 1 ? 1 : i];
        even(rng, gpu, name, kib, 32, 256);
        number(gpu, name, "cycles_per_instruction", pace);
        kib += between(rng, kib / 2 + 1, kib + kib / 2);
        pace = round(pace * (1.25 + fth_rng_unit(rng)) * 10) / 10;
    }
    return count ? names[count == 1 ? 1 : count - 1] : NULL;
}

static void constant_caches(struct fth_rng *rng, struct fth_gpu *gpu, const char *code,
                            double *slowest)
{
    uint64_t kib = between(rng, 1, 4);
    double latency = cycles(rng, 12, 45);
    even(rng, gpu, "constant_l1", kib, 32, 128);
    policy(rng, gpu, "constant_l1", 0, 3);
    number(gpu, "constant_l1", "latency_cycles", latency);
    number(gpu, "constant_l1", "per_sm", rarely(rng, 4) ? 2 : 1);
    *slowest = latency > *slowest ? latency : *slowest;
    if (rarely(rng, 6))
        return;
    const uint64_t line = (uint64_t)fth_gpu_number(gpu, "constant_l1", "line_bytes", 32);
    const double bytes = code ? fth_gpu_number(gpu, code, "size_bytes", 0) : 0;
    latency = round(latency) + cycles(rng, 25, 80);
    if (bytes >= (double)(8 * kib * 1024) && fth_rng_below(rng, 2)) {
        /* One with the outermost cache for code. */
        even(rng, gpu, "constant_l15", (uint64_t)bytes / 1024, line, 512);
        static const char *const shape[] = {"line_bytes", "sets", "ways"};
        for (size_t i = 0; i < FTH_COUNT(shape); i++)
            set(gpu, code, *fth_gpu_attribute(gpu, "constant_l15", shape[i]));
        share(gpu, (const char *const[]){"constant_l15", code}, 2);
    } else {
        even(rng, gpu, "constant_l15", between(rng, 8 * kib, rarely(rng, 4) ? 96 : 40), line, 512);
        policy(rng, gpu, "constant_l15", 0, 3);
    }
    number(gpu, "constant_l15", "latency_cycles", latency);
    *slowest = latency > *slowest ? latency : *slowest;
}

static void shared_memory(struct fth_rng *rng, struct fth_gpu *gpu, bool clusters)
{
    number(gpu, "shared", "size_bytes", (double)between(rng, 24, 96) * 1024);
    text(gpu, "shared", "scope", "sm");
    number(gpu, "shared", "latency_cycles", cycles(rng, 18, 60));
    number(gpu, "shared", "banks", 32);
    number(gpu, "shared", "bank_bytes", 4);
    const double unified = fth_gpu_number(gpu, "l1", "unified_bytes", 0);
    if (unified > 0) {
        number(gpu, "shared", "unified_bytes", unified);
        number(gpu, "shared", "size_bytes",
               unified - fth_gpu_number(gpu, "l1", "default_size_bytes", 0));
    }
    if (!clusters)
        return;
    double near = cycles(rng, 150, 220);
    text(gpu, "cluster_shared", "scope", "gpc");
    number(gpu, "cluster_shared", "latency_cycles", near);
    if (fth_rng_below(rng, 2))
        number(gpu, "cluster_shared", "far_latency_cycles", round(near) + cycles(rng, 12, 60));
}

static void beyond(struct fth_rng *rng, struct fth_gpu *gpu, double slowest)
{
    static const uint64_t lines[] = {32, 64, 128};
    uint64_t line = one_of(rng, lines, FTH_COUNT(lines));
    double latency = round(slowest * 1.4) + cycles(rng, 60, 200);
    text(gpu, "l2", "scope", "gpu");
    structure(rng, gpu, "l2", line, 512 << 10, 768 << 10);
    number(gpu, "l2", "latency_cycles", latency);
    double memory = round(latency) + cycles(rng, 80, 400);
    text(gpu, "memory", "scope", "gpu");
    number(gpu, "memory", "size_bytes", (double)between(rng, 1, 32) * 1073741824);
    number(gpu, "memory", "latency_cycles", memory);
    if (!rarely(rng, 4))
        return;
    /* The ways were for the whole: two partitions have twice as many between them. */
    number(gpu, "l2", "size_bytes", 2 * fth_gpu_number(gpu, "l2", "size_bytes", 0));
    number(gpu, "l2", "partitions", 2);
    number(gpu, "l2", "far_latency_cycles", round(latency) + cycles(rng, 40, 70));
    number(gpu, "memory", "far_latency_cycles", round(memory) + cycles(rng, 60, 200));
}

static void tlbs(struct fth_rng *rng, struct fth_gpu *gpu)
{
    static const char *const names[] = {"tlb_l1", "tlb_l2"};
    size_t count = fth_rng_below(rng, 3);
    uint64_t page = (uint64_t)131072 << fth_rng_below(rng, 5), entries = between(rng, 16, 48);
    for (size_t i = 0; i < count && i < FTH_COUNT(names); i++) {
        text(gpu, names[i], "scope", "gpu");
        number(gpu, names[i], "page_bytes", (double)page);
        number(gpu, names[i], "entries", (double)entries);
        number(gpu, names[i], "reach_bytes", (double)(entries * page));
        text(gpu, names[i], "policy", "lru");
        if (rarely(rng, 3))
            unequal(rng, gpu, names[i], entries);
        number(gpu, names[i], "miss_penalty_cycles",
               i ? cycles(rng, 60, 150) : cycles(rng, 15, 100));
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
    bool clusters = rarely(&rng, 3);
    snprintf(name, sizeof name, "Random %llu", (unsigned long long)seed);
    text(gpu, "device", "name", name);
    text(gpu, "device", "compute_capability", clusters ? "9.0" : "7.0");
    number(gpu, "device", "sms", (double)(clusters ? between(&rng, 4, 8) : between(&rng, 1, 8)));
    number(gpu, "device", "warp_size", 32);
    number(gpu, "device", "clock_mhz", (double)between(&rng, 800, 2000));
    double slowest = 0;
    data_caches(&rng, gpu, &slowest);
    const char *code = code_caches(&rng, gpu);
    constant_caches(&rng, gpu, code, &slowest);
    shared_memory(&rng, gpu, clusters);
    beyond(&rng, gpu, slowest);
    tlbs(&rng, gpu);
    return gpu;
}

void make_noisy(struct fth_gpu *gpu, uint64_t seed)
{
    number(gpu, "noise", "seed", (double)seed);
    number(gpu, "noise", "jitter_cycles", 2);
    number(gpu, "noise", "outlier_rate", 0.01);
}
