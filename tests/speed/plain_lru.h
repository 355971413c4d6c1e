/* The reference of the cache benchmarks: a set-associative LRU cache as one writes it first. It
 * searches a set way by way and, on a miss, replaces the way with the oldest time stamp. The set of
 * a line is its number modulo the number of sets. */
#ifndef FTH_SPEED_PLAIN_LRU_H
#define FTH_SPEED_PLAIN_LRU_H

#include <stddef.h>
#include <stdint.h>

struct plain_lru;

/* Creates an empty cache. NULL: out of memory. */
struct plain_lru *plain_lru_create(uint64_t sets, uint64_t ways);
void plain_lru_destroy(struct plain_lru *plain);
/* Reads the lines and returns the number of hits. */
uint64_t plain_lru_read(struct plain_lru *plain, const uint64_t *lines, size_t count);

#endif
