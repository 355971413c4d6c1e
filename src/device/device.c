/* The registry of backends, and the functions that callers use on a device. They validate requests
 * before any backend receives them. */
#include "device/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct fth_backend *const backends[] = {&fth_backend_cuda, &fth_backend_opencl,
                                                     &fth_backend_sim, &fth_backend_replay};
/* The device that is opened if there is no real GPU and the caller names none. */
static const char default_id[] = "sim:h200";
/* Maximum number of GPUs of the catalogue among which a similar name is searched. Chosen: several
 * times the number that come with fathom. */
enum { MAX_SUGGESTED = 256 };

enum fth_status fth_device_list(void (*each)(void *user, const struct fth_device_info *device),
                                void *user, struct fth_error *error)
{
    for (size_t i = 0; i < FTH_COUNT(backends); i++) {
        if (!backends[i]->list)
            continue;
        struct fth_error fault = FTH_NO_ERROR;
        enum fth_status status = backends[i]->list(each, user, &fault);
        if (status == FTH_NO_MEMORY)
            return fth_error_move(error, &fault);
        if (status != FTH_OK) {
            char text[sizeof fault];
            each(user, &(struct fth_device_info){backends[i]->name, NULL, NULL,
                                                 fth_error_text(&fault, text, sizeof text)});
        }
    }
    return FTH_OK;
}

/* Opens the first real GPU. If the computer has none (no driver, or a driver that reports no GPU),
 * opens the default simulated GPU and reports it. A GPU that is present but does not work is an
 * error: figures of a simulated GPU must not be taken for its figures. */
static enum fth_status open_default(const struct fth_device_options *options,
                                    struct fth_device **device, struct fth_error *error)
{
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status = fth_backend_cuda.open("0", options, device, &fault);
    if (status == FTH_OK)
        return FTH_OK;
    bool absent = false;
    if (status != FTH_NO_MEMORY && status != FTH_INTERRUPTED && !options->require_gpu)
        FTH_TRY(fth_backend_cuda.is_absent(&absent, error));
    if (!absent)
        return fth_error_move(error, &fault);
    char text[sizeof fault];
    fth_log_message(options->log, FTH_LOG_INFO, "no GPU found (%s)",
                    fth_error_text(&fault, text, sizeof text));
    fth_log_message(options->log, FTH_LOG_INFO, "using the simulated GPU %s instead", default_id);
    return fth_device_open_with(default_id, options, device, error);
}

/* Writes the id of the simulated GPU that a word without a backend may mean to `id`: a name of the
 * catalogue, a similar one, or a file. Returns false if it means none. */
static bool suggest_simulated(const char *word, char *id, size_t size)
{
    const char *names[MAX_SUGGESTED], *found = NULL;
    struct fth_catalogue *catalogue = NULL;
    size_t count = 0;
    if (fth_catalogue_open(&catalogue, NULL) == FTH_OK)
        while (count < MAX_SUGGESTED && (names[count] = fth_catalogue_name(catalogue, count)))
            if (strcasecmp(names[count++], word) == 0)
                found = names[count - 1];
    if (!found && !strchr(word, ':'))
        found = fth_file_is_regular(word) ? word : fth_suggest(word, names, count);
    if (found)
        snprintf(id, size, "sim:%s", found);
    fth_catalogue_close(catalogue);
    return found != NULL;
}

/* Fails because the id does not have the form BACKEND:SELECTOR. `backend` is the one that it names,
 * without a selector, or NULL. */
static enum fth_status refuse_id(const char *id, const struct fth_backend *backend,
                                 struct fth_error *error)
{
    static const char expected[] = "expected cuda:NUMBER, opencl:NUMBER, sim:GPU or replay:FILE";
    const char *names[FTH_COUNT(backends)];
    char near[256] = "";
    for (size_t i = 0; i < FTH_COUNT(backends); i++)
        names[i] = backends[i]->name;
    char word[32];
    snprintf(word, sizeof word, "%.*s", (int)FTH_MIN(strcspn(id, ":"), sizeof word - 1), id);
    const char *name = backend ? NULL : fth_suggest(word, names, FTH_COUNT(names));
    if (backend)
        return fth_fail(error, FTH_NOT_FOUND, "open device", id, "%s%s", expected,
                        backend == &fth_backend_sim ? "; 'fathom gpus' lists the GPUs" : "");
    if (suggest_simulated(id, near, sizeof near) || name)
        return fth_fail(error, FTH_NOT_FOUND, "open device", id, "%s (did you mean '%s%s'?)",
                        expected, *near ? near : name, *near ? "" : ":");
    return fth_fail(error, FTH_NOT_FOUND, "open device", id, "%s", expected);
}

/* Returns the backend that a device id names; `*selector` is the part after the colon. NULL, with
 * an error, if the id does not have the form BACKEND:SELECTOR. */
static const struct fth_backend *find_backend(const char *id, const char **selector,
                                              struct fth_error *error)
{
    const struct fth_backend *named = NULL;
    const size_t size = strcspn(id, ":");
    for (size_t i = 0; i < FTH_COUNT(backends); i++)
        if (strlen(backends[i]->name) == size && strncmp(id, backends[i]->name, size) == 0)
            named = backends[i];
    if (named && id[size] && id[size + 1]) {
        *selector = id + size + 1;
        return named;
    }
    (void)refuse_id(id, named, error);
    return NULL;
}

enum fth_status fth_device_open(const char *id, const struct fth_log *log,
                                struct fth_device **device, struct fth_error *error)
{
    const struct fth_device_options options = FTH_DEVICE_OPTIONS(.log = log);
    return fth_device_open_with(id, &options, device, error);
}

enum fth_status fth_device_open_with(const char *id, const struct fth_device_options *given,
                                     struct fth_device **device, struct fth_error *error)
{
    struct fth_device_options options;
    const char *selector;
    *device = NULL;
    FTH_TRY(fth_options_read("fth_device_options", given, &options, sizeof options, error));
    if (!id)
        return open_default(&options, device, error);
    const struct fth_backend *backend = find_backend(id, &selector, error);
    if (!backend)
        return FTH_NOT_FOUND;
    if (options.require_gpu && !backend->is_real)
        return fth_fail(error, FTH_UNAVAILABLE, "open device", id,
                        "it is not a GPU of this computer, which is required");
    return backend->open(selector, &options, device, error);
}

enum fth_status fth_machine_open(const char *id, const struct fth_device_options *options,
                                 const struct fth_machine_ops **ops, void **machine,
                                 struct fth_error *error)
{
    const char *selector;
    *ops = NULL;
    *machine = NULL;
    const struct fth_backend *backend = find_backend(id, &selector, error);
    if (!backend)
        return FTH_NOT_FOUND;
    if (!backend->machine)
        return fth_fail(error, FTH_UNSUPPORTED, "launch kernels", id,
                        "this device cannot launch kernels; use cuda:NUMBER or sim:GPU");
    return backend->machine(selector, options, ops, machine, error);
}

enum fth_status fth_device_create(const char *id, const struct fth_device_ops *ops, void *state,
                                  struct fth_device **device, struct fth_error *error)
{
    *device = calloc(1, sizeof **device);
    if (!*device) {
        ops->close(state);
        return fth_no_memory(error, "open device", id);
    }
    (*device)->ops = ops;
    (*device)->state = state;
    snprintf((*device)->id, sizeof(*device)->id, "%s", id);
    return FTH_OK;
}

const char *fth_device_id(const struct fth_device *device)
{
    return device->id;
}

enum fth_status fth_device_describe(struct fth_device *device, struct fth_gpu *gpu,
                                    struct fth_error *error)
{
    return device->ops->describe(device->state, gpu, error);
}

enum fth_status fth_device_describe_load(struct fth_device *device, struct fth_gpu *gpu,
                                         struct fth_error *error)
{
    return device->ops->describe_load ? device->ops->describe_load(device->state, gpu, error)
                                      : FTH_OK;
}

enum fth_status fth_device_measure(struct fth_device *device, const struct fth_request *requests,
                                   size_t count, struct fth_samples *samples,
                                   struct fth_error *error)
{
    for (size_t i = 0; i < count; i++)
        samples[i] = (struct fth_samples){.status = FTH_UNAVAILABLE, .cause = "not measured"};
    for (size_t i = 0; i < count; i++) {
        FTH_TRY(fth_request_check(&requests[i], error));
    }
    return device->ops->measure(device->state, requests, count, samples, error);
}

void fth_device_expect(struct fth_device *device, const struct fth_request *requests, size_t count)
{
    if (device->ops->expect)
        device->ops->expect(device->state, requests, count);
}

enum fth_status fth_device_finish(struct fth_device *device, struct fth_error *error)
{
    return device->ops->finish ? device->ops->finish(device->state, error) : FTH_OK;
}

void fth_device_close(struct fth_device *device)
{
    if (!device)
        return;
    device->ops->close(device->state);
    free(device);
}
