/* report/: what a description looks like. Each format is one writer; report.c lists them.
 *
 *   text.c  a drawing and tables for the terminal       json.c  the document itself
 *   draw.c  nested boxes                                csv.c   one attribute a row
 *   table.c a table of any kind                         bench.c the results of benches
 *   dissection.c, findings.c  what was dissected
 *   comparison.c  what differs between descriptions
 *   html.c  a page with charts, of html/                evidence.c  curves of a recording
 *   explore.c  points of an exploration as a table      points.c  as a document for the page
 *   condense.c  what the page needs of a model run      series.c  the loads of a dissection
 *   hwloc.c XML for the tools of hwloc                  mt4g.c  JSON with the keys of mt4g
 */
#ifndef FTH_REPORT_H
#define FTH_REPORT_H

#include "gpu/gpu.h"

struct fth_report_writer {
    const char *name;
    const char *summary;
    enum fth_status (*gpu)(const struct fth_gpu *gpu, const struct fth_report_options *options,
                           struct fth_buffer *out, struct fth_error *error);
    /* NULL: only descriptions. */
    void (*table)(const struct fth_table *table, const struct fth_report_options *options,
                  struct fth_buffer *out);
};

extern const struct fth_report_writer fth_report_text, fth_report_json, fth_report_csv,
    fth_report_hwloc, fth_report_mt4g;

/* ---- json.c, csv.c: parts that other writers use ---- */

/* A list of objects, one a row. */
void fth_json_table(struct fth_json_writer *json, const struct fth_table *table);
/* A cell with what follows it; NULL: an empty one. */
void fth_csv_cell(struct fth_buffer *out, const char *text, bool last);

/* ---- evidence.c ---- */

/* Takes the bytes of a recording over and gives a fathom-evidence/1 document. */
FTH_MUST_USE enum fth_status fth_evidence_read(const char *path, struct fth_buffer *content,
                                               json_t **root, struct fth_error *error);

/* ---- points.c ---- */

/* Whether a text begins as a file of points does. */
bool fth_exploration_begins(const struct fth_buffer *content);
/* Takes the bytes of a file of points over and gives a fathom-explore/1 document: its header, and
 * the table of its points as "rows". What is damaged is told and left out. */
FTH_MUST_USE enum fth_status fth_exploration_read(const char *path, struct fth_buffer *content,
                                                  const struct fth_log *log, json_t **root,
                                                  struct fth_error *error);
/* The same of what 'fathom explore --json' writes, a list of such rows, which has no header. NULL
 * where `list` is none; takes it over. */
json_t *fth_exploration_of_list(json_t *list);

/* ---- series.c ---- */

/* Whether a text begins as the loads of 'fathom dissect --series' do. */
bool fth_series_begins(const struct fth_buffer *content);
/* Gives a fathom-series/1 document: for each element index, cycles and miss (0, 1) of its loads. Of
 * a text that begins so; *root may be there on failure, too. */
FTH_MUST_USE enum fth_status fth_series_read(const char *path, const struct fth_buffer *content,
                                             json_t **root, struct fth_error *error);

/* ---- condense.c ---- */

/* Makes a fathom-model/1 document as small as the page needs it. */
void fth_model_condense(json_t *model);

/* ---- html.c ---- */

/* The parts of the page, generated from html/ and D3; "d3" is empty where the build had none. */
extern const struct fth_embedded fth_embedded_page[];
extern const size_t fth_embedded_page_count;

/* ---- table.c ---- */

/* The cells of a table that grows, row by row, with texts of their own. */
struct fth_cells {
    struct fth_arena arena;
    struct fth_cell *items;
    size_t count, capacity;
    bool failed; /* out of memory */
};

void fth_cells_put(struct fth_cells *cells, const char *text, double number);
void fth_cells_fini(struct fth_cells *cells);
void fth_text_table(const struct fth_table *table, const struct fth_report_options *options,
                    struct fth_buffer *out);

/* ---- plot.c ---- */

/* A series drawn as it says, with a legend. */
void fth_text_plot(const struct fth_bench_series *series, const struct fth_report_options *options,
                   struct fth_buffer *out);

/* ---- findings.c ---- */

/* TLBs, the spectrum of latencies and the L2, as far as they were dissected. */
void fth_write_findings(const struct fth_gpu *gpu, const struct fth_report_options *options,
                        struct fth_buffer *out);

/* ---- draw.c: blocks of text that are put side by side, on top of each other, and framed ---- */

/* Lines of `width` columns each. A block lives in the arena it was made from. */
struct fth_block {
    const char **lines;
    size_t count;
    size_t width;
};

struct fth_drawing {
    struct fth_arena arena;
    bool utf8;
    bool failed; /* out of memory: what is drawn is incomplete */
};

void fth_drawing_fini(struct fth_drawing *drawing);
/* A frame with the title in its top edge around some lines, at least `width` columns wide (0: as
 * wide as it needs to be). Text is made printable and cut where it does not fit. */
struct fth_block fth_draw_box(struct fth_drawing *drawing, const char *title,
                              const struct fth_block *content, size_t width);
/* A block of plain lines, as wide as the longest. */
struct fth_block fth_draw_lines(struct fth_drawing *drawing, const char *const *lines,
                                size_t count);
/* Blocks side by side, in as many rows as `width` asks for, stacked. */
struct fth_block fth_draw_flow(struct fth_drawing *drawing, const struct fth_block *blocks,
                               size_t count, size_t width);
struct fth_block fth_draw_stack(struct fth_drawing *drawing, const struct fth_block *blocks,
                                size_t count);

#endif
