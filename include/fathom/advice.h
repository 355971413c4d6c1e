/* Advice: what would change if a kernel accessed memory in another way, and hints what to change in
 * a kernel (docs/model/hints.md). */
#ifndef FATHOM_ADVICE_H
#define FATHOM_ADVICE_H

#include <fathom/cache_model.h>
#include <fathom/traces.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns whether a text is an edit of a trace, by what is in front of its '=':
 *
 *     layout=LINES          the elements that these instructions access are stored in the order in
 *                           which the warps first access them, without gaps
 *     merge=LINES           in each block, these loads read every 32-byte sector only once, and
 *                           these atomics update every address only once
 *     hint=LINES:OPERATOR   these loads get an operator: nc, cg, evict_first, evict_last,
 *                           no_allocate, or async for cp.async in a pipeline with two buffers
 *     blocks=swap, tileN    blocks are numbered in another order: x and y are swapped, or each
 *                           square of N x N blocks gets consecutive numbers
 *     pad=LINES             these accesses to shared memory have the wavefronts that remain if the
 *                           rows of the array are one element longer
 *
 * LINES is a list of lines, separated by commas, or "all". A line is a number, which is a line of
 * the PTX, or FILE:LINE of the source. */
FTH_API bool fth_trace_edit_known(const char *text);
/* Makes a new trace from a trace: the edits are applied one after the other. The new trace is a
 * temporary file without a name, which disappears when the trace is closed. Instructions keep their
 * lines, but their indices can change. `log` may be NULL. FTH_INVALID: an edit is malformed or
 * cannot be applied, such as to lines without loads, or the trace is damaged. FTH_NOT_FOUND: a line
 * has no instruction that accesses memory. FTH_INTERRUPTED: there is no trace. */
FTH_API FTH_MUST_USE enum fth_status fth_trace_edit(const struct fth_trace *trace,
                                                    const char *const *edits, size_t count,
                                                    const struct fth_log *log,
                                                    struct fth_trace **edited,
                                                    struct fth_error *error);

/* What the model computes for a kernel, over all its launches. NAN: unknown. */
struct fth_hint_figures {
    double seconds;                          /* estimated time */
    double l1_bytes, l2_bytes, memory_bytes; /* bytes read and written at this level */
    double shared_wavefronts;                /* see struct fth_shared_counts */
};

/* A hint what to change in a kernel. */
struct fth_hint {
    const char *kernel;
    /* "uncoalesced", "array_of_structs", "atomics", "redundant_loads", "l1_capacity",
     * "block_order", "streaming", "l1_bypass" or "bank_conflicts" */
    const char *rule;
    /* The instruction that the hint is about, or the first of several; NULL: the whole kernel. */
    const struct fth_trace_instruction *instruction;
    const char *text;     /* what is wrong and what to change, in one or two sentences */
    const char *evidence; /* the counts that support it */
    /* The edit of the trace, or the parameter NAME=VALUE, that `after` was computed with, which
     * 'fathom model --what-if' accepts. "": there is none. */
    const char *what_if;
    /* The figures of the kernel now and with the change. All members of `after` are NAN if the
     * model was not run with the change. */
    struct fth_hint_figures before, after;
    /* The part of the time that the change saves, 0 to 1; without times, of the bytes of the level
     * that limits the kernel, or of the wavefronts of shared memory. NAN: not computed. */
    double gain;
};

/* What fth_hints_create computes. Initialise it with FTH_HINTS_OPTIONS. */
struct fth_hints_options {
    size_t size;           /* of this struct in bytes */
    unsigned max_hints;    /* maximum hints per kernel; 0: 3 */
    uint64_t max_accesses; /* if a kernel has more warp accesses, gains are not computed; 0: 4 M */
    const char *kernel;    /* only hints for this kernel; NULL: for all */
    unsigned threads;      /* as in struct fth_model_options */
    const struct fth_log *log;
};
/* Initialises a struct fth_hints_options; the arguments are designated initialisers. */
#define FTH_HINTS_OPTIONS(...) FTH_OPTIONS(struct fth_hints_options, __VA_ARGS__)

/* Hints for the kernels of a trace. */
struct fth_hints;

/* Finds hints for the kernels of a trace. `result` is that of fth_model_run for this trace and
 * these parameters; the rules about the L1's capacity need fth_model_options.diagnose. The model
 * runs again for each candidate, on the edited trace or with the changed parameter. A candidate
 * that saves less than 3 % is left out. The trace must stay open as long as the hints are used.
 * `options` may be NULL. FTH_INTERRUPTED: there are no hints. Otherwise the statuses of
 * fth_trace_edit and fth_model_run. */
FTH_API FTH_MUST_USE enum fth_status fth_hints_create(const struct fth_trace *trace,
                                                      const struct fth_model_params *params,
                                                      const struct fth_model_result *result,
                                                      const struct fth_hints_options *options,
                                                      struct fth_hints **hints,
                                                      struct fth_error *error);
/* Returns the `index`-th hint; NULL past the last. Hints are in the order of the kernels in the
 * result; those of a kernel begin with the one that saves most. */
FTH_API const struct fth_hint *fth_hints_at(const struct fth_hints *hints, size_t index);
/* Releases hints. */
FTH_API void fth_hints_destroy(struct fth_hints *hints);

#ifdef __cplusplus
}
#endif

#endif
