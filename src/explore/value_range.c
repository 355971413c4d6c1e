/* Expands ranges of values: "16K..256K" is 16K, 32K, 64K, 128K, 256K.
 *
 *     FIRST..LAST        each value is twice the one before
 *     FIRST..LAST:xN     each value is N times the one before
 *     FIRST..LAST:+N     each value is N more than the one before
 *
 * The numbers are whole and may have the suffixes K, M and G (powers of 1024). The last value is
 * the greatest one that does not exceed LAST. */
#include "explore/explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "explore";

/* Maximum number of values of an axis with ranges. Chosen: values are compared in pairs. */
enum { MAX_VALUES = 4096 };

struct range {
    uint64_t first, last, step;
    bool multiply;
    bool suffixes; /* values are written with suffixes where possible */
};

/* Parses a whole number with an optional suffix that ends at `end`. */
static bool parse_number(const char *text, const char *end, uint64_t *number, bool *suffix)
{
    char part[64];
    if (end <= text || (size_t)(end - text) >= sizeof part || *text < '0' || *text > '9')
        return false;
    snprintf(part, sizeof part, "%.*s", (int)(end - text), text);
    *suffix = *suffix || part[strspn(part, "0123456789")];
    return fth_size_parse(part, number, NULL) == FTH_OK;
}

static enum fth_status parse_range(const char *text, struct range *range, struct fth_error *error)
{
    const char *dots = strstr(text, ".."), *colon = strchr(dots, ':');
    const char *end = text + strlen(text);
    bool ignored = false;
    *range = (struct range){.step = 2, .multiply = true};
    bool valid = parse_number(text, dots, &range->first, &range->suffixes) &&
                 parse_number(dots + 2, colon ? colon : end, &range->last, &range->suffixes);
    if (valid && colon) {
        range->multiply = colon[1] == 'x';
        valid = (colon[1] == 'x' || colon[1] == '+') &&
                parse_number(colon + 2, end, &range->step, &ignored);
    }
    if (!valid)
        return fth_fail(error, FTH_INVALID, operation, text,
                        "expected a range of whole numbers, such as 16K..256K, 16K..256K:x4 or "
                        "1..9:+2");
    if (range->first > range->last)
        return fth_fail(error, FTH_INVALID, operation, text, "the range ends before it begins");
    if (range->multiply ? range->step < 2 || range->first == 0 : range->step == 0)
        return fth_fail(error, FTH_INVALID, operation, text,
                        "the values of the range would not increase");
    return FTH_OK;
}

static void format_value(const struct range *range, uint64_t value, char *text, size_t size)
{
    static const char suffixes[] = {'G', 'M', 'K'};
    for (unsigned i = 0; range->suffixes && value && i < FTH_COUNT(suffixes); i++) {
        const unsigned shift = 30 - 10 * i;
        if ((value & ((UINT64_C(1) << shift) - 1)) == 0) {
            snprintf(text, size, "%llu%c", (unsigned long long)(value >> shift), suffixes[i]);
            return;
        }
    }
    snprintf(text, size, "%llu", (unsigned long long)value);
}

/* Values that are being collected. */
struct list {
    struct fth_arena *arena;
    const char **items;
    size_t count, capacity;
};

static enum fth_status add(struct list *list, const char *text, struct fth_error *error)
{
    const char *copy = fth_arena_text(list->arena, text);
    if (!copy ||
        !fth_grow((void **)&list->items, list->count, &list->capacity, sizeof *list->items))
        return fth_no_memory(error, operation, NULL);
    list->items[list->count++] = copy;
    return FTH_OK;
}

static enum fth_status add_range(struct list *list, const char *text, struct fth_error *error)
{
    struct range range;
    FTH_TRY(parse_range(text, &range, error));
    for (uint64_t value = range.first;;) {
        char shown[32];
        if (list->count == MAX_VALUES)
            return fth_fail(error, FTH_INVALID, operation, text,
                            "more than %d values; use larger steps", MAX_VALUES);
        format_value(&range, value, shown, sizeof shown);
        FTH_TRY(add(list, shown, error));
        if (range.multiply ? value > range.last / range.step : range.step > range.last - value)
            return FTH_OK;
        value = range.multiply ? value * range.step : value + range.step;
    }
}

enum fth_status fth_values_expand(struct fth_arena *arena, const char *const *values, size_t count,
                                  const char ***expanded, size_t *expanded_count,
                                  struct fth_error *error)
{
    struct list list = {.arena = arena};
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        status = strstr(values[i], "..") ? add_range(&list, values[i], error)
                                         : add(&list, values[i], error);
    *expanded = list.items;
    *expanded_count = list.count;
    return status;
}
