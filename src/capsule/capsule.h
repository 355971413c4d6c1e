/* capsule/ writes and reads capsules: files with the launches of a CUDA program, and with all that
 * is needed to repeat them elsewhere: PTX, parameters, and the contents of memory.
 *
 *   capsule_writer.c   creates a capsule, and completes one
 *   capsule_image.c    divides memory into chunks, and stores equal chunks once
 *   capsule_launch.c   encodes and decodes the parts
 *   capsule_texture.c  the textures and surfaces of a launch
 *   capsule_reader.c   opens a capsule, and reads it
 *   capsule_lists.c    the lists of chunks of images, in memory
 *   capsule_cache.c    keeps parts with chunks for reading
 *   capsule_table.c    finds contents by their digest
 *   capsule_complete.c adds PTX from the caches of compilers
 *   capsule_digest.c   the digest by which equal contents are recognised
 *
 * A capsule is a container (base/container/container.h) with these parts, in the order in which the
 * program caused them:
 *
 *   INFO     the program, its GPU, and how it was captured; always the first part
 *   TEXT     PTX, as it is; the first text has the number 1
 *   MODULE   a module, with the number of its PTX; the first module has the number 1
 *   CHUNKS   the contents of FTH_CHUNK_BYTES bytes of memory each; the first chunk of the file has
 *            the number 1; chunk 0 consists of zeros
 *   IMAGE    the contents of a region of memory, as a list of chunks; the first image has the
 *            number 1
 *   LAUNCH   a launch with its parameters, and the images of the memory before it
 *   AFTER    the images of the memory after a launch
 *   PTX      the number of PTX for a module that was found later, such as in the cache of a
 * compiler END      the number of modules, texts, chunks, images and launches; always the last
 * part. It is missing if the program was killed
 *
 * The parts of a launch precede it. A capsule whose program was killed has therefore complete
 * launches up to some point, and is read up to there.
 *
 * A capsule is untrusted input. The limits below hold for writers and readers. */
#ifndef FTH_CAPSULE_H
#define FTH_CAPSULE_H

#include "base/base.h"

/* The first eight bytes of a capsule. */
#define FTH_CAPSULE_MAGIC "fthcaps1"

/* The size of a chunk in bytes. The last chunk of an image can be shorter; it is filled up with
 * zeros. Chosen: small enough that a launch that writes a few values adds little to a capsule, and
 * large enough that the list of chunks of a GPU's memory is short. */
enum { FTH_CHUNK_BYTES = 64 << 10 };

/* Limits, chosen to be far above what programs need: regions, tensor maps and textures of a launch,
 * bytes of parameters (the limit of CUDA is 32,764), bytes of a region, bytes of PTX of a module.
 */
enum {
    FTH_CAPSULE_MAX_REGIONS = 65536,
    FTH_CAPSULE_MAX_TENSOR_MAPS = 256,
    FTH_CAPSULE_MAX_TEXTURES = 4096,
    FTH_CAPSULE_MAX_PARAMETER_BYTES = 65536
};
#define FTH_CAPSULE_MAX_REGION_BYTES ((uint64_t)1 << 40)
#define FTH_CAPSULE_MAX_PTX_BYTES ((size_t)256 << 20)

/* ---- capsule_digest.c ---- */

/* A digest of contents. It is made for speed, and does not protect against forgery. */
struct fth_digest {
    uint64_t words[2];
};
struct fth_digest fth_digest(const void *data, size_t size);

/* ---- what a capsule contains ---- */

struct fth_capsule_info {
    const char *command;     /* the words of the command line, separated by spaces */
    const char *gpu;         /* name of the GPU */
    uint32_t architecture;   /* ten times its compute capability, such as 90 */
    uint32_t driver_version; /* as cuDriverGetVersion returns it; 0: unknown */
    bool is_light;           /* without the contents of memory */
};

struct fth_capsule_module {
    const char *name; /* for messages: the file that it came from, or "" */
    /* The PTX. NULL: only machine code was loaded, and PTX was not found; `reason` says why. */
    const char *ptx;
    size_t ptx_bytes;
    const char *reason; /* NULL if there is PTX */
    /* Size and digest of the machine code (a cubin) that the program loaded, by which its PTX is
     * found in the cache of a compiler. 0: unknown. */
    uint64_t code_bytes;
    struct fth_digest code;
};

enum fth_capsule_memory {
    FTH_CAPSULE_DEVICE,
    FTH_CAPSULE_HOST, /* pinned or registered memory of the host */
    FTH_CAPSULE_MANAGED,
    FTH_CAPSULE_VARIABLE, /* a variable of the launch's module */
    FTH_CAPSULE_ARRAY     /* the texels of a CUDA array: rows one after the other, without gaps */
};

/* Arrays have no addresses in a program. A writer gives them addresses from here on, where GPUs and
 * processes have no memory, and below 2^49. */
#define FTH_CAPSULE_ARRAY_BASE 0xc00000000000u

/* Memory that a launch may access. */
struct fth_capsule_region {
    enum fth_capsule_memory kind;
    uint64_t address, bytes;
    const char *variable; /* its name in the PTX; NULL unless kind is FTH_CAPSULE_VARIABLE */
    uint32_t before;      /* number of the image before the launch; 0: it was not captured */
    uint32_t after;       /* and after it; 0: it was not captured */
};

/* The arguments of cuTensorMapEncodeTiled, or of cuTensorMapEncodeIm2col. The enumerations have the
 * values of CUDA's. */
struct fth_capsule_tensor_map {
    uint32_t region; /* index of the region that contains the map; UINT32_MAX: the parameters */
    uint64_t offset; /* of the 128 bytes of the map, in the region or in the parameters */
    bool is_im2col;
    uint32_t data_type, rank, interleave, swizzle, l2_promotion, fill;
    uint64_t address;
    uint64_t sizes[5], strides[4]; /* strides in bytes, of the dimensions 1 to rank - 1 */
    uint32_t box[5], element_strides[5];
    /* Of im2col; `rank` - 2 values each. */
    int32_t lower_corner[3], upper_corner[3];
    uint32_t channels_per_pixel, pixels_per_column;
};

/* What a texture or a surface reads (CUresourcetype). */
enum fth_capsule_resource {
    FTH_CAPSULE_RESOURCE_ARRAY = 0,
    FTH_CAPSULE_RESOURCE_LINEAR = 2, /* one-dimensional memory */
    FTH_CAPSULE_RESOURCE_PITCHED = 3 /* memory with an image */
};

/* A texture or a surface. The enumerations and flags have the values of CUDA's. */
struct fth_capsule_texture {
    uint64_t handle; /* by which kernels know it */
    bool is_surface;
    enum fth_capsule_resource resource;
    uint32_t region;               /* arrays: index of the region with the texels */
    uint64_t address;              /* others: address of the texels */
    uint32_t format, channels;     /* CUarray_format, and the number of channels of a texel */
    uint64_t width, height, depth; /* in texels, as the program stated them; 0: no such dimension */
    uint32_t array_flags;          /* arrays: CUDA_ARRAY3D_LAYERED and _CUBEMAP */
    uint64_t pitch_bytes;          /* pitched memory: from one row to the next */
    /* Of textures: CUaddress_mode, CUfilter_mode, CU_TRSF_*, and the bits of four floats. */
    uint32_t address_modes[3], filter, flags, border[4];
};

struct fth_capsule_launch {
    uint64_t number;    /* index among the launches of the program, from 0 */
    const char *kernel; /* its name in the PTX */
    uint32_t module;    /* its number; 0: unknown */
    uint32_t grid[3], block[3];
    uint32_t cluster[3];   /* all 0: as the kernel requires, or no clusters */
    uint64_t shared_bytes; /* dynamic */
    bool is_cooperative;
    const void *parameters; /* with the layout of the kernel's parameters */
    size_t parameter_bytes;
    const struct fth_capsule_region *regions;
    size_t region_count;
    const struct fth_capsule_tensor_map *tensor_maps;
    size_t tensor_map_count;
    const struct fth_capsule_texture *textures;
    size_t texture_count;
    /* Why the launch cannot be repeated, although its module has PTX; NULL: it can. */
    const char *reason;
    bool has_after; /* the images after the launch were captured */
};

/* ---- capsule_texture.c ---- */

/* Returns the size of a channel of this CUarray_format in bytes; 0: capsules cannot hold it. */
unsigned fth_capsule_channel_bytes(uint32_t format);
/* Computes the size in bytes of the array of a texture. Returns false if it exceeds 64 bits. */
bool fth_capsule_array_bytes(const struct fth_capsule_texture *texture, uint64_t *bytes);

/* ---- capsule_writer.c ---- */

/* Writes a capsule. One thread at a time may use it. A call that refuses its arguments
 * (FTH_INVALID) leaves the capsule as it is. After a call that could not write, all later ones fail
 * with the same error; what was written before can be read. A process that was forked may only call
 * fth_capsule_abandon. */
struct fth_capsule_writer;

/* Creates a capsule, and replaces an existing file. The file has its name from the start, so that
 * it can be read if the process is killed. It is locked (flock) until it is closed: FTH_IO if
 * another process is writing it. */
FTH_MUST_USE enum fth_status fth_capsule_create(const char *path,
                                                const struct fth_capsule_info *info,
                                                struct fth_capsule_writer **writer,
                                                struct fth_error *error);
/* Lets threads compress and write what is added (fth_container_use_threads). A failure to write is
 * then reported by a later call. */
void fth_capsule_use_threads(struct fth_capsule_writer *writer);
/* Opens a capsule to add parts. What follows its last complete part is removed; until
 * fth_capsule_finish, it is truncated. */
FTH_MUST_USE enum fth_status fth_capsule_append(const char *path,
                                                struct fth_capsule_writer **writer,
                                                struct fth_error *error);
FTH_MUST_USE enum fth_status fth_capsule_put_module(struct fth_capsule_writer *writer,
                                                    const struct fth_capsule_module *module,
                                                    uint32_t *number, struct fth_error *error);
/* Adds PTX for a module that has none. */
FTH_MUST_USE enum fth_status fth_capsule_put_ptx(struct fth_capsule_writer *writer, uint32_t module,
                                                 const char *ptx, size_t size,
                                                 struct fth_error *error);
/* Adds a launch; `after` and `has_after` are ignored. */
FTH_MUST_USE enum fth_status fth_capsule_put_launch(struct fth_capsule_writer *writer,
                                                    const struct fth_capsule_launch *launch,
                                                    struct fth_error *error);
/* Adds the images after a launch: images[i] belongs to the region with the index i. */
FTH_MUST_USE enum fth_status fth_capsule_put_after(struct fth_capsule_writer *writer,
                                                   uint64_t launch, const uint32_t *images,
                                                   size_t count, struct fth_error *error);
/* Returns whether more than `bytes` bytes are written. Seldom waits for the threads. */
bool fth_capsule_exceeds(const struct fth_capsule_writer *writer, uint64_t bytes);
/* Marks the capsule as complete, closes the file and frees the writer, also after a failure. */
FTH_MUST_USE enum fth_status fth_capsule_finish(struct fth_capsule_writer *writer,
                                                struct fth_error *error);
/* Closes the file as it is, and frees the writer; takes NULL. */
void fth_capsule_abandon(struct fth_capsule_writer *writer);

/* ---- capsule_image.c ---- */

/* Writes the image of a region: begin, then add its contents in order, then end. `previous` is an
 * image of the same region, whose chunks are not listed again where they are equal; 0: none. It can
 * be the previous one of only one image; of a second one, and if the sizes differ, all chunks are
 * listed. *number is `previous` if the contents are equal. An image that was begun but not ended is
 * dropped when the next one begins. */
FTH_MUST_USE enum fth_status fth_capsule_begin_image(struct fth_capsule_writer *writer,
                                                     uint32_t previous, uint64_t bytes,
                                                     struct fth_error *error);
FTH_MUST_USE enum fth_status fth_capsule_add_to_image(struct fth_capsule_writer *writer,
                                                      const void *data, size_t size,
                                                      struct fth_error *error);
/* Returns whether the previous image of the image that was begun can be kept in parts. */
bool fth_capsule_can_keep(const struct fth_capsule_writer *writer);
/* Instead of adding contents, states that the next `bytes` bytes are those of the previous image:
 * whole chunks, or up to the end. */
FTH_MUST_USE enum fth_status fth_capsule_keep_in_image(struct fth_capsule_writer *writer,
                                                       uint64_t bytes, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_capsule_end_image(struct fth_capsule_writer *writer,
                                                   uint32_t *number, struct fth_error *error);

/* ---- capsule_reader.c ---- */

struct fth_capsule;

/* fth_capsule_is is in fathom/capsules.h. */
FTH_MUST_USE enum fth_status fth_capsule_open(const char *path, struct fth_capsule **capsule,
                                              struct fth_error *error);
/* The same for a file that is open already. `fd` stays the caller's. `name` is used in messages. */
FTH_MUST_USE enum fth_status fth_capsule_attach(int fd, const char *name,
                                                struct fth_capsule **capsule,
                                                struct fth_error *error);
/* Takes NULL. */
void fth_capsule_close(struct fth_capsule *capsule);
/* What the functions return belongs to the capsule. */
const struct fth_capsule_info *fth_capsule_info(const struct fth_capsule *capsule);
/* Returns whether the program ended before it completed the capsule. */
bool fth_capsule_is_truncated(const struct fth_capsule *capsule);
uint32_t fth_capsule_module_count(const struct fth_capsule *capsule);
/* Returns the module with this number, from 1; NULL: there is none. Its `ptx` is always NULL
 * (fth_capsule_load_ptx reads it); it has PTX if its `reason` is NULL. */
const struct fth_capsule_module *fth_capsule_module(const struct fth_capsule *capsule,
                                                    uint32_t number);
/* Appends the PTX of a module to `ptx`. FTH_UNSUPPORTED: it has none; the error has the reason. */
FTH_MUST_USE enum fth_status fth_capsule_load_ptx(const struct fth_capsule *capsule,
                                                  uint32_t number, struct fth_buffer *ptx,
                                                  struct fth_error *error);
size_t fth_capsule_launch_count(const struct fth_capsule *capsule);
const struct fth_capsule_launch *fth_capsule_launch(const struct fth_capsule *capsule,
                                                    size_t index);
/* Returns the size of an image in bytes. */
uint64_t fth_capsule_image_bytes(const struct fth_capsule *capsule, uint32_t image);
/* Reads a part of an image. Several threads may call this function, and fth_capsule_load_ptx, at
 * the same time. */
FTH_MUST_USE enum fth_status fth_capsule_read_image(struct fth_capsule *capsule, uint32_t image,
                                                    uint64_t offset, uint64_t bytes, void *data,
                                                    struct fth_error *error);

#endif
