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

/* An instruction and its number. */
struct numbered {
    const struct fth_trace_instruction *instruction;
    uint32_t number;
};

static int compare_numbers(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

/* Compares by everything in which instructions of a launch can differ. */
static int compare_places(const void *a, const void *b)
{
    const struct fth_trace_instruction *x = ((const struct numbered *)a)->instruction;
    const struct fth_trace_instruction *y = ((const struct numbered *)b)->instruction;
    const int orders[] = {compare_numbers(x->line, y->line),
                          compare_numbers(x->index, y->index),
                          compare_numbers((uint32_t)x->kind, (uint32_t)y->kind),
                          compare_numbers(x->bytes, y->bytes),
                          compare_numbers(x->hints, y->hints),
                          compare_numbers(x->cache_op, y->cache_op),
                          compare_numbers(x->wait, y->wait)};
    for (size_t i = 0; i < FTH_COUNT(orders); i++)
        if (orders[i])
            return orders[i];
    return 0;
}

uint32_t *fth_shared_order(const struct fth_shared_table *table,
                           const struct fth_trace_instruction *instructions, size_t *count)
{
    struct numbered *found = calloc(table->count + 1, sizeof *found);
    uint32_t *order = calloc(table->count + 1, sizeof *order);
    *count = 0;
    for (size_t i = 0; found && i < table->count; i++)
        if (table->rows[i].requests)
            found[(*count)++] = (struct numbered){&instructions[i], (uint32_t)i};
    if (found && *count)
        qsort(found, *count, sizeof *found, compare_places);
    for (size_t i = 0; found && order && i < *count; i++)
        order[i] = found[i].number;
    if (!found) {
        free(order);
        order = NULL;
    }
    free(found);
    return order;
}

void fth_put_shared(const struct fth_trace_shared *row, uint32_t id, struct fth_buffer *out)
{
    const uint64_t numbers[] = {id,
                                row->requests,
                                row->threads,
                                row->wavefronts,
                                row->ideal_wavefronts,
                                row->padded_wavefronts};
    for (size_t i = 0; i < FTH_COUNT(numbers); i++)
        fth_put_varint(numbers[i], out);
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
