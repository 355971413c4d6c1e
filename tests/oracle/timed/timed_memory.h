/* L1s, L2 and memory of the oracle of timed_oracle.h. */
#ifndef FTH_TESTS_TIMED_MEMORY_H
#define FTH_TESTS_TIMED_MEMORY_H

#include "timed_oracle.h"

struct timed_memory;

/* An access that a warp issues. */
struct timed_issue {
    uint64_t sm;
    uint64_t shared;  /* requests to shared memory before it */
    uint64_t base;    /* is added to the addresses */
    uint64_t *before; /* number of the last access of its scheduler that sent reads; 0: none */
    const struct timed_oracle_access *access;
    const struct timed_instruction *instruction;
};

/* Converts cycles to ticks. */
uint64_t timed_ticks(double cycles);
struct timed_memory *timed_memory_create(const struct timed_gpu *gpu);
void timed_memory_destroy(struct timed_memory *memory);
/* Begins a launch, whose counts go to `result`. */
void timed_memory_begin(struct timed_memory *memory, struct timed_oracle_result *result);
/* When the L1 begins to look up an access, when the access leaves the queue of its scheduler, and
 * when its data has arrived. */
struct timed_l1_times {
    uint64_t begun, left, done;
};
/* Returns until when the last line that waited for storage in an L1 waited; 0: none. */
uint64_t timed_memory_stalled(const struct timed_memory *memory, uint64_t sm);
/* Performs an access at `now`. */
void timed_memory_access(struct timed_memory *memory, const struct timed_issue *issue, uint64_t now,
                         struct timed_l1_times *times);

/* ---- costs and times that all parts of the oracle use ---- */

enum { CYCLE = 4096 }; /* ticks */
#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

static inline uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t count_bits(uint64_t mask)
{
    uint64_t count = 0;
    for (; mask; mask /= 2)
        count += mask % 2;
    return count;
}

/* Occupies a unit. Returns when it begins. */
static inline uint64_t occupy(uint64_t *free_at, uint64_t now, uint64_t time)
{
    const uint64_t start = later(*free_at, now);
    *free_at = start + time;
    return start;
}

/* Ticks that a sector takes at a bandwidth. */
static inline uint64_t sector_ticks(const struct timed_gpu *gpu, double bytes_per_s)
{
    return later(1, timed_ticks((double)gpu->sector_bytes * gpu->clock_hz / bytes_per_s));
}

static inline uint64_t memory_ticks(const struct timed_gpu *gpu)
{
    return sector_ticks(gpu, gpu->memory_bytes_per_s * gpu->memory_percent / 100);
}

static inline uint64_t home_of(const struct timed_gpu *gpu, uint64_t line)
{
    return count_bits(line & gpu->home_mask) % gpu->sides;
}

static inline double join_cycles(const struct timed_gpu *gpu)
{
    return gpu->join_cycles < gpu->l2_cycles / 2 ? gpu->join_cycles : gpu->l2_cycles / 2;
}

static inline uint64_t to_l2(const struct timed_gpu *gpu)
{
    return timed_ticks(gpu->l2_cycles / 2 - join_cycles(gpu));
}

static inline uint64_t mix(uint64_t line, uint64_t now)
{
    return (line ^ now / CYCLE * UINT64_C(0x2545F4914F6CDD1D)) * GOLDEN;
}

/* Returns how much later data of the L2 reaches a warp that looks up the line at `now`. */
static inline uint64_t spread(const struct timed_gpu *gpu, uint64_t line, uint64_t now)
{
    return mix(line, now) / (UINT64_C(1) << 32) % 65536 * timed_ticks(gpu->spread_cycles) / 65536;
}

#endif
