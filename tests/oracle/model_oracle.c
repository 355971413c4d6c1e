/* See model_oracle.h. The order of things follows the paper's Algorithms 1 to 3 and Section 4.4. */
#include "model_oracle.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 256 };

/* What a warp wants of a line. */
struct want {
    uint64_t line;
    unsigned char bytes[MAX_LINE];
    enum fth_trace_access_kind kind;
    uint64_t pass_on; /* sectors for the level below */
    uint64_t warp;
    bool done;
};

struct pending {
    uint64_t line, sectors, answer, joined, mshr, order;
};

/* The lines of a set, newest first. */
struct recent {
    uint64_t unit, set, line;
};

struct level {
    struct oracle_cache config;
    bool is_l2;
    struct oracle **units;
    size_t unit_count;
    struct pending *pending;
    size_t pending_count;
    struct recent *recent; /* of all sets together, newest first */
    size_t recent_count;
    uint64_t step, last_answer[64];
    struct oracle_counts counts;
};

struct run {
    const struct oracle_model *model;
    struct level *l1;
    struct level sides[2];
    struct oracle_result *result;
};

static void *more(void *items, size_t count, size_t size)
{
    void *grown = realloc(items, (count + 1) * size);
    if (!grown)
        abort();
    return grown;
}

static unsigned bits(uint64_t mask)
{
    unsigned count = 0;
    for (; mask; mask >>= 1)
        count += mask & 1;
    return count;
}

static uint64_t sector_bytes(const struct level *level)
{
    return level->config.sector_bytes ? level->config.sector_bytes : level->config.line_bytes;
}

static void make_level(struct level *level, const struct oracle_cache *config, uint64_t share,
                       bool is_l2, uint64_t seed)
{
    *level = (struct level){.config = *config, .is_l2 = is_l2};
    level->unit_count = config->partitions * config->banks;
    level->units = calloc(level->unit_count, sizeof *level->units);
    const uint64_t lines = config->size_bytes / share / config->line_bytes / level->unit_count;
    const bool off = strcmp(config->bypass, "off") == 0;
    for (size_t i = 0; i < level->unit_count; i++)
        level->units[i] =
            oracle_create(&(struct fth_cache_config){.line_bytes = config->line_bytes,
                                                     .sector_bytes = config->sector_bytes,
                                                     .sets = lines / config->ways,
                                                     .ways = config->ways,
                                                     .index = config->index,
                                                     .policy = config->policy,
                                                     .write = !off    ? FTH_WRITE_EVICT
                                                              : is_l2 ? FTH_WRITE_BACK
                                                                      : FTH_WRITE_THROUGH,
                                                     .seed = seed + i});
}

static void free_level(struct level *level)
{
    for (size_t i = 0; i < level->unit_count; i++)
        oracle_destroy(level->units[i]);
    free(level->units);
    free(level->pending);
    free(level->recent);
}

/* Two-level interleaving, counted out: each partition gets every so many-th piece, and so does each
 * bank of what its partition has. */
static size_t unit_of(const struct level *level, uint64_t address, uint64_t *local)
{
    const struct oracle_cache *c = &level->config;
    const uint64_t pb = c->partition_bytes ? c->partition_bytes : c->line_bytes;
    const uint64_t bb = c->bank_bytes ? c->bank_bytes : c->line_bytes;
    const uint64_t partition = address / pb % c->partitions;
    const uint64_t inside = address / pb / c->partitions * pb + address % pb;
    const uint64_t bank = inside / bb % c->banks;
    *local = inside / bb / c->banks * bb + inside % bb;
    return partition * c->banks + bank;
}

static uint64_t mshr_of(const struct level *level, size_t unit)
{
    const struct oracle_cache *c = &level->config;
    const uint64_t each = (c->partitions + c->mshr_sets - 1) / c->mshr_sets;
    return unit / c->banks / each;
}

static uint64_t busy(const struct level *level, uint64_t mshr)
{
    uint64_t count = 0;
    for (size_t i = 0; i < level->pending_count; i++)
        count += level->pending[i].mshr == mshr && level->pending[i].answer > level->step;
    return count;
}

/* ---- distances ---- */

static void forget(struct level *level, uint64_t unit, uint64_t line)
{
    for (size_t i = 0; i < level->recent_count; i++)
        if (level->recent[i].unit == unit && level->recent[i].line == line) {
            memmove(level->recent + i, level->recent + i + 1,
                    (level->recent_count - i - 1) * sizeof *level->recent);
            level->recent_count--;
            return;
        }
}

/* The distance of a line, which becomes the newest of its set; ways where it is not there. */
static uint64_t renew(struct level *level, uint64_t unit, const struct fth_cache_result *result,
                      uint64_t line)
{
    uint64_t distance = 0, found = level->config.ways;
    if (result->evicted)
        forget(level, unit, result->evicted_line);
    for (size_t i = 0; i < level->recent_count; i++) {
        if (level->recent[i].unit != unit || level->recent[i].set != result->set)
            continue;
        if (level->recent[i].line == line) {
            found = distance;
            break;
        }
        distance++;
    }
    forget(level, unit, line);
    level->recent = more(level->recent, level->recent_count, sizeof *level->recent);
    memmove(level->recent + 1, level->recent, level->recent_count * sizeof *level->recent);
    level->recent[0] = (struct recent){unit, result->set, line};
    level->recent_count++;
    return found;
}

static void note(struct level *level, const struct want *want, uint64_t distance, uint64_t hits,
                 uint64_t misses)
{
    uint64_t *profile = level->counts.profile[want->kind != FTH_TRACE_READ];
    profile[strcmp(level->config.policy, "lru") == 0 ? distance : level->config.ways] += hits;
    profile[level->config.ways] += misses;
}

/* ---- one request ---- */

static uint64_t sectors_of(const struct level *level, const struct want *want)
{
    uint64_t sectors = 0;
    const uint64_t each = sector_bytes(level);
    for (uint64_t i = 0; i < level->config.line_bytes; i++)
        if (want->bytes[i])
            sectors |= UINT64_C(1) << (i / each);
    return sectors;
}

static uint64_t missing_of(const struct level *level, size_t unit, uint64_t local,
                           const struct want *want, bool whole)
{
    uint64_t missing = 0;
    const uint64_t sectors = sectors_of(level, want);
    for (uint64_t i = 0; i < level->config.line_bytes; i++) {
        const uint64_t sector = i / sector_bytes(level);
        const bool wanted = whole ? sectors >> sector & 1 : want->bytes[i];
        if (wanted && oracle_probe(level->units[unit], local + i, 1) != FTH_CACHE_HIT)
            missing |= UINT64_C(1) << sector;
    }
    return missing;
}

static uint64_t in_fills(const struct level *level, uint64_t sectors)
{
    uint64_t whole = 0, fill = level->config.fill_bytes / sector_bytes(level);
    if (fill == 0)
        fill = 1;
    for (unsigned i = 0; i < 64; i++)
        if (sectors >> i & 1)
            for (uint64_t k = 0; k < fill; k++)
                whole |= UINT64_C(1) << (i / fill * fill + k);
    return whole & (~UINT64_C(0) >> (64 - level->config.line_bytes / sector_bytes(level)));
}

static void read_beyond(struct run *run, struct level *level, uint64_t line, uint64_t missing,
                        uint64_t fetch, enum fth_trace_access_kind kind);

static void evicted(struct run *run, struct level *level, const struct fth_cache_result *result)
{
    if (level->is_l2 && result->evicted)
        run->result->dram_writes += bits(result->evicted_dirty);
}

/* Brings sectors in one by one, those that are there too: that they are used is what counts. */
static uint64_t touch_sectors(struct run *run, struct level *level, size_t unit, uint64_t local,
                              uint64_t used, uint64_t fetch)
{
    uint64_t distance = 0;
    bool first = true;
    for (unsigned i = 0; i < 64; i++) {
        if (!((used | fetch) >> i & 1))
            continue;
        /* What is used and there is read where it is there: a byte of it that is. */
        uint64_t at = local + i * sector_bytes(level), bytes = sector_bytes(level);
        if (!(fetch >> i & 1))
            for (bytes = 1; oracle_probe(level->units[unit], at, 1) != FTH_CACHE_HIT;)
                at++;
        struct fth_cache_result result =
            oracle_access(level->units[unit], at, bytes, FTH_CACHE_READ);
        evicted(run, level, &result);
        const uint64_t found = renew(level, unit, &result, local);
        if (first)
            distance = found;
        first = false;
    }
    return distance;
}

static bool attempt_read(struct run *run, struct level *level, size_t unit, uint64_t local,
                         struct want *want)
{
    const uint64_t sectors = sectors_of(level, want), mshr = mshr_of(level, unit);
    const bool whole = level->is_l2;
    struct oracle_counts *counts = &level->counts;
    uint64_t coming = 0;
    struct pending *newest = NULL;
    for (size_t i = 0; i < level->pending_count; i++) {
        struct pending *p = &level->pending[i];
        if (p->mshr != mshr || p->line != want->line || p->answer < level->step)
            continue;
        coming |= p->sectors;
        if (p->sectors & sectors)
            newest = p;
    }
    if (newest && !(sectors & ~coming)) {
        if (level->config.mshr_merges && newest->joined >= level->config.mshr_merges)
            return false;
        newest->joined++;
        uint64_t distance = level->config.ways;
        bool held = false;
        for (uint64_t i = 0; i < level->config.line_bytes; i++)
            held = held || oracle_probe(level->units[unit], local + i, 1) != FTH_CACHE_LINE_MISS;
        if (held) {
            const uint64_t gone = missing_of(level, unit, local, want, whole);
            distance = touch_sectors(run, level, unit, local, sectors, in_fills(level, gone));
        }
        counts->merges[want->kind] += bits(sectors);
        counts->hits[want->kind] += level->config.merged_hits ? bits(sectors) : 0;
        note(level, want, distance, level->config.merged_hits ? bits(sectors) : 0,
             level->config.merged_hits ? 0 : bits(sectors));
        want->pass_on = 0;
        return true;
    }
    const uint64_t missing = missing_of(level, unit, local, want, whole);
    if (missing && level->config.mshr_size && busy(level, mshr) >= level->config.mshr_size)
        return false;
    const double steps = level->config.fixed + level->config.per_busy * (double)busy(level, mshr);
    /* Of the fills only what was not there is fetched. */
    uint64_t fetch = 0;
    for (unsigned i = 0; i < 64; i++)
        if (in_fills(level, missing) >> i & 1 &&
            oracle_probe(level->units[unit], local + i * sector_bytes(level),
                         sector_bytes(level)) != FTH_CACHE_HIT)
            fetch |= UINT64_C(1) << i;
    const uint64_t distance = touch_sectors(run, level, unit, local, sectors, fetch);
    counts->hits[want->kind] += bits(sectors) - bits(missing);
    note(level, want, distance, bits(sectors) - bits(missing), bits(missing));
    want->pass_on = fetch;
    if (!missing)
        return true;
    uint64_t answer = level->step + (uint64_t)steps - 1;
    if (answer < level->last_answer[mshr])
        answer = level->last_answer[mshr];
    level->last_answer[mshr] = answer;
    level->pending = more(level->pending, level->pending_count, sizeof *level->pending);
    level->pending[level->pending_count++] =
        (struct pending){want->line, fetch, answer, 0, mshr, 0};
    if (level->is_l2)
        read_beyond(run, level, want->line, missing, fetch, want->kind);
    return true;
}

/* The runs of bytes that are wanted, one after the other. */
static bool next_run(const struct level *level, const struct want *want, uint64_t *from,
                     uint64_t *to)
{
    while (*from < level->config.line_bytes && !want->bytes[*from])
        ++*from;
    for (*to = *from; *to < level->config.line_bytes && want->bytes[*to];)
        ++*to;
    return *from < level->config.line_bytes;
}

static void drop(struct level *level, size_t unit, uint64_t local)
{
    uint64_t dirty;
    forget(level, unit, local);
    oracle_invalidate(level->units[unit], local, &dirty);
}

static void attempt_write(struct run *run, struct level *level, size_t unit, uint64_t local,
                          struct want *want)
{
    const bool cached = strcmp(level->config.bypass, "off") == 0;
    uint64_t missing = 0, distance = level->config.ways;
    bool first = true;
    for (uint64_t from = 0, to; next_run(level, want, &from, &to); from = to) {
        if (!cached) {
            if (oracle_probe(level->units[unit], local + from, to - from) != FTH_CACHE_HIT)
                missing = sectors_of(level, want);
            continue;
        }
        struct fth_cache_result result =
            oracle_access(level->units[unit], local + from, to - from, FTH_CACHE_WRITE);
        evicted(run, level, &result);
        const uint64_t found = renew(level, unit, &result, local);
        if (first)
            distance = found;
        first = false;
        if (result.outcome != FTH_CACHE_HIT)
            missing |= result.sectors;
    }
    if (!cached)
        drop(level, unit, local);
    const uint64_t sectors = sectors_of(level, want);
    level->counts.hits[want->kind] += bits(sectors) - bits(missing);
    note(level, want, distance, bits(sectors) - bits(missing), bits(missing));
    want->pass_on = sectors;
    if (level->is_l2 && !cached)
        run->result->dram_writes += bits(sectors);
}

static void attempt_pass(struct run *run, struct level *level, size_t unit, uint64_t local,
                         struct want *want)
{
    const uint64_t sectors = sectors_of(level, want);
    if (want->kind != FTH_TRACE_READ && strcmp(level->config.bypass, "rwon") != 0)
        drop(level, unit, local);
    note(level, want, level->config.ways, 0, bits(sectors));
    want->pass_on = sectors;
    if (level->is_l2 && want->kind == FTH_TRACE_WRITE)
        run->result->dram_writes += bits(sectors);
    else if (level->is_l2)
        read_beyond(run, level, want->line, sectors, 0, want->kind);
}

static bool attempt(struct run *run, struct level *level, size_t unit, uint64_t local,
                    struct want *want)
{
    const bool off = strcmp(level->config.bypass, "off") == 0;
    bool done = true;
    if (strcmp(level->config.bypass, "rwon") == 0 ||
        (want->kind == FTH_TRACE_ATOMIC && !(level->is_l2 && off))) {
        attempt_pass(run, level, unit, local, want);
    } else if (want->kind == FTH_TRACE_READ) {
        done = attempt_read(run, level, unit, local, want);
    } else if (want->kind == FTH_TRACE_ATOMIC) {
        done = attempt_read(run, level, unit, local, want);
        bool held = false;
        for (uint64_t i = 0; i < level->config.line_bytes; i++)
            held = held || oracle_probe(level->units[unit], local + i, 1) != FTH_CACHE_LINE_MISS;
        for (uint64_t from = 0, to; done && held && next_run(level, want, &from, &to); from = to)
            oracle_access(level->units[unit], local + from, to - from, FTH_CACHE_WRITE);
    } else {
        attempt_write(run, level, unit, local, want);
    }
    if (!done) {
        level->counts.fails++;
        return false;
    }
    for (uint64_t s = 0; level->is_l2 && want->kind != FTH_TRACE_READ && s < run->model->sides; s++)
        if (&run->sides[s] != level) {
            const size_t other = unit_of(&run->sides[s], want->line, &local);
            drop(&run->sides[s], other, local);
        }
    level->counts.requests[want->kind]++;
    level->counts.sectors[want->kind] += bits(sectors_of(level, want));
    return true;
}

static void run_level(struct run *run, struct level *level, struct want *wants, size_t count)
{
    for (size_t left = count; left;) {
        uint64_t used[64] = {0}, local;
        bool *comes = calloc(count, sizeof *comes);
        for (size_t i = 0; i < count; i++)
            comes[i] = !wants[i].done &&
                       used[unit_of(level, wants[i].line, &local)]++ < level->config.ports;
        for (;;) { /* by warp, then by bank */
            size_t best = count;
            for (size_t i = 0; i < count; i++)
                if (comes[i] && (best == count || wants[i].warp < wants[best].warp ||
                                 (wants[i].warp == wants[best].warp &&
                                  unit_of(level, wants[i].line, &local) <
                                      unit_of(level, wants[best].line, &local))))
                    best = i;
            if (best == count)
                break;
            const size_t unit = unit_of(level, wants[best].line, &local);
            comes[best] = false;
            wants[best].done = attempt(run, level, unit, local, &wants[best]);
            left -= wants[best].done;
        }
        free(comes);
        level->step++;
        level->counts.steps++;
    }
}

/* ---- the L2 ---- */

static uint64_t home_of(const struct run *run, uint64_t line)
{
    return run->model->sides > 1 ? bits(line & run->model->home_mask) % 2 : 0;
}

static void read_beyond(struct run *run, struct level *level, uint64_t line, uint64_t missing,
                        uint64_t fetch, enum fth_trace_access_kind kind)
{
    uint64_t wanted = fetch ? fetch : missing;
    struct level *home = &run->sides[home_of(run, line)];
    if (home != level && strcmp(level->config.bypass, "rwon") != 0) {
        uint64_t local, gone = 0, used = 0;
        const size_t unit = unit_of(home, line, &local);
        for (unsigned i = 0; i < 64; i++)
            if (wanted >> i & 1) {
                if (oracle_probe(home->units[unit], local + i * sector_bytes(home),
                                 sector_bytes(home)) != FTH_CACHE_HIT)
                    gone |= UINT64_C(1) << i;
                else
                    used |= UINT64_C(1) << i;
            }
        touch_sectors(run, home, unit, local, used, gone);
        if (kind == FTH_TRACE_READ)
            run->result->far_hits += bits(missing & ~gone);
        wanted = gone;
    }
    run->result->dram_reads += bits(wanted);
}

/* ---- the GPU ---- */

static struct want *want_bytes(struct want *wants, size_t *count, size_t from, uint64_t line_bytes,
                               uint64_t address, enum fth_trace_access_kind kind, uint64_t warp)
{
    const uint64_t line = address / line_bytes * line_bytes;
    size_t at = from;
    while (at < *count && wants[at].line < line)
        at++;
    if (at == *count || wants[at].line != line) {
        wants = more(wants, *count, sizeof *wants);
        memmove(wants + at + 1, wants + at, (*count - at) * sizeof *wants);
        wants[at] = (struct want){.line = line, .kind = kind, .warp = warp};
        ++*count;
    }
    wants[at].bytes[address - line] = 1;
    return wants;
}

/* What goes on to the L2, in the lines of the L2. */
static void pass_on(struct run *run, const struct level *l1, const struct want *want, uint64_t side,
                    struct want **lists, size_t *counts, uint64_t asked)
{
    size_t from[2] = {counts[0], counts[1]};
    for (uint64_t i = 0; i < l1->config.line_bytes; i++) {
        const bool read = want->kind == FTH_TRACE_READ;
        if (read ? !(want->pass_on >> (i / sector_bytes(l1)) & 1) : !want->bytes[i])
            continue;
        const uint64_t address = want->line + i, l2_line = run->model->l2.line_bytes;
        const uint64_t home = home_of(run, address / l2_line * l2_line);
        const uint64_t to = read ? side : home;
        lists[to] =
            want_bytes(lists[to], &counts[to], from[to], l2_line, address, want->kind, asked);
    }
}

static uint64_t place(const struct oracle_model *model, uint64_t block, uint64_t *turn)
{
    /* Dealt out one by one, from the first block on. */
    uint64_t given[256] = {0}, sm = 0, list[64], places = 0;
    for (const char *at = model->mapping; *at >= '0' && *at <= '9';) {
        char *end;
        list[places++] = strtoull(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
    const uint64_t group = strcmp(model->mapping, "bpart1") == 0   ? 4
                           : strcmp(model->mapping, "bpart2") == 0 ? 8
                                                                   : 1;
    for (uint64_t b = 0; b <= block; b++) {
        sm = places ? list[b % places] : b / group % model->sms;
        *turn = given[sm]++;
    }
    return sm;
}

static uint64_t sm_of[256], wave_of[256]; /* of each block */

static int by_order(const void *a, const void *b)
{
    const struct oracle_access *x = a, *y = b;
    const uint64_t wx = wave_of[x->block], wy = wave_of[y->block];
    if (wx != wy)
        return wx < wy ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return x->warp < y->warp ? -1 : x->warp > y->warp;
}

static void add_counts(struct oracle_counts *to, const struct oracle_counts *from)
{
    for (int k = 0; k < 3; k++) {
        to->requests[k] += from->requests[k];
        to->sectors[k] += from->sectors[k];
        to->hits[k] += from->hits[k];
        to->merges[k] += from->merges[k];
    }
    to->steps = from->steps > to->steps ? from->steps : to->steps;
    to->fails += from->fails;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < ORACLE_PROFILE; i++)
            to->profile[k][i] += from->profile[k][i];
}

void oracle_model_run(const struct oracle_model *model, uint64_t blocks, uint64_t warps,
                      const struct oracle_access *accesses, size_t count,
                      struct oracle_result *result)
{
    struct run run = {.model = model, .result = result};
    struct oracle_access *order = malloc((count + 1) * sizeof *order);
    struct want *lists[2] = {NULL, NULL};
    size_t counts[2] = {0, 0};
    const uint64_t sms = model->sms, sides = model->sides, schedulers = model->schedulers;
    if (sms == 0 || schedulers == 0 || sides < 1 || sides > 2)
        abort();
    uint64_t at_once = model->max_warps / warps, waiting = 0, asked = 0;
    const uint64_t active = blocks < sms ? blocks : sms;
    memset(result, 0, sizeof *result);
    at_once = at_once < model->max_blocks ? at_once : model->max_blocks;
    memcpy(order, accesses, count * sizeof *order);
    for (uint64_t block = 0; block < blocks; block++) {
        sm_of[block] = place(model, block, &wave_of[block]);
        wave_of[block] /= at_once;
    }
    qsort(order, count, sizeof *order, by_order);
    struct level *l1 = calloc(sms, sizeof *l1);
    if (!l1)
        abort();
    run.l1 = l1;
    for (uint64_t sm = 0; sm < sms; sm++) {
        make_level(&run.l1[sm], &model->l1, 1, false, model->seed);
        run.l1[sm].config.per_busy *= (double)active / (double)(sides * model->l2.partitions *
                                                                model->l2.banks * model->l2.ports);
    }
    for (uint64_t side = 0; side < sides; side++)
        make_level(&run.sides[side], &model->l2, sides, true, model->seed);
    for (size_t i = 0, end; i < count; i = end) {
        struct want *wants = NULL;
        size_t wanted = 0;
        for (end = i; end < count && order[end].number == order[i].number &&
                      order[end].block == order[i].block &&
                      order[end].warp / schedulers == order[i].warp / schedulers;
             end++) {
            const size_t from = wanted;
            for (uint32_t t = 0; t < order[end].threads; t++)
                for (uint32_t b = 0; b < order[end].bytes; b++)
                    wants =
                        want_bytes(wants, &wanted, from, model->l1.line_bytes,
                                   order[end].addresses[t] + b, order[end].kind, order[end].warp);
        }
        const uint64_t sm = sm_of[order[i].block];
        run_level(&run, &run.l1[sm], wants, wanted);
        for (size_t w = 0; w < wanted; w++)
            pass_on(&run, &run.l1[sm], &wants[w], sm % sides, lists, counts, asked++);
        free(wants);
        if (++waiting < active && end < count)
            continue;
        waiting = 0;
        for (uint64_t side = 0; side < sides; side++) {
            run_level(&run, &run.sides[side], lists[side], counts[side]);
            counts[side] = 0;
        }
    }
    for (uint64_t sm = 0; sm < sms; sm++) {
        add_counts(&result->l1, &run.l1[sm].counts);
        free_level(&run.l1[sm]);
    }
    for (uint64_t side = 0; side < sides; side++) {
        add_counts(&result->l2, &run.sides[side].counts);
        free_level(&run.sides[side]);
    }
    free(l1);
    free(lists[0]);
    free(lists[1]);
    free(order);
}
