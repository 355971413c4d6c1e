/* Finds the writer of a format by name, and writes descriptions and tables with it. */
#include "report/report.h"

#include <stdio.h>
#include <string.h>

static const struct fth_report_writer *const writers[] = {
    &fth_report_text, &fth_report_json,      &fth_report_csv,  &fth_report_hwloc,
    &fth_report_mt4g, &fth_report_accel_sim, &fth_report_gem5,
};

const char *fth_report_format(size_t index, const char **summary)
{
    if (index >= FTH_COUNT(writers))
        return NULL;
    if (summary)
        *summary = writers[index]->summary;
    return writers[index]->name;
}

/* Returns the writer of a format that supports the subject. Returns NULL, and sets the error, if
 * there is none. */
static const struct fth_report_writer *find(const char *format, enum fth_report_subject subject,
                                            struct fth_error *error)
{
    const char *names[FTH_COUNT(writers)];
    size_t count = 0;
    for (size_t i = 0; i < FTH_COUNT(writers); i++) {
        const char *name = writers[i]->name;
        bool supported = subject == FTH_REPORT_GPU || writers[i]->table;
        if (supported && strcmp(name, format) == 0)
            return writers[i];
        if (strcmp(name, format) == 0) {
            fth_fail(error, FTH_INVALID, "find format", format,
                     "this format supports only GPU descriptions, as 'fathom topo' writes them");
            return NULL;
        }
        if (supported)
            names[count++] = name;
    }
    fth_format_unknown(format, names, count, error);
    return NULL;
}

enum fth_status fth_format_unknown(const char *format, const char *const *names, size_t count,
                                   struct fth_error *error)
{
    char available[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof available; i++)
        used += (size_t)snprintf(available + used, sizeof available - used, "%s%s",
                                 used ? ", " : "", names[i]);
    const char *nearest = fth_suggest(format, names, count);
    if (nearest)
        fth_fail(error, FTH_INVALID, "find format", format, "no such format; did you mean '%s'?",
                 nearest);
    else
        fth_fail(error, FTH_INVALID, "find format", format, "no such format; available: %s",
                 available);
    return FTH_INVALID;
}

enum fth_status fth_report_check(const char *format, enum fth_report_subject subject,
                                 struct fth_error *error)
{
    if (subject == FTH_REPORT_FLEET)
        return fth_judgement_check(format, error);
    return find(format, subject, error) ? FTH_OK : FTH_INVALID;
}

enum fth_status fth_report_gpu(const char *format, const struct fth_gpu *gpu,
                               const struct fth_report_options *options, char **text, size_t *size,
                               struct fth_error *error)
{
    struct fth_report_options known;
    *text = NULL;
    *size = 0;
    FTH_TRY(fth_options_read("fth_report_options", options, &known, sizeof known, error));
    options = &known;
    const struct fth_report_writer *writer = find(format, FTH_REPORT_GPU, error);
    if (!writer)
        return FTH_INVALID;
    struct fth_buffer out = {0};
    enum fth_status status = writer->gpu(gpu, options, &out, error);
    if (status == FTH_OK)
        status = fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    return status;
}

enum fth_status fth_report_table(const char *format, const struct fth_table *table,
                                 const struct fth_report_options *options, char **text,
                                 size_t *size, struct fth_error *error)
{
    struct fth_report_options known;
    *text = NULL;
    *size = 0;
    FTH_TRY(fth_options_read("fth_report_options", options, &known, sizeof known, error));
    options = &known;
    const struct fth_report_writer *writer = find(format, FTH_REPORT_TABLE, error);
    if (!writer)
        return FTH_INVALID;
    struct fth_buffer out = {0};
    writer->table(table, options, &out);
    enum fth_status status = fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    return status;
}
