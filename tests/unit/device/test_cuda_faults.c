/* Tests how device/cuda/ reports failures of a GPU and its driver. The stand-ins for NVIDIA's
 * libraries (tests/standin) cause the failures; set_mode() selects them. */
#include "driven.h"

#include <stdio.h>
#include <time.h>

/* ---- faults ---- */

static void a_failed_allocation_reports_requested_and_free_memory(void **state)
{
    (void)state;
    set_mode("no-memory:4096");
    void *machine = open_machine("0");
    struct fth_error error = NO_ERROR;
    uint64_t address = 1, fits = alloc(machine, 4096);
    assert_int_equal(ops->alloc(machine, 2ULL << 30, &address, &error), FTH_NO_MEMORY);
    assert_int_equal(address, 0);
    assert_string_equal(error.cause, "2 GiB requested, 4 KiB free: out of memory (error 2)");
    ops->free(machine, fits);
    close_machine(machine);
}

static void compilation_errors_include_the_log(void **state)
{
    (void)state;
    struct fth_machine_module *module = NULL;
    struct fth_error error = NO_ERROR;
    set_mode("jit");
    void *machine = open_machine("0");
    assert_int_equal(ops->load(machine, "test", ptx, strlen(ptx), &module, &error),
                     FTH_UNSUPPORTED);
    assert_null(module);
    assert_contains(error.cause, "test: a PTX JIT compilation failed (error 218): ptxas "
                                 "application ptx input, line 12; fatal");
    close_machine(machine);

    set_mode("one");
    machine = open_machine("0");
    error = NO_ERROR;
    assert_int_equal(ops->load(machine, "test", ".version 8.0 oops", 17, &module, &error),
                     FTH_UNSUPPORTED);
    assert_contains(error.cause, "(error 218): ");
    assert_contains(error.cause, "line 1: ");
    close_machine(machine);
}

static void reports_missing_symbols_and_invalid_launches(void **state)
{
    (void)state;
    set_mode("one");
    void *machine = open_machine("0");
    struct fth_machine_module *module = load(machine);
    struct fth_error error = NO_ERROR;
    uint64_t address, bytes;
    assert_int_equal(ops->symbol(machine, module, "nothing", &address, &bytes, &error),
                     FTH_NOT_FOUND);
    assert_contains(error.cause, "nothing: named symbol not found (error 500)");
    error = NO_ERROR;
    assert_int_equal(launch(machine, module, "nothing", 1, NULL, 0, &error), FTH_NOT_FOUND);
    assert_contains(error.cause, "nothing: named symbol not found (error 500)");
    error = NO_ERROR;
    assert_int_equal(launch(machine, module, "add", 2048, (uint64_t[]){0, 0, 0}, 3, &error),
                     FTH_UNAVAILABLE);
    assert_contains(error.cause, "invalid argument (error 1)");
    /* The machine remains usable after these errors. */
    assert_int_equal(ops->wait(machine, 60, NULL), FTH_OK);
    ops->unload(machine, module);
    close_machine(machine);
}

/* Checks that every operation of the machine fails, with an error that contains `reason`. */
static void assert_lost(void *machine, struct fth_machine_module *module, const char *reason)
{
    struct fth_machine_module *another;
    struct fth_gpu *gpu = NULL;
    uint64_t word = 0, number;
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    for (int call = 0; call < 11; call++) {
        struct fth_error error = NO_ERROR;
        enum fth_status status = FTH_OK;
        switch (call) {
        case 0: status = ops->wait(machine, 60, &error); break;
        case 1: status = launch(machine, module, "add", 1, (uint64_t[]){0, 0, 0}, 3, &error); break;
        case 2: status = ops->alloc(machine, 256, &number, &error); break;
        case 3: status = ops->upload(machine, 256, &word, 8, &error); break;
        case 4: status = ops->download(machine, &word, 256, 8, &error); break;
        case 5: status = ops->fill(machine, 256, 0, 8, &error); break;
        case 6: status = ops->texture(machine, 512, 8, &number, &error); break;
        case 7: status = ops->load(machine, "test", ptx, strlen(ptx), &another, &error); break;
        case 8: status = ops->free_bytes(machine, &number, &error); break;
        case 9: status = ops->describe(machine, gpu, &error); break;
        case 10: status = ops->check(machine, &error); break;
        }
        assert_int_equal(status, FTH_UNAVAILABLE);
        assert_contains(error.cause, "it is lost: ");
        assert_contains(error.cause, reason);
    }
    fth_gpu_destroy(gpu);
}

static void a_gpu_is_lost_after_a_fault(void **state)
{
    (void)state;
    /* The next operation after the fault reports it: a wait, a copy or another launch. */
    for (int next_operation = 0; next_operation < 3; next_operation++) {
        set_mode("lost-later:2");
        void *machine = open_machine("0");
        struct fth_machine_module *module = load(machine);
        struct fth_error error = NO_ERROR;
        uint64_t a = alloc(machine, 256), word;
        const uint64_t arguments[] = {a, a, 1};
        for (int i = 0; i < 2; i++) {
            if (i)
                assert_int_equal(ops->wait(machine, 60, NULL), FTH_OK);
            assert_int_equal(launch(machine, module, "add", 1, arguments, 3, NULL), FTH_OK);
        }
        enum fth_status status = next_operation == 0 ? ops->wait(machine, 60, &error)
                                 : next_operation == 1
                                     ? ops->download(machine, &word, a, 8, &error)
                                     : launch(machine, module, "add", 1, arguments, 3, &error);
        assert_int_equal(status, FTH_UNAVAILABLE);
        assert_contains(error.cause, "unspecified launch failure (error 719)");
        assert_lost(machine, module,
                    "in or after the kernel 'add': unspecified launch failure (error 719)");
        ops->free(machine, a);
        ops->unload(machine, module);
        ops->close(machine);
    }
}

/* The stand-in executes the kernel with the PTX engine and writes the engine's error to stderr. */
static void a_gpu_is_lost_after_an_invalid_access(void **state)
{
    (void)state;
    set_mode("one");
    void *machine = open_machine("0");
    struct fth_machine_module *module = load(machine);
    struct fth_error error = NO_ERROR;
    assert_int_equal(launch(machine, module, "add", 1, (uint64_t[]){64, 64, 1}, 3, &error), FTH_OK);
    assert_int_equal(ops->wait(machine, 60, &error), FTH_UNAVAILABLE);
    assert_contains(error.cause, "in or after the kernel 'add': ");
    assert_lost(machine, module, "(error 719)");
    ops->unload(machine, module);
    ops->close(machine);
}

/* The driver stays loaded with the hanging work of this test and of the next one, which therefore
 * uses the other GPU. */
static void a_hanging_copy_is_abandoned(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    set_mode("two");
    void *machine = open_machine("1");
    uint64_t a = alloc(machine, 256), b = alloc(machine, 256);
    set_mode("hang-copy");
    assert_int_equal(ops->copy(machine, a, b, 256, &error), FTH_OK);
    assert_int_equal(ops->wait(machine, 0.05, &error), FTH_UNAVAILABLE);
    assert_string_equal(error.cause, "copy of 256 bytes within the GPU did not complete within "
                                     "0.05 s and was abandoned");
    ops->close(machine);
}

/* This must be the last test, because the driver stays loaded with the hanging kernel. */
static void a_hanging_kernel_is_abandoned(void **state)
{
    (void)state;
    set_mode("hang");
    void *machine = open_machine("0");
    struct fth_machine_module *module = load(machine);
    struct fth_error error = NO_ERROR;
    uint64_t a = alloc(machine, 256), texture = 0;
    assert_int_equal(ops->texture(machine, a, 8, &texture, NULL), FTH_OK);
    assert_int_equal(launch(machine, module, "add", 1, (uint64_t[]){a, a, 1}, 3, NULL), FTH_OK);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    assert_int_equal(ops->wait(machine, 0.05, &error), FTH_UNAVAILABLE);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double elapsed =
        (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    assert_true(elapsed >= 0.05 && elapsed < 5);
    assert_string_equal(error.cause,
                        "kernel 'add' did not complete within 0.05 s and was abandoned");
    assert_lost(machine, module, "kernel 'add' did not complete within 0.05 s and was abandoned");
    ops->texture_free(machine, texture);
    ops->free(machine, a);
    ops->unload(machine, module);
    ops->close(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_allocation_reports_requested_and_free_memory),
        cmocka_unit_test(compilation_errors_include_the_log),
        cmocka_unit_test(reports_missing_symbols_and_invalid_launches),
        cmocka_unit_test(a_gpu_is_lost_after_a_fault),
        cmocka_unit_test(a_gpu_is_lost_after_an_invalid_access),
        cmocka_unit_test(a_hanging_copy_is_abandoned),
        cmocka_unit_test(a_hanging_kernel_is_abandoned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
