/* Compares texture fetches of the PTX engine with those of an H200. fetches.zst contains the
 * textures, the instructions, their coordinates and the H200's results:
 *
 *   "FTHTEX1\n"  u32 number of textures  u32 number of records
 *   for each texture: u32 size, texels
 *   for each record: struct header, then the coordinates and the results, 16 bytes per fetch
 *
 * Texels, coordinates and results are stored in 16 planes: the bytes 0, 16, 32 and so on, then the
 * bytes 1, 17, 33 and so on. This compresses better. The numbers are little-endian. */
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_BYTES = 16 << 20, PLANES = 16, BLOCK = 128, MAX_SHOWN = 10 };

enum { IS_LINEAR = 1, IS_NORMALIZED = 2, READS_AS_FLOATS = 4, IS_SEAMLESS = 8 };

/* Fetches with one texture and one instruction. */
struct header {
    uint32_t texture; /* index */
    uint32_t geometry, format, channels, width, height, depth;
    uint32_t address_mode; /* of all axes */
    uint32_t flags;
    float border[4];
    uint32_t fetches;
    /* What docs/ptx.md states as a bound: this many words of the results may differ, and the bits
     * of two results by this much. 0: all results are equal. */
    uint32_t max_distance, max_differing;
    char instruction[128];
};

/* The content of the file, and the kernel for the instruction that was executed last. */
struct suite {
    struct fth_buffer content;
    size_t at; /* the next byte */
    uint32_t texture_count, record_count;
    struct {
        size_t at, bytes;
    } * textures;
    char instruction[sizeof((struct header *)NULL)->instruction];
    struct fth_ptx_module *module;
    struct fth_ptx_machine *machine;
    size_t shown;
};

/* ---- the file ---- */

static const void *take(struct suite *suite, size_t bytes)
{
    if (bytes > suite->content.size - suite->at)
        fail_msg("fetches.zst is truncated");
    suite->at += bytes;
    return suite->content.data + suite->at - bytes;
}

static uint32_t take_number(struct suite *suite)
{
    uint32_t number;
    memcpy(&number, take(suite, sizeof number), sizeof number);
    return number;
}

/* Copies data that is stored in planes. */
static void copy_planes(void *target, const uint8_t *planes, size_t bytes)
{
    for (size_t plane = 0; plane < PLANES; plane++)
        for (size_t i = plane; i < bytes; i += PLANES)
            ((uint8_t *)target)[i] = *planes++;
}

static void open_suite(struct suite *suite)
{
    static const char path[] = FTH_SOURCE_ROOT "/tests/differential/fetches.zst";
    struct fth_error error = FTH_NO_ERROR;
    *suite = (struct suite){.at = 0};
    if (fth_file_read(path, FTH_FILE_LIMIT("a file of the test", MAX_BYTES), &suite->content,
                      &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_memory_equal(take(suite, 8), "FTHTEX1\n", 8);
    suite->texture_count = take_number(suite);
    suite->record_count = take_number(suite);
    assert_in_range(suite->texture_count, 1, MAX_BYTES);
    suite->textures = calloc(suite->texture_count, sizeof *suite->textures);
    assert_non_null(suite->textures);
    for (uint32_t i = 0; i < suite->texture_count; i++) {
        suite->textures[i].bytes = take_number(suite);
        suite->textures[i].at = suite->at;
        (void)take(suite, suite->textures[i].bytes);
    }
}

static void close_suite(struct suite *suite)
{
    fth_ptx_machine_destroy(suite->machine);
    fth_ptx_destroy(suite->module);
    fth_buffer_fini(&suite->content);
    free(suite->textures);
}

/* ---- execution ---- */

/* Makes a kernel of an instruction, unless it is that of the last record. */
static void load_instruction(struct suite *suite, const char *instruction)
{
    struct fth_error error = FTH_NO_ERROR;
    char text[2048];
    if (strcmp(suite->instruction, instruction) == 0)
        return;
    fth_ptx_machine_destroy(suite->machine);
    fth_ptx_destroy(suite->module);
    suite->machine = NULL;
    suite->module = NULL;
    snprintf(suite->instruction, sizeof suite->instruction, "%s", instruction);
    const int size = snprintf(
        text, sizeof text,
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 texture, .param .u64 in, .param .u64 out,\n"
        ".param .u64 count) {\n"
        ".reg .b64 t, i, o, w; .reg .b32 a, b, c, d, l, m, n, ix, iy, iz; .reg .f32 x, y, z;\n"
        ".reg .pred p;\n"
        "ld.param.u64 t, [texture]; ld.param.u64 i, [in]; ld.param.u64 o, [out];\n"
        "ld.param.u32 n, [count]; mov.u32 a, %%ctaid.x; mov.u32 b, %%tid.x;\n"
        "mad.lo.u32 m, a, %d, b;\n"
        "setp.ge.u32 p, m, n; @p ret;\n"
        "mul.wide.u32 w, m, 16; add.u64 i, i, w; add.u64 o, o, w;\n"
        "ld.global.v4.b32 {ix, iy, iz, l}, [i]; mov.b32 x, ix; mov.b32 y, iy; mov.b32 z, iz;\n"
        "%s\nst.global.v4.b32 [o], {a, b, c, d}; ret; }\n",
        BLOCK, instruction);
    assert_in_range(size, 1, sizeof text - 1);
    if (fth_ptx_read_text("fetch", text, (size_t)size, &suite->module, &error) != FTH_OK ||
        fth_ptx_machine_create(suite->module, &suite->machine, &error) != FTH_OK)
        fail_msg("%s: %s", instruction, error.cause);
}

static uint64_t allocate(struct suite *suite, const uint8_t *planes, size_t bytes)
{
    uint64_t address = 0;
    assert_int_equal(fth_ptx_alloc(suite->machine, bytes, &address, NULL), FTH_OK);
    if (planes)
        copy_planes(fth_ptx_host(suite->machine, address, bytes), planes, bytes);
    return address;
}

/* Executes the fetches of a record. Returns the address of the results. */
static uint64_t execute(struct suite *suite, const struct header *header, const uint8_t *at)
{
    struct fth_error error = FTH_NO_ERROR;
    const enum fth_ptx_address_mode mode = (enum fth_ptx_address_mode)header->address_mode;
    const size_t bytes = (size_t)header->fetches * 16;
    struct {
        uint64_t texture, in, out, fetches;
    } arguments = {0, allocate(suite, at, bytes), allocate(suite, NULL, bytes), header->fetches};
    assert_true(header->texture < suite->texture_count);
    const struct fth_ptx_image image = {.address = allocate(suite,
                                                            (const uint8_t *)suite->content.data +
                                                                suite->textures[header->texture].at,
                                                            suite->textures[header->texture].bytes),
                                        .geometry = (enum fth_ptx_geometry)header->geometry,
                                        .format = (enum fth_ptx_texel)header->format,
                                        .channels = header->channels,
                                        .width = header->width,
                                        .height = header->height,
                                        .depth = header->depth};
    struct fth_ptx_sampling sampling = {.address_modes = {mode, mode, mode},
                                        .is_linear = header->flags & IS_LINEAR,
                                        .is_normalized = header->flags & IS_NORMALIZED,
                                        .reads_as_floats = header->flags & READS_AS_FLOATS,
                                        .is_seamless = header->flags & IS_SEAMLESS};
    memcpy(sampling.border, header->border, sizeof sampling.border);
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .grid = {(header->fetches + BLOCK - 1) / BLOCK},
                                          .block = {BLOCK},
                                          .arguments = &arguments,
                                          .argument_bytes = sizeof arguments};
    if (fth_ptx_texture_create(suite->machine, &image, &sampling, &arguments.texture, &error) !=
            FTH_OK ||
        fth_ptx_run(suite->machine, &launch, NULL, &error) != FTH_OK)
        fail_msg("%s: %s", header->instruction, error.cause);
    fth_ptx_texture_free(suite->machine, arguments.texture);
    assert_int_equal(fth_ptx_free(suite->machine, arguments.in, NULL), FTH_OK);
    assert_int_equal(fth_ptx_free(suite->machine, image.address, NULL), FTH_OK);
    return arguments.out;
}

/* Returns the distance of two floats in units of the last place. */
static uint64_t distance_of(uint32_t a, uint32_t b)
{
    const int64_t x = a >> 31 ? -(int64_t)(a & INT32_MAX) : a;
    const int64_t y = b >> 31 ? -(int64_t)(b & INT32_MAX) : b;
    return (uint64_t)llabs(x - y);
}

/* Compares the results of a record. Returns the number of words that differ more than they may. */
static size_t compare(struct suite *suite, const struct header *header, uint32_t number,
                      const uint8_t *at, const uint8_t *planes, uint64_t results)
{
    const size_t bytes = (size_t)header->fetches * 16, words = bytes / 4;
    const uint32_t *found = fth_ptx_host(suite->machine, results, bytes);
    uint32_t *expected = malloc(bytes), *coordinates = malloc(bytes);
    size_t differing = 0, wrong = 0;
    assert_true(expected && coordinates);
    copy_planes(expected, planes, bytes);
    copy_planes(coordinates, at, bytes);
    for (size_t i = 0; i < words; i++) {
        if (found[i] == expected[i])
            continue;
        differing++;
        if (differing <= header->max_differing &&
            distance_of(found[i], expected[i]) <= header->max_distance)
            continue;
        wrong++;
        const uint32_t *words_at = &coordinates[i / 4 * 4];
        if (suite->shown++ < MAX_SHOWN)
            print_error("record %u, format %u, mode %u, flags %u: %s\n"
                        "  at %08x %08x %08x %08x, channel %zu: %08x, the H200 has %08x\n",
                        number, header->format, header->address_mode, header->flags,
                        header->instruction, words_at[0], words_at[1], words_at[2], words_at[3],
                        i % 4, found[i], expected[i]);
    }
    free(expected);
    free(coordinates);
    return wrong;
}

/* ---- tests ---- */

static void fetches_have_the_results_of_an_h200(void **state)
{
    (void)state;
    struct suite suite;
    size_t wrong = 0;
    open_suite(&suite);
    for (uint32_t number = 0; number < suite.record_count; number++) {
        struct header header;
        memcpy(&header, take(&suite, sizeof header), sizeof header);
        assert_in_range(header.fetches, 1, MAX_BYTES / 16);
        assert_non_null(memchr(header.instruction, 0, sizeof header.instruction));
        const uint8_t *at = take(&suite, (size_t)header.fetches * 16);
        const uint8_t *results = take(&suite, (size_t)header.fetches * 16);
        load_instruction(&suite, header.instruction);
        const uint64_t found = execute(&suite, &header, at);
        wrong += compare(&suite, &header, number, at, results, found);
        assert_int_equal(fth_ptx_free(suite.machine, found, NULL), FTH_OK);
    }
    assert_int_equal(suite.at, suite.content.size);
    close_suite(&suite);
    if (wrong)
        fail_msg("%zu results differ", wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fetches_have_the_results_of_an_h200)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
