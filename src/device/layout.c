/* Allocates the memory of pointer chains and builds the chains there; see layout.h. Chains with the
 * same array number, stride and step share one region. */
#include "device/layout.h"

#include <stdlib.h>

/* Maximum alignment of an array in bytes: 2 MiB. */
enum { MAX_ALIGN = 2 << 20 };
/* Size in bytes from which a region is huge and shares its memory with the other huge regions.
 * Heuristic. */
static const uint64_t huge_bytes = (uint64_t)1 << 30;

/* Bytes from the start of the array to the end of the chain. */
static uint64_t end_of(const struct fth_chain *chain)
{
    return chain->start_bytes + chain->count * chain->stride_bytes;
}

/* The region that the chain belongs to, or NULL. A chain out of memory order can only share a
 * region with chains of the same count, because its links depend on the count. */
static struct fth_region *find(struct fth_layout *layout, enum fth_path path,
                               const struct fth_chain *chain)
{
    uint64_t step = fth_chain_step(chain), count = step == 1 ? 0 : chain->count;
    for (size_t i = 0; i < layout->count; i++) {
        struct fth_region *region = &layout->regions[i];
        if (region->array == chain->array && region->is_texture == (path == FTH_PATH_TEXTURE) &&
            region->stride == chain->stride_bytes && region->step == step && region->count == count)
            return region;
    }
    return NULL;
}

static void release(struct fth_layout *layout, struct fth_region *region)
{
    if (region->texture)
        layout->ops->texture_free(layout->machine, region->texture);
    if (region->memory && !region->huge)
        layout->ops->free(layout->machine, region->memory);
    region->texture = region->memory = region->address = region->bytes = 0;
    region->built_count = 0;
}

void fth_layout_clear(struct fth_layout *layout)
{
    for (size_t i = 0; i < layout->count; i++) {
        release(layout, &layout->regions[i]);
        free(layout->regions[i].built);
    }
    layout->count = 0;
    if (layout->huge)
        layout->ops->free(layout->machine, layout->huge);
    layout->huge = layout->huge_bytes = 0;
}

/* Ensures that the allocation of the huge regions has at least `bytes`. If it has to be replaced,
 * the chains in it are lost. */
static enum fth_status reserve_huge(struct fth_layout *layout, uint64_t bytes,
                                    struct fth_error *error)
{
    if (layout->huge_bytes >= bytes)
        return FTH_OK;
    for (size_t i = 0; i < layout->count; i++)
        if (layout->regions[i].huge)
            release(layout, &layout->regions[i]);
    if (layout->huge)
        layout->ops->free(layout->machine, layout->huge);
    layout->huge = layout->huge_bytes = 0;
    /* Allocate 1 to 2 GiB more than needed, so that slightly larger requests do not replace the
     * memory again: a driver can take a third of a second until freed memory is available again. */
    const uint64_t more = (bytes / huge_bytes + 2) * huge_bytes;
    if (layout->ops->alloc(layout->machine, more, &layout->huge, NULL) == FTH_OK) {
        layout->huge_bytes = more;
        return FTH_OK;
    }
    enum fth_status status = layout->ops->alloc(layout->machine, bytes, &layout->huge, error);
    if (status == FTH_OK)
        layout->huge_bytes = bytes;
    return status;
}

void fth_layout_fini(struct fth_layout *layout)
{
    fth_layout_clear(layout);
    free(layout->regions);
    layout->regions = NULL;
    layout->capacity = 0;
}

enum fth_status fth_layout_reserve(struct fth_layout *layout, enum fth_path path,
                                   const struct fth_chain *chain, uint64_t min_bytes,
                                   struct fth_error *error)
{
    struct fth_region *region = find(layout, path, chain);
    uint64_t bytes = end_of(chain) > min_bytes ? end_of(chain) : min_bytes;
    if (region && region->bytes >= bytes)
        return FTH_OK;
    if (!region) {
        void *regions = layout->regions;
        if (!fth_grow(&regions, layout->count, &layout->capacity, sizeof *layout->regions))
            return fth_no_memory(error, "lay out chains", NULL);
        layout->regions = regions;
        region = &layout->regions[layout->count++];
        *region = (struct fth_region){.array = chain->array,
                                      .is_texture = path == FTH_PATH_TEXTURE,
                                      .stride = chain->stride_bytes,
                                      .step = fth_chain_step(chain),
                                      .count = fth_chain_step(chain) == 1 ? 0 : chain->count};
    }
    if (region->memory)
        release(layout, region);
    /* The array is aligned to its own size, but at most to MAX_ALIGN, so that the sets that it
     * fills do not depend on its address. */
    uint64_t align = 512;
    while (align < bytes && align < MAX_ALIGN)
        align *= 2;
    const uint64_t header = chain->array >= FTH_FIRST_HEADER_ARRAY ? FTH_HEADER_BYTES : 0;
    const uint64_t total = header + bytes + align;
    region->huge = bytes >= huge_bytes && !region->is_texture;
    enum fth_status status =
        region->huge ? reserve_huge(layout, total, error)
                     : layout->ops->alloc(layout->machine, total, &region->memory, error);
    if (region->huge)
        region->memory = layout->huge;
    if (status == FTH_OK) {
        region->address = (region->memory + align - 1) / align * align + header;
        region->bytes = bytes;
    }
    if (status == FTH_OK && region->is_texture)
        status = layout->ops->texture(layout->machine, region->address, bytes / 4, &region->texture,
                                      error);
    return status;
}

uint64_t fth_layout_header(struct fth_layout *layout, enum fth_path path,
                           const struct fth_chain *chain)
{
    const struct fth_region *region = find(layout, path, chain);
    return region->array >= FTH_FIRST_HEADER_ARRAY ? region->address - FTH_HEADER_BYTES : 0;
}

uint64_t fth_layout_address(struct fth_layout *layout, enum fth_path path,
                            const struct fth_chain *chain)
{
    return find(layout, path, chain)->address;
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

enum fth_status fth_layout_build(struct fth_layout *layout, enum fth_path path,
                                 const struct fth_chain *chain, bool with_back_links,
                                 uint64_t *begin, uint64_t *texture, struct fth_error *error)
{
    struct fth_region *region = find(layout, path, chain);
    uint64_t unit = region->is_texture ? 4 : 8;
    *begin = region->is_texture ? chain->start_bytes / 4 : region->address + chain->start_bytes;
    *texture = region->texture;
    if (is_built(region, chain, with_back_links))
        return FTH_OK;
    /* Building a chain in the shared memory overwrites the chains of the other huge regions. */
    for (size_t i = 0; i < layout->count && region->huge; i++)
        if (layout->regions[i].huge && &layout->regions[i] != region)
            layout->regions[i].built_count = 0;
    void *built = region->built;
    if (!fth_grow(&built, region->built_count, &region->built_capacity, sizeof *region->built))
        return fth_no_memory(error, "lay out chains", NULL);
    region->built = built;
    const uint64_t arguments[] = {region->address + chain->start_bytes,
                                  region->address,
                                  region->stride,
                                  chain->count,
                                  region->step % chain->count,
                                  unit,
                                  with_back_links};
    const uint64_t threads = 256, blocks = (chain->count + threads - 1) / threads;
    enum fth_status status = layout->ops->launch(
        layout->machine,
        &(struct fth_machine_launch){.module = layout->module,
                                     .kernel = "build",
                                     .blocks = (uint32_t)(blocks < 1024 ? blocks : 1024),
                                     .threads = (uint32_t)threads,
                                     .carveout_percent = -1,
                                     .arguments = arguments,
                                     .argument_bytes = sizeof arguments},
        error);
    if (status == FTH_OK)
        region->built[region->built_count++] =
            (struct fth_built_range){chain->start_bytes, chain->count, with_back_links};
    return status;
}
