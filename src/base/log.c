/* Calls the callbacks of struct fth_log. The library itself never writes to the terminal. */
#include "base/base.h"

#include <stdio.h>

void fth_log_message(const struct fth_log *log, enum fth_level level, const char *format, ...)
{
    if (!log || !log->message)
        return;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    fth_vformat(text, sizeof text, format, arguments);
    va_end(arguments);
    fth_make_printable(text);
    log->message(log->user, level, text);
}

void fth_log_progress(const struct fth_log *log, const char *what, double fraction)
{
    if (log && log->progress)
        log->progress(log->user, what, fraction);
}

bool fth_interrupted_by_flag(void *user)
{
    return __atomic_load_n((const int *)user, __ATOMIC_RELAXED) != 0;
}

bool fth_log_interrupted(const struct fth_log *log)
{
    return log && log->interrupted && log->interrupted(log->user);
}
