/* Rules about the addresses of the lanes of a warp: accesses that need more sectors than the bytes
 * that they use, because neighbouring lanes access elements that are far apart. */
#include "advice/advice_parts.h"

#include <stdlib.h>
#include <string.h>

/* An access is uncoalesced if it needs this many times the sectors that would do; one that is off
 * by a sector, because it is not aligned, stays below. */
static const double MIN_RATIO = 1.5;
/* Minimum part of the kernel's sectors that a rule must save to be a candidate. Chosen: half of the
 * gain below which hints are left out. */
static const double MIN_PART = 0.015;
/* Minimum part of the lanes that have the same distance from their neighbour. */
static const double MIN_STRIDE_PART = 0.8;
/* Maximum size of a struct. Chosen: larger distances are more likely rows of a matrix. */
enum { MAX_STRUCT_BYTES = 256 };

static const char *verb_of(const struct fth_fact *fact)
{
    return fact->instruction->kind == FTH_TRACE_WRITE ? "store" : "load";
}

/* Sectors of a kernel, of loads, stores and atomics. */
static double all_sectors(const struct fth_facts *facts)
{
    double sum = 0;
    for (size_t i = 0; i < facts->count; i++)
        sum += (double)facts->items[i].sectors;
    return sum;
}

static bool is_uncoalesced(const struct fth_fact *fact)
{
    return fact->instruction->kind != FTH_TRACE_ATOMIC && fact->requests &&
           (double)fact->sectors >= MIN_RATIO * (double)fact->ideal_sectors;
}

/* Sums of the chosen facts. */
struct sums {
    double requests, sectors, ideal;
};

static struct sums sum_of(const struct fth_facts *facts, const bool *chosen)
{
    struct sums sums = {0};
    for (size_t i = 0; i < facts->count; i++) {
        if (!chosen[i])
            continue;
        sums.requests += (double)facts->items[i].requests;
        sums.sectors += (double)facts->items[i].sectors;
        sums.ideal += (double)facts->items[i].ideal_sectors;
    }
    return sums;
}

/* Adds a candidate with the edit `layout` for the chosen facts, unless it would save too little. */
static bool add(struct fth_candidates *candidates, const char *rule, size_t first,
                const bool *chosen, const char *text, const char *stride)
{
    const struct fth_facts *facts = candidates->facts;
    const struct sums sums = sum_of(facts, chosen);
    if (sums.sectors - sums.ideal < MIN_PART * all_sectors(facts))
        return true;
    for (size_t i = 0; i < facts->count; i++)
        candidates->explained[i] = candidates->explained[i] || chosen[i];
    return fth_candidate_add_edit(
        candidates,
        (struct fth_candidate_hint){
            .hint = {.rule = rule,
                     .instruction = facts->items[first].instruction,
                     .text = text,
                     .evidence = fth_rule_text(
                         candidates->arena, "%s%.1f sectors per request; %.1f would do", stride,
                         sums.sectors / sums.requests, sums.ideal / sums.requests)},
            .excess_sectors = sums.sectors - sums.ideal},
        "layout", chosen, "");
}

/* ---- array of structs ---- */

/* Returns whether the threads of a block access one member of consecutive structs. */
static bool is_member(const struct fth_fact *fact)
{
    return is_uncoalesced(fact) && fact->stride > fact->instruction->bytes &&
           fact->stride <= MAX_STRUCT_BYTES && fact->stride % fact->instruction->bytes == 0 &&
           (double)fact->stride_count >= MIN_STRIDE_PART * (double)fact->neighbours &&
           (double)fact->in_phase >= MIN_STRIDE_PART * (double)fact->strided;
}

/* Chooses the instructions that access members of the same array of structs, and returns how many
 * bytes of a struct they access. */
static uint64_t choose_members(const struct fth_candidates *candidates, size_t first, bool *chosen)
{
    const struct fth_facts *facts = candidates->facts;
    const uint64_t size = facts->items[first].stride;
    bool used[MAX_STRUCT_BYTES] = {false};
    uint64_t low = facts->items[first].low, high = facts->items[first].high, count = 0;
    for (size_t i = 0; i < facts->count; i++) {
        const struct fth_fact *fact = &facts->items[i];
        chosen[i] = !candidates->explained[i] && is_member(fact) && fact->stride == size &&
                    fact->low < high && low < fact->high;
        if (!chosen[i])
            continue;
        low = fact->low < low ? fact->low : low;
        high = fact->high > high ? fact->high : high;
        for (uint64_t at = 0; at < fact->instruction->bytes; at++)
            used[(fact->first + at) % size] = true;
    }
    for (size_t i = 0; i < size; i++)
        count += used[i];
    return count;
}

bool fth_rule_structs(struct fth_candidates *candidates)
{
    const struct fth_facts *facts = candidates->facts;
    bool *chosen = calloc(facts->count + 1, sizeof *chosen);
    bool done = chosen;
    for (size_t i = 0; i < facts->count && done; i++) {
        const struct fth_fact *fact = &facts->items[i];
        char place[200], stride[100];
        if (candidates->explained[i] || !is_member(fact))
            continue;
        const uint64_t used = choose_members(candidates, i, chosen);
        (void)fth_format(stride, sizeof stride, "%d bytes from thread to thread, %d used; ",
                         (int)fact->stride, (int)used);
        const char *text = fth_rule_text(
            candidates->arena,
            "The %s at %s accesses one member of an array of structs of %d bytes, so "
            "neighbouring threads access elements that are not adjacent. Store each member in an "
            "array of its own (a struct of arrays).",
            verb_of(fact), fth_rule_place(fact->instruction, place, sizeof place),
            (int)fact->stride);
        done = text && add(candidates, "array_of_structs", i, chosen, text, stride);
    }
    free(chosen);
    return done;
}

/* ---- uncoalesced accesses ---- */

bool fth_rule_uncoalesced(struct fth_candidates *candidates)
{
    const struct fth_facts *facts = candidates->facts;
    bool *chosen = calloc(facts->count + 1, sizeof *chosen);
    bool done = chosen;
    for (size_t i = 0; i < facts->count && done; i++) {
        const struct fth_fact *fact = &facts->items[i];
        char place[200], stride[100] = "";
        if (candidates->explained[i] || !is_uncoalesced(fact))
            continue;
        const bool regular = fact->neighbours && (double)fact->stride_count >=
                                                     MIN_STRIDE_PART / 2 * (double)fact->neighbours;
        const int64_t distance = (int64_t)fact->stride;
        fth_rule_unrolled(candidates, i, chosen);
        for (size_t k = i; k < facts->count; k++)
            chosen[k] = chosen[k] && is_uncoalesced(&facts->items[k]);
        if (regular)
            (void)fth_format(stride, sizeof stride, "%lld bytes from thread to thread; ",
                             (long long)(distance < 0 ? -distance : distance));
        const char *text = fth_rule_text(
            candidates->arena,
            regular ? "Neighbouring threads access elements that are far apart in the %s at %s. "
                      "Let neighbouring threads access neighbouring elements: exchange the roles "
                      "of the thread indices, or go through a tile in shared memory."
                    : "Neighbouring threads access elements at irregular distances in the %s at "
                      "%s. Store the elements in the order in which threads use them, or sort the "
                      "indices.",
            verb_of(fact), fth_rule_place(fact->instruction, place, sizeof place));
        done = text && add(candidates, "uncoalesced", i, chosen, text, stride);
    }
    free(chosen);
    return done;
}
