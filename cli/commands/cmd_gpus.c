/* fathom gpus: lists the GPU descriptions that come with fathom, or shows one; packs a measured
 * description and its recording for the maintainers of the catalogue, and checks such a pack. */
#include "cli.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option option_contribute = {
    "contribute", 0, "FILE", CLI_WORD_FILE,
    "check a measured description and its recording, remove what identifies the card, and pack "
    "both into the archive of -o"};

static const struct cli_option option_recording = {
    "recording", 0, "FILE", CLI_WORD_FILE,
    "the recording of the same run, for --contribute; without it, the file with the name of the "
    "description and .zst instead of .json"};

static const struct cli_option option_check = {
    "check", 0, "PACK", CLI_WORD_FILE,
    "check an archive of --contribute: analyse its recording again, and compare"};

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

/* Writes the name of the recording that belongs to a description: gpu.json and gpu.json.zst have
 * gpu.zst. Returns NULL if the name has another end or is too long. */
static const char *name_recording(const char *description, char *path, size_t size)
{
    static const char *const ends[] = {".json", ".json.zst"};
    const size_t length = strlen(description);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const size_t end = strlen(ends[i]);
        if (length <= end || strcmp(description + length - end, ends[i]) != 0)
            continue;
        const int written = snprintf(path, size, "%.*s.zst", (int)(length - end), description);
        return written > 0 && (size_t)written < size ? path : NULL;
    }
    return NULL;
}

/* Prints the text that describes a contribution. */
static int put_summary(const char *summary, const char *result)
{
    printf("%s%s\n", summary, result);
    return cli_finish_stdout();
}

static int contribute(const struct cli_arguments *arguments)
{
    const char *description = cli_value(arguments, &option_contribute);
    const char *recording = cli_value(arguments, &option_recording);
    const char *output = cli_value(arguments, &cli_option_output);
    char path[PATH_MAX], *pack = NULL, *summary = NULL;
    struct fth_error error = FTH_NO_ERROR;
    size_t size = 0;
    if (!output || strcmp(output, "-") == 0) {
        cli_message("--contribute requires a file for the archive, such as -o gpu.tar.zst");
        return CLI_USAGE;
    }
    if (!recording && !(recording = name_recording(description, path, sizeof path))) {
        cli_message("--contribute requires the recording of the same run: --recording FILE");
        return CLI_USAGE;
    }
    if (fth_file_check(output, &error) != FTH_OK)
        return cli_fail(&error);
    cli_catch_interrupts();
    int result = CLI_DONE;
    if (fth_contribution_pack(description, recording, &cli_log, &pack, &size, &summary, &error) !=
            FTH_OK ||
        fth_file_write_compressed(output, pack, size, &error) != FTH_OK)
        result = cli_fail(&error);
    else
        result = put_summary(summary, "The archive is complete: attach it to your pull request.");
    fth_free(pack);
    fth_free(summary);
    return result;
}

static int check(const char *pack)
{
    char *summary = NULL;
    struct fth_error error = FTH_NO_ERROR;
    cli_catch_interrupts();
    const int result = fth_contribution_check(pack, &cli_log, &summary, &error) == FTH_OK
                           ? put_summary(summary, "The recording gives the description.")
                           : cli_fail(&error);
    fth_free(summary);
    return result;
}

/* Checks that the options of contributions can be combined. */
static int check_options(const struct cli_arguments *arguments)
{
    const bool packs = cli_value(arguments, &option_contribute) != NULL;
    const bool checks = cli_value(arguments, &option_check) != NULL;
    if (packs && checks)
        cli_message("--contribute and --check cannot be combined");
    else if ((packs || checks) && arguments->word_count)
        cli_message("--%s takes the only file; '%s' is one too many",
                    packs ? "contribute" : "check", arguments->words[0]);
    else if (cli_value(arguments, &option_recording) && !packs)
        cli_message("--recording requires --contribute");
    else if (checks && cli_value(arguments, &cli_option_output))
        cli_message("--check writes no file; -o cannot be combined with it");
    else if ((packs || checks) && strcmp(cli_format(arguments), "text") != 0)
        cli_message("--contribute and --check print text only");
    else
        return CLI_DONE;
    return CLI_USAGE;
}

static int run(const struct cli_arguments *arguments)
{
    const int usage = check_options(arguments);
    if (usage != CLI_DONE)
        return usage;
    if (cli_value(arguments, &option_contribute))
        return contribute(arguments);
    if (cli_value(arguments, &option_check))
        return check(cli_value(arguments, &option_check));
    struct fth_error error = FTH_NO_ERROR;
    struct fth_catalogue *catalogue = NULL;
    if (fth_catalogue_open(&catalogue, &error) != FTH_OK)
        return cli_fail(&error);
    int status = arguments->word_count ? show(arguments, catalogue) : list(arguments, catalogue);
    fth_catalogue_close(catalogue);
    return status;
}

static const struct cli_option *const options[] = {
    &cli_option_json,  &cli_option_gpu_format, &cli_option_output, &option_contribute,
    &option_recording, &option_check,          &cli_option_help,   NULL,
};

static const struct cli_example examples[] = {
    {"fathom gpus", "list the GPU descriptions"},
    {"fathom gpus v100", "draw the memory topology of the V100"},
    {"fathom gpus v100 --json", "print the description as JSON"},
    {"fathom gpus my-gpu.json", "check and show your own description"},
    {"fathom gpus a100 --format csv", "print one figure per row"},
    {"fathom gpus --contribute gpu.json -o gpu.tar.zst",
     "check and pack a measured description, with the recording gpu.zst"},
    {"fathom gpus --check gpu.tar.zst", "check such an archive"},
    {NULL, NULL},
};

const struct cli_command cli_gpus = {
    "gpus",
    "List the GPU descriptions that come with fathom, or show one",
    "[NAME | FILE | -] [OPTION]... | --contribute FILE -o PACK | --check PACK",
    "List the GPU descriptions that come with fathom. With a NAME from the list, a\n"
    "FILE, or - for standard input, check that description and show it. A description\n"
    "contains the figures of a GPU and the source of each one. Files can be\n"
    "compressed with zstd.\n"
    "In the list, units are SMs or, for GPUs of other vendors than NVIDIA, compute\n"
    "units; L2 is the sum of all L2 caches.\n"
    "\n"
    "--contribute packs a description of your GPU for the catalogue. Measure it with\n"
    "'fathom topo --full --json -o gpu.json --record gpu.zst'. The GPU must be real,\n"
    "and the recording must give the description. Host name, UUID, serial number and\n"
    "PCI address are removed from both.",
    options,
    examples,
    CLI_WORD_GPU,
    1,
    run,
};
