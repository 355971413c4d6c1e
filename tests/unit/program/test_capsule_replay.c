/* Tests replaying capsules (program/replay.c): memory and variables at their addresses, tensor
 * maps, comparisons, and launches that cannot be replayed. */
#include "capsule_builder.h"
#include "folder.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

/* The addresses are some that GPUs have: of allocations, of memory pools, and of variables. */
#define OUT 0x728000000200
#define IN 0x302000000
#define VARIABLE 0x7f3a2c000010

/* Each thread adds an element of `in` and 5 times the variable v, and stores the sum. */
static const char adding[] =
    HEAD ".global .u32 v = 3;\n.global .u32 unused[4];\n"
         ".visible .entry _Z3addPjPKj(.param .u64 out, .param .u64 in)\n"
         "{ .reg .b32 %r<4>; .reg .b64 %w<5>;\n"
         "  ld.param.u64 %w0, [out]; ld.param.u64 %w1, [in]; mov.u32 %r0, %tid.x;\n"
         "  mul.wide.u32 %w2, %r0, 4; add.u64 %w0, %w0, %w2; add.u64 %w1, %w1, %w2;\n"
         "  ld.global.u32 %r1, [%w0]; ld.global.u32 %r2, [%w1]; add.u32 %r1, %r1, %r2;\n"
         "  ld.global.u32 %r3, [v]; mad.lo.u32 %r1, %r3, 5, %r1; st.global.u32 [%w0], %r1; ret; }\n"
         /* Adds 1 to the number at the address that is stored at `at`. */
         ".visible .entry follow(.param .u64 at)\n"
         "{ .reg .b32 %r; .reg .b64 %w; ld.param.u64 %w, [at]; ld.global.u64 %w, [%w];\n"
         "  ld.u32 %r, [%w]; add.u32 %r, %r, 1; st.u32 [%w], %r; ret; }\n";

static const uint64_t add_parameters[] = {OUT, IN};
static const uint32_t four[] = {1, 2, 3, 4}, tens[] = {10, 20, 30, 40},
                      sums[] = {26, 37, 48, 59}; /* with v = 3 */

static struct fth_capsule_launch launch_of(uint64_t number, const char *kernel, uint32_t threads,
                                           const void *parameters, size_t bytes)
{
    return (struct fth_capsule_launch){.number = number,
                                       .kernel = kernel,
                                       .module = 1,
                                       .grid = {1, 1, 1},
                                       .block = {threads, 1, 1},
                                       .parameters = parameters,
                                       .parameter_bytes = bytes};
}

static struct fth_capsule_launch add_launch(uint64_t number)
{
    return launch_of(number, "_Z3addPjPKj", 4, add_parameters, sizeof add_parameters);
}

static struct fth_replay *replay(struct fth_capsule_writer *writer,
                                 const struct fth_replay_options *options)
{
    struct fth_replay *result = NULL;
    struct fth_error error = NO_ERROR;
    if (writer)
        assert_int_equal(fth_capsule_finish(writer, NULL), FTH_OK);
    assert_int_equal(fth_capsule_replay("a.capsule", options, &result, &error), FTH_OK);
    assert_string_equal(error.cause, "");
    return result;
}

/* Replays and verifies a capsule with one launch. Returns the outcome. */
static struct fth_replay_launch replay_one(struct fth_capsule_writer *writer, char reason[512])
{
    const struct fth_replay_options options = FTH_REPLAY_OPTIONS(.verifies = true);
    struct fth_replay *result = replay(writer, &options);
    assert_int_equal(fth_replay_launch_count(result), 1);
    const struct fth_replay_launch launch = *fth_replay_launch_at(result, 0);
    assert_null(fth_replay_launch_at(result, 1));
    snprintf(reason, 512, "%s", launch.reason);
    fth_replay_destroy(result);
    return launch;
}

static void expect(struct fth_capsule_writer *writer, enum fth_replay_outcome outcome,
                   const char *reason)
{
    char found[512];
    const struct fth_replay_launch launch = replay_one(writer, found);
    assert_string_equal(found, reason);
    assert_int_equal(launch.outcome, outcome);
}

/* ---- results ---- */

static void launches_are_exact_or_differ(void **state)
{
    (void)state;
    uint32_t wrong[4], first_wrong[4];
    memcpy(wrong, sums, sizeof wrong);
    memcpy(first_wrong, sums, sizeof wrong);
    wrong[2] += 0x100;
    wrong[3] += 0x10001;
    first_wrong[0]++;
    const struct {
        const void *out, *in; /* after the launch */
        enum fth_replay_outcome outcome;
        const char *reason;
        uint64_t bytes, first;
    } rows[] = {
        {sums, four, FTH_REPLAY_EXACT, "", 0, 0},
        {sums, NULL, FTH_REPLAY_EXACT, "", 0, 0},
        {wrong, four, FTH_REPLAY_DIFFERS,
         "3 bytes, first at 0x728000000209: byte 9 of the 16 at 0x728000000200", 3, OUT + 9},
        {first_wrong, four, FTH_REPLAY_DIFFERS,
         "1 byte, first at 0x728000000200: byte 0 of the 16 at 0x728000000200", 1, OUT},
        {sums, tens, FTH_REPLAY_DIFFERS,
         "4 bytes, first at 0x302000000: byte 0 of the 16 at 0x302000000", 4, IN},
        {NULL, NULL, FTH_REPLAY_NOT_VERIFIED, "", 0, 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
        char reason[512];
        put_ptx(writer, adding);
        put_launch(writer, add_launch(7),
                   (struct memory[]){
                       {OUT, tens, rows[i].out, 16, NULL}, {IN, four, rows[i].in, 16, NULL}, {0}});
        const struct fth_replay_launch launch = replay_one(writer, reason);
        assert_string_equal(reason, rows[i].reason);
        assert_int_equal(launch.outcome, rows[i].outcome);
        assert_int_equal(launch.differing_bytes, rows[i].bytes);
        assert_int_equal(launch.first_address, rows[i].first);
        assert_int_equal(launch.number, 7);
        assert_int_equal(launch.block[0], 4);
        assert_false(launch.lacks_data);
    }
}

/* A kernel whose results depend on the order of atomics: the reason of a difference says so. */
static void orders_of_atomics_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *call, *called,
            *reason; /* what the kernel and a function of the module execute */
    } rows[] = {
        {"", "", ""},
        {"red.global.add.u32 [%rd0], 1;", "", ""},
        {"red.global.add.f32 [%rd0], 0f3F800000;", "",
         "; the kernel adds floating-point numbers atomically, in an order that the GPU chooses "
         "(line "
         "7 of the PTX)"},
        {"", "atom.global.add.noftz.f16x2 %r0, [%rd0], %r1;",
         "; the kernel adds floating-point numbers atomically, in an order that the GPU chooses "
         "(line "
         "5 of the PTX)"},
        {"atom.global.exch.b32 %r0, [%rd0], 5;", "",
         "; the kernel uses the results of atomics, whose order the GPU chooses (line 7 of the "
         "PTX)"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
        char text[1000], expected[512], reason[512];
        snprintf(
            text, sizeof text,
            ".version 8.0\n.target sm_90\n.address_size 64\n"
            ".func called() {.reg .b32 %%r<2>; .reg .b64 %%rd0;\n%s ret; }\n"
            ".entry other(.param .u64 at) {.reg .b64 %%rd0; red.global.add.f64 [%%rd0], "
            "0d0000000000000000; ret; } .entry k(.param .u64 at) { .reg .b32 %%r<2>; .reg .b64 "
            "%%rd0; ld.param.u64 %%rd0, [at];\n%s ret; }\n",
            rows[i].called, rows[i].call);
        put_ptx(writer, text);
        static const uint64_t parameters[] = {OUT};
        put_launch(writer, launch_of(0, "k", 1, parameters, sizeof parameters),
                   (struct memory[]){{OUT, four, tens, 16, NULL}, {0}});
        const struct fth_replay_launch launch = replay_one(writer, reason);
        assert_int_equal(launch.outcome, FTH_REPLAY_DIFFERS);
        const char *end = strstr(reason, "0x728000000200");
        assert_non_null(end);
        end = strstr(end + 1, "0x728000000200");
        snprintf(expected, sizeof expected, "0x728000000200%s", rows[i].reason);
        assert_string_equal(end, expected);
    }
}

/* Launches with the same images: a launch begins with the image before it, although the memory has
 * the image after it from the launch before. */
static void the_image_before_a_launch_is_restored(void **state)
{
    (void)state;
    const struct fth_replay_options options = FTH_REPLAY_OPTIONS(.verifies = true);
    struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
    put_ptx(writer, adding);
    const uint32_t in = put_image(writer, 0, four, 16);
    const uint32_t out[] = {put_image(writer, 0, tens, 16), put_image(writer, 0, sums, 16)};
    const struct fth_capsule_region regions[] = {
        {.kind = FTH_CAPSULE_DEVICE, .address = OUT, .bytes = 16, .before = out[0]},
        {.kind = FTH_CAPSULE_DEVICE, .address = IN, .bytes = 16, .before = in}};
    for (uint64_t number = 0; number < 3; number++) {
        struct fth_capsule_launch launch = add_launch(number);
        launch.regions = regions;
        launch.region_count = 2;
        assert_int_equal(fth_capsule_put_launch(writer, &launch, NULL), FTH_OK);
        assert_int_equal(fth_capsule_put_after(writer, number, (uint32_t[]){out[1], in}, 2, NULL),
                         FTH_OK);
    }
    struct fth_replay *result = replay(writer, &options);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fth_replay_launch_at(result, i)->outcome, FTH_REPLAY_EXACT);
    fth_replay_destroy(result);
}

/* The next launch begins with memory that has changed, or with the same memory again. */
static void launches_do_not_depend_on_each_other(void **state)
{
    (void)state;
    static const uint32_t more[] = {42, 54, 66, 78};
    struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
    put_ptx(writer, adding);
    const struct memory first[] = {{OUT, tens, sums, 16, NULL}, {IN, four, four, 16, NULL}, {0}};
    const struct memory second[] = {{OUT, sums, more, 16, NULL}, {IN, four, four, 16, NULL}, {0}};
    put_launch(writer, add_launch(0), first);
    put_launch(writer, add_launch(1), second);
    put_launch(writer, add_launch(2), second);
    put_launch(writer, add_launch(3), first);
    const struct fth_replay_options options[] = {
        FTH_REPLAY_OPTIONS(.verifies = true), FTH_REPLAY_OPTIONS(.verifies = true, .first = 2),
        FTH_REPLAY_OPTIONS(.end = 1), FTH_REPLAY_OPTIONS(.first = 1, .end = 3, .kernels = "^add"),
        FTH_REPLAY_OPTIONS(.kernels = "other")};
    static const size_t counts[] = {4, 2, 1, 2, 0};
    for (size_t i = 0; i < FTH_COUNT(options); i++) {
        struct fth_replay *result = replay(i ? NULL : writer, &options[i]);
        assert_int_equal(fth_replay_launch_count(result), counts[i]);
        for (size_t k = 0; k < counts[i]; k++)
            assert_int_equal(fth_replay_launch_at(result, k)->outcome,
                             options[i].verifies ? FTH_REPLAY_EXACT : FTH_REPLAY_RAN);
        assert_null(fth_replay_truncated(result));
        fth_replay_destroy(result);
    }
    struct fth_replay *result = NULL;
    const struct fth_replay_options wrong = FTH_REPLAY_OPTIONS(.kernels = "(");
    assert_int_equal(fth_capsule_replay("a.capsule", &wrong, &result, NULL), FTH_INVALID);
    assert_null(result);
}

/* Regions larger than a piece that is read at once, with zeros in between. */
static void large_regions_are_compared(void **state)
{
    (void)state;
    const size_t bytes = ((size_t)3 << 20) + 100;
    unsigned char *before = calloc(1, bytes), *after = calloc(1, bytes);
    memcpy(before, tens, sizeof tens);
    memcpy(after, sums, sizeof sums);
    before[bytes - 1] = after[bytes - 1] = 7;
    const struct memory memories[] = {
        {OUT, before, after, bytes, NULL}, {IN, four, NULL, 16, NULL}, {0}};
    for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
        struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
        put_ptx(writer, adding);
        put_launch(writer, add_launch(0), memories);
        expect(writer, is_wrong ? FTH_REPLAY_DIFFERS : FTH_REPLAY_EXACT,
               is_wrong ? "1 byte, first at 0x728000200263: byte 2097251 of the 3145828 at "
                          "0x728000000200"
                        : "");
        after[((size_t)2 << 20) + 99] = 1;
    }
    free(before);
    free(after);
}

/* ---- variables ---- */

/* A variable has the address and the contents that it had in the program, also if its module is
 * loaded for an earlier launch that does not have it. */
static void variables_are_captured(void **state)
{
    (void)state;
    static const uint32_t v = 7, next = 8, after[] = {46, 57, 68, 79};
    static const uint64_t pointer[] = {VARIABLE}, parameter[] = {IN};
    struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
    put_ptx(writer, adding);
    put_launch(writer, add_launch(0),
               (struct memory[]){{OUT, tens, sums, 16, NULL}, {IN, four, NULL, 16, NULL}, {0}});
    put_launch(
        writer, launch_of(1, "follow", 1, parameter, sizeof parameter),
        (struct memory[]){{IN, pointer, pointer, 8, NULL}, {VARIABLE, &v, &next, 4, "v"}, {0}});
    put_launch(writer, add_launch(2),
               (struct memory[]){{OUT, tens, after, 16, NULL},
                                 {IN, four, NULL, 16, NULL},
                                 {VARIABLE, &v, NULL, 4, "v"},
                                 {0}});
    const struct fth_replay_options options = FTH_REPLAY_OPTIONS(.verifies = true);
    struct fth_replay *result = replay(writer, &options);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(fth_replay_outcome_name(fth_replay_launch_at(result, i)->outcome),
                            "exact");
    fth_replay_destroy(result);
}

static void variables_are_compared(void **state)
{
    (void)state;
    static const uint32_t v[4] = {7}, next[4] = {9};
    static const uint64_t pointer[] = {VARIABLE}, parameter[] = {IN};
    static const struct {
        const char *name;
        uint64_t bytes;
        enum fth_replay_outcome outcome;
        const char *reason;
    } rows[] = {
        {"v", 4, FTH_REPLAY_DIFFERS, "1 byte, first at 0x7f3a2c000010: byte 0 of variable 'v'"},
        {"v", 8, FTH_REPLAY_FAILED, "the variable has 4 bytes in the PTX, but 8 in the program"},
        /* One that the compiler of the program has added is plain memory. */
        {"other", 16, FTH_REPLAY_DIFFERS,
         "1 byte, first at 0x7f3a2c000010: byte 0 of variable 'other'"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
        put_ptx(writer, adding);
        put_launch(writer, launch_of(1, "follow", 1, parameter, sizeof parameter),
                   (struct memory[]){{IN, pointer, pointer, 8, NULL},
                                     {VARIABLE, v, next, rows[i].bytes, rows[i].name},
                                     {0}});
        expect(writer, rows[i].outcome, rows[i].reason);
    }
}

/* Two modules can have variables of the same name, and one module memory where another one has a
 * variable. */
static void modules_do_not_disturb_each_other(void **state)
{
    (void)state;
    static const uint32_t v = 7, next = 8, other = 100, later = 101;
    static const uint64_t pointer[] = {VARIABLE}, parameter[] = {IN};
    struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
    put_ptx(writer, adding);
    assert_int_equal(put_ptx(writer, adding), 2);
    for (uint32_t i = 0; i < 4; i++) {
        struct fth_capsule_launch launch = launch_of(i, "follow", 1, parameter, sizeof parameter);
        launch.module = 1 + i % 2;
        put_launch(writer, launch,
                   (struct memory[]){{IN, pointer, pointer, 8, NULL},
                                     {VARIABLE, i % 2 ? &other : &v, i % 2 ? &later : &next, 4,
                                      i % 2 ? NULL : "v"},
                                     {0}});
    }
    const struct fth_replay_options options = FTH_REPLAY_OPTIONS(.verifies = true);
    struct fth_replay *result = replay(writer, &options);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(fth_replay_launch_at(result, i)->outcome, FTH_REPLAY_EXACT);
    fth_replay_destroy(result);
}

/* ---- kinds of launches ---- */

static const char shapes[] =
    /* Each block counts itself and waits for all others. */
    HEAD
    ".visible .entry meet(.param .u64 count)\n"
    "{ .reg .b32 %r<4>; .reg .b64 %w; .reg .pred %p;\n"
    "  ld.param.u64 %w, [count]; mov.u32 %r0, %nctaid.x; atom.global.add.u32 %r1, [%w], 1;\n"
    "  wait: ld.acquire.gpu.global.u32 %r2, [%w]; setp.lt.u32 %p, %r2, %r0; @%p bra wait;\n"
    "  ret; }\n"
    /* Stores the rank of each block in its cluster, and the size of its shared memory. */
    ".visible .entry ranks(.param .u64 out)\n"
    "{ .reg .b32 %r<4>; .reg .b64 %w<3>; ld.param.u64 %w0, [out];\n"
    "  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %dynamic_smem_size;\n"
    "  mul.wide.u32 %w1, %r0, 8; add.u64 %w0, %w0, %w1; st.global.v2.u32 [%w0], {%r1, %r2};\n"
    "  ret; }\n";

static void shapes_of_launches_are_captured(void **state)
{
    (void)state;
    static const uint64_t parameter[] = {OUT};
    static const uint32_t zeros[8], ranks[] = {0, 64, 1, 64, 0, 64, 1, 64}, count[8] = {4};
    for (uint32_t i = 0; i < 2; i++) {
        struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
        struct fth_capsule_launch launch =
            launch_of(0, i ? "ranks" : "meet", 1, parameter, sizeof parameter);
        put_ptx(writer, shapes);
        launch.grid[0] = 4;
        launch.is_cooperative = i == 0;
        launch.cluster[0] = i ? 2 : 0;
        launch.cluster[1] = launch.cluster[2] = i;
        launch.shared_bytes = 64;
        put_launch(writer, launch,
                   (struct memory[]){{OUT, zeros, i ? ranks : count, sizeof zeros, NULL}, {0}});
        expect(writer, FTH_REPLAY_EXACT, "");
    }
}

/* Copies the box at (4, 2) of a tensor to `out`, with the tensor map at the address in %d1. */
#define COPY_BOX(name, parameter, address)                                                         \
    ".visible .entry " name "(" parameter ", .param .u64 out)\n"                                   \
    "{\n.reg .b32 %r<8>; .reg .b64 %d<6>; .reg .pred %p<3>;\n"                                     \
    ".shared .align 128 .b8 box[64]; .shared .align 8 .b64 bar;\n" address                         \
    "ld.param.u64 %d2, [out];\n"                                                                   \
    "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra wait;\n"                               \
    "mbarrier.init.shared.b64 [bar], 1; fence.proxy.async;\n"                                      \
    "mbarrier.arrive.expect_tx.shared.b64 %d3, [bar], 64;\n"                                       \
    "mov.u32 %r2, 4; mov.u32 %r3, 2;\n"                                                            \
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "            \
    "[box], [%d1, {%r2, %r3}], [bar];\n"                                                           \
    "wait: bar.sync 0;\n"                                                                          \
    "loop: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra loop;\n"                   \
    "shl.b32 %r4, %r1, 2; mov.u32 %r5, box; add.u32 %r5, %r5, %r4; ld.shared.u32 %r6, [%r5];\n"    \
    "mad.wide.u32 %d4, %r1, 4, %d2; st.global.u32 [%d4], %r6; ret;\n}\n"

static const char tensors[] = HEAD COPY_BOX("by_value", ".param .align 64 .b8 map[128]",
                                            "mov.b64 %d1, map; cvta.param.u64 %d1, %d1;\n")
    COPY_BOX("by_address", ".param .u64 map", "ld.param.u64 %d1, [map];\n");

enum { WIDTH = 16, HEIGHT = 8 };

/* Writes a capsule with a launch that copies a box. `in_memory`: its tensor map is in a region. */
static struct fth_capsule_writer *write_box(bool in_memory, uint32_t type, uint64_t offset)
{
    static uint32_t image[HEIGHT][WIDTH], back[4][4], zeros[16];
    static unsigned char opaque[192];
    struct {
        uint64_t words[17];
    } parameters = {{0}};
    struct fth_capsule_tensor_map map = {.region = in_memory ? 2 : UINT32_MAX,
                                         .offset = offset,
                                         .data_type = type,
                                         .rank = 2,
                                         .address = IN,
                                         .sizes = {WIDTH, HEIGHT},
                                         .strides = {sizeof image[0]},
                                         .box = {4, 4},
                                         .element_strides = {1, 1}};
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (uint32_t x = 0; x < WIDTH; x++)
            image[y][x] = 100 * y + x;
    for (uint32_t y = 0; y < 4; y++)
        memcpy(back[y], &image[y + 2][4], sizeof back[y]);
    memset(opaque, 0x5a, sizeof opaque); /* the encoding of a GPU */
    parameters.words[0] = VARIABLE + 64 - VARIABLE % 64 + 64;
    parameters.words[in_memory ? 1 : 16] = OUT;
    struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
    put_ptx(writer, tensors);
    struct fth_capsule_launch launch = launch_of(0, in_memory ? "by_address" : "by_value", 16,
                                                 &parameters, in_memory ? 16 : sizeof parameters);
    launch.tensor_maps = &map;
    launch.tensor_map_count = 1;
    put_launch(writer, launch,
               (struct memory[]){{OUT, zeros, back, sizeof zeros, NULL},
                                 {IN, image, image, sizeof image, NULL},
                                 {parameters.words[0] - 64, in_memory ? opaque : NULL,
                                  in_memory ? opaque : NULL, in_memory ? sizeof opaque : 0, NULL},
                                 {0}});
    return writer;
}

/* Tensor maps are encoded again from their arguments; their bytes in memory are not compared. */
static void tensor_maps_are_encoded(void **state)
{
    (void)state;
    expect(write_box(false, 2, 0), FTH_REPLAY_EXACT, "");
    expect(write_box(true, 2, 64), FTH_REPLAY_EXACT, "");
}

/* A map that a kernel has made in memory is not compared; the bytes beside it are. */
static void tensor_maps_of_kernels_are_not_compared(void **state)
{
    (void)state;
    static const char storing[] =
        HEAD ".visible .entry keep(.param .align 64 .b8 map[128], .param .u64 out)\n"
             "{ .reg .b32 %r; .reg .b64 %d<5>; mov.b64 %d1, map; cvta.param.u64 %d1, %d1;\n"
             "ld.param.u64 %d2, [out]; mov.u32 %r, %tid.x; mul.wide.u32 %d3, %r, 8;\n"
             "add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3; ld.u64 %d4, [%d1];\n"
             "st.global.u64 [%d2], %d4; ret; }\n";
    const struct fth_capsule_tensor_map map = {.region = UINT32_MAX,
                                               .data_type = 2,
                                               .rank = 2,
                                               .address = IN,
                                               .sizes = {WIDTH, HEIGHT},
                                               .strides = {64},
                                               .box = {4, 4},
                                               .element_strides = {1, 1}};
    uint64_t parameters[17] = {0};
    parameters[16] = OUT;
    for (int i = 0; i < 3; i++) {
        unsigned char before[256] = {0}, after[256] = {0};
        memset(after + 64, 0x5a, 128); /* the encoding of a GPU */
        after[i == 1 ? 63 : 192] = i != 0;
        struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
        put_ptx(writer, storing);
        struct fth_capsule_launch launch = launch_of(0, "keep", 16, parameters, sizeof parameters);
        launch.tensor_maps = &map;
        launch.tensor_map_count = 1;
        put_launch(writer, launch,
                   (struct memory[]){{OUT - 64, before, after, sizeof before, NULL}, {0}});
        char reason[512];
        const struct fth_replay_launch result = replay_one(writer, reason);
        assert_int_equal(result.outcome, i ? FTH_REPLAY_DIFFERS : FTH_REPLAY_EXACT);
        assert_int_equal(result.differing_bytes, i != 0);
    }
}

static void faulty_tensor_maps_are_refused(void **state)
{
    (void)state;
    expect(write_box(false, 13, 0), FTH_REPLAY_SKIPPED,
           "the PTX engine does not have the data type 13 of CUDA");
    char reason[512];
    assert_int_equal(replay_one(write_box(true, 9, 64), reason).outcome, FTH_REPLAY_FAILED);
    assert_contains(reason, "a copy has 8 bytes in dimension 0");
}

/* ---- launches that cannot be replayed ---- */

static void launches_without_ptx_are_skipped(void **state)
{
    (void)state;
    static const struct {
        const char *kernel;
        uint32_t module;
        const char *reason, *found;
    } rows[] = {
        {"_Z3addPjPKj", 1, "its memory exceeds the limit of 1 GiB",
         "its memory exceeds the limit of 1 GiB"},
        {"_Z3addPjPKj", 2, NULL, "only machine code was loaded"},
        {"_Z3addPjPKj", 0, NULL, "the capsule does not have its module"},
        {"absent", 1, NULL, "the PTX of its module does not have the kernel"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
        const struct fth_capsule_module code = {.name = "",
                                                .reason = "only machine code was loaded"};
        struct fth_capsule_launch launch = add_launch(0);
        char reason[512];
        uint32_t number;
        put_ptx(writer, adding);
        assert_int_equal(fth_capsule_put_module(writer, &code, &number, NULL), FTH_OK);
        launch.kernel = rows[i].kernel;
        launch.module = rows[i].module;
        launch.reason = rows[i].reason;
        put_launch(writer, launch, (struct memory[]){{OUT, tens, sums, 16, NULL}, {0}});
        assert_int_equal(replay_one(writer, reason).outcome, FTH_REPLAY_SKIPPED);
        assert_contains(reason, rows[i].found);
    }
}

static void faults_are_reported(void **state)
{
    (void)state;
    static const char broken[] = HEAD ".visible .entry k()\n{ .reg .b32 %r; nonsense; ret; }\n";
    static const uint64_t no_parameter;
    const struct {
        const char *ptx;
        struct fth_capsule_launch launch;
        uint64_t address; /* of the second region */
        const char *reason;
    } rows[] = {
        /* Memory outside of the regions cannot be accessed. */
        {adding, add_launch(0), IN + 8, "0x302000000"},
        {adding, launch_of(0, "follow", 1, &no_parameter, 8), IN, "outside"},
        {adding, launch_of(0, "follow", 1, NULL, 0), IN,
         "the capsule has 0 bytes of parameters, but the kernel takes 8"},
        {adding, add_launch(0), 0xb00000000000, "cannot be mapped"},
        {adding, add_launch(0), 4096, "cannot be mapped"},
        {adding, launch_of(0, "_Z3addPjPKj", 5000, add_parameters, 16), IN, "exceeds 1024"},
        {broken, launch_of(0, "k", 1, NULL, 0), IN, "nonsense"},
        {"not PTX", launch_of(0, "k", 1, NULL, 0), IN, "line 1"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
        char reason[512];
        put_ptx(writer, rows[i].ptx);
        put_launch(writer, rows[i].launch,
                   (struct memory[]){
                       {OUT, tens, sums, 16, NULL}, {rows[i].address, four, four, 16, NULL}, {0}});
        assert_int_equal(replay_one(writer, reason).outcome, FTH_REPLAY_FAILED);
        assert_contains(reason, rows[i].reason);
    }
}

/* A launch whose memory exceeds the limit is skipped; the next one is not. */
static void memory_is_limited(void **state)
{
    (void)state;
    static const unsigned char large[100000];
    struct fth_capsule_writer *writer = create_capsule("a.capsule", false);
    put_ptx(writer, adding);
    put_launch(writer, add_launch(0),
               (struct memory[]){{OUT, tens, sums, 16, NULL},
                                 {IN, four, four, 16, NULL},
                                 {VARIABLE, large, NULL, sizeof large, NULL},
                                 {0}});
    put_launch(writer, add_launch(1),
               (struct memory[]){{OUT, tens, sums, 16, NULL}, {IN, four, four, 16, NULL}, {0}});
    const struct fth_replay_options options =
        FTH_REPLAY_OPTIONS(.verifies = true, .max_memory_bytes = 100000);
    struct fth_replay *result = replay(writer, &options);
    assert_int_equal(fth_replay_launch_at(result, 0)->outcome, FTH_REPLAY_SKIPPED);
    assert_contains(fth_replay_launch_at(result, 0)->reason, "--max-memory");
    assert_int_equal(fth_replay_launch_at(result, 1)->outcome, FTH_REPLAY_EXACT);
    fth_replay_destroy(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_are_exact_or_differ),
        cmocka_unit_test(orders_of_atomics_are_named),
        cmocka_unit_test(the_image_before_a_launch_is_restored),
        cmocka_unit_test(launches_do_not_depend_on_each_other),
        cmocka_unit_test(large_regions_are_compared),
        cmocka_unit_test(variables_are_captured),
        cmocka_unit_test(variables_are_compared),
        cmocka_unit_test(modules_do_not_disturb_each_other),
        cmocka_unit_test(shapes_of_launches_are_captured),
        cmocka_unit_test(tensor_maps_are_encoded),
        cmocka_unit_test(tensor_maps_of_kernels_are_not_compared),
        cmocka_unit_test(faulty_tensor_maps_are_refused),
        cmocka_unit_test(launches_without_ptx_are_skipped),
        cmocka_unit_test(faults_are_reported),
        cmocka_unit_test(memory_is_limited),
    };
    return cmocka_run_group_tests_name("capsule_replay", tests, enter_folder, leave_folder);
}
