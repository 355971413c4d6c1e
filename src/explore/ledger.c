/* The file of finished points: a header that says what is explored, and a line for each point, in
 * the order in which they are finished until all are there and are put in theirs. A line is on disk
 * before the next is begun, so that a process that is killed loses the points it was at. Only one
 * process writes a file at a time; what it finds there that is not whole, or another exploration's,
 * it tells and leaves. */
#define _GNU_SOURCE /* statx: stat and fstat are not exported by glibc before 2.33 */
#include "explore/explore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST_FILE (SIZE_MAX / 4)

/* ---- reading ---- */

void fth_points_fini(struct fth_points *points)
{
    fth_buffer_fini(&points->text);
    free(points->at);
    free(points->size);
    *points = (struct fth_points){0};
}

/* The exploration is named by a checksum of what stands before its name: how long that is, or 0
 * where it is not so. */
static size_t find_description(const char *line, size_t size, uint64_t *identity)
{
    static const char mark[] = ",\"exploration\":\"";
    for (size_t at = size > sizeof mark ? size - sizeof mark : 0; at > 0; at--) {
        if (memcmp(line + at, mark, sizeof mark - 1) != 0)
            continue;
        *identity = strtoull(line + at + sizeof mark - 1, NULL, 16);
        return *identity == fth_line_checksum(line, at, FTH_LINE_START) ? at : 0;
    }
    return 0;
}

static enum fth_status read_header(const char *path, struct fth_points *points,
                                   struct fth_error *error)
{
    const char *end = points->text.size ? memchr(points->text.data, '\n', points->text.size) : NULL;
    const size_t size = end ? (size_t)(end - points->text.data) : 0;
    if (!end || !fth_line_sealed(points->text.data, size))
        return fth_fail(error, FTH_INVALID, "read points", path,
                        "it does not begin as a file of 'fathom explore' does");
    json_t *root = NULL;
    enum fth_status status = fth_json_parse(path, points->text.data, size, &root, error);
    if (status != FTH_OK)
        return status;
    const char *shard = json_string_value(json_object_get(root, "shard"));
    const json_int_t count = json_integer_value(json_object_get(root, "points"));
    points->header_size = size;
    points->description_size = find_description(points->text.data, size, &points->identity);
    struct fth_shard part = {1, 1, NULL};
    if (!points->description_size || (shard && fth_shard_parse(shard, &part, NULL) != FTH_OK) ||
        count < 1 || count > FTH_MAX_POINTS)
        status = fth_fail(error, FTH_INVALID, "read points", path, "its header makes no sense");
    points->header_points = (size_t)count;
    points->shard = part.number;
    points->shards = part.count;
    json_decref(root);
    return status;
}

/* Notes where the lines are; the first of several for a point counts. */
static void find_lines(struct fth_points *points)
{
    const char *data = points->text.data;
    size_t at = points->header_size + 1;
    while (at < points->text.size) {
        const char *end = memchr(data + at, '\n', points->text.size - at);
        const size_t size = end ? (size_t)(end - data) - at : 0;
        const size_t point =
            end && fth_line_sealed(data + at, size) ? fth_line_point(data + at, size) : SIZE_MAX;
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
        if (!points->at || !points->size) {
            fth_fail(error, FTH_NO_MEMORY, "read points", path, "out of memory");
            status = FTH_NO_MEMORY;
        }
    }
    if (status == FTH_OK)
        find_lines(points);
    else
        fth_points_fini(points);
    return status;
}

enum fth_status fth_points_read(const char *path, struct fth_points *points,
                                struct fth_error *error)
{
    struct fth_buffer text = {0};
    *points = (struct fth_points){0};
    enum fth_status status = fth_file_read(path, LARGEST_FILE, &text, error);
    if (status == FTH_OK)
        status = fth_points_parse(path, &text, points, error);
    fth_buffer_fini(&text);
    return status;
}

/* ---- writing ---- */

struct fth_ledger {
    char *path; /* NULL: only in memory */
    int fd;
    bool regular, ordered;
    off_t bytes; /* of the file, all whole lines */
    char *header;
    size_t header_size;
    char **lines; /* [points] */
    size_t *sizes;
    size_t points, count, last;
};

static enum fth_status fail_write(const struct fth_ledger *store, struct fth_error *error)
{
    return fth_fail(error, FTH_IO, "write", store->path,
                    "%s; %zu points are kept there, and the same command goes on from them",
                    strerror(errno), store->count);
}

/* A line and its end, or nothing of it. */
static bool append(struct fth_ledger *store, const char *line, size_t size)
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
        const ssize_t wrote = write(store->fd, whole + done, size + 1 - done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            break;
        done += (size_t)wrote;
    }
    const bool kept = done == size + 1 && (!store->regular || fdatasync(store->fd) == 0);
    free(whole);
    if (kept) {
        store->bytes += (off_t)size + 1;
    } else if (store->regular) {
        const int cause = errno;
        if (ftruncate(store->fd, store->bytes) == 0)
            (void)lseek(store->fd, store->bytes, SEEK_SET);
        errno = cause;
    }
    return kept;
}

/* Whether a file is as it would be written: one point behind the other, in their order. */
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

/* What a file that is there already holds. */
static enum fth_status take_up(struct fth_ledger *store, const struct fth_exploration *exploration,
                               size_t shard, size_t shards, const struct fth_log *log,
                               struct fth_error *error)
{
    struct fth_points points;
    enum fth_status status = fth_points_read(store->path, &points, error);
    if (status != FTH_OK)
        return status;
    if (points.identity != exploration->identity || points.header_points != exploration->points)
        status = fth_fail(error, FTH_INVALID, "explore", store->path,
                          "it holds another exploration (%016llx, this is %016llx): other traces, "
                          "parameters or values, or another fathom; -o can name another file",
                          (unsigned long long)points.identity,
                          (unsigned long long)exploration->identity);
    else if (points.shard != shard || points.shards != shards)
        status = fth_fail(error, FTH_INVALID, "explore", store->path,
                          "it holds shard %zu of %zu, and this is %zu of %zu", points.shard,
                          points.shards, shard, shards);
    for (size_t i = 0; i < points.header_points && status == FTH_OK; i++) {
        if (!points.size[i])
            continue;
        store->lines[i] = malloc(points.size[i] + 1);
        if (!store->lines[i]) {
            status = fth_fail(error, FTH_NO_MEMORY, "explore", store->path, "out of memory");
            break;
        }
        memcpy(store->lines[i], points.text.data + points.at[i], points.size[i]);
        store->sizes[i] = points.size[i];
        store->count++;
    }
    if (status == FTH_OK && points.damaged)
        fth_log_message(log, FTH_LOG_WARNING,
                        "%s: %zu line%s cut off or damaged; what stood there is computed again",
                        store->path, points.damaged, points.damaged == 1 ? " is" : "s are");
    if (status == FTH_OK) {
        store->ordered = in_order(&points, &store->last);
        store->bytes = (off_t)points.good_bytes;
        if (ftruncate(store->fd, store->bytes) != 0 || lseek(store->fd, store->bytes, SEEK_SET) < 0)
            status = fail_write(store, error);
    }
    fth_points_fini(&points);
    return status;
}

static enum fth_status open_file(struct fth_ledger *store,
                                 const struct fth_exploration *exploration, size_t shard,
                                 size_t shards, const struct fth_log *log, struct fth_error *error)
{
    struct statx info;
    store->fd = open(store->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (store->fd < 0 || statx(store->fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE, &info) != 0)
        return fth_fail(error, FTH_IO, "write", store->path, "%s", strerror(errno));
    store->regular = S_ISREG(info.stx_mode);
    if (store->regular && flock(store->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return fth_fail(error, FTH_IO, "explore", store->path,
                        "another process is writing it: was this shard started twice?");
    if (store->regular && info.stx_size > 0)
        return take_up(store, exploration, shard, shards, log, error);
    return append(store, store->header, store->header_size) ? FTH_OK : fail_write(store, error);
}

enum fth_status fth_ledger_open(const struct fth_exploration *exploration, const char *path,
                                size_t shard, size_t shards, const struct fth_log *log,
                                struct fth_ledger **out, struct fth_error *error)
{
    struct fth_ledger *store = calloc(1, sizeof *store);
    struct fth_buffer header = {0};
    *out = NULL;
    if (!store)
        return fth_fail(error, FTH_NO_MEMORY, "explore", path, "out of memory");
    store->fd = -1;
    store->ordered = true;
    store->points = exploration->points;
    store->lines = calloc(store->points, sizeof *store->lines);
    store->sizes = calloc(store->points, sizeof *store->sizes);
    store->path = path ? strdup(path) : NULL;
    enum fth_status status = FTH_OK;
    if (!store->lines || !store->sizes || (path && !store->path))
        status = fth_fail(error, FTH_NO_MEMORY, "explore", path, "out of memory");
    fth_line_header(&header, exploration->header, exploration->identity, shard, shards);
    if (status == FTH_OK)
        status = fth_buffer_take(&header, &store->header, &store->header_size, error);
    if (status == FTH_OK && path)
        status = open_file(store, exploration, shard, shards, log, error);
    fth_buffer_fini(&header);
    if (status == FTH_OK)
        *out = store;
    else
        fth_ledger_close(store);
    return status;
}

bool fth_ledger_has(const struct fth_ledger *store, size_t point)
{
    return store->lines[point] != NULL;
}

size_t fth_ledger_count(const struct fth_ledger *store)
{
    return store->count;
}

enum fth_status fth_ledger_add(struct fth_ledger *store, size_t point, char *line, size_t size,
                               struct fth_error *error)
{
    if (store->path && store->regular && !append(store, line, size)) {
        free(line);
        return fail_write(store, error);
    }
    store->ordered = store->ordered && point >= store->last;
    store->last = point;
    store->lines[point] = line;
    store->sizes[point] = size;
    store->count++;
    return FTH_OK;
}

void fth_ledger_text(const struct fth_ledger *store, struct fth_buffer *out)
{
    fth_buffer_append(out, store->header, store->header_size);
    fth_buffer_text(out, "\n");
    for (size_t i = 0; i < store->points; i++)
        if (store->lines[i]) {
            fth_buffer_append(out, store->lines[i], store->sizes[i]);
            fth_buffer_text(out, "\n");
        }
}

/* What is no regular file has the header already. */
enum fth_status fth_ledger_finish(struct fth_ledger *store, struct fth_error *error)
{
    struct fth_buffer text = {0};
    if (!store->path || (store->regular && store->ordered))
        return FTH_OK;
    fth_ledger_text(store, &text);
    const size_t from = store->regular ? 0 : store->header_size + 1;
    enum fth_status status =
        text.failed ? fth_fail(error, FTH_NO_MEMORY, "write", store->path, "out of memory")
                    : fth_file_write(store->path, text.data + from, text.size - from, error);
    fth_buffer_fini(&text);
    return status;
}

void fth_ledger_close(struct fth_ledger *store)
{
    if (!store)
        return;
    if (store->fd >= 0)
        close(store->fd);
    for (size_t i = 0; store->lines && i < store->points; i++)
        free(store->lines[i]);
    free(store->lines);
    free(store->sizes);
    free(store->header);
    free(store->path);
    free(store);
}
