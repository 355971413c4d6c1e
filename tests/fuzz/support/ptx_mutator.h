/* Changes PTX text by the grammar of PTX, for the fuzz targets that execute kernels. */
#ifndef FUZZ_PTX_MUTATOR_H
#define FUZZ_PTX_MUTATOR_H

#include <stddef.h>
#include <stdint.h>

/* Provided by libFuzzer, and by replay/replay_corpus.c without it: changes bytes at random. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* Changes the PTX text of `size` bytes in `text`, which has space for `max_size` bytes, and returns
 * its new size, at most `max_size`. An input without a ".version" is replaced by a small module
 * first. The same seed makes the same change. */
size_t fuzz_mutate_ptx(char *text, size_t size, size_t max_size, unsigned seed);

#endif
