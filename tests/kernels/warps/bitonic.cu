/* nvcc: -arch=sm_75 */

/* Bitonic sort of each block's keys in shared memory; the payload is each key's original index. */
extern "C" __global__ void __launch_bounds__(128, 2) bitonic(unsigned *keys, unsigned short *places)
{
    __shared__ unsigned key[128];
    __shared__ unsigned short place[128];
    unsigned i = threadIdx.x, base = blockIdx.x * blockDim.x;
    key[i] = keys[base + i];
    place[i] = (unsigned short)i;
    __syncthreads();
    for (unsigned size = 2; size <= blockDim.x; size *= 2) {
        for (unsigned step = size / 2; step > 0; step /= 2) {
            unsigned j = i ^ step;
            if (j > i) {
                bool up = (i & size) == 0;
                if ((key[i] > key[j]) == up) {
                    unsigned k = key[i];
                    key[i] = key[j];
                    key[j] = k;
                    unsigned short p = place[i];
                    place[i] = place[j];
                    place[j] = p;
                }
            }
            __syncthreads();
        }
    }
    keys[base + i] = key[i];
    places[base + i] = place[i];
}
