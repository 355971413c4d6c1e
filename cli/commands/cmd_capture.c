/* fathom capture: runs a CUDA program on a GPU, and writes its launches to a capsule.
 *
 * fathom preloads a library (frontends/capture/) into the program, which passes all calls to the
 * CUDA driver, and writes a capsule per process to a folder beside the file of -o. When the program
 * has ended, fathom completes the capsules, and gives them their names. */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option option_output = {
    "output", 'o', "CAPSULE", CLI_WORD_FILE,
    "the file to write; if several processes launch kernels, their numbers are appended to the "
    "name"};
static const struct cli_option option_light = {
    "light", 0, NULL, CLI_WORD_NONE,
    "without the contents of memory: fast, for kernels whose addresses do not depend on data"};
static const struct cli_option option_kernel = {
    "kernel", 0, "REGEX", CLI_WORD_NONE,
    "capture only the kernels whose names match an extended regular expression"};
static const struct cli_option option_launch = {
    "launch", 0, "N..M", CLI_WORD_NONE,
    "capture only the launches from number N to M, counted from 0 in the order of the program; N.. "
    "means up to the last, N only this one"};
static const struct cli_option option_every = {
    "every", 0, "N", CLI_WORD_NONE,
    "of the launches that --launch selects, capture only each Nth, from the first one on"};
static const struct cli_option option_limit = {
    "limit", 0, "SIZE", CLI_WORD_NONE,
    "once the capsule is larger than SIZE, capture launches without the contents of memory "
    "(default: 16 GiB)"};
static const struct cli_option option_ptx = {
    "ptx", 0, "FOLDER", CLI_WORD_FILE,
    "look for PTX in this folder, for kernels of which the program loads only machine code"};

/* Joins the words of the program with spaces. */
static void join_words(const struct cli_arguments *arguments, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < arguments->word_count && used < size; i++) {
        const int length =
            snprintf(text + used, size - used, "%s%s", i ? " " : "", arguments->words[i]);
        used += length > 0 ? (size_t)length : 0;
    }
}

/* The options as the library reads them from the environment. */
struct selection {
    char first[32], end[32], every[32], limit[32], command[4096];
};

static int read_selection(const struct cli_arguments *arguments, struct selection *selection)
{
    const char *every = cli_value(arguments, &option_every);
    uint64_t first = 0, end = 0, limit = (uint64_t)16 << 30;
    char *rest = NULL;
    errno = 0;
    const unsigned long long step =
        every && every[0] >= '0' && every[0] <= '9' ? strtoull(every, &rest, 10) : 1;
    if (every && (!rest || *rest || step == 0 || errno)) {
        cli_message("--every requires a whole number from 1 on, not '%s'", every);
        return CLI_USAGE;
    }
    int code = cli_parse_range(arguments, &option_launch, &first, &end);
    if (code == CLI_DONE)
        code = cli_check_pattern(arguments, &option_kernel);
    if (code == CLI_DONE)
        code = cli_parse_size(arguments, &option_limit, &limit);
    snprintf(selection->first, sizeof selection->first, "%llu", (unsigned long long)first);
    snprintf(selection->end, sizeof selection->end, "%llu", (unsigned long long)end);
    snprintf(selection->every, sizeof selection->every, "%llu", step);
    snprintf(selection->limit, sizeof selection->limit, "%llu", (unsigned long long)limit);
    join_words(arguments, selection->command, sizeof selection->command);
    return code;
}

static bool run_program(const struct cli_arguments *arguments, const struct selection *selection,
                        const char *folder, struct cli_program_end *ended)
{
    char library[PATH_MAX];
    *ended = (struct cli_program_end){.code = CLI_FAILED};
    if (!cli_find_library("capture", "libfathom-capture.so", library, sizeof library))
        return false;
    struct cli_variable variables[8] = {
        {"FATHOM_CAPTURE_FOLDER", folder},          {"FATHOM_CAPTURE_COMMAND", selection->command},
        {"FATHOM_CAPTURE_FIRST", selection->first}, {"FATHOM_CAPTURE_END", selection->end},
        {"FATHOM_CAPTURE_EVERY", selection->every}, {"FATHOM_CAPTURE_LIMIT", selection->limit},
    };
    size_t count = 6;
    if (cli_value(arguments, &option_light))
        variables[count++] = (struct cli_variable){"FATHOM_CAPTURE_LIGHT", "1"};
    if (cli_value(arguments, &option_kernel))
        variables[count++] =
            (struct cli_variable){"FATHOM_CAPTURE_KERNELS", cli_value(arguments, &option_kernel)};
    return cli_run_program(
        &(struct cli_program){arguments->words, arguments->word_count, library, variables, count},
        ended);
}

static int capture(const struct cli_arguments *arguments)
{
    char folder[PATH_MAX];
    struct selection selection;
    struct cli_program_end ended;
    const char *target = cli_value(arguments, &option_output), *ptx[CLI_MAX_OPTIONS];
    size_t ptx_count = 0;
    if (arguments->word_count == 0 || !target) {
        cli_message(target ? "no program given; see 'fathom capture --help'"
                           : "no file given for the capsule; use -o FILE");
        return CLI_USAGE;
    }
    int code = read_selection(arguments, &selection);
    for (size_t i = 0; i < arguments->option_count; i++)
        if (arguments->options[i] == &option_ptx)
            ptx[ptx_count++] = arguments->values[i];
    if (code != CLI_DONE || !cli_make_folder(target, folder, sizeof folder))
        return code != CLI_DONE ? code : CLI_FAILED;
    if (run_program(arguments, &selection, folder, &ended))
        code = cli_keep_capsules(folder, target, ptx, ptx_count);
    cli_show_reports(folder);
    cli_remove_folder(folder);
    return cli_finish_program(&ended, code);
}

static const struct cli_option *const options[] = {
    &option_output, &option_kernel, &option_launch,    &option_every,    &option_light,
    &option_limit,  &option_ptx,    &cli_option_quiet, &cli_option_help, NULL,
};

static const struct cli_example examples[] = {
    {"fathom capture -o sort.capsule -- ./sort", "capture the launches of a program on a GPU"},
    {"fathom capture -o train.capsule --kernel attention --launch 0..99 -- python train.py",
     "capture the attention kernels among the first 100 launches of a script"},
    {"fathom run --verify sort.capsule", "repeat the launches without a GPU, and compare"},
    {"fathom model --gpu h200 sort.capsule", "predict the hit ratios of its kernels"},
    {NULL, NULL},
};

const struct cli_command cli_capture = {
    "capture",
    "Capture the launches of a CUDA program on a GPU",
    "-o CAPSULE [OPTION]... -- PROGRAM [ARGUMENT]...",
    "Run a CUDA program on a GPU, and write its launches to a file that 'fathom run',\n"
    "'trace', 'model' and 'explore' accept on any machine: the PTX of its kernels,\n"
    "the parameters, and the memory that each launch may access, before and after it.\n"
    "All programs that use NVIDIA's driver can be captured, with the static and the\n"
    "shared CUDA runtime, such as PyTorch and Triton.\n"
    "\n"
    "The program runs with your rights, and its output and results are unchanged. Its\n"
    "launches wait for each other while the memory is copied. The exit code is that\n"
    "of the program. See docs/programs/capture.md for what is captured.",
    options,
    examples,
    CLI_WORD_FILE,
    CLI_MAX_ARGUMENTS,
    capture,
};
