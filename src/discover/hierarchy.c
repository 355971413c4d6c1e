/* The stages for devices whose caches are measured by whole passes over chains: CPUs, and GPUs of
 * other vendors than NVIDIA. docs/methods/hierarchy.md describes the method. */
#include "discover/discover.h"
#include "probe/hierarchy/probe_hierarchy.h"

#include <math.h>
#include <string.h>

enum {
    MAX_CACHES = 4,         /* that have a name */
    MAX_ELEMENTS = 1 << 22, /* of a chain: a pass takes at most 2^32 cycles, those of a sample */
    SIM_MAX_ELEMENTS = 1 << 16,     /* of a chain on a simulated device, where they take long */
    MAX_EDGE_ELEMENTS = 1 << 16,    /* of a cache whose size is searched exactly, ... */
    SIM_MAX_EDGE_ELEMENTS = 1 << 13 /* ... on a simulated device */
};
/* Attempts to measure the line of the first cache, which the rest depends on: times as many rounds
 * in each. Chosen: with 8, a quarter of the rounds has 16 samples, whose mean has a quarter of the
 * error of one. */
static const unsigned line_factors[] = {1, 8, FTH_MAX_LINE_FACTOR};
/* The largest footprint in bytes, and as a fraction of the memory. */
static const uint64_t max_footprint_bytes = (uint64_t)1 << 30;
static const double memory_fraction = 1.0 / 8;
/* Parts of the rise between two levels that limit the size of a cache with a gradual edge. */
static const double rise_begins = 0.03, rise_ends = 0.97;
/* Cost of TLB misses that the note of a latency mentions, as a fraction of the latency. */
static const double mentioned_tlb_fraction = 0.03;

/* Maximum ratio of the footprints and of the latencies at the ends of the rise between two caches.
 * Chosen: caches with scattered pages or random replacement miss with nearly all loads at four
 * times the size, and no cache is eight times as slow as the one before. */
static const double max_rise_width = 4.8, max_rise_height = 8;
/* Confidence below which a latency is reported as unknown. Chosen. */
static const double min_latency_confidence = 0.5;
/* Relative increase of the latency per doubling of the footprint up to which a plateau is flat.
 * Chosen. */
static const double flat_slope = 0.08;
/* The same up to which the cache before it has no hits left. If that cache has random replacement,
 * it still has some at several times its size, which make the latency too low by one or two
 * percent. Chosen: less than the error that the closure tests permit. */
static const double certain_slope = 0.003;
/* Maximum confidence of the latency of an L3, and of one that may be too low. Chosen. */
static const double l3_confidence = 0.8, low_confidence = 0.8;
/* Maximum relative difference between the latencies with all lines and with every second one. */
static const double max_sparse_difference = 0.05;
/* The same between the latencies of a level at a footprint and at a smaller one. Chosen: less than
 * the error that the closure tests permit. */
static const double max_smaller_difference = 0.005;

/* Footprint of loads past the first cache: small, so that no TLB and no other cache than the L2
 * matters. The minimum ratio of their latency and that of the first cache, as of two levels. */
static const uint64_t past_bytes = 16 << 10;
static const double min_past_ratio = 1.25;
static const char past_method[] =
    "whole passes over a chain in pseudo-random order with loads past "
    "the first cache, warm caches";

static const char hidden_ways[] = "the first cache hides whether few elements fit";
static const char pass_method[] = "whole passes over a chain in pseudo-random order, warm caches";

/* What the stages know of the hierarchy along one path. */
struct walk_through {
    struct fth_discovery *discovery;
    bool is_cpu, is_amd;
    bool is_nvidia;     /* L1 and shared memory share storage, and a load brings a part of a line */
    uint64_t max_bytes; /* the largest footprint */
    uint64_t max_edge_elements; /* lines of a cache whose size is searched */
    bool hides;      /* a level seems to be hidden, so that the names of later ones are not known */
    bool is_limited; /* larger footprints would take too long */
    struct fth_first_cache first;
    struct fth_hierarchy_line line;
    struct fth_curve curve;
    struct fth_hierarchy hierarchy;
    const char *names[MAX_CACHES + 1]; /* of the caches; the last one is NULL */
    size_t caches;
};

/* ---- writing ---- */

static bool wants(const struct walk_through *walk, const char *element)
{
    return fth_discovery_wants(walk->discovery, element);
}

/* Writes the failure of a probe if the element is to be measured; otherwise clears the error. */
static enum fth_status note_failure(const struct walk_through *walk, const char *element,
                                    const char *attribute, enum fth_status status,
                                    struct fth_error *error)
{
    if (wants(walk, element) || (status != FTH_INCONCLUSIVE && status != FTH_UNSUPPORTED))
        return fth_note_failure(walk->discovery->gpu, element, attribute, status, error);
    if (error)
        *error = FTH_NO_ERROR;
    return FTH_OK;
}

/* Writes a number with its evidence, if the element is to be measured. */
static enum fth_status note_number(const struct walk_through *walk, const char *element,
                                   const char *attribute, uint64_t number,
                                   const struct fth_evidence *evidence, size_t samples,
                                   const char *method, struct fth_error *error)
{
    return wants(walk, element) ? fth_note_number(walk->discovery->gpu, element, attribute, number,
                                                  evidence, samples, method, error)
                                : FTH_OK;
}

/* ---- names ---- */

/* Whether another level may be between two: the rise between them is too wide or too high for one
 * cache. */
static bool hides_level(const struct fth_hierarchy_level *near,
                        const struct fth_hierarchy_level *far)
{
    return (double)far->low_bytes > max_rise_width * (double)near->high_bytes ||
           far->cycles > max_rise_height * near->cycles;
}

/* Names the caches in the order of their latency. AMD calls the cache of a compute unit L0 or
 * vector L1; where there are four caches, the second one is the L1 of a shader array. */
static void name_caches(struct walk_through *walk)
{
    static const char *const other[MAX_CACHES] = {"l1", "l2", "l3", NULL},
                             *const amd[MAX_CACHES] = {"vector_l1", "l2", "l3", NULL},
                             *const four[MAX_CACHES] = {"vector_l1", "l1", "l2", "l3"};
    const size_t levels = walk->hierarchy.count;
    walk->caches = walk->hierarchy.complete && levels ? levels - 1 : levels;
    const char *const *names = !walk->is_amd ? other : walk->caches > 3 ? four : amd;
    for (size_t i = 0; i < MAX_CACHES; i++)
        walk->names[i] = names[i];
    for (size_t i = 1; i < walk->caches; i++)
        if (hides_level(&walk->hierarchy.levels[i - 1], &walk->hierarchy.levels[i])) {
            walk->hides = true;
            walk->caches = i;
        }
    /* If the curve does not reach the memory, the second cache of an AMD GPU can be the L1 of a
     * shader array or the L2. */
    if (walk->is_amd && walk->caches > 1 && !walk->hierarchy.complete)
        walk->caches = 1;
    while (walk->caches && (walk->caches > MAX_CACHES || !walk->names[walk->caches - 1]))
        walk->caches--;
}

static const char *first_name(const struct walk_through *walk)
{
    return walk->is_amd ? "vector_l1" : "l1";
}

/* ---- latencies ---- */

/* Returns the footprint with which the latency of a level is measured. */
static uint64_t footprint_of(const struct walk_through *walk,
                             const struct fth_hierarchy_level *level, bool is_memory)
{
    if (is_memory)
        return level->high_bytes;
    return level == walk->hierarchy.levels ? FTH_MIN(level->bytes, walk->first.edge_bytes / 2)
                                           : level->bytes;
}

/* Clears *steady if a smaller footprint gives a lower latency than `cycles`: some loads hit the
 * cache before the level then. */
static enum fth_status check_smaller(const struct walk_through *walk, uint64_t stride,
                                     uint64_t bytes, double cycles, bool *steady,
                                     struct fth_error *error)
{
    struct fth_figure smaller;
    FTH_TRY(fth_probe_level_latency(&walk->discovery->prober, &walk->first, stride, bytes, &smaller,
                                    error));
    *steady = *steady && smaller.value >= cycles * (1 - max_smaller_difference);
    return FTH_OK;
}

/* Compares the latency of the first cache with that of the first probe, whose chains are whole
 * groups of loads. If they differ, the loads behind the last group may take longer, so that it
 * measures a chain without them, of at least one group. *bytes: the footprint. */
static enum fth_status check_first(const struct walk_through *walk, uint64_t *bytes,
                                   struct fth_figure *figure, bool *steady, struct fth_error *error)
{
    const double expected = walk->first.hit_cycles;
    const uint64_t group_bytes = FTH_PASS_GROUP * walk->line.bytes;
    if (fabs(expected - figure->value) > max_sparse_difference * figure->value &&
        group_bytes <= walk->first.edge_bytes / 2) {
        *bytes = *bytes < group_bytes ? group_bytes : *bytes / group_bytes * group_bytes;
        FTH_TRY(fth_probe_level_latency(&walk->discovery->prober, &walk->first, walk->line.bytes,
                                        *bytes, figure, error));
    }
    *steady = *steady && fabs(expected - figure->value) <= max_sparse_difference * figure->value;
    return FTH_OK;
}

/* Measures a level again with every second line. On a CPU, a prefetcher that fetches pairs of lines
 * makes loads of all lines faster: clears *steady. On a GPU, the cache before the level may have
 * longer lines than the first cache. A load of the second half of a line hits it then if the first
 * half was loaded not long before, and only loads of every second line have the latency of the
 * level. */
static enum fth_status check_sparse(const struct walk_through *walk,
                                    const struct fth_hierarchy_level *level, uint64_t *bytes,
                                    struct fth_figure *figure, bool *steady,
                                    struct fth_error *error)
{
    struct fth_figure sparse;
    const double cycles = figure->value;
    if (level->bytes < walk->first.edge_bytes)
        return check_first(walk, bytes, figure, steady, error);
    if (walk->is_cpu ? !*steady : level < walk->hierarchy.levels + 2)
        return FTH_OK;
    FTH_TRY(fth_probe_level_latency(&walk->discovery->prober, &walk->first, 2 * walk->line.bytes,
                                    level->bytes, &sparse, error));
    if (walk->is_cpu) {
        *steady = fabs(sparse.value - cycles) <= max_sparse_difference * cycles;
        return FTH_OK;
    }
    if (sparse.value <= cycles)
        return FTH_OK;
    *figure = sparse;
    if (*steady)
        return FTH_OK;
    *steady = true; /* the curve has loads of all lines */
    return check_smaller(walk, 2 * walk->line.bytes, level->bytes / 4 * 3, sparse.value, steady,
                         error);
}

/* Measures the latency of a level again. That of a cache is measured in the middle of its plateau.
 * For the memory, the chain has every second line, because the last cache may have longer lines
 * than the first one, and the largest footprint, because with random replacement some loads hit the
 * last cache long after its size. *bytes: the footprint. *steady: a smaller footprint gives the
 * same latency. */
static enum fth_status measure_level(const struct walk_through *walk,
                                     const struct fth_hierarchy_level *level, bool is_memory,
                                     uint64_t *bytes, struct fth_figure *figure, bool *steady,
                                     struct fth_error *error)
{
    const struct fth_prober *prober = &walk->discovery->prober;
    const uint64_t stride = walk->line.bytes * (is_memory ? 2 : 1);
    *bytes = footprint_of(walk, level, is_memory);
    FTH_TRY(fth_probe_level_latency(prober, &walk->first, stride, *bytes, figure, error));
    *steady = level->slope <= flat_slope;
    if (!is_memory)
        return check_sparse(walk, level, bytes, figure, steady, error);
    const bool flat = *steady;
    *steady = flat || !walk->is_cpu;
    FTH_TRY(check_smaller(walk, stride, level->high_bytes / 4 * 3, figure->value, steady, error));
    /* The curve has loads of all lines, of which fewer hit longer lines of the last cache as the
     * footprint grows. The chains here do not. */
    return flat || !*steady
               ? FTH_OK
               : check_smaller(walk, stride, level->high_bytes / 2, figure->value, steady, error);
}

/* Measures and writes the latency of a level. */
static enum fth_status find_latency(const struct walk_through *walk, const char *element,
                                    const struct fth_hierarchy_level *level,
                                    struct fth_error *error)
{
    struct fth_figure figure;
    char note[256];
    if (!wants(walk, element))
        return FTH_OK;
    const bool is_memory = strcmp(element, "memory") == 0;
    bool steady = false;
    uint64_t bytes = 0;
    enum fth_status status = measure_level(walk, level, is_memory, &bytes, &figure, &steady, error);
    if (status != FTH_OK)
        return note_failure(walk, element, "latency_cycles", status, error);
    if (figure.confidence < min_latency_confidence)
        return fth_note_unknown(walk->discovery->gpu, element, "latency_cycles",
                                "repeated measurements disagree: other programs use the device",
                                error);
    if (!steady) {
        char reason[128];
        fth_format(reason, sizeof reason, "it depends on the footprint: %.1f cycles at %.0f KiB",
                   figure.value, (double)bytes / 1024);
        return fth_note_unknown(walk->discovery->gpu, element, "latency_cycles", reason, error);
    }
    /* Behind the second cache, the name of a level depends on levels that noise may hide. */
    if (strcmp(element, "l3") == 0)
        figure.confidence = fmin(figure.confidence, l3_confidence);
    const bool rises =
        !is_memory && level != walk->hierarchy.levels && level->slope > certain_slope;
    if (rises)
        figure.confidence = fmin(figure.confidence, low_confidence);
    int length = fth_format(note, sizeof note, "at a footprint of %.0f KiB", (double)bytes / 1024);
    if (level->tlb_cycles > mentioned_tlb_fraction * level->cycles)
        length += fth_format(note + length, sizeof note - (size_t)length,
                             "; TLB misses cause about %.0f cycles", level->tlb_cycles);
    if (rises)
        length += fth_format(note + length, sizeof note - (size_t)length,
                             "; it rises slightly with the footprint");
    if (is_memory)
        fth_format(note + length, sizeof note - (size_t)length,
                   "; a cache of more than %.0f MiB would look like the memory",
                   (double)level->high_bytes / 1048576);
    figure.note = note;
    return fth_note(walk->discovery->gpu,
                    &(struct fth_note){.element = element,
                                       .attribute = "latency_cycles",
                                       .figure = &figure,
                                       .method = pass_method},
                    error);
}

static enum fth_status find_latencies(const struct walk_through *walk, struct fth_error *error)
{
    const struct fth_hierarchy *hierarchy = &walk->hierarchy;
    for (size_t i = 0; i < walk->caches; i++)
        FTH_TRY(find_latency(walk, walk->names[i], &hierarchy->levels[i], error));
    if (walk->hides && walk->names[walk->caches] && wants(walk, walk->names[walk->caches]))
        FTH_TRY(
            fth_note_unknown(walk->discovery->gpu, walk->names[walk->caches], "latency_cycles",
                             "the latency rises over a wide range of footprints; a level may be "
                             "hidden",
                             error));
    if (!wants(walk, "memory"))
        return FTH_OK;
    if (hierarchy->complete && hierarchy->count > 1 && !hierarchy->too_many)
        return find_latency(walk, "memory", &hierarchy->levels[hierarchy->count - 1], error);
    return fth_note_unknown(walk->discovery->gpu, "memory", "latency_cycles",
                            walk->is_limited ? "larger footprints take too long on a simulated "
                                               "device"
                            : hierarchy->count > 1 && !hierarchy->complete
                                ? "the latency still rises at the largest footprint"
                                : "the latency curve does not show where the memory begins",
                            error);
}

/* ---- past the first cache ---- */

/* Measures the latency of the L2 with loads that the first cache does not serve, if the curve does
 * not show it. CPUs and Intel's GPUs have no such loads, simulated devices do not have all caches
 * that such loads of an AMD GPU pass, and recordings of older versions do not have the samples. */
static enum fth_status find_past(const struct walk_through *walk, struct fth_error *error)
{
    struct fth_gpu *gpu = walk->discovery->gpu;
    struct fth_first_cache past = walk->first;
    struct fth_error fault = FTH_NO_ERROR;
    struct fth_figure figure;
    past.path = FTH_PATH_CG;
    if (walk->is_cpu || walk->discovery->simulated || !wants(walk, "l2") ||
        fth_gpu_attribute(gpu, "l2", "latency_cycles") ||
        !fth_gpu_text(gpu, "device", "unit_source"))
        return FTH_OK;
    enum fth_status status = fth_probe_level_latency(&walk->discovery->prober, &past,
                                                     walk->line.bytes, past_bytes, &figure, &fault);
    if (status == FTH_UNSUPPORTED || status == FTH_INCONCLUSIVE)
        return FTH_OK; /* the reason of the curve remains */
    if (status != FTH_OK)
        return fth_error_move(error, &fault);
    if (figure.confidence < min_latency_confidence ||
        figure.value < min_past_ratio * walk->first.hit_cycles)
        return FTH_OK;
    figure.note = "loads past the first cache";
    return fth_note(gpu,
                    &(struct fth_note){.element = "l2",
                                       .attribute = "latency_cycles",
                                       .figure = &figure,
                                       .method = past_method},
                    error);
}

/* ---- sizes ---- */

/* Writes why the size of a cache is unknown, and the range that it may be in. */
static enum fth_status note_range(const struct walk_through *walk, size_t index, const char *cause,
                                  struct fth_error *error)
{
    const struct fth_hierarchy_level *level = &walk->hierarchy.levels[index];
    char reason[256];
    if (index + 1 >= walk->hierarchy.count)
        fth_format(reason, sizeof reason, "%s", cause);
    else {
        const double rise = level[1].cycles - level->cycles;
        fth_format(
            reason, sizeof reason, "%s; the latency rises between %.0f and %.0f KiB", cause,
            (double)fth_curve_reaches(&walk->curve, level->cycles + rise_begins * rise) / 1024,
            (double)fth_curve_reaches(&walk->curve, level->cycles + rise_ends * rise) / 1024);
    }
    return wants(walk, walk->names[index])
               ? fth_note_unknown(walk->discovery->gpu, walk->names[index], "size_bytes", reason,
                                  error)
               : FTH_OK;
}

/* Measures ways and sets. *confirmed: they agree with the size. */
static enum fth_status find_ways(const struct walk_through *walk, size_t index,
                                 const struct fth_edge_plan *plan, uint64_t size_bytes,
                                 bool *confirmed, struct fth_error *error)
{
    static const char method[] = "elements that fit at strides of half, once and twice a way";
    const char *element = walk->names[index];
    struct fth_hierarchy_ways ways;
    enum fth_status status =
        fth_probe_hierarchy_ways(&walk->discovery->prober, plan, size_bytes, &ways, error);
    *confirmed = status == FTH_OK;
    if (status != FTH_OK)
        return note_failure(walk, element, "ways", status, error);
    FTH_TRY(
        note_number(walk, element, "ways", ways.ways, &ways.evidence, ways.samples, method, error));
    return note_number(walk, element, "sets", ways.sets, &ways.evidence, ways.samples, method,
                       error);
}

/* Whether a number is a power of two. */
static bool is_power_of_two(uint64_t number)
{
    return number && (number & (number - 1)) == 0;
}

/* Writes an exact size. Another hardware thread or another virtual machine can take a part of a
 * CPU's cache, and a processor can restrict a program to some of the ways. Both look like a smaller
 * cache. So a size has a doubt unless the ways confirm it, and behind the first cache a size that
 * is not a power of two is rejected. */
static enum fth_status note_size(const struct walk_through *walk, size_t index,
                                 struct fth_edge *edge, bool confirmed, struct fth_error *error)
{
    if (walk->is_cpu && index > 0 && !is_power_of_two(edge->bytes)) {
        char reason[160];
        fth_format(reason, sizeof reason,
                   "misses begin at %.0f KiB, which may be a part of the cache: others may use the "
                   "rest",
                   (double)edge->bytes / 1024);
        return note_range(walk, index, reason, error);
    }
    if (walk->is_cpu && (index > 0 || !confirmed))
        edge->evidence.doubt = index > 0 ? "others may use a part of the cache"
                                         : "the number of ways does not confirm it";
    return note_number(walk, walk->names[index], "size_bytes", edge->bytes, &edge->evidence,
                       edge->samples, "the footprint at which misses begin, in different memory",
                       error);
}

/* Plans the search for the size of a cache that is not the last level. Behind the second cache of a
 * GPU, the elements are as far apart as the line of the cache before it, which may be longer than
 * that of the first one, and the latencies are those that were measured with such chains. */
static struct fth_edge_plan plan_edge(const struct walk_through *walk, size_t index)
{
    const struct fth_hierarchy_level *level = &walk->hierarchy.levels[index];
    const struct fth_gpu *gpu = walk->discovery->gpu;
    const double rise = level[1].cycles - level->cycles;
    struct fth_edge_plan plan = {.first = &walk->first,
                                 .line_bytes = walk->line.bytes,
                                 .edge_bytes =
                                     fth_curve_reaches(&walk->curve, level->cycles + rise / 10),
                                 .hit_cycles = level->cycles,
                                 .miss_cycles = level[1].cycles};
    if (index == 0) {
        plan.edge_bytes = walk->first.edge_bytes;
        plan.hit_cycles = walk->first.hit_cycles;
        plan.any_size = walk->is_nvidia;
    }
    const double line =
        index > 1 ? fth_gpu_number(gpu, walk->names[index - 1], "line_bytes", 0) : 0;
    const char *next = index + 1 < walk->caches ? walk->names[index + 1] : "memory";
    const double hit = fth_gpu_number(gpu, walk->names[index], "latency_cycles", NAN),
                 miss = fth_gpu_number(gpu, next, "latency_cycles", level[1].cycles);
    if (!walk->is_cpu && line > (double)walk->line.bytes && hit < miss) {
        plan.line_bytes = (uint64_t)line;
        plan.hit_cycles = hit;
        plan.miss_cycles = miss;
    }
    return plan;
}

/* Measures size, ways and sets of a cache. */
static enum fth_status find_size(const struct walk_through *walk, size_t index,
                                 struct fth_error *error)
{
    struct fth_edge edge;
    bool confirmed = false;
    const char *element = walk->names[index];
    if (index > 0) {
        FTH_TRY(fth_note_unknown(walk->discovery->gpu, element, "ways", hidden_ways, error));
        FTH_TRY(fth_note_unknown(walk->discovery->gpu, element, "sets", hidden_ways, error));
    }
    if (index + 1 >= walk->hierarchy.count)
        return note_range(walk, index, "no larger footprint shows the level behind it", error);
    const struct fth_edge_plan plan = plan_edge(walk, index);
    if (plan.edge_bytes / plan.line_bytes > walk->max_edge_elements)
        return note_range(walk, index, "the cache is too large to search its exact size", error);
    enum fth_status status = fth_probe_edge(&walk->discovery->prober, &plan, &edge, error);
    if (status == FTH_INCONCLUSIVE) {
        char cause[sizeof error->cause] = "inconclusive";
        if (error) {
            memcpy(cause, error->cause, sizeof cause);
            *error = FTH_NO_ERROR;
        }
        return note_range(walk, index, cause, error);
    }
    if (status != FTH_OK)
        return status;
    if (plan.any_size) {
        char reason[160];
        fth_format(reason, sizeof reason,
                   "%.0f KiB fit, but the rest may be shared memory: the driver chooses how they "
                   "divide their storage",
                   (double)edge.bytes / 1024);
        return note_range(walk, index, reason, error);
    }
    if (plan.line_bytes > walk->line.bytes)
        edge.evidence.doubt = "its lines may be shorter than those of the cache before it";
    if (index == 0)
        FTH_TRY(find_ways(walk, index, &plan, edge.bytes, &confirmed, error));
    return note_size(walk, index, &edge, confirmed, error);
}

/* ---- lines ---- */

/* Lines of CPUs are not longer: most have 64 or 128 bytes, those of IBM Z 256. */
enum { MAX_CPU_LINE_BYTES = 256 };

/* Writes what a load brings into a cache: its line, unless the caches have sectors. */
static enum fth_status note_line(const struct walk_through *walk, const char *element,
                                 struct fth_hierarchy_line *line, struct fth_error *error)
{
    if (walk->is_cpu && line->bytes > MAX_CPU_LINE_BYTES)
        line->evidence.doubt = "no CPU has lines of this length; it may fetch several at a time";
    if (walk->is_nvidia)
        FTH_TRY(fth_note_unknown(walk->discovery->gpu, element, "line_bytes",
                                 "a load brings a sector; the line may have several", error));
    return note_number(walk, element, walk->is_nvidia ? "fill_bytes" : "line_bytes", line->bytes,
                       &line->evidence, line->samples, "bytes that a load brings into the cache",
                       error);
}

/* Measures the line of a cache behind the first one. */
static enum fth_status find_line(const struct walk_through *walk, size_t index,
                                 struct fth_error *error)
{
    const struct fth_hierarchy_level *level = &walk->hierarchy.levels[index];
    struct fth_hierarchy_line line;
    const char *element = walk->names[index];
    if (!wants(walk, element) || index + 1 >= walk->hierarchy.count)
        return FTH_OK;
    const double rise = level[1].cycles - level->cycles;
    const struct fth_hierarchy_line_plan plan = {
        .first = &walk->first,
        .hit_cycles = level->cycles,
        .miss_cycles = level[1].cycles,
        .size_bytes = fth_curve_reaches(&walk->curve, level->cycles + rise / 2),
        .smallest_bytes = walk->line.bytes,
        .has_prefetchers = walk->is_cpu};
    if (plan.size_bytes / walk->line.bytes > walk->max_edge_elements)
        return fth_note_unknown(walk->discovery->gpu, element, "line_bytes",
                                "the cache is too large to flush it", error);
    enum fth_status status =
        fth_probe_hierarchy_line(&walk->discovery->prober, &plan, &line, error);
    if (status != FTH_OK)
        return note_failure(walk, element, "line_bytes", status, error);
    /* The probe finds the line of the cache before it then, or that of the next one. */
    if (level->slope > flat_slope)
        line.evidence.doubt = "the level may be a bend in the curve of the latency";
    return note_line(walk, element, &line, error);
}

/* Measures the line of the first cache, which all later probes need. */
static enum fth_status find_first_line(struct walk_through *walk, struct fth_error *error)
{
    struct fth_hierarchy_line_plan plan = {.first = &walk->first,
                                           .hit_cycles = walk->first.hit_cycles,
                                           .miss_cycles = walk->first.miss_cycles,
                                           .size_bytes = walk->first.edge_bytes};
    enum fth_status status = FTH_INCONCLUSIVE;
    for (unsigned i = 0; i < FTH_COUNT(line_factors) && status == FTH_INCONCLUSIVE; i++) {
        if (i && error)
            *error = FTH_NO_ERROR;
        plan.factor = line_factors[i];
        status = fth_probe_hierarchy_line(&walk->discovery->prober, &plan, &walk->line, error);
    }
    if (status != FTH_OK)
        return status;
    return note_line(walk, first_name(walk), &walk->line, error);
}

/* ---- sharing ---- */

/* Returns the approximate size of a cache that is not the last level. */
static uint64_t approximate_bytes(const struct walk_through *walk, size_t index)
{
    const struct fth_hierarchy_level *level = &walk->hierarchy.levels[index];
    return index ? fth_curve_reaches(&walk->curve, (level[0].cycles + level[1].cycles) / 2)
                 : walk->first.edge_bytes;
}

/* Measures how many units share a cache. On GPUs only the first one: the others are so large that
 * the test takes too long with all units. */
static enum fth_status find_sharing(const struct walk_through *walk, size_t index,
                                    struct fth_error *error)
{
    const struct fth_hierarchy_level *level = &walk->hierarchy.levels[index];
    if (!wants(walk, walk->names[index]) || index + 1 >= walk->hierarchy.count ||
        (index > 0 && !walk->is_cpu))
        return FTH_OK;
    const struct fth_sharers_plan plan = {.path = FTH_PATH_CA,
                                          .line_bytes = walk->line.bytes,
                                          .size_bytes = approximate_bytes(walk, index),
                                          .near_bytes =
                                              index ? approximate_bytes(walk, index - 1) : 0,
                                          .next_bytes = level[1].high_bytes,
                                          .hit_cycles = level->cycles,
                                          .miss_cycles = level[1].cycles};
    return fth_discover_sharing(walk->discovery, walk->names[index], &plan, error);
}

/* ---- the stages ---- */

/* Returns the largest footprint that is walked. */
static uint64_t largest_footprint(const struct fth_discovery *discovery)
{
    const double memory = fth_gpu_number(discovery->gpu, "memory", "size_bytes", INFINITY);
    return (uint64_t)fmin((double)max_footprint_bytes, memory * memory_fraction);
}

/* Measures the first cache, its line, the curve and the levels. */
static enum fth_status find_hierarchy(struct walk_through *walk, struct fth_error *error)
{
    struct fth_discovery *discovery = walk->discovery;
    const double resolution =
        fth_gpu_number(discovery->gpu, "device", "clock_resolution_cycles", 1);
    fth_discovery_report_step(discovery, "first cache", 0);
    FTH_TRY(fth_probe_first_cache(&discovery->prober, FTH_PATH_CA, resolution, walk->max_bytes / 3,
                                  &walk->first, error));
    fth_discovery_report_step(discovery, "line", 0.1);
    FTH_TRY(find_first_line(walk, error));
    fth_discovery_report_step(discovery, "latency over footprint", 0.2);
    const uint64_t longest_bytes =
        (discovery->simulated ? SIM_MAX_ELEMENTS : MAX_ELEMENTS) * walk->line.bytes;
    walk->is_limited = discovery->simulated && longest_bytes < walk->max_bytes;
    FTH_TRY(fth_probe_curve(&discovery->prober, &walk->first, walk->line.bytes,
                            longest_bytes < walk->max_bytes ? longest_bytes : walk->max_bytes,
                            &walk->curve, error));
    fth_find_levels(&walk->first, &walk->curve, &walk->hierarchy);
    /* A plateau at the end may be that of a cache. */
    walk->hierarchy.complete = walk->hierarchy.complete && !walk->is_limited;
    name_caches(walk);
    return FTH_OK;
}

enum fth_status fth_discover_hierarchy(struct fth_discovery *discovery, struct fth_error *error)
{
    const char *vendor = fth_gpu_text(discovery->gpu, "device", "vendor"),
               *kind = fth_gpu_text(discovery->gpu, "device", "kind");
    struct walk_through walk = {.discovery = discovery,
                                .is_cpu = kind && strcmp(kind, "cpu") == 0,
                                .max_bytes = largest_footprint(discovery),
                                .max_edge_elements = discovery->simulated ? SIM_MAX_EDGE_ELEMENTS
                                                                          : MAX_EDGE_ELEMENTS};
    walk.is_amd = vendor && strcmp(vendor, "AMD") == 0 && !walk.is_cpu;
    walk.is_nvidia = vendor && strcmp(vendor, "NVIDIA") == 0;
    enum fth_status status = find_hierarchy(&walk, error);
    if (status != FTH_OK)
        return note_failure(&walk, first_name(&walk), "size_bytes", status, error);
    fth_discovery_report_step(discovery, "latencies", 0.6);
    FTH_TRY(find_latencies(&walk, error));
    FTH_TRY(find_past(&walk, error));
    for (size_t i = 0; i < walk.caches && i < MAX_CACHES; i++) {
        fth_discovery_report_step(discovery, walk.names[i],
                                  0.7 + 0.3 * (double)i / (double)walk.caches);
        if (i > 0)
            FTH_TRY(find_line(&walk, i, error));
        if (wants(&walk, walk.names[i]))
            FTH_TRY(find_size(&walk, i, error));
        FTH_TRY(find_sharing(&walk, i, error));
    }
    return FTH_OK;
}

static const struct fth_stage stages[] = {
    {.name = "caches",
     .fraction = 0.05,
     .elements = {"vector_l1", "l1", "l2", "l3", "memory"},
     .own_steps = true,
     .run = fth_discover_hierarchy},
    {.name = "constant and shared memory",
     .fraction = 0.8,
     .elements = {"scalar_l1", "constant_l1", "lds", "shared", "texture"},
     .run = fth_discover_scratch},
    {.name = "instruction cache",
     .fraction = 0.85,
     .elements = {"instruction_l1"},
     .run = fth_discover_code},
    {.name = "bandwidth",
     .fraction = 0.9,
     .elements = {"memory"},
     .own_steps = true,
     .run = fth_discover_rates},
};

const struct fth_stage *fth_hierarchy_stage(size_t index)
{
    return index < FTH_COUNT(stages) ? &stages[index] : NULL;
}

bool fth_discovery_uses_hierarchy(const struct fth_gpu *gpu)
{
    const char *vendor = fth_gpu_text(gpu, "device", "vendor"),
               *backend = fth_gpu_text(gpu, "device", "backend");
    return (backend && strcmp(backend, "opencl") == 0) || (vendor && strcmp(vendor, "NVIDIA") != 0);
}
