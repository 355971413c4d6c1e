/* Judges descriptions as a fleet, and writes the judgement. */
#include "report/fleet/judgement.h"

#include <string.h>

/* Judges the GPUs that were added to a fleet, and writes the judgement. */
static enum fth_status judge(const char *format, struct fth_fleet *fleet,
                             const struct fth_compare_options *options, char **text, size_t *size,
                             size_t *count, struct fth_error *error)
{
    struct fth_fleet_judgement *judgement = NULL;
    const struct fth_fleet_judge_options how =
        FTH_FLEET_JUDGE_OPTIONS(.min_effect = options->within);
    struct fth_report_options report;
    FTH_TRY(fth_options_read("fth_report_options", options->report, &report, sizeof report, error));
    report.all = report.all || options->all;
    FTH_TRY(fth_fleet_judge(fleet, &how, &judgement, error));
    *count = judgement->suspect + judgement->failed;
    enum fth_status status = fth_report_judgement(format, judgement, &report, text, size, error);
    fth_fleet_judgement_destroy(judgement);
    return status;
}

enum fth_status fth_report_fleet(const char *format, const struct fth_compare_options *options,
                                 const struct fth_gpu *const *gpus, const char *const *names,
                                 size_t gpu_count, char **text, size_t *size, size_t *count,
                                 struct fth_error *error)
{
    struct fth_compare_options known;
    struct fth_fleet *fleet = NULL;
    *text = NULL;
    *size = 0;
    *count = 0;
    FTH_TRY(fth_options_read("fth_compare_options", options, &known, sizeof known, error));
    FTH_TRY(fth_judgement_check(format, error));
    FTH_TRY(fth_fleet_create(&fleet, error));
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < gpu_count && status == FTH_OK; i++)
        status = fth_fleet_add_gpu(fleet, gpus[i], names[i], error);
    if (status == FTH_OK)
        status = judge(format, fleet, &known, text, size, count, error);
    fth_fleet_destroy(fleet);
    return status;
}
