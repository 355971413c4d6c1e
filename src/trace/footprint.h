/* Which words of 4 bytes were accessed. Only for the files of this module. */
#ifndef FTH_TRACE_FOOTPRINT_H
#define FTH_TRACE_FOOTPRINT_H

#include "base/base.h"

struct fth_footprint_page;

/* A set of words; all zeros: empty. */
struct fth_footprint {
    struct fth_footprint_page *pages; /* [capacity] */
    size_t count, capacity;           /* pages in use; the capacity is 0 or a power of two */
    size_t last;                      /* slot of the page that was used last, if `count` is not 0 */
};

/* Adds the words from the byte `first` to the byte `last`; none if `last` is in an earlier word.
 * Returns false if memory is exhausted. */
bool fth_footprint_add(struct fth_footprint *footprint, uint64_t first, uint64_t last);
/* Adds all words of another set. Returns false if memory is exhausted. */
bool fth_footprint_merge(struct fth_footprint *to, const struct fth_footprint *from);
/* Computes the sizes of all words, and of the sectors of 32 bytes that contain them, in bytes. */
void fth_footprint_sum(const struct fth_footprint *footprint, uint64_t *word_bytes,
                       uint64_t *sector_bytes);
/* Frees the memory of a set and makes it empty. */
void fth_footprint_fini(struct fth_footprint *footprint);

#endif
