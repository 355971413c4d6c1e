/* L1s, L2 and memory of the oracle of timed_oracle.h. */
#ifndef FTH_TESTS_TIMED_MEMORY_H
#define FTH_TESTS_TIMED_MEMORY_H

#include "timed_oracle.h"

struct timed_memory;

/* An access that a warp issues. */
struct timed_issue {
    uint64_t sm;
    uint64_t shared; /* requests to shared memory before it */
    uint64_t base;   /* is added to the addresses */
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
/* Performs an access at `now`. */
void timed_memory_access(struct timed_memory *memory, const struct timed_issue *issue, uint64_t now,
                         struct timed_l1_times *times);

#endif
