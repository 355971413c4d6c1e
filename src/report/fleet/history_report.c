/* Writes what the history of a fleet shows: GPUs, what changed, cards that were swapped or moved,
 * and the figures of one GPU over time.
 *
 * For each GPU, the newest measurement is compared with the earlier ones (history_change.c). GPUs
 * are read one after the other, so that a large history takes little memory. */
#include "fleet/history/history.h"
#include "report/fleet/judgement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "report the history of a fleet";

/* A change of a number is shown if it is this unlikely, adjusted for the number of figures, and at
 * least this large. They are the defaults of a judgement. */
static const double max_p = 0.001, min_effect = 0.02;
/* GPUs that the text lists without --all. Chosen. */
enum { MAX_LISTED = 40 };

/* A GPU of the list, with copies of its texts. */
struct listed {
    struct fth_fleet_history_gpu gpu;
    struct fth_fleet *fleet;            /* its measurements; NULL: not read */
    struct fth_history_change *changes; /* in the arena of the fleet */
    size_t change_count;
    const char *note; /* what else changed */
    bool shown;       /* it is selected */
};
struct report {
    struct fth_fleet_history *history;
    struct fth_fleet_history_options selected;
    const struct fth_report_options *options;
    struct fth_arena arena;
    struct listed *items;
    size_t count, capacity;
    bool failed; /* no memory */
    size_t measurements;
    int64_t first, last;
    struct fth_fleet *all; /* the measurements without values, for the events */
    struct fth_card_events events;
    struct fth_history_noise noise;
    struct fth_buffer *out;
};

/* ---- collecting ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static void list_gpu(void *user, const struct fth_fleet_history_gpu *gpu)
{
    struct report *report = user;
    if (!fth_grow((void **)&report->items, report->count, &report->capacity,
                  sizeof *report->items)) {
        report->failed = true;
        return;
    }
    struct listed *item = &report->items[report->count++];
    *item = (struct listed){.gpu = *gpu};
    const char **const texts[] = {&item->gpu.name, &item->gpu.uuid,  &item->gpu.host,
                                  &item->gpu.slot, &item->gpu.model, &item->gpu.driver};
    for (size_t i = 0; i < FTH_COUNT(texts); i++)
        if (*texts[i] && !(*texts[i] = fth_arena_text(&report->arena, *texts[i])))
            report->failed = true;
}

/* Reads the measurements of a GPU and compares the newest with the earlier ones. */
static enum fth_status read_item(struct report *report, struct listed *item,
                                 struct fth_error *error)
{
    const struct fth_fleet_history_options options =
        FTH_FLEET_HISTORY_OPTIONS(.gpu = item->gpu.name,
                                  .newest =
                                      report->selected.gpu ? 0 : FTH_HISTORY_MAX_MEASUREMENTS);
    FTH_TRY(fth_fleet_create(&item->fleet, error));
    FTH_TRY(fth_history_load(report->history, &options, true, item->fleet, error));
    FTH_TRY(fth_fleet_arrange(item->fleet, NULL, error));
    const size_t count = item->fleet->measurement_count;
    if (count < 2)
        return FTH_OK;
    const struct fth_history_span before = {item->fleet, item->fleet->by_gpu, count - 1};
    const struct fth_history_span now = {item->fleet, item->fleet->by_gpu + count - 1, 1};
    FTH_TRY(fth_history_compare(&before, &now, &report->noise, &item->fleet->arena, &item->changes,
                                &item->change_count, error));
    return fth_history_context(&before, &now, &item->fleet->arena, &item->note, error);
}

/* Returns whether a change is shown. */
static bool is_shown(const struct listed *item, const struct fth_history_change *change)
{
    const bool exact = item->fleet->figures[change->figure].kind > FTH_FLEET_TIME;
    return change->p <= max_p && (exact || fabs(change->effect) >= min_effect);
}

/* Keeps of a GPU only what is shown. */
static void reduce_item(const struct report *report, struct listed *item)
{
    size_t count = 0;
    for (size_t i = 0; i < item->change_count; i++)
        if (is_shown(item, &item->changes[i]))
            item->changes[count++] = item->changes[i];
    item->change_count = count;
    if (count == 0 && !report->selected.gpu) {
        fth_fleet_destroy(item->fleet);
        item->fleet = NULL;
    }
}

static const char *name_of(void *user, size_t index)
{
    return ((const struct report *)user)->items[index].gpu.name;
}

static enum fth_status find_events(struct report *report, struct fth_error *error)
{
    const struct fth_fleet_history_options options =
        FTH_FLEET_HISTORY_OPTIONS(.newest = FTH_HISTORY_MAX_MEASUREMENTS);
    FTH_TRY(fth_fleet_create(&report->all, error));
    FTH_TRY(fth_history_load(report->history, &options, false, report->all, error));
    FTH_TRY(fth_fleet_arrange(report->all, NULL, error));
    return fth_card_events_find(report->all, &report->events, error);
}

static enum fth_status collect(struct report *report, struct fth_error *error)
{
    FTH_TRY(fth_fleet_history_list(report->history, list_gpu, report, error));
    if (report->failed)
        return fth_no_memory(error, operation, NULL);
    FTH_TRY(fth_history_estimate_noise(report->history, report->count, name_of, report,
                                       &report->noise, error));
    FTH_TRY(find_events(report, error));
    for (size_t i = 0; i < report->count && !report->failed; i++) {
        struct listed *item = &report->items[i];
        const struct fth_fleet_history_gpu *gpu = &item->gpu;
        item->shown = (!report->selected.gpu || same_text(report->selected.gpu, gpu->name)) &&
                      (!report->selected.host || same_text(report->selected.host, gpu->host));
        if (!item->shown)
            continue;
        if (report->measurements == 0 || gpu->first_time < report->first)
            report->first = gpu->first_time;
        report->last = gpu->last_time > report->last ? gpu->last_time : report->last;
        report->measurements += gpu->measurements;
        FTH_TRY(read_item(report, item, error));
        reduce_item(report, item);
    }
    if (report->failed)
        return fth_no_memory(error, operation, NULL);
    if (report->measurements == 0)
        return fth_fail(error, FTH_NOT_FOUND, operation, fth_fleet_history_path(report->history),
                        "it has no measurements of this GPU or host");
    return FTH_OK;
}

/* Returns whether an event is about what is selected. */
static bool concerns(const struct report *report, const struct fth_card_event *event)
{
    const char *gpu = report->selected.gpu, *host = report->selected.host;
    const char *name = report->all->gpus[event->gpu].name;
    return (!gpu || same_text(gpu, name) || same_text(gpu, event->other)) &&
           (!host || same_text(host, event->host) || same_text(host, event->old_host));
}

/* ---- text ---- */

/* Appends values over time as a line of small bars, or of digits without UTF-8. */
static void put_bars(const double *values, size_t count, bool utf8, struct fth_buffer *out)
{
    enum { WIDTH = 20, LEVELS = 8 }; /* columns: the newest values. Chosen. */
    static const char *const bars[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double low = INFINITY, high = -INFINITY;
    const size_t first = count > WIDTH ? count - WIDTH : 0;
    for (size_t i = first; i < count; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    /* Differences below 1 % are noise in many figures, and are not stretched to the full height. */
    const double range = fmax(high - low, 0.01 * fabs(high));
    for (size_t i = first; i < count; i++) {
        const double part = range > 0 ? (values[i] - low) / range : 0;
        const size_t level = (size_t)fmin(LEVELS - 1, floor(part * LEVELS));
        if (utf8)
            fth_buffer_text(out, bars[level]);
        else
            fth_buffer_format(out, "%zu", level);
    }
}

/* Collects the numbers of a figure over time. Returns their number. */
static size_t collect_values(const struct fth_fleet *fleet, uint32_t figure, double *values)
{
    size_t count = 0;
    for (size_t i = 0; i < fleet->measurement_count; i++) {
        const struct fth_fleet_value *value =
            fth_fleet_find(&fleet->measurements[fleet->by_gpu[i]], figure);
        if (value && !value->text)
            values[count++] = value->number;
    }
    return count;
}

/* Fills a row of the table of figures. Returns false if the figure is constant, unless all are
 * listed, or no number. */
static bool fill_row(struct report *report, const struct listed *item, uint32_t figure,
                     double *values, struct fth_cell row[5])
{
    const struct fth_fleet_figure *about = &item->fleet->figures[figure];
    const size_t count = collect_values(item->fleet, figure, values);
    struct fth_buffer first = {0}, last = {0}, change = {0}, bars = {0};
    bool varies = false;
    for (size_t i = 1; i < count; i++)
        varies = varies || values[i] != values[0];
    if (count < 2 || (!varies && !report->options->all))
        return false;
    fth_figure_text(about->name, values[0], &first);
    fth_figure_text(about->name, values[count - 1], &last);
    fth_buffer_format(&change, "%+.1f %%", 100 * (values[count - 1] / values[0] - 1));
    put_bars(values, count, report->options->utf8, &bars);
    struct fth_buffer *const texts[] = {&first, &last, &change, &bars};
    row[0].text = about->name;
    for (size_t i = 0; i < FTH_COUNT(texts); i++) {
        row[i + 1].text = texts[i]->failed ? NULL : fth_arena_text(&report->arena, texts[i]->data);
        report->failed = report->failed || !row[i + 1].text;
        fth_buffer_fini(texts[i]);
    }
    if (values[0] == 0 || about->kind > FTH_FLEET_TIME)
        row[3].text = NULL;
    return true;
}

/* Fills a row of the table of the figures of a single measurement: name and value. */
static void fill_value(struct report *report, const struct fth_fleet *fleet,
                       const struct fth_fleet_value *value, struct fth_cell row[2])
{
    const char *name = fleet->figures[value->figure].name;
    struct fth_buffer text = {0};
    if (value->text)
        fth_text_append(&text, value->text, 40, "...");
    else
        fth_figure_text(name, value->number, &text);
    row[0].text = name;
    row[1].text = text.failed ? NULL : fth_arena_text(&report->arena, text.data ? text.data : "");
    report->failed = report->failed || !row[1].text;
    fth_buffer_fini(&text);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct fth_cell *)a)->text, ((const struct fth_cell *)b)->text);
}

/* Appends a table of the figures of the only measurement of a GPU. */
static enum fth_status put_single(struct report *report, const struct listed *item,
                                  struct fth_error *error)
{
    static const struct fth_column columns[] = {{"figure", "Figure", FTH_COLUMN_TEXT},
                                                {"value", "Value", FTH_COLUMN_REMARK}};
    const struct fth_fleet_measurement *only = &item->fleet->measurements[0];
    struct fth_cell *cells = calloc(only->value_count + 1, 2 * sizeof *cells);
    size_t size = 0;
    char *text = NULL;
    for (size_t i = 0; cells && i < only->value_count; i++)
        fill_value(report, item->fleet, &only->values[i], cells + 2 * i);
    enum fth_status status =
        cells && !report->failed ? FTH_OK : fth_no_memory(error, operation, NULL);
    if (status == FTH_OK && only->value_count > 0) {
        qsort(cells, only->value_count, 2 * sizeof *cells, by_name);
        status = fth_report_table("text", &(struct fth_table){columns, 2, cells, only->value_count},
                                  report->options, &text, &size, error);
    }
    if (text)
        fth_buffer_append(report->out, text, size);
    fth_free(text);
    free(cells);
    return status;
}

/* Appends a table of the figures of a GPU over time. */
static enum fth_status put_figures(struct report *report, const struct listed *item,
                                   struct fth_error *error)
{
    static const struct fth_column columns[] = {{"figure", "Figure", FTH_COLUMN_TEXT},
                                                {"first", "First", FTH_COLUMN_REMARK},
                                                {"last", "Last", FTH_COLUMN_REMARK},
                                                {"change", "Change", FTH_COLUMN_REMARK},
                                                {"over_time", "Over time", FTH_COLUMN_TEXT}};
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    const struct fth_fleet *fleet = item->fleet;
    if (fleet->measurement_count == 1)
        return put_single(report, item, error);
    struct fth_cell *cells = calloc(fleet->figure_count + 1, COLUMNS * sizeof *cells);
    double *values = calloc(fleet->measurement_count + 1, sizeof *values);
    size_t rows = 0, size = 0;
    char *text = NULL;
    enum fth_status status = FTH_OK;
    for (size_t i = 0; cells && values && i < fleet->figure_count; i++)
        rows += fill_row(report, item, (uint32_t)i, values, cells + COLUMNS * rows);
    if (!cells || !values || report->failed)
        status = fth_no_memory(error, operation, NULL);
    if (status == FTH_OK && rows > 1)
        qsort(cells, rows, COLUMNS * sizeof *cells, by_name);
    if (status == FTH_OK && rows > 0)
        status = fth_report_table("text", &(struct fth_table){columns, COLUMNS, cells, rows},
                                  report->options, &text, &size, error);
    if (text)
        fth_buffer_append(report->out, text, size);
    fth_free(text);
    free(cells);
    free(values);
    return status;
}

/* Appends the value of a change, before or now. */
static void put_value(const char *figure, const char *text, double number, struct fth_buffer *out)
{
    if (text)
        fth_text_append(out, text, 40, "...");
    else
        fth_figure_text(figure, number, out);
}

/* Appends the changes of a GPU as sentences. */
static void put_changes(const struct listed *item, struct fth_buffer *text)
{
    const struct fth_fleet_history_gpu *gpu = &item->gpu;
    for (size_t i = 0; i < item->change_count; i++) {
        const struct fth_history_change *change = &item->changes[i];
        const char *figure = item->fleet->figures[change->figure].name;
        if (i == 0)
            fth_buffer_format(text, "%s%s%s:\n", gpu->host ? gpu->host : "", gpu->host ? " " : "",
                              gpu->name);
        fth_buffer_format(text, "  %s: ", figure);
        put_value(figure, change->before_text, change->before, text);
        fth_buffer_text(text, " -> ");
        put_value(figure, change->now_text, change->now, text);
        if (!isnan(change->effect))
            fth_buffer_format(text, " (%+.1f %%)", 100 * change->effect);
        fth_buffer_text(text, "\n");
    }
    if (item->change_count && item->note)
        fth_buffer_format(text, "  %s\n", item->note);
}

/* Appends the list of the GPUs. */
static enum fth_status put_gpus(struct report *report, struct fth_error *error)
{
    static const struct fth_column columns[] = {
        {"host", "Host", FTH_COLUMN_TEXT},      {"slot", "Slot", FTH_COLUMN_TEXT},
        {"gpu", "GPU", FTH_COLUMN_TEXT},        {"measurements", "Runs", FTH_COLUMN_NUMBER},
        {"last_time", "Last", FTH_COLUMN_TEXT}, {"changes", "Changes", FTH_COLUMN_NUMBER},
        {"driver", "Driver", FTH_COLUMN_TEXT},  {"model", "Model", FTH_COLUMN_TEXT}};
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    static const char *const drop[] = {"model", "driver", "slot", NULL};
    struct fth_cell *cells = calloc(report->count + 1, COLUMNS * sizeof *cells);
    struct fth_report_options options = *report->options;
    size_t rows = 0, size = 0;
    char *text = NULL;
    if (!cells)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < report->count; i++) {
        const struct listed *item = &report->items[i];
        struct fth_cell *row = cells + COLUMNS * rows;
        char date[24];
        if (!item->shown || (rows == MAX_LISTED && !report->options->all))
            continue;
        fth_time_write(item->gpu.last_time, date);
        date[strcspn(date, "T")] = '\0';
        row[0].text = item->gpu.host;
        row[1].text = item->gpu.slot;
        row[2].text = item->gpu.name;
        row[3].number = (double)item->gpu.measurements;
        row[4].text = item->gpu.last_time ? fth_arena_text(&report->arena, date) : NULL;
        row[5].number = (double)item->change_count;
        row[6].text = item->gpu.driver;
        row[7].text = item->gpu.model;
        rows++;
    }
    options.drop = drop;
    enum fth_status status = fth_report_table(
        "text", &(struct fth_table){columns, COLUMNS, cells, rows}, &options, &text, &size, error);
    if (status == FTH_OK)
        fth_buffer_append(report->out, text, size);
    fth_free(text);
    free(cells);
    return status;
}

/* Appends the title: what the history has. */
static void put_title(const struct report *report, struct fth_buffer *text)
{
    char first[24], last[24];
    size_t gpus = 0;
    for (size_t i = 0; i < report->count; i++)
        gpus += report->items[i].shown;
    fth_time_write(report->first, first);
    fth_time_write(report->last, last);
    first[strcspn(first, "T")] = last[strcspn(last, "T")] = '\0';
    fth_buffer_format(text, "%zu GPU%s, %zu measurement%s", gpus, gpus == 1 ? "" : "s",
                      report->measurements, report->measurements == 1 ? "" : "s");
    if (report->last && strcmp(first, last) != 0)
        fth_buffer_format(text, " from %s to %s", report->first ? first : "an unknown time", last);
    else if (report->last)
        fth_buffer_format(text, " on %s", last);
    fth_buffer_text(text, ".\n");
}

static enum fth_status put_text(struct report *report, struct fth_error *error)
{
    struct fth_buffer text = {0};
    size_t listed = 0, changed = 0, repeated = 0;
    put_title(report, &text);
    for (size_t i = 0; i < report->events.count; i++)
        if (concerns(report, &report->events.items[i]))
            fth_buffer_format(&text, "%s.\n", report->events.items[i].sentence);
    for (size_t i = 0; i < report->count; i++) {
        changed += report->items[i].change_count > 0;
        listed += report->items[i].shown;
        repeated += report->items[i].shown && report->items[i].gpu.measurements > 1;
        put_changes(&report->items[i], &text);
    }
    if (changed == 0)
        fth_buffer_text(&text, repeated ? "No figure changed by more than its noise.\n"
                                        : "There is no earlier measurement to compare with.\n");
    if (listed > MAX_LISTED && !report->options->all)
        fth_buffer_format(&text, "The table has the first %d of %zu GPUs; --all shows all.\n",
                          MAX_LISTED, listed);
    fth_write_prose(&text, report->options, report->out);
    fth_buffer_text(report->out, "\n");
    for (size_t i = 0; i < report->count && report->selected.gpu; i++)
        if (report->items[i].shown)
            FTH_TRY(put_figures(report, &report->items[i], error));
    return report->selected.gpu ? FTH_OK : put_gpus(report, error);
}

/* ---- JSON ---- */

static void put_member(struct fth_json_writer *json, const char *key, const char *text)
{
    fth_json_key(json, key);
    fth_json_text_or_null(json, text);
}

static void put_number(struct fth_json_writer *json, const char *key, double number)
{
    fth_json_key(json, key);
    fth_json_number(json, number);
}

static void put_time(struct fth_json_writer *json, const char *key, int64_t time)
{
    char text[24];
    fth_time_write(time, text);
    put_member(json, key, time ? text : NULL);
}

static void json_change(struct fth_json_writer *json, const struct listed *item,
                        const struct fth_history_change *change)
{
    fth_json_begin(json, '{', true);
    put_member(json, "figure", item->fleet->figures[change->figure].name);
    if (change->before_text || change->now_text) {
        put_member(json, "before_text", change->before_text);
        put_member(json, "now_text", change->now_text);
    } else {
        put_number(json, "before", change->before);
        put_number(json, "now", change->now);
    }
    put_number(json, "effect", change->effect);
    put_number(json, "distance", change->distance);
    put_number(json, "p", change->p);
    fth_json_key(json, "worse");
    fth_json_bool(json, change->worse);
    put_number(json, "earlier_measurements", (double)change->before_count);
    fth_json_end(json, '}');
}

/* Writes the measurements of a GPU: the time, and all numbers and texts. */
static void json_measurements(struct fth_json_writer *json, const struct fth_fleet *fleet)
{
    fth_json_key(json, "series");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; i < fleet->measurement_count; i++) {
        const struct fth_fleet_measurement *measurement = &fleet->measurements[fleet->by_gpu[i]];
        fth_json_begin(json, '{', true);
        put_time(json, "time", measurement->time);
        put_member(json, "host", measurement->host);
        put_member(json, "slot", measurement->slot);
        put_member(json, "driver", measurement->driver);
        put_member(json, "board", measurement->board);
        fth_json_key(json, "figures");
        fth_json_begin(json, '{', true);
        for (size_t j = 0; j < measurement->value_count; j++) {
            const struct fth_fleet_value *value = &measurement->values[j];
            fth_json_key(json, fleet->figures[value->figure].name);
            if (value->text)
                fth_json_text_or_null(json, value->text);
            else
                fth_json_number(json, value->number);
        }
        fth_json_end(json, '}');
        fth_json_end(json, '}');
    }
    fth_json_end(json, ']');
}

static void json_gpu(struct fth_json_writer *json, const struct report *report,
                     const struct listed *item)
{
    const struct fth_fleet_history_gpu *gpu = &item->gpu;
    fth_json_begin(json, '{', false);
    put_member(json, "gpu", gpu->name);
    put_member(json, "uuid", gpu->uuid);
    put_member(json, "host", gpu->host);
    put_member(json, "slot", gpu->slot);
    put_member(json, "model", gpu->model);
    put_member(json, "driver", gpu->driver);
    put_number(json, "measurements", (double)gpu->measurements);
    put_time(json, "first_time", gpu->first_time);
    put_time(json, "last_time", gpu->last_time);
    put_member(json, "note", item->change_count ? item->note : NULL);
    fth_json_key(json, "changes");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; i < item->change_count; i++)
        json_change(json, item, &item->changes[i]);
    fth_json_end(json, ']');
    if (report->selected.gpu && item->fleet)
        json_measurements(json, item->fleet);
    fth_json_end(json, '}');
}

static void json_event(struct fth_json_writer *json, const struct report *report,
                       const struct fth_card_event *event)
{
    fth_json_begin(json, '{', true);
    put_member(json, "kind", fth_card_event_name(event->kind));
    put_member(json, "gpu", report->all->gpus[event->gpu].name);
    put_time(json, "time", event->time);
    put_member(json, "host", event->host);
    put_member(json, "slot", event->slot);
    put_member(json, "old_host", event->old_host);
    put_member(json, "old_slot", event->old_slot);
    put_member(json, "other", event->other);
    put_number(json, "distance", event->distance);
    put_member(json, "sentence", event->sentence);
    fth_json_end(json, '}');
}

static enum fth_status put_json(struct report *report, struct fth_error *error)
{
    struct fth_json_writer json = {.out = report->out};
    (void)error;
    fth_json_begin(&json, '{', false);
    put_member(&json, "schema", "fathom-fleet-history/1");
    fth_json_key(&json, "gpus");
    fth_json_begin(&json, '[', false);
    for (size_t i = 0; i < report->count; i++)
        if (report->items[i].shown)
            json_gpu(&json, report, &report->items[i]);
    fth_json_end(&json, ']');
    fth_json_key(&json, "events");
    fth_json_begin(&json, '[', false);
    for (size_t i = 0; i < report->events.count; i++)
        if (concerns(report, &report->events.items[i]))
            json_event(&json, report, &report->events.items[i]);
    fth_json_end(&json, ']');
    fth_json_end(&json, '}');
    return FTH_OK;
}

/* ---- CSV ---- */

static void csv_measurement(const struct fth_fleet *fleet, const char *name,
                            const struct fth_fleet_measurement *measurement, struct fth_buffer *out)
{
    char time[24] = "", number[40];
    if (measurement->time)
        fth_time_write(measurement->time, time);
    for (size_t i = 0; i < measurement->value_count; i++) {
        const struct fth_fleet_value *value = &measurement->values[i];
        fth_csv_cell(out, name, false);
        fth_csv_cell(out, measurement->host, false);
        fth_csv_cell(out, measurement->slot, false);
        fth_csv_cell(out, time, false);
        fth_csv_cell(out, measurement->driver, false);
        fth_csv_cell(out, fleet->figures[value->figure].name, false);
        fth_csv_cell(out,
                     value->text ? value->text
                                 : fth_number_format(value->number, number, sizeof number),
                     true);
    }
}

/* Writes all measurements of the GPUs, which are read again one after the other. */
static enum fth_status put_csv(struct report *report, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    fth_buffer_text(report->out, "gpu,host,slot,time,driver,figure,value\n");
    for (size_t i = 0; i < report->count && status == FTH_OK; i++) {
        const char *name = report->items[i].gpu.name;
        struct fth_fleet *fleet = NULL;
        const struct fth_fleet_history_options options = FTH_FLEET_HISTORY_OPTIONS(.gpu = name);
        if (!report->items[i].shown)
            continue;
        status = fth_fleet_create(&fleet, error);
        if (status == FTH_OK)
            status = fth_history_load(report->history, &options, true, fleet, error);
        if (status == FTH_OK)
            status = fth_fleet_arrange(fleet, NULL, error);
        for (size_t j = 0; status == FTH_OK && j < fleet->measurement_count; j++)
            csv_measurement(fleet, name, &fleet->measurements[fleet->by_gpu[j]], report->out);
        fth_fleet_destroy(fleet);
    }
    return status;
}

/* ---- all ---- */

static void release(struct report *report)
{
    for (size_t i = 0; i < report->count; i++)
        fth_fleet_destroy(report->items[i].fleet);
    free(report->items);
    fth_fleet_destroy(report->all);
    fth_card_events_fini(&report->events);
    fth_history_noise_fini(&report->noise);
    fth_arena_fini(&report->arena);
}

enum fth_status fth_report_fleet_history(const char *format, struct fth_fleet_history *history,
                                         const struct fth_fleet_history_options *selected,
                                         const struct fth_report_options *options, char **text,
                                         size_t *size, struct fth_error *error)
{
    static const char *const names[] = {"text", "json", "csv"};
    static enum fth_status (*const writers[])(struct report *,
                                              struct fth_error *) = {put_text, put_json, put_csv};
    struct fth_report_options known;
    struct fth_buffer out = {0};
    struct report report = {.history = history, .options = &known, .out = &out};
    size_t index = 0;
    FTH_TRY(fth_options_read("fth_report_options", options, &known, sizeof known, error));
    known.size = sizeof known;
    FTH_TRY(fth_options_read("fth_fleet_history_options", selected, &report.selected,
                             sizeof report.selected, error));
    while (index < FTH_COUNT(names) && strcmp(names[index], format) != 0)
        index++;
    if (index == FTH_COUNT(names))
        return fth_format_unknown(format, names, FTH_COUNT(names), error);
    enum fth_status status = collect(&report, error);
    if (status == FTH_OK)
        status = writers[index](&report, error);
    release(&report);
    if (status == FTH_OK)
        status = fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    return status;
}
