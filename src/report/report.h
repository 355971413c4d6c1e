/* report/: writes descriptions and results as text, JSON, CSV, HTML, and in the formats of other
 * tools. report.c lists the formats of descriptions; each is one struct fth_report_writer.
 *
 *   description/                                       results/
 *   gpu_text.c        a description for the terminal   table_text.c     a table for the terminal;
 *                                                      table.c: cells of tables
 *   gpu_drawing.c     its elements as boxes            plot.c           a plot for the terminal
 *   gpu_table.c       its main figures                 bench_results.c  results of benches
 *   gpu_paragraphs.c  structure, sources, unknowns     model_results.c  tables of the cache model;
 *                     also model_summary.c, model_source.c, model_json.c and model_intervals.c
 *   draw.c            nested boxes                     points_table.c   points of an exploration
 *   json.c            fathom-gpu/1 documents, tables   dissection.c     sets, ways, index, policy
 *   csv.c             one attribute per row, tables    findings.c       other results of dissection
 *   hwloc.c           XML for the hwloc tools          points_rows.c    reading these points
 *   mt4g.c            JSON with the keys of mt4g       points_order.c   sorting and choosing them
 *   accel_sim.c       configuration of Accel-Sim; accel_sim_caches.c: its caches
 *   gem5.c            options of gem5's GPU model
 *   config_text.c     lines of both
 *   comparison.c      differences between descriptions replay_results.c launches of a capsule
 *
 * fleet/ writes judgements of fleets (fleet/judgement.h).
 *
 * page/html.c writes a page with charts; its scripts are in html/. It embeds documents in the page.
 * These files convert other inputs to such documents:
 *
 *   evidence.c         latency curves of a recording
 *   points_document.c  points of an exploration
 *   series_document.c  loads of a dissection
 *   condense.c         shortens a model run
 *   published.c        compares a description with the published one
 */
#ifndef FTH_REPORT_H
#define FTH_REPORT_H

#include "base/json.h"
#include "gpu/gpu.h"

struct fth_report_writer {
    const char *name;
    const char *summary; /* one line for the help */
    /* Appends a description. `options` is never NULL. */
    enum fth_status (*gpu)(const struct fth_gpu *gpu, const struct fth_report_options *options,
                           struct fth_buffer *out, struct fth_error *error);
    /* Appends a table. NULL: the format only supports descriptions. */
    void (*table)(const struct fth_table *table, const struct fth_report_options *options,
                  struct fth_buffer *out);
};

/* Fails with FTH_INVALID: there is no such format; suggests one of the `count` names. */
enum fth_status fth_format_unknown(const char *format, const char *const *names, size_t count,
                                   struct fth_error *error);

extern const struct fth_report_writer fth_report_text, fth_report_json, fth_report_csv,
    fth_report_hwloc, fth_report_mt4g, fth_report_accel_sim, fth_report_gem5;

/* ---- json.c, csv.c: parts that other writers use ---- */

/* Writes a list with one object per row. Cells without a value are omitted. */
void fth_json_table(struct fth_json_writer *json, const struct fth_table *table);
/* Writes the name of a kernel as the value of the current key, and its short C++ name with the key
 * "demangled". */
void fth_json_kernel(struct fth_json_writer *json, const char *name);
/* Appends a cell, quoted if necessary, and then a comma or, after the last cell of a row, a
 * newline. A text that a spreadsheet would evaluate as a formula gets an apostrophe in front;
 * control characters become '?'. `text` NULL: an empty cell. */
void fth_csv_cell(struct fth_buffer *out, const char *text, bool last);

/* ---- evidence.c ---- */

/* Converts a recording to a fathom-evidence/1 document. Takes ownership of the bytes in `content`.
 * The caller releases the document, also after a failure; this holds for the functions below, too.
 */
FTH_MUST_USE enum fth_status fth_evidence_read(const char *path, struct fth_buffer *content,
                                               struct fth_json_document *document,
                                               struct fth_error *error);

/* ---- points_document.c ---- */

/* Returns whether a text begins like a file of points ('fathom explore -o'). */
bool fth_is_exploration(const struct fth_buffer *content);
/* Converts a file of points to a fathom-explore/1 document: the header of the file, with the table
 * of its points as "rows". Damaged lines are ignored; `log` gets a warning. Takes ownership of the
 * bytes in `content`. */
FTH_MUST_USE enum fth_status fth_exploration_read(const char *path, struct fth_buffer *content,
                                                  const struct fth_log *log,
                                                  struct fth_json_document *document,
                                                  struct fth_error *error);
/* Returns whether a list is the output of 'fathom explore --json': such rows without a header. */
bool fth_is_exploration_list(const struct fth_json *list);
/* Makes the same document of a document whose root is such a list. */
void fth_exploration_from_list(struct fth_json_document *document);

/* ---- series_document.c ---- */

/* Returns whether a text begins like the output of 'fathom dissect --series'. */
bool fth_is_series(const struct fth_buffer *content);
/* Converts such a text to a fathom-series/1 document: for each element, the lists "index", "cycles"
 * and "miss" (0 or 1) with one entry per load. fth_is_series() must hold. */
FTH_MUST_USE enum fth_status fth_series_read(const char *path, const struct fth_buffer *content,
                                             struct fth_json_document *document,
                                             struct fth_error *error);

/* ---- condense.c ---- */

/* Removes from a fathom-model/1 document what the page does not show. */
void fth_model_condense(struct fth_json_document *document);

/* ---- fleet_document.c ---- */

/* Removes from a fathom-fleet/2 document what the page does not show, and limits its size. */
void fth_fleet_condense(struct fth_json_document *document);

/* ---- published.c ---- */

/* Compares a description with the one of the catalogue that has the same device name. *verdict gets
 * an object in `document`, or NULL if the catalogue has no such description. */
FTH_MUST_USE enum fth_status fth_published_compare(const struct fth_gpu *gpu,
                                                   struct fth_json_document *document,
                                                   struct fth_json **verdict,
                                                   struct fth_error *error);

/* ---- html.c ---- */

/* The parts of the page, generated from html/ and D3. "d3" is empty if fathom was built without D3.
 */
extern const struct fth_embedded fth_embedded_page[];
extern const size_t fth_embedded_page_count;

/* ---- model_results.c ---- */

/* Returns whether a view of a result of the model shows a row. */
bool fth_model_view_shows(enum fth_model_view view, const struct fth_model_row *row);

/* ---- model_intervals.c ---- */

struct fth_cells;

/* Adds the intervals of a result, if it has some, to a table of its kernels or launches: to the
 * texts of the cells or, for CSV, as columns. On failure, sets `failed`. */
void fth_table_add_intervals(struct fth_cells *cells, struct fth_table *table,
                             enum fth_model_view view, const struct fth_model_result *result,
                             bool csv, bool utf8);
/* Writes the expected errors of a row of a sampled result as an object "sample_errors". */
void fth_json_sample_errors(struct fth_json_writer *json, const struct fth_model_row *row);
/* Writes the intervals of a row as an object "intervals". */
void fth_json_intervals(struct fth_json_writer *json, const struct fth_model_intervals *intervals);

/* ---- table.c ---- */

/* The cells of a growing table, row by row. Texts that are made for the table live in `arena`. */
struct fth_cells {
    struct fth_arena arena;
    struct fth_cell *items;
    size_t count, capacity;
    bool failed; /* out of memory */
};

/* Appends a cell. `text` is not copied. On failure, sets `failed`. */
void fth_cells_put(struct fth_cells *cells, const char *text, double number);
/* Appends a cell of a column of texts. */
void fth_cells_put_text(struct fth_cells *cells, const char *text);
void fth_cells_fini(struct fth_cells *cells);
/* Removes the column with this key, if there is one, from a table of all these cells. On failure,
 * sets `failed`. */
void fth_table_leave_out(struct fth_cells *cells, struct fth_table *table, const char *key);
/* Returns whether the cells of a column of this kind have a number, and not a text. */
bool fth_column_is_number(enum fth_column_kind kind);

/* ---- table_text.c ---- */

/* Returns the maximum width of text in characters. */
size_t fth_report_columns(const struct fth_report_options *options);
/* Appends a table for the terminal that fits the width; table_text.c describes how. `options->drop`
 * has the columns that may be left out. */
void fth_text_table(const struct fth_table *table, const struct fth_report_options *options,
                    struct fth_buffer *out);
/* As fth_text_table, with `drop` instead of that of the options. */
void fth_text_table_fit(const struct fth_table *table, const char *const *drop,
                        const struct fth_report_options *options, struct fth_buffer *out);

/* Returns the width from which on such a table has all columns. */
size_t fth_text_table_least(const struct fth_table *table,
                            const struct fth_report_options *options);
/* Appends lines of prose without colours, and releases them. Lines that are wider than the width
 * are broken; the further lines are indented by two more spaces. */
void fth_write_prose(struct fth_buffer *text, const struct fth_report_options *options,
                     struct fth_buffer *out);

/* ---- plot.c ---- */

/* Appends a plot of the columns x, y and by of a series, with a legend. */
void fth_text_plot(const struct fth_bench_series *series, const struct fth_report_options *options,
                   struct fth_buffer *out);

/* ---- findings.c ---- */

/* Appends the findings about L2, TLBs and latency patterns that the description contains. */
void fth_write_findings(const struct fth_gpu *gpu, const struct fth_report_options *options,
                        struct fth_buffer *out);

/* ---- fleet/judgement.c ---- */

/* Fails with FTH_INVALID if fth_report_judgement has no such format. */
FTH_MUST_USE enum fth_status fth_judgement_check(const char *format, struct fth_error *error);

/* ---- draw.c: blocks of text, which can be framed, placed side by side and stacked ---- */

/* Lines of `width` columns each. A block lives in the arena of its drawing. */
struct fth_block {
    const char **lines;
    size_t count;
    size_t width;
};

struct fth_drawing {
    struct fth_arena arena;
    bool utf8;
    bool failed; /* out of memory: the drawing is incomplete */
};

void fth_drawing_fini(struct fth_drawing *drawing);
/* Draws a frame around a block, with a title in the top edge. The frame is at least `width` columns
 * wide, and wider if the content needs it. `width` 0: as wide as content and title need. Text is
 * made printable; a title that does not fit is cut. */
struct fth_block fth_draw_box(struct fth_drawing *drawing, const char *title,
                              const struct fth_block *content, size_t width);
/* Makes a block of plain lines, as wide as the longest. */
struct fth_block fth_draw_lines(struct fth_drawing *drawing, const char *const *lines,
                                size_t count);
/* Places blocks side by side. A new row begins where the next block would exceed `width` columns.
 */
struct fth_block fth_draw_flow(struct fth_drawing *drawing, const struct fth_block *blocks,
                               size_t count, size_t width);
/* Places blocks below each other. */
struct fth_block fth_draw_stack(struct fth_drawing *drawing, const struct fth_block *blocks,
                                size_t count);

#endif
