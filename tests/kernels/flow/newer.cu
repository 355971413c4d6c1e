/* nvcc: -arch=sm_100 */

/* Kernels of other files of this folder, compiled for a newer GPU: for sm_100 and later, nvcc uses
 * another code generator, whose PTX looks different. */
#include "bitonic.cu"
#include "calls.cu"
#include "collatz.cu"
#include "dot.cu"
#include "switch_ops.cu"
