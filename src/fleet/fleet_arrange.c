/* Arranges a fleet: assigns GPUs to cohorts, and orders the measurements by GPU and time. */
#include "fleet/fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "arrange the fleet";

int fth_fleet_compare_numbers(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

double fth_fleet_median(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, fth_fleet_compare_numbers);
    return count % 2 ? numbers[count / 2] : numbers[count / 2 - 1] / 2 + numbers[count / 2] / 2;
}

/* Copies the numbers of a figure in the measurements of a GPU, at most `capacity`. Returns how many
 * there are. Measurements that were added after fth_fleet_arrange may be left out. */
static size_t collect(const struct fth_fleet *fleet, const struct fth_fleet_gpu *gpu,
                      uint32_t figure, double *numbers, size_t capacity)
{
    size_t count = 0;
    for (size_t i = 0; i < gpu->measurement_count && count < capacity &&
                       gpu->first_measurement + i < fleet->by_gpu_count;
         i++) {
        const size_t index = fleet->by_gpu[gpu->first_measurement + i];
        const struct fth_fleet_value *value = fth_fleet_find(&fleet->measurements[index], figure);
        if (value && !isnan(value->number))
            numbers[count++] = value->number;
    }
    return count;
}

double fth_fleet_gpu_median(const struct fth_fleet *fleet, const struct fth_fleet_gpu *gpu,
                            uint32_t figure, size_t *count)
{
    double one = NAN;
    double *numbers = gpu->measurement_count > 1 ? fleet->numbers : &one;
    *count = collect(fleet, gpu, figure, numbers, numbers == &one ? 1 : fleet->number_capacity);
    return *count ? fth_fleet_median(numbers, *count) : NAN;
}

double fth_fleet_gpu_mode(const struct fth_fleet *fleet, const struct fth_fleet_gpu *gpu,
                          uint32_t figure)
{
    const size_t count = collect(fleet, gpu, figure, fleet->numbers, fleet->number_capacity);
    double mode = NAN;
    qsort(fleet->numbers, count, sizeof *fleet->numbers, fth_fleet_compare_numbers);
    for (size_t i = 0, first = 0, most = 0; i < count; i++) {
        if (fleet->numbers[i] != fleet->numbers[first])
            first = i;
        if (i - first + 1 > most) {
            most = i - first + 1;
            mode = fleet->numbers[i];
        }
    }
    return mode;
}

/* ---- cohorts ---- */

/* Orders texts; unknown ones (NULL) come first. */
static int compare_texts(const char *a, const char *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

int fth_fleet_cohort_compare(const struct fth_fleet_cohort *a, const struct fth_fleet_cohort *b)
{
    int order = compare_texts(a->model, b->model);
    if (order == 0)
        order = compare_texts(a->backend, b->backend);
    if (order == 0)
        order = (int)a->simulated - (int)b->simulated;
    if (order == 0)
        order = (int)a->mixed_drivers - (int)b->mixed_drivers;
    if (order == 0)
        order = (int)a->mixed_boards - (int)b->mixed_boards;
    if (order == 0)
        order = compare_texts(a->driver, b->driver);
    return order == 0 ? compare_texts(a->board, b->board) : order;
}

static int compare_cohorts(const void *a, const void *b)
{
    return fth_fleet_cohort_compare(a, b);
}

/* Returns the cohort that a GPU belongs to. */
static struct fth_fleet_cohort cohort_of(const struct fth_fleet_gpu *gpu,
                                         const struct fth_fleet_mixing *mixing)
{
    return (struct fth_fleet_cohort){.model = gpu->model,
                                     .backend = gpu->backend,
                                     .driver = mixing->drivers ? NULL : gpu->driver,
                                     .board = mixing->boards ? NULL : gpu->board,
                                     .simulated = gpu->simulated,
                                     .mixed_drivers = mixing->drivers,
                                     .mixed_boards = mixing->boards};
}

/* Finds the cohorts of all GPUs, in order and each once. */
static enum fth_status list_cohorts(struct fth_fleet *fleet, const struct fth_fleet_mixing *mixing,
                                    struct fth_error *error)
{
    struct fth_fleet_cohort *cohorts = calloc(fleet->gpu_count + 1, sizeof *cohorts);
    size_t count = 0;
    if (!cohorts)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < fleet->gpu_count; i++)
        cohorts[i] = cohort_of(&fleet->gpus[i], mixing);
    qsort(cohorts, fleet->gpu_count, sizeof *cohorts, compare_cohorts);
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        if (count == 0 || fth_fleet_cohort_compare(&cohorts[count - 1], &cohorts[i]) != 0)
            cohorts[count++] = cohorts[i];
        cohorts[count - 1].gpu_count++;
    }
    free(fleet->cohorts);
    fleet->cohorts = cohorts;
    fleet->cohort_count = count;
    fleet->cohort_capacity = fleet->gpu_count + 1;
    return FTH_OK;
}

static void assign_cohorts(struct fth_fleet *fleet, const struct fth_fleet_mixing *mixing)
{
    for (size_t i = 0; i < fleet->gpu_count; i++) {
        const struct fth_fleet_cohort wanted = cohort_of(&fleet->gpus[i], mixing);
        const struct fth_fleet_cohort *found =
            bsearch(&wanted, fleet->cohorts, fleet->cohort_count, sizeof wanted, compare_cohorts);
        fleet->gpus[i].cohort = (uint32_t)(found - fleet->cohorts);
    }
}

/* ---- order ---- */

/* Allocates space for the numbers of one figure of the GPU with the most measurements. */
static enum fth_status allocate_numbers(struct fth_fleet *fleet, struct fth_error *error)
{
    size_t most = 0;
    for (size_t i = 0; i < fleet->gpu_count; i++)
        most = fleet->gpus[i].measurement_count > most ? fleet->gpus[i].measurement_count : most;
    double *numbers = calloc(most + 1, sizeof *numbers);
    if (!numbers)
        return fth_no_memory(error, operation, NULL);
    free(fleet->numbers);
    fleet->numbers = numbers;
    fleet->number_capacity = most + 1;
    return FTH_OK;
}

/* A measurement, as it is sorted. */
struct position {
    uint32_t gpu;
    int64_t time;
    size_t index;
};

static int compare_positions(const void *a, const void *b)
{
    const struct position *left = a, *right = b;
    if (left->gpu != right->gpu)
        return left->gpu < right->gpu ? -1 : 1;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return (left->index > right->index) - (left->index < right->index);
}

static enum fth_status order_measurements(struct fth_fleet *fleet, struct fth_error *error)
{
    const size_t count = fleet->measurement_count;
    struct position *positions = calloc(count + 1, sizeof *positions);
    size_t *by_gpu = calloc(count + 1, sizeof *by_gpu);
    if (!positions || !by_gpu) {
        free(positions);
        free(by_gpu);
        return fth_no_memory(error, operation, NULL);
    }
    for (size_t i = 0; i < count; i++)
        positions[i] =
            (struct position){fleet->measurements[i].gpu, fleet->measurements[i].time, i};
    qsort(positions, count, sizeof *positions, compare_positions);
    for (size_t i = count; i-- > 0;) {
        by_gpu[i] = positions[i].index;
        fleet->gpus[positions[i].gpu].first_measurement = i;
    }
    free(positions);
    free(fleet->by_gpu);
    fleet->by_gpu = by_gpu;
    fleet->by_gpu_count = count;
    return FTH_OK;
}

enum fth_status fth_fleet_arrange(struct fth_fleet *fleet, const struct fth_fleet_mixing *mixing,
                                  struct fth_error *error)
{
    static const struct fth_fleet_mixing none;
    mixing = mixing ? mixing : &none;
    fth_fleet_apply_groups(fleet);
    FTH_TRY(list_cohorts(fleet, mixing, error));
    assign_cohorts(fleet, mixing);
    FTH_TRY(allocate_numbers(fleet, error));
    return order_measurements(fleet, error);
}
