// Prelude for NVIDIA's OpenCL, which accepts PTX as inline assembly. other.cl documents what a
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

// From sm_80 on, adding an offset to a base takes two instructions per load, about 10 cycles. With the
// option -DFTH_ORIGIN_IN_LINKS, the links hold the lower half of an address instead (the offset plus
// what the kernel fth_origin returns), and the upper half is constant: then there is no instruction
// between two loads. The memory must not cross a multiple of 4 GiB.
#ifdef FTH_ORIGIN_IN_LINKS
#define FTH_ORIGIN(base) ((uint)(ulong)(base))
#define FTH_NVIDIA_LOAD(operation)                                                                 \
    "{\n\t"                                                                                        \
    ".reg .b64 %%fth_address;\n\t"                                                                 \
    "mov.b64 %%fth_address, {%1, %2};\n\t" operation " %0, [%%fth_address];\n\t"                   \
    "}"
#define FTH_NVIDIA_ADDRESS(base, offset) "r"(offset), "r"((uint)((ulong)(base) >> 32))
#else
#define FTH_NVIDIA_LOAD(operation) operation " %0, [%1];"
#define FTH_NVIDIA_ADDRESS(base, offset) "l"((base) + (offset))
#endif

#define FTH_LOAD(base, offset) fth_load(base, offset)
static inline uint fth_load(global const char *base, uint offset)
{
    uint value;
    __asm__ volatile(FTH_NVIDIA_LOAD("ld.global.ca.u32")
                     : "=r"(value)
                     : FTH_NVIDIA_ADDRESS(base, offset)
                     : "memory");
    return value;
}

#define FTH_LOAD_PAST(base, offset) fth_load_past(base, offset)
static inline uint fth_load_past(global const char *base, uint offset)
{
    uint value;
    __asm__ volatile(FTH_NVIDIA_LOAD("ld.global.cg.u32")
                     : "=r"(value)
                     : FTH_NVIDIA_ADDRESS(base, offset)
                     : "memory");
    return value;
}

// Addresses in local memory have 32 bits. The links are addresses.
#define FTH_SHARED_ORIGIN(base) ((uint)(size_t)(base))
#define FTH_LOAD_SHARED(base, address) fth_load_shared(address)
static inline uint fth_load_shared(uint address)
{
    uint value;
    __asm__ volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}

#define FTH_UNIT() fth_unit()
static inline uint fth_unit(void)
{
    uint unit;
    __asm__ volatile("mov.u32 %0, %%smid;" : "=r"(unit));
    return unit;
}

// %globaltimer counts nanoseconds and is the same on all SMs.
#define FTH_TIME_NS 1
#define FTH_TIME(time) __asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(time))
