/* fathom devices: lists the GPUs of this machine, CPUs with an OpenCL driver, and the reason if a
 * backend cannot be used. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static const struct fth_column columns[] = {
    {"backend", "Backend", FTH_COLUMN_TEXT},
    {"device", "Device", FTH_COLUMN_TEXT},
    {"name", "GPU", FTH_COLUMN_TEXT},
    {"detail", "Detail", FTH_COLUMN_TEXT},
};
enum { COLUMNS = sizeof columns / sizeof columns[0], MAX_DEVICES = 256 };

struct devices {
    struct fth_cell cells[MAX_DEVICES * COLUMNS];
    size_t rows;
    bool failed; /* out of memory */
};

static void set(struct devices *devices, struct fth_cell *cell, const char *text)
{
    cell->text = text ? strdup(text) : NULL;
    devices->failed = devices->failed || (text && !cell->text);
}

static void add(void *user, const struct fth_device_info *device)
{
    struct devices *devices = user;
    if (devices->rows == MAX_DEVICES)
        return;
    struct fth_cell *row = devices->cells + COLUMNS * devices->rows++;
    char detail[1024];
    snprintf(detail, sizeof detail, "%s%s", device->id ? "" : "not usable: ", device->detail);
    set(devices, &row[0], device->backend);
    set(devices, &row[1], device->id);
    set(devices, &row[2], device->name);
    set(devices, &row[3], detail);
}

static int run(const struct cli_arguments *arguments)
{
    struct devices *devices = calloc(1, sizeof *devices);
    if (!devices)
        return cli_no_memory();
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = fth_device_list(add, devices, &error);
    struct fth_table table = {columns, COLUMNS, devices->cells, devices->rows};
    int result = CLI_FAILED;
    if (status != FTH_OK)
        result = cli_fail(&error);
    else if (devices->failed)
        result = cli_no_memory();
    else
        result = cli_put_table(arguments, &table);
    if (result == CLI_DONE && strcmp(cli_format(arguments), "text") == 0)
        cli_note("to measure a simulated GPU: 'fathom topo --device sim:NAME', where 'fathom gpus' "
                 "lists the names");
    for (size_t i = 0; i < devices->rows * COLUMNS; i++)
        free((void *)devices->cells[i].text);
    free(devices);
    return result;
}

static const struct cli_option *const options[] = {
    &cli_option_json,  &cli_option_format, &cli_option_output,
    &cli_option_quiet, &cli_option_help,   NULL,
};

static const struct cli_example examples[] = {
    {"fathom devices", "list the GPUs of this machine"},
    {"fathom devices --json", "print the list as JSON"},
    {NULL, NULL},
};

const struct cli_command cli_devices = {
    "devices",
    "List the GPUs of this machine",
    "[OPTION]...",
    "List the GPUs of this machine that fathom can measure: those of NVIDIA through\n"
    "CUDA, and all devices with an OpenCL driver, including CPUs. If a backend has no\n"
    "device, for example because its driver is missing, print the reason. Pass a name\n"
    "from the column 'Device' to --device, for example 'fathom topo --device cuda:0'.\n"
    "Simulated GPUs (sim:NAME) are not listed here; see 'fathom gpus'.",
    options,
    examples,
    CLI_WORD_NONE,
    0,
    run,
};
