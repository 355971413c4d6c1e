/* The modules and the tensor maps of a capsule. */
#include "program/replay_parts.h"
#include "ptx/async/tensor_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "replay launch";

/* ---- modules ---- */

static int compare_placements(const void *a, const void *b)
{
    const struct fth_ptx_placement *left = a, *right = b;
    return strcmp(left->variable, right->variable);
}

/* Lists where the variables of a module were in the program, once each. The caller frees
 * *placements, also after a failure. */
static enum fth_status list_placements(const struct fth_capsule *capsule, uint32_t number,
                                       struct fth_ptx_placement **placements, size_t *count,
                                       struct fth_error *error)
{
    size_t capacity = 0, found = 0;
    *placements = NULL;
    *count = 0;
    for (size_t i = 0; i < fth_capsule_launch_count(capsule); i++) {
        const struct fth_capsule_launch *launch = fth_capsule_launch(capsule, i);
        for (size_t k = 0; launch->module == number && k < launch->region_count; k++) {
            const struct fth_capsule_region *region = &launch->regions[k];
            if (region->kind != FTH_CAPSULE_VARIABLE || !region->variable)
                continue;
            if (!fth_grow((void **)placements, found, &capacity, sizeof **placements))
                return fth_no_memory(error, operation, NULL);
            (*placements)[found++] = (struct fth_ptx_placement){region->variable, region->address};
        }
    }
    if (found)
        qsort(*placements, found, sizeof **placements, compare_placements);
    for (size_t i = 0; i < found; i++)
        if (*count == 0 ||
            strcmp((*placements)[*count - 1].variable, (*placements)[i].variable) != 0)
            (*placements)[(*count)++] = (*placements)[i];
    return FTH_OK;
}

static enum fth_status load(struct fth_session *session, const struct fth_capsule *capsule,
                            uint32_t number, struct fth_session_module **loaded,
                            struct fth_error *error)
{
    const struct fth_capsule_module *module = fth_capsule_module(capsule, number);
    struct fth_buffer ptx = {0};
    struct fth_ptx_placement *placements = NULL;
    size_t count = 0;
    char name[64];
    snprintf(name, sizeof name, "module %u", (unsigned)number);
    enum fth_status status = fth_capsule_load_ptx(capsule, number, &ptx, error);
    if (status == FTH_OK)
        status = list_placements(capsule, number, &placements, &count, error);
    if (status == FTH_OK)
        status = fth_session_load_placed(session, module->name[0] ? module->name : name, ptx.data,
                                         ptx.size, placements, count, loaded, error);
    if (status == FTH_OK)
        fth_session_suspend(session, *loaded);
    free(placements);
    fth_buffer_fini(&ptx);
    return status;
}

enum fth_status fth_replay_load(struct fth_session *session, const struct fth_capsule *capsule,
                                struct fth_replay_module *modules, uint32_t number,
                                struct fth_error *error)
{
    if (!fth_capsule_module(capsule, number))
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL,
                        "the capsule does not have its module");
    struct fth_replay_module *module = &modules[number - 1];
    if (!module->loaded && module->failure.status == FTH_OK &&
        load(session, capsule, number, &module->loaded, &module->failure) == FTH_OK)
        return FTH_OK;
    return module->loaded ? FTH_OK : fth_error_move(error, &module->failure);
}

/* ---- tensor maps ---- */

static enum fth_status encode(const struct fth_capsule_tensor_map *from,
                              unsigned char bytes[FTH_TENSOR_MAP_BYTES], struct fth_error *error)
{
    struct fth_ptx_tensor_map map = {.rank = from->rank,
                                     .address = from->address,
                                     .interleave = (enum fth_ptx_interleave)from->interleave,
                                     .swizzle = (enum fth_ptx_swizzle)from->swizzle,
                                     .promotion = (enum fth_ptx_promotion)from->l2_promotion,
                                     .fills_with_nan = from->fill == 1,
                                     .is_im2col = from->is_im2col,
                                     .channels = from->channels_per_pixel,
                                     .pixels = from->pixels_per_column};
    if (!fth_ptx_tensor_type_of_cuda(from->data_type, &map.type))
        return fth_fail(error, FTH_UNSUPPORTED, "encode tensor map", NULL,
                        "the PTX engine does not have the data type %u of CUDA",
                        (unsigned)from->data_type);
    memcpy(map.sizes, from->sizes, sizeof map.sizes);
    memcpy(map.strides, from->strides, sizeof map.strides);
    memcpy(map.box, from->box, sizeof map.box);
    memcpy(map.element_strides, from->element_strides, sizeof map.element_strides);
    memcpy(map.lower, from->lower_corner, sizeof map.lower);
    memcpy(map.upper, from->upper_corner, sizeof map.upper);
    return fth_ptx_tensor_map_encode(&map, bytes, error);
}

enum fth_status fth_replay_tensor_maps(const struct fth_replay_memory *memory,
                                       const struct fth_capsule_launch *launch,
                                       const struct fth_session_module *module,
                                       unsigned char *parameters, size_t parameter_bytes,
                                       struct fth_error *error)
{
    for (size_t i = 0; i < launch->tensor_map_count; i++) {
        const struct fth_capsule_tensor_map *map = &launch->tensor_maps[i];
        unsigned char *to = parameters;
        uint64_t bytes = parameter_bytes;
        if (map->region != UINT32_MAX) {
            const struct fth_capsule_region *region =
                map->region < launch->region_count ? &launch->regions[map->region] : NULL;
            to = region ? fth_replay_memory_host(memory, region, module) : NULL;
            bytes = region ? region->bytes : 0;
        }
        if (!to || bytes < FTH_TENSOR_MAP_BYTES || map->offset > bytes - FTH_TENSOR_MAP_BYTES)
            return fth_fail(error, FTH_INVALID, operation, NULL,
                            "tensor map %zu is outside of the parameters and of the memory", i);
        FTH_TRY(encode(map, to + map->offset, error));
    }
    return FTH_OK;
}
