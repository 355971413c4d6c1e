/* The heat map of a fathom-fleet/2 document: how far the figures of each host are from the usual
 * values, one character per figure. */
#include "report/fleet/judgement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits of the heat map, chosen: rows, and bytes of their list. A row takes one byte per figure
 * and about 50 more. */
enum { MAX_ROWS = 1500, MAX_ROW_BYTES = 200000 };

/* A row: a host or, where the host is unknown, a GPU. */
struct row {
    const char *name;
    size_t gpus;
    char *cells; /* per column, '.' or '0' to '9' */
    double worst;
};

struct map {
    const struct fth_fleet_judgement *judgement;
    struct row *rows;
    size_t count;
    char *cells; /* of all rows */
};

static const char *row_name(const struct fth_fleet_gpu *gpu)
{
    return gpu->host ? gpu->host : gpu->name;
}

static int by_name(const void *a, const void *b)
{
    const struct fth_fleet_gpu *first = *(const struct fth_fleet_gpu *const *)a;
    const struct fth_fleet_gpu *second = *(const struct fth_fleet_gpu *const *)b;
    return strcmp(row_name(first), row_name(second));
}

/* The worst first; rows that are equally bad by name. */
static int by_badness(const void *a, const void *b)
{
    const struct row *first = a, *second = b;
    if (first->worst != second->worst)
        return first->worst > second->worst ? -1 : 1;
    return strcmp(first->name, second->name);
}

/* Enters the distances of a GPU into its row. */
static void add_scores(const struct fth_fleet_judgement *judgement, const float *scores,
                       struct row *row)
{
    for (size_t i = 0; scores && i < judgement->column_count; i++) {
        if (isnan(scores[i]))
            continue;
        const double score = scores[i] > 0 ? (double)scores[i] : 0;
        const char cell = (char)('0' + (score >= 9 ? 9 : (int)score));
        if (row->cells[i] == '.' || cell > row->cells[i])
            row->cells[i] = cell;
        row->worst = score > row->worst ? score : row->worst;
    }
}

/* Makes the rows from the GPUs, which are in the order of their rows' names. */
static bool make_rows(struct map *map, const struct fth_fleet_gpu *const *gpus)
{
    const struct fth_fleet *fleet = map->judgement->fleet;
    const size_t columns = map->judgement->column_count;
    map->rows = calloc(fleet->gpu_count + 1, sizeof *map->rows);
    map->cells = malloc(fleet->gpu_count * columns + 1);
    if (!map->rows || !map->cells)
        return false;
    memset(map->cells, '.', fleet->gpu_count * columns);
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        const char *name = row_name(gpus[i]);
        if (!map->count || strcmp(map->rows[map->count - 1].name, name) != 0) {
            map->rows[map->count] =
                (struct row){.name = name, .cells = map->cells + map->count * columns};
            map->count++;
        }
        struct row *row = &map->rows[map->count - 1];
        row->gpus++;
        add_scores(map->judgement, map->judgement->results[gpus[i] - fleet->gpus].scores, row);
    }
    qsort(map->rows, map->count, sizeof *map->rows, by_badness);
    return true;
}

static void put_rows(const struct map *map, struct fth_json_writer *json)
{
    struct fth_buffer cells = {0};
    const size_t start = json->out->size;
    size_t listed = 0;
    fth_json_key(json, "rows");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; i < map->count && i < MAX_ROWS && json->out->size - start <= MAX_ROW_BYTES;
         i++) {
        cells.size = 0;
        fth_buffer_append(&cells, map->rows[i].cells, map->judgement->column_count);
        fth_json_begin(json, '{', true);
        fth_json_key(json, "name");
        fth_json_text_or_null(json, map->rows[i].name);
        fth_json_key(json, "gpus");
        fth_json_number(json, (double)map->rows[i].gpus);
        fth_json_key(json, "cells");
        fth_json_text(json, cells.data ? cells.data : "");
        fth_json_end(json, '}');
        listed++;
    }
    fth_json_end(json, ']');
    fth_json_key(json, "rows_left_out");
    fth_json_number(json, (double)(map->count - listed));
    json->out->failed = json->out->failed || cells.failed;
    fth_buffer_fini(&cells);
}

bool fth_judgement_heat_map(const struct fth_fleet_judgement *judgement,
                            struct fth_json_writer *json)
{
    const struct fth_fleet *fleet = judgement->fleet;
    struct map map = {.judgement = judgement};
    const struct fth_fleet_gpu **gpus = calloc(fleet->gpu_count + 1, sizeof(*gpus));
    bool made = gpus != NULL;
    for (size_t i = 0; made && i < fleet->gpu_count; i++)
        gpus[i] = &fleet->gpus[i];
    if (made) {
        qsort((void *)gpus, fleet->gpu_count, sizeof(*gpus), by_name);
        made = make_rows(&map, gpus);
    }
    fth_json_begin(json, '{', false);
    fth_json_key(json, "figures");
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < judgement->column_count; i++)
        fth_json_text(json, judgement->columns[i]);
    fth_json_end(json, ']');
    if (made)
        put_rows(&map, json);
    fth_json_end(json, '}');
    free(map.rows);
    free(map.cells);
    free((void *)gpus);
    return made;
}
