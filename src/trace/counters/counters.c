/* Which counters an access changes. A counter has the name of the metric of ncu (Nsight Compute)
 * that counts the same on a GPU. */
#include "trace/counters/counters.h"

#include "fathom/fathom.h"

static const char *const names[FTH_COUNTER_COUNT] = {
    [FTH_COUNTER_GLOBAL_LD_REQUESTS] = "l1tex__t_requests_pipe_lsu_mem_global_op_ld",
    [FTH_COUNTER_GLOBAL_LD_SECTORS] = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld",
    [FTH_COUNTER_GLOBAL_ST_REQUESTS] = "l1tex__t_requests_pipe_lsu_mem_global_op_st",
    [FTH_COUNTER_GLOBAL_ST_SECTORS] = "l1tex__t_sectors_pipe_lsu_mem_global_op_st",
    [FTH_COUNTER_GLOBAL_RED_REQUESTS] = "l1tex__t_requests_pipe_lsu_mem_global_op_red",
    [FTH_COUNTER_GLOBAL_RED_SECTORS] = "l1tex__t_sectors_pipe_lsu_mem_global_op_red",
    [FTH_COUNTER_GLOBAL_ATOM_REQUESTS] = "l1tex__t_requests_pipe_lsu_mem_global_op_atom",
    [FTH_COUNTER_GLOBAL_ATOM_SECTORS] = "l1tex__t_sectors_pipe_lsu_mem_global_op_atom",
    [FTH_COUNTER_LDGSTS_ACCESS_REQUESTS] =
        "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts_cache_access",
    [FTH_COUNTER_LDGSTS_ACCESS_SECTORS] =
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access",
    [FTH_COUNTER_LDGSTS_BYPASS_REQUESTS] =
        "sm__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts_cache_bypass",
    [FTH_COUNTER_LDGSTS_BYPASS_SECTORS] =
        "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass",
    [FTH_COUNTER_DSHARED_LD_REQUESTS] = "l1tex__t_requests_pipe_lsu_mem_dshared_op_ld",
    [FTH_COUNTER_DSHARED_LD_SECTORS] = "l1tex__t_sectors_pipe_lsu_mem_dshared_op_ld",
    [FTH_COUNTER_DSHARED_ST_REQUESTS] = "l1tex__t_requests_pipe_lsu_mem_dshared_op_st",
    [FTH_COUNTER_DSHARED_ST_SECTORS] = "l1tex__t_sectors_pipe_lsu_mem_dshared_op_st",
    [FTH_COUNTER_DSHARED_ATOM_REQUESTS] = "l1tex__t_requests_pipe_lsu_mem_dshared_op_atom",
    [FTH_COUNTER_DSHARED_ATOM_SECTORS] = "l1tex__t_sectors_pipe_lsu_mem_dshared_op_atom",
    [FTH_COUNTER_SHARED_LD_WAVEFRONTS] = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld",
    [FTH_COUNTER_SHARED_LD_CONFLICTS] = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld",
    [FTH_COUNTER_SHARED_ST_WAVEFRONTS] = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st",
    [FTH_COUNTER_SHARED_ST_CONFLICTS] = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st",
    [FTH_COUNTER_SHARED_ATOM_WAVEFRONTS] = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom",
    [FTH_COUNTER_SHARED_ATOM_CONFLICTS] = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom",
    [FTH_COUNTER_LDSM_WAVEFRONTS] = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm",
    [FTH_COUNTER_LDSM_CONFLICTS] = "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm",
    [FTH_COUNTER_STSM_WAVEFRONTS] = "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm",
    [FTH_COUNTER_STSM_CONFLICTS] = "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_stsm",
    [FTH_COUNTER_TMA_LD_SECTORS] = "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld",
    [FTH_COUNTER_TMA_ST_SECTORS] = "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st",
    [FTH_COUNTER_TMA_RED_SECTORS] = "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_red",
};

const char *fth_counter_name(size_t counter)
{
    return counter < FTH_COUNTER_COUNT ? names[counter] : NULL;
}

static void add(struct fth_counters *counters, enum fth_counter counter, uint64_t value)
{
    __atomic_fetch_add(&counters->values[counter], value, __ATOMIC_RELAXED);
}

/* Adds a request. The counter of its sectors follows that of the requests. */
static void add_request(struct fth_counters *counters, enum fth_counter requests, unsigned sectors)
{
    add(counters, requests, 1);
    add(counters, requests + 1, sectors);
}

/* The sources of cp.async count as a load, and in counters of their own. */
static void add_sources(struct fth_counters *counters, const struct fth_ptx_access *access)
{
    if (access->path == FTH_PTX_PATH_L1)
        add(counters, FTH_COUNTER_LDGSTS_ACCESS_SECTORS, fth_access_sectors(access));
    else
        add_request(counters, FTH_COUNTER_LDGSTS_BYPASS_REQUESTS, fth_bypass_sectors(access));
}

static void add_global(struct fth_counters *counters, const struct fth_ptx_access *access)
{
    const unsigned sectors = fth_access_sectors(access);
    switch (access->kind) {
    case FTH_ACCESS_READ:
        add_request(counters, FTH_COUNTER_GLOBAL_LD_REQUESTS, sectors);
        if (access->unit == FTH_UNIT_LANE_COPY)
            add_sources(counters, access);
        break;
    case FTH_ACCESS_WRITE: add_request(counters, FTH_COUNTER_GLOBAL_ST_REQUESTS, sectors); break;
    default:
        add_request(counters,
                    access->returns ? FTH_COUNTER_GLOBAL_ATOM_REQUESTS
                                    : FTH_COUNTER_GLOBAL_RED_REQUESTS,
                    sectors);
    }
}

/* Adds the wavefronts of an access to shared memory. The counter of its conflicts follows that of
 * the wavefronts. */
static void add_wavefronts(struct fth_counters *counters, const struct fth_ptx_access *access)
{
    static const uint8_t kinds[] = {[FTH_ACCESS_READ] = FTH_COUNTER_SHARED_LD_WAVEFRONTS,
                                    [FTH_ACCESS_WRITE] = FTH_COUNTER_SHARED_ST_WAVEFRONTS,
                                    [FTH_ACCESS_ATOMIC] = FTH_COUNTER_SHARED_ATOM_WAVEFRONTS};
    const struct fth_wavefronts wavefronts = fth_access_wavefronts(access);
    add(counters, (enum fth_counter)kinds[access->kind], wavefronts.count);
    add(counters, (enum fth_counter)(kinds[access->kind] + 1), wavefronts.conflicts);
    if (access->unit != FTH_UNIT_MATRIX)
        return;
    const enum fth_counter matrix =
        access->kind == FTH_ACCESS_READ ? FTH_COUNTER_LDSM_WAVEFRONTS : FTH_COUNTER_STSM_WAVEFRONTS;
    add(counters, matrix, wavefronts.count);
    add(counters, matrix + 1, wavefronts.conflicts);
}

static void add_cluster(struct fth_counters *counters, const struct fth_ptx_access *access)
{
    static const uint8_t kinds[] = {[FTH_ACCESS_READ] = FTH_COUNTER_DSHARED_LD_REQUESTS,
                                    [FTH_ACCESS_WRITE] = FTH_COUNTER_DSHARED_ST_REQUESTS,
                                    [FTH_ACCESS_ATOMIC] = FTH_COUNTER_DSHARED_ATOM_REQUESTS};
    add_request(counters, (enum fth_counter)kinds[access->kind], fth_access_sectors(access));
    add(counters, FTH_COUNTER_SHARED_ATOM_WAVEFRONTS, fth_cluster_wavefronts(access));
}

/* Adds the accesses to global memory that the assembler makes of a load. */
static void add_parts(struct fth_counters *counters, const struct fth_ptx_access *access)
{
    struct fth_ptx_access_part part;
    if (access->is_removed)
        return;
    if (!access->parts.count)
        add_global(counters, access);
    for (unsigned i = 0; i < access->parts.count; i++) {
        fth_ptx_take_part(access, i, &part);
        add_global(counters, &part.access);
    }
}

void fth_counters_add(struct fth_counters *counters, const struct fth_ptx_access *access)
{
    const bool by_lanes = access->unit == FTH_UNIT_LANES || access->unit == FTH_UNIT_MATRIX;
    if (access->space == FTH_SPACE_GLOBAL && (by_lanes || access->unit == FTH_UNIT_LANE_COPY))
        add_parts(counters, access);
    else if (by_lanes && access->path == FTH_PTX_PATH_SHARED)
        add_wavefronts(counters, access);
    else if (by_lanes && access->path == FTH_PTX_PATH_CLUSTER)
        add_cluster(counters, access);
    else if (access->unit == FTH_UNIT_LANE_COPY && access->cache_op != FTH_CACHE_CG)
        /* The destinations of cp.async.ca: a request even if no lane has bytes to read. */
        add(counters, FTH_COUNTER_LDGSTS_ACCESS_REQUESTS, 1);
}

void fth_counters_add_range(struct fth_counters *counters, const struct fth_ptx_range *range)
{
    static const uint8_t kinds[] = {[FTH_ACCESS_READ] = FTH_COUNTER_TMA_LD_SECTORS,
                                    [FTH_ACCESS_WRITE] = FTH_COUNTER_TMA_ST_SECTORS,
                                    [FTH_ACCESS_ATOMIC] = FTH_COUNTER_TMA_RED_SECTORS};
    add(counters, (enum fth_counter)kinds[range->kind], fth_range_sectors(range));
}
