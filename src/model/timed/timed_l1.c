/* The L1s of all SMs, with times. An L1 looks up the lines of one access after the other, somewhat
 * before it delivers the data of earlier hits. Data that comes from the L2 waits for the data of
 * hits. A read of a sector in flight counts as a hit, but waits until the sector arrives. Two kinds
 * of requests merge on the way to the L2:
 *
 *   reads   A miss becomes a part of an earlier request of its line if its access follows the
 *           access of that request, or if that request still waits behind many others. If the L2
 *           fetches two sectors for the first part, it counts the second sector as a miss, too.
 *   stores  A store to the same line as the previous store of the SM, at most
 *           time.store_merge_cycles after it, becomes part of the same request: sectors that both
 *           have count once. */
#include "model/timed/timed_l1.h"

#include <string.h>

/* Maximum number of lines of all L1s for which they are copies in one structure. Chosen: much more
 * than GPUs have, and less than a cache can have. */
#define MAX_SHARED_LINES ((uint64_t)1 << 22)

/* The number of lines between a step of the preparation and the next one in an access with many
 * lines. Chosen: processing these lines takes longer than the latency of the host's memory. */
enum { PREPARED_LINES = 4 };

/* An L1 looks up an access at most this long before it can deliver its data, because it keeps only
 * a few hits whose data is not delivered yet. Fitted to an H200, where reads wait before they are
 * looked up if all of them hit. The tuning cases are predicted alike with 32 to 128 cycles. */
enum { MAX_LOOKUP_LEAD_CYCLES = 64 };

/* An L1 looks up an access at most this long before its port to the L2 can take the next request,
 * because it keeps only some misses that it has not sent yet. Fitted to an H200. */
enum { MAX_PORT_LEAD_CYCLES = 256 };

/* Decides whether the L1s are copies in one structure. */
static void place_l1s(struct fth_timed_l1s *l1s)
{
    const struct fth_shape *shape = &l1s->shape;
    const bool shared = strcmp(shape->policy, "clock") == 0 &&
                        shape->sets * shape->ways <= MAX_SHARED_LINES / l1s->sms;
    l1s->copies = shared ? l1s->sms : 1;
    for (uint64_t sm = 0; sm < l1s->sms; sm++) {
        fth_timed_cache_fini(&l1s->caches[sm]);
        l1s->l1s[sm].cache = &l1s->caches[shared ? 0 : sm];
        l1s->l1s[sm].first_set = (uint32_t)(shared ? sm * shape->sets : 0);
    }
}

/* Creates the first fth_cache, which all L1s may share. The others are created at their first use;
 * if their shape is not possible, this one fails with the reason. */
static enum fth_status create_first(struct fth_timed_l1s *l1s, struct fth_error *error)
{
    struct fth_timed_cache *first = &l1s->caches[0];
    if (!first->cache)
        FTH_TRY(fth_timed_cache_init(first, &l1s->shape, l1s->shape.seed, l1s->copies, error));
    const struct fth_clock *clock = l1s->copies > 1 ? first->cache->clock : NULL;
    l1s->rows = clock ? l1s->shape.sets * clock->rows : 0;
    for (uint64_t sm = 0; sm < l1s->sms; sm++)
        l1s->l1s[sm].first_row = clock ? l1s->l1s[sm].first_set * clock->rows : 0;
    return FTH_OK;
}

enum fth_status fth_timed_l1s_begin(struct fth_timed_l1s *l1s, const struct fth_setting *setting,
                                    const struct fth_timing *timing, struct fth_timed_l2 *l2,
                                    struct fth_error *error)
{
    const bool changed = l1s->shape.lines != setting->l1.lines;
    l1s->shape = setting->l1;
    l1s->timing = *timing;
    l1s->l2 = l2;
    if (changed)
        place_l1s(l1s);
    FTH_TRY(create_first(l1s, error));
    for (uint64_t sm = 0; sm < l1s->sms; sm++) {
        l1s->l1s[sm].used = false;
        l1s->l1s[sm].tags_free_at = 0;
        l1s->waits_until[sm] = 0;
        l1s->l1s[sm].hits_free_at = 0;
        l1s->l1s[sm].data_free_at = 0;
        if (l1s->caches[sm].cache)
            fth_cache_clear(l1s->caches[sm].cache);
    }
    if (!changed && l1s->totals.profile_size)
        return FTH_OK;
    fth_totals_fini(&l1s->totals);
    return fth_totals_init(&l1s->totals, &l1s->shape) ? FTH_OK
                                                      : fth_no_memory(error, "model caches", NULL);
}

/* Prepares the L1 of an SM before its first use in a launch. */
static bool prepare(struct fth_timed_l1s *l1s, uint32_t sm)
{
    struct l1 *l1 = &l1s->l1s[sm];
    struct fth_error ignored = FTH_NO_ERROR;
    if (!l1->cache->cache && fth_timed_cache_init(l1->cache, &l1s->shape, l1s->shape.seed + sm,
                                                  l1s->copies, &ignored) != FTH_OK)
        return false;
    if (l1->shadow)
        fth_shadow_clear(l1->shadow, l1s->shape.lines);
    else if (l1s->misses &&
             fth_shadow_create(&l1s->shape, l1s->shape.lines, &l1->shadow, &ignored) != FTH_OK)
        return false;
    l1->used = true;
    memset(&l1->reads, 0, sizeof l1->reads);
    l1->store = (struct recent_store){0};
    l1->accesses = l1->requests = l1->sent = l1->last = 0;
    return true;
}

void fth_timed_l1s_add_shared(struct fth_timed_l1s *l1s, uint32_t sm, uint32_t wavefronts,
                              uint64_t now)
{
    struct l1 *l1 = &l1s->l1s[sm];
    const uint64_t busy = wavefronts * l1s->timing.l1_cycle;
    const uint64_t begin = fth_later(now, fth_later(l1->tags_free_at, l1->hits_free_at));
    l1->tags_free_at = l1->hits_free_at = begin + busy;
    l1->data_free_at = fth_later(l1->data_free_at, begin) + busy;
}

const uint64_t *fth_timed_l1s_waits_until(const struct fth_timed_l1s *l1s)
{
    return l1s->waits_until;
}

bool fth_timed_l1s_have_rows(const struct fth_timed_l1s *l1s)
{
    return l1s->rows && l1s->rows <= UINT16_MAX + 1;
}

void fth_timed_l1s_find_rows(const struct fth_timed_l1s *l1s, const struct fth_timed_line *lines,
                             size_t count, uint16_t *rows)
{
    enum { AT_ONCE = 32 }; /* lines of most accesses */
    uint64_t addresses[AT_ONCE];
    for (size_t done = 0; done < count; done += AT_ONCE) {
        const size_t here = FTH_MIN(count - done, AT_ONCE);
        for (size_t i = 0; i < here; i++)
            addresses[i] = lines[done + i].line;
        fth_clock_rows(l1s->caches[0].cache, addresses, here, rows + done);
    }
}

/* ---- requests ---- */

/* Finds line `i` of an access. */
static inline struct fth_cache_location locate(const struct l1 *l1,
                                               const struct fth_timed_access *access, uint32_t i)
{
    const uint16_t *rows = fth_access_rows(access);
    const uint64_t line = access->lines[i].line;
    return rows ? fth_cache_locate_row(l1->cache->cache, l1->first_row + rows[i], line)
                : fth_cache_locate_in(l1->cache->cache, l1->first_set, line);
}

/* Counts the sectors of a request, of which `hits` were present, `flying` of them under way. */
static void count(struct fth_timed_l1s *l1s, const struct fth_timed_request *request,
                  enum fth_trace_access_kind kind, uint32_t hits, uint32_t flying,
                  uint32_t distance)
{
    struct fth_model_counts *counts = &l1s->counts[request->instruction];
    const uint32_t sectors = fth_count_bits(request->line->sectors);
    const uint32_t merges = fth_count_bits(flying);
    const uint32_t hit_count = fth_count_bits(hits) - (l1s->shape.merged_hits ? 0 : merges);
    counts->requests[kind]++;
    counts->sectors[kind] += sectors;
    counts->hits[kind] += hit_count;
    counts->merges[kind] += merges;
    fth_totals_add(&l1s->totals, kind, distance, hit_count, sectors - hit_count);
}

/* Notes that a request has used its line, if the L1 holds it. */
static void note_use(const struct l1 *l1, const struct fth_timed_line *line,
                     const struct fth_cache_location *location)
{
    if (l1->shadow && location->slot != FTH_NO_SLOT)
        fth_shadow_use(l1->shadow, line->line, location->slot,
                       fth_line_of(l1->cache->cache, location->slot)->valid & line->sectors);
}

/* Drops the line of a request, not to replace it. */
static void drop_line(const struct l1 *l1, const struct fth_timed_line *line,
                      struct fth_cache_location *location)
{
    struct fth_cache *cache = l1->cache->cache;
    if (l1->shadow && location->slot != FTH_NO_SLOT)
        fth_shadow_remove(l1->shadow, line->line, fth_line_of(cache, location->slot)->valid);
    fth_cache_drop(cache, location);
}

/* Adds the sectors that a read misses by cause. */
static void count_misses(const struct fth_timed_l1s *l1s, const struct fth_timed_request *request,
                         bool present, uint32_t missing, uint32_t flying)
{
    const struct l1 *l1 = &l1s->l1s[request->sm];
    const struct fth_timed_line *line = request->line;
    const bool allocates = !(line->flags & FTH_LINE_REQUEST_NO_ALLOCATE);
    struct fth_model_misses *misses = l1->shadow ? &l1s->misses[request->instruction] : NULL;
    if (misses && missing)
        fth_shadow_miss(l1->shadow, line->line, missing, allocates ? missing : 0, present, misses);
    if (misses && flying && !l1s->shape.merged_hits)
        fth_shadow_miss_again(l1->shadow, line->line, flying, misses);
}

/* Whether a miss becomes a part of a request for its line. */
static bool merges(const struct fth_timed_l1s *l1s, const struct fth_timed_request *request,
                   const struct fth_sent_read *sent, uint64_t now)
{
    const struct l1 *l1 = &l1s->l1s[request->sm];
    const uint64_t lead = MERGE_LEAD_CYCLES * l1s->timing.l1_cycle;
    const bool follows = sent->access == l1->last || sent->access == request->before;
    return sent->sent > now + lead || (follows && now < sent->sent + l1s->timing.read_merge);
}

/* Sends a read to the L2, or merges it with an earlier one of the line. */
static uint64_t send_read(struct fth_timed_l1s *l1s, const struct fth_timed_request *request,
                          uint32_t sectors, uint64_t now)
{
    struct l1 *l1 = &l1s->l1s[request->sm];
    struct fth_sent_read *sent = find_sent(l1, request->line->line);
    if (!sent || !merges(l1s, request, sent, now))
        sent = add_sent(l1, request->line->line);
    sent->access = l1->sent = request->access;
    return fth_timed_l2_read(l1s->l2, request, sectors, now, sent);
}

/* When the parts of a line request happen. */
struct line_times {
    uint64_t lookup;  /* if no line of the access waits for storage */
    uint64_t waited;  /* time that lines of the access have waited so far */
    uint64_t hit;     /* when the data of the line arrives if it is a hit */
    uint64_t backlog; /* time that data from the L2 waits */
};

/* Returns when the data of a miss arrives that the L2 would deliver at `arrival`, if its line waits
 * for storage: as if the L1 sent the request after the wait, to a memory without other requests. */
static uint64_t delay(const struct fth_timed_l1s *l1s, uint64_t arrival,
                      const struct line_times *times)
{
    const struct fth_timing *timing = &l1s->timing;
    const uint64_t idle = 2 * (timing->to_join + timing->to_l2) + timing->to_memory;
    return fth_later(arrival,
                     times->lookup + times->waited + FTH_MIN(arrival - times->lookup, idle));
}

static uint64_t read_line(struct fth_timed_l1s *l1s, const struct fth_timed_request *request,
                          struct fth_cache_location location, struct line_times *times, bool *hit)
{
    struct fth_timed_cache *cache = l1s->l1s[request->sm].cache;
    const uint32_t sectors = request->line->sectors;
    const uint32_t missing = (uint32_t)fth_cache_missing(cache->cache, &location, sectors,
                                                         request->runs, request->line->run_count);
    const uint32_t held = sectors & ~missing;
    const bool allocates = !(request->line->flags & FTH_LINE_REQUEST_NO_ALLOCATE);
    const bool fresh = location.slot == FTH_NO_SLOT;
    const uint32_t flying =
        held ? fth_flight_pending(fth_flight_of(cache, location.slot), held, times->hit) : 0;
    uint32_t distance = UINT32_MAX;
    uint64_t arrival = flying ? fth_flight_of(cache, location.slot)->ready : 0;
    count_misses(l1s, request, !fresh, missing, flying);
    if (held || allocates) {
        struct fth_cache_result result;
        fth_cache_fill(cache->cache, &location, allocates ? missing : 0, &result);
        distance = result.distance;
        note_use(&l1s->l1s[request->sm], request->line, &location);
        times->waited = fth_cache_time(cache->cache, times->lookup + times->waited) - times->lookup;
    }
    if (missing) {
        arrival =
            fth_later(arrival, delay(l1s, send_read(l1s, request, missing, times->lookup), times));
        if (allocates) {
            fth_flight_add(fth_flight_of(cache, location.slot), fresh, missing,
                           times->lookup + times->waited, arrival);
            fth_cache_pin(cache->cache, location.slot,
                          fth_later(times->hit, arrival + times->backlog));
        }
    }
    count(l1s, request, FTH_TRACE_READ, held, flying, distance);
    *hit = !missing && !flying;
    return *hit ? times->hit : fth_later(times->hit, arrival + times->backlog);
}

/* Returns the sectors of a store that do not merge with those of the last store of the SM. */
static uint32_t merge_store(struct fth_timed_l1s *l1s, const struct fth_timed_request *request,
                            uint64_t now)
{
    struct recent_store *recent = &l1s->l1s[request->sm].store;
    const uint32_t sectors = request->line->sectors;
    if (recent->line != request->line->line || now >= recent->until) {
        *recent =
            (struct recent_store){request->line->line, now + l1s->timing.store_merge, sectors};
        return sectors;
    }
    const uint32_t fresh = sectors & ~recent->sectors;
    recent->sectors |= sectors;
    recent->until = now + l1s->timing.store_merge;
    return fresh;
}

static uint64_t write_line(struct fth_timed_l1s *l1s, const struct fth_timed_request *request,
                           struct fth_cache_location location, struct line_times *times)
{
    struct fth_timed_cache *cache = l1s->l1s[request->sm].cache;
    const struct fth_timed_line *line = request->line;
    uint32_t hits = (uint32_t)fth_cache_held(cache->cache, &location, line->sectors);
    uint32_t distance = UINT32_MAX;
    const bool allocates = !(line->flags & FTH_LINE_REQUEST_NO_ALLOCATE);
    if (l1s->shape.write == FTH_WRITE_EVICT) {
        drop_line(&l1s->l1s[request->sm], line, &location);
    } else if (allocates || location.slot != FTH_NO_SLOT) {
        uint64_t left = line->run_count ? 0 : line->sectors;
        for (uint32_t i = 0; i < line->run_count || left; i++) {
            struct fth_cache_result result;
            const bool fresh = location.slot == FTH_NO_SLOT;
            const struct fth_cache_run run =
                line->run_count ? request->runs[i] : fth_take_sector_run(&l1s->shape, &left);
            fth_cache_write(cache->cache, &location, run, &result);
            distance = i == 0 ? result.distance : distance;
            if (fresh && location.slot != FTH_NO_SLOT)
                fth_flight_of(cache, location.slot)->ready = 0;
        }
        note_use(&l1s->l1s[request->sm], line, &location);
        times->waited = fth_cache_time(cache->cache, times->lookup + times->waited) - times->lookup;
    }
    count(l1s, request, FTH_TRACE_WRITE, hits, 0, distance);
    return fth_timed_l2_write(l1s->l2, request, merge_store(l1s, request, times->lookup),
                              times->lookup);
}

/* A request that bypasses the L1. If it changes the line, or if its flags say so, the L1 drops its
 * copy. */
static uint64_t bypass(struct fth_timed_l1s *l1s, const struct fth_timed_request *request,
                       enum fth_trace_access_kind kind, struct fth_cache_location location,
                       uint64_t now)
{
    struct fth_sent_read sent = {.line = request->line->line};
    if ((kind != FTH_TRACE_READ || request->line->flags & FTH_LINE_REQUEST_EVICT) &&
        l1s->shape.bypass != FTH_BYPASS_ALL)
        drop_line(&l1s->l1s[request->sm], request->line, &location);
    if (l1s->misses && kind == FTH_TRACE_READ) /* the L1 never stores what the request reads */
        l1s->misses[request->instruction].cold += fth_count_bits(request->line->sectors);
    count(l1s, request, kind, 0, 0, UINT32_MAX);
    if (kind == FTH_TRACE_READ) {
        l1s->l1s[request->sm].sent = request->access; /* nothing merges with it */
        return fth_timed_l2_read(l1s->l2, request, request->line->sectors, now, &sent);
    }
    if (kind == FTH_TRACE_ATOMIC)
        return fth_timed_l2_atomic(l1s->l2, request, now);
    return fth_timed_l2_write(l1s->l2, request, merge_store(l1s, request, now), now);
}

/* Returns the additional delay of data from the L2 for a read that is looked up at `now`. Warps of
 * an H200 that wait for data of one line resume at different times. */
static uint64_t spread_of(const struct fth_timed_l1s *l1s, uint64_t line, uint64_t now)
{
    return fth_draw(line, now >> FTH_CYCLE_SHIFT).second * l1s->timing.warp_spread >> 16;
}

/* Performs a request. Returns when its data arrives, and sets whether it is a read that hits. */
static uint64_t run_request(struct fth_timed_l1s *l1s, const struct fth_timed_request *request,
                            enum fth_trace_access_kind kind, struct fth_cache_location location,
                            struct line_times *times, bool *hit)
{
    *hit = false;
    if (l1s->curves && kind == FTH_TRACE_READ)
        fth_curves_add_l1(l1s->curves, request->sm, request->line->line, request->line->sectors);
    fth_cache_set_time(l1s->l1s[request->sm].cache->cache, times->lookup + times->waited);
    if (kind == FTH_TRACE_ATOMIC || l1s->shape.bypass == FTH_BYPASS_ALL ||
        request->line->flags & FTH_LINE_REQUEST_BYPASS_L1) {
        const uint64_t ready = bypass(l1s, request, kind, location, times->lookup);
        return kind == FTH_TRACE_READ ? fth_later(times->hit, ready + times->backlog) : ready;
    }
    if (kind == FTH_TRACE_READ)
        return read_line(l1s, request, location, times, hit);
    return write_line(l1s, request, location, times);
}

/* ---- preparation ---- */

static bool goes_to_l2(const struct l1 *l1, const struct fth_timed_access *access, uint32_t i)
{
    const bool reads = access->kind == FTH_TRACE_READ;
    if (!reads && !l1->shadow)
        return true;
    const struct fth_cache_location location = locate(l1, access, i);
    if (l1->shadow)
        fth_shadow_prepare(l1->shadow, access->lines[i].line, location.slot);
    return !reads ||
           fth_cache_missing(l1->cache->cache, &location, access->lines[i].sectors, NULL, 0) != 0;
}

static inline void prepare_l1(const struct l1 *l1, const struct fth_timed_access *access,
                              uint32_t i)
{
    const uint16_t *rows = fth_access_rows(access);
    const uint32_t slot =
        rows ? fth_cache_prepare_row(l1->cache->cache, l1->first_row + rows[i])
             : fth_cache_prepare(l1->cache->cache, l1->first_set, access->lines[i].line);
    fth_prefetch(fth_flight_of(l1->cache, slot));
}

FTH_CLONES
static void prepare_lines(const struct l1 *l1, const struct fth_timed_access *access)
{
    for (uint32_t i = 0; i < access->line_count && i < 3 * PREPARED_LINES; i++)
        prepare_l1(l1, access, i);
}

void fth_timed_l1s_prepare(const struct fth_timed_l1s *l1s, uint32_t sm,
                           const struct fth_timed_access *access)
{
    if (l1s->l1s[sm].used)
        prepare_lines(&l1s->l1s[sm], access);
}

FTH_CLONES
static uint32_t prepare_sets(const struct fth_timed_l1s *l1s, uint32_t sm,
                             const struct fth_timed_access *access)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < access->line_count && i < 2 * PREPARED_LINES; i++) {
        const bool misses = goes_to_l2(&l1s->l1s[sm], access, i);
        if (misses) {
            fth_timed_l2_prepare(l1s->l2, sm, &access->lines[i], access->kind != FTH_TRACE_READ);
            mask |= (uint32_t)1 << i;
        }
    }
    return mask;
}

uint32_t fth_timed_l1s_prepare_sets(const struct fth_timed_l1s *l1s, uint32_t sm,
                                    const struct fth_timed_access *access)
{
    return l1s->l1s[sm].used ? prepare_sets(l1s, sm, access) : 0;
}

void fth_timed_l1s_prepare_slots(const struct fth_timed_l1s *l1s, uint32_t sm,
                                 const struct fth_timed_access *access, uint32_t lines)
{
    const struct l1 *l1 = &l1s->l1s[sm];
    if (!lines && !l1->shadow)
        return;
    for (uint32_t i = 0; i < access->line_count && i < PREPARED_LINES; i++) {
        if (l1->shadow)
            fth_shadow_prepare_entry(l1->shadow, access->lines[i].line, locate(l1, access, i).slot);
        if (lines >> i & 1)
            fth_timed_l2_prepare_slot(l1s->l2, sm, &access->lines[i],
                                      access->kind != FTH_TRACE_READ);
    }
}

/* ---- accesses ---- */

/* Lines that are prepared while an access with many lines is processed. */
struct ahead {
    uint32_t lines;                     /* bit k: line i + k was found to go to the L2 */
    uint32_t slots[4 * PREPARED_LINES]; /* where line i was found, at i modulo the length */
};

/* Continues the preparation of an access with many lines while line `i` is processed. */
static inline void prepare_further(const struct fth_timed_l1s *l1s, uint32_t sm,
                                   const struct fth_timed_access *access, uint32_t i,
                                   struct ahead *ahead)
{
    const struct l1 *l1 = &l1s->l1s[sm];
    const uint32_t near = i + PREPARED_LINES, far = near + PREPARED_LINES;
    if (far + PREPARED_LINES < access->line_count)
        prepare_l1(l1, access, far + PREPARED_LINES);
    ahead->lines >>= 1;
    if (far < access->line_count) {
        const struct fth_cache_location location = locate(l1, access, far);
        ahead->slots[far % FTH_COUNT(ahead->slots)] = location.slot;
        if (l1->shadow)
            fth_shadow_prepare(l1->shadow, access->lines[far].line, location.slot);
        const bool misses =
            access->kind != FTH_TRACE_READ ||
            fth_cache_missing(l1->cache->cache, &location, access->lines[far].sectors, NULL, 0);
        if (misses) {
            fth_timed_l2_prepare(l1s->l2, sm, &access->lines[far], access->kind != FTH_TRACE_READ);
            ahead->lines |= (uint32_t)1 << (2 * PREPARED_LINES);
        }
    }
    if (l1->shadow && near < access->line_count && near >= 2 * PREPARED_LINES)
        fth_shadow_prepare_entry(l1->shadow, access->lines[near].line,
                                 ahead->slots[near % FTH_COUNT(ahead->slots)]);
    if (near < access->line_count && ahead->lines >> PREPARED_LINES & 1)
        fth_timed_l2_prepare_slot(l1s->l2, sm, &access->lines[near],
                                  access->kind != FTH_TRACE_READ);
}

/* Finds line `i` of an access, after prepare_further() may have found it. */
static inline struct fth_cache_location locate_again(const struct l1 *l1,
                                                     const struct fth_timed_access *access,
                                                     uint32_t i, const struct ahead *ahead)
{
    const struct fth_cache *cache = l1->cache->cache;
    const uint32_t slot = ahead->slots[i % FTH_COUNT(ahead->slots)];
    const uint64_t line = access->lines[i].line >> cache->line_shift;
    if (i >= 2 * PREPARED_LINES && slot != FTH_NO_SLOT && cache->clock &&
        fth_line_of(cache, slot)->number == line)
        return (struct fth_cache_location){
            line, fth_row_of_slot(cache->clock, slot) >> cache->clock->row_bits, slot};
    return locate(l1, access, i);
}

/* Sectors of an access that hit or are in flight, and are not counted yet. */
struct tally {
    uint32_t requests, sectors;
    uint32_t flying; /* sectors in flight of these */
};

/* Reads a line of which all sectors are present, `flying` of them in flight. */
static inline void use_line(struct fth_timed_l1s *l1s, const struct l1 *l1,
                            const struct fth_timed_line *line,
                            const struct fth_cache_location *location, uint32_t flying,
                            struct tally *tally)
{
    const uint32_t distance = fth_slot_use(l1->cache->cache, location->set, location->slot);
    const uint32_t sectors = fth_count_bits(line->sectors);
    const uint32_t misses = l1s->shape.merged_hits ? 0 : flying;
    fth_totals_add(&l1s->totals, FTH_TRACE_READ, distance, sectors - misses, misses);
    if (l1->shadow)
        fth_shadow_use(l1->shadow, line->line, location->slot, line->sectors);
    tally->requests++;
    tally->sectors += sectors;
    tally->flying += flying;
}

/* Reads a line without a miss. *arrival: when the sectors in flight arrive whose data would be
 * delivered at `hit` otherwise; 0: the line is a hit. False: sectors are missing, or the cause of a
 * miss is wanted. These are the most frequent requests. */
static inline bool read_present(struct fth_timed_l1s *l1s, const struct l1 *l1,
                                const struct fth_timed_line *line,
                                const struct fth_cache_location *location, uint64_t hit,
                                struct tally *tally, uint64_t *arrival)
{
    if (location->slot == FTH_NO_SLOT ||
        line->sectors & ~fth_line_of(l1->cache->cache, location->slot)->valid ||
        line->flags & FTH_LINE_REQUEST_BYPASS_L1)
        return false;
    const struct fth_slot_flight *flight = fth_flight_of(l1->cache, location->slot);
    const uint32_t flying = fth_flight_pending(flight, line->sectors, hit);
    if (flying && l1->shadow && !l1s->shape.merged_hits)
        return false;
    *arrival = flying ? flight->ready : 0;
    use_line(l1s, l1, line, location, fth_count_bits(flying), tally);
    return true;
}

static void add_tally(struct fth_timed_l1s *l1s, const struct fth_timed_access *access,
                      const struct tally *tally)
{
    struct fth_model_counts *counts = &l1s->counts[access->instruction];
    counts->requests[FTH_TRACE_READ] += tally->requests;
    counts->sectors[FTH_TRACE_READ] += tally->sectors;
    counts->hits[FTH_TRACE_READ] += tally->sectors - (l1s->shape.merged_hits ? 0 : tally->flying);
    counts->merges[FTH_TRACE_READ] += tally->flying;
}

/* Returns when an L1 begins to look up an access that is issued at `now`. */
static uint64_t find_begin(const struct fth_timed_l1s *l1s, uint32_t sm, uint64_t now)
{
    const struct l1 *l1 = &l1s->l1s[sm];
    const uint64_t lead = MAX_LOOKUP_LEAD_CYCLES * l1s->timing.l1_cycle;
    const uint64_t port = fth_timed_l2_port(l1s->l2, sm);
    const uint64_t port_lead = MAX_PORT_LEAD_CYCLES * l1s->timing.l1_cycle;
    uint64_t begin = fth_later(now, l1->tags_free_at);
    if (l1->hits_free_at > begin + lead)
        begin = l1->hits_free_at - lead;
    if (port > begin + port_lead)
        begin = port - port_lead;
    return begin;
}

/* Performs the request of line `i` of an access. Returns when its data reaches the warp. */
static inline uint64_t request_line(struct fth_timed_l1s *l1s, uint32_t sm,
                                    const struct fth_timed_access *access, uint32_t i,
                                    enum fth_trace_access_kind kind, uint64_t now, uint32_t before,
                                    struct fth_cache_location location, struct line_times *times,
                                    bool *hit)
{
    const struct fth_timed_line *line = &access->lines[i];
    const struct fth_timed_request request = {.issued = now,
                                              .sm = sm,
                                              .instruction = access->instruction,
                                              .access = l1s->l1s[sm].accesses,
                                              .before = before,
                                              .line = line,
                                              .runs = fth_streams_runs(access) + line->run};
    const uint64_t ready = run_request(l1s, &request, kind, location, times, hit);
    const bool waits = kind == FTH_TRACE_READ && !*hit;
    return ready + (waits ? spread_of(l1s, line->line, times->lookup) : 0);
}

FTH_CLONES
static bool access_lines(struct fth_timed_l1s *l1s, uint32_t sm,
                         const struct fth_timed_access *access, enum fth_trace_access_kind kind,
                         uint64_t now, uint32_t before, struct fth_l1_times *times)
{
    struct l1 *l1 = &l1s->l1s[sm];
    const bool can_hit =
        kind == FTH_TRACE_READ && l1s->shape.bypass != FTH_BYPASS_ALL && !l1s->curves;
    const bool is_read = kind == FTH_TRACE_READ;
    const uint32_t count = access->line_count;
    const uint64_t cycle = l1s->timing.l1_cycle, busy = access->cycles * cycle;
    const uint64_t begin = find_begin(l1s, sm, now);
    uint64_t data = fth_later(begin, l1->hits_free_at);
    const uint64_t all = fth_later(begin, l1->data_free_at);
    uint64_t last = begin;
    struct ahead ahead = {0};
    struct tally tally = {0};
    /* `spent` is the number of hits, or of lines of a write or an atomic so far, times busy /
     * count, without a division for each line. */
    const uint64_t step = count ? busy / count : 0, rest = count ? busy % count : 0;
    uint64_t spent = 0, carry = 0, waited = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (count > PREPARED_LINES)
            prepare_further(l1s, sm, access, i, &ahead);
        const struct fth_cache_location location = locate_again(l1, access, i, &ahead);
        uint64_t ready = data + spent + l1s->timing.l1_hit;
        uint64_t arrival = 0;
        bool hit =
            can_hit && read_present(l1s, l1, &access->lines[i], &location, ready, &tally, &arrival);
        if (hit && arrival) {
            hit = false;
            ready = fth_later(ready, arrival + (all - begin)) +
                    spread_of(l1s, access->lines[i].line, begin + i / FTH_TAGS_PER_CYCLE * cycle);
        } else if (!hit) {
            struct line_times line_times = {
                .lookup = begin + (is_read ? i / FTH_TAGS_PER_CYCLE * cycle : spent),
                .waited = waited,
                .hit = ready,
                .backlog = all - begin};
            ready =
                request_line(l1s, sm, access, i, kind, now, before, location, &line_times, &hit);
            if (line_times.waited > waited)
                l1s->waits_until[sm] = line_times.lookup + line_times.waited;
            waited = line_times.waited;
            data = fth_later(data, begin + waited);
        }
        last = ready > last ? ready : last;
        if (is_read && !hit)
            continue;
        carry += rest;
        spent += step + (carry >= count);
        carry -= carry >= count ? count : 0;
    }
    add_tally(l1s, access, &tally);
    /* A read without hits needs the data banks only when its data arrives from the L2. */
    const bool keeps_place = !is_read || spent > 0 || access->shared;
    *times = (struct fth_l1_times){.begun = begin, .left = keeps_place ? all : begin, .done = last};
    l1->tags_free_at =
        begin + waited +
        (is_read ? (count + FTH_TAGS_PER_CYCLE - 1) / FTH_TAGS_PER_CYCLE * cycle : busy);
    l1->hits_free_at = data + spent;
    l1->data_free_at = all + busy;
    return !l1->shadow || !fth_shadow_failed(l1->shadow);
}

bool fth_timed_l1s_access(struct fth_timed_l1s *l1s, uint32_t sm,
                          const struct fth_timed_access *access, enum fth_trace_access_kind kind,
                          uint64_t now, uint32_t *sent, struct fth_l1_times *times)
{
    struct l1 *l1 = &l1s->l1s[sm];
    if (!l1->used && !prepare(l1s, sm))
        return false;
    l1->accesses += l1->accesses == UINT32_MAX ? 2 : 1;
    const bool done = access_lines(l1s, sm, access, kind, now, *sent, times);
    if (kind != FTH_TRACE_READ)
        l1->last = *sent = 0;
    else if (l1->sent == l1->accesses)
        l1->last = *sent = l1->sent;
    return done;
}
