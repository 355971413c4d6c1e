/* Clock: a hand sweeps over the rows of a set and evicts one line of each row that it visits. The
 * L1 of an H200 works like this (docs/results/h200/l1-replacement.md).
 *
 * A set has storage for `ways` lines, but more tags than that. The tags are organised in *rows* of
 * `row_ways` tags each. A hash of the line number selects the row: the masks of the configuration,
 * or the one below.
 *
 *      row 0   A . . .          tags: four per row here
 *   -> row 1   B F . .          the hand is at row 1: it evicts B or F and moves to row 2
 *      row 2   . . . .          an empty row is skipped
 *      row 3   C D E G          a further line of this row replaces one of C, D, E, G
 *
 *   - If all tags of its row are in use, a new line replaces a line of the row.
 *   - Otherwise, if the set is full, the hand advances until it has evicted one line. If the next
 *     access of the set is a miss of this kind, too, the hand evicts further lines, BURST in total
 *     with the one before.
 *   - Both evict the least recently used of the lines of the row that were not hit since they were
 *     filled. If all lines of the row were hit, they evict the least recently used one. In a row
 *     without a free tag, the most recently used line counts as hit.
 *
 * Lines that wait for data are *pinned* until they have it (fth_cache_pin). Data that is under way
 * has its storage reserved:
 *
 *   - A line that is evicted while it is pinned keeps its storage. So a line that replaces a pinned
 *     line of a full row needs other storage; if the set is full, the hand evicts a line for it.
 *   - The hand skips a row if the line that it would evict is pinned.
 *   - If the hand finds nothing to evict in a complete turn, the access waits until the next pin of
 *     the set ends.
 *
 * An access takes constant time on average, except for those that wait. */
#include "cache/cache.h"

#include <string.h>

enum {
    /* Lines that the hand evicts for two misses in succession. An H200 keeps storage for one more
     * line than it can hold permanently. If a miss needs this storage before a line was evicted in
     * the background, the H200 evicts five lines at once. */
    BURST = 5,
    /* Rows per set and tags per row of an H200, if the configuration does not have them. */
    DEFAULT_ROWS = 128,
    DEFAULT_ROW_WAYS = 4,
    /* Maximum number of tags of all sets, as that of lines in cache.c. */
    MAX_TAGS = 1 << 26,
    HOST_LINE_BYTES = 64 /* on x86-64 and most AArch64: the unit of the host's caches */
};

/* The row of an H200 is a hash of the line number that consists of XORs: each of these values is
 * XORed if the corresponding bit is set, the lowest bit first. Measured for 128 rows; the bits are
 * the lowest seven of a line's number in its set. */
static const uint8_t row_hash[] = {97, 22, 108, 12, 50, 57, 111};

static enum fth_status check(const struct fth_cache *cache, const struct fth_cache_config *config,
                             const struct fth_clock *clock, struct fth_error *error)
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
    if (config->masks && (uint64_t)1 << config->masks->row_count != clock->rows)
        return fth_fail(error, FTH_INVALID, operation, "masks",
                        "%zu masks do not select one of %u rows", config->masks->row_count,
                        clock->rows);
    if ((uint64_t)clock->rows * clock->row_ways < cache->max_ways)
        return fth_fail(error, FTH_INVALID, operation, "rows",
                        "%u rows of %u tags are less than the %u ways of a set", clock->rows,
                        clock->row_ways, cache->max_ways);
    if ((uint64_t)cache->sets * clock->rows * clock->row_ways > MAX_TAGS)
        return fth_fail(error, FTH_INVALID, operation, "rows",
                        "%u sets with %u rows of %u tags have more than %u tags", cache->sets,
                        clock->rows, clock->row_ways, MAX_TAGS);
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
static void fill_order(struct fth_clock *clock)
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

/* Each tag is a slot, so a set has more slots than ways. */
static enum fth_status lay_out(struct fth_cache *cache, const struct fth_cache_config *config,
                               struct fth_error *error)
{
    struct fth_clock *clock = fth_arena_alloc(&cache->arena, sizeof *clock);
    if (!clock)
        return fth_no_memory(error, "build a cache", "policy");
    const bool fixed = config->rows || config->masks;
    clock->rows = config->rows    ? limited(config->rows)
                  : config->masks ? (uint32_t)1 << config->masks->row_count
                                  : DEFAULT_ROWS;
    clock->row_ways = config->row_ways ? limited(config->row_ways) : DEFAULT_ROW_WAYS;
    while (!fixed && clock->rows < FTH_CLOCK_MAX_ROWS &&
           (uint64_t)clock->rows * clock->row_ways < cache->max_ways)
        clock->rows *= 2;
    FTH_TRY(check(cache, config, clock, error));
    while ((uint32_t)1 << clock->row_bits < clock->rows)
        clock->row_bits++;
    while ((uint32_t)1 << clock->row_shift < clock->row_ways)
        clock->row_shift++;
    clock->shifts = (uint32_t)1 << clock->row_shift == clock->row_ways;
    clock->sets = fth_arena_array(&cache->arena, cache->sets, sizeof *clock->sets);
    if (!clock->sets)
        return fth_no_memory(error, "build a cache", "policy");
    for (uint32_t set = 0; set < cache->sets; set++)
        clock->sets[set].capacity = cache->first[set + 1] - cache->first[set];
    cache->uniform_ways = clock->rows * clock->row_ways;
    for (uint32_t set = 0; set <= cache->sets; set++)
        cache->first[set] = set * cache->uniform_ways;
    cache->slots = cache->first[cache->sets];
    cache->clock = clock;
    return FTH_OK;
}

static enum fth_status init(struct fth_cache *cache, const struct fth_cache_config *config,
                            struct fth_error *error)
{
    (void)config;
    struct fth_arena *arena = &cache->arena;
    struct fth_clock *clock = cache->clock;
    const size_t rows = (size_t)cache->sets * clock->rows;
    const size_t bytes = sizeof(struct fth_row) + clock->row_ways * sizeof(uint64_t);
    clock->row_bytes = (bytes + HOST_LINE_BYTES - 1) / HOST_LINE_BYTES * HOST_LINE_BYTES;
    clock->memory = fth_cache_array(cache, rows, clock->row_bytes);
    clock->used_rows = fth_arena_array(arena, rows, sizeof *clock->used_rows);
    clock->order = fth_arena_array(arena, clock->rows, sizeof *clock->order);
    clock->pinned = fth_cache_array(cache, cache->slots, sizeof *clock->pinned);
    clock->held_until =
        fth_cache_array(cache, (size_t)cache->sets * cache->max_ways, sizeof *clock->held_until);
    if (!clock->memory || !clock->used_rows || !clock->order || !clock->pinned ||
        !clock->held_until)
        return fth_no_memory(error, "build a cache", "policy");
    fill_order(clock);
    return FTH_OK;
}

static void clear_row(struct fth_cache *cache, uint32_t row)
{
    const struct fth_clock *clock = cache->clock;
    fth_row_at(clock, row)->valid = fth_row_at(clock, row)->hit = 0;
    for (uint32_t way = 0; way < clock->row_ways; way++)
        fth_line_of(cache, row * clock->row_ways + way)->number = FTH_NO_LINE;
}

static void clear(struct fth_cache *cache)
{
    struct fth_clock *clock = cache->clock;
    const uint32_t rows = cache->sets * clock->rows;
    const bool all = clock->used_row_count == rows;
    for (uint32_t i = 0; i < clock->used_row_count; i++)
        clear_row(cache, all ? i : clock->used_rows[i]);
    clock->used_row_count = 0;
    for (uint32_t set = 0; set < cache->sets; set++) {
        clock->sets[set].lines = clock->sets[set].held = 0;
        clock->sets[set].pressed = false;
    }
}

/* On an H200, the hands keep their positions when a launch empties the L1. */
static void reset(struct fth_cache *cache)
{
    for (uint32_t set = 0; set < cache->sets; set++)
        cache->clock->sets[set].hand = 0;
}

/* Returns the number of the line among the lines of its set: 0, 1, 2, … for the lines of a set of
 * an array that starts at address 0. */
uint64_t fth_clock_number(const struct fth_cache *cache, uint64_t line)
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
        return line / cache->copy_sets;
    const uint64_t low = line & (((uint64_t)1 << index->shift) - 1);
    return (line >> index->shift) / index->modulus << index->shift | low;
}

void fth_clock_rows(const struct fth_cache *cache, const uint64_t *addresses, size_t count,
                    uint16_t *rows)
{
    const struct fth_index *index = &cache->index;
    const uint32_t rows_per_set = cache->clock->rows;
    for (size_t i = 0; i < count; i++) {
        const uint64_t line = addresses[i] >> cache->line_shift;
        if (index->kind == FTH_INDEX_PARITY) { /* set and row at the same time */
            const uint32_t place = fth_parities_of(index->parities, line);
            rows[i] = (uint16_t)((place >> 16) * rows_per_set + (place & UINT16_MAX));
        } else {
            rows[i] = (uint16_t)fth_row_of(cache, fth_index_set(index, line), line);
        }
    }
}

/* Returns the slot of the least recently used line of a row, among those whose bit in `candidates`
 * is set. */
static uint32_t oldest(const struct fth_clock *clock, uint32_t row, uint32_t candidates)
{
    const uint64_t *last_use = fth_row_at(clock, row)->last_use;
    uint32_t found = (uint32_t)__builtin_ctz(candidates);
    for (uint32_t left = candidates & (candidates - 1); left; left &= left - 1) {
        const uint32_t way = (uint32_t)__builtin_ctz(left);
        found = last_use[way] < last_use[found] ? way : found;
    }
    return row * clock->row_ways + found;
}

/* Returns the slot of the line that a row evicts. The row must have a line. */
static uint32_t victim(const struct fth_clock *clock, uint32_t index)
{
    const uint32_t full = UINT32_MAX >> (32 - clock->row_ways);
    const struct fth_row *row = fth_row_at(clock, index);
    uint32_t fresh = row->valid & ~row->hit;
    if (row->valid == full && fresh && (fresh & (fresh - 1)) == 0) {
        const uint64_t last_use = row->last_use[__builtin_ctz(fresh)];
        bool newest = true;
        for (uint32_t way = 0; way < clock->row_ways; way++)
            newest &= row->last_use[way] <= last_use;
        fresh = newest ? 0 : fresh;
    }
    return oldest(clock, index, fresh ? fresh : row->valid);
}

/* ---- pinned lines ---- */

/* Returns the ring of a set: when the lines that were evicted while they were pinned free their
 * storage. */
static uint64_t *ring_of(const struct fth_cache *cache, uint32_t set)
{
    return cache->clock->held_until + (size_t)set * cache->max_ways;
}

/* Keeps the storage of an evicted line. */
static void hold(struct fth_cache *cache, uint32_t set, uint64_t until)
{
    struct fth_hand_set *state = &cache->clock->sets[set];
    uint64_t *ring = ring_of(cache, set);
    const uint32_t size = cache->max_ways;
    uint32_t place = state->held++; /* most lines have their data later than those before */
    for (; place > 0; place--) {
        const uint64_t before = ring[(state->first_held + place - 1) % size];
        if (before <= until)
            break;
        ring[(state->first_held + place) % size] = before;
    }
    ring[(state->first_held + place) % size] = until;
}

/* Frees the storage of evicted lines that are no longer pinned. */
static void free_held(struct fth_cache *cache, uint32_t set)
{
    struct fth_hand_set *state = &cache->clock->sets[set];
    const uint64_t *ring = ring_of(cache, set);
    while (state->held && ring[state->first_held] <= cache->clock->time) {
        state->first_held = state->first_held + 1 < cache->max_ways ? state->first_held + 1 : 0;
        state->held--;
    }
}

/* Waits until the next pin of a set ends. There is one. */
static void wait_for_pin(struct fth_cache *cache, uint32_t set)
{
    struct fth_clock *clock = cache->clock;
    uint64_t next = UINT64_MAX;
    if (clock->sets[set].held)
        next = ring_of(cache, set)[clock->sets[set].first_held];
    for (uint32_t index = set * clock->rows; index < (set + 1) * clock->rows; index++)
        for (uint32_t left = fth_row_at(clock, index)->valid; left; left &= left - 1) {
            const uint64_t until =
                clock->pinned[index * clock->row_ways + (uint32_t)__builtin_ctz(left)];
            if (until > clock->time && until < next)
                next = until;
        }
    clock->time = next;
    free_held(cache, set);
}

/* ---- placement ---- */

static bool is_full(const struct fth_hand_set *state)
{
    return state->lines + state->held >= state->capacity;
}

/* Advances the hand until it has evicted `count` lines, or has found nothing to evict in a complete
 * turn. */
static void sweep(struct fth_cache *cache, uint32_t set, uint32_t count,
                  struct fth_cache_result *result)
{
    const struct fth_clock *clock = cache->clock;
    struct fth_hand_set *state = &clock->sets[set];
    uint32_t skipped = 0;
    while (count && skipped < clock->rows) {
        const uint32_t index = set * clock->rows + state->hand;
        state->hand = (state->hand + 1) & (clock->rows - 1);
        const uint32_t slot = fth_row_at(clock, index)->valid ? victim(clock, index) : FTH_NO_SLOT;
        if (slot == FTH_NO_SLOT || clock->pinned[slot] > clock->time) {
            skipped++;
            continue;
        }
        fth_slot_free(cache, set, slot, result);
        count--;
        skipped = 0;
    }
    /* The next sweep probably evicts a line of this row. */
    const uint32_t next = set * clock->rows + state->hand;
    __builtin_prefetch(fth_row_at(clock, next));
    const uint32_t slot = next * clock->row_ways;
    __builtin_prefetch(fth_line_of(cache, slot));
    __builtin_prefetch(&clock->pinned[slot]);
}

/* Lets the hand evict `count` lines of a full set. Waits if all of its storage is in use. */
static void make_room(struct fth_cache *cache, uint32_t set, uint32_t count,
                      struct fth_cache_result *result)
{
    sweep(cache, set, count, result);
    while (is_full(&cache->clock->sets[set])) {
        wait_for_pin(cache, set);
        if (is_full(&cache->clock->sets[set]))
            sweep(cache, set, count, result);
    }
}

static uint32_t place(struct fth_cache *cache, uint32_t set, uint64_t line,
                      struct fth_cache_result *result)
{
    struct fth_clock *clock = cache->clock;
    struct fth_hand_set *state = &clock->sets[set];
    const uint32_t full = UINT32_MAX >> (32 - clock->row_ways);
    const uint32_t index = fth_row_of(cache, set, line);
    struct fth_row *row = fth_row_at(clock, index);
    free_held(cache, set);
    if (row->valid == full) {
        state->pressed = false;
        fth_slot_free(cache, set, victim(clock, index), result);
        if (is_full(state)) /* the victim was pinned */
            make_room(cache, set, 1, result);
    } else if (is_full(state)) {
        make_room(cache, set, state->pressed ? BURST - 1 : 1, result);
        state->pressed = !state->pressed;
    }
    if (!row->valid && clock->used_row_count < cache->sets * clock->rows)
        clock->used_rows[clock->used_row_count++] = index;
    const uint32_t way = (uint32_t)__builtin_ctz(~row->valid);
    row->valid |= (uint32_t)1 << way;
    row->last_use[way] = ++clock->now;
    clock->pinned[index * clock->row_ways + way] = 0;
    state->lines++;
    return index * clock->row_ways + way;
}

static void removed(struct fth_cache *cache, uint32_t set, uint32_t slot)
{
    const struct fth_clock *clock = cache->clock;
    const uint32_t index = fth_row_of_slot(clock, slot);
    struct fth_row *row = fth_row_at(clock, index);
    row->valid &= ~((uint32_t)1 << (slot - index * clock->row_ways));
    row->hit &= row->valid;
    clock->sets[set].lines--;
    if (clock->pinned[slot] > clock->time)
        hold(cache, set, clock->pinned[slot]);
}

const struct fth_policy fth_policy_clock = {
    .name = "clock",
    .lay_out = lay_out,
    .init = init,
    .clear = clear,
    .reset = reset,
    .place = place,
    .removed = removed,
};
