/* Launches of kernels from PTX files, on the PTX engine or on a device. */
#ifndef FATHOM_LAUNCHES_H
#define FATHOM_LAUNCHES_H

#include <fathom/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A list of kernel launches, called steps, with their arguments and the buffers that they share.
 * The kernels come from one module of PTX. The steps run one after the other, on fathom's PTX
 * engine, which needs no GPU, or on a device. */
struct fth_launch;

/* Reads a PTX file and creates one step that launches `kernel`; NULL selects the only kernel of the
 * file. `kernel` is the name in the PTX file, the C++ name with or without parameters, the C++ name
 * without template arguments, or the beginning of one of these; it must identify one kernel. The
 * file can also be a fat binary, or a program, library or object file with PTX, of which the module
 * that has the kernel is read (docs/programs/fat-binaries.md). Add arguments with
 * fth_launch_argument; the grid is one block of 32 threads unless fth_launch_set_shape changes it.
 * `seed` determines the contents of random buffers. FTH_INVALID: the file is not PTX that the
 * engine implements, or has no kernel. FTH_NOT_FOUND: there is no such file or kernel, or `kernel`
 * is NULL and the file has several, or several modules of the file have it. FTH_UNSUPPORTED: the
 * file has the kernel as machine code only. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_create(const char *path, const char *kernel,
                                                       uint64_t seed, struct fth_launch **launch,
                                                       struct fth_error *error);
/* Reads a launch file (docs/launch-files.md). A launch file can define named numbers, called sizes,
 * such as N, and compute buffers, grids and arguments from them. Each of `sizes` has the form
 * "NAME=VALUE" and replaces the value that the file gives to the size NAME. The files that it names
 * must be regular files below its folder; fth_launch_open has an option to allow others. Statuses
 * are as for fth_launch_create; also FTH_INVALID if the file has no size NAME, or names a file that
 * it may not read. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_read(const char *path, const char *const *sizes,
                                                     size_t size_count, struct fth_launch **launch,
                                                     struct fth_error *error);
/* Releases a launch. */
FTH_API void fth_launch_destroy(struct fth_launch *launch);
/* Appends an argument to the step of fth_launch_create. It is a number ("i32:4096", "f16:1.5", or
 * "4096" if the C++ name of the kernel or the PTX states the type of the parameter), a null pointer
 * ("null"), a struct with its members ("{i32:1,f32:2}"), its bytes ("bytes:00ff10"), or a new
 * buffer with its initial contents ("ptr:f32[64*64]=random" or "ptr:f32[64][64]=random"; zeros if
 * none are given). With empty brackets, the buffer is as large as its file
 * ("ptr:u32[]=file:data.bin"). FTH_INVALID: the text has none of these forms, or the file has too
 * few bytes. FTH_NOT_FOUND: there is no such file. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_argument(struct fth_launch *launch,
                                                         const char *text, struct fth_error *error);

/* Sets the contents of a variable of the module (__constant__ or __device__) before the step runs:
 * "NAME=f32[64]=random", "NAME=i32:5", or "NAME=1.5" if the PTX states the type of the variable.
 * The variable is then one of the buffers of the launch, with this name, after those of the
 * arguments so far. With "NAME" or "NAME=f32[64]", its contents stay those that the PTX states.
 * NAME is the name in the PTX file or in C++. FTH_NOT_FOUND: there is no such variable or file.
 * FTH_INVALID: the text has none of these forms, or the variable is too small. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_variable(struct fth_launch *launch,
                                                         const char *text, struct fth_error *error);

/* The shape of a kernel launch. Initialise it with FTH_LAUNCH_SHAPE. */
struct fth_launch_shape {
    size_t size;                /* of this struct in bytes */
    uint32_t grid[3], block[3]; /* blocks and threads in x, y and z; 0 means 1 */
    size_t shared_bytes;        /* dynamic shared memory per block */
    /* Blocks per cluster in x, y and z; 0 means 1. All 0: as the kernel requires, or no clusters.
     */
    uint32_t cluster[3];
};
/* Initialises a struct fth_launch_shape; the arguments are designated initialisers. */
#define FTH_LAUNCH_SHAPE(...) FTH_OPTIONS(struct fth_launch_shape, __VA_ARGS__)

/* Sets the shape of the first step. Meant for launches of fth_launch_create; a launch file states
 * the shapes itself. FTH_INVALID: shape->size is wrong. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_set_shape(struct fth_launch *launch,
                                                          const struct fth_launch_shape *shape,
                                                          struct fth_error *error);

/* How fth_launch_open makes a launch. Initialise it with FTH_LAUNCH_OPTIONS; members that are 0 or
 * NULL have their default. */
struct fth_launch_options {
    size_t size; /* of this struct in bytes */
    /* For launch files: texts "NAME=VALUE", as for fth_launch_read. */
    const char *const *sizes;
    size_t size_count;
    /* For PTX files and programs with PTX. */
    const char *kernel;           /* as for fth_launch_create */
    uint32_t grid[3], block[3];   /* blocks and threads; default: 1 and 32, in y and z 1 */
    size_t shared_bytes;          /* dynamic shared memory per block */
    const char *const *arguments; /* of the kernel, as for fth_launch_argument */
    size_t argument_count;
    const uint64_t *seed; /* of random buffers; default: 1 */
    /* For launch files: they may name any file. Default: only files below their own folder. */
    bool allow_files;
    /* For PTX files: blocks per cluster in x, y and z. NULL: as the kernel requires, or no
     * clusters. */
    const uint32_t *cluster;
    /* For PTX files with several kernels: without `kernel`, make a step of each kernel, for
     * fth_launch_skeleton, instead of failing. */
    bool all_kernels;
    /* For capsules: as in struct fth_replay_options. */
    const char *kernels;
    uint64_t first_launch, end_launch;
    uint64_t max_memory_bytes;
    /* For PTX files and programs with PTX: contents of variables, as for fth_launch_variable. */
    const char *const *variables;
    size_t variable_count;
    /* For PTX files and programs with PTX: initial contents of arguments that are buffers, such as
     * "ptr:f32[64]", in the memory of the caller: [argument_count] pointers, each NULL or with as
     * many bytes as the buffer. They replace contents that the argument states. The memory must
     * stay valid as long as the launch, which does not write to it; fth_launch_copy reads the
     * results. If the memory of an argument lies within that of another one, both have the same
     * buffer, as on a GPU where both point to the same memory. NULL: no argument has such contents.
     * FTH_INVALID: an argument with contents is not a buffer, or two of them share only a part of
     * their memory. */
    const void *const *contents;
    /* Trace kernels without the accesses to local memory that fathom estimates for the registers
     * that the assembler spills (docs/model/spills.md). Also for capsules. */
    bool no_spills;
};
/* Initialises a struct fth_launch_options; the arguments are designated initialisers. */
#define FTH_LAUNCH_OPTIONS(...) FTH_OPTIONS(struct fth_launch_options, __VA_ARGS__)

/* Reads a launch file, a PTX file or a program with PTX; fathom recognises which by the content.
 * "-" is standard input. `options` may be NULL. FTH_INVALID: also if an option does not apply to
 * this kind of file, or the file is a trace. FTH_UNSUPPORTED: also if it is a capsule
 * (fth_capsule_replay). Otherwise the statuses of fth_launch_read,
 * fth_launch_create and fth_launch_argument. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_open(const char *path,
                                                     const struct fth_launch_options *options,
                                                     struct fth_launch **launch,
                                                     struct fth_error *error);

/* Returns whether a launch of a PTX file lacks what it needs to run: it has several steps, or a
 * kernel with parameters and no arguments. */
FTH_API bool fth_launch_is_incomplete(const struct fth_launch *launch);
/* Writes a launch file for the kernels of an incomplete launch, which the user has to edit: it has
 * a buffer for each parameter that is a pointer, and placeholders for the others. The caller
 * releases *text with fth_free. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_skeleton(const struct fth_launch *launch,
                                                         char **text, size_t *size,
                                                         struct fth_error *error);

/* Returns the number of steps. */
FTH_API size_t fth_launch_step_count(const struct fth_launch *launch);
/* Returns the name of the kernel of a step, as in the PTX file; NULL past the last. */
FTH_API const char *fth_launch_kernel(const struct fth_launch *launch, size_t step);
/* Returns the value of a size (see fth_launch_read); 0 if there is none with this name. */
FTH_API double fth_launch_size(const struct fth_launch *launch, const char *name);

/* When the PTX engine executes the asynchronous copies of a kernel. A kernel that waits for its
 * copies gives the same results with all of them. */
enum fth_copy_order {
    FTH_COPY_LATE,  /* as late as the program allows: when a thread waits */
    FTH_COPY_EARLY, /* when the instruction is executed */
    FTH_COPY_RANDOM /* at a random point in between */
};

/* How fth_launch_run and fth_launch_trace run a launch. Initialise it with FTH_RUN_OPTIONS. */
struct fth_run_options {
    size_t size;               /* of this struct in bytes */
    unsigned threads;          /* host threads of the PTX engine; 0: one per core */
    const struct fth_log *log; /* `interrupted` is called between steps and while a kernel runs in
                                * the PTX engine or on a simulated GPU */
    /* Device to run on: "cuda:0", "sim:h200". NULL: the PTX engine. fth_launch_trace ignores it. */
    const char *device;
    /* Maximum number of instructions that a warp may issue in one launch, in the PTX engine and on
     * a simulated GPU; 0: 2^30. All warps of a launch together may issue 1,024 times as many. */
    uint64_t max_instructions;
    /* Time after which a real GPU counts as hung, in seconds per launch; 0: 3 s. */
    double max_seconds;
    /* Receives the output of printf of the kernels that the PTX engine runs, in the order of the
     * blocks. It is never called by two threads at the same time. The text is not terminated. NULL:
     * the output is dropped, and the log says so. */
    void (*print)(void *user, const char *text, size_t size);
    void *print_user; /* passed to `print` */
    /* For the PTX engine. fth_launch_trace ignores them; with a device, they must be 0. */
    enum fth_copy_order copy_order;
    uint64_t copy_seed; /* for FTH_COPY_RANDOM; the results do not depend on `threads` */
    /* Look for accesses that race with an asynchronous operation in flight, because a wait, a
     * barrier or a fence is missing. If there are any, the log receives them as warnings, and
     * fth_launch_run fails with FTH_INVALID. */
    bool check_async;
    /* Counts the memory accesses of each step, for fth_launch_counter. Only the PTX engine counts;
     * with a device, and in fth_launch_trace, it has no effect. */
    bool counts;
    /* Like check_async, and also look for accesses of different threads to the same bytes of shared
     * memory that race with each other, because a barrier is missing. */
    bool check_races;
};
/* Initialises a struct fth_run_options; the arguments are designated initialisers. */
#define FTH_RUN_OPTIONS(...) FTH_OPTIONS(struct fth_run_options, __VA_ARGS__)

/* Executed instructions, counted by the PTX engine; 0 if a device ran the kernels. */
struct fth_launch_totals {
    uint64_t warp_instructions;   /* each counts once per warp */
    uint64_t thread_instructions; /* each counts once per active thread */
};
/* Allocates the buffers with their initial contents and runs all steps. Running again starts from
 * the initial contents. `options` and `totals` may be NULL. FTH_INVALID: the arguments do not match
 * the kernel, or the kernel is faulty (an access out of bounds, a barrier that cannot complete,
 * more instructions than `max_instructions`); the PTX engine's error names kernel, line, block and
 * thread. FTH_INTERRUPTED: the current step was stopped, and the remaining ones were not run. With
 * a device, also the statuses of fth_device_open. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_run(struct fth_launch *launch,
                                                    const struct fth_run_options *options,
                                                    struct fth_launch_totals *totals,
                                                    struct fth_error *error);

/* Returns true if the last fth_launch_run opened its device and began to run the launch. Returns
 * false if it could not open the device, or if fth_launch_run was not called. */
FTH_API bool fth_launch_was_started(const struct fth_launch *launch);
/* Returns the time of a step in the last run, in seconds; NAN unless a real GPU ran it. */
FTH_API double fth_launch_seconds(const struct fth_launch *launch, size_t step);

/* Returns the name of a counter, counted from 0; NULL past the last. It is the name of the metric
 * of ncu (Nsight Compute) that counts the same on a GPU, such as
 * "l1tex__t_sectors_pipe_lsu_mem_global_op_ld". docs/results/counters-h200.md describes the
 * counters. */
FTH_API const char *fth_counter_name(size_t counter);
/* Returns the value of a counter for a step of the last run. FTH_UNAVAILABLE: the run did not
 * count. FTH_NOT_FOUND: there is no such step or counter. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_counter(const struct fth_launch *launch,
                                                        size_t step, size_t counter,
                                                        uint64_t *value, struct fth_error *error);

/* The properties of a buffer. The texts are valid as long as the launch. */
struct fth_launch_view {
    /* In the launch file; of a variable; or "argument-1.2" for the second buffer in the struct that
     * is argument 1. NULL: an argument of fth_launch_argument. */
    const char *name;
    size_t number;        /* position of that argument, from 1; 0 if `name` is set */
    const char *type;     /* type of an element: "f32" */
    size_t element_bytes; /* bytes per element */
    uint64_t count;       /* number of elements */
};
/* Returns the number of buffers. */
FTH_API size_t fth_launch_buffer_count(const struct fth_launch *launch);
/* Describes a buffer after a run. *values gets its first `max_values` values (0: all) as text,
 * separated by spaces. `index` must be less than fth_launch_buffer_count. FTH_UNAVAILABLE: the
 * launch was not run. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_show(const struct fth_launch *launch, size_t index,
                                                     uint64_t max_values,
                                                     struct fth_launch_view *view, char **values,
                                                     struct fth_error *error);
/* Describes a buffer in *view and, after a run, copies its first `size` bytes to `memory`. With a
 * size of 0, the launch need not have been run, and `memory` may be NULL. FTH_NOT_FOUND: there is
 * no buffer with this index. FTH_INVALID: the buffer has fewer bytes. FTH_UNAVAILABLE: the launch
 * was not run. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_copy(const struct fth_launch *launch, size_t index,
                                                     struct fth_launch_view *view, void *memory,
                                                     size_t size, struct fth_error *error);
/* Copies the contents of a buffer of the launch file, after a run. *values gets view->count
 * elements of view->element_bytes; release it with fth_free. FTH_NOT_FOUND: there is no buffer with
 * this name. FTH_UNAVAILABLE: the launch was not run. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_values(const struct fth_launch *launch,
                                                       const char *name,
                                                       struct fth_launch_view *view, void **values,
                                                       struct fth_error *error);
/* Copies the initial contents of a buffer, that is, those before a run. The launch need not have
 * been run. Otherwise as fth_launch_values. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_first_values(struct fth_launch *launch,
                                                             const char *name,
                                                             struct fth_launch_view *view,
                                                             void **values,
                                                             struct fth_error *error);

/* Writes the contents of each buffer, after a run, to a file in `folder`: NAME.bin, or
 * argument-NUMBER.bin for a buffer without a name. The files replace existing ones and have the
 * form that "file" in a launch file expects. Creates the folder if it does not exist.
 * FTH_UNAVAILABLE: the launch was not run. FTH_IO: a file cannot be written. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_save(const struct fth_launch *launch,
                                                     const char *folder, struct fth_error *error);

/* The result of comparing a buffer with what the launch file expects. */
struct fth_verdict {
    const char *buffer; /* its name */
    bool matches;
    char text[192]; /* the result in words */
};
/* Returns the number of expectations that apply to the current sizes. (In a launch file, an
 * expectation can be limited to certain sizes.) */
FTH_API size_t fth_launch_expectation_count(const struct fth_launch *launch);
/* Compares a buffer with its expectation, after a run. The result is FTH_OK also if they do not
 * match. FTH_NOT_FOUND: there is no such expectation, or its file does not exist. FTH_INVALID: its
 * file has the wrong size. FTH_UNAVAILABLE: the launch was not run. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_verify(const struct fth_launch *launch,
                                                       size_t index, struct fth_verdict *verdict,
                                                       struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
