/* The special functions of the hardware, bit for bit as an H200 computes them. */
#ifndef FTH_PTX_MUFU_H
#define FTH_PTX_MUFU_H

#include <stdbool.h>
#include <stdint.h>

/* The instruction MUFU of NVIDIA GPUs. Operands and results are the bits of f32 numbers. Subnormal
 * operands count as zeros, and subnormal results become zeros. */
uint32_t fth_ptx_mufu_ex2(uint32_t x);
uint32_t fth_ptx_mufu_rcp(uint32_t x);
uint32_t fth_ptx_mufu_rsqrt(uint32_t x);
uint32_t fth_ptx_mufu_sqrt(uint32_t x);
uint32_t fth_ptx_mufu_lg2(uint32_t x);
/* Keeps subnormal operands. */
uint32_t fth_ptx_mufu_tanh(uint32_t x);
/* The argument is in revolutions. */
uint32_t fth_ptx_mufu_sin(uint32_t x);
uint32_t fth_ptx_mufu_cos(uint32_t x);

/* The upper words of f64 numbers: the fractions of arguments and results have 20 bits. */
uint32_t fth_ptx_mufu_rcp64h(uint32_t x);
uint32_t fth_ptx_mufu_rsq64h(uint32_t x);

/* The PTX instructions with .approx, in the forms with and without .ftz, as NVIDIA's assembler
 * translates them for sm_90: MUFU, with arguments and results that are scaled if they are
 * subnormal. */
uint32_t fth_ptx_approx_ex2(uint32_t x, bool ftz);
uint32_t fth_ptx_approx_rcp(uint32_t x, bool ftz);
uint32_t fth_ptx_approx_rsqrt(uint32_t x, bool ftz);
uint32_t fth_ptx_approx_sqrt(uint32_t x, bool ftz);
uint32_t fth_ptx_approx_lg2(uint32_t x, bool ftz);
uint32_t fth_ptx_approx_sin(uint32_t x, bool ftz);
uint32_t fth_ptx_approx_cos(uint32_t x, bool ftz);
/* div.approx and div.full. */
uint32_t fth_ptx_approx_div(uint32_t x, uint32_t y, bool ftz);
uint32_t fth_ptx_full_div(uint32_t x, uint32_t y, bool ftz);
/* Replaces the operands of div.full (or div.approx) by the two factors whose product is the
 * quotient. */
void fth_ptx_div_factors(uint32_t *x, uint32_t *y, bool full, bool ftz);

/* A segment of a function: see mufu.c. */
struct fth_ptx_mufu_segment {
    uint32_t constant;
    int32_t linear;
    int32_t quadratic;
};

/* ---- mufu_tables.c ---- */

extern const struct fth_ptx_mufu_segment fth_ptx_mufu_ex2_segments[64];
extern const struct fth_ptx_mufu_segment fth_ptx_mufu_rcp_segments[128];
extern const struct fth_ptx_mufu_segment fth_ptx_mufu_rsqrt_segments[128];
extern const struct fth_ptx_mufu_segment fth_ptx_mufu_sqrt_segments[128];
extern const struct fth_ptx_mufu_segment fth_ptx_mufu_lg2_segments[64];
extern const struct fth_ptx_mufu_segment fth_ptx_mufu_sin_segments[64];
extern const struct fth_ptx_mufu_segment fth_ptx_mufu_tanh_segments[51];

#endif
