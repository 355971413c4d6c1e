/* Requests and sectors of the workloads' traces against what an H200 counted when it ran the same
 * PTX (h200-counters.txt, where they come from and what a line means).
 *
 * usage: test_counters FILE [large]     large: also at the sizes that take a while */
#include "fathom/fathom.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 24, MOST_COUNTERS = 128, MOST_CHANGES = 64, COUNTS = 6 };

static const char *const count_names[COUNTS] = {"read requests",   "read sectors",
                                                "write requests",  "write sectors",
                                                "atomic requests", "atomic sectors"};

/* What the GPU counted in all launches of a kernel. */
struct counter {
    char workload[NAME], size[NAME], kernel[NAME];
    uint64_t launches, counts[COUNTS];
};

/* A memory instruction that the driver's compiler leaves away, or makes a different number of. */
struct change {
    char workload[NAME], kernel[NAME];
    uint32_t line; /* of the PTX */
    uint64_t times;
};

struct file {
    struct counter counters[MOST_COUNTERS];
    size_t counter_count;
    struct change changes[MOST_CHANGES];
    size_t change_count;
};

static void fail(const char *what, const struct fth_error *error)
{
    char text[600];
    printf("Bail out! %s: %s\n", what, error ? fth_error_text(error, text, sizeof text) : "");
    exit(1);
}

static void read_line(struct file *file, const char *line)
{
    struct counter *counter = &file->counters[file->counter_count];
    struct change *change = &file->changes[file->change_count];
    if (line[0] == '#' || line[0] == '\n')
        return;
    if (file->counter_count == MOST_COUNTERS || file->change_count == MOST_CHANGES)
        fail("too many lines", NULL);
    if (sscanf(line, "without %23s %23s %" SCNu32, change->workload, change->kernel,
               &change->line) == 3)
        file->change_count++;
    else if (sscanf(line,
                    "%23s %23s %23s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                    " %" SCNu64 " %" SCNu64,
                    counter->workload, counter->size, counter->kernel, &counter->launches,
                    &counter->counts[0], &counter->counts[1], &counter->counts[2],
                    &counter->counts[3], &counter->counts[4], &counter->counts[5]) == 10)
        file->counter_count++;
    else
        fail(line, NULL);
}
