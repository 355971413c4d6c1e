/* Tests of the machines of ptx/: the addresses of allocations, the host memory behind them, the
 * variables of modules that share a memory, and textures. */
#include "check.h"
#include "ptx/ptx.h"

#include <stdio.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
/* The first address of an allocation in an empty memory (docs/ptx.md). */
#define FIRST UINT64_C(0x7f0000200000)
#define MIB ((uint64_t)1 << 20)

static struct fth_ptx_module *read_at(const char *text, uint64_t address)
{
    struct fth_ptx_module *module = NULL;
    struct fth_error error = NO_ERROR;
    enum fth_status status =
        address ? fth_ptx_read_text_at("test.ptx", text, strlen(text), address, &module, &error)
                : fth_ptx_read_text("test.ptx", text, strlen(text), &module, &error);
    if (status != FTH_OK)
        fail_msg("%s\n%s", error.cause, error.excerpt);
    return module;
}

static uint64_t allocate(struct fth_ptx_machine *machine, uint64_t bytes)
{
    uint64_t address = 1;
    struct fth_error error = NO_ERROR;
    if (fth_ptx_alloc(machine, bytes, &address, &error) != FTH_OK)
        fail_msg("%llu bytes: %s", (unsigned long long)bytes, error.cause);
    return address;
}

/* Fails unless exactly the bytes of the range belong to one allocation, all of them zero. */
static void check_range(const struct fth_ptx_machine *machine, uint64_t address, uint64_t bytes)
{
    const unsigned char *host = fth_ptx_host(machine, address, bytes);
    assert_non_null(host);
    assert_ptr_equal(fth_ptx_host(machine, address + bytes - 1, 1), host + bytes - 1);
    assert_int_equal(host[0], 0);
    assert_int_equal(host[bytes - 1], 0);
    assert_null(fth_ptx_host(machine, address, bytes + 1));
    assert_null(fth_ptx_host(machine, address + bytes - 1, 2));
    assert_null(fth_ptx_host(machine, address + bytes, 1));
    assert_null(fth_ptx_host(machine, address - 1, 1));
}

/* Small allocations are aligned to 256 bytes and large ones to 2 MiB. At least 256 bytes are free
 * between them. */
static void allocations_follow_each_other(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes, address, next; /* relative to FIRST */
    } rows[] = {
        {1, 0, 0x200},
        {256, 0x200, 0x400},
        {257, 0x400, 0x700},
        {2 * MIB - 1, 0x700, 0x200800},
        {2 * MIB, 0x400000, 0x600100},
        {3 * MIB, 0x800000, 0xb00100},
        {MIB - 8, 0xb00100, 0xc00200},
    };
    struct fth_ptx_machine *machine = NULL;
    assert_int_equal(fth_ptx_machine_create(NULL, &machine, NULL), FTH_OK);
    assert_true(fth_ptx_next_address(machine) == FIRST);
    assert_null(fth_ptx_host(machine, FIRST, 1));
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const uint64_t address = allocate(machine, rows[i].bytes);
        if (address != FIRST + rows[i].address ||
            fth_ptx_next_address(machine) != FIRST + rows[i].next)
            fail_msg("row %zu: address %llx, next %llx", i, (unsigned long long)address,
                     (unsigned long long)fth_ptx_next_address(machine));
        check_range(machine, address, rows[i].bytes);
        assert_true(fth_ptx_fill(machine, address, (unsigned char)(i + 1), rows[i].bytes));
    }
    /* Freeing one in the middle keeps the others and their contents. */
    assert_int_equal(fth_ptx_free(machine, FIRST + 0x400, NULL), FTH_OK);
    assert_null(fth_ptx_host(machine, FIRST + 0x400, 1));
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const unsigned char *host = fth_ptx_host(machine, FIRST + rows[i].address, rows[i].bytes);
        if (i == 2)
            continue;
        assert_non_null(host);
        assert_int_equal(host[0], i + 1);
        assert_int_equal(host[rows[i].bytes - 1], i + 1);
    }
    /* The next allocation follows the last one that is left. */
    assert_int_equal(fth_ptx_free(machine, FIRST + 0xb00100, NULL), FTH_OK);
    assert_int_equal(fth_ptx_free(machine, FIRST + 0x800000, NULL), FTH_OK);
    assert_true(allocate(machine, 1) == FIRST + 0x600100);
    fth_ptx_machine_destroy(machine);
    fth_ptx_machine_destroy(NULL);
}

static void refuses_invalid_sizes_and_addresses(void **state)
{
    (void)state;
    struct fth_ptx_module *module = read_at(HEAD ".global .u32 x;\n", 0);
    struct fth_ptx_machine *machine = NULL;
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    uint64_t address = 1, variable = 0, bytes = 0;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_ptx_alloc(machine, 0, &address, &error), FTH_INVALID);
    assert_int_equal(address, 0);
    assert_string_equal(error.operation, "allocate device memory");
    assert_string_equal(error.cause, "the size must not be 0");
    /* The address space ends 2^46 bytes above the first variable. */
    const uint64_t most = ((uint64_t)1 << 46) - 2 * MIB;
    error = NO_ERROR;
    address = 1;
    assert_int_equal(fth_ptx_alloc(machine, most + 1, &address, &error), FTH_NO_MEMORY);
    assert_int_equal(address, 0);
    assert_string_equal(error.cause, "70368742080513 bytes exceed the address space");
    error = NO_ERROR;
    if (fth_ptx_alloc(machine, most, &address, &error) != FTH_OK)
        assert_contains(error.cause, "not enough host memory for ");
    else
        assert_int_equal(fth_ptx_free(machine, address, NULL), FTH_OK);
    /* An address inside of an allocation, below all of them, of a variable, and one that is free
     * already. */
    address = allocate(machine, 512);
    assert_true(fth_ptx_symbol(machine, "x", &variable, &bytes));
    const uint64_t wrong[] = {address + 256, address - 1, 16, variable, address + 512, address};
    for (size_t i = 0; i < FTH_COUNT(wrong); i++) {
        char cause[100];
        error = NO_ERROR;
        if (wrong[i] == address)
            assert_int_equal(fth_ptx_free(machine, address, NULL), FTH_OK);
        assert_int_equal(fth_ptx_free(machine, wrong[i], &error), FTH_INVALID);
        snprintf(cause, sizeof cause, "0x%llx is not the address of an allocation",
                 (unsigned long long)wrong[i]);
        assert_string_equal(error.cause, cause);
        assert_string_equal(error.operation, "free device memory");
    }
    assert_non_null(fth_ptx_host(machine, variable, 4));
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
}

/* Fails unless the bytes are `inside` in the range and `outside` around it. */
static void check_filled(const unsigned char *host, size_t all, size_t start, size_t bytes,
                         int inside, int outside)
{
    for (size_t i = 0; i < all; i++)
        if (host[i] != (i >= start && i - start < bytes ? inside : outside))
            fail_msg("byte %zu is %d", i, host[i]);
}

/* Large ranges of zeros give whole pages back to the host. Bytes beside the range keep their
 * values, wherever in a page the range begins and ends. */
static void fills_exactly_the_range(void **state)
{
    (void)state;
    const size_t all = (size_t)MIB + 400000;
    static const size_t ranges[][2] = {
        {0, (size_t)1 << 20},      {70001, ((size_t)1 << 20) + 3},
        {1, ((size_t)1 << 20)},    {65536, ((size_t)1 << 20) + 65536},
        {130000, (1 << 20) - 500}, {0, (1 << 20) + 400000}};
    struct fth_ptx_machine *machine = NULL;
    assert_int_equal(fth_ptx_machine_create(NULL, &machine, NULL), FTH_OK);
    const uint64_t small = allocate(machine, 300), large = allocate(machine, all);
    for (size_t i = 0; i < FTH_COUNT(ranges); i++) {
        for (int byte = 0; byte < 2; byte++) {
            assert_true(fth_ptx_fill(machine, large, 0xa5, all));
            assert_true(fth_ptx_fill(machine, large + ranges[i][0], (unsigned char)(7 * byte),
                                     ranges[i][1]));
            check_filled(fth_ptx_host(machine, large, all), all, ranges[i][0], ranges[i][1],
                         7 * byte, 0xa5);
        }
    }
    assert_true(fth_ptx_fill(machine, small, 3, 300));
    assert_true(fth_ptx_fill(machine, small + 10, 0, 280));
    check_filled(fth_ptx_host(machine, small, 300), 300, 10, 280, 0, 3);
    assert_false(fth_ptx_fill(machine, small + 10, 9, 291));
    assert_false(fth_ptx_fill(machine, small + 300, 9, 1));
    check_filled(fth_ptx_host(machine, small, 300), 300, 10, 280, 0, 3);
    fth_ptx_machine_destroy(machine);
}

/* ---- modules that share a memory ---- */

static void machines_share_a_memory(void **state)
{
    (void)state;
    static const char text[] = HEAD ".global .align 4 .u32 a[3] = {7, 8, 9};\n"
                                    ".global .u64 b = 5;\n.const .u32 c = 6;\n.global .u8 d;\n";
    struct fth_ptx_module *one = read_at(text, 0), *two = NULL;
    struct fth_ptx_machine *first = NULL, *second = NULL, *third = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_ptx_machine_create(one, &first, NULL), FTH_OK);
    /* The variables of a second module must have other addresses. */
    assert_int_equal(fth_ptx_machine_create_shared(first, one, &second, &error), FTH_INVALID);
    assert_null(second);
    assert_string_equal(error.operation, "load module");
    assert_string_equal(error.argument, "test.ptx");
    assert_string_equal(error.cause,
                        "the address 0x7f0000000100 of variable 'a' is already in use");
    const uint64_t buffer = allocate(first, 64), next = fth_ptx_next_address(first);
    assert_true(buffer == FIRST); /* not in the page of the variables */
    two = read_at(HEAD ".global .u32 e[2] = {1, 2};\n", next);
    assert_int_equal(fth_ptx_machine_create_shared(first, two, &second, NULL), FTH_OK);
    assert_int_equal(fth_ptx_machine_create_shared(first, NULL, &third, NULL), FTH_OK);
    static const struct {
        const char *name;
        uint64_t bytes;
        uint32_t value;
    } rows[] = {{"a", 12, 7}, {"b", 8, 5}, {"c", 4, 6}};
    uint64_t address = 0, bytes = 0;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        assert_true(fth_ptx_symbol(first, rows[i].name, &address, &bytes));
        assert_int_equal(bytes, rows[i].bytes);
        assert_int_equal(*(uint32_t *)fth_ptx_host(second, address, 4), rows[i].value);
        assert_false(fth_ptx_symbol(second, rows[i].name, &address, &bytes));
        assert_false(fth_ptx_symbol(third, rows[i].name, &address, &bytes));
    }
    assert_true(fth_ptx_symbol(second, "e", &address, &bytes));
    assert_true(address >= next);
    assert_int_equal(bytes, 8);
    assert_int_equal(((uint32_t *)fth_ptx_host(third, address, 8))[1], 2);
    /* The variables of a module go with its machine; allocations stay with the last one. */
    assert_true(fth_ptx_symbol(first, "a", &address, &bytes));
    fth_ptx_machine_destroy(first);
    assert_null(fth_ptx_host(third, address, 1));
    assert_true(fth_ptx_symbol(second, "e", &address, &bytes));
    assert_non_null(fth_ptx_host(third, address, 8));
    assert_true(fth_ptx_fill(third, buffer, 1, 64));
    fth_ptx_machine_destroy(second);
    assert_null(fth_ptx_host(third, address, 1));
    assert_int_equal(((unsigned char *)fth_ptx_host(third, buffer, 64))[63], 1);
    fth_ptx_machine_destroy(third);
    fth_ptx_destroy(one);
    fth_ptx_destroy(two);
}

/* A caller can choose the addresses of variables, such as those that they had on a GPU. */
static void variables_have_the_addresses_of_the_caller(void **state)
{
    (void)state;
    static const char text[] = HEAD ".global .u32 a = 7;\n.global .u32 b = 8;\n.const .u32 c = 9;\n"
                                    ".global .u64 p = generic(b);\n";
    static const struct fth_ptx_placement placements[] = {
        {"b", 0x700000000004}, {"c", 0x302000000}, {"absent", 0x5000}};
    struct fth_ptx_module *module = NULL;
    struct fth_ptx_machine *machine = NULL;
    uint64_t address = 0, bytes = 0;
    assert_int_equal(fth_ptx_read_text_placed("test.ptx", text, sizeof text - 1, FIRST, placements,
                                              FTH_COUNT(placements), &module, NULL),
                     FTH_OK);
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    assert_true(fth_ptx_symbol(machine, "a", &address, &bytes));
    assert_true(address > FIRST && address < FIRST + 1024);
    assert_true(fth_ptx_symbol(machine, "b", &address, &bytes));
    assert_true(address == placements[0].address);
    assert_int_equal(*(uint32_t *)fth_ptx_host(machine, address, 4), 8);
    assert_true(fth_ptx_symbol(machine, "c", &address, &bytes));
    assert_true(address == placements[1].address);
    assert_int_equal(*(uint32_t *)fth_ptx_host(machine, address, 4), 9);
    assert_true(fth_ptx_symbol(machine, "p", &address, &bytes));
    assert_true(*(uint64_t *)fth_ptx_host(machine, address, 8) == placements[0].address);
    /* They do not determine where other memory goes, and memory cannot be mapped there. */
    assert_true(fth_ptx_next_address(machine) < FIRST + 4 * MIB);
    uint64_t host[9] = {0};
    assert_int_equal(fth_ptx_map(machine, host, 64, placements[0].address - 60, NULL), FTH_INVALID);
    assert_int_equal(fth_ptx_map(machine, host, 60, placements[0].address - 60, NULL), FTH_OK);
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
}

/* Addresses that cannot be those of global memory are refused. */
static void impossible_addresses_are_refused(void **state)
{
    (void)state;
    static const uint64_t addresses[] = {0, 0xfffffffc, 0x1fffffffffffe, UINT64_C(1) << 49,
                                         UINT64_C(0) - 2};
    for (size_t i = 0; i < FTH_COUNT(addresses); i++) {
        const struct fth_ptx_placement placement = {"a", addresses[i]};
        struct fth_ptx_module *module = NULL;
        struct fth_ptx_machine *machine = NULL;
        uint64_t host[2];
        static const char text[] = HEAD ".global .u32 a;\n";
        assert_int_equal(fth_ptx_read_text_placed("test.ptx", text, sizeof text - 1, FIRST,
                                                  &placement, 1, &module, NULL),
                         FTH_OK);
        assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_INVALID);
        assert_int_equal(fth_ptx_machine_create(NULL, &machine, NULL), FTH_OK);
        assert_int_equal(fth_ptx_map(machine, host, 4, addresses[i], NULL), FTH_INVALID);
        fth_ptx_machine_destroy(machine);
        fth_ptx_destroy(module);
    }
}

/* Variables are aligned to 256 bytes, or more, with at least one byte between them. */
static void variables_have_gaps(void **state)
{
    (void)state;
    struct fth_ptx_module *module =
        read_at(HEAD ".global .b8 a[255];\n.global .b8 b[256];\n.global .b8 c;\n"
                     ".global .align 1024 .b8 d[1023];\n.global .u32 e;\n.const .u32 f;\n",
                0);
    struct fth_ptx_machine *machine = NULL;
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    static const uint64_t offsets[] = {0, 256, 768}; /* of the first three */
    uint64_t first = 0, address = 0, bytes = 0;
    assert_true(fth_ptx_symbol(machine, "a", &first, &bytes));
    assert_int_equal(first % 256, 0);
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        assert_true(fth_ptx_symbol(machine, names[i], &address, &bytes));
        if (i < FTH_COUNT(offsets))
            assert_true(address == first + offsets[i]);
        assert_true(address % (i == 3 ? 1024 : 256) == 0);
        assert_null(fth_ptx_host(machine, address + bytes, 1));
    }
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
}

/* ---- textures ---- */

static void textures_need_memory_for_all_texels(void **state)
{
    (void)state;
    static const struct {
        uint64_t texels;
        unsigned channels;
        const char *cause; /* NULL: the texture is valid */
    } rows[] = {
        {64, 1, NULL},
        {65, 1, "are not allocated"},
        {1, 1, NULL},
        {0, 1, "do not fit"},
        {32, 2, NULL},
        {33, 2, "are not allocated"},
        {16, 4, NULL},
        {17, 4, "are not allocated"},
        {8, 3, "1, 2 or 4 channels"},
        {8, 0, "1, 2 or 4 channels"},
        {8, 5, "1, 2 or 4 channels"},
        {UINT64_MAX / 16 + 1, 4, "do not fit"},
        {UINT64_C(0x4000000000000001), 4, "do not fit"}, /* 16 bytes, modulo 2^64 */
    };
    struct fth_ptx_machine *machine = NULL;
    assert_int_equal(fth_ptx_machine_create(NULL, &machine, NULL), FTH_OK);
    const uint64_t buffer = allocate(machine, 256);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint64_t handle = 99;
        struct fth_error error = NO_ERROR;
        const enum fth_status status = fth_ptx_texture(
            machine, buffer, rows[i].texels, FTH_TEXEL_U32, rows[i].channels, &handle, &error);
        if (status != (rows[i].cause ? FTH_INVALID : FTH_OK) ||
            (handle == 0) != (rows[i].cause != NULL))
            fail_msg("row %zu: status %d, handle %llu", i, status, (unsigned long long)handle);
        if (rows[i].cause) {
            assert_string_equal(error.operation, "make texture");
            assert_contains(error.cause, rows[i].cause);
        }
    }
    fth_ptx_machine_destroy(machine);
}

/* A handle that is free is used again; the others stay valid. */
static void handles_are_used_again(void **state)
{
    (void)state;
    struct fth_ptx_machine *machine = NULL;
    assert_int_equal(fth_ptx_machine_create(NULL, &machine, NULL), FTH_OK);
    const uint64_t buffer = allocate(machine, 256);
    uint64_t handles[9];
    for (size_t i = 0; i < FTH_COUNT(handles); i++) {
        assert_int_equal(fth_ptx_texture(machine, buffer, 4, FTH_TEXEL_U32, 1, &handles[i], NULL),
                         FTH_OK);
        assert_int_equal(handles[i], i + 1);
    }
    fth_ptx_texture_free(machine, 0);
    fth_ptx_texture_free(machine, 10);
    fth_ptx_texture_free(machine, 9);
    fth_ptx_texture_free(machine, 3);
    const uint64_t expected[] = {3, 9, 10};
    for (size_t i = 0; i < FTH_COUNT(expected); i++) {
        uint64_t handle = 0;
        assert_int_equal(fth_ptx_texture(machine, buffer, 4, FTH_TEXEL_U32, 1, &handle, NULL),
                         FTH_OK);
        assert_int_equal(handle, expected[i]);
    }
    fth_ptx_machine_destroy(machine);
}

static const char fetching[] =
    HEAD ".visible .entry k(.param .u64 out, .param .u64 texture) {\n"
         ".reg .b32 %r<8>; .reg .b64 %rd<6>;\n"
         "ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [texture];\n"
         "mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 16; add.u64 %rd2, %rd0, %rd2;\n"
         "sub.s32 %r1, %r0, 1;\n"
         "tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%rd1, {%r1}];\n"
         "st.global.v4.u32 [%rd2], {%r2, %r3, %r4, %r5};\nret;\n}\n";

static bool store_fetch(void *user, const struct fth_ptx_access *access)
{
    char *text = user;
    const size_t used = strlen(text);
    if (access->space == FTH_SPACE_TEXTURE)
        snprintf(text + used, 256 - used, "%x %u:", access->mask, access->bytes);
    for (unsigned lane = 0; access->space == FTH_SPACE_TEXTURE && lane < 4; lane++)
        snprintf(text + strlen(text), 256 - strlen(text), " %llx",
                 (unsigned long long)(access->addresses[lane] & 0xffff));
    return true;
}

/* Lane i fetches texel i - 1 of a texture with two texels: the first and the last lane are
 * outside. */
static void texels_have_up_to_four_channels(void **state)
{
    (void)state;
    static const struct {
        enum fth_ptx_texel format;
        unsigned channels;
        uint32_t words[4][4];
        const char *seen;
    } rows[] = {
        {FTH_TEXEL_U32,
         1,
         {{0, 0, 0, 0}, {10, 0, 0, 0}, {11, 0, 0, 0}, {0, 0, 0, 0}},
         "f 4: 204 204 208 204"},
        {FTH_TEXEL_S32,
         2,
         {{0, 0, 0, 0}, {10, 11, 0, 0}, {12, 13, 0, 0}, {0, 0, 0, 0}},
         "f 8: 204 204 20c 204"},
        {FTH_TEXEL_U32, 4, {{0}, {10, 11, 12, 13}, {14, 15, 16, 17}, {0}}, "f 16: 204 204 214 204"},
        {FTH_TEXEL_F32,
         1,
         {{0, 0, 0, 0}, {10, 0, 0, 0}, {11, 0, 0, 0}, {0, 0, 0, 0}},
         "f 4: 204 204 208 204"},
    };
    struct fth_ptx_module *module = read_at(fetching, 0);
    struct fth_ptx_machine *machine = NULL;
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    uint64_t arguments[2] = {allocate(machine, 64), 0}, texels = allocate(machine, 256);
    texels += 4;
    uint32_t *data = fth_ptx_host(machine, texels, 64);
    for (uint32_t i = 0; i < 16; i++)
        data[i] = 10 + i;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char seen[256] = "";
        const struct fth_ptx_observer observer = {.user = seen, .access = store_fetch};
        const struct fth_ptx_launch launch = {.kernel = "k",
                                              .block = {4},
                                              .arguments = arguments,
                                              .argument_bytes = sizeof arguments,
                                              .observer = &observer};
        assert_int_equal(fth_ptx_texture(machine, texels, 2, rows[i].format, rows[i].channels,
                                         &arguments[1], NULL),
                         FTH_OK);
        assert_int_equal(fth_ptx_run(machine, &launch, NULL, NULL), FTH_OK);
        assert_memory_equal(fth_ptx_host(machine, arguments[0], 64), rows[i].words, 64);
        assert_string_equal(seen, rows[i].seen);
    }
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
}

static void fetches_need_a_texture(void **state)
{
    (void)state;
    struct fth_ptx_module *module = read_at(fetching, 0);
    struct fth_ptx_machine *machine = NULL;
    assert_int_equal(fth_ptx_machine_create(module, &machine, NULL), FTH_OK);
    uint64_t arguments[2] = {allocate(machine, 64), 0}, texels = allocate(machine, 64), handles[2];
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(fth_ptx_texture(machine, texels, 4, FTH_TEXEL_U32, 1, &handles[i], NULL),
                         FTH_OK);
    fth_ptx_texture_free(machine, 1);
    static const struct {
        uint64_t handle;
        const char *cause;
    } rows[] = {{0, "0x0 is not a texture"},
                {1, "0x1 is not a texture"},
                {2, NULL},
                {3, "0x3 is not a texture"}};
    const struct fth_ptx_launch launch = {
        .kernel = "k", .block = {4}, .arguments = arguments, .argument_bytes = sizeof arguments};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        arguments[1] = rows[i].handle;
        assert_int_equal(fth_ptx_run(machine, &launch, NULL, &error),
                         rows[i].cause ? FTH_INVALID : FTH_OK);
        if (rows[i].cause)
            assert_contains(error.cause, rows[i].cause);
    }
    /* The memory of the texture is free: the texture has no effect on it. */
    struct fth_error error = NO_ERROR;
    arguments[1] = 2;
    assert_int_equal(fth_ptx_free(machine, texels, NULL), FTH_OK);
    assert_int_equal(fth_ptx_run(machine, &launch, NULL, &error), FTH_INVALID);
    assert_contains(error.cause, "thread (1,0,0): read of 4 bytes at 0x");
    assert_contains(error.cause, "outside the global memory");
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
}

/* Allocations count, of all machines that share the memory; variables, the memory for malloc of
 * kernels and mapped memory do not. */
static void the_capacity_limits_allocations(void **state)
{
    (void)state;
    static const char text[] = HEAD ".extern .func (.param .b64 r) malloc (.param .b64 size);\n"
                                    ".global .b8 variable[4096];\n"
                                    ".visible .entry k() { ret; }\n";
    static unsigned char host[64 + 8];
    struct fth_ptx_machine *memory, *machine;
    struct fth_ptx_module *module = read_at(text, 0);
    struct fth_error error = NO_ERROR;
    uint64_t address;
    assert_int_equal(fth_ptx_machine_create(NULL, &memory, NULL), FTH_OK);
    fth_ptx_set_capacity(memory, 1000);
    assert_int_equal(fth_ptx_machine_create_shared(memory, module, &machine, NULL), FTH_OK);
    assert_int_equal(fth_ptx_map(memory, host, 64, (uint64_t)1 << 45, NULL), FTH_OK);
    assert_int_equal(fth_ptx_free_bytes(memory), 1000);
    const uint64_t first = allocate(machine, 600);
    assert_int_equal(fth_ptx_free_bytes(memory), 400);
    assert_int_equal(fth_ptx_alloc(memory, 401, &address, &error), FTH_NO_MEMORY);
    assert_string_equal(error.cause, "401 B requested, 400 B free");
    assert_int_equal(address, 0);
    allocate(memory, 400);
    assert_int_equal(fth_ptx_free_bytes(machine), 0);
    assert_int_equal(fth_ptx_free(memory, first, NULL), FTH_OK);
    assert_int_equal(fth_ptx_free(memory, (uint64_t)1 << 45, NULL), FTH_OK);
    assert_int_equal(fth_ptx_free_bytes(memory), 600);
    fth_ptx_set_capacity(memory, 100); /* less than what is allocated */
    assert_int_equal(fth_ptx_free_bytes(memory), 0);
    fth_ptx_machine_destroy(machine);
    fth_ptx_machine_destroy(memory);
    fth_ptx_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_follow_each_other),
        cmocka_unit_test(refuses_invalid_sizes_and_addresses),
        cmocka_unit_test(fills_exactly_the_range),
        cmocka_unit_test(the_capacity_limits_allocations),
        cmocka_unit_test(machines_share_a_memory),
        cmocka_unit_test(variables_have_the_addresses_of_the_caller),
        cmocka_unit_test(impossible_addresses_are_refused),
        cmocka_unit_test(variables_have_gaps),
        cmocka_unit_test(textures_need_memory_for_all_texels),
        cmocka_unit_test(handles_are_used_again),
        cmocka_unit_test(texels_have_up_to_four_channels),
        cmocka_unit_test(fetches_need_a_texture),
    };
    return cmocka_run_group_tests_name("ptx_machine", tests, NULL, NULL);
}
