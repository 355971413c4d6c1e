/* See timed_lines.h. */
#include "timed_lines.h"

#include <stdlib.h>
#include <string.h>

void timed_lines_init(struct timed_lines *lines, const struct timed_gpu *gpu,
                      const struct timed_cache_config *config, uint64_t size_bytes,
                      enum fth_write write, uint64_t seed)
{
    const bool masked = strcmp(config->index, "description") == 0;
    const struct fth_cache_config cache = {.line_bytes = gpu->line_bytes,
                                           .sector_bytes = gpu->sector_bytes,
                                           .sets = size_bytes / gpu->line_bytes / config->ways,
                                           .ways = config->ways,
                                           .index = masked ? "xor" : config->index,
                                           .masks = masked ? &config->masks : NULL,
                                           .rows = masked ? 1u << config->masks.row_count : 0,
                                           .row_ways = masked ? config->row_ways : 0,
                                           .policy = config->policy,
                                           .write = write,
                                           .seed = seed};
    *lines = (struct timed_lines){.cache = oracle_create(&cache),
                                  .line_bytes = gpu->line_bytes,
                                  .sector_bytes = gpu->sector_bytes,
                                  .lru = strcmp(config->policy, "lru") == 0,
                                  .history.lines = size_bytes / gpu->line_bytes};
    if (!lines->cache)
        abort();
}

void timed_lines_fini(struct timed_lines *lines)
{
    oracle_destroy(lines->cache);
    free(lines->partials);
    free(lines->flights);
    free(lines->uses);
    miss_history_fini(&lines->history);
}

void timed_lines_clear(struct timed_lines *lines)
{
    oracle_clear(lines->cache);
    lines->partial_count = lines->use_count = 0;
    miss_history_fini(&lines->history);
}

void *timed_grow(void *items, size_t count, size_t size)
{
    void *grown = realloc(items, (count + 1) * size);
    if (!grown)
        abort();
    return grown;
}

/* ---- sectors ---- */

bool timed_lines_hold(const struct timed_lines *lines, uint64_t line)
{
    return oracle_probe(lines->cache, line, 1) != FTH_CACHE_LINE_MISS;
}

uint64_t timed_lines_missing(const struct timed_lines *lines, uint64_t line, uint64_t sectors,
                             const unsigned char *bytes)
{
    uint64_t missing = 0;
    if (!timed_lines_hold(lines, line))
        return sectors;
    for (uint64_t i = 0; i < lines->line_bytes; i++) {
        const uint64_t bit = UINT64_C(1) << (i / lines->sector_bytes);
        if (sectors & ~missing & bit && (!bytes || bytes[i]) &&
            oracle_probe(lines->cache, line + i, 1) != FTH_CACHE_HIT)
            missing |= bit;
    }
    return missing;
}

uint64_t timed_lines_touched(const struct timed_lines *lines, uint64_t line, uint64_t sectors)
{
    uint64_t touched = 0;
    for (uint64_t i = 0; timed_lines_hold(lines, line) && i < lines->line_bytes; i++)
        if (oracle_probe(lines->cache, line + i, 1) == FTH_CACHE_HIT)
            touched |= UINT64_C(1) << (i / lines->sector_bytes);
    return touched & sectors;
}

void timed_lines_note_use(struct timed_lines *lines, uint64_t line, uint64_t sectors)
{
    miss_history_add(&lines->history, MISS_USED, line,
                     sectors & ~timed_lines_missing(lines, line, sectors, NULL));
}

struct timed_flight *timed_lines_flight(struct timed_lines *lines, uint64_t line)
{
    for (size_t i = 0; i < lines->flight_count; i++)
        if (lines->flights[i].line == line)
            return &lines->flights[i];
    lines->flights = timed_grow(lines->flights, lines->flight_count, sizeof *lines->flights);
    lines->flights[lines->flight_count] = (struct timed_flight){.line = line};
    return &lines->flights[lines->flight_count++];
}

uint64_t timed_lines_flying(struct timed_lines *lines, uint64_t line, uint64_t sectors,
                            uint64_t now)
{
    const struct timed_flight *flight = timed_lines_flight(lines, line);
    return flight->ready > now ? flight->sectors & sectors : 0;
}

/* ---- uses ---- */

/* Removes a line from a list. Returns its sectors; 0: it is not there. */
static uint64_t remove_line(struct timed_partial *list, size_t *count, uint64_t line)
{
    for (size_t i = 0; i < *count; i++)
        if (list[i].line == line) {
            const uint64_t sectors = list[i].sectors;
            --*count;
            memmove(list + i, list + i + 1, (*count - i) * sizeof *list);
            return sectors;
        }
    return 0;
}

uint64_t timed_lines_forget_partial(struct timed_lines *lines, uint64_t line)
{
    return remove_line(lines->partials, &lines->partial_count, line);
}

void timed_lines_drop(struct timed_lines *lines, uint64_t line)
{
    uint64_t dirty;
    const uint64_t all = ~UINT64_C(0) >> (64 - lines->line_bytes / lines->sector_bytes);
    miss_history_add(&lines->history, MISS_REMOVED, line,
                     all & ~timed_lines_missing(lines, line, all, NULL));
    oracle_invalidate(lines->cache, line, &dirty);
    remove_line(lines->uses, &lines->use_count, line);
}

struct fth_cache_result timed_lines_access(struct timed_lines *lines, uint64_t address,
                                           uint64_t bytes, enum fth_cache_kind kind)
{
    const uint64_t line = address / lines->line_bytes * lines->line_bytes;
    struct fth_cache_result result = oracle_access(lines->cache, address, bytes, kind);
    uint32_t newer = 0;
    result.distance = UINT32_MAX;
    if (result.evicted)
        remove_line(lines->uses, &lines->use_count, result.evicted_line);
    for (size_t i = 0; i < lines->use_count && lines->lru; i++) {
        if (lines->uses[i].line == line)
            result.distance = newer;
        newer += lines->uses[i].set == result.set;
    }
    remove_line(lines->uses, &lines->use_count, line);
    lines->uses = timed_grow(lines->uses, lines->use_count, sizeof *lines->uses);
    memmove(lines->uses + 1, lines->uses, lines->use_count++ * sizeof *lines->uses);
    lines->uses[0] = (struct timed_partial){.line = line, .set = result.set};
    return result;
}
