/* ptx/runtime/: the functions of the CUDA runtime that kernels call although no PTX file defines
 * them: printf, assert, malloc and free.
 *
 *   builtin.c        the functions and their arguments; assert
 *   device_printf.c  formats the output of printf
 *   print_order.c    passes the output to the caller, in the order of the blocks
 *   device_heap.c    malloc and free
 *   device_stack.c   alloca, stacksave and stackrestore, which are instructions
 *
 * execute/warp.h declares what the rest of the engine calls. */
#ifndef FTH_PTX_RUNTIME_H
#define FTH_PTX_RUNTIME_H

#include "ptx/execute/address.h"

/* One call of a function by one thread. */
struct fth_ptx_builtin_call {
    struct fth_ptx_warp *warp;
    const struct fth_ptx_inst *inst;
    const struct fth_ptx_call_site *site;
    int lane;
};

/* Returns an argument of 4 or 8 bytes. */
uint64_t fth_ptx_builtin_argument(const struct fth_ptx_builtin_call *call, size_t index);
void fth_ptx_builtin_return(const struct fth_ptx_builtin_call *call, uint64_t value);
/* Reads bytes at a generic address. Reports a fault and returns false if the address is invalid. */
bool fth_ptx_builtin_read(const struct fth_ptx_builtin_call *call, uint64_t address, void *data,
                          size_t bytes);
/* Appends the text at a generic address, up to its NUL and at most `max` bytes. Reports a fault and
 * returns false if the text is not inside of the memory. */
bool fth_ptx_builtin_text(const struct fth_ptx_builtin_call *call, uint64_t address, size_t max,
                          struct fth_buffer *text);

/* ---- device_printf.c ---- */

void fth_ptx_call_printf(const struct fth_ptx_builtin_call *call);

/* ---- device_heap.c ---- */

/* malloc. `align` is a power of two. */
void fth_ptx_call_malloc(const struct fth_ptx_builtin_call *call, uint64_t bytes, uint64_t align);
void fth_ptx_call_free(const struct fth_ptx_builtin_call *call);

#endif
