/* The way from the SMs to the L2 and to memory, with times.
 *
 *   SM ── port ── join unit ── near side ── home side ── memory
 *
 * A read takes the port of its SM, which is busy for a while with each request. At the join unit of
 * its group of SMs, it is joined with a read of the same sectors that is under way, if there is one
 * and that one has not been joined too often. Otherwise it goes to the side that is near the SM.
 * Sectors that this side misses come from the home side of the line or, if that misses, too, from
 * memory. Sides and memory are busy for a while with each sector. A sector that is under way to a
 * side counts as a hit there, but its data arrives no earlier.
 *
 * Writes and atomics go to the home side. The port of an SM and the input of the L2 are busy with
 * each sector of a store, and with a byte mask if a sector is written in part. A write also leaves
 * its complete sectors in the side that is near its SM. Both invalidate what they write in other
 * sides. The L2 keeps sectors that are written in part; when it writes them back, it reads the rest
 * of them from memory. Atomics in the same 512 bytes follow each other at a distance. */
#include "model/timed/timed_l2.h"

/* A store can be sent at most this long before the L2 can take it; until then, the SM waits. Chosen
 * to be the same as MAX_PORT_LEAD_CYCLES of timed_l1.c. */
enum { MAX_INPUT_LEAD_CYCLES = 256 };

enum { WORD_BITS = 64 }; /* of an element of struct side.partial_sets */

/* ---- parts of an access ---- */

static uint64_t home_of(const struct fth_timed_l2 *l2, uint64_t line)
{
    if (l2->side_count == 2)
        return (uint64_t)__builtin_parityll(line & l2->home_mask);
    return fth_count_bits(line & l2->home_mask) % l2->side_count;
}

/* A line of the L2. */
struct place {
    uint64_t address, number; /* number: address / line_bytes */
    uint64_t home;            /* side */
    uint32_t set;             /* of every side */
};

static inline struct place place_of(const struct fth_timed_l2 *l2, uint64_t line)
{
    const uint64_t number = line >> l2->shape.line_shift;
    return (struct place){.address = line,
                          .number = number,
                          .home = home_of(l2, line),
                          .set = l2->index->kind == FTH_INDEX_MOD
                                     ? fth_index_mod(l2->index, number)
                                     : fth_index_set(l2->index, number)};
}

/* Finds a line in a side. */
static inline struct fth_cache_location locate(const struct side *side, const struct place *place)
{
    return (struct fth_cache_location){
        place->number, place->set, fth_lookup_find(side->cache.cache, place->set, place->number)};
}

/* What a side keeps of a slot, except for its line. */
static inline struct fth_slot_extra *extra_of(const struct side *side, size_t slot)
{
    return (struct fth_slot_extra *)(void *)fth_changed_of(side->cache.cache, slot)->extra;
}

/* Occupies something for a time, from `now` on or when it is free. Returns when it begins. */
static uint64_t occupy(uint64_t *free_at, uint64_t now, uint64_t time)
{
    const uint64_t start = now > *free_at ? now : *free_at;
    *free_at = start + time;
    return start;
}

/* Reads sectors from memory. Returns when their data arrives. The L2 takes it at the same input as
 * stores, which is busy from the time of the event on, as in send_store(). */
static uint64_t read_memory(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                            uint32_t sectors, uint64_t now)
{
    const uint32_t count = fth_count_bits(sectors);
    l2->counts[request->instruction].dram_reads += count;
    const uint64_t read = occupy(&l2->memory_free_at, now, count * l2->timing.mem_sector);
    const uint64_t taken = occupy(&l2->input_free_at, request->issued, count * l2->timing.l2_write);
    return fth_later(read, taken) + l2->timing.to_memory;
}

/* Writes the changed sectors of an evicted line to memory. */
static void write_back(struct fth_timed_l2 *l2, const struct fth_cache_result *result)
{
    if (!result->evicted || !result->evicted_dirty)
        return;
    const uint32_t count = fth_count_bits(result->evicted_dirty);
    l2->counts[l2->instructions].dram_writes += count;
    l2->memory_free_at += count * l2->timing.mem_sector;
}

/* Notes whether the line of a slot has partly written sectors. */
static inline void mark_partial(const struct fth_timed_l2 *l2, struct side *side,
                                const struct fth_cache_location *location, bool partial)
{
    const uint32_t way = location->slot - fth_set_first(side->cache.cache, location->set);
    uint64_t *word =
        &side->partial_sets[(size_t)location->set * l2->partial_words + way / WORD_BITS];
    const uint64_t bit = UINT64_C(1) << way % WORD_BITS;
    *word = partial ? *word | bit : *word & ~bit;
}

/* Reads what is missing of the partly written sectors of a slot, because they are written back. */
static void complete(struct fth_timed_l2 *l2, struct side *side,
                     const struct fth_cache_location *location)
{
    struct fth_slot_flight *flight = &extra_of(side, location->slot)->flight;
    const uint32_t count = fth_count_bits(flight->partial);
    l2->counts[l2->instructions].dram_reads += count;
    l2->memory_free_at += count * l2->timing.mem_sector;
    flight->partial = 0;
    mark_partial(l2, side, location, false);
}

/* Accesses a line in a side, and allocates it if it is not there. Returns the distance. */
static inline uint32_t use_line(struct fth_timed_l2 *l2, struct side *side,
                                struct fth_cache_location *location)
{
    struct fth_cache *cache = side->cache.cache;
    if (location->slot != FTH_NO_SLOT)
        return fth_slot_use(cache, location->set, location->slot);
    struct fth_cache_result result = {.evicted = false};
    location->slot = fth_slot_allocate(cache, location->set, location->line, &result);
    write_back(l2, &result);
    struct fth_slot_extra *extra = extra_of(side, location->slot);
    extra->flight.ready = 0;
    extra->late.sectors = 0;
    l2->allocated_lines++;
    if (extra->flight.partial)
        complete(l2, side, location);
    return UINT32_MAX;
}

/* Places sectors that arrive at `ready` in a side. */
static inline uint32_t fill(struct fth_timed_l2 *l2, struct side *side,
                            struct fth_cache_location *location, uint32_t sectors, uint64_t now,
                            uint64_t ready)
{
    const uint32_t distance = use_line(l2, side, location);
    if (!sectors)
        return distance;
    struct fth_slot_flight *flight = &extra_of(side, location->slot)->flight;
    fth_line_of(side->cache.cache, location->slot)->valid |= sectors;
    fth_flight_add(flight, false, sectors, now, ready);
    if (flight->partial & sectors) {
        flight->partial &= ~sectors;
        if (!flight->partial)
            mark_partial(l2, side, location, false);
    }
    return distance;
}

/* Notes that a read misses sectors of a line, which is in the side or not, and fetches some. */
static void note_miss(const struct side *side, const struct fth_cache_location *location,
                      uint64_t line, uint32_t missed, uint32_t fetched,
                      struct fth_model_misses *misses)
{
    if (side->shadow && missed)
        fth_shadow_miss(side->shadow, line, missed, fetched, location->slot != FTH_NO_SLOT, misses);
}

/* Notes that an access has used a line and these of its sectors. */
static void note_use(const struct side *side, const struct fth_cache_location *location,
                     uint64_t line, uint32_t sectors)
{
    if (side->shadow)
        fth_shadow_use(side->shadow, line, location->slot,
                       fth_line_of(side->cache.cache, location->slot)->valid & sectors);
}

/* Fetches sectors from the home side of a line, which is not the near one. Returns when they arrive
 * at the near side. *missed gets those that the home side misses. */
static uint64_t read_home(struct fth_timed_l2 *l2, const struct place *place, uint32_t sectors,
                          const struct fth_timed_request *request, uint64_t now, uint32_t *missed)
{
    struct side *home = &l2->sides[place->home];
    struct fth_cache_location location = locate(home, place);
    const uint64_t there = now + l2->timing.to_far;
    uint64_t ready = there;
    *missed = (uint32_t)fth_cache_missing(home->cache.cache, &location, sectors, NULL, 0);
    const uint32_t held = sectors & ~*missed;
    if (held) {
        const struct fth_slot_flight *flight = &extra_of(home, location.slot)->flight;
        if (fth_flight_pending(flight, held, there))
            ready = flight->ready;
    }
    if (*missed)
        ready = fth_later(ready, read_memory(l2, request, *missed, there));
    note_miss(home, &location, place->address, *missed, *missed, NULL);
    fill(l2, home, &location, *missed, there, ready);
    if (*missed)
        extra_of(home, location.slot)->late = (struct fth_late_fetch){there, *missed};
    note_use(home, &location, place->address, sectors);
    return ready + l2->timing.from_far;
}

/* Whole fills of the size that a hint or the L2 has. */
static uint32_t find_fills(const struct fth_timed_l2 *l2, uint8_t flags, uint32_t missing)
{
    const unsigned number = (flags & FTH_LINE_REQUEST_L2_FLAGS) >> FTH_LINE_REQUEST_FILL_SHIFT;
    uint64_t bytes = l2->fill_bytes;
    if (number) {
        bytes = fth_later(UINT64_C(16) << number, l2->shape.sector_bytes);
        bytes = FTH_MIN(bytes, l2->shape.line_bytes);
    }
    return (uint32_t)fth_whole_fills(&l2->shape, bytes, missing);
}

/* What a read found in a side. */
struct found {
    uint32_t missed;  /* requested sectors that it did not have */
    uint32_t flying;  /* requested sectors that are under way */
    uint32_t early;   /* those of them that nobody had requested there at this time */
    uint32_t fetched; /* sectors that were fetched, in whole fills */
    uint32_t distance;
    uint64_t ready;
};

/* Returns those of some sectors under way that a read of another side fetches whose request arrives
 * only after `now`. This access is then the first one to their fills. */
static uint32_t find_early(const struct fth_timed_l2 *l2, struct fth_late_fetch *late,
                           uint32_t flying, uint64_t now)
{
    const uint32_t early = now < late->from ? flying & late->sectors : 0;
    if (early)
        late->sectors &= ~(uint32_t)fth_whole_fills(&l2->shape, l2->shape.fill_bytes, early);
    return early;
}

/* Reads sectors in a side, and fetches what it misses. `misses` may be NULL. */
static struct found read_side(struct fth_timed_l2 *l2, uint64_t number, const struct place *place,
                              const struct fth_timed_request *request, uint32_t sectors,
                              uint64_t now, struct fth_model_misses *misses)
{
    struct side *side = &l2->sides[number];
    const struct fth_cache *cache = side->cache.cache;
    struct fth_cache_location location = locate(side, place);
    struct found found = {.ready = now};
    found.missed = (uint32_t)fth_cache_missing(cache, &location, sectors, NULL, 0);
    const uint32_t held = sectors & ~found.missed;
    if (held) {
        struct fth_slot_extra *extra = extra_of(side, location.slot);
        found.flying = fth_flight_pending(&extra->flight, held, now);
        if (found.flying) {
            found.ready = extra->flight.ready;
            found.early = find_early(l2, &extra->late, found.flying, now);
        }
    }
    uint64_t arrival = now;
    if (found.missed) {
        uint32_t from_memory = 0;
        found.fetched = (uint32_t)fth_cache_missing(
            cache, &location, find_fills(l2, request->line->flags, found.missed), NULL, 0);
        if (place->home == number) {
            arrival = read_memory(l2, request, found.fetched, now);
        } else {
            arrival = read_home(l2, place, found.fetched, request, now, &from_memory);
            l2->counts[request->instruction].far_hits +=
                fth_count_bits(found.missed & ~from_memory);
        }
    }
    note_miss(side, &location, place->address, found.missed, found.fetched, misses);
    found.distance = fill(l2, side, &location, found.fetched, now, arrival);
    note_use(side, &location, place->address, sectors | found.fetched);
    found.ready = fth_later(arrival, found.ready);
    return found;
}

static void count(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                  enum fth_trace_access_kind kind, uint32_t sectors, const struct found *found)
{
    struct fth_model_counts *counts = &l2->counts[request->instruction].counts;
    const uint32_t misses = fth_count_bits(found->missed), flying = fth_count_bits(found->flying);
    const uint32_t hits = fth_count_bits(sectors) - misses - (l2->shape.merged_hits ? 0 : flying);
    counts->requests[kind]++;
    counts->sectors[kind] += fth_count_bits(sectors);
    counts->hits[kind] += hits;
    counts->merges[kind] += flying;
    fth_totals_add(&l2->totals, kind, found->distance, hits, fth_count_bits(sectors) - hits);
}

/* ---- accesses ---- */

/* Returns the time from the join unit to the near side for a read. */
static uint64_t to_l2(const struct fth_timing *timing, const struct fth_timed_request *request)
{
    if (!timing->l2_deviation)
        return timing->to_l2;
    const uint64_t draw = fth_order_draw(timing->order, request->line->line ^ request->sm);
    return timing->to_l2 - timing->l2_deviation + (2 * timing->l2_deviation * draw >> 16);
}

FTH_CLONES
static uint64_t run_read(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                         uint32_t sectors, uint64_t now, struct fth_sent_read *sent)
{
    const struct fth_timing *timing = &l2->timing;
    const uint64_t line = request->line->line, side = l2->side_of_sm[request->sm];
    const bool is_first = !sent->sectors;
    if (is_first)
        sent->sent = occupy(&l2->port_free_at[request->sm], now, timing->port);
    const uint64_t at_join = sent->sent + timing->to_join;
    struct fth_pending_read *read;
    uint64_t ready;
    if (fth_joins_join(&l2->joins, request->sm, sent, sectors, at_join, timing->join_reads, &read,
                       &ready))
        return ready;
    if (l2->curves)
        fth_curves_add_l2(l2->curves, line, sectors);
    const uint64_t at_l2 = at_join + to_l2(timing, request);
    struct fth_model_misses *misses = &l2->counts[request->instruction].misses;
    const struct place place = place_of(l2, line);
    struct found found = read_side(l2, side, &place, request, sectors, at_l2, misses);
    /* Sectors that an earlier part of the same request has fetched count as missed, and so do those
     * that a read of another side has not requested yet. */
    const uint32_t again = (sectors & sent->fetched & ~found.missed) | found.early;
    found.missed |= again;
    found.flying &= ~again;
    const uint32_t repeated = again | (l2->shape.merged_hits ? 0 : found.flying);
    if (l2->sides[side].shadow && repeated)
        fth_shadow_miss_again(l2->sides[side].shadow, line, repeated, misses);
    sent->fetched |= found.fetched;
    count(l2, request, FTH_TRACE_READ, sectors, &found);
    /* The bandwidth of a side limits what it sends, not what it looks up. */
    const uint64_t wait =
        occupy(&l2->sides[side].free_at, at_l2, fth_count_bits(sectors) * timing->l2_sector) -
        at_l2;
    const uint64_t until = found.ready + timing->to_l2;
    ready = until + wait + timing->to_join;
    fth_joins_note(&l2->joins, read, sent, is_first, sectors, at_join, until, ready);
    return ready;
}

uint64_t fth_timed_l2_port(const struct fth_timed_l2 *l2, uint32_t sm)
{
    return l2->port_free_at[sm];
}

uint64_t fth_timed_l2_read(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                           uint32_t sectors, uint64_t now, struct fth_sent_read *sent)
{
    return run_read(l2, request, sectors, now, sent);
}

/* Invalidates written sectors in all sides but two. */
static void invalidate_others(struct fth_timed_l2 *l2, const struct place *place, uint64_t near,
                              uint32_t sectors)
{
    for (uint64_t i = 0; i < l2->side_count; i++) {
        if (i == place->home || i == near)
            continue;
        const struct side *side = &l2->sides[i];
        const uint32_t slot = locate(side, place).slot;
        if (slot == FTH_NO_SLOT)
            continue;
        if (side->shadow)
            fth_shadow_remove(side->shadow, place->address,
                              fth_line_of(side->cache.cache, slot)->valid & sectors);
        fth_slot_erase(side->cache.cache, slot, sectors);
    }
}

/* Returns the sectors that a store writes completely. */
static uint32_t whole_sectors(const struct fth_timed_l2 *l2,
                              const struct fth_timed_request *request)
{
    uint32_t whole = request->line->run_count ? 0 : request->line->sectors;
    for (uint32_t i = 0; i < request->line->run_count; i++) {
        const struct fth_cache_run run = request->runs[i];
        whole |= (uint32_t)fth_whole_sectors(l2->shape.sector_shift, run.from,
                                             (uint64_t)run.from + run.bytes);
    }
    return whole;
}

/* Leaves a copy of the sectors that a store writes completely in the side near its SM, which is not
 * the home side. Those that it writes in part stay valid there if they were. */
static void keep_near_copy(struct fth_timed_l2 *l2, uint64_t near, const struct place *place,
                           uint32_t whole)
{
    struct side *side = &l2->sides[near];
    if (!whole)
        return;
    struct fth_cache_location location = locate(side, place);
    /* Other sectors of the line may be in flight; these are not. */
    use_line(l2, side, &location);
    fth_line_of(side->cache.cache, location.slot)->valid |= whole;
    note_use(side, &location, place->address, whole);
}

/* Returns the number of partly written lines of a set. *oldest: the slot of the one that was the
 * first to be written in part. */
static uint64_t find_oldest_partial(const struct fth_timed_l2 *l2, const struct side *side,
                                    uint32_t set, uint32_t *oldest)
{
    const uint32_t first = fth_set_first(side->cache.cache, set);
    uint64_t count = 0;
    for (uint32_t word = 0; word < l2->partial_words; word++) {
        uint64_t left = side->partial_sets[(size_t)set * l2->partial_words + word];
        for (; left; left &= left - 1) {
            const uint32_t slot = first + word * WORD_BITS + (uint32_t)__builtin_ctzll(left);
            if (!count++ || side->partial_since[slot] < side->partial_since[*oldest])
                *oldest = slot;
        }
    }
    return count;
}

/* Limits the partly written lines of a set: writes back the oldest one. */
static void limit_partials(struct fth_timed_l2 *l2, struct side *side, uint32_t set)
{
    struct fth_cache *cache = side->cache.cache;
    uint32_t oldest = 0;
    if (find_oldest_partial(l2, side, set, &oldest) <= l2->partial_ways || !l2->partial_ways)
        return;
    const struct fth_cache_location location = {fth_line_of(cache, oldest)->number, set, oldest};
    if (side->shadow)
        fth_shadow_complete(side->shadow, location.line << l2->shape.line_shift,
                            extra_of(side, oldest)->flight.partial);
    complete(l2, side, &location);
    const uint32_t dirty = fth_count_bits(fth_cache_write_back(cache, oldest));
    l2->counts[l2->instructions].dram_writes += dirty;
    l2->memory_free_at += dirty * l2->timing.mem_sector;
}

/* Keeps which sectors of a line are written in part, after a write of `touched`. */
static void update_partials(struct fth_timed_l2 *l2, struct side *side,
                            const struct fth_cache_location *location, uint32_t touched)
{
    uint32_t *partial = &extra_of(side, location->slot)->flight.partial;
    const uint32_t before = *partial;
    *partial = (before & ~touched) |
               (touched & ~(uint32_t)fth_line_of(side->cache.cache, location->slot)->valid);
    if (!before == !*partial)
        return;
    mark_partial(l2, side, location, *partial);
    if (before)
        return;
    side->partial_since[location->slot] = l2->partial_writes++;
    limit_partials(l2, side, location->set);
}

/* Marks the bytes of a request, which cover the sectors `whole`, in the slot of its line as
 * written.
 */
static inline void write_slot(const struct fth_timed_l2 *l2, struct fth_cache *cache,
                              const struct fth_timed_request *request, uint32_t whole,
                              uint32_t slot)
{
    const struct fth_timed_line *line = request->line;
    struct fth_changed_line *changed = fth_changed_of(cache, slot);
    changed->dirty |= line->sectors;
    changed->line.valid |= whole;
    if (!(line->sectors & ~changed->line.valid))
        return;
    for (uint32_t i = 0; i < line->run_count; i++) {
        const uint64_t from = request->runs[i].from, to = from + request->runs[i].bytes;
        const uint64_t part =
            fth_sectors_of(l2->shape.sector_shift, from, to) & ~changed->line.valid;
        if (part)
            fth_slot_write_part(cache, slot, from, to, part);
    }
}

/* Writes the bytes of a request, which cover the sectors `whole`, in its home side, and invalidates
 * them in all others except `near`. Returns the distance. */
static inline uint32_t write_home(struct fth_timed_l2 *l2, const struct place *place,
                                  const struct fth_timed_request *request, uint32_t whole,
                                  uint64_t near)
{
    struct side *side = &l2->sides[place->home];
    struct fth_cache *cache = side->cache.cache;
    const struct fth_timed_line *line = request->line;
    struct fth_cache_location location = locate(side, place);
    const uint32_t distance = use_line(l2, side, &location);
    write_slot(l2, cache, request, whole, location.slot);
    if (!cache->distances) { /* LRU does not notice further accesses to the newest line */
        const uint32_t runs = line->run_count
                                  ? line->run_count
                                  : fth_count_bits(line->sectors & ~(line->sectors << 1));
        for (uint32_t i = 1; i < runs; i++)
            fth_slot_use(cache, location.set, location.slot);
    }
    invalidate_others(l2, place, near, line->sectors);
    note_use(side, &location, place->address, line->sectors);
    update_partials(l2, side, &location, line->sectors);
    return distance;
}

/* Sectors that the way from an SM to the L2 is busy with for a store: those that it sends, and one
 * more for the byte mask if it writes a part of a sector. */
static uint32_t store_sectors(uint32_t sent, uint32_t whole)
{
    return fth_count_bits(sent) + ((sent & ~whole) != 0);
}

/* Sends a store to the L2. Returns when it has left the SM, which waits if the L2 still has too
 * many earlier stores to take. The input of the L2 is busy from the time of the event on, because
 * SMs send at times that are not in the order of events. */
static uint64_t send_store(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                           uint32_t sectors, uint64_t now)
{
    const struct fth_timing *timing = &l2->timing;
    const uint64_t ahead = (uint64_t)MAX_INPUT_LEAD_CYCLES * FTH_TICKS_PER_CYCLE;
    const uint64_t time = fth_later(timing->port, sectors * timing->store);
    if (l2->stores_free_at > ahead)
        now = fth_later(now, l2->stores_free_at - ahead);
    occupy(&l2->stores_free_at, request->issued, sectors * timing->l2_write);
    occupy(&l2->input_free_at, request->issued, sectors * timing->l2_write);
    return occupy(&l2->port_free_at[request->sm], now, time) + time;
}

FTH_CLONES
static uint64_t run_write(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                          uint32_t counted, uint64_t now)
{
    const struct place place = place_of(l2, request->line->line);
    const uint64_t near = l2->side_of_sm[request->sm];
    const uint32_t whole = whole_sectors(l2, request);
    const uint64_t sent =
        counted ? send_store(l2, request, store_sectors(counted, whole), now) : now;
    struct found found = {.distance = write_home(l2, &place, request, whole, near)};
    if (near != place.home)
        keep_near_copy(l2, near, &place, whole);
    if (counted) {
        /* The L2 of an H200 counts every written sector as a hit. */
        count(l2, request, FTH_TRACE_WRITE, counted, &found);
    }
    return sent;
}

uint64_t fth_timed_l2_write(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                            uint32_t counted, uint64_t now)
{
    return run_write(l2, request, counted, now);
}

uint64_t fth_timed_l2_atomic(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                             uint64_t now)
{
    const struct fth_timing *timing = &l2->timing;
    const struct place place = place_of(l2, request->line->line);
    const uint32_t sectors = request->line->sectors;
    const uint64_t sent = occupy(&l2->port_free_at[request->sm], now, timing->port);
    const uint64_t at_l2 =
        occupy(&l2->sides[place.home].free_at, sent + timing->to_join + timing->to_l2,
               fth_count_bits(sectors) * timing->l2_sector);
    const uint64_t begin = fth_atomics_begin(&l2->atomics, timing, request->line, at_l2);
    struct found found = read_side(l2, place.home, &place, request, sectors, begin, NULL);
    found.missed |= found.early;
    found.flying &= ~found.early;
    count(l2, request, FTH_TRACE_ATOMIC, sectors, &found);
    write_home(l2, &place, request, whole_sectors(l2, request), place.home);
    return found.ready + timing->to_l2 + timing->to_join;
}

/* Whether a request accesses the near side of its line, if that is not the home side. Stores that
 * write parts of sectors leave nothing there. */
static bool uses_near_side(const struct fth_timed_line *line, bool writes)
{
    return !writes || !line->run_count;
}

FTH_CLONES
static void prepare(const struct fth_timed_l2 *l2, uint32_t sm, const struct fth_timed_line *line,
                    bool writes)
{
    const struct place place = place_of(l2, line->line);
    const struct side *near = &l2->sides[l2->side_of_sm[sm]], *home = &l2->sides[place.home];
    fth_timed_cache_prepare(&home->cache, home->shadow, place.set, line);
    if (home != near && uses_near_side(line, writes))
        fth_timed_cache_prepare(&near->cache, near->shadow, place.set, line);
    if (writes && line->run_count)
        fth_prefetch(&home->partial_sets[(size_t)place.set * l2->partial_words]);
    if (!writes)
        fth_prefetch(fth_joins_find(&l2->joins, sm, line->line));
}

void fth_timed_l2_prepare(const struct fth_timed_l2 *l2, uint32_t sm,
                          const struct fth_timed_line *line, bool writes)
{
    prepare(l2, sm, line, writes);
}

FTH_CLONES
static void prepare_slot(const struct fth_timed_l2 *l2, uint32_t sm,
                         const struct fth_timed_line *line, bool writes)
{
    const struct place place = place_of(l2, line->line);
    const struct side *near = &l2->sides[l2->side_of_sm[sm]], *home = &l2->sides[place.home];
    bool found = false;
    if (home != near && uses_near_side(line, writes))
        fth_timed_cache_prepare_slot(&near->cache, near->shadow, place.set, line, writes, &found);
    if (!found || writes)
        fth_timed_cache_prepare_slot(&home->cache, home->shadow, place.set, line, writes, &found);
}

void fth_timed_l2_prepare_slot(const struct fth_timed_l2 *l2, uint32_t sm,
                               const struct fth_timed_line *line, bool writes)
{
    prepare_slot(l2, sm, line, writes);
}
