/* frontends/cuda/ implements the documented API of the CUDA driver on top of a session
 * (src/program/). 'fathom exec' preloads it into a program as libcuda.so.1.
 *
 *   driver_state.c    the state of the process: the session, and the files that it writes
 *   driver_device.c   devices and their attributes
 *   driver_context.c  contexts
 *   driver_module.c   modules, libraries, kernels
 *   driver_memory.c   memory, pointers
 *   driver_copy.c     copies, and filling memory
 *   driver_stream.c   streams, events, and the work on them
 *   driver_launch.c   launches, attributes of kernels, occupancy
 *   driver_graph.c    graphs, and streams that are captured into them
 *   driver_node.c     parameters, dependencies and children of the nodes of graphs
 *   driver_texture.c  arrays, textures, surfaces, tensor maps
 *   driver_entry.c    cuGetProcAddress, and the functions that are not implemented
 *   driver_error.c    names and texts of results
 *
 * The API has no handle for the process, so its state is global: one struct driver, behind one
 * lock. Everything that a program puts on a stream is executed at once, in the order of the calls,
 * which is one of the orders that CUDA allows. */
#ifndef FATHOM_FRONTEND_DRIVER_H
#define FATHOM_FRONTEND_DRIVER_H

#include "program/program.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
/* Defines a function of the API: CU(cuInit, unsigned flags) { … } */
#define CU(name, ...)                                                                              \
    EXPORT int name(__VA_ARGS__);                                                                  \
    int name(__VA_ARGS__)
/* Exports a function of this file under a second name, such as that of the variant for the default
 * stream per thread: all streams behave alike here. */
#define ALIAS(second, name) __asm__(".globl " #second "\n.set " #second ", " #name)

/* Results of the API (CUresult). */
enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_BINARY_FOR_GPU = 209,
    PEER_ACCESS_UNSUPPORTED = 217,
    INVALID_PTX = 218,
    INVALID_SOURCE = 300,
    FILE_NOT_FOUND = 301,
    INVALID_HANDLE = 400,
    ILLEGAL_STATE = 401,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    LAUNCH_OUT_OF_RESOURCES = 701,
    PEER_ACCESS_NOT_ENABLED = 705,
    CONTEXT_IS_DESTROYED = 709,
    ASSERTION_FAILED = 710,
    ALREADY_REGISTERED = 712,
    NOT_REGISTERED = 713,
    MISALIGNED_ADDRESS = 716,
    LAUNCH_FAILED = 719,
    COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    NOT_SUPPORTED = 801,
    STREAM_CAPTURE_UNSUPPORTED = 900,
    STREAM_CAPTURE_INVALIDATED = 901,
    STREAM_CAPTURE_UNMATCHED = 903,
    GRAPH_EXEC_UPDATE_FAILURE = 910,
    INVALID_CLUSTER_SIZE = 912,
    UNKNOWN = 999
};

/* ---- driver_state.c ---- */

struct context {
    struct context *next;
    bool is_primary;
    int retained; /* of the primary context */
    unsigned flags;
    unsigned long long id;
    uint64_t limits[16];
};

struct driver {
    bool initialised;
    struct fth_gpu *gpu; /* NULL until cuInit */
    struct fth_session *session;
    struct context primary;
    struct context *contexts; /* those of cuCtxCreate */
    int sticky;               /* if not SUCCESS: the error that every later call returns */
    unsigned long long next_id;
};

extern struct driver driver;

/* Takes the lock until the end of the enclosing block. */
#define LOCK                                                                                       \
    __attribute__((cleanup(driver_unlock), unused)) const int driver_is_locked = driver_lock()
int driver_lock(void);
void driver_unlock(const int *unused);
/* Returns SUCCESS, or the error of a call without a context, or the error of an earlier launch. */
int driver_check(void);
/* Writes a line to standard error, and to the report of 'fathom exec'. */
FTH_PRINTF(2, 3) void driver_report(const char *kind, const char *format, ...);
/* Reports a function, an attribute or the like that is not implemented, once, and returns
 * NOT_SUPPORTED. */
int driver_unsupported(const char *what);
/* Reads the figures of the GPU, and starts the session. */
int driver_start(void);
/* Returns the result that stands for the status of a session's function. */
int driver_result(enum fth_status status);

/* ---- driver_device.c ---- */

/* Returns an attribute of the GPU (CUdevice_attribute), or 0 if the GPU does not have it. */
int driver_attribute(int attribute);

/* ---- driver_context.c ---- */

struct context *driver_current(void);

/* ---- driver_module.c ---- */

struct module;
/* A kernel of a module: a CUfunction, and a CUkernel. */
struct function {
    struct function *next;
    struct module *module;
    const struct fth_ptx_kernel *kernel;
    uint64_t max_dynamic_shared;
    int carveout;
    bool non_portable_cluster;
};

struct fth_session_module *driver_session_module(const struct module *module);
bool driver_is_function(const struct function *function);

/* ---- driver_stream.c ---- */

struct graph;
struct stream {
    struct stream *next;
    unsigned flags;
    int priority;
    unsigned long long id;
    struct graph *capture; /* the graph that receives the work; NULL: it is executed */
    struct context *context;
};

/* Work that a program puts on a stream or into a graph. */
enum operation_kind { OP_EMPTY, OP_COPY, OP_FILL, OP_LAUNCH, OP_HOST, OP_RECORD };

/* One side of a copy: rows of an image in memory. */
struct copy_side {
    uint64_t address, pitch, slice_pitch;
};

struct operation {
    enum operation_kind kind;
    union {
        struct {
            struct copy_side to, from;
            uint64_t width, height, depth; /* bytes, rows, images */
        } copy;
        struct {
            uint64_t address, pitch, width, height; /* of elements, and rows */
            uint32_t value, element_bytes;
        } fill;
        struct {
            struct function *function;
            uint32_t grid[3], block[3], cluster[3];
            uint64_t shared_bytes;
            bool cooperative;
            unsigned char *arguments; /* owned */
        } launch;
        struct {
            void (*function)(void *user);
            void *user;
        } host;
        struct event *event;
    };
};

/* Executes an operation now, or adds it to the graph that captures the stream. Takes ownership of
 * what the operation owns. */
int driver_submit(struct stream *stream, struct operation *operation);
/* Executes an operation, which keeps what it owns. */
int driver_execute(const struct operation *operation);
void driver_operation_fini(struct operation *operation);
/* Returns the stream for a handle, in which 0, 1 and 2 stand for the default streams; NULL: it is
 * not a stream. */
struct stream *driver_stream(const struct stream *handle);

bool driver_is_event(const struct event *event);
/* Lets the streams of a capture execute their work again. */
void driver_end_capture(const struct graph *graph);

/* ---- driver_copy.c ---- */

int driver_copy(const struct operation *operation);
/* Reads a CUDA_MEMCPY3D. */
int driver_read_copy(const void *copy, struct operation *operation);
int driver_fill(const struct operation *operation);

/* ---- driver_texture.c ---- */

/* Finds the memory of an array. Returns false if there is no such array. */
bool driver_array_side(uint64_t array, struct copy_side *side);

/* ---- driver_launch.c ---- */

int driver_launch(const struct operation *operation);
/* Copies the arguments of a launch into a new block of memory. */
int driver_take_arguments(const struct function *function, void **each, void **extra,
                          unsigned char **arguments);

/* ---- driver_graph.c ---- */

/* A node of a graph. */
struct node {
    struct node *next;
    struct operation operation;
    int type;             /* CUgraphNodeType */
    bool disabled;        /* in an executable graph */
    struct graph *child;  /* of a node that is a graph; owned */
    struct event *event;  /* of a node that records an event or waits for one */
    struct node **before; /* the nodes that it depends on; owned */
    size_t before_count;
    const struct node *original; /* in a copy: the node that it was made from */
    void **arguments;            /* of a launch: their addresses, for programs that ask; owned */
    struct node *made;           /* while a graph is copied: the copy */
};

struct graph {
    struct graph *next;
    struct node *nodes, **end;
    size_t count;
};

/* Adds a node with the operation, which it then owns. */
int driver_graph_add(struct graph *graph, struct operation *operation);
/* The same, with the nodes that it depends on; returns the node. */
int driver_add_node(struct node **node, struct graph *graph, struct node *const *before,
                    size_t count, struct operation *operation);
/* Lets a node depend on another one. */
int driver_add_dependency(struct node *node, struct node *before);
bool driver_is_graph(const struct graph *graph);
/* Returns the node of an executable graph that was made from this one, or NULL. */
struct node *driver_find_copy(const struct graph *executable, const struct node *original);
int driver_copy_graph(struct graph *from, struct graph **copy);
int driver_destroy_graph(struct graph *graph);

/* Types of nodes (CUgraphNodeType). */
enum {
    NODE_KERNEL,
    NODE_COPY,
    NODE_FILL,
    NODE_HOST,
    NODE_GRAPH,
    NODE_EMPTY,
    NODE_WAIT,
    NODE_RECORD
};

/* ---- driver_entry.c ---- */

/* Reads `bytes` bytes of a structure of the API at an offset. */
static inline uint64_t field(const void *structure, size_t offset, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)structure + offset, bytes);
    return value;
}

/* Reads a pointer at an offset. */
static inline void *pointer_field(const void *structure, size_t offset)
{
    void *pointer;
    memcpy(&pointer, (const char *)structure + offset, sizeof pointer);
    return pointer;
}

/* The address of memory of the host as a pointer. */
static inline void *pointer_to(uint64_t address)
{
    return (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

#endif
