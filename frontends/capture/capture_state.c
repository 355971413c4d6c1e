/* The state of a program whose launches are captured. The environment says what to do:
 *
 *   FATHOM_CAPTURE_FOLDER   where to write, per process: PID.capsule and PID.report
 *   FATHOM_CAPTURE_COMMAND  the command line, for the capsule
 *   FATHOM_CAPTURE_LIGHT    if set, without the contents of memory
 *   FATHOM_CAPTURE_KERNELS  only kernels that match this regular expression
 *   FATHOM_CAPTURE_FIRST, FATHOM_CAPTURE_END   only launches in this range (end 0: no limit)
 *   FATHOM_CAPTURE_EVERY    of these, only each with an index that is a multiple
 *   FATHOM_CAPTURE_LIMIT    the size of the capsule in bytes, above which launches are written
 *                           without the contents of memory
 *
 *   FATHOM_CAPTURE_COPY     if set, memory is copied to find out whether it has changed
 *
 * Without a folder, the program runs as if the library was not there. A process that launches no
 * kernel writes nothing. */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

struct options capture_options = {.every = 1};

static struct {
    pthread_mutex_t tables, capsule;
    pthread_once_t once;
    const char *folder;
    bool has_kernels;
    regex_t kernels;
    atomic_bool is_finished; /* nothing is captured any more */
    struct fth_capsule_writer *writer;
    pid_t process; /* that has created the capsule */
    int report;    /* -1: none */
} state = {.tables = PTHREAD_MUTEX_INITIALIZER,
           .capsule = PTHREAD_MUTEX_INITIALIZER,
           .once = PTHREAD_ONCE_INIT,
           .report = -1};

void capture_lock_tables(void)
{
    pthread_mutex_lock(&state.tables);
}

void capture_unlock_tables(void)
{
    pthread_mutex_unlock(&state.tables);
}

/* Returns the number in a variable of the environment, or `otherwise` if it is not set. */
static uint64_t number_of(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* A child process must not write to the capsule of its parent, and cannot use CUDA if its parent
 * does. The locks can be held by threads that the child does not have. */
static void handle_fork(void)
{
    static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    state.tables = state.capsule = unlocked;
    fth_capsule_abandon(state.writer);
    state.writer = NULL;
    state.report = -1;
}

static void read_environment(void)
{
    const char *kernels = getenv("FATHOM_CAPTURE_KERNELS");
    state.folder = getenv("FATHOM_CAPTURE_FOLDER");
    capture_options.is_light = getenv("FATHOM_CAPTURE_LIGHT") != NULL;
    capture_options.first = number_of("FATHOM_CAPTURE_FIRST", 0);
    capture_options.end = number_of("FATHOM_CAPTURE_END", 0);
    capture_options.every = number_of("FATHOM_CAPTURE_EVERY", 1);
    capture_options.max_bytes = number_of("FATHOM_CAPTURE_LIMIT", 0);
    if (capture_options.every == 0)
        capture_options.every = 1;
    state.has_kernels = kernels && regcomp(&state.kernels, kernels, REG_EXTENDED | REG_NOSUB) == 0;
    if (!state.folder || pthread_atfork(NULL, NULL, handle_fork) != 0)
        state.is_finished = true;
}

bool capture_is_active(void)
{
    pthread_once(&state.once, read_environment);
    return !state.is_finished;
}

bool capture_selects(const char *kernel)
{
    char name[FTH_NAME_BYTES];
    pthread_once(&state.once, read_environment);
    if (!state.has_kernels)
        return true;
    (void)fth_demangle(kernel, FTH_NAME_SHORT, name, sizeof name);
    return regexec(&state.kernels, name, 0, NULL, 0) == 0 ||
           regexec(&state.kernels, kernel, 0, NULL, 0) == 0;
}

/* ---- files ---- */

void capture_report(const char *kind, const char *format, ...)
{
    char line[2048], path[4096];
    const int used = snprintf(line, sizeof line, "%s ", kind);
    va_list arguments;
    va_start(arguments, format);
    if (used > 0)
        vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    va_end(arguments);
    const size_t size = strlen(line);
    line[size] = '\n';
    if (state.report < 0 && state.folder) {
        snprintf(path, sizeof path, "%s/%ld.report", state.folder, (long)getpid());
        state.report = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    }
    if (state.report >= 0 && write(state.report, line, size + 1) < 0)
        return; /* there is no other place to report it */
}

uint32_t capture_architecture(void)
{
    enum { MAJOR = 75, MINOR = 76 };
    int device, major = 0, minor = 0;
    if (CALL(cuCtxGetDevice, (int *), &device) != SUCCESS ||
        CALL(cuDeviceGetAttribute, (int *, int, int), &major, MAJOR, device) != SUCCESS ||
        CALL(cuDeviceGetAttribute, (int *, int, int), &minor, MINOR, device) != SUCCESS)
        return 0;
    return (uint32_t)(10 * major + minor);
}

static void create_capsule(void)
{
    const char *command = getenv("FATHOM_CAPTURE_COMMAND");
    char gpu[256] = "", path[4096];
    int device, version = 0;
    struct fth_error error = FTH_NO_ERROR;
    struct fth_capsule_info info = {.command = command ? command : program_invocation_short_name,
                                    .gpu = gpu,
                                    .architecture = capture_architecture(),
                                    .is_light = capture_options.is_light};
    if (CALL(cuDriverGetVersion, (int *), &version) == SUCCESS)
        info.driver_version = (uint32_t)version;
    if (CALL(cuCtxGetDevice, (int *), &device) == SUCCESS)
        (void)CALL(cuDeviceGetName, (char *, int, int), gpu, (int)sizeof gpu, device);
    snprintf(path, sizeof path, "%s/%ld.capsule", state.folder, (long)getpid());
    state.process = getpid();
    if (fth_capsule_create(path, &info, &state.writer, &error) != FTH_OK)
        capture_fail(&error);
    else if (!info.is_light) /* a launch without contents takes less time than waking a thread */
        fth_capsule_use_threads(state.writer);
}

struct fth_capsule_writer *capture_begin(void)
{
    pthread_once(&state.once, read_environment);
    if (state.is_finished)
        return NULL;
    pthread_mutex_lock(&state.capsule);
    if (!state.is_finished && !state.writer)
        create_capsule();
    if (state.is_finished || !state.writer) {
        pthread_mutex_unlock(&state.capsule);
        return NULL;
    }
    return state.writer;
}

void capture_end(void)
{
    pthread_mutex_unlock(&state.capsule);
}

void capture_fail(const struct fth_error *error)
{
    char text[sizeof *error];
    capture_report("error", "the capture ended early: %s",
                   fth_error_text(error, text, sizeof text));
    fth_capsule_abandon(state.writer);
    state.writer = NULL;
    state.is_finished = true;
}

/* Completes the capsule when the program ends. If the program is killed, the capsule can be read
 * without its last launches. A child made by vfork shares the memory of its parent, and must not
 * complete the capsule. */
__attribute__((destructor)) static void finish(void)
{
    struct fth_error error = FTH_NO_ERROR;
    if (state.is_finished || getpid() != state.process ||
        pthread_mutex_trylock(&state.capsule) != 0)
        return; /* a launch is being written by a thread that still runs */
    state.is_finished = true;
    if (state.writer && fth_capsule_finish(state.writer, &error) != FTH_OK)
        capture_report("error", "cannot complete the capsule: %s", error.cause);
    state.writer = NULL;
    pthread_mutex_unlock(&state.capsule);
}

/* Programs that end in this way, as child processes of Python do, do not call destructors. */
EXPORT void _exit(int status)
{
    finish();
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}

EXPORT void _Exit(int status)
{
    _exit(status);
}
