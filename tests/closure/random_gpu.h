/* Random GPU descriptions, for tests that must hold for every one. */
#ifndef FTH_RANDOM_GPU_H
#define FTH_RANDOM_GPU_H

#include "gpu/gpu.h"

/* A description that is valid and whole, the same for the same seed. */
struct fth_gpu *random_gpu(uint64_t seed);

#endif
