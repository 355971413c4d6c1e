/* Constant memory and shared memory, whose chains are in memory order. GPUs do not prefetch them.
 *
 * The line of the constant cache: with a footprint that does not fit, every line misses once per
 * pass. With a stride s that is shorter than the line, the fraction s / line of the loads misses.
 * The line is the shortest stride with which nearly all loads miss.
 *
 * The size of shared memory is that of the largest chain that the device accepts. */
#include "probe/hierarchy/probe_hierarchy.h"

#include <math.h>

enum {
    MIN_STRIDE = 8,
    STRIDES = 7, /* 8 to 512 bytes */
    ROUNDS = 4,
    SHARED_STRIDE = 64
};
/* Fractions of loads that miss, compared with the longest stride: with the stride of a line or
 * longer, and with a shorter one. Half of the line gives 0.5. Chosen. */
static const double all_missed = 0.85, half_missed = 0.65;

/* Decides from the cycles per load of each stride; 0: undecided. */
static uint64_t decide(const double *cycles, double hit_cycles)
{
    const double miss_cycles = cycles[STRIDES - 1] - hit_cycles;
    uint64_t line = 0;
    for (unsigned i = 0; i < STRIDES && miss_cycles > 0; i++) {
        const double missed = (cycles[i] - hit_cycles) / miss_cycles;
        if (line == 0 && missed >= all_missed)
            line = (uint64_t)MIN_STRIDE << i;
        else if ((line == 0 && missed > half_missed) || (line && missed < all_missed))
            return 0;
    }
    return line;
}

enum fth_status fth_probe_constant_line(const struct fth_prober *prober,
                                        const struct fth_first_cache *first, uint64_t bytes,
                                        struct fth_hierarchy_line *line, struct fth_error *error)
{
    *line = (struct fth_hierarchy_line){0};
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct fth_pass passes[STRIDES];
        struct fth_pass_time times[STRIDES];
        double cycles[STRIDES];
        for (unsigned i = 0; i < STRIDES; i++)
            passes[i] = (struct fth_pass){.path = first->path,
                                          .stride_bytes = (uint64_t)MIN_STRIDE << i,
                                          .count = bytes / ((uint64_t)MIN_STRIDE << i),
                                          .round = round};
        FTH_TRY(fth_time_passes(prober, first->resolution, passes, STRIDES, times, error));
        for (unsigned i = 0; i < STRIDES; i++) {
            cycles[i] = (times[i].cycles - first->overhead_cycles) / (double)passes[i].count;
            line->samples += times[i].samples;
        }
        const uint64_t found = decide(cycles, first->hit_cycles);
        line->bytes = round == 0 ? found : line->bytes;
        line->evidence.agree += found == line->bytes;
    }
    line->evidence.repeats = ROUNDS;
    if (!line->bytes || 2 * line->evidence.agree <= ROUNDS)
        return fth_fail(error, FTH_INCONCLUSIVE, "measure the line", NULL,
                        "repeated measurements contradict each other");
    return FTH_OK;
}

/* Times a chain of `bytes`. */
static enum fth_status time_chain(const struct fth_prober *prober, enum fth_path path,
                                  uint64_t bytes, double *cycles, size_t *samples,
                                  struct fth_error *error)
{
    const struct fth_pass pass = {
        .path = path, .stride_bytes = SHARED_STRIDE, .count = bytes / SHARED_STRIDE};
    struct fth_pass_time time = {.samples = 0};
    FTH_TRY(fth_time_passes(prober, 1, &pass, 1, &time, error));
    *cycles = time.cycles;
    *samples += time.samples;
    return FTH_OK;
}

enum fth_status fth_probe_scratch(const struct fth_prober *prober, enum fth_path path,
                                  struct fth_scratch *scratch, struct fth_error *error)
{
    enum { SHORTER_BYTES = 2048, LONGER_BYTES = 8192 };
    double shorter, longer;
    *scratch = (struct fth_scratch){0};
    FTH_TRY(time_chain(prober, path, SHORTER_BYTES, &shorter, &scratch->samples, error));
    FTH_TRY(time_chain(prober, path, LONGER_BYTES, &longer, &scratch->samples, error));
    scratch->latency_cycles =
        (longer - shorter) / ((double)(LONGER_BYTES - SHORTER_BYTES) / SHARED_STRIDE);
    return FTH_OK;
}
