/* Counts of the accesses to shared memory, by launch and instruction, and their form in a trace
 * file. They are parts of their own (FTH_PART_SHARED), which were added to the format later: older
 * versions of fathom skip them, and older files do not have them. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

struct fth_trace_shared *fth_shared_row(struct fth_shared_table *table, size_t instruction)
{
    if (instruction >= table->capacity) {
        const size_t capacity = 2 * instruction + 16;
        struct fth_trace_shared *rows = realloc(table->rows, capacity * sizeof *rows);
        if (!rows)
            return NULL;
        memset(rows + table->capacity, 0, (capacity - table->capacity) * sizeof *rows);
        table->rows = rows;
        table->capacity = capacity;
    }
    table->count = instruction < table->count ? table->count : instruction + 1;
    return &table->rows[instruction];
}

bool fth_shared_table_add(struct fth_shared_table *table, const struct fth_shared_table *more)
{
    for (size_t i = 0; i < more->count; i++) {
        const struct fth_trace_shared *from = &more->rows[i];
        struct fth_trace_shared *row = from->requests ? fth_shared_row(table, i) : NULL;
        if (from->requests && !row)
            return false;
        if (!row)
            continue;
        row->requests += from->requests;
        row->threads += from->threads;
        row->wavefronts += from->wavefronts;
        row->ideal_wavefronts += from->ideal_wavefronts;
        row->padded_wavefronts += from->padded_wavefronts;
    }
    return true;
}

void fth_shared_table_fini(struct fth_shared_table *table)
{
    free(table->rows);
    *table = (struct fth_shared_table){0};
}

/* ---- encoding ---- */

void fth_put_shared(const struct fth_shared_table *table, size_t launch, const uint32_t *ids,
                    struct fth_buffer *out)
{
    fth_put_varint(launch, out);
    for (size_t i = 0; i < table->count; i++) {
        const struct fth_trace_shared *row = &table->rows[i];
        if (!row->requests)
            continue;
        const uint64_t numbers[] = {ids[i],          row->requests,         row->threads,
                                    row->wavefronts, row->ideal_wavefronts, row->padded_wavefronts};
        for (size_t k = 0; k < FTH_COUNT(numbers); k++)
            fth_put_varint(numbers[k], out);
    }
}

/* Decodes the rows of a launch, up to the end of the bytes. */
static bool get_rows(struct fth_bytes *bytes, const struct fth_trace_instruction *instructions,
                     size_t instruction_count, struct fth_shared_table *table)
{
    while (bytes->at < bytes->end) {
        struct fth_trace_shared row = {.instruction = fth_get_varint32(bytes)};
        row.requests = fth_get_varint(bytes);
        row.threads = fth_get_varint(bytes);
        row.wavefronts = fth_get_varint(bytes);
        row.ideal_wavefronts = fth_get_varint(bytes);
        row.padded_wavefronts = fth_get_varint(bytes);
        if (bytes->failed || row.instruction >= instruction_count ||
            !(instructions[row.instruction].hints & FTH_TRACE_SHARED) || !row.requests)
            return false;
        if (!fth_grow((void **)&table->rows, table->count, &table->capacity, sizeof row)) {
            bytes->no_memory = true;
            return false;
        }
        table->rows[table->count++] = row;
    }
    return true;
}

bool fth_shared_tables_get(struct fth_shared_tables *tables, struct fth_bytes *bytes,
                           size_t launch_count, const struct fth_trace_instruction *instructions,
                           size_t instruction_count)
{
    const uint64_t launch = fth_get_varint(bytes);
    if (bytes->failed || launch >= launch_count)
        return false;
    if (tables->count < launch_count) {
        struct fth_shared_table *items = realloc(tables->items, launch_count * sizeof *items);
        bytes->no_memory = !items;
        if (!items)
            return false;
        memset(items + tables->count, 0, (launch_count - tables->count) * sizeof *items);
        *tables = (struct fth_shared_tables){.items = items, .count = launch_count};
    }
    struct fth_shared_table *table = &tables->items[launch];
    return !table->count && get_rows(bytes, instructions, instruction_count, table);
}

const struct fth_trace_shared *fth_shared_tables_at(const struct fth_shared_tables *tables,
                                                    size_t launch, size_t index)
{
    const struct fth_shared_table *table = launch < tables->count ? &tables->items[launch] : NULL;
    return table && index < table->count ? &table->rows[index] : NULL;
}

void fth_shared_tables_fini(struct fth_shared_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++)
        fth_shared_table_fini(&tables->items[i]);
    free(tables->items);
    *tables = (struct fth_shared_tables){0};
}
