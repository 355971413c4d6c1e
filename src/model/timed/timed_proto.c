/* PROTOTYPE */
#include "model/run/run.h"
#include "trace/trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

static double knob_far = 1;
static double knob(const char *name, double d) { const char *t = getenv(name); return t ? atof(t) : d; }

struct timed_cache { struct fth_cache *cache; uint64_t *ready; uint8_t *flight; size_t slots; };
struct pending_store { uint64_t line, time; uint64_t sectors; uint32_t seq; };
struct access { struct fth_compact_access a; };
struct stream { struct access *items; size_t count, capacity; };
enum { BOARD = 64 };
struct warp {
    struct stream stream; size_t next; uint32_t prev; uint64_t issued; double time;
    struct { uint64_t at; double ready; } board[BOARD]; unsigned board_count;
    uint32_t block, index; /* block slot */
    bool waiting; uint32_t link; double last;
};
struct blk { uint64_t number; uint32_t sm; struct warp *warps; uint32_t warp_count, alive, waiting; double latest; uint64_t *steps_pool; };
struct rmerge { uint64_t line; double until; uint64_t missed; uint32_t warp; };
struct joined { uint64_t line; uint64_t sectors; double until; unsigned count; };

struct counts { uint64_t l1_sectors[3], l1_hits[3], l2_sectors[3], l2_hits[3], l2_merged[3], far, dr, dw, joined, smerged; };

struct timed {
    const struct fth_trace *trace; const struct fth_model_params *params; struct fth_setting set; size_t launch;
    struct fth_placement *placement; const struct fth_pace *pace;
    struct timed_cache *l1, *l2; double *port, *lsu, *sched, *l2q; double dramq;
    uint8_t *side; uint32_t *group; size_t group_count;
    struct joined *joins; size_t join_size, join_groups;
    struct pending_store *stores; size_t store_size; struct rmerge *rm; uint32_t warp_now; double rwindow; uint64_t last_missed; uint64_t rmerged, l2req;
    struct blk *blocks; size_t block_slots;
    /* heap */
    struct { double t; uint32_t b, w; } *heap; size_t heap_count, heap_cap;
    struct fth_line_requests reqs; struct counts c; uint32_t *rq[64]; size_t rq_head[64], rq_count[64]; unsigned cur_gpc, turn; uint64_t visit, served[1024]; double disp_free; bool disp_on; double tick, burst, disp;
    double join_max, d_join, d_l2, l1_lat, l2_lat, far_lat, mem_lat, l2_bpc, mem_bpc, issue, port_cost, store_window, launch_gap, refill;
    uint64_t next_block, blocks_loaded; struct blk *loaded; uint64_t chunk_first, chunk_count;
    double end; uint64_t events;
};

static void make(struct timed_cache *c, const struct fth_shape *shape, uint64_t seed)
{
    struct fth_error e;
    struct fth_cache_config config = {.line_bytes = shape->line_bytes, .sector_bytes = shape->sector_bytes, .sets = shape->sets, .ways = shape->ways,
        .index = shape->index, .policy = shape->policy, .write = shape->write, .seed = seed};
    uint64_t extra = shape->lines % shape->sets, *sw = NULL;
    if (extra) { sw = calloc(shape->sets, 8); for (uint64_t s = 0; s < shape->sets; s++) sw[s] = shape->lines / shape->sets + (s < extra); config.ways = 0; config.set_ways = sw; }
    if (fth_cache_create(&config, &c->cache, &e) != FTH_OK) { fprintf(stderr, "cache\n"); exit(1); }
    free(sw);
    c->slots = shape->lines + shape->sets; c->ready = calloc(c->slots, 8); c->flight = calloc(c->slots, 1);
}
static unsigned bits(uint64_t m) { return (unsigned)__builtin_popcountll(m); }
static uint64_t home(struct timed *t, uint64_t line) { return t->set.sides == 2 ? (uint64_t)__builtin_parityll(line & t->set.home_mask) : t->set.sides == 1 ? 0 : bits(line & t->set.home_mask) % t->set.sides; }

/* fills sectors; marks them in flight until `ready` */
static void fill(struct timed *t, struct timed_cache *c, struct fth_cache_location *loc, uint64_t sectors, double now, double ready)
{
    struct fth_cache_result r = {0};
    const bool fresh = loc->slot == FTH_NO_SLOT;
    fth_cache_fill(c->cache, loc, sectors, &r);
    if (r.evicted && r.evicted_dirty) { t->c.dw += bits(r.evicted_dirty); t->dramq += bits(r.evicted_dirty) * 32 / t->mem_bpc; }
    if (loc->slot == FTH_NO_SLOT) return;
    if (fresh || (double)c->ready[loc->slot] <= now) { c->flight[loc->slot] = (uint8_t)sectors; c->ready[loc->slot] = (uint64_t)ready; }
    else { c->flight[loc->slot] |= (uint8_t)sectors; if (ready > (double)c->ready[loc->slot]) c->ready[loc->slot] = (uint64_t)ready; }
}
static double dram(struct timed *t, double now, unsigned sectors)
{
    const double at = now > t->dramq ? now : t->dramq;
    t->dramq = at + sectors * 32 / t->mem_bpc; t->c.dr += sectors;
    return at + (t->mem_lat - t->l2_lat);
}
/* reads at a side; returns when the data is there. */
static double read_side(struct timed *t, uint64_t side, uint64_t line, uint64_t sectors, double now, bool count, int kind)
{
    struct timed_cache *c = &t->l2[side];
    struct fth_cache_location loc = fth_cache_locate(c->cache, line);
    uint64_t missing = fth_cache_missing(c->cache, &loc, sectors, NULL, 0);
    uint64_t held = sectors & ~missing, inflight = 0; double ret = now;
    if (held && loc.slot != FTH_NO_SLOT && (double)c->ready[loc.slot] > now) { inflight = held & c->flight[loc.slot]; if (inflight) ret = (double)c->ready[loc.slot]; }
    if (count) { t->c.l2_sectors[kind] += bits(sectors); t->c.l2_hits[kind] += bits(held & ~inflight); t->c.l2_merged[kind] += bits(inflight); }
    if (count) { t->last_missed = missing ? fth_shape_fills(&t->set.l2, missing) : 0; t->l2req++; }
    if (missing) {
        uint64_t fetch = fth_shape_fills(&t->set.l2, missing);
        fetch = fth_cache_missing(c->cache, &loc, fetch, NULL, 0);
        double ready; const uint64_t h = home(t, line);
        if (h != side) {
            const double far = now + (t->far_lat - t->l2_lat) / 2;
            struct timed_cache *o = &t->l2[h]; struct fth_cache_location l2 = fth_cache_locate(o->cache, line);
            uint64_t miss2 = fth_cache_missing(o->cache, &l2, fetch, NULL, 0);
            ready = now + (t->far_lat - t->l2_lat);
            uint64_t held2 = fetch & ~miss2;
            if (held2 && (double)o->ready[l2.slot] > far && (o->flight[l2.slot] & held2)) ready = (double)o->ready[l2.slot] + (t->far_lat - t->l2_lat) / 2;
            if (count) t->c.far += bits(missing & ~miss2);
            if (miss2) { const double r2 = dram(t, now, bits(miss2)); fill(t, o, &l2, miss2, far, r2); const double back = r2 + (t->far_lat - t->l2_lat) * knob_far; if (back > ready) ready = back; }
            else fth_cache_fill(o->cache, &l2, 0, &(struct fth_cache_result){0});
        } else ready = dram(t, now, bits(fetch));
        fill(t, c, &loc, fetch, now, ready);
        if (ready > ret) ret = ready;
    } else { struct fth_cache_result r = {0}; fth_cache_fill(c->cache, &loc, 0, &r); }
    return ret;
}
static double l2_queue(struct timed *t, uint64_t side, double at, unsigned sectors)
{
    double now = at > t->l2q[side] ? at : t->l2q[side];
    t->l2q[side] = now + sectors * 32 / t->l2_bpc; return now;
}
static double read_l2(struct timed *t, uint32_t sm, uint64_t line, uint64_t sectors, double now)
{
    double req = now > t->port[sm] ? now : t->port[sm];
    t->port[sm] = req + t->port_cost;
    const double at = req + t->d_join;
    struct joined *j = NULL;
    if (t->group) {
        uint32_t g = t->group[sm % t->group_count];
        uint64_t h = (line * UINT64_C(0x9e3779b97f4a7c15) >> 40) ^ sectors * 77;
        j = &t->joins[(size_t)g * t->join_size + (h & (t->join_size - 1))];
        if (j->line == line && j->sectors == sectors && j->until > at && j->count < (unsigned)t->join_max) { j->count++; t->c.joined += bits(sectors); return j->until + t->d_join; }
    }
    const uint64_t near = t->side[sm];
    double arrive = l2_queue(t, near, at + t->d_l2, bits(sectors));
    double ret = read_side(t, near, line, sectors, arrive, true, 0) + t->d_l2;
    if (j) *j = (struct joined){line, sectors, ret, 1};
    return ret + t->d_join;
}
static void write_l2(struct timed *t, uint32_t sm, const struct fth_line_request *r, double now)
{
    const uint64_t h = home(t, r->line);
    double at = l2_queue(t, h, now + t->d_join + t->d_l2, bits(r->sectors)); (void)sm;
    struct timed_cache *c = &t->l2[h];
    struct fth_cache_location loc = fth_cache_locate(c->cache, r->line);
    t->c.l2_sectors[1] += bits(r->sectors); t->c.l2_hits[1] += bits(r->sectors);
    for (uint32_t i = 0; i < r->run_count; i++) {
        struct fth_cache_result res = {0}; struct fth_cache_run run = t->reqs.runs[r->run + i];
        const bool fresh = loc.slot == FTH_NO_SLOT;
        fth_cache_write(c->cache, &loc, run, &res);
        if (res.evicted && res.evicted_dirty) { t->c.dw += bits(res.evicted_dirty); t->dramq += bits(res.evicted_dirty) * 32 / t->mem_bpc; }
        if (fresh && loc.slot != FTH_NO_SLOT) { c->flight[loc.slot] = 0; c->ready[loc.slot] = 0; }
        for (uint64_t s = 0; s < t->set.sides; s++) if (s != h) fth_cache_invalidate_sectors(t->l2[s].cache, r->line + run.from, run.bytes);
    }
    (void)at;
}
static double atomic_l2(struct timed *t, uint32_t sm, const struct fth_line_request *r, double now)
{
    double req = now > t->port[sm] ? now : t->port[sm]; t->port[sm] = req + t->port_cost;
    const uint64_t h = home(t, r->line);
    double at = l2_queue(t, h, req + t->d_join + t->d_l2, bits(r->sectors));
    double ret = read_side(t, h, r->line, r->sectors, at, true, 2);
    struct timed_cache *c = &t->l2[h]; struct fth_cache_location loc = fth_cache_locate(c->cache, r->line);
    for (uint32_t i = 0; i < r->run_count; i++) { struct fth_cache_result res = {0}; struct fth_cache_run run = t->reqs.runs[r->run + i]; fth_cache_write(c->cache, &loc, run, &res);
      for (uint64_t s = 0; s < t->set.sides; s++) if (s != h) fth_cache_invalidate_sectors(t->l2[s].cache, r->line + run.from, run.bytes); }
    return ret + t->d_l2 + t->d_join;
}
static double one(struct timed *t, uint32_t sm, struct fth_line_request *r, double now)
{
    struct timed_cache *c = &t->l1[sm]; const int kind = r->kind;
    const bool bypass = (r->flags & FTH_LINE_REQUEST_BYPASS_L1) || t->set.l1.bypass == FTH_BYPASS_ALL;
    t->c.l1_sectors[kind] += bits(r->sectors);
    if (kind == FTH_TRACE_ATOMIC) return atomic_l2(t, sm, r, now);
    struct fth_cache_location loc = fth_cache_locate(c->cache, r->line);
    if (kind == FTH_TRACE_WRITE) {
        t->c.l1_hits[1] += bits(fth_cache_held(c->cache, &loc, r->sectors));
        for (uint32_t i = 0; i < r->run_count && !bypass; i++) { struct fth_cache_result res = {0}; const bool fresh = loc.slot == FTH_NO_SLOT;
            fth_cache_write(c->cache, &loc, t->reqs.runs[r->run + i], &res); if (fresh && loc.slot != FTH_NO_SLOT) { c->flight[loc.slot] = 0; c->ready[loc.slot] = 0; } }
        struct pending_store *s = &t->stores[(size_t)sm * t->store_size + ((r->line >> 7) & (t->store_size - 1))];
        struct fth_line_request rest = *r;
        if (s->line == r->line && now < (double)s->time + t->store_window) { uint64_t dup = rest.sectors & s->sectors; t->c.smerged += bits(dup); s->sectors |= rest.sectors;
            /* state still written, but the merged sectors are not counted again */
            t->c.l2_sectors[1] -= bits(dup); t->c.l2_hits[1] -= bits(dup); }
        else *s = (struct pending_store){r->line, (uint64_t)now, r->sectors, 0};
        double req = now > t->port[sm] ? now : t->port[sm]; t->port[sm] = req + t->port_cost;
        write_l2(t, sm, &rest, req);
        return now;
    }
    if (bypass) return read_l2(t, sm, r->line, r->sectors, now);
    uint64_t missing = fth_cache_missing(c->cache, &loc, r->sectors, t->reqs.runs + r->run, r->run_count);
    uint64_t held = r->sectors & ~missing; double ret = now + t->l1_lat;
    if (held && loc.slot != FTH_NO_SLOT && (c->flight[loc.slot] & held) && (double)c->ready[loc.slot] > ret) ret = (double)c->ready[loc.slot];
    t->c.l1_hits[0] += bits(held);
    if (missing) { double ready;
        struct rmerge *m = &t->rm[(size_t)sm * 64 + ((r->line >> 7) * 0x9e3779b97f4a7c15ull >> 58)];
        if (m->line == r->line && now < m->until && m->warp != t->warp_now && t->rwindow > 0) {
            const uint64_t before = t->l2req; t->rmerged += bits(missing);
            ready = read_l2(t, sm, r->line, missing, now); t->l2req = before;
            /* sectors of a fill that the same request missed are misses, not hits */
            const uint64_t was = missing & m->missed & ~t->last_missed; t->c.l2_hits[0] -= bits(was); m->missed |= t->last_missed;
        } else {
            t->last_missed = 0; ready = read_l2(t, sm, r->line, missing, now);
            uint64_t h = (r->line ^ (uint64_t)now * 0x2545F4914F6CDD1Dull) * 0x9e3779b97f4a7c15ull >> 40; double u = (double)(h & 0xffff) / 65536.0;
            *m = (struct rmerge){r->line, now + (u < 0.25 ? 0.5 : (u - 0.25) / 0.75 * t->rwindow), t->last_missed, t->warp_now};
        }
        fill(t, c, &loc, missing, now, ready); if (ready > ret) ret = ready; }
    else { struct fth_cache_result res = {0}; fth_cache_fill(c->cache, &loc, 0, &res); }
    return ret;
}

/* ---- heap ---- */
static void push(struct timed *t, double time, uint32_t b, uint32_t w)
{
    if (t->heap_count == t->heap_cap) { t->heap_cap = t->heap_cap ? 2 * t->heap_cap : 1024; t->heap = realloc(t->heap, t->heap_cap * sizeof *t->heap); }
    size_t i = t->heap_count++;
    while (i && t->heap[(i - 1) / 2].t > time) { t->heap[i] = t->heap[(i - 1) / 2]; i = (i - 1) / 2; }
    t->heap[i].t = time; t->heap[i].b = b; t->heap[i].w = w;
}
static void pop(struct timed *t)
{
    __typeof__(t->heap[0]) last = t->heap[--t->heap_count]; size_t i = 0;
    for (;;) { size_t k = 2 * i + 1; if (k >= t->heap_count) break; if (k + 1 < t->heap_count && t->heap[k + 1].t < t->heap[k].t) k++; if (t->heap[k].t >= last.t) break; t->heap[i] = t->heap[k]; i = k; }
    if (t->heap_count) t->heap[i] = last;
}

/* ---- streams ---- */
static void load_chunk(struct timed *t, uint64_t first, uint64_t count)
{
    struct fth_trace_cursor *cur = NULL; struct fth_error e; const struct fth_compact_access *acc; size_t n;
    t->chunk_first = first; t->chunk_count = count;
    free(t->loaded); t->loaded = calloc(count, sizeof *t->loaded);
    for (uint64_t i = 0; i < count; i++) { t->loaded[i].number = first + i; t->loaded[i].warp_count = (uint32_t)t->set.warps_per_block; t->loaded[i].warps = calloc(t->set.warps_per_block, sizeof(struct warp)); }
    if (fth_trace_cursor_open(t->trace, t->launch, first, first + count - 1, &cur, &e) != FTH_OK) exit(2);
    for (;;) {
        if (fth_trace_next_compact(cur, SIZE_MAX, &acc, &n, &e) != FTH_OK) exit(3);
        if (!n) break;
        for (size_t i = 0; i < n; i++) {
            if (acc[i].block < first || acc[i].block >= first + count) continue;
            struct stream *s = &t->loaded[acc[i].block - first].warps[acc[i].warp].stream;
            if (s->count == s->capacity) { s->capacity = s->capacity ? 2 * s->capacity : 8; s->items = realloc(s->items, s->capacity * sizeof *s->items); }
            s->items[s->count].a = acc[i];
            if (acc[i].threads > 1) { size_t k = acc[i].affine ? 1 : acc[i].threads - 1; uint64_t *p = malloc(k * 8); memcpy(p, acc[i].steps, k * 8); s->items[s->count].a.steps = p; }
            s->count++;
        }
    }
    fth_trace_cursor_close(cur);
}
static struct blk take_block(struct timed *t, uint64_t number)
{
    if (number < t->chunk_first || number >= t->chunk_first + t->chunk_count) {
        uint64_t per = fth_trace_launch_at(t->trace, t->launch)->accesses / t->set.blocks + 1, n = (1 << 19) / per + 1;
        if (number + n > t->set.blocks) n = t->set.blocks - number;
        load_chunk(t, number, n);
    }
    return t->loaded[number - t->chunk_first];
}

static void finish_warp(struct timed *t, uint32_t bi, double time);
/* schedules the next access of the warp, which issued the last one at `now` */
static void advance(struct timed *t, uint32_t bi, uint32_t wi, double now)
{
    struct blk *b = &t->blocks[bi]; struct warp *w = &b->warps[wi];
    uint32_t sched = b->sm * 4 + (wi & 3);
    if (w->next == w->stream.count) {
        double end = now;
        for (unsigned i = 0; i < w->board_count; i++) if (w->board[i].ready > end) end = w->board[i].ready;
        finish_warp(t, bi, end); return;
    }
    const struct fth_pace_step *s = t->pace ? fth_pace_find(t->pace, w->prev, w->stream.items[w->next].a.instruction) : NULL;
    double n = s ? (double)s->instructions / (double)s->count : 4;
    bool barrier = s && s->barriers * 2 >= s->count;
    uint64_t target = w->issued + (uint64_t)(n + 0.5);
    double at = now + n * t->issue;
    unsigned kept = 0;
    for (unsigned i = 0; i < w->board_count; i++) {
        if (w->board[i].at <= target) { double stall = w->board[i].ready + (double)(target - w->board[i].at) * t->issue; if (stall > at) at = stall; }
        else w->board[kept++] = w->board[i];
    }
    w->board_count = kept; w->issued = target;
    double f = t->sched[sched] > now ? t->sched[sched] : now; t->sched[sched] = f + n; if (t->sched[sched] > at) at = t->sched[sched];
    w->time = at;
    if (barrier) {
        w->waiting = true; b->waiting++; if (at > b->latest) b->latest = at;
        if (b->waiting == b->alive) { for (uint32_t i = 0; i < b->warp_count; i++) if (b->warps[i].waiting) { b->warps[i].waiting = false; push(t, b->latest, bi, i); } b->waiting = 0; b->latest = 0; }
    } else push(t, at, bi, wi);
}
static void start_block(struct timed *t, uint32_t bi, uint64_t number, uint32_t sm, double time)
{
    struct blk *b = &t->blocks[bi]; *b = take_block(t, number); b->sm = sm; b->alive = b->warp_count; b->waiting = 0; b->latest = 0;
    for (uint32_t i = 0; i < b->warp_count; i++) { b->warps[i].prev = FTH_PACE_START; }
    for (uint32_t i = 0; i < b->warp_count && t->blocks[bi].number == number; i++) advance(t, bi, i, time);
}
static void finish_warp(struct timed *t, uint32_t bi, double time)
{
    struct blk *b = &t->blocks[bi]; b->alive--; if (time > t->end) t->end = time;
    if (time > b->warps[0].last) b->warps[0].last = time;
    if (b->alive == 0) {
        double end = b->warps[0].last;
        for (uint32_t i = 0; i < b->warp_count; i++) { for (size_t k = 0; k < b->warps[i].stream.count; k++) if (b->warps[i].stream.items[k].a.threads > 1) free((void *)b->warps[i].stream.items[k].a.steps); free(b->warps[i].stream.items); }
        free(b->warps); b->warps = NULL;
        if (t->next_block < t->set.blocks) { b->alive = 0; unsigned g = t->group ? t->group[b->sm % t->group_count] % 64 : 0;
            double ready = end + t->refill; if (t->tick > 0) { double ph = g * t->tick / 8; ready = (floor((ready - ph) / t->tick) + 1) * t->tick + ph; }
            push(t, ready, bi, UINT32_MAX); }
    } else if (b->waiting && b->waiting == b->alive) { for (uint32_t i = 0; i < b->warp_count; i++) if (b->warps[i].waiting) { b->warps[i].waiting = false; push(t, b->latest, bi, i); } b->waiting = 0; b->latest = 0; }
}

void fth_timed_proto(const struct fth_trace *trace, const struct fth_model_params *params)
{
    struct fth_error e;
    double clock = knob("T_CLOCK", 1.98e9); knob_far = knob("T_FAR", 1);
    for (size_t launch = 0; launch < fth_trace_launch_count(trace); launch++) {
        struct timed *t = calloc(1, sizeof *t);
        t->trace = trace; t->params = params; t->launch = launch;
        if (fth_model_setting(params, fth_trace_launch_at(trace, launch), &t->set, &e) != FTH_OK) { fprintf(stderr, "setting\n"); return; }
        if (fth_placement_create(params, &t->set, &t->placement, &e) != FTH_OK) { fprintf(stderr, "placement\n"); return; }
        t->pace = knob("T_NOPACE", 0) ? NULL : fth_trace_pace(trace, launch);
        uint64_t sms = t->set.sms;
        t->l1 = calloc(sms, sizeof *t->l1); t->l2 = calloc(t->set.sides, sizeof *t->l2);
        for (uint64_t i = 0; i < sms; i++) make(&t->l1[i], &t->set.l1, i);
        for (uint64_t i = 0; i < t->set.sides; i++) make(&t->l2[i], &t->set.l2, i);
        t->port = calloc(sms, 8); t->lsu = calloc(sms, 8); t->sched = calloc(sms * 4, 8); t->l2q = calloc(t->set.sides, 8);
        t->side = calloc(sms, 1);
        uint32_t *list = NULL; size_t count = 0;
        if (strcmp(params->values[FTH_KEY_SIDE_OF_SM].text, "alternate") != 0 && fth_sm_list(params, FTH_KEY_SIDE_OF_SM, t->set.sides, &list, &count, &e) != FTH_OK) return;
        for (uint64_t i = 0; i < sms; i++) t->side[i] = (uint8_t)(count ? list[i % count] : i % t->set.sides);
        free(list);
        if (strcmp(params->values[FTH_KEY_JOINS].text, "none") != 0 && fth_sm_list(params, FTH_KEY_JOINS, UINT32_MAX, &t->group, &t->group_count, &e) != FTH_OK) return;
        t->join_size = 1 << 14; for (size_t i = 0; i < t->group_count; i++) if (t->group[i] + 1 > t->join_groups) t->join_groups = t->group[i] + 1;
        t->joins = calloc(t->join_groups * t->join_size + 1, sizeof *t->joins);
        t->store_size = 256; t->rm = calloc(sms * 64, sizeof *t->rm); t->rwindow = knob("T_RWIN", 34); t->stores = calloc(sms * t->store_size, sizeof *t->stores);
        t->d_join = knob("T_DJOIN", 125); t->join_max = knob("T_JOINMAX", 4); t->l1_lat = params->values[FTH_KEY_LATENCY_CYCLES].number;
        t->l2_lat = params->values[fth_model_key(FTH_MODEL_L2, FTH_KEY_LATENCY_CYCLES)].number; t->d_l2 = (t->l2_lat - 2 * t->d_join) / 2;
        t->far_lat = params->values[FTH_KEY_FAR_CYCLES].number; t->mem_lat = params->values[FTH_KEY_MEMORY_CYCLES].number + knob("T_MEMADD", 0);
        t->l2_bpc = params->values[fth_model_key(FTH_MODEL_L2, FTH_KEY_BYTES_PER_S)].number / clock / (double)t->set.sides * knob("T_L2BW", 1);
        t->mem_bpc = params->values[FTH_KEY_MEMORY_BYTES_PER_S].number / clock * knob("T_MEMBW", 0.9);
        t->issue = knob("T_ISSUE", 2); t->port_cost = knob("T_PORT", 1.1); t->store_window = knob("T_STORE", 30); t->launch_gap = knob("T_LAUNCH", 0.6); t->refill = knob("T_REFILL", 260); t->tick = knob("T_TICK", 150); t->burst = knob("T_BURST", 3); t->disp = knob("T_DISP", 1);
        t->block_slots = sms * t->set.blocks_at_once; if (t->block_slots > t->set.blocks) t->block_slots = t->set.blocks;
        t->blocks = calloc(t->block_slots, sizeof *t->blocks);
        size_t slot = 0; t->visit = 1;
        uint32_t *smof = calloc(t->block_slots, 4);
        for (; t->next_block < t->block_slots; t->next_block++) { uint64_t wave; smof[slot] = fth_placement_sm(t->placement, t->next_block, &wave); start_block(t, (uint32_t)slot, t->next_block, smof[slot], t->launch_gap * (double)slot); slot++; }
        while (t->heap_count) {
            uint32_t bi = t->heap[0].b, wi = t->heap[0].w; double now = t->heap[0].t; pop(t);
            if (wi == UINT32_MAX) { unsigned g = t->group ? t->group[smof[bi] % t->group_count] % 64 : 0;
                if (!t->rq[g]) t->rq[g] = calloc(t->block_slots, 4);
                t->rq[g][(t->rq_head[g] + t->rq_count[g]++) % t->block_slots] = bi;
                if (!t->disp_on) { t->disp_on = true; push(t, now > t->disp_free ? now : t->disp_free, 0, UINT32_MAX - 1); } continue; }
            if (wi == UINT32_MAX - 1) { size_t pick = SIZE_MAX; unsigned g = t->cur_gpc;
                for (unsigned tries = 0; tries < 65 && pick == SIZE_MAX; tries++) {
                    for (size_t q = 0; q < t->rq_count[g] && t->turn < (unsigned)t->burst && pick == SIZE_MAX; q++) { uint32_t sm2 = smof[t->rq[g][(t->rq_head[g] + q) % t->block_slots]]; if (t->served[sm2 / 2] != t->visit) pick = q; }
                    if (pick == SIZE_MAX) { g = (g + 1) % 64; t->turn = 0; t->visit++; } }
                t->cur_gpc = g; if (pick == SIZE_MAX) { t->disp_on = false; continue; }
                uint32_t *q0 = &t->rq[g][(t->rq_head[g] + pick) % t->block_slots], slot2 = *q0;
                for (size_t q = pick; q > 0; q--) t->rq[g][(t->rq_head[g] + q) % t->block_slots] = t->rq[g][(t->rq_head[g] + q - 1) % t->block_slots];
                t->rq_head[g] = (t->rq_head[g] + 1) % t->block_slots; t->rq_count[g]--; t->turn++; t->served[smof[slot2] / 2] = t->visit;
                t->disp_free = now + t->disp; push(t, t->disp_free, 0, UINT32_MAX - 1);
                if (t->next_block < t->set.blocks) start_block(t, slot2, t->next_block++, smof[slot2], now); continue; }
            struct blk *b = &t->blocks[bi]; struct warp *w = &b->warps[wi]; uint32_t sm = b->sm;
            const struct fth_compact_access *a = &w->stream.items[w->next++].a;
            const struct fth_trace_instruction *inst = fth_trace_instruction_at(trace, a->instruction);
            t->events++;
            fth_line_requests_clear(&t->reqs); fth_coalesce(&t->reqs, &t->set.l1, a, inst);
            double at = now > t->lsu[sm] ? now : t->lsu[sm]; double done = at; t->warp_now = bi * 64 + wi + 1;
            for (size_t i = 0; i < t->reqs.count; i++) { double d = one(t, sm, &t->reqs.items[i], at + (double)i); if (d > done) done = d; }
            t->lsu[sm] = at + (double)t->reqs.count;
            w->prev = a->instruction;
            if (inst->kind != FTH_TRACE_WRITE && inst->wait != UINT32_MAX) {
                if (w->board_count == BOARD) { double m = w->board[0].ready; memmove(w->board, w->board + 1, (BOARD - 1) * sizeof w->board[0]); w->board_count--; if (m > now) now = m; }
                w->board[w->board_count].at = w->issued + inst->wait; w->board[w->board_count++].ready = done;
            }
            if (done > t->end) t->end = done;
            advance(t, bi, wi, now > at ? now : at);
        }
        struct counts *c = &t->c;
        fprintf(stderr, "TIMED %s l1r %.2f l2sect %lu l2r %.2f merged %lu joined %lu far %lu dram %lu dw %lu wr %lu smerged %lu us %.1f ev %lu rmerged %lu req %lu\n", fth_trace_launch_at(trace, launch)->kernel,
            100.0 * c->l1_hits[0] / (c->l1_sectors[0] + 1e-9), c->l2_sectors[0], 100.0 * (c->l2_hits[0] + c->l2_merged[0]) / (c->l2_sectors[0] + 1e-9), c->l2_merged[0], c->joined, c->far, c->dr, c->dw, c->l2_sectors[1], c->smerged, t->end / clock * 1e6, t->events, t->rmerged, t->l2req);
        for (uint64_t i = 0; i < sms; i++) { fth_cache_destroy(t->l1[i].cache); free(t->l1[i].ready); free(t->l1[i].flight); }
        for (uint64_t i = 0; i < t->set.sides; i++) { fth_cache_destroy(t->l2[i].cache); free(t->l2[i].ready); free(t->l2[i].flight); }
        free(t->l1); free(t->l2); free(t->joins); free(t->stores); free(t->blocks); free(t->heap); free(smof); fth_placement_destroy(t->placement); free(t);
    }
}
