/* Compares the contents of buffers with the expectations of a launch file. Expected values in a
 * file are compared element by element:
 *
 *     |got - want| <= relative * |want| + absolute
 *
 * Without a file, two numbers are compared: the sum of the values, and their moment, which also
 * changes when values change places:
 *
 *     sum = Σ v[i]      moment = Σ v[i] (i + 1) / count
 *
 * Each may differ from the expected number by at most relative * Σ |v[i]| + absolute. */
#include "trace/launch/launch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Neumaier's compensated sum: for 16 million values of the same sign, its error is below a relative
 * tolerance of 1e-12. */
struct sum {
    double total, compensation;
};

static void add(struct sum *sum, double value)
{
    double next = sum->total + value;
    sum->compensation +=
        fabs(sum->total) >= fabs(value) ? sum->total - next + value : value - next + sum->total;
    sum->total = next;
}

void fth_values_digest(const struct fth_scalar_type *element, const void *values, uint64_t count,
                       double *sum, double *moment, double *magnitude)
{
    struct sum plain = {0, 0}, weighted = {0, 0}, absolute = {0, 0};
    for (uint64_t i = 0; i < count; i++) {
        double value = fth_scalar_to_double(element, (const uint8_t *)values + i * element->bytes);
        add(&plain, value);
        add(&weighted, value * ((double)(i + 1) / (double)count));
        add(&absolute, fabs(value));
    }
    *sum = plain.total + plain.compensation;
    *moment = weighted.total + weighted.compensation;
    *magnitude = absolute.total + absolute.compensation;
}

static void check_digest(const struct fth_launch_buffer *buffer, const void *values,
                         const struct fth_expectation *expected, struct fth_verdict *verdict)
{
    double sum, moment, magnitude;
    fth_values_digest(buffer->element, values, buffer->count, &sum, &moment, &magnitude);
    double tolerance = expected->relative * magnitude + expected->absolute;
    bool same_sum = fabs(sum - expected->sum) <= tolerance;
    bool same_moment = fabs(moment - expected->moment) <= tolerance;
    verdict->matches = same_sum && same_moment;
    if (verdict->matches)
        fth_format(verdict->text, sizeof verdict->text, "sum %.12g, moment %.12g, as expected", sum,
                   moment);
    else
        fth_format(verdict->text, sizeof verdict->text,
                   "sum %.17g, expected %.17g; moment %.17g, expected %.17g; tolerance %.3g", sum,
                   expected->sum, moment, expected->moment, tolerance);
}

static void check_elements(const struct fth_launch_buffer *buffer, const uint8_t *values,
                           const uint8_t *wanted, const struct fth_expectation *expected,
                           struct fth_verdict *verdict)
{
    const struct fth_scalar_type *element = buffer->element;
    uint64_t wrong = 0, first = 0;
    for (uint64_t i = 0; i < buffer->count; i++) {
        size_t at = i * element->bytes;
        double got = fth_scalar_to_double(element, values + at);
        double want = fth_scalar_to_double(element, wanted + at);
        bool same = memcmp(values + at, wanted + at, element->bytes) == 0 ||
                    fabs(got - want) <= expected->relative * fabs(want) + expected->absolute;
        if (!same && wrong++ == 0)
            first = i;
    }
    verdict->matches = wrong == 0;
    if (wrong == 0)
        snprintf(verdict->text, sizeof verdict->text, "all %llu values as expected",
                 (unsigned long long)buffer->count);
    else
        fth_format(verdict->text, sizeof verdict->text,
                   "%llu of %llu values differ, first [%llu]: %.9g, expected %.9g",
                   (unsigned long long)wrong, (unsigned long long)buffer->count,
                   (unsigned long long)first,
                   fth_scalar_to_double(element, values + first * element->bytes),
                   fth_scalar_to_double(element, wanted + first * element->bytes));
}

/* Compares the values of a buffer with those in a file. */
static enum fth_status verify_with_file(const struct fth_launch *launch,
                                        const struct fth_expectation *expected,
                                        const uint8_t *values, struct fth_verdict *verdict,
                                        struct fth_error *error)
{
    const struct fth_launch_buffer *buffer = &launch->buffers[expected->buffer];
    const uint64_t bytes = buffer->count * buffer->element->bytes;
    uint64_t got;
    uint8_t *wanted = malloc(bytes + 1); /* one more: to notice a file that is too long */
    if (!wanted)
        return fth_no_memory(error, "read", expected->path);
    enum fth_status status =
        fth_launch_read_data(launch, expected->path, wanted, bytes + 1, &got, error);
    if (status == FTH_OK && got == bytes)
        check_elements(buffer, values, wanted, expected, verdict);
    else if (status == FTH_OK)
        status = fth_fail(error, FTH_INVALID, "read", expected->path,
                          "the file has %s%llu bytes, but the buffer '%s' has %llu",
                          got > bytes ? "more than " : "",
                          (unsigned long long)(got > bytes ? bytes : got), buffer->name,
                          (unsigned long long)bytes);
    free(wanted);
    return status;
}

static enum fth_status verify_buffer(const struct fth_launch *launch,
                                     const struct fth_expectation *expected,
                                     struct fth_verdict *verdict, struct fth_error *error)
{
    const struct fth_launch_buffer *buffer = &launch->buffers[expected->buffer];
    struct fth_launch_view view;
    void *values;
    verdict->buffer = buffer->name;
    FTH_TRY(fth_launch_values(launch, buffer->name, &view, &values, error));
    enum fth_status status = FTH_OK;
    if (expected->path)
        status = verify_with_file(launch, expected, values, verdict, error);
    else
        check_digest(buffer, values, expected, verdict);
    free(values);
    return status;
}

size_t fth_launch_expectation_count(const struct fth_launch *launch)
{
    return launch->expectation_count;
}

enum fth_status fth_launch_verify(const struct fth_launch *launch, size_t index,
                                  struct fth_verdict *verdict, struct fth_error *error)
{
    *verdict = (struct fth_verdict){.matches = false};
    if (index >= launch->expectation_count)
        return fth_fail(error, FTH_NOT_FOUND, "verify", launch->path,
                        "the launch file has no expected results for these sizes");
    return verify_buffer(launch, &launch->expectations[index], verdict, error);
}
