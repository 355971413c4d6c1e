/* Metrics of a row that need the rates of the GPU: time floors, and bytes moved per level. */
#include "model/model.h"

#include <math.h>

/* If the longest floor is less than this part of the estimated time, nothing is busy most of the
 * time. Chosen. */
static const double MIN_BUSY = 0.5;

/* Returns the bytes of a sector; a line without sectors is one sector. */
static double sector_bytes(const struct fth_model_params *params, enum fth_model_level level)
{
    const double sector = params->values[fth_model_key(level, FTH_KEY_SECTOR)].number;
    return sector > 0 ? sector : params->values[fth_model_key(level, FTH_KEY_LINE)].number;
}

static uint64_t sum(const uint64_t by_kind[3])
{
    return by_kind[0] + by_kind[1] + by_kind[2];
}

const char *fth_model_limit_name(enum fth_model_limit limit)
{
    static const char *const names[FTH_LIMITS] = {
        [FTH_LIMIT_L1] = "l1",         [FTH_LIMIT_L2] = "l2",       [FTH_LIMIT_MEMORY] = "memory",
        [FTH_LIMIT_SHARED] = "shared", [FTH_LIMIT_ISSUE] = "issue", [FTH_LIMIT_LATENCY] = "latency",
    };
    return (unsigned)limit < FTH_LIMITS ? names[limit] : NULL;
}

/* Returns the time that units per SM take at one unit per cycle. */
static double cycles_s(const struct fth_model_params *params, double units_per_sm)
{
    const double hz = params->values[FTH_KEY_CLOCK_HZ].number;
    return hz > 0 ? units_per_sm / hz : (double)NAN;
}

void fth_model_floors(const struct fth_model_row *row, const struct fth_model_params *params,
                      struct fth_model_floors *floors)
{
    const struct fth_model_value *values = params->values;
    const double l2_sector = sector_bytes(params, FTH_MODEL_L2);
    *floors = (struct fth_model_floors){.longest = FTH_LIMIT_NONE};
    double *seconds = floors->seconds;
    for (int i = 0; i < FTH_LIMITS; i++)
        seconds[i] = (double)NAN;
    if (row->instruction)
        return;
    /* The bandwidth of the L1s is that of all SMs together, of which a launch may use only some. */
    seconds[FTH_LIMIT_L1] = row->l1_read_sectors_per_sm * sector_bytes(params, FTH_MODEL_L1) *
                            values[FTH_KEY_SMS].number /
                            values[fth_model_key(FTH_MODEL_L1, FTH_KEY_BYTES_PER_S)].number;
    seconds[FTH_LIMIT_L2] = (double)sum(row->l2.sectors) * l2_sector /
                            values[fth_model_key(FTH_MODEL_L2, FTH_KEY_BYTES_PER_S)].number;
    seconds[FTH_LIMIT_MEMORY] = (double)(row->dram_reads + row->dram_writes) * l2_sector /
                                values[FTH_KEY_MEMORY_BYTES_PER_S].number;
    /* Shared memory processes a wavefront per cycle, and each scheduler issues an instruction. */
    seconds[FTH_LIMIT_SHARED] = cycles_s(params, row->wavefronts_per_sm);
    seconds[FTH_LIMIT_ISSUE] =
        cycles_s(params, row->warp_instructions_per_sm / values[FTH_KEY_SCHEDULERS].number);
    double floor_s = (double)NAN;
    for (int i = FTH_LIMIT_L1; i <= FTH_LIMIT_ISSUE; i++) {
        if (!isfinite(seconds[i])) {
            seconds[i] = (double)NAN; /* the bandwidth is unknown */
            continue;
        }
        if (seconds[i] > 0 && !(seconds[i] <= floor_s))
            floors->longest = (enum fth_model_limit)i;
        floor_s = seconds[i] <= floor_s ? floor_s : seconds[i];
    }
    floors->bottleneck = floor_s < MIN_BUSY * row->seconds ? FTH_LIMIT_LATENCY : floors->longest;
}

double fth_model_floor_s(const struct fth_model_row *row, const struct fth_model_params *params,
                         enum fth_model_limit *limit)
{
    struct fth_model_floors floors;
    fth_model_floors(row, params, &floors);
    double floor_s = (double)NAN;
    for (int i = 0; i < FTH_LIMITS; i++)
        floor_s = fmax(floor_s, floors.seconds[i]);
    if (limit)
        *limit = floors.longest;
    return floor_s;
}

static double ratio(uint64_t used, uint64_t moved)
{
    return used && moved ? (double)used / (double)moved : (double)NAN;
}

void fth_model_traffic(const struct fth_model_row *row, const struct fth_model_params *params,
                       struct fth_model_traffic *traffic)
{
    const uint64_t l1_sector = (uint64_t)sector_bytes(params, FTH_MODEL_L1);
    const uint64_t l2_sector = (uint64_t)sector_bytes(params, FTH_MODEL_L2);
    const uint64_t used = sum(row->demand.used_bytes);
    *traffic = (struct fth_model_traffic){
        .l1_bytes = sum(row->l1.sectors) * l1_sector,
        .l2_bytes = sum(row->l2.sectors) * l2_sector,
        .memory_bytes = (row->dram_reads + row->dram_writes) * l2_sector,
    };
    traffic->l1_efficiency = ratio(used, traffic->l1_bytes);
    traffic->l2_efficiency = ratio(used, traffic->l2_bytes);
    traffic->memory_efficiency =
        ratio(row->demand.touched_bytes[FTH_TRACE_READ], row->dram_reads * l2_sector);
}
