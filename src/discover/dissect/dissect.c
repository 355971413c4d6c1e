/* 'fathom dissect': runs a discovery, and then dissects each cache that it found (dissect_cache.c),
 * the instruction caches (dissect_code.c), the L2 (dissect_l2.c, dissect_joins.c), what stores do
 * to L1 and L2 (dissect_writes.c), loads with hints (dissect_hints.c), and the TLBs
 * (dissect_tlbs.c). Finds where SMs are and which SM executes a block (dissect_place.c). */
#include "discover/discover.h"
#include "probe/structure/probe_structure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct fth_dissected_cache caches[] = {
    {"l1", FTH_PATH_CA, 0},
    {"texture", FTH_PATH_TEXTURE, 0},
    {"readonly", FTH_PATH_READONLY, 0},
    {"constant_l1", FTH_PATH_CONSTANT, -1},
    {"constant_l15", FTH_PATH_CONSTANT, -1},
};
/* OTHER_STAGES counts the further steps of the progress display: L2, TLBs, SMs, done. */
enum { CACHES = sizeof caches / sizeof caches[0], OTHER_STAGES = 4 };

bool fth_can_dissect(const char *element)
{
    if (strcmp(element, "l2") == 0 || strncmp(element, "tlb_", 4) == 0 ||
        strncmp(element, "instruction_", 12) == 0)
        return true;
    for (size_t i = 0; i < CACHES; i++)
        if (strcmp(caches[i].element, element) == 0)
            return true;
    return false;
}

/* ---- timing overhead ---- */

static enum fth_status find_timing(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_figure clock, timing;
    FTH_TRY(fth_probe_timing(&discovery->prober, &clock, &timing, error));
    FTH_TRY(fth_note(discovery->gpu,
                     &(struct fth_note){.element = "device",
                                        .attribute = "clock_read_cycles",
                                        .figure = &clock,
                                        .method = "two clock reads with nothing between them"},
                     error));
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = "device",
                                       .attribute = "timing_cycles",
                                       .figure = &timing,
                                       .method = "two clock reads with the work of a timed load "
                                                 "between them (store a sample, wait for a value), "
                                                 "without the load"},
                    error);
}

/* ---- all elements ---- */

const double fth_dissection_share = 0.5;

/* Reports the `index`-th step of the dissection as progress. */
static void report_step(const struct fth_discovery *discovery, const char *what, size_t index)
{
    const double share = discovery->dissection_share;
    const double part = (double)index / (CACHES + OTHER_STAGES);
    fth_log_progress(discovery->prober.log, what, 1 - share + share * part);
}

/* Returns the list of elements to discover before the dissection: those to be dissected. `list` is
 * a buffer for it. */
static const char *elements_to_discover(const struct fth_dissect_options *options, char *list,
                                        size_t size)
{
    if (options->only)
        return options->only;
    size_t used = 0;
    for (size_t i = 0; i < CACHES && used < size; i++)
        used += (size_t)snprintf(list + used, size - used, "%s%s", i ? "," : "", caches[i].element);
    if (used < size)
        snprintf(list + used, size - used,
                 ",l2,tlb_l1,tlb_l2,tlb_l3,instruction_l0,instruction_l1,instruction_l15");
    return list;
}

/* Returns the earlier cache in the table that shares storage with this one and was to be dissected
 * as well; NULL if there is none. */
static const char *find_same_cache(const struct fth_discovery *discovery, size_t index)
{
    const struct fth_attribute *with =
        fth_gpu_attribute(discovery->gpu, caches[index].element, "shared_with");
    for (size_t i = 0; with && i < index; i++)
        for (size_t j = 0; j < with->count; j++)
            if (strcmp(with->texts[j], caches[i].element) == 0 &&
                fth_discovery_wants(discovery, caches[i].element))
                return caches[i].element;
    return NULL;
}

/* Copies the structure of a cache to another one that shares its storage. */
static enum fth_status copy_structure(struct fth_gpu *gpu, const char *from, const char *to,
                                      struct fth_error *error)
{
    static const char *const names[] = {
        "size_bytes",  "sets", "ways",     "set_ways",          "index",       "policy",
        "way_weights", "rows", "row_ways", "policy_candidates", "policy_bits", "periodic"};
    char method[80];
    snprintf(method, sizeof method, "shares storage with %s", from);
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        const struct fth_attribute *known = fth_gpu_attribute(gpu, from, names[i]);
        const char *reason = fth_gpu_unknown(gpu, from, names[i]);
        /* names[0] is the size. If both elements have the same size, its provenance is kept. */
        const bool same =
            known && i == 0 && known->number == fth_gpu_number(gpu, to, names[i], NAN);
        if (known && !same) {
            struct fth_attribute copy = *known;
            copy.source = fth_note_source(gpu);
            copy.method = method;
            FTH_TRY(fth_note_attribute(gpu, to, &copy, error));
        } else if (!known && reason) {
            FTH_TRY(fth_note_unknown(gpu, to, names[i], reason, error));
        }
    }
    return FTH_OK;
}

/* Dissects the cache at `index` of the table, if the user wants it and the GPU has it. A missing
 * cache is only reported if the user named it. */
static enum fth_status dissect_listed(struct fth_discovery *discovery,
                                      const struct fth_dissect_options *options, size_t index,
                                      struct fth_error *error)
{
    const char *element = caches[index].element;
    const bool present = fth_gpu_attribute_count(discovery->gpu, element) > 0;
    if (!fth_discovery_wants(discovery, element) || (!present && !discovery->only))
        return FTH_OK;
    char what[64];
    snprintf(what, sizeof what, "dissect %s", element);
    report_step(discovery, what, index + 1);
    const char *same = find_same_cache(discovery, index);
    return same ? copy_structure(discovery->gpu, same, element, error)
                : fth_dissect_cache(discovery, options, &caches[index], error);
}

enum fth_status fth_dissect_discovered(struct fth_discovery *discovery,
                                       const struct fth_dissect_options *options,
                                       struct fth_error *error)
{
    FTH_TRY(find_timing(discovery, error));
    for (size_t i = 0; i < CACHES; i++) {
        FTH_TRY(fth_discovery_check_interrupt(discovery, error));
        FTH_TRY(dissect_listed(discovery, options, i, error));
    }
    FTH_TRY(fth_discovery_check_interrupt(discovery, error));
    FTH_TRY(fth_dissect_code(discovery, error));
    FTH_TRY(fth_discovery_check_interrupt(discovery, error));
    if (fth_discovery_wants(discovery, "l1") && fth_gpu_attribute_count(discovery->gpu, "l1") > 0) {
        FTH_TRY(fth_dissect_l1_writes(discovery, error));
        FTH_TRY(fth_dissect_l1_hints(discovery, error));
    }
    FTH_TRY(fth_discovery_check_interrupt(discovery, error));
    if (fth_discovery_wants(discovery, "l2")) {
        report_step(discovery, "dissect l2", CACHES + 1);
        FTH_TRY(fth_dissect_l2(discovery, options, error));
        FTH_TRY(fth_dissect_l2_map(discovery, error));
        FTH_TRY(fth_dissect_joins(discovery, error));
        FTH_TRY(fth_dissect_slices(discovery, error)); /* needs the joins */
        FTH_TRY(fth_dissect_l2_writes(discovery, error));
    }
    report_step(discovery, "dissect TLBs", CACHES + 2);
    FTH_TRY(fth_dissect_tlbs(discovery, options, error));
    /* The last one that uses the L2: some hints keep lines there. */
    if (fth_discovery_wants(discovery, "l2"))
        FTH_TRY(fth_dissect_l2_hints(discovery, error));
    if (discovery->only)
        return FTH_OK;
    FTH_TRY(fth_dissect_flight(discovery, error));
    report_step(discovery, "place blocks", CACHES + 3);
    return fth_dissect_place(discovery, error);
}

enum fth_status fth_dissect(struct fth_device *device, const struct fth_dissect_options *options,
                            struct fth_gpu **gpu, struct fth_error *error)
{
    struct fth_dissect_options known;
    char list[1024];
    *gpu = NULL;
    FTH_TRY(fth_options_read("fth_dissect_options", options, &known, sizeof known, error));
    options = &known;
    const struct fth_discover_options first = {
        .only = elements_to_discover(options, list, sizeof list), .log = options->log};
    struct fth_discovery discovery = {.prober = {.device = device},
                                      .no_bandwidth = true,
                                      .dissection_share = fth_dissection_share};
    enum fth_status status = fth_discovery_run(&discovery, &first, error);
    discovery.only = options->only;
    if (status == FTH_OK)
        status = fth_dissect_discovered(&discovery, options, error);
    fth_log_progress(options->log, "done", 1);
    if (status != FTH_OK && status != FTH_INTERRUPTED) {
        fth_gpu_destroy(discovery.gpu);
        discovery.gpu = NULL;
    }
    *gpu = discovery.gpu;
    return status;
}
