/* Opens an image with CUDA code. It is a fat binary, a host program, library or object file with
 * fat binaries in its sections, or a cubin; the first bytes and the ELF header tell which. */
#include "fatbin/fatbin.h"

#include <stdlib.h>
#include <string.h>

static const char operation[] = "read fat binary";

static const char elf_magic[] = "\177ELF";
static const char container_magic[] = "\120\355\125\272"; /* 0xba55ed50, little-endian */
enum { MAGIC_BYTES = 4 };

static bool begins_with(const void *data, size_t size, const char *magic)
{
    return size >= MAGIC_BYTES && memcmp(data, magic, MAGIC_BYTES) == 0;
}

bool fth_fatbin_is_image(const void *data, size_t size)
{
    return begins_with(data, size, elf_magic) || begins_with(data, size, container_magic);
}

/* Adds a cubin as the only entry of a container. */
static enum fth_status add_cubin(struct fth_fatbin *fatbin, const void *data, size_t size,
                                 struct fth_error *error)
{
    const struct fth_fatbin_entry entry = {
        .kind = FTH_FATBIN_CUBIN, .payload = data, .payload_bytes = size, .unpacked_bytes = size};
    fatbin->container_count = 1;
    return fth_fatbin_append(fatbin, &entry, error);
}

/* Adds what is in the sections of an ELF file. nvcc puts code that is complete into .nv_fatbin, and
 * with -rdc=true the code of each translation unit into __nv_relfatbin. */
static enum fth_status add_elf(struct fth_fatbin *fatbin, const void *data, size_t size,
                               struct fth_error *error)
{
    static const char *const names[] = {".nv_fatbin", "__nv_relfatbin"};
    struct fth_elf elf;
    bool found = false;
    FTH_TRY(fth_elf_open(fatbin->name, data, size, &elf, error));
    if (elf.machine == FTH_ELF_CUDA)
        return add_cubin(fatbin, data, size, error);
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        struct fth_elf_section section;
        const enum fth_status status = fth_elf_find(&elf, names[i], &section, error);
        if (status == FTH_NOT_FOUND)
            continue;
        if (status != FTH_OK)
            return status;
        found = true;
        if (section.data)
            FTH_TRY(fth_fatbin_add(fatbin, section.data, section.size,
                                   (size_t)(section.data - elf.data), error));
    }
    if (found)
        return FTH_OK;
    return fth_fail(error, FTH_INVALID, operation, fatbin->name,
                    "this ELF file has no CUDA code: it has no section .nv_fatbin; if the program "
                    "loads its kernels from a library, give the library instead");
}

enum fth_status fth_fatbin_open(const char *name, const void *data, size_t size,
                                struct fth_fatbin *fatbin, struct fth_error *error)
{
    *fatbin = (struct fth_fatbin){.name = name};
    const enum fth_status status = begins_with(data, size, elf_magic)
                                       ? add_elf(fatbin, data, size, error)
                                       : fth_fatbin_add(fatbin, data, size, 0, error);
    if (status != FTH_OK)
        fth_fatbin_fini(fatbin);
    return status;
}

enum fth_status fth_fatbin_open_memory(const char *name, const void *container,
                                       struct fth_fatbin *fatbin, struct fth_error *error)
{
    uint64_t size = 0;
    *fatbin = (struct fth_fatbin){.name = name};
    FTH_TRY(fth_fatbin_container_size(fatbin, container, FTH_FATBIN_HEADER_BYTES, 0, &size, error));
    return fth_fatbin_open(name, container, (size_t)size, fatbin, error);
}

void fth_fatbin_fini(struct fth_fatbin *fatbin)
{
    free(fatbin->entries);
    *fatbin = (struct fth_fatbin){0};
}
