/* The costs of the model with time, from the parameters, in ticks. */
#include "model/timed/timed.h"

#include <math.h>
#include <string.h>

enum { MAX_LINE_SECTORS = 32 }; /* bits of fth_timed_line.sectors */

/* Maximum deviation of the latency of the L2 from its mean, by line and SM, in orders other than
 * the plain one. On an H200, the middle nine tenths of l2.slice_latency_cycles lie within 10 % of
 * l2.latency_cycles. */
enum { L2_DEVIATION_PERCENT = 10 };

static double number_of(const struct fth_model_params *params, size_t key)
{
    return params->values[key].number;
}

#define REASON(name) name " is set, which the model with time does not have"
#define BOUND_REASON(level) level ".policy=belady is a bound that only the model without time has"

static bool is_set(const struct fth_model_params *params, size_t key)
{
    return params->values[key].source == FTH_MODEL_SET;
}

/* Returns that a parameter which only the model without time has was set, or NULL. */
static const char *check_step_parameters(const struct fth_model_params *params)
{
    static const struct {
        enum fth_model_key key;
        const char *reasons[FTH_MODEL_LEVELS];
    } rows[] = {
        {FTH_KEY_PARTITIONS, {REASON("l1.partitions"), REASON("l2.partitions")}},
        {FTH_KEY_PARTITION_BYTES, {REASON("l1.partition_bytes"), REASON("l2.partition_bytes")}},
        {FTH_KEY_BANKS, {REASON("l1.banks"), REASON("l2.banks")}},
        {FTH_KEY_BANK_BYTES, {REASON("l1.bank_bytes"), REASON("l2.bank_bytes")}},
        {FTH_KEY_PORTS, {REASON("l1.ports"), REASON("l2.ports")}},
        {FTH_KEY_MSHR_SETS, {REASON("l1.mshr_sets"), REASON("l2.mshr_sets")}},
        {FTH_KEY_MSHR_SIZE, {REASON("l1.mshr_size"), REASON("l2.mshr_size")}},
        {FTH_KEY_MSHR_MERGES, {REASON("l1.mshr_merges"), REASON("l2.mshr_merges")}},
        {FTH_KEY_LATENCY, {REASON("l1.latency"), REASON("l2.latency")}},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (int level = 0; level < FTH_MODEL_LEVELS; level++)
            if (is_set(params, fth_model_key((enum fth_model_level)level, rows[i].key)))
                return rows[i].reasons[level];
    return is_set(params, FTH_KEY_JOIN_ROUNDS) ? REASON("l2.join_rounds") : NULL;
}

/* Returns why the geometry cannot be simulated with time, or NULL. */
static const char *check_geometry(const struct fth_model_params *params)
{
    const double line = number_of(params, FTH_KEY_LINE), sector = number_of(params, FTH_KEY_SECTOR);
    const size_t l2 = fth_model_key(FTH_MODEL_L2, FTH_KEY_SIZE);
    if (line != number_of(params, l2 + FTH_KEY_LINE) ||
        sector != number_of(params, l2 + FTH_KEY_SECTOR))
        return "lines or sectors of L1 and L2 have different sizes";
    if (sector > 0 && line / sector > MAX_LINE_SECTORS)
        return "a line has more than 32 sectors";
    if (sector > 0 && number_of(params, FTH_KEY_FILL) > sector)
        return "a miss of the L1 fetches more than one sector";
    if (strcmp(params->values[l2 + FTH_KEY_BYPASS].text, "off") != 0)
        return "accesses bypass the L2";
    for (int level = 0; level < FTH_MODEL_LEVELS; level++) {
        const size_t base = fth_model_key((enum fth_model_level)level, FTH_KEY_SIZE);
        if (number_of(params, base + FTH_KEY_PARTITIONS) != 1 ||
            number_of(params, base + FTH_KEY_BANKS) != 1)
            return "a cache has several partitions or banks";
        if (strcmp(params->values[base + FTH_KEY_POLICY].text, "belady") == 0)
            return level == FTH_MODEL_L1 ? BOUND_REASON("l1") : BOUND_REASON("l2");
    }
    return NULL;
}

bool fth_timing_known(const struct fth_model_params *params, const char **reason)
{
    static const size_t needed[] = {FTH_KEY_LATENCY_CYCLES,
                                    FTH_LEVEL_KEYS + FTH_KEY_LATENCY_CYCLES,
                                    FTH_LEVEL_KEYS + FTH_KEY_BYTES_PER_S,
                                    FTH_KEY_MEMORY_CYCLES,
                                    FTH_KEY_MEMORY_BYTES_PER_S,
                                    FTH_KEY_CLOCK_HZ};
    const char *text = check_geometry(params);
    for (size_t i = 0; i < FTH_COUNT(needed) && !text; i++)
        if (!(number_of(params, needed[i]) > 0))
            text = "the clock, a latency or a bandwidth is unknown";
    if (reason)
        *reason = text;
    return !text;
}

/* Returns why gpu.timing and the other parameters mean the model without time, or NULL. */
static const char *find_reason(const struct fth_model_params *params)
{
    const char *word = params->values[FTH_KEY_TIMING].text, *reason = NULL;
    if (strcmp(word, "on") == 0)
        return NULL;
    if (strcmp(word, "off") == 0)
        return "gpu.timing is off";
    return fth_timing_known(params, &reason) ? check_step_parameters(params) : reason;
}

bool fth_model_timed(const struct fth_model_params *params, const char **reason)
{
    const char *text = find_reason(params);
    if (reason)
        *reason = text;
    return !text;
}

enum fth_status fth_timing_choose(const struct fth_model_params *params, bool *timed,
                                  struct fth_error *error)
{
    const char *reason = NULL;
    *timed = fth_model_timed(params, NULL);
    return *timed && !fth_timing_known(params, &reason)
               ? fth_fail(error, FTH_INVALID, "model caches", "gpu.timing",
                          "the model with time is not possible: %s; use gpu.timing=off", reason)
               : FTH_OK;
}

static uint64_t ticks(double cycles)
{
    return cycles > 0 ? (uint64_t)llround(cycles * FTH_TICKS_PER_CYCLE) : 0;
}

/* Returns the ticks that a sector takes at a bandwidth, at least one. */
static uint64_t sector_ticks(const struct fth_setting *setting, double clock_hz, double bytes_per_s)
{
    const uint64_t time = ticks((double)setting->l2.sector_bytes * clock_hz / bytes_per_s);
    return time ? time : 1;
}

void fth_timing_read(const struct fth_model_params *params, const struct fth_setting *setting,
                     struct fth_timing *timing)
{
    const double clock = number_of(params, FTH_KEY_CLOCK_HZ);
    const double l1 = number_of(params, FTH_KEY_LATENCY_CYCLES);
    const double l2 = number_of(params, FTH_LEVEL_KEYS + FTH_KEY_LATENCY_CYCLES);
    const double far = number_of(params, FTH_KEY_FAR_CYCLES);
    const double memory = number_of(params, FTH_KEY_MEMORY_CYCLES);
    const double join = fmin(number_of(params, FTH_KEY_JOIN_CYCLES), l2 / 2);
    const double l2_bytes = number_of(params, FTH_LEVEL_KEYS + FTH_KEY_BYTES_PER_S);
    const double write_bytes = number_of(params, FTH_KEY_WRITE_BYTES_PER_S);
    const double written = write_bytes > 0 ? write_bytes : l2_bytes;
    const double memory_bytes = number_of(params, FTH_KEY_MEMORY_BYTES_PER_S) *
                                number_of(params, FTH_KEY_MEMORY_PERCENT) / 100;
    *timing = (struct fth_timing){
        .clock_hz = clock,
        .issue = ticks(number_of(params, FTH_KEY_ISSUE_CYCLES)),
        .l1_hit = ticks(l1),
        .l1_cycle = FTH_TICKS_PER_CYCLE,
        .port = ticks(number_of(params, FTH_KEY_PORT_CYCLES)),
        .store = ticks(number_of(params, FTH_KEY_STORE_CYCLES)),
        .to_join = ticks(join),
        .to_l2 = ticks(l2 / 2 - join),
        .l2_deviation =
            params->order ? ticks(fmin(l2 / 2 - join, l2 / 100 * L2_DEVIATION_PERCENT)) : 0,
        .order = params->order,
        .to_far = far > l2 ? ticks((far - l2) / 4) : 0,
        .from_far = far > l2 ? ticks((far - l2) * 3 / 4) : 0,
        .to_memory = memory > l2 ? ticks(memory - l2) : 0,
        .l2_sector = sector_ticks(setting, clock, l2_bytes / (double)setting->sides),
        .l2_write = sector_ticks(setting, clock, written),
        .mem_sector = sector_ticks(setting, clock, memory_bytes),
        .atomic = {ticks(number_of(params, FTH_KEY_ATOMIC_CYCLES)),
                   ticks(number_of(params, FTH_KEY_FLOAT_CYCLES))},
        .constant = ticks(number_of(params, FTH_KEY_CONSTANT_CYCLES)),
        .read_merge = ticks(number_of(params, FTH_KEY_MERGE_CYCLES)),
        .store_merge = ticks(number_of(params, FTH_KEY_STORE_MERGE_CYCLES)),
        .queue_accesses = (uint32_t)fth_model_integer(params, FTH_KEY_QUEUE_ACCESSES),
        .join_reads = (uint32_t)fth_model_integer(params, FTH_KEY_JOIN_READS),
        .block_gap = ticks(number_of(params, FTH_KEY_BLOCK_CYCLES)),
        .block_jitter = ticks(number_of(params, FTH_KEY_JITTER_CYCLES)),
        .warp_spread = ticks(number_of(params, FTH_KEY_SPREAD_CYCLES)),
        .start_spread = ticks(number_of(params, FTH_KEY_START_CYCLES)),
        .warp_gap = ticks(number_of(params, FTH_KEY_WARP_CYCLES)),
        .dispatch = ticks(number_of(params, FTH_KEY_DISPATCH_CYCLES)),
        .refill = ticks(number_of(params, FTH_KEY_REFILL_CYCLES)),
        .refill_period = ticks(number_of(params, FTH_KEY_REFILL_PERIOD)),
        .launch = ticks(number_of(params, FTH_KEY_LAUNCH_NS) * clock / 1e9)};
}
