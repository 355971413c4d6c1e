/* Numbers in texts, with a point whatever the locale of the process is. The host program may have
 * called setlocale, and in many locales printf writes 0,5 and strtod stops at the point of 0.5.
 * Files, messages and reports of fathom always have a point.
 *
 * The locale of the process is never changed. Where its decimal separator is not a point, the
 * calling thread uses the "C" locale during one call of strtod or vsnprintf. */
#include "base/base.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What leave_c_locale needs. Both members are 0 if the locale of the thread was not replaced. */
struct replaced_locale {
    locale_t c, before;
};

/* Without memory for a locale, the locale of the process is used. */
static struct replaced_locale enter_c_locale(void)
{
    struct replaced_locale locale = {(locale_t)0, (locale_t)0};
    if (strcmp(nl_langinfo(RADIXCHAR), ".") != 0)
        locale.c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (locale.c)
        locale.before = uselocale(locale.c);
    return locale;
}

static void leave_c_locale(struct replaced_locale locale)
{
    if (!locale.c)
        return;
    uselocale(locale.before);
    freelocale(locale.c);
}

double fth_strtod(const char *text, char **end)
{
    struct replaced_locale locale = enter_c_locale();
    double number = strtod(text, end);
    leave_c_locale(locale);
    return number;
}

int fth_vformat(char *text, size_t size, const char *format, va_list arguments)
{
    struct replaced_locale locale = enter_c_locale();
    int length = vsnprintf(text, size, format, arguments);
    leave_c_locale(locale);
    return length;
}

int fth_format(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = fth_vformat(text, size, format, arguments);
    va_end(arguments);
    return length;
}
