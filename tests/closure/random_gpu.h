/* Random GPU descriptions, for tests of properties that hold for every GPU. */
#ifndef FTH_RANDOM_GPU_H
#define FTH_RANDOM_GPU_H

#include "gpu/gpu.h"

/* Returns a valid and complete description, which the caller owns. Equal seeds give equal
 * descriptions. */
struct fth_gpu *random_gpu(uint64_t seed);
/* Adds noise to the timing of the simulated GPU: 2 cycles of jitter, and 1 % outliers with ten
 * times the latency. */
void make_noisy(struct fth_gpu *gpu, uint64_t seed);

#endif
