/* Fills struct fth_error, which the caller owns: what failed, on what, and why. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

enum fth_status fth_fail(struct fth_error *error, enum fth_status status, const char *operation,
                         const char *argument, const char *cause, ...)
{
    if (!error || error->status != FTH_OK)
        return status;
    error->status = status;
    snprintf(error->operation, sizeof error->operation, "%s", operation);
    snprintf(error->argument, sizeof error->argument, "%s", argument ? argument : "");
    va_list arguments;
    va_start(arguments, cause);
    fth_vformat(error->cause, sizeof error->cause, cause, arguments);
    va_end(arguments);
    fth_make_printable(error->operation);
    fth_make_printable(error->argument);
    fth_make_printable(error->cause);
    return status;
}

enum fth_status fth_error_move(struct fth_error *error, const struct fth_error *from)
{
    if (error && error->status == FTH_OK)
        *error = *from;
    return from->status;
}

void fth_error_context(struct fth_error *error, const char *context, ...)
{
    if (!error)
        return;
    char front[sizeof error->cause];
    va_list arguments;
    va_start(arguments, context);
    fth_vformat(front, sizeof front, context, arguments);
    va_end(arguments);
    fth_make_printable(front);

    char whole[2 * sizeof error->cause + 2];
    snprintf(whole, sizeof whole, "%s: %s", front, error->cause);
    whole[sizeof error->cause - 1] = '\0';
    fth_make_printable(whole); /* the cut may have gone through a character */
    memcpy(error->cause, whole, strlen(whole) + 1);
}

const char *fth_error_text(const struct fth_error *error, char *text, size_t size)
{
    if (error->argument[0])
        snprintf(text, size, "%s '%s': %s", error->operation, error->argument, error->cause);
    else
        snprintf(text, size, "%s: %s", error->operation, error->cause);
    return text;
}
