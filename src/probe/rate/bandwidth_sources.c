/* The levels whose bandwidths are measured: on which path, with which carve-out and kind of stream,
 * and under which name the result is written. */
#include "probe/rate/probe_rate.h"

const struct fth_bandwidth_source fth_bandwidth_sources[FTH_BANDWIDTH_TARGETS] = {
    [FTH_BANDWIDTH_MEMORY_READ] = {"memory", "read_bytes_per_s", FTH_IN_MEMORY, FTH_STREAM_READ,
                                   FTH_PATH_CG, -1, 0},
    [FTH_BANDWIDTH_MEMORY_WRITE] = {"memory", "write_bytes_per_s", FTH_IN_MEMORY, FTH_STREAM_WRITE,
                                    FTH_PATH_CG, -1, 0},
    [FTH_BANDWIDTH_MEMORY_COPY] = {"memory", "copy_bytes_per_s", FTH_IN_MEMORY, FTH_STREAM_COPY,
                                   FTH_PATH_CG, -1, 0},
    [FTH_BANDWIDTH_L2_READ] = {"l2", "read_bytes_per_s", FTH_IN_L2, FTH_STREAM_READ, FTH_PATH_CG,
                               -1, 0},
    [FTH_BANDWIDTH_L2_WRITE] = {"l2", "write_bytes_per_s", FTH_IN_L2, FTH_STREAM_WRITE, FTH_PATH_CG,
                                -1, 0},
    [FTH_BANDWIDTH_L2_COPY] = {"l2", "copy_bytes_per_s", FTH_IN_L2, FTH_STREAM_COPY, FTH_PATH_CG,
                               -1, 0},
    [FTH_BANDWIDTH_L1_READ] = {"l1", "read_bytes_per_s", FTH_IN_SM, FTH_STREAM_READ, FTH_PATH_CA, 0,
                               0},
    /* Stores have no choice of path: they go through L1 to L2. */
    [FTH_BANDWIDTH_L1_WRITE] = {"l1", "write_bytes_per_s", FTH_IN_SM, FTH_STREAM_WRITE, FTH_PATH_CG,
                                0, 0},
    [FTH_BANDWIDTH_READONLY_READ] = {"readonly", "read_bytes_per_s", FTH_IN_SM, FTH_STREAM_READ,
                                     FTH_PATH_READONLY, 0, 0},
    [FTH_BANDWIDTH_TEXTURE_READ] = {"texture", "read_bytes_per_s", FTH_IN_SM, FTH_STREAM_READ,
                                    FTH_PATH_TEXTURE, 0, 0},
    [FTH_BANDWIDTH_CONSTANT_READ] = {"constant_l1", "read_bytes_per_s", FTH_IN_SM, FTH_STREAM_READ,
                                     FTH_PATH_CONSTANT, -1, 0},
    [FTH_BANDWIDTH_SHARED_READ] = {"shared", "read_bytes_per_s", FTH_IN_SM, FTH_STREAM_READ,
                                   FTH_PATH_SHARED, 100, 0},
    [FTH_BANDWIDTH_SHARED_WRITE] = {"shared", "write_bytes_per_s", FTH_IN_SM, FTH_STREAM_WRITE,
                                    FTH_PATH_SHARED, 100, 0},
    [FTH_BANDWIDTH_SHARED_COPY] = {"shared", "copy_bytes_per_s", FTH_IN_SM, FTH_STREAM_COPY,
                                   FTH_PATH_SHARED, 100, 0},
    /* The last number is the size of the clusters, 2 blocks. Larger ones would leave SMs idle. */
    [FTH_BANDWIDTH_CLUSTER_READ] = {"cluster_shared", "read_bytes_per_s", FTH_IN_SM,
                                    FTH_STREAM_READ, FTH_PATH_SHARED, 100, 2},
    [FTH_BANDWIDTH_CLUSTER_WRITE] = {"cluster_shared", "write_bytes_per_s", FTH_IN_SM,
                                     FTH_STREAM_WRITE, FTH_PATH_SHARED, 100, 2},
};

const char *fth_bandwidth_element(enum fth_bandwidth_target target)
{
    return fth_bandwidth_sources[target].element;
}

const char *fth_bandwidth_attribute(enum fth_bandwidth_target target)
{
    return fth_bandwidth_sources[target].attribute;
}
