/* Finds the name of the GPU of this computer. Opening the driver (cuInit) takes up to seconds where
 * it must first start the GPU. The kernel module of the driver states the names at once: each GPU
 * has a folder in /proc/driver/nvidia/gpus, with a file `information` that has a line "Model:
 * NVIDIA H200". The driver is only asked if there are no such files, if the GPUs differ, because
 * CUDA orders them in its own way, or if the environment hides them or names a MIG slice. */
#include "device/cuda/cuda.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads the name from a file `information`. Returns false if it has none. */
static bool read_model(const char *path, char *name, size_t size)
{
    static const char key[] = "Model:";
    char line[256];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, sizeof key - 1) != 0)
            continue;
        const char *model = line + sizeof key - 1;
        model += strspn(model, " \t");
        const size_t length = strcspn(model, "\r\n");
        found = length > 0 && length < size;
        if (found)
            snprintf(name, size, "%.*s", (int)length, model);
    }
    if (file)
        fclose(file);
    return found;
}

bool fth_cuda_read_models(const char *folder, char *name, size_t size)
{
    DIR *stream = opendir(folder);
    const struct dirent *entry;
    size_t count = 0;
    bool equal = true;
    while (stream && (entry = readdir(stream))) {
        char path[PATH_MAX], model[256];
        if (entry->d_name[0] == '.' || snprintf(path, sizeof path, "%s/%s/information", folder,
                                                entry->d_name) >= (int)sizeof path)
            continue;
        if (!read_model(path, model, sizeof model))
            equal = false;
        else if (count++ == 0)
            snprintf(name, size, "%s", model);
        else
            equal = equal && strcmp(name, model) == 0;
    }
    if (stream)
        closedir(stream);
    return count > 0 && equal;
}

bool fth_cuda_sees_whole_gpus(const char *visible)
{
    return !visible || (*visible >= '0' && *visible <= '9') || strncmp(visible, "GPU-", 4) == 0;
}

struct first {
    char *name;
    size_t size;
};

static void take_first(void *user, const struct fth_device_info *device)
{
    const struct first *first = user;
    if (device->id && device->name && !*first->name)
        snprintf(first->name, first->size, "%s", device->name);
}

enum fth_status fth_device_local_name(char *name, size_t size, struct fth_error *error)
{
    struct first first = {name, size};
    if (fth_cuda_sees_whole_gpus(getenv("CUDA_VISIBLE_DEVICES")) &&
        fth_cuda_read_models("/proc/driver/nvidia/gpus", name, size))
        return FTH_OK;
    *name = '\0';
    struct fth_error fault = FTH_NO_ERROR;
    if (fth_backend_cuda.list(take_first, &first, &fault) == FTH_NO_MEMORY)
        return fth_error_move(error, &fault);
    return FTH_OK;
}
