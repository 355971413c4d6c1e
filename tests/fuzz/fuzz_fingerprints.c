/* Fuzzes the reader of fingerprint documents (fth_exchange_read). Any input must be rejected with a
 * message, or its fingerprints can be compared with each other. */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Runs of a store are sorted by name. */
static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct fth_run *)a)->name, ((const struct fth_run *)b)->name);
}

static void compare_all(struct fth_runs *runs)
{
    size_t *found = calloc(runs->count + 1, sizeof *found);
    if (!found)
        abort();
    if (runs->count > 1)
        qsort(runs->items, runs->count, sizeof *runs->items, by_name);
    if (fth_leave_one_out(runs, found, NULL) != FTH_OK)
        abort();
    for (size_t i = 0; i < runs->count; i++)
        if (found[i] > runs->count)
            abort();
    free(found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MAX_RUNS = 32 };
    struct fth_runs runs = {.items = NULL};
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = fth_exchange_read("fuzz", (const char *)data, size, &runs, &error);
    if (status == FTH_OK && runs.count <= MAX_RUNS)
        compare_all(&runs);
    else if (status != FTH_OK && (!error.cause[0] || strchr(error.cause, '\n')))
        abort();
    fth_runs_fini(&runs);
    return 0;
}
