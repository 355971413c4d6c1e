/* Draws the elements of a GPU description as nested boxes (draw.c). */
#include "report/description/gpu_text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EDGES = 4 }; /* columns of a box around its content: an edge and a space on either side */

/* Returns whether an element shares its storage with an earlier one. Such elements are drawn as one
 * box, that of the first. */
static bool drawn_by_earlier(const struct fth_gpu_view *view, size_t index)
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

/* Writes the title of a box: the elements that share the storage, and the number of instances if
 * there are several: those of an SM, or those of the device if each serves several SMs. */
static void box_title(const struct fth_gpu_view *view, const char *name, struct fth_buffer *title)
{
    const struct fth_attribute *shared = fth_gpu_attribute(view->gpu, name, "shared_with");
    fth_buffer_text(title, fth_view_title(name, false));
    for (size_t i = 0; shared && i < shared->count; i++)
        fth_buffer_format(title, " + %s", fth_view_title(shared->texts[i], true));
    double count = fth_view_number(view, name, "per_sm");
    if (isnan(count) && fth_view_number(view, name, "sms_per_instance") > 1)
        count = fth_view_number(view, name, "instances");
    if (count > 1)
        fth_buffer_format(title, " %s%.0f", fth_view_symbol(view, "×", "x"), count);
}

/* Appends a fact, after ", " unless it is the first. */
FTH_PRINTF(2, 3) static void add_fact(struct fth_buffer *facts, const char *format, ...)
{
    char text[96];
    va_list arguments;
    va_start(arguments, format);
    fth_vformat(text, sizeof text, format, arguments);
    va_end(arguments);
    fth_buffer_format(facts, "%s%s", facts->size ? ", " : "", text);
}

/* Appends size, partitions, line size and how many SMs share an instance; for TLBs, reach and page
 * size. */
static void size_facts(const struct fth_gpu_view *view, const char *name, struct fth_buffer *facts)
{
    char text[40];
    bool tlb = fth_view_classes(name) & FTH_CLASS_TLB;
    const char *size_name = tlb ? "reach_bytes" : "size_bytes";
    double size = fth_view_number(view, name, size_name);
    double line = fth_view_number(view, name, tlb ? "page_bytes" : "line_bytes");
    double partitions = fth_view_number(view, name, "partitions");
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
    const double each = fth_view_number(view, name, "sms_per_instance");
    if (each > 1)
        add_fact(facts, "1 per %.0f %ss", each, view->unit.brief);
}

/* Appends latencies, cycles per instruction and TLB miss penalty. */
static void time_facts(const struct fth_gpu_view *view, const char *name, struct fth_buffer *facts)
{
    char text[40];
    double latency = fth_view_number(view, name, "latency_cycles"),
           ns = fth_view_number(view, name, "latency_ns");
    double far_latency = fth_view_number(view, name, "far_latency_cycles");
    double instruction = fth_view_number(view, name, "cycles_per_instruction");
    double penalty = fth_view_number(view, name, "miss_penalty_cycles");
    char ns_text[40];
    if (!isnan(latency) && !isnan(ns))
        add_fact(facts, "%s cycles (%s ns)", fth_view_time(latency, text, sizeof text),
                 fth_view_time(ns, ns_text, sizeof ns_text));
    else if (!isnan(latency))
        add_fact(facts, "%s cycles", fth_view_time(latency, text, sizeof text));
    else if (!isnan(ns))
        add_fact(facts, "%s ns", fth_view_time(ns, text, sizeof text));
    if (!isnan(far_latency))
        add_fact(facts, "far %s cycles", fth_view_time(far_latency, text, sizeof text));
    if (!isnan(instruction))
        add_fact(facts, "%s cycles/instr", fth_view_time(instruction, text, sizeof text));
    if (!isnan(penalty))
        add_fact(facts, "miss +%s cycles", fth_view_time(penalty, text, sizeof text));
}

/* Draws the box of an element. If `width` is 0, the box contains two lines and is as wide as they
 * need. Otherwise the box has this width, and contains one line if everything fits into it. */
static struct fth_block element_box(const struct fth_gpu_view *view, struct fth_drawing *drawing,
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
 * except the L2, the L3 and memory); or at the bottom, with the full width (L2, L3 and memory). */
enum box_place { IN_SM, BELOW_SM, AT_BOTTOM };

static enum box_place element_place(const struct fth_gpu_view *view, const char *name)
{
    const char *scope = fth_view_scope(view, name);
    if (scope && strcmp(scope, "sm") == 0)
        return IN_SM;
    return fth_view_classes(name) & (FTH_CLASS_L2 | FTH_CLASS_MEMORY) || strcmp(name, "l3") == 0
               ? AT_BOTTOM
               : BELOW_SM;
}

/* Draws the boxes of all elements of a place, as many per row as fit. Those at the bottom have the
 * full width, so there is one per row. */
static struct fth_block place_boxes(const struct fth_gpu_view *view, struct fth_drawing *drawing,
                                    enum box_place place, size_t width)
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
static void device_title(const struct fth_gpu_view *view, bool brief, struct fth_buffer *title)
{
    const char *dot = fth_view_symbol(view, " · ", ", "), *cut = fth_view_symbol(view, "…", "~");
    const char *architecture = fth_gpu_text(view->gpu, "device", "architecture");
    const char *capability = fth_gpu_text(view->gpu, "device", "compute_capability");
    const char *backend = fth_gpu_text(view->gpu, "device", "backend");
    double clock = fth_view_number(view, "device", "clock_mhz");
    const double dies = fth_view_number(view, "device", "xcds");
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
    if (dies > 1)
        fth_buffer_format(title, "%s%.0f XCDs", dot, dies);
    if (!isnan(clock))
        fth_buffer_format(title, "%s%.0f MHz", dot, clock);
}

void fth_view_drawing(const struct fth_gpu_view *view)
{
    struct fth_drawing drawing = {.utf8 = view->options->utf8};
    const size_t inside = view->width - EDGES;
    struct fth_block parts[3];
    size_t count = 0;
    struct fth_block sm = place_boxes(view, &drawing, IN_SM, inside - EDGES);
    if (sm.count) {
        char title[64];
        double sms = fth_view_number(view, "device", "sms");
        snprintf(title, sizeof title, "%s", view->unit.name);
        title[0] = (char)toupper((unsigned char)title[0]);
        if (!isnan(sms))
            snprintf(title + strlen(title), sizeof title - strlen(title), " %s%.0f",
                     fth_view_symbol(view, "×", "x"), sms);
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
