/* Tests capsules: what is written is read back, and equal contents are stored once. */
#include "capsule_example.h"
#include "folder.h"

static struct fth_capsule *open_example(void)
{
    struct fth_capsule *capsule;
    struct fth_error error = NO_ERROR;
    if (fth_capsule_open(capsule_path, &capsule, &error) != FTH_OK)
        fail_msg("%s: %s", error.operation, error.cause);
    return capsule;
}

static void capsules_are_read_back(void **state)
{
    (void)state;
    write_example();
    assert_true(fth_capsule_is(capsule_path));
    struct fth_capsule *capsule = open_example();
    const struct fth_capsule_info *info = fth_capsule_info(capsule);
    assert_false(fth_capsule_is_truncated(capsule));
    assert_string_equal(info->command, example_info.command);
    assert_string_equal(info->gpu, example_info.gpu);
    assert_int_equal(info->architecture, example_info.architecture);
    assert_int_equal(info->driver_version, example_info.driver_version);
    assert_false(info->is_light);
    assert_int_equal(fth_capsule_module_count(capsule), FTH_COUNT(example_modules));
    for (uint32_t i = 0; i < FTH_COUNT(example_modules); i++)
        compare_module(capsule, i + 1, &example_modules[i]);
    assert_null(fth_capsule_module(capsule, 0));
    assert_null(fth_capsule_module(capsule, FTH_COUNT(example_modules) + 1));
    assert_int_equal(fth_capsule_launch_count(capsule), FTH_COUNT(example_launches));
    for (size_t i = 0; i < FTH_COUNT(example_launches); i++) {
        const struct fth_capsule_launch *launch = fth_capsule_launch(capsule, i);
        compare_launch(launch, &example_launches[i]);
        assert_int_equal(launch->has_after, example_launches[i].has_after);
    }
    for (uint32_t image = 1; image <= 4; image++)
        compare_image(capsule, image);
    fth_capsule_close(capsule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capsules_are_read_back),
    };
    return cmocka_run_group_tests_name("capsule", tests, enter_folder, leave_folder);
}
