/* Fuzzes the reader of GPU descriptions (fth_gpu_read_text). Any input must be rejected with a
 * message, or the description can be written, read again without a difference, and shown in every
 * format. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes the description, reads it again, compares the two, and shows it in every format. */
static void write_and_show(const struct fth_gpu *gpu)
{
    char *once = NULL, *twice = NULL;
    size_t once_size = 0, twice_size = 0;
    struct fth_gpu *again = NULL;
    if (fth_gpu_write_text(gpu, &once, &once_size, NULL) != FTH_OK ||
        fth_gpu_read_text("again", once, once_size, NULL, &again, NULL) != FTH_OK ||
        fth_gpu_write_text(again, &twice, &twice_size, NULL) != FTH_OK)
        abort();
    if (once_size != twice_size || memcmp(once, twice, once_size) != 0)
        abort();
    if (fth_gpu_compare(gpu, again, NULL, NULL) != 0)
        abort();
    const char *format;
    for (size_t i = 0; (format = fth_report_format(i, NULL)); i++) {
        struct fth_report_options options =
            FTH_REPORT_OPTIONS(.utf8 = i % 2 == 0, .replayed = i % 3 == 0);
        char *text = NULL;
        size_t text_size = 0;
        struct fth_error error = FTH_NO_ERROR;
        const enum fth_status status =
            fth_report_gpu(format, gpu, &options, &text, &text_size, &error);
        /* A format can need something that the description lacks, if it reports that. */
        if (status != FTH_OK && !(status == FTH_INVALID && error.cause[0]))
            abort();
        fth_free(text);
    }
    fth_gpu_destroy(again);
    fth_free(once);
    fth_free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_gpu *gpu = NULL;
    struct fth_error error = FTH_NO_ERROR;
    if (fth_gpu_read_text("fuzz", (const char *)data, size, NULL, &gpu, &error) == FTH_OK)
        write_and_show(gpu);
    else if (!error.cause[0] || strchr(error.cause, '\n'))
        abort();
    fth_gpu_destroy(gpu);
    return 0;
}
