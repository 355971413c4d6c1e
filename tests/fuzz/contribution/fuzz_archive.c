/* Fuzzes the reader of tar archives (fth_tar_next). Every file that it returns must lie within the
 * archive, behind the one before it, and an archive of the same files must be read in the same way.
 */
#include "contribution/contribution.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts unless the next file of `copy` is this one. */
static void check_copy(const struct fth_buffer *copy, size_t *at, const struct fth_tar_file *file)
{
    struct fth_tar_file again;
    bool found;
    if (fth_tar_next("copy", copy, at, &again, &found, NULL) != FTH_OK || !found ||
        strcmp(again.name, file->name) != 0 || again.size != file->size ||
        memcmp(again.data, file->data, file->size) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_buffer archive = {0}, copy = {0};
    struct fth_tar_file file;
    size_t at = 0, last = 0, copied = 0;
    bool found = true;
    fth_buffer_append(&archive, data, size);
    while (found && fth_tar_next("fuzz", &archive, &at, &file, &found, NULL) == FTH_OK && found) {
        const size_t start = (size_t)(file.data - archive.data);
        if (start < last || at <= last || at > archive.size || start + file.size > at)
            abort();
        last = at;
        copy.size = copied = 0;
        fth_tar_put(file.name, file.data, file.size, &copy);
        fth_tar_end(&copy);
        check_copy(&copy, &copied, &file);
    }
    fth_buffer_fini(&archive);
    fth_buffer_fini(&copy);
    return 0;
}
