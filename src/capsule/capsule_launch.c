/* Encodes and decodes the parts of a capsule that describe the program, its modules and its
 * launches, and checks them. All numbers are variable-length integers. */
#include "capsule/capsule_parts.h"

#include <stdlib.h>
#include <string.h>

/* Bits of a number with yes-or-no values of a launch. */
enum { IS_COOPERATIVE = 1, HAS_REASON = 2, HAS_TEXTURES = 4 };
/* A tensor map in memory, in bytes (CUtensorMap). */
enum { TENSOR_MAP_BYTES = 128, MAX_RANK = 5 };

/* ---- decoding ---- */

void fth_capsule_decoder_refuse(struct fth_capsule_decoder *decoder, const char *fault)
{
    if (!decoder->fault)
        decoder->fault = fault;
    decoder->bytes.failed = true;
}

/* Charges memory to the decoder. */
static bool charge(struct fth_capsule_decoder *decoder, uint64_t bytes)
{
    if (bytes > decoder->memory) {
        fth_capsule_decoder_refuse(
            decoder, "the modules and launches up to here need more than 2 GiB of memory");
        return false;
    }
    decoder->memory -= bytes;
    return true;
}

void *fth_capsule_decoder_array(struct fth_capsule_decoder *decoder, uint64_t count, size_t size)
{
    if (count > (uint64_t)(decoder->bytes.end - decoder->bytes.at))
        decoder->bytes.failed = true;
    if (decoder->bytes.failed || count == 0 || !charge(decoder, count * size))
        return NULL;
    void *array = fth_arena_array(decoder->arena, (size_t)count, size);
    if (!array)
        decoder->bytes.failed = decoder->bytes.no_memory = true;
    return array;
}

static const char *get_text(struct fth_capsule_decoder *decoder)
{
    const char *text = fth_get_text(&decoder->bytes, decoder->arena);
    /* What an arena needs for it, which rounds sizes up. */
    return text && charge(decoder, strlen(text) + sizeof(max_align_t)) ? text : "";
}

enum fth_status fth_capsule_decoded(struct fth_capsule_decoder *decoder)
{
    if (decoder->bytes.no_memory)
        return FTH_NO_MEMORY;
    if (!decoder->bytes.failed && decoder->bytes.at != decoder->bytes.end)
        fth_capsule_decoder_refuse(decoder, "its content is too long");
    if (decoder->bytes.failed && !decoder->fault)
        decoder->fault = "a value is incomplete or too large";
    return decoder->fault ? FTH_INVALID : FTH_OK;
}

/* ---- INFO ---- */

void fth_capsule_encode_info(const struct fth_capsule_info *info, struct fth_buffer *out)
{
    fth_put_text(info->command, out);
    fth_put_text(info->gpu, out);
    fth_put_varint(info->architecture, out);
    fth_put_varint(info->driver_version, out);
    fth_put_varint(info->is_light, out);
}

void fth_capsule_decode_info(struct fth_capsule_decoder *decoder, struct fth_capsule_info *info)
{
    info->command = get_text(decoder);
    info->gpu = get_text(decoder);
    info->architecture = fth_get_varint32(&decoder->bytes);
    info->driver_version = fth_get_varint32(&decoder->bytes);
    info->is_light = fth_get_varint(&decoder->bytes) != 0;
}

/* ---- MODULE ---- */

void fth_capsule_encode_module(const struct fth_capsule_stored_module *stored,
                               struct fth_buffer *out)
{
    const struct fth_capsule_module *module = &stored->module;
    fth_put_text(module->name, out);
    fth_put_varint(stored->text, out);
    if (!stored->text)
        fth_put_text(module->reason, out);
    fth_put_varint(module->code_bytes, out);
    fth_put_varint(module->code.words[0], out);
    fth_put_varint(module->code.words[1], out);
}

void fth_capsule_decode_module(struct fth_capsule_decoder *decoder,
                               struct fth_capsule_stored_module *stored)
{
    struct fth_capsule_module *module = &stored->module;
    module->name = get_text(decoder);
    stored->text = fth_get_varint32(&decoder->bytes);
    if (!stored->text)
        module->reason = get_text(decoder);
    module->code_bytes = fth_get_varint(&decoder->bytes);
    module->code.words[0] = fth_get_varint(&decoder->bytes);
    module->code.words[1] = fth_get_varint(&decoder->bytes);
}

enum fth_status fth_capsule_check_module(const struct fth_capsule_stored_module *module,
                                         const struct fth_capsule_scope *scope, const char **fault)
{
    if (module->text > scope->text_count)
        *fault = "its PTX does not exist";
    else if (strlen(module->module.name) > FTH_PART_MAX_TEXT_BYTES)
        *fault = "its name is longer than 65,536 bytes";
    else if (module->module.reason && strlen(module->module.reason) > FTH_PART_MAX_TEXT_BYTES)
        *fault = "the reason why it has no PTX is longer than 65,536 bytes";
    else
        return FTH_OK;
    return FTH_INVALID;
}

/* ---- LAUNCH: regions and tensor maps ---- */

/* Addresses are stored as differences from the end of the region before. */
static void encode_regions(const struct fth_capsule_launch *launch, struct fth_buffer *out)
{
    uint64_t end = 0;
    fth_put_varint(launch->region_count, out);
    for (size_t i = 0; i < launch->region_count; i++) {
        const struct fth_capsule_region *region = &launch->regions[i];
        fth_put_varint(region->kind, out);
        fth_put_varint(fth_zigzag(region->address - end), out);
        fth_put_varint(region->bytes, out);
        fth_put_varint(region->before, out);
        if (region->kind == FTH_CAPSULE_VARIABLE)
            fth_put_text(region->variable, out);
        end = region->address + region->bytes;
    }
}

static void decode_regions(struct fth_capsule_decoder *decoder, struct fth_capsule_launch *launch)
{
    struct fth_bytes *bytes = &decoder->bytes;
    const uint64_t count = fth_get_varint(bytes);
    if (count > FTH_CAPSULE_MAX_REGIONS)
        fth_capsule_decoder_refuse(decoder, "the launch has more than 65,536 regions");
    struct fth_capsule_region *regions = fth_capsule_decoder_array(decoder, count, sizeof *regions);
    uint64_t end = 0;
    for (size_t i = 0; regions && i < count; i++) {
        const uint64_t kind = fth_get_varint(bytes);
        if (kind > FTH_CAPSULE_ARRAY)
            fth_capsule_decoder_refuse(decoder, "a region has an unknown kind");
        regions[i].kind = (enum fth_capsule_memory)kind;
        regions[i].address = end + fth_unzigzag(fth_get_varint(bytes));
        regions[i].bytes = fth_get_varint(bytes);
        regions[i].before = fth_get_varint32(bytes);
        if (kind == FTH_CAPSULE_VARIABLE)
            regions[i].variable = get_text(decoder);
        end = regions[i].address + regions[i].bytes;
    }
    launch->regions = regions;
    launch->region_count = regions ? (size_t)count : 0;
}

static void encode_tensor_map(const struct fth_capsule_tensor_map *map, struct fth_buffer *out)
{
    const uint64_t numbers[] = {map->region == UINT32_MAX ? 0 : (uint64_t)map->region + 1,
                                map->offset,
                                map->is_im2col,
                                map->rank,
                                map->data_type,
                                map->interleave,
                                map->swizzle,
                                map->l2_promotion,
                                map->fill,
                                map->address};
    for (size_t i = 0; i < FTH_COUNT(numbers); i++)
        fth_put_varint(numbers[i], out);
    for (uint32_t i = 0; i < map->rank; i++) {
        fth_put_varint(map->sizes[i], out);
        fth_put_varint(map->box[i], out);
        fth_put_varint(map->element_strides[i], out);
        if (i + 1 < map->rank)
            fth_put_varint(map->strides[i], out);
    }
    if (!map->is_im2col)
        return;
    for (uint32_t i = 0; i + 2 < map->rank; i++) {
        fth_put_varint(fth_zigzag((uint64_t)(int64_t)map->lower_corner[i]), out);
        fth_put_varint(fth_zigzag((uint64_t)(int64_t)map->upper_corner[i]), out);
    }
    fth_put_varint(map->channels_per_pixel, out);
    fth_put_varint(map->pixels_per_column, out);
}

static int32_t get_signed(struct fth_capsule_decoder *decoder)
{
    const uint32_t number = fth_get_varint32(&decoder->bytes);
    return (int32_t)(int64_t)fth_unzigzag(number);
}

static void decode_tensor_map(struct fth_capsule_decoder *decoder,
                              struct fth_capsule_tensor_map *map)
{
    struct fth_bytes *bytes = &decoder->bytes;
    map->region = fth_get_varint32(bytes) - 1; /* 0 becomes UINT32_MAX */
    map->offset = fth_get_varint(bytes);
    map->is_im2col = fth_get_varint(bytes) != 0;
    map->rank = fth_get_varint32(bytes);
    map->data_type = fth_get_varint32(bytes);
    map->interleave = fth_get_varint32(bytes);
    map->swizzle = fth_get_varint32(bytes);
    map->l2_promotion = fth_get_varint32(bytes);
    map->fill = fth_get_varint32(bytes);
    map->address = fth_get_varint(bytes);
    if (map->rank > MAX_RANK) {
        fth_capsule_decoder_refuse(decoder, "a tensor map has more than 5 dimensions");
        return;
    }
    for (uint32_t i = 0; i < map->rank; i++) {
        map->sizes[i] = fth_get_varint(bytes);
        map->box[i] = fth_get_varint32(bytes);
        map->element_strides[i] = fth_get_varint32(bytes);
        if (i + 1 < map->rank)
            map->strides[i] = fth_get_varint(bytes);
    }
    if (!map->is_im2col)
        return;
    for (uint32_t i = 0; i + 2 < map->rank; i++) {
        map->lower_corner[i] = get_signed(decoder);
        map->upper_corner[i] = get_signed(decoder);
    }
    map->channels_per_pixel = fth_get_varint32(bytes);
    map->pixels_per_column = fth_get_varint32(bytes);
}

static void decode_tensor_maps(struct fth_capsule_decoder *decoder,
                               struct fth_capsule_launch *launch)
{
    const uint64_t count = fth_get_varint(&decoder->bytes);
    if (count > FTH_CAPSULE_MAX_TENSOR_MAPS)
        fth_capsule_decoder_refuse(decoder, "the launch has more than 256 tensor maps");
    struct fth_capsule_tensor_map *maps = fth_capsule_decoder_array(decoder, count, sizeof *maps);
    for (size_t i = 0; maps && i < count; i++)
        decode_tensor_map(decoder, &maps[i]);
    launch->tensor_maps = maps;
    launch->tensor_map_count = maps ? (size_t)count : 0;
}

/* ---- LAUNCH ---- */

void fth_capsule_encode_launch(const struct fth_capsule_launch *launch, struct fth_buffer *out)
{
    fth_put_varint(launch->number, out);
    fth_put_text(launch->kernel, out);
    fth_put_varint(launch->module, out);
    for (size_t i = 0; i < 3; i++) {
        fth_put_varint(launch->grid[i], out);
        fth_put_varint(launch->block[i], out);
        fth_put_varint(launch->cluster[i], out);
    }
    fth_put_varint(launch->shared_bytes, out);
    fth_put_varint((launch->is_cooperative ? IS_COOPERATIVE : 0U) |
                       (launch->reason ? HAS_REASON : 0U) |
                       (launch->texture_count ? HAS_TEXTURES : 0U),
                   out);
    if (launch->reason)
        fth_put_text(launch->reason, out);
    fth_put_varint(launch->parameter_bytes, out);
    fth_buffer_append(out, launch->parameters, launch->parameter_bytes);
    encode_regions(launch, out);
    fth_put_varint(launch->tensor_map_count, out);
    for (size_t i = 0; i < launch->tensor_map_count; i++)
        encode_tensor_map(&launch->tensor_maps[i], out);
    if (launch->texture_count)
        fth_capsule_encode_textures(launch, out);
}

static void decode_parameters(struct fth_capsule_decoder *decoder,
                              struct fth_capsule_launch *launch)
{
    const uint64_t size = fth_get_varint(&decoder->bytes);
    if (size > FTH_CAPSULE_MAX_PARAMETER_BYTES)
        fth_capsule_decoder_refuse(decoder, "the launch has more than 65,536 bytes of parameters");
    void *parameters = fth_capsule_decoder_array(decoder, size, 1);
    if (!parameters)
        return;
    memcpy(parameters, decoder->bytes.at, (size_t)size);
    decoder->bytes.at += size;
    launch->parameters = parameters;
    launch->parameter_bytes = (size_t)size;
}

void fth_capsule_decode_launch(struct fth_capsule_decoder *decoder,
                               struct fth_capsule_launch *launch)
{
    struct fth_bytes *bytes = &decoder->bytes;
    if (!charge(decoder, sizeof *launch))
        return;
    launch->number = fth_get_varint(bytes);
    launch->kernel = get_text(decoder);
    launch->module = fth_get_varint32(bytes);
    for (size_t i = 0; i < 3; i++) {
        launch->grid[i] = fth_get_varint32(bytes);
        launch->block[i] = fth_get_varint32(bytes);
        launch->cluster[i] = fth_get_varint32(bytes);
    }
    launch->shared_bytes = fth_get_varint(bytes);
    const uint64_t flags = fth_get_varint(bytes);
    if (flags > (IS_COOPERATIVE | HAS_REASON | HAS_TEXTURES))
        fth_capsule_decoder_refuse(decoder, "the launch has unknown properties");
    launch->is_cooperative = flags & IS_COOPERATIVE;
    if (flags & HAS_REASON)
        launch->reason = get_text(decoder);
    decode_parameters(decoder, launch);
    decode_regions(decoder, launch);
    decode_tensor_maps(decoder, launch);
    if (flags & HAS_TEXTURES)
        fth_capsule_decode_textures(decoder, launch);
}

/* ---- checks ---- */

static int by_address(const void *a, const void *b)
{
    const struct fth_capsule_region *const *first = a, *const *second = b;
    return ((*first)->address > (*second)->address) - ((*first)->address < (*second)->address);
}

/* Finds regions that overlap. Empty regions do not. */
static enum fth_status check_overlaps(const struct fth_capsule_launch *launch, const char **fault)
{
    bool are_apart = true; /* and in the order of their addresses */
    uint64_t end = 0;
    for (size_t i = 0; i < launch->region_count; i++) {
        are_apart = are_apart && launch->regions[i].address >= end;
        end = launch->regions[i].address + launch->regions[i].bytes;
    }
    if (are_apart)
        return FTH_OK;
    const struct fth_capsule_region **sorted = calloc(launch->region_count, sizeof(void *));
    if (!sorted)
        return FTH_NO_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < launch->region_count; i++)
        if (launch->regions[i].bytes)
            sorted[count++] = &launch->regions[i];
    qsort(sorted, count, sizeof(void *), by_address);
    for (size_t i = 1; i < count; i++)
        if (sorted[i]->address - sorted[i - 1]->address < sorted[i - 1]->bytes)
            *fault = "two regions overlap";
    free(sorted);
    return *fault ? FTH_INVALID : FTH_OK;
}

const char *fth_capsule_check_image(uint32_t image, uint64_t bytes,
                                    const struct fth_capsule_scope *scope)
{
    if (image > scope->image_count)
        return "the image of a region does not exist";
    if (image && scope->image_bytes[image - 1] != bytes)
        return "the image of a region has another size than the region";
    return NULL;
}

static const char *check_region(const struct fth_capsule_region *region,
                                const struct fth_capsule_scope *scope)
{
    if (region->bytes > FTH_CAPSULE_MAX_REGION_BYTES)
        return "a region is larger than 1 TiB";
    if (region->address > UINT64_MAX - region->bytes)
        return "a region exceeds the address space";
    if (region->kind > FTH_CAPSULE_ARRAY)
        return "a region has an unknown kind";
    if (region->kind == FTH_CAPSULE_VARIABLE && !region->variable)
        return "a variable has no name";
    if (region->kind == FTH_CAPSULE_VARIABLE && strlen(region->variable) > FTH_PART_MAX_TEXT_BYTES)
        return "the name of a variable is longer than 65,536 bytes";
    return fth_capsule_check_image(region->before, region->bytes, scope);
}

static const char *check_tensor_map(const struct fth_capsule_tensor_map *map,
                                    const struct fth_capsule_launch *launch)
{
    if (map->region != UINT32_MAX && map->region >= launch->region_count)
        return "the region of a tensor map does not exist";
    const uint64_t bytes =
        map->region == UINT32_MAX ? launch->parameter_bytes : launch->regions[map->region].bytes;
    if (bytes < TENSOR_MAP_BYTES || map->offset > bytes - TENSOR_MAP_BYTES)
        return "a tensor map exceeds its region";
    if (map->rank > MAX_RANK)
        return "a tensor map has more than 5 dimensions";
    return NULL;
}

enum fth_status fth_capsule_check_launch(const struct fth_capsule_launch *launch,
                                         const struct fth_capsule_scope *scope, const char **fault)
{
    const char *found = NULL;
    if (launch->module > scope->module_count)
        found = "its module does not exist";
    else if (strlen(launch->kernel) > FTH_PART_MAX_TEXT_BYTES)
        found = "the name of its kernel is longer than 65,536 bytes";
    else if (launch->reason && strlen(launch->reason) > FTH_PART_MAX_TEXT_BYTES)
        found = "the reason why it cannot be repeated is longer than 65,536 bytes";
    else if (launch->parameter_bytes > FTH_CAPSULE_MAX_PARAMETER_BYTES)
        found = "the launch has more than 65,536 bytes of parameters";
    else if (launch->region_count > FTH_CAPSULE_MAX_REGIONS)
        found = "the launch has more than 65,536 regions";
    else if (launch->tensor_map_count > FTH_CAPSULE_MAX_TENSOR_MAPS)
        found = "the launch has more than 256 tensor maps";
    else if (launch->texture_count > FTH_CAPSULE_MAX_TEXTURES)
        found = "the launch has more than 4,096 textures";
    for (size_t i = 0; !found && i < launch->region_count; i++)
        found = check_region(&launch->regions[i], scope);
    for (size_t i = 0; !found && i < launch->tensor_map_count; i++)
        found = check_tensor_map(&launch->tensor_maps[i], launch);
    for (size_t i = 0; !found && i < launch->texture_count; i++)
        found = fth_capsule_check_texture(&launch->textures[i], launch);
    *fault = found;
    return found ? FTH_INVALID : check_overlaps(launch, fault);
}
