/* The formats that a description can be shown in, by name. */
#include "report/report.h"

#include <string.h>

static const struct fth_report_writer *const writers[] = {
    &fth_report_text,
    &fth_report_json,
    &fth_report_csv,
};

const char *fth_report_format(size_t index, const char **summary)
{
    if (index >= FTH_COUNT(writers))
        return NULL;
    if (summary)
        *summary = writers[index]->summary;
    return writers[index]->name;
}

static const struct fth_report_writer *find(const char *format, struct fth_error *error)
{
    const char *names[FTH_COUNT(writers)];
    for (size_t i = 0; i < FTH_COUNT(writers); i++) {
        names[i] = writers[i]->name;
        if (strcmp(names[i], format) == 0)
            return writers[i];
    }
    const char *nearest = fth_suggest(format, names, FTH_COUNT(names));
    if (nearest)
        fth_fail(error, FTH_INVALID, "find format", format, "no such format; did you mean '%s'?",
                 nearest);
    else
        fth_fail(error, FTH_INVALID, "find format", format,
                 "no such format; text, json and csv are known");
    return NULL;
}

static const struct fth_report_options plain = {.utf8 = false};

enum fth_status fth_report_gpu(const char *format, const struct fth_gpu *gpu,
                               const struct fth_report_options *options, char **text, size_t *size,
                               struct fth_error *error)
{
    *text = NULL;
    *size = 0;
    const struct fth_report_writer *writer = find(format, error);
    if (!writer)
        return FTH_INVALID;
    struct fth_buffer out = {0};
    enum fth_status status = writer->gpu(gpu, options ? options : &plain, &out, error);
    if (status == FTH_OK)
        status = fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    return status;
}

enum fth_status fth_report_table(const char *format, const struct fth_table *table,
                                 const struct fth_report_options *options, char **text,
                                 size_t *size, struct fth_error *error)
{
    *text = NULL;
    *size = 0;
    const struct fth_report_writer *writer = find(format, error);
    if (!writer)
        return FTH_INVALID;
    struct fth_buffer out = {0};
    writer->table(table, options ? options : &plain, &out);
    enum fth_status status = fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    return status;
}
