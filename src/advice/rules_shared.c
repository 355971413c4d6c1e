/* The rule about shared memory: bank conflicts that a word of padding per row removes. */
#include "advice/advice.h"

#include <string.h>

/* Minimum number of wavefronts, and maximum number with padding, per wavefront without conflicts.
 * Chosen: a kernel with fewer conflicts gains little, and padding that leaves more than a few does
 * not solve the problem. */
static const double MIN_RATIO = 1.5, MAX_PADDED_RATIO = 1.25;

bool fth_rule_banks(struct fth_candidates *candidates)
{
    for (size_t i = 0; i < candidates->row_count; i++) {
        const struct fth_model_row *at = &candidates->rows[i];
        const double wavefronts = (double)at->shared.wavefronts,
                     ideal = (double)at->shared.ideal_wavefronts,
                     padded = (double)at->shared.padded_wavefronts,
                     requests = (double)(at->shared.requests[0] + at->shared.requests[1] +
                                         at->shared.requests[2]);
        char place[200];
        if (strcmp(at->kernel, candidates->facts->kernel) != 0 || !at->instruction ||
            !(requests > 0) || wavefronts < MIN_RATIO * ideal || padded > MAX_PADDED_RATIO * ideal)
            continue;
        struct fth_candidate_hint candidate = {
            .hint = {.rule = "bank_conflicts",
                     .instruction = at->instruction,
                     .text = fth_rule_text(
                         candidates->arena,
                         "Lanes of a warp access different words of the same bank of shared memory "
                         "at %s. Make the rows of the array one word longer, such as [32][33] "
                         "instead of [32][32].",
                         fth_rule_place(at->instruction, place, sizeof place)),
                     .evidence =
                         fth_rule_text(candidates->arena,
                                       "%.1f wavefronts per request; %.1f would do, and "
                                       "%.1f remain with a word of padding per 32 words",
                                       wavefronts / requests, ideal / requests, padded / requests),
                     .what_if = at->instruction->line
                                    ? fth_rule_text(candidates->arena, "pad=%u",
                                                    (unsigned)at->instruction->line)
                                    : ""},
            .saved_wavefronts = wavefronts - padded,
            .excess_sectors = 4 * (wavefronts - padded)};
        if (!fth_candidate_add(candidates, &candidate))
            return false;
    }
    return true;
}
