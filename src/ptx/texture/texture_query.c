/* Queries of textures and surfaces: txq, suq and istypep. The numbers for formats, modes and
 * filters are those of the PTX ISA, which takes them from OpenCL. */
#include "ptx/texture/texture.h"

enum query {
    WIDTH,
    HEIGHT,
    DEPTH,
    ARRAY_SIZE,
    CHANNEL_DATA_TYPE,
    CHANNEL_ORDER,
    NORMALIZED_COORDS,
    FILTER_MODE,
    ADDR_MODE_0,
    ADDR_MODE_1,
    ADDR_MODE_2,
    MIPMAP_LEVELS,
    SAMPLES,
    MEMORY_LAYOUT
};

static const char *const words[] = {"width",
                                    "height",
                                    "depth",
                                    "array_size",
                                    "channel_data_type",
                                    "channel_order",
                                    "normalized_coords",
                                    "filter_mode",
                                    "addr_mode_0",
                                    "addr_mode_1",
                                    "addr_mode_2",
                                    "num_mipmap_levels",
                                    "num_samples",
                                    "memory_layout"};

static uint32_t answer(const struct fth_ptx_texture *texture, enum query query)
{
    /* CL_UNSIGNED_INT32 and so on, by enum fth_ptx_texel. */
    static const uint16_t types[] = {0x10dc, 0x10d9, 0x10de, 0x10da,
                                     0x10d7, 0x10db, 0x10d8, 0x10dd};
    /* CL_UNORM_INT8 and so on, from FTH_TEXEL_U8 on, for integers that are read as floats. */
    static const uint16_t normalized_types[] = {0x10d2, 0x10d0, 0x10d3, 0x10d1};
    /* wrap, clamp_to_edge, mirror and clamp_to_border, by enum fth_ptx_address_mode. */
    static const uint8_t modes[] = {0, 3, 1, 4};
    const struct fth_ptx_image *image = &texture->image;
    const struct fth_ptx_sampling *sampling = &texture->sampling;
    const bool cube = image->geometry >= FTH_GEOMETRY_CUBE;
    const bool layered = image->geometry == FTH_GEOMETRY_A1D || image->geometry == FTH_GEOMETRY_A2D;
    switch (query) {
    case WIDTH: return (uint32_t)image->width;
    case HEIGHT: return (uint32_t)image->height;
    case DEPTH: return image->geometry == FTH_GEOMETRY_3D ? (uint32_t)image->depth : 1;
    case ARRAY_SIZE:
        return cube ? (uint32_t)image->depth / 6 : layered ? (uint32_t)image->depth : 1;
    case CHANNEL_DATA_TYPE:
        return sampling->reads_as_floats ? normalized_types[image->format - FTH_TEXEL_U8]
                                         : types[image->format];
    case CHANNEL_ORDER:
        return image->channels == 1   ? 0x10b0 /* R */
               : image->channels == 2 ? 0x10b2 /* RG */
                                      : 0x10b5 /* RGBA */;
    case NORMALIZED_COORDS: return sampling->is_normalized;
    case FILTER_MODE: return sampling->is_linear;
    case ADDR_MODE_0:
    case ADDR_MODE_1:
    case ADDR_MODE_2: return modes[sampling->address_modes[query - ADDR_MODE_0]];
    case MEMORY_LAYOUT: return 0; /* rows */
    default: return 1;            /* one level, one sample */
    }
}

static void run_query(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const bool is_surface = *inst->opcode == 's';
    const uint64_t *handles = row(warp, inst->s[0]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    for (uint32_t left = mask; left; left &= left - 1) {
        const int lane = first_lane(left);
        const struct fth_ptx_texture *texture =
            fth_ptx_find_texture(warp, inst, lane, handles[lane], is_surface);
        if (!texture)
            return;
        rd[lane] = answer(texture, (enum query)inst->mode);
    }
}

bool fth_ptx_family_query(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                          struct fth_ptx_inst *inst)
{
    const bool level = fth_ptx_take_word(statement, "level");
    const int query = fth_ptx_take_one_of(statement, words, FTH_COUNT(words));
    const int32_t *rows;
    if (query < 0 || !fth_ptx_take_word(statement, "b32") ||
        statement->next_word != statement->word_count)
        return fth_ptx_refuse(parser, statement);
    if (!fth_ptx_check_operand_count(parser, statement, level ? 3 : 2) ||
        !fth_ptx_take_registers(parser, statement, 0, 1, true, &rows) ||
        !fth_ptx_take_handle(parser, statement, 1, 0, &inst->s[0]))
        return false;
    if (*rows < 0)
        return fth_ptx_refuse_operand(parser, statement, 0, "a register");
    inst->d[0] = *rows;
    inst->mode = (uint8_t)query;
    inst->run = run_query;
    return true;
}

/* ---- istypep ---- */

enum { TEXTURE, SAMPLER, SURFACE };

static void run_istypep(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct fth_ptx_machine *machine = warp->block->run->machine;
    const uint64_t *handles = row(warp, inst->s[0]);
    uint32_t found = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        const int lane = first_lane(left);
        found |= (uint32_t)(fth_ptx_look_up_texture(machine, handles[lane],
                                                    inst->mode == SURFACE) != NULL)
                 << lane;
    }
    set_predicate(warp, inst->d[0], mask, found);
}

/* Parses "istypep.texref %p1, %rd1". A sampler is a texture (fth_ptx_bind). */
bool fth_ptx_family_istypep(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                            struct fth_ptx_inst *inst)
{
    static const char *const types[] = {"texref", "samplerref", "surfref"};
    const int type = fth_ptx_take_one_of(statement, types, FTH_COUNT(types));
    const int32_t *rows;
    if (type < 0 || statement->next_word != statement->word_count)
        return fth_ptx_refuse(parser, statement);
    if (!fth_ptx_check_operand_count(parser, statement, 2))
        return false;
    if (statement->operands[0].kind != OPERAND_PREDICATE || statement->operands[0].negated)
        return fth_ptx_refuse_operand(parser, statement, 0, "a predicate");
    if (!fth_ptx_take_registers(parser, statement, 1, 1, false, &rows))
        return false;
    inst->d[0] = (int32_t)statement->operands[0].predicate;
    inst->result_is_predicate = true;
    inst->s[0] = *rows;
    inst->mode = (uint8_t)type;
    inst->run = run_istypep;
    return true;
}
