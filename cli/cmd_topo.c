/* fathom topo, and fathom alone: the memory topology of a GPU, measured. */
#include "cli.h"

#include <string.h>

static const struct cli_option option_only = {"only", 0, "ELEMENT,...", CLI_WORD_NONE,
                                              "measure these elements, as l1,l2"};
static const struct cli_option option_record = {
    "record", 0, "FILE", CLI_WORD_FILE,
    "keep everything that was measured, to be shown again with --device replay:FILE"};

/* Measures, and keeps what was recorded also where the measuring broke off. */
static enum fth_status measure(struct fth_device *device, const struct cli_arguments *arguments,
                               struct fth_gpu **gpu, struct fth_error *error)
{
    const char *record = cli_value(arguments, &option_record);
    const struct fth_discover_options options = {.only = cli_value(arguments, &option_only),
                                                 .log = &cli_log};
    enum fth_status status = FTH_OK;
    if (record)
        status = fth_device_record(device, record, error);
    if (status != FTH_OK)
        return status;
    status = fth_discover(device, &options, gpu, error);
    struct fth_error fault = FTH_NO_ERROR;
    if (fth_device_finish(device, &fault) != FTH_OK && status == FTH_OK) {
        *error = fault;
        status = fault.status;
    }
    return status;
}

static int topo(const struct cli_arguments *arguments)
{
    const char *wanted = cli_value(arguments, &cli_option_device);
    struct fth_error error = FTH_NO_ERROR;
    struct fth_device *device = NULL;
    struct fth_gpu *gpu = NULL;
    cli_catch_interrupts();
    if (fth_device_open(wanted, &cli_log, &device, &error) != FTH_OK) {
        int result = cli_fail(&error);
        return error.status == FTH_INVALID || error.status == FTH_INTERRUPTED ? result
                                                                              : CLI_NO_DEVICE;
    }
    const char *id = fth_device_id(device);
    if (!wanted && strncmp(id, "sim:", 4) == 0)
        cli_message("no GPU here that can be measured ('fathom devices' says why): this is %s, a "
                    "simulated one",
                    id);
    enum fth_status status = measure(device, arguments, &gpu, &error);
    int result = CLI_DONE;
    if (gpu)
        result = cli_put_gpu(arguments, gpu);
    if (status != FTH_OK)
        result = cli_fail(&error);
    fth_gpu_destroy(gpu);
    fth_device_close(device);
    return result;
}

static int run(const struct cli_arguments *arguments)
{
    if (cli_value(arguments, &cli_option_version)) {
        printf("fathom %s\n", fth_version());
        return cli_finish_stdout();
    }
    return topo(arguments);
}

#define SHARED_OPTIONS                                                                             \
    &cli_option_device, &cli_option_json, &cli_option_format, &cli_option_output, &option_only,    \
        &option_record
static const struct cli_option *const options[] = {SHARED_OPTIONS, &cli_option_help, NULL};
static const struct cli_option *const bare_options[] = {SHARED_OPTIONS, &cli_option_version,
                                                        &cli_option_help, NULL};

static const struct cli_example examples[] = {
    {"fathom topo", "the GPU of this machine or, where there is none, a simulated H200"},
    {"fathom topo --device sim:v100", "a simulated V100"},
    {"fathom topo --json -o gpu.json", "the description, as a file"},
    {"fathom topo --record gpu.rec", "... and everything that was measured"},
    {"fathom topo --device replay:gpu.rec", "the same, elsewhere and later"},
    {NULL, NULL},
};

static const struct cli_example bare_examples[] = {
    {"fathom", "the memory topology of the GPU here, or of a simulated H200"},
    {"fathom --json -o gpu.json", "its description, as a file"},
    {NULL, NULL},
};

const struct cli_command cli_topo = {
    "topo",
    "measure the memory topology of a GPU",
    "[OPTION]...",
    "Measures a GPU and shows its memory topology: what the driver tells and, so far, the\n"
    "latency of L1, L2 and memory and the size of L1.\n"
    "A device is cuda:NUMBER, sim:GPU (a name of 'fathom gpus' or a file) or replay:FILE.",
    options,
    examples,
    CLI_WORD_NONE,
    0,
    topo,
};

const struct cli_command cli_bare = {
    "",
    "the memory topology of a GPU",
    "[COMMAND] [OPTION]...",
    "fathom sounds the depths of a GPU's memory. Without a command it does what\n"
    "'fathom topo' does: it measures the GPU of this machine or, where there is none,\n"
    "a simulated one.",
    bare_options,
    bare_examples,
    CLI_WORD_COMMAND,
    0,
    run,
};
