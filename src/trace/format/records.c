/* Lists of accesses in memory, before they are written. Most accesses have equal distances between
 * the addresses of their lanes and need no memory beyond struct fth_record. */
#include "ptx/ptx.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 32 };

/* Makes sure that the pool has space for `more` address differences. Returns false if memory is
 * exhausted. */
static bool pool_reserve(struct fth_records *records, size_t more)
{
    if (records->pool_capacity - records->pool_count >= more)
        return true;
    size_t capacity = 2 * records->pool_capacity + more + 1024;
    uint64_t *pool = realloc(records->pool, capacity * sizeof *pool);
    if (!pool)
        return false;
    records->pool = pool;
    records->pool_capacity = capacity;
    return true;
}

/* Adds a copy of a record, and returns it. NULL: memory is exhausted. */
static inline struct fth_record *add(struct fth_records *records, const struct fth_record *record)
{
    if (records->count == records->capacity &&
        !fth_grow((void **)&records->items, records->count, &records->capacity,
                  sizeof *records->items))
        return NULL;
    struct fth_record *item = &records->items[records->count++];
    *item = *record;
    return item;
}

bool fth_records_add(struct fth_records *records, const struct fth_record *record,
                     const uint64_t *addresses)
{
    const unsigned count = (unsigned)__builtin_popcount(record->mask);
    const uint64_t step = count > 1 ? addresses[1] - addresses[0] : 0;
    uint64_t unequal = 0; /* without a branch, so that the compiler can vectorise the loop */
    for (unsigned i = 1; i < count; i++)
        unequal |= (addresses[i] - addresses[i - 1]) ^ step;
    if (unequal && !pool_reserve(records, count - 1))
        return false;
    struct fth_record *item = add(records, record);
    if (!item)
        return false;
    item->first = addresses[0];
    item->lanes = unequal ? FTH_LANES_LISTED : FTH_LANES_AFFINE;
    item->step = unequal ? records->pool_count : step;
    if (!unequal)
        return true;
    for (unsigned i = 1; i < count; i++)
        records->pool[records->pool_count++] = addresses[i] - addresses[i - 1];
    records->step_count += count - 1;
    return true;
}

/* Returns the address of a lane. */
static uint64_t address_of(const struct fth_ptx_linear *addresses, uint32_t row_lanes,
                           uint32_t lane)
{
    return addresses->base + lane % row_lanes * addresses->step +
           lane / row_lanes * addresses->row_step;
}

static bool fits_32_bits(uint64_t difference)
{
    return difference == (uint64_t)(int32_t)difference;
}

bool fth_records_add_linear(struct fth_records *records, const struct fth_record *record,
                            const struct fth_ptx_linear *addresses, uint32_t row_lanes)
{
    const uint64_t step = addresses->step, end_step = addresses->row_step - (row_lanes - 1) * step;
    const uint32_t mask = record->mask, lane = (uint32_t)__builtin_ctz(mask),
                   shifted = mask >> lane;
    const bool consecutive = (shifted & (shifted + 1)) == 0;
    const bool equal = row_lanes == LANES || end_step == step;
    const bool uniform = (step | addresses->row_step) == 0;
    if ((equal && consecutive) || uniform) {
        struct fth_record *item = add(records, record);
        if (!item)
            return false;
        item->first = addresses->base + lane * step;
        item->step = shifted > 1 ? step : 0;
        item->lanes = FTH_LANES_AFFINE;
        return true;
    }
    if (mask == UINT32_MAX && fits_32_bits(step) && fits_32_bits(end_step)) {
        struct fth_record *item = add(records, record);
        if (!item)
            return false;
        item->first = addresses->base;
        item->step = end_step << 32 | (uint32_t)step;
        item->lanes = FTH_LANES_ROWS;
        item->row_lanes = (uint8_t)row_lanes;
        records->step_count += LANES - 1;
        return true;
    }
    uint64_t active[LANES] = {0};
    size_t count = 0;
    for (uint32_t left = mask; left; left &= left - 1)
        active[count++] = address_of(addresses, row_lanes, (uint32_t)__builtin_ctz(left));
    return fth_records_add(records, record, active);
}

const uint64_t *fth_record_steps(const struct fth_records *records, const struct fth_record *record,
                                 uint64_t steps[31])
{
    if (record->lanes == FTH_LANES_LISTED)
        return records->pool + record->step;
    const uint64_t step = (uint64_t)(int32_t)record->step;
    const uint64_t end_step = (uint64_t)(int32_t)(record->step >> 32);
    for (unsigned i = 0; i < LANES - 1; i++)
        steps[i] = (i + 1) % record->row_lanes ? step : end_step;
    return steps;
}

bool fth_records_append(struct fth_records *records, const struct fth_records *more)
{
    size_t needed = records->count + more->count;
    if (needed > records->capacity) {
        size_t capacity = needed + needed / 2;
        struct fth_record *items = realloc(records->items, capacity * sizeof *items);
        if (!items)
            return false;
        records->items = items;
        records->capacity = capacity;
    }
    if (more->pool_count && !pool_reserve(records, more->pool_count))
        return false;
    if (more->count)
        memcpy(records->items + records->count, more->items, more->count * sizeof *more->items);
    /* The pool of `more` is appended. */
    for (size_t i = records->count; i < needed && more->pool_count; i++)
        if (records->items[i].lanes == FTH_LANES_LISTED)
            records->items[i].step += records->pool_count;
    if (more->pool_count)
        memcpy(records->pool + records->pool_count, more->pool,
               more->pool_count * sizeof *more->pool);
    records->count = needed;
    records->pool_count += more->pool_count;
    records->step_count += more->step_count;
    return true;
}

void fth_records_clear(struct fth_records *records)
{
    records->count = records->pool_count = records->step_count = 0;
}

void fth_records_fini(struct fth_records *records)
{
    free(records->items);
    free(records->pool);
    *records = (struct fth_records){0};
}

size_t fth_records_bytes(const struct fth_records *records)
{
    return records->count * sizeof *records->items + records->pool_count * sizeof *records->pool;
}
