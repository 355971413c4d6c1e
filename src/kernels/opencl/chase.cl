// Pointer chases. One work-item executes all steps, one after the other. OpenCL C 1.2.
//
// A link is a byte offset of 32 bits from the start of the memory of its path, not a pointer: the load
// instructions of GPUs and CPUs add such an offset to a base by themselves, and OpenCL 1.2 permits it.
//
//   steps       8 ulongs per step:
//               [0] kind: 0 walk, 1 time passes, 2 time hops, 3 build a chain in local memory
//               [1] path: 0 data, 1 past the first cache, 4 constant, 5 local (enum fth_path)
//               [2] passes          [3] byte offset of the first element    [4] number of elements
//               [5] index of the first sample    [6] stride in bytes, and   [7] step in elements, for kind 3
//   memory      links of the paths 0 and 1; at most 4 GiB
//   constants   links of the path 4
//   shared      links of the path 5, which kind 3 writes
//   samples     ticks of the clock: one per pass (kind 1), or `count` per pass (kind 2). Without a clock: 0
//   unit        [0] the unit that executed the work-item at the end; all ones: unknown
//               [1] depends on all loads, so that the compiler keeps them
//
// A step with a path that the device does not have is skipped. A pass begins at the first element.

// The number of consecutive loads per iteration of the loop of a pass, as in kernels.c.
#define FTH_UNROLL 32
#define FTH_REPEAT_4(hop) hop hop hop hop
#define FTH_REPEAT_32(hop)                                                         \
    FTH_REPEAT_4(hop) FTH_REPEAT_4(hop) FTH_REPEAT_4(hop) FTH_REPEAT_4(hop)        \
    FTH_REPEAT_4(hop) FTH_REPEAT_4(hop) FTH_REPEAT_4(hop) FTH_REPEAT_4(hop)

// Keeps a loop from being unrolled further.
#ifdef __clang__
#define FTH_ROLLED _Pragma("unroll 1")
#else
#define FTH_ROLLED
#endif

// A clock with few bits is read more often: before it can overflow, if no hop takes more than 8192
// cycles (4 us at 2 GHz; a miss of all TLBs takes less). A pass adds the differences.
#if FTH_CLOCK_BITS < 64
#define FTH_HOPS_PER_READING (1u << (FTH_CLOCK_BITS - 13))
#else
#define FTH_HOPS_PER_READING 0xffffffffu
#endif

// The functions are copied into each kernel that calls them, so that a loop of loads is not behind a call.
#define FTH_INLINE static inline __attribute__((always_inline))

// Defines the functions of a path, whose memory has the type BASE:
//   fth_walk_NAME   follows `count` links from the offset `p`, and returns the last one
//   fth_pass_NAME   times one walk; returns its ticks
//   fth_hops_NAME   times each hop of one walk
// `fth_zero` is 0, but the compiler does not know that. Each pass uses the result of the pass before
// (`last`) together with it, so that passes cannot be merged or dropped.
#define FTH_PATH(NAME, BASE, LOAD, CLOCK, START)                                                         \
    FTH_INLINE uint fth_walk_##NAME(BASE base, uint p, uint count)                       \
    {                                                                                              \
        FTH_ROLLED                                                                                 \
        for (uint groups = count / FTH_UNROLL; groups; groups--) {                                 \
            FTH_REPEAT_32(p = LOAD(base, p);)                                                      \
        }                                                                                          \
        FTH_ROLLED                                                                                 \
        for (uint rest = count % FTH_UNROLL; rest; rest--)                                         \
            p = LOAD(base, p);                                                                     \
        return p;                                                                                  \
    }                                                                                              \
    FTH_INLINE ulong fth_pass_##NAME(BASE base, uint first, uint count, uint fth_zero,   \
                                        uint *last)                                                \
    {                                                                                              \
        ulong sum = 0;                                                                             \
        uint p = START(first + (*last & fth_zero));                                                \
        while (count) {                                                                            \
            const uint hops = count < FTH_HOPS_PER_READING ? count : FTH_HOPS_PER_READING;         \
            FTH_TICKS begin, end;                                                                  \
            CLOCK(begin, p, "begin " #NAME);                                                       \
            p = fth_walk_##NAME(base, p, hops);                                                    \
            CLOCK(end, p, "end " #NAME);                                                           \
            sum += (ulong)(end - begin) & FTH_CLOCK_MASK;                                          \
            count -= hops;                                                                         \
        }                                                                                          \
        *last = p;                                                                                 \
        return sum;                                                                                \
    }                                                                                              \
    FTH_INLINE void fth_hops_##NAME(BASE base, uint first, uint count, uint fth_zero,    \
                                       uint *last, global ulong *samples)                          \
    {                                                                                              \
        uint p = START(first + (*last & fth_zero));                                                \
        for (uint i = 0; i < count; i++) {                                                         \
            FTH_TICKS begin, end;                                                                  \
            CLOCK(begin, p, "begin hop " #NAME);                                                   \
            p = LOAD(base, p);                                                                     \
            CLOCK(end, p, "end hop " #NAME);                                                       \
            samples[i] = (ulong)(end - begin) & FTH_CLOCK_MASK;                                    \
        }                                                                                          \
        *last = p;                                                                                 \
    }

FTH_PATH(data, global const char *, FTH_LOAD, FTH_CLOCK, )
#if FTH_HAS_PAST
FTH_PATH(past, global const char *, FTH_LOAD_PAST, FTH_CLOCK, )
#endif
FTH_PATH(constant, constant char *, FTH_LOAD_CONSTANT, FTH_CLOCK_SCALAR, FTH_UNIFORM)
FTH_PATH(shared, local const char *, FTH_LOAD_SHARED, FTH_CLOCK, )

// All passes of a step. Walks are timed as well, so that they have the same loop; only passes (kind 1)
// have samples.
#define FTH_STEP(NAME, base)                                                                       \
    for (uint pass = 0; pass < passes; pass++) {                                                   \
        if (kind == 2) {                                                                           \
            fth_hops_##NAME(base, first, count, fth_zero, &last, sample + (ulong)pass * count);    \
        } else {                                                                                   \
            const ulong ticks = fth_pass_##NAME(base, first, count, fth_zero, &last);              \
            if (kind == 1)                                                                         \
                sample[pass] = ticks;                                                              \
        }                                                                                          \
    }

// Element i * step modulo count links to the next one of this order. With a step of 1 the chain is
// not closed: the last element links to where the next one would be.
static void fth_build_shared(local char *shared, uint first, uint count, uint stride, uint step)
{
    const uint origin = FTH_SHARED_ORIGIN(shared) + first;
    for (uint i = 0; i < count; i++) {
        const uint here = (uint)((ulong)i * step % count);
        uint next = here + step;
        if (step != 1 && next >= count)
            next -= count;
        *(local uint *)(shared + first + here * stride) = origin + next * stride;
    }
}

kernel void fth_chase(global const ulong *steps, uint step_count, global char *memory, constant char *constants,
                      local uint *shared, global ulong *samples, global uint *unit)
{
    uint last = 0;
    for (uint i = 0; i < step_count; i++, steps += 8) {
        // The upper half of the path is always 0.
        const uint kind = (uint)steps[0], path = (uint)steps[1], fth_zero = (uint)(steps[1] >> 32);
        const uint passes = (uint)steps[2], count = (uint)steps[4];
        uint first = (uint)steps[3];
        global ulong *sample = samples + steps[5];
        if (kind == 3) {
            fth_build_shared((local char *)shared, first, count, (uint)steps[6], (uint)steps[7]);
        } else if (path == 0) {
            first += FTH_ORIGIN(memory);
            FTH_STEP(data, (global const char *)memory)
#if FTH_HAS_PAST
        } else if (path == 1) {
            first += FTH_ORIGIN(memory);
            FTH_STEP(past, (global const char *)memory)
#endif
        } else if (path == 4) {
            FTH_STEP(constant, constants)
        } else if (path == 5) {
            first += FTH_SHARED_ORIGIN(shared);
            FTH_STEP(shared, (local const char *)shared)
        }
    }
    unit[0] = FTH_UNIT();
    unit[1] = last;
}

// A chain of `rounds` * 1000 dependent additions, to calibrate the clock: out[0] and out[1] are the
// ticks before and after it; out[2] is the result. If fth_facts says so, each addition takes one cycle
// of the core. On GPUs, the clock counts cycles itself, and the chain only has to take long enough to
// compare the clock with the host's. out[1] must be 0 before.
kernel void fth_pace(uint rounds, global ulong *out)
{
    uint value = (uint)out[2];
    const uint addend = (uint)out[0] | 1u, fth_zero = (uint)out[1];
    FTH_TICKS begin, end;
    FTH_CLOCK(begin, value, "begin pace");
    out[0] = begin;
    ulong sum = 0;
    for (uint i = 0; i < rounds; i++) {
        FTH_ADD_1000(value, addend);
#if FTH_CLOCK_BITS < 64
        FTH_CLOCK(end, value, "pace");
        sum += (ulong)(end - begin) & FTH_CLOCK_MASK;
        begin = end;
#endif
    }
#if FTH_CLOCK_BITS == 64
    FTH_CLOCK(end, value, "end pace");
    sum = end - begin;
#endif
    out[1] = out[0] + sum;
    out[2] = value + fth_zero;
}

// What must be added to the links of the paths 0 and 1: out[0]. Other than 0 only with NVIDIA's GPUs
// and the option -DFTH_ORIGIN_IN_LINKS. Then out[1] is 1 if the memory of `bytes` bytes crosses a
// multiple of 4 GiB and cannot be used; otherwise it is 0. The offsets in `steps`
// stay relative to the memory.
kernel void fth_origin(global const char *memory, ulong bytes, global uint *out)
{
    const uint origin = FTH_ORIGIN(memory);
    out[0] = origin;
    out[1] = origin && bytes && (origin + (bytes - 1)) >> 32 != 0;
}

// What this device has: [0] a clock, [1] its valid bits, [2] the path past the first cache, [3] the
// number of the unit, [4] whether an addition of fth_pace takes one cycle, [5] a clock that all units
// share, [6] the nanoseconds per tick of that clock; 0: it is the clock of [0]. 0: no.
kernel void fth_facts(global uint *out)
{
    out[0] = FTH_HAS_CLOCK;
    out[1] = FTH_CLOCK_BITS;
    out[2] = FTH_HAS_PAST;
    out[3] = FTH_HAS_UNIT;
    out[4] = FTH_ADDS_ARE_CYCLES;
    out[5] = FTH_HAS_TIME;
    out[6] = FTH_TIME_NS;
}
