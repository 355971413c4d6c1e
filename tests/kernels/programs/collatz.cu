/* nvcc: -arch=sm_75 -lineinfo */

/* Branches nested three deep in a loop whose trip count differs between lanes. */
extern "C" __global__ void collatz(unsigned n, unsigned *steps, unsigned *odd, unsigned *peaks)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned value = i + 1, count = 0, odds = 0, peak = value;
    while (value != 1) {
        if (value % 2) {
            value = 3 * value + 1;
            odds++;
            if (value > peak) {
                peak = value;
                if (peak % 3 == 0)
                    odds += 1000; /* never: 3 v + 1 is not a multiple of 3 */
                else if (peak % 8 == 0)
                    odds += 1 << 16;
            }
        } else {
            do {
                value /= 2;
                count++;
            } while (value % 2 == 0);
            continue;
        }
        count++;
    }
    steps[i] = count;
    odd[i] = odds;
    peaks[i] = peak;
}
