/* Checks the accesses of a sliced launch, and which memory is exact before and after it: see
 * slice.h. */
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

enum fth_status fth_slice_prepare(struct fth_ptx_run *run, struct fth_error *error)
{
    struct fth_ptx_memory *memory = run->machine->memory;
    if (!run->launch->skip_data)
        return FTH_OK;
    FTH_TRY(fth_slice_create(run, &run->slice, error));
    for (size_t i = 0; i < memory->allocation_count; i++)
        if (memory->allocations[i].exact && memory->allocations[i].stale) {
            fth_slice_destroy(run->slice);
            return fth_fail(error, FTH_INCONCLUSIVE, "run kernel", run->kernel->name,
                            "the accesses depend on data that an earlier launch did not compute");
        }
    for (size_t i = 0; i < memory->allocation_count && run->slice; i++)
        memory->allocations[i].stale =
            !memory->allocations[i].exact && !memory->allocations[i].is_constant;
    return FTH_OK;
}

bool fth_ptx_omit(struct fth_ptx_machine *machine, uint64_t address)
{
    const struct fth_ptx_allocation *found = fth_ptx_find_allocation(machine->memory, address);
    if (!found || found->exact)
        return false;
    machine->memory->allocations[found - machine->memory->allocations].stale = true;
    return true;
}

bool fth_ptx_is_exact(const struct fth_ptx_machine *machine, uint64_t address)
{
    const struct fth_ptx_allocation *found = fth_ptx_find_allocation(machine->memory, address);
    return !found || !found->stale;
}
