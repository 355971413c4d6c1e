/* tests/workloads/: tests the workloads of examples/workloads/.
 *
 *   references.c      computes their expected results
 *   test_workloads.c  compares the results of the PTX engine with the expected ones
 *   test_counters.c   compares traces with the counters of an H200
 *   memory            checks the memory that tracing needs
 *
 * The references are written in plain C, independently of the CUDA kernels. They compute in double
 * precision, from the same input. */
#ifndef FTH_TESTS_WORKLOADS_H
#define FTH_TESTS_WORKLOADS_H

#include <stddef.h>

/* The buffers of a launch, converted to doubles. */
struct values;
/* Returns a buffer by its name. At first it has its initial values; the reference replaces them
 * with the results. */
double *values_of(struct values *values, const char *buffer);
/* Returns a size of the launch file by its name, such as "N". */
size_t size_of(const struct values *values, const char *name);

struct output {
    const char *buffer;
    /* Largest error, relative to the largest magnitude of the expected values; 0: equal. */
    double tolerance;
};

struct workload {
    const char *name;
    const char *small; /* size for the test, such as "N=64" */
    void (*reference)(struct values *values);
    struct output outputs[4];
};

/* Returns a workload, NULL if the index is past the last one. */
const struct workload *workload_at(size_t index);

#endif
