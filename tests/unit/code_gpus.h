/* Simulated GPUs with given instruction caches and constant caches. */
#ifndef FTH_TESTS_CODE_GPUS_H
#define FTH_TESTS_CODE_GPUS_H

#include "check.h"
#include "described_device.h"

struct cache {
    uint64_t size, line; /* in bytes; size 0: there is no such cache */
    uint64_t sets;       /* 0: not in the description, the simulator's default */
    double cycles;       /* of a hit or, for an instruction cache, per instruction */
};

struct truth {
    const char *capability;
    struct cache code[3]; /* instruction caches, innermost first */
    struct cache l1, l15; /* constant caches */
    int shared; /* index in `code` of the cache that shares its storage with l15; -1: none */
    double l2_cycles;
    const char *noise;
};

/* Names of the elements that `code` describes. */
static const char *const code_names[] = {"instruction_l0", "instruction_l1", "instruction_l15"};

static inline void write_cache(struct fth_buffer *text, const char *name, const struct cache *cache,
                               const char *cost, const char *shared_with)
{
    if (cache->size == 0)
        return;
    fth_buffer_format(text, "\"%s\": {\"size_bytes\": %llu, \"%s\": %.17g", name,
                      (unsigned long long)cache->size, cost, cache->cycles);
    if (cache->line)
        fth_buffer_format(text, ", \"line_bytes\": %llu", (unsigned long long)cache->line);
    if (cache->sets && cache->line)
        fth_buffer_format(text, ", \"sets\": %llu, \"ways\": %llu", (unsigned long long)cache->sets,
                          (unsigned long long)(cache->size / cache->line / cache->sets));
    if (shared_with)
        fth_buffer_format(text, ", \"shared_with\": [\"%s\"]", shared_with);
    fth_buffer_text(text, "},\n");
}

static inline struct fth_device *open_gpu(const struct truth *truth)
{
    struct fth_buffer text = {0};
    fth_buffer_format(&text,
                      "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": 3, "
                      "\"clock_mhz\": 1000, \"compute_capability\": \"%s\"}, \"noise\": {%s}, "
                      "\"elements\": {\n",
                      truth->capability ? truth->capability : "7.0",
                      truth->noise ? truth->noise : "");
    for (int i = 0; i < 3; i++)
        write_cache(&text, code_names[i], &truth->code[i], "cycles_per_instruction",
                    truth->shared == i && truth->l15.size ? "constant_l15" : NULL);
    write_cache(&text, "constant_l1", &truth->l1, "latency_cycles", NULL);
    write_cache(&text, "constant_l15", &truth->l15, "latency_cycles",
                truth->shared >= 0 ? code_names[truth->shared] : NULL);
    fth_buffer_format(&text,
                      "\"l2\": {\"size_bytes\": 4194304, \"latency_cycles\": %.17g}, \"memory\": "
                      "{\"size_bytes\": 1073741824, \"latency_cycles\": 600}}}\n",
                      truth->l2_cycles > 0 ? truth->l2_cycles : 250);
    struct fth_device *device = open_simulated(text.data);
    fth_buffer_fini(&text);
    return device;
}

#endif
