/* Random GPU descriptions, for tests that must hold for every one. */
#ifndef FTH_RANDOM_GPU_H
#define FTH_RANDOM_GPU_H

#include "gpu/gpu.h"

/* A description that is valid and whole, the same for the same seed. */
struct fth_gpu *random_gpu(uint64_t seed);
/* Gives it 2 cycles of jitter and 1 % of outliers of ten times the latency. */
void make_noisy(struct fth_gpu *gpu, uint64_t seed);

#endif
