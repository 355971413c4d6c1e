/* Opening one GPU by its name: its index in the driver's order ("0", "1", …), the UUID of a GPU
 * ("GPU-…") or the UUID of a MIG slice ("MIG-…"). */
#include "device/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Lists the GPUs for a message, "cuda:0, cuda:1", by their UUIDs if `uuids`. */
static void list_known(const struct fth_cuda *cuda, int count, bool uuids, char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        char name[FTH_CUDA_UUID_BYTES] = "";
        fth_cu_device device;
        if (uuids && cuda->device_get(&device, i) == 0)
            fth_cuda_uuid(cuda, device, name);
        if (!name[0])
            snprintf(name, sizeof name, "%d", i);
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%scuda:%s", i ? ", " : "", name);
    }
}

static enum fth_status not_found(const struct fth_cuda *cuda, const char *what, int count,
                                 struct fth_error *error)
{
    char known[384];
    if (count == 0)
        return fth_fail(error, FTH_NOT_FOUND, "open GPU", what, "the CUDA driver reports no GPU");
    list_known(cuda, count, strchr(what, '-') != NULL, known, sizeof known);
    return fth_fail(error, FTH_NOT_FOUND, "open GPU", what, "no such GPU; available: %s", known);
}

static bool parse_ordinal(const char *what, int *ordinal)
{
    size_t digits = strspn(what, "0123456789");
    if (digits == 0 || digits > 6 || what[digits])
        return false;
    *ordinal = (int)strtol(what, NULL, 10);
    return true;
}

static enum fth_status find(const struct fth_cuda *cuda, const char *what, int count, int *ordinal,
                            struct fth_error *error)
{
    if (parse_ordinal(what, ordinal))
        return *ordinal < count ? FTH_OK : not_found(cuda, what, count, error);
    for (int i = 0; i < count; i++) {
        fth_cu_device device;
        char uuid[FTH_CUDA_UUID_BYTES];
        if (cuda->device_get(&device, i) != 0)
            continue;
        fth_cuda_uuid(cuda, device, uuid);
        if (uuid[0] && strcasecmp(uuid, what) == 0) {
            *ordinal = i;
            return FTH_OK;
        }
    }
    return not_found(cuda, what, count, error);
}

/* Also true if the driver does not report a UUID. */
static bool is_slice(const struct fth_cuda *cuda, int ordinal)
{
    fth_cu_device device;
    char uuid[FTH_CUDA_UUID_BYTES] = "";
    if (cuda->device_get(&device, ordinal) == 0)
        fth_cuda_uuid(cuda, device, uuid);
    return !uuid[0] || strncmp(uuid, "MIG-", 4) == 0;
}

enum fth_status fth_cuda_open_named(const char *what, struct fth_cuda *cuda, int *ordinal,
                                    struct fth_error *error)
{
    const bool slice = strncmp(what, "MIG-", 4) == 0;
    if (!slice && strncmp(what, "GPU-", 4) != 0 && !parse_ordinal(what, ordinal)) {
        *cuda = (struct fth_cuda){.handle = NULL};
        return fth_fail(error, FTH_NOT_FOUND, "open GPU", what,
                        "name a GPU by its index (0, 1, …), GPU-<uuid> or MIG-<uuid>");
    }
    enum fth_status status = fth_cuda_find(cuda, error);
    if (status != FTH_OK)
        return status;
    /* A process sees at most one MIG slice: the one that CUDA_VISIBLE_DEVICES names when the driver
     * is initialised. The caller sets the variable; the library does not change the environment of
     * the process. */
    int count = 0;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    const bool late = cuda->device_count(&count) != FTH_CU_NOT_INITIALISED;
    const bool selected = slice && !late && visible && strcmp(visible, what) == 0;
    status = fth_cuda_initialise(cuda, error);
    if (status == FTH_OK) {
        fth_cu_result result = cuda->device_count(&count);
        if (result != 0)
            status = fth_cuda_fail(cuda, result, "cuDeviceGetCount", error);
    }
    if (status == FTH_OK && selected && count == 1 && is_slice(cuda, 0))
        *ordinal = 0;
    else if (status == FTH_OK)
        status = find(cuda, what, count, ordinal, error);
    if (status == FTH_NOT_FOUND && slice && !selected)
        fth_error_context(error,
                          "not visible: %sset CUDA_VISIBLE_DEVICES=%s before starting the program",
                          late ? "the driver is already initialised; " : "", what);
    if (status != FTH_OK)
        fth_cuda_close(cuda);
    return status;
}

static enum fth_status open_machine(const char *what, const struct fth_device_options *options,
                                    const struct fth_machine_ops **ops, void **machine,
                                    struct fth_error *error)
{
    (void)options;
    struct fth_cuda cuda;
    int ordinal = 0;
    char id[sizeof((struct fth_device *)0)->id];
    *ops = &fth_cuda_machine_ops;
    *machine = NULL;
    snprintf(id, sizeof id, "cuda:%s", what);
    FTH_TRY(fth_cuda_open_named(what, &cuda, &ordinal, error));
    return fth_cuda_machine_create(&cuda, ordinal, id, machine, error);
}

static enum fth_status open_device(const char *what, const struct fth_device_options *options,
                                   struct fth_device **device, struct fth_error *error)
{
    const struct fth_machine_ops *ops;
    void *machine;
    char id[sizeof((struct fth_device *)0)->id];
    *device = NULL;
    snprintf(id, sizeof id, "cuda:%s", what);
    FTH_TRY(open_machine(what, options, &ops, &machine, error));
    return fth_runner_device(id, ops, machine, options->log, device, error);
}

static enum fth_status is_absent(bool *absent, struct fth_error *error)
{
    struct fth_cuda cuda;
    struct fth_error fault = FTH_NO_ERROR;
    int count = 0;
    *absent = fth_cuda_find(&cuda, &fault) != FTH_OK;
    if (*absent)
        return fault.status == FTH_NO_MEMORY ? fth_error_move(error, &fault) : FTH_OK;
    fth_cu_result result = cuda.init(0);
    if (result == 0)
        result = cuda.device_count(&count);
    fth_cuda_close(&cuda);
    *absent =
        result == FTH_CU_NO_DEVICE || result == FTH_CU_STUB_LIBRARY || (result == 0 && count == 0);
    return FTH_OK;
}

const struct fth_backend fth_backend_cuda = {.name = "cuda",
                                             .summary = "NVIDIA GPUs, through the CUDA driver",
                                             .list = fth_cuda_list,
                                             .is_absent = is_absent,
                                             .is_real = true,
                                             .open = open_device,
                                             .machine = open_machine};
