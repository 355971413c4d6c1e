/* Plausibility checks ("gates"). Each gate is a relation that must hold between figures: inner
 * levels are faster and not larger than outer ones, sharing of storage is symmetric and transitive,
 * and all latencies were measured at the same clock. If a gate fails, fathom repeats the
 * measurements of both sides. If it fails again, the figure is removed and the reason is stated
 * under "unknown". A recording keeps the samples in any case. */
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns NAN if the attribute is missing. */
static double value_of(const struct fth_gpu *gpu, const char *element, const char *attribute)
{
    const struct fth_attribute *found = fth_gpu_attribute(gpu, element, attribute);
    return found ? found->number : NAN;
}

/* In each pair, a hit in the first element takes less time than in the second. */
static const char *const latency_order[][2] = {
    {"l1", "l2"},
    {"texture", "l2"},
    {"readonly", "l2"},
    {"constant_l1", "constant_l15"},
    {"constant_l15", "memory"},
    {"shared", "l2"},
    {"l2", "memory"},
};
/* In each pair, the first element is not larger than the second. */
static const char *const size_order[][2] = {{"constant_l1", "constant_l15"},
                                            {"instruction_l0", "instruction_l1"},
                                            {"instruction_l1", "instruction_l15"},
                                            {"l1", "l2"},
                                            {"l2", "memory"}};
static const char *const data_caches[] = {"l1", "texture", "readonly"};
/* Maximum relative difference of two measurements of the same clock (heuristic), and the rounding
 * error of latencies in cycles or ns, which are rounded to tenths. */
static const double max_clock_difference = 0.02, rounding_error = 0.05;

/* The elements whose latencies are known in cycles and in nanoseconds. */
static const char *const timed[] = {"l1",           "texture", "readonly", "constant_l1",
                                    "constant_l15", "shared",  "l2",       "memory"};

/* ---- failures ---- */

enum { MAX_FAILURES = 40 };
struct failure {
    const char *element, *attribute; /* the figure to remove */
    const char *other;               /* an element to measure again as well; NULL: none */
    char reason[120];
};
struct failures {
    struct failure items[MAX_FAILURES];
    size_t count;
};

FTH_PRINTF(5, 6)
static void add_failure(struct failures *failures, const char *element, const char *attribute,
                        const char *other, const char *reason, ...)
{
    if (failures->count == MAX_FAILURES)
        return;
    struct failure *failure = &failures->items[failures->count++];
    *failure = (struct failure){.element = element, .attribute = attribute, .other = other};
    va_list arguments;
    va_start(arguments, reason);
    fth_vformat(failure->reason, sizeof failure->reason, reason, arguments);
    va_end(arguments);
}

static void check_pairs(const struct fth_gpu *gpu, struct failures *failures)
{
    for (size_t i = 0; i < FTH_COUNT(latency_order); i++) {
        const char *near = latency_order[i][0], *far = latency_order[i][1];
        const double cycles = value_of(gpu, near, "latency_cycles"),
                     behind = value_of(gpu, far, "latency_cycles");
        if (cycles >= behind)
            add_failure(failures, near, "latency_cycles", far,
                        "measured as %.4g cycles, but %s, which must be slower, as %.4g", cycles,
                        far, behind);
        /* The latency of memory depends on the timing overhead that is measured with the L2. If
         * they contradict each other, either can be wrong. */
        if (cycles >= behind && strcmp(near, "l2") == 0)
            add_failure(failures, far, "latency_cycles", near,
                        "measured as %.4g cycles, but %s, which must be faster, as %.4g", behind,
                        near, cycles);
    }
    for (size_t i = 0; i < FTH_COUNT(size_order); i++) {
        const char *inner = size_order[i][0], *outer = size_order[i][1];
        const double bytes = value_of(gpu, inner, "size_bytes"),
                     behind = value_of(gpu, outer, "size_bytes");
        if (bytes > behind)
            add_failure(failures, inner, "size_bytes", outer,
                        "measured as %.0f bytes, but %s, which cannot be smaller, has %.0f", bytes,
                        outer, behind);
    }
}

static bool share_storage(const struct fth_gpu *gpu, const char *element, const char *other)
{
    const struct fth_attribute *with = fth_gpu_attribute(gpu, element, "shared_with");
    for (size_t i = 0; with && i < with->count; i++)
        if (strcmp(with->texts[i], other) == 0)
            return true;
    return false;
}

/* Sharing must be symmetric (a with b means b with a) and transitive (a with b and b with c mean a
 * with c). */
static void check_sharing(const struct fth_gpu *gpu, struct failures *failures)
{
    enum { NAMES = FTH_COUNT(data_caches) };
    for (size_t i = 0; i < NAMES; i++) {
        const char *a = data_caches[i], *b = data_caches[(i + 1) % NAMES],
                   *c = data_caches[(i + 2) % NAMES];
        const bool together = share_storage(gpu, a, b) && share_storage(gpu, b, c);
        if (share_storage(gpu, a, b) != share_storage(gpu, b, a) ||
            (together && !share_storage(gpu, a, c)))
            for (size_t k = 0; k < NAMES; k++)
                add_failure(failures, data_caches[k], "shared_with", NULL,
                            "measurements of sharing contradict each other, at %s and %s", a, b);
    }
}

/* Returns the clock in MHz at which an element's latency was measured, from its cycles and its
 * nanoseconds, and sets *tolerance to the relative rounding error. NAN if either is missing. */
static double clock_of(const struct fth_gpu *gpu, const char *element, double *tolerance)
{
    const double cycles = value_of(gpu, element, "latency_cycles"),
                 ns = value_of(gpu, element, "latency_ns");
    *tolerance = rounding_error / cycles + rounding_error / ns;
    return 1e3 * cycles / ns;
}

/* Compares the clock of every latency with the median of all. */
static enum fth_status check_clock(const struct fth_gpu *gpu, struct failures *failures,
                                   struct fth_error *error)
{
    double clocks_mhz[FTH_COUNT(timed)], tolerance, median_mhz;
    size_t count = 0;
    for (size_t i = 0; i < FTH_COUNT(timed); i++) {
        clocks_mhz[count] = clock_of(gpu, timed[i], &tolerance);
        count += isfinite(clocks_mhz[count]) ? 1 : 0;
    }
    if (count == 0)
        return FTH_OK;
    FTH_TRY(fth_quantile_f64(clocks_mhz, count, 0.5, &median_mhz, error));
    for (size_t i = 0; i < FTH_COUNT(timed); i++) {
        const double clock_mhz = clock_of(gpu, timed[i], &tolerance);
        if (fabs(clock_mhz / median_mhz - 1) > max_clock_difference + tolerance)
            add_failure(failures, timed[i], "latency_ns", NULL,
                        "measured at %.0f MHz, but most other latencies at %.0f", clock_mhz,
                        median_mhz);
    }
    return FTH_OK;
}

static enum fth_status check(const struct fth_gpu *gpu, struct failures *failures,
                             struct fth_error *error)
{
    failures->count = 0;
    check_pairs(gpu, failures);
    check_sharing(gpu, failures);
    return check_clock(gpu, failures, error);
}

/* ---- handling failures ---- */

/* Returns the stage that measures the latency and size of an element; NULL if `element` is NULL. */
static const struct fth_stage *stage_of(const char *element)
{
    const struct fth_stage *stage;
    for (size_t i = 0; element && (stage = fth_discovery_stage(i)); i++)
        for (size_t k = 0; k < FTH_STAGE_ELEMENTS && stage->elements[k]; k++)
            if (strcmp(stage->elements[k], element) == 0)
                return stage;
    return NULL;
}

/* Runs the stages of all failed figures again, in their order, each once. */
static enum fth_status measure_again(struct fth_discovery *discovery,
                                     const struct failures *failures, struct fth_error *error)
{
    const struct fth_stage *stage;
    for (size_t i = 0; (stage = fth_discovery_stage(i)); i++) {
        bool failed = false;
        for (size_t k = 0; k < failures->count; k++)
            failed = failed || stage_of(failures->items[k].element) == stage ||
                     stage_of(failures->items[k].other) == stage;
        if (failed)
            FTH_TRY(fth_discovery_run_stage(discovery, stage, error));
    }
    return FTH_OK;
}

enum fth_status fth_discover_gates(struct fth_discovery *discovery, struct fth_error *error)
{
    struct failures failures;
    FTH_TRY(check(discovery->gpu, &failures, error));
    for (size_t i = 0; i < failures.count; i++)
        fth_log_message(discovery->prober.log, FTH_LOG_WARNING, "%s.%s: %s; measuring again",
                        failures.items[i].element, failures.items[i].attribute,
                        failures.items[i].reason);
    if (failures.count) {
        FTH_TRY(measure_again(discovery, &failures, error));
        FTH_TRY(check(discovery->gpu, &failures, error));
    }
    for (size_t i = 0; i < failures.count; i++) {
        const struct failure *failure = &failures.items[i];
        fth_log_message(discovery->prober.log, FTH_LOG_WARNING, "%s.%s: %s", failure->element,
                        failure->attribute, failure->reason);
        FTH_TRY(fth_note_unknown(discovery->gpu, failure->element, failure->attribute,
                                 failure->reason, error));
        if (strcmp(failure->attribute, "latency_cycles") == 0)
            fth_note_remove(discovery->gpu, failure->element, "latency_ns");
    }
    return FTH_OK;
}
