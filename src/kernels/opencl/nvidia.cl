// Prelude for NVIDIA's OpenCL, which accepts PTX as inline assembly. chase.cl documents what a
// prelude defines.
//
// Source: NVIDIA, "Parallel Thread Execution ISA": %clock64, %smid, cache operators of ld.

// No address is all ones. Comparing the last result with this value makes the warp wait for the
// load, and the branch keeps the assembler from reading the clock earlier (as in walk.ptx).
#define FTH_CLOCK(ticks, value, note)                                                              \
    __asm__ volatile("{\n\t"                                                                       \
                     ".reg .pred broken;\n\t"                                                      \
                     "setp.eq.u32 broken, %1, 0xffffffff;\n\t"                                     \
                     "@broken trap;\n\t"                                                           \
                     "mov.u64 %0, %%clock64; // fth " note "\n\t"                                  \
                     "}"                                                                           \
                     : "=l"(ticks), "+r"(value)                                                    \
                     :                                                                             \
                     : "memory")
#define FTH_OPAQUE(value) __asm__ volatile("" : "+r"(value))

#define FTH_LOAD(base, offset) fth_load(base, offset)
static inline uint fth_load(global const char *base, uint offset)
{
    uint value;
    __asm__ volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(base + offset) : "memory");
    return value;
}

#define FTH_LOAD_PAST(base, offset) fth_load_past(base, offset)
static inline uint fth_load_past(global const char *base, uint offset)
{
    uint value;
    __asm__ volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(base + offset) : "memory");
    return value;
}

#define FTH_UNIT() fth_unit()
static inline uint fth_unit(void)
{
    uint unit;
    __asm__ volatile("mov.u32 %0, %%smid;" : "=r"(unit));
    return unit;
}
