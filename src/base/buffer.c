/* A growable buffer of bytes. Once an allocation has failed, the buffer stays in the failed state
 * and appending does nothing. Code that writes a document therefore checks for failure only once,
 * when it takes the bytes. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool fth_buffer_reserve(struct fth_buffer *buffer, size_t extra)
{
    if (buffer->failed)
        return false;
    /* There is one more byte than requested, for the NUL. */
    if (extra >= SIZE_MAX / 2 || buffer->size >= SIZE_MAX / 2 - extra) {
        buffer->failed = true;
        return false;
    }
    size_t needed = buffer->size + extra + 1;
    if (needed <= buffer->capacity)
        return true;
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity < needed)
        capacity *= 2;
    char *data = realloc(buffer->data, capacity);
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void fth_buffer_append(struct fth_buffer *buffer, const void *data, size_t size)
{
    if (!fth_buffer_reserve(buffer, size))
        return;
    if (size)
        memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    buffer->data[buffer->size] = '\0';
}

void fth_buffer_text(struct fth_buffer *buffer, const char *text)
{
    fth_buffer_append(buffer, text, strlen(text));
}

void fth_buffer_format(struct fth_buffer *buffer, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int size = fth_vformat(NULL, 0, format, arguments);
    va_end(arguments);
    if (size < 0)
        buffer->failed = true;
    else if (fth_buffer_reserve(buffer, (size_t)size)) {
        fth_vformat(buffer->data + buffer->size, (size_t)size + 1, format, again);
        buffer->size += (size_t)size;
    }
    va_end(again);
}

void fth_buffer_repeat(struct fth_buffer *buffer, const char *text, size_t times)
{
    while (times--)
        fth_buffer_text(buffer, text);
}

enum fth_status fth_buffer_take(struct fth_buffer *buffer, char **text, size_t *size,
                                struct fth_error *error)
{
    fth_buffer_reserve(buffer, 0);
    if (buffer->failed)
        return fth_fail(error, FTH_NO_MEMORY, "build text", NULL, "out of memory after %zu bytes",
                        buffer->size);
    buffer->data[buffer->size] = '\0';
    *text = buffer->data;
    *size = buffer->size;
    *buffer = (struct fth_buffer){0};
    return FTH_OK;
}

void fth_buffer_fini(struct fth_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct fth_buffer){0};
}

bool fth_grow(void **items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    size_t wanted = *capacity ? 2 * *capacity : 16;
    void *larger = wanted < SIZE_MAX / size ? realloc(*items, wanted * size) : NULL;
    if (!larger)
        return false;
    *items = larger;
    *capacity = wanted;
    return true;
}

void fth_free(void *memory)
{
    free(memory);
}
