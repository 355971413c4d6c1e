/* The L2: its sides, and memory behind them.
 *
 * With two sides a line is at home in one of them, by the parity of address bits, and an SM looks
 * in the side that it is near, which also keeps copies of what is at home in the other
 * (docs/results/h200.md). What the near side misses is looked for at home, and comes from memory
 * where it is not there either. Writes and atomics are done at home and drop the copies. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

struct beyond {
    uint64_t far_hits, dram_reads, dram_writes;
};

struct side {
    struct fth_l2 *l2;
    struct fth_tier *level;
    struct fth_requests requests;
    uint64_t number;
};

struct fth_l2 {
    struct side *sides;
    uint64_t side_count, home_mask;
    struct fth_shape shape;
    struct fth_model_counts *counts; /* by instruction */
    struct beyond *beyond;           /* by instruction, and one more for what is nobody's */
    size_t instructions;
    uint32_t asked;        /* requests since the last flush, or since it forgot */
    uint32_t asked_before; /* ... of these, up to the last flush while it records */
    bool recording;
    size_t *ends; /* [rounds][sides] while it records: requests up to the end of each round */
    size_t rounds, ends_capacity;
    struct fth_l2_counts shown;
};

enum fth_status fth_l2_create(const struct fth_setting *setting, size_t instructions,
                              struct fth_l2 **out, struct fth_error *error)
{
    struct fth_l2 *l2 = calloc(1, sizeof *l2);
    enum fth_status status = FTH_OK;
    *out = NULL;
    if (!l2)
        return fth_fail(error, FTH_NO_MEMORY, "model caches", NULL, "out of memory");
    l2->side_count = setting->sides;
    l2->home_mask = setting->home_mask;
    l2->shape = setting->l2;
    l2->instructions = instructions;
    l2->sides = calloc((size_t)setting->sides, sizeof *l2->sides);
    l2->counts = calloc(instructions + 1, sizeof *l2->counts);
    l2->beyond = calloc(instructions + 1, sizeof *l2->beyond);
    if (!l2->sides || !l2->counts || !l2->beyond) {
        fth_l2_destroy(l2);
        return fth_fail(error, FTH_NO_MEMORY, "model caches", NULL, "out of memory");
    }
    for (uint64_t i = 0; status == FTH_OK && i < l2->side_count; i++) {
        l2->sides[i].l2 = l2;
        l2->sides[i].number = i;
        status = fth_tier_create(&setting->l2, &l2->sides[i].level, error);
    }
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
        fth_tier_destroy(l2->sides[i].level);
        fth_requests_fini(&l2->sides[i].requests);
    }
    free(l2->ends);
    free(l2->sides);
    free(l2->counts);
    free(l2->beyond);
    free(l2);
}

void fth_l2_clear(struct fth_l2 *l2)
{
    for (uint64_t i = 0; i < l2->side_count; i++)
        fth_tier_clear(l2->sides[i].level);
}

void fth_l2_reset_counts(struct fth_l2 *l2)
{
    memset(l2->counts, 0, (l2->instructions + 1) * sizeof *l2->counts);
    memset(l2->beyond, 0, (l2->instructions + 1) * sizeof *l2->beyond);
    for (uint64_t i = 0; i < l2->side_count; i++)
        fth_tier_reset_totals(l2->sides[i].level);
}

const struct fth_l2_counts *fth_l2_counts(const struct fth_l2 *l2, size_t instruction)
{
    struct fth_l2_counts *shown = &((struct fth_l2 *)l2)->shown;
    *shown = (struct fth_l2_counts){l2->counts[instruction], l2->beyond[instruction].far_hits,
                                    l2->beyond[instruction].dram_reads,
                                    l2->beyond[instruction].dram_writes};
    return shown;
}

const struct fth_tier_totals *fth_l2_totals(const struct fth_l2 *l2, uint64_t side)
{
    return side < l2->side_count ? fth_tier_totals(l2->sides[side].level) : NULL;
}

static uint64_t home_of(const struct fth_l2 *l2, uint64_t line)
{
    const uint64_t ones = (uint64_t)__builtin_popcountll(line & l2->home_mask);
    return l2->side_count == 2 ? ones & 1 : ones % l2->side_count;
}

static uint64_t count_bits(uint64_t mask)
{
    return (uint64_t)__builtin_popcountll(mask);
}

/* ---- beneath ---- */

static void on_evicted(void *context, uint64_t address, uint64_t dirty)
{
    struct side *side = context;
    (void)address;
    side->l2->beyond[side->l2->instructions].dram_writes += count_bits(dirty);
}

static void read_beyond(struct side *side, const struct fth_turn *turn, uint64_t missing)
{
    struct fth_l2 *l2 = side->l2;
    struct beyond *beyond = &l2->beyond[turn->request->instruction];
    const uint64_t home = home_of(l2, turn->request->line);
    uint64_t wanted = turn->request->missing;
    if (home != side->number && l2->shape.bypass != FTH_BYPASS_ALL) {
        struct side *other = &l2->sides[home];
        wanted = fth_tier_read(other->level, turn, wanted,
                               &(struct fth_beneath){.context = other, .evicted = on_evicted});
        if (turn->request->kind == FTH_TRACE_READ)
            beyond->far_hits += count_bits(missing & ~wanted);
    }
    beyond->dram_reads += count_bits(wanted);
}

static void on_miss(void *context, const struct fth_turn *turn, uint64_t missing)
{
    struct side *side = context;
    struct fth_l2 *l2 = side->l2;
    if (turn->request->kind != FTH_TRACE_WRITE)
        read_beyond(side, turn, missing);
    else if (l2->shape.write != FTH_WRITE_BACK)
        l2->beyond[turn->request->instruction].dram_writes += count_bits(missing);
}

/* The other sides lose their copies. */
static void on_changed(void *context, const struct fth_turn *turn)
{
    const struct side *side = context;
    const struct fth_l2 *l2 = side->l2;
    for (uint64_t i = 0; i < l2->side_count; i++)
        if (i != side->number)
            fth_tier_drop(l2->sides[i].level, turn);
}

/* ---- requests ---- */

/* What is changed is changed at home; what is read, near. */
static struct fth_requests *requests_of(const struct fth_l2 *l2, const struct fth_request *request,
                                        uint64_t line, uint8_t side)
{
    return &l2->sides[request->kind == FTH_TRACE_READ ? side : home_of(l2, line)].requests;
}

static bool add_bytes(struct fth_l2 *l2, const struct fth_request *request, uint64_t address,
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
        /* Only with what is of the same request of an L1. */
        struct fth_requests *requests = requests_of(l2, request, line, side);
        const bool goes_on =
            requests->count && requests->items[requests->count - 1].warp == request->warp;
        fth_requests_add(requests, requests->count - goes_on, &l2->shape, start, end - start,
                         request);
        if (requests->failed)
            return false;
        address += here;
        bytes -= here;
    }
    return true;
}

/* The same line, and one request. Of a read all of the sectors is wanted, and no runs are needed.
 */
static bool add_line(struct fth_l2 *l2, const struct fth_request *request,
                     const struct fth_cache_run *runs, uint64_t sectors, uint8_t side)
{
    const bool read = request->kind == FTH_TRACE_READ;
    struct fth_requests *requests = requests_of(l2, request, request->line, side);
    const size_t first = requests->run_count;
    for (uint32_t i = 0; !read && i < request->run_count && fth_requests_reserve(requests); i++)
        requests->runs[requests->run_count++] = runs[request->run + i];
    if (!fth_requests_reserve(requests))
        return false;
    requests->items[requests->count++] =
        (struct fth_request){.line = request->line,
                             .sectors = read ? sectors : request->sectors,
                             .run = (uint32_t)first,
                             .run_count = (uint32_t)(requests->run_count - first),
                             .instruction = request->instruction,
                             .kind = request->kind,
                             .warp = l2->asked++};
    return true;
}

bool fth_l2_add(struct fth_l2 *l2, const struct fth_shape *l1, const struct fth_request *request,
                const struct fth_cache_run *runs, uint64_t sectors, uint8_t side)
{
    if (l1->line_bytes == l2->shape.line_bytes && l1->sector_bytes == l2->shape.sector_bytes)
        return add_line(l2, request, runs, sectors, side);
    const bool read = request->kind == FTH_TRACE_READ;
    bool added = true;
    struct fth_request like = *request;
    like.flags = 0;
    like.missing = 0;
    like.warp = l2->asked++;
    for (uint64_t left = read ? sectors : 0; left && added;) {
        const struct fth_cache_run run = fth_first_sectors(l1, &left);
        added = add_bytes(l2, &like, request->line + run.from, run.bytes, side);
    }
    for (uint32_t i = 0; i < request->run_count && !read && added; i++)
        added = add_bytes(l2, &like, request->line + runs[request->run + i].from,
                          runs[request->run + i].bytes, side);
    return added;
}

/* Requests of another L2's side, or its own. */
static bool run_side(struct side *side, struct fth_requests *from, size_t first, size_t count)
{
    const struct fth_beneath beneath = {side, on_miss, on_evicted, on_changed};
    return !count || fth_tier_run(side->level, from->items + first, count, from->runs,
                                  side->l2->counts, &beneath);
}

bool fth_l2_flush(struct fth_l2 *l2)
{
    if (l2->recording) {
        if (!fth_grow((void **)&l2->ends, l2->rounds, &l2->ends_capacity,
                      (size_t)l2->side_count * sizeof *l2->ends))
            return false;
        for (uint64_t i = 0; i < l2->side_count; i++)
            l2->ends[l2->rounds * l2->side_count + i] = l2->sides[i].requests.count;
        l2->rounds++;
        l2->asked_before = l2->asked;
        return true;
    }
    l2->asked = 0;
    for (uint64_t i = 0; i < l2->side_count; i++) {
        struct side *side = &l2->sides[i];
        if (!run_side(side, &side->requests, 0, side->requests.count))
            return false;
        fth_requests_clear(&side->requests);
    }
    return true;
}

/* ---- one stream for several ---- */

void fth_l2_record(struct fth_l2 *l2, bool on)
{
    l2->recording = on;
}

bool fth_l2_replay(struct fth_l2 *l2, struct fth_l2 *from)
{
    const size_t sides = (size_t)l2->side_count;
    for (size_t round = 0; round < from->rounds; round++)
        for (size_t i = 0; i < sides; i++) {
            const size_t first = round ? from->ends[(round - 1) * sides + i] : 0;
            const size_t end = from->ends[round * sides + i];
            if (!run_side(&l2->sides[i], &from->sides[i].requests, first, end - first))
                return false;
        }
    return true;
}

/* What came behind the last round stays, in front. */
void fth_l2_forget(struct fth_l2 *l2)
{
    for (uint64_t i = 0; i < l2->side_count && l2->rounds; i++) {
        struct fth_requests *requests = &l2->sides[i].requests;
        fth_requests_drop(requests, l2->ends[(l2->rounds - 1) * l2->side_count + i]);
        for (size_t k = 0; k < requests->count; k++)
            requests->items[k].warp -= l2->asked_before;
    }
    l2->asked -= l2->asked_before;
    l2->asked_before = 0;
    l2->rounds = 0;
}
