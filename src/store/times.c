/* Times as text: ISO 8601 in UTC. */
#include "store/store.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SECONDS_PER_DAY = 86400 };

void fth_time_write(int64_t seconds, char text[24])
{
    const time_t time = (time_t)seconds;
    struct tm parts;
    if (!gmtime_r(&time, &parts) || strftime(text, 24, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        snprintf(text, 24, "?");
}

/* Returns the number of days from 1970-01-01 to a date of the Gregorian calendar (H. Hinnant,
 * "chrono-compatible low-level date algorithms"). The year is positive. */
static int64_t days_from_date(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    const int64_t era = year / 400, year_of_era = year % 400;
    const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    const int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

/* Reads a number of exactly `digits` digits and moves behind it. */
static bool read_digits(const char **at, int digits, int64_t *number)
{
    *number = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *number = *number * 10 + (**at - '0');
    }
    return true;
}

/* Moves behind a character. False: there is another one. */
static bool skip(const char **at, char character)
{
    if (**at != character)
        return false;
    ++*at;
    return true;
}

/* Reads a date of the calendar from 1970 on, and moves behind it. */
static bool read_date(const char **at, int64_t *days)
{
    static const int64_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t year, month, day;
    if (!read_digits(at, 4, &year) || !skip(at, '-') || !read_digits(at, 2, &month) ||
        !skip(at, '-') || !read_digits(at, 2, &day) || year < 1970 || month < 1 || month > 12)
        return false;
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (day < 1 || day > lengths[month - 1] + (month == 2 && leap ? 1 : 0))
        return false;
    *days = days_from_date(year, month, day);
    return true;
}

bool fth_time_parse(const char *text, int64_t *time)
{
    int64_t days, hour, minute, second;
    if (!read_date(&text, &days) || !skip(&text, 'T') || !read_digits(&text, 2, &hour) ||
        !skip(&text, ':') || !read_digits(&text, 2, &minute) || !skip(&text, ':') ||
        !read_digits(&text, 2, &second))
        return false;
    if (*text == '.')
        text += 1 + strspn(text + 1, "0123456789");
    if (strcmp(text, "Z") != 0 || hour > 23 || minute > 59 || second > 60)
        return false;
    *time = days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
    return true;
}

bool fth_date_parse(const char *text, int64_t *time)
{
    int64_t days;
    if (!read_date(&text, &days) || *text)
        return false;
    *time = days * SECONDS_PER_DAY;
    return true;
}
