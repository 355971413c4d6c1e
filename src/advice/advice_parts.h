/* advice/: edits of traces ("what if"), and hints what to change in a kernel (docs/model/hints.md).
 *
 *   edit_parse.c     edits from text               edit_trace.c    makes a trace with an edit
 *   edit_layout.c    elements in another order     edit_merge.c    accesses that blocks repeat
 *   edit_blocks.c    blocks in another order       edit_shared.c   accesses to shared memory
 *   edit_hint.c      operators of loads            seen_set.c      units that blocks have accessed
 *
 *   facts.c          counts that the rules need    hints.c         finds, computes and sorts hints
 *   rule_parts.c     what all rules use            rules_layout.c  addresses of the lanes
 *   rules_reuse.c    accesses that blocks repeat   rules_cache.c   L1, order of blocks
 *   rules_shared.c   shared memory
 *
 * A rule looks for a known fault in the counts of a kernel and proposes an edit or a parameter. The
 * model, not the rule, decides what that is worth. */
#ifndef FTH_ADVICE_PARTS_H
#define FTH_ADVICE_PARTS_H

#include "base/base.h"
#include "model/model.h"
#include "trace/trace.h"

#include <fathom/advice.h>

/* ---- edit_parse.c ---- */

enum fth_edit_kind {
    FTH_EDIT_LAYOUT,
    FTH_EDIT_MERGE,
    FTH_EDIT_HINT,
    FTH_EDIT_BLOCKS,
    FTH_EDIT_PAD
};
/* The operators that FTH_EDIT_HINT gives to loads. */
enum fth_edit_operator {
    FTH_EDIT_NC,
    FTH_EDIT_CG,
    FTH_EDIT_EVICT_FIRST,
    FTH_EDIT_EVICT_LAST,
    FTH_EDIT_NO_ALLOCATE,
    FTH_EDIT_ASYNC, /* cp.async, one iteration ahead */
    FTH_EDIT_OPERATORS
};

struct fth_edit {
    enum fth_edit_kind kind;
    bool *chosen; /* by instruction of the trace: the edit applies to it; NULL: FTH_EDIT_BLOCKS */
    enum fth_edit_operator load_operator;
    uint32_t tile; /* FTH_EDIT_BLOCKS: blocks per side of a square; 0: x and y are swapped */
};

/* Parses an edit of a trace. On failure there is nothing to release. */
FTH_MUST_USE enum fth_status fth_edit_parse(const char *text, const struct fth_trace *trace,
                                            struct fth_edit *edit, struct fth_error *error);
void fth_edit_fini(struct fth_edit *edit);
/* Returns whether an instruction accesses global memory by address: neither local nor shared memory
 * nor a texture. */
bool fth_edit_global(const struct fth_trace_instruction *instruction);

/* ---- edit_trace.c ---- */

/* fth_trace_edit for the launches of one kernel, which are the only ones of the new trace.
 * `kernel` NULL: all launches. */
FTH_MUST_USE enum fth_status fth_edit_kernel(const struct fth_trace *trace,
                                             const char *const *edits, size_t count,
                                             const char *kernel, const struct fth_log *log,
                                             struct fth_trace **edited, struct fth_error *error);
/* Returns whether a launch is of this kernel, or `kernel` is NULL. */
bool fth_launch_is_of(const struct fth_trace_launch *launch, const char *kernel);
/* Blocks of a launch, and warps of a block. */
uint64_t fth_launch_blocks(const struct fth_trace_launch *launch);
uint64_t fth_launch_warps(const struct fth_trace_launch *launch);
/* Checks the block and the warp of an access. FTH_INVALID: the trace is damaged. */
FTH_MUST_USE enum fth_status fth_edit_check(const struct fth_trace_launch *launch,
                                            const struct fth_trace_access *access,
                                            struct fth_error *error);
/* Returns how many consecutive blocks are processed together, so that what is kept for each of
 * their accesses stays small. */
uint64_t fth_edit_chunk(const struct fth_trace_launch *launch);

/* ---- edit_layout.c ---- */

/* The new addresses of the elements that an edit moves. */
struct fth_layout;
FTH_MUST_USE enum fth_status fth_layout_create(const struct fth_trace *trace,
                                               const struct fth_edit *edit, const char *kernel,
                                               const struct fth_log *log,
                                               struct fth_layout **layout, struct fth_error *error);
/* Replaces the addresses of elements that are moved. */
void fth_layout_move(struct fth_layout *layout, uint64_t *addresses, size_t count);
void fth_layout_destroy(struct fth_layout *layout);

/* ---- edit_merge.c ---- */

struct fth_merging;
/* Begins a launch. `numbers` has the number of each instruction in the writer; it is borrowed. */
FTH_MUST_USE enum fth_status fth_merging_create(const struct fth_trace *trace, size_t launch,
                                                const struct fth_edit *edit,
                                                const uint32_t *numbers, struct fth_merging **merge,
                                                struct fth_error *error);
/* Begins the blocks `first` to `first` + `count` - 1. */
FTH_MUST_USE enum fth_status fth_merging_begin(struct fth_merging *merge, uint64_t first,
                                               uint64_t count, struct fth_error *error);
/* Removes the lanes that repeat accesses of their block, and changes the number of the access. If
 * no lane is left, `mask` becomes 0. */
FTH_MUST_USE enum fth_status fth_merging_access(struct fth_merging *merge,
                                                struct fth_trace_access *access,
                                                struct fth_error *error);
/* Ends these blocks. */
FTH_MUST_USE enum fth_status fth_merging_end(struct fth_merging *merge, struct fth_error *error);
/* Returns what the warps execute between the accesses that are left; NULL: the trace does not say.
 * *dropped gets the number of accesses that were removed. */
const struct fth_pace *fth_merging_pace(struct fth_merging *merge, uint64_t *dropped);
void fth_merging_destroy(struct fth_merging *merge);

/* ---- edit_blocks.c ---- */

/* Returns the new number of a block. */
uint64_t fth_blocks_number(const struct fth_edit *edit, const uint32_t grid[3], uint64_t block);
/* Computes the grid after the edit. */
void fth_blocks_grid(const struct fth_edit *edit, const uint32_t grid[3], uint32_t result[3]);

/* ---- edit_hint.c ---- */

/* Gives a load, the instruction `index` of the trace, the operator of an edit. Returns false if
 * memory is exhausted. */
bool fth_edit_operator(const struct fth_trace *trace, const struct fth_edit *edit, uint32_t index,
                       struct fth_trace_instruction *instruction);

/* ---- edit_shared.c ---- */

/* Copies the counts of accesses to shared memory of a launch, with the numbers of the writer. With
 * FTH_EDIT_PAD, the chosen instructions get the wavefronts that padding leaves, and the steps of
 * `pace`, which has the numbers of the writer, fewer wavefronts. Returns false if memory is
 * exhausted. */
bool fth_edit_shared(const struct fth_trace *trace, size_t launch, const struct fth_edit *edit,
                     const uint32_t *numbers, struct fth_shared_table *table,
                     struct fth_pace *pace);

/* ---- seen_set.c ---- */

/* A set of units, such as sectors, of blocks, each with a number. */
struct fth_seen {
    struct fth_seen_entry {
        uint64_t unit;
        uint32_t block, value; /* block: from fth_seen_put, plus 1; 0: the entry is free */
    } * entries;
    size_t count, capacity;
};
/* Adds a unit of a block, or finds it. *value points to its number, which is `initial` if it is
 * new. FTH_INVALID: the set needs more than 512 MiB. */
FTH_MUST_USE enum fth_status fth_seen_put(struct fth_seen *seen, uint64_t unit, uint32_t block,
                                          uint32_t initial, uint32_t **value, bool *is_new,
                                          struct fth_error *error);
/* Removes all units but keeps the memory. */
void fth_seen_clear(struct fth_seen *seen);
void fth_seen_fini(struct fth_seen *seen);

/* ---- facts.c ---- */

/* What the rules need to know of an instruction of a kernel, over all its launches. */
struct fth_fact {
    const struct fth_trace_instruction *instruction;
    const struct fth_model_row *row; /* of the model's result; NULL: there is none */
    uint64_t requests;               /* warp accesses */
    uint64_t accesses;               /* thread accesses */
    uint64_t sectors;                /* of each warp access */
    uint64_t ideal_sectors;          /* if the different bytes of each warp access were adjacent */
    uint64_t footprint_sectors;      /* different sectors of the kernel, times its launches */
    /* Sectors of loads that another warp of the block was the first to load. */
    uint64_t shared_sectors;
    /* Pairs of block and address of an atomic. Copies of an unrolled instruction share the pairs:
     * each pair counts for the copy that is the first to have it. */
    uint64_t block_addresses;
    uint64_t low, high; /* range of addresses, `high` is exclusive */
    uint64_t first;     /* address of the first lane of the first access */
    /* The distance between neighbouring lanes that most of them have, how many lanes have it, and
     * how many lanes have a neighbour. Distances of 0 do not count. */
    uint64_t stride, stride_count, neighbours;
    /* Strided accesses are warp accesses whose first two lanes have different addresses. An access
     * is in phase if it has the same stride as the first strided access and begins at the same
     * offset in structs of this size. */
    uint64_t strided, in_phase;
};

/* The facts of a kernel. */
struct fth_facts {
    const char *kernel;
    const struct fth_model_row *row;       /* of the kernel in the model's result */
    const struct fth_trace_launch *launch; /* the last launch */
    struct fth_fact *items;                /* instructions with accesses to global memory */
    size_t count;
    uint64_t accesses;   /* warp accesses of all launches */
    uint64_t read_bytes; /* different sectors that the kernel reads, in bytes, times its launches */
};
/* Reads the accesses of a kernel, whose row of the result is `row`. `stats` are those of the trace.
 * All that is borrowed must outlive the facts. */
FTH_MUST_USE enum fth_status fth_facts_create(const struct fth_trace *trace,
                                              const struct fth_trace_stats *stats,
                                              const struct fth_model_result *result,
                                              const struct fth_model_row *row,
                                              const struct fth_log *log, struct fth_facts *facts,
                                              struct fth_error *error);
void fth_facts_fini(struct fth_facts *facts);

/* ---- hints.c, rule_parts.c ---- */

/* Maximum number of edits or parameters that a candidate tries. */
enum { FTH_MAX_TRIALS = 6 };

/* A hint whose gain has not been computed. */
struct fth_candidate_hint {
    struct fth_hint hint;
    /* The edits and parameters to try; the best one becomes hint.what_if. */
    const char *trials[FTH_MAX_TRIALS];
    size_t trial_count;
    /* Sectors that the change may save at most; candidates with a larger number are tried first. */
    double excess_sectors;
    bool is_shared; /* the change saves wavefronts of shared memory, not bytes */
    /* Completes the text when the gain of trials[trial] is known; NULL: the text is complete. */
    bool (*complete)(struct fth_arena *arena, const struct fth_facts *facts,
                     const struct fth_candidate_hint *candidate, size_t trial, const char **text);
};

/* The candidates of a kernel. */
struct fth_candidates {
    struct fth_candidate_hint *items;
    size_t count, capacity;
    struct fth_arena *arena; /* for texts */
    const struct fth_facts *facts;
    const struct fth_model_params *params;
    const struct fth_model_row *rows; /* [row_count]: the rows from that of the kernel on */
    size_t row_count;
    /* Facts that an earlier rule has explained, by index in facts->items. */
    bool *explained;
};

/* A rule adds its candidates. Returns false if memory is exhausted. */
typedef bool fth_hint_rule(struct fth_candidates *candidates);
fth_hint_rule fth_rule_structs, fth_rule_uncoalesced, fth_rule_atomics, fth_rule_redundant,
    fth_rule_capacity, fth_rule_block_order, fth_rule_streaming, fth_rule_bypass, fth_rule_banks,
    fth_rule_staged;

/* Formats a text in the arena. NULL: memory is exhausted. */
FTH_PRINTF(2, 3) char *fth_rule_text(struct fth_arena *arena, const char *format, ...);
/* Adds a candidate. Returns false if memory is exhausted or a text of it is NULL. */
bool fth_candidate_add(struct fth_candidates *candidates,
                       const struct fth_candidate_hint *candidate);
/* Returns "NAME=LINES" and `end`, with the PTX lines of the chosen facts, in the order of the
 * facts. "": a line is unknown. NULL: memory is exhausted. */
const char *fth_rule_edit(struct fth_candidates *candidates, const char *name, const bool *chosen,
                          const char *end);
/* Adds a candidate whose only trial is fth_rule_edit with these arguments. A candidate with an
 * unknown line has no trial. */
bool fth_candidate_add_edit(struct fth_candidates *candidates, struct fth_candidate_hint candidate,
                            const char *name, const bool *chosen, const char *end);
/* Writes where an instruction is, such as "kernel.cu:7" or "PTX line 45". */
const char *fth_rule_place(const struct fth_trace_instruction *instruction, char *text,
                           size_t size);
/* Returns whether two instructions are of the same kind and on the same source line, as copies of
 * an instruction that the compiler has unrolled are. */
bool fth_rule_same_line(const struct fth_trace_instruction *a,
                        const struct fth_trace_instruction *b);
/* Chooses the facts of the same kind and the same source line as `first`, from `first` on: an
 * instruction that the compiler has unrolled. Facts that are explained are left out. */
void fth_rule_unrolled(const struct fth_candidates *candidates, size_t first, bool *chosen);

#endif
