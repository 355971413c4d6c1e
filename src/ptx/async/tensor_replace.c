/* tensormap: instructions that change tensor maps in memory (PTX ISA, "tensormap.replace",
 * "tensormap.cp_fenceproxy"). Kernels that make their own maps start from 128 zero bytes in shared
 * memory, replace each field, and copy the map to global memory. */
#include "ptx/async/async.h"

#include "ptx/async/tensor_map.h"

/* The fields, in the order of the words below. */
static const struct {
    const char *word;
    enum fth_ptx_tensor_field field;
    bool indexed; /* an operand says which dimension */
} fields[] = {{"global_address", FTH_TENSOR_ADDRESS, false},
              {"rank", FTH_TENSOR_RANK, false},
              {"box_dim", FTH_TENSOR_BOX, true},
              {"global_dim", FTH_TENSOR_SIZE, true},
              {"global_stride", FTH_TENSOR_STRIDE, true},
              {"element_stride", FTH_TENSOR_ELEMENT_STRIDE, true},
              {"elemtype", FTH_TENSOR_TYPE, false},
              {"interleave_layout", FTH_TENSOR_INTERLEAVE, false},
              {"swizzle_mode", FTH_TENSOR_SWIZZLE, false},
              {"fill_mode", FTH_TENSOR_FILL, false}};

/* inst->mode is the index in fields[]; s[1] is the value, s[2] the dimension. */
static void run_replace(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint64_t *base = row(warp, inst->s[0]);
    for (uint32_t left = mask; left; left &= left - 1) {
        const int lane = first_lane(left);
        struct fth_error error = FTH_NO_ERROR;
        struct fth_ptx_block *block;
        uint64_t address = base[lane] + (uint64_t)inst->offset;
        uint8_t *host = fth_ptx_resolve_range(warp, inst, lane, inst->space, &address,
                                              FTH_TENSOR_MAP_BYTES, true, &block);
        if (!host)
            return;
        const bool wide = inst->type == T_B64;
        uint64_t value = row(warp, inst->s[1])[lane];
        value = wide ? value : (uint32_t)value;
        if (fields[inst->mode].field == FTH_TENSOR_RANK)
            value++; /* PTX counts from zero */
        const unsigned index =
            inst->s[2] == NO_REGISTER ? 0 : (unsigned)row(warp, inst->s[2])[lane];
        if (fth_ptx_tensor_map_replace(host, fields[inst->mode].field, index, value, &error) !=
            FTH_OK) {
            fth_ptx_warp_fault(warp, inst, lane, "%s", error.cause);
            return;
        }
        if (!fth_ptx_notify_range(warp, inst, block, address, FTH_TENSOR_MAP_BYTES,
                                  FTH_ACCESS_WRITE))
            return;
    }
}

/* Copies a map from shared to global memory. All lanes execute it; they have the same addresses. */
static void run_copy(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const int lane = first_lane(mask);
    struct fth_ptx_block *to_block, *from_block;
    uint64_t to = row(warp, inst->s[0])[lane] + (uint64_t)inst->offset;
    uint64_t from = row(warp, inst->s[1])[lane] + (uint64_t)inst->offset2;
    const uint8_t *source = fth_ptx_resolve_range(warp, inst, lane, FTH_SPACE_SHARED, &from,
                                                  FTH_TENSOR_MAP_BYTES, false, &from_block);
    uint8_t *target = source ? fth_ptx_resolve_range(warp, inst, lane, FTH_SPACE_GLOBAL, &to,
                                                     FTH_TENSOR_MAP_BYTES, true, &to_block)
                             : NULL;
    if (target &&
        fth_ptx_notify_range(warp, inst, from_block, from, FTH_TENSOR_MAP_BYTES, FTH_ACCESS_READ) &&
        fth_ptx_notify_range(warp, inst, to_block, to, FTH_TENSOR_MAP_BYTES, FTH_ACCESS_WRITE))
        memcpy(target, source, FTH_TENSOR_MAP_BYTES);
}

/* ---- parsing ---- */

static bool parse_replace(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                          struct fth_ptx_inst *inst)
{
    size_t field = 0;
    if (!fth_ptx_take_word(statement, "tile"))
        return fth_ptx_refuse(parser, statement);
    while (field < FTH_COUNT(fields) && !fth_ptx_take_word(statement, fields[field].word))
        field++;
    if (field == FTH_COUNT(fields))
        return fth_ptx_refuse(parser, statement);
    (void)fth_ptx_take_space(statement, &inst->space);
    if (!fth_ptx_take_word(statement, "b1024"))
        return fth_ptx_refuse(parser, statement);
    inst->type = fth_ptx_take_word(statement, "b64") ? T_B64 : T_B32;
    if (inst->type == T_B32 && !fth_ptx_take_word(statement, "b32"))
        return fth_ptx_refuse(parser, statement);
    inst->mode = (uint8_t)field;
    inst->run = run_replace;
    const bool indexed = fields[field].indexed;
    return fth_ptx_check_operand_count(parser, statement, indexed ? 3 : 2) &&
           fth_ptx_take_address(parser, statement, 0, inst) &&
           (!indexed || fth_ptx_take_row(parser, statement, 1, &inst->s[2])) &&
           fth_ptx_take_row(parser, statement, indexed ? 2 : 1, &inst->s[1]);
}

bool fth_ptx_family_tensormap(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                              struct fth_ptx_inst *inst)
{
    static const char *const words[] = {"cp_fenceproxy", "global", "shared::cta",
                                        "tensormap::generic", "release"};
    static const char *const scopes[] = {"cta", "cluster", "gpu", "sys"};
    if (fth_ptx_take_word(statement, "replace"))
        return parse_replace(parser, statement, inst);
    for (size_t i = 0; i < FTH_COUNT(words); i++)
        if (!fth_ptx_take_word(statement, words[i]))
            return fth_ptx_refuse(parser, statement);
    if (fth_ptx_take_one_of(statement, scopes, FTH_COUNT(scopes)) < 0 ||
        !fth_ptx_take_word(statement, "sync") || !fth_ptx_take_word(statement, "aligned"))
        return fth_ptx_refuse(parser, statement);
    return fth_ptx_check_operand_count(parser, statement, 3) &&
           fth_ptx_take_place(parser, statement, 0, &inst->s[0], &inst->offset) &&
           fth_ptx_take_place(parser, statement, 1, &inst->s[1], &inst->offset2) &&
           fth_ptx_converge(parser, run_copy, inst);
}
