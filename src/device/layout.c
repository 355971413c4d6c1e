#include "device/layout.h"

#include <stdlib.h>

enum { MAX_ALIGN = 2 << 20 };
/* From here on a region is huge. */
static const uint64_t huge_bytes = (uint64_t)1 << 30;

static uint64_t end_of(const struct fth_chain *chain)
{
    return chain->start_bytes + chain->count * chain->stride_bytes;
}

static struct fth_region *find(struct fth_layout *layout, enum fth_path path,
                               const struct fth_chain *chain)
{
    uint64_t step = fth_chain_step(chain), count = step == 1 ? 0 : chain->count;
    for (size_t i = 0; i < layout->count; i++) {
        struct fth_region *region = &layout->regions[i];
        if (region->array == chain->array && region->texels == (path == FTH_PATH_TEXTURE) &&
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

/* The shared memory of huge regions, large enough. Where it has to move, what was there is gone. */
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
    /* A little more, so that it need not move for a little more: a driver may take a third of a
     * second to have memory ready again that was freed. */
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
            return fth_fail(error, FTH_NO_MEMORY, "lay out chains", NULL, "out of memory");
        layout->regions = regions;
        region = &layout->regions[layout->count++];
        *region = (struct fth_region){.array = chain->array,
                                      .texels = path == FTH_PATH_TEXTURE,
                                      .stride = chain->stride_bytes,
                                      .step = fth_chain_step(chain),
                                      .count = fth_chain_step(chain) == 1 ? 0 : chain->count};
    }
    if (region->memory)
        release(layout, region);
    /* Aligned to its own size, so that which sets an array fills does not depend on where it lies.
     */
    uint64_t align = 512;
    while (align < bytes && align < MAX_ALIGN)
        align *= 2;
    const uint64_t front = chain->array >= FTH_FAR_ARRAY ? FTH_FRONT_ROOM : 0;
    const uint64_t room = front + bytes + align;
    region->huge = bytes >= huge_bytes && !region->texels;
    enum fth_status status =
        region->huge ? reserve_huge(layout, room, error)
                     : layout->ops->alloc(layout->machine, room, &region->memory, error);
    if (region->huge)
        region->memory = layout->huge;
    if (status == FTH_OK) {
        region->address = (region->memory + align - 1) / align * align + front;
        region->bytes = bytes;
    }
    if (status == FTH_OK && region->texels)
        status = layout->ops->texture(layout->machine, region->address, bytes / 4, &region->texture,
                                      error);
    return status;
}

uint64_t fth_layout_front(struct fth_layout *layout, enum fth_path path,
                          const struct fth_chain *chain)
{
    const struct fth_region *region = find(layout, path, chain);
    return region->array >= FTH_FAR_ARRAY ? region->address - FTH_FRONT_ROOM : 0;
}

uint64_t fth_layout_address(struct fth_layout *layout, enum fth_path path,
                            const struct fth_chain *chain)
{
    return find(layout, path, chain)->address;
}

/* True where the elements are there already. */
static bool is_built(const struct fth_region *region, const struct fth_chain *chain, bool both_ways)
{
    for (size_t i = 0; i < region->built_count; i++) {
        const struct fth_built *built = &region->built[i];
        if (built->both_ways >= both_ways && built->start <= chain->start_bytes &&
            (chain->start_bytes - built->start) % region->stride == 0 &&
            (chain->start_bytes - built->start) / region->stride + chain->count <= built->count)
            return true;
    }
    return false;
}

enum fth_status fth_layout_build(struct fth_layout *layout, enum fth_path path,
                                 const struct fth_chain *chain, bool both_ways, uint64_t *begin,
                                 uint64_t *texture, struct fth_error *error)
{
    struct fth_region *region = find(layout, path, chain);
    uint64_t unit = region->texels ? 4 : 8;
    *begin = region->texels ? chain->start_bytes / 4 : region->address + chain->start_bytes;
    *texture = region->texture;
    if (is_built(region, chain, both_ways))
        return FTH_OK;
    /* Another one may have been in the same memory. */
    for (size_t i = 0; i < layout->count && region->huge; i++)
        if (layout->regions[i].huge && &layout->regions[i] != region)
            layout->regions[i].built_count = 0;
    void *built = region->built;
    if (!fth_grow(&built, region->built_count, &region->built_capacity, sizeof *region->built))
        return fth_fail(error, FTH_NO_MEMORY, "lay out chains", NULL, "out of memory");
    region->built = built;
    const uint64_t arguments[] = {region->address + chain->start_bytes,
                                  region->address,
                                  region->stride,
                                  chain->count,
                                  region->step % chain->count,
                                  unit,
                                  both_ways};
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
            (struct fth_built){chain->start_bytes, chain->count, both_ways};
    return status;
}
