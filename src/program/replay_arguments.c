/* The arguments of the launches of a capsule, by type, for fth_replay_launch. */
#include "program/replay_parts.h"
#include "program/session_parts.h"
#include "trace/launch/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "describe arguments";

/* The arguments of a launch that are collected. */
struct list {
    struct fth_arena *arena; /* of the texts */
    const struct fth_capsule_launch *launch;
    struct fth_replay_parameter *items;
    size_t count, capacity;
    bool failed;
};

/* Finds a region of the launch. */
static bool find(void *user, uint64_t address, struct fth_memory_place *place)
{
    const struct fth_capsule_launch *launch = ((struct list *)user)->launch;
    for (size_t i = 0; i < launch->region_count; i++) {
        const struct fth_capsule_region *region = &launch->regions[i];
        if (address < region->address || address - region->address >= region->bytes)
            continue;
        *place = (struct fth_memory_place){region->address, region->bytes, region->variable};
        return true;
    }
    return false;
}

/* Returns a copy of a text that lives as long as the replay. */
static const char *keep(struct list *list, const char *text)
{
    const char *kept = text ? fth_arena_text(list->arena, text) : NULL;
    list->failed = list->failed || (text && !kept);
    return kept;
}

static void put(void *user, const struct fth_argument *argument)
{
    struct list *list = user;
    if (list->failed ||
        !fth_grow((void **)&list->items, list->count, &list->capacity, sizeof *list->items)) {
        list->failed = true;
        return;
    }
    list->items[list->count++] =
        (struct fth_replay_parameter){.number = argument->number,
                                      .offset = argument->offset,
                                      .name = keep(list, argument->name),
                                      .type = keep(list, argument->type),
                                      .value = keep(list, argument->value),
                                      .memory = keep(list, argument->memory)};
}

/* ---- kernels without PTX ---- */

/* Maximum number of parameters that are found in the name of a kernel. Chosen, not derived. */
enum { MAX_PARAMETERS = 256 };

/* Finds the size and the alignment of a C++ type: a pointer, a number or a vector of numbers. */
static bool measure_type(const char *type, size_t *bytes, size_t *align)
{
    const size_t size = strlen(type);
    unsigned lanes;
    const struct fth_scalar_type *element = fth_scalar_type_of_cpp(type, size, &lanes);
    if (size && (type[size - 1] == '*' || type[size - 1] == '&'))
        *bytes = *align = sizeof(uint64_t);
    else if (element) {
        *bytes = (size_t)lanes * element->bytes;
        *align = lanes == 3 ? element->bytes : *bytes;
    } else
        return false;
    return true;
}

/* Returns the offset of what follows a parameter that ends at `end`: a multiple of 8, if the bytes
 * before it are zeros and can thus be padding, otherwise of 4. */
static size_t next_offset(const struct fth_capsule_launch *captured, size_t end)
{
    const unsigned char *bytes = captured->parameters;
    const size_t next = (end + 7) / 8 * 8;
    for (size_t i = end; i < next && i < captured->parameter_bytes; i++)
        if (bytes[i])
            return (end + 3) / 4 * 4;
    return next;
}

/* Finds the parameters of a kernel whose PTX is not known: the mangled name states their types, up
 * to the first one whose size is not known. The bytes from there on are one parameter. */
static size_t guess_parameters(const struct fth_capsule_launch *captured,
                               struct fth_ptx_parameter parameters[MAX_PARAMETERS])
{
    char type[FTH_NAME_BYTES];
    const size_t all = captured->parameter_bytes;
    size_t count = 0, end = 0, bytes, align;
    while (count < MAX_PARAMETERS - 1 && end < all &&
           fth_demangle_parameter_type(captured->kernel, count, type, sizeof type) &&
           measure_type(type, &bytes, &align)) {
        const size_t offset = (end + align - 1) / align * align;
        if (offset + bytes > all)
            break;
        parameters[count++] =
            (struct fth_ptx_parameter){.name = "", .offset = offset, .bytes = bytes, .type = "b8"};
        end = offset + bytes;
    }
    const size_t rest = next_offset(captured, end);
    const bool has_next = fth_demangle_parameter_type(captured->kernel, count, type, sizeof type);
    if (rest < all && (count == 0 || has_next))
        parameters[count++] = (struct fth_ptx_parameter){
            .name = "", .offset = rest, .bytes = all - rest, .type = "b8"};
    return count;
}

/* Copies the list to the launch. */
static enum fth_status finish(struct list *list, struct fth_replay_launch *result,
                              struct fth_error *error)
{
    struct fth_replay_parameter *copy =
        list->failed ? NULL : fth_arena_array(list->arena, list->count + 1, sizeof *copy);
    if (copy && list->count)
        memcpy(copy, list->items, list->count * sizeof *copy);
    result->parameters = copy;
    result->parameter_count = copy ? list->count : 0;
    free(list->items);
    return copy ? FTH_OK : fth_no_memory(error, operation, NULL);
}

enum fth_status fth_replay_describe(struct fth_arena *arena,
                                    const struct fth_capsule_launch *captured,
                                    struct fth_session_module *module,
                                    struct fth_replay_launch *result, struct fth_error *error)
{
    struct list list = {.arena = arena, .launch = captured};
    struct fth_ptx_parameter parameters[MAX_PARAMETERS];
    struct fth_ptx_kernel guess = {.name = captured->kernel, .parameters = parameters};
    const struct fth_ptx_kernel *kernel =
        module ? fth_session_kernel(module, captured->kernel) : NULL;
    if (!kernel) {
        guess.parameter_count = guess_parameters(captured, parameters);
        kernel = &guess;
    }
    if (captured->parameter_bytes < kernel->parameter_bytes)
        return FTH_OK;
    struct fth_arguments arguments = {.module = kernel == &guess ? NULL : module,
                                      .kernel = kernel,
                                      .bytes = captured->parameters,
                                      .find = find,
                                      .put = put,
                                      .user = &list};
    if (arguments.module)
        FTH_TRY(fth_session_debug(module, &arguments.debug, error));
    if (fth_arguments_describe(&arguments, error) != FTH_OK)
        list.failed = true;
    return finish(&list, result, error);
}

const struct fth_replay_parameter *fth_replay_parameter_at(const struct fth_replay_launch *launch,
                                                           size_t index)
{
    const struct fth_replay_parameter *list = launch->parameters;
    return index < launch->parameter_count ? &list[index] : NULL;
}
