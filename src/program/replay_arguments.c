/* The arguments of the launches of a capsule, by type, for fth_replay_launch. */
#include "program/replay_parts.h"
#include "program/session_parts.h"

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
    const struct fth_ptx_kernel *kernel =
        module ? fth_session_kernel(module, captured->kernel) : NULL;
    if (!kernel || captured->parameter_bytes < kernel->parameter_bytes)
        return FTH_OK;
    const struct fth_arguments arguments = {.module = module,
                                            .debug = fth_session_debug(module),
                                            .kernel = kernel,
                                            .bytes = captured->parameters,
                                            .find = find,
                                            .put = put,
                                            .user = &list};
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
