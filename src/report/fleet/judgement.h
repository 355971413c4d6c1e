/* report/fleet/: writes judgements of fleets (fleet/fleet.h).
 *
 *   judgement.c             the formats; parts that several of them use
 *   judgement_text.c        text: the GPUs that are not healthy, groups, what was not judged
 *   judgement_cohorts.c     text: the usual figures of each cohort
 *   judgement_json.c        fathom-fleet/2 documents
 *   judgement_heat.c        their heat map
 *   judgement_csv.c         CSV: findings, or all figures in long form
 *   judgement_lines.c       JSON lines, one per GPU
 *   judgement_prometheus.c  the text exposition format of Prometheus
 *   fleet_report.c          fth_report_fleet: descriptions as a fleet, judged and written
 */
#ifndef FTH_JUDGEMENT_H
#define FTH_JUDGEMENT_H

#include "fleet/fleet.h"
#include "report/report.h"

/* Append a judgement in a format. `options` is never NULL. */
typedef void fth_judgement_writer(const struct fth_fleet_judgement *judgement,
                                  const struct fth_report_options *options, struct fth_buffer *out);
fth_judgement_writer fth_judgement_text, fth_judgement_json, fth_judgement_csv, fth_judgement_long,
    fth_judgement_lines, fth_judgement_prometheus;

/* ---- judgement.c ---- */

/* Returns a verdict as a word: "healthy", "suspect", "failed", "not_judged". */
const char *fth_verdict_name(enum fth_fleet_verdict verdict);
/* Returns a GPU of the judgement's fleet. */
const struct fth_fleet_gpu *fth_judged_gpu(const struct fth_fleet_judgement *judgement,
                                           const struct fth_fleet_result *result);
/* Returns the results, the worst first: failed, suspect, not judged, healthy; within a verdict, the
 * least probable first. The caller frees the array. NULL: no memory; sets `out->failed`. */
const struct fth_fleet_result **fth_judgement_order(const struct fth_fleet_judgement *judgement,
                                                    struct fth_buffer *out);
/* Returns the last measurement of a GPU; NULL: it has none. */
const struct fth_fleet_measurement *fth_last_measurement(const struct fth_fleet *fleet,
                                                         const struct fth_fleet_gpu *gpu);
/* Returns the summary of a figure in the cohort of a GPU; NULL: there is none. */
const struct fth_fleet_figure_summary *fth_judged_figure(
    const struct fth_fleet_judgement *judgement, const struct fth_fleet_gpu *gpu, const char *name);
/* Writes a time as ISO 8601 in UTC into `text`, "" if it is unknown. Returns `text`. */
const char *fth_time_format(int64_t time, char text[32]);
/* Rounds a number to `digits` significant digits; whole numbers up to 2^53 stay as they are. */
double fth_round_digits(double number, int digits);
/* Writes a text, or null. Bytes of file names that are not UTF-8 become '?'. */
void fth_json_text_or_null(struct fth_json_writer *json, const char *text);

/* ---- judgement_heat.c ---- */

/* Writes the heat map of a judgement as the value of the current key. Returns false without memory.
 */
bool fth_judgement_heat_map(const struct fth_fleet_judgement *judgement,
                            struct fth_json_writer *json);

/* ---- judgement_text.c, judgement_cohorts.c ---- */

/* Appends `before`, a text that comes from a file, made printable, and `after`. Appends nothing if
 * the text is NULL. */
void fth_foreign_text(const char *before, const char *text, const char *after,
                      struct fth_buffer *out);
/* Appends a number of a figure with a unit, chosen by the end of the figure's name. */
void fth_figure_text(const char *figure, double number, struct fth_buffer *out);
/* Appends the usual figures of each cohort, and the figures that could not be judged. */
void fth_judgement_cohorts(const struct fth_fleet_judgement *judgement,
                           const struct fth_report_options *options, struct fth_buffer *out);

#endif
