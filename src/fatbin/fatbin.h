/* fatbin/: reads CUDA code out of files: fat binaries, which 'nvcc --fatbin' writes, host programs,
 * libraries and object files that contain fat binaries, and cubins (docs/programs/fat-binaries.md).
 *
 *   fatbin_open.c    recognises an image and reads its parts; containers in memory
 *   fatbin_entry.c   the containers and entries of a fat binary
 *   fatbin_choose.c  architectures, and the PTX for a given GPU
 *   fatbin_unpack.c  the contents of an entry, unpacked with zstd or LZ4
 *   lz4_block.c      the LZ4 block format
 *   elf.c            sections of ELF files, and the kernels of a cubin
 *
 * All input is untrusted. Every size is checked against the image before it is used, and an error
 * names the offset in the image.
 */
#ifndef FTH_FATBIN_H
#define FTH_FATBIN_H

#include "base/base.h"

/* ---- little-endian numbers at any address ---- */

static inline uint16_t fth_load_u16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}
static inline uint32_t fth_load_u32(const uint8_t *bytes)
{
    return fth_load_u16(bytes) | (uint32_t)fth_load_u16(bytes + 2) << 16;
}
static inline uint64_t fth_load_u64(const uint8_t *bytes)
{
    return fth_load_u32(bytes) | (uint64_t)fth_load_u32(bytes + 4) << 32;
}

/* ---- lz4_block.c ---- */

/* Decodes an LZ4 block to exactly `out_size` bytes. Returns false if the block is damaged, or if it
 * does not have this size; `out` then has undefined contents. */
bool fth_lz4_decode(const uint8_t *block, size_t size, uint8_t *out, size_t out_size);

/* ---- elf.c ---- */

/* An ELF file in memory: 64 bits, little-endian, of any machine. */
struct fth_elf {
    const char *name;        /* for messages; borrowed */
    const uint8_t *data;     /* borrowed */
    size_t size;             /* of the file in bytes */
    unsigned machine;        /* of the ELF header */
    const uint8_t *sections; /* the section headers */
    size_t section_count;    /* 0: the file has none */
    size_t names;            /* index of the section with the names of the sections */
};

struct fth_elf_section {
    const uint8_t *data; /* NULL: the section has no contents in the file (.bss) */
    size_t size;
};

/* The value of `machine` for cubins. */
enum { FTH_ELF_CUDA = 190 };

/* Reads the headers. `data` and `name` must outlive the result, which needs no release. */
FTH_MUST_USE enum fth_status fth_elf_open(const char *name, const void *data, size_t size,
                                          struct fth_elf *elf, struct fth_error *error);
/* Finds the first section of this name. FTH_NOT_FOUND: there is none; `error` is then not filled.
 */
FTH_MUST_USE enum fth_status fth_elf_find(const struct fth_elf *elf, const char *name,
                                          struct fth_elf_section *section, struct fth_error *error);
/* Appends the names of the kernels in the symbol table of a cubin, each followed by a NUL, in the
 * order of the table. */
FTH_MUST_USE enum fth_status fth_elf_kernels(const struct fth_elf *elf, struct fth_buffer *names,
                                             struct fth_error *error);

/* ---- fatbin_open.c ---- */

/* What an entry contains. */
enum fth_fatbin_kind {
    FTH_FATBIN_PTX,
    FTH_FATBIN_CUBIN, /* machine code, in an ELF file */
    FTH_FATBIN_OTHER  /* such as code for optimisation at link time */
};

enum fth_fatbin_packing {
    FTH_PACKING_NONE,
    FTH_PACKING_LZ4,
    FTH_PACKING_ZSTD,
    FTH_PACKING_UNKNOWN
};

/* The architecture that code is made for: compute_90a is {90, 'a'}. */
struct fth_fatbin_target {
    uint32_t number; /* ten times the compute capability */
    char suffix;     /* 'a': only this architecture; 'f': its family; '\0': also later ones */
};

struct fth_fatbin_entry {
    enum fth_fatbin_kind kind;
    enum fth_fatbin_packing packing;
    struct fth_fatbin_target target;
    size_t container; /* index of the container; one is made from one translation unit */
    size_t offset;    /* of the entry in the image, for messages */
    const uint8_t *payload;
    size_t payload_bytes;  /* as stored, without padding if it is packed */
    size_t unpacked_bytes; /* of a plain entry: payload_bytes */
    const char *name;      /* of the source file, not terminated; NULL: it is not stated */
    size_t name_bytes;
};

/* The entries of an image, in the order of the image. They point into it. */
struct fth_fatbin {
    const char *name; /* of the file, for messages; borrowed */
    struct fth_fatbin_entry *entries;
    size_t count, capacity;
    size_t container_count;
};

/* Returns whether the data begins as an image that fth_fatbin_open reads: a fat binary or an ELF
 * file. */
bool fth_fatbin_is_image(const void *data, size_t size);
/* Lists the entries of an image: a fat binary, or an ELF file with fat binaries in the sections
 * .nv_fatbin and __nv_relfatbin. A cubin gives one entry. `data` and `name` must outlive the
 * result, which the caller releases with fth_fatbin_fini; after a failure there is nothing to
 * release. FTH_INVALID: the image is damaged, or an ELF file without CUDA code. */
FTH_MUST_USE enum fth_status fth_fatbin_open(const char *name, const void *data, size_t size,
                                             struct fth_fatbin *fatbin, struct fth_error *error);
/* Like fth_fatbin_open, for one container in the memory of this process, whose size only its own
 * header states. Programs pass such containers to the CUDA runtime. The memory must be as large as
 * the header says. */
FTH_MUST_USE enum fth_status fth_fatbin_open_memory(const char *name, const void *container,
                                                    struct fth_fatbin *fatbin,
                                                    struct fth_error *error);
void fth_fatbin_fini(struct fth_fatbin *fatbin);

/* ---- fatbin_entry.c ---- */

/* The header of a container. */
enum { FTH_FATBIN_HEADER_BYTES = 16 };

/* Reads the header of a container at `data`. *size is the size of the container with its header,
 * which may exceed `available`. `offset` is that in the image, for messages. */
FTH_MUST_USE enum fth_status fth_fatbin_container_size(const struct fth_fatbin *fatbin,
                                                       const uint8_t *data, size_t available,
                                                       size_t offset, uint64_t *size,
                                                       struct fth_error *error);
/* Adds the entries of all containers in a part of an image, which begins at `offset`. Zeros may
 * precede and follow a container. */
FTH_MUST_USE enum fth_status fth_fatbin_add(struct fth_fatbin *fatbin, const uint8_t *data,
                                            size_t size, size_t offset, struct fth_error *error);
/* Appends an entry. */
FTH_MUST_USE enum fth_status fth_fatbin_append(struct fth_fatbin *fatbin,
                                               const struct fth_fatbin_entry *entry,
                                               struct fth_error *error);

/* ---- fatbin_choose.c ---- */

/* Writes "compute_90a" for PTX and "sm_90a" for machine code. Returns `text`. */
const char *fth_fatbin_target_format(const struct fth_fatbin_entry *entry, char *text, size_t size);
/* Returns the PTX of a container that a GPU of architecture `number` would execute: the one with
 * the highest architecture not above it. PTX with the suffix 'a' needs exactly this architecture,
 * PTX with 'f' one of the same compute capability before the point. For one architecture, 'a' is
 * preferred to 'f', and 'f' to no suffix. NULL: there is none. */
const struct fth_fatbin_entry *fth_fatbin_choose(const struct fth_fatbin *fatbin, size_t container,
                                                 uint32_t number);
/* Returns the PTX of a container with the lowest architecture. NULL: it has no PTX. */
const struct fth_fatbin_entry *fth_fatbin_lowest(const struct fth_fatbin *fatbin, size_t container);

/* ---- fatbin_unpack.c ---- */

/* Maximum size in bytes of the contents of an entry. Chosen: the limit of PTX files (ptx/ptx.h). */
#define FTH_FATBIN_MAX_UNPACKED ((size_t)256 << 20)

/* Appends the contents of an entry to `out`, without the zeros at the end of PTX. The caller
 * releases the buffer, also after a failure. FTH_UNSUPPORTED: the packing is unknown. FTH_INVALID:
 * the contents are damaged or too large. */
FTH_MUST_USE enum fth_status fth_fatbin_unpack(const struct fth_fatbin *fatbin,
                                               const struct fth_fatbin_entry *entry,
                                               struct fth_buffer *out, struct fth_error *error);
/* Appends the names of the kernels of an entry with machine code, as fth_elf_kernels does. */
FTH_MUST_USE enum fth_status fth_fatbin_kernels(const struct fth_fatbin *fatbin,
                                                const struct fth_fatbin_entry *entry,
                                                struct fth_buffer *names, struct fth_error *error);

#endif
