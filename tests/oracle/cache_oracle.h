/* A cache written to be seen to be right: every byte of every line has its own flags, sets are
 * searched from end to end, and a victim is found by looking at every time stamp. Nothing of
 * src/cache runs in it; it takes only the types of cache.h, to be told and to answer in the same
 * words.
 *
 * Random victims. Both sides start the same generator of base/ from the seed of the configuration
 * and draw once a replacement, in the way that random.c and weighted.c promise in their first
 * lines. */
#ifndef FTH_TESTS_CACHE_ORACLE_H
#define FTH_TESTS_CACHE_ORACLE_H

#include "cache/cache.h"

struct oracle;

/* Takes any configuration that fth_cache_create takes; NULL when memory runs out. */
struct oracle *oracle_create(const struct fth_cache_config *config);
void oracle_destroy(struct oracle *oracle);
void oracle_clear(struct oracle *oracle);

struct fth_cache_result oracle_access(struct oracle *oracle, uint64_t address, uint64_t bytes,
                                      enum fth_cache_kind kind);
enum fth_cache_outcome oracle_probe(const struct oracle *oracle, uint64_t address, uint64_t bytes);
bool oracle_invalidate(struct oracle *oracle, uint64_t address, uint64_t *dirty);
size_t oracle_held(const struct oracle *oracle);

#endif
