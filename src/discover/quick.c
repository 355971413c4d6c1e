/* The stages of a quick measurement: latencies of L1, L2 (for each SM), shared memory and memory,
 * and a few bandwidths. They are the figures that change if a GPU is slow or damaged. Everything
 * else (sizes, structure, TLBs, constant and instruction caches) is the same on all GPUs of a model
 * and takes most of the time of a whole measurement. The stages are those of discover.c, so that a
 * figure of a quick measurement can be compared with that of a whole one. The bandwidths are
 * measured with one launch shape, instead of the best of several (struct fth_prober). */
#include "discover/discover.h"

static const struct fth_stage stages[] = {
    {.name = "L2 latency",
     .fraction = 0.05,
     .elements = {"l2"},
     .always = true,
     .run = fth_discover_l2_latency},
    {.name = "L1 latency", .fraction = 0.2, .elements = {"l1"}, .run = fth_discover_l1_latency},
    {.name = "shared memory", .fraction = 0.3, .elements = {"shared"}, .run = fth_discover_shared},
    {.name = "memory latency",
     .fraction = 0.4,
     .elements = {"memory"},
     .always = true,
     .run = fth_discover_memory},
    {.name = "bandwidth",
     .fraction = 0.5,
     .always = true,
     .own_steps = true,
     .run = fth_discover_rates},
    {.name = "plausibility",
     .fraction = 0.99,
     .always = true,
     .own_steps = true,
     .run = fth_discover_gates},
};

/* The elements that these stages measure. */
const char fth_quick_elements[] = "l1,l2,shared,memory";

const struct fth_stage *fth_quick_stage(size_t index)
{
    return index < FTH_COUNT(stages) ? &stages[index] : NULL;
}

bool fth_quick_wants(enum fth_bandwidth_target target)
{
    switch (target) {
    case FTH_BANDWIDTH_MEMORY_READ:
    case FTH_BANDWIDTH_MEMORY_WRITE:
    case FTH_BANDWIDTH_MEMORY_COPY:
    case FTH_BANDWIDTH_L2_READ:
    case FTH_BANDWIDTH_SHARED_READ: return true;
    default: return false;
    }
}
