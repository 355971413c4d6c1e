// Prelude for 64-bit Arm CPUs. chase.cl documents what a prelude defines.
//
// Source: Arm, "Architecture Reference Manual for A-profile architecture" (DDI 0487): CNTVCT_EL0, the
// virtual counter, and ISB. The counter's frequency (CNTFRQ_EL0) is not that of the core: tens of MHz
// up to 1 GHz. The compiler's own function for a cycle counter is not used: it returns 0 with clang
// before version 16, or reads a register that the operating system does not permit.
#define FTH_CPU

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
#define FTH_OPAQUE(value) __asm__ volatile("" : "+r"(value))

// A chain of 1000 additions, each of which takes one cycle.
#define FTH_ADD_1000(value, addend)                                                                \
    __asm__ volatile(".rept 1000\n\tadd %w0, %w0, %w1\n\t.endr" : "+r"(value) : "r"(addend))

// FTH_UNIT is not defined: a program cannot read which core it runs on, because Linux hides MPIDR_EL1.
