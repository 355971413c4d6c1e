/* Launches: kernels of a PTX file with their buffers, arguments and expected results
 * (docs/launch-files.md), and the executors that run them.
 */
/* clang-format off */
/*
 *   scalar.c             number types (f32, s32, ...) and their values as text
 *   launch_expression.c  arithmetic such as "N*N/32" and "(i % 7) / 7"
 *   launch_open.c        opens a launch file or a PTX file, and checks which options apply to it
 *   ../launch_memory.c   buffers whose contents are in the memory of the caller
 *   launch_ptx.c         parses PTX, and finds it in fat binaries and ELF files
 *   launch_build.c       launches and buffers as given on the command line
 *   launch_kernel.c      finds kernels by their names, and describes their parameters
 *   launch_argument.c    arguments of kernels
 *   launch_variable.c    contents of the variables of a module
 *   launch_skeleton.c    writes a launch file for the user to edit
 *   launch_file.c        launches, buffers and arguments from a launch file
 *   launch_tensor_map.c  tensor maps from a launch file
 *   launch_texture.c     textures and surfaces from a launch file
 *   launch_reader.c      keys and numbers of launch files (launch_reader.h)
 *   launch_data.c        reads the files that a launch names, if it may
 *   launch_save.c        writes the contents of buffers to files
 *   fill.c               initial contents of buffers
 *   launch_run.c         runs the launches in order
 *   ../executors/engine_executor.c  executor: the PTX engine
 *   ../executors/device_executor.c  executor: a GPU or a simulated GPU
 *   verify.c             compares buffers with their expected contents
 */
/* clang-format on */
#ifndef FTH_TRACE_LAUNCH_H
#define FTH_TRACE_LAUNCH_H

#include "ptx/async/tensor_map.h"
#include "ptx/ptx.h"

/* ---- scalar.c ---- */

enum fth_scalar_format {
    FTH_SCALAR_INTEGER,
    FTH_SCALAR_FLOAT,
    FTH_SCALAR_DOUBLE,
    FTH_SCALAR_F16,
    FTH_SCALAR_BF16,
    FTH_SCALAR_E4M3,
    FTH_SCALAR_E5M2
};

/* A number type of buffers and arguments. The alias is the second name of the same type, such as
 * i32 for s32; NULL: there is none. */
struct fth_scalar_type {
    const char *name, *alias;
    unsigned bytes;
    bool is_signed;
    enum fth_scalar_format format;
};

bool fth_scalar_is_float(const struct fth_scalar_type *element);

/* Finds a type by the first `size` characters of `name`, which may be its name or its alias. NULL:
 * there is no such type. */
const struct fth_scalar_type *fth_scalar_type_find(const char *name, size_t size);
/* Finds the type of the numbers of a C++ type, such as f32 for float and for float4, which has 4
 * lanes. NULL: its values are no numbers, or it is not known. */
const struct fth_scalar_type *fth_scalar_type_of_cpp(const char *name, size_t size,
                                                     unsigned *lanes);
/* Converts a text to a number of the type, as bits. Returns false if the text is not a number or
 * the number does not fit. */
bool fth_scalar_parse(const struct fth_scalar_type *element, const char *text, uint64_t *bits);
/* Converts a double to a number of the type, as bits. Floating-point types round to nearest even;
 * e4m3 and e5m2 saturate. Returns false if the type is an integer type and the value is not an
 * integer or is out of range. */
bool fth_scalar_from_double(const struct fth_scalar_type *element, double value, uint64_t *bits);
/* Converts the number of the type that is stored at `bytes`. */
double fth_scalar_to_double(const struct fth_scalar_type *element, const void *bytes);
/* Appends the number that is stored at `bytes` as text. */
void fth_scalar_format(const struct fth_scalar_type *element, const void *bytes,
                       struct fth_buffer *out);

/* ---- launch_expression.c ---- */

struct fth_variable {
    const char *name;
    double value;
};
/* Maximum number of variables: the index `i`, the sizes and the loop variables. Chosen: launch
 * files have a handful of them. */
enum { FTH_MAX_VARIABLES = 64 };
/* The names that an expression may use. */
struct fth_scope {
    struct fth_variable variables[FTH_MAX_VARIABLES];
    size_t count;
};

/* Returns the index of the variable whose name is the first `size` characters of `name`, or
 * FTH_MAX_VARIABLES if there is none. */
size_t fth_scope_find(const struct fth_scope *scope, const char *name, size_t size);

struct fth_expression;

/* Parses an expression of + - * / %, parentheses, numbers, variables of the scope, and the
 * functions floor, ceil, sqrt, sin, cos, exp, min and max. On failure, the cause contains the text
 * at which parsing stopped. */
FTH_MUST_USE enum fth_status fth_expression_create(const char *text, const struct fth_scope *scope,
                                                   struct fth_expression **expression,
                                                   struct fth_error *error);
void fth_expression_destroy(struct fth_expression *expression);
/* Evaluates the expression with the current values of the variables. `scope` must have the same
 * variables at the same indices as when the expression was created. */
double fth_expression_value(const struct fth_expression *expression, const struct fth_scope *scope);
/* Evaluates it for `count` consecutive values of the first variable of the scope, from its current
 * value on. */
enum { FTH_EXPRESSION_VALUES = 32 }; /* maximum of `count` */
void fth_expression_values(const struct fth_expression *expression, const struct fth_scope *scope,
                           size_t count, double *values);

/* ---- executors ---- */

struct fth_launch_step;

/* Something that runs the kernels of one PTX module: the PTX engine or a GPU. Addresses are those
 * that kernels use. */
struct fth_executor {
    void *context;
    /* Allocates memory and sets it to zero. close frees it. */
    enum fth_status (*alloc)(void *context, uint64_t bytes, uint64_t *address,
                             struct fth_error *error);
    enum fth_status (*write)(void *context, uint64_t address, const void *data, uint64_t bytes,
                             struct fth_error *error);
    enum fth_status (*read)(void *context, uint64_t address, void *data, uint64_t bytes,
                            struct fth_error *error);
    /* Finds the address and the size of a variable of the module. */
    enum fth_status (*symbol)(void *context, const char *name, uint64_t *address, uint64_t *bytes,
                              struct fth_error *error);
    /* Runs one kernel to its end. `arguments` is the kernel's parameter block. Instruction counts
     * are added to *totals where the executor counts instructions. */
    enum fth_status (*run)(void *context, const struct fth_launch_step *step, const void *arguments,
                           size_t argument_bytes, const struct fth_run_options *options,
                           struct fth_launch_totals *totals, struct fth_error *error);
    /* Prepares a run of this kernel. It is called for all steps of a launch, with the arguments
     * that they will get, until no call sets *changed. NULL: the executor needs no preparation. */
    enum fth_status (*plan)(void *context, const struct fth_launch_step *step,
                            const void *arguments, size_t argument_bytes, bool *changed,
                            struct fth_error *error);
    /* Returns true if the contents of the memory at this address do not matter to the steps that
     * were planned, so that they need not be written. NULL: they always matter. */
    bool (*omits)(void *context, uint64_t address);
    /* Encodes a tensor map as the kernels of this executor expect it. */
    enum fth_status (*tensor_map)(void *context, const struct fth_ptx_tensor_map *map,
                                  unsigned char bytes[FTH_TENSOR_MAP_BYTES],
                                  struct fth_error *error);
    /* Creates a texture (`sampling` not NULL) or a surface for the next run or plan, which frees
     * it. Two of them with the same image share their texels. */
    enum fth_status (*texture)(void *context, const struct fth_ptx_image *image,
                               const struct fth_ptx_sampling *sampling, uint64_t *handle,
                               struct fth_error *error);
    void (*close)(void *context);
    /* Returns the duration of the last run, NAN if it was not timed. NULL: the executor never
     * measures time. */
    double (*seconds)(void *context);
};

/* ---- engine_executor.c ---- */

/* Before an observer sees the accesses of a launch: adds those of registers that the assembler
 * spills to its kernels, unless the options of the launch leave them out, and tells the log. */
FTH_MUST_USE enum fth_status fth_launch_add_spills(struct fth_launch *launch,
                                                   const struct fth_log *log,
                                                   struct fth_error *error);
/* Opens the PTX engine as an executor. The module and the observer are borrowed. The observer is
 * notified of all kernels that run; it may be NULL. `skip_data` is that of struct fth_ptx_launch:
 * the contents of buffers that the kernels did not need cannot be read afterwards. */
FTH_MUST_USE enum fth_status fth_engine_open(const struct fth_ptx_module *module,
                                             const struct fth_ptx_observer *observer,
                                             bool skip_data, struct fth_executor *executor,
                                             struct fth_error *error);

/* ---- device_executor.c ---- */

/* Opens the device options->device as an executor. The device compiles the text of the PTX file
 * itself. `ptx_name` is used in messages. */
FTH_MUST_USE enum fth_status fth_device_executor_open(const struct fth_run_options *options,
                                                      const char *ptx_name,
                                                      const struct fth_buffer *ptx,
                                                      struct fth_executor *executor,
                                                      struct fth_error *error);

/* ---- launch_build.c ---- */

/* The initial contents of a buffer. */
enum fth_fill {
    FTH_FILL_ZERO,
    FTH_FILL_RANDOM,   /* from low to high; integers with `whole_range`: any value */
    FTH_FILL_IOTA,     /* 0, 1, 2, ... */
    FTH_FILL_CONSTANT, /* `bits` in every element */
    FTH_FILL_FILE,
    FTH_FILL_EXPRESSION,
    FTH_FILL_MODULE, /* of a variable: what the module states */
    FTH_FILL_MEMORY  /* memory of the caller */
};

/* A buffer, or a variable of the module. */
struct fth_launch_buffer {
    const char *name; /* NULL: an argument on the command line */
    size_t number;    /* without a name: which argument it is, from 1 */
    const struct fth_scalar_type *element;
    uint64_t count;
    enum fth_fill fill;
    bool whole_range;
    double low, high;
    uint64_t bits;
    const char *path;                  /* FTH_FILL_FILE */
    struct fth_expression *expression; /* FTH_FILL_EXPRESSION: uses `i` and the launch's sizes */
    uint64_t address;                  /* valid while the launch has an executor */
    const char *symbol;                /* of a variable: its name in the module; NULL: a buffer */
    uint64_t symbol_bytes;             /* size of this variable */
    const void *memory;                /* FTH_FILL_MEMORY */
    /* The buffer has no memory of its own, but is a part of the buffer `whole`. */
    bool is_part;
    size_t whole;
    uint64_t part_offset; /* offset in that buffer, in bytes */
};

enum fth_argument_kind {
    FTH_ARGUMENT_ADDRESS, /* of a buffer */
    FTH_ARGUMENT_NUMBER,
    FTH_ARGUMENT_BYTES,
    FTH_ARGUMENT_TENSOR_MAP, /* over a buffer */
    FTH_ARGUMENT_TEXTURE,    /* or a surface, over a buffer */
    FTH_ARGUMENT_STRUCT
};

/* A texture or surface over a buffer. */
struct fth_launch_texture {
    bool is_surface;
    struct fth_ptx_image image; /* all but the address */
    struct fth_ptx_sampling sampling;
};

struct fth_launch_argument {
    enum fth_argument_kind kind;
    size_t buffer;                             /* ADDRESS, TENSOR_MAP, TEXTURE: its index */
    uint64_t offset;                           /* added to its address, in elements */
    const struct fth_scalar_type *element;     /* NUMBER: its type */
    uint64_t bits;                             /* and its value */
    const struct fth_ptx_tensor_map *map;      /* TENSOR_MAP: all but the address */
    const struct fth_launch_texture *texture;  /* TEXTURE */
    const uint8_t *bytes;                      /* BYTES */
    const struct fth_launch_argument *members; /* STRUCT */
    size_t count;                              /* of bytes or members */
};

/* One launch of a kernel. */
struct fth_launch_step {
    const struct fth_ptx_kernel *kernel;
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; /* blocks per cluster; all 0: as the kernel requires, or no clusters */
    size_t shared_bytes; /* dynamic shared memory per block */
    const struct fth_launch_argument *arguments;
    size_t argument_count;
    double seconds; /* duration in the last run; NAN: unknown */
};

/* The expected contents of a buffer after the last launch; see verify.c. */
struct fth_expectation {
    size_t buffer;
    const char *path; /* file with the expected values; NULL: sum and moment are compared */
    double sum, moment;
    double relative, absolute; /* tolerances */
};

struct fth_counters; /* counters/counters.h */

struct fth_launch {
    struct fth_arena arena;
    char *path;            /* of the launch file, or of the PTX file without one */
    bool allow_files;      /* the launch may read files outside of the folder of the launch file */
    bool no_spills;        /* as in struct fth_launch_options */
    bool has_spills;       /* fth_launch_add_spills was called */
    const char *ptx_path;  /* of the file with PTX, for messages */
    struct fth_buffer ptx; /* the PTX, for an executor that compiles it itself */
    struct fth_ptx_module *module;
    struct fth_scope scope; /* variable 0 is `i`, the index of a buffer element; then the sizes */
    uint64_t seed;
    bool has_shape; /* of a PTX file: the options state the grid or the block */
    struct fth_launch_buffer *buffers;
    size_t buffer_count, buffer_capacity;
    struct fth_launch_step *steps;
    size_t step_count, step_capacity;
    struct fth_expectation *expectations;
    size_t expectation_count, expectation_capacity;
    struct fth_launch_argument *arguments; /* from fth_launch_argument; those of the only step */
    size_t argument_count, argument_capacity;
    struct fth_executor executor;  /* all zero until the launch is run */
    struct fth_counters *counters; /* of each step in the last run; NULL: they were not counted */
    size_t running;                /* index of the step that is running */
    struct fth_ptx_observer observer; /* counts; used by the executor */
};

/* Creates a launch without buffers and steps. */
FTH_MUST_USE enum fth_status fth_launch_new(const char *path, uint64_t seed,
                                            struct fth_launch **launch, struct fth_error *error);
/* Like fth_launch_create, for PTX that is in memory; takes ownership of the text, also on failure.
 * `path` is used in messages. `all_kernels`: as in struct fth_launch_options. */
FTH_MUST_USE enum fth_status fth_launch_create_text(const char *path, struct fth_buffer *text,
                                                    const char *kernel, bool all_kernels,
                                                    uint64_t seed, struct fth_launch **launch,
                                                    struct fth_error *error);
/* fth_grow with an error message. */
FTH_MUST_USE enum fth_status fth_launch_grow(void **items, size_t count, size_t *capacity,
                                             size_t size, struct fth_error *error);

/* Evaluates an expression that may use the sizes of the launch. */
FTH_MUST_USE enum fth_status fth_launch_evaluate(const struct fth_launch *launch, const char *text,
                                                 double *value, struct fth_error *error);
/* Parses the text of a buffer, such as "f32[N*N]=random", "f32[16][16]" or "ptr:f32[1024]". With
 * `symbol` set, empty brackets stand for as many elements as the variable has. */
FTH_MUST_USE enum fth_status fth_launch_parse_buffer(struct fth_launch *launch, const char *text,
                                                     struct fth_launch_buffer *buffer,
                                                     struct fth_error *error);
/* Adds the buffer that `text` describes, as above. `name` must live as long as the launch; it is
 * NULL for a buffer from the command line. */
FTH_MUST_USE enum fth_status fth_launch_add_buffer(struct fth_launch *launch, const char *name,
                                                   const char *text, struct fth_error *error);
/* Resolves a path relative to the folder of the launch file. The launch owns the result. NULL:
 * memory is exhausted. */
const char *fth_launch_resolve_path(struct fth_launch *launch, const char *path);

/* ---- launch_ptx.c ---- */

/* Parses launch->ptx. If it is a fat binary or an ELF file, finds the module in it that has the
 * kernels, and replaces it by the text of this module. Without kernels, the file must have a single
 * module with kernels. FTH_NOT_FOUND: no module has the kernels, or several do; the error lists the
 * candidates. FTH_UNSUPPORTED: the kernels are there as machine code only. */
FTH_MUST_USE enum fth_status fth_launch_parse_ptx(struct fth_launch *launch,
                                                  const char *const *kernels, size_t kernel_count,
                                                  struct fth_error *error);

/* ---- launch_kernel.c ---- */

/* Finds a kernel of the module by its name (see fth_name_match); with NULL, the only kernel.
 * FTH_NOT_FOUND: there is no such kernel, or there are several; the error lists them, or suggests
 * the most similar one. FTH_INVALID: the module has no kernel. */
FTH_MUST_USE enum fth_status fth_launch_find_kernel(const struct fth_launch *launch,
                                                    const char *name,
                                                    const struct fth_ptx_kernel **kernel,
                                                    struct fth_error *error);
/* Lists the parameters of a kernel for a message, with the types of C++ if its name states them:
 * "float const* (u64), ns::Params (struct of 24 bytes)". A list that does not fit is cut. */
void fth_kernel_describe_parameters(const struct fth_ptx_kernel *kernel, char *text, size_t size);

/* Returns the type of a number that is passed for a parameter of a kernel without stating its type:
 * that of the C++ name, or that of the PTX. An integer type of the PTX is returned as a signed
 * type, which accepts the numbers of both. NULL: it is not known, or the parameter is no number;
 * `reason` says so. */
const struct fth_scalar_type *fth_kernel_number_type(const struct fth_launch *launch,
                                                     const struct fth_ptx_kernel *kernel,
                                                     size_t index, char *reason, size_t size);

/* ---- launch_argument.c ---- */

/* Maximum nesting of structs in arguments. Chosen: it bounds recursion. */
enum { FTH_MAX_STRUCT_DEPTH = 8 };

/* Checks the number and the sizes of the arguments against the parameters of the kernel, and the
 * height of the block (z). */
FTH_MUST_USE enum fth_status fth_step_check(const struct fth_launch_step *step,
                                            struct fth_error *error);
/* Writes the value of an argument for a parameter of `parameter_bytes`, with the addresses of the
 * launch's executor. */
FTH_MUST_USE enum fth_status fth_argument_pack(const struct fth_launch *launch,
                                               const struct fth_launch_argument *argument,
                                               size_t parameter_bytes, uint8_t *out,
                                               struct fth_error *error);
/* Parses an argument of a launch file that is a text: "BUFFER", "BUFFER+OFFSET", a number such as
 * "i32:N", "null", "bytes:00ff" or a struct such as "{BUFFER,i32:N}". A number without a type gets
 * that of the parameter of `kernel` with this index; `kernel` is NULL for a member of a struct. */
FTH_MUST_USE enum fth_status fth_launch_parse_argument(struct fth_launch *launch,
                                                       const struct fth_ptx_kernel *kernel,
                                                       size_t index, const char *text,
                                                       struct fth_launch_argument *argument,
                                                       struct fth_error *error);

/* ---- launch_variable.c ---- */

/* Adds a variable of the module to the buffers, with the contents that `text` describes:
 * "f32[64]=random", "f32:1.5", or "1.5" if the module states the type of the variable. NULL: the
 * contents are those of the module. `name` is the name in the module or in C++. FTH_NOT_FOUND:
 * there is no such variable. */
FTH_MUST_USE enum fth_status fth_launch_add_variable(struct fth_launch *launch, const char *name,
                                                     const char *text, struct fth_error *error);

/* ---- launch_open.c ---- */

/* Returns the name of an option that is set and only applies to PTX files; NULL: there is none. */
const char *fth_launch_ptx_option(const struct fth_launch_options *options);
struct fth_trace_input;
/* fth_launch_open for an input that is open already, which must not be a trace. */
FTH_MUST_USE enum fth_status fth_launch_open_input(const struct fth_trace_input *input,
                                                   const struct fth_launch_options *options,
                                                   struct fth_launch **launch,
                                                   struct fth_error *error);

/* ---- launch_memory.c ---- */

/* Sets the contents of the arguments that options->contents names, and finds the buffers that are
 * parts of others. */
FTH_MUST_USE enum fth_status fth_launch_use_memory(struct fth_launch *launch,
                                                   const struct fth_launch_options *options,
                                                   struct fth_error *error);

/* ---- trace_recorder.c ---- */

struct fth_trace_writer;
/* Runs a launch and writes its accesses. Commits the writer, or discards it after a failure. With
 * `skip_data`, only what the accesses depend on is computed. The trace is the same, but the buffers
 * cannot be read afterwards. FTH_INCONCLUSIVE: this launch must be traced without `skip_data`. */
FTH_MUST_USE enum fth_status fth_launch_trace_to(struct fth_launch *launch,
                                                 struct fth_trace_writer *writer, bool skip_data,
                                                 const struct fth_run_options *options,
                                                 struct fth_launch_totals *totals,
                                                 struct fth_error *error);

/* ---- launch_file.c ---- */

/* The limit for reading a launch file. Chosen: the examples have a few kilobytes. */
#define FTH_LAUNCH_FILE_LIMIT FTH_FILE_LIMIT("a launch file", (size_t)16 << 20)

/* Like fth_launch_read, for a launch file that is in memory. `path` is used in messages and to
 * resolve relative paths. Only `sizes` and `allow_files` of the options are used. */
FTH_MUST_USE enum fth_status fth_launch_read_text(const char *path, const char *text, size_t size,
                                                  const struct fth_launch_options *options,
                                                  struct fth_launch **launch,
                                                  struct fth_error *error);

/* ---- launch_run.c ---- */

/* Fills the buffers and runs all steps on an executor. The launch takes ownership of the executor,
 * also on failure, and keeps it open so that the buffers can be read. */
FTH_MUST_USE enum fth_status fth_launch_run_on(struct fth_launch *launch,
                                               const struct fth_executor *executor,
                                               const struct fth_run_options *options,
                                               struct fth_launch_totals *totals,
                                               struct fth_error *error);

/* Copies the contents of the buffer with this index, after a run; the caller frees *values. */
FTH_MUST_USE enum fth_status fth_launch_read_buffer(const struct fth_launch *launch, size_t index,
                                                    struct fth_launch_view *view, void **values,
                                                    struct fth_error *error);

/* ---- verify.c ---- */

/* Computes sum = Σ v[i], moment = Σ v[i] (i + 1) / count and magnitude = Σ |v[i]|. */
void fth_values_digest(const struct fth_scalar_type *element, const void *values, uint64_t count,
                       double *sum, double *moment, double *magnitude);

/* ---- fill.c ---- */

/* Writes the initial contents of a buffer to `data`, which has element->bytes × count bytes and is
 * zeroed. */
FTH_MUST_USE enum fth_status fth_launch_fill(struct fth_launch *launch, size_t buffer, void *data,
                                             struct fth_error *error);

/* ---- launch_data.c ---- */

/* The functions below read a file that a launch names, which must be a regular file. Unless
 * launch->allow_files, it must also lie below the folder of the launch file, after symbolic links
 * and ".." were resolved; otherwise they fail with FTH_INVALID. Files compressed with zstd are
 * decompressed. */

/* Appends a whole file to `content`. */
FTH_MUST_USE enum fth_status fth_launch_read_file(const struct fth_launch *launch, const char *path,
                                                  const struct fth_file_limit *limit,
                                                  struct fth_buffer *content,
                                                  struct fth_error *error);
/* Reads the first `size` bytes of a file. *got is smaller if the file has fewer. With `data` NULL,
 * only counts the bytes. */
FTH_MUST_USE enum fth_status fth_launch_read_data(const struct fth_launch *launch, const char *path,
                                                  void *data, uint64_t size, uint64_t *got,
                                                  struct fth_error *error);

#endif
