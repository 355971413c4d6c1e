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
#include <regex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct cli_option option_gpu = {
    "gpu", 0, "GPU", CLI_WORD_GPU,
    "the GPU that the program finds, and whose caches are modelled: a name listed by 'fathom "
    "gpus', or a description file (default: h200)"};
static const struct cli_option option_trace = {
    "trace", 0, "TRACE", CLI_WORD_FILE,
    "keep the trace in this file; if several processes launch kernels, their numbers are appended "
    "to the name"};
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
static const struct cli_option option_lines = {"lines", 0, NULL, CLI_WORD_NONE,
                                               "print one row per memory instruction, with its "
                                               "line in the PTX and, if known, in the CUDA source"};
static const struct cli_option option_launches = {"launches", 0, NULL, CLI_WORD_NONE,
                                                  "print one row per launch"};

/* ---- the libraries ---- */

/* The places of the two libraries, relative to the program: in the folder of a build, and after an
 * installation. */
static const char *const places[][2] = {
    {"frontends/cuda/libfathom-cuda.so", "frontends/cudart/libfathom-cudart.so"},
    {"../" CLI_LIBRARY_FOLDER "/libfathom-cuda.so",
     "../" CLI_LIBRARY_FOLDER "/libfathom-cudart.so"},
};

/* Finds the folder of this program. */
static bool find_folder(char folder[PATH_MAX])
{
    const ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length < 0)
        return false;
    folder[length] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}

/* Sets LD_PRELOAD. Returns false after a message if the libraries are not there. */
static bool preload(void)
{
    char folder[PATH_MAX], value[3 * PATH_MAX], path[2 * PATH_MAX];
    const char *before = getenv("LD_PRELOAD");
    for (size_t i = 0; find_folder(folder) && i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, places[i][0]);
        if (access(path, R_OK) != 0)
            continue;
        snprintf(value, sizeof value, "%s/%s:%s/%s%s%s", folder, places[i][0], folder, places[i][1],
                 before ? ":" : "", before ? before : "");
        return setenv("LD_PRELOAD", value, 1) == 0;
    }
    cli_message("libfathom-cuda.so is not installed with this program; build fathom from its "
                "sources, or install its package");
    return false;
}

/* ---- the program ---- */

/* Exit codes for a program that cannot be run, as those of a shell. */
enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

/* Returns the GPU as the program can find it from any folder. */
static const char *absolute_gpu(const struct cli_arguments *arguments, char path[PATH_MAX])
{
    const char *gpu = cli_value(arguments, &option_gpu);
    struct stat info;
    if (!gpu)
        return "h200";
    return stat(gpu, &info) == 0 && realpath(gpu, path) ? path : gpu;
}

/* Reads a whole number at *text, and moves *text behind it. Returns false if there is none. */
static bool read_number(const char **text, unsigned long long *number)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *number = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

/* Reads a range: N..M, N.. or N. *end is the number after the last one; 0: there is no limit. */
static bool read_range(const char *text, unsigned long long *first, unsigned long long *end)
{
    if (!read_number(&text, first))
        return false;
    *end = *first + 1;
    if (!*text)
        return true;
    if (strncmp(text, "..", 2) != 0)
        return false;
    text += 2;
    *end = 0;
    if (!*text)
        return true;
    unsigned long long last;
    const bool ok = read_number(&text, &last) && !*text && last >= *first;
    *end = ok ? last + 1 : 0;
    return ok;
}

/* Checks --launch, and passes it to the program. */
static int set_range(const struct cli_arguments *arguments)
{
    const char *text = cli_value(arguments, &option_launch);
    unsigned long long first, end;
    char number[32];
    if (!text)
        return CLI_DONE;
    if (!read_range(text, &first, &end)) {
        cli_message("--launch requires a range such as 0..9, 5.. or 5, not '%s'", text);
        return CLI_USAGE;
    }
    snprintf(number, sizeof number, "%llu", first);
    if (setenv("FATHOM_EXEC_FIRST", number, 1) != 0)
        return cli_no_memory();
    snprintf(number, sizeof number, "%llu", end);
    return setenv("FATHOM_EXEC_END", number, 1) == 0 ? CLI_DONE : cli_no_memory();
}

/* Checks --kernel, and passes it to the program. */
static int set_pattern(const struct cli_arguments *arguments)
{
    const char *pattern = cli_value(arguments, &option_kernel);
    regex_t compiled;
    if (!pattern)
        return CLI_DONE;
    const int code = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char text[128];
        regerror(code, &compiled, text, sizeof text);
        cli_message("--kernel: '%s' is not a regular expression: %s", pattern, text);
        return CLI_USAGE;
    }
    regfree(&compiled);
    return setenv("FATHOM_EXEC_KERNELS", pattern, 1) == 0 ? CLI_DONE : cli_no_memory();
}

/* Runs the program. Returns the status of waitpid, or -1 after a message. */
static int run_program(const struct cli_arguments *arguments, const char *folder)
{
    char path[PATH_MAX], *words[CLI_MAX_ARGUMENTS + 1];
    const bool traced =
        !cli_value(arguments, &option_no_model) && !cli_value(arguments, &option_check);
    /* execvp does not change the words, although its parameter is not const. */
    memcpy(words, arguments->words, arguments->word_count * sizeof *words);
    words[arguments->word_count] = NULL;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        if (!preload() || setenv("FATHOM_EXEC_GPU", absolute_gpu(arguments, path), 1) != 0 ||
            setenv("FATHOM_EXEC_FOLDER", folder, 1) != 0 ||
            (traced && setenv("FATHOM_EXEC_TRACE", "1", 1) != 0) ||
            (cli_value(arguments, &option_check) && setenv("FATHOM_EXEC_CHECK", "1", 1) != 0))
            _exit(CLI_FAILED);
        execvp(words[0], words);
        const int cause = errno;
        cli_message("cannot run '%s': %s", words[0], strerror(cause));
        _exit(cause == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
    }
    if (child < 0) {
        cli_message("cannot start a process: %s", strerror(errno));
        return -1;
    }
    /* Ctrl-C ends the program; what it did until then is modelled. */
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    sigaction(SIGINT, &ignore, &old);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &old, NULL);
    return status;
}

/* ---- results ---- */

static enum fth_model_view view_of(const struct cli_arguments *arguments)
{
    return cli_value(arguments, &option_lines)      ? FTH_MODEL_VIEW_LINES
           : cli_value(arguments, &option_launches) ? FTH_MODEL_VIEW_LAUNCHES
                                                    : FTH_MODEL_VIEW_KERNELS;
}

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
    struct fth_report_options report = cli_report_options(arguments);
    struct fth_error error = FTH_NO_ERROR;
    const struct fth_model_options options = FTH_MODEL_OPTIONS(.log = &cli_log);
    const char *gpu = cli_value(arguments, &option_gpu);
    char *text = NULL;
    size_t size = 0;
    with_gpu.options[0] = &cli_option_gpu;
    with_gpu.values[0] = gpu ? gpu : "h200";
    with_gpu.option_count = 1;
    int code = cli_read_parameters(&with_gpu, &params);
    if (code == CLI_DONE && (fth_model_run(trace, params, &options, &result, &error) != FTH_OK ||
                             fth_report_model(cli_format(arguments), view_of(arguments), result,
                                              params, &report, &text, &size, &error) != FTH_OK))
        code = cli_fail(&error);
    if (code == CLI_DONE)
        code = put_text(arguments, text, size);
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

/* Moves a trace to the file of --trace, which is on the same file system. */
static int keep_trace(const struct cli_arguments *arguments, const char *path, const char *process)
{
    const char *target = cli_value(arguments, &option_trace);
    char name[PATH_MAX];
    if (!target)
        return CLI_DONE;
    snprintf(name, sizeof name, "%s%s%s", target, process ? "." : "", process ? process : "");
    if (rename(path, name) == 0)
        return CLI_DONE;
    cli_message("cannot write %s: %s", name, strerror(errno));
    return CLI_FAILED;
}

static int ends_with(const struct dirent *entry, const char *suffix)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, suffix) == 0;
}

static int is_trace(const struct dirent *entry)
{
    return ends_with(entry, ".trace");
}

static int is_report(const struct dirent *entry)
{
    return ends_with(entry, ".report");
}

/* Prints the errors and the missing functions of a report again, which can be far above in the
 * output of the program. Returns the number of its warnings. */
static size_t show_report(const char *path)
{
    static const char unsupported[] = "unsupported ", failed[] = "error ", warning[] = "warning ";
    FILE *file = fopen(path, "r");
    char line[4096];
    size_t warnings = 0;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, unsupported, sizeof unsupported - 1) == 0)
            cli_message("%s", line + sizeof unsupported - 1);
        else if (strncmp(line, failed, sizeof failed - 1) == 0)
            cli_message("%s", line + sizeof failed - 1);
        warnings += strncmp(line, warning, sizeof warning - 1) == 0;
    }
    if (file)
        fclose(file);
    return warnings;
}

/* Returns the number of warnings in all reports. */
static size_t show_reports(const char *folder)
{
    struct dirent **entries = NULL;
    size_t warnings = 0;
    const int count = scandir(folder, &entries, is_report, alphasort);
    for (int i = 0; i < count; i++) {
        char path[2 * PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        warnings += show_report(path);
        free(entries[i]);
    }
    free(entries);
    return warnings;
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
        if (code == CLI_DONE)
            code = keep_trace(arguments, path, process);
        free(entries[i]);
    }
    free(entries);
    return code;
}

static void remove_folder(const char *folder)
{
    DIR *stream = opendir(folder);
    for (const struct dirent *entry; stream && (entry = readdir(stream));)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream)
        closedir(stream);
    rmdir(folder);
}

/* Makes a folder for what the program writes: beside the file of --trace, or for temporary files.
 */
static bool make_folder(const struct cli_arguments *arguments, char folder[PATH_MAX])
{
    const char *trace = cli_value(arguments, &option_trace), *parent = getenv("TMPDIR");
    struct fth_error error = FTH_NO_ERROR;
    if (trace && fth_file_check(trace, &error) != FTH_OK) {
        cli_fail(&error);
        return false;
    }
    if (trace)
        snprintf(folder, PATH_MAX, "%s.XXXXXX", trace);
    else
        snprintf(folder, PATH_MAX, "%s/fathom-exec-XXXXXX", parent && parent[0] ? parent : "/tmp");
    if (mkdtemp(folder))
        return true;
    cli_message("cannot create a folder beside '%s': %s", folder, strerror(errno));
    return false;
}

static int exec(const struct cli_arguments *arguments)
{
    char folder[PATH_MAX], path[PATH_MAX];
    if (arguments->word_count == 0) {
        cli_message("no program given; see 'fathom exec --help'");
        return CLI_USAGE;
    }
    int code = cli_check_output(arguments);
    if (code == CLI_DONE)
        code = set_range(arguments);
    if (code == CLI_DONE)
        code = set_pattern(arguments);
    if (code != CLI_DONE || !make_folder(arguments, path))
        return code != CLI_DONE ? code : CLI_FAILED;
    /* The program may change its working folder. */
    if (!realpath(path, folder))
        snprintf(folder, sizeof folder, "%s", path);
    const int status = run_program(arguments, folder);
    const bool was_run =
        status >= 0 && !(WIFEXITED(status) && (WEXITSTATUS(status) == NOT_FOUND ||
                                               WEXITSTATUS(status) == NOT_EXECUTABLE));
    if (was_run && !cli_value(arguments, &option_no_model) && !cli_value(arguments, &option_check))
        code = show_results(arguments, folder);
    const size_t warnings = show_reports(folder);
    if (warnings && cli_value(arguments, &option_check)) {
        cli_message("%zu race%s or missing wait%s; see above", warnings, warnings == 1 ? "" : "s",
                    warnings == 1 ? "" : "s");
        code = CLI_USAGE;
    }
    remove_folder(folder);
    if (status < 0)
        return CLI_FAILED;
    if (WIFSIGNALED(status)) {
        cli_message("the program was ended by signal %d (%s)", WTERMSIG(status),
                    strsignal(WTERMSIG(status)));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status) ? WEXITSTATUS(status) : code;
}

static const struct cli_option *const options[] = {
    &option_gpu,        &option_kernel,
    &option_launch,     &option_trace,
    &option_launches,   &option_lines,
    &option_no_model,   &option_check,
    &cli_option_json,   &cli_option_format,
    &cli_option_output, &cli_option_quiet,
    &cli_option_help,   NULL,
};

static const struct cli_example examples[] = {
    {"nvcc -cudart shared -lineinfo saxpy.cu -o saxpy", "compile a program"},
    {"fathom exec -- ./saxpy", "run it without a GPU, and predict its hit ratios on an H200"},
    {"fathom exec --gpu v100 --lines -- ./saxpy 1000", "show which source lines miss on a V100"},
    {"fathom exec --trace saxpy.trace -- ./saxpy", "keep the trace for 'fathom model'"},
    {NULL, NULL},
};

const struct cli_command cli_exec = {
    "exec",
    "Run a CUDA program without a GPU and model its kernels",
    "[OPTION]... -- PROGRAM [ARGUMENT]...",
    "Run a CUDA program that was linked with 'nvcc -cudart shared', or that uses the\n"
    "CUDA driver API, on a machine without a GPU. The PTX engine executes its kernels;\n"
    "the program must contain their PTX, as programs do that are compiled with\n"
    "-arch=sm_XY. When it has ended, print on standard error, per kernel, the hits and\n"
    "misses of L1 and L2 and the traffic to memory, as 'fathom model' does.\n"
    "\n"
    "The program runs with your rights, and its own output is unchanged. The exit code\n"
    "is that of the program. See docs/programs/exec.md for what is supported.",
    options,
    examples,
    CLI_WORD_FILE,
    CLI_MAX_ARGUMENTS,
    exec,
};
