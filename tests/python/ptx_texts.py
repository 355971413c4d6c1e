"""PTX of the tests' kernels."""

HEAD = ".version 7.0\n.target sm_70\n.address_size 64\n"

# x[i] = a * x[i] + y[i], if i < n; the index i counts over all blocks.
AXPY = HEAD + """.visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    .reg .f32 %f<5>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.f32 %f1, [a];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra DONE;
    mul.wide.u32 %rd3, %r5, 4;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    ld.global.f32 %f3, [%rd5];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd4], %f4;
DONE:
    ret;
}
"""

# Stores the 16 bytes of its second argument, and the bytes of three numbers.
STORE = HEAD + """.visible .entry store(.param .u64 to, .param .align 8 .b8 s[16], .param .u64 l, .param .b16 h, .param .b8 b)
{
    .reg .b64 %rd<5>;
    .reg .b16 %h<3>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [s];
    ld.param.u64 %rd3, [s+8];
    ld.param.u64 %rd4, [l];
    ld.param.b16 %h1, [h];
    ld.param.u8 %h2, [b];
    st.global.u64 [%rd1], %rd2;
    st.global.u64 [%rd1+8], %rd3;
    st.global.u64 [%rd1+16], %rd4;
    st.global.b16 [%rd1+24], %h1;
    st.global.u8 [%rd1+26], %h2;
    ret;
}
"""

# Never ends.
SPIN = HEAD + """.visible .entry spin()
{
    .reg .b32 %r<2>;
LOOP:
    add.u32 %r1, %r1, 1;
    bra LOOP;
}
"""

# Every thread prints a line.
PRINT = HEAD + """.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);
.global .align 1 .b8 message[4] = {104, 105, 10, 0};
.visible .entry print()
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    mov.u64 %rd1, message;
    cvta.global.u64 %rd2, %rd1;
    {
        .param .b64 format;
        .param .b64 values;
        .param .b32 result;
        st.param.b64 [format], %rd2;
        st.param.b64 [values], 0;
        call.uni (result), vprintf, (format, values);
        ld.param.b32 %r1, [result];
    }
    ret;
}
"""
