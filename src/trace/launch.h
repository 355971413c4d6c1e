/* What the files about launches share: element types, expressions, what executes, and the launch
 * itself.
 *
 *   number.c    element types, numbers as text             expression.c   "N*N/32", "(i % 7) / 7"
 *   launch.c    launches and their arguments               launch_file.c  the same from JSON
 *   fill.c      what buffers hold at first                 execute.c      running them, in order
 *   engine.c    the PTX engine as what executes            verify.c       what they must hold then
 *   device.c    a GPU, or a simulated one, as that
 */
#ifndef FTH_TRACE_LAUNCH_H
#define FTH_TRACE_LAUNCH_H

#include "ptx/ptx.h"

/* ---- number.c ---- */

struct fth_element {
    const char *name, *alias;
    unsigned bytes;
    bool is_signed, is_float;
};

/* By name or alias, of which `size` characters count; NULL where there is none. */
const struct fth_element *fth_element_find(const char *name, size_t size);
/* A whole text as a number of the type; false where it is none or does not fit. */
bool fth_element_parse(const struct fth_element *element, const char *text, uint64_t *bits);
/* The number as one of the type. False where it is not whole, or out of range, and the type asks
 * for that. */
bool fth_element_from_double(const struct fth_element *element, double value, uint64_t *bits);
double fth_element_to_double(const struct fth_element *element, const void *bytes);
void fth_element_show(const struct fth_element *element, const void *bytes, struct fth_buffer *out);

/* ---- expression.c ---- */

struct fth_variable {
    const char *name;
    double value;
};
enum { FTH_MAX_VARIABLES = 64 };
struct fth_scope {
    struct fth_variable variables[FTH_MAX_VARIABLES];
    size_t count;
};

/* The index of the variable, or FTH_MAX_VARIABLES. */
size_t fth_scope_find(const struct fth_scope *scope, const char *name, size_t size);

struct fth_expression;

/* + - * / %, parentheses, numbers, variables of the scope, and floor, ceil, sqrt, sin, cos, exp,
 * min and max. On failure the cause says where. */
FTH_MUST_USE enum fth_status fth_expression_create(const char *text, const struct fth_scope *scope,
                                                   struct fth_expression **expression,
                                                   struct fth_error *error);
void fth_expression_destroy(struct fth_expression *expression);
/* With the values that the scope has now; it must hold the variables that it had then. */
double fth_expression_value(const struct fth_expression *expression, const struct fth_scope *scope);

/* ---- what executes launches ---- */

struct fth_launch_step;

/* Memory and kernels of one PTX module: the engine's, or a GPU's. Addresses are what kernels are
 * given; memory is zeroed. */
struct fth_executor {
    void *context;
    enum fth_status (*alloc)(void *context, uint64_t bytes, uint64_t *address,
                             struct fth_error *error);
    enum fth_status (*write)(void *context, uint64_t address, const void *data, uint64_t bytes,
                             struct fth_error *error);
    enum fth_status (*read)(void *context, uint64_t address, void *data, uint64_t bytes,
                            struct fth_error *error);
    enum fth_status (*run)(void *context, const struct fth_launch_step *step, const void *arguments,
                           size_t argument_bytes, const struct fth_run_options *options,
                           struct fth_launch_totals *totals, struct fth_error *error);
    void (*close)(void *context);
    /* How long the last run took; NULL: it is not timed. */
    double (*seconds)(void *context);
};

/* ---- engine.c ---- */

/* The PTX engine. Borrows the module; `observer` may be NULL, and sees all that is run. */
FTH_MUST_USE enum fth_status fth_engine_open(const struct fth_ptx_module *module,
                                             const struct fth_ptx_observer *observer,
                                             struct fth_executor *executor,
                                             struct fth_error *error);

/* ---- device.c ---- */

/* A device that can launch, by its name; it compiles the PTX file itself. */
FTH_MUST_USE enum fth_status fth_device_executor_open(const char *id, const char *ptx_path,
                                                      const struct fth_log *log,
                                                      struct fth_executor *executor,
                                                      struct fth_error *error);

/* ---- launch.c ---- */

/* What a buffer holds at first. */
enum fth_fill {
    FTH_FILL_ZERO,
    FTH_FILL_RANDOM, /* from low to high; integers with `whole_range`: any */
    FTH_FILL_IOTA,
    FTH_FILL_SAME, /* `bits` everywhere */
    FTH_FILL_FILE,
    FTH_FILL_EXPRESSION
};

struct fth_launch_buffer {
    const char *name; /* NULL: given on the command line, as argument `number` */
    size_t number;
    const struct fth_element *element;
    uint64_t count;
    enum fth_fill fill;
    bool whole_range;
    double low, high;
    uint64_t bits;
    const char *path;
    struct fth_expression *expression; /* of i, in the launch's scope */
    uint64_t address;                  /* while there is an executor */
};

struct fth_launch_argument {
    const struct fth_element *element; /* NULL: a buffer */
    size_t buffer;
    uint64_t offset; /* into the buffer, in elements */
    uint64_t bits;
};

struct fth_launch_step {
    const struct fth_ptx_kernel *kernel;
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    const struct fth_launch_argument *arguments;
    size_t argument_count;
    double seconds; /* that it took when it was run; NAN: not known */
};

/* What a buffer must hold in the end. */
struct fth_expectation {
    size_t buffer;
    const char *path; /* the values in a file; NULL: sum and moment */
    double sum, moment;
    double relative, absolute;
};

struct fth_launch {
    struct fth_arena arena;
    char *path;
    const char *ptx_path; /* of the module, for an executor that compiles it itself */
    struct fth_ptx_module *module;
    struct fth_scope scope; /* the sizes, and `i` for contents */
    uint64_t seed;
    struct fth_launch_buffer *buffers;
    size_t buffer_count, buffer_capacity;
    struct fth_launch_step *steps;
    size_t step_count, step_capacity;
    struct fth_expectation *expectations;
    size_t expectation_count, expectation_capacity;
    struct fth_launch_argument *given; /* from the command line, of the only step */
    size_t given_count, given_capacity;
    struct fth_executor executor; /* without `close`: not run yet */
};

/* An empty one. */
FTH_MUST_USE enum fth_status fth_launch_new(const char *path, uint64_t seed,
                                            struct fth_launch **launch, struct fth_error *error);
/* A kernel by its name, or with NULL the only one; NULL, and an error that names those there are.
 */
const struct fth_ptx_kernel *fth_launch_find(const struct fth_launch *launch, const char *name,
                                             struct fth_error *error);
/* Whether the arguments are what the kernel takes. */
FTH_MUST_USE enum fth_status fth_step_check(const struct fth_launch_step *step,
                                            struct fth_error *error);
/* Room for one more in an array that doubles. */
FTH_MUST_USE enum fth_status fth_launch_grow(void **items, size_t count, size_t *capacity,
                                             size_t size, struct fth_error *error);

/* The number that a text with sizes in it stands for. */
FTH_MUST_USE enum fth_status fth_launch_evaluate(const struct fth_launch *launch, const char *text,
                                                 double *value, struct fth_error *error);
/* "f32[N*N]=random", behind "ptr:" or not. `name`, which lives as long as the launch, is NULL on
 * the command line. */
FTH_MUST_USE enum fth_status fth_launch_add_buffer(struct fth_launch *launch, const char *name,
                                                   const char *text, struct fth_error *error);
/* "BUFFER", "BUFFER+OFFSET" or "i32:N". */
FTH_MUST_USE enum fth_status fth_launch_parse_argument(struct fth_launch *launch, const char *text,
                                                       struct fth_launch_argument *argument,
                                                       struct fth_error *error);
/* A path that is relative to the launch file's folder; NULL without memory. */
const char *fth_launch_beside(struct fth_launch *launch, const char *path);

/* ---- launch_file.c ---- */

/* fth_launch_read of a text; `path` is where it stands, for messages and the files it names. */
FTH_MUST_USE enum fth_status fth_launch_read_text(const char *path, const char *text, size_t size,
                                                  const char *const *sizes, size_t size_count,
                                                  struct fth_launch **launch,
                                                  struct fth_error *error);

/* ---- execute.c ---- */

/* Runs everything from the start on an executor, which belongs to the launch from then on. */
FTH_MUST_USE enum fth_status fth_launch_run_on(struct fth_launch *launch,
                                               const struct fth_executor *executor,
                                               const struct fth_run_options *options,
                                               struct fth_launch_totals *totals,
                                               struct fth_error *error);

/* ---- verify.c ---- */

/* Σ v[i], Σ v[i] (i + 1) / count, Σ |v[i]|. */
void fth_values_digest(const struct fth_element *element, const void *values, uint64_t count,
                       double *sum, double *moment, double *magnitude);

/* ---- fill.c ---- */

/* The first contents, `element->bytes` × `count` of them. */
FTH_MUST_USE enum fth_status fth_launch_fill(struct fth_launch *launch, size_t buffer, void *data,
                                             struct fth_error *error);
/* How many elements a file holds. */
FTH_MUST_USE enum fth_status fth_launch_count_file(const char *path,
                                                   const struct fth_element *element,
                                                   uint64_t *count, struct fth_error *error);

#endif
