// Code of a given length, for instruction caches. One work-item executes it. OpenCL C 1.2.
//
// The code is straight-line code of FTH_CODE_COUNT instructions of 4 bytes without effect, or, where
// FTH_CODE_STRIDE is not 0, as many branches, each of which leads to the next one, FTH_CODE_STRIDE
// bytes further on. It is not part of the kernel but comes behind it (subsection 1 of the same
// section), so that the branches of the compiler do not lead across it. The kernel enters the code
// `bytes` before its end and executes the rest `left` times:
//
//   kernel    entry = end - bytes; go to entry; ...; next:
//   code      begin: instruction, instruction, ..., end: left = left - 1; go to entry unless left is 0; go to next

// Executes the last `bytes` bytes of the code `repeats` times per pass. samples[i] receives the ticks of
// pass i. unit[0] receives the unit that executed the work-item.
kernel void fth_fetch(uint bytes, uint repeats, uint passes, global ulong *samples, global uint *unit)
{
    uint value = unit[0];
    for (uint pass = 0; pass < passes; pass++) {
        FTH_TICKS begin, end;
        uint left = repeats;
        FTH_CLOCK(begin, value, "begin fetch");
        FTH_CODE(bytes, left);
        FTH_CLOCK(end, value, "end fetch");
        samples[pass] = (ulong)(end - begin) & FTH_CLOCK_MASK;
    }
    unit[0] = FTH_UNIT();
    unit[1] = value;
}
