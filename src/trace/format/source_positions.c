/* The positions of instructions in the source code: copies, comparisons, and their form in a trace
 * file. They are parts of their own (FTH_PART_SOURCES), which were added to the format later: older
 * versions of fathom skip them, and older files do not have them. */
#include "trace/trace.h"

#include <string.h>

bool fth_source_equal(const struct fth_source_position *a, const struct fth_source_position *b)
{
    uint32_t level = 0;
    for (; level < FTH_MAX_SOURCE_LEVELS && a && b; level++) {
        if (a == b)
            return true;
        if (a->line != b->line || strcmp(a->file ? a->file : "", b->file ? b->file : "") != 0)
            return false;
        a = a->inlined_at;
        b = b->inlined_at;
    }
    return level == FTH_MAX_SOURCE_LEVELS || a == b;
}

/* Returns the number of positions of a list that a trace keeps. */
static uint32_t count_levels(const struct fth_source_position *source)
{
    uint32_t levels = 0;
    for (; source && levels < FTH_MAX_SOURCE_LEVELS; source = source->inlined_at)
        levels++;
    return levels;
}

bool fth_source_copy(const struct fth_source_position *source, struct fth_arena *arena,
                     const struct fth_source_position **copy)
{
    const uint32_t levels = count_levels(source);
    *copy = NULL;
    if (levels == 0)
        return true;
    struct fth_source_position *list = fth_arena_array(arena, levels, sizeof *list);
    if (!list)
        return false;
    for (uint32_t i = 0; i < levels; i++, source = source->inlined_at) {
        list[i] = (struct fth_source_position){.line = source->line,
                                               .inlined_at = i + 1 < levels ? &list[i + 1] : NULL};
        if (source->file && !(list[i].file = fth_arena_text(arena, source->file)))
            return false;
    }
    *copy = list;
    return true;
}

void fth_put_source(const struct fth_source_position *source, struct fth_buffer *out)
{
    uint32_t levels = count_levels(source);
    for (fth_put_varint(levels, out); levels > 0; levels--, source = source->inlined_at) {
        fth_put_text(source->file ? source->file : "", out);
        fth_put_varint(source->line, out);
    }
}

const struct fth_source_position *fth_get_source(struct fth_bytes *bytes, struct fth_arena *arena)
{
    const uint32_t levels = fth_get_varint32(bytes);
    if (bytes->failed || levels == 0)
        return NULL;
    struct fth_source_position *list =
        levels <= FTH_MAX_SOURCE_LEVELS ? fth_arena_array(arena, levels, sizeof *list) : NULL;
    bytes->no_memory = levels <= FTH_MAX_SOURCE_LEVELS && !list;
    bytes->failed = !list;
    for (uint32_t i = 0; i < levels && !bytes->failed; i++) {
        const char *file = fth_get_text(bytes, arena);
        list[i] = (struct fth_source_position){.file = file && *file ? file : NULL,
                                               .line = fth_get_varint32(bytes),
                                               .inlined_at = i + 1 < levels ? &list[i + 1] : NULL};
    }
    return list;
}
