/* Cache model parameters from the command line, for `fathom model` and `fathom explore`. */
#include "cli.h"

#include <string.h>

const struct cli_option cli_option_gpu = {
    "gpu", 0, "GPU", CLI_WORD_GPU,
    "take the parameters of a GPU: a name listed by 'fathom gpus', a description file, - for "
    "standard input, or none for generic parameters (default: the GPU of this computer if there is "
    "a description of it, otherwise h200)"};
const struct cli_option cli_option_threads = {"threads", 0, "N", CLI_WORD_NONE,
                                              "host threads to use (default: one per core)"};

bool cli_parse_threads(const struct cli_arguments *arguments, unsigned *threads)
{
    enum { MAX_THREADS = 1024 }; /* Chosen: more than the cores of any machine. */
    uint64_t number = *threads;
    if (!cli_parse_whole_number(arguments, &cli_option_threads, &number))
        return false;
    *threads = number < MAX_THREADS ? (unsigned)number : MAX_THREADS;
    return true;
}

/* Chooses the GPU if --gpu does not name one, and says which and why. */
static enum fth_status choose_gpu(const struct fth_catalogue *catalogue, const char **name,
                                  struct fth_error *error)
{
    static const char fallback[] = "h200";
    char device[256] = "";
    enum fth_status status = fth_device_local_name(device, sizeof device, error);
    if (status != FTH_OK)
        return status;
    *name = *device ? fth_catalogue_find(catalogue, device) : NULL;
    if (*name)
        cli_note("no --gpu given: using %s, the description of the GPU of this computer (%s)",
                 *name, device);
    else if (*device)
        cli_note("no --gpu given: using %s, because there is no description of the GPU of this "
                 "computer (%s); see 'fathom gpus'",
                 fallback, device);
    else
        cli_note("no --gpu given: using %s; see 'fathom gpus'", fallback);
    *name = *name ? *name : fallback;
    return FTH_OK;
}

bool cli_is_generic(const char *gpu)
{
    return gpu && (strcmp(gpu, "none") == 0 || strcmp(gpu, "generic") == 0);
}

int cli_read_parameters(const struct cli_arguments *arguments, const char *fallback,
                        struct fth_model_params **params)
{
    const char *given = cli_value(arguments, &cli_option_gpu), *name = given ? given : fallback;
    struct fth_catalogue *catalogue = NULL;
    struct fth_gpu *gpu = NULL;
    struct fth_error error = FTH_NO_ERROR;
    for (size_t i = 0; name && strcmp(name, "-") == 0 && i < arguments->word_count; i++)
        if (strcmp(arguments->words[i], "-") == 0) {
            cli_message("standard input cannot be both the description (--gpu -) and the trace");
            return CLI_USAGE;
        }
    enum fth_status status = fth_catalogue_open(&catalogue, &error);
    if (status == FTH_OK && !name)
        status = choose_gpu(catalogue, &name, &error);
    if (cli_is_generic(name))
        name = NULL;
    if (status == FTH_OK && name)
        status = fth_catalogue_read(catalogue, name, &cli_log, &gpu, &error);
    if (status == FTH_OK)
        status = fth_model_params_create(gpu, params, &error);
    fth_gpu_destroy(gpu);
    fth_catalogue_close(catalogue);
    return status == FTH_OK ? CLI_DONE : cli_fail(&error);
}

int cli_apply_settings(const struct cli_arguments *arguments, const struct cli_option *option,
                       const char *example, cli_setter *set, void *context)
{
    for (size_t i = 0; i < arguments->option_count; i++) {
        const char *text = arguments->values[i];
        const char *equals = text ? strchr(text, '=') : NULL;
        char name[64];
        if (arguments->options[i] != option)
            continue;
        if (!equals || equals == text || (size_t)(equals - text) >= sizeof name) {
            cli_message("--set requires NAME=VALUE, such as %s, not '%s'", example, text);
            return CLI_USAGE;
        }
        snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
        struct fth_error error = FTH_NO_ERROR;
        if (strchr(name, '.') && set(context, name, equals + 1, &error) != FTH_OK)
            return cli_fail(&error);
    }
    return CLI_DONE;
}

/* ---- views of explorations ---- */

const struct cli_option cli_option_objective = {
    "objective", 0, "FIGURE", CLI_WORD_NONE,
    "sort the points by a figure, best first, and name the best: time, floor (time floor), dram or "
    "l2_bytes (bytes), l1_hit or l2_hit (hit ratio of reads); for all kernels of a point together"};
const struct cli_option cli_option_pareto = {
    "pareto", 0, "COST,GOAL", CLI_WORD_NONE,
    "show only the points that no other point dominates, that is, equals or exceeds in all figures "
    "and exceeds in one. COST and GOAL are such figures, or parameters, of which less is better"};
const struct cli_option cli_option_rdgc = {
    "rdgc", 0, NULL, CLI_WORD_NONE,
    "also show the columns of the RDGC paper: merges, fails, steps, and the L2 without L1"};

struct fth_points_view cli_points_view(const struct cli_arguments *arguments)
{
    struct fth_points_view view = FTH_POINTS_VIEW();
    view.objective = cli_value(arguments, &cli_option_objective);
    view.pareto = cli_value(arguments, &cli_option_pareto);
    view.rdgc = cli_value(arguments, &cli_option_rdgc) != NULL;
    return view;
}

int cli_check_points_view(const struct cli_arguments *arguments)
{
    const struct fth_points_view view = cli_points_view(arguments);
    struct fth_error error = FTH_NO_ERROR;
    return fth_points_view_check(&view, &error) == FTH_OK ? CLI_DONE : cli_fail(&error);
}

void cli_note_skipped(const char *points, size_t size)
{
    enum { MAX_NAMED = 8 }; /* chosen */
    size_t count = 0;
    char *reasons = NULL;
    if (fth_points_skipped(points, size, MAX_NAMED, &count, &reasons, NULL) == FTH_OK &&
        count > 0) {
        cli_note("%zu point%s skipped because the parameters are not possible:", count,
                 count == 1 ? " was" : "s were");
        for (char *line = strtok(reasons, "\n"); line; line = strtok(NULL, "\n"))
            cli_note("%s", line);
        if (count > MAX_NAMED)
            cli_note("and %zu more", count - MAX_NAMED);
    }
    fth_free(reasons);
}
