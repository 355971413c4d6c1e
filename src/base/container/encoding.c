/* Numbers and texts in the content of a part of a container. */
#include "base/container/container.h"

#include <string.h>

void fth_set_fixed(uint64_t number, size_t bytes, void *to)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)to)[i] = (unsigned char)(number >> (8 * i));
}

uint64_t fth_get_fixed(const void *data, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; i++)
        number |= (uint64_t)((const unsigned char *)data)[i] << (8 * i);
    return number;
}

void fth_put_varint(uint64_t number, struct fth_buffer *out)
{
    unsigned char bytes[10];
    fth_buffer_append(out, bytes, fth_write_varint(bytes, number));
}

void fth_put_text(const char *text, struct fth_buffer *out)
{
    size_t size = strlen(text);
    fth_put_varint(size, out);
    fth_buffer_append(out, text, size);
}

/* An empty buffer may have no memory. Adding 0 to its NULL pointer would be undefined, so another
 * empty range is returned instead. */
struct fth_bytes fth_bytes_of(const struct fth_buffer *content)
{
    static const unsigned char none[1];
    const unsigned char *data = content->data ? (const unsigned char *)content->data : none;
    return (struct fth_bytes){.at = data, .end = data + content->size};
}

const char *fth_get_text(struct fth_bytes *bytes, struct fth_arena *arena)
{
    uint64_t size = fth_get_varint(bytes);
    if (bytes->failed || size > (uint64_t)(bytes->end - bytes->at) ||
        size > FTH_PART_MAX_TEXT_BYTES) {
        bytes->failed = true;
        return NULL;
    }
    char *text = fth_arena_alloc(arena, (size_t)size + 1); /* zeroed, so the text is terminated */
    if (!text) {
        bytes->failed = bytes->no_memory = true;
        return NULL;
    }
    memcpy(text, bytes->at, (size_t)size);
    bytes->at += size;
    return text;
}
