/* Reads ELF files (System V ABI, "Object Files"): the contents of a section, and the names of the
 * kernels of a cubin. Only files with 64 bits and little-endian numbers are read, because CUDA has
 * no others. */
#include "fatbin/fatbin.h"

#include <string.h>

/* Offsets in the header of the file. */
enum {
    HEADER_CLASS = 4,
    HEADER_DATA = 5,
    HEADER_MACHINE = 18,
    HEADER_SECTIONS = 40,
    HEADER_SECTION_BYTES = 58,
    HEADER_SECTION_COUNT = 60,
    HEADER_SECTION_NAMES = 62,
    HEADER_BYTES = 64
};
enum { CLASS_64 = 2, LITTLE_ENDIAN_DATA = 1 };

/* Offsets in the header of a section, and section types. */
enum {
    SECTION_NAME = 0,
    SECTION_TYPE = 4,
    SECTION_OFFSET = 24,
    SECTION_SIZE = 32,
    SECTION_LINK = 40,
    SECTION_BYTES = 64
};
enum { TYPE_SYMBOLS = 2, TYPE_NO_BITS = 8 };

/* Offsets in a symbol. A cubin marks kernels by a bit of st_other: with nvcc 13.0, all functions of
 * symbol tables that are kernels have it, and device functions do not. */
enum { SYMBOL_NAME = 0, SYMBOL_INFO = 4, SYMBOL_OTHER = 5, SYMBOL_BYTES = 24 };
enum { SYMBOL_FUNCTION = 2, OTHER_KERNEL = 0x10 };

/* Maximum size in bytes of the name of a kernel, and of the names of all kernels of a file. Chosen:
 * names of templates have some thousand bytes. They bound the time and memory that symbols with
 * overlapping names can take. */
enum { MAX_NAME_BYTES = 65536, MAX_NAMES_BYTES = 16 << 20 };

static const char operation[] = "read ELF file";

static enum fth_status truncated(const struct fth_elf *elf, const char *what, uint64_t offset,
                                 uint64_t size, struct fth_error *error)
{
    return fth_fail(error, FTH_INVALID, operation, elf->name,
                    "%s of %llu bytes at offset %llu exceeds the %zu bytes of the file; it is "
                    "truncated or damaged",
                    what, (unsigned long long)size, (unsigned long long)offset, elf->size);
}

enum fth_status fth_elf_open(const char *name, const void *data, size_t size, struct fth_elf *elf,
                             struct fth_error *error)
{
    const uint8_t *header = data;
    *elf = (struct fth_elf){.name = name, .data = data, .size = size};
    if (size < HEADER_BYTES)
        return truncated(elf, "the header", 0, HEADER_BYTES, error);
    if (memcmp(header, "\177ELF", 4) != 0)
        return fth_fail(error, FTH_INVALID, operation, name, "this is not an ELF file");
    if (header[HEADER_CLASS] != CLASS_64 || header[HEADER_DATA] != LITTLE_ENDIAN_DATA)
        return fth_fail(error, FTH_UNSUPPORTED, operation, name,
                        "the file is not for a little-endian machine with 64 bits; fathom reads "
                        "only such files");
    elf->machine = fth_load_u16(header + HEADER_MACHINE);
    const uint64_t offset = fth_load_u64(header + HEADER_SECTIONS);
    const size_t count = fth_load_u16(header + HEADER_SECTION_COUNT);
    if (offset == 0 || count == 0)
        return FTH_OK;
    if (fth_load_u16(header + HEADER_SECTION_BYTES) != SECTION_BYTES)
        return fth_fail(error, FTH_INVALID, operation, name,
                        "a section header of %u bytes; expected %d",
                        fth_load_u16(header + HEADER_SECTION_BYTES), SECTION_BYTES);
    if (offset > size || count > (size - offset) / SECTION_BYTES)
        return truncated(elf, "the list of sections", offset, (uint64_t)count * SECTION_BYTES,
                         error);
    elf->sections = header + offset;
    elf->section_count = count;
    elf->names = fth_load_u16(header + HEADER_SECTION_NAMES);
    if (elf->names < count)
        return FTH_OK;
    return fth_fail(error, FTH_INVALID, operation, name,
                    "the names of the sections are in section %zu, but there are only %zu",
                    elf->names, count);
}

/* Finds the contents of the section with this index. */
static enum fth_status contents(const struct fth_elf *elf, size_t index,
                                struct fth_elf_section *section, struct fth_error *error)
{
    const uint8_t *header = elf->sections + index * SECTION_BYTES;
    const uint64_t offset = fth_load_u64(header + SECTION_OFFSET);
    const uint64_t size = fth_load_u64(header + SECTION_SIZE);
    *section = (struct fth_elf_section){NULL, 0};
    if (fth_load_u32(header + SECTION_TYPE) == TYPE_NO_BITS)
        return FTH_OK;
    if (offset > elf->size || size > elf->size - offset)
        return truncated(elf, "a section", offset, size, error);
    *section = (struct fth_elf_section){elf->data + offset, (size_t)size};
    return FTH_OK;
}

/* Returns whether `name` is at this offset of a string table. */
static bool has_name(const struct fth_elf_section *strings, size_t offset, const char *name)
{
    const size_t bytes = strlen(name) + 1;
    return offset <= strings->size && bytes <= strings->size - offset &&
           memcmp(strings->data + offset, name, bytes) == 0;
}

enum fth_status fth_elf_find(const struct fth_elf *elf, const char *name,
                             struct fth_elf_section *section, struct fth_error *error)
{
    struct fth_elf_section strings;
    *section = (struct fth_elf_section){NULL, 0};
    if (elf->section_count == 0)
        return FTH_NOT_FOUND;
    FTH_TRY(contents(elf, elf->names, &strings, error));
    for (size_t i = 0; i < elf->section_count; i++) {
        const uint8_t *header = elf->sections + i * SECTION_BYTES;
        if (has_name(&strings, fth_load_u32(header + SECTION_NAME), name))
            return contents(elf, i, section, error);
    }
    return FTH_NOT_FOUND;
}

/* Appends the name at an offset of a string table, with its NUL. */
static enum fth_status add_name(const struct fth_elf *elf, const struct fth_elf_section *strings,
                                size_t offset, struct fth_buffer *names, struct fth_error *error)
{
    const size_t left = offset < strings->size ? strings->size - offset : 0;
    const uint8_t *name = left ? strings->data + offset : NULL;
    const uint8_t *end = left ? memchr(name, '\0', FTH_MIN(left, MAX_NAME_BYTES)) : NULL;
    if (!end)
        return fth_fail(error, FTH_INVALID, operation, elf->name,
                        "the name of a kernel is outside of the names, or longer than %d bytes",
                        MAX_NAME_BYTES);
    if (names->size > MAX_NAMES_BYTES)
        return fth_fail(error, FTH_INVALID, operation, elf->name,
                        "the names of the kernels exceed 16 MiB, the limit of a cubin");
    fth_buffer_append(names, name, (size_t)(end - name) + 1);
    return names->failed ? fth_no_memory(error, operation, elf->name) : FTH_OK;
}

/* Appends the kernels of one symbol table. */
static enum fth_status add_kernels(const struct fth_elf *elf, size_t index,
                                   struct fth_buffer *names, struct fth_error *error)
{
    struct fth_elf_section symbols, strings;
    const size_t link = fth_load_u32(elf->sections + index * SECTION_BYTES + SECTION_LINK);
    if (link >= elf->section_count)
        return fth_fail(error, FTH_INVALID, operation, elf->name,
                        "the names of the symbols are in section %zu, but there are only %zu", link,
                        elf->section_count);
    FTH_TRY(contents(elf, index, &symbols, error));
    FTH_TRY(contents(elf, link, &strings, error));
    for (size_t at = 0; symbols.size - at >= SYMBOL_BYTES; at += SYMBOL_BYTES) {
        const uint8_t *symbol = symbols.data + at;
        if ((symbol[SYMBOL_INFO] & 15) == SYMBOL_FUNCTION && symbol[SYMBOL_OTHER] & OTHER_KERNEL)
            FTH_TRY(add_name(elf, &strings, fth_load_u32(symbol + SYMBOL_NAME), names, error));
    }
    return FTH_OK;
}

enum fth_status fth_elf_kernels(const struct fth_elf *elf, struct fth_buffer *names,
                                struct fth_error *error)
{
    for (size_t i = 0; i < elf->section_count; i++)
        if (fth_load_u32(elf->sections + i * SECTION_BYTES + SECTION_TYPE) == TYPE_SYMBOLS)
            FTH_TRY(add_kernels(elf, i, names, error));
    return FTH_OK;
}
