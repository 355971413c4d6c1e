/* probe/place/: where the SMs of a GPU are, and which SM executes a block.
 *
 *   place_groups.c  the GPC and the TPC of each SM, from clusters
 *   place_order.c   the order in which SMs receive the blocks of a grid, and which SM receives the
 *                   next block when all SMs are full
 */
#ifndef FTH_PROBE_PLACE_H
#define FTH_PROBE_PLACE_H

#include "probe/probe.h"

/* ---- place_groups.c ---- */

struct fth_sm_groups {
    struct fth_sm_map map; /* gpc and tpc; map.sms is 0 if the GPCs are not known */
    bool tpcs_known;       /* otherwise each SM counts as a TPC */
    char gpc_reason[160];  /* why they are not known */
    char tpc_reason[160];
    uint32_t largest_cluster; /* blocks of the largest clusters that the GPU supports */
    uint32_t single_sms;      /* SMs that were only in clusters of 2; map.first marks them */
    struct fth_evidence gpc_evidence, tpc_evidence;
    size_t samples;
};

/* Launches grids in clusters. The blocks of a cluster run in one GPC, so SMs that executed blocks
 * of the same cluster are in the same GPC. Those of a cluster of 2 are a TPC. */
FTH_MUST_USE enum fth_status fth_probe_sm_groups(const struct fth_prober *prober,
                                                 struct fth_sm_groups *groups,
                                                 struct fth_error *error);

/* ---- place_order.c ---- */

struct fth_order_found {
    bool known, by_gpc;                      /* by_gpc: "gpc", otherwise "sm" */
    bool first;                              /* by_gpc: the GPCs that map.first marks come first */
    uint32_t returns[FTH_MAX_BLOCK_RETURNS]; /* [return_count] for block_return_blocks */
    uint32_t return_count;
    size_t blocks, correct; /* blocks of all grids, and those that the rule places correctly */
    struct fth_evidence evidence;
    size_t samples;
};

/* Launches grids of different sizes and finds the rule that places the most blocks correctly.
 * `groups` may have no GPCs. If it has, they are numbered in the order in which they receive
 * blocks. */
FTH_MUST_USE enum fth_status fth_probe_block_order(const struct fth_prober *prober,
                                                   struct fth_sm_groups *groups,
                                                   struct fth_order_found *found,
                                                   struct fth_error *error);

enum fth_refill { FTH_REFILL_UNKNOWN, FTH_REFILL_FREE, FTH_REFILL_ORDER };
struct fth_refill_found {
    enum fth_refill refill;
    size_t blocks, free, order; /* blocks that waited; those that each rule places correctly */
    struct fth_evidence evidence;
    size_t samples;
};
/* Launches more blocks than the GPU holds, of which every second one stays longer. `shared_bytes`
 * is the most shared memory of a block, so that an SM holds one block. */
FTH_MUST_USE enum fth_status fth_probe_block_refill(const struct fth_prober *prober,
                                                    uint64_t shared_bytes,
                                                    struct fth_refill_found *found,
                                                    struct fth_error *error);

#endif
