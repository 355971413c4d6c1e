/* Writes the description of a GPU for the terminal, in five parts:
 *   a drawing of the elements: those of an SM in a box for the SM, those that serve several SMs
 *   below it;
 *   a table with size, line, latency and other main figures of each element;
 *   Structure: further figures of each element in words;
 *   Sources: the source of each figure, for elements whose figures have different sources;
 *   Not known: unknown attributes, with the reason.
 * The output is 80 to 100 columns wide, in UTF-8 or ASCII. Elements appear in the order of the
 * schema, independently of their order in the document. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct view {
    const struct fth_gpu *gpu;
    const struct fth_report_options *options;
    struct fth_buffer *out;
    size_t width;
    const char **elements; /* names, in the order in which they are shown */
    size_t count;
};

static const char *utf8_or_ascii(const struct view *view, const char *utf8, const char *ascii)
{
    return view->options->utf8 ? utf8 : ascii;
}

static double number(const struct view *view, const char *section, const char *name)
{
    return fth_gpu_number(view->gpu, section, name, NAN);
}

static void bold(const struct view *view, const char *text)
{
    fth_buffer_format(view->out, view->options->colour ? "\033[1m%s\033[0m" : "%s", text);
}

/* Formats cycles or nanoseconds with at most two decimals: "32", "1.35". */
static const char *time_text(double value, char *text, size_t size)
{
    fth_number_format(rint(value * 100) / 100, text, size);
    return text;
}

static const char *element_title(const char *name, bool brief)
{
    const struct fth_element_def *def = fth_schema_element(name);
    return !def ? name : brief ? def->brief : def->title;
}

static unsigned element_classes(const char *name)
{
    const struct fth_element_def *def = fth_schema_element(name);
    return def ? def->classes : 0;
}

/* Returns the scope from the document ("sm", "gpc", "gpu"). If the document neither states the
 * scope nor lists it as unknown, returns the default scope of the element. NULL: unknown. */
static const char *element_scope(const struct view *view, const char *name)
{
    static const struct {
        const char *element, *scope;
    } default_scopes[] = {
        {"l1", "sm"},        {"texture", "sm"},         {"readonly", "sm"}, {"constant_l1", "sm"},
        {"shared", "sm"},    {"instruction_l0", "sm"},  {"l2", "gpu"},      {"memory", "gpu"},
        {"registers", "sm"}, {"cluster_shared", "gpc"},
    };
    const char *scope = fth_gpu_text(view->gpu, name, "scope");
    if (scope || fth_gpu_unknown(view->gpu, name, "scope"))
        return scope;
    for (size_t i = 0; i < FTH_COUNT(default_scopes); i++)
        if (strcmp(default_scopes[i].element, name) == 0)
            return default_scopes[i].scope;
    return NULL;
}

/* Sets view->elements: first the elements of the schema in its order, then all others. Returns
 * false if memory runs out. */
static bool order_elements(struct view *view, struct fth_arena *arena)
{
    const struct fth_gpu *gpu = view->gpu;
    const struct fth_element_def *def;
    view->elements = fth_arena_array(arena, gpu->element_count + 1, sizeof *view->elements);
    if (!view->elements)
        return false;
    for (size_t i = 0; (def = fth_schema_element_at(i)); i++)
        for (size_t j = 0; j < gpu->element_count; j++)
            if (strcmp(def->name, gpu->elements[j].name) == 0)
                view->elements[view->count++] = gpu->elements[j].name;
    for (size_t j = 0; j < gpu->element_count; j++)
        if (!fth_schema_element(gpu->elements[j].name))
            view->elements[view->count++] = gpu->elements[j].name;
    return true;
}

/* ---- the drawing ---- */

enum { EDGES = 4 }; /* columns of a box around its content: an edge and a space on either side */

/* Returns whether an element shares its storage with an earlier one. Such elements are drawn as one
 * box, that of the first. */
static bool drawn_by_earlier(const struct view *view, size_t index)
{
    const char *name = view->elements[index];
    for (size_t i = 0; i < index; i++) {
        const struct fth_attribute *shared =
            fth_gpu_attribute(view->gpu, view->elements[i], "shared_with");
        for (size_t j = 0; shared && j < shared->count; j++)
            if (strcmp(shared->texts[j], name) == 0)
                return true;
    }
    return false;
}

/* Writes the title of a box: the elements that share the storage, and the number of instances per
 * SM if there are several. */
static void box_title(const struct view *view, const char *name, struct fth_buffer *title)
{
    const struct fth_attribute *shared = fth_gpu_attribute(view->gpu, name, "shared_with");
    fth_buffer_text(title, element_title(name, false));
    for (size_t i = 0; shared && i < shared->count; i++)
        fth_buffer_format(title, " + %s", element_title(shared->texts[i], true));
    double count = number(view, name, "per_sm");
    if (count > 1)
        fth_buffer_format(title, " %s%.0f", utf8_or_ascii(view, "×", "x"), count);
}

/* Appends a fact, after ", " unless it is the first. */
FTH_PRINTF(2, 3) static void add_fact(struct fth_buffer *facts, const char *format, ...)
{
    char text[96];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fth_buffer_format(facts, "%s%s", facts->size ? ", " : "", text);
}

/* Appends size, partitions and line size; for TLBs, reach and page size. */
static void size_facts(const struct view *view, const char *name, struct fth_buffer *facts)
{
    char text[40];
    bool tlb = element_classes(name) & FTH_CLASS_TLB;
    const char *size_name = tlb ? "reach_bytes" : "size_bytes";
    double size = number(view, name, size_name);
    double line = number(view, name, tlb ? "page_bytes" : "line_bytes");
    double partitions = number(view, name, "partitions");
    const struct fth_attribute *caches = fth_gpu_attribute(view->gpu, name, "caches");
    if (caches && caches->count == 0)
        add_fact(facts, "caches no loads");
    if (!isnan(size))
        add_fact(facts, "%s", fth_size_format(size, text, sizeof text));
    else if (fth_gpu_unknown(view->gpu, name, size_name))
        add_fact(facts, "size ?");
    if (partitions > 1 && !isnan(size))
        add_fact(facts, "%.0f partitions of %s", partitions,
                 fth_size_format(size / partitions, text, sizeof text));
    if (!isnan(line))
        add_fact(facts, "%s %s", tlb ? "page" : "line", fth_size_format(line, text, sizeof text));
}

/* Appends latencies, cycles per instruction and TLB miss penalty. */
static void time_facts(const struct view *view, const char *name, struct fth_buffer *facts)
{
    char text[40];
    double latency = number(view, name, "latency_cycles"), ns = number(view, name, "latency_ns");
    double far_latency = number(view, name, "far_latency_cycles");
    double instruction = number(view, name, "cycles_per_instruction");
    double penalty = number(view, name, "miss_penalty_cycles");
    char ns_text[40];
    if (!isnan(latency) && !isnan(ns))
        add_fact(facts, "%s cycles (%s ns)", time_text(latency, text, sizeof text),
                 time_text(ns, ns_text, sizeof ns_text));
    else if (!isnan(latency))
        add_fact(facts, "%s cycles", time_text(latency, text, sizeof text));
    else if (!isnan(ns))
        add_fact(facts, "%s ns", time_text(ns, text, sizeof text));
    if (!isnan(far_latency))
        add_fact(facts, "far %s cycles", time_text(far_latency, text, sizeof text));
    if (!isnan(instruction))
        add_fact(facts, "%s cycles/instr", time_text(instruction, text, sizeof text));
    if (!isnan(penalty))
        add_fact(facts, "miss +%s cycles", time_text(penalty, text, sizeof text));
}

/* Draws the box of an element. If `width` is 0, the box contains two lines and is as wide as they
 * need. Otherwise the box has this width, and contains one line if everything fits into it. */
static struct fth_block element_box(const struct view *view, struct fth_drawing *drawing,
                                    const char *name, size_t width)
{
    struct fth_buffer title = {0}, facts = {0}, times = {0};
    box_title(view, name, &title);
    size_facts(view, name, &facts);
    time_facts(view, name, &times);
    const char *lines[] = {facts.data ? facts.data : "", times.data ? times.data : ""};
    const bool one_line =
        width &&
        fth_text_columns(lines[0]) + strlen(", ") + fth_text_columns(lines[1]) + EDGES <= width;
    if (one_line && times.size) {
        add_fact(&facts, "%s", times.data);
        lines[0] = facts.data ? facts.data : "";
    }
    struct fth_block content = fth_draw_lines(drawing, lines, one_line ? 1 : 2);
    struct fth_block box = fth_draw_box(drawing, title.data ? title.data : "", &content, width);
    drawing->failed = drawing->failed || title.failed || facts.failed || times.failed;
    fth_buffer_fini(&title);
    fth_buffer_fini(&facts);
    fth_buffer_fini(&times);
    return box;
}

/* Where the box of an element is drawn: in the box of the SM; below that box (other elements,
 * except the L2 and memory); or at the bottom, with the full width (L2 and memory). */
enum place { IN_SM, BELOW_SM, AT_BOTTOM };

static enum place element_place(const struct view *view, const char *name)
{
    const char *scope = element_scope(view, name);
    if (element_classes(name) & (FTH_CLASS_L2 | FTH_CLASS_MEMORY))
        return AT_BOTTOM;
    return scope && strcmp(scope, "sm") == 0 ? IN_SM : BELOW_SM;
}

/* Draws the boxes of all elements of a place, as many per row as fit. Those at the bottom have the
 * full width, so there is one per row. */
static struct fth_block place_boxes(const struct view *view, struct fth_drawing *drawing,
                                    enum place place, size_t width)
{
    size_t used = 0;
    struct fth_block *boxes = fth_arena_array(&drawing->arena, view->count + 1, sizeof *boxes);
    if (!boxes) {
        drawing->failed = true;
        return (struct fth_block){NULL, 0, 0};
    }
    for (size_t i = 0; i < view->count; i++)
        if (element_place(view, view->elements[i]) == place && !drawn_by_earlier(view, i))
            boxes[used++] =
                element_box(view, drawing, view->elements[i], place == AT_BOTTOM ? width : 0);
    return fth_draw_flow(drawing, boxes, used, width);
}

/* "NVIDIA H200, simulated · Hopper · compute capability 9.0 · 1980 MHz". `brief`: "cc" instead of
 * "compute capability". */
static void device_title(const struct view *view, bool brief, struct fth_buffer *title)
{
    const char *dot = utf8_or_ascii(view, " · ", ", "), *cut = utf8_or_ascii(view, "…", "~");
    const char *architecture = fth_gpu_text(view->gpu, "device", "architecture");
    const char *capability = fth_gpu_text(view->gpu, "device", "compute_capability");
    const char *backend = fth_gpu_text(view->gpu, "device", "backend");
    double clock = number(view, "device", "clock_mhz");
    fth_text_append(title, fth_gpu_text(view->gpu, "device", "name"), 40, cut);
    if (backend && strcmp(backend, "simulated") == 0)
        fth_buffer_text(title, ", simulated");
    if (view->options->replayed)
        fth_buffer_text(title, ", replayed");
    if (architecture) {
        fth_buffer_text(title, dot);
        fth_text_append(title, architecture, 12, cut);
    }
    if (capability)
        fth_buffer_format(title, "%s%s %.8s", dot, brief ? "cc" : "compute capability", capability);
    if (!isnan(clock))
        fth_buffer_format(title, "%s%.0f MHz", dot, clock);
}

static void draw(const struct view *view)
{
    struct fth_drawing drawing = {.utf8 = view->options->utf8};
    const size_t inside = view->width - EDGES;
    struct fth_block parts[3];
    size_t count = 0;
    struct fth_block sm = place_boxes(view, &drawing, IN_SM, inside - EDGES);
    if (sm.count) {
        char title[64] = "SM";
        double sms = number(view, "device", "sms");
        if (!isnan(sms))
            snprintf(title, sizeof title, "SM %s%.0f", utf8_or_ascii(view, "×", "x"), sms);
        parts[count++] = fth_draw_box(&drawing, title, &sm, inside);
    }
    parts[count++] = place_boxes(view, &drawing, BELOW_SM, inside);
    parts[count++] = place_boxes(view, &drawing, AT_BOTTOM, inside);
    struct fth_block all = fth_draw_stack(&drawing, parts, count);
    struct fth_buffer title = {0};
    device_title(view, false, &title);
    if (title.data && fth_text_columns(title.data) > inside) {
        title.size = 0;
        title.data[0] = '\0';
        device_title(view, true, &title);
    }
    struct fth_block gpu = fth_draw_box(&drawing, title.data ? title.data : "", &all, view->width);
    for (size_t i = 0; i < gpu.count; i++)
        fth_buffer_format(view->out, "%s\n", gpu.lines[i]);
    view->out->failed = view->out->failed || drawing.failed || title.failed;
    fth_buffer_fini(&title);
    fth_drawing_fini(&drawing);
}

/* ---- the table ---- */

enum column { ELEMENT, SCOPE, SIZE, LINE, SECTOR, LATENCY, PER_SM, SHARED, CONFIDENCE, COLUMNS };

static const struct {
    const char *head;
    size_t width;
    bool right;
} columns[COLUMNS] = {
    [ELEMENT] = {"Element", 16, false}, [SCOPE] = {"Scope", 5, false},
    [SIZE] = {"Size", 9, true},         [LINE] = {"Line", 7, true},
    [SECTOR] = {"Sect.", 5, true},      [LATENCY] = {"Latency", 7, true},
    [PER_SM] = {"per SM", 6, true},     [SHARED] = {"Shared with", 11, false},
    [CONFIDENCE] = {"Conf.", 6, false},
};

struct row {
    char cells[COLUMNS][64];
};

static void put_row(const struct view *view, const struct row *row)
{
    struct fth_buffer line = {0};
    for (int c = 0; c < COLUMNS; c++) {
        struct fth_buffer cell = {0};
        size_t used =
            fth_text_append(&cell, row->cells[c], columns[c].width, utf8_or_ascii(view, "…", "~"));
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
static const char *missing(const struct view *view, const char *element, const char *name)
{
    return fth_gpu_unknown(view->gpu, element, name) ? "?" : utf8_or_ascii(view, "–", "-");
}

static void bytes_cell(const struct view *view, char cell[64], const char *element,
                       const char *name)
{
    double bytes = number(view, element, name);
    if (isnan(bytes))
        snprintf(cell, 64, "%s", missing(view, element, name));
    else
        fth_size_format(bytes, cell, 64);
}

/* Writes the latency; for TLBs the penalty of a miss, for instruction caches the cycles per
 * instruction. */
static void latency_cell(const struct view *view, char cell[64], const char *element)
{
    unsigned classes = element_classes(element);
    char text[40];
    const char *name = classes & FTH_CLASS_TLB      ? "miss_penalty_cycles"
                       : classes & FTH_CLASS_ICACHE ? "cycles_per_instruction"
                                                    : "latency_cycles";
    double cycles = number(view, element, name), ns = number(view, element, "latency_ns");
    if (isnan(cycles) && !isnan(ns))
        snprintf(cell, 64, "%s ns", time_text(ns, text, sizeof text));
    else if (isnan(cycles))
        snprintf(cell, 64, "%s", missing(view, element, name));
    else
        snprintf(cell, 64, "%s%s%s", classes & FTH_CLASS_TLB ? "+" : "",
                 time_text(cycles, text, sizeof text), classes & FTH_CLASS_ICACHE ? "/i" : "");
}

static void shared_cell(const struct view *view, char cell[64], const char *element)
{
    const struct fth_attribute *shared = fth_gpu_attribute(view->gpu, element, "shared_with");
    cell[0] = '\0';
    for (size_t i = 0; shared && i < shared->count; i++) {
        size_t used = strlen(cell);
        snprintf(cell + used, 64 - used, "%s%s", i ? ", " : "",
                 element_title(shared->texts[i], true));
    }
    if (!cell[0])
        snprintf(cell, 64, "%s", missing(view, element, "shared_with"));
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

/* Returns the source of an element's figures; with `main_only`, only of its main figures.
 * FTH_SOURCE_NONE: no figure has a source. *mixed is set to whether the figures have different
 * sources; if so, the source of the last figure is returned. */
static enum fth_source element_source(const struct view *view, const char *element, bool main_only,
                                      bool *mixed)
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
static void confidence_cell(const struct view *view, char cell[64], const char *element)
{
    double min_confidence = NAN;
    const struct fth_attribute *a;
    for (size_t i = 0; (a = fth_gpu_attribute_at(view->gpu, element, i)); i++)
        if (is_main_figure(a))
            min_confidence = fmin(min_confidence, a->confidence);
    static const char *const briefs[] = {
        [FTH_SOURCE_NONE] = NULL,         [FTH_SOURCE_MEASURED] = "meas.",
        [FTH_SOURCE_DRIVER] = "driver",   [FTH_SOURCE_DERIVED] = "deriv.",
        [FTH_SOURCE_PUBLISHED] = "publ.",
    };
    bool mixed;
    const char *source = briefs[element_source(view, element, true, &mixed)];
    if (!isnan(min_confidence))
        snprintf(cell, 64, "%.3f", min_confidence);
    else
        snprintf(cell, 64, "%s", mixed ? "mixed" : source ? source : utf8_or_ascii(view, "–", "-"));
}

/* Writes a second row for an element that consists of partitions, such as the L2: the latency of
 * accesses to a partition that is far from the SM. Without such a latency, writes nothing. */
static void far_row(const struct view *view, const char *element)
{
    double cycles = number(view, element, "far_latency_cycles");
    if (isnan(cycles))
        return;
    struct row row = {{""}};
    snprintf(row.cells[ELEMENT], 64, "  far");
    time_text(cycles, row.cells[LATENCY], 64);
    put_row(view, &row);
}

static void element_row(const struct view *view, const char *element)
{
    struct row row = {{""}};
    bool tlb = element_classes(element) & FTH_CLASS_TLB;
    const char *scope = element_scope(view, element);
    double per_sm = number(view, element, "per_sm");
    snprintf(row.cells[ELEMENT], 64, "%s", element_title(element, false));
    snprintf(row.cells[SCOPE], 64, "%s",
             !scope                      ? missing(view, element, "scope")
             : strcmp(scope, "sm") == 0  ? "SM"
             : strcmp(scope, "gpc") == 0 ? "GPC"
                                         : "GPU");
    bytes_cell(view, row.cells[SIZE], element, tlb ? "reach_bytes" : "size_bytes");
    bytes_cell(view, row.cells[LINE], element, tlb ? "page_bytes" : "line_bytes");
    bytes_cell(view, row.cells[SECTOR], element, "sector_bytes");
    latency_cell(view, row.cells[LATENCY], element);
    if (isnan(per_sm))
        snprintf(row.cells[PER_SM], 64, "%s", missing(view, element, "per_sm"));
    else
        snprintf(row.cells[PER_SM], 64, "%.0f", per_sm);
    shared_cell(view, row.cells[SHARED], element);
    confidence_cell(view, row.cells[CONFIDENCE], element);
    put_row(view, &row);
    far_row(view, element);
}

static void table(const struct view *view)
{
    struct row head;
    for (int c = 0; c < COLUMNS; c++)
        snprintf(head.cells[c], 64, "%s", columns[c].head);
    if (view->options->colour)
        fth_buffer_text(view->out, "\033[1m");
    put_row(view, &head);
    if (view->options->colour)
        fth_buffer_text(view->out, "\033[0m");
    for (size_t i = 0; i < view->count; i++)
        element_row(view, view->elements[i]);
    bool mixed = false;
    for (size_t i = 0; i < view->count && !mixed; i++)
        element_source(view, view->elements[i], true, &mixed);
    fth_buffer_format(
        view->out,
        "Sect.: sector size. Latency in cycles; N/i: cycles per instruction; +N: cycles\n"
        "that a TLB miss adds. For TLBs, Size is the reach and Line the page size.\n"
        "Conf.: confidence, or the source of figures without one: measured, driver,\n"
        "derived, published%s.\n",
        mixed ? ", or mixed (see Sources)" : "");
}

/* ---- structure, sources, and what is not known ---- */

/* Returns whether the paragraph of an element, `words`, equals that of an earlier element that
 * shares its storage. Such paragraphs are shown only once. `write_words` writes a paragraph. */
static bool is_repeated(const struct view *view, size_t index, const struct fth_buffer *words,
                        void (*write_words)(const struct view *, size_t, struct fth_buffer *))
{
    const struct fth_attribute *shared =
        fth_gpu_attribute(view->gpu, view->elements[index], "shared_with");
    bool repeated = false;
    for (size_t i = 0; i < index && !repeated; i++)
        for (size_t j = 0; shared && j < shared->count && !repeated; j++) {
            if (strcmp(shared->texts[j], view->elements[i]) != 0)
                continue;
            struct fth_buffer earlier = {0};
            write_words(view, i, &earlier);
            repeated = earlier.size == words->size && words->size &&
                       memcmp(earlier.data, words->data, words->size) == 0;
            fth_buffer_fini(&earlier);
        }
    return repeated;
}

/* A paragraph with a title in the first column and wrapped text next to it. */
struct paragraph {
    const struct view *view;
    size_t column; /* of the end of the text so far */
};

enum { INDENT = 17 }; /* column of the text: the width of the table's first column and a space */

static void begin(struct paragraph *paragraph, const struct view *view, const char *title)
{
    size_t used = fth_text_append(view->out, title, INDENT - 1, utf8_or_ascii(view, "…", "~"));
    fth_buffer_repeat(view->out, " ", INDENT - used);
    *paragraph = (struct paragraph){view, INDENT};
}

/* Appends words to a paragraph and wraps its lines at view->width. Words that are wider than a line
 * or longer than 127 bytes are cut. */
static void add_words(struct paragraph *paragraph, const char *text)
{
    const struct view *view = paragraph->view;
    while (*text) {
        char word[128];
        size_t bytes = strcspn(text, " ");
        size_t kept = bytes < sizeof word - 1 ? bytes : sizeof word - 1;
        memcpy(word, text, kept);
        word[kept] = '\0';
        size_t width = fth_text_columns(word);
        if (paragraph->column > INDENT && paragraph->column + 1 + width > view->width) {
            fth_buffer_text(view->out, "\n");
            fth_buffer_repeat(view->out, " ", INDENT);
            paragraph->column = INDENT;
        }
        if (paragraph->column > INDENT) {
            fth_buffer_text(view->out, " ");
            paragraph->column++;
        }
        paragraph->column +=
            fth_text_append(view->out, word, view->width - INDENT, utf8_or_ascii(view, "…", "~"));
        text += bytes;
        text += strspn(text, " ");
    }
}

/* Appends sets, ways, index function and policy, as far as they are known. */
static void structure_words(const struct view *view, const char *element, struct fth_buffer *words)
{
    double sets = number(view, element, "sets"), ways = number(view, element, "ways");
    const struct fth_attribute *set_ways = fth_gpu_attribute(view->gpu, element, "set_ways");
    if (set_ways) {
        fth_buffer_text(words, set_ways->count > 1 ? "sets of " : "one set of ");
        for (size_t i = 0; i < set_ways->count; i++)
            fth_buffer_format(words, "%s%.0f", i ? ", " : "", set_ways->numbers[i]);
        fth_buffer_text(words, " entries; ");
    } else if (!isnan(sets) && !isnan(ways)) {
        fth_buffer_format(words, "%.0f sets %s %.0f ways; ", sets, utf8_or_ascii(view, "×", "x"),
                          ways);
    } else if (!isnan(sets) || !isnan(ways)) {
        fth_buffer_format(words, "%.0f %s; ", isnan(sets) ? ways : sets,
                          isnan(sets) ? "ways" : "sets");
    }
    const char *index = fth_gpu_text(view->gpu, element, "index");
    const char *policy = fth_gpu_text(view->gpu, element, "policy");
    if (index)
        fth_buffer_format(words, "index %s; ", index);
    if (policy)
        fth_buffer_format(words, "policy %s; ", policy);
}

/* Appends sizes. docs/gpu-description.md defines the attributes. In spite of its name,
 * default_size_bytes is the smallest size of the cache: that at the largest carve-out, which leaves
 * the least storage to the L1. The factor 1.25 is that of find_resident() in probe/capacity.c. */
static void size_words(const struct view *view, const char *element, struct fth_buffer *words)
{
    static const struct {
        const char *attribute, *words;
    } sizes[] = {
        {"default_size_bytes", "%s at the largest carve-out for shared memory; "},
        {"unified_bytes", "%s for L1 and shared memory together; "},
        {"onset_bytes", "misses start at a footprint of about %s; "},
        {"resident_bytes", "%s remain resident after a walk over 1.25 times the size; "},
        {"full_miss_bytes", "no hits from a footprint of %s on; "},
        {"fill_bytes", "a miss fetches %s; "},
        {"max_block_bytes", "at most %s per block; "},
    };
    char text[40];
    for (size_t i = 0; i < FTH_COUNT(sizes); i++) {
        double bytes = number(view, element, sizes[i].attribute);
        if (isnan(bytes))
            continue;
        const char *value_at = strstr(sizes[i].words, "%s");
        fth_buffer_append(words, sizes[i].words, (size_t)(value_at - sizes[i].words));
        fth_buffer_text(words, fth_size_format(bytes, text, sizeof text));
        fth_buffer_text(words, value_at + 2);
    }
}

static void rate_words(const struct view *view, const char *element, struct fth_buffer *words)
{
    static const char *const rates[] = {"read", "write", "copy", "peak"};
    for (size_t i = 0; i < FTH_COUNT(rates); i++) {
        char name[40];
        snprintf(name, sizeof name, "%s_bytes_per_s", rates[i]);
        double rate = number(view, element, name);
        if (rate >= 1e12)
            fth_buffer_format(words, "%s %.2f TB/s; ", rates[i], rate / 1e12);
        else if (rate > 0)
            fth_buffer_format(words, "%s %.1f GB/s; ", rates[i], rate / 1e9);
    }
}

/* Appends the lowest and the highest latency of all SMs. */
static void by_sm_words(const struct view *view, const char *element, struct fth_buffer *words)
{
    const struct fth_attribute *list =
        fth_gpu_attribute(view->gpu, element, "latency_by_sm_cycles");
    if (!list || list->count < 2)
        return;
    double low = list->numbers[0], high = low;
    char low_text[40], high_text[40];
    for (size_t i = 1; i < list->count; i++) {
        low = fmin(low, list->numbers[i]);
        high = fmax(high, list->numbers[i]);
    }
    if (high > low)
        fth_buffer_format(words, "%s to %s cycles depending on the SM; ",
                          time_text(low, low_text, sizeof low_text),
                          time_text(high, high_text, sizeof high_text));
}

static void other_words(const struct view *view, const char *element, struct fth_buffer *words)
{
    char text[40];
    const struct fth_attribute *caches = fth_gpu_attribute(view->gpu, element, "caches");
    if (caches && caches->count == 0)
        fth_buffer_text(words, "does not cache global or local loads; ");
    else if (caches && caches->count == 1)
        fth_buffer_format(words, "caches %s loads only; ", caches->texts[0]);
    double partitions = number(view, element, "partitions");
    double slices = number(view, element, "slices");
    double banks = number(view, element, "banks"), width = number(view, element, "bank_bytes");
    double conflict = number(view, element, "conflict_cycles");
    if (!isnan(partitions))
        fth_buffer_format(words, "%.0f partition%s; ", partitions, partitions == 1 ? "" : "s");
    if (!isnan(slices))
        fth_buffer_format(words, "%.0f slice%s; ", slices, slices == 1 ? "" : "s");
    by_sm_words(view, element, words);
    double cold = number(view, element, "cold_latency_cycles");
    if (!isnan(cold))
        fth_buffer_format(words, "%s cycles with cold TLBs; ", time_text(cold, text, sizeof text));
    if (!isnan(banks) && !isnan(width))
        fth_buffer_format(words, "%.0f banks of %.0f B; ", banks, width);
    else if (!isnan(banks))
        fth_buffer_format(words, "%.0f banks; ", banks);
    if (!isnan(conflict))
        fth_buffer_format(words, "+%s cycles per additional way of a bank conflict; ",
                          time_text(conflict, text, sizeof text));
}

static void write_structure(const struct view *view, size_t index, struct fth_buffer *words)
{
    const char *element = view->elements[index];
    structure_words(view, element, words);
    size_words(view, element, words);
    other_words(view, element, words);
    rate_words(view, element, words);
    if (words->size > 2)
        words->data[words->size -= 2] = '\0'; /* the last "; " */
}

/* Lists the figures of each source, if the figures of the element have different sources. */
static void write_sources(const struct view *view, size_t index, struct fth_buffer *words)
{
    static const enum fth_source sources[] = {FTH_SOURCE_MEASURED, FTH_SOURCE_DRIVER,
                                              FTH_SOURCE_DERIVED, FTH_SOURCE_PUBLISHED};
    const char *element = view->elements[index];
    const struct fth_attribute *a;
    bool mixed;
    element_source(view, element, false, &mixed);
    for (size_t s = 0; mixed && s < FTH_COUNT(sources); s++) {
        size_t count = 0;
        for (size_t i = 0; (a = fth_gpu_attribute_at(view->gpu, element, i)); i++) {
            if (a->source != sources[s])
                continue;
            if (count == 0)
                fth_buffer_format(words, "%s%s: ", words->size ? "; " : "",
                                  fth_source_name(sources[s]));
            fth_buffer_format(words, "%s%s", count++ ? ", " : "", a->name);
        }
    }
}

/* Lists the unknown attributes with their reasons. Consecutive attributes with the same reason are
 * listed together. */
static void write_unknown(const struct view *view, size_t index, struct fth_buffer *words)
{
    const struct fth_named_texts *unknown =
        &fth_gpu_find_section(view->gpu, view->elements[index])->unknown;
    for (size_t i = 0; i < unknown->count; i++) {
        bool last = i + 1 == unknown->count;
        const struct fth_named_text *item = &unknown->items[i];
        if (!last && strcmp(item->text, item[1].text) == 0)
            fth_buffer_format(words, "%s, ", item->name);
        else
            fth_buffer_format(words, "%s: %s%s", item->name, item->text, last ? "" : "; ");
    }
}

/* Writes a heading and one paragraph per element for which `write_words` appends any words. */
static void paragraphs(const struct view *view, const char *heading,
                       void (*write_words)(const struct view *, size_t, struct fth_buffer *))
{
    bool headed = false;
    for (size_t i = 0; i < view->count; i++) {
        struct fth_buffer words = {0};
        write_words(view, i, &words);
        if (words.size && !words.failed && !is_repeated(view, i, &words, write_words)) {
            if (!headed)
                bold(view, heading);
            headed = true;
            struct paragraph paragraph;
            begin(&paragraph, view, element_title(view->elements[i], false));
            add_words(&paragraph, words.data);
            fth_buffer_text(view->out, "\n");
        }
        view->out->failed = view->out->failed || words.failed;
        fth_buffer_fini(&words);
    }
}

static enum fth_status write_gpu(const struct fth_gpu *gpu,
                                 const struct fth_report_options *options, struct fth_buffer *out,
                                 struct fth_error *error)
{
    enum { MIN_WIDTH = 80 };
    struct view view = {.gpu = gpu,
                        .options = options,
                        .out = out,
                        .width = options->width > MIN_WIDTH ? options->width : MIN_WIDTH};
    if (view.width > 100) /* wider boxes would only contain more space */
        view.width = 100;
    struct fth_arena arena = {0};
    if (!order_elements(&view, &arena))
        return fth_no_memory(error, "show description", NULL);
    draw(&view);
    fth_buffer_text(out, "\n");
    table(&view);
    paragraphs(&view, "\nStructure\n", write_structure);
    paragraphs(&view, "\nSources\n", write_sources);
    paragraphs(&view, "\nNot known\n", write_unknown);
    fth_arena_fini(&arena);
    return FTH_OK;
}

const struct fth_report_writer fth_report_text = {"text", "a drawing and tables for the terminal",
                                                  write_gpu, fth_text_table};
