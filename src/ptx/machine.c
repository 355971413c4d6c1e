/* A machine: device memory in pieces of host memory, with the module's variables among them, and
 * linear textures. Addresses are those of a GPU: far from zero, pieces well apart, so that a kernel
 * that leaves its buffer is caught. */
#include "ptx/engine.h"

#include <stdlib.h>
#include <string.h>

static const char operation[] = "allocate device memory";

/* The first allocation that begins above the address. */
static size_t upper_bound(const struct fth_ptx_machine *machine, uint64_t address)
{
    size_t low = 0, high = machine->allocation_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (machine->allocations[middle].base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct allocation *find_allocation(const struct fth_ptx_machine *machine, uint64_t address)
{
    size_t next = upper_bound(machine, address);
    if (next == 0)
        return NULL;
    const struct allocation *found = &machine->allocations[next - 1];
    return address - found->base < found->bytes ? found : NULL;
}

static enum fth_status add_allocation(struct fth_ptx_machine *machine, uint64_t base,
                                      uint64_t bytes, bool is_constant, uint8_t **host,
                                      struct fth_error *error)
{
    void *allocations = machine->allocations;
    if (!fth_grow(&allocations, machine->allocation_count, &machine->allocation_capacity,
                  sizeof *machine->allocations))
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "out of memory");
    machine->allocations = allocations;
    /* calloc takes large pieces from the system untouched: memory is used when it is written. */
    uint8_t *memory = bytes <= SIZE_MAX - 8 ? calloc(1, (size_t)bytes + 8) : NULL;
    if (!memory) {
        char text[32];
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "no room for %s",
                        fth_size_format((double)bytes, text, sizeof text));
    }
    size_t at = upper_bound(machine, base);
    memmove(machine->allocations + at + 1, machine->allocations + at,
            (machine->allocation_count - at) * sizeof *machine->allocations);
    machine->allocations[at] = (struct allocation){base, bytes, memory, is_constant};
    machine->allocation_count++;
    if (host)
        *host = memory;
    return FTH_OK;
}

enum fth_status fth_ptx_machine_create(const struct fth_ptx_module *module,
                                       struct fth_ptx_machine **out, struct fth_error *error)
{
    *out = NULL;
    struct fth_ptx_machine *machine = calloc(1, sizeof *machine);
    if (!machine)
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "out of memory");
    machine->module = module;
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < module->variable_count && status == FTH_OK; i++) {
        const struct variable *variable = &module->variables[i];
        uint8_t *host = NULL;
        status = add_allocation(machine, variable->address, variable->bytes,
                                variable->space == FTH_SPACE_CONST, &host, error);
        if (status == FTH_OK && host && variable->data)
            memcpy(host, variable->data, variable->bytes);
    }
    machine->next_address = (module->global_end + (1u << 21)) & ~(uint64_t)((1u << 21) - 1);
    if (status != FTH_OK) {
        fth_ptx_machine_destroy(machine);
        return status;
    }
    *out = machine;
    return FTH_OK;
}

void fth_ptx_machine_destroy(struct fth_ptx_machine *machine)
{
    if (!machine)
        return;
    for (size_t i = 0; i < machine->allocation_count; i++)
        free(machine->allocations[i].host);
    free(machine->allocations);
    free(machine->textures);
    free(machine);
}

enum fth_status fth_ptx_alloc(struct fth_ptx_machine *machine, uint64_t bytes, uint64_t *address,
                              struct fth_error *error)
{
    const uint64_t end_of_memory = GLOBAL_BASE + ((uint64_t)1 << 46);
    *address = 0;
    if (bytes == 0)
        return fth_fail(error, FTH_INVALID, operation, NULL, "0 bytes asked for");
    if (bytes > end_of_memory - machine->next_address - 1024)
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "%llu bytes asked for",
                        (unsigned long long)bytes);
    uint64_t base = machine->next_address;
    enum fth_status status = add_allocation(machine, base, bytes, false, NULL, error);
    if (status != FTH_OK)
        return status;
    /* At least 256 bytes stay free between two pieces. */
    machine->next_address = (base + bytes + 511) & ~(uint64_t)255;
    *address = base;
    return FTH_OK;
}

enum fth_status fth_ptx_free(struct fth_ptx_machine *machine, uint64_t address,
                             struct fth_error *error)
{
    for (size_t i = 0; i < machine->allocation_count; i++)
        if (machine->allocations[i].base == address) {
            free(machine->allocations[i].host);
            machine->allocation_count--;
            memmove(machine->allocations + i, machine->allocations + i + 1,
                    (machine->allocation_count - i) * sizeof *machine->allocations);
            return FTH_OK;
        }
    return fth_fail(error, FTH_INVALID, "free device memory", NULL, "0x%llx was not allocated",
                    (unsigned long long)address);
}

void *fth_ptx_host(const struct fth_ptx_machine *machine, uint64_t address, uint64_t bytes)
{
    const struct allocation *found = find_allocation(machine, address);
    if (!found || found->bytes - (address - found->base) < bytes)
        return NULL;
    return found->host + (address - found->base);
}

bool fth_ptx_symbol(const struct fth_ptx_machine *machine, const char *name, uint64_t *address,
                    uint64_t *bytes)
{
    const struct fth_ptx_module *module = machine->module;
    for (size_t i = 0; i < module->variable_count; i++)
        if (strcmp(module->variables[i].name, name) == 0) {
            *address = module->variables[i].address;
            *bytes = module->variables[i].bytes;
            return true;
        }
    return false;
}

enum fth_status fth_ptx_texture(struct fth_ptx_machine *machine, uint64_t address, uint64_t texels,
                                enum fth_ptx_texel texel, unsigned channels, uint64_t *handle,
                                struct fth_error *error)
{
    *handle = 0;
    bool sane = (channels == 1 || channels == 2 || channels == 4) && texels > 0 &&
                texels <= UINT64_MAX / 16;
    if (!sane || !fth_ptx_host(machine, address, texels * channels * 4))
        return fth_fail(error, FTH_INVALID, "make texture", NULL,
                        "1, 2 or 4 channels, and memory for all texels, are needed");
    void *textures = machine->textures;
    if (!fth_grow(&textures, machine->texture_count, &machine->texture_capacity,
                  sizeof *machine->textures))
        return fth_fail(error, FTH_NO_MEMORY, "make texture", NULL, "out of memory");
    machine->textures = textures;
    machine->textures[machine->texture_count++] =
        (struct texture){address, texels, texel, channels};
    *handle = machine->texture_count;
    return FTH_OK;
}
