/* Tests tensor copies (cp.async.bulk.tensor) in the PTX engine. The expected results follow from
 * the PTX specification, and from an H200 where that leaves something open. */
#include "../ptx_job.h"
#include "ptx/async/tensor_map.h"

/* A kernel with the address of a tensor map in %rd0, that of the output in %rd1, the thread's 16
 * bytes of the output in %rd3 and of the shared memory `s` in %r1, and the thread's index in %r0.
 * `m` is an mbarrier. */
#define TENSOR_KERNEL(BODY)                                                                        \
    ".version 8.6\n.target sm_90a\n.address_size 64\n"                                             \
    ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) {\n"                        \
    ".shared .align 128 .b8 s[4096]; .shared .align 8 .b64 m;\n"                                   \
    ".reg .pred p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>;\n"                                      \
    "ld.param.u64 %rd1, [out]; mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0;\n"                    \
    "mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 16; add.u64 %rd3, %rd1, %rd2;\n"                 \
    "shl.b32 %r1, %r0, 4; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;\n" BODY "\nret;\n}\n"
#define INIT(COUNT)                                                                                \
    "setp.eq.u32 p0, %r0, 0; @p0 mbarrier.init.shared.b64 [m], " COUNT "; bar.sync 0;\n"
#define WAIT "wait: mbarrier.try_wait.parity.shared.b64 p2, [m], 0; @!p2 bra wait;\n"
/* Stores the thread's 16 bytes of shared memory to the output. */
#define STORE                                                                                      \
    "ld.shared.v4.u32 {%r28,%r29,%r30,%r31}, [%r1];\n"                                             \
    "st.global.v4.u32 [%rd3], {%r28,%r29,%r30,%r31};\n"
#define TENSOR_LOAD(BYTES, X, Y)                                                                   \
    INIT("1")                                                                                      \
    "@p0 mbarrier.arrive.expect_tx.shared.b64 %rd10, [m], " BYTES ";\n"                            \
    "mov.u32 %r10, " X "; mov.u32 %r11, " Y ";\n"                                                  \
    "@p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], "   \
    "[%rd0, {%r10, %r11}], [m];\n" WAIT

/* Fills the shared memory with VALUE and copies it to a box of the tensor. COPY is
 * "cp.async.bulk.tensor" or "cp.reduce.async.bulk.tensor", OP nothing or ".add" and the like. */
#define TENSOR_STORE(COPY, OP, VALUE, X, Y)                                                        \
    TENSOR_KERNEL("mov.u32 %r5, " VALUE "; st.shared.v4.u32 [%r1], {%r5,%r5,%r5,%r5};\n"           \
                  "bar.sync 0; setp.eq.u32 p0, %r0, 0; mov.u32 %r10, " X "; mov.u32 %r11, " Y      \
                  ";\n@p0 " COPY ".2d.global.shared::cta" OP ".tile.bulk_group [%rd0, {%r10, "     \
                  "%r11}], [s];\n"                                                                 \
                  "@p0 cp.async.bulk.commit_group; @p0 cp.async.bulk.wait_group 0;")

enum { WORDS = 1024 };

/* A tensor of 32 x 32 words with boxes of 8 x 4 words. */
static const struct fth_ptx_tensor_map words = {.type = FTH_TENSOR_U32,
                                                .rank = 2,
                                                .sizes = {32, 32},
                                                .strides = {128},
                                                .element_strides = {1, 1, 1},
                                                .box = {8, 4}};

/* Prepares a launch with a map of the tensor. It is in the first buffer, where word i is i + 1. */
static void tensor_init(struct job *job, const char *text, const struct fth_ptx_tensor_map *tensor)
{
    static unsigned char arguments[136];
    struct fth_ptx_tensor_map map = *tensor;
    job_open(job, text, 2, WORDS * sizeof(uint32_t));
    uint32_t *in = fth_ptx_host(job->machine, job->buffers[0], WORDS * sizeof *in);
    for (uint32_t i = 0; i < WORDS; i++)
        in[i] = i + 1;
    job->launch.block[0] = 64;
    map.address = job->buffers[0];
    assert_int_equal(fth_ptx_tensor_map_encode(&map, arguments, NULL), FTH_OK);
    memcpy(arguments + 128, &job->buffers[1], 8);
    job->launch.arguments = arguments;
    job->launch.argument_bytes = sizeof arguments;
}

static const uint32_t *run_tensor(struct job *job, const char *text,
                                  const struct fth_ptx_tensor_map *map)
{
    tensor_init(job, text, map);
    return run_job(job);
}

static void check_tensor_fault(const char *text, enum fth_ptx_tensor_type type, const char *cause)
{
    struct job job;
    struct fth_ptx_tensor_map map = words;
    map.type = type;
    map.box[0] = 16;
    tensor_init(&job, text, &map);
    expect_failure(&job, cause);
    job_fini(&job);
}

static void tensors_are_copied_by_boxes(void **state)
{
    (void)state;
    struct job job;
    const uint32_t *out =
        run_tensor(&job, TENSOR_KERNEL(TENSOR_LOAD("128", "8", "4") STORE), &words);
    for (uint32_t y = 0; y < 4; y++)
        for (uint32_t x = 0; x < 8; x++)
            assert_int_equal(out[y * 8 + x], (y + 4) * 32 + x + 8 + 1);
    job_fini(&job);
    /* Elements outside of the tensor are zero; coordinates can be negative. */
    out = run_tensor(&job, TENSOR_KERNEL(TENSOR_LOAD("128", "-4", "30") STORE), &words);
    for (uint32_t y = 0; y < 4; y++)
        for (uint32_t x = 0; x < 8; x++)
            assert_int_equal(out[y * 8 + x], x < 4 || y >= 2 ? 0 : (y + 30) * 32 + x - 4 + 1);
    job_fini(&job);
}

static void tensors_are_filled_with_nan(void **state)
{
    (void)state;
    static const enum fth_ptx_tensor_type types[] = {FTH_TENSOR_F32, FTH_TENSOR_F16,
                                                     FTH_TENSOR_F64};
    for (size_t i = 0; i < FTH_COUNT(types); i++) {
        struct job job;
        struct fth_ptx_tensor_map map = words;
        map.type = types[i];
        map.fills_with_nan = true;
        map.sizes[0] = 128 / fth_ptx_tensor_type_bytes(map.type);
        map.box[0] = 32 / fth_ptx_tensor_type_bytes(map.type);
        const uint32_t *out =
            run_tensor(&job, TENSOR_KERNEL(TENSOR_LOAD("128", "0", "31") STORE), &map);
        for (uint32_t x = 0; x < 32; x++)
            assert_int_equal(out[x], x < 8 ? 31 * 32 + x + 1 : 0x7ff77ff7);
        job_fini(&job);
    }
}

static void tensors_are_stored_inside_only(void **state)
{
    (void)state;
    struct job job;
    (void)run_tensor(&job, TENSOR_STORE("cp.async.bulk.tensor", "", "7", "28", "30"), &words);
    const uint32_t *in = fth_ptx_host(job.machine, job.buffers[0], WORDS * sizeof *in);
    for (uint32_t i = 0; i < WORDS; i++)
        assert_int_equal(in[i], i / 32 >= 30 && i % 32 >= 28 ? 7 : i + 1);
    job_fini(&job);
}

/* A store writes units of 16 bytes, also where the tensor ends inside of one. */
static void stores_to_tensors_write_units(void **state)
{
    (void)state;
    struct job job;
    struct fth_ptx_tensor_map map = words;
    map.sizes[0] = 25;
    (void)run_tensor(&job, TENSOR_STORE("cp.async.bulk.tensor", "", "7", "24", "30"), &map);
    const uint32_t *in = fth_ptx_host(job.machine, job.buffers[0], WORDS * sizeof *in);
    for (uint32_t i = 0; i < WORDS; i++)
        assert_int_equal(in[i], i / 32 >= 30 && i % 32 >= 24 && i % 32 < 28 ? 7 : i + 1);
    job_fini(&job);
    /* The memory can end inside of a unit, too. */
    uint64_t address;
    unsigned char arguments[136];
    tensor_init(&job, TENSOR_STORE("cp.async.bulk.tensor", "", "7", "8", "0"), &words);
    assert_int_equal(fth_ptx_alloc(job.machine, 10 * sizeof *in, &address, NULL), FTH_OK);
    map.address = address;
    map.sizes[0] = 9;
    map.sizes[1] = 1;
    assert_int_equal(fth_ptx_tensor_map_encode(&map, arguments, NULL), FTH_OK);
    job.launch.arguments = arguments;
    (void)run_job(&job);
    in = fth_ptx_host(job.machine, address, 10 * sizeof *in);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(in[i], i < 8 ? 0 : 7);
    job_fini(&job);
}

/* An H200 ends a kernel with such a copy with "illegal instruction". */
static void wrong_copies_of_tensors_are_faults(void **state)
{
    (void)state;
    check_tensor_fault(TENSOR_KERNEL(TENSOR_LOAD("128", "2", "0")), FTH_TENSOR_U32,
                       "the copy starts at byte 8 of dimension 0, which is not a multiple of 16");
    check_tensor_fault(TENSOR_STORE("cp.async.bulk.tensor", "", "7", "0", "-1"), FTH_TENSOR_U32,
                       "the copy to global memory starts at -1 in dimension 1");
    static const enum fth_ptx_tensor_type types[] = {FTH_TENSOR_U8, FTH_TENSOR_U16, FTH_TENSOR_S64};
    static const char *const causes[] = {"elements of type u8 have no reduction 'add'",
                                         "elements of type u16 have no reduction",
                                         "elements of type s64 have no reduction"};
    for (size_t i = 0; i < FTH_COUNT(types); i++)
        check_tensor_fault(TENSOR_STORE("cp.reduce.async.bulk.tensor", ".add", "7", "0", "0"),
                           types[i], causes[i]);
    check_tensor_fault(TENSOR_STORE("cp.reduce.async.bulk.tensor", ".inc", "7", "0", "0"),
                       FTH_TENSOR_S32, "elements of type s32 have no reduction 'inc'");
    check_tensor_fault(TENSOR_STORE("cp.reduce.async.bulk.tensor", ".xor", "7", "0", "0"),
                       FTH_TENSOR_F16, "elements of type f16 have no reduction 'xor'");
    check_tensor_fault(TENSOR_STORE("cp.reduce.async.bulk.tensor", ".min", "7", "0", "0"),
                       FTH_TENSOR_F32, "elements of type f32 have no reduction 'min'");
}

static bool count_global_access(void *user, const struct fth_ptx_access *access)
{
    *(unsigned *)user += access->space == FTH_SPACE_GLOBAL;
    return true;
}

/* A box that is partly outside of the memory is a fault of the instruction that copies it, whether
 * accesses are observed or not. The observer sees the rows before the fault. */
static void copies_outside_of_the_memory_are_faults(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned rows; /* inside of the memory, of 4 */
    } cases[] = {{TENSOR_KERNEL(TENSOR_LOAD("128", "0", "28")), 4},
                 {TENSOR_KERNEL(TENSOR_LOAD("128", "0", "29")), 3},
                 {TENSOR_KERNEL(TENSOR_LOAD("128", "0", "32")), 0},
                 /* The last row begins 16 bytes before the end of the memory. */
                 {TENSOR_KERNEL(TENSOR_LOAD("128", "28", "28")), 3},
                 {TENSOR_KERNEL(TENSOR_LOAD("128", "24", "28")), 4}};
    struct fth_ptx_tensor_map map = words;
    map.sizes[0] = 36; /* rows that overlap the next one */
    map.sizes[1] = 64; /* twice the rows of the buffer */
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct job job;
        unsigned accesses = 0;
        struct fth_ptx_totals totals[2];
        const struct fth_ptx_observer observer = {.user = &accesses, .access = count_global_access};
        tensor_init(&job, cases[i].text, &map);
        for (int observed = 0; observed < 2; observed++) {
            struct fth_error error = NO_ERROR;
            job.launch.observer = observed ? &observer : NULL;
            assert_int_equal(fth_ptx_run(job.machine, &job.launch, &totals[observed], &error),
                             cases[i].rows < 4 ? FTH_INVALID : FTH_OK);
            assert_contains(error.cause, cases[i].rows < 4 ? "access of 32 bytes at 0x" : "");
        }
        assert_int_equal(accesses, cases[i].rows);
        assert_int_equal(totals[0].warp_instructions, totals[1].warp_instructions);
        job_fini(&job);
    }
}

/* Runs a reduction with elements of 4 bytes and returns the first word of the tensor, which was 1.
 */
static uint32_t reduce_word(const char *text, enum fth_ptx_tensor_type type)
{
    struct job job;
    struct fth_ptx_tensor_map map = words;
    map.type = type;
    (void)run_tensor(&job, text, &map);
    const uint32_t result = *(uint32_t *)fth_ptx_host(job.machine, job.buffers[0], 4);
    job_fini(&job);
    return result;
}

static void boxes_are_combined_with_tensors(void **state)
{
    (void)state;
#define REDUCED(OP, VALUE) TENSOR_STORE("cp.reduce.async.bulk.tensor", OP, VALUE, "0", "0")
    assert_int_equal(reduce_word(REDUCED(".add", "7"), FTH_TENSOR_U32), 8);
    assert_int_equal(reduce_word(REDUCED(".min", "-7"), FTH_TENSOR_U32), 1);
    assert_int_equal(reduce_word(REDUCED(".min", "-7"), FTH_TENSOR_S32), UINT32_MAX - 6);
    assert_int_equal(reduce_word(REDUCED(".xor", "7"), FTH_TENSOR_S32), 6);
    assert_int_equal(reduce_word(REDUCED(".dec", "7"), FTH_TENSOR_U32), 0);
    /* The smallest subnormal and 2 of them. Only f32.ftz takes them as zeros. */
    assert_int_equal(reduce_word(REDUCED(".add", "2"), FTH_TENSOR_F32), 3);
    assert_int_equal(reduce_word(REDUCED(".add", "2"), FTH_TENSOR_F32_FTZ), 0);
}

/* Rows that are narrower than the swizzle are as far apart as its pattern is wide. */
static void swizzles_set_the_distance_of_rows(void **state)
{
    (void)state;
    struct job job;
    struct fth_ptx_tensor_map map = words;
    map.swizzle = FTH_SWIZZLE_64;
    const uint32_t *out = run_tensor(&job, TENSOR_KERNEL(TENSOR_LOAD("128", "8", "4") STORE), &map);
    for (uint32_t i = 0; i < 64; i++) {
        const uint32_t y = i / 16, x = i % 16 ^ (y / 2) * 4;
        assert_int_equal(out[i], x < 8 ? (y + 4) * 32 + x + 8 + 1 : 0);
    }
    job_fini(&job);
}

static void loads_round_to_tf32(void **state)
{
    (void)state;
    static const uint32_t numbers[][2] = {{0x3f801001, 0x3f802000}, {0x3f800fff, 0x3f800000},
                                          {0xff7fffff, 0xff800000}, {0xff800000, 0xff800000},
                                          {0x80004321, 0x80004000}, {0xffc12345, 0x7fffe000}};
    struct job job;
    struct fth_ptx_tensor_map map = words;
    map.type = FTH_TENSOR_TF32;
    tensor_init(&job, TENSOR_KERNEL(TENSOR_LOAD("128", "0", "0") STORE), &map);
    uint32_t *in = fth_ptx_host(job.machine, job.buffers[0], WORDS * sizeof *in);
    for (size_t i = 0; i < FTH_COUNT(numbers); i++)
        in[i] = numbers[i][0];
    const uint32_t *out = run_job(&job);
    for (size_t i = 0; i < FTH_COUNT(numbers); i++)
        assert_int_equal(out[i], numbers[i][1]);
    job_fini(&job);
}

/* Loads a box of a tensor with three dimensions. END is nothing, or the offsets in im2col mode. */
#define TENSOR_LOAD_3D(MODE, BYTES, X, Y, Z, END)                                                  \
    TENSOR_KERNEL(                                                                                 \
        INIT("1") "@p0 mbarrier.arrive.expect_tx.shared.b64 %rd10, [m], " BYTES ";\n"              \
                  ".reg .b16 %h1; mov.b16 %h1, 1;\n"                                               \
                  "mov.u32 %r10, " X "; mov.u32 %r11, " Y "; mov.u32 %r12, " Z ";\n"               \
                  "@p0 cp.async.bulk.tensor.3d.shared::cluster.global." MODE                       \
                  ".mbarrier::complete_tx::bytes [s], [%rd0, {%r10, %r11, %r12}], [m]" END         \
                  ";\n" WAIT STORE)

/* A tensor of 2 images with 3 slices of 16 bytes and 8 pixels per line. */
static const struct fth_ptx_tensor_map slices = {.type = FTH_TENSOR_F16,
                                                 .rank = 3,
                                                 .sizes = {8, 3, 2},
                                                 .strides = {128, 512},
                                                 .element_strides = {1, 1, 1},
                                                 .interleave = FTH_INTERLEAVE_16,
                                                 .box = {8, 16, 2},
                                                 .channels = 16,
                                                 .pixels = 10};

/* The last but one dimension counts slices, and a box has one of them. */
static void boxes_of_interleaved_tensors_are_slices(void **state)
{
    (void)state;
    struct job job;
    const uint32_t *out =
        run_tensor(&job, TENSOR_LOAD_3D("tile", "256", "-2", "1", "0", ""), &slices);
    for (uint32_t i = 0; i < 256; i++) {
        const uint32_t image = i / 32, pixel = i / 4 % 8, word = i % 4;
        const uint32_t expected = 128 * image + 32 + 4 * (pixel - 2) + word + 1;
        assert_int_equal(out[i], image < 2 && pixel >= 2 ? expected : 0);
    }
    job_fini(&job);
    /* In im2col mode, the pixels of a line are in dimension 0. */
    struct fth_ptx_tensor_map map = slices;
    map.is_im2col = true;
    out = run_tensor(&job, TENSOR_LOAD_3D("im2col", "160", "3", "2", "0", ", {%h1}"), &map);
    for (uint32_t i = 0; i < 256; i++) {
        const uint32_t number = i / 4 + 3, pixel = number % 8 + 1, word = i % 4;
        const uint32_t expected = 128 * (number / 8) + 64 + 4 * pixel + word + 1;
        assert_int_equal(out[i], i < 40 && pixel < 8 ? expected : 0);
    }
    job_fini(&job);
}

/* Runs a copy of the interleaved tensor in im2col mode that starts before or after the corners, or
 * a store with corners outside of the tensor. */
static void pixels_are_between_the_corners(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } faults[] = {
        {TENSOR_LOAD_3D("im2col", "160", "-2", "0", "0", ", {%h1}"),
         "the copy starts at -2 in dimension 0; the corners allow -1 to 8"},
        {TENSOR_LOAD_3D("im2col", "160", "9", "0", "0", ", {%h1}"), "the copy starts at 9"},
        {TENSOR_KERNEL("setp.eq.u32 p0, %r0, 0; mov.u32 %r10, 0;\n"
                       "@p0 cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group "
                       "[%rd0, {%r10, %r10, %r10}], [s];"),
         "the corners of dimension 0 are outside of the tensor, which only loads allow"},
    };
    struct fth_ptx_tensor_map map = slices;
    map.is_im2col = true;
    map.lower[0] = -1;
    map.upper[0] = 1;
    for (size_t i = 0; i < FTH_COUNT(faults); i++) {
        struct job job;
        tensor_init(&job, faults[i].text, &map);
        expect_failure(&job, faults[i].cause);
        job_fini(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_copied_by_boxes),
        cmocka_unit_test(tensors_are_filled_with_nan),
        cmocka_unit_test(tensors_are_stored_inside_only),
        cmocka_unit_test(stores_to_tensors_write_units),
        cmocka_unit_test(wrong_copies_of_tensors_are_faults),
        cmocka_unit_test(copies_outside_of_the_memory_are_faults),
        cmocka_unit_test(boxes_are_combined_with_tensors),
        cmocka_unit_test(swizzles_set_the_distance_of_rows),
        cmocka_unit_test(loads_round_to_tf32),
        cmocka_unit_test(boxes_of_interleaved_tensors_are_slices),
        cmocka_unit_test(pixels_are_between_the_corners),
    };
    return cmocka_run_group_tests_name("tensor_copy", tests, NULL, NULL);
}
