// Prelude for 64-bit Arm CPUs. other.cl documents what a prelude defines.
//
// Source: Arm, "Architecture Reference Manual for A-profile architecture" (DDI 0487): CNTVCT_EL0, the
// virtual counter, and ISB. The counter's frequency (CNTFRQ_EL0) is not that of the core: tens of MHz
// up to 1 GHz. The compiler's own function for a cycle counter is not used: it returns 0 with clang
// before version 16, or reads a register that the operating system does not permit.

// The branch depends on the value of the last load. The ISB after it completes only when the branch
// is resolved, and the counter is read after the ISB. The address of the next load depends on the
// counter: its exclusive or with itself, which is 0, is added to it.
#define FTH_CLOCK(ticks, value, note)                                                              \
    do {                                                                                           \
        ulong fth_zero;                                                                            \
        __asm__ volatile("cbz %w1, 1f\n"                                                           \
                         "1:\n\t"                                                                  \
                         "isb\n\t"                                                                 \
                         "mrs %0, cntvct_el0 // fth " note "\n\t"                                  \
                         "eor %2, %0, %0\n\t"                                                      \
                         "add %w1, %w1, %w2"                                                       \
                         : "=&r"(ticks), "+r"(value), "=&r"(fth_zero)                              \
                         :                                                                         \
                         : "memory");                                                              \
    } while (0)
// All cores read the same counter.
#define FTH_TIME(time)                                                                             \
    do {                                                                                           \
        uint fth_none = 0;                                                                         \
        FTH_CLOCK(time, fth_none, "time");                                                         \
    } while (0)
#define FTH_OPAQUE(value) __asm__ volatile("" : "+r"(value))

// A chain of 1000 additions, each of which takes one cycle.
#define FTH_ADD_1000(value, addend)                                                                \
    __asm__ volatile(".rept 1000\n\tadd %w0, %w0, %w1\n\t.endr" : "+r"(value) : "r"(addend))

// Code for instruction caches (fetch.cl). ADR reaches 1 MiB.
#define FTH_TEXT_OF(number) #number
#define FTH_TEXT(number) FTH_TEXT_OF(number)
#if defined(FTH_CODE_STRIDE) && FTH_CODE_STRIDE
#define FTH_CODE_INSTRUCTION                                                                       \
    "b . + " FTH_TEXT(FTH_CODE_STRIDE) "\n\t.skip " FTH_TEXT(FTH_CODE_STRIDE) " - 4\n\t"
#else
#define FTH_CODE_INSTRUCTION "nop\n\t"
#endif
#define FTH_CODE(bytes, left)                                                                      \
    __asm__ volatile("adr x9, 2f\n\t"                                                              \
                     "sub x9, x9, %1\n\t"                                                          \
                     "br x9\n\t"                                                                   \
                     ".subsection 1\n\t"                                                           \
                     ".p2align 12\n\t"                                                             \
                     ".rept " FTH_TEXT(FTH_CODE_COUNT) "\n\t" FTH_CODE_INSTRUCTION ".endr\n"        \
                     "2:\n\t"                                                                      \
                     "subs %w0, %w0, #1\n\t"                                                       \
                     "b.eq 3f\n\t"                                                                 \
                     "br x9\n\t"                                                                   \
                     ".subsection 0\n"                                                             \
                     "3:"                                                                          \
                     : "+r"(left)                                                                  \
                     : "r"((ulong)(bytes))                                                         \
                     : "x9", "cc", "memory")

// The number of the CPU on Linux. No register that a program can read has it: Linux hides MPIDR_EL1,
// and TPIDRRO_EL0 is 0. OpenCL on a CPU executes kernels in the process of the program, so the kernel
// calls Linux: the system call getcpu (168 on 64-bit Arm; include/uapi/asm-generic/unistd.h) writes the
// number to the address in x0. A negative result is an error.
#ifdef __linux__
#define FTH_UNIT() fth_unit()
static inline uint fth_unit(void)
{
    uint cpu = 0xffffffffu;
    long result;
    __asm__ volatile("mov x0, %1\n\t"
                     "mov x1, xzr\n\t"
                     "mov x2, xzr\n\t"
                     "mov x8, #168\n\t"
                     "svc #0\n\t"
                     "mov %0, x0"
                     : "=r"(result)
                     : "r"((ulong)&cpu)
                     : "x0", "x1", "x2", "x8", "memory");
    return result < 0 ? 0xffffffffu : cpu;
}
#endif
