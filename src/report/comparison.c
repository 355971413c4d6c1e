/* What differs between two descriptions, and which of many is not like the others. A figure stands
 * for its interval (gpu/compare.c), so what differs is beyond the intervals of both. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 6 };

/* Rows of a table whose texts live in the arena. */
struct rows {
    struct fth_arena arena;
    struct fth_cell *cells;
    size_t count, capacity; /* of rows */
    bool people;            /* text: sizes in KiB, bandwidths in GB/s */
    bool failed;
};

static void rows_fini(struct rows *rows)
{
    fth_arena_fini(&rows->arena);
    free(rows->cells);
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

/* A number as people read it, by the unit in its attribute's name. */
static const char *format_number(const char *name, double number, bool people, char *text,
                                 size_t size)
{
    if (people && ends_with(name, "_bytes"))
        return fth_size_format(number, text, size);
    if (people && ends_with(name, "_bytes_per_s")) {
        snprintf(text, size, number >= 1e12 ? "%.2f TB/s" : "%.1f GB/s",
                 number / (number >= 1e12 ? 1e12 : 1e9));
        return text;
    }
    return fth_number_format(number, text, size);
}

static void put_value(const struct fth_attribute *a, bool people, struct fth_buffer *out)
{
    enum { MAX_ITEMS = 8, MAX_COLUMNS = 60 };
    char number[40];
    switch (a->kind) {
    case FTH_NUMBER:
        fth_buffer_text(out, format_number(a->name, a->number, people, number, sizeof number));
        if (!people || isnan(a->low) || isnan(a->high) || a->low == a->high)
            break;
        fth_buffer_format(out, " (%s", format_number(a->name, a->low, people, number, 40));
        fth_buffer_format(out, "..%s)", format_number(a->name, a->high, people, number, 40));
        break;
    case FTH_TEXT:
    case FTH_RAW: fth_text_append(out, a->text, people ? MAX_COLUMNS : 4096, "..."); break;
    case FTH_NUMBERS:
    case FTH_TEXTS:
        for (size_t i = 0; i < a->count && !(people && i == MAX_ITEMS); i++) {
            fth_buffer_text(out, i ? " " : "");
            if (a->kind == FTH_TEXTS)
                fth_text_append(out, a->texts[i], MAX_COLUMNS, "...");
            else
                fth_buffer_text(out, fth_number_format(a->numbers[i], number, sizeof number));
        }
        if (people && a->count > MAX_ITEMS)
            fth_buffer_text(out, " ...");
        break;
    }
}

/* NULL: nothing. */
static const char *value_text(struct rows *rows, const struct fth_attribute *a)
{
    struct fth_buffer text = {0};
    if (!a)
        return NULL;
    put_value(a, rows->people, &text);
    const char *copy = fth_arena_text(&rows->arena, text.data ? text.data : "");
    rows->failed = rows->failed || text.failed || !copy;
    fth_buffer_fini(&text);
    return copy;
}

/* NULL, and the rows failed, where there is no memory. */
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

/* Whether a difference is one that is asked for. */
static bool counts(const struct fth_compare_options *options, const struct fth_difference *d)
{
    if (!options->all && (d->circumstance || !d->a || !d->b))
        return false;
    return isnan(d->apart) || d->apart > options->within;
}

/* ---- two ---- */

struct pair {
    struct rows rows;
    const struct fth_compare_options *options;
    const char *const *names;
    size_t one_sided; /* said by one of them alone, and not asked for */
    struct fth_json_writer json;
};

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

static void note_pair(void *user, const struct fth_difference *difference)
{
    struct pair *pair = user;
    if (!counts(pair->options, difference)) {
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

/* A table of the rows, the last column left out where it is not wanted. */
static enum fth_status put_table(const char *format, const struct rows *rows,
                                 const struct fth_column *columns, size_t column_count,
                                 const struct fth_report_options *options, struct fth_buffer *out,
                                 struct fth_error *error)
{
    struct fth_cell *cells = calloc(rows->count * column_count + 1, sizeof *cells);
    char *text = NULL;
    size_t size = 0;
    if (!cells || rows->failed) {
        free(cells);
        return fth_fail(error, FTH_NO_MEMORY, "compare", NULL, "out of memory");
    }
    for (size_t i = 0; i < rows->count * column_count; i++)
        cells[i] = rows->cells[i / column_count * COLUMNS + i % column_count];
    const struct fth_table table = {columns, column_count, cells, rows->count};
    enum fth_status status = fth_report_table(format, &table, options, &text, &size, error);
    if (status == FTH_OK)
        fth_buffer_append(out, text, size);
    fth_free(text);
    free(cells);
    return status;
}

enum fth_status fth_report_compare(const char *format, const struct fth_compare_options *options,
                                   const struct fth_gpu *const gpus[2], const char *const names[2],
                                   char **text, size_t *size, size_t *count,
                                   struct fth_error *error)
{
    const struct fth_column columns[] = {{"element", "Element", FTH_COLUMN_TEXT},
                                         {"attribute", "Attribute", FTH_COLUMN_TEXT},
                                         {"a", names[0], FTH_COLUMN_TEXT},
                                         {"b", names[1], FTH_COLUMN_TEXT},
                                         {"apart_percent", "Apart %", FTH_COLUMN_NUMBER}};
    struct pair pair = {.options = options, .names = names};
    struct fth_buffer out = {0};
    *text = NULL;
    *size = 0;
    *count = 0;
    enum fth_status status = fth_report_check(format, FTH_REPORT_TABLE, error);
    if (status != FTH_OK)
        return status;
    pair.rows.people = strcmp(format, "text") == 0;
    if (strcmp(format, "json") == 0)
        begin_json(&pair, &out);
    fth_gpu_compare(gpus[0], gpus[1], note_pair, &pair);
    if (pair.json.out) {
        fth_json_end(&pair.json, ']');
        fth_json_end(&pair.json, '}');
    } else if (pair.rows.count || !pair.rows.people) {
        status = put_table(format, &pair.rows, columns, FTH_COUNT(columns), options->report, &out,
                           error);
    }
    if (pair.rows.people && !pair.rows.count)
        fth_buffer_text(&out, "Nothing differs beyond the intervals of both.\n");
    if (pair.rows.people && pair.one_sided)
        fth_buffer_format(&out, "%zu figures that only one of them has are not compared.\n",
                          pair.one_sided);
    *count = pair.rows.count;
    if (status == FTH_OK)
        status = fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    rows_fini(&pair.rows);
    return status;
}

/* ---- many ---- */

struct fleet {
    struct rows rows;
    const struct fth_compare_options *options;
    const struct fth_gpu *const *gpus;
    const char *const *names;
    size_t count;
    /* Of the figure that is looked at: those that have it. */
    const struct fth_attribute **figures;
    size_t *which;
    size_t having;
};

static bool are_siblings(const struct fth_gpu *a, const struct fth_gpu *b)
{
    const char *first = fth_gpu_text(a, "device", "name");
    const char *second = fth_gpu_text(b, "device", "name");
    return first && second && strcmp(first, second) == 0;
}

/* The siblings of GPU `first`, itself included, that have the figure. */
static void gather(struct fleet *fleet, size_t first, const char *section, const char *name)
{
    fleet->having = 0;
    for (size_t i = first; i < fleet->count; i++) {
        if (!are_siblings(fleet->gpus[first], fleet->gpus[i]))
            continue;
        const struct fth_attribute *a = fth_gpu_attribute(fleet->gpus[i], section, name);
        if (!a)
            continue;
        fleet->figures[fleet->having] = a;
        fleet->which[fleet->having++] = i;
    }
}

static bool agree(const struct fleet *fleet, size_t i, size_t j)
{
    double apart = fth_attribute_apart(fleet->figures[i], fleet->figures[j]);
    return isnan(apart) ? fth_attribute_agrees(fleet->figures[i], fleet->figures[j])
                        : apart <= fleet->options->within;
}

/* The one that agrees with most of the others; *agreeing is with how many. */
static size_t most_usual(const struct fleet *fleet, size_t *agreeing)
{
    size_t best = 0;
    *agreeing = 0;
    for (size_t i = 0; i < fleet->having; i++) {
        size_t count = 0;
        for (size_t j = 0; j < fleet->having; j++)
            count += i != j && agree(fleet, i, j);
        if (count <= *agreeing)
            continue;
        *agreeing = count;
        best = i;
    }
    return best;
}

static void look_at(struct fleet *fleet, size_t first, const char *section, const char *name)
{
    size_t agreeing;
    if (!fleet->options->all && fth_is_circumstance(section, name))
        return;
    gather(fleet, first, section, name);
    const size_t usual = most_usual(fleet, &agreeing);
    /* Where there is no usual figure, none is unusual; of two that differ one is as odd as the
     * other. */
    if (2 * agreeing <= fleet->having - 1 && fleet->having != 2)
        return;
    for (size_t i = 0; i < fleet->having; i++) {
        if (i == usual || agree(fleet, i, usual))
            continue;
        double apart = fth_attribute_apart(fleet->figures[i], fleet->figures[usual]);
        struct fth_cell *row = add_row(&fleet->rows);
        if (!row)
            return;
        row[0].text = fleet->names[fleet->which[i]];
        row[1].text = section;
        row[2].text = name;
        row[3].text = value_text(&fleet->rows, fleet->figures[i]);
        row[4].text = value_text(&fleet->rows, fleet->figures[usual]);
        row[5].number = isnan(apart) ? NAN : round(1000 * apart) / 10;
    }
}

/* Every figure that a GPU has and none of its siblings before it. */
static void look_at_section(struct fleet *fleet, size_t first, const char *section)
{
    const struct fth_attribute *a;
    for (size_t i = 0; (a = fth_gpu_attribute_at(fleet->gpus[first], section, i)); i++) {
        bool seen = false;
        for (size_t j = 0; j < first && !seen; j++)
            seen = are_siblings(fleet->gpus[j], fleet->gpus[first]) &&
                   fth_gpu_attribute(fleet->gpus[j], section, a->name);
        if (!seen)
            look_at(fleet, first, section, a->name);
    }
}

/* By GPU, element and attribute. */
static int by_gpu(const void *a, const void *b)
{
    const struct fth_cell *first = a, *second = b;
    int order = 0;
    for (size_t i = 0; i < 3 && order == 0; i++)
        order = strcmp(first[i].text, second[i].text);
    return order;
}

static enum fth_status put_fleet(const char *format, struct fleet *fleet, struct fth_buffer *out,
                                 struct fth_error *error)
{
    static const struct fth_column columns[] = {{"gpu", "GPU", FTH_COLUMN_TEXT},
                                                {"element", "Element", FTH_COLUMN_TEXT},
                                                {"attribute", "Attribute", FTH_COLUMN_TEXT},
                                                {"value", "This one", FTH_COLUMN_TEXT},
                                                {"usual", "Its siblings", FTH_COLUMN_TEXT},
                                                {"apart_percent", "Apart %", FTH_COLUMN_NUMBER}};
    if (fleet->rows.count)
        qsort(fleet->rows.cells, fleet->rows.count, COLUMNS * sizeof *fleet->rows.cells, by_gpu);
    if (fleet->rows.people && fleet->rows.count == 0) {
        fth_buffer_format(out, "%zu GPUs: none differs from what most of its siblings have.\n",
                          fleet->count);
        return fleet->rows.failed ? fth_fail(error, FTH_NO_MEMORY, "compare", NULL, "out of memory")
                                  : FTH_OK;
    }
    return put_table(format, &fleet->rows, columns, FTH_COUNT(columns), fleet->options->report, out,
                     error);
}

enum fth_status fth_report_fleet(const char *format, const struct fth_compare_options *options,
                                 const struct fth_gpu *const *gpus, const char *const *names,
                                 size_t gpu_count, char **text, size_t *size, size_t *count,
                                 struct fth_error *error)
{
    struct fleet fleet = {.options = options, .gpus = gpus, .names = names, .count = gpu_count};
    struct fth_buffer out = {0};
    *text = NULL;
    *size = 0;
    *count = 0;
    enum fth_status status = fth_report_check(format, FTH_REPORT_TABLE, error);
    if (status != FTH_OK)
        return status;
    fleet.rows.people = strcmp(format, "text") == 0;
    fleet.figures = calloc(gpu_count + 1, sizeof *fleet.figures);
    fleet.which = calloc(gpu_count + 1, sizeof *fleet.which);
    fleet.rows.failed = !fleet.figures || !fleet.which;
    for (size_t i = 0; i < gpu_count && !fleet.rows.failed; i++) {
        look_at_section(&fleet, i, "device");
        for (size_t j = 0; j < fth_gpu_element_count(gpus[i]); j++)
            look_at_section(&fleet, i, fth_gpu_element_name(gpus[i], j));
    }
    status = put_fleet(format, &fleet, &out, error);
    *count = fleet.rows.count;
    if (status == FTH_OK)
        status = fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    rows_fini(&fleet.rows);
    free(fleet.figures);
    free(fleet.which);
    return status;
}
