/* The cost of a load of constants whose lanes use different addresses.
 *
 * The unit for constants of an SM delivers one address to all lanes that use it. A warp whose lanes
 * use several addresses repeats its load for each of them. Measured on an H200, with words of 4
 * bytes (docs/results/h200/code.md#loads-of-different-constants). */
#include "trace/counters/counters.h"

enum { LANES = 32 };

/* Cycles that a warp waits for each address after the first one. The latency of a load with one
 * address is in ptx/cost/cost_table.c. */
enum { CYCLES_PER_ADDRESS = 11 };

struct fth_constant_cost fth_access_constant_cost(const struct fth_ptx_access *access)
{
    uint64_t found[LANES];
    unsigned count = 0;
    for (uint32_t left = access->mask; left; left &= left - 1) {
        const uint64_t address = access->addresses[__builtin_ctz(left)];
        unsigned at = 0;
        while (at < count && found[at] != address)
            at++;
        if (at == count)
            found[count++] = address;
    }
    return count > 1 ? (struct fth_constant_cost){count, (count - 1) * CYCLES_PER_ADDRESS}
                     : (struct fth_constant_cost){0, 0};
}
