/* The table of the program's allocations that kernels can access. */
#include "capture.h"

static struct {
    struct allocation *items; /* sorted by address; they do not overlap */
    size_t count, capacity;
    uint64_t versions;      /* how often the table has changed */
    struct memory *dropped; /* of allocations that are gone; they are freed later */
} table;

/* Returns the index of the first allocation that begins above the address. */
static size_t upper_bound(uint64_t address)
{
    size_t low = 0, high = table.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (table.items[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Removes the allocations that overlap a range. */
static void remove_range(uint64_t address, uint64_t bytes)
{
    size_t first = upper_bound(address);
    if (first && address - table.items[first - 1].address < table.items[first - 1].bytes)
        first--;
    size_t end = first;
    while (end < table.count && table.items[end].address - address < bytes)
        end++;
    for (size_t i = first; i < end; i++)
        if (table.items[i].memory) {
            table.items[i].memory->next = table.dropped;
            table.dropped = table.items[i].memory;
        }
    table.versions++;
    memmove(table.items + first, table.items + end, (table.count - end) * sizeof *table.items);
    table.count -= end - first;
}

/* Adds an allocation. Without memory for it, the driver is asked later (see capture_find). */
static void add(uint64_t address, uint64_t bytes, enum fth_capsule_memory kind)
{
    if (bytes == 0 || address > UINT64_MAX - bytes)
        return;
    capture_lock_tables();
    void *items = table.items;
    remove_range(address, bytes);
    if (fth_grow(&items, table.count, &table.capacity, sizeof *table.items)) {
        table.items = items;
        const size_t at = upper_bound(address);
        memmove(table.items + at + 1, table.items + at, (table.count - at) * sizeof *table.items);
        table.items[at] = (struct allocation){address, bytes, kind, NULL};
        table.count++;
        table.versions++;
    }
    capture_unlock_tables();
}

/* Removes the allocation that begins at the address. */
static void drop(uint64_t address)
{
    capture_lock_tables();
    const size_t next = upper_bound(address);
    if (next && table.items[next - 1].address == address)
        remove_range(address, 1);
    capture_unlock_tables();
}

/* Asks the driver for the allocation that contains an address. */
static bool ask_driver(uint64_t address, struct allocation *allocation)
{
    /* Of CUpointer_attribute and of CUmemorytype. */
    enum { MEMORY_TYPE = 2, IS_MANAGED = 8, RANGE_START = 11, RANGE_BYTES = 12, HOST = 1 };
    uint64_t start = 0, bytes = 0;
    unsigned type = 0, managed = 0;
#define GET(value, attribute)                                                                      \
    CALL(cuPointerGetAttribute, (void *, int, uint64_t), value, attribute, address)
    if (GET(&start, RANGE_START) != SUCCESS || GET(&bytes, RANGE_BYTES) != SUCCESS ||
        GET(&type, MEMORY_TYPE) != SUCCESS || bytes == 0 || address - start >= bytes)
        return false;
    if (GET(&managed, IS_MANAGED) != SUCCESS)
        managed = 0;
#undef GET
    *allocation = (struct allocation){start, bytes,
                                      managed        ? FTH_CAPSULE_MANAGED
                                      : type == HOST ? FTH_CAPSULE_HOST
                                                     : FTH_CAPSULE_DEVICE,
                                      0};
    return true;
}

bool capture_find(uint64_t address, bool ask, struct allocation *allocation)
{
    capture_lock_tables();
    const size_t next = upper_bound(address);
    const struct allocation *last = next ? &table.items[next - 1] : NULL;
    const bool found = last && address - last->address < last->bytes;
    if (found)
        *allocation = *last;
    capture_unlock_tables();
    if (found || !ask || !ask_driver(address, allocation))
        return found;
    add(allocation->address, allocation->bytes, allocation->kind);
    return true;
}

struct memory *capture_attach(const struct allocation *allocation)
{
    struct memory *memory = calloc(1, sizeof *memory);
    capture_lock_tables();
    const size_t next = upper_bound(allocation->address);
    if (memory && next && table.items[next - 1].address == allocation->address &&
        table.items[next - 1].bytes == allocation->bytes) {
        table.items[next - 1].memory = memory;
    } else if (memory) { /* the program has just freed the allocation */
        memory->next = table.dropped;
        table.dropped = memory;
    }
    capture_unlock_tables();
    return memory;
}

void capture_free_dropped(void)
{
    capture_lock_tables();
    struct memory *dropped = table.dropped;
    table.dropped = NULL;
    capture_unlock_tables();
    capture_free_dropped_arrays();
    while (dropped) {
        struct memory *next = dropped->next;
        capture_memory_fini(dropped);
        free(dropped);
        dropped = next;
    }
}

uint64_t capture_allocations(void)
{
    capture_lock_tables();
    const uint64_t versions = table.versions;
    capture_unlock_tables();
    return versions;
}

void capture_note_allocation(void)
{
    capture_lock_tables();
    table.versions++;
    capture_unlock_tables();
}

void capture_bounds(uint64_t *first, uint64_t *end)
{
    capture_lock_tables();
    const struct allocation *last = table.items + table.count - 1;
    *first = table.count ? table.items[0].address : 0;
    *end = table.count ? last->address + last->bytes : 0;
    capture_unlock_tables();
}

/* ---- the functions of the driver ---- */

WRAP(cuMemAlloc_v2, uint64_t *address, size_t bytes)
{
    const int result = CALL(cuMemAlloc_v2, (uint64_t *, size_t), address, bytes);
    if (result == SUCCESS)
        add(*address, bytes, FTH_CAPSULE_DEVICE);
    return result;
}

WRAP(cuMemAllocPitch_v2, uint64_t *address, size_t *pitch, size_t width, size_t height,
     unsigned element)
{
    const int result = CALL(cuMemAllocPitch_v2, (uint64_t *, size_t *, size_t, size_t, unsigned),
                            address, pitch, width, height, element);
    if (result == SUCCESS)
        add(*address, *pitch * height, FTH_CAPSULE_DEVICE);
    return result;
}

WRAP(cuMemAllocManaged, uint64_t *address, size_t bytes, unsigned flags)
{
    const int result =
        CALL(cuMemAllocManaged, (uint64_t *, size_t, unsigned), address, bytes, flags);
    if (result == SUCCESS)
        add(*address, bytes, FTH_CAPSULE_MANAGED);
    return result;
}

WRAP(cuMemFree_v2, uint64_t address)
{
    drop(address);
    return CALL(cuMemFree_v2, (uint64_t), address);
}

/* Defines the functions that allocate and free in the order of a stream, for both kinds of default
 * stream. */
#define STREAM_ORDERED(suffix)                                                                     \
    WRAP(cuMemAllocAsync##suffix, uint64_t *address, size_t bytes, void *stream)                   \
    {                                                                                              \
        const int result =                                                                         \
            CALL(cuMemAllocAsync##suffix, (uint64_t *, size_t, void *), address, bytes, stream);   \
        if (result == SUCCESS)                                                                     \
            add(*address, bytes, FTH_CAPSULE_DEVICE);                                              \
        return result;                                                                             \
    }                                                                                              \
    WRAP(cuMemAllocFromPoolAsync##suffix, uint64_t *address, size_t bytes, void *pool,             \
         void *stream)                                                                             \
    {                                                                                              \
        const int result =                                                                         \
            CALL(cuMemAllocFromPoolAsync##suffix, (uint64_t *, size_t, void *, void *), address,   \
                 bytes, pool, stream);                                                             \
        if (result == SUCCESS)                                                                     \
            add(*address, bytes, FTH_CAPSULE_DEVICE);                                              \
        return result;                                                                             \
    }                                                                                              \
    WRAP(cuMemFreeAsync##suffix, uint64_t address, void *stream)                                   \
    {                                                                                              \
        drop(address);                                                                             \
        return CALL(cuMemFreeAsync##suffix, (uint64_t, void *), address, stream);                  \
    }
STREAM_ORDERED()
STREAM_ORDERED(_ptsz)

WRAP(cuMemHostAlloc, void **host, size_t bytes, unsigned flags)
{
    const int result = CALL(cuMemHostAlloc, (void **, size_t, unsigned), host, bytes, flags);
    if (result == SUCCESS)
        add((uint64_t)(uintptr_t)*host, bytes, FTH_CAPSULE_HOST);
    return result;
}

WRAP(cuMemAllocHost_v2, void **host, size_t bytes)
{
    const int result = CALL(cuMemAllocHost_v2, (void **, size_t), host, bytes);
    if (result == SUCCESS)
        add((uint64_t)(uintptr_t)*host, bytes, FTH_CAPSULE_HOST);
    return result;
}

WRAP(cuMemFreeHost, void *host)
{
    drop((uint64_t)(uintptr_t)host);
    return CALL(cuMemFreeHost, (void *), host);
}

WRAP(cuMemHostRegister_v2, void *host, size_t bytes, unsigned flags)
{
    const int result = CALL(cuMemHostRegister_v2, (void *, size_t, unsigned), host, bytes, flags);
    if (result == SUCCESS)
        add((uint64_t)(uintptr_t)host, bytes, FTH_CAPSULE_HOST);
    return result;
}

WRAP(cuMemHostUnregister, void *host)
{
    drop((uint64_t)(uintptr_t)host);
    return CALL(cuMemHostUnregister, (void *), host);
}

WRAP(cuMemMap, uint64_t address, size_t bytes, size_t offset, uint64_t handle, uint64_t flags)
{
    const int result = CALL(cuMemMap, (uint64_t, size_t, size_t, uint64_t, uint64_t), address,
                            bytes, offset, handle, flags);
    if (result == SUCCESS)
        add(address, bytes, FTH_CAPSULE_DEVICE);
    return result;
}

WRAP(cuMemUnmap, uint64_t address, size_t bytes)
{
    capture_lock_tables();
    remove_range(address, bytes);
    capture_unlock_tables();
    return CALL(cuMemUnmap, (uint64_t, size_t), address, bytes);
}
