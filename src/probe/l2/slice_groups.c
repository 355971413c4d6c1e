/* Which SMs have the same latencies to all slices of the L2.
 *
 * The latencies of an SM are a vector with one component per slice. SMs whose vectors are equal
 * except for noise are a group (stats/vectors.c). SMs on different routes to the L2, such as those
 * of different GPCs, are never a group: on an H200, the latencies of some GPCs differ by only 0.6
 * to 2.5 cycles, and by up to 0.6 cycles more or less in the next run, so that any limit would make
 * them one group in some runs only. SMs of one GPC differ by up to 0.6 cycles if they
 * are in the same TPC, and by 2.4 cycles or more otherwise, in every run. */
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* SMs whose latencies to all slices differ by at most this much, on average, are a group. Chosen:
 * about the geometric mean of the two distances of an H200 above. */
static const double max_group_cycles = 1.4;
/* Minimum ratio of the smallest distance between two groups on one route and the largest distance
 * within a group. Otherwise, the distances form a continuum that the limit cuts somewhere. Chosen:
 * it is 4 on an H200. */
static const double min_separation = 1.5;

/* Returns the vectors of all SMs, with a last component that keeps routes apart; NULL: no memory.
 */
static double *make_vectors(const struct fth_slice_profiles *profiles)
{
    const size_t slices = profiles->slices, size = slices + 1;
    double *vectors = calloc(profiles->sms * size, sizeof *vectors);
    for (size_t i = 0; vectors && i < profiles->sms; i++) {
        memcpy(vectors + i * size, profiles->cycles + i * slices, slices * sizeof *vectors);
        vectors[i * size + slices] = 2 * max_group_cycles * (double)(size * profiles->routes[i]);
    }
    return vectors;
}

/* Numbers the groups in the order of their first SMs. */
static void number_groups(const uint32_t *group_of, size_t sms, uint32_t *numbers,
                          struct fth_slice_groups *found)
{
    uint32_t used = 0;
    for (size_t i = 0; i < sms; i++) {
        uint32_t *number = &numbers[group_of[i]];
        if (*number == UINT32_MAX)
            *number = used++;
        found->groups[i] = *number;
    }
    found->count = used;
}

/* Measures the largest distance within a group and the smallest one between two groups of a route.
 */
static void measure_groups(const struct fth_slice_profiles *profiles,
                           struct fth_slice_groups *found)
{
    const size_t slices = profiles->slices;
    found->widest_cycles = 0;
    found->closest_cycles = INFINITY;
    for (size_t i = 0; i < profiles->sms; i++)
        for (size_t j = 0; j < i; j++) {
            if (profiles->routes[i] != profiles->routes[j])
                continue;
            const double distance = fth_vector_distance(profiles->cycles + i * slices,
                                                        profiles->cycles + j * slices, slices);
            if (found->groups[i] == found->groups[j])
                found->widest_cycles = fmax(found->widest_cycles, distance);
            else
                found->closest_cycles = fmin(found->closest_cycles, distance);
        }
    found->clear = found->closest_cycles >= min_separation * found->widest_cycles;
}

enum fth_status fth_find_slice_groups(const struct fth_slice_profiles *profiles,
                                      struct fth_slice_groups *found, struct fth_error *error)
{
    const size_t sms = profiles->sms;
    struct fth_vector_groups groups = {0};
    double *vectors = make_vectors(profiles);
    uint32_t *numbers = calloc(sms, sizeof *numbers);
    enum fth_status status = FTH_OK;
    if (!vectors || !numbers) {
        status = fth_no_memory(error, "group SMs", NULL);
        goto out;
    }
    status = fth_vectors_group(vectors, sms, profiles->slices + 1, max_group_cycles, sms, &groups,
                               error);
    if (status != FTH_OK)
        goto out;
    memset(numbers, 0xff, sms * sizeof *numbers);
    number_groups(groups.group_of, sms, numbers, found);
    measure_groups(profiles, found);
out:
    fth_vector_groups_fini(&groups);
    free(vectors);
    free(numbers);
    return status;
}
