/* Constant memory, shared memory and textures, whose chains are in memory order. GPUs do not
 * prefetch them.
 *
 * The line of the constant cache: with a footprint that does not fit, every line misses once per
 * pass. With a stride s that is shorter than the line, the fraction s / line of the loads misses.
 * The line is the shortest stride with which nearly all loads miss.
 *
 * The latency of shared memory and of textures is the difference of the times of two chains,
 * divided by the difference of their lengths. */
#include "probe/hierarchy/probe_hierarchy.h"

#include <math.h>
#include <stdlib.h>

enum {
    MIN_STRIDE = 8,
    STRIDES = 7, /* 8 to 512 bytes */
    ROUNDS = 4,
    SHARED_STRIDE = 64,
    SHORTER_BYTES = 2048, /* of the chains whose difference gives the latency */
    LONGER_BYTES = 8192,
    SCRATCH_HOPS = (LONGER_BYTES - SHORTER_BYTES) / SHARED_STRIDE
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

/* Requests the passes over a chain of `bytes`, and computes the cycles of one. */
static enum fth_status time_chain(const struct fth_prober *prober, enum fth_path path,
                                  uint64_t bytes, struct fth_answers *answers, double *cycles,
                                  struct fth_error *error)
{
    const struct fth_pass pass = {
        .path = path, .stride_bytes = SHARED_STRIDE, .count = bytes / SHARED_STRIDE};
    FTH_TRY(fth_ask_passes(prober, &pass, 1, answers, error));
    return fth_low_mean(answers->items[0].cycles, answers->items[0].count, 1, cycles, error);
}

/* Sets interval and confidence from the latency that each pass over the longer chain gives.
 * Disturbances only make passes longer: the faster half of the passes counts. */
static enum fth_status find_confidence(const struct fth_samples *longer, double shorter_cycles,
                                       struct fth_figure *figure, struct fth_error *error)
{
    double *sorted = NULL;
    struct fth_summary summary;
    const size_t faster = (longer->count + 1) / 2;
    FTH_TRY(fth_sorted_u32(longer->cycles, longer->count, "find latency", &sorted, error));
    for (size_t i = 0; i < longer->count; i++)
        sorted[i] = (sorted[i] - shorter_cycles) / SCRATCH_HOPS;
    figure->high = sorted[longer->count - 1];
    enum fth_status status = fth_summary_f64(sorted, faster, &summary, error);
    if (status == FTH_OK) {
        figure->low = fmin(summary.p05, figure->value);
        status = fth_cycles_agreement(sorted, faster, &figure->confidence, error);
    }
    free(sorted);
    return status;
}

enum fth_status fth_probe_scratch(const struct fth_prober *prober, enum fth_path path,
                                  struct fth_figure *figure, struct fth_error *error)
{
    struct fth_answers shorter = {NULL, 0}, longer = {NULL, 0};
    double shorter_cycles = 0, longer_cycles = 0;
    *figure = (struct fth_figure){.clock_mhz = NAN};
    enum fth_status status =
        time_chain(prober, path, SHORTER_BYTES, &shorter, &shorter_cycles, error);
    if (status == FTH_OK)
        status = time_chain(prober, path, LONGER_BYTES, &longer, &longer_cycles, error);
    figure->value = (longer_cycles - shorter_cycles) / SCRATCH_HOPS;
    if (status == FTH_OK && !(figure->value > 0))
        status = fth_fail(error, FTH_INCONCLUSIVE, "measure latency", NULL,
                          "a longer chain does not take longer");
    if (status == FTH_OK) {
        figure->clock_mhz = longer.items[0].clock_mhz;
        figure->samples = shorter.items[0].count + longer.items[0].count;
        status = find_confidence(&longer.items[0], shorter_cycles, figure, error);
    }
    fth_answers_fini(&shorter);
    fth_answers_fini(&longer);
    return status;
}
