/* The references that cache benchmarks run on, as line numbers: what a GPU's caches see, in shares.
 *
 *   25 %     coalesced stride: a warp reads 32 words in a row, so each reference is the next line
 *   12.5 %   column walk: down a column of a matrix of 1,024 x 1,024 words; 32 columns share their
 * lines 12.5 %   broadcast: all lanes read one word; a line serves 64 references, then the next of
 * 16 does 50 %     Zipf with exponent 0.99 over 2^20 lines, the popular ones scattered over the
 * sets
 *
 * Which of the four a reference comes from is drawn anew each time, as if warps took turns. Each
 * has lines of its own. */
#ifndef FTH_BENCH_MIX_H
#define FTH_BENCH_MIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False when memory runs out. */
bool mix_fill(uint64_t *lines, size_t count, uint64_t seed);

#endif
