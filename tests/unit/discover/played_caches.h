/* A device that plays a hierarchy of caches behind plain loads: a CPU with pages, TLB, noise, other
 * programs and a coarse clock. It answers chases with the steps walk and time-pass. */
#ifndef TEST_PLAYED_CACHES_H
#define TEST_PLAYED_CACHES_H

#include "check.h"
#include "device/device.h"

#include <math.h>
#include <stdlib.h>

enum played_policy { PLAYED_LRU, PLAYED_PLRU, PLAYED_RANDOM };
enum { PLAYED_LEVELS = 3, PLAYED_FRAMES = 1 << 16, PLAYED_PAGE = 4096 };

struct played_cache {
    uint64_t line, sets, ways;
    double cycles; /* of a hit */
    enum played_policy policy;
    bool physical; /* the index is that of the physical address */
    bool hashed;   /* the index is a hash of the line */
    uint64_t *tags;
    uint32_t *ages;
};

struct played {
    struct played_cache levels[PLAYED_LEVELS];
    size_t count;
    double memory_cycles, memory_bytes;
    bool scattered;        /* pages are anywhere in physical memory */
    bool pair_prefetch;    /* the second cache also fetches the other line of a pair */
    uint64_t tlb_entries;  /* 0: no TLB */
    double tlb_cycles;     /* of a miss */
    double tick, overhead; /* of the clock, in cycles */
    double tail_cycles;    /* of a load behind the last 32 of a chain, at least */
    double jitter;         /* maximum random cycles of a pass */
    double pause_rate;     /* passes that another program interrupts */
    double theft_rate;     /* loads of another hardware thread per load */
    unsigned background;   /* lines that the timing code uses in each pass */
    bool gpu;
    bool past;    /* it has loads past the first cache */
    size_t first; /* index of the first level that a load accesses */
    struct fth_rng rng;
    uint32_t *frames;
    uint64_t *tlb, now;
    double time;
    unsigned long hops;
};

static inline uint64_t played_set(const struct played_cache *cache, uint64_t line)
{
    if (cache->hashed) {
        line ^= line >> 17;
        line *= UINT64_C(0x9e3779b97f4a7c15);
        line ^= line >> 32;
    }
    return line % cache->sets;
}

/* Chooses the way to evict. Tree-PLRU keeps its bits in the age of way 0. */
static inline size_t played_victim(struct played *played, const struct played_cache *cache,
                                   const uint32_t *ages)
{
    size_t victim = 0;
    if (cache->policy == PLAYED_RANDOM)
        return (size_t)fth_rng_below(&played->rng, cache->ways);
    if (cache->policy == PLAYED_PLRU) {
        size_t node = 1;
        while (node < cache->ways)
            node = 2 * node + (ages[0] >> node & 1);
        return node - cache->ways;
    }
    for (size_t i = 1; i < cache->ways; i++)
        victim = ages[i] < ages[victim] ? i : victim;
    return victim;
}

static inline void played_touch(struct played *played, const struct played_cache *cache,
                                uint32_t *ages, size_t way)
{
    if (cache->policy == PLAYED_PLRU) {
        for (size_t node = way + cache->ways; node > 1; node /= 2) {
            ages[0] &= ~(1U << node / 2);
            ages[0] |= (node & 1 ? 0U : 1U) << node / 2;
        }
    } else {
        ages[way] = (uint32_t)++played->now;
    }
}

/* Looks an address up in a level, and fills it if it is missing. */
static inline bool played_access(struct played *played, struct played_cache *cache,
                                 uint64_t virtual, uint64_t physical)
{
    const uint64_t tag = physical / cache->line + 1;
    const uint64_t set = played_set(cache, (cache->physical ? physical : virtual) / cache->line);
    uint64_t *tags = &cache->tags[set * cache->ways];
    uint32_t *ages = &cache->ages[set * cache->ways];
    size_t way = 0;
    while (way < cache->ways && tags[way] != tag)
        way++;
    const bool hit = way < cache->ways;
    for (size_t i = 0; i < cache->ways && !hit && way == cache->ways; i++)
        way = tags[i] == 0 ? i : way;
    if (way == cache->ways)
        way = played_victim(played, cache, ages);
    tags[way] = tag;
    played_touch(played, cache, ages, way);
    return hit;
}

/* Returns the cycles of a load. */
static inline double played_load(struct played *played, uint64_t address)
{
    const uint64_t page = address / PLAYED_PAGE;
    uint64_t physical = address;
    double cycles = 0;
    if (played->scattered)
        physical =
            (uint64_t)played->frames[page % PLAYED_FRAMES] * PLAYED_PAGE + address % PLAYED_PAGE;
    if (played->tlb_entries && played->tlb[page % played->tlb_entries] != page + 1) {
        played->tlb[page % played->tlb_entries] = page + 1;
        cycles += played->tlb_cycles;
    }
    for (size_t i = played->first; i < played->count; i++) {
        struct played_cache *cache = &played->levels[i];
        if (played_access(played, cache, address, physical))
            return cycles + cache->cycles;
        if (i == 1 && played->pair_prefetch)
            played_access(played, cache, address ^ cache->line, physical ^ cache->line);
    }
    return cycles + played->memory_cycles;
}

/* Walks a chain once and returns its cycles. */
static inline double played_walk(struct played *played, const struct fth_chain *chain,
                                 const uint32_t *order)
{
    const uint64_t base = ((uint64_t)chain->array << 27) + chain->start_bytes;
    double cycles = 0;
    for (uint64_t i = 0; i < chain->count; i++) {
        const double load = played_load(played, base + order[i] * chain->stride_bytes);
        cycles += i < chain->count / 32 * 32 ? load : fmax(load, played->tail_cycles);
        if (played->theft_rate > 0 && fth_rng_unit(&played->rng) < played->theft_rate)
            played_load(played, (UINT64_C(9) << 27) + fth_rng_below(&played->rng, 1 << 15) * 32);
    }
    for (unsigned i = 0; i < played->background; i++)
        played_load(played, (UINT64_C(8) << 27) + i * 832);
    played->hops += chain->count;
    return cycles;
}

/* Times a pass. */
static inline uint32_t played_time(struct played *played, const struct fth_chain *chain,
                                   const uint32_t *order)
{
    played->time += 1000 * fth_rng_unit(&played->rng);
    const double start = floor(played->time / played->tick);
    played->time += played->overhead + played_walk(played, chain, order) +
                    played->jitter * fth_rng_unit(&played->rng);
    if (fth_rng_unit(&played->rng) < played->pause_rate)
        played->time += 20000 + 1e6 * fth_rng_unit(&played->rng);
    return (uint32_t)((floor(played->time / played->tick) - start) * played->tick);
}

static inline enum fth_status played_measure(void *state, const struct fth_request *requests,
                                             size_t count, struct fth_samples *samples,
                                             struct fth_error *error)
{
    struct played *played = state;
    (void)error;
    for (size_t i = 0; i < count; i++) {
        const struct fth_chase *chase = &requests[i].chase;
        samples[i] = (struct fth_samples){.clock_mhz = 2000};
        const enum fth_path path = chase->steps[0].path;
        played->first = path == FTH_PATH_CG;
        if (requests[i].family != FTH_FAMILY_CHASE ||
            (path != FTH_PATH_CA && !(path == FTH_PATH_CG && played->past))) {
            samples[i].status = FTH_UNSUPPORTED;
            continue;
        }
        samples[i].cycles =
            calloc((size_t)fth_request_samples(&requests[i]), sizeof *samples[i].cycles);
        assert_non_null(samples[i].cycles);
        for (size_t k = 0; k < chase->step_count; k++) {
            const struct fth_step *step = &chase->steps[k];
            uint32_t *order = calloc((size_t)step->chain.count, sizeof *order);
            assert_non_null(order);
            assert_true(step->chain.seed);
            fth_chain_order(&step->chain, order);
            for (uint64_t pass = 0; pass < step->passes; pass++)
                if (step->kind == FTH_STEP_TIME_PASS)
                    samples[i].cycles[samples[i].count++] =
                        played_time(played, &step->chain, order);
                else
                    played_walk(played, &step->chain, order);
            free(order);
        }
    }
    return FTH_OK;
}

static inline enum fth_status played_describe(void *state, struct fth_gpu *gpu,
                                              struct fth_error *error)
{
    const struct played *played = state;
    struct fth_attribute backend = fth_attribute_make("backend", FTH_TEXT),
                         kind = fth_attribute_make("kind", FTH_TEXT),
                         unit = fth_attribute_make("unit_source", FTH_TEXT),
                         tick = fth_attribute_make("clock_resolution_cycles", FTH_NUMBER),
                         size = fth_attribute_make("size_bytes", FTH_NUMBER);
    backend.text = "opencl";
    kind.text = played->gpu ? "gpu" : "cpu";
    tick.number = played->tick;
    size.number = played->memory_bytes;
    FTH_TRY(fth_gpu_set(gpu, &gpu->device, &backend, error));
    FTH_TRY(fth_gpu_set(gpu, &gpu->device, &kind, error));
    unit.text = "none";
    if (played->gpu)
        FTH_TRY(fth_gpu_set(gpu, &gpu->device, &unit, error));
    FTH_TRY(fth_gpu_set(gpu, &gpu->device, &tick, error));
    FTH_TRY(fth_gpu_add_element(gpu, "memory", error));
    return fth_gpu_set(gpu, fth_gpu_section(gpu, "memory"), &size, error);
}

static inline void played_close(void *state)
{
    (void)state;
}

/* Prepares the caches. The caller releases them with played_fini. */
static inline void played_init(struct played *played, uint64_t seed)
{
    fth_rng_init(&played->rng, seed);
    played->frames = calloc(PLAYED_FRAMES, sizeof *played->frames);
    played->tlb = calloc(played->tlb_entries + 1, sizeof *played->tlb);
    assert_non_null(played->frames);
    assert_non_null(played->tlb);
    for (size_t i = 0; i < PLAYED_FRAMES; i++)
        played->frames[i] = (uint32_t)fth_rng_below(&played->rng, 1 << 22);
    for (size_t i = 0; i < played->count; i++) {
        struct played_cache *cache = &played->levels[i];
        cache->tags = calloc(cache->sets * cache->ways, sizeof *cache->tags);
        cache->ages = calloc(cache->sets * cache->ways, sizeof *cache->ages);
        assert_non_null(cache->tags);
        assert_non_null(cache->ages);
    }
}

static inline void played_fini(struct played *played)
{
    for (size_t i = 0; i < played->count; i++) {
        free(played->levels[i].tags);
        free(played->levels[i].ages);
    }
    free(played->frames);
    free(played->tlb);
}

static const struct fth_device_ops played_ops = {
    .describe = played_describe, .measure = played_measure, .close = played_close};

/* Measures the device. The caller owns the description. */
static inline struct fth_gpu *played_discover(struct played *played, const char *only)
{
    struct fth_device *device = NULL;
    struct fth_gpu *found = NULL;
    struct fth_error error = NO_ERROR;
    const struct fth_discover_options options = FTH_DISCOVER_OPTIONS(.only = only);
    if (fth_device_create("played", &played_ops, played, &device, &error) != FTH_OK ||
        fth_discover(device, &options, &found, &error) != FTH_OK)
        fail_msg("%s: %s", error.operation, error.cause);
    fth_device_close(device);
    return found;
}

#endif
