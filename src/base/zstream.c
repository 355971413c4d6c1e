/* Files compressed with zstd (RFC 8878). The reader accepts compressed and plain files. The writer
 * adds a checksum and writes atomically. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Largest window that a compressed file may need: 2^27 bytes = 128 MiB, the default limit of zstd.
 * It bounds the memory that a malicious file can make the reader allocate. */
#define MAX_WINDOW_LOG 27

static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};

struct fth_zreader {
    int fd;
    char *path;
    ZSTD_DStream *stream; /* NULL: the file is not compressed */
    ZSTD_inBuffer in;
    bool in_frame; /* a frame has begun and not ended */
    bool end;      /* the end of the file was reached */
    char chunk[64 * 1024];
};

/* Refills the chunk, whose contents were used up, with at least `min_bytes` bytes unless the file
 * ends before. */
static enum fth_status refill(struct fth_zreader *reader, size_t min_bytes, struct fth_error *error)
{
    reader->in = (ZSTD_inBuffer){reader->chunk, 0, 0};
    while (!reader->end && reader->in.size < min_bytes) {
        ssize_t got = read(reader->fd, reader->chunk + reader->in.size,
                           sizeof reader->chunk - reader->in.size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fth_fail(error, errno == EISDIR ? FTH_INVALID : FTH_IO, "read", reader->path,
                            "%s", strerror(errno));
        reader->end = got == 0;
        reader->in.size += (size_t)got;
    }
    return FTH_OK;
}

/* Creates a reader of `fd`, of which it takes ownership. `fd` is negative if opening the file has
 * failed with `errno`. `path` is used in the message about this, `name` in all later ones. */
static enum fth_status create_reader(int fd, const char *path, const char *name,
                                     struct fth_zreader **out, struct fth_error *error)
{
    const int cause = errno;
    *out = NULL;
    struct fth_zreader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        if (fd >= 0)
            close(fd);
        return fth_no_memory(error, "read", path);
    }
    reader->fd = fd;
    reader->path = strdup(name);
    enum fth_status status = FTH_OK;
    if (fd < 0)
        status = fth_fail(error, cause == ENOENT ? FTH_NOT_FOUND : FTH_IO, "read", path, "%s",
                          strerror(cause));
    else if (!reader->path)
        status = fth_no_memory(error, "read", path);
    if (status == FTH_OK)
        status = refill(reader, sizeof magic, error);
    if (status == FTH_OK && reader->in.size >= sizeof magic &&
        memcmp(reader->chunk, magic, sizeof magic) == 0) {
        reader->stream = ZSTD_createDStream();
        if (!reader->stream || ZSTD_isError(ZSTD_DCtx_setParameter(
                                   reader->stream, ZSTD_d_windowLogMax, MAX_WINDOW_LOG)))
            status = fth_no_memory(error, "read", path);
    }
    if (status != FTH_OK) {
        fth_zreader_close(reader);
        return status;
    }
    *out = reader;
    return FTH_OK;
}

bool fth_file_is_compressed(int fd)
{
    unsigned char begin[sizeof magic];
    return pread(fd, begin, sizeof begin, 0) == (ssize_t)sizeof begin &&
           memcmp(begin, magic, sizeof magic) == 0;
}

enum fth_status fth_zreader_open(const char *path, struct fth_zreader **out,
                                 struct fth_error *error)
{
    if (strcmp(path, "-") == 0)
        return create_reader(dup(STDIN_FILENO), path, "standard input", out, error);
    return create_reader(open(path, O_RDONLY | O_CLOEXEC), path, path, out, error);
}

enum fth_status fth_zreader_attach(int fd, const char *name, struct fth_zreader **out,
                                   struct fth_error *error)
{
    return create_reader(fcntl(fd, F_DUPFD_CLOEXEC, 0), name, name, out, error);
}

enum fth_status fth_zreader_read(struct fth_zreader *reader, void *data, size_t size, size_t *got,
                                 struct fth_error *error)
{
    *got = 0;
    if (size == 0)
        return FTH_OK;
    for (;;) {
        if (reader->in.pos == reader->in.size && !reader->end) {
            FTH_TRY(refill(reader, 1, error));
        }
        size_t left = reader->in.size - reader->in.pos;
        if (!reader->stream) {
            *got = left < size ? left : size;
            memcpy(data, reader->chunk + reader->in.pos, *got);
            reader->in.pos += *got;
            return FTH_OK;
        }
        if (left == 0 && !reader->in_frame)
            return FTH_OK;
        ZSTD_outBuffer out = {data, size, 0};
        size_t hint = ZSTD_decompressStream(reader->stream, &out, &reader->in);
        if (ZSTD_getErrorCode(hint) == ZSTD_error_memory_allocation)
            return fth_no_memory(error, "read", reader->path);
        if (ZSTD_isError(hint))
            return fth_fail(error, FTH_INVALID, "read", reader->path, "zstd: %s",
                            ZSTD_getErrorName(hint));
        reader->in_frame = hint != 0;
        *got = out.pos;
        if (out.pos > 0)
            return FTH_OK;
        if (left == 0 && reader->end)
            return fth_fail(error, FTH_INVALID, "read", reader->path,
                            "the compressed data ends early; the file is truncated");
    }
}

void fth_zreader_close(struct fth_zreader *reader)
{
    if (!reader)
        return;
    ZSTD_freeDStream(reader->stream);
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader->path);
    free(reader);
}

struct fth_zwriter {
    struct fth_atomic_file *file;
    ZSTD_CStream *stream;
    char chunk[64 * 1024];
};

enum fth_status fth_zwriter_open(const char *path, int level, struct fth_zwriter **out,
                                 struct fth_error *error)
{
    *out = NULL;
    struct fth_zwriter *writer = calloc(1, sizeof *writer);
    if (!writer)
        return fth_no_memory(error, "write", path);
    enum fth_status status = fth_atomic_open(path, &writer->file, error);
    if (status == FTH_OK) {
        writer->stream = ZSTD_createCStream();
        if (!writer->stream ||
            ZSTD_isError(ZSTD_CCtx_setParameter(writer->stream, ZSTD_c_compressionLevel, level)) ||
            ZSTD_isError(ZSTD_CCtx_setParameter(writer->stream, ZSTD_c_checksumFlag, 1)))
            status = fth_no_memory(error, "write", path);
    }
    if (status != FTH_OK) {
        fth_zwriter_abort(writer);
        return status;
    }
    *out = writer;
    return FTH_OK;
}

static enum fth_status compress(struct fth_zwriter *writer, ZSTD_inBuffer *in,
                                ZSTD_EndDirective directive, struct fth_error *error)
{
    size_t left;
    do {
        ZSTD_outBuffer out = {writer->chunk, sizeof writer->chunk, 0};
        left = ZSTD_compressStream2(writer->stream, &out, in, directive);
        if (ZSTD_isError(left)) /* compressing fails for no other reason */
            return fth_no_memory(error, "compress", NULL);
        FTH_TRY(fth_atomic_write(writer->file, writer->chunk, out.pos, error));
    } while (directive == ZSTD_e_end ? left > 0 : in->pos < in->size);
    return FTH_OK;
}

enum fth_status fth_zwriter_write(struct fth_zwriter *writer, const void *data, size_t size,
                                  struct fth_error *error)
{
    ZSTD_inBuffer in = {data, size, 0};
    return compress(writer, &in, ZSTD_e_continue, error);
}

enum fth_status fth_zwriter_commit(struct fth_zwriter *writer, struct fth_error *error)
{
    ZSTD_inBuffer in = {NULL, 0, 0};
    enum fth_status status = compress(writer, &in, ZSTD_e_end, error);
    if (status == FTH_OK) {
        status = fth_atomic_commit(writer->file, error);
        writer->file = NULL;
    }
    fth_zwriter_abort(writer);
    return status;
}

void fth_zwriter_abort(struct fth_zwriter *writer)
{
    if (!writer)
        return;
    fth_atomic_abort(writer->file);
    ZSTD_freeCStream(writer->stream);
    free(writer);
}

enum fth_status fth_file_write_compressed(const char *path, const void *data, size_t size,
                                          struct fth_error *error)
{
    enum {
        LEVEL = 3
    }; /* the default of zstd: about ten times smaller JSON, faster than the disk */
    struct fth_zwriter *writer = NULL;
    FTH_TRY(fth_zwriter_open(path, LEVEL, &writer, error));
    enum fth_status status = fth_zwriter_write(writer, data, size, error);
    if (status == FTH_OK)
        return fth_zwriter_commit(writer, error);
    fth_zwriter_abort(writer);
    return status;
}
