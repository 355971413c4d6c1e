/* Writes CSV for spreadsheets (RFC 4180, but with Unix line ends): a description with one attribute
 * per row, or a table. */
#include "report/report.h"

#include <math.h>
#include <string.h>

void fth_csv_cell(struct fth_buffer *out, const char *text, bool last)
{
    if (text && strpbrk(text, ",\"\r\n")) {
        fth_buffer_text(out, "\"");
        for (const char *at = text; *at; at++)
            fth_buffer_text(out, *at == '"' ? "\"\"" : (char[]){*at, '\0'});
        fth_buffer_text(out, "\"");
    } else if (text) {
        fth_buffer_text(out, text);
    }
    fth_buffer_text(out, last ? "\n" : ",");
}

static void number_cell(struct fth_buffer *out, double number)
{
    char text[40];
    fth_csv_cell(out, isnan(number) ? NULL : fth_number_format(number, text, sizeof text), false);
}

/* Writes the value of an attribute. The items of a list are in one cell, separated by spaces. */
static void value_cell(struct fth_buffer *out, const struct fth_attribute *a)
{
    char number[40];
    struct fth_buffer list = {0};
    switch (a->kind) {
    case FTH_NUMBER: number_cell(out, a->number); return;
    case FTH_TEXT:
    case FTH_RAW: fth_csv_cell(out, a->text, false); return;
    case FTH_NUMBERS:
    case FTH_TEXTS:
        for (size_t i = 0; i < a->count; i++)
            fth_buffer_format(&list, "%s%s", i ? " " : "",
                              a->kind == FTH_TEXTS
                                  ? a->texts[i]
                                  : fth_number_format(a->numbers[i], number, sizeof number));
        fth_csv_cell(out, list.data, false);
        out->failed = out->failed || list.failed;
        fth_buffer_fini(&list);
    }
}

static void write_section(struct fth_buffer *out, const struct fth_gpu_section *section)
{
    for (size_t i = 0; i < section->count; i++) {
        const struct fth_attribute *a = &section->attributes[i];
        fth_csv_cell(out, section->name, false);
        fth_csv_cell(out, a->name, false);
        value_cell(out, a);
        fth_csv_cell(out, fth_source_name(a->source), false);
        number_cell(out, a->confidence);
        number_cell(out, a->samples);
        number_cell(out, a->low);
        number_cell(out, a->high);
        fth_csv_cell(out, a->method, false);
        fth_csv_cell(out, a->reference, false);
        fth_csv_cell(out, a->note, true);
    }
}

static enum fth_status write_gpu(const struct fth_gpu *gpu,
                                 const struct fth_report_options *options, struct fth_buffer *out,
                                 struct fth_error *error)
{
    (void)options;
    (void)error;
    fth_buffer_text(out, "section,attribute,value,source,confidence,samples,low,high,method,"
                         "reference,note\n");
    write_section(out, &gpu->device);
    write_section(out, &gpu->noise);
    for (size_t i = 0; i < gpu->element_count; i++)
        write_section(out, &gpu->elements[i]);
    return FTH_OK;
}

static void write_table(const struct fth_table *table, const struct fth_report_options *options,
                        struct fth_buffer *out)
{
    (void)options;
    for (size_t c = 0; c < table->column_count; c++)
        fth_csv_cell(out, table->columns[c].key, c + 1 == table->column_count);
    for (size_t i = 0; i < table->row_count * table->column_count; i++) {
        size_t c = i % table->column_count;
        char number[40];
        const char *text = table->cells[i].text;
        if (table->columns[c].kind >= FTH_COLUMN_NUMBER)
            text = isnan(table->cells[i].number)
                       ? NULL
                       : fth_number_format(table->cells[i].number, number, sizeof number);
        fth_csv_cell(out, text, c + 1 == table->column_count);
    }
}

const struct fth_report_writer fth_report_csv = {"csv", "one attribute per row, for spreadsheets",
                                                 write_gpu, write_table};
