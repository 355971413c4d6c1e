/* Filling in the templates of loads in flight, flight.ptx, and of merged stores, merge.ptx. */
#include "kernels/kernels.h"

#include <stdio.h>

/* The PTX version that introduced branches through a table. */
static const char version[] = "6.0", target[] = "sm_50";

/* Independent chains of the operations that wait for the loads. Chosen: arithmetic takes at most 6
 * cycles on known GPUs, so that these operations do not wait for each other. */
enum { CHAINS = 8 };

/* The code that depends on the number of loads. */
struct flight_code {
    struct fth_buffer table, clear, issue, consume;
};

static void write_code(struct flight_code *code)
{
    for (int i = 1; i <= FTH_FLIGHT_LOADS; i++) {
        fth_buffer_format(&code->table, "%sload_%d", i > 1 ? ", " : "", i);
        fth_buffer_format(&code->clear, "    mov.u32 %%r%d, 0;\n", i);
    }
    for (int i = FTH_FLIGHT_LOADS; i >= 1; i--)
        fth_buffer_format(&code->issue, "load_%d:\n    ld.global.cg.u32 %%r%d, [%%at+%d];\n", i, i,
                          (i - 1) * FTH_FLIGHT_LINE_BYTES);
    /* From the last register to the first one: the first ones are those that few loads use, and the
     * others do not make the warp wait. */
    for (int i = 0; i < CHAINS; i++)
        fth_buffer_format(&code->consume, "    mov.u32 %%s%d, 0;\n", i);
    for (int i = FTH_FLIGHT_LOADS; i >= 1; i--)
        fth_buffer_format(&code->consume, "    or.b32 %%s%d, %%s%d, %%r%d;\n", i % CHAINS,
                          i % CHAINS, i);
    fth_buffer_text(&code->consume, "    mov.u32 %sum, %s0;\n");
    for (int i = 1; i < CHAINS; i++)
        fth_buffer_format(&code->consume, "    or.b32 %%sum, %%sum, %%s%d;\n", i);
}

enum fth_status fth_kernels_flight(struct fth_buffer *out, struct fth_error *error)
{
    struct flight_code code = {.table = {0}};
    char registers[24], line[24], chains[24];
    snprintf(registers, sizeof registers, "%d", FTH_FLIGHT_LOADS + 1);
    snprintf(line, sizeof line, "%d", FTH_FLIGHT_LINE_BYTES);
    snprintf(chains, sizeof chains, "%d", CHAINS);
    write_code(&code);
    enum fth_status status;
    if (code.table.failed || code.clear.failed || code.issue.failed || code.consume.failed) {
        status = fth_no_memory(error, "fill in kernel template", "flight");
    } else {
        const struct fth_kernel_value values[] = {{"version", version},
                                                  {"target", target},
                                                  {"registers", registers},
                                                  {"line", line},
                                                  {"chains", chains},
                                                  {"table", code.table.data},
                                                  {"clear", code.clear.data},
                                                  {"issue", code.issue.data},
                                                  {"consume", code.consume.data}};
        status = fth_kernels_fill_named("flight", values, FTH_COUNT(values), out, error);
    }
    fth_buffer_fini(&code.table);
    fth_buffer_fini(&code.clear);
    fth_buffer_fini(&code.issue);
    fth_buffer_fini(&code.consume);
    return status;
}

enum fth_status fth_kernels_merge(struct fth_buffer *out, struct fth_error *error)
{
    struct fth_buffer table = {0}, chain = {0}, wait = {0};
    static const char step[] = "    mad.lo.u32 %w, %w, %w, %w;\n";
    char waits[24];
    snprintf(waits, sizeof waits, "%d", FTH_MERGE_WAITS);
    for (int i = FTH_MERGE_WAITS; i >= 0; i--)
        fth_buffer_format(&chain, "wait_%d:\n%s", i, i > 0 ? step : "");
    for (int i = 0; i <= FTH_MERGE_WAITS; i++)
        fth_buffer_format(&table, "%swait_%d", i ? ", " : "", i);
    if (!table.failed && !chain.failed)
        fth_buffer_format(&wait, "table: .branchtargets %s;\n    brx.idx %%lag, table;\n%s",
                          table.data, chain.data);
    enum fth_status status;
    if (table.failed || chain.failed || wait.failed) {
        status = fth_no_memory(error, "fill in kernel template", "merge");
    } else {
        const struct fth_kernel_value values[] = {
            {"version", version}, {"target", target}, {"waits", waits}, {"wait", wait.data}};
        status = fth_kernels_fill_named("merge", values, FTH_COUNT(values), out, error);
    }
    fth_buffer_fini(&table);
    fth_buffer_fini(&chain);
    fth_buffer_fini(&wait);
    return status;
}
