/* Groups of vectors that are equal except for noise, such as the latencies of a line from several
 * SMs, which depend on the place of the line alone.
 *
 * The distance of two vectors is the mean absolute difference of their components. The first pass
 * is the leader algorithm (J. A. Hartigan, "Clustering Algorithms", 1975, chapter 3): a vector
 * joins the nearest group, or starts a new one if no centre is within the maximum distance. Further
 * passes assign each vector to the nearest centre, the mean of the members (k-means), and join
 * groups whose centres are within the maximum distance of each other.
 *
 * Assumption: the distance between two vectors of a group is at most the maximum distance, and that
 * between the centres of two groups is larger. The caller checks it with the members `nearest` and
 * `farthest` of the result. */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPERATION "group vectors"

enum { MAX_TURNS = 16 }; /* of the assignment to centres, which converges in a few. Chosen. */

double fth_vector_distance(const double *a, const double *b, size_t size)
{
    double sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += fabs(a[i] - b[i]);
    return sum / (double)size;
}

void fth_vector_groups_fini(struct fth_vector_groups *groups)
{
    free(groups->group_of);
    free(groups->centres);
    free(groups->members);
    *groups = (struct fth_vector_groups){0};
}

static size_t find_nearest(const struct fth_vector_groups *groups, const double *vector,
                           double *distance)
{
    size_t nearest = 0;
    *distance = INFINITY;
    for (size_t i = 0; i < groups->count; i++) {
        const double each =
            fth_vector_distance(vector, groups->centres + i * groups->size, groups->size);
        if (each < *distance) {
            *distance = each;
            nearest = i;
        }
    }
    return nearest;
}

/* Adds a vector to a group, whose centre remains the mean of its members. */
static void add_member(struct fth_vector_groups *groups, size_t group, const double *vector)
{
    double *centre = groups->centres + group * groups->size;
    const double count = (double)++groups->members[group];
    for (size_t i = 0; i < groups->size; i++)
        centre[i] += (vector[i] - centre[i]) / count;
}

/* Starts the groups: each vector joins the nearest group or starts one. Returns false if there are
 * more than `max_groups`. */
static bool find_leaders(struct fth_vector_groups *groups, const double *vectors, size_t count,
                         double max_distance, size_t max_groups)
{
    for (size_t i = 0; i < count; i++) {
        const double *vector = vectors + i * groups->size;
        double distance;
        size_t group = find_nearest(groups, vector, &distance);
        if (distance > max_distance) {
            if (groups->count == max_groups)
                return false;
            group = groups->count++;
        }
        add_member(groups, group, vector);
    }
    return true;
}

/* Moves the last group to the place of group `index`. */
static void remove_group(struct fth_vector_groups *groups, size_t index)
{
    const size_t last = --groups->count;
    memmove(groups->centres + index * groups->size, groups->centres + last * groups->size,
            groups->size * sizeof *groups->centres);
    groups->members[index] = groups->members[last];
}

/* Joins groups whose centres are close, and removes those without members. Returns whether there
 * were any. */
static bool join_groups(struct fth_vector_groups *groups, double max_distance)
{
    const size_t before = groups->count;
    for (size_t i = 0; i < groups->count;) {
        bool drop = groups->members[i] == 0;
        for (size_t j = 0; j < i && !drop; j++)
            drop = fth_vector_distance(groups->centres + i * groups->size,
                                       groups->centres + j * groups->size,
                                       groups->size) <= max_distance;
        if (drop)
            remove_group(groups, i);
        else
            i++;
    }
    return groups->count != before;
}

/* Assigns each vector to the nearest centre and computes the centres again. Returns whether an
 * assignment has changed. */
static bool assign(struct fth_vector_groups *groups, const double *vectors, size_t count)
{
    bool changed = false;
    for (size_t i = 0; i < count; i++) {
        double distance;
        const uint32_t group =
            (uint32_t)find_nearest(groups, vectors + i * groups->size, &distance);
        changed = changed || groups->group_of[i] != group;
        groups->group_of[i] = group;
    }
    memset(groups->members, 0, groups->count * sizeof *groups->members);
    memset(groups->centres, 0, groups->count * groups->size * sizeof *groups->centres);
    for (size_t i = 0; i < count; i++)
        add_member(groups, groups->group_of[i], vectors + i * groups->size);
    return changed;
}

/* Measures how far apart the groups are and how large they are. */
static void finish(struct fth_vector_groups *groups, const double *vectors, size_t count)
{
    groups->nearest = INFINITY;
    for (size_t i = 0; i < groups->count; i++)
        for (size_t j = 0; j < i; j++)
            groups->nearest =
                fmin(groups->nearest,
                     fth_vector_distance(groups->centres + i * groups->size,
                                         groups->centres + j * groups->size, groups->size));
    groups->farthest = 0;
    for (size_t i = 0; i < count; i++)
        groups->farthest =
            fmax(groups->farthest,
                 fth_vector_distance(vectors + i * groups->size,
                                     groups->centres + groups->group_of[i] * groups->size,
                                     groups->size));
}

enum fth_status fth_vectors_group(const double *vectors, size_t count, size_t size,
                                  double max_distance, size_t max_groups,
                                  struct fth_vector_groups *groups, struct fth_error *error)
{
    *groups = (struct fth_vector_groups){.size = size};
    if (size == 0 || max_groups == 0)
        return fth_fail(error, FTH_INVALID, OPERATION, NULL, "there are no components or groups");
    FTH_TRY(fth_check_f64(vectors, count * size, OPERATION, error));
    groups->group_of = calloc(count, sizeof *groups->group_of);
    groups->centres = calloc(max_groups * size, sizeof *groups->centres);
    groups->members = calloc(max_groups, sizeof *groups->members);
    if (!groups->group_of || !groups->centres || !groups->members) {
        fth_vector_groups_fini(groups);
        return fth_no_memory(error, OPERATION, NULL);
    }
    if (!find_leaders(groups, vectors, count, max_distance, max_groups)) {
        fth_vector_groups_fini(groups);
        return fth_fail(error, FTH_INCONCLUSIVE, OPERATION, NULL, "there are more than %zu groups",
                        max_groups);
    }
    for (int turn = 0; turn < MAX_TURNS; turn++) {
        const bool joined = join_groups(groups, max_distance);
        if (!assign(groups, vectors, count) && !joined)
            break;
    }
    finish(groups, vectors, count);
    return FTH_OK;
}
