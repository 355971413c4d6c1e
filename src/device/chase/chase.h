/* The chase family: pointer chases by one lane at a time. Requests that do not disturb each other
 * share one launch, with one request per SM: each block of the kernel `chase` looks up the request
 * of its SM in a table. Two things are called a step: the steps of a request (struct fth_step) are
 * executed one after the other; the step of a chain (fth_chain_step) is the number of elements by
 * which a hop advances.
 *
 *   chase_request.c   validates requests, writes and reads their canonical text
 *   chase_lowering.c  lowers a request: offsets, samples, warps, shared memory, hops
 *   chase_grouping.c  which requests share a launch, and on which SM each runs
 *   chase_layout.c    allocates and builds the chains in GPU memory; chase_layout.h
 *   chase_encoding.c  requests in the form that the kernel reads, and the constant bank
 *   chase_running.c   launches groups and collects their samples
 *   family_share.c    the share family, whose chains are laid out in the same way
 */
#ifndef FTH_CHASE_H
#define FTH_CHASE_H

#include "device/chase/chase_layout.h"
#include "device/family/family.h"

/* State of the family in an open device. */
struct fth_chase_state {
    struct fth_layout layout;
    uint64_t control, control_bytes; /* memory for tables, requests and samples; 0: none */
    size_t next_sm;                  /* index of the SM for the next request without a fixed SM */
};

/* A request that shares a launch with others. */
struct fth_chase_member {
    struct fth_job *job;
    const struct fth_lowered_chase *chase; /* of the job */
    size_t regions[FTH_MAX_STEPS]; /* index of the region in the layout, for each step whose array
                                      is in global memory or a texture */
    uint32_t sm;                   /* %smid, or FTH_ANY_SM until fth_chase_assign_sms */
    bool served;                   /* a block has executed the request */
};

/* Requests that share a launch. */
struct fth_chase_group {
    struct fth_chase_member *members; /* sm_count elements */
    size_t count;
    bool sm_taken[FTH_MAX_SMS]; /* by %smid */
    /* The launch. `request` is the first one; all have the same carve-out and shared memory. */
    const struct fth_request *request;
    uint32_t threads;
    uint64_t shared_bytes;
    bool has_constants;
    double hops; /* sum over all requests, for the time limit */
    uint64_t sample_count;
};

/* ---- chase_request.c ---- */

/* See struct fth_family_ops. */
FTH_MUST_USE enum fth_status fth_chase_check(const struct fth_request *request,
                                             struct fth_error *error);
void fth_chase_write(const struct fth_request *request, struct fth_buffer *text);
bool fth_chase_read(struct fth_scanner *scanner, struct fth_request *request);
uint64_t fth_chase_samples(const struct fth_request *request);
/* The number of samples of a step; UINT64_MAX on overflow. */
uint64_t fth_chase_step_samples(const struct fth_step *step);
/* Reads the chain of a step: "ARRAY[+START]:STRIDExCOUNT [step N]". */
bool fth_chase_read_chain(struct fth_scanner *scanner, struct fth_chain *chain);
/* The kind of memory that the arrays of a path lie in. */
enum fth_memory fth_chase_memory(enum fth_path path);
/* The request's first step other than FTH_STEP_TOUCH that uses the array, or NULL. */
const struct fth_step *fth_chase_walk(const struct fth_chase *chase, unsigned array);

/* ---- chase_lowering.c ---- */

/* See struct fth_family_ops. */
FTH_MUST_USE enum fth_status fth_chase_lower(const struct fth_runner *runner,
                                             struct fth_lowered *lowered, struct fth_error *error);

/* ---- chase_grouping.c ---- */

/* Whether the request can share a launch with the group. */
bool fth_chase_can_join(const struct fth_runner *runner, const struct fth_chase_group *group,
                        const struct fth_lowered *lowered);
/* Completes the next member of the group, whose regions are set. */
void fth_chase_join(const struct fth_runner *runner, struct fth_chase_group *group,
                    struct fth_job *job);
/* Assigns SMs to the members that accept any SM, in turn so that all SMs are used. */
void fth_chase_assign_sms(const struct fth_runner *runner, struct fth_chase_state *state,
                          struct fth_chase_group *group);

/* ---- chase_encoding.c ---- */

/* Size of the constant bank in bytes: CUDA's limit for constants. */
enum { FTH_BANK_BYTES = 65536 };
/* Writes a chain into `bank`, a buffer of FTH_BANK_BYTES with the future contents of a constant
 * bank that kernels see at the address `origin`. */
void fth_chase_build_constants(const struct fth_chain *chain, uint64_t origin, uint64_t *bank);
/* Writes the chains of all members into the constant bank. */
FTH_MUST_USE enum fth_status fth_chase_upload_constants(struct fth_runner *runner,
                                                        const struct fth_chase_group *group,
                                                        struct fth_error *error);
/* Converts the request of a member to the form that the kernel reads, and queues the launches that
 * build its chains. `samples` is the address of its first sample. */
FTH_MUST_USE enum fth_status fth_chase_encode(struct fth_runner *runner, struct fth_layout *layout,
                                              const struct fth_chase_member *member,
                                              uint64_t samples, struct fth_chase_request *out,
                                              struct fth_error *error);

#endif
