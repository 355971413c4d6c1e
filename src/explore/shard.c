/* Finds which shard of an exploration this process is, from the environment variables that its
 * launcher sets: Open MPI's mpirun, launchers with PMI or PMIx (MPICH, Intel MPI, Cray, srun
 * --mpi), Slurm's srun, and Slurm's job arrays. fathom does not link against MPI. */
#include "explore/explore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *who, *rank, *size, *only_with;
} launchers[] = {
    /* the first whose variables are set is used */
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL},
    {"PMI", "PMI_RANK", "PMI_SIZE", NULL},
    /* PMIx does not set the number of processes; srun does. */
    {"PMIx", "PMIX_RANK", "SLURM_NTASKS", NULL},
    /* SLURM_PROCID is also set, to 0, in a batch script outside srun. */
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID"},
};

/* Reads a whole number from an environment variable. Returns false if it is unset or not a number.
 */
static bool read_variable(const char *name, uint64_t *number)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text || *text == '-')
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !*end && !errno;
}

/* Divides the work further among the tasks of a Slurm job array. Their IDs begin at
 * SLURM_ARRAY_TASK_MIN and increase by SLURM_ARRAY_TASK_STEP. */
static enum fth_status apply_array(struct fth_shard *shard, struct fth_error *error)
{
    uint64_t id, count, first = 0, step;
    if (!read_variable("SLURM_ARRAY_TASK_ID", &id) ||
        !read_variable("SLURM_ARRAY_TASK_COUNT", &count))
        return FTH_OK;
    read_variable("SLURM_ARRAY_TASK_MIN", &first);
    if (!read_variable("SLURM_ARRAY_TASK_STEP", &step) || step == 0)
        step = 1;
    if (id < first || (id - first) % step || (id - first) / step >= count)
        return fth_fail(error, FTH_INVALID, "find shard", "SLURM_ARRAY_TASK_ID",
                        "the %llu IDs of the array are not evenly spaced; pass --shard I/N instead",
                        (unsigned long long)count);
    const uint64_t at = (id - first) / step;
    shard->number = (size_t)at * shard->count + shard->number;
    shard->count *= (size_t)count;
    shard->who = shard->who ? "Slurm, array and step" : "Slurm's array";
    return FTH_OK;
}

enum fth_status fth_shard_find(struct fth_shard *shard, struct fth_error *error)
{
    *shard = (struct fth_shard){.number = 1, .count = 1};
    for (size_t i = 0; i < FTH_COUNT(launchers) && !shard->who; i++) {
        uint64_t rank, size;
        if (!read_variable(launchers[i].rank, &rank) ||
            (launchers[i].only_with && !getenv(launchers[i].only_with)))
            continue;
        if (!read_variable(launchers[i].size, &size)) {
            if (getenv("SLURM_NTASKS") || i + 1 < FTH_COUNT(launchers))
                return fth_fail(error, FTH_INVALID, "find shard", launchers[i].rank,
                                "it is set, but %s is not; pass --shard I/N instead",
                                launchers[i].size);
            continue;
        }
        if (rank >= size || size > FTH_MAX_POINTS)
            return fth_fail(error, FTH_INVALID, "find shard", launchers[i].rank,
                            "rank %llu is not valid for %llu processes", (unsigned long long)rank,
                            (unsigned long long)size);
        *shard = (struct fth_shard){(size_t)rank + 1, (size_t)size, launchers[i].who};
    }
    enum fth_status status = apply_array(shard, error);
    if (shard->count == 1)
        shard->who = NULL;
    return status;
}

enum fth_status fth_shard_parse(const char *text, struct fth_shard *shard, struct fth_error *error)
{
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    const unsigned long long count = *end == '/' ? strtoull(end + 1, &end, 10) : 0;
    if (*end || errno || number < 1 || number > count || count > FTH_MAX_POINTS ||
        strchr(text, '-'))
        return fth_fail(error, FTH_INVALID, "find shard", text,
                        "expected I/N, such as 1/4, with I from 1 to N");
    *shard = (struct fth_shard){(size_t)number, (size_t)count, NULL};
    return FTH_OK;
}

enum fth_status fth_shard_path(const char *pattern, const struct fth_shard *shard, char **path,
                               struct fth_error *error)
{
    struct fth_buffer out = {0};
    size_t size;
    bool put = false;
    for (const char *at = pattern; *at; at++) {
        if (at[0] == '%' && at[1] == 'r') {
            fth_buffer_format(&out, "%zu", shard->number);
            put = true;
            at++;
        } else {
            fth_buffer_append(&out, at, 1);
        }
    }
    if (!put && shard->count > 1)
        fth_buffer_format(&out, ".%zu", shard->number);
    enum fth_status status = fth_buffer_take(&out, path, &size, error);
    fth_buffer_fini(&out);
    return status;
}
