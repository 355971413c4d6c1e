/* The part of a process among many, as the launcher that started it says in its environment: Open
 * MPI's mpirun, those that speak PMI or PMIx (MPICH, Intel MPI, Cray, srun --mpi), Slurm's srun,
 * and Slurm's job arrays. Nothing of MPI is linked or called. */
#include "explore/explore.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *who, *rank, *size, *only_with;
} launchers[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL},
    {"PMI", "PMI_RANK", "PMI_SIZE", NULL},
    /* PMIx gives no size by itself; srun does. */
    {"PMIx", "PMIX_RANK", "SLURM_NTASKS", NULL},
    /* Within a batch script, but outside srun, SLURM_PROCID is 0 as well. */
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_ID"},
};

static bool number_of(const char *name, uint64_t *number)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text || *text == '-')
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return !*end && !errno;
}

/* An array of jobs: IDs from SLURM_ARRAY_TASK_MIN on, SLURM_ARRAY_TASK_STEP apart. */
static enum fth_status take_array(struct fth_shard *shard, struct fth_error *error)
{
    uint64_t id, count, first = 0, step = 1;
    if (!number_of("SLURM_ARRAY_TASK_ID", &id) || !number_of("SLURM_ARRAY_TASK_COUNT", &count))
        return FTH_OK;
    number_of("SLURM_ARRAY_TASK_MIN", &first);
    if (!number_of("SLURM_ARRAY_TASK_STEP", &step) || step == 0)
        step = 1;
    if (id < first || (id - first) % step || (id - first) / step >= count)
        return fth_fail(error, FTH_INVALID, "find shard", "SLURM_ARRAY_TASK_ID",
                        "the %llu IDs are not evenly apart; --shard I/N can say which part this is",
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
        if (!number_of(launchers[i].rank, &rank) ||
            (launchers[i].only_with && !getenv(launchers[i].only_with)))
            continue;
        if (!number_of(launchers[i].size, &size)) {
            if (getenv("SLURM_NTASKS") || i + 1 < FTH_COUNT(launchers))
                return fth_fail(error, FTH_INVALID, "find shard", launchers[i].rank,
                                "it is set, but not %s; --shard I/N can say which part this is",
                                launchers[i].size);
            continue;
        }
        if (rank >= size || size > FTH_MAX_POINTS)
            return fth_fail(error, FTH_INVALID, "find shard", launchers[i].rank,
                            "there is no rank %llu among %llu", (unsigned long long)rank,
                            (unsigned long long)size);
        *shard = (struct fth_shard){(size_t)rank + 1, (size_t)size, launchers[i].who};
    }
    enum fth_status status = take_array(shard, error);
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
                        "a shard is I/N, such as 1/4, with I from 1 to N");
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
