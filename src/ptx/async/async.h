/* async/: instructions whose effect comes later than the instruction: asynchronous copies, and the
 * barriers in shared memory (mbarrier) that count their completion.
 *
 *   mbarrier.c     the objects in shared memory and the instructions mbarrier.*
 *   async_queue.c  the copies that have been issued and are not complete, and when they take place
 *   copy_thread.c  cp.async: each thread copies up to 16 bytes from global to shared memory
 *   reduce.c       combines bytes with a destination, for cp.reduce.async.bulk
 *   copy_bulk.c    cp.async.bulk, cp.reduce.async.bulk: one thread copies a range of bytes
 *   store_async.c  st.async, red.async: stores in the shared memory of other blocks
 *   copy_tensor.c  cp.async.bulk.tensor: one thread copies a box of a tensor
 *   tensor_box.c   the elements of a box of a tensor
 *   tensor_map.c   tensor maps, which describe tensors; tensor_map.h is their interface
 *   tensor_replace.c  instructions that change tensor maps
 *   no_effect.c    fences, prefetches and hints, which the engine accepts and does not need */
#ifndef FTH_PTX_ASYNC_H
#define FTH_PTX_ASYNC_H

#include "ptx/async/tensor_map.h"
#include "ptx/execute/address.h"
#include "ptx/parse/operand.h"

/* ---- mbarrier.c ---- */

fth_ptx_family fth_ptx_family_mbarrier;

/* Adds bytes to those that the current phase of the mbarrier still waits for, or, if negative,
 * subtracts bytes that have been copied. Returns false if the object is not an mbarrier or the
 * number is out of range. */
bool fth_ptx_mbarrier_add_bytes(uint8_t *mbarrier, int64_t bytes);
/* Counts arrivals. The same results. */
bool fth_ptx_mbarrier_arrive(uint8_t *mbarrier, uint64_t count);
/* Returns the parity of the current phase: 0 for the first one. */
unsigned fth_ptx_mbarrier_parity(const uint8_t *mbarrier);
/* Lets the current phase wait for further arrivals. */
bool fth_ptx_mbarrier_expect(uint8_t *mbarrier, uint64_t count);

/* ---- async_queue.c ---- */

/* The two kinds of groups of copies; also indices of copy_groups in struct fth_ptx_warp. */
enum fth_ptx_copy_kind { COPY_THREAD, COPY_BULK };

/* An asynchronous copy of one warp that is not complete. A struct of its instruction follows. */
struct fth_ptx_copy {
    struct fth_ptx_copy *next;
    struct fth_ptx_warp *warp; /* that issued it */
    const struct fth_ptx_inst *inst;
    enum fth_ptx_copy_kind kind;
    uint32_t lanes;         /* that are not complete */
    uint32_t groups[LANES]; /* of each lane: how many groups it had committed before */
    bool last;              /* it is executed only after all earlier copies of its lanes */
    bool signals;           /* it changes an mbarrier, for which warps can wait */
    uint32_t executed;      /* lanes that have been executed, but are not complete */
    struct fth_hazard_operation *operation; /* what the search for missing waits knows of it; NULL:
                                             * nothing */
    /* Executes the copy for these lanes. Returns false after a fault. */
    bool (*execute)(struct fth_ptx_copy *copy, uint32_t lanes);
};

/* Creates a copy with `bytes` bytes in total: a struct that begins with struct fth_ptx_copy. All of
 * it is zero except for the fields of the arguments. Returns NULL, and stops the launch, when out
 * of memory. */
void *fth_ptx_copy_create(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                          enum fth_ptx_copy_kind kind, uint32_t lanes, size_t bytes);
/* Appends the copy to those of the cluster, which then own it. */
void fth_ptx_copy_issue(struct fth_ptx_copy *copy);
/* The lanes commit the copies since their last commit as a group. */
void fth_ptx_copies_commit(struct fth_ptx_warp *warp, enum fth_ptx_copy_kind kind, uint32_t lanes);
/* How a thread waits for copies. */
struct fth_ptx_wait {
    enum fth_ptx_copy_kind kind;
    uint64_t pending; /* not for the last groups, of this number */
    bool uncommitted; /* for all copies, also those that are in no group */
    bool reads;       /* only until the sources are read */
};

/* Executes the copies of each lane that the lane waits for. */
void fth_ptx_copies_wait(struct fth_ptx_warp *warp, uint32_t lanes,
                         const struct fth_ptx_wait *wait);

/* ---- reduce.c ---- */

/* How a copy combines the source with the destination. */
struct fth_ptx_reduction {
    enum fth_ptx_atomic_op op;
    enum fth_ptx_type type;
    bool keeps_subnormals; /* a sum of f32; otherwise, they count as zeros */
};

/* Parses ".add.noftz.f16" and the like. Returns false, without an error, if it is not supported. */
bool fth_ptx_take_reduction(struct fth_ptx_statement *statement,
                            struct fth_ptx_reduction *reduction);
/* Parses only ".add" and the like, for tensors, whose map has the type. */
bool fth_ptx_take_reduction_op(struct fth_ptx_statement *statement,
                               struct fth_ptx_reduction *reduction);
/* Parses only ".u32" and the like. */
bool fth_ptx_take_reduction_type(struct fth_ptx_statement *statement,
                                 struct fth_ptx_reduction *reduction);
/* Returns the name of an operation that these functions parse. */
const char *fth_ptx_reduction_name(enum fth_ptx_atomic_op op);
/* Combines `bytes` bytes of the source with the destination. */
void fth_ptx_reduce(const struct fth_ptx_reduction *reduction, uint8_t *to, const uint8_t *from,
                    uint64_t bytes);

/* ---- copy_bulk.c ---- */

/* The operands of a bulk copy or of a tensor copy: rows, or NO_REGISTER. */
struct fth_ptx_bulk {
    struct fth_ptx_detail detail;
    int32_t to, from, size, mbarrier;
    int64_t to_offset, from_offset, mbarrier_offset;
    uint8_t to_space, from_space;
    int32_t blocks; /* mask of the blocks that receive the data (multicast) */
    int32_t mask;   /* of bytes */
    bool reduces;
    struct fth_ptx_reduction reduction;
};

fth_ptx_family fth_ptx_family_bulk;   /* after "cp.async.bulk" */
fth_ptx_family fth_ptx_family_reduce; /* after "cp.reduce" */

/* Issues a copy of one lane. `target` is the rank of the block that receives it, or -1: the address
 * says it. Returns false after a fault. */
typedef bool fth_ptx_issue_copy(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                int lane, int target);
/* Issues a copy for each lane of the mask, and for each block if the row `blocks` has a mask of
 * blocks (multicast). */
void fth_ptx_issue_copies(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                          int32_t blocks, uint32_t mask, fth_ptx_issue_copy *issue_copy);
/* Take operand `index`: an address in brackets, or a register or number. */
bool fth_ptx_take_place(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                        size_t index, int32_t *row, int64_t *offset);
bool fth_ptx_take_row(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                      size_t index, int32_t *row);
/* Counts the bytes that a lane has copied at its mbarrier, unless that is NULL. Returns false after
 * a fault. */
bool fth_ptx_copy_arrived(struct fth_ptx_copy *copy, int lane, uint8_t *mbarrier, uint64_t bytes);
/* Returns the address in the shared memory of the block with this rank that corresponds to a shared
 * address of any block. */
uint64_t fth_ptx_address_in_block(const struct fth_ptx_warp *warp, uint64_t address, unsigned rank);
/* Reports to the observer that the copies of the instruction (`bulk`), or those of the warp by
 * cp.async, signal the mbarrier at this shared address of the cluster; `mbarrier` is its host
 * address. Returns false if the observer ends the launch. */
bool fth_ptx_notify_mbarrier(struct fth_ptx_warp *warp, uint64_t address, const uint8_t *mbarrier,
                             bool bulk);
/* Returns the host address of an mbarrier at a shared address of the cluster. Reports a fault and
 * returns NULL if it is outside of the memory. */
uint8_t *fth_ptx_resolve_mbarrier(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                  int lane, uint64_t address);

/* ---- tensor_box.c ---- */

/* The elements of a tensor that one copy moves. */
struct fth_ptx_tensor_box {
    struct fth_ptx_tensor_map map;
    int32_t at[FTH_TENSOR_MAX_RANK];          /* coordinates; 0 where the tensor has no dimension */
    int32_t offsets[FTH_TENSOR_MAX_RANK - 2]; /* im2col */
};

/* A row of a box. The elements from `first` to `end` - 1 are inside of the tensor. */
struct fth_ptx_box_row {
    uint64_t index;                  /* of the row in the box */
    int64_t at[FTH_TENSOR_MAX_RANK]; /* coordinates of its first element, without offsets */
    uint64_t first, end;             /* the same: no element is inside */
    uint64_t unit_end;               /* the end of the unit of 16 bytes that `end` is in */
    uint64_t address;                /* of element `first` in global memory */
};

/* Returns the bytes of a slice of channels, or 0 if the layout is not interleaved. */
unsigned fth_ptx_tensor_slice_bytes(const struct fth_ptx_tensor_map *map);
/* Return the elements of each row, the number of rows, and the bytes of a box; the distance of its
 * rows in shared memory in bytes, and the bytes of shared memory from the first row on that it can
 * touch. */
uint64_t fth_ptx_box_row_elements(const struct fth_ptx_tensor_map *map);
uint64_t fth_ptx_box_rows(const struct fth_ptx_tensor_map *map);
uint64_t fth_ptx_box_bytes(const struct fth_ptx_tensor_map *map);
uint64_t fth_ptx_box_pitch(const struct fth_ptx_tensor_map *map);
uint64_t fth_ptx_box_shared_bytes(const struct fth_ptx_tensor_map *map);
/* Sets the row to the first one of the box, or advances it to the next one. */
void fth_ptx_box_first_row(const struct fth_ptx_tensor_box *box, struct fth_ptx_box_row *row);
void fth_ptx_box_next_row(const struct fth_ptx_tensor_box *box, struct fth_ptx_box_row *row);

/* ---- copy_tensor.c ---- */

/* Parses the instruction after "cp.async.bulk.tensor" or "cp.reduce.async.bulk.tensor". */
bool fth_ptx_parse_tensor_copy(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                               bool reduces, struct fth_ptx_inst *inst);

/* ---- store_async.c ---- */

/* Returns true for st.async and red.async. */
bool fth_ptx_is_store_async(const struct fth_ptx_statement *statement);
fth_ptx_family fth_ptx_family_store_async;

/* ---- tensor_replace.c ---- */

fth_ptx_family fth_ptx_family_tensormap;

/* ---- no_effect.c ---- */

fth_ptx_family fth_ptx_family_fence;
fth_ptx_family fth_ptx_family_resources;
fth_ptx_family fth_ptx_family_policy;

/* ---- copy_thread.c ---- */

fth_ptx_family fth_ptx_family_cp;

#endif
