/* The L2: its sides, and the memory behind them.
 *
 * A side is what GPU descriptions call an L2 partition (`l2.partitions` in a description is the
 * parameter `l2.sides`). The parameter `l2.partitions` is that of the paper: each side is divided
 * into these, and cache_level.c models one side.
 *
 * With two sides, the home of a line is selected by the parity of address bits. An SM sends its
 * reads to the side that it is near; this side also keeps copies of lines whose home is the other
 * side (docs/results/h200.md). A miss there is looked up in the home side, and memory is read if
 * the home misses as well. Writes and atomics are executed in the home side and invalidate the
 * copies. */
#include "model/level/level.h"

#include <stdlib.h>
#include <string.h>

struct side {
    struct fth_l2 *l2;
    struct fth_cache_level *level;
    struct fth_line_requests requests;
    struct fth_plan plan; /* of the recorded rounds, for the L2s that replay them */
    uint64_t number;
};

struct fth_l2 {
    struct side *sides;
    uint64_t side_count, home_mask;
    struct fth_shape shape;
    struct fth_model_counts *counts; /* [instructions + 1] */
    /* [instructions + 1]; the last one counts evictions, which belong to no instruction. `counts`
     * and `misses` of its members are only set by fth_l2_counts(). */
    struct fth_l2_counts *traffic;
    struct fth_model_misses *misses; /* [instructions + 1]; NULL: not wanted */
    size_t instructions;
    /* Requests since the last flush or, while recording, since fth_l2_discard_recorded; and how
     * many of these came before the last flush, while recording. */
    uint32_t request_count, recorded_requests;
    bool recording;
    size_t *round_ends; /* [rounds][sides] while recording: requests up to the end of the round */
    size_t rounds, round_ends_capacity;
};

static enum fth_status create_sides(struct fth_l2 *l2, struct fth_error *error)
{
    l2->sides = calloc((size_t)l2->side_count, sizeof *l2->sides);
    l2->counts = calloc(l2->instructions + 1, sizeof *l2->counts);
    l2->traffic = calloc(l2->instructions + 1, sizeof *l2->traffic);
    if (!l2->sides || !l2->counts || !l2->traffic)
        return fth_no_memory(error, "model caches", NULL);
    for (uint64_t i = 0; i < l2->side_count; i++) {
        l2->sides[i].l2 = l2;
        l2->sides[i].number = i;
        FTH_TRY(fth_cache_level_create(&l2->shape, &l2->sides[i].level, error));
    }
    return FTH_OK;
}

enum fth_status fth_l2_create(const struct fth_setting *setting, size_t instructions,
                              struct fth_l2 **out, struct fth_error *error)
{
    struct fth_l2 *l2 = calloc(1, sizeof *l2);
    *out = NULL;
    if (!l2)
        return fth_no_memory(error, "model caches", NULL);
    l2->side_count = setting->sides;
    l2->home_mask = setting->home_mask;
    l2->shape = setting->l2;
    l2->instructions = instructions;
    const enum fth_status status = create_sides(l2, error);
    if (status == FTH_OK)
        *out = l2;
    else
        fth_l2_destroy(l2);
    return status;
}

void fth_l2_destroy(struct fth_l2 *l2)
{
    if (!l2)
        return;
    for (uint64_t i = 0; l2->sides && i < l2->side_count; i++) {
        fth_cache_level_destroy(l2->sides[i].level);
        fth_line_requests_fini(&l2->sides[i].requests);
        fth_plan_fini(&l2->sides[i].plan);
    }
    free(l2->round_ends);
    free(l2->sides);
    free(l2->counts);
    free(l2->traffic);
    free(l2->misses);
    free(l2);
}

enum fth_status fth_l2_diagnose(struct fth_l2 *l2, struct fth_error *error)
{
    l2->misses = calloc(l2->instructions + 1, sizeof *l2->misses);
    if (!l2->misses)
        return fth_no_memory(error, "model caches", NULL);
    for (uint64_t i = 0; i < l2->side_count; i++) {
        FTH_TRY(fth_cache_level_diagnose(l2->sides[i].level, error));
        fth_cache_level_set_misses(l2->sides[i].level, l2->misses);
    }
    return FTH_OK;
}

void fth_l2_clear(struct fth_l2 *l2)
{
    for (uint64_t i = 0; i < l2->side_count; i++)
        fth_cache_level_clear(l2->sides[i].level);
}

void fth_l2_reset_counts(struct fth_l2 *l2)
{
    memset(l2->counts, 0, (l2->instructions + 1) * sizeof *l2->counts);
    memset(l2->traffic, 0, (l2->instructions + 1) * sizeof *l2->traffic);
    if (l2->misses)
        memset(l2->misses, 0, (l2->instructions + 1) * sizeof *l2->misses);
    for (uint64_t i = 0; i < l2->side_count; i++)
        fth_cache_level_reset_totals(l2->sides[i].level);
}

const struct fth_l2_counts *fth_l2_counts(struct fth_l2 *l2)
{
    for (size_t i = 0; i <= l2->instructions; i++) {
        l2->traffic[i].counts = l2->counts[i];
        if (l2->misses)
            l2->traffic[i].misses = l2->misses[i];
    }
    return l2->traffic;
}

const struct fth_cache_level_totals *fth_l2_totals(const struct fth_l2 *l2, uint64_t side)
{
    return side < l2->side_count ? fth_cache_level_totals(l2->sides[side].level) : NULL;
}

/* Returns the home side of a line. With more than two sides: the number of set bits modulo the
 * sides.
 */
static uint64_t home_of(const struct fth_l2 *l2, uint64_t line)
{
    if (l2->side_count == 1)
        return 0;
    if (l2->side_count == 2)
        return (uint64_t)__builtin_parityll(line & l2->home_mask);
    return (uint64_t)__builtin_popcountll(line & l2->home_mask) % l2->side_count;
}

static uint64_t count_bits(uint64_t mask)
{
    return (uint64_t)__builtin_popcountll(mask);
}

/* ---- what a side sends on ---- */

static void on_evicted(void *context, uint64_t address, uint64_t dirty)
{
    struct side *side = context;
    (void)address;
    side->l2->traffic[side->l2->instructions].dram_writes += count_bits(dirty);
}

/* Reads what a side misses: from the home side, if that is another one, and the rest from memory.
 * `missing` are the sectors that the request needs; request->missing also includes the other
 * sectors of their fills. */
static void read_next_level(struct side *side, const struct fth_port_access *access,
                            uint64_t missing)
{
    struct fth_l2 *l2 = side->l2;
    struct fth_l2_counts *traffic = &l2->traffic[access->request->instruction];
    const uint64_t home = home_of(l2, access->request->line);
    uint64_t wanted = access->request->missing;
    if (home != side->number && l2->shape.bypass != FTH_BYPASS_ALL) {
        struct side *other = &l2->sides[home];
        wanted =
            fth_cache_level_read(other->level, access, wanted,
                                 &(struct fth_next_level){.context = other, .evicted = on_evicted});
        if (access->request->kind == FTH_TRACE_READ)
            traffic->far_hits += count_bits(missing & ~wanted);
    }
    traffic->dram_reads += count_bits(wanted);
}

FTH_CLONES
static void on_miss(void *context, const struct fth_port_access *access, uint64_t missing)
{
    struct side *side = context;
    struct fth_l2 *l2 = side->l2;
    if (access->request->kind != FTH_TRACE_WRITE)
        read_next_level(side, access, missing);
    else if (l2->shape.write != FTH_WRITE_BACK)
        l2->traffic[access->request->instruction].dram_writes += count_bits(missing);
}

/* The same for several misses of reads, with one side. */
static void on_fetched(void *context, uint32_t instruction, uint64_t sectors)
{
    const struct side *side = context;
    side->l2->traffic[instruction].dram_reads += sectors;
}

/* After a write or an atomic: invalidates the copies of the line in the other sides. */
static void on_changed(void *context, const struct fth_port_access *access)
{
    const struct side *side = context;
    const struct fth_l2 *l2 = side->l2;
    for (uint64_t i = 0; i < l2->side_count; i++)
        if (i != side->number)
            fth_cache_level_drop(l2->sides[i].level, access);
}

/* ---- requests ---- */

/* Reads go to the near side `side`; writes and atomics go to the home side. */
static struct fth_line_requests *requests_of(const struct fth_l2 *l2,
                                             const struct fth_line_request *request, uint64_t line,
                                             uint8_t side)
{
    return &l2->sides[request->kind == FTH_TRACE_READ ? side : home_of(l2, line)].requests;
}

/* Adds a range of bytes, split into lines of the L2. Reads are extended to whole sectors. */
static bool add_bytes(struct fth_l2 *l2, const struct fth_line_request *request, uint64_t address,
                      uint64_t bytes, uint8_t side)
{
    while (bytes) {
        const uint64_t left = l2->shape.line_bytes - (address & (l2->shape.line_bytes - 1));
        const uint64_t here = bytes < left ? bytes : left;
        const uint64_t line = address >> l2->shape.line_shift << l2->shape.line_shift;
        uint64_t start = address, end = address + here;
        if (request->kind == FTH_TRACE_READ) { /* whole sectors */
            start = start >> l2->shape.sector_shift << l2->shape.sector_shift;
            end = ((end - 1) >> l2->shape.sector_shift << l2->shape.sector_shift) +
                  l2->shape.sector_bytes;
        }
        /* Only pieces of the same L1 request are merged into one request of the L2. */
        struct fth_line_requests *requests = requests_of(l2, request, line, side);
        const bool continues =
            requests->count && requests->items[requests->count - 1].warp == request->warp;
        fth_line_requests_add(requests, requests->count - continues, &l2->shape, start, end - start,
                              request);
        if (requests->failed)
            return false;
        address += here;
        bytes -= here;
    }
    return true;
}

/* The case of L1 and L2 with the same line and sector size: one request of the L1 is one request of
 * the L2. Reads need whole sectors, and therefore no runs. */
static bool add_line(struct fth_l2 *l2, const struct fth_line_request *request,
                     const struct fth_cache_run *runs, uint64_t sectors, uint8_t side)
{
    const bool read = request->kind == FTH_TRACE_READ;
    struct fth_line_requests *requests = requests_of(l2, request, request->line, side);
    const size_t first = requests->run_count;
    for (uint32_t i = 0; !read && i < request->run_count && fth_line_requests_reserve(requests);
         i++)
        requests->runs[requests->run_count++] = runs[request->run + i];
    if (!fth_line_requests_reserve(requests))
        return false;
    requests->items[requests->count++] =
        (struct fth_line_request){.line = request->line,
                                  .sectors = read ? sectors : request->sectors,
                                  .run = (uint32_t)first,
                                  .run_count = (uint32_t)(requests->run_count - first),
                                  .instruction = request->instruction,
                                  .kind = request->kind,
                                  .flags = request->flags & FTH_LINE_REQUEST_L2_FLAGS,
                                  .warp = l2->request_count++};
    return true;
}

bool fth_l2_add(struct fth_l2 *l2, const struct fth_shape *l1,
                const struct fth_line_request *request, const struct fth_cache_run *runs,
                uint64_t sectors, uint8_t side)
{
    if (l1->line_bytes == l2->shape.line_bytes && l1->sector_bytes == l2->shape.sector_bytes)
        return add_line(l2, request, runs, sectors, side);
    const bool read = request->kind == FTH_TRACE_READ;
    bool added = true;
    struct fth_line_request template = *request;
    template.flags &= FTH_LINE_REQUEST_L2_FLAGS;
    template.missing = 0;
    template.warp = l2->request_count++;
    for (uint64_t left = read ? sectors : 0; left && added;) {
        const struct fth_cache_run run = fth_take_sector_run(l1, &left);
        added = add_bytes(l2, &template, request->line + run.from, run.bytes, side);
    }
    for (uint32_t i = 0; i < request->run_count && !read && added; i++)
        added = add_bytes(l2, &template, request->line + runs[request->run + i].from,
                          runs[request->run + i].bytes, side);
    return added;
}

/* Processes `count` requests from `first` on. `from` is the list of this side or of another L2;
 * `plan` is theirs, or NULL. */
static bool run_side(struct side *side, struct fth_line_requests *from,
                     const struct fth_group_plan *plan, size_t first, size_t count)
{
    const bool alone = side->l2->side_count == 1;
    const struct fth_next_level next_level = {.context = side,
                                              .miss = on_miss,
                                              .fetched = alone ? on_fetched : NULL,
                                              .evicted = on_evicted,
                                              .changed = alone ? NULL : on_changed};
    return !count || fth_cache_level_run_planned(side->level, plan, from->items + first, count,
                                                 from->runs, side->l2->counts, &next_level);
}

bool fth_l2_flush(struct fth_l2 *l2)
{
    if (l2->recording) {
        if (!fth_grow((void **)&l2->round_ends, l2->rounds, &l2->round_ends_capacity,
                      (size_t)l2->side_count * sizeof *l2->round_ends))
            return false;
        for (uint64_t i = 0; i < l2->side_count; i++)
            l2->round_ends[l2->rounds * l2->side_count + i] = l2->sides[i].requests.count;
        l2->rounds++;
        l2->recorded_requests = l2->request_count;
        return true;
    }
    l2->request_count = 0;
    for (uint64_t i = 0; i < l2->side_count; i++) {
        struct side *side = &l2->sides[i];
        if (!run_side(side, &side->requests, NULL, 0, side->requests.count))
            return false;
        fth_line_requests_clear(&side->requests);
    }
    /* Also those sides that only received reads of others. */
    bool failed = false;
    for (uint64_t i = 0; i < l2->side_count; i++)
        failed |= fth_cache_level_failed(l2->sides[i].level);
    return !failed;
}

/* ---- one stream of requests for several L2s ---- */

void fth_l2_set_recording(struct fth_l2 *l2, bool on)
{
    l2->recording = on;
}

/* Returns the first of the requests of a side that were recorded in a round. */
static size_t round_first(const struct fth_l2 *l2, size_t round, uint64_t side)
{
    return round ? l2->round_ends[(round - 1) * l2->side_count + side] : 0;
}

/* Plans the recorded rounds of a side for the banks of `level`, unless this has been done for
 * another level with such banks. False: out of memory. */
static bool plan_rounds(struct fth_l2 *from, uint64_t side, const struct fth_cache_level *level)
{
    struct fth_plan *plan = &from->sides[side].plan;
    const struct fth_banking *banking = fth_cache_level_banking(level);
    const struct fth_line_request *requests = from->sides[side].requests.items;
    if (!banking || (fth_plan_use(plan, banking) && plan->count))
        return true;
    for (size_t round = 0; round < from->rounds; round++) {
        const size_t first = round_first(from, round, side);
        const size_t end = round_first(from, round + 1, side);
        if (end > first && !fth_plan_extend(plan, requests + first, end - first))
            return false;
    }
    return true;
}

/* Processes a recorded round of a side. */
static bool replay_round(struct side *side, struct fth_l2 *from, size_t round)
{
    struct side *recorded = &from->sides[side->number];
    const size_t first = round_first(from, round, side->number);
    const size_t end = round_first(from, round + 1, side->number);
    const struct fth_group_plan plan = fth_plan_group(&recorded->plan, first);
    return run_side(side, &recorded->requests, fth_cache_level_banking(side->level) ? &plan : NULL,
                    first, end - first);
}

bool fth_l2_replay(struct fth_l2 *l2, struct fth_l2 *from)
{
    bool ok = true;
    for (uint64_t i = 0; i < l2->side_count && ok; i++)
        ok = plan_rounds(from, i, l2->sides[i].level);
    for (size_t round = 0; round < from->rounds; round++)
        for (uint64_t i = 0; i < l2->side_count && ok; i++)
            ok = replay_round(&l2->sides[i], from, round);
    return ok;
}

/* Keeps the requests that came after the last round, and moves them to the front. */
void fth_l2_discard_recorded(struct fth_l2 *l2)
{
    for (uint64_t i = 0; i < l2->side_count && l2->rounds; i++) {
        struct fth_line_requests *requests = &l2->sides[i].requests;
        l2->sides[i].plan.count = 0;
        fth_line_requests_drop(requests, l2->round_ends[(l2->rounds - 1) * l2->side_count + i]);
        for (size_t k = 0; k < requests->count; k++)
            requests->items[k].warp -= l2->recorded_requests;
    }
    l2->request_count -= l2->recorded_requests;
    l2->recorded_requests = 0;
    l2->rounds = 0;
}
