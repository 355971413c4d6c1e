/* What the kernels of this folder share. */
#include <stdint.h>

static __shared__ __align__(1024) char memory[20480];

__device__ static unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}
