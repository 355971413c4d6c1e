/* Lines of the configuration files of simulators (accel_sim.c, gem5.c). Both simulators ignore what
 * follows a '#'. Texts of the description are made printable, so that they cannot end a comment. */
#include "report/description/config_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Width of the comments in columns. */
enum { COMMENT_COLUMNS = 100 };

double fth_config_number(const struct fth_config *config, const char *section, const char *name)
{
    return fth_gpu_number(config->gpu, section, name, NAN);
}

const char *fth_config_source(const struct fth_config *config, const char *section,
                              const char *name)
{
    const struct fth_attribute *a = fth_gpu_attribute(config->gpu, section, name);
    return a && a->source != FTH_SOURCE_NONE ? fth_source_name(a->source) : NULL;
}

void fth_config_comment(struct fth_config *config, const char *format, ...)
{
    struct fth_buffer text = {0};
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    fth_vformat(line, sizeof line, format, arguments);
    va_end(arguments);
    fth_text_append(&text, line, sizeof line, "");
    for (const char *at = text.data ? text.data : ""; *at;) {
        size_t width;
        const size_t bytes = fth_text_line(at, COMMENT_COLUMNS - 2, &width);
        fth_buffer_text(config->out, "# ");
        fth_buffer_append(config->out, at, bytes);
        fth_buffer_text(config->out, "\n");
        at += bytes;
        at += strspn(at, " ");
    }
    config->out->failed = config->out->failed || text.failed;
    fth_buffer_fini(&text);
}

void fth_config_heading(struct fth_config *config, const char *text)
{
    fth_buffer_text(config->out, "\n");
    fth_config_comment(config, "%s", text);
}

void fth_config_put(struct fth_config *config, const char *key, const char *value,
                    const char *remark)
{
    fth_buffer_format(config->out, "%s%s%s", key, config->between, value);
    if (remark)
        fth_buffer_format(config->out, "  # %s", remark);
    fth_buffer_text(config->out, "\n");
}

void fth_config_put_number(struct fth_config *config, const char *key, double number,
                           const char *remark)
{
    char text[40];
    if (!isnan(number))
        fth_config_put(config, key, fth_number_format(number, text, sizeof text), remark);
}

void fth_config_put_fact(struct fth_config *config, const char *key, const char *section,
                         const char *name)
{
    fth_config_put_number(config, key, fth_config_number(config, section, name),
                          fth_config_source(config, section, name));
}

void fth_config_put_latencies(struct fth_config *config, double l1, double l2, double memory,
                              const char *l2_key, const char *memory_key)
{
    if (l2 > l1)
        fth_config_put_number(config, l2_key, round(l2 - l1),
                              fth_config_source(config, "l2", "latency_cycles"));
    if (memory > l2)
        fth_config_put_number(config, memory_key, round(memory - l2),
                              fth_config_source(config, "memory", "latency_cycles"));
}

enum fth_status fth_config_check(const struct fth_gpu *gpu, const char *operation,
                                 struct fth_error *error)
{
    const char *kind = fth_gpu_text(gpu, "device", "kind");
    if (kind && strcmp(kind, "cpu") == 0)
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "the description is that of a CPU; this format is for GPUs");
    if (isnan(fth_gpu_number(gpu, "device", "sms", NAN)))
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "the description does not contain the number of SMs");
    return FTH_OK;
}

bool fth_is_power_of_two(double number)
{
    return number >= 1 && number <= 4294967296.0 && exp2(round(log2(number))) == number;
}
