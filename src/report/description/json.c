/* Writes descriptions as fathom-gpu/1 documents, and tables as lists of objects. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Writes the numbers of a text, which are separated by spaces, as a list. Their digits are copied,
 * because a double cannot represent every 64-bit integer. What is not a number in JSON (nan, inf)
 * becomes null. */
static void write_numbers(struct fth_json_writer *json, const char *text)
{
    fth_json_begin(json, '[', true);
    while (*text) {
        char number[64], *end;
        size_t size = strcspn(text, " ");
        snprintf(number, sizeof number, "%.*s", (int)size, text);
        double value = fth_strtod(number, &end);
        fth_json_raw(json, *end == '\0' && isfinite(value) ? number : "null");
        text += size + (text[size] == ' ');
    }
    fth_json_end(json, ']');
}

void fth_json_kernel(struct fth_json_writer *json, const char *name)
{
    char text[FTH_NAME_BYTES];
    fth_json_text(json, name);
    fth_demangle(name, FTH_NAME_SHORT, text, sizeof text);
    fth_json_key(json, "demangled");
    fth_json_text(json, text);
}

void fth_json_table(struct fth_json_writer *json, const struct fth_table *table)
{
    fth_json_begin(json, '[', false);
    for (size_t row = 0; row < table->row_count; row++) {
        fth_json_begin(json, '{', true);
        for (size_t c = 0; c < table->column_count; c++) {
            const struct fth_cell *cell = &table->cells[row * table->column_count + c];
            enum fth_column_kind kind = table->columns[c].kind;
            bool text = !fth_column_is_number(kind);
            if (text ? !cell->text : isnan(cell->number))
                continue;
            fth_json_key(json, table->columns[c].key);
            if (kind == FTH_COLUMN_NUMBERS)
                write_numbers(json, cell->text);
            else if (kind == FTH_COLUMN_KERNEL)
                fth_json_kernel(json, cell->text);
            else if (text)
                fth_json_text(json, cell->text);
            else
                fth_json_number(json, cell->number);
        }
        fth_json_end(json, '}');
    }
    fth_json_end(json, ']');
}

static void write_table(const struct fth_table *table, const struct fth_report_options *options,
                        struct fth_buffer *out)
{
    (void)options;
    struct fth_json_writer json = {.out = out};
    fth_json_table(&json, table);
}

const struct fth_report_writer fth_report_json = {
    "json", "the fathom-gpu/1 document, accepted by every command that takes a GPU", write_gpu,
    write_table};
