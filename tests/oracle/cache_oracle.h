/* A simulated cache that serves as the oracle for src/cache. It is simple enough to be checked by
 * reading: every byte of every line has its own flags, a lookup searches the whole set, and the
 * victim is found by comparing all time stamps. It uses no code of src/cache, only the types of
 * cache.h, so that both take the same configurations and return the same results.
 *
 * Random victims: both caches start the same random number generator (of src/base) with the seed of
 * the configuration and draw one number per replacement, as the openings of random.c and weighted.c
 * specify. */
#ifndef FTH_TESTS_CACHE_ORACLE_H
#define FTH_TESTS_CACHE_ORACLE_H

#include "cache/cache.h"

struct oracle;

/* Creates an empty cache. Accepts the configurations that fth_cache_create accepts. Returns NULL if
 * memory is insufficient. */
struct oracle *oracle_create(const struct fth_cache_config *config);
void oracle_destroy(struct oracle *oracle);
/* Invalidates every line and discards dirty sectors, like fth_cache_clear. */
void oracle_clear(struct oracle *oracle);

/* The first three correspond to fth_cache_access, fth_cache_probe and fth_cache_invalidate. An
 * access must not cross the end of its line. oracle_held returns the number of lines. */
struct fth_cache_result oracle_access(struct oracle *oracle, uint64_t address, uint64_t bytes,
                                      enum fth_cache_kind kind);
enum fth_cache_outcome oracle_probe(const struct oracle *oracle, uint64_t address, uint64_t bytes);
bool oracle_invalidate(struct oracle *oracle, uint64_t address, uint64_t *dirty);
/* Makes the changed sectors of a line present and unchanged, like fth_cache_write_back. Returns
 * them. */
uint64_t oracle_write_back(struct oracle *oracle, uint64_t address);
/* Makes the sector of an address absent, like fth_cache_invalidate_sectors. Its line stays. */
void oracle_invalidate_sector(struct oracle *oracle, uint64_t address);
size_t oracle_held(const struct oracle *oracle);

/* The storage of a cache with the policy clock, as docs/model/time.md defines it.
 *
 * Begins an access at a time. The policy counts all calls of oracle_access() until the next one as
 * one access. */
void oracle_begin(struct oracle *oracle, uint64_t now);
/* Returns the time of the last access, which is later if its line had to wait. */
uint64_t oracle_time(const struct oracle *oracle);
/* Reserves the storage of a line that is in the cache until a time. */
void oracle_reserve(struct oracle *oracle, uint64_t address, uint64_t until);

#endif
