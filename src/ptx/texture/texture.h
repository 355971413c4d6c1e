/* ptx/texture/: textures and surfaces.
 *
 *   texture_object.c  creates textures and surfaces, and finds those of an instruction
 *   sampling.c        the texels that a coordinate stands for, and their values
 *   array_layout.c    where a GPU has the texels of a CUDA array
 *   cube.c            the faces of cubes
 *   filter.c          the weighted sum of texels
 *   texture_fetch.c   tex and tld4
 *   surface.c         suld, sust and sured
 *   texture_query.c   txq, suq and istypep */
#ifndef FTH_PTX_TEXTURE_H
#define FTH_PTX_TEXTURE_H

#include "ptx/execute/address.h"
#include "ptx/parse/operand.h"

struct fth_ptx_texture {
    bool is_used, is_surface;
    uint64_t handle;            /* its index plus 1, unless it was placed */
    struct fth_ptx_image image; /* with the default values filled in */
    struct fth_ptx_sampling sampling;
};

/* ---- texture_object.c ---- */

unsigned fth_ptx_texel_bytes(const struct fth_ptx_image *image);
/* Returns the texture or surface of a handle. The handle is the one that the API returned, or the
 * address of a .texref variable that contains it. NULL: the handle is neither. */
const struct fth_ptx_texture *fth_ptx_look_up_texture(const struct fth_ptx_machine *machine,
                                                      uint64_t handle, bool is_surface);
/* The same; reports a fault if it is none. */
const struct fth_ptx_texture *fth_ptx_find_texture(struct fth_ptx_warp *warp,
                                                   const struct fth_ptx_inst *inst, int lane,
                                                   uint64_t handle, bool is_surface);
/* Parses a geometry such as "2d" of an opcode. */
bool fth_ptx_take_geometry(struct fth_ptx_statement *statement, enum fth_ptx_geometry *geometry);
/* Returns the row of the handle in operand `index`: a register, or the address of a variable. */
bool fth_ptx_take_handle(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                         size_t index, size_t coordinates, int32_t *row);

/* ---- sampling.c ---- */

/* The texels of a coordinate: 1, 2, 4 or 8, each with its weight. */
enum { MAX_TAPS = FTH_PTX_MAX_TEXELS };
struct fth_ptx_taps {
    size_t count;
    uint64_t addresses[MAX_TAPS];
    uint64_t gpu_addresses[MAX_TAPS]; /* fth_ptx_texel_address */
    bool inside[MAX_TAPS];            /* otherwise, the texel has the color of the border */
    uint16_t weights[MAX_TAPS];       /* in 1/256 */
    bool used[MAX_TAPS];              /* the weight before rounding is not 0 */
    int corner; /* the index of a texel beyond a corner of a cube, which does not exist; or -1 */
};

/* The coordinates of one fetch. */
struct fth_ptx_position {
    unsigned axes;     /* 1 to 3 */
    bool is_integer;   /* the coordinates are indices of texels */
    double at[3];      /* x, y, z */
    int32_t offset[3]; /* in texels, added to the index */
    uint64_t layer;
    unsigned face; /* of a cube */
};

/* Finds the texels of a position. `all`: the four texels of an interpolation in two dimensions,
 * whatever the filter (tld4). */
void fth_ptx_find_taps(const struct fth_ptx_image *image, const struct fth_ptx_sampling *sampling,
                       const struct fth_ptx_position *position, bool all,
                       struct fth_ptx_taps *taps);
/* Reads a texel: four channels with 32 bits each, a float or an integer, as the format has it.
 * `host` is NULL outside of the texture. `border`: the color outside is that of the border,
 * otherwise 0. */
void fth_ptx_read_texel(const struct fth_ptx_image *image, const struct fth_ptx_sampling *sampling,
                        const uint8_t *host, bool border, uint32_t channels[4]);
/* Converts a channel of a texel to what a fetch without a filter returns. */
uint32_t fth_ptx_convert_channel(const struct fth_ptx_image *image,
                                 const struct fth_ptx_sampling *sampling, uint32_t channel);
/* True if fetches return floats. */
bool fth_ptx_returns_floats(const struct fth_ptx_image *image,
                            const struct fth_ptx_sampling *sampling);

/* ---- cube.c ---- */

/* Converts the coordinates of a cube to a face and coordinates in it, from 0 to 1. */
void fth_ptx_select_face(struct fth_ptx_position *position);
/* Moves the indices x and y and the image of a texel that is one step outside of a face to the
 * neighbouring face. Returns false if it is beyond a corner, where there is no texel; x is -1
 * then. */
bool fth_ptx_cross_edge(int64_t size, unsigned face, int64_t at[3]);

/* ---- filter.c ---- */

/* Returns the weighted sum of one channel of the texels, as the bits of a float. `texels`: that
 * channel of each tap, from fth_ptx_read_texel. */
uint32_t fth_ptx_filter(enum fth_ptx_texel format, const struct fth_ptx_taps *taps,
                        const uint32_t texels[MAX_TAPS]);

/* ---- families of instructions ---- */

fth_ptx_family fth_ptx_family_tex, fth_ptx_family_tld4, fth_ptx_family_query,
    fth_ptx_family_istypep, fth_ptx_family_surface;

#endif
