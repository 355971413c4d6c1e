/* Rules about what the threads of a block repeat: atomics on the same address, and loads of the
 * same sectors by several warps. */
#include "advice/advice_parts.h"

#include <stdlib.h>

/* Minimum number of atomics per address and block. Chosen: with fewer, shared memory has to be
 * cleared and summed up for almost as many atomics as it saves. */
static const double MIN_ATOMICS = 4;
/* Minimum part of the sectors of a load that another warp of the block has loaded before. Chosen:
 * most stencils in one dimension share only the borders of warps, which is far less. */
static const double MIN_SHARED_PART = 0.3;
/* Minimum part of the kernel's sectors that these are. Chosen: half of the gain below which hints
 * are left out. */
static const double MIN_PART = 0.015;

bool fth_rule_atomics(struct fth_candidates *candidates)
{
    const struct fth_facts *facts = candidates->facts;
    bool *chosen = calloc(facts->count + 1, sizeof *chosen);
    bool done = chosen;
    for (size_t i = 0; i < facts->count && done; i++) {
        const struct fth_fact *fact = &facts->items[i];
        char place[200];
        double accesses = 0, pairs = 0;
        if (fact->instruction->kind != FTH_TRACE_ATOMIC || candidates->explained[i])
            continue;
        fth_rule_unrolled(candidates, i, chosen);
        for (size_t k = i; k < facts->count; k++) {
            accesses += chosen[k] ? (double)facts->items[k].accesses : 0;
            pairs += chosen[k] ? (double)facts->items[k].block_addresses : 0;
        }
        if (!(pairs > 0) || accesses < MIN_ATOMICS * pairs)
            continue;
        for (size_t k = i; k < facts->count; k++)
            candidates->explained[k] = candidates->explained[k] || chosen[k];
        done = fth_candidate_add_edit(
            candidates,
            (struct fth_candidate_hint){
                .hint = {.rule = "atomics",
                         .instruction = fact->instruction,
                         .text = fth_rule_text(
                             candidates->arena,
                             "Many threads of a block update the same addresses with the atomic "
                             "at %s. Sum up in shared memory first, then update each address once "
                             "per block.",
                             fth_rule_place(fact->instruction, place, sizeof place)),
                         .evidence =
                             fth_rule_text(candidates->arena,
                                           "each block updates an address %.1f times on average",
                                           accesses / pairs)},
                .excess_sectors = accesses - pairs},
            "merge", chosen, "");
    }
    free(chosen);
    return done;
}

/* Chooses the loads whose addresses overlap with those of loads that are shared between warps. */
static void choose_loads(const struct fth_facts *facts, const bool *shared, bool *chosen)
{
    for (size_t i = 0; i < facts->count; i++) {
        const struct fth_fact *fact = &facts->items[i];
        chosen[i] = shared[i];
        for (size_t k = 0; k < facts->count && fact->instruction->kind == FTH_TRACE_READ; k++)
            chosen[i] = chosen[i] || (shared[k] && fact->low < facts->items[k].high &&
                                      facts->items[k].low < fact->high);
    }
}

bool fth_rule_redundant(struct fth_candidates *candidates)
{
    const struct fth_facts *facts = candidates->facts;
    bool *shared = calloc(2 * facts->count + 1, sizeof *shared), *chosen = NULL;
    double sectors = 0, repeated = 0, all = 0;
    size_t most = SIZE_MAX;
    char place[200];
    if (!shared)
        return false;
    chosen = shared + facts->count;
    for (size_t i = 0; i < facts->count; i++) {
        const struct fth_fact *fact = &facts->items[i];
        shared[i] = fact->instruction->kind == FTH_TRACE_READ && fact->shared_sectors &&
                    (double)fact->shared_sectors >= MIN_SHARED_PART * (double)fact->sectors;
        all += (double)fact->sectors;
        if (!shared[i])
            continue;
        sectors += (double)fact->sectors;
        repeated += (double)fact->shared_sectors;
        if (most == SIZE_MAX || fact->shared_sectors > facts->items[most].shared_sectors)
            most = i;
    }
    bool done = true;
    if (most != SIZE_MAX && repeated >= MIN_PART * all) {
        choose_loads(facts, shared, chosen);
        const struct fth_trace_instruction *instruction = facts->items[most].instruction;
        done = fth_candidate_add_edit(
            candidates,
            (struct fth_candidate_hint){
                .hint = {.rule = "redundant_loads",
                         .instruction = instruction,
                         .text = fth_rule_text(
                             candidates->arena,
                             "Several warps of a block load the same data at %s. Let the block "
                             "load it once into shared memory, for example with cp.async, and "
                             "read it from there.",
                             fth_rule_place(instruction, place, sizeof place)),
                         .evidence = fth_rule_text(
                             candidates->arena,
                             "another warp of the block has loaded %.0f %% of the sectors before",
                             100 * repeated / sectors)},
                .excess_sectors = repeated},
            "merge", chosen, "");
    }
    free(shared);
    return done;
}
