/* Adding PTX to a capsule from folders and from the caches of compilers. */
#include "capsule/capsule.h"
#include "folder.h"

#include <string.h>
#include <sys/stat.h>

static const char path[] = "a.capsule";
static const char code[] = "the machine code", other_code[] = "another machine code";
static const char ptx[] = ".version 8.0\n.entry kernel(\n)\n{ ret; }\n";

static struct fth_capsule_module machine_code(const char *bytes)
{
    return (struct fth_capsule_module){
        .name = "",
        .reason = "only machine code",
        .code_bytes = bytes ? strlen(bytes) : 0,
        .code = fth_digest(bytes ? bytes : "", bytes ? strlen(bytes) : 0)};
}

/* Writes a capsule with a module, and with two launches of a kernel of it. */
static void write_capsule(const struct fth_capsule_module *module, bool finish)
{
    struct fth_capsule_writer *writer;
    struct fth_error error = FTH_NO_ERROR;
    const struct fth_capsule_info info = {.command = "program", .gpu = "GPU", .architecture = 90};
    uint32_t number;
    assert_int_equal(fth_capsule_create(path, &info, &writer, &error), FTH_OK);
    assert_int_equal(fth_capsule_put_module(writer, module, &number, &error), FTH_OK);
    struct fth_capsule_launch launch = {.kernel = "kernel",
                                        .module = number,
                                        .grid = {1, 1, 1},
                                        .block = {1, 1, 1},
                                        .parameters = ""};
    assert_int_equal(fth_capsule_put_launch(writer, &launch, &error), FTH_OK);
    launch.number = 1;
    launch.reason = "it was recorded into a graph";
    assert_int_equal(fth_capsule_put_launch(writer, &launch, &error), FTH_OK);
    if (finish)
        assert_int_equal(fth_capsule_finish(writer, &error), FTH_OK);
    else
        fth_capsule_abandon(writer);
}

/* Completes the capsule, and returns whether its module then has the PTX. */
static bool completes(const char *const *folders, size_t count, bool was_truncated)
{
    struct fth_capture *capture;
    struct fth_capsule *capsule;
    struct fth_buffer found = {0};
    struct fth_error error = FTH_NO_ERROR;
    struct stat info;
    assert_int_equal(fth_capture_complete(path, folders, count, &capture, &error), FTH_OK);
    assert_int_equal(fth_capture_was_truncated(capture), was_truncated);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(fth_capture_bytes(capture), info.st_size);
    assert_int_equal(fth_capsule_open(path, &capsule, &error), FTH_OK);
    assert_false(fth_capsule_is_truncated(capsule));
    const bool has_ptx = !fth_capsule_module(capsule, 1)->reason;
    if (has_ptx) {
        assert_int_equal(fth_capsule_load_ptx(capsule, 1, &found, &error), FTH_OK);
        assert_int_equal(found.size, strlen(ptx));
        assert_memory_equal(found.data, ptx, found.size);
    }
    assert_int_equal(fth_capture_kernel_count(capture), 1);
    const struct fth_capture_kernel *kernel = fth_capture_kernel_at(capture, 0);
    assert_null(fth_capture_kernel_at(capture, 1));
    assert_string_equal(kernel->name, "kernel");
    assert_int_equal(kernel->launches, 2);
    assert_int_equal(kernel->complete, has_ptx ? 1 : 0);
    assert_string_equal(kernel->reason,
                        has_ptx ? "it was recorded into a graph" : "only machine code");
    fth_buffer_fini(&found);
    fth_capsule_close(capsule);
    fth_capture_destroy(capture);
    return has_ptx;
}

/* Makes folders such as "a/b/c". */
static void make_folders(const char *folders)
{
    char part[256];
    snprintf(part, sizeof part, "%s", folders);
    for (char *slash = part; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(part, 0777);
        *slash = '/';
    }
    mkdir(part, 0777);
}

/* No variable of the environment names a folder with PTX. */
static void clear_environment(void)
{
    unsetenv("TRITON_CACHE_DIR");
    unsetenv("TRITON_HOME");
    unsetenv("TORCHINDUCTOR_CACHE_DIR");
    setenv("HOME", "none", 1);
    setenv("TMPDIR", "none", 1);
    setenv("USER", "somebody", 1);
}

static void caches_are_searched(void **state)
{
    (void)state;
    static const struct {
        const char *variable, *value, *folder;
    } caches[] = {
        {"TRITON_CACHE_DIR", "one", "one/HASH"},
        {"TRITON_HOME", "two", "two/.triton/cache/HASH"},
        {"HOME", "three", "three/.triton/cache/HASH"},
        {"TORCHINDUCTOR_CACHE_DIR", "four", "four/triton/0/HASH"},
        {"TMPDIR", "five", "five/torchinductor_somebody/triton/0/HASH"},
    };
    const struct fth_capsule_module module = machine_code(code);
    for (size_t i = 0; i < FTH_COUNT(caches); i++) {
        char file[512];
        clear_environment();
        make_folders(caches[i].folder);
        snprintf(file, sizeof file, "%s/name.cubin", caches[i].folder);
        write_plain(file, code, strlen(code));
        snprintf(file, sizeof file, "%s/name.ptx", caches[i].folder);
        write_plain(file, ptx, strlen(ptx));
        write_capsule(&module, true);
        assert_false(completes(NULL, 0, false));
        setenv(caches[i].variable, caches[i].value, 1);
        assert_true(completes(NULL, 0, false));
    }
    clear_environment();
}

static void code_must_be_equal(void **state)
{
    (void)state;
    const char *const searched = "by-code";
    struct fth_capsule_module module = machine_code(code);
    make_folders("by-code/a.b");
    write_plain("by-code/a.b/name.cubin", other_code, strlen(other_code));
    write_plain("by-code/a.b/name.ptx", "no kernel", 9);
    write_capsule(&module, true);
    assert_false(completes(&searched, 1, false));
    write_plain("by-code/a.b/name.cubin", "the machine codX", strlen(code));
    assert_false(completes(&searched, 1, false));
    write_plain("by-code/a.b/name.ptx", ptx, strlen(ptx));
    unlink("by-code/a.b/name.cubin");
    /* A file can have padding behind the code. */
    char padded[64] = "the machine code and more";
    write_plain("by-code/a.b/name.cubin", padded, sizeof padded);
    write_capsule(&module, true);
    assert_true(completes(&searched, 1, false));
}

static void kernels_are_found_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *ptx;
        bool is_found;
    } cases[] = {
        {".entry kernel2()", false},
        {".entry mykernel()", false},
        {".func kernel()", false},
        {".entry", false},
        {".entry kernel", false},
        {"", false},
        {ptx, true},
    };
    const char *const searched = "by-name";
    const struct fth_capsule_module module = machine_code(NULL);
    make_folders(searched);
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        write_plain("by-name/any.ptx", cases[i].ptx, strlen(cases[i].ptx));
        write_capsule(&module, true);
        assert_false(completes(NULL, 0, false));
        assert_int_equal(completes(&searched, 1, false), cases[i].is_found);
    }
}

static void truncated_capsules_are_completed(void **state)
{
    (void)state;
    const struct fth_capsule_module module = machine_code(code);
    write_capsule(&module, false);
    assert_false(completes(NULL, 0, true));
    assert_false(completes(NULL, 0, false));
}

static void other_files_are_refused(void **state)
{
    (void)state;
    struct fth_capture *capture;
    struct fth_error error = FTH_NO_ERROR;
    write_plain("text", "text", 4);
    assert_int_equal(fth_capture_complete("absent", NULL, 0, &capture, &error), FTH_NOT_FOUND);
    assert_null(capture);
    error = (struct fth_error)FTH_NO_ERROR;
    assert_int_equal(fth_capture_complete("text", NULL, 0, &capture, &error), FTH_INVALID);
    assert_null(capture);
    fth_capture_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caches_are_searched),
        cmocka_unit_test(code_must_be_equal),
        cmocka_unit_test(kernels_are_found_by_name),
        cmocka_unit_test(truncated_capsules_are_completed),
        cmocka_unit_test(other_files_are_refused),
    };
    clear_environment();
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
