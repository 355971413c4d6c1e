// One of STREAM's kernels (McCalpin), and kernels that write and check its arrays. OpenCL C 1.2, and
// cl_khr_fp64 for fp64. kernel_opencl.c writes these definitions before this text (struct
// fth_sweep_code):
//
//   FTH_WIDE          1: elements are double; 0: float
//   FTH_VECTOR_WORDS  elements per vector: 1, 2 or 4
//   FTH_SWEEP_UNROLL  vectors of each array that a work-item has in flight
//   FTH_LANES         number of consecutive work-items that access consecutive vectors
//   FTH_READS, FTH_READS_OTHER, FTH_WRITES   1 if the kernel reads x, reads y, writes z; otherwise 0
//   FTH_RESULT(x, y)  an element of z
//   FTH_SCALE         s, the scalar
//   FTH_CPU           defined if the device is a CPU
#if FTH_WIDE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double fth_word;
typedef ulong fth_bits;
#define FTH_AS_BITS(value) as_ulong(value)
#if FTH_VECTOR_WORDS == 2
typedef double2 fth_vector;
#else
typedef double fth_vector;
#endif
#else
typedef float fth_word;
typedef uint fth_bits;
#define FTH_AS_BITS(value) as_uint(value)
#if FTH_VECTOR_WORDS == 4
typedef float4 fth_vector;
#elif FTH_VECTOR_WORDS == 2
typedef float2 fth_vector;
#else
typedef float fth_vector;
#endif
#endif

// The sum of the words of a vector, with their bits taken as integers. Only a read needs it, and it
// has 4-byte words.
#if FTH_READS && !FTH_WRITES
static inline uint fth_sum(fth_vector vector)
{
#if FTH_VECTOR_WORDS == 4
    const uint4 bits = as_uint4(vector);
    return bits.x + bits.y + bits.z + bits.w;
#elif FTH_VECTOR_WORDS == 2
    const uint2 bits = as_uint2(vector);
    return bits.x + bits.y;
#else
    return as_uint(vector);
#endif
}
#endif

// Loads and stores of a vector. hints.cl has others.
#ifndef FTH_GET
#define FTH_DECLARE_HINTS
#define FTH_GET(vector, place) (vector) = *(place);
#define FTH_PUT(place, vector) *(place) = (vector);
#endif

#if FTH_READS
#define FTH_GET_X(vector, i) FTH_GET(vector, &x[i])
#else
#define FTH_GET_X(vector, i) (vector) = (fth_vector)0;
#endif
#if FTH_READS_OTHER
#define FTH_GET_Y(vector, i) FTH_GET(vector, &y[i])
#else
#define FTH_GET_Y(vector, i) (vector) = (fth_vector)0;
#endif

// The kernel.
//   x, y, z   the arrays: z is computed from x, or from x and y. A read has only x, a write only z;
//             the others are not accessed and may be any buffer
//   vectors   size of an array in vectors, a multiple of FTH_LANES * FTH_SWEEP_UNROLL
//   sums      for a read: 256 rows of 32 uints, to which the work-items add the sums of their words
//
// The arrays are divided into groups of FTH_LANES * FTH_SWEEP_UNROLL vectors. On GPUs, FTH_LANES
// neighbouring work-items process a group together, and the groups of a team are as far apart as there
// are teams. The local size is a multiple of FTH_LANES. On CPUs, each work-item processes one
// contiguous part of the arrays, so that the hardware prefetches it; use a local size of 1 and one
// work-item per compute unit.
kernel void fth_sweep(global const fth_vector *x, global const fth_vector *y, global fth_vector *z, ulong vectors,
                      global uint *sums)
{
#if !FTH_WRITES
    uint sum = 0;
#endif
    FTH_DECLARE_HINTS
#ifdef FTH_CPU
    const ulong items = get_global_size(0), id = get_global_id(0);
    // Parts are multiples of 64 vectors, so that two work-items do not write to the same cache line.
    const ulong part = (vectors / items + 64) / 64 * 64;
    const ulong begin = id * part, limit = begin + part, end = limit < vectors ? limit : vectors;
    for (ulong i = begin; i < end; i++) {
        fth_vector a, b;
        FTH_GET_X(a, i)
        FTH_GET_Y(b, i)
        (void)a, (void)b; // some kinds do not use them
#if FTH_WRITES
        FTH_PUT(&z[i], FTH_RESULT(a, b))
#else
        sum += fth_sum(a);
#endif
    }
#else
    const ulong lane = get_global_id(0) % FTH_LANES, team = get_global_id(0) / FTH_LANES;
    const ulong teams = get_global_size(0) / FTH_LANES;
    for (ulong i = team * (FTH_LANES * FTH_SWEEP_UNROLL) + lane; i < vectors;
         i += teams * (FTH_LANES * FTH_SWEEP_UNROLL)) {
        fth_vector a[FTH_SWEEP_UNROLL], b[FTH_SWEEP_UNROLL];
#pragma unroll
        for (uint k = 0; k < FTH_SWEEP_UNROLL; k++) {
            FTH_GET_X(a[k], i + k * FTH_LANES)
            FTH_GET_Y(b[k], i + k * FTH_LANES)
        }
#pragma unroll
        for (uint k = 0; k < FTH_SWEEP_UNROLL; k++) {
#if FTH_WRITES
            FTH_PUT(&z[i + k * FTH_LANES], FTH_RESULT(a[k], b[k]))
#else
            sum += fth_sum(a[k]);
#endif
        }
    }
#endif
#if !FTH_WRITES
    atomic_add(&sums[(get_group_id(0) & 255) * 32 + (get_local_id(0) & 31)], sum);
#endif
}

// Element i of x is the upper 12 bits of i k mod 2^64, element i of y the next 12 bits. The numbers are
// below 4096, so that all results are exact, and neighbours differ. kernel_sweep.c has the same in C.
static inline fth_word fth_element(ulong i, ulong first, ulong second, ulong third)
{
    const ulong hash = i * 0x9e3779b97f4a7c15ul;
    return (fth_word)(first * (hash >> 52) + second * (hash >> 40 & 4095) + third);
}

#ifdef FTH_CPU
#define FTH_EACH(i)                                                                             \
    const ulong part = count / get_global_size(0) + 1, begin = get_global_id(0) * part;         \
    for (ulong i = begin; i < begin + part && i < count; i++)
#else
#define FTH_EACH(i) for (ulong i = get_global_id(0); i < count; i += get_global_size(0))
#endif

// Writes an array of `count` elements: first * x + second * y + third.
kernel void fth_write(global fth_word *array, ulong count, ulong first, ulong second, ulong third)
{
    FTH_EACH(i)
        array[i] = fth_element(i, first, second, third);
}

// Adds the number of wrong elements to `*faults`.
kernel void fth_check(global const fth_word *array, ulong count, ulong first, ulong second, ulong third,
                      global uint *faults)
{
    uint wrong = 0;
    FTH_EACH(i)
        wrong += FTH_AS_BITS(array[i]) != FTH_AS_BITS(fth_element(i, first, second, third));
    if (wrong)
        atomic_add(faults, wrong);
}

// Subtracts the sum of all expected elements, with their bits taken as 32-bit integers, from `*faults`.
kernel void fth_total(ulong count, ulong first, ulong second, ulong third, global uint *faults)
{
    uint sum = 0;
    FTH_EACH(i)
        sum += (uint)FTH_AS_BITS(fth_element(i, first, second, third));
    atomic_sub(faults, sum);
}
