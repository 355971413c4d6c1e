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

// Code for instruction caches (fetch.cl). The instruction of 4 bytes is NOPL 0(%rax). A branch is a JMP
// with an offset of 32 bits, which counts from its end.
#define FTH_TEXT_OF(number) #number
#define FTH_TEXT(number) FTH_TEXT_OF(number)
#if defined(FTH_CODE_STRIDE) && FTH_CODE_STRIDE
#define FTH_CODE_INSTRUCTION                                                                       \
    ".byte 0xe9\n\t.long " FTH_TEXT(FTH_CODE_STRIDE) " - 5\n\t.skip " FTH_TEXT(FTH_CODE_STRIDE)      \
    " - 5, 0xcc\n\t"
#else
#define FTH_CODE_INSTRUCTION ".byte 0x0f, 0x1f, 0x40, 0x00\n\t"
#endif
#define FTH_CODE(bytes, left)                                                                      \
    __asm__ volatile("leaq 2f(%%rip), %%rax\n\t"                                                   \
                     "subq %1, %%rax\n\t"                                                          \
                     "jmpq *%%rax\n\t"                                                             \
                     ".subsection 1\n\t"                                                           \
                     ".p2align 12\n\t"                                                             \
                     ".rept " FTH_TEXT(FTH_CODE_COUNT) "\n\t" FTH_CODE_INSTRUCTION ".endr\n"        \
                     "2:\n\t"                                                                      \
                     "subl $1, %0\n\t"                                                             \
                     "jz 3f\n\t"                                                                   \
                     "jmpq *%%rax\n\t"                                                             \
                     ".subsection 0\n"                                                             \
                     "3:"                                                                          \
                     : "+r"(left)                                                                  \
                     : "r"((ulong)(bytes))                                                         \
                     : "rax", "cc", "memory")

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
