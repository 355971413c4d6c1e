/* Tests that fth_trace_obtain without memory fails with FTH_NO_MEMORY, for each kind of input, and
 * that nothing is left (tests/leaks checks that). One allocation fails: the first one, then the
 * second one, and so on, until the trace is there. */
#include "check.h"
#include "failing.h"
#include "folder.h"
#include "trace/trace.h"

#include <zstd.h>
#include <zstd_errors.h>

/* ---- allocations of libzstd ---- */

ZSTD_CCtx *__real_ZSTD_createCCtx(void);
ZSTD_CCtx *__wrap_ZSTD_createCCtx(void);
size_t __real_ZSTD_compressCCtx(ZSTD_CCtx *context, void *to, size_t capacity, const void *from,
                                size_t size, int level);
size_t __wrap_ZSTD_compressCCtx(ZSTD_CCtx *context, void *to, size_t capacity, const void *from,
                                size_t size, int level);
size_t __real_ZSTD_decompress(void *to, size_t capacity, const void *from, size_t size);
size_t __wrap_ZSTD_decompress(void *to, size_t capacity, const void *from, size_t size);

static const size_t no_memory = -(size_t)ZSTD_error_memory_allocation;

ZSTD_CCtx *__wrap_ZSTD_createCCtx(void)
{
    return fails() ? NULL : __real_ZSTD_createCCtx();
}

size_t __wrap_ZSTD_compressCCtx(ZSTD_CCtx *context, void *to, size_t capacity, const void *from,
                                size_t size, int level)
{
    return fails() ? no_memory : __real_ZSTD_compressCCtx(context, to, capacity, from, size, level);
}

size_t __wrap_ZSTD_decompress(void *to, size_t capacity, const void *from, size_t size)
{
    return fails() ? no_memory : __real_ZSTD_decompress(to, capacity, from, size);
}

/* ---- inputs ---- */

static const char tuples[] = "# kernel k\n# grid 2 1 1\n# block 64 1 1\n"
                             "# instruction 0 bytes 4 line 1 source 2\n"
                             "0 0 0 R:0 4\n0 1 33 W 8\n1 0 1 R 3 0x10 0x20 0x80\n";
static const char traceg[] = "-kernel name = k\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n"
                             "-accelsim tracer version = 3\n#BEGIN_TB\nthread block = 0,0,0\n"
                             "warp = 0\n0010 0000000f 1 R4 LDG.E 1 R2 4 1 0x7f0000000000 4\n"
                             "#END_TB\n";
static const char kernel[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".visible .entry k(.param .u64 a)\n{\n.reg .b64 %a;\n.reg .b32 %x;\n"
                             "ld.param.u64 %a, [a];\nld.global.u32 %x, [%a];\nret;\n}\n";
static const char launch[] =
    "{\"schema\": \"fathom-launch/1\", \"ptx\": \"ptx\", \"sizes\": {\"N\": \"4*8\"},"
    " \"buffers\": {\"b\": \"u32[N]=i % 7\", \"unused\": \"u8[5]\"},"
    " \"launches\": [{\"for\": \"t\", \"to\": 2, \"launches\": [{\"grid\": 1, \"block\": \"N\","
    " \"args\": [\"b\"]}]}]}";

static const char objects_kernel[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".const .align 4 .b8 table[16];\n.const .align 4 .u32 limit;\n"
    ".visible .entry k(.param .u64 a, .param .align 8 .b8 s[16], .param .align 64 .b8 m[128],"
    " .param .u64 t, .param .u32 n)\n{\n.reg .b64 %a, %c;\n.reg .b32 %x;\n"
    /* the lanes load different constants */
    "mov.u32 %x, %tid.x;\nand.b32 %x, %x, 3;\nmul.wide.u32 %a, %x, 4;\nmov.u64 %c, table;\n"
    "add.u64 %c, %c, %a;\nld.const.u32 %x, [%c];\n"
    "ld.param.u64 %a, [a];\nld.global.u32 %x, [%a];\nret;\n}\n";
/* All kinds of buffers and arguments. */
static const char objects[] =
    "{\"schema\": \"fathom-launch/1\", \"ptx\": \"objects.ptx\", \"sizes\": {\"N\": 8},"
    " \"buffers\": {\"file\": \"u8[16]=file:data\", \"open\": \"u32[]=file:data\","
    " \"b\": \"f32[N*8]=i/2\", \"r\": \"u32[N]=random(1,9)\"},"
    " \"variables\": {\"table\": \"f32[2][2]=i*i\", \"limit\": 7},"
    " \"expect\": [{\"buffer\": \"file\", \"file\": \"data\"}],"
    " \"launches\": [{\"kernel\": \"k\", \"grid\": 1, \"block\": 32, \"args\": [\"file+4\","
    " [\"open\", \"u16:2\", \"bytes:01020304\"],"
    " {\"tensormap\": \"b\", \"sizes\": [\"N\", 8], \"box\": [4, 4]},"
    " {\"texture\": \"b\", \"sizes\": [8]}, \"N+1\"]}]}";
/* A struct and a variable on the command line. */
static const char inputs_kernel[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.const .align 4 .u32 limit;\n"
    ".visible .entry k(.param .align 8 .b8 s[16])\n{\n.reg .b64 %a;\n.reg .b32 %x;\n"
    "ld.param.u64 %a, [s+8];\nld.global.u32 %x, [%a];\nret;\n}\n";

/* Obtains a trace while each allocation in turn fails. `min_allocations`: at least as many are
 * needed. */
static void obtain_without_memory(const char *path, const struct fth_trace_options *options,
                                  size_t min_allocations)
{
    for (size_t number = 1;; number++) {
        struct fth_trace *trace = NULL;
        struct fth_error error = NO_ERROR;
        fail_from(number, false);
        const enum fth_status status = fth_trace_obtain(path, options, &trace, &error);
        const bool failed = has_failed();
        fail_from(0, false);
        assert_int_equal(trace != NULL, status == FTH_OK);
        fth_trace_close(trace);
        if (!failed) {
            assert_int_equal(status, FTH_OK);
            assert_true(number > min_allocations);
            return;
        }
        /* Some allocations can be done without, such as that of a worker thread. */
        if (error.status != status || (status != FTH_OK && status != FTH_NO_MEMORY))
            fail_msg("%s, allocation %zu: status %d: %s", path, number, (int)status, error.cause);
        assert_int_equal(error.operation[0] != '\0', status != FTH_OK);
        assert_string_not_equal(error.operation, path); /* this is the argument */
    }
}

static void traces_need_memory(void **state)
{
    (void)state;
    static const char *const arguments[] = {"ptr:u32[64]=random"};
    const struct fth_launch_options ptx =
        FTH_LAUNCH_OPTIONS(.arguments = arguments, .argument_count = 1);
    const struct fth_trace_options with_argument = FTH_TRACE_OPTIONS(.launch = &ptx, .threads = 1);
    const struct fth_trace_options to_file =
        FTH_TRACE_OPTIONS(.launch = &ptx, .threads = 1, .output = "trace");
    const struct fth_trace_options plain = FTH_TRACE_OPTIONS(.threads = 1);
    write_plain("tuples", tuples, sizeof tuples - 1);
    write_plain("traceg", traceg, sizeof traceg - 1);
    write_plain("ptx", kernel, sizeof kernel - 1);
    write_plain("launch", launch, sizeof launch - 1);
    obtain_without_memory("tuples", &plain, 20);
    obtain_without_memory("traceg", &plain, 20);
    obtain_without_memory("ptx", &with_argument, 20);
    obtain_without_memory("launch", &plain, 20);
    obtain_without_memory("ptx", &to_file, 20);
    obtain_without_memory("trace", &plain, 5);
    const struct fth_launch_options files = FTH_LAUNCH_OPTIONS(.allow_files = true);
    const struct fth_trace_options with_files = FTH_TRACE_OPTIONS(.launch = &files, .threads = 1);
    write_plain("data", "0123456789abcdef", 16);
    write_plain("objects.ptx", objects_kernel, sizeof objects_kernel - 1);
    write_plain("objects", objects, sizeof objects - 1);
    obtain_without_memory("objects", &with_files, 20);
    static const char *const members[] = {"{i32:1,ptr:u32[4][8]}"}, *const set[] = {"limit=5"};
    const struct fth_launch_options inputs =
        FTH_LAUNCH_OPTIONS(.arguments = members, .argument_count = 1, .variables = set,
                           .variable_count = 1);
    const struct fth_trace_options with_inputs = FTH_TRACE_OPTIONS(.launch = &inputs, .threads = 1);
    write_plain("inputs.ptx", inputs_kernel, sizeof inputs_kernel - 1);
    obtain_without_memory("inputs.ptx", &with_inputs, 20);
}

/* Fat binaries in an object file that is named on the command line or in a launch file. */
static void fat_binaries_need_memory(void **state)
{
    (void)state;
    static const char object[] = FTH_SOURCE_ROOT "/tests/fatbin/x86_64.obj";
    static const char *const arguments[] = {"ptr:f32[64]", "f32:1", "i32:64"};
    static const char text[] =
        "{\"schema\": \"fathom-launch/1\", \"ptx\": \"" FTH_SOURCE_ROOT
        "/tests/fatbin/x86_64.obj\", \"buffers\": {\"b\": \"f32[8]\"}, \"launches\": [{\"kernel\": "
        "\"scale\", \"grid\": 1, \"block\": 8, \"args\": [\"b\", \"f32:2\", \"i32:8\"]}]}";
    const struct fth_launch_options shift =
        FTH_LAUNCH_OPTIONS(.kernel = "shift", .arguments = arguments, .argument_count = 3);
    const struct fth_launch_options files = FTH_LAUNCH_OPTIONS(.allow_files = true);
    const struct fth_trace_options with_kernel = FTH_TRACE_OPTIONS(.launch = &shift, .threads = 1);
    const struct fth_trace_options with_files = FTH_TRACE_OPTIONS(.launch = &files, .threads = 1);
    write_plain("launch", text, sizeof text - 1);
    obtain_without_memory(object, &with_kernel, 20);
    obtain_without_memory("launch", &with_files, 20);
}

/* The kernels of machine code are listed for the message, which needs memory, too. */
static void machine_code_needs_memory(void **state)
{
    (void)state;
    static const char path[] = FTH_SOURCE_ROOT "/tests/fatbin/machine-zstd.fatbin";
    for (size_t number = 1;; number++) {
        struct fth_launch *created = NULL;
        struct fth_error error = NO_ERROR;
        fail_from(number, false);
        const enum fth_status status = fth_launch_create(path, NULL, 1, &created, &error);
        const bool failed = has_failed();
        fail_from(0, false);
        assert_null(created);
        assert_true(error.operation[0] != '\0');
        assert_int_equal(status, failed ? FTH_NO_MEMORY : FTH_UNSUPPORTED);
        if (!failed)
            return;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_need_memory),
        cmocka_unit_test(fat_binaries_need_memory),
        cmocka_unit_test(machine_code_needs_memory),
    };
    return cmocka_run_group_tests_name("trace-no-memory", tests, enter_folder, leave_folder);
}
