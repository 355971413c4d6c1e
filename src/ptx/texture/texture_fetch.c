/* Texture fetches: tex returns the value at a position, tld4 one channel of the four texels around
 * it. A texture has one level, so that the level of detail and the gradients have no effect.
 *
 * The observer sees a read of each texel. It sees a texel outside of the texture as a read of the
 * first one, and gets one texel size for all lanes: that of the last active lane's texture. */
#include "ptx/texture/texture.h"

struct fetch {
    struct fth_ptx_detail detail;
    enum fth_ptx_geometry geometry;
    uint8_t type; /* of the results: T_U32, T_S32, T_F32, T_F16 or T_F16X2 */
    bool is_integer;
    int8_t component; /* tld4: the channel; -1: tex */
    int32_t handle, sampler;
    int32_t coordinates[4];
    int32_t offsets[3];
    int32_t results[4]; /* 2 with T_F16X2 */
};

/* ---- execution ---- */

/* Returns the number of coordinates in an operand, with the index of the layer. */
static size_t coordinate_count(enum fth_ptx_geometry geometry)
{
    static const uint8_t counts[] = {1, 2, 3, 2, 3, 3, 4}; /* by enum fth_ptx_geometry */
    return counts[geometry];
}

static struct fth_ptx_position read_position(const struct fth_ptx_warp *warp,
                                             const struct fetch *fetch, int lane)
{
    const enum fth_ptx_geometry geometry = fetch->geometry;
    const bool layered = geometry == FTH_GEOMETRY_A1D || geometry == FTH_GEOMETRY_A2D ||
                         geometry == FTH_GEOMETRY_ACUBE;
    struct fth_ptx_position position = {.is_integer = fetch->is_integer};
    if (layered)
        position.layer = (uint32_t)row(warp, fetch->coordinates[0])[lane];
    position.axes = (unsigned)coordinate_count(geometry) - layered;
    for (unsigned i = 0; i < position.axes; i++) {
        const uint64_t bits = row(warp, fetch->coordinates[layered + i])[lane];
        position.at[i] = fetch->is_integer ? (double)(int32_t)bits : (double)as_float(bits);
        if (fetch->offsets[i] != NO_REGISTER)
            position.offset[i] = (int32_t)row(warp, fetch->offsets[i])[lane];
    }
    if (geometry == FTH_GEOMETRY_CUBE || geometry == FTH_GEOMETRY_ACUBE)
        fth_ptx_select_face(&position);
    return position;
}

/* Returns what tld4 finds beyond a corner of a cube: the mean of the other three texels. */
static uint32_t corner_texel(const struct fth_ptx_image *image, const struct fth_ptx_taps *taps,
                             const uint32_t texels[MAX_TAPS])
{
    struct fth_ptx_taps mean = {.count = taps->count};
    for (unsigned t = 0; t < taps->count; t++) {
        mean.used[t] = (int)t != taps->corner;
        mean.weights[t] = !mean.used[t] ? 0 : (int)(t ^ 3) == taps->corner ? 86 : 85;
    }
    return fth_ptx_filter(image->format, &mean, texels);
}

/* Computes the result of a lane from its texels: four channels with 32 bits each. Returns false
 * after a fault. */
static bool combine(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                    const struct fth_ptx_texture *texture, const struct fth_ptx_sampling *sampling,
                    const struct fth_ptx_taps *taps, uint32_t result[4])
{
    const struct fetch *fetch = (const struct fetch *)inst->detail;
    const struct fth_ptx_image *image = &texture->image;
    /* tld4 returns the texels counter-clockwise, from the one with the lowest x and highest y. */
    static const uint8_t order[] = {3, 2, 0, 1};
    uint32_t texels[4][MAX_TAPS]; /* by channel */
    for (size_t t = 0; t < taps->count; t++) {
        uint32_t channels[4];
        const uint8_t *host = NULL;
        if (taps->inside[t]) {
            host = fth_ptx_resolve_global(warp, inst, lane, taps->addresses[t],
                                          fth_ptx_texel_bytes(image));
            if (!host)
                return false;
        }
        fth_ptx_read_texel(image, sampling, host, !fetch->is_integer, channels);
        for (unsigned c = 0; c < 4; c++)
            texels[c][t] = channels[c];
    }
    for (unsigned c = 0; c < 4; c++)
        if (fetch->component >= 0 && (int)c == taps->corner)
            result[order[c]] = corner_texel(image, taps, texels[fetch->component]);
        else if (fetch->component >= 0)
            result[order[c]] =
                fth_ptx_convert_channel(image, sampling, texels[fetch->component][c]);
        else
            result[c] = taps->count == 1 ? fth_ptx_convert_channel(image, sampling, texels[c][0])
                                         : fth_ptx_filter(image->format, taps, texels[c]);
    return true;
}

/* Returns the result c of a lane in the type of the instruction. */
static uint64_t convert(const struct fetch *fetch, const uint32_t values[4], unsigned c)
{
    if (fetch->type == T_F16)
        return fth_ptx_half_from_double((double)as_float(values[c]), R_RN);
    if (fetch->type != T_F16X2)
        return values[c];
    const uint32_t low = fth_ptx_half_from_double((double)as_float(values[(size_t)2 * c]), R_RN);
    return low |
           (uint32_t)fth_ptx_half_from_double((double)as_float(values[(size_t)2 * c + 1]), R_RN)
               << 16;
}

/* Collects the texels of all lanes that are inside of their texture. A filter does not read texels
 * without weight; tld4 (`all`) reads them. */
static void find_texels(uint32_t mask, const struct fth_ptx_taps taps[LANES], bool all,
                        struct fth_ptx_texels *texels)
{
    for (size_t lane = 0; lane < LANES; lane++) {
        texels->counts[lane] = 0;
        for (size_t t = 0; mask >> lane & 1 && t < taps[lane].count; t++)
            if (taps[lane].inside[t] && (all || taps[lane].used[t]))
                texels->addresses[lane][texels->counts[lane]++] = taps[lane].gpu_addresses[t];
    }
}

static bool notify_taps(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask,
                        const struct fth_ptx_taps taps[LANES], unsigned bytes)
{
    struct fth_ptx_lane_group group = {.space = FTH_SPACE_TEXTURE, .block = warp->block};
    struct fth_ptx_texels texels;
    if (!warp->block->run->sees_accesses)
        return true;
    const struct fetch *fetch = (const struct fetch *)inst->detail;
    find_texels(mask, taps, fetch->component >= 0, &texels);
    texels.filter = fetch->is_integer ? 0 : (uint8_t)taps[first_lane(mask)].count;
    for (size_t t = 0; t < MAX_TAPS; t++) {
        group.mask = 0;
        FOR_LANES(mask, {
            if (t < taps[lane].count) {
                group.mask |= 1u << lane;
                group.addresses[lane] = taps[lane].addresses[t];
            }
        });
        if (group.mask && !fth_ptx_notify_texels(warp, inst, &group, bytes, FTH_ACCESS_READ,
                                                 t == 0 ? &texels : NULL))
            return false;
    }
    return true;
}

static void run_fetch(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const struct fetch *fetch = (const struct fetch *)inst->detail;
    struct fth_ptx_taps taps[LANES];
    uint32_t fetched[LANES][4];
    unsigned bytes = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        const int lane = first_lane(left);
        const struct fth_ptx_texture *texture =
            fth_ptx_find_texture(warp, inst, lane, row(warp, fetch->handle)[lane], false);
        const struct fth_ptx_texture *sampler =
            !texture || fetch->sampler == NO_REGISTER
                ? texture
                : fth_ptx_find_texture(warp, inst, lane, row(warp, fetch->sampler)[lane], false);
        if (!sampler)
            return;
        if (texture->image.geometry != fetch->geometry) {
            fth_ptx_warp_fault(warp, inst, lane,
                               "the texture has not the geometry of the instruction");
            return;
        }
        /* The format of the texture decides what a fetch returns. */
        struct fth_ptx_sampling sampling = sampler->sampling;
        sampling.reads_as_floats = texture->sampling.reads_as_floats;
        sampling.is_linear =
            sampling.is_linear && fth_ptx_returns_floats(&texture->image, &sampling);
        const bool cube =
            fetch->geometry == FTH_GEOMETRY_CUBE || fetch->geometry == FTH_GEOMETRY_ACUBE;
        sampling.is_normalized = sampling.is_normalized || cube;
        sampling.is_seamless = sampling.is_seamless && cube;
        const struct fth_ptx_position position = read_position(warp, fetch, lane);
        fth_ptx_find_taps(&texture->image, &sampling, &position, fetch->component >= 0,
                          &taps[lane]);
        bytes = fth_ptx_texel_bytes(&texture->image);
        if (!combine(warp, inst, lane, texture, &sampling, &taps[lane], fetched[lane]))
            return;
    }
    if (!notify_taps(warp, inst, mask, taps, bytes))
        return;
    for (unsigned c = 0; c < 4; c++)
        if (fetch->results[c] >= 0) { /* not "_" */
            uint64_t *rd = out_row(warp, fetch->results[c]);
            FOR_LANES(mask, rd[lane] = convert(fetch, fetched[lane], c););
        }
    if (inst->predicate2 != UINT32_MAX) /* all texels are resident */
        set_predicate(warp, (int32_t)inst->predicate2, mask, mask);
}

/* ---- parsing ---- */

/* Parses ".v4.f32.s32": the results and the type of the coordinates. */
static bool parse_types(struct fth_ptx_statement *statement, struct fetch *fetch, size_t *results)
{
    static const struct {
        const char *word;
        uint8_t type, results;
    } types[] = {{"u32", T_U32, 4},
                 {"s32", T_S32, 4},
                 {"f32", T_F32, 4},
                 {"f16", T_F16, 4},
                 {"f16x2", T_F16X2, 2}};
    *results = fth_ptx_take_word(statement, "v2") ? 2 : 4;
    if (*results == 4 && !fth_ptx_take_word(statement, "v4"))
        return false;
    for (size_t i = 0; i < FTH_COUNT(types) && !fetch->type; i++)
        if (types[i].results == *results && fth_ptx_take_word(statement, types[i].word))
            fetch->type = types[i].type;
    fetch->is_integer = fth_ptx_take_word(statement, "s32");
    return fetch->type && (fetch->is_integer || fth_ptx_take_word(statement, "f32")) &&
           statement->next_word == statement->word_count;
}

/* Parses the operands: results, texture with coordinates, `skipped` operands that have no effect,
 * and an offset in texels. */
static bool parse_operands(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                           size_t results, size_t skipped, struct fetch *fetch,
                           struct fth_ptx_inst *inst)
{
    const size_t count = coordinate_count(fetch->geometry);
    const int32_t *rows;
    if (statement->operand_count != 2 + skipped && statement->operand_count != 3 + skipped)
        return fth_ptx_check_operand_count(parser, statement, 2 + skipped);
    if (!fth_ptx_take_registers(parser, statement, 0, results, true, &rows) ||
        !fth_ptx_take_handle(parser, statement, 1, count, &fetch->handle))
        return false;
    for (size_t i = 0; i < 4; i++)
        fetch->results[i] = i < results ? rows[i] : NO_REGISTER;
    const struct fth_ptx_operand *address = &statement->operands[1];
    fetch->sampler = address->has_sampler ? address->sampler : NO_REGISTER;
    for (size_t i = 0; i < count; i++) {
        fetch->coordinates[i] = address->elements[i];
        if (address->elements[i] == NO_REGISTER)
            return fth_ptx_refuse_operand(parser, statement, 1, "a vector of coordinates");
    }
    for (size_t i = 0; i < FTH_COUNT(fetch->offsets); i++)
        fetch->offsets[i] = NO_REGISTER;
    if (statement->operand_count == 3 + skipped) {
        const struct fth_ptx_operand *offset = &statement->operands[2 + skipped];
        const bool layered =
            fetch->geometry == FTH_GEOMETRY_A1D || fetch->geometry == FTH_GEOMETRY_A2D;
        const size_t axes = count - layered;
        const size_t given = offset->kind == OPERAND_VECTOR ? offset->element_count : 1;
        if (fetch->geometry >= FTH_GEOMETRY_CUBE || given < axes)
            return fth_ptx_refuse(parser, statement); /* a comparison of depths */
        if (!fth_ptx_take_registers(parser, statement, 2 + skipped, given, false, &rows))
            return false;
        for (size_t i = 0; i < axes; i++)
            fetch->offsets[i] = rows[i];
    }
    inst->predicate2 = statement->operands[0].predicate2;
    inst->run = run_fetch;
    inst->unit = FTH_UNIT_TEXTURE;
    inst->s[0] = fetch->sampler;
    return fth_ptx_set_detail(parser, statement, 1, &fetch->detail, inst);
}

bool fth_ptx_family_tex(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                        struct fth_ptx_inst *inst)
{
    struct fetch *fetch = fth_arena_alloc(&parser->module->arena, sizeof *fetch);
    size_t results;
    if (!fetch)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    *fetch = (struct fetch){.component = -1};
    static const char *const modes[] = {"base", "level", "grad"};
    const int mode = fth_ptx_take_one_of(statement, modes, FTH_COUNT(modes));
    if (!fth_ptx_take_geometry(statement, &fetch->geometry) ||
        !parse_types(statement, fetch, &results))
        return fth_ptx_refuse(parser, statement);
    return parse_operands(parser, statement, results, mode < 0 ? 0 : (size_t)mode, fetch, inst);
}

bool fth_ptx_family_tld4(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                         struct fth_ptx_inst *inst)
{
    struct fetch *fetch = fth_arena_alloc(&parser->module->arena, sizeof *fetch);
    size_t results;
    if (!fetch)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    static const char *const components[] = {"r", "g", "b", "a"};
    *fetch = (struct fetch){.component = (int8_t)fth_ptx_take_one_of(statement, components, 4)};
    if (fetch->component < 0 || !fth_ptx_take_geometry(statement, &fetch->geometry) ||
        !parse_types(statement, fetch, &results))
        return fth_ptx_refuse(parser, statement);
    const bool flat = fetch->geometry == FTH_GEOMETRY_2D || fetch->geometry == FTH_GEOMETRY_A2D ||
                      fetch->geometry >= FTH_GEOMETRY_CUBE;
    if (!flat || fetch->is_integer || results != 4)
        return fth_ptx_refuse(parser, statement);
    return parse_operands(parser, statement, results, 0, fetch, inst);
}
