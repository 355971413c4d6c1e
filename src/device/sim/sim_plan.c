/* Computes the parameters of a simulation from a GPU description. A simulated GPU needs every
 * parameter. What the description lacks is derived from its other figures or taken from the
 * defaults below. docs/simulator.md lists the same defaults. sim_limits.c has already refused
 * figures that are too large. */
#include "device/sim/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Typical values; chosen, not derived. Instruction caches have no latency; their time per
 * instruction (cycles_per_instruction) is set in fill_levels(). */
static const struct {
    const char *name, *amd_name; /* `amd_name`: the name of AMD's element, if it differs */
    double size_bytes, line_bytes, latency_cycles;
} defaults[FTH_SIM_ELEMENTS] = {
    [FTH_SIM_L1] = {"l1", "vector_l1", 32768, 128, 32},
    [FTH_SIM_TEXTURE] = {"texture", NULL, 24576, 128, 80},
    [FTH_SIM_READONLY] = {"readonly", NULL, 24576, 128, 80},
    [FTH_SIM_CONSTANT_L1] = {"constant_l1", "scalar_l1", 2048, 64, 32},
    [FTH_SIM_CONSTANT_L15] = {"constant_l15", NULL, 65536, 256, 105},
    [FTH_SIM_INSTRUCTION_L0] = {"instruction_l0", NULL, 16384, 128, 0},
    [FTH_SIM_INSTRUCTION_L1] = {"instruction_l1", NULL, 131072, 128, 0},
    [FTH_SIM_INSTRUCTION_L15] = {"instruction_l15", NULL, 131072, 128, 0},
    [FTH_SIM_OUTER_L1] = {"l1", NULL, 131072, 128, 150},
};

/* Typical values, too. Latencies are in cycles. */
#define DEFAULT_SMS 16
#define DEFAULT_CLOCK_MHZ 1000
#define DEFAULT_THREADS_PER_SM 2048
#define DEFAULT_SHARED_BYTES 49152
#define DEFAULT_SHARED_LATENCY 28
#define DEFAULT_CONFLICT_CYCLES 2   /* per further way of a bank conflict (GTX 980, A100) */
#define DEFAULT_BANKS 32            /* banks of shared memory */
#define DEFAULT_BANK_BYTES 4        /* width of a bank */
#define DEFAULT_CLUSTER_LATENCY 180 /* of an H100 (Luo et al., arXiv:2501.12084) */
#define DEFAULT_L2_BYTES (2 << 20)
#define DEFAULT_L2_LINE 128
#define DEFAULT_L2_LATENCY 220
#define DEFAULT_L3_BYTES (32 << 20)
#define DEFAULT_L3_LINE 64
#define DEFAULT_L3_WAYS 16
#define DEFAULT_MEMORY_BYTES ((uint64_t)16 << 30)
#define DEFAULT_MEMORY_LATENCY 450
/* If the latency of memory is not known, it is at least this many cycles longer than that of the
 * last cache. */
#define MIN_MEMORY_EXTRA 100
/* Latency of the far L2 partition relative to the near one. With the figures in data/gpus, it is
 * 1.64 for an H200 and 1.60 for an A100. */
#define FAR_FACTOR 1.6
/* Address bits 12 to 35; their parity selects the home of a line if there are two partitions
 * (sim_l2.c has the rule for more). Some of them are above the bits that select the set, so the
 * lines of each home are spread over all sets. With bit 12 alone, which is also one of the bits
 * that select the set, the lines of a home would be in only half of the sets. Chosen, not derived.
 */
#define DEFAULT_HOME_MASK 0xffffff000
/* If the description lists no carve-outs, they are the multiples of this, in bytes. Chosen,
 * not derived. */
#define CARVEOUT_STEP 8192
/* Cycles to activate a page table: "hundreds or even thousands" (Mei and Chu 2017). */
#define DEFAULT_PAGE_TABLE_SWITCH_CYCLES 1000
/* Cycles per instruction. On an H200, they are 1.1 and 2.2 cycles in two instruction caches,
 * and 5.6 cycles for code that no cache holds (docs/results/h200.md). */
#define DEFAULT_FETCH_CYCLES 1 /* of the innermost instruction cache */
#define FETCH_FACTOR 2.0       /* of each further cache, relative to the cache before it */
#define BEYOND_FACTOR 2.5      /* of code that no cache holds, relative to the last cache */
#define DEFAULT_SM_SETS 4      /* caches of SMs from Maxwell to Volta have 4 sets of many ways */
#define DEFAULT_L2_WAYS 16     /* GT 740M and GTX 970 have 8; 16 is reported for larger GPUs */

/* TLBs. Typical values; chosen, not derived. */
static const struct {
    const char *name;
    double entries, penalty_cycles;
} tlb_defaults[FTH_SIM_TLBS] = {{"tlb_l1", 16, 20}, {"tlb_l2", 128, 100}, {"tlb_l3", 1024, 200}};
#define DEFAULT_PAGE_BYTES (2 << 20)

/* ---- reading the description ---- */

/* Converts cycles to the time unit of the simulation, thousandths of a cycle. */
static int64_t from_cycles(double number)
{
    return (int64_t)llround(number * FTH_SIM_CYCLE);
}

/* Returns latency_cycles, else latency_ns converted, else `fallback`, which is in cycles. */
static int64_t latency_of(const struct fth_gpu *gpu, const struct fth_sim_plan *plan,
                          const char *name, double fallback)
{
    double ns = fth_gpu_number(gpu, name, "latency_ns", NAN);
    double other = isnan(ns) ? fallback : ns * plan->clock_mhz / 1000;
    return from_cycles(fth_gpu_number(gpu, name, "latency_cycles", other));
}

/* Returns the time that one byte takes at the bandwidth of the attribute, or `fallback` if the
 * bandwidth is not known. The unit is a millionth of a cycle, as in struct fth_sim_rates; other
 * times are in thousandths. */
static double byte_cost(const struct fth_gpu *gpu, const struct fth_sim_plan *plan,
                        const char *name, const char *attribute, double fallback)
{
    double bytes_per_s = fth_gpu_number(gpu, name, attribute, 0);
    return bytes_per_s > 0 ? plan->clock_mhz * 1e12 / bytes_per_s : fallback;
}

/* Returns the times per byte of one instance of an element that has `count` instances on the GPU.
 * The description has the bandwidth of all instances together, so the time per byte of one of them
 * is `count` times as long. */
static struct fth_sim_rates rates_of(const struct fth_gpu *gpu, const struct fth_sim_plan *plan,
                                     const char *name, uint32_t count)
{
    double peak = byte_cost(gpu, plan, name, "peak_bytes_per_s", 0);
    struct fth_sim_rates rates = {
        .read = byte_cost(gpu, plan, name, "read_bytes_per_s", peak) * count,
        .write = byte_cost(gpu, plan, name, "write_bytes_per_s", peak) * count};
    /* A copy reads a byte and writes a byte, and its bandwidth counts both. copy_extra is the time
     * per copied byte by which a copy exceeds a separate read and write. It can be negative, but
     * not below -write, so that a written byte never takes a negative time. */
    double copy = 2 * byte_cost(gpu, plan, name, "copy_bytes_per_s", 0) * count;
    if (copy > 0)
        rates.copy_extra = fmax(copy - rates.read - rates.write, -rates.write);
    return rates;
}

static bool has_element(const struct fth_gpu *gpu, const char *name)
{
    return fth_gpu_find_section(gpu, name) != NULL;
}

/* The names of an element and of shared memory in the description. An element of AMD replaces the
 * other one. */
static const char *element_name(const struct fth_gpu *gpu, enum fth_sim_element element)
{
    const char *amd_name = defaults[element].amd_name;
    return amd_name && has_element(gpu, amd_name) ? amd_name : defaults[element].name;
}

static const char *shared_name(const struct fth_gpu *gpu)
{
    return has_element(gpu, "lds") ? "lds" : "shared";
}

/* ---- the caches of an SM ---- */

/* Whether the GPU has the element. An L1 that caches no accesses counts as absent. */
static bool is_used(const struct fth_gpu *gpu, enum fth_sim_element element)
{
    const char *name = element_name(gpu, element);
    if (!has_element(gpu, name) ||
        (element == FTH_SIM_OUTER_L1 && !has_element(gpu, defaults[FTH_SIM_L1].amd_name)))
        return false;
    const struct fth_attribute *cached_spaces =
        element == FTH_SIM_L1 ? fth_gpu_attribute(gpu, name, "caches") : NULL;
    return !cached_spaces || cached_spaces->count > 0;
}

static bool is_shared(const struct fth_gpu *gpu, enum fth_sim_element a, enum fth_sim_element b)
{
    const struct fth_attribute *with = fth_gpu_attribute(gpu, element_name(gpu, a), "shared_with");
    for (size_t i = 0; with && i < with->count; i++)
        if (strcmp(with->texts[i], element_name(gpu, b)) == 0)
            return true;
    return false;
}

/* Finds the elements that share storage, directly or through others. `array` of each element
 * receives the smallest index of an element that it shares storage with, or its own index;
 * fill_levels() replaces it by an index into plan->arrays. */
static void find_arrays(struct fth_sim_plan *plan, const struct fth_gpu *gpu)
{
    struct fth_sim_level *levels = plan->levels;
    for (unsigned i = 0; i < FTH_SIM_ELEMENTS; i++)
        levels[i].array = i;
    for (unsigned i = 0; i < FTH_SIM_ELEMENTS; i++)
        for (unsigned k = 0; k < FTH_SIM_ELEMENTS; k++) {
            unsigned from = levels[i].array, to = levels[k].array;
            if (from == to || !levels[i].present || !levels[k].present ||
                !is_shared(gpu, (enum fth_sim_element)i, (enum fth_sim_element)k))
                continue;
            for (unsigned each = 0; each < FTH_SIM_ELEMENTS; each++)
                if (levels[each].array == from || levels[each].array == to)
                    levels[each].array = from < to ? from : to;
        }
}

/* Maximum line of a cache that records which bytes were written (cache/). No known cache has longer
 * lines; one that has is written as if it kept nothing. */
enum { MAX_WRITTEN_LINE = 4096 };

/* Whether a text attribute of the description has this value. */
static bool text_is(const struct fth_gpu *gpu, const char *element, const char *name,
                    const char *value)
{
    const char *text = fth_gpu_text(gpu, element, name);
    return text && strcmp(text, value) == 0;
}

/* Fills in what writes to global memory do to L1. By default a write allocates nothing and evicts
 * the line that it hits. */
static void fill_l1_writes(struct fth_sim_plan *plan, const struct fth_gpu *gpu)
{
    const char *l1 = element_name(gpu, FTH_SIM_L1);
    struct fth_sim_shape *shape = &plan->arrays[plan->levels[FTH_SIM_L1].array];
    if (!plan->levels[FTH_SIM_L1].present || shape->line_bytes > MAX_WRITTEN_LINE)
        return;
    plan->l1_writes =
        (struct fth_sim_l1_writes){.allocates = text_is(gpu, l1, "write_miss", "allocate"),
                                   .updates = text_is(gpu, l1, "write_hit", "update"),
                                   .evicts_sectors = text_is(gpu, l1, "write_evicts", "sector")};
    if (plan->l1_writes.allocates || plan->l1_writes.updates || fth_sim_hints_store(&plan->hints))
        shape->write = FTH_WRITE_THROUGH;
}

/* Returns the size of an element that has none in the description. For L1, it is the unified
 * storage minus the largest carve-out (shared.size_bytes), if both are known. L1 has at least this
 * size, because every carve-out leaves as much or more. */
static double default_size(const struct fth_gpu *gpu, enum fth_sim_element element)
{
    double unified = fth_gpu_number(gpu, element_name(gpu, FTH_SIM_L1), "unified_bytes", NAN);
    double shared = fth_gpu_number(gpu, shared_name(gpu), "size_bytes", NAN);
    if (element == FTH_SIM_L1 && unified > shared)
        return unified - shared;
    return defaults[element].size_bytes;
}

/* Fills in plan->levels and plan->arrays. Returns false if memory is exhausted. */
static bool fill_levels(struct fth_sim_plan *plan, const struct fth_gpu *gpu)
{
    for (unsigned i = 0; i < FTH_SIM_ELEMENTS; i++) {
        struct fth_sim_level *level = &plan->levels[i];
        const char *name = element_name(gpu, (enum fth_sim_element)i);
        level->name = name;
        level->present = is_used(gpu, (enum fth_sim_element)i);
        level->latency = latency_of(gpu, plan, name, defaults[i].latency_cycles);
        level->rates = rates_of(gpu, plan, name, plan->sms);
    }
    find_arrays(plan, gpu);
    unsigned
        array_of[FTH_SIM_ELEMENTS]; /* index into plan->arrays of the first element of a group */
    for (unsigned i = 0; i < FTH_SIM_ELEMENTS; i++) {
        struct fth_sim_level *level = &plan->levels[i];
        if (!level->present)
            continue;
        if (level->array != i) { /* shares the array of an earlier element */
            level->array = array_of[level->array];
            continue;
        }
        struct fth_sim_storage storage = {.gpu = gpu};
        size_t members = 0;
        for (unsigned k = i; k < FTH_SIM_ELEMENTS; k++)
            if (plan->levels[k].present && plan->levels[k].array == i)
                storage.names[members++] = element_name(gpu, (enum fth_sim_element)k);
        array_of[i] = level->array = plan->array_count;
        struct fth_sim_shape *shape = &plan->arrays[plan->array_count++];
        double size = fth_sim_storage_number(&storage, "size_bytes",
                                             default_size(gpu, (enum fth_sim_element)i));
        fth_sim_fill_scope(shape, &storage, FTH_SIM_SCOPE_SM, plan->sms);
        if (!fth_sim_fill_shape(&plan->arena, &storage, shape, (uint64_t)size,
                                defaults[i].line_bytes, DEFAULT_SM_SETS, 0))
            return false;
        /* In spite of its name, default_size_bytes is the size of L1 at the largest carve-out,
         * which is the smallest size of L1. */
        if (i == FTH_SIM_L1)
            plan->l1_min_bytes =
                (uint64_t)fth_sim_storage_number(&storage, "default_size_bytes", 0);
    }
    const struct fth_attribute *cached_spaces =
        fth_gpu_attribute(gpu, element_name(gpu, FTH_SIM_L1), "caches");
    plan->l1_caches_global = plan->l1_caches_local =
        plan->levels[FTH_SIM_L1].present && !cached_spaces;
    for (size_t i = 0; cached_spaces && i < cached_spaces->count; i++) {
        plan->l1_caches_global =
            plan->l1_caches_global || strcmp(cached_spaces->texts[i], "global") == 0;
        plan->l1_caches_local =
            plan->l1_caches_local || strcmp(cached_spaces->texts[i], "local") == 0;
    }
    fill_l1_writes(plan, gpu);
    double cost = DEFAULT_FETCH_CYCLES;
    for (unsigned i = FTH_SIM_INSTRUCTION_L0; i <= FTH_SIM_INSTRUCTION_L15; i++) {
        if (!plan->levels[i].present)
            continue;
        cost = fth_gpu_number(gpu, defaults[i].name, "cycles_per_instruction", cost);
        plan->levels[i].fetch_cost = from_cycles(cost);
        plan->fetch_miss_cost = from_cycles(cost * BEYOND_FACTOR);
        cost *= FETCH_FACTOR;
    }
    return true;
}

/* ---- shared memory ---- */

/* Copies the carve-outs, which gpu/validate.c requires to be in ascending order, and, if known, the
 * size of L1 at each of them. */
static bool fill_carveouts(struct fth_sim_plan *plan, const struct fth_gpu *gpu)
{
    const struct fth_attribute *list = fth_gpu_attribute(gpu, shared_name(gpu), "carveout_bytes");
    const struct fth_attribute *l1_sizes =
        fth_gpu_attribute(gpu, element_name(gpu, FTH_SIM_L1), "carveout_size_bytes");
    if (!list || list->count == 0)
        return true;
    if (l1_sizes && l1_sizes->count != list->count)
        l1_sizes = NULL;
    const uint64_t *carveouts = fth_sim_copy_counts(&plan->arena, list);
    const uint64_t *l1 = l1_sizes ? fth_sim_copy_counts(&plan->arena, l1_sizes) : NULL;
    if (!carveouts || (l1_sizes && !l1))
        return false;
    plan->carveouts = carveouts;
    plan->carveout_l1 = l1;
    plan->carveout_count = list->count;
    return true;
}

static bool fill_shared(struct fth_sim_plan *plan, const struct fth_gpu *gpu)
{
    const char *shared = shared_name(gpu);
    double size = fth_gpu_number(gpu, shared, "size_bytes", DEFAULT_SHARED_BYTES);
    plan->shared_bytes = (uint64_t)size;
    plan->shared_block_bytes = (uint64_t)fth_gpu_number(gpu, shared, "max_block_bytes", size);
    double unified = fth_gpu_number(gpu, shared, "unified_bytes", 0);
    plan->unified_bytes =
        (uint64_t)fth_gpu_number(gpu, element_name(gpu, FTH_SIM_L1), "unified_bytes", unified);
    plan->shared_latency = latency_of(gpu, plan, shared, DEFAULT_SHARED_LATENCY);
    plan->conflict =
        from_cycles(fth_gpu_number(gpu, shared, "conflict_cycles", DEFAULT_CONFLICT_CYCLES));
    plan->banks = (uint32_t)fth_gpu_number(gpu, shared, "banks", DEFAULT_BANKS);
    plan->bank_bytes = (uint32_t)fth_gpu_number(gpu, shared, "bank_bytes", DEFAULT_BANK_BYTES);
    plan->shared_rates = rates_of(gpu, plan, shared, plan->sms);
    plan->has_clusters = has_element(gpu, "cluster_shared");
    plan->cluster_rates = rates_of(gpu, plan, "cluster_shared", plan->sms);
    plan->cluster_latency = latency_of(gpu, plan, "cluster_shared", DEFAULT_CLUSTER_LATENCY);
    plan->cluster_far_latency =
        from_cycles(fth_gpu_number(gpu, "cluster_shared", "far_latency_cycles",
                                   (double)plan->cluster_latency / FTH_SIM_CYCLE));
    return fill_carveouts(plan, gpu);
}

/* Returns the index of the smallest carve-out of at least `wanted` bytes, or of the largest one. */
static size_t find_carveout(const struct fth_sim_plan *plan, uint64_t wanted)
{
    size_t at = 0;
    while (at + 1 < plan->carveout_count && plan->carveouts[at] < wanted)
        at++;
    return at;
}

/* The "whole size" is that of the array of L1 in the plan: size_bytes of the description, which is
 * the size of L1 without shared memory, or the default_size(). It is not the size of the unified
 * storage. `shared_bytes` is the shared memory that is requested; plan->shared_bytes is the largest
 * carve-out.
 *
 * The size of L1 is the first of these that applies:
 *   1. the size that the description lists for the carve-out;
 *   2. the whole size, if no shared memory is wanted;
 *   3. l1_min_bytes, if the largest carve-out is wanted and this size is known;
 *   4. the whole size, if the unified storage is not known;
 *   5. what the carve-out leaves of the unified storage: at least l1_min_bytes, at most the whole
 *      size; if the carve-out is 0, the whole size. Without a list of carve-outs, the carve-out is
 *      the next multiple of CARVEOUT_STEP. */
uint64_t fth_sim_plan_l1_bytes(const struct fth_sim_plan *plan, int carveout_percent,
                               uint64_t shared_bytes)
{
    if (!plan->levels[FTH_SIM_L1].present)
        return 0;
    uint64_t whole = plan->arrays[plan->levels[FTH_SIM_L1].array].size_bytes;
    uint64_t min = plan->l1_min_bytes ? plan->l1_min_bytes : 1;
    uint64_t percent = carveout_percent < 0     ? 0
                       : carveout_percent > 100 ? 100
                                                : (uint64_t)carveout_percent;
    uint64_t wanted = (plan->shared_bytes * percent + 99) / 100;
    wanted = shared_bytes > wanted ? shared_bytes : wanted;
    if (plan->carveout_l1) {
        const uint64_t l1_bytes = plan->carveout_l1[find_carveout(plan, wanted)];
        return l1_bytes < whole ? l1_bytes : whole;
    }
    if (wanted == 0)
        return whole;
    if (wanted >= plan->shared_bytes && plan->l1_min_bytes)
        return plan->l1_min_bytes;
    if (plan->unified_bytes == 0)
        return whole;
    uint64_t carveout = (wanted + CARVEOUT_STEP - 1) / CARVEOUT_STEP * CARVEOUT_STEP;
    if (carveout > plan->shared_bytes)
        carveout = plan->shared_bytes;
    if (plan->carveout_count)
        carveout = plan->carveouts[find_carveout(plan, wanted)];
    if (carveout == 0)
        return whole;
    uint64_t left = carveout < plan->unified_bytes ? plan->unified_bytes - carveout : min;
    left = left < min ? min : left;
    return left < whole ? left : whole;
}

/* ---- L2, L3, memory and TLBs ---- */

/* Fills in the cache behind the L2. Without a latency in the description, it is halfway between
 * those of the L2 and of memory. */
static bool fill_l3(struct fth_sim_plan *plan, const struct fth_gpu *gpu)
{
    struct fth_sim_storage storage = {.gpu = gpu, .names = {"l3", NULL}};
    if (!has_element(gpu, "l3"))
        return true;
    const double size = fth_sim_storage_number(&storage, "size_bytes", DEFAULT_L3_BYTES);
    const double near = (double)plan->l2_latency / FTH_SIM_CYCLE;
    const double memory = (double)plan->memory_latency / FTH_SIM_CYCLE;
    fth_sim_fill_scope(&plan->l3, &storage, FTH_SIM_SCOPE_GPU, plan->sms);
    plan->has_l3 = true;
    plan->l3_latency = latency_of(gpu, plan, "l3", (near + memory) / 2);
    plan->l3_rates = rates_of(gpu, plan, "l3", 1);
    return fth_sim_fill_shape(&plan->arena, &storage, &plan->l3, (uint64_t)size, DEFAULT_L3_LINE, 0,
                              DEFAULT_L3_WAYS);
}

/* Fills in the latencies of L2 and memory. The L2 must be faster than memory. If memory is known to
 * be at least as fast as the default of the L2, the default is half of the memory's latency
 * instead. */
static void fill_latencies(struct fth_sim_plan *plan, const struct fth_gpu *gpu)
{
    double memory = fth_gpu_number(gpu, "memory", "latency_cycles", NAN);
    double l2 = memory <= DEFAULT_L2_LATENCY ? memory / 2 : DEFAULT_L2_LATENCY;
    plan->l2_latency = latency_of(gpu, plan, "l2", l2);
    double near = (double)plan->l2_latency / FTH_SIM_CYCLE;
    double far = fth_gpu_number(gpu, "l2", "far_latency_cycles",
                                plan->partitions > 1 ? near * FAR_FACTOR : near);
    plan->l2_far_latency = from_cycles(far);
    const double l3 = (double)latency_of(gpu, plan, "l3", 0) / FTH_SIM_CYCLE;
    double memory_default =
        fmax(DEFAULT_MEMORY_LATENCY, fmax(l3, fmax(near, far)) + MIN_MEMORY_EXTRA);
    plan->memory_latency = latency_of(gpu, plan, "memory", memory_default);
    plan->memory_far_latency =
        from_cycles(fth_gpu_number(gpu, "memory", "far_latency_cycles",
                                   (double)plan->memory_latency / FTH_SIM_CYCLE + far - near));
}

static bool fill_l2(struct fth_sim_plan *plan, const struct fth_gpu *gpu)
{
    struct fth_sim_storage storage = {.gpu = gpu, .names = {"l2", NULL}};
    double size = fth_sim_storage_number(&storage, "size_bytes", DEFAULT_L2_BYTES);
    fth_sim_fill_scope(&plan->l2, &storage, FTH_SIM_SCOPE_GPU, plan->sms);
    /* If groups of SMs have their own L2, the description has the size of one of them. */
    plan->l2_by_sm = plan->l2.scope == FTH_SIM_SCOPE_SM || plan->l2.scope == FTH_SIM_SCOPE_GROUP;
    plan->partitions =
        plan->l2_by_sm ? 1 : (uint32_t)fth_sim_storage_number(&storage, "partitions", 1);
    plan->home_mask = (uint64_t)fth_sim_storage_number(&storage, "home_mask", DEFAULT_HOME_MASK);
    if (!fth_sim_joins_plan(plan, gpu) ||
        !fth_sim_fill_shape(&plan->arena, &storage, &plan->l2, (uint64_t)size / plan->partitions,
                            DEFAULT_L2_LINE, 0, DEFAULT_L2_WAYS))
        return false;
    plan->l2.write = plan->l2.line_bytes <= MAX_WRITTEN_LINE ? FTH_WRITE_BACK : FTH_WRITE_EVICT;
    plan->l2_writes =
        (struct fth_sim_l2_writes){.bypasses = text_is(gpu, "l2", "write_miss", "no_allocate"),
                                   .masks = text_is(gpu, "l2", "partial_write", "mask"),
                                   .keeps_copies = text_is(gpu, "l2", "write_far_copy", "update")};
    fill_latencies(plan, gpu);
    plan->l2_rates = rates_of(gpu, plan, "l2", 1);
    plan->memory_rates = rates_of(gpu, plan, "memory", 1);
    plan->memory_bytes =
        (uint64_t)fth_gpu_number(gpu, "memory", "size_bytes", (double)DEFAULT_MEMORY_BYTES);
    if (!fth_sim_slices_init(plan, gpu))
        return false;
    if (plan->l2_by_sm)
        plan->partitions = fth_sim_owner_count(&plan->l2, plan->sms);
    return fill_l3(plan, gpu);
}

/* Fills in the partition that each SM is near: that of the description, or all in turn. If groups
 * of SMs have their own L2, that is the one. */
static bool fill_near_partitions(struct fth_sim_plan *plan, const struct fth_gpu *gpu)
{
    const struct fth_attribute *list = fth_gpu_attribute(gpu, "l2", "partition_by_sm");
    uint32_t *near = fth_arena_array(&plan->arena, plan->sms, sizeof *near);
    if (!near)
        return false;
    const bool known = list && list->count == plan->sms;
    for (uint32_t i = 0; i < plan->sms; i++)
        near[i] = plan->l2_by_sm ? fth_sim_owner(&plan->l2, i)
                  : known        ? (uint32_t)list->numbers[i] % plan->partitions
                                 : i % plan->partitions;
    plan->near_partitions = near;
    return true;
}

/* Returns the number of entries of a TLB, from the first of these that the description has:
 * `set_ways`; `sets` together with `ways`; `entries`; `reach_bytes`. If it has none of them,
 * returns `fallback`. */
static uint64_t count_entries(const struct fth_sim_storage *group, uint64_t page, double fallback)
{
    const struct fth_attribute *list = fth_sim_storage_attribute(group, "set_ways");
    if (list) {
        uint64_t sum = 0;
        for (size_t i = 0; i < list->count; i++)
            sum += (uint64_t)list->numbers[i];
        return sum;
    }
    double sets = fth_sim_storage_number(group, "sets", NAN),
           ways = fth_sim_storage_number(group, "ways", NAN);
    if (!isnan(sets * ways))
        return (uint64_t)(sets * ways);
    double pages =
        fth_sim_storage_number(group, "reach_bytes", fallback * (double)page) / (double)page;
    double entries = fth_sim_storage_number(group, "entries", floor(pages));
    return entries >= 1 ? (uint64_t)entries : 1;
}

static bool fill_tlbs(struct fth_sim_plan *plan, const struct fth_gpu *gpu)
{
    for (unsigned i = 0; i < FTH_SIM_TLBS; i++) {
        struct fth_sim_storage storage = {.gpu = gpu, .names = {tlb_defaults[i].name, NULL}};
        if (!has_element(gpu, tlb_defaults[i].name))
            continue;
        struct fth_sim_shape *shape = &plan->tlbs[i].shape;
        shape->line_bytes = fth_sim_floor_power(
            fth_sim_storage_number(&storage, "page_bytes", DEFAULT_PAGE_BYTES), 4);
        shape->sector_bytes = shape->fill_bytes = shape->line_bytes;
        fth_sim_fill_scope(shape, &storage, FTH_SIM_SCOPE_GPU, plan->sms);
        shape->per_sm = 1;
        uint64_t entries = count_entries(&storage, shape->line_bytes, tlb_defaults[i].entries);
        shape->size_bytes = entries * shape->line_bytes;
        plan->tlbs[i].present = true;
        plan->tlbs[i].penalty = from_cycles(fth_sim_storage_number(&storage, "miss_penalty_cycles",
                                                                   tlb_defaults[i].penalty_cycles));
        if (!fth_sim_fill_sets(&plan->arena, &storage, shape, entries, 1, 0) ||
            !fth_sim_fill_policy(&plan->arena, &storage, shape))
            return false;
    }
    const char *l1 = element_name(gpu, FTH_SIM_L1);
    const char *addressing = fth_gpu_text(gpu, l1, "addressing");
    plan->l1_physical = addressing && strcmp(addressing, "physical") == 0;
    /* `tlb_miss_cycles`: by how much a hit in L1 takes longer if it misses the first TLB. This
     * includes the penalty of that TLB. */
    plan->l1_tlb_extra =
        from_cycles(fth_gpu_number(gpu, l1, "tlb_miss_cycles", 0)) - plan->tlbs[0].penalty;
    plan->l1_tlb_extra = plan->l1_tlb_extra > 0 ? plan->l1_tlb_extra : 0;
    plan->page_table_bytes = (uint64_t)fth_gpu_number(gpu, "memory", "page_table_bytes", 0);
    plan->page_table_switch = from_cycles(fth_gpu_number(gpu, "memory", "page_table_switch_cycles",
                                                         DEFAULT_PAGE_TABLE_SWITCH_CYCLES));
    return true;
}

/* ---- the whole plan ---- */

enum fth_status fth_sim_plan_init(struct fth_sim_plan *plan, const struct fth_gpu *gpu,
                                  struct fth_error *error)
{
    /* Without instruction caches, an instruction takes one cycle; otherwise fill_levels() replaces
     * this. */
    *plan = (struct fth_sim_plan){.fetch_miss_cost = FTH_SIM_CYCLE};
    plan->sms = (uint32_t)fth_gpu_number(gpu, "device", "sms", DEFAULT_SMS);
    plan->clock_mhz = fth_gpu_number(gpu, "device", "clock_mhz", DEFAULT_CLOCK_MHZ);
    plan->clock_cycles = fth_gpu_number(gpu, "device", "clock_resolution_cycles", 1);
    double threads = fth_gpu_number(gpu, "device", "max_threads_per_sm", DEFAULT_THREADS_PER_SM);
    plan->warps_per_sm = threads < 32 ? 1 : (uint32_t)(threads / 32);
    /* Simplification: all types of arithmetic issue at the same rate. */
    const double lanes_per_scheduler =
        fth_gpu_number(gpu, "device", "cores_per_sm", 32 * FTH_SIM_SCHEDULERS) / FTH_SIM_SCHEDULERS;
    plan->issue_cycles = lanes_per_scheduler >= 32 ? 1 : (unsigned)(32 / lanes_per_scheduler);
    plan->code = fth_gpu_code_size(gpu);
    fth_sm_map_read(gpu, &plan->sm_map);
    const char *refill = fth_gpu_text(gpu, "device", "block_refill");
    plan->refill_free = refill && strcmp(refill, "free") == 0;
    fth_sim_host_link_init(&plan->link, gpu, plan->clock_mhz);
    static const char *const delays[][2] = {{"refresh_period_ns", "refresh_cycles"},
                                            {"pause_period_ns", "pause_cycles"}};
    for (size_t i = 0; i < FTH_COUNT(delays); i++) {
        plan->delays[i].period =
            from_cycles(fth_gpu_number(gpu, "memory", delays[i][0], 0) * plan->clock_mhz / 1e3);
        plan->delays[i].time = from_cycles(fth_gpu_number(gpu, "memory", delays[i][1], 0));
    }
    fth_sim_hints_init(&plan->hints, gpu);
    plan->warp_loads = (uint32_t)fth_gpu_number(gpu, "device", "loads_per_scoreboard", 0);
    plan->sm_sectors = (uint32_t)fth_gpu_number(gpu, "device", "sectors_in_flight_per_sm", 0);
    plan->merge_window =
        from_cycles(fth_gpu_number(gpu, element_name(gpu, FTH_SIM_L1), "store_merge_cycles", 0));
    plan->seed = (uint64_t)fth_gpu_number(gpu, "noise", "seed", 0);
    /* In whole cycles, unlike the other times. */
    plan->jitter = (int64_t)fth_gpu_number(gpu, "noise", "jitter_cycles", 0);
    plan->outlier_rate = fth_gpu_number(gpu, "noise", "outlier_rate", 0);
    plan->neighbour_rate = fth_gpu_number(gpu, "noise", "neighbour_rate", 0);
    const bool filled = fill_levels(plan, gpu) && fill_shared(plan, gpu) && fill_l2(plan, gpu) &&
                        fill_near_partitions(plan, gpu) && fill_tlbs(plan, gpu);
    fth_sim_engine_init(plan, gpu);
    return filled ? FTH_OK : fth_no_memory(error, "simulate GPU", NULL);
}

void fth_sim_plan_fini(struct fth_sim_plan *plan)
{
    fth_arena_fini(&plan->arena);
}
