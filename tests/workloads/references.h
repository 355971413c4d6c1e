/* tests/workloads/: the workloads of examples/workloads/ in plain C, written apart from the CUDA,
 * in double precision, on the same input.
 *
 *   references.c      what each must give           test_workloads.c  whether it does, on the
 * engine
 */
#ifndef FTH_TESTS_WORKLOADS_H
#define FTH_TESTS_WORKLOADS_H

#include <stddef.h>

/* Buffers of a launch by their names, as doubles; a reference changes them in place. */
struct values;
double *values_of(struct values *values, const char *buffer);
/* A size of the launch file. */
size_t size_of(const struct values *values, const char *name);

struct output {
    const char *buffer;
    double tolerance; /* of the largest magnitude that the buffer must hold; 0: equal */
};

struct workload {
    const char *name;
    const char *small; /* sizes for a test, "N=64" */
    void (*reference)(struct values *values);
    struct output outputs[4];
};

/* NULL past the last. */
const struct workload *workload_at(size_t index);

#endif
