/* Tar archives in memory, in the format ustar (POSIX.1-1988). Archives contain regular files only:
 * a contribution has no folders and no links, and a reader that accepted them would have to defend
 * itself against paths that leave its folder. */
#include "contribution/contribution.h"

#include <stdio.h>
#include <string.h>

static const char operation[] = "read archive";

enum { BLOCK = 512, END_BLOCKS = 2 };

/* The header of a file. Numbers are octal digits. */
struct header {
    char name[100], mode[8], owner[8], group[8], size[12], time[12], checksum[8], type;
    char link[100], magic[6], version[2], owner_name[32], group_name[32], device[16], prefix[155];
    char padding[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

/* Returns the sum of all bytes of a header, in which the checksum counts as spaces. */
static unsigned sum_header(const struct header *header)
{
    const unsigned char *bytes = (const unsigned char *)header;
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof *header; i++) {
        const bool inside = i >= offsetof(struct header, checksum) &&
                            i < offsetof(struct header, checksum) + sizeof header->checksum;
        sum += inside ? ' ' : bytes[i];
    }
    return sum;
}

void fth_tar_put(const char *name, const void *data, size_t size, struct fth_buffer *archive)
{
    static const char zeros[BLOCK];
    struct header header = {.type = '0', .magic = "ustar", .version = {'0', '0'}};
    memcpy(header.name, name, strnlen(name, sizeof header.name));
    snprintf(header.mode, sizeof header.mode, "%07o", 0644U);
    snprintf(header.owner, sizeof header.owner, "%07o", 0U);
    snprintf(header.group, sizeof header.group, "%07o", 0U);
    snprintf(header.size, sizeof header.size, "%011zo", size);
    snprintf(header.time, sizeof header.time, "%011o", 0U);
    snprintf(header.checksum, sizeof header.checksum, "%06o", sum_header(&header));
    header.checksum[7] = ' ';
    fth_buffer_append(archive, &header, sizeof header);
    fth_buffer_append(archive, data, size);
    fth_buffer_append(archive, zeros, (BLOCK - size % BLOCK) % BLOCK);
}

void fth_tar_end(struct fth_buffer *archive)
{
    static const char zeros[(size_t)END_BLOCKS * BLOCK];
    fth_buffer_append(archive, zeros, sizeof zeros);
}

/* Reads octal digits, which a NUL or a space ends. Returns false if there are none. */
static bool read_octal(const char *digits, size_t size, size_t *number)
{
    size_t i = 0;
    *number = 0;
    for (; i < size && digits[i] >= '0' && digits[i] <= '7'; i++)
        *number = *number * 8 + (size_t)(digits[i] - '0');
    return i > 0 && (i == size || digits[i] == '\0' || digits[i] == ' ');
}

static bool is_empty(const struct header *header)
{
    static const struct header zeros;
    return memcmp(header, &zeros, sizeof zeros) == 0;
}

enum fth_status fth_tar_next(const char *path, const struct fth_buffer *archive, size_t *at,
                             struct fth_tar_file *file, bool *found, struct fth_error *error)
{
    struct header header;
    size_t sum;
    *found = false;
    if (archive->size - *at < sizeof header)
        return fth_fail(error, FTH_INVALID, operation, path,
                        "the archive ends too early, at byte %zu; pack it again", *at);
    memcpy(&header, archive->data + *at, sizeof header);
    if (is_empty(&header))
        return FTH_OK;
    if (memcmp(header.magic, "ustar", 5) != 0 ||
        !read_octal(header.checksum, sizeof header.checksum, &sum) || sum != sum_header(&header))
        return fth_fail(error, FTH_INVALID, operation, path,
                        "not an archive that 'fathom gpus --contribute' has written");
    if (header.type != '0' || header.prefix[0] || strnlen(header.name, sizeof header.name) == 0)
        return fth_fail(error, FTH_INVALID, operation, path,
                        "the archive contains something else than plain files");
    if (!read_octal(header.size, sizeof header.size, &file->size) ||
        file->size > archive->size - *at - sizeof header)
        return fth_fail(error, FTH_INVALID, operation, path,
                        "the archive ends within a file; pack it again");
    snprintf(file->name, sizeof file->name, "%.*s", (int)sizeof header.name, header.name);
    file->data = archive->data + *at + sizeof header;
    const size_t blocks = (file->size + BLOCK - 1) / BLOCK * BLOCK;
    const size_t rest = archive->size - *at - sizeof header;
    *at += sizeof header + (blocks < rest ? blocks : rest);
    *found = true;
    return FTH_OK;
}
