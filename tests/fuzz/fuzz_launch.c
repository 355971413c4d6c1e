/* Fuzzes the reader of launch files (fth_launch_read_text). The kernels are those of a file k.ptx
 * in the same folder. Any input must be rejected with a message, or its buffers can be filled and
 * its arguments written. No kernel is executed. */
#include "trace/launch/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char module[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".const .align 4 .b8 table[64];\n.global .align 4 .f32 total;\n"
                             ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n    ret;\n}\n"
                             ".visible .entry l(.param .u64 a, .param .f32 x)\n{\n    ret;\n}\n"
                             ".visible .entry m(.param .u64 a, .param .align 64 .b8 t[128])\n"
                             "{\n    ret;\n}\n"
                             ".visible .entry n(.param .u64 t, .param .u64 s)\n{\n    ret;\n}\n";

enum { MAX_COUNT = 1 << 16 }; /* elements of a buffer that is filled and allocated */

/* Returns false for a texture or surface on a buffer that is not allocated. */
static bool is_writable(const struct fth_launch *launch, const struct fth_launch_argument *argument)
{
    bool writable = argument->kind != FTH_ARGUMENT_TEXTURE ||
                    launch->buffers[argument->buffer].count <= MAX_COUNT;
    for (size_t i = 0; argument->kind == FTH_ARGUMENT_STRUCT && i < argument->count; i++)
        writable = writable && is_writable(launch, &argument->members[i]);
    return writable;
}

/* Writes the arguments of the first steps as for the PTX engine. Large buffers have the address 0
 * here. It must succeed: what can be wrong with an argument is noticed when it is read. */
static void write_arguments(struct fth_launch *launch)
{
    enum { MAX_WRITTEN = 16 };
    struct fth_error error = FTH_NO_ERROR;
    if (fth_engine_open(launch->module, NULL, false, &launch->executor, &error) != FTH_OK)
        abort();
    for (size_t i = 0; i < launch->buffer_count; i++) {
        struct fth_launch_buffer *buffer = &launch->buffers[i];
        if (buffer->count <= MAX_COUNT &&
            launch->executor.alloc(launch->executor.context, buffer->count * buffer->element->bytes,
                                   &buffer->address, &error) != FTH_OK)
            abort();
    }
    for (size_t i = 0; i < launch->step_count && i < MAX_WRITTEN; i++) {
        const struct fth_launch_step *step = &launch->steps[i];
        for (size_t k = 0; k < step->argument_count; k++) {
            const size_t bytes = step->kernel->parameters[k].bytes;
            uint8_t *value = malloc(bytes);
            if (!value ||
                (is_writable(launch, &step->arguments[k]) &&
                 fth_argument_pack(launch, &step->arguments[k], bytes, value, &error) != FTH_OK))
                abort();
            free(value);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    struct fth_launch *launch = NULL;
    struct fth_error error = FTH_NO_ERROR;
    if (!ready) {
        mkdir("/tmp/fathom-fuzz", 0777);
        FILE *file = fopen("/tmp/fathom-fuzz/k.ptx", "w");
        if (!file || fputs(module, file) < 0 || fclose(file) != 0)
            abort();
        ready = true;
    }
    const struct fth_launch_options options = FTH_LAUNCH_OPTIONS(.sizes = NULL);
    enum fth_status status = fth_launch_read_text(
        "/tmp/fathom-fuzz/launch.json", (const char *)data, size, &options, &launch, &error);
    if ((status == FTH_OK) != (launch != NULL) || (status != FTH_OK && !error.cause[0]))
        abort();
    for (size_t i = 0; launch && i < launch->buffer_count; i++) {
        const struct fth_launch_buffer *buffer = &launch->buffers[i];
        if (buffer->count > MAX_COUNT || buffer->fill == FTH_FILL_FILE)
            continue;
        void *values = malloc(buffer->count * buffer->element->bytes);
        if (fth_launch_fill(launch, i, values, &error) != FTH_OK && !error.cause[0])
            abort();
        free(values);
    }
    if (launch)
        write_arguments(launch);
    fth_launch_destroy(launch);
    return 0;
}
