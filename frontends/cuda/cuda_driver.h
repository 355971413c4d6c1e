/* frontends/cuda/ implements the documented API of the CUDA driver on top of a session
 * (src/program/). 'fathom exec' preloads it into a program as libcuda.so.1.
 *
 *   driver_state.c    the state of the process: the session, and the files that it writes
 *   driver_device.c   devices and their attributes
 *   driver_context.c  contexts
 *   driver_module.c   modules, libraries, kernels
 *   driver_link.c     linking of images
 *   driver_memory.c   memory, pointers
 *   driver_copy.c     copies, and filling memory
 *   driver_stream.c   streams, events, and the work on them
 *   driver_launch.c   launches, attributes of kernels, occupancy
 *   driver_graph.c    graphs: their structure, copies and launches
 *   driver_node.c     the nodes of graphs and their parameters
 *   driver_capture.c  streams that are captured into graphs
 *   driver_object.c   what graphs own: memory, and objects of the program
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
    DEINITIALIZED = 4,
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
    LAUNCH_TIMEOUT = 702,
    PEER_ACCESS_NOT_ENABLED = 705,
    CONTEXT_IS_DESTROYED = 709,
    ASSERT = 710,
    ALREADY_REGISTERED = 712,
    NOT_REGISTERED = 713,
    ILLEGAL_INSTRUCTION = 715,
    MISALIGNED_ADDRESS = 716,
    LAUNCH_FAILED = 719,
    COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    NOT_SUPPORTED = 801,
    STREAM_CAPTURE_UNSUPPORTED = 900,
    STREAM_CAPTURE_INVALIDATED = 901,
    STREAM_CAPTURE_MERGE = 902,
    STREAM_CAPTURE_UNMATCHED = 903,
    STREAM_CAPTURE_UNJOINED = 904,
    STREAM_CAPTURE_ISOLATION = 905,
    CAPTURED_EVENT = 907,
    GRAPH_EXEC_UPDATE_FAILURE = 910,
    INVALID_CLUSTER_SIZE = 912,
    UNKNOWN = 999
};

/* ---- driver_state.c ---- */

struct context {
    struct context *next;
    bool is_destroyed;
    int retained; /* of the primary context */
    unsigned flags;
    unsigned long long id;
    uint64_t limits[16];
};

struct driver {
    bool initialised;
    bool is_forked;      /* a child of a process that uses the API; it cannot use it itself */
    bool is_finished;    /* the process ends */
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
/* Returns whether a context can be used. */
bool driver_is_context(const struct context *context);
/* Frees all contexts. */
void driver_free_contexts(void);

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
/* Writes a message to the error log that a program passes as an option; "": there is none. */
void driver_write_log(unsigned count, const int *options, void **values, const char *text);
/* Frees the modules of a context, except those that are libraries; NULL: all modules. */
void driver_free_modules(const struct context *context);

/* ---- driver_stream.c ---- */

struct graph;
struct node;
struct reservation;

/* Nodes of a graph. The order has no meaning. */
struct node_set {
    struct node **nodes;
    size_t count, capacity;
};

struct stream {
    struct stream *next;
    unsigned flags;
    int priority;
    unsigned long long id;
    struct graph *capture; /* the graph that receives the work; NULL: it is executed */
    struct node_set last;  /* the nodes of `capture` that the next one depends on */
    bool is_origin;        /* the capture began on this stream */
    struct context *context;
};

struct event {
    struct event *next;
    struct context *context;
    bool recorded, has_time;
    double time_ns;
    struct graph *capture; /* of the stream on which it was recorded last */
    struct node_set last;  /* the nodes of `capture` that it stands for */
};

/* Work that a program puts on a stream or into a graph. */
enum operation_kind {
    OP_EMPTY,
    OP_COPY,
    OP_FILL,
    OP_LAUNCH,
    OP_HOST,
    OP_RECORD,
    OP_WAIT,
    OP_GRAPH,
    OP_ALLOC,
    OP_FREE
};

/* The 8-byte words of a CUDA_MEMCPY3D. */
enum { COPY_WORDS = 25 };

struct operation {
    enum operation_kind kind;
    union {
        uint64_t copy[COPY_WORDS]; /* a CUDA_MEMCPY3D */
        struct {
            uint64_t address, pitch, width, height; /* of elements, and rows */
            uint64_t value;
            uint32_t element_bytes; /* 1, 2, 4 or 8 */
        } fill;
        struct {
            struct function *function;
            uint32_t grid[3], block[3], cluster[3];
            uint64_t shared_bytes;
            bool cooperative;
            unsigned char *arguments; /* owned */
            void **each;              /* owned; addresses of the arguments; NULL: not asked for */
        } launch;
        struct {
            void (*function)(void *user);
            void *user;
        } host;
        struct event *event;             /* of OP_RECORD and OP_WAIT */
        struct graph *graph;             /* of OP_GRAPH; owned */
        struct reservation *reservation; /* of OP_ALLOC; a reference to it is owned */
        uint64_t freed;                  /* of OP_FREE: the address */
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
/* Frees the streams and events of a context; NULL: all. */
void driver_free_streams(const struct context *context);

/* Lets the streams of a capture execute their work again. */
void driver_end_capture(const struct graph *graph);
/* Returns whether all streams of the capture have been joined by its origin. */
bool driver_is_joined(const struct stream *origin);

/* ---- driver_copy.c ---- */

/* One side of a copy: rows of an image in memory. */
struct copy_side {
    uint64_t address, pitch, slice_pitch;
};

int driver_copy(const struct operation *operation);
/* Reads and checks a CUDA_MEMCPY3D. */
int driver_read_copy(const void *copy, struct operation *operation);
int driver_fill(const struct operation *operation);

/* ---- driver_link.c ---- */

/* Frees all links. */
void driver_free_links(void);

/* ---- driver_memory.c ---- */

/* Allocates memory for the current context. */
int driver_allocate(enum fth_session_memory kind, size_t bytes, uint64_t *address);
/* Frees all pools, but not their memory. */
void driver_free_pools(void);

/* ---- driver_texture.c ---- */

/* The place and the size of an array: bytes per row, rows, and images. */
struct array_shape {
    uint64_t address, row_bytes, rows, images;
};

/* Finds an array. Returns false if there is none. */
bool driver_array_shape(uint64_t array, struct array_shape *shape);
/* Frees the arrays of a context; NULL: all. */
void driver_free_arrays(const struct context *context);
/* Frees all textures and surfaces. */
void driver_free_objects(void);

/* ---- driver_launch.c ---- */

/* Executes a kernel. If it faults, driver.sticky becomes the error, and the launch itself succeeds.
 */
int driver_launch(const struct operation *operation);
/* Copies the arguments of a launch into a new block of memory. */
int driver_take_arguments(const struct function *function, void **each, void **extra,
                          unsigned char **arguments);

/* Checks the shape of a launch as the driver does. */
int driver_check_shape(const struct operation *operation);

/* ---- driver_graph.c ---- */

struct node {
    struct node *next;
    struct graph *graph;
    struct operation operation;
    struct node_set before;      /* the nodes that it depends on */
    const struct node *original; /* of which it is a copy; may be gone */
    struct node *copy;           /* the newest one, while its graph is copied */
    bool is_disabled;
    bool is_marked; /* while a graph is searched */
};

struct graph {
    struct graph *next;
    struct node *nodes, **end;
    size_t count;
    bool is_executable;       /* a CUgraphExec: a copy, in the order of the dependencies */
    bool is_child;            /* belongs to a node */
    bool is_invalid;          /* a call has spoiled the capture into it */
    bool is_captured_into;    /* it existed before the capture (cuStreamBeginCaptureToGraph) */
    unsigned long long flags; /* of the instantiation */
    struct object_use *objects;
};

/* Adds nodes to a set, unless they are in it. Returns false if memory is exhausted. */
bool driver_set_add(struct node_set *set, struct node *const *nodes, size_t count);
void driver_set_fini(struct node_set *set);

bool driver_is_graph(const struct graph *graph, bool is_executable);
struct graph *driver_graph_create(void);
void driver_graph_destroy(struct graph *graph);
/* Copies a graph with its nodes, in an order that respects the dependencies. INVALID_VALUE: they
 * form a cycle. */
int driver_graph_copy(const struct graph *from, struct graph **out);
/* Adds a node with the operation, which it then owns, also if the call fails. */
int driver_graph_add(struct graph *graph, struct operation *operation, struct node *const *before,
                     size_t count, struct node **node);
/* Returns the node of a graph or of its child graphs that is a copy of `original`, or NULL. */
struct node *driver_graph_find(const struct graph *graph, const struct node *original);
/* Executes the nodes of an executable graph, up to a kernel that faults. */
int driver_graph_run(const struct graph *graph);
/* Frees all graphs. */
void driver_free_graphs(void);

/* ---- driver_capture.c ---- */

/* Returns whether the work that a stream has put into a capture precedes what the origin of the
 * capture puts into it next. */
bool driver_capture_precedes(const struct stream *stream, const struct stream *origin);

/* ---- driver_object.c ---- */

/* Memory that belongs to the allocation nodes of a graph and of its copies. */
int driver_reserve(size_t bytes, struct reservation **reservation);
void driver_reservation_retain(struct reservation *reservation);
void driver_reservation_release(struct reservation *reservation);
uint64_t driver_reservation_address(const struct reservation *reservation, size_t *bytes);
/* Returns whether an allocation node owns the memory at this address. */
bool driver_is_reserved(uint64_t address);
/* Lets a copy of a graph use the same objects of the program. Returns false if memory is
 * exhausted. */
bool driver_objects_copy(const struct graph *from, struct graph *to);
void driver_objects_release(struct graph *graph);

/* ---- driver_entry.c ---- */

/* Reads `bytes` bytes of a structure of the API at an offset. */
static inline uint64_t field(const void *structure, size_t offset, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)structure + offset, bytes);
    return value;
}

/* Returns the address as a pointer. */
static inline void *pointer_to(uint64_t address)
{
    void *pointer;
    memcpy(&pointer, &address, sizeof pointer);
    return pointer;
}

/* Reads a pointer of a structure of the API at an offset. */
static inline void *pointer_field(const void *structure, size_t offset)
{
    return pointer_to(field(structure, offset, sizeof(void *)));
}

#endif
