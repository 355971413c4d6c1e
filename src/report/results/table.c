/* The cells of tables that are built one by one. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void fth_cells_put(struct fth_cells *cells, const char *text, double number)
{
    if (fth_grow((void **)&cells->items, cells->count, &cells->capacity, sizeof *cells->items))
        cells->items[cells->count++] = (struct fth_cell){text, number};
    else
        cells->failed = true;
}

void fth_cells_put_text(struct fth_cells *cells, const char *text)
{
    fth_cells_put(cells, text, NAN);
}

void fth_table_leave_out(struct fth_cells *cells, struct fth_table *table, const char *key)
{
    const size_t count = table->column_count;
    size_t at = 0, kept = 0;
    while (at < count && strcmp(table->columns[at].key, key) != 0)
        at++;
    if (at == count)
        return;
    struct fth_column *columns = fth_arena_array(&cells->arena, count, sizeof *columns);
    if (!columns) {
        cells->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (i != at)
            columns[kept++] = table->columns[i];
    kept = 0;
    for (size_t i = 0; i < cells->count; i++)
        if (i % count != at)
            cells->items[kept++] = cells->items[i];
    cells->count = kept;
    table->columns = columns;
    table->column_count = count - 1;
}

void fth_cells_fini(struct fth_cells *cells)
{
    free(cells->items);
    fth_arena_fini(&cells->arena);
}
