/* Lists the figures that differ between two descriptions, and the figures in which one of many GPUs
 * differs from the others of the same name. Two measured figures differ if their intervals do not
 * overlap (gpu/gpu_compare.c). */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 6 }; /* cells per row; a comparison of two descriptions uses five of them */

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

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

/* Formats a number. If `human_readable`, the unit is chosen by the end of the attribute's name. */
static const char *format_number(const char *name, double number, bool human_readable, char *text,
                                 size_t size)
{
    if (human_readable && ends_with(name, "_bytes"))
        return fth_size_format(number, text, size);
    if (human_readable && ends_with(name, "_bytes_per_s")) {
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

/* Writes a value with its own type: a number, a text or a list. */
static void put_json_value(struct fth_json_writer *json, const struct fth_attribute *a)
{
    struct fth_buffer text = {0};
    switch (a->kind) {
    case FTH_NUMBER: fth_json_number(json, a->number); break;
    case FTH_NUMBERS:
    case FTH_TEXTS:
        fth_json_begin(json, '[', true);
        for (size_t i = 0; i < a->count; i++)
            if (a->kind == FTH_NUMBERS)
                fth_json_number(json, a->numbers[i]);
            else
                fth_json_text(json, a->texts[i]);
        fth_json_end(json, ']');
        break;
    case FTH_TEXT:
    case FTH_RAW:
        put_value(a, false, &text);
        fth_json_text(json, text.data ? text.data : "");
        break;
    }
    fth_buffer_fini(&text);
}

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

/* Writes the first `column_count` cells of each row as a table. */
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
        return fth_no_memory(error, "compare", NULL);
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
        status =
            put_table(format, &pair.rows, columns, FTH_COUNT(columns), known.report, &out, error);
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

/* ---- many descriptions ---- */

/* A figure in which a GPU differs from most others of its name. */
struct outlier {
    const char *gpu, *section, *name;
    const struct fth_attribute *value, *usual;
    double apart; /* NAN: not numbers */
};

struct fleet {
    struct outlier *outliers;
    size_t outlier_count, outlier_capacity;
    bool failed; /* out of memory */
    const struct fth_compare_options *options;
    const struct fth_gpu *const *gpus;
    const char *const *names;
    size_t count;
    size_t simulated; /* number of GPUs that are simulated */
    /* The attribute that is being compared: its values, and the GPUs that have them. */
    const struct fth_attribute **figures;
    size_t *gpu_indices;
    size_t figure_count;
};

static bool is_simulated(const struct fth_gpu *gpu)
{
    const char *backend = fth_gpu_text(gpu, "device", "backend");
    return backend && strcmp(backend, "simulated") == 0;
}

/* Returns whether two GPUs are compared: they have the same name, and both or none of them is
 * simulated. */
static bool are_siblings(const struct fth_gpu *a, const struct fth_gpu *b)
{
    if (is_simulated(a) != is_simulated(b))
        return false;
    const char *first = fth_gpu_text(a, "device", "name");
    const char *second = fth_gpu_text(b, "device", "name");
    return first && second && strcmp(first, second) == 0;
}

/* Collects the values of an attribute from GPU `first` and its later siblings. */
static void gather(struct fleet *fleet, size_t first, const char *section, const char *name)
{
    fleet->figure_count = 0;
    for (size_t i = first; i < fleet->count; i++) {
        if (!are_siblings(fleet->gpus[first], fleet->gpus[i]))
            continue;
        const struct fth_attribute *a = fth_gpu_attribute(fleet->gpus[i], section, name);
        if (!a)
            continue;
        fleet->figures[fleet->figure_count] = a;
        fleet->gpu_indices[fleet->figure_count++] = i;
    }
}

static bool agree(const struct fleet *fleet, size_t i, size_t j)
{
    double apart = fth_attribute_apart(fleet->figures[i], fleet->figures[j]);
    return isnan(apart) ? fth_attribute_agrees(fleet->figures[i], fleet->figures[j])
                        : apart <= fleet->options->within;
}

/* Returns the index of the value that agrees with the largest number of other values. Sets
 * *agreeing to that number. */
static size_t find_typical(const struct fleet *fleet, size_t *agreeing)
{
    size_t best = 0;
    *agreeing = 0;
    for (size_t i = 0; i < fleet->figure_count; i++) {
        size_t count = 0;
        for (size_t j = 0; j < fleet->figure_count; j++)
            count += i != j && agree(fleet, i, j);
        if (count <= *agreeing)
            continue;
        *agreeing = count;
        best = i;
    }
    return best;
}

static void add_outlier(struct fleet *fleet, struct outlier outlier)
{
    if (fth_grow((void **)&fleet->outliers, fleet->outlier_count, &fleet->outlier_capacity,
                 sizeof *fleet->outliers))
        fleet->outliers[fleet->outlier_count++] = outlier;
    else
        fleet->failed = true;
}

/* Adds each GPU whose value of an attribute does not agree with the typical value. */
static void compare_figure(struct fleet *fleet, size_t first, const char *section, const char *name)
{
    size_t agreeing;
    if (!fleet->options->all && fth_is_circumstance(section, name))
        return;
    gather(fleet, first, section, name);
    const size_t typical = find_typical(fleet, &agreeing);
    /* A value is typical only if it agrees with more than half of the others. With just two values,
     * the first one is taken as typical. */
    if (2 * agreeing <= fleet->figure_count - 1 && fleet->figure_count != 2)
        return;
    for (size_t i = 0; i < fleet->figure_count; i++) {
        if (i == typical || agree(fleet, i, typical))
            continue;
        const struct fth_attribute *value = fleet->figures[i], *usual = fleet->figures[typical];
        add_outlier(fleet, (struct outlier){fleet->names[fleet->gpu_indices[i]], section, name,
                                            value, usual, fth_attribute_apart(value, usual)});
    }
}

/* Compares every attribute of a section that no earlier sibling of GPU `first` has; the others were
 * compared with that sibling already. */
static void compare_section(struct fleet *fleet, size_t first, const char *section)
{
    const struct fth_attribute *a;
    for (size_t i = 0; (a = fth_gpu_attribute_at(fleet->gpus[first], section, i)); i++) {
        bool seen = false;
        for (size_t j = 0; j < first && !seen; j++)
            seen = are_siblings(fleet->gpus[j], fleet->gpus[first]) &&
                   fth_gpu_attribute(fleet->gpus[j], section, a->name);
        if (!seen)
            compare_figure(fleet, first, section, a->name);
    }
}

/* Adds a row for each simulated GPU: it is not a GPU of the fleet. It is measured, for example, on
 * a node without a driver. */
static void add_simulated(struct fleet *fleet)
{
    static const struct fth_attribute real = {
        .name = "backend", .kind = FTH_TEXT, .text = "a real GPU"};
    for (size_t i = 0; i < fleet->count; i++) {
        if (!is_simulated(fleet->gpus[i]))
            continue;
        fleet->simulated++;
        add_outlier(fleet, (struct outlier){fleet->names[i], "device", "backend",
                                            fth_gpu_attribute(fleet->gpus[i], "device", "backend"),
                                            &real, NAN});
    }
}

/* Orders outliers by GPU, element and attribute. */
static int by_gpu(const void *a, const void *b)
{
    const struct outlier *first = a, *second = b;
    int order = strcmp(first->gpu, second->gpu);
    if (order == 0)
        order = strcmp(first->section, second->section);
    return order ? order : strcmp(first->name, second->name);
}

static double percent_apart(double apart)
{
    return isnan(apart) ? apart : round(1000 * apart) / 10;
}

/* Writes a fathom-fleet/1 document. */
static void put_fleet_json(const struct fleet *fleet, struct fth_buffer *out)
{
    struct fth_json_writer json = {.out = out};
    fth_json_begin(&json, '{', false);
    fth_json_key(&json, "schema");
    fth_json_text(&json, "fathom-fleet/1");
    fth_json_key(&json, "gpus");
    fth_json_number(&json, (double)fleet->count);
    fth_json_key(&json, "simulated");
    fth_json_number(&json, (double)fleet->simulated);
    fth_json_key(&json, "differences");
    fth_json_begin(&json, '[', false);
    for (size_t i = 0; i < fleet->outlier_count; i++) {
        const struct outlier *outlier = &fleet->outliers[i];
        const struct {
            const char *key, *text;
        } names[] = {
            {"gpu", outlier->gpu}, {"element", outlier->section}, {"attribute", outlier->name}};
        fth_json_begin(&json, '{', true);
        for (size_t k = 0; k < FTH_COUNT(names); k++) {
            fth_json_key(&json, names[k].key);
            fth_json_text(&json, names[k].text);
        }
        fth_json_key(&json, "value");
        put_json_value(&json, outlier->value);
        fth_json_key(&json, "usual");
        put_json_value(&json, outlier->usual);
        if (!isnan(outlier->apart)) {
            fth_json_key(&json, "apart_percent");
            fth_json_number(&json, percent_apart(outlier->apart));
        }
        fth_json_end(&json, '}');
    }
    fth_json_end(&json, ']');
    fth_json_end(&json, '}');
}

static enum fth_status put_fleet_table(const char *format, const struct fleet *fleet,
                                       struct fth_buffer *out, struct fth_error *error)
{
    struct fth_report_options options;
    static const struct fth_column columns[] = {{"gpu", "GPU", FTH_COLUMN_TEXT},
                                                {"element", "Element", FTH_COLUMN_TEXT},
                                                {"attribute", "Attribute", FTH_COLUMN_TEXT},
                                                {"value", "This GPU", FTH_COLUMN_TEXT},
                                                {"usual", "Most others", FTH_COLUMN_TEXT},
                                                {"apart_percent", "Gap %", FTH_COLUMN_NUMBER}};
    struct rows rows = {.human_readable = strcmp(format, "text") == 0};
    FTH_TRY(fth_options_read("fth_report_options", fleet->options->report, &options, sizeof options,
                             error));
    if (rows.human_readable && fleet->outlier_count == 0) {
        fth_buffer_format(out, "%zu GPUs: none differs from most other GPUs of the same name.\n",
                          fleet->count);
        return FTH_OK;
    }
    for (size_t i = 0; i < fleet->outlier_count; i++) {
        const struct outlier *outlier = &fleet->outliers[i];
        struct fth_cell *row = add_row(&rows);
        if (!row)
            break;
        row[0].text = outlier->gpu;
        row[1].text = outlier->section;
        row[2].text = outlier->name;
        row[3].text = value_text(&rows, outlier->value);
        row[4].text = value_text(&rows, outlier->usual);
        row[5].number = percent_apart(outlier->apart);
    }
    enum fth_status status =
        put_table(format, &rows, columns, FTH_COUNT(columns), &options, out, error);
    rows_fini(&rows);
    struct fth_buffer note = {0};
    if (status == FTH_OK && rows.human_readable && fleet->simulated)
        fth_buffer_format(&note,
                          "%zu of %zu descriptions are of simulated GPUs, which were not compared "
                          "with real ones; use 'fathom topo --require-gpu' to measure only real "
                          "GPUs.",
                          fleet->simulated, fleet->count);
    fth_write_prose(&note, &options, out);
    return status;
}

enum fth_status fth_report_fleet(const char *format, const struct fth_compare_options *options,
                                 const struct fth_gpu *const *gpus, const char *const *names,
                                 size_t gpu_count, char **text, size_t *size, size_t *count,
                                 struct fth_error *error)
{
    struct fth_compare_options known;
    struct fleet fleet = {.options = &known, .gpus = gpus, .names = names, .count = gpu_count};
    struct fth_buffer out = {0};
    *text = NULL;
    *size = 0;
    *count = 0;
    FTH_TRY(fth_options_read("fth_compare_options", options, &known, sizeof known, error));
    FTH_TRY(fth_report_check(format, FTH_REPORT_TABLE, error));
    fleet.figures = calloc(gpu_count + 1, sizeof *fleet.figures);
    fleet.gpu_indices = calloc(gpu_count + 1, sizeof *fleet.gpu_indices);
    fleet.failed = !fleet.figures || !fleet.gpu_indices;
    for (size_t i = 0; i < gpu_count && !fleet.failed; i++) {
        compare_section(&fleet, i, "device");
        for (size_t j = 0; j < fth_gpu_element_count(gpus[i]); j++)
            compare_section(&fleet, i, fth_gpu_element_name(gpus[i], j));
    }
    add_simulated(&fleet);
    if (fleet.outlier_count)
        qsort(fleet.outliers, fleet.outlier_count, sizeof *fleet.outliers, by_gpu);
    enum fth_status status = FTH_OK;
    if (fleet.failed)
        status = fth_no_memory(error, "compare", NULL);
    else if (strcmp(format, "json") == 0)
        put_fleet_json(&fleet, &out);
    else
        status = put_fleet_table(format, &fleet, &out, error);
    *count = fleet.outlier_count;
    if (status == FTH_OK)
        status = fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    free(fleet.outliers);
    free(fleet.figures);
    free(fleet.gpu_indices);
    return status;
}
