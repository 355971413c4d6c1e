/* Allocates the memory of pointer chains and builds the chains there; see chase_layout.h. Chains
 * with the same array number, stride, step and seed share one region. */
#include "device/chase/chase_layout.h"

#include <stdlib.h>
#include <string.h>

/* Minimum and maximum alignment of an array in bytes. The minimum is that of textures; no GPU
 * requires more. The maximum is the page size of most GPUs. MAX_BUILD_BLOCKS: blocks of the kernel
 * `build`, whose threads loop over longer chains; chosen: more than enough to fill any GPU. */
enum { MIN_ALIGN = 512, MAX_ALIGN = 2 << 20, MAX_BUILD_BLOCKS = 1024 };
/* Size in bytes from which a region is huge and shares its memory with the other huge regions.
 * Chosen, not derived: allocating that much takes long. */
static const uint64_t huge_bytes = (uint64_t)1 << 30;

/* A chain with at least this stride, in bytes, is sparse. Its elements occupy a small part of the
 * array, so that all of them are built at once, and memory may repeat. Probes that read whole
 * arrays and not only the elements of a chain use smaller strides. Chosen, not derived: the
 * smallest page size that the TLB probes look for. */
static const uint64_t min_sparse_stride = 64 << 10;
/* Bytes of an element: its link and its back link. */
enum { ELEMENT_BYTES = 16 };

static void release(struct fth_layout *layout, struct fth_region *region)
{
    const struct fth_runner *runner = layout->runner;
    if (region->texture)
        runner->ops->texture_free(runner->machine, region->texture);
    if (region->memory && !region->huge)
        runner->ops->free(runner->machine, region->memory);
    region->texture = region->memory = region->address = region->bytes = 0;
    region->built_count = 0;
}

/* Frees the memory of the huge regions. */
static void free_huge(struct fth_layout *layout)
{
    const struct fth_runner *runner = layout->runner;
    if (layout->huge && layout->huge_period)
        runner->ops->free_repeating(runner->machine, layout->huge, layout->huge_bytes);
    else if (layout->huge)
        runner->ops->free(runner->machine, layout->huge);
    layout->huge = layout->huge_bytes = layout->huge_period = 0;
}

void fth_layout_clear(struct fth_layout *layout)
{
    for (size_t i = 0; i < layout->count; i++) {
        release(layout, &layout->regions[i]);
        free(layout->regions[i].built);
    }
    layout->count = 0;
    free_huge(layout);
}

/* The largest power of two that divides the stride of a region. */
static uint64_t unit_of(const struct fth_region *region)
{
    return region->stride & (~region->stride + 1);
}

/* Whether no two elements of a region with an array of `bytes` bytes are in the same memory if the
 * memory repeats with `period`, a power of two. The elements of a chain are multiples of unit_of()
 * apart, and only those whose indices differ by a multiple of period / unit coincide. Elements of
 * two chains do not coincide if the distance of the chains is not a multiple of the unit, but of
 * ELEMENT_BYTES (note_phase()). */
static bool can_repeat(const struct fth_region *region, uint64_t bytes, uint64_t period)
{
    const uint64_t unit = unit_of(region);
    return region->stride >= min_sparse_stride && !region->seed && unit >= ELEMENT_BYTES &&
           bytes / region->stride < period / unit && !region->must_not_repeat;
}

/* Notes that a chain of the region begins at this offset. Only the first two phases are compared;
 * with a third one, memory must not repeat. */
static void note_phase(struct fth_region *region, uint64_t start_bytes)
{
    const uint64_t phase = start_bytes % region->stride;
    for (size_t i = 0; i < region->phase_count; i++) {
        const uint64_t other = region->phases[i];
        const uint64_t distance = phase > other ? phase - other : other - phase;
        if (distance == 0)
            return;
        if (distance % unit_of(region) == 0 || distance % ELEMENT_BYTES)
            region->must_not_repeat = true;
    }
    if (region->phase_count < FTH_COUNT(region->phases))
        region->phases[region->phase_count++] = phase;
    else
        region->must_not_repeat = true;
}

/* Allocates `more` bytes of memory that repeats for a huge region, which needs `bytes`. Returns
 * false if it is not possible. */
static bool alloc_repeating(struct fth_layout *layout, const struct fth_region *region,
                            uint64_t bytes, uint64_t more)
{
    struct fth_runner *runner = layout->runner;
    uint64_t address = 0, period = 0;
    if (!runner->ops->alloc_repeating || !can_repeat(region, bytes, UINT64_MAX) ||
        runner->ops->alloc_repeating(runner->machine, more, &address, &period, NULL) != FTH_OK)
        return false;
    if (!can_repeat(region, bytes, period)) {
        runner->ops->free_repeating(runner->machine, address, more);
        return false;
    }
    layout->huge = address;
    layout->huge_bytes = more;
    layout->huge_period = period;
    return true;
}

/* Ensures that the allocation of the huge regions has at least `bytes` and suits the region. If it
 * has to be replaced, the chains in it are lost. */
static enum fth_status reserve_huge(struct fth_layout *layout, const struct fth_region *region,
                                    uint64_t bytes, struct fth_error *error)
{
    struct fth_runner *runner = layout->runner;
    if (layout->huge_bytes >= bytes &&
        (!layout->huge_period || can_repeat(region, bytes, layout->huge_period)))
        return FTH_OK;
    for (size_t i = 0; i < layout->count; i++)
        if (layout->regions[i].huge)
            release(layout, &layout->regions[i]);
    free_huge(layout);
    /* Allocate 1 to 2 GiB more than needed, so that slightly larger requests do not replace the
     * memory again: a driver can take a third of a second until freed memory is available again. */
    const uint64_t more = (bytes / huge_bytes + 2) * huge_bytes;
    if (alloc_repeating(layout, region, bytes, more))
        return FTH_OK;
    if (fth_runner_alloc(runner, more, &layout->huge, NULL) == FTH_OK) {
        layout->huge_bytes = more;
        return FTH_OK;
    }
    FTH_TRY(fth_runner_alloc(runner, bytes, &layout->huge, error));
    layout->huge_bytes = bytes;
    return FTH_OK;
}

void fth_layout_fini(struct fth_layout *layout)
{
    fth_layout_clear(layout);
    free(layout->regions);
    layout->regions = NULL;
    layout->capacity = 0;
}

/* A chain out of memory order can only share a region with chains of the same count, because its
 * links depend on the count. */
enum fth_status fth_layout_find(struct fth_layout *layout, bool is_texture,
                                const struct fth_chain *chain, size_t *index,
                                struct fth_error *error)
{
    const uint64_t step = fth_chain_step(chain),
                   count = step == 1 && !chain->seed ? 0 : chain->count;
    for (*index = 0; *index < layout->count; ++*index) {
        const struct fth_region *region = &layout->regions[*index];
        if (region->array == chain->array && region->is_texture == is_texture &&
            region->stride == chain->stride_bytes && region->step == step &&
            region->seed == chain->seed && region->count == count)
            return FTH_OK;
    }
    void *regions = layout->regions;
    if (!fth_grow(&regions, layout->count, &layout->capacity, sizeof *layout->regions))
        return fth_no_memory(error, "lay out chains", NULL);
    layout->regions = regions;
    layout->regions[layout->count++] = (struct fth_region){.array = chain->array,
                                                           .is_texture = is_texture,
                                                           .stride = chain->stride_bytes,
                                                           .step = step,
                                                           .seed = chain->seed,
                                                           .count = count};
    return FTH_OK;
}

enum fth_status fth_layout_reserve(struct fth_layout *layout, size_t index, uint64_t start_bytes,
                                   uint64_t bytes, struct fth_error *error)
{
    struct fth_region *region = &layout->regions[index];
    struct fth_runner *runner = layout->runner;
    note_phase(region, start_bytes);
    const bool repeats = region->huge && layout->huge_period;
    if (region->bytes >= bytes && !(repeats && region->must_not_repeat))
        return FTH_OK;
    bytes = bytes > region->bytes ? bytes : region->bytes;
    release(layout, region);
    /* The array is aligned to its own size, but at most to MAX_ALIGN, so that the sets that it
     * fills do not depend on its address. */
    uint64_t align = MIN_ALIGN;
    while (align < bytes && align < MAX_ALIGN)
        align *= 2;
    const uint64_t header = region->array >= FTH_FIRST_HEADER_ARRAY ? FTH_HEADER_BYTES : 0;
    const uint64_t total = header + bytes + align;
    region->huge = bytes >= huge_bytes && !region->is_texture;
    if (region->huge) {
        FTH_TRY(reserve_huge(layout, region, total, error));
        region->memory = layout->huge;
    } else {
        FTH_TRY(fth_runner_alloc(runner, total, &region->memory, error));
    }
    region->address = (region->memory + align - 1) / align * align + header;
    region->bytes = bytes;
    enum fth_status status = FTH_OK;
    if (region->is_texture)
        status = runner->ops->texture(runner->machine, region->address, bytes / 4, &region->texture,
                                      error);
    if (status != FTH_OK)
        release(layout, region);
    return status;
}

uint64_t fth_layout_header(const struct fth_layout *layout, size_t index)
{
    return layout->regions[index].address - FTH_HEADER_BYTES;
}

/* True if all elements of the chain have been built, with back links if these are needed. */
static bool is_built(const struct fth_region *region, const struct fth_chain *chain,
                     bool with_back_links)
{
    for (size_t i = 0; i < region->built_count; i++) {
        const struct fth_built_range *built = &region->built[i];
        if (built->with_back_links >= with_back_links && built->start <= chain->start_bytes &&
            (chain->start_bytes - built->start) % region->stride == 0 &&
            (chain->start_bytes - built->start) / region->stride + chain->count <= built->count)
            return true;
    }
    return false;
}

/* Forgets the chains of a region that have elements where a new chain will have its own. */
static void forget_overwritten(struct fth_region *region, const struct fth_chain *chain)
{
    size_t kept = 0;
    for (size_t i = 0; i < region->built_count; i++) {
        const uint64_t start = region->built[i].start;
        const uint64_t distance =
            start > chain->start_bytes ? start - chain->start_bytes : chain->start_bytes - start;
        if (distance % region->stride)
            region->built[kept++] = region->built[i];
    }
    region->built_count = kept;
}

/* Builds a chain in pseudo-random order on the host and copies it to its region. The bytes between
 * the elements keep their values, so that chains with other elements remain. */
static enum fth_status build_shuffled(struct fth_layout *layout, struct fth_region *region,
                                      const struct fth_chain *chain, struct fth_error *error)
{
    const struct fth_runner *runner = layout->runner;
    const uint64_t first = region->address + chain->start_bytes;
    const uint64_t bytes = (chain->count - 1) * chain->stride_bytes + sizeof first;
    uint32_t *order = calloc((size_t)chain->count, sizeof *order);
    unsigned char *links = calloc(1, (size_t)bytes);
    enum fth_status status = FTH_OK;
    forget_overwritten(region, chain);
    if (!order || !links)
        status = fth_no_memory(error, "lay out chains", NULL);
    if (status == FTH_OK && region->built_count)
        status = runner->ops->download(runner->machine, links, first, bytes, error);
    if (status == FTH_OK) {
        fth_chain_order(chain, order);
        for (uint64_t i = 0; i < chain->count; i++) {
            const uint64_t next = first + order[(i + 1) % chain->count] * chain->stride_bytes;
            memcpy(links + order[i] * chain->stride_bytes, &next, sizeof next);
        }
        status = runner->ops->upload(runner->machine, first, links, bytes, error);
    }
    free(links);
    free(order);
    return status;
}

enum fth_status fth_layout_build(struct fth_layout *layout, size_t index,
                                 const struct fth_chain *chain, bool with_back_links,
                                 struct fth_error *error)
{
    struct fth_region *region = &layout->regions[index];
    if (is_built(region, chain, with_back_links))
        return FTH_OK;
    /* Building a chain in the shared memory overwrites the chains of the other huge regions. */
    for (size_t i = 0; i < layout->count && region->huge; i++)
        if (layout->regions[i].huge && i != index)
            layout->regions[i].built_count = 0;
    struct fth_built_range range = {chain->start_bytes, chain->count, with_back_links};
    if (region->stride >= min_sparse_stride && region->step == 1 && !region->seed &&
        !region->is_texture) {
        range.start %= region->stride;
        range.count =
            (region->bytes - range.start + region->stride - ELEMENT_BYTES) / region->stride;
    }
    void *built = region->built;
    if (!fth_grow(&built, region->built_count, &region->built_capacity, sizeof *region->built))
        return fth_no_memory(error, "lay out chains", NULL);
    region->built = built;
    if (region->seed) {
        FTH_TRY(build_shuffled(layout, region, chain, error));
        region->built[region->built_count++] = range;
        return FTH_OK;
    }
    const uint64_t element_bytes = region->is_texture ? 4 : 8;
    const uint64_t arguments[] = {
        region->address + range.start, region->address, region->stride, range.count,
        region->step % range.count,    element_bytes,   with_back_links};
    const uint64_t threads = 256, blocks = (range.count + threads - 1) / threads;
    const struct fth_machine_launch launch = {
        .kernel = "build",
        .blocks = (uint32_t)(blocks < MAX_BUILD_BLOCKS ? blocks : MAX_BUILD_BLOCKS),
        .threads = (uint32_t)threads,
        .arguments = arguments,
        .argument_bytes = sizeof arguments};
    FTH_TRY(fth_runner_launch(layout->runner, launch, error));
    region->built[region->built_count++] = range;
    return FTH_OK;
}
