/* Creates sessions. */
#include "program/session_parts.h"

#include <stdlib.h>

/* Figures for descriptions that lack them, those of an H200: the size of the memory in bytes, the
 * clock in MHz, the bandwidth of the memory and of the link to the host in bytes per second. They
 * only affect what a program finds out about the GPU, and the times of events. */
static const double default_memory_bytes = 141e9, default_clock_mhz = 1980,
                    default_bytes_per_s = 4.8e12, default_link_bytes_per_s = 55e9;

static void read_figures(struct fth_session *session)
{
    const struct fth_gpu *gpu = session->options.gpu;
    session->sms = (uint32_t)fth_gpu_number(gpu, "device", "sms", 132);
    session->clock_hz = 1e6 * fth_gpu_number(gpu, "device", "clock_mhz", default_clock_mhz);
    session->memory_bytes_per_s =
        fth_gpu_number(gpu, "memory", "peak_bytes_per_s", default_bytes_per_s);
    session->link_bytes_per_s = default_link_bytes_per_s;
}

enum fth_status fth_kernel_pattern_init(struct fth_kernel_pattern *pattern, const char *text,
                                        struct fth_error *error)
{
    pattern->is_set = false;
    if (!text)
        return FTH_OK;
    const int code = regcomp(&pattern->compiled, text, REG_EXTENDED | REG_NOSUB);
    pattern->is_set = code == 0;
    if (code == 0)
        return FTH_OK;
    char cause[128];
    regerror(code, &pattern->compiled, cause, sizeof cause);
    return fth_fail(error, FTH_INVALID, "select kernels", text,
                    "this is not a regular expression: %s", cause);
}

bool fth_kernel_pattern_matches(const struct fth_kernel_pattern *pattern, const char *kernel)
{
    char name[FTH_NAME_BYTES];
    if (!pattern->is_set)
        return true;
    (void)fth_demangle(kernel, FTH_NAME_SHORT, name, sizeof name);
    return regexec(&pattern->compiled, name, 0, NULL, 0) == 0 ||
           regexec(&pattern->compiled, kernel, 0, NULL, 0) == 0;
}

void fth_kernel_pattern_fini(struct fth_kernel_pattern *pattern)
{
    if (pattern->is_set)
        regfree(&pattern->compiled);
    pattern->is_set = false;
}

enum fth_status fth_session_create(const struct fth_session_options *options,
                                   struct fth_session **out, struct fth_error *error)
{
    struct fth_session *session = *out = calloc(1, sizeof *session);
    if (!session)
        return fth_no_memory(error, "start session", NULL);
    session->options = *options;
    session->next_host = FTH_SESSION_HOST_BASE;
    read_figures(session);
    enum fth_status status = fth_ptx_machine_create(NULL, &session->memory, error);
    if (status == FTH_OK) {
        fth_ptx_set_base(session->memory, options->base ? options->base : FTH_SESSION_BASE);
        fth_ptx_set_capacity(
            session->memory,
            (uint64_t)fth_gpu_number(options->gpu, "memory", "size_bytes", default_memory_bytes));
    }
    if (status == FTH_OK)
        status = fth_kernel_pattern_init(&session->kernels, options->traced_kernels, error);
    if (status == FTH_OK && options->trace)
        status = fth_trace_recorder_create(options->trace, &session->recorder, error);
    if (status != FTH_OK) {
        fth_session_destroy(session);
        *out = NULL;
    }
    return status;
}

void fth_session_destroy(struct fth_session *session)
{
    if (!session)
        return;
    while (session->modules)
        fth_session_unload(session, session->modules);
    while (session->block_count) {
        const struct fth_session_block *last = &session->blocks[session->block_count - 1];
        if (fth_session_free(session, last->address, 1u << last->kind, NULL) != FTH_OK)
            break;
    }
    free(session->blocks);
    fth_kernel_pattern_fini(&session->kernels);
    fth_trace_recorder_destroy(session->recorder);
    fth_ptx_machine_destroy(session->memory);
    free(session);
}

struct fth_ptx_machine *fth_session_machine(struct fth_session *session)
{
    return session->memory;
}
