/* Runs the tests of kernels compiled by nvcc; see kernel_helpers.h. */
#include "kernel_helpers.h"

#define LIST(name) {#name, kernel_##name, kernel_setup, kernel_teardown, NULL},

int main(void)
{
    static const struct CMUnitTest tests[] = {KERNEL_TESTS(LIST)};
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
