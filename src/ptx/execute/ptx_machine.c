/* Machines: device memory and the variables of a module. Each allocation and each
 * variable is backed by separate host memory. As on a GPU, device addresses are far from zero. At
 * least 256 bytes between two allocations belong to neither, so an access just beyond the end of an
 * allocation is a fault. Several machines can share one memory. */
#include "ptx/execute/warp.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char operation[] = "allocate device memory";

/* Minimum size in bytes of an allocation that is backed by mmap, which takes host memory only for
 * the pages that are written. Chosen, not derived. */
#define MIN_MAPPING ((uint64_t)1 << 20)
/* Size in bytes of a GPU page. Large allocations are aligned to it, as by the CUDA driver. */
#define LARGE_PAGE ((uint64_t)2 << 20)

/* Returns the index of the first allocation that begins above the address. */
static size_t upper_bound(const struct fth_ptx_memory *memory, uint64_t address)
{
    size_t low = 0, high = memory->allocation_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory->allocations[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct fth_ptx_allocation *fth_ptx_find_allocation(const struct fth_ptx_memory *memory,
                                                         uint64_t address)
{
    size_t next = upper_bound(memory, address);
    if (next == 0 || !memory->allocations)
        return NULL;
    const struct fth_ptx_allocation *found = &memory->allocations[next - 1];
    return address - found->base < found->bytes ? found : NULL;
}

/* Allocates zeroed host memory with 8 spare bytes at the end. Transparent huge pages are disabled:
 * with them, a kernel that touches one line per page would make the whole buffer resident. */
static bool get_host_memory(struct fth_ptx_allocation *allocation)
{
    if (allocation->bytes > SIZE_MAX / 2)
        return false;
    if (allocation->bytes < MIN_MAPPING) {
        allocation->host = calloc(1, (size_t)allocation->bytes + 8);
        return allocation->host != NULL;
    }
    size_t bytes = (size_t)allocation->bytes + 8;
    void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        return false;
#ifdef MADV_NOHUGEPAGE
    (void)madvise(mapping, bytes, MADV_NOHUGEPAGE);
#endif
    allocation->host = mapping;
    allocation->mapped_bytes = bytes;
    return true;
}

static void free_host_memory(const struct fth_ptx_allocation *allocation)
{
    if (allocation->is_borrowed)
        return;
    if (allocation->mapped_bytes)
        munmap(allocation->host, allocation->mapped_bytes);
    else
        free(allocation->host);
}

static enum fth_status add_allocation(struct fth_ptx_memory *memory,
                                      struct fth_ptx_allocation added, struct fth_error *error)
{
    void *allocations = memory->allocations;
    if (!fth_grow(&allocations, memory->allocation_count, &memory->allocation_capacity,
                  sizeof *memory->allocations))
        return fth_no_memory(error, operation, NULL);
    memory->allocations = allocations;
    if (!added.is_borrowed && !get_host_memory(&added)) {
        char text[32];
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "not enough host memory for %s",
                        fth_size_format((double)added.bytes, text, sizeof text));
    }
    size_t at = upper_bound(memory, added.base);
    memmove(memory->allocations + at + 1, memory->allocations + at,
            (memory->allocation_count - at) * sizeof *memory->allocations);
    memory->allocations[at] = added;
    memory->allocation_count++;
    return FTH_OK;
}

/* Returns whether nothing is in a range of addresses, and global memory can be there. */
static bool is_free(const struct fth_ptx_memory *memory, uint64_t address, uint64_t bytes)
{
    const size_t next = upper_bound(memory, address);
    return address >= LOWEST_GLOBAL && address < SHARED_WINDOW &&
           bytes <= SHARED_WINDOW - address && !fth_ptx_find_allocation(memory, address) &&
           (!memory->allocations || next == memory->allocation_count ||
            memory->allocations[next].base - address >= bytes);
}

static bool calls_malloc(const struct fth_ptx_module *module)
{
    for (size_t i = 0; module && i < module->function_count; i++)
        if (module->functions[i].builtin >= BUILTIN_MALLOC) /* or free */
            return true;
    return false;
}

/* Allocates memory after all other allocations. */
static enum fth_status allocate(struct fth_ptx_machine *machine, uint64_t bytes, bool is_counted,
                                uint64_t *address, struct fth_error *error)
{
    const uint64_t end_of_memory = GLOBAL_BASE + ((uint64_t)1 << 46);
    *address = 0;
    if (bytes == 0)
        return fth_fail(error, FTH_INVALID, operation, NULL, "the size must not be 0");
    uint64_t base = fth_ptx_next_address(machine);
    if (bytes >= LARGE_PAGE)
        base = (base + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    if (base > end_of_memory || bytes > end_of_memory - base)
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL,
                        "%llu bytes exceed the address space", (unsigned long long)bytes);
    const struct fth_ptx_allocation added = {
        .base = base, .bytes = bytes, .is_counted = is_counted};
    FTH_TRY(add_allocation(machine->memory, added, error));
    machine->memory->used_bytes += is_counted ? bytes : 0;
    *address = base;
    return FTH_OK;
}

/* Adds the memory for malloc of kernels. */
static enum fth_status add_heap(struct fth_ptx_machine *machine, struct fth_error *error)
{
    struct fth_ptx_memory *memory = machine->memory;
    FTH_TRY(allocate(machine, FTH_PTX_HEAP_BYTES, false, &memory->heap_address, error));
    memory->heap = fth_ptx_heap_create(memory->heap_address, FTH_PTX_HEAP_BYTES);
    return memory->heap ? FTH_OK : fth_no_memory(error, operation, NULL);
}

enum fth_status fth_ptx_machine_create(const struct fth_ptx_module *module,
                                       struct fth_ptx_machine **out, struct fth_error *error)
{
    return fth_ptx_machine_create_shared(NULL, module, out, error);
}

enum fth_status fth_ptx_machine_create_shared(struct fth_ptx_machine *other,
                                              const struct fth_ptx_module *module,
                                              struct fth_ptx_machine **out, struct fth_error *error)
{
    *out = NULL;
    struct fth_ptx_machine *machine = calloc(1, sizeof *machine);
    struct fth_ptx_memory *memory = other ? other->memory : calloc(1, sizeof *memory);
    if (!machine || !memory) {
        free(machine);
        if (!other)
            free(memory);
        return fth_no_memory(error, operation, NULL);
    }
    memory->users++;
    if (!other) {
        memory->base = GLOBAL_BASE + LARGE_PAGE; /* the same address as after a few variables */
        memory->capacity_bytes = UINT64_MAX;
    }
    machine->memory = memory;
    machine->module = module;
    enum fth_status status = FTH_OK;
    for (size_t i = 0; module && i < module->variable_count && status == FTH_OK; i++) {
        const struct fth_ptx_variable *variable = &module->variables[i];
        if (variable->bytes && !is_free(memory, variable->address, variable->bytes))
            status = fth_fail(error, FTH_INVALID, "load module", module->name,
                              "the address 0x%llx of variable '%s' is already in use",
                              (unsigned long long)variable->address, variable->name);
        else
            status = add_allocation(
                memory,
                (struct fth_ptx_allocation){.base = variable->address,
                                            .bytes = variable->bytes,
                                            .is_constant = variable->space == FTH_SPACE_CONST,
                                            .is_placed = variable->is_placed,
                                            .owner = machine},
                error);
        if (status == FTH_OK && variable->data)
            memcpy(fth_ptx_host(machine, variable->address, variable->bytes), variable->data,
                   variable->data_bytes);
    }
    if (status == FTH_OK && !memory->heap && calls_malloc(module))
        status = add_heap(machine, error);
    if (status != FTH_OK) {
        fth_ptx_machine_destroy(machine);
        return status;
    }
    *out = machine;
    return FTH_OK;
}

static void remove_allocation(struct fth_ptx_memory *memory, size_t index)
{
    if (memory->allocations[index].is_counted)
        memory->used_bytes -= memory->allocations[index].bytes;
    free_host_memory(&memory->allocations[index]);
    memory->allocation_count--;
    memmove(memory->allocations + index, memory->allocations + index + 1,
            (memory->allocation_count - index) * sizeof *memory->allocations);
}

void fth_ptx_machine_destroy(struct fth_ptx_machine *machine)
{
    if (!machine)
        return;
    struct fth_ptx_memory *memory = machine->memory;
    free(machine->warned);
    fth_findings_destroy(machine->reported);
    for (size_t i = 0; machine->slice_classes && i < machine->module->function_count; i++)
        free(machine->slice_classes[i]);
    free(machine->slice_classes);
    for (size_t i = memory->allocation_count; i-- > 0;)
        if (memory->allocations[i].owner == machine) /* a variable of its module */
            remove_allocation(memory, i);
    if (--memory->users == 0) {
        for (size_t i = 0; i < memory->allocation_count; i++)
            free_host_memory(&memory->allocations[i]);
        free(memory->allocations);
        free(memory->textures);
        fth_ptx_heap_destroy(memory->heap);
        free(memory);
    }
    free(machine);
}

uint64_t fth_ptx_next_address(const struct fth_ptx_machine *machine)
{
    const struct fth_ptx_memory *memory = machine->memory;
    size_t count = memory->allocation_count;
    while (count > 0 && memory->allocations[count - 1].is_placed)
        count--;
    if (count == 0)
        return memory->base;
    const struct fth_ptx_allocation *last = &memory->allocations[count - 1];
    /* At least 256 bytes stay free after the last allocation. Variables do not share a large page
     * with allocations. */
    uint64_t end = last->base + last->bytes + 256, unit = last->owner ? LARGE_PAGE : 256;
    return (end + unit - 1) & ~(unit - 1);
}

void fth_ptx_set_capacity(struct fth_ptx_machine *machine, uint64_t bytes)
{
    machine->memory->capacity_bytes = bytes;
}

uint64_t fth_ptx_free_bytes(const struct fth_ptx_machine *machine)
{
    const struct fth_ptx_memory *memory = machine->memory;
    return memory->capacity_bytes - FTH_MIN(memory->used_bytes, memory->capacity_bytes);
}

void fth_ptx_set_base(struct fth_ptx_machine *machine, uint64_t address)
{
    machine->memory->base = address;
}

enum fth_status fth_ptx_map(struct fth_ptx_machine *machine, void *host, uint64_t bytes,
                            uint64_t address, struct fth_error *error)
{
    struct fth_ptx_memory *memory = machine->memory;
    if (bytes == 0 || !is_free(memory, address, bytes))
        return fth_fail(error, FTH_INVALID, "map host memory", NULL,
                        "the %llu bytes at 0x%llx cannot be mapped", (unsigned long long)bytes,
                        (unsigned long long)address);
    return add_allocation(
        memory,
        (struct fth_ptx_allocation){
            .base = address, .bytes = bytes, .host = host, .is_borrowed = true, .is_placed = true},
        error);
}

enum fth_status fth_ptx_alloc(struct fth_ptx_machine *machine, uint64_t bytes, uint64_t *address,
                              struct fth_error *error)
{
    const uint64_t left = fth_ptx_free_bytes(machine);
    *address = 0;
    if (bytes <= left)
        return allocate(machine, bytes, true, address, error);
    char requested[32], available[32];
    return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "%s requested, %s free",
                    fth_size_format((double)bytes, requested, sizeof requested),
                    fth_size_format((double)left, available, sizeof available));
}

enum fth_status fth_ptx_free(struct fth_ptx_machine *machine, uint64_t address,
                             struct fth_error *error)
{
    struct fth_ptx_memory *memory = machine->memory;
    size_t next = upper_bound(memory, address);
    if (next == 0 || memory->allocations[next - 1].base != address ||
        memory->allocations[next - 1].owner || (memory->heap && address == memory->heap_address))
        return fth_fail(error, FTH_INVALID, "free device memory", NULL,
                        "0x%llx is not the address of an allocation", (unsigned long long)address);
    remove_allocation(memory, next - 1);
    return FTH_OK;
}

void *fth_ptx_host(const struct fth_ptx_machine *machine, uint64_t address, uint64_t bytes)
{
    const struct fth_ptx_allocation *found = fth_ptx_find_allocation(machine->memory, address);
    if (!found || found->bytes - (address - found->base) < bytes)
        return NULL;
    return found->host + (address - found->base);
}

bool fth_ptx_fill(struct fth_ptx_machine *machine, uint64_t address, unsigned char byte,
                  uint64_t bytes)
{
    uint8_t *host = fth_ptx_host(machine, address, bytes);
    if (!host)
        return false;
    const struct fth_ptx_allocation *found = fth_ptx_find_allocation(machine->memory, address);
    if (byte == 0 && found->mapped_bytes && bytes >= MIN_MAPPING) {
        /* Return whole pages to the host; they read as zeros again. */
        const size_t page = (size_t)64 << 10; /* a multiple of the page size of every host */
        size_t before = (page - (size_t)((uintptr_t)host % page)) % page;
        size_t middle = ((size_t)bytes - before) / page * page;
        if (madvise(host + before, middle, MADV_DONTNEED) == 0) {
            memset(host, 0, before);
            memset(host + before + middle, 0, (size_t)bytes - before - middle);
            return true;
        }
    }
    memset(host, byte, (size_t)bytes);
    return true;
}

const char *fth_ptx_symbol_at(const struct fth_ptx_module *module, uint64_t within,
                              uint64_t *address, uint64_t *bytes)
{
    for (size_t i = 0; i < module->variable_count; i++) {
        const struct fth_ptx_variable *variable = &module->variables[i];
        if (within >= variable->address && within - variable->address < variable->bytes) {
            *address = variable->address;
            *bytes = variable->bytes;
            return variable->name;
        }
    }
    return NULL;
}

bool fth_ptx_symbol(const struct fth_ptx_machine *machine, const char *name, uint64_t *address,
                    uint64_t *bytes)
{
    const struct fth_ptx_module *module = machine->module;
    for (size_t i = 0; module && i < module->variable_count; i++)
        if (strcmp(module->variables[i].name, name) == 0) {
            *address = module->variables[i].address;
            *bytes = module->variables[i].bytes;
            return true;
        }
    return false;
}
