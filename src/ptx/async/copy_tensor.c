/* Tensor copies: cp.async.bulk.tensor and cp.reduce.async.bulk.tensor copy a box of a tensor
 * between global and shared memory (PTX ISA, "Tensor copy"). A tensor map (tensor_map.h) describes
 * the tensor and the box; the instruction has the coordinates of the box.
 *
 * In tile mode, the box is a range of each dimension. In im2col mode, it is a number of consecutive
 * pixels of images, each with an offset. In shared memory, the elements of a box are next to each
 * other, the innermost dimension first. A swizzle exchanges units of 16 bytes: bits 4 and up of the
 * shared address are combined by exclusive or with the bits from 7 on. Elements outside of the
 * tensor are read as zeros or NaNs, and not written. */
#include "ptx/async/async.h"

#include "ptx/async/tensor_map.h"

enum { UNIT = 16 }; /* bytes that a swizzle moves together */

/* The operands of the instruction beyond those of struct fth_ptx_bulk. */
struct fth_ptx_tensor {
    struct fth_ptx_bulk bulk; /* the address of the map is `from` of a load and `to` of a store */
    bool loads;               /* from global memory */
    unsigned rank;
    int32_t coordinates[FTH_TENSOR_MAX_RANK];
    bool im2col;
    int32_t offsets[FTH_TENSOR_MAX_RANK - 2];
};

struct tensor_copy {
    struct fth_ptx_copy copy;
    struct fth_ptx_tensor_map map;
    bool loads;
    struct fth_ptx_reduction reduction;       /* op A_NONE: a plain copy */
    int32_t at[FTH_TENSOR_MAX_RANK];          /* coordinates */
    int32_t offsets[FTH_TENSOR_MAX_RANK - 2]; /* im2col */
    struct fth_ptx_block *block;              /* whose shared memory is copied from or to, */
    uint64_t address;                         /* at this address */
    uint8_t *mbarrier;                        /* NULL: none */
};

/* ---- boxes ---- */

/* The row of a box that is being copied: the elements of the innermost dimension. */
struct box_row {
    int64_t at[FTH_TENSOR_MAX_RANK]; /* coordinates of its first element */
    uint64_t index;                  /* of the row in the box */
};

/* The number of elements of the box in a dimension other than the innermost, in tile mode. */
static uint64_t extent(const struct fth_ptx_tensor_map *map, unsigned d)
{
    const uint32_t stride = map->element_strides[d] ? map->element_strides[d] : 1;
    return (map->box[d] + stride - 1) / stride;
}

/* The element stride of the innermost dimension has no effect. */
static uint64_t row_elements(const struct fth_ptx_tensor_map *map)
{
    return map->is_im2col ? map->channels : map->box[0];
}

static uint64_t row_count(const struct fth_ptx_tensor_map *map)
{
    uint64_t count = 1;
    if (map->is_im2col)
        return map->pixels;
    for (unsigned d = 1; d < map->rank; d++)
        count *= extent(map, d);
    return count;
}

static uint64_t box_bytes(const struct fth_ptx_tensor_map *map)
{
    return row_elements(map) * row_count(map) * fth_ptx_tensor_type_bytes(map->type);
}

static void first_row(const struct tensor_copy *copy, struct box_row *box_row)
{
    *box_row = (struct box_row){.index = 0};
    for (unsigned d = 0; d < FTH_TENSOR_MAX_RANK; d++)
        box_row->at[d] = copy->at[d]; /* 0 for dimensions that the tensor does not have */
}

/* Advances to the next row. In im2col mode, the pixels of an image are those between two corners.
 */
static void next_row(const struct tensor_copy *copy, struct box_row *box_row)
{
    const struct fth_ptx_tensor_map *map = &copy->map;
    box_row->index++;
    if (map->is_im2col) {
        const unsigned images = map->rank - 1;
        for (unsigned d = 1; d < images; d++) {
            box_row->at[d] += map->element_strides[d];
            if (box_row->at[d] < (int64_t)map->sizes[d] + map->upper[d - 1])
                return;
            box_row->at[d] = map->lower[d - 1];
        }
        box_row->at[images]++;
        return;
    }
    uint64_t rest = box_row->index;
    for (unsigned d = 1; d < map->rank; d++) {
        box_row->at[d] = copy->at[d] + (int64_t)(rest % extent(map, d) * map->element_strides[d]);
        rest /= extent(map, d);
    }
}

/* Returns the address of element 0 of the innermost dimension in the row. *inside is false if the
 * row is outside of the tensor. */
static uint64_t row_address(const struct tensor_copy *copy, const struct box_row *box_row,
                            bool *inside)
{
    const struct fth_ptx_tensor_map *map = &copy->map;
    uint64_t address = map->address;
    *inside = true;
    for (unsigned d = 1; d < map->rank; d++) {
        const bool pixel = map->is_im2col && d < map->rank - 1;
        const int64_t at = box_row->at[d] + (pixel ? copy->offsets[d - 1] : 0);
        *inside = *inside && at >= 0 && (uint64_t)at < map->sizes[d];
        address += (uint64_t)at * map->strides[d - 1];
    }
    return address;
}

/* ---- execution ---- */

static uint64_t swizzled(const struct fth_ptx_tensor_map *map, uint64_t address)
{
    static const uint8_t masks[] = {
        [FTH_SWIZZLE_NONE] = 0, [FTH_SWIZZLE_32] = 1, [FTH_SWIZZLE_64] = 3, [FTH_SWIZZLE_128] = 7};
    return address ^ (address >> 7 & masks[map->swizzle]) << 4;
}

/* The bits of an element outside of the tensor. */
static uint64_t fill_of(const struct fth_ptx_tensor_map *map)
{
    if (!map->fills_with_nan)
        return 0;
    switch (fth_ptx_tensor_type_bytes(map->type)) {
    case 2: return 0x7fff;
    case 4: return 0x7fffffff;
    default: return 0x7fffffffffffffff;
    }
}

/* Copies one element. `host` is its place in global memory; NULL: it is outside of the tensor. */
static void copy_element(const struct tensor_copy *copy, uint8_t *shared, uint8_t *host,
                         unsigned bytes)
{
    const uint64_t fill = fill_of(&copy->map);
    if (copy->loads)
        memcpy(shared, host ? host : (const uint8_t *)&fill, bytes);
    else if (host && copy->reduction.op != A_NONE)
        fth_ptx_reduce(&copy->reduction, host, shared, bytes);
    else if (host)
        memcpy(host, shared, bytes);
}

/* Copies one row. Returns false after a fault. */
static bool copy_row(const struct tensor_copy *copy, const struct box_row *box_row)
{
    const struct fth_ptx_tensor_map *map = &copy->map;
    const struct fth_ptx_memory *memory = copy->copy.warp->block->run->machine->memory;
    const unsigned bytes = fth_ptx_tensor_type_bytes(map->type);
    const uint64_t count = row_elements(map);
    const struct fth_ptx_allocation *allocation = NULL;
    bool inside;
    const uint64_t base = row_address(copy, box_row, &inside);
    for (uint64_t i = 0; i < count; i++) {
        const int64_t at = box_row->at[0] + (int64_t)i;
        uint8_t *host = NULL;
        if (inside && at >= 0 && (uint64_t)at < map->sizes[0]) {
            const uint64_t address = base + (uint64_t)at * bytes;
            if (!allocation || address - allocation->base >= allocation->bytes)
                allocation = fth_ptx_find_allocation(memory, address);
            if (!allocation || allocation->bytes - (address - allocation->base) < bytes) {
                fth_ptx_warp_fault(copy->copy.warp, copy->copy.inst, 0,
                                   "access of %u bytes at 0x%llx, outside the global memory", bytes,
                                   (unsigned long long)address);
                return false;
            }
            host = allocation->host + (address - allocation->base);
        }
        if (copy->copy.inst->slice & SLICE_SKIPS)
            continue;
        const uint64_t shared = swizzled(map, copy->address + (box_row->index * count + i) * bytes);
        copy_element(copy, copy->block->shared + shared, host, bytes);
    }
    return true;
}

static bool execute_tensor(struct fth_ptx_copy *waiting, uint32_t lanes)
{
    struct tensor_copy *copy = (struct tensor_copy *)waiting;
    struct box_row box_row;
    const uint64_t rows = row_count(&copy->map);
    (void)lanes; /* a copy belongs to one lane */
    first_row(copy, &box_row);
    for (uint64_t i = 0; i < rows; i++) {
        if (!copy_row(copy, &box_row))
            return false;
        next_row(copy, &box_row);
    }
    return fth_ptx_copy_arrived(waiting, copy->mbarrier, box_bytes(&copy->map));
}

/* ---- issue ---- */

/* Reports a part of a row of a box to the observer: the elements from `first` to before `end`, with
 * element 0 at the address `base`. The parts outside of the tensor are not accessed. Returns false
 * if the observer ends the launch. */
static bool notify_part(const struct tensor_copy *copy, const struct box_row *box_row,
                        uint64_t base, int64_t first, int64_t end, bool inside)
{
    const struct fth_ptx_tensor_map *map = &copy->map;
    const unsigned bytes = fth_ptx_tensor_type_bytes(map->type);
    const enum fth_ptx_access_kind kind = copy->loads                    ? FTH_ACCESS_READ
                                          : copy->reduction.op != A_NONE ? FTH_ACCESS_ATOMIC
                                                                         : FTH_ACCESS_WRITE;
    if (first >= end || (!inside && !copy->loads))
        return true;
    const uint64_t index = box_row->index * row_elements(map) + (uint64_t)(first - box_row->at[0]);
    const struct fth_ptx_range range = {.kind = kind,
                                        .address = base + (uint64_t)first * bytes,
                                        .bytes = (uint64_t)(end - first) * bytes,
                                        .shared = copy->address + index * bytes,
                                        .outside = !inside};
    if (!fth_ptx_notify_copied(copy->copy.warp, range))
        return false;
    if (!inside)
        return true;
    const uint64_t from = range.address / UNIT * UNIT;
    const uint64_t to = (range.address + range.bytes + UNIT - 1) / UNIT * UNIT;
    return fth_ptx_notify_range(copy->copy.warp, copy->copy.inst, NULL, from, to - from, kind);
}

static bool notify_row(const struct tensor_copy *copy, const struct box_row *box_row)
{
    const struct fth_ptx_tensor_map *map = &copy->map;
    const int64_t size = (int64_t)map->sizes[0], first = box_row->at[0];
    const int64_t end = first + (int64_t)row_elements(map);
    bool inside;
    const uint64_t base = row_address(copy, box_row, &inside);
    if (!inside)
        return notify_part(copy, box_row, map->address, first, end, false);
    const int64_t from = first < 0 ? (end < 0 ? end : 0) : first;
    const int64_t to = end > size ? (first > size ? first : size) : end;
    return notify_part(copy, box_row, base, first, from, false) &&
           notify_part(copy, box_row, base, from, to, true) &&
           notify_part(copy, box_row, base, to, end, false);
}

/* Reports the accesses of a copy to the observer. */
static bool notify(const struct tensor_copy *copy)
{
    struct fth_ptx_warp *warp = copy->copy.warp;
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    if (!observer || !(observer->access || observer->range))
        return true;
    const struct fth_ptx_tensor_map *map = &copy->map;
    struct box_row box_row;
    first_row(copy, &box_row);
    for (uint64_t i = 0; i < row_count(map); i++, next_row(copy, &box_row))
        if (!notify_row(copy, &box_row))
            return false;
    return fth_ptx_notify_range(warp, copy->copy.inst, copy->block, copy->address, box_bytes(map),
                                copy->loads ? FTH_ACCESS_WRITE : FTH_ACCESS_READ);
}

/* Reads the tensor map of a lane. Returns false after a fault. */
static bool read_map(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                     uint64_t address, struct fth_ptx_tensor_map *map)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_ptx_inst load = *inst;
    if (inst->slice & SLICE_READS_MAP)
        load.slice = SLICE_READS;
    const uint8_t *host =
        space_of(address) == FTH_SPACE_PARAM
            ? fth_ptx_resolve_argument(warp, inst, lane, address - PARAM_WINDOW,
                                       FTH_TENSOR_MAP_BYTES)
            : fth_ptx_resolve_global(warp, &load, lane, address, FTH_TENSOR_MAP_BYTES);
    if (!host)
        return false;
    if (fth_ptx_tensor_map_decode(host, map, &error) != FTH_OK) {
        fth_ptx_warp_fault(warp, inst, lane, "tensor map at 0x%llx: %s",
                           (unsigned long long)address, error.cause);
        return false;
    }
    return true;
}

/* Checks that the copy fits the map and the shared memory. */
static bool check(struct tensor_copy *copy, const struct fth_ptx_tensor *tensor, int lane)
{
    struct fth_ptx_warp *warp = copy->copy.warp;
    const struct fth_ptx_inst *inst = copy->copy.inst;
    const struct fth_ptx_tensor_map *map = &copy->map;
    if (map->rank != tensor->rank || map->is_im2col != tensor->im2col) {
        fth_ptx_warp_fault(warp, inst, lane,
                           "the tensor map has %u dimensions and is made for %s mode", map->rank,
                           map->is_im2col ? "im2col" : "tile");
        return false;
    }
    if (map->interleave != FTH_INTERLEAVE_NONE) {
        fth_ptx_warp_fault(warp, inst, lane, "interleaved tensors are not supported");
        return false;
    }
    const uint64_t bytes = (box_bytes(map) + UNIT - 1) / UNIT * UNIT;
    /* A swizzle stays within its pattern of at most 1,024 bytes. */
    const uint64_t pattern = map->swizzle == FTH_SWIZZLE_NONE ? 128 : 128u << map->swizzle;
    if (copy->address % 128) {
        fth_ptx_warp_fault(warp, inst, lane, "the shared address 0x%llx is not aligned to 128",
                           (unsigned long long)copy->address);
        return false;
    }
    const int64_t first = (int64_t)copy->at[0] * fth_ptx_tensor_type_bytes(map->type);
    if (!map->is_im2col && first % UNIT) {
        fth_ptx_warp_fault(warp, inst, lane,
                           "the box starts at byte %lld of the innermost dimension, which is not a "
                           "multiple of 16",
                           (long long)first);
        return false;
    }
    const uint64_t start = copy->address / pattern * pattern;
    if (map->swizzle != FTH_SWIZZLE_NONE && start + bytes > copy->block->shared_bytes) {
        fth_ptx_warp_fault(warp, inst, lane, "copy of %llu bytes, outside the shared memory",
                           (unsigned long long)bytes);
        return false;
    }
    return true;
}

/* The type of a tensor's elements, for reductions. */
static enum fth_ptx_type element_type(enum fth_ptx_tensor_type type)
{
    static const uint8_t types[] = {
        [FTH_TENSOR_U8] = T_U8,       [FTH_TENSOR_U16] = T_U16,   [FTH_TENSOR_U32] = T_U32,
        [FTH_TENSOR_S32] = T_S32,     [FTH_TENSOR_U64] = T_U64,   [FTH_TENSOR_S64] = T_S64,
        [FTH_TENSOR_F16] = T_F16,     [FTH_TENSOR_F32] = T_F32,   [FTH_TENSOR_F32_FTZ] = T_F32,
        [FTH_TENSOR_F64] = T_F64,     [FTH_TENSOR_BF16] = T_BF16, [FTH_TENSOR_TF32] = T_F32,
        [FTH_TENSOR_TF32_FTZ] = T_F32};
    return (enum fth_ptx_type)types[type];
}

/* Issues the copy of one lane for one block: see issue() in copy_bulk.c. */
static bool issue(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane, int target)
{
    const struct fth_ptx_tensor *tensor = (const struct fth_ptx_tensor *)inst->detail;
    const struct fth_ptx_bulk *bulk = &tensor->bulk;
    struct tensor_copy *copy = fth_ptx_copy_create(warp, inst, COPY_BULK, 1u << lane, sizeof *copy);
    if (!copy)
        return false;
    const uint64_t to = row(warp, bulk->to)[lane] + (uint64_t)bulk->to_offset;
    const uint64_t from = row(warp, bulk->from)[lane] + (uint64_t)bulk->from_offset;
    copy->copy.execute = execute_tensor;
    copy->loads = tensor->loads;
    copy->address = tensor->loads ? to : from;
    if (target >= 0)
        copy->address = fth_ptx_address_in_block(warp, copy->address, (unsigned)target);
    for (unsigned d = 0; d < tensor->rank; d++)
        copy->at[d] = (int32_t)row(warp, tensor->coordinates[d])[lane];
    for (unsigned d = 0; tensor->im2col && d + 2 < tensor->rank; d++)
        copy->offsets[d] = (uint16_t)row(warp, tensor->offsets[d])[lane];
    bool ok = read_map(warp, inst, lane, tensor->loads ? from : to, &copy->map) &&
              fth_ptx_resolve_range(warp, inst, lane, SPACE_CLUSTER, &copy->address,
                                    (box_bytes(&copy->map) + UNIT - 1) / UNIT * UNIT, tensor->loads,
                                    &copy->block) &&
              check(copy, tensor, lane);
    if (ok && bulk->mbarrier != NO_REGISTER) {
        uint64_t at = row(warp, bulk->mbarrier)[lane] + (uint64_t)bulk->mbarrier_offset;
        if (target >= 0)
            at = fth_ptx_address_in_block(warp, at, (unsigned)target);
        copy->mbarrier = fth_ptx_resolve_mbarrier(warp, inst, lane, at);
        ok = copy->mbarrier != NULL;
    }
    if (ok && bulk->reduces)
        copy->reduction =
            (struct fth_ptx_reduction){bulk->reduction.op, element_type(copy->map.type)};
    ok = ok && notify(copy);
    if (!ok)
        copy->copy.lanes = 0; /* the queue frees it without executing it */
    fth_ptx_copy_issue(&copy->copy);
    return ok;
}

static void run_tensor(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct fth_ptx_tensor *tensor = (const struct fth_ptx_tensor *)inst->detail;
    fth_ptx_issue_copies(warp, inst, tensor->bulk.blocks, mask, issue);
}

/* ---- parsing ---- */

/* Parses ".2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster" and the
 * like. */
static bool parse_words(struct fth_ptx_statement *statement, struct fth_ptx_tensor *tensor,
                        bool *multicast, bool *hint)
{
    static const char *const ranks[] = {"1d", "2d", "3d", "4d", "5d"};
    static const char *const groups[] = {"cta_group::1"};
    struct fth_ptx_bulk *bulk = &tensor->bulk;
    const int rank = fth_ptx_take_one_of(statement, ranks, FTH_COUNT(ranks));
    if (rank < 0 || !fth_ptx_take_space(statement, &bulk->to_space) ||
        !fth_ptx_take_space(statement, &bulk->from_space))
        return false;
    tensor->rank = (unsigned)rank + 1;
    tensor->loads = bulk->from_space == FTH_SPACE_GLOBAL;
    if (tensor->loads == (bulk->to_space == FTH_SPACE_GLOBAL))
        return false;
    const bool reduction = !bulk->reduces || fth_ptx_take_reduction_op(statement, &bulk->reduction);
    tensor->im2col =
        fth_ptx_take_word(statement, "im2col") || fth_ptx_take_word(statement, "im2col_no_offs");
    if (!tensor->im2col)
        (void)fth_ptx_take_word(statement, "tile");
    const bool completion =
        fth_ptx_take_word(statement, tensor->loads ? "mbarrier::complete_tx::bytes" : "bulk_group");
    *multicast = fth_ptx_take_word(statement, "multicast::cluster");
    (void)fth_ptx_take_one_of(statement, groups, FTH_COUNT(groups));
    *hint = fth_ptx_take_word(statement, "L2::cache_hint");
    return reduction && completion && statement->next_word == statement->word_count;
}

/* Takes "[map, {coordinates}]". */
static bool take_map(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                     size_t index, struct fth_ptx_tensor *tensor, int32_t *row, int64_t *offset)
{
    const struct fth_ptx_operand *operand = &statement->operands[index];
    if (index >= statement->operand_count || operand->kind != OPERAND_ADDRESS ||
        operand->element_count != tensor->rank)
        return fth_ptx_refuse_operand(parser, statement, index,
                                      "[tensor map, {a coordinate for each dimension}]");
    *row = operand->row;
    *offset = operand->offset;
    memcpy(tensor->coordinates, operand->elements, tensor->rank * sizeof *tensor->coordinates);
    return true;
}

bool fth_ptx_parse_tensor_copy(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                               bool reduces, struct fth_ptx_inst *inst)
{
    struct fth_ptx_tensor *tensor = fth_arena_alloc(&parser->module->arena, sizeof *tensor);
    bool multicast, hint;
    size_t next = 2;
    if (!tensor)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    *tensor = (struct fth_ptx_tensor){
        .bulk = {.mbarrier = NO_REGISTER, .blocks = NO_REGISTER, .reduces = reduces}};
    struct fth_ptx_bulk *bulk = &tensor->bulk;
    if (!parse_words(statement, tensor, &multicast, &hint))
        return fth_ptx_refuse(parser, statement);
    if (tensor->loads
            ? !fth_ptx_take_place(parser, statement, 0, &bulk->to, &bulk->to_offset) ||
                  !take_map(parser, statement, 1, tensor, &bulk->from, &bulk->from_offset) ||
                  !fth_ptx_take_place(parser, statement, next++, &bulk->mbarrier,
                                      &bulk->mbarrier_offset)
            : !take_map(parser, statement, 0, tensor, &bulk->to, &bulk->to_offset) ||
                  !fth_ptx_take_place(parser, statement, 1, &bulk->from, &bulk->from_offset))
        return false;
    if (tensor->loads && tensor->im2col) {
        const int32_t *offsets;
        if (!fth_ptx_take_registers(parser, statement, next++, tensor->rank - 2, false, &offsets))
            return false;
        memcpy(tensor->offsets, offsets, (tensor->rank - 2) * sizeof *offsets);
    }
    if (multicast && !fth_ptx_take_row(parser, statement, next++, &bulk->blocks))
        return false;
    next += hint; /* the cache policy has no effect */
    inst->run = run_tensor;
    inst->unit = FTH_UNIT_COPY_ENGINE;
    inst->cache_op = FTH_CACHE_CG; /* copies pass the L1 */
    return fth_ptx_check_operand_count(parser, statement, next) &&
           fth_ptx_set_detail(parser, statement, 0, &bulk->detail, inst);
}
