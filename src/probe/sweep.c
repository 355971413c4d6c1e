/* How long launches and copies take that are timed as a whole: sweeps and transfers. */
#include "probe/probe.h"

#include <math.h>

enum fth_status fth_probe_durations(const struct fth_prober *prober,
                                    const struct fth_request *request,
                                    struct fth_durations *durations, struct fth_error *error)
{
    const bool sweep = request->family == FTH_FAMILY_SWEEP;
    const size_t repeats = sweep ? request->sweep.repeats : request->transfer.repeats;
    struct fth_answers answers = {0};
    struct fth_summary summary;
    *durations = (struct fth_durations){.best_ns = NAN, .median_ns = NAN, .worst_ns = NAN};
    enum fth_status status = fth_ask(prober, request, 1, &answers, error);
    if (status == FTH_OK && answers.items[0].cycles[repeats] > 0)
        status = fth_fail(error, FTH_INCONCLUSIVE, "measure", NULL,
                          sweep && request->sweep.kind == FTH_SWEEP_READ
                              ? "what was read does not add up to what is there"
                              : "%u results are wrong: such a time counts for nothing",
                          (unsigned)answers.items[0].cycles[repeats]);
    if (status == FTH_OK)
        status = fth_summary_u32(answers.items[0].cycles, repeats, &summary, error);
    if (status == FTH_OK && !(summary.min > 0))
        status = fth_fail(error, FTH_INCONCLUSIVE, "measure", NULL, "it took no time");
    if (status == FTH_OK)
        *durations =
            (struct fth_durations){.best_ns = summary.min,
                                   .median_ns = summary.median,
                                   .worst_ns = summary.max,
                                   .count = repeats,
                                   .direct = !sweep && answers.items[0].cycles[repeats + 1]};
    fth_answers_fini(&answers);
    return status;
}
