/* The contents of a session, for the files of program/. */
#ifndef FTH_SESSION_PARTS_H
#define FTH_SESSION_PARTS_H

#include "program/program.h"

#include <regex.h>

/* A POSIX extended regular expression that selects kernels. */
struct fth_kernel_pattern {
    regex_t compiled;
    bool is_set; /* otherwise, all kernels match */
};
/* `text` NULL: all kernels match. FTH_INVALID: it is not a regular expression. */
FTH_MUST_USE enum fth_status fth_kernel_pattern_init(struct fth_kernel_pattern *pattern,
                                                     const char *text, struct fth_error *error);
/* Returns whether the C++ name of the kernel, or its name in the PTX, matches. */
bool fth_kernel_pattern_matches(const struct fth_kernel_pattern *pattern, const char *kernel);
void fth_kernel_pattern_fini(struct fth_kernel_pattern *pattern);

struct fth_session_module {
    struct fth_session_module *next;
    struct fth_ptx_module *ptx;
    struct fth_ptx_machine *machine; /* NULL: the module is suspended */
    struct fth_ptx_debug *debug;     /* NULL: none, or not read yet */
    bool has_read_debug;
};

struct fth_session {
    struct fth_session_options options;
    struct fth_ptx_machine *memory;
    struct fth_trace_recorder *recorder; /* NULL: without a trace */
    struct fth_kernel_pattern kernels;   /* options.traced_kernels */
    uint64_t launches;                   /* number of launches so far */
    uint64_t grid_workspace;             /* of cooperative launches; 0: none was made yet */
    struct fth_session_module *modules;
    uint64_t variables_end; /* the lowest address above the variables of suspended modules */
    struct fth_session_block *blocks; /* sorted by address */
    size_t block_count, block_capacity;
    uint64_t next_host; /* address for the next pinned or managed memory */
    /* Figures for the time of events. */
    uint32_t sms;
    double clock_hz, memory_bytes_per_s, link_bytes_per_s;
    double time_ns;
};

#endif
