/* program/ runs the kernels of a CUDA program in the PTX engine, without a GPU.
 *
 * A session holds what the program has on the GPU: memory, modules, and a log of its launches. It
 * executes launches at once, in the order of the calls, in the calling thread. It knows nothing of
 * CUDA's calling conventions; the front ends, such as frontends/cuda/, translate them.
 *
 *   session.c         creates a session, and prepares what it writes
 *   session_memory.c  memory of the GPU, and host memory that kernels can access
 *   session_module.c  modules, kernels and variables
 *   session_launch.c  launches, and what is known of each kernel afterwards
 *   arguments.c       the arguments of a launch as text, by type
 *   replay.c          repeats the launches of a capsule in a session
 *   replay_memory.c   their memory, at the addresses that it had in the program
 *   replay_module.c   their modules and tensor maps
 *   replay_texture.c  their textures and surfaces
 *   replay_arguments.c  their arguments
 *   trace_obtain.c    fth_trace_obtain: makes or opens the trace that an input stands for
 *
 * Addresses. A program can pass any pointer to a copy, and the session finds out whether it points
 * to the memory of the GPU. Addresses of the GPU's memory are therefore never addresses of the
 * host: they begin at FTH_SESSION_BASE, where no host has memory of a process. Pinned and managed
 * memory is host memory, which kernels access at the address that it has on the host. It is placed
 * at fixed addresses, so that the traces of two runs of a program are equal.
 *
 * A session is not thread-safe; the front ends hold a lock. */
#ifndef FTH_PROGRAM_H
#define FTH_PROGRAM_H

#include "gpu/gpu.h"
#include "ptx/ptx.h"
#include "trace/trace.h"

/* ---- session.c ---- */

struct fth_session;

struct fth_session_options {
    const struct fth_gpu *gpu; /* the GPU that the program finds; borrowed */
    /* Address of the first allocation of the GPU's memory; 0: FTH_SESSION_BASE. */
    uint64_t base;
    /* Receives the accesses of the launches; borrowed; may be NULL. */
    struct fth_trace_writer *trace;
    /* Only these launches are traced: those of kernels whose names match a POSIX extended regular
     * expression (NULL: all), and whose number, counted from 0 in the order of the program, is in
     * this range (end 0: no limit). */
    const char *traced_kernels;
    uint64_t traced_first, traced_end;
    uint64_t max_instructions; /* per warp; 0: FTH_PTX_MAX_INSTRUCTIONS */
    bool check_races;          /* look for races; see struct fth_ptx_launch */
    bool no_spills;            /* of a trace: as in struct fth_launch_options */
    const struct fth_log *log; /* may be NULL */
    /* Receives the output of printf of the kernels. */
    void (*print)(void *user, const char *text, size_t size);
    void *print_user;
};

/* FTH_INVALID: the regular expression is not valid. */
FTH_MUST_USE enum fth_status fth_session_create(const struct fth_session_options *options,
                                                struct fth_session **session,
                                                struct fth_error *error);
/* Takes NULL. */
void fth_session_destroy(struct fth_session *session);
/* Returns the machine that holds the memory of the session. */
struct fth_ptx_machine *fth_session_machine(struct fth_session *session);

/* ---- session_memory.c ---- */

/* Address of the first allocation of the GPU's memory. Processes have no memory here: on x86-64,
 * their addresses end at 0x7fffffffffff, and on arm64, the kernel places memory close to
 * 0xaaaa00000000 and 0xffff00000000. */
#define FTH_SESSION_BASE 0x900000000000u
/* The first address above the GPU's memory. */
#define FTH_SESSION_END 0xa00000000000u
/* Address of the first allocation of pinned or managed memory, which is far from where a process
 * has its code, heap and stack. */
#define FTH_SESSION_HOST_BASE 0x300000000000u

enum fth_session_memory {
    FTH_MEMORY_DEVICE,
    FTH_MEMORY_PINNED,
    FTH_MEMORY_MANAGED,
    FTH_MEMORY_REGISTERED /* host memory of the program that it registered */
};

struct fth_session_block {
    uint64_t address, bytes;
    enum fth_session_memory kind;
    void *host;        /* its memory in this process */
    const void *owner; /* from fth_session_set_owner; NULL: none */
};

/* Allocates memory. FTH_NO_MEMORY: the GPU or the host has not enough. */
FTH_MUST_USE enum fth_status fth_session_alloc(struct fth_session *session,
                                               enum fth_session_memory kind, uint64_t bytes,
                                               uint64_t *address, struct fth_error *error);
/* Lets kernels access host memory that the program owns. */
FTH_MUST_USE enum fth_status fth_session_register(struct fth_session *session, void *host,
                                                  uint64_t bytes, struct fth_error *error);
/* Frees an allocation, or ends a registration. FTH_INVALID: there is none with this address and one
 * of the kinds, a mask of 1 << enum fth_session_memory. */
FTH_MUST_USE enum fth_status fth_session_free(struct fth_session *session, uint64_t address,
                                              unsigned kinds, struct fth_error *error);
/* Sets the owner of the block with this address, with which fth_session_free_owned frees it. */
void fth_session_set_owner(struct fth_session *session, uint64_t address, const void *owner);
void fth_session_free_owned(struct fth_session *session, const void *owner);
/* Finds the block that contains the address; variables of modules are no blocks. Returns false if
 * there is none. */
bool fth_session_find(const struct fth_session *session, uint64_t address,
                      struct fth_session_block *block);
/* Returns whether an address is one of the GPU's memory, allocated or not. */
bool fth_session_is_device(uint64_t address);
/* Returns the memory in this process for a range of addresses: of the GPU's memory, of a variable,
 * or of the host. NULL: the range begins in the GPU's memory, but is not inside one allocation. */
void *fth_session_host(const struct fth_session *session, uint64_t address, uint64_t bytes);
/* Returns how much of the GPU's memory is free, in bytes. */
uint64_t fth_session_free_bytes(const struct fth_session *session);

/* ---- session_module.c ---- */

struct fth_session_module;

/* Loads a module from PTX. `name` is for messages. */
FTH_MUST_USE enum fth_status fth_session_load(struct fth_session *session, const char *name,
                                              const char *ptx, size_t size,
                                              struct fth_session_module **module,
                                              struct fth_error *error);
/* The same, with the addresses of some variables: see fth_ptx_read_text_placed. */
FTH_MUST_USE enum fth_status fth_session_load_placed(struct fth_session *session, const char *name,
                                                     const char *ptx, size_t size,
                                                     const struct fth_ptx_placement *placements,
                                                     size_t placement_count,
                                                     struct fth_session_module **module,
                                                     struct fth_error *error);
/* Loads a module from a fat binary in the memory of this process: the PTX for a GPU of this
 * architecture, such as 90, or else that for the lowest one, which a GPU would refuse.
 * FTH_UNSUPPORTED: it has no PTX. */
FTH_MUST_USE enum fth_status fth_session_load_image(struct fth_session *session, const char *name,
                                                    const void *container, uint32_t architecture,
                                                    struct fth_session_module **module,
                                                    struct fth_error *error);
void fth_session_unload(struct fth_session *session, struct fth_session_module *module);
/* Removes the variables of a module from the memory. Its kernels cannot be launched until
 * fth_session_resume. */
void fth_session_suspend(struct fth_session *session, struct fth_session_module *module);
/* Puts the variables of a module that was suspended back, with their initial contents. */
FTH_MUST_USE enum fth_status fth_session_resume(struct fth_session *session,
                                                struct fth_session_module *module,
                                                struct fth_error *error);
/* Returns the kernel with this name, or NULL. */
const struct fth_ptx_kernel *fth_session_kernel(const struct fth_session_module *module,
                                                const char *name);
/* Returns the kernel with this index, or NULL if there are fewer. */
const struct fth_ptx_kernel *fth_session_kernel_at(const struct fth_session_module *module,
                                                   size_t index);
/* Finds a variable. Returns false if there is none of this name. */
bool fth_session_variable(const struct fth_session_module *module, const char *name,
                          uint64_t *address, uint64_t *bytes);

/* Finds the debug information of a module, which the first call reads; *debug is NULL if it has
 * none. Fails only without memory. */
FTH_MUST_USE enum fth_status fth_session_debug(struct fth_session_module *module,
                                               const struct fth_ptx_debug **debug,
                                               struct fth_error *error);

/* ---- session_launch.c ---- */

struct fth_session_launch {
    struct fth_session_module *module;
    const struct fth_ptx_kernel *kernel;
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; /* all 0: as the kernel requires, or no clusters */
    uint64_t shared_bytes;
    bool cooperative;      /* the blocks can wait for each other */
    const void *arguments; /* with the layout of the kernel's parameters in the PTX */
};

/* Allocates what cooperative launches need. fth_session_run does so before the first one. */
FTH_MUST_USE enum fth_status fth_session_reserve_workspace(struct fth_session *session,
                                                           struct fth_error *error);
/* Finds out which memory a launch depends on, for fth_ptx_is_needed; forgets what earlier launches
 * depended on. */
FTH_MUST_USE enum fth_status fth_session_plan(struct fth_session *session,
                                              const struct fth_session_launch *launch,
                                              struct fth_error *error);
/* Runs a kernel to its end. If it fails, *fault says what the kernel did wrong. */
FTH_MUST_USE enum fth_status fth_session_run(struct fth_session *session,
                                             const struct fth_session_launch *launch,
                                             enum fth_ptx_fault *fault, struct fth_error *error);
/* Returns the time at which the work so far would end, in nanoseconds since the session began: an
 * estimate from the figures of the description, for the times of events. It ignores caches and
 * stalls. */
double fth_session_time_ns(const struct fth_session *session);
/* Adds the time of a copy of this size between host and GPU, or within the GPU's memory. */
void fth_session_add_copy_time(struct fth_session *session, uint64_t bytes, bool within_gpu);

/* ---- arguments.c ---- */

/* Memory of a program: an allocation or a variable. */
struct fth_memory_place {
    uint64_t address, bytes;
    const char *variable; /* its name in the PTX; NULL: it is no variable */
};
enum { FTH_MEMORY_PLACE_BYTES = 512 };
/* Describes an address in this memory: "4096 bytes" for the first byte of an allocation, "byte 16
 * of variable 'table'". */
void fth_memory_place_describe(const struct fth_memory_place *place, uint64_t address,
                               char text[FTH_MEMORY_PLACE_BYTES]);

/* An argument of a launch, or a member of one that is a struct. */
struct fth_argument {
    size_t number;      /* of the parameter, from 1 */
    size_t offset;      /* in the parameter, in bytes */
    const char *name;   /* from debug information; NULL: unknown */
    const char *type;   /* in C++ if it is known, otherwise as in the PTX */
    const char *value;  /* a number in decimal; an address or words in hexadecimal */
    const char *memory; /* what it points to; NULL: it is no address, or that is not known */
};
struct fth_arguments {
    const struct fth_session_module *module; /* of the kernel; NULL: its instructions are unknown */
    const struct fth_ptx_debug *debug;       /* may be NULL */
    const struct fth_ptx_kernel *kernel;
    const void *bytes; /* with the layout of the kernel's parameters in the PTX */
    /* Finds the memory that contains an address. */
    bool (*find)(void *user, uint64_t address, struct fth_memory_place *place);
    /* Receives each argument; its texts are valid during the call. */
    void (*put)(void *user, const struct fth_argument *argument);
    void *user;
};
/* Describes all arguments of a launch, in the order of their offsets. */
FTH_MUST_USE enum fth_status fth_arguments_describe(const struct fth_arguments *arguments,
                                                    struct fth_error *error);
/* Writes the arguments of a launch of the session in one line, and cuts it to the size:
 * "float* = 0x900000000000 (4096 bytes), int = 5". */
void fth_session_show_arguments(struct fth_session *session,
                                const struct fth_session_launch *launch, char *text, size_t size);

/* ---- replay.c ---- */

/* Replays the launches of a capsule in an open file, and traces them. Launches that cannot be
 * replayed are left out, with a warning. `no_spills`: as in struct fth_launch_options. FTH_INVALID:
 * also if the PTX engine stops a launch. FTH_NOT_FOUND: no launch is left. */
FTH_MUST_USE enum fth_status fth_capsule_trace(int fd, const char *path,
                                               const struct fth_replay_options *options,
                                               bool no_spills, struct fth_trace_writer *writer,
                                               struct fth_error *error);

#endif
