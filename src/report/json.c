/* The description as the document that it is. */
#include "report/report.h"

#include <math.h>

static enum fth_status write_gpu(const struct fth_gpu *gpu,
                                 const struct fth_report_options *options, struct fth_buffer *out,
                                 struct fth_error *error)
{
    (void)options;
    char *text = NULL;
    size_t size = 0;
    enum fth_status status = fth_gpu_write_text(gpu, &text, &size, error);
    if (status == FTH_OK)
        fth_buffer_append(out, text, size);
    fth_free(text);
    return status;
}

static void write_table(const struct fth_table *table, const struct fth_report_options *options,
                        struct fth_buffer *out)
{
    (void)options;
    struct fth_json_writer json = {.out = out};
    fth_json_begin(&json, '[', false);
    for (size_t row = 0; row < table->row_count; row++) {
        fth_json_begin(&json, '{', true);
        for (size_t c = 0; c < table->column_count; c++) {
            const struct fth_cell *cell = &table->cells[row * table->column_count + c];
            bool text = table->columns[c].kind == FTH_COLUMN_TEXT;
            if (text ? !cell->text : isnan(cell->number))
                continue;
            fth_json_key(&json, table->columns[c].key);
            if (text)
                fth_json_text(&json, cell->text);
            else
                fth_json_number(&json, cell->number);
        }
        fth_json_end(&json, '}');
    }
    fth_json_end(&json, ']');
}

const struct fth_report_writer fth_report_json = {
    "json", "the fathom-gpu/1 document, which every command that takes a GPU reads", write_gpu,
    write_table};
