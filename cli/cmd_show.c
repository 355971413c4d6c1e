/* fathom alone: the topology of the default GPU. */
#include "cli.h"

/* The GPU that stands in where none is named. */
static const char default_gpu[] = "h200";

static int run(const struct cli_arguments *arguments)
{
    if (cli_value(arguments, &cli_option_version)) {
        printf("fathom %s\n", fth_version());
        return cli_finish_stdout();
    }
    struct fth_error error = FTH_NO_ERROR;
    struct fth_catalogue *catalogue = NULL;
    struct fth_gpu *gpu = NULL;
    enum fth_status status = fth_catalogue_open(&catalogue, &error);
    if (status == FTH_OK)
        status = fth_catalogue_read(catalogue, default_gpu, &cli_log, &gpu, &error);
    int result = CLI_DONE;
    if (status != FTH_OK) {
        result = cli_fail(&error);
    } else {
        cli_message("nothing was measured: this version does not measure GPUs yet. This is the "
                    "stored description of '%s', the default simulated GPU.",
                    default_gpu);
        result = cli_put_gpu(arguments, gpu);
    }
    fth_gpu_destroy(gpu);
    fth_catalogue_close(catalogue);
    return result;
}

static const struct cli_option *const options[] = {
    &cli_option_json,    &cli_option_format, &cli_option_output,
    &cli_option_version, &cli_option_help,   NULL,
};

static const struct cli_example examples[] = {
    {"fathom", "draw the memory topology of the default GPU"},
    {"fathom --json -o h200.json", "its description, as a file"},
    {NULL, NULL},
};

const struct cli_command cli_show = {
    "",
    "the memory topology of the default GPU",
    "[COMMAND] [OPTION]...",
    "fathom sounds the depths of a GPU's memory. Without a command it shows the memory\n"
    "topology of the default GPU; so far this is a stored description, not a measurement.",
    options,
    examples,
    CLI_WORD_COMMAND,
    0,
    run,
};
