/* Checks the accesses of a sliced launch: see slice.h. */
#include "ptx/slice/slice.h"

/* True if all bytes of a range of shared memory must be exact or, if `any`, at least one. */
static bool is_exact_shared(const struct fth_slice *slice, uint64_t start, uint64_t end, bool any)
{
    for (size_t i = 0; i < slice->range_count; i++) {
        const struct fth_slice_range *range = &slice->ranges[i];
        if (any ? start < range->end && range->start < end
                : range->start <= start && end <= range->end)
            return true;
    }
    return slice->shared;
}

bool fth_slice_allows(const struct fth_slice *slice, const struct fth_ptx_inst *inst,
                      unsigned space, uint64_t address, uint64_t bytes, bool write)
{
    const bool skips = write && inst->slice & SLICE_SKIPS;
    const bool reads = inst->slice & SLICE_READS && (!write || inst->atomic != A_NONE);
    if (!skips && !reads)
        return true;
    bool exact = true; /* arguments and constants */
    if (space == FTH_SPACE_SHARED || space == SPACE_CLUSTER) {
        exact = is_exact_shared(slice, address, address + bytes, skips);
    } else if (space == FTH_SPACE_LOCAL) {
        exact = slice->local;
    } else if (space == FTH_SPACE_PARAM) {
        exact = slice->param;
    } else if (space == FTH_SPACE_GLOBAL) {
        const struct fth_ptx_allocation *found =
            fth_ptx_find_allocation(slice->run->machine->memory, address);
        exact = found && (found->exact || found->is_constant);
    }
    return exact != skips;
}

bool fth_slice_has_exact_shared(const struct fth_slice *slice)
{
    return slice->shared || slice->range_count > 0;
}
