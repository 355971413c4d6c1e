/* Measures the speed of matrix instructions on f16 with accumulators in f32, which the PTX engine
 * computes exactly as a tensor core does: mma.sync on registers, and wgmma on shared memory, on one
 * core, compared with a plain scalar loop over the same matrices. */
#include "clock.h"
#include "ptx/ptx.h"

#include <stdio.h>
#include <string.h>

#define HEAD                                                                                       \
    ".version 8.0\n.target sm_90a\n.address_size 64\n"                                             \
    ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n"                       \
    "    .reg .pred %p;\n    .reg .b32 %r<12>;\n    .reg .b64 %w<6>;\n    .reg .f32 %f<32>;\n"     \
    "    ld.param.u64 %w0, [in];\n    ld.param.u64 %w1, [out];\n    ld.param.u32 %r0, [n];\n"      \
    "    mov.u32 %r1, %tid.x;\n    mov.u32 %r2, 0;\n"

/* Every thread has 6 words of A and B, and 4 numbers of D. All warps compute the same. */
static const char mma[] =
    HEAD "    and.b32 %r3, %r1, 31;\n    mad.wide.u32 %w2, %r3, 24, %w0;\n"
         "    ld.global.b32 %r4, [%w2];\n    ld.global.b32 %r5, [%w2+4];\n"
         "    ld.global.b32 %r6, [%w2+8];\n    ld.global.b32 %r7, [%w2+12];\n"
         "    ld.global.b32 %r8, [%w2+16];\n    ld.global.b32 %r9, [%w2+20];\n"
         "again:\n"
         "    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, "
         "{%r4, %r5, %r6, %r7}, {%r8, %r9}, {%f0, %f1, %f2, %f3};\n"
         "    add.u32 %r2, %r2, 1;\n    setp.lt.u32 %p, %r2, %r0;\n    @%p bra again;\n"
         "    mad.wide.u32 %w3, %r1, 16, %w1;\n"
         "    st.global.v4.f32 [%w3], {%f0, %f1, %f2, %f3};\n    ret;\n}\n";

/* The 128 threads copy A and B, which have 2,048 bytes each, to shared memory. The descriptors say
 * that neighbouring tiles of 8 x 8 numbers are 128 bytes apart along k and 256 along m and n. */
#define LIST                                                                                       \
    "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8, %f9, %f10, %f11, %f12, %f13, %f14, %f15, "      \
    "%f16, %f17, %f18, %f19, %f20, %f21, %f22, %f23, %f24, %f25, %f26, %f27, %f28, %f29, %f30, "   \
    "%f31}"
static const char wgmma[] = HEAD
    "    .shared .align 128 .b8 s[4096];\n"
    "    mad.wide.u32 %w2, %r1, 32, %w0;\n    shl.b32 %r3, %r1, 5;\n    mov.u32 %r4, s;\n"
    "    add.u32 %r3, %r3, %r4;\n"
    "    ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%w2];\n"
    "    st.shared.v4.b32 [%r3], {%r5, %r6, %r7, %r8};\n"
    "    ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%w2+16];\n"
    "    st.shared.v4.b32 [%r3+16], {%r5, %r6, %r7, %r8};\n"
    "    bar.sync 0;\n"
    "    cvt.u64.u32 %w3, %r4;\n    shr.u64 %w3, %w3, 4;\n"
    "    or.b64 %w3, %w3, 0x0000001000080000;\n    add.u64 %w4, %w3, 128;\n"
    "    wgmma.fence.sync.aligned;\n"
    "again:\n"
    "    wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " LIST ", %w3, %w4, 1, 1, 1, 0, 0;\n"
    "    add.u32 %r2, %r2, 1;\n    setp.lt.u32 %p, %r2, %r0;\n    @%p bra again;\n"
    "    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;\n"
    "    mad.wide.u32 %w3, %r1, 128, %w1;\n"
    "    st.global.v4.f32 [%w3], {%f0, %f1, %f2, %f3};\n"
    "    st.global.v4.f32 [%w3+16], {%f4, %f5, %f6, %f7};\n"
    "    st.global.v4.f32 [%w3+32], {%f8, %f9, %f10, %f11};\n"
    "    st.global.v4.f32 [%w3+48], {%f12, %f13, %f14, %f15};\n"
    "    st.global.v4.f32 [%w3+64], {%f16, %f17, %f18, %f19};\n"
    "    st.global.v4.f32 [%w3+80], {%f20, %f21, %f22, %f23};\n"
    "    st.global.v4.f32 [%w3+96], {%f24, %f25, %f26, %f27};\n"
    "    st.global.v4.f32 [%w3+112], {%f28, %f29, %f30, %f31};\n    ret;\n}\n";

/* The shape of the product of a block, and how often it is added to D. */
struct product {
    const char *name, *text;
    unsigned rows, columns, warps, times;
};
enum { DEPTH = 16, MAX_ROWS = 64, THREADS = 128, ROUNDS = 5 };

static const struct product products[] = {
    {"mma.sync m16n8k16", mma, 16, 8, 4, 6000},
    {"wgmma m64n64k16", wgmma, 64, 64, 1, 750},
};

static float a[MAX_ROWS][DEPTH], b[MAX_ROWS][DEPTH]; /* b by columns */
static float expected[MAX_ROWS][MAX_ROWS];

/* The f16 with this value, an integer from -3 to 3. */
static uint16_t half_of(float value)
{
    static const uint16_t halves[] = {0, 0x3c00, 0x4000, 0x4200};
    return (uint16_t)(value < 0 ? halves[(int)-value] | 0x8000 : halves[(int)value]);
}

static uint32_t pair_of(const float *values)
{
    return half_of(values[0]) | (uint32_t)half_of(values[1]) << 16;
}

/* Writes A and B as the kernel reads them. */
static void place_operands(const struct product *product, void *memory)
{
    for (unsigned lane = 0; product->text == mma && lane < 32; lane++) {
        const unsigned row = lane / 4, k = lane % 4 * 2;
        const uint32_t words[] = {pair_of(&a[row][k]),     pair_of(&a[row + 8][k]),
                                  pair_of(&a[row][k + 8]), pair_of(&a[row + 8][k + 8]),
                                  pair_of(&b[row][k]),     pair_of(&b[row][k + 8])};
        memcpy((char *)memory + lane * sizeof words, words, sizeof words);
    }
    for (unsigned i = 0; product->text == wgmma && i < MAX_ROWS * DEPTH; i++) {
        const unsigned row = i / DEPTH, k = i % DEPTH;
        const unsigned at = row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8;
        ((uint16_t *)memory)[at] = half_of(a[row][k]);
        ((uint16_t *)memory)[MAX_ROWS * DEPTH + at] = half_of(b[row][k]);
    }
}

/* True if the numbers of all threads are those of `expected`. */
static bool is_right(const struct product *product, const float *out)
{
    const unsigned per_thread = product->rows * product->columns * product->warps / THREADS;
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned i = 0; i < per_thread; i++) {
            const unsigned warp_row = product->warps == 1 ? thread / 32 * 16 : 0;
            const unsigned row = warp_row + thread % 32 / 4 + i % 4 / 2 * 8;
            const unsigned column = i / 4 * 8 + thread % 4 * 2 + i % 2;
            if (out[thread * per_thread + i] != expected[row][column])
                return false;
        }
    return true;
}

static double multiply_adds(const struct product *product)
{
    return (double)product->rows * product->columns * DEPTH * product->warps * product->times;
}

/* Computes `expected`, and returns millions of multiply-adds per second, in the fastest round. */
static double measure_loop(const struct product *product)
{
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = processor_seconds();
        for (unsigned w = 0; w < product->warps; w++) {
            memset(expected, 0, sizeof expected);
            for (unsigned t = 0; t < product->times; t++)
                for (unsigned i = 0; i < product->rows; i++)
                    for (unsigned j = 0; j < product->columns; j++) {
                        const volatile float *x = a[i], *y = b[j];
                        float sum = expected[i][j];
                        for (unsigned k = 0; k < DEPTH; k++)
                            sum += x[k] * y[k];
                        expected[i][j] = sum;
                    }
        }
        const double rate = 1e-6 * multiply_adds(product) / (processor_seconds() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

static double measure_engine(struct fth_ptx_machine *machine, const struct product *product,
                             uint64_t in, uint64_t out)
{
    const struct {
        uint64_t in, out;
        uint32_t n;
    } arguments = {in, out, product->times};
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .block = {THREADS, 1, 1},
                                          .arguments = &arguments,
                                          .argument_bytes = 20,
                                          .threads = 1};
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const double start = processor_seconds();
        if (fth_ptx_run(machine, &launch, NULL, NULL) != FTH_OK)
            return 0;
        const double rate = 1e-6 * multiply_adds(product) / (processor_seconds() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

/* Prints a line. Returns false if the results are wrong. */
static bool measure(const struct product *product)
{
    enum { IN_BYTES = 4096, OUT_BYTES = THREADS * 32 * 4 };
    struct fth_ptx_module *module = NULL;
    struct fth_ptx_machine *machine = NULL;
    uint64_t in = 0, out = 0;
    struct fth_error error = FTH_NO_ERROR;
    bool same = false;
    if (fth_ptx_read_text("bench", product->text, strlen(product->text), &module, &error) ==
            FTH_OK &&
        fth_ptx_machine_create(module, &machine, &error) == FTH_OK &&
        fth_ptx_alloc(machine, IN_BYTES, &in, &error) == FTH_OK &&
        fth_ptx_alloc(machine, OUT_BYTES, &out, &error) == FTH_OK) {
        place_operands(product, fth_ptx_host(machine, in, IN_BYTES));
        const double loop = measure_loop(product),
                     engine = measure_engine(machine, product, in, out);
        same = is_right(product, fth_ptx_host(machine, out, OUT_BYTES));
        printf("%-18s %.0f M exact f16 multiply-adds/s on one core; a plain scalar loop in f32: "
               "%.0f, ratio %.2f; results %s\n",
               product->name, engine, loop, engine / loop, same ? "equal" : "DIFFER");
    } else {
        fprintf(stderr, "%s: %s\n%s\n", product->name, error.cause, error.excerpt);
    }
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
    return same;
}

int main(void)
{
    bool same = true;
    for (unsigned i = 0; i < MAX_ROWS; i++)
        for (unsigned k = 0; k < DEPTH; k++) {
            a[i][k] = (float)((int)(i * 5 + k * 3) % 7 - 3);
            b[i][k] = (float)((int)(i * 3 + k * 11) % 7 - 3);
        }
    for (size_t i = 0; i < FTH_COUNT(products); i++)
        same = measure(&products[i]) && same;
    return same ? 0 : 1;
}
