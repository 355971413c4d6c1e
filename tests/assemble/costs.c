/* Prints the machine instructions that src/ptx/cost/ estimates.
 *
 * usage: costs FILE.ptx    for each kernel of the file, if it is executed without branches: the
 *                          name of the kernel, the number, how many of its instructions access
 *                          local memory, and how many load 1, 2, 4, 8 and 16 bytes from global
 *                          memory
 *        costs --spills LIMIT FILE.ptx
 *                          for each kernel with at most LIMIT registers per thread (0: as its
 *                          directives state): its name, the registers that it needs, and the
 *                          bytes of spill stores and loads, as src/ptx/spill/ estimates them
 *        costs FILE.json   for each launch of the launch file: the number that all warps execute */
#include "ptx/engine.h"
#include "ptx/spill/spill.h"
#include "trace/launch/launch.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Classes of loads by their bytes per lane: 1, 2, 4, 8, 16. */
enum { CLASSES = 5 };

/* Adds the loads from global memory that an instruction becomes. */
static void count_loads(const struct fth_ptx_inst *inst, size_t counts[CLASSES])
{
    const struct fth_ptx_parts *parts = &inst->operands->parts;
    if (inst->space != FTH_SPACE_GLOBAL || !inst->operands->accesses ||
        inst->operands->is_removed || !fth_ptx_is_opcode(inst, "ld"))
        return;
    const unsigned whole =
        fth_ptx_type_bytes((enum fth_ptx_type)inst->type) * (inst->vector ? inst->vector : 1);
    for (unsigned class = 0; class < CLASSES; class ++)
        if ((parts->count ? parts->bytes : whole) == 1u << class)
            counts[class] += parts->count ? parts->count : 1;
}

/* Reads a PTX file; the caller destroys *module, also after a failure. */
static enum fth_status read_module(const char *path, struct fth_ptx_module **module,
                                   struct fth_error *error)
{
    struct fth_buffer text = {0};
    *module = NULL;
    enum fth_status status = fth_file_read(path, FTH_PTX_LIMIT, &text, error);
    if (status == FTH_OK)
        status = fth_ptx_read_text(path, (const char *)text.data, text.size, module, error);
    fth_buffer_fini(&text);
    return status;
}

static enum fth_status print_spills(const char *path, uint32_t limit, struct fth_error *error)
{
    struct fth_ptx_module *module;
    enum fth_status status = read_module(path, &module, error);
    for (size_t i = 0; status == FTH_OK && i < module->function_count; i++) {
        struct fth_ptx_function *function = &module->functions[i];
        struct fth_spill_result result;
        const uint32_t own = fth_spill_limit(&function->kernel);
        if (!function->is_kernel)
            continue;
        if (!fth_spill_kernel(module, function, limit && limit < own ? limit : own, false, &result))
            status = fth_no_memory(error, "estimate spills", path);
        else
            printf("%s %u %u %u\n", function->name, result.scheduled, result.store_bytes,
                   result.load_bytes);
    }
    fth_ptx_destroy(module);
    return status;
}

static enum fth_status print_kernels(const char *path, struct fth_error *error)
{
    struct fth_ptx_module *module;
    const enum fth_status status = read_module(path, &module, error);
    for (size_t i = 0; status == FTH_OK && i < module->function_count; i++) {
        const struct fth_ptx_function *function = &module->functions[i];
        size_t local = 0, loads[CLASSES] = {0};
        for (size_t pc = 0; pc < function->code_count; pc++) {
            const struct fth_ptx_inst *inst = &function->code[pc];
            local += inst->operands->accesses && inst->space == FTH_SPACE_LOCAL &&
                     !inst->operands->in_registers;
            count_loads(inst, loads);
        }
        printf("%s %llu %zu", function->name,
               (unsigned long long)function->costs[function->code_count].instructions, local);
        for (unsigned class = 0; class < CLASSES; class ++)
            printf(" %zu", loads[class]);
        printf("\n");
    }
    fth_ptx_destroy(module);
    return status;
}

static void print_launches(const struct fth_trace *trace)
{
    for (size_t i = 0; i < fth_trace_launch_count(trace); i++) {
        const struct fth_pace *pace = fth_trace_pace(trace, i);
        uint64_t instructions = 0;
        for (size_t k = 0; pace && k < pace->count; k++)
            instructions += pace->steps[k].instructions;
        printf("%s %llu\n", fth_trace_launch_at(trace, i)->kernel,
               (unsigned long long)instructions);
    }
}

static enum fth_status run_launches(const char *path, struct fth_error *error)
{
    const struct fth_run_options options = FTH_RUN_OPTIONS(.threads = 0);
    struct fth_launch *launch = NULL;
    struct fth_trace_writer *writer;
    struct fth_trace *trace = NULL;
    int fd = -1;
    enum fth_status status = fth_launch_read(path, NULL, 0, &launch, error);
    if (status == FTH_OK)
        status = fth_temporary_open(&fd, error);
    if (status == FTH_OK)
        status = fth_trace_writer_attach(fd, "trace", &writer, error);
    if (status == FTH_OK)
        status = fth_launch_trace_to(launch, writer, true, &options, NULL, error);
    if (status == FTH_OK)
        status = fth_trace_attach(fd, "trace", &trace, error);
    if (status == FTH_OK)
        print_launches(trace);
    fth_trace_close(trace);
    fth_launch_destroy(launch);
    if (fd >= 0)
        close(fd);
    return status;
}

int main(int argc, char **argv)
{
    struct fth_error error = FTH_NO_ERROR;
    char message[700];
    const bool spills = argc == 4 && strcmp(argv[1], "--spills") == 0;
    if (argc != 2 && !spills) {
        fprintf(stderr, "usage: costs [--spills LIMIT] FILE\n");
        return 2;
    }
    const char *path = argv[argc - 1], *end = strrchr(path, '.');
    const enum fth_status status =
        spills ? print_spills(path, (uint32_t)strtoul(argv[2], NULL, 10), &error)
        : end && strcmp(end, ".json") == 0 ? run_launches(path, &error)
                                           : print_kernels(path, &error);
    if (status != FTH_OK)
        fprintf(stderr, "%s\n", fth_error_text(&error, message, sizeof message));
    return status == FTH_OK ? 0 : 1;
}
