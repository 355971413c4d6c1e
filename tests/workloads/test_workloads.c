/* Runs every workload of examples/workloads/ on the PTX engine, with small sizes, and compares the
 * results with those of references.c.
 *
 * usage: test_workloads                     run all workloads and print TAP
 *        test_workloads NAME [SIZE=VALUE]   run one workload and print sum, moment and magnitude
 *                                           of its expected results, for "expect" in the launch
 *                                           file; without SIZE, at the launch file's size */
#include "references.h"

#include "trace/launch/launch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BUFFERS = 16 };

struct values {
    struct fth_launch *launch;
    const char *names[MAX_BUFFERS];
    double *doubles[MAX_BUFFERS];
    size_t count;
};

_Noreturn static void fail(const char *what, const struct fth_error *error)
{
    char text[600];
    printf("Bail out! %s: %s\n", what, fth_error_text(error, text, sizeof text));
    exit(1);
}

static double *as_doubles(const struct fth_launch_view *view, void *values)
{
    const struct fth_scalar_type *element = fth_scalar_type_find(view->type, strlen(view->type));
    double *doubles = malloc(view->count * sizeof *doubles);
    for (uint64_t i = 0; i < view->count; i++)
        doubles[i] =
            fth_scalar_to_double(element, (const uint8_t *)values + i * view->element_bytes);
    fth_free(values);
    return doubles;
}

double *values_of(struct values *values, const char *buffer)
{
    for (size_t i = 0; i < values->count; i++)
        if (strcmp(values->names[i], buffer) == 0)
            return values->doubles[i];
    struct fth_launch_view view;
    struct fth_error error = FTH_NO_ERROR;
    void *first;
    if (values->count == MAX_BUFFERS ||
        fth_launch_first_values(values->launch, buffer, &view, &first, &error) != FTH_OK)
        fail(buffer, &error);
    values->names[values->count] = buffer;
    return values->doubles[values->count++] = as_doubles(&view, first);
}

size_t size_of(const struct values *values, const char *name)
{
    return (size_t)fth_launch_size(values->launch, name);
}

/* Returns the largest error of a buffer, relative to the largest of its expected magnitudes. */
static double relative_error(struct values *values, const char *buffer)
{
    struct fth_launch_view view;
    struct fth_error error = FTH_NO_ERROR;
    void *raw;
    if (fth_launch_values(values->launch, buffer, &view, &raw, &error) != FTH_OK)
        fail(buffer, &error);
    double *got = as_doubles(&view, raw), largest = 0, max_error = 0;
    const double *expected = values_of(values, buffer);
    for (uint64_t i = 0; i < view.count; i++) {
        double difference = fabs(got[i] - expected[i]);
        largest = fmax(largest, fabs(expected[i]));
        max_error = !(difference <= max_error) ? difference : max_error; /* also if it is NAN */
    }
    free(got);
    return largest > 0 ? max_error / largest : NAN;
}

static struct values open_workload(const struct workload *workload, const char *size)
{
    struct values values = {0};
    struct fth_error error = FTH_NO_ERROR;
    char path[512];
    snprintf(path, sizeof path, "%s/examples/workloads/%s.json", FTH_SOURCE_ROOT, workload->name);
    if (fth_launch_read(path, &size, size ? 1 : 0, &values.launch, &error) != FTH_OK ||
        fth_launch_run(values.launch, NULL, NULL, &error) != FTH_OK)
        fail(workload->name, &error);
    workload->reference(&values);
    return values;
}

static void close_workload(struct values *values)
{
    for (size_t i = 0; i < values->count; i++)
        free(values->doubles[i]);
    fth_launch_destroy(values->launch);
}

static bool compare(const struct workload *workload, struct values *values)
{
    bool fine = true;
    for (const struct output *output = workload->outputs; output->buffer; output++) {
        double max_error = relative_error(values, output->buffer);
        if (!(max_error <= output->tolerance)) {
            printf("# %s: error %g relative to its largest value, allowed is %g\n", output->buffer,
                   max_error, output->tolerance);
            fine = false;
        }
    }
    return fine;
}

static int show_one(const char *name, const char *size)
{
    const struct workload *workload;
    for (size_t i = 0; (workload = workload_at(i)) && strcmp(workload->name, name) != 0;)
        i++;
    if (!workload)
        return 2;
    struct values values = open_workload(workload, size);
    for (const struct output *output = workload->outputs; output->buffer; output++) {
        struct fth_launch_view view;
        void *raw;
        double sum, moment, magnitude;
        struct fth_error error = FTH_NO_ERROR;
        if (fth_launch_values(values.launch, output->buffer, &view, &raw, &error) != FTH_OK)
            fail(output->buffer, &error);
        fth_free(raw);
        fth_values_digest(fth_scalar_type_find("f64", 3), values_of(&values, output->buffer),
                          view.count, &sum, &moment, &magnitude);
        printf("%s: sum %.15g moment %.15g magnitude %.6g relative error %.3g\n", output->buffer,
               sum, moment, magnitude, relative_error(&values, output->buffer));
    }
    close_workload(&values);
    return 0;
}

int main(int count, char **arguments)
{
    size_t workloads = 0;
    bool all = true;
    if (count > 1)
        return show_one(arguments[1], count > 2 ? arguments[2] : NULL);
    while (workload_at(workloads))
        workloads++;
    printf("1..%zu\n", workloads);
    for (size_t i = 0; i < workloads; i++) {
        const struct workload *workload = workload_at(i);
        struct values values = open_workload(workload, workload->small);
        bool fine = compare(workload, &values);
        printf("%s %zu - %s at %s\n", fine ? "ok" : "not ok", i + 1, workload->name,
               workload->small);
        close_workload(&values);
        all = all && fine;
    }
    return all ? 0 : 1;
}
