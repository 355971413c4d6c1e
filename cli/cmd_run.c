/* fathom run: executes a kernel without a GPU and shows what it left in its buffers. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option option_entry = {"entry", 'e', "NAME", CLI_WORD_NONE,
                                               "the kernel, where the file has several"};
static const struct cli_option option_grid = {"grid", 'g', "X[,Y[,Z]]", CLI_WORD_NONE,
                                              "blocks of the grid; 1 where it is not given"};
static const struct cli_option option_block = {"block", 'b', "X[,Y[,Z]]", CLI_WORD_NONE,
                                               "threads of a block; 32 where it is not given"};
static const struct cli_option option_shared = {"shared", 0, "BYTES", CLI_WORD_NONE,
                                                "dynamic shared memory, such as 16K"};
static const struct cli_option option_arg = {
    "arg", 'a', "ARGUMENT", CLI_WORD_NONE,
    "the next argument: i32:5, f32:1.5, ptr:f32[64*64]=random, ptr:u32[]=file:a.bin"};
static const struct cli_option option_seed = {"seed", 0, "N", CLI_WORD_NONE,
                                              "for random buffers; 1 where it is not given"};
static const struct cli_option option_show = {"show", 0, "N", CLI_WORD_NONE,
                                              "so many values of each buffer; 8, and 0 for all"};

/* "4", "4,2" or "4x2x1". */
static bool parse_shape(const char *text, uint32_t shape[3])
{
    for (int i = 0; i < 3; i++) {
        char *end;
        errno = 0;
        unsigned long size = strtoul(text, &end, 10);
        if (end == text || errno || size == 0 || size > 0x7fffffff || *text == '-')
            return false;
        shape[i] = (uint32_t)size;
        if (*end == '\0')
            return true;
        if (*end != ',' && *end != 'x')
            return false;
        text = end + 1;
    }
    return false;
}

static bool parse_whole(const struct cli_arguments *arguments, const struct cli_option *option,
                        uint64_t *number)
{
    const char *text = cli_value(arguments, option);
    if (!text)
        return true;
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 0);
    if (end != text && !*end && !errno && *text != '-')
        return true;
    cli_message("--%s takes a whole number, not '%s'", option->name, text);
    return false;
}

static const struct fth_column columns[] = {
    {"argument", "Argument", FTH_COLUMN_NUMBER},
    {"type", "Type", FTH_COLUMN_TEXT},
    {"count", "Count", FTH_COLUMN_NUMBER},
    {"values", "Values", FTH_COLUMN_NUMBERS},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static int show(const struct cli_arguments *arguments, const struct fth_launch *launch,
                uint64_t most)
{
    size_t count = fth_launch_argument_count(launch), rows = 0;
    struct fth_cell *cells = calloc((count + 1) * COLUMNS, sizeof *cells);
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = cells ? FTH_OK : FTH_NO_MEMORY;
    if (!cells)
        cli_message("out of memory");
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        struct fth_launch_view view;
        char *values = NULL;
        status = fth_launch_show(launch, i, most, &view, &values, &error);
        if (status != FTH_OK || !view.is_buffer) {
            fth_free(values);
            continue;
        }
        struct fth_cell *row = cells + COLUMNS * rows++;
        row[0].number = (double)(i + 1);
        row[1].text = view.type;
        row[2].number = (double)view.count;
        row[3].text = values;
    }
    int result = CLI_FAILED;
    if (status == FTH_OK)
        result = cli_put_table(arguments, &(struct fth_table){columns, COLUMNS, cells, rows});
    else if (error.status)
        result = cli_fail(&error);
    for (size_t i = 0; cells && i < rows; i++)
        fth_free((void *)cells[COLUMNS * i + 3].text);
    free(cells);
    return result;
}

static int run(const struct cli_arguments *arguments)
{
    struct fth_launch_shape shape = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .log = &cli_log};
    uint64_t seed = 1, most = 8, shared_bytes = 0;
    struct fth_error error = FTH_NO_ERROR;
    const char *grid = cli_value(arguments, &option_grid);
    const char *block = cli_value(arguments, &option_block);
    const char *shared = cli_value(arguments, &option_shared);
    if (arguments->word_count == 0) {
        cli_message("which PTX file? 'fathom run --help' shows how to give one");
        return CLI_USAGE;
    }
    if ((grid && !parse_shape(grid, shape.grid)) || (block && !parse_shape(block, shape.block))) {
        cli_message("--grid and --block take up to three numbers, such as 64 or 16,16");
        return CLI_USAGE;
    }
    if (!parse_whole(arguments, &option_seed, &seed) ||
        !parse_whole(arguments, &option_show, &most))
        return CLI_USAGE;
    if (shared && fth_size_parse(shared, &shared_bytes, &error) != FTH_OK)
        return cli_fail(&error);
    shape.shared_bytes = (size_t)shared_bytes;

    struct fth_launch *launch = NULL;
    struct fth_launch_totals totals = {0, 0};
    enum fth_status status = fth_launch_create(
        arguments->words[0], cli_value(arguments, &option_entry), seed, &launch, &error);
    for (size_t i = 0; i < arguments->option_count && status == FTH_OK; i++)
        if (arguments->options[i] == &option_arg)
            status = fth_launch_argument(launch, arguments->values[i], &error);
    if (status == FTH_OK)
        status = fth_launch_run(launch, &shape, &totals, &error);
    int result = status == FTH_OK ? show(arguments, launch, most) : cli_fail(&error);
    if (result == CLI_DONE)
        cli_message("%s: %llu warp instructions, %llu thread instructions",
                    fth_launch_kernel(launch), (unsigned long long)totals.warp_instructions,
                    (unsigned long long)totals.thread_instructions);
    fth_launch_destroy(launch);
    return result;
}

static const struct cli_option *const options[] = {
    &option_entry,      &option_grid,       &option_block,    &option_shared,
    &option_arg,        &option_seed,       &option_show,     &cli_option_json,
    &cli_option_format, &cli_option_output, &cli_option_help, NULL,
};

static const struct cli_example examples[] = {
    {"fathom run k.ptx -g 4 -b 256 -a i32:1000 -a f32:2 -a 'ptr:f32[1000]=iota'",
     "run a kernel that nvcc -ptx made, and see its buffers"},
    {"fathom run k.ptx -e sum -b 64 -a 'ptr:f32[64]=random' --show 0 --json",
     "one kernel of several, with all values, for a script"},
    {NULL, NULL},
};

const struct cli_command cli_run = {
    "run",
    "execute a kernel without a GPU and show its buffers",
    "KERNEL.ptx [OPTION]...",
    "Executes a kernel of a PTX file, warp by warp, on the cores of this machine, with the\n"
    "arguments given in order, and shows what the buffers hold afterwards. An access outside\n"
    "the buffers, a misaligned one, a barrier that cannot complete or an instruction that is\n"
    "not supported is told with its line, block and thread.",
    options,
    examples,
    CLI_WORD_FILE,
    1,
    run,
};
