/* Adds what was not known while the program ran: PTX for machine code that the program loaded.
 * Triton, for example, loads machine code, and keeps the PTX that it was made from beside it in a
 * cache. The machine code of the cache is compared with what the program loaded, so PTX of another
 * variant of the kernel is not taken. */
#include "capsule/capsule.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char operation[] = "complete capsule";

/* Limits of the search, chosen: the depth of folders, and the number of files. */
enum { MAX_DEPTH = 6, MAX_FILES = 1000000 };

struct fth_capture {
    struct fth_arena arena;
    struct fth_capture_kernel *kernels;
    size_t count, capacity;
    bool was_truncated;
    uint64_t bytes;
};

/* A search for the PTX of modules. */
struct search {
    const struct fth_capsule *capsule;
    struct fth_buffer *ptx; /* per module, from 1 */
    size_t missing;         /* modules that still lack PTX */
    size_t files;           /* that were looked at */
};

static bool is_missing(const struct search *search, uint32_t module)
{
    return fth_capsule_module(search->capsule, module)->reason && !search->ptx[module].size;
}

/* Reads PTX for a module. A file that cannot be read is no failure: the module stays without. */
static void take_ptx(struct search *search, uint32_t module, const char *path)
{
    struct fth_buffer *ptx = &search->ptx[module];
    if (fth_file_read(path, FTH_FILE_LIMIT("PTX", FTH_CAPSULE_MAX_PTX_BYTES), ptx, NULL) ==
            FTH_OK &&
        ptx->size)
        search->missing--;
    else
        ptx->size = 0;
}

/* Looks at machine code, and takes the PTX beside it if a module was made from it. */
static void look_at_code(struct search *search, const char *path, uint64_t bytes)
{
    struct fth_buffer code = {0};
    char beside[PATH_MAX];
    for (uint32_t i = 1; i <= fth_capsule_module_count(search->capsule); i++) {
        const struct fth_capsule_module *module = fth_capsule_module(search->capsule, i);
        if (!is_missing(search, i) || module->code_bytes == 0 || module->code_bytes > bytes)
            continue;
        if (!code.size &&
            fth_file_read(path, FTH_FILE_LIMIT("machine code", FTH_CAPSULE_MAX_PTX_BYTES), &code,
                          NULL) != FTH_OK)
            break;
        if (code.size < module->code_bytes)
            continue;
        const struct fth_digest digest = fth_digest(code.data, (size_t)module->code_bytes);
        if (memcmp(&digest, &module->code, sizeof digest) != 0)
            continue;
        snprintf(beside, sizeof beside, "%.*s.ptx", (int)(strrchr(path, '.') - path), path);
        take_ptx(search, i, beside);
    }
    fth_buffer_fini(&code);
}

/* Returns whether PTX defines a kernel with this name. */
static bool defines(const char *ptx, const char *kernel)
{
    const size_t length = strlen(kernel);
    for (const char *at = ptx; (at = strstr(at, ".entry"));) {
        at += strlen(".entry");
        at += strspn(at, " \t\r\n");
        if (strncmp(at, kernel, length) == 0 && strspn(at + length, " \t\r\n(") > 0)
            return true;
    }
    return false;
}

/* Returns the name of a kernel of the module that was launched. */
static const char *launched_kernel(const struct search *search, uint32_t module)
{
    for (size_t i = 0; i < fth_capsule_launch_count(search->capsule); i++)
        if (fth_capsule_launch(search->capsule, i)->module == module)
            return fth_capsule_launch(search->capsule, i)->kernel;
    return NULL;
}

/* Looks at PTX, and takes it if it defines a kernel of a module that lacks PTX. */
static void look_at_ptx(struct search *search, const char *path)
{
    struct fth_buffer ptx = {0};
    if (fth_file_read(path, FTH_FILE_LIMIT("PTX", FTH_CAPSULE_MAX_PTX_BYTES), &ptx, NULL) ==
            FTH_OK &&
        ptx.size)
        for (uint32_t i = 1; i <= fth_capsule_module_count(search->capsule); i++) {
            const char *kernel = is_missing(search, i) ? launched_kernel(search, i) : NULL;
            if (kernel && defines(ptx.data, kernel))
                take_ptx(search, i, path);
        }
    fth_buffer_fini(&ptx);
}

static void look_into(struct search *search, const char *folder, int depth, const char *suffix)
{
    DIR *stream = depth > 0 ? opendir(folder) : NULL;
    for (const struct dirent *entry;
         stream && search->missing && search->files < MAX_FILES && (entry = readdir(stream));) {
        char path[PATH_MAX];
        struct stat info;
        if (entry->d_name[0] == '.' ||
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path ||
            lstat(path, &info) != 0)
            continue;
        search->files++;
        if (S_ISDIR(info.st_mode))
            look_into(search, path, depth - 1, suffix);
        else if (S_ISREG(info.st_mode) && fth_ends_with(path, suffix) &&
                 strcmp(suffix, ".cubin") == 0)
            look_at_code(search, path, (uint64_t)info.st_size);
        else if (S_ISREG(info.st_mode) && fth_ends_with(path, suffix))
            look_at_ptx(search, path);
    }
    if (stream)
        closedir(stream);
}

/* Looks into the folder that a variable of the environment names, followed by `rest`. */
static void look_into_variable(struct search *search, const char *variable, const char *otherwise,
                               const char *rest)
{
    char folder[PATH_MAX];
    const char *value = getenv(variable);
    if (!value || !value[0])
        value = otherwise;
    if (value && snprintf(folder, sizeof folder, "%s%s", value, rest) < (int)sizeof folder)
        look_into(search, folder, MAX_DEPTH, ".cubin");
}

/* Looks into the caches of Triton, and of torch.compile, which sets the first variable itself. */
static void look_into_caches(struct search *search)
{
    char folder[PATH_MAX];
    const char *user = getenv("USER");
    look_into_variable(search, "TRITON_CACHE_DIR", NULL, "");
    look_into_variable(search, "TRITON_HOME", getenv("HOME"), "/.triton/cache");
    look_into_variable(search, "TORCHINDUCTOR_CACHE_DIR", NULL, "");
    snprintf(folder, sizeof folder, "/torchinductor_%s", user && user[0] ? user : "root");
    look_into_variable(search, "TMPDIR", "/tmp", folder);
}

/* Returns whether there is something to add to the capsule. */
static bool is_changed(const struct search *search, uint32_t modules, bool was_truncated)
{
    bool is_found = false;
    for (uint32_t i = 1; i <= modules; i++)
        is_found = is_found || search->ptx[i].size;
    return is_found || was_truncated;
}

/* Writes the PTX that was found, and marks the capsule as complete. */
static enum fth_status write_ptx(const char *path, const struct search *search, uint32_t modules,
                                 struct fth_error *error)
{
    struct fth_capsule_writer *writer;
    FTH_TRY(fth_capsule_append(path, &writer, error));
    for (uint32_t i = 1; i <= modules; i++)
        if (search->ptx[i].size) {
            enum fth_status status =
                fth_capsule_put_ptx(writer, i, search->ptx[i].data, search->ptx[i].size, error);
            if (status != FTH_OK) {
                fth_capsule_abandon(writer);
                return status;
            }
        }
    return fth_capsule_finish(writer, error);
}

/* Finds the PTX that is missing, and writes it. */
static enum fth_status add_ptx(const char *path, const char *const *folders, size_t count,
                               bool *was_truncated, struct fth_error *error)
{
    struct fth_capsule *capsule = NULL;
    FTH_TRY(fth_capsule_open(path, &capsule, error));
    const uint32_t modules = fth_capsule_module_count(capsule);
    struct search search = {.capsule = capsule,
                            .ptx = calloc((size_t)modules + 1, sizeof *search.ptx)};
    enum fth_status status = search.ptx ? FTH_OK : fth_no_memory(error, operation, path);
    *was_truncated = fth_capsule_is_truncated(capsule);
    for (uint32_t i = 1; search.ptx && i <= modules; i++)
        search.missing += fth_capsule_module(capsule, i)->reason != NULL;
    if (status == FTH_OK) {
        for (size_t i = 0; i < count; i++)
            look_into(&search, folders[i], MAX_DEPTH, ".cubin");
        for (size_t i = 0; i < count; i++)
            look_into(&search, folders[i], MAX_DEPTH, ".ptx");
        look_into_caches(&search);
    }
    /* The capsule is closed before it is changed. The number of modules is still needed. */
    fth_capsule_close(capsule);
    search.capsule = NULL;
    if (status == FTH_OK && is_changed(&search, modules, *was_truncated))
        status = write_ptx(path, &search, modules, error);
    for (uint32_t i = 0; search.ptx && i <= modules; i++)
        fth_buffer_fini(&search.ptx[i]);
    free(search.ptx);
    return status;
}

/* ---- the list of kernels ---- */

static struct fth_capture_kernel *find_kernel(struct fth_capture *capture, const char *name)
{
    for (size_t i = 0; i < capture->count; i++)
        if (strcmp(capture->kernels[i].name, name) == 0)
            return &capture->kernels[i];
    void *kernels = capture->kernels;
    const char *copy = fth_arena_text(&capture->arena, name);
    if (!copy || !fth_grow(&kernels, capture->count, &capture->capacity, sizeof *capture->kernels))
        return NULL;
    capture->kernels = kernels;
    capture->kernels[capture->count] = (struct fth_capture_kernel){.name = copy};
    return &capture->kernels[capture->count++];
}

static enum fth_status list_kernels(const char *path, struct fth_capture *capture,
                                    struct fth_error *error)
{
    struct fth_capsule *capsule = NULL;
    enum fth_status status = fth_capsule_open(path, &capsule, error);
    for (size_t i = 0; status == FTH_OK && i < fth_capsule_launch_count(capsule); i++) {
        const struct fth_capsule_launch *launch = fth_capsule_launch(capsule, i);
        const struct fth_capsule_module *module = fth_capsule_module(capsule, launch->module);
        const char *reason = launch->reason ? launch->reason
                             : module       ? module->reason
                                            : "its module is unknown";
        struct fth_capture_kernel *kernel = find_kernel(capture, launch->kernel);
        if (!kernel) {
            status = fth_no_memory(error, operation, path);
            break;
        }
        kernel->launches++;
        if (!reason)
            kernel->complete++;
        else if (!kernel->reason && !(kernel->reason = fth_arena_text(&capture->arena, reason)))
            status = fth_no_memory(error, operation, path);
    }
    fth_capsule_close(capsule);
    return status;
}

enum fth_status fth_capture_complete(const char *path, const char *const *folders, size_t count,
                                     struct fth_capture **out, struct fth_error *error)
{
    struct stat info;
    struct fth_capture *capture = *out = calloc(1, sizeof *capture);
    if (!capture)
        return fth_no_memory(error, operation, path);
    enum fth_status status = add_ptx(path, folders, count, &capture->was_truncated, error);
    if (status == FTH_OK)
        status = list_kernels(path, capture, error);
    if (status == FTH_OK && stat(path, &info) == 0)
        capture->bytes = (uint64_t)info.st_size;
    if (status != FTH_OK) {
        fth_capture_destroy(capture);
        *out = NULL;
    }
    return status;
}

void fth_capture_destroy(struct fth_capture *capture)
{
    if (!capture)
        return;
    free(capture->kernels);
    fth_arena_fini(&capture->arena);
    free(capture);
}

size_t fth_capture_kernel_count(const struct fth_capture *capture)
{
    return capture->count;
}

const struct fth_capture_kernel *fth_capture_kernel_at(const struct fth_capture *capture,
                                                       size_t index)
{
    return index < capture->count ? &capture->kernels[index] : NULL;
}

bool fth_capture_was_truncated(const struct fth_capture *capture)
{
    return capture->was_truncated;
}

uint64_t fth_capture_bytes(const struct fth_capture *capture)
{
    return capture->bytes;
}
