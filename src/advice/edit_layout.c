/* Stores the elements that some instructions access in another order: that in which warps first
 * access them, without gaps.
 *
 * The order is that of a trace: by the number of the access in its warp, then by block, warp and
 * lane. So the lanes of a request access adjacent elements, the warps of a block adjacent requests,
 * and each instruction of a thread, such as the load of one member of a struct, an array of its
 * own. A request whose new elements fill at least a sector begins at a multiple of their size,
 * rounded down to a power of two, of at most a line. Otherwise a warp with inactive lanes would
 * move the elements of all later warps across the borders of sectors.
 *
 * Elements are divided into granules of 4 bytes, or less if an instruction accesses fewer bytes.
 * The table has the new place of each granule. An access goes to where its first granule is. If
 * instructions access the same bytes with different sizes, the first one to access them decides
 * which bytes stay together.
 *
 * The table consists of pages of 64 granules in a hash table with linear probing. */
#include "advice/advice_parts.h"

#include <stdlib.h>
#include <string.h>

static const char operation[] = "edit trace";

enum {
    GRANULE_BYTES = 4, /* the largest granule */
    PAGE_GRANULES = 64,
    LINE_BYTES = 128,
    SECTOR_BYTES = 32,
    MAX_GRANULES = 32 * 64, /* of a warp access: 32 lanes of 64 bytes, in granules of 1 byte */
    /* Maximum memory of the table. Chosen: it covers about 450 MiB of dense data. */
    MAX_BYTES = 512 << 20
};
/* The new elements begin at a multiple of this number of bytes: a large page of a GPU. */
#define BASE_ALIGNMENT (UINT64_C(1) << 21)
/* Addresses of texels in CUDA arrays begin here (FTH_TRACE_TEXTURE). */
#define MAX_ADDRESS (UINT64_C(1) << 57)
/* The value of a granule whose place is being determined. */
#define PENDING UINT32_MAX

struct page {
    uint64_t number;                /* of the first address, in pages */
    uint32_t places[PAGE_GRANULES]; /* new place in granules, plus 1; 0: not moved */
};

struct fth_layout {
    struct page *pages;
    size_t count, capacity;
    uint32_t *slots;   /* hash table: index of a page plus 1; 0: empty */
    size_t slot_count; /* a power of two */
    unsigned granule_bits;
    uint64_t base; /* address of the first element in its new place */
    uint64_t next; /* first free place, in granules */
};

void fth_layout_destroy(struct fth_layout *layout)
{
    if (!layout)
        return;
    free(layout->pages);
    free(layout->slots);
    free(layout);
}

/* ---- the table ---- */

/* Returns the index of the slot of a page, or of the empty one where it belongs. */
static size_t slot_of(const struct fth_layout *layout, uint64_t number)
{
    uint64_t hash = number * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash ^ hash >> 32) & (layout->slot_count - 1);
    while (layout->slots[at] && layout->pages[layout->slots[at] - 1].number != number)
        at = (at + 1) & (layout->slot_count - 1);
    return at;
}

/* Returns the place of the granule at an address; NULL: its page is not in the table. */
static uint32_t *place_of(const struct fth_layout *layout, uint64_t address)
{
    const uint64_t granule = address >> layout->granule_bits;
    const uint32_t page = layout->slots[slot_of(layout, granule / PAGE_GRANULES)];
    return page ? &layout->pages[page - 1].places[granule % PAGE_GRANULES] : NULL;
}

static enum fth_status grow_slots(struct fth_layout *layout, struct fth_error *error)
{
    const size_t count = layout->slot_count ? 2 * layout->slot_count : 1024;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return fth_no_memory(error, operation, NULL);
    free(layout->slots);
    layout->slots = slots;
    layout->slot_count = count;
    for (size_t i = 0; i < layout->count; i++)
        slots[slot_of(layout, layout->pages[i].number)] = (uint32_t)i + 1;
    return FTH_OK;
}

/* Adds the page of an address, if it is missing. */
static enum fth_status add_page(struct fth_layout *layout, uint64_t address,
                                struct fth_error *error)
{
    const uint64_t number = (address >> layout->granule_bits) / PAGE_GRANULES;
    if (2 * (layout->count + 1) > layout->slot_count)
        FTH_TRY(grow_slots(layout, error));
    const size_t slot = slot_of(layout, number);
    if (layout->slots[slot])
        return FTH_OK;
    if ((layout->count + 1) * sizeof *layout->pages + layout->slot_count * sizeof *layout->slots >
        MAX_BYTES)
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "layout: the instructions access too many elements; the limit is %d MiB of "
                        "memory for their new addresses",
                        MAX_BYTES >> 20);
    if (!fth_grow((void **)&layout->pages, layout->count, &layout->capacity, sizeof *layout->pages))
        return fth_no_memory(error, operation, NULL);
    layout->pages[layout->count] = (struct page){.number = number};
    layout->slots[slot] = (uint32_t)++layout->count;
    return FTH_OK;
}

/* ---- new places ---- */

/* Marks the granules of an access that have no place yet, and returns pointers to their places. */
static enum fth_status collect(struct fth_layout *layout, const struct fth_trace_access *access,
                               uint32_t bytes, uint32_t **places, size_t *count,
                               struct fth_error *error)
{
    const uint64_t granule = UINT64_C(1) << layout->granule_bits;
    *count = 0;
    for (uint32_t i = 0; i < access->threads; i++)
        for (uint64_t at = 0; at < bytes; at += granule)
            FTH_TRY(add_page(layout, access->addresses[i] + at, error));
    for (uint32_t i = 0; i < access->threads; i++)
        for (uint64_t at = 0; at < bytes; at += granule) {
            uint32_t *place = place_of(layout, access->addresses[i] + at);
            if (*place)
                continue;
            *place = PENDING;
            places[(*count)++] = place;
        }
    return FTH_OK;
}

/* Rounds the next free place up, so that an access of `granules` new granules begins at a sector or
 * a line, and each element of `element` granules at a multiple of its size. */
static void align(struct fth_layout *layout, uint64_t granules, uint64_t element)
{
    const uint64_t line = LINE_BYTES >> layout->granule_bits;
    uint64_t alignment = element;
    if (granules << layout->granule_bits >= SECTOR_BYTES)
        while (alignment < line && 2 * alignment <= granules)
            alignment *= 2;
    layout->next = (layout->next + alignment - 1) / alignment * alignment;
}

static enum fth_status place_access(struct fth_layout *layout,
                                    const struct fth_trace_access *access, uint32_t bytes,
                                    struct fth_error *error)
{
    uint32_t *places[MAX_GRANULES];
    size_t count = 0;
    uint64_t element = 1;
    FTH_TRY(collect(layout, access, bytes, places, &count, error));
    while (2 * element << layout->granule_bits <= bytes)
        element *= 2;
    if (count)
        align(layout, count, element);
    if (layout->next + count >= PENDING - 1)
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "layout: the instructions access too many elements");
    for (size_t i = 0; i < count; i++)
        *places[i] = (uint32_t)++layout->next;
    return FTH_OK;
}

/* ---- passes over the trace ---- */

/* The end of the addresses that the trace accesses, and the table that is filled. */
struct pass {
    struct fth_layout *layout; /* NULL: only `end` is computed */
    const struct fth_edit *edit;
    uint64_t end;
};

static enum fth_status take(struct pass *pass, const struct fth_trace *trace,
                            const struct fth_trace_access *access, struct fth_error *error)
{
    const struct fth_trace_instruction *instruction =
        fth_trace_instruction_at(trace, access->instruction);
    if (pass->layout)
        return pass->edit->chosen[access->instruction]
                   ? place_access(pass->layout, access, instruction->bytes, error)
                   : FTH_OK;
    for (uint32_t i = 0; i < access->threads && !(instruction->hints & FTH_TRACE_LOCAL); i++) {
        const uint64_t end = access->addresses[i] + instruction->bytes;
        const bool is_array =
            instruction->hints & FTH_TRACE_TEXTURE && access->addresses[i] >= MAX_ADDRESS;
        pass->end = end > pass->end && !is_array ? end : pass->end;
    }
    return FTH_OK;
}

static enum fth_status read_all(struct pass *pass, const struct fth_trace *trace,
                                const char *kernel, const struct fth_log *log,
                                struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < fth_trace_launch_count(trace) && status == FTH_OK; i++) {
        struct fth_trace_cursor *cursor = NULL;
        const struct fth_trace_access *access = NULL;
        if (!fth_launch_is_of(fth_trace_launch_at(trace, i), kernel))
            continue;
        status = fth_trace_cursor_open(trace, i, 0, UINT64_MAX, &cursor, error);
        do {
            if (status == FTH_OK)
                status = fth_trace_next(cursor, &access, error);
            if (status == FTH_OK && access)
                status = take(pass, trace, access, error);
        } while (status == FTH_OK && access);
        fth_trace_cursor_close(cursor);
        if (status == FTH_OK && fth_log_interrupted(log))
            status = fth_fail(error, FTH_INTERRUPTED, operation, NULL, "interrupted");
    }
    return status;
}

/* Returns the binary logarithm of the size of granules: the smallest access of the trace, at most
 * GRANULE_BYTES. */
static unsigned granule_bits(const struct fth_trace *trace)
{
    uint32_t least = GRANULE_BYTES;
    for (size_t i = 0; i < fth_trace_instruction_count(trace); i++) {
        const struct fth_trace_instruction *instruction = fth_trace_instruction_at(trace, i);
        if (fth_edit_global(instruction) && instruction->bytes < least)
            least = instruction->bytes;
    }
    return least >= 4 ? 2 : least >= 2 ? 1 : 0;
}

enum fth_status fth_layout_create(const struct fth_trace *trace, const struct fth_edit *edit,
                                  const char *kernel, const struct fth_log *log,
                                  struct fth_layout **out, struct fth_error *error)
{
    struct fth_layout *layout = calloc(1, sizeof *layout);
    struct pass pass = {.edit = edit};
    *out = NULL;
    if (!layout)
        return fth_no_memory(error, operation, NULL);
    layout->granule_bits = granule_bits(trace);
    enum fth_status status = grow_slots(layout, error);
    if (status == FTH_OK)
        status = read_all(&pass, trace, kernel, log, error);
    layout->base = (pass.end / BASE_ALIGNMENT + 1) * BASE_ALIGNMENT;
    pass.layout = layout;
    if (status == FTH_OK)
        status = read_all(&pass, trace, kernel, log, error);
    if (status == FTH_OK && (pass.end >= MAX_ADDRESS ||
                             layout->base + (layout->next << layout->granule_bits) > MAX_ADDRESS))
        status = fth_fail(error, FTH_INVALID, operation, NULL,
                          "layout: the addresses of the trace leave no space for the elements; "
                          "they must be below 2^57");
    if (status == FTH_OK)
        *out = layout;
    else
        fth_layout_destroy(layout);
    return status;
}

void fth_layout_move(struct fth_layout *layout, uint64_t *addresses, size_t count)
{
    const uint64_t offset_mask = (UINT64_C(1) << layout->granule_bits) - 1;
    for (size_t i = 0; i < count; i++) {
        const uint32_t *place = place_of(layout, addresses[i]);
        if (place && *place)
            addresses[i] = layout->base + ((uint64_t)(*place - 1) << layout->granule_bits) +
                           (addresses[i] & offset_mask);
    }
}
