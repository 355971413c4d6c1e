/* Writes the capsules of this folder, which stand for captures of a program with five launches:
 *
 *     write_capsule program.capsule light.capsule
 */
#include "capsule/capsule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA 0x7f4a60000000
#define INDICES 0x302000000
enum { COUNT = 64 };

static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    /* data[i] *= 3 */
    ".visible .entry _Z5scaleIjEvPT_(.param .u64 data)\n"
    "{ .reg .b32 %r<3>; .reg .b64 %w<3>;\n"
    "  ld.param.u64 %w0, [data]; mov.u32 %r0, %tid.x; mul.wide.u32 %w1, %r0, 4;\n"
    "  add.u64 %w0, %w0, %w1; ld.global.u32 %r1, [%w0]; mul.lo.u32 %r1, %r1, 3;\n"
    "  st.global.u32 [%w0], %r1; ret; }\n"
    /* data[indices[i]] = i */
    ".visible .entry _Z7scatterPjPKj(.param .u64 data, .param .u64 indices)\n"
    "{ .reg .b32 %r<3>; .reg .b64 %w<4>;\n"
    "  ld.param.u64 %w0, [data]; ld.param.u64 %w1, [indices]; mov.u32 %r0, %tid.x;\n"
    "  mul.wide.u32 %w2, %r0, 4; add.u64 %w1, %w1, %w2; ld.global.u32 %r1, [%w1];\n"
    "  mul.wide.u32 %w3, %r1, 4; add.u64 %w0, %w0, %w3; st.global.u32 [%w0], %r0; ret; }\n";

static void check(enum fth_status status, const struct fth_error *error)
{
    if (status == FTH_OK)
        return;
    fprintf(stderr, "%s\n", error->cause);
    exit(1);
}

static uint32_t put_image(struct fth_capsule_writer *writer, const uint32_t data[COUNT],
                          bool is_light)
{
    struct fth_error error = FTH_NO_ERROR;
    uint32_t number = 0;
    if (is_light)
        return 0;
    check(fth_capsule_begin_image(writer, 0, COUNT * sizeof *data, &error), &error);
    check(fth_capsule_add_to_image(writer, data, COUNT * sizeof *data, &error), &error);
    check(fth_capsule_end_image(writer, &number, &error), &error);
    return number;
}

/* Computes what a launch does. */
static void run(uint64_t number, uint32_t data[COUNT], const uint32_t indices[COUNT])
{
    for (uint32_t i = 0; i < COUNT; i++)
        if (number % 2)
            data[indices[i]] = i;
        else
            data[i] *= 3;
    if (number == 3)
        data[5]++; /* as a GPU with another result */
}

static void put_launch(struct fth_capsule_writer *writer, uint64_t number, bool is_light,
                       uint32_t data[COUNT], const uint32_t indices[COUNT])
{
    static const uint64_t parameters[] = {DATA, INDICES};
    const uint64_t bytes = COUNT * sizeof *data;
    struct fth_error error = FTH_NO_ERROR;
    const struct fth_capsule_region regions[] = {
        {.address = DATA, .bytes = bytes, .before = put_image(writer, data, is_light)},
        {.address = INDICES, .bytes = bytes, .before = put_image(writer, indices, is_light)}};
    const struct fth_capsule_launch launch = {.number = number,
                                              .kernel = number % 2 ? "_Z7scatterPjPKj"
                                                                   : "_Z5scaleIjEvPT_",
                                              .module = number == 4 ? 2 : 1,
                                              .grid = {1, 1, 1},
                                              .block = {COUNT, 1, 1},
                                              .parameters = parameters,
                                              .parameter_bytes = sizeof parameters,
                                              .regions = regions,
                                              .region_count = 2};
    check(fth_capsule_put_launch(writer, &launch, &error), &error);
    run(number, data, indices);
    const uint32_t after[] = {put_image(writer, data, is_light), regions[1].before};
    if (!is_light)
        check(fth_capsule_put_after(writer, number, after, 2, &error), &error);
}

static void write_capsule(const char *path, bool is_light)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_capsule_writer *writer;
    uint32_t data[COUNT], indices[COUNT], number;
    const struct fth_capsule_info info = {.command = "./program",
                                          .gpu = "NVIDIA H200",
                                          .architecture = 90,
                                          .driver_version = 13000,
                                          .is_light = is_light};
    const struct fth_capsule_module modules[] = {
        {.name = "program", .ptx = ptx, .ptx_bytes = sizeof ptx - 1},
        {.name = "libother.so", .reason = "only machine code was loaded", .code_bytes = 1000}};
    for (uint32_t i = 0; i < COUNT; i++) {
        data[i] = i;
        indices[i] = i * 5 % COUNT;
    }
    check(fth_capsule_create(path, &info, &writer, &error), &error);
    for (int i = 0; i < 2; i++)
        check(fth_capsule_put_module(writer, &modules[i], &number, &error), &error);
    for (uint64_t i = 0; i < 5; i++)
        put_launch(writer, i, is_light, data, indices);
    check(fth_capsule_finish(writer, &error), &error);
}

int main(int count, char **words)
{
    if (count != 3) {
        fputs("usage: write_capsule FULL LIGHT\n", stderr);
        return 2;
    }
    write_capsule(words[1], false);
    write_capsule(words[2], true);
    return 0;
}
