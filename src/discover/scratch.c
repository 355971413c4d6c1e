/* Constant and shared memory of GPUs of other vendors than NVIDIA: scalar L1 and LDS on AMD's. CPUs
 * have neither: they keep both in their memory. */
#include "discover/discover.h"
#include "probe/hierarchy/probe_hierarchy.h"

#include <math.h>
#include <string.h>

/* The longest chain that a request can have in constant memory. */
static const uint64_t max_constant_bytes = 64 << 10;
static const char pass_method[] = "whole passes over a chain in memory order, warm caches";

/* Measures line and size of the constant cache. */
static enum fth_status find_structure(struct fth_discovery *discovery, const char *element,
                                      const struct fth_first_cache *first, struct fth_error *error)
{
    struct fth_hierarchy_line line;
    struct fth_edge edge;
    const uint64_t beyond = 3 * first->edge_bytes;
    enum fth_status status = fth_probe_constant_line(
        &discovery->prober, first, beyond < max_constant_bytes ? beyond : max_constant_bytes, &line,
        error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, element, "line_bytes", status, error);
    FTH_TRY(fth_note_number(discovery->gpu, element, "line_bytes", line.bytes, &line.evidence,
                            line.samples, "the shortest stride with which every load misses",
                            error));
    const struct fth_edge_plan plan = {.first = first,
                                       .line_bytes = line.bytes,
                                       .edge_bytes = first->edge_bytes,
                                       .hit_cycles = first->hit_cycles,
                                       .miss_cycles = first->miss_cycles};
    status = fth_probe_edge(&discovery->prober, &plan, &edge, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, element, "size_bytes", status, error);
    return fth_note_number(discovery->gpu, element, "size_bytes", edge.bytes, &edge.evidence,
                           edge.samples, "the footprint at which misses begin", error);
}

static enum fth_status find_constant(struct fth_discovery *discovery, const char *element,
                                     double resolution, struct fth_error *error)
{
    struct fth_first_cache first;
    struct fth_figure figure;
    enum fth_status status =
        fth_probe_first_cache(&discovery->prober, FTH_PATH_CONSTANT, resolution,
                              max_constant_bytes * 2 / 3, &first, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, element, "size_bytes", status, error);
    status = fth_probe_level_latency(&discovery->prober, &first, 64, first.edge_bytes / 2, &figure,
                                     error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, element, "latency_cycles", status, error);
    FTH_TRY(fth_note(discovery->gpu,
                     &(struct fth_note){.element = element,
                                        .attribute = "latency_cycles",
                                        .figure = &figure,
                                        .method = pass_method},
                     error));
    FTH_TRY(find_structure(discovery, element, &first, error));
    const struct fth_sharers_plan sharing = {.path = FTH_PATH_CONSTANT,
                                             .line_bytes = 64,
                                             .size_bytes = first.edge_bytes,
                                             .hit_cycles = first.hit_cycles,
                                             .miss_cycles = first.miss_cycles};
    if (first.edge_bytes / 4 + 2 * first.edge_bytes <= max_constant_bytes)
        FTH_TRY(fth_discover_sharing(discovery, element, &sharing, error));
    FTH_TRY(fth_note_unknown(discovery->gpu, element, "ways",
                             "chains in constant memory are too short to show it", error));
    return fth_note_unknown(discovery->gpu, element, "sets",
                            "chains in constant memory are too short to show it", error);
}

/* Measures and writes a latency that follows from the lengths of two chains. */
static enum fth_status find_latency(struct fth_discovery *discovery, const char *element,
                                    enum fth_path path, const char *method, struct fth_error *error)
{
    struct fth_figure figure;
    const enum fth_status status = fth_probe_scratch(&discovery->prober, path, &figure, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, element, "latency_cycles", status, error);
    return fth_note(
        discovery->gpu,
        &(struct fth_note){
            .element = element, .attribute = "latency_cycles", .figure = &figure, .method = method},
        error);
}

static enum fth_status find_shared(struct fth_discovery *discovery, const char *element,
                                   struct fth_error *error)
{
    FTH_TRY(find_latency(discovery, element, FTH_PATH_SHARED,
                         "whole passes over two chains of different lengths", error));
    return fth_note_unknown(discovery->gpu, element, "size_bytes",
                            "only the maximum of a work-group is known, which may be less", error);
}

/* Measures the latency of loads through an image. Simulated devices of other vendors do not have
 * images, and recordings of older versions do not have the samples. */
static enum fth_status find_texture(struct fth_discovery *discovery, struct fth_error *error)
{
    if (discovery->simulated || !fth_gpu_text(discovery->gpu, "device", "unit_source"))
        return FTH_OK;
    return find_latency(discovery, "texture", FTH_PATH_TEXTURE,
                        "whole passes over two chains of different lengths in an image of a buffer",
                        error);
}

enum fth_status fth_discover_scratch(struct fth_discovery *discovery, struct fth_error *error)
{
    const char *vendor = fth_gpu_text(discovery->gpu, "device", "vendor"),
               *kind = fth_gpu_text(discovery->gpu, "device", "kind");
    const bool is_amd = vendor && strcmp(vendor, "AMD") == 0;
    const char *constant = is_amd ? "scalar_l1" : "constant_l1",
               *shared = is_amd ? "lds" : "shared";
    if (kind && strcmp(kind, "cpu") == 0)
        return FTH_OK;
    if (fth_discovery_wants(discovery, constant))
        FTH_TRY(find_constant(
            discovery, constant,
            fth_gpu_number(discovery->gpu, "device", "clock_resolution_cycles", 1), error));
    if (fth_discovery_wants(discovery, shared))
        FTH_TRY(find_shared(discovery, shared, error));
    return fth_discovery_wants(discovery, "texture") ? find_texture(discovery, error) : FTH_OK;
}
