/* trace/: kernels with what they are launched on. So far: a launch from the command line, executed
 * by the PTX engine, with its buffers to look at.
 *
 *   launch.c  typed arguments, buffers and their first contents
 */
#ifndef FTH_TRACE_H
#define FTH_TRACE_H

#include "ptx/ptx.h"

/* The types that an argument can have, and how their values are read and written. */
enum fth_element {
    FTH_ELEMENT_U8,
    FTH_ELEMENT_S8,
    FTH_ELEMENT_U16,
    FTH_ELEMENT_S16,
    FTH_ELEMENT_U32,
    FTH_ELEMENT_S32,
    FTH_ELEMENT_U64,
    FTH_ELEMENT_S64,
    FTH_ELEMENT_F32,
    FTH_ELEMENT_F64
};

#endif
