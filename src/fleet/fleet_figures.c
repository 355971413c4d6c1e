/* Determines the kind of a figure from its name "element.attribute". Most kinds follow from the
 * unit at the end of the name; a table lists the exceptions. Attributes that identify the
 * measurement (UUID, host, ...) are not figures; fleet_builder.c stores them as properties of the
 * GPU. */
#include "fleet/fleet.h"

#include <string.h>

static const char *const kind_names[FTH_FLEET_KINDS] = {
    [FTH_FLEET_RATE] = "rate",   [FTH_FLEET_TIME] = "time",       [FTH_FLEET_EXACT] = "exact",
    [FTH_FLEET_STATE] = "state", [FTH_FLEET_CONTEXT] = "context",
};

const char *fth_fleet_kind_name(enum fth_fleet_kind kind)
{
    return kind_names[kind];
}

bool fth_fleet_kind_parse(const char *name, enum fth_fleet_kind *kind)
{
    for (size_t i = 0; i < FTH_FLEET_KINDS; i++)
        if (strcmp(kind_names[i], name) == 0) {
            *kind = (enum fth_fleet_kind)i;
            return true;
        }
    return false;
}

/* A rule for the attribute of a figure. One '*' in the pattern stands for any characters. */
struct rule {
    const char *pattern;
    enum fth_fleet_kind kind;
};

/* Exceptions from the rules for units. The first rule that applies decides. */
static const struct rule exceptions[] = {
    /* Counters and states of the hardware. */
    {"ecc_*", FTH_FLEET_STATE},
    {"remap*", FTH_FLEET_STATE},
    {"pcie_generation", FTH_FLEET_STATE},
    {"pcie_lanes", FTH_FLEET_STATE},
    {"pcie_replays", FTH_FLEET_STATE},
    {"nvlinks", FTH_FLEET_EXACT}, /* the number of links that the GPU has */
    {"nvlink*", FTH_FLEET_STATE},
    {"*throttling", FTH_FLEET_STATE},
    /* Circumstances of the measurement. The times of throttling grow as long as the driver is
     * loaded. */
    {"throttle_*", FTH_FLEET_CONTEXT},
    {"*temperature_c", FTH_FLEET_CONTEXT},
    {"power_w", FTH_FLEET_CONTEXT},
    {"loaded_power_w", FTH_FLEET_CONTEXT},
    {"performance_state", FTH_FLEET_CONTEXT},
    {"serial", FTH_FLEET_CONTEXT},
    {"current_*", FTH_FLEET_CONTEXT},
    /* What reading the clock costs is a property of the probes. */
    {"clock_*_cycles", FTH_FLEET_CONTEXT},
    {"timing_cycles", FTH_FLEET_CONTEXT},
    /* Figures that vary from run to run, or with the memory that the driver allocates. The
     * intervals of refresh depend on the temperature. */
    {"resident_bytes", FTH_FLEET_CONTEXT},
    {"onset_bytes", FTH_FLEET_CONTEXT},
    {"full_miss_bytes", FTH_FLEET_CONTEXT},
    {"refresh_*", FTH_FLEET_CONTEXT},
    {"pause_*", FTH_FLEET_CONTEXT},
    {"join_window_cycles", FTH_FLEET_CONTEXT},
    {"prefetched_part", FTH_FLEET_CONTEXT},
    {"spectrum_cycles", FTH_FLEET_CONTEXT},
    {"policy_candidates", FTH_FLEET_CONTEXT},
    {"overflow_missed", FTH_FLEET_CONTEXT},
    {"*_by_sm", FTH_FLEET_CONTEXT},
    /* Computed from clocks and widths, not measured. */
    {"peak_bytes_per_s", FTH_FLEET_EXACT},
    {"loaded_*clock_mhz", FTH_FLEET_RATE},
};

/* Kinds by unit. A figure without a rule is EXACT. */
static const struct rule units[] = {
    {"*_bytes_per_s", FTH_FLEET_RATE},
    {"*bytes_per_cycle", FTH_FLEET_RATE},
    {"*_cycles", FTH_FLEET_TIME},
    {"*_ns", FTH_FLEET_TIME},
    {"cycles_per_instruction", FTH_FLEET_TIME},
};

/* Returns whether a name matches a pattern with at most one '*'. */
static bool matches(const char *pattern, const char *name)
{
    const char *star = strchr(pattern, '*');
    if (!star)
        return strcmp(pattern, name) == 0;
    const size_t before = (size_t)(star - pattern), after = strlen(star + 1), size = strlen(name);
    return size >= before + after && memcmp(pattern, name, before) == 0 &&
           memcmp(star + 1, name + size - after, after) == 0;
}

/* Returns the kind by the first rule that applies, FTH_FLEET_KINDS if none does. */
static enum fth_fleet_kind kind_by(const struct rule *rules, size_t count, const char *attribute)
{
    for (size_t i = 0; i < count; i++)
        if (matches(rules[i].pattern, attribute))
            return rules[i].kind;
    return FTH_FLEET_KINDS;
}

/* Returns whether a figure is a circumstance or raw data (fth_is_circumstance). `dot` separates the
 * section from the attribute. */
static bool is_circumstance(const char *name, const char *dot)
{
    char section[64];
    const size_t size = (size_t)(dot - name);
    if (size >= sizeof section)
        return false;
    memcpy(section, name, size);
    section[size] = '\0';
    return fth_is_circumstance(section, dot + 1);
}

enum fth_fleet_kind fth_fleet_kind_of(const char *name)
{
    const char *dot = strchr(name, '.');
    const char *attribute = dot ? dot + 1 : name;
    enum fth_fleet_kind kind = kind_by(exceptions, FTH_COUNT(exceptions), attribute);
    if (kind == FTH_FLEET_KINDS && dot && is_circumstance(name, dot))
        kind = FTH_FLEET_CONTEXT;
    if (kind == FTH_FLEET_KINDS)
        kind = kind_by(units, FTH_COUNT(units), attribute);
    return kind == FTH_FLEET_KINDS ? FTH_FLEET_EXACT : kind;
}
