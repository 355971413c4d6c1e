/* Dissecting: what a discovery found is taken apart further, one cache after the other. Sets, ways,
 * index and policy become attributes with how sure they are, or reasons why they are not known. */
#include "discover/discover.h"
#include "probe/structure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The passes of the series that is shown and kept. */
enum { SERIES_PASSES = 6 };

static const struct {
    const char *element;
    enum fth_path path;
    int carveout_percent;
} caches[] = {
    {"l1", FTH_PATH_CA, 0},
    {"texture", FTH_PATH_TEXTURE, 0},
    {"readonly", FTH_PATH_READONLY, 0},
    {"constant_l1", FTH_PATH_CONSTANT, -1},
    {"constant_l15", FTH_PATH_CONSTANT, -1},
};
enum { CACHES = sizeof caches / sizeof caches[0], LATER = 3 /* L2, TLBs, done */ };

bool fth_can_dissect(const char *element)
{
    if (strcmp(element, "l2") == 0 || strncmp(element, "tlb_", 4) == 0)
        return true;
    for (size_t i = 0; i < CACHES; i++)
        if (strcmp(caches[i].element, element) == 0)
            return true;
    return false;
}

/* One cache on the table. */
struct table {
    struct fth_discovery *discovery;
    const struct fth_dissect_options *options;
    const char *element;
    struct fth_cache_plan plan;
    struct fth_overflow overflow;
    bool repeats; /* the misses of one line more than fits are the same in every pass */
};

/* ---- notes ---- */

/* An attribute with how sure it is. */
static enum fth_status note(const struct table *table, struct fth_attribute attribute,
                            double confidence, size_t samples, const char *method,
                            struct fth_error *error)
{
    struct fth_gpu_section *section;
    enum fth_status status =
        fth_note_section(table->discovery->gpu, table->element, &section, error);
    attribute.source = FTH_SOURCE_MEASURED;
    attribute.confidence = confidence;
    attribute.samples = samples ? (double)samples : NAN; /* none, where nobody counted them */
    attribute.method = method;
    return status == FTH_OK ? fth_gpu_set(table->discovery->gpu, section, &attribute, error)
                            : status;
}

static struct fth_attribute number(const char *name, double value)
{
    struct fth_attribute attribute = fth_attribute_make(name, FTH_NUMBER);
    attribute.number = value;
    return attribute;
}

static struct fth_attribute text(const char *name, const char *value)
{
    struct fth_attribute attribute = fth_attribute_make(name, FTH_TEXT);
    attribute.text = value;
    return attribute;
}

static enum fth_status unknown(const struct table *table, const char *attribute, const char *reason,
                               struct fth_error *error)
{
    return fth_note_unknown(table->discovery->gpu, table->element, attribute, reason, error);
}

/* The same reason for several attributes. */
static enum fth_status all_unknown(const struct table *table, const char *const *attributes,
                                   const char *reason, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (; *attributes && status == FTH_OK; attributes++)
        status = unknown(table, *attributes, reason, error);
    return status;
}

static const char *const structure_names[] = {"sets", "ways", "index", NULL};

/* What the sets hold together, where that is not what was found to fit: an array need not fill all
 * sets evenly. */
static enum fth_status note_size(const struct table *table, const struct fth_structure *found,
                                 struct fth_error *error)
{
    uint64_t lines = found->sets * found->ways;
    for (uint64_t set = 0; found->set_ways && set < found->sets; set++)
        lines += found->set_ways[set];
    double bytes = (double)(lines * table->plan.line_bytes);
    if (bytes == fth_gpu_number(table->discovery->gpu, table->element, "size_bytes", NAN))
        return FTH_OK;
    struct fth_attribute size = number("size_bytes", bytes);
    char why[96];
    snprintf(why, sizeof why, "%llu bytes in a row fit, which do not fill all sets",
             (unsigned long long)table->plan.fits_bytes);
    size.note = why;
    return note(table, size, found->confidence, found->samples, "sets x ways x line", error);
}

static const char structure_method[] =
    "which lines one more than fit evicts; then chains that stay in one set";

/* Or, where a description has no name for it, what it is. */
static enum fth_status note_index(const struct table *table, const struct fth_structure *found,
                                  struct fth_error *error)
{
    if (found->index[0])
        return note(table, text("index", found->index), found->confidence, found->samples,
                    structure_method, error);
    char reason[320];
    snprintf(reason, sizeof reason, "the set is chosen by XORs of address bits (%s)", found->hash);
    return unknown(table, "index", reason, error);
}

/* What was found where the cache has only as much as is left beside shared memory: the sets are
 * taken to stay, and to have more ways otherwise. */
static enum fth_status note_smaller(const struct table *table, const struct fth_structure *found,
                                    uint64_t size_bytes, struct fth_error *error)
{
    char where[96];
    snprintf(where, sizeof where, "under the largest carve-out, with %llu ways",
             (unsigned long long)found->ways);
    struct fth_attribute sets = number("sets", (double)found->sets);
    sets.note = where;
    enum fth_status status =
        note(table, sets, found->confidence, found->samples, structure_method, error);
    uint64_t lines = size_bytes / table->plan.line_bytes;
    if (status == FTH_OK && lines % found->sets)
        status = unknown(table, "ways", "what fits in all does not divide among the sets", error);
    else if (status == FTH_OK)
        status = note(table, number("ways", (double)lines / (double)found->sets), found->confidence,
                      found->samples, "what fits in all / sets / line", error);
    return status == FTH_OK ? note_index(table, found, error) : status;
}

static enum fth_status note_structure(const struct table *table, const struct fth_structure *found,
                                      struct fth_error *error)
{
    const char *method = structure_method;
    double sure = found->confidence;
    enum fth_status status =
        note(table, number("sets", (double)found->sets), sure, found->samples, method, error);
    if (status == FTH_OK && found->ways)
        status =
            note(table, number("ways", (double)found->ways), sure, found->samples, method, error);
    if (status == FTH_OK && !found->ways) {
        double *ways = calloc(found->sets, sizeof *ways);
        struct fth_attribute list = fth_attribute_make("set_ways", FTH_NUMBERS);
        for (uint64_t set = 0; ways && set < found->sets; set++)
            ways[set] = (double)found->set_ways[set];
        list.numbers = ways;
        list.count = found->sets;
        status = ways ? note(table, list, sure, found->samples, method, error)
                      : fth_fail(error, FTH_NO_MEMORY, "dissect", NULL, "out of memory");
        free(ways);
    }
    if (status == FTH_OK)
        status = note_index(table, found, error);
    return status == FTH_OK ? note_size(table, found, error) : status;
}

static enum fth_status note_policy(const struct table *table, const struct fth_replacement *found,
                                   struct fth_error *error)
{
    bool weighted = strcmp(found->policy, "weighted") == 0;
    const char *method = found->way_shares
                             ? "replacements counted by way, in a set that overflows by one line"
                             : "which of several policies foretells every hit and miss";
    enum fth_status status = note(table, text("policy", found->policy), found->confidence,
                                  found->samples, method, error);
    if (status != FTH_OK || !weighted)
        return status;
    struct fth_attribute list = fth_attribute_make("way_weights", FTH_NUMBERS);
    double *shares = calloc(found->ways, sizeof *shares);
    for (uint64_t way = 0; shares && found->way_shares && way < found->ways; way++)
        /* to what so many can tell */
        shares[way] = fmax(round(found->way_shares[way] * 1e3) / 1e3, 1e-3);
    list.numbers = shares;
    list.count = found->ways;
    status = shares
                 ? note(table, list, found->confidence, found->replaced,
                        "the share of each way in all replacements, as the ways were filled", error)
                 : fth_fail(error, FTH_NO_MEMORY, "dissect", NULL, "out of memory");
    free(shares);
    return status;
}

/* ---- one cache ---- */

/* What is known of the cache before, or why it cannot be dissected. */
static bool prepare(struct table *table, char *reason, size_t size)
{
    const struct fth_gpu *gpu = table->discovery->gpu;
    const char *element = table->element;
    double bytes = fth_gpu_number(gpu, element, "size_bytes", NAN);
    double line = fth_gpu_number(gpu, element, "line_bytes",
                                 fth_gpu_number(gpu, element, "sector_bytes", NAN));
    double bank = table->plan.path == FTH_PATH_CONSTANT ? 65536 : INFINITY;
    const char *why = fth_gpu_unknown(gpu, element, isnan(bytes) ? "size_bytes" : "line_bytes");
    if (isnan(bytes) && !why && fth_gpu_attribute_count(gpu, element) == 0)
        snprintf(reason, size, "this GPU has none, or none that these loads go through");
    else if (isnan(bytes))
        snprintf(reason, size, "it cannot be overflowed, as its size is not known%s%s",
                 why ? ": " : "", why ? why : "");
    else if (bytes >= bank)
        snprintf(reason, size, "it cannot be overflowed: the constant bank has no more than it");
    else if (isnan(line))
        snprintf(reason, size, "its line is not known%s%s", why ? ": " : "", why ? why : "");
    else {
        table->plan.line_bytes = (uint64_t)line;
        table->plan.fits_bytes = (uint64_t)bytes / (uint64_t)line * (uint64_t)line;
        return true;
    }
    return false;
}

/* Where the cause is only that nothing certain came out, it becomes the reason. */
static bool is_only_unknown(enum fth_status status)
{
    return status == FTH_INCONCLUSIVE || status == FTH_UNSUPPORTED;
}

/* The series of one line more than fits, and whether it repeats itself with every pass. */
static enum fth_status find_series(struct table *table, struct fth_error *error)
{
    double hit = NAN, miss = NAN;
    enum fth_status status =
        fth_probe_hit_and_miss(&table->discovery->prober, &table->plan, &hit, &miss, error);
    if (status != FTH_OK)
        return status;
    table->plan.threshold_cycles = sqrt(hit * miss);
    status = fth_probe_overflow(&table->discovery->prober, &table->plan, SERIES_PASSES,
                                &table->overflow, error);
    table->repeats = true;
    for (size_t i = 3 * table->overflow.lines; i < table->overflow.count; i++)
        table->repeats =
            table->repeats &&
            (table->overflow.cycles[i] > table->plan.threshold_cycles) ==
                (table->overflow.cycles[i - table->overflow.lines] > table->plan.threshold_cycles);
    return status;
}

/* Tells who wants to know of the loads. */
static void tell_series(const struct table *table, const struct fth_replacement *policy)
{
    if (!table->options->series)
        return;
    uint32_t lines[FTH_MAX_REPLAY] = {0};
    int ways[FTH_MAX_REPLAY] = {0};
    for (size_t i = 0; i < policy->replay_count; i++) {
        lines[i] = policy->replay[i].line;
        ways[i] = policy->replay[i].way;
    }
    const struct fth_series series = {.element = table->element,
                                      .stride_bytes = table->plan.line_bytes,
                                      .lines = table->overflow.lines,
                                      .count = table->overflow.count,
                                      .cycles = table->overflow.cycles,
                                      .threshold_cycles = table->plan.threshold_cycles,
                                      .ways = policy->ways,
                                      .replay_count = policy->replay_count,
                                      .replay_lines = lines,
                                      .replay_ways = ways};
    table->options->series(table->options->user, &series);
}

/* Whether the misses of one pass are those of the next. */
static enum fth_status note_periodic(const struct table *table, struct fth_error *error)
{
    return fth_note_text(
        table->discovery->gpu, table->element, "periodic", table->repeats ? "yes" : "no",
        "whether the same loads miss in every pass over one line more than fits", error);
}

/* How well policies explain which lines went, where none does so fully; and that as the reason. */
static enum fth_status note_choices(const struct table *table, const struct fth_choices *choices,
                                    struct fth_error *error)
{
    static const char method[] =
        "bits it takes to tell which line went, of sets that overflow by a line";
    struct fth_choice_bits judged[FTH_CHOICES];
    const char *names[FTH_CHOICES];
    double bits[FTH_CHOICES];
    const size_t count = fth_choices_judge(choices, judged);
    for (size_t i = 0; i < count; i++) {
        names[i] = judged[i].name;
        bits[i] = round(judged[i].bits * 100) / 100;
    }
    enum fth_status status = fth_note_texts(table->discovery->gpu, table->element,
                                            "policy_candidates", names, count, NAN, method, error);
    if (status == FTH_OK)
        status = fth_note_numbers(table->discovery->gpu, table->element, "policy_bits", bits, count,
                                  NAN, choices->replaced, method, error);
    if (status != FTH_OK)
        return status;
    char reason[300];
    snprintf(reason, sizeof reason,
             "no policy explains every replacement: in a set of %llu ways, of %llu lines that went "
             "%.0f %% had come first of all, and each was one of the %llu that had come first",
             (unsigned long long)choices->ways, (unsigned long long)choices->replaced,
             100 * (double)choices->by_arrival[0] / (double)choices->replaced,
             (unsigned long long)fth_choices_reach(choices));
    return unknown(table, "policy", reason, error);
}

static enum fth_status find_policy(struct table *table, const struct fth_structure *structure,
                                   struct fth_replacement *policy, struct fth_error *error)
{
    struct fth_error fault = FTH_NO_ERROR;
    struct fth_choice_bits judged[FTH_CHOICES];
    if (structure->one_set.count == 0 && structure->choices.ways == structure->ways &&
        fth_choices_judge(&structure->choices, judged))
        return note_choices(table, &structure->choices, error);
    if (structure->one_set.count == 0) {
        char reason[256];
        snprintf(reason, sizeof reason,
                 "no chain of loads is known to stay in one set; with one line more than fits, the "
                 "misses of one pass %s those of the next, so that it %s LRU",
                 table->repeats ? "are" : "are not", table->repeats ? "may be" : "is not");
        return unknown(table, "policy", reason, error);
    }
    enum fth_status status = fth_probe_policy(&table->discovery->prober, &table->plan,
                                              &structure->one_set, policy, &fault);
    if (status == FTH_OK)
        return note_policy(table, policy, error);
    if (is_only_unknown(status))
        return unknown(
            table, "policy",
            table->repeats && strcmp(table->element, "constant_l15") == 0
                ? "the oldest line goes, but by use or by arrival cannot be told: what is "
                  "loaded again soon stays in the L1 in front of it"
                : fault.cause,
            error);
    if (error)
        *error = fault;
    return status;
}

/* The same where shared memory takes as much as it can, and fewer lines are in the way. From then
 * on the table is about that. False where it does not help. */
static bool try_smaller(struct table *table, struct fth_structure *structure)
{
    double bytes = fth_gpu_number(table->discovery->gpu, table->element, "default_size_bytes", NAN);
    struct fth_cache_plan plan = table->plan;
    if (isnan(bytes) || plan.carveout_percent != 0)
        return false;
    plan.carveout_percent = 100;
    plan.fits_bytes = (uint64_t)bytes / plan.line_bytes * plan.line_bytes;
    if (fth_probe_sets(&table->discovery->prober, &plan, structure, NULL) != FTH_OK)
        return false;
    if (structure->ways) {
        table->plan = plan;
        return true;
    }
    fth_structure_fini(structure);
    return false;
}

static enum fth_status dissect_cache(struct table *table, struct fth_error *error)
{
    char reason[400];
    if (!prepare(table, reason, sizeof reason)) {
        enum fth_status status = all_unknown(table, structure_names, reason, error);
        return status == FTH_OK ? unknown(table, "policy", reason, error) : status;
    }
    struct fth_error fault = FTH_NO_ERROR;
    struct fth_structure structure = {.confidence = NAN};
    struct fth_replacement policy = {.confidence = NAN};
    const uint64_t size_bytes = table->plan.fits_bytes;
    enum fth_status status = find_series(table, &fault);
    if (status == FTH_OK)
        status = fth_probe_sets(&table->discovery->prober, &table->plan, &structure, &fault);
    bool smaller = status == FTH_INCONCLUSIVE && try_smaller(table, &structure);
    if (smaller)
        status = note_smaller(table, &structure, size_bytes, error);
    else if (status == FTH_OK)
        status = note_structure(table, &structure, error);
    else if (is_only_unknown(status))
        status = all_unknown(table, structure_names, fault.cause, error);
    else if (error)
        *error = fault;
    if (status == FTH_OK)
        status = find_policy(table, &structure, &policy, error);
    if (status == FTH_OK && table->overflow.count) {
        tell_series(table, &policy);
        status = note_periodic(table, error);
    }
    fth_structure_fini(&structure);
    fth_replacement_fini(&policy);
    fth_overflow_fini(&table->overflow);
    return status;
}

/* ---- L2 ---- */

static enum fth_status dissect_l2(struct table *table, struct fth_error *error)
{
    struct fth_discovery *discovery = table->discovery;
    double bytes = fth_gpu_number(discovery->gpu, "l2", "size_bytes", NAN);
    double parts = fth_gpu_number(discovery->gpu, "l2", "partitions", 1);
    struct fth_error fault = FTH_NO_ERROR;
    struct fth_structure structure = {.confidence = NAN};
    struct fth_replacement policy = {.confidence = NAN};
    if (isnan(bytes) || parts > 1) {
        const char *reason = isnan(bytes) ? "its size is not known"
                                          : "it has several parts, and an SM sees lines in its own "
                                            "that belong to another; groups of lines at any "
                                            "addresses would tell, chains have even strides";
        enum fth_status status = all_unknown(table, structure_names, reason, error);
        return status == FTH_OK ? unknown(table, "policy", reason, error) : status;
    }
    enum fth_status status =
        fth_probe_l2_sets(&discovery->prober, (uint64_t)bytes, &table->plan, &structure, &fault);
    if (status == FTH_OK && isnan(fth_gpu_number(discovery->gpu, "l2", "line_bytes", NAN)))
        status = note(table, number("line_bytes", (double)table->plan.line_bytes),
                      structure.confidence, structure.samples,
                      "the distance at which another line falls into another set", error);
    if (status == FTH_OK)
        status = note_structure(table, &structure, error);
    else if (is_only_unknown(status))
        status = all_unknown(table, structure_names, fault.cause, error);
    else if (error)
        *error = fault;
    if (status == FTH_OK && structure.ways) {
        table->repeats = true;
        status = find_policy(table, &structure, &policy, error);
    } else if (status == FTH_OK) {
        status = unknown(table, "policy", "its sets are not known", error);
    }
    fth_structure_fini(&structure);
    fth_replacement_fini(&policy);
    return status;
}

/* ---- what timing costs ---- */

static enum fth_status find_timing(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_figure clock, sink;
    enum fth_status status = fth_probe_timing(&discovery->prober, &clock, &sink, error);
    if (status == FTH_OK)
        status = fth_note_latency(discovery->gpu, "device", "clock_read_cycles", &clock,
                                  "the clock read twice, nothing between", error);
    if (status == FTH_OK)
        status = fth_note_latency(discovery->gpu, "device", "timing_cycles", &sink,
                                  "the clock read twice, a sample sent and a value waited for "
                                  "between, no load",
                                  error);
    return status;
}

/* ---- all of them ---- */

/* The elements to be discovered first: those to be dissected. */
static const char *wanted(const struct fth_dissect_options *options, char *list, size_t size)
{
    if (options->only) {
        /* Whichever TLB it is, those before it are found first. */
        const char *more = strstr(options->only, "tlb_") ? ",tlb_l1" : "";
        return (size_t)snprintf(list, size, "%s%s", options->only, more) < size ? list
                                                                                : options->only;
    }
    size_t used = 0;
    for (size_t i = 0; i < CACHES && used < size; i++)
        used += (size_t)snprintf(list + used, size - used, "%s%s", i ? "," : "", caches[i].element);
    if (used < size)
        snprintf(list + used, size - used, ",l2,tlb_l1,tlb_l2,tlb_l3");
    return list;
}

/* The cache before this one in the table that it is one with, and that was dissected; NULL: none.
 */
static const char *same_cache(const struct fth_discovery *discovery, size_t index)
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

/* One piece of silicon has one structure, by whatever path it is reached. */
static enum fth_status repeat_structure(const struct table *table, const char *from,
                                        struct fth_error *error)
{
    static const char *const names[] = {
        "size_bytes",        "sets",        "ways",    "set_ways", "index", "policy", "way_weights",
        "policy_candidates", "policy_bits", "periodic"};
    struct fth_gpu *gpu = table->discovery->gpu;
    char method[80];
    snprintf(method, sizeof method, "one cache with %s", from);
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < FTH_COUNT(names) && status == FTH_OK; i++) {
        const struct fth_attribute *known = fth_gpu_attribute(gpu, from, names[i]);
        const char *reason = fth_gpu_unknown(gpu, from, names[i]);
        /* A size that is the same stays as it was found. */
        const bool same =
            known && i == 0 && known->number == fth_gpu_number(gpu, table->element, names[i], NAN);
        if (known && !same)
            status = note(table, *known, known->confidence,
                          known->samples > 0 ? (size_t)known->samples : 0, method, error);
        else if (!known && reason)
            status = unknown(table, names[i], reason, error);
    }
    return status;
}

static enum fth_status dissect_all(struct fth_discovery *discovery,
                                   const struct fth_dissect_options *options,
                                   struct fth_error *error)
{
    enum fth_status status = find_timing(discovery, error);
    for (size_t i = 0; i < CACHES && status == FTH_OK; i++) {
        struct table table = {
            .discovery = discovery,
            .options = options,
            .element = caches[i].element,
            .plan = {.path = caches[i].path, .carveout_percent = caches[i].carveout_percent}};
        /* What nobody named need not be told to be missing. */
        bool present = fth_gpu_attribute_count(discovery->gpu, caches[i].element) > 0;
        if (!fth_discovery_wants(discovery, caches[i].element) || (!present && !options->only))
            continue;
        char what[64];
        snprintf(what, sizeof what, "dissect %s", caches[i].element);
        fth_log_progress(options->log, what, (double)(i + 1) / (CACHES + LATER));
        const char *same = same_cache(discovery, i);
        status = same ? repeat_structure(&table, same, error) : dissect_cache(&table, error);
    }
    struct table l2 = {.discovery = discovery, .options = options, .element = "l2"};
    if (status == FTH_OK && fth_discovery_wants(discovery, "l2")) {
        fth_log_progress(options->log, "dissect l2", (CACHES + 1.0) / (CACHES + LATER));
        status = dissect_l2(&l2, error);
        if (status == FTH_OK)
            status = fth_dissect_l2_map(discovery, error);
    }
    if (status == FTH_OK) {
        fth_log_progress(options->log, "dissect TLBs", (CACHES + 2.0) / (CACHES + LATER));
        status = fth_dissect_tlbs(discovery, options, error);
    }
    return status;
}

enum fth_status fth_dissect(struct fth_device *device, const struct fth_dissect_options *options,
                            struct fth_gpu **gpu, struct fth_error *error)
{
    char list[1024];
    const struct fth_discover_options first = {.only = wanted(options, list, sizeof list),
                                               .log = options->log};
    struct fth_discovery discovery = {.prober = {.device = device}, .no_bandwidth = true};
    enum fth_status status = fth_discovery_run(&discovery, &first, error);
    discovery.only = options->only;
    if (status == FTH_OK)
        status = dissect_all(&discovery, options, error);
    fth_log_progress(options->log, "done", 1);
    if (status != FTH_OK && status != FTH_INTERRUPTED) {
        fth_gpu_destroy(discovery.gpu);
        discovery.gpu = NULL;
    }
    *gpu = discovery.gpu;
    return status;
}
