/* malloc and free of kernels. The heap is one allocation of device memory, in units of 16 bytes. It
 * consists of blocks without gaps between them, and `sizes` has the size of each block at the index
 * of its first unit, outside of the memory that kernels can overwrite. malloc takes the first free
 * block that is large enough. The heap belongs to the memory, so that a later launch can use and
 * free what an earlier one has allocated. */
#include "ptx/runtime/runtime.h"

#include <pthread.h>
#include <stdlib.h>

enum { UNIT = 16 };
#define IS_USED 0x80000000u

struct fth_ptx_heap {
    pthread_mutex_t lock;
    uint64_t address;
    uint32_t units; /* size of the heap */
    uint32_t first; /* no block before this unit is free */
    uint32_t *sizes;
};

struct fth_ptx_heap *fth_ptx_heap_create(uint64_t address, uint64_t bytes)
{
    struct fth_ptx_heap *heap = calloc(1, sizeof *heap);
    uint32_t *sizes = calloc(bytes / UNIT, sizeof *sizes);
    if (!heap || !sizes || pthread_mutex_init(&heap->lock, NULL) != 0) {
        free(heap);
        free(sizes);
        return NULL;
    }
    heap->address = address;
    heap->units = (uint32_t)(bytes / UNIT);
    heap->sizes = sizes;
    sizes[0] = heap->units;
    return heap;
}

void fth_ptx_heap_destroy(struct fth_ptx_heap *heap)
{
    if (!heap)
        return;
    pthread_mutex_destroy(&heap->lock);
    free(heap->sizes);
    free(heap);
}

/* Cuts a free block after `units` units, if it is larger. */
static void cut(struct fth_ptx_heap *heap, uint32_t at, uint32_t units)
{
    if (heap->sizes[at] == units)
        return;
    heap->sizes[at + units] = heap->sizes[at] - units;
    heap->sizes[at] = units;
}

/* Returns the first unit of a new block, or UINT32_MAX if there is no space. `align` is in units.
 */
static uint32_t allocate(struct fth_ptx_heap *heap, uint32_t units, uint32_t align)
{
    uint32_t *sizes = heap->sizes;
    for (uint32_t at = heap->first; at < heap->units; at += sizes[at] & ~IS_USED) {
        if (sizes[at] & IS_USED)
            continue;
        for (uint32_t next = at + sizes[at]; next < heap->units && !(sizes[next] & IS_USED);
             next = at + sizes[at])
            sizes[at] += sizes[next]; /* merge free blocks */
        const uint32_t skipped = (align - at % align) % align;
        if (skipped > sizes[at] || sizes[at] - skipped < units)
            continue;
        if (skipped)
            cut(heap, at, skipped);
        cut(heap, at + skipped, units);
        sizes[at + skipped] |= IS_USED;
        if (heap->first == at && !skipped)
            heap->first = at + units;
        return at + skipped;
    }
    return UINT32_MAX;
}

void fth_ptx_call_malloc(const struct fth_ptx_builtin_call *call, uint64_t bytes, uint64_t align)
{
    struct fth_ptx_heap *heap = call->warp->block->run->machine->memory->heap;
    const uint64_t limit = (uint64_t)heap->units * UNIT;
    uint32_t at = UINT32_MAX;
    if (bytes && bytes <= limit && align <= limit) {
        pthread_mutex_lock(&heap->lock);
        at = allocate(heap, (uint32_t)((bytes + UNIT - 1) / UNIT),
                      align > UNIT ? (uint32_t)(align / UNIT) : 1);
        pthread_mutex_unlock(&heap->lock);
    }
    fth_ptx_builtin_return(call, at == UINT32_MAX ? 0 : heap->address + (uint64_t)at * UNIT);
}

void fth_ptx_call_free(const struct fth_ptx_builtin_call *call)
{
    struct fth_ptx_heap *heap = call->warp->block->run->machine->memory->heap;
    const uint64_t address = fth_ptx_builtin_argument(call, 0), offset = address - heap->address;
    if (address == 0)
        return;
    bool found = false;
    pthread_mutex_lock(&heap->lock);
    if (offset % UNIT == 0 && offset / UNIT < heap->units) {
        const uint32_t at = (uint32_t)(offset / UNIT);
        found = heap->sizes[at] & IS_USED;
        if (found)
            heap->sizes[at] &= ~IS_USED;
        if (found && at < heap->first)
            heap->first = at;
    }
    pthread_mutex_unlock(&heap->lock);
    if (!found)
        fth_ptx_warp_fault(call->warp, call->inst, call->lane,
                           "free of 0x%llx, which malloc has not returned or which is already free",
                           (unsigned long long)address);
}
