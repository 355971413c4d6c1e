// Pointer chases through an image of 32-bit words, the path of textures. OpenCL C 1.2; follows
// chase.cl, which documents the steps. Links and the offset of the first element are indices of
// texels. There are only steps of the kinds 0 to 2.
#define FTH_LOAD_IMAGE(base, index) (read_imageui(base, (int)(index)).x)
// cppcheck-suppress syntaxError // it does not know the macro, which chase.cl defines
FTH_PATH(image, read_only image1d_buffer_t, FTH_LOAD_IMAGE, FTH_CLOCK, )

kernel void fth_image(global const ulong *steps, uint step_count, read_only image1d_buffer_t links,
                      global ulong *samples, global uint *unit)
{
    uint last = 0;
    for (uint i = 0; i < step_count; i++, steps += 8) {
        const uint kind = (uint)steps[0], fth_zero = (uint)(steps[1] >> 32);
        const uint passes = (uint)steps[2], count = (uint)steps[4], first = (uint)steps[3];
        global ulong *sample = samples + steps[5];
        FTH_STEP(image, links)
    }
    unit[0] = FTH_UNIT();
    unit[1] = last;
}
