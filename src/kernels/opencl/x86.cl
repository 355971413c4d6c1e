// Prelude for x86-64 CPUs. other.cl documents what a prelude defines.
//
// Source: Intel, "64 and IA-32 Architectures Software Developer's Manual", volume 2: RDTSC, RDTSCP,
// LFENCE, CPUID.

// LFENCE waits until all earlier instructions have completed, so also the loads, and no later
// instruction begins before it has. `value` is the result of the last load and the address of the
// next one; the assembly returns it unchanged, but the compiler does not know that.
#define FTH_CLOCK(ticks, value, note)                                                              \
    __asm__ volatile("lfence\n\t"                                                                  \
                     "rdtsc # fth " note "\n\t"                                                    \
                     "lfence\n\t"                                                                  \
                     "shlq $32, %%rdx\n\t"                                                        \
                     "orq %%rdx, %%rax"                                                            \
                     : "=&a"(ticks), "+r"(value)                                                   \
                     :                                                                             \
                     : "rdx", "cc", "memory")
// The counters of all cores of a computer are synchronous [Intel, volume 3, section "Invariant TSC"].
#define FTH_TIME(time)                                                                             \
    do {                                                                                           \
        uint fth_none = 0;                                                                         \
        FTH_CLOCK(time, fth_none, "time");                                                         \
    } while (0)
#define FTH_OPAQUE(value) __asm__ volatile("" : "+r"(value))

// A chain of 1000 additions of a register, each of which takes one cycle. (Some CPUs execute additions of constants
// while they rename registers, in no time.)
#define FTH_ADD_1000(value, addend)                                                                \
    __asm__ volatile(".rept 1000\n\taddl %1, %0\n\t.endr" : "+r"(value) : "r"(addend) : "cc")

// The number of the CPU on Linux, which writes it into TSC_AUX: bits 11:0; above them is the number
// of the NUMA node. CPUID tells whether there is RDTSCP.
#define FTH_UNIT() fth_unit()
static inline uint fth_unit(void)
{
    uint a = 0x80000001u, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (!(d >> 27 & 1))
        return 0xffffffffu;
    __asm__ volatile("rdtscp" : "=a"(a), "=c"(c), "=d"(d));
    return c & 0xfff;
}
