/* Writes the main figures of a GPU description as a table. */
#include "report/description/gpu_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum column { ELEMENT, SCOPE, SIZE, LINE, SECTOR, LATENCY, PER_SM, SHARED, CONFIDENCE, COLUMNS };

static const struct {
    const char *head;
    size_t width;
    bool right;
} columns[COLUMNS] = {
    [ELEMENT] = {"Element", 16, false}, [SCOPE] = {"Scope", 5, false},
    [SIZE] = {"Size", 9, true},         [LINE] = {"Line", 7, true},
    [SECTOR] = {"Sect.", 5, true},      [LATENCY] = {"Latency", 7, true},
    [PER_SM] = {"", 6, true},           [SHARED] = {"Shared with", 11, false},
    [CONFIDENCE] = {"Conf.", 6, false},
};

enum { CELL_BYTES = 64 }; /* of the text of a cell, with the terminating NUL */

struct table_row {
    char cells[COLUMNS][CELL_BYTES];
};

static void put_row(const struct fth_gpu_view *view, const struct table_row *row)
{
    struct fth_buffer line = {0};
    for (int c = 0; c < COLUMNS; c++) {
        struct fth_buffer cell = {0};
        size_t used = fth_text_append(&cell, row->cells[c], columns[c].width,
                                      fth_view_symbol(view, "…", "~"));
        size_t space = columns[c].width - used;
        if (columns[c].right)
            fth_buffer_repeat(&line, " ", space);
        fth_buffer_text(&line, cell.data ? cell.data : "");
        if (!columns[c].right && c + 1 < COLUMNS)
            fth_buffer_repeat(&line, " ", space);
        fth_buffer_text(&line, c + 1 < COLUMNS ? " " : "");
        line.failed = line.failed || cell.failed;
        fth_buffer_fini(&cell);
    }
    while (line.size && line.data[line.size - 1] == ' ')
        line.size--;
    fth_buffer_append(view->out, line.data, line.size);
    fth_buffer_text(view->out, "\n");
    view->out->failed = view->out->failed || line.failed;
    fth_buffer_fini(&line);
}

/* Returns the text of a cell without a value: "?" if the document lists the attribute as unknown,
 * otherwise a dash. */
static const char *missing(const struct fth_gpu_view *view, const char *element, const char *name)
{
    return fth_gpu_unknown(view->gpu, element, name) ? "?" : fth_view_symbol(view, "–", "-");
}

static void bytes_cell(const struct fth_gpu_view *view, char cell[CELL_BYTES], const char *element,
                       const char *name)
{
    double bytes = fth_view_number(view, element, name);
    if (isnan(bytes))
        snprintf(cell, CELL_BYTES, "%s", missing(view, element, name));
    else
        fth_size_format(bytes, cell, CELL_BYTES);
}

/* Writes the latency; for TLBs the penalty of a miss, for instruction caches the cycles per
 * instruction. */
static void latency_cell(const struct fth_gpu_view *view, char cell[CELL_BYTES],
                         const char *element)
{
    unsigned classes = fth_view_classes(element);
    char text[40];
    const char *name = classes & FTH_CLASS_TLB      ? "miss_penalty_cycles"
                       : classes & FTH_CLASS_ICACHE ? "cycles_per_instruction"
                                                    : "latency_cycles";
    double cycles = fth_view_number(view, element, name),
           ns = fth_view_number(view, element, "latency_ns");
    if (isnan(cycles) && !isnan(ns))
        snprintf(cell, CELL_BYTES, "%s ns",
                 fth_view_time(ns < 100 ? ns : rint(ns), text, sizeof text)); /* fits the column */
    else if (isnan(cycles))
        snprintf(cell, CELL_BYTES, "%s",
                 missing(view, element,
                         fth_gpu_unknown(view->gpu, element, "latency_ns") ? "latency_ns" : name));
    else
        snprintf(cell, CELL_BYTES, "%s%s%s", classes & FTH_CLASS_TLB ? "+" : "",
                 fth_view_time(cycles, text, sizeof text), classes & FTH_CLASS_ICACHE ? "/i" : "");
}

static void shared_cell(const struct fth_gpu_view *view, char cell[CELL_BYTES], const char *element)
{
    const struct fth_attribute *shared = fth_gpu_attribute(view->gpu, element, "shared_with");
    cell[0] = '\0';
    for (size_t i = 0; shared && i < shared->count; i++) {
        size_t used = strlen(cell);
        snprintf(cell + used, CELL_BYTES - used, "%s%s", i ? ", " : "",
                 fth_view_title(shared->texts[i], true));
    }
    if (!cell[0])
        snprintf(cell, CELL_BYTES, "%s", missing(view, element, "shared_with"));
}

/* Returns whether the attribute is one of the main figures, whose confidence and source the table
 * shows. All of them have a column, except "entries", which determines the reach of a TLB, and
 * "caches", which the drawing shows. */
static bool is_main_figure(const struct fth_attribute *attribute)
{
    static const char *const names[] = {"size_bytes",   "line_bytes",
                                        "sector_bytes", "latency_cycles",
                                        "latency_ns",   "far_latency_cycles",
                                        "per_sm",       "shared_with",
                                        "reach_bytes",  "page_bytes",
                                        "entries",      "miss_penalty_cycles",
                                        "caches",       "cycles_per_instruction"};
    for (size_t i = 0; i < FTH_COUNT(names); i++)
        if (strcmp(attribute->name, names[i]) == 0)
            return true;
    return false;
}

enum fth_source fth_view_source(const struct fth_gpu_view *view, const char *element,
                                bool main_only, bool *mixed)
{
    enum fth_source source = FTH_SOURCE_NONE;
    const struct fth_attribute *a;
    *mixed = false;
    for (size_t i = 0; (a = fth_gpu_attribute_at(view->gpu, element, i)); i++) {
        if (a->source == FTH_SOURCE_NONE || (main_only && !is_main_figure(a)))
            continue;
        *mixed = *mixed || (source != FTH_SOURCE_NONE && source != a->source);
        source = a->source;
    }
    return source;
}

/* Writes the lowest confidence of the main figures. If none has a confidence, writes their source.
 */
static void confidence_cell(const struct fth_gpu_view *view, char cell[CELL_BYTES],
                            const char *element)
{
    double min_confidence = NAN;
    const struct fth_attribute *a;
    for (size_t i = 0; (a = fth_gpu_attribute_at(view->gpu, element, i)); i++)
        if (is_main_figure(a))
            min_confidence = fmin(min_confidence, a->confidence);
    static const char *const briefs[] = {
        [FTH_SOURCE_NONE] = NULL,         [FTH_SOURCE_MEASURED] = "meas.",
        [FTH_SOURCE_DRIVER] = "driver",   [FTH_SOURCE_DERIVED] = "deriv.",
        [FTH_SOURCE_PUBLISHED] = "publ.", [FTH_SOURCE_SIMULATED] = "sim.",
    };
    bool mixed;
    const char *source = briefs[fth_view_source(view, element, true, &mixed)];
    if (!isnan(min_confidence))
        fth_format(cell, CELL_BYTES, "%.3f", min_confidence);
    else
        snprintf(cell, CELL_BYTES, "%s",
                 mixed    ? "mixed"
                 : source ? source
                          : fth_view_symbol(view, "–", "-"));
}

/* Writes a second row for an element that consists of partitions, such as the L2: the latency of
 * accesses to a partition that is far from the SM. Without such a latency, writes nothing. */
static void far_row(const struct fth_gpu_view *view, const char *element)
{
    double cycles = fth_view_number(view, element, "far_latency_cycles");
    if (isnan(cycles))
        return;
    struct table_row row = {{""}};
    snprintf(row.cells[ELEMENT], CELL_BYTES, "  far");
    fth_view_time(cycles, row.cells[LATENCY], CELL_BYTES);
    put_row(view, &row);
}

static void scope_cell(const struct fth_gpu_view *view, char cell[CELL_BYTES], const char *element)
{
    const char *scope = fth_view_scope(view, element);
    snprintf(cell, CELL_BYTES, "%s",
             !scope                        ? missing(view, element, "scope")
             : strcmp(scope, "sm") == 0    ? view->unit.brief
             : strcmp(scope, "gpc") == 0   ? "GPC"
             : strcmp(scope, "group") == 0 ? "group"
                                           : view->unit.device);
}

/* Writes the instances per SM; "1/38" if 38 SMs share one. */
static void per_sm_cell(const struct fth_gpu_view *view, char cell[CELL_BYTES], const char *element)
{
    const double per_sm = fth_view_number(view, element, "per_sm");
    const double each = fth_view_number(view, element, "sms_per_instance");
    if (!isnan(per_sm))
        snprintf(cell, CELL_BYTES, "%.0f", per_sm);
    else if (each > 1)
        snprintf(cell, CELL_BYTES, "1/%.0f", each);
    else
        snprintf(cell, CELL_BYTES, "%s", missing(view, element, "per_sm"));
}

static void element_row(const struct fth_gpu_view *view, const char *element)
{
    struct table_row row = {{""}};
    bool tlb = fth_view_classes(element) & FTH_CLASS_TLB;
    snprintf(row.cells[ELEMENT], CELL_BYTES, "%s", fth_view_title(element, false));
    scope_cell(view, row.cells[SCOPE], element);
    bytes_cell(view, row.cells[SIZE], element, tlb ? "reach_bytes" : "size_bytes");
    bytes_cell(view, row.cells[LINE], element, tlb ? "page_bytes" : "line_bytes");
    bytes_cell(view, row.cells[SECTOR], element, "sector_bytes");
    latency_cell(view, row.cells[LATENCY], element);
    per_sm_cell(view, row.cells[PER_SM], element);
    shared_cell(view, row.cells[SHARED], element);
    confidence_cell(view, row.cells[CONFIDENCE], element);
    put_row(view, &row);
    far_row(view, element);
}

void fth_view_table(const struct fth_gpu_view *view)
{
    struct table_row head;
    for (int c = 0; c < COLUMNS; c++)
        snprintf(head.cells[c], CELL_BYTES, "%s", columns[c].head);
    snprintf(head.cells[PER_SM], CELL_BYTES, strlen(view->unit.brief) > 2 ? "/%s" : "per %s",
             view->unit.brief);
    if (view->options->colour)
        fth_buffer_text(view->out, "\033[1m");
    put_row(view, &head);
    if (view->options->colour)
        fth_buffer_text(view->out, "\033[0m");
    bool mixed = false, several = false;
    for (size_t i = 0; i < view->count; i++) {
        element_row(view, view->elements[i]);
        several = several || fth_view_number(view, view->elements[i], "sms_per_instance") > 1;
    }
    for (size_t i = 0; i < view->count && !mixed; i++)
        fth_view_source(view, view->elements[i], true, &mixed);
    fth_buffer_format(
        view->out,
        "Sect.: sector size. Latency in cycles; N/i: cycles per instruction; +N: cycles\n"
        "that a TLB miss adds. For TLBs, Size is the reach and Line the page size.\n"
        "Conf.: confidence, or the source of figures without one: measured, driver,\n"
        "derived, published%s.\n",
        mixed ? ", or mixed (see Sources)" : "");
    if (several)
        fth_buffer_format(view->out, "1/N: N %s share one.\n", view->unit.plural);
}
