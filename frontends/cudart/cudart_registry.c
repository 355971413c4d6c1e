/* Registration of fat binaries, kernels and variables, as the host code of nvcc does it before
 * main, and their lazy loading.
 *
 * nvcc gives every kernel a host function and every variable a host copy; programs name kernels and
 * variables by their addresses. The registry maps these addresses to the names in the module. The
 * driver loads a fat binary when the program first uses something in it, so that a binary that
 * cannot be loaded only fails the calls that need it, as with NVIDIA's runtime.
 */
#include "cudart.h"

#include <stdlib.h>

static struct fth_entry **bucket_of(struct fth_state *state, const void *key)
{
    uint64_t hash = fth_address(key) * UINT64_C(0x9e3779b97f4a7c15);
    return &state->entries[hash % FTH_BUCKETS];
}

static struct fth_entry *find(struct fth_state *state, const void *key)
{
    struct fth_entry *entry = *bucket_of(state, key);
    while (entry && entry->key != key)
        entry = entry->next;
    return entry;
}

/* Adds an entry; the last one of a key counts. Without memory the entry is missing, and calls that
 * need it fail. */
static int add(const struct fth_entry *entry)
{
    struct fth_entry *copy = malloc(sizeof(*copy));
    if (!copy)
        return FTH_OUT_OF_MEMORY;
    *copy = *entry;
    struct fth_state *state = fth_lock();
    struct fth_entry **bucket = bucket_of(state, entry->key);
    copy->next = *bucket;
    *bucket = copy;
    fth_unlock();
    return FTH_SUCCESS;
}

FTH_API void **__cudaRegisterFatBinary(void *fat)
{
    struct fth_binary *binary = calloc(1, sizeof(*binary));
    if (!binary)
        return NULL;
    /* The driver sees from the wrapper whether nvcc has linked the code (-rdc=true). */
    binary->code = fat;
    struct fth_state *state = fth_lock();
    binary->next = state->binaries;
    state->binaries = binary;
    fth_unlock();
    return (void **)binary;
}

FTH_API void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

/* Removes the entries of an owner: all of them, or only the handles. */
static void remove_entries(struct fth_state *state, const void *owner, bool only_handles)
{
    for (size_t i = 0; i < FTH_BUCKETS; i++) {
        struct fth_entry **place = &state->entries[i];
        while (*place) {
            struct fth_entry *entry = *place;
            if (entry->owner == owner && !(only_handles && entry->binary)) {
                *place = entry->next;
                free(entry);
            } else {
                place = &entry->next;
            }
        }
    }
}

FTH_API void __cudaUnregisterFatBinary(void **handle)
{
    struct fth_binary *binary = (struct fth_binary *)handle;
    if (!binary)
        return;
    struct fth_state *state = fth_lock();
    struct fth_binary **place = &state->binaries;
    while (*place && *place != binary)
        place = &(*place)->next;
    if (*place)
        *place = binary->next;
    remove_entries(state, binary, false);
    fth_unlock();
    if (binary->library)
        (void)cuLibraryUnload(binary->library);
    free(binary);
}

FTH_API void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                    int max_threads, void *thread, void *block, void *block_size,
                                    void *grid_size, int *warp_size)
{
    (void)device, (void)max_threads, (void)thread, (void)block;
    (void)block_size, (void)grid_size, (void)warp_size;
    struct fth_entry entry = {.key = host,
                              .kind = FTH_ENTRY_KERNEL,
                              .name = name,
                              .binary = (struct fth_binary *)handle,
                              .owner = (const void *)handle};
    (void)add(&entry);
}

FTH_API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name,
                               int external, size_t bytes, int constant, int global)
{
    (void)device, (void)external, (void)bytes, (void)constant, (void)global;
    struct fth_entry entry = {.key = host,
                              .kind = FTH_ENTRY_VARIABLE,
                              .name = name,
                              .binary = (struct fth_binary *)handle,
                              .owner = (const void *)handle};
    (void)add(&entry);
}

FTH_API void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                      int external, size_t bytes, int constant, int global)
{
    (void)device, (void)external, (void)bytes, (void)constant, (void)global;
    struct fth_entry entry = {.key = (const void *)host,
                              .kind = FTH_ENTRY_MANAGED,
                              .name = name,
                              .binary = (struct fth_binary *)handle,
                              .owner = (const void *)handle};
    (void)add(&entry);
}

/* Sets the host's pointers to the managed variables of a loaded binary. */
static int set_managed(struct fth_state *state, const struct fth_binary *binary)
{
    int error = FTH_SUCCESS;
    for (size_t i = 0; i < FTH_BUCKETS; i++)
        for (struct fth_entry *entry = state->entries[i]; entry && !error; entry = entry->next)
            if (entry->binary == binary && entry->kind == FTH_ENTRY_MANAGED) {
                uint64_t address = 0;
                size_t bytes = 0;
                error = cuLibraryGetManaged(&address, &bytes, binary->library, entry->name);
                if (!error)
                    *(void **)fth_pointer(fth_address(entry->key)) = fth_pointer(address);
            }
    return error;
}

/* Loads a fat binary. A load that failed is tried again by the next call that needs it. */
static int load(struct fth_state *state, struct fth_binary *binary)
{
    if (!binary)
        return FTH_INVALID_DEVICE_FUNCTION;
    if (binary->library)
        return FTH_SUCCESS;
    int error = cuLibraryLoadData(&binary->library, binary->code, NULL, NULL, 0, NULL, NULL, 0);
    if (error)
        binary->library = NULL;
    return error ? error : set_managed(state, binary);
}

FTH_API char __cudaInitModule(void **handle)
{
    int error = fth_enter();
    if (!error) {
        struct fth_state *state = fth_lock();
        error = load(state, (struct fth_binary *)handle);
        fth_unlock();
    }
    return fth_leave(error) == FTH_SUCCESS;
}

/* Returns the kernel handle of an entry. The state is locked. */
static int kernel_of(struct fth_state *state, const struct fth_entry *entry,
                     struct fth_cu_kernel **kernel)
{
    if (entry && entry->kind == FTH_ENTRY_HANDLE) {
        *kernel = fth_pointer(fth_address(entry->key));
        return FTH_SUCCESS;
    }
    if (!entry || entry->kind != FTH_ENTRY_KERNEL)
        return FTH_INVALID_DEVICE_FUNCTION;
    int error = load(state, entry->binary);
    if (!error)
        error = cuLibraryGetKernel(kernel, entry->binary->library, entry->name);
    return error == FTH_SYMBOL_NOT_FOUND ? FTH_INVALID_DEVICE_FUNCTION : error;
}

int fth_find_kernel(const void *symbol, struct fth_cu_kernel **kernel)
{
    struct fth_state *state = fth_lock();
    int error = kernel_of(state, find(state, symbol), kernel);
    fth_unlock();
    return error;
}

int fth_find_function(const void *symbol, struct fth_cu_function **function)
{
    struct fth_state *state = fth_lock();
    const struct fth_entry *entry = find(state, symbol);
    int error = FTH_SUCCESS;
    if (entry && entry->kind == FTH_ENTRY_FUNCTION) {
        *function = fth_pointer(fth_address(entry->key));
    } else {
        struct fth_cu_kernel *kernel = NULL;
        error = kernel_of(state, entry, &kernel);
        if (!error)
            error = cuKernelGetFunction(function, kernel);
    }
    fth_unlock();
    return error;
}

const void *fth_find_host_function(struct fth_cu_function *function)
{
    const void *found = function;
    struct fth_state *state = fth_lock();
    for (size_t i = 0; i < FTH_BUCKETS; i++)
        for (struct fth_entry *entry = state->entries[i]; entry; entry = entry->next) {
            struct fth_cu_kernel *kernel = NULL;
            struct fth_cu_function *candidate = NULL;
            if (entry->kind == FTH_ENTRY_KERNEL && entry->binary && entry->binary->library &&
                !kernel_of(state, entry, &kernel) && !cuKernelGetFunction(&candidate, kernel) &&
                candidate == function)
                found = entry->key;
        }
    fth_unlock();
    return found;
}

int fth_register_handle(const void *handle, enum fth_entry_kind kind, const void *owner)
{
    struct fth_state *state = fth_lock();
    const struct fth_entry *symbol = find(state, owner);
    bool known = find(state, handle) != NULL;
    struct fth_entry entry = {.key = handle, .kind = kind, .owner = symbol ? symbol->owner : owner};
    fth_unlock();
    return known ? FTH_SUCCESS : add(&entry);
}

void fth_forget_handles(const struct fth_cu_library *library)
{
    remove_entries(fth_lock(), library, true);
    fth_unlock();
}

/* Returns the managed variable at an address. In programs, the name of a managed variable stands
 * for its memory, not for the host's pointer to it. */
static const struct fth_entry *find_managed(const struct fth_state *state, const void *address)
{
    for (size_t i = 0; i < FTH_BUCKETS; i++)
        for (const struct fth_entry *entry = state->entries[i]; entry; entry = entry->next)
            if (entry->kind == FTH_ENTRY_MANAGED && *(void *const *)entry->key == address)
                return entry;
    return NULL;
}

int fth_find_variable(const void *symbol, uint64_t *address, size_t *bytes)
{
    struct fth_state *state = fth_lock();
    const struct fth_entry *entry = find(state, symbol);
    if (!entry)
        entry = find_managed(state, symbol);
    int error = FTH_INVALID_SYMBOL;
    if (entry && (entry->kind == FTH_ENTRY_VARIABLE || entry->kind == FTH_ENTRY_MANAGED))
        error = load(state, entry->binary);
    if (!error)
        error = cuLibraryGetGlobal(address, bytes, entry->binary->library, entry->name);
    fth_unlock();
    return error == FTH_SYMBOL_NOT_FOUND ? FTH_INVALID_SYMBOL : error;
}

void fth_forget_libraries(void)
{
    struct fth_state *state = fth_lock();
    for (struct fth_binary *binary = state->binaries; binary; binary = binary->next) {
        if (binary->library)
            (void)cuLibraryUnload(binary->library);
        binary->library = NULL;
        remove_entries(state, binary, true);
    }
    fth_unlock();
}
