/* The points of an exploration as rows, for points_table.c. */
#ifndef FTH_POINTS_ROWS_H
#define FTH_POINTS_ROWS_H

#include "report/report.h"

/* Varied parameters; further ones are not shown. */
enum { FTH_POINTS_MAX_NAMES = 64 };

/* The figures of a row; NAN: the row does not have it. */
enum fth_point_figure {
    FTH_POINT_L1_READS, /* sectors */
    FTH_POINT_L1_HIT,   /* percent of the read sectors */
    FTH_POINT_L1_MERGED,
    FTH_POINT_L1_FAILS,
    FTH_POINT_L1_STEPS,
    FTH_POINT_L2_SECTORS,
    FTH_POINT_L2_ALL_HIT, /* percent of all sectors */
    FTH_POINT_L2_HIT,     /* percent of the read sectors */
    FTH_POINT_L2_OFF_HIT, /* the same, without L1 */
    FTH_POINT_L2_STEPS,
    FTH_POINT_TIME, /* microseconds */
    FTH_POINT_L2_BYTES,
    FTH_POINT_DRAM_BYTES,
    FTH_POINT_FLOOR, /* microseconds */
    FTH_POINT_FIGURES
};

/* A kernel of a point. The texts live in the arena; a text is NULL if there is none. */
struct fth_point_row {
    size_t point; /* index of fth_point_rows.points */
    const char *kernel;
    double figures[FTH_POINT_FIGURES];
};

/* Sectors of reads of a level, over all kernels of a point. */
struct fth_point_reads {
    double sectors, hits;
};

struct fth_point_entry {
    double number;
    const char *study, *gpu, *trace;
    const char **values; /* [name_count] */
    enum { FTH_TIMED_UNKNOWN, FTH_TIMED_NO, FTH_TIMED_YES } timed;
    size_t first, count; /* its rows */
    struct fth_point_reads l1, l2;
    double
        totals[FTH_POINT_FIGURES]; /* sums over the rows; NAN if a row does not have the figure */
};

struct fth_point_rows {
    struct fth_arena arena;
    const char *names[FTH_POINTS_MAX_NAMES]; /* varied parameters */
    size_t name_count;
    struct fth_point_row *rows;
    size_t row_count, row_capacity;
    struct fth_point_entry *points;
    size_t point_count, point_capacity;
};

/* Reads the text of an exploration. The caller calls fth_point_rows_fini, also after a failure. */
FTH_MUST_USE enum fth_status fth_point_rows_read(struct fth_point_rows *rows, const char *text,
                                                 size_t size, struct fth_error *error);
void fth_point_rows_fini(struct fth_point_rows *rows);

/* The points that a view shows, in its order. */
struct fth_point_order {
    size_t *points; /* [count] indices of fth_point_rows.points */
    size_t count;
    struct fth_buffer notes; /* lines about the best points, for text */
};

/* ---- points_order.c ---- */

/* Chooses and sorts the points of a view. The caller calls fth_point_order_fini, also after a
 * failure. Statuses are those of fth_report_points_view. */
FTH_MUST_USE enum fth_status fth_point_order_find(const struct fth_point_rows *rows,
                                                  const struct fth_points_view *view,
                                                  struct fth_point_order *order,
                                                  struct fth_error *error);
void fth_point_order_fini(struct fth_point_order *order);

#endif
