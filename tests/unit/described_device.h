/* Devices for tests: GPUs that are simulated from a description in the test. */
#ifndef TEST_DESCRIBED_DEVICE_H
#define TEST_DESCRIBED_DEVICE_H

#include "check.h"
#include "device/runner.h"
#include "device/sim/sim.h"

/* Opens a GPU that is simulated from a description. The caller keeps the description, and closes
 * the device. */
static inline struct fth_device *open_described(const struct fth_gpu *gpu)
{
    const struct fth_machine_ops *ops;
    void *machine;
    struct fth_device *device = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_sim_machine_create(gpu, &ops, &machine, &error) != FTH_OK ||
        fth_runner_device("sim:test", ops, machine, NULL, &device, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return device;
}

/* Opens a GPU that is simulated from a description in JSON. The caller closes it. */
static inline struct fth_device *open_simulated(const char *text)
{
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_gpu_read_text("test.json", text, strlen(text), NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s: %s", error.cause, text);
    struct fth_device *device = open_described(gpu);
    fth_gpu_destroy(gpu);
    return device;
}

#endif
