/* Faults: the errors that end a launch. The first one counts; the host threads then stop. */
#include "ptx/execute/warp.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void fth_ptx_run_stop(struct fth_ptx_run *run)
{
    __atomic_store_n(&run->stop, true, __ATOMIC_RELAXED);
}

void fth_ptx_warp_place(const struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                        char *text, size_t size)
{
    char source[160] = "";
    if (inst->source) {
        const char *start = ", source ";
        snprintf(source, sizeof source, "%s", start);
        fth_source_text(inst->source, source + strlen(start), sizeof source - strlen(start));
    }
    uint64_t thread = (uint64_t)warp->index * LANES + (uint64_t)lane;
    const uint32_t *threads = warp->block->run->threads, *xyz = warp->block->xyz;
    snprintf(text, size, "line %u (%s)%s, block (%u,%u,%u), thread (%u,%u,%u)", inst->line,
             inst->opcode, source, xyz[0], xyz[1], xyz[2], (unsigned)(thread % threads[0]),
             (unsigned)(thread / threads[0] % threads[1]),
             (unsigned)(thread / threads[0] / threads[1]));
}

FTH_PRINTF(5, 0)
static void stop_with_fault(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                            enum fth_ptx_fault fault, const char *cause, va_list arguments)
{
    struct fth_ptx_run *run = warp->block->run;
    char text[400], place[400];
    vsnprintf(text, sizeof text, cause, arguments);
    fth_ptx_warp_place(warp, inst, lane, place, sizeof place);
    pthread_mutex_lock(run->lock);
    if (run->status == FTH_OK) {
        run->status = FTH_INVALID;
        run->fault = fault;
        fth_fail(run->error, FTH_INVALID, "run kernel", run->kernel->kernel.display_name, "%s: %s",
                 place, text);
    }
    pthread_mutex_unlock(run->lock);
    warp->failed = true;
    fth_ptx_run_stop(run);
}

void fth_ptx_warp_fault(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                        const char *cause, ...)
{
    va_list arguments;
    va_start(arguments, cause);
    stop_with_fault(warp, inst, lane, FTH_FAULT_OTHER, cause, arguments);
    va_end(arguments);
}

void fth_ptx_warp_fault_of(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                           enum fth_ptx_fault fault, const char *cause, ...)
{
    va_list arguments;
    va_start(arguments, cause);
    stop_with_fault(warp, inst, lane, fault, cause, arguments);
    va_end(arguments);
}

void fth_ptx_run_inconclusive(struct fth_ptx_warp *warp)
{
    struct fth_ptx_run *run = warp->block->run;
    pthread_mutex_lock(run->lock);
    if (run->status == FTH_OK)
        run->status =
            fth_fail(run->error, FTH_INCONCLUSIVE, "run kernel", run->kernel->kernel.display_name,
                     "the accesses depend on data that was not computed");
    pthread_mutex_unlock(run->lock);
    warp->failed = true;
    fth_ptx_run_stop(run);
}

void fth_ptx_run_no_memory(struct fth_ptx_run *run)
{
    pthread_mutex_lock(run->lock);
    if (run->status == FTH_OK) {
        run->status = FTH_NO_MEMORY;
        fth_no_memory(run->error, "run kernel", run->kernel->kernel.display_name);
    }
    pthread_mutex_unlock(run->lock);
    fth_ptx_run_stop(run);
}
