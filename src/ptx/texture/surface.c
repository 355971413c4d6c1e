/* Surfaces: suld loads, sust stores, and sured updates texels. The x coordinate is in bytes, as
 * with CUDA (".b"). Outside of the surface, .trap is a fault, .clamp accesses the nearest element,
 * and .zero loads zeros and stores nothing.
 *
 * The observer sees accesses to the global memory that holds the surface. With .zero, it sees
 * an access outside the surface as an access to the first element. */
#include "ptx/texture/texture.h"

enum kind { LOAD, STORE, REDUCE };
enum outside { TRAP, CLAMP, ZERO };

struct surface {
    struct fth_ptx_detail detail;
    enum fth_ptx_geometry geometry;
    uint8_t kind, outside, type, atomic;
    uint8_t vector; /* elements */
    int32_t handle;
    int32_t coordinates[3];
    const int32_t *values; /* rows of the elements */
};

/* ---- execution ---- */

/* Moves a coordinate into the range from 0 to max. Returns false if it is outside and the access
 * does not take place. */
static bool place(const struct surface *surface, int64_t *at, uint64_t max)
{
    const bool inside = *at >= 0 && (uint64_t)*at <= max;
    if (!inside && surface->outside != CLAMP)
        return false;
    if (!inside)
        *at = *at < 0 ? 0 : (int64_t)max;
    return true;
}

/* Finds the address of a lane's access, and that on a GPU. *inside is false if it is outside of the
 * surface. Returns false after a fault. */
static bool find_address(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                         unsigned bytes, uint64_t *address, uint64_t *gpu_address, bool *inside)
{
    const struct surface *surface = (const struct surface *)inst->detail;
    const struct fth_ptx_texture *object =
        fth_ptx_find_texture(warp, inst, lane, row(warp, surface->handle)[lane], true);
    if (!object)
        return false;
    const struct fth_ptx_image *image = &object->image;
    const bool cube = image->geometry >= FTH_GEOMETRY_CUBE; /* its faces are layers */
    if (surface->geometry != (cube ? FTH_GEOMETRY_A2D : image->geometry)) {
        fth_ptx_warp_fault(warp, inst, lane, "the surface has not the geometry of the instruction");
        return false;
    }
    const bool layered =
        surface->geometry == FTH_GEOMETRY_A1D || surface->geometry == FTH_GEOMETRY_A2D;
    int64_t at[3] = {0, 0, 0}; /* x, y, z; the layer counts as z */
    const unsigned axes =
        surface->geometry == FTH_GEOMETRY_3D                                            ? 3
        : surface->geometry == FTH_GEOMETRY_2D || surface->geometry == FTH_GEOMETRY_A2D ? 2
                                                                                        : 1;
    for (unsigned i = 0; i < axes; i++)
        at[i] = (int32_t)row(warp, surface->coordinates[layered + i])[lane];
    if (layered)
        at[2] = (int32_t)row(warp, surface->coordinates[0])[lane];
    const uint64_t row_bytes = image->width * fth_ptx_texel_bytes(image);
    if (at[0] % bytes || row_bytes < bytes) {
        fth_ptx_warp_fault(warp, inst, lane, "access of %u bytes at byte %lld of a row of %llu",
                           bytes, (long long)at[0], (unsigned long long)row_bytes);
        return false;
    }
    *inside = place(surface, &at[0], row_bytes - bytes) &&
              place(surface, &at[1], image->height - 1) && place(surface, &at[2], image->depth - 1);
    if (!*inside && surface->outside == TRAP) {
        fth_ptx_warp_fault(warp, inst, lane,
                           "byte %lld of row %lld of image %lld is outside of the surface",
                           (long long)at[0], (long long)at[1], (long long)at[2]);
        return false;
    }
    *address = *gpu_address = image->address;
    if (*inside) {
        *address += ((uint64_t)at[2] * image->height + (uint64_t)at[1]) * image->pitch_bytes +
                    (uint64_t)at[0];
        *gpu_address =
            fth_ptx_texel_address(image, (uint64_t)at[0], (uint64_t)at[1], (uint64_t)at[2]);
    }
    if (*address % bytes) { /* the surface, or its pitch, has a smaller alignment */
        fth_ptx_warp_fault(warp, inst, lane, "access of %u bytes at 0x%llx, which is not aligned",
                           bytes, (unsigned long long)*address);
        return false;
    }
    return true;
}

/* Executes the access of one lane. */
static void access(struct fth_ptx_warp *warp, const struct surface *surface, int lane,
                   uint8_t *host, unsigned size)
{
    for (unsigned e = 0; e < surface->vector; e++) {
        uint8_t *element = host + (size_t)e * size;
        if (surface->kind == STORE) {
            const uint64_t value = row(warp, surface->values[e])[lane];
            memcpy(element, &value, size);
        } else if (surface->kind == LOAD && surface->values[e] >= 0) {
            uint64_t value = 0;
            memcpy(&value, element, size);
            out_row(warp, surface->values[e])[lane] = value;
        } else if (surface->kind == REDUCE) {
            fth_ptx_update((enum fth_ptx_type)surface->type,
                           (enum fth_ptx_atomic_op)surface->atomic, element,
                           row(warp, surface->values[e])[lane], 0, true);
        }
    }
}

static void run_surface(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    static const enum fth_ptx_access_kind kinds[] = {FTH_ACCESS_READ, FTH_ACCESS_WRITE,
                                                     FTH_ACCESS_ATOMIC};
    const struct surface *surface = (const struct surface *)inst->detail;
    const unsigned size = fth_ptx_type_bytes((enum fth_ptx_type)surface->type);
    const unsigned bytes = size * surface->vector;
    struct fth_ptx_lane_group group = {.space = FTH_SPACE_GLOBAL, .block = warp->block};
    struct fth_ptx_texels texels;
    uint8_t zeros[16] = {0};
    texels.filter = 0;
    memset(texels.counts, 0, sizeof texels.counts);
    for (uint32_t left = mask; left; left &= left - 1) {
        const int lane = first_lane(left);
        bool inside;
        if (!find_address(warp, inst, lane, bytes, &group.addresses[lane],
                          &texels.addresses[lane][0], &inside))
            return;
        group.host[lane] = NULL;
        if (!inside)
            continue;
        group.host[lane] = fth_ptx_host(warp->block->run->machine, group.addresses[lane], bytes);
        if (!group.host[lane]) {
            fth_ptx_warp_fault(warp, inst, lane, "the memory of the surface has been freed");
            return;
        }
        group.mask |= 1u << lane;
        texels.counts[lane] = 1;
    }
    if (group.mask &&
        !fth_ptx_notify_texels(warp, inst, &group, bytes, kinds[surface->kind], &texels))
        return;
    for (uint32_t left = mask; left; left &= left - 1) {
        const int lane = first_lane(left);
        if (group.host[lane])
            access(warp, surface, lane, group.host[lane], size);
        else if (surface->kind == LOAD)
            access(warp, surface, lane, zeros, size);
    }
}

/* ---- parsing ---- */

/* Parses the words after "suld", "sust" or "sured". */
static bool parse_words(struct fth_ptx_statement *statement, struct surface *surface)
{
    static const char *const operations[] = {"add", "min", "max", "and", "or"};
    static const uint8_t atomics[] = {A_ADD, A_MIN, A_MAX, A_AND, A_OR};
    static const char *const caches[] = {"ca", "cg", "cs", "cv", "wb", "wt"};
    static const char *const bits[] = {"b8", "b16", "b32", "b64"};
    static const uint8_t bit_types[] = {T_B8, T_B16, T_B32, T_B64};
    static const char *const numbers[] = {"u32", "s32", "b32", "u64", "s64"};
    static const uint8_t number_types[] = {T_U32, T_S32, T_B32, T_U64, T_S64};
    static const char *const outsides[] = {"trap", "clamp", "zero"};
    const bool reduces = surface->kind == REDUCE;
    int index;
    if (!fth_ptx_take_word(statement, "b"))
        return false; /* .p, which converts formats */
    if (reduces) {
        index = fth_ptx_take_one_of(statement, operations, FTH_COUNT(operations));
        if (index < 0)
            return false;
        surface->atomic = atomics[index];
    }
    if (!fth_ptx_take_geometry(statement, &surface->geometry) ||
        surface->geometry >= FTH_GEOMETRY_CUBE)
        return false;
    if (!reduces)
        (void)fth_ptx_take_one_of(statement, caches, FTH_COUNT(caches));
    surface->vector = reduces                              ? 1
                      : fth_ptx_take_word(statement, "v2") ? 2
                      : fth_ptx_take_word(statement, "v4") ? 4
                                                           : 1;
    index = reduces ? fth_ptx_take_one_of(statement, numbers, FTH_COUNT(numbers))
                    : fth_ptx_take_one_of(statement, bits, FTH_COUNT(bits));
    if (index < 0)
        return false;
    surface->type = reduces ? number_types[index] : bit_types[index];
    index = fth_ptx_take_one_of(statement, outsides, FTH_COUNT(outsides));
    surface->outside = (uint8_t)index;
    return index >= 0 && statement->next_word == statement->word_count &&
           fth_ptx_type_bytes((enum fth_ptx_type)surface->type) * surface->vector <= 16;
}

bool fth_ptx_family_surface(struct fth_ptx_parser *parser, struct fth_ptx_statement *statement,
                            struct fth_ptx_inst *inst)
{
    static const uint8_t counts[] = {1, 2, 3, 2, 3}; /* coordinates, by enum fth_ptx_geometry */
    struct surface *surface = fth_arena_alloc(&parser->module->arena, sizeof *surface);
    if (!surface)
        return fth_ptx_lexer_no_memory(&parser->lexer);
    *surface = (struct surface){.kind = strcmp(statement->base, "suld") == 0   ? LOAD
                                        : strcmp(statement->base, "sust") == 0 ? STORE
                                                                               : REDUCE};
    if (!parse_words(statement, surface))
        return fth_ptx_refuse(parser, statement);
    const bool loads = surface->kind == LOAD;
    const size_t count = counts[surface->geometry], address = loads;
    if (!fth_ptx_check_operand_count(parser, statement, 2) ||
        !fth_ptx_take_registers(parser, statement, !loads, surface->vector, loads,
                                &surface->values) ||
        !fth_ptx_take_handle(parser, statement, address, count, &surface->handle))
        return false;
    for (size_t i = 0; i < count; i++) {
        surface->coordinates[i] = statement->operands[address].elements[i];
        if (surface->coordinates[i] == NO_REGISTER)
            return fth_ptx_refuse_operand(parser, statement, address, "a vector of coordinates");
    }
    inst->run = run_surface;
    inst->unit = FTH_UNIT_TEXTURE;
    return fth_ptx_set_detail(parser, statement, loads, &surface->detail, inst);
}
