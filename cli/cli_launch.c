/* The options of all commands that launch kernels, and their values. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct cli_option cli_option_entry = {
    "entry", 'e', "NAME", CLI_WORD_NONE,
    "select the kernel if the file has several: its C++ name, such as transpose<32,0>, its name in "
    "the PTX file, or the beginning of either"};
const struct cli_option cli_option_grid = {"grid", 'g', "X[,Y[,Z]]", CLI_WORD_NONE,
                                           "blocks in the grid (default: 1)"};
const struct cli_option cli_option_block = {"block", 'b', "X[,Y[,Z]]", CLI_WORD_NONE,
                                            "threads per block (default: 32)"};
const struct cli_option cli_option_cluster = {
    "cluster", 'c', "X[,Y[,Z]]", CLI_WORD_NONE,
    "blocks per cluster (default: what the kernel requires, or no clusters)"};
const struct cli_option cli_option_shared = {"shared", 0, "BYTES", CLI_WORD_NONE,
                                             "dynamic shared memory per block, such as 16K"};
const struct cli_option cli_option_arg = {
    "arg", 'a', "ARGUMENT", CLI_WORD_NONE,
    "append a kernel argument: a number such as 5, i32:5 or f16:1.5, a buffer such as "
    "ptr:f32[64][64]=random, or a struct such as {i32:1,f32:2}; 'fathom help run' lists all "
    "forms"};
const struct cli_option cli_option_variable = {
    "variable", 0, "NAME[=CONTENTS]", CLI_WORD_NONE,
    "set the contents of a __constant__ or __device__ variable, such as c=f32[64]=random, c=i32:5 "
    "or c=1.5; can be repeated"};
const struct cli_option cli_option_seed = {"seed", 0, "N", CLI_WORD_NONE,
                                           "seed of random buffer contents (default: 1)"};
const struct cli_option cli_option_set = {
    "set", 's', "NAME=VALUE", CLI_WORD_NONE,
    "change a problem size that the launch file defines, such as N=256; can be repeated"};

const struct cli_option cli_option_allow_files = {
    "allow-files", 0, NULL, CLI_WORD_NONE,
    "let launch files read files outside of their own folder; without it, fathom refuses them"};

const struct cli_option cli_option_no_spills = {
    "no-spills", 0, NULL, CLI_WORD_NONE,
    "leave out the accesses to local memory that fathom estimates for kernels that need more "
    "registers than they may use"};

/* Parses up to three sizes such as "4", "4,2" or "4x2x1". Dimensions that are not given keep their
 * value. */
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

bool cli_parse_whole_number(const struct cli_arguments *arguments, const struct cli_option *option,
                            uint64_t *number)
{
    const char *text = cli_value(arguments, option);
    if (!text)
        return true;
    char *end;
    errno = 0;
    const bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    *number = strtoull(text, &end, hexadecimal ? 16 : 10);
    if (end != text && !*end && !errno && *text != '-')
        return true;
    cli_message("--%s requires a whole number, not '%s'", option->name, text);
    return false;
}

bool cli_parse_max_instructions(const struct cli_arguments *arguments, uint64_t *number)
{
    if (!cli_parse_whole_number(arguments, &cli_option_max_instructions, number))
        return false;
    if (*number || !cli_value(arguments, &cli_option_max_instructions))
        return true;
    cli_message("--max-instructions requires a whole number from 1 on, not '0'");
    return false;
}

/* Collects all values of an option that can be repeated, and returns their number. `sizes_only`:
 * leaves out settings whose name has a dot, which are parameters of the model. */
static size_t collect(const struct cli_arguments *arguments, const struct cli_option *option,
                      bool sizes_only, const char *values[CLI_MAX_OPTIONS])
{
    size_t count = 0;
    for (size_t i = 0; i < arguments->option_count; i++) {
        const char *text = arguments->values[i];
        if (arguments->options[i] == option &&
            !(sizes_only && memchr(text, '.', strcspn(text, "="))))
            values[count++] = text;
    }
    return count;
}

int cli_read_launch_options(const struct cli_arguments *arguments, const struct cli_option *set,
                            struct cli_launch_values *values)
{
    struct fth_launch_options *options = &values->options;
    uint64_t shared_bytes = 0;
    const char *grid = cli_value(arguments, &cli_option_grid);
    const char *block = cli_value(arguments, &cli_option_block);
    *options = (struct fth_launch_options)FTH_LAUNCH_OPTIONS(.sizes = values->sizes,
                                                             .kernel = cli_value(arguments,
                                                                                 &cli_option_entry),
                                                             .arguments = values->arguments);
    options->allow_files = cli_value(arguments, &cli_option_allow_files) != NULL;
    options->no_spills = cli_value(arguments, &cli_option_no_spills) != NULL;
    const char *cluster = cli_value(arguments, &cli_option_cluster);
    memset(values->cluster, 0, sizeof values->cluster);
    if ((grid && !parse_shape(grid, options->grid)) ||
        (block && !parse_shape(block, options->block)) ||
        (cluster && !parse_shape(cluster, values->cluster))) {
        cli_message("--grid, --block and --cluster require one to three numbers, such as 64 or "
                    "16,16");
        return CLI_USAGE;
    }
    if (!cli_parse_whole_number(arguments, &cli_option_seed, &values->seed))
        return CLI_USAGE;
    if (cli_value(arguments, &cli_option_seed))
        options->seed = &values->seed;
    if (cluster)
        options->cluster = values->cluster;
    int result = cli_parse_size(arguments, &cli_option_shared, &shared_bytes);
    if (result == CLI_DONE)
        result = cli_parse_range(arguments, &cli_option_launches, &options->first_launch,
                                 &options->end_launch);
    if (result == CLI_DONE)
        result = cli_parse_size(arguments, &cli_option_max_memory, &options->max_memory_bytes);
    if (result != CLI_DONE)
        return result;
    options->kernels = cli_value(arguments, &cli_option_kernels);
    options->shared_bytes = (size_t)shared_bytes;
    options->size_count = collect(arguments, set, set != &cli_option_set, values->sizes);
    options->argument_count = collect(arguments, &cli_option_arg, false, values->arguments);
    options->variables = values->variables;
    options->variable_count = collect(arguments, &cli_option_variable, false, values->variables);
    return CLI_DONE;
}

int cli_obtain_trace(const struct cli_arguments *arguments, const struct cli_option *set,
                     const char *output, struct fth_launch **traced, struct fth_trace **trace)
{
    struct cli_launch_values values;
    struct fth_error error = FTH_NO_ERROR;
    *trace = NULL;
    int result = cli_read_launch_options(arguments, set, &values);
    if (result != CLI_DONE)
        return result;
    struct fth_trace_options options =
        FTH_TRACE_OPTIONS(.launch = &values.options, .output = output, .log = &cli_log,
                          .traced = traced);
    if (!cli_parse_max_instructions(arguments, &options.max_instructions))
        return CLI_USAGE;
    return fth_trace_obtain(arguments->words[0], &options, trace, &error) == FTH_OK
               ? CLI_DONE
               : cli_fail(&error);
}
