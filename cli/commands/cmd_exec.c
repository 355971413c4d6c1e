/* fathom exec: runs a CUDA program without a GPU, and models its kernels.
 *
 * The program runs in a process of its own, into which fathom preloads its implementations of the
 * CUDA driver and of the CUDA runtime. They run the kernels and write, per process, a trace and a
 * report (frontends/cuda/driver_state.c) to a temporary folder. When the program has ended, fathom
 * models the traces. */
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct cli_option option_gpu = {
    "gpu", 0, "GPU", CLI_WORD_GPU,
    "the GPU that the program finds, and whose caches are modelled: a name listed by 'fathom "
    "gpus', or a description file (default: h200)"};
static const struct cli_option option_trace = {
    "trace", 0, "TRACE", CLI_WORD_FILE,
    "keep the trace in this file; if several processes launch kernels, their numbers are appended "
    "to the name"};
static const struct cli_option option_save = {
    "save", 0, "CAPSULE", CLI_WORD_FILE,
    "keep the launches with the contents of memory in this file, which 'fathom run', 'trace' and "
    "'model' accept"};
static const struct cli_option option_kernel = {
    "kernel", 0, "REGEX", CLI_WORD_NONE,
    "trace and model only the kernels whose names match an extended regular expression"};
static const struct cli_option option_launch = {
    "launch", 0, "N..M", CLI_WORD_NONE,
    "trace and model only the launches from number N to M, counted from 0 in the order of the "
    "program; N.. means up to the last, N only this one"};
static const struct cli_option option_no_model = {
    "no-model", 0, NULL, CLI_WORD_NONE, "only run the program, without tracing and modelling"};
static const struct cli_option option_check = {
    "check", 0, NULL, CLI_WORD_NONE,
    "report races on shared memory: accesses of different threads without a barrier between them, "
    "and missing waits for asynchronous copies; without tracing and modelling; the exit code is 2 "
    "if there are any and the program succeeds"};

/* ---- the program ---- */

/* Returns the GPU as the program can find it from any folder. */
static const char *absolute_gpu(const struct cli_arguments *arguments, char path[PATH_MAX])
{
    const char *gpu = cli_value(arguments, &option_gpu);
    struct stat info;
    if (!gpu)
        return "h200";
    return stat(gpu, &info) == 0 && realpath(gpu, path) ? path : gpu;
}

/* Returns whether the program is traced, and its trace modelled. */
static bool is_modelled(const struct cli_arguments *arguments)
{
    return !cli_value(arguments, &option_no_model) && !cli_value(arguments, &option_check);
}

/* Runs the program. Returns false after a message if it could not be run. */
static bool run_program(const struct cli_arguments *arguments, const char *folder, uint64_t first,
                        uint64_t end, struct cli_program_end *ended)
{
    char gpu[PATH_MAX], driver[PATH_MAX], runtime[PATH_MAX], capture[PATH_MAX] = "";
    char libraries[3 * PATH_MAX + 3];
    const bool is_saved = cli_value(arguments, &option_save) != NULL;
    char first_text[32], end_text[32];
    *ended = (struct cli_program_end){.code = CLI_FAILED};
    if (!cli_find_library("cuda", "libfathom-cuda.so", driver, sizeof driver) ||
        !cli_find_library("cudart", "libfathom-cudart.so", runtime, sizeof runtime))
        return false;
    /* The library that captures launches comes first, and passes the calls on. */
    if (is_saved && !cli_find_library("capture", "libfathom-capture.so", capture, sizeof capture))
        return false;
    snprintf(libraries, sizeof libraries, "%s%s%s:%s", capture, is_saved ? ":" : "", driver,
             runtime);
    snprintf(first_text, sizeof first_text, "%llu", (unsigned long long)first);
    snprintf(end_text, sizeof end_text, "%llu", (unsigned long long)end);
    struct cli_variable variables[16] = {
        {"FATHOM_EXEC_GPU", absolute_gpu(arguments, gpu)},
        {"FATHOM_EXEC_FOLDER", folder},
        {"FATHOM_EXEC_FIRST", first_text},
        {"FATHOM_EXEC_END", end_text},
    };
    size_t count = 4;
    if (is_modelled(arguments))
        variables[count++] = (struct cli_variable){"FATHOM_EXEC_TRACE", "1"};
    if (cli_value(arguments, &option_check))
        variables[count++] = (struct cli_variable){"FATHOM_EXEC_CHECK", "1"};
    if (cli_value(arguments, &option_kernel))
        variables[count++] =
            (struct cli_variable){"FATHOM_EXEC_KERNELS", cli_value(arguments, &option_kernel)};
    if (is_saved) {
        variables[count++] = (struct cli_variable){"FATHOM_CAPTURE_FOLDER", folder};
        /* Copying is faster than the digests of the GPU, which the PTX engine would compute. */
        variables[count++] = (struct cli_variable){"FATHOM_CAPTURE_COPY", "1"};
        variables[count++] = (struct cli_variable){"FATHOM_CAPTURE_FIRST", first_text};
        variables[count++] = (struct cli_variable){"FATHOM_CAPTURE_END", end_text};
        if (cli_value(arguments, &option_kernel))
            variables[count++] = (struct cli_variable){"FATHOM_CAPTURE_KERNELS",
                                                       cli_value(arguments, &option_kernel)};
    }
    return cli_run_program(
        &(struct cli_program){arguments->words, arguments->word_count, libraries, variables, count},
        ended);
}

/* ---- results ---- */

/* Writes a text to the file of -o, or to stderr, and frees it. */
static int put_text(const struct cli_arguments *arguments, char *text, size_t size)
{
    if (cli_value(arguments, &cli_option_output))
        return cli_put_text(arguments, text, size);
    fwrite(text, 1, size, stderr);
    fth_free(text);
    return CLI_DONE;
}

static int model_trace(const struct cli_arguments *arguments, const struct fth_trace *trace)
{
    struct cli_arguments with_gpu = *arguments;
    struct fth_model_params *params = NULL;
    struct fth_model_result *result = NULL;
    struct fth_hints *hints = NULL;
    struct fth_error error = FTH_NO_ERROR;
    const struct fth_model_options options = FTH_MODEL_OPTIONS(.log = &cli_log, .diagnose = true);
    const char *gpu = cli_value(arguments, &option_gpu);
    char *text = NULL;
    size_t size = 0;
    with_gpu.options[0] = &cli_option_gpu;
    with_gpu.values[0] = gpu ? gpu : "h200";
    with_gpu.option_count = 1;
    int code = cli_read_parameters(&with_gpu, NULL, &params);
    if (code == CLI_DONE && fth_model_run(trace, params, &options, &result, &error) != FTH_OK)
        code = cli_fail(&error);
    if (code == CLI_DONE)
        code = cli_find_hints(arguments, trace, params, result, &hints);
    if (code == CLI_DONE)
        code = cli_put_model(arguments, cli_model_view(arguments), result, params, hints,
                             arguments->word_count ? arguments->words[0] : NULL, &text, &size);
    if (code == CLI_DONE)
        code = put_text(arguments, text, size);
    fth_hints_destroy(hints);
    fth_model_result_destroy(result);
    fth_model_params_destroy(params);
    return code;
}

/* Models the trace of a process. */
static int model_file(const struct cli_arguments *arguments, const char *path, const char *process)
{
    struct fth_trace *trace = NULL;
    struct fth_error error = FTH_NO_ERROR;
    if (fth_trace_open(path, &trace, &error) != FTH_OK)
        return cli_fail(&error);
    int code = CLI_DONE;
    const size_t launches = fth_trace_launch_count(trace);
    if (process)
        cli_message("process %s: %zu launch%s", process, launches, launches == 1 ? "" : "es");
    if (fth_trace_truncated(trace))
        cli_message("the program ended without completing its trace; the launches that it "
                    "completed follow");
    if (launches)
        code = model_trace(arguments, trace);
    else
        cli_message("there is no launch to model: the program launched no kernel, or --kernel and "
                    "--launch select none");
    fth_trace_close(trace);
    return code;
}

static int is_trace(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, ".trace") == 0;
}

static int show_results(const struct cli_arguments *arguments, const char *folder)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_trace, alphasort);
    int code = CLI_DONE;
    if (count == 0)
        cli_message("the program did not use CUDA; if it does, link it with 'nvcc -cudart shared'");
    for (int i = 0; i < count; i++) {
        char path[2 * PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        *strrchr(entries[i]->d_name, '.') = '\0';
        const char *process = count > 1 ? entries[i]->d_name : NULL;
        if (code == CLI_DONE)
            code = model_file(arguments, path, process);
        if (code == CLI_DONE && cli_value(arguments, &option_trace) &&
            !cli_keep_file(path, cli_value(arguments, &option_trace), process))
            code = CLI_FAILED;
        free(entries[i]);
    }
    free(entries);
    return code;
}

static int exec(const struct cli_arguments *arguments)
{
    char folder[PATH_MAX];
    uint64_t first = 0, end = 0;
    struct cli_program_end ended;
    if (arguments->word_count == 0) {
        cli_message("no program given; see 'fathom exec --help'");
        return CLI_USAGE;
    }
    int code = cli_check_output(arguments);
    if (code == CLI_DONE)
        code = cli_parse_range(arguments, &option_launch, &first, &end);
    if (code == CLI_DONE)
        code = cli_check_pattern(arguments, &option_kernel);
    const char *save = cli_value(arguments, &option_save);
    if (code != CLI_DONE ||
        !cli_make_folder(save ? save : cli_value(arguments, &option_trace), folder, sizeof folder))
        return code != CLI_DONE ? code : CLI_FAILED;
    const bool was_run = run_program(arguments, folder, first, end, &ended);
    if (was_run && is_modelled(arguments))
        code = show_results(arguments, folder);
    if (was_run && save && code == CLI_DONE)
        code = cli_keep_capsules(folder, save, NULL, 0);
    const size_t warnings = cli_show_reports(folder);
    if (warnings && cli_value(arguments, &option_check)) {
        cli_message("%zu race%s or missing wait%s; see above", warnings, warnings == 1 ? "" : "s",
                    warnings == 1 ? "" : "s");
        code = CLI_USAGE;
    }
    cli_remove_folder(folder);
    return cli_finish_program(&ended, code);
}

static const struct cli_option *const options[] = {
    &option_gpu,        &option_kernel,     &option_launch,    &option_trace,    &option_save,
    CLI_VIEW_OPTIONS,   &cli_option_hints,  &option_no_model,  &option_check,    &cli_option_json,
    &cli_option_format, &cli_option_output, &cli_option_quiet, &cli_option_help, NULL,
};

static const struct cli_example examples[] = {
    {"nvcc -cudart shared -lineinfo saxpy.cu -o saxpy", "compile a program"},
    {"fathom exec -- ./saxpy", "run it without a GPU, and predict its hit ratios on an H200"},
    {"fathom exec --gpu v100 --lines -- ./saxpy 1000", "show which source lines miss on a V100"},
    {"fathom exec --trace saxpy.trace -- ./saxpy", "keep the trace for 'fathom model'"},
    {"fathom exec --save saxpy.capsule -- ./saxpy",
     "keep all that is needed to repeat the launches"},
    {NULL, NULL},
};

const struct cli_command cli_exec = {
    "exec",
    "Run a CUDA program without a GPU and model its kernels",
    "[OPTION]... -- PROGRAM [ARGUMENT]...",
    "Run a CUDA program that was linked with 'nvcc -cudart shared', or that uses the\n"
    "CUDA driver API, on a machine without a GPU. The PTX engine executes its\n"
    "kernels; the program must contain their PTX, as programs do that are compiled\n"
    "with -arch=sm_XY. When it has ended, print on standard error, per kernel, the\n"
    "hits and misses of L1 and L2 and the traffic to memory, as 'fathom model' does.\n"
    "\n"
    "The program runs with your rights, and its own output is unchanged. The exit\n"
    "code is that of the program. See docs/programs/exec.md for what is supported.",
    options,
    examples,
    CLI_WORD_FILE,
    CLI_MAX_ARGUMENTS,
    exec,
};
