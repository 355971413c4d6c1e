/* Random GPU descriptions, for tests of properties that hold for every GPU. */
#ifndef FTH_RANDOM_GPU_H
#define FTH_RANDOM_GPU_H

#include "gpu/gpu.h"

/* Returns a valid and complete description, which the caller owns. Equal seeds give equal
 * descriptions. */
struct fth_gpu *random_gpu(uint64_t seed);
/* Whether a description is like those of real GPUs: up to 144 SMs; lines of at most 128 bytes; an
 * L2 of 512 KiB to 192 MiB, of at least twice the size of the data caches of an SM, and with at
 * least 1.4 times their latency; a constant L1.5 of at least eight times the size of its L1; a
 * memory latency of 80 to 400 cycles more than that of the L2; at most two levels of TLBs. */
bool is_realistic(const struct fth_gpu *gpu);
/* Adds noise to the timing of the simulated GPU: 2 cycles of jitter, and 1 % outliers with ten
 * times the latency (every fourth seed: 0.1 %). Half of the seeds also have a neighbour, a program
 * that runs at times and replaces the contents of the caches: before one load in 100,000 or one in
 * 20,000, and less often if the L2 has more than 1 MiB. */
void make_noisy(struct fth_gpu *gpu, uint64_t seed);
/* Adds less noise than make_noisy (0.1 % outliers), but every seed has a neighbour: before one load
 * in 100,000, 20,000, 5,000 or 1,000, and less often if the L2 has more than 1 MiB. */
void make_disturbed(struct fth_gpu *gpu, uint64_t seed);

#endif
