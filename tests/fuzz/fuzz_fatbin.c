/* Fuzzes the reader of fat binaries, ELF files and cubins. Any image must be rejected with a
 * message, or its entries must lie inside of it, and are unpacked. */
#include "fatbin/fatbin.h"
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Entries that state a larger size are not unpacked: they take memory, and reach no other code. */
enum { MAX_UNPACKED = 1 << 20, MAX_VISITED = 64 };

static void check(bool condition)
{
    if (!condition)
        abort();
}

/* Checks that a part is inside of the image. */
static void check_inside(const uint8_t *data, size_t size, const void *part, size_t part_size)
{
    const uint8_t *begin = part;
    check(begin >= data && part_size <= size && (size_t)(begin - data) <= size - part_size);
}

static void visit(const struct fth_fatbin *fatbin, const struct fth_fatbin_entry *entry)
{
    struct fth_buffer content = {0}, names = {0};
    struct fth_error error = FTH_NO_ERROR;
    if (entry->unpacked_bytes > MAX_UNPACKED)
        return;
    enum fth_status status = fth_fatbin_unpack(fatbin, entry, &content, &error);
    check(status == FTH_OK ? content.size <= entry->unpacked_bytes : error.cause[0] != '\0');
    if (status == FTH_OK && entry->kind == FTH_FATBIN_PTX) {
        check(content.size == 0 || content.data[content.size - 1] != '\0');
        check(fth_ptx_scan_kernels(content.data, content.size, &names));
    } else if (status == FTH_OK) {
        error = FTH_NO_ERROR;
        status = fth_fatbin_kernels(fatbin, entry, &names, &error);
        check(status == FTH_OK || error.cause[0] != '\0');
    }
    check(names.size == 0 || names.data[names.size - 1] == '\0');
    fth_buffer_fini(&names);
    fth_buffer_fini(&content);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_fatbin fatbin;
    struct fth_error error = FTH_NO_ERROR;
    if (fth_fatbin_open("fuzz", data, size, &fatbin, &error) != FTH_OK) {
        check(error.cause[0] && !strchr(error.cause, '\n'));
        return 0;
    }
    for (size_t i = 0; i < fatbin.count; i++) {
        const struct fth_fatbin_entry *entry = &fatbin.entries[i];
        check(entry->container < fatbin.container_count);
        check_inside(data, size, entry->payload, entry->payload_bytes);
        if (entry->name)
            check_inside(data, size, entry->name, entry->name_bytes);
        if (i < MAX_VISITED)
            visit(&fatbin, entry);
    }
    for (size_t i = 0; i < fatbin.container_count; i++) {
        const struct fth_fatbin_entry *chosen = fth_fatbin_choose(&fatbin, i, 90);
        check(!chosen || (chosen->container == i && chosen->target.number <= 90));
        check(!chosen || fth_fatbin_lowest(&fatbin, i));
    }
    fth_fatbin_fini(&fatbin);
    return 0;
}
