/* Tests that the texts of the generated modules are those that were assembled and run on a GPU. A
 * fault in a generator can produce a valid kernel that measures something else, such as one load
 * less per iteration. After an intended change, run 'make test' with NVIDIA's assembler and measure
 * a GPU again before the numbers here are replaced. */
#include "check.h"
#include "kernels/kernels.h"

/* The texts of a group of modules, one after the other. */
struct group {
    size_t modules, bytes;
    uint64_t checksum; /* FNV-1a */
};

static void add(struct group *group, enum fth_status status, struct fth_buffer *ptx,
                const struct fth_error *error)
{
    if (status != FTH_OK)
        fail_msg("%s", error->cause);
    if (group->modules == 0)
        group->checksum = UINT64_C(0xcbf29ce484222325);
    group->modules++;
    group->bytes += ptx->size;
    for (size_t i = 0; i < ptx->size; i++)
        group->checksum = (group->checksum ^ (unsigned char)ptx->data[i]) * UINT64_C(0x100000001b3);
    fth_buffer_fini(ptx);
}

static void check_group(const char *name, const struct group *group, size_t modules, size_t bytes,
                        uint64_t checksum)
{
    if (group->modules != modules || group->bytes != bytes || group->checksum != checksum)
        fail_msg("%s: %zu modules, %zu bytes, 0x%016llx", name, group->modules, group->bytes,
                 (unsigned long long)group->checksum);
}

static void experiments_keep_their_texts(void **state)
{
    (void)state;
    struct fth_buffer ptx = {0};
    struct fth_error error = NO_ERROR;
    struct group experiments = {0}, cluster = {0}, fetch = {0}, branch = {0}, patterns = {0},
                 share = {0};
    add(&experiments, fth_kernels_experiments(&ptx, &error), &ptx, &error);
    check_group("experiments", &experiments, 1, 33727, UINT64_C(0x0e816b5b9f2458e8));
    add(&cluster, fth_kernels_cluster(&ptx, &error), &ptx, &error);
    check_group("cluster", &cluster, 1, 4322, UINT64_C(0xcd7f61de58e375a5));
    for (uint64_t instructions = 64; instructions <= 4096; instructions *= 8)
        add(&fetch, fth_kernels_fetch(instructions, &ptx, &error), &ptx, &error);
    check_group("fetch", &fetch, 3, 163944, UINT64_C(0x107b26ed6d1bc71b));
    add(&branch, fth_kernels_branch(&ptx, &error), &ptx, &error);
    check_group("branch", &branch, 1, 530057, UINT64_C(0x4dcbb463e09effc4));
    /* Only assembled: topo does not use it with NVIDIA's GPUs. */
    add(&share, fth_kernels_share(&ptx, &error), &ptx, &error);
    check_group("share", &share, 1, 11711, UINT64_C(0x9b55cff287908ea0));
    for (int wide = 0; wide < 2; wide++)
        add(&patterns, fth_kernels_pattern(wide, &ptx, &error), &ptx, &error);
    check_group("patterns", &patterns, 2, 10664, UINT64_C(0x55f28d9255baa1cc));
}

static void streams_keep_their_texts(void **state)
{
    (void)state;
    static const struct {
        size_t modules, bytes;
        uint64_t checksum;
    } expected[FTH_STREAM_KINDS] = {
        {19, 117564, UINT64_C(0x97a24f1e644df00c)}, /* read */
        {9, 54870, UINT64_C(0x11a550226b6dc24c)},   /* write */
        {9, 55680, UINT64_C(0x6a6bc731238a65b2)},   /* copy */
    };
    for (int kind = 0; kind < FTH_STREAM_KINDS; kind++) {
        struct group group = {0};
        struct fth_buffer ptx = {0};
        struct fth_error error = NO_ERROR;
        for (int path = 0; path <= FTH_PATH_COUNT; path++)
            for (uint32_t bytes = 2; bytes <= 32; bytes *= 2) {
                /* The last row is for clusters. */
                const bool cluster = path == FTH_PATH_COUNT && kind != FTH_STREAM_COPY;
                const struct fth_stream_code code = {
                    (enum fth_stream_kind)kind,
                    path == FTH_PATH_COUNT ? FTH_PATH_SHARED : (enum fth_path)path, bytes, cluster};
                if (fth_kernels_has_stream(code.kind, code.path, bytes))
                    add(&group, fth_kernels_stream(&code, &ptx, &error), &ptx, &error);
            }
        check_group(fth_stream_kind_name((enum fth_stream_kind)kind), &group,
                    expected[kind].modules, expected[kind].bytes, expected[kind].checksum);
    }
}

static void sweeps_keep_their_texts(void **state)
{
    (void)state;
    static const struct {
        size_t modules, bytes;
        uint64_t checksum;
    } expected[FTH_SWEEP_KINDS] = {
        {24, 65952, UINT64_C(0x3e877bc4ea61fb09)},  /* read */
        {24, 52970, UINT64_C(0xbd04d3010be137a7)},  /* write */
        {40, 97418, UINT64_C(0xc2edc4b4caa7ac7b)},  /* copy */
        {40, 106238, UINT64_C(0x30519f6da5550f69)}, /* mul */
        {30, 76412, UINT64_C(0xb100932a6e4ede6e)},  /* add */
        {30, 77032, UINT64_C(0xde6e7e1012a22d96)},  /* triad */
    };
    for (unsigned kind = 0; kind < FTH_SWEEP_KINDS; kind++) {
        struct group group = {0};
        struct fth_buffer ptx = {0};
        struct fth_error error = NO_ERROR;
        for (unsigned i = 0; i < 4; i++)
            for (uint32_t bytes = 2; bytes <= 32; bytes++)
                for (uint32_t unroll = 0; unroll <= 16; unroll++) {
                    const struct fth_sweep_code code = {
                        (enum fth_sweep_kind)kind, (i & 1) != 0, bytes, unroll,
                        unroll == 2 ? 1 : 32,      (i & 2) != 0};
                    if (fth_kernels_has_sweep(&code))
                        add(&group, fth_kernels_sweep(&code, &ptx, &error), &ptx, &error);
                }
        check_group(fth_sweep_kind_name((enum fth_sweep_kind)kind), &group, expected[kind].modules,
                    expected[kind].bytes, expected[kind].checksum);
    }
}

/* The texts of the operations, in the order of enum fth_operation. */
static const struct {
    size_t bytes;
    uint64_t checksum;
} operation_texts[FTH_OPERATIONS] = {
    {58497, UINT64_C(0x33417cd1d0b57d59)}, /* add.f16 */
    {58497, UINT64_C(0xb2ac7c0656bf74b9)}, /* mul.f16 */
    {64641, UINT64_C(0x092b64ec62ed5b85)}, /* fma.f16 */
    {61569, UINT64_C(0xbb806328b5f69029)}, /* add.f16x2 */
    {61569, UINT64_C(0x3cf06e32daa331f1)}, /* mul.f16x2 */
    {67713, UINT64_C(0xdc12b82acb35ed3d)}, /* fma.f16x2 */
    {63105, UINT64_C(0xa69cd0177852273e)}, /* add.bf16x2 */
    {63105, UINT64_C(0x949875301acf4e66)}, /* mul.bf16x2 */
    {69249, UINT64_C(0x3be4fa05eebc1f73)}, /* fma.bf16x2 */
    {58497, UINT64_C(0xbcf162ca9d568e5c)}, /* add.f32 */
    {58497, UINT64_C(0x331a2b30cd08277c)}, /* mul.f32 */
    {64641, UINT64_C(0x18ab315f819719d0)}, /* fma.f32 */
    {58497, UINT64_C(0xf2ad6f849bab6ff0)}, /* add.f64 */
    {58497, UINT64_C(0xb4251087424fe0b8)}, /* mul.f64 */
    {64641, UINT64_C(0x0d9a7c3700d3790c)}, /* fma.f64 */
    {55689, UINT64_C(0xdd3b8074820b0493)}, /* add.s32 */
    {58497, UINT64_C(0x4d961653dfc54cf3)}, /* mul.s32 */
    {64641, UINT64_C(0x5801a93ffb6ca9db)}, /* mad.s32 */
    {55689, UINT64_C(0x9d0bfd1d5312afa1)}, /* add.s64 */
    {58497, UINT64_C(0xb303c36709d56ad7)}, /* mul.s64 */
    {64641, UINT64_C(0x15064b160e793487)}, /* mad.s64 */
    {67713, UINT64_C(0xacb0321a941a57e0)}, /* rsqrt.f32 */
    {66177, UINT64_C(0x546f30463084aa68)}, /* sqrt.f32 */
    {64641, UINT64_C(0x947b9c6097d3f5bc)}, /* sin.f32 */
    {64641, UINT64_C(0x06c2302b6d17a298)}, /* cos.f32 */
    {64641, UINT64_C(0x2e2f4946912be568)}, /* ex2.f32 */
    {64641, UINT64_C(0x6de6d0359d1b77c4)}, /* lg2.f32 */
    {59226, UINT64_C(0xb948f0153a2cd5d7)}, /* load.shared.4 */
    {59226, UINT64_C(0xc707285d93238b27)}, /* load.shared.8 */
    {64104, UINT64_C(0x3e43562611b5a6e4)}, /* load.l2 */
    {60612, UINT64_C(0xcdb07bd8e02cf92f)}, /* copy.shared.4 */
    {92708, UINT64_C(0x19e0ce2ca1954bd4)}, /* copy.shared.16 */
    {74586, UINT64_C(0xa4e6e928679e9587)}, /* atomic.shared */
    {74856, UINT64_C(0x0aeadc4996f838cc)}, /* atomic.global */
    {84072, UINT64_C(0x859caa92685ee0e6)}, /* cas.global */
    {87294, UINT64_C(0xb3a110f51db94d59)}, /* atom.cta */
    {93438, UINT64_C(0x523e48471ebde0f0)}, /* atom.cluster */
    {87294, UINT64_C(0x347256264235ecd1)}, /* atom.gpu */
    {87294, UINT64_C(0x8ccfec2edcf636fd)}, /* atom.sys */
    {87294, UINT64_C(0x8e65c665bdc730ef)}, /* atom.u64 */
    {99582, UINT64_C(0x15eb1bd8adc55a03)}, /* atom.f16x2 */
    {87294, UINT64_C(0x30a626bc84b4657c)}, /* atom.f32 */
    {87294, UINT64_C(0x12edce1b21772f4e)}, /* atom.f64 */
    {76683, UINT64_C(0xd3ff23cac0c55344)}, /* red.cta */
    {82839, UINT64_C(0x98cc29aac48b24c5)}, /* red.cluster */
    {76683, UINT64_C(0x85b7a0bece3db8f8)}, /* red.gpu */
    {76683, UINT64_C(0xc11715446e2e314f)}, /* red.sys */
    {76683, UINT64_C(0x6bee216c162fed07)}, /* red.u64 */
    {88995, UINT64_C(0xf5c5a371cdb78fb0)}, /* red.f16x2 */
    {76683, UINT64_C(0x10081052cbd606da)}, /* red.f32 */
    {76683, UINT64_C(0x373f95fa847f0379)}, /* red.f64 */
    {80880, UINT64_C(0x4f16ce5e78589c33)}, /* atom.shared.u32 */
    {80880, UINT64_C(0x6d7754134f78ad1d)}, /* atom.shared.u64 */
    {93168, UINT64_C(0x186885d8274d8a42)}, /* atom.shared.f16x2 */
    {80880, UINT64_C(0xc440e995e05938be)}, /* atom.shared.f32 */
    {80880, UINT64_C(0x15865f5cfab11c9b)}, /* atom.shared.f64 */
    {70257, UINT64_C(0xe4d0555d0274582c)}, /* red.shared.u32 */
};

static void operations_keep_their_texts(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FTH_OPERATIONS; i++) {
        struct group group = {0};
        struct fth_buffer ptx = {0};
        struct fth_error error = NO_ERROR;
        const enum fth_operation operation = (enum fth_operation)i;
        for (unsigned chains = 1; chains <= FTH_MAX_CHAINS; chains += chains < 3 ? 2 : 5)
            add(&group, fth_kernels_operate(operation, chains, &ptx, &error), &ptx, &error);
        check_group(fth_operation_name(operation), &group, 3, operation_texts[i].bytes,
                    operation_texts[i].checksum);
    }
}

static void accesses_keep_their_texts(void **state)
{
    (void)state;
    struct fth_buffer ptx = {0};
    struct fth_error error = NO_ERROR;
    struct group visits = {0}, traffics = {0};
    for (unsigned i = 0; i < FTH_VISIT_OPERATIONS; i++)
        add(&visits, fth_kernels_visit((enum fth_visit_operation)i, &ptx, &error), &ptx, &error);
    check_group("visits", &visits, 8, 21192, UINT64_C(0x81e7ad6dfbf9592e));
    for (uint32_t bytes = 4; bytes <= 16; bytes *= 2)
        add(&traffics, fth_kernels_traffic(bytes, &ptx, &error), &ptx, &error);
    check_group("traffics", &traffics, 3, 12321, UINT64_C(0x8dc938447ca2b2e1));
}

/* ---- templates ---- */

static void templates_need_a_value_for_each_placeholder(void **state)
{
    (void)state;
    static const struct fth_kernel_value values[] = {{"a", "1"}, {"ab", "{{a}}"}, {"none", ""}};
    static const struct {
        const char *text, *result, *cause;
    } rows[] = {
        {"", "", NULL},
        {"plain { } }} text", "plain { } }} text", NULL},
        {"{{a}}", "1", NULL},
        {"x{{a}}y{{ab}}{{none}}z{{a}}", "x1y{{a}}z1", NULL}, /* values are not filled in */
        {"x{{b}}", NULL, "no value for the placeholder at byte 1"},
        {"{{a}}{{}}", NULL, "no value for the placeholder at byte 5"},
        {"{{abc}}", NULL, "no value for the placeholder at byte 0"},
        {"{{a}} {{a", NULL, "no value for the placeholder at byte 6"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_buffer out = {0};
        struct fth_error error = NO_ERROR;
        fth_buffer_text(&out, "before ");
        const enum fth_status status =
            fth_kernels_fill("name", rows[i].text, values, FTH_COUNT(values), &out, &error);
        if (rows[i].cause) {
            assert_int_equal(status, FTH_INVALID);
            assert_string_equal(error.cause, rows[i].cause);
            assert_string_equal(error.argument, "name");
            assert_string_equal(error.operation, "fill in kernel template");
        } else {
            assert_int_equal(status, FTH_OK);
            assert_string_equal(out.data + strlen("before "), rows[i].result);
        }
        fth_buffer_fini(&out);
    }
    struct fth_buffer out = {0};
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_kernels_fill_named("nothing", values, 3, &out, &error), FTH_INVALID);
    assert_string_equal(error.cause, "no value for the placeholder at byte 0");
    assert_int_equal(fth_kernels_fill_named("walk", values, 3, &out, NULL), FTH_INVALID);
    fth_buffer_fini(&out);
}

/* ---- properties ---- */

static void operations_have_properties(void **state)
{
    (void)state;
    static const struct {
        enum fth_operation operation;
        const char *name, *title;
        unsigned results, bytes, round; /* operations per round of 3 chains */
        bool shared, global, copies;
    } rows[] = {
        {FTH_FMA_F32, "fma.f32", "fma fp32", 1, 4, 512, false, false, false},
        {FTH_ADD_F16, "add.f16", "add fp16", 1, 4, 512, false, false, false},
        {FTH_ADD_F16X2, "add.f16x2", "add fp16 pairs", 2, 8, 512, false, false, false},
        {FTH_ADD_F64, "add.f64", "add fp64", 1, 8, 512, false, false, false},
        {FTH_LOAD_SHARED_8, "load.shared.8", "load 8 B, shared memory", 1, 8, 512, true, false,
         false},
        {FTH_LOAD_L2, "load.l2", "load 8 B past L1", 1, 8, 512, false, true, false},
        {FTH_COPY_SHARED_4, "copy.shared.4", "copy 4 B within shared memory", 1, 4, 255, true,
         false, true},
        {FTH_COPY_SHARED_16, "copy.shared.16", "copy 16 B within shared memory", 4, 16, 255, true,
         false, true},
        {FTH_ATOMIC_GLOBAL, "atomic.global", "atomic add, global memory", 1, 8, 512, false, true,
         false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const enum fth_operation operation = rows[i].operation;
        assert_string_equal(fth_operation_name(operation), rows[i].name);
        assert_string_equal(fth_operation_title(operation), rows[i].title);
        assert_int_equal(fth_operation_results(operation), rows[i].results);
        assert_int_equal(fth_operation_bytes(operation), rows[i].bytes);
        assert_int_equal(fth_operation_round(operation, 3), rows[i].round);
        assert_int_equal(fth_operation_in_shared(operation), rows[i].shared);
        assert_int_equal(fth_operation_in_global(operation), rows[i].global);
        assert_int_equal(fth_operation_copies(operation), rows[i].copies);
    }
    assert_string_equal(fth_operation_name(FTH_OPERATIONS), "?");
    assert_string_equal(fth_operation_title(FTH_OPERATIONS), "?");
    assert_int_equal(fth_operation_capability(FTH_ADD_F32), 0);
    assert_int_equal(fth_operation_capability(FTH_ADD_F16X2), 53);
    assert_int_equal(fth_operation_capability(FTH_ADD_BF16X2), 90);
    uint64_t first, second;
    fth_operation_operands(FTH_FMA_F32, &first, &second);
    assert_int_equal(first, 0x3f800000); /* 1.0 */
    assert_true(second > 0 && second < first);
}

static void sweeps_have_properties(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned arrays;
        uint64_t coefficients[3];
    } rows[FTH_SWEEP_KINDS] = {{"read", 1, {1, 0, 0}}, {"write", 1, {0, 0, 3}},
                               {"copy", 2, {1, 0, 0}}, {"mul", 2, {3, 0, 0}},
                               {"add", 3, {1, 1, 0}},  {"triad", 3, {1, 3, 0}}};
    for (unsigned i = 0; i < FTH_SWEEP_KINDS; i++) {
        uint64_t coefficients[3];
        const enum fth_sweep_kind kind = (enum fth_sweep_kind)i;
        fth_sweep_coefficients(kind, coefficients);
        assert_string_equal(fth_sweep_kind_name(kind), rows[i].name);
        assert_int_equal(fth_sweep_arrays(kind), rows[i].arrays);
        assert_memory_equal(coefficients, rows[i].coefficients, sizeof coefficients);
    }
    /* 0x9e3779b97f4a7c15 * 1: x is 0x9e3, y is 0x779. */
    static const uint64_t c[3] = {1, 2, 3};
    const float sum = 0x9e3 + 2 * 0x779 + 3;
    const double wide_sum = 0x9e3 + 2 * 0x779 + 3;
    uint32_t bits;
    uint64_t wide_bits;
    memcpy(&bits, &sum, sizeof bits);
    memcpy(&wide_bits, &wide_sum, sizeof wide_bits);
    assert_int_equal(fth_sweep_element(1, false, c), bits);
    assert_int_equal(fth_sweep_element(1, true, c), wide_bits);
    assert_int_equal(fth_sweep_element(0, false, c), 0x40400000); /* 3.0 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experiments_keep_their_texts),
        cmocka_unit_test(streams_keep_their_texts),
        cmocka_unit_test(sweeps_keep_their_texts),
        cmocka_unit_test(operations_keep_their_texts),
        cmocka_unit_test(accesses_keep_their_texts),
        cmocka_unit_test(templates_need_a_value_for_each_placeholder),
        cmocka_unit_test(operations_have_properties),
        cmocka_unit_test(sweeps_have_properties),
    };
    return cmocka_run_group_tests_name("kernel_checksums", tests, NULL, NULL);
}
