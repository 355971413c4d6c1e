/* Tests replaying launches with textures and surfaces (program/replay_texture.c). */
#include "capsule_builder.h"
#include "folder.h"

#include <stdio.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define OUT 0x728000000200
#define IN 0x302000000
#define ARRAY FTH_CAPSULE_ARRAY_BASE
#define SECOND_ARRAY (ARRAY + 0x200000)

enum { U32 = 0x03, U8 = 0x01, F32 = 0x20, S16 = 0x09, LAYERED = 1, CUBE = 4, WORDS = 24 };

/* Replays and verifies a capsule. Returns the outcome of the launch with this index. */
static enum fth_replay_outcome replay(struct fth_capsule_writer *writer, size_t index,
                                      char reason[512])
{
    const struct fth_replay_options options = FTH_REPLAY_OPTIONS(.verifies = true);
    struct fth_replay *result = NULL;
    assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
    assert_int_equal(fth_capsule_replay("a.capsule", &options, &result, NULL), FTH_OK);
    const struct fth_replay_launch launch = *fth_replay_launch_at(result, index);
    snprintf(reason, 512, "%s", launch.reason);
    fth_replay_destroy(result);
    return launch.outcome;
}

static void expect_exact(struct fth_capsule_writer *writer, size_t index)
{
    char reason[512];
    if (replay(writer, index, reason) != FTH_REPLAY_EXACT)
        fail_msg("launch %zu: %s", index, reason);
}

static struct fth_capsule_launch launch_of(const char *kernel, uint32_t threads,
                                           const uint64_t *parameters, size_t count,
                                           const struct fth_capsule_texture *textures,
                                           size_t texture_count)
{
    return (struct fth_capsule_launch){.kernel = kernel,
                                       .module = 1,
                                       .grid = {1, 1, 1},
                                       .block = {threads, 1, 1},
                                       .parameters = parameters,
                                       .parameter_bytes = count * sizeof *parameters,
                                       .textures = textures,
                                       .texture_count = texture_count};
}

static const uint32_t *numbers(void)
{
    static uint32_t words[WORDS];
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = 100 + i;
    return words;
}

/* ---- surfaces, and handles ---- */

/* Thread x adds 1 to the texel x of a texture, and writes the sum to a surface. */
static const char moving[] =
    HEAD ".visible .entry move(.param .u64 from, .param .u64 to)\n"
         "{ .reg .b32 %r<7>; .reg .b64 %w<3>;\n"
         "  ld.param.u64 %w0, [from]; ld.param.u64 %w1, [to]; mov.u32 %r0, %tid.x;\n"
         "  cvt.rn.f32.u32 %r6, %r0; add.f32 %r6, %r6, 0f3f000000;\n"
         "  tex.1d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%w0, {%r6}];\n"
         "  add.u32 %r1, %r1, 1; shl.b32 %r5, %r0, 2; sust.b.1d.b32.trap [%w1, {%r5}], {%r1};\n"
         "  ret; }\n"
         /* The same, with the two handles in memory. */
         ".visible .entry listed(.param .u64 list)\n"
         "{ .reg .b32 %r<7>; .reg .b64 %w<3>;\n"
         "  ld.param.u64 %w2, [list]; ld.global.u64 %w0, [%w2]; ld.global.u64 %w1, [%w2+8];\n"
         "  mov.u32 %r0, %tid.x; cvt.rn.f32.u32 %r6, %r0; add.f32 %r6, %r6, 0f3f000000;\n"
         "  tex.1d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%w0, {%r6}];\n"
         "  add.u32 %r1, %r1, 1; shl.b32 %r5, %r0, 2; sust.b.1d.b32.trap [%w1, {%r5}], {%r1};\n"
         "  ret; }\n";

enum { TEXELS = 4 };
static const uint32_t four[TEXELS] = {1, 2, 3, 4}, next[TEXELS] = {2, 3, 4, 5}, zeros[TEXELS];

/* Writes a launch of one of the kernels. `after`: the texels of the surface. */
static struct fth_capsule_writer *write_move(bool is_listed, uint64_t from, uint64_t to,
                                             const uint32_t *after)
{
    struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
    const struct fth_capsule_texture textures[] = {
        {.handle = from, .region = 1, .format = U32, .channels = 1, .width = TEXELS, .flags = 1},
        {.handle = to,
         .is_surface = true,
         .region = 2,
         .format = U32,
         .channels = 1,
         .width = TEXELS}};
    const uint64_t handles[] = {from, to}, list[] = {OUT};
    put_ptx(writer, moving);
    put_launch(writer,
               is_listed ? launch_of("listed", TEXELS, list, 1, textures, 2)
                         : launch_of("move", TEXELS, handles, 2, textures, 2),
               (struct memory[]){{OUT, handles, handles, sizeof handles, NULL},
                                 {ARRAY, four, four, sizeof four, NULL},
                                 {SECOND_ARRAY, zeros, after, sizeof zeros, NULL},
                                 {0}});
    return writer;
}

/* A GPU can choose any handles, also the same one for a texture and for a surface. */
static void objects_have_the_handles_of_the_program(void **state)
{
    (void)state;
    static const uint64_t handles[][2] = {{1, 2},
                                          {2, 1},
                                          {5, 5},
                                          {0, 0},
                                          {0x100003, 0x200004},
                                          {UINT64_C(0x7f0000000001), UINT64_MAX}};
    for (size_t i = 0; i < FTH_COUNT(handles); i++)
        for (int is_listed = 0; is_listed < 2; is_listed++)
            expect_exact(write_move(is_listed, handles[i][0], handles[i][1], next), 0);
}

static void surfaces_are_compared(void **state)
{
    (void)state;
    static const uint32_t wrong[TEXELS] = {2, 3, 4 + 0x100, 5};
    char reason[512];
    assert_int_equal(replay(write_move(false, 1, 2, wrong), 0, reason), FTH_REPLAY_DIFFERS);
    assert_string_equal(reason,
                        "1 byte, first at 0xc00000200009: byte 9 of the 16 of a CUDA array");
}

/* A launch has its own textures only. */
static void textures_are_gone_after_a_launch(void **state)
{
    (void)state;
    struct fth_capsule_writer *writer = write_move(false, 1, 2, next);
    static const uint64_t handles[] = {1, 2};
    struct fth_capsule_launch launch = launch_of("move", TEXELS, handles, 2, NULL, 0);
    char reason[512];
    launch.number = 1;
    put_launch(writer, launch,
               (struct memory[]){{ARRAY, four, four, sizeof four, NULL},
                                 {SECOND_ARRAY, zeros, next, sizeof zeros, NULL},
                                 {0}});
    assert_int_equal(replay(writer, 1, reason), FTH_REPLAY_FAILED);
    assert_contains(reason, "0x1 is not a texture");
}

/* ---- kinds of textures ---- */

/* Writes a launch that loads from a texture, and stores one word. */
static struct fth_capsule_writer *write_fetch(const char *instruction,
                                              const struct fth_capsule_texture *texture,
                                              uint32_t expected)
{
    const bool is_array = texture->resource == FTH_CAPSULE_RESOURCE_ARRAY;
    struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
    static const uint64_t parameters[] = {9, OUT};
    static const uint32_t zero;
    char ptx[1024];
    uint64_t bytes = WORDS * sizeof(uint32_t);
    snprintf(ptx, sizeof ptx,
             HEAD ".visible .entry k(.param .u64 t, .param .u64 out)\n"
                  "{ .reg .b32 a, b, c, d; .reg .b64 t0, o;\n"
                  "ld.param.u64 t0, [t]; ld.param.u64 o, [out];\n"
                  "%s st.global.u32 [o], a; ret; }\n",
             instruction);
    put_ptx(writer, ptx);
    if (is_array)
        assert_true(fth_capsule_array_bytes(texture, &bytes));
    assert_true(bytes <= WORDS * sizeof(uint32_t));
    put_launch(writer, launch_of("k", 1, parameters, 2, texture, 1),
               (struct memory[]){{is_array ? ARRAY : IN, numbers(), NULL, bytes, NULL},
                                 {OUT, &zero, &expected, sizeof zero, NULL},
                                 {0}});
    return writer;
}

#define TEXTURE(texels, flag_bits, ...)                                                            \
    {                                                                                              \
        .handle = 9, .channels = 1, .format = texels, .flags = flag_bits, __VA_ARGS__              \
    }
#define MEMORY(kind, flag_bits, ...)                                                               \
    TEXTURE(U32, flag_bits, .resource = FTH_CAPSULE_RESOURCE_##kind, .address = IN, __VA_ARGS__)
static const struct {
    const char *instruction;
    struct fth_capsule_texture texture;
    uint32_t expected;
} fetches[] = {
    {"mov.f32 b, 0f40b00000; tex.1d.v4.u32.f32 {a, b, c, d}, [t0, {b}];",
     TEXTURE(U32, 1, .width = 24), 105},
    {"mov.u32 b, 5; mov.u32 c, 2; tex.2d.v4.u32.s32 {a, b, c, d}, [t0, {b, c}];",
     TEXTURE(U32, 1, .width = 6, .height = 4), 117},
    {"mov.u32 b, 1; mov.u32 c, 2; tex.3d.v4.u32.s32 {a, b, c, d}, [t0, {b, c, b, b}];",
     TEXTURE(U32, 1, .width = 2, .height = 3, .depth = 4), 111},
    {"mov.u32 b, 3; mov.u32 c, 2; tex.a1d.v4.u32.s32 {a, b, c, d}, [t0, {b, c}];",
     TEXTURE(U32, 1, .width = 6, .depth = 4, .array_flags = LAYERED), 120},
    {"mov.u32 b, 3; mov.u32 c, 1; tex.a2d.v4.u32.s32 {a, b, c, d}, [t0, {b, c, c, c}];",
     TEXTURE(U32, 1, .width = 2, .height = 3, .depth = 4, .array_flags = LAYERED), 121},
    /* the faces +x and -x of a cube, the second one in layer 1 */
    {"mov.f32 b, 0f3f800000; mov.f32 c, 0f00000000;"
     " tex.cube.v4.u32.f32 {a, b, c, d}, [t0, {b, c, c, c}];",
     TEXTURE(U32, 3, .width = 1, .height = 1, .depth = 6, .array_flags = CUBE), 100},
    {"mov.u32 a, 1; mov.f32 b, 0fbf800000; mov.f32 c, 0f00000000;"
     " tex.acube.v4.u32.f32 {a, b, c, d}, [t0, {a, b, c, c}];",
     TEXTURE(U32, 3, .width = 1, .height = 1, .depth = 12, .array_flags = CUBE | LAYERED), 107},
    /* CUDA ignores the filter and the kind of coordinates of linear memory. */
    {"mov.u32 b, 7; tex.1d.v4.u32.s32 {a, b, c, d}, [t0, {b}];",
     MEMORY(LINEAR, 3, .width = 24, .filter = 1), 107},
    {"mov.u32 b, 1; tex.2d.v4.u32.s32 {a, b, c, d}, [t0, {b, b}];",
     MEMORY(PITCHED, 1, .width = 3, .height = 2, .pitch_bytes = 48), 113},
    /* bytes as floats: 101 / 255 */
    {"mov.f32 b, 0f40900000; tex.1d.v4.f32.f32 {a, b, c, d}, [t0, {b}];",
     TEXTURE(U8, 0, .width = 24), 0x3ecacacb},
    /* integers of 16 bits: the low half of the second word */
    {"mov.f32 b, 0f40200000; tex.1d.v4.s32.f32 {a, b, c, d}, [t0, {b}];",
     TEXTURE(S16, 1, .width = 24), 101},
    /* a border, left of the texels */
    {"mov.f32 b, 0fbf800000; tex.1d.v4.f32.f32 {a, b, c, d}, [t0, {b}];",
     TEXTURE(F32, 1, .width = 24, .address_modes = {3}, .border = {0x40490fdb}), 0x40490fdb},
    /* normalised coordinates that wrap around: 2.5 */
    {"mov.f32 b, 0f40200000; tex.1d.v4.f32.f32 {a, b, c, d}, [t0, {b}];",
     TEXTURE(U32, 3, .width = 24), 112},
};

static void kinds_of_textures_are_replayed(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(fetches); i++) {
        char reason[512];
        struct fth_capsule_writer *writer =
            write_fetch(fetches[i].instruction, &fetches[i].texture, fetches[i].expected);
        if (replay(writer, 0, reason) != FTH_REPLAY_EXACT)
            fail_msg("row %zu: %s", i, reason);
    }
}

/* The engine refuses what the check of capsules does not. */
static void faulty_textures_fail(void **state)
{
    (void)state;
    static const struct {
        struct fth_capsule_texture texture;
        const char *reason;
    } rows[] = {
        {MEMORY(LINEAR, 1, .width = 25),
         "the 100 bytes of texels at 0x302000000 are not allocated"},
        {MEMORY(LINEAR, 1, .width = UINT64_MAX), "do not fit the geometry"},
        {MEMORY(PITCHED, 1, .width = 3, .height = 2), "EXACT"},
        {MEMORY(PITCHED, 1, .width = 3, .height = 2, .pitch_bytes = 8), "do not fit the geometry"},
        {MEMORY(PITCHED, 1, .width = 3, .height = 2, .filter = 1), "can only be interpolated"},
        {TEXTURE(U32, 1, .width = 2, .height = 1, .depth = 6, .array_flags = CUBE),
         "do not fit the geometry"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char reason[512];
        struct fth_capsule_writer *writer = write_fetch("mov.u32 a, 0;", &rows[i].texture, 0);
        const bool is_fine = strcmp(rows[i].reason, "EXACT") == 0;
        assert_int_equal(replay(writer, 0, reason), is_fine ? FTH_REPLAY_EXACT : FTH_REPLAY_FAILED);
        assert_contains(reason, is_fine ? "" : rows[i].reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_have_the_handles_of_the_program),
        cmocka_unit_test(surfaces_are_compared),
        cmocka_unit_test(textures_are_gone_after_a_launch),
        cmocka_unit_test(kinds_of_textures_are_replayed),
        cmocka_unit_test(faulty_textures_fail),
    };
    return cmocka_run_group_tests_name("replay_textures", tests, enter_folder, leave_folder);
}
