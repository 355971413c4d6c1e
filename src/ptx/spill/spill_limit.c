/* The registers per thread that a compiler may use, from the directives of a kernel (PTX ISA,
 * "Performance-Tuning Directives"). */
#include "ptx/spill/spill.h"

/* Of an SM, and of one thread, in all GPUs since Kepler (CUDA C++ Programming Guide, "Technical
 * Specifications per Compute Capability"). Registers are allocated per warp in units of 256. */
enum { SM_REGISTERS = 65536, MAX_REGISTERS = 255, WARP_UNIT = 256 };

/* The lowest limit that ptxas 13.0 obeys for sm_90. */
enum { MIN_REGISTERS = 24 };

uint32_t fth_spill_limit(const struct fth_ptx_kernel *kernel)
{
    const uint32_t *block = kernel->required_block[0] ? kernel->required_block : kernel->max_block;
    uint64_t limit = MAX_REGISTERS;
    const uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    if (threads) {
        const uint64_t warps = (threads + 31) / 32;
        const uint64_t blocks = kernel->min_blocks ? kernel->min_blocks : 1;
        const uint64_t of_warp = SM_REGISTERS / warps / blocks / WARP_UNIT * WARP_UNIT;
        if (of_warp / 32 < limit)
            limit = of_warp / 32;
    }
    if (kernel->max_registers && kernel->max_registers < limit)
        limit = kernel->max_registers;
    return limit < MIN_REGISTERS ? MIN_REGISTERS : (uint32_t)limit;
}
