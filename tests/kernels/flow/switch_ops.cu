/* nvcc: -arch=sm_75 */

/* A small interpreter: a switch with eight cases that do different work; lanes of a warp take
 * different cases at the same time. nvcc compiles the switch to comparisons, so `jump_table`
 * contains a jump table in inline assembly. */
extern "C" __global__ void switch_ops(int n, int length, const unsigned char *code, const int *in,
                                      int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int value = in[i], other = i;
    for (int step = 0; step < length; step++) {
        switch (code[i * length + step]) {
        case 0: value += other; break;
        case 1: value = value * 31 + 7; break;
        case 2: other ^= value >> 3; break;
        case 3:
            value = other - value;
            /* fall through */
        case 4: other = (int)((unsigned)other << 5 | (unsigned)other >> 27); break;
        case 5:
            if (value < other)
                value = ~value;
            break;
        case 6:
            for (int j = 0; j < (value & 3); j++)
                other += j * value;
            break;
        case 7: out[i] = value ^ other; return;
        default: value--;
        }
    }
    out[i] = value + other;
}

extern "C" __global__ void jump_table(int n, const unsigned *which, const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int value;
    asm volatile("{\n\t"
                 "table: .branchtargets zero, one, two, one, four;\n\t"
                 "brx.idx %1, table;\n"
                 "zero:\n\tneg.s32 %0, %2;\n\tbra done;\n"
                 "one:\n\tadd.s32 %0, %2, 1000;\n\tbra done;\n"
                 "two:\n\tmul.lo.s32 %0, %2, %2;\n\tbra done;\n"
                 "four:\n\txor.b32 %0, %2, 0x55;\n"
                 "done:\n\t}"
                 : "=&r"(value)
                 : "r"(which[i]), "r"(in[i]));
    out[i] = value * 2;
}
