/* A launch of a kernel in the PTX engine, as the tests prepare it. */
#ifndef FTH_TESTS_PTX_JOB_H
#define FTH_TESTS_PTX_JOB_H

#include "check.h"
#include "ptx/ptx.h"

#include <string.h>

struct job {
    struct fth_ptx_module *module;
    struct fth_ptx_machine *machine;
    union { /* the addresses of the buffers, which are the arguments of the kernel */
        uint64_t buffer, buffers[2];
    };
    size_t buffer_count, buffer_bytes;
    struct fth_ptx_launch launch;
};

/* Prepares a launch of the kernel k of the text, with one or two buffers. */
static inline void job_open(struct job *job, const char *text, size_t buffer_count,
                            size_t buffer_bytes)
{
    struct fth_error error = NO_ERROR;
    *job = (struct job){.buffer_count = buffer_count, .buffer_bytes = buffer_bytes};
    if (fth_ptx_read_text("test.ptx", text, strlen(text), &job->module, &error) != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    assert_int_equal(fth_ptx_machine_create(job->module, &job->machine, NULL), FTH_OK);
    for (size_t i = 0; i < buffer_count; i++)
        assert_int_equal(fth_ptx_alloc(job->machine, buffer_bytes, &job->buffers[i], NULL), FTH_OK);
    job->launch = (struct fth_ptx_launch){.kernel = "k",
                                          .arguments = job->buffers,
                                          .argument_bytes = buffer_count * sizeof *job->buffers,
                                          .max_instructions = 1000000};
}

static inline void job_fini(struct job *job)
{
    fth_ptx_machine_destroy(job->machine);
    fth_ptx_destroy(job->module);
}

/* Runs the launch, which must succeed. Returns the contents of the last buffer. */
static inline const uint32_t *run_job(struct job *job)
{
    struct fth_error error = NO_ERROR;
    char text[1024];
    if (fth_ptx_run(job->machine, &job->launch, NULL, &error) != FTH_OK)
        fail_msg("%s", fth_error_text(&error, text, sizeof text));
    return fth_ptx_host(job->machine, job->buffers[job->buffer_count - 1], job->buffer_bytes);
}

/* Runs the launch, which must fail with this text in the cause. */
static inline void expect_failure(struct job *job, const char *cause)
{
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_ptx_run(job->machine, &job->launch, NULL, &error), FTH_INVALID);
    assert_contains(error.cause, cause);
}

#endif
