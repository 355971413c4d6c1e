/* The interface of the families of experiments. A family validates its requests, writes and reads
 * their canonical text, lowers them for a GPU (lowered.h) and executes them. It keeps what it needs
 * from request to request in a state of its own.
 *
 *   chase/             pointer chases; the only family whose requests share launches
 *   family_fetch.c     straight-line code of a given length, for instruction caches
 *   family_stream.c    bandwidth, timed inside the kernel
 *   family_cluster.c   pointer chases in the shared memory of another SM
 *   family_operate.c   throughput and latency of one operation
 *   family_sweep.c     STREAM's kernels, timed by the driver
 *   family_transfer.c  copies by the driver
 *   family_pair.c      reads of the same lines by two SMs
 *   family_place.c     the SM and the start of each block of a grid
 *   family_evict.c     eviction sets in the L2
 *   family_visit.c     single accesses of one thread
 *   family_traffic.c   reads and writes of parts of an array
 *   family_hint.c      what accesses with hints leave in L1 and L2
 *   family_contend.c   reads of lines while other SMs read one line
 *   family_copies.c    asynchronous copies
 *   family_branch.c    strided branches, for the ways of instruction caches
 *   family_flight.c    independent loads of the warps of an SM
 *   family_merge.c     stores of the warps of an SM
 *   chase/family_share.c  whether two SMs share a cache
 *   family_pool.c      GPU memory for arrays; family_pool.h
 */
#ifndef FTH_FAMILY_H
#define FTH_FAMILY_H

#include "device/request_text.h"
#include "device/runner.h"

/* Limits of requests, in bytes: of the constant bank and of linear textures (2^27 texels of 4
 * bytes), which are CUDA's; of shared and global memory, which are larger than those of any GPU. */
#define FTH_MAX_CONSTANT_BYTES (UINT64_C(64) << 10)
#define FTH_MAX_TEXTURE_BYTES (UINT64_C(4) << 27)
#define FTH_MAX_SHARED_BYTES (UINT64_C(1) << 20)
#define FTH_MAX_GLOBAL_BYTES (UINT64_C(1) << 46)

/* What the requests of a family destroy that other families may rely on. */
enum {
    FTH_DISTURBS_L2 = 1,    /* the contents of the L2 */
    FTH_DISTURBS_ARRAYS = 2 /* the contents of fth_runner.arrays */
};

struct fth_family_ops {
    /* ---- requests ---- */

    /* The word that the canonical text begins with. NULL: the text begins with a step of a chase.
     */
    const char *word;
    /* See fth_request_check, fth_request_write and fth_request_samples. */
    enum fth_status (*check)(const struct fth_request *request, struct fth_error *error);
    void (*write)(const struct fth_request *request, struct fth_buffer *text);
    /* Reads the text behind `word` and a space, up to the options of fth_request_write_options.
     * `request` has default values. Returns false where the scanner stops at unexpected text. */
    bool (*read)(struct fth_scanner *scanner, struct fth_request *request);
    uint64_t (*samples)(const struct fth_request *request);

    /* ---- execution ---- */

    /* Fills the members of `lowered` that follow `sample_count`, which are zero. FTH_UNSUPPORTED,
     * FTH_UNAVAILABLE and FTH_NOT_FOUND: this GPU cannot execute the request. */
    enum fth_status (*lower)(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error);
    /* Minimum compute capability, 90 for 9.0, and the cause to report for older GPUs. 0: that of
     * experiments.ptx. */
    unsigned min_capability;
    const char *too_old;
    /* Appends the PTX of the family's kernels, which are loaded before the first request. NULL: the
     * family loads its modules itself. */
    enum fth_status (*make_ptx)(struct fth_buffer *ptx, struct fth_error *error);
    /* Appends the PTX that a request needs, for a family that loads its modules itself. NULL: the
     * modules are not compiled ahead (fth_device_expect). */
    enum fth_status (*request_ptx)(const struct fth_request *request, struct fth_buffer *ptx,
                                   struct fth_error *error);
    /* Creates the state before the first request. NULL: the family has none. */
    enum fth_status (*open)(struct fth_runner *runner, void **state, struct fth_error *error);
    /* Frees the state with all memory and modules. */
    void (*release)(struct fth_runner *runner, void *state);
    /* What the requests of the family destroy (FTH_DISTURBS_*), and how the family learns that
     * another one is about to destroy `what`. NULL: the family does not rely on any of it. */
    unsigned disturbs;
    void (*disturb)(void *state, unsigned what);
    /* Executes one request. `cycles` has space for its samples and is zeroed. FTH_UNSUPPORTED (this
     * GPU cannot do it) and FTH_UNAVAILABLE (not enough memory) become the status of the answer.
     * Any other failure ends the batch. */
    enum fth_status (*run)(struct fth_runner *runner, struct fth_family_slot *slot,
                           const struct fth_lowered *lowered, uint32_t *cycles,
                           struct fth_error *error);
    /* For a family whose requests share launches, instead of `run`: executes jobs[0] and any of the
     * other jobs of the same family that are not done. Failures end the batch. */
    enum fth_status (*run_together)(struct fth_runner *runner, struct fth_family_slot *slot,
                                    struct fth_job *jobs, size_t count, struct fth_error *error);
};

extern const struct fth_family_ops fth_family_chase, fth_family_fetch, fth_family_stream,
    fth_family_cluster, fth_family_operate, fth_family_sweep, fth_family_transfer, fth_family_pair,
    fth_family_place, fth_family_evict, fth_family_visit, fth_family_traffic, fth_family_hint,
    fth_family_contend, fth_family_copies, fth_family_branch, fth_family_flight, fth_family_merge,
    fth_family_share;
const struct fth_family_ops *fth_family_of(enum fth_family family);

/* ---- family_visit.c ---- */

/* Writes and reads the word for where memory resides: "device", "host", "managed" or
 * "prefetched". */
const char *fth_residence_word(enum fth_residence residence, bool prefetched);
bool fth_scan_residence(struct fth_scanner *scanner, enum fth_residence *residence,
                        bool *prefetched);
/* Checks that only managed memory is prefetched, and that the residence exists. */
FTH_MUST_USE enum fth_status fth_check_residence(enum fth_residence residence, bool prefetched,
                                                 struct fth_error *error);
/* Allocates host or managed memory and prefetches it if `prefetched`. Free it with ops->host_free.
 */
FTH_MUST_USE enum fth_status fth_host_memory_alloc(struct fth_runner *runner,
                                                   enum fth_residence residence, bool prefetched,
                                                   uint64_t bytes, struct fth_host_memory *memory,
                                                   struct fth_error *error);

/* ---- request.c ---- */

/* Lowers a valid request for the GPU of the runner. A failure is the status of the answer: this GPU
 * cannot execute the request. */
FTH_MUST_USE enum fth_status fth_request_lower(const struct fth_runner *runner,
                                               const struct fth_request *request,
                                               struct fth_lowered *lowered,
                                               struct fth_error *error);
/* Returns the launch of a lowered request, without module, kernel and arguments. */
struct fth_machine_launch fth_lowered_launch(const struct fth_lowered *lowered);
/* Checks that a request's carve-out is -1 or a percentage. */
FTH_MUST_USE enum fth_status fth_check_carveout(const struct fth_request *request,
                                                struct fth_error *error);
/* Appends the members of the whole request that do not have their default value ("; sm 5",
 * "; carveout 50", "; cold"). */
void fth_request_write_options(const struct fth_request *request, struct fth_buffer *text);

#endif
