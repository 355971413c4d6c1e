/* fathom fleet judge: a verdict for each GPU. */
#include "fleet/fleet_cli.h"

int cli_fleet_judge_folder(const struct cli_arguments *arguments, const char *folder,
                           double min_effect, bool all)
{
    const struct fth_fleet_judge_options options =
        FTH_FLEET_JUDGE_OPTIONS(.min_effect = min_effect, .log = &cli_log);
    struct fth_fleet *fleet = NULL;
    struct fth_fleet_judgement *judgement = NULL;
    struct fth_error error = FTH_NO_ERROR;
    int result = cli_fleet_read_paths(arguments, &folder, 1, &fleet);
    if (result == CLI_DONE && fth_fleet_judge(fleet, &options, &judgement, &error) != FTH_OK)
        result = cli_fail(&error);
    if (result == CLI_DONE)
        result = cli_fleet_put(arguments, judgement, all);
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_destroy(fleet);
    return result;
}

int cli_fleet_judge(const struct cli_arguments *arguments)
{
    struct fth_fleet_judge_options options;
    struct fth_fleet *fleet = NULL;
    struct fth_fleet_reference *reference = NULL;
    struct fth_fleet_judgement *judgement = NULL;
    struct fth_error error = FTH_NO_ERROR;
    int result = cli_fleet_require_words(arguments, "PATH");
    if (result == CLI_DONE)
        result = cli_check_output(arguments);
    if (result == CLI_DONE)
        result = cli_fleet_check_expected(arguments);
    if (result == CLI_DONE)
        result = cli_fleet_judge_options(arguments, &options, &reference);
    if (result == CLI_DONE)
        result = cli_fleet_read(arguments, 1, &fleet);
    if (result == CLI_DONE && fth_fleet_judge(fleet, &options, &judgement, &error) != FTH_OK)
        result = cli_fail(&error);
    if (result == CLI_DONE)
        result = cli_fleet_judge_store(arguments, &options, judgement);
    if (result == CLI_DONE)
        result =
            cli_fleet_conclude(arguments, judgement, cli_value(arguments, &cli_fleet_all) != NULL);
    fth_fleet_judgement_destroy(judgement);
    fth_fleet_reference_destroy(reference);
    fth_fleet_destroy(fleet);
    return result;
}
