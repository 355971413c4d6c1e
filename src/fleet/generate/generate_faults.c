/* Injected faults: which figures they change, and by how much. docs/fleets.md has the same rules as
 * a table. They are models of faults, not measurements of faulty GPUs.
 *
 *   memory-bandwidth  the three bandwidths of memory
 *   l2-partition      one of the two partitions of the L2 has a higher latency: on GPUs with an
 *                     even index the one that is near to the SM that measures, on others the far
 *                     one. The near or far latency of the L2, and those of memory, which contain
 *                     them, rise accordingly. fathom reports the median of the near latency over
 *                     all SMs, half of which are near to the slow partition: it rises by half. The
 *                     bandwidth of the L2 falls as its mean latency rises, because the number of
 *                     requests in flight is limited. In the fingerprint, the SMs of the second
 *                     half change by the whole amount.
 *   sms               SMs are missing. The bandwidths of caches and memories in SMs are sums over
 *                     SMs and shrink in proportion; those of the L2 and memory stay.
 *   latency           all latencies of the L2 and of memory
 *   clock             the SM clock, which is also that of the L2. Latencies in cycles stay, those
 *                     in nanoseconds rise. Memory has its own clock: the part of a memory latency
 *                     beyond that of the L2 takes the same nanoseconds and fewer cycles. All
 *                     bandwidths fall, except those of memory.
 *   link              PCIe lanes
 *   ecc               uncorrectable errors
 *   no-gpu            a simulated GPU, as on a node without a driver */
#include "fleet/generate/generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "read fault";

static const struct kind {
    const char *name;
    const char *size; /* what its size is, for messages; NULL: it has none */
    double scale;     /* of the number in the text */
    double low, high; /* the allowed sizes, in the unit of the text */
} kinds[] = {
    [FTH_FAULT_MEMORY_BANDWIDTH] = {"memory-bandwidth", "a change in percent", 0.01, -99, 99},
    [FTH_FAULT_L2_PARTITION] = {"l2-partition", "a change in percent", 0.01, -90, 900},
    [FTH_FAULT_SMS] = {"sms", "a number of SMs", 1, -10000, 10000},
    [FTH_FAULT_LATENCY] = {"latency", "a change in percent", 0.01, -90, 900},
    [FTH_FAULT_CLOCK] = {"clock", "a change in percent", 0.01, -90, 90},
    [FTH_FAULT_LINK] = {"link", "'half' or a fraction", 1, 0, 1},
    [FTH_FAULT_ECC] = {"ecc", "a number of errors", 1, 1, 1e9},
    [FTH_FAULT_NO_GPU] = {"no-gpu", NULL, 1, 0, 0},
};

/* Reads a number at *at, up to the next colon or the end. */
static bool read_number(const char **at, double *number, bool *percent)
{
    char *end;
    *number = fth_strtod(*at, &end);
    *percent = *end == '%';
    if (end == *at || !isfinite(*number))
        return false;
    end += *percent;
    if (*end != '\0' && *end != ':')
        return false;
    *at = *end == ':' ? end + 1 : end;
    return true;
}

static enum fth_status read_size(const struct kind *kind, const char **at, double *size,
                                 const char *text, struct fth_error *error)
{
    bool percent;
    if (kind == &kinds[FTH_FAULT_LINK] && strncmp(*at, "half", 4) == 0 &&
        ((*at)[4] == ':' || (*at)[4] == '\0')) {
        *size = 0.5;
        *at += (*at)[4] == ':' ? 5 : 4;
        return FTH_OK;
    }
    if (!read_number(at, size, &percent) || *size < kind->low || *size > kind->high)
        return fth_fail(error, FTH_INVALID, operation, text,
                        "the size of '%s' is %s, from %g to %g, as in '%s:%g'", kind->name,
                        kind->size, kind->low, kind->high, kind->name,
                        kind->low < 0 ? -5.0 : kind->high / 2);
    *size *= kind->scale;
    return FTH_OK;
}

/* Reads ":COUNT:SHARE" after the kind and its size. */
static enum fth_status read_counts(const char *at, struct fth_generate_fault *fault,
                                   struct fth_error *error)
{
    double number;
    bool percent;
    if (*at) {
        if (!read_number(&at, &number, &percent) || number <= 0 || number > (percent ? 100 : 1e9) ||
            (!percent && number != floor(number)))
            return fth_fail(error, FTH_INVALID, operation, fault->text,
                            "after the size comes a number of GPUs, such as 3, or the probability "
                            "of a GPU to have the fault, such as 0.1%%");
        fault->count = percent ? 0 : (size_t)number;
        fault->probability = percent ? number / 100 : 0;
    }
    if (*at) {
        if (!read_number(&at, &number, &percent) || !percent || number <= 0 || number > 100 || *at)
            return fth_fail(error, FTH_INVALID, operation, fault->text,
                            "after the number of GPUs comes the share of their measurements that "
                            "show the fault, such as 20%%");
        fault->share = number / 100;
    }
    return FTH_OK;
}

enum fth_status fth_generate_fault_read(const char *text, struct fth_generate_fault *fault,
                                        struct fth_error *error)
{
    const size_t length = strcspn(text, ":");
    size_t k = 0;
    *fault = (struct fth_generate_fault){.count = 1, .share = 1, .text = text};
    while (k < FTH_COUNT(kinds) &&
           (strlen(kinds[k].name) != length || strncmp(kinds[k].name, text, length) != 0))
        k++;
    if (k == FTH_COUNT(kinds))
        return fth_fail(error, FTH_INVALID, operation, text,
                        "the kinds of faults are memory-bandwidth, l2-partition, sms, latency, "
                        "clock, link, ecc and no-gpu, as in 'memory-bandwidth:-5'");
    fault->kind = (enum fth_generate_kind)k;
    const char *at = text + length + (text[length] == ':');
    if (kinds[k].size)
        FTH_TRY(read_size(&kinds[k], &at, &fault->size, text, error));
    return read_counts(at, fault, error);
}

/* ---- effects ---- */

/* A measurement that is changed. */
struct patient {
    const struct fth_fleet_figure *names;
    struct fth_fleet_value *values;
    size_t count;
};

static struct fth_fleet_value *find(const struct patient *patient, const char *name)
{
    for (size_t i = 0; i < patient->count; i++)
        if (strcmp(patient->names[patient->values[i].figure].name, name) == 0)
            return &patient->values[i];
    return NULL;
}

static void multiply(const struct patient *patient, const char *name, double factor)
{
    struct fth_fleet_value *value = find(patient, name);
    if (value && !isnan(value->number))
        value->number *= factor;
}

/* Multiplies all figures of the elements in `elements` whose names end with `end`. */
static void multiply_all(const struct patient *patient, const char *const *elements,
                         const char *end, double factor)
{
    for (size_t i = 0; i < patient->count; i++) {
        struct fth_fleet_value *value = &patient->values[i];
        const char *name = patient->names[value->figure].name;
        const size_t length = strlen(name), tail = strlen(end);
        bool match = false;
        for (size_t e = 0; elements[e] && !match; e++)
            match = strncmp(name, elements[e], strlen(elements[e])) == 0 &&
                    name[strlen(elements[e])] == '.';
        if (match && length > tail && strcmp(name + length - tail, end) == 0 &&
            !isnan(value->number))
            value->number *= factor;
    }
}

static const char *const
    memory[] = {"memory", NULL},
    *const l2[] = {"l2", NULL}, *const beyond_sm[] = {"l2", "memory", NULL},
    *const in_sm[] = {"l1",          "shared",       "texture", "readonly", "cluster_shared",
                      "constant_l1", "constant_l15", NULL},
    *const clocked[] = {"l1",          "shared",       "texture", "readonly", "cluster_shared",
                        "constant_l1", "constant_l15", "l2",      NULL};

/* Adds `share` of the latency of the L2, in the same unit, to a latency of memory. */
static void add_l2(const struct patient *patient, const char *name, const char *l2_name,
                   double share)
{
    struct fth_fleet_value *value = find(patient, name);
    const struct fth_fleet_value *part = find(patient, l2_name);
    if (value && part)
        value->number += share * part->number;
}

static void slow_partition(const struct patient *patient, struct fth_fleet_draft *draft,
                           double *fingerprint, double size, bool far)
{
    if (far) {
        add_l2(patient, "memory.far_latency_cycles", "l2.far_latency_cycles", size);
        multiply(patient, "l2.far_latency_cycles", 1 + size);
    } else {
        add_l2(patient, "memory.latency_cycles", "l2.latency_cycles", size);
        add_l2(patient, "memory.latency_ns", "l2.latency_ns", size);
        add_l2(patient, "memory.cold_latency_cycles", "l2.latency_cycles", size);
    }
    multiply(patient, "l2.latency_cycles", 1 + size / 2);
    multiply(patient, "l2.latency_ns", 1 + size / 2);
    multiply_all(patient, l2, "_bytes_per_s", 1 / (1 + size / 2));
    for (size_t sm = draft->fingerprint_count / 2; sm < draft->fingerprint_count; sm++)
        fingerprint[sm] = round(10 * fingerprint[sm] * (1 + size)) / 10;
}

static void lose_sms(const struct patient *patient, struct fth_fleet_draft *draft, double change)
{
    struct fth_fleet_value *sms = find(patient, "device.sms");
    if (!sms || !(sms->number + change >= 1))
        return;
    multiply_all(patient, in_sm, "_bytes_per_s", (sms->number + change) / sms->number);
    sms->number += change;
    if (draft->fingerprint_count && (double)draft->fingerprint_count > sms->number)
        draft->fingerprint_count = (size_t)sms->number;
}

/* Slows a memory latency down: its part beyond the L2 stays the same in time. */
static void slow_memory_clock(const struct patient *patient, const char *name, const char *l2_name,
                              double factor)
{
    struct fth_fleet_value *value = find(patient, name);
    const struct fth_fleet_value *part = find(patient, l2_name);
    if (value && part)
        value->number = part->number + (value->number - part->number) * factor;
}

static void slow_clock(const struct patient *patient, double change)
{
    const double factor = 1 + change;
    slow_memory_clock(patient, "memory.latency_cycles", "l2.latency_cycles", factor);
    slow_memory_clock(patient, "memory.cold_latency_cycles", "l2.latency_cycles", factor);
    slow_memory_clock(patient, "memory.far_latency_cycles", "l2.far_latency_cycles", factor);
    add_l2(patient, "memory.latency_ns", "l2.latency_ns", 1 / factor - 1);
    multiply_all(patient, clocked, "latency_ns", 1 / factor);
    multiply_all(patient, clocked, "_bytes_per_s", factor);
    multiply(patient, "device.current_clock_mhz", factor);
    multiply(patient, "device.loaded_clock_mhz", factor);
}

static void set_errors(const struct patient *patient, double errors)
{
    static const char *const names[] = {"memory.ecc_uncorrectable", "device.ecc_uncorrectable",
                                        "device.ecc_uncorrectable_volatile"};
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        struct fth_fleet_value *value = find(patient, names[i]);
        if (value)
            value->number = errors;
    }
}

/* The values of a simulated GPU that a node without a driver reports. */
static void simulate(const struct patient *patient, struct fth_fleet_draft *draft)
{
    struct fth_fleet_value *backend = find(patient, "device.backend");
    draft->gpu.backend = "simulated";
    draft->gpu.simulated = true;
    draft->gpu.driver = draft->gpu.board = NULL;
    if (backend)
        backend->text = "simulated";
}

void fth_generate_fault_apply(const struct fth_generate_fault *fault, size_t gpu,
                              const struct fth_fleet_figure *names, struct fth_fleet_draft *draft,
                              struct fth_fleet_value *values, double *fingerprint)
{
    const struct patient patient = {names, values, draft->value_count};
    switch (fault->kind) {
    case FTH_FAULT_MEMORY_BANDWIDTH:
        multiply_all(&patient, memory, "_bytes_per_s", 1 + fault->size);
        break;
    case FTH_FAULT_L2_PARTITION:
        slow_partition(&patient, draft, fingerprint, fault->size, gpu % 2 != 0);
        break;
    case FTH_FAULT_SMS: lose_sms(&patient, draft, fault->size); break;
    case FTH_FAULT_LATENCY:
        multiply_all(&patient, beyond_sm, "latency_cycles", 1 + fault->size);
        multiply_all(&patient, beyond_sm, "latency_ns", 1 + fault->size);
        break;
    case FTH_FAULT_CLOCK: slow_clock(&patient, fault->size); break;
    case FTH_FAULT_LINK: multiply(&patient, "device.pcie_lanes", fault->size); break;
    case FTH_FAULT_ECC: set_errors(&patient, fault->size); break;
    case FTH_FAULT_NO_GPU: simulate(&patient, draft); break;
    }
}
