/* Opens an input and recognises what it is by its content: a trace, a trace of another tool, a
 * launch file, a capsule or PTX. The input is opened once and stays open, because a pipe can be
 * read only once, and because another program could replace the file in between. Standard input and
 * pipes are copied to a temporary file, so that all readers can seek. */
#include "capsule/capsule.h"
#include "fatbin/fatbin.h"
#include "ptx/ptx.h"
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The number of bytes at the beginning of a file that its format is recognised by. Chosen: the
 * first character that is neither a blank nor a separator of tuples suffices. */
enum { PREFIX_BYTES = 64 * 1024 };
/* Maximum size in bytes of what is copied from a pipe to a temporary file. Chosen: a trace of about
 * five billion accesses, and less than most disks have free. */
#define MAX_PIPE_BYTES ((uint64_t)16 << 30)

/* Returns the first of the `size` characters that is not in `set`; '\0' if there is none. */
static char first_except(const char *text, size_t size, const char *set)
{
    size_t at = 0;
    while (at < size && text[at] && strchr(set, text[at]))
        at++;
    return at < size ? text[at] : '\0';
}

/* Returns the kind of an input. Fat binaries and ELF files contain PTX. In a text, blank lines
 * before the first line are ignored.
 *
 *     -kernel name = …     .traceg files begin with header lines, which begin with a dash
 *     # …                  a comment of a text trace
 *     {0, 1, 1, 0, 260}    a tuple: numbers, after any number of separators
 *     {"schema": …         JSON; only launch files are JSON
 *     // …   .version …    PTX */
static enum fth_trace_input_kind recognise(const char *text, size_t size)
{
    static const char blanks[] = " \t\r\n";
    if (size >= sizeof FTH_TRACE_MAGIC - 1 &&
        memcmp(text, FTH_TRACE_MAGIC, sizeof FTH_TRACE_MAGIC - 1) == 0)
        return FTH_INPUT_TRACE;
    if (size >= sizeof FTH_CAPSULE_MAGIC - 1 &&
        memcmp(text, FTH_CAPSULE_MAGIC, sizeof FTH_CAPSULE_MAGIC - 1) == 0)
        return FTH_INPUT_CAPSULE;
    if (fth_fatbin_is_image(text, size))
        return FTH_INPUT_PTX;
    switch (first_except(text, size, blanks)) {
    case '-': return FTH_INPUT_TRACEG;
    case '#': return FTH_INPUT_TUPLES;
    case '[': return FTH_INPUT_LAUNCH;
    case '.':
    case '/': return FTH_INPUT_PTX;
    default: break;
    }
    const char digit = first_except(text, size, " \t\r\n,{}()");
    if (digit >= '0' && digit <= '9')
        return FTH_INPUT_TUPLES;
    return first_except(text, size, blanks) == '{' ? FTH_INPUT_LAUNCH : FTH_INPUT_UNKNOWN;
}

/* Copies the rest of `fd` to a temporary file, and replaces `fd` by it. */
static enum fth_status copy_to_temporary(struct fth_trace_input *input, const struct fth_log *log,
                                         struct fth_error *error)
{
    struct fth_atomic_file *copy = NULL;
    char chunk[PREFIX_BYTES];
    uint64_t bytes = 0;
    int fd;
    FTH_TRY(fth_temporary_open(&fd, error));
    enum fth_status status = fth_atomic_attach(fd, "temporary file", &copy, error);
    while (status == FTH_OK) {
        const ssize_t got = read(input->fd, chunk, sizeof chunk);
        if (fth_log_interrupted(log))
            status = fth_fail(error, FTH_INTERRUPTED, "read", input->name, "interrupted");
        else if (got > 0 && (bytes += (uint64_t)got) > MAX_PIPE_BYTES)
            status = fth_file_too_large(
                input->name, FTH_FILE_LIMIT("input from a pipe", (size_t)MAX_PIPE_BYTES), error);
        else if (got > 0)
            status = fth_atomic_write(copy, chunk, (size_t)got, error);
        else if (got == 0)
            break;
        else if (errno != EINTR)
            status = fth_fail(error, FTH_IO, "read", input->name, "%s", strerror(errno));
    }
    fth_atomic_abort(copy); /* closes its own descriptor; the file has no name to be removed */
    close(input->fd);
    input->fd = fd;
    return status;
}

enum fth_status fth_trace_input_rewind(const struct fth_trace_input *input, struct fth_error *error)
{
    if (lseek(input->fd, 0, SEEK_SET) == 0)
        return FTH_OK;
    return fth_fail(error, FTH_IO, "read", input->name, "%s", strerror(errno));
}

enum fth_status fth_trace_input_read(const struct fth_trace_input *input,
                                     const struct fth_file_limit *limit, struct fth_buffer *content,
                                     struct fth_error *error)
{
    FTH_TRY(fth_trace_input_rewind(input, error));
    return fth_file_read_open(input->fd, input->name, limit, content, error);
}

/* Reads the beginning of the input, which may be compressed, and sets its kind. */
static enum fth_status find_kind(struct fth_trace_input *input, struct fth_error *error)
{
    char prefix[PREFIX_BYTES];
    size_t size = 0, got = 1;
    struct fth_zreader *reader;
    FTH_TRY(fth_trace_input_rewind(input, error));
    FTH_TRY(fth_zreader_attach(input->fd, input->name, &reader, error));
    enum fth_status status = FTH_OK;
    while (status == FTH_OK && got > 0 && size < sizeof prefix) {
        status = fth_zreader_read(reader, prefix + size, sizeof prefix - size, &got, error);
        size += got;
    }
    fth_zreader_close(reader);
    if (status == FTH_OK) {
        input->kind = recognise(prefix, size);
        input->binary = input->kind == FTH_INPUT_UNKNOWN && fth_ptx_is_binary(prefix, size);
    }
    return status;
}

enum fth_status fth_trace_input_open(const char *path, const struct fth_log *log,
                                     struct fth_trace_input *input, struct fth_error *error)
{
    const bool standard_input = strcmp(path, "-") == 0;
    *input = (struct fth_trace_input){.path = path,
                                      .name = standard_input ? "standard input" : path,
                                      .fd = standard_input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                                           : open(path, O_RDONLY | O_CLOEXEC)};
    if (input->fd < 0)
        return fth_fail(error, errno == ENOENT ? FTH_NOT_FOUND : FTH_IO, "read", path, "%s",
                        strerror(errno));
    enum fth_status status = FTH_OK;
    /* A pipe has no position. Of a redirected file, earlier readers may have used a part. */
    if (lseek(input->fd, 0, SEEK_CUR) != 0)
        status = copy_to_temporary(input, log, error);
    if (status == FTH_OK)
        status = find_kind(input, error);
    if (status != FTH_OK)
        fth_trace_input_close(input);
    return status;
}

void fth_trace_input_close(struct fth_trace_input *input)
{
    if (input->fd >= 0)
        close(input->fd);
    input->fd = -1;
}
