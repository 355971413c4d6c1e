/* The references of the cache benchmarks, as line numbers: a mix of access patterns that are
 * typical for the caches of a GPU.
 *
 *   share    pattern
 *   25 %     coalesced stride: a warp reads 32 adjacent words; each reference is the next line
 *   12.5 %   column walk down the columns of 1,024 x 1,024 words; 32 columns share their lines
 *   12.5 %   broadcast: all lanes read one word; 64 references per line, 16 lines in a cycle
 *   50 %     Zipf with exponent 0.99 over 2^20 lines; the popular ones are spread over the sets
 *
 * The pattern of each reference is drawn at random, as if warps took turns. The patterns use
 * different lines. */
#ifndef FTH_SPEED_MIX_H
#define FTH_SPEED_MIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills `lines` with `count` line numbers. Returns false if memory is exhausted. */
bool mix_fill(uint64_t *lines, size_t count, uint64_t seed);

#endif
