/* Writes CSV for spreadsheets (RFC 4180, but with Unix line ends): a description with one attribute
 * per row, or a table. */
#include "report/report.h"

#include <math.h>
#include <string.h>

/* Returns whether a spreadsheet would evaluate a text as a formula: if it begins with one of these
 * characters (OWASP, "CSV Injection"), unless it is a number or a list of numbers. */
static bool is_formula(const char *text)
{
    if (!*text || !strchr("=+-@\t\r", *text))
        return false;
    for (;;) {
        char *end;
        (void)fth_strtod(text, &end);
        if (end == text || (*end && *end != ' '))
            return true;
        if (!*end)
            return false;
        text = end + 1;
    }
}

/* Control characters, which could send escape sequences to a terminal, become '?', except for tabs
 * and line breaks. */
static void put_printable(struct fth_buffer *out, const char *text)
{
    while (*text) {
        const size_t size = strcspn(text, "\"\t\r\n");
        struct fth_buffer part = {0};
        fth_buffer_append(&part, text, size);
        if (part.data)
            fth_make_printable(part.data);
        fth_buffer_text(out, part.data ? part.data : "");
        out->failed = out->failed || part.failed;
        fth_buffer_fini(&part);
        text += size;
        if (*text)
            fth_buffer_text(out, *text == '"' ? "\"\"" : (char[]){*text, '\0'});
        text += *text != '\0';
    }
}

void fth_csv_cell(struct fth_buffer *out, const char *text, bool last)
{
    const bool formula = text && is_formula(text);
    const bool quoted = text && (formula || strpbrk(text, ",\"\r\n"));
    fth_buffer_text(out, quoted ? "\"" : "");
    fth_buffer_text(out, formula ? "'" : "");
    put_printable(out, text ? text : "");
    fth_buffer_text(out, quoted ? "\"" : "");
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

static void write_cell(const struct fth_table *table, size_t index, bool last,
                       struct fth_buffer *out)
{
    const struct fth_cell *cell = &table->cells[index];
    char number[40];
    const char *text = cell->text;
    if (fth_column_is_number(table->columns[index % table->column_count].kind))
        text = isnan(cell->number) ? NULL : fth_number_format(cell->number, number, sizeof number);
    fth_csv_cell(out, text, last);
}

/* Writes the C++ name of a kernel as the last cell of a row. */
static void write_demangled(const char *name, struct fth_buffer *out)
{
    char text[FTH_NAME_BYTES];
    fth_demangle(name ? name : "", FTH_NAME_SHORT, text, sizeof text);
    fth_csv_cell(out, text, true);
}

static void write_table(const struct fth_table *table, const struct fth_report_options *options,
                        struct fth_buffer *out)
{
    (void)options;
    const size_t count = table->column_count;
    size_t kernel = 0;
    while (kernel < count && table->columns[kernel].kind != FTH_COLUMN_KERNEL)
        kernel++;
    const bool has_kernel = kernel < count;
    for (size_t c = 0; c < count; c++)
        fth_csv_cell(out, table->columns[c].key, c + 1 == count && !has_kernel);
    if (has_kernel)
        fth_csv_cell(out, "demangled", true);
    for (size_t row = 0; row < table->row_count; row++) {
        for (size_t c = 0; c < count; c++)
            write_cell(table, row * count + c, c + 1 == count && !has_kernel, out);
        if (has_kernel)
            write_demangled(table->cells[row * count + kernel].text, out);
    }
}

const struct fth_report_writer fth_report_csv = {"csv", "one attribute per row, for spreadsheets",
                                                 write_gpu, write_table};
