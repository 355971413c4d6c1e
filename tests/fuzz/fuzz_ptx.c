/* Fuzzes the PTX engine. Any input must be rejected with a message, or its first kernels are
 * executed for a limited number of instructions, with pointers to small buffers as arguments. No
 * kernel may access memory outside the memory of the machine, and a kernel in an endless loop must
 * be stopped. Debug information is read, too. */
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BUFFER_BYTES = 4096, MAX_KERNELS = 4, MAX_ARGUMENT_BYTES = 4096 };

static void run_kernel(struct fth_ptx_machine *machine, const struct fth_ptx_kernel *kernel)
{
    uint64_t arguments[MAX_ARGUMENT_BYTES / 8] = {0};
    if (kernel->parameter_bytes > sizeof arguments)
        return;
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        arguments[i] = 7;
        if (i < 4 && fth_ptx_alloc(machine, BUFFER_BYTES, &arguments[i], NULL) != FTH_OK)
            abort();
    }
    struct fth_error error = FTH_NO_ERROR;
    const struct fth_ptx_launch launch = {.kernel = kernel->name,
                                          .grid = {2, 1, 1},
                                          .block = {40, 1, 1},
                                          .dynamic_shared_bytes = 256,
                                          .arguments = arguments,
                                          .argument_bytes = kernel->parameter_bytes,
                                          .threads = 1,
                                          .max_instructions = 2000,
                                          .check_async = true};
    if (fth_ptx_run(machine, &launch, NULL, &error) != FTH_OK && !error.cause[0])
        abort();
}

/* Reads the debug information. The members that it lists must be numbers or pointers. */
static void read_debug(const struct fth_ptx_module *module)
{
    static struct fth_ptx_debug_member members[64];
    struct fth_ptx_debug *debug;
    const struct fth_ptx_kernel *kernel;
    if (fth_ptx_debug_open(module, &debug, NULL) != FTH_OK)
        abort();
    for (size_t i = 0; debug && i < MAX_KERNELS && (kernel = fth_ptx_kernel_at(module, i)); i++)
        for (size_t k = 0; k < kernel->parameter_count && k < 8; k++) {
            const size_t count = fth_ptx_debug_members(debug, kernel->name, k, members, 64);
            for (size_t m = 0; m < count; m++)
                if (strlen(members[m].name) >= sizeof members[m].name ||
                    strlen(members[m].type) >= sizeof members[m].type)
                    abort();
        }
    fth_ptx_debug_close(debug);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_ptx_module *module = NULL;
    struct fth_ptx_machine *machine = NULL;
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = fth_ptx_read_text("fuzz", (const char *)data, size, &module, &error);
    if (status != FTH_OK && (!error.cause[0] || strchr(error.cause, '\n')))
        abort();
    if (status == FTH_OK)
        read_debug(module);
    if (status == FTH_OK && fth_ptx_machine_create(module, &machine, NULL) == FTH_OK) {
        const struct fth_ptx_kernel *kernel;
        for (size_t i = 0; i < MAX_KERNELS && (kernel = fth_ptx_kernel_at(module, i)); i++)
            run_kernel(machine, kernel);
    }
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
    return 0;
}
