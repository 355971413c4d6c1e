/* Writes what the drawing and the table of a GPU description leave out, one paragraph per element:
 * its structure, the sources of its figures, and what is not known about it. */
#include "report/description/gpu_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void bold(const struct fth_gpu_view *view, const char *text)
{
    fth_buffer_format(view->out, view->options->colour ? "\033[1m%s\033[0m" : "%s", text);
}

/* Returns whether the paragraph of an element, `words`, equals that of an earlier element that
 * shares its storage. Such paragraphs are shown only once. `write_words` writes a paragraph. */
static bool is_repeated(const struct fth_gpu_view *view, size_t index,
                        const struct fth_buffer *words,
                        void (*write_words)(const struct fth_gpu_view *, size_t,
                                            struct fth_buffer *))
{
    const struct fth_attribute *shared =
        fth_gpu_attribute(view->gpu, view->elements[index], "shared_with");
    bool repeated = false;
    for (size_t i = 0; i < index && !repeated; i++)
        for (size_t j = 0; shared && j < shared->count && !repeated; j++) {
            if (strcmp(shared->texts[j], view->elements[i]) != 0)
                continue;
            struct fth_buffer earlier = {0};
            write_words(view, i, &earlier);
            repeated = earlier.size == words->size && words->size &&
                       memcmp(earlier.data, words->data, words->size) == 0;
            view->out->failed = view->out->failed || earlier.failed;
            fth_buffer_fini(&earlier);
        }
    return repeated;
}

/* A paragraph with a title in the first column and wrapped text next to it. */
struct paragraph {
    const struct fth_gpu_view *view;
    size_t column; /* of the end of the text so far */
};

enum { INDENT = 17 }; /* column of the text: the width of the table's first column and a space */

static void begin(struct paragraph *paragraph, const struct fth_gpu_view *view, const char *title)
{
    size_t used = fth_text_append(view->out, title, INDENT - 1, fth_view_symbol(view, "…", "~"));
    fth_buffer_repeat(view->out, " ", INDENT - used);
    *paragraph = (struct paragraph){view, INDENT};
}

/* Appends words to a paragraph and wraps its lines at view->width. Words that are wider than a line
 * or longer than 127 bytes are cut. */
static void add_words(struct paragraph *paragraph, const char *text)
{
    const struct fth_gpu_view *view = paragraph->view;
    while (*text) {
        char word[128];
        size_t bytes = strcspn(text, " ");
        size_t kept = bytes < sizeof word - 1 ? bytes : sizeof word - 1;
        memcpy(word, text, kept);
        word[kept] = '\0';
        size_t width = fth_text_columns(word);
        if (paragraph->column > INDENT && paragraph->column + 1 + width > view->width) {
            fth_buffer_text(view->out, "\n");
            fth_buffer_repeat(view->out, " ", INDENT);
            paragraph->column = INDENT;
        }
        if (paragraph->column > INDENT) {
            fth_buffer_text(view->out, " ");
            paragraph->column++;
        }
        paragraph->column +=
            fth_text_append(view->out, word, view->width - INDENT, fth_view_symbol(view, "…", "~"));
        text += bytes;
        text += strspn(text, " ");
    }
}

/* Appends the masks of an attribute, whose parities select `what`. */
static void mask_words(const struct fth_gpu_view *view, const char *element, const char *attribute,
                       const char *what, struct fth_buffer *words)
{
    const struct fth_attribute *masks = fth_gpu_attribute(view->gpu, element, attribute);
    for (size_t i = 0; masks && i < masks->count; i++)
        fth_buffer_format(words, "%s%s0x%llx", i ? " " : what, i ? "" : ": parities under ",
                          (unsigned long long)masks->numbers[i]);
    if (masks)
        fth_buffer_text(words, "; ");
}

/* Appends sets, ways, index function and policy, as far as they are known. */
static void structure_words(const struct fth_gpu_view *view, const char *element,
                            struct fth_buffer *words)
{
    double sets = fth_view_number(view, element, "sets"),
           ways = fth_view_number(view, element, "ways");
    const struct fth_attribute *set_ways = fth_gpu_attribute(view->gpu, element, "set_ways");
    if (set_ways) {
        fth_buffer_text(words, set_ways->count > 1 ? "sets of " : "one set of ");
        for (size_t i = 0; i < set_ways->count; i++)
            fth_buffer_format(words, "%s%.0f", i ? ", " : "", set_ways->numbers[i]);
        fth_buffer_text(words, " entries; ");
    } else if (!isnan(sets) && !isnan(ways)) {
        fth_buffer_format(words, "%.0f sets %s %.0f ways; ", sets, fth_view_symbol(view, "×", "x"),
                          ways);
    } else if (!isnan(sets) || !isnan(ways)) {
        fth_buffer_format(words, "%.0f %s; ", isnan(sets) ? ways : sets,
                          isnan(sets) ? "ways" : "sets");
    }
    const char *index = fth_gpu_text(view->gpu, element, "index");
    const char *policy = fth_gpu_text(view->gpu, element, "policy");
    if (index)
        fth_buffer_format(words, "index %s; ", index);
    mask_words(view, element, "set_masks", "set", words);
    if (policy)
        fth_buffer_format(words, "policy %s; ", policy);
    const double rows = fth_view_number(view, element, "rows"),
                 row_ways = fth_view_number(view, element, "row_ways");
    if (!isnan(rows) && !isnan(row_ways))
        fth_buffer_format(words, "%.0f rows of %.0f tags per set; ", rows, row_ways);
    mask_words(view, element, "row_masks", "row", words);
}

/* Appends sizes. docs/gpu-description.md defines the attributes. In spite of its name,
 * default_size_bytes is the smallest size of the cache: that at the largest carve-out, which leaves
 * the least storage to the L1. The factor 1.25 is that of find_resident() in
 * probe/cache/capacity.c. */
static void size_words(const struct fth_gpu_view *view, const char *element,
                       struct fth_buffer *words)
{
    static const struct {
        const char *attribute, *words;
    } sizes[] = {
        {"default_size_bytes", "%s at the largest carve-out for shared memory; "},
        {"unified_bytes", "%s for L1 and shared memory together; "},
        {"onset_bytes", "misses start at a footprint of about %s; "},
        {"resident_bytes", "%s remain resident after a walk over 1.25 times the size; "},
        {"full_miss_bytes", "no hits from a footprint of %s on; "},
        {"fill_bytes", "a miss fetches %s; "},
        {"max_block_bytes", "at most %s per block; "},
    };
    char text[40];
    for (size_t i = 0; i < FTH_COUNT(sizes); i++) {
        double bytes = fth_view_number(view, element, sizes[i].attribute);
        if (isnan(bytes))
            continue;
        const char *value_at = strstr(sizes[i].words, "%s");
        fth_buffer_append(words, sizes[i].words, (size_t)(value_at - sizes[i].words));
        fth_buffer_text(words, fth_size_format(bytes, text, sizeof text));
        fth_buffer_text(words, value_at + 2);
    }
}

static void rate_words(const struct fth_gpu_view *view, const char *element,
                       struct fth_buffer *words)
{
    static const char *const rates[] = {"read", "write", "copy", "peak"};
    for (size_t i = 0; i < FTH_COUNT(rates); i++) {
        char name[40];
        snprintf(name, sizeof name, "%s_bytes_per_s", rates[i]);
        double rate = fth_view_number(view, element, name);
        if (rate >= 1e12)
            fth_buffer_format(words, "%s %.2f TB/s; ", rates[i], rate / 1e12);
        else if (rate > 0)
            fth_buffer_format(words, "%s %.1f GB/s; ", rates[i], rate / 1e9);
    }
}

/* Appends the lowest and the highest latency of all SMs. */
static void by_sm_words(const struct fth_gpu_view *view, const char *element,
                        struct fth_buffer *words)
{
    const struct fth_attribute *list =
        fth_gpu_attribute(view->gpu, element, "latency_by_sm_cycles");
    if (!list || list->count < 2)
        return;
    double low = list->numbers[0], high = low;
    char low_text[40], high_text[40];
    for (size_t i = 1; i < list->count; i++) {
        low = fmin(low, list->numbers[i]);
        high = fmax(high, list->numbers[i]);
    }
    if (high > low)
        fth_buffer_format(words, "%s to %s cycles depending on the %s; ",
                          fth_view_time(low, low_text, sizeof low_text),
                          fth_view_time(high, high_text, sizeof high_text), view->unit.name);
}

/* Appends how many instances there are, and how many SMs share one. */
static void instance_words(const struct fth_gpu_view *view, const char *element,
                           struct fth_buffer *words)
{
    const double instances = fth_view_number(view, element, "instances");
    const double each = fth_view_number(view, element, "sms_per_instance");
    if (!isnan(instances))
        fth_buffer_format(words, "%.0f instance%s%s", instances, instances == 1 ? "" : "s",
                          each > 1 ? ", " : "; ");
    if (each > 1)
        fth_buffer_format(words, "each shared by %.0f %s; ", each, view->unit.plural);
}

static void other_words(const struct fth_gpu_view *view, const char *element,
                        struct fth_buffer *words)
{
    char text[40];
    const struct fth_attribute *caches = fth_gpu_attribute(view->gpu, element, "caches");
    if (caches && caches->count == 0)
        fth_buffer_text(words, "does not cache global or local loads; ");
    else if (caches && caches->count == 1)
        fth_buffer_format(words, "caches %s loads only; ", caches->texts[0]);
    double partitions = fth_view_number(view, element, "partitions");
    double slices = fth_view_number(view, element, "slices");
    double banks = fth_view_number(view, element, "banks"),
           width = fth_view_number(view, element, "bank_bytes");
    double conflict = fth_view_number(view, element, "conflict_cycles");
    instance_words(view, element, words);
    if (!isnan(partitions))
        fth_buffer_format(words, "%.0f partition%s; ", partitions, partitions == 1 ? "" : "s");
    if (!isnan(slices))
        fth_buffer_format(words, "%.0f slice%s; ", slices, slices == 1 ? "" : "s");
    by_sm_words(view, element, words);
    double cold = fth_view_number(view, element, "cold_latency_cycles");
    if (!isnan(cold))
        fth_buffer_format(words, "%s cycles with cold TLBs; ",
                          fth_view_time(cold, text, sizeof text));
    if (!isnan(banks) && !isnan(width))
        fth_buffer_format(words, "%.0f banks of %.0f B; ", banks, width);
    else if (!isnan(banks))
        fth_buffer_format(words, "%.0f banks; ", banks);
    if (!isnan(conflict))
        fth_buffer_format(words, "+%s cycles per additional way of a bank conflict; ",
                          fth_view_time(conflict, text, sizeof text));
}

static void write_structure(const struct fth_gpu_view *view, size_t index, struct fth_buffer *words)
{
    const char *element = view->elements[index];
    structure_words(view, element, words);
    size_words(view, element, words);
    other_words(view, element, words);
    rate_words(view, element, words);
    if (words->size > 2)
        words->data[words->size -= 2] = '\0'; /* the last "; " */
}

/* Lists the figures of each source, if the figures of the element have different sources. */
static void write_sources(const struct fth_gpu_view *view, size_t index, struct fth_buffer *words)
{
    static const enum fth_source sources[] = {FTH_SOURCE_MEASURED, FTH_SOURCE_SIMULATED,
                                              FTH_SOURCE_DRIVER, FTH_SOURCE_DERIVED,
                                              FTH_SOURCE_PUBLISHED};
    const char *element = view->elements[index];
    const struct fth_attribute *a;
    bool mixed;
    fth_view_source(view, element, false, &mixed);
    for (size_t s = 0; mixed && s < FTH_COUNT(sources); s++) {
        size_t count = 0;
        for (size_t i = 0; (a = fth_gpu_attribute_at(view->gpu, element, i)); i++) {
            if (a->source != sources[s])
                continue;
            if (count == 0)
                fth_buffer_format(words, "%s%s: ", words->size ? "; " : "",
                                  fth_source_name(sources[s]));
            fth_buffer_format(words, "%s%s", count++ ? ", " : "", a->name);
        }
    }
}

/* Lists the unknown attributes with their reasons. Consecutive attributes with the same reason are
 * listed together. */
static void write_unknown(const struct fth_gpu_view *view, size_t index, struct fth_buffer *words)
{
    const struct fth_named_texts *unknown =
        &fth_gpu_find_section(view->gpu, view->elements[index])->unknown;
    for (size_t i = 0; i < unknown->count; i++) {
        bool last = i + 1 == unknown->count;
        const struct fth_named_text *item = &unknown->items[i];
        if (!last && strcmp(item->text, item[1].text) == 0)
            fth_buffer_format(words, "%s, ", item->name);
        else
            fth_buffer_format(words, "%s: %s%s", item->name, item->text, last ? "" : "; ");
    }
}

/* Writes a heading and one paragraph per element for which `write_words` appends any words. */
static void paragraphs(const struct fth_gpu_view *view, const char *heading,
                       void (*write_words)(const struct fth_gpu_view *, size_t,
                                           struct fth_buffer *))
{
    bool headed = false;
    for (size_t i = 0; i < view->count; i++) {
        struct fth_buffer words = {0};
        write_words(view, i, &words);
        if (words.size && !words.failed && !is_repeated(view, i, &words, write_words)) {
            if (!headed)
                bold(view, heading);
            headed = true;
            struct paragraph paragraph;
            begin(&paragraph, view, fth_view_title(view->elements[i], false));
            add_words(&paragraph, words.data);
            fth_buffer_text(view->out, "\n");
        }
        view->out->failed = view->out->failed || words.failed;
        fth_buffer_fini(&words);
    }
}

void fth_view_structure(const struct fth_gpu_view *view)
{
    paragraphs(view, "\nStructure\n", write_structure);
}

void fth_view_sources(const struct fth_gpu_view *view)
{
    paragraphs(view, "\nSources\n", write_sources);
}

void fth_view_unknown(const struct fth_gpu_view *view)
{
    paragraphs(view, "\nNot known\n", write_unknown);
}
