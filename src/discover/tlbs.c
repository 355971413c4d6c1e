/* Measures the page size, the entries and the miss penalty of each TLB level. */
#include "discover/discover.h"
#include "probe/tlb/probe_tlb.h"

#include <math.h>
#include <stdio.h>

const char *const fth_tlb_elements[FTH_TLB_ELEMENTS] = {"tlb_l1", "tlb_l2", "tlb_l3"};
_Static_assert(FTH_TLB_ELEMENTS == (int)FTH_MAX_TLBS, "one element per level");
/* Leaves memory to the driver and to other programs. Chosen, not derived. */
const double fth_walked_memory_fraction = 0.7;
/* Minimum fraction of the repeats that must agree on a figure, and minimum number of repeats.
 * Chosen: one of ten repeats may disagree. */
static const double min_agreement = 0.85, min_repeats = 3;
/* Confidence level of the intervals of penalties. */
static const double penalty_interval_level = 0.9;

static const char disturbed_reason[] = "repeated measurements disagree: something disturbs them";

/* Whether enough repeats agree. */
static bool is_sufficient(struct fth_evidence evidence)
{
    return evidence.repeats >= min_repeats && fth_evidence_share(evidence) >= min_agreement;
}

/* Writes the number if enough repeats agree, otherwise the reason under
 * "unknown". `doubt` is the reason if it was not found, or NULL. */
static enum fth_status note_if_sufficient(struct fth_gpu *gpu, const struct fth_note *note,
                                          const char *doubt, struct fth_error *error)
{
    if (note->number <= 0)
        return fth_note_unknown(gpu, note->element, note->attribute, doubt ? doubt : "not found",
                                error);
    if (!is_sufficient(*note->evidence))
        return fth_note_unknown(gpu, note->element, note->attribute, disturbed_reason, error);
    return fth_note(gpu, note, error);
}

static enum fth_status note_level(struct fth_gpu *gpu, const char *name,
                                  const struct fth_tlb_level *level, size_t samples,
                                  struct fth_error *error)
{
    const double page = (double)level->page_bytes, entries = (double)level->entries;
    const struct fth_evidence both =
        fth_weaker_evidence(level->page_evidence, level->entries_evidence);
    const struct fth_note notes[] = {
        {.attribute = "page_bytes",
         .number = page,
         .evidence = &level->page_evidence,
         .method = "the smallest stride at which neighbouring loads both miss"},
        {.attribute = "entries",
         .number = entries,
         .evidence = &both,
         .method = "the largest number of pages that can be walked without a miss"},
        {.attribute = "reach_bytes",
         .number = entries * page,
         .evidence = &both,
         .method = "entries x page_bytes"},
    };
    for (size_t i = 0; i < FTH_COUNT(notes); i++) {
        struct fth_note note = notes[i];
        note.element = name;
        note.samples = samples;
        FTH_TRY(note_if_sufficient(gpu, &note, level->doubt, error));
    }
    /* Without a page, the level may not exist. Without an interval, the penalty is only the height
     * of a step in the latency, and two levels can cause one step together. */
    if (level->page_bytes == 0 || isnan(level->penalty_low))
        return fth_note_unknown(gpu, name, "miss_penalty_cycles",
                                level->doubt             ? level->doubt
                                : level->page_bytes == 0 ? "not found"
                                                         : "too few loads miss this level alone",
                                error);
    return fth_note(
        gpu,
        &(struct fth_note){
            .element = name,
            .attribute = "miss_penalty_cycles",
            .number = fth_round_to_tenth(level->penalty_cycles),
            .interval = (const double[]){fth_round_to_tenth(level->penalty_low),
                                         fth_round_to_tenth(level->penalty_high)},
            .confidence = &penalty_interval_level,
            .samples = samples,
            .method = "extra cycles of loads, one line per page, compared with the same lines "
                      "while their pages are in the TLB; mean and its interval"},
        error);
}

/* Whether all repeats agree. Otherwise it is worth measuring again. */
static bool is_settled(const struct fth_tlbs *tlbs)
{
    for (size_t i = 0; i < tlbs->count; i++) {
        const struct fth_tlb_level *level = &tlbs->levels[i];
        if (level->unsettled || (level->entries && !is_sufficient(level->entries_evidence)))
            return false;
    }
    return true;
}

/* Writes that there may be a further level, if the L2 is too small to show it. */
static enum fth_status note_hidden_level(struct fth_discovery *discovery,
                                         const struct fth_tlbs *tlbs, struct fth_error *error)
{
    char reason[128];
    discovery->hidden_tlb = NULL;
    if (tlbs->count >= FTH_MAX_TLBS || tlbs->l2_loads == 0)
        return FTH_OK;
    snprintf(reason, sizeof reason,
             "not found with walks over up to %llu pages; the L2 does not hold the lines of more",
             (unsigned long long)tlbs->l2_loads);
    discovery->hidden_tlb = fth_tlb_elements[tlbs->count];
    return fth_note_unknown(discovery->gpu, discovery->hidden_tlb, "reach_bytes", reason, error);
}

/* All levels are measured together, because a level is only visible behind the previous ones. */
enum fth_status fth_discover_tlbs(struct fth_discovery *discovery, struct fth_error *error)
{
    const struct fth_attribute *memory = fth_gpu_attribute(discovery->gpu, "memory", "size_bytes");
    if (!memory)
        return FTH_OK;
    const struct fth_attribute *l2 = fth_gpu_attribute(discovery->gpu, "l2", "size_bytes");
    struct fth_tlbs tlbs = {.count = 0};
    struct fth_gpu *gpu = discovery->gpu;
    const uint64_t l2_bytes = l2 ? (uint64_t)l2->number : 1 << 20;
    const uint64_t max_bytes = (uint64_t)(memory->number * fth_walked_memory_fraction);
    enum fth_status status = fth_probe_tlbs(&discovery->prober, max_bytes, l2_bytes, &tlbs, error);
    if (status == FTH_OK && !is_settled(&tlbs))
        status = fth_probe_tlbs(&discovery->prober, max_bytes, l2_bytes, &tlbs, error);
    if (status != FTH_OK) {
        tlbs.l2_loads = 0; /* the failure is the reason */
        FTH_TRY(fth_note_failure(gpu, fth_tlb_elements[tlbs.count < FTH_MAX_TLBS ? tlbs.count : 0],
                                 "reach_bytes", status, error));
    }
    for (size_t i = 0; i < tlbs.count && i < FTH_MAX_TLBS; i++)
        FTH_TRY(note_level(gpu, fth_tlb_elements[i], &tlbs.levels[i], tlbs.samples, error));
    return note_hidden_level(discovery, &tlbs, error);
}
