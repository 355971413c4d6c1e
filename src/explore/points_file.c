/* The file of finished points: a header that describes the exploration, and one line per point.
 * Lines are appended in the order in which points are finished; when all are there, the file is
 * rewritten in the order of the points. Each line is on disk before the next one is written, so a
 * process that is killed loses only the points that it was computing. A lock ensures that one
 * process writes a file at a time. Damaged lines are reported, and their points computed again. The
 * file of another exploration is refused and left unchanged. */
#define _GNU_SOURCE /* statx: stat and fstat are not exported by glibc before 2.33 */
#include "base/json.h"
#include "explore/explore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---- */

void fth_points_fini(struct fth_points *points)
{
    fth_buffer_fini(&points->text);
    free(points->at);
    free(points->size);
    *points = (struct fth_points){0};
}

/* Finds the identity of the exploration in a header line. It is a checksum of the text before it.
 * Returns the size of that text, or 0 if there is no identity or the checksum is wrong. */
static size_t find_description(const char *line, size_t size, uint64_t *identity)
{
    static const char separator[] = ",\"exploration\":\"";
    for (size_t at = size > sizeof separator ? size - sizeof separator : 0; at > 0; at--) {
        if (memcmp(line + at, separator, sizeof separator - 1) != 0)
            continue;
        *identity = strtoull(line + at + sizeof separator - 1, NULL, 16);
        return *identity == fth_line_checksum(line, at, FTH_LINE_START) ? at : 0;
    }
    return 0;
}

static enum fth_status read_header(const char *path, struct fth_points *points,
                                   struct fth_error *error)
{
    const char *end = points->text.size ? memchr(points->text.data, '\n', points->text.size) : NULL;
    const size_t size = end ? (size_t)(end - points->text.data) : 0;
    if (!end || !fth_line_verify(points->text.data, size))
        return fth_fail(error, FTH_INVALID, "read points", path,
                        "not a file of 'fathom explore': its first line is missing or damaged");
    struct fth_json_document document = {0};
    FTH_TRY(fth_json_parse(path, points->text.data, size, &document, error));
    enum fth_status status = FTH_OK;
    const char *shard = fth_json_string(fth_json_get(document.root, "shard"));
    const int64_t count = fth_json_integer(fth_json_get(document.root, "points"));
    points->header_size = size;
    points->description_size = find_description(points->text.data, size, &points->identity);
    struct fth_shard part = {1, 1, NULL};
    if (!points->description_size || (shard && fth_shard_parse(shard, &part, NULL) != FTH_OK) ||
        count < 1 || count > FTH_MAX_POINTS)
        status = fth_fail(error, FTH_INVALID, "read points", path, "its header is not valid");
    points->header_points = (size_t)count;
    points->shard = part.number;
    points->shards = part.count;
    fth_json_fini(&document);
    return status;
}

/* Finds the line of each point. If a point has several lines, the first one counts. */
static void find_lines(struct fth_points *points)
{
    const char *data = points->text.data;
    size_t at = points->header_size + 1;
    while (at < points->text.size) {
        const char *end = memchr(data + at, '\n', points->text.size - at);
        const size_t size = end ? (size_t)(end - data) - at : 0;
        const size_t point =
            end && fth_line_verify(data + at, size) ? fth_line_point(data + at, size) : SIZE_MAX;
        if (!end) {
            points->damaged++;
            break;
        }
        if (point >= points->header_points) {
            points->damaged++;
        } else if (!points->size[point]) {
            points->at[point] = at;
            points->size[point] = size;
            points->found++;
        }
        at += size + 1;
    }
    points->good_bytes = at;
}

enum fth_status fth_points_parse(const char *path, struct fth_buffer *text,
                                 struct fth_points *points, struct fth_error *error)
{
    *points = (struct fth_points){.text = *text};
    *text = (struct fth_buffer){0};
    enum fth_status status = read_header(path, points, error);
    if (status == FTH_OK) {
        points->at = calloc(points->header_points, sizeof *points->at);
        points->size = calloc(points->header_points, sizeof *points->size);
        if (!points->at || !points->size)
            status = fth_no_memory(error, "read points", path);
    }
    if (status == FTH_OK)
        find_lines(points);
    else
        fth_points_fini(points);
    return status;
}

static struct fth_file_limit limit_of(uint64_t max_bytes)
{
    return (struct fth_file_limit){"files of points", (size_t)max_bytes, "--max-bytes"};
}

enum fth_status fth_points_too_large(const char *name, uint64_t max_bytes, struct fth_error *error)
{
    const struct fth_file_limit limit = limit_of(max_bytes);
    return fth_file_too_large(name, &limit, error);
}

enum fth_status fth_points_read(const char *path, uint64_t max_bytes, struct fth_points *points,
                                struct fth_error *error)
{
    const struct fth_file_limit limit = limit_of(max_bytes);
    struct fth_buffer text = {0};
    *points = (struct fth_points){0};
    enum fth_status status = fth_file_read(path, &limit, &text, error);
    if (status == FTH_OK)
        status = fth_points_parse(path, &text, points, error);
    fth_buffer_fini(&text);
    return status;
}

/* ---- writing ---- */

struct fth_output {
    char *path; /* NULL: only in memory */
    int fd;
    bool regular, ordered; /* a regular file; its points are in order */
    off_t bytes;           /* size of the file, which ends with a complete line */
    char *header;
    size_t header_size;
    char **lines; /* [points], owned; NULL: not finished */
    size_t *sizes;
    size_t points, count, last; /* all points; finished ones; the one added last */
};

static enum fth_status fail_write(const struct fth_output *output, struct fth_error *error)
{
    return fth_fail(error, FTH_IO, "write", output->path,
                    "%s; %zu points are saved in it; run the same command again to continue",
                    strerror(errno), output->count);
}

/* Appends a line with its line break and syncs the file. After a failure the file is truncated to
 * its previous size, and errno is the cause. */
static bool append(struct fth_output *output, const char *line, size_t size)
{
    char *whole = malloc(size + 1);
    if (!whole) {
        errno = ENOMEM;
        return false;
    }
    memcpy(whole, line, size);
    whole[size] = '\n';
    size_t done = 0;
    while (done < size + 1) {
        const ssize_t wrote = write(output->fd, whole + done, size + 1 - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            break;
        done += (size_t)wrote;
    }
    const bool kept = done == size + 1 && (!output->regular || fdatasync(output->fd) == 0);
    free(whole);
    if (kept) {
        output->bytes += (off_t)size + 1;
    } else if (output->regular) {
        const int cause = errno;
        if (ftruncate(output->fd, output->bytes) == 0)
            (void)lseek(output->fd, output->bytes, SEEK_SET);
        errno = cause;
    }
    return kept;
}

/* Returns whether the lines of a file are in the order of their points, without gaps. *last gets
 * the last point. */
static bool in_order(const struct fth_points *points, size_t *last)
{
    size_t at = points->header_size + 1;
    for (size_t i = 0; i < points->header_points; i++) {
        if (!points->size[i])
            continue;
        if (points->at[i] != at)
            return false;
        at += points->size[i] + 1;
        *last = i;
    }
    return at == points->good_bytes;
}

/* Checks that a file contains points of this shard of this exploration. */
static enum fth_status check_points(const struct fth_output *output,
                                    const struct fth_points *points,
                                    const struct fth_exploration *exploration,
                                    const struct fth_output_plan *plan, struct fth_error *error)
{
    if (points->identity != exploration->identity || points->header_points != exploration->points)
        return fth_fail(
            error, FTH_INVALID, "explore", output->path,
            "it holds another exploration (%016llx, not %016llx): traces, parameters, values "
            "or the version of fathom differ; choose another file with -o",
            (unsigned long long)points->identity, (unsigned long long)exploration->identity);
    if (points->shard != plan->shard || points->shards != plan->shards)
        return fth_fail(error, FTH_INVALID, "explore", output->path,
                        "it holds shard %zu of %zu, but this is shard %zu of %zu", points->shard,
                        points->shards, plan->shard, plan->shards);
    return FTH_OK;
}

/* Copies the lines of the points. */
static enum fth_status copy_lines(struct fth_output *output, const struct fth_points *points,
                                  struct fth_error *error)
{
    for (size_t i = 0; i < points->header_points; i++) {
        if (!points->size[i])
            continue;
        output->lines[i] = malloc(points->size[i] + 1);
        if (!output->lines[i])
            return fth_no_memory(error, "explore", output->path);
        memcpy(output->lines[i], points->text.data + points->at[i], points->size[i]);
        output->sizes[i] = points->size[i];
        output->count++;
    }
    return FTH_OK;
}

/* Loads the points of an existing file, and truncates it after its last complete line. A compressed
 * file is refused: lines cannot be appended to it. */
static enum fth_status resume(struct fth_output *output, const struct fth_exploration *exploration,
                              const struct fth_output_plan *plan, struct fth_error *error)
{
    struct fth_points points;
    if (fth_file_is_compressed(output->fd))
        return fth_fail(error, FTH_INVALID, "explore", output->path,
                        "points cannot be added to a compressed file; decompress it with 'zstd -d' "
                        "or choose another file with -o");
    FTH_TRY(fth_points_read(output->path, plan->max_bytes, &points, error));
    enum fth_status status = check_points(output, &points, exploration, plan, error);
    if (status == FTH_OK)
        status = copy_lines(output, &points, error);
    if (status != FTH_OK)
        goto out;
    if (points.damaged)
        fth_log_message(plan->log, FTH_LOG_WARNING,
                        "%s: %zu line%s cut off or damaged; these points are computed again",
                        output->path, points.damaged, points.damaged == 1 ? " is" : "s are");
    output->ordered = in_order(&points, &output->last);
    output->bytes = (off_t)points.good_bytes;
    if (ftruncate(output->fd, output->bytes) != 0 || lseek(output->fd, output->bytes, SEEK_SET) < 0)
        status = fail_write(output, error);
out:
    fth_points_fini(&points);
    return status;
}

static enum fth_status open_file(struct fth_output *output,
                                 const struct fth_exploration *exploration,
                                 const struct fth_output_plan *plan, struct fth_error *error)
{
    struct statx info;
    output->fd = open(output->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (output->fd < 0 || statx(output->fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE, &info) != 0)
        return fth_fail(error, FTH_IO, "write", output->path, "%s", strerror(errno));
    output->regular = S_ISREG(info.stx_mode);
    if (output->regular && flock(output->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return fth_fail(error, FTH_UNAVAILABLE, "explore", output->path,
                        "another process is writing to it; was this shard started twice?");
    if (output->regular && info.stx_size > 0)
        return resume(output, exploration, plan, error);
    return append(output, output->header, output->header_size) ? FTH_OK : fail_write(output, error);
}

enum fth_status fth_output_open(const struct fth_exploration *exploration,
                                const struct fth_output_plan *plan, struct fth_output **out,
                                struct fth_error *error)
{
    const char *path = plan->path;
    struct fth_output *output = calloc(1, sizeof *output);
    struct fth_buffer header = {0};
    *out = NULL;
    if (!output)
        return fth_no_memory(error, "explore", path);
    output->fd = -1;
    output->ordered = true;
    output->points = exploration->points;
    output->lines = calloc(output->points, sizeof *output->lines);
    output->sizes = calloc(output->points, sizeof *output->sizes);
    output->path = path ? strdup(path) : NULL;
    enum fth_status status = FTH_OK;
    if (!output->lines || !output->sizes || (path && !output->path))
        status = fth_no_memory(error, "explore", path);
    fth_line_header(&header, exploration->header, exploration->identity, plan->shard, plan->shards);
    if (status == FTH_OK)
        status = fth_buffer_take(&header, &output->header, &output->header_size, error);
    if (status == FTH_OK && path)
        status = open_file(output, exploration, plan, error);
    fth_buffer_fini(&header);
    if (status == FTH_OK)
        *out = output;
    else
        fth_output_close(output);
    return status;
}

bool fth_output_has(const struct fth_output *output, size_t point)
{
    return output->lines[point] != NULL;
}

size_t fth_output_count(const struct fth_output *output)
{
    return output->count;
}

const char *fth_output_line(const struct fth_output *output, size_t point, size_t *size)
{
    *size = output->sizes[point];
    return output->lines[point];
}

enum fth_status fth_output_add(struct fth_output *output, size_t point, char *line, size_t size,
                               struct fth_error *error)
{
    if (output->path && output->regular && !append(output, line, size)) {
        free(line);
        return fail_write(output, error);
    }
    output->ordered = output->ordered && point >= output->last;
    output->last = point;
    output->lines[point] = line;
    output->sizes[point] = size;
    output->count++;
    return FTH_OK;
}

void fth_output_text(const struct fth_output *output, struct fth_buffer *out)
{
    fth_buffer_append(out, output->header, output->header_size);
    fth_buffer_text(out, "\n");
    for (size_t i = 0; i < output->points; i++)
        if (output->lines[i]) {
            fth_buffer_append(out, output->lines[i], output->sizes[i]);
            fth_buffer_text(out, "\n");
        }
}

/* A file that is not regular, such as a pipe, has got only the header so far. */
enum fth_status fth_output_finish(struct fth_output *output, struct fth_error *error)
{
    struct fth_buffer text = {0};
    if (!output->path || (output->regular && output->ordered))
        return FTH_OK;
    fth_output_text(output, &text);
    const size_t from = output->regular ? 0 : output->header_size + 1;
    enum fth_status status =
        text.failed ? fth_no_memory(error, "write", output->path)
                    : fth_file_write(output->path, text.data + from, text.size - from, error);
    fth_buffer_fini(&text);
    return status;
}

void fth_output_close(struct fth_output *output)
{
    if (!output)
        return;
    if (output->fd >= 0)
        close(output->fd);
    for (size_t i = 0; output->lines && i < output->points; i++)
        free(output->lines[i]);
    free(output->lines);
    free(output->sizes);
    free(output->header);
    free(output->path);
    free(output);
}
