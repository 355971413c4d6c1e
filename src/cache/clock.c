/* Clock: a hand sweeps over the rows of a set and evicts one line of each row that it visits. The
 * L1 of an H200 works like this (docs/results/h200/l1-replacement.md).
 *
 * A set has storage for `ways` lines, but more tags than that. The tags are organised in *rows* of
 * `row_ways` tags each. A hash of the line number selects the row.
 *
 *      row 0   A . . .          tags: four per row here
 *   -> row 1   B F . .          the hand is at row 1: it evicts B or F and moves to row 2
 *      row 2   . . . .          an empty row is skipped
 *      row 3   C D E G          a further line of this row replaces one of C, D, E, G
 *
 *   - If all tags of its row are in use, a new line replaces the least recently used line of the
 *     row.
 *   - Otherwise, if the set is full, the hand advances until it has evicted one line. If the next
 *     access of the set is a miss of this kind, too, the hand evicts further lines, BURST in total
 *     with the one before.
 *   - Within a row, the hand evicts the least recently used of the lines that were not hit since
 *     they were filled. If all lines of the row were hit, it evicts the least recently used one.
 *
 * An access takes constant time on average. */
#include "cache/cache.h"

#include <string.h>

enum {
    /* Lines that the hand evicts for two misses in succession. An H200 keeps storage for one more
     * line than it can hold permanently. If a miss needs this storage before a line was evicted in
     * the background, the H200 evicts five lines at once. */
    BURST = 5,
    /* Rows per set and tags per row of an H200, if the configuration does not have them. */
    DEFAULT_ROWS = 128,
    DEFAULT_ROW_WAYS = 4
};

/* The row of an H200 is a hash of the line number that consists of XORs: each of these values is
 * XORed if the corresponding bit is set, the lowest bit first. Measured for 128 rows; the bits are
 * the lowest seven of a line's number in its set. */
static const uint8_t row_hash[] = {97, 22, 108, 12, 50, 57, 111};

struct row {
    uint32_t valid; /* tags that are in use, one bit per tag */
    uint32_t hit;   /* those of them whose lines were hit since they were filled */
};

struct hand_set {
    uint32_t hand;  /* the row that the hand visits next */
    uint32_t lines; /* number of lines in the set */
    bool pressed;   /* the last access was a miss for which the hand evicted one line */
};

struct clock {
    uint32_t rows, row_ways; /* per set and per row */
    unsigned row_bits;       /* log2(rows) */
    uint32_t *order;         /* [rows] the row of each value of the folded number; see row_of */
    uint32_t new_row;        /* row of the line that is being placed, counted over all sets */
    struct hand_set *sets;   /* [sets] */
    struct row *row;         /* [sets * rows] */
    uint32_t *tags;          /* [sets * rows * row_ways] slot of each tag that is in use */
    uint32_t *tag_of;        /* [slots] index into `tags` */
    uint64_t *last_use;      /* [sets * rows * row_ways] value of `now` at the last use of a line */
    uint64_t now;            /* number of fills and hits so far */
};

static enum fth_status check(const struct fth_cache *cache, const struct fth_cache_config *config,
                             const struct clock *clock, struct fth_error *error)
{
    static const char operation[] = "build a cache";
    if (config->write == FTH_WRITE_BACK)
        return fth_fail(error, FTH_INVALID, operation, "policy",
                        "clock evicts several lines at once, which a write-back cache cannot do");
    if (clock->rows & (clock->rows - 1) || clock->rows > FTH_CLOCK_MAX_ROWS)
        return fth_fail(error, FTH_INVALID, operation, "rows",
                        "%llu is not a power of two up to %u", (unsigned long long)config->rows,
                        FTH_CLOCK_MAX_ROWS);
    if (clock->row_ways > FTH_CLOCK_MAX_ROW_WAYS)
        return fth_fail(error, FTH_INVALID, operation, "row_ways", "%llu is more than %u",
                        (unsigned long long)config->row_ways, FTH_CLOCK_MAX_ROW_WAYS);
    if ((uint64_t)clock->rows * clock->row_ways < cache->max_ways)
        return fth_fail(error, FTH_INVALID, operation, "rows",
                        "%u rows of %u tags are less than the %u ways of a set", clock->rows,
                        clock->row_ways, cache->max_ways);
    return FTH_OK;
}

/* Limits a number of the configuration, so that it fits into 32 bits. */
static uint32_t limited(uint64_t number)
{
    return (uint32_t)FTH_MIN(number, UINT32_MAX);
}

/* Neighbouring lines must not be neighbouring rows, as on an H200: a program that reads an array in
 * order would otherwise run after the hand or ahead of it. With at least 128 rows, the lowest seven
 * bits are hashed like those of an H200. With fewer rows, a multiplication by an odd number near
 * rows / golden ratio distributes the lines. */
static void fill_order(struct clock *clock)
{
    const uint32_t hashed = (uint32_t)1 << FTH_COUNT(row_hash);
    const uint32_t factor = (uint32_t)((uint64_t)clock->rows * 618 / 1000) | 1;
    for (uint32_t value = 0; value < clock->rows; value++) {
        uint32_t row = value & ~(hashed - 1);
        for (size_t bit = 0; bit < FTH_COUNT(row_hash); bit++)
            row ^= value >> bit & 1 ? row_hash[bit] : 0;
        clock->order[value] = clock->rows < hashed ? value * factor & (clock->rows - 1) : row;
    }
}

static enum fth_status init(struct fth_cache *cache, const struct fth_cache_config *config,
                            struct fth_error *error)
{
    struct fth_arena *arena = &cache->arena;
    struct clock *clock = fth_arena_alloc(arena, sizeof *clock);
    if (!clock)
        return fth_no_memory(error, "build a cache", "policy");
    *clock =
        (struct clock){.rows = config->rows ? limited(config->rows) : DEFAULT_ROWS,
                       .row_ways = config->row_ways ? limited(config->row_ways) : DEFAULT_ROW_WAYS};
    while (!config->rows && clock->rows < FTH_CLOCK_MAX_ROWS &&
           (uint64_t)clock->rows * clock->row_ways < cache->max_ways)
        clock->rows *= 2;
    FTH_TRY(check(cache, config, clock, error));
    while ((uint32_t)1 << clock->row_bits < clock->rows)
        clock->row_bits++;
    const size_t rows = (size_t)cache->sets * clock->rows;
    clock->sets = fth_arena_array(arena, cache->sets, sizeof *clock->sets);
    clock->row = fth_arena_array(arena, rows, sizeof *clock->row);
    clock->tags = fth_arena_array(arena, rows, clock->row_ways * sizeof *clock->tags);
    clock->tag_of = fth_arena_array(arena, cache->slots, sizeof *clock->tag_of);
    clock->order = fth_arena_array(arena, clock->rows, sizeof *clock->order);
    clock->last_use = fth_arena_array(arena, rows, clock->row_ways * sizeof *clock->last_use);
    if (!clock->sets || !clock->row || !clock->tags || !clock->tag_of || !clock->order ||
        !clock->last_use)
        return fth_no_memory(error, "build a cache", "policy");
    fill_order(clock);
    cache->policy_state = clock;
    return FTH_OK;
}

static void clear(struct fth_cache *cache)
{
    struct clock *clock = cache->policy_state;
    memset(clock->row, 0, (size_t)cache->sets * clock->rows * sizeof *clock->row);
    for (uint32_t set = 0; set < cache->sets; set++)
        clock->sets[set] = (struct hand_set){.hand = clock->sets[set].hand};
}

/* On an H200, the hands keep their positions when a launch empties the L1. */
static void reset(struct fth_cache *cache)
{
    struct clock *clock = cache->policy_state;
    for (uint32_t set = 0; set < cache->sets; set++)
        clock->sets[set].hand = 0;
}

/* Returns the number of the line among the lines of its set: 0, 1, 2, … for the lines of a set of
 * an array that starts at address 0. */
static uint64_t number_in_set(const struct fth_cache *cache, uint64_t line)
{
    const struct fth_index *index = &cache->index;
    if (index->kind == FTH_INDEX_BITS) { /* remove the bits that select the set */
        uint64_t number = 0, place = 1, selects = 0;
        for (unsigned i = 0; i < index->bit_count; i++)
            selects |= (uint64_t)1 << index->bits[i];
        for (; line; line >>= 1, selects >>= 1)
            if (!(selects & 1)) {
                number |= line & 1 ? place : 0;
                place <<= 1;
            }
        return number;
    }
    if (index->kind == FTH_INDEX_FOLD)
        return index->shift < 64 ? line >> index->shift : 0;
    if (index->kind == FTH_INDEX_ROUND_ROBIN)
        return line / cache->sets;
    const uint64_t low = line & (((uint64_t)1 << index->shift) - 1);
    return (line >> index->shift) / index->modulus << index->shift | low;
}

/* Returns the row of a line. Its number in the set is folded: all groups of row_bits bits are
 * XORed. A table maps the result to a row. Any `rows` consecutive and aligned numbers have
 * different rows.
 */
static uint32_t row_of(const struct fth_cache *cache, const struct clock *clock, uint32_t set,
                       uint64_t line)
{
    uint64_t number = number_in_set(cache, line);
    for (unsigned step = clock->row_bits; step && step < 64; step *= 2)
        number ^= number >> step;
    return set * clock->rows + clock->order[number & (clock->rows - 1)];
}

/* Returns the slot of the least recently used line of a row, among those whose bit in `candidates`
 * is set. */
static uint32_t oldest(const struct clock *clock, uint32_t row, uint32_t candidates)
{
    const size_t first = (size_t)row * clock->row_ways;
    size_t found = first + (uint32_t)__builtin_ctz(candidates);
    for (uint32_t left = candidates & (candidates - 1); left; left &= left - 1) {
        const size_t tag = first + (uint32_t)__builtin_ctz(left);
        found = clock->last_use[tag] < clock->last_use[found] ? tag : found;
    }
    return clock->tags[found];
}

/* Advances the hand until it has evicted `count` lines or the set is empty. */
static void sweep(struct fth_cache *cache, uint32_t set, uint32_t count,
                  struct fth_cache_result *result)
{
    struct clock *clock = cache->policy_state;
    struct hand_set *state = &clock->sets[set];
    while (count && state->lines) {
        const uint32_t index = set * clock->rows + state->hand;
        const struct row *row = &clock->row[index];
        const uint32_t fresh = row->valid & ~row->hit;
        state->hand = (state->hand + 1) & (clock->rows - 1);
        if (row->valid) {
            fth_slot_free(cache, set, oldest(clock, index, fresh ? fresh : row->valid), result);
            count--;
        }
    }
}

static void make_room(struct fth_cache *cache, uint32_t set, uint64_t line,
                      struct fth_cache_result *result)
{
    struct clock *clock = cache->policy_state;
    struct hand_set *state = &clock->sets[set];
    const uint32_t full = UINT32_MAX >> (32 - clock->row_ways);
    clock->new_row = row_of(cache, clock, set, line);
    if (clock->row[clock->new_row].valid == full) {
        state->pressed = false;
        fth_slot_free(cache, set, oldest(clock, clock->new_row, full), result);
    } else if (state->lines == fth_set_first(cache, set + 1) - fth_set_first(cache, set)) {
        sweep(cache, set, state->pressed ? BURST - 1 : 1, result);
        state->pressed = !state->pressed;
    }
}

static void added(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    struct clock *clock = cache->policy_state;
    struct row *row = &clock->row[clock->new_row];
    const uint32_t tag = (uint32_t)__builtin_ctz(~row->valid);
    const uint32_t index = clock->new_row * clock->row_ways + tag;
    row->valid |= (uint32_t)1 << tag;
    clock->tags[index] = slot;
    clock->tag_of[slot] = index;
    clock->last_use[index] = ++clock->now;
    clock->sets[set].lines++;
}

static void used(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    struct clock *clock = cache->policy_state;
    const uint32_t index = clock->tag_of[slot];
    struct row *row = &clock->row[index / clock->row_ways];
    row->hit |= (uint32_t)1 << index % clock->row_ways;
    clock->last_use[index] = ++clock->now;
    clock->sets[set].pressed = false;
}

static void removed(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    struct clock *clock = cache->policy_state;
    const uint32_t index = clock->tag_of[slot];
    struct row *row = &clock->row[index / clock->row_ways];
    row->valid &= ~((uint32_t)1 << index % clock->row_ways);
    row->hit &= row->valid;
    clock->sets[set].lines--;
}

const struct fth_policy fth_policy_clock = {
    .name = "clock",
    .init = init,
    .clear = clear,
    .reset = reset,
    .make_room = make_room,
    .added = added,
    .used = used,
    .removed = removed,
};
