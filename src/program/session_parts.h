/* The contents of a session, for the files of program/. */
#ifndef FTH_SESSION_PARTS_H
#define FTH_SESSION_PARTS_H

#include "program/program.h"

#include <regex.h>

struct fth_session_module {
    struct fth_session_module *next;
    struct fth_ptx_module *ptx;
    struct fth_ptx_machine *machine;
};

struct fth_session {
    struct fth_session_options options;
    struct fth_ptx_machine *memory;
    struct fth_trace_recorder *recorder; /* NULL: without a trace */
    regex_t kernels;                     /* options.traced_kernels, */
    bool has_kernels;                    /* if there is one */
    uint64_t launches;                   /* number of launches so far */
    uint64_t grid_workspace;             /* of cooperative launches; 0: none was made yet */
    struct fth_session_module *modules;
    struct fth_session_block *blocks; /* sorted by address */
    size_t block_count, block_capacity;
    uint64_t memory_bytes, used_bytes; /* of the GPU */
    uint64_t next_host;                /* address for the next pinned or managed memory */
    /* Figures for the time of events. */
    uint32_t sms;
    double clock_hz, memory_bytes_per_s, link_bytes_per_s;
    double time_ns;
};

#endif
