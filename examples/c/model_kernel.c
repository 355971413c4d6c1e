/* Models the caches of a GPU for kernels, and prints the hit ratios of each kernel. No GPU is
 * needed: fathom executes the kernels itself.
 *
 *   ./model_kernel GPU LAUNCHES.json [NAME=VALUE]...          a launch file, and its sizes
 *   ./model_kernel GPU KERNEL.ptx GRID BLOCK [ARGUMENT]...    a kernel, and its arguments
 *
 *   ./model_kernel h200 ../workloads/2mm.json N=256
 *   ./model_kernel a100 saxpy.ptx 256 256 i32:65536 f32:2 'ptr:f32[65536]' 'ptr:f32[65536]'
 *
 * GPU is a description: a file, or a name that 'fathom gpus' lists. README.md in this folder
 * describes how to build the program. */
#define _POSIX_C_SOURCE 200809L /* mkstemp */

#include <fathom/fathom.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Creates the launch of the only kernel of a PTX file. `words`: grid, block, arguments. */
static enum fth_status create_launch(const char *path, char *words[], size_t count,
                                     struct fth_launch **launch, struct fth_error *error)
{
    const struct fth_launch_shape shape =
        FTH_LAUNCH_SHAPE(.grid = {(uint32_t)strtoul(words[0], NULL, 10)},
                         .block = {(uint32_t)strtoul(words[1], NULL, 10)});
    enum fth_status status = fth_launch_create(path, NULL, 1, launch, error);
    if (status == FTH_OK)
        status = fth_launch_set_shape(*launch, &shape, error);
    for (size_t i = 2; i < count && status == FTH_OK; i++)
        status = fth_launch_argument(*launch, words[i], error);
    return status;
}

/* Runs the launches, writes their memory accesses to the file `path`, and opens it as a trace. */
static enum fth_status make_trace(char *words[], size_t count, const char *path,
                                  struct fth_trace **trace, struct fth_error *error)
{
    struct fth_launch *launch = NULL;
    const char *file = words[0], *end = strrchr(file, '.');
    enum fth_status status =
        end && strcmp(end, ".ptx") == 0
            ? create_launch(file, words + 1, count - 1, &launch, error)
            : fth_launch_read(file, (const char *const *)words + 1, count - 1, &launch, error);
    if (status == FTH_OK)
        status = fth_launch_trace(launch, path, NULL, NULL, error);
    if (status == FTH_OK)
        status = fth_trace_open(path, trace, error);
    fth_launch_destroy(launch);
    return status;
}

/* Reads the description of a GPU, and takes the parameters of the model from it. */
static enum fth_status read_parameters(const char *name, struct fth_model_params **params,
                                       struct fth_error *error)
{
    struct fth_catalogue *catalogue = NULL;
    struct fth_gpu *gpu = NULL;
    enum fth_status status = fth_catalogue_open(&catalogue, error);
    if (status == FTH_OK)
        status = fth_catalogue_read(catalogue, name, NULL, &gpu, error);
    if (status == FTH_OK)
        status = fth_model_params_create(gpu, params, error);
    fth_gpu_destroy(gpu);
    fth_catalogue_close(catalogue);
    return status;
}

static void print_rows(const struct fth_model_result *result)
{
    const struct fth_model_row *row;
    printf("%-16s %8s %8s %12s\n", "kernel", "L1 hits", "L2 hits", "DRAM sectors");
    for (size_t i = 0; (row = fth_model_row(result, i)); i++) {
        if (row->instruction || row->launch != SIZE_MAX)
            continue; /* Rows of instructions and of single launches follow that of their kernel. */
        printf("%-16s %6.1f %% %6.1f %% %12" PRIu64 "\n", row->kernel,
               100 * fth_model_hit_ratio(&row->l1, true), 100 * fth_model_hit_ratio(&row->l2, true),
               row->dram_reads + row->dram_writes);
    }
}

static enum fth_status run(char *words[], size_t count, const char *path, struct fth_error *error)
{
    struct fth_model_params *params = NULL;
    struct fth_trace *trace = NULL;
    struct fth_model_result *result = NULL;
    enum fth_status status = read_parameters(words[0], &params, error);
    if (status == FTH_OK)
        status = make_trace(words + 1, count - 1, path, &trace, error);
    if (status == FTH_OK)
        status = fth_model_run(trace, params, NULL, &result, error);
    if (status == FTH_OK)
        print_rows(result);
    fth_model_result_destroy(result);
    fth_trace_close(trace);
    fth_model_params_destroy(params);
    return status;
}

int main(int count, char *words[])
{
    struct fth_error error = FTH_NO_ERROR;
    char path[] = "/tmp/model_kernel-XXXXXX", text[sizeof error];
    const char *end = count > 2 ? strrchr(words[2], '.') : NULL;
    if (count < 3 || (end && strcmp(end, ".ptx") == 0 && count < 5)) {
        fprintf(stderr, "usage: model_kernel GPU LAUNCHES.json [NAME=VALUE]...\n"
                        "       model_kernel GPU KERNEL.ptx GRID BLOCK [ARGUMENT]...\n");
        return 2;
    }
    int file = mkstemp(path);
    if (file < 0) {
        perror(path);
        return 1;
    }
    close(file);
    enum fth_status status = run(words + 1, (size_t)count - 1, path, &error);
    if (status != FTH_OK)
        fprintf(stderr, "model_kernel: %s\n%s%s", fth_error_text(&error, text, sizeof text),
                error.excerpt, error.excerpt[0] ? "\n" : "");
    unlink(path);
    return status == FTH_OK ? 0 : 1;
}
