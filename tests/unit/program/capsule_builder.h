/* Writes capsules for tests: launches with their memory before and after. */
#ifndef FTH_TESTS_CAPSULE_BUILDER_H
#define FTH_TESTS_CAPSULE_BUILDER_H

#include "capsule/capsule.h"
#include "check.h"

#include <stdlib.h>

/* Memory of a launch; from FTH_CAPSULE_ARRAY_BASE on, an array. */
struct memory {
    uint64_t address;
    const void *before, *after; /* NULL: not captured */
    uint64_t bytes;
    const char *variable; /* NULL: no variable */
};
enum { MAX_MEMORIES = 8 };

/* Adds an image; 0 if there is no data. */
static inline uint32_t put_image(struct fth_capsule_writer *writer, uint32_t previous,
                                 const void *data, uint64_t bytes)
{
    uint32_t number = 0;
    if (!data)
        return 0;
    assert_int_equal(fth_capsule_begin_image(writer, previous, bytes, NULL), FTH_OK);
    assert_int_equal(fth_capsule_add_to_image(writer, data, (size_t)bytes, NULL), FTH_OK);
    assert_int_equal(fth_capsule_end_image(writer, &number, NULL), FTH_OK);
    return number;
}

/* Adds a launch; its regions are taken from `memories`, up to the first one without bytes. Regions
 * before and after which the same data is captured have one image. */
static inline void put_launch(struct fth_capsule_writer *writer, struct fth_capsule_launch launch,
                              const struct memory *memories)
{
    struct fth_capsule_region regions[MAX_MEMORIES] = {0};
    uint32_t after[MAX_MEMORIES] = {0};
    bool has_after = false;
    for (; launch.region_count < MAX_MEMORIES && memories[launch.region_count].bytes;
         launch.region_count++) {
        const struct memory *memory = &memories[launch.region_count];
        regions[launch.region_count] = (struct fth_capsule_region){
            .kind = memory->variable                            ? FTH_CAPSULE_VARIABLE
                    : memory->address >= FTH_CAPSULE_ARRAY_BASE ? FTH_CAPSULE_ARRAY
                                                                : FTH_CAPSULE_DEVICE,
            .address = memory->address,
            .bytes = memory->bytes,
            .variable = memory->variable,
            .before = put_image(writer, 0, memory->before, memory->bytes)};
        has_after = has_after || memory->after;
    }
    launch.regions = regions;
    struct fth_error error = NO_ERROR;
    if (fth_capsule_put_launch(writer, &launch, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    for (size_t i = 0; has_after && i < launch.region_count; i++)
        after[i] = put_image(writer, regions[i].before, memories[i].after, memories[i].bytes);
    if (has_after)
        assert_int_equal(
            fth_capsule_put_after(writer, launch.number, after, launch.region_count, NULL), FTH_OK);
}

static inline struct fth_capsule_writer *create_capsule(const char *path, bool is_light)
{
    const struct fth_capsule_info info = {
        .command = "./program", .gpu = "NVIDIA H200", .architecture = 90, .is_light = is_light};
    struct fth_capsule_writer *writer;
    assert_int_equal(fth_capsule_create(path, &info, &writer, NULL), FTH_OK);
    return writer;
}

static inline uint32_t put_ptx(struct fth_capsule_writer *writer, const char *ptx)
{
    uint32_t number;
    const struct fth_capsule_module module = {
        .name = "program", .ptx = ptx, .ptx_bytes = strlen(ptx)};
    assert_int_equal(fth_capsule_put_module(writer, &module, &number, NULL), FTH_OK);
    return number;
}

#endif
