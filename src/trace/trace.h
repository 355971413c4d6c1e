/* trace/: kernels with what they are launched on. So far: a launch from the command line, executed
 * by the PTX engine, with its buffers to look at.
 *
 *   launch.c  typed arguments, buffers and their first contents (its functions are public)
 */
#ifndef FTH_TRACE_H
#define FTH_TRACE_H

#include "ptx/ptx.h"

#endif
