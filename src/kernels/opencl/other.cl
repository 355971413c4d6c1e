// Definitions for devices that fathom has no prelude for, and those that a prelude leaves out. This
// file follows the prelude of the vendor; it comes alone for FTH_OPENCL_OTHER. A prelude may define:
//
//   FTH_CLOCK(ticks, value, note)  sets `ticks` to the clock. It is read after the load that returned
//                             `value`, and before a load whose address is computed from `value`. `note`
//                             is a string literal: the name of the path and "begin" or "end", which
//                             assembly contains as a comment
//   FTH_CLOCK_SCALAR(...)     the same, for the path constant
//   FTH_UNIFORM(value)        the value, which is the same in all work-items, in a register for scalars
//   FTH_TICKS                 type of `ticks`
//   FTH_CLOCK_BITS            number of bits of the clock that are valid
//   FTH_LOAD(base, offset)    loads a uint through all caches; `base` is a global const char *
//   FTH_LOAD_PAST(base, offset)      the same past the first cache
//   FTH_LOAD_CONSTANT(base, offset)  from constant memory; `base` is a constant char *
//   FTH_LOAD_SHARED(base, offset)    from local memory; `base` is a local const char *
//   FTH_ORIGIN(base)          what links in global memory count from (0: from `base`)
//   FTH_SHARED_ORIGIN(base)   what links in local memory count from (0: from `base`)
//   FTH_OPAQUE(value)         lets the compiler forget what it knows about `value`
//   FTH_ADD_1000(value, addend)      a chain of 1000 additions of one cycle each
//   FTH_UNIT()                number of the unit (compute unit, core) that executes the work-item
//   FTH_TIME(time)            sets `time`, a ulong, to a clock that all units share
//   FTH_CODE(bytes, left)     executes the last `bytes` bytes of the code that fetch.cl describes `left`
//                             times, and sets `left`, a uint, to 0. Without it, instruction caches are not
//                             measured
//   FTH_TIME_NS               nanoseconds per tick of that clock; 0: it is the clock of FTH_CLOCK

// Without a clock, samples are 0, and the host times whole kernels.
#ifdef FTH_CLOCK
#define FTH_HAS_CLOCK 1
#else
#define FTH_HAS_CLOCK 0
#define FTH_CLOCK(ticks, value, note) ((ticks) = 0)
#endif
#ifndef FTH_CLOCK_SCALAR
#define FTH_CLOCK_SCALAR FTH_CLOCK
#endif
#ifndef FTH_UNIFORM
#define FTH_UNIFORM(value) (value)
#endif
#ifndef FTH_TICKS
#define FTH_TICKS ulong
#endif
#ifndef FTH_CLOCK_BITS
#define FTH_CLOCK_BITS 64
#endif
#if FTH_CLOCK_BITS < 64
#define FTH_CLOCK_MASK ((1ul << FTH_CLOCK_BITS) - 1)
#else
#define FTH_CLOCK_MASK 0xfffffffffffffffful
#endif

#ifndef FTH_LOAD
#define FTH_LOAD(base, offset) (*(global const uint *)((base) + (offset)))
#endif
#ifdef FTH_LOAD_PAST
#define FTH_HAS_PAST 1
#else
#define FTH_HAS_PAST 0
#endif
#ifndef FTH_LOAD_CONSTANT
#define FTH_LOAD_CONSTANT(base, offset) (*(constant uint *)((base) + (offset)))
#endif
#ifndef FTH_LOAD_SHARED
#define FTH_LOAD_SHARED(base, offset) (*(local const uint *)((base) + (offset)))
#endif
#ifndef FTH_ORIGIN
#define FTH_ORIGIN(base) 0
#endif
#ifndef FTH_SHARED_ORIGIN
#define FTH_SHARED_ORIGIN(base) 0
#endif

#ifdef FTH_UNIT
#define FTH_HAS_UNIT 1
#else
#define FTH_HAS_UNIT 0
#define FTH_UNIT() 0xffffffffu
#endif

#ifdef FTH_TIME
#define FTH_HAS_TIME 1
#else
#define FTH_HAS_TIME 0
#define FTH_TIME(time) ((time) = 0)
#endif
#ifndef FTH_TIME_NS
#define FTH_TIME_NS 0
#endif

#ifndef FTH_OPAQUE
#define FTH_OPAQUE(value) ((void)0)
#endif

// The compiler does not replace this chain by a formula. One round takes more than a cycle.
#ifdef FTH_ADD_1000
#define FTH_ADDS_ARE_CYCLES 1
#else
#define FTH_ADDS_ARE_CYCLES 0
#define FTH_ADD_1000(value, addend)                   \
    do {                                              \
        for (uint fth_i = 0; fth_i < 1000; fth_i++) { \
            (value) = ((value) ^ fth_i) + (addend);   \
            FTH_OPAQUE(value);                        \
        }                                             \
    } while (0)
#endif
