/* Textures and surfaces of the PTX engine: how a caller creates them, and what an observer sees of
 * them. ptx.h includes this header. */
#ifndef FTH_PTX_TEXTURES_H
#define FTH_PTX_TEXTURES_H

#include "base/base.h"

struct fth_ptx_machine;

/* The format of a channel of a texel. */
enum fth_ptx_texel {
    FTH_TEXEL_U32,
    FTH_TEXEL_S32,
    FTH_TEXEL_F32,
    FTH_TEXEL_U8,
    FTH_TEXEL_S8,
    FTH_TEXEL_U16,
    FTH_TEXEL_S16,
    FTH_TEXEL_F16
};

/* The dimensions of a texture or surface, named as in PTX. A layer of A1D is a row, a layer of A2D
 * an image. A cube consists of six layers: the faces +x, -x, +y, -y, +z and -z. */
enum fth_ptx_geometry {
    FTH_GEOMETRY_1D,
    FTH_GEOMETRY_2D,
    FTH_GEOMETRY_3D,
    FTH_GEOMETRY_A1D,
    FTH_GEOMETRY_A2D,
    FTH_GEOMETRY_CUBE,
    FTH_GEOMETRY_ACUBE
};

/* Texels in device memory: rows one after the other, images (or layers) one after the other. */
struct fth_ptx_image {
    uint64_t address;
    enum fth_ptx_geometry geometry;
    enum fth_ptx_texel format;
    unsigned channels;      /* 1, 2 or 4 */
    uint64_t width, height; /* in texels; a height of 0 counts as 1 */
    uint64_t depth;         /* images of 3D; layers of the others, 6 for each cube; 0: 1 */
    uint64_t pitch_bytes;   /* from one row to the next; 0: the size of a row */
    bool is_linear_memory;  /* on a GPU: memory instead of a CUDA array, for integer coordinates */
    bool is_pitched_memory; /* on a GPU: rows in linear memory instead of a CUDA array */
};

/* What a coordinate outside of the texture stands for. WRAP and MIRROR count as CLAMP for
 * coordinates that are not normalised, as with CUDA. */
enum fth_ptx_address_mode {
    FTH_ADDRESS_WRAP,
    FTH_ADDRESS_CLAMP,
    FTH_ADDRESS_MIRROR,
    FTH_ADDRESS_BORDER
};

struct fth_ptx_sampling {
    enum fth_ptx_address_mode address_modes[3]; /* of x, y and z */
    bool is_linear;       /* interpolates between texels; otherwise, takes the nearest one */
    bool is_normalized;   /* coordinates from 0 to 1 stand for the whole texture */
    bool reads_as_floats; /* integers of 8 and 16 bits become floats from 0 or -1 to 1 */
    bool is_seamless;     /* cubes: interpolates across edges, and ignores the address modes */
    float border[4];      /* the color outside, with FTH_ADDRESS_BORDER */
};

/* Checks a texture (`sampling` not NULL) or a surface, without its address. *bytes: how many bytes
 * of memory its texels take. */
FTH_MUST_USE enum fth_status fth_ptx_texture_check(const struct fth_ptx_image *image,
                                                   const struct fth_ptx_sampling *sampling,
                                                   uint64_t *bytes, struct fth_error *error);
/* Create a texture and a surface on device memory, which must contain all texels and outlive them.
 * Kernels take the handle as a 64-bit argument. */
FTH_MUST_USE enum fth_status fth_ptx_texture_create(struct fth_ptx_machine *machine,
                                                    const struct fth_ptx_image *image,
                                                    const struct fth_ptx_sampling *sampling,
                                                    uint64_t *handle, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_ptx_surface_create(struct fth_ptx_machine *machine,
                                                    const struct fth_ptx_image *image,
                                                    uint64_t *handle, struct fth_error *error);
/* Creates a texture or, if `sampling` is NULL, a surface with the handle that it had elsewhere. A
 * texture and a surface can have the same handle. Other functions can give the handle to a second
 * object, so a machine should have only objects that were placed, or none of them. */
FTH_MUST_USE enum fth_status fth_ptx_texture_place(struct fth_ptx_machine *machine,
                                                   const struct fth_ptx_image *image,
                                                   const struct fth_ptx_sampling *sampling,
                                                   uint64_t handle, struct fth_error *error);
/* Creates a one-dimensional texture for integer coordinates. */
FTH_MUST_USE enum fth_status fth_ptx_texture(struct fth_ptx_machine *machine, uint64_t address,
                                             uint64_t texels, enum fth_ptx_texel texel_format,
                                             unsigned channels, uint64_t *handle,
                                             struct fth_error *error);
/* Frees the texture or surface with this handle. A later one can get the same handle. */
void fth_ptx_texture_free(struct fth_ptx_machine *machine, uint64_t handle);
/* Binds a .texref, .surfref or .samplerref variable of the module to a texture or surface. A
 * .samplerref takes the sampling of the texture that it is bound to. */
FTH_MUST_USE enum fth_status fth_ptx_bind(struct fth_ptx_machine *machine, const char *variable,
                                          uint64_t handle, struct fth_error *error);

/* ---- what an observer sees (texture/array_layout.c) ---- */

/* Maximum number of texels of a fetch: those of an interpolation in three dimensions. */
enum { FTH_PTX_MAX_TEXELS = 8 };

/* The texels that an instruction on a texture or surface accesses, at the addresses at which a GPU
 * has them. Texels outside of the texture are left out. */
struct fth_ptx_texels {
    /* Texels that the filter takes, with or without weight: 1, 2, 4 or 8. 0: no filter, because the
     * coordinates are integers or the instruction is on a surface. */
    uint8_t filter;
    uint8_t counts[32]; /* by lane; 0: the lane accesses no texel */
    uint64_t addresses[32][FTH_PTX_MAX_TEXELS];
};

/* Returns the address at which a GPU has byte `x` of row `y` of image or layer `z`. Texels in
 * linear memory have the address that the engine gives them. The texels of a CUDA array are in the
 * order of its blocks, at addresses from 2^57 on. Missing sizes of the image must have been filled
 * in. */
uint64_t fth_ptx_texel_address(const struct fth_ptx_image *image, uint64_t x, uint64_t y,
                               uint64_t z);

#endif
