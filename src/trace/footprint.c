/* The set of words of 4 bytes that accesses touched: a hash table of pages with linear probing. A
 * page has one bit per word. Ranges of bytes are added, so accesses to adjacent words cost little
 * more than an access to one word. */
#include "trace/footprint.h"

#include <stdlib.h>

/* Binary logarithms of the sizes of a word, a sector and a page. */
enum { WORD_BITS = 2, SECTOR_BITS = 5, PAGE_BITS = 11 };
enum {
    SECTOR_WORDS = 1 << (SECTOR_BITS - WORD_BITS),
    MASK_BITS = 64, /* words per mask */
    PAGE_MASKS = (1 << (PAGE_BITS - WORD_BITS)) / MASK_BITS,
    MIN_PAGES = 256 /* smallest table; chosen: small, and enough for 512 KiB */
};

/* 512 consecutive words. Bit i, counted over the masks, is set if word i was touched. */
struct fth_footprint_page {
    uint64_t number; /* index of the page plus 1; 0: the slot is free */
    uint64_t words[PAGE_MASKS];
};

/* Returns the slot of a page, or the free slot where it belongs. */
static size_t find_page(const struct fth_footprint *footprint, uint64_t number)
{
    const size_t mask = footprint->capacity - 1;
    size_t at = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & mask;
    while (footprint->pages[at].number && footprint->pages[at].number != number + 1)
        at = (at + 1) & mask;
    return at;
}

static bool grow(struct fth_footprint *footprint)
{
    struct fth_footprint larger = {.capacity =
                                       footprint->capacity ? 2 * footprint->capacity : MIN_PAGES,
                                   .count = footprint->count};
    larger.pages = calloc(larger.capacity, sizeof *larger.pages);
    if (!larger.pages)
        return false;
    for (size_t i = 0; i < footprint->capacity; i++)
        if (footprint->pages[i].number)
            larger.pages[find_page(&larger, footprint->pages[i].number - 1)] = footprint->pages[i];
    free(footprint->pages);
    *footprint = larger;
    return true;
}

/* Returns a page, which is added if it is missing. NULL: memory is exhausted. */
static struct fth_footprint_page *use_page(struct fth_footprint *footprint, uint64_t number)
{
    if (footprint->count && footprint->pages[footprint->last].number == number + 1)
        return &footprint->pages[footprint->last];
    if (2 * footprint->count >= footprint->capacity && !grow(footprint))
        return NULL;
    footprint->last = find_page(footprint, number);
    struct fth_footprint_page *page = &footprint->pages[footprint->last];
    if (!page->number) {
        page->number = number + 1;
        footprint->count++;
    }
    return page;
}

bool fth_footprint_add(struct fth_footprint *footprint, uint64_t first, uint64_t last)
{
    const uint64_t end = (last >> WORD_BITS) + 1;
    uint64_t word = first >> WORD_BITS;
    while (word < end) { /* the words of one mask after the other */
        struct fth_footprint_page *page = use_page(footprint, word >> (PAGE_BITS - WORD_BITS));
        if (!page)
            return false;
        const uint64_t left = MASK_BITS - word % MASK_BITS;
        const uint64_t count = end - word < left ? end - word : left;
        page->words[word / MASK_BITS % PAGE_MASKS] |= UINT64_MAX >> (MASK_BITS - count)
                                                                        << word % MASK_BITS;
        word += count;
    }
    return true;
}

bool fth_footprint_merge(struct fth_footprint *to, const struct fth_footprint *from)
{
    for (size_t i = 0; i < from->capacity; i++) {
        if (!from->pages[i].number)
            continue;
        struct fth_footprint_page *page = use_page(to, from->pages[i].number - 1);
        if (!page)
            return false;
        for (size_t m = 0; m < PAGE_MASKS; m++)
            page->words[m] |= from->pages[i].words[m];
    }
    return true;
}

void fth_footprint_sum(const struct fth_footprint *footprint, uint64_t *word_bytes,
                       uint64_t *sector_bytes)
{
    *word_bytes = *sector_bytes = 0;
    for (size_t i = 0; i < footprint->capacity; i++) {
        const struct fth_footprint_page *page = &footprint->pages[i];
        for (size_t m = 0; page->number && m < PAGE_MASKS; m++) {
            *word_bytes += (uint64_t)__builtin_popcountll(page->words[m]) << WORD_BITS;
            for (uint64_t words = page->words[m]; words; words >>= SECTOR_WORDS)
                *sector_bytes += words & ((1U << SECTOR_WORDS) - 1) ? 1U << SECTOR_BITS : 0;
        }
    }
}

void fth_footprint_fini(struct fth_footprint *footprint)
{
    free(footprint->pages);
    *footprint = (struct fth_footprint){0};
}
