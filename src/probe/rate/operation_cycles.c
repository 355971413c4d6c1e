/* Measures the cycles per operation as a slope: a block is timed with two numbers of rounds, and
 * the difference in cycles is divided by the difference in operations. The fixed cost of a block
 * (clock, barriers, first instruction fetch) cancels out. */
#include "probe/rate/probe_rate.h"

#include <math.h>
#include <string.h>

enum fth_status fth_probe_operate(const struct fth_prober *prober,
                                  const struct fth_operate_plan *plan, struct fth_figure *cycles,
                                  struct fth_error *error)
{
    struct fth_request requests[2];
    for (size_t i = 0; i < 2; i++) {
        requests[i] = fth_request_make(plan->carveout_percent);
        requests[i].family = FTH_FAMILY_OPERATE;
        requests[i].operate = plan->operate;
        requests[i].operate.rounds = i ? plan->more_rounds : plan->rounds;
    }
    struct fth_answers answers = {0};
    struct fth_summary less, more;
    FTH_TRY(fth_ask(prober, requests, 2, &answers, error));
    const double clock_mhz = answers.items[0].clock_mhz;
    enum fth_status status =
        fth_summary_u32(answers.items[0].cycles, answers.items[0].count, &less, error);
    if (status == FTH_OK)
        status = fth_summary_u32(answers.items[1].cycles, answers.items[1].count, &more, error);
    fth_answers_fini(&answers);
    if (status != FTH_OK)
        return status;
    const double operations = (double)(plan->more_rounds - plan->rounds) *
                              fth_operation_round(plan->operate.operation, plan->operate.chains);
    *cycles = (struct fth_figure){.value = (more.median - less.median) / operations,
                                  .low = (more.min - less.median) / operations,
                                  .high = (more.max - less.median) / operations,
                                  .samples = less.count + more.count,
                                  .clock_mhz = clock_mhz};
    return FTH_OK;
}
