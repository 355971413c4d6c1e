/* Lists the figures that differ between two descriptions. Two measured figures differ if their
 * intervals do not overlap (gpu/gpu_compare.c). */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 5 }; /* cells per row */

/* The rows of a table. Texts made for it live in the arena. */
struct rows {
    struct fth_arena arena;
    struct fth_cell *cells;
    size_t count, capacity; /* rows */
    bool human_readable; /* format text: sizes in KiB, bandwidths in GB/s, intervals, short lists */
    bool failed;         /* out of memory */
};

static void rows_fini(struct rows *rows)
{
    fth_arena_fini(&rows->arena);
    free(rows->cells);
}

/* Formats a number. If `human_readable`, the unit is chosen by the end of the attribute's name. */
static const char *format_number(const char *name, double number, bool human_readable, char *text,
                                 size_t size)
{
    if (human_readable && fth_ends_with(name, "_bytes"))
        return fth_size_format(number, text, size);
    if (human_readable && fth_ends_with(name, "_bytes_per_s")) {
        fth_format(text, size, number >= 1e12 ? "%.2f TB/s" : "%.1f GB/s",
                   number / (number >= 1e12 ? 1e12 : 1e9));
        return text;
    }
    return fth_number_format(number, text, size);
}

/* Appends the value of an attribute and, if `human_readable`, its interval. */
static void put_value(const struct fth_attribute *a, bool human_readable, struct fth_buffer *out)
{
    /* Limits of human-readable cells, which keep a row short. Chosen, not derived. */
    enum { MAX_ITEMS = 8, MAX_COLUMNS = 60 };
    char number[40];
    switch (a->kind) {
    case FTH_NUMBER:
        fth_buffer_text(out,
                        format_number(a->name, a->number, human_readable, number, sizeof number));
        if (!human_readable || isnan(a->low) || isnan(a->high) || a->low == a->high)
            break;
        fth_buffer_format(out, " (%s",
                          format_number(a->name, a->low, human_readable, number, sizeof number));
        fth_buffer_format(out, "..%s)",
                          format_number(a->name, a->high, human_readable, number, sizeof number));
        break;
    case FTH_TEXT:
    case FTH_RAW: fth_text_append(out, a->text, human_readable ? MAX_COLUMNS : 4096, "..."); break;
    case FTH_NUMBERS:
    case FTH_TEXTS:
        for (size_t i = 0; i < a->count && !(human_readable && i == MAX_ITEMS); i++) {
            fth_buffer_text(out, i ? " " : "");
            if (a->kind == FTH_TEXTS)
                fth_text_append(out, a->texts[i], MAX_COLUMNS, "...");
            else
                fth_buffer_text(out, fth_number_format(a->numbers[i], number, sizeof number));
        }
        if (human_readable && a->count > MAX_ITEMS)
            fth_buffer_text(out, " ...");
        break;
    }
}

/* Returns the value as a text in the arena. `a` NULL: returns NULL. */
static const char *value_text(struct rows *rows, const struct fth_attribute *a)
{
    struct fth_buffer text = {0};
    if (!a)
        return NULL;
    put_value(a, rows->human_readable, &text);
    const char *copy = fth_arena_text(&rows->arena, text.data ? text.data : "");
    rows->failed = rows->failed || text.failed || !copy;
    fth_buffer_fini(&text);
    return copy;
}

/* Returns a new row with empty cells. If memory runs out, sets `failed` and returns NULL. */
static struct fth_cell *add_row(struct rows *rows)
{
    void *cells = rows->cells;
    if (!fth_grow(&cells, rows->count, &rows->capacity, COLUMNS * sizeof *rows->cells)) {
        rows->failed = true;
        return NULL;
    }
    rows->cells = cells;
    struct fth_cell *row = &rows->cells[COLUMNS * rows->count++];
    memset(row, 0, COLUMNS * sizeof *row);
    return row;
}

/* Returns whether a difference is to be reported. Unless `all` is set, circumstances (such as the
 * driver version) and figures that only one description has are not. */
static bool is_wanted(const struct fth_compare_options *options, const struct fth_difference *d)
{
    if (!options->all && (d->circumstance || !d->a || !d->b))
        return false;
    return isnan(d->apart) || d->apart > options->within;
}

/* ---- two descriptions ---- */

struct pair {
    struct rows rows;
    const struct fth_compare_options *options;
    const char *const *names;
    size_t one_sided;            /* figures of only one description that are not reported */
    struct fth_json_writer json; /* json.out is NULL unless the format is JSON */
};

/* Writes value and interval of one description. `a` NULL: writes nothing. */
static void put_side(struct fth_json_writer *json, const char *key, const struct fth_attribute *a)
{
    if (!a)
        return;
    fth_json_key(json, key);
    fth_json_begin(json, '{', true);
    fth_json_key(json, "value");
    if (a->kind == FTH_NUMBER) {
        fth_json_number(json, a->number);
    } else {
        struct fth_buffer text = {0};
        put_value(a, false, &text);
        fth_json_text(json, text.data ? text.data : "");
        json->out->failed = json->out->failed || text.failed;
        fth_buffer_fini(&text);
    }
    if (!isnan(a->low)) {
        fth_json_key(json, "low");
        fth_json_number(json, a->low);
    }
    if (!isnan(a->high)) {
        fth_json_key(json, "high");
        fth_json_number(json, a->high);
    }
    fth_json_end(json, '}');
}

static void add_difference(void *user, const struct fth_difference *difference)
{
    struct pair *pair = user;
    if (!is_wanted(pair->options, difference)) {
        pair->one_sided += !difference->circumstance && (!difference->a || !difference->b);
        return;
    }
    struct fth_cell *row = add_row(&pair->rows);
    if (!row)
        return;
    row[0].text = difference->section;
    row[1].text = difference->name;
    row[2].text = value_text(&pair->rows, difference->a);
    row[3].text = value_text(&pair->rows, difference->b);
    row[4].number = isnan(difference->apart) ? NAN : round(1000 * difference->apart) / 10;
    if (!pair->json.out)
        return;
    fth_json_begin(&pair->json, '{', true);
    fth_json_key(&pair->json, "section");
    fth_json_text(&pair->json, difference->section);
    fth_json_key(&pair->json, "attribute");
    fth_json_text(&pair->json, difference->name);
    put_side(&pair->json, "a", difference->a);
    put_side(&pair->json, "b", difference->b);
    if (!isnan(difference->apart)) {
        fth_json_key(&pair->json, "apart");
        fth_json_number(&pair->json, difference->apart);
    }
    fth_json_end(&pair->json, '}');
}

static void begin_json(struct pair *pair, struct fth_buffer *out)
{
    static const char *const keys[] = {"a", "b"};
    pair->json.out = out;
    fth_json_begin(&pair->json, '{', false);
    fth_json_key(&pair->json, "schema");
    fth_json_text(&pair->json, "fathom-comparison/1");
    for (size_t i = 0; i < 2; i++) {
        fth_json_key(&pair->json, keys[i]);
        fth_json_text(&pair->json, pair->names[i]);
    }
    fth_json_key(&pair->json, "differences");
    fth_json_begin(&pair->json, '[', false);
}

static enum fth_status put_table(const char *format, const struct rows *rows,
                                 const struct fth_column columns[COLUMNS],
                                 const struct fth_report_options *options, struct fth_buffer *out,
                                 struct fth_error *error)
{
    char *text = NULL;
    size_t size = 0;
    const struct fth_table table = {columns, COLUMNS, rows->cells, rows->count};
    enum fth_status status = fth_report_table(format, &table, options, &text, &size, error);
    if (status == FTH_OK)
        fth_buffer_append(out, text, size);
    fth_free(text);
    return status;
}

enum fth_status fth_report_compare(const char *format, const struct fth_compare_options *options,
                                   const struct fth_gpu *const gpus[2], const char *const names[2],
                                   char **text, size_t *size, size_t *count,
                                   struct fth_error *error)
{
    const struct fth_column columns[COLUMNS] = {{"element", "Element", FTH_COLUMN_TEXT},
                                                {"attribute", "Attribute", FTH_COLUMN_TEXT},
                                                {"a", names[0], FTH_COLUMN_TEXT},
                                                {"b", names[1], FTH_COLUMN_TEXT},
                                                {"apart_percent", "Gap %", FTH_COLUMN_NUMBER}};
    struct fth_compare_options known;
    struct pair pair = {.options = &known, .names = names};
    struct fth_buffer out = {0};
    *text = NULL;
    *size = 0;
    *count = 0;
    FTH_TRY(fth_options_read("fth_compare_options", options, &known, sizeof known, error));
    FTH_TRY(fth_report_check(format, FTH_REPORT_TABLE, error));
    enum fth_status status = FTH_OK;
    pair.rows.human_readable = strcmp(format, "text") == 0;
    if (strcmp(format, "json") == 0)
        begin_json(&pair, &out);
    fth_gpu_compare(gpus[0], gpus[1], add_difference, &pair);
    if (pair.rows.failed) {
        status = fth_no_memory(error, "compare", NULL);
    } else if (pair.json.out) {
        fth_json_end(&pair.json, ']');
        fth_json_end(&pair.json, '}');
    } else if (pair.rows.count || !pair.rows.human_readable) {
        status = put_table(format, &pair.rows, columns, known.report, &out, error);
    }
    if (pair.rows.human_readable && !pair.rows.count)
        fth_buffer_text(&out,
                        "No differences beyond the intervals and the tolerance (--within).\n");
    if (pair.rows.human_readable && pair.one_sided)
        fth_buffer_format(&out, "%zu figures that only one description has were not compared.\n",
                          pair.one_sided);
    *count = pair.rows.count;
    if (status == FTH_OK)
        status = fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    rows_fini(&pair.rows);
    return status;
}
