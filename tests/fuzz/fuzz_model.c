/* Fuzzes the cache model with parameters and accesses. The first byte, modulo 16, is the number of
 * lines "NAME=VALUE" that follow. The rest is a trace as text tuples, as `fathom trace` reads them.
 * The model must reject the input with a message, or run to the end with no more hits than sectors.
 */
#define _GNU_SOURCE /* memfd_create */
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Sets a parameter. Values that name a file ("@FILE") are skipped, so that the fuzzer reads no
 * files. Returns false if the parameter is refused. */
static bool set(struct fth_model_params *params, char *line)
{
    char *equals = strchr(line, '=');
    struct fth_error error = FTH_NO_ERROR;
    if (!equals || equals[1] == '@')
        return true;
    *equals = '\0';
    const enum fth_status status = fth_model_set(params, line, equals + 1, &error);
    if (status != FTH_OK && !error.cause[0])
        abort();
    return status == FTH_OK;
}

/* Sets the parameters of the first lines of the input, and removes these lines. As on the command
 * line, the first refused parameter ends the execution: the result is false. */
static bool set_lines(struct fth_model_params *params, const uint8_t **data, size_t *size,
                      size_t lines)
{
    bool ok = true;
    while (lines-- && *size && ok) {
        const uint8_t *end = memchr(*data, '\n', *size);
        const size_t length = end ? (size_t)(end - *data) : *size;
        char line[128];
        snprintf(line, sizeof line, "%.*s", (int)(length < 127 ? length : 127),
                 (const char *)*data);
        ok = set(params, line);
        *data += end ? length + 1 : length;
        *size -= end ? length + 1 : length;
    }
    return ok;
}

/* Converts a trace of another tool. Launch files and PTX are not executed. NULL: the text is no
 * trace. The files are in memory, because writing to a disk would take most of the time. */
static struct fth_trace *import(const char *path, int output)
{
    struct fth_trace_input input;
    struct fth_trace_writer *writer;
    struct fth_trace *trace = NULL;
    struct fth_error error = FTH_NO_ERROR;
    if (fth_trace_input_open(path, NULL, &input, NULL) != FTH_OK)
        return NULL;
    if ((input.kind == FTH_INPUT_TUPLES || input.kind == FTH_INPUT_TRACEG) &&
        fth_trace_writer_attach(output, "trace", &writer, NULL) == FTH_OK) {
        enum fth_status status = input.kind == FTH_INPUT_TUPLES
                                     ? fth_tuples_import(&input, writer, NULL, &error)
                                     : fth_traceg_import(&input, writer, NULL, &error);
        if (status != FTH_OK)
            fth_trace_writer_abort(writer);
        else if (fth_trace_writer_commit(writer, &error) == FTH_OK)
            status = fth_trace_attach(output, "trace", &trace, &error);
        if (status != FTH_OK && !error.cause[0])
            abort();
    }
    fth_trace_input_close(&input);
    return trace;
}

static void run(const struct fth_trace *trace, const struct fth_model_params *params)
{
    struct fth_model_result *result = NULL;
    struct fth_error error = FTH_NO_ERROR;
    char *text;
    size_t size;
    const struct fth_model_options options =
        FTH_MODEL_OPTIONS(.threads = 1, .bypassed = true, .curves = true);
    const enum fth_status status = fth_model_run(trace, params, &options, &result, &error);
    if ((status == FTH_OK) != (result != NULL) || (status != FTH_OK && !error.cause[0]))
        abort();
    for (size_t i = 0; status == FTH_OK && fth_model_row(result, i); i++) {
        const struct fth_model_row *row = fth_model_row(result, i);
        for (int kind = 0; kind < 3; kind++)
            if (row->l1.hits[kind] > row->l1.sectors[kind] ||
                row->l2.hits[kind] > row->l2.sectors[kind])
                abort();
    }
    if (status == FTH_OK && fth_report_model("json", FTH_MODEL_VIEW_KERNELS, result, params, NULL,
                                             &text, &size, NULL) == FTH_OK)
        fth_free(text);
    fth_model_result_destroy(result);
}

/* Creates parameters of a small GPU. The caches of a real GPU take most of the time of a run,
 * because the trace of an input is short. */
static struct fth_model_params *create_small(void)
{
    static const char *const settings[][2] = {
        {"gpu.sms", "4"}, {"l1.size_bytes", "4K"}, {"l2.size_bytes", "64K"}};
    struct fth_model_params *params;
    if (fth_model_params_create(NULL, &params, NULL) != FTH_OK)
        abort();
    for (size_t i = 0; i < FTH_COUNT(settings); i++)
        if (fth_model_set(params, settings[i][0], settings[i][1], NULL) != FTH_OK)
            abort();
    return params;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    if (size == 0)
        return 0;
    struct fth_model_params *params = create_small();
    const size_t lines = data[0] % 16;
    data++, size--;
    if (set_lines(params, &data, &size, lines)) {
        const int text = memfd_create("text", 0), output = memfd_create("trace", 0);
        if (text < 0 || output < 0 || write(text, data, size) != (ssize_t)size)
            abort();
        snprintf(path, sizeof path, "/proc/self/fd/%d", text);
        struct fth_trace *trace = import(path, output);
        if (trace)
            run(trace, params);
        fth_trace_close(trace);
        close(text);
        close(output);
    }
    fth_model_params_destroy(params);
    return 0;
}
