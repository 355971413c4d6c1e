/* A lowered request: how a given GPU executes a request. fth_request_lower computes it once, from
 * the request and the properties of the GPU; the code that executes the request only reads it. */
#ifndef FTH_LOWERED_H
#define FTH_LOWERED_H

#include "device/machine.h"

/* The kind of memory that an array of a chase lies in. */
enum fth_memory { FTH_MEMORY_GLOBAL, FTH_MEMORY_TEXTURE, FTH_MEMORY_CONSTANT, FTH_MEMORY_SHARED };

/* One step of a chase. */
struct fth_lowered_step {
    const struct fth_step *step;
    enum fth_memory memory;
    /* In global memory and textures: the chain that the array of the step holds, and the bytes that
     * the array must have at least. FTH_STEP_TOUCH uses the array of another step, so the chain is
     * that of the other step. */
    const struct fth_chain *array_chain;
    uint64_t array_bytes;
    /* Distance of the first load from the start of the array: in bytes, for a texture in texels. */
    uint64_t first;
    uint64_t first_sample; /* index of the first sample of the step in the answer */
};

struct fth_lowered_chase {
    struct fth_lowered_step steps[FTH_MAX_STEPS];
    size_t step_count;
    /* Index of the first step that walks an array with a header (FTH_FIRST_HEADER_ARRAY) with
     * FTH_PATH_CG, the path of the TLB probes; FTH_MAX_STEPS: none. */
    size_t header_step;
    bool has_constants; /* a chain lies in the constant bank */
    bool alone;         /* the request must not share a launch */
    double hops;        /* of all steps and passes */
};

struct fth_lowered_stream {
    uint64_t arrays_bytes; /* all source arrays, or all target arrays */
    uint64_t piece_bytes;  /* all source and target arrays */
    uint64_t pool_bytes;   /* the memory that the stream needs; 0: no global memory */
};

struct fth_lowered_operate {
    /* The hardware distributes blocks over all SMs in turn. For several blocks per SM, all SMs
     * therefore receive blocks, and those on SMs with a number of `sms` or above exit at once. */
    bool several_per_sm;
    uint64_t out_bytes;    /* the records of all blocks */
    uint64_t memory_bytes; /* the words of all blocks in global memory */
    uint64_t block_stride; /* as the kernel expects it */
};

struct fth_lowered_sweep {
    struct fth_sweep_code code;
    bool has_y;            /* the kernel uses the array y */
    uint64_t piece_bytes;  /* all arrays */
    uint64_t pool_bytes;   /* the memory that the sweep needs */
    uint64_t stride_bytes; /* by which a thread advances */
};

struct fth_lowered_copies {
    uint64_t stage_bytes;              /* from one stage in shared memory to the next */
    uint64_t step_bytes;               /* from one copy of a block in global memory to its next */
    uint64_t array_bytes;              /* of all blocks */
    uint32_t box[FTH_TENSOR_MAX_RANK]; /* of a tensor copy, in elements of 4 bytes */
};

struct fth_lowered {
    const struct fth_request *request;
    uint64_t sample_count; /* in the answer */
    /* The launch, apart from the kernel and its arguments. A launch of several chases has the
     * largest number of threads of all. 0 where the family has no launch. */
    uint32_t blocks, threads;
    uint32_t cluster;      /* blocks per cluster; 0: no clusters */
    uint64_t shared_bytes; /* dynamic shared memory per block */
    /* A launch that takes longer counts as hung. 0 for chases, whose limit is that of the group. */
    double time_limit_s;
    union {
        struct fth_lowered_chase chase;
        struct fth_lowered_stream stream;
        struct fth_lowered_operate operate;
        struct fth_lowered_sweep sweep;
        struct fth_lowered_copies copies;
    };
};

#endif
