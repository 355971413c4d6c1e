/* Reads the points of an exploration: their values and the figures of their kernels. */
#include "report/results/points_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "show points";

/* Index of the reads in lists of reads, writes and atomics. */
enum { READ = 0 };

/* Copies a text of the document; NULL stays NULL. */
static bool copy_text(struct fth_point_rows *rows, const struct fth_json *value, const char **copy)
{
    const char *text = fth_json_string(value);
    *copy = text ? fth_arena_text(&rows->arena, text) : NULL;
    return !text || *copy;
}

static double number_of(const struct fth_json *object, const char *key)
{
    const struct fth_json *value = fth_json_get(object, key);
    return value ? fth_json_double(value) : (double)NAN;
}

/* Returns the sum of a list of reads, writes and atomics, or only the reads. NAN: no such list. */
static double sum_kinds(const struct fth_json *counts, const char *key, bool reads_only)
{
    const struct fth_json *list = fth_json_get(counts, key);
    double sum = fth_json_double(fth_json_item(list, READ));
    for (size_t i = 1; i < 3 && !reads_only; i++)
        sum += fth_json_double(fth_json_item(list, i));
    return list ? sum : (double)NAN;
}

static double hit_percent(const struct fth_json *counts, bool reads_only)
{
    const double sectors = sum_kinds(counts, "sectors", reads_only);
    return sectors > 0 ? round(10000 * sum_kinds(counts, "hits", reads_only) / sectors) / 100
                       : (double)NAN;
}

static void read_figures(const struct fth_json *row, double figures[FTH_POINT_FIGURES])
{
    const struct fth_json *l1 = fth_json_get(row, "l1"), *l2 = fth_json_get(row, "l2");
    figures[FTH_POINT_L1_READS] = sum_kinds(l1, "sectors", true);
    figures[FTH_POINT_L1_HIT] = hit_percent(l1, true);
    figures[FTH_POINT_L1_MERGED] = sum_kinds(l1, "merges", false);
    figures[FTH_POINT_L1_FAILS] = number_of(row, "l1_fails");
    figures[FTH_POINT_L1_STEPS] = number_of(row, "l1_steps");
    figures[FTH_POINT_L2_SECTORS] = sum_kinds(l2, "sectors", false);
    figures[FTH_POINT_L2_ALL_HIT] = hit_percent(l2, false);
    figures[FTH_POINT_L2_HIT] = hit_percent(l2, true);
    figures[FTH_POINT_L2_OFF_HIT] = hit_percent(fth_json_get(row, "l2_l1_off"), true);
    figures[FTH_POINT_L2_STEPS] = number_of(row, "l2_steps");
    figures[FTH_POINT_TIME] = number_of(row, "time_us");
    figures[FTH_POINT_L2_BYTES] = number_of(row, "l2_bytes");
    figures[FTH_POINT_DRAM_BYTES] = number_of(row, "dram_bytes");
    figures[FTH_POINT_FLOOR] = number_of(row, "time_floor_us");
}

static void add_reads(struct fth_point_reads *reads, const struct fth_json *counts)
{
    reads->sectors += sum_kinds(counts, "sectors", true);
    reads->hits += sum_kinds(counts, "hits", true);
}

static bool add_row(struct fth_point_rows *rows, struct fth_point_entry *point,
                    const struct fth_json *json)
{
    if (!fth_grow((void **)&rows->rows, rows->row_count, &rows->row_capacity, sizeof *rows->rows))
        return false;
    struct fth_point_row *row = &rows->rows[rows->row_count];
    row->point = rows->point_count;
    if (!copy_text(rows, fth_json_get(json, "kernel"), &row->kernel))
        return false;
    read_figures(json, row->figures);
    for (int i = 0; i < FTH_POINT_FIGURES; i++)
        point->totals[i] += row->figures[i];
    add_reads(&point->l1, fth_json_get(json, "l1"));
    add_reads(&point->l2, fth_json_get(json, "l2"));
    rows->row_count++;
    point->count++;
    return true;
}

static bool add_point(struct fth_point_rows *rows, const struct fth_json *json)
{
    if (!fth_grow((void **)&rows->points, rows->point_count, &rows->point_capacity,
                  sizeof *rows->points))
        return false;
    struct fth_point_entry *point = &rows->points[rows->point_count];
    const struct fth_json *values = fth_json_get(json, "values");
    const struct fth_json *timed = fth_json_get(json, "timed");
    *point = (struct fth_point_entry){.number = number_of(json, "point"), .first = rows->row_count};
    point->timed = !timed                              ? FTH_TIMED_UNKNOWN
                   : fth_json_is(timed, FTH_JSON_TRUE) ? FTH_TIMED_YES
                                                       : FTH_TIMED_NO;
    point->values = fth_arena_array(&rows->arena, rows->name_count + 1, sizeof *point->values);
    if (!point->values || !copy_text(rows, fth_json_get(json, "study"), &point->study) ||
        !copy_text(rows, fth_json_get(json, "gpu"), &point->gpu) ||
        !copy_text(rows, fth_json_get(json, "trace"), &point->trace))
        return false;
    for (size_t i = 0; i < rows->name_count; i++)
        if (!copy_text(rows, fth_json_get(values, rows->names[i]), &point->values[i]))
            return false;
    FTH_JSON_EACH_ITEM (row, fth_json_get(json, "rows"))
        if (!add_row(rows, point, row))
            return false;
    rows->point_count++;
    return true;
}

/* Collects the names of the varied parameters of all studies, in the order of their first
 * appearance. */
static bool find_names(struct fth_point_rows *rows, const struct fth_json *header)
{
    FTH_JSON_EACH_ITEM (study, fth_json_get(header, "studies")) {
        FTH_JSON_EACH_ITEM (axis, fth_json_get(study, "vary")) {
            FTH_JSON_EACH_ITEM (name, fth_json_get(axis, "names")) {
                bool known = !fth_json_is(name, FTH_JSON_TEXT);
                for (size_t i = 0; i < rows->name_count && !known; i++)
                    known = rows->names[i] && strcmp(rows->names[i], fth_json_string(name)) == 0;
                if (known || rows->name_count == FTH_POINTS_MAX_NAMES)
                    continue;
                if (!copy_text(rows, name, &rows->names[rows->name_count]))
                    return false;
                rows->name_count++;
            }
        }
    }
    return true;
}

enum fth_status fth_point_rows_read(struct fth_point_rows *rows, const char *text, size_t size,
                                    struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    *rows = (struct fth_point_rows){0};
    for (size_t at = 0; at < size && status == FTH_OK;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - text) - at : size - at;
        struct fth_json_document line = {0};
        status = fth_json_parse("points", text + at, length, &line, error);
        const struct fth_json *skipped = fth_json_get(line.root, "skipped");
        /* The first line is the header. */
        if (status == FTH_OK &&
            !(at == 0 ? find_names(rows, line.root) : skipped || add_point(rows, line.root)))
            status = fth_no_memory(error, operation, NULL);
        fth_json_fini(&line);
        at += length + 1;
    }
    return status;
}

void fth_point_rows_fini(struct fth_point_rows *rows)
{
    fth_arena_fini(&rows->arena);
    free(rows->rows);
    free(rows->points);
}

/* ---- skipped points ---- */

/* Appends "point 3 of atax.json, h200, l1.ways=3: plru needs …". */
static void put_reason(struct fth_buffer *out, const struct fth_json *point)
{
    const char *gpu = fth_json_string(fth_json_get(point, "gpu"));
    const char *trace = fth_json_string(fth_json_get(point, "trace"));
    const char *reason = fth_json_string(fth_json_get(point, "skipped"));
    fth_buffer_format(out, "point %.0f of %s%s%s", number_of(point, "point"), trace ? trace : "-",
                      gpu ? ", " : "", gpu ? gpu : "");
    FTH_JSON_EACH_MEMBER (value, fth_json_get(point, "values"))
        fth_buffer_format(out, ", %s=%s", value->key,
                          fth_json_string(value) ? fth_json_string(value) : "");
    fth_buffer_format(out, ": %s\n", reason ? reason : "");
}

enum fth_status fth_points_skipped(const char *points, size_t points_size, size_t max,
                                   size_t *count, char **reasons, struct fth_error *error)
{
    struct fth_buffer out = {0};
    enum fth_status status = FTH_OK;
    size_t size;
    *count = 0;
    if (reasons)
        *reasons = NULL;
    for (size_t at = 0; at < points_size && status == FTH_OK;) {
        const char *end = memchr(points + at, '\n', points_size - at);
        const size_t length = end ? (size_t)(end - points) - at : points_size - at;
        struct fth_json_document line = {0};
        status = fth_json_parse("points", points + at, length, &line, error);
        if (status == FTH_OK && fth_json_get(line.root, "skipped") && (*count)++ < max && reasons)
            put_reason(&out, line.root);
        fth_json_fini(&line);
        at += length + 1;
    }
    if (status == FTH_OK && reasons)
        status = fth_buffer_take(&out, reasons, &size, error);
    fth_buffer_fini(&out);
    return status;
}
