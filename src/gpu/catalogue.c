/* The catalogue of GPU descriptions. The descriptions that come with fathom are compiled in, so the
 * program needs no further files on a cluster node. A site can add or replace descriptions: files
 * in PREFIX/share/fathom/gpus, where the program is in PREFIX/bin, and in the installation folder
 * take precedence over those compiled in. */
#include "gpu/gpu.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The build system defines the installation folder. */
#ifndef FTH_DATA_FOLDER
#define FTH_DATA_FOLDER "/usr/local/share/fathom/gpus"
#endif

struct entry {
    const char *name;
    const char *path;                    /* NULL: compiled in */
    const struct fth_embedded *embedded; /* NULL: a file */
};

struct fth_catalogue {
    struct fth_arena arena;
    struct entry *entries;
    size_t count, capacity;
};

/* Adds an entry, unless there is one with the same name: folders are read in the order of their
 * precedence. Returns false without memory. */
static bool add(struct fth_catalogue *catalogue, struct entry entry)
{
    for (size_t i = 0; i < catalogue->count; i++)
        if (strcmp(catalogue->entries[i].name, entry.name) == 0)
            return true;
    void *entries = catalogue->entries;
    if (!fth_grow(&entries, catalogue->count, &catalogue->capacity, sizeof entry))
        return false;
    catalogue->entries = entries;
    catalogue->entries[catalogue->count++] = entry;
    return true;
}

/* Returns the length of NAME for a file NAME.json or NAME.json.zst, and 0 for other files. */
static size_t name_size(const char *file)
{
    static const char *const suffixes[] = {".json", ".json.zst"};
    size_t size = strlen(file);
    for (size_t i = 0; i < FTH_COUNT(suffixes); i++) {
        size_t suffix = strlen(suffixes[i]);
        if (size > suffix && strcmp(file + size - suffix, suffixes[i]) == 0)
            return size - suffix;
    }
    return 0;
}

/* Adds the descriptions of a folder, which may not exist. Returns false without memory. */
static bool add_folder(struct fth_catalogue *catalogue, const char *folder)
{
    DIR *stream = opendir(folder);
    if (!stream)
        return true;
    bool ok = true;
    const struct dirent *file;
    while (ok && (file = readdir(stream))) {
        size_t size = name_size(file->d_name);
        if (size == 0 || file->d_name[0] == '.')
            continue;
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/%s", folder, file->d_name) >= (int)sizeof path ||
            !fth_file_is_regular(path))
            continue;
        char *name = fth_arena_text(&catalogue->arena, file->d_name);
        struct entry entry = {name, fth_arena_text(&catalogue->arena, path), NULL};
        ok = name && entry.path;
        if (ok) {
            name[size] = '\0';
            ok = add(catalogue, entry);
        }
    }
    closedir(stream);
    return ok;
}

/* Finds PREFIX/share/fathom/gpus for a program PREFIX/bin/fathom. Returns false if the path of the
 * program is not known. */
static bool find_folder_by_program(char *folder, size_t size)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0)
        return false;
    program[length] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(program, '/');
        if (!slash)
            return false;
        *slash = '\0';
    }
    return snprintf(folder, size, "%s/share/fathom/gpus", program) < (int)size;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

enum fth_status fth_catalogue_open(struct fth_catalogue **out, struct fth_error *error)
{
    *out = NULL;
    struct fth_catalogue *catalogue = calloc(1, sizeof *catalogue);
    if (!catalogue)
        return fth_no_memory(error, "open GPU catalogue", NULL);
    char folder[PATH_MAX + 32];
    bool ok = true;
    if (find_folder_by_program(folder, sizeof folder))
        ok = add_folder(catalogue, folder);
    ok = ok && add_folder(catalogue, FTH_DATA_FOLDER);
    for (size_t i = 0; i < fth_embedded_gpu_count && ok; i++)
        ok = add(catalogue, (struct entry){fth_embedded_gpus[i].name, NULL, &fth_embedded_gpus[i]});
    if (!ok) {
        fth_catalogue_close(catalogue);
        return fth_no_memory(error, "open GPU catalogue", NULL);
    }
    if (catalogue->count)
        qsort(catalogue->entries, catalogue->count, sizeof *catalogue->entries, by_name);
    *out = catalogue;
    return FTH_OK;
}

void fth_catalogue_close(struct fth_catalogue *catalogue)
{
    if (!catalogue)
        return;
    free(catalogue->entries);
    fth_arena_fini(&catalogue->arena);
    free(catalogue);
}

size_t fth_catalogue_count(const struct fth_catalogue *catalogue)
{
    return catalogue->count;
}

const char *fth_catalogue_name(const struct fth_catalogue *catalogue, size_t index)
{
    return index < catalogue->count ? catalogue->entries[index].name : NULL;
}

const char *fth_catalogue_path(const struct fth_catalogue *catalogue, size_t index)
{
    return index < catalogue->count ? catalogue->entries[index].path : NULL;
}

/* Fails, and suggests the most similar name. */
static enum fth_status no_such_gpu(const struct fth_catalogue *catalogue, const char *name_or_path,
                                   struct fth_error *error)
{
    const char *suggestion = NULL, *nearest = NULL;
    const char **names = calloc(catalogue->count + 1, sizeof *names);
    if (names) {
        size_t distance;
        for (size_t i = 0; i < catalogue->count; i++)
            names[i] = catalogue->entries[i].name;
        suggestion = fth_suggest(name_or_path, names, catalogue->count);
        nearest = fth_nearest(name_or_path, names, catalogue->count, &distance);
        free(names);
    }
    if (suggestion)
        return fth_fail(error, FTH_NOT_FOUND, "find GPU", name_or_path,
                        "no GPU or file has this name; did you mean '%s'?", suggestion);
    return fth_fail(
        error, FTH_NOT_FOUND, "find GPU", name_or_path,
        "no GPU or file has this name; the most similar GPU is '%s'; 'fathom gpus' lists "
        "all",
        nearest ? nearest : "none");
}

enum fth_status fth_catalogue_read(const struct fth_catalogue *catalogue, const char *name_or_path,
                                   const struct fth_log *log, struct fth_gpu **gpu,
                                   struct fth_error *error)
{
    *gpu = NULL;
    for (size_t i = 0; i < catalogue->count; i++) {
        const struct entry *entry = &catalogue->entries[i];
        if (strcasecmp(entry->name, name_or_path) != 0)
            continue;
        if (entry->path)
            return fth_gpu_read_file(entry->path, log, gpu, error);
        return fth_gpu_read_text(entry->name, entry->embedded->data, entry->embedded->size, log,
                                 gpu, error);
    }
    bool path =
        strcmp(name_or_path, "-") == 0 || strchr(name_or_path, '/') || name_size(name_or_path);
    if (path || access(name_or_path, F_OK) == 0)
        return fth_gpu_read_file(name_or_path, log, gpu, error);
    return no_such_gpu(catalogue, name_or_path, error);
}

/* ---- descriptions by the names of devices ---- */

/* Returns the name without the name of the vendor. */
static const char *without_vendor(const char *name)
{
    static const char *const vendors[] = {"NVIDIA ", "AMD "};
    for (size_t i = 0; i < FTH_COUNT(vendors); i++)
        if (strncmp(name, vendors[i], strlen(vendors[i])) == 0)
            return name + strlen(vendors[i]);
    return name;
}

/* Returns whether the rest of a device's name, behind the name of the model, leaves the model as it
 * is: "-SXM4-80GB" and " 80GB PCIe" do, " Ti" and " MIG 1g.18gb" do not. */
static bool is_variant(const char *rest)
{
    if (*rest == '\0' || *rest == '-')
        return true;
    const size_t digits = *rest == ' ' ? strspn(rest + 1, "0123456789") : 0;
    return digits > 0 && strncmp(rest + 1 + digits, "GB", 2) == 0;
}

/* Returns the length of the name in a description if the device is of this model; otherwise 0. */
static size_t matching_size(const struct entry *entry, const char *device)
{
    struct fth_gpu *gpu = NULL;
    size_t size = 0;
    const enum fth_status status = entry->path
                                       ? fth_gpu_read_file(entry->path, NULL, &gpu, NULL)
                                       : fth_gpu_read_text(entry->name, entry->embedded->data,
                                                           entry->embedded->size, NULL, &gpu, NULL);
    const char *name = status == FTH_OK ? fth_gpu_text(gpu, "device", "name") : NULL;
    if (name) {
        const char *model = without_vendor(name);
        const size_t length = strlen(model);
        if (length && strncmp(device, model, length) == 0 && is_variant(device + length))
            size = length;
    }
    fth_gpu_destroy(gpu);
    return size;
}

const char *fth_catalogue_find(const struct fth_catalogue *catalogue, const char *device_name)
{
    const char *device = without_vendor(device_name), *found = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < catalogue->count && *device; i++) {
        const size_t size = matching_size(&catalogue->entries[i], device);
        if (size > longest) {
            longest = size;
            found = catalogue->entries[i].name;
        }
    }
    return found;
}
