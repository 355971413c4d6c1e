/* The state of a program that runs under 'fathom exec'. The environment says what to do:
 *
 *   FATHOM_EXEC_GPU      the GPU that the program finds: a name in the catalogue, or a path
 *   FATHOM_EXEC_FOLDER   where to write, per process: PID.trace and PID.report; unset: nowhere
 *   FATHOM_EXEC_TRACE    if set, the accesses are traced
 *   FATHOM_EXEC_KERNELS  only kernels that match this regular expression are traced
 *   FATHOM_EXEC_FIRST, FATHOM_EXEC_END   only launches in this range are traced (end 0: no limit)
 *   FATHOM_EXEC_CHECK    if set, missing waits are reported
 *
 * A report has one line per event: its kind, a space, and a text. */
#define _GNU_SOURCE /* PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP */
#include "cuda_driver.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

struct driver driver = {.next_id = 1};

static struct {
    pthread_mutex_t lock;
    struct fth_trace_writer *writer;
    int trace_file, report_file; /* -1: none */
    const char *unsupported[256];
    size_t unsupported_count;
} files = {.lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, .trace_file = -1, .report_file = -1};

int driver_lock(void)
{
    pthread_mutex_lock(&files.lock);
    return 0;
}

void driver_unlock(const int *unused)
{
    (void)unused;
    pthread_mutex_unlock(&files.lock);
}

int driver_check(void)
{
    return driver.is_finished                     ? DEINITIALIZED
           : !driver.initialised                  ? NOT_INITIALIZED
           : !driver_current()                    ? INVALID_CONTEXT
           : !driver_is_context(driver_current()) ? CONTEXT_IS_DESTROYED
                                                  : driver.sticky;
}

int driver_result(enum fth_status status)
{
    return status == FTH_OK            ? SUCCESS
           : status == FTH_NO_MEMORY   ? OUT_OF_MEMORY
           : status == FTH_UNSUPPORTED ? NOT_SUPPORTED
                                       : INVALID_VALUE;
}

/* ---- messages ---- */

/* Opens a file of this process in the folder of 'fathom exec'. Returns -1 without one. */
static int open_file(const char *suffix)
{
    const char *folder = getenv("FATHOM_EXEC_FOLDER");
    char path[4096];
    if (!folder)
        return -1;
    snprintf(path, sizeof path, "%s/%ld.%s", folder, (long)getpid(), suffix);
    return open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
}

void driver_report(const char *kind, const char *format, ...)
{
    char line[2048];
    int used = snprintf(line, sizeof line, "%s ", kind);
    va_list arguments;
    va_start(arguments, format);
    if (used > 0)
        vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    va_end(arguments);
    fprintf(stderr, "fathom exec: %s\n", line + used);
    const size_t size = strlen(line);
    line[size] = '\n';
    /* There can be something to report before the program initialises CUDA. */
    if (files.report_file < 0)
        files.report_file = open_file("report");
    if (files.report_file >= 0 && write(files.report_file, line, size + 1) < 0)
        return; /* the message is on standard error */
}

int driver_unsupported(const char *what)
{
    for (size_t i = 0; i < files.unsupported_count; i++)
        if (strcmp(files.unsupported[i], what) == 0)
            return NOT_SUPPORTED;
    if (files.unsupported_count < FTH_COUNT(files.unsupported))
        files.unsupported[files.unsupported_count++] = what;
    driver_report("unsupported", "%s is not supported", what);
    return NOT_SUPPORTED;
}

/* ---- the session ---- */

static void open_files(void)
{
    struct fth_error error = FTH_NO_ERROR;
    if (!getenv("FATHOM_EXEC_FOLDER") || !getenv("FATHOM_EXEC_TRACE"))
        return;
    files.trace_file = open_file("trace");
    if (files.trace_file < 0 ||
        fth_trace_writer_attach(files.trace_file, "the trace of the program", &files.writer,
                                &error) != FTH_OK)
        driver_report("error", "cannot write a trace: %s", error.cause);
}

static void print_output(void *user, const char *text, size_t size)
{
    (void)user;
    fwrite(text, 1, size, stdout);
}

static void log_message(void *user, enum fth_level level, const char *text)
{
    (void)user;
    if (level <= FTH_LOG_WARNING)
        driver_report("warning", "%s", text);
}

/* A child process has a copy of the state, but must not write to the files of its parent. As with
 * NVIDIA's driver, it cannot use the API if its parent does. */
static void handle_fork(void)
{
    static const pthread_mutex_t unlocked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    files.lock = unlocked;
    driver.is_forked = true;
    driver.initialised = false;
    files.writer = NULL;
    files.report_file = files.trace_file = -1;
}

/* Returns the number in a variable of the environment; 0 if it is not set. */
static uint64_t number_of(const char *variable)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : 0;
}

int driver_start(void)
{
    static const struct fth_log log = {.message = log_message};
    const char *gpu = getenv("FATHOM_EXEC_GPU");
    struct fth_error error = FTH_NO_ERROR;
    struct fth_catalogue *catalogue = NULL;
    char text[sizeof error];
    if (pthread_atfork(NULL, NULL, handle_fork) != 0)
        return OUT_OF_MEMORY;
    open_files();
    enum fth_status status = fth_catalogue_open(&catalogue, &error);
    if (status == FTH_OK)
        status = fth_catalogue_read(catalogue, gpu ? gpu : "h200", NULL, &driver.gpu, &error);
    fth_catalogue_close(catalogue);
    if (status == FTH_OK)
        status = fth_session_create(
            &(struct fth_session_options){.gpu = driver.gpu,
                                          .trace = files.writer,
                                          .traced_kernels = getenv("FATHOM_EXEC_KERNELS"),
                                          .traced_first = number_of("FATHOM_EXEC_FIRST"),
                                          .traced_end = number_of("FATHOM_EXEC_END"),
                                          .check_races = getenv("FATHOM_EXEC_CHECK") != NULL,
                                          .log = &log,
                                          .print = print_output},
            &driver.session, &error);
    if (status == FTH_OK)
        return SUCCESS;
    driver_report("error", "%s", fth_error_text(&error, text, sizeof text));
    return NO_DEVICE;
}

/* Completes the files when the program ends. If it is killed, they are readable up to the last
 * launch. Other threads may still use the API; a launch that is running ends first. */
__attribute__((destructor)) static void finish(void)
{
    struct fth_error error = FTH_NO_ERROR;
    if (driver.is_forked || pthread_mutex_lock(&files.lock) != 0)
        return; /* a signal handler has interrupted a call and ended the process */
    driver.is_finished = true;
    driver_free_graphs();
    driver_free_streams(NULL);
    driver_free_objects();
    driver_free_arrays(NULL);
    driver_free_modules(NULL);
    driver_free_links();
    driver_free_pools();
    driver_free_contexts();
    fth_session_destroy(driver.session);
    if (files.writer && fth_trace_writer_commit(files.writer, &error) != FTH_OK)
        driver_report("error", "cannot complete the trace: %s", error.cause);
    fth_gpu_destroy(driver.gpu);
    driver.session = NULL;
    driver.gpu = NULL;
    driver.initialised = false;
    pthread_mutex_unlock(&files.lock);
}
