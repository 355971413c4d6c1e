/* fathom gpus: lists the GPU descriptions that come with fathom, or shows one. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>

static int show(const struct cli_arguments *arguments, const struct fth_catalogue *catalogue)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_gpu *gpu = NULL;
    enum fth_status status =
        fth_catalogue_read(catalogue, arguments->words[0], &cli_log, &gpu, &error);
    int result = status == FTH_OK ? cli_put_gpu(arguments, gpu, false) : cli_fail(&error);
    fth_gpu_destroy(gpu);
    return result;
}

static const struct fth_column columns[] = {
    {"name", "Name", FTH_COLUMN_TEXT},
    {"device", "GPU", FTH_COLUMN_TEXT},
    {"architecture", "Arch.", FTH_COLUMN_TEXT},
    {"compute_capability", "cc", FTH_COLUMN_TEXT},
    {"sms", "Units", FTH_COLUMN_NUMBER},
    {"l1_bytes", "L1", FTH_COLUMN_BYTES},
    {"l2_bytes", "L2", FTH_COLUMN_BYTES},
    {"l3_bytes", "L3", FTH_COLUMN_BYTES},
    {"memory_bytes", "Memory", FTH_COLUMN_BYTES},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };
/* The columns that a narrow terminal does not show, the least important one first. */
static const char *const drop_columns[] = {"compute_capability", "architecture", NULL};

/* The L1 is the first cache of an SM or compute unit, the L2 that of the whole GPU: AMD's GPUs can
 * have several. */
static void fill_row(struct fth_cell *row, const char *name, const struct fth_gpu *gpu)
{
    row[0].text = name;
    row[1].text = fth_gpu_text(gpu, "device", "name");
    row[2].text = fth_gpu_text(gpu, "device", "architecture");
    row[3].text = fth_gpu_text(gpu, "device", "compute_capability");
    row[4].number = fth_gpu_number(gpu, "device", "sms", NAN);
    row[5].number = fth_gpu_number(gpu, "vector_l1", "size_bytes",
                                   fth_gpu_number(gpu, "l1", "size_bytes", NAN));
    row[6].number =
        fth_gpu_number(gpu, "l2", "size_bytes", NAN) * fth_gpu_number(gpu, "l2", "instances", 1);
    row[7].number = fth_gpu_number(gpu, "l3", "size_bytes", NAN);
    row[8].number = fth_gpu_number(gpu, "memory", "size_bytes", NAN);
}

/* Lists all descriptions. Prints an error for each one that cannot be read, and lists the others;
 * without memory, it lists none. */
static int list(const struct cli_arguments *arguments, const struct fth_catalogue *catalogue)
{
    size_t count = fth_catalogue_count(catalogue), rows = 0;
    struct fth_gpu **gpus = calloc(count + 1, sizeof *gpus);
    struct fth_cell *cells = calloc((count + 1) * COLUMNS, sizeof *cells);
    int faults = CLI_DONE, result = CLI_FAILED;
    enum fth_status status = gpus && cells ? FTH_OK : FTH_NO_MEMORY;
    for (size_t i = 0; i < count && status != FTH_NO_MEMORY; i++) {
        struct fth_error fault = FTH_NO_ERROR;
        const char *name = fth_catalogue_name(catalogue, i);
        status = fth_catalogue_read(catalogue, name, &cli_log, &gpus[i], &fault);
        if (status == FTH_OK)
            fill_row(cells + COLUMNS * rows++, name, gpus[i]);
        else if (status != FTH_NO_MEMORY)
            faults = cli_fail(&fault);
    }
    if (status != FTH_NO_MEMORY)
        result = cli_put_table_fit(arguments, &(struct fth_table){columns, COLUMNS, cells, rows},
                                   drop_columns);
    else
        result = cli_no_memory();
    for (size_t i = 0; gpus && i < count; i++)
        fth_gpu_destroy(gpus[i]);
    free(gpus);
    free(cells);
    return result == CLI_DONE ? faults : result;
}

static int run(const struct cli_arguments *arguments)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_catalogue *catalogue = NULL;
    if (fth_catalogue_open(&catalogue, &error) != FTH_OK)
        return cli_fail(&error);
    int status = arguments->word_count ? show(arguments, catalogue) : list(arguments, catalogue);
    fth_catalogue_close(catalogue);
    return status;
}

static const struct cli_option *const options[] = {
    &cli_option_json, &cli_option_gpu_format, &cli_option_output, &cli_option_help, NULL,
};

static const struct cli_example examples[] = {
    {"fathom gpus", "list the GPU descriptions"},
    {"fathom gpus v100", "draw the memory topology of the V100"},
    {"fathom gpus v100 --json", "print the description as JSON"},
    {"fathom gpus my-gpu.json", "check and show your own description"},
    {"fathom gpus a100 --format csv", "print one figure per row"},
    {NULL, NULL},
};

const struct cli_command cli_gpus = {
    "gpus",
    "List the GPU descriptions that come with fathom, or show one",
    "[NAME | FILE | -] [OPTION]...",
    "List the GPU descriptions that come with fathom. With a NAME from the list, a\n"
    "FILE, or - for standard input, check that description and show it. A description\n"
    "contains the figures of a GPU and the source of each one. Files can be\n"
    "compressed with zstd.\n"
    "In the list, units are SMs or, for GPUs of other vendors than NVIDIA, compute\n"
    "units; L2 is the sum of all L2 caches.",
    options,
    examples,
    CLI_WORD_GPU,
    1,
    run,
};
