/* The parts of the text report of a GPU description, and what they share. */
#ifndef FTH_GPU_TEXT_H
#define FTH_GPU_TEXT_H

#include "report/report.h"

/* A description that is being written. */
struct fth_gpu_view {
    const struct fth_gpu *gpu;
    struct fth_unit_words unit; /* what its SMs are called */
    const struct fth_report_options *options;
    struct fth_buffer *out;
    size_t width;
    const char **elements; /* names, in the order in which they are shown */
    size_t count;
};

/* ---- gpu_text.c ---- */

/* Returns one of two texts, depending on whether the output is UTF-8. */
const char *fth_view_symbol(const struct fth_gpu_view *view, const char *utf8, const char *ascii);
/* Returns a number of the description; NAN: unknown. */
double fth_view_number(const struct fth_gpu_view *view, const char *section, const char *name);
/* Formats cycles or nanoseconds with at most two decimals: "32", "1.35". */
const char *fth_view_time(double value, char *text, size_t size);
/* Returns the title of an element, or its brief title. */
const char *fth_view_title(const char *name, bool brief);
/* Returns the FTH_CLASS_* flags of an element. */
unsigned fth_view_classes(const char *name);
/* Returns the scope from the document ("sm", "gpc", "gpu", "group"). If the document neither states
 * the scope nor lists it as unknown, returns the default scope of the element. NULL: unknown. */
const char *fth_view_scope(const struct fth_gpu_view *view, const char *name);

/* ---- gpu_drawing.c ---- */

/* Draws the elements as boxes: those of an SM in a box for the SM, those that serve several SMs
 * below it. */
void fth_view_drawing(const struct fth_gpu_view *view);

/* ---- gpu_table.c ---- */

/* Writes a table with size, line, latency and other main figures of each element. */
void fth_view_table(const struct fth_gpu_view *view);
/* Returns the source of an element's figures; with `main_only`, only of its main figures.
 * FTH_SOURCE_NONE: no figure has a source. *mixed is set to whether the figures have different
 * sources; if so, the source of the last figure is returned. */
enum fth_source fth_view_source(const struct fth_gpu_view *view, const char *element,
                                bool main_only, bool *mixed);

/* ---- gpu_paragraphs.c ---- */

/* Write a paragraph for each element: its further figures in words; the sources of its figures, if
 * they differ; and its unknown attributes with the reasons. */
void fth_view_structure(const struct fth_gpu_view *view);
void fth_view_sources(const struct fth_gpu_view *view);
void fth_view_unknown(const struct fth_gpu_view *view);

#endif
