/* Reduces the judgement of a fleet (fathom-fleet/2) to what the HTML page shows, so that the page
 * stays below 1 MB for 10,000 GPUs and more. Numbers are rounded to six digits. Each list has a
 * limit in bytes: entries beyond the first limit lose their details, and entries beyond the second
 * one are removed and counted, so that the page can name the number. The lists are in the order of
 * importance, which fathom-fleet/2 prescribes for the GPUs and the rows of the heat map. */
#include "base/json.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

enum {
    DIGITS = 6,        /* significant; more than a chart can show */
    MAX_FINDINGS = 16, /* of a GPU; chosen */
};

/* Limits of a list, in bytes. Chosen: the sum of all totals, 585 kB, leaves 415 kB of the 1 MB for
 * D3, the scripts and the style. */
struct limits {
    size_t detailed; /* entries beyond this size lose details */
    size_t total;    /* entries beyond this size are removed */
};

/* Rounds all real numbers of a value. */
static void round_numbers(struct fth_json *value)
{
    if (value->kind == FTH_JSON_REAL && value->real != 0 && isfinite(value->real)) {
        const double scale = pow(10, DIGITS - 1 - floor(log10(fabs(value->real))));
        if (isfinite(scale) && isfinite(value->real * scale))
            value->real = round(value->real * scale) / scale;
    }
    for (struct fth_json *item = fth_json_items(value); item; item = item->next)
        round_numbers(item);
    for (struct fth_json *member = fth_json_members(value); member; member = member->next)
        round_numbers(member);
}

/* Returns the size of a list entry as text. */
static size_t written_size(struct fth_json_document *document, const struct fth_json *value)
{
    struct fth_buffer text = {0};
    fth_json_write(&text, value, DIGITS, true);
    const size_t size = text.size;
    document->failed = document->failed || text.failed;
    fth_buffer_fini(&text);
    return size + 1; /* the comma after it */
}

/* Adds to a member of an object that is a count. If it is 0, the object does not have it. */
static void add_count(struct fth_json_document *document, struct fth_json *object, const char *key,
                      size_t count)
{
    int64_t before = fth_json_integer(fth_json_get(object, key));
    before = before < 0 || before > INT32_MAX ? 0 : before;
    fth_json_remove(object, key);
    if (before || count)
        fth_json_put_integer(document, object, key, before + (int64_t)count);
}

/* Replaces list `key` of an object by one with the entries that `keep` accepts, within limits.
 * `reduce` removes details of an entry. Both may be NULL. The number of entries that were removed
 * because of the limits is added to member `count_key`, which the document may already have. */
static void limit_list(struct fth_json_document *document, struct fth_json *object, const char *key,
                       const char *count_key, struct limits limits,
                       bool (*keep)(const struct fth_json *entry),
                       void (*reduce)(struct fth_json_document *document, struct fth_json *entry))
{
    struct fth_json *list = fth_json_get(object, key);
    size_t size = 0, removed = 0;
    if (!fth_json_is(list, FTH_JSON_LIST))
        return;
    struct fth_json *kept = fth_json_put(document, NULL, NULL, FTH_JSON_LIST);
    for (struct fth_json *entry = fth_json_items(list), *next; entry; entry = next) {
        next = entry->next;
        if (keep && !keep(entry))
            continue;
        size_t own = written_size(document, entry);
        if (size + own > limits.detailed && reduce) {
            reduce(document, entry);
            own = written_size(document, entry);
        }
        if (removed || size + own > limits.total) {
            removed++;
            continue;
        }
        size += own;
        entry->next = NULL;
        fth_json_attach(document, kept, NULL, entry);
    }
    if (kept)
        list->items = kept->items;
    add_count(document, object, count_key, removed);
}

static bool is_text(const struct fth_json *value, const char *text)
{
    const char *own = fth_json_string(value);
    return own && strcmp(own, text) == 0;
}

/* 'fathom fleet judge --all' also lists healthy GPUs. */
static bool is_not_healthy(const struct fth_json *gpu)
{
    return !is_text(fth_json_get(gpu, "verdict"), "healthy") ||
           fth_json_count(fth_json_get(gpu, "findings")) > 0;
}

/* Only numbers have a distribution. Other figures are named if they could not be judged. */
static bool is_shown_figure(const struct fth_json *figure)
{
    return fth_json_count(fth_json_get(figure, "bins")) > 0 ||
           fth_json_string(fth_json_get(figure, "reason"));
}

static void cut_findings(struct fth_json_document *document, struct fth_json *gpu, size_t limit)
{
    struct fth_json *findings = fth_json_get(gpu, "findings");
    const size_t count = fth_json_count(findings);
    if (count <= limit)
        return;
    struct fth_json *kept = fth_json_put(document, NULL, NULL, FTH_JSON_LIST);
    struct fth_json *finding = fth_json_items(findings);
    for (size_t i = 0; i < limit; i++) {
        struct fth_json *next = finding->next;
        finding->next = NULL;
        fth_json_attach(document, kept, NULL, finding);
        finding = next;
    }
    if (kept)
        findings->items = kept->items;
    add_count(document, gpu, "more_findings", count - limit);
}

/* Keeps the state of the device and of its memory. The context also has figures of caches that vary
 * from run to run. */
static void cut_context(struct fth_json_document *document, struct fth_json *gpu)
{
    struct fth_json *context = fth_json_get(gpu, "context");
    if (!fth_json_is(context, FTH_JSON_OBJECT))
        return;
    struct fth_json *kept = fth_json_put(document, NULL, NULL, FTH_JSON_OBJECT);
    for (struct fth_json *member = fth_json_members(context), *next; member; member = next) {
        next = member->next;
        if (strncmp(member->key, "device.", 7) != 0 && strncmp(member->key, "memory.", 7) != 0)
            continue;
        member->next = NULL;
        fth_json_attach(document, kept, member->key, member);
    }
    if (kept)
        context->items = kept->items;
}

static void reduce_gpu(struct fth_json_document *document, struct fth_json *gpu)
{
    if (!fth_json_is(gpu, FTH_JSON_OBJECT))
        return;
    fth_json_remove(gpu, "context");
    cut_findings(document, gpu, 1);
}

static void reduce_cohort(struct fth_json_document *document, struct fth_json *cohort)
{
    const size_t figures = fth_json_count(fth_json_get(cohort, "figures"));
    if (figures == 0)
        return;
    fth_json_remove(cohort, "figures");
    add_count(document, cohort, "figures_left_out", figures);
}

void fth_fleet_condense(struct fth_json_document *document)
{
    const struct limits gpus = {170000, 230000}, cohorts = {130000, 150000};
    const struct limits rows = {150000, 150000}, groups = {25000, 25000}, problems = {15000, 15000};
    const struct limits notes = {15000, 15000};
    struct fth_json *root = document->root, *cohort = NULL, *gpu = NULL;
    const struct limits all = {SIZE_MAX, SIZE_MAX};
    round_numbers(root);
    for (gpu = fth_json_items(fth_json_get(root, "gpus")); gpu; gpu = gpu->next)
        if (fth_json_is(gpu, FTH_JSON_OBJECT)) {
            cut_context(document, gpu);
            cut_findings(document, gpu, MAX_FINDINGS);
        }
    for (cohort = fth_json_items(fth_json_get(root, "cohorts")); cohort; cohort = cohort->next) {
        /* The reason of the cohort is also that of its figures. */
        if (fth_json_string(fth_json_get(cohort, "reason")))
            fth_json_remove(cohort, "figures");
        limit_list(document, cohort, "figures", "figures_left_out", all, is_shown_figure, NULL);
    }
    limit_list(document, root, "gpus", "gpus_left_out", gpus, is_not_healthy, reduce_gpu);
    limit_list(document, root, "cohorts", "cohorts_left_out", cohorts, NULL, reduce_cohort);
    limit_list(document, root, "groups", "groups_left_out", groups, NULL, NULL);
    limit_list(document, root, "notes", "notes_left_out", notes, NULL, NULL);
    limit_list(document, root, "problems", "problems_left_out", problems, NULL, NULL);
    struct fth_json *map = fth_json_get(root, "heat_map");
    limit_list(document, map, "rows", "rows_left_out", rows, NULL, NULL);
}
