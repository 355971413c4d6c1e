// Prelude for Intel GPUs with Intel's compute runtime. chase.cl documents what a prelude defines.
//
// Source: Intel, Profiling Tools Interfaces for GPU, "OpenCL Built-In Intrinsics": the functions exist
// since GEN9 and are declared by the program.
// https://github.com/intel/pti-gpu/blob/master/chapters/binary_instrumentation/OpenCLBuiltIn.md
// The compiler has no way to choose the caches of a load in OpenCL C, so there is no path past the
// first cache.

ulong __attribute__((overloadable)) intel_get_cycle_counter(void);
uint __attribute__((overloadable)) intel_get_slice_id(void);
uint __attribute__((overloadable)) intel_get_subslice_id(void);
uint __attribute__((overloadable)) intel_get_eu_id(void);

// OpenCL C for Intel has no inline assembly. The clock is read in a branch that depends on the value
// of the last load (which is never all ones), and the address of the next load depends on the clock
// (`fth_zero` is 0, which the compiler does not know). Whether the compiler keeps this order has not
// been checked.
#define FTH_CLOCK(ticks, value, note)                                                              \
    do {                                                                                           \
        (ticks) = 0;                                                                               \
        if ((value) != 0xffffffffu)                                                                \
            (ticks) = intel_get_cycle_counter();                                                   \
        (value) += (uint)(ticks) & fth_zero;                                                       \
    } while (0)

// Where the work-item runs: slice << 16 | sub-slice << 8 | execution unit.
#define FTH_UNIT() fth_unit()
static inline uint fth_unit(void)
{
    return intel_get_slice_id() << 16 | intel_get_subslice_id() << 8 | intel_get_eu_id();
}
