/* The caches in the configuration of GPGPU-Sim and Accel-Sim.
 *
 * The rules that decide how caches are written:
 *   - The number of sets is a power of two; the index functions need it.
 *   - A sectored cache ('S') has lines of 128 bytes with 4 sectors of 32 bytes. A request for an L2
 *     without sectors ('N') must not be larger than its line. An L2 with shorter lines is therefore
 *     written as a sectored one, so that it still fetches 32 bytes.
 *   - A request has at most 128 bytes, and so has a line.
 *   - Replacement is LRU or FIFO.
 *   - If the L1 is adaptive, the simulator computes its ways from the shared memory that a kernel
 *     uses: ways x (1 - carve-out / unified size). The string then describes the whole unified
 *     memory.
 *   - The L2 is divided among the sub-partitions of the memory controllers. */
#include "report/description/accel_sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A cache as the simulator describes it. */
struct shape {
    double sets, line, ways;
    bool assumed; /* the description does not have the sets or the ways */
};

/* Limits of what is tried for a cache. Chosen: more than any GPU has. */
enum { MAX_WAYS = 65536, MAX_PARTS = 1024 };

/* The ways that are assumed for an L2 if the description does not have them. */
static const double assumed_l2_ways = 16;

static double number(const struct fth_accel *accel, const char *section, const char *name)
{
    return fth_config_number(&accel->config, section, name);
}

static const char *text(const struct fth_accel *accel, const char *section, const char *name)
{
    return fth_gpu_text(accel->config.gpu, section, name);
}

static bool equals(const char *value, const char *expected)
{
    return value && strcmp(value, expected) == 0;
}

/* Returns the line of an element, or computes it from its sets and ways; NAN: unknown. */
static double real_line(const struct fth_accel *accel, const char *element)
{
    const double line = number(accel, element, "line_bytes");
    return isnan(line) ? number(accel, element, "size_bytes") / number(accel, element, "sets") /
                             number(accel, element, "ways")
                       : line;
}

/* Returns the line with which an element is written: its own one, if the simulator supports it;
 * `assumed`, if it is not known. */
static double line_of(const struct fth_accel *accel, const char *element, double assumed)
{
    const double line = real_line(accel, element);
    return fmin(fmax(fth_is_power_of_two(line) ? line : assumed, FTH_ACCEL_SECTOR), FTH_ACCEL_LINE);
}

/* Returns the ways of an element; NAN: unknown, or more than a simulated cache can have. */
static double ways_of(const struct fth_accel *accel, const char *element)
{
    const double ways = number(accel, element, "ways");
    return ways <= MAX_WAYS ? ways : NAN;
}

/* Returns the sets and ways of a cache with this size and line. If its ways are not known, or need
 * a number of sets that is no power of two, takes `sets` of them, or fewer if they do not divide
 * the size. */
static struct shape shape_of(const struct fth_accel *accel, const char *element, double size,
                             double line, double sets)
{
    struct shape shape = {.line = line, .ways = ways_of(accel, element)};
    shape.sets = size / (line * shape.ways);
    if (fth_is_power_of_two(shape.sets))
        return shape;
    for (shape.sets = sets; shape.sets > 1 && fmod(size, line * shape.sets) != 0;)
        shape.sets /= 2;
    shape.ways = floor(size / (line * shape.sets));
    shape.assumed = true;
    return shape;
}

/* Returns the letter of a replacement policy. If the simulator does not have it, says so. */
static char replacement(struct fth_accel *accel, const char *element)
{
    const char *policy = text(accel, element, "policy");
    if (equals(policy, "fifo"))
        return 'F';
    if (policy && strcmp(policy, "lru") != 0)
        fth_config_comment(&accel->config,
                           "The replacement policy of %s is \"%s\". The simulator has LRU and "
                           "FIFO; this is LRU.",
                           element, policy);
    return 'L';
}

/* Returns the letter of an index function. If the simulator does not have it, says so. */
static char index_function(struct fth_accel *accel, const char *element)
{
    const char *index = text(accel, element, "index");
    if (equals(index, "xor"))
        return 'X';
    if ((index && strcmp(index, "mod") != 0) ||
        fth_gpu_attribute(accel->config.gpu, element, "set_masks"))
        fth_config_comment(&accel->config,
                           "The address bits that select a set of %s (%s) cannot be expressed; "
                           "this is the linear index.",
                           element, index ? index : "set_masks");
    return 'L';
}

/* Writes a cache: `tail` is what follows the replacement policy, with '%c' for the letter of the
 * index function. */
static void put_cache(struct fth_accel *accel, const char *key, char kind,
                      const struct shape *shape, const char *policies, const char *queues)
{
    char value[128];
    snprintf(value, sizeof value, "%c:%.0f:%.0f:%.0f,%s,%s", kind, shape->sets, shape->line,
             shape->ways, policies, queues);
    fth_config_put(&accel->config, key, value, shape->assumed ? "sets and ways are assumed" : NULL);
}

/* Says so if an element is written with another line than its own one. */
static void note_line(struct fth_accel *accel, const char *element, double line)
{
    const double real = real_line(accel, element);
    if (isnan(real))
        fth_config_comment(&accel->config, "The line of %s is not known; %.0f bytes are assumed.",
                           element, line);
    else if (real != line)
        fth_config_comment(&accel->config,
                           "%s has lines of %.0f bytes. The simulator does not support them; these "
                           "are lines of %.0f bytes.",
                           element, real, line);
}

/* AMD's vector L1, or the L1. */
const char *fth_accel_l1(const struct fth_accel *accel)
{
    return fth_gpu_find_section(accel->config.gpu, "vector_l1") ? "vector_l1" : "l1";
}

const char *fth_accel_shared(const struct fth_accel *accel)
{
    return fth_gpu_find_section(accel->config.gpu, "lds") ? "lds" : "shared";
}

/* Returns whether the L1 caches this kind of loads ("global", "local"); true if not known. */
static bool caches(const struct fth_accel *accel, const char *what)
{
    const struct fth_attribute *a =
        fth_gpu_attribute(accel->config.gpu, fth_accel_l1(accel), "caches");
    for (size_t i = 0; a && i < a->count; i++)
        if (strcmp(a->texts[i], what) == 0)
            return true;
    return !a;
}

/* Returns the carve-outs of shared memory if the simulator can choose among them: the L1 has the
 * rest of the unified memory, and all sizes are whole KiB. NULL: it cannot. */
static const struct fth_attribute *find_carveouts(const struct fth_accel *accel)
{
    const struct fth_attribute *a =
        fth_gpu_attribute(accel->config.gpu, fth_accel_shared(accel), "carveout_bytes");
    const double unified = number(accel, "l1", "unified_bytes"),
                 l1 = number(accel, "l1", "size_bytes");
    double least = INFINITY;
    if (!a || a->kind != FTH_NUMBERS || a->count == 0 || isnan(unified) || fmod(unified, 1024) != 0)
        return NULL;
    for (size_t i = 0; i < a->count; i++) {
        if (fmod(a->numbers[i], 1024) != 0 || a->numbers[i] > unified)
            return NULL;
        least = fmin(least, a->numbers[i]);
    }
    return l1 + least == unified ? a : NULL;
}

/* Writes the letters for replacement, writes, allocation and index of the L1. */
static void l1_policies(struct fth_accel *accel, bool sectored, char *policies, size_t size)
{
    const char *element = fth_accel_l1(accel);
    const char *hit = text(accel, element, "write_hit"), *miss = text(accel, element, "write_miss");
    const char rule = replacement(accel, element);
    const char index = index_function(accel, element);
    char write = accel->capability >= 70 || !accel->capability ? 'T' : 'L';
    char allocate = sectored ? 'L' : 'N';
    if (hit)
        write = strcmp(hit, "evict") == 0 ? 'E' : 'T';
    if (equals(miss, "allocate"))
        allocate = sectored ? 'L' : 'W';
    if (equals(miss, "no_allocate") || write == 'E')
        allocate = 'N';
    if (!hit || !miss)
        fth_config_comment(&accel->config,
                           "Policies of stores: the description does not have all of them; the "
                           "others are assumed.");
    snprintf(policies, size, "%c:%c:m:%c:%c", rule, write, allocate, index);
}

static void put_adaptive(struct fth_accel *accel, const struct fth_attribute *carveouts)
{
    struct fth_config *config = &accel->config;
    struct fth_buffer list = {0};
    for (size_t i = 0; i < carveouts->count; i++)
        fth_buffer_format(&list, "%s%.0f", i ? "," : "", carveouts->numbers[i] / 1024);
    fth_config_put(config, "-gpgpu_adaptive_cache_config", "1", NULL);
    fth_config_put(config, "-gpgpu_shmem_option", list.data ? list.data : "",
                   fth_config_source(config, fth_accel_shared(accel), "carveout_bytes"));
    fth_config_put_number(config, "-gpgpu_unified_l1d_size",
                          number(accel, "l1", "unified_bytes") / 1024,
                          fth_config_source(config, "l1", "unified_bytes"));
    config->out->failed = config->out->failed || list.failed;
    fth_buffer_fini(&list);
}

void fth_accel_put_l1(struct fth_accel *accel)
{
    struct fth_config *config = &accel->config;
    const char *element = fth_accel_l1(accel);
    const struct fth_attribute *carveouts = find_carveouts(accel);
    const double size =
        carveouts ? number(accel, "l1", "unified_bytes") : number(accel, element, "size_bytes");
    const double per_sm = number(accel, element, "per_sm");
    fth_config_heading(config, "L1 data cache");
    const bool used = caches(accel, "global") || caches(accel, "local");
    if (isnan(size) || !used) {
        fth_config_comment(config, used ? "The size of the L1 is not known."
                                        : "The L1 caches neither global nor local memory.");
        fth_config_put(config, "-gpgpu_cache:dl1", "none", NULL);
        return;
    }
    const double line = line_of(accel, element, FTH_ACCEL_LINE);
    const bool sectored = line == FTH_ACCEL_LINE && number(accel, element, "sector_bytes") == 32;
    struct shape shape = shape_of(accel, element, size, line, sectored || carveouts ? 4 : 32);
    const double sets = number(accel, element, "sets");
    /* The ways of the description are those of one carve-out. */
    if (carveouts && fth_is_power_of_two(sets) && fmod(size, line * sets) == 0)
        shape = (struct shape){.sets = sets, .line = line, .ways = size / (line * sets)};
    if (per_sm > 1)
        fth_config_comment(config,
                           "An SM has %.0f such caches. The simulator has one per SM; this is "
                           "one of them.",
                           per_sm);
    note_line(accel, element, line);
    if (carveouts)
        put_adaptive(accel, carveouts);
    else if (fth_gpu_attribute(config->gpu, fth_accel_shared(accel), "carveout_bytes"))
        fth_config_comment(config, "The GPU can divide its memory between L1 and shared memory in "
                                   "other ways; here the sizes are fixed.");
    char policies[32], queues[64];
    const double misses = number(accel, "device", "sectors_in_flight_per_sm");
    l1_policies(accel, sectored, policies, sizeof policies);
    snprintf(queues, sizeof queues, "%c:%.0f:8,16:0,32",
             sectored || !accel->sectored_l2 ? 'A' : 'S', isnan(misses) ? 512 : misses);
    if (isnan(misses))
        fth_config_comment(config, "MSHRs (512, of up to 8 merged requests) and the miss queue "
                                   "(16) are assumed.");
    put_cache(accel, "-gpgpu_cache:dl1", sectored ? 'S' : 'N', &shape, policies, queues);
    if (!caches(accel, "global"))
        fth_config_put(config, "-gpgpu_gmem_skip_L1D", "1", "loads of global memory bypass the L1");
    fth_config_put(config, "-gpgpu_flush_l1_cache", "1", "assumed: after each kernel");
    fth_config_put_number(config, "-gpgpu_l1_latency",
                          round(number(accel, element, "latency_cycles")),
                          fth_config_source(config, element, "latency_cycles"));
}

/* What is assumed about a cache for reads only, and the letters and numbers behind its policy. */
struct read_only {
    const char *key, *element;
    double size, line, sets;
    const char *policies;
    const char *queues;   /* behind the letter of the MSHRs */
    char sectored, whole; /* this letter, for an L2 with and without sectors */
};

static void put_read_only(struct fth_accel *accel, const struct read_only *cache)
{
    const double real = number(accel, cache->element, "size_bytes");
    const double size = isnan(real) ? cache->size : real;
    const double line = isnan(real) ? cache->line : line_of(accel, cache->element, cache->line);
    const struct shape shape = shape_of(accel, cache->element, size, line, cache->sets);
    char letters[32], queues[32];
    if (isnan(real))
        fth_config_comment(&accel->config,
                           "The size of this cache is not known; %.0f bytes are assumed.", size);
    else
        note_line(accel, cache->element, line);
    snprintf(letters, sizeof letters, "%c:%s", replacement(accel, cache->element), cache->policies);
    snprintf(queues, sizeof queues, "%c:%s", accel->sectored_l2 ? cache->sectored : cache->whole,
             cache->queues);
    put_cache(accel, cache->key, 'N', &shape, letters, queues);
}

void fth_accel_put_read_only(struct fth_accel *accel)
{
    struct fth_config *config = &accel->config;
    const bool scalar = fth_gpu_find_section(config->gpu, "scalar_l1");
    const struct read_only constant = {"-gpgpu_const_cache:l1",
                                       scalar ? "scalar_l1" : "constant_l1",
                                       2048,
                                       64,
                                       8,
                                       "R:f:N:L",
                                       "2:64,4",
                                       'S',
                                       'A'};
    static const struct read_only instruction = {
        "-gpgpu_cache:il1", "instruction_l1", 131072, 128, 64, "R:f:N:L", "2:48,4", 'S', 'A'};
    static const struct read_only texture = {
        "-gpgpu_tex_cache:l1", "texture", 24576, 128, 4, "R:m:N:L", "512:8,128:2", 'T', 'F'};
    fth_config_heading(config, "Caches for reads only. The other policies and the queues are "
                               "assumed. Misses go to the L2, without an L1.5.");
    put_read_only(accel, &constant);
    put_read_only(accel, &instruction);
    if (fth_gpu_attribute(config->gpu, "texture", "shared_with"))
        fth_config_comment(config, "The texture cache shares its storage with other caches; the "
                                   "simulator has a separate one.");
    put_read_only(accel, &texture);
}

/* Returns how far apart two positive numbers are, by their ratio. */
static double ratio(double a, double b)
{
    return fabs(log2(a / b));
}

/* Divides an L2 with this number of lines among sub-partitions: about `wanted` of them, so that
 * each has a number of sets that is a power of two. `ways` NAN: chooses the ways, about
 * assumed_l2_ways. Returns the number of sub-partitions; 0: there is none. */
static double divide_l2(double lines, double wanted, double ways, struct shape *shape)
{
    const unsigned first = isnan(ways) ? 1 : (unsigned)ways, last = isnan(ways) ? 64 : first;
    double best = 0;
    for (unsigned parts = 1; parts <= 4 * wanted; parts++) {
        for (unsigned w = first; w <= last; w++) {
            const double sets = lines / ((double)parts * w);
            const bool nearer = best == 0 || ratio(parts, wanted) < ratio(best, wanted);
            const bool better =
                parts == best && ratio(w, assumed_l2_ways) < ratio(shape->ways, assumed_l2_ways);
            if (!fth_is_power_of_two(sets) || (!nearer && !better))
                continue;
            best = parts;
            shape->ways = w;
            shape->sets = sets;
        }
    }
    return best;
}

/* Returns about how many sub-partitions the L2 has, and says why: its slices, two per memory
 * channel, or 16. */
static double wanted_parts(struct fth_accel *accel, double instances)
{
    const double slices = number(accel, "l2", "slices");
    const double bus = number(accel, "device", "memory_bus_bits");
    if (!isnan(slices)) {
        fth_config_comment(&accel->config, "Slices of the L2: %.0f.", slices * instances);
        return slices * instances;
    }
    if (!isnan(bus) && bus >= 32) {
        const double width = bus >= 1024 ? 128 : 32;
        fth_config_comment(&accel->config,
                           "The slices of the L2 are not known. Assumed: two per memory channel "
                           "of %.0f bits, of which the bus of %.0f bits has %.0f.",
                           width, bus, floor(bus / width));
        return 2 * floor(bus / width);
    }
    fth_config_comment(&accel->config, "The slices of the L2 are not known. Assumed: 16.");
    return 16;
}

/* Writes the letters for replacement, writes, allocation and index of the L2. */
static void l2_policies(struct fth_accel *accel, char *policies, size_t size)
{
    char allocate = accel->sectored_l2 ? 'L' : 'W';
    if (equals(text(accel, "l2", "partial_write"), "fetch"))
        allocate = 'F';
    if (equals(text(accel, "l2", "write_miss"), "no_allocate"))
        allocate = 'N';
    const char rule = replacement(accel, "l2");
    snprintf(policies, size, "%c:B:m:%c:%c", rule, allocate, index_function(accel, "l2"));
}

/* Chooses how the L2 is divided, and notes where this differs from the description. */
static struct shape shape_l2(struct fth_accel *accel, double size, double instances)
{
    const double line = FTH_ACCEL_LINE, ways = ways_of(accel, "l2");
    struct shape shape = {.line = line};
    const double wanted = fmin(wanted_parts(accel, instances), MAX_PARTS);
    double parts = divide_l2(size / line, wanted, ways, &shape);
    if (parts == 0) {
        fth_config_comment(&accel->config,
                           "No number of sub-partitions gives this size with a number of sets that "
                           "is a power of two; the L2 is smaller here.");
        parts = wanted;
        shape.ways = isnan(ways) ? assumed_l2_ways : ways;
        shape.sets = exp2(fmax(0, floor(log2(size / (line * parts * shape.ways)))));
    } else if (parts != wanted) {
        fth_config_comment(&accel->config,
                           "%.0f sub-partitions give the size and the ways of the L2 with a number "
                           "of sets that is a power of two.",
                           parts);
    }
    shape.assumed = isnan(ways);
    accel->halves = fmod(parts, 2) == 0 ? 2 : 1;
    accel->controllers = parts / accel->halves;
    return shape;
}

/* Notes what the simulator's L2 does not have. */
static void note_l2(struct fth_accel *accel, double instances)
{
    struct fth_config *config = &accel->config;
    const double line = number(accel, "l2", "line_bytes");
    const double partitions = number(accel, "l2", "partitions");
    if (instances > 1)
        fth_config_comment(config,
                           "The GPU has %.0f L2 caches, each for some of its SMs. The simulator "
                           "has one for all SMs; this is their sum.",
                           instances);
    if (partitions > 1)
        fth_config_comment(config,
                           "The L2 has %.0f partitions, and lines in the far one take longer. The "
                           "simulator's L2 has the same latency for all SMs: that of near lines.",
                           partitions);
    if (line < FTH_ACCEL_LINE)
        fth_config_comment(config,
                           "The L2 has lines of %.0f bytes. They are written as sectors: lines of "
                           "128 bytes of which 32 are fetched.",
                           line);
    else
        note_line(accel, "l2", FTH_ACCEL_LINE);
}

void fth_accel_put_l2(struct fth_accel *accel)
{
    struct fth_config *config = &accel->config;
    const double instances = fth_gpu_number(config->gpu, "l2", "instances", 1);
    double size = instances * number(accel, "l2", "size_bytes");
    fth_config_heading(config, "L2");
    if (isnan(size)) {
        size = 4194304;
        fth_config_comment(config, "The size of the L2 is not known. Assumed: 4 MiB.");
    }
    note_l2(accel, instances);
    const struct shape shape = shape_l2(accel, size, instances);
    const double parts = accel->controllers * accel->halves;
    fth_config_put_number(config, "-gpgpu_n_mem", accel->controllers, NULL);
    fth_config_put_number(config, "-gpgpu_n_sub_partition_per_mchannel", accel->halves, NULL);
    char policies[32];
    l2_policies(accel, policies, sizeof policies);
    fth_config_comment(config,
                       "Per sub-partition; together %.0f bytes. MSHRs and queues are assumed.",
                       parts * shape.sets * shape.ways * shape.line);
    put_cache(accel, "-gpgpu_cache:dl2", accel->sectored_l2 ? 'S' : 'N', &shape, policies,
              "A:192:4,32:0,32");
    fth_config_put(config, "-gpgpu_cache:dl2_texture_only", "0", NULL);
    if (!fth_gpu_attribute(config->gpu, "l2", "slice_masks"))
        return;
    /* The hash of the simulator supports these numbers of sub-partitions. */
    const double banks = exp2(ceil(log2(accel->controllers))) * accel->halves;
    if (banks == 16 || banks == 32 || banks == 64)
        fth_config_put(config, "-gpgpu_memory_partition_indexing", "2",
                       "the slices are hashed, by other bits than here");
    else
        fth_config_comment(config, "The hash that selects the slice cannot be expressed; the "
                                   "sub-partitions are interleaved.");
}
