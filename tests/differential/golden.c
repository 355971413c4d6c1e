/* Reads and writes the golden file, which contains the results of a GPU for each case. It is
 * compressed with zstd. The content is little-endian:
 *
 *   "FTHDIFF1"  u32 number of cases  u64 hash of the suite  u32 driver  u16 size, name of the GPU
 *   for each case: u16 size, name  u64 hash  u32 size, output
 *
 * An output is stored in four planes: the first bytes of all its 32-bit words, then the second
 * bytes and so on. This compresses better. */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = "FTHDIFF1";
enum { LEVEL = 19, MAX_BYTES = 64 << 20 };

static void put(struct fth_buffer *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        char byte = (char)(value >> (8 * i) & 0xff);
        fth_buffer_append(out, &byte, 1);
    }
}

static void put_text(struct fth_buffer *out, const char *text)
{
    put(out, strlen(text), 2);
    fth_buffer_text(out, text);
}

/* The size of an output is a multiple of 16 bytes. */
static void put_planes(struct fth_buffer *out, const unsigned char *data, size_t size)
{
    for (size_t plane = 0; plane < 4; plane++)
        for (size_t i = plane; i < size; i += 4)
            fth_buffer_append(out, data + i, 1);
}

enum fth_status diff_golden_write(const char *path, const struct diff_suite *suite,
                                  const struct diff_golden *golden, struct fth_error *error)
{
    struct fth_buffer out = {0};
    fth_buffer_append(&out, magic, sizeof magic);
    put(&out, golden->count, 4);
    put(&out, suite->hash, 8);
    put(&out, golden->driver, 4);
    put_text(&out, golden->gpu);
    for (size_t i = 0; i < golden->count; i++) {
        const struct diff_golden_case *golden_case = &golden->cases[i];
        put_text(&out, golden_case->name);
        put(&out, golden_case->hash, 8);
        put(&out, golden_case->bytes, 4);
        put_planes(&out, golden_case->output, golden_case->bytes);
    }
    struct fth_zwriter *writer = NULL;
    enum fth_status status = FTH_OK;
    if (out.failed)
        status = fth_fail(error, FTH_NO_MEMORY, "write", path, "out of memory");
    if (status == FTH_OK)
        status = fth_zwriter_open(path, LEVEL, &writer, error);
    if (status == FTH_OK)
        status = fth_zwriter_write(writer, out.data, out.size, error);
    if (status == FTH_OK)
        status = fth_zwriter_commit(writer, error);
    else
        fth_zwriter_abort(writer);
    fth_buffer_fini(&out);
    return status;
}

struct input {
    const unsigned char *at;
    size_t left;
    bool truncated;
};

static const unsigned char *take(struct input *in, size_t size)
{
    if (size > in->left) {
        in->truncated = true;
        in->left = 0;
        return NULL;
    }
    const unsigned char *at = in->at;
    in->at += size;
    in->left -= size;
    return at;
}

static uint64_t get(struct input *in, unsigned bytes)
{
    const unsigned char *at = take(in, bytes);
    uint64_t value = 0;
    for (unsigned i = 0; at && i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static void get_text(struct input *in, char *text, size_t size)
{
    size_t length = (size_t)get(in, 2);
    const unsigned char *at = take(in, length);
    if (at)
        snprintf(text, size, "%.*s", (int)length, (const char *)at);
}

static void get_case(struct input *in, struct diff_golden_case *golden_case)
{
    get_text(in, golden_case->name, sizeof golden_case->name);
    golden_case->hash = get(in, 8);
    size_t bytes = (size_t)get(in, 4);
    const unsigned char *planes = take(in, bytes);
    if (!planes)
        return;
    golden_case->output = malloc(bytes ? bytes : 1);
    if (!golden_case->output) {
        in->truncated = true;
        return;
    }
    golden_case->bytes = bytes;
    for (size_t plane = 0, at = 0; plane < 4; plane++)
        for (size_t i = plane; i < bytes; i += 4)
            golden_case->output[i] = planes[at++];
}

enum fth_status diff_golden_read(const char *path, struct diff_golden *golden,
                                 struct fth_error *error)
{
    *golden = (struct diff_golden){.count = 0};
    struct fth_buffer content = {0};
    enum fth_status status =
        fth_file_read(path, FTH_FILE_LIMIT("a file of the test", MAX_BYTES), &content, error);
    if (status != FTH_OK)
        return status;
    struct input in = {(const unsigned char *)content.data, content.size, false};
    const unsigned char *start = take(&in, sizeof magic);
    if (!start || memcmp(start, magic, sizeof magic) != 0)
        status = fth_fail(error, FTH_INVALID, "read", path, "not a golden file");
    size_t count = (size_t)get(&in, 4);
    golden->hash = get(&in, 8);
    golden->driver = (uint32_t)get(&in, 4);
    get_text(&in, golden->gpu, sizeof golden->gpu);
    if (status == FTH_OK && count > in.left)
        status = fth_fail(error, FTH_INVALID, "read", path, "the file is truncated");
    if (status == FTH_OK && !(golden->cases = calloc(count + 1, sizeof *golden->cases)))
        status = fth_fail(error, FTH_NO_MEMORY, "read", path, "out of memory");
    while (status == FTH_OK && golden->count < count) {
        get_case(&in, &golden->cases[golden->count++]);
        if (in.truncated)
            status = fth_fail(error, FTH_INVALID, "read", path, "the file is truncated");
    }
    fth_buffer_fini(&content);
    if (status != FTH_OK)
        diff_golden_fini(golden);
    return status;
}

void diff_golden_fini(struct diff_golden *golden)
{
    for (size_t i = 0; golden->cases && i < golden->count; i++)
        free(golden->cases[i].output);
    free(golden->cases);
    *golden = (struct diff_golden){.count = 0};
}
