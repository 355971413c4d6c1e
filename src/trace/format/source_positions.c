/* The positions of instructions in the source code: copies, comparisons, and their form in a trace
 * file. They are parts of their own (FTH_PART_SOURCES), and so are the names of the inlined
 * functions that contain them (FTH_PART_FUNCTIONS). Both were added to the format later: older
 * versions of fathom skip them, and older files do not have them. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

static bool is_text(const char *a, const char *b)
{
    return a == b || strcmp(a ? a : "", b ? b : "") == 0;
}

bool fth_source_equal(const struct fth_source_position *a, const struct fth_source_position *b)
{
    uint32_t level = 0;
    for (; level < FTH_MAX_SOURCE_LEVELS && a && b; level++) {
        if (a == b)
            return true;
        if (a->line != b->line || !is_text(a->file, b->file) || !is_text(a->function, b->function))
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
        if (source->function && !(list[i].function = fth_arena_text(arena, source->function)))
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

/* ---- functions ---- */

/* Returns the number of a name in the list, from 1 on; 0: it is NULL, or not in the list. */
static size_t number_of(const struct fth_function_names *names, const char *name)
{
    for (size_t i = 0; name && i < names->count; i++)
        if (is_text(names->items[i], name))
            return i + 1;
    return 0;
}

bool fth_function_names_add(struct fth_function_names *names,
                            const struct fth_source_position *source)
{
    uint32_t levels = count_levels(source);
    for (; levels > 0; levels--, source = source->inlined_at) {
        if (!source->function || number_of(names, source->function))
            continue;
        if (!fth_grow((void **)&names->items, names->count, &names->capacity, sizeof *names->items))
            return false;
        names->items[names->count++] = source->function;
    }
    return true;
}

void fth_put_function_names(const struct fth_function_names *names, struct fth_buffer *out)
{
    fth_put_varint(names->count, out);
    for (size_t i = 0; i < names->count; i++)
        fth_put_text(names->items[i], out);
}

void fth_put_functions(const struct fth_function_names *names,
                       const struct fth_source_position *source, struct fth_buffer *out)
{
    uint32_t levels = count_levels(source);
    for (; levels > 0; levels--, source = source->inlined_at)
        fth_put_varint(number_of(names, source->function), out);
}

/* Reads the names of a part, and returns their number. */
static size_t get_names(struct fth_bytes *bytes, struct fth_arena *arena, const char ***names)
{
    const uint64_t count = fth_get_varint(bytes);
    /* A text takes at least one byte. */
    bytes->failed = bytes->failed || count > (uint64_t)(bytes->end - bytes->at);
    if (bytes->failed)
        return 0;
    *names = fth_arena_array(arena, (size_t)count + 1, sizeof **names);
    bytes->no_memory = bytes->failed = !*names;
    for (size_t i = 0; i < count && !bytes->failed; i++)
        (*names)[i] = fth_get_text(bytes, arena);
    return bytes->failed ? 0 : (size_t)count;
}

/* Reads the functions of the positions of one instruction. */
static void get_functions(const struct fth_source_position *source, const char *const *names,
                          size_t count, struct fth_bytes *bytes)
{
    for (; source && !bytes->failed; source = source->inlined_at) {
        const uint64_t number = fth_get_varint(bytes);
        bytes->failed = bytes->failed || number > count;
        /* The list is constant for everyone but the reader, which allocated it. */
        /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
        struct fth_source_position *position = (struct fth_source_position *)(uintptr_t)source;
        if (!bytes->failed)
            position->function = number ? names[number - 1] : NULL;
    }
}

void fth_get_sources(uint32_t type, struct fth_trace_instruction *instructions, size_t count,
                     struct fth_bytes *bytes, struct fth_arena *arena)
{
    const char **names = NULL;
    size_t i = fth_get_varint32(bytes);
    const size_t name_count =
        type == FTH_PART_FUNCTIONS && !bytes->failed ? get_names(bytes, arena, &names) : 0;
    for (; bytes->at < bytes->end && !bytes->failed && i < count; i++)
        if (type == FTH_PART_FUNCTIONS)
            get_functions(instructions[i].source, names, name_count, bytes);
        else
            instructions[i].source = fth_get_source(bytes, arena);
}
