/* Merges the files of several shards into one. The result has the header of the whole exploration
 * and all points in order. It is identical, byte for byte, to the file that one process would
 * write. */
#include "explore/explore.h"

#include <stdlib.h>
#include <string.h>

static const char operation[] = "merge";

struct merging {
    struct fth_points *parts;
    size_t count;
    size_t *part_of; /* [points] index of the part that has the point; SIZE_MAX: none */
};

static enum fth_status check_same_exploration(const struct merging *merging,
                                              const char *const *paths, struct fth_error *error)
{
    const struct fth_points *first = &merging->parts[0];
    for (size_t i = 1; i < merging->count; i++) {
        const struct fth_points *part = &merging->parts[i];
        if (part->identity != first->identity || part->header_points != first->header_points)
            return fth_fail(
                error, FTH_INVALID, operation, paths[i],
                "part of another exploration (%016llx) than %s (%016llx): traces, parameters, "
                "values or the version of fathom differ",
                (unsigned long long)part->identity, paths[0], (unsigned long long)first->identity);
    }
    return FTH_OK;
}

/* Finds the part that has each point. A point in several parts must be identical in all of them. */
static enum fth_status find_points(struct merging *merging, const char *const *paths,
                                   struct fth_error *error)
{
    const size_t points = merging->parts[0].header_points;
    merging->part_of = calloc(points + 1, sizeof *merging->part_of);
    if (!merging->part_of)
        return fth_no_memory(error, operation, NULL);
    for (size_t p = 0; p < points; p++) {
        merging->part_of[p] = SIZE_MAX;
        for (size_t i = 0; i < merging->count; i++) {
            const struct fth_points *part = &merging->parts[i];
            const size_t other = merging->part_of[p];
            if (!part->size[p])
                continue;
            if (other == SIZE_MAX) {
                merging->part_of[p] = i;
                continue;
            }
            const struct fth_points *before = &merging->parts[other];
            if (before->size[p] != part->size[p] ||
                memcmp(before->text.data + before->at[p], part->text.data + part->at[p],
                       part->size[p]) != 0)
                return fth_fail(error, FTH_INVALID, operation, paths[i],
                                "point %zu differs from the one in %s", p, paths[other]);
        }
    }
    return FTH_OK;
}

/* Appends the shards of which no file was given, at most eight by number. Appends nothing if the
 * parts come from different divisions into shards. */
static void list_missing_shards(const struct merging *merging, struct fth_buffer *list)
{
    const size_t shards = merging->parts[0].shards;
    size_t missing = 0;
    for (size_t i = 1; i < merging->count; i++)
        if (merging->parts[i].shards != shards)
            return;
    for (size_t shard = 1; shard <= shards; shard++) {
        bool here = false;
        for (size_t i = 0; i < merging->count; i++)
            here = here || merging->parts[i].shard == shard;
        if (!here && ++missing <= 8)
            fth_buffer_format(list, "%s%zu/%zu", missing == 1 ? "" : ", ", shard, shards);
    }
    if (missing > 8)
        fth_buffer_format(list, " and %zu more", missing - 8);
}

static enum fth_status check_complete(const struct merging *merging, struct fth_error *error)
{
    const size_t points = merging->parts[0].header_points;
    size_t missing = 0, first = 0;
    for (size_t p = points; p-- > 0;)
        if (merging->part_of[p] == SIZE_MAX) {
            missing++;
            first = p;
        }
    if (!missing)
        return FTH_OK;
    struct fth_buffer list = {0};
    list_missing_shards(merging, &list);
    enum fth_status status =
        list.failed ? fth_no_memory(error, operation, NULL)
        : list.size
            ? fth_fail(
                  error, FTH_INCONCLUSIVE, operation, NULL,
                  "%zu of %zu points are missing, the first is %zu: no file of shard %s was given",
                  missing, points, first, list.data)
            : fth_fail(
                  error, FTH_INCONCLUSIVE, operation, NULL,
                  "%zu of %zu points are missing, the first is %zu: a shard is not finished; run "
                  "its command again to continue",
                  missing, points, first);
    fth_buffer_fini(&list);
    return status;
}

/* Appends the header of the whole exploration: that of a part, without the shard. */
static void put_header(const struct fth_points *part, struct fth_buffer *out)
{
    struct fth_buffer header = {0};
    fth_buffer_append(&header, part->text.data, part->description_size);
    if (header.failed)
        out->failed = true;
    else
        fth_line_header(out, header.data, part->identity, 1, 1);
    fth_buffer_text(out, "\n");
    fth_buffer_fini(&header);
}

static void warn(const struct merging *merging, const char *const *paths, const struct fth_log *log)
{
    for (size_t i = 0; i < merging->count; i++) {
        const struct fth_points *part = &merging->parts[i];
        if (part->damaged)
            fth_log_message(log, FTH_LOG_WARNING, "%s: %zu line%s cut off or damaged, and ignored",
                            paths[i], part->damaged, part->damaged == 1 ? " is" : "s are");
        for (size_t k = 0; k < i; k++)
            if (merging->parts[k].shard == part->shard && merging->parts[k].shards == part->shards)
                fth_log_message(log, FTH_LOG_WARNING, "%s and %s both belong to shard %zu of %zu",
                                paths[k], paths[i], part->shard, part->shards);
    }
}

enum fth_status fth_points_join(struct fth_points *parts, const char *const *paths, size_t count,
                                bool partial, const struct fth_log *log, char **text, size_t *size,
                                struct fth_error *error)
{
    struct merging merging = {.parts = parts, .count = count};
    struct fth_buffer out = {0};
    FTH_TRY(check_same_exploration(&merging, paths, error));
    warn(&merging, paths, log);
    enum fth_status status = find_points(&merging, paths, error);
    if (status == FTH_OK && !partial)
        status = check_complete(&merging, error);
    if (status != FTH_OK)
        goto out;
    put_header(&merging.parts[0], &out);
    for (size_t p = 0; p < merging.parts[0].header_points; p++) {
        if (merging.part_of[p] == SIZE_MAX)
            continue;
        const struct fth_points *part = &merging.parts[merging.part_of[p]];
        fth_buffer_append(&out, part->text.data + part->at[p], part->size[p] + 1);
    }
    status = fth_buffer_take(&out, text, size, error);
out:
    fth_buffer_fini(&out);
    free(merging.part_of);
    return status;
}

enum fth_status fth_merge(const char *const *paths, size_t count,
                          const struct fth_merge_options *given, char **text, size_t *size,
                          struct fth_error *error)
{
    struct fth_merge_options options;
    size_t read = 0;
    uint64_t bytes = 0;
    *text = NULL;
    *size = 0;
    enum fth_status status =
        fth_options_read("fth_merge_options", given, &options, sizeof options, error);
    if (status != FTH_OK)
        return status;
    const uint64_t max_bytes = options.max_bytes ? options.max_bytes : FTH_MAX_POINTS_BYTES;
    if (count == 0)
        return fth_fail(error, FTH_INVALID, operation, NULL, "no files to merge");
    struct fth_points *parts = calloc(count, sizeof *parts);
    if (!parts)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        status = fth_points_read(paths[i], max_bytes, &parts[i], error);
        read += status == FTH_OK;
        bytes += status == FTH_OK ? parts[i].text.size : 0;
        if (bytes > max_bytes)
            status = fth_points_too_large("all files together", max_bytes, error);
    }
    if (status == FTH_OK)
        status =
            fth_points_join(parts, paths, count, options.partial, options.log, text, size, error);
    for (size_t i = 0; i < read; i++)
        fth_points_fini(&parts[i]);
    free(parts);
    return status;
}
