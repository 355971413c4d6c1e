/* Buffers whose initial contents are in the memory of the caller (fth_launch_options.contents).
 * Arguments that point to the same memory get the same buffer: the one with the largest memory is
 * allocated, and those whose memory lies within it are parts of it. */
#include "trace/launch/launch.h"

static const char operation[] = "read argument";

/* The memory of a buffer: from its first byte to the one after its last byte. */
struct range {
    uintptr_t begin, end;
};

static struct range range_of(const struct fth_launch_buffer *buffer)
{
    const uintptr_t begin = (uintptr_t)buffer->memory;
    return (struct range){begin, begin + buffer->count * buffer->element->bytes};
}

/* Returns whether the buffer `whole` has the memory of `part`. Of two with the same memory, the
 * first one has it. */
static bool contains(const struct fth_launch *launch, size_t whole, size_t part)
{
    const struct range outer = range_of(&launch->buffers[whole]);
    const struct range inner = range_of(&launch->buffers[part]);
    if (whole == part || outer.begin > inner.begin || outer.end < inner.end)
        return false;
    return outer.end - outer.begin > inner.end - inner.begin || whole < part;
}

static bool overlaps(const struct fth_launch_buffer *a, const struct fth_launch_buffer *b)
{
    const struct range first = range_of(a), second = range_of(b);
    return first.begin < second.end && second.begin < first.end;
}

/* Finds the largest buffer that has the memory of buffer `index`, which is not a part itself. */
static void find_whole(struct fth_launch *launch, size_t index)
{
    struct fth_launch_buffer *part = &launch->buffers[index];
    for (size_t i = 0; i < launch->buffer_count; i++) {
        if (launch->buffers[i].fill != FTH_FILL_MEMORY || !contains(launch, i, index) ||
            (part->is_part && !contains(launch, i, part->whole)))
            continue;
        part->is_part = true;
        part->whole = i;
        part->part_offset = range_of(part).begin - range_of(&launch->buffers[i]).begin;
    }
}

/* Refuses two buffers of which neither is a part, but whose memory overlaps. */
static enum fth_status check_overlaps(const struct fth_launch *launch, struct fth_error *error)
{
    for (size_t i = 0; i < launch->buffer_count; i++) {
        const struct fth_launch_buffer *a = &launch->buffers[i];
        for (size_t j = 0; j < i && a->fill == FTH_FILL_MEMORY && !a->is_part; j++) {
            const struct fth_launch_buffer *b = &launch->buffers[j];
            if (b->fill == FTH_FILL_MEMORY && !b->is_part && overlaps(a, b))
                return fth_fail(error, FTH_INVALID, operation, NULL,
                                "arguments %zu and %zu share only a part of their memory; one must "
                                "contain the other",
                                b->number, a->number);
        }
    }
    return FTH_OK;
}

enum fth_status fth_launch_use_memory(struct fth_launch *launch,
                                      const struct fth_launch_options *options,
                                      struct fth_error *error)
{
    for (size_t i = 0; options->contents && i < options->argument_count; i++) {
        const struct fth_launch_argument *argument = &launch->arguments[i];
        if (!options->contents[i])
            continue;
        if (argument->kind != FTH_ARGUMENT_ADDRESS)
            return fth_fail(error, FTH_INVALID, operation, options->arguments[i],
                            "it has contents in memory, but is not a buffer such as ptr:f32[64]");
        launch->buffers[argument->buffer].fill = FTH_FILL_MEMORY;
        launch->buffers[argument->buffer].memory = options->contents[i];
    }
    for (size_t i = 0; i < launch->buffer_count; i++)
        if (launch->buffers[i].fill == FTH_FILL_MEMORY)
            find_whole(launch, i);
    return check_overlaps(launch, error);
}
