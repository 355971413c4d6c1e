/* Tests that the PTX engine accepts every module that kernels/ generates. */
#include "check.h"
#include "kernels/kernels.h"
#include "ptx/ptx.h"

static void assert_accepted(const char *name, struct fth_buffer *ptx, enum fth_status status,
                            struct fth_error *error)
{
    struct fth_ptx_module *module = NULL;
    if (status != FTH_OK || fth_ptx_read_text(name, ptx->data, ptx->size, &module, error) != FTH_OK)
        fail_msg("%s: %s\n%s", name, error->cause, error->excerpt);
    fth_ptx_destroy(module);
    fth_buffer_fini(ptx);
}

static void operations_are_accepted(void **state)
{
    (void)state;
    for (int i = 0; i < FTH_OPERATIONS; i++)
        for (unsigned chains = 1; chains <= FTH_MAX_CHAINS; chains *= 2) {
            struct fth_buffer ptx = {0};
            struct fth_error error = NO_ERROR;
            const enum fth_operation operation = (enum fth_operation)i;
            const enum fth_status status = fth_kernels_operate(operation, chains, &ptx, &error);
            assert_accepted(fth_operation_name(operation), &ptx, status, &error);
        }
}

/* The engine does not support hints to the L2. */
static void sweeps_are_accepted(void **state)
{
    (void)state;
    size_t count = 0;
    for (unsigned i = 0; i < 2 * FTH_SWEEP_KINDS; i++)
        for (uint32_t unroll = 1; unroll <= 8; unroll *= 2) {
            const struct fth_sweep_code code = {.kind = (enum fth_sweep_kind)(i / 2),
                                                .wide = i & 1,
                                                .vector_bytes = 16,
                                                .unroll = unroll,
                                                .lanes = 32};
            if (!fth_kernels_has_sweep(&code))
                continue;
            struct fth_buffer ptx = {0};
            struct fth_error error = NO_ERROR;
            const enum fth_status status = fth_kernels_sweep(&code, &ptx, &error);
            assert_accepted(fth_sweep_kind_name(code.kind), &ptx, status, &error);
            count++;
        }
    assert_true(count > (size_t)2 * FTH_SWEEP_KINDS);
}

static void streams_are_accepted(void **state)
{
    (void)state;
    size_t count = 0;
    for (int kind = 0; kind < FTH_STREAM_KINDS; kind++)
        for (int path = 0; path < FTH_PATH_COUNT; path++)
            for (uint32_t bytes = 4; bytes <= 16; bytes *= 2) {
                const struct fth_stream_code code = {.kind = (enum fth_stream_kind)kind,
                                                     .path = (enum fth_path)path,
                                                     .vector_bytes = bytes};
                if (!fth_kernels_has_stream(code.kind, code.path, bytes))
                    continue;
                struct fth_buffer ptx = {0};
                struct fth_error error = NO_ERROR;
                char name[32];
                fth_kernels_stream_name(&code, name);
                const enum fth_status status = fth_kernels_stream(&code, &ptx, &error);
                assert_accepted(name, &ptx, status, &error);
                count++;
            }
    assert_true(count > FTH_PATH_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_accepted),
        cmocka_unit_test(sweeps_are_accepted),
        cmocka_unit_test(streams_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
