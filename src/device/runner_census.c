/* The census: a launch whose blocks report the SM on which they run. */
#include "device/runner.h"

#include <stdlib.h>

/* With this many blocks per SM in the grid, each of which fills an eighth of an SM (2048 threads),
 * each SM should receive at least one block. */
enum { BLOCKS_PER_SM = 8, THREADS = 256 };

/* There can be gaps between the %smid numbers. The kernel writes one word per number, then the
 * address of the constant bank. */
enum fth_status fth_runner_find_sms(struct fth_runner *runner, struct fth_error *error)
{
    uint32_t *present = calloc(FTH_MAX_SMS, sizeof *present);
    runner->sms = calloc(FTH_MAX_SMS, sizeof *runner->sms);
    const uint64_t bytes = FTH_MAX_SMS * sizeof *present, origin = runner->scratch + bytes;
    const uint64_t arguments[] = {runner->scratch, origin};
    const struct fth_machine_launch launch = {.kernel = "census",
                                              .blocks = runner->facts.sms * BLOCKS_PER_SM,
                                              .threads = THREADS,
                                              .arguments = arguments,
                                              .argument_bytes = sizeof arguments};
    enum fth_status status =
        present && runner->sms ? FTH_OK : fth_no_memory(error, "run experiments", NULL);
    if (status == FTH_OK)
        status = runner->ops->fill(runner->machine, runner->scratch, 0, bytes + 8, error);
    if (status == FTH_OK)
        status = fth_runner_launch(runner, launch, error);
    if (status == FTH_OK)
        status = runner->ops->wait(runner->machine, FTH_MIN_TIME_LIMIT_S, error);
    if (status == FTH_OK)
        status = runner->ops->download(runner->machine, present, runner->scratch, bytes, error);
    if (status == FTH_OK)
        status = runner->ops->download(runner->machine, &runner->bank_origin, origin, 8, error);
    for (uint32_t i = 0; i < FTH_MAX_SMS && status == FTH_OK; i++)
        if (present[i])
            runner->sms[runner->sm_count++] = i;
    if (status == FTH_OK && runner->sm_count == 0)
        status = fth_fail(error, FTH_UNAVAILABLE, "run experiments", NULL,
                          "the first launch executed no block");
    free(present);
    return status;
}
