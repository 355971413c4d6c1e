/* Prints the machine instructions that src/ptx/cost/ estimates.
 *
 * usage: costs FILE.ptx    for each kernel of the file, if it is executed without branches: the
 *                          name of the kernel, the number, how many of its instructions access
 *                          local memory, and how many load 1, 2, 4, 8 and 16 bytes from global
 *                          memory
 *        costs FILE.json   for each launch of the launch file: the number that all warps execute */
#include "ptx/engine.h"
#include "trace/launch/launch.h"
#include "trace/trace.h"

#include <stdio.h>
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

static enum fth_status print_kernels(const char *path, struct fth_error *error)
{
    struct fth_buffer text = {0};
    struct fth_ptx_module *module = NULL;
    enum fth_status status = fth_file_read(path, FTH_PTX_LIMIT, &text, error);
    if (status == FTH_OK)
        status = fth_ptx_read_text(path, (const char *)text.data, text.size, &module, error);
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
    fth_buffer_fini(&text);
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
    if (argc != 2) {
        fprintf(stderr, "usage: costs FILE\n");
        return 2;
    }
    const char *end = strrchr(argv[1], '.');
    const enum fth_status status = end && strcmp(end, ".json") == 0
                                       ? run_launches(argv[1], &error)
                                       : print_kernels(argv[1], &error);
    if (status != FTH_OK)
        fprintf(stderr, "%s\n", fth_error_text(&error, message, sizeof message));
    return status == FTH_OK ? 0 : 1;
}
