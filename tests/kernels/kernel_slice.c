/* Checks that a launch without data (`skip_data` of struct fth_ptx_launch) shows an observer the
 * same as a full execution: every launch of the tests is executed both ways, from the same contents
 * of memory. */
#include "kernel_helpers.h"

#include "ptx/execute/warp.h"

/* ---- what an observer sees ---- */

struct seen {
    uint64_t digest, accesses;
};

/* FNV-1a, word by word. */
static void add(struct seen *seen, uint64_t word)
{
    seen->digest = (seen->digest ^ word) * UINT64_C(0x100000001b3);
}

static bool on_access(void *user, const struct fth_ptx_access *access)
{
    struct seen *seen = user;
    const uint64_t facts[] = {
        access->who.block, access->who.warp, access->instruction, access->line, access->space,
        access->target,    access->cache_op, access->kind,        access->mask, access->bytes};
    for (size_t i = 0; i < FTH_COUNT(facts); i++)
        add(seen, facts[i]);
    for (uint32_t left = access->mask; left; left &= left - 1)
        add(seen, access->addresses[__builtin_ctz(left)]);
    seen->accesses++;
    return true;
}

static bool on_barrier(void *user, uint64_t block, uint32_t barrier, uint32_t warps)
{
    add(user, block);
    add(user, barrier);
    add(user, warps);
    return true;
}

/* ---- memory ---- */

/* Copies the contents of all allocations; the arena of the kernel owns them. */
static void **save_memory(struct kernel *k)
{
    const struct fth_ptx_memory *memory = k->machine->memory;
    void **saved = alloc_host(k, (memory->allocation_count + 1) * sizeof *saved);
    for (size_t i = 0; i < memory->allocation_count; i++)
        saved[i] = copy_to_host(k, memory->allocations[i].host, memory->allocations[i].bytes);
    return saved;
}

static void restore_memory(struct kernel *k, void *const *saved)
{
    struct fth_ptx_memory *memory = k->machine->memory;
    for (size_t i = 0; i < memory->allocation_count; i++) {
        memcpy(memory->allocations[i].host, saved[i], memory->allocations[i].bytes);
        memory->allocations[i].exact = memory->allocations[i].stale = false;
    }
}

static struct fth_ptx_totals run(struct kernel *k, struct fth_ptx_launch launch, bool skip_data,
                                 struct seen *seen, enum fth_status *status)
{
    const struct fth_ptx_observer observer = {
        .user = seen, .access = on_access, .barrier = on_barrier};
    struct fth_ptx_totals totals = {.fault = FTH_FAULT_NONE};
    *seen = (struct seen){UINT64_C(0xcbf29ce484222325), 0};
    launch.observer = &observer;
    launch.skip_data = skip_data;
    *status = fth_ptx_run(k->machine, &launch, &totals, NULL);
    return totals;
}

void check_slice(struct kernel *k, const struct fth_ptx_launch *launch)
{
    struct seen full, sliced;
    enum fth_status status;
    void **saved = save_memory(k);
    const struct fth_ptx_totals expected = run(k, *launch, false, &full, &status);
    assert_int_equal(status, FTH_OK);
    restore_memory(k, saved);
    const struct fth_ptx_totals totals = run(k, *launch, true, &sliced, &status);
    restore_memory(k, saved);
    if (status == FTH_INCONCLUSIVE) { /* it must be executed in full */
        k->inconclusive++;
        return;
    }
    assert_int_equal(status, FTH_OK);
    assert_int_equal(sliced.accesses, full.accesses);
    assert_int_equal(sliced.digest, full.digest);
    assert_int_equal(totals.warp_instructions, expected.warp_instructions);
    assert_int_equal(totals.thread_instructions, expected.thread_instructions);
}
