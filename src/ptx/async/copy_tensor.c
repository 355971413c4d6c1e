/* Tensor copies: cp.async.bulk.tensor and cp.reduce.async.bulk.tensor copy a box of a tensor
 * between global and shared memory (PTX ISA, "Tensor copy"). A tensor map (tensor_map.h) describes
 * the tensor and the box; the instruction has the coordinates of the box.
 *
 * In tile mode, the box is a range of each dimension. In im2col mode, it is a number of consecutive
 * pixels of images, each with an offset. In shared memory, the elements of a box are next to each
 * other, the innermost dimension first. A swizzle exchanges units of 16 bytes: bits 4 and up of the
 * shared address are combined by exclusive or with the bits from 7 on. Elements outside of the
 * tensor are read as zeros or NaNs, and not written.
 *
 * Where the documentation is silent, the rules are those of an H200: which NaN a copy fills with,
 * which copies end the kernel with "illegal instruction", that a store writes a unit of 16 bytes at
 * the end of a row even if the tensor ends inside of it, and that sums of f32 keep subnormals. */
#include "ptx/async/async.h"

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
    struct fth_ptx_tensor_box box;
    bool loads;
    struct fth_ptx_reduction reduction; /* op A_NONE: a plain copy */
    struct fth_ptx_block *block;        /* whose shared memory is copied from or to, */
    uint64_t address;                   /* at this address */
    uint8_t *mbarrier;                  /* NULL: none */
};

/* ---- execution ---- */

static uint64_t swizzled(const struct fth_ptx_tensor_map *map, uint64_t address)
{
    static const uint8_t masks[] = {
        [FTH_SWIZZLE_NONE] = 0, [FTH_SWIZZLE_32] = 1, [FTH_SWIZZLE_64] = 3, [FTH_SWIZZLE_128] = 7};
    return address ^ (address >> 7 & masks[map->swizzle]) << 4;
}

/* The bits of an element outside of the tensor. The NaN consists of the same 16 bits in all types.
 */
static uint64_t fill_of(const struct fth_ptx_tensor_map *map)
{
    return map->fills_with_nan ? 0x7ff77ff77ff77ff7 : 0;
}

/* Rounds a number to tf32, which has 13 bits less than f32; halfway to the even one. */
static uint32_t round_tf32(uint32_t bits)
{
    if ((bits & 0x7fffffff) > 0x7f800000)
        return 0x7fffe000; /* NaN */
    return (bits + 0xfff + (bits >> 13 & 1)) & 0xffffe000;
}

/* Loads one element. `host` is its place in global memory; NULL: it is outside of the tensor. */
static void load_element(const struct fth_ptx_tensor_map *map, uint8_t *shared, const uint8_t *host,
                         unsigned bytes)
{
    const uint64_t fill = fill_of(map);
    memcpy(shared, host ? host : (const uint8_t *)&fill, bytes);
    if (host && (map->type == FTH_TENSOR_TF32 || map->type == FTH_TENSOR_TF32_FTZ)) {
        uint32_t value;
        memcpy(&value, host, sizeof value);
        value = round_tf32(value);
        memcpy(shared, &value, sizeof value);
    }
}

/* Copies one element. `host` is its place in global memory; NULL: it is outside of the tensor. */
static void copy_element(const struct tensor_copy *copy, uint8_t *shared, uint8_t *host,
                         unsigned bytes)
{
    if (copy->loads)
        load_element(&copy->box.map, shared, host, bytes);
    else if (host && copy->reduction.op != A_NONE)
        fth_ptx_reduce(&copy->reduction, host, shared, bytes);
    else if (host)
        memcpy(host, shared, bytes);
}

/* Finds the elements of the row that are copied, those from `first` to `*end` - 1, in host memory.
 * A store also writes the rest of the unit in which the tensor ends, unless the allocation ends
 * before. Reports a fault and returns NULL if they are not in global memory. */
static uint8_t *find_row(const struct tensor_copy *copy, const struct fth_ptx_box_row *row,
                         uint64_t *end)
{
    const struct fth_ptx_memory *memory = copy->copy.warp->block->run->machine->memory;
    const struct fth_ptx_allocation *allocation = fth_ptx_find_allocation(memory, row->address);
    const unsigned bytes = fth_ptx_tensor_type_bytes(copy->box.map.type);
    const uint64_t size = (row->end - row->first) * bytes;
    *end = row->end;
    if (allocation && allocation->bytes - (row->address - allocation->base) >= size) {
        const uint64_t offset = row->address - allocation->base;
        if (!copy->loads)
            *end = FTH_MIN(row->unit_end, row->first + (allocation->bytes - offset) / bytes);
        return allocation->host + offset;
    }
    fth_ptx_warp_fault(copy->copy.warp, copy->copy.inst, first_lane(copy->copy.lanes),
                       "access of %llu bytes at 0x%llx, outside the global memory",
                       (unsigned long long)size, (unsigned long long)row->address);
    return NULL;
}

/* Copies one row. Returns false after a fault. */
static bool copy_row(const struct tensor_copy *copy, const struct fth_ptx_box_row *row)
{
    const struct fth_ptx_tensor_map *map = &copy->box.map;
    const unsigned bytes = fth_ptx_tensor_type_bytes(map->type);
    const uint64_t count = fth_ptx_box_row_elements(map);
    const uint64_t start = copy->address + row->index * fth_ptx_box_pitch(map);
    uint64_t end = row->end;
    uint8_t *host = row->end > row->first ? find_row(copy, row, &end) : NULL;
    if (row->end > row->first && !host)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t shared = swizzled(map, start + i * bytes);
        const bool inside = i >= row->first && i < end;
        copy_element(copy, copy->block->shared + shared,
                     inside ? host + (i - row->first) * bytes : NULL, bytes);
    }
    return true;
}

static bool execute_tensor(struct fth_ptx_copy *waiting, uint32_t lanes)
{
    struct tensor_copy *copy = (struct tensor_copy *)waiting;
    struct fth_ptx_box_row row;
    const uint64_t rows =
        copy->copy.inst->slice & SLICE_SKIPS ? 0 : fth_ptx_box_rows(&copy->box.map);
    fth_ptx_box_first_row(&copy->box, &row);
    for (uint64_t i = 0; i < rows; i++) {
        if (!copy_row(copy, &row))
            return false;
        fth_ptx_box_next_row(&copy->box, &row);
    }
    return fth_ptx_copy_arrived(waiting, first_lane(lanes), copy->mbarrier,
                                fth_ptx_box_bytes(&copy->box.map));
}

/* ---- checks ---- */

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

#define ILLEGAL "; a GPU ends the kernel with 'illegal instruction'"

/* Checks the first pixel of a copy in im2col mode. */
static bool check_pixel(const struct tensor_copy *copy, int lane)
{
    const struct fth_ptx_tensor_map *map = &copy->box.map;
    for (unsigned i = 0; i + 2 < map->rank; i++) {
        const unsigned d = fth_ptx_tensor_pixel_dimension(map) + i;
        const int32_t at = copy->box.at[d];
        const int64_t end = (int64_t)map->sizes[d] + map->upper[i];
        if (at < map->lower[i] || at >= end) {
            fth_ptx_warp_fault(copy->copy.warp, copy->copy.inst, lane,
                               "the copy starts at %d in dimension %u; the corners allow %d to "
                               "%lld" ILLEGAL,
                               at, d, map->lower[i], (long long)end - 1);
            return false;
        }
        if (!copy->loads && (map->lower[i] < 0 || map->upper[i] > 0)) {
            fth_ptx_warp_fault(copy->copy.warp, copy->copy.inst, lane,
                               "the corners of dimension %u are outside of the tensor, which only "
                               "loads allow" ILLEGAL,
                               d);
            return false;
        }
    }
    return true;
}

/* Checks the coordinates of the copy. */
static bool check_start(const struct tensor_copy *copy, int lane)
{
    const struct fth_ptx_tensor_map *map = &copy->box.map;
    const int64_t start = (int64_t)copy->box.at[0] * fth_ptx_tensor_type_bytes(map->type);
    if (map->interleave == FTH_INTERLEAVE_NONE && start % FTH_TENSOR_UNIT) {
        fth_ptx_warp_fault(copy->copy.warp, copy->copy.inst, lane,
                           "the copy starts at byte %lld of dimension 0, which is not a multiple "
                           "of %d" ILLEGAL,
                           (long long)start, FTH_TENSOR_UNIT);
        return false;
    }
    for (unsigned d = 0; !copy->loads && d < map->rank; d++)
        if (copy->box.at[d] < 0) {
            fth_ptx_warp_fault(copy->copy.warp, copy->copy.inst, lane,
                               "the copy to global memory starts at %d in dimension %u; only loads "
                               "can start before the tensor" ILLEGAL,
                               copy->box.at[d], d);
            return false;
        }
    return !map->is_im2col || check_pixel(copy, lane);
}

/* Checks that the copy fits the map and the shared memory. */
static bool check(const struct tensor_copy *copy, const struct fth_ptx_tensor *tensor, int lane)
{
    struct fth_ptx_warp *warp = copy->copy.warp;
    const struct fth_ptx_inst *inst = copy->copy.inst;
    const struct fth_ptx_tensor_map *map = &copy->box.map;
    if (map->rank != tensor->rank || map->is_im2col != tensor->im2col) {
        fth_ptx_warp_fault(warp, inst, lane,
                           "the tensor map has %u dimensions and is made for %s mode", map->rank,
                           map->is_im2col ? "im2col" : "tile");
        return false;
    }
    if (copy->address % 128) {
        fth_ptx_warp_fault(warp, inst, lane, "the shared address 0x%llx is not aligned to 128",
                           (unsigned long long)copy->address);
        return false;
    }
    return check_start(copy, lane);
}

/* ---- reductions ---- */

/* The type of a tensor's elements in reductions, and a mask of the operations that they have. */
#define OP(op) (1u << A_##op)
static const struct {
    enum fth_ptx_type type;
    uint32_t ops;
    bool keeps_subnormals;
} reductions[FTH_TENSOR_TYPE_COUNT] = {
    [FTH_TENSOR_U32] = {T_U32,
                        OP(ADD) | OP(MIN) | OP(MAX) | OP(INC) | OP(DEC) | OP(AND) | OP(OR) |
                            OP(XOR),
                        false},
    [FTH_TENSOR_S32] = {T_S32, OP(ADD) | OP(MIN) | OP(MAX) | OP(AND) | OP(OR) | OP(XOR), false},
    [FTH_TENSOR_U64] = {T_U64, OP(ADD) | OP(MIN) | OP(MAX) | OP(AND) | OP(OR) | OP(XOR), false},
    [FTH_TENSOR_S64] = {T_S64, OP(MIN) | OP(MAX), false},
    [FTH_TENSOR_F16] = {T_F16, OP(ADD) | OP(MIN) | OP(MAX), false},
    [FTH_TENSOR_BF16] = {T_BF16, OP(ADD) | OP(MIN) | OP(MAX), false},
    [FTH_TENSOR_F32] = {T_F32, OP(ADD), true},
    [FTH_TENSOR_F32_FTZ] = {T_F32, OP(ADD), false},
    [FTH_TENSOR_TF32] = {T_F32, OP(ADD), true},
    [FTH_TENSOR_TF32_FTZ] = {T_F32, OP(ADD), false},
    [FTH_TENSOR_F64] = {T_F64, OP(ADD), false},
};

/* Sets how the copy combines the box with the tensor. Returns false after a fault. */
static bool set_reduction(struct tensor_copy *copy, enum fth_ptx_atomic_op op, int lane)
{
    const enum fth_ptx_tensor_type type = copy->box.map.type;
    copy->reduction =
        (struct fth_ptx_reduction){op, reductions[type].type, reductions[type].keeps_subnormals};
    if (reductions[type].ops >> op & 1)
        return true;
    fth_ptx_warp_fault(copy->copy.warp, copy->copy.inst, lane,
                       "elements of type %s have no reduction '%s'" ILLEGAL,
                       fth_ptx_tensor_type_name(type), fth_ptx_reduction_name(op));
    return false;
}

/* ---- issue ---- */

/* Reports the accesses to shared memory. */
static bool notify_shared(const struct tensor_copy *copy)
{
    const struct fth_ptx_tensor_map *map = &copy->box.map;
    const enum fth_ptx_access_kind kind = copy->loads ? FTH_ACCESS_WRITE : FTH_ACCESS_READ;
    const uint64_t rows = fth_ptx_box_rows(map), bytes = fth_ptx_box_bytes(map);
    const uint64_t pitch = fth_ptx_box_pitch(map);
    const int lane = first_lane(copy->copy.lanes);
    if (rows * pitch == bytes)
        return fth_ptx_notify_range(copy->copy.warp, copy->copy.inst, lane, copy->block,
                                    copy->address, bytes, kind);
    for (uint64_t i = 0; i < rows; i++)
        if (!fth_ptx_notify_range(copy->copy.warp, copy->copy.inst, lane, copy->block,
                                  copy->address + i * pitch, bytes / rows, kind))
            return false;
    return true;
}

/* Reports the elements of a row from `first` to `end` - 1, at this address, to the observer.
 * Elements outside of the tensor are not accessed, and only loads have them. Returns false if the
 * observer ends the launch. */
static bool notify_part(const struct tensor_copy *copy, const struct fth_ptx_box_row *row,
                        uint64_t first, uint64_t end, uint64_t address, bool outside)
{
    const struct fth_ptx_tensor *tensor = (const struct fth_ptx_tensor *)copy->copy.inst->detail;
    const struct fth_ptx_tensor_map *map = &copy->box.map;
    const unsigned bytes = fth_ptx_tensor_type_bytes(map->type);
    const enum fth_ptx_access_kind kind = copy->loads                    ? FTH_ACCESS_READ
                                          : copy->reduction.op != A_NONE ? FTH_ACCESS_ATOMIC
                                                                         : FTH_ACCESS_WRITE;
    const struct fth_ptx_range range = {
        .kind = kind,
        .address = address,
        .bytes = (end - first) * bytes,
        .shared = copy->address + row->index * fth_ptx_box_pitch(map) + first * bytes,
        .outside = outside,
        .multicast = tensor->bulk.blocks != NO_REGISTER};
    if (first >= end || (outside && !copy->loads))
        return true;
    return fth_ptx_notify_copied(copy->copy.warp, range) &&
           (outside ||
            fth_ptx_notify_range(copy->copy.warp, copy->copy.inst, first_lane(copy->copy.lanes),
                                 NULL, row->address, (row->unit_end - row->first) * bytes, kind));
}

/* Reports a row, whose elements inside of the tensor end at `end`. A row that is wholly outside
 * counts as its first row. Returns false if the observer ends the launch. */
static bool notify_row(const struct tensor_copy *copy, const struct fth_ptx_box_row *row,
                       uint64_t end)
{
    const struct fth_ptx_tensor_map *map = &copy->box.map;
    const unsigned bytes = fth_ptx_tensor_type_bytes(map->type);
    const uint64_t count = fth_ptx_box_row_elements(map);
    if (row->end == row->first)
        return notify_part(copy, row, 0, count, map->address + (uint64_t)row->at[0] * bytes, true);
    return notify_part(copy, row, 0, row->first, row->address - row->first * bytes, true) &&
           notify_part(copy, row, row->first, end, row->address, false) &&
           notify_part(copy, row, end, count, row->address + (end - row->first) * bytes, true);
}

/* Checks that the rows of the box are in global memory, and reports the accesses of the copy to the
 * observer and to the search for missing waits. Returns false after a fault, or if the observer
 * ends the launch. */
static bool access_rows(const struct tensor_copy *copy)
{
    const struct fth_ptx_run *run = copy->copy.warp->block->run;
    const bool observed = run->sees_accesses || (run->observer && run->observer->range);
    const struct fth_ptx_tensor_map *map = &copy->box.map;
    struct fth_ptx_box_row row;
    fth_ptx_box_first_row(&copy->box, &row);
    for (uint64_t i = 0; i < fth_ptx_box_rows(map); i++, fth_ptx_box_next_row(&copy->box, &row)) {
        uint64_t end = row.end;
        if ((row.end > row.first && !find_row(copy, &row, &end)) ||
            (observed && !notify_row(copy, &row, end)))
            return false;
    }
    return !observed || notify_shared(copy);
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
        copy->box.at[d] = (int32_t)row(warp, tensor->coordinates[d])[lane];
    for (unsigned d = 0; tensor->im2col && d + 2 < tensor->rank; d++)
        copy->box.offsets[d] = (uint16_t)row(warp, tensor->offsets[d])[lane];
    bool ok = read_map(warp, inst, lane, tensor->loads ? from : to, &copy->box.map) &&
              fth_ptx_resolve_range(warp, inst, lane, SPACE_CLUSTER, &copy->address,
                                    fth_ptx_box_shared_bytes(&copy->box.map), tensor->loads,
                                    &copy->block) &&
              check(copy, tensor, lane) &&
              (!bulk->reduces || set_reduction(copy, bulk->reduction.op, lane));
    uint64_t at = 0;
    if (ok && bulk->mbarrier != NO_REGISTER) {
        at = row(warp, bulk->mbarrier)[lane] + (uint64_t)bulk->mbarrier_offset;
        if (target >= 0)
            at = fth_ptx_address_in_block(warp, at, (unsigned)target);
        copy->mbarrier = fth_ptx_resolve_mbarrier(warp, inst, lane, at);
        ok = copy->copy.signals = copy->mbarrier != NULL;
    }
    ok = ok && access_rows(copy) &&
         (!copy->mbarrier || fth_ptx_notify_mbarrier(warp, at, copy->mbarrier, true));
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
    inst->async = tensor->loads ? ASYNC_COUNTED : ASYNC_BULK;
    inst->unit = FTH_UNIT_COPY_ENGINE;
    inst->cache_op = FTH_CACHE_CG; /* copies pass the L1 */
    return fth_ptx_check_operand_count(parser, statement, next) &&
           fth_ptx_set_detail(parser, statement, 0, &bulk->detail, inst);
}
