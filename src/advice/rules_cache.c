/* Rules about the caches: data that the L1 holds too briefly, loads that bypass it, blocks whose
 * order makes the L2 miss, and loads whose latency a copy to shared memory would hide. */
#include "advice/advice_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Minimum part of the read sectors of the L1s that are capacity misses. Chosen. */
static const double MIN_CAPACITY_PART = 0.1;
/* A load has no reuse if it accesses at most this many times its footprint; it has reuse from
 * MIN_REUSE times on. Chosen. */
static const double MAX_STREAM = 1.1, MIN_REUSE = 2;
/* Minimum ratio of the bytes that are read from memory to the different bytes that are read. The L2
 * of many GPUs fetches pairs of sectors, so a small excess is normal. */
static const double MIN_REFETCH = 1.5;

/* The cache operators of fth_trace_instruction.cache_op. */
enum { OP_NONE = 0, OP_CA = 1, OP_CG = 2, OP_CV = 5, OP_NC = 8, OP_VOLATILE = 9 };
enum { L1_PRIORITY_MASK = 7, L1_NO_ALLOCATE = 5 };

/* ---- capacity of the L1 ---- */

static bool capacity_text(struct fth_arena *arena, const struct fth_facts *facts,
                          const struct fth_candidate_hint *candidate, size_t trial,
                          const char **text)
{
    const char *value = strchr(candidate->trials[trial], '=') + 1;
    const double size = (double)facts->row->l1_bytes;
    const unsigned long number = strtoul(value, NULL, 10);
    char l1[40], needed[40];
    (void)fth_size_format(size, l1, sizeof l1);
    if (strncmp(candidate->trials[trial], "gpu.", 4) == 0)
        *text = fth_rule_text(
            arena,
            "The %d blocks that run on an SM at the same time reuse more data than its L1 (%s) "
            "holds. Use tiles of about %.0f %% of today's size, or let only %lu %s run on an SM.",
            (int)facts->row->blocks_at_once, l1,
            100 * (double)number / (double)facts->row->blocks_at_once, number,
            number == 1 ? "block" : "blocks");
    else
        *text = fth_rule_text(
            arena,
            "The blocks that run on an SM at the same time reuse more data than its L1 (%s) holds; "
            "%s would suffice. Use tiles of about %.0f %% of today's size.",
            l1, fth_size_format((double)number, needed, sizeof needed),
            100 * size / (double)number);
    return *text;
}

bool fth_rule_capacity(struct fth_candidates *candidates)
{
    /* The sizes that are tried, as factors of today's: "exceeds the L1 by little". */
    static const double factors[] = {1.25, 1.5, 2};
    const struct fth_model_row *row = candidates->facts->row;
    const double sectors = (double)row->l1.sectors[FTH_TRACE_READ],
                 capacity = (double)row->l1_misses.capacity;
    struct fth_candidate_hint candidate = {
        .hint = {.rule = "l1_capacity",
                 .evidence = fth_rule_text(candidates->arena,
                                           "%.0f %% of the read sectors miss in the L1 because "
                                           "too much other data was read in between",
                                           sectors > 0 ? 100 * capacity / sectors : 0)},
        .excess_sectors = capacity,
        .complete = capacity_text};
    if (!(capacity > 0) || capacity < MIN_CAPACITY_PART * sectors)
        return true;
    for (uint64_t blocks = row->blocks_at_once / 2; blocks && candidate.trial_count < 3;
         blocks /= 2)
        candidate.trials[candidate.trial_count++] =
            fth_rule_text(candidates->arena, "gpu.max_blocks=%lu", (unsigned long)blocks);
    for (size_t i = 0; i < FTH_COUNT(factors); i++) {
        /* A multiple of 4 KiB. A size that the sets and ways do not allow is not tried. */
        const uint64_t bytes = (uint64_t)((double)row->l1_bytes * factors[i]) / 4096 * 4096;
        candidate.trials[candidate.trial_count++] =
            fth_rule_text(candidates->arena, "l1.size_bytes=%lu", (unsigned long)bytes);
    }
    return fth_candidate_add(candidates, &candidate);
}

/* ---- order of blocks ---- */

bool fth_rule_block_order(struct fth_candidates *candidates)
{
    const struct fth_facts *facts = candidates->facts;
    const struct fth_model_row *row = facts->row;
    const double footprint = (double)facts->read_bytes;
    struct fth_model_traffic traffic;
    fth_model_traffic(row, candidates->params, &traffic);
    const uint64_t transfers = row->dram_reads + row->dram_writes;
    const double read =
        transfers ? (double)traffic.memory_bytes * (double)row->dram_reads / (double)transfers : 0;
    if (!(footprint > 0) || facts->launch->grid[0] < 2 || facts->launch->grid[1] < 2 ||
        read < MIN_REFETCH * footprint)
        return true;
    return fth_candidate_add(
        candidates,
        &(struct fth_candidate_hint){
            .hint = {.rule = "block_order",
                     .text = "Blocks that use the same data run at different times, so the L2 has "
                             "replaced it before it is used again. Compute the position of a block "
                             "from its number in another order.",
                     .evidence = fth_rule_text(
                         candidates->arena,
                         "each launch reads %.1f times the bytes that its loads touch from memory",
                         read / footprint)},
            .trials = {"blocks=swap", "blocks=tile8", "blocks=tile16"},
            .trial_count = 3,
            .excess_sectors = (read - footprint) / 32});
}

/* ---- streaming ---- */

/* Returns whether a load uses the L1 in the normal way. */
static bool is_plain_load(const struct fth_trace_instruction *instruction)
{
    return instruction->kind == FTH_TRACE_READ && !(instruction->hints & L1_PRIORITY_MASK) &&
           (instruction->cache_op == OP_NONE || instruction->cache_op == OP_CA ||
            instruction->cache_op == OP_NC);
}

/* Returns the capacity misses of the loads that have reuse. */
static double reuse_misses(const struct fth_facts *facts)
{
    double misses = 0;
    for (size_t i = 0; i < facts->count; i++) {
        const struct fth_fact *fact = &facts->items[i];
        if (fact->row && is_plain_load(fact->instruction) &&
            (double)fact->sectors >= MIN_REUSE * (double)fact->footprint_sectors)
            misses += (double)fact->row->l1_misses.capacity;
    }
    return misses;
}

bool fth_rule_streaming(struct fth_candidates *candidates)
{
    const struct fth_facts *facts = candidates->facts;
    const double misses = reuse_misses(facts);
    bool *chosen = calloc(facts->count + 1, sizeof *chosen);
    size_t first = SIZE_MAX;
    char place[200];
    double sectors = 0;
    bool done = chosen;
    for (size_t i = 0; i < facts->count && done; i++) {
        const struct fth_fact *fact = &facts->items[i];
        chosen[i] = is_plain_load(fact->instruction) &&
                    (double)fact->sectors <= MAX_STREAM * (double)fact->footprint_sectors;
        if (!chosen[i])
            continue;
        first = first == SIZE_MAX ? i : first;
        sectors += (double)fact->sectors;
    }
    if (done && first != SIZE_MAX &&
        misses >= MIN_CAPACITY_PART * (double)facts->row->l1.sectors[FTH_TRACE_READ]) {
        const char *one = fth_rule_edit(candidates, "hint", chosen, ":evict_first");
        const char *other = fth_rule_edit(candidates, "hint", chosen, ":no_allocate");
        const struct fth_trace_instruction *instruction = facts->items[first].instruction;
        done = fth_candidate_add(
            candidates,
            &(struct fth_candidate_hint){
                .hint = {.rule = "streaming",
                         .instruction = instruction,
                         .text = fth_rule_text(
                             candidates->arena,
                             "The data that is loaded at %s is not used again, but evicts data "
                             "from the L1 that is. Load it with __ldcs() or ld.global with "
                             "L1::evict_first or L1::no_allocate.",
                             fth_rule_place(instruction, place, sizeof place)),
                         .evidence = fth_rule_text(
                             candidates->arena,
                             "%.0f sectors are loaded once; other loads miss %.0f sectors that the "
                             "L1 held before",
                             sectors, misses)},
                .trials = {one, other},
                .trial_count = (!one || *one) ? 2 : 0,
                .excess_sectors = misses});
    }
    free(chosen);
    return done;
}

/* ---- loads that bypass the L1 ---- */

/* Returns whether a load bypasses the L1 although the kernel reads its data several times and does
 * not write it. */
static bool bypasses(const struct fth_facts *facts, const struct fth_fact *fact)
{
    const struct fth_trace_instruction *instruction = fact->instruction;
    if (instruction->kind != FTH_TRACE_READ ||
        (double)fact->sectors < MIN_REUSE * (double)fact->footprint_sectors ||
        !(instruction->cache_op == OP_CG || instruction->cache_op == OP_CV ||
          instruction->cache_op == OP_VOLATILE ||
          (instruction->hints & L1_PRIORITY_MASK) == L1_NO_ALLOCATE))
        return false;
    for (size_t i = 0; i < facts->count; i++)
        if (facts->items[i].instruction->kind != FTH_TRACE_READ &&
            facts->items[i].low < fact->high && fact->low < facts->items[i].high)
            return false;
    return true;
}

/* Adds a candidate for the chosen loads, which are on one source line. `first` is one of them. */
static bool add_bypass(struct fth_candidates *candidates, const struct fth_trace_instruction *first,
                       const bool *chosen)
{
    const struct fth_facts *facts = candidates->facts;
    double sectors = 0, footprint = 0;
    char place[200];
    for (size_t i = 0; i < facts->count; i++) {
        sectors += chosen[i] ? (double)facts->items[i].sectors : 0;
        footprint += chosen[i] ? (double)facts->items[i].footprint_sectors : 0;
    }
    return fth_candidate_add_edit(
        candidates,
        (struct fth_candidate_hint){
            .hint = {.rule = "l1_bypass",
                     .instruction = first,
                     .text = fth_rule_text(
                         candidates->arena,
                         "The load at %s bypasses the L1, although the kernel loads its data "
                         "several times and does not write it. Use a plain load, or "
                         "ld.global.nc (const __restrict__), unless another kernel writes the "
                         "data at the same time.",
                         fth_rule_place(first, place, sizeof place)),
                     .evidence =
                         fth_rule_text(candidates->arena, "each sector is loaded %.1f times",
                                       sectors / footprint)},
            .excess_sectors = sectors - footprint},
        "hint", chosen, ":nc");
}

bool fth_rule_bypass(struct fth_candidates *candidates)
{
    const struct fth_facts *facts = candidates->facts;
    const struct fth_fact *items = facts->items;
    bool *left = calloc(2 * facts->count + 1, sizeof *left); /* loads without a candidate */
    bool done = true;
    if (!left)
        return false;
    bool *chosen = left + facts->count;
    for (size_t i = 0; i < facts->count; i++)
        left[i] = bypasses(facts, &items[i]);
    for (size_t i = 0; i < facts->count && done; i++) {
        if (!left[i])
            continue;
        for (size_t k = 0; k < facts->count; k++) {
            chosen[k] = left[k] && fth_rule_same_line(items[i].instruction, items[k].instruction);
            left[k] = left[k] && !chosen[k];
        }
        done = add_bypass(candidates, items[i].instruction, chosen);
    }
    free(left);
    return done;
}

/* ---- loads that only fill shared memory ---- */

/* Returns whether cp.async could copy the data of a load. */
static bool can_be_copied(const struct fth_trace_instruction *instruction)
{
    return (instruction->hints & FTH_TRACE_STAGED) && instruction->kind == FTH_TRACE_READ &&
           (instruction->bytes == 4 || instruction->bytes == 8 || instruction->bytes == 16);
}

bool fth_rule_staged(struct fth_candidates *candidates)
{
    const struct fth_facts *facts = candidates->facts;
    bool *chosen = calloc(facts->count + 1, sizeof *chosen);
    bool done = chosen;
    size_t first = SIZE_MAX, count = 0;
    uint64_t sectors = 0;
    for (size_t i = 0; i < facts->count && done; i++) {
        chosen[i] = can_be_copied(facts->items[i].instruction);
        first = chosen[i] && first == SIZE_MAX ? i : first;
        count += chosen[i];
        sectors += chosen[i] ? facts->items[i].sectors : 0;
    }
    if (done && count) {
        char place[200];
        const struct fth_trace_instruction *instruction = facts->items[first].instruction;
        const char *edit = fth_rule_edit(candidates, "hint", chosen, ":async");
        done = fth_candidate_add(
            candidates,
            &(struct fth_candidate_hint){
                .hint = {.rule = "staged_loads",
                         .instruction = instruction,
                         .text = fth_rule_text(
                             candidates->arena,
                             "The warps wait for the data that is loaded at %s, only to store it "
                             "to shared memory. Copy it with cp.async "
                             "(__pipeline_memcpy_async(), compute capability 8.0) into a second "
                             "buffer, one iteration of the loop ahead. The gain is at most that "
                             "below: if an SM has many warps, they already hide the latency.",
                             fth_rule_place(instruction, place, sizeof place)),
                         .evidence = fth_rule_text(
                             candidates->arena,
                             "the results of %zu %s are only stored to shared memory; a warp needs "
                             "the first one after %" PRIu32 " %s",
                             count, count == 1 ? "load" : "loads", instruction->wait,
                             instruction->wait == 1 ? "instruction" : "instructions")},
                .trials = {edit},
                .trial_count = !edit || *edit,
                .excess_sectors = (double)sectors});
    }
    free(chosen);
    return done;
}
