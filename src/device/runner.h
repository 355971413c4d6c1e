/* A device on top of a machine (machine.h): its state, and what the families of experiments need in
 * common. runner.c executes the requests of a batch one after the other; a family (family.h)
 * executes its requests, and keeps what it needs from batch to batch in a slot of its own.
 *
 *   runner.c         opening and closing, executing a batch, memory, flushing the L2
 *   runner_clock.c   the rate of the SM clock
 *   runner_census.c  the numbers of the SMs
 */
#ifndef FTH_RUNNER_H
#define FTH_RUNNER_H

#include "device/family/family_pool.h"
#include "device/lowered.h"

/* Entries of tables that are indexed by %smid; more than any GPU has SMs. */
enum { FTH_MAX_SMS = 1024 };

/* Minimum time limit of a launch in seconds. A launch that takes longer than this, plus what its
 * work can take at most, counts as hung. Chosen, not derived: much longer than any delay by the
 * driver or the operating system. */
#define FTH_MIN_TIME_LIMIT_S 3.0
/* Upper bound for one hop of a pointer chase in seconds, even if it misses in every TLB and the
 * clock is at its minimum. Chosen, not derived. */
#define FTH_MAX_HOP_S 10e-6

/* What a family keeps in an open device. */
struct fth_family_slot {
    void *state;                       /* of fth_family_ops.open; NULL: not opened yet */
    struct fth_machine_module *module; /* of fth_family_ops.make_ptx; NULL: not loaded yet */
};

struct fth_runner {
    const struct fth_machine_ops *ops;
    void *machine;
    const struct fth_log *log;
    struct fth_machine_facts facts;
    struct fth_machine_module *module; /* experiments.ptx: census, pace, flush, build, chase */
    uint64_t scratch;                  /* memory for the results of small kernels */
    uint32_t *sms;                     /* %smid of each SM, ascending */
    size_t sm_count;
    uint64_t bank;               /* address of the module's constant bank for uploads */
    uint64_t bank_origin;        /* its address in the constant space, as kernels see it */
    double clock_mhz;            /* of the last measurement */
    uint64_t unclocked_cycles;   /* sum of all samples since then */
    uint64_t unclocked_batches;  /* batches since then */
    uint64_t flush, flush_bytes; /* memory that is read to flush the L2; 0: none */
    struct fth_pool arrays;      /* memory for the arrays of sweeps and transfers */
    struct fth_family_slot slots[FTH_FAMILY_COUNT];
};

/* One request of a batch. */
struct fth_job {
    struct fth_lowered lowered;
    struct fth_samples *samples; /* of the caller; they receive the answer */
    bool done;                   /* the samples hold the answer, or why there is none */
};

/* Completes a job without an answer. */
void fth_job_fail(struct fth_job *job, enum fth_status status, const char *cause);

/* ---- runner.c ---- */

/* Allocates GPU memory for a request. FTH_UNAVAILABLE: the GPU has not enough of it, or does not
 * work. FTH_NO_MEMORY: the host has not enough memory for a simulated GPU. */
FTH_MUST_USE enum fth_status fth_runner_alloc(struct fth_runner *runner, uint64_t bytes,
                                              uint64_t *address, struct fth_error *error);
/* Queues a kernel of experiments.ptx. Sets the module and the carve-out of `launch`. */
FTH_MUST_USE enum fth_status fth_runner_launch(struct fth_runner *runner,
                                               struct fth_machine_launch launch,
                                               struct fth_error *error);
/* Queues a launch that evicts almost everything from the L2. */
FTH_MUST_USE enum fth_status fth_runner_flush(struct fth_runner *runner, struct fth_error *error);
/* Frees the memory of fth_runner_flush, which allocates it again when it is needed. */
void fth_runner_free_flush(struct fth_runner *runner);
/* The size of the L2; an assumed upper limit of 128 MiB where it is unknown. */
uint64_t fth_runner_l2_bytes(const struct fth_runner *runner);

/* ---- runner_clock.c ---- */

/* Keeps the GPU busy until its clock has settled, and measures it. */
FTH_MUST_USE enum fth_status fth_runner_warm_up(struct fth_runner *runner, struct fth_error *error);
/* Measures the clock again after a batch whose samples add up to `cycles`, unless it never changes
 * or was measured a short time ago. `*mean_mhz` is the mean of the rates before and after. */
FTH_MUST_USE enum fth_status fth_runner_check_clock(struct fth_runner *runner, uint64_t cycles,
                                                    double *mean_mhz, struct fth_error *error);
/* Queues a kernel that only waits. It keeps the GPU busy while the host queues the timed work, so
 * that this work starts directly after the delay and not when the host's call arrives. */
FTH_MUST_USE enum fth_status fth_runner_queue_delay(struct fth_runner *runner,
                                                    struct fth_error *error);

/* ---- runner_census.c ---- */

/* Finds the SMs and the address of the constant bank as kernels see it. */
FTH_MUST_USE enum fth_status fth_runner_find_sms(struct fth_runner *runner,
                                                 struct fth_error *error);

#endif
