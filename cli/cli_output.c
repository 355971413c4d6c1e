/* Writes results to stdout or a file, and messages and progress to stderr. Maps errors to exit
 * codes. */
#include "cli.h"

#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Returns the number of columns of the terminal behind a file descriptor; 0 if it is not a
 * terminal, or if the terminal does not tell. */
static unsigned terminal_width(int fd)
{
    struct winsize size;
    if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

/* ---- progress ---- */

/* Columns of the progress line that is visible on the terminal; 0: none. */
static unsigned progress_columns;

/* Returns how many columns a progress line can have. The last column stays free, because some
 * terminals begin a new line after a character there. The width can change at any time. */
static unsigned available_columns(void)
{
    const unsigned width = terminal_width(STDERR_FILENO);
    return width ? width - 1 : 79; /* 80 columns if the terminal does not tell */
}

static void clear_progress(void)
{
    const unsigned available = available_columns();
    if (progress_columns)
        fprintf(stderr, "\r%*s\r",
                (int)(progress_columns < available ? progress_columns : available), "");
    progress_columns = 0;
}

/* Returns how many bytes of UTF-8 text have at most `columns` columns. *used is their number. */
static int cut_text(const char *text, unsigned columns, unsigned *used)
{
    int bytes = 0;
    for (*used = 0; text[bytes] && *used < columns; ++*used)
        do
            bytes++;
        while (((unsigned char)text[bytes] & 0xc0) == 0x80); /* the rest of a character */
    return bytes;
}

/* Writes a progress line, cut to the width of the terminal. */
static void put_progress(const char *what, double fraction)
{
    /* Maximum columns of `what`. Chosen: the line stays short on wide terminals, too. */
    enum { MAX_WHAT = 50 };
    static const char start[] = "fathom: ";
    char end[16];
    const unsigned tail = (unsigned)snprintf(end, sizeof end, " %3.0f %%", 100 * fraction);
    const unsigned head = (unsigned)strlen(start), available = available_columns();
    if (available < tail)
        return;
    /* On a terminal that is too narrow for both, the percentage is more useful than the name. */
    const unsigned left = available - tail, shown_head = left > head ? head : 0;
    unsigned used;
    const int bytes =
        cut_text(what, left - shown_head < MAX_WHAT ? left - shown_head : MAX_WHAT, &used);
    fprintf(stderr, "%.*s%.*s%s", (int)shown_head, start, bytes, what, end);
    progress_columns = shown_head + used + tail;
}

__attribute__((format(printf, 1, 0))) static void print_line(const char *format, va_list arguments)
{
    char text[4096]; /* longer messages are cut */
    vsnprintf(text, sizeof text, format, arguments);
    fth_make_printable(text); /* words of the command line can be names of files */
    clear_progress();
    fprintf(stderr, "fathom: %s\n", text);
}

void cli_message(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
}

/* Whether --quiet was given. */
static bool quiet;

void cli_be_quiet(void)
{
    quiet = true;
}

void cli_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!quiet)
        print_line(format, arguments);
    va_end(arguments);
}

int cli_no_memory(void)
{
    cli_message("out of memory");
    return CLI_FAILED;
}

int cli_fail(const struct fth_error *error)
{
    char text[sizeof *error];
    cli_message("%s", fth_error_text(error, text, sizeof text));
    if (error->excerpt[0])
        fprintf(stderr, "%s\n", error->excerpt);
    switch (error->status) {
    case FTH_INVALID:
    case FTH_NOT_FOUND: return CLI_USAGE;
    case FTH_INCONCLUSIVE: return CLI_INCONCLUSIVE;
    case FTH_INTERRUPTED: return CLI_INTERRUPTED;
    default: return CLI_FAILED;
    }
}

static void log_message(void *user, enum fth_level level, const char *text)
{
    (void)user;
    if (level == FTH_LOG_WARNING)
        cli_message("warning: %s", text);
    else if (level == FTH_LOG_INFO)
        cli_note("%s", text);
}

/* ---- times of stages (--verbose) ---- */

enum { MAX_STAGES = 64 };
static struct {
    bool enabled;
    double started_ms;
    size_t count, current; /* number of stages; index of the running stage */
    struct {
        char what[48];
        double ms;
    } stages[MAX_STAGES];
} stage_times;

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Ends the running stage and starts the stage `what`. A stage that was started before continues to
 * add to its time. If there are too many stages, the last entry collects the rest. */
static void begin_stage(const char *what)
{
    const double now = now_ms();
    if (stage_times.count)
        stage_times.stages[stage_times.current].ms += now - stage_times.started_ms;
    stage_times.started_ms = now;
    size_t at = 0;
    while (at < stage_times.count && strcmp(stage_times.stages[at].what, what) != 0)
        at++;
    if (at == MAX_STAGES)
        at--;
    if (at == stage_times.count) {
        snprintf(stage_times.stages[at].what, sizeof stage_times.stages[at].what, "%s", what);
        stage_times.stages[at].ms = 0;
        stage_times.count++;
    }
    stage_times.current = at;
}

void cli_time_stages(void)
{
    stage_times.enabled = true;
    stage_times.count = 0;
    begin_stage("opening the device");
}

/* Prints the time of each stage. Skips the running stage, which only marks the end. */
static void print_stage_times(void)
{
    double all = 0;
    for (size_t i = 0; i < stage_times.count; i++) {
        all += stage_times.stages[i].ms;
        if (i != stage_times.current)
            cli_message("%8.1f ms  %s", stage_times.stages[i].ms, stage_times.stages[i].what);
    }
    cli_message("%8.1f ms  total", all);
}

/* Overwrites the progress line if stderr is a terminal, and erases it when `fraction` reaches 1. */
static void show_progress(void *user, const char *what, double fraction)
{
    (void)user;
    if (stage_times.enabled) {
        begin_stage(what);
        if (fraction >= 1)
            print_stage_times();
    }
    if (quiet || !isatty(STDERR_FILENO))
        return;
    clear_progress();
    if (fraction < 1)
        put_progress(what, fraction);
    fflush(stderr);
}

static volatile sig_atomic_t interrupted;

static void handle_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static bool is_interrupted(void *user)
{
    (void)user;
    return interrupted;
}

void cli_catch_interrupts(void)
{
    struct sigaction action = {.sa_flags = (int)SA_RESETHAND};
    action.sa_handler = handle_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int cli_finish_measurement(int result, enum fth_status status, const struct fth_error *error,
                           bool has_results)
{
    if (status == FTH_INTERRUPTED && has_results) {
        cli_message("interrupted: only the results that were complete by then are shown");
        return CLI_INTERRUPTED;
    }
    if (status == FTH_OK)
        return result;
    result = cli_fail(error);
    if (has_results)
        cli_message("only the results that were complete by then are shown");
    return result;
}

const struct fth_log cli_log = {log_message, show_progress, is_interrupted, NULL};

bool cli_has_extension(const char *path, const char *extension)
{
    const char *dot = strrchr(path, '.');
    return dot && strcmp(dot, extension) == 0;
}

const char *cli_format(const struct cli_arguments *arguments)
{
    const char *format = cli_value(arguments, &cli_option_format);
    if (!format)
        format = cli_value(arguments, &cli_option_gpu_format);
    if (!format)
        format = cli_value(arguments, &cli_option_fleet_format);
    if (!format && cli_value(arguments, &cli_option_csv))
        format = "csv";
    return format ? format : cli_value(arguments, &cli_option_json) ? "json" : "text";
}

/* Returns whether the terminal displays UTF-8. If the locale could not be loaded, because it is not
 * installed or memory was missing, its name decides. */
static bool terminal_is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = setlocale(LC_CTYPE, NULL), *name = NULL;
    if (strcmp(nl_langinfo(CODESET), "UTF-8") == 0)
        return true;
    if (locale && strcmp(locale, "C") != 0)
        return false;
    for (size_t i = 0; i < sizeof variables / sizeof *variables && (!name || !*name); i++)
        name = getenv(variables[i]);
    const char *codeset = name ? strchr(name, '.') : NULL;
    return codeset && (strcmp(codeset, ".UTF-8") == 0 || strcmp(codeset, ".utf8") == 0);
}

/* Returns the width that text tables can have, in characters: the variable COLUMNS if it is set,
 * also if the output is not a terminal, or the width of the terminal. 0: unknown. */
static unsigned table_columns(bool screen)
{
    const char *variable = getenv("COLUMNS");
    char *end = NULL;
    const unsigned long columns =
        variable && *variable >= '0' && *variable <= '9' ? strtoul(variable, &end, 10) : 0;
    if (columns > 0 && columns <= UINT_MAX && !*end)
        return (unsigned)columns;
    return screen ? terminal_width(STDOUT_FILENO) : 0;
}

struct fth_report_options cli_report_options(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, &cli_option_output);
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    bool screen = isatty(STDOUT_FILENO) && (!output || strcmp(output, "-") == 0);
    struct fth_report_options options = FTH_REPORT_OPTIONS();
    options.utf8 = terminal_is_utf8();
    options.colour =
        screen && !(no_colour && *no_colour) && terminal && strcmp(terminal, "dumb") != 0;
    options.width = screen ? terminal_width(STDOUT_FILENO) : 0;
    options.columns = table_columns(screen);
    return options;
}

int cli_put_text(const struct cli_arguments *arguments, char *text, size_t size)
{
    const char *output = cli_value(arguments, &cli_option_output);
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = fth_file_write(output ? output : "-", text, size, &error);
    fth_free(text);
    return status == FTH_OK ? CLI_DONE : cli_fail(&error);
}

int cli_check_output(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, &cli_option_output);
    struct fth_error error = FTH_NO_ERROR;
    enum fth_report_subject subject = FTH_REPORT_TABLE;
    for (size_t i = 0; arguments->command->options[i]; i++)
        if (arguments->command->options[i] == &cli_option_gpu_format)
            subject = FTH_REPORT_GPU;
        else if (arguments->command->options[i] == &cli_option_fleet_format)
            subject = FTH_REPORT_FLEET;
    if (fth_report_check(cli_format(arguments), subject, &error) != FTH_OK)
        return cli_fail(&error);
    if (!output)
        return CLI_DONE;
    return fth_file_check(output, &error) == FTH_OK ? CLI_DONE : cli_fail(&error);
}

int cli_put_gpu(const struct cli_arguments *arguments, const struct fth_gpu *gpu, bool replayed)
{
    struct fth_report_options options = cli_report_options(arguments);
    options.replayed = replayed;
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    if (fth_report_gpu(cli_format(arguments), gpu, &options, &text, &size, &error) != FTH_OK)
        return cli_fail(&error);
    return cli_put_text(arguments, text, size);
}

int cli_put_bench(const struct cli_arguments *arguments, const struct fth_bench *bench)
{
    struct fth_report_options options = cli_report_options(arguments);
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    if (fth_report_bench(cli_format(arguments), bench, &options, &text, &size, &error) != FTH_OK)
        return cli_fail(&error);
    return cli_put_text(arguments, text, size);
}

int cli_put_table_fit(const struct cli_arguments *arguments, const struct fth_table *table,
                      const char *const *drop)
{
    struct fth_report_options options = cli_report_options(arguments);
    options.drop = drop;
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    if (fth_report_table(cli_format(arguments), table, &options, &text, &size, &error) != FTH_OK)
        return cli_fail(&error);
    return cli_put_text(arguments, text, size);
}

int cli_put_table(const struct cli_arguments *arguments, const struct fth_table *table)
{
    return cli_put_table_fit(arguments, table, NULL);
}

int cli_finish_stdout(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return CLI_DONE;
    cli_message("write 'standard output': %s", strerror(errno));
    return CLI_FAILED;
}
