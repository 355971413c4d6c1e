/* Fuzzes the cache model with parameters and accesses. The first byte, modulo 16, is the number of
 * lines "NAME=VALUE" that follow. The rest is a trace as text tuples, as `fathom trace` reads them.
 * The model must reject the input with a message, or run to the end with no more hits than sectors.
 */
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Sets a parameter. Values that name a file ("@FILE") are skipped, so that the
 * fuzzer reads no files. */
static void set(struct fth_model_params *params, char *line)
{
    char *equals = strchr(line, '=');
    struct fth_error error = FTH_NO_ERROR;
    if (!equals || equals[1] == '@')
        return;
    *equals = '\0';
    if (fth_model_set(params, line, equals + 1, &error) != FTH_OK && !error.cause[0])
        abort();
}

/* Returns whether a file is a trace of another tool. Launch files and PTX are not executed. */
static bool is_foreign_trace(const char *path)
{
    struct fth_trace_input input;
    if (fth_trace_input_open(path, NULL, &input, NULL) != FTH_OK)
        return false;
    fth_trace_input_close(&input);
    return input.kind == FTH_INPUT_TUPLES || input.kind == FTH_INPUT_TRACEG;
}

static void run(const char *path, const struct fth_model_params *params)
{
    struct fth_trace *trace;
    struct fth_model_result *result = NULL;
    struct fth_error error = FTH_NO_ERROR;
    char *text;
    size_t size;
    if (!is_foreign_trace(path))
        return;
    if (fth_trace_obtain(path, NULL, &trace, &error) != FTH_OK) {
        if (!error.cause[0])
            abort();
        return;
    }
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
    fth_trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_model_params *params;
    char path[64];
    if (size == 0 || fth_model_params_create(NULL, &params, NULL) != FTH_OK)
        return 0;
    size_t lines = data[0] % 16;
    data++, size--;
    while (lines-- && size) {
        const uint8_t *end = memchr(data, '\n', size);
        const size_t length = end ? (size_t)(end - data) : size;
        char line[128];
        snprintf(line, sizeof line, "%.*s", (int)(length < 127 ? length : 127), (const char *)data);
        set(params, line);
        data += end ? length + 1 : length;
        size -= end ? length + 1 : length;
    }
    snprintf(path, sizeof path, "/tmp/fuzz-model-%d.txt", (int)getpid());
    if (fth_file_write(path, data, size, NULL) == FTH_OK)
        run(path, params);
    unlink(path);
    fth_model_params_destroy(params);
    return 0;
}
