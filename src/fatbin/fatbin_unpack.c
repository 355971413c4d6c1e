/* The contents of an entry: plain, compressed with zstd (RFC 8878), or an LZ4 block. */
#include "fatbin/fatbin.h"

#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

static const char operation[] = "read fat binary";

/* Unpacks a payload to exactly entry->unpacked_bytes at `out`. */
static enum fth_status unpack(const struct fth_fatbin *fatbin, const struct fth_fatbin_entry *entry,
                              char *out, struct fth_error *error)
{
    size_t got;
    switch (entry->packing) {
    case FTH_PACKING_NONE: memcpy(out, entry->payload, entry->payload_bytes); return FTH_OK;
    case FTH_PACKING_LZ4:
        if (fth_lz4_decode(entry->payload, entry->payload_bytes, (uint8_t *)out,
                           entry->unpacked_bytes))
            return FTH_OK;
        return fth_fail(error, FTH_INVALID, operation, fatbin->name,
                        "offset %zu: the contents of the entry, compressed with LZ4, are damaged",
                        entry->offset);
    case FTH_PACKING_ZSTD:
        got = ZSTD_decompress(out, entry->unpacked_bytes, entry->payload, entry->payload_bytes);
        if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
            return fth_no_memory(error, operation, fatbin->name);
        if (ZSTD_isError(got))
            return fth_fail(error, FTH_INVALID, operation, fatbin->name,
                            "offset %zu: the contents of the entry are damaged: zstd: %s",
                            entry->offset, ZSTD_getErrorName(got));
        if (got == entry->unpacked_bytes)
            return FTH_OK;
        return fth_fail(error, FTH_INVALID, operation, fatbin->name,
                        "offset %zu: the contents of the entry have %zu bytes instead of %zu",
                        entry->offset, got, entry->unpacked_bytes);
    default:
        return fth_fail(error, FTH_UNSUPPORTED, operation, fatbin->name,
                        "offset %zu: the entry is compressed in an unknown way; compile with "
                        "'nvcc --no-compress'",
                        entry->offset);
    }
}

enum fth_status fth_fatbin_unpack(const struct fth_fatbin *fatbin,
                                  const struct fth_fatbin_entry *entry, struct fth_buffer *out,
                                  struct fth_error *error)
{
    if (!fth_buffer_reserve(out, entry->unpacked_bytes))
        return fth_no_memory(error, operation, fatbin->name);
    FTH_TRY(unpack(fatbin, entry, out->data + out->size, error));
    const size_t begin = out->size;
    out->size += entry->unpacked_bytes;
    while (entry->kind == FTH_FATBIN_PTX && out->size > begin && out->data[out->size - 1] == '\0')
        out->size--;
    out->data[out->size] = '\0';
    return FTH_OK;
}

enum fth_status fth_fatbin_kernels(const struct fth_fatbin *fatbin,
                                   const struct fth_fatbin_entry *entry, struct fth_buffer *names,
                                   struct fth_error *error)
{
    struct fth_buffer cubin = {0};
    struct fth_elf elf;
    enum fth_status status = fth_fatbin_unpack(fatbin, entry, &cubin, error);
    if (status == FTH_OK)
        status = fth_elf_open(fatbin->name, cubin.data, cubin.size, &elf, error);
    if (status == FTH_OK)
        status = fth_elf_kernels(&elf, names, error);
    fth_buffer_fini(&cubin);
    return status;
}
