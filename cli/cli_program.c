/* Runs a program into which a library of fathom is preloaded, and reads the options that select
 * its launches. 'fathom exec' does so without a GPU. */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <regex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- launches ---- */

/* Reads a whole number at *text, and moves *text behind it. Returns false if there is none. */
static bool read_number(const char **text, uint64_t *number)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *number = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0 && *number != UINT64_MAX;
}

/* Reads a range: N..M, N.. or N. */
static bool read_range(const char *text, uint64_t *first, uint64_t *end)
{
    uint64_t last;
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
    const bool ok = read_number(&text, &last) && !*text && last >= *first;
    *end = ok ? last + 1 : 0;
    return ok;
}

int cli_parse_range(const struct cli_arguments *arguments, const struct cli_option *option,
                    uint64_t *first, uint64_t *end)
{
    const char *text = cli_value(arguments, option);
    if (!text || read_range(text, first, end))
        return CLI_DONE;
    cli_message("--%s requires a range such as 0..9, 5.. or 5, not '%s'", option->name, text);
    return CLI_USAGE;
}

int cli_check_pattern(const struct cli_arguments *arguments, const struct cli_option *option)
{
    const char *pattern = cli_value(arguments, option);
    regex_t compiled;
    if (!pattern)
        return CLI_DONE;
    const int code = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        char text[128];
        regerror(code, &compiled, text, sizeof text);
        cli_message("--%s: '%s' is not a regular expression: %s", option->name, pattern, text);
        return CLI_USAGE;
    }
    regfree(&compiled);
    return CLI_DONE;
}

/* ---- libraries ---- */

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

bool cli_find_library(const char *folder, const char *name, char *path, size_t size)
{
    char program[PATH_MAX];
    if (find_folder(program)) {
        /* In the folder of a build, and after an installation. */
        if (snprintf(path, size, "%s/frontends/%s/%s", program, folder, name) < (int)size &&
            access(path, R_OK) == 0)
            return true;
        if (snprintf(path, size, "%s/../" CLI_LIBRARY_FOLDER "/%s", program, name) < (int)size &&
            access(path, R_OK) == 0)
            return true;
    }
    cli_message("%s is not installed with this program; build fathom from its sources, or install "
                "its package",
                name);
    return false;
}

/* ---- programs ---- */

/* Exit codes for a program that cannot be run, as those of a shell. */
enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

/* Sets the environment of the program, in its process. */
static bool set_environment(const struct cli_program *program)
{
    const char *before = getenv("LD_PRELOAD");
    for (size_t i = 0; i < program->variable_count; i++)
        if (setenv(program->variables[i].name, program->variables[i].value, 1) != 0)
            return false;
    char value[8 * PATH_MAX];
    const int length = snprintf(value, sizeof value, "%s%s%s", program->preload, before ? ":" : "",
                                before ? before : "");
    return length < (int)sizeof value && setenv("LD_PRELOAD", value, 1) == 0;
}

/* Becomes the program. Does not return. */
static _Noreturn void become(const struct cli_program *program)
{
    char *words[CLI_MAX_ARGUMENTS + 1];
    /* execvp does not change the words, although its parameter is not const. */
    memcpy(words, program->words, program->word_count * sizeof *words);
    words[program->word_count] = NULL;
    if (!set_environment(program)) {
        cli_message("cannot set the environment of '%s'", words[0]);
        _exit(NOT_EXECUTABLE);
    }
    execvp(words[0], words);
    const int cause = errno;
    cli_message("cannot run '%s': %s", words[0], strerror(cause));
    _exit(cause == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

bool cli_run_program(const struct cli_program *program, struct cli_program_end *end)
{
    *end = (struct cli_program_end){.code = CLI_FAILED};
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0)
        become(program);
    if (child < 0) {
        cli_message("cannot start a process: %s", strerror(errno));
        return false;
    }
    /* Ctrl-C ends the program; what it did until then is evaluated. */
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    sigaction(SIGINT, &ignore, &old);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &old, NULL);
    end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end->code = end->signal ? 128 + end->signal : WEXITSTATUS(status);
    return end->signal || (end->code != NOT_FOUND && end->code != NOT_EXECUTABLE);
}

int cli_finish_program(const struct cli_program_end *end, int code)
{
    if (end->signal)
        cli_message("the program was ended by signal %d (%s)", end->signal, strsignal(end->signal));
    return end->code ? end->code : code;
}
