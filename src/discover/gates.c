/* What cannot be true is not told. Each gate is a relation that must hold between figures: what is
 * nearer takes less time, what is nearer holds less, caches that are one are so for all of their
 * names, and all cycles were counted under one clock. Where one does not hold, what was measured of
 * either side is measured again; where it still does not, the figure is taken out, and the reason
 * stands under "unknown". The samples stay in a recording. */
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double value_of(const struct fth_gpu *gpu, const char *element, const char *attribute)
{
    const struct fth_attribute *found = fth_gpu_attribute(gpu, element, attribute);
    return found ? found->number : NAN;
}

/* Each is nearer than the next: a hit in it takes less time. */
static const char *const nearness[][2] = {
    {"l1", "l2"},
    {"texture", "l2"},
    {"readonly", "l2"},
    {"constant_l1", "constant_l15"},
    {"constant_l15", "memory"},
    {"shared", "l2"},
    {"l2", "memory"},
};
/* Each holds no more than the next. */
static const char *const nesting[][2] = {{"constant_l1", "constant_l15"},
                                         {"instruction_l0", "instruction_l1"},
                                         {"instruction_l1", "instruction_l15"},
                                         {"l1", "l2"},
                                         {"l2", "memory"}};
static const char *const names_of_one[] = {"l1", "texture", "readonly"};
/* Clocks that differ by more are not one; latencies are told to a tenth. */
static const double same_clock = 0.02, told_to = 0.05;

/* Who measures an element. What only a driver tells is not measured again. */
static const struct {
    const char *element;
    fth_stage *stage;
} measured_by[] = {
    {"l1", fth_discover_sm},
    {"texture", fth_discover_sm},
    {"readonly", fth_discover_sm},
    {"constant_l1", fth_discover_constants},
    {"constant_l15", fth_discover_constants},
    {"instruction_l0", fth_discover_constants},
    {"instruction_l1", fth_discover_constants},
    {"instruction_l15", fth_discover_constants},
    {"shared", fth_discover_shared},
    {"l2", fth_discover_l2_latency},
    {"memory", fth_discover_memory},
};

/* ---- failures ---- */

enum { MAX_FAILURES = 40 };
struct failure {
    const char *element, *attribute; /* what is taken out */
    const char *other;               /* measured again as well; NULL: nothing else */
    char reason[120];
};
struct failures {
    struct failure items[MAX_FAILURES];
    size_t count;
};

FTH_PRINTF(5, 6)
static void add(struct failures *failures, const char *element, const char *attribute,
                const char *other, const char *reason, ...)
{
    if (failures->count == MAX_FAILURES)
        return;
    struct failure *failure = &failures->items[failures->count++];
    *failure = (struct failure){.element = element, .attribute = attribute, .other = other};
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(failure->reason, sizeof failure->reason, reason, arguments);
    va_end(arguments);
}

static void check_pairs(const struct fth_gpu *gpu, struct failures *failures)
{
    for (size_t i = 0; i < FTH_COUNT(nearness); i++) {
        const char *near = nearness[i][0], *far = nearness[i][1];
        const double cycles = value_of(gpu, near, "latency_cycles"),
                     behind = value_of(gpu, far, "latency_cycles");
        if (cycles >= behind)
            add(failures, near, "latency_cycles", far,
                "measured as %.4g cycles, and %s behind it as %.4g", cycles, far, behind);
    }
    for (size_t i = 0; i < FTH_COUNT(nesting); i++) {
        const char *inner = nesting[i][0], *outer = nesting[i][1];
        const double bytes = value_of(gpu, inner, "size_bytes"),
                     behind = value_of(gpu, outer, "size_bytes");
        if (bytes > behind)
            add(failures, inner, "size_bytes", outer,
                "measured as %.0f bytes, and %s behind it has %.0f", bytes, outer, behind);
    }
}

static bool are_one(const struct fth_gpu *gpu, const char *element, const char *other)
{
    const struct fth_attribute *with = fth_gpu_attribute(gpu, element, "shared_with");
    for (size_t i = 0; with && i < with->count; i++)
        if (strcmp(with->texts[i], other) == 0)
            return true;
    return false;
}

/* Either says so, and what is one with one of them is so with the other. */
static void check_sharing(const struct fth_gpu *gpu, struct failures *failures)
{
    enum { NAMES = FTH_COUNT(names_of_one) };
    for (size_t i = 0; i < NAMES; i++) {
        const char *a = names_of_one[i], *b = names_of_one[(i + 1) % NAMES],
                   *c = names_of_one[(i + 2) % NAMES];
        const bool together = are_one(gpu, a, b) && are_one(gpu, b, c);
        if (are_one(gpu, a, b) != are_one(gpu, b, a) || (together && !are_one(gpu, a, c)))
            for (size_t k = 0; k < NAMES; k++)
                add(failures, names_of_one[k], "shared_with", NULL,
                    "%s and %s, and not all that is one with either, seem to be one cache", a, b);
    }
}

/* The clock that an element's latency was measured under, and to what part that can be told. */
static double clock_of(const struct fth_gpu *gpu, const char *element, double *part)
{
    const double cycles = value_of(gpu, element, "latency_cycles"),
                 ns = value_of(gpu, element, "latency_ns");
    *part = told_to / cycles + told_to / ns;
    return 1e3 * cycles / ns;
}

/* The clock of most latencies goes for all of them. */
static void check_clock(const struct fth_gpu *gpu, struct failures *failures)
{
    double clocks[FTH_COUNT(measured_by)], part, usual;
    size_t count = 0;
    for (size_t i = 0; i < FTH_COUNT(measured_by); i++) {
        clocks[count] = clock_of(gpu, measured_by[i].element, &part);
        count += isfinite(clocks[count]) ? 1 : 0;
    }
    if (count == 0 || fth_quantile_f64(clocks, count, 0.5, &usual, NULL) != FTH_OK)
        return;
    for (size_t i = 0; i < FTH_COUNT(measured_by); i++) {
        const double clock = clock_of(gpu, measured_by[i].element, &part);
        if (fabs(clock / usual - 1) > same_clock + part)
            add(failures, measured_by[i].element, "latency_ns", NULL,
                "measured at %.0f MHz, and most others at %.0f", clock, usual);
    }
}

static void check(const struct fth_gpu *gpu, struct failures *failures)
{
    failures->count = 0;
    check_pairs(gpu, failures);
    check_sharing(gpu, failures);
    check_clock(gpu, failures);
}

/* ---- what becomes of them ---- */

static fth_stage *stage_of(const char *element)
{
    for (size_t i = 0; element && i < FTH_COUNT(measured_by); i++)
        if (strcmp(measured_by[i].element, element) == 0)
            return measured_by[i].stage;
    return NULL;
}

/* Runs the stages of all that failed, in their order and each once. */
static enum fth_status measure_again(struct fth_discovery *discovery,
                                     const struct failures *failures, struct fth_error *error)
{
    static fth_stage *const order[] = {fth_discover_l2_latency, fth_discover_sm,
                                       fth_discover_shared, fth_discover_constants,
                                       fth_discover_memory};
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < FTH_COUNT(order) && status == FTH_OK; i++) {
        bool failed = false;
        for (size_t k = 0; k < failures->count; k++)
            failed = failed || stage_of(failures->items[k].element) == order[i] ||
                     stage_of(failures->items[k].other) == order[i];
        if (failed)
            status = order[i](discovery, error);
    }
    return status;
}

enum fth_status fth_discover_gates(struct fth_discovery *discovery, struct fth_error *error)
{
    struct failures failures;
    enum fth_status status = FTH_OK;
    check(discovery->gpu, &failures);
    for (size_t i = 0; i < failures.count; i++)
        fth_log_message(discovery->prober.log, FTH_LOG_WARNING, "%s.%s: %s; measured again",
                        failures.items[i].element, failures.items[i].attribute,
                        failures.items[i].reason);
    if (failures.count) {
        status = measure_again(discovery, &failures, error);
        check(discovery->gpu, &failures);
    }
    for (size_t i = 0; i < failures.count && status == FTH_OK; i++) {
        const struct failure *failure = &failures.items[i];
        fth_log_message(discovery->prober.log, FTH_LOG_WARNING, "%s.%s: %s", failure->element,
                        failure->attribute, failure->reason);
        status = fth_note_unknown(discovery->gpu, failure->element, failure->attribute,
                                  failure->reason, error);
        if (status == FTH_OK && strcmp(failure->attribute, "latency_cycles") == 0)
            fth_note_forget(discovery->gpu, failure->element, "latency_ns");
    }
    return status;
}
