/* fathom fleet collect, reference: measurements in one file, and distributions of their figures. */
#include "fleet/fleet_cli.h"

#include <string.h>
#include <sys/stat.h>

/* ---- collect ---- */

int cli_fleet_collect(const struct cli_arguments *arguments)
{
    struct fth_fleet *fleet = NULL;
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0, gpus, measurements;
    int result = cli_fleet_require_words(arguments, "PATH");
    if (result == CLI_DONE)
        result = cli_check_output(arguments);
    if (result == CLI_DONE)
        result = cli_fleet_read(arguments, 1, &fleet);
    if (result == CLI_DONE && fth_fleet_records(fleet, &text, &size, &error) != FTH_OK)
        result = cli_fail(&error);
    if (result == CLI_DONE) {
        gpus = fth_fleet_gpu_count(fleet, &measurements);
        result = cli_fleet_write(arguments, text, size);
        if (result == CLI_DONE)
            cli_note("%zu measurements of %zu GPUs", measurements, gpus);
    }
    fth_fleet_destroy(fleet);
    return result;
}

/* ---- reference ---- */

/* The arguments that are references, and those that are measurements. */
struct inputs {
    struct fth_fleet_reference *reference; /* the merged references; NULL: none */
    const char *paths[CLI_MAX_ARGUMENTS];
    size_t path_count;
};

/* Merges `other` into the reference, and destroys it. */
static int merge(struct fth_fleet_reference **reference, struct fth_fleet_reference *other)
{
    struct fth_error error = FTH_NO_ERROR;
    int result = CLI_DONE;
    if (!*reference) {
        *reference = other;
        return CLI_DONE;
    }
    if (fth_fleet_reference_merge(*reference, other, &error) != FTH_OK)
        result = cli_fail(&error);
    fth_fleet_reference_destroy(other);
    return result;
}

/* Reads the references among the arguments. The other arguments are paths of measurements: their
 * errors, if they have some, are found when these are read. */
static int sort_arguments(const struct cli_arguments *arguments, struct inputs *inputs)
{
    int result = CLI_DONE;
    for (size_t i = 1; i < arguments->word_count && result == CLI_DONE; i++) {
        const char *path = arguments->words[i];
        struct fth_fleet_reference *reference = NULL;
        struct stat file;
        /* Pipes and standard input can be read only once. */
        if (strcmp(path, "-") != 0 && stat(path, &file) == 0 && S_ISREG(file.st_mode) &&
            fth_fleet_reference_read(path, &reference, NULL) == FTH_OK)
            result = merge(&inputs->reference, reference);
        else
            inputs->paths[inputs->path_count++] = path;
    }
    return result;
}

/* Makes the reference of the measurements, and merges it with the others. */
static int refer(const struct cli_arguments *arguments,
                 const struct fth_fleet_judge_options *options, struct inputs *inputs)
{
    struct fth_fleet *fleet = NULL;
    struct fth_fleet_reference *reference = NULL;
    struct fth_error error = FTH_NO_ERROR;
    int result = cli_fleet_read_paths(arguments, inputs->paths, inputs->path_count, &fleet);
    if (result == CLI_DONE && fth_fleet_gpu_count(fleet, NULL) == 0) {
        cli_message("there are no measurements of GPUs");
        result = CLI_INCONCLUSIVE;
    }
    if (result == CLI_DONE && fth_fleet_refer(fleet, options, &reference, &error) != FTH_OK)
        result = cli_fail(&error);
    if (result == CLI_DONE)
        result = merge(&inputs->reference, reference);
    fth_fleet_destroy(fleet);
    return result;
}

int cli_fleet_reference(const struct cli_arguments *arguments)
{
    struct inputs inputs = {0};
    struct fth_fleet_judge_options options;
    struct fth_fleet_reference *none = NULL;
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    int result = cli_fleet_require_words(arguments, "PATH");
    if (result == CLI_DONE)
        result = cli_check_output(arguments);
    if (result == CLI_DONE)
        result = cli_fleet_judge_options(arguments, &options, &none);
    if (result == CLI_DONE)
        result = sort_arguments(arguments, &inputs);
    if (result == CLI_DONE && inputs.path_count)
        result = refer(arguments, &options, &inputs);
    if (result == CLI_DONE &&
        fth_fleet_reference_text(inputs.reference, &text, &size, &error) != FTH_OK)
        result = cli_fail(&error);
    if (result == CLI_DONE)
        result = cli_fleet_write(arguments, text, size);
    fth_fleet_reference_destroy(inputs.reference);
    fth_fleet_reference_destroy(none);
    return result;
}
