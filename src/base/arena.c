/* An arena: many small allocations that are freed together. */
#include "base/base.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Minimum size of a block. Chosen so that a GPU description needs only a few blocks. With
 * AddressSanitizer, each allocation has a block of its own, of exactly its size, so that an access
 * past its end is found. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#endif
#ifdef SANITIZED
#define BLOCK_BYTES ((size_t)0)
#define ROUNDING ((size_t)1)
#else
#define BLOCK_BYTES ((size_t)16 * 1024)
#define ROUNDING sizeof(max_align_t)
#endif

struct fth_arena_block {
    struct fth_arena_block *next;
    size_t used;
    size_t capacity;
    max_align_t data[];
};

/* The next page size above 4 KiB on x86-64 and AArch64. */
#define LARGE_PAGE_BYTES ((size_t)1 << 21)

/* Only whole, aligned large pages are affected. The kernel may ignore the request, so its result
 * does not matter. */
void fth_memory_use_large_pages(void *memory, size_t size)
{
#ifdef MADV_HUGEPAGE
    const size_t page = LARGE_PAGE_BYTES;
    const size_t before =
        (page - (uintptr_t)memory % page) % page; /* bytes before the first page */
    if (size >= before + page)
        (void)madvise((char *)memory + before, (size - before) / page * page, MADV_HUGEPAGE);
#else
    (void)memory, (void)size;
#endif
}

void *fth_arena_alloc(struct fth_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + ROUNDING - 1) / ROUNDING * ROUNDING;
    struct fth_arena_block *block = arena->blocks;
    if (!block || block->capacity - block->used < size || BLOCK_BYTES == 0) {
        size_t capacity = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        /* A large allocation begins with a large page, and its last one is not shared. */
        const bool large = BLOCK_BYTES && size >= LARGE_PAGE_BYTES;
        if (large)
            capacity = (size / LARGE_PAGE_BYTES + 2) * LARGE_PAGE_BYTES;
        block = calloc(1, sizeof *block + capacity);
        if (!block)
            return NULL;
        fth_memory_use_large_pages(block, sizeof *block + capacity);
        block->capacity = capacity;
        if (large)
            block->used = LARGE_PAGE_BYTES - (uintptr_t)block->data % LARGE_PAGE_BYTES;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *memory = (char *)block->data + block->used;
    block->used += size;
    return memory;
}

void *fth_arena_array(struct fth_arena *arena, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    return fth_arena_alloc(arena, count * size);
}

char *fth_arena_text(struct fth_arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = fth_arena_alloc(arena, size);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

void fth_arena_fini(struct fth_arena *arena)
{
    while (arena->blocks) {
        struct fth_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}
