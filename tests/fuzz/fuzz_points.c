/* Fuzzes the reader of the files of points that explorations write (fth_points_parse). The input
 * has the lines of up to four parts; a line "=" separates the parts. fuzz_put_points_line()
 * completes the lines, because lines with a wrong checksum are ignored.
 *
 * Each part must be rejected with a message, or its points can be read, merged with those of the
 * other parts, and shown. */
#include "explore/explore.h"
#include "report/report.h"
#include "support/complete.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_PARTS = 4, MAX_POINTS = 1 << 14 };

/* Checks that an error has a message of one line. */
static void check_message(const struct fth_error *error)
{
    if (!error->cause[0] || strchr(error->cause, '\n'))
        abort();
}

static void check_points(const struct fth_points *points)
{
    size_t found = 0;
    for (size_t i = 0; i < points->header_points; i++) {
        if (!points->size[i])
            continue;
        found++;
        if (points->at[i] <= points->header_size ||
            points->at[i] + points->size[i] >= points->text.size ||
            !fth_line_verify(points->text.data + points->at[i], points->size[i]) ||
            fth_line_point(points->text.data + points->at[i], points->size[i]) != i)
            abort();
    }
    if (found != points->found || points->shard < 1 || points->shard > points->shards ||
        points->good_bytes > points->text.size)
        abort();
}

static void show_in_every_format(const char *text, size_t size)
{
    static const char *const formats[] = {"text", "csv", "json"};
    for (size_t i = 0; i < FTH_COUNT(formats); i++) {
        struct fth_error error = FTH_NO_ERROR;
        char *shown = NULL;
        size_t shown_size;
        if (fth_report_points(formats[i], text, size,
                              &(struct fth_report_options)FTH_REPORT_OPTIONS(), &shown, &shown_size,
                              &error) != FTH_OK)
            check_message(&error);
        fth_free(shown);
    }
}

/* Merges the parts. The result must be readable, belong to the same exploration, and without
 * `partial` contain every point. */
static void join(struct fth_points *parts, size_t count, bool partial)
{
    static const char *const names[MAX_PARTS] = {"a", "b", "c", "d"};
    struct fth_error error = FTH_NO_ERROR;
    struct fth_buffer again = {0};
    struct fth_points whole;
    char *text = NULL;
    size_t size = 0;
    if (fth_points_join(parts, names, count, partial, NULL, &text, &size, &error) != FTH_OK) {
        check_message(&error);
        return;
    }
    fth_buffer_append(&again, text, size);
    if (fth_points_parse("whole", &again, &whole, &error) == FTH_OK) {
        if (whole.identity != parts[0].identity || whole.damaged ||
            (!partial && whole.found != whole.header_points))
            abort();
        fth_points_fini(&whole);
    } else {
        check_message(&error);
    }
    show_in_every_format(text, size);
    fth_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_points parts[MAX_PARTS];
    struct fth_buffer text = {0};
    const char *at = (const char *)data, *end = at + size;
    size_t count = 0;
    while (at < end && count < MAX_PARTS) {
        struct fth_error error = FTH_NO_ERROR;
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((stop ? stop : end) - at);
        const bool ends = length == 1 && *at == '=';
        if (!ends)
            fuzz_put_points_line(&text, at, length);
        at += length + (stop != NULL);
        if (!ends && at < end)
            continue;
        if (fth_points_parse("fuzz", &text, &parts[count], &error) != FTH_OK)
            check_message(&error);
        else if (parts[count].header_points > MAX_POINTS)
            fth_points_fini(&parts[count]); /* would only take long */
        else
            check_points(&parts[count++]);
    }
    fth_buffer_fini(&text);
    if (count) {
        join(parts, count, false);
        join(parts, count, true);
    }
    while (count)
        fth_points_fini(&parts[--count]);
    return 0;
}
