/* A GPU with two SMs and the times that the model with time needs, for tests of whole models. */
#ifndef FTH_TEST_TWO_SMS_H
#define FTH_TEST_TWO_SMS_H

#include "check.h"
#include "folder.h"
#include "model/model.h"

/* What the model with time needs. */
static const char *const times[][2] = {
    {"l1.latency_cycles", "30"}, {"l2.latency_cycles", "200"},   {"memory.latency_cycles", "600"},
    {"l2.bytes_per_s", "5e12"},  {"memory.bytes_per_s", "3e12"}, {"gpu.clock_hz", "1.5e9"}};

/* Returns parameters of a GPU with two SMs, with time unless `sets` change this: alternating names
 * and values that end with NULL. */
static inline struct fth_model_params *make_params(const char *const *sets)
{
    struct fth_model_params *params = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_model_params_create(NULL, &params, NULL), FTH_OK);
    assert_int_equal(fth_model_set(params, "gpu.sms", "2", NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(times); i++)
        assert_int_equal(fth_model_set(params, times[i][0], times[i][1], NULL), FTH_OK);
    for (size_t i = 0; sets && sets[i]; i += 2)
        if (fth_model_set(params, sets[i], sets[i + 1], &error) != FTH_OK)
            fail_msg("%s=%s: %s", sets[i], sets[i + 1], error.cause);
    return params;
}

static inline struct fth_trace *open_tuples(const char *tuples)
{
    struct fth_trace *trace = NULL;
    struct fth_error error = NO_ERROR;
    write_plain("tuples", tuples, strlen(tuples));
    if (fth_trace_obtain("tuples", NULL, &trace, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return trace;
}

static inline struct fth_model_result *run(const struct fth_trace *trace, const char *const *sets,
                                           const struct fth_model_options *options)
{
    struct fth_model_params *params = make_params(sets);
    struct fth_model_result *result = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_model_run(trace, params, options, &result, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_model_params_destroy(params);
    return result;
}

#endif
