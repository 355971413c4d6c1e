/* Lists the enrolled GPUs and, on request, how many runs of each are identified correctly when they
 * are left out (see fth_leave_one_out). */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

static const char operation[] = "list";

/* Calls `each` for the GPU whose runs begin at `first`. `found` is the result of fth_leave_one_out,
 * or NULL.
 */
static void report_gpu(const struct fth_runs *runs, size_t first, const size_t *found,
                       void (*each)(void *user, const struct fth_enrolled *enrolled), void *user)
{
    const size_t end = fth_runs_end(runs, first);
    const struct fth_run *run = &runs->items[first];
    struct fth_enrolled enrolled = {.name = run->name,
                                    .device = run->device,
                                    .uuid = run->uuid,
                                    .driver = runs->items[end - 1].driver,
                                    .runs = end - first};
    int64_t earliest = INT64_MAX, latest = INT64_MIN;
    for (size_t i = first; i < end; i++) {
        earliest = runs->items[i].time < earliest ? runs->items[i].time : earliest;
        latest = runs->items[i].time > latest ? runs->items[i].time : latest;
        if (!found)
            continue;
        enrolled.right += found[i] == first;
        enrolled.refused += found[i] == runs->count;
        enrolled.wrong += found[i] != first && found[i] != runs->count;
    }
    fth_time_write(earliest, enrolled.first_time);
    fth_time_write(latest, enrolled.last_time);
    each(user, &enrolled);
}

enum fth_status fth_store_list(struct fth_store *store, bool accuracy,
                               void (*each)(void *user, const struct fth_enrolled *enrolled),
                               void *user, struct fth_error *error)
{
    struct fth_runs runs = {.items = NULL};
    size_t *found = NULL;
    enum fth_status status = fth_store_read(store, operation, &runs, error);
    if (status == FTH_OK && accuracy && runs.count > 0) {
        found = calloc(runs.count, sizeof *found);
        status = found ? fth_leave_one_out(&runs, found, error)
                       : fth_no_memory(error, operation, store->path);
    }
    for (size_t i = 0; i < runs.count && status == FTH_OK; i = fth_runs_end(&runs, i))
        report_gpu(&runs, i, found, each, user);
    free(found);
    fth_runs_fini(&runs);
    return status;
}
