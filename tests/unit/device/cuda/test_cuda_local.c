/* Tests of the names of GPUs that the kernel module of the driver states. */
#include "check.h"
#include "device/cuda/cuda.h"
#include "folder.h"

#include <stdio.h>
#include <sys/stat.h>

/* Writes the file of a GPU as the driver does. */
static void write_gpu(const char *bus, const char *text)
{
    char path[100];
    snprintf(path, sizeof path, "gpus/%s", bus);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "gpus/%s/information", bus);
    write_plain(path, text, strlen(text));
}

static void equal_names_are_read(void **state)
{
    (void)state;
    char name[64] = "";
    assert_false(fth_cuda_read_models("gpus", name, sizeof name));
    assert_int_equal(mkdir("gpus", 0700), 0);
    assert_false(fth_cuda_read_models("gpus", name, sizeof name));
    write_gpu("0000:1a:00.0", "Model: \t\t NVIDIA H200\nIRQ:   \t\t 321\n");
    assert_true(fth_cuda_read_models("gpus", name, sizeof name));
    assert_string_equal(name, "NVIDIA H200");
    write_gpu("0000:3d:00.0", "IRQ: 1\nModel: NVIDIA H200\n");
    assert_true(fth_cuda_read_models("gpus", name, sizeof name));
    assert_string_equal(name, "NVIDIA H200");
}

/* CUDA decides which of different GPUs is the first. */
static void different_names_are_not_enough(void **state)
{
    (void)state;
    char name[64];
    write_gpu("0000:4d:00.0", "Model: NVIDIA T400\n");
    assert_false(fth_cuda_read_models("gpus", name, sizeof name));
    assert_int_equal(remove("gpus/0000:4d:00.0/information"), 0);
    assert_false(fth_cuda_read_models("gpus", name, sizeof name));
    assert_int_equal(remove("gpus/0000:4d:00.0"), 0);
    assert_true(fth_cuda_read_models("gpus", name, sizeof name));
    write_gpu("0000:5d:00.0", "Model:\n");
    assert_false(fth_cuda_read_models("gpus", name, sizeof name));
}

static void the_environment_can_hide_gpus(void **state)
{
    (void)state;
    assert_true(fth_cuda_sees_whole_gpus(NULL));
    assert_true(fth_cuda_sees_whole_gpus("1,0"));
    assert_true(fth_cuda_sees_whole_gpus("GPU-12ab"));
    assert_false(fth_cuda_sees_whole_gpus(""));
    assert_false(fth_cuda_sees_whole_gpus("-1"));
    assert_false(fth_cuda_sees_whole_gpus("MIG-12ab"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_names_are_read),
        cmocka_unit_test(different_names_are_not_enough),
        cmocka_unit_test(the_environment_can_hide_gpus),
    };
    return cmocka_run_group_tests_name("cuda_local", tests, enter_folder, leave_folder);
}
