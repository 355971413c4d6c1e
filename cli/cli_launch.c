/* Creates the launch for the commands that execute kernels: one kernel of a PTX file with its
 * arguments from the command line, or all launches of a launch file. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct cli_option cli_option_entry = {"entry", 'e', "NAME", CLI_WORD_NONE,
                                            "select the kernel if the PTX file has several"};
const struct cli_option cli_option_grid = {"grid", 'g', "X[,Y[,Z]]", CLI_WORD_NONE,
                                           "blocks in the grid (default: 1)"};
const struct cli_option cli_option_block = {"block", 'b', "X[,Y[,Z]]", CLI_WORD_NONE,
                                            "threads per block (default: 32)"};
const struct cli_option cli_option_shared = {"shared", 0, "BYTES", CLI_WORD_NONE,
                                             "dynamic shared memory per block, such as 16K"};
const struct cli_option cli_option_arg = {
    "arg", 'a', "ARGUMENT", CLI_WORD_NONE,
    "append a kernel argument: a number such as i32:5 or f32:1.5, or a buffer such as "
    "ptr:f32[64*64]=random; 'fathom help run' lists all forms"};
const struct cli_option cli_option_seed = {"seed", 0, "N", CLI_WORD_NONE,
                                           "seed of random buffer contents (default: 1)"};
const struct cli_option cli_option_set = {
    "set", 's', "NAME=VALUE", CLI_WORD_NONE,
    "change a problem size that the launch file defines, such as N=256; can be repeated"};

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
    *number = strtoull(text, &end, 0);
    if (end != text && !*end && !errno && *text != '-')
        return true;
    cli_message("--%s requires a whole number, not '%s'", option->name, text);
    return false;
}

bool cli_ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

/* Collects all values of an option that can be repeated, and returns their number. */
static size_t collect(const struct cli_arguments *arguments, const struct cli_option *option,
                      const char *values[CLI_MAX_OPTIONS])
{
    size_t count = 0;
    for (size_t i = 0; i < arguments->option_count; i++)
        if (arguments->options[i] == option)
            values[count++] = arguments->values[i];
    return count;
}

static int open_file(const struct cli_arguments *arguments, struct fth_launch **launch)
{
    static const struct cli_option *const others[] = {
        &cli_option_entry,  &cli_option_grid, &cli_option_block,
        &cli_option_shared, &cli_option_arg,  &cli_option_seed,
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (cli_value(arguments, others[i])) {
            cli_message("--%s only applies to PTX files; a launch file contains this setting",
                        others[i]->name);
            return CLI_USAGE;
        }
    const char *sizes[CLI_MAX_OPTIONS];
    size_t count = collect(arguments, &cli_option_set, sizes);
    struct fth_error error = FTH_NO_ERROR;
    if (fth_launch_read(arguments->words[0], sizes, count, launch, &error) != FTH_OK)
        return cli_fail(&error);
    return CLI_DONE;
}

static int open_kernel(const struct cli_arguments *arguments, struct fth_launch **launch)
{
    struct fth_launch_shape shape = FTH_LAUNCH_SHAPE(.grid = {1, 1, 1}, .block = {32, 1, 1});
    uint64_t seed = 1, shared_bytes = 0;
    struct fth_error error = FTH_NO_ERROR;
    const char *grid = cli_value(arguments, &cli_option_grid);
    const char *block = cli_value(arguments, &cli_option_block);
    const char *shared = cli_value(arguments, &cli_option_shared);
    if ((grid && !parse_shape(grid, shape.grid)) || (block && !parse_shape(block, shape.block))) {
        cli_message("--grid and --block require one to three numbers, such as 64 or 16,16");
        return CLI_USAGE;
    }
    if (cli_value(arguments, &cli_option_set)) {
        cli_message("--set only applies to launch files (.json); '%s' is not one",
                    arguments->words[0]);
        return CLI_USAGE;
    }
    if (!cli_parse_whole_number(arguments, &cli_option_seed, &seed))
        return CLI_USAGE;
    if (shared && fth_size_parse(shared, &shared_bytes, &error) != FTH_OK)
        return cli_fail(&error);
    shape.shared_bytes = (size_t)shared_bytes;
    enum fth_status status = fth_launch_create(
        arguments->words[0], cli_value(arguments, &cli_option_entry), seed, launch, &error);
    const char *texts[CLI_MAX_OPTIONS];
    size_t count = collect(arguments, &cli_option_arg, texts);
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        status = fth_launch_argument(*launch, texts[i], &error);
    if (status == FTH_OK)
        status = fth_launch_set_shape(*launch, &shape, &error);
    return status == FTH_OK ? CLI_DONE : cli_fail(&error);
}

int cli_open_launch(const struct cli_arguments *arguments, struct fth_launch **launch)
{
    *launch = NULL;
    int result = cli_ends_with(arguments->words[0], ".json") ? open_file(arguments, launch)
                                                             : open_kernel(arguments, launch);
    if (result != CLI_DONE) {
        fth_launch_destroy(*launch);
        *launch = NULL;
    }
    return result;
}
