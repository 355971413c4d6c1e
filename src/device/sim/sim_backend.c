/* The backend "sim": opens a simulated GPU from a description, which is a name of the catalogue
 * ("sim:h200") or a file ("sim:path/to/gpu.json"). */
#include "device/sim/sim.h"

#include <stdio.h>

static enum fth_status open_machine(const char *what, const struct fth_device_options *options,
                                    const struct fth_machine_ops **ops, void **machine,
                                    struct fth_error *error)
{
    struct fth_catalogue *catalogue = NULL;
    struct fth_gpu *gpu = NULL;
    enum fth_status status = fth_catalogue_open(&catalogue, error);
    if (status == FTH_OK)
        status = fth_catalogue_read(catalogue, what, options->log, &gpu, error);
    if (status == FTH_OK)
        status = fth_sim_machine_create(gpu, ops, machine, error);
    if (status == FTH_OK)
        fth_sim_set_limit(*machine, options->max_instructions, options->log);
    fth_gpu_destroy(gpu);
    fth_catalogue_close(catalogue);
    return status;
}

static enum fth_status open_simulated(const char *what, const struct fth_device_options *options,
                                      struct fth_device **device, struct fth_error *error)
{
    const struct fth_machine_ops *ops;
    void *machine;
    char id[sizeof(*device)->id];
    *device = NULL;
    enum fth_status status = open_machine(what, options, &ops, &machine, error);
    snprintf(id, sizeof id, "sim:%s", what);
    if (status == FTH_OK)
        status = fth_runner_device(id, ops, machine, options->log, device, error);
    return status;
}

const struct fth_backend fth_backend_sim = {
    .name = "sim",
    .summary = "simulated GPUs, from a catalogue name or a description file",
    .open = open_simulated,
    .machine = open_machine,
};
