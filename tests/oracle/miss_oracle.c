/* See miss_oracle.h. */
#include "miss_oracle.h"

#include <stdlib.h>

void miss_history_fini(struct miss_history *history)
{
    free(history->events);
    history->events = NULL;
    history->count = 0;
}

static void add_event(struct miss_history *history, struct miss_event event)
{
    struct miss_event *grown =
        realloc(history->events, (history->count + 1) * sizeof *history->events);
    if (!grown)
        abort();
    history->events = grown;
    event.previous = SIZE_MAX;
    for (size_t i = history->count; i-- > 0 && event.previous == SIZE_MAX;)
        if (grown[i].kind == MISS_USED && grown[i].line == event.line)
            event.previous = i;
    history->events[history->count++] = event;
}

void miss_history_add(struct miss_history *history, enum miss_event_kind kind, uint64_t line,
                      uint64_t sectors)
{
    add_event(history, (struct miss_event){.kind = kind, .line = line, .sectors = sectors});
}

/* Counts the different lines that were used after the event `from` and before the event `to`. */
static uint64_t count_lines(const struct miss_history *history, size_t from, size_t to)
{
    uint64_t count = 0;
    for (size_t i = from + 1; i < to; i++) {
        const struct miss_event *event = &history->events[i];
        count +=
            event->kind == MISS_USED && (event->previous == SIZE_MAX || event->previous < from);
    }
    return count;
}

/* Whether a fully associative LRU cache holds the sector: it got the sector at some time, and the
 * stack distance of the line was below the capacity at all uses of the line since then. */
static bool is_held(const struct miss_history *history, uint64_t line, uint64_t sector)
{
    bool got = false;
    size_t next = history->count;
    for (size_t i = history->count; i-- > 0;) {
        const struct miss_event *event = &history->events[i];
        if (event->line != line)
            continue;
        if (event->kind == MISS_COMPLETED && event->sectors & sector)
            got = true;
        if (event->kind != MISS_USED)
            continue;
        if (count_lines(history, i, next) >= history->lines)
            return false;
        if (got || event->sectors & sector)
            return true;
        next = i;
    }
    return false;
}

static enum miss_cause find_cause(const struct miss_history *history, uint64_t line,
                                  uint64_t sector, bool present)
{
    for (size_t i = history->count; i-- > 0;) {
        const struct miss_event *event = &history->events[i];
        if (event->line != line || !(event->sectors & sector) || event->kind == MISS_MISSED)
            continue;
        if (event->kind == MISS_REMOVED)
            return MISS_COHERENCE;
        return is_held(history, line, sector) ? MISS_CONFLICT : MISS_CAPACITY;
    }
    return present ? MISS_SECTOR : MISS_COLD;
}

void miss_history_miss(struct miss_history *history, uint64_t line, uint64_t missed,
                       uint64_t fetched, bool present, uint64_t *counts)
{
    for (unsigned i = 0; i < 64; i++) {
        const uint64_t sector = UINT64_C(1) << i;
        if (!((missed | fetched) & sector))
            continue;
        const enum miss_cause cause = find_cause(history, line, sector, present);
        if (counts && missed & sector)
            counts[cause]++;
        add_event(history,
                  (struct miss_event){
                      .kind = MISS_MISSED, .cause = cause, .line = line, .sectors = sector});
    }
}

void miss_history_again(const struct miss_history *history, uint64_t line, uint64_t sectors,
                        uint64_t *counts)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        enum miss_cause cause = MISS_COLD;
        if (!(sectors >> bit & 1))
            continue;
        for (size_t i = 0; i < history->count; i++)
            if (history->events[i].kind == MISS_MISSED && history->events[i].line == line &&
                history->events[i].sectors >> bit & 1)
                cause = history->events[i].cause;
        counts[cause]++;
    }
}

void miss_counts(const struct fth_model_misses *misses, uint64_t counts[MISS_CAUSES])
{
    counts[MISS_COLD] = misses->cold;
    counts[MISS_CAPACITY] = misses->capacity;
    counts[MISS_CONFLICT] = misses->conflict;
    counts[MISS_COHERENCE] = misses->coherence;
    counts[MISS_SECTOR] = misses->sector;
}
