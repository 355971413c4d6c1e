/* The TLBs on the way to memory. */
#include "discover/discover.h"
#include "probe/tlb.h"

#include <math.h>

/* Memory that may be taken to find out about TLBs. */
static const double tlb_part = 0.7;
/* Less than this is no answer: of ten repeats two do not agree. */
static const double min_confidence = 0.8;
/* Of the intervals of penalties. */
static const double interval_level = 0.9;

static const char disturbed[] =
    "it came out differently when it was measured again: something disturbs";

/* A number that several repeats gave, or the reason why there is none. */
static enum fth_status note_sure(struct fth_gpu *gpu, const struct fth_note *note,
                                 const char *doubt, struct fth_error *error)
{
    if (note->value <= 0)
        return fth_note_unknown(gpu, note->element, note->attribute, doubt ? doubt : "not found",
                                error);
    if (note->confidence < min_confidence)
        return fth_note_unknown(gpu, note->element, note->attribute, disturbed, error);
    return fth_note_number(gpu, note, error);
}

static double tenths(double value)
{
    return round(10 * value) / 10;
}

static enum fth_status note_level(struct fth_gpu *gpu, const char *name,
                                  const struct fth_tlb_level *level, size_t samples,
                                  struct fth_error *error)
{
    const double page = (double)level->page_bytes, entries = (double)level->entries;
    const double min = fmin(level->page_confidence, level->entries_confidence);
    const struct fth_note sure[] = {
        {.attribute = "page_bytes",
         .value = page,
         .confidence = level->page_confidence,
         .method = "the least stride at which neighbours both pay"},
        {.attribute = "entries",
         .value = entries,
         .confidence = min,
         .method = "the most pages that can be walked over at no cost"},
        {.attribute = "reach_bytes",
         .value = entries * page,
         .confidence = min,
         .method = "entries x page"},
    };
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < FTH_COUNT(sure) && status == FTH_OK; i++) {
        struct fth_note note = sure[i];
        note.element = name;
        note.low = note.high = NAN;
        note.samples = samples;
        status = note_sure(gpu, &note, level->doubt, error);
    }
    const struct fth_note penalty = {
        .element = name,
        .attribute = "miss_penalty_cycles",
        .value = tenths(level->penalty_cycles),
        .low = tenths(level->penalty_low),
        .high = tenths(level->penalty_high),
        .confidence = isnan(level->penalty_low) ? NAN : interval_level,
        .samples = samples,
        .method = "what loads of one line a page take beyond the same lines with their pages at "
                  "hand; mean and its interval"};
    if (status == FTH_OK && level->page_bytes == 0) /* it may be no level at all */
        return fth_note_unknown(gpu, name, penalty.attribute,
                                level->doubt ? level->doubt : "not found", error);
    return status == FTH_OK ? fth_note_number(gpu, &penalty, error) : status;
}

/* What came out differently when it was measured again may do better the next time. */
static bool is_settled(const struct fth_tlbs *tlbs)
{
    for (size_t i = 0; i < tlbs->count; i++) {
        const struct fth_tlb_level *level = &tlbs->levels[i];
        if (level->unsettled || (level->entries && level->entries_confidence < min_confidence))
            return false;
    }
    return true;
}

enum fth_status fth_discover_tlbs(struct fth_discovery *discovery, struct fth_error *error)
{
    static const char *const names[FTH_MAX_TLBS] = {"tlb_l1", "tlb_l2", "tlb_l3"};
    const struct fth_attribute *memory = fth_gpu_attribute(discovery->gpu, "memory", "size_bytes");
    if (!memory ||
        !(fth_discovery_wants(discovery, names[0]) || fth_discovery_wants(discovery, names[1])))
        return FTH_OK;
    fth_log_progress(discovery->prober.log, "TLBs", 0.8);
    const struct fth_attribute *l2 = fth_gpu_attribute(discovery->gpu, "l2", "size_bytes");
    struct fth_tlbs tlbs = {.count = 0};
    struct fth_gpu *gpu = discovery->gpu;
    const uint64_t l2_bytes = l2 ? (uint64_t)l2->number : 1 << 20;
    const uint64_t max_bytes = (uint64_t)(memory->number * tlb_part);
    enum fth_status status = fth_probe_tlbs(&discovery->prober, max_bytes, l2_bytes, &tlbs, error);
    if (status == FTH_OK && !is_settled(&tlbs))
        status = fth_probe_tlbs(&discovery->prober, max_bytes, l2_bytes, &tlbs, error);
    if (status != FTH_OK)
        status = fth_note_failure(gpu, names[tlbs.count < FTH_MAX_TLBS ? tlbs.count : 0],
                                  "reach_bytes", status, error);
    for (size_t i = 0; i < tlbs.count && i < FTH_MAX_TLBS && status == FTH_OK; i++)
        status = note_level(gpu, names[i], &tlbs.levels[i], tlbs.samples, error);
    return status;
}
