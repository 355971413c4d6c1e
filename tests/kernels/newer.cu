/* nvcc: -arch=sm_100 */

/* Kernels from beside, for a newer GPU: from sm_100 on nvcc has another code generator, whose PTX
 * looks different. */
#include "bitonic.cu"
#include "calls.cu"
#include "collatz.cu"
#include "dot.cu"
#include "switch_ops.cu"
