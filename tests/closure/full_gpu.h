/* Random descriptions of small GPUs with everything that 'fathom topo --full' finds. */
#ifndef FTH_TESTS_FULL_GPU_H
#define FTH_TESTS_FULL_GPU_H

#include "base/base.h"

/* Returns the description of a seed as JSON. The caller frees it with fth_buffer_fini. */
struct fth_buffer full_description(uint64_t seed, bool noisy, bool disturbed);

#endif
