/* Reads the containers of a fat binary and lists their entries. docs/fat-binaries.md describes the
 * layout and how it was found. */
#include "fatbin/fatbin.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of entries and of containers of an image. It bounds the memory of the list, and
 * the time to search it. Chosen: the fat binaries of very large libraries have some thousands. */
enum { MAX_ENTRIES = 65536, MAX_CONTAINERS = 65536 };

/* Offsets in the header of a container. */
enum { CONTAINER_VERSION = 4, CONTAINER_HEADER_BYTES = 6, CONTAINER_BYTES = 8 };
enum { CONTAINER_MAGIC = 0xba55ed50, KNOWN_VERSION = 1 };

/* Offsets in the header of an entry. */
enum {
    ENTRY_KIND = 0,
    ENTRY_HEADER_BYTES = 4,
    ENTRY_PAYLOAD_BYTES = 8,
    ENTRY_PACKED_BYTES = 16,
    ENTRY_TARGET = 28,
    ENTRY_NAME_OFFSET = 32,
    ENTRY_NAME_BYTES = 36,
    ENTRY_FLAGS = 40,
    ENTRY_UNPACKED_BYTES = 56,
    MIN_ENTRY_BYTES = 64
};
enum { KIND_PTX = 1, KIND_CUBIN = 2 };
enum { FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000, FLAG_SUFFIX_A = 0x100000, FLAG_SUFFIX_F = 0x200000 };

static const char operation[] = "read fat binary";

enum fth_status fth_fatbin_container_size(const struct fth_fatbin *fatbin, const uint8_t *data,
                                          size_t available, size_t offset, uint64_t *size,
                                          struct fth_error *error)
{
    *size = 0;
    if (available < FTH_FATBIN_HEADER_BYTES)
        return fth_fail(error, FTH_INVALID, operation, fatbin->name,
                        "offset %zu: the file ends in the header of a container; it is truncated",
                        offset);
    if (fth_load_u32(data) != CONTAINER_MAGIC)
        return fth_fail(error, FTH_INVALID, operation, fatbin->name,
                        "offset %zu: expected a container (ba55ed50), found %08x", offset,
                        fth_load_u32(data));
    const unsigned version = fth_load_u16(data + CONTAINER_VERSION);
    const unsigned header_bytes = fth_load_u16(data + CONTAINER_HEADER_BYTES);
    const uint64_t bytes = fth_load_u64(data + CONTAINER_BYTES);
    if (version != KNOWN_VERSION || header_bytes != FTH_FATBIN_HEADER_BYTES)
        return fth_fail(error, FTH_UNSUPPORTED, operation, fatbin->name,
                        "offset %zu: a container of version %u with a header of %u bytes; fathom "
                        "reads version 1 with 16 bytes",
                        offset, version, header_bytes);
    if (bytes > SIZE_MAX - FTH_FATBIN_HEADER_BYTES)
        return fth_fail(error, FTH_INVALID, operation, fatbin->name,
                        "offset %zu: a container cannot have %llu bytes", offset,
                        (unsigned long long)bytes);
    *size = bytes + FTH_FATBIN_HEADER_BYTES;
    return FTH_OK;
}

enum fth_status fth_fatbin_append(struct fth_fatbin *fatbin, const struct fth_fatbin_entry *entry,
                                  struct fth_error *error)
{
    if (fatbin->count == MAX_ENTRIES)
        return fth_fail(error, FTH_INVALID, operation, fatbin->name,
                        "offset %zu: the file has more than %d entries, the limit of a fat binary",
                        entry->offset, MAX_ENTRIES);
    void *entries = fatbin->entries;
    if (!fth_grow(&entries, fatbin->count, &fatbin->capacity, sizeof *entry))
        return fth_no_memory(error, operation, fatbin->name);
    fatbin->entries = entries;
    fatbin->entries[fatbin->count++] = *entry;
    return FTH_OK;
}

/* Sets the packing and the sizes of an entry whose payload is in the image. The payload is padded
 * to a multiple of 8 bytes; a packed one also has its exact size. */
static enum fth_status read_packing(const struct fth_fatbin *fatbin, const uint8_t *header,
                                    struct fth_fatbin_entry *entry, struct fth_error *error)
{
    const uint64_t flags = fth_load_u64(header + ENTRY_FLAGS);
    const uint64_t unpacked = fth_load_u64(header + ENTRY_UNPACKED_BYTES);
    const size_t packed = fth_load_u32(header + ENTRY_PACKED_BYTES);
    entry->unpacked_bytes = entry->payload_bytes;
    if (packed == 0 && !(flags & (FLAG_LZ4 | FLAG_ZSTD)))
        return FTH_OK;
    entry->packing = flags & FLAG_ZSTD  ? FTH_PACKING_ZSTD
                     : flags & FLAG_LZ4 ? FTH_PACKING_LZ4
                                        : FTH_PACKING_UNKNOWN;
    if (packed > entry->payload_bytes)
        return fth_fail(error, FTH_INVALID, operation, fatbin->name,
                        "offset %zu: the compressed contents have %zu bytes, the entry only %zu",
                        entry->offset, packed, entry->payload_bytes);
    if (unpacked > FTH_FATBIN_MAX_UNPACKED)
        return fth_fail(error, FTH_INVALID, operation, fatbin->name,
                        "offset %zu: the contents have %llu bytes; the limit of an entry is 256 "
                        "MiB",
                        entry->offset, (unsigned long long)unpacked);
    entry->payload_bytes = packed;
    entry->unpacked_bytes = (size_t)unpacked;
    return FTH_OK;
}

/* Reads the entry at `data`, of which `available` bytes are in the container. *size is its size
 * with header and payload. */
static enum fth_status read_entry(struct fth_fatbin *fatbin, const uint8_t *data, size_t available,
                                  size_t offset, size_t *size, struct fth_error *error)
{
    struct fth_fatbin_entry entry = {.container = fatbin->container_count, .offset = offset};
    if (available < MIN_ENTRY_BYTES)
        return fth_fail(error, FTH_INVALID, operation, fatbin->name,
                        "offset %zu: the container ends in the header of an entry", offset);
    const size_t header_bytes = fth_load_u32(data + ENTRY_HEADER_BYTES);
    const uint64_t payload_bytes = fth_load_u64(data + ENTRY_PAYLOAD_BYTES);
    if (header_bytes < MIN_ENTRY_BYTES || header_bytes > available ||
        payload_bytes > available - header_bytes)
        return fth_fail(error, FTH_INVALID, operation, fatbin->name,
                        "offset %zu: the entry has a header of %zu bytes and contents of %llu "
                        "bytes, but the container ends after %zu bytes",
                        offset, header_bytes, (unsigned long long)payload_bytes, available);
    entry.payload = data + header_bytes;
    entry.payload_bytes = (size_t)payload_bytes;
    *size = header_bytes + entry.payload_bytes;
    const unsigned kind = fth_load_u16(data + ENTRY_KIND);
    entry.kind = kind == KIND_PTX     ? FTH_FATBIN_PTX
                 : kind == KIND_CUBIN ? FTH_FATBIN_CUBIN
                                      : FTH_FATBIN_OTHER;
    const uint64_t flags = fth_load_u64(data + ENTRY_FLAGS);
    entry.target.number = fth_load_u32(data + ENTRY_TARGET);
    entry.target.suffix = flags & FLAG_SUFFIX_A ? 'a' : flags & FLAG_SUFFIX_F ? 'f' : '\0';
    const size_t name_offset = fth_load_u32(data + ENTRY_NAME_OFFSET);
    const size_t name_bytes = fth_load_u32(data + ENTRY_NAME_BYTES);
    if (name_offset > header_bytes || name_bytes > header_bytes - name_offset)
        return fth_fail(error, FTH_INVALID, operation, fatbin->name,
                        "offset %zu: the name of the entry is outside of its header", offset);
    if (name_offset && name_bytes) {
        entry.name = (const char *)data + name_offset;
        entry.name_bytes = name_bytes;
    }
    FTH_TRY(read_packing(fatbin, data, &entry, error));
    return fth_fatbin_append(fatbin, &entry, error);
}

enum fth_status fth_fatbin_add(struct fth_fatbin *fatbin, const uint8_t *data, size_t size,
                               size_t offset, struct fth_error *error)
{
    for (size_t at = 0; at < size;) {
        uint64_t bytes = 0;
        if (data[at] == 0) {
            at++;
            continue;
        }
        FTH_TRY(
            fth_fatbin_container_size(fatbin, data + at, size - at, offset + at, &bytes, error));
        if (bytes > size - at)
            return fth_fail(error, FTH_INVALID, operation, fatbin->name,
                            "offset %zu: the container has %llu bytes, but only %zu follow; the "
                            "file is truncated",
                            offset + at, (unsigned long long)bytes, size - at);
        if (fatbin->container_count == MAX_CONTAINERS)
            return fth_fail(error, FTH_INVALID, operation, fatbin->name,
                            "offset %zu: the file has more than %d containers, the limit of a fat "
                            "binary",
                            offset + at, MAX_CONTAINERS);
        const size_t end = at + (size_t)bytes;
        for (at += FTH_FATBIN_HEADER_BYTES; at < end;) {
            size_t entry_bytes = 0;
            FTH_TRY(read_entry(fatbin, data + at, end - at, offset + at, &entry_bytes, error));
            at += entry_bytes;
        }
        fatbin->container_count++;
    }
    return FTH_OK;
}
