/* Decides whether loads find data after a write, from repeats of an experiment. */
#include "probe/probe.h"

struct fth_write_effect fth_decide_effect(const struct fth_found_loads *repeats, size_t count,
                                          double max_lost, double min_kept)
{
    struct fth_write_effect effect = {.outcome = FTH_WRITE_UNDECIDED};
    size_t votes[FTH_WRITE_KEPT + 1] = {0};
    for (size_t i = 0; i < count; i++) {
        const double all = (double)repeats[i].loads, found = (double)repeats[i].found;
        effect.found += repeats[i].found;
        effect.loads += repeats[i].loads;
        votes[repeats[i].loads == 0     ? FTH_WRITE_UNDECIDED
              : found >= min_kept * all ? FTH_WRITE_KEPT
              : found <= max_lost * all ? FTH_WRITE_LOST
                                        : FTH_WRITE_UNDECIDED]++;
    }
    for (unsigned i = FTH_WRITE_LOST; i <= FTH_WRITE_KEPT; i++)
        if (2 * votes[i] > count) {
            effect.outcome = (enum fth_write_outcome)i;
            effect.evidence = (struct fth_evidence){(double)count, (double)votes[i], NULL, false};
        }
    return effect;
}
