/* Runs a discovery: reads what the driver reports, then runs the stages. Each stage uses the
 * results of earlier ones. */
#include "discover/discover.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Latencies come first, because all other stages need them to distinguish hits from misses. The
 * instruction caches come late, because compiling their code takes longer than the stages before
 * (announce_kernels()). The fractions only serve the display of the progress; they were chosen, not
 * derived. */
static const struct fth_stage stages[] = {
    {.name = "L2 latency",
     .fraction = 0.05,
     .elements = {"l2"},
     .always = true,
     .run = fth_discover_l2_latency},
    {.name = "data caches of an SM",
     .fraction = 0.1,
     .elements = {"l1", "texture", "readonly"},
     .own_steps = true,
     .run = fth_discover_sm},
    {.name = "shared memory",
     .fraction = 0.4,
     .elements = {"shared", "cluster_shared"},
     .run = fth_discover_shared},
    {.name = "carve-out", .fraction = 0.42, .elements = {"shared"}, .run = fth_discover_carveouts},
    {.name = "memory latency",
     .fraction = 0.45,
     .elements = {"memory"},
     .always = true,
     .run = fth_discover_memory},
    {.name = "L2", .fraction = 0.5, .elements = {"l2"}, .run = fth_discover_l2},
    {.name = "TLBs",
     .fraction = 0.6,
     .elements = {"tlb_l1", "tlb_l2", "tlb_l3"},
     .run = fth_discover_tlbs},
    {.name = "memory latency with cold TLBs",
     .fraction = 0.7,
     .elements = {"memory"},
     .own_steps = true,
     .run = fth_discover_cold},
    {.name = "instruction caches", /* its second step is the constant caches */
     .fraction = 0.7,
     .elements = {"constant_l1", "constant_l15", "instruction_l0", "instruction_l1",
                  "instruction_l15"},
     .run = fth_discover_constants},
    {.name = "bandwidth",
     .fraction = 0.85,
     .always = true,
     .own_steps = true,
     .run = fth_discover_rates},
    {.name = "plausibility",
     .fraction = 0.99,
     .always = true,
     .own_steps = true,
     .run = fth_discover_gates},
};

/* Maximum number of requests that are announced. Chosen: more than there are. */
enum { MAX_ANNOUNCED = 64 };

const struct fth_stage *fth_discovery_stage(size_t index)
{
    return index < FTH_COUNT(stages) ? &stages[index] : NULL;
}

void fth_discovery_report_step(const struct fth_discovery *discovery, const char *what, double part)
{
    const double fraction = discovery->from + part * (discovery->to - discovery->from);
    fth_log_progress(discovery->prober.log, what, fraction * (1 - discovery->dissection_share));
}

enum fth_status fth_discovery_check_interrupt(const struct fth_discovery *discovery,
                                              struct fth_error *error)
{
    return fth_log_interrupted(discovery->prober.log)
               ? fth_fail(error, FTH_INTERRUPTED, "measure", NULL, "interrupted")
               : FTH_OK;
}

/* Whether an element of the stage is to be measured. */
static bool wants_stage(const struct fth_discovery *discovery, const struct fth_stage *stage)
{
    bool wanted = stage->always;
    for (size_t i = 0; i < FTH_STAGE_ELEMENTS && stage->elements[i]; i++)
        wanted = wanted || fth_discovery_wants(discovery, stage->elements[i]);
    return wanted;
}

/* Lowers the confidence of a figure because another program has interrupted requests of its stage
 * or of an earlier one, and tells so in its method. Does so once. */
static enum fth_status lower_confidence(struct fth_gpu *gpu, const char *element,
                                        struct fth_attribute *attribute, struct fth_error *error)
{
    static const char reason[] = "; another program interrupted requests";
    const char *method = attribute->method ? attribute->method : "";
    char *text = NULL;
    if (attribute->source != fth_note_source(gpu) || isnan(attribute->confidence) ||
        strstr(method, reason))
        return FTH_OK;
    text = malloc(strlen(method) + sizeof reason);
    if (!text)
        return fth_no_memory(error, "lower the confidence", NULL);
    memcpy(text, method, strlen(method));
    memcpy(text + strlen(method), reason, sizeof reason);
    struct fth_attribute lowered = *attribute;
    lowered.confidence = fth_round_confidence(fth_interrupted_confidence(attribute->confidence));
    lowered.method = text;
    enum fth_status status = fth_note_attribute(gpu, element, &lowered, error);
    free(text);
    return status;
}

/* Lowers the confidence of all measured figures of the stage's elements. */
static enum fth_status lower_confidences(struct fth_gpu *gpu, const struct fth_stage *stage,
                                         struct fth_error *error)
{
    for (size_t i = 0; i < FTH_STAGE_ELEMENTS && stage->elements[i]; i++) {
        struct fth_gpu_section *section = fth_gpu_section(gpu, stage->elements[i]);
        for (size_t k = 0; section && k < section->count; k++)
            FTH_TRY(lower_confidence(gpu, stage->elements[i], &section->attributes[k], error));
    }
    return FTH_OK;
}

/* Returns the fraction of the progress at which the stage ends. */
static double end_of(const struct fth_stage *stage)
{
    for (size_t i = 0; fth_discovery_stage(i) || fth_hierarchy_stage(i); i++) {
        const struct fth_stage *next = NULL;
        if (stage == fth_discovery_stage(i))
            next = fth_discovery_stage(i + 1);
        else if (stage == fth_hierarchy_stage(i))
            next = fth_hierarchy_stage(i + 1);
        else if (stage == fth_quick_stage(i))
            next = fth_quick_stage(i + 1);
        if (next)
            return next->fraction;
    }
    return 1;
}

enum fth_status fth_discovery_run_stage(struct fth_discovery *discovery,
                                        const struct fth_stage *stage, struct fth_error *error)
{
    if (!wants_stage(discovery, stage))
        return FTH_OK;
    FTH_TRY(fth_discovery_check_interrupt(discovery, error));
    discovery->from = stage->fraction;
    discovery->to = end_of(stage);
    if (!stage->own_steps)
        fth_discovery_report_step(discovery, stage->name, 0);
    FTH_TRY(stage->run(discovery, error));
    return discovery->interruptions ? lower_confidences(discovery->gpu, stage, error) : FTH_OK;
}

bool fth_discovery_wants(const struct fth_discovery *discovery, const char *element)
{
    if (!discovery->only)
        return true;
    size_t size = strlen(element);
    for (const char *at = discovery->only; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, element, size) == 0 && (at[size] == ',' || at[size] == '\0'))
            return true;
    return false;
}

/* Rejects names that are not elements. */
static enum fth_status check_only(const char *only, struct fth_error *error)
{
    for (const char *at = only; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char name[64];
        size_t size = strcspn(at, ",");
        if (size < sizeof name) {
            memcpy(name, at, size);
            name[size] = '\0';
            if (fth_schema_element(name))
                continue;
        }
        const char *near = size < sizeof name ? fth_schema_suggest_element(name) : NULL;
        return fth_fail(error, FTH_INVALID, "select elements", only,
                        near ? "unknown element '%.*s' (did you mean '%s'?)"
                             : "unknown element '%.*s'",
                        (int)(size < 40 ? size : 40), at, near);
    }
    return FTH_OK;
}

/* Requests that are announced. */
struct announcement {
    struct fth_request requests[MAX_ANNOUNCED];
    size_t count;
};

/* Adds a request of the family and returns it. */
static struct fth_request *add_request(struct announcement *announcement, enum fth_family family)
{
    struct fth_request *request = &announcement->requests[announcement->count];
    announcement->count += announcement->count + 1 < MAX_ANNOUNCED;
    *request = fth_request_make(-1);
    request->family = family;
    return request;
}

/* Adds a stream of a bandwidth. */
static void add_stream(struct announcement *announcement, const struct fth_bandwidth_source *source,
                       uint32_t vector_bytes)
{
    if (fth_kernels_has_stream(source->kind, source->path, vector_bytes))
        add_request(announcement, FTH_FAMILY_STREAM)->stream =
            (struct fth_stream){.kind = source->kind,
                                .path = source->path,
                                .vector_bytes = vector_bytes,
                                .cluster = source->cluster};
}

/* Adds the sweeps of a bandwidth of the memory. A quick measurement reads with a fixed number of
 * blocks, and writes with one block per piece of the arrays (bandwidth.c). */
static void add_sweeps(struct announcement *announcement, const struct fth_bandwidth_source *source,
                       bool quick)
{
    static const enum fth_sweep_kind kinds[FTH_STREAM_KINDS] = {[FTH_STREAM_READ] = FTH_SWEEP_READ,
                                                                [FTH_STREAM_WRITE] =
                                                                    FTH_SWEEP_WRITE,
                                                                [FTH_STREAM_COPY] = FTH_SWEEP_COPY};
    size_t all, count;
    const struct fth_stream_shape *shapes = fth_sweep_shapes(&all, &count);
    for (size_t i = 0; i < count; i++) {
        if (quick && (source->kind == FTH_STREAM_READ) != (shapes[i].blocks_per_sm > 0))
            continue;
        add_request(announcement, FTH_FAMILY_SWEEP)->sweep =
            (struct fth_sweep){.kind = kinds[source->kind],
                               .hinted = shapes[i].hinted,
                               .threads = shapes[i].threads,
                               .vector_bytes = shapes[i].vector_bytes,
                               .unroll = shapes[i].unroll};
    }
}

/* Announces those requests whose kernels take long to compile: the code of the stage "instruction
 * caches", which also the constant caches need, the loads from the shared memory of a cluster, and
 * the streams and sweeps of the bandwidths. Only the kernels that they need matter, not their
 * sizes. The longest compilation comes first, and the others in the order of the stages. */
static void announce_kernels(const struct fth_discovery *discovery)
{
    static const char *const fetched[] = {"constant_l1", "constant_l15", "instruction_l0",
                                          "instruction_l1", "instruction_l15"};
    struct announcement announcement = {.count = 0};
    for (size_t i = 0; i < FTH_COUNT(fetched) && announcement.count == 0; i++)
        if (fth_discovery_wants(discovery, fetched[i]))
            add_request(&announcement, FTH_FAMILY_FETCH)->fetch =
                (struct fth_fetch){.instructions = FTH_FETCH_BLOCK, .passes = 1};
    if (fth_discovery_wants(discovery, "cluster_shared"))
        add_request(&announcement, FTH_FAMILY_CLUSTER);
    for (int i = 0; i < FTH_BANDWIDTH_TARGETS && !discovery->no_bandwidth; i++) {
        const struct fth_bandwidth_source *source = &fth_bandwidth_sources[i];
        if (!fth_discovery_wants(discovery, source->element) ||
            (discovery->quick && !fth_quick_wants((enum fth_bandwidth_target)i)))
            continue;
        if (source->place == FTH_IN_MEMORY)
            add_sweeps(&announcement, source, discovery->quick);
        else
            add_stream(&announcement, source, source->path == FTH_PATH_TEXTURE ? 4 : 16);
        /* Arrays that are small have too few vectors for large blocks, and narrow accesses are
         * tried instead. */
        if (source->kind == FTH_STREAM_COPY && source->place != FTH_IN_MEMORY)
            add_stream(&announcement, source, 4);
    }
    fth_device_expect(discovery->prober.device, announcement.requests, announcement.count);
}

/* Checks the options, and creates a description with what the driver reports. */
static enum fth_status begin(struct fth_discovery *discovery,
                             const struct fth_discover_options *options, struct fth_error *error)
{
    FTH_TRY(check_only(options->only, error));
    if (options->quick && (options->only || options->full))
        return fth_fail(error, FTH_INVALID, "measure", NULL,
                        "a quick measurement has fixed elements and no dissection");
    discovery->only = options->quick ? fth_quick_elements : options->only;
    discovery->quick = discovery->prober.quick = options->quick;
    announce_kernels(discovery);
    FTH_TRY(fth_gpu_create(&discovery->gpu, error));
    FTH_TRY(fth_device_describe(discovery->prober.device, discovery->gpu, error));
    const double sms = fth_gpu_number(discovery->gpu, "device", "sms", 1);
    const char *backend = fth_gpu_text(discovery->gpu, "device", "backend");
    discovery->prober.log = options->log;
    discovery->prober.sms = sms >= 1 ? (size_t)sms : 1;
    discovery->prober.thorough = options->thorough;
    discovery->prober.code = fth_gpu_code_size(discovery->gpu);
    discovery->prober.interruptions = &discovery->interruptions;
    discovery->simulated = backend && strcmp(backend, "simulated") == 0;
    /* Simulating every access of a stream takes long, so it must be requested. */
    if (discovery->simulated && !options->thorough)
        discovery->no_bandwidth = true;
    return FTH_OK;
}

/* Moves the TLBs to the end of the description, whatever the order of the stages. */
static void order_elements(struct fth_gpu *gpu)
{
    for (size_t k = 0; k < FTH_TLB_ELEMENTS; k++) {
        size_t i = 0;
        while (i < gpu->element_count && strcmp(gpu->elements[i].name, fth_tlb_elements[k]) != 0)
            i++;
        if (i == gpu->element_count)
            continue;
        const struct fth_gpu_section moved = gpu->elements[i];
        memmove(&gpu->elements[i], &gpu->elements[i + 1],
                (gpu->element_count - i - 1) * sizeof *gpu->elements);
        gpu->elements[gpu->element_count - 1] = moved;
    }
}

/* Fails if the device is to be dissected, and cannot be. */
static enum fth_status check_dissection(const struct fth_discovery *discovery,
                                        struct fth_error *error)
{
    const char *backend = fth_gpu_text(discovery->gpu, "device", "backend");
    if (discovery->dissection_share > 0 && backend && strcmp(backend, "opencl") == 0)
        return fth_fail(error, FTH_UNSUPPORTED, "dissect", fth_device_id(discovery->prober.device),
                        "OpenCL devices do not have the experiments; 'fathom topo' without --full "
                        "measures what they support");
    return FTH_OK;
}

enum fth_status fth_discovery_run(struct fth_discovery *discovery,
                                  const struct fth_discover_options *options,
                                  struct fth_error *error)
{
    enum fth_status status = begin(discovery, options, error);
    if (status == FTH_OK)
        status = check_dissection(discovery, error);
    const bool hierarchy = status == FTH_OK && fth_discovery_uses_hierarchy(discovery->gpu);
    if (hierarchy && discovery->quick)
        discovery->only = NULL;
    const struct fth_stage *stage;
    for (size_t i = 0; status == FTH_OK; i++) {
        stage = hierarchy          ? fth_hierarchy_stage(i)
                : discovery->quick ? fth_quick_stage(i)
                                   : fth_discovery_stage(i);
        if (!stage)
            break;
        status = fth_discovery_run_stage(discovery, stage, error);
    }
    if (discovery->gpu)
        order_elements(discovery->gpu);
    if (status != FTH_OK && status != FTH_INTERRUPTED) {
        fth_gpu_destroy(discovery->gpu);
        discovery->gpu = NULL;
    }
    return status;
}

/* Whether the description has a figure of the element, or a reason why one is unknown. */
static bool has_figure(const struct fth_gpu *gpu, const char *element)
{
    const struct fth_attribute *attribute;
    const char *unknown;
    for (size_t i = 0; (attribute = fth_gpu_attribute_at(gpu, element, i)); i++)
        if (attribute->source != FTH_SOURCE_NONE)
            return true;
    return fth_gpu_unknown_at(gpu, element, 0, &unknown) != NULL;
}

/* Writes a reason for each element that the user named and that was not found. */
static enum fth_status note_absent(const struct fth_discovery *discovery, struct fth_error *error)
{
    static const struct {
        const char *element, *attribute, *reason;
    } rows[] = {
        {"tlb_l1", "entries", "this level was not found"},
        {"tlb_l2", "entries", "this level was not found"},
        {"tlb_l3", "entries", "this level was not found"},
        {"cluster_shared", "latency_cycles", "not found: this GPU cannot launch clusters"},
        {"constant_l15", "size_bytes",
         "not found: no constant loads are slower than those of the first cache and faster than "
         "L2"},
        {"instruction_l0", "size_bytes",
         "not found: the rate of straight-line code shows only one cache, which counts as the L1"},
        {"instruction_l15", "size_bytes",
         "not found: the rate of straight-line code shows at most two caches"},
    };
    const char *element;
    for (size_t i = 0; (element = fth_element_name(i)) && discovery->only; i++) {
        if (!fth_discovery_wants(discovery, element) || has_figure(discovery->gpu, element))
            continue;
        size_t row = 0;
        while (row < FTH_COUNT(rows) && strcmp(rows[row].element, element) != 0)
            row++;
        const bool listed = row < FTH_COUNT(rows);
        FTH_TRY(fth_note_unknown(discovery->gpu, element,
                                 listed ? rows[row].attribute : "size_bytes",
                                 listed ? rows[row].reason : "this element was not found", error));
    }
    return FTH_OK;
}

enum fth_status fth_discover(struct fth_device *device, const struct fth_discover_options *options,
                             struct fth_gpu **gpu, struct fth_error *error)
{
    struct fth_discover_options known;
    struct fth_discovery discovery = {.prober = {.device = device}};
    *gpu = NULL;
    FTH_TRY(fth_options_read("fth_discover_options", options, &known, sizeof known, error));
    options = &known;
    if (options->full)
        discovery.dissection_share = fth_dissection_share;
    const struct fth_dissect_options without_series = {.series = NULL};
    enum fth_status status = fth_discovery_run(&discovery, options, error);
    if (status == FTH_OK && options->full)
        status = fth_dissect_discovered(&discovery, &without_series, error);
    if (status == FTH_OK)
        status = note_absent(&discovery, error);
    if (status != FTH_OK && status != FTH_INTERRUPTED) {
        fth_gpu_destroy(discovery.gpu);
        discovery.gpu = NULL;
    }
    fth_log_progress(options->log, "done", 1);
    *gpu = discovery.gpu;
    return status;
}
