/* Finds the writer of a format of judgements by its name. */
#include "fleet/fleet.h"
#include "report/report.h"

#include <string.h>

static const char *const formats[] = {"text", "json", "csv", "long", "jsonl", "prometheus"};

const char *fth_report_judgement_format(size_t index)
{
    return index < FTH_COUNT(formats) ? formats[index] : NULL;
}

enum fth_status fth_judgement_check(const char *format, struct fth_error *error)
{
    for (size_t i = 0; i < FTH_COUNT(formats); i++)
        if (strcmp(formats[i], format) == 0)
            return FTH_OK;
    return fth_format_unknown(format, formats, FTH_COUNT(formats), error);
}

enum fth_status fth_report_judgement(const char *format,
                                     const struct fth_fleet_judgement *judgement,
                                     const struct fth_report_options *options, char **text,
                                     size_t *size, struct fth_error *error)
{
    (void)judgement;
    (void)options;
    *text = NULL;
    *size = 0;
    return fth_fail(error, FTH_UNSUPPORTED, "write", format, "not available yet");
}
