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

/* Sets, ways, index and policy for a cache of lines of `line` bytes, between the sizes. */
static void structure(struct fth_rng *rng, struct fth_gpu *gpu, const char *name, uint64_t line,
                      uint64_t least, uint64_t most)
{
    static const uint64_t powers[] = {1, 2, 4, 8, 16, 32, 64}, primes[] = {3, 5, 7, 13, 31};
    static const char *const policies[] = {"lru", "fifo", "random", "lfu", "weighted"};
    unsigned kind = (unsigned)fth_rng_below(rng, 5);
    uint64_t sets =
        kind == 3 ? one_of(rng, primes, FTH_COUNT(primes)) : one_of(rng, powers, FTH_COUNT(powers));
    unsigned shift = kind == 4 ? (unsigned)between(rng, 1, 3) : 0;
    uint64_t low = (least + sets * line - 1) / (sets * line), high = most / (sets * line);
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
    number(gpu, name, "line_bytes", (double)line);
    number(gpu, name, "sets", (double)sets);
    number(gpu, name, "ways", (double)ways);
    text(gpu, name, "index", index);
    size_t policy = fth_rng_below(rng, ways <= 16 ? 5 : ways <= 64 ? 4 : 3);
    text(gpu, name, "policy", policies[policy]);
    if (policy == 4) {
        double weights[16];
        for (size_t i = 0; i < ways; i++)
            weights[i] = (double)between(rng, 1, 4);
        struct fth_attribute made = fth_attribute_make("way_weights", FTH_NUMBERS);
        made.numbers = weights;
        made.count = ways;
        set(gpu, name, made);
    }
}

struct fth_gpu *random_gpu(uint64_t seed)
{
    static const uint64_t lines[] = {32, 64, 128};
    struct fth_rng rng;
    fth_rng_init(&rng, seed);
    struct fth_gpu *gpu = NULL;
    if (fth_gpu_create(&gpu, NULL) != FTH_OK)
        fail("out of memory");
    char name[32];
    snprintf(name, sizeof name, "Random %llu", (unsigned long long)seed);
    text(gpu, "device", "name", name);
    text(gpu, "device", "compute_capability", "7.0");
    number(gpu, "device", "sms", (double)between(&rng, 1, 24));
    number(gpu, "device", "warp_size", 32);
    number(gpu, "device", "clock_mhz", (double)between(&rng, 800, 2000));

    uint64_t line = one_of(&rng, lines, FTH_COUNT(lines));
    double latency = cycles(&rng, 20, 120);
    text(gpu, "l1", "scope", "sm");
    structure(&rng, gpu, "l1", line, 8 << 10, 192 << 10);
    if (line > 32 && fth_rng_below(&rng, 2))
        number(gpu, "l1", "sector_bytes", 32);
    number(gpu, "l1", "latency_cycles", latency);

    number(gpu, "shared", "size_bytes", (double)between(&rng, 16, 96) * 1024);
    text(gpu, "shared", "scope", "sm");
    number(gpu, "shared", "latency_cycles", cycles(&rng, 18, 60));
    number(gpu, "shared", "banks", 32);
    number(gpu, "shared", "bank_bytes", 4);

    line = one_of(&rng, lines, FTH_COUNT(lines));
    latency = round(latency * 1.5) + cycles(&rng, 60, 250);
    text(gpu, "l2", "scope", "gpu");
    structure(&rng, gpu, "l2", line, 512 << 10, 4 << 20);
    number(gpu, "l2", "latency_cycles", latency);
    bool two = fth_rng_below(&rng, 4) == 0;

    double memory = round(latency) + cycles(&rng, 80, 400);
    text(gpu, "memory", "scope", "gpu");
    number(gpu, "memory", "size_bytes", (double)between(&rng, 1, 32) * 1073741824);
    number(gpu, "memory", "latency_cycles", memory);
    if (two) {
        /* The ways were for the whole: two partitions have twice as many between them. */
        const struct fth_attribute *size = fth_gpu_attribute(gpu, "l2", "size_bytes");
        number(gpu, "l2", "size_bytes", 2 * size->number);
        number(gpu, "l2", "partitions", 2);
        number(gpu, "l2", "far_latency_cycles", round(latency) + cycles(&rng, 40, 70));
        number(gpu, "memory", "far_latency_cycles", round(memory) + cycles(&rng, 60, 200));
    }
    if (fth_rng_below(&rng, 2)) {
        text(gpu, "tlb_l1", "scope", "gpu");
        number(gpu, "tlb_l1", "page_bytes", (double)((uint64_t)131072 << fth_rng_below(&rng, 5)));
        number(gpu, "tlb_l1", "entries", (double)between(&rng, 16, 64));
        text(gpu, "tlb_l1", "policy", "lru");
        number(gpu, "tlb_l1", "miss_penalty_cycles", cycles(&rng, 10, 100));
    }
    if (fth_rng_below(&rng, 2)) {
        text(gpu, "instruction_l1", "scope", "sm");
        number(gpu, "instruction_l1", "size_bytes", (double)between(&rng, 2, 8) * 16384);
        number(gpu, "instruction_l1", "cycles_per_instruction", cycles(&rng, 1, 2));
    }
    return gpu;
}
